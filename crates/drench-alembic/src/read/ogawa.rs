//! The container, read with distrust: every position and size is checked against the file before it is used.

use crate::error::AlembicError;
use crate::types::DATA;
use std::cell::RefCell;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// A file.
pub struct Container {
    path: PathBuf,
    file: RefCell<File>,
    size: u64,
}

/// A child of a group: where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Child {
    Group(u64),
    Data(u64),
}

impl Container {
    /// Opens a file that is a complete Ogawa container; the position of its root group.
    pub fn open(path: &Path) -> Result<(Self, u64), AlembicError> {
        let storage = |source| AlembicError::Storage { path: path.to_owned(), source };
        let file = File::open(path).map_err(storage)?;
        let size = file.metadata().map_err(storage)?.len();
        let container = Self { path: path.to_owned(), file: RefCell::new(file), size };
        let mut head = [0; 16];
        if size < 16 {
            return Err(container.format("it is too short"));
        }
        container.read_at(0, &mut head)?;
        if head.starts_with(b"\x89HDF") {
            return Err(container.format(
                "it is of the old HDF5 kind; convert it with abcconvert -toOgawa, or export it again as Ogawa",
            ));
        }
        if !head.starts_with(b"Ogawa") {
            return Err(container.format("it does not begin with 'Ogawa'"));
        }
        if head[5] != 0xff {
            return Err(container.format("the program that wrote it did not finish it"));
        }
        if head[6..8] != [0, 1] {
            return Err(container.format(&format!("its container version is {}.{}, not 0.1", head[6], head[7])));
        }
        let root = word(&head[8..]);
        Ok((container, root))
    }

    /// An error that says that the file is none of ours.
    pub fn format(&self, reason: &str) -> AlembicError {
        AlembicError::Format { path: self.path.clone(), reason: reason.to_owned() }
    }

    /// An error that says that the file contradicts itself.
    pub fn damaged(&self, reason: impl Into<String>) -> AlembicError {
        AlembicError::Damaged { path: self.path.clone(), reason: reason.into() }
    }

    fn read_at(&self, position: u64, out: &mut [u8]) -> Result<(), AlembicError> {
        let mut file = self.file.borrow_mut();
        let mut read = || {
            file.seek(SeekFrom::Start(position))?;
            file.read_exact(out)
        };
        read().map_err(|source| AlembicError::Storage { path: self.path.clone(), source })
    }

    /// The number at `position`, and how many bytes follow it.
    fn count_at(&self, position: u64) -> Result<(u64, u64), AlembicError> {
        let after = position.checked_add(8).filter(|&after| position >= 16 && after <= self.size);
        let Some(after) = after else {
            return Err(self.damaged(format!("it points to byte {position} of {}", self.size)));
        };
        let mut bytes = [0; 8];
        self.read_at(position, &mut bytes)?;
        Ok((u64::from_le_bytes(bytes), self.size - after))
    }

    /// The children of a group.
    pub fn group(&self, position: u64) -> Result<Vec<Child>, AlembicError> {
        if position == 0 {
            return Ok(Vec::new());
        }
        let (count, rest) = self.count_at(position)?;
        if count > rest / 8 {
            return Err(self.damaged(format!("the group at byte {position} claims {count} children")));
        }
        let mut bytes = vec![0; count as usize * 8];
        self.read_at(position + 8, &mut bytes)?;
        Ok(bytes
            .as_chunks::<8>()
            .0
            .iter()
            .map(|child| {
                let child = u64::from_le_bytes(*child);
                if child & DATA == 0 { Child::Group(child) } else { Child::Data(child & !DATA) }
            })
            .collect())
    }

    /// Size of data [bytes].
    pub fn data_size(&self, position: u64) -> Result<u64, AlembicError> {
        if position == 0 {
            return Ok(0);
        }
        let (size, rest) = self.count_at(position)?;
        if size > rest {
            return Err(self.damaged(format!("the data at byte {position} claim {size} bytes")));
        }
        Ok(size)
    }

    /// The bytes of data.
    pub fn data(&self, position: u64) -> Result<Vec<u8>, AlembicError> {
        let size = self.data_size(position)?;
        let mut bytes = vec![0; size as usize];
        if size > 0 {
            self.read_at(position + 8, &mut bytes)?;
        }
        Ok(bytes)
    }
}

fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
