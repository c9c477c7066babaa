//! Flicking: what a cord that is let go, or torn, does with the energy it had stored [Rungjiratananon2012, section 4.4.3].
//!
//! Implicit Euler takes U(x) - U(x') - U'(x') (x - x') + sum dt^2 F^2 / (2 m) from an energy U, with the forces F at the end. When tensions
//! fall from T0 to T1 in one substep that is
//!
//! D = sum (T0 - T1)^2 L0 / (2 E A) + sum dt^2 F^2 / (2 m);
//!
//! for T1 = 0 it is all that was stored, sigma^2 / (2 E) A L0, and for a load that is taken off slowly it vanishes. Flicking gives D back as motion along the way by which the
//! run has shortened, p: from its held end, or from its centre if both ends are free (without momentum or angular momentum). The
//! factor f of p solves sum m (v + f p)^2 / 2 = sum m v^2 / 2 + D: no energy is made. In a long free run this is the speed
//! sigma / sqrt(rho E) of an unloading wave, up to the shape of p.
//!
//! Tension falls suddenly in cords that swing, too. A run that moves against p with more energy than D is not let go.
//!
//! Without flicking, the motion along p that the shortening itself made is taken away: the cord just falls.

use super::bend::without_momentum;
use super::clamp::Bodies;
use super::model::CordModel;
use super::predict::net_tension;
use super::state::{CordScratch, CordState, Tally};
use super::tension::Run;
use glam::DVec3;

/// Part of the tension that is left after a substep, at most, if it is let go and not just eased.
const SUDDEN: f64 = 0.9;

/// Flings back the runs that have been let go in this substep.
pub(super) fn flick(
    model: &CordModel,
    state: &mut CordState,
    scratch: &mut CordScratch,
    dt: f64,
    bodies: &mut Bodies,
    tally: &mut Tally,
) {
    let runs = std::mem::take(&mut scratch.runs);
    for whole in &runs {
        // Bodies are heavy: they part a run here.
        let mut first = whole.segments.start;
        for s in whole.segments.clone() {
            if s + 1 == whole.segments.end || scratch.grips.at(s + whole.piece + 1).is_some() {
                let run = Run::new(whole.piece, first..s + 1, 0, &scratch.grips);
                fling(model, state, scratch, &run, dt, bodies, tally);
                first = s + 1;
            }
        }
    }
    scratch.runs = runs;
}

/// Flings back a run if it has been let go.
fn fling(
    model: &CordModel,
    state: &mut CordState,
    scratch: &mut CordScratch,
    run: &Run,
    dt: f64,
    bodies: &mut Bodies,
    tally: &mut Tally,
) {
    let held = run.ends().map(|v| scratch.grips.at(v).is_some());
    if held == [true, true] {
        return;
    }
    let [mut energy, stored] = shorten(model, state, scratch, run, held[1]);
    if energy <= 0.0 {
        return;
    }
    let segments = state.segments(run.piece);
    for v in run.ends()[0]..=run.ends()[1] {
        if scratch.grips.at(v).is_none() && !scratch.touches(v) {
            let force = net_tension(&state.tensions, &scratch.tangents, segments.clone(), v - run.piece);
            energy += 0.5 * dt * dt * force.length_squared() / scratch.mass[v];
        }
    }
    energy = energy.min(stored);
    let [first, last] = run.ends();
    let way = &mut scratch.forces[first..=last];
    if held == [false, false] {
        without_momentum(&state.positions[first..=last], &scratch.mass[first..=last], None, way);
    }
    let (mut a, mut b) = (0.0, 0.0);
    for (v, p) in (first..=last).zip(way.iter()) {
        a += scratch.mass[v] * p.length_squared();
        b += scratch.mass[v] * p.dot(state.velocities[v]);
    }
    if !(a > 0.0 && a.is_finite() && b.is_finite() && energy.is_finite()) {
        return;
    }
    let factor = if model.material.flick {
        // What goes on stretching with more energy than it has lost is not let go: tension also falls where a whip runs through a cord.
        if b < 0.0 && b * b > 2.0 * a * energy {
            return;
        }
        tally.flicked += energy;
        ((b * b + 2.0 * a * energy).sqrt() - b) / a
    } else {
        -(b / a).clamp(0.0, 1.0 / dt)
    };
    let mut gained = DVec3::ZERO;
    for (v, p) in (first..=last).zip(way.iter()) {
        state.velocities[v] += *p * factor;
        gained += *p * (factor * scratch.mass[v]);
    }
    for v in run.ends() {
        if let Some(grip) = scratch.grips.at(v)
            && let Some(index) = grip.body
        {
            bodies.push(index, grip.share * -gained, grip.begin);
        }
    }
}

/// The way p that each vertex of a run has gone because segments were let go, in `forces` of the scratch, counted from the first vertex or
/// from the last if that is held; returns the first part of the energy D, and all that was stored.
fn shorten(model: &CordModel, state: &CordState, scratch: &mut CordScratch, run: &Run, from_last: bool) -> [f64; 2] {
    let (mut energy, mut stored) = (0.0, 0.0);
    let (mut gone, mut total) = (DVec3::ZERO, DVec3::ZERO);
    let [first, last] = run.ends();
    scratch.forces[first] = DVec3::ZERO;
    for s in run.segments.clone() {
        // No more can have been stored than at rupture.
        let most = model.tensile_curve(s).rupture * model.areas[s];
        let (before, now) = (scratch.tensions[s].min(most), state.tensions[s].min(most));
        if now < SUDDEN * before {
            let drop = before - now;
            let compliance = model.lengths[s] / (model.tensile_curve(s).elastic * model.areas[s]);
            energy += 0.5 * drop * drop * compliance;
            stored += 0.5 * (before * before - now * now) * compliance;
            gone -= scratch.tangents[s] * (drop * compliance);
        }
        scratch.forces[s + run.piece + 1] = gone;
    }
    if from_last {
        total = gone;
    }
    scratch.forces[first..=last].iter_mut().for_each(|way| *way -= total);
    [energy, stored]
}
