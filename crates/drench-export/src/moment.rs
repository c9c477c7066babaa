//! A run as other programs see it: what stays the same, and one frame after the other.

use drench_io::{Attribute, Domain, ParticleBody, RigidPose, Values};
use glam::{DVec3, Vec3};
use std::collections::BTreeMap;

/// What an export knows before its first frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shot {
    /// Name of the scene.
    pub name: String,
    /// Version of Drench that made the run.
    pub version: String,
    /// Frames per second [1/s]. Frame `n` is at the time `n / fps`.
    pub fps: f64,
    /// The frames that will come, in order; damaged ones are left out on the way.
    pub frames: Vec<u32>,
    /// Width of the picture over its height.
    pub aspect: f32,
    /// Linear colours of bodies, by name: what a program may show them in before it has materials.
    pub colours: BTreeMap<String, [f32; 3]>,
}

/// Everything of a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moment {
    /// Number of the frame.
    pub index: u32,
    /// Simulated time [s].
    pub time: f64,
    /// Hair, fur, ropes.
    pub curves: Vec<Curves>,
    /// Liquids and grains.
    pub points: Vec<Points>,
    /// Solids, and surfaces of liquids if they were asked for.
    pub meshes: Vec<Mesh>,
    /// Cameras.
    pub cameras: Vec<CameraView>,
}

/// Curves, flat: the vertices of curve `i` are `offsets[i]..offsets[i + 1]`. Every curve has two vertices or more.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// Name of the groom or cord.
    pub name: String,
    /// First vertex of each curve, and the number of vertices at the end (n + 1 entries).
    pub offsets: Vec<u32>,
    /// Vertices [m], on the curve.
    pub positions: Vec<[f32; 3]>,
    /// Values of vertices and of whole strands, by name; see [`crate::curves`].
    pub attributes: BTreeMap<String, Attribute>,
}

/// Particles with their attributes: `velocity` [m/s], `radius` [m], `id`, `age` [s], `wetness`.
pub type Points = ParticleBody;

/// A surface of triangles, counter-clockwise from outside.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Name of the solid, or of the liquid with `_surface` after it.
    pub name: String,
    /// What it is the surface of.
    pub kind: MeshKind,
    /// Vertices in the world [m].
    pub positions: Vec<[f32; 3]>,
    /// Vertex indices of each triangle.
    pub triangles: Vec<[u32; 3]>,
    /// Unit normals at the vertices, or nothing.
    pub normals: Vec<[f32; 3]>,
    /// Where it is, if it moves without deforming.
    pub pose: Option<RigidPose>,
}

/// What a mesh is the surface of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MeshKind {
    /// A solid: its triangles stay the same.
    #[default]
    Solid,
    /// A liquid: every frame has triangles of its own.
    Liquid,
}

/// What a camera sees.
#[derive(Clone, Debug, PartialEq)]
pub struct CameraView {
    /// Name.
    pub name: String,
    /// Where it stands [m].
    pub position: DVec3,
    /// Unit direction that it looks in.
    pub forward: DVec3,
    /// Unit direction that is up in the picture, across `forward`.
    pub up: DVec3,
    /// Vertical angle of view [rad].
    pub field_of_view: f64,
    /// Distance that is sharp [m].
    pub focus: f64,
    /// Diameter of the aperture [m]; 0 keeps everything sharp.
    pub aperture: f64,
}

impl Curves {
    /// Number of curves.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Numbers of vertices of the curves.
    pub fn vertex_counts(&self) -> impl Iterator<Item = u32> + '_ {
        self.offsets.windows(2).map(|pair| pair[1] - pair[0])
    }

    /// Numbers at the vertices by name, if there are such.
    pub fn scalars(&self, name: &str) -> Option<&[f32]> {
        match self.attributes.get(name) {
            Some(Attribute { domain: Domain::Vertex, values: Values::F32(values) }) => Some(values),
            _ => None,
        }
    }

    /// Vectors at the vertices by name, if there are such.
    pub fn vectors(&self, name: &str) -> Option<&[[f32; 3]]> {
        match self.attributes.get(name) {
            Some(Attribute { domain: Domain::Vertex, values: Values::F32x3(values) }) => Some(values),
            _ => None,
        }
    }
}

impl Mesh {
    /// The vertices as they are before the pose moves them [m], if it moves without deforming.
    pub fn at_rest(&self) -> Option<Vec<[f32; 3]>> {
        let pose = self.pose?;
        let back = pose.rotation.inverse();
        let rest = |p: &[f32; 3]| (back * (Vec3::from(*p).as_dvec3() - pose.position)).as_vec3().to_array();
        Some(self.positions.iter().map(rest).collect())
    }
}

/// The lowest and highest corner of the box around points of these radii [m]; both zero if there is none.
pub fn extent(positions: &[[f32; 3]], radius: f32) -> [[f32; 3]; 2] {
    let mut all = positions.iter().map(|&p| Vec3::from(p)).filter(|p| p.is_finite());
    let Some(first) = all.next() else { return [[0.0; 3]; 2] };
    let (low, high) = all.fold((first, first), |(low, high), p| (low.min(p), high.max(p)));
    [(low - radius).to_array(), (high + radius).to_array()]
}
