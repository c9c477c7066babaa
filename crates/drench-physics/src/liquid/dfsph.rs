//! Divergence-free SPH: pressure that keeps the density, and pressure that keeps its rate of change [Bender2017].
//!
//! With neighbours j (masses m_j, velocities v_j) and samples b of solids (ψ_b = ρ0 V_b, twice if mirrored, velocities v_b), the rate of
//! the density and the velocity change by pressure impulses κ = dt p/ρ² are
//!
//! ```text
//! (D v)_i = Σ m_j (v_i − v_j) · ∇W_ij + Σ ψ_b (v_i − v_b) · ∇W_ib
//! (G κ)_i = Σ m_j (κ_i + κ_j) ∇W_ij + κ_i Σ ψ_b ∇W_ib
//! ```
//!
//! D is the adjoint of G in the inner product weighted by mass, so D G is symmetric and not negative, and the two problems
//!
//! ```text
//! divergence:  D (v − G κ) ≤ s (ρ0 − ρ_i)/dt,   κ ≥ 0,   one of them tight
//! density:     D (v − G κ) ≤ (ρ0 − ρ_i)/dt,     κ ≥ 0,   one of them tight
//! ```
//!
//! are convex with bounds: liquids push but do not pull, and a free surface has no pressure. The divergence solve acts on
//! velocities. Spray, below nine tenths of the density, may come together at once (s = 1); what is nearly dense settles slowly
//! (s = 0.03) up to 0.995 ρ0, because what density it lacks is a matter of arrangement; what is compressed takes back a part of that (s = 0.3). The
//! density solve takes away what compression is left, by moving particles apart without giving them velocity.
//!
//! Two things differ from [Bender2017], where both solves change velocities. Taking away compression within one step needs
//! velocities of (ρ/ρ0 − 1) times length over dt, which would stay and shake water at rest; as a displacement it is gone after the step
//! [Kugelstadt2019]. And its Jacobi steps, κ + ω r / diag(D G), projected to κ ≥ 0, are accelerated by Nesterov's momentum with
//! restarts [O'Donoghue2015], which takes about the square root of the number of iterations. The divergence solve begins with the
//! last pressure.
//!
//! | symbol | field |
//! |---|---|
//! | κ_i | `Fields::kappa` |
//! | v, v* | `Fields::v`, `Fields::free` |
//! | Σ m_j ∇W, Σ ψ_b ∇W | `Fields::gradient`, `Fields::wall` |
//! | 1 / diag(D G), with no mass less than that of a full particle | `Fields::inverse_diagonal` |
//!
//! Breaks down: a column that is thousands of particles high needs many iterations after a sudden change of its load.

use super::fields::{Fields, dot, for_each_row};
use super::floaters::Floaters;
use super::rows::{PIECE, Rows};
use super::walls::Walls;
use crate::error::{PhysicsError, check};
use rayon::prelude::*;
use wide::f32x4;

/// How exactly, and how long at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Mean compression at which the density solve stops.
    pub density_error: f64,
    /// Mean compression per step at which the divergence solve stops.
    pub divergence_error: f64,
    /// Iterations after which either stops anyway.
    pub most_iterations: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { density_error: 1e-3, divergence_error: 1e-3, most_iterations: 100 }
    }
}

impl Parameters {
    pub(crate) fn check(&self) -> Result<(), PhysicsError> {
        check("density error", self.density_error, "above 0 and at most 0.1", |x| x > 0.0 && x <= 0.1)?;
        check("divergence error", self.divergence_error, "above 0 and at most 0.1", |x| x > 0.0 && x <= 0.1)?;
        check("iterations", f64::from(self.most_iterations), "2 to 10000", |x| (2.0..=10_000.0).contains(&x))
    }
}

/// Density over that of rest below which liquid is spray and may be compressed at once.
const THIN: f32 = 0.9;
/// Density over that of rest above which nothing settles: particles of a liquid are uneven by less, and what would settle there only
/// to be moved apart again would sink for ever.
const LOOSE: f32 = 0.995;
/// Part of what density is missing that may come back in a step where there is more than that.
const SETTLING: f32 = 0.03;
/// Part of the compression that velocities take back in a step; displacements take back the rest.
const DRIFT: f32 = 0.3;
/// Part of the Jacobi step that is taken. D G scaled to a unit diagonal has eigenvalues up to about 3; accelerated steps diverge
/// from 0.5 on.
const STEP: f32 = 0.3;

/// What a solve came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Solved {
    pub iterations: u32,
    /// Mean error when it stopped: of pressure as a part of the density at rest, of viscosity as a part of the velocities.
    pub error: f64,
}

/// Finds the pressure that keeps velocities from compressing the liquid.
pub(crate) fn solve_divergence(
    fields: &mut Fields,
    foreign: &mut Walls,
    floaters: &mut Floaters,
    rest: f64,
    dt: f64,
    parameters: &Parameters,
) -> Solved {
    let (rest, rate) = (rest as f32, (1.0 / dt) as f32);
    // What divergence is left compresses the liquid in every step: it should not be more than the drift is taken back by.
    let error = parameters.divergence_error.min(f64::from(DRIFT) * parameters.density_error);
    let problem = Problem { error, least: 2, most: parameters.most_iterations, rest, rate };
    let thin = THIN * rest;
    let settled = LOOSE * rest;
    let points = Some(foreign).filter(|foreign| foreign.is_loose());
    let bodies = Some(floaters).filter(|floaters| !floaters.is_empty());
    solve(fields, Loose { points, bodies }, &problem, |density| {
        rate * match density {
            dense if dense > rest => DRIFT * (dense - rest),
            spray if spray < thin => spray - rest,
            density => SETTLING * (density - settled).min(0.0),
        }
    })
}

/// Finds velocities that, over one step, take away compression: density at most ρ0.
pub(crate) fn solve_density(fields: &mut Fields, rest: f64, dt: f64, parameters: &Parameters) -> Solved {
    let (rest, rate) = (rest as f32, (1.0 / dt) as f32);
    let problem = Problem { error: parameters.density_error, least: 1, most: parameters.most_iterations, rest, rate };
    solve(fields, Loose::default(), &problem, |density| (density - rest) * rate)
}

/// What goes along with the pressure that is being solved for.
#[derive(Default)]
struct Loose<'a> {
    points: Option<&'a mut Walls>,
    bodies: Option<&'a mut Floaters>,
}

impl Loose<'_> {
    fn go_along(&mut self, fields: &Fields) {
        if let Some(points) = &mut self.points {
            points.go_along(fields);
        }
        if let Some(bodies) = &mut self.bodies {
            bodies.go_along(fields);
        }
    }

    /// What that takes from the rate of the density of a particle, given by its piece, number and place.
    #[inline]
    fn rate(&self, piece: usize, number: usize, x: f32x4) -> f32 {
        let points = self.points.as_ref().map_or(0.0, |points| points.gained_rate(piece, number, x));
        points + self.bodies.as_ref().map_or(0.0, |bodies| bodies.rate(piece * PIECE + number))
    }
}

struct Problem {
    error: f64,
    least: u32,
    most: u32,
    rest: f32,
    /// 1/dt [1/s].
    rate: f32,
}

/// Sums of one pass.
#[derive(Clone, Copy, Default)]
struct Progress {
    error: f64,
    /// Positive if momentum leads uphill.
    uphill: f64,
}

/// Finds κ and leaves v = v* − G κ. `source` gives what is added to D v for a density.
fn solve(fields: &mut Fields, mut loose: Loose, problem: &Problem, source: impl Fn(f32) -> f32 + Sync) -> Solved {
    let count = fields.v.len();
    std::mem::swap(&mut fields.v, &mut fields.free);
    fields.kappa_last.copy_from_slice(&fields.kappa);
    apply(fields, &mut loose);
    // A residual r is an error of r / (rest · rate); the mean is over all particles.
    let scale = 1.0 / (f64::from(problem.rest) * f64::from(problem.rate) * count.max(1) as f64);
    let (mut momentum, mut iterations) = (1.0_f64, 0);
    loop {
        let progress = improve(fields, &loose, &source);
        let error = progress.error * scale;
        if iterations >= problem.most || (iterations >= problem.least && error <= problem.error) || !error.is_finite() {
            return Solved { iterations, error };
        }
        if progress.uphill > 0.0 {
            momentum = 1.0;
        }
        let next = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt());
        let beta = ((momentum - 1.0) / next) as f32;
        momentum = next;
        extrapolate(fields, beta);
        apply(fields, &mut loose);
        iterations += 1;
    }
}

/// v = v* − G κ.
fn apply(fields: &mut Fields, loose: &mut Loose) {
    loose.go_along(fields);
    let Fields { points, rows, v, free, wall, kappa, .. } = fields;
    let x = &points.x;
    for_each_row(rows, v, |i, others, weights| {
        let (own, own_x) = (kappa[i], x[i]);
        let (mut even, mut odd) = (wall[i] * f32x4::splat(own), f32x4::ZERO);
        let term = |other: u32, weight: f32| {
            let j = other as usize;
            (own_x - x[j]) * f32x4::splat(weight * (own + kappa[j]))
        };
        let (pairs, rest) = others.as_chunks::<2>();
        let (weight_pairs, weight_rest) = weights.as_chunks::<2>();
        for (other, weight) in pairs.iter().zip(weight_pairs) {
            even += term(other[0], weight[0]);
            odd += term(other[1], weight[1]);
        }
        if let ([other], [weight]) = (rest, weight_rest) {
            even += term(*other, *weight);
        }
        free[i] - (even + odd)
    });
}

/// One projected step: κ_next from κ and the residual at v.
fn improve(fields: &mut Fields, loose: &Loose, source: &(impl Fn(f32) -> f32 + Sync)) -> Progress {
    let Fields { points, rows, v, density, wall, wall_rate, inverse_diagonal, kappa, kappa_next, kappa_last, .. } =
        fields;
    let x = &points.x;
    let masses = &points.masses;
    let piece_progress = |piece: usize, next: &mut [f32], rows: &Rows| {
        let mut progress = Progress::default();
        for (number, next) in next.iter_mut().enumerate() {
            let i = piece * PIECE + number;
            let inverse = inverse_diagonal[i];
            if inverse == 0.0 {
                *next = 0.0;
                continue;
            }
            let (others, weights) = rows.row(number);
            let wall_rate = wall_rate[i] + loose.rate(piece, number, x[i]);
            let residual = source(density[i]) + rate_of(x, v, i, others, weights) + dot(v[i], wall[i]) - wall_rate;
            *next = (kappa[i] + STEP * residual * inverse).max(0.0);
            // Too little pressure, or pressure where there should be less.
            progress.error += f64::from(if kappa[i] > 0.0 { residual.abs() } else { residual.max(0.0) });
            let weight = masses[i] / inverse;
            progress.uphill += f64::from((kappa[i] - *next) * (*next - kappa_last[i]) * weight);
        }
        progress
    };
    let pieces: Vec<Progress> = kappa_next
        .par_chunks_mut(PIECE)
        .zip(rows.as_slice())
        .enumerate()
        .map(|(piece, (next, rows))| piece_progress(piece, next, rows))
        .collect();
    let join = |a: Progress, b: &Progress| Progress { error: a.error + b.error, uphill: a.uphill + b.uphill };
    pieces.iter().fold(Progress::default(), join)
}

/// Σ m_j (v_i − v_j) · ∇W_ij.
#[inline]
fn rate_of(x: &[f32x4], v: &[f32x4], i: usize, others: &[u32], weights: &[f32]) -> f32 {
    let (own_x, own_v) = (x[i], v[i]);
    let (mut even, mut odd) = (f32x4::ZERO, f32x4::ZERO);
    let term = |other: u32, weight: f32| {
        let j = other as usize;
        (own_x - x[j]) * (own_v - v[j]) * f32x4::splat(weight)
    };
    let (pairs, rest) = others.as_chunks::<2>();
    let (weight_pairs, weight_rest) = weights.as_chunks::<2>();
    for (other, weight) in pairs.iter().zip(weight_pairs) {
        even += term(other[0], weight[0]);
        odd += term(other[1], weight[1]);
    }
    if let ([other], [weight]) = (rest, weight_rest) {
        even += term(*other, *weight);
    }
    dot(even + odd, f32x4::ONE)
}

/// κ goes on in the direction it went, but not below zero.
fn extrapolate(fields: &mut Fields, beta: f32) {
    let Fields { kappa, kappa_next, kappa_last, .. } = fields;
    let pieces = kappa.par_chunks_mut(PIECE).zip(kappa_next.par_chunks(PIECE)).zip(kappa_last.par_chunks(PIECE));
    pieces.for_each(|((kappa, next), last)| {
        for ((kappa, &next), &last) in kappa.iter_mut().zip(next).zip(last) {
            *kappa = (next + beta * (next - last)).max(0.0);
        }
    });
    std::mem::swap(kappa_next, kappa_last);
}
