//! Run folder, frame cache, checkpoints: nothing is ever visible half-written.

pub mod frame;

pub use frame::{Attribute, ChildStrands, Domain, Frame, SolidBody, StrandBody, Values};
