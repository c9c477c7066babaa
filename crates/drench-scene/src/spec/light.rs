//! `[[light]]`, `[sky]` and `[ground]`

use crate::declare::{defaults, section, tagged};
use crate::form::{Form, colour, flag, quantity, vector};
use crate::units::{ANGLE, LENGTH, POWER, RATIO};
use glam::DVec3;

tagged! {
    /// A light.
    pub enum Light {
        /// Light from one direction, as far away as the sun.
        Sun as "sun" {
            /// Direction that it shines along.
            direction: DVec3 = vector(RATIO).nonzero().required(),
            /// Colour.
            colour: [f64; 3] = colour().or([1.0, 0.95, 0.88]),
            /// Brightness: the radiance of a white surface that faces it.
            strength: f64 = quantity(RATIO).at_least(0.0).at_most(1e6).or(2.0),
            /// Angular diameter, which makes shadows soft [rad].
            angle: f64 = quantity(ANGLE).at_least(0.0).at_most(std::f64::consts::PI).or(2f64.to_radians()),
        },
        /// A glowing ball.
        Lamp as "lamp" {
            /// Position [m].
            position: DVec3 = vector(LENGTH).required(),
            /// Colour.
            colour: [f64; 3] = colour().or([1.0, 0.95, 0.88]),
            /// Radiant power [W].
            power: f64 = quantity(POWER).at_least(0.0).at_most(1e9).or(20.0),
            /// Radius, which makes shadows soft [m].
            radius: f64 = quantity(LENGTH).at_least(0.0).at_most(1e3).or(0.05),
        },
    }
    example r#"
[[light]]
kind = "sun"
direction = [-1, -2, -1]
angle = "5 deg"

[[light]]
kind = "lamp"
position = [1, 2, 1]
power = "60 W"
"#
}

/// Key, fill and rim, for scenes that bring no light: suns, since those fit a scene of any size.
pub(super) fn default_rig() -> Vec<Light> {
    let sun = |direction, colour, strength, degrees: f64| Light::Sun {
        direction: DVec3::from_array(direction),
        colour,
        strength,
        angle: degrees.to_radians(),
    };
    vec![
        sun([0.62, -0.85, -0.6], [1.0, 0.95, 0.88], 2.4, 5.0),
        sun([-0.9, -0.35, -0.35], [0.85, 0.92, 1.0], 0.35, 20.0),
        sun([-0.35, -0.6, 0.9], [0.95, 0.97, 1.0], 1.8, 6.0),
    ]
}

section! {
    /// The light that comes from everywhere, and the backdrop.
    pub struct Sky {
        /// Colour overhead.
        pub zenith: [f64; 3] = colour().or([0.42, 0.5, 0.62]),
        /// Colour at the horizon.
        pub horizon: [f64; 3] = colour().or([0.72, 0.74, 0.77]),
        /// Brightness: the radiance of white.
        pub strength: f64 = quantity(RATIO).at_least(0.0).at_most(1e6).or(0.6),
        /// Whether it is seen behind the scene; otherwise the backdrop is black.
        pub visible: bool = flag().or(true),
    }
}

section! {
    /// A floor: the plane y = height, seen and felt.
    pub struct Ground {
        /// Height [m].
        pub height: f64 = quantity(LENGTH).at_least(-1e6).at_most(1e6).or(0.0),
        /// Colour.
        pub colour: [f64; 3] = colour().or([0.45, 0.43, 0.4]),
        /// Roughness: 0 polished, 1 matt.
        pub roughness: f64 = quantity(RATIO).fraction().or(0.8),
        /// Coulomb friction of strands on it.
        pub friction: f64 = quantity(RATIO).at_least(0.0).at_most(100.0).or(0.5),
    }
    example r##"
[ground]
colour = "#80876a"
"##
}

defaults!(Sky, Ground);
