//! Two segments: where they are closest, and when two moving ones come within reach of each other.
//!
//! | symbol of [Rungjiratananon2012, eqs. 4.13, 4.14] | field |
//! |---|---|
//! | s, fraction along the first segment | `s` |
//! | t, fraction along the second | `t` |
//! | x_(i,s) - x_(j,t) | `offset` |
//!
//! The closest points of two segments minimise a convex quadratic over the unit square. Parallel segments have a whole
//! interval of closest points: its middle is taken, so that bundles push each other evenly.
//!
//! The time of approach is found by conservative advancement: points of the two segments close in no faster than the
//! fastest pair of ends, because relative velocities are bilinear in (s, t). Advancing by the gap over that speed never
//! steps over a contact, whatever the motion; no polynomial has to be solved, and no case is degenerate.

use glam::DVec3;

/// The squared sine below which segments count as parallel.
const PARALLEL: f64 = 1e-24;
/// Steps of conservative advancement at most. What is still undecided then is within a hair's breadth of touching
/// for the rest of the way, and is taken for a contact.
const ADVANCES: usize = 100;
/// How much farther than `reach` counts as reached, as a fraction of it: ends the creep towards a contact.
const NEAR: f64 = 0.02;

/// The length of a vector, by the processor's own square root. That of `glam` goes through a library that keeps rigid bodies the same
/// everywhere; it gives the same bits, but costs ten times as much in the midst of wide registers.
#[inline(always)]
pub(crate) fn length(v: DVec3) -> f64 {
    v.length_squared().sqrt()
}

/// Two ends [m].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// One end.
    pub from: DVec3,
    /// The other.
    pub to: DVec3,
}

/// The closest points of two segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closest {
    /// Fraction along the first segment.
    pub s: f64,
    /// Fraction along the second segment.
    pub t: f64,
    /// From the point on the second to the point on the first [m].
    pub offset: DVec3,
}

/// When two moving segments come within reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Approach {
    /// Fraction of the step.
    pub time: f64,
    /// The closest points then.
    pub closest: Closest,
}

impl Segment {
    /// The point at fraction `s`.
    #[inline]
    pub fn at(&self, s: f64) -> DVec3 {
        self.from + (self.to - self.from) * s
    }

    /// The point of the segment that is nearest to `x`.
    #[inline]
    pub fn nearest(&self, x: DVec3) -> DVec3 {
        self.at(self.fraction(x))
    }

    /// The fraction of the segment at which the point nearest to `x` is.
    #[inline]
    pub fn fraction(&self, x: DVec3) -> f64 {
        let way = self.to - self.from;
        let square = way.length_squared();
        if square > 0.0 { ((x - self.from).dot(way) / square).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The segment between this one and `other`, each end moving straight.
    #[inline]
    pub fn towards(&self, other: &Self, time: f64) -> Self {
        let mix = |a: DVec3, b: DVec3| a + (b - a) * time;
        Self { from: mix(self.from, other.from), to: mix(self.to, other.to) }
    }
}

/// The closest points of two segments, which may be parallel, crossing, or points.
#[inline]
pub fn closest(first: &Segment, second: &Segment) -> Closest {
    let (u, v, w) = (first.to - first.from, second.to - second.from, first.from - second.from);
    let (a, e, b, c, f) = (u.dot(u), v.dot(v), u.dot(v), u.dot(w), v.dot(w));
    let over = |numerator: f64, denominator: f64| if denominator > 0.0 { numerator / denominator } else { 0.0 };
    let unit = |x: f64| x.clamp(0.0, 1.0);
    // Not a e - b^2, which loses all its figures long before the cross product does.
    let normal = u.cross(v);
    let determinant = normal.dot(normal);
    let mut s = if determinant > PARALLEL * a * e {
        unit(v.cross(w).dot(normal) / determinant)
    } else {
        // The middle of what the second covers of the first.
        let (one, other) = (over(-c, a), over(b - c, a));
        0.5 * (unit(one.min(other)) + unit(one.max(other)))
    };
    let free = over(b * s + f, e);
    let t = unit(free);
    if t != free {
        s = unit(over(b * t - c, a));
    }
    Closest { s, t, offset: w + u * s - v * t }
}

/// The first time in 0..=1 at which the segments come within `reach` of each other; `None` if they do not.
///
/// `first` and `second` are the segments at the beginning and the end of the step. A `reach` above 0 is needed, or
/// touching can only be seen where it happens exactly at a step of the search.
pub fn approach(first: [&Segment; 2], second: [&Segment; 2], reach: f64) -> Option<Approach> {
    approach_from(closest(first[0], second[0]), first, second, reach)
}

/// The same, if the closest points at the beginning are known.
pub(super) fn approach_from(
    start: Closest,
    first: [&Segment; 2],
    second: [&Segment; 2],
    reach: f64,
) -> Option<Approach> {
    let ends = |motion: [&Segment; 2]| [motion[1].from - motion[0].from, motion[1].to - motion[0].to];
    let (mine, other) = (ends(first), ends(second));
    let square = mine.iter().flat_map(|m| other.iter().map(|o| (*m - *o).length_squared())).fold(0.0, f64::max);
    let (mut time, mut nearest, speed) = (0.0, start, square.sqrt());
    for _ in 0..ADVANCES {
        let gap = length(nearest.offset) - reach;
        if gap <= NEAR * reach {
            return Some(Approach { time, closest: nearest });
        }
        time += gap / speed;
        if time.is_nan() || time > 1.0 {
            return None;
        }
        nearest = closest(&first[0].towards(first[1], time), &second[0].towards(second[1], time));
    }
    Some(Approach { time, closest: nearest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_math::random::Stream;

    fn segment(from: [f64; 3], to: [f64; 3]) -> Segment {
        Segment { from: from.into(), to: to.into() }
    }

    /// The least over the inside of the square (if the stationary point lies in it) and its four sides.
    fn oracle(first: &Segment, second: &Segment) -> f64 {
        let to_point = |segment: &Segment, p: DVec3| {
            let u = segment.to - segment.from;
            let s = if u.length_squared() > 0.0 {
                ((p - segment.from).dot(u) / u.length_squared()).clamp(0.0, 1.0)
            } else {
                0.0
            };
            segment.at(s).distance(p)
        };
        let sides = [
            to_point(first, second.from),
            to_point(first, second.to),
            to_point(second, first.from),
            to_point(second, first.to),
        ];
        let mut least = sides.into_iter().fold(f64::INFINITY, f64::min);
        let (u, v, w) = (first.to - first.from, second.to - second.from, first.from - second.from);
        let normal = u.cross(v);
        if normal.length_squared() > 0.0 {
            // Cramer's rule on the line through both along the common normal.
            let s = v.cross(w).dot(normal) / normal.length_squared();
            let t = u.cross(w).dot(normal) / normal.length_squared();
            if (0.0..=1.0).contains(&s) && (0.0..=1.0).contains(&t) {
                least = least.min((w.dot(normal) / normal.length()).abs());
            }
        }
        least
    }

    fn random(stream: Stream, index: u64) -> Segment {
        let point = |k: u64| stream.direction(4 * index + k) * stream.uniform(900_000 + 4 * index + k);
        let (from, mut to) = (point(0), point(1));
        // Every kind of bad luck: short, flat, aligned with the axes, or a point.
        match index % 8 {
            0 => to = from,
            1 => to = from + (to - from) * 1e-9,
            2 => to.z = from.z,
            3 => to = DVec3::new(to.x, from.y, from.z),
            _ => {}
        }
        Segment { from, to }
    }

    #[test]
    fn closest_points_are_as_close_as_the_oracle_says() {
        let stream = Stream::new(1, "segments");
        for i in 0..20_000 {
            let (first, second) = (random(stream, 2 * i), random(stream, 2 * i + 1));
            let found = closest(&first, &second);
            assert!((0.0..=1.0).contains(&found.s) && (0.0..=1.0).contains(&found.t));
            assert!((first.at(found.s) - second.at(found.t)).distance(found.offset) < 1e-12);
            let (got, expected) = (found.offset.length(), oracle(&first, &second));
            assert!((got - expected).abs() < 1e-7, "case {i}: {got} instead of {expected}");
        }
    }

    #[test]
    fn nearly_parallel_segments_are_as_close_as_the_oracle_says() {
        let stream = Stream::new(2, "parallel");
        for i in 0..20_000 {
            let tilt = 10.0_f64.powf(stream.range(i, -12.0, -1.0));
            let first = segment([0.0; 3], [1.0, 0.0, 0.0]);
            let from = DVec3::new(stream.range(50_000 + i, -1.5, 1.5), 0.01, 0.0);
            let to = from + DVec3::X + stream.direction(i) * tilt;
            let second = Segment { from, to };
            let (got, expected) = (closest(&first, &second).offset.length(), oracle(&first, &second));
            assert!((got - expected).abs() < 1e-8, "tilt {tilt:e}: {got} instead of {expected}");
        }
    }

    #[test]
    fn parallel_segments_meet_in_the_middle_of_what_they_share() {
        let first = segment([0.0; 3], [1.0, 0.0, 0.0]);
        let found = closest(&first, &segment([0.5, 0.1, 0.0], [1.5, 0.1, 0.0]));
        assert_eq!((found.s, found.t), (0.75, 0.25));
        let back = closest(&first, &segment([1.5, 0.1, 0.0], [0.5, 0.1, 0.0]));
        assert_eq!((back.s, back.t), (0.75, 0.75));
        let apart = closest(&first, &segment([3.0, 0.0, 0.0], [2.0, 0.0, 0.0]));
        assert_eq!((apart.s, apart.t, apart.offset), (1.0, 1.0, DVec3::NEG_X));
        let same = closest(&first, &first);
        assert_eq!((same.s, same.t, same.offset), (0.5, 0.5, DVec3::ZERO));
    }

    #[test]
    fn points_and_coincident_points_are_segments_too() {
        let point = segment([0.25, 1.0, 0.0], [0.25, 1.0, 0.0]);
        let found = closest(&segment([0.0; 3], [1.0, 0.0, 0.0]), &point);
        assert_eq!((found.s, found.offset), (0.25, DVec3::NEG_Y));
        assert_eq!(closest(&point, &point).offset, DVec3::ZERO);
    }

    #[test]
    fn an_approach_is_seen_at_any_speed_and_never_late() {
        let stream = Stream::new(3, "approach");
        let reach = 0.01;
        let mut seen = 0;
        for i in 0..2_000 {
            let (a, b) = (random(stream, 4 * i + 4), random(stream, 4 * i + 5));
            let speed = 10.0_f64.powf(stream.range(i, -2.0, 1.5));
            let moved = |segment: &Segment, k: u64| Segment {
                from: segment.from + stream.direction(90_000 + k) * speed,
                to: segment.to + stream.direction(190_000 + k) * speed,
            };
            let (a1, b1) = (moved(&a, 2 * i), moved(&b, 2 * i + 1));
            // The oracle looks at 2000 times in between.
            let distance = |time: f64| closest(&a.towards(&a1, time), &b.towards(&b1, time)).offset.length();
            let first = (0..=2000).map(|k| f64::from(k) / 2000.0).find(|&time| distance(time) <= reach);
            let found = approach([&a, &a1], [&b, &b1], reach);
            if let Some(first) = first {
                let found = found.expect("an approach that happens is found");
                assert!(found.time <= first, "case {i}: at {} instead of {first}", found.time);
                seen += 1;
            }
            if let Some(found) = found {
                // Never far from touching, and not touched before.
                assert!((distance(found.time) - found.closest.offset.length()).abs() < 1e-12);
                assert!(found.closest.offset.length() <= 1.5 * reach || found.time > 0.0);
            }
        }
        assert!(seen > 100, "{seen}");
    }

    #[test]
    fn segments_that_pass_through_each_other_are_caught_at_the_right_time() {
        let still = segment([-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]);
        for speed in [0.1, 1.0, 10.0, 1e3, 1e6] {
            let before = segment([0.0, 0.05, -1.0], [0.0, 0.05, 1.0]);
            let after = segment([0.0, 0.05 - speed, -1.0], [0.0, 0.05 - speed, 1.0]);
            let found = approach([&before, &after], [&still, &still], 1e-3).unwrap();
            let expected = (0.05 - 1e-3) / speed;
            assert!((found.time - expected).abs() <= 0.05 * 1e-3 / speed, "{} instead of {expected}", found.time);
            assert!((found.closest.offset.normalize() - DVec3::Y).length() < 1e-9);
        }
        let parallel = still.towards(&segment([-1.0, 2.0, 0.0], [1.0, 2.0, 0.0]), 1.0);
        assert_eq!(approach([&still, &still], [&parallel, &parallel], 0.5), None);
    }
}
