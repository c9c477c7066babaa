//! Reads chunks out of a file, trusting nothing.

use super::element::{Element, Kind, unshuffle, unshuffle_bytes};
use super::{
    BLOCK, BYTE_BLOCK, BYTE_STRIDE, Codec, FOOTER_LENGTH, FOOTER_MAGIC, FileKind, HEADER_LENGTH, HEADER_MAGIC,
    MOST_BYTES, MOST_ELEMENTS, OLDEST_VERSION, VERSION, quantise,
};
use crate::error::{IoError, Result};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// The chunks of a file.
pub(crate) struct Reader {
    path: PathBuf,
    kind: FileKind,
    content: Vec<u8>,
    chunks: BTreeMap<String, Chunk>,
    identity: u64,
}

struct Chunk {
    kind: Kind,
    codec: Codec,
    count: usize,
    blocks: Vec<Block>,
}

struct Block {
    place: Range<usize>,
    checksum: u64,
}

/// What is wrong with a file, before the file is named.
type Finding = String;

impl Reader {
    /// Reads the file and checks its frame: header, footer and table. Blocks are checked when they are asked for.
    pub(crate) fn open(path: &Path, kind: FileKind) -> Result<Self> {
        Self::new(path, kind, fs::read(path).map_err(IoError::reading(path, kind.fix()))?)
    }

    /// The same for bytes that are said to be the content of the file.
    pub(crate) fn new(path: &Path, kind: FileKind, content: Vec<u8>) -> Result<Self> {
        if let Some((HEADER_MAGIC, version)) = content.first_chunk::<12>().map(split_version)
            && !(OLDEST_VERSION..=VERSION).contains(&version)
        {
            return Err(IoError::Version { path: path.to_owned(), found: version, supported: VERSION });
        }
        let damaged = |what| IoError::Damaged { path: path.to_owned(), what, fix: kind.fix() };
        let (chunks, identity) = parse(&content, kind).map_err(damaged)?;
        Ok(Self { path: path.to_owned(), kind, content, chunks, identity })
    }

    /// The writer's identity.
    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.chunks.contains_key(name)
    }

    /// Whether all blocks have the bytes that were written.
    pub(crate) fn verify(&self) -> Result<()> {
        for (name, chunk) in &self.chunks {
            for block in &chunk.blocks {
                self.stored(block).map_err(|what| self.damaged(format!("{what} in '{name}'")))?;
            }
        }
        Ok(())
    }

    /// Plain bytes.
    pub(crate) fn bytes(&self, name: &str) -> Result<Vec<u8>> {
        let decode = |chunk: &Chunk, index: usize| {
            let length = BYTE_BLOCK.min(chunk.count - index * BYTE_BLOCK);
            let bytes = self.decompressed(&chunk.blocks[index], length)?;
            Ok(unshuffle_bytes(&bytes, BYTE_STRIDE))
        };
        self.collect(name, Kind::Bytes, decode)
    }

    /// Numbers that kept every bit.
    pub(crate) fn exact<T: Element>(&self, name: &str) -> Result<Vec<T>> {
        self.collect(name, T::KIND, |chunk, index| {
            if chunk.codec != Codec::Exact {
                return Err("unexpected rounding".to_owned());
            }
            self.exact_block(chunk, index)
        })
    }

    /// Vectors that were rounded (or kept exactly); `offsets` as they were given to the writer.
    pub(crate) fn rounded(&self, name: &str, offsets: &[u32]) -> Result<Vec<[f32; 3]>> {
        self.collect(name, Kind::F32x3, |chunk, index| {
            let Codec::Quantised { exponent } = chunk.codec else { return self.exact_block(chunk, index) };
            let length = BLOCK.min(chunk.count - index * BLOCK);
            let bytes = self.decompressed(&chunk.blocks[index], length * 12 + 1)?;
            let (order, shuffled) = bytes.split_last().ok_or("an empty block")?;
            let residuals = unshuffle::<[u32; 3]>(shuffled, length).ok_or("a block of the wrong length")?;
            quantise::decode(*order, &residuals, index * BLOCK, offsets, exponent)
                .ok_or_else(|| format!("prediction of unknown order {order}"))
        })
    }

    fn exact_block<T: Element>(&self, chunk: &Chunk, index: usize) -> std::result::Result<Vec<T>, Finding> {
        let length = BLOCK.min(chunk.count - index * BLOCK);
        let bytes = self.decompressed(&chunk.blocks[index], length * T::LANES * 4)?;
        unshuffle(&bytes, length).ok_or_else(|| "a block of the wrong length".to_owned())
    }

    /// Decodes the blocks of a chunk in parallel and puts them together. Each block is verified before the whole is
    /// allocated.
    fn collect<T, D>(&self, name: &str, kind: Kind, decode: D) -> Result<Vec<T>>
    where
        T: Copy + Send,
        D: Fn(&Chunk, usize) -> std::result::Result<Vec<T>, Finding> + Sync,
    {
        let Some(chunk) = self.chunks.get(name) else { return Err(self.damaged(format!("'{name}' is not in it"))) };
        if chunk.kind != kind {
            return Err(self.damaged(format!("'{name}' holds {:?}, not {kind:?}", chunk.kind)));
        }
        let blocks: std::result::Result<Vec<Vec<T>>, Finding> =
            (0..chunk.blocks.len()).into_par_iter().map(|index| decode(chunk, index)).collect();
        let blocks = blocks.map_err(|what| self.damaged(format!("{what} in '{name}'")))?;
        Ok(blocks.concat())
    }

    fn stored(&self, block: &Block) -> std::result::Result<&[u8], Finding> {
        let stored = self.content.get(block.place.clone()).ok_or("a block beyond the end of the file")?;
        if xxh3_64(stored) == block.checksum { Ok(stored) } else { Err("wrong checksum of a block".to_owned()) }
    }

    fn decompressed(&self, block: &Block, length: usize) -> std::result::Result<Vec<u8>, Finding> {
        let stored = self.stored(block)?;
        let bytes = zstd::bulk::decompress(stored, length).map_err(|error| format!("undecodable block ({error})"))?;
        if bytes.len() == length { Ok(bytes) } else { Err("a block of the wrong length".to_owned()) }
    }

    /// An error about this file.
    pub(crate) fn damaged(&self, what: String) -> IoError {
        IoError::Damaged { path: self.path.clone(), what, fix: self.kind.fix() }
    }
}

fn split_version(start: &[u8; 12]) -> (&[u8; 8], u32) {
    let (magic, version) = start.split_first_chunk::<8>().expect("twelve bytes");
    (magic, u32::from_le_bytes([version[0], version[1], version[2], version[3]]))
}

fn parse(content: &[u8], kind: FileKind) -> std::result::Result<(BTreeMap<String, Chunk>, u64), Finding> {
    let mut header = Cursor(content);
    if header.take(8) != Some(HEADER_MAGIC) {
        return Err("it is not a Drench file".to_owned());
    }
    let found = header.u32().zip(header.u32()).map(|(_, found)| found);
    let body_end = content.len().saturating_sub(FOOTER_LENGTH);
    let mut footer = Cursor(&content[body_end..]);
    let (offset, length, checksum) = (footer.u64(), footer.u64(), footer.u64());
    let (Some(found), Some(offset), Some(length), Some(checksum), true) =
        (found, offset, length, checksum, footer.take(8) == Some(FOOTER_MAGIC) && body_end >= HEADER_LENGTH)
    else {
        return Err(format!("it ends after {} bytes, before its footer", content.len()));
    };
    if found != kind as u32 {
        return Err(format!("it holds something else than a {kind:?}"));
    }
    let start = usize::try_from(offset).ok().filter(|&start| start >= HEADER_LENGTH);
    let table = start.and_then(|start| content.get(start..body_end));
    let Some(table) = table.filter(|table| table.len() as u64 == length && xxh3_64(table) == checksum) else {
        return Err("wrong checksum of its table".to_owned());
    };
    let chunks = parse_table(Cursor(table), body_end - table.len()).ok_or("its table contradicts itself")?;
    Ok((chunks, checksum))
}

/// The chunks of a table, whose blocks must fill the file up to `blocks_end` exactly.
fn parse_table(mut table: Cursor, blocks_end: usize) -> Option<BTreeMap<String, Chunk>> {
    let mut chunks = BTreeMap::new();
    let mut place = HEADER_LENGTH;
    while !table.0.is_empty() {
        let name_length = table.u16()?;
        let name = std::str::from_utf8(table.take(usize::from(name_length))?).ok()?.to_owned();
        let kind = Kind::from_code(table.u8()?)?;
        let codec = match (table.u8()?, table.u32()? as i32) {
            (0, 0) => Codec::Exact,
            (1, exponent) if (-120..=100).contains(&exponent) => Codec::Quantised { exponent },
            _ => return None,
        };
        let count = table.u64()?;
        let (block, most) = if kind == Kind::Bytes { (BYTE_BLOCK, MOST_BYTES) } else { (BLOCK, MOST_ELEMENTS) };
        // Each block has an entry of 12 bytes, so the claim is bounded by the size of the file.
        let block_count = count.div_ceil(block as u64);
        if count > most || block_count > table.0.len() as u64 / 12 {
            return None;
        }
        let mut blocks = Vec::with_capacity(block_count as usize);
        for _ in 0..block_count {
            let end = place.checked_add(table.u32()? as usize)?;
            blocks.push(Block { place: place..end, checksum: table.u64()? });
            place = end;
        }
        chunks.insert(name, Chunk { kind, codec, count: usize::try_from(count).ok()?, blocks });
    }
    (place == blocks_end).then_some(chunks)
}

/// Little-endian numbers from the front of a slice.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}
