//! How much light of each source reaches a place.

pub(crate) mod ambient;
pub(crate) mod caustics;
pub(crate) mod rays;
pub(crate) mod shadow;
pub(crate) mod veil;

use crate::Light;
use glam::Vec3;
use std::f32::consts::PI;

/// Unit direction to a light and the irradiance of a surface that faces it, without shadows.
pub(crate) fn arriving(light: &Light, p: Vec3) -> (Vec3, Vec3) {
    match *light {
        Light::Sun { direction, colour, strength, .. } => {
            (-direction.try_normalize().unwrap_or(Vec3::NEG_Y), colour * (strength * PI))
        }
        Light::Lamp { position, colour, power, radius } => {
            let towards = position - p;
            // Inside the ball the light no longer grows.
            let distance2 = towards.length_squared().max(radius * radius).max(1e-8);
            (towards.try_normalize().unwrap_or(Vec3::Y), colour * (power / (4.0 * PI * distance2)))
        }
    }
}
