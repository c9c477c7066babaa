//! The container: data and groups at the end of a file, equal data only once.

use crate::error::AlembicError;
use crate::murmur::{Digest, digest};
use crate::types::{DATA, EMPTY_DATA, EMPTY_GROUP};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Says "complete" at byte 5.
const COMPLETE: u8 = 0xff;

/// A file that grows.
pub struct Stream {
    path: PathBuf,
    file: BufWriter<File>,
    /// Where the next bytes go.
    end: u64,
    /// Where each sample is, by digest, size and whether it is text.
    samples: HashMap<(Digest, u64, bool), u64>,
}

/// A sample on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Where it is, with the mark of data.
    pub position: u64,
    /// What it is known by.
    pub digest: Digest,
}

impl Stream {
    /// Begins a file, which says that it is not complete until [`Stream::finish`].
    pub fn create(path: &Path) -> Result<Self, AlembicError> {
        let storage = |source| AlembicError::Storage { path: path.to_owned(), source };
        let file = File::create(path).map_err(storage)?;
        let mut stream = Self {
            path: path.to_owned(),
            file: BufWriter::with_capacity(1 << 20, file),
            end: 0,
            samples: HashMap::new(),
        };
        stream.put(b"Ogawa\x00\x00\x01")?;
        stream.put(&[0; 8])?;
        Ok(stream)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), AlembicError> {
        self.file.write_all(bytes).map_err(|source| AlembicError::Storage { path: self.path.clone(), source })?;
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Writes data; its position.
    pub fn data(&mut self, bytes: &[u8]) -> Result<u64, AlembicError> {
        if bytes.is_empty() {
            return Ok(EMPTY_DATA);
        }
        let position = self.end;
        self.put(&(bytes.len() as u64).to_le_bytes())?;
        self.put(bytes)?;
        Ok(position | DATA)
    }

    /// Writes a sample behind its digest, unless one of the same bytes is there.
    pub fn sample(&mut self, bytes: &[u8], is_text: bool) -> Result<Stored, AlembicError> {
        let digest = digest(bytes);
        if bytes.is_empty() {
            return Ok(Stored { position: EMPTY_DATA, digest });
        }
        let key = (digest, bytes.len() as u64, is_text);
        if let Some(&position) = self.samples.get(&key) {
            return Ok(Stored { position, digest });
        }
        let position = self.end | DATA;
        self.put(&(bytes.len() as u64 + 16).to_le_bytes())?;
        self.put(&digest)?;
        self.put(bytes)?;
        self.samples.insert(key, position);
        Ok(Stored { position, digest })
    }

    /// Writes a group; its position.
    pub fn group(&mut self, children: &[u64]) -> Result<u64, AlembicError> {
        if children.is_empty() {
            return Ok(EMPTY_GROUP);
        }
        let position = self.end;
        self.put(&(children.len() as u64).to_le_bytes())?;
        for child in children {
            self.put(&child.to_le_bytes())?;
        }
        Ok(position)
    }

    /// Names the root group, says that the file is complete and sees it to the disk.
    pub fn finish(mut self, root: u64) -> Result<(), AlembicError> {
        let mut close = || {
            self.file.seek(SeekFrom::Start(8))?;
            self.file.write_all(&root.to_le_bytes())?;
            self.file.seek(SeekFrom::Start(5))?;
            self.file.write_all(&[COMPLETE])?;
            self.file.flush()?;
            self.file.get_ref().sync_all()
        };
        close().map_err(|source| AlembicError::Storage { path: self.path.clone(), source })
    }
}
