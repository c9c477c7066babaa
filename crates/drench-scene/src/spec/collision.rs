//! `[collision]`

use crate::declare::{defaults, section, words};
use crate::form::{Form, count, quantity, texts, word};
use crate::units::{LENGTH, RATIO};

section! {
    /// Collisions between strands: segments are capsules that neither overlap nor pass through each other
    /// [Rungjiratananon2012, 4.5]. Unlike `[interaction]`, which acts on crowds, it keeps every single strand apart.
    pub struct Collision {
        /// Coefficient of friction between strands.
        pub friction: f64 = quantity(RATIO).at_least(0.0).at_most(100.0).or(0.3),
        /// Radius that the strands of grooms collide with [m]. Cords collide with their own.
        pub radius: Option<f64> = quantity(LENGTH).above(0.0).at_most(1.0).optional_as(
            "that of the fibre, times the square root of how many hairs a guide stands for"
        ),
        /// Whose motion during a step is looked at, so that they pass through none of their kind however fast they are.
        pub continuous: Continuous = word().or(Continuous::Cords),
        /// Passes over all contacts per step.
        pub iterations: u32 = count(1u32, 1000).or(4u32),
        /// Grooms and cords that do not take part.
        pub except: Vec<String> = texts().or_as([], "all take part"),
    }
    example r#"
[[groom]]
name = "hair"
on = "head"
strands = 2000
length = "20 cm"

[collision]
friction = 0.2
radius = "0.3 mm"
"#
}

words! {
    /// Whose collisions are continuous.
    pub enum Continuous {
        /// Cords.
        Cords = "cords",
        /// Cords and grooms.
        All = "all",
        /// Nobody's.
        None = "none",
    }
}

defaults!(Collision);
