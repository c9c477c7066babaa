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

/// Water over sand that holds all that it can.
const FULL: &str = r#"
name = "full"
simulation = { frames = 30, fps = 25, substeps = 10 }

[liquid]
material = "water"
spacing = 0.008
fill = [{ kind = "box", low = [-0.032, 0.056, -0.032], high = [0.032, 0.112, 0.032] }]

[[solid]]
name = "tank"
friction = 0.6
shape = { kind = "tank", size = [0.064, 0.2, 0.064], wall = "2 cm" }

[[grains]]
name = "sand"
radius = 0.004
speed = 0.5
wetness = {}
fill = [{ kind = "box", low = [-0.032, 0, -0.032], high = [0.032, 0.056, 0.032], wetness = 2.5 }]
"#;

/// Water over full sand that is thrown in with this seed: its mean speed when it has come to rest [m/s].
fn stands(seed: u32) -> f64 {
    let scene = scene(&FULL.replace("fps = 25", &format!("seed = {seed}, fps = 25")));
    let mut simulation = Simulation::build(&scene).unwrap();
    for _ in 0..scene.simulation.frames {
        let error = simulation.advance_frame().unwrap().water.unwrap().error;
        assert!(error.abs() < 1e-9, "{error:e}");
    }
    let state = &simulation.world().state;
    let (sand, water) = (&state.grains[0], &state.liquid);
    // The middle of the water is half its depth below its level, which all volumes together give.
    let area = 0.064 * 0.064;
    let depth = water.masses.iter().sum::<f64>() / 1000.0 / area;
    let solid: f64 = sand.radii.iter().map(|r| 4.0 / 3.0 * std::f64::consts::PI * r.powi(3)).sum();
    let level = (solid + sand.total_water() / 1000.0) / area + depth;
    let middle = water.positions.iter().map(|p| p.y).sum::<f64>() / water.len() as f64;
    assert!((middle + 0.5 * depth - level).abs() < 0.03 * level, "{seed}: {middle} {depth} {level}");
    let squares: f64 = water.velocities.iter().map(|v| v.length_squared()).sum();
    (squares / water.len() as f64).sqrt()
}

#[test]
fn water_stands_over_full_sand_as_over_a_floor() {
    // It depends on how the sand lies: single ones have 6 to 17 mm/s, however long the steps are.
    let speeds: Vec<f64> = (1..=8).map(stands).collect();
    let mean = speeds.iter().sum::<f64>() / speeds.len() as f64;
    assert!(mean < 0.015, "{mean} m/s: {speeds:?}");
}

#[test]
fn a_substep_that_is_too_long_for_water_on_sand_is_told() {
    let warnings = |steps: &str| {
        let text = FULL.replace("fps = 25, substeps = 10", steps);
        let mut simulation = Simulation::build(&scene(&text)).unwrap();
        // Pressure is known after the first.
        simulation.advance_frame().unwrap();
        simulation.advance_frame().unwrap().warnings
    };
    assert!(
        warnings("fps = 4, substeps = 1")
            .iter()
            .any(|text| text.contains("take turns") && text.contains("more substeps"))
    );
    assert!(warnings("fps = 250, substeps = 1").is_empty());
}
