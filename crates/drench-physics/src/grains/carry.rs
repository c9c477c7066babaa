//! Which grains are carried: by a solid below them, or by a grain below them that is.
//!
//! There are pores between grains that are carried (see `wetting/pores.rs`).
//!
//! News of it goes up by one layer a step, and sinks in over some time, so that grains that bounce in a heap do not flicker. It needs no velocity: sand in a cart that
//! moves is carried as well as sand that stands still.

use super::solids::Face;
use super::{GrainModel, GrainScratch, GrainState, PIECE};
use glam::DVec3;
use rayon::prelude::*;

/// Gap, over the sum of radii, up to which one grain carries another, and over its radius, up to which a solid does.
pub(crate) const VICINITY: f64 = 0.1;
/// Sum of the cosines between the vertical and the ways up from all that carries a grain from which on they do: one below, or some that it is wedged between.
const ENOUGH: f64 = 0.5;
/// In how many times of a fall through the radius it sinks in, to the part 1 - 1 / e.
const LASTING: f64 = 5.0;
/// What [`GrainState::rested`] is for grains that have not been looked at.
pub(super) const NEW: f32 = -1.0;

/// How steeply a face of a solid goes up to a grain near it: a cosine, 0 for a wall.
pub(super) fn from_face(state: &GrainState, grain: usize, face: &Face) -> f64 {
    let near = face.distance < (1.0 + VICINITY) * state.radii[grain];
    if near { face.normal.dot(up(state)).max(0.0) } else { 0.0 }
}

/// How steeply it goes up from grain `j` to `i`, if that is near.
fn from_grain(state: &GrainState, up: DVec3, i: usize, j: usize) -> f64 {
    let (way, reach) = (state.positions[i] - state.positions[j], (1.0 + VICINITY) * (state.radii[i] + state.radii[j]));
    let square = way.length_squared();
    if square < reach * reach && way.dot(up) > 0.0 { way.dot(up) / square.sqrt() } else { 0.0 }
}

fn up(state: &GrainState) -> DVec3 {
    -state.gravity.normalize_or_zero()
}

/// Looks which grains are carried after a step of `dt` seconds; `scratch.stands` tells how steeply solids go up to them.
pub(super) fn carry(model: &GrainModel, state: &mut GrainState, scratch: &mut GrainScratch, dt: f64) {
    let up = up(state);
    if up == DVec3::ZERO {
        // Without gravity nothing sinks.
        state.carried.fill(true);
        state.rested.fill(1.0);
        return;
    }
    let news = state.rested.contains(&NEW);
    let mut carried = std::mem::take(&mut scratch.carried);
    loop {
        let (grains, near) = (&*state, &*scratch);
        let is_carried = |i: usize| {
            let mut steep = near.stands[i];
            let mut others = near.around(grains, i).filter(|&j| grains.carried[j]);
            steep >= ENOUGH
                || others.any(|j| {
                    steep += from_grain(grains, up, i, j);
                    steep >= ENOUGH
                })
        };
        (0..grains.len()).into_par_iter().with_min_len(PIECE).map(is_carried).collect_into_vec(&mut carried);
        std::mem::swap(&mut carried, &mut state.carried);
        // Of grains that are new it is known at once.
        if !news || carried == state.carried {
            break;
        }
    }
    scratch.carried = carried;
    let part = -(-dt * (state.gravity.length() / model.sizes().radius).sqrt() / LASTING).exp_m1() as f32;
    let all = state.rested.par_iter_mut().zip(state.carried.par_iter()).with_min_len(PIECE);
    all.for_each(|(rested, &carried)| {
        let now = if carried { 1.0 } else { 0.0 };
        *rested = if *rested == NEW { now } else { *rested + part * (now - *rested) };
    });
}
