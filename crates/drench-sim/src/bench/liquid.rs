//! Dam breaks: one finer, and one in three widths, because the cost of a particle must not depend on how many there are. (On how many
//! lie on top of each other it does, by iterations of the pressure.)

use crate::SimError;
use drench_physics::liquid::source::{Portion, fill};
use drench_physics::liquid::{
    self, LiquidModel, LiquidScratch, LiquidState, Material, NO_BODY, Reactions, Samples, Surroundings,
};
use glam::DVec3;
use std::time::Instant;

/// Substeps before timing starts, and timed ones [1/240 s each].
const WARM_UP: u32 = 6;
const TIMED: u32 = 5;

/// Time of one step [ms] of a column of water, as long as high, with so many particles to its height and its width, in a tank three times as long.
pub(super) fn dam_break(height: u32, width: u32) -> Result<Vec<f64>, SimError> {
    let d = 0.5 / f64::from(height);
    let material = Material { surface_tension: 0.0, ..Material::WATER };
    let model = LiquidModel { material, ..LiquidModel::water(d) };
    let size = DVec3::new(1.6, 1.0, f64::from(width) * d);
    let counts = (size / d).round().as_ivec3();
    let mut samples = Vec::new();
    for x in -1..=counts.x {
        for y in -1..counts.y {
            for z in -1..=counts.z {
                if x == -1 || x == counts.x || y == -1 || z == -1 || z == counts.z {
                    samples.push((DVec3::new(f64::from(x), f64::from(y), f64::from(z)) + 0.5) * d);
                }
            }
        }
    }
    let (velocities, bodies) = (vec![DVec3::ZERO; samples.len()], vec![NO_BODY; samples.len()]);
    let samples = Samples { positions: &samples, velocities: &velocities, bodies: &bodies, volumes: &[] };
    let surroundings = Surroundings { samples, ..Surroundings::empty(DVec3::NEG_Y * 9.81) };
    let portion = Portion { spacing: d, mass: model.particle_mass() };
    let column = [DVec3::ZERO, DVec3::new(0.5, 0.5, size.z)];
    let mut state = LiquidState::default();
    state.add(&fill(&portion, column, DVec3::ZERO, 10_000_000, |_| true).map_err(SimError::Liquid)?);
    let mut scratch = LiquidScratch::default();
    let mut times = Vec::new();
    for substep in 0..WARM_UP + TIMED {
        let start = Instant::now();
        let mut reactions = Reactions::default();
        let tally = liquid::solve(&model, &mut state, &mut scratch, &surroundings, &mut reactions, 1.0 / 240.0)
            .map_err(SimError::Liquid)?;
        if substep >= WARM_UP {
            times.push(start.elapsed().as_secs_f64() * 1e3 / f64::from(tally.steps));
        }
    }
    Ok(times)
}
