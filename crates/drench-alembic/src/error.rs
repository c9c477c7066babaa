//! What can go wrong.

use std::path::PathBuf;

/// Why a file was not written or not read.
#[derive(Debug, thiserror::Error)]
pub enum AlembicError {
    /// The file could not be opened, written or read.
    #[error("{path}: {source}")]
    Storage {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// What was to be written does not fit together.
    #[error("cannot write '{object}': {reason}")]
    Sample {
        /// Name of the object.
        object: String,
        /// What does not fit.
        reason: String,
    },
    /// The file is not an Alembic file, or one that this crate does not read.
    #[error("{path} is not a readable Alembic file: {reason}")]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file contradicts itself.
    #[error("{path} is damaged: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where it contradicts itself.
        reason: String,
    },
}

impl AlembicError {
    /// Whether the disk is to blame, not the content.
    pub fn is_storage(&self) -> bool {
        matches!(self, Self::Storage { .. })
    }
}
