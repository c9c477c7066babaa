//! What is told of a scene before it is simulated is what is then simulated.
#![allow(missing_docs, clippy::unwrap_used)]

use drench_scene::{Scene, Size, Source};
use drench_sim::{Simulation, estimate, estimate_all};

fn built_in(name: &str, size: Size) -> Scene {
    drench_scene::load(Source::Builtin(name.to_owned()), Some(size), &[]).unwrap()
}

#[test]
fn particles_are_counted_as_they_are_filled_in() {
    for name in ["dam-break", "double-dam", "fountain", "sand-castle", "bunny-fountains", "faucet", "shrink", "piles"] {
        let scene = built_in(name, Size::Tiny);
        let expected = estimate(&scene).unwrap();
        let simulation = Simulation::build(&scene).unwrap();
        let state = &simulation.world().state;
        if scene.liquid.as_ref().is_some_and(|liquid| liquid.emitters.is_empty()) {
            assert_eq!(expected.liquid_particles, state.liquid.len() as u64, "{name}");
        }
        // The few that find no room are known only when all have been pushed apart.
        let grains: usize = state.grains.iter().map(|grains| grains.len()).sum();
        let most = expected.grains as f64;
        assert!((0.98 * most..=most).contains(&(grains as f64)), "{name}: {grains} of {most}");
    }
}

#[test]
fn scenes_are_counted_together_as_they_are_alone() {
    // Heads with and without liquid near them, in two sizes; a bunny among fountains.
    let names = ["shower-head", "hairstyles", "bunny-fountains"];
    let scenes: Vec<Scene> =
        names.iter().flat_map(|name| [Size::Tiny, Size::Preview].map(|size| built_in(name, size))).collect();
    let alone: Vec<_> = scenes.iter().map(|scene| estimate(scene).unwrap()).collect();
    assert_eq!(estimate_all(&scenes).unwrap(), alone);
}

#[test]
fn full_sizes_are_those_that_were_published() {
    // Liquid, and grains of each body; 1 % of grains may find no room.
    let published = [
        ("dam-break", 100_000, 0),
        ("fountain", 200_000, 0),
        ("double-dam", 200_000, 0),
        ("wetting-front", 0, 20_000),
        ("faucet", 8_000, 32_000),
        ("faucet-large", 16_000, 160_000),
        ("piles", 0, 32_000),
        ("shovel", 0, 32_000),
        ("sand-castle", 70_000, 25_000),
        ("bunny-fountains", 64_000, 35_000),
        ("repose", 0, 32_000),
        ("shrink", 0, 32_000),
    ];
    for (name, liquid, grains) in published {
        let scene = built_in(name, Size::Full);
        let expected = estimate(&scene).unwrap();
        assert!(expected.liquid_particles >= liquid, "{name}: {} of liquid", expected.liquid_particles);
        let each = expected.grains / scene.grains.len().max(1) as u64;
        assert!(each as f64 >= 1.01 * grains as f64, "{name}: {each} grains");
    }
}
