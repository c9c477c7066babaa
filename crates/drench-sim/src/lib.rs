//! The world, its step, and the validation and benchmarks of both.
//!
//! Start reading at [`step::substep`]: it is the algorithm. [`world`] says what it works on, [`Simulation`] drives it
//! frame by frame.

pub mod bench;
pub mod bodies;
mod boundary;
mod capture;
mod checkpoint;
pub mod collisions;
mod convert;
pub mod cords;
mod error;
mod estimate;
mod experiment;
mod flow;
mod grains;
mod grooms;
mod hair;
pub mod ledger;
mod liquid;
mod particles;
mod porous;
mod regions;
pub mod report;
mod simulation;
pub mod solids;
pub mod step;
pub mod validate;
pub mod world;

pub use error::SimError;
pub use estimate::{Estimate, estimate, estimate_all};
pub use porous::{Voxels, voxels};
pub use simulation::Simulation;
