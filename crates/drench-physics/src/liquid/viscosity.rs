//! Viscosity: the divergence of the stress μ (∇v + ∇vᵀ) over neighbours, explicit or implicit.
//!
//! ```text
//! a_i = 2 ν Σ_j e_ij V_j (v_ij + ½ (G_i + G_j)ᵀ x_ij) W'/r,   G = ∇v,   V = m / ρ0,   e_ij = ½ (1/s_i + 1/s_j)
//! ```
//!
//! The first part is the Laplacian of [Morris1997], which needs no more than s = −Σ V_j W' r / 3 = 1 to be right. It is 1.02 on a
//! lattice and 0.96 to 0.99 among stirred particles; e makes up for that, within bounds, so that it makes up for nothing where
//! neighbours are missing. (The form along the line of centres, 2 (d + 2) ν Σ V_j (v_ij·x_ij) x_ij/|x|² W'/r [Monaghan2005; Weiler2018],
//! has 0.7 to 1.5 times the viscosity on a lattice, depending on the direction, and three quarters of it when stirred: a net of
//! springs that only pull along themselves gives way where it is uneven.) The second part vanishes inside, where ∇·v = 0; at a free
//! surface it makes the traction that of the stress. For a liquid that turns as a whole, v_ij = −Gᵀ x_ij: every pair is without force,
//! drops spin on unbraked. Momentum is kept to rounding. G is the gradient that is exact for linear fields [Bonet1999].
//!
//! Samples of solids count like particles whose velocity continues the liquid's beyond the skin, where it is that of the solid
//! [Adami2012]: seen from a particle the velocity at the sample is farther off by the ratio of their depths. What crosses the skin is
//! held always, what goes along it by `wall_friction`. The implicit form solves (1 − dt L) v = v* + dt E u by conjugate gradients
//! without a matrix [Weiler2018]; L, the first part, is symmetric in the inner product weighted by mass. E, the second part, is taken
//! at u = v* and then once more at the mean of v* and that outcome: |E| ≤ |L|, so this is stable at any step and keeps rotation. Every body of liquid
//! that hangs together is then moved on as a whole so that it has just the momentum that solids gave it, however inexact the solution is.
//! Foreign particles have no part in this: what thick liquid does to them is drag (`drag`).
//!
//! **Calming.** Pressure forces between uneven particles shake them, and what is shaken loose in settling would never come to
//! rest: the velocity that is left is of particle to particle, of which real water has none. So what differs from a linear course of
//! the velocity is damped,
//!
//! ```text
//! a_i = 2 Σ_j V_j β d (√(g d) + |r_ij|) r_ij W'/r,   r_ij = v_ij − ½ (G_i + G_j) x_ij,
//! ```
//!
//! as in schemes that reconstruct before they dissipate [Frontiere2017]: a wave of two particles within its period, one of ten
//! particles with a fiftieth of that viscosity, shear and rotation not at all. Spray is left alone.
//!
//! Breaks down: films and threads of one particle; beside a free surface and a wall that lets slip some of the neighbours are missing
//! that carry viscosity along it, so that a layer of n particles has about 0.3/n less of it.

use super::dfsph::Solved;
use super::fields::{Fields, dot, for_each_row, sum};
use super::pools::pools;
use super::rows::PIECE;
use super::walls::{Walls, lanes, vector};
use glam::{DMat3, DVec3, Mat3, Vec3};
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

/// Least determinant of Σ V W'/r x xᵀ, 1 inside, with which a gradient makes sense: less have drops of a few particles.
const HOLD: f32 = 0.02;
/// Least depth of a particle that is reckoned with beside a wall, in half spacings: nearer ones would be held without bounds.
const NEAREST: f32 = 0.3;

/// Bounds of the s that is made up for.
const EVEN: [f32; 2] = [0.9, 1.1];
/// β, the strength of calming.
pub(crate) const CALMING: f64 = 0.15;
/// Density over that of rest below which liquid is spray, whose velocities have no smooth course.
const SPRAY: f32 = 0.6;

/// What both forms need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Viscous {
    /// 2 ν dt / ρ0 [m5/kg].
    pub strength: f32,
    /// ρ0 [kg/m3].
    pub rest: f32,
    /// How strongly walls hold what flows along them: 1 sticks, 0 slips.
    pub walls: f32,
    /// Half the spacing, the depth of samples below the skin [m].
    pub half: f32,
}

impl Viscous {
    /// dt L v at a particle over its liquid neighbours.
    #[inline]
    fn laplacian(&self, even: &[f32], v: &[f32x4], i: usize, others: &[u32], weights: &[f32]) -> f32x4 {
        let (mut sum, mut total) = (f32x4::ZERO, 0.0);
        for (&j, &weight) in others.iter().zip(weights) {
            let weight = weight * (even[i] + even[j as usize]);
            sum += v[j as usize] * f32x4::splat(weight);
            total += weight;
        }
        (v[i] * f32x4::splat(total) - sum) * f32x4::splat(0.5 * self.strength)
    }

    /// What a particle gains from a wall point at the offset d [m/s], if it moves at `relative` to it.
    #[inline]
    fn wall_pair(&self, outward: f32x4, d: f32x4, relative: f32x4, weight: f32) -> f32x4 {
        // How far liquid and sample are from each other, and liquid from the skin, across it.
        let across = dot(d, outward).max((1.0 + NEAREST) * self.half);
        let farther = across / (across - self.half).max(NEAREST * self.half);
        let normal = outward * f32x4::splat(dot(relative, outward));
        (normal + (relative - normal) * f32x4::splat(self.walls)) * f32x4::splat(self.strength * weight * farther)
    }

    /// Sum of the above over all wall points around a particle that moves at `v`; without the motion of the walls if they are `still`.
    #[inline]
    fn walls(&self, walls: &Walls, fields: Near, i: usize, v: f32x4, still: bool) -> f32x4 {
        let (x, outward) = (fields.x[i], direction(fields.wall[i]));
        let mut change = f32x4::ZERO;
        let (others, weights) = walls.rows[i / PIECE].row(i % PIECE);
        for (&b, &weight) in others.iter().zip(weights) {
            let relative = if still { v } else { v - walls.velocities[b as usize] };
            change += self.wall_pair(outward, x - walls.x[b as usize], relative, weight);
        }
        change * f32x4::splat(fields.even[i])
    }

    /// What a point of `walls` gets from particle i [N s]: what both parts give the particle, with the opposite sign. It moves as in `Fields::v`, with the gradient
    /// in `Fields::slopes`.
    pub fn impulse(&self, fields: &Fields, walls: &Walls, i: usize, b: usize, weight: f32) -> f32x4 {
        let (d, relative) = (fields.points.x[i] - walls.x[b], fields.v[i] - walls.velocities[b]);
        let held = self.wall_pair(direction(fields.wall[i]), d, relative, weight);
        let gained = held + combined(&fields.slopes[i], d) * f32x4::splat(self.strength * weight);
        gained * f32x4::splat(-fields.points.masses[i] * fields.even[i])
    }

    /// dt E v for the gradients in `Fields::slopes`, into the first of the Krylov vectors.
    fn transpose(&self, fields: &mut Fields, walls: &Walls) {
        let Fields { points, rows, slopes, even, krylov, .. } = fields;
        let x = &points.x;
        for_each_row(rows, &mut krylov[0], |i, others, weights| {
            let (mut own, mut sum) = (f32x4::ZERO, f32x4::ZERO);
            for (&j, &weight) in others.iter().zip(weights) {
                let j = j as usize;
                let d = (x[i] - x[j]) * f32x4::splat(0.25 * weight * (even[i] + even[j]));
                own += d;
                sum += combined(&slopes[j], d);
            }
            // Walls mirror the liquid, gradient and all.
            let (others, weights) = walls.rows[i / PIECE].row(i % PIECE);
            for (&b, &weight) in others.iter().zip(weights) {
                own += (x[i] - walls.x[b as usize]) * f32x4::splat(weight * even[i]);
            }
            (sum + combined(&slopes[i], own)) * f32x4::splat(self.strength)
        });
    }
}

/// What the walls' part needs to know about particles.
#[derive(Clone, Copy)]
struct Near<'a> {
    x: &'a [f32x4],
    wall: &'a [f32x4],
    even: &'a [f32],
}

/// Makes ready what all parts need: the factors e, and how velocities change along each axis, which [`calm`] turns into gradients.
pub(crate) fn prepare(fields: &mut Fields, rest: f32) {
    fields.even.iter_mut().for_each(|even| *even = 1.0 / even.clamp(EVEN[0], EVEN[1]));
    let Fields { points, rows, v, slopes, .. } = fields;
    for_each_row(rows, slopes, |i, others, weights| turned(&slope(&points.x, v, i, others, weights, rest)));
}

/// Takes away what velocities are not smooth. `slow` is 2 β d √(g d) dt / ρ0, `fast` 2 β d dt / ρ0.
pub(crate) fn calm(fields: &mut Fields, rest: f32, slow: f32, fast: f32) {
    std::mem::swap(&mut fields.v, &mut fields.free);
    let Fields { points, rows, v, free, density, slopes, .. } = fields;
    let x = &points.x;
    let least = SPRAY * rest;
    for_each_row(rows, v, |i, others, weights| {
        if density[i] < least {
            return free[i];
        }
        let mut sum = f32x4::ZERO;
        for (&j, &weight) in others.iter().zip(weights) {
            let j = j as usize;
            if density[j] < least {
                continue;
            }
            let d = x[i] - x[j];
            let both = [0, 1, 2].map(|axis| slopes[i][axis] + slopes[j][axis]);
            let rough = free[i] - free[j] - combined(&both, d) * f32x4::HALF;
            sum += rough * f32x4::splat(weight * (slow + fast * dot(rough, rough).sqrt()));
        }
        free[i] + sum
    });
    slopes.par_iter_mut().with_min_len(PIECE).for_each(|slopes| *slopes = turned(slopes));
}

/// The transpose of a matrix.
#[inline]
fn turned(rows: &[f32x4; 3]) -> [f32x4; 3] {
    let [x, y, z, _] = f32x4::transpose([rows[0], rows[1], rows[2], f32x4::ZERO]);
    [x, y, z]
}

/// Away from the wall: the sum of ψ ∇W points into it.
#[inline]
fn direction(wall: f32x4) -> f32x4 {
    let square = dot(wall, wall);
    if square > 0.0 { wall * f32x4::splat(-1.0 / square.sqrt()) } else { f32x4::ZERO }
}

/// The vectors, each as often as a coordinate of d says: Gᵀ d of rows of G, which are gradients of components, and G d of its columns.
#[inline]
fn combined(slopes: &[f32x4; 3], d: f32x4) -> f32x4 {
    let [x, y, z, _] = d.to_array();
    slopes[0] * f32x4::splat(x) + slopes[1] * f32x4::splat(y) + slopes[2] * f32x4::splat(z)
}

/// ∇v at a particle, exact if v is linear; zero if too few are around to say.
#[inline]
fn slope(x: &[f32x4], v: &[f32x4], i: usize, others: &[u32], weights: &[f32], rest: f32) -> [f32x4; 3] {
    let (mut seen, mut spread) = ([f32x4::ZERO; 3], [f32x4::ZERO; 3]);
    for (&j, &weight) in others.iter().zip(weights) {
        let d = x[i] - x[j as usize];
        let weighted = d * f32x4::splat(-weight);
        let (d, relative) = (d.to_array(), (v[i] - v[j as usize]).to_array());
        for k in 0..3 {
            seen[k] += weighted * f32x4::splat(relative[k]);
            spread[k] += weighted * f32x4::splat(d[k]);
        }
    }
    let column = |v: f32x4| Vec3::from_slice(&(v / f32x4::splat(rest)).to_array());
    let spread = Mat3::from_cols(column(spread[0]), column(spread[1]), column(spread[2]));
    if spread.determinant() < HOLD {
        return [f32x4::ZERO; 3];
    }
    let inverse = spread.inverse();
    seen.map(|row| {
        let row = inverse * column(row);
        f32x4::new([row.x, row.y, row.z, 0.0])
    })
}

/// v += dt (L + E) v. What walls get follows from velocities and gradients before.
pub(crate) fn explicit(fields: &mut Fields, walls: &Walls, viscous: Viscous) {
    std::mem::swap(&mut fields.v, &mut fields.free);
    viscous.transpose(fields, walls);
    let Fields { points, rows, v, free, wall, even, krylov, .. } = fields;
    let near = Near { x: &points.x, wall, even };
    for_each_row(rows, v, |i, others, weights| {
        let change = viscous.laplacian(even, free, i, others, weights) + krylov[0][i];
        free[i] + change + viscous.walls(walls, near, i, free[i], false)
    });
}

/// Solves (1 − dt L) v = v* + dt E u; gives iterations, and the error that is left, relative to v*. What walls get follows from the outcome, with the gradients of u, which are left in `Fields::slopes`.
pub(crate) fn implicit(fields: &mut Fields, walls: &Walls, viscous: Viscous, error: f64, most: u32) -> Solved {
    let beginning = fields.v.clone();
    fields.free.copy_from_slice(&beginning);
    let mut all = Solved { iterations: 0, error: 0.0 };
    for round in 0..2 {
        if round > 0 {
            let Fields { points, rows, v, free, slopes, .. } = &mut *fields;
            free.par_iter_mut().zip(v.par_iter()).for_each(|(free, v)| *free = (*free + *v) * f32x4::HALF);
            for_each_row(rows, slopes, |i, others, weights| slope(&points.x, free, i, others, weights, viscous.rest));
        }
        viscous.transpose(fields, walls);
        let solved = conjugate_gradients(fields, walls, viscous, &beginning, error, most);
        all = Solved { iterations: all.iterations + solved.iterations, error: solved.error };
    }
    balance(fields, walls, viscous, &beginning);
    all
}

/// Gives every body of liquid that hangs together the momentum that its surroundings gave it, by moving it on as a whole. What conjugate gradients leave undone,
/// r = v* + dt E u − (1 − dt L) v, would be momentum out of nothing: pairs within the liquid exchange theirs, so that Σ m r is what is missing. A shift c of all of
/// the body gives Σ m c, less what walls then hold of it: (Σ m (1 − dt L_walls)) c = Σ m r.
fn balance(fields: &mut Fields, walls: &Walls, viscous: Viscous, before: &[f32x4]) {
    viscous.transpose(fields, walls);
    residual(fields, walls, viscous, before);
    let (bodies, count) = pools(&fields.rows);
    let Fields { points, v, wall, even, krylov, .. } = fields;
    let near = Near { x: &points.x, wall, even };
    let mut sums = vec![(DVec3::ZERO, DMat3::ZERO); count];
    for (i, &body) in bodies.iter().enumerate() {
        let (mass, (missing, hold)) = (f64::from(points.masses[i]), &mut sums[body as usize]);
        *missing += vector(krylov[0][i]) * mass;
        let touches = !walls.rows[i / PIECE].row(i % PIECE).0.is_empty();
        let held = if touches {
            let axes = [DVec3::X, DVec3::Y, DVec3::Z];
            let [x, y, z] = axes.map(|axis| vector(viscous.walls(walls, near, i, lanes(axis), true)));
            DMat3::from_cols(x, y, z)
        } else {
            DMat3::ZERO
        };
        *hold += (DMat3::IDENTITY - held) * mass;
    }
    let shifts: Vec<f32x4> = sums.into_iter().map(|(missing, hold)| lanes(hold.inverse() * missing)).collect();
    v.par_iter_mut().zip(&bodies).with_min_len(PIECE).for_each(|(v, &body)| *v += shifts[body as usize]);
}

/// Makes r = v* + e − (1 − dt L) v of the e in the first of the Krylov vectors.
fn residual(fields: &mut Fields, walls: &Walls, viscous: Viscous, before: &[f32x4]) {
    let Fields { points, rows, v, wall, even, krylov: [r, .., z], .. } = fields;
    let near = Near { x: &points.x, wall, even };
    for_each_row(rows, z, |i, others, weights| {
        let held = viscous.laplacian(even, v, i, others, weights) + viscous.walls(walls, near, i, v[i], false);
        r[i] + (before[i] - v[i]) + held
    });
    std::mem::swap(r, z);
}

/// Solves (1 − dt L) v = v* + e, beginning with the v that there is; e is in the first of the Krylov vectors.
fn conjugate_gradients(
    fields: &mut Fields,
    walls: &Walls,
    viscous: Viscous,
    before: &[f32x4],
    error: f64,
    most: u32,
) -> Solved {
    let count = fields.v.len();
    residual(fields, walls, viscous, before);
    let Fields { points, rows, v, wall, even, krylov, .. } = fields;
    let [r, p, ap, z] = krylov;
    let (near, masses) = (Near { x: &points.x, wall, even }, &points.masses);
    let product = |a: &[f32x4], b: &[f32x4]| sum(count, |i| f64::from(masses[i] * dot(a[i], b[i])));
    let wall = |i: usize, v: f32x4| viscous.walls(walls, near, i, v, true);
    // The diagonal of the operator, which is the same along all axes but at walls that let slip.
    let mut diagonal = vec![f32x4::ONE; count];
    for_each_row(rows, &mut diagonal, |i, others, weights| {
        let held = [0, 1, 2].map(|k| {
            let mut axis = [0.0; 4];
            axis[k] = 1.0;
            wall(i, f32x4::new(axis)).to_array()[k]
        });
        let pairs = others.iter().zip(weights).map(|(&j, &weight)| weight * (even[i] + even[j as usize]));
        let own = 1.0 - 0.5 * viscous.strength * pairs.sum::<f32>();
        f32x4::new([own - held[0], own - held[1], own - held[2], 1.0])
    });
    let precondition = |r: &[f32x4], z: &mut [f32x4]| {
        z.par_iter_mut().zip(r).zip(&diagonal).for_each(|((z, r), diagonal)| *z = *r / *diagonal);
    };
    let whole = product(before, before).max(f64::MIN_POSITIVE);
    precondition(r, z);
    p.copy_from_slice(z);
    let mut rz = product(r, z);
    let mut solved = Solved { iterations: 0, error: 0.0 };
    loop {
        solved.error = (product(r, r) / whole).sqrt();
        if solved.error <= error || solved.iterations == most || !rz.is_finite() {
            return solved;
        }
        solved.iterations += 1;
        for_each_row(rows, ap, |i, others, weights| {
            p[i] - viscous.laplacian(even, p, i, others, weights) - wall(i, p[i])
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
}
