//! Tests of this crate from outside, in one program: it is compiled and linked once.

mod collision;
mod common;
mod contact;
mod cords;
mod csm;
mod grains;
mod interaction;
mod linking;
mod rigid;
mod strands;
mod wet_grains;
mod wet_hair;
