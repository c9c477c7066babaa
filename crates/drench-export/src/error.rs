//! What can go wrong with an export, each cause with the place and the fix.

use drench_io::IoError;
use drench_render::RenderError;
use std::io;
use std::path::{Path, PathBuf};

/// An error of an export.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The run cannot be read.
    #[error(transparent)]
    Run(#[from] IoError),
    /// A frame contradicts itself, or its liquid has no surface.
    #[error(transparent)]
    Frame(#[from] RenderError),
    /// The storage refused: disk full, no permission.
    #[error("cannot {action} {}: {source}\n  fix: free some space, or write elsewhere with --out", path.display())]
    Storage {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is a file or folder of that name.
    #[error("{} is already there\n  fix: --force replaces it, --out writes elsewhere", path.display())]
    Exists {
        /// The file or folder.
        path: PathBuf,
    },
    /// The folder to be replaced holds files that no export made.
    #[error("{} holds '{file}', which is not of such an export, so it is not replaced\n  fix: choose another place with --out", path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// Name of one such file.
        file: String,
    },
    /// The format cannot hold what the run has.
    #[error("{format} cannot hold this run: {reason}\n  fix: {fix}")]
    Unable {
        /// Name of the format.
        format: &'static str,
        /// What is too much for it.
        reason: String,
        /// What to do about it.
        fix: &'static str,
    },
}

impl ExportError {
    /// Whether the storage failed, rather than what is stored: exit code 4 instead of 2.
    pub fn is_storage(&self) -> bool {
        match self {
            Self::Storage { .. } => true,
            Self::Run(error) => error.is_storage(),
            Self::Frame(error) => matches!(error, RenderError::Storage { .. }),
            _ => false,
        }
    }

    /// A closure for `map_err` on an operation that writes.
    pub fn storage(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Storage { action, path: path.to_owned(), source }
    }
}
