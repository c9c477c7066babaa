//! Smoothing kernels, normalised in three dimensions, with a support of radius H.

use std::f64::consts::PI;

/// The cubic spline of [Monaghan1992], with q = r/H:
/// W = k (6 (q³ − q²) + 1) up to q = 1/2, 2 k (1 − q)³ up to 1, k = 8 / (π H³).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubicSpline {
    /// Radius of the support H [m].
    pub support: f64,
    /// k [1/m3].
    pub scale: f64,
}

impl CubicSpline {
    /// The kernel with this support [m].
    pub fn new(support: f64) -> Self {
        Self { support, scale: 8.0 / (PI * support.powi(3)) }
    }

    /// W [1/m3] at the distance r [m].
    pub fn value(&self, r: f64) -> f64 {
        let q = r / self.support;
        if q <= 0.5 {
            self.scale * (6.0 * (q * q * q - q * q) + 1.0)
        } else {
            self.scale * 2.0 * (1.0 - q).max(0.0).powi(3)
        }
    }

    /// W'(r) / r [1/m5]: times the offset it is the gradient.
    pub fn slope(&self, r: f64) -> f64 {
        let q = r / self.support;
        let scale = 6.0 * self.scale / (self.support * self.support);
        if q <= 0.5 { scale * (3.0 * q - 2.0) } else { -scale * (1.0 - q).max(0.0).powi(2) / q }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// 4π ∫ f(r) r² dr.
    pub(crate) fn over_the_ball(support: f64, f: impl Fn(f64) -> f64) -> f64 {
        let n = 20_000;
        let step = support / f64::from(n);
        (0..n).map(|i| step * (f64::from(i) + 0.5)).map(|r| 4.0 * PI * r * r * f(r) * step).sum()
    }

    #[test]
    fn kernels_are_normalised() {
        for support in [0.02, 1.0, 7.0] {
            let cubic = CubicSpline::new(support);
            assert!((over_the_ball(support, |r| cubic.value(r)) - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn derivatives_agree_with_differences() {
        let kernel = CubicSpline::new(0.1);
        for i in 1..100 {
            let (r, e) = (0.001 * f64::from(i) + 1e-4, 1e-7);
            let first = (kernel.value(r + e) - kernel.value(r - e)) / (2.0 * e);
            assert!((kernel.slope(r) * r - first).abs() < 1e-5 * kernel.scale / 0.1, "{r}");
        }
    }

    #[test]
    fn a_lattice_of_half_the_support_has_the_density_of_rest() {
        let kernel = CubicSpline::new(2.0);
        let mut sum = 0.0;
        for k in 0..125 {
            let (x, y, z) = (k % 5 - 2, k / 5 % 5 - 2, k / 25 - 2);
            sum += kernel.value(f64::from(x * x + y * y + z * z).sqrt());
        }
        assert!((sum - 1.0).abs() < 1e-3, "{sum}");
    }
}
