//! Cords against mechanics: tension, curves, rupture, pendulums, and when a twisted rod buckles.

use super::bench_cord::{AREA, BenchCord, MOMENT, RADIUS, ball, limp, rod};
use super::{Case, GRAVITY, Measured};
use crate::SimError;
use drench_physics::cords::{Bending, Clamp, CordMaterial, CordState, Curve, Holder, Torsion};
use drench_physics::strands::csm;
use glam::{DQuat, DVec3};
use std::f64::consts::{PI, TAU};

pub const CASES: &[Case] = &[
    Case { name: "cord-weight", law: "tension of a cord with 5 kg on it: T = m g", run: weight },
    Case { name: "cord-pendulum", law: "T = 2 pi sqrt(L/g) of 10 kg on 1 m of cord", run: pendulum },
    Case { name: "cord-curve", law: "stress of a pulled cord over the given curve, up to rupture", run: curve },
    Case { name: "cord-rupture", law: "stress at which a pulled cord tears", run: rupture },
    Case { name: "cord-torsion", law: "surface stress of a twisted cord over the given curve", run: torsion },
    Case { name: "cord-torsion-rupture", law: "surface stress at which a twisted cord tears", run: torsion_rupture },
    Case {
        name: "cord-free-flight",
        law: "momentum of a free cord with all effects, relative change",
        run: || Ok(Measured::at_most(1e-11, flight()?[0])),
    },
    Case {
        name: "cord-free-spin",
        law: "... its angular momentum, that of its segments about their axes included",
        run: || Ok(Measured::at_most(1e-9, flight()?[1])),
    },
    Case { name: "cord-flick", law: "energy set free by a release: sigma^2/(2E) A L", run: flick },
    Case { name: "cord-cantilever", law: "small deflection q L^4/(8 E I) of a cord with a modulus", run: cantilever },
    Case { name: "cord-rod-step", law: "... the same in steps of 8 ms as in steps of 1 ms [m]", run: rod_step },
    Case { name: "cord-step", law: "regions, w = 8: the same in steps of 1 ms as in steps of 10 ms [m]", run: step },
    Case { name: "cord-twist-buckling", law: "clamped rod: M L/(E I) = 8.987", run: greenhill },
    Case { name: "cord-michell", law: "ring, G J = E I: twist of 2 pi sqrt(3)", run: || michell(1.0) },
    Case { name: "cord-michell-soft", law: "ring, G J = E I/2: twist of 4 pi sqrt(3)", run: || michell(0.5) },
];

fn on_body(vertex: u32, anchor: DVec3) -> Clamp {
    let holder = Holder::Body { index: 0, anchor };
    Clamp { vertex, holder, frame: DQuat::IDENTITY, direction: false, roll: false }
}

fn weight() -> Result<Measured, SimError> {
    let mut cord = BenchCord::straight(DVec3::NEG_Y, 1.0, 30, limp(1e9))?;
    cord.clamps = vec![Clamp::pin(0, DVec3::ZERO), on_body(30, DVec3::Y * 0.1)];
    cord.bodies = vec![ball(DVec3::NEG_Y * 1.1, 5.0, 0.02)];
    for _ in 0..3000 {
        cord.step(2e-3)?;
    }
    Ok(Measured::relative(5.0 * GRAVITY, cord.state.tensions[29], 0.01))
}

fn pendulum() -> Result<Measured, SimError> {
    let (length, angle, dt) = (1.0, 0.1_f64, 1e-3);
    let direction = DVec3::new(angle.sin(), -angle.cos(), 0.0);
    let mut cord = BenchCord::straight(direction, length, 20, limp(1e10))?;
    cord.clamps = vec![Clamp::pin(0, DVec3::ZERO), on_body(20, DVec3::ZERO)];
    cord.bodies = vec![ball(direction * length, 10.0, 0.01)];
    let (mut crossings, mut before) = (Vec::new(), 1.0);
    for step in 1..6000_u32 {
        cord.step(dt)?;
        let now = cord.bodies[0].centre.x;
        if before * now < 0.0 {
            crossings.push(dt * (f64::from(step) - now / (now - before)));
        }
        before = now;
    }
    let halves = crossings.len().saturating_sub(1).max(1);
    let got = 2.0 * (crossings.last().unwrap_or(&f64::NAN) - crossings.first().unwrap_or(&0.0)) / halves as f64;
    Ok(Measured::relative(TAU * (length / GRAVITY).sqrt() * (1.0 + angle.powi(2) / 16.0), got, 5e-3))
}

/// Pulls a cord slowly until it tears: the largest error of the stress on the way, and the stress at the end.
fn pull() -> Result<[f64; 2], SimError> {
    let curve = Curve::elastic(2e9).yielding_at(4e7, 2e8).tearing_at(8e7);
    let mut cord = BenchCord::straight(DVec3::X, 1.0, 50, CordMaterial { tension: curve, ..limp(2e9) })?;
    cord.gravity = DVec3::ZERO;
    let mut worst = 0.0_f64;
    for step in 1..4000 {
        let strain = 1e-4 * f64::from(step);
        cord.clamps = vec![Clamp::pin(0, DVec3::ZERO), Clamp::pin(50, DVec3::X * (1.0 + strain))];
        let tally = cord.step(2e-3)?;
        let stress = tally.tension_max / AREA;
        if tally.torn_by_pull > 0 {
            return Ok([worst, stress]);
        }
        let given = if strain <= 0.02 { 2e9 * strain } else { 4e7 + 2e8 * (strain - 0.02) };
        // After the jerk of the start.
        if step > 10 {
            worst = worst.max((stress / given - 1.0).abs());
        }
    }
    Ok([worst, f64::NAN])
}

fn curve() -> Result<Measured, SimError> {
    Ok(Measured::at_most(0.02, pull()?[0]))
}

fn rupture() -> Result<Measured, SimError> {
    Ok(Measured::relative(8e7, pull()?[1], 0.02))
}

/// The same with a cord that is twisted: stiff in bending, so that it does not buckle.
fn wring() -> Result<[f64; 2], SimError> {
    let (segments, length) = (40, 0.2);
    let curve = Curve::elastic(1e7).yielding_at(1e6, 2e6).tearing_at(2e6);
    let torsion = Torsion { curve, damping: 5.0, lag: 0.0, half_width: 2.0 };
    let material = CordMaterial { bending: Bending::HalfWidth(8.0), torsion: Some(torsion), ..limp(1e9) };
    let mut cord = BenchCord::straight(DVec3::X, length, segments, material)?;
    cord.gravity = DVec3::ZERO;
    // The clamped segments turn as a whole.
    let twisted = length * (1.0 - 1.0 / segments as f64);
    let mut worst = 0.0_f64;
    for step in 1..10_000 {
        let turn = 0.02 * f64::from(step);
        let end = DQuat::from_rotation_x(turn);
        cord.clamps = vec![
            Clamp::fixed(&cord.model, 0, DVec3::ZERO, DQuat::IDENTITY),
            Clamp::fixed(&cord.model, segments as u32, DVec3::X * length, end),
        ];
        let tally = cord.step(1e-3)?;
        let stress = tally.torque_max / (0.5 * PI * RADIUS.powi(3));
        if tally.torn_by_twist > 0 {
            return Ok([worst, stress]);
        }
        let strain = RADIUS * turn / twisted;
        let given = if strain <= 0.1 { 1e7 * strain } else { 1e6 + 2e6 * (strain - 0.1) };
        if strain > 0.01 {
            worst = worst.max((stress / given - 1.0).abs());
        }
    }
    Ok([worst, f64::NAN])
}

fn torsion() -> Result<Measured, SimError> {
    Ok(Measured::at_most(0.02, wring()?[0]))
}

fn torsion_rupture() -> Result<Measured, SimError> {
    Ok(Measured::relative(2e6, wring()?[1], 0.02))
}

/// A tumbling curl: the larger of the relative changes of linear and angular momentum in a second.
/// Relative changes of momentum and angular momentum in a second of free flight.
fn flight() -> Result<[f64; 2], SimError> {
    let curl: Vec<DVec3> = (0..60)
        .map(|i| {
            let a = 0.3 * f64::from(i);
            DVec3::new(0.03 * a.cos(), 0.03 * a.sin(), 0.01 * f64::from(i))
        })
        .collect();
    let torsion = Torsion { damping: 0.0, ..Torsion::elastic(4e6) };
    let undamped = CordMaterial { damping: 0.0, torsion: Some(torsion), ..rod(1e7, 4e6) };
    let mut cord = BenchCord::new(&curl, undamped)?;
    cord.gravity = DVec3::ZERO;
    for (x, v) in curl.iter().zip(&mut cord.state.velocities) {
        *v = DVec3::new(1.0, 0.5, 0.0) + DVec3::new(3.0, 1.0, 2.0).cross(*x) + DVec3::Y * (x.z * 20.0).sin();
    }
    let momentum = |cord: &BenchCord| {
        let CordState { positions, velocities, rates, .. } = &cord.state;
        let mut sum = cord.state.vertices(0).fold([DVec3::ZERO; 2], |[linear, angular], v| {
            let p = velocities[v] * cord.state.mass(&cord.model, 0, v);
            [linear + p, angular + positions[v].cross(p)]
        });
        for (s, rate) in rates.iter().enumerate() {
            let mass = cord.model.material().density * AREA * curl[s].distance(curl[s + 1]);
            let axis = (positions[s + 1] - positions[s]).normalize();
            sum[1] += axis * (0.5 * mass * RADIUS * RADIUS * rate);
        }
        sum
    };
    let start = momentum(&cord);
    for _ in 0..1000 {
        cord.step(1e-3)?;
    }
    let end = momentum(&cord);
    Ok([0, 1].map(|k| (end[k] - start[k]).length() / start[k].length()))
}

fn flick() -> Result<Measured, SimError> {
    let (modulus, stress) = (1e9, 2e7);
    let mut cord = BenchCord::straight(DVec3::X, 1.0, 150, limp(modulus))?;
    cord.gravity = DVec3::ZERO;
    for step in 1..=200 {
        let end = DVec3::X * (1.0 + stress / modulus * f64::from(step) / 200.0);
        cord.clamps = vec![Clamp::pin(0, DVec3::ZERO), Clamp::pin(150, end)];
        cord.step(1e-3)?;
    }
    cord.clamps.pop();
    let mut most = 0.0_f64;
    for _ in 0..10 {
        cord.step(1e-3)?;
        let energy = |v: usize| 0.5 * cord.state.mass(&cord.model, 0, v) * cord.state.velocities[v].length_squared();
        most = most.max(cord.state.vertices(0).map(energy).sum());
    }
    Ok(Measured::relative(stress * stress / (2.0 * modulus) * AREA, most, 0.05))
}

/// Length and segments of a cord that is clamped level; the first segment is held as a whole, so that the free length begins in its middle.
const LEVEL: (f64, usize) = (0.2, 40);
/// How far the tip of it would sink [m].
const SUNK: f64 = 0.02 * LEVEL.0;

/// How far the tip of a clamped cord of this bending rigidity [N m2] sinks under so little weight that it should be 2 % of the length [m].
fn sag(material: CordMaterial, rigidity: f64, dt: f64) -> Result<f64, SimError> {
    let (length, segments) = LEVEL;
    let mut cord = BenchCord::straight(DVec3::X, length, segments, CordMaterial { damping: 5.0, ..material })?;
    let load = SUNK * 8.0 * rigidity / (length * (1.0 - 0.5 / segments as f64)).powi(4);
    cord.gravity = DVec3::NEG_Y * (load / (cord.model.material().density * AREA));
    cord.clamps = vec![Clamp::fixed(&cord.model, 0, DVec3::ZERO, DQuat::IDENTITY)];
    for _ in 0..(8.0 / dt) as u32 {
        cord.step(dt)?;
    }
    Ok(-cord.state.positions[segments].y)
}

/// The same of a rod with a modulus.
fn rod_sag(dt: f64) -> Result<f64, SimError> {
    let modulus = 2e6;
    sag(rod(modulus, 1e6), modulus * MOMENT, dt)
}

fn cantilever() -> Result<Measured, SimError> {
    Ok(Measured::relative(SUNK, rod_sag(1e-3)?, 0.02))
}

fn rod_step() -> Result<Measured, SimError> {
    Ok(Measured::relative(rod_sag(1e-3)?, rod_sag(8e-3)?, 0.05))
}

/// The same of regions that reach eight vertices.
fn step() -> Result<Measured, SimError> {
    let material = CordMaterial { bending: Bending::HalfWidth(8.0), ..rod(0.0, 1e6) };
    let mass = material.density * AREA;
    let rigidity = csm::rigidity(mass, LEVEL.0 / LEVEL.1 as f64, 8.0);
    Ok(Measured::relative(sag(material.clone(), rigidity, 0.01)?, sag(material, rigidity, 1e-3)?, 0.06))
}

/// A straight rod between two clamps is twisted until it gives way sideways; its torque then.
fn greenhill() -> Result<Measured, SimError> {
    let (length, segments, modulus) = (0.3, 60, 1.5e6);
    let mut cord = BenchCord::straight(
        DVec3::X,
        length,
        segments,
        CordMaterial { damping: 2.0, tension: Curve::elastic(modulus), ..rod(modulus, 6e5) },
    )?;
    // A touch of weight, so that it knows where to go: it sags by 1e-5 of its length.
    let weight = 1e-5 * 384.0 * modulus * MOMENT / length.powi(3);
    cord.gravity = DVec3::NEG_Z * (weight / (cord.model.material().density * AREA));
    let mut turn = 0.0;
    for _ in 0..40_000 {
        turn += 1e-3;
        let end = DQuat::from_rotation_x(turn);
        cord.clamps = vec![
            Clamp::fixed(&cord.model, 0, DVec3::ZERO, DQuat::IDENTITY),
            Clamp::fixed(&cord.model, segments as u32, DVec3::X * length, end),
        ];
        let tally = cord.step(1e-3)?;
        let aside = cord.state.positions.iter().map(|x| x.y.hypot(x.z)).fold(0.0, f64::max);
        // Before it has stretched enough to be held by tension.
        if aside > 0.001 * length {
            let free = length * (1.0 - 1.0 / segments as f64);
            return Ok(Measured::relative(8.987, tally.torque_max * free / (modulus * MOMENT), 0.25));
        }
    }
    Ok(Measured::relative(8.987, f64::NAN, 0.25))
}

/// A straight rod bent to a ring and closed is twisted until it leaves its plane; `ratio` is G J / (E I).
fn michell(ratio: f64) -> Result<Measured, SimError> {
    let (length, segments, modulus) = (0.4, 60, 2e6);
    // J = 2 I.
    let material = CordMaterial { damping: 2.0, ..rod(modulus, 0.5 * ratio * modulus) };
    let mut cord = BenchCord::straight(DVec3::X, length, segments, material)?;
    cord.gravity = DVec3::ZERO;
    let chord = length / segments as f64;
    let (mut place, mut ring) = (DVec3::ZERO, Vec::new());
    for i in 0..=segments {
        ring.push(place);
        let a = TAU * (i as f64 + 0.5) / segments as f64;
        place += DVec3::new(a.cos(), a.sin(), 0.0) * chord;
    }
    cord.state = CordState::at_rest(&cord.model, ring)
        .map_err(|source| SimError::Model { groom: "bench cord".to_owned(), source })?;
    // A touch, so that it knows where to go.
    for (i, v) in cord.state.velocities.iter_mut().enumerate() {
        *v = DVec3::Z * (1e-3 * (2.0 * TAU * i as f64 / segments as f64).sin());
    }
    let expected = TAU * 3.0_f64.sqrt() / ratio;
    let tilt = |a: f64| DQuat::from_rotation_z(a);
    let half = PI / segments as f64;
    let mut turn = 0.0;
    for _ in 0..60_000 {
        turn += 5e-4;
        let roll = DQuat::from_axis_angle(tilt(-half) * DVec3::X, turn);
        cord.clamps = vec![
            Clamp::fixed(&cord.model, 0, DVec3::ZERO, tilt(half)),
            Clamp::fixed(&cord.model, segments as u32, DVec3::ZERO, roll * tilt(-half)),
        ];
        cord.step(1e-3)?;
        let aside = cord.state.positions.iter().map(|x| x.z.abs()).fold(0.0, f64::max);
        if aside > 0.02 * length {
            return Ok(Measured::relative(expected, turn, 0.25));
        }
    }
    Ok(Measured::relative(expected, f64::NAN, 0.25))
}
