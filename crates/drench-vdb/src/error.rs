//! What can go wrong.

use std::path::PathBuf;

/// Why there is no grid or no file.
#[derive(Debug, thiserror::Error)]
pub enum VdbError {
    /// The file could not be written.
    #[error("{path}: {source}")]
    Storage {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Voxels must have a size.
    #[error("voxels cannot be {0} m wide")]
    Voxel(f64),
    /// What is to be shown is too far away, or too large, for voxels of that size.
    #[error("'{grid}' would need more than {most} voxels of {voxel} m: take larger ones")]
    TooLarge {
        /// Name of the grid.
        grid: String,
        /// Side of a voxel [m].
        voxel: f64,
        /// The limit.
        most: usize,
    },
}
