//! Rays through strands, solids and grains: to lights, for pictures that may take their time, and behind the surfaces of
//! liquids.
//!
//! A binary tree of boxes, split by the surface area heuristic over bins [Wald2007]. Strands are cut into chains of a few
//! short segments, so axis-aligned boxes stay narrow. A ray to a light does not stop at the first strand: it counts
//! them, since each only weakens the light. A line of sight is as wide as a pixel: it collects the strands on its way
//! with the share of it that each covers, until nothing is left.

use crate::curves::{Curves, Strand};
use crate::grains::Grains;
use crate::raster::strip;
use crate::surfaces::Surfaces;
use glam::{Vec3, Vec3A};
use rayon::prelude::*;

/// Primitives of a leaf at most.
const LEAF: usize = 4;
/// Segments of a strand that share a box.
const CHAIN: usize = 4;
/// Bins of a split.
const BINS: usize = 16;
/// Items that are cut in halves, without bins.
const FEW: usize = 8;
/// Strands on the way after which a ray gives up: nothing is left of the light.
const DARK: u32 = 24;
/// Items below which a subtree is built by one thread.
const SERIAL: usize = 1 << 13;

/// The tree over everything that casts shadows.
#[derive(Default)]
pub(crate) struct Rays {
    nodes: Vec<Node>,
    /// First point of a chain, or number of a triangle or grain with its mark.
    items: Vec<u32>,
    /// How many strands each strand stands for; zero if another stands for it.
    widths: Vec<f32>,
}

const TRIANGLE: u32 = 1 << 31;
const GRAIN: u32 = 1 << 30;
const NUMBER: u32 = GRAIN - 1;
const LEAF_MARK: u32 = 1 << 31;

/// Two children: their boxes, and where they are. A leaf has the mark, its length in the next three bits, its start in
/// the rest.
#[derive(Clone, Copy)]
struct Node {
    low: [Vec3A; 2],
    high: [Vec3A; 2],
    child: [u32; 2],
}

/// A box around an item.
#[derive(Clone, Copy)]
struct Boxed {
    low: Vec3A,
    high: Vec3A,
    item: u32,
}

/// What rays may meet.
#[derive(Clone, Copy)]
pub(crate) struct Scenery<'a> {
    pub curves: &'a Curves,
    pub surfaces: &'a Surfaces,
    pub grains: &'a Grains,
}

/// A line of sight that widens on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sightline {
    pub origin: Vec3,
    /// Unit length.
    pub direction: Vec3,
    /// Solids nearer than this are not met [m].
    pub near: f32,
    /// What is farther is not met [m].
    pub far: f32,
    /// Strands nearer than this are not met [m].
    pub near_strands: f32,
    /// Width of a pixel at the origin [m], and by how much it grows in a metre.
    pub pixel: (f32, f32),
}

/// What a line of sight meets first of what is opaque.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Met {
    /// A triangle.
    Triangle(usize),
    /// A grain.
    Grain(usize),
}

/// A strand on a line of sight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Crossing {
    /// How far away [m].
    pub distance: f32,
    /// The point of the strand before it.
    pub point: u32,
    /// Place between this point and the next, 0 to 1.
    pub along: f32,
    /// Share of the line of sight that it covers.
    pub covered: f32,
}

/// The strands on a line of sight, from near to far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Crossings {
    list: [Crossing; Self::MOST],
    count: usize,
}

impl Crossings {
    /// Strands after which nothing more is seen.
    const MOST: usize = 24;
    /// What is left to see when farther strands are left out.
    const OPAQUE: f32 = 0.02;

    pub fn iter(&self) -> impl Iterator<Item = &Crossing> {
        self.list[..self.count].iter()
    }

    /// Adds a strand; returns the distance beyond which nothing matters [m].
    fn add(&mut self, crossing: Crossing) -> f32 {
        let place = self.list[..self.count].partition_point(|c| c.distance <= crossing.distance);
        if place == Self::MOST {
            return self.list[Self::MOST - 1].distance;
        }
        self.count = (self.count + 1).min(Self::MOST);
        self.list.copy_within(place..self.count - 1, place + 1);
        self.list[place] = crossing;
        let mut left = 1.0;
        for (k, c) in self.list[..self.count].iter().enumerate() {
            left *= 1.0 - c.covered;
            if left < Self::OPAQUE {
                self.count = k + 1;
                return c.distance;
            }
        }
        if self.count == Self::MOST { self.list[Self::MOST - 1].distance } else { f32::INFINITY }
    }
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
    /// The tree over everything; `stands_for` tells how many strands each stands for, if any.
    pub fn build(
        Scenery { curves, surfaces, grains }: Scenery,
        stands_for: impl Fn(&Strand) -> Option<f32> + Sync,
    ) -> Self {
        let widths: Vec<f32> = curves.strands.par_iter().map(|strand| stands_for(strand).unwrap_or(0.0)).collect();
        let chains = curves.strands.par_iter().zip(&widths).filter(|(_, width)| **width > 0.0);
        let mut boxes: Vec<Boxed> = chains
            .flat_map_iter(|(strand, &width)| {
                let segments = strand.segments();
                segments.clone().step_by(CHAIN).map(move |start| {
                    let range = start..=segments.end.min(start + CHAIN);
                    let around = |(low, high): (Vec3A, Vec3A), i: usize| {
                        let (p, r) = (Vec3A::from(curves.positions[i]), Vec3A::splat(width * curves.radii[i]));
                        (low.min(p - r), high.max(p + r))
                    };
                    let (low, high) = range.fold((Vec3A::INFINITY, Vec3A::NEG_INFINITY), around);
                    Boxed { low, high, item: start as u32 }
                })
            })
            .collect();
        boxes.extend((0..surfaces.triangles.len()).map(|t| {
            let [a, b, c] = surfaces.corners(t).map(Vec3A::from);
            Boxed { low: a.min(b).min(c), high: a.max(b).max(c), item: t as u32 | TRIANGLE }
        }));
        boxes.extend((0..grains.centres.len()).map(|i| {
            let (p, r) = (Vec3A::from(grains.centres[i]), Vec3A::splat(grains.radii[i]));
            Boxed { low: p - r, high: p + r, item: i as u32 | GRAIN }
        }));
        // Leaf places have 28 bits.
        boxes.truncate(1 << 28);
        if boxes.is_empty() {
            return Self::default();
        }
        let mut nodes = Vec::with_capacity(boxes.len() / 2 + 1);
        let bounds = around(&boxes);
        let tree = subtree(&mut boxes, 0);
        let root = flatten(tree, &mut nodes);
        if nodes.is_empty() {
            // A lone leaf still needs a root.
            nodes.push(Node { low: [bounds.0, NOWHERE.0], high: [bounds.1, NOWHERE.1], child: [root, LEAF_MARK] });
        }
        Self { nodes, items: boxes.iter().map(|b| b.item).collect(), widths }
    }

    /// Hands the items whose boxes a ray meets to `visit`, roughly from near to far. The ray is a cone whose radius is
    /// `width.0` at its origin and grows by `width.1` in a metre. `visit` returns the distance up to which items matter
    /// from then on.
    #[inline]
    fn walk(
        &self,
        (origin, direction): (Vec3, Vec3),
        mut limit: f32,
        width: (f32, f32),
        mut visit: impl FnMut(u32, f32) -> f32,
    ) {
        if self.nodes.is_empty() {
            return;
        }
        let (origin, direction) = (Vec3A::from(origin), Vec3A::from(direction));
        let inverse = direction.recip();
        let mut stack = [(0_u32, 0.0_f32); 96];
        let mut depth = 1;
        while depth > 0 {
            depth -= 1;
            let (at, enter) = stack[depth];
            if enter > limit {
                continue;
            }
            let node = &self.nodes[at as usize];
            let entries = [0, 1].map(|k| {
                let (low, high) = (node.low[k] - origin, node.high[k] - origin);
                // As wide as the ray is where it leaves the box behind.
                let far = (low * direction).max(high * direction);
                let margin = Vec3A::splat(width.0 + width.1 * (far.x + far.y + far.z).max(0.0));
                entry(low - margin, high + margin, inverse, limit)
            });
            // Leaves first, which may bring the limit nearer; then the farther side, so that the nearer is on top of the
            // stack.
            for side in 0..2 {
                let child = node.child[side];
                if child & LEAF_MARK != 0 && entries[side] < limit {
                    let start = (child & 0x0fff_ffff) as usize;
                    for &item in &self.items[start..start + (child >> 28 & 7) as usize] {
                        limit = visit(item, limit);
                    }
                }
            }
            let order = if entries[0] <= entries[1] { [1, 0] } else { [0, 1] };
            for side in order {
                if node.child[side] & LEAF_MARK == 0 && entries[side] < limit {
                    stack[depth] = (node.child[side], entries[side]);
                    depth += 1;
                }
            }
        }
    }

    /// What lies between `origin` and the point `distance` along `direction`, other than the strand `own`.
    pub fn way(
        &self,
        Scenery { curves, surfaces, grains }: Scenery,
        (origin, direction, distance): (Vec3, Vec3, f32),
        own: Option<u32>,
    ) -> Way {
        let mut way = Way::Strands(0);
        self.walk((origin, direction), distance, (0.0, 0.0), |item, limit| {
            let i = (item & NUMBER) as usize;
            let blocks = |met: Option<f32>| met.is_some_and(|t| t > 1e-5 && t < distance);
            let blocked = if item & TRIANGLE != 0 {
                blocks(meets_triangle(surfaces.corners(i), origin, direction))
            } else if item & GRAIN != 0 {
                blocks(meets_ball(grains.centres[i], grains.radii[i], origin, direction))
            } else {
                false
            };
            if blocked {
                way = Way::Blocked;
                return f32::NEG_INFINITY;
            }
            if item & (TRIANGLE | GRAIN) == 0
                && Some(curves.strand[i]) != own
                && let Way::Strands(strands) = &mut way
            {
                for i in chain(curves, i) {
                    let (a, b) = (curves.positions[i], curves.positions[i + 1]);
                    let radii = (curves.radii[i], curves.radii[i + 1]);
                    *strands += u32::from(meets_segment(a, b, radii, origin, direction, distance));
                }
                if *strands >= DARK {
                    *strands = DARK;
                    return f32::NEG_INFINITY;
                }
            }
            limit
        });
        way
    }

    /// What a line of sight meets first of what is opaque, and how far away; and the strands before it.
    pub fn sight(&self, scenery: Scenery, line: Sightline, strands: &mut Crossings) -> Option<(f32, Met)> {
        let Scenery { curves, surfaces, grains } = scenery;
        let Sightline { origin, direction, .. } = line;
        let mut met = None;
        self.walk((origin, direction), line.far, line.pixel, |item, mut limit| {
            let i = (item & NUMBER) as usize;
            let found = if item & TRIANGLE != 0 {
                meets_triangle(surfaces.corners(i), origin, direction).map(|t| (t, Met::Triangle(i)))
            } else if item & GRAIN != 0 {
                meets_ball(grains.centres[i], grains.radii[i], origin, direction).map(|t| (t, Met::Grain(i)))
            } else {
                let width = self.widths[curves.strand[i] as usize];
                for i in chain(curves, i) {
                    if let Some(crossing) = crosses(curves, i, width, line)
                        && crossing.distance > line.near_strands
                        && crossing.distance < limit
                    {
                        limit = limit.min(strands.add(crossing));
                    }
                }
                None
            };
            if let Some((t, _)) = found
                && t > line.near
                && t < limit
            {
                met = found;
                limit = t;
            }
            limit
        });
        // Strands that were found before the solid that hides them.
        if let Some((t, _)) = met {
            strands.count = strands.list[..strands.count].partition_point(|c| c.distance < t);
        }
        met
    }
}

/// The segments of the chain that begins at a point.
fn chain(curves: &Curves, start: usize) -> std::ops::Range<usize> {
    let strand = &curves.strands[curves.strand[start] as usize];
    start..strand.segments().end.min(start + CHAIN)
}

/// A segment on a line of sight; `width` is how many strands it stands for.
#[inline]
fn crosses(curves: &Curves, i: usize, width: f32, line: Sightline) -> Option<Crossing> {
    let (a, b) = (curves.positions[i], curves.positions[i + 1]);
    let (distance, along, off) = closest(a, b, line.origin, line.direction)?;
    let radius = (curves.radii[i] + (curves.radii[i + 1] - curves.radii[i]) * along) * width;
    let pixel = line.pixel.0 + line.pixel.1 * distance;
    let covered = strip::coverage(off.sqrt() / pixel, radius / pixel);
    (covered > 1e-3).then_some(Crossing { distance, point: i as u32, along, covered })
}

/// A tree before it is laid out.
enum Tree {
    Leaf { start: usize, count: usize },
    Fork { bounds: [Bounds; 2], children: Box<[Tree; 2]> },
}

type Bounds = (Vec3A, Vec3A);

const NOWHERE: Bounds = (Vec3A::INFINITY, Vec3A::NEG_INFINITY);

fn around(boxes: &[Boxed]) -> Bounds {
    boxes.iter().fold(NOWHERE, |(low, high), b| (low.min(b.low), high.max(b.high)))
}

fn half_area((low, high): Bounds) -> f32 {
    let e = (high - low).max(Vec3A::ZERO);
    e.x * e.y + e.y * e.z + e.z * e.x
}

fn subtree(boxes: &mut [Boxed], start: usize) -> Tree {
    if boxes.len() <= LEAF {
        return Tree::Leaf { start, count: boxes.len() };
    }
    let (middle, bounds) = split(boxes);
    let serial = boxes.len() < SERIAL;
    let (left, right) = boxes.split_at_mut(middle);
    let (a, b) = if serial {
        (subtree(left, start), subtree(right, start + middle))
    } else {
        rayon::join(|| subtree(left, start), || subtree(right, start + middle))
    };
    Tree::Fork { bounds, children: Box::new([a, b]) }
}

/// Orders the boxes so that those before the returned place form the cheaper left child; with the bounds of both.
fn split(boxes: &mut [Boxed]) -> (usize, [Bounds; 2]) {
    // Twice the centres: their order is the same.
    let centre = |b: &Boxed| b.low + b.high;
    let (low, high) = boxes.iter().map(centre).fold(NOWHERE, |(low, high), c| (low.min(c), high.max(c)));
    let axis = (high - low).max_position();
    let extent = high[axis] - low[axis];
    let halves = |boxes: &[Boxed]| {
        let (left, right) = boxes.split_at(boxes.len() / 2);
        (left.len(), [around(left), around(right)])
    };
    if extent.is_nan() || extent <= 0.0 {
        return halves(boxes);
    }
    if boxes.len() <= FEW {
        let half = boxes.len() / 2;
        boxes.select_nth_unstable_by(half, |a, b| centre(a)[axis].total_cmp(&centre(b)[axis]));
        return halves(boxes);
    }
    let scale = BINS as f32 / extent;
    let bin = |b: &Boxed| (((centre(b)[axis] - low[axis]) * scale) as usize).min(BINS - 1);
    let join = |a: (usize, Bounds), b: (usize, Bounds)| (a.0 + b.0, (a.1.0.min(b.1.0), a.1.1.max(b.1.1)));
    let mut bins = [(0_usize, NOWHERE); BINS];
    for b in boxes.iter() {
        let bin = &mut bins[bin(b)];
        *bin = join(*bin, (1, (b.low, b.high)));
    }
    // Everything right of each cut, then costs from the left.
    let mut right = [(0, NOWHERE); BINS];
    let mut sum = (0, NOWHERE);
    for k in (1..BINS).rev() {
        sum = join(sum, bins[k]);
        right[k] = sum;
    }
    let mut best = (f32::INFINITY, 0, [NOWHERE; 2]);
    sum = (0, NOWHERE);
    for k in 1..BINS {
        sum = join(sum, bins[k - 1]);
        let cost = sum.0 as f32 * half_area(sum.1) + right[k].0 as f32 * half_area(right[k].1);
        if sum.0 > 0 && sum.0 < boxes.len() && cost < best.0 {
            best = (cost, k, [sum.1, right[k].1]);
        }
    }
    let (_, cut, bounds) = best;
    let mut middle = 0;
    for i in 0..boxes.len() {
        if bin(&boxes[i]) < cut {
            boxes.swap(i, middle);
            middle += 1;
        }
    }
    if middle == 0 || middle == boxes.len() { halves(boxes) } else { (middle, bounds) }
}

/// Lays the tree out, parents first; returns what a parent stores of it.
fn flatten(tree: Tree, nodes: &mut Vec<Node>) -> u32 {
    match tree {
        Tree::Leaf { start, count } => LEAF_MARK | (count as u32) << 28 | start as u32,
        Tree::Fork { bounds: [(low_a, high_a), (low_b, high_b)], children } => {
            let at = nodes.len();
            nodes.push(Node { low: [low_a, low_b], high: [high_a, high_b], child: [0; 2] });
            for (side, child) in (*children).into_iter().enumerate() {
                let child = flatten(child, nodes);
                nodes[at].child[side] = child;
            }
            at as u32
        }
    }
}

/// Where a ray enters a box, given from its origin, before `distance`; infinity if it does not.
#[inline]
fn entry(low: Vec3A, high: Vec3A, inverse: Vec3A, distance: f32) -> f32 {
    let (a, b) = (low * inverse, high * inverse);
    let enter = a.min(b).max_element().max(0.0);
    let leave = a.max(b).min_element().min(distance);
    if enter <= leave * 1.000_001 { enter } else { f32::INFINITY }
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
    let (s, t, off) = closest(a, b, origin, direction)?;
    let r = radii.0 + (radii.1 - radii.0) * t;
    (off < r * r).then_some((s, t))
}

/// Where a ray comes nearest to a segment: distance along the ray, place along the segment, and the square of the
/// distance between them.
#[inline]
fn closest(a: Vec3, b: Vec3, origin: Vec3, direction: Vec3) -> Option<(f32, f32, f32)> {
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
    Some((s, t, (w + direction * s - ab * t).length_squared()))
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
            curves.strands.push(Strand { first, count, look: 0, random: 0, lock: 0, rank: 0.0 });
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
            let rays = Rays::build(scenery, |_| Some(1.0));
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
                let pixel = (0.004, 0.002);
                let line = Sightline { origin, direction, near: 1e-5, far: f32::INFINITY, near_strands: 0.1, pixel };
                let mut met = Crossings::default();
                let first = rays.sight(scenery, line, &mut met);
                let nearest = solid.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0));
                let mut crossed: Vec<Crossing> = (0..curves.positions.len())
                    .filter(|&i| curves.begins_segment(i))
                    .filter_map(|i| crosses(&curves, i, 1.0, line))
                    .filter(|c| c.distance > 0.1 && nearest.is_none_or(|(t, _)| c.distance < t))
                    .collect();
                crossed.sort_by(|a, b| a.distance.total_cmp(&b.distance));
                let mut left = 1.0;
                let seen = crossed.iter().take_while(|c| {
                    let before = left;
                    left *= 1.0 - c.covered;
                    before >= Crossings::OPAQUE
                });
                let seen: Vec<Crossing> = seen.copied().collect();
                assert!(met.iter().eq(&seen), "{met:?} {seen:?}");
                if left >= Crossings::OPAQUE {
                    assert_eq!(first, nearest);
                }
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
