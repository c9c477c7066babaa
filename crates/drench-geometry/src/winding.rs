//! The winding number of a mesh around a point: 1 inside, 0 outside, and in between where the mesh has holes, so that
//! "above one half" is inside even for meshes with gaps, overlaps and stray triangles [Jacobson2013].
//!
//! Far parts of the mesh act as one dipole each [Barill2018, eq. 9 and 12]:
//! w(q) = sum over triangles of solid angle / 4 pi, about sum over clusters of (p - q) . N / (4 pi |p - q|^3), with
//! N the sum of area normals and p the area-weighted centre.

use crate::bvh::{Bvh, Node};
use glam::DVec3;
use rayon::prelude::*;
use std::f64::consts::PI;

/// A cluster acts as a dipole from this many radii away. 2 is the value of the paper.
const FAR: f64 = 2.0;

/// Dipoles of all nodes of a [`Bvh`].
#[derive(Clone, Debug)]
pub struct WindingTree {
    dipoles: Vec<Dipole>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Dipole {
    /// Area-weighted centre [m].
    centre: DVec3,
    /// Sum of area normals [m²].
    moment: DVec3,
    /// Square of the distance from the centre beyond which the dipole is good [m²].
    far2: f64,
    /// Area [m²].
    area: f64,
}

impl WindingTree {
    /// The dipoles of this tree's nodes.
    pub fn build(tree: &Bvh) -> Self {
        let leaves = tree.leaves();
        let count = 2 * leaves.len() - 1;
        let mut dipoles = vec![Dipole::default(); count];
        let (inner, last) = dipoles.split_at_mut(count - leaves.len());
        last.par_iter_mut().zip(&leaves).for_each(|(slot, leaf)| *slot = of_leaf(&tree.corners[leaf.first..leaf.last]));
        for i in (0..inner.len()).rev() {
            let child = |c: usize| if c < inner.len() { inner[c] } else { last[c - inner.len()] };
            inner[i] = join(child(2 * i + 1), child(2 * i + 2));
        }
        Self { dipoles }
    }

    /// The winding number around `p`. `tree` is the one that this was built from.
    pub fn winding_number(&self, tree: &Bvh, p: DVec3) -> f64 {
        let mut sum = 0.0;
        let mut stack = [Node { index: 0, first: 0, last: 0 }; 64];
        stack[0] = tree.root();
        let mut height = 1;
        while height > 0 {
            height -= 1;
            let node = stack[height];
            let dipole = &self.dipoles[node.index];
            let offset = dipole.centre - p;
            let distance2 = offset.length_squared();
            if distance2 > dipole.far2 {
                sum += offset.dot(dipole.moment) / (distance2 * distance2.sqrt());
            } else if tree.is_leaf(node) {
                sum += tree.corners[node.first..node.last].iter().map(|corners| solid_angle(corners, p)).sum::<f64>();
            } else {
                let [a, b] = node.children();
                stack[height] = b;
                stack[height + 1] = a;
                height += 2;
            }
        }
        sum / (4.0 * PI)
    }
}

fn of_leaf(triangles: &[[DVec3; 3]]) -> Dipole {
    let mut sum = Dipole::default();
    for &[a, b, c] in triangles {
        let moment = 0.5 * (b - a).cross(c - a);
        let area = moment.length();
        sum.moment += moment;
        sum.area += area;
        sum.centre += (a + b + c) / 3.0 * area;
    }
    if sum.area > 0.0 {
        sum.centre /= sum.area;
        let radius2 = triangles.iter().flatten().map(|p| p.distance_squared(sum.centre)).fold(0.0, f64::max);
        sum.far2 = radius2 * FAR * FAR;
    }
    sum
}

fn join(a: Dipole, b: Dipole) -> Dipole {
    let area = a.area + b.area;
    if area == 0.0 {
        return Dipole::default();
    }
    let centre = (a.centre * a.area + b.centre * b.area) / area;
    // The ball around the two balls, from the new centre.
    let far = |d: Dipole| if d.area > 0.0 { d.centre.distance(centre) * FAR + d.far2.sqrt() } else { 0.0 };
    Dipole { centre, moment: a.moment + b.moment, far2: far(a).max(far(b)).powi(2), area }
}

/// Signed solid angle of a triangle seen from `p` [VanOosterom1983, eq. 8].
#[inline]
fn solid_angle(corners: &[DVec3; 3], p: DVec3) -> f64 {
    let [a, b, c] = corners.map(|corner| corner - p);
    let (la, lb, lc) = (a.length(), b.length(), c.length());
    let volume = a.dot(b.cross(c));
    let rest = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
    2.0 * volume.atan2(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TriMesh, primitives};
    use drench_math::random::Stream;

    fn probes(count: u64) -> impl Iterator<Item = DVec3> {
        let stream = Stream::new(8, "probes");
        (0..count).map(move |i| stream.direction(i) * 2.0 * stream.uniform(1_000_000 + i))
    }

    fn exact(mesh: &TriMesh, p: DVec3) -> f64 {
        (0..mesh.triangles.len()).map(|t| solid_angle(&mesh.corners(t), p)).sum::<f64>() / (4.0 * PI)
    }

    #[test]
    fn the_tree_matches_the_sum_over_all_triangles() {
        let mut open = primitives::torus(1.0, 0.4, 4);
        open.triangles.retain(|t| t[0] % 7 != 0);
        for mesh in [primitives::sphere(1.0, 4), primitives::cuboid(DVec3::ONE), open] {
            let tree = Bvh::build(&mesh);
            let winding = WindingTree::build(&tree);
            for p in probes(300) {
                let (fast, slow) = (winding.winding_number(&tree, p), exact(&mesh, p));
                assert!((fast - slow).abs() < 0.05, "{fast} {slow} at {p}");
            }
        }
    }

    #[test]
    fn closed_meshes_have_whole_numbers() {
        let mesh = primitives::sphere(1.0, 3);
        for p in probes(200).filter(|p| (p.length() - 1.0).abs() > 0.02) {
            let expected = if p.length() < 1.0 { 1.0 } else { 0.0 };
            assert!((exact(&mesh, p) - expected).abs() < 1e-9);
        }
    }
}
