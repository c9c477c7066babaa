//! What is within a wide reach of a few particles, eight at a time.
//!
//! Rows have neighbours within the kernel's support. Where a pass needs more of them, only once or twice a step, rows would cost more than they save: instead the
//! particles of 2 x 2 x 2 cells, which follow each other, share one list of all points near any of them, and each goes through all of it: six in seven are too far from it, but
//! to choose costs more.

use super::rows::{PIECE, Points, WIDTH, eight};
use drench_geometry::neighbours::Neighbours;
use glam::DVec3;
use rayon::prelude::*;
use std::ops::Range;
use wide::{f32x4, f32x8};

/// Points near a group of particles: coordinates [m], and two numbers each.
#[derive(Debug, Default)]
pub(crate) struct Crowd {
    lists: [Vec<f32>; 5],
    /// Where to look for them.
    ranges: Vec<Range<usize>>,
}

impl Crowd {
    /// Gathers the points of the ranges that are within reach of the box around `group`, if `weigh` gives them numbers.
    fn gather(&mut self, points: &Points, group: Range<usize>, reach: f32, weigh: impl Fn(usize) -> Option<[f32; 2]>) {
        let [xs, ys, zs] = &points.coordinates;
        let bounds = |values: &[f32]| {
            let group = values[group.clone()].iter().copied();
            let (low, high) = group.fold((f32::MAX, f32::MIN), |(low, high), x| (low.min(x), high.max(x)));
            (f32x8::splat(low), f32x8::splat(high))
        };
        let bounds = [bounds(xs), bounds(ys), bounds(zs)];
        let limit = f32x8::splat(reach * reach);
        let outside = |(low, high): (f32x8, f32x8), x: f32x8| (low - x).fast_max(x - high).fast_max(f32x8::ZERO);
        self.clear();
        let [x, y, z, first, second] = &mut self.lists;
        for range in &self.ranges {
            for k in range.clone().step_by(WIDTH) {
                let dx = outside(bounds[0], eight(xs, k));
                let dy = outside(bounds[1], eight(ys, k));
                let dz = outside(bounds[2], eight(zs, k));
                let near = (dx * dx + dy * dy + dz * dz).simd_lt(limit).to_bitmask();
                let mut hits = near & ((1_u64 << (range.end - k).min(WIDTH)) - 1) as u32;
                while hits != 0 {
                    let point = k + hits.trailing_zeros() as usize;
                    hits &= hits - 1;
                    if let Some([a, b]) = weigh(point) {
                        x.push(xs[point]);
                        y.push(ys[point]);
                        z.push(zs[point]);
                        first.push(a);
                        second.push(b);
                    }
                }
            }
        }
        // What fills up the last eight has no weight.
        let full = x.len().next_multiple_of(WIDTH);
        self.lists.iter_mut().for_each(|list| list.resize(full, 0.0));
    }

    fn clear(&mut self) {
        self.lists.iter_mut().for_each(Vec::clear);
    }

    /// Whether nothing is there, not even the particle itself.
    pub fn is_empty(&self) -> bool {
        self.lists[0].is_empty()
    }

    /// Calls `visit` with the offsets to a place, and the numbers, of eight points after the other.
    #[inline]
    pub fn for_each(&self, place: f32x4, mut visit: impl FnMut([f32x8; 3], [f32x8; 2])) {
        let [px, py, pz, _] = place.to_array().map(f32x8::splat);
        let [x, y, z, first, second] = self.lists.each_ref().map(|list| list.as_chunks::<WIDTH>().0);
        for ((((x, y), z), first), second) in x.iter().zip(y).zip(z).zip(first).zip(second) {
            let offsets = [px - f32x8::new(*x), py - f32x8::new(*y), pz - f32x8::new(*z)];
            visit(offsets, [f32x8::new(*first), f32x8::new(*second)]);
        }
    }
}

/// Where points of interest are: how many there are before each, and in all.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    before: Vec<u32>,
}

impl Marks {
    /// Marks those of so many points that pass the test.
    pub fn set(&mut self, count: usize, test: impl Fn(usize) -> bool) {
        self.before.clear();
        self.before.push(0);
        let mut sum = 0;
        self.before.extend((0..count).map(|i| {
            sum += u32::from(test(i));
            sum
        }));
    }

    fn any(&self, range: Range<usize>) -> bool {
        self.before[range.start] < self.before[range.end]
    }
}

/// Computes one value a particle from the points within reach, at most two cells, to which `weigh` gives numbers for a group of particles. Groups have an empty crowd
/// if nothing is marked around them.
pub(crate) fn for_each_crowd<T: Send, W: Fn(usize) -> Option<[f32; 2]>>(
    (neighbours, points, positions): (&Neighbours, &Points, &[DVec3]),
    (reach, marks): (f32, &Marks),
    out: &mut [T],
    weigh: impl Fn(Range<usize>) -> W + Sync,
    value: impl Fn(usize, &Crowd) -> T + Sync,
) {
    out.par_chunks_mut(PIECE).enumerate().for_each_init(Crowd::default, |crowd, (piece, out)| {
        let (begin, end) = (piece * PIECE, piece * PIECE + out.len());
        let mut from = begin;
        while from < end {
            let cell = neighbours.cell_of(positions[from]);
            let group = from..neighbours.eight(cell).end.min(end);
            crowd.ranges.clear();
            crowd.ranges.extend(neighbours.widely_around(cell));
            if crowd.ranges.iter().any(|range| marks.any(range.clone())) {
                crowd.gather(points, group.clone(), reach, weigh(group.clone()));
            } else {
                crowd.clear();
            }
            for i in group.clone() {
                out[i - begin] = value(i, crowd);
            }
            from = group.end;
        }
    });
}
