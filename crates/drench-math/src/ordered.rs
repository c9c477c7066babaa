//! Parallel reductions whose bits do not depend on the number of threads.
//!
//! The work is cut into chunks of a fixed length, each chunk is reduced serially, and the partial results are combined
//! in order. `par_iter().sum()` would cut the work differently on every run.

use rayon::prelude::*;

/// Items a chunk holds. Part of the result's definition: changing it changes bits.
pub const CHUNK: usize = 4096;

/// Reduces `0..count`: `chunk` maps a range of indices to a partial result, `join` combines them from left to right.
pub fn reduce<T, M, J>(count: usize, identity: T, chunk: M, join: J) -> T
where
    T: Send,
    M: Fn(std::ops::Range<usize>) -> T + Sync,
    J: Fn(T, T) -> T,
{
    let partial: Vec<T> = (0..count.div_ceil(CHUNK))
        .into_par_iter()
        .map(|index| chunk(index * CHUNK..((index + 1) * CHUNK).min(count)))
        .collect();
    partial.into_iter().fold(identity, join)
}

/// The sum of `value(i)` over `0..count`.
pub fn sum<F: Fn(usize) -> f64 + Sync>(count: usize, value: F) -> f64 {
    reduce(count, 0.0, |range| range.map(&value).sum::<f64>(), |a, b| a + b)
}

/// The largest `value(i)` over `0..count`, or `floor` if none is larger. A NaN anywhere is returned, not hidden.
pub fn max<F: Fn(usize) -> f64 + Sync>(count: usize, floor: f64, value: F) -> f64 {
    let larger = |a: f64, b: f64| if a.is_nan() || b <= a { a } else { b };
    reduce(count, floor, |range| range.map(&value).fold(floor, larger), larger)
}

/// Sets every entry of `values` to `value(i)`, in parallel.
pub fn fill<T: Send, F: Fn(usize) -> T + Sync>(values: &mut [T], value: F) {
    values.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, values)| {
        values.iter_mut().zip(chunk * CHUNK..).for_each(|(slot, i)| *slot = value(i));
    });
}

/// A running sum that keeps what rounding would lose [Neumaier1974].
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Compensated {
    sum: f64,
    lost: f64,
}

impl Compensated {
    /// Adds a number.
    pub fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        self.lost += if self.sum.abs() >= value.abs() { (self.sum - sum) + value } else { (value - sum) + self.sum };
        self.sum = sum;
    }

    /// Both sums together.
    pub fn join(mut self, other: Self) -> Self {
        self.add(other.sum);
        self.add(other.lost);
        self
    }

    /// The sum.
    pub fn value(self) -> f64 {
        self.sum + self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sum_has_the_same_bits_on_any_number_of_threads() {
        let value = |i: usize| (i as f64 * 0.7).sin() * 1e3;
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| sum(100_003, value)).to_bits()
        };
        assert_eq!(on(1), on(2));
        assert_eq!(on(1), on(8));
    }

    #[test]
    fn max_reports_nan() {
        let value = |i: usize| if i == 5_000 { f64::NAN } else { i as f64 };
        assert!(max(10_000, 0.0, value).is_nan());
        assert_eq!(max(10_000, 0.0, |i| i as f64), 9_999.0);
        assert_eq!(max(0, -1.0, |_| 0.0), -1.0);
    }

    #[test]
    fn a_million_small_drops_are_not_lost_beside_a_lake() {
        let mut sum = Compensated::default();
        sum.add(1e12);
        (0..1_000_000).for_each(|_| sum.add(1e-6));
        sum.add(-1e12);
        assert!((sum.value() - 1.0).abs() < 1e-9);
    }
}
