//! Tension of a segment over its length, and what a round of Newton's method makes of it.
//!
//! A segment of tension T, length l and slope k of the tension over the length couples its ends by
//!
//! K = T / l (1 - n n^T) + k n n^T = a + b n n^T.

use super::model::CordModel;
use super::state::CordState;
use crate::strands::lanes::{LANES, Lane, Lane3};
use crate::strands::symmetric::Symmetrics;

/// Tension of a segment over its length, as the plastic strain so far has it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Law {
    /// Length of the cord as made, and without tension [m].
    rest: f64,
    pub slack: f64,
    /// Tension at which it yields, and at which it tears: until it has torn it bears that, however long it gets [N].
    limit: f64,
    most: f64,
    /// Slope of the tension over the length below and above the first [N/m], and their inverses.
    stiffness: [f64; 2],
    compliance: [f64; 2],
}

impl Law {
    /// No segment: it never pulls.
    const NONE: Self = Self {
        rest: -1.0,
        slack: 1.0,
        limit: f64::INFINITY,
        most: f64::INFINITY,
        stiffness: [0.0; 2],
        compliance: [0.0; 2],
    };

    pub fn of(model: &CordModel, state: &CordState, s: usize) -> Self {
        let (rest, area, curve, flowed) =
            (model.lengths[s], model.areas[s], model.tensile_curve(s), state.plastic_strains[s]);
        let stiffness = [curve.elastic, curve.plastic].map(|slope| area * slope / rest);
        Self {
            rest,
            slack: rest * (1.0 + flowed),
            limit: curve.yield_after(flowed) * area,
            most: curve.rupture * area,
            stiffness,
            compliance: stiffness.map(|slope| 1.0 / slope),
        }
    }

    /// Tension that goes with a length [N].
    pub fn tension(&self, length: f64) -> f64 {
        let longer = (length - self.slack).max(0.0);
        let tension = longer * self.stiffness[0];
        if tension <= self.limit {
            return tension.min(self.most);
        }
        (longer - self.limit * self.compliance[0]).mul_add(self.stiffness[1], self.limit).min(self.most)
    }
}

/// Laws of a segment of each stretch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Laws {
    pub rest: Lane,
    slack: Lane,
    /// 1 over the square of the length at rest [1/m2]; 0 where there is no segment.
    pub over_square: Lane,
    limit: Lane,
    most: Lane,
    stiffness: [Lane; 2],
    compliance: [Lane; 2],
}

impl Laws {
    pub fn new(laws: [Option<&Law>; LANES]) -> Self {
        let picked = laws.map(|law| law.unwrap_or(&Law::NONE));
        Self {
            rest: Lane::new(picked.map(|law| law.rest)),
            slack: Lane::new(picked.map(|law| law.slack)),
            over_square: Lane::new(laws.map(|law| law.map_or(0.0, |law| 1.0 / (law.rest * law.rest)))),
            limit: Lane::new(picked.map(|law| law.limit)),
            most: Lane::new(picked.map(|law| law.most)),
            stiffness: [0, 1].map(|branch| Lane::new(picked.map(|law| law.stiffness[branch]))),
            compliance: [0, 1].map(|branch| Lane::new(picked.map(|law| law.compliance[branch]))),
        }
    }

    /// Tension that goes with a length [N].
    #[inline(always)]
    pub fn tension(&self, length: Lane) -> Lane {
        let longer = (length - self.slack).fast_max(Lane::ZERO);
        let tension = longer * self.stiffness[0];
        let flows = (longer - self.limit * self.compliance[0]).mul_add(self.stiffness[1], self.limit);
        tension.simd_le(self.limit).select(tension, flows).fast_min(self.most)
    }

    /// The bond of segments of a direction, length and tension. Without tension it is one if it is not too `short` for its length.
    #[inline(always)]
    pub fn bond(&self, normal: Lane3, length: Lane, tension: Lane, short: Lane) -> Bond {
        let yields = tension.simd_gt(self.limit);
        let flows = (tension - self.limit).mul_add(self.compliance[1], self.limit * self.compliance[0]);
        let gap = length - (self.slack + yields.select(flows, tension * self.compliance[0]));
        let pulls = tension.simd_gt(Lane::ZERO) | gap.simd_ge(-short * self.rest);
        // What bears all it can goes on bearing it, unless it gets shorter.
        let holds = pulls & (tension.simd_lt(self.most) | gap.simd_lt(Lane::ZERO));
        let stiffness = holds & yields.select(self.stiffness[1], self.stiffness[0]);
        let gap = holds & gap;
        let across = pulls & (tension / length.fast_max(self.rest * Lane::splat(0.1)).fast_max(Lane::splat(1e-300)));
        Bond { normal, across, stiffness, gap, force: stiffness.mul_add(gap, pulls & tension), yields }
    }

    /// Tensions after a change of the edges.
    #[inline(always)]
    pub fn after(&self, bond: &Bond, old: Lane, change: Lane3) -> After {
        let tension = bond.stiffness.mul_add(bond.gap + bond.normal.dot(change), old);
        // By more than rounding: a cord that flows stands on the yield point in every step.
        let (less, more) = (Lane::splat(1.0 - 1e-9), Lane::splat(1.0 + 1e-9));
        let changes = bond.yields.select(tension.simd_lt(self.limit * less), tension.simd_gt(self.limit * more));
        let lets_go = tension.simd_lt(Lane::ZERO) & old.simd_gt(Lane::ZERO);
        let wrong = lets_go | changes | tension.simd_gt(self.most * more);
        let finite = tension.abs().simd_lt(Lane::splat(f64::INFINITY));
        After { tension: tension.fast_max(Lane::ZERO).fast_min(self.most), wrong, finite }
    }
}

/// What a step makes of tensions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct After {
    /// A cord cannot push, nor bear more than tears it.
    pub tension: Lane,
    /// Whether the segment is on another branch than it was thought to be, and whether the tension is a number.
    pub wrong: Lane,
    pub finite: Lane,
}

/// K of a segment of each stretch, and its tension.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bond {
    pub normal: Lane3,
    across: Lane,
    /// Slope of the tension over the length, and how much too long the segment is.
    stiffness: Lane,
    gap: Lane,
    /// Tension with the gap closed.
    pub force: Lane,
    /// Whether the stiffness is that of yielding.
    yields: Lane,
}

impl Bond {
    pub const NONE: Self = Self {
        normal: Lane3::ZERO,
        across: Lane::ZERO,
        stiffness: Lane::ZERO,
        gap: Lane::ZERO,
        force: Lane::ZERO,
        yields: Lane::ZERO,
    };

    /// K.
    #[inline(always)]
    pub fn matrix(&self) -> Symmetrics {
        Symmetrics::along(self.across, self.stiffness - self.across, self.normal)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Curve;
    use super::*;

    #[test]
    fn bonds_close_the_gap_to_the_length_that_the_tension_has() {
        let (rest, area, curve) = (0.1, 1e-5, Curve::elastic(2e9).yielding_at(4e7, 2e8));
        let slopes = [curve.elastic, curve.plastic];
        let law = Law {
            rest,
            slack: 1.01 * rest,
            limit: 400.0,
            most: f64::INFINITY,
            stiffness: slopes.map(|slope| area * slope / rest),
            compliance: slopes.map(|slope| rest / (area * slope)),
        };
        let laws = Laws::new([Some(&law), None, Some(&law), None]);
        let one = |value: f64| Lane::new([value, 0.0, value, 0.0]);
        let up = |value: f64| Lane3 { x: Lane::ZERO, y: one(value), z: Lane::ZERO };
        for tension in [0.0, 100.0, 399.0, 401.0, 2000.0] {
            let bond = laws.bond(up(1.0), one(0.101), one(tension), Lane::splat(0.02));
            let gap = bond.gap.as_array()[0];
            assert!((law.tension(0.101 - gap) - tension).abs() < 1e-9 * (1.0 + tension), "{tension}");
            // Within a branch the tension is linear: one step brings it to that of the length.
            let expected = law.tension(0.101 - gap + 1e-6);
            assert_eq!(laws.tension(one(0.101 - gap + 1e-6)).to_array(), [expected, 0.0, expected, 0.0]);
            let after = laws.after(&bond, one(tension), up(1e-6 - gap)).tension;
            assert!((after.as_array()[0] - expected).abs() < 1e-6, "{tension}");
            // Where there is no segment there is no pull.
            assert_eq!((after.as_array()[1], bond.force.as_array()[1]), (0.0, 0.0));
        }
    }
}
