//! Voxels that hold hair: which segment has which length in which voxel.
//!
//! Every segment is walked through the voxels by 3D-DDA, which gives the exact length in each [Rungjiratananon2012b, section 4]. Only
//! voxels that hold hair exist: a block of 4 x 4 x 4 keeps one bit for each and the number of its first, so that the bits below a voxel's own
//! count the rest. Strands are cut into shares, as many as the number of vertices asks for; each share walks its own segments and sorts its
//! portions by voxels, roughly, and the rough lists of all shares, in their order, are sorted out: nothing depends on threads.

use crate::error::PhysicsError;
use drench_math::ordered;
use glam::{DVec3, IVec3};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// Voxels along the edge of a block, and in a block.
const EDGE: i32 = 4;
const BLOCK: usize = (EDGE * EDGE * EDGE) as usize;
/// Shares of the strands at most, and vertices in a share at least.
const SHARES: usize = 16;
const SHARE_VERTICES: usize = 1024;
/// Voxels that are sorted out together.
const BUCKET: usize = 64;
/// Blocks that the box around all hair may have.
const BLOCK_LIMIT: usize = 1 << 22;
/// Voxels from the origin beyond which nothing is looked at.
const FARTHEST: f64 = 1e8;

/// The part of a segment that lies in a voxel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Portion {
    /// The voxel.
    pub voxel: u32,
    /// The vertex at which the segment ends.
    pub segment: u32,
    /// Length [m].
    pub length: f32,
}

/// A run of strands with its portions.
#[derive(Debug, Default)]
pub(super) struct Share {
    /// First and last vertex of the strands.
    pub vertices: std::ops::Range<usize>,
    /// Portions, segment by segment from the root.
    pub portions: Vec<Portion>,
    /// First portion of the segment that ends at each vertex, and their number.
    pub first: Vec<u32>,
    /// Portions by bucket of voxels, and where each bucket begins.
    sorted: Vec<Portion>,
    starts: Vec<u32>,
}

impl Share {
    /// The portions of the segment that ends at a vertex.
    pub fn of(&self, vertex: usize) -> &[Portion] {
        let at = vertex - self.vertices.start;
        &self.portions[self.first[at] as usize..self.first[at + 1] as usize]
    }
}

/// The voxels of one moment.
#[derive(Debug, Default)]
pub struct Grid {
    edge: f64,
    low: IVec3,
    size: IVec3,
    /// Of each block in the box around all hair: which of its voxels hold hair, as bits, and the number of the first of them.
    held: Vec<AtomicU64>,
    first: Vec<u32>,
    /// Coordinates of each voxel that holds hair.
    places: Vec<IVec3>,
    pub(super) shares: Vec<Share>,
    /// All portions, voxel by voxel, and where each voxel begins.
    entries: Vec<Portion>,
    cells: Vec<u32>,
}

impl Grid {
    /// Voxels of this edge [m] for strands whose first vertices are `offsets`.
    pub fn rebuild(&mut self, edge: f64, offsets: &[u32], positions: &[DVec3]) -> Result<(), PhysicsError> {
        self.edge = edge;
        self.places.clear();
        if positions.is_empty() {
            self.size = IVec3::ZERO;
            self.shares.clear();
            self.entries.clear();
            self.cells.clear();
            return Ok(());
        }
        // A sum notices a NaN that minima pass over.
        let none = (DVec3::INFINITY, DVec3::NEG_INFINITY, 0.0);
        let span = |range: std::ops::Range<usize>| {
            positions[range].iter().fold(none, |(low, high, sum), &p| (low.min(p), high.max(p), sum + p.element_sum()))
        };
        let join = |a: (DVec3, DVec3, f64), b: (DVec3, DVec3, f64)| (a.0.min(b.0), a.1.max(b.1), a.2 + b.2);
        let (low, high, sum) = ordered::reduce(positions.len(), none, span, join);
        if !sum.is_finite() {
            return Err(PhysicsError::PorousTooLarge { voxel: edge, limit: BLOCK_LIMIT });
        }
        let count;
        (self.low, self.size, count) = blocks(edge, low, high)?;
        self.held.resize_with(count as usize, AtomicU64::default);
        self.held.par_iter_mut().with_min_len(ordered::CHUNK).for_each(|held| *held.get_mut() = 0);

        self.share_out(offsets);
        let mut shares = std::mem::take(&mut self.shares);
        let grid = &*self;
        shares.par_iter_mut().for_each(|share| grid.walk(share, offsets, positions));
        self.number();
        let grid = &*self;
        shares.par_iter_mut().for_each(|share| grid.sort(share));
        self.shares = shares;
        self.list();
        Ok(())
    }

    /// Numbers the voxels that hold hair, block by block.
    fn number(&mut self) {
        let Self { held, first, places, low, size, .. } = self;
        first.clear();
        let mut held = held.iter_mut();
        for z in 0..size.z {
            for y in 0..size.y {
                for (x, held) in (0..size.x).zip(&mut held) {
                    first.push(places.len() as u32);
                    let (mut held, corner) = (*held.get_mut(), (*low + IVec3::new(x, y, z)) * EDGE);
                    while held != 0 {
                        places.push(corner + place_in_block(held.trailing_zeros()));
                        held &= held - 1;
                    }
                }
            }
        }
    }

    /// Lists the portions voxel by voxel, shares in their order.
    fn list(&mut self) {
        let Self { shares, entries, cells, places, .. } = self;
        let blank = Portion { voxel: 0, segment: 0, length: 0.0 };
        let count: usize = shares.iter().map(|share| share.portions.len()).sum();
        entries.resize(count, blank);
        cells.resize(places.len() + 1, 0);
        cells[places.len()] = count as u32;
        let range = |share: &Share, bucket: usize| share.starts[bucket] as usize..share.starts[bucket + 1] as usize;
        let length = |bucket: usize| shares.iter().map(|share| range(share, bucket).len()).sum::<usize>();
        let parts = hand_out((0..places.len().div_ceil(BUCKET)).map(length), entries);
        let mut end = 0;
        let begins: Vec<usize> = parts
            .iter()
            .map(|part| {
                end += part.len();
                end - part.len()
            })
            .collect();
        let cells = cells[..places.len()].par_chunks_mut(BUCKET);
        parts.into_par_iter().zip(begins).zip(cells).enumerate().for_each(|(bucket, ((entries, first), cells))| {
            let own = || shares.iter().flat_map(|share| &share.sorted[range(share, bucket)]);
            let mut next = [0_u32; BUCKET + 1];
            own().for_each(|portion| next[portion.voxel as usize % BUCKET + 1] += 1);
            for voxel in 0..BUCKET {
                next[voxel + 1] += next[voxel];
            }
            cells.iter_mut().zip(next).for_each(|(cell, next)| *cell = first as u32 + next);
            for portion in own() {
                let at = &mut next[portion.voxel as usize % BUCKET];
                entries[*at as usize] = *portion;
                *at += 1;
            }
        });
    }

    /// Cuts the strands into shares; depends on nothing but their vertices.
    fn share_out(&mut self, offsets: &[u32]) {
        let strands = offsets.len() - 1;
        let vertices = offsets[strands] as usize;
        let count = vertices.div_ceil(SHARE_VERTICES).clamp(1, SHARES);
        self.shares.resize_with(count, Share::default);
        let mut from = 0;
        for (k, share) in self.shares.iter_mut().enumerate() {
            let strand = offsets.partition_point(|&o| (o as usize) * count < (k + 1) * vertices).min(strands);
            let to = if k + 1 == count { vertices } else { offsets[strand] as usize };
            share.vertices = from..to;
            from = to;
        }
    }

    /// Walks the segments of a share through the voxels. Portions get places in the box for now, and voxels are marked.
    fn walk(&self, share: &mut Share, offsets: &[u32], positions: &[DVec3]) {
        share.portions.clear();
        share.first.clear();
        share.first.push(0);
        let mut strand = offsets.partition_point(|&o| (o as usize) < share.vertices.start);
        // Every share begins with a root.
        let mut before = Place::default();
        for i in share.vertices.clone() {
            let here = Place::new(positions[i] / self.edge);
            if offsets.get(strand).is_some_and(|&root| root as usize == i) {
                strand += 1;
            } else {
                walk(before, here, |voxel, length| {
                    let (block, cell) = split(voxel);
                    let at = self.table_index(block).unwrap_or_default();
                    let (held, bit) = (&self.held[at], 1 << cell);
                    // To look costs less than to set what mostly is.
                    if held.load(Ordering::Relaxed) & bit == 0 {
                        held.fetch_or(bit, Ordering::Relaxed);
                    }
                    let portion = Portion {
                        voxel: (at * BLOCK) as u32 + cell,
                        segment: i as u32,
                        // Where vertices lie on top of each other there is hardly any length, but some.
                        length: (length * self.edge).max(1e-12) as f32,
                    };
                    share.portions.push(portion);
                });
            }
            share.first.push(share.portions.len() as u32);
            before = here;
        }
    }

    /// Gives the portions of a share the numbers of their voxels, and sorts them into buckets.
    fn sort(&self, share: &mut Share) {
        let Share { portions, sorted, starts, .. } = share;
        let buckets = self.places.len().div_ceil(BUCKET);
        starts.clear();
        starts.resize(buckets + 1, 0);
        for portion in &mut *portions {
            let (at, cell) = (portion.voxel as usize / BLOCK, portion.voxel % BLOCK as u32);
            let below = self.held[at].load(Ordering::Relaxed) & ((1 << cell) - 1);
            portion.voxel = self.first[at] + below.count_ones();
            starts[portion.voxel as usize / BUCKET + 1] += 1;
        }
        for bucket in 0..buckets {
            starts[bucket + 1] += starts[bucket];
        }
        sorted.resize(portions.len(), Portion { voxel: 0, segment: 0, length: 0.0 });
        for portion in &*portions {
            let next = &mut starts[portion.voxel as usize / BUCKET];
            sorted[*next as usize] = *portion;
            *next += 1;
        }
        // Every start has become the next one.
        starts.copy_within(0..buckets, 1);
        starts[0] = 0;
    }

    /// The portions in a voxel.
    pub(super) fn within(&self, voxel: usize) -> &[Portion] {
        &self.entries[self.range(voxel)]
    }

    /// Where the portions in a voxel are among those of all.
    #[inline]
    pub(super) fn range(&self, voxel: usize) -> std::ops::Range<usize> {
        self.cells[voxel] as usize..self.cells[voxel + 1] as usize
    }

    /// The portions in all voxels, voxel by voxel.
    pub(super) fn portions(&self) -> &[Portion] {
        &self.entries
    }

    /// Number of vertices.
    pub(super) fn vertices(&self) -> usize {
        self.shares.last().map_or(0, |share| share.vertices.end)
    }

    /// Number of voxels that hold hair.
    pub(super) fn voxels(&self) -> usize {
        self.places.len()
    }

    /// Edge of a voxel [m].
    pub fn edge(&self) -> f64 {
        self.edge
    }

    /// Number of portions.
    pub fn portion_count(&self) -> usize {
        self.entries.len()
    }

    /// The voxel with these coordinates, if it holds hair.
    #[inline]
    pub(super) fn voxel(&self, voxel: IVec3) -> Option<usize> {
        let (block, cell) = split(voxel);
        let at = self.table_index(block)?;
        let (held, bit) = (self.held[at].load(Ordering::Relaxed), 1 << cell);
        (held & bit != 0).then(|| self.first[at] as usize + (held & (bit - 1)).count_ones() as usize)
    }

    /// Coordinates of the voxel around a point.
    pub(super) fn coordinates(&self, p: DVec3) -> IVec3 {
        voxel_of(p, self.edge)
    }

    /// The first and the last of the voxels that may hold hair within `reach` of a point [m]: none if it is far from all hair.
    pub(super) fn around(&self, p: DVec3, reach: f64) -> (IVec3, IVec3) {
        let (low, high) = (self.low * EDGE, (self.low + self.size) * EDGE - 1);
        (self.coordinates(p - reach).max(low), self.coordinates(p + reach).min(high))
    }

    /// Calls `visit(voxel, [from, to])` for the voxels that a way leads through within the box around all hair, with the parts of the way at which it enters and
    /// leaves each.
    #[inline]
    pub(super) fn along(&self, from: DVec3, to: DVec3, mut visit: impl FnMut(IVec3, [f64; 2])) {
        let [low, high] = [self.low, self.low + self.size].map(|block| (block * EDGE).as_dvec3() * self.edge);
        if !(from.min(to).cmple(high).all() && from.max(to).cmpge(low).all()) {
            return;
        }
        let way = to - from;
        let Some([begin, end]) = clip([low, high], from, to) else { return };
        let places = [begin, end].map(|part| Place::new((from + way * part) / self.edge));
        let length = (places[1].point - places[0].point).length_squared().sqrt();
        if length == 0.0 {
            return visit(places[0].voxel, [begin, end]);
        }
        let mut done = begin;
        walk(places[0], places[1], |voxel, own| {
            let next = (done + own / length * (end - begin)).min(end);
            visit(voxel, [done, next]);
            done = next;
        });
    }

    /// Coordinates of a voxel.
    pub(super) fn place(&self, voxel: usize) -> IVec3 {
        self.places[voxel]
    }

    /// Centre of a voxel [m].
    pub(super) fn centre(&self, voxel: IVec3) -> DVec3 {
        (voxel.as_dvec3() + 0.5) * self.edge
    }

    #[inline]
    fn table_index(&self, block: IVec3) -> Option<usize> {
        let at = block - self.low;
        let inside = at.cmpge(IVec3::ZERO).all() && at.cmplt(self.size).all();
        let [x, y, z] = at.to_array().map(|c| c as usize);
        inside.then(|| (z * self.size.y as usize + y) * self.size.x as usize + x)
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        let share = |share: &Share| {
            (share.portions.capacity() + share.sorted.capacity()) * size_of::<Portion>()
                + (share.first.capacity() + share.starts.capacity()) * 4
        };
        self.entries.capacity() * size_of::<Portion>()
            + self.held.capacity() * 8
            + (self.first.capacity() + self.cells.capacity()) * 4
            + self.places.capacity() * 12
            + self.shares.iter().map(share).sum::<usize>()
    }
}

/// The first block, and how many there are along each axis and in all, of a box that a grid can hold.
fn blocks(edge: f64, low: DVec3, high: DVec3) -> Result<(IVec3, IVec3, u64), PhysicsError> {
    let refused = PhysicsError::PorousTooLarge { voxel: edge, limit: BLOCK_LIMIT };
    let far = low.abs().max(high.abs()).max_element();
    if !far.is_finite() || far >= FARTHEST * edge {
        return Err(refused);
    }
    let block = |p: DVec3| voxel_of(p, edge).div_euclid(IVec3::splat(EDGE));
    // A point on a face may be walked into from either side.
    let first = block(low) - IVec3::ONE;
    let size = block(high) + IVec3::splat(2) - first;
    let count = size.as_u64vec3().to_array().into_iter().try_fold(1_u64, u64::checked_mul);
    let count = count.filter(|&count| count <= BLOCK_LIMIT as u64).ok_or(refused)?;
    Ok((first, size, count))
}

/// Whether a grid of voxels of this edge [m] can hold hair at these positions [m].
pub fn holds(edge: f64, positions: impl Iterator<Item = DVec3>) -> Result<(), PhysicsError> {
    let none = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    let (low, high) = positions.fold(none, |(low, high), p| (low.min(p), high.max(p)));
    if low.x > high.x { Ok(()) } else { blocks(edge, low, high).map(|_| ()) }
}

/// Hands a slice out to shares, in order.
pub(super) fn cut<'a, T>(shares: &[Share], slice: &'a mut [T]) -> Vec<&'a mut [T]> {
    hand_out(shares.iter().map(|share| share.vertices.len()), slice)
}

/// Hands a slice out in parts of these lengths.
pub(super) fn hand_out<T>(lengths: impl Iterator<Item = usize>, mut slice: &mut [T]) -> Vec<&mut [T]> {
    let own = |length: usize| {
        let (own, rest) = std::mem::take(&mut slice).split_at_mut(length);
        slice = rest;
        own
    };
    lengths.map(own).collect()
}

/// The voxel around a point; as far away as whole numbers reach if it is farther.
fn voxel_of(p: DVec3, edge: f64) -> IVec3 {
    let floor = |x: f64| {
        // Conversion cuts towards 0 and stops at the ends of the range.
        let whole = x as i32;
        if x < f64::from(whole) { whole - 1 } else { whole }
    };
    let p = p / edge;
    IVec3::new(floor(p.x), floor(p.y), floor(p.z))
}

/// Block of a voxel and place in it.
#[inline]
fn split(voxel: IVec3) -> (IVec3, u32) {
    // Arithmetic shift and mask are division and remainder towards minus infinity.
    let cell = voxel & IVec3::splat(EDGE - 1);
    (voxel >> EDGE.trailing_zeros(), (cell.x + EDGE * (cell.y + EDGE * cell.z)) as u32)
}

/// The voxel at a place in its block, from the first of it.
fn place_in_block(cell: u32) -> IVec3 {
    let cell = cell as i32;
    IVec3::new(cell % EDGE, cell / EDGE % EDGE, cell / (EDGE * EDGE))
}

/// A point among voxels of edge 1, and the one around it.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    point: DVec3,
    voxel: IVec3,
}

impl Place {
    fn new(point: DVec3) -> Self {
        Self { point, voxel: voxel_of(point, 1.0) }
    }
}

/// The parts of a segment at which it enters and leaves a box that it lies in along every axis to which it is perpendicular.
pub(super) fn clip([low, high]: [DVec3; 2], from: DVec3, to: DVec3) -> Option<[f64; 2]> {
    let way = to - from;
    let (mut a, mut b) = (0.0_f64, 1.0_f64);
    for axis in 0..3 {
        if way[axis] != 0.0 {
            let (t, u) = ((low[axis] - from[axis]) / way[axis], (high[axis] - from[axis]) / way[axis]);
            (a, b) = (a.max(t.min(u)), b.min(t.max(u)));
        }
    }
    (a <= b).then_some([a, b])
}

/// Calls `visit(voxel, length)` for the voxels along a segment [Amanatides1987]. The lengths add up to that of the segment.
#[inline(always)]
fn walk(from: Place, to: Place, mut visit: impl FnMut(IVec3, f64)) {
    let way = to.point - from.point;
    let length = way.length_squared().sqrt();
    let (mut voxel, last) = (from.voxel, to.voxel);
    if voxel == last {
        return visit(voxel, length);
    }
    let mut steps = (last - voxel).abs().element_sum();
    let sign = (last - voxel).signum();
    // Part of the way at which the next face is met, for each axis; never for an axis along which nothing is crossed.
    let crossed = last.cmpne(voxel);
    let inverse = 1.0 / way;
    let face = (voxel + sign.max(IVec3::ZERO)).as_dvec3();
    let [mut x, mut y, mut z] = DVec3::select(crossed, (face - from.point) * inverse, DVec3::INFINITY).to_array();
    let stride = inverse.abs();
    let mut done = 0.0;
    while steps > 0 {
        let at = x.min(y).min(z).max(done).min(1.0);
        if at > done {
            visit(voxel, (at - done) * length);
        }
        done = at;
        // Rounding must not lead past the last voxel.
        if x <= y && x <= z {
            voxel.x += sign.x;
            x = if voxel.x == last.x { f64::INFINITY } else { x + stride.x };
        } else if y <= z {
            voxel.y += sign.y;
            y = if voxel.y == last.y { f64::INFINITY } else { y + stride.y };
        } else {
            voxel.z += sign.z;
            z = if voxel.z == last.z { f64::INFINITY } else { z + stride.z };
        }
        steps -= 1;
    }
    // A segment that ends on a face still has a portion where it ends, so that none is without one.
    if done < 1.0 || length == 0.0 {
        visit(voxel, (1.0 - done) * length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_math::random::Stream;

    #[test]
    fn a_walk_gives_the_length_in_every_voxel() {
        let stream = Stream::new(1, "walk");
        for case in 0..2000_u64 {
            let point = |k: u64| stream.direction(2 * case + k) * (0.1 + 4.0 * stream.uniform(2 * case + k));
            let (mut from, mut to) = (point(0), point(1));
            if case % 5 == 0 {
                (from, to) = (from.round(), to.round());
            }
            if case % 7 == 0 {
                to.x = from.x;
            }
            let mut lengths = std::collections::BTreeMap::new();
            walk(Place::new(from), Place::new(to), |voxel, length| {
                *lengths.entry(voxel.to_array()).or_insert(0.0) += length
            });
            let sum: f64 = lengths.values().sum();
            assert!((sum - from.distance(to)).abs() < 1e-12, "{from} {to}: {sum}");
            for (voxel, length) in lengths {
                // Clipping against the box is the oracle.
                let (low, high) = (IVec3::from(voxel).as_dvec3(), IVec3::from(voxel).as_dvec3() + 1.0);
                let (mut a, mut b) = (0.0_f64, 1.0_f64);
                for axis in 0..3 {
                    let (p, d) = (from[axis], to[axis] - from[axis]);
                    if d != 0.0 {
                        let (t, u) = ((low[axis] - p) / d, (high[axis] - p) / d);
                        (a, b) = (a.max(t.min(u)), b.min(t.max(u)));
                    }
                }
                assert!(((b - a).max(0.0) * from.distance(to) - length).abs() < 1e-12, "{from} {to} {voxel:?}");
            }
        }
    }

    #[test]
    fn portions_are_the_same_from_both_sides() {
        let stream = Stream::new(2, "hair");
        let (strands, vertices) = (700, 13);
        let offsets: Vec<u32> = (0..=strands).map(|s| s * vertices).collect();
        let mut positions = Vec::new();
        for s in 0..u64::from(strands) {
            let root = stream.direction(s) * 0.1;
            positions.extend(
                (0..vertices)
                    .map(|k| root * (1.0 + 0.08 * f64::from(k)) + stream.direction(99 * s + u64::from(k)) * 1e-3),
            );
        }
        let mut grid = Grid::default();
        grid.rebuild(0.004, &offsets, &positions).unwrap();
        assert!(grid.shares.len() > 1);
        let mut by_voxel: Vec<(u32, u32, u32)> = Vec::new();
        for voxel in 0..grid.voxels() {
            assert!(!grid.within(voxel).is_empty() && grid.within(voxel).is_sorted_by_key(|p| p.segment));
            by_voxel.extend(grid.within(voxel).iter().map(|p| {
                assert_eq!(p.voxel as usize, voxel);
                (p.segment, p.voxel, p.length.to_bits())
            }));
        }
        let mut by_segment = Vec::new();
        for share in &grid.shares {
            for i in share.vertices.clone() {
                let own = share.of(i);
                assert_eq!(own.is_empty(), i % vertices as usize == 0);
                for p in own {
                    let place = grid.place(p.voxel as usize);
                    assert_eq!(grid.voxel(place), Some(p.voxel as usize));
                    let middle = (positions[i] + positions[i - 1]) * 0.5;
                    assert!((grid.centre(place) - middle).length() < 0.02);
                    by_segment.push((p.segment, p.voxel, p.length.to_bits()));
                }
            }
        }
        by_voxel.sort_unstable();
        by_segment.sort_unstable();
        assert_eq!(by_voxel, by_segment);
    }

    #[test]
    fn hair_that_is_everywhere_or_nowhere_is_refused() {
        let mut grid = Grid::default();
        let offsets = [0, 2];
        for far in [1e7, 1e300, f64::NAN, f64::INFINITY] {
            assert!(grid.rebuild(0.01, &offsets, &[DVec3::ZERO, DVec3::splat(far)]).is_err());
        }
        grid.rebuild(0.01, &[0], &[]).unwrap();
        assert_eq!(grid.portion_count(), 0);
    }
}
