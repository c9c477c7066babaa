//! Contact of cords with solids, and what it gives to the bodies they belong to.
//!
//! Vertices are moved out of solids and held back by friction as those of all strands are. Where a vertex lies on a solid,
//! lengths are then solved again with its normal closed to it, or with the vertex fixed where friction holds it, so that the tension is
//! that of a cord on the solid. The impulse of the contact is what is left of the vertex's change of momentum when tension is taken off;
//! its opposite goes to the body.

use super::clamp::{Bodies, Grips};
use super::model::CordModel;
use super::predict::net_tension;
use super::state::{CordScratch, CordState, Tally};
use super::{Surroundings, clamp};
use crate::collision::segments::length;
use crate::contact::{self, Collider};
use glam::DVec3;

/// Moves vertices out of solids; true if any touches one. In the last round contacts are counted.
pub(super) fn touch(
    model: &CordModel,
    state: &CordState,
    scratch: &mut CordScratch,
    around: &Surroundings,
    last: bool,
    tally: &mut Tally,
) -> bool {
    let colliders = around.environment.colliders;
    if colliders.is_empty() {
        return false;
    }
    let CordScratch { next, free, inverse_mass, normals, touched, planes, pushed, grips, .. } = scratch;
    let mut any = false;
    for piece in 0..state.piece_count() {
        let (vertices, segments) = (state.vertices(piece), state.segments(piece));
        let reach: f64 = segments.clone().map(|s| clamp::natural_length(model, state, s)).sum();
        // A distance changes by at most the way walked: most vertices need no look.
        let (mut clear, carried) = contact::clearance(colliders, next[vertices.start], 1.5 * reach);
        for v in vertices.clone() {
            if v > vertices.start {
                clear -= length(next[v] - next[v - 1]);
            }
            tally.contacts += u64::from(last && normals[v] != DVec3::ZERO);
            let (start, target) = (state.positions[v], next[v]);
            let keep = model.radii[(v - piece).min(segments.end - 1)] + model.material.margin;
            if clear > keep + carried + length(target - start) {
                continue;
            }
            if grips.at(v).is_some() {
                clear = contact::clearance(colliders, target, 0.0).0;
                continue;
            }
            let mut met: Option<(&Collider, bool)> = None;
            clear = f64::INFINITY;
            // Twice, because one solid may push a vertex into another.
            for _ in 0..2 {
                let mut again = false;
                for collider in colliders.iter().filter(|collider| !beside_holder(grips, collider, v, &vertices)) {
                    let touch = contact::resolve(std::slice::from_ref(collider), start, next[v], keep, None);
                    clear = clear.min(touch.clearance);
                    if touch.contact {
                        again = met.is_none() && colliders.len() > 1;
                        next[v] = touch.position;
                        normals[v] = touch.normal;
                        met = Some((collider, touch.stuck));
                        if last {
                            tally.penetration_max = tally.penetration_max.max(touch.penetration);
                        }
                    }
                }
                if !again {
                    break;
                }
            }
            let Some((collider, stuck)) = met else { continue };
            any = true;
            planes[v] = normals[v].dot(next[v]);
            // Where friction holds a vertex it stays; elsewhere it has been shifted.
            if stuck {
                pushed[v] = next[v] - free[v];
            } else {
                pushed[v] += next[v] - target;
            }
            touched[v] = collider.body().map_or(0, |body| body as u32 + 1);
            if stuck {
                inverse_mass[v] = 0.0;
            }
        }
    }
    any
}

/// Whether the vertex lies next to one that is held by the body the collider belongs to, or by the world if it belongs to none: a cord comes out
/// of what holds it.
fn beside_holder(grips: &Grips, collider: &Collider, v: usize, vertices: &std::ops::Range<usize>) -> bool {
    let held = |v: usize| vertices.contains(&v) && grips.at(v).is_some_and(|grip| grip.body == collider.body());
    held(v + 1) || held(v.wrapping_sub(1))
}

/// Gives the bodies what vertices on them got.
pub(super) fn react(state: &CordState, scratch: &CordScratch, around: &Surroundings, bodies: &mut Bodies) {
    let CordScratch { next, free, mass, tangents, touched, .. } = scratch;
    let dt = around.dt;
    for piece in 0..state.piece_count() {
        for v in state.vertices(piece) {
            let Some(body) = (touched[v] as usize).checked_sub(1).filter(|body| *body < bodies.states.len()) else {
                continue;
            };
            let pull = net_tension(&state.tensions, tangents, state.segments(piece), v - piece);
            let impulse = (next[v] - free[v]) * (mass[v] / dt) - pull * dt;
            bodies.push(body, -impulse, next[v]);
        }
    }
}
