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
//! A round that makes things worse is followed by shorter steps, no step is longer than the run, and no pull throws a body far beyond that. Where runs and bodies still do not agree
//! (light bodies on long levers), a run is given up for the substep: its bodies get back what they were given, the run is solved as if they held still, and they are then
//! drawn by its tension no farther than the run is too long. That is counted as unconverged. In the end no tension is larger than goes with the length.
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
    /// Farthest that a round may move anything [m].
    pub reach: f64,
    /// Farthest that a pull may take a body [m].
    pub far: f64,
    /// Last step of Newton's method, in lengths of a segment, and how much of the next is taken.
    last: f64,
    relax: f64,
}

/// Least part of a step that is taken, and the rounds after which a step that has not become shorter makes the next ones shorter.
const LEAST: f64 = 0.125;
const PATIENCE: u32 = 6;
/// Last step, in lengths of a segment, that is still an answer, if not a good one.
const LOST: f64 = 1.0;
/// How many times farther than a run reaches its pull may take a body by itself: others that hold the body pull too.
const FAR: f64 = 1e3;

impl Run {
    pub fn new(piece: usize, segments: Range<usize>, grips: &Grips) -> Self {
        let mut run = Self {
            piece,
            segments,
            done: false,
            coupled: false,
            reach: f64::INFINITY,
            far: f64::INFINITY,
            last: f64::INFINITY,
            relax: 1.0,
        };
        let [first, last] = run.ends();
        run.coupled = (first..=last).any(|v| grips.at(v).is_some_and(|grip| grip.inertia.is_some()));
        run
    }

    /// Takes note of a step: shorter ones if it has not become shorter, longer ones again if it has.
    fn adapt(&mut self, step: f64, round: u32) {
        if round > PATIENCE {
            let better = step < 0.9 * self.last;
            self.relax = if better { (1.5 * self.relax).min(1.0) } else { (0.5 * self.relax).max(LEAST) };
        }
        self.last = step;
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
        (run.done, run.last, run.relax) = (false, f64::INFINITY, 1.0);
        let span = run.segments.clone().map(|s| scratch.next[s + run.piece].distance(scratch.next[s + run.piece + 1]));
        run.reach = run.reach.max(span.sum());
        run.far = FAR * run.reach;
    }
    for grip in &mut scratch.grips.vertices {
        grip.start = grip.given;
    }
    // Runs that meet no body do not depend on any other.
    for run in runs.iter_mut().filter(|run| !run.coupled) {
        alone(model, state, scratch, run, around.dt, tally);
    }
    for round in 1..=COUPLED_ROUNDS {
        let mut all = true;
        for run in runs.iter_mut().filter(|run| run.coupled) {
            hold(scratch, run, around, bodies);
            let (step, sure) = improve(model, state, scratch, run, around.dt, SLACK[usize::from(round > 1)], false);
            tally.rounds = tally.rounds.max(round);
            run.adapt(step, round);
            run.done = pull(state, scratch, run, around.dt, bodies) && sure && step <= TOLERANCE;
            all &= run.done;
        }
        if all {
            break;
        }
    }
    // Written so that a NaN is lost too.
    let lost = |run: &Run| run.coupled && !run.done && (run.last.is_nan() || run.last > LOST);
    for run in runs.iter().filter(|run| lost(run)) {
        give_back(scratch, run, bodies);
    }
    for run in &mut runs {
        if run.coupled {
            hold(scratch, run, around, bodies);
        }
        tally.unconverged += u64::from(!run.done);
        if lost(run) {
            give_up(model, state, scratch, run, around, bodies, tally);
        }
    }
    scratch.runs = runs;
}

/// Solves a run whose ends, and vertices on bodies, stay where they are.
fn alone(
    model: &CordModel,
    state: &mut CordState,
    scratch: &mut CordScratch,
    run: &mut Run,
    dt: f64,
    tally: &mut Tally,
) {
    for round in 1..=ROUNDS {
        tally.rounds = tally.rounds.max(round);
        let (step, sure) = improve(model, state, scratch, run, dt, SLACK[usize::from(round > 1)], true);
        run.adapt(step, round);
        run.done = sure && step <= TOLERANCE;
        if run.done {
            break;
        }
    }
}

/// Takes from bodies what a run has given them in this solve.
fn give_back(scratch: &mut CordScratch, run: &Run, bodies: &mut Bodies) {
    let [first, last] = run.ends();
    for grip in scratch.grips.vertices.iter_mut().filter(|grip| (first..=last).contains(&grip.vertex)) {
        if let (Some(index), Some(_)) = (grip.body, grip.inertia) {
            bodies.push(index, grip.share * (grip.start[0] - grip.given[0]), grip.begin);
            grip.given[0] = grip.start[0];
        }
    }
}

/// Solves a run that does not agree with its bodies as if they held still, then draws them.
fn give_up(
    model: &CordModel,
    state: &mut CordState,
    scratch: &mut CordScratch,
    run: &mut Run,
    around: &Surroundings,
    bodies: &mut Bodies,
    tally: &mut Tally,
) {
    let [first, last] = run.ends();
    for v in (first..=last).filter(|v| scratch.grips.at(*v).is_none()) {
        scratch.next[v] = scratch.free[v] + scratch.pushed[v];
    }
    for s in run.segments.clone() {
        state.tensions[s] = scratch.tensions[s];
    }
    (run.last, run.relax) = (f64::INFINITY, 1.0);
    alone(model, state, scratch, run, around.dt, tally);
    let mut excess = 0.0;
    for s in run.segments.clone() {
        let v = s + run.piece;
        let length = scratch.next[v].distance(scratch.next[v + 1]);
        excess += (length - model.lengths[s] * (1.0 + state.plastic_strains[s])).max(0.0);
        state.tensions[s] = state.tensions[s].min(bearable(model, state, s, length));
    }
    run.far = excess;
    pull(state, scratch, run, around.dt, bodies);
    run.done = false;
    hold(scratch, run, around, bodies);
}

/// Tension that goes with a length of a segment [N].
fn bearable(model: &CordModel, state: &CordState, s: usize, length: f64) -> f64 {
    let strain = (length / model.lengths[s] - 1.0 - state.plastic_strains[s]).max(0.0);
    model.tensile_curve(s).stress(strain, state.plastic_strains[s]).0 * model.areas[s]
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
        let mut more = impulse - grip.given[side];
        if !more.is_finite() {
            little = false;
            continue;
        }
        little &= more.length() <= 1e-3 * impulse.length() + 1e-9;
        // Nothing throws a body far beyond the run. Written so that a NaN is too far.
        if let Some(inertia) = grip.inertia {
            let way = (inertia.inverse() * more).length() * dt;
            if way.is_nan() || way > run.far {
                more *= if way.is_finite() { run.far / way } else { 0.0 };
                little = false;
            }
        }
        bodies.push(index, grip.share * more, grip.begin);
        grip.given[side] += more;
    }
    little
}

/// One round of Newton's method on a run, with bodies that hold still or answer; returns its largest step, in lengths of a
/// segment, and whether all segments were on the branch that they were thought to be on.
fn improve(
    model: &CordModel,
    state: &mut CordState,
    scratch: &mut CordScratch,
    run: &Run,
    dt: f64,
    slack: f64,
    still: bool,
) -> (f64, bool) {
    let CordScratch { next, free, before, blocks, bonds, mass, inverse_mass, normals, pushed, grips, tangents, .. } =
        scratch;
    let (piece, segments) = (run.piece, run.segments.clone());
    let [first, last] = run.ends();
    let rate = 1.0 / (dt * dt);

    // Forth: bonds, and elimination from the first vertex on.
    let (mut bond_before, mut pull_before) = (Bond::default(), DVec3::ZERO);
    for v in first..=last {
        let (mut bond, mut pull) = (Bond::default(), DVec3::ZERO);
        if v < last {
            let s = v - piece;
            let edge = next[v + 1] - next[v];
            (bond, pull) = bind(model, state, s, edge, before[s], slack);
            tangents[s] = bond.normal;
            bonds[s] = bond;
        }
        let (inertia, mut load) = match grips.at(v) {
            Some(grip) => match grip.inertia.filter(|_| !still) {
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
    let (mut worst, mut sure) = (0.0_f64, true);
    let mut after = DVec3::ZERO;
    for v in (first..=last).rev() {
        let s = v.wrapping_sub(piece);
        let mut load = blocks[v].load;
        if v < last {
            load += bonds[s].times(after);
        }
        // No step is longer than the run, wherever a first round may want to go.
        let step = blocks[v].inverse * load;
        let step = if step.is_finite() { step.clamp_length_max(run.reach) } else { DVec3::ZERO };
        if v < last {
            let bond = &bonds[s];
            let tension = state.tensions[s] + bond.stiffness * (bond.gap + bond.normal.dot(after - step));
            // On another branch than it was thought to be: one more round.
            sure &= !(tension < 0.0 && state.tensions[s] > 0.0 || (tension > bond.limit) != bond.yields);
            let tension = state.tensions[s] + run.relax * (tension.max(0.0) - state.tensions[s]);
            if tension.is_finite() {
                state.tensions[s] = tension;
            } else {
                worst = f64::INFINITY;
            }
        }
        // Written so that a NaN is not taken for nothing.
        let size = step.length() / model.lengths[s.min(segments.end - 1)];
        worst = if size <= worst { worst } else { size };
        // Bodies will take their vertices there, up to what others do to them.
        next[v] += step * run.relax;
        after = step;
    }
    (worst, sure)
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
            // No more than goes with the length, up to rounding: what a solve that was stopped may have left.
            let most = bearable(model, state, s, length);
            state.tensions[s] = state.tensions[s].min(most + 1e-9 * model.tensile_curve(s).elastic * model.areas[s]);
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
