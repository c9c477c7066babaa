//! Sub-triangles drawn with a probability proportional to their area [Henne2013, 2.1.1; Cline2009].
//!
//! Bin `i` holds areas from `2^-(i+1)` to `2^-i` of the largest. A bin is drawn by count x bound, and a member is kept
//! with probability area / bound, else the whole draw is repeated: exact, and no sum of areas is kept that could drift
//! [Henne2013, 2.1.3].

use super::block::SubTriangle;

const BINS: usize = 64;

/// Sub-triangles sorted by the order of magnitude of their area.
#[derive(Default)]
pub(super) struct Bins {
    bins: Vec<Vec<(SubTriangle, f32)>>,
    /// Bit `i` is set where bin `i` has members.
    filled: u64,
    /// Area that bin 0 ends at [m²].
    largest: f64,
}

impl Bins {
    /// Empties the bins for areas up to `largest` [m²].
    pub fn reset(&mut self, largest: f64) {
        self.bins.resize_with(BINS, Vec::new);
        self.bins.iter_mut().for_each(Vec::clear);
        (self.filled, self.largest) = (0, largest);
    }

    /// Adds a sub-triangle of this `area` [m²].
    #[inline]
    pub fn push(&mut self, item: SubTriangle, area: f64) {
        let relative = area / self.largest;
        // The exponent of the number is the logarithm, rounded down: 1 lies in bin 0, as does 0.6, and 0.5 in bin 1.
        let exponent = 1022 - ((relative.to_bits() >> 52) & 0x7ff) as i64;
        let bin = exponent.clamp(0, BINS as i64 - 1) as usize;
        // Members of the last bin may be smaller than it says; beyond 2^-63 of the largest area they all count alike.
        let keep = (relative / bound(bin)).clamp(0.5, 1.0);
        self.bins[bin].push((item, keep as f32));
        self.filled |= 1 << bin;
    }

    /// Draws and removes a sub-triangle; `uniform` gives random numbers in [0, 1).
    #[inline]
    pub fn draw(&mut self, mut uniform: impl FnMut() -> f64) -> Option<SubTriangle> {
        if self.filled == 0 {
            return None;
        }
        loop {
            let weight = |bin: usize| self.bins[bin].len() as f64 * bound(bin);
            let mut rest = uniform() * bits(self.filled).map(weight).sum::<f64>();
            let mut bin = 0;
            for candidate in bits(self.filled) {
                bin = candidate;
                rest -= weight(bin);
                if rest < 0.0 {
                    break;
                }
            }
            let members = &mut self.bins[bin];
            let choice = uniform() * members.len() as f64;
            let index = choice as usize;
            // The fraction of the choice is a fresh uniform number.
            if choice - index as f64 <= f64::from(members[index].1) {
                let (item, _) = members.swap_remove(index);
                if members.is_empty() {
                    self.filled &= !(1 << bin);
                }
                return Some(item);
            }
        }
    }
}

/// Largest relative area in a bin, 2^-bin: put together from the exponent's bits.
#[inline]
fn bound(bin: usize) -> f64 {
    f64::from_bits((1023 - bin as u64) << 52)
}

/// Positions of the set bits.
#[inline]
fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (set != 0).then(|| set.trailing_zeros() as usize);
        set &= set.wrapping_sub(1);
        bit
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_math::random::Stream;

    #[test]
    fn first_draws_follow_the_areas() {
        let stream = Stream::new(1, "bins");
        let areas = [1.0, 0.9, 0.5, 0.3, 0.26, 0.03];
        let total: f64 = areas.iter().sum();
        let mut hits = [0.0; 6];
        let (mut counter, draws) = (0, 40_000);
        let mut bins = Bins::default();
        for _ in 0..draws {
            bins.reset(1.0);
            for (i, &area) in areas.iter().enumerate() {
                bins.push(SubTriangle { patch: i as u32, scale: 1.0, offset: [0.0; 2] }, area);
            }
            let item = bins.draw(|| {
                counter += 1;
                stream.uniform(counter)
            });
            hits[item.unwrap().patch as usize] += 1.0;
        }
        let expected = areas.map(|a| draws as f64 * a / total);
        let chi: f64 = (0..6).map(|i| (hits[i] - expected[i]) * (hits[i] - expected[i]) / expected[i]).sum();
        assert!(chi < 20.5, "{chi}"); // 5 degrees of freedom, p = 0.001
    }

    #[test]
    fn everything_is_drawn_once_and_then_nothing() {
        let stream = Stream::new(2, "bins");
        let mut bins = Bins::default();
        bins.reset(2.0);
        for i in 0..200u32 {
            bins.push(SubTriangle { patch: i, scale: 1.0, offset: [0.0; 2] }, 2.0 * 0.8f64.powi(i as i32));
        }
        let mut counter = 0;
        let mut seen = [false; 200];
        while let Some(item) = bins.draw(|| {
            counter += 1;
            stream.uniform(counter)
        }) {
            assert!(!std::mem::replace(&mut seen[item.patch as usize], true));
        }
        assert!(seen.iter().all(|&s| s));
        assert_eq!(bins.filled, 0);
    }
}
