//! The smooth line that a strand follows before it is styled.
//!
//! The direction t starts between the normal and the laid direction and relaxes, by ds a step, towards
//! - the laid direction: the local skin normal turned by `lay` times 90 degrees to the comb direction, so that laid hair
//!   follows a curved skin,
//! - gravity: at a rate of `hang` over the bending length of human hair, (EI / (weight per length))^(1/3) = 4.5 cm, or
//!   faster for short hair, so that `hang` = 1 always hangs down at the tip.
//!
//! Where the line comes closer to the skin than its layer allows, it slides along.

use super::{GroomSettings, Root};
use crate::field::Field;
use drench_math::random::Stream;
use glam::{DQuat, DVec3};

/// Hair bends over from the normal within this length, or within 30 % of a shorter strand [m].
const BEND: f64 = 0.015;
/// Length over which gravity turns human hair [m].
const HANG: f64 = 0.045;
/// Of the way from the normal to the laid direction, what hair has already gone where it leaves the skin.
const EMERGENCE: f64 = 0.3;

/// What every strand grows by.
pub(super) struct Grower<'a> {
    pub settings: &'a GroomSettings<'a>,
    pub skin: &'a Field,
}

impl Grower<'_> {
    /// Grows the line of a root: `steps` steps to the length `length` [m]. `layer` in [0, 1) is the strand's own part of
    /// the clearance.
    pub fn line(&self, root: &Root, length: f64, steps: usize, layer: f64, line: &mut Vec<DVec3>) {
        let settings = self.settings;
        let ds = length / steps as f64;
        let bend = BEND.min(0.3 * root.length);
        let hang_rate = settings.hang * (3.0 / root.length).max(1.0 / HANG);
        let gravity = settings.gravity.normalize_or_zero();
        // A hair exactly against gravity would not know which way to fall.
        let tilt = Stream::new(settings.seed, "tilt").direction(u64::from(root.point.triangle)) * 0.02;
        let start = towards(root.normal, self.laid(root, root.normal), EMERGENCE);
        let mut t = (start + tilt * settings.hang).normalize();
        let mut p = root.position;
        line.clear();
        line.push(p);
        for step in 1..=steps {
            let s = step as f64 * ds;
            if settings.lay > 0.0 {
                // Gravity takes over from the comb along a hanging strand.
                let fading = 1.0 - settings.hang * (1.0 - (-s / HANG).exp());
                let normal = if step == 1 { root.normal } else { self.skin.distance_and_gradient(p).1 };
                let rate = 4.0 / bend * fading * (4.0 * settings.lay).min(1.0);
                t = towards(t, self.laid(root, normal), 1.0 - (-rate * ds).exp());
            }
            if hang_rate > 0.0 && gravity != DVec3::ZERO {
                t = towards(t, gravity, 1.0 - (-hang_rate * ds).exp());
            }
            let next = self.outside(p + t * ds, p, ds, self.clearance(s, layer));
            t = ((next - p) / ds).normalize_or(t);
            p = next;
            line.push(p);
        }
    }

    /// Distance to keep from the skin at the arc length `s` [m].
    pub fn clearance(&self, s: f64, layer: f64) -> f64 {
        let full = self.settings.clearance * (0.2 + 0.8 * layer);
        full.min(0.3 * s)
    }

    /// The point at the distance `ds` from `last` near `p` that keeps `clearance` from the skin, if there is one.
    pub fn outside(&self, mut p: DVec3, last: DVec3, ds: f64, clearance: f64) -> DVec3 {
        for _ in 0..8 {
            let Some((distance, out)) = self.skin.within(p, clearance) else { break };
            if distance >= clearance - 1e-3 * ds {
                break;
            }
            p += out * (clearance - distance);
            p = last + (p - last).normalize_or(out) * ds;
        }
        p
    }

    /// The laid direction above a skin with this normal.
    fn laid(&self, root: &Root, normal: DVec3) -> DVec3 {
        let Some(comb) = root.comb.try_normalize() else { return normal };
        let tangent = comb - normal * comb.dot(normal);
        let size = tangent.length();
        if size < 1e-6 {
            return normal;
        }
        // Where the comb points along the normal it has no direction on the skin: fade it out.
        let fade = (size / 0.3).min(1.0);
        let angle = self.settings.lay * fade * (2.0 - fade) * std::f64::consts::FRAC_PI_2;
        normal * angle.cos() + tangent / size * angle.sin()
    }
}

/// Turns the unit vector `from` by a fraction of its angle to the unit vector `to`.
pub(super) fn towards(from: DVec3, to: DVec3, fraction: f64) -> DVec3 {
    let axis = from.cross(to);
    let (sine, cosine) = (axis.length(), from.dot(to));
    let axis = if sine > 1e-9 { axis / sine } else { from.any_orthonormal_vector() };
    if sine <= 1e-9 && cosine > 0.0 {
        return from;
    }
    DQuat::from_axis_angle(axis, sine.atan2(cosine) * fraction) * from
}
