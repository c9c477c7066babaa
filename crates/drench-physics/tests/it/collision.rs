//! Strands against strands: nothing passes through, momentum stays, piles rest.
#![allow(clippy::unwrap_used)]

use drench_math::random::Stream;
use drench_physics::PhysicsError;
use drench_physics::collision::segments::{Segment, approach, closest};
use drench_physics::collision::{Body, Collisions, Parameters, Tally};
use glam::DVec3;

const DT: f64 = 0.01;

/// Strands that only fly, and collide.
#[derive(Clone)]
struct Flock {
    offsets: Vec<u32>,
    positions: Vec<DVec3>,
    velocities: Vec<DVec3>,
    inverse_masses: Vec<f64>,
    radii: Vec<f32>,
    continuous: bool,
    before: Vec<DVec3>,
}

impl Flock {
    fn new(radius: f64) -> Self {
        Self {
            offsets: vec![0],
            positions: Vec::new(),
            velocities: Vec::new(),
            inverse_masses: Vec::new(),
            radii: vec![radius as f32],
            continuous: true,
            before: Vec::new(),
        }
    }

    fn add(&mut self, strand: impl IntoIterator<Item = DVec3>, velocity: DVec3, inverse_mass: f64) {
        self.positions.extend(strand);
        self.offsets.push(self.positions.len() as u32);
        self.velocities.resize(self.positions.len(), velocity);
        self.inverse_masses.resize(self.positions.len(), inverse_mass);
        self.radii.resize(self.positions.len(), self.radii[0]);
    }

    fn segments(&self) -> Vec<usize> {
        self.offsets.windows(2).flat_map(|pair| pair[0] as usize..pair[1] as usize - 1).collect()
    }

    fn step(&mut self, collisions: &mut Collisions, parameters: &Parameters, gravity: DVec3) -> Tally {
        self.before = self.positions.clone();
        collisions.begin([&self.positions[..]]);
        for i in 0..self.positions.len() {
            if self.inverse_masses[i] > 0.0 {
                self.velocities[i] += gravity * DT;
            }
            self.positions[i] += self.velocities[i] * DT;
        }
        collisions.resolve(&mut [self.body()], parameters, DT).unwrap()
    }

    fn body(&mut self) -> Body<'_> {
        Body {
            offsets: &self.offsets,
            positions: &mut self.positions,
            velocities: &mut self.velocities,
            inverse_masses: &self.inverse_masses,
            resistance: &[],
            radii: &self.radii,
            continuous: self.continuous,
        }
    }

    fn momentum(&self) -> (DVec3, DVec3) {
        let at = |i: usize| self.velocities[i] / self.inverse_masses[i];
        let all = || 0..self.positions.len();
        (all().map(at).sum(), all().map(|i| self.positions[i].cross(at(i))).sum())
    }

    /// Pairs of segments, not adjacent, whose axes come within `reach` during the last step.
    fn crossings(&self, reach: f64) -> usize {
        let segments = self.segments();
        let of = |at: &[DVec3], i: usize| Segment { from: at[i], to: at[i + 1] };
        let cross = |i: usize, j: usize| {
            let (first, second) = (of(&self.before, i), of(&self.before, j));
            closest(&first, &second).offset.length() > reach
                && approach([&first, &of(&self.positions, i)], [&second, &of(&self.positions, j)], reach).is_some()
        };
        let pairs = segments.iter().flat_map(|&i| segments.iter().map(move |&j| (i, j)));
        pairs.filter(|&(i, j)| j > i + 1 && cross(i, j)).count()
    }
}

fn line(from: DVec3, to: DVec3, vertices: usize) -> impl Iterator<Item = DVec3> {
    (0..vertices).map(move |i| from + (to - from) * (i as f64 / (vertices - 1) as f64))
}

/// Two crossing strands, the upper one flying down.
fn cross(radius: f64, speed: f64, inverse_mass: f64) -> Flock {
    let mut flock = Flock::new(radius);
    flock.add(line(DVec3::NEG_X, DVec3::X, 11), DVec3::ZERO, inverse_mass);
    let above = DVec3::new(0.03, 3.0 * radius, 0.0);
    flock.add(line(above - DVec3::Z, above + DVec3::Z, 14), DVec3::NEG_Y * speed, 1.0);
    flock
}

#[test]
fn strands_do_not_pass_through_each_other_at_any_speed() {
    let radius = 1e-3;
    for inverse_mass in [0.0, 1.0, 10.0] {
        for radii_per_step in [0.1, 0.7, 1.0, 3.0, 10.0, 33.0, 100.0, 1000.0] {
            let mut flock = cross(radius, radii_per_step * radius / DT, inverse_mass);
            let mut collisions = Collisions::default();
            let mut met = 0;
            for _ in 0..60 {
                met += flock.step(&mut collisions, &Parameters::default(), DVec3::ZERO).contacts;
                assert_eq!(flock.crossings(1e-3 * radius), 0, "at {radii_per_step} radii a step");
            }
            assert!(met > 0);
        }
    }
}

#[test]
fn a_tangle_of_fast_strands_does_not_pass_through_itself() {
    let stream = Stream::new(1, "tangle");
    let radius = 2e-3;
    for case in 0..40 {
        let here = stream.child(case);
        let mut flock = Flock::new(radius);
        // Parallel layers, thrown at each other: no two touch to begin with.
        for k in 0..8_u64 {
            let along = here.direction(k).with_y(0.0).normalize_or(DVec3::X);
            let centre = DVec3::new(0.0, 0.01 * k as f64, 0.0);
            let speed = here.range(10 + k, 0.0, 100.0) * radius / DT;
            flock.add(line(centre - along * 0.1, centre + along * 0.1, 9), here.direction(50 + k) * speed, 1.0);
        }
        let mut collisions = Collisions::default();
        for step in 0..8 {
            flock.step(&mut collisions, &Parameters::default(), DVec3::ZERO);
            assert_eq!(flock.crossings(1e-4 * radius), 0, "case {case}, step {step}");
        }
    }
}

#[test]
fn linear_and_angular_momentum_stay() {
    for (case, speed) in [(0, 0.02), (1, 0.3), (2, 5.0)] {
        let mut flock = cross(1e-3, speed, 2.0);
        flock.velocities[12] += DVec3::new(0.1, 0.0, 0.2) * speed;
        let frictionless = Parameters { friction: 0.0, ..Parameters::default() };
        let mut collisions = Collisions::default();
        let mut met = 0;
        for _ in 0..40 {
            let (linear, angular) = flock.momentum();
            let tally = flock.step(&mut collisions, &frictionless, DVec3::ZERO);
            let (now, turned) = flock.momentum();
            met += tally.contacts;
            assert!((now - linear).length() < 1e-12 * linear.length(), "case {case}: {now} {linear}");
            // Exact for contacts that the step begins with, unless it opens an overlap, which moves mass. A contact that begins in
            // the step shares its vertices with the lengths, which were there before; several begin at different moments.
            let tolerance = match tally.impacts {
                0 if tally.penetration_max < 2e-5 => 1e-12,
                0 | 1 => 1e-4,
                _ => 0.05,
            };
            assert!(
                (turned - angular).length() < tolerance * (1.0 + angular.length()),
                "case {case}: {turned} {angular}"
            );
        }
        assert!(met > 0, "case {case}");
    }
}

#[test]
fn held_vertices_stay_where_they_are_held() {
    let mut flock = cross(1e-3, 20.0, 0.0);
    let held = flock.positions[..11].to_vec();
    let mut collisions = Collisions::default();
    (0..10).for_each(|_| {
        flock.step(&mut collisions, &Parameters::default(), DVec3::ZERO);
    });
    assert_eq!(flock.positions[..11], held);
    assert!(flock.velocities[..11].iter().all(|v| *v == DVec3::ZERO));
}

#[test]
fn a_pile_at_rest_stays_at_rest() {
    for continuous in [true, false] {
        let radius = 5e-3;
        let mut flock = Flock { continuous, ..Flock::new(radius) };
        // Logs stacked crosswise, the lowest held, with play of a tenth of a radius.
        for layer in 0..6 {
            let y = 2.01 * radius * f64::from(layer);
            for k in [-0.03, 0.03] {
                let (across, along) = if layer % 2 == 0 { (DVec3::X, DVec3::Z) } else { (DVec3::Z, DVec3::X) };
                let centre = DVec3::new(0.0, y, 0.0) + across * k;
                flock.add(line(centre - along * 0.05, centre + along * 0.05, 2), DVec3::ZERO, f64::from(layer.min(1)));
            }
        }
        let mut collisions = Collisions::default();
        let gravity = DVec3::new(0.0, -9.81, 0.0);
        let mut worst = 0.0_f64;
        for step in 0..300 {
            let tally = flock.step(&mut collisions, &Parameters { iterations: 20, ..Parameters::default() }, gravity);
            if step > 100 {
                worst = worst.max(flock.velocities.iter().map(|v| v.length()).fold(0.0, f64::max));
                assert!(tally.penetration_max < 0.2 * radius, "{}", tally.penetration_max);
            }
        }
        let top = flock.positions.last().unwrap().y;
        assert!(worst < 5e-3, "jitter {worst} m/s");
        assert!((top - 10.0 * radius).abs() < 0.3 * radius, "top at {} radii", top / radius);
    }
}

#[test]
fn friction_slows_a_sliding_log_by_mu_g_and_holds_it_on_a_slope() {
    let (radius, mu, speed) = (5e-3, 0.3, 1.0);
    let parameters = Parameters { friction: mu, iterations: 30 };
    let logs = |velocity: DVec3| {
        let mut flock = Flock::new(radius);
        for x in [-0.1, 0.1] {
            flock.add(line(DVec3::new(x, 0.0, -5.0), DVec3::new(x, 0.0, 5.0), 2), DVec3::ZERO, 0.0);
        }
        flock.add(line(DVec3::new(-0.2, 2.0 * radius, 0.0), DVec3::new(0.2, 2.0 * radius, 0.0), 2), velocity, 1.0);
        flock
    };
    let mut collisions = Collisions::default();
    let mut flock = logs(DVec3::Z * speed);
    let steps = 20;
    (0..steps).for_each(|_| {
        flock.step(&mut collisions, &parameters, DVec3::new(0.0, -9.81, 0.0));
    });
    let slowed = speed - flock.velocities[4].z;
    let expected = mu * 9.81 * DT * f64::from(steps);
    assert!((slowed / expected - 1.0).abs() < 0.02, "slowed by {slowed} instead of {expected}");

    // A slope below the friction angle holds for good; one above does not.
    for (slope, slides) in [(0.9 * mu, false), (1.3 * mu, true)] {
        let mut flock = logs(DVec3::ZERO);
        (0..100).for_each(|_| {
            flock.step(&mut collisions, &parameters, DVec3::new(0.0, -1.0, slope) * 9.81);
        });
        let slid = flock.positions[4].z;
        assert_eq!(slid > 0.01, slides, "slid {slid} m on {slope}");
    }
}

#[test]
fn old_overlaps_open_without_a_bang() {
    for continuous in [true, false] {
        let radius = 5e-3;
        let mut flock = Flock { continuous, ..Flock::new(radius) };
        flock.add(line(DVec3::NEG_X, DVec3::X, 2), DVec3::ZERO, 1.0);
        flock.add(line(DVec3::new(0.0, radius, -1.0), DVec3::new(0.0, radius, 1.0), 2), DVec3::ZERO, 1.0);
        // Exactly crossed, and lying in each other.
        flock.add(line(DVec3::new(-1.0, 1.0, 0.0), DVec3::new(1.0, 1.0, 0.0), 2), DVec3::ZERO, 1.0);
        flock.add(line(DVec3::new(0.0, 1.0, -1.0), DVec3::new(0.0, 1.0, 1.0), 2), DVec3::ZERO, 1.0);
        flock.add(line(DVec3::new(-1.0, 2.0, 0.0), DVec3::new(1.0, 2.0, 0.0), 2), DVec3::ZERO, 1.0);
        flock.add(line(DVec3::new(-1.0, 2.0, 0.0), DVec3::new(1.0, 2.0, 0.0), 2), DVec3::ZERO, 1.0);
        let mut collisions = Collisions::default();
        for _ in 0..40 {
            flock.step(&mut collisions, &Parameters::default(), DVec3::ZERO);
            assert!(flock.velocities.iter().all(|v| v.length() < 1e-9));
        }
        for i in [0, 4, 8] {
            let of = |i: usize| Segment { from: flock.positions[i], to: flock.positions[i + 1] };
            let distance = closest(&of(i), &of(i + 2)).offset.length();
            assert!(distance > 1.9 * radius, "{distance}");
        }
    }
}

#[test]
fn a_thick_strand_does_not_collide_with_its_own_bend() {
    // Segments half as long as the strand is thick, bent as tightly as a tube can be.
    let radius = 5e-3;
    let mut flock = Flock::new(radius);
    let bend = (0..12).map(|i| {
        let angle = 0.25 * std::f64::consts::PI * f64::from(i) / 3.0;
        DVec3::new(angle.cos(), angle.sin(), 0.08 * f64::from(i)) * (1.05 * radius)
    });
    flock.add(bend.take(7), DVec3::ZERO, 1.0);
    let before = flock.positions.clone();
    flock.step(&mut Collisions::default(), &Parameters::default(), DVec3::ZERO);
    assert_eq!(flock.positions, before);
}

#[test]
fn lengths_are_restored() {
    for continuous in [true, false] {
        let mut flock = Flock { continuous, ..Flock::new(1e-3) };
        // A wavy strand falls on a held one.
        flock.add(line(DVec3::NEG_Z, DVec3::Z, 21), DVec3::ZERO, 0.0);
        let wave = |i: i32| DVec3::new(0.01 * f64::from(i), 2.2e-3 + 2e-3 * (0.9 * f64::from(i)).sin().abs(), 0.0);
        flock.add((-10..=10).map(wave), DVec3::NEG_Y * 0.05, 1.0);
        let mut collisions = Collisions::default();
        let mut met = 0;
        for _ in 0..10 {
            let came: Vec<DVec3> = flock.positions.iter().zip(&flock.velocities).map(|(x, v)| *x + *v * DT).collect();
            met += flock.step(&mut collisions, &Parameters::default(), DVec3::ZERO).contacts;
            for i in flock.segments() {
                let strain = flock.positions[i].distance(flock.positions[i + 1]) / came[i].distance(came[i + 1]) - 1.0;
                assert!(strain.abs() < 1e-3, "{strain}");
            }
        }
        assert!(met > 0);
    }
}

fn crowd(stream: Stream, strands: u64, radius: f64) -> Flock {
    let mut flock = Flock { continuous: false, ..Flock::new(radius) };
    for k in 0..strands {
        let from = stream.direction(k) * 0.1 * stream.uniform(10_000 + k);
        let to = from + stream.direction(20_000 + k) * 0.05;
        flock.add(line(from, to, 5), stream.direction(30_000 + k) * 0.1, 1.0);
    }
    flock
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let start = crowd(Stream::new(3, "crowd"), 600, 1.5e-3);
    let on = |threads: usize, continuous: bool| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut flock = Flock { continuous, ..start.clone() };
        let mut collisions = Collisions::default();
        let mut contacts = 0;
        pool.install(|| {
            for _ in 0..3 {
                contacts += flock.step(&mut collisions, &Parameters::default(), DVec3::ZERO).contacts;
            }
        });
        assert!(contacts > 3000, "{contacts}");
        flock.positions.iter().chain(&flock.velocities).flat_map(|v| v.to_array()).map(f64::to_bits).collect::<Vec<_>>()
    };
    for continuous in [false, true] {
        assert!(on(1, continuous) == on(2, continuous));
        assert!(on(1, continuous) == on(8, continuous));
    }
}

#[test]
fn many_side_by_side_keep_momentum_and_dropping_the_scratch_changes_nothing() {
    let mut flock = crowd(Stream::new(4, "crowd"), 1200, 1.5e-3);
    let mut other = flock.clone();
    let (linear, _) = flock.momentum();
    let scale: f64 = flock.velocities.iter().map(|v| v.length()).sum();
    let mut collisions = Collisions::default();
    for _ in 0..3 {
        let tally = flock.step(&mut collisions, &Parameters::default(), DVec3::ZERO);
        assert!(tally.contacts > 2048, "{}", tally.contacts);
        other.step(&mut Collisions::default(), &Parameters::default(), DVec3::ZERO);
    }
    assert!((flock.momentum().0 - linear).length() < 1e-12 * scale);
    assert!(flock.positions == other.positions && flock.velocities == other.velocities);
}

#[test]
fn bodies_collide_across() {
    let mut whole = cross(1e-3, 2.0, 1.0);
    let mut split = whole.clone();
    let parameters = Parameters::default();
    for _ in 0..5 {
        whole.step(&mut Collisions::default(), &parameters, DVec3::ZERO);
        let mut collisions = Collisions::default();
        let (first, second) = split.positions.split_at(11);
        collisions.begin([first, second]);
        for i in 0..split.positions.len() {
            split.positions[i] += split.velocities[i] * DT;
        }
        let (first, second) = split.positions.split_at_mut(11);
        let (slow, fast) = split.velocities.split_at_mut(11);
        let body = |offsets, positions, velocities, inverse_masses, radii| Body {
            offsets,
            positions,
            velocities,
            inverse_masses,
            resistance: &[],
            radii,
            continuous: true,
        };
        let mut bodies = [
            body(&[0, 11], first, slow, &split.inverse_masses[..11], &split.radii[..11]),
            body(&[0, 14], second, fast, &split.inverse_masses[11..], &split.radii[11..]),
        ];
        collisions.resolve(&mut bodies, &parameters, DT).unwrap();
        assert_eq!(whole.positions, split.positions);
    }
}

#[test]
fn a_body_that_has_torn_leaves_the_others_where_they_began() {
    // The strand that stands has been carried through the other, and stopped: where it came from is not what its velocity says.
    let mut collisions = Collisions::default();
    let mut carried = Flock::new(1e-3);
    carried.add((0..11).map(|i| DVec3::new(0.01 * f64::from(i) - 0.05, -0.02, 0.0)), DVec3::ZERO, 1.0);
    let mut torn = Flock::new(1e-3);
    torn.add((0..11).map(|i| DVec3::new(0.0, 0.0, 0.01 * f64::from(i) - 0.05)), DVec3::ZERO, 1.0);
    torn.add((0..3).map(|i| DVec3::new(1.0, 0.0, 0.01 * f64::from(i))), DVec3::ZERO, 1.0);
    collisions.begin([&torn.positions[..13], &carried.positions[..]]);
    carried.positions.iter_mut().for_each(|x| x.y += 0.04);
    let tally = collisions.resolve(&mut [torn.body(), carried.body()], &Parameters::default(), DT).unwrap();
    assert!(tally.contacts > 0);
    let side = carried.positions[5].y - torn.positions[5].y;
    assert!(side < 0.0, "passed through: {side}");
}

#[test]
fn random_configurations_give_no_nan() {
    let stream = Stream::new(5, "fuzz");
    let mut collisions = Collisions::default();
    for case in 0..10_000 {
        let here = stream.child(case);
        let mut flock = Flock::new(10.0_f64.powf(here.range(0, -5.0, 0.0)));
        flock.continuous = case.is_multiple_of(2);
        for k in 0..3 + case % 3 {
            let at = |i: u64| here.direction(100 * k + i) * 0.1 * here.uniform(3000 + 100 * k + i);
            let vertices = 1 + (here.bits(5000 + k) % 5);
            let strand: Vec<DVec3> = match here.bits(6000 + k) % 6 {
                0 => vec![at(0); vertices as usize],
                1 => (0..vertices).map(|i| DVec3::X * (0.01 * i as f64)).collect(),
                _ => (0..vertices).map(at).collect(),
            };
            let speed = 10.0_f64.powf(here.range(7000 + k, -3.0, 3.0));
            let inverse_mass = [0.0, 1.0, 1e6, 1e-6][(here.bits(8000 + k) % 4) as usize];
            flock.add(strand, here.direction(9000 + k) * speed, inverse_mass);
        }
        flock.step(&mut collisions, &Parameters { friction: 0.5, iterations: 4 }, DVec3::ZERO);
        assert!(flock.positions.iter().chain(&flock.velocities).all(|v| v.is_finite()), "case {case}");
    }
}

#[test]
fn bad_input_is_refused_or_left_alone() {
    let mut flock = cross(1e-3, 1.0, 1.0);
    let mut collisions = Collisions::default();
    let wrong = Parameters { friction: -1.0, ..Parameters::default() };
    let refused = collisions.resolve(&mut [flock.body()], &wrong, DT);
    assert!(matches!(refused, Err(PhysicsError::Parameter { name: "collision friction", .. })));
    assert!(collisions.resolve(&mut [flock.body()], &Parameters::default(), f64::NAN).is_err());
    flock.radii.pop();
    let refused = collisions.resolve(&mut [flock.body()], &Parameters::default(), DT);
    assert!(matches!(refused, Err(PhysicsError::Count { what: "collision radii", .. })));
    flock.radii.push(1e-3);
    flock.offsets = vec![0, 30, 25];
    assert!(matches!(
        collisions.resolve(&mut [flock.body()], &Parameters::default(), DT),
        Err(PhysicsError::Offsets { strand: 1, .. })
    ));
    assert_eq!(collisions.resolve(&mut [], &Parameters::default(), DT).unwrap(), Tally::default());
    // What is not finite does not spread.
    let mut flock = cross(1e-3, 1.0, 1.0);
    flock.positions[3] = DVec3::NAN;
    collisions.resolve(&mut [flock.body()], &Parameters::default(), DT).unwrap();
    assert_eq!(flock.positions.iter().filter(|p| p.is_nan()).count(), 1);
}
