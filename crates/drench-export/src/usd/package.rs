//! `usdz`: a layer in an archive that is not compressed, so that it can be used where it lies.
//!
//! The layer begins at a multiple of 64 bytes; the header before it is filled up to there.

use super::binary::Binary;
use super::layer::{Handle, Layer, Store};
use super::value::Value;
use crate::error::ExportError;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Where the layer begins: longer names than that leaves room for are cut.
const BASE: u64 = 128;
/// Header of a file in the archive, without its name.
const LOCAL: u64 = 30;
/// What begins a filling.
const FILLING: u64 = 4;

/// An archive in the making.
pub struct Package {
    path: PathBuf,
    name: String,
    layer: Binary,
}

impl Package {
    /// Begins the file; `name` is that of the layer inside.
    pub fn create(path: &Path, name: &str) -> Result<Box<dyn Store>, ExportError> {
        let most = (BASE - LOCAL - FILLING) as usize - ".usdc".len();
        let name: String = name.chars().filter(char::is_ascii).take(most).collect();
        let layer = Binary::create(path, BASE)?;
        Ok(Box::new(Self { path: path.to_owned(), name: format!("{name}.usdc"), layer }))
    }
}

impl Store for Package {
    fn put(&mut self, value: &Value, bytes: &[u8]) -> io::Result<Handle> {
        self.layer.put(value, bytes)
    }

    fn close(self: Box<Self>, layer: &Layer) -> Result<(), ExportError> {
        let Self { path, name, layer: binary } = *self;
        let file = binary.complete(layer)?;
        let length = file.metadata().map_err(ExportError::storage("read", &path))?.len() - BASE;
        let Ok(size) = u32::try_from(length + 2 * BASE) else {
            let reason = format!("it takes {length} bytes, and such archives end at 4 GiB");
            return Err(ExportError::Unable { format: "usdz", reason, fix: "use usdc, or fewer frames with --frames" });
        };
        wrap(&path, file, &name, size - 2 * BASE as u32).map_err(ExportError::storage("write", &path))
    }
}

/// Writes the header before the layer and the directory after it.
fn wrap(path: &Path, file: File, name: &str, size: u32) -> io::Result<()> {
    drop(file);
    let mut reader = BufReader::new(File::open(path)?);
    reader.seek(SeekFrom::Start(BASE))?;
    let sum = checksum(reader)?;
    // Version 1.0, no flags, stored, on the first of January 1980: the same run gives the same bytes.
    let version = 10_u16.to_le_bytes();
    let mut common = version.to_vec();
    for short in [0, 0, 0, 0x21_u16] {
        common.extend(short.to_le_bytes());
    }
    for long in [sum, size, size] {
        common.extend(long.to_le_bytes());
    }
    common.extend((name.len() as u16).to_le_bytes());

    let filling = (BASE - LOCAL - FILLING) as usize - name.len();
    let mut head = [&b"PK\x03\x04"[..], &common, &((filling as u64 + FILLING) as u16).to_le_bytes()].concat();
    head.extend(name.bytes());
    // A block of an unassigned number, as other writers of such archives use it.
    head.extend(0x1986_u16.to_le_bytes());
    head.extend((filling as u16).to_le_bytes());
    head.resize(BASE as usize, 0);

    let mut tail = [&b"PK\x01\x02"[..], &version, &common].concat();
    // No extra, no comment, disk 0, no attributes, from the first byte on.
    tail.resize(tail.len() + 2 + 2 + 2 + 2 + 4 + 4, 0);
    tail.extend(name.bytes());
    let directory = tail.len() as u32;
    tail.extend(b"PK\x05\x06");
    for short in [0, 0, 1, 1_u16] {
        tail.extend(short.to_le_bytes());
    }
    tail.extend(directory.to_le_bytes());
    tail.extend((BASE as u32 + size).to_le_bytes());
    tail.extend([0; 2]);

    let mut file = File::options().write(true).open(path)?;
    file.write_all(&head)?;
    file.seek(SeekFrom::End(0))?;
    file.write_all(&tail)
}

/// CRC-32 of all that a reader gives.
fn checksum(mut reader: impl Read) -> io::Result<u32> {
    let mut table = [0_u32; 256];
    for (byte, entry) in (0..).zip(&mut table) {
        *entry = (0..8).fold(byte, |sum: u32, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 });
    }
    let (mut sum, mut buffer) = (!0_u32, vec![0; 1 << 16]);
    loop {
        let read = reader.read(&mut buffer)?;
        if read == 0 {
            return Ok(!sum);
        }
        for byte in &buffer[..read] {
            sum = table[((sum ^ u32::from(*byte)) & 0xff) as usize] ^ sum >> 8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_that_archives_use() {
        assert_eq!(checksum(&b"123456789"[..]).unwrap(), 0xcbf4_3926);
    }
}
