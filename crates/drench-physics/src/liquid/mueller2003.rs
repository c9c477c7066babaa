//! Pressure from an equation of state [Mueller2003; Rungjiratananon2012, section 3.1]: springy liquid, for comparison.
//!
//! ```text
//! ρ_i = Σ m_j W_poly6,      p = max(0, k (ρ − ρ0))                                    (3.2), (3.3)
//! a_i = −Σ m_j (p_i + p_j) / (2 ρ_i ρ_j) ∇W_spiky + μ Σ m_j (v_j − v_i) / (ρ_i ρ_j) ∇²W_viscosity     (3.4), (3.5)
//! ```
//!
//! (3.3) has "ρ + ρ0" in print; pressure must vanish at rest: ρ − ρ0. Pressure below zero is taken as zero, because it makes
//! particles clump at free surfaces. Both terms are forces on unit volume, hence 1/ρ_i, and then symmetric in i and j. A sample of
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
    #[inline]
    fn poly6(&self, d: f32x4) -> f32 {
        let q2 = dot(d, d) / (self.support * self.support);
        315.0 / (64.0 * PI * self.support.powi(3)) * (1.0 - q2).max(0.0).powi(3)
    }

    /// Velocity [m/s] that a particle gains from a neighbour: `shared` is (p_i + p_j)/(2 ρ_i ρ_j) times the neighbour's mass,
    /// `drag` is μ m_j / (ρ_i ρ_j).
    #[inline]
    fn pair(&self, d: f32x4, relative: f32x4, shared: f32, drag: f32) -> f32x4 {
        let r = dot(d, d).sqrt();
        let rest = (1.0 - r / self.support).max(0.0);
        let scale = 45.0 / (PI * self.support.powi(4));
        let push = self.dt * shared * scale * rest * rest / r.max(1e-6 * self.support);
        let hold = self.dt * drag * scale / self.support * rest;
        d * f32x4::splat(push) - relative * f32x4::splat(hold)
    }

    #[inline]
    fn wall_pair(&self, fields: &Fields, walls: &Walls, v: f32x4, i: usize, b: usize) -> f32x4 {
        let (density, mass) = (fields.density[i], walls.masses[b] / self.rest);
        let shared = self.pressure(density) * mass / density;
        let drag = self.walls * self.viscosity * mass / density;
        self.pair(fields.points.x[i] - walls.x[b], v - walls.velocities[b], shared, drag)
    }

    #[inline]
    fn pressure(&self, density: f32) -> f32 {
        self.stiffness * (density - self.rest).max(0.0)
    }

    /// What a wall point gets from particle i, whose velocity before the step is in `free` [N s].
    pub fn impulse(&self, fields: &Fields, walls: &Walls, i: usize, b: usize) -> f32x4 {
        self.wall_pair(fields, walls, fields.free[i], i, b) * f32x4::splat(-fields.points.masses[i])
    }
}

/// Densities by `poly6`, then v += dt a; κ = dt p/ρ² is left for those who ask for pressure.
pub(crate) fn accelerate(fields: &mut Fields, walls: &[&Walls], springy: Springy) {
    let mut density = std::mem::take(&mut fields.density);
    let (x, masses) = (&fields.points.x, &fields.points.masses);
    for_each_row(&fields.rows, &mut density, |i, others, _| {
        let own = masses[i] * springy.poly6(f32x4::ZERO);
        let liquid: f32 = others.iter().map(|&j| masses[j as usize] * springy.poly6(x[i] - x[j as usize])).sum();
        let mut solid = 0.0;
        for walls in walls {
            let (others, _) = walls.rows[i / PIECE].row(i % PIECE);
            let share = |&b: &u32| walls.masses[b as usize] * springy.poly6(x[i] - walls.x[b as usize]);
            solid += others.iter().map(share).sum::<f32>();
        }
        own + liquid + solid
    });
    fields.density = density;
    std::mem::swap(&mut fields.v, &mut fields.free);
    let mut v = std::mem::take(&mut fields.v);
    let (density, free) = (&fields.density, &fields.free);
    for_each_row(&fields.rows, &mut v, |i, others, _| {
        let mut change = f32x4::ZERO;
        let pressure = springy.pressure(density[i]);
        for &j in others {
            let j = j as usize;
            let each = masses[j] / (density[i] * density[j]);
            let shared = 0.5 * (pressure + springy.pressure(density[j])) * each;
            change += springy.pair(x[i] - x[j], free[i] - free[j], shared, springy.viscosity * each);
        }
        for walls in walls {
            let (others, _) = walls.rows[i / PIECE].row(i % PIECE);
            for &b in others {
                change += springy.wall_pair(fields, walls, free[i], i, b as usize);
            }
        }
        free[i] + change
    });
    fields.v = v;
    for (kappa, &density) in fields.kappa.iter_mut().zip(&fields.density) {
        *kappa = springy.dt * springy.pressure(density) / (density * density);
    }
}
