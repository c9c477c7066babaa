//! Which capsules overlap: a uniform grid that suits long, thin, crowded things.
//!
//! Every capsule is entered in all cells that it passes through. Two capsules overlap exactly if their axes come within
//! the sum of the radii; then the point that divides the shortest connection in the ratio of the radii lies in both
//! capsules, so that both are entered in the cell of this point. There the pair is looked for, in single precision with a margin, so that the search
//! is complete for any size of cells. The few that lie so close to a border that two cells may claim them are next to each other once the pairs
//! are sorted. What is left is decided in double precision, by whoever fetches both from memory anyway.
//!
//! Cells may therefore be much smaller than a segment. A hair of 20 vertices has segments ten times as long as the
//! distance to its neighbour: hundreds of segments end in a cube of a segment's length, and looking at the ends in
//! whole neighbourhoods, as in [Rungjiratananon2012, section 4.5], means hundreds of times more candidates than
//! contacts. See [`super::seven`] for that search, and docs/models.md for the comparison.
//!
//! Storage: cells belong to blocks of 8 x 8 x 8, blocks repeat periodically over space, so that the domain has no bounds. What
//! falls on the same cell from periods apart is told apart by the distance. Capsules are entered in blocks only, in pieces of a fixed size,
//! and are copied there, because following an index to every one of them would mean waiting for memory; a block is divided into its cells when it is looked
//! through ([`super::crowd`]). Pairs come in the order of the capsules: no result depends on threads, and what is made of them finds its
//! strands one after the other.

use super::crowd::Crowd;
use super::segments::{Segment, closest};
use super::sweep::Sweep;
use crate::error::PhysicsError;
use drench_geometry::neighbours::floor;
use drench_math::ordered;
use glam::{DVec3, I64Vec3, Vec3};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Capsules up to which their boxes are sorted along an axis instead ([`super::sweep`]).
const FEW: usize = 2048;
/// Edge of a cell as a fraction of the mean length of an axis, and in mean radii; their sum is taken.
const CELL: (f64, f64) = (0.45, 4.0);
/// Entries per capsule at most, on average; cells are made larger until they fit.
const ENTRIES: f64 = 40.0;
/// Entries per block that are aimed at.
const BLOCK_ENTRIES: f64 = 1024.0;
/// Pairs at most: for each capsule, beside that, and in all. More is a radius that makes one lump of all strands, and would take all memory.
const PAIRS: (usize, usize, usize) = (500, 100_000, 20_000_000);
/// Bits of a cell's coordinate within its block.
pub(super) const LOCAL: u32 = 3;
/// Cells along the edge of a block.
const ALONG: f64 = (1 << LOCAL) as f64;
/// Most bits of a block's coordinate.
const MOST_BITS: u32 = 6;
/// Capsules that are entered in one piece.
const PIECE: usize = 1 << 15;
/// Capsules whose pairs are in one run.
const RUN: usize = 1 << 12;
/// Capsules that are looked at to choose the size of cells: a prime, so that they are not all at the same place of a strand.
const SAMPLE: usize = 4093;
/// Blocks that one task looks through, and tasks that are taken on together at most.
const TASK: usize = 64;
const SHARE: usize = 4;
/// How far cells reach beyond their borders when capsules are entered, in cells: more than any rounding.
const SLACK: f64 = 1e-6;

/// A segment with a radius, as the search sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capsule {
    /// Middle of the axis [m].
    pub centre: DVec3,
    /// From the middle to an end [m].
    pub half: Vec3,
    /// Radius [m]; below 0 if there is no capsule at this index.
    pub radius: f32,
}

impl Capsule {
    /// No capsule.
    pub const NONE: Self = Self { centre: DVec3::ZERO, half: Vec3::ZERO, radius: -1.0 };

    /// The capsule around the segment between two points, a little thicker than asked for, so that rounding loses nothing.
    #[inline]
    pub fn around(from: DVec3, to: DVec3, radius: f64) -> Self {
        let (centre, half) = (0.5 * (from + to), 0.5 * (to - from));
        let rounding = 1e-6 * half.abs().max_element() + 1e-12 * centre.abs().max_element();
        let capsule = Self { centre, half: half.as_vec3(), radius: (radius + rounding) as f32 * 1.000_001 };
        if capsule.is_finite() { capsule } else { Self::NONE }
    }

    /// Whether there is one.
    #[inline]
    pub fn exists(&self) -> bool {
        self.radius >= 0.0
    }

    fn is_finite(&self) -> bool {
        // Beyond this distance cells cannot be counted any more.
        self.centre.abs().max_element() < 1e12 && self.half.is_finite() && self.radius.is_finite()
    }

    fn axis_from(&self, origin: DVec3) -> Segment {
        let (centre, half) = (self.centre - origin, self.half.as_dvec3());
        Segment { from: centre - half, to: centre + half }
    }
}

/// Working memory of the search.
#[derive(Debug, Default)]
pub struct Search {
    pieces: Vec<Piece>,
    sweep: Sweep,
    /// Pairs that may overlap, by the task that found them; and in ascending order, in runs of the lower index.
    parts: Vec<Vec<[u32; 2]>>,
    runs: Vec<Vec<[u32; 2]>>,
    /// Whether they are known to overlap.
    decided: bool,
    found: Vec<[u32; 2]>,
}

/// A run of capsules, sorted by block.
#[derive(Debug, Default)]
pub(super) struct Piece {
    /// With the block of each.
    raw: Vec<(u32, Member)>,
    sorted: Vec<Member>,
    /// Where each block begins in `sorted`, and the end.
    starts: Vec<u32>,
}

/// A capsule in a block, in single precision. Lengths are counted in cells, places from the lowest corner of the block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Member {
    pub index: u32,
    pub centre: Vec3,
    pub half: Vec3,
    /// With a margin for what single precision makes of it.
    pub radius: f32,
}

impl Member {
    /// Centre, half axis and radius.
    #[inline]
    pub fn row(&self) -> [f32; 8] {
        let Self { centre, half, radius, .. } = self;
        [centre.x, centre.y, centre.z, half.x, half.y, half.z, *radius, 0.0]
    }
}

/// The cells: how large, and how many blocks until they repeat.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cells {
    /// One over the edge of a cell [1/m].
    inverse: f64,
    /// Bits of a block's coordinate.
    bits: u32,
}

impl Search {
    /// Every pair of overlapping capsules, once, the lower index first, in ascending order. Capsules that follow each other share an end and are
    /// left out.
    pub fn pairs(&mut self, capsules: &[Capsule]) -> Result<&[[u32; 2]], PhysicsError> {
        self.look(capsules)?;
        self.found.clear();
        let pairs = self.runs.iter().flatten();
        self.found.extend(pairs.filter(|pair| self.decided || overlap(pair.map(|index| &capsules[index as usize]))));
        Ok(&self.found)
    }

    /// Looks for the pairs, but leaves it open whether some that come very close overlap.
    pub(super) fn look(&mut self, capsules: &[Capsule]) -> Result<(), PhysicsError> {
        self.decided = capsules.len() <= FEW;
        let limit = (PAIRS.0 * capsules.len() + PAIRS.1).min(PAIRS.2);
        let count = if self.decided {
            self.runs.resize_with(1, Vec::new);
            self.sweep.pairs(capsules, &mut self.runs[0]);
            self.runs[0].len()
        } else {
            self.in_cells(capsules, limit)
        };
        if count > limit { Err(PhysicsError::TooManyPairs { capsules: capsules.len(), limit }) } else { Ok(()) }
    }

    /// The pairs that were looked for last, in ascending order, in runs.
    pub(super) fn runs(&self) -> &[Vec<[u32; 2]>] {
        &self.runs
    }

    /// Whether these are known to overlap.
    pub(super) fn decided(&self) -> bool {
        self.decided
    }

    /// Fills the runs with cells; how many pairs that took, or more than the limit if it was given up.
    fn in_cells(&mut self, capsules: &[Capsule], limit: usize) -> usize {
        let Self { pieces, parts, runs, .. } = self;
        runs.resize_with(capsules.len().div_ceil(RUN), Vec::new);
        runs.iter_mut().for_each(Vec::clear);
        let Some(cells) = Cells::for_capsules(capsules) else {
            return 0;
        };
        let blocks = 1_usize << (3 * cells.bits);
        pieces.resize_with(capsules.len().div_ceil(PIECE), Piece::default);
        pieces.par_iter_mut().enumerate().for_each(|(index, piece)| {
            let from = index * PIECE;
            piece.enter(&cells, &capsules[from..(from + PIECE).min(capsules.len())], from, blocks);
        });
        let pieces = &*pieces;
        parts.resize_with(blocks.div_ceil(TASK), Vec::new);
        // In small shares: some blocks are crowded, others empty.
        let shares = parts.par_iter_mut().enumerate().with_max_len(SHARE);
        let count = AtomicUsize::new(0);
        shares.for_each_init(Crowd::default, |crowd, (task, found)| {
            found.clear();
            for block in task * TASK..((task + 1) * TASK).min(blocks) {
                let before = found.len();
                if count.load(Ordering::Relaxed) <= limit && crowd.take(pieces, block) {
                    crowd.look_through(found);
                    count.fetch_add(found.len() - before, Ordering::Relaxed);
                }
            }
        });
        let count = count.into_inner();
        if count > limit {
            return count;
        }
        for &pair in parts.iter().flatten() {
            runs[pair[0] as usize / RUN].push(pair);
        }
        runs.par_iter_mut().for_each(|run| {
            run.sort_unstable_by_key(|&[first, second]| u64::from(first) << 32 | u64::from(second));
            // Met at the border of cells, or by way of several periods.
            run.dedup();
        });
        count
    }

    /// Bytes held now.
    pub fn memory(&self) -> usize {
        let piece = |p: &Piece| {
            p.raw.capacity() * size_of::<(u32, Member)>()
                + p.sorted.capacity() * size_of::<Member>()
                + p.starts.capacity() * 4
        };
        self.pieces.iter().map(piece).sum::<usize>()
            + self.sweep.memory()
            + self.parts.iter().chain(&self.runs).chain([&self.found]).map(|part| part.capacity() * 8).sum::<usize>()
    }
}

impl Cells {
    fn for_capsules(capsules: &[Capsule]) -> Option<Self> {
        let add = |a: [f64; 2], b: [f64; 2]| [a[0] + b[0], a[1] + b[1]];
        let existing = |i: &usize| capsules[*i].exists();
        let sampled = capsules.len().min(SAMPLE);
        let sample = (0..sampled).map(|k| k * capsules.len() / sampled).filter(existing);
        let [count, length, radius] = sample.fold([0.0; 3], |[count, length, radius], i| {
            let Capsule { half, radius: own, .. } = capsules[i];
            [count + 1.0, length + 2.0 * f64::from(half.length_squared().sqrt()), radius + f64::from(own)]
        });
        let mut edge = ((CELL.0 * length + CELL.1 * radius) / f64::max(count, 1.0)).max(1e-9);
        let entries = |edge: f64| {
            let scale = 2.0 / edge;
            let cells = |capsule: &Capsule| {
                let across = 1.0 + f64::from(capsule.radius) * scale;
                let [x, y, z] = (capsule.half.as_dvec3().abs() * scale).to_array();
                // About what is done: slabs across the longest side.
                let longest = x.max(y).max(z);
                let slab = 1.0 / (1.0 + longest);
                let shares = |side: f64| across + side * slab;
                (across + longest) * shares(x) * shares(y) * shares(z) / shares(longest)
            };
            // The sample would do if it were not for the odd one that has gone astray.
            let part = |range: std::ops::Range<usize>| {
                range.filter(existing).fold([0.0; 2], |sum, i| add(sum, [1.0, cells(&capsules[i])]))
            };
            ordered::reduce(capsules.len(), [0.0; 2], part, add)
        };
        let [count, mut expected] = entries(edge);
        if count < 2.0 {
            return None;
        }
        while expected > ENTRIES * count + 4096.0 {
            edge *= 2.0;
            [_, expected] = entries(edge);
        }
        let bits = ((expected / BLOCK_ENTRIES).max(1.0).log2() / 3.0).ceil() as u32;
        Some(Self { inverse: 1.0 / edge, bits: bits.min(MOST_BITS) })
    }

    /// The key of the block at these coordinates.
    #[inline]
    fn key(&self, block: I64Vec3) -> usize {
        let [x, y, z] = block.to_array().map(|coordinate| coordinate & ((1 << self.bits) - 1));
        (x | y << self.bits | z << (2 * self.bits)) as usize
    }

    /// A capsule as a member of the block at these coordinates.
    #[inline]
    fn member(&self, capsule: &Capsule, index: u32, block: I64Vec3) -> Member {
        let centre = (capsule.centre * self.inverse - block.as_dvec3() * ALONG).as_vec3();
        let half = (capsule.half.as_dvec3() * self.inverse).as_vec3();
        // The margin covers what single precision makes of nearly parallel axes, and of centres far away.
        let margin = 1e-5 + 1e-3 * half.abs().max_element() + 1e-5 * centre.abs().max_element();
        let radius = (f64::from(capsule.radius) * self.inverse) as f32 + margin;
        Member { index, centre, half, radius }
    }
}

impl Piece {
    /// The members of a block.
    pub fn in_block(&self, block: usize) -> &[Member] {
        &self.sorted[self.starts[block] as usize..self.starts[block + 1] as usize]
    }

    fn enter(&mut self, cells: &Cells, capsules: &[Capsule], first: usize, blocks: usize) {
        self.raw.clear();
        self.starts.clear();
        self.starts.resize(blocks + 1, 0);
        for (capsule, index) in capsules.iter().zip(first as u32..) {
            if capsule.exists() {
                enter(cells.inverse / ALONG, capsule, |block| {
                    let key = cells.key(block);
                    self.starts[key + 1] += 1;
                    self.raw.push((key as u32, cells.member(capsule, index, block)));
                });
            }
        }
        // By block; the order of capsules within a block stays.
        for block in 0..blocks {
            self.starts[block + 1] += self.starts[block];
        }
        self.sorted.resize(self.raw.len(), Member::default());
        for (block, member) in &self.raw {
            let at = &mut self.starts[*block as usize];
            self.sorted[*at as usize] = *member;
            *at += 1;
        }
        // Every start has moved on to the next block's.
        self.starts.rotate_right(1);
        self.starts[0] = 0;
    }
}

/// Calls `put` for every block that the capsule passes through, and some at its corners: slab by slab across the longest side of
/// its axis. `inverse` is one over the edge of a block [1/m].
#[inline]
fn enter(inverse: f64, capsule: &Capsule, mut put: impl FnMut(I64Vec3)) {
    let centre = capsule.centre * inverse;
    let half = capsule.half.as_dvec3() * inverse;
    let radius = f64::from(capsule.radius) * inverse + SLACK;
    let size = half.abs();
    let (low, high) = (floor(centre - size - radius), floor(centre + size + radius));
    // Most are within one block, or pass straight from one to the next.
    if (high - low).element_sum() <= 1.0 {
        put(low.as_i64vec3());
        if high != low {
            put(high.as_i64vec3());
        }
        return;
    }
    let axis = if size.x >= size.y && size.x >= size.z {
        0
    } else if size.y >= size.z {
        1
    } else {
        2
    };
    let turn = |v: DVec3| match axis {
        0 => v,
        1 => DVec3::new(v.y, v.z, v.x),
        _ => DVec3::new(v.z, v.x, v.y),
    };
    let back = |x: i64, y: i64, z: i64| match axis {
        0 => I64Vec3::new(x, y, z),
        1 => I64Vec3::new(z, x, y),
        _ => I64Vec3::new(y, z, x),
    };
    let (c, h) = (turn(centre), turn(half));
    let (slope_y, slope_z) = if h.x != 0.0 { (h.y / h.x, h.z / h.x) } else { (0.0, 0.0) };
    let reach = h.x.abs();
    let (first, last) = ((c.x - reach - radius).floor(), (c.x + reach + radius).floor());
    let mut slab = first;
    while slab <= last {
        // The part of the axis whose surroundings may lie in this slab, from the centre.
        let from = (slab - radius - c.x).max(-reach);
        let to = (slab + 1.0 + radius - c.x).min(reach);
        let span = |c: f64, slope: f64| {
            let (a, b) = (c + slope * from, c + slope * to);
            ((a.min(b) - radius).floor() as i64, (a.max(b) + radius).floor() as i64)
        };
        let ((y0, y1), (z0, z1)) = (span(c.y, slope_y), span(c.z, slope_z));
        for z in z0..=z1 {
            for y in y0..=y1 {
                put(back(slab as i64, y, z));
            }
        }
        slab += 1.0;
    }
}

/// Whether two capsules overlap.
#[inline]
pub(super) fn overlap([first, second]: [&Capsule; 2]) -> bool {
    let origin = first.centre;
    let reach = f64::from(first.radius) + f64::from(second.radius);
    closest(&first.axis_from(origin), &second.axis_from(origin)).offset.length_squared() <= reach * reach
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_math::random::Stream;

    fn brute(capsules: &[Capsule]) -> Vec<[u32; 2]> {
        let mut pairs = Vec::new();
        for i in 0..capsules.len() {
            for j in i + 2..capsules.len() {
                let exist = capsules[i].exists() && capsules[j].exists();
                if exist && overlap([&capsules[i], &capsules[j]]) {
                    pairs.push([i as u32, j as u32]);
                }
            }
        }
        pairs
    }

    fn in_cells(capsules: &[Capsule]) -> Vec<[u32; 2]> {
        let mut search = Search::default();
        search.in_cells(capsules, usize::MAX);
        assert!(search.memory() < 10_000_000);
        let overlap = |pair: &[u32; 2]| overlap(pair.map(|index| &capsules[index as usize]));
        search.runs().iter().flatten().copied().filter(overlap).collect()
    }

    fn check(capsules: &[Capsule]) -> usize {
        let expected = brute(capsules);
        assert_eq!(in_cells(capsules), expected);
        assert!(capsules.len() <= FEW);
        assert_eq!(Search::default().pairs(capsules).unwrap(), expected);
        expected.len()
    }

    #[test]
    fn finds_what_brute_force_finds_each_pair_once() {
        let stream = Stream::new(5, "capsules");
        let mut pairs = 0;
        for case in 0..300_u64 {
            let here = stream.child(case);
            let count = 2 + (here.uniform(1) * 60.0) as usize;
            let size = 10.0_f64.powf(here.range(2, -1.5, 1.5));
            let radius = 10.0_f64.powf(here.range(3, -4.0, 0.0));
            let far = if case % 5 == 0 { DVec3::new(-1e6, 3e5, 8e4) } else { DVec3::ZERO };
            let capsules: Vec<Capsule> = (0..count as u64)
                .map(|i| {
                    let from = far + here.direction(100 + i) * size * here.uniform(1000 + i);
                    // Snapped to a lattice that cells love to border on, parallel, all lengths alike or very different.
                    let length = if case % 3 == 0 { 1.0 } else { 10.0_f64.powf(here.range(2000 + i, -2.0, 1.0)) };
                    let any = here.direction(3000 + i);
                    let direction = match case % 4 {
                        1 => DVec3::X,
                        // Nearly parallel, more or less.
                        3 => (DVec3::X + any * 10.0_f64.powf(here.range(4000 + i, -7.0, -1.0))).normalize(),
                        _ => any,
                    };
                    let from = if case % 7 == 2 { (from * 4.0).round() / 4.0 } else { from };
                    match i % 11 {
                        10 => Capsule::NONE,
                        _ => Capsule::around(from, from + direction * length, radius),
                    }
                })
                .collect();
            pairs += check(&capsules);
        }
        assert!(pairs > 10_000, "{pairs}");
    }

    #[test]
    fn finds_contacts_near_the_corners_of_cells() {
        // Short axes around one corner of the cells, far smaller than these: every combination of cells occurs.
        let stream = Stream::new(6, "corners");
        let mut capsules: Vec<Capsule> = (0..200)
            .map(|i| {
                let from = stream.direction(i) * 1e-3;
                Capsule::around(from, from + stream.direction(1000 + i) * 1e-3, 2e-4)
            })
            .collect();
        // Longer ones elsewhere decide the size of the cells.
        capsules.extend((0..400).map(|i| {
            let from = DVec3::new(5.0 + f64::from(i), 0.0, 0.0);
            Capsule::around(from, from + DVec3::Y, 1e-3)
        }));
        assert!(check(&capsules) > 100);
    }

    #[test]
    fn one_that_went_astray_costs_no_memory() {
        let mut capsules: Vec<Capsule> = (0..50)
            .map(|i| Capsule::around(DVec3::X * f64::from(i), DVec3::new(f64::from(i), 1.0, 0.0), 0.01))
            .collect();
        capsules.push(Capsule::around(DVec3::ZERO, DVec3::new(3e8, 4e9, -2e9), 0.01));
        capsules.push(Capsule::around(DVec3::ZERO, DVec3::splat(f64::NAN), 0.01));
        capsules.push(Capsule::around(DVec3::splat(1e300), DVec3::ZERO, 0.01));
        assert_eq!(in_cells(&capsules), brute(&capsules));
        assert_eq!(Search::default().pairs(&capsules).unwrap(), brute(&capsules));
        assert!(in_cells(&[]).is_empty());
        assert!(Search::default().pairs(&[]).unwrap().is_empty());
    }

    #[test]
    fn the_order_is_the_same_on_any_number_of_threads() {
        let stream = Stream::new(7, "order");
        let capsules: Vec<Capsule> = (0..3000)
            .map(|i| {
                let from = stream.direction(i) * 0.3;
                Capsule::around(from, from + stream.direction(5000 + i) * 0.05, 0.004)
            })
            .collect();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Search::default().pairs(&capsules).unwrap().to_vec())
        };
        assert_eq!(on(1), on(2));
        assert_eq!(on(1), on(8));
        assert!(on(1).len() > 100);
    }

    #[test]
    fn a_lump_of_all_is_refused_before_it_takes_all_memory() {
        let capsule = |i: u32| {
            let at = DVec3::new(f64::from(i % 64), f64::from(i / 64 % 64), f64::from(i / 4096)) * 1e-3;
            Capsule::around(at, at + DVec3::X * 1e-2, 1.0)
        };
        for count in [2000, 20_000] {
            let capsules: Vec<Capsule> = (0..count).map(capsule).collect();
            let refused = Search::default().pairs(&capsules).map(<[_]>::len);
            assert!(matches!(refused, Err(PhysicsError::TooManyPairs { .. })), "{count} {refused:?}");
        }
    }
}
