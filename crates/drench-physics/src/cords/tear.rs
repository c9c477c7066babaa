//! Tearing, by pull and by twist.
//!
//! The most overloaded segment of a run, and the most overloaded joint of a piece, give way, one a substep: what tears takes the load off the others. A
//! segment that is overloaded tears off at the joint on its weaker side, if possible not at a clamp; where there is no such joint its clamp
//! loses it. See [`super::CordState`] for what a tear does to the arrays.

use super::clamp::Grips;
use super::model::CordModel;
use super::state::{CordScratch, CordState, Tally};
use super::twist;

/// Tears what cannot bear its load.
pub(super) fn tear(model: &CordModel, state: &mut CordState, scratch: &CordScratch, tally: &mut Tally) {
    // From the last to the first, so that vertices still to be looked at keep their index.
    for run in scratch.runs.iter().rev() {
        let worst = most(run.segments.clone(), |s| pull_utilisation(model, state, run.piece, s));
        if let Some(segment) = worst {
            tear_segment(model, state, &scratch.grips, run.piece, segment);
            tally.torn_by_pull += 1;
        }
    }
    if model.material.torsion.is_some_and(|torsion| torsion.curve.rupture.is_finite()) {
        for piece in (0..state.piece_count()).rev() {
            let segments = state.segments(piece);
            if let Some(joint) = most(segments.start + 1..segments.end, |s| twist::utilisation(model, state, s)) {
                part(state, piece, joint);
                tally.torn_by_twist += 1;
            }
        }
    }
}

/// The index with the largest utilisation, if that is 1 or more.
fn most(range: std::ops::Range<usize>, utilisation: impl Fn(usize) -> f64) -> Option<usize> {
    let mut worst = (1.0, None);
    for s in range {
        let used = utilisation(s);
        if used >= worst.0 && (worst.1.is_none() || used > worst.0) {
            worst = (used, Some(s));
        }
    }
    worst.1
}

/// Stress of a segment over its rupture stress; where that is reached, how far its length is beyond it adds to it.
fn pull_utilisation(model: &CordModel, state: &CordState, piece: usize, s: usize) -> f64 {
    let curve = model.tensile_curve(s);
    let used = state.tensions[s] / (model.areas[s] * curve.rupture);
    // The tension is the strength up to rounding.
    if used < 1.0 - 1e-9 {
        return used;
    }
    let strain = state.positions[s + piece].distance(state.positions[s + piece + 1]) / model.lengths[s] - 1.0;
    1.0 + (strain - curve.strain(curve.rupture, state.plastic_strains[s]).0).max(0.0)
}

fn tear_segment(model: &CordModel, state: &mut CordState, grips: &Grips, piece: usize, segment: usize) {
    let segments = state.segments(piece);
    let (first, last) = (segment == segments.start, segment + 1 == segments.end);
    let held = |v: usize| grips.of_vertex[v] != 0;
    let ends = [segment + piece, segment + piece + 1];
    let free = [!first && !held(ends[0]), !last && !held(ends[1])];
    let used = |s: usize| pull_utilisation(model, state, piece, s);
    match free {
        [true, true] if used(segment - 1) >= used(segment + 1) => part(state, piece, segment),
        [true, false] => part(state, piece, segment),
        [_, true] => part(state, piece, segment + 1),
        // Between clamps, or between a clamp and an end: it slips out of one.
        [false, false] => {
            let at_end = held(ends[1]);
            let vertex = state.model_vertex(piece, ends[usize::from(at_end)]);
            state.lost[vertex] |= if at_end { 1 } else { 2 };
            if at_end && !last {
                part(state, piece, segment + 1);
            } else if !at_end && !first {
                part(state, piece, segment);
            }
        }
    }
    state.tensions[segment] = 0.0;
}

/// Parts a piece at the joint before a segment.
fn part(state: &mut CordState, piece: usize, segment: usize) {
    let vertex = segment + piece;
    state.positions.insert(vertex, state.positions[vertex]);
    state.velocities.insert(vertex, state.velocities[vertex]);
    state.offsets.insert(piece + 1, vertex as u32 + 1);
    state.offsets[piece + 2..].iter_mut().for_each(|offset| *offset += 1);
    state.cords.insert(piece + 1, state.cords[piece]);
    state.reference_twists[segment] = 0.0;
    state.rest_twists[segment] = 0.0;
    state.twist_flows[segment] = 0.0;
    state.torques[segment] = 0.0;
}
