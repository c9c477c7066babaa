//! How the triangles of a mesh hang together.
//!
//! Vertices at exactly the same place count as one: files and primitives split vertices where texture coordinates or
//! normals jump, and such a seam is no hole.

use crate::TriMesh;
use glam::DVec3;
use rayon::prelude::*;

/// Edges of a mesh, counted by how many triangles share them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Distinct places that triangles use.
    pub vertices: usize,
    /// Distinct edges.
    pub edges: usize,
    /// Triangles.
    pub triangles: usize,
    /// Edges of a single triangle: the rim of a hole.
    pub boundary_edges: usize,
    /// Edges of three or more triangles.
    pub non_manifold_edges: usize,
    /// Edges of two triangles that face opposite ways.
    pub inconsistent_edges: usize,
}

impl Topology {
    /// Whether the surface has an inside: every edge has two triangles that face the same way.
    pub fn is_closed(&self) -> bool {
        self.triangles > 0 && self.boundary_edges + self.non_manifold_edges + self.inconsistent_edges == 0
    }

    /// Vertices - edges + triangles: 2 for a sphere, 0 for a torus, 1 for a disk.
    pub fn euler_characteristic(&self) -> i64 {
        self.vertices as i64 - self.edges as i64 + self.triangles as i64
    }
}

/// One side of a triangle: its edge as (lower, higher) vertex, the triangle, and whether it runs upwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Side {
    /// The two ends, lower index first.
    pub edge: (u32, u32),
    /// The triangle.
    pub triangle: u32,
    /// Whether the triangle walks from the lower to the higher vertex.
    pub upwards: bool,
}

/// All sides of the triangles, sorted by edge, with vertices named by their representatives in `place`.
pub(crate) fn sorted_sides(triangles: &[[u32; 3]], place: &[u32]) -> Vec<Side> {
    let mut sides = Vec::with_capacity(3 * triangles.len());
    for (t, triangle) in triangles.iter().enumerate() {
        for k in 0..3 {
            let a = place[triangle[k] as usize];
            let b = place[triangle[(k + 1) % 3] as usize];
            sides.push(Side { edge: (a.min(b), a.max(b)), triangle: t as u32, upwards: a < b });
        }
    }
    // All different, so that the order does not depend on the threads.
    sides.par_sort_unstable();
    sides
}

/// For each vertex, the first vertex at exactly the same place.
pub(crate) fn coincident(positions: &[DVec3]) -> Vec<u32> {
    // Adding zero makes -0 and +0 the same bits.
    let key = |(i, p): (usize, &DVec3)| ((*p + 0.0).to_array().map(f64::to_bits), i as u32);
    let mut order: Vec<([u64; 3], u32)> = positions.iter().enumerate().map(key).collect();
    order.par_sort_unstable();
    let mut place = vec![0; positions.len()];
    for run in order.chunk_by(|a, b| a.0 == b.0) {
        for &(_, i) in run {
            place[i as usize] = run[0].1;
        }
    }
    place
}

impl TriMesh {
    /// Counts what holds the triangles together.
    pub fn topology(&self) -> Topology {
        let place = coincident(&self.positions);
        let sides = sorted_sides(&self.triangles, &place);
        let mut used = vec![false; self.positions.len()];
        for &i in self.triangles.iter().flatten() {
            used[place[i as usize] as usize] = true;
        }
        let mut topology = Topology {
            vertices: used.iter().filter(|&&used| used).count(),
            triangles: self.triangles.len(),
            ..Topology::default()
        };
        for edge in sides.chunk_by(|a, b| a.edge == b.edge) {
            topology.edges += 1;
            match edge {
                [_] => topology.boundary_edges += 1,
                [a, b] if a.upwards == b.upwards => topology.inconsistent_edges += 1,
                [_, _] => {}
                _ => topology.non_manifold_edges += 1,
            }
        }
        topology
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seam_is_no_hole_but_a_gap_is() {
        // A tetrahedron whose triangles share no vertex index.
        let p = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        let faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
        let mut mesh = TriMesh::default();
        for face in faces {
            let first = mesh.positions.len() as u32;
            mesh.positions.extend(face.map(|i: usize| p[i]));
            mesh.triangles.push([first, first + 1, first + 2]);
        }
        mesh.positions[0] = DVec3::new(-0.0, 0.0, -0.0);
        let topology = mesh.topology();
        assert!(topology.is_closed());
        assert_eq!((topology.vertices, topology.edges, topology.euler_characteristic()), (4, 6, 2));
        mesh.positions[0].x = -1e-9;
        assert_eq!(mesh.topology().boundary_edges, 4);
    }
}
