//! Nothing leaks: after every step no particle is inside a solid, or beyond one that it went through.
//!
//! Pressure from the samples of solids keeps liquid out in all but violent moments. The guard is for those. It looks at every step, not
//! only at the end of a substep: behind the samples pressure drives a particle on through the solid, and in a corner it may be let out
//! of one wall into the next. The way of a particle over the step is traced through the distance fields, as the solid sees it; where it
//! enters, the tangent plane of that point bounds it. What would end closer than `keep` is put at that distance and loses the velocity
//! with which it went in; the solid gets that momentum. This is repeated until the particle is clear of all solids; if it cannot be, in
//! a pinch, it stays where it was. So a particle that begins outside of solids that do not move ends outside, whatever happens.
//!
//! Where a rigid body is the solid, all that meet it in a step share it: with Σ m w over them, w its inverse mass where and how it is hit, it gets the part 1 / (1 + Σ m w) of
//! their momentum, and they keep the rest. Each by itself they would stop a body that weighs less than they do many times over.
//!
//! A particle whose distance to the solids that stand still was `room` needs no look until it has gone as far.

use super::rows::PIECE;
use super::state::LiquidState;
use crate::contact::Collider;
use glam::DVec3;
use rayon::prelude::*;

/// Rounds in which a particle is let out of one solid after the other.
const ROUNDS: usize = 8;
/// Samples of the distance field along a path that would be too short for one.
const TRACE: f64 = 16.0;
/// Halvings of the piece of a path in which it enters a solid.
const HALVINGS: usize = 12;

/// A particle that was stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    pub particle: usize,
    pub collider: usize,
    pub position: DVec3,
    /// What the solid gets [N s].
    pub impulse: DVec3,
}

/// What a step is guarded against.
#[derive(Clone, Copy)]
pub(crate) struct Guard<'a> {
    pub colliders: &'a [Collider<'a>],
    /// Distance to solids that is kept [m].
    pub keep: f64,
    /// Length of the substep over which the colliders move [s].
    pub dt: f64,
    /// Parts of the substep that are over before and after the step.
    pub span: [f64; 2],
}

impl Guard<'_> {
    /// Stops particles that went from `starts` into solids; gives what the solids get, in the order of the particles.
    pub fn hold(&self, state: &mut LiquidState, starts: &[DVec3], room: &mut [f32]) -> Vec<Stop> {
        if self.colliders.is_empty() {
            return Vec::new();
        }
        let moving = self.colliders.iter().any(Collider::moves);
        let LiquidState { positions, velocities, masses, .. } = state;
        let pieces =
            positions.par_chunks_mut(PIECE).zip(velocities.par_chunks_mut(PIECE)).zip(room.par_chunks_mut(PIECE));
        let pieces = pieces.zip(starts.par_chunks(PIECE)).zip(masses.par_chunks(PIECE));
        let stops: Vec<Vec<Stop>> = pieces
            .enumerate()
            .map(|(piece, ((((positions, velocities), room), starts), masses))| {
                let mut stops = Vec::new();
                for k in 0..positions.len() {
                    // Rounded up, so that room is never more than there is.
                    room[k] -= 1.000_01 * (positions[k] - starts[k]).length_squared().sqrt() as f32;
                    let near = f64::from(room[k]) < self.keep;
                    if near || moving {
                        let first = stops.len();
                        self.hold_one(starts[k], &mut positions[k], &mut velocities[k], near, &mut stops);
                        for stop in &mut stops[first..] {
                            stop.particle = piece * PIECE + k;
                            stop.impulse *= masses[k];
                        }
                        let stands = self.colliders.iter().filter(|collider| !collider.moves());
                        let nearest =
                            stands.map(|collider| collider.meet(positions[k], 1.0).0).fold(f64::MAX, f64::min);
                        room[k] = 0.999_99 * nearest as f32;
                    }
                }
                stops
            })
            .collect();
        stops.concat()
    }

    /// Impulses are for the mass 1, particles not numbered yet.
    fn hold_one(&self, start: DVec3, position: &mut DVec3, velocity: &mut DVec3, near: bool, stops: &mut Vec<Stop>) {
        for _ in 0..ROUNDS {
            let mut clear = true;
            for (index, collider) in self.colliders.iter().enumerate() {
                if !near && !collider.moves() {
                    continue;
                }
                if let Some((depth, outward)) = self.enter(collider, start, *position) {
                    clear = false;
                    *position += outward * depth;
                    let approach = (*velocity - collider.displacement(*position) / self.dt).dot(outward).min(0.0);
                    *velocity -= outward * approach;
                    let impulse = outward * approach;
                    stops.push(Stop { particle: 0, collider: index, position: *position, impulse });
                }
            }
            if clear {
                return;
            }
        }
        let clearance = |point: DVec3| {
            let distances = self.colliders.iter().map(|collider| collider.meet(point, self.span[1]).0);
            distances.fold(f64::INFINITY, f64::min)
        };
        if clearance(*position) < clearance(start).min(self.keep) {
            *position = start;
        }
    }

    /// How far a particle has to be moved, and where to, so that it is not in a solid [m].
    fn enter(&self, collider: &Collider, start: DVec3, end: DVec3) -> Option<(f64, DVec3)> {
        // As the solid sees it, which stands where it will be at the end of the substep.
        let seen = |point: DVec3, done: f64| point + collider.carried(point) * (1.0 - done);
        let distance = |point: DVec3| collider.meet(point, 1.0);
        let (a, b) = (seen(start, self.span[0]), seen(end, self.span[1]));
        let length = (b - a).length();
        let (ended, outward) = distance(b);
        if ended >= self.keep && ended >= length {
            return None;
        }
        let began = distance(a).0;
        // A distance changes by at most the way walked: a path that touched the surface would be as long as both.
        if began > 0.0 && began + ended <= length {
            let direction = (b - a) / length;
            let (mut outside, mut clear, least) = (0.0, began, length / TRACE);
            while outside < length {
                let mut inside = (outside + clear.max(least)).min(length);
                clear = distance(a + direction * inside).0;
                if clear > 0.0 {
                    outside = inside;
                    continue;
                }
                for _ in 0..HALVINGS {
                    let middle = 0.5 * (outside + inside);
                    if distance(a + direction * middle).0 > 0.0 { outside = middle } else { inside = middle }
                }
                let entry = a + direction * outside;
                let normal = distance(entry).1;
                let depth = self.keep - (b - entry).dot(normal);
                if depth > 1e-9 * self.keep {
                    return Some((depth, normal));
                }
                break;
            }
        }
        // A hair less than is asked for, so that rounding does not ask again.
        (ended < 0.999 * self.keep).then_some((self.keep - ended, outward))
    }
}
