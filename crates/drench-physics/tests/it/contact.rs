//! Strands and solids: nobody ends inside, however fast.
#![allow(missing_docs, clippy::unwrap_used)]

use crate::common::*;
use drench_geometry::field::Field;
use drench_physics::contact::{Collider, Placement};
use drench_physics::strands::Material;
use drench_physics::synthetic::HairyBall;
use glam::{DQuat, DVec3};

fn deepest(body: &Body, centre: DVec3, radius: f64) -> f64 {
    body.state.positions.iter().map(|p| radius - (*p - centre).length()).fold(0.0, f64::max)
}

#[test]
fn nothing_is_inside_after_a_fast_ball_passed_through() {
    for method in [dftl(), pbd(0.05)] {
        // A curtain of hair, and a ball of 10 cm that crosses it at 40 m/s: four diameters a step.
        let curtain: Vec<DVec3> =
            (0..80).flat_map(|s| straight(DVec3::Z * (0.005 * f64::from(s) - 0.2), DVec3::NEG_Y, 0.3, 20)).collect();
        let mut body = Body::new(&curtain, 20, Material::default(), method);
        let ball = Field::Sphere { radius: 0.05 };
        let at = |step: i32| Placement::at(DVec3::new(0.4 * f64::from(step) - 2.03, -0.15, 0.0));
        let mut touched = 0;
        for step in 0..12 {
            let collider = [Collider::new(&ball, at(step), at(step + 1), 0.2)];
            let tally = body.step_among(&collider, 0.01);
            touched += tally.contacts;
            let depth = deepest(&body, at(step + 1).translation, 0.05);
            assert!(depth < 1e-4, "{method:?} step {step}: {depth}");
            if method == dftl() {
                assert!(body.measure().strain_max < 1e-6);
            }
        }
        assert!(touched > 0);
    }
}

#[test]
fn a_curtain_is_carried_by_a_ball_that_moves_fast_but_not_through() {
    let curtain: Vec<DVec3> =
        (0..40).flat_map(|s| straight(DVec3::Z * (0.005 * f64::from(s) - 0.1), DVec3::NEG_Y, 0.3, 20)).collect();
    let mut body = Body::new(&curtain, 20, Material::default(), dftl());
    let ball = Field::Sphere { radius: 0.05 };
    let at = |step: i32| Placement::at(DVec3::new(0.12 * f64::from(step) - 0.2, -0.15, 0.0));
    for step in 0..3 {
        let collider = [Collider::new(&ball, at(step), at(step + 1), 0.2)];
        body.step_among(&collider, 0.01);
        assert!(deepest(&body, at(step + 1).translation, 0.05) < 1e-4);
    }
    // The ball's centre went from -0.2 to 0.16: hair that it met is in front of it, not behind.
    let strand = &body.state.positions[20 * 20..21 * 20];
    assert!(strand.iter().any(|p| p.x > 0.16));
}

#[test]
fn hair_lies_on_the_head_it_grows_from_without_jitter() {
    for method in [dftl(), pbd(0.02)] {
        let hair = HairyBall::new(0.1, 150, -0.5, 0.01, |_| 9);
        let material = Material { damping: 2.0, contact_radius: 1e-3, shape: 0.1, ..Material::default() };
        let mut body = Body::new(&hair.positions, 9, material, method);
        let ball = Field::Sphere { radius: 0.1 };
        let still = [Collider::new(&ball, Placement::IDENTITY, Placement::IDENTITY, 0.3)];
        for _ in 0..1200 {
            body.step_among(&still, 0.005);
        }
        assert!(deepest(&body, DVec3::ZERO, 0.1) < 1e-4);
        let energy = body.measure().kinetic_energy;
        let mass: f64 = body.model.masses().iter().map(|m| f64::from(*m)).sum();
        let speed = (2.0 * energy / mass).sqrt();
        assert!(speed < 5e-3, "{method:?}: {speed} m/s");
        // Then the head turns 2 radians in a fifth of a second.
        let pose =
            |step: i32| Placement { rotation: DQuat::from_rotation_y(0.05 * f64::from(step)), ..Placement::IDENTITY };
        let rest = body.roots.positions.clone();
        for step in 0..40 {
            body.roots.advance();
            let turn = pose(step + 1).rotation;
            body.roots.frames.fill(turn);
            body.roots.positions.iter_mut().zip(&rest).for_each(|(p, r)| *p = turn * *r);
            let collider = [Collider::new(&ball, pose(step), pose(step + 1), 0.3)];
            body.step_among(&collider, 0.005);
            let depth = deepest(&body, DVec3::ZERO, 0.1);
            assert!(depth < 1e-4, "{method:?} step {step}: {depth}");
        }
    }
}

#[test]
fn hair_stays_out_of_a_baked_mesh() {
    // The field of a mesh is only as good as its cells: 4 mm here, and flat triangles lie 0.2 mm below the ball.
    let mesh = drench_geometry::primitives::sphere(0.1, 4);
    let field = Field::Baked(drench_geometry::field::DistanceField::bake(&mesh, 0.004, 0.02).unwrap());
    let hair = HairyBall::new(0.1, 120, -0.5, 0.01, |_| 9);
    for method in [dftl(), pbd(0.02)] {
        let material = Material { damping: 2.0, contact_radius: 1e-3, shape: 0.1, ..Material::default() };
        let mut body = Body::new(&hair.positions, 9, material, method);
        for step in 0..200 {
            let pose = |step: i32| Placement::at(DVec3::X * 0.1 * (0.1 * f64::from(step)).sin());
            body.roots.positions = hair.roots().positions.iter().map(|p| *p + pose(step + 1).translation).collect();
            let collider = [Collider::new(&field, pose(step), pose(step + 1), 0.3)];
            body.step_among(&collider, 0.005);
            let depth = deepest(&body, pose(step + 1).translation, 0.1);
            assert!(depth < 8e-4, "{method:?} step {step}: {depth}");
        }
    }
}

#[test]
fn friction_holds_hair_on_a_moving_floor() {
    // A strand whose free end lies on a floor that slides: with friction it goes along, without it does not.
    let drift = |friction: f64| {
        let mut rest = straight(DVec3::Y * 0.03, DVec3::NEG_Y, 0.03, 4);
        rest.extend(straight(DVec3::new(0.01, 0.001, 0.0), DVec3::X, 0.05, 6));
        let mut body = Body::new(&rest, 10, Material { contact_radius: 1e-3, ..limp() }, dftl());
        let ground = Field::HalfSpace;
        for step in 0..10 {
            let at = |step: i32| Placement::at(DVec3::Z * 0.001 * f64::from(step));
            let collider = [Collider::new(&ground, at(step), at(step + 1), friction)];
            body.step_among(&collider, 0.01);
        }
        body.state.positions[9].z
    };
    assert!(drift(0.0).abs() < 1e-6, "{}", drift(0.0));
    assert!(drift(0.8) > 0.003, "{}", drift(0.8));
}

#[test]
fn far_solids_change_nothing() {
    let rest = helix(DVec3::ZERO, 0.01, 0.03, 2.0, 20);
    let (mut alone, mut near) =
        (Body::new(&rest, 20, Material::default(), dftl()), Body::new(&rest, 20, Material::default(), dftl()));
    let ball = Field::Sphere { radius: 0.2 };
    let far = [Collider::new(&ball, Placement::at(DVec3::X * 9.0), Placement::at(DVec3::X * 9.1), 0.3)];
    for _ in 0..20 {
        alone.step(0.005);
        near.step_among(&far, 0.005);
    }
    assert!(alone.state == near.state);
}

#[test]
fn a_deforming_surface_carries_what_touches_it() {
    let rest = straight(DVec3::new(-0.05, 0.001, 0.0), DVec3::X, 0.1, 8);
    let mut body = Body::new(&rest, 8, Material { contact_radius: 1e-3, ..limp() }, dftl());
    let ground = Field::HalfSpace;
    let slide = |_: DVec3| DVec3::Z * 0.001;
    for _ in 0..10 {
        let collider = [Collider::new(&ground, Placement::IDENTITY, Placement::IDENTITY, 1.0).deforming(&slide, 0.001)];
        body.step_among(&collider, 0.01);
    }
    assert!(body.state.positions[7].z > 0.005, "{}", body.state.positions[7]);
}
