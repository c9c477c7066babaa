//! Rigid bodies: closed forms, conservation, and the same bits every time.

use drench_physics::contact::Placement;
use drench_physics::rigid::{Body, Mass, Mesh, Obstacle, Push, RigidWorld, Shape, Surface};
use glam::{DQuat, DVec3};

const DT: f64 = 1.0 / 400.0;
const GRAVITY: DVec3 = DVec3::new(0.0, -9.81, 0.0);

fn body(name: &'static str, shape: Shape<'static>, at: DVec3) -> Body<'static> {
    Body {
        name,
        shape,
        placement: Placement::at(at),
        mass: Mass::Density(500.0),
        surface: Surface { friction: 0.5, restitution: 0.0 },
        collide: true,
        damping: [0.0; 2],
        velocity: DVec3::ZERO,
        spin: DVec3::ZERO,
        release: None,
    }
}

fn cube(edge: f64) -> Shape<'static> {
    Shape::Box { size: DVec3::splat(edge) }
}

fn ground() -> Obstacle<'static> {
    let surface = Surface { friction: 0.5, restitution: 0.0 };
    Obstacle { name: "ground", shape: Shape::HalfSpace, placement: Placement::IDENTITY, surface, moves: false }
}

fn steps(world: &mut RigidWorld, count: usize) {
    let pushes = vec![Push::default(); world.bodies().len()];
    for _ in 0..count {
        world.step(DT, &pushes).expect("a step");
    }
}

/// A pile that is thrown about: boxes, a ball, a capsule, a cylinder, a ring.
fn pile() -> RigidWorld {
    let shapes = [
        cube(0.3),
        Shape::Sphere { radius: 0.2 },
        Shape::Capsule { radius: 0.1, height: 0.3 },
        Shape::Cylinder { radius: 0.15, height: 0.3 },
        Shape::Torus { radius: 0.25, thickness: 0.06 },
        cube(0.2),
    ];
    let names = ["a", "b", "c", "d", "e", "f"];
    let mut bodies: Vec<Body> = Vec::new();
    for (i, (shape, name)) in shapes.into_iter().zip(names).enumerate() {
        let at = DVec3::new(0.02 * i as f64, 0.4 + 0.45 * i as f64, 0.015 * i as f64);
        bodies.push(Body { spin: DVec3::new(1.0, 0.3, 0.2 * i as f64), ..body(name, shape, at) });
    }
    bodies[5].release = Some(0.5);
    RigidWorld::new(&bodies, &[ground()], GRAVITY).expect("a pile")
}

fn run(world: &mut RigidWorld, from: usize, to: usize) {
    let mut pushes = vec![Push::default(); world.bodies().len()];
    for i in from..to {
        world.release(i as f64 * DT);
        pushes[0].linear = DVec3::X * 0.02 * (i as f64 * 0.1).sin();
        pushes[1].angular = DVec3::Y * 0.01;
        world.step(DT, &pushes).expect("a step");
    }
}

#[test]
fn a_body_falls_as_galileo_says() {
    let mut world = RigidWorld::new(&[body("stone", cube(0.1), DVec3::Y * 50.0)], &[], GRAVITY).unwrap();
    steps(&mut world, 400);
    let state = world.bodies()[0];
    assert!((state.velocity.y + 9.81).abs() < 1e-9, "{}", state.velocity);
    // First order in the step: at most g T dt / 2 off.
    assert!((state.centre.y - (50.0 - 0.5 * 9.81)).abs() < 0.5 * 9.81 * DT, "{}", state.centre);
}

#[test]
fn a_box_comes_to_rest_on_the_ground() {
    let mut world = RigidWorld::new(&[body("box", cube(0.2), DVec3::Y * 0.15)], &[ground()], GRAVITY).unwrap();
    steps(&mut world, 1200);
    let state = world.bodies()[0];
    assert!((state.centre.y - 0.1).abs() < 1e-3, "{}", state.centre);
    assert!(state.velocity.length() < 1e-3 && state.spin.length() < 1e-2, "{state:?}");
}

#[test]
fn friction_holds_a_box_below_its_angle_and_not_above() {
    let slid = |degrees: f64| {
        let tilt = DQuat::from_rotation_z(f64::to_radians(degrees));
        let slope = Obstacle { placement: Placement { rotation: tilt, ..Placement::IDENTITY }, ..ground() };
        let place = Placement { rotation: tilt, translation: tilt * DVec3::Y * 0.1001, scale: 1.0 };
        let crate_ = Body { placement: place, ..body("crate", cube(0.2), DVec3::ZERO) };
        let mut world = RigidWorld::new(&[crate_], &[slope], GRAVITY).unwrap();
        steps(&mut world, 400);
        (world.bodies()[0].centre - place.translation).length()
    };
    // tan(26.6 deg) = 0.5.
    assert!(slid(22.0) < 0.01, "{}", slid(22.0));
    let (sine, cosine) = f64::to_radians(32.0).sin_cos();
    let expected = 0.5 * 9.81 * (sine - 0.5 * cosine);
    assert!((slid(32.0) / expected - 1.0).abs() < 0.05, "{} {expected}", slid(32.0));
}

#[test]
fn a_collision_keeps_momentum_and_restitution_gives_the_speed_back() {
    for (restitution, expected) in [(1.0, 3.0), (0.0, 1.5)] {
        let surface = Surface { friction: 0.0, restitution };
        let ball = Shape::Sphere { radius: 0.1 };
        let first = Body { velocity: DVec3::X * 3.0, surface, ..body("first", ball, DVec3::ZERO) };
        let second = Body { surface, ..body("second", ball, DVec3::X * 0.5) };
        let mut world = RigidWorld::new(&[first, second], &[], DVec3::ZERO).unwrap();
        steps(&mut world, 300);
        let [a, b] = [world.bodies()[0], world.bodies()[1]];
        assert!((a.velocity + b.velocity - DVec3::X * 3.0).length() < 1e-9, "{a:?} {b:?}");
        assert!((b.velocity.x - expected).abs() < 0.05 * expected, "{restitution}: {}", b.velocity);
    }
}

#[test]
fn a_push_gives_exactly_the_momentum_booked() {
    let mut world = RigidWorld::new(&[body("brick", cube(0.2), DVec3::ZERO)], &[], DVec3::ZERO).unwrap();
    let (mut state, mut push) = (world.bodies()[0], Push::default());
    state.push(DVec3::new(1.0, 2.0, -0.5), DVec3::new(0.1, 0.05, 0.1), &mut push);
    world.step(DT, &[push]).unwrap();
    let after = world.bodies()[0];
    assert!((after.velocity - state.velocity).length() < 1e-14);
    // The spin of a cube does not precess.
    assert!((after.spin - state.spin).length() < 1e-12, "{} {}", after.spin, state.spin);
    let momentum = after.velocity / after.inverse_mass;
    assert!((momentum - push.linear).length() < 1e-14);
}

#[test]
fn masses_and_inertia_are_those_of_the_shapes() {
    let mesh = drench_geometry::primitives::torus(0.3, 0.1, 5);
    let mesh = Mesh { positions: mesh.positions.leak(), triangles: mesh.triangles.leak() };
    let shapes = [Shape::Torus { radius: 0.3, thickness: 0.1 }, Shape::Hull(mesh), Shape::Pieces(mesh)];
    let mass = 500.0 * 2.0 * std::f64::consts::PI.powi(2) * 0.3 * 0.01;
    let about_axis = mass * (0.09 + 0.75 * 0.01);
    for shape in shapes {
        let world = RigidWorld::new(&[body("ring", shape, DVec3::ZERO)], &[], GRAVITY).unwrap();
        let state = world.bodies()[0];
        assert!((1.0 / state.inverse_mass / mass - 1.0).abs() < 0.01, "{}", 1.0 / state.inverse_mass);
        let got = 1.0 / (state.inverse_inertia * DVec3::Y).y;
        assert!((got / about_axis - 1.0).abs() < 0.01, "{got} {about_axis}");
    }
    let heavy = Body { mass: Mass::Total(7.0), ..body("box", cube(0.5), DVec3::ZERO) };
    let world = RigidWorld::new(&[heavy], &[], GRAVITY).unwrap();
    assert!((world.bodies()[0].inverse_mass - 1.0 / 7.0).abs() < 1e-15);
    let inertia = 1.0 / world.bodies()[0].inverse_inertia.x_axis.x;
    assert!((inertia - 7.0 * 0.25 / 6.0).abs() < 1e-12);
}

#[test]
fn a_free_body_keeps_its_angular_momentum() {
    let shape = Shape::Box { size: DVec3::new(0.3, 0.2, 0.1) };
    let tumbling = Body { spin: DVec3::new(0.1, 6.0, 0.05), ..body("tumbling", shape, DVec3::ZERO) };
    let mut world = RigidWorld::new(&[tumbling], &[], DVec3::ZERO).unwrap();
    let momentum = |world: &RigidWorld| world.bodies()[0].inverse_inertia.inverse() * world.bodies()[0].spin;
    let before = momentum(&world);
    steps(&mut world, 800);
    assert!((momentum(&world) - before).length() < 0.02 * before.length(), "{} {before}", momentum(&world));
}

#[test]
fn an_obstacle_that_moves_pushes_and_carries() {
    let surface = Surface { friction: 0.8, restitution: 0.0 };
    let shape = Shape::Box { size: DVec3::new(2.0, 0.1, 2.0) };
    let tray = Obstacle { name: "tray", shape, placement: Placement::IDENTITY, surface, moves: true };
    let load = Body { surface, ..body("load", cube(0.2), DVec3::Y * 0.1505) };
    let mut world = RigidWorld::new(&[load], &[tray], GRAVITY).unwrap();
    for i in 1..=800 {
        world.move_obstacle(0, &Placement::at(DVec3::X * 0.25 * f64::from(i) * DT));
        world.step(DT, &[Push::default()]).unwrap();
    }
    assert!((world.bodies()[0].centre.x - 0.5).abs() < 0.05, "{}", world.bodies()[0].centre);
}

#[test]
fn a_body_waits_to_be_let_go() {
    let held = Body { release: Some(0.1), velocity: DVec3::X * 2.0, ..body("held", cube(0.1), DVec3::Y) };
    let mut world = RigidWorld::new(&[held], &[], GRAVITY).unwrap();
    assert_eq!(world.bodies()[0].inverse_mass, 0.0);
    world.release(0.05);
    steps(&mut world, 20);
    assert_eq!(world.bodies()[0].centre, DVec3::Y);
    world.release(0.1);
    assert!(world.bodies()[0].inverse_mass > 0.0);
    steps(&mut world, 40);
    assert!((world.bodies()[0].centre.x - 0.2).abs() < 1e-9 && world.bodies()[0].centre.y < 1.0);
}

#[test]
fn the_same_bits_every_time() {
    let (mut first, mut second) = (pile(), pile());
    run(&mut first, 0, 600);
    run(&mut second, 0, 600);
    assert_eq!(first.bodies(), second.bodies());
    assert!(first.bodies().iter().all(|body| body.centre.y > 0.0), "{:?}", first.bodies());
}

#[test]
fn save_load_step_is_step() {
    let (mut first, mut second) = (pile(), pile());
    run(&mut first, 0, 350);
    let saved = first.snapshot();
    second.restore(&saved).unwrap();
    assert_eq!(first.bodies(), second.bodies());
    for at in 350..500 {
        run(&mut first, at, at + 1);
        run(&mut second, at, at + 1);
        assert_eq!(first.bodies(), second.bodies(), "step {at}");
    }
    assert_eq!(first.snapshot(), second.snapshot());
}

#[test]
fn damaged_snapshots_and_wrong_counts_are_refused() {
    let mut world = pile();
    let saved = world.snapshot();
    for cut in [0, 1, saved.len() / 2, saved.len() - 1] {
        assert!(world.restore(&saved[..cut]).is_err(), "{cut}");
    }
    let mut other = RigidWorld::new(&[body("one", cube(0.1), DVec3::ZERO)], &[], GRAVITY).unwrap();
    assert!(other.restore(&saved).is_err());
    assert!(world.step(DT, &[]).is_err());
    let bad = vec![Push { linear: DVec3::NAN, angular: DVec3::ZERO }; world.bodies().len()];
    assert!(world.step(DT, &bad).is_err());
}

#[test]
fn shapes_that_cannot_be_bodies_are_refused() {
    let flat = drench_geometry::primitives::plane(1.0);
    let flat = Mesh { positions: flat.positions.leak(), triangles: flat.triangles.leak() };
    let nan = Mesh { positions: &[DVec3::NAN], triangles: &[[0, 0, 0]] };
    let lost = Mesh { positions: &[DVec3::ZERO], triangles: &[[0, 1, 2]] };
    let shapes = [
        Shape::HalfSpace,
        Shape::Sphere { radius: 0.0 },
        Shape::Sphere { radius: f64::NAN },
        Shape::Hull(flat),
        Shape::Hull(nan),
        Shape::Hull(lost),
        Shape::Pieces(lost),
        Shape::Triangles(flat),
    ];
    for shape in shapes {
        assert!(RigidWorld::new(&[body("odd", shape, DVec3::ZERO)], &[], GRAVITY).is_err(), "{shape:?}");
    }
    let feather = Body { mass: Mass::Total(0.0), ..body("feather", cube(0.1), DVec3::ZERO) };
    assert!(RigidWorld::new(&[feather], &[], GRAVITY).is_err());
}

#[test]
fn a_world_without_bodies_costs_nothing() {
    let mut world = RigidWorld::new(&[], &[ground()], GRAVITY).unwrap();
    assert!(world.is_empty() && world.bodies().is_empty() && world.snapshot().len() == 1);
    world.step(DT, &[]).unwrap();
    let saved = world.snapshot();
    world.restore(&saved).unwrap();
}
