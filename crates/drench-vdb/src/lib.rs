//! Volumes for other programs: sparse grids of numbers or vectors, written as `.vdb` files (OpenVDB, version 224).
//!
//! ```no_run
//! # fn main() -> Result<(), drench_vdb::VdbError> {
//! let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
//! let faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
//! let surface = drench_vdb::level_set("surface", &corners, &faces, 0.05)?;
//! drench_vdb::write("drop.vdb".as_ref(), &[&surface])?;
//! # Ok(())
//! # }
//! ```
//!
//! A grid is a tree of fixed depth: a root, nodes of 32^3 nodes of 16^3 leaves of 8^3 voxels. Voxel `(i, j, k)` has its
//! centre at `voxel * (i, j, k)` in the world.

mod error;
mod grid;
mod level_set;
mod points;
mod write;

pub use error::VdbError;
pub use grid::{Class, Grid, Value};
pub use level_set::{HALF_WIDTH, level_set};
pub use points::mean_of_points;
pub use write::{Writable, write};
