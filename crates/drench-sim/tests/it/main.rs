//! Tests of this crate from outside, in one program: it is compiled and linked once.

mod bodies;
mod deforming;
mod estimate;
mod grains;
mod held_tips;
mod liquid;
mod wet_hair;
