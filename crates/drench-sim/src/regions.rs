//! Regions of space that the scene fills with liquid or grains.

use crate::SimError;
use crate::solids::{self, SolidModel};
use drench_geometry::field::Field;
use drench_physics::contact::Placement;
use drench_physics::region;
use drench_scene as scene;
use drench_scene::Scene;
use glam::DVec3;

/// A region, with the field of the solid that it is the inside of.
pub enum Region {
    /// A shape of the scene file's own.
    Plain(region::Region<'static>),
    /// The inside of a solid.
    Inside {
        /// Its distance field.
        field: Field,
        /// Where it stands at the beginning.
        placement: Placement,
        /// Corners of a box around it, in its own frame [m].
        bounds: (DVec3, DVec3),
    },
}

impl Region {
    /// The region as the models know it.
    pub fn as_physics(&self) -> region::Region<'_> {
        match self {
            Self::Plain(region) => *region,
            Self::Inside { field, placement, bounds } => {
                region::Region::Solid { field, placement: *placement, bounds: *bounds }
            }
        }
    }
}

/// A region of the scene.
pub fn region(scene: &Scene, given: &scene::Region, solids: &[SolidModel]) -> Result<Region, SimError> {
    Ok(match given {
        scene::Region::Box { low, high } => Region::Plain(region::Region::Box { low: *low, high: *high }),
        scene::Region::Ball { centre, radius } => {
            Region::Plain(region::Region::Ball { centre: *centre, radius: *radius })
        }
        scene::Region::Cylinder { foot, radius, height } => {
            Region::Plain(region::Region::Cylinder { foot: *foot, radius: *radius, height: *height })
        }
        scene::Region::Cone { foot, radius, height } => {
            Region::Plain(region::Region::Cone { foot: *foot, radius: *radius, height: *height })
        }
        scene::Region::Solid { solid } => {
            // The scene was checked: the solid exists.
            let index = scene.solid(solid).unwrap_or_default();
            Region::Inside {
                field: solids::field_at_rest(&scene.solids[index], &solids[index])?,
                placement: solids::placed(scene.pose_of(index, 0.0)),
                bounds: solids[index].mesh.bounds(),
            }
        }
    })
}
