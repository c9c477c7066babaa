//! Wet grains from the outside: bridges, soaking, spreading, drying, shrinking, and that no water is lost.
#![allow(missing_docs, clippy::unwrap_used)]

use drench_geometry::field::Field;
use drench_math::random::Stream;
use drench_physics::PhysicsError;
use drench_physics::contact::{Collider, Placement};
use drench_physics::grains::fill::{Beginning, fill};
use drench_physics::grains::heap::measure;
use drench_physics::grains::{
    GrainModel, GrainScratch, GrainState, Material, NewGrain, Sizes, Spread, Surroundings, solve,
};
use drench_physics::region::Region;
use drench_physics::wetting::Liquid;
use drench_physics::wetting::bridge::Bridge;
use drench_physics::wetting::grains::Wetness;
use drench_physics::wetting::soak::{SoakScratch, absorb, dry, spread};
use glam::DVec3;

const GRAVITY: DVec3 = DVec3::new(0.0, -9.81, 0.0);
const RADIUS: f64 = 2e-3;

fn model(wetness: Wetness) -> GrainModel {
    let material = Material { friction: 0.5, rolling_friction: 0.1, ..Material::default() };
    GrainModel::new(Sizes { radius: RADIUS, spread: Spread::Even(0.1) }, material, None, Some(wetness)).unwrap()
}

fn bed(model: &GrainModel, moisture: f64) -> GrainState {
    let region = Region::Box { low: DVec3::ZERO, high: DVec3::new(0.04, 0.03, 0.04) };
    let beginning = Beginning { moisture, ..Beginning::default() };
    let mut state = GrainState::default();
    for grain in fill(model, &region, beginning, Stream::new(3, "bed")).unwrap() {
        state.push(model, grain);
    }
    state
}

fn run(model: &GrainModel, state: &mut GrainState, gravity: DVec3, colliders: &[Collider], dt: f64, steps: usize) {
    let mut scratch = GrainScratch::default();
    let surroundings = Surroundings { gravity, colliders, carried_by: &[], forces: &[] };
    for _ in 0..steps {
        solve(model, state, &mut scratch, &surroundings, &mut [], &mut [], dt).unwrap();
    }
}

/// Two wet grains pressed together, then left with a velocity apart: the farthest gap, or none if they came back.
fn parted(wetness: Wetness, moisture: f64, speed: f64) -> f64 {
    let model = model(wetness);
    let mut state = GrainState::default();
    for side in [-1.0, 1.0] {
        let water = moisture * model.dry_mass(RADIUS);
        let position = DVec3::X * (side * 0.9999 * RADIUS);
        state.push(&model, NewGrain { position, velocity: DVec3::X * (side * 0.5 * speed), radius: RADIUS, water });
    }
    run(&model, &mut state, DVec3::ZERO, &[], 1e-3, 200);
    (state.positions[1] - state.positions[0]).length() - 2.0 * RADIUS
}

#[test]
fn bridges_hold_grains_that_part_slowly_and_break_when_they_part_fast() {
    let wetness = Wetness::default();
    // Energy of a bridge: its pull times some tenths of its reach, against m v^2 / 4.
    assert!(parted(wetness, 0.02, 0.02) < 1e-4);
    assert!(parted(wetness, 0.02, 0.5) > 1e-2);
    // Dry grains and fluidised grains are held by nothing.
    assert!(parted(wetness, 0.0, 0.02) > 1e-3);
    assert!(parted(wetness, 0.22, 0.02) > 1e-3);
    // The law of the text slows them down.
    let empirical = Wetness { bridge: Some(Bridge::Empirical { strength: 100.0, surface_tension: 0.072 }), ..wetness };
    assert!(parted(empirical, 0.02, 0.02) < 1e-3);
    assert!(parted(empirical, 0.0, 0.02) > 1e-3);
}

#[test]
fn a_grain_hangs_from_a_wet_ceiling_but_not_from_a_dry_one() {
    let ceiling = Field::Box { size: DVec3::new(0.1, 0.02, 0.1) };
    let at = Placement::at(DVec3::Y * 0.01);
    let model = model(Wetness::default());
    for (moisture, hangs) in [(0.05, true), (0.0, false)] {
        let mut state = GrainState::default();
        // 1 mm: light enough for its bridge.
        let radius = 1.85e-3;
        let water = moisture * model.dry_mass(radius);
        state.push(&model, NewGrain { position: DVec3::Y * -0.999 * radius, velocity: DVec3::ZERO, radius, water });
        run(&model, &mut state, GRAVITY, &[Collider::new(&ceiling, at, at, 0.5)], 2e-3, 100);
        assert_eq!(state.positions[0].y > -2.0 * radius, hangs, "{}", state.positions[0]);
    }
}

/// How fast a grain of this wetness goes down a slope [m/s2], over gravity.
fn goes_down(slope: f64, friction: f64, wetness: f64) -> f64 {
    let law = Wetness { bridge: None, ..Wetness::default() };
    let material = Material { rolling_friction: 0.3, ..Material::default() };
    let model = GrainModel::new(Sizes::equal(RADIUS), material, None, Some(law)).unwrap();
    let water = wetness * law.threshold * model.dry_mass(RADIUS);
    let gravity = DVec3::new(slope.sin(), -slope.cos(), 0.0) * 9.81;
    let sunk = (model.dry_mass(RADIUS) + water) * -gravity.y / model.stiffness();
    let mut state = GrainState::default();
    let position = DVec3::Y * (RADIUS - sunk);
    state.push(&model, NewGrain { position, velocity: DVec3::ZERO, radius: RADIUS, water });
    let ground = Collider::new(&Field::HalfSpace, Placement::IDENTITY, Placement::IDENTITY, friction);
    run(&model, &mut state, gravity, &[ground], 1e-2, 30);
    state.velocities[0].x / (0.3 * 9.81)
}

#[test]
fn over_wet_grains_rub_less_than_dry_ones_and_wet_grains_more() {
    let slope = 30_f64.to_radians();
    let slides = |friction: f64| slope.sin() - friction * slope.cos();
    // Half of the friction at fluidisation and beyond it, 1.5 of it at the threshold, and the mean halfway between.
    for (wetness, factor) in [(0.0, 1.0), (1.0, 1.5), (1.6, 1.0), (2.2, 0.5), (2.5, 0.5)] {
        let (got, law) = (goes_down(slope, 0.1, wetness), slides(0.1 * factor));
        assert!((got / law - 1.0).abs() < 0.01, "{wetness}: {got}, {law}");
    }
    // Corners hold a dry grain on a slope of 12 degrees (0.21 against 0.3); a fluidised one (0.15) rolls off.
    let gentle = 12_f64.to_radians();
    assert!(goes_down(gentle, 0.6, 0.0).abs() < 1e-3);
    assert!(goes_down(gentle, 0.6, 1.0).abs() < 1e-3);
    assert!(goes_down(gentle, 0.6, 2.2) > 0.03);
}

#[test]
fn momentum_of_wet_grains_is_kept_to_rounding() {
    let model = model(Wetness::default());
    let mut state = bed(&model, 0.15);
    let stream = Stream::new(4, "kicks");
    for i in 0..state.len() {
        state.velocities[i] = stream.direction(i as u64) * 0.2;
        state.water[i] *= stream.range(i as u64, 0.1, 1.5);
    }
    let before = measure(&model, &state, GRAVITY);
    let mut scratch = GrainScratch::default();
    let surroundings = Surroundings { gravity: DVec3::ZERO, colliders: &[], carried_by: &[], forces: &[] };
    for _ in 0..20 {
        solve(&model, &mut state, &mut scratch, &surroundings, &mut [], &mut [], 1e-3).unwrap();
        spread(&model, &mut state, &mut scratch, GRAVITY, 1e-3).unwrap();
    }
    let after = measure(&model, &state, GRAVITY);
    assert!((after.momentum - before.momentum).length() < 1e-13 * before.mass * 0.2);
    assert!((after.mass / before.mass - 1.0).abs() < 1e-13);
}

/// Grains held together by bridges so strong that nothing slides, each kicked about: kinetic energy at the start, the most of it later, and at the end.
fn shaken(places: &[DVec3], damping: f64) -> [f64; 3] {
    let (surface_tension, sand) = (0.072, 2e-5);
    let bridge = Some(Bridge::Willett { surface_tension, contact_angle: 0.0 });
    let wetness = Wetness { damping, bridge, stands_for: Some(sand), ..Wetness::default() };
    let material = Material { friction: 5.0, rolling_friction: 5.0, ..Material::default() };
    let model = GrainModel::new(Sizes::equal(RADIUS), material, None, Some(wetness)).unwrap();
    // At the threshold; bridges fade with what is missing to fluidisation.
    let fading = 1.0 - wetness.threshold / wetness.fluidised;
    let pull = std::f64::consts::TAU * RADIUS * surface_tension * fading * (RADIUS / sand);
    let (apart, stream) = (2.0 * RADIUS - pull / model.stiffness(), Stream::new(2, "kicks"));
    let mut state = GrainState::default();
    for place in places {
        let water = wetness.threshold * model.dry_mass(RADIUS);
        state.push(&model, NewGrain { position: *place * apart, velocity: DVec3::ZERO, radius: RADIUS, water });
    }
    let energy = |state: &GrainState| measure(&model, state, DVec3::ZERO).kinetic_energy;
    // The longest steps that there are.
    let dt = 4.999 * model.longest_step();
    run(&model, &mut state, DVec3::ZERO, &[], dt, 1);
    for i in 0..state.len() {
        state.velocities[i] = stream.direction(i as u64) * 5e-3;
        state.spins[i] = stream.direction(1000 + i as u64) * 5e-3 / RADIUS;
    }
    let (start, mut most) = (energy(&state), 0.0_f64);
    for _ in 0..1000 {
        run(&model, &mut state, DVec3::ZERO, &[], dt, 1);
        most = most.max(energy(&state));
    }
    // What it drifts and turns by as a whole stays.
    let mass = state.total_water() + places.len() as f64 * model.dry_mass(RADIUS);
    let whole = measure(&model, &state, DVec3::ZERO).momentum.length_squared() / (2.0 * mass);
    [start, most, energy(&state) - whole]
}

#[test]
fn wet_packings_come_to_rest_in_the_longest_step() {
    let block =
        |n: i32| (0..n * n * n).map(move |i| DVec3::new((i % n).into(), (i / n % n).into(), (i / n / n).into()));
    let chain: Vec<_> = (0..12).map(|i| DVec3::X * f64::from(i)).collect();
    let square: Vec<_> = block(8).filter(|p| p.z == 0.0).collect();
    let cubic: Vec<_> = block(6).collect();
    // Every other place of a cubic lattice: twelve neighbours each, as dense as can be.
    let dense: Vec<_> = block(9).filter(|p| p.element_sum() % 2.0 == 0.0).map(|p| p / 2.0_f64.sqrt()).collect();
    for (name, places) in [("chain", chain), ("square", square), ("cubic", cubic), ("dense", dense)] {
        for damping in [0.0, 1.0, 4.0, 100.0] {
            let [start, most, end] = shaken(&places, damping);
            assert!(most < start && end < 0.25 * start, "{name}, {damping}: {start:e}, {most:e}, {end:e}");
        }
    }
}

#[test]
fn grains_take_what_fits_and_the_rest_stays_in_the_liquid() {
    let model = model(Wetness { absorption: 1e6, ..Wetness::default() });
    let mut state = bed(&model, 0.2);
    let drop = 2e-4;
    let positions: Vec<DVec3> = (0..40).map(|i| state.positions[i] + DVec3::Y * 1.5 * RADIUS).collect();
    let velocities: Vec<DVec3> = (0..40).map(|i| DVec3::new(0.1, -1.0, 0.01 * f64::from(i))).collect();
    let mut masses = vec![drop; 40];
    masses[7] = 1e-7;
    let total = |state: &GrainState, masses: &[f64]| state.total_water() + masses.iter().sum::<f64>();
    let momentum = |state: &GrainState, masses: &[f64]| {
        measure(&model, state, GRAVITY).momentum + velocities.iter().zip(masses).map(|(v, m)| *v * *m).sum::<DVec3>()
    };
    let (water, moving) = (total(&state, &masses), momentum(&state, &masses));
    let mut scratch = SoakScratch::default();
    let mut taken = 0.0;
    for _ in 0..10 {
        let mut liquid = Liquid {
            positions: &positions,
            before: &[],
            velocities: &velocities,
            masses: &mut masses,
            radius: 0.8 * RADIUS,
            full: 2e-5,
        };
        taken += absorb(&model, &mut state, &mut scratch, &mut liquid, 1e-3).unwrap();
    }
    assert!((total(&state, &masses) / water - 1.0).abs() < 1e-14);
    assert!((momentum(&state, &masses) - moving).length() < 1e-13 * moving.length());
    assert!(taken > 0.0 && masses.iter().all(|&m| m >= 0.0));
    assert_eq!(masses[7], 0.0, "crumbs are eaten up");
    // Full grains leave the rest: they had room for a twentieth of their mass each.
    assert!(masses.iter().filter(|&&m| m > 0.1 * drop).count() > 10);
    let most = |i: usize| 0.25 * model.dry_mass(state.sizes[i]) * (1.0 + 1e-12);
    assert!((0..state.len()).all(|i| state.water[i] <= most(i)));
}

#[test]
fn water_spreads_faster_where_its_rate_is_larger_and_none_is_lost() {
    let front = |downward: f64, sideways: f64, dt: f64| {
        let wetness = Wetness { downward, sideways, upward: 0.0, ..Wetness::default() };
        let model = model(wetness);
        let mut state = bed(&model, 0.0);
        let middle = DVec3::new(0.02, 0.03, 0.02);
        for i in 0..state.len() {
            if (state.positions[i] - middle).length() < 1.2e-2 {
                state.water[i] = 0.25 * model.dry_mass(state.sizes[i]);
            }
        }
        let (before, mut scratch) = (state.total_water(), GrainScratch::default());
        let steps = (0.5 / dt) as usize;
        for _ in 0..steps {
            spread(&model, &mut state, &mut scratch, GRAVITY, dt).unwrap();
            assert!(
                state.water.iter().zip(&state.sizes).all(|(&w, &r)| w >= 0.0 && w <= 0.2500001 * model.dry_mass(r))
            );
        }
        let change = state.total_water() / before - 1.0;
        assert!(change.abs() < 1e-12, "{change:e}");
        let wet = || (0..state.len()).filter(|&i| state.water[i] > 0.02 * model.dry_mass(state.sizes[i]));
        let depth = wet().map(|i| middle.y - state.positions[i].y).fold(0.0, f64::max);
        let width = wet().map(|i| (state.positions[i].x - middle.x).abs()).fold(0.0, f64::max);
        let sunk = (0..state.len()).map(|i| state.water[i] * (middle.y - state.positions[i].y)).sum::<f64>() / before;
        (depth, width, sunk)
    };
    let (deep, narrow, sunk) = front(60.0, 5.0, 5e-3);
    let (shallow, wide, _) = front(5.0, 60.0, 5e-3);
    assert!(deep > shallow + RADIUS && wide > narrow + RADIUS, "{deep} {shallow} {wide} {narrow}");
    // Steps ten times as long let it sink as far.
    let (_, _, coarse) = front(60.0, 5.0, 5e-2);
    assert!((coarse / sunk - 1.0).abs() < 0.05 && sunk > RADIUS, "{coarse} {sunk}");
    // Any step is stable.
    front(1e5, 1e5, 0.25);
}

#[test]
fn drying_gives_back_what_it_took() {
    let model = model(Wetness { evaporation: 2.0, ..Wetness::default() });
    let mut state = bed(&model, 0.1);
    let before = state.total_water();
    let gone: f64 = (0..100).map(|_| dry(&model, &mut state, 0.01).unwrap()).sum();
    assert!(((state.total_water() + gone) / before - 1.0).abs() < 1e-13);
    assert!((state.total_water() / before - (-2.0_f64).exp()).abs() < 1e-9);
}

#[test]
fn shrinking_lowers_a_bed_and_makes_no_energy() {
    let model = model(Wetness { shrink: 0.1, bridge: None, ..Wetness::default() });
    let tank = Field::Tank { size: DVec3::new(0.04, 0.1, 0.04), wall: 0.02 };
    let at = Placement::at(DVec3::new(0.02, 0.0, 0.02));
    let colliders = [Collider::new(&tank, at, at, 0.5)];
    let mut state = bed(&model, 0.0);
    run(&model, &mut state, GRAVITY, &colliders, 5e-3, 80);
    let mean = |state: &GrainState| state.positions.iter().map(|p| p.y).sum::<f64>() / state.len() as f64;
    let before = mean(&state);
    let mut scratch = GrainScratch::default();
    for i in 0..state.len() {
        state.water[i] = 0.11 * model.dry_mass(state.sizes[i]);
    }
    let energy = measure(&model, &state, GRAVITY);
    spread(&model, &mut state, &mut scratch, GRAVITY, 1e-3).unwrap();
    assert!(state.radii.iter().zip(&state.sizes).all(|(r, size)| (r / size - 0.9).abs() < 1e-12));
    run(&model, &mut state, GRAVITY, &colliders, 5e-3, 80);
    let after = measure(&model, &state, GRAVITY);
    assert!(mean(&state) < before * 0.97, "{} {before}", mean(&state));
    assert!(after.gravitational_energy + after.kinetic_energy < energy.gravitational_energy + energy.kinetic_energy);
    // Dry again they stay small.
    let drying = Wetness { evaporation: 1e3, shrink: 0.1, ..Wetness::default() };
    dry(&self::model(drying), &mut state, 1.0).unwrap();
    assert!(state.radii.iter().zip(&state.sizes).all(|(r, size)| r / size < 0.91));
}

#[test]
fn contradictory_thresholds_are_refused_with_the_fix() {
    let refused = |wetness: Wetness, name: &str| {
        let error = GrainModel::new(Sizes::equal(RADIUS), Material::default(), None, Some(wetness)).unwrap_err();
        assert!(matches!(&error, PhysicsError::Parameter { name: n, .. } if *n == name), "{error}");
        error.to_string()
    };
    let base = Wetness::default();
    assert!(refused(Wetness { most: 0.05, ..base }, "most").contains("threshold"));
    assert!(refused(Wetness { fluidised: 0.1, ..base }, "fluidised").contains("raise it"));
    assert!(refused(Wetness { fluidised: 0.3, ..base }, "fluidised").contains("`most`"));
    refused(Wetness { fluidised_friction: 1.1, ..base }, "fluidised_friction");
    refused(Wetness { shrink: 0.9, ..base }, "shrink");
    refused(Wetness { downward: f64::NAN, ..base }, "downward");
    refused(
        Wetness { bridge: Some(Bridge::Willett { surface_tension: 0.07, contact_angle: 2.0 }), ..base },
        "contact_angle",
    );
}

/// How far the last of grains at these places [radii] rests after a short time above the ground.
fn rests(places: &[DVec3], velocity: DVec3, gravity: DVec3) -> f32 {
    let model = model(Wetness::default());
    let mut state = GrainState::default();
    for &place in places {
        state.push(&model, NewGrain { position: RADIUS * place, velocity, radius: RADIUS, water: 0.0 });
    }
    let ground = Collider::new(&Field::HalfSpace, Placement::IDENTITY, Placement::IDENTITY, 0.5);
    run(&model, &mut state, gravity, &[ground], 1e-6, 1);
    let last = state.ids.iter().position(|&id| id as usize == places.len() - 1);
    state.rested[last.unwrap()]
}

#[test]
fn grains_rest_where_they_are_carried_and_not_while_they_fall() {
    let at = |x: f64, y: f64| DVec3::new(x, y, 0.0);
    let column = [at(0.0, 1.0), at(0.0, 3.0), at(0.0, 5.0), at(1.0, 6.7)];
    let cases: &[(&[DVec3], f32)] = &[
        (&column, 1.0),
        (&column[..1], 1.0),
        (&[at(0.0, 1.2)], 0.0),
        (&column[1..], 0.0),
        // Beside one that is carried, beyond its reach, and below one.
        (&[at(0.0, 1.0), at(0.0, 3.0), at(2.0, 3.1)], 0.0),
        (&[at(0.0, 1.0), at(0.0, 3.3)], 0.0),
        (&[at(0.0, 3.0), at(0.0, 1.2)], 0.0),
    ];
    // It does not count how fast they go along together.
    for velocity in [DVec3::ZERO, 3.0 * DVec3::X] {
        for &(places, expected) in cases {
            assert_eq!(rests(places, velocity, GRAVITY), expected, "{places:?} at {velocity}");
        }
    }
    assert_eq!(rests(&[at(0.0, 9.0)], DVec3::ZERO, DVec3::ZERO), 1.0);
}

#[test]
fn it_sinks_in_over_some_time_that_a_grain_is_carried_no_more() {
    let model = model(Wetness::default());
    let ground = Collider::new(&Field::HalfSpace, Placement::IDENTITY, Placement::IDENTITY, 0.5);
    let mut state = bed(&model, 0.1);
    run(&model, &mut state, GRAVITY, &[ground], 1e-3, 1000);
    // Bridges hold some.
    let resting = state.rested.iter().filter(|rested| (0.95..=1.0).contains(*rested)).count();
    assert!(resting * 100 > state.len() * 98, "{resting} of {}", state.len());
    // The ground is taken away. News goes up by a layer in each of 40 steps of a fortieth of the time.
    run(&model, &mut state, GRAVITY, &[], 5.0 * (RADIUS / 9.81).sqrt() / 40.0, 40);
    let lowest = (0..state.len()).min_by(|&a, &b| state.positions[a].y.total_cmp(&state.positions[b].y)).unwrap();
    assert!((f64::from(state.rested[lowest]) - (-1.0_f64).exp()).abs() < 0.02, "{}", state.rested[lowest]);
    assert!(state.carried.iter().all(|&carried| !carried));
}

#[test]
fn wet_grains_have_the_same_bits_on_any_number_of_threads_and_with_any_scratch() {
    let ground = Field::HalfSpace;
    let run = |threads: usize, drop_scratch: bool| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let model = model(Wetness { shrink: 0.05, evaporation: 0.1, ..Wetness::default() });
            let mut state = bed(&model, 0.05);
            let positions: Vec<DVec3> =
                (0..200).map(|i| DVec3::new(0.01, 0.01, 0.01) + Stream::new(1, "drops").direction(i) * 0.02).collect();
            let velocities = vec![DVec3::NEG_Y; 200];
            let mut masses = vec![3e-5; 200];
            let (mut scratch, mut soaking) = (GrainScratch::default(), SoakScratch::default());
            let colliders = [Collider::new(&ground, Placement::IDENTITY, Placement::IDENTITY, 0.5)];
            let surroundings = Surroundings { gravity: GRAVITY, colliders: &colliders, carried_by: &[], forces: &[] };
            for _ in 0..25 {
                let mut liquid = Liquid {
                    positions: &positions,
                    before: &[],
                    velocities: &velocities,
                    masses: &mut masses,
                    radius: RADIUS,
                    full: 2e-5,
                };
                absorb(&model, &mut state, &mut soaking, &mut liquid, 2e-3).unwrap();
                spread(&model, &mut state, &mut scratch, GRAVITY, 2e-3).unwrap();
                dry(&model, &mut state, 2e-3).unwrap();
                solve(&model, &mut state, &mut scratch, &surroundings, &mut [], &mut [], 2e-3).unwrap();
                if drop_scratch {
                    (scratch, soaking) = Default::default();
                }
            }
            (state, masses)
        })
    };
    let one = run(1, false);
    assert!(one.1.iter().any(|&mass| mass < 2e-5));
    for (threads, drop_scratch) in [(2, false), (8, false), (2, true)] {
        assert!(run(threads, drop_scratch) == one, "{threads} threads, scratch dropped: {drop_scratch}");
    }
}

#[test]
fn wet_grains_that_collide_gain_no_energy_however_they_are_damped() {
    for damping in [1.0, 10.0, 1000.0] {
        let wetness = Wetness { damping, bridge: None, ..Wetness::default() };
        let model = GrainModel::new(Sizes::equal(RADIUS), Material::default(), None, Some(wetness)).unwrap();
        let water = wetness.threshold * model.dry_mass(RADIUS);
        for late in 0..10 {
            // One meets three at once.
            let mut state = GrainState::default();
            for turn in 0..3 {
                let angle = std::f64::consts::TAU * f64::from(turn) / 3.0;
                let position = DVec3::new(1.2 * angle.cos(), 0.0, 1.2 * angle.sin()) * RADIUS;
                state.push(&model, NewGrain { position, velocity: DVec3::ZERO, radius: RADIUS, water });
            }
            let position = DVec3::Y * (1.6 * RADIUS + 3e-3 + 1e-5 * f64::from(late));
            let velocity = DVec3::NEG_Y * 0.7;
            state.push(&model, NewGrain { position, velocity, radius: RADIUS, water });
            let energy = |state: &GrainState| measure(&model, state, DVec3::ZERO).kinetic_energy;
            let before = energy(&state);
            run(&model, &mut state, DVec3::ZERO, &[], 1e-3, 20);
            let after = energy(&state);
            assert!(after < 0.7 * before, "{damping}, {late}: {}", after / before);
        }
    }
}
