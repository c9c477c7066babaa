//! Who is whose neighbour: one row of indices and weights for every particle, found once a step and used by every pass.
//!
//! Particles are in z-order, so the 27 cells around a particle are a few runs of consecutive particles. Eight candidates
//! are tested at once; after eight such tests, what is near enough goes into the row. A weight is m_j W'(r)/r: times the offset x_i − x_j it is
//! the gradient of j's share of the density at i. Offsets are computed anew in every pass, from positions in single
//! precision relative to the middle of the liquid: that costs less than fetching them from memory.
//!
//! Offsets are exactly opposite for i and j, so pair forces are too, up to the rounding of a product.

use super::kernel::CubicSpline;
use drench_geometry::neighbours::Neighbours;
use rayon::prelude::*;
use wide::{f32x4, f32x8};

/// Particles whose rows are stored and processed together. Part of the result's definition through sums over pieces.
pub(crate) const PIECE: usize = 512;
/// Candidates that are tested at once.
pub(crate) const WIDTH: usize = 8;

/// Rows of one piece.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    starts: Vec<u32>,
    others: Vec<u32>,
    weights: Vec<f32>,
    /// Squared distances of the row that is being made [m2].
    squares: Vec<f32>,
}

impl Rows {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Neighbours of all particles of the piece, one row after the other.
    pub fn others(&self) -> &[u32] {
        &self.others
    }

    /// Gives the neighbours other numbers.
    pub fn rename(&mut self, number: impl Fn(u32) -> u32) {
        self.others.iter_mut().for_each(|other| *other = number(*other));
    }

    /// Gives the neighbours of the particle with this number in the piece other weights.
    pub fn reweigh(&mut self, number: usize, mut weight: impl FnMut(u32, f32) -> f32) {
        let range = self.starts[number] as usize..self.starts[number + 1] as usize;
        let neighbours = self.others[range.clone()].iter().zip(&mut self.weights[range]);
        neighbours.for_each(|(&other, own)| *own = weight(other, *own));
    }

    /// Neighbours of the particle with this number in the piece, and their weights.
    #[inline]
    pub fn row(&self, number: usize) -> (&[u32], &[f32]) {
        let range = self.starts[number] as usize..self.starts[number + 1] as usize;
        (&self.others[range.clone()], &self.weights[range])
    }
}

/// Points as the search wants them: coordinates apart, with room for a whole test past the end.
#[derive(Debug, Default)]
pub(crate) struct Points {
    pub x: Vec<f32x4>,
    pub coordinates: [Vec<f32>; 3],
    pub masses: Vec<f32>,
}

impl Points {
    /// Takes over points in z-order.
    pub fn set(
        &mut self,
        count: usize,
        position: impl Fn(usize) -> [f32; 3] + Sync,
        mass: impl Fn(usize) -> f32 + Sync,
    ) {
        let Self { x, coordinates: [xs, ys, zs], masses } = self;
        x.resize(count, f32x4::ZERO);
        masses.resize(count, 0.0);
        for values in [&mut *xs, &mut *ys, &mut *zs] {
            values.resize(count + WIDTH, f32::NAN);
            // Nothing is near a NaN.
            values[count..].fill(f32::NAN);
        }
        let apart = xs.par_iter_mut().zip(ys).zip(zs);
        let points = x.par_iter_mut().zip(masses).zip(apart).enumerate().with_min_len(PIECE);
        points.for_each(|(i, ((x, own), ((a, b), c)))| {
            [*a, *b, *c] = position(i);
            (*x, *own) = (f32x4::new([*a, *b, *c, 0.0]), mass(i));
        });
    }
}

/// The kernel in single precision, eight distances at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernel8 {
    pub support2: f32,
    inverse: f32x8,
    value: f32x8,
    slope: f32x8,
}

impl Kernel8 {
    pub fn new(kernel: &CubicSpline) -> Self {
        Self {
            support2: (kernel.support * kernel.support) as f32,
            inverse: f32x8::splat((1.0 / kernel.support) as f32),
            value: f32x8::splat(kernel.scale as f32),
            slope: f32x8::splat((6.0 * kernel.scale / (kernel.support * kernel.support)) as f32),
        }
    }

    /// W and W'/r at eight squared distances, all within the support.
    #[inline]
    pub fn value_and_slope(&self, squares: f32x8) -> (f32x8, f32x8) {
        let one = f32x8::ONE;
        let q = squares.sqrt() * self.inverse;
        let rest = (one - q).max(f32x8::ZERO);
        let near = q.simd_lt(f32x8::HALF);
        let value = near.select(f32x8::splat(6.0) * q * q * (q - one) + one, (rest + rest) * rest * rest);
        let slope = near.select(f32x8::splat(3.0) * q - f32x8::splat(2.0), -(rest * rest) / q.max(f32x8::HALF));
        (self.value * value, self.slope * slope)
    }
}

/// What is summed over a row while it is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowSums {
    /// Σ m_j W [kg/m3].
    pub density: f32,
    /// Σ m_j ∇W [kg/m4].
    pub gradient: f32x4,
    /// Σ m_j |∇W|² [kg/m8].
    pub squares: f32,
    /// −Σ m_j W' r / 3 [kg/m3], the density in a continuum.
    pub spread: f32,
}

/// Where a search looks: points in z-order in cells of one support.
pub(crate) struct Search<'a> {
    pub neighbours: &'a Neighbours,
    pub points: &'a Points,
    pub kernel: Kernel8,
}

/// The runs of candidates around one cell, merged where they touch.
#[derive(Debug)]
struct Runs {
    cell: Option<[i32; 3]>,
    runs: [(u32, u32); 27],
    count: usize,
}

impl Runs {
    fn new() -> Self {
        Self { cell: None, runs: [(0, 0); 27], count: 0 }
    }

    fn at(&mut self, neighbours: &Neighbours, cell: [i32; 3]) -> &[(u32, u32)] {
        if self.cell != Some(cell) {
            self.cell = Some(cell);
            self.count = 0;
            for range in neighbours.around(cell) {
                self.runs[self.count] = (range.start as u32, range.end as u32);
                self.count += 1;
            }
            self.runs[..self.count].sort_unstable_by_key(|run| run.0);
            let mut kept = 0;
            for k in 1..self.count {
                if self.runs[kept].1 == self.runs[k].0 {
                    self.runs[kept].1 = self.runs[k].1;
                } else {
                    kept += 1;
                    self.runs[kept] = self.runs[k];
                }
            }
            self.count = self.count.min(kept + 1);
        }
        &self.runs[..self.count]
    }
}

/// What eight tests found: whether there is anything to enter is asked once for all, because it cannot be foretold.
#[derive(Debug, Default)]
struct Tests {
    count: usize,
    /// First candidate of each test, which candidates are near enough, as bits, and squared distances [m2].
    firsts: [u32; WIDTH],
    hits: u64,
    squares: [[f32; WIDTH]; WIDTH],
}

impl Tests {
    #[inline]
    fn note(&mut self, first: usize, hits: u64, squares: f32x8) {
        let test = self.count % WIDTH;
        self.firsts[test] = first as u32;
        self.hits |= hits << (test * WIDTH);
        self.squares[test] = squares.to_array();
        self.count += 1;
    }

    /// Appends what is near enough to the newest row, and begins anew.
    #[inline]
    fn enter(&mut self, rows: &mut Rows) {
        while self.hits != 0 {
            let at = self.hits.trailing_zeros() as usize;
            self.hits &= self.hits - 1;
            let (test, lane) = (at / WIDTH % WIDTH, at % WIDTH);
            rows.others.push(self.firsts[test] + lane as u32);
            rows.squares.push(self.squares[test][lane]);
        }
        self.count = 0;
    }
}

impl Search<'_> {
    /// Makes the rows of one piece. `seeker` gives the cell and position of each of its `count` particles and, if it is
    /// one of the points itself, its number there; `sums` takes what was summed.
    pub fn fill(
        &self,
        rows: &mut Rows,
        count: usize,
        seeker: impl Fn(usize) -> ([i32; 3], f32x4, u32),
        mut sums: impl FnMut(usize, RowSums),
    ) {
        rows.starts.clear();
        rows.others.clear();
        rows.weights.clear();
        rows.starts.push(0);
        let (mut runs, mut tests) = (Runs::new(), Tests::default());
        for number in 0..count {
            let (cell, x, own) = seeker(number);
            let begin = rows.others.len();
            rows.squares.clear();
            for &(from, to) in runs.at(self.neighbours, cell) {
                self.collect(rows, &mut tests, x, own, from as usize..to as usize);
            }
            tests.enter(rows);
            sums(number, self.weigh(rows, begin, x));
            rows.starts.push(rows.others.len() as u32);
        }
    }

    /// Appends those of the points `from..to` that are within the support of `x`.
    #[inline]
    fn collect(&self, rows: &mut Rows, tests: &mut Tests, x: f32x4, own: u32, run: std::ops::Range<usize>) {
        let [px, py, pz, _] = x.to_array().map(f32x8::splat);
        let limit = f32x8::splat(self.kernel.support2);
        let [xs, ys, zs] = &self.points.coordinates;
        for k in run.clone().step_by(WIDTH) {
            let dx = px - eight(xs, k);
            let dy = py - eight(ys, k);
            let dz = pz - eight(zs, k);
            let squares = dx * dx + dy * dy + dz * dz;
            let valid = (1_u64 << (run.end - k).min(WIDTH)) - 1;
            let mine = own.wrapping_sub(k as u32);
            let not_own = !(u64::from(mine < WIDTH as u32) << (mine % WIDTH as u32));
            let hits = u64::from(squares.simd_lt(limit).to_bitmask()) & valid & not_own;
            tests.note(k, hits, squares);
            if tests.count == WIDTH {
                tests.enter(rows);
            }
        }
    }

    /// Turns the squared distances of the newest row into weights, and sums.
    #[inline]
    fn weigh(&self, rows: &mut Rows, begin: usize, x: f32x4) -> RowSums {
        let Rows { others, weights, squares, .. } = rows;
        let row = &others[begin..];
        let count = row.len();
        let masses = &self.points.masses;
        squares.resize(count.next_multiple_of(WIDTH), self.kernel.support2);
        let (mut density, mut sum_squares, mut spread) = (f32x8::ZERO, f32x8::ZERO, f32x8::ZERO);
        for (k, eight_squares) in squares.as_chunks::<WIDTH>().0.iter().enumerate() {
            let at = k * WIDTH;
            let mass =
                f32x8::new(std::array::from_fn(|lane| row.get(at + lane).map_or(0.0, |&other| masses[other as usize])));
            let square = f32x8::new(*eight_squares);
            let (value, slope) = self.kernel.value_and_slope(square);
            density += mass * value;
            let weight = mass * slope;
            sum_squares += weight * slope * square;
            spread -= weight * square;
            let weight = weight.to_array();
            weights.extend_from_slice(&weight[..(count - at).min(WIDTH)]);
        }
        let mut gradient = f32x4::ZERO;
        for (&other, &weight) in row.iter().zip(&weights[begin..]) {
            gradient += (x - self.points.x[other as usize]) * f32x4::splat(weight);
        }
        RowSums {
            density: density.reduce_add(),
            gradient,
            squares: sum_squares.reduce_add(),
            spread: spread.reduce_add() / 3.0,
        }
    }
}

/// Eight coordinates at once.
#[inline]
pub(crate) fn eight(values: &[f32], from: usize) -> f32x8 {
    f32x8::new(*values[from..].first_chunk().expect("coordinates are padded"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_math::random::Stream;
    use glam::DVec3;

    /// Every row against a search in double precision over all pairs.
    #[test]
    fn rows_and_sums_are_those_of_brute_force() {
        let kernel = CubicSpline::new(0.2);
        let stream = Stream::new(1, "rows");
        let mut positions: Vec<DVec3> =
            (0..700).map(|i| (stream.direction(i) * stream.uniform(9_000 + i)) * 0.6).collect();
        let mut neighbours = Neighbours::new();
        neighbours.rebuild(&positions, kernel.support).unwrap();
        positions = neighbours.order().iter().map(|&i| positions[i as usize]).collect();
        let mass = |i: usize| 1.0 + 0.001 * i as f64;
        let mut points = Points::default();
        points.set(positions.len(), |i| positions[i].as_vec3().to_array(), |i| mass(i) as f32);
        let search = Search { neighbours: &neighbours, points: &points, kernel: Kernel8::new(&kernel) };
        let mut rows = Rows::default();
        let mut sums = Vec::new();
        let seeker = |i: usize| (neighbours.cell_of(positions[i]), points.x[i], i as u32);
        search.fill(&mut rows, positions.len(), seeker, |_, sum| sums.push(sum));
        let mut found = 0;
        for (i, &p) in positions.iter().enumerate() {
            let (others, weights) = rows.row(i);
            let (mut density, mut gradient, mut squares) = (0.0, DVec3::ZERO, 0.0);
            for (j, &q) in positions.iter().enumerate() {
                let (r, d) = ((p - q).length(), p - q);
                if j == i || r >= kernel.support {
                    continue;
                }
                density += mass(j) * kernel.value(r);
                gradient += d * mass(j) * kernel.slope(r);
                squares += mass(j) * (kernel.slope(r) * r).powi(2);
                match others.iter().position(|&other| other as usize == j) {
                    Some(at) => {
                        let expected = mass(j) * kernel.slope(r);
                        assert!((f64::from(weights[at]) - expected).abs() < 1e-5 * kernel.scale / 0.04);
                        found += 1;
                    }
                    None => assert!(r > kernel.support * (1.0 - 1e-6), "{i} {j} {r}"),
                }
            }
            let scale = kernel.scale;
            assert!((f64::from(sums[i].density) - density).abs() < 1e-5 * (scale + density));
            let [x, y, z, w] = sums[i].gradient.to_array().map(f64::from);
            assert!(w == 0.0 && (DVec3::new(x, y, z) - gradient).length() < 1e-5 * 30.0 * scale / 0.2);
            assert!((f64::from(sums[i].squares) - squares).abs() < 1e-5 * 30.0 * (scale / 0.2).powi(2));
        }
        assert_eq!(found, rows.others.len());
        assert!(found > 10_000, "{found}");
    }
}
