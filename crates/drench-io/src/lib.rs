//! Run folder, frame cache, checkpoints: nothing is ever visible half-written.
//!
//! - [`frame`]: what a frame holds; all that pictures, the viewer and exports may know of the world.
//! - [`cache`]: frames as files, compact, with random access.
//! - [`checkpoint`]: the state of a simulation as files, from which it goes on bit by bit.
//! - [`run_folder`]: the folder of a run, its description and its statistics ([`stats`]).
//! - [`format`](mod@format): the chunks that frames and checkpoints are made of.
//! - [`atomic`]: files that appear whole or not at all.

mod arrays;
pub mod atomic;
pub mod cache;
pub mod checkpoint;
pub mod clock;
pub mod error;
pub mod format;
pub mod frame;
mod listing;
pub mod run_folder;
pub mod stats;

pub use cache::FrameCache;
pub use checkpoint::Checkpoint;
pub use error::IoError;
pub use frame::{
    Attribute, ChildStrands, Domain, Frame, ParticleBody, ParticleKind, RigidPose, SolidBody, StrandBody, Values,
};
pub use run_folder::{Claim, RunFolder, RunRecord, RunStatus};
pub use stats::{Energy, FrameStats, Strain, Water};

/// A number that stands for a text: equal texts have equal numbers, and different ones practically never.
pub fn fingerprint(text: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(text.as_bytes())
}
