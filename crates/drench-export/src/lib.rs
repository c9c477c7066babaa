//! A run for other programs: `drench export RUN --to FORMAT`.
//!
//! - [`source`]: the frames of a run, one after the other, as [`Moment`]s.
//! - [`moment`]: what a frame holds for other programs: curves with their children and the attributes that drive a wet
//!   look, points, meshes, cameras. Metres, seconds, +y up.
//! - [`format`](mod@format): the list of formats, and what each must do: take one moment after the other and never hold
//!   more than one.
//! - [`target`]: files that appear whole or not at all.
//!
//! Adding a format: a module with a type that implements [`Writer`], and one entry in [`format::FORMATS`].

mod abc;
pub mod clumps;
pub mod curves;
pub mod error;
pub mod format;
mod hair;
pub mod manifest;
pub mod memory;
pub mod moment;
mod obj;
mod ply;
mod sequence;
pub mod source;
pub mod target;
mod usd;
mod vdb;
mod vtp;

pub use error::ExportError;
pub use format::{FORMATS, Format, Writer};
pub use manifest::Manifest;
pub use moment::{CameraView, Curves, Mesh, MeshKind, Moment, Points, Shot};
pub use source::{Basis, Options, Source};
pub use target::Target;
