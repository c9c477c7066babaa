//! What can go wrong with files, each cause with the file and the fix.

use std::io;
use std::path::{Path, PathBuf};

/// An error of the run folder, the frame cache or a checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum IoError {
    /// The storage refused: disk full, no permission, a read-only file system.
    #[error("cannot {action} {}: {source}\n  fix: {}", path.display(), storage_fix(source))]
    Storage {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not there.
    #[error("{} is missing\n  fix: {fix}", path.display())]
    Missing {
        /// The file or folder.
        path: PathBuf,
        /// What to do about it.
        fix: &'static str,
    },
    /// A file is truncated, was changed, or holds something else than its name says.
    #[error("{} is damaged: {what}\n  fix: {fix}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        what: String,
        /// What to do about it.
        fix: &'static str,
    },
    /// A file was written by a version of the format that this program does not know.
    #[error("{} has format version {found}, this program reads versions up to {supported}\n  fix: read it with the version of Drench that wrote it, or run the scene again with --force", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Version in the file.
        found: u32,
        /// Newest version that this program reads.
        supported: u32,
    },
    /// A frame that is to be written contradicts itself, or is larger than the format allows.
    #[error("frame {frame} cannot be stored: {reason}")]
    Unstorable {
        /// Its number.
        frame: u32,
        /// The contradiction.
        reason: String,
    },
    /// The output folder is in use by an earlier run.
    #[error("{} already holds a run\n  fix: --resume goes on with it, --force replaces it, --out DIR writes elsewhere", path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// The output folder holds other files, which are not touched.
    #[error("{} holds files that are not a Drench run, so nothing is written there\n  fix: choose an empty or new folder with --out DIR", path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
    },
    /// Another process is writing to the folder.
    #[error("{} is being written by another process{}\n  fix: wait for it or stop it, or choose another folder with --out DIR", path.display(), holder(*process))]
    Locked {
        /// The folder.
        path: PathBuf,
        /// Its process number, where known.
        process: Option<u32>,
    },
}

/// The result of everything in this crate.
pub type Result<T> = std::result::Result<T, IoError>;

impl IoError {
    /// Whether the storage failed, rather than what is stored: exit code 4 instead of 2.
    pub fn is_storage(&self) -> bool {
        matches!(self, Self::Storage { .. })
    }

    /// A closure for `map_err` on an operation that writes.
    pub(crate) fn storage(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Storage { action, path: path.to_owned(), source }
    }

    /// A closure for `map_err` on an operation that reads; an absent file is told apart from a failing disk.
    pub(crate) fn reading(path: &Path, fix: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing { path: path.to_owned(), fix },
            _ => Self::Storage { action: "read", path: path.to_owned(), source },
        }
    }
}

fn storage_fix(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space and go on with --resume, or write elsewhere with --out DIR"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "choose a folder that you may write to with --out DIR"
        }
        io::ErrorKind::FileTooLarge => "raise the limit on file sizes (ulimit -f), or write elsewhere with --out DIR",
        _ => "check the disk and the path, or write elsewhere with --out DIR",
    }
}

fn holder(process: Option<u32>) -> String {
    process.map_or_else(String::new, |process| format!(" (process {process})"))
}
