//! Wet hair, all stages [Rungjiratananon2012b, table 1]: hair on a ball, and water that falls on it.

use super::step_times;
use crate::experiment::scene_of;
use crate::{SimError, Simulation};
use drench_math::random::Stream;
use drench_physics::synthetic::HairyBall;
use drench_physics::wetting::hair::grid::Grid;
use drench_scene::Scene;
use std::time::Instant;

/// Steps in a timed run, and runs.
const STEPS: u32 = 4;
const RUNS: u32 = 6;
/// Length of a step [s]: in it drops that fall move less than they are large.
const STEP: f64 = 1e-3;

/// Time of one step [ms] of about so many segments and liquid particles. As published, a step moves everything once.
pub(super) fn steps(strands: usize, segments: usize, liquid: usize) -> Result<Vec<f64>, SimError> {
    let vertices = segments / strands + 1;
    // Until hair is wet, in longer steps.
    let mut falling = Simulation::build(&scene(strands, vertices, liquid, 0.1, 25))?;
    falling.advance_frame()?;
    let wet = falling.checkpoint();
    // Memory is that of one simulation.
    drop(falling);
    let mut simulation = Simulation::build(&scene(strands, vertices, liquid, STEP * f64::from(STEPS), STEPS))?;
    simulation.restore(&wet)?;
    drop(wet);
    step_times(&mut simulation, STEPS, RUNS)
}

/// Hair on a ball that is wet already, and a block of water just above it.
fn scene(strands: usize, vertices: usize, liquid: usize, frame: f64, substeps: u32) -> Scene {
    // A block as wide as the ball, one and a half times as wide as high, whatever the particles.
    let (half, height) = (0.09, 0.06);
    let spacing = (4.0 * half * half * height / liquid as f64).cbrt();
    let text = format!(
        "name = 'bench'\n\
         simulation = {{ fps = {fps}, substeps = {substeps} }}\n\
         [[solid]]\nname = 'ball'\nshape = {{ kind = 'sphere', radius = 0.09 }}\n\
         [[groom]]\nname = 'hair'\non = 'ball'\nstrands = {strands}\nvertices = {vertices}\nlength = 0.25\n\
         density = 'smoothstep(-0.2, 0.1, ny)'\nhang = 0.9\ncomb = [0, -1, 0]\nlay = 0.7\nclearance = 0.005\n\
         strand = {{ model = 'csm' }}\ncsm = {{ half_width = 2.5 }}\nwet = {{ hairs = {hairs}, dampness = 1, wetness = 0.5 }}\n\
         [wetting]\nreach = 0.002\n\
         [liquid]\nmaterial = 'water'\nspacing = {spacing}\n\
         fill = [{{ kind = 'box', low = [-{half}, 0.1, -{half}], high = [{half}, {top}, {half}], velocity = [0, -1, 0] }}]\n",
        fps = 1.0 / frame,
        hairs = (100_000.0 / strands as f64).max(1.0),
        top = 0.1 + height,
    );
    scene_of(text)
}

/// Time to find the voxels of 134 000 segments [ms].
pub(super) fn voxels() -> Vec<f64> {
    let ball = HairyBall::combed(6_500, 22);
    let mut grid = Grid::default();
    let stream = Stream::new(1, "voxels");
    (0..2 * RUNS)
        .map(|run| {
            // Hair never lies as it did a step ago.
            let shift = stream.direction(u64::from(run)) * 1e-3;
            let positions: Vec<_> = ball.positions.iter().map(|x| *x + shift).collect();
            let start = Instant::now();
            let done = grid.rebuild(6e-3, &ball.offsets, &positions);
            done.expect("the hair of the bench is where it should be");
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect()
}
