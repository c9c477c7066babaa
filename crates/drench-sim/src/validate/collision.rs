//! Strands against strands: nothing passes through, momentum stays, friction is Coulomb's, searches are complete.

use super::{Case, Measured};
use crate::SimError;
use drench_geometry::neighbours::Neighbours;
use drench_math::random::Stream;
use drench_physics::collision::search::{Capsule, Search};
use drench_physics::collision::segments::{Segment, approach, closest};
use drench_physics::collision::{Body, Collisions, Parameters, Tally, seven};
use glam::DVec3;

pub const CASES: &[Case] = &[
    Case {
        name: "collision-no-passing",
        law: "strands thrown at each other at 0.1 to 100 radii a step: pairs that passed through",
        run: no_passing,
    },
    Case {
        name: "collision-momentum",
        law: "change of linear momentum over all steps of a tangle, relative to the sum of m |v|",
        run: momentum,
    },
    Case {
        name: "collision-angular",
        law: "the same for angular momentum, contacts that were there before and open no overlap",
        run: angular,
    },
    Case { name: "collision-friction", law: "a log on two logs slows down by mu g", run: friction },
    Case {
        name: "collision-seven-cells",
        law: "meeting segments of length l that seven cells of edge 2 l do not see, of 100 000 near cell borders",
        run: seven_cells,
    },
    Case { name: "collision-search", law: "capsules on which the two searches disagree", run: searches },
];

const DT: f64 = 0.01;
const RADIUS: f64 = 1e-3;

/// Free strands that fly and collide.
struct Flock {
    offsets: Vec<u32>,
    before: Vec<DVec3>,
    positions: Vec<DVec3>,
    velocities: Vec<DVec3>,
    inverse_masses: Vec<f64>,
    radii: Vec<f32>,
}

impl Flock {
    fn new() -> Self {
        Self {
            offsets: vec![0],
            before: Vec::new(),
            positions: Vec::new(),
            velocities: Vec::new(),
            inverse_masses: Vec::new(),
            radii: Vec::new(),
        }
    }

    /// A straight strand.
    fn add(&mut self, from: DVec3, to: DVec3, vertices: usize, velocity: DVec3, inverse_mass: f64) {
        self.positions.extend((0..vertices).map(|i| from + (to - from) * (i as f64 / (vertices - 1) as f64)));
        self.offsets.push(self.positions.len() as u32);
        self.velocities.resize(self.positions.len(), velocity);
        self.inverse_masses.resize(self.positions.len(), inverse_mass);
        self.radii.resize(self.positions.len(), RADIUS as f32);
    }

    fn step(&mut self, parameters: &Parameters, gravity: DVec3) -> Result<Tally, SimError> {
        let mut collisions = Collisions::default();
        self.before.clone_from(&self.positions);
        collisions.begin([&self.positions[..]]);
        for i in 0..self.positions.len() {
            if self.inverse_masses[i] > 0.0 {
                self.velocities[i] += gravity * DT;
            }
            self.positions[i] += self.velocities[i] * DT;
        }
        let body = Body {
            offsets: &self.offsets,
            positions: &mut self.positions,
            velocities: &mut self.velocities,
            inverse_masses: &self.inverse_masses,
            resistance: &[],
            radii: &self.radii,
            continuous: true,
        };
        let refused = |source| SimError::Model { groom: "collision".to_owned(), source };
        collisions.resolve(&mut [body], parameters, DT).map_err(refused)
    }

    /// Pairs whose axes met during the last step.
    fn passed(&self) -> usize {
        let touch = 1e-3 * RADIUS;
        let segments: Vec<usize> =
            self.offsets.windows(2).flat_map(|pair| pair[0] as usize..pair[1] as usize - 1).collect();
        let of = |at: &[DVec3], i: usize| Segment { from: at[i], to: at[i + 1] };
        let met = |i: usize, j: usize| {
            let (first, second) = (of(&self.before, i), of(&self.before, j));
            closest(&first, &second).offset.length() > touch
                && approach([&first, &of(&self.positions, i)], [&second, &of(&self.positions, j)], touch).is_some()
        };
        let pairs = segments.iter().flat_map(|&i| segments.iter().map(move |&j| (i, j)));
        pairs.filter(|&(i, j)| j > i + 1 && met(i, j)).count()
    }

    fn momentum(&self) -> [DVec3; 2] {
        let each = |i: usize| self.velocities[i] / self.inverse_masses[i];
        let all = || 0..self.positions.len();
        [all().map(each).sum(), all().map(|i| self.positions[i].cross(each(i))).sum()]
    }
}

/// Strands in layers, in all directions, thrown at random at up to `radii` radii a step.
fn tangle(seed: u64, radii: f64) -> Flock {
    let stream = Stream::new(seed, "tangle");
    let mut flock = Flock::new();
    for k in 0..8_u64 {
        let along = stream.direction(k).with_y(0.0).normalize_or(DVec3::X) * 0.05;
        let centre = DVec3::Y * (5e-3 * k as f64);
        let velocity = stream.direction(100 + k) * (radii * RADIUS / DT);
        flock.add(centre - along, centre + along, 9, velocity, 1.0);
    }
    flock
}

fn no_passing() -> Result<Measured, SimError> {
    let mut passed = 0;
    for (seed, radii) in (0..).zip([0.1, 1.0, 3.0, 10.0, 30.0, 100.0]) {
        let mut flock = tangle(seed, radii);
        for _ in 0..12 {
            flock.step(&Parameters::default(), DVec3::ZERO)?;
            passed += flock.passed();
        }
    }
    Ok(Measured::none(passed))
}

fn momentum() -> Result<Measured, SimError> {
    let mut flock = tangle(1, 10.0);
    let start = flock.momentum()[0];
    let scale: f64 = flock.velocities.iter().map(|v| v.length()).sum();
    let mut contacts = 0;
    for _ in 0..20 {
        contacts += flock.step(&Parameters::default(), DVec3::ZERO)?.contacts;
    }
    let change = (flock.momentum()[0] - start).length() / scale;
    Ok(Measured::at_most(1e-12, if contacts > 0 { change } else { f64::NAN }))
}

/// Two crossed strands that touch, pressed together with a spin.
fn angular() -> Result<Measured, SimError> {
    let mut flock = Flock::new();
    flock.add(DVec3::new(-0.05, 0.0, 0.0), DVec3::new(0.05, 0.0, 0.0), 9, DVec3::Y * 0.02, 1.0);
    let touching = DVec3::Y * (1.99 * RADIUS);
    flock.add(touching - DVec3::Z * 0.05, touching + DVec3::Z * 0.05, 9, DVec3::new(0.01, -0.02, 0.005), 2.0);
    let (mut worst, mut contacts) = (0.0_f64, 0);
    for _ in 0..20 {
        let before = flock.momentum()[1];
        let tally = flock.step(&Parameters { friction: 0.0, ..Parameters::default() }, DVec3::ZERO)?;
        // What meets during a step is exact only if it is alone; opening an old overlap moves mass.
        if tally.impacts == 0 && tally.penetration_max < 0.02 * RADIUS {
            worst = worst.max((flock.momentum()[1] - before).length());
            contacts += tally.contacts;
        }
    }
    let scale: f64 = (0..9).map(|i| flock.positions[i].length() * 0.02).sum();
    Ok(Measured::at_most(1e-12, if contacts > 0 { worst / scale } else { f64::NAN }))
}

fn friction() -> Result<Measured, SimError> {
    let (mu, steps) = (0.3, 20_u32);
    let mut flock = Flock::new();
    for x in [-0.1, 0.1] {
        flock.add(DVec3::new(x, 0.0, -5.0), DVec3::new(x, 0.0, 5.0), 2, DVec3::ZERO, 0.0);
    }
    let y = 2.0 * RADIUS;
    flock.add(DVec3::new(-0.2, y, 0.0), DVec3::new(0.2, y, 0.0), 2, DVec3::Z, 1.0);
    for _ in 0..steps {
        flock.step(&Parameters { friction: mu, iterations: 30 }, DVec3::new(0.0, -9.81, 0.0))?;
    }
    Ok(Measured::relative(mu * 9.81 * DT * f64::from(steps), 1.0 - flock.velocities[4].z, 0.02))
}

fn seven_cells() -> Result<Measured, SimError> {
    let stream = Stream::new(1, "seven");
    let unseen = |i: u64| {
        // Through a point close to faces, edges and corners of cells.
        let near = |k: u64| {
            let offset = 10.0_f64.powf(stream.range(8 * i + k, -6.0, 0.0));
            if stream.bits(8 * i + k + 4).is_multiple_of(2) { offset } else { -offset }
        };
        let meet = DVec3::new(near(0), near(1), near(2));
        let through = |k: u64| {
            let along = stream.direction(1_000_000 + 2 * i + k) * 0.5;
            let from = meet - along * stream.uniform(9_000_000 + 2 * i + k);
            Segment { from, to: from + along }
        };
        !seven::sees(&through(0), &through(1), 1.0)
    };
    Ok(Measured::none((0..100_000).filter(|&i| unseen(i)).count()))
}

fn searches() -> Result<Measured, SimError> {
    let stream = Stream::new(2, "searches");
    let (vertices, reach) = (5, 4e-3);
    let mut positions = Vec::new();
    for strand in 0..400_u64 {
        let mut at = stream.direction(strand) * 0.1;
        for k in 0..vertices {
            positions.push(at);
            at += stream.direction(10_000 + vertices * strand + k) * 0.02;
        }
    }
    let offsets: Vec<u32> = (0..=400).map(|strand| strand * vertices as u32).collect();
    let refused = |source| SimError::Model { groom: "collision".to_owned(), source };
    let one = seven::pairs(&mut Neighbours::new(), &offsets, &positions, reach).map_err(refused)?;
    let at = |i: usize| Segment { from: positions[i], to: positions[i + 1] };
    let capsules: Vec<Capsule> = (0..positions.len())
        .map(|i| match (i as u64 + 1).is_multiple_of(vertices) {
            true => Capsule::NONE,
            false => Capsule::around(positions[i], positions[i + 1], 0.5 * reach),
        })
        .collect();
    let near =
        |&[i, j]: &[u32; 2]| (closest(&at(i as usize), &at(j as usize)).offset.length() <= reach).then_some((i, j));
    let mut search = Search::default();
    let mut other: Vec<_> = search.pairs(&capsules).map_err(refused)?.iter().filter_map(near).collect();
    other.sort_unstable();
    let common = one.iter().filter(|pair| other.binary_search(pair).is_ok()).count();
    let enough = if one.len() > 1000 { 0 } else { 1 };
    Ok(Measured::none(one.len() + other.len() - 2 * common + enough))
}
