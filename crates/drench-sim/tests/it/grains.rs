//! Grains in scenes: they begin beside solids and not in them, and as many as were told are poured.
#![allow(missing_docs, clippy::unwrap_used)]

use drench_scene::{Scene, Source};
use drench_sim::{Simulation, estimate};

fn scene(text: &str) -> Scene {
    let source = Source::Text { name: "sand.toml".into(), text: text.into(), directory: "".into() };
    drench_scene::load(source, None, &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A heap into which a box and the ground reach.
const BURIED: &str = r#"
name = "buried"
simulation = { frames = 1, fps = 100, substeps = 1 }
ground = { height = 0.012 }

[[solid]]
name = "box"
shape = { kind = "box", size = [0.06, 0.06, 0.06] }
position = [-0.05, 0.05, 0]

[[grains]]
name = "sand"
radius = 0.004
fill = [{ kind = "box", low = [-0.1, 0, -0.05], high = [0.1, 0.1, 0.05] }]
"#;

#[test]
fn grains_begin_beside_solids_and_are_not_shot_out_of_them() {
    let scene = scene(BURIED);
    let expected = estimate(&scene).unwrap().grains as f64;
    let mut simulation = Simulation::build(&scene).unwrap();
    let sand = &simulation.world().state.grains[0];
    let count = sand.len() as f64;
    assert!((0.95 * expected..=expected).contains(&count), "{count} of {expected}");
    assert!(sand.positions.iter().zip(&sand.radii).all(|(p, r)| p.y - 0.012 >= *r));
    simulation.advance_frame().unwrap();
    // What falls for 10 ms has 0.1 m/s; grains that began a tenth of their radius too deep would have ten times as much.
    let sand = &simulation.world().state.grains[0];
    let fastest = sand.velocities.iter().map(|v| v.length()).fold(0.0, f64::max);
    assert!(fastest < 0.3, "{fastest} m/s");
}

#[test]
fn grains_that_are_poured_are_counted() {
    let scene = scene(
        "name = 'pour'\nsimulation = { frames = 10, fps = 50, substeps = 2 }\n[[grains]]\nname = 'sand'\nradius = 0.004\n\
         pour = [{ position = [0, 1, 0], radius = 0.03, stop = 0.15 }, { position = [0.2, 1, 0], radius = 0.02, start = 0.1 }]",
    );
    let mut simulation = Simulation::build(&scene).unwrap();
    for _ in 0..scene.simulation.frames {
        simulation.advance_frame().unwrap();
    }
    let poured = simulation.world().state.grains[0].len() as u64;
    assert!(poured > 100, "{poured}");
    assert_eq!(estimate(&scene).unwrap().grains, poured);
}
