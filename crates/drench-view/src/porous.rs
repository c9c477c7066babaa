//! The porous grid, in which hair takes up water, of one frame. It is not in the frames: whoever starts the viewer knows
//! how a simulation builds it.

use drench_io::Frame;
use drench_scene::Scene;

/// The voxels of a frame that hold hair.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Porous {
    /// Edge of a voxel [m].
    pub edge: f32,
    /// The voxels.
    pub voxels: Vec<Voxel>,
}

/// A voxel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Voxel {
    /// Its middle [m].
    pub centre: [f32; 3],
    /// Water over what fits.
    pub saturation: f32,
    /// What else is known of it: name, value, unit.
    pub values: Vec<(&'static str, f64, &'static str)>,
}

/// Finds the porous grid of a frame of a scene, or says why it cannot.
pub type Survey = fn(&Scene, &Frame) -> Result<Porous, String>;
