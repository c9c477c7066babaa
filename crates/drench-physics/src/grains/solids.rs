//! Grains on solids: which are near, and where they touch.
//!
//! A distance field knows the nearest face only. In a corner a grain touches two or three: further ones are found by
//! looking again from a radius off the faces that are known, and corrected for that step as if they were planes.

use super::state::{GrainScratch, GrainState, Touch};
use crate::contact::Collider;
use crate::rigid::BodyState;
use glam::{DQuat, DVec3};
use rayon::prelude::*;

/// Faces of one solid that a grain can touch at once.
pub(crate) const FACES: usize = 3;
/// Normals closer than this belong to one face.
const SAME_FACE: f64 = 0.9;
/// Grains that are looked at in one piece.
const PIECE: usize = 2048;

/// A solid during one solve: a collider, and the rigid body that carries it.
#[derive(Clone, Copy)]
pub(crate) struct Solid<'a> {
    pub collider: &'a Collider<'a>,
    pub body: Option<usize>,
}

impl Solid<'_> {
    /// Whether contacts with it change although the grain rests.
    pub fn moves(&self) -> bool {
        self.body.is_some() || self.collider.moves()
    }
}

/// Where a rigid body has come to during the solve. The body itself is moved later, by who owns it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carrier {
    start: DVec3,
    pub centre: DVec3,
    turned: DQuat,
    /// What gravity has added to the velocity since the solve began, and will be booked by the owner [m/s].
    fall: DVec3,
}

impl Carrier {
    pub fn new(body: &BodyState) -> Self {
        Self { start: body.centre, centre: body.centre, turned: DQuat::IDENTITY, fall: DVec3::ZERO }
    }

    pub fn advance(&mut self, body: &BodyState, gravity: DVec3, h: f64) {
        if body.inverse_mass > 0.0 {
            self.fall += gravity * h;
        }
        self.centre += (body.velocity + self.fall) * h;
        self.turned = (DQuat::from_scaled_axis(body.spin * h) * self.turned).normalize();
    }

    fn back(&self, point: DVec3) -> DVec3 {
        self.start + self.turned.inverse() * (point - self.centre)
    }

    /// Velocity of the body's matter at a point [m/s].
    pub fn velocity_at(&self, body: &BodyState, point: DVec3) -> DVec3 {
        body.velocity + self.fall + body.spin.cross(point - self.centre)
    }

    /// A point as the body's own state, which has not moved yet, sees it.
    pub fn seen(&self, point: DVec3) -> DVec3 {
        point - self.centre + self.start
    }
}

/// A place where a ball may touch a solid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Face {
    /// Signed distance of the centre [m].
    pub distance: f64,
    /// Out of the solid.
    pub normal: DVec3,
}

/// The face with this number that a ball is near, after part `done` of the substep.
pub(crate) fn face(
    solid: &Solid,
    carrier: Option<&Carrier>,
    centre: DVec3,
    radius: f64,
    number: u32,
    done: f64,
) -> Option<Face> {
    let look = |point: DVec3| match carrier {
        Some(carrier) => {
            let (distance, normal) = solid.collider.meet(carrier.back(point), 1.0);
            (distance, carrier.turned * normal)
        }
        None => solid.collider.meet(point, done),
    };
    let (distance, normal) = look(centre);
    let mut faces = [Face { distance, normal }; FACES];
    let mut away = DVec3::ZERO;
    for n in 1..=number.min(FACES as u32 - 1) as usize {
        away += faces[n - 1].normal * radius;
        let (distance, normal) = look(centre + away);
        if faces[..n].iter().any(|known| known.normal.dot(normal) > SAME_FACE) {
            return None;
        }
        faces[n] = Face { distance: distance - away.dot(normal), normal };
    }
    Some(faces[number.min(FACES as u32 - 1) as usize])
}

/// Lists the grains near solids anew; what contacts remember is carried over. `reach` covers how far grains may move
/// before the next call, `dt` is how long solids move. Notes how far from each face a grain's centre is at
/// least while it is where it was when neighbours were searched: it comes closer by no more than it moves.
pub(crate) fn list(
    state: &mut GrainState,
    scratch: &mut GrainScratch,
    solids: &[Solid],
    bodies: &[BodyState],
    reach: f64,
    dt: f64,
) {
    let (positions, radii, old, origins) = (&state.positions, &state.radii, &state.touches, &state.origins);
    let pieces: Vec<Vec<(Touch, f64)>> = (0..state.positions.len().div_ceil(PIECE))
        .into_par_iter()
        .map(|piece| {
            let grains = piece * PIECE..((piece + 1) * PIECE).min(positions.len());
            let mut known = old.partition_point(|touch| (touch.grain as usize) < grains.start);
            let mut found = Vec::new();
            for i in grains {
                for (s, solid) in solids.iter().enumerate() {
                    let moved = match solid.body {
                        // Twice the way it would go by itself: grains may push it on.
                        Some(body) => 2.0 * bodies[body].velocity_at(positions[i]).length() * dt,
                        None => solid.collider.carried(positions[i]).length(),
                    };
                    let limit = radii[i] + reach + 1.5 * moved;
                    for number in 0..FACES as u32 {
                        let near = face(solid, None, positions[i], radii[i], number, 1.0);
                        let Some(near) = near.filter(|near| near.distance < limit) else { break };
                        let mut touch = Touch { grain: i as u32, solid: s as u32, face: number, ..Touch::default() };
                        while known < old.len() && old[known].key() < touch.key() {
                            known += 1;
                        }
                        if known < old.len() && old[known].key() == touch.key() {
                            touch = old[known];
                        }
                        // Further faces of curved solids may come closer faster, and so do solids that move.
                        let steady = number == 0 && !solid.moves();
                        let moved = (positions[i] - origins[i]).length_squared().sqrt();
                        found.push((touch, if steady { near.distance - moved } else { f64::NEG_INFINITY }));
                    }
                }
            }
            found
        })
        .collect();
    state.solids = solids.len() as u32;
    state.touches.clear();
    scratch.clear.clear();
    for (touch, distance) in pieces.into_iter().flatten() {
        state.touches.push(touch);
        scratch.clear.push(distance);
    }
    scratch.cleared = (state.listings, state.touches.len());
}
