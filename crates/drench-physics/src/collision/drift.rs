//! The motion that all continuous strands have in common in a step.
//!
//! Only how two strands move against each other can bring them together. Taken from how far each has moved by itself, hair on a head that turns would sweep over
//! hundreds of neighbours. So the rigid motion u(x) = c + w x (x - centre) that fits all of them best is taken off first.
//!
//! Two points that begin at x_1, x_2, move by m_1, m_2 and come within R of each other at some part t of the step have |m_1 - m_2| <= |m_1 - u(x_1)| + |m_2 - u(x_2)| +
//! |w| |x_1 - x_2| and |x_1 - x_2| <= R + |m_1 - m_2|. Halfway they are therefore no farther apart than
//!
//! R + (|m_1 - u(x_1)| + |m_2 - u(x_2)| + |w| R) / (2 (1 - |w|)),
//!
//! of which each strand takes its part.

use super::segments::{Segment, length};
use drench_math::ordered;
use glam::{DMat3, DVec3};

/// Largest turn [rad] of a step that is taken off: beyond that there is little to gain.
const MOST: f64 = 0.5;

/// A rigid motion.
#[derive(Clone, Copy, Debug, Default)]
pub struct Drift {
    centre: DVec3,
    shift: DVec3,
    turn: DVec3,
}

/// Sums over vertices: their number, positions and motions; then moments about the mean.
type Sums = (f64, DVec3, DVec3, DMat3);

impl Drift {
    /// What vertices that `counts` have in common.
    pub fn of(before: &[DVec3], after: &[DVec3], counts: impl Fn(usize) -> bool + Sync) -> Self {
        let sum = |value: &(dyn Fn(usize) -> Sums + Sync)| {
            let add = |a: Sums, b: Sums| (a.0 + b.0, a.1 + b.1, a.2 + b.2, a.3 + b.3);
            let none = (0.0, DVec3::ZERO, DVec3::ZERO, DMat3::ZERO);
            let part = |range: std::ops::Range<usize>| range.filter(|&i| counts(i)).map(value).fold(none, add);
            ordered::reduce(before.len(), none, part, add)
        };
        let (count, places, ways, _) = sum(&|i| (1.0, before[i], after[i] - before[i], DMat3::ZERO));
        if count < 1.0 || !(places + ways).is_finite() {
            return Self::default();
        }
        let (centre, shift) = (places / count, ways / count);
        let (square, angular, _, outer) = sum(&|i| {
            let arm = before[i] - centre;
            let outer = DMat3::from_cols(arm * arm.x, arm * arm.y, arm * arm.z);
            (arm.length_squared(), arm.cross(after[i] - before[i] - shift), DVec3::ZERO, outer)
        });
        // One straight strand has no inertia about itself.
        let inertia = DMat3::from_diagonal(DVec3::splat(square * (1.0 + 1e-6) + f64::MIN_POSITIVE)) - outer;
        let turn = inertia.inverse() * angular;
        let sound = turn.is_finite() && turn.length_squared() < MOST * MOST;
        Self { centre, shift, turn: if sound { turn } else { DVec3::ZERO } }
    }

    /// How thick the capsule around a segment of this radius has to be halfway, if it is to meet that of every other that comes within reach [m].
    #[inline]
    pub fn thickness(&self, [before, after]: &[Segment; 2], radius: f64) -> f64 {
        let beyond = |from: DVec3, to: DVec3| length(to - from - self.shift - self.turn.cross(from - self.centre));
        let own = beyond(before.from, after.from).max(beyond(before.to, after.to));
        let turn = length(self.turn);
        radius + 0.5 * (own + turn * radius) / (1.0 - turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    #[test]
    fn what_moves_rigidly_does_not_get_thicker() {
        let before: Vec<DVec3> = (0..60)
            .map(|i| DVec3::new((f64::from(i) * 1.7).sin(), 0.02 * f64::from(i), (f64::from(i) * 0.9).cos()))
            .collect();
        let turned = DQuat::from_scaled_axis(DVec3::new(0.01, 0.02, -0.01));
        let after: Vec<DVec3> = before.iter().map(|x| DVec3::new(3.0, -1.0, 2.0) + turned * *x).collect();
        let drift = Drift::of(&before, &after, |_| true);
        for i in 0..59 {
            let motion = [Segment { from: before[i], to: before[i + 1] }, Segment { from: after[i], to: after[i + 1] }];
            let thick = drift.thickness(&motion, 1e-3);
            // A rotation is its rate times the arm up to second order.
            assert!((1e-3..2e-3).contains(&thick), "{thick}");
        }
        let still = Drift::of(&before, &after, |_| false);
        let far = still
            .thickness(&[Segment { from: before[0], to: before[1] }, Segment { from: after[0], to: after[1] }], 1e-3);
        assert!(far > 1.0, "{far}");
    }
}
