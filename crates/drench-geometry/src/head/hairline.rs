//! Where the parts of the head begin and end: hairline, ears, neck.

use super::anatomy::Anatomy;
use glam::DVec3;

/// Width over which hair thins out at the hairline [m].
const SOFT_EDGE: f64 = 0.012;

/// Height of the hairline [m] by the angle from straight ahead [degrees]: forehead, temple, sideburn, over and behind the
/// ear, nape.
const HAIRLINE: [(f64, f64); 10] = [
    (0.0, 0.060),
    (24.0, 0.063),
    (42.0, 0.057),
    (58.0, 0.032),
    (70.0, 0.008),
    (80.0, -0.006),
    (90.0, 0.010),
    (104.0, 0.006),
    (122.0, -0.052),
    (180.0, -0.078),
];

/// Parts of the surface that faces are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Region {
    Scalp,
    Face,
    Ears,
    Neck,
    Shoulders,
}

impl Region {
    pub fn name(self) -> &'static str {
        match self {
            Region::Scalp => "scalp",
            Region::Face => "face",
            Region::Ears => "ears",
            Region::Neck => "neck",
            Region::Shoulders => "shoulders",
        }
    }
}

/// Density of hair at a point of the surface: 0 on bare skin, 1 inside the hairline.
pub(super) fn scalp_weight(anatomy: &Anatomy, p: DVec3) -> f64 {
    let above = smooth_step((p.y - hairline_height(p)) / SOFT_EDGE);
    above * (1.0 - ear_weight(anatomy, p))
}

/// The part that a point of the surface belongs to.
pub(super) fn region(anatomy: &Anatomy, p: DVec3) -> Region {
    // The neck ends along a collar that is lower in front than behind.
    let collar = -0.185 - 0.25 * (p.z + 0.05).max(0.0) - 0.25 * (p.z + 0.05).min(0.0);
    // The jaw ends along a line from the chin to below the ear, and on to the nape.
    let jaw = (-0.1 - 0.55 * (p.z - 0.06)).clamp(-0.108, -0.060);
    if ear_weight(anatomy, p) > 0.5 {
        Region::Ears
    } else if scalp_weight(anatomy, p) > 0.0 {
        Region::Scalp
    } else if p.y < collar {
        Region::Shoulders
    } else if p.y < jaw {
        Region::Neck
    } else {
        Region::Face
    }
}

/// 1 on the ears, which stand off the head, 0 elsewhere.
fn ear_weight(anatomy: &Anatomy, p: DVec3) -> f64 {
    if p.x.abs() < 0.05 || p.y < -0.07 || p.y > 0.03 {
        return 0.0;
    }
    smooth_step((anatomy.distance_without_ears(p) - 0.0006) / 0.002)
}

fn hairline_height(p: DVec3) -> f64 {
    let angle = p.x.abs().atan2(p.z + 0.01).to_degrees();
    let next = HAIRLINE.iter().position(|&(at, _)| at > angle).unwrap_or(HAIRLINE.len() - 1).max(1);
    let ((a, low), (b, high)) = (HAIRLINE[next - 1], HAIRLINE[next]);
    low + (high - low) * smooth_step((angle - a) / (b - a))
}

fn smooth_step(t: f64) -> f64 {
    let t = t.clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}
