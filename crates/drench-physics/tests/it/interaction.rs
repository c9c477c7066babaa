//! The interaction grid against a plain sum over all vertices, and what it must conserve.
#![allow(missing_docs, clippy::unwrap_used)]

use crate::common::*;
use drench_math::random::Stream;
use drench_physics::interaction::{BoundarySample, Deposit, Gradient, Grid, Interaction, Storage};
use drench_physics::strands::Environment;
use glam::DVec3;

/// A cloud of strands that moves through a corner where eight tiles meet.
fn cloud(strands: u64) -> Body {
    let stream = Stream::new(3, "cloud");
    let rest: Vec<DVec3> = (0..strands)
        .flat_map(|s| straight(stream.direction(s) * 0.1 * stream.uniform(s), stream.direction(s + 999), 0.12, 9))
        .collect();
    let mut body = Body::new(&rest, 9, limp(), dftl());
    for (i, v) in body.state.velocities.iter_mut().enumerate() {
        *v = stream.direction(5000 + i as u64) * 2.0;
    }
    body.gravity = DVec3::ZERO;
    body
}

fn deposit(body: &mut Body, interaction: &Interaction) {
    let environment = Environment { gravity: body.gravity, air: body.air, breeze: body.flow.at(0.0), colliders: &[] };
    let Body { model, state, scratch, roots, .. } = body;
    drench_physics::strands::solve(model, state, scratch, roots, &environment, Some(interaction), 1e-3).unwrap();
}

#[test]
fn grid_agrees_with_a_plain_sum() {
    let mut body = cloud(300);
    let interaction = Interaction { cell: 0.013, ..Interaction::default() };
    deposit(&mut body, &interaction);
    let mut grid = Grid::default();
    grid.assemble(&interaction, &[&body.scratch], &[]);
    assert!(grid.tile_count() >= 8);
    let cell = interaction.cell;
    // Trilinear hat of a vertex at a node.
    let hat = |node: DVec3, x: DVec3| {
        let d = ((x - node) / cell).abs();
        (1.0 - d.x).max(0.0) * (1.0 - d.y).max(0.0) * (1.0 - d.z).max(0.0)
    };
    let unit = 1.0 / (interaction.reference * cell);
    let node_values = |node: DVec3| {
        let (mut mass, mut momentum) = (0.0, DVec3::ZERO);
        for ((x, v), m) in body.state.positions.iter().zip(&body.state.velocities).zip(body.model.masses()) {
            let w = hat(node, *x) * f64::from(*m) * unit;
            mass += w;
            momentum += *v * w;
        }
        (mass, if mass > 0.0 { momentum / mass } else { DVec3::ZERO })
    };
    for i in (0..body.state.positions.len()).step_by(41) {
        let x = body.state.positions[i];
        let low = (x / cell).floor();
        let f = x / cell - low;
        let (mut density, mut velocity, mut gradient) = (0.0, DVec3::ZERO, DVec3::ZERO);
        for corner in 0..8 {
            let bit = |axis: i32| f64::from(corner >> axis & 1);
            let pick = DVec3::new(bit(0), bit(1), bit(2));
            let w = pick * f + (1.0 - pick) * (1.0 - f);
            let sign = 2.0 * pick - 1.0;
            let (d, v) = node_values((low + pick) * cell);
            density += d * w.x * w.y * w.z;
            velocity += v * (w.x * w.y * w.z);
            gradient += DVec3::new(sign.x * w.y * w.z, w.x * sign.y * w.z, w.x * w.y * sign.z) * (d / cell);
        }
        let (grid_density, grid_gradient, grid_velocity) = grid.sample(&interaction, x);
        // Single precision in the grid.
        assert!((grid_density - density).abs() < 1e-4 * (1.0 + density), "{grid_density} {density}");
        assert!((grid_velocity - velocity).length() < 1e-4, "{grid_velocity} {velocity}");
        assert!((grid_gradient - gradient).length() < 1e-4 * (1.0 + gradient.length() + density / cell));
    }
}

#[test]
fn friction_keeps_momentum_and_takes_energy() {
    let mut body = cloud(400);
    let interaction = Interaction { friction: 0.4, ..Interaction::default() };
    deposit(&mut body, &interaction);
    let before = body.measure();
    let mut grid = Grid::default();
    grid.assemble(&interaction, &[&body.scratch], &[]);
    grid.apply(&interaction, &mut body.state, &[], 0.01);
    let after = body.measure();
    let size: f64 = body.model.masses().iter().map(|m| 2.0 * f64::from(*m)).sum();
    assert!((after.momentum - before.momentum).length() < 1e-6 * size);
    assert!(after.kinetic_energy < 0.9 * before.kinetic_energy);
}

#[test]
fn array_and_hash_table_give_the_same_bits() {
    let run = |storage: Storage, gradient: Gradient| {
        let mut body = cloud(200);
        let interaction = Interaction { storage, gradient, repulsion: 0.05, friction: 0.2, ..Interaction::default() };
        let mut grid = Grid::default();
        for _ in 0..3 {
            deposit(&mut body, &interaction);
            grid.assemble(&interaction, &[&body.scratch], &[]);
            grid.apply(&interaction, &mut body.state, &[], 1e-3);
        }
        body.state
    };
    for gradient in [Gradient::Plain, Gradient::Normalised] {
        let dense = run(Storage::Dense, gradient);
        assert!(dense == run(Storage::Sparse, gradient));
        assert!(dense == run(Storage::Automatic, gradient));
    }
}

#[test]
fn bodies_a_thousand_kilometres_apart_share_a_grid() {
    let interaction = Interaction { storage: Storage::Automatic, ..Interaction::default() };
    let mut far = Deposit::default();
    let sample = |x: f64| BoundarySample { position: DVec3::X * x, velocity: DVec3::Y, density: 2.0 };
    far.insert_boundary(&interaction, &[sample(0.0), sample(1e4), sample(1e12), sample(f64::NAN)]);
    let mut grid = Grid::default();
    grid.assemble(&interaction, &[], &[&far]);
    let (density, _, velocity) = grid.sample(&interaction, DVec3::X * 1e4);
    assert!((density - 2.0).abs() < 1e-3 && (velocity - DVec3::Y).length() < 1e-6, "{density}");
    assert_eq!(grid.tile_count(), 2);
}

#[test]
fn the_same_time_has_the_same_effect_in_any_number_of_steps() {
    // Two crossing sheets of hair in one cell: their difference decays by (1 - s)^(t / dt_ref).
    let run = |steps: u32, gradient: Gradient| {
        let mut body = cloud(100);
        let interaction = Interaction { friction: 0.3, repulsion: 0.02, gradient, ..Interaction::default() };
        let mut grid = Grid::default();
        deposit(&mut body, &interaction);
        grid.assemble(&interaction, &[&body.scratch], &[]);
        for _ in 0..steps {
            grid.apply(&interaction, &mut body.state, &[], 0.01 / f64::from(steps));
        }
        body.state.velocities
    };
    for gradient in [Gradient::Plain, Gradient::Normalised] {
        let (once, often) = (run(1, gradient), run(100, gradient));
        let apart = once.iter().zip(&often).map(|(a, b)| (*a - *b).length()).fold(0.0, f64::max);
        let size = often.iter().map(|v| v.length()).fold(0.0, f64::max);
        // The blend is exact; push and blend commute to first order in the friction.
        assert!(apart < 0.2 * size, "{apart} {size}");
    }
}

#[test]
fn boundary_samples_push_hair_away_and_drag_it_along() {
    let rest = straight(DVec3::ZERO, DVec3::X, 0.01, 2);
    for gradient in [Gradient::Plain, Gradient::Normalised] {
        let mut body = Body::new(&rest, 2, limp(), dftl());
        body.gravity = DVec3::ZERO;
        let interaction = Interaction { friction: 0.5, repulsion: 0.1, gradient, ..Interaction::default() };
        deposit(&mut body, &interaction);
        let mut skin = Deposit::default();
        let below = DVec3::new(0.005, -0.008, 0.002);
        skin.insert_boundary(&interaction, &[BoundarySample { position: below, velocity: DVec3::Z, density: 50.0 }]);
        let mut grid = Grid::default();
        grid.assemble(&interaction, &[&body.scratch], &[&skin]);
        grid.apply(&interaction, &mut body.state, &[], 0.01);
        let v = body.state.velocities[1];
        assert!(v.y > 0.0 && v.z > 0.3, "{v}");
    }
}

#[test]
fn bad_parameters_are_refused() {
    let fine = Interaction::default();
    assert!(fine.check().is_ok());
    assert!(Interaction { cell: 0.0, ..fine }.check().is_err());
    assert!(Interaction { friction: 1.5, ..fine }.check().is_err());
    assert!(Interaction { repulsion: f64::NAN, ..fine }.check().is_err());
}

#[test]
fn a_cell_that_is_far_too_small_is_refused_before_memory_is_taken() {
    // One sample a tile: more tiles than there may be.
    let interaction = Interaction { cell: 1e-5, ..Interaction::default() };
    let samples: Vec<_> = (0..100)
        .map(|i| BoundarySample { position: DVec3::X * f64::from(i) * 1e-3, velocity: DVec3::ZERO, density: 1.0 })
        .collect();
    let mut deposit = Deposit::with_limit(50);
    deposit.insert_boundary(&interaction, &samples[..50]);
    assert!(deposit.check(&interaction).is_ok());
    deposit.insert_boundary(&interaction, &samples);
    let error = deposit.check(&interaction).unwrap_err().to_string();
    assert!(error.contains("more than 50") && error.contains("make `cell` larger"), "{error}");
    // Memory that is held already may be used again.
    deposit.clear();
    deposit.insert_boundary(&interaction, &samples[50..]);
    assert!(deposit.check(&interaction).is_ok());
}
