//! Parts of space that liquid and grains fill.

use crate::contact::{Placement, SignedDistance};
use glam::DVec3;

/// Probes along each axis when a volume is estimated.
const PROBES: u32 = 24;

/// A part of space.
#[derive(Clone, Copy)]
pub enum Region<'a> {
    /// A box between two corners.
    Box {
        /// The corner with the smallest coordinates [m].
        low: DVec3,
        /// The corner with the largest coordinates [m].
        high: DVec3,
    },
    /// A ball.
    Ball {
        /// Its centre [m].
        centre: DVec3,
        /// Its radius [m].
        radius: f64,
    },
    /// An upright cylinder: a tower.
    Cylinder {
        /// The middle of its foot [m].
        foot: DVec3,
        /// Its radius [m].
        radius: f64,
        /// Its height [m].
        height: f64,
    },
    /// An upright cone: a heap.
    Cone {
        /// The middle of its foot [m].
        foot: DVec3,
        /// The radius of its foot [m].
        radius: f64,
        /// Its height [m].
        height: f64,
    },
    /// The inside of a solid.
    Solid {
        /// Its distance field.
        field: &'a dyn SignedDistance,
        /// Where it stands.
        placement: Placement,
        /// Corners of a box around it, in its own frame [m].
        bounds: (DVec3, DVec3),
    },
    /// Another region, but for what is in solids.
    Beside {
        /// The region.
        region: &'a Region<'a>,
        /// How far a point is from the nearest solid, negative inside [m].
        clearance: &'a (dyn Fn(DVec3) -> f64 + Sync),
    },
}

impl Region<'_> {
    /// How deep a point is inside, negative outside [m].
    pub fn depth(&self, p: DVec3) -> f64 {
        match *self {
            Self::Box { low, high } => (p - low).min(high - p).min_element(),
            Self::Ball { centre, radius } => radius - (p - centre).length(),
            Self::Cylinder { foot, radius, height } => {
                let q = p - foot;
                (radius - q.x.hypot(q.z)).min(q.y).min(height - q.y)
            }
            Self::Cone { foot, radius, height } => {
                let q = p - foot;
                let flank = (radius * height - radius * q.y - height * q.x.hypot(q.z)) / radius.hypot(height);
                flank.min(q.y)
            }
            Self::Solid { field, placement, .. } => {
                let local = placement.rotation.inverse() * (p - placement.translation) / placement.scale;
                -field.distance(local) * placement.scale
            }
            Self::Beside { region, clearance } => region.depth(p).min(clearance(p)),
        }
    }

    /// A box around it.
    pub fn bounds(&self) -> (DVec3, DVec3) {
        match *self {
            Self::Box { low, high } => (low, high),
            Self::Ball { centre, radius } => (centre - radius, centre + radius),
            Self::Cylinder { foot, radius, height } | Self::Cone { foot, radius, height } => {
                (foot - DVec3::new(radius, 0.0, radius), foot + DVec3::new(radius, height, radius))
            }
            Self::Solid { placement, bounds, .. } => placement.around(bounds),
            Self::Beside { region, .. } => region.bounds(),
        }
    }

    /// Its volume, about [m3].
    pub fn volume(&self) -> f64 {
        let (low, high) = self.bounds();
        let part = |i: u32| (f64::from(i) + 0.5) / f64::from(PROBES);
        let inside = |n: &u32| {
            let probe = DVec3::new(part(n % PROBES), part(n / PROBES % PROBES), part(n / PROBES / PROBES));
            self.depth(low + (high - low) * probe) >= 0.0
        };
        let count = (0..PROBES.pow(3)).filter(inside).count();
        (high - low).element_product() * count as f64 / f64::from(PROBES.pow(3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn volumes_are_about_right() {
        let foot = DVec3::new(0.3, -0.2, 0.1);
        let regions = [
            (Region::Box { low: foot, high: foot + DVec3::new(1.0, 2.0, 3.0) }, 6.0),
            (Region::Ball { centre: foot, radius: 0.5 }, 4.0 / 3.0 * PI * 0.125),
            (Region::Cylinder { foot, radius: 0.5, height: 2.0 }, PI * 0.25 * 2.0),
            (Region::Cone { foot, radius: 0.5, height: 2.0 }, PI * 0.25 * 2.0 / 3.0),
        ];
        for (region, volume) in regions {
            assert!((region.volume() / volume - 1.0).abs() < 0.03, "{} {volume}", region.volume());
        }
    }
}
