//! Viscosity: the Laplacian of the velocity over neighbours, explicit or implicit.
//!
//! ```text
//! a_i = 10 ν Σ_j V_j (v_ij · x_ij) / (|x_ij|² + 0.01 H²) ∇W_ij,   V = m / ρ0      [Monaghan2005; Weiler2018, eq. 5]
//! ```
//!
//! The force of a pair acts along the line between both: momentum and angular momentum are kept. Samples of solids count like
//! particles whose velocity continues the liquid's beyond the skin, where it is that of the solid: liquid sticks to walls. The implicit form solves (1 − dt L) v = v* by conjugate gradients
//! without a matrix [Weiler2018], preconditioned by the 3 × 3 diagonal blocks; L is symmetric in the inner product weighted by mass.
//!
//! Breaks down: at a free surface half of the neighbours are missing and with them half of the viscosity; next to a wall the
//! profile is off by about half a particle.

use super::fields::{Fields, dot, for_each_row, sum};
use super::walls::Walls;
use glam::{Mat3, Vec3};
use rayon::prelude::*;
use wide::f32x4;

/// How viscosity is solved.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Solver {
    /// Explicitly; the step is limited by 0.1 spacing² / ν.
    #[default]
    Explicit,
    /// Implicitly, to this relative error; stable at any step.
    Implicit {
        /// Residual over right-hand side at which the solver stops.
        error: f64,
        /// Iterations after which it stops anyway.
        most_iterations: u32,
    },
}

/// What both forms need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Viscous {
    /// 10 ν dt / ρ0 [m5/kg].
    pub strength: f32,
    /// 0.01 H² [m2].
    pub soft: f32,
    /// How strongly walls hold against liquid neighbours: 1 sticks, 0 slips.
    pub walls: f32,
    /// Half the spacing, the depth of samples below the skin [m].
    pub half: f32,
}

impl Viscous {
    /// dt L v at a particle, for the velocity field v; walls too if they have velocities.
    #[inline]
    fn laplacian(&self, x: &[f32x4], v: &[f32x4], i: usize, others: &[u32], weights: &[f32]) -> f32x4 {
        let mut sum = f32x4::ZERO;
        for (&j, &weight) in others.iter().zip(weights) {
            let d = x[i] - x[j as usize];
            sum += self.pair(d, v[i] - v[j as usize], weight);
        }
        sum
    }

    /// What one pair contributes: velocity [m/s] that i gains.
    #[inline]
    fn pair(&self, d: f32x4, relative: f32x4, weight: f32) -> f32x4 {
        d * f32x4::splat(self.strength * weight * dot(relative, d) / (dot(d, d) + self.soft))
    }

    fn wall_pair(&self, walls: &Walls, x: f32x4, v: f32x4, b: u32, weight: f32) -> f32x4 {
        let b = b as usize;
        let d = x - walls.points.x[b];
        self.pair(d, v - walls.velocities[b], self.hold(walls, d) * weight)
    }

    /// How often a wall point counts. The liquid has the wall's velocity at the skin; seen from a particle, its velocity at the
    /// sample behind the skin is farther off by the ratio of the distances.
    #[inline]
    fn hold(&self, walls: &Walls, d: f32x4) -> f32 {
        if walls.mirror == 1.0 {
            return self.walls;
        }
        let distance = dot(d, d).sqrt();
        self.walls * (distance / (distance - self.half).max(0.25 * distance)).min(4.0)
    }

    /// What a point of `walls` gets from particle i, which moves at `v` [N s].
    pub fn impulse(&self, fields: &Fields, walls: &Walls, i: usize, b: usize, weight: f32) -> f32x4 {
        let gained = self.wall_pair(walls, fields.points.x[i], fields.v[i], b as u32, weight);
        gained * f32x4::splat(-fields.points.masses[i])
    }
}

/// v += dt L v. What walls get follows from the velocities before.
pub(crate) fn explicit(fields: &mut Fields, walls: &[&Walls], viscous: Viscous) {
    std::mem::swap(&mut fields.v, &mut fields.free);
    let Fields { points, rows, v, free, .. } = fields;
    let x = &points.x;
    for_each_row(rows, v, |i, others, weights| {
        let mut change = viscous.laplacian(x, free, i, others, weights);
        for walls in walls {
            let (others, weights) = walls.rows[i / super::rows::PIECE].row(i % super::rows::PIECE);
            for (&b, &weight) in others.iter().zip(weights) {
                change += viscous.wall_pair(walls, x[i], free[i], b, weight);
            }
        }
        free[i] + change
    });
}

/// Solves (1 − dt L) v = v*; gives iterations.
pub(crate) fn implicit(fields: &mut Fields, walls: &[&Walls], viscous: Viscous, error: f64, most: u32) -> u32 {
    let count = fields.v.len();
    for values in &mut fields.krylov {
        values.resize(count, f32x4::ZERO);
    }
    let Fields { points, rows, v, krylov, .. } = fields;
    let [r, p, ap, z] = krylov;
    let (x, masses) = (&points.x, &points.masses);
    let product = |a: &[f32x4], b: &[f32x4]| sum(count, |i| f64::from(masses[i] * dot(a[i], b[i])));
    // The wall's part of the operator acting on v_i, without the wall's own velocity.
    let wall = |i: usize, v: f32x4, moving: bool| {
        let mut change = f32x4::ZERO;
        for walls in walls {
            let (others, weights) = walls.rows[i / super::rows::PIECE].row(i % super::rows::PIECE);
            for (&b, &weight) in others.iter().zip(weights) {
                let relative = if moving { v - walls.velocities[b as usize] } else { v };
                let d = x[i] - walls.points.x[b as usize];
                change += viscous.pair(d, relative, viscous.hold(walls, d) * weight);
            }
        }
        change
    };
    // r = v* − (1 − dt L) v* = dt L v*, beginning with v = v*.
    for_each_row(rows, r, |i, others, weights| viscous.laplacian(x, v, i, others, weights) + wall(i, v[i], true));
    let blocks: Vec<Mat3> = {
        let mut blocks = vec![Mat3::IDENTITY; count];
        for_each_row(rows, &mut blocks, |i, others, weights| {
            let mut block = Mat3::IDENTITY;
            let mut add = |d: f32x4, weight: f32| {
                let offset = Vec3::from_slice(&d.to_array());
                let scale = viscous.strength * weight / (offset.length_squared() + viscous.soft);
                block -= Mat3::from_cols(offset * offset.x, offset * offset.y, offset * offset.z) * scale;
            };
            others.iter().zip(weights).for_each(|(&j, &weight)| add(x[i] - x[j as usize], weight));
            for walls in walls {
                let (others, weights) = walls.rows[i / super::rows::PIECE].row(i % super::rows::PIECE);
                for (&b, &weight) in others.iter().zip(weights) {
                    let d = x[i] - walls.points.x[b as usize];
                    add(d, viscous.hold(walls, d) * weight);
                }
            }
            block.inverse()
        });
        blocks
    };
    let precondition = |r: &[f32x4], z: &mut [f32x4]| {
        z.par_iter_mut().zip(r).zip(&blocks).for_each(|((z, r), block)| {
            let solved = *block * Vec3::from_slice(&r.to_array());
            *z = f32x4::new([solved.x, solved.y, solved.z, 0.0]);
        });
    };
    let target = error * error * product(v, v).max(f64::MIN_POSITIVE);
    precondition(r, z);
    p.copy_from_slice(z);
    let mut rz = product(r, z);
    for iteration in 0..most {
        if product(r, r) <= target || !rz.is_finite() {
            return iteration;
        }
        for_each_row(rows, ap, |i, others, weights| {
            p[i] - viscous.laplacian(x, p, i, others, weights) - wall(i, p[i], false)
        });
        let alpha = f32x4::splat((rz / product(p, ap).max(f64::MIN_POSITIVE)) as f32);
        v.par_iter_mut().zip(p.par_iter()).for_each(|(v, p)| *v += *p * alpha);
        r.par_iter_mut().zip(ap.par_iter()).for_each(|(r, ap)| *r -= *ap * alpha);
        precondition(r, z);
        let next = product(r, z);
        let beta = f32x4::splat((next / rz) as f32);
        rz = next;
        p.par_iter_mut().zip(z.par_iter()).for_each(|(p, z)| *p = *z + *p * beta);
    }
    most
}
