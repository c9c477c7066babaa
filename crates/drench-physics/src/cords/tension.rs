//! Lengths and tensions at once.
//!
//! Over a substep tension T_s acts along the direction h_s that segment s has at the beginning, so that linear and angular momentum
//! are kept to rounding, and takes the value that the stress-strain curve gives for the length at the end:
//!
//! x'_v = x*_v + dt^2 W_v (T_s h_s - T_(s-1) h_(s-1)),   |x'_(v+1) - x'_v| = L0_s (1 + strain(T_s / A_s)),   T_s >= 0,
//!
//! with W_v the inverse mass of a vertex: 1/m, 0 where it is held by the world, without its part along the normal where it
//! lies on a solid, and the answer of the body where a body holds it. T is the Lagrange multiplier of the length, a force in newton: the
//! coefficient k_stiff of [Rungjiratananon2012, eq. 4.12] is 1 / (dt^2 W), for every segment and direction its own, and a hanging
//! weight gives T = m g. The equations of a run of segments between two held vertices couple neighbours only: Newton's method
//! needs one sweep forth and one back a round [cf. section 4.2, where sweeps are repeated]. A cord cannot push: a segment
//! shorter than its length has no tension.
//!
//! Runs that end at a common body are solved in turn until all agree.

use super::Surroundings;
use super::clamp::Bodies;
use super::model::CordModel;
use super::state::{CordScratch, CordState, Tally};
use glam::DVec3;
use std::ops::Range;

/// Rounds at most: of a run by itself, and of runs that end at bodies.
const ROUNDS: u32 = 16;
const COUPLED_ROUNDS: u32 = 48;
/// Error of a length that is good enough, relative.
const TOLERANCE: f64 = 1e-7;
/// A segment that turns farther than this cosine in a step is pulled along its new direction.
const TURNED: f64 = 0.5;

/// Segments of a piece between two vertices that are held, or between one and an end.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub piece: usize,
    pub segments: Range<usize>,
    done: bool,
}

impl Run {
    pub fn new(piece: usize, segments: Range<usize>) -> Self {
        Self { piece, segments, done: false }
    }

    /// First and last vertex.
    pub fn ends(&self) -> [usize; 2] {
        [self.segments.start + self.piece, self.segments.end + self.piece]
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
    let coupled = |scratch: &CordScratch, run: &Run| {
        run.ends().into_iter().any(|v| scratch.grips.at(v).is_some_and(|grip| grip.body.is_some()))
    };
    runs.iter_mut().for_each(|run| run.done = false);
    turn_along(&runs, scratch);
    // Runs that meet no body do not depend on any other.
    for run in &mut runs {
        if !coupled(scratch, run) {
            for round in 1..=ROUNDS {
                tally.rounds = tally.rounds.max(round);
                run.done = improve(model, state, scratch, run, around.dt) <= TOLERANCE;
                if run.done {
                    break;
                }
            }
        }
    }
    for round in 1..=COUPLED_ROUNDS {
        let mut worst: f64 = 0.0;
        for run in &mut runs {
            if coupled(scratch, run) {
                hold_ends(scratch, run, around, bodies);
                scratch.steps[run.segments.clone()].fill(0.0);
                let gap = improve(model, state, scratch, run, around.dt);
                pull_ends(scratch, run, around.dt, bodies);
                run.done = gap <= TOLERANCE;
                worst = worst.max(gap);
                tally.rounds = tally.rounds.max(round);
            }
        }
        if worst <= TOLERANCE {
            break;
        }
    }
    for run in &runs {
        hold_ends(scratch, run, around, bodies);
        tally.unconverged += u64::from(!run.done);
    }
    scratch.runs = runs;
}

/// Segments that turn about in this step are pulled along where they go.
fn turn_along(runs: &[Run], scratch: &mut CordScratch) {
    let CordScratch { along, next, .. } = scratch;
    for run in runs {
        for s in run.segments.clone() {
            let v = s + run.piece;
            let direction = (next[v + 1] - next[v]).normalize_or(along[s]);
            if direction.dot(along[s]) < TURNED {
                along[s] = direction;
            }
        }
    }
}

/// Puts ends on bodies where the bodies now take them.
fn hold_ends(scratch: &mut CordScratch, run: &Run, around: &Surroundings, bodies: &Bodies) {
    for v in run.ends() {
        if let Some(grip) = scratch.grips.at(v) {
            scratch.next[v] = grip.end(bodies, around.environment.gravity, around.dt);
        }
    }
}

/// Gives bodies at the ends what the last round added to the tension there.
fn pull_ends(scratch: &CordScratch, run: &Run, dt: f64, bodies: &mut Bodies) {
    let [first, last] = run.ends();
    let (s, e) = (run.segments.start, run.segments.end - 1);
    for (v, pull) in [(first, scratch.along[s] * scratch.steps[s]), (last, scratch.along[e] * -scratch.steps[e])] {
        if let Some(grip) = scratch.grips.at(v)
            && let Some(index) = grip.body
        {
            bodies.push(index, grip.share * (pull * dt), grip.begin);
        }
    }
}

/// One round of Newton's method on a run; returns the largest relative error of a length before it, after which nothing is changed
/// if it is good enough.
fn improve(model: &CordModel, state: &mut CordState, scratch: &mut CordScratch, run: &Run, dt: f64) -> f64 {
    let CordScratch { next, along, rows, steps, inverse_mass, normals, grips, tangents, .. } = scratch;
    let (piece, segments) = (run.piece, run.segments.clone());
    let square = dt * dt;
    let [first, last] = run.ends();
    let answer = |v: usize, direction: DVec3| -> DVec3 {
        if (v == first || v == last)
            && let Some(grip) = grips.at(v)
        {
            return grip.answer * direction * square;
        }
        (direction - normals[v] * normals[v].dot(direction)) * (inverse_mass[v] * square)
    };

    // Forward: errors, and elimination of the lower diagonal.
    let mut worst: f64 = 0.0;
    let mut left = answer(first, along[segments.start]);
    let (mut upper_before, mut step_before) = (0.0, 0.0);
    for s in segments.clone() {
        let v = s + piece;
        let edge = next[v + 1] - next[v];
        let length = edge.length();
        let tangent = if length > 1e-12 { edge / length } else { along[s] };
        tangents[s] = tangent;
        let curve = model.tensile_curve(s);
        let tension = state.tensions[s];
        let (strain, slope) = curve.strain(tension / model.areas[s], state.plastic_strains[s]);
        let gap = length - model.lengths[s] * (1.0 + strain);
        // left: answer of vertex v to this segment's pull; right: that of vertex v + 1.
        let right = answer(v + 1, along[s]);
        let active = tension > 0.0 || gap > 0.0;
        let next_left = if s + 1 < segments.end { answer(v + 1, along[s + 1]) } else { DVec3::ZERO };
        if active {
            worst = worst.max(gap.abs() / model.lengths[s]);
            let before = if s > segments.start { tangent.dot(answer(v, along[s - 1])) } else { 0.0 };
            let compliance = model.lengths[s] * slope / model.areas[s];
            let diagonal = compliance + tangent.dot(left + right).max(0.0);
            let pivot = (diagonal - before * upper_before).max(1e-3 * diagonal);
            upper_before = tangent.dot(next_left) / pivot;
            step_before = (gap + before * step_before) / pivot;
        } else {
            (upper_before, step_before) = (0.0, 0.0);
        }
        rows[s] = [upper_before, step_before];
        left = next_left;
    }
    // Written so that a NaN goes on.
    if worst <= TOLERANCE {
        return worst;
    }

    // Backward: the steps; a cord cannot push.
    let mut step_after = 0.0;
    for s in segments.clone().rev() {
        let [upper, own] = rows[s];
        let tension = (state.tensions[s] + own + upper * step_after).max(0.0);
        step_after = tension - state.tensions[s];
        state.tensions[s] = tension;
        steps[s] = step_after;
    }
    for s in segments {
        let v = s + piece;
        let step = steps[s];
        if step != 0.0 {
            if v != first || grips.at(v).is_none() {
                next[v] += answer(v, along[s]) * step;
            }
            if v + 1 != last || grips.at(v + 1).is_none() {
                next[v + 1] -= answer(v + 1, along[s]) * step;
            }
        }
    }
    worst
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
