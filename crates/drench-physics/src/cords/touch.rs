//! Contact of cords with solids, and what it gives to the bodies they belong to.
//!
//! Vertices are moved out of solids and held back by friction as those of all strands are; then segments are, see [`super::lean`]. Where a vertex lies on a solid,
//! lengths are then solved again with its normal closed to it, or with the vertex fixed where friction holds it, so that the tension is
//! that of a cord on the solid. The impulse of the contact is what is left of the vertex's change of momentum when tension is taken off;
//! its opposite goes to the body.

use super::Surroundings;
use super::clamp::{Bodies, Grips};
use super::lean::{self, Near};
use super::model::CordModel;
use super::predict::net_tension;
use super::press::RECOVERY;
use super::state::{CordScratch, CordState, Tally};
use crate::collision::segments::length;
use crate::contact::{self, Collider};
use glam::DVec3;

/// Lower bounds of the distance of a vertex to every solid [m].
#[derive(Clone, Debug, Default)]
pub(crate) struct Clearances {
    /// Of any, if they are not known one by one.
    all: f64,
    each: Vec<f64>,
}

impl Clearances {
    fn forget(&mut self, all: f64) {
        self.all = all;
        self.each.clear();
    }

    fn of(&self, collider: usize) -> f64 {
        self.each.get(collider).copied().unwrap_or(self.all)
    }
}

/// Moves vertices and segments out of solids; true if any touches one. In the last round contacts are counted.
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
    let CordScratch { next, free, inverse_mass, normals, touched, planes, pushed, grips, near, clearances, .. } =
        scratch;
    let [before, here] = clearances;
    let mut any = false;
    for piece in 0..state.piece_count() {
        let (vertices, segments) = (state.vertices(piece), state.segments(piece));
        let reach: f64 = model.lengths[segments.clone()].iter().sum();
        // A distance changes by at most the way walked: most vertices need no look.
        let (mut clear, carried) = contact::clearance(colliders, next[vertices.start], 1.5 * reach);
        let mut moved = 0.0;
        for v in vertices.clone() {
            std::mem::swap(before, here);
            let span = if v > vertices.start { length(next[v] - next[v - 1]) } else { 0.0 };
            clear -= span;
            tally.contacts += u64::from(last && normals[v] != DVec3::ZERO);
            let (start, target) = (state.positions[v], next[v]);
            let keep = model.radii[(v - piece).min(segments.end - 1)] + model.material.margin;
            let moved_before = std::mem::replace(&mut moved, length(target - start));
            let within = keep + carried + moved.max(moved_before);
            here.forget(clear);
            if clear > within {
                continue;
            }
            if grips.at(v).is_some() {
                clear = contact::clearance(colliders, target, 0.0).0;
                here.forget(clear);
                if v > vertices.start {
                    let segment = Near { piece, vertex: v - 1, within, lies_on: None, collider: 0 };
                    look_between(model, grips, colliders, [before, here], span, segment, near);
                }
                continue;
            }
            // Solids that are not looked at are no closer than was known.
            here.each.resize(colliders.len(), clear);
            let mut met: Option<(usize, bool)> = None;
            let known = std::mem::replace(&mut clear, f64::INFINITY);
            // Twice, because one solid may push a vertex into another.
            for _ in 0..2 {
                let mut again = false;
                for (index, collider) in colliders.iter().enumerate() {
                    if grips.comes_out(model, [piece, v], collider.body()) {
                        clear = clear.min(known);
                        continue;
                    }
                    let touch = contact::resolve(std::slice::from_ref(collider), start, next[v], keep, None);
                    clear = clear.min(touch.clearance);
                    here.each[index] = touch.clearance;
                    if touch.contact {
                        again = met.is_none() && colliders.len() > 1;
                        let way = let_out(collider, start, touch.position - next[v], keep, around.dt);
                        next[v] += way;
                        normals[v] = touch.normal;
                        met = Some((index, touch.stuck));
                        if last {
                            tally.penetration_max = tally.penetration_max.max(touch.penetration);
                        }
                    }
                }
                if !again {
                    break;
                }
            }
            if let Some((index, stuck)) = met {
                any = true;
                planes[v] = normals[v].dot(next[v]);
                touched[v] = index as u32 + 1;
                // Where friction holds a vertex it stays; elsewhere it has been shifted.
                if stuck {
                    pushed[v] = next[v] - free[v];
                    inverse_mass[v] = 0.0;
                } else {
                    pushed[v] += next[v] - target;
                }
            }
            if v > vertices.start {
                let span = length(next[v] - next[v - 1]);
                let segment = Near { piece, vertex: v - 1, within, lies_on: lies_on(touched, v - 1), collider: 0 };
                look_between(model, grips, colliders, [before, here], span, segment, near);
            }
        }
    }
    lean::lean(model, state, scratch, around, last, tally) || any
}

/// The way that a point of a cord goes out of a solid, given where it was and the way that takes it out at once. One that has been inside before, because the cord came out of the body there
/// or other bodies hold it there, is let out in [`RECOVERY`]: at once it would be shot out.
pub(super) fn let_out(collider: &Collider, start: DVec3, way: DVec3, keep: f64, dt: f64) -> DVec3 {
    let far = length(way);
    if far <= keep {
        return way;
    }
    let inside = (keep - collider.meet(start, 0.0).0).max(0.0);
    way * ((far - inside * (1.0 - dt / RECOVERY).max(0.0)) / far).max(0.0)
}

/// The solid that both ends of the segment after a vertex lie on.
fn lies_on(touched: &[u32], vertex: usize) -> Option<usize> {
    (touched[vertex] == touched[vertex + 1]).then_some(touched[vertex] as usize)?.checked_sub(1)
}

/// Notes which solids may touch a segment that is `span` long, of vertices with these clearances: a distance changes by at most the way walked.
fn look_between(
    model: &CordModel,
    grips: &Grips,
    colliders: &[Collider],
    [before, here]: [&Clearances; 2],
    span: f64,
    segment: Near,
    near: &mut Vec<Near>,
) {
    let holders = [segment.vertex, segment.vertex + 1].map(|v| grips.at(v));
    // Bodies are pulled by tension alone while lengths are solved.
    if holders.iter().flatten().any(|grip| grip.inertia.is_some()) {
        return;
    }
    for (index, collider) in colliders.iter().enumerate() {
        let close =
            segment.lies_on != Some(index) && 0.5 * (before.of(index) + here.of(index) - span) <= segment.within;
        let comes_out = || {
            let body = collider.body();
            let ends = [0, 1].map(|end| grips.comes_out(model, [segment.piece, segment.vertex + end], body));
            // An end that may lie in the body that holds the cord is not to be pushed out of it with its segment: the next one could not be as long as that, and would tear.
            holders.iter().flatten().any(|grip| grip.body == body)
                || ends[0] && ends[1]
                || body.is_some() && (ends[0] || ends[1])
        };
        if close && !comes_out() {
            near.push(Near { collider: index, ..segment });
        }
    }
}

/// Gives the bodies what vertices and segments on them got.
pub(super) fn react(state: &CordState, scratch: &mut CordScratch, around: &Surroundings, bodies: &mut Bodies) {
    lean::react(scratch, bodies);
    let CordScratch { next, free, mass, tangents, touched, forces, .. } = scratch;
    let (dt, colliders) = (around.dt, around.environment.colliders);
    for piece in 0..state.piece_count() {
        for v in state.vertices(piece) {
            let solid = (touched[v] as usize).checked_sub(1).and_then(|index| colliders[index].body());
            let Some(body) = solid.filter(|body| *body < bodies.states.len()) else { continue };
            let pull = net_tension(&state.tensions, tangents, state.segments(piece), v - piece);
            let impulse = (next[v] - free[v]) * (mass[v] / dt) - pull * dt - forces[v];
            bodies.push(body, -impulse, next[v]);
        }
    }
}
