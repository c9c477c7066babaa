//! `[simulation]`

use crate::declare::{defaults, section};
use crate::form::{Form, count, quantity, vector};
use crate::units::{ACCELERATION, RATE, TIME};
use glam::DVec3;

section! {
    /// Time: how long the run is, and how finely it is stepped.
    pub struct Simulation {
        /// Frames to simulate. Frame 0, the initial state, is written too.
        pub frames: u32 = count(1u32, 1_000_000).or(100u32),
        /// Frames per second of simulated time [1/s].
        pub fps: f64 = quantity(RATE).at_least(1e-3).at_most(1e6).or(24.0),
        /// Time steps per frame.
        pub substeps: u32 = count(1u32, 10_000).or(4u32),
        /// Seed of everything random; the same seed gives the same run, bit by bit.
        pub seed: u64 = count(0u64, i64::MAX as u64).or(1u64),
        /// Gravity [m/s2].
        pub gravity: DVec3 = vector(ACCELERATION).or(DVec3::new(0.0, -9.81, 0.0)),
        /// Simulated time before frame 0 during which the solids hold their first pose, so that strands come to rest [s].
        pub settle: f64 = quantity(TIME).at_least(0.0).at_most(3600.0).or(0.0),
        /// Frames between checkpoints.
        pub checkpoint_every: u32 = count(1u32, 1_000_000).or(10u32),
    }
    example r#"
[simulation]
frames = 120
fps = "30 fps"
settle = "0.5 s"
"#
}

defaults!(Simulation);
