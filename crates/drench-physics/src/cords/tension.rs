//! Lengths and tensions at once.
//!
//! The positions at the end of the substep solve
//!
//! m_v (x'_v - x*_v) / dt^2 = T_s n'_s - T_(s-1) n'_(s-1),   |x'_(v+1) - x'_v| = L0_s (1 + strain(T_s / A_s)),   T_s >= 0,
//!
//! where x* is the prediction without tension and n'_s the direction of segment s at the end. T is the Lagrange multiplier of the length,
//! a force in newton: the coefficient k_stiff of [Rungjiratananon2012, eq. 4.12] is m / dt^2 seen through all neighbours, and a hanging
//! weight gives T = m g. A cord cannot push: a segment shorter than its length has no tension. Nor can it bear more than its strength: what is hit
//! so hard that it tears within the substep has passed on no more than that.
//!
//! Newton's method on x and T together; with dT = k (gap + n . (dx_(v+1) - dx_v)), k the slope of the tension over the length, what is left
//! is symmetric and couples neighbours only, in blocks
//!
//! K_s = T_s / l (1 - n n^T) + k n n^T,
//!
//! so that a round is one sweep forth and one back [`super::chain`; cf. section 4.2, where sweeps are repeated]. The first part is what holds a taut string
//! straight; left out, light vertices between heavy ones would fly off sideways. A vertex held by the world has dx = 0 and parts a piece into runs; one
//! held by a body has the inverse of the body's answer for its mass (shared out if the body holds several vertices of the piece); one that lies on a solid is
//! as good as fixed along the normal. Runs that share a body are solved in turn until all agree.
//!
//! Cords that cannot push make the energy of all this convex: a step that goes too far beyond its least value is made shorter. No step is longer than the run, and no pull throws a body far beyond that. Where runs and bodies still do not agree
//! (light bodies on long levers), a run is given up for the substep: its bodies get back what they were given, the run is solved as if they held still, and they are then
//! drawn by its tension no farther than the run is too long. That is counted as unconverged. In runs that were stopped no tension is larger than goes with the length.
//!
//! Directions of the end make the scheme stable at any tension and take a little from fast sideways motion; where a piece is free or hangs
//! on one point its angular momentum is given back by a rotation.

use super::clamp::{Bodies, Grips, Round};
use super::model::CordModel;
use super::round::{Inertia, Stretches, improve};
use super::state::{CordScratch, CordState, Tally};
use super::{Cords, Surroundings, bend, frame};
use crate::collision::segments::length;
use glam::{DQuat, DVec3};
use std::ops::Range;

/// Rounds at most: of a run by itself, and of runs that end at bodies.
const ROUNDS: u32 = 24;
const COUPLED_ROUNDS: u32 = 48;
/// Last step of Newton's method that is good enough, in lengths of a segment: what remains is its square.
pub(super) const TOLERANCE: f64 = 1e-6;
/// The same where it is only to be seen what the cord will touch.
pub(super) const ROUGH: f64 = 1e-2;
/// How much shorter than its length, relative, a segment may be and still be thought to pull: in the first round, which finds out, and later.
const SLACK: [f64; 2] = [0.02, 1e-10];

/// Segments of a piece between two vertices that are held, or between one and an end.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub piece: usize,
    pub segments: Range<usize>,
    pub stretches: Stretches,
    /// Which of the vertices that are held it has.
    pub held: Range<usize>,
    /// Whether its lengths are what goes with the tensions.
    pub done: bool,
    /// Whether a body that can move holds a vertex.
    pub coupled: bool,
    /// Farthest that a round may move anything [m].
    pub reach: f64,
    /// Farthest that a pull may take a body [m].
    pub far: f64,
    /// Last step of Newton's method, in lengths of a segment.
    last: f64,
    /// When it was last solved, counted over all runs.
    turn: u32,
}

/// Last step, in lengths of a segment, that is still an answer, if not a good one.
const LOST: f64 = 0.01;
/// Change of a round over that of the one before up to which rounds are steady; squared cosine of the two from which on they go straight on.
const STEADY: f64 = 0.5;
const STRAIGHT: f64 = 0.98;
/// How much longer rounds are made at most if they are steady, and if they go straight on.
const HURRY: [f64; 2] = [0.5, 50.0];
/// How many times farther than a run reaches its pull may take a body by itself: others that hold the body pull too.
const FAR: f64 = 1e3;
/// Looks at most for angular momentum that was lost, and rotation up to which none was [rad].
const LOOKS: u32 = 8;
const STILL: f64 = 1e-15;

impl Run {
    /// A run whose rows come after others.
    pub fn new(piece: usize, segments: Range<usize>, first_row: usize, grips: &Grips) -> Self {
        let stretches = Stretches::new(segments.start + piece, segments.start, segments.len(), first_row);
        let mut run = Self {
            piece,
            segments,
            stretches,
            held: 0..0,
            done: false,
            coupled: false,
            reach: f64::INFINITY,
            far: f64::INFINITY,
            last: f64::INFINITY,
            turn: 0,
        };
        run.held = grips.between(run.ends());
        run.coupled = grips.vertices[run.held.clone()].iter().any(|grip| grip.inertia.is_some());
        run
    }

    /// First and last vertex.
    pub fn ends(&self) -> [usize; 2] {
        [self.segments.start + self.piece, self.segments.end + self.piece]
    }

    /// Whether it does not agree with its bodies. Written so that a NaN is lost too.
    fn lost(&self) -> bool {
        self.coupled && !self.done && (self.last.is_nan() || self.last > LOST)
    }
}

/// Brings all segments of bodies of cords that hang on the same rigid bodies to the length that goes with their tension.
pub(super) fn solve(island: &mut [&mut Cords], around: &Surroundings, tolerance: f64, bodies: &mut Bodies) {
    island.iter_mut().for_each(|cords| begin(cords, around, tolerance));
    agree(island, around, tolerance, bodies);
    for Cords { state, scratch, .. } in island.iter_mut() {
        with_runs(scratch, |scratch, runs| {
            for run in runs.iter().filter(|run| run.coupled) {
                run.stretches.store(&scratch.length_rows, &mut scratch.next, &mut state.tensions);
            }
            // What bodies got is what the tensions are, to the last digit.
            for run in runs.iter().filter(|run| run.coupled && run.done) {
                pull(state, scratch, run, around.dt, bodies);
            }
            for run in runs.iter().filter(|run| run.lost()) {
                give_back(scratch, run, bodies);
            }
        });
    }
    for Cords { state, scratch, tally, .. } in island.iter_mut() {
        with_runs(scratch, |scratch, runs| {
            for run in runs.iter_mut() {
                tally.unconverged += u64::from(!run.done);
                if run.lost() {
                    give_up(state, scratch, run, around, bodies, tally);
                } else if !run.done {
                    ease(state, scratch, run);
                }
            }
        });
    }
    for Cords { scratch, .. } in island.iter_mut() {
        with_runs(scratch, |scratch, runs| {
            runs.iter().filter(|run| run.coupled).for_each(|run| hold(scratch, run, around, bodies));
        });
    }
}

/// Lends out the runs while the rest of the scratch is worked on.
fn with_runs<T>(scratch: &mut CordScratch, work: impl FnOnce(&mut CordScratch, &mut Vec<Run>) -> T) -> T {
    let mut runs = std::mem::take(&mut scratch.runs);
    let result = work(scratch, &mut runs);
    scratch.runs = runs;
    result
}

/// Solves the runs that meet no body, which do not depend on any other, and prepares those that do.
fn begin(cords: &mut Cords, around: &Surroundings, tolerance: f64) {
    let Cords { state, scratch, tally, .. } = cords;
    with_runs(scratch, |scratch, runs| {
        for run in runs.iter_mut() {
            (run.done, run.last) = (false, f64::INFINITY);
            let span = run.segments.clone().map(|s| {
                let v = s + run.piece;
                length(scratch.next[v + 1] - scratch.next[v])
            });
            run.reach = run.reach.max(span.sum());
            run.far = FAR * run.reach;
        }
        scratch.length_rows.resize(runs.last().map_or(0, |run| run.stretches.range().end));
        scratch.inertias.clear();
        runs.iter().for_each(|run| Inertia::all(scratch, run, around.dt));
        for grip in &mut scratch.grips.vertices {
            grip.start = grip.given;
            grip.round = Round { from: grip.given[0], ..Round::default() };
        }
        for run in runs.iter_mut() {
            if run.coupled {
                run.stretches.load(&mut scratch.length_rows, &scratch.next, &state.tensions);
            } else {
                alone(state, scratch, run, around.dt, tolerance, tally);
            }
        }
    });
}

/// Solves runs that share bodies in turn until all agree.
fn agree(island: &mut [&mut Cords], around: &Surroundings, tolerance: f64, bodies: &mut Bodies) {
    // For each body, the last turn in which a run that was not done has pulled it.
    let Some(first) = island.first_mut() else { return };
    let mut stirred = std::mem::take(&mut first.scratch.stirred);
    stirred.clear();
    stirred.resize(bodies.states.len(), 0);
    let mut turn = 0;
    for round in 1..=COUPLED_ROUNDS {
        let mut all = true;
        for Cords { scratch, tally, .. } in island.iter_mut() {
            with_runs(scratch, |scratch, runs| {
                for run in runs.iter_mut().filter(|run| run.coupled) {
                    // A run that is done is, until another moves one of its bodies.
                    if run.done && scratch.grips.bodies(&run.held).all(|body| stirred[body] < run.turn) {
                        continue;
                    }
                    turn += 1;
                    run.turn = turn;
                    hold(scratch, run, around, bodies);
                    let (step, sure) = improve(scratch, run, around.dt, SLACK[usize::from(round > 1)], false);
                    tally.rounds = tally.rounds.max(round);
                    run.last = step;
                    lead(scratch, run, around.dt, bodies);
                    run.done = sure && step <= tolerance;
                    all &= run.done;
                    if !run.done {
                        scratch.grips.bodies(&run.held).for_each(|body| stirred[body] = turn);
                    }
                }
            });
        }
        if all {
            break;
        }
        turn += 1;
        hurry(island, &mut stirred, turn, bodies);
    }
    if let Some(first) = island.first_mut() {
        first.scratch.stirred = stirred;
    }
}

/// Solves a run whose ends, and vertices on bodies, stay where they are.
fn alone(state: &mut CordState, scratch: &mut CordScratch, run: &mut Run, dt: f64, tolerance: f64, tally: &mut Tally) {
    run.stretches.load(&mut scratch.length_rows, &scratch.next, &state.tensions);
    for round in 1..=ROUNDS {
        tally.rounds = tally.rounds.max(round);
        let (step, sure) = improve(scratch, run, dt, SLACK[usize::from(round > 1)], true);
        run.last = step;
        run.done = sure && step <= tolerance;
        if run.done {
            break;
        }
    }
    run.stretches.store(&scratch.length_rows, &mut scratch.next, &mut state.tensions);
}

/// Takes from bodies what a run has given them in this solve.
fn give_back(scratch: &mut CordScratch, run: &Run, bodies: &mut Bodies) {
    for grip in &mut scratch.grips.vertices[run.held.clone()] {
        if let (Some(index), Some(_)) = (grip.body, grip.inertia) {
            bodies.push(index, grip.share * (grip.start[0] - grip.given[0]), grip.begin);
            grip.given[0] = grip.start[0];
        }
    }
}

/// Solves a run that does not agree with its bodies as if they held still, then draws them.
fn give_up(
    state: &mut CordState,
    scratch: &mut CordScratch,
    run: &mut Run,
    around: &Surroundings,
    bodies: &mut Bodies,
    tally: &mut Tally,
) {
    hold(scratch, run, around, bodies);
    let [first, last] = run.ends();
    for v in (first..=last).filter(|v| scratch.grips.at(*v).is_none()) {
        scratch.next[v] = scratch.free[v] + scratch.pushed[v];
    }
    for s in run.segments.clone() {
        state.tensions[s] = scratch.tensions[s];
    }
    alone(state, scratch, run, around.dt, TOLERANCE, tally);
    run.far = ease(state, scratch, run);
    pull(state, scratch, run, around.dt, bodies);
    run.done = false;
}

/// Takes off the tension that is more than goes with the lengths that a run was stopped at; returns how much too long it is [m].
fn ease(state: &mut CordState, scratch: &CordScratch, run: &Run) -> f64 {
    let mut excess = 0.0;
    for s in run.segments.clone() {
        let v = s + run.piece;
        let (law, length) = (&scratch.laws[s], length(scratch.next[v + 1] - scratch.next[v]));
        excess += (length - law.slack).max(0.0);
        state.tensions[s] = state.tensions[s].min(law.tension(length));
    }
    excess
}

/// Puts vertices on bodies where the bodies now take them.
fn hold(scratch: &mut CordScratch, run: &Run, around: &Surroundings, bodies: &Bodies) {
    let CordScratch { grips, next, length_rows, .. } = scratch;
    for grip in grips.vertices[run.held.clone()].iter().filter(|grip| grip.inertia.is_some()) {
        next[grip.vertex] = grip.end(bodies, around.environment.gravity, around.dt);
        length_rows.put(&run.stretches, grip.vertex, next[grip.vertex]);
    }
}

/// Gives bodies what takes the vertices that they hold along the step of a round. Not the pull itself: far from the solution its direction turns
/// more in a round than light bodies could follow.
fn lead(scratch: &mut CordScratch, run: &Run, dt: f64, bodies: &mut Bodies) {
    let CordScratch { grips, moves, .. } = scratch;
    for grip in &mut grips.vertices[run.held.clone()] {
        if let (Some(index), Some(inertia)) = (grip.body, grip.inertia) {
            let more = inertia * moves[grip.vertex] * (1.0 / dt);
            bodies.push(index, grip.share * more, grip.begin);
            grip.given[0] += more;
        }
    }
}

/// Takes bodies on the way that rounds take them. Where runs share bodies, a round leaves about the same part of the error as the one before it;
/// Anderson's method with a memory of one round finds out which: with x what bodies had got when a round began, g what it made of that, and f = g - x,
/// the next one begins with g + p (g - g_before), where p makes |f + p (f - f_before)| least.
fn hurry(island: &mut [&mut Cords], stirred: &mut [u32], turn: u32, bodies: &mut Bodies) {
    let unsettled = |run: &&Run| run.coupled && !run.done;
    // f . f, f . f_before, f_before . f_before.
    let [mut new, mut both, mut old] = [0.0; 3];
    for CordScratch { grips, runs, .. } in island.iter().map(|cords| &*cords.scratch) {
        for grip in runs.iter().filter(unsettled).flat_map(|run| &grips.vertices[run.held.clone()]) {
            let change = grip.given[0] - grip.round.from;
            new += change.length_squared();
            both += change.dot(grip.round.change);
            old += grip.round.change.length_squared();
        }
    }
    let most = if both > 0.0 && both * both > STRAIGHT * new * old && new < old {
        HURRY[1]
    } else if new < STEADY * STEADY * old {
        HURRY[0]
    } else {
        0.0
    };
    let part = if both > new { ((both - new) / (new - 2.0 * both + old)).min(most) } else { 0.0 };
    for CordScratch { grips, runs, .. } in island.iter_mut().map(|cords| &mut *cords.scratch) {
        for run in runs.iter().filter(unsettled) {
            for grip in &mut grips.vertices[run.held.clone()] {
                let (to, change, more) =
                    (grip.given[0], grip.given[0] - grip.round.from, (grip.given[0] - grip.round.to) * part);
                if let (Some(index), Some(_)) = (grip.body, grip.inertia)
                    && more != DVec3::ZERO
                {
                    bodies.push(index, grip.share * more, grip.begin);
                    grip.given[0] += more;
                    stirred[index] = turn;
                }
                grip.round = Round { from: grip.given[0], to, change };
            }
        }
    }
}

/// Gives bodies the pull on the vertices that they hold, less what they have got before.
pub(super) fn pull(state: &CordState, scratch: &mut CordScratch, run: &Run, dt: f64, bodies: &mut Bodies) {
    let CordScratch { grips, next, before, .. } = scratch;
    let [first, last] = run.ends();
    let force = |s: usize| {
        let v = s + run.piece;
        frame::unit_or(next[v + 1] - next[v], before[s]) * state.tensions[s]
    };
    for grip in &mut grips.vertices[run.held.clone()] {
        let v = grip.vertex;
        let Some(index) = grip.body else { continue };
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
            continue;
        }
        // Nothing throws a body far beyond the run. Written so that a NaN is too far.
        if grip.inertia.is_some() {
            let way = length(grip.answer * more) * dt;
            if way.is_nan() || way > run.far {
                more *= if way.is_finite() { run.far / way } else { 0.0 };
            }
        }
        bodies.push(index, grip.share * more, grip.begin);
        grip.given[side] += more;
    }
}

/// A piece that lies on nothing, and that nothing holds but one point of the world at most: that point, and where it was.
pub(super) struct Loose {
    pub held: Option<(usize, DVec3)>,
}

impl Loose {
    /// Whether a piece is one.
    pub fn is(state: &CordState, scratch: &CordScratch, piece: usize) -> Option<Self> {
        let CordScratch { normals, grips, leans, .. } = scratch;
        let segments = state.segments(piece);
        let (mut held, mut loose) = (None, !leans.iter().any(|lean| segments.contains(&lean.segment)));
        for v in state.vertices(piece) {
            loose &= normals[v] == DVec3::ZERO;
            if let Some(grip) = grips.at(v) {
                loose &= held.is_none() && grip.body.is_none();
                held = Some((v, grip.begin));
            }
        }
        loose.then_some(Self { held })
    }
}

/// Gives back the angular momentum of pieces that are free or hang on one point of the world.
pub(super) fn keep_angular_momentum(state: &CordState, scratch: &mut CordScratch) {
    for piece in 0..state.piece_count() {
        let Some(Loose { held }) = Loose::is(state, scratch, piece) else { continue };
        let CordScratch { next, free, forces, mass, .. } = scratch;
        let vertices = state.vertices(piece);
        let (positions, masses) = (&state.positions[vertices.clone()], &mass[vertices.clone()]);
        // Each look takes away all but a part that goes with how far the piece moves in a step.
        for _ in 0..LOOKS {
            for v in vertices.clone() {
                forces[v] = next[v] - free[v];
            }
            let spin = bend::spin_of(positions, masses, held.map(|(_, begin)| begin), &forces[vertices.clone()]);
            if spin.length_squared() < STILL * STILL {
                break;
            }
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

/// Books what directions, lengths and tensions have come to, and lets segments past their yield stress flow.
pub(super) fn settle(model: &CordModel, state: &mut CordState, scratch: &mut CordScratch, tally: &mut Tally) {
    let CordScratch { next, before, tangents, .. } = scratch;
    for piece in 0..state.piece_count() {
        for s in state.segments(piece) {
            let edge = next[s + piece + 1] - next[s + piece];
            let length = length(edge);
            tangents[s] = frame::unit_or(edge, before[s]);
            let (curve, tension) = (model.tensile_curve(s), state.tensions[s]);
            let stress = tension / model.areas[s];
            let strain = length / model.lengths[s] - 1.0;
            // A segment that is about to tear is as long as it likes.
            let expected =
                if stress < curve.rupture { curve.strain(stress, state.plastic_strains[s]).0 } else { strain };
            let larger = |a: f64, b: f64| if a.is_nan() || b <= a { a } else { b };
            tally.stretch_error = larger(tally.stretch_error, strain - expected);
            tally.strain_max = larger(tally.strain_max, strain);
            tally.tension_max = larger(tally.tension_max, tension);
            state.plastic_strains[s] += curve.flow(stress, state.plastic_strains[s]);
        }
    }
}
