//! Lengths and tensions at once.
//!
//! The positions at the end of the substep solve
//!
//! m_v (x'_v - x*_v) / dt^2 = T_s n'_s - T_(s-1) n'_(s-1),   |x'_(v+1) - x'_v| = L0_s (1 + strain(T_s / A_s)),   T_s >= 0,
//!
//! where x* is the prediction without tension and n'_s the direction of segment s at the end. T is the Lagrange multiplier of the length,
//! a force in newton: the coefficient k_stiff of [Rungjiratananon2012, eq. 4.12] is m / dt^2 seen through all neighbours, and a hanging
//! weight gives T = m g. A cord cannot push: a segment shorter than its length has no tension.
//!
//! Newton's method on x and T together; with dT = k (gap + n . (dx_(v+1) - dx_v)), k the slope of the tension over the length, what is left
//! is symmetric and couples neighbours only, in blocks
//!
//! K_s = T_s / l (1 - n n^T) + k n n^T,
//!
//! so that a round is one sweep forth and one back [cf. section 4.2, where sweeps are repeated]. The first part is what holds a taut string
//! straight; left out, light vertices between heavy ones would fly off sideways. A vertex held by the world has dx = 0 and parts a piece into runs; one
//! held by a body has the inverse of the body's answer for its mass (shared out if the body holds several vertices of the piece); one that lies on a solid is
//! as good as fixed along the normal. Runs that share a body are solved in turn until all agree.
//!
//! Directions of the end make the scheme stable at any tension and take a little from fast sideways motion; where a piece is free or hangs
//! on one point its angular momentum is given back by a rotation.

use super::clamp::{Bodies, Grips};
use super::model::CordModel;
use super::state::{CordScratch, CordState, Tally};
use super::{Surroundings, bend};
use glam::{DMat3, DQuat, DVec3};
use std::ops::Range;

/// Rounds at most: of a run by itself, and of runs that end at bodies.
const ROUNDS: u32 = 24;
const COUPLED_ROUNDS: u32 = 48;
/// Last step of Newton's method that is good enough, in lengths of a segment: what remains is its square.
const TOLERANCE: f64 = 1e-6;
/// How much shorter than its length, relative, a segment may be and still be thought to pull: in the first round, which finds out, and later.
const SLACK: [f64; 2] = [0.02, 1e-10];
/// Mass of a vertex along the normal of the solid that it lies on, over its own, and in all directions where friction holds it: not so much that
/// it could not give way to a cord pulled too long.
const FIXED: f64 = 1e6;
const STUCK: f64 = 16.0;

/// Segments of a piece between two vertices that are held, or between one and an end.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub piece: usize,
    pub segments: Range<usize>,
    done: bool,
    /// Whether a body that can move holds a vertex.
    pub coupled: bool,
    /// Smallest step of Newton's method so far, in lengths of a segment.
    best: f64,
}

/// How many times longer than its best step a run's step may be before it is given up.
const LOST: f64 = 1e3;

impl Run {
    pub fn new(piece: usize, segments: Range<usize>, grips: &Grips) -> Self {
        let mut run = Self { piece, segments, done: false, coupled: false, best: f64::INFINITY };
        let [first, last] = run.ends();
        run.coupled = (first..=last).any(|v| grips.at(v).is_some_and(|grip| grip.inertia.is_some()));
        run
    }

    /// First and last vertex.
    pub fn ends(&self) -> [usize; 2] {
        [self.segments.start + self.piece, self.segments.end + self.piece]
    }
}

/// A vertex in the elimination: the inverse of its block, and its right-hand side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    inverse: DMat3,
    load: DVec3,
}

impl Block {
    /// A vertex that stays.
    pub const FIXED: Self = Self { inverse: DMat3::ZERO, load: DVec3::ZERO };
}

/// K of a segment: a 1 + b n n^T.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bond {
    across: f64,
    along: f64,
    normal: DVec3,
    /// Slope of the tension over the length, and how much too long the segment is.
    stiffness: f64,
    gap: f64,
    /// Tension at which it yields, and whether the stiffness is that of yielding.
    limit: f64,
    yields: bool,
}

impl Bond {
    #[inline]
    fn matrix(&self) -> DMat3 {
        let n = self.normal * self.along;
        let mut k = DMat3::from_cols(n * self.normal.x, n * self.normal.y, n * self.normal.z);
        k.x_axis.x += self.across;
        k.y_axis.y += self.across;
        k.z_axis.z += self.across;
        k
    }

    #[inline]
    fn times(&self, v: DVec3) -> DVec3 {
        v * self.across + self.normal * (self.along * self.normal.dot(v))
    }
}

/// Brings all segments to the length that goes with their tension.
pub(super) fn solve(
    model: &CordModel,
    state: &mut CordState,
    scratch: &mut CordScratch,
    around: &Surroundings,
    bodies: &mut Bodies,
    tally: &mut Tally,
) {
    let mut runs = std::mem::take(&mut scratch.runs);
    for run in &mut runs {
        (run.done, run.best) = (false, f64::INFINITY);
    }
    // Runs that meet no body do not depend on any other.
    for run in runs.iter_mut().filter(|run| !run.coupled) {
        for round in 1..=ROUNDS {
            tally.rounds = tally.rounds.max(round);
            run.done = improve(model, state, scratch, run, around.dt, SLACK[usize::from(round > 1)]) <= TOLERANCE;
            if run.done {
                break;
            }
        }
    }
    for round in 1..=COUPLED_ROUNDS {
        let mut all = true;
        for run in runs.iter_mut().filter(|run| run.coupled && run.best >= 0.0) {
            hold(scratch, run, around, bodies);
            let step = improve(model, state, scratch, run, around.dt, SLACK[usize::from(round > 1)]);
            tally.rounds = tally.rounds.max(round);
            // A body so light that it is thrown about by what holds it: no more of that.
            if step > LOST * run.best.max(TOLERANCE) {
                run.best = -1.0;
                continue;
            }
            run.best = run.best.min(step);
            run.done = pull(state, scratch, run, around.dt, bodies) && step <= TOLERANCE;
            all &= run.done;
        }
        if all {
            break;
        }
    }
    for run in &runs {
        if run.coupled {
            hold(scratch, run, around, bodies);
        }
        tally.unconverged += u64::from(!run.done);
    }
    scratch.runs = runs;
}

/// Puts vertices on bodies where the bodies now take them.
fn hold(scratch: &mut CordScratch, run: &Run, around: &Surroundings, bodies: &Bodies) {
    let CordScratch { grips, next, .. } = scratch;
    let [first, last] = run.ends();
    for grip in grips.vertices.iter().filter(|grip| grip.inertia.is_some() && (first..=last).contains(&grip.vertex)) {
        next[grip.vertex] = grip.end(bodies, around.environment.gravity, around.dt);
    }
}

/// Gives bodies the pull on the vertices that they hold, less what they have got before; true if that was little.
pub(super) fn pull(state: &CordState, scratch: &mut CordScratch, run: &Run, dt: f64, bodies: &mut Bodies) -> bool {
    let CordScratch { grips, next, before, .. } = scratch;
    let [first, last] = run.ends();
    let force = |s: usize| {
        let v = s + run.piece;
        (next[v + 1] - next[v]).normalize_or(before[s]) * state.tensions[s]
    };
    let mut little = true;
    for grip in &mut grips.vertices {
        let v = grip.vertex;
        let Some(index) = grip.body.filter(|_| (first..=last).contains(&v)) else { continue };
        let mut impulse = DVec3::ZERO;
        if v < last {
            impulse += force(v - run.piece) * dt;
        }
        if v > first {
            impulse -= force(v - run.piece - 1) * dt;
        }
        // A body that cannot move parts two runs, which both pull it.
        let side = usize::from(grip.inertia.is_none() && v == last);
        let more = impulse - grip.given[side];
        if !more.is_finite() {
            continue;
        }
        little &= more.length() <= 1e-3 * impulse.length() + 1e-9;
        bodies.push(index, grip.share * more, grip.begin);
        grip.given[side] = impulse;
    }
    little
}

/// One round of Newton's method on a run; returns its largest step, in lengths of a segment.
fn improve(model: &CordModel, state: &mut CordState, scratch: &mut CordScratch, run: &Run, dt: f64, slack: f64) -> f64 {
    let CordScratch { next, free, before, blocks, bonds, mass, inverse_mass, normals, pushed, grips, tangents, .. } =
        scratch;
    let (piece, segments) = (run.piece, run.segments.clone());
    let [first, last] = run.ends();
    let rate = 1.0 / (dt * dt);

    // Forth: bonds, and elimination from the first vertex on.
    let (mut bond_before, mut pull_before) = (Bond::default(), DVec3::ZERO);
    let mut span = 0.0;
    for v in first..=last {
        let (mut bond, mut pull) = (Bond::default(), DVec3::ZERO);
        if v < last {
            let s = v - piece;
            let edge = next[v + 1] - next[v];
            span += edge.abs().element_sum() + model.lengths[s];
            (bond, pull) = bind(model, state, s, edge, before[s], slack);
            tangents[s] = bond.normal;
            bonds[s] = bond;
        }
        let (inertia, mut load) = match grips.at(v) {
            Some(grip) => match grip.inertia {
                Some(inertia) => (inertia * rate, grip.given[0] * (-1.0 / dt)),
                // Held by the world, or as good as: stays.
                None => {
                    blocks[v] = Block::FIXED;
                    (bond_before, pull_before) = (bond, pull);
                    continue;
                }
            },
            None => {
                let heavy = mass[v] * rate * if inverse_mass[v] == 0.0 { STUCK } else { 1.0 };
                let mut inertia = DMat3::from_diagonal(DVec3::splat(heavy));
                let normal = normals[v];
                if normal != DVec3::ZERO {
                    let n = normal * (heavy * FIXED);
                    inertia += DMat3::from_cols(n * normal.x, n * normal.y, n * normal.z);
                }
                // On a solid, what friction took counts; where the normal goes is settled.
                let away = free[v] + pushed[v] - next[v];
                (inertia, (away - normal * normal.dot(away)) * heavy)
            }
        };
        load += pull - pull_before;
        let mut block = inertia + bond.matrix();
        if v > first {
            let previous = blocks[v - 1];
            block += bond_before.matrix() - sandwich(&bond_before, &previous.inverse);
            load += bond_before.times(previous.inverse * previous.load);
        }
        blocks[v] = Block { inverse: invert(&block), load };
        (bond_before, pull_before) = (bond, pull);
    }

    // Back: the steps; a cord cannot push.
    let mut worst: f64 = 0.0;
    let mut after = DVec3::ZERO;
    for v in (first..=last).rev() {
        let s = v.wrapping_sub(piece);
        let mut load = blocks[v].load;
        if v < last {
            load += bonds[s].times(after);
        }
        // No step is longer than the run, wherever a first round may want to go.
        let step = blocks[v].inverse * load;
        let step = if step.is_finite() { step.clamp_length_max(span) } else { DVec3::ZERO };
        if v < last {
            let bond = &bonds[s];
            let tension = state.tensions[s] + bond.stiffness * (bond.gap + bond.normal.dot(after - step));
            // On another branch than it was thought to be: one more round.
            if tension < 0.0 && state.tensions[s] > 0.0 || (tension > bond.limit) != bond.yields {
                worst = worst.max(1.0);
            }
            state.tensions[s] = tension.max(0.0);
        }
        // Written so that a NaN is not taken for nothing.
        let size = step.length() / model.lengths[s.min(segments.end - 1)];
        worst = if size <= worst { worst } else { size };
        // Bodies will take their vertices there, up to what others do to them.
        next[v] += step;
        after = step;
    }
    worst
}

/// The bond of a segment, and its pull on the vertex before it, with the gap closed.
#[inline]
fn bind(model: &CordModel, state: &CordState, s: usize, edge: DVec3, before: DVec3, slack: f64) -> (Bond, DVec3) {
    let (length, rest, area) = (edge.length(), model.lengths[s], model.areas[s]);
    let normal = if length > 1e-9 * rest { edge / length } else { before };
    let tension = state.tensions[s];
    let curve = model.tensile_curve(s);
    let (strain, slope) = curve.strain(tension / area, state.plastic_strains[s]);
    let gap = length - rest * (1.0 + strain);
    if tension <= 0.0 && gap < -slack * rest {
        return (Bond { normal, limit: f64::INFINITY, ..Bond::default() }, DVec3::ZERO);
    }
    let stiffness = area / (rest * slope);
    let across = tension / length.max(0.1 * rest);
    let limit = curve.yield_after(state.plastic_strains[s]) * area;
    let bond = Bond { across, along: stiffness - across, normal, stiffness, gap, limit, yields: tension > limit };
    (bond, normal * (tension + stiffness * gap))
}

/// K P K for a symmetric P.
#[inline]
fn sandwich(bond: &Bond, p: &DMat3) -> DMat3 {
    let (a, b, n) = (bond.across, bond.along, bond.normal);
    let pn = *p * n;
    // a^2 P + a b (n (Pn)^T + Pn n^T) + b^2 (n . Pn) n n^T = a^2 P + u n^T + n w^T with the rest split over both.
    let u = pn * (a * b) + n * (0.5 * b * b * n.dot(pn));
    *p * (a * a) + DMat3::from_cols(u * n.x + n * u.x, u * n.y + n * u.y, u * n.z + n * u.z)
}

/// Inverse of a symmetric matrix.
#[inline]
fn invert(m: &DMat3) -> DMat3 {
    let (a, b, c) = (m.x_axis.x, m.x_axis.y, m.x_axis.z);
    let (d, e, f) = (m.y_axis.y, m.y_axis.z, m.z_axis.z);
    let (xx, xy, xz) = (d * f - e * e, c * e - b * f, b * e - c * d);
    let inverse = 1.0 / (a * xx + b * xy + c * xz);
    let (yy, yz, zz) = (a * f - c * c, b * c - a * e, a * d - b * b);
    DMat3::from_cols(
        DVec3::new(xx, xy, xz) * inverse,
        DVec3::new(xy, yy, yz) * inverse,
        DVec3::new(xz, yz, zz) * inverse,
    )
}

/// Gives back the angular momentum of pieces that are free or hang on one point of the world.
pub(super) fn keep_angular_momentum(state: &CordState, scratch: &mut CordScratch) {
    let CordScratch { next, free, forces, mass, normals, grips, .. } = scratch;
    for piece in 0..state.piece_count() {
        let vertices = state.vertices(piece);
        let (mut held, mut loose) = (None, true);
        for v in vertices.clone() {
            loose &= normals[v] == DVec3::ZERO;
            if let Some(grip) = grips.at(v) {
                loose &= held.is_none() && grip.body.is_none();
                held = Some((v, grip.begin));
            }
        }
        if !loose {
            continue;
        }
        let (positions, masses) = (&state.positions[vertices.clone()], &mass[vertices.clone()]);
        for _ in 0..2 {
            for v in vertices.clone() {
                forces[v] = next[v] - free[v];
            }
            let spin = bend::spin_of(positions, masses, held.map(|(_, begin)| begin), &forces[vertices.clone()]);
            let centre = match held {
                Some((v, _)) => next[v],
                None => bend::centre(&next[vertices.clone()], masses),
            };
            let back = DQuat::from_scaled_axis(-spin);
            if back.is_finite() {
                vertices.clone().for_each(|v| next[v] = centre + back * (next[v] - centre));
            }
        }
    }
}

/// Books what the lengths and tensions have come to, and lets segments past their yield stress flow.
pub(super) fn settle(model: &CordModel, state: &mut CordState, scratch: &CordScratch, tally: &mut Tally) {
    for piece in 0..state.piece_count() {
        for s in state.segments(piece) {
            let v = s + piece;
            let length = scratch.next[v].distance(scratch.next[v + 1]);
            let (curve, tension) = (model.tensile_curve(s), state.tensions[s]);
            let stress = tension / model.areas[s];
            let strain = length / model.lengths[s] - 1.0;
            let expected = curve.strain(stress, state.plastic_strains[s]).0;
            let larger = |a: f64, b: f64| if a.is_nan() || b <= a { a } else { b };
            tally.stretch_error = larger(tally.stretch_error, strain - expected);
            tally.strain_max = larger(tally.strain_max, strain);
            tally.tension_max = larger(tally.tension_max, tension);
            state.plastic_strains[s] += curve.flow(stress, state.plastic_strains[s]);
        }
    }
}
