//! Closed forms, invariances and published figures that single strands must meet.
#![allow(missing_docs)]

use crate::common::*;
use drench_physics::air::{Air, AirFlow, Wind};
use drench_physics::diagnostics;
use drench_physics::strands::{Material, Method, RestShape, Roots, StrandModel, Tip, pbd};
use glam::{DQuat, DVec3};
use std::f64::consts::TAU;

/// Mean period of the tip's swing through x = 0, from upward crossings.
fn period(body: &mut Body, dt: f64, crossings: usize) -> f64 {
    let (mut times, mut time) = (Vec::new(), 0.0);
    let tip = body.state.positions.len() - 1;
    while times.len() < crossings {
        let before = body.state.positions[tip].x;
        body.step(dt);
        time += dt;
        let after = body.state.positions[tip].x;
        if before < 0.0 && after >= 0.0 {
            times.push(time - dt * after / (after - before));
        }
        assert!(time < 100.0);
    }
    (times[crossings - 1] - times[0]) / (crossings - 1) as f64
}

#[test]
fn a_pendulum_keeps_its_period() {
    let (length, angle) = (0.25, 0.5_f64);
    let expected = TAU * (length / 9.81_f64).sqrt() * (1.0 + angle.powi(2) / 16.0 + 11.0 * angle.powi(4) / 3072.0);
    for method in [dftl(), pbd(1e-9)] {
        let direction = DVec3::new(angle.sin(), -angle.cos(), 0.0);
        let mut body = Body::new(&straight(DVec3::ZERO, direction, length, 2), 2, limp(), method);
        // First order in dt: the swing dies down slowly, which shortens the period towards that of a small angle.
        let measured = period(&mut body, 2e-4, 3);
        assert!((measured / expected - 1.0).abs() < 3e-3, "{measured} {expected}");
    }
}

#[test]
fn a_hanging_chain_swings_in_its_first_mode() {
    // Bessel mode of a chain, w = 1.2024 sqrt(g / L): the small swing of many vertices.
    let length = 0.3;
    let shape = |s: f64| {
        // J0(2.4048 sqrt(z)), z = height over the tip, by its power series.
        let q = -(2.404_825_6_f64 * (1.0 - s).max(0.0).sqrt()).powi(2) / 4.0;
        let mut term = 1.0;
        (1..20).fold(1.0, |sum, k| {
            term *= q / f64::from(k * k);
            sum + term
        })
    };
    let n = 24;
    let positions: Vec<DVec3> = (0..n)
        .map(|i| {
            let s = f64::from(i) / f64::from(n - 1);
            DVec3::new(0.01 * shape(s), -length * s, 0.0)
        })
        .collect();
    let mut body = Body::new(&positions, n as usize, limp(), pbd(1e-5));
    let expected = TAU / (1.2024 * (9.81_f64 / length).sqrt());
    let measured = period(&mut body, 1e-3, 3);
    assert!((measured / expected - 1.0).abs() < 0.02, "{measured} {expected}");
}

#[test]
fn strands_fall_freely_with_their_roots() {
    for method in [dftl(), pbd(0.01)] {
        for material in [limp(), Material::default()] {
            let rest = helix(DVec3::ZERO, 0.01, 0.03, 3.0, 25);
            let mut body = Body::new(&rest, 25, material, method);
            let dt = 0.005;
            let (mut velocity, mut drop) = (0.0, 0.0);
            for _ in 0..100 {
                velocity += GRAVITY.y * dt;
                drop += velocity * dt;
                body.roots.positions[0].y = drop;
                body.step(dt);
            }
            let furthest = rest.iter().zip(&body.state.positions).map(|(a, b)| (*a + DVec3::Y * drop - *b).length());
            let furthest = furthest.fold(0.0, f64::max);
            // Lengths are kept in single precision, so the rest shape is met to 1e-7 of a segment, a hundred times.
            assert!(furthest < 2e-6, "{method:?} {furthest}");
        }
    }
}

#[test]
fn a_chain_between_two_nails_is_a_catenary() {
    // Length 1.2 over a gap of 1: y = a cosh(x / a) with 2 a sinh(1 / 2a) = 1.2.
    let (mut low, mut high) = (0.1, 10.0);
    while high - low > 1e-12 {
        let a = 0.5 * (low + high);
        if 2.0 * a * (0.5_f64 / a).sinh() > 1.2 { low = a } else { high = a }
    }
    let sag = low * ((0.5 / low).cosh() - 1.0);
    let n = 25;
    let half = (0.6_f64.powi(2) - 0.25).sqrt();
    let positions: Vec<DVec3> = (0..n)
        .map(|i| {
            let s = f64::from(i) / f64::from(n - 1);
            DVec3::new(s, -half * (1.0 - (2.0 * s - 1.0).abs()), 0.0)
        })
        .collect();
    let material = Material { damping: 5.0, ..limp() };
    let method = pbd(1e-7);
    let mut body = Body::with_tips(&positions, n as usize, material, method, Tip::Clamped);
    for _ in 0..2000 {
        body.step(0.004);
    }
    let lowest = body.state.positions.iter().map(|p| p.y).fold(0.0, f64::min);
    assert!((lowest / -sag - 1.0).abs() < 0.01, "{lowest} {sag}");
    assert!((body.state.positions[n as usize - 1] - positions[n as usize - 1]).length() < 1e-12);
}

/// Drop over reach of a horizontal cantilever of G = rho A g L^3 / (E I), at rest.
fn cantilever(method: Method, g_number: f64, vertices: usize, dt: f64) -> (f64, f64) {
    let (length, radius, density) = (0.1, 35e-6, 1320.0);
    let youngs_modulus = 4.0 * density * 9.81 * length * length * length / (g_number * radius * radius);
    let material = Material { youngs_modulus, shape_damping: 0.3, damping: 2.0, ..Material::default() };
    let mut body = Body::new(&straight(DVec3::ZERO, DVec3::X, length, vertices), vertices, material, method);
    let steps = (6.0 / dt) as usize;
    for _ in 0..steps {
        body.step(dt);
    }
    let tip = body.state.positions[vertices - 1];
    (-tip.y / tip.x, body.measure().speed_max)
}

#[test]
fn a_cantilever_bends_like_a_rod() {
    // validation table: G -> H/W.
    for (g_number, expected) in [(0.1, 0.01250), (1.0, 0.12456), (3.0, 0.36462), (10.0, 1.06680)] {
        let error = |method, vertices, dt| {
            let (ratio, speed) = cantilever(method, g_number, vertices, dt);
            assert!(speed < 1e-4, "G {g_number}: still moving at {speed}");
            (ratio / expected - 1.0).abs()
        };
        let coarse = error(dftl(), 6, 0.002);
        let fine = error(dftl(), 21, 0.002);
        assert!(coarse < 0.1 && fine < 0.01, "G {g_number}: {coarse} {fine}");
        // The same hair with a frame's step of 1/100 s.
        assert!(error(dftl(), 11, 0.01) < 0.03);
        if g_number <= 3.0 {
            let (coarse, fine) = (error(pbd(1e-3), 6, 0.002), error(pbd(1e-3), 21, 0.002));
            assert!(coarse < 0.07 && fine < 0.02, "pbd, G {g_number}: {coarse} {fine}");
        }
    }
}

#[test]
fn curls_stay_when_stiff() {
    for method in [dftl(), pbd(0.01)] {
        // Turns of 1 cm across and 2 cm pitch: 6 cm of hair, held at the top.
        let rest = helix(DVec3::ZERO, 0.005, 0.02, 1.5, 25);
        let material = Material { shape: 30.0, shape_damping: 0.3, ..Material::default() };
        let mut body = Body::new(&rest, 25, material, method);
        for _ in 0..600 {
            body.step(0.004);
        }
        let away = rest.iter().zip(&body.state.positions).map(|(a, b)| (*a - *b).length()).fold(0.0, f64::max);
        assert!(away < 0.002, "{method:?} {away}");
    }
}

#[test]
fn hair_follows_a_turning_head_and_comes_to_rest_in_its_shape() {
    for method in [dftl(), pbd(0.01)] {
        let rest = helix(DVec3::X * 0.1, 0.004, 0.02, 1.0, 15);
        let mut body = Body::new(&rest, 15, Material { shape_damping: 0.5, ..Material::default() }, method);
        body.gravity = DVec3::ZERO;
        let axis = DVec3::new(1.0, 2.0, -0.5).normalize();
        let dt = 0.004;
        for step in 1..=1000 {
            body.roots.advance();
            let turn = DQuat::from_axis_angle(axis, 1.9 * (f64::from(step) / 100.0).min(1.0));
            body.roots.frames[0] = turn;
            body.roots.positions[0] = turn * rest[0];
            body.step(dt);
        }
        let turn = DQuat::from_axis_angle(axis, 1.9);
        let away = rest.iter().zip(&body.state.positions).map(|(a, b)| (turn * *a - *b).length()).fold(0.0, f64::max);
        assert!(away < 1e-4, "{method:?} {away}");
    }
}

#[test]
fn at_rest_nothing_moves() {
    for method in [dftl(), pbd(0.01)] {
        for shape in [0.0, 1.0] {
            let material = Material { shape, damping: 1.0, shape_damping: 0.3, ..Material::default() };
            let mut body = Body::new(&straight(DVec3::ZERO, DVec3::new(0.6, 0.8, 0.0), 0.08, 17), 17, material, method);
            let mut later = Vec::new();
            for step in 0..6000 {
                body.step(0.004);
                if step % 1500 == 1499 {
                    later.push(body.measure().speed_max);
                }
            }
            assert!(later[2] < 1e-4 && later[3] < 1e-4, "{method:?} shape {shape}: {later:?}");
        }
    }
}

#[test]
fn long_hair_calms_down_after_its_root_was_shaken() {
    // 17 cm of hair, G = 54, shaken at 1 m/s: explicit bending whips at 20 m/s here and never stops.
    for dt in [0.001, 0.0025, 0.01] {
        let rest = straight(DVec3::ZERO, DVec3::new(0.8, 0.6, 0.0), 0.17, 35);
        let mut body = Body::new(&rest, 35, Material::default(), dftl());
        body.air = Air::default();
        let mut fastest = 0.0_f64;
        for step in 0..(4.0 / dt) as u32 {
            let t = (f64::from(step) * dt).min(1.0);
            body.roots.positions[0].x = 0.1 * (10.0 * t).sin();
            fastest = fastest.max(body.step(dt).speed_max());
        }
        assert!(fastest < 4.0, "dt {dt}: {fastest}");
        assert!(body.measure().speed_max < 0.05, "dt {dt}: {}", body.measure().speed_max);
    }
}

#[test]
fn dftl_never_stretches() {
    let mut body = Body::new(&straight(DVec3::ZERO, DVec3::X, 0.3, 30), 30, Material::default(), dftl());
    body.air = Air::default();
    body.flow = AirFlow::new(&[Wind::Turbulent { velocity: DVec3::Z * 5.0, speed: 4.0, size: 0.1 }], 1);
    for step in 0..300 {
        // A root that jumps about.
        let t = 0.01 * f64::from(step);
        body.roots.positions[0] = DVec3::new((31.0 * t).sin(), (17.0 * t).cos(), (57.0 * t).sin()) * 0.3;
        body.roots.advance();
        body.roots.frames[0] = DQuat::from_rotation_y(9.0 * t);
        body.step(0.01);
        assert!(body.measure().strain_max < 1e-6);
    }
}

/// Mean and most iterations of a rope of 30 vertices whose root moves sideways and back at `speed` [m/s].
fn rope(distance: f64, relaxation: f64, speed: f64, mass: pbd::MassLaw, segment: Option<f64>) -> (f64, u32) {
    let iterations = match segment {
        Some(stretch) => pbd::Iterations::Segment { stretch, least: 4, most: 1000 },
        None => pbd::Iterations::Strand { stretch: 0.05, least: 4, most: 1000 },
    };
    let method = Method::Pbd(pbd::Parameters { iterations, relaxation, mass, strain_limit: pbd::NO_LIMIT });
    let direction = if speed == 0.0 { DVec3::X } else { DVec3::NEG_Y };
    let mut body = Body::new(&straight(DVec3::ZERO, direction, distance * 29.0, 30), 30, limp(), method);
    let (mut mean, mut most) = (0.0, 0);
    let steps = 400;
    for step in 0..steps {
        // Half a second each way.
        let there = if step % 100 < 50 { 1.0 } else { -1.0 };
        body.roots.positions[0].x += there * speed * 0.01;
        let tally = body.step(0.01);
        mean += tally.iterations_mean() / f64::from(steps);
        most = most.max(tally.iterations_max);
    }
    (mean, most)
}

#[test]
fn over_relaxation_and_uneven_masses_save_iterations() {
    // [Henne2013, section 3.4.1]: at 4 m/s and 0.02 m, 74.1 / 134 at k = 1, 14.4 / 30 at k = 1.65, 7.0 / 14 with m = 1 / i.
    let plain = rope(0.02, 1.0, 4.0, pbd::MassLaw::Even, None);
    let relaxed = rope(0.02, 1.65, 4.0, pbd::MassLaw::Even, None);
    let uneven = rope(0.02, 1.65, 4.0, pbd::MassLaw::Uneven, None);
    assert!(plain.0 > 3.0 * relaxed.0 && relaxed.0 > 1.3 * uneven.0, "{plain:?} {relaxed:?} {uneven:?}");
    // A falling rope needs the least: 4.0 / 4 at 0.04 m.
    let falling = rope(0.04, 1.65, 0.0, pbd::MassLaw::Even, None);
    assert!(falling.0 < 5.0, "{falling:?}");
    // Every segment within 10 % is harder than the whole within 5 %.
    let segments = rope(0.02, 1.65, 4.0, pbd::MassLaw::Even, Some(0.1));
    assert!(segments.0 > relaxed.0, "{segments:?} {relaxed:?}");
}

#[test]
fn the_world_has_no_preferred_direction() {
    for method in [dftl(), pbd(0.01)] {
        let turn = DQuat::from_axis_angle(DVec3::new(0.3, -1.0, 0.6).normalize(), 1.1);
        let shift = DVec3::new(0.4, -0.2, 0.7);
        let rest = helix(DVec3::ZERO, 0.01, 0.03, 2.0, 20);
        let mut here = Body::new(&rest, 20, Material::default(), method);
        let mut there = Body::new(&rest, 20, Material::default(), method);
        here.air = Air::default();
        here.flow = AirFlow::new(&[Wind::Uniform { velocity: DVec3::X * 2.0 }], 0);
        there.air = Air::default();
        there.flow = AirFlow::new(&[Wind::Uniform { velocity: turn * (DVec3::X * 2.0) }], 0);
        there.gravity = turn * here.gravity;
        there.state.positions.iter_mut().for_each(|p| *p = turn * *p + shift);
        there.roots = Roots::at_rest(vec![shift]);
        (there.roots.frames[0], there.roots.frames_before[0]) = (turn, turn);
        for _ in 0..50 {
            here.step(0.005);
            there.step(0.005);
        }
        let pairs = here.state.positions.iter().zip(&there.state.positions);
        let apart = pairs.map(|(a, b)| (turn * *a + shift - *b).length()).fold(0.0, f64::max);
        assert!(apart < 1e-9, "{method:?} {apart}");
    }
}

#[test]
fn light_hair_drifts_with_the_wind() {
    // Without gravity a loose, very light strand ends up along the wind, and its tip is not faster than the wind.
    let material = Material { density: 1.0, ..limp() };
    let mut body = Body::new(&straight(DVec3::ZERO, DVec3::NEG_Y, 0.1, 12), 12, material, dftl());
    body.gravity = DVec3::ZERO;
    body.air = Air::default();
    body.flow = AirFlow::new(&[Wind::Uniform { velocity: DVec3::X * 3.0 }], 0);
    for _ in 0..500 {
        let tally = body.step(0.01);
        assert!(tally.speed_max() < 6.0);
    }
    let tip = body.state.positions[11];
    assert!(tip.x > 0.099, "{tip}");
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let run = |threads: usize, method: Method| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let ball = drench_physics::synthetic::HairyBall::new(0.1, 7001, 0.0, 0.01, |y| 3 + (y * 9.0) as usize);
            let model = drench_physics::strands::StrandModel::new(ball.rest(), Material::default(), method, Tip::Free);
            let model = model.unwrap();
            let interaction = drench_physics::interaction::Interaction { repulsion: 0.01, ..Default::default() };
            let mut state = drench_physics::strands::StrandState::at_rest(&model, ball.positions.clone());
            let mut scratch = drench_physics::strands::StrandScratch::new(&model);
            let mut grid = drench_physics::interaction::Grid::default();
            let flow = AirFlow::new(&[Wind::Turbulent { velocity: DVec3::X, speed: 2.0, size: 0.1 }], 1);
            for step in 0..3 {
                let environment = drench_physics::strands::Environment {
                    gravity: GRAVITY,
                    air: Air::default(),
                    breeze: flow.at(0.01 * f64::from(step)),
                    colliders: &[],
                };
                let roots = ball.roots();
                let inside = Some(&interaction);
                drench_physics::strands::solve(&model, &mut state, &mut scratch, &roots, &environment, inside, 0.01)
                    .unwrap();
                grid.assemble(&interaction, &[&scratch], &[]);
                grid.apply(&interaction, &mut state, &[], 0.01);
            }
            state
        })
    };
    for method in [dftl(), pbd(0.05)] {
        let one = run(1, method);
        assert!(one == run(2, method));
        assert!(one == run(8, method));
    }
}

#[test]
fn bad_input_is_refused_by_name() {
    use drench_physics::strands::{RestShape, StrandModel};
    let build = |offsets: &[u32], positions: &[DVec3], material: Material, method: Method, tip: Tip| {
        let radii = vec![35e-6; positions.len()];
        StrandModel::new(RestShape { offsets, positions, radii: &radii }, material, method, tip).map(|_| ())
    };
    let line = straight(DVec3::ZERO, DVec3::X, 0.1, 4);
    let fine = Material::default();
    assert!(build(&[0, 4], &line, fine, dftl(), Tip::Free).is_ok());
    assert!(build(&[0], &[], fine, dftl(), Tip::Free).is_ok());
    assert!(build(&[0, 4], &line, fine, dftl(), Tip::Clamped).is_err());
    assert!(build(&[0, 3, 4], &line, fine, dftl(), Tip::Free).is_err());
    assert!(build(&[0, 9, 4], &line, fine, dftl(), Tip::Free).is_err());
    assert!(build(&[], &line, fine, dftl(), Tip::Free).is_err());
    assert!(build(&[0, 4], &line, Material { density: 0.0, ..fine }, dftl(), Tip::Free).is_err());
    assert!(build(&[0, 4], &line, Material { shape: f64::NAN, ..fine }, dftl(), Tip::Free).is_err());
    let mut broken = line.clone();
    broken[2] = broken[1];
    let error = build(&[0, 4], &broken, fine, dftl(), Tip::Free).unwrap_err();
    assert!(error.to_string().contains("segment 1"), "{error}");
    broken[2].x = f64::NAN;
    assert!(build(&[0, 4], &broken, fine, dftl(), Tip::Free).is_err());
}

#[test]
fn what_is_not_finite_is_named() {
    let rest = [straight(DVec3::ZERO, DVec3::X, 0.1, 4), straight(DVec3::Y, DVec3::X, 0.1, 4)].concat();
    let mut body = Body::new(&rest, 4, limp(), dftl());
    body.state.velocities[6].y = f64::NAN;
    assert!(!body.step(0.01).is_finite());
    let error = drench_physics::diagnostics::measure("fringe", &body.model, &body.state, GRAVITY).unwrap_err();
    assert!(error.to_string().starts_with("fringe: strand 1"), "{error}");
}

#[test]
fn a_tip_may_be_a_point_but_no_other_vertex() {
    let positions = straight(DVec3::ZERO, DVec3::X, 0.04, 5);
    let build = |radii: [f32; 5]| {
        let rest = RestShape { offsets: &[0, 5], positions: &positions, radii: &radii };
        StrandModel::new(rest, Material::default(), dftl(), Tip::Free)
    };
    let r = 40e-6;
    let model = build([r, r, r, r, 0.0]).unwrap();
    assert_eq!(model.radii()[4], 0.25 * r);
    assert!(model.masses().iter().all(|&mass| mass > 0.0));
    for bad in [[0.0, r, r, r, r], [r, r, 0.0, r, r], [r, r, r, 0.0, 0.0], [r, r, r, r, -r], [r, r, r, r, f32::NAN]] {
        assert!(build(bad).unwrap_err().to_string().contains("radius"), "{bad:?}");
    }
}

#[test]
fn a_body_that_explodes_is_told_before_it_is_infinite() {
    let mut body = Body::new(&straight(DVec3::ZERO, DVec3::X, 0.1, 6), 6, limp(), dftl());
    body.state.velocities[3] = DVec3::Y * 1e9;
    let error = diagnostics::measure("mane", &body.model, &body.state, GRAVITY).unwrap_err().to_string();
    assert!(error.contains("mane: strand 0 moves at 1.0e9 m/s"), "{error}");
}
