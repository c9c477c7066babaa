//! Twist and writhe of a cord that closes on itself.

use super::bench_cord::{BenchCord, RADIUS, rod};
use super::{Case, Measured};
use crate::SimError;
use drench_physics::collision::{Body, Collisions, Parameters};
use drench_physics::cords::{Clamp, CordMaterial, resistance, writhe};
use glam::{DQuat, DVec3};
use std::f64::consts::TAU;

pub const CASES: &[Case] = &[Case {
    name: "cord-linking",
    law: "twist + writhe = turns of its end, of a cord wound up on itself: largest deviation [turns]",
    run: linking,
}];

/// A cord is twisted by 2.5 turns while its ends are brought together: it springs into a loop, which closes and winds on.
fn linking() -> Result<Measured, SimError> {
    let (length, segments, dt) = (0.28, 60, 1.0 / 3600.0);
    let mut cord = BenchCord::straight(DVec3::X, length, segments, CordMaterial { damping: 5.0, ..rod(20e6, 20e6) })?;
    let mut collisions = Collisions::default();
    let held = |v: usize| v < 2 || v + 2 > segments;
    let mass = |v: usize| cord.state.mass(&cord.model, 0, v);
    let inverse_masses: Vec<f64> = (0..=segments).map(|v| if held(v) { 0.0 } else { 1.0 / mass(v) }).collect();
    let radii = vec![RADIUS as f32; segments + 1];
    let eased = |u: f64| u.min(1.0).powi(2) * (3.0 - 2.0 * u.min(1.0));
    let (mut worst, mut contacts, mut rows) = (0.0_f64, 0, Vec::new());
    for step in 1..=5400 {
        let t = f64::from(step) * dt;
        let turns = 2.5 * eased(t / 1.2);
        let roll = DQuat::from_rotation_x(TAU * turns);
        cord.clamps = vec![
            Clamp::fixed(&cord.model, 0, DVec3::X * (0.36 * length * eased(t / 1.4)), roll),
            Clamp::fixed(&cord.model, segments as u32, DVec3::X * length, DQuat::IDENTITY),
        ];
        collisions.begin([&cord.state.positions[..]]);
        cord.step(dt)?;
        resistance(&cord.model, &cord.state, &inverse_masses, dt, &mut rows);
        let body = Body {
            offsets: &cord.state.offsets,
            positions: &mut cord.state.positions,
            velocities: &mut cord.state.velocities,
            inverse_masses: &inverse_masses,
            resistance: &rows,
            radii: &radii,
            continuous: true,
        };
        let parameters = Parameters { friction: 0.1, ..Parameters::default() };
        let tally = collisions.resolve(&mut [body], &parameters, dt).map_err(|source| SimError::Diverged {
            time: t,
            stage: "collisions",
            source,
        })?;
        contacts += tally.contacts;
        cord.follow(dt);
        if step % 60 == 0 {
            let twist = (1..segments).map(|s| cord.state.twist(0, s)).sum::<f64>() / TAU;
            worst = worst.max((twist + writhe(&cord.state.positions) + turns).abs());
        }
    }
    // A cord that never touches itself proves nothing.
    Ok(Measured::at_most(0.05, if contacts > 1000 { worst } else { f64::NAN }))
}
