//! Which half-width makes a clamped strand as stiff as it shows.
//!
//! Regions that reach beyond the ends of a strand hold fewer vertices, and a clamp stands for vertices that are not there only about, see
//! `load` in the substep. The wider the regions are for the strand, the softer it is than B = m' l^4 q^2 / (4 t^2) says: hair of 5 cm
//! by half, fur of 2 cm by far. What a strand shows is the sag of its tip under its own weight. For small angles that is a linear system: the
//! region around vertex r, with masses m_ri, misses the heights y of its vertices by
//!
//! min over s, h of  sum_i m_ri (y_i - s - h x_i)^2 + sum over anchors of M_ri h^2,
//!
//! the sum of that over regions is y^T K y, and K y = m g t^2 gives the sag. A rod of length L sags by m' g L^4 / (8 B): q^2 of the rod that
//! sags as much is (L / l)^4 g t^2 / (2 y), where L is counted from the last segment that is held: it gives the direction at the root. It is found for a row of
//! half-widths, and what lies between is interpolated.
//!
//! *Limits*: a strand of more than [`MOST`] vertices that is held over a good part of the reach of wide regions
//! gets half-widths that are up to a sixth off. Goals are pulled to with m / t^2 at most, so that nothing sags less than g t^2, 1 mm: shorter hair is rigid
//! for the eye.

use super::extent::{Weights, extent, half_width_of, squared_stiffness};
use super::solve::{HELD, TURNED};
use rayon::prelude::*;

/// Vertices up to which strands are looked at as they are. Of longer ones regions that reach no farther than a part of that are: wider ones are looked at in a
/// strand of so many vertices.
const MOST: usize = 512;
const NARROW: f64 = 1.0 / 8.0;
/// Half-widths that are looked at; the narrowest [vertices], and the widest, in vertices of the strand: wider ones are rigid.
const POINTS: u32 = 40;
const NARROWEST: f64 = 0.25;
const WIDEST: f64 = 5.0;

/// The stiffness that strands of so many vertices show, over the half-width.
#[derive(Clone, Debug)]
pub struct Sag {
    /// Logarithms of q^2 as it shows and of the half-width, rising.
    points: Vec<[f64; 2]>,
}

impl Sag {
    /// Of strands with so many vertices, the first few held; nothing if what holds them does not hold their direction, or holds all.
    pub fn of(vertices: usize, clamped: usize) -> Option<Self> {
        (clamped > 1 && vertices > clamped).then(|| Self::new(vertices, clamped, MOST))
    }

    fn new(vertices: usize, clamped: usize, most: usize) -> Self {
        let ratio = (WIDEST * vertices as f64 / NARROWEST).powf(1.0 / f64::from(POINTS - 1));
        let looks: Vec<[f64; 2]> = (0..POINTS as i32)
            .into_par_iter()
            .map(|k| {
                let half_width = NARROWEST * ratio.powi(k);
                let shown = if vertices <= most || half_width <= NARROW * most as f64 {
                    shown(vertices, clamped, half_width)
                } else {
                    // A strand n times as fine, held over n times as many segments, with regions that make it as stiff is the same strand.
                    let finer = (vertices - 1) as f64 / (most - 1) as f64;
                    let held = (1 + ((clamped - 1) as f64 / finer).round() as usize).clamp(2, most - 1);
                    let scale = ((1 + vertices - clamped) as f64 / (1 + most - held) as f64).powi(4);
                    shown(most, held, half_width_of(squared_stiffness(half_width) / scale)) * scale
                };
                [shown.ln(), half_width.ln()]
            })
            .collect();
        let mut points: Vec<[f64; 2]> = Vec::new();
        for look in looks {
            // Towards the limit it hardly rises any more.
            if look[0].is_finite() && points.last().is_none_or(|last| look[0] > last[0]) {
                points.push(look);
            }
        }
        Self { points }
    }

    /// The half-width with which strands show the stiffness q^2; the widest if none is stiff enough.
    pub fn half_width(&self, squared: f64) -> f64 {
        let points = &self.points;
        let wanted = squared.ln();
        let after = points.partition_point(|point| point[0] < wanted);
        let (Some(before), Some(point)) = (after.checked_sub(1).and_then(|k| points.get(k)), points.get(after)) else {
            return match points.first() {
                // Narrow regions are followed in part: q goes with the half-width.
                Some(first) if after == 0 => (first[1] + 0.5 * (wanted - first[0])).exp(),
                _ => points.last().map_or(0.0, |last| last[1].exp()),
            };
        };
        let part = (wanted - before[0]) / (point[0] - before[0]);
        (before[1] + part * (point[1] - before[1])).exp()
    }
}

/// q^2 of the rod that sags at its tip as much as a strand of `count` vertices, `clamped` of them held, with regions of a half-width.
fn shown(count: usize, clamped: usize, half_width: f64) -> f64 {
    let extent = extent(half_width);
    let weights = Weights::new(extent);
    let weight = |r: usize, i: usize| weights.at(r as isize - i as isize);
    let reach = weights.reach() as usize;
    let around = |r: usize| r.saturating_sub(reach)..(r + reach + 1).min(count);
    let regions: Vec<f64> = (0..count).map(|i| around(i).map(|r| weight(r, i)).sum()).collect();
    let mass = |i: usize| if i == 0 || i + 1 == count { 0.5 } else { 1.0 };
    let held = 1.0 + HELD * extent.powi(3);
    let free = count - clamped;
    // Rows from the diagonal on, as far as two vertices share a region.
    let mut k: Vec<Vec<f64>> = (0..free).map(|i| vec![0.0; (free - i).min(2 * reach + 1)]).collect();
    // Masses of a region, and their first moments.
    let (mut masses, mut moments) = (vec![0.0; count], vec![0.0; count]);
    for r in 0..count {
        let (mut s0, mut s1, mut s2) = (0.0, 0.0, 0.0);
        for i in around(r) {
            let x = i as f64 - r as f64;
            let m = mass(i) * weight(r, i) / regions[i] * if i < clamped { held } else { 1.0 };
            // A frame turns about two axes across the third.
            s2 += m * x * x + if i < clamped { 2.0 * TURNED * m } else { 0.0 };
            s0 += m;
            s1 += m * x;
            (masses[i], moments[i]) = (m, m * x);
        }
        let inverse = 1.0 / (s0 * s2 - s1 * s1);
        let moving = around(r).start.max(clamped)..around(r).end;
        for a in moving.clone() {
            let (shift, turn) =
                ((s2 * masses[a] - s1 * moments[a]) * inverse, (s0 * moments[a] - s1 * masses[a]) * inverse);
            let row = &mut k[a - clamped];
            row[0] += masses[a];
            let others = masses[a..moving.end].iter().zip(&moments[a..moving.end]);
            for (entry, (m, x)) in row.iter_mut().zip(others) {
                *entry -= shift * m + turn * x;
            }
        }
    }
    let tip = tip_of(k, |i| mass(i + clamped)) / weights.followed();
    ((free + 1) as f64).powi(4) / (2.0 * tip)
}

/// The last unknown of a symmetric, positive system, of which the rows are given from the diagonal on: elimination forth is enough for it.
fn tip_of(mut k: Vec<Vec<f64>>, load: impl Fn(usize) -> f64) -> f64 {
    let count = k.len();
    let mut loads: Vec<f64> = (0..count).map(load).collect();
    for pivot in 0..count - 1 {
        let (above, below) = k.split_at_mut(pivot + 1);
        let row = &above[pivot];
        for (i, under) in (1..row.len()).zip(below) {
            let factor = row[i] / row[0];
            for (entry, more) in under.iter_mut().zip(&row[i..]) {
                *entry -= factor * more;
            }
            loads[pivot + i] -= factor * loads[pivot];
        }
    }
    loads[count - 1] / k[count - 1][0]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// q^2 of the regions that show another.
    fn inner(sag: &Sag, squared: f64) -> f64 {
        squared_stiffness(sag.half_width(squared))
    }

    #[test]
    fn long_strands_show_the_stiffness_of_their_regions_and_short_ones_less() {
        let (long, short) = (Sag::new(400, 2, MOST), Sag::new(12, 2, MOST));
        let mut before = 0.0;
        for squared in [0.3, 3.0, 30.0, 300.0, 1500.0] {
            let ratio = inner(&long, squared) / squared;
            assert!((ratio - 1.0).abs() < 0.1, "{squared}: {ratio}");
            // The segment that is held makes a short strand stiffer, regions that reach beyond it make it softer.
            let ratio = inner(&short, squared) / squared;
            assert!(ratio > before, "{squared}: {ratio}");
            before = ratio;
        }
        assert!(before > 2.0, "{before}");
        // Nothing is stiffer than what falls for 10 ms.
        assert!((short.half_width(1e9) - 60.0).abs() < 1e-9);
    }

    #[test]
    fn what_stands_in_for_a_long_strand_shows_about_the_same() {
        for (clamped, tolerance) in [(2, 0.02), (3, 0.2), (20, 0.1)] {
            let (whole, coarse) = (Sag::new(240, clamped, 240), Sag::new(240, clamped, 123));
            for squared in [1.0, 30.0, 300.0, 3e3, 3e4, 3e5, 3e6] {
                let ratio = coarse.half_width(squared) / whole.half_width(squared);
                assert!((ratio - 1.0).abs() < tolerance, "{clamped} held, {squared}: {ratio}");
            }
        }
        // More is held than what stands in for the strand has vertices, or nearly all.
        for (vertices, clamped) in [(200, 70), (1000, 100), (101, 100)] {
            assert!(Sag::new(vertices, clamped, 64).half_width(1e4).is_finite());
        }
    }

    #[test]
    fn half_widths_rise_with_the_stiffness_that_is_asked_for() {
        for (vertices, clamped) in [(3, 2), (5, 2), (20, 2), (20, 4), (65, 2), (300, 3)] {
            let sag = Sag::new(vertices, clamped, MOST);
            let mut before = 0.0;
            for k in -20..60 {
                let width = sag.half_width(2.0_f64.powi(k));
                assert!(width.is_finite() && width >= before * (1.0 - 1e-9), "{vertices}: {before} {width}");
                before = width;
            }
        }
    }
}
