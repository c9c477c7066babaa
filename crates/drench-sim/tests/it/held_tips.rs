//! Strands whose tips are held too: by the solid that they grow on.
#![allow(clippy::unwrap_used)]

use drench_scene::Source;
use drench_sim::Simulation;
use glam::DVec3;

/// Strands of 20 cm grow along x on a box that goes to and fro and turns.
fn harp(model: &str, tip: &str) -> Simulation {
    let text = format!(
        r#"
name = "harp"

[simulation]
frames = 12
substeps = 4

[[solid]]
name = "post"
shape = {{ kind = "box", size = [0.02, 0.1, 0.1] }}
collide = false
motion = {{ kind = "expressions", position = ["0.1 * sin(9 * t)", "0", "0"], rotation = ["0", "0", "0.5 * sin(5 * t)"] }}

[[groom]]
name = "strings"
on = "post"
at = [[0.01, 0.02, 0.01], [0.01, 0, 0], [0.01, -0.03, 0.02]]
length = "20 cm"
length_variation = 0.2
vertices = 16
curl = {{ radius = "5 mm", pitch = "8 cm" }}
strand = {{ model = "{model}", tip = "{tip}" }}
"#
    );
    let source = Source::Text { name: "harp.toml".into(), text, directory: "".into() };
    let scene = drench_scene::load(source, None, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    Simulation::build(&scene).expect("a harp")
}

/// Tips of the strings in the frame of the post [m].
fn tips(simulation: &Simulation) -> Vec<DVec3> {
    let frame = simulation.frame();
    let post = frame.solids.iter().find(|solid| solid.name == "post").unwrap().pose.unwrap();
    let strings = frame.strands.iter().find(|body| body.name == "strings").unwrap();
    let ends = strings.offsets.windows(2).map(|pair| strings.positions[pair[1] as usize - 1]);
    ends.map(|tip| post.rotation.inverse() * (DVec3::from(tip.map(f64::from)) - post.position)).collect()
}

fn farthest(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

#[test]
fn held_tips_go_with_the_solid() {
    for model in ["csm", "pbd"] {
        let mut simulation = harp(model, "held");
        let before = tips(&simulation);
        assert_eq!(before.len(), 3);
        let mut strain = 0.0_f64;
        for _ in 0..12 {
            strain = strain.max(simulation.advance_frame().unwrap().strain.unwrap().max);
        }
        let moved = farthest(&tips(&simulation), &before);
        assert!(moved < 1e-5, "{model}: {moved}");
        assert!(model != "csm" || strain < 1e-4, "{strain}");
    }
}

#[test]
fn free_tips_do_not() {
    let mut simulation = harp("csm", "free");
    let before = tips(&simulation);
    for _ in 0..12 {
        simulation.advance_frame().unwrap();
    }
    assert!(farthest(&tips(&simulation), &before) > 0.02);
}

#[test]
fn held_tips_are_found_again_after_a_restore() {
    let mut simulation = harp("csm", "held");
    for _ in 0..5 {
        simulation.advance_frame().unwrap();
    }
    let saved = simulation.checkpoint();
    let mut other = harp("csm", "held");
    other.restore(&saved).unwrap();
    for _ in 0..4 {
        simulation.advance_frame().unwrap();
        other.advance_frame().unwrap();
    }
    assert!(simulation.checkpoint() == other.checkpoint());
}
