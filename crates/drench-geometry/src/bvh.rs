//! A bounding volume hierarchy over triangles: the closest point on a mesh.
//!
//! The tree is complete: node `i` has the children `2i + 1` and `2i + 2`, and halves its run of triangles at the median
//! of the longest axis. No links are stored, building and refitting are parallel, and the shape of the tree depends
//! on nothing but the number of triangles.

use crate::{SurfacePoint, TriMesh};
use glam::{DVec3, Vec3};
use rayon::prelude::*;

/// Triangles in a leaf, at most.
const LEAF: usize = 2;

/// A tree over the triangles of a mesh, with a copy of their corners.
#[derive(Clone, Debug)]
pub struct Bvh {
    /// Numbers of the triangles in the order of the leaves.
    pub(crate) order: Vec<u32>,
    /// Their corners, in that order.
    pub(crate) corners: Vec<[DVec3; 3]>,
    /// Lowest and highest corner of each node's box, rounded outwards.
    boxes: Vec<[Vec3; 2]>,
    /// Levels below the root.
    pub(crate) depth: u32,
}

/// The point of a mesh closest to some point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClosestPoint {
    /// The point [m].
    pub point: DVec3,
    /// The triangle it lies on.
    pub triangle: u32,
    /// Distance to it [m].
    pub distance: f64,
}

impl ClosestPoint {
    /// The same point by its place on its triangle, which has these corners [m].
    pub fn surface_point(&self, [a, b, c]: [DVec3; 3]) -> SurfacePoint {
        let (e, f, p) = (b - a, c - a, self.point - a);
        let (ee, ef, ff, ep, fp) = (e.dot(e), e.dot(f), f.dot(f), e.dot(p), f.dot(p));
        let area = ee * ff - ef * ef;
        let (u, v) = if area > 0.0 { ((ep * ff - fp * ef) / area, (fp * ee - ep * ef) / area) } else { (0.0, 0.0) };
        let (u, v) = (u.clamp(0.0, 1.0), v.clamp(0.0, 1.0));
        let sum = (u + v).max(1.0);
        SurfacePoint { triangle: self.triangle, u: u / sum, v: v / sum }
    }
}

/// A node of a complete tree: its number and its run of triangles.
#[derive(Clone, Copy)]
pub(crate) struct Node {
    pub index: usize,
    pub first: usize,
    pub last: usize,
}

impl Node {
    /// The two halves.
    #[inline]
    pub fn children(self) -> [Node; 2] {
        let middle = self.first + (self.last - self.first) / 2;
        [
            Node { index: 2 * self.index + 1, first: self.first, last: middle },
            Node { index: 2 * self.index + 2, first: middle, last: self.last },
        ]
    }
}

impl Bvh {
    /// Builds the tree. Indices of the mesh must be in range.
    pub fn build(mesh: &TriMesh) -> Self {
        Self::over(&mesh.positions, &mesh.triangles, (0..mesh.triangles.len() as u32).collect())
    }

    /// Builds the tree over some of the triangles.
    pub(crate) fn over(positions: &[DVec3], triangles: &[[u32; 3]], mut order: Vec<u32>) -> Self {
        let centre = |t: u32| triangles[t as usize].iter().map(|&v| positions[v as usize]).sum::<DVec3>();
        let mut items: Vec<(Vec3, u32)> = order.par_iter().map(|&t| (centre(t).as_vec3(), t)).collect();
        let depth = items.len().div_ceil(LEAF).next_power_of_two().trailing_zeros();
        sort(&mut items, depth);
        order.iter_mut().zip(&items).for_each(|(slot, item)| *slot = item.1);
        let count = order.len();
        let mut tree = Self {
            order,
            corners: vec![[DVec3::ZERO; 3]; count],
            boxes: vec![[Vec3::ZERO; 2]; (2 << depth) - 1],
            depth,
        };
        tree.refit(positions, triangles);
        tree
    }

    /// Follows the vertices to new positions, keeping the tree's shape.
    pub fn refit(&mut self, positions: &[DVec3], triangles: &[[u32; 3]]) {
        let corners = |&t: &u32| triangles[t as usize].map(|v| positions[v as usize]);
        self.corners.par_iter_mut().zip(&self.order).for_each(|(slot, t)| *slot = corners(t));
        let leaves = self.leaves();
        let first = self.boxes.len() - leaves.len();
        let (inner, leaf_boxes) = self.boxes.split_at_mut(first);
        let all_corners = &self.corners;
        leaf_boxes.par_iter_mut().zip(&leaves).for_each(|(slot, leaf)| {
            let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
            let points = all_corners[leaf.first..leaf.last].iter().flatten();
            let (low, high) = points.fold(start, |(low, high), &p| (low.min(p), high.max(p)));
            let outwards = |x: DVec3, next: fn(f32) -> f32| Vec3::from(x.as_vec3().to_array().map(next));
            *slot = [outwards(low, f32::next_down), outwards(high, f32::next_up)];
        });
        for i in (0..inner.len()).rev() {
            let child = |c: usize| if c < first { inner[c] } else { leaf_boxes[c - first] };
            let [a, b] = [child(2 * i + 1), child(2 * i + 2)];
            inner[i] = [a[0].min(b[0]), a[1].max(b[1])];
        }
    }

    /// The root.
    pub(crate) fn root(&self) -> Node {
        Node { index: 0, first: 0, last: self.order.len() }
    }

    /// Whether a node has no children.
    #[inline]
    pub(crate) fn is_leaf(&self, node: Node) -> bool {
        2 * node.index + 1 >= self.boxes.len()
    }

    /// The nodes of the last level.
    pub(crate) fn leaves(&self) -> Vec<Node> {
        let mut level = vec![self.root()];
        for _ in 0..self.depth {
            level = level.into_iter().flat_map(Node::children).collect();
        }
        level
    }

    /// The closest point of the mesh to `p`, or none if it has no triangles or `p` is not finite.
    pub fn closest_point(&self, p: DVec3) -> Option<ClosestPoint> {
        self.closest_within(p, f64::INFINITY)
    }

    /// The closest point of the mesh to `p`, if it is nearer than `bound` [m].
    pub fn closest_within(&self, p: DVec3, bound: f64) -> Option<ClosestPoint> {
        self.closest_from(p, bound, None).map(|(closest, _)| closest)
    }

    /// Like [`Bvh::closest_within`], trying first the triangle in the leaf slot `hint`; also returns the slot of the
    /// closest triangle. The slot found for one point is a good hint for the next: it makes most of the tree too far.
    pub(crate) fn closest_from(&self, p: DVec3, bound: f64, hint: Option<u32>) -> Option<(ClosestPoint, u32)> {
        let mut best2 = bound * bound;
        let mut best = None;
        let mut consider = |i: usize, best2: &mut f64| {
            let candidate = closest_on_triangle(p, &self.corners[i]);
            let d2 = candidate.distance_squared(p);
            if d2 < *best2 {
                *best2 = d2;
                best = Some((candidate, i));
            }
        };
        if let Some(slot) = hint {
            consider(slot as usize, &mut best2);
        }
        // In single precision a box looks nearer or farther by rounding: `slack` errs to the near side.
        let point = p.as_vec3();
        let slack = 4.0 * f32::EPSILON * point.abs().max_element();
        let distance2 = |index: usize| {
            let [low, high] = self.boxes[index];
            let outside = ((low - point).max(point - high) - slack).max(Vec3::ZERO);
            f64::from(outside.length_squared()) * (1.0 - 1e-6)
        };
        let mut stack = [(Node { index: 0, first: 0, last: 0 }, 0.0); 64];
        stack[0] = (self.root(), distance2(0));
        let mut height = 1;
        while height > 0 {
            height -= 1;
            let (mut node, near2) = stack[height];
            if near2 >= best2 {
                continue;
            }
            // Down the nearer side, leaving the farther for later.
            while !self.is_leaf(node) {
                let [a, b] = node.children();
                let (da, db) = (distance2(a.index), distance2(b.index));
                let (near, far, dn, df) = if da <= db { (a, b, da, db) } else { (b, a, db, da) };
                if df < best2 {
                    stack[height] = (far, df);
                    height += 1;
                }
                node = near;
                if dn >= best2 {
                    node.last = node.first;
                    break;
                }
            }
            for i in node.first..node.last {
                consider(i, &mut best2);
            }
        }
        best.map(|(point, i)| (ClosestPoint { point, triangle: self.order[i], distance: best2.sqrt() }, i as u32))
    }
}

/// Puts the items into the order of the leaves: each half on its side of the median.
fn sort(items: &mut [(Vec3, u32)], depth: u32) {
    if depth == 0 || items.len() < 2 {
        return;
    }
    let start = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    let (low, high) = items.iter().fold(start, |(low, high), &(p, _)| (low.min(p), high.max(p)));
    let axis = (high - low).max_position();
    let middle = items.len() / 2;
    // Ties are broken by number: one outcome.
    items.select_nth_unstable_by(middle, |a, b| a.0[axis].total_cmp(&b.0[axis]).then(a.1.cmp(&b.1)));
    let (left, right) = items.split_at_mut(middle);
    if left.len() > 2_000 {
        rayon::join(|| sort(left, depth - 1), || sort(right, depth - 1));
    } else {
        sort(left, depth - 1);
        sort(right, depth - 1);
    }
}

/// The point of a triangle closest to `p`, by the regions of its plane [Ericson2005, 5.1.5].
#[inline]
pub fn closest_on_triangle(p: DVec3, &[a, b, c]: &[DVec3; 3]) -> DVec3 {
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return a;
    }
    let bp = p - b;
    let (d3, d4) = (ab.dot(bp), ac.dot(bp));
    if d3 >= 0.0 && d4 <= d3 {
        return b;
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 && d1 - d3 > 0.0 {
        return a + ab * (d1 / (d1 - d3));
    }
    let cp = p - c;
    let (d5, d6) = (ab.dot(cp), ac.dot(cp));
    if d6 >= 0.0 && d5 <= d6 {
        return c;
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 && d2 - d6 > 0.0 {
        return a + ac * (d2 / (d2 - d6));
    }
    let va = d3 * d6 - d5 * d4;
    let along = (d4 - d3) + (d5 - d6);
    if va <= 0.0 && d4 >= d3 && d5 >= d6 && along > 0.0 {
        return b + (c - b) * ((d4 - d3) / along);
    }
    let sum = va + vb + vc;
    if sum > 0.0 { a + ab * (vb / sum) + ac * (vc / sum) } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives;
    use drench_math::random::Stream;

    fn brute_force(mesh: &TriMesh, p: DVec3) -> f64 {
        (0..mesh.triangles.len())
            .map(|t| closest_on_triangle(p, &mesh.corners(t)).distance(p))
            .fold(f64::INFINITY, f64::min)
    }

    fn probes(count: u64) -> impl Iterator<Item = DVec3> {
        let stream = Stream::new(5, "probes");
        (0..count).map(move |i| stream.direction(i) * 2.5 * stream.uniform(1_000_000 + i))
    }

    #[test]
    fn closest_points_match_brute_force() {
        for mesh in
            [primitives::sphere(1.0, 3), primitives::torus(1.0, 0.3, 3), primitives::cuboid(DVec3::new(1.0, 2.0, 0.01))]
        {
            let tree = Bvh::build(&mesh);
            for p in probes(300) {
                let closest = tree.closest_point(p).unwrap();
                assert!((closest.distance - brute_force(&mesh, p)).abs() < 1e-12);
                assert!((closest.point.distance(p) - closest.distance).abs() < 1e-12);
                let corners = mesh.corners(closest.triangle as usize);
                assert!(closest_on_triangle(closest.point, &corners).distance(closest.point) < 1e-12);
                assert_eq!(tree.closest_within(p, closest.distance * 0.999), None);
                assert_eq!(tree.closest_within(p, closest.distance * 1.001), Some(closest));
            }
        }
    }

    #[test]
    fn closest_point_on_a_triangle_matches_dense_samples() {
        let stream = Stream::new(6, "triangles");
        for i in 0..40 {
            let triangle = [0, 1, 2].map(|k| stream.direction(4 * i + k));
            let p = stream.direction(4 * i + 3) * 2.0;
            let sample = |u: u32, v: u32| {
                let (u, v) = (f64::from(u) / 100.0, f64::from(v) / 100.0);
                triangle[0] + (triangle[1] - triangle[0]) * u + (triangle[2] - triangle[0]) * v
            };
            let nearest =
                (0..=100).flat_map(|u| (0..=100 - u).map(move |v| (u, v))).map(|(u, v)| sample(u, v).distance(p));
            let nearest = nearest.fold(f64::INFINITY, f64::min);
            let found = closest_on_triangle(p, &triangle).distance(p);
            assert!(found <= nearest + 1e-12 && found > nearest - 0.02, "{found} {nearest}");
        }
    }

    #[test]
    fn a_refitted_tree_matches_the_deformed_mesh() {
        let mut mesh = primitives::sphere(1.0, 3);
        let mut tree = Bvh::build(&mesh);
        for p in &mut mesh.positions {
            *p = DVec3::new(p.x * 2.0 + p.y.sin(), p.y * 0.4, p.z - p.x * p.x);
        }
        tree.refit(&mesh.positions, &mesh.triangles);
        for p in probes(200) {
            assert!((tree.closest_point(p).unwrap().distance - brute_force(&mesh, p)).abs() < 1e-12);
        }
    }

    #[test]
    fn few_degenerate_or_no_triangles_are_no_trouble() {
        let mut mesh = TriMesh::default();
        assert_eq!(Bvh::build(&mesh).closest_point(DVec3::ZERO), None);
        mesh.positions = vec![DVec3::X; 3];
        mesh.triangles = vec![[0, 1, 2]];
        assert_eq!(Bvh::build(&mesh).closest_point(DVec3::ZERO).unwrap().distance, 1.0);
        assert_eq!(Bvh::build(&mesh).closest_point(DVec3::NAN), None);
    }
}
