//! Solids between the vertices of cords: a cord is a row of capsules.
//!
//! The point p = (1 - s) x_v + s x_(v+1) of a segment that is deepest in a solid leans on it. While lengths are solved that adds
//!
//! (q - p)^T M (q - p) / 2
//!
//! to the energy, with q where the solid leaves the point, and M so large along the normal that it stays there (across it too where friction
//! holds). Of the force f = M (q - p) the ends get (1 - s) f and s f, and the solid gets its opposite at p. In the blocks of [`super::chain`] that is
//! K - s (1 - s) M between the ends, with (1 - s) M and s M beside it at each.
//!
//! Where p is, is found from tangents of the distance at both ends of a shrinking bracket: they bound a distance that is convex along the segment from below, so
//! that a segment that touches nothing, or lies on something larger than itself, is seen to after two looks. *Breaks down*: a segment with both ends on a solid is its chord, which may cut through it; of two bumps of one
//! solid the less deep one may be found; a segment with an end on a body that can move meets solids with its other end only.

use super::Surroundings;
use super::chain::Symmetric;
use super::clamp::Bodies;
use super::frame;
use super::model::CordModel;
use super::predict::net_tension;
use super::round::{FIXED, STUCK};
use super::state::{CordScratch, CordState, Tally};
use super::touch::let_out;
use crate::collision::segments::length;
use crate::contact::{self, Collider};
use glam::DVec3;

/// Looks along a segment at most, and the part of it, and of the distance to keep, within which the closest point is known well enough.
const LOOKS: u32 = 12;
const NARROW: f64 = 0.01;
/// How much closer a solid must come to a segment than to its two ends, together, over the segment's length: a ball does if its radius is less than about
/// 1.2 segments. On larger solids vertices alone come to rest more calmly.
const BLUNT: f64 = 0.2;
/// Part of the distance to keep that a segment may lack: its ends keep it.
const SHALLOW: f64 = 1e-3;
/// How much farther than the point itself its ends may be moved: beside an end that is held they would be thrown.
const LEVER: f64 = 3.0;

/// A segment that may meet a solid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Near {
    pub piece: usize,
    /// Its first vertex.
    pub vertex: usize,
    pub collider: usize,
    /// The solid that both its ends lie on: they hold it there.
    pub lies_on: Option<usize>,
    /// Distance of the solid from which on it cannot [m].
    pub within: f64,
}

/// A point of a segment on a solid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lean {
    pub segment: usize,
    /// First vertex of the segment.
    pub vertex: usize,
    /// Where along the segment, from 0 to 1.
    pub place: f64,
    /// One more than the body that the solid belongs to; 0 if to none.
    body: u32,
    /// How it is held [N/m], and where [m].
    hold: Symmetric,
    target: DVec3,
    /// What the segment has got from the solid otherwise [N s].
    impulse: DVec3,
}

impl Lean {
    pub fn point(&self, x: &[DVec3]) -> DVec3 {
        x[self.vertex].lerp(x[self.vertex + 1], self.place)
    }

    /// Force of the hold with the point at a place [N].
    pub fn hold_at(&self, point: DVec3) -> DVec3 {
        self.hold.times(self.target - point)
    }

    /// How it is held [N/m].
    pub fn hold(&self) -> &Symmetric {
        &self.hold
    }
}

/// Moves segments out of the solids that they are near to; true if any leans on one.
pub(super) fn lean(
    model: &CordModel,
    state: &CordState,
    scratch: &mut CordScratch,
    around: &Surroundings,
    last: bool,
    tally: &mut Tally,
) -> bool {
    let CordScratch { next, mass, pushed, grips, near, leans, normals, planes, .. } = scratch;
    for near in near.drain(..) {
        let (a, collider) = (near.vertex, &around.environment.colliders[near.collider]);
        let (b, segment) = (a + 1, a - near.piece);
        // One solid holds a segment; the last round keeps others out.
        if !last && leans.iter().any(|lean: &Lean| lean.segment == segment) {
            continue;
        }
        let keep = model.radii[segment] + model.material.margin;
        let Some((place, distance)) = closest(collider, [next[a], next[b]], near.within, keep) else { continue };
        let point = |x: &[DVec3]| x[a].lerp(x[b], place);
        let (start, target) = (point(&state.positions), point(next));
        if distance >= keep * (1.0 - SHALLOW) && distance >= collider.path(start, target) {
            continue;
        }
        let yields =
            [(a, 1.0 - place), (b, place)].map(|(v, share)| if grips.at(v).is_none() { share / mass[v] } else { 0.0 });
        let inverse = yields[0] * (1.0 - place) + yields[1] * place;
        if yields[0].max(yields[1]) > LEVER * inverse || inverse <= 0.0 {
            continue;
        }
        let touch = contact::resolve(std::slice::from_ref(collider), start, target, keep, None);
        if !touch.contact {
            continue;
        }
        let (way, heavy) = (let_out(collider, start, touch.position - target, keep, around.dt), 1.0 / inverse);
        let shares = yields.map(|yielding| yielding * heavy);
        next[a] += way * shares[0];
        next[b] += way * shares[1];
        // An end that lies on a solid itself is kept there, or the two would pull against each other.
        for v in [a, b] {
            planes[v] = normals[v].dot(next[v]);
        }
        let mut lean = Lean {
            segment,
            vertex: a,
            place,
            body: collider.body().map_or(0, |body| body as u32 + 1),
            hold: Symmetric::ZERO,
            target: target + way,
            impulse: DVec3::ZERO,
        };
        let slip = way - touch.normal * touch.normal.dot(way);
        let stiff = heavy / (around.dt * around.dt);
        if last {
            lean.impulse = way * (heavy / around.dt);
            tally.penetration_max = tally.penetration_max.max(touch.penetration);
        } else if touch.stuck {
            lean.hold = Symmetric::scalar(STUCK * stiff);
            lean.hold.add_dyad(touch.normal * ((FIXED - STUCK) * stiff), touch.normal);
        } else {
            lean.hold.add_dyad(touch.normal * (FIXED * stiff), touch.normal);
            lean.impulse = slip * (heavy / around.dt);
            pushed[a] += slip * shares[0];
            pushed[b] += slip * shares[1];
        }
        leans.push(lean);
    }
    // Held where all have been moved to, not where each was put by itself: holds that cannot all be would strain against each other and throw what lies between them.
    for lean in leans.iter_mut().filter(|_| !last) {
        lean.target = lean.point(next);
    }
    tally.contacts += if last { leans.len() as u64 } else { 0 };
    !leans.is_empty()
}

/// Where along a segment a solid that is convex there is closest, and how close [m]; none if that is at an end, not `within` this distance, or
/// hardly closer than the ends.
fn closest(collider: &Collider, [a, b]: [DVec3; 2], within: f64, keep: f64) -> Option<(f64, f64)> {
    let edge = b - a;
    // Place, distance, and its slope over the place.
    let look = |place: f64| {
        let (distance, normal) = collider.distance_at(a + edge * place);
        (place, distance, normal.dot(edge))
    };
    let (mut low, mut high) = (look(0.0), look(1.0));
    let deep = 0.5 * (low.1 + high.1 - BLUNT * edge.length());
    for _ in 0..LOOKS {
        if low.2 >= 0.0 || high.2 <= 0.0 {
            break;
        }
        // Where the tangents meet.
        let width = high.0 - low.0;
        let part = (high.1 - low.1 - high.2 * width) / (width * (low.2 - high.2));
        let bound = low.1 + low.2 * part * width;
        if bound >= within.min(deep) {
            return None;
        }
        if width < NARROW || low.1.min(high.1) - bound < NARROW * keep {
            break;
        }
        let here = look(low.0 + width * part.clamp(0.1, 0.9));
        if here.2 < 0.0 { low = here } else { high = here }
    }
    let best = if low.1 < high.1 { low } else { high };
    (best.0 > 0.0 && best.0 < 1.0).then_some((best.0, best.1))
}

/// Books what holds gave while lengths were solved: no more than what the ends of the segment got from solids at all, which their momentum tells. Where a segment is held in two ways
/// that cannot both be, as between two bodies that come together, stiff holds strain against each other with forces that nothing bears.
pub(super) fn book(state: &CordState, scratch: &mut CordScratch, dt: f64) {
    let CordScratch { next, free, mass, before, tangents, grips, leans, .. } = scratch;
    for lean in leans {
        let piece = lean.vertex - lean.segment;
        let segments = state.segments(piece);
        for s in lean.segment.saturating_sub(1).max(segments.start)..(lean.segment + 2).min(segments.end) {
            tangents[s] = frame::unit_or(next[s + piece + 1] - next[s + piece], before[s]);
        }
        let got = |v: usize| {
            let pull = net_tension(&state.tensions, tangents, segments.clone(), v - piece);
            length((next[v] - free[v]) * (mass[v] / dt) - pull * dt)
        };
        let [a, b] = [lean.vertex, lean.vertex + 1].map(|v| grips.at(v).is_none().then(|| got(v)));
        let most = match (a, b) {
            (Some(a), Some(b)) => a + b,
            (Some(a), None) => a / (1.0 - lean.place),
            (None, Some(b)) => b / lean.place,
            (None, None) => 0.0,
        };
        let gave = lean.impulse + lean.hold_at(lean.point(next)) * dt;
        lean.impulse = if gave.is_finite() { gave.clamp_length_max(most) } else { DVec3::ZERO };
    }
}

/// Gives the bodies what segments on them got, and leaves in `forces` what vertices have of it.
pub(super) fn react(scratch: &mut CordScratch, bodies: &mut Bodies) {
    let CordScratch { next, leans, forces, .. } = scratch;
    forces.fill(DVec3::ZERO);
    for lean in leans.iter() {
        forces[lean.vertex] += lean.impulse * (1.0 - lean.place);
        forces[lean.vertex + 1] += lean.impulse * lean.place;
        if let Some(body) = (lean.body as usize).checked_sub(1).filter(|body| *body < bodies.states.len()) {
            bodies.push(body, -lean.impulse, lean.point(next));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::Placement;
    use drench_geometry::field::Field;
    use drench_math::random::Stream;

    #[test]
    fn the_closest_place_of_a_ball_is_where_its_centre_projects_to() {
        let ball = Field::Sphere { radius: 0.02 };
        let stream = Stream::new(5, "closest");
        let mut inside = 0;
        for i in 0..400 {
            let turned = Placement { scale: 1.5, ..Placement::at(stream.direction(4 * i) * 0.03) };
            let collider = Collider::new(&ball, turned, turned, 0.0);
            let middle = stream.direction(4 * i + 1) * 0.02;
            let half = stream.direction(4 * i + 2) * 0.06;
            let ends = [middle - half, middle + half];
            let place = (turned.translation - ends[0]).dot(2.0 * half) / (2.0 * half).length_squared();
            let got = closest(&collider, ends, 0.02, 1e-3);
            let distance = (ends[0] + 2.0 * half * place - turned.translation).length() - 0.03;
            match got {
                Some((found, near)) => {
                    assert!((found - place).abs() < 0.02, "{i}: {found} {place}");
                    assert!((near - distance).abs() < 1e-4, "{i}: {near} {distance}");
                    inside += 1;
                }
                None => assert!(distance > 0.02 - 1e-4 || !(0.01..0.99).contains(&place), "{i}: {distance} {place}"),
            }
        }
        assert!(inside > 100, "{inside}");
    }
}
