//! Small mathematics that every other crate stands on: randomness from counters, sums whose bits do not depend on
//! threads, and smooth noise.

pub mod noise;
pub mod ordered;
pub mod random;
