//! The world, its step, and the validation and benchmarks of both.
