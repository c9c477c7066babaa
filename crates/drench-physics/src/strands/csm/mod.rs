//! Chain shape matching [Rungjiratananon2012, 4.1].
//!
//! | module | what it does |
//! |---|---|
//! | [`extent`] | how far regions reach, and how stiff that makes a chain |
//! | [`rotation`] | the best rotation of a region |
//! | [`matching`] | goal positions of a batch of chains |

#![allow(dead_code)] // until a solver calls it

pub(crate) mod extent;
pub(crate) mod matching;
pub(crate) mod rotation;
#[cfg(test)]
mod tests;

pub use extent::{half_width_of, squared_stiffness};
