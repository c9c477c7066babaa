//! Frames that do not twist: directions carried by the smallest rotation from one tangent to another.

use crate::strands::lanes::{Lane, Lane3};
use glam::DVec3;

/// Carries `direction`, which is perpendicular to `from`, by the smallest rotation that turns `from` to `to` (unit
/// vectors); the result is of unit length and perpendicular to `to`.
#[inline]
pub(crate) fn transport(direction: DVec3, from: DVec3, to: DVec3) -> DVec3 {
    // R d = d - (from + to) (d . to) / (1 + from . to) for d perpendicular to from.
    let moved = direction - (from + to) * (direction.dot(to) / (1.0 + from.dot(to)).max(1e-9));
    let flat = moved - to * moved.dot(to);
    let square = flat.length_squared();
    if square > 1e-12 && square < 1e12 { flat * (1.0 / square.sqrt()) } else { to.any_orthonormal_vector() }
}

/// [`transport`] four at a time.
#[inline(always)]
pub(crate) fn transport_four(direction: Lane3, from: Lane3, to: Lane3) -> Lane3 {
    let moved = turn_four(direction, from, to);
    let flat = moved - to * moved.dot(to);
    let square = flat.dot(flat);
    let unit = flat * (Lane::ONE / square.sqrt());
    let sound = (square.simd_gt(Lane::splat(1e-12)) & square.simd_lt(Lane::splat(1e12))).to_bitmask();
    if sound == 0b1111 {
        return unit;
    }
    let (units, to) = (unit.to_array(), to.to_array());
    let pick = |lane: usize| if sound >> lane & 1 == 1 { units[lane] } else { to[lane].any_orthonormal_vector() };
    Lane3::new(std::array::from_fn(pick))
}

/// Four directions turned by the smallest rotations from one tangent to another.
#[inline(always)]
fn turn_four(direction: Lane3, from: Lane3, to: Lane3) -> Lane3 {
    let cosine = (Lane::ONE + from.dot(to)).fast_max(Lane::splat(1e-9));
    direction - (from + to) * (direction.dot(to) / cosine)
}

/// Four angles about `to` from directions across `from`, carried over, to others across `to`; in (-pi, pi].
#[inline(always)]
pub(crate) fn angle_four(direction: Lane3, from: Lane3, other: Lane3, to: Lane3) -> Lane {
    // Neither the length nor what rounding leaves along the axis counts.
    let over = turn_four(direction, from, to);
    over.cross(other).dot(to).atan2(over.dot(other))
}

/// The unit vector along `v`, or another if it has no direction.
#[inline]
pub(crate) fn unit_or(v: DVec3, otherwise: DVec3) -> DVec3 {
    let square = v.length_squared();
    if square > 1e-200 && square < 1e200 { v * (1.0 / square.sqrt()) } else { otherwise }
}

/// Angle from `a` to `b` about `axis`, all of unit length, in (-pi, pi].
#[inline]
pub(crate) fn angle(a: DVec3, b: DVec3, axis: DVec3) -> f64 {
    a.cross(b).dot(axis).atan2(a.dot(b))
}

/// The angle equal to `raw` up to whole turns that is nearest to `last`.
#[inline]
pub(crate) fn unwrap(raw: f64, last: f64) -> f64 {
    raw + std::f64::consts::TAU * ((last - raw) / std::f64::consts::TAU).round()
}

/// Curvature binormal of two unit tangents: 2 a x b / (1 + a . b), bounded where the cord folds back on itself
/// [Rungjiratananon2012, eq. 4.7].
#[inline]
pub(crate) fn binormal(a: DVec3, b: DVec3) -> DVec3 {
    a.cross(b) * (2.0 / (1.0 + a.dot(b)).max(0.1))
}
