//! Sand and water together [Rungjiratananon2012, table 5.2]: a bed of sand, and water that falls on it and soaks in.

use super::step_times;
use crate::experiment::scene_of;
use crate::{SimError, Simulation};
use drench_scene::Scene;

/// Radius of a grain and spacing of the water [m].
const RADIUS: f64 = 2e-3;
const SPACING: f64 = 4e-3;
/// Part of space that a bed is filled with when it is made.
const FILLED: f64 = 0.525;
/// Substep [s], as in most scenes with sand.
const SUBSTEP: f64 = 4e-3;
/// Substeps until water and sand have met, and those that are timed.
const FALLING: u32 = 10;
const TIMED: u32 = 6;

/// Time of a step [ms] among about so many grains and liquid particles. As in every scene, grains take as many steps as their collisions need, and the liquid as many as it
/// needs, which are fewer: a step is one of the grains, with its share of what all else takes. No grain sleeps.
pub(super) fn steps(grains: usize, liquid: usize) -> Result<Vec<f64>, SimError> {
    let mut simulation = met(grains, liquid)?;
    let steps = simulation.world().model.grains[0].model.steps(SUBSTEP).expect("the substep is positive and short");
    step_times(&mut simulation, steps, TIMED)
}

/// The same if everything were done once in a step [ms]: one step of the grains, one of the liquid, and what water does between them.
pub(super) fn steps_of_both(grains: usize, liquid: usize) -> Result<Vec<f64>, SimError> {
    let mut simulation = met(grains, liquid)?;
    (0..TIMED)
        .map(|_| {
            let frame = simulation.advance_frame()?;
            let steps = |stage: &str| match stage {
                "liquid" => frame.counts["liquid_steps"],
                "grains" => frame.counts["grain_steps"],
                _ => u64::from(frame.steps),
            };
            Ok(frame.stages.iter().map(|(stage, ms)| ms / steps(stage).max(1) as f64).sum())
        })
        .collect()
}

/// What a second of the same takes [ms], by the same substeps: a figure that does not depend on how long steps are.
pub(super) fn second(grains: usize, liquid: usize) -> Result<Vec<f64>, SimError> {
    let times = step_times(&mut met(grains, liquid)?, 1, TIMED)?;
    Ok(times.into_iter().map(|ms| ms / SUBSTEP).collect())
}

/// Water and sand that have met.
fn met(grains: usize, liquid: usize) -> Result<Simulation, SimError> {
    let mut simulation = Simulation::build(&scene(grains, liquid))?;
    for _ in 0..FALLING {
        simulation.advance_frame()?;
    }
    Ok(simulation)
}

/// A square tank with the sand in it as deep as it is wide, half of it below a block of water.
fn scene(grains: usize, liquid: usize) -> Scene {
    let volume = |count: usize, each: f64, filled: f64| count as f64 * each / filled;
    let sand = volume(grains, 4.0 / 3.0 * std::f64::consts::PI * RADIUS.powi(3), FILLED);
    let water = volume(liquid, SPACING.powi(3), 1.0);
    // Walls in whole spacings, so that the block of water has the particles that it should have.
    let half = (sand.cbrt() / (2.0 * SPACING)).round() * SPACING;
    let bed = sand / (4.0 * half * half);
    // In whole layers, and a little more, so that rounding takes none away.
    let block = ((water / (4.0 * half * half)) / SPACING).round().max(1.0) * SPACING * (1.0 + 1e-9);
    let text = format!(
        "name = 'bench'\n\
         simulation = {{ fps = {fps}, substeps = 1 }}\n\
         ground = {{ height = 0 }}\n\
         [liquid]\nmaterial = 'water'\nspacing = {SPACING}\n\
         fill = [{{ kind = 'box', low = [{low}, {bed}, {low}], high = [{half}, {top}, {half}], velocity = [0, -0.2, 0] }}]\n\
         [[solid]]\nname = 'tank'\nfriction = 0.6\n\
         shape = {{ kind = 'tank', size = [{edge}, {high}, {edge}], wall = '2 cm' }}\n\
         [[grains]]\nname = 'sand'\nradius = {RADIUS}\nspeed = 0.5\nsleep = false\nwetness = {{}}\n\
         fill = [{{ kind = 'box', low = [{low}, 0, {low}], high = [{half}, {bed}, {half}] }}]\n",
        fps = 1.0 / SUBSTEP,
        low = -half,
        top = bed + block,
        edge = 2.0 * half,
        high = 2.0 * (bed + block),
    );
    scene_of(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scene_has_the_particles_that_it_should_have() {
        for (grains, liquid) in [(32_000, 8_000), (25_000, 70_000)] {
            let built = Simulation::build(&scene(grains, liquid)).unwrap();
            let state = &built.world().state;
            let (sand, water) = (state.grains[0].len() as f64, state.liquid.len() as f64);
            assert!((sand / grains as f64 - 1.0).abs() < 0.03, "{sand} of {grains}");
            assert!((water / liquid as f64 - 1.0).abs() < 0.03, "{water} of {liquid}");
        }
    }
}
