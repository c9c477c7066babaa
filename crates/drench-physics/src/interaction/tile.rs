//! Tiles of the grid: addresses, the hash table that finds them, and the arithmetic of a node row.

use drench_geometry::neighbours::floor;
use glam::DVec3;
use wide::{f32x4, f32x8};

/// Cells along the edge of a tile.
pub(super) const EDGE: i32 = 8;
/// Nodes along the edge of a tile: both faces belong to it.
pub(super) const SIDE: usize = EDGE as usize + 1;
/// Numbers a node holds: density, and momentum or velocity.
pub(super) const CHANNELS: usize = 4;
/// Numbers a tile holds.
pub(super) const TILE: usize = SIDE * SIDE * SIDE * CHANNELS;
/// Steps in a tile's array along y and z.
pub(super) const ROW: usize = SIDE * CHANNELS;
pub(super) const SLAB: usize = SIDE * ROW;
/// Tiles from the origin to the end of the addressable world.
const REACH: i32 = 1 << 20;

/// Address of a tile: three biased coordinates of 21 bits, so that keys sort by z, then y, then x.
pub(super) type Key = u64;

#[inline(always)]
pub(super) fn key(tile: [i32; 3]) -> Key {
    let biased = tile.map(|t| (t + REACH) as u32 as u64);
    biased[0] | biased[1] << 21 | biased[2] << 42
}

#[inline(always)]
pub(super) fn tile_of(key: Key) -> [i32; 3] {
    [0, 21, 42].map(|shift| ((key >> shift) & 0x1f_ffff) as i32 - REACH)
}

/// Where a point lies: its tile, the offset of its cell's first node in the tile's array, and the fractions in the cell.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    pub tile: [i32; 3],
    pub offset: usize,
    pub fraction: [f32; 3],
}

impl Spot {
    /// None if the point is not finite or outside the addressable world.
    #[inline(always)]
    pub fn new(point: DVec3, inverse_cell: f64) -> Option<Self> {
        let p = point * inverse_cell;
        let limit = f64::from((REACH - 2) * EDGE);
        // NaN fails every comparison.
        let inside = (p.x.abs() < limit) & (p.y.abs() < limit) & (p.z.abs() < limit);
        if !inside {
            return None;
        }
        let floor = floor(p);
        let f = p - floor;
        // Whole numbers this small stand in the low bits of x + 1.5 * 2^52: cheaper than a cast that must think of NaN.
        let whole = |x: f64| (x + 6_755_399_441_055_744.0).to_bits() as u32 as i32;
        let cell = [whole(floor.x), whole(floor.y), whole(floor.z)];
        let local = cell.map(|c| (c & (EDGE - 1)) as usize);
        Some(Self {
            tile: cell.map(|c| c >> EDGE.trailing_zeros()),
            offset: local[0] * CHANNELS + local[1] * ROW + local[2] * SLAB,
            fraction: [f.x as f32, f.y as f32, f.z as f32],
        })
    }
}

/// Density and velocity of a node.
#[inline(always)]
pub(super) fn node(nodes: &[f32], offset: usize) -> f32x4 {
    let node: &[f32; 4] = nodes[offset..offset + 4].first_chunk().expect("a slice of four");
    f32x4::new(*node)
}

/// Adds to two neighbouring nodes along x, as one register.
#[inline(always)]
pub(super) fn add_pair(nodes: &mut [f32], offset: usize, value: f32x8) {
    let row: &mut [f32; 8] = nodes[offset..offset + 8].first_chunk_mut().expect("a slice of eight");
    *row = (f32x8::new(*row) + value).to_array();
}

/// From tile addresses to slots: open addressing, linear probing.
#[derive(Debug, Default)]
pub(super) struct Table {
    entries: Vec<(Key, u32)>,
    used: usize,
}

const EMPTY: Key = Key::MAX;

impl Table {
    pub fn clear(&mut self) {
        self.entries.fill((EMPTY, 0));
        self.used = 0;
    }

    #[inline]
    fn home(&self, key: Key) -> usize {
        (drench_math::random::mix(key) as usize) & (self.entries.len() - 1)
    }

    #[inline]
    pub fn find(&self, key: Key) -> Option<u32> {
        if self.entries.is_empty() {
            return None;
        }
        let mut at = self.home(key);
        loop {
            match self.entries[at] {
                (found, slot) if found == key => return Some(slot),
                (EMPTY, _) => return None,
                _ => at = (at + 1) & (self.entries.len() - 1),
            }
        }
    }

    /// Adds a key that is not yet there.
    pub fn insert(&mut self, key: Key, slot: u32) {
        if 2 * (self.used + 1) > self.entries.len() {
            let larger = vec![(EMPTY, 0); (2 * self.entries.len()).max(64)];
            let before = std::mem::replace(&mut self.entries, larger);
            for (key, slot) in before.into_iter().filter(|entry| entry.0 != EMPTY) {
                self.place(key, slot);
            }
        }
        self.place(key, slot);
        self.used += 1;
    }

    fn place(&mut self, key: Key, slot: u32) {
        let mut at = self.home(key);
        while self.entries[at].0 != EMPTY {
            at = (at + 1) & (self.entries.len() - 1);
        }
        self.entries[at] = (key, slot);
    }

    pub fn memory(&self) -> usize {
        self.entries.capacity() * 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_and_sort_by_z() {
        for tile in [[0, 0, 0], [-5, 7, 1000], [-1_000_000, 1, -1]] {
            assert_eq!(tile_of(key(tile)), tile);
        }
        assert!(key([5, 5, 0]) < key([-9, -9, 1]));
    }

    #[test]
    fn table_finds_what_was_put_in_and_nothing_else() {
        let mut table = Table::default();
        let at = |i: i32| key([i, -i * 3, i / 7]);
        for round in 0..2 {
            for i in 0..500 {
                assert_eq!(table.find(at(i)), None, "{round}");
                table.insert(at(i), i as u32);
            }
            assert!((0..500).all(|i| table.find(at(i)) == Some(i as u32)));
            table.clear();
        }
    }

    #[test]
    fn spots_reject_what_cannot_be_placed() {
        assert!(Spot::new(DVec3::new(f64::NAN, 0.0, 0.0), 1.0).is_none());
        assert!(Spot::new(DVec3::new(0.0, f64::INFINITY, 0.0), 1.0).is_none());
        assert!(Spot::new(DVec3::splat(1e9), 1.0).is_none());
        let spot = Spot::new(DVec3::new(-0.25, 8.5, 0.0), 1.0).unwrap();
        assert_eq!(spot.tile, [-1, 1, 0]);
        assert_eq!(spot.fraction, [0.75, 0.5, 0.0]);
        assert_eq!(spot.offset, 7 * CHANNELS);
    }
}
