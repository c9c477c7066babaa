//! What water does to what it wets: one module per family.

pub mod bridge;
pub mod grains;
pub mod hair;
pub mod soak;
