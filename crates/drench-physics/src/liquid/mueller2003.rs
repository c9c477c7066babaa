//! Pressure from an equation of state [Mueller2003; Rungjiratananon2012, section 3.1]: springy liquid, for comparison.
//!
//! ```text
//! ρ_i = Σ m_j W,      p = max(0, k (ρ − ρ0))                                                    (3.2), (3.3)
//! a_i = −Σ m_j (p_i/ρ_i² + p_j/ρ_j²) ∇W + μ Σ m_j (v_j − v_i) / (ρ_i ρ_j) ∇²W_viscosity         (3.4), (3.5)
//! ```
//!
//! (3.3) has "ρ + ρ0" in print; pressure must vanish at rest: ρ − ρ0. Pressure below zero is taken as zero, because it makes
//! particles clump at free surfaces. (3.2) has the kernel `poly6` in print and (3.4) (p_i + p_j) / (2 ρ_i ρ_j) with the slope of `spiky`: such forces are not
//! the slope of any energy, and two balls of water that collide flew apart with a third more of it than they had, however short the steps; and they are half of
//! ∇p/ρ, because Σ m_j/ρ_j ∇W p_i is nothing. Here W is the kernel of `dfsph` in both places, and pressure is the slope of the energy
//! Σ m_i ∫ p/ρ² dρ. What velocities are not smooth is calmed as in `dfsph` ([`super::viscosity`]). A sample of
//! a solid counts with the mass ψ_b, the density ρ0 and the pressure of the particle it meets.
//!
//! Breaks down: sound travels at √k, which limits the step to 0.4 H / (√k + |v|), and a column of height h is compressed by g h / k.

use super::fields::{Fields, dot, for_each_row};
use super::rows::PIECE;
use super::walls::Walls;
use crate::error::{PhysicsError, check};
use std::f32::consts::PI;
use wide::f32x4;

/// How stiff the liquid is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// k [m2/s2], the square of the speed of sound.
    pub stiffness: f64,
}

impl Default for Parameters {
    /// 1 % at a depth of half a metre.
    fn default() -> Self {
        Self { stiffness: 500.0 }
    }
}

impl Parameters {
    pub(crate) fn check(&self) -> Result<(), PhysicsError> {
        check("stiffness", self.stiffness, "positive", |x| x > 0.0)
    }
}

/// Numbers of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Springy {
    pub support: f32,
    pub rest: f32,
    pub stiffness: f32,
    pub viscosity: f32,
    /// How strongly walls hold: 1 sticks, 0 slips.
    pub walls: f32,
    pub dt: f32,
}

impl Springy {
    /// κ = dt p/ρ² [m5/(kg s)].
    #[inline]
    fn kappa(&self, density: f32) -> f32 {
        self.dt * self.stiffness * (density - self.rest).max(0.0) / (density * density)
    }

    /// Laplacian of the kernel of viscosity [1/m5].
    #[inline]
    fn laplacian(&self, d: f32x4) -> f32 {
        let rest = (1.0 - dot(d, d).sqrt() / self.support).max(0.0);
        45.0 / (PI * self.support.powi(5)) * rest
    }

    /// Velocity [m/s] that viscosity takes from particle i, which moves at v, beside a point of a wall.
    #[inline]
    fn held(&self, fields: &Fields, walls: &Walls, v: f32x4, i: usize, b: usize) -> f32x4 {
        let each = self.walls * walls.masses[b] / (fields.density[i] * self.rest);
        let hold = self.dt * self.viscosity * each * self.laplacian(fields.points.x[i] - walls.x[b]);
        (v - walls.velocities[b]) * f32x4::splat(hold)
    }

    /// What a wall point gets from the viscosity of particle i, whose velocity before the step is in `free` [N s].
    pub fn impulse(&self, fields: &Fields, walls: &Walls, i: usize, b: usize) -> f32x4 {
        self.held(fields, walls, fields.free[i], i, b) * f32x4::splat(fields.points.masses[i])
    }
}

/// v += dt a; κ is left for those who ask for pressure, and for the walls.
pub(crate) fn accelerate(fields: &mut Fields, walls: &[&Walls], springy: Springy) {
    fields.kappa.iter_mut().zip(&fields.density).for_each(|(kappa, &density)| *kappa = springy.kappa(density));
    std::mem::swap(&mut fields.v, &mut fields.free);
    let mut v = std::mem::take(&mut fields.v);
    let Fields { points, free, density, kappa, wall, .. } = &*fields;
    for_each_row(&fields.rows, &mut v, |i, others, weights| {
        let mut change = wall[i] * f32x4::splat(-kappa[i]);
        for (&j, &weight) in others.iter().zip(weights) {
            let j = j as usize;
            let d = points.x[i] - points.x[j];
            let each = points.masses[j] / (density[i] * density[j]);
            let hold = springy.dt * springy.viscosity * each * springy.laplacian(d);
            change -= d * f32x4::splat(weight * (kappa[i] + kappa[j])) + (free[i] - free[j]) * f32x4::splat(hold);
        }
        for walls in walls {
            let (others, _) = walls.rows[i / PIECE].row(i % PIECE);
            for &b in others {
                change -= springy.held(fields, walls, free[i], i, b as usize);
            }
        }
        free[i] + change
    });
    fields.v = v;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::liquid::kernel::tests::over_the_ball;

    #[test]
    fn the_kernel_of_viscosity_is_normalised() {
        for support in [0.02, 1.0, 7.0] {
            let springy = Springy { support, rest: 1e3, stiffness: 500.0, viscosity: 1e-3, walls: 1.0, dt: 1e-3 };
            let laplacian = |r: f64| f64::from(springy.laplacian(f32x4::new([r as f32, 0.0, 0.0, 0.0])));
            // ∫ ∇²W r² 4π dr vanishes only with the flux through the core: for a kernel with W'(h) = 0 it is zero,
            // so that the second moment, 6 times the norm, is the test: ∫ r² ∇²W = 6 ∫ W.
            let norm = over_the_ball(f64::from(support), |r| laplacian(r) * r * r / 6.0);
            assert!((norm - 1.0).abs() < 1e-5, "{norm}");
        }
    }
}
