//! What covers which pixel.

pub(crate) mod ball;
pub(crate) mod bins;
pub(crate) mod streak;
pub(crate) mod strip;
pub(crate) mod tile;
pub(crate) mod triangle;
