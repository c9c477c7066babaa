//! The draping experiment [Rungjiratananon2012, 4.7.2]: a strand hangs over a wire hook by its middle, with a tube of 0.1 g on each end. The distance of its
//! legs at rest is its stiffness index.
//!
//! Goals draw a vertex with m (g - x) / t^2, t = 10 ms, which is the slope of
//!
//! E = sum over regions r of (1 / 2 t^2) (sum_i m_ri |p_i - c_r|^2 + sum_i m_ri s_ri^2 - 2 |V_r|),   V_r = sum_i m_ri s_ri (p_i - c_r),
//!
//! with m_ri = m_i a_ri / A_i, c_r the region's centre and s_ri the place in the straight strand from its centre; V / |V| is the best rotation. At rest E and the weight
//! are least. The strand is its own mirror image: the angles t_k of the segments of one leg below the horizontal are all there is to know, lengths being kept. Newton's
//! method finds them: with d_k = (-sin t_k, -cos t_k) the second derivative is l^2 d_j^T (sum of H_ab over a >= j, b >= k) d_k, H that of E over the vertices.
//!
//! A strand that bends over much more than a region is the elastica of [`rigidity_of_index`](super::rigidity_of_index). Where its regions reach farther than
//! it bends the half-width that has a given index is found by bisection of this, within limits.

use super::REFERENCE_STEP;
use super::extent::{Weights, extent};
use super::rest::{rigidity, rigidity_of_index};
use glam::{DMat2, DVec2};
use std::f64::consts::FRAC_PI_2;

/// Mass of the tube on each end [kg].
pub(crate) const TUBE: f64 = 1e-4;
pub(crate) const GRAVITY: f64 = 9.81;
/// Segments of a leg up to which strands are looked at as they are; finer ones as if they had so many.
const MOST: usize = 64;
/// Steps at most, and the last of them [rad].
const STEPS: u32 = 200;
const STILL: f64 = 1e-9;
/// Longest step [rad].
const LONG: f64 = 0.3;
/// Half-widths looked at to find one; how well the index is to be met.
const TRIES: u32 = 40;
const CLOSE: f64 = 1e-4;
/// How many times as stiff or as limp as a fibre of a stiffness index strands are made at most.
const UNLIKE: f64 = 2.0;

/// A straight strand to be hung over a hook.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drape {
    /// Segments on each side of the hook.
    pub segments: usize,
    /// Length of a segment [m].
    pub spacing: f64,
    /// Mass a length [kg/m].
    pub mass: f64,
}

impl Drape {
    /// A strand of about so many vertices: as many on both sides of the hook.
    pub fn of(vertices: usize, spacing: f64, mass: f64) -> Self {
        let leg = 0.5 * spacing * vertices.saturating_sub(1) as f64;
        let segments = (vertices / 2).clamp(1, MOST);
        Self { segments, spacing: leg / segments as f64, mass }
    }

    /// Distance of the legs at rest [m].
    pub fn index(&self, half_width: f64) -> f64 {
        Hung::new(self, half_width).index()
    }

    /// The half-width with which it has this index, or comes closest to it: none is limper than 0, none stiffer than a region as long as a leg.
    pub fn half_width(&self, index: f64) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        while self.index(high) < index {
            if high >= self.segments as f64 {
                return high;
            }
            (low, high) = (high, (2.0 * high).min(self.segments as f64));
        }
        for _ in 0..TRIES {
            let middle = 0.5 * (low + high);
            let found = self.index(middle);
            if (found - index).abs() <= CLOSE * index {
                return middle;
            }
            if found < index { low = middle } else { high = middle }
        }
        low
    }

    /// The bending rigidity [N m2] with which it has this index, as far as it is about that of a fibre of the index. A kink over the hook costs wide regions little: to hang so
    /// all the same, strands of thin hair would have to be rods.
    pub fn rigidity(&self, index: f64) -> f64 {
        let fibre = rigidity_of_index(index, self.mass * self.spacing * self.segments as f64);
        rigidity(self.mass, self.spacing, self.half_width(index)).clamp(fibre / UNLIKE, fibre * UNLIKE)
    }
}

/// A strand over the hook, on its way to rest.
struct Hung {
    /// Segments of a leg, and length of each [m].
    count: usize,
    spacing: f64,
    /// Weight that hangs on each segment of a leg, with its own [N]; for both legs.
    weights: Vec<f64>,
    regions: Vec<Region>,
    /// Angles of the segments below the horizontal [rad].
    angles: Vec<f64>,
}

/// A region of the whole strand, whose vertices are counted from the hook.
struct Region {
    first: isize,
    /// m_ri over t^2 [N/m], and s_ri [m].
    members: Vec<[f64; 2]>,
    total: f64,
}

impl Hung {
    fn new(drape: &Drape, half_width: f64) -> Self {
        let Drape { segments: count, spacing, mass } = *drape;
        let end = count as isize;
        let weights = Weights::new(extent(half_width));
        let around = |i: isize| (i - weights.reach()).max(-end)..=(i + weights.reach()).min(end);
        let stiff = |i: isize| {
            let own = mass * spacing * if i.abs() == end { 0.5 } else { 1.0 };
            let all: f64 = around(i).map(|r| weights.at(r - i)).sum();
            own * weights.followed() / (all * REFERENCE_STEP * REFERENCE_STEP)
        };
        let stiff: Vec<f64> = (-end..=end).map(stiff).collect();
        let region = |r: isize| {
            let mut members: Vec<[f64; 2]> =
                around(r).map(|i| [stiff[(i + end) as usize] * weights.at(r - i), i as f64 * spacing]).collect();
            let total: f64 = members.iter().map(|[m, _]| m).sum();
            let centre = members.iter().map(|[m, s]| m * s).sum::<f64>() / total;
            members.iter_mut().for_each(|[_, s]| *s -= centre);
            Region { first: *around(r).start(), members, total }
        };
        let regions = if half_width > 0.0 { (-end..=end).map(region).collect() } else { Vec::new() };
        let below = |k: usize| TUBE + mass * spacing * (count as f64 - k as f64 - 0.5);
        Self {
            count,
            spacing,
            weights: (0..count).map(|k| 2.0 * GRAVITY * below(k)).collect(),
            regions,
            // Bent over a good part of a leg.
            angles: (1..=count).map(|k| FRAC_PI_2 * (1.0 - (-4.0 * k as f64 / count as f64).exp())).collect(),
        }
    }

    /// Distance of the legs at rest [m].
    fn index(mut self) -> f64 {
        let (mut energy, mut gradient, mut matrix) = self.slopes();
        let mut damping = 0.0;
        for _ in 0..STEPS {
            let Some(mut step) = solve(&matrix, damping, &gradient) else {
                damping = stiffer(damping, &matrix);
                continue;
            };
            let longest = step.iter().fold(0.0_f64, |longest, part| longest.max(part.abs()));
            step.iter_mut().for_each(|part| *part *= (LONG / longest).min(1.0));
            let before = self.angles.clone();
            self.angles.iter_mut().zip(&step).for_each(|(angle, part)| *angle -= part);
            let (after, slope, curvature) = self.slopes();
            if after > energy + 1e-12 * energy.abs() {
                self.angles = before;
                damping = stiffer(damping, &matrix);
                continue;
            }
            (energy, gradient, matrix) = (after, slope, curvature);
            damping *= 0.1;
            if longest < STILL {
                break;
            }
        }
        2.0 * self.angles.iter().map(|angle| self.spacing * angle.cos()).sum::<f64>()
    }

    /// Energy [J], and its first and second derivatives over the angles; the second in full rows.
    fn slopes(&self) -> (f64, Vec<f64>, Vec<Vec<f64>>) {
        let n = self.count;
        let mut places = vec![DVec2::ZERO; n + 1];
        for (k, angle) in self.angles.iter().enumerate() {
            places[k + 1] = places[k] + self.spacing * DVec2::new(angle.cos(), -angle.sin());
        }
        let place = |i: isize| {
            DVec2::new(places[i.unsigned_abs()].x * if i < 0 { -1.0 } else { 1.0 }, places[i.unsigned_abs()].y)
        };
        let mut energy = 0.0;
        let mut pulls = vec![DVec2::ZERO; n + 1];
        let mut blocks = vec![vec![DMat2::ZERO; n + 1]; n + 1];
        // What is done to the other leg is done to this one, mirrored.
        let mirror = |i: isize| if i < 0 { DVec2::new(-1.0, 1.0) } else { DVec2::ONE };
        for Region { first, members, total } in &self.regions {
            let centre = members.iter().zip(*first..).map(|([m, _], i)| *m * place(i)).sum::<DVec2>() / *total;
            let apart = |i: isize| place(i) - centre;
            let turned: DVec2 = members.iter().zip(*first..).map(|([m, s], i)| m * s * apart(i)).sum();
            let long = turned.length().max(f64::MIN_POSITIVE);
            let along = turned / long;
            let across = along.perp();
            energy -= long;
            for ([m, s], i) in members.iter().zip(*first..) {
                energy += 0.5 * m * (apart(i).length_squared() + s * s);
                let a = i.unsigned_abs();
                pulls[a] += *m * (apart(i) - along * *s) * mirror(i);
                let own = mirror(i);
                blocks[a][a] += DMat2::from_diagonal(DVec2::splat(*m));
                let bend = DMat2::from_cols(across * across.x, across * across.y) * (m * s / long);
                for ([other, t], j) in members.iter().zip(*first..) {
                    let block = DMat2::from_diagonal(DVec2::splat(-m * other / total)) - bend * (other * t);
                    let mirrored = DMat2::from_diagonal(own) * block * DMat2::from_diagonal(mirror(j));
                    blocks[a][j.unsigned_abs()] += mirrored;
                }
            }
        }
        // The hook holds vertex 0; the rest is summed from the end of the leg.
        for a in (1..=n).rev() {
            for b in (1..=n).rev() {
                let mut sum = blocks[a][b];
                if a < n {
                    sum += blocks[a + 1][b];
                }
                if b < n {
                    sum += blocks[a][b + 1];
                }
                if a < n && b < n {
                    sum -= blocks[a + 1][b + 1];
                }
                blocks[a][b] = sum;
            }
        }
        let (mut gradient, mut matrix) = (vec![0.0; n], vec![vec![0.0; n]; n]);
        let turn = |k: usize| -self.spacing * DVec2::new(self.angles[k].sin(), self.angles[k].cos());
        let mut pull = DVec2::ZERO;
        for k in (0..n).rev() {
            pull += pulls[k + 1];
            let whole = pull + DVec2::Y * self.weights[k];
            energy -= self.weights[k] * self.spacing * self.angles[k].sin();
            gradient[k] = whole.dot(turn(k));
            for j in 0..n {
                matrix[k][j] = turn(k).dot(blocks[k + 1][j + 1] * turn(j));
            }
            matrix[k][k] -= whole.dot(self.spacing * DVec2::new(self.angles[k].cos(), -self.angles[k].sin()));
        }
        (energy, gradient, matrix)
    }
}

/// The next larger damping to be tried.
fn stiffer(damping: f64, matrix: &[Vec<f64>]) -> f64 {
    let scale = (0..matrix.len()).map(|k| matrix[k][k].abs()).fold(f64::MIN_POSITIVE, f64::max);
    (10.0 * damping).max(1e-6 * scale)
}

/// Solves a symmetric system with some damping; nothing if it is not positive.
fn solve(matrix: &[Vec<f64>], damping: f64, load: &[f64]) -> Option<Vec<f64>> {
    let mut rows = matrix.to_vec();
    let mut answer = load.to_vec();
    let n = rows.len();
    for pivot in 0..n {
        rows[pivot][pivot] += damping;
        if rows[pivot][pivot].is_nan() || rows[pivot][pivot] <= 0.0 {
            return None;
        }
        let (above, below) = rows.split_at_mut(pivot + 1);
        let row = &above[pivot];
        for (i, under) in (pivot + 1..n).zip(below) {
            let factor = row[i] / row[pivot];
            for (entry, more) in under[pivot + 1..].iter_mut().zip(&row[pivot + 1..]) {
                *entry -= factor * more;
            }
            answer[i] -= factor * answer[pivot];
        }
    }
    for pivot in (0..n).rev() {
        let known: f64 = (pivot + 1..n).map(|j| rows[pivot][j] * answer[j]).sum();
        answer[pivot] = (answer[pivot] - known) / rows[pivot][pivot];
    }
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_math::random::Stream;

    #[test]
    fn derivatives_are_those_of_the_energy() {
        let drape = Drape { segments: 9, spacing: 0.01, mass: 5e-4 };
        let stream = Stream::new(3, "drape");
        for half_width in [0.4, 1.0, 2.6, 5.0] {
            let mut hung = Hung::new(&drape, half_width);
            hung.angles.iter_mut().enumerate().for_each(|(k, angle)| *angle += 0.3 * stream.uniform(k as u64));
            let (_, gradient, matrix) = hung.slopes();
            let step = 1e-6;
            for k in 0..9 {
                let at = |hung: &mut Hung, change: f64| {
                    hung.angles[k] += change;
                    let slopes = hung.slopes();
                    hung.angles[k] -= change;
                    slopes
                };
                let (before, after) = (at(&mut hung, -step), at(&mut hung, step));
                let slope = (after.0 - before.0) / (2.0 * step);
                assert!((slope - gradient[k]).abs() < 1e-6 * gradient[k].abs().max(1e-5), "{slope} {}", gradient[k]);
                assert!(gradient[k].abs() > 1e-9);
                for j in 0..9 {
                    let curvature = (after.1[j] - before.1[j]) / (2.0 * step);
                    assert!(
                        (curvature - matrix[k][j]).abs() < 1e-6 * matrix[k][k].abs(),
                        "{curvature} {}",
                        matrix[k][j]
                    );
                }
            }
        }
    }

    #[test]
    fn half_widths_give_the_index_that_was_asked_for_in_fine_segments_and_coarse_ones() {
        let mass = 5e-4;
        for vertices in [9, 25, 100, 1000] {
            let drape = Drape::of(vertices, 0.3 / vertices as f64, mass);
            let mut before = 0.0;
            for index in [0.02, 0.05, 0.1] {
                let half_width = drape.half_width(index);
                assert!(half_width > before, "{half_width} {before}");
                assert!((drape.index(half_width) / index - 1.0).abs() < 1e-3, "{vertices}: {half_width}");
                before = half_width;
            }
        }
        // The same rigidity, whether it is looked at as it is or in half as many segments.
        let [fine, coarse] = [48, 24].map(|segments| Drape { segments, spacing: 0.2 / segments as f64, mass });
        let ratio = fine.rigidity(0.06) / coarse.rigidity(0.06);
        assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
        // Limp, and as straight as can be.
        assert!(coarse.half_width(0.0) < 1.0, "{}", coarse.half_width(0.0));
        assert_eq!(coarse.half_width(1.0), 24.0);
    }
}
