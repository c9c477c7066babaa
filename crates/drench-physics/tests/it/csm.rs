//! Chain shape matching of whole strands: laws, invariances, conservation, bad input.
#![allow(missing_docs)]

use crate::common::*;
use drench_math::random::Stream;
use drench_physics::strands::csm::{self, HalfWidths, Parameters, Stiffness};
use drench_physics::strands::{Material, Method, RestShape, StrandModel, StrandState, Tip};
use glam::{DQuat, DVec3};

fn csm(half_width: f64) -> Method {
    Method::Csm(Parameters::even(half_width))
}

fn loose(half_width: f64) -> Method {
    Method::Csm(Parameters { clamped: 0, ..Parameters::even(half_width) })
}

/// A curl of 1 cm radius along x.
fn curl(count: usize) -> Vec<DVec3> {
    let at = |i: usize| {
        let angle = 0.5 * i as f64;
        DVec3::new(0.003 * i as f64, 0.01 * angle.cos() - 0.01, 0.01 * angle.sin())
    };
    (0..count).map(at).collect()
}

fn largest_distance(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

#[test]
fn at_rest_without_weight_nothing_moves() {
    for half_width in [0.4, 1.0, 2.5, 6.0, 100.0] {
        let rest = curl(40);
        let mut body = Body::new(&rest, 40, Material::default(), csm(half_width));
        body.gravity = DVec3::ZERO;
        for _ in 0..100 {
            body.step(0.01);
        }
        let moved = largest_distance(&body.state.positions, &rest);
        assert!(moved < 5e-6, "{half_width}: {moved:e}");
    }
}

#[test]
fn a_strand_that_is_carried_about_keeps_its_shape() {
    let rest = curl(16);
    let mut body = Body::new(&rest, 16, Material { damping: 0.5, ..Material::default() }, csm(4.0));
    body.gravity = DVec3::ZERO;
    let mut place = (DQuat::IDENTITY, DVec3::ZERO);
    // Slowly: inertia deforms too.
    for step in 1..=4000_u32 {
        let angle = 1.5 * f64::from(step) / 4000.0;
        place = (DQuat::from_scaled_axis(DVec3::new(0.3, 1.0, 0.2) * angle), DVec3::Y * (0.1 * angle));
        body.roots.advance();
        body.roots.frames[0] = place.0;
        body.roots.positions[0] = place.0 * rest[0] + place.1;
        body.step(0.01);
    }
    let carried: Vec<DVec3> = rest.iter().map(|x| place.0 * *x + place.1).collect();
    let moved = largest_distance(&body.state.positions, &carried);
    assert!(moved < 3e-3, "{moved:e}");
}

#[test]
fn the_world_has_no_preferred_place_or_direction() {
    let turn = DQuat::from_scaled_axis(DVec3::new(0.4, -1.3, 0.8));
    let shift = DVec3::new(3.0, -1.0, 2.0);
    let rest = curl(30);
    let moved: Vec<DVec3> = rest.iter().map(|x| turn * *x + shift).collect();
    let mut one = Body::new(&rest, 30, Material::default(), csm(2.7));
    let mut other = Body::new(&moved, 30, Material::default(), csm(2.7));
    other.gravity = turn * one.gravity;
    for _ in 0..60 {
        one.step(0.007);
        other.step(0.007);
    }
    let expected: Vec<DVec3> = one.state.positions.iter().map(|x| turn * *x + shift).collect();
    assert!(largest_distance(&other.state.positions, &expected) < 1e-6);
}

/// Momentum and angular momentum about the origin.
fn momenta(body: &Body) -> (DVec3, DVec3) {
    let masses = body.model.masses().iter().map(|m| f64::from(*m));
    let both = body.state.positions.iter().zip(&body.state.velocities).zip(masses);
    both.fold((DVec3::ZERO, DVec3::ZERO), |(p, l), ((x, v), m)| (p + *v * m, l + x.cross(*v) * m))
}

#[test]
fn a_loose_strand_keeps_its_momentum_and_its_angular_momentum() {
    let stream = Stream::new(4, "kick");
    for half_width in [1.0, 3.4] {
        let mut body = Body::new(&curl(40), 40, Material::default(), loose(half_width));
        body.gravity = DVec3::ZERO;
        for (i, velocity) in body.state.velocities.iter_mut().enumerate() {
            *velocity = DVec3::new(0.2, 0.1, -0.3) + 0.3 * stream.direction(i as u64);
        }
        let (p, l) = momenta(&body);
        for _ in 0..200 {
            body.step(0.01);
        }
        let (p_after, l_after) = momenta(&body);
        assert!((p_after - p).length() < 1e-11 * p.length(), "{p} {p_after}");
        assert!((l_after - l).length() < 1e-9 * l.length(), "{l} {l_after}");
        assert!(body.measure().strain_max < 1e-8);
    }
}

#[test]
fn a_bent_strand_is_a_rod_of_the_rigidity_of_its_regions_whatever_the_step() {
    // Far from the clamp curvature is the moment of what hangs beyond over the rigidity.
    for (half_width, dt) in [(2.0, 0.01), (2.0, 0.005), (2.5, 0.02)] {
        let (count, spacing, g_number) = (25_usize, 0.01, 2.0);
        let length = spacing * (count - 1) as f64;
        let rest = straight(DVec3::ZERO, DVec3::X, length, count);
        let parameters = Parameters { clamped: 3, ..Parameters::even(half_width) };
        let material = limp();
        let mass = material.density * std::f64::consts::PI * 35e-6_f64.powi(2);
        let rigidity = csm::rigidity(mass, spacing, half_width);
        let gravity = g_number * rigidity / (mass * length.powi(3));
        let slow = (mass * length.powi(4) / rigidity).sqrt();
        let mut body = Body::new(&rest, count, Material { damping: 4.0 / slow, ..material }, Method::Csm(parameters));
        body.gravity = DVec3::NEG_Y * gravity;
        for _ in 0..(4.0 * slow / dt) as u32 {
            body.step(dt);
        }
        let (x, masses) = (&body.state.positions, body.model.masses());
        let (mut bend, mut expected) = (0.0, 0.0);
        for i in 11..=14 {
            bend += (x[i + 1] - x[i]).angle_between(x[i] - x[i - 1]) / spacing;
            let moment = |j: usize| f64::from(masses[j]) * gravity * (x[j].x - x[i].x);
            expected += (i + 1..count).map(moment).sum::<f64>() / rigidity;
        }
        assert!((bend / expected - 1.0).abs() < 0.04, "{half_width} {dt}: {bend} {expected}");
    }
}

#[test]
fn a_hinged_segment_is_a_pendulum() {
    let (length, angle) = (0.25, 0.5_f64);
    let direction = DVec3::new(angle.sin(), -angle.cos(), 0.0);
    let hinge = Method::Csm(Parameters { clamped: 1, ..Parameters::even(3.0) });
    let mut body = Body::new(&straight(DVec3::ZERO, direction, length, 2), 2, limp(), hinge);
    let expected = std::f64::consts::TAU
        * (length / 9.81_f64).sqrt()
        * (1.0 + angle.powi(2) / 16.0 + 11.0 * angle.powi(4) / 3072.0);
    let (mut times, mut time) = (Vec::new(), 0.0);
    while times.len() < 3 {
        let before = body.state.positions[1].x;
        body.step(2e-4);
        time += 2e-4;
        let after = body.state.positions[1].x;
        if before < 0.0 && after >= 0.0 {
            times.push(time - 2e-4 * after / (after - before));
        }
        assert!(time < 10.0);
    }
    let got = 0.5 * (times[2] - times[0]);
    assert!((got / expected - 1.0).abs() < 3e-3, "{got} {expected}");
}

#[test]
fn segments_keep_their_length_while_the_root_shakes() {
    for half_width in [1.0, 3.0, 6.0] {
        let mut body = Body::new(&curl(30), 30, Material::default(), csm(half_width));
        let mut worst = 0.0_f64;
        for step in 1..=300_u32 {
            let time = 0.01 * f64::from(step);
            body.roots.positions[0] = DVec3::X * (4.0 * ((time % 0.5) - 0.25).abs() - 1.0);
            body.step(0.01);
            worst = worst.max(body.measure().strain_max);
        }
        assert!(worst < 1e-5, "{half_width}: {worst:e}");
        assert!(body.measure().speed_max < 40.0);
    }
}

#[test]
fn a_limp_chain_between_two_nails_is_a_catenary() {
    let (length, span, count) = (1.0, 0.6, 31);
    let method = Method::Csm(Parameters { clamped: 1, ..Parameters::even(0.0) });
    let rest = straight(DVec3::ZERO, DVec3::X, length, count);
    let mut body = Body::with_tips(&rest, count, Material { damping: 4.0, ..limp() }, method, Tip::Clamped);
    body.roots.tips[0] = DVec3::X * span;
    let depth = (0.25 * length * length - 0.25 * span * span).sqrt();
    for i in 0..count {
        let s = i as f64 / (count - 1) as f64;
        body.state.positions[i] = DVec3::new(s * span, -depth * (1.0 - (2.0 * s - 1.0).abs()), 0.0);
    }
    for _ in 0..1500 {
        body.step(4e-3);
    }
    let sag = -body.state.positions.iter().map(|p| p.y).fold(0.0, f64::min);
    let (mut low, mut high) = (0.05_f64, 10.0_f64);
    for _ in 0..100 {
        let a = 0.5 * (low + high);
        if 2.0 * a * (span / (2.0 * a)).sinh() > length { low = a } else { high = a }
    }
    let expected = low * ((span / (2.0 * low)).cosh() - 1.0);
    assert!((sag / expected - 1.0).abs() < 5e-3, "{sag} {expected}");
}

#[test]
fn stiffness_may_change_along_a_strand() {
    // Clamped level; soft near the root it falls there and stays straight beyond, and the other way round.
    let droop = |root: f64, tip: f64| {
        let widths = HalfWidths { root, tip, from: 0.4, to: 0.6 };
        let parameters = Parameters { stiffness: Stiffness::HalfWidths(widths), ..Parameters::default() };
        let rest = straight(DVec3::ZERO, DVec3::X, 0.3, 31);
        let mut body = Body::new(&rest, 31, Material { damping: 8.0, ..limp() }, Method::Csm(parameters));
        for _ in 0..600 {
            body.step(0.01);
        }
        let x = &body.state.positions;
        let bend = |from: usize, to: usize| (x[from + 1] - x[from]).angle_between(x[to + 1] - x[to]);
        (bend(0, 15), bend(16, 29))
    };
    let (soft_root, stiff_tip) = droop(1.5, 8.0);
    let (stiff_root, soft_tip) = droop(8.0, 1.5);
    assert!(
        soft_root > 0.2 + stiff_root && soft_tip > 2.0 * stiff_tip,
        "{soft_root} {stiff_tip} {stiff_root} {soft_tip}"
    );
}

#[test]
fn ten_thousand_random_configurations_stay_finite() {
    let stream = Stream::new(9, "fuzz");
    for case in 0..10_000_u64 {
        let pick = |k: u64| stream.uniform(64 * case + k);
        let count = 2 + (12.0 * pick(0)) as usize;
        let rest: Vec<DVec3> = match case % 3 {
            0 => straight(DVec3::ZERO, stream.direction(case), 0.1, count),
            1 => curl(count),
            _ => (0..count).map(|i| DVec3::X * (0.01 * i as f64) + 0.004 * stream.direction(case + i as u64)).collect(),
        };
        let parameters = Parameters {
            clamped: (4.0 * pick(1)) as u32,
            strain_limit: if pick(2) < 0.5 { 0.0 } else { 0.5 * pick(3) },
            relaxation: pick(4),
            ..Parameters::even(12.0 * pick(5).powi(2))
        };
        let tip = if pick(6) < 0.3 { Tip::Clamped } else { Tip::Free };
        let mut body = Body::with_tips(&rest, count, limp(), Method::Csm(parameters), tip);
        let scale = [0.0, 1e-3, 0.1, 1e4][(4.0 * pick(7)) as usize];
        body.state.positions =
            (0..count).map(|i| stream.direction(31 * case + i as u64) * scale * pick(8 + i as u64)).collect();
        body.roots.frames[0] = DQuat::from_scaled_axis(stream.direction(77 * case) * 3.0);
        for _ in 0..3 {
            let tally = body.step(0.002 + 0.03 * pick(30));
            assert!(tally.is_finite(), "case {case}");
        }
        assert!(body.state.positions.iter().all(|x| x.is_finite()), "case {case}");
    }
}

#[test]
fn strands_of_all_lengths_are_the_same_alone_and_together() {
    let mut positions = Vec::new();
    let mut offsets = vec![0_u32];
    for strand in 0..7_usize {
        let shift = DVec3::Z * strand as f64;
        positions.extend(curl(3 + 5 * strand).iter().map(|x| *x + shift));
        offsets.push(positions.len() as u32);
    }
    let radii = vec![35e-6; positions.len()];
    let rest = RestShape { offsets: &offsets, positions: &positions, radii: &radii };
    let model = StrandModel::new(rest, Material::default(), Method::Csm(Parameters::default()), Tip::Free).unwrap();
    let mut together = Body::new(&curl(4), 4, Material::default(), csm(2.0));
    together.roots =
        drench_physics::strands::Roots::at_rest(offsets[..7].iter().map(|&o| positions[o as usize]).collect());
    together.state = StrandState::at_rest(&model, positions.clone());
    together.scratch = drench_physics::strands::StrandScratch::new(&model);
    together.model = model;
    for _ in 0..30 {
        together.step(0.01);
    }
    for strand in 0..7 {
        let range = offsets[strand] as usize..offsets[strand + 1] as usize;
        let one = &positions[range.clone()];
        let mut alone = Body::new(one, one.len(), Material::default(), Method::Csm(Parameters::default()));
        for _ in 0..30 {
            alone.step(0.01);
        }
        assert_eq!(alone.state.positions, together.state.positions[range], "strand {strand}");
    }
}

#[test]
fn bad_parameters_are_refused_by_name() {
    let rest = curl(10);
    let refuse = |parameters: Parameters| {
        let shape = RestShape { offsets: &[0, 10], positions: &rest, radii: &[35e-6; 10] };
        StrandModel::new(shape, Material::default(), Method::Csm(parameters), Tip::Free).unwrap_err().to_string()
    };
    assert!(refuse(Parameters::even(-1.0)).contains("half-width"));
    assert!(refuse(Parameters::even(f64::NAN)).contains("half-width"));
    assert!(refuse(Parameters { strain_limit: 1.0, ..Parameters::default() }).contains("strain limit"));
    assert!(refuse(Parameters { relaxation: 2.0, ..Parameters::default() }).contains("relaxation"));
    assert!(refuse(Parameters { stiffness: Stiffness::Index(-1.0), ..Parameters::default() }).contains("index"));
    let widths = HalfWidths { root: 1.0, tip: 2.0, from: 0.8, to: 0.2 };
    assert!(
        refuse(Parameters { stiffness: Stiffness::HalfWidths(widths), ..Parameters::default() }).contains("change")
    );
}
