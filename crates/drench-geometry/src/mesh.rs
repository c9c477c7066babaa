//! Triangle meshes with the attributes that grooms and pictures read, and points on their surface.

use glam::{DVec2, DVec3};
use std::collections::BTreeMap;

/// A triangle mesh. Attribute arrays are either empty or have one entry per vertex.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TriMesh {
    /// Vertex positions [m].
    pub positions: Vec<DVec3>,
    /// Vertex indices of each triangle, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
    /// Unit vertex normals, or empty.
    pub normals: Vec<DVec3>,
    /// Texture coordinates, or empty.
    pub uvs: Vec<DVec2>,
    /// Vertex colours, linear RGBA, or empty.
    pub colours: Vec<[f32; 4]>,
    /// Named sets of triangles.
    pub face_groups: BTreeMap<String, Vec<u32>>,
    /// Named weights, 0 to 1, one per vertex.
    pub vertex_groups: BTreeMap<String, Vec<f32>>,
}

/// A point on a mesh that follows it when it deforms: triangle and barycentric coordinates.
///
/// Its position is `p1 + u (p2 - p1) + v (p3 - p1)` with u, v >= 0 and u + v <= 1 [Henne2013, 2.1.1].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfacePoint {
    /// Index of the triangle.
    pub triangle: u32,
    /// Weight of the triangle's second vertex.
    pub u: f64,
    /// Weight of the triangle's third vertex.
    pub v: f64,
}

impl SurfacePoint {
    /// Interpolates per-vertex values at this point.
    #[inline]
    pub fn interpolate<T>(&self, triangles: &[[u32; 3]], values: &[T]) -> T
    where
        T: Copy + std::ops::Add<Output = T> + std::ops::Mul<f64, Output = T>,
    {
        let [a, b, c] = triangles[self.triangle as usize];
        values[a as usize] * (1.0 - self.u - self.v) + values[b as usize] * self.u + values[c as usize] * self.v
    }
}
