//! Grains on solids: which are near, and where they touch.
//!
//! A distance field knows the nearest face only. In a corner a grain touches two or three: further ones are found by
//! looking again from a radius off the faces that are known. What is seen from there need not be what the grain would touch: from it the skin is followed to where it is
//! nearest to the grain. So no grain touches what is not within its radius, and two faces are where they are whichever of them is nearer.

use super::state::{GrainScratch, GrainState, Touch};
use crate::contact::Collider;
use crate::rigid::BodyState;
use glam::{DQuat, DVec3};
use rayon::prelude::*;

/// Faces of one solid that a grain can touch at once.
pub(crate) const FACES: usize = 3;
/// Normals closer than this belong to one face, and those up to this to two.
const SAME_FACE: f64 = 0.9;
const OTHER_FACE: f64 = 0.7;
/// Rounds in which the place of a further face is looked for, how far above the skin and how exactly [radii].
const ROUNDS: usize = 3;
const LIFT: f64 = 0.5;
const SETTLED: f64 = 1e-3;
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
    /// How much of it is a face of its own, 0 to 1.
    pub share: f64,
}

/// A ball that asks for faces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ball {
    pub centre: DVec3,
    pub radius: f64,
    /// How far from its centre faces are to be exact [m].
    pub reach: f64,
}

/// The faces that a ball is near, at most `most`, the nearest first, after part `done` of the substep.
pub(crate) fn faces(
    solid: &Solid,
    carrier: Option<&Carrier>,
    ball: Ball,
    most: usize,
    done: f64,
) -> ([Face; FACES], usize) {
    let Ball { centre, radius, reach } = ball;
    let look = |point: DVec3, reach: f64| match carrier {
        Some(carrier) => {
            let (distance, normal) = solid.collider.meet_large(carrier.back(point), reach, 1.0);
            (distance, carrier.turned * normal)
        }
        None => solid.collider.meet_large(point, reach, done),
    };
    let (distance, normal) = look(centre, reach);
    let mut faces = [Face { distance, normal, share: 1.0 }; FACES];
    let mut away = DVec3::ZERO;
    for n in 1..most.min(FACES) {
        // None is nearer than the nearest.
        if distance > reach {
            return (faces, n);
        }
        away += faces[n - 1].normal * radius;
        let (beyond, normal) = look(centre + away, reach + away.length());
        let mut further = Face { distance: beyond - away.dot(normal), normal, share: 1.0 };
        // A ball whose centre is inside has planes to get out by, and no skin within its radius.
        if distance > 0.0 {
            let lever = centre - settle(centre, centre + away - normal * beyond, normal, radius, |p| look(p, reach));
            further = Face { distance: lever.length(), normal: lever.normalize_or(normal), share: 1.0 };
        }
        let same = faces[..n].iter().map(|known| known.normal.dot(further.normal)).fold(-1.0, f64::max);
        if same > SAME_FACE {
            return (faces, n);
        }
        // It fades where it becomes one with another.
        further.share = ((SAME_FACE - same) / (SAME_FACE - OTHER_FACE)).min(1.0);
        faces[n] = further;
    }
    (faces, most.min(FACES))
}

/// Follows the skin from a point of it, with its way outward, to where it is nearest to the centre. Each round asks for the skin below the foot of the centre on the last plane, from well above: in a hollow the foot
/// is inside.
fn settle(
    centre: DVec3,
    mut skin: DVec3,
    mut outward: DVec3,
    radius: f64,
    look: impl Fn(DVec3) -> (f64, DVec3),
) -> DVec3 {
    for _ in 0..ROUNDS {
        let foot = centre - outward * (centre - skin).dot(outward);
        let above = foot + outward * (LIFT * radius);
        let gap;
        (gap, outward) = look(above);
        let last = std::mem::replace(&mut skin, above - outward * gap);
        if skin.distance(foot).min(skin.distance(last)) < SETTLED * radius {
            break;
        }
    }
    skin
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
                    let ball = Ball { centre: positions[i], radius: radii[i], reach: limit };
                    let (near, count) = faces(solid, None, ball, FACES, 1.0);
                    for (number, near) in (0..).zip(&near[..count]).take_while(|(_, near)| near.distance < limit) {
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
