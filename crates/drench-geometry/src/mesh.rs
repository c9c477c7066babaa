//! Triangle meshes with the attributes that grooms and pictures read, and points on their surface.

use glam::{DAffine3, DVec2, DVec3};
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
    /// Texture coordinates, v upwards from the lower edge of the image, or empty.
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

impl TriMesh {
    /// Positions of the corners of triangle `t` [m].
    #[inline]
    pub fn corners(&self, t: usize) -> [DVec3; 3] {
        self.triangles[t].map(|i| self.positions[i as usize])
    }

    /// Unit normal of triangle `t`, or zero where it has no area.
    #[inline]
    pub fn face_normal(&self, t: usize) -> DVec3 {
        let [a, b, c] = self.corners(t);
        (b - a).cross(c - a).normalize_or_zero()
    }

    /// Area of triangle `t` [m²].
    #[inline]
    pub fn area(&self, t: usize) -> f64 {
        let [a, b, c] = self.corners(t);
        0.5 * (b - a).cross(c - a).length()
    }

    /// Area of the whole surface [m²].
    pub fn total_area(&self) -> f64 {
        (0..self.triangles.len()).map(|t| self.area(t)).sum()
    }

    /// Signed volume [m³] by the divergence theorem: positive for a closed mesh whose triangles face outwards.
    ///
    /// Of an open mesh it is the volume of the cone over it from the centre of its bounds.
    pub fn volume(&self) -> f64 {
        let (low, high) = self.bounds();
        let centre = 0.5 * (low + high);
        let tetrahedron = |t| {
            let [a, b, c] = self.corners(t).map(|p| p - centre);
            a.dot(b.cross(c)) / 6.0
        };
        (0..self.triangles.len()).map(tetrahedron).sum()
    }

    /// Lowest and highest corner of the box around the triangles [m]; both zero if there are none.
    pub fn bounds(&self) -> (DVec3, DVec3) {
        if self.triangles.is_empty() {
            return (DVec3::ZERO, DVec3::ZERO);
        }
        let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        self.triangles.iter().flatten().fold(start, |(low, high), &i| {
            let p = self.positions[i as usize];
            (low.min(p), high.max(p))
        })
    }

    /// Sets the vertex normals from the triangles around each vertex, weighted by their angle there, so that they
    /// do not depend on how flat parts are cut into triangles. Vertices of no triangle get +y.
    pub fn compute_normals(&mut self) {
        self.normals.clear();
        self.normals.resize(self.positions.len(), DVec3::ZERO);
        for t in 0..self.triangles.len() {
            let normal = self.face_normal(t);
            let corners = self.corners(t);
            for k in 0..3 {
                let to_next = corners[(k + 1) % 3] - corners[k];
                let to_last = corners[(k + 2) % 3] - corners[k];
                let angle = to_next.cross(to_last).length().atan2(to_next.dot(to_last));
                self.normals[self.triangles[t][k] as usize] += normal * angle;
            }
        }
        for normal in &mut self.normals {
            *normal = normal.try_normalize().unwrap_or(DVec3::Y);
        }
    }

    /// Maps positions and normals. A map that mirrors also turns the triangles, so that they keep facing outwards.
    pub fn transform(&mut self, map: &DAffine3) {
        for p in &mut self.positions {
            *p = map.transform_point3(*p);
        }
        let linear = map.matrix3;
        let determinant = linear.determinant();
        if !self.normals.is_empty() && determinant != 0.0 {
            // Normals are covectors: they map by the inverse transpose.
            let covector = linear.inverse().transpose();
            for n in &mut self.normals {
                *n = (covector * *n).normalize_or(DVec3::Y);
            }
        }
        if determinant < 0.0 {
            for triangle in &mut self.triangles {
                triangle.swap(1, 2);
            }
        }
    }

    /// Turns the mesh inside out.
    pub fn flip(&mut self) {
        for triangle in &mut self.triangles {
            triangle.swap(1, 2);
        }
        for normal in &mut self.normals {
            *normal = -*normal;
        }
    }

    /// Adds the vertices and triangles of `other`; groups of the same name are joined.
    ///
    /// An attribute that only one of the two has is filled for the other: uvs with 0, colours with white, vertex
    /// groups with 0, normals from the triangles.
    pub fn append(&mut self, mut other: TriMesh) {
        if !self.positions.is_empty() && self.normals.is_empty() != other.normals.is_empty() {
            let lacking = if self.normals.is_empty() { &mut *self } else { &mut other };
            lacking.compute_normals();
        }
        let (old, new) = (self.positions.len(), other.positions.len());
        let first_triangle = self.triangles.len() as u32;
        fn join<T: Clone>(mine: &mut Vec<T>, theirs: Vec<T>, counts: (usize, usize), filler: T) {
            if mine.is_empty() && theirs.is_empty() {
                return;
            }
            mine.resize(counts.0, filler.clone());
            mine.extend(theirs);
            mine.resize(counts.0 + counts.1, filler);
        }
        join(&mut self.normals, other.normals, (old, new), DVec3::Y);
        join(&mut self.uvs, other.uvs, (old, new), DVec2::ZERO);
        join(&mut self.colours, other.colours, (old, new), [1.0; 4]);
        for (name, weights) in other.vertex_groups {
            let mine = self.vertex_groups.entry(name).or_default();
            join(mine, weights, (old, new), 0.0);
        }
        for mine in self.vertex_groups.values_mut() {
            mine.resize(old + new, 0.0);
        }
        for (name, triangles) in other.face_groups {
            self.face_groups.entry(name).or_default().extend(triangles.iter().map(|t| t + first_triangle));
        }
        self.positions.extend(other.positions);
        self.triangles.extend(other.triangles.iter().map(|t| t.map(|i| i + old as u32)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use glam::DQuat;

    fn corner() -> TriMesh {
        TriMesh {
            positions: vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z],
            triangles: vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
            ..TriMesh::default()
        }
    }

    #[test]
    fn measures_of_the_unit_corner() {
        let mesh = corner();
        assert_relative_eq!(mesh.volume(), 1.0 / 6.0, epsilon = 1e-15);
        assert_relative_eq!(mesh.total_area(), 1.5 + 0.75_f64.sqrt(), epsilon = 1e-15);
        assert_eq!(mesh.bounds(), (DVec3::ZERO, DVec3::ONE));
        assert_relative_eq!(mesh.face_normal(3).dot(DVec3::ONE.normalize()), 1.0, epsilon = 1e-15);
    }

    #[test]
    fn normals_do_not_depend_on_how_a_square_is_cut() {
        // The three right angles at the origin weigh the same, although one square is cut and the others are not.
        let mut mesh = corner();
        mesh.compute_normals();
        assert_relative_eq!(mesh.normals[0].dot(-DVec3::ONE.normalize()), 1.0, epsilon = 1e-14);
        let split = mesh.positions.len() as u32;
        mesh.positions.push(DVec3::new(0.5, 0.5, 0.0));
        mesh.triangles[0] = [0, 2, split];
        mesh.triangles.push([0, split, 1]);
        mesh.compute_normals();
        assert_relative_eq!(mesh.normals[0].dot(-DVec3::ONE.normalize()), 1.0, epsilon = 1e-14);
    }

    #[test]
    fn a_mirrored_mesh_still_faces_outwards() {
        let mut mesh = corner();
        mesh.compute_normals();
        let turn = DQuat::from_rotation_y(0.7);
        mesh.transform(&DAffine3::from_scale_rotation_translation(DVec3::new(-2.0, 1.0, 3.0), turn, DVec3::ONE));
        assert_relative_eq!(mesh.volume(), 1.0, epsilon = 1e-14);
        let kept = mesh.normals[1];
        mesh.compute_normals();
        // Not equal, since angles change under uneven scaling, but on the same side.
        assert!(kept.dot(mesh.normals[1]) > 0.5);
        mesh.flip();
        assert_relative_eq!(mesh.volume(), -1.0, epsilon = 1e-14);
    }

    #[test]
    fn joined_meshes_keep_their_attributes_apart() {
        let mut first = corner();
        first.vertex_groups.insert("a".into(), vec![1.0; 4]);
        first.face_groups.insert("f".into(), vec![0]);
        let mut second = corner();
        second.colours = vec![[0.5; 4]; 4];
        second.vertex_groups.insert("b".into(), vec![0.5; 4]);
        second.face_groups.insert("f".into(), vec![1]);
        first.append(second);
        assert_eq!(first.triangles[4], [4, 6, 5]);
        assert_eq!(first.face_groups["f"], [0, 5]);
        assert_eq!(first.vertex_groups["a"], [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(first.vertex_groups["b"], [0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.5, 0.5]);
        assert_eq!(first.colours[3], [1.0; 4]);
        assert_eq!(first.colours[4], [0.5; 4]);
    }
}
