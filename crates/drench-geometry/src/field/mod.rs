//! Signed distance to solids: positive outside, negative inside, with the direction that leads out.
//!
//! Simple shapes are exact; meshes are baked onto a grid ([`DistanceField`]). Points are in the solid's own frame.

mod bake;
mod baked;
mod exact;
mod membrane;

pub use baked::{DistanceField, MEMORY_LIMIT};

use glam::DVec3;

/// A solid by its signed distance.
#[derive(Clone, Debug)]
pub enum Field {
    /// A ball around the origin.
    Sphere {
        /// Radius [m].
        radius: f64,
    },
    /// A box around the origin.
    Box {
        /// Lengths of its edges [m].
        size: DVec3,
    },
    /// A cylinder along y with half-balls on both ends.
    Capsule {
        /// Radius [m].
        radius: f64,
        /// Length of the straight part [m].
        height: f64,
    },
    /// A cylinder along y.
    Cylinder {
        /// Radius [m].
        radius: f64,
        /// Height [m].
        height: f64,
    },
    /// Everything below y = 0.
    HalfSpace,
    /// A ring around the y axis.
    Torus {
        /// Radius of the ring's centre line [m].
        radius: f64,
        /// Radius of the tube [m].
        thickness: f64,
    },
    /// An open tank that stands with the middle of its floor at the origin.
    Tank {
        /// Width, height and depth of the room inside [m].
        size: DVec3,
        /// Thickness of floor and walls [m].
        wall: f64,
    },
    /// A mesh.
    Baked(DistanceField),
}

impl Field {
    /// Signed distance [m].
    #[inline]
    pub fn distance(&self, p: DVec3) -> f64 {
        self.distance_and_gradient(p).0
    }

    /// Signed distance [m] and the unit direction in which it grows fastest.
    #[inline]
    pub fn distance_and_gradient(&self, p: DVec3) -> (f64, DVec3) {
        match *self {
            Self::Sphere { radius } => exact::sphere(p, radius),
            Self::Box { size } => exact::cuboid(p, size),
            Self::Capsule { radius, height } => exact::capsule(p, radius, height),
            Self::Cylinder { radius, height } => exact::cylinder(p, radius, height),
            Self::HalfSpace => (p.y, DVec3::Y),
            Self::Torus { radius, thickness } => exact::torus(p, radius, thickness),
            Self::Tank { size, wall } => exact::tank(p, size, wall),
            Self::Baked(ref field) => field.distance_and_gradient(p),
        }
    }

    /// Like [`Field::distance_and_gradient`], but exact for meshes too where a point is outside and within `reach` [m]: for things that are larger than the
    /// cells of the field.
    #[inline]
    pub fn nearest(&self, p: DVec3, reach: f64) -> (f64, DVec3) {
        match self {
            Self::Baked(field) => field.nearest(p, reach),
            _ => self.distance_and_gradient(p),
        }
    }

    /// Like [`Field::distance_and_gradient`], or none if the distance is above `reach` [m]. Cheap far from the solid:
    /// what most points of a strand need.
    #[inline]
    pub fn within(&self, p: DVec3, reach: f64) -> Option<(f64, DVec3)> {
        match self {
            Self::Baked(field) => field.within(p, reach),
            _ => Some(self.distance_and_gradient(p)).filter(|&(distance, _)| distance <= reach),
        }
    }
}

#[cfg(test)]
mod tests;
