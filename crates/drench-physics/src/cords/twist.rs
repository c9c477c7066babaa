//! Twist: an angle per segment against a frame that time carries along without turning it.
//!
//! Segment s has a reference direction u_s across it. When the tangent t_s moves, u_s follows by the smallest rotation; the
//! material direction stands at the angle theta_s to it. At the joint before segment s
//!
//! m_s = theta_s - theta_(s-1) + rho_s,   rho_s = angle from u_(s-1), carried over to t_s, to u_s,
//!
//! is the twist [Bergou2008; Bergou2010]: writhe appears in rho by itself, and whole turns are counted by continuity. With l_s the mean
//! length of both segments, the shear strain at the surface is gamma = r (m - m0) / l, the shear stress tau follows the torsional curve,
//! and the torque is M = (pi r^3 / 2) tau, in the elastic part G J (m - m0) / l with J = pi r^4 / 2.
//! [Rungjiratananon2012] calls M / A, that is tau r / 2, the torsional stress (4.9) and r (theta_(i-1) - theta_(i+1)), that is
//! 2 l gamma, the strain (4.11); their slope depends on the segment length, ours is the shear modulus.
//!
//! **Turning.** I (omega' - omega) = dt (M_(s+1) - M_s) with I = mass r^2 / 2 and M at the end of the substep: tridiagonal,
//! one or a few rounds of Newton's method. Before it, the turns of the step may be averaged over regions of segments as in (4.1)-(4.2), but as a mean
//! that keeps the angular momentum: (4.2) sums, (4.3)-(4.5) take increments for angles. Clamped rolls are imposed; a body
//! that holds a roll enters with its inertia about the tangent and is turned by the torque.
//!
//! **Forces.** The energy's gradient at fixed theta is M dm/dx with dm/dx_(v+1) = kb / (2 |e_s|), dm/dx_(v-1) = -kb / (2 |e_(s-1)|),
//! dm/dx_v minus both, and the curvature binormal kb (4.7). (4.6) differences the angles once more and has one sum for both sides.
//! Forces and torques together keep the angular momentum.

use super::clamp::{Bodies, turned};
use super::model::{CordModel, Joint, Torsion};
use super::state::{CordScratch, CordState, Tally};
use super::tension::Loose;
use super::{Surroundings, bend, frame, rod};
use crate::strands::lanes::{LANES, Lane, Lane3};
use glam::DVec3;
use std::f64::consts::{PI, TAU};
use std::ops::Range;

/// Rounds of Newton's method at most; one is enough where nothing yields.
const ROUNDS: usize = 6;
/// Part of a segment's length that the force of twist may move a vertex in a substep, at most.
const PUSH: f64 = 0.25;

/// Change of the angle between two references in a step up to which it is certain that no whole turn is missed [rad]: a joint that folds back
/// on itself and swings round turns them against each other by nearly twice as much as it swings.
const SURE: f64 = 0.75 * PI;

/// References of a state at rest: without twist from the first segment on.
pub(super) fn lay_references(model: &CordModel, state: &mut CordState) {
    for piece in 0..state.piece_count() {
        let mut last = None;
        for s in state.segments(piece) {
            let rest = model.rest[s] / model.lengths[s];
            let tangent = frame::unit_or(state.positions[s + piece + 1] - state.positions[s + piece], rest);
            let (from, reference) = last.unwrap_or((rest, model.references[s]));
            state.references[s] = frame::transport(reference, from, tangent);
            state.tangents[s] = tangent;
            last = Some((tangent, state.references[s]));
        }
    }
}

/// Adds the forces of the torques at the beginning of the substep, and books what they turn each piece by.
pub(super) fn add_forces(model: &CordModel, state: &CordState, scratch: &mut CordScratch, dt: f64) {
    let CordScratch { forces, before, spans, mass, owed, .. } = scratch;
    owed.clear();
    owed.resize(state.piece_count(), DVec3::ZERO);
    if model.material.torsion.is_none() {
        return;
    }
    for (piece, owed) in owed.iter_mut().enumerate() {
        let segments = state.segments(piece);
        for s in segments.start + 1..segments.end {
            let torque = state.torques[s];
            if torque == 0.0 {
                continue;
            }
            let v = s + piece;
            let [a, b, c] = gradient(before[s - 1], before[s], [spans[s - 1], spans[s]]);
            // No vertex goes farther than a part of its segment, whatever the torque: all three are held back alike. What bends a rod is in the way of its mass and of its joints,
            // 6 B / l^3 for one vertex; held back by the mass alone, a loop would not close.
            let joints = model.rod().map_or(0.0, |modulus| rod::joint_stiffness(model, modulus, s));
            let stiff = 6.0 * joints * (dt / model.lengths[s]).powi(2);
            let way = |gradient: DVec3, mass: f64| gradient.length_squared() / (mass + stiff).powi(2);
            let farthest = way(a, mass[v - 1]).max(way(b, mass[v])).max(way(c, mass[v + 1]));
            let (most, step) = (PUSH * model.lengths[s], torque * dt * dt);
            let mut push = -torque;
            if step * step * farthest > most * most {
                push *= most / (step.abs() * farthest.sqrt());
            }
            for (v, gradient) in [(v - 1, a), (v, b), (v + 1, c)] {
                forces[v] += gradient * push;
                *owed -= state.positions[v].cross(gradient * (push * dt));
            }
        }
    }
}

/// Gradient of a joint's twist with respect to the three vertices around it, at fixed angles [rad/m].
fn gradient(before: DVec3, after: DVec3, lengths: [f64; 2]) -> [DVec3; 3] {
    let kb = frame::binormal(before, after);
    let (first, last) = (kb * (-0.5 / lengths[0].max(1e-9)), kb * (0.5 / lengths[1].max(1e-9)));
    [first, -(first + last), last]
}

/// Carries the references along to the end of the substep, and turns the segments.
pub(super) fn turn(
    model: &CordModel,
    state: &mut CordState,
    scratch: &mut CordScratch,
    around: &Surroundings,
    bodies: &mut Bodies,
    tally: &mut Tally,
) {
    let Some(torsion) = model.material.torsion else { return };
    for piece in 0..state.piece_count() {
        let segments = state.segments(piece);
        // `rows` and `steps` are free between the solvers: twist before the substep goes to `steps`.
        for s in segments.start + 1..segments.end {
            scratch.steps[s] = state.twist_before(s);
        }
        let kept = 1.0 / (1.0 + torsion.damping * around.dt);
        state.rates[segments.clone()].iter_mut().for_each(|rate| *rate *= kept);
        let before = angular_momentum(model, state, segments.clone());
        tally.doubtful_turns += carry(state, piece, |_, s| scratch.tangents[s]);
        spread(model, &torsion, state, scratch, segments.clone());
        impose(state, scratch, segments.clone(), bodies, around.dt);
        relax(model, &torsion, state, scratch, segments.clone(), around.dt, Some(bodies));
        scratch.owed[piece] += before - angular_momentum(model, state, segments);
        settle(model, state, piece, tally);
    }
}

/// Angular momentum of segments about their axes [kg m2/s].
fn angular_momentum(model: &CordModel, state: &CordState, segments: Range<usize>) -> DVec3 {
    segments.map(|s| state.tangents[s] * (inertia(model, s) * state.rates[s])).sum()
}

/// Gives the vertices of pieces that are free, or hang on one point of the world, what angular momentum twist owes them: what torques at the end of the substep did to
/// the segments differs from what those at its beginning did to the vertices, and segments that spin are tops, which resist being turned.
pub(super) fn settle_debts(state: &mut CordState, scratch: &CordScratch) {
    for (piece, owed) in scratch.owed.iter().enumerate().filter(|(_, owed)| **owed != DVec3::ZERO) {
        let turned_by_holders = || state.segments(piece).any(|s| scratch.grips.roll(s).is_some());
        let Some(Loose { held }) = Loose::is(state, scratch, piece).filter(|_| !turned_by_holders()) else { continue };
        let vertices = state.vertices(piece);
        let (positions, masses) = (&state.positions[vertices.clone()], &scratch.mass[vertices.clone()]);
        let about = held.map_or_else(|| bend::centre(positions, masses), |(v, _)| state.positions[v]);
        let turn = bend::rotation_of(positions, masses, about, *owed);
        if turn.is_finite() {
            vertices.for_each(|v| state.velocities[v] += turn.cross(state.positions[v] - about));
        }
    }
}

/// Carries references, and the angles between them, to the tangents of a piece; how many of these angles change by more than [`SURE`].
fn carry(state: &mut CordState, piece: usize, tangent: impl Fn(&CordState, usize) -> DVec3) -> u64 {
    let segments = state.segments(piece);
    // Four neighbours at a time; the last one is repeated.
    let four = |first: usize| std::array::from_fn(|lane| (first + lane).min(segments.end - 1));
    let kept = |first: usize| (first..segments.end).zip(0..LANES);
    for first in segments.clone().step_by(LANES) {
        let at: [usize; LANES] = four(first);
        let to = Lane3::new(at.map(|s| tangent(state, s)));
        let (references, from) = (at.map(|s| state.references[s]), at.map(|s| state.tangents[s]));
        let carried = frame::transport_four(Lane3::new(references), Lane3::new(from), to);
        for (s, lane) in kept(first) {
            state.references[s] = carried.lane(lane);
            state.tangents[s] = to.lane(lane);
        }
    }
    let (turn, mut doubtful) = (Lane::splat(TAU), 0);
    for first in (segments.start + 1..segments.end).step_by(LANES) {
        let at: [usize; LANES] = four(first);
        let [reference, to] = [&state.references, &state.tangents].map(|of| Lane3::new(at.map(|s| of[s])));
        let [before, from] = [&state.references, &state.tangents].map(|of| Lane3::new(at.map(|s| of[s - 1])));
        let raw = frame::angle_four(before, from, reference, to);
        // Whole turns are those of the angle before.
        let last = Lane::new(at.map(|s| state.reference_twists[s]));
        let angle = ((last - raw) / turn).round().mul_add(turn, raw);
        let far = (angle - last).abs().simd_gt(Lane::splat(SURE)).to_bitmask();
        for (s, lane) in kept(first) {
            state.reference_twists[s] = angle.as_array()[lane];
            doubtful += u64::from(far >> lane & 1);
        }
    }
    doubtful
}

/// Takes the twist along to where something else than the cord's own step, such as a collision, has moved the vertices at the end of it, and turns the segments as they would have
/// if the step had ended there. Torques of where the cord is not would drive it into what it touches, time and again. What bodies hold stays as the step has turned
/// them. Returns how many joints folded so fast that a turn may be lost.
pub fn follow(model: &CordModel, state: &mut CordState, scratch: &mut CordScratch, dt: f64) -> u64 {
    let Some(torsion) = model.material.torsion else { return 0 };
    let mut tally = Tally::default();
    for piece in 0..state.piece_count() {
        let segments = state.segments(piece);
        for s in segments.clone() {
            let edge = state.positions[s + piece + 1] - state.positions[s + piece];
            scratch.tangents[s] = frame::unit_or(edge, state.tangents[s]);
        }
        if scratch.tangents[segments.clone()] == state.tangents[segments.clone()] {
            continue;
        }
        tally.doubtful_turns += carry(state, piece, |_, s| scratch.tangents[s]);
        for s in segments.clone().filter(|s| scratch.grips.roll(*s).is_none()) {
            state.angles[s] -= scratch.turns[s];
            state.rates[s] -= scratch.turns[s] / dt;
        }
        relax(model, &torsion, state, scratch, segments, dt, None);
        settle(model, state, piece, &mut tally);
    }
    tally.doubtful_turns
}

/// Inertia of a segment about its axis [kg m2].
#[inline]
fn inertia(model: &CordModel, s: usize) -> f64 {
    0.5 * model.masses[s] * model.radii[s].powi(2)
}

/// Averages rates over regions.
fn spread(
    model: &CordModel,
    torsion: &Torsion,
    state: &mut CordState,
    scratch: &mut CordScratch,
    segments: Range<usize>,
) {
    if torsion.half_width <= 0.0 {
        return;
    }
    let whole = (torsion.half_width.floor() as usize).min(segments.len());
    let part = if whole < segments.len() { torsion.half_width - torsion.half_width.floor() } else { 0.0 };
    let rates = &mut state.rates[segments.clone()];
    let CordScratch { sums, means, averages, .. } = scratch;
    averages.clear();
    averages.resize(rates.len(), 0.0);
    for (half_width, weight) in [(whole, 1.0 - part), (whole + 1, part)] {
        if weight > 0.0 {
            average(|i| inertia(model, segments.start + i), rates, half_width, weight, (sums, means), averages);
        }
    }
    rates.copy_from_slice(averages);
}

/// Adds `weight` times the mean over regions of a half-width [Rungjiratananon2012, eqs. 4.1 and 4.2, the latter as a mean]; a segment counts in
/// each region with its inertia over the number of regions that hold it, so that angular momentum is kept. Running sums: the cost does
/// not depend on the width.
fn average(
    inertia: impl Fn(usize) -> f64,
    rates: &[f64],
    half_width: usize,
    weight: f64,
    (sums, means): (&mut Vec<[f64; 2]>, &mut Vec<f64>),
    averages: &mut [f64],
) {
    let count = rates.len();
    let region = |k: usize| k.saturating_sub(half_width)..(k + half_width + 1).min(count);
    // Inertia and angular momentum of all segments before each.
    sums.clear();
    let mut sum = [0.0; 2];
    for (i, rate) in rates.iter().enumerate() {
        sums.push(sum);
        let share = inertia(i) / region(i).len() as f64;
        sum = [sum[0] + share, sum[1] + share * rate];
    }
    sums.push(sum);
    // Means of all regions before each.
    means.clear();
    let mut sum = 0.0;
    for k in 0..count {
        means.push(sum);
        let (from, to) = (sums[region(k).start], sums[region(k).end]);
        sum += (to[1] - from[1]) / (to[0] - from[0]);
    }
    means.push(sum);
    for (i, average) in averages.iter_mut().enumerate() {
        // A segment lies in the regions whose centres lie in its own.
        let centres = region(i);
        *average += weight * (means[centres.end] - means[centres.start]) / centres.len() as f64;
    }
}

/// Angles at the end of the substep before torques act; held segments stand where their holders turn them.
fn impose(state: &mut CordState, scratch: &mut CordScratch, segments: Range<usize>, bodies: &Bodies, dt: f64) {
    for s in segments {
        let mut angle = state.angles[s] + dt * state.rates[s];
        if let Some(roll) = scratch.grips.roll(s) {
            let frame = match roll.body {
                None => roll.frame,
                Some(index) => turned(&bodies.states[index], dt) * roll.frame,
            };
            let tangent = scratch.tangents[s];
            let material = frame::transport(frame * DVec3::Y, frame * DVec3::X, tangent);
            angle = frame::unwrap(frame::angle(state.references[s], material, tangent), state.angles[s]);
        }
        state.rates[s] = (angle - state.angles[s]) / dt;
        state.angles[s] = angle;
    }
}

/// Solves for the angles at which inertia and torques agree; rolls that bodies hold stay as they are unless the bodies are given.
fn relax(
    model: &CordModel,
    torsion: &Torsion,
    state: &mut CordState,
    scratch: &mut CordScratch,
    segments: Range<usize>,
    dt: f64,
    mut bodies: Option<&mut Bodies>,
) {
    let CordScratch { rows, steps, grips, tangents, turns, weights, .. } = scratch;
    let friction = torsion.lag / dt;
    // Inertia over dt^2 of every segment; infinite where the roll is imposed.
    for s in segments.clone() {
        let own = inertia(model, s);
        let held = match grips.roll(s) {
            None => 0.0,
            Some(roll) => match (roll.body, &bodies) {
                (Some(index), Some(bodies)) => body_inertia(bodies, index, tangents[s]),
                _ => f64::INFINITY,
            },
        };
        weights[s] = (own + held) / (dt * dt);
        turns[s] = 0.0;
    }
    // Curve and twist of the joint before segment s, its stress, and the slope of that.
    let bear = |s: usize, state: &CordState, turns: &[f64]| {
        let curve = torsion.curve.scaled(model.stiffness[s], model.strength[s]);
        let twist = state.angles[s] + turns[s] - state.angles[s - 1] - turns[s - 1] + state.reference_twists[s]
            - state.rest_twists[s];
        (curve, twist, curve.stress(model.joints[s].strain * twist, state.twist_flows[s]))
    };
    for _ in 0..ROUNDS {
        // Torque and stiffness of a joint, then the rows of the tridiagonal system from left to right.
        let mut flows = false;
        let mut joint = |s: usize, turns: &[f64]| -> (f64, f64) {
            if s == segments.end {
                return (0.0, 0.0);
            }
            let Joint { strain, section, .. } = model.joints[s];
            let (curve, twist, (stress, slope)) = bear(s, state, turns);
            flows |= slope < curve.elastic;
            let lagging = curve.elastic * friction * strain;
            (section * (stress + lagging * (twist - steps[s])), section * (slope * strain + lagging))
        };
        let (mut torque, mut stiffness) = (0.0, 0.0);
        let (mut upper, mut own) = (0.0, 0.0);
        for s in segments.clone() {
            let (torque_after, stiffness_after) = joint(s + 1, turns);
            if weights[s].is_finite() {
                let residual = torque_after - torque - weights[s] * turns[s];
                let pivot = weights[s] + stiffness + stiffness_after - stiffness * upper;
                own = (residual + stiffness * own) / pivot;
                upper = stiffness_after / pivot;
            } else {
                (upper, own) = (0.0, 0.0);
            }
            rows[s] = [upper, own];
            (torque, stiffness) = (torque_after, stiffness_after);
        }
        let (mut after, mut largest) = (0.0, 0.0_f64);
        for s in segments.clone().rev() {
            after = rows[s][1] + rows[s][0] * after;
            turns[s] += after;
            largest = largest.max(after.abs());
        }
        if largest < 1e-10 {
            break;
        }
        // Where nothing yields, neither before nor after, one round is all.
        let flows_now = |s: usize| {
            let (curve, _, (_, slope)) = bear(s, state, turns);
            slope < curve.elastic
        };
        if !flows && !(segments.start + 1..segments.end).any(flows_now) {
            break;
        }
    }
    for s in segments {
        state.angles[s] += turns[s];
        state.rates[s] += turns[s] / dt;
        if let (Some(index), Some(bodies)) = (grips.roll(s).and_then(|roll| roll.body), &mut bodies) {
            let gained = body_inertia(bodies, index, tangents[s]) * turns[s] / dt;
            if gained.is_finite() {
                bodies.turn(index, tangents[s] * gained);
            }
        }
    }
}

/// Inertia of a body about an axis through its centre when nothing else holds it [kg m2].
fn body_inertia(bodies: &Bodies, index: usize, axis: DVec3) -> f64 {
    let answer = axis.dot(bodies.states[index].inverse_inertia * axis);
    if answer > 0.0 { 1.0 / answer } else { f64::INFINITY }
}

/// Torques as they are now, and permanent twist.
fn settle(model: &CordModel, state: &mut CordState, piece: usize, tally: &mut Tally) {
    let segments = state.segments(piece);
    for s in segments.start + 1..segments.end {
        let Some(curve) = model.torsional_curve(s) else { return };
        let Joint { strain, section, .. } = model.joints[s];
        let (stress, _) = curve.stress(strain * state.twist_before(s), state.twist_flows[s]);
        let flow = curve.flow(stress.abs(), state.twist_flows[s]);
        state.rest_twists[s] += (flow / strain).copysign(stress);
        state.twist_flows[s] += flow;
        state.torques[s] = section * stress;
        tally.torque_max = tally.torque_max.max(state.torques[s].abs());
    }
}

/// Surface shear stress of the joint before a segment over its rupture stress.
pub(super) fn utilisation(model: &CordModel, state: &CordState, s: usize) -> f64 {
    match model.torsional_curve(s) {
        Some(curve) => state.torques[s].abs() / (model.joints[s].section * curve.rupture),
        None => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averaging_keeps_angular_momentum_and_a_uniform_spin() {
        let rates: Vec<f64> = (0..37).map(|i| (f64::from(i) * 1.7).sin()).collect();
        let weights: Vec<f64> = (0..37).map(|i| 1.0 + 0.5 * (f64::from(i) * 0.9).cos()).collect();
        let total = |rates: &[f64]| rates.iter().zip(&weights).map(|(r, w)| r * w).sum::<f64>();
        for half_width in [0, 1, 3, 8, 50] {
            let (mut sums, mut means, mut averages) = (Vec::new(), Vec::new(), vec![0.0; 37]);
            average(|i| weights[i], &rates, half_width, 1.0, (&mut sums, &mut means), &mut averages);
            assert!((total(&averages) - total(&rates)).abs() < 1e-12, "{half_width}");
            let spread = |rates: &[f64]| rates.iter().map(|r| r * r).sum::<f64>();
            assert!(spread(&averages) <= spread(&rates) + 1e-12);
            let mut uniform = vec![0.0; 37];
            average(|i| weights[i], &[2.0; 37], half_width, 1.0, (&mut sums, &mut means), &mut uniform);
            assert!(uniform.iter().all(|r| (r - 2.0).abs() < 1e-12));
        }
    }

    #[test]
    fn the_gradient_of_twist_agrees_with_finite_differences() {
        // Twist of the joint when its three vertices move and both references follow in time.
        let start = [DVec3::ZERO, DVec3::new(1.0, 0.2, 0.1), DVec3::new(1.5, 0.9, -0.3)];
        let unit = |x: &[DVec3; 3], i: usize| (x[i + 1] - x[i]).normalize();
        let u = [unit(&start, 0).any_orthonormal_vector(), unit(&start, 1).any_orthonormal_vector()];
        let twist = |x: &[DVec3; 3]| {
            let carried: [DVec3; 2] = std::array::from_fn(|i| frame::transport(u[i], unit(&start, i), unit(x, i)));
            let over = frame::transport(carried[0], unit(x, 0), unit(x, 1));
            frame::angle(over, carried[1], unit(x, 1))
        };
        let lengths = [start[0].distance(start[1]), start[1].distance(start[2])];
        let exact = gradient(unit(&start, 0), unit(&start, 1), lengths);
        assert!(exact[0].length() > 0.1);
        let h = 1e-6;
        for (vertex, exact) in exact.into_iter().enumerate() {
            for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
                let (mut more, mut less) = (start, start);
                more[vertex] += axis * h;
                less[vertex] -= axis * h;
                let slope = (twist(&more) - twist(&less)) / (2.0 * h);
                assert!((slope - exact.dot(axis)).abs() < 1e-8, "{vertex} {axis}: {slope} {}", exact.dot(axis));
            }
        }
    }
}
