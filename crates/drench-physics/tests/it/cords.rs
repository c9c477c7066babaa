//! Cords against mechanics: tension, lengths, curves, tears, twist, bodies, momentum.
#![allow(clippy::unwrap_used)]

use drench_geometry::field::Field;
use drench_math::random::Stream;
use drench_physics::PhysicsError;
use drench_physics::air::{Air, AirFlow};
use drench_physics::contact::{Collider, Placement};
use drench_physics::cords::{
    Bending, Bodies, Clamp, CordMaterial, CordModel, CordScratch, CordState, Cords, Curve, Holder, Tally, Torsion,
    held, solve,
};
use drench_physics::rigid::{BodyState, Push};
use drench_physics::strands::{Environment, RestShape};
use glam::{DMat3, DQuat, DVec3};
use std::f64::consts::{PI, TAU};

const GRAVITY: DVec3 = DVec3::new(0.0, -9.81, 0.0);
const RADIUS: f64 = 2e-3;
const AREA: f64 = PI * RADIUS * RADIUS;

/// A bench for cords: bodies fall and turn freely beside what cords do to them.
struct Rig {
    model: CordModel,
    state: CordState,
    scratch: CordScratch,
    clamps: Vec<Clamp>,
    bodies: Vec<BodyState>,
    gravity: DVec3,
    flow: AirFlow,
}

impl Rig {
    fn new(positions: &[DVec3], material: CordMaterial) -> Self {
        Self::several(positions, &[0, positions.len() as u32], material)
    }

    fn several(positions: &[DVec3], offsets: &[u32], material: CordMaterial) -> Self {
        let radii = vec![RADIUS as f32; positions.len()];
        let model = CordModel::new(RestShape { offsets, positions, radii: &radii }, material, 1).unwrap();
        Self {
            state: CordState::at_rest(&model, positions.to_vec()).unwrap(),
            scratch: CordScratch::new(&model),
            model,
            clamps: Vec::new(),
            bodies: Vec::new(),
            gravity: GRAVITY,
            flow: AirFlow::still(),
        }
    }

    fn step(&mut self, dt: f64) -> Tally {
        self.step_among(&[], dt)
    }

    fn step_among(&mut self, colliders: &[Collider], dt: f64) -> Tally {
        let air = Air { drag: 0.0, ..Air::default() };
        let environment = Environment { gravity: self.gravity, air, breeze: self.flow.at(0.0), colliders };
        let mut pushes = vec![Push::default(); self.bodies.len()];
        let mut bodies = Bodies { states: &mut self.bodies, pushes: &mut pushes };
        let mut cord = [Cords::new(&self.model, &mut self.state, &mut self.scratch, &self.clamps)];
        solve(&mut cord, &environment, &mut bodies, dt).unwrap();
        let [Cords { tally, .. }] = cord;
        for body in &mut self.bodies {
            body.velocity += self.gravity * if body.inverse_mass > 0.0 { dt } else { 0.0 };
            body.centre += body.velocity * dt;
            body.rotation = (DQuat::from_scaled_axis(body.spin * dt) * body.rotation).normalize();
        }
        tally
    }

    fn masses(&self) -> Vec<f64> {
        let of_piece = |p: usize| self.state.vertices(p).map(move |v| self.state.mass(&self.model, p, v));
        (0..self.state.piece_count()).flat_map(of_piece).collect()
    }

    fn momentum(&self) -> (DVec3, DVec3) {
        let mut sum = (DVec3::ZERO, DVec3::ZERO);
        for (i, m) in self.masses().into_iter().enumerate() {
            let p = self.state.velocities[i] * m;
            sum = (sum.0 + p, sum.1 + self.state.positions[i].cross(p));
        }
        for piece in 0..self.state.piece_count() {
            for s in self.state.segments(piece) {
                let axis = (self.state.positions[s + piece + 1] - self.state.positions[s + piece]).normalize();
                let inertia = 0.5 * self.model.masses()[s] * f64::from(RADIUS as f32).powi(2);
                sum.1 += axis * (inertia * self.state.rates[s]);
            }
        }
        sum
    }

    fn kinetic_energy(&self) -> f64 {
        self.masses().iter().zip(&self.state.velocities).map(|(m, v)| 0.5 * m * v.length_squared()).sum()
    }
}

fn straight(direction: DVec3, length: f64, segments: usize) -> Vec<DVec3> {
    (0..=segments).map(|i| direction * (length * i as f64 / segments as f64)).collect()
}

/// Limp, without variation, damped or not.
fn plain(tension: Curve) -> CordMaterial {
    CordMaterial { bending: Bending::None, tension, torsion: None, variation: 0.0, ..CordMaterial::default() }
}

fn ball(centre: DVec3, mass: f64, inertia: f64) -> BodyState {
    BodyState {
        centre,
        rotation: DQuat::IDENTITY,
        velocity: DVec3::ZERO,
        spin: DVec3::ZERO,
        inverse_mass: 1.0 / mass,
        inverse_inertia: DMat3::from_diagonal(DVec3::splat(1.0 / inertia)),
    }
}

fn body_clamp(vertex: u32, index: usize, anchor: DVec3) -> Clamp {
    let holder = Holder::Body { index, anchor };
    Clamp { vertex, holder, frame: DQuat::IDENTITY, direction: false, roll: false }
}

#[test]
fn a_hanging_weight_gives_its_weight_and_the_stretch_of_the_curve() {
    let mut rig = Rig::new(&straight(DVec3::NEG_Y, 1.0, 20), plain(Curve::elastic(1e9)));
    rig.clamps = vec![Clamp::pin(0, DVec3::ZERO), body_clamp(20, 0, DVec3::Y * 0.1)];
    rig.bodies = vec![ball(DVec3::NEG_Y * 1.1, 5.0, 0.02)];
    for _ in 0..2000 {
        rig.step(2e-3);
    }
    let tension = &rig.state.tensions;
    assert!((tension[19] / (5.0 * 9.81) - 1.0).abs() < 1e-3, "{}", tension[19]);
    let cord: f64 = rig.model.masses().iter().sum();
    let top = (5.0 + cord * (1.0 - 0.5 / 20.0)) * 9.81;
    assert!((tension[0] / top - 1.0).abs() < 1e-3, "{} {top}", tension[0]);
    assert!(rig.bodies[0].velocity.length() < 1e-3, "{}", rig.bodies[0].velocity);
    let stretch = -rig.state.positions[20].y - 1.0;
    assert!((stretch / (5.0 * 9.81 / (1e9 * AREA)) - 1.0).abs() < 0.02, "{stretch}");
}

#[test]
fn a_stretched_cord_gets_thinner_and_keeps_its_volume() {
    let (segments, stretch) = (20, 1.44);
    let mut rig = Rig::new(&straight(DVec3::X, 1.0, segments), plain(Curve::elastic(1e6)));
    rig.gravity = DVec3::ZERO;
    for step in 1..=200 {
        let end = DVec3::X * (1.0 + (stretch - 1.0) * f64::from(step) / 200.0);
        rig.clamps = vec![Clamp::pin(0, DVec3::ZERO), Clamp::pin(segments as u32, end)];
        rig.step(1e-3);
    }
    // Until the waves of the pull have died away: implicit lengths take their energy.
    for _ in 0..2000 {
        rig.step(1e-2);
    }
    let mut radii = Vec::new();
    rig.state.radii(&rig.model, &mut radii);
    assert_eq!(radii.len(), segments + 1);
    for radius in &radii {
        assert!((f64::from(*radius) * 1.2 / RADIUS - 1.0).abs() < 1e-6, "{radius}");
    }
    let x = &rig.state.positions;
    let frusta = (0..segments).map(|s| {
        let (a, b) = (f64::from(radii[s]), f64::from(radii[s + 1]));
        PI / 3.0 * (a * a + a * b + b * b) * x[s].distance(x[s + 1])
    });
    let volume: f64 = frusta.sum();
    assert!((volume / AREA - 1.0).abs() < 1e-6, "{volume}");
}

#[test]
fn a_crate_on_a_light_cord_swings_with_the_period_of_a_pendulum() {
    let mut rig = Rig::new(&straight(DVec3::NEG_Y, 0.9, 10), plain(Curve::elastic(1e9)));
    rig.clamps = vec![Clamp::pin(0, DVec3::ZERO), body_clamp(10, 0, DVec3::Y * 0.1)];
    let inertia = 0.04;
    rig.bodies = vec![ball(DVec3::NEG_Y, 10.0, inertia)];
    // Everything turned about the clamp by a small angle.
    let tilt = DQuat::from_rotation_z(0.05);
    rig.state.positions.iter_mut().for_each(|x| *x = tilt * *x);
    rig.bodies[0].centre = tilt * rig.bodies[0].centre;
    rig.bodies[0].rotation = tilt;
    let (dt, mut crossings, mut before) = (2e-3, Vec::new(), rig.bodies[0].centre.x);
    for step in 1..5000 {
        rig.step(dt);
        let now = rig.bodies[0].centre.x;
        if before * now < 0.0 {
            crossings.push(dt * (f64::from(step) - now / (now - before)));
        }
        before = now;
    }
    // The box may also rock on the cord's end; slow modes of a double pendulum with a massless cord: w^2 solves
    // (g - w^2 L)(g a - w^2 k) = w^4 a^2 L with k = a^2 + I/M about the end (here in the form of the determinant).
    let (l, a, g) = (0.9, 0.1, 9.81);
    let k = a * a + inertia / 10.0;
    let (qa, qb, qc) = (l * k - l * a * a, -g * (k + l * a), g * g * a);
    let slow = (-qb - (qb * qb - 4.0 * qa * qc).sqrt()) / (2.0 * qa);
    let expected = TAU / slow.sqrt();
    let halves = crossings.len() - 1;
    let got = 2.0 * (crossings[halves] - crossings[0]) / halves as f64;
    assert!((got / expected - 1.0).abs() < 5e-3, "{got} {expected}");
    // It has not lost much of its swing in ten seconds either.
    let reached = rig.bodies[0].velocity.length() / slow.sqrt();
    let height = rig.bodies[0].centre.x.abs().hypot(reached);
    assert!(height > 0.03, "{height}");
}

#[test]
fn a_hanging_cord_has_the_tension_of_a_catenary() {
    let (length, span, segments) = (1.0, 0.6, 60);
    let depth = 0.5 * f64::sqrt(length * length - span * span);
    let triangle: Vec<DVec3> = (0..=segments)
        .map(|i| {
            let s = f64::from(i) / f64::from(segments);
            DVec3::new(s * span, -depth * (1.0 - (2.0 * s - 1.0).abs()), 0.0)
        })
        .collect();
    let mut rig = Rig::new(&triangle, CordMaterial { damping: 4.0, ..plain(Curve::elastic(1e9)) });
    rig.clamps = vec![Clamp::pin(0, DVec3::ZERO), Clamp::pin(segments as u32, DVec3::X * span)];
    for _ in 0..3000 {
        rig.step(2e-3);
    }
    let (mut low, mut high) = (0.05_f64, 10.0_f64);
    for _ in 0..100 {
        let a = 0.5 * (low + high);
        if 2.0 * a * (span / (2.0 * a)).sinh() > length { low = a } else { high = a }
    }
    let weight = 1100.0 * AREA * 9.81;
    let (lowest, top) = (rig.state.tensions[30], rig.state.tensions[0]);
    assert!((lowest / (weight * low) - 1.0).abs() < 0.01, "{lowest} {}", weight * low);
    // In the middle of the first segment, which is steep.
    let expected = weight * (low * (span / (2.0 * low)).cosh() - 0.5 * length / f64::from(segments));
    assert!((top / expected - 1.0).abs() < 0.01, "{top} {expected}");
}

#[test]
fn a_pulled_cord_follows_its_curve_and_tears_at_rupture() {
    let curve = Curve::elastic(2e9).yielding_at(4e7, 2e8).tearing_at(8e7);
    let mut rig = Rig::new(&straight(DVec3::X, 1.0, 30), plain(curve));
    rig.gravity = DVec3::ZERO;
    let mut worst: f64 = 0.0;
    let mut torn_at = None;
    for step in 1..3000 {
        let pulled = 1e-4 * f64::from(step);
        rig.clamps = vec![Clamp::pin(0, DVec3::ZERO), Clamp::pin(30, DVec3::X * (1.0 + pulled))];
        let tally = rig.step(2e-3);
        if tally.torn_by_pull > 0 {
            torn_at = Some((pulled, tally.tension_max / AREA));
            break;
        }
        let given = if pulled <= 0.02 { 2e9 * pulled } else { 4e7 + 2e8 * (pulled - 0.02) };
        // After the jerk of the start.
        if step > 10 {
            worst = worst.max((tally.tension_max / AREA / given - 1.0).abs());
        }
    }
    assert!(worst < 0.02, "{worst}");
    let (strain, stress) = torn_at.unwrap();
    assert!((stress / 8e7 - 1.0).abs() < 0.02 && (strain / 0.22 - 1.0).abs() < 0.02, "{stress} {strain}");
    assert_eq!(rig.state.piece_count(), 2);
    // What was stretched past the yield point stays long.
    assert!(rig.state.plastic_strains.iter().all(|p| (p - 0.18).abs() < 0.005));
    let masses: f64 = rig.masses().iter().sum();
    assert!((masses / rig.model.masses().iter().sum::<f64>() - 1.0).abs() < 1e-12);
}

#[test]
fn a_load_below_yield_comes_back_and_one_above_does_not() {
    for (mass, permanent) in [(30.0, 0.0), (60.0, 60.0 * 9.81 / AREA - 4e7)] {
        let curve = Curve::elastic(2e9).yielding_at(4e7, 2e8);
        let mut rig = Rig::new(&straight(DVec3::NEG_Y, 1.0, 10), CordMaterial { damping: 2.0, ..plain(curve) });
        rig.clamps = vec![Clamp::pin(0, DVec3::ZERO), body_clamp(10, 0, DVec3::ZERO)];
        rig.bodies = vec![ball(DVec3::NEG_Y, mass, 0.1)];
        // Let down slowly: gravity grows.
        for step in 0..42_000 {
            rig.gravity = GRAVITY * (f64::from(step) / 40_000.0).min(1.0);
            rig.step(2e-3);
        }
        rig.clamps.pop();
        for _ in 0..200 {
            rig.step(2e-3);
        }
        let stayed = rig.state.plastic_strains[5];
        let expected = permanent * (1.0 / 2e8 - 1.0 / 2e9);
        assert!((stayed - expected).abs() < 0.04 * expected + 1e-6, "{mass}: {stayed} {expected}");
    }
}

#[test]
fn free_flight_keeps_linear_and_angular_momentum() {
    let material =
        CordMaterial { bending: Bending::HalfWidth(2.5), ..CordMaterial { variation: 0.0, ..CordMaterial::default() } };
    let helix: Vec<DVec3> = (0..40)
        .map(|i| {
            let a = 0.3 * f64::from(i);
            DVec3::new(0.02 * a.cos(), 0.02 * a.sin(), 0.01 * f64::from(i))
        })
        .collect();
    let undamped = Torsion { damping: 0.0, ..Torsion::elastic(4e6) };
    for torsion in [None, Some(undamped)] {
        let mut rig = Rig::new(&helix, CordMaterial { torsion, ..material.clone() });
        rig.gravity = DVec3::ZERO;
        let stream = Stream::new(3, "velocities");
        for (i, v) in rig.state.velocities.iter_mut().enumerate() {
            *v = DVec3::new(1.0, 0.0, 0.0)
                + DVec3::new(0.0, 0.0, 3.0).cross(helix[i])
                + stream.direction(i as u64) * 0.1;
        }
        // It spins about itself, too.
        rig.state.rates.fill(if torsion.is_some() { 40.0 } else { 0.0 });
        let start = rig.momentum();
        for _ in 0..500 {
            rig.step(1e-3);
        }
        let end = rig.momentum();
        assert!((end.0 - start.0).length() < 1e-11 * start.0.length(), "{} {}", start.0, end.0);
        assert!((end.1 - start.1).length() < 1e-10 * start.1.length(), "{} {}", start.1, end.1);
    }
}

#[test]
fn the_rest_shape_stays_and_moves_rigidly() {
    let helix: Vec<DVec3> = (0..60)
        .map(|i| {
            let a = 0.4 * f64::from(i);
            DVec3::new(0.03 * a.cos(), 0.03 * a.sin(), 0.008 * f64::from(i))
        })
        .collect();
    let mut rig = Rig::new(&helix, CordMaterial::default());
    rig.gravity = DVec3::ZERO;
    rig.state.velocities.fill(DVec3::new(0.3, -0.2, 0.1));
    for _ in 0..100 {
        rig.step(1e-3);
    }
    let shift = DVec3::new(0.03, -0.02, 0.01);
    for (now, then) in rig.state.positions.iter().zip(&helix) {
        assert!((*now - *then - shift).length() < 1e-9, "{}", *now - *then - shift);
    }
}

#[test]
fn flicking_gives_back_the_stored_energy_and_no_more() {
    let (modulus, stress, segments) = (1e9, 2e7, 50);
    for flick in [true, false] {
        let material = CordMaterial { flick, ..plain(Curve::elastic(modulus)) };
        let mut rig = Rig::new(&straight(DVec3::X, 1.0, segments), material);
        rig.gravity = DVec3::ZERO;
        let strain = stress / modulus;
        for step in 0..200 {
            let pulled = 1.0 + strain * f64::from(step + 1) / 200.0;
            rig.clamps = vec![Clamp::pin(0, DVec3::ZERO), Clamp::pin(segments as u32, DVec3::X * pulled)];
            rig.step(1e-3);
        }
        let stored = stress * stress / (2.0 * modulus) * AREA;
        rig.clamps.pop();
        let mut most: f64 = 0.0;
        for _ in 0..5 {
            rig.step(1e-3);
            most = most.max(rig.kinetic_energy());
        }
        if flick {
            assert!(most <= stored * 1.001 && most > 0.9 * stored, "{most} {stored}");
        } else {
            assert!(most < 1e-3 * stored, "{most} {stored}");
        }
    }
}

/// In a cord that swings like a whip tension falls suddenly, too, but nothing is let go.
#[test]
fn flicking_takes_nothing_from_a_cord_that_swings() {
    let energy = |flick: bool| {
        let material = CordMaterial { flick, bending: Bending::None, ..plain(Curve::elastic(1e7)) };
        let mut rig = Rig::new(&straight(DVec3::X, 0.8, 40), material);
        rig.clamps = vec![Clamp::pin(0, DVec3::ZERO)];
        (0..320).for_each(|_| _ = rig.step(1.0 / 480.0));
        let height = rig.masses().iter().zip(&rig.state.positions).map(|(mass, x)| mass * x.y).sum::<f64>();
        rig.kinetic_energy() + 9.81 * height
    };
    let [with, without] = [true, false].map(energy);
    let fallen: f64 =
        0.4 * 9.81 * Rig::new(&straight(DVec3::X, 0.8, 40), plain(Curve::elastic(1e7))).masses().iter().sum::<f64>();
    assert!((with - without).abs() < 0.01 * fallen, "{with} {without} {fallen}");
}

/// A load on bodies of cords that are solved one by one would hang on the first of them.
#[test]
fn wires_at_one_point_share_the_load_whatever_their_order() {
    for (count, dt) in [(2, 4e-3), (3, 4e-3), (3, 1e-3)] {
        let line: Vec<DVec3> = straight(DVec3::NEG_Y, 1.0, 20);
        let mut wires: Vec<Rig> = (0..count)
            .map(|_| {
                let mut rig = Rig::new(&line, CordMaterial { damping: 2.0, ..plain(Curve::elastic(2e11)) });
                rig.clamps = vec![Clamp::pin(0, DVec3::ZERO), body_clamp(20, 0, DVec3::Y * 0.1)];
                rig
            })
            .collect();
        let mut load = [ball(DVec3::NEG_Y * 1.1, 5.0, 0.03)];
        let (flow, air) = (AirFlow::still(), Air { drag: 0.0, ..Air::default() });
        let environment = Environment { gravity: GRAVITY, air, breeze: flow.at(0.0), colliders: &[] };
        for _ in 0..(0.8 / dt) as u32 {
            let mut cords: Vec<Cords> = wires
                .iter_mut()
                .map(|rig| Cords::new(&rig.model, &mut rig.state, &mut rig.scratch, &rig.clamps))
                .collect();
            let mut bodies = Bodies { states: &mut load, pushes: &mut [Push::default()] };
            solve(&mut cords, &environment, &mut bodies, dt).unwrap();
            load[0].velocity += GRAVITY * dt;
            load[0].centre += load[0].velocity * dt;
        }
        let tensions: Vec<f64> = wires.iter().map(|rig| rig.state.tensions[19]).collect();
        let expected = 5.0 * 9.81 / f64::from(count);
        assert!(tensions.iter().all(|tension| (tension / expected - 1.0).abs() < 0.02), "{count} {dt} {tensions:?}");
    }
}

/// Which of two bodies of cords is solved by which thread, or that there is another one, changes nothing.
#[test]
fn cords_that_share_no_body_do_not_feel_each_other() {
    let hung = |x: f64| {
        let line: Vec<DVec3> = straight(DVec3::NEG_Y, 1.0, 12).into_iter().map(|at| at + DVec3::X * x).collect();
        let mut rig = Rig::new(&line, plain(Curve::elastic(1e8)));
        rig.clamps = vec![Clamp::pin(0, line[0])];
        rig
    };
    let end = |x: f64| ball(DVec3::new(x, -1.0, 0.2), 0.3, 1e-3);
    let mut alone = hung(0.0);
    alone.clamps.push(body_clamp(12, 0, DVec3::NEG_Z * 0.2));
    alone.bodies = vec![end(0.0)];
    let mut rigs = [hung(0.0), hung(5.0)];
    for (index, rig) in rigs.iter_mut().enumerate() {
        rig.clamps.push(body_clamp(12, index, DVec3::NEG_Z * 0.2));
    }
    let mut bodies = [end(0.0), end(5.0)];
    let (flow, air) = (AirFlow::still(), Air { drag: 0.0, ..Air::default() });
    let environment = Environment { gravity: GRAVITY, air, breeze: flow.at(0.0), colliders: &[] };
    for _ in 0..100 {
        alone.step(2e-3);
        let mut cords: Vec<Cords> =
            rigs.iter_mut().map(|rig| Cords::new(&rig.model, &mut rig.state, &mut rig.scratch, &rig.clamps)).collect();
        let mut hung = Bodies { states: &mut bodies, pushes: &mut [Push::default(); 2] };
        solve(&mut cords, &environment, &mut hung, 2e-3).unwrap();
        for body in &mut bodies {
            body.velocity += GRAVITY * 2e-3;
            body.centre += body.velocity * 2e-3;
            body.rotation = (DQuat::from_scaled_axis(body.spin * 2e-3) * body.rotation).normalize();
        }
    }
    let apart = alone.state.positions.iter().zip(&rigs[0].state.positions).map(|(a, b)| a.distance(*b));
    assert!(apart.fold(0.0, f64::max) < 1e-9);
    // And they do feel what hangs on them: held at its edge, it turns.
    assert!(alone.bodies[0].spin.x > 1.0, "{:?}", alone.bodies[0]);
}

/// A clamp that holds a direction leaves the next vertex to a clamp of its own, whichever comes first.
#[test]
fn the_order_of_clamps_does_not_matter() {
    let run = |swap: bool| {
        let mut rig = Rig::new(&straight(DVec3::X, 0.5, 10), plain(Curve::elastic(1e8)));
        rig.clamps = vec![
            Clamp::fixed(&rig.model, 5, DVec3::X * 0.25, DQuat::IDENTITY),
            Clamp::pin(6, DVec3::new(0.3, 0.01, 0.0)),
        ];
        if swap {
            rig.clamps.reverse();
        }
        (0..50).for_each(|_| _ = rig.step(2e-3));
        rig.state.positions
    };
    assert_eq!(run(false), run(true));
}

fn rubber(shear: f64) -> CordMaterial {
    CordMaterial {
        bending: Bending::HalfWidth(2.0),
        tension: Curve::elastic(1e8),
        torsion: Some(Torsion { damping: 5.0, ..Torsion::elastic(shear) }),
        variation: 0.0,
        ..CordMaterial::default()
    }
}

#[test]
fn a_cord_with_uneven_torsional_rigidity_twists_where_it_is_weak() {
    // Three times as rigid in its second half: of one turn the first half takes three quarters, as springs in a row do.
    let (segments, length, turned) = (40, 0.2, 1.0);
    let profile = (0..=segments).map(|v| if 2 * v <= segments { 1.0 } else { 3.0 }).collect();
    let material = CordMaterial { torsion_profile: Some(profile), bending: Bending::Modulus(1e9), ..rubber(1e7) };
    let mut rig = Rig::new(&straight(DVec3::X, length, segments), material);
    rig.gravity = DVec3::ZERO;
    let turn = DQuat::from_rotation_x(turned);
    for _ in 0..2000 {
        rig.clamps = vec![
            Clamp::fixed(&rig.model, 0, DVec3::ZERO, DQuat::IDENTITY),
            Clamp::fixed(&rig.model, segments as u32, DVec3::X * length, turn),
        ];
        rig.step(1e-3);
    }
    let twist = |range: std::ops::Range<usize>| range.map(|s| rig.state.twist(0, s)).sum::<f64>();
    let (weak, strong) = (twist(1..segments / 2 + 1), twist(segments / 2 + 1..segments));
    // Twenty joints and nineteen.
    let expected = 20.0 / (20.0 + 19.0 / 3.0);
    assert!((weak + strong - turned).abs() < 1e-3, "{weak} {strong}");
    assert!((weak / turned - expected).abs() < 1e-3, "{weak} {expected}");
    let spring = 1e7 * 0.5 * PI * RADIUS.powi(4) / (length / segments as f64);
    let torque = spring * turned / (20.0 + 19.0 / 3.0);
    assert!((rig.state.torques[5] / torque - 1.0).abs() < 1e-2, "{} {torque}", rig.state.torques[5]);
}

#[test]
fn a_twisted_cord_has_the_torque_of_the_curve_yields_and_tears() {
    let curve = Curve::elastic(1e7).yielding_at(1e6, 2e6).tearing_at(2e6);
    let mut material = rubber(1.0);
    material.torsion = Some(Torsion { curve, damping: 5.0, lag: 0.0, half_width: 2.5 });
    // Stiff, so that it does not buckle.
    material.bending = Bending::HalfWidth(8.0);
    let (segments, length) = (40, 0.2);
    let mut rig = Rig::new(&straight(DVec3::X, length, segments), material);
    rig.gravity = DVec3::ZERO;
    let section = 0.5 * PI * RADIUS.powi(3);
    // The clamped segments turn as a whole: the twist is over the joints between them.
    let twisted = length - length / segments as f64;
    let (mut worst, mut torn_at) = (0.0_f64, None);
    for step in 1..20_000 {
        let turned = 0.02 * f64::from(step);
        rig.clamps = vec![
            Clamp::fixed(&rig.model, 0, DVec3::ZERO, DQuat::IDENTITY),
            Clamp::fixed(&rig.model, segments as u32, DVec3::X * length, DQuat::from_rotation_x(turned)),
        ];
        let tally = rig.step(1e-3);
        let strain = RADIUS * turned / twisted;
        let given = if strain <= 0.1 { 1e7 * strain } else { 1e6 + 2e6 * (strain - 0.1) };
        if tally.torn_by_twist > 0 {
            torn_at = Some((tally.torque_max / section, strain));
            break;
        }
        if strain > 0.01 {
            worst = worst.max((tally.torque_max / section / given - 1.0).abs());
        }
    }
    assert!(worst < 0.02, "{worst}");
    let (stress, strain) = torn_at.unwrap();
    assert!((stress / 2e6 - 1.0).abs() < 0.02 && (strain / 0.6 - 1.0).abs() < 0.02, "{stress} {strain}");
    assert_eq!(rig.state.piece_count(), 2);
}

#[test]
fn a_twisted_cord_turns_the_body_on_it_with_the_period_of_a_torsion_pendulum() {
    let shear = 1e8;
    let mut material = rubber(shear);
    material.torsion = Some(Torsion { damping: 0.0, ..Torsion::elastic(shear) });
    let (segments, length, inertia) = (20, 0.5, 1e-4);
    let mut rig = Rig::new(&straight(DVec3::NEG_Y, length, segments), material);
    let mut held = Clamp::fixed(&rig.model, 0, DVec3::ZERO, DQuat::IDENTITY);
    held.direction = false;
    let mut hung = body_clamp(segments as u32, 0, DVec3::Y * 0.02);
    (hung.frame, hung.roll) = (rig.model.frame_at(segments), true);
    rig.clamps = vec![held, hung];
    rig.bodies = vec![ball(DVec3::NEG_Y * (length + 0.02), 0.5, inertia)];
    rig.bodies[0].spin = DVec3::Y * 0.5;
    let (dt, mut crossings, mut before) = (1e-3, Vec::new(), 0.5);
    for step in 1..4000 {
        rig.step(dt);
        let now = rig.bodies[0].spin.y;
        if before * now < 0.0 {
            crossings.push(dt * (f64::from(step) - now / (now - before)));
        }
        before = now;
    }
    let rigidity = shear * 0.5 * PI * RADIUS.powi(4) / (length * (1.0 - 1.0 / segments as f64));
    let expected = TAU * (inertia / rigidity).sqrt();
    let halves = crossings.len() - 1;
    let got = 2.0 * (crossings[halves] - crossings[0]) / halves as f64;
    assert!((got / expected - 1.0).abs() < 0.01, "{got} {expected}");
}

#[test]
fn a_cord_lies_on_a_ball_and_pushes_the_body_it_belongs_to() {
    let sphere = Field::Sphere { radius: 0.1 };
    let arc: Vec<DVec3> = straight(DVec3::X, 0.6, 40).iter().map(|p| *p + DVec3::new(-0.3, 0.105, 0.0)).collect();
    let mut rig = Rig::new(&arc, CordMaterial { damping: 3.0, ..plain(Curve::elastic(1e8)) });
    rig.bodies = vec![BodyState { inverse_mass: 0.0, inverse_inertia: DMat3::ZERO, ..ball(DVec3::ZERO, 1.0, 1.0) }];
    let collider = [Collider::new(&sphere, Placement::IDENTITY, Placement::IDENTITY, 0.4).of_body(0)];
    let mut tally = Tally::default();
    for _ in 0..1500 {
        tally = rig.step_among(&collider, 2e-3);
        assert!(rig.kinetic_energy() < 0.02, "{tally:?}");
    }
    assert!(tally.contacts > 10 && tally.penetration_max < 1e-4, "{tally:?}");
    let lowest = rig.state.positions.iter().map(|x| x.length()).fold(f64::INFINITY, f64::min);
    assert!(lowest > 0.1 + 0.9 * RADIUS, "{lowest}");
    assert!(rig.kinetic_energy() < 1e-6, "{}", rig.kinetic_energy());
    // What the ball bears is the weight of the cord.
    let environment = Environment {
        gravity: GRAVITY,
        air: Air { drag: 0.0, ..Air::default() },
        breeze: rig.flow.at(0.0),
        colliders: &collider,
    };
    let mut pushes = vec![Push::default()];
    let mut bodies = Bodies { states: &mut rig.bodies, pushes: &mut pushes };
    let mut cord = [Cords::new(&rig.model, &mut rig.state, &mut rig.scratch, &[])];
    solve(&mut cord, &environment, &mut bodies, 2e-3).unwrap();
    let weight: f64 = rig.model.masses().iter().sum::<f64>() * 9.81;
    assert!((pushes[0].linear.y / (-weight * 2e-3) - 1.0).abs() < 0.02, "{} {}", pushes[0].linear.y, weight * 2e-3);
}

#[test]
fn bad_input_is_refused() {
    let rest = |positions: &[DVec3], offsets: &[u32], radius: f32| {
        let radii = vec![radius; positions.len()];
        CordModel::new(RestShape { offsets, positions, radii: &radii }, CordMaterial::default(), 1).map(|_| ())
    };
    let line = straight(DVec3::X, 1.0, 4);
    assert!(rest(&line, &[0, 5], 1e-3).is_ok());
    assert!(matches!(rest(&line[..1], &[0, 1], 1e-3), Err(PhysicsError::Offsets { .. })));
    assert!(matches!(rest(&line, &[0, 4], 1e-3), Err(PhysicsError::Offsets { .. })));
    assert!(matches!(rest(&line, &[0, 5], -1e-3), Err(PhysicsError::Parameter { .. })));
    assert!(matches!(rest(&[DVec3::ZERO; 3], &[0, 3], 1e-3), Err(PhysicsError::Segment { .. })));
    let mut rig = Rig::new(&line, CordMaterial::default());
    let refused = |rig: &mut Rig, clamps: &[Clamp]| {
        let environment =
            Environment { gravity: GRAVITY, air: Air::default(), breeze: rig.flow.at(0.0), colliders: &[] };
        let mut bodies = Bodies::default();
        let mut cord = [Cords::new(&rig.model, &mut rig.state, &mut rig.scratch, clamps)];
        solve(&mut cord, &environment, &mut bodies, 1e-3).unwrap_err().1
    };
    for clamps in [
        vec![Clamp::pin(9, DVec3::ZERO)],
        vec![Clamp::pin(0, DVec3::NAN)],
        vec![Clamp::pin(0, DVec3::ZERO), Clamp::pin(0, DVec3::ZERO)],
        vec![body_clamp(0, 0, DVec3::ZERO)],
    ] {
        assert!(matches!(refused(&mut rig, &clamps), PhysicsError::Clamp { .. }));
    }
}

/// A row of boards between two ropes that are held at both ends.
#[test]
fn boards_on_two_ropes_hang_still_and_the_ropes_carry_their_weight() {
    let (segments, every) = (48, 8);
    let mut positions = straight(DVec3::X, 0.96, segments);
    positions.extend(straight(DVec3::X, 0.96, segments).into_iter().map(|x| x + DVec3::Z * 0.4));
    let count = segments as u32 + 1;
    let mut rig =
        Rig::several(&positions, &[0, count, 2 * count], CordMaterial { damping: 2.0, ..plain(Curve::elastic(1e8)) });
    for end in [0, segments, segments + 1, 2 * segments + 1] {
        let inwards = if end % (segments + 1) == 0 { 0.03 } else { -0.03 };
        rig.clamps.push(Clamp::pin(end as u32, positions[end] + DVec3::X * inwards));
    }
    for i in (every..segments).step_by(every) {
        let ends = [i, i + segments + 1];
        let centre = 0.5 * (positions[ends[0]] + positions[ends[1]]);
        for end in ends {
            rig.clamps.push(body_clamp(end as u32, rig.bodies.len(), positions[end] - centre));
        }
        let mut board = ball(centre, 0.5, 1.0);
        board.inverse_inertia = DMat3::from_diagonal(DVec3::new(90.0, 80.0, 900.0));
        rig.bodies.push(board);
    }
    let mut tally = Tally::default();
    for step in 0..1500 {
        tally = rig.step(4e-3);
        // After the clamps have been brought together.
        assert!(step < 5 || tally.stretch_error < 0.01 && tally.speed_max < 5.0, "{step} {tally:?}");
    }
    assert!(rig.bodies.iter().all(|body| body.velocity.length() < 0.02), "{:?}", rig.bodies[2].velocity);
    // Vertical pull at both ends of both ropes: half the weight of all each.
    let weight = 9.81 * (rig.bodies.len() as f64 * 0.5 + rig.model.masses().iter().sum::<f64>());
    let up = |s: usize, v: usize| {
        let direction = (rig.state.positions[v + 1] - rig.state.positions[v]).normalize();
        rig.state.tensions[s] * direction.y
    };
    let carried =
        -up(0, 0) + up(segments - 1, segments - 1) - up(segments, segments + 1) + up(2 * segments - 1, 2 * segments);
    assert!((carried / weight - 1.0).abs() < 0.03, "{carried} {weight} {tally:?}");
}

/// Two vertices of a rope on each board: what one pulls moves the other, which rounds of a run find out only slowly.
#[test]
fn boards_that_hold_a_rope_twice_agree_with_it() {
    let segments = 64;
    let positions = straight(DVec3::X, 1.28, segments);
    let mut rig = Rig::new(&positions, CordMaterial { damping: 0.5, ..plain(Curve::elastic(5e8)) });
    for (end, inwards) in [(0, 0.03), (segments, -0.03)] {
        rig.clamps.push(Clamp::pin(end as u32, positions[end] + DVec3::X * inwards));
    }
    for first in (8..segments - 8).step_by(12) {
        let ends = [first, first + 5];
        let centre = 0.5 * (positions[ends[0]] + positions[ends[1]]) + DVec3::new(0.0, 0.0, 0.2);
        for end in ends {
            rig.clamps.push(body_clamp(end as u32, rig.bodies.len(), positions[end] - centre));
        }
        let mut board = ball(centre, 1.0, 1.0);
        board.inverse_inertia = DMat3::from_diagonal(DVec3::new(45.0, 40.0, 300.0));
        rig.bodies.push(board);
    }
    let tallies: Vec<Tally> = (0..400).map(|_| rig.step(4e-3)).collect();
    assert!(tallies[5..].iter().all(|tally| tally.stretch_error < 1e-4));
    // Nearly all do not if rounds are not hurried.
    let unconverged: u64 = tallies.iter().map(|tally| tally.unconverged).sum();
    assert!(unconverged <= 20, "{unconverged} of 400");
}

#[test]
fn a_cord_along_a_board_that_holds_it_is_not_pushed_off() {
    // Through the end face of a board, held at both edges, with five vertices in between.
    let positions = straight(DVec3::X, 0.12, 12);
    let mut rig = Rig::new(&positions, plain(Curve::elastic(5e8)));
    let size = DVec3::new(0.08, 0.02, 0.2);
    let centre = DVec3::new(0.06, 0.0, -0.1);
    rig.bodies.push(BodyState { inverse_mass: 0.0, inverse_inertia: DMat3::ZERO, ..ball(centre, 1.0, 1.0) });
    rig.clamps.extend([3, 9].map(|v| body_clamp(v, 0, positions[v as usize] - centre)));
    let board = Field::Box { size };
    let collider = Collider::new(&board, Placement::at(centre), Placement::at(centre), 0.3).of_body(0);
    for _ in 0..50 {
        rig.step_among(std::slice::from_ref(&collider), 2e-3);
    }
    let most = rig.state.tensions.iter().copied().fold(0.0, f64::max);
    // The weight of the whole cord is 1.4e-2 N; pushed out by a radius it would be taut with 20 N.
    assert!(most < 0.5, "{most} N");
}

#[test]
fn a_cord_over_the_edge_of_a_board_that_holds_it_is_not_pulled_apart() {
    // Held a little farther from the edge than a segment is long, and dragged across it as the board turns over.
    let mut rig = Rig::new(&straight(DVec3::NEG_Y, 0.24, 5), plain(Curve::elastic(2e7)));
    let board = Field::Box { size: DVec3::new(0.8, 0.04, 0.2) };
    let anchor = DVec3::new(-0.35, 0.02, 0.0);
    let still = BodyState { inverse_mass: 0.0, inverse_inertia: DMat3::ZERO, ..ball(-anchor, 1.0, 1.0) };
    rig.bodies.push(BodyState { rotation: DQuat::from_rotation_z(PI), spin: DVec3::Z * 5.0, ..still });
    rig.bodies[0].centre = -(rig.bodies[0].rotation * anchor);
    rig.clamps.push(body_clamp(0, 0, anchor));
    let (dt, mut most) = (2e-3, 0.0_f64);
    for _ in 0..1000 {
        let body = rig.bodies[0];
        let at = |rotation: DQuat| Placement { rotation, ..Placement::at(body.centre) };
        let after = DQuat::from_scaled_axis(body.spin * dt) * body.rotation;
        rig.step_among(&[Collider::new(&board, at(body.rotation), at(after), 0.3).of_body(0)], dt);
        most = rig.state.tensions.iter().copied().fold(most, f64::max);
    }
    // 4 mN of weight, thrown at 2 m/s; a tenth of a segment longer it would be taut with 25 N.
    assert!(most < 3.0, "{most} N");
}

#[test]
fn a_clamp_holds_what_it_is_left_with_after_a_tear() {
    let curve = Curve::elastic(1e9).tearing_at(1e7);
    let torsion = Some(Torsion { curve, damping: 5.0, lag: 0.0, half_width: 1.0 });
    let mut rig = Rig::new(&straight(DVec3::X, 0.08, 8), CordMaterial { torsion, ..plain(Curve::elastic(1e9)) });
    rig.gravity = DVec3::ZERO;
    rig.clamps = [4, 8].map(|v| Clamp { direction: true, ..Clamp::pin(v, rig.state.positions[v as usize]) }).to_vec();
    let which = |rig: &Rig| {
        let held = held(&rig.model, &rig.state, &rig.clamps);
        (0..held.len()).filter(|v| held[*v]).collect::<Vec<_>>()
    };
    assert_eq!(which(&rig), [4, 5, 7, 8]);
    // Twisted at the joint after the segment whose direction is held.
    rig.state.angles[5..].fill(2.0);
    assert_eq!(rig.step(1e-6).torn_by_twist, 1);
    assert_eq!(rig.state.offsets, [0, 6, 10]);
    // Vertex 5 of the cord is there twice: what came off begins with one that nothing holds.
    assert_eq!(which(&rig), [4, 5, 8, 9]);
}

#[test]
fn a_cord_that_begins_inside_a_solid_is_let_out_and_not_shot() {
    let mut rig = Rig::new(&straight(DVec3::X, 0.5, 20), plain(Curve::elastic(2e7)));
    rig.gravity = DVec3::ZERO;
    // Its middle is 3 cm deep in a ball.
    let (ball, place) = (Field::Sphere { radius: 0.05 }, Placement::at(DVec3::new(0.25, 0.02, 0.0)));
    let collider = [Collider::new(&ball, place, place, 0.0)];
    let mut fastest = 0.0_f64;
    for _ in 0..500 {
        rig.step_among(&collider, 2e-3);
        fastest = rig.state.velocities.iter().map(|v| v.length()).fold(fastest, f64::max);
    }
    // At once it would be shot out at 15 m/s; the last two radii are left at once.
    assert!(fastest < 5.0, "{fastest}");
    let nearest = rig.state.positions.iter().map(|x| x.distance(place.translation)).fold(f64::INFINITY, f64::min);
    assert!(nearest > 0.05, "{nearest}");
}

#[test]
fn a_segment_that_begins_inside_a_solid_is_let_out_and_not_shot() {
    // Both ends of the segment in the middle are outside of the ball that it goes through.
    let mut rig = Rig::new(&straight(DVec3::X, 0.5, 5), plain(Curve::elastic(2e7)));
    rig.gravity = DVec3::ZERO;
    let (ball, place) = (Field::Sphere { radius: 0.02 }, Placement::at(DVec3::new(0.25, 0.004, 0.0)));
    let collider = [Collider::new(&ball, place, place, 0.0)];
    let mut fastest = 0.0_f64;
    for _ in 0..500 {
        rig.step_among(&collider, 2e-3);
        fastest = rig.state.velocities.iter().map(|v| v.length()).fold(fastest, f64::max);
    }
    // At once it would be shot out at 9 m/s.
    assert!(fastest < 3.0, "{fastest}");
    let [a, b] = [2, 3].map(|v| rig.state.positions[v]);
    let nearest = a.lerp(b, ((place.translation - a).dot(b - a) / (b - a).length_squared()).clamp(0.0, 1.0));
    let nearest = nearest.distance(place.translation);
    assert!(nearest > 0.02, "{nearest}");
}

#[test]
fn bodies_that_crush_a_cord_between_them_are_not_thrown() {
    let stream = Stream::new(7, "crush");
    // The body that comes from above and the one from below, whose boxes turn against the cord by an edge, a corner or a face.
    for case in 0..60 {
        let positions = straight(DVec3::X, 0.8, 8);
        let mut rig = Rig::new(&positions, plain(Curve::elastic(6e7)));
        rig.gravity = DVec3::ZERO;
        rig.clamps.extend([Clamp::pin(0, positions[0]), Clamp::pin(8, positions[8])]);
        let field = Field::Box { size: DVec3::splat(0.1) };
        for (i, side) in [(0, 1.0), (1, -1.0)] {
            let r = |k: u64| stream.uniform(10 * case + 5 * i + k);
            let centre = DVec3::new(0.35 + 0.1 * r(0), side * 0.12, 0.04 * (r(1) - 0.5));
            let mut body = ball(centre, 5.0, 5.0 * 0.01 / 6.0);
            body.rotation = DQuat::from_euler(glam::EulerRot::XYZ, 3.0 * r(2), 3.0 * r(3), 3.0 * r(4));
            body.velocity = DVec3::Y * -2.0 * side;
            rig.bodies.push(body);
        }
        let dt = 2e-3;
        let mut fastest = 0.0_f64;
        for _ in 0..100 {
            let at = |body: &BodyState| Placement { rotation: body.rotation, ..Placement::at(body.centre) };
            let after = |body: &BodyState| Placement {
                rotation: DQuat::from_scaled_axis(body.spin * dt) * body.rotation,
                ..Placement::at(body.centre + body.velocity * dt)
            };
            let colliders: Vec<Collider> = rig
                .bodies
                .iter()
                .enumerate()
                .map(|(i, body)| Collider::new(&field, at(body), after(body), 0.4).of_body(i))
                .collect();
            rig.step_among(&colliders, dt);
            fastest = rig.bodies.iter().map(|body| body.velocity.length()).fold(fastest, f64::max);
        }
        // They came at 2 m/s. Holds that strain against each other would throw them at 3.4.
        assert!(fastest < 2.5, "case {case}: {fastest}");
    }
}

#[test]
fn a_crushed_cord_does_not_throw_the_bodies_on_it() {
    // As a rope it is slack; as a rod it gets its length back, of which each of the bodies goes a half, in a tenth of a second.
    for (bending, limit) in [(Bending::HalfWidth(1.0), 0.01), (Bending::Modulus(1e7), 3.0)] {
        let (length, segments) = (0.5, 20);
        let mut rig =
            Rig::new(&straight(DVec3::X, length, segments), CordMaterial { bending, ..plain(Curve::elastic(6e7)) });
        rig.gravity = DVec3::ZERO;
        rig.state.positions.iter_mut().for_each(|x| *x *= 0.5);
        rig.clamps = vec![body_clamp(0, 0, DVec3::ZERO), body_clamp(segments as u32, 1, DVec3::ZERO)];
        rig.bodies = [0.0, 0.5 * length].map(|x| ball(DVec3::X * x, 2.0, 0.01)).to_vec();
        let mut fastest = 0.0_f64;
        for _ in 0..100 {
            rig.step(2e-3);
            fastest = rig.bodies.iter().map(|body| body.velocity.length()).fold(fastest, f64::max);
        }
        assert!(fastest < limit, "{fastest}");
    }
}

#[test]
fn a_cord_that_tears_has_passed_on_no_more_than_its_strength() {
    let (mass, strength, dt) = (1.0, 2e7 * AREA, 1e-3);
    for speed in [3.0, 30.0] {
        let positions = straight(DVec3::NEG_Y, 0.5, 10);
        let mut rig = Rig::new(&positions, plain(Curve::elastic(1e9).tearing_at(2e7)));
        rig.gravity = DVec3::ZERO;
        rig.clamps.extend([Clamp::pin(0, positions[0]), body_clamp(10, 0, DVec3::ZERO)]);
        rig.bodies.push(BodyState { velocity: DVec3::NEG_Y * speed, ..ball(positions[10], mass, 1e-3) });
        let (mut torn, mut steps) = (0, 0);
        while torn == 0 && steps < 100 {
            torn = rig.step(dt).torn_by_pull;
            steps += 1;
        }
        assert_eq!(torn, 1, "{speed} m/s");
        let lost = mass * (speed - rig.bodies[0].velocity.length());
        assert!(lost > 0.0 && lost <= strength * dt * f64::from(steps) + 0.002 * speed, "{lost} N s in {steps} steps");
    }
}

#[test]
fn random_configurations_stay_finite() {
    let stream = Stream::new(11, "cords");
    for case in 0..10_000_u64 {
        let random = stream.child(case);
        let pick = |index: u64, count: f64| (random.uniform(index) * count) as usize;
        let count = 2 + pick(0, 7.0);
        let step = 10.0_f64.powf(random.range(1, -3.0, 0.0));
        let mut positions = vec![DVec3::ZERO];
        for i in 1..count {
            positions.push(
                positions[i - 1] + random.direction(100 + i as u64) * step * random.range(200 + i as u64, 0.2, 2.0),
            );
        }
        let curve = |index: u64| {
            let slope = 10.0_f64.powf(random.range(index, 4.0, 11.0));
            let stress = slope * 10.0_f64.powf(random.range(index + 1, -4.0, 0.0));
            match pick(index + 2, 3.0) {
                0 => Curve::elastic(slope),
                1 => Curve::elastic(slope).tearing_at(stress),
                _ => Curve::elastic(slope)
                    .yielding_at(stress, slope * random.range(index + 3, 0.01, 1.0))
                    .tearing_at(2.0 * stress),
            }
        };
        let bending = [Bending::None, Bending::HalfWidth(random.range(2, 0.0, 12.0)), Bending::Modulus(1e8)];
        let material = CordMaterial {
            bending: bending[pick(3, 3.0)].clone(),
            tension: curve(10),
            torsion: (pick(4, 4.0) > 0).then(|| Torsion {
                curve: curve(20),
                damping: random.range(5, 0.0, 10.0),
                lag: random.range(6, 0.0, 0.01),
                half_width: random.range(7, 0.0, 4.0),
            }),
            flick: pick(8, 2.0) == 0,
            ..CordMaterial::default()
        };
        let mut rig = Rig::new(&positions, material);
        match pick(9, 4.0) {
            // All in one place; far apart; anywhere.
            0 => rig.state.positions.fill(DVec3::ONE),
            1 => rig.state.positions.iter_mut().for_each(|x| *x *= 50.0),
            2 => rig
                .state
                .positions
                .iter_mut()
                .enumerate()
                .for_each(|(i, x)| *x = random.direction(300 + i as u64) * step),
            _ => {}
        }
        for (i, v) in rig.state.velocities.iter_mut().enumerate() {
            *v = random.direction(400 + i as u64) * random.range(30, 0.0, 20.0);
        }
        let place = |index: u64| random.direction(index) * step * random.range(index + 1, 0.0, 30.0);
        let held = Clamp::fixed(&rig.model, 0, place(40), DQuat::from_axis_angle(random.direction(42), 2.0));
        match pick(31, 4.0) {
            0 => rig.clamps = vec![held],
            1 if count > 3 => rig.clamps = vec![held, Clamp::pin(count as u32 - 1, place(44))],
            2 => {
                // On bodies from much lighter than a segment to much heavier, held anywhere.
                let mut hung =
                    body_clamp(count as u32 - 1, 0, random.direction(46) * step * random.range(47, 0.0, 10.0));
                (hung.roll, hung.direction) = (pick(32, 2.0) == 0, pick(33, 2.0) == 0);
                rig.clamps = if count > 3 { vec![held, hung] } else { vec![hung] };
                let mass = rig.model.masses()[0] * 10.0_f64.powf(random.range(34, -3.0, 5.0));
                rig.bodies = vec![ball(place(48), mass, mass * step * step)];
            }
            _ => {}
        }
        let ground = Field::HalfSpace;
        let collider = [Collider::new(&ground, Placement::IDENTITY, Placement::at(DVec3::Y * 0.01), 0.5)];
        let colliders: &[Collider] = if pick(35, 2.0) == 0 { &collider } else { &[] };
        let dt = 10.0_f64.powf(random.range(36, -4.0, -1.5));
        for step in 0..4 {
            let tally = rig.step_among(colliders, dt);
            assert!(tally.speed_max.is_finite(), "case {case} step {step}: {tally:?}");
        }
        let state = &rig.state;
        assert!(
            state.positions.iter().chain(&state.velocities).chain(&state.references).all(|x| x.is_finite()),
            "{case}"
        );
        let numbers = state.tensions.iter().chain(&state.torques).chain(&state.angles).chain(&state.rates);
        assert!(numbers.chain(&state.plastic_strains).all(|x| x.is_finite()), "{case}");
        assert!(rig.bodies.iter().all(|body| body.velocity.is_finite() && body.spin.is_finite()), "{case}");
        assert!(state.check(&rig.model).is_ok(), "{case}");
    }
}

/// A ball of 2 cm that falls on the middle of a slack rope of 1 m, whose ends are pinned 98 cm apart: the rig after a time, and the lowest
/// that the ball has been.
fn dropped_on_a_rope(segments: usize, x: f64, time: f64) -> (Rig, f64) {
    let (radius, mass, dt) = (0.02, 0.5, 2e-3);
    let span = 0.98;
    let sag = |s: f64| -0.5 * f64::sqrt(1.0 - span * span) * (1.0 - (2.0 * s - 1.0).abs());
    let rope: Vec<DVec3> =
        (0..=segments).map(|i| i as f64 / segments as f64).map(|s| DVec3::new(s * span, sag(s), 0.0)).collect();
    let mut rig = Rig::new(&rope, CordMaterial { damping: 4.0, ..plain(Curve::elastic(1e9)) });
    rig.clamps = vec![Clamp::pin(0, DVec3::ZERO), Clamp::pin(segments as u32, DVec3::X * span)];
    rig.bodies = vec![ball(DVec3::new(x, 0.05, 0.0), mass, 0.4 * mass * radius * radius)];
    let shape = Field::Sphere { radius };
    let mut lowest = f64::INFINITY;
    for _ in 0..(time / dt) as u32 {
        let body = rig.bodies[0];
        let after = body.centre + (body.velocity + GRAVITY * dt) * dt;
        let at = |centre: DVec3| Placement { rotation: body.rotation, ..Placement::at(centre) };
        let collider = [Collider::new(&shape, at(body.centre), at(after), 0.5).of_body(0)];
        let tally = rig.step_among(&collider, dt);
        assert!(tally.penetration_max < 1e-3, "{}", tally.penetration_max);
        lowest = lowest.min(rig.bodies[0].centre.y);
    }
    (rig, lowest)
}

#[test]
fn a_ball_smaller_than_a_segment_lies_on_it() {
    let (rig, lowest) = dropped_on_a_rope(9, 0.49, 6.0);
    let (ball, tension, x) = (&rig.bodies[0], &rig.state.tensions, &rig.state.positions);
    assert!(lowest > -0.1 && ball.velocity.length() < 2e-3, "{lowest} {}", ball.velocity);
    // It lies on the middle of the middle segment, which is level; the ends bear its weight and that of the rope between them.
    let middle = 0.5 * (x[4] + x[5]);
    let keep = RADIUS + rig.model.material().margin;
    assert!((ball.centre.y - middle.y - 0.02 - keep).abs() < 5e-4, "{} {}", ball.centre, middle);
    let up = |s: usize| tension[s] * (x[s + 1] - x[s]).normalize().y;
    let weight = 9.81 * (0.5 + rig.masses()[1..9].iter().sum::<f64>());
    assert!(((up(8) - up(0)) / weight - 1.0).abs() < 0.01, "{} {} {weight}", up(0), up(8));
    assert!((up(0) / up(8) + 1.0).abs() < 0.02, "{} {}", up(0), up(8));
}

#[test]
fn a_small_ball_is_caught_wherever_it_hits() {
    for (segments, x) in [(10, 0.44), (10, 0.41), (5, 0.6), (100, 0.445)] {
        let (rig, lowest) = dropped_on_a_rope(segments, x, 1.0);
        assert!(lowest > -0.12, "{segments} segments, dropped at {x}: {lowest} {}", rig.bodies[0].centre);
    }
}

#[test]
fn a_ball_that_hits_between_vertices_gives_the_cord_what_it_loses() {
    let mut rig = Rig::new(&straight(DVec3::X, 1.0, 5), plain(Curve::elastic(1e9)));
    rig.gravity = DVec3::ZERO;
    rig.bodies = vec![ball(DVec3::new(0.33, 0.05, 0.0), 0.02, 1e-6)];
    rig.bodies[0].velocity = DVec3::new(0.4, -2.0, 0.1);
    let (shape, dt) = (Field::Sphere { radius: 0.02 }, 2e-3);
    let all = |rig: &Rig| {
        let (cord, turning) = rig.momentum();
        let own = rig.bodies[0].velocity * 0.02;
        (cord + own, turning + rig.bodies[0].centre.cross(own) + rig.bodies[0].spin * 1e-6)
    };
    let before = all(&rig);
    for _ in 0..60 {
        let body = rig.bodies[0];
        let at = |centre: DVec3| Placement { rotation: body.rotation, ..Placement::at(centre) };
        let collider = [Collider::new(&shape, at(body.centre), at(body.centre + body.velocity * dt), 0.3).of_body(0)];
        rig.step_among(&collider, dt);
    }
    let after = all(&rig);
    let slowed = (rig.bodies[0].velocity.y + 2.0).abs();
    assert!(slowed > 0.2, "it was hit: {slowed}");
    assert!((after.0 - before.0).length() < 1e-6 * before.0.length(), "{} {}", before.0, after.0);
    assert!((after.1 - before.1).length() < 0.02 * before.1.length(), "{} {}", before.1, after.1);
}
