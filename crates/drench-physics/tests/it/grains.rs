//! Grains from the outside: collisions, friction, heaps, sleep, bodies, and what must never change.
#![allow(missing_docs, clippy::unwrap_used)]

use drench_geometry::bvh::Bvh;
use drench_geometry::field::{DistanceField, Field};
use drench_geometry::{TriMesh, bunny, head, primitives};
use drench_math::random::Stream;
use drench_physics::PhysicsError;
use drench_physics::contact::{Collider, Placement};
use drench_physics::grains::fill::{Beginning, fill};
use drench_physics::grains::heap::measure;
use drench_physics::grains::{
    GrainModel, GrainScratch, GrainState, Material, NewGrain, Sizes, Sleep, Spread, Surroundings, Tally, solve,
};
use drench_physics::region::Region;
use drench_physics::rigid::{BodyState, Push};
use glam::{DMat3, DQuat, DVec3};
use std::f64::consts::PI;

const GRAVITY: DVec3 = DVec3::new(0.0, -9.81, 0.0);
const RADIUS: f64 = 2e-3;

struct Bench {
    model: GrainModel,
    state: GrainState,
    scratch: GrainScratch,
    gravity: DVec3,
}

impl Bench {
    fn new(material: Material, sleep: Option<Sleep>) -> Self {
        let sizes = Sizes { radius: 2e-3, spread: Spread::Even(0.2) };
        let model = GrainModel::new(sizes, material, sleep, None).unwrap();
        Self { model, state: GrainState::default(), scratch: GrainScratch::default(), gravity: GRAVITY }
    }

    fn add(&mut self, position: DVec3, velocity: DVec3) {
        self.state.push(&self.model, NewGrain { position, velocity, radius: 2e-3, water: 0.0 });
    }

    fn fill(&mut self, region: Region) {
        for grain in fill(&self.model, &region, Beginning::default(), Stream::new(5, "grains")).unwrap() {
            self.state.push(&self.model, grain);
        }
    }

    fn step(&mut self, colliders: &[Collider], dt: f64) -> Result<Tally, PhysicsError> {
        let surroundings = Surroundings { gravity: self.gravity, colliders, carried_by: &[], forces: &[] };
        solve(&self.model, &mut self.state, &mut self.scratch, &surroundings, &mut [], &mut [], dt)
    }

    fn run(&mut self, colliders: &[Collider], dt: f64, steps: usize) -> Tally {
        (0..steps).map(|_| self.step(colliders, dt).unwrap()).last().unwrap()
    }
}

fn still<'a>(field: &'a Field, friction: f64) -> Collider<'a> {
    Collider::new(field, Placement::IDENTITY, Placement::IDENTITY, friction)
}

fn smooth(restitution: f64) -> Material {
    Material { restitution, friction: 0.0, rolling_friction: 0.0, ..Material::default() }
}

#[test]
fn two_grains_part_with_the_restitution_they_were_given() {
    for restitution in [0.1, 0.3, 0.5, 0.8, 1.0] {
        let mut bench = Bench::new(smooth(restitution), None);
        bench.gravity = DVec3::ZERO;
        bench.add(DVec3::ZERO, DVec3::X * 0.5);
        bench.add(DVec3::X * 5e-3, DVec3::X * -0.5);
        bench.run(&[], 1e-3, 40);
        let parting = bench.state.velocities[1].x - bench.state.velocities[0].x;
        assert!((parting - restitution).abs() < 0.03, "{restitution}: {parting}");
    }
}

#[test]
fn a_grain_bounces_from_the_ground_with_its_restitution() {
    let ground = Field::HalfSpace;
    let mut bench = Bench::new(smooth(0.6), None);
    bench.gravity = DVec3::ZERO;
    bench.add(DVec3::Y * 5e-3, DVec3::new(0.0, -0.7, 0.0));
    bench.run(&[still(&ground, 0.0)], 1e-3, 30);
    assert!((bench.state.velocities[0].y / 0.7 - 0.6).abs() < 0.02, "{}", bench.state.velocities[0]);
}

#[test]
fn momentum_of_a_closed_cloud_is_kept_to_rounding() {
    let mut bench = Bench::new(Material::default(), None);
    bench.gravity = DVec3::ZERO;
    bench.fill(Region::Ball { centre: DVec3::new(0.1, 0.2, -0.3), radius: 0.02 });
    let stream = Stream::new(8, "kicks");
    for i in 0..bench.state.len() {
        bench.state.velocities[i] = stream.direction(i as u64) * 0.5;
        bench.state.spins[i] = stream.direction(100_000 + i as u64) * 50.0;
    }
    let before = measure(&bench.model, &bench.state, DVec3::ZERO);
    let tally = bench.run(&[], 1e-3, 30);
    let after = measure(&bench.model, &bench.state, DVec3::ZERO);
    let scale = before.mass * 0.5;
    assert!(tally.steps > 5 && tally.speed_max > 0.05);
    assert!((after.momentum - before.momentum).length() < 1e-13 * scale, "{}", after.momentum - before.momentum);
    // Couples are rounded to single precision.
    let turn = (after.angular_momentum - before.angular_momentum).length();
    assert!(turn < 1e-6 * scale * 0.02, "{turn:e} of {:e}", scale * 0.02);
    assert!(after.kinetic_energy < before.kinetic_energy);
}

#[test]
fn elastic_grains_keep_their_energy() {
    let mut bench = Bench::new(smooth(1.0), None);
    bench.gravity = DVec3::ZERO;
    let walls = Field::Tank { size: DVec3::splat(0.03), wall: 0.01 };
    let lid = Field::Box { size: DVec3::new(0.1, 0.01, 0.1) };
    bench.fill(Region::Box { low: DVec3::new(-0.01, 0.005, -0.01), high: DVec3::new(0.01, 0.025, 0.01) });
    let stream = Stream::new(8, "kicks");
    for i in 0..bench.state.len() {
        bench.state.velocities[i] = stream.direction(i as u64) * 0.3;
    }
    let before = measure(&bench.model, &bench.state, DVec3::ZERO).kinetic_energy;
    let at = Placement::at(DVec3::Y * 0.035);
    bench.run(&[still(&walls, 0.0), Collider::new(&lid, at, at, 0.0)], 2e-3, 200);
    let after = measure(&bench.model, &bench.state, DVec3::ZERO).kinetic_energy;
    // Some of it is in springs at any time.
    assert!((0.9..1.02).contains(&(after / before)), "{}", after / before);
}

#[test]
fn a_ball_on_a_slope_rolls_or_slides_as_coulomb_says() {
    let ground = Field::HalfSpace;
    for (friction, degrees) in [(0.5, 30.0_f64), (0.1, 30.0), (0.05, 40.0)] {
        let material = Material { rolling_friction: 0.0, ..Material::default() };
        let mut bench = Bench::new(material, None);
        let (sin, cos) = degrees.to_radians().sin_cos();
        bench.gravity = DVec3::new(9.81 * sin, -9.81 * cos, 0.0);
        // Where the spring carries its weight.
        let sunk = bench.model.dry_mass(2e-3) * 9.81 * cos / bench.model.stiffness();
        bench.add(DVec3::Y * (2e-3 - sunk), DVec3::ZERO);
        bench.run(&[still(&ground, friction)], 1e-2, 20);
        // Rolls without slip if mu >= 2/7 tan; else slides.
        let tangent = sin / cos;
        let expected = if friction >= 2.0 / 7.0 * tangent { 5.0 / 7.0 * sin } else { sin - friction * cos };
        let speed = bench.state.velocities[0].x;
        assert!((speed / (9.81 * expected * 0.2) - 1.0).abs() < 0.02, "{friction}: {speed}");
    }
}

#[test]
fn rolling_friction_holds_a_ball_on_a_slope_for_ever() {
    let ground = Field::HalfSpace;
    for (rolling, holds) in [(0.3, true), (0.1, false)] {
        let mut bench = Bench::new(Material { rolling_friction: rolling, ..Material::default() }, None);
        // Holds while tan(slope) < rolling friction: 0.2 here.
        bench.gravity = DVec3::new(9.81 * 0.2, -9.81, 0.0);
        bench.add(DVec3::Y * 2e-3, DVec3::ZERO);
        bench.run(&[still(&ground, 0.5)], 1e-2, 50);
        let middle = bench.state.positions[0].x;
        bench.run(&[still(&ground, 0.5)], 1e-2, 100);
        let crept = bench.state.positions[0].x - middle;
        assert_eq!(crept.abs() < 1e-7, holds, "{rolling}: {crept:e}");
    }
}

#[test]
fn a_grain_in_a_corner_touches_all_three_faces() {
    let tank = Field::Tank { size: DVec3::splat(0.1), wall: 0.02 };
    let mut bench = Bench::new(Material::default(), None);
    bench.gravity = DVec3::new(6.0, -6.0, 6.0);
    bench.add(DVec3::new(0.04, 0.01, 0.04), DVec3::ZERO);
    let tally = bench.run(&[still(&tank, 0.3)], 1e-2, 60);
    let expected = DVec3::new(0.048, 0.002, 0.048);
    assert_eq!(tally.touches, 3);
    assert!((bench.state.positions[0] - expected).length() < 1e-4, "{}", bench.state.positions[0]);
    assert!(bench.state.velocities[0].length() < 1e-4);
}

/// The field of a mesh with cells as they come.
fn baked(mesh: &TriMesh) -> Field {
    let (low, high) = mesh.bounds();
    let cell = (high - low).max_element() / 128.0;
    Field::Baked(DistanceField::bake(mesh, cell, 4.0 * cell).unwrap())
}

#[test]
fn a_grain_beside_a_mesh_is_not_pushed_before_it_touches() {
    let mesh = bunny::bunny(0.08);
    let (field, tree, (low, high)) = (baked(&mesh), Bvh::build(&mesh), mesh.bounds());
    let stream = Stream::new(1, "beside");
    let mut places = 0;
    for i in 0..300_000 {
        let part = DVec3::new(stream.uniform(3 * i), stream.uniform(3 * i + 1), stream.uniform(3 * i + 2));
        let place = low - 2.0 * RADIUS + part * (high - low + 4.0 * RADIUS);
        let distance = tree.closest_point(place).unwrap().distance;
        if field.distance(place) <= 0.0 || !(RADIUS..1.05 * RADIUS).contains(&distance) {
            continue;
        }
        places += 1;
        let mut bench = Bench::new(Material::default(), None);
        bench.gravity = DVec3::ZERO;
        bench.add(place, DVec3::ZERO);
        bench.run(&[still(&field, 0.5)], 1e-4, 1);
        assert_eq!(bench.state.velocities[0], DVec3::ZERO, "at {place}, {} radii away", distance / RADIUS);
    }
    assert!(places > 900, "{places}");
}

#[test]
fn a_grain_thrown_at_a_mesh_gains_no_energy() {
    let meshes =
        [(bunny::bunny(0.08), 1000), (head::head(0.08), 500), (primitives::tank(DVec3::splat(0.05), 5e-3), 500)];
    for (mesh, throws) in meshes {
        let (field, stream) = (baked(&mesh), Stream::new(2, "thrown"));
        let mut hits = 0;
        for i in 0..throws {
            let mut bench = Bench::new(smooth(1.0), None);
            bench.gravity = DVec3::ZERO;
            let (from, aim) = (stream.direction(2 * i) * 0.09, stream.direction(2 * i + 1) * 0.03);
            // The head has shoulders.
            if field.distance(from) < 1.1 * RADIUS {
                continue;
            }
            let start = (aim - from).normalize() * 0.5;
            bench.add(from, start);
            bench.run(&[still(&field, 0.0)], 4e-3, 70);
            let velocity = bench.state.velocities[0];
            hits += u64::from((velocity - start).length() > 0.01);
            assert!(velocity.length() < 0.505, "{i}: {velocity}");
        }
        assert!(2 * hits > throws, "{hits} of {throws}");
    }
}

#[test]
fn a_grain_rests_in_the_corner_of_a_mesh_and_on_its_edge() {
    let tank = baked(&primitives::tank(DVec3::new(0.06, 0.05, 0.04), 5e-3));
    let (block, wall) = (baked(&primitives::cuboid(DVec3::new(0.04, 0.03, 0.05))), Field::HalfSpace);
    // The wall stands before the block, nearer to its upper edge than a grain is wide.
    let before =
        Placement { rotation: DQuat::from_rotation_z(0.5 * PI), ..Placement::at(DVec3::X * (0.02 + 1.6 * RADIUS)) };
    let between = [still(&block, 0.5), Collider::new(&wall, before, before, 0.5)];
    let ledge = DVec3::new(0.02 + 0.59 * RADIUS, 0.015 + 0.85 * RADIUS, 3e-3);
    for (colliders, place) in [
        (&[still(&tank, 0.5)][..], DVec3::new(0.03, 0.0, 0.02) + DVec3::new(-1.1, 1.1, -1.1) * RADIUS),
        (&[still(&tank, 0.5)][..], DVec3::new(0.03, 0.0, 1.3e-3) + DVec3::new(-1.02, 1.02, 0.0) * RADIUS),
        (&between[..], ledge),
    ] {
        let mut bench = Bench::new(Material::default(), None);
        bench.add(place, DVec3::ZERO);
        bench.run(colliders, 4e-3, 100);
        let (position, speed) = (bench.state.positions[0], bench.state.velocities[0].length());
        assert!(speed < 1e-4 && (position - place).length() < 0.5 * RADIUS, "from {place} to {position} at {speed}");
    }
}

#[test]
fn a_moving_floor_carries_grains_along() {
    let floor = Field::Box { size: DVec3::new(1.0, 0.1, 1.0) };
    let mut bench = Bench::new(Material { rolling_friction: 0.3, ..Material::default() }, None);
    bench.add(DVec3::Y * 0.052, DVec3::ZERO);
    let place = |t: f64| Placement::at(DVec3::new(0.2 * t, 0.1 * t, 0.0));
    for step in 0..100 {
        let time = f64::from(step) * 5e-3;
        bench.step(&[Collider::new(&floor, place(time), place(time + 5e-3), 0.8)], 5e-3).unwrap();
    }
    let (x, v) = (bench.state.positions[0], bench.state.velocities[0]);
    assert!((v - DVec3::new(0.2, 0.1, 0.0)).length() < 2e-3, "{v}");
    assert!((x.y - 0.05 - 0.05 - 2e-3).abs() < 2e-4, "{x}");
}

fn heap(sleep: Option<Sleep>) -> Bench {
    let mut bench = Bench::new(Material { friction: 0.6, rolling_friction: 0.2, ..Material::default() }, sleep);
    bench.fill(Region::Cone { foot: DVec3::ZERO, radius: 0.03, height: 0.03 });
    bench
}

#[test]
fn the_same_bits_on_any_number_of_threads_and_with_any_scratch() {
    let ground = Field::HalfSpace;
    let run = |threads: usize, drop_scratch: bool| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut bench = heap(Some(Sleep::default()));
            for _ in 0..120 {
                bench.step(&[still(&ground, 0.6)], 2e-3).unwrap();
                if drop_scratch {
                    bench.scratch = GrainScratch::default();
                }
            }
            bench.state
        })
    };
    let one = run(1, false);
    assert!(one.listings > 17, "grains were renumbered at least once: {}", one.listings);
    for (threads, drop_scratch) in [(2, false), (8, false), (2, true)] {
        assert!(run(threads, drop_scratch) == one, "{threads} threads, scratch dropped: {drop_scratch}");
    }
}

#[test]
fn lists_made_earlier_give_the_same_bits() {
    let ground = Field::HalfSpace;
    let run = |anew: bool| {
        let mut bench = heap(None);
        for _ in 0..40 {
            bench.step(&[still(&ground, 0.6)], 2e-3).unwrap();
            if anew {
                // Forces a new search, with the contacts carried over.
                bench.state.origins.iter_mut().for_each(|origin| origin.x += 1.0);
            }
        }
        bench.state.searches = 0;
        bench.state
    };
    let (kept, anew) = (run(false), run(true));
    let mut kept_by_id: Vec<_> = kept.ids.iter().zip(&kept.positions).collect();
    let mut anew_by_id: Vec<_> = anew.ids.iter().zip(&anew.positions).collect();
    kept_by_id.sort_by_key(|(id, _)| **id);
    anew_by_id.sort_by_key(|(id, _)| **id);
    // Renumbering may come at another time and change the order of sums: equal to rounding, which has had time to grow.
    assert!(kept_by_id.iter().zip(&anew_by_id).all(|(a, b)| (*a.1 - *b.1).length() < 1e-4));
}

#[test]
fn a_heap_falls_asleep_and_wakes_where_it_is_hit() {
    let ground = Field::HalfSpace;
    let mut bench = heap(Some(Sleep::default()));
    let tally = bench.run(&[still(&ground, 0.6)], 1e-2, 150);
    let count = bench.state.len() as u64;
    assert!(tally.asleep > count * 9 / 10, "{} of {count} sleep", tally.asleep);
    let top = measure(&bench.model, &bench.state, GRAVITY).top;
    let before = bench.state.positions.clone();
    let ids = bench.state.ids.clone();
    bench.add(DVec3::new(0.001, top + 0.01, 0.0), DVec3::new(0.0, -1.0, 0.0));
    let tally = bench.run(&[still(&ground, 0.6)], 5e-3, 4);
    assert!(tally.asleep < count, "the hit woke grains");
    let moved = |id: u32| {
        let (old, new) = (ids.iter().position(|&i| i == id), bench.state.ids.iter().position(|&i| i == id));
        (before[old.unwrap()] - bench.state.positions[new.unwrap()]).length()
    };
    let shifted = ids.iter().filter(|&&id| moved(id) > 1e-4).count();
    assert!(shifted > 0 && shifted < ids.len() / 2, "{shifted}");
}

#[test]
fn a_rigid_body_rests_on_grains_and_gets_what_they_lose() {
    // A plate on a layer of grains in a tank, moved here as its owner would.
    let tank = Field::Tank { size: DVec3::new(0.04, 0.1, 0.04), wall: 0.02 };
    let plate = Field::Box { size: DVec3::new(0.03, 0.01, 0.03) };
    let mut bench = Bench::new(Material::default(), None);
    bench.fill(Region::Box { low: DVec3::new(-0.02, 0.0, -0.02), high: DVec3::new(0.02, 0.015, 0.02) });
    let mass = 0.03;
    let inertia = mass / 12.0 * (0.03_f64.powi(2) + 0.01_f64.powi(2));
    let mut body = BodyState {
        centre: DVec3::Y * 0.025,
        rotation: DQuat::IDENTITY,
        velocity: DVec3::ZERO,
        spin: DVec3::ZERO,
        inverse_mass: 1.0 / mass,
        inverse_inertia: DMat3::from_diagonal(DVec3::splat(1.0 / inertia)),
    };
    // The tank is a body too, that nothing moves, so that what it gets is booked.
    let held = BodyState { centre: DVec3::ZERO, inverse_mass: 0.0, inverse_inertia: DMat3::ZERO, ..body };
    let dt = 2e-3;
    let mut lost = 0.0_f64;
    for _ in 0..400 {
        let at = Placement { rotation: body.rotation, translation: body.centre, scale: 1.0 };
        let colliders = [still(&tank, 0.5), Collider::new(&plate, at, at, 0.5)];
        let surroundings =
            Surroundings { gravity: GRAVITY, colliders: &colliders, carried_by: &[Some(0), Some(1)], forces: &[] };
        let (mut bodies, mut pushes) = ([held, body], [Push::default(); 2]);
        let before = measure(&bench.model, &bench.state, GRAVITY);
        solve(&bench.model, &mut bench.state, &mut bench.scratch, &surroundings, &mut bodies, &mut pushes, dt).unwrap();
        // Grains, plate and tank: what is gained is what weight gives the grains.
        let after = measure(&bench.model, &bench.state, GRAVITY);
        let given = pushes[0].linear + pushes[1].linear;
        lost = lost.max((after.momentum + given - before.momentum - GRAVITY * dt * before.mass).length());
        body.velocity += pushes[1].linear / mass + GRAVITY * dt;
        body.spin += pushes[1].angular / inertia;
        body.centre += body.velocity * dt;
        body.rotation = (DQuat::from_scaled_axis(body.spin * dt) * body.rotation).normalize();
    }
    assert!(body.velocity.length() < 5e-3 && body.spin.length() < 0.5, "{} {}", body.velocity, body.spin);
    assert!((0.01..0.03).contains(&body.centre.y), "{}", body.centre);
    assert!(lost < 1e-12 * mass * 9.81 * dt, "{lost:e}");
}

#[test]
fn removing_grains_keeps_the_contacts_of_the_others() {
    let ground = Field::HalfSpace;
    let mut bench = heap(None);
    bench.run(&[still(&ground, 0.6)], 2e-3, 30);
    let partner_ids = |state: &GrainState| {
        let mut pairs: Vec<(u32, u32, u32)> = Vec::new();
        for i in 0..state.len() {
            for link in &state.links[state.offsets[i] as usize..state.offsets[i + 1] as usize] {
                let (a, b) = (state.ids[i], state.ids[link.partner as usize]);
                pairs.push((a.min(b), a.max(b), link.slip.length().to_bits()));
            }
        }
        pairs.sort_unstable();
        pairs
    };
    let gone = |id: u32| id.is_multiple_of(7);
    let expected: Vec<_> = partner_ids(&bench.state).into_iter().filter(|p| !gone(p.0) && !gone(p.1)).collect();
    let ids = bench.state.ids.clone();
    bench.state.retain(|i| !gone(ids[i]));
    assert!(bench.state.len() < ids.len());
    assert_eq!(partner_ids(&bench.state), expected);
    bench.run(&[still(&ground, 0.6)], 2e-3, 10);
}

#[test]
fn nonsense_is_an_error_and_never_a_panic() {
    let ground = Field::HalfSpace;
    for bad in [f64::NAN, f64::INFINITY, 1e300] {
        for what in 0..3 {
            let mut bench = heap(None);
            let values = match what {
                0 => &mut bench.state.positions,
                1 => &mut bench.state.velocities,
                _ => &mut bench.state.spins,
            };
            values[7].y = bad;
            let outcome = (0..3).map(|_| bench.step(&[still(&ground, 0.6)], 2e-3)).find(Result::is_err);
            assert!(matches!(outcome, Some(Err(PhysicsError::GrainLost { .. }))), "{what} {bad}: {outcome:?}");
        }
    }
    let mut bench = heap(None);
    assert!(bench.step(&[], f64::NAN).is_err() && bench.step(&[], 0.0).is_err());
    bench.state.spins.pop();
    assert!(matches!(bench.step(&[], 1e-3), Err(PhysicsError::Count { .. })));
    let mut bench = Bench::new(Material::default(), None);
    assert_eq!(bench.step(&[], 1e-3).unwrap().contacts, 0);
}

#[test]
fn every_pair_that_touches_is_listed_once() {
    let ground = Field::HalfSpace;
    let mut bench = heap(None);
    for _ in 0..6 {
        bench.run(&[still(&ground, 0.6)], 5e-3, 5);
        let state = &bench.state;
        let mut listed: Vec<(usize, usize)> = Vec::new();
        for i in 0..state.len() {
            let own = &state.links[state.offsets[i] as usize..state.offsets[i + 1] as usize];
            assert!(own.windows(2).all(|pair| pair[0].partner < pair[1].partner));
            listed.extend(own.iter().map(|link| (i, link.partner as usize)));
        }
        let touch =
            |i: usize, j: usize| (state.positions[i] - state.positions[j]).length() < state.radii[i] + state.radii[j];
        let pairs = (0..state.len()).flat_map(|i| (i + 1..state.len()).map(move |j| (i, j)));
        let touching: Vec<_> = pairs.filter(|&(i, j)| touch(i, j)).collect();
        assert!(touching.iter().all(|pair| listed.binary_search(pair).is_ok()));
    }
}

#[test]
fn a_collision_looks_the_same_from_any_side() {
    let collide = |turn: DQuat, drift: DVec3| {
        let mut bench = Bench::new(Material::default(), None);
        bench.gravity = DVec3::ZERO;
        bench.add(turn * DVec3::new(0.0, 5e-4, 0.0), drift + turn * DVec3::X * 0.5);
        bench.add(turn * DVec3::new(5e-3, -7e-4, 3e-4), drift - turn * DVec3::X * 0.3);
        bench.state.spins[0] = turn * DVec3::new(10.0, 40.0, -20.0);
        bench.run(&[], 1e-3, 20);
        let back = turn.inverse();
        let state = &bench.state;
        [state.velocities[0] - drift, state.velocities[1] - drift, state.spins[0] * RADIUS, state.spins[1] * RADIUS]
            .map(|v| back * v)
    };
    let plain = collide(DQuat::IDENTITY, DVec3::ZERO);
    assert!(plain[3].length() > 1e-3, "friction turned the other grain: {}", plain[3]);
    let turned = collide(DQuat::from_scaled_axis(DVec3::new(0.3, -1.1, 0.7)), DVec3::new(0.2, 0.1, -0.3));
    assert!(plain.iter().zip(&turned).all(|(a, b)| (*a - *b).length() < 2e-4), "{plain:?} {turned:?}");
}
