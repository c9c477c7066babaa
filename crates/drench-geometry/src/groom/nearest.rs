//! Nearest neighbours among scattered points: sorted by cell, found by binary search.

use crate::morton;
use glam::{DVec3, I64Vec3};

/// Rings of cells that are searched, at most.
const MOST_RINGS: i64 = 24;

/// Points in a grid.
pub(super) struct PointGrid {
    origin: DVec3,
    cell: f64,
    /// Cell and number of each point, sorted.
    keys: Vec<(u64, u32)>,
    positions: Vec<DVec3>,
}

impl PointGrid {
    /// A grid with cells about as large as the distance between points [m].
    pub fn new(positions: &[DVec3], spacing: f64) -> Self {
        let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let (low, high) = positions.iter().fold(start, |(low, high), &p| (low.min(p), high.max(p)));
        let origin = if positions.is_empty() { DVec3::ZERO } else { low };
        let size = if positions.is_empty() { 0.0 } else { (high - low).max_element() };
        // Cells are numbered from 64, so that neighbours of the first are numbers too.
        let cell = spacing.max(size / (morton::LARGEST - 128.0)).max(f64::MIN_POSITIVE);
        let mut grid = Self { origin, cell, keys: Vec::new(), positions: positions.to_vec() };
        grid.keys =
            positions.iter().enumerate().map(|(i, &p)| (morton::interleave(grid.cell_of(p)), i as u32)).collect();
        grid.keys.sort_unstable();
        grid
    }

    fn cell_of(&self, p: DVec3) -> I64Vec3 {
        ((p - self.origin) / self.cell).floor().as_i64vec3() + 64
    }

    /// The `K` nearest points that pass the filter, nearest first, with their distances [m].
    pub fn nearest<const K: usize>(&self, p: DVec3, accept: impl Fn(usize) -> bool) -> [Option<(u32, f64)>; K] {
        let mut found = [None; K];
        let centre = self.cell_of(p);
        for ring in 0..=MOST_RINGS {
            // What lies in later rings is farther than this.
            let safe = (ring - 1) as f64 * self.cell;
            if found[K - 1].is_some_and(|(_, d)| d <= safe) {
                break;
            }
            self.visit_ring(centre, ring, |i| {
                let candidate = (i, self.positions[i as usize].distance(p));
                let place = found.iter().position(|f: &Option<(u32, f64)>| f.is_none_or(|(_, d)| candidate.1 < d));
                if let Some(place) = place
                    && accept(i as usize)
                {
                    found[place..].rotate_right(1);
                    found[place] = Some(candidate);
                }
            });
        }
        found
    }

    fn visit_ring(&self, centre: I64Vec3, ring: i64, mut visit: impl FnMut(u32)) {
        for z in -ring..=ring {
            for y in -ring..=ring {
                let on_shell = z.abs() == ring || y.abs() == ring;
                let step = if on_shell || ring == 0 { 1 } else { 2 * ring };
                let mut x = -ring;
                while x <= ring {
                    let cell = centre + I64Vec3::new(x, y, z);
                    x += step;
                    if cell.min_element() < 0 {
                        continue;
                    }
                    let key = morton::interleave(cell);
                    let first = self.keys.partition_point(|k| k.0 < key);
                    self.keys[first..].iter().take_while(|k| k.0 == key).for_each(|k| visit(k.1));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_math::random::Stream;

    #[test]
    fn neighbours_match_brute_force() {
        let stream = Stream::new(1, "points");
        let points: Vec<DVec3> = (0..500).map(|i| stream.direction(i)).collect();
        let grid = PointGrid::new(&points, 0.1);
        for i in 0..200 {
            let p = stream.direction(10_000 + i) * 1.05;
            let mut order: Vec<usize> = (0..500).filter(|k| k % 3 != 0).collect();
            order.sort_by(|&a, &b| points[a].distance(p).total_cmp(&points[b].distance(p)));
            let found = grid.nearest::<3>(p, |k| k % 3 != 0);
            for k in 0..3 {
                assert_eq!(found[k].unwrap().0 as usize, order[k]);
            }
        }
        assert_eq!(PointGrid::new(&[], 1.0).nearest::<2>(DVec3::ONE, |_| true), [None; 2]);
        assert_eq!(grid.nearest::<1>(DVec3::splat(1e9), |_| true), [None]);
    }
}
