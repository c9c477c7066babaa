//! Symmetric systems with five diagonals, by L D L^T.

use std::ops::{Mul, Sub};

/// A row: the diagonal and the two bands above it; once factored, the inverse pivot and the two factors below it.
pub type Row = [f64; 3];

/// Part of its largest value below which an answer has died away: less than rounding.
const GONE: f64 = 1e-16;

/// Factors a system; rows with an infinite diagonal stay where they are.
pub fn factor(rows: &mut [Row]) {
    // Of the two rows before: inverse pivot, factor of the row before, bands above.
    let (mut one, mut two) = ([0.0; 4], [0.0; 4]);
    for row in rows {
        let [own, above, beyond] = *row;
        let k = two[3] * two[0];
        let off = one[2] - two[3] * one[1];
        let l = off * one[0];
        let pivot = own - l * off - k * two[3];
        let inverse = if pivot.is_finite() { 1.0 / pivot } else { 0.0 };
        (two, one) = (one, [inverse, l, above, beyond]);
        *row = [inverse, l, k];
    }
}

/// Solves a factored system for a right-hand side, which becomes the answer.
pub fn substitute<T>(rows: &[Row], values: &mut [T])
where
    T: Copy + Default + Sub<Output = T> + Mul<f64, Output = T>,
{
    let (mut near, mut far) = (T::default(), T::default());
    for ([_, l, k], value) in rows.iter().zip(&mut *values) {
        *value = *value - near * *l - far * *k;
        (far, near) = (near, *value);
    }
    let (mut near, mut far) = (T::default(), T::default());
    let (mut l, mut k, mut k_after) = (0.0, 0.0, 0.0);
    for (row, value) in rows.iter().zip(values).rev() {
        *value = *value * row[0] - near * l - far * k;
        (far, near) = (near, *value);
        (l, k, k_after) = (row[1], k_after, row[2]);
    }
}

/// Adds the answer to a right-hand side that is 0 but for two neighbours, `at` and the one after it, to the end of `answer`, as far as it has not died away; returns the row
/// that it begins with.
pub fn column(rows: &[Row], at: usize, load: [f64; 2], answer: &mut Vec<f64>) -> usize {
    let base = answer.len();
    let (mut near, mut far, mut end, mut most) = (0.0, 0.0, at, 0.0_f64);
    while let Some([inverse, l, k]) = rows.get(end) {
        let value = load.get(end - at).unwrap_or(&0.0) - near * l - far * k;
        let size = (value * inverse).abs();
        if end > at + 1 && size.max((near * rows[end - 1][0]).abs()) <= GONE * most {
            break;
        }
        most = most.max(size);
        answer.push(value);
        (far, near) = (near, value);
        end += 1;
    }
    let (mut near, mut far, mut first, mut most) = (0.0_f64, 0.0_f64, end, 0.0_f64);
    while first > 0 {
        let v = first - 1;
        let below = |by: usize| rows.get(v + by).map_or(0.0, |row| row[by]);
        let value = if v < at { 0.0 } else { answer[base + v - at] * rows[v][0] } - near * below(1) - far * below(2);
        if v < at && value.abs().max(near.abs()) <= GONE * most {
            break;
        }
        most = most.max(value.abs());
        if v < at {
            answer.push(value);
        } else {
            answer[base + v - at] = value;
        }
        (far, near) = (near, value);
        first = v;
    }
    // What lies before the load has come last, and backwards.
    answer[base + end - at..].reverse();
    answer[base..].rotate_left(end - at);
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;
    use glam::DVec3;

    #[test]
    fn five_diagonals_are_solved_and_what_is_held_stays() {
        let random = Stream::new(5, "bands");
        for count in [1_usize, 2, 3, 8, 20, 300] {
            let held = |i: usize| i % 6 == 3 && count < 300;
            // K = sum of p p^T over joints, which is positive, and masses.
            let mut full = vec![vec![0.0; count]; count];
            for v in 1..count.max(2) - 1 {
                let p: [f64; 3] = std::array::from_fn(|k| random.range((3 * v + k) as u64, -2.0, 2.0));
                (0..9).for_each(|k| full[v - 1 + k / 3][v - 1 + k % 3] += p[k / 3] * p[k % 3]);
            }
            (0..count).for_each(|i| full[i][i] += 0.1);
            let load = |i: usize| random.child(i as u64).direction(1);
            let band = |i: usize, k: usize| if i + k < count { full[i][i + k] } else { 0.0 };
            let own = |i: usize| if held(i) { f64::INFINITY } else { band(i, 0) };
            let mut rows: Vec<Row> = (0..count).map(|i| [own(i), band(i, 1), band(i, 2)]).collect();
            factor(&mut rows);
            let mut steps: Vec<DVec3> = (0..count).map(load).collect();
            substitute(&rows, &mut steps);
            for i in 0..count {
                let left = (0..count).fold(-load(i), |sum, j| sum + steps[j] * full[i][j]);
                let off = if held(i) { steps[i].length() } else { left.length() };
                assert!(off < 1e-10, "{count}, row {i}: {off}");
            }
            for at in 0..count.max(2) - 1 {
                let weights = [0.3, 0.7];
                let mut whole = vec![0.0; count];
                whole.iter_mut().skip(at).zip(weights).for_each(|(value, weight)| *value = weight);
                substitute(&rows, &mut whole);
                let mut part = vec![5.0];
                let first = column(&rows, at, weights, &mut part);
                assert_eq!(part[0], 5.0);
                let off = |i: usize| {
                    let known = if i < first { 0.0 } else { part.get(1 + i - first).copied().unwrap_or(0.0) };
                    (known - whole[i]).abs()
                };
                let worst = (0..count).map(off).fold(0.0, f64::max);
                assert!(worst < 1e-12, "{count}, load at {at}: {worst}");
                assert!(count < 300 || part.len() < 200, "{} of {count} are far from the load", part.len());
            }
        }
    }
}
