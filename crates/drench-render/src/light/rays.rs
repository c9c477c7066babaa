//! Rays through strands, solids and grains: to lights, for pictures that may take their time, and behind the surfaces of
//! liquids.
//!
//! A binary tree of boxes, split by the surface area heuristic over bins [Wald2007]. Strands are cut into short
//! segments already, so axis-aligned boxes stay narrow. A ray to a light does not stop at the first strand: it counts
//! them, since each only weakens the light.

use crate::curves::Curves;
use crate::grains::Grains;
use crate::surfaces::Surfaces;
use glam::Vec3;
use rayon::prelude::*;

/// Primitives of a leaf at most.
const LEAF: usize = 4;
/// Bins of a split.
const BINS: usize = 16;
/// Strands on the way after which a ray gives up: nothing is left of the light.
const DARK: u32 = 24;
/// Items below which a subtree is built by one thread.
const SERIAL: usize = 1 << 14;

/// The tree over everything that casts shadows.
#[derive(Default)]
pub(crate) struct Rays {
    nodes: Vec<Node>,
    /// First point of a segment, or number of a triangle or grain with its mark.
    items: Vec<u32>,
}

const TRIANGLE: u32 = 1 << 31;
const GRAIN: u32 = 1 << 30;
const NUMBER: u32 = GRAIN - 1;
const LEAF_MARK: u32 = 1 << 31;

/// Two children: their boxes, and where they are. A leaf has the mark, its length in the next three bits, its start in
/// the rest.
#[derive(Clone, Copy)]
struct Node {
    low: [Vec3; 2],
    high: [Vec3; 2],
    child: [u32; 2],
}

/// A box around an item.
#[derive(Clone, Copy)]
struct Boxed {
    low: Vec3,
    high: Vec3,
    item: u32,
}

/// What rays may meet.
#[derive(Clone, Copy)]
pub(crate) struct Scenery<'a> {
    pub curves: &'a Curves,
    pub surfaces: &'a Surfaces,
    pub grains: &'a Grains,
}

/// What a ray meets first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Met {
    /// A triangle.
    Triangle(usize),
    /// A place between a point of a strand and the next.
    Strand(usize, f32),
    /// A grain.
    Grain(usize),
}

/// What lies on a ray's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// A solid.
    Blocked,
    /// So many strands.
    Strands(u32),
}

impl Rays {
    pub fn build(Scenery { curves, surfaces, grains }: Scenery) -> Self {
        let segments = (0..curves.positions.len()).into_par_iter().filter(|&i| curves.begins_segment(i)).map(|i| {
            let (a, b) = (curves.positions[i], curves.positions[i + 1]);
            let r = Vec3::splat(curves.radii[i].max(curves.radii[i + 1]));
            Boxed { low: a.min(b) - r, high: a.max(b) + r, item: i as u32 }
        });
        let mut boxes: Vec<Boxed> = segments.collect();
        boxes.extend((0..surfaces.triangles.len()).map(|t| {
            let [a, b, c] = surfaces.corners(t);
            Boxed { low: a.min(b).min(c), high: a.max(b).max(c), item: t as u32 | TRIANGLE }
        }));
        boxes.extend((0..grains.centres.len()).map(|i| {
            let (p, r) = (grains.centres[i], Vec3::splat(grains.radii[i]));
            Boxed { low: p - r, high: p + r, item: i as u32 | GRAIN }
        }));
        // Leaf places have 28 bits.
        boxes.truncate(1 << 28);
        if boxes.is_empty() {
            return Self::default();
        }
        let mut nodes = Vec::with_capacity(boxes.len() / 2 + 1);
        let root = subtree(&mut boxes, 0);
        flatten(root, &mut nodes);
        Self { nodes, items: boxes.iter().map(|b| b.item).collect() }
    }

    /// What lies between `origin` and the point `distance` along `direction`, other than the strand `own`.
    pub fn way(
        &self,
        Scenery { curves, surfaces, grains }: Scenery,
        (origin, direction, distance): (Vec3, Vec3, f32),
        own: Option<u32>,
    ) -> Way {
        let mut strands = 0;
        if self.nodes.is_empty() {
            return Way::Strands(0);
        }
        let inverse = direction.recip();
        let mut stack = [0_u32; 96];
        let mut depth = 1;
        while depth > 0 {
            depth -= 1;
            let node = &self.nodes[stack[depth] as usize];
            for side in 0..2 {
                if !meets(node.low[side], node.high[side], origin, inverse, distance) {
                    continue;
                }
                let child = node.child[side];
                if child & LEAF_MARK == 0 {
                    stack[depth] = child;
                    depth += 1;
                    continue;
                }
                let start = (child & 0x0fff_ffff) as usize;
                for &item in &self.items[start..start + (child >> 28 & 7) as usize] {
                    if item & TRIANGLE != 0 {
                        let corners = surfaces.corners((item & NUMBER) as usize);
                        if meets_triangle(corners, origin, direction).is_some_and(|t| t > 1e-5 && t < distance) {
                            return Way::Blocked;
                        }
                    } else if item & GRAIN != 0 {
                        let i = (item & NUMBER) as usize;
                        let met = meets_ball(grains.centres[i], grains.radii[i], origin, direction);
                        if met.is_some_and(|t| t > 1e-5 && t < distance) {
                            return Way::Blocked;
                        }
                    } else if Some(curves.strand[item as usize]) != own {
                        let i = item as usize;
                        let (a, b) = (curves.positions[i], curves.positions[i + 1]);
                        let radii = (curves.radii[i], curves.radii[i + 1]);
                        if meets_segment(a, b, radii, origin, direction, distance) {
                            strands += 1;
                            if strands >= DARK {
                                return Way::Strands(DARK);
                            }
                        }
                    }
                }
            }
        }
        Way::Strands(strands)
    }

    /// What a ray meets first beyond `near` [m], and how far away.
    pub fn first(&self, scenery: Scenery, origin: Vec3, direction: Vec3, near: f32) -> Option<(f32, Met)> {
        let Scenery { curves, surfaces, grains } = scenery;
        let (mut nearest, mut met) = (f32::INFINITY, None);
        if self.nodes.is_empty() {
            return None;
        }
        let inverse = direction.recip();
        let mut stack = [(0_u32, 0.0_f32); 96];
        let mut depth = 1;
        while depth > 0 {
            depth -= 1;
            let (at, enter) = stack[depth];
            if enter > nearest {
                continue;
            }
            let node = &self.nodes[at as usize];
            let entries = [0, 1].map(|side| entry(node.low[side], node.high[side], origin, inverse, nearest));
            // The farther side first, so that the nearer is on top of the stack.
            let order = if entries[0].unwrap_or(f32::INFINITY) <= entries[1].unwrap_or(f32::INFINITY) {
                [1, 0]
            } else {
                [0, 1]
            };
            for side in order {
                let Some(enter) = entries[side] else { continue };
                let child = node.child[side];
                if child & LEAF_MARK == 0 {
                    stack[depth] = (child, enter);
                    depth += 1;
                    continue;
                }
                let start = (child & 0x0fff_ffff) as usize;
                for &item in &self.items[start..start + (child >> 28 & 7) as usize] {
                    let i = (item & NUMBER) as usize;
                    let found = if item & TRIANGLE != 0 {
                        meets_triangle(surfaces.corners(i), origin, direction).map(|t| (t, Met::Triangle(i)))
                    } else if item & GRAIN != 0 {
                        meets_ball(grains.centres[i], grains.radii[i], origin, direction).map(|t| (t, Met::Grain(i)))
                    } else {
                        let (a, b) = (curves.positions[i], curves.positions[i + 1]);
                        let radii = (curves.radii[i], curves.radii[i + 1]);
                        approach(a, b, radii, origin, direction).map(|(s, t)| (s, Met::Strand(i, t)))
                    };
                    if let Some((t, what)) = found
                        && t > near
                        && t < nearest
                    {
                        (nearest, met) = (t, Some(what));
                    }
                }
            }
        }
        met.map(|met| (nearest, met))
    }
}

/// A tree before it is laid out.
enum Tree {
    Leaf { start: usize, count: usize, low: Vec3, high: Vec3 },
    Fork { low: Vec3, high: Vec3, children: Box<[Tree; 2]> },
}

impl Tree {
    fn bounds(&self) -> (Vec3, Vec3) {
        match self {
            Tree::Leaf { low, high, .. } | Tree::Fork { low, high, .. } => (*low, *high),
        }
    }
}

fn around(boxes: &[Boxed]) -> (Vec3, Vec3) {
    let none = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    boxes.iter().fold(none, |(low, high), b| (low.min(b.low), high.max(b.high)))
}

fn half_area(low: Vec3, high: Vec3) -> f32 {
    let e = (high - low).max(Vec3::ZERO);
    e.x * e.y + e.y * e.z + e.z * e.x
}

fn subtree(boxes: &mut [Boxed], start: usize) -> Tree {
    let (low, high) = around(boxes);
    if boxes.len() <= LEAF {
        return Tree::Leaf { start, count: boxes.len(), low, high };
    }
    let middle = split(boxes);
    let serial = boxes.len() < SERIAL;
    let (left, right) = boxes.split_at_mut(middle);
    let (a, b) = if serial {
        (subtree(left, start), subtree(right, start + middle))
    } else {
        rayon::join(|| subtree(left, start), || subtree(right, start + middle))
    };
    Tree::Fork { low, high, children: Box::new([a, b]) }
}

/// Orders the boxes so that those before the returned place form the cheaper left child.
fn split(boxes: &mut [Boxed]) -> usize {
    let centre = |b: &Boxed| 0.5 * (b.low + b.high);
    let none = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    let (low, high) = boxes.iter().map(centre).fold(none, |(low, high), c| (low.min(c), high.max(c)));
    let axis = (high - low).max_position();
    let extent = high[axis] - low[axis];
    let half = boxes.len() / 2;
    if extent.is_nan() || extent <= 0.0 {
        return half;
    }
    let bin = |b: &Boxed| (((centre(b)[axis] - low[axis]) / extent * BINS as f32) as usize).min(BINS - 1);
    let mut bins = [(0_usize, Vec3::INFINITY, Vec3::NEG_INFINITY); BINS];
    for b in boxes.iter() {
        let bin = &mut bins[bin(b)];
        *bin = (bin.0 + 1, bin.1.min(b.low), bin.2.max(b.high));
    }
    // Costs of everything right of each cut, then from the left.
    let join = |a: (usize, Vec3, Vec3), b: (usize, Vec3, Vec3)| (a.0 + b.0, a.1.min(b.1), a.2.max(b.2));
    let nothing = (0, Vec3::INFINITY, Vec3::NEG_INFINITY);
    let mut right = [0.0; BINS];
    let mut sum = nothing;
    for k in (1..BINS).rev() {
        sum = join(sum, bins[k]);
        right[k] = sum.0 as f32 * half_area(sum.1, sum.2);
    }
    let (mut best, mut cut) = (f32::INFINITY, 0);
    sum = nothing;
    for k in 1..BINS {
        sum = join(sum, bins[k - 1]);
        let cost = sum.0 as f32 * half_area(sum.1, sum.2) + right[k];
        if sum.0 > 0 && sum.0 < boxes.len() && cost < best {
            (best, cut) = (cost, k);
        }
    }
    let mut middle = 0;
    for i in 0..boxes.len() {
        if bin(&boxes[i]) < cut {
            boxes.swap(i, middle);
            middle += 1;
        }
    }
    if middle == 0 || middle == boxes.len() { half } else { middle }
}

/// Lays the tree out, parents first; returns what a parent stores of it.
fn flatten(tree: Tree, nodes: &mut Vec<Node>) -> u32 {
    match tree {
        Tree::Leaf { start, count, low, high } => {
            let leaf = LEAF_MARK | (count as u32) << 28 | start as u32;
            if nodes.is_empty() {
                // A lone leaf still needs a root.
                let nothing = (Vec3::INFINITY, Vec3::NEG_INFINITY);
                nodes.push(Node { low: [low, nothing.0], high: [high, nothing.1], child: [leaf, LEAF_MARK] });
            }
            leaf
        }
        Tree::Fork { children, .. } => {
            let at = nodes.len();
            let [(low_a, high_a), (low_b, high_b)] = [children[0].bounds(), children[1].bounds()];
            nodes.push(Node { low: [low_a, low_b], high: [high_a, high_b], child: [0; 2] });
            for (side, child) in (*children).into_iter().enumerate() {
                let child = flatten(child, nodes);
                nodes[at].child[side] = child;
            }
            at as u32
        }
    }
}

/// Whether a ray meets a box before `distance`.
#[inline]
fn meets(low: Vec3, high: Vec3, origin: Vec3, inverse: Vec3, distance: f32) -> bool {
    entry(low, high, origin, inverse, distance).is_some()
}

/// Where a ray enters a box before `distance`.
#[inline]
fn entry(low: Vec3, high: Vec3, origin: Vec3, inverse: Vec3, distance: f32) -> Option<f32> {
    let (a, b) = ((low - origin) * inverse, (high - origin) * inverse);
    let enter = a.min(b).max_element().max(0.0);
    let leave = a.max(b).min_element().min(distance);
    (enter <= leave * 1.000_001).then_some(enter)
}

/// Distance to a ball along a ray of unit direction; from inside none.
#[inline]
pub(crate) fn meets_ball(centre: Vec3, radius: f32, origin: Vec3, direction: Vec3) -> Option<f32> {
    let to = centre - origin;
    let along = to.dot(direction);
    // The part across, not a difference of large squares: exact for small balls far away.
    let across = to - direction * along;
    let half = radius * radius - across.length_squared();
    (half >= 0.0).then(|| along - half.sqrt())
}

/// Whether a ray passes a tapered segment within its radius.
#[inline]
pub(crate) fn meets_segment(a: Vec3, b: Vec3, radii: (f32, f32), origin: Vec3, direction: Vec3, distance: f32) -> bool {
    approach(a, b, radii, origin, direction).is_some_and(|(s, t)| s > radii.0 + (radii.1 - radii.0) * t && s < distance)
}

/// Where a ray passes a tapered segment within its radius: distance along the ray and place along the segment.
#[inline]
fn approach(a: Vec3, b: Vec3, radii: (f32, f32), origin: Vec3, direction: Vec3) -> Option<(f32, f32)> {
    // Closest approach of two lines: minimise |origin + s direction - a - t (b - a)|.
    let ab = b - a;
    let w = origin - a;
    let along = direction.dot(ab);
    let length = ab.length_squared();
    let determinant = length - along * along;
    if determinant <= 1e-7 * length {
        return None;
    }
    let t = (w.dot(ab) - along * w.dot(direction)) / determinant;
    // The end belongs to the next segment, so that a ray counts a strand once.
    if !(0.0..1.0).contains(&t) {
        return None;
    }
    let s = t * along - w.dot(direction);
    let r = radii.0 + (radii.1 - radii.0) * t;
    ((w + direction * s - ab * t).length_squared() < r * r).then_some((s, t))
}

/// Distance to a triangle along a ray [Moller1997].
fn meets_triangle([a, b, c]: [Vec3; 3], origin: Vec3, direction: Vec3) -> Option<f32> {
    let (ab, ac) = (b - a, c - a);
    let p = direction.cross(ac);
    let determinant = ab.dot(p);
    if determinant == 0.0 {
        return None;
    }
    let s = (origin - a) / determinant;
    let u = s.dot(p);
    let q = s.cross(ab);
    let v = direction.dot(q);
    (u >= 0.0 && v >= 0.0 && u + v <= 1.0).then(|| ac.dot(q))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curves::Strand;
    use drench_math::random::Stream;

    fn scene(strands: u64) -> (Curves, Surfaces, Grains) {
        let stream = Stream::new(3, "rays");
        let mut curves = Curves::default();
        for k in 0..strands {
            let (first, count) = (curves.positions.len() as u32, 4);
            let mut p = stream.direction(k).as_vec3() * stream.child(1).uniform(k) as f32;
            for j in 0..count {
                curves.positions.push(p);
                curves.radii.push(0.01 + 0.005 * j as f32);
                curves.strand.push(k as u32);
                p += stream.child(2).direction(8 * k + u64::from(j)).as_vec3() * 0.1;
            }
            curves.strands.push(Strand { first, count, look: 0, random: 0, lock: 0 });
        }
        let mut surfaces = Surfaces::default();
        for k in 0..20 {
            let p = stream.child(3).direction(k).as_vec3() * 0.8;
            let first = surfaces.positions.len() as u32;
            surfaces.positions.extend([p, p + Vec3::new(0.1, 0.02, 0.0), p + Vec3::new(0.0, 0.1, 0.05)]);
            surfaces.triangles.push([first, first + 1, first + 2]);
        }
        let mut grains = Grains::default();
        for k in 0..strands / 10 {
            grains.centres.push(stream.child(4).direction(k).as_vec3() * stream.child(5).uniform(k) as f32);
            grains.radii.push(0.01 + 0.03 * stream.child(6).uniform(k) as f32);
        }
        (curves, surfaces, grains)
    }

    #[test]
    fn the_tree_finds_what_brute_force_finds() {
        for strands in [0, 1, 300] {
            let (curves, surfaces, grains) = scene(strands);
            let scenery = Scenery { curves: &curves, surfaces: &surfaces, grains: &grains };
            let rays = Rays::build(scenery);
            let stream = Stream::new(8, "directions");
            let mut busy = 0;
            for k in 0..400 {
                let origin = stream.direction(k).as_vec3() * 1.5;
                let direction = (stream.child(1).direction(k).as_vec3() * 0.7 - origin).normalize();
                let distance = 0.5 + 2.0 * stream.child(2).uniform(k) as f32;
                let own = (strands > 0).then_some(k as u32 % 300);
                let triangles = (0..surfaces.triangles.len())
                    .filter_map(|t| Some((meets_triangle(surfaces.corners(t), origin, direction)?, Met::Triangle(t))));
                let balls = (0..grains.centres.len()).filter_map(|i| {
                    Some((meets_ball(grains.centres[i], grains.radii[i], origin, direction)?, Met::Grain(i)))
                });
                let solid: Vec<(f32, Met)> = triangles.chain(balls).filter(|&(t, _)| t > 1e-5).collect();
                let blocked = solid.iter().any(|&(t, _)| t < distance);
                let segments = (0..curves.positions.len()).filter(|&i| curves.begins_segment(i)).filter_map(|i| {
                    let (a, b) = (curves.positions[i], curves.positions[i + 1]);
                    let (s, t) = approach(a, b, (curves.radii[i], curves.radii[i + 1]), origin, direction)?;
                    (s > 1e-5).then_some((s, Met::Strand(i, t)))
                });
                let nearest = solid.iter().copied().chain(segments).min_by(|a, b| a.0.total_cmp(&b.0));
                assert_eq!(rays.first(scenery, origin, direction, 1e-5), nearest);
                let hits = (0..curves.positions.len())
                    .filter(|&i| curves.begins_segment(i) && Some(curves.strand[i]) != own)
                    .filter(|&i| {
                        let (a, b) = (curves.positions[i], curves.positions[i + 1]);
                        meets_segment(a, b, (curves.radii[i], curves.radii[i + 1]), origin, direction, distance)
                    })
                    .count() as u32;
                let got = rays.way(scenery, (origin, direction, distance), own);
                if blocked && hits < DARK {
                    assert_eq!(got, Way::Blocked);
                } else if !blocked {
                    assert_eq!(got, Way::Strands(hits.min(DARK)));
                    busy += hits;
                }
            }
            assert!(strands < 300 || busy > 100);
        }
    }

    #[test]
    fn a_small_ball_far_away_keeps_its_shape() {
        let (centre, radius) = (Vec3::new(3.0, 40.0, -7.0), 1e-3);
        let side = centre.normalize().any_orthonormal_vector();
        for (offset, hit) in [(0.0, true), (0.95, true), (1.05, false)] {
            let direction = (centre + side * (radius * offset)).normalize();
            assert_eq!(meets_ball(centre, radius, Vec3::ZERO, direction).is_some(), hit, "{offset}");
        }
    }

    #[test]
    fn segment_test_agrees_with_dense_sampling() {
        let stream = Stream::new(6, "segments");
        let mut hits = 0;
        for k in 0..2_000 {
            let p = |j: u64| stream.child(j).direction(k).as_vec3();
            let (a, b) = (p(0) * 0.3, p(1) * 0.3);
            let radii = (0.02 + 0.05 * stream.child(5).uniform(k) as f32, 0.03);
            let (origin, distance) = (p(2) * 2.0, 4.0);
            let direction = (p(3) * 0.3 - origin).normalize();
            // Signed gap between the ray and the surface, smallest over many places of the segment.
            let gap = (0..=4_000)
                .map(|j| {
                    let t = j as f32 / 4_000.0;
                    let c = a.lerp(b, t);
                    let s = (c - origin).dot(direction);
                    (origin + direction * s - c).length() - (radii.0 + (radii.1 - radii.0) * t)
                })
                .fold(f32::INFINITY, f32::min);
            let got = meets_segment(a, b, radii, origin, direction, distance);
            hits += u32::from(got);
            // The test has flat ends and looks at the closest approach only: differences stay within the taper.
            if got {
                assert!(gap < 1e-4, "{gap}");
            } else if gap < -0.01 {
                let ab = b - a;
                let w = origin - a;
                let t = (w.dot(ab) - direction.dot(ab) * w.dot(direction))
                    / (ab.length_squared() - direction.dot(ab).powi(2));
                assert!(!(0.0..1.0).contains(&t) || gap > -0.05 && t.fract() != 0.0, "{gap} at {t}");
            }
        }
        assert!(hits > 100, "{hits}");
    }
}
