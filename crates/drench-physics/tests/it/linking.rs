//! A twisted cord that winds up on itself: what leaves the twist goes into writhe, and collisions make no energy of it.
#![allow(clippy::unwrap_used)]

use drench_physics::air::{Air, AirFlow};
use drench_physics::collision::{Body, Collisions, Parameters};
use drench_physics::cords::{
    Bending, Bodies, Clamp, CordMaterial, CordModel, CordScratch, CordState, Cords, Curve, Torsion, follow, resistance,
    solve, writhe,
};
use drench_physics::strands::{Environment, RestShape};
use glam::{DQuat, DVec3};
use std::f64::consts::TAU;

const LENGTH: f64 = 1.395;
const SEGMENTS: usize = 60;
/// Twice as long as in the scene `twist`.
const DT: f64 = 1.0 / 720.0;

fn rubber() -> CordMaterial {
    CordMaterial {
        density: 1000.0,
        damping: 1.0,
        bending: Bending::Modulus(20e6),
        tension: Curve::elastic(200e6),
        torsion: Some(Torsion { damping: 20.0, ..Torsion::elastic(20e6) }),
        ..CordMaterial::default()
    }
}

#[test]
fn a_loop_that_closes_on_itself_keeps_its_turns_and_gains_no_energy() {
    let positions: Vec<DVec3> = (0..=SEGMENTS).map(|i| DVec3::X * (LENGTH * i as f64 / SEGMENTS as f64)).collect();
    let (offsets, radii) = ([0, positions.len() as u32], vec![0.01; positions.len()]);
    let rest = RestShape { offsets: &offsets, positions: &positions, radii: &radii };
    let model = CordModel::new(rest, rubber(), 1).unwrap();
    let mut state = CordState::at_rest(&model, positions.clone()).unwrap();
    let (mut scratch, mut collisions, flow) = (CordScratch::new(&model), Collisions::default(), AirFlow::still());
    let held = |v: usize| v < 2 || v + 2 > SEGMENTS;
    let masses: Vec<f64> = (0..=SEGMENTS).map(|v| state.mass(&model, 0, v)).collect();
    let inverse_masses: Vec<f64> = (0..=SEGMENTS).map(|v| if held(v) { 0.0 } else { 1.0 / masses[v] }).collect();
    let kinetic = |state: &CordState| {
        masses.iter().zip(&state.velocities).map(|(m, v)| 0.5 * m * v.length_squared()).sum::<f64>()
    };
    let eased = |to: f64, t: f64| (t / to).min(1.0).powi(2) * (3.0 - 2.0 * (t / to).min(1.0));
    let (mut impacts, mut most_energy, mut most_writhe, mut rows) = (0, 0.0_f64, 0.0_f64, Vec::new());
    for step in 1..=4680 {
        let t = f64::from(step) * DT;
        let turns = 2.5 * eased(6.0, t);
        let roll = DQuat::from_rotation_x(TAU * turns);
        let clamps = [
            Clamp::fixed(&model, 0, DVec3::X * (0.5 * eased(7.0, t)), roll),
            Clamp::fixed(&model, SEGMENTS as u32, DVec3::X * LENGTH, DQuat::IDENTITY),
        ];
        let air = Air { drag: 0.0, ..Air::default() };
        let environment = Environment { gravity: DVec3::NEG_Y * 9.81, air, breeze: flow.at(0.0), colliders: &[] };
        let mut bodies = Bodies { states: &mut [], pushes: &mut [] };
        collisions.begin([&state.positions[..]]);
        let mut cord = [Cords::new(&model, &mut state, &mut scratch, &clamps)];
        solve(&mut cord, &environment, &mut bodies, DT).unwrap();
        let before = kinetic(&state);
        resistance(&model, &state, &inverse_masses, DT, &mut rows);
        let body = Body {
            offsets: &state.offsets,
            positions: &mut state.positions,
            velocities: &mut state.velocities,
            inverse_masses: &inverse_masses,
            resistance: &rows,
            radii: &radii,
            continuous: true,
        };
        let parameters = Parameters { friction: 0.1, ..Parameters::default() };
        impacts += collisions.resolve(&mut [body], &parameters, DT).unwrap().contacts;
        assert_eq!(follow(&model, &mut state, &mut scratch, DT), 0, "step {step}");
        let after = kinetic(&state);
        assert!(after <= 1.05 * before + 1e-3, "step {step}: {before} J become {after} J");
        most_energy = most_energy.max(after);
        if step % 60 == 0 {
            let twist = (1..SEGMENTS).map(|s| state.twist(0, s)).sum::<f64>() / TAU;
            let wound = writhe(&state.positions);
            most_writhe = most_writhe.max(wound.abs());
            assert!((twist + wound + turns).abs() < 1e-3, "step {step}: {twist} + {wound}, not {turns} turns");
        }
    }
    assert!(impacts > 1000 && most_writhe > 1.5, "{impacts} {most_writhe}");
    // What 2.5 turns store, G J (5 pi)^2 / (2 L), and damping takes most of it.
    let stored = 20e6 * 0.5 * std::f64::consts::PI * 0.01_f64.powi(4) * (2.5 * TAU).powi(2) / (2.0 * LENGTH);
    assert!(most_energy < 0.2 * stored, "{most_energy} J of {stored} J");
    let left = kinetic(&state);
    assert!(left < 1e-3 * stored, "it comes to rest: {left} J of {stored} J");
}

/// Two bent rods in flight that press on each other: a push goes through them by bending, and takes nothing from their momentum.
#[test]
fn rods_that_meet_in_flight_keep_their_momentum() {
    let count = 21;
    let straight: Vec<DVec3> =
        (0..2 * count).map(|i| DVec3::new(0.02 * (i % count) as f64, (i / count) as f64, 0.0)).collect();
    let (offsets, radii) = ([0, count as u32, 2 * count as u32], vec![0.01; 2 * count]);
    let rest = RestShape { offsets: &offsets, positions: &straight, radii: &radii };
    let model = CordModel::new(rest, rubber(), 1).unwrap();
    // Arcs of 1.2 rad that cross off their middles, one above the other.
    let arc = |i: usize| {
        let angle = 0.06 * (i as f64 - 10.0);
        DVec3::new(angle.sin(), angle.cos() - 1.0, 0.0) / 3.0
    };
    let turn = DQuat::from_rotation_z(1.1);
    let lifted = DVec3::new(0.03, 0.02, 0.01999);
    let mut positions: Vec<DVec3> = (0..count).map(arc).collect();
    positions.extend((0..count).map(|i| turn * arc(i) + lifted));
    let mut state = CordState::at_rest(&model, positions.clone()).unwrap();
    let masses: Vec<f64> = (0..2 * count).map(|v| state.mass(&model, v / count, v)).collect();
    let inverse_masses: Vec<f64> = masses.iter().map(|mass| 1.0 / mass).collect();
    let momentum = |state: &CordState| {
        let (places, speeds) = (&state.positions, &state.velocities);
        let linear = (0..2 * count).map(|v| speeds[v] * masses[v]).sum::<DVec3>();
        let angular = (0..2 * count).map(|v| places[v].cross(speeds[v]) * masses[v]).sum::<DVec3>();
        (linear, angular)
    };
    let speed = DVec3::new(0.3, 0.1, -2.0);
    state.velocities[count..].fill(speed);
    let mut collisions = Collisions::default();
    collisions.begin([&positions[..]]);
    (count..2 * count).for_each(|v| state.positions[v] += speed * DT);
    let (before, mut rows) = (momentum(&state), Vec::new());
    resistance(&model, &state, &inverse_masses, DT, &mut rows);
    let body = Body {
        offsets: &state.offsets,
        positions: &mut state.positions,
        velocities: &mut state.velocities,
        inverse_masses: &inverse_masses,
        resistance: &rows,
        radii: &radii,
        continuous: true,
    };
    let parameters = Parameters { friction: 0.0, ..Parameters::default() };
    let tally = collisions.resolve(&mut [body], &parameters, DT).unwrap();
    assert!(tally.contacts > 0 && tally.impacts == 0, "{tally:?}");
    let after = momentum(&state);
    let passed = state.velocities[..count].iter().map(|v| v.length()).sum::<f64>() * masses[1];
    assert!(passed > 0.01, "{passed}");
    let off = ((after.0 - before.0).length() / passed, (after.1 - before.1).length() / (0.2 * passed));
    assert!(off.0 < 1e-12 && off.1 < 1e-9, "{off:?}");
    // What a push meets is a rod and not one of its vertices.
    let moving = state.velocities[..count].iter().filter(|v| v.length() > 0.01).count();
    assert!(moving > 4, "{moving}");
}
