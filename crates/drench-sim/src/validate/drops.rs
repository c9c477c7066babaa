//! Drops on a floor against the shapes that surface tension, contact angle and weight give them.

use super::liquid::Tank;
use super::{Case, GRAVITY, Measured};
use crate::SimError;
use drench_physics::liquid::source::{Portion, fill};
use drench_physics::liquid::{LiquidModel, LiquidState, Material};
use glam::DVec3;
use std::f64::consts::PI;

pub const CASES: &[Case] = &[
    Case {
        name: "contact-angle-wetting",
        law: "drop without weight, contact angle 60: height of its centre of mass [m]",
        run: || light_drop(60.0),
    },
    Case { name: "contact-angle-right", law: "the same at a contact angle of 90", run: || light_drop(90.0) },
    Case { name: "contact-angle-repelled", law: "the same at a contact angle of 120", run: || light_drop(120.0) },
    Case {
        name: "sessile-drop",
        law: "heavy drop of water, contact angle 90 [Bashforth1883]: height of its centre of mass [m]",
        run: sessile_drop,
    },
];

/// A drop at rest, by Young and Laplace: sigma (1/r1 + 1/r2) = sigma 2 b + rho g z with the depth z below the apex.
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    /// Volume [m3].
    volume: f64,
    /// Height of the centre of mass [m].
    centre: f64,
}

impl Shape {
    /// The drop with the curvature `b` at its apex [1/m], along its outline from the apex to the contact angle. `weight` is rho g / sigma [1/m2].
    fn of_apex(b: f64, weight: f64, angle: f64) -> Self {
        let slope = |[r, z, phi]: [f64; 3]| {
            let across = if r > 1e-12 { phi.sin() / r } else { b };
            [phi.cos(), phi.sin(), 2.0 * b + weight * z - across]
        };
        let h = 1e-3 / (b + weight.sqrt());
        let (mut at, mut volume, mut moment) = ([0.0, 0.0, 0.0], 0.0, 0.0);
        // As long as the outline turns; a puddle may be many times as long as its apex is round.
        for _ in 0..1_000_000 {
            let first = slope(at);
            let second = slope(std::array::from_fn(|k| at[k] + 0.5 * h * first[k]));
            let part = if at[2] + h * second[2] > angle { (angle - at[2]) / (h * second[2]) } else { 1.0 };
            let next: [f64; 3] = std::array::from_fn(|k| at[k] + part * h * second[k]);
            let slice = PI * (0.5 * (at[0] + next[0])).powi(2) * (next[1] - at[1]);
            volume += slice;
            moment += slice * 0.5 * (at[1] + next[1]);
            at = next;
            if part < 1.0 {
                break;
            }
        }
        Self { volume, centre: at[1] - moment / volume }
    }

    /// The drop of this volume [m3].
    fn of_volume(volume: f64, weight: f64, angle: f64) -> Self {
        // Larger drops are flatter at their apex.
        let size = 1.0 / volume.cbrt();
        let (mut flat, mut round) = (1e-15 * size, 1e2 * size);
        for _ in 0..50 {
            let middle = (flat * round).sqrt();
            if Self::of_apex(middle, weight, angle).volume > volume { flat = middle } else { round = middle }
        }
        Self::of_apex((flat * round).sqrt(), weight, angle)
    }
}

/// A hemisphere of so many particles along its radius, on a floor, after it has come to rest: the height of its centre of mass over that of
/// its shape at rest.
fn drop_on_floor(
    model: LiquidModel,
    across: f64,
    gravity: f64,
    time: f64,
    tolerance: f64,
) -> Result<Measured, SimError> {
    let (d, radius) = (model.spacing, across * model.spacing);
    let size = DVec3::new(5.0 * radius, d, 5.0 * radius);
    let mut tank = Tank::new(model, size, [[false; 2], [true, false], [false; 2]], DVec3::ZERO, DVec3::splat(d))?;
    tank.gravity = DVec3::NEG_Y * gravity;
    tank.state = LiquidState::default();
    let portion = Portion { spacing: d, mass: model.particle_mass() };
    let middle = DVec3::new(0.5 * size.x, 0.0, 0.5 * size.z);
    let corners = [middle - DVec3::new(radius, 0.0, radius), middle + radius];
    let inside = |p: DVec3| p.distance(middle) < radius;
    tank.state.add(&fill(&portion, corners, DVec3::ZERO, 100_000, inside).map_err(SimError::Liquid)?);
    let steps = 100;
    for _ in 0..steps {
        tank.step(time / f64::from(steps))?;
    }
    let count = tank.state.positions.len() as f64;
    let centre = tank.state.positions.iter().map(|p| p.y).sum::<f64>() / count;
    let weight = model.material.density * gravity / model.material.surface_tension;
    let shape = Shape::of_volume(count * d.powi(3), weight, model.contact_angle);
    Ok(Measured::relative(shape.centre, centre, tolerance))
}

fn light_drop(degrees: f64) -> Result<Measured, SimError> {
    let material = Material { viscosity: 0.01, ..Material::WATER };
    let model = LiquidModel { material, contact_angle: degrees.to_radians(), ..LiquidModel::water(0.4e-3) };
    drop_on_floor(model, 8.5, 0.0, 0.1, 0.1)
}

/// So heavy (Bond number 8) that its height goes with the cube root of the surface tension: 4 % are 12 % of that.
fn sessile_drop() -> Result<Measured, SimError> {
    let material = Material { viscosity: 0.01, ..Material::WATER };
    let model = LiquidModel { material, contact_angle: 0.5 * PI, ..LiquidModel::water(0.7e-3) };
    drop_on_floor(model, 11.0, GRAVITY, 0.3, 0.04)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drop_without_weight_is_a_cap_and_a_large_one_a_puddle() {
        let angle = 60_f64.to_radians();
        let cap = Shape::of_volume(1e-9, 0.0, angle);
        let radius = (3e-9 / (PI * 2.5 * 0.25)).cbrt();
        assert!((cap.centre / (0.175 * radius) - 1.0).abs() < 1e-3, "{cap:?} {radius}");
        // A puddle without end is 2 sin(theta / 2) sqrt(sigma / (rho g)) high.
        let puddle = Shape::of_volume(2e-6, 1e6, angle);
        assert!((puddle.centre / 0.5e-3 - 1.0).abs() < 0.05, "{puddle:?}");
    }
}
