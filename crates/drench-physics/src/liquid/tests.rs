//! The liquid as a whole.
