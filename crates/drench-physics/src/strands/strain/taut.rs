//! Taut chains: the first impulses act in the directions that segments have at the end of the step.
//!
//! Impulses in the directions of the prediction make a taut chain go to and fro from step to step, or wriggle for ever: with k = s / (m l), the impulse of a
//! step over mass and length, a mode of which neighbours turn against each other by L (0 <= L <= 4) goes on as
//! x' = (1 - k L) (2 x - x_old), which grows for k L > 4/3; hair of 14 cm in 40 vertices reaches 30 in steps of 8 ms. Here the impulses s_i that lengths ask for at the prediction p
//! turn with the segments, x' = (2 x - x_old) / (1 + k L), which any tension leaves stable: with k_i = s_i / l_i and y = x - p
//!
//! y_i = W_i (k_(i+1) (x_(i+1) - x_i) - k_i (x_i - x_(i-1))),
//!
//! where W_i is the inverse mass w_i, or w_i (1 - N N^T) on a solid with normal N. From the root on each y is taken out of the next one,
//! y_i = q_i + S_i y_(i+1), with
//!
//! E_i = 1 + W_i^(1/2) (k_i (1 - S_(i-1)) + k_(i+1)) W_i^(1/2),
//! q_i = E_i^-1 W_i (f_i + k_i q_(i-1)),   S_i = k_(i+1) E_i^-1 W_i,
//!
//! and f_i what the pulls at p come to. S and E are symmetric; where nothing touches a solid they are numbers. Pulls come in opposite pairs: momentum is kept.
//! A segment that is pushed (s_i < 0), and what lengths are still off by, is left to the steps of Newton's method that follow.

use super::{Lean, Row, SHORTEST, Segments, borne};
use crate::strands::lanes::{Lane, Lane3};
use crate::strands::symmetric::Symmetrics;

/// Lets the impulses of eliminated rows act, in working lanes.
#[inline(always)]
pub(super) fn tighten(
    rows: &mut [Row],
    segments: Segments,
    working: Lane,
    leans: &mut [Lean],
    positions: &mut [Lane3],
) {
    let (mut impulse_after, mut pull_after) = (Lane::ZERO, Lane3::ZERO);
    for i in (1..positions.len()).rev() {
        let Row { direction, next, right, .. } = rows[i];
        let impulse = next.mul_neg_add(impulse_after, right);
        let pulling = impulse.fast_max(Lane::ZERO) * working;
        // A segment that pulls is as long as it may be.
        let length = segments.lengths[i] * Lane::splat(1.0 + segments.limit);
        rows[i].draw = pulling / length.fast_max(Lane::splat(SHORTEST));
        let pull = direction * pulling;
        // Solids let go of what is drawn away from them.
        borne(leans, i, pull_after - pull);
        (impulse_after, pull_after) = (impulse, pull);
    }
    rows[0].draw = Lane::ZERO;
    if leans.is_empty() {
        freely(rows, segments, positions);
    } else {
        along_solids(rows, segments, leans, positions);
    }
}

/// What the segments on both sides of a vertex draw it with: k_i, k_(i+1), and f_i.
#[inline(always)]
fn draws(rows: &[Row], i: usize, positions: &[Lane3]) -> (Lane, Lane, Lane3) {
    let (mut after, mut pull) = (Lane::ZERO, Lane3::ZERO);
    if i + 1 < positions.len() {
        after = rows[i + 1].draw;
        pull = (positions[i + 1] - positions[i]) * after;
    }
    let before = rows[i].draw;
    if i > 0 {
        pull = (positions[i - 1] - positions[i]).mul_add(before, pull);
    }
    (before, after, pull)
}

/// No vertex touches a solid.
#[inline(always)]
fn freely(rows: &mut [Row], segments: Segments, positions: &mut [Lane3]) {
    let (mut place, mut share) = (Lane3::ZERO, Lane::ZERO);
    for i in 0..positions.len() {
        let (before, after, pull) = draws(rows, i, positions);
        let mobility = segments.inverse_masses[i];
        let stiffness = before.mul_neg_add(share, before) + after;
        let yielding = mobility / mobility.mul_add(stiffness, Lane::ONE);
        place = place.mul_add(before, pull) * yielding;
        share = after * yielding;
        (rows[i].place, rows[i].next) = (place, share);
    }
    let mut moved = Lane3::ZERO;
    for i in (0..positions.len()).rev() {
        moved = moved.mul_add(rows[i].next, rows[i].place);
        positions[i] = positions[i] + moved;
    }
}

/// Some do.
fn along_solids(rows: &mut [Row], segments: Segments, leans: &[Lean], positions: &mut [Lane3]) {
    let (mut place, mut share) = (Lane3::ZERO, Symmetrics::ZERO);
    for i in 0..positions.len() {
        let (before, after, pull) = draws(rows, i, positions);
        let Lean { normal, grip } = leans[i];
        let mobility = grip.simd_gt(Lane::ZERO).select(Lane::ZERO, segments.inverse_masses[i]);
        let stiffness = share.mul_add(-before, Symmetrics::along(before + after, Lane::ZERO, normal));
        let within = stiffness.across(normal).mul_add(mobility, Symmetrics::along(Lane::ONE, Lane::ZERO, normal));
        // E^-1 leaves the normal as it is: without it, E^-1 W / w.
        let yielding = Symmetrics::along(Lane::ZERO, -Lane::ONE, normal).mul_add(Lane::ONE, within.inverse(Lane::ONE));
        place = yielding.times(place.mul_add(before, pull) * mobility);
        share = yielding.mul_add(after * mobility, Symmetrics::ZERO);
        (rows[i].place, rows[i].share) = (place, share);
    }
    let mut moved = Lane3::ZERO;
    for i in (0..positions.len()).rev() {
        moved = rows[i].share.times(moved) + rows[i].place;
        positions[i] = positions[i] + moved;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_math::random::Stream;
    use glam::DVec3;

    const COUNT: usize = 12;

    /// A chain that is drawn together at random, with some vertices on a solid and one that sticks.
    struct Drawn {
        start: Vec<DVec3>,
        pulls: Vec<f64>,
        inverse_masses: Vec<f64>,
        leans: Vec<(DVec3, f64)>,
    }

    impl Drawn {
        fn new(touching: bool) -> Self {
            let stream = Stream::new(3, "taut");
            let lean = |i: usize| match (touching, i % 3) {
                (true, 1) => (stream.direction(90 + i as u64), if i == 7 { 0.5 } else { 0.0 }),
                _ => (DVec3::ZERO, 0.0),
            };
            let beyond_root = |i: usize, value: f64| if i == 0 { 0.0 } else { value };
            Self {
                start: (0..COUNT).map(|i| DVec3::X * i as f64 + 0.4 * stream.direction(i as u64)).collect(),
                pulls: (0..COUNT).map(|i| beyond_root(i, 30.0 * stream.uniform(i as u64))).collect(),
                inverse_masses: (0..COUNT).map(|i| beyond_root(i, 1.0 + stream.uniform(50 + i as u64))).collect(),
                leans: (0..COUNT).map(lean).collect(),
            }
        }

        /// Where the vertices go.
        fn go(&self, solids: bool) -> Vec<DVec3> {
            let mut rows = vec![Row::NOTHING; COUNT];
            for (row, pull) in rows.iter_mut().zip(&self.pulls) {
                row.draw = Lane::splat(*pull);
            }
            let lean = |&(normal, grip): &(DVec3, f64)| Lean { normal: Lane3::splat(normal), grip: Lane::splat(grip) };
            let leans: Vec<Lean> = self.leans.iter().map(lean).collect();
            let inverse_masses: Vec<Lane> = self.inverse_masses.iter().map(|w| Lane::splat(*w)).collect();
            let segments = Segments { lengths: &[Lane::ONE; COUNT], inverse_masses: &inverse_masses, limit: 0.0 };
            let mut positions: Vec<Lane3> = self.start.iter().map(|x| Lane3::splat(*x)).collect();
            if solids {
                along_solids(&mut rows, segments, &leans, &mut positions);
            } else {
                freely(&mut rows, segments, &mut positions);
            }
            positions.iter().map(|x| x.lane(3)).collect()
        }
    }

    #[test]
    fn pulls_act_in_the_directions_of_the_end_of_the_step() {
        for touching in [false, true] {
            let chain = Drawn::new(touching);
            let x = chain.go(touching);
            for i in 0..COUNT {
                let after = if i + 1 < COUNT { chain.pulls[i + 1] * (x[i + 1] - x[i]) } else { DVec3::ZERO };
                let before = if i > 0 { chain.pulls[i] * (x[i] - x[i - 1]) } else { DVec3::ZERO };
                let (normal, grip) = chain.leans[i];
                let free = if grip > 0.0 { 0.0 } else { chain.inverse_masses[i] };
                let along = (after - before).reject_from_normalized(normal);
                let miss = (x[i] - chain.start[i] - free * along).length();
                assert!(miss < 1e-12, "{touching}, vertex {i}: {miss:e}");
            }
            assert!(x.iter().zip(&chain.start).any(|(x, start)| x.distance(*start) > 0.5));
        }
    }

    #[test]
    fn without_solids_both_ways_are_one() {
        let chain = Drawn::new(false);
        assert!(chain.go(true).iter().zip(chain.go(false)).all(|(one, other)| one.distance(other) < 1e-12));
    }
}
