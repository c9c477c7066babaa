//! The declarations of the scene file, one file per part. All values are SI, radians, +y up.

mod air;
mod body;
mod collision;
mod cord;
mod expect;
mod grains;
mod groom;
mod light;
mod liquid;
mod render;
mod simulation;
mod solid;
mod strand;
mod wetting;

pub use air::{Air, Wind};
pub use body::{RigidBody, Touch};
pub use collision::{Collision, Continuous};
pub use cord::{Bending, Clamp, Cord, CordMaterial, CordShape, Curve, Hold, RestForm, Torsion};
pub use expect::{Expectation, Over};
pub use grains::{Bridge, Distribution, GrainFill, Grains, Pour, Wetness};
pub use groom::{Clump, Curl, DirectionMap, Groom, Import, Map, MapSource, NoiseStyle, Roots, UpAxis};
pub use light::{Ground, Light, Sky};
pub use liquid::{Drain, Emitter, Liquid, LiquidFill, LiquidMaterial, LiquidMethod, Outlet, Region, ViscositySolver};
pub use render::{
    Camera, CameraKeyframe, FibreModel, GrainShade, LiquidShade, LiquidStyle, Look, Quality, Render, Shade,
};
pub use simulation::Simulation;
pub use solid::{Easing, Keyframe, Motion, Shape, Solid};
pub use strand::{
    Csm, Dftl, Gradient, Interaction, Iterations, MassLaw, Pbd, Storage, Strand, StrandModel, StrandTip, StretchOf,
};
pub use wetting::{Capillaries, Towel, WetHair, Wetting};

use crate::declare::section;
use crate::form::{Form, name_of, table, tables, text};

section! {
    /// A whole scene. Every key has a place in one of the tables below; only `name` must be given.
    pub struct Scene {
        /// Name of the scene; run folders are called after it.
        pub name: String = name_of("scene").required(),
        /// One sentence: what it shows.
        pub shows: String = text().or(""),
        /// The figure of the literature that it reproduces, or empty.
        pub figure: String = text().or(""),
        /// Time: how long, how finely.
        pub simulation: Simulation = table().or(Simulation::default()),
        /// The air at rest.
        pub air: Air = table().or(Air::default()),
        /// Winds; they add up.
        pub winds as "wind": Vec<Wind> = tables(100).or([]),
        /// Solid bodies that strands grow on and collide with.
        pub solids as "solid": Vec<Solid> = tables(1000).or([]),
        /// Strands on solids.
        pub grooms as "groom": Vec<Groom> = tables(1000).or([]),
        /// Ropes, strings, wires.
        pub cords as "cord": Vec<Cord> = tables(10_000).or([]),
        /// How strands feel each other. Absent: they do not.
        pub interaction: Option<Interaction> = table().optional_as("strands do not feel each other"),
        /// How strands collide with each other, one by one. Absent: they pass through each other.
        pub collision: Option<Collision> = table().optional_as("strands pass through each other"),
        /// The liquid. Absent: there is none.
        pub liquid: Option<Liquid> = table().optional_as("no liquid"),
        /// Sand and other grains.
        pub grains: Vec<Grains> = tables(100).or([]),
        /// What wet hair has in common. Absent: the defaults.
        pub wetting: Wetting = table().or(Wetting::default()),
        /// Cameras; the first one is used unless another is asked for. Absent: one that frames everything.
        pub cameras as "camera": Vec<Camera> = tables(100).or([]),
        /// Lights.
        pub lights as "light": Vec<Light> = tables(100).or_as(light::default_rig(), "a rig of three suns"),
        /// The light that comes from everywhere.
        pub sky: Sky = table().or(Sky::default()),
        /// A visible floor, which is also a collider.
        pub ground: Option<Ground> = table().optional_as("no floor"),
        /// How pictures are made.
        pub render: Render = table().or(Render::default()),
        /// Named variations of `[render]`; keys that a look leaves out are those of `[render]`.
        pub looks as "look": Vec<Look> = tables(100).or([]),
        /// Outcomes that the scene asserts of its own statistics.
        pub expect: Vec<Expectation> = tables(1000).or([]),
    }
}

impl Scene {
    /// Duration of the run [s].
    pub fn duration(&self) -> f64 {
        f64::from(self.simulation.frames) / self.simulation.fps
    }

    /// Edge of the voxels in which hair gets wet [m].
    pub fn voxel(&self) -> f64 {
        let of_liquid = self.liquid.as_ref().map(|liquid| wetting::VOXEL_OVER_SPACING * liquid.spacing);
        self.wetting.voxel.or(of_liquid).unwrap_or(wetting::VOXEL_ALONE)
    }

    /// Index of the solid with this name.
    pub fn solid(&self, name: &str) -> Option<usize> {
        self.solids.iter().position(|solid| solid.name == name)
    }

    /// Index of the camera with this name.
    pub fn camera(&self, name: &str) -> Option<usize> {
        self.cameras.iter().position(|camera| camera.name == name)
    }

    /// The look with this name.
    pub fn look(&self, name: &str) -> Option<&Look> {
        self.looks.iter().find(|look| look.name == name)
    }
}
