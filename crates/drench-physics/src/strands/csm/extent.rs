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

/// q^2 of the chain's rigidity B = m' l^4 q^2 / (4 t^2) for a half-width: q is linear between whole half-widths.
pub fn squared_stiffness(half_width: f64) -> f64 {
    let whole = half_width.max(0.0).floor();
    let (low, high) = (stiffness_of_whole(whole), stiffness_of_whole(whole + 1.0));
    (low + (half_width.max(0.0) - whole) * (high - low)).powi(2)
}

/// q^2 of a region by its extent.
pub(crate) fn squared_extent(extent: f64) -> f64 {
    if extent < 1.0 {
        return squared_stiffness(1.0) * extent.max(0.0);
    }
    let (whole, part) = (extent.floor(), extent - extent.floor());
    let end = (whole + 1.0).powi(2);
    let s0 = 2.0 * (whole + part) + 1.0;
    let s2 = 2.0 * (power_sum_2(whole) + part * end);
    let s4 = 2.0 * (power_sum_4(whole) + part * end * end);
    s4 / s0 - (s2 / s0).powi(2)
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
    fn stiffness_is_continuous_and_grows_with_the_half_width() {
        let mut before = 0.0;
        for step in 1..=2000 {
            let half_width = 0.01 * f64::from(step);
            let q2 = counted(extent(half_width));
            assert!((q2 / squared_stiffness(half_width) - 1.0).abs() < 1e-9, "{half_width}: {q2}");
            assert!((q2 / squared_extent(extent(half_width)) - 1.0).abs() < 1e-9, "{half_width}: {q2}");
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
