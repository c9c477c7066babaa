//! Figures about a body of strands: how stretched, how fast, how much energy.

use crate::error::PhysicsError;
use crate::strands::{StrandModel, StrandState};
use drench_math::ordered;
use glam::DVec3;

/// Speeds above this are no motion but an explosion that has not reached infinity yet [m/s].
const FASTEST: f64 = 1e8;

/// Figures about one body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Diagnostics {
    /// Largest relative change of a segment's length, stretched or squeezed.
    pub strain_max: f64,
    /// Mean of the same over segments.
    pub strain_mean: f64,
    /// Largest speed [m/s].
    pub speed_max: f64,
    /// Kinetic energy [J].
    pub kinetic_energy: f64,
    /// Potential energy in gravity, zero at the origin [J].
    pub gravitational_energy: f64,
    /// Momentum [kg m/s].
    pub momentum: DVec3,
    /// Mass [kg].
    pub mass: f64,
    /// Centre of mass [m].
    pub centre: DVec3,
    /// Mean distance from root to tip over the length of the strand: 1 is straight.
    pub straightness: f64,
}

/// Measures a body; `name` is what an error calls it.
pub fn measure(
    name: &str,
    model: &StrandModel,
    state: &StrandState,
    gravity: DVec3,
) -> Result<Diagnostics, PhysicsError> {
    let (lengths, masses) = (model.lengths(), model.masses());
    let part = |range: std::ops::Range<usize>| {
        let mut sum = Diagnostics::default();
        for i in range {
            let (x, v, mass) = (state.positions[i], state.velocities[i], f64::from(masses[i]));
            // The root's segment has length 0: roots are skipped.
            if lengths[i] > 0.0 {
                let length = f64::from(lengths[i]);
                let strain = ((x - state.positions[i - 1]).length_squared().sqrt() / length - 1.0).abs();
                sum.strain_max = sum.strain_max.max(strain);
                sum.strain_mean += strain;
            }
            let square = v.length_squared();
            sum.speed_max = sum.speed_max.max(square);
            sum.kinetic_energy += 0.5 * mass * square;
            sum.gravitational_energy -= mass * gravity.dot(x);
            sum.momentum += mass * v;
            sum.mass += mass;
            sum.centre += mass * x;
        }
        sum
    };
    let join = |a: Diagnostics, b: Diagnostics| Diagnostics {
        strain_max: a.strain_max.max(b.strain_max),
        strain_mean: a.strain_mean + b.strain_mean,
        speed_max: a.speed_max.max(b.speed_max),
        kinetic_energy: a.kinetic_energy + b.kinetic_energy,
        gravitational_energy: a.gravitational_energy + b.gravitational_energy,
        momentum: a.momentum + b.momentum,
        mass: a.mass + b.mass,
        centre: a.centre + b.centre,
        straightness: 0.0,
    };
    let mut sum = ordered::reduce(model.vertex_count(), Diagnostics::default(), part, join);
    let segments = model.vertex_count() - model.strand_count();
    sum.strain_mean /= segments.max(1) as f64;
    sum.speed_max = sum.speed_max.sqrt();
    sum.centre /= sum.mass;
    let straight = |strand: usize| {
        let (root, tip) = (model.offsets[strand] as usize, model.offsets[strand + 1] as usize - 1);
        state.positions[root].distance(state.positions[tip]) / f64::from(model.reaches[strand])
    };
    sum.straightness = ordered::sum(model.strand_count(), straight) / model.strand_count().max(1) as f64;
    // Any NaN or infinity of positions or velocities survives in the sums, even without gravity.
    let finite = sum.kinetic_energy.is_finite() && sum.strain_mean.is_finite() && sum.gravitational_energy.is_finite();
    if !finite {
        return Err(not_finite(name, model, state));
    }
    if sum.speed_max > FASTEST {
        let strand = first_strand(model, |i| state.velocities[i].length() > FASTEST);
        return Err(PhysicsError::Runaway { body: name.to_owned(), strand, speed: sum.speed_max });
    }
    Ok(sum)
}

/// The error that names the first strand of a body that is not finite.
pub fn not_finite(name: &str, model: &StrandModel, state: &StrandState) -> PhysicsError {
    let bad = |i: usize| !(state.positions[i].is_finite() && state.velocities[i].is_finite());
    PhysicsError::NotFinite { body: name.to_owned(), strand: first_strand(model, bad) }
}

/// The first strand with a vertex that is bad.
fn first_strand(model: &StrandModel, bad: impl Fn(usize) -> bool) -> usize {
    let vertex = (0..model.vertex_count()).find(|&i| bad(i)).unwrap_or(0) as u32;
    model.offsets().partition_point(|&first| first <= vertex).saturating_sub(1)
}
