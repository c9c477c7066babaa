//! Small mathematics that every other crate stands on: randomness from counters, sums whose bits do not depend on
//! threads, systems with a few diagonals, and smooth noise.

pub mod bands;
pub mod noise;
pub mod ordered;
pub mod random;
