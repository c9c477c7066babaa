//! Surface tension by cohesion of pairs, with a contact angle on solids.
//!
//! Every two particles within the support H attract each other along the line between them,
//!
//! ```text
//! F_ij = −A V_i V_j f(r/H) x_ij / r,    f(q) = q (1 − q²)²,    V = m / ρ0.
//! ```
//!
//! Inside, the pulls of all sides cancel; at the surface they add up to a tension. For a continuous liquid it is
//! σ = π/8 ∫ A f r⁴ dr = A H⁵ π/480 [Fowler1937; Tartakovsky2016], which gives A; `CALIBRATION` accounts for the order of particles. Samples of solids attract with
//! β times the strength. In a continuous liquid the work to separate it from a wall, σ (1 + cos θ), and from itself, 2 σ [Young1805; Dupre1869],
//! would make that (1 + cos θ)/2; but the liquid's own pull presses it against the wall, whose answer lifts the lowest layer and weakens the hold. The angle that a drop
//! comes to follows cos θ = (β − β0)/β1 all the same, with numbers that were measured on drops (`drench validate contact-angle`). Forces are opposite and along lines:
//! momentum and angular momentum are kept.
//!
//! The same pulls press the liquid together by about 4 σ/d, which the pressure solve carries: pressures contain it.
//!
//! Breaks down: films and threads of one particle; drops of less than some fifty particles. Drops creep to their round shape instead of
//! swinging, however many particles they have, and hold less pressure than 2 σ/R: particles that are pressed together by 4 σ/d are stiff against shear, and yield only to more than σ/R
//! (docs/validation.md has figures, and what a reach of 3 d changes).

use super::LiquidModel;
use super::fields::{Fields, dot, for_each_row};
use super::rows::PIECE;
use super::walls::Walls;
use wide::f32x4;

/// A over that of a continuous liquid. Neighbours of a liquid of particles are in shells, 6 at d, 12 at √2 d and 8 at √3 d in all
/// directions, and the work to part it, Σ r/4 U(r) over these per d², is 0.97 of the integral (`drench validate cohesion`).
pub(crate) const CALIBRATION: f64 = 1.03;

/// β0 and β1: where drops without weight, of 700 and 2100 particles, come to rest between 30 and 135 degrees.
const NEUTRAL: f64 = 0.81;
const CONTRAST: f64 = 0.34;

/// Energy that holds two particles with these volumes [m3] at the distance r [m] together [J].
pub fn cohesion(model: &LiquidModel, volumes: [f64; 2], r: f64) -> f64 {
    let support = model.support();
    let strength = strength(model.material.surface_tension, support);
    strength * volumes[0] * volumes[1] * support / 6.0 * (1.0 - (r / support).powi(2)).max(0.0).powi(3)
}

/// A [N/m6].
fn strength(surface_tension: f64, support: f64) -> f64 {
    CALIBRATION * surface_tension * 480.0 / (std::f64::consts::PI * support.powi(5))
}

/// Strengths of the model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tension {
    /// A dt / (ρ0² H) [m/(kg s)].
    strength: f32,
    /// β.
    adhesion: f32,
    /// 1 / H² [1/m2].
    inverse_square: f32,
}

impl Tension {
    pub fn new(surface_tension: f64, contact_angle: f64, density: f64, support: f64, dt: f64) -> Self {
        Self {
            strength: (strength(surface_tension, support) * dt / (density * density * support)) as f32,
            adhesion: (NEUTRAL + CONTRAST * contact_angle.cos()) as f32,
            inverse_square: (1.0 / (support * support)) as f32,
        }
    }

    /// Velocity [m/s] that a particle gains from a neighbour of this mass.
    #[inline]
    fn pair(&self, d: f32x4, mass: f32) -> f32x4 {
        let rest = 1.0 - dot(d, d) * self.inverse_square;
        d * f32x4::splat(-self.strength * mass * rest * rest)
    }

    /// What a wall point gets from particle i [N s].
    pub fn impulse(&self, fields: &Fields, walls: &Walls, i: usize, b: usize) -> f32x4 {
        let d = fields.points.x[i] - walls.points.x[b];
        self.pair(d, self.adhesion * walls.points.masses[b]) * f32x4::splat(-fields.points.masses[i])
    }
}

/// v += dt F / m.
pub(crate) fn pull(fields: &mut Fields, walls: &[&Walls], tension: Tension) {
    let Fields { points, rows, v, .. } = fields;
    let (x, masses) = (&points.x, &points.masses);
    let before = v.clone();
    for_each_row(rows, v, |i, others, _| {
        let mut change = f32x4::ZERO;
        for &j in others {
            change += tension.pair(x[i] - x[j as usize], masses[j as usize]);
        }
        for walls in walls {
            let (others, _) = walls.rows[i / PIECE].row(i % PIECE);
            for &b in others {
                let (x_b, mass) = (walls.points.x[b as usize], walls.points.masses[b as usize]);
                change += tension.pair(x[i] - x_b, tension.adhesion * mass);
            }
        }
        before[i] + change
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// σ = π/8 ∫ F r⁴ dr for the force between unit volumes.
    #[test]
    fn cohesion_adds_up_to_the_surface_tension() {
        let (sigma, support) = (0.07, 0.4_f32);
        let tension = Tension::new(sigma, 0.0, 1.0, f64::from(support), 1.0);
        let n = 4000;
        let step = support / n as f32;
        let force = |r: f32| -tension.pair(f32x4::new([r, 0.0, 0.0, 0.0]), 1.0).to_array()[0];
        let sum: f64 = (0..n)
            .map(|k| step * (k as f32 + 0.5))
            .map(|r| f64::from(force(r)) * f64::from(r).powi(4) * f64::from(step))
            .sum();
        let got = std::f64::consts::PI / 8.0 * sum / CALIBRATION;
        assert!((got / sigma - 1.0).abs() < 1e-3, "{got}");
        // The force is the slope of the energy.
        let model = LiquidModel { spacing: 0.2, ..LiquidModel::water(0.2) };
        let water = Tension::new(model.material.surface_tension, 0.0, 1.0, 0.4, 1.0);
        let pull = f64::from(-water.pair(f32x4::new([0.3, 0.0, 0.0, 0.0]), 1.0).to_array()[0]);
        let slope = (cohesion(&model, [1.0; 2], 0.2999) - cohesion(&model, [1.0; 2], 0.3001)) / 2e-4;
        assert!((pull / slope - 1.0).abs() < 1e-3, "{pull} {slope}");
        let adhesion = |degrees: f64| Tension::new(sigma, degrees.to_radians(), 1.0, 1.0, 1.0).adhesion;
        assert!(adhesion(0.0) > 1.0 && adhesion(90.0) < 1.0 && adhesion(180.0) < 0.5);
    }
}
