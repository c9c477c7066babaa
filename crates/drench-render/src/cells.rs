//! Points sorted into cells, for questions about the surroundings of a point.

use glam::{IVec3, Vec3};
use rayon::prelude::*;

/// Cells of a side are numbered from minus to plus this.
const REACH: i32 = 1 << 20;

/// Points by cell; the cells of a row along x lie next to each other.
#[derive(Default)]
pub(crate) struct Cells {
    size: f32,
    /// Cell and point, in order.
    entries: Vec<(u64, u32)>,
}

impl Cells {
    /// Sorts points into cells of this size [m]. Points that are too far out for it share the outermost cells.
    pub fn new(points: &[Vec3], size: f32) -> Self {
        let size = size.max(1e-9);
        let mut entries: Vec<(u64, u32)> =
            (0..points.len()).into_par_iter().map(|i| (key(cell(points[i], size)), i as u32)).collect();
        entries.par_sort_unstable();
        Self { size, entries }
    }

    /// Calls `visit` with each point of the cells around that of `p`, all that are nearer than a cell's size among them.
    pub fn near(&self, p: Vec3, mut visit: impl FnMut(usize)) {
        let middle = cell(p, self.size);
        for dz in -1..=1 {
            for dy in -1..=1 {
                let row = middle + IVec3::new(0, dy, dz);
                let (from, to) = (key(row - IVec3::X), key(row + IVec3::X));
                let start = self.entries.partition_point(|&(key, _)| key < from);
                for &(_, i) in self.entries[start..].iter().take_while(|&&(key, _)| key <= to) {
                    visit(i as usize);
                }
            }
        }
    }

    /// Points in a volume of one cell around `p`, cells weighted by how much of the volume is theirs: smooth in `p`.
    pub fn count(&self, p: Vec3) -> f32 {
        let q = p / self.size - 0.5;
        let corner = q.floor();
        let f = q - corner;
        let corner = corner.clamp(Vec3::splat(-REACH as f32), Vec3::splat(REACH as f32)).as_ivec3();
        let mut sum = 0.0;
        for k in 0..8 {
            let d = IVec3::new(k & 1, k >> 1 & 1, k >> 2 & 1);
            let weight = |d: i32, f: f32| if d == 1 { f } else { 1.0 - f };
            let key = key(corner + d);
            let start = self.entries.partition_point(|&(other, _)| other < key);
            let count = self.entries[start..].iter().take_while(|&&(other, _)| other == key).count();
            sum += count as f32 * weight(d.x, f.x) * weight(d.y, f.y) * weight(d.z, f.z);
        }
        sum
    }
}

fn cell(p: Vec3, size: f32) -> IVec3 {
    (p / size).floor().clamp(Vec3::splat(-REACH as f32), Vec3::splat(REACH as f32)).as_ivec3()
}

fn key(cell: IVec3) -> u64 {
    let part = |v: i32| (v.clamp(-REACH, REACH - 1) + REACH) as u64;
    part(cell.z) << 42 | part(cell.y) << 21 | part(cell.x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_math::random::Stream;

    #[test]
    fn finds_what_brute_force_finds() {
        let stream = Stream::new(4, "cells");
        let points: Vec<Vec3> = (0..2_000)
            .map(|i| stream.direction(i).as_vec3() * stream.child(1).range(i, 0.0, 1.0) as f32)
            .chain([Vec3::splat(1e12), Vec3::splat(-1e12)])
            .collect();
        let cells = Cells::new(&points, 0.1);
        for &p in &points[..300] {
            let mut found = Vec::new();
            cells.near(p, |i| found.push(i));
            found.sort_unstable();
            let near = (0..points.len()).filter(|&i| points[i].distance(p) < 0.1).collect::<Vec<_>>();
            assert!(near.iter().all(|i| found.binary_search(i).is_ok()));
            assert!(found.windows(2).all(|w| w[0] < w[1]));
        }
    }

    #[test]
    fn counts_are_those_of_the_density() {
        // A lattice of step 0.05: eight points in a cell of 0.1, wherever the cell lies.
        let axis = |i: usize| i as f32 * 0.05 + 0.01;
        let points: Vec<Vec3> =
            (0..8_000).map(|i| Vec3::new(axis(i % 20), axis(i / 20 % 20), axis(i / 400))).collect();
        let cells = Cells::new(&points, 0.1);
        for p in [Vec3::splat(0.5), Vec3::new(0.413, 0.52, 0.377)] {
            assert!((cells.count(p) - 8.0).abs() < 1e-3);
        }
        assert_eq!(cells.count(Vec3::splat(9.0)), 0.0);
    }
}
