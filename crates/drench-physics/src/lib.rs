//! Models of strands, their interaction and contact: knows no files, no pictures.
//!
//! A step of one body reads, from the outside:
//!
//! 1. [`strands::solve`]: forces, prediction, shape, inextensibility, contact, velocities, and the deposit of every
//!    vertex in the body's share of the interaction grid while it is still in cache;
//! 2. [`interaction::Grid::assemble`]: the shares of all bodies become one grid;
//! 3. [`interaction::Grid::apply`]: friction and repulsion act on the velocities.
//!
//! Everywhere model (immutable), state (what a checkpoint holds) and scratch (rebuilt at will) are apart, and no result
//! depends on the number of threads.

pub mod air;
pub mod collision;
pub mod contact;
pub mod cords;
pub mod diagnostics;
mod error;
pub mod grains;
pub mod interaction;
pub mod liquid;
pub mod region;
pub mod rigid;
pub mod strands;
pub mod synthetic;
pub mod wetting;

pub use error::PhysicsError;
