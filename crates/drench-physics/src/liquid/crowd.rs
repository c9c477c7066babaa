//! What is within a wide reach of a few particles, eight at a time.
//!
//! Rows have neighbours within the kernel's support. Where a pass needs more of them, only once or twice a step, rows would cost more than they save: instead the
//! particles of 2 x 2 x 2 cells, which follow each other, share one list of all points near any of them, and each goes through all of it: six in seven are too far from it, but
//! to choose costs more. Where liquid is thin, most of the work is to make the lists: so groups remember who is near them from pass to pass.

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
    chosen: Vec<u32>,
}

impl Crowd {
    /// Takes those of the points that count.
    fn fill(
        &mut self,
        points: &Points,
        near: &[u32],
        counts: impl Fn(usize) -> bool,
        numbers: impl Fn(usize) -> [f32; 2],
    ) {
        self.clear();
        let Self { lists: [x, y, z, first, second], chosen } = self;
        chosen.clear();
        chosen.extend(near.iter().filter(|&&point| counts(point as usize)));
        // One list after the other: then nothing asks whether there is room for the next.
        let [xs, ys, zs] = &points.coordinates;
        for (list, values) in [(x, xs), (y, ys), (z, zs)] {
            list.extend(chosen.iter().map(|&point| values[point as usize]));
        }
        first.extend(chosen.iter().map(|&point| numbers(point as usize)[0]));
        second.extend(chosen.iter().map(|&point| numbers(point as usize)[1]));
        // What fills up the last eight has no weight.
        let full = chosen.len().next_multiple_of(WIDTH);
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

/// Particles that follow each other, and all points within reach of the box around them, once somebody asked for them.
#[derive(Debug, Default)]
struct Group {
    particles: Range<usize>,
    near: Vec<u32>,
}

impl Group {
    /// Finds the points, among those of the ranges.
    fn look_around(&mut self, points: &Points, reach: f32, ranges: &[Range<usize>]) {
        let bounds = points.coordinates.each_ref().map(|values| {
            let group = values[self.particles.clone()].iter().copied();
            let (low, high) = group.fold((f32::MAX, f32::MIN), |(low, high), x| (low.min(x), high.max(x)));
            (f32x8::splat(low), f32x8::splat(high))
        });
        let limit = f32x8::splat(reach * reach);
        let outside = |axis: usize, k: usize| {
            let ((low, high), x) = (bounds[axis], eight(&points.coordinates[axis], k));
            (low - x).fast_max(x - high).fast_max(f32x8::ZERO)
        };
        for range in ranges {
            for k in range.clone().step_by(WIDTH) {
                let [dx, dy, dz] = [outside(0, k), outside(1, k), outside(2, k)];
                let near = (dx * dx + dy * dy + dz * dz).simd_lt(limit).to_bitmask();
                let mut hits = near & ((1_u64 << (range.end - k).min(WIDTH)) - 1) as u32;
                while hits != 0 {
                    self.near.push(k as u32 + hits.trailing_zeros());
                    hits &= hits - 1;
                }
            }
        }
    }
}

/// The groups of one piece.
#[derive(Debug, Default)]
struct Company {
    /// With memory of earlier steps: so many of them are in use.
    groups: Vec<Group>,
    count: usize,
    crowd: Crowd,
    /// Where to look for points.
    ranges: Vec<Range<usize>>,
}

/// All particles in groups, which remember who is near them from one pass of a step to the next.
#[derive(Debug, Default)]
pub(crate) struct Crowds {
    companies: Vec<Company>,
}

impl Crowds {
    /// Makes groups of the particles of 2 x 2 x 2 cells, and forgets who was near them.
    pub fn form(&mut self, neighbours: &Neighbours, positions: &[DVec3]) {
        self.companies.resize_with(positions.len().div_ceil(PIECE), Company::default);
        self.companies.par_iter_mut().enumerate().for_each(|(piece, Company { groups, count, .. })| {
            let end = (piece * PIECE + PIECE).min(positions.len());
            let mut from = piece * PIECE;
            *count = 0;
            while from < end {
                let to = neighbours.eight(neighbours.cell_of(positions[from])).end.min(end);
                if *count == groups.len() {
                    groups.push(Group::default());
                }
                groups[*count].particles = from..to;
                groups[*count].near.clear();
                *count += 1;
                from = to;
            }
        });
    }

    /// Computes one value a particle from those points within reach, at most two cells, that count for its group, with the numbers that they have. Groups have an empty
    /// crowd if nothing is marked around them, unless who is near them is known already.
    pub fn for_each<T: Send, C: Fn(usize) -> bool>(
        &mut self,
        (neighbours, points, positions): (&Neighbours, &Points, &[DVec3]),
        (reach, marks): (f32, &Marks),
        out: &mut [T],
        (counts, numbers): (impl Fn(Range<usize>) -> C + Sync, impl Fn(usize) -> [f32; 2] + Sync),
        value: impl Fn(usize, &Crowd) -> T + Sync,
    ) {
        out.par_chunks_mut(PIECE).zip(&mut self.companies).for_each(|(out, company)| {
            let Company { groups, count, crowd, ranges } = company;
            let mut out = out.iter_mut();
            for group in &mut groups[..*count] {
                if group.near.is_empty() {
                    ranges.clear();
                    ranges.extend(neighbours.widely_around(neighbours.cell_of(positions[group.particles.start])));
                    if ranges.iter().any(|range| marks.any(range.clone())) {
                        group.look_around(points, reach, ranges);
                    }
                }
                crowd.fill(points, &group.near, counts(group.particles.clone()), &numbers);
                group.particles.clone().zip(&mut out).for_each(|(i, out)| *out = value(i, crowd));
            }
        });
    }
}
