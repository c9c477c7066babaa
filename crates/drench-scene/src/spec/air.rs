//! `[air]` and `[[wind]]`

use crate::declare::{defaults, section, tagged};
use crate::form::{Form, quantity, vector};
use crate::units::{DENSITY, LENGTH, RATIO, TIME, VELOCITY, VISCOSITY};
use glam::DVec3;

section! {
    /// The air: its density and viscosity give the drag on strands.
    pub struct Air {
        /// Density [kg/m3].
        pub density: f64 = quantity(DENSITY).at_least(0.0).at_most(1e4).or(1.2),
        /// Dynamic viscosity [Pa s].
        pub viscosity: f64 = quantity(VISCOSITY).at_least(0.0).at_most(1e3).or(1.8e-5),
        /// Multiplier of the physical drag.
        pub drag: f64 = quantity(RATIO).at_least(0.0).at_most(1e3).or(1.0),
    }
    example r#"
[air]
drag = 2
"#
}

tagged! {
    /// A wind. Several of them add up.
    pub enum Wind {
        /// The same everywhere and always.
        Uniform as "uniform" {
            /// Velocity [m/s].
            velocity: DVec3 = vector(VELOCITY).required(),
        },
        /// The same everywhere, swelling and easing: velocity times (1 + strength times a smooth noise of time).
        Gusts as "gusts" {
            /// Mean velocity [m/s].
            velocity: DVec3 = vector(VELOCITY).required(),
            /// How much it swells: 0.5 makes it vary by about half.
            strength: f64 = quantity(RATIO).at_least(0.0).at_most(100.0).or(0.5),
            /// Time between gusts [s].
            period: f64 = quantity(TIME).above(0.0).at_most(1e6).or(1.5),
        },
        /// A mean wind that carries divergence-free swirls along.
        Turbulent as "turbulent" {
            /// Mean velocity [m/s].
            velocity: DVec3 = vector(VELOCITY).or(DVec3::ZERO),
            /// Typical speed of the swirls [m/s].
            speed: f64 = quantity(VELOCITY).at_least(0.0).at_most(1e3).required(),
            /// Size of the swirls [m].
            size: f64 = quantity(LENGTH).above(0.0).at_most(1e6).or(0.3),
        },
    }
    example r#"
[[wind]]
kind = "gusts"
velocity = "2 0 0 m/s"
strength = 0.8
period = "1.2 s"
"#
}

defaults!(Air);
