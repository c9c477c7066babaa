//! Dam breaks: one finer, and one in three widths, because the cost of a particle must not depend on how many there are. (On how many
//! lie on top of each other it does, by iterations of the pressure.)

use crate::SimError;
use drench_physics::liquid::source::{Portion, fill};
use drench_physics::liquid::{
    self, LiquidModel, LiquidScratch, LiquidState, Material, NO_BODY, Reactions, Samples, Surroundings,
};
use glam::DVec3;
use std::time::Instant;

/// Substeps in a second.
const SECOND: u32 = 240;
/// Substeps before timing starts, and timed ones.
const WARM_UP: u32 = 6;
const TIMED: u32 = 5;

/// Time of one step [ms] of a column of water, with so many particles to its height and its width.
pub(super) fn dam_break(height: u32, width: u32) -> Result<Vec<f64>, SimError> {
    let mut times = Vec::new();
    collapse(height, width, WARM_UP + TIMED, |wall, steps| times.push(wall / f64::from(steps)))?;
    times.drain(..WARM_UP as usize);
    Ok(times)
}

/// Time until such a column has collapsed for a second [ms].
pub(super) fn dam_break_for_a_second(height: u32, width: u32) -> Result<Vec<f64>, SimError> {
    let mut total = 0.0;
    collapse(height, width, SECOND, |wall, _| total += wall)?;
    Ok(vec![total])
}

/// Lets a column of water, as long as high, collapse in a tank three times as long for so many substeps; tells how long each took [ms] and how many steps it had.
fn collapse(height: u32, width: u32, substeps: u32, mut tell: impl FnMut(f64, u32)) -> Result<(), SimError> {
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
    for _ in 0..substeps {
        let start = Instant::now();
        let mut reactions = Reactions::default();
        let dt = 1.0 / f64::from(SECOND);
        let tally = liquid::solve(&model, &mut state, &mut scratch, &surroundings, &mut reactions, dt)
            .map_err(SimError::Liquid)?;
        tell(start.elapsed().as_secs_f64() * 1e3, tally.steps);
    }
    Ok(())
}
