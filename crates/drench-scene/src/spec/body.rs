//! `[solid.body]`

use super::{Motion, Shape, Solid};
use crate::declare::{section, words};
use crate::form::{Form, Reader, quantity, vector, word};
use crate::tree::{Place, Table};
use crate::units::{ANGULAR_VELOCITY, DENSITY, MASS, RATE, RATIO, TIME, VELOCITY};
use glam::DVec3;

section! {
    /// Makes a solid a rigid body: it falls, is pushed by cords, liquid and grains, and collides with other solids. Its
    /// friction is that of the solid; two that touch have the mean of theirs.
    pub struct RigidBody {
        /// Density, from which its mass follows [kg/m3].
        pub density: f64 = quantity(DENSITY).above(0.0).at_most(1e5).or(500.0),
        /// Mass, instead of `density` [kg].
        pub mass: Option<f64> = quantity(MASS).at_least(1e-9).at_most(1e9).optional_as("from `density`"),
        /// Share of the approaching speed that a collision gives back.
        pub restitution: f64 = quantity(RATIO).fraction().or(0.1),
        /// What it touches other solids with.
        pub touch: Touch = word().or(Touch::Hull),
        /// Rate at which its motion dies away by itself [1/s].
        pub damping: f64 = quantity(RATE).at_least(0.0).at_most(1e4).or(0.0),
        /// Rate at which its spin dies away by itself [1/s].
        pub spin_damping: f64 = quantity(RATE).at_least(0.0).at_most(1e4).or(0.0),
        /// Drag coefficient of its faces in the wind; 0 for a body that the air does not feel.
        pub drag: f64 = quantity(RATIO).at_least(0.0).at_most(1e3).or(1.05),
        /// Velocity when it is let go [m/s].
        pub velocity: DVec3 = vector(VELOCITY).or(DVec3::ZERO),
        /// Angular velocity when it is let go [rad/s].
        pub spin: DVec3 = vector(ANGULAR_VELOCITY).or(DVec3::ZERO),
        /// When it is let go [s]. Until then it stands where the scene puts it, and nothing moves it.
        pub release: Option<f64> =
            quantity(TIME).at_least(0.0).at_most(1e9).optional_as("free from the start, also while strands settle"),
    }
    example r##"
[ground]

[[solid]]
name = "crate"
shape = { kind = "box", size = "30 30 30 cm" }
position = [0, 2, 0]
friction = 0.5
body = { mass = "4 kg", velocity = [3, 0, 0], spin = "0 0 1 turn/s", release = "0.5 s" }
"##
}

words! {
    /// What a rigid body touches other solids with.
    pub enum Touch {
        /// Its convex hull; boxes, spheres, capsules, cylinders and tori as they are.
        Hull = "hull",
        /// Convex pieces that its mesh is cut into: slower, for shapes with hollows.
        Pieces = "pieces",
    }
}

/// A rigid body moves by itself: nothing else may move it.
pub(super) fn check_body(solid: &Solid, table: &Table, place: Place, reader: &mut Reader) {
    if solid.body.is_none() {
        return;
    }
    let at = |key: &str| table.get(key).map_or(place, |node| node.place);
    if solid.motion != Motion::Still {
        let help = "leave out `motion` or `body`; `body.velocity` and `body.release` throw it at a time";
        reader.error(at("motion"), "a rigid body moves by itself and cannot have a `motion`", help);
    }
    if solid.parent.is_some() {
        let help = "leave out `parent`, and tie it with a [[cord]] if it should hang on something";
        reader.error(at("parent"), "a rigid body moves by itself and cannot have a `parent`", help);
    }
    let hollow = match &solid.shape {
        Shape::Plane { .. } => Some("a plane has no inside and no mass"),
        Shape::Tank { .. } => Some("an open tank cannot be a rigid body"),
        Shape::File { animation: Some(_), .. } => Some("a mesh that deforms cannot be a rigid body"),
        _ => None,
    };
    if let Some(message) = hollow {
        reader.error(at("shape"), message, "use another shape, or leave out `body`");
    }
}
