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
//! sags as much is (L / l)^4 g t^2 / (2 y). It is found for a row of half-widths, and what lies between is interpolated.
//!
//! *Limit*: goals are pulled to with m / t^2 at most, so that nothing sags less than g t^2, 1 mm: shorter hair is rigid for the eye.

use super::extent::{extent, half_width_of};
use super::solve::{HELD, TURNED};

/// Vertices up to which strands are looked at as they are; longer ones as if they had so many.
const MOST: usize = 64;
/// Half-widths that are looked at, and the widest, in vertices of the strand: wider ones are rigid.
const POINTS: u32 = 32;
const WIDEST: f64 = 5.0;
/// The narrowest [vertices], and in strands that are looked at with fewer vertices: there narrower ones are as in the middle of a strand.
const NARROWEST: [f64; 2] = [0.25, 2.0];

/// The stiffness that strands of so many vertices show, over the half-width.
#[derive(Clone, Debug)]
pub struct Sag {
    /// Whether they have more vertices than are looked at.
    long: bool,
    /// Logarithms of q^2 as it shows and of the half-width, rising.
    points: Vec<[f64; 2]>,
}

impl Sag {
    /// Of strands with so many vertices, the first few held; nothing if what holds them does not hold their direction, or holds all.
    pub fn of(vertices: usize, clamped: usize) -> Option<Self> {
        (clamped > 1 && vertices > clamped).then(|| Self::new(vertices, clamped))
    }

    fn new(vertices: usize, clamped: usize) -> Self {
        let count = vertices.min(MOST);
        // Twice as fine a strand with regions of twice the half-width is the same strand.
        let scale = (vertices - 1) as f64 / (count - 1) as f64;
        let long = vertices > MOST;
        let narrowest = NARROWEST[usize::from(long)];
        let ratio = (WIDEST * count as f64 / narrowest).powf(1.0 / f64::from(POINTS - 1));
        let mut points: Vec<[f64; 2]> = Vec::new();
        for k in 0..POINTS {
            let half_width = narrowest * ratio.powi(k as i32);
            let shown = shown(count, clamped, half_width) * scale.powi(4);
            // Towards the limit it hardly rises any more.
            if shown.is_finite() && points.last().is_none_or(|last| shown.ln() > last[0]) {
                points.push([shown.ln(), (half_width * scale).ln()]);
            }
        }
        Self { long, points }
    }

    /// The half-width with which strands show the stiffness q^2; the widest if none is stiff enough.
    pub fn half_width(&self, squared: f64) -> f64 {
        let points = &self.points;
        let wanted = squared.ln();
        let after = points.partition_point(|point| point[0] < wanted);
        let (Some(before), Some(point)) = (after.checked_sub(1).and_then(|k| points.get(k)), points.get(after)) else {
            return match points.first() {
                Some(_) if self.long && after == 0 => half_width_of(squared),
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
    let whole = extent.floor().max(1.0);
    let weight = |r: usize, i: usize| match r.abs_diff(i) as f64 - whole {
        beyond if beyond <= 0.0 => 1.0,
        1.0 => (extent - whole).max(0.0),
        _ => 0.0,
    };
    let regions: Vec<f64> = (0..count).map(|i| (0..count).map(|r| weight(r, i)).sum()).collect();
    let mass = |i: usize| if i == 0 || i + 1 == count { 0.5 } else { 1.0 };
    let held = 1.0 + HELD * extent.powi(3);
    let free = count - clamped;
    let mut k = vec![vec![0.0; free]; free];
    for r in 0..count {
        let m = |i: usize| mass(i) * weight(r, i) / regions[i] * if i < clamped { held } else { 1.0 };
        let sum = |f: &dyn Fn(usize) -> f64| (0..count).map(f).sum::<f64>();
        let x = |i: usize| i as f64 - r as f64;
        // A frame turns about two axes across the third.
        let anchors: f64 = (0..clamped).map(|i| 2.0 * TURNED * m(i)).sum();
        let (s0, s1, s2) = (sum(&m), sum(&|i| m(i) * x(i)), sum(&|i| m(i) * x(i) * x(i)) + anchors);
        let inverse = 1.0 / (s0 * s2 - s1 * s1);
        for i in 0..free {
            for j in 0..=i {
                let (a, b) = (i + clamped, j + clamped);
                let fit = (s2 - s1 * (x(a) + x(b)) + s0 * x(a) * x(b)) * inverse;
                k[i][j] -= m(a) * m(b) * fit;
            }
            k[i][i] += m(i + clamped);
        }
    }
    let tip = tip_of(k, |i| mass(i + clamped)) / extent.min(1.0);
    ((count - 1) as f64).powi(4) / (2.0 * tip)
}

/// The last unknown of a symmetric, positive system, of which the lower half is given: elimination forth is enough for it.
fn tip_of(mut k: Vec<Vec<f64>>, load: impl Fn(usize) -> f64) -> f64 {
    let count = k.len();
    let mut loads: Vec<f64> = (0..count).map(load).collect();
    for pivot in 0..count - 1 {
        for i in pivot + 1..count {
            let factor = k[i][pivot] / k[pivot][pivot];
            for j in pivot + 1..=i {
                k[i][j] -= factor * k[j][pivot];
            }
            loads[i] -= factor * loads[pivot];
        }
    }
    loads[count - 1] / k[count - 1][count - 1]
}

#[cfg(test)]
mod tests {
    use super::super::squared_stiffness;
    use super::*;

    /// q^2 of the regions that show another.
    fn inner(sag: &Sag, squared: f64) -> f64 {
        squared_stiffness(sag.half_width(squared))
    }

    #[test]
    fn long_strands_show_the_stiffness_of_their_regions_and_short_ones_less() {
        let (long, short) = (Sag::new(400, 2), Sag::new(12, 2));
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
    fn half_widths_rise_with_the_stiffness_that_is_asked_for() {
        for (vertices, clamped) in [(3, 2), (5, 2), (20, 2), (20, 4), (65, 2), (300, 3)] {
            let sag = Sag::new(vertices, clamped);
            let mut before = 0.0;
            for k in -20..60 {
                let width = sag.half_width(2.0_f64.powi(k));
                assert!(width.is_finite() && width >= before * (1.0 - 1e-9), "{vertices}: {before} {width}");
                before = width;
            }
        }
    }
}
