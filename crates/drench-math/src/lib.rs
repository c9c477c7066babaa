//! Small mathematics that every other crate stands on: randomness from counters, sums whose bits do not depend on
//! threads, smooth noise, and frames carried along a curve.

pub mod noise;
pub mod ordered;
pub mod random;
