//! Space-filling order: neighbours in space become neighbours in memory.

use glam::{DVec3, I64Vec3};
use rayon::prelude::*;

/// Largest coordinate that [`interleave`] holds.
pub(crate) const LARGEST: f64 = 2_097_151.0;

/// The lowest 21 bits of a number, each with two zeros after it.
#[inline]
pub(crate) fn spread(x: i64) -> u64 {
    let mut x = x as u64 & 0x1f_ffff;
    x = (x | x << 32) & 0x001f_0000_0000_ffff;
    x = (x | x << 16) & 0x001f_0000_ff00_00ff;
    x = (x | x << 8) & 0x100f_00f0_0f00_f00f;
    x = (x | x << 4) & 0x10c3_0c30_c30c_30c3;
    (x | x << 2) & 0x1249_2492_4924_9249
}

/// The bits of three coordinates, 21 each, interleaved: x lowest.
#[inline]
pub(crate) fn interleave(cell: I64Vec3) -> u64 {
    spread(cell.x) | spread(cell.y) << 1 | spread(cell.z) << 2
}

/// The inverse of [`interleave`].
#[inline]
pub(crate) fn separate(key: u64) -> I64Vec3 {
    fn gather(x: u64) -> i64 {
        let mut x = x & 0x1249_2492_4924_9249;
        x = (x | x >> 2) & 0x10c3_0c30_c30c_30c3;
        x = (x | x >> 4) & 0x100f_00f0_0f00_f00f;
        x = (x | x >> 8) & 0x001f_0000_ff00_00ff;
        x = (x | x >> 16) & 0x001f_0000_0000_ffff;
        ((x | x >> 32) & 0x1f_ffff) as i64
    }
    I64Vec3::new(gather(key), gather(key >> 1), gather(key >> 2))
}

/// The order of these points along the curve, in the box around them.
pub(crate) fn order(positions: &[DVec3]) -> Vec<u32> {
    let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    let (low, high) = positions.iter().fold(start, |(low, high), &p| (low.min(p), high.max(p)));
    let size = (high - low).max_element();
    let scale = if size > 0.0 { LARGEST / size } else { 0.0 };
    let key = |(i, &p): (usize, &DVec3)| (interleave(((p - low) * scale).as_i64vec3()), i as u32);
    let mut keys: Vec<(u64, u32)> = positions.par_iter().enumerate().map(key).collect();
    // Pairs are distinct, so that an unstable sort has one outcome.
    keys.par_sort_unstable();
    keys.into_par_iter().map(|(_, i)| i).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separate_undoes_interleave() {
        for (x, y, z) in [(0, 0, 0), (1, 2, 3), (2_097_151, 0, 2_097_151), (123_456, 1_999_999, 77)] {
            let cell = I64Vec3::new(x, y, z);
            assert_eq!(separate(interleave(cell)), cell);
        }
        assert_eq!(interleave(I64Vec3::new(1, 1, 1)), 7);
    }

    #[test]
    fn order_holds_every_point_once() {
        let points: Vec<DVec3> = (0..100).map(|i| DVec3::splat(f64::from(i * 37 % 100))).collect();
        let order = order(&points);
        // Points on a diagonal are ordered along it.
        assert!(order.windows(2).all(|w| points[w[0] as usize].x < points[w[1] as usize].x));
    }
}
