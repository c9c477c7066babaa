//! Pictures and movies from frames, on the CPU.
