//! What one frame of a run holds: everything that pictures, the viewer and exports may know of the world.

use std::collections::BTreeMap;

/// One frame: every body as it is at `time`, with its topology.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Frame number, 0 is the initial state.
    pub index: u32,
    /// Simulated time [s].
    pub time: f64,
    /// Hair, fur, rope: one entry per groom.
    pub strands: Vec<StrandBody>,
    /// Solids: one entry per solid of the scene.
    pub solids: Vec<SolidBody>,
}

/// Strands, flat: the vertices of strand `i` are `offsets[i]..offsets[i + 1]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StrandBody {
    /// Name of the groom.
    pub name: String,
    /// First vertex of each strand, and the vertex count at the end (n + 1 entries).
    pub offsets: Vec<u32>,
    /// Vertex positions in the world [m].
    pub positions: Vec<[f32; 3]>,
    /// Further values by name: `velocity` [m/s], `radius` [m], `id`, `root_uv`, `root_normal`, `wetness`, ...
    pub attributes: BTreeMap<String, Attribute>,
    /// Further strands that only pictures and exports show, interpolated from these.
    pub children: Option<ChildStrands>,
}

/// Strands that are not simulated: each follows up to three guides and the skin under its own root.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChildStrands {
    /// Name of the solid that carries the roots.
    pub solid: String,
    /// Triangle of each root on that solid.
    pub triangles: Vec<u32>,
    /// Barycentric coordinates (u, v) of each root.
    pub barycentric: Vec<[f32; 2]>,
    /// Guide strands of each child.
    pub guides: Vec<[u32; 3]>,
    /// Weight of each guide; they sum to one.
    pub weights: Vec<[f32; 3]>,
    /// Length of each child over the blended length of its guides.
    pub length_ratio: Vec<f32>,
}

/// A solid's surface.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SolidBody {
    /// Name of the solid.
    pub name: String,
    /// Vertex positions in the world [m].
    pub positions: Vec<[f32; 3]>,
    /// Vertex indices of each triangle.
    pub triangles: Vec<[u32; 3]>,
    /// Vertex normals in the world.
    pub normals: Vec<[f32; 3]>,
}

/// Values that belong to each element of a domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// What one value belongs to.
    pub domain: Domain,
    /// The values, in order of the domain's elements.
    pub values: Values,
}

/// What an attribute's values belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// One value per vertex.
    Vertex,
    /// One value per strand.
    Strand,
}

/// The values of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers.
    U32(Vec<u32>),
    /// Numbers.
    F32(Vec<f32>),
    /// Pairs, such as texture coordinates.
    F32x2(Vec<[f32; 2]>),
    /// Vectors.
    F32x3(Vec<[f32; 3]>),
}
