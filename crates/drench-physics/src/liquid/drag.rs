//! Drag between the liquid and the foreign particles that it flows among.
//!
//! Grains of diameter D that fill the part φ of space, among liquid that fills ε = 1 − φ and moves at w relative to them, hold it with the force
//!
//! ```text
//! f = ¾ φ ρ C |w| w ε^(2 − χ) / D per volume,   C = (0.63 + 4.8 / √Re)²,   Re = ε |w| D / ν,
//! χ = 3.7 − 0.65 exp(−½ (1.5 − log₁₀ Re)²)                                                  [DiFelice1994]
//! ```
//!
//! which is that on a lone sphere where there are few grains, and that of a packed bed [Ergun1952] where they lie on each other, within a fifth. Per mass
//! of liquid, ε ρ, that is a rate φ γ with γ = ¾ C |w| ε^(1 − χ) / D. What foreign particles are no spheres have a rate γ of their own.
//!
//! Particle i feels φ = Σ V_f W_if, and every foreign particle its share
//!
//! ```text
//! s_if = γ_i dt V_f W_if / (1 + γ_i dt ε ρ V_f / m_f),      v' = (v + Σ s u) / (1 + Σ s),
//! ```
//!
//! which leaves m_i s (v' − u) for it. However large γ is, both come to no more than the velocity that they have in common: with Σ m_i W_if = ε ρ liquid and grain
//! end at (ε ρ v + φ ρ_f u) / (ε ρ + φ ρ_f).

use super::fields::{Fields, dot};
use super::kernel::CubicSpline;
use super::rows::PIECE;
use super::walls::Walls;
use super::{Foreign, Material};
use crate::grains::ball;
use glam::DVec3;
use rayon::prelude::*;
use wide::f32x4;

/// Least part of space that is left for liquid: spheres at random leave 0.36.
const LEAST_VOID: f32 = 0.3;

/// γ of spheres of this diameter [m] that leave the part `void` of space to a liquid of this kinematic viscosity [m2/s] and speed [m/s], in 1/s.
fn rate(speed: f32, diameter: f32, void: f32, viscosity: f32) -> f32 {
    let reynolds = void * speed * diameter / viscosity.max(f32::MIN_POSITIVE);
    let crowd = 3.7 - 0.65 * (-0.5 * (1.5 - reynolds.log10()).powi(2)).exp();
    // The root of C |w|, which is finite at rest.
    let root = 0.63 * speed.sqrt() + 4.8 * (viscosity / (void * diameter)).sqrt();
    0.75 * root * root * void.powf(1.0 - crowd) / diameter
}

/// The liquid that flows, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow<'a> {
    pub material: &'a Material,
    pub kernel: &'a CubicSpline,
    /// Step [s].
    pub dt: f64,
}

/// What drag works with, made anew in every step.
#[derive(Debug, Default)]
pub(crate) struct Drag {
    /// Of every foreign particle in z-order: one over its diameter, 0 if it is no sphere [1/m]; ρ V / m; its γ if it is no sphere [1/s]; V [m3], of a sphere without
    /// the water that it holds.
    points: Vec<[f32; 4]>,
    /// γ dt and ε of every liquid particle.
    rates: Vec<[f32; 2]>,
}

impl Drag {
    /// Lets liquid and foreign particles drag each other along.
    pub fn act(
        &mut self,
        fields: &mut Fields,
        foreign: &Walls,
        given: &Foreign,
        impulses: &mut [DVec3],
        Flow { material, kernel, dt }: Flow,
    ) {
        if foreign.len() == 0 {
            return;
        }
        let Self { points, rates } = self;
        points.clear();
        points.extend((0..foreign.len()).map(|b| {
            let f = foreign.given(b);
            let sphere = given.diameters.get(f);
            let volume = sphere.map_or(given.volumes[f], |d| ball(0.5 * d));
            let heavy = (material.density * volume * given.inverse_masses[f]) as f32;
            match sphere {
                Some(diameter) => [1.0 / *diameter as f32, heavy, 0.0, volume as f32],
                None => [0.0, heavy, given.drag as f32, volume as f32],
            }
        }));
        let (narrow, scale) = ((1.0 / kernel.support) as f32, kernel.scale as f32);
        let (nu, dt) = (material.kinematic_viscosity() as f32, dt as f32);
        // V W: the spline in one piece, W/k = 2 (1 - q)³ - 8 (1/2 - q)³, without what is negative.
        let part = |offset: f32x4, b: usize| {
            let q = dot(offset, offset).sqrt() * narrow;
            let (outer, inner) = ((1.0 - q).max(0.0), (0.5 - q).max(0.0));
            scale * points[b][3] * (2.0 * outer * outer * outer - 8.0 * inner * inner * inner)
        };
        let share = |[own, void]: [f32; 2], b: usize, part: f32| {
            let [inverse, heavy, other, _] = points[b];
            let rate = if inverse > 0.0 { own } else { other * dt };
            rate * part / (1.0 + rate * void * heavy)
        };
        let x = &fields.points.x;
        rates.clear();
        rates.resize(x.len(), [0.0, 1.0]);
        let pieces = fields.v.par_chunks_mut(PIECE).zip(rates.par_chunks_mut(PIECE)).zip(&foreign.rows);
        pieces.enumerate().for_each(|(piece, ((v, rates), rows))| {
            let mut parts = Vec::new();
            for (number, (v, rate_and_void)) in v.iter_mut().zip(rates).enumerate() {
                let (others, _) = rows.row(number);
                if others.is_empty() {
                    continue;
                }
                parts.clear();
                parts.extend(others.iter().map(|&b| {
                    let b = b as usize;
                    (b, part(x[piece * PIECE + number] - foreign.x[b], b))
                }));
                let (mut solid, mut spheres, mut fine, mut mean) = (0.0, 0.0, 0.0, f32x4::ZERO);
                for &(b, part) in &parts {
                    let inverse = points[b][0];
                    solid += part;
                    fine += part * inverse;
                    if inverse > 0.0 {
                        spheres += part;
                        mean += foreign.velocities[b] * f32x4::splat(part);
                    }
                }
                let void = (1.0 - solid).max(LEAST_VOID);
                if spheres > 0.0 {
                    let relative = *v - mean / f32x4::splat(spheres);
                    let own = rate(dot(relative, relative).sqrt(), spheres / fine, void, nu);
                    *rate_and_void = [own * dt, void];
                } else {
                    *rate_and_void = [0.0, void];
                }
                let (mut sum, mut pulled) = (1.0, *v);
                for &(b, part) in &parts {
                    let share = share(*rate_and_void, b, part);
                    sum += share;
                    pulled += foreign.velocities[b] * f32x4::splat(share);
                }
                *v = pulled / f32x4::splat(sum);
            }
        });
        foreign.collect(fields, impulses, |i, b, offset, _| {
            let share = share(rates[i], b, part(offset, b));
            (fields.v[i] - foreign.velocities[b]) * f32x4::splat(share * fields.points.masses[i])
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The law for packed beds [Ergun1952], per mass of liquid and solid part.
    fn ergun(speed: f32, diameter: f32, void: f32, viscosity: f32) -> f32 {
        150.0 * viscosity * (1.0 - void) / (void * diameter).powi(2) + 1.75 * speed / (void * diameter)
    }

    #[test]
    fn a_bed_holds_liquid_as_ergun_says_and_a_lone_sphere_as_stokes_does() {
        for (diameter, viscosity) in [(1e-2, 1e-6), (1e-3, 1e-6), (1e-3, 1e-3), (4e-3, 1.5e-6)] {
            for k in -12..=2 {
                let speed = 10_f32.powf(0.5 * k as f32);
                let ratio = rate(speed, diameter, 0.4, viscosity) / ergun(speed, diameter, 0.4, viscosity);
                assert!((0.8..1.2).contains(&ratio), "{ratio} {speed} {diameter} {viscosity}");
            }
            // 18 ν / D².
            let stokes = rate(0.0, diameter, 1.0, viscosity) / (18.0 * viscosity / diameter.powi(2));
            assert!((stokes - 1.0).abs() < 0.05, "{stokes}");
        }
        // No viscosity, and at rest.
        assert!(rate(1.0, 1e-2, 0.4, 0.0) > 1.0 && rate(0.0, 1e-2, 0.4, 0.0) == 0.0);
    }
}
