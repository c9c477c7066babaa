//! The neighbour search: points sorted into cells along a space-filling curve.
//!
//! Space is cut into cubes of edge `cell`. Points are sorted by (z-order key of their cell, index), so that points which
//! are close in space are close in memory once they are stored in this order. Only occupied cells exist: the domain has
//! no bounds, but all points must lie within some two million cells of each other.
//!
//! A cell is found through a hash table of blocks of 4 x 4 x 4 cells. A block keeps one bit per cell and the number of its
//! first cell; the cells of a block follow each other in the order, so that the bits below a cell's bit count the rest.
//!
//! The sort is a radix sort by digits of at most 11 bits over those bits of the key that are in use. It works on pieces of
//! a fixed size, so that the outcome does not depend on threads, and reuses its memory.

use crate::error::GeometryError;
use crate::morton::{interleave, separate, spread};
use drench_math::ordered;
use glam::{DVec3, I64Vec3};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Cells along one axis that keys can hold, less one on each side for neighbours of the outermost.
const MOST_CELLS: i64 = (1 << 21) - 2;
/// Farthest cell from the origin: coordinates are 32 bits.
const FARTHEST: f64 = (1_u32 << 30) as f64;
/// Bits of a digit, at most.
const DIGIT: u32 = 11;
/// Points that are counted and scattered in one piece, at most and at least, and pieces that there should be.
const PIECE: [usize; 2] = [1 << 15, 1 << 11];
const PIECES: usize = 8;
/// No block.
const EMPTY: u64 = u64::MAX;

/// The six directions to face neighbours.
const FACES: [[i32; 3]; 6] = [[-1, 0, 0], [1, 0, 0], [0, -1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1]];

/// Points in cells along a space-filling curve.
#[derive(Debug, Default)]
pub struct Neighbours {
    cell: f64,
    inverse: f64,
    /// The cell that keys count from, one before the lowest occupied one.
    low: I64Vec3,
    order: Vec<u32>,
    /// Keys of the occupied cells, ascending.
    keys: Vec<u64>,
    /// Where each occupied cell begins in the order, and the end.
    starts: Vec<u32>,
    blocks: Vec<Block>,
    /// What a block's hash is shifted by.
    shift: u32,
    sort: [Sorted; 2],
    counts: Vec<u32>,
}

/// 4 x 4 x 4 cells.
#[derive(Clone, Copy, Debug)]
struct Block {
    key: u64,
    occupied: u64,
    first: u32,
}

impl Block {
    /// No block.
    const NONE: Self = Self { key: EMPTY, occupied: 0, first: 0 };

    /// The number of an occupied cell of this block.
    #[inline]
    fn number(&self, key: u64) -> Option<usize> {
        let bit = 1_u64 << (key & 63);
        (self.occupied & bit != 0).then(|| self.first as usize + (self.occupied & (bit - 1)).count_ones() as usize)
    }
}

/// For each axis and each set of the four places along it, as bits, the cells of a block that lie there.
const SLABS: [[u64; 16]; 3] = slabs();

const fn slabs() -> [[u64; 16]; 3] {
    let mut slabs = [[0; 16]; 3];
    let mut axis = 0;
    while axis < 3 {
        let mut set = 0;
        while set < 16 {
            let mut cell = 0;
            while cell < 64 {
                let place = (cell >> axis & 1) | (cell >> (axis + 3) & 1) << 1;
                if set >> place & 1 == 1 {
                    slabs[axis][set] |= 1 << cell;
                }
                cell += 1;
            }
            set += 1;
        }
        axis += 1;
    }
    slabs
}

/// The 27 cells around one. Three along an axis lie in two blocks at most, so that eight blocks have all of them.
struct Around {
    /// For each axis and each of its three cells: the cell's bits of the key within its block, and the block's of its number among the eight.
    cells: [[(u64, usize); 3]; 3],
    /// For each axis and both blocks: which of the block's four places are meant, as bits, and the block's bits of its key.
    slabs: [[(usize, u64); 2]; 3],
}

impl Around {
    /// Around a cell whose coordinates are counted from the lowest; what is out of bounds is left out.
    #[inline]
    fn new(cell: [i64; 3]) -> Self {
        let (mut cells, mut slabs) = ([[(0, 0); 3]; 3], [[(0, 0); 2]; 3]);
        for axis in 0..3 {
            let first = cell[axis] - 1;
            for (at, cell) in (first..).zip(&mut cells[axis]) {
                let (block, place) = (((at >> 2) - (first >> 2)) as usize, at & 3);
                *cell = (spread(place) << axis, block << axis);
                if (0..=MOST_CELLS + 1).contains(&at) {
                    let slab = &mut slabs[axis][block];
                    *slab = (slab.0 | 1 << place, spread(at >> 2) << axis);
                }
            }
        }
        Self { cells, slabs }
    }

    /// The key of one of the eight blocks, and which of its cells are meant; none if it has none of them.
    #[inline]
    fn block(&self, number: usize) -> Option<(u64, u64)> {
        let [x, y, z] = std::array::from_fn(|axis| self.slabs[axis][number >> axis & 1]);
        let cells = SLABS[0][x.0] & SLABS[1][y.0] & SLABS[2][z.0];
        (cells != 0).then_some((x.1 | y.1 | z.1, cells))
    }
}

/// Keys and the points they belong to. Atomics, because pieces scatter into one array; each entry is written once.
#[derive(Debug, Default)]
struct Sorted {
    keys: Vec<AtomicU64>,
    points: Vec<AtomicU32>,
}

impl Neighbours {
    /// An empty search, which finds nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sorts these points into cells of edge `cell` [m]. What an earlier call left is forgotten; its memory is reused.
    pub fn rebuild(&mut self, positions: &[DVec3], cell: f64) -> Result<(), GeometryError> {
        if !(cell > 0.0 && cell.is_finite()) {
            return Err(GeometryError::InvalidParameter {
                parameter: "neighbour cell",
                value: cell,
                expected: "positive",
            });
        }
        if positions.len() >= u32::MAX as usize {
            return Err(GeometryError::TooMany {
                origin: "neighbour search".to_owned(),
                what: "points",
                count: positions.len() as u64,
                limit: u64::from(u32::MAX) - 1,
                fix: "use fewer points",
            });
        }
        (self.cell, self.inverse) = (cell, 1.0 / cell);
        self.order.clear();
        self.keys.clear();
        self.starts.clear();
        self.blocks.clear();
        if positions.is_empty() {
            return Ok(());
        }
        let bits = self.bound(positions)?;
        let sorted = self.sort(positions, bits);
        let sorted = &self.sort[sorted];
        self.order.resize(positions.len(), 0);
        let piece = piece(positions.len());
        self.order.par_chunks_mut(piece).zip(sorted.points.par_chunks(piece)).for_each(|(order, points)| {
            order.iter_mut().zip(points).for_each(|(to, from)| *to = from.load(Relaxed));
        });
        for (i, key) in sorted.keys[..positions.len()].iter().map(|key| key.load(Relaxed)).enumerate() {
            if self.keys.last() != Some(&key) {
                self.keys.push(key);
                self.starts.push(i as u32);
            }
        }
        self.starts.push(positions.len() as u32);
        self.enter_blocks();
        Ok(())
    }

    /// Finds the lowest cell; gives how many bits the keys need.
    fn bound(&mut self, positions: &[DVec3]) -> Result<u32, GeometryError> {
        let inverse = self.inverse;
        let start = (DVec3::INFINITY, DVec3::NEG_INFINITY, usize::MAX);
        let chunk = |range: Range<usize>| {
            range.fold(start, |(low, high, bad), i| {
                let cell = floor(positions[i] * inverse);
                let fits = cell.abs().max_element() <= FARTHEST && cell.is_finite();
                (low.min(cell), high.max(cell), if fits { bad } else { bad.min(i) })
            })
        };
        let join = |a: (DVec3, DVec3, usize), b: (DVec3, DVec3, usize)| (a.0.min(b.0), a.1.max(b.1), a.2.min(b.2));
        let (low, high, bad) = ordered::reduce(positions.len(), start, chunk, join);
        let scattered = |point: usize| {
            let DVec3 { x, y, z } = positions[point];
            GeometryError::Scattered { point, x, y, z, cell: self.cell }
        };
        if bad != usize::MAX {
            return Err(scattered(bad));
        }
        let (low, high) = (low.as_i64vec3(), high.as_i64vec3());
        let extent = (high - low).max_element() + 1;
        if extent > MOST_CELLS {
            let worst = |i: &usize| (positions[*i] - positions[0]).length_squared();
            let farthest = (0..positions.len()).max_by(|a, b| worst(a).total_cmp(&worst(b))).unwrap_or(0);
            return Err(scattered(farthest));
        }
        self.low = low - I64Vec3::ONE;
        Ok(3 * (64 - (extent as u64).leading_zeros()))
    }

    /// Sorts by key, ties by index; gives which of the two buffers holds the outcome.
    fn sort(&mut self, positions: &[DVec3], bits: u32) -> usize {
        let count = positions.len();
        for buffer in &mut self.sort {
            if buffer.keys.len() < count {
                buffer.keys.resize_with(count, Default::default);
                buffer.points.resize_with(count, Default::default);
            } else {
                buffer.keys.truncate(count);
                buffer.points.truncate(count);
            }
        }
        let (inverse, low) = (self.inverse, self.low);
        let Sorted { keys, points } = &mut self.sort[0];
        let piece = piece(count);
        keys.par_chunks_mut(piece).zip(points.par_chunks_mut(piece)).enumerate().for_each(
            |(number, (keys, points))| {
                for (k, (key, point)) in keys.iter_mut().zip(points).enumerate() {
                    let index = number * piece + k;
                    *key.get_mut() = interleave(floor(positions[index] * inverse).as_i64vec3() - low);
                    *point.get_mut() = index as u32;
                }
            },
        );

        let passes = bits.div_ceil(DIGIT).max(1);
        let width = bits.div_ceil(passes).max(1);
        let mut from = 0;
        for pass in 0..passes {
            if self.scatter(from, pass * width, width) {
                from = 1 - from;
            }
        }
        from
    }

    /// One stable pass over the digit of `width` bits at `shift`; false if all keys have the same digit and nothing moved.
    fn scatter(&mut self, from: usize, shift: u32, width: u32) -> bool {
        let digits = 1_usize << width;
        let digit = |key: u64| (key >> shift) as usize & (digits - 1);
        let (source, target) = match &self.sort {
            [a, b] if from == 0 => (a, b),
            [a, b] => (b, a),
        };
        let piece = piece(source.keys.len());
        let pieces = source.keys.len().div_ceil(piece);
        self.counts.clear();
        self.counts.resize(pieces * digits, 0);
        self.counts.par_chunks_mut(digits).zip(source.keys.par_chunks(piece)).for_each(|(counts, keys)| {
            keys.iter().for_each(|key| counts[digit(key.load(Relaxed))] += 1);
        });
        // Where each piece begins to write for each digit: digit by digit, in a digit piece by piece.
        let mut sum = 0;
        for d in 0..digits {
            let before = sum;
            for piece in 0..pieces {
                let count = &mut self.counts[piece * digits + d];
                (*count, sum) = (sum, sum + *count);
            }
            if (sum - before) as usize == source.keys.len() {
                return false;
            }
        }
        let pieces = source.keys.par_chunks(piece).zip(source.points.par_chunks(piece));
        self.counts.par_chunks_mut(digits).zip(pieces).for_each(|(next, (keys, points))| {
            for (key, point) in keys.iter().zip(points) {
                let key = key.load(Relaxed);
                let place = &mut next[digit(key)];
                target.keys[*place as usize].store(key, Relaxed);
                target.points[*place as usize].store(point.load(Relaxed), Relaxed);
                *place += 1;
            }
        });
        true
    }

    fn enter_blocks(&mut self) {
        // Room for twice the blocks, so that probes are short. Counting first: blocks may be far fewer than cells.
        let count = 1 + self.keys.windows(2).filter(|pair| pair[0] >> 6 != pair[1] >> 6).count();
        let slots = (2 * count).next_power_of_two();
        self.shift = 64 - slots.trailing_zeros();
        self.blocks.resize(slots, Block::NONE);
        let mut current = (EMPTY, 0);
        for (cell, &key) in self.keys.iter().enumerate() {
            let (block, bit) = (key >> 6, 1_u64 << (key & 63));
            if block != current.0 {
                let slot = self.slot(block);
                self.blocks[slot] = Block { key: block, occupied: 0, first: cell as u32 };
                current = (block, slot);
            }
            self.blocks[current.1].occupied |= bit;
        }
    }

    /// Where a block is, or the free place where it would be.
    #[inline]
    fn slot(&self, block: u64) -> usize {
        let mut slot = (block.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        while self.blocks[slot].key != block && self.blocks[slot].key != EMPTY {
            slot = (slot + 1) & (self.blocks.len() - 1);
        }
        slot
    }

    /// Edge of a cell [m].
    pub fn cell_size(&self) -> f64 {
        self.cell
    }

    /// All points, sorted by (cell along the curve, index).
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The cell that a point of space lies in; one far away where nothing is for what is no point.
    #[inline]
    pub fn cell_of(&self, p: DVec3) -> [i32; 3] {
        let far = DVec3::splat(FARTHEST + 2.0);
        floor(p * self.inverse).max(-far).min(far).as_ivec3().to_array()
    }

    /// Where a cell's points are in [`Neighbours::order`]; empty if it has none.
    #[inline]
    pub fn range(&self, cell: [i32; 3]) -> Range<usize> {
        self.number(cell).map_or(0..0, |number| self.starts[number] as usize..self.starts[number + 1] as usize)
    }

    /// The points in a cell, by ascending index.
    #[inline]
    pub fn cell(&self, cell: [i32; 3]) -> &[u32] {
        &self.order[self.range(cell)]
    }

    /// How many cells hold points.
    pub fn occupied(&self) -> usize {
        self.keys.len()
    }

    /// The occupied cell with this number, counted along the curve, and where its points are in the order.
    ///
    /// # Panics
    /// If there are not that many.
    #[inline]
    pub fn occupied_cell(&self, number: usize) -> ([i32; 3], Range<usize>) {
        let cell = separate(self.keys[number]) + self.low;
        let range = self.starts[number] as usize..self.starts[number + 1] as usize;
        ([cell.x as i32, cell.y as i32, cell.z as i32], range)
    }

    /// The number of an occupied cell.
    #[inline]
    fn number(&self, cell: [i32; 3]) -> Option<usize> {
        let cell = I64Vec3::from(self.counted(cell));
        if self.blocks.is_empty() || cell.min_element() < 0 || cell.max_element() > MOST_CELLS + 1 {
            return None;
        }
        let key = interleave(cell);
        self.blocks[self.slot(key >> 6)].number(key)
    }

    /// A cell, counted from the lowest.
    #[inline]
    fn counted(&self, cell: [i32; 3]) -> [i64; 3] {
        (I64Vec3::from(cell.map(i64::from)) - self.low).to_array()
    }

    /// Calls `visit` with every point in the 27 cells around `p`: all within one cell's edge of it, and some more.
    #[inline]
    pub fn for_each_near(&self, p: DVec3, mut visit: impl FnMut(u32)) {
        for range in self.around(self.cell_of(p)) {
            self.order[range].iter().for_each(|&index| visit(index));
        }
    }

    /// Whether one of the 27 cells around and including `cell` holds points.
    pub fn any_around(&self, cell: [i32; 3]) -> bool {
        let around = Around::new(self.counted(cell));
        let holds = |(key, cells): (u64, u64)| self.blocks[self.slot(key)].occupied & cells != 0;
        !self.blocks.is_empty() && (0..8).filter_map(|number| around.block(number)).any(holds)
    }

    /// Where the points of the 27 cells around and including `cell` are in the order, cell by cell.
    #[inline]
    pub fn around(&self, cell: [i32; 3]) -> impl Iterator<Item = Range<usize>> + '_ {
        let around = Around::new(self.counted(cell));
        let (mut blocks, mut any) = ([Block::NONE; 8], false);
        for (number, found) in blocks.iter_mut().enumerate().filter(|_| !self.blocks.is_empty()) {
            if let Some((key, cells)) = around.block(number) {
                *found = self.blocks[self.slot(key)];
                any |= found.occupied & cells != 0;
            }
        }
        (0..if any { 27 } else { 0 }).filter_map(move |k| {
            let (x, y, z) = (around.cells[0][k % 3], around.cells[1][k / 3 % 3], around.cells[2][k / 9]);
            let number = blocks[x.1 | y.1 | z.1].number(x.0 | y.0 | z.0)?;
            Some(self.starts[number] as usize..self.starts[number + 1] as usize)
        })
    }

    /// Where the points of the 2 x 2 x 2 cells are in the order that `cell` is one of: cells that follow each other along the curve.
    #[inline]
    pub fn eight(&self, cell: [i32; 3]) -> Range<usize> {
        self.eight_at(I64Vec3::from(self.counted(cell).map(|at| at >> 1)))
    }

    /// The same of the eight cells, and of those of the 26 times eight around them that hold points: all within two edges of the points of `cell`, and some more.
    #[inline]
    pub fn widely_around(&self, cell: [i32; 3]) -> impl Iterator<Item = Range<usize>> + '_ {
        let first = I64Vec3::from(self.counted(cell).map(|at| at >> 1)) - 1;
        // Three eights along an axis lie in two blocks.
        let corner = I64Vec3::from(first.to_array().map(|at| at >> 1));
        let blocks: [Block; 8] = std::array::from_fn(|k| {
            self.block_at(corner + I64Vec3::from([0, 1, 2].map(|axis| (k >> axis & 1) as i64)))
        });
        (0..27).filter_map(move |k| {
            let eight = first + I64Vec3::new(k % 3, k / 3 % 3, k / 9);
            let place = |axis: usize| (((eight[axis] >> 1) - corner[axis]) as usize) << axis;
            let range = self.eight_of(&blocks[place(0) | place(1) | place(2)], eight);
            (!range.is_empty()).then_some(range)
        })
    }

    /// Where points are of eight cells, counted in such from the lowest.
    #[inline]
    fn eight_at(&self, eight: I64Vec3) -> Range<usize> {
        self.eight_of(&self.block_at(I64Vec3::from(eight.to_array().map(|at| at >> 1))), eight)
    }

    /// The same, if their block is at hand.
    #[inline]
    fn eight_of(&self, block: &Block, eight: I64Vec3) -> Range<usize> {
        let shift = 8 * ((eight.x & 1) | (eight.y & 1) << 1 | (eight.z & 1) << 2);
        let cells = (block.occupied >> shift) & 0xff;
        let first = block.first as usize + (block.occupied & ((1 << shift) - 1)).count_ones() as usize;
        let last = first + cells.count_ones() as usize;
        if cells == 0 { 0..0 } else { self.starts[first] as usize..self.starts[last] as usize }
    }

    /// A block, counted in such from the lowest.
    #[inline]
    fn block_at(&self, block: I64Vec3) -> Block {
        if self.blocks.is_empty() || block.min_element() < 0 || block.max_element() > (MOST_CELLS + 1) >> 2 {
            return Block::NONE;
        }
        self.blocks[self.slot(interleave(block))]
    }

    /// Calls `visit` with every point in the cell of `p` and in the six that share a face with it: all within half an
    /// edge of `p` if no more than one coordinate leaves the cell; meant for cells that are large against the distance.
    #[inline]
    pub fn for_each_near_faces(&self, p: DVec3, mut visit: impl FnMut(u32)) {
        let [x, y, z] = self.cell_of(p);
        self.cell([x, y, z]).iter().for_each(|&index| visit(index));
        for [a, b, c] in FACES {
            self.cell([x + a, y + b, z + c]).iter().for_each(|&index| visit(index));
        }
    }

    /// Calls `visit` with each of the 13 following neighbour cells that hold points. Together with the pairs inside each
    /// cell, going through all occupied cells meets every pair of neighbouring points once.
    #[inline]
    pub fn for_each_following(&self, cell: [i32; 3], mut visit: impl FnMut(&[u32])) {
        for k in 14..27_i32 {
            let points = self.cell(beside(cell, k));
            if !points.is_empty() {
                visit(points);
            }
        }
    }
}

/// Points of a piece, of so many.
fn piece(count: usize) -> usize {
    (count / PIECES).clamp(PIECE[1], PIECE[0])
}

/// The whole numbers below, by the processor's own instruction: that of `glam` is a call of a library, which gives the same.
#[inline(always)]
pub fn floor(p: DVec3) -> DVec3 {
    DVec3::new(p.x.floor(), p.y.floor(), p.z.floor())
}

/// The cell number `k` of the 27 around `cell`; number 13 is itself.
#[inline]
fn beside([x, y, z]: [i32; 3], k: i32) -> [i32; 3] {
    [x.wrapping_add(k % 3 - 1), y.wrapping_add(k / 3 % 3 - 1), z.wrapping_add(k / 9 - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_math::random::Stream;

    fn cloud(count: u64, size: f64) -> Vec<DVec3> {
        let stream = Stream::new(5, "cloud");
        let coordinate = |i| stream.range(i, -size, size);
        (0..count).map(|i| DVec3::new(coordinate(3 * i), coordinate(3 * i + 1), coordinate(3 * i + 2))).collect()
    }

    fn built(points: &[DVec3], cell: f64) -> Neighbours {
        let mut neighbours = Neighbours::new();
        neighbours.rebuild(points, cell).unwrap();
        neighbours
    }

    #[test]
    fn near_points_are_those_of_brute_force() {
        for (size, cell) in [(1.0, 0.13), (1.0, 5.0), (300.0, 0.5)] {
            let points = cloud(700, size);
            let neighbours = built(&points, cell);
            for (i, &p) in points.iter().chain(&[DVec3::splat(1e12), DVec3::NAN]).enumerate() {
                let mut near = Vec::new();
                neighbours.for_each_near(p, |j| near.push(j));
                near.sort_unstable();
                assert!(near.windows(2).all(|w| w[0] < w[1]), "twice the same");
                assert_eq!(neighbours.any_around(neighbours.cell_of(p)), !near.is_empty());
                for (j, q) in points.iter().enumerate() {
                    let found = near.binary_search(&(j as u32)).is_ok();
                    let difference = (p * (1.0 / cell)).floor() - (*q * (1.0 / cell)).floor();
                    assert_eq!(found, difference.abs().max_element() <= 1.0 && p.is_finite(), "{i} {j}");
                }
            }
        }
    }

    #[test]
    fn wide_ranges_hold_all_within_two_edges() {
        for (size, cell) in [(1.0, 0.13), (1.0, 5.0), (300.0, 0.5)] {
            let points = cloud(700, size);
            let neighbours = built(&points, cell);
            for p in &points {
                let mut near: Vec<u32> = neighbours
                    .widely_around(neighbours.cell_of(*p))
                    .flat_map(|range| neighbours.order()[range].to_vec())
                    .collect();
                let eight = neighbours.order()[neighbours.eight(neighbours.cell_of(*p))].to_vec();
                assert!(eight.iter().any(|&j| points[j as usize] == *p) && eight.iter().all(|j| near.contains(j)));
                near.sort_unstable();
                assert!(near.windows(2).all(|w| w[0] < w[1]), "twice the same");
                for (j, q) in points.iter().enumerate() {
                    let difference = ((p / cell).floor() - (q / cell).floor()).abs().max_element();
                    let found = near.binary_search(&(j as u32)).is_ok();
                    assert!(if found { difference <= 3.0 } else { difference > 2.0 }, "{j} {difference}");
                }
            }
        }
    }

    #[test]
    fn the_order_is_by_cell_along_the_curve_and_then_by_index() {
        let points = cloud(5_000, 2.0);
        let neighbours = built(&points, 0.2);
        let mut sorted = neighbours.order().to_vec();
        sorted.sort_unstable();
        assert!(sorted.iter().enumerate().all(|(i, &j)| i as u32 == j), "a permutation");
        let mut seen = 0;
        for number in 0..neighbours.occupied() {
            let (cell, range) = neighbours.occupied_cell(number);
            assert_eq!(range.start, seen);
            seen = range.end;
            assert_eq!(neighbours.range(cell), range);
            let inside = neighbours.cell(cell);
            assert!(inside.windows(2).all(|w| w[0] < w[1]));
            assert!(inside.iter().all(|&j| neighbours.cell_of(points[j as usize]) == cell));
        }
        assert_eq!(seen, points.len());
    }

    #[test]
    fn half_the_neighbour_cells_meet_every_pair_once() {
        let points = cloud(400, 1.0);
        let neighbours = built(&points, 0.3);
        let mut pairs = Vec::new();
        for number in 0..neighbours.occupied() {
            let (cell, range) = neighbours.occupied_cell(number);
            let inside = &neighbours.order()[range];
            for (k, &i) in inside.iter().enumerate() {
                inside[..k].iter().for_each(|&j| pairs.push((i.min(j), i.max(j))));
                neighbours.for_each_following(cell, |others| {
                    others.iter().for_each(|&j| pairs.push((i.min(j), i.max(j))));
                });
            }
        }
        pairs.sort_unstable();
        let mut expected = Vec::new();
        for i in 0..points.len() as u32 {
            neighbours.for_each_near(points[i as usize], |j| expected.extend((i < j).then_some((i, j))));
        }
        expected.sort_unstable();
        assert_eq!(pairs, expected);
    }

    #[test]
    fn seven_cells_are_the_cell_and_its_faces() {
        let points = cloud(500, 1.0);
        let neighbours = built(&points, 0.4);
        for &p in &points {
            let mut near = Vec::new();
            neighbours.for_each_near_faces(p, |j| near.push(j));
            near.sort_unstable();
            let [x, y, z] = neighbours.cell_of(p);
            let steps = |q: DVec3| {
                let [a, b, c] = neighbours.cell_of(q);
                (a - x).abs() + (b - y).abs() + (c - z).abs()
            };
            let expected: Vec<u32> = (0..500).filter(|&j| steps(points[j as usize]) <= 1).collect();
            assert_eq!(near, expected);
        }
    }

    #[test]
    fn the_same_on_any_number_of_threads_and_after_reuse() {
        let points = cloud(100_000, 3.0);
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut neighbours = built(&cloud(150_000, 40.0), 0.01);
                neighbours.rebuild(&points, 0.1).unwrap();
                neighbours.order().to_vec()
            })
        };
        let one = on(1);
        assert_eq!(one, on(2));
        assert_eq!(one, on(8));
    }

    #[test]
    fn what_cannot_be_sorted_is_an_error() {
        let mut neighbours = Neighbours::new();
        for bad in [DVec3::NAN, DVec3::new(0.0, f64::INFINITY, 0.0), DVec3::new(1e300, 0.0, 0.0), DVec3::splat(2.2e5)] {
            assert!(neighbours.rebuild(&[DVec3::ZERO, bad], 0.1).is_err(), "{bad}");
        }
        for cell in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(neighbours.rebuild(&[DVec3::ZERO], cell).is_err());
        }
        neighbours.rebuild(&[], 1.0).unwrap();
        assert_eq!((neighbours.order().len(), neighbours.cell([0; 3]).len()), (0, 0));
        // A stray point far away is fine.
        neighbours.rebuild(&[DVec3::ZERO, DVec3::splat(-2.0e5), DVec3::splat(0.01)], 0.1).unwrap();
        assert_eq!(neighbours.cell([0; 3]), [0, 2]);
        assert_eq!(neighbours.cell(neighbours.cell_of(DVec3::splat(-2.0e5))), [1]);
    }
}
