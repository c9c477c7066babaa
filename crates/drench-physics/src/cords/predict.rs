//! Where vertices would go: inertia, weight, air, twist, and the tension of the last step, which is most of the next one.

use super::clamp::{Bodies, Grips};
use super::law::Law;
use super::model::CordModel;
use super::state::{CordScratch, CordState};
use super::tension::{self, Run};
use super::{Surroundings, twist};
use crate::collision::segments::length;
use crate::strands::Material;
use crate::strands::forces::Forces;
use crate::strands::lanes::{LANES, Lane, Lane3};
use glam::DVec3;

/// Fills the scratch for the substep; vertices that are held are where their holders take them.
pub(super) fn predict(
    model: &CordModel,
    state: &CordState,
    scratch: &mut CordScratch,
    around: &Surroundings,
    bodies: &mut Bodies,
) {
    measure(model, state, scratch);
    scratch.forces.clear();
    scratch.forces.resize(state.positions.len(), DVec3::ZERO);
    twist::add_forces(model, state, scratch, around.dt);
    accelerate(model, state, scratch, around);
    find_runs(state, &scratch.grips, &mut scratch.runs);
    scratch.law_rows.clear();
    for run in &mut scratch.runs {
        run.stretches.lay_out(&scratch.laws, &mut scratch.law_rows);
        run.reach = run.segments.clone().map(|s| scratch.spans[s] + model.lengths[s]).sum();
    }
    carry_along(state, scratch, around, bodies);
}

/// Masses, and what segments are like.
fn measure(model: &CordModel, state: &CordState, scratch: &mut CordScratch) {
    let vertices = state.positions.len();
    let CordScratch {
        mass,
        inverse_mass,
        normals,
        touched,
        planes,
        pushed,
        leans,
        before,
        spans,
        tensions,
        laws,
        grips,
        ..
    } = scratch;
    mass.clear();
    mass.resize(vertices, 0.0);
    normals.clear();
    normals.resize(vertices, DVec3::ZERO);
    pushed.clear();
    pushed.resize(vertices, DVec3::ZERO);
    touched.clear();
    touched.resize(vertices, 0);
    planes.clear();
    planes.resize(vertices, 0.0);
    leans.clear();
    tensions.copy_from_slice(&state.tensions);
    for piece in 0..state.piece_count() {
        for s in state.segments(piece) {
            let v = s + piece;
            laws[s] = Law::of(model, state, s);
            let half = 0.5 * model.masses[s];
            mass[v] += half;
            mass[v + 1] += half;
            // Coincident vertices keep the direction that the segment has at rest.
            let edge = state.positions[v + 1] - state.positions[v];
            spans[s] = length(edge);
            before[s] = if spans[s] > 1e-9 * model.lengths[s] {
                edge * (1.0 / spans[s])
            } else {
                model.rest[s] / model.lengths[s]
            };
        }
    }
    inverse_mass.clear();
    inverse_mass.extend(mass.iter().zip(&grips.of_vertex).map(|(m, held)| if *held == 0 { 1.0 / m } else { 0.0 }));
}

/// `free` without tension; `next` without weight too, which tension mostly bears: what bending starts from.
fn accelerate(model: &CordModel, state: &CordState, scratch: &mut CordScratch, around: &Surroundings) {
    let dt = around.dt;
    let air = Material { density: model.material.density, damping: model.material.damping, ..Material::default() };
    let forces = Forces::new(around.environment, &air, dt);
    let CordScratch { free, next, mass, before, forces: others, .. } = scratch;
    let fallen = around.environment.gravity * (dt * dt);
    free.clear();
    next.clear();
    for piece in 0..state.piece_count() {
        let (vertices, segments) = (state.vertices(piece), state.segments(piece));
        for first in vertices.clone().step_by(LANES) {
            // Four neighbours at a time; the last vertex is repeated.
            let at: [usize; LANES] = std::array::from_fn(|lane| (first + lane).min(vertices.end - 1));
            let segment = |v: usize| (v - piece).min(segments.end - 1);
            let velocity = Lane3::new(at.map(|v| state.velocities[v]));
            let tangent = Lane3::new(at.map(|v| before[segment(v)]));
            let radius = Lane::new(at.map(|v| model.radii[segment(v)]));
            let wind = forces.wind_at(state.positions[first]);
            let moved = forces.velocity(velocity, tangent, radius, Lane::ONE, wind).to_array();
            for (lane, v) in (first..(first + LANES).min(vertices.end)).enumerate() {
                let pushed = moved[lane] + others[v] * (dt / mass[v]);
                let place = state.positions[v] + pushed * dt;
                free.push(place);
                next.push(place - fallen);
            }
        }
    }
}

/// Force of the tensions on the vertex before segment `after` [N].
#[inline]
pub(super) fn net_tension(
    tensions: &[f64],
    directions: &[DVec3],
    segments: std::ops::Range<usize>,
    after: usize,
) -> DVec3 {
    let mut pull = DVec3::ZERO;
    if after < segments.end {
        pull += directions[after] * tensions[after];
    }
    if after > segments.start {
        pull -= directions[after - 1] * tensions[after - 1];
    }
    pull
}

/// Cuts the pieces at what cannot move.
fn find_runs(state: &CordState, grips: &Grips, runs: &mut Vec<Run>) {
    runs.clear();
    for piece in 0..state.piece_count() {
        let segments = state.segments(piece);
        let mut first = segments.start;
        for s in segments.clone() {
            if s + 1 == segments.end || grips.at(s + piece + 1).is_some_and(|grip| grip.inertia.is_none()) {
                let row = runs.last().map_or(0, |run| run.stretches.range().end);
                runs.push(Run::new(piece, first..s + 1, row, grips));
                first = s + 1;
            }
        }
    }
}

/// Vertices on bodies give them their momentum, their load and the tension of the last step; then all that is held is put where its
/// holder takes it.
fn carry_along(state: &CordState, scratch: &mut CordScratch, around: &Surroundings, bodies: &mut Bodies) {
    let (gravity, dt) = (around.environment.gravity, around.dt);
    let runs = std::mem::take(&mut scratch.runs);
    for run in &runs {
        tension::pull(state, scratch, run, dt, bodies);
    }
    scratch.runs = runs;
    let CordScratch { grips, mass, free, next, .. } = scratch;
    for grip in &grips.vertices {
        let Some(index) = grip.body else { continue };
        let v = grip.vertex;
        let inertial = (free[v] - state.positions[v]) / dt;
        let led = (grip.end(bodies, gravity, dt) - grip.begin) / dt;
        bodies.push(index, grip.share * ((inertial - led) * mass[v]), grip.begin);
    }
    for grip in &grips.vertices {
        next[grip.vertex] = grip.end(bodies, gravity, dt);
    }
}
