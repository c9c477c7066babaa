//! Promises of the program: the same bits on any number of threads, and after a resume.

use super::{Case, Measured};
use crate::{SimError, Simulation};
use drench_scene::{Scene, Size, Source};

pub const CASES: &[Case] = &[
    Case { name: "threads", law: "the state is the same on 1, 2 and 8 threads: differing bytes", run: threads },
    Case { name: "resume", law: "checkpoint, restore, go on = go on: differing bytes", run: resume },
];

const SCENES: &[&str] = &["bunny", "long-hair", "rope", "pool-rise", "wetting-front"];
const FRAMES: u32 = 4;

fn tiny(name: &str) -> Scene {
    drench_scene::load(Source::named(name), Some(Size::Tiny), &[]).expect("built-in scenes are tested to be sound")
}

fn differing(a: &[u8], b: &[u8]) -> usize {
    a.len().abs_diff(b.len()) + a.iter().zip(b).filter(|(a, b)| a != b).count()
}

fn state_after(scene: &Scene, frames: u32) -> Result<Vec<u8>, SimError> {
    let mut simulation = Simulation::build(scene)?;
    simulation.begin()?;
    for _ in 0..frames {
        simulation.advance_frame()?;
    }
    Ok(simulation.checkpoint())
}

fn threads() -> Result<Measured, SimError> {
    let mut differences = 0;
    for scene in SCENES.iter().map(|name| tiny(name)) {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a few threads can be had");
            pool.install(|| state_after(&scene, FRAMES))
        };
        let one = on(1)?;
        differences += differing(&one, &on(2)?) + differing(&one, &on(8)?);
    }
    Ok(Measured::none(differences))
}

fn resume() -> Result<Measured, SimError> {
    let mut differences = 0;
    for scene in SCENES.iter().map(|name| tiny(name)) {
        let mut resumed = Simulation::build(&scene)?;
        resumed.restore(&state_after(&scene, FRAMES / 2)?)?;
        for _ in FRAMES / 2..FRAMES {
            resumed.advance_frame()?;
        }
        differences += differing(&state_after(&scene, FRAMES)?, &resumed.checkpoint());
    }
    Ok(Measured::none(differences))
}
