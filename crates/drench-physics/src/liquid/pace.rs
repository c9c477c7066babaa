//! How long a step of a liquid may be.
//!
//! Two lengths bound the way that things go past each other in a step:
//!
//! - Neighbours i and j that pass each other at v_ij change what is around them: their pressure and viscosity were found for where they were. In the mean over a neighbourhood,
//!
//!   ```text
//!   s_i² = Σ_j a_ij |v_ij|² / max(1, Σ_j a_ij),    a_ij = −m_j W'(r_ij)/r_ij d² / (2.207 ρ0),    Σ_j a_ij = 1 in a lattice at rest,
//!   ```
//!
//!   so that a jet that enters a pool counts in full, and two drops that pass each other hardly. The largest s, with what gravity adds, goes `cfl` spacings at most: s t + g t² = `cfl` d. It counts for no more
//!   than the speed past what stands around.
//! - What is not felt yet, because it is farther away than the support of 2 d, must not be passed unseen. Particles go at most 2.5 `cfl` d, and at most d, a step past solids, others and each other, which they
//!   then meet no closer than they would rest. How fast any two of them approach is known from the ranges of their velocities.
//!
//! `mueller2003` has springs instead of a solve: there `cfl` bounds all speeds.

use super::fields::{Fields, dot};
use super::rows::PIECE;
use super::step::speed;
use super::{LiquidModel, LiquidState, Method, viscosity};
use crate::error::PhysicsError;
use drench_math::ordered;
use glam::DVec3;
use rayon::prelude::*;
use wide::f32x4;

/// −Σ_j m_j W'(r_ij)/r_ij over the neighbours in a lattice at rest, times d² / ρ0.
const LATTICE: f64 = 2.207;

/// How many times farther particles may go past what they do not feel yet than past their neighbours.
const FREE: f64 = 2.5;

/// What a step may be no longer for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Particles pass each other and what is around them.
    Motion,
    /// Capillary waves.
    Tension,
    /// Viscosity that is solved explicitly.
    Viscosity,
    /// Sound, which only `mueller2003` has.
    Sound,
}

/// The range of some velocities: a box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Velocities {
    /// Least and largest components [m/s].
    bounds: [DVec3; 2],
}

impl Velocities {
    /// Of nothing.
    pub const NONE: Self = Self { bounds: [DVec3::INFINITY, DVec3::NEG_INFINITY] };
    /// Of what stands still.
    pub const STILL: Self = Self { bounds: [DVec3::ZERO; 2] };

    /// Of these [m/s].
    pub fn of(velocities: &[DVec3]) -> Self {
        let add = |range: std::ops::Range<usize>| {
            velocities[range].iter().fold(Self::NONE, |all, &v| all.and(Self { bounds: [v; 2] }))
        };
        ordered::reduce(velocities.len(), Self::NONE, add, Self::and)
    }

    /// Of both.
    pub fn and(self, other: Self) -> Self {
        Self { bounds: [self.bounds[0].min(other.bounds[0]), self.bounds[1].max(other.bounds[1])] }
    }

    /// Whether there is none but zero.
    pub fn stand(&self) -> bool {
        *self == Self::NONE || *self == Self::STILL
    }

    /// The middle, and how far any of them is from it at most [m/s]; nothing if there are none.
    fn ball(&self) -> Option<(DVec3, f64)> {
        let [low, high] = self.bounds;
        (*self != Self::NONE).then(|| (0.5 * (low + high), 0.5 * (high - low).length_squared().sqrt()))
    }
}

/// The longest step that is still stable and accurate [s] among others of these velocities, and what asks for an even shorter one, if anything does.
pub fn longest_step(
    model: &LiquidModel,
    state: &LiquidState,
    gravity: DVec3,
    others: Velocities,
) -> Result<(f64, Option<Limit>), PhysicsError> {
    let (d, material, limits) = (model.spacing, &model.material, &model.limits);
    let speed = speed(state)?;
    let fastest =
        |middle: DVec3| ordered::max(state.len(), 0.0, |i| (state.velocities[i] - middle).length_squared()).sqrt();
    let among = Velocities::of(&state.velocities).ball().map_or(0.0, |(middle, _)| 2.0 * fastest(middle));
    let past = others.ball().map_or(among, |(middle, range)| fastest(middle) + range);
    let mut longest = (FREE * limits.cfl).min(1.0) * d / among.max(past).max(f64::MIN_POSITIVE);
    let passing = match model.method {
        Method::Dfsph(_) => state.stir.min(past),
        Method::Mueller2003(_) => past,
    };
    let (gravity, reach) = (gravity.length(), limits.cfl * d);
    let root = (passing * passing + 4.0 * gravity * reach).sqrt();
    longest = longest.min(2.0 * reach / (passing + root).max(f64::MIN_POSITIVE));
    let mut limit = Limit::Motion;
    let mut shorten = |length: f64, reason: Limit| {
        if length < longest {
            (longest, limit) = (length, reason);
        }
    };
    if material.surface_tension > 0.0 {
        // Capillary waves of two spacings [Brackbill1992].
        let period = (material.density * d.powi(3) / (std::f64::consts::TAU * material.surface_tension)).sqrt();
        shorten(0.5 * period, Limit::Tension);
    }
    shorten(viscous_step(model), Limit::Viscosity);
    if let Method::Mueller2003(parameters) = &model.method {
        shorten(limits.cfl * model.support() / (parameters.stiffness.sqrt() + speed), Limit::Sound);
    }
    let longest = longest.min(limits.longest);
    Ok((longest.max(limits.shortest), (longest < limits.shortest).then_some(limit)))
}

/// The longest step in which viscosity is stable [s].
pub(crate) fn viscous_step(model: &LiquidModel) -> f64 {
    let (d, viscosity) = (model.spacing, model.material.kinematic_viscosity());
    let implicit = matches!((&model.method, &model.viscosity), (Method::Dfsph(_), viscosity::Solver::Implicit { .. }));
    if implicit || viscosity == 0.0 { f64::INFINITY } else { 0.1 * d * d / viscosity }
}

/// The largest s [m/s] of particles at distances d [m] in a liquid of this density [kg/m3].
pub(crate) fn stir(fields: &Fields, spacing: f64, density: f64) -> f64 {
    let Fields { rows, v, .. } = fields;
    let full = (LATTICE * density / (spacing * spacing)) as f32;
    let of_piece = |(piece, own): (usize, &[f32x4])| {
        let squares = own.iter().enumerate().map(|(number, &v_i)| {
            let (others, weights) = rows[piece].row(number);
            let (mut sum, mut all) = (f32x4::ZERO, 0.0);
            for (&j, &weight) in others.iter().zip(weights) {
                let passing = v_i - v[j as usize];
                sum -= passing * passing * f32x4::splat(weight);
                all -= weight;
            }
            dot(sum, f32x4::ONE) / full.max(all)
        });
        squares.fold(0.0, f32::max)
    };
    f64::from(v.par_chunks(PIECE).enumerate().map(of_piece).reduce(|| 0.0, f32::max)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::liquid::kernel::CubicSpline;

    #[test]
    fn the_neighbourhood_of_a_lattice_counts_as_one() {
        let kernel = CubicSpline::new(2.0);
        let cells = (-2..=2).flat_map(|x| (-2..=2).flat_map(move |y| (-2..=2).map(move |z| [x, y, z])));
        let distances = cells.map(|cell| DVec3::from_array(cell.map(f64::from)).length());
        let sum: f64 = distances.filter(|&r| r > 0.0 && r < 2.0).map(|r| -kernel.slope(r)).sum();
        assert!((sum / LATTICE - 1.0).abs() < 1e-3, "{sum}");
    }

    #[test]
    fn what_moves_as_one_does_not_limit_the_step_and_what_it_meets_does() {
        let model = LiquidModel::water(0.01);
        let mut state = LiquidState::default();
        (state.positions, state.velocities) = (vec![DVec3::ZERO; 5], vec![DVec3::new(3.0, 0.0, -4.0); 5]);
        let longest = |state: &LiquidState, others| longest_step(&model, state, DVec3::ZERO, others).unwrap().0;
        assert_eq!(longest(&state, Velocities::NONE), model.limits.longest);
        assert_eq!(longest(&state, Velocities::STILL), 0.01 / 5.0);
        // Two that meet head on.
        state.velocities[1] *= -1.0;
        assert_eq!(longest(&state, Velocities::STILL), 0.01 / 10.0);
        state.velocities[1] *= -1.0;
        state.stir = 4.0;
        assert!((longest(&state, Velocities::STILL) - 0.001).abs() < 1e-12);
        state.stir = 50.0;
        assert!((longest(&state, Velocities::STILL) - 0.004 / 5.0).abs() < 1e-12);
        // Particles of a twentieth of a millimetre would need shorter steps than there are: for their surface, and for their motion if they are fast.
        let tiny = LiquidModel::water(5e-5);
        let hurried = |state: &LiquidState| longest_step(&tiny, state, DVec3::ZERO, Velocities::STILL).unwrap().1;
        assert_eq!(hurried(&LiquidState::default()), Some(Limit::Tension));
        assert_eq!(hurried(&state), Some(Limit::Motion));
        state.velocities[2].x = f64::NAN;
        assert!(longest_step(&model, &state, DVec3::ZERO, Velocities::STILL).is_err());
    }
}
