//! How far a region reaches, and how stiff that makes the chain.
//!
//! A region around vertex r holds its neighbours i with weights a_ri that fall from 1 to 0 at its ends. In a straight, even chain
//! of spacing l that is bent to the curvature k, the region's shape misses its vertices by what of k s^2 / 2 no rotation and
//! shift can follow, so that the mismatch costs m k^2 l^4 (u4 - u2^2) / 8, where u2 and u4 are the second and fourth moment of
//! the weights over the index. Moved to its goals once in a time t a chain of mass m' a length is therefore a rod of rigidity
//!
//! B = m' l^4 q^2 / (4 t^2),  q^2 = u4 - u2^2;  q^2 = n (n + 1) (4 n (n + 1) - 3) / 45 for the whole half-width n.
//!
//! Published half-widths are whole numbers. Here the stiffness is continuous: between two whole half-widths the vertices at both
//! ends are counted in part, by as much as makes q a linear function of the half-width; below 1 a region holds its two
//! neighbours and is followed in part. Both keep momentum, because every region does for itself.

use crate::strands::lanes::Lane;

/// How far a region reaches: 1 or more is the whole half-width plus the weight of the next vertex on both sides; less than 1 is the
/// share by which a region of half-width 1 is followed.
pub(crate) fn extent(half_width: f64) -> f64 {
    if half_width < 1.0 {
        // The stiffness of a region that is followed in part is in proportion to the part.
        return half_width.max(0.0).powi(2);
    }
    let whole = half_width.floor();
    if half_width == whole {
        return whole;
    }
    // Sums over the whole half-width of 1, d^2 and d^4, and the distance of the ends.
    let square = squared_stiffness(half_width);
    let (s0, s2, s4) = (2.0 * whole + 1.0, 2.0 * power_sum_2(whole), 2.0 * power_sum_4(whole));
    let end = (whole + 1.0).powi(2);
    // (s4 + 2 p end^2) (s0 + 2 p) - (s2 + 2 p end)^2 = q^2 (s0 + 2 p)^2: the smaller root p.
    let a = 4.0 * square;
    let b = 2.0 * s4 + 2.0 * end * end * s0 - 4.0 * s2 * end - 4.0 * square * s0;
    let c = s4 * s0 - s2 * s2 - square * s0 * s0;
    let root = (b * b + 4.0 * a * c).max(0.0).sqrt();
    let weight = -2.0 * c / (b + root);
    whole + weight.clamp(0.0, 1.0 - f64::EPSILON * half_width)
}

/// Weights a_ri of the vertices of a region of some extent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weights {
    extent: f64,
    whole: f64,
}

impl Weights {
    pub fn new(extent: f64) -> Self {
        Self { extent, whole: extent.floor().max(1.0) }
    }

    /// Of a vertex so many segments away from the middle.
    pub fn at(&self, away: isize) -> f64 {
        match away.unsigned_abs() as f64 - self.whole {
            beyond if beyond <= 0.0 => 1.0,
            1.0 => (self.extent - self.whole).max(0.0),
            _ => 0.0,
        }
    }

    /// How many segments away vertices can have a weight.
    pub fn reach(&self) -> isize {
        self.extent.ceil().max(1.0) as isize
    }

    /// By which share the region is followed.
    pub fn followed(&self) -> f64 {
        self.extent.min(1.0)
    }
}

/// q^2 of the chain's rigidity B = m' l^4 q^2 / (4 t^2) for a half-width: q is linear between whole half-widths.
pub fn squared_stiffness(half_width: f64) -> f64 {
    let whole = half_width.max(0.0).floor();
    let (low, high) = (stiffness_of_whole(whole), stiffness_of_whole(whole + 1.0));
    (low + (half_width.max(0.0) - whole) * (high - low)).powi(2)
}

/// The extents of regions that are `factor` times as stiff as those of extent `dry`: [`extent`] of [`half_width_of`] the stiffness, four at once.
#[inline(always)]
pub(crate) fn stiffened(dry: Lane, factor: Lane) -> Lane {
    let (one, two, half) = (Lane::ONE, Lane::splat(2.0), Lane::splat(0.5));
    // Sums over the whole half-width n of 1, d^2 and d^4, the square of the distance to the next vertex, and q^2.
    let sums = |n: Lane| {
        let m = n * (n + one);
        let s2 = m * (two * n + one) * Lane::splat(1.0 / 3.0);
        let s4 = s2 * m.mul_sub(Lane::splat(3.0), one) * Lane::splat(0.2);
        (two * n + one, s2, s4, (n + one) * (n + one))
    };
    let whole = dry.floor().fast_max(one);
    let (s0, s2, s4, end) = sums(whole);
    let part = (dry - whole).fast_max(Lane::ZERO) * two;
    let inverse = one / (s0 + part);
    let (mean2, mean4) = (part.mul_add(end, s2) * inverse, part.mul_add(end * end, s4) * inverse);
    let square = (mean4 - mean2 * mean2) * dry.fast_min(one) * factor;

    // The whole half-width whose q^2 = m (4 m - 3) / 45, m = n (n + 1), is not above that.
    let m = (Lane::splat(3.0) + square.mul_add(Lane::splat(720.0), Lane::splat(9.0)).sqrt()) * Lane::splat(0.125);
    let stiffness = |n: Lane| {
        let m = n * (n + one);
        m * m.mul_sub(Lane::splat(4.0), Lane::splat(3.0)) * Lane::splat(1.0 / 45.0)
    };
    let found = ((Lane::splat(4.0).mul_add(m, one)).sqrt() * half - half).floor().fast_max(one);
    // Rounding may go either way.
    let found = stiffness(found).simd_gt(square).select(found - one, found).fast_max(one);
    let found = stiffness(found + one).simd_le(square).select(found + one, found);
    let (s0, s2, s4, end) = sums(found);
    let a = Lane::splat(4.0) * square;
    let b = two * (s4 + end * end * s0 - square * s0 * two) - Lane::splat(4.0) * s2 * end;
    let c = s4 * s0 - s2 * s2 - square * s0 * s0;
    let weight = Lane::splat(-2.0) * c / (b + (b * b + Lane::splat(4.0) * a * c).fast_max(Lane::ZERO).sqrt());
    let weight = weight.fast_max(Lane::ZERO).fast_min(one - Lane::splat(f64::EPSILON) * (found + one));
    // A region of half-width 1 has q^2 = 2/9 and is followed in part below that.
    let part = square * Lane::splat(4.5);
    part.simd_lt(one).select(part, found + weight)
}

/// The half-width that gives the stiffness q^2: the inverse of [`squared_stiffness`].
pub fn half_width_of(squared_stiffness: f64) -> f64 {
    let q = squared_stiffness.max(0.0).sqrt();
    // q^2 = m (4 m - 3) / 45 with m = n (n + 1).
    let m = (3.0 + (9.0 + 720.0 * q * q).sqrt()) / 8.0;
    let mut whole = if q > 0.0 { ((1.0 + 4.0 * m).sqrt() * 0.5 - 0.5).floor().max(0.0) } else { 0.0 };
    // The first root is 3/8 even for q = 0, and rounding may go either way.
    while whole > 0.0 && stiffness_of_whole(whole) > q {
        whole -= 1.0;
    }
    while stiffness_of_whole(whole + 1.0) <= q {
        whole += 1.0;
    }
    let (low, high) = (stiffness_of_whole(whole), stiffness_of_whole(whole + 1.0));
    whole + (q - low) / (high - low)
}

/// q of a whole half-width.
fn stiffness_of_whole(n: f64) -> f64 {
    let m = n * (n + 1.0);
    (m * (4.0 * m - 3.0) / 45.0).max(0.0).sqrt()
}

/// 1 + 4 + ... + n^2
fn power_sum_2(n: f64) -> f64 {
    n * (n + 1.0) * (2.0 * n + 1.0) / 6.0
}

/// 1 + 16 + ... + n^4
fn power_sum_4(n: f64) -> f64 {
    n * (n + 1.0) * (2.0 * n + 1.0) * (3.0 * n * n + 3.0 * n - 1.0) / 30.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// q^2 from the weights themselves.
    fn counted(extent: f64) -> f64 {
        let (whole, part) = (extent.floor().max(1.0), (extent - extent.floor().max(1.0)).max(0.0));
        let (mut s0, mut s2, mut s4) = (0.0, 0.0, 0.0);
        let reach = whole as i32 + 1;
        for d in -reach..=reach {
            let weight = if d.abs() == reach { part } else { 1.0 };
            let square = f64::from(d * d);
            s0 += weight;
            s2 += weight * square;
            s4 += weight * square * square;
        }
        extent.min(1.0) * (s4 / s0 - (s2 / s0).powi(2))
    }

    #[test]
    fn four_regions_stiffen_as_one_does() {
        for step in 1..=400 {
            let half_width = 0.02 * f64::from(step);
            let dry = extent(half_width);
            for factor in [0.01, 0.2, 0.5, 0.999, 1.0, 1.7, 5.0] {
                let [got, ..] = stiffened(Lane::splat(dry), Lane::splat(factor)).to_array();
                let stiffness = factor * counted(dry);
                assert!((counted(got) / stiffness - 1.0).abs() < 1e-9, "{half_width} x {factor}: {got}");
                assert!((got - extent(half_width_of(stiffness))).abs() < 1e-6, "{half_width} x {factor}: {got}");
            }
        }
        assert_eq!(stiffened(Lane::ZERO, Lane::ONE).to_array(), [0.0; 4]);
    }

    #[test]
    fn stiffness_is_continuous_and_grows_with_the_half_width() {
        let mut before = 0.0;
        for step in 1..=2000 {
            let half_width = 0.01 * f64::from(step);
            let q2 = counted(extent(half_width));
            assert!((q2 / squared_stiffness(half_width) - 1.0).abs() < 1e-9, "{half_width}: {q2}");
            assert!(q2 > before && q2.sqrt() - before.sqrt() < 0.2, "{half_width}");
            assert!((half_width_of(q2) - half_width).abs() < 1e-9, "{half_width} {}", half_width_of(q2));
            before = q2;
        }
        assert_eq!(extent(0.0), 0.0);
        assert_eq!(extent(3.0), 3.0);
        assert_eq!(half_width_of(0.0), 0.0);
        assert!((squared_stiffness(3.0) - 12.0).abs() < 1e-12);
    }
}
