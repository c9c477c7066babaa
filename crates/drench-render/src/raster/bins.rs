//! Sorts items into the tiles of a picture, in parallel, keeping their order within each tile.

use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

/// Items a parallel chunk holds.
const CHUNK: usize = 1 << 15;

/// A rectangle of tiles, both ends included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileRange {
    pub x0: u16,
    pub y0: u16,
    pub x1: u16,
    pub y1: u16,
}

impl TileRange {
    /// The tiles of side `tile` that a box of pixels touches in a picture of `columns` by `rows` tiles.
    #[inline]
    pub fn around(low: glam::Vec2, high: glam::Vec2, tile: f32, columns: u16, rows: u16) -> Option<Self> {
        let (low, high) = (low / tile, high / tile);
        // Written so that NaN is outside.
        let inside = high.x >= 0.0 && high.y >= 0.0 && low.x < f32::from(columns) && low.y < f32::from(rows);
        inside.then(|| Self {
            x0: low.x.max(0.0) as u16,
            y0: low.y.max(0.0) as u16,
            x1: (high.x as u16).min(columns - 1),
            y1: (high.y as u16).min(rows - 1),
        })
    }
}

/// Items by tile.
#[derive(Default)]
pub(crate) struct Bins {
    starts: Vec<u32>,
    items: Vec<AtomicU32>,
}

impl Bins {
    /// Sorts items `0..count`; `range` names the tiles of each.
    pub fn fill<F>(&mut self, count: usize, columns: u16, rows: u16, range: F)
    where
        F: Fn(usize) -> Option<TileRange> + Sync,
    {
        let tiles = usize::from(columns) * usize::from(rows);
        let width = usize::from(columns);
        let each_tile = |r: TileRange, f: &mut dyn FnMut(usize)| {
            for y in r.y0..=r.y1 {
                for x in r.x0..=r.x1 {
                    f(usize::from(y) * width + usize::from(x));
                }
            }
        };
        let chunk_range = |chunk: usize| chunk * CHUNK..((chunk + 1) * CHUNK).min(count);
        let mut counts: Vec<Vec<u32>> = (0..count.div_ceil(CHUNK))
            .into_par_iter()
            .map(|chunk| {
                let mut counts = vec![0; tiles];
                for i in chunk_range(chunk) {
                    if let Some(r) = range(i) {
                        each_tile(r, &mut |tile| counts[tile] += 1);
                    }
                }
                counts
            })
            .collect();
        // The places of tile 0 for chunk 0, 1, ..., then of tile 1: items stay in order within a tile.
        self.starts.clear();
        let mut total = 0;
        for tile in 0..tiles {
            self.starts.push(total);
            for counts in &mut counts {
                total += std::mem::replace(&mut counts[tile], total);
            }
        }
        self.starts.push(total);
        if self.items.len() < total as usize {
            self.items.resize_with(total as usize, AtomicU32::default);
        }
        let items = &self.items;
        counts.into_par_iter().enumerate().for_each(|(chunk, mut next)| {
            for i in chunk_range(chunk) {
                if let Some(r) = range(i) {
                    each_tile(r, &mut |tile| {
                        // Every place is written once, by one chunk.
                        items[next[tile] as usize].store(i as u32, Ordering::Relaxed);
                        next[tile] += 1;
                    });
                }
            }
        });
    }

    /// The items of a tile, in rising order.
    pub fn of(&self, tile: usize) -> impl ExactSizeIterator<Item = u32> + '_ {
        let range = self.starts[tile] as usize..self.starts[tile + 1] as usize;
        self.items[range].iter().map(|item| item.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_math::random::Stream;
    use glam::Vec2;

    #[test]
    fn bins_hold_what_brute_force_finds() {
        let stream = Stream::new(1, "boxes");
        let count = 70_000;
        let boxes: Vec<_> = (0..count)
            .map(|i| {
                let at = |k| stream.child(i).range(k, -50.0, 250.0) as f32;
                let low = Vec2::new(at(0), at(1));
                (low, low + Vec2::new(at(2), at(3)).abs() * 0.2)
            })
            .collect();
        let range = |i: usize| TileRange::around(boxes[i].0, boxes[i].1, 16.0, 12, 9);
        let mut bins = Bins::default();
        bins.fill(count as usize, 12, 9, range);
        for (tile, (x, y)) in (0..9).flat_map(|y| (0..12).map(move |x| (x, y))).enumerate() {
            let (low, high) = (Vec2::new(x as f32, y as f32) * 16.0, Vec2::new(x as f32 + 1.0, y as f32 + 1.0) * 16.0);
            let expected: Vec<u32> = (0..count as usize)
                .filter(|&i| boxes[i].0.cmplt(high).all() && boxes[i].1.cmpge(low).all())
                .map(|i| i as u32)
                .collect();
            assert_eq!(bins.of(tile).collect::<Vec<_>>(), expected);
        }
    }
}
