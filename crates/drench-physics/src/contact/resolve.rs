//! One vertex against all solids.

use super::Collider;
use glam::DVec3;

/// Samples of the distance field along a path, at most.
const TRACE: usize = 24;
/// Rounds of placing a vertex at its length and outside.
const ROUNDS: usize = 4;

/// The predecessor that a vertex is held to, at a fixed distance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    pub anchor: DVec3,
    pub length: f64,
}

/// Where a vertex came to rest against the solids.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub position: DVec3,
    /// Distance to the nearest solid [m].
    pub clearance: f64,
    /// Depth inside the nearest solid that could not be removed [m].
    pub penetration: f64,
    pub contact: bool,
    /// Outward normal of the last solid that was touched.
    pub normal: DVec3,
    /// Whether friction took all of the slip.
    pub stuck: bool,
    /// Coefficient of friction of that solid.
    pub friction: f64,
}

/// Distance to the nearest solid [m] and a bound on how far solids carry points within `reach` of it.
pub(crate) fn clearance(colliders: &[Collider], point: DVec3, reach: f64) -> (f64, f64) {
    colliders.iter().fold((f64::INFINITY, 0.0), |(nearest, carried), collider| {
        let distance = collider.distance(collider.local(point));
        (nearest.min(distance * collider.scale), carried.max(collider.carry(point, reach)))
    })
}

/// Moves a vertex from `start` towards `target` without letting it come closer than `keep` to any solid.
pub(crate) fn resolve(colliders: &[Collider], start: DVec3, target: DVec3, keep: f64, hold: Option<Hold>) -> Touch {
    let mut touch = Touch {
        position: target,
        clearance: f64::INFINITY,
        penetration: 0.0,
        contact: false,
        normal: DVec3::ZERO,
        stuck: false,
        friction: 0.0,
    };
    for collider in colliders {
        against(collider, start, keep, hold, &mut touch);
    }
    if touch.contact && colliders.len() > 1 {
        // A solid may have pushed the vertex into another one.
        touch.clearance = f64::INFINITY;
        touch.penetration = 0.0;
        for collider in colliders {
            against(collider, touch.position, keep, hold, &mut touch);
        }
    }
    touch
}

fn against(collider: &Collider, start: DVec3, keep: f64, hold: Option<Hold>, touch: &mut Touch) {
    // Everything below is in local units.
    let keep = keep * collider.inverse_scale;
    let mut b = collider.local(touch.position);
    let mut distance = collider.distance(b);
    let a = collider.local_before(start);
    let entry = if distance < (b - a).length() { entry(collider, a, (b, distance), keep) } else { None };
    if entry.is_none() && distance >= keep {
        touch.clearance = touch.clearance.min(distance * collider.scale);
        return;
    }
    let mut normal;
    (distance, normal) = collider.sample(b);

    let mut pushed = 0.0;
    if let Some((point, outward)) = entry {
        let rise = (keep - (b - point).dot(outward)).max(0.0);
        b += outward * rise;
        pushed += rise;
        (distance, normal) = collider.sample(b);
    }
    if distance < keep {
        b += normal * (keep - distance);
        pushed += keep - distance;
    }
    let travel = b - a;
    let slip = travel - normal * travel.dot(normal);
    let slipped = slip.length();
    touch.stuck = collider.friction * pushed >= slipped;
    touch.friction = collider.friction;
    if slipped > 0.0 {
        b -= slip * (collider.friction * pushed / slipped).min(1.0);
    }

    match hold {
        None => distance = collider.distance(b),
        Some(hold) => {
            let anchor = collider.local(hold.anchor);
            let length = hold.length * collider.inverse_scale;
            b = anchor + (b - anchor).normalize_or(normal) * length;
            for _ in 0..ROUNDS {
                (distance, normal) = collider.sample(b);
                if distance >= keep * (1.0 - 1e-3) {
                    break;
                }
                b = rise_at_length(anchor, length, b, normal, keep - distance);
            }
            distance = collider.distance(b);
        }
    }
    touch.position = collider.world(b);
    touch.contact = true;
    touch.normal = collider.outward * normal;
    touch.clearance = touch.clearance.min(distance * collider.scale);
    touch.penetration = touch.penetration.max(-distance * collider.scale);
}

/// Where the path from `a` to `b`, whose distance is known, first enters the solid, and the normal there; none if it
/// begins inside. What is thinner than the distance kept may be missed.
fn entry(collider: &Collider, a: DVec3, (b, end): (DVec3, f64), keep: f64) -> Option<(DVec3, DVec3)> {
    let length = (b - a).length();
    let direction = (b - a).normalize_or_zero();
    let mut distance = collider.distance(a);
    // A field changes by at most the distance walked: a path that touched the surface would be as long as both.
    if distance <= 0.0 || distance + end > length {
        return None;
    }
    let (mut outside, smallest) = (0.0, (length / TRACE as f64).max(keep));
    while outside < length {
        let travelled = (outside + distance.max(smallest)).min(length);
        distance = collider.distance(a + direction * travelled);
        if distance < 0.0 {
            return Some(bisect(collider, a, direction, outside, travelled));
        }
        outside = travelled;
    }
    None
}

/// The surface point, and its normal, between a distance that is still outside and one that is inside.
fn bisect(collider: &Collider, a: DVec3, direction: DVec3, mut outside: f64, mut inside: f64) -> (DVec3, DVec3) {
    for _ in 0..8 {
        let middle = 0.5 * (outside + inside);
        if collider.distance(a + direction * middle) < 0.0 { inside = middle } else { outside = middle }
    }
    let point = a + direction * outside;
    let (distance, normal) = collider.sample(point);
    (point - normal * distance, normal)
}

/// Raises `b` by `rise` along the normal while it stays at `length` from `anchor`: exact for a plane.
fn rise_at_length(anchor: DVec3, length: f64, b: DVec3, normal: DVec3, rise: f64) -> DVec3 {
    let arm = b - anchor;
    let height = arm.dot(normal);
    let along = (arm - normal * height).normalize_or(normal.any_orthonormal_vector());
    let height = (height + rise).clamp(-length, length);
    anchor + normal * height + along * (length * length - height * height).max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::{Collider, Placement};
    use super::*;
    use drench_geometry::field::Field;
    use drench_math::random::Stream;
    use glam::DQuat;

    #[test]
    fn a_fast_vertex_does_not_jump_through_a_ball() {
        let ball = Field::Sphere { radius: 0.1 };
        let collider = [Collider::new(&ball, Placement::IDENTITY, Placement::IDENTITY, 0.0)];
        let touch = resolve(&collider, DVec3::new(-1.0, 0.01, 0.0), DVec3::new(1.0, 0.01, 0.0), 0.001, None);
        assert!(touch.contact);
        assert!(touch.position.x < 0.0 && touch.position.length() >= 0.101 - 1e-9, "{}", touch.position);
    }

    #[test]
    fn a_fast_ball_pushes_a_vertex_in_front_of_it() {
        let ball = Field::Sphere { radius: 0.1 };
        let pose = |x: f64| Placement { scale: 2.0, ..Placement::at(DVec3::X * x) };
        let collider = [Collider::new(&ball, pose(-1.0), pose(1.0), 0.5)];
        let start = DVec3::new(0.0, 0.02, 0.0);
        let touch = resolve(&collider, start, start, 0.001, None);
        assert!(touch.contact && touch.position.x >= 1.19, "{}", touch.position);
    }

    #[test]
    fn held_vertices_keep_their_length_and_stay_outside() {
        let ball = Field::Sphere { radius: 0.1 };
        let turned = Placement { rotation: DQuat::from_rotation_z(0.3), ..Placement::IDENTITY };
        let collider = [Collider::new(&ball, Placement::IDENTITY, turned, 0.3)];
        let stream = Stream::new(4, "held");
        for i in 0..500 {
            let anchor = stream.direction(2 * i) * 0.102;
            let hold = Hold { anchor, length: 0.03 };
            let target = anchor + stream.direction(2 * i + 1) * 0.03;
            let touch = resolve(&collider, anchor * 1.2, target, 0.001, Some(hold));
            assert!(touch.position.length() > 0.1, "{i}: {}", touch.position.length());
            if touch.contact {
                assert!(((touch.position - anchor).length() - 0.03).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn friction_stops_what_is_pressed_hard_enough() {
        let ground = Field::HalfSpace;
        let slip = |friction: f64| {
            let collider = [Collider::new(&ground, Placement::IDENTITY, Placement::IDENTITY, friction)];
            let start = DVec3::new(0.0, 0.001, 0.0);
            resolve(&collider, start, start + DVec3::new(0.002, -0.004, 0.0), 0.001, None).position.x
        };
        // Pushed back by 4 mm: friction 0.25 takes 1 mm of the 2 mm slip, 0.5 takes all.
        assert!((slip(0.0) - 0.002).abs() < 1e-12);
        assert!((slip(0.25) - 0.001).abs() < 1e-12);
        assert!(slip(0.5).abs() < 1e-12);
    }
}
