//! Alembic files: arrays in, file out, and curves back.
//!
//! Alembic is how grooms and simulated geometry travel between programs. A file is a tree of objects with properties,
//! stored in a container called Ogawa. This crate writes the geometry schemas that other programs read (transforms,
//! curves, points, polygon meshes, cameras, with any further values on them) and reads curves.
//!
//! ```no_run
//! use drench_alembic::{About, Archive, CurvesSample, TimeSampling};
//! # fn main() -> Result<(), drench_alembic::AlembicError> {
//! let sampling = TimeSampling { start: 0.0, step: 1.0 / 24.0 };
//! let mut archive = Archive::create("hair.abc".as_ref(), &About::default(), sampling)?;
//! let hair = archive.add_curves(archive.top(), "hair")?;
//! for frame in 0..10 {
//!     let height = frame as f32;
//!     let positions = [[0.0, 0.0, 0.0], [0.0, height, 0.0]];
//!     archive.write_curves(hair, &CurvesSample { positions: &positions, counts: &[2], ..CurvesSample::default() })?;
//! }
//! archive.finish()?;
//! # Ok(())
//! # }
//! ```
//!
//! # The container
//! After `Ogawa`, a byte that tells whether the file is complete, two bytes of version and the position of the root group
//! come *data* (u64 size, bytes) and *groups* (u64 count, positions; the top bit tells data from groups, position 0 is
//! empty). A group names what was written before it, so samples go to disk as they come and only their positions
//! (some 60 bytes per sample that differs) are held until the end. Equal samples are stored once: they are known by
//! their MurmurHash3 digest, which the format wants in front of each sample anyway.
//!
//! | group | holds |
//! |---|---|
//! | root | format version, library version, top object, archive metadata, time samplings, shared metadata |
//! | object | its properties, its children, their headers with two digests |
//! | compound property | its properties, their headers |
//! | scalar property | one data per stored sample |
//! | array property | data and dimensions per stored sample; no dimensions = from the size |
//!
//! Samples before the first change and after the last one are not stored.

mod error;
mod murmur;
mod read;
mod types;
mod write;

pub use error::AlembicError;
pub use read::{Curves, CurvesObject, ReadParameter, ReadValues, Reader};
pub use types::{Basis, Scope, TimeSampling};
pub use write::schema::{CameraSample, CurvesSample, MeshSample, Parameter, PointsSample, Values};
pub use write::{About, Archive, ObjectId};
