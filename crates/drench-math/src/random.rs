//! Randomness from counters: a value is a pure function of (seed, stream, index).
//!
//! No generator is shared and none is advanced, so a result depends neither on the order in which values are asked for
//! nor on the number of threads.

use glam::DVec3;

/// A stream of random values, addressed by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    key: u64,
}

impl Stream {
    /// The stream called `name` of a run with this `seed`. Different names give unrelated streams.
    pub fn new(seed: u64, name: &str) -> Self {
        let key = name.bytes().fold(mix(seed ^ 0x9e37_79b9_7f4a_7c15), |key, byte| mix(key ^ u64::from(byte)));
        Self { key }
    }

    /// A stream of its own for item `index`, unrelated to the parent's values.
    pub fn child(self, index: u64) -> Self {
        Self { key: mix(self.key.rotate_left(23) ^ mix(index ^ 0xd1b5_4a32_d192_ed03)) }
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(self, index: u64) -> u64 {
        mix(self.key ^ mix(index.wrapping_add(0x9e37_79b9_7f4a_7c15)))
    }

    /// Uniform in [0, 1).
    #[inline]
    pub fn uniform(self, index: u64) -> f64 {
        // 53 bits: every value is exactly representable and 1 is never reached.
        (self.bits(index) >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Uniform in [low, high).
    #[inline]
    pub fn range(self, index: u64, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform(index)
    }

    /// Standard normal (Box-Muller, one of the pair).
    pub fn normal(self, index: u64) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform(2 * index)).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform(2 * index + 1)).cos()
    }

    /// Uniform on the unit sphere.
    pub fn direction(self, index: u64) -> DVec3 {
        let z = self.range(2 * index, -1.0, 1.0);
        let angle = std::f64::consts::TAU * self.uniform(2 * index + 1);
        let r = (1.0 - z * z).max(0.0).sqrt();
        DVec3::new(r * angle.cos(), r * angle.sin(), z)
    }
}

/// A bijective mixer of 64 bits (the finaliser of SplitMix64).
#[inline]
pub fn mix(mut x: u64) -> u64 {
    x ^= x >> 30;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 27;
    x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_has_the_right_mean_and_variance() {
        let stream = Stream::new(7, "test");
        let n = 100_000;
        let mean = (0..n).map(|i| stream.uniform(i)).sum::<f64>() / n as f64;
        let variance = (0..n).map(|i| (stream.uniform(i) - 0.5).powi(2)).sum::<f64>() / n as f64;
        // Standard error of the mean 0.289 / sqrt(n) = 9e-4; five of them.
        assert!((mean - 0.5).abs() < 5e-3, "{mean}");
        assert!((variance - 1.0 / 12.0).abs() < 2e-3, "{variance}");
    }

    #[test]
    fn streams_and_children_are_unrelated() {
        let a = Stream::new(1, "roots");
        let b = Stream::new(1, "noise");
        let n = 20_000;
        for other in [b, a.child(0), Stream::new(2, "roots")] {
            let covariance = (0..n).map(|i| (a.uniform(i) - 0.5) * (other.uniform(i) - 0.5)).sum::<f64>() / n as f64;
            assert!(covariance.abs() < 3e-3, "{covariance}");
        }
    }

    #[test]
    fn directions_have_unit_length_and_no_bias() {
        let stream = Stream::new(3, "directions");
        let n = 50_000;
        let mean = (0..n).map(|i| stream.direction(i)).sum::<DVec3>() / n as f64;
        assert!((stream.direction(17).length() - 1.0).abs() < 1e-12);
        assert!(mean.length() < 0.02, "{mean}");
    }
}
