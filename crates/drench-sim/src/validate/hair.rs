//! Water in hair against closed forms and conservation.

use super::{Case, GRAVITY, Measured};
use crate::SimError;
use drench_geometry::neighbours::Neighbours;
use drench_math::ordered::Compensated;
use drench_math::random::Stream;
use drench_physics::liquid::{Droplet, LiquidState};
use drench_physics::synthetic::Bundle;
use drench_physics::wetting::Liquid;
use drench_physics::wetting::hair::{
    self, Drip, Estimate, Fibre, Hair, HairScratch, HairWater, Medium, Strands, Surroundings,
};
use glam::DVec3;

pub const CASES: &[Case] = &[
    Case {
        name: "hair-spread-along",
        law: "capillary water spreads along slanting hair: variance grows by 2 D t",
        run: || spread(40, |rates| rates[0], ALONG),
    },
    Case {
        name: "hair-spread-across",
        law: "and across it",
        run: || spread(40, |rates| 0.5 * (rates[1] + rates[2]), ACROSS),
    },
    Case {
        name: "hair-spread-ratio",
        law: "the ratio of both, as given",
        run: || spread(40, |rates| 2.0 * rates[0] / (rates[1] + rates[2]), ALONG / ACROSS),
    },
    Case {
        name: "hair-spread-step",
        law: "along slanting hair, in one step of 0.4 s instead of 40",
        run: || spread(1, |rates| rates[0], ALONG),
    },
    Case { name: "hair-fibre", law: "water inside a fibre spreads as the heat equation says", run: fibre_spread },
    Case { name: "hair-drains", law: "a hanging strand has lost v t / L of its free water to the tip", run: drains },
    Case {
        name: "hair-intake-step",
        law: "drops that fall through hair at 3 m/s leave as much in it in steps of 10 ms as in steps of 1.25 ms",
        run: intake_step,
    },
    Case { name: "hair-full", law: "hair under water holds what its capacities say, over its mass", run: full },
    Case {
        name: "hair-drift",
        law: "relative drift of the water over 10 000 steps of rain, drips and drying",
        run: drift,
    },
];

const ALONG: f64 = 2e-5;
const ACROSS: f64 = 5e-6;

/// Hair that does nothing but what a check asks of it.
pub(super) fn idle() -> (Medium, Fibre) {
    let medium = Medium { along: 0.0, across: 0.0, level: 0.0, delay: f64::MAX, ..Medium::default() };
    (medium, Fibre { soak: 0.0, diffusion: 0.0, flow: 0.0, change: 0.0, ..Fibre::default() })
}

/// Hair and its water.
pub(super) struct Wet {
    pub bundle: Bundle,
    pub hair: Hair,
    pub water: HairWater,
    pub scratch: HairScratch,
    pub velocities: Vec<DVec3>,
}

impl Wet {
    pub fn new(bundle: Bundle, medium: Medium, fibre: Fibre) -> Result<Self, SimError> {
        let hair = Hair::new(medium, &[bundle.groom(fibre)]).map_err(SimError::Wetting)?;
        let water = HairWater::new(&hair, &[[0.0; 2]]);
        let velocities = vec![DVec3::ZERO; bundle.positions.len()];
        Ok(Self { bundle, hair, water, scratch: HairScratch::default(), velocities })
    }

    fn step(&mut self, liquid: &mut Liquid, dt: f64) -> Result<hair::Tally, SimError> {
        self.exchange(liquid, dt, &mut Vec::new())
    }

    /// One step; `drips` gets the drops that leave.
    fn exchange(&mut self, liquid: &mut Liquid, dt: f64, drips: &mut Vec<Drip>) -> Result<hair::Tally, SimError> {
        let Self { bundle, hair, water, scratch, velocities } = self;
        hair::locate(hair, scratch, &bundle.positions).map_err(SimError::Wetting)?;
        let strands = Strands { positions: &bundle.positions, velocities };
        let around = Surroundings { gravity: DVec3::NEG_Y * GRAVITY, towels: &[] };
        hair::step(hair, water, scratch, strands, liquid, &around, dt, drips).map_err(SimError::Wetting)
    }

    pub fn step_alone(&mut self, dt: f64) -> Result<hair::Tally, SimError> {
        let mut none =
            Liquid { positions: &[], before: &[], velocities: &[], masses: &mut [], radius: 1e-3, full: f64::INFINITY };
        self.step(&mut none, dt)
    }
}

/// What comes out of 0.4 s of spreading in so many steps.
fn spread(steps: u32, figure: fn([f64; 3]) -> f64, expected: f64) -> Result<Measured, SimError> {
    let (mut medium, mut fibre) = idle();
    (medium.along, medium.across, medium.voxel, medium.estimate) = (ALONG, ACROSS, 2e-3, Estimate::Count);
    fibre.between = 50.0;
    let way = DVec3::new(1.0, 2.0, 0.5).normalize();
    let (u, v) = (way.any_orthonormal_vector(), way.cross(way.any_orthonormal_vector()));
    let place = |k: i32| (u * f64::from(k % 40 - 20) + v * f64::from(k / 40 - 20)) * 1e-3 - way * 0.03;
    let roots: Vec<DVec3> = (0..40 * 40).map(place).collect();
    let mut wet = Wet::new(Bundle::new(&roots, way, 61, 1e-3), medium, fibre)?;
    for i in (0..wet.water.around.len()).filter(|i| i % 61 != 0) {
        let square = wet.bundle.positions[i].length_squared();
        wet.water.around[i] = 1e-8 * (-square / (2.0 * 4e-3_f64.powi(2))).exp();
    }
    let variances = |wet: &Wet| {
        [way, u, v].map(|axis| {
            let (mut sum, mut square) = (0.0, 0.0);
            for i in (0..wet.water.around.len()).filter(|i| i % 61 != 0) {
                let middle = 0.5 * (wet.bundle.positions[i] + wet.bundle.positions[i - 1]);
                sum += wet.water.around[i];
                square += wet.water.around[i] * middle.dot(axis).powi(2);
            }
            square / sum
        })
    };
    let before = variances(&wet);
    for _ in 0..steps {
        wet.step_alone(0.4 / f64::from(steps))?;
    }
    let after = variances(&wet);
    let rates = [0, 1, 2].map(|axis| (after[axis] - before[axis]) / (2.0 * 0.4));
    Ok(Measured::relative(expected, figure(rates), 0.05))
}

/// A bell of water inside a long fibre: half its height above the middle after the time in which its variance doubles once and a half.
fn fibre_spread() -> Result<Measured, SimError> {
    let (medium, mut fibre) = idle();
    fibre.diffusion = 1e-6;
    let (count, length, sigma) = (201, 1e-3, 5e-3_f64);
    let mut wet = Wet::new(Bundle::new(&[DVec3::ZERO], DVec3::X, count, length), medium, fibre)?;
    let middle = 100;
    let bell = |i: usize, variance: f64| (-((i as f64 - 100.0) * length).powi(2) / (2.0 * variance)).exp();
    for i in 1..count as usize {
        wet.water.inside[i] = 1e-9 * bell(i, sigma * sigma);
    }
    // Variance s^2 + 2 D t = 4 s^2: the peak falls to a half.
    let time = 1.5 * sigma * sigma / fibre.diffusion;
    for _ in 0..400 {
        wet.step_alone(time / 400.0)?;
    }
    Ok(Measured::relative(0.5, wet.water.inside[middle] / 1e-9, 0.01))
}

fn drains() -> Result<Measured, SimError> {
    let (medium, mut fibre) = idle();
    (fibre.flow, fibre.between) = (0.1, 0.0);
    let mut wet = Wet::new(Bundle::new(&[DVec3::ZERO], DVec3::NEG_Y, 201, 1e-3), medium, fibre)?;
    wet.water.around.iter_mut().skip(1).for_each(|water| *water = 1e-9);
    for _ in 0..1000 {
        wet.step_alone(1e-3)?;
    }
    // The last segment has its own water besides.
    Ok(Measured::relative(0.5 + 1.0 / 200.0, wet.water.around[200] / 200e-9, 0.005))
}

/// Hair in water that is renewed until it takes no more.
fn full() -> Result<Measured, SimError> {
    let (medium, mut fibre) = idle();
    fibre.soak = 5.0;
    let medium = Medium { estimate: Estimate::Count, ..medium };
    let mut wet = Wet::new(Bundle::hanging(10, 1.1e-3, 12, 4e-3), medium, fibre)?;
    let spacing = 3e-3;
    let mut positions = Vec::new();
    for k in 0..8 * 8 * 20 {
        positions.push(DVec3::new(f64::from(k % 8), -f64::from(k / 64), f64::from(k / 8 % 8)) * spacing - 4e-3);
    }
    let velocities = vec![DVec3::ZERO; positions.len()];
    let mut masses = vec![0.0; positions.len()];
    for _ in 0..600 {
        masses.fill(2.7e-5);
        let mut liquid = Liquid {
            positions: &positions,
            before: &[],
            velocities: &velocities,
            masses: &mut masses,
            radius: 0.5 * spacing,
            full: 2.7e-5,
        };
        wet.step(&mut liquid, 5e-3)?;
    }
    let hair: f64 = wet.hair.masses().iter().map(|&m| f64::from(m)).sum();
    let held: f64 = wet.water.reservoirs().iter().sum();
    // Voxels stop taking in water when 5 % of their room is left.
    Ok(Measured::relative(fibre.inside + fibre.between + fibre.around, held / hair, 0.05))
}

/// Water that drops leave in hair, over its mass, when they fall through it for 0.2 s in steps of this length [s].
fn left_by_drops(dt: f64) -> Result<f64, SimError> {
    let (medium, fibre) = idle();
    let mut wet = Wet::new(Bundle::hanging(20, 1.5e-3, 16, 4e-3), medium, fibre)?;
    let (full, radius) = (2.7e-5, 1.5e-3);
    let stream = Stream::new(1, "shower");
    let velocity = DVec3::new(0.3, -3.0, 0.2);
    // They come in from above one after the other, at instants that no step knows of.
    let begins = |k: u64| 0.2 * (k as f64 + stream.uniform(3 * k)) / 40.0;
    let from = |k: u64| DVec3::new(0.03 * stream.uniform(3 * k + 1), 0.02, 0.03 * stream.uniform(3 * k + 2));
    let drops: Vec<(f64, DVec3)> = (0..40).map(|k| (begins(k), from(k))).collect();
    let mut masses = vec![full; drops.len()];
    let velocities = vec![velocity; drops.len()];
    for step in 0..(0.25 / dt).round() as u32 {
        let at = |steps: u32| {
            let now = f64::from(steps) * dt;
            drops.iter().map(|(begin, from)| *from + velocity * (now - begin).max(0.0)).collect::<Vec<DVec3>>()
        };
        let (before, positions) = (at(step), at(step + 1));
        let liquid = Liquid {
            positions: &positions,
            before: &before,
            velocities: &velocities,
            masses: &mut masses,
            radius,
            full,
        };
        wet.step(&mut { liquid }, dt)?;
        // They push it, but it stays.
        wet.velocities.fill(DVec3::ZERO);
    }
    let hair: f64 = wet.hair.masses().iter().map(|&m| f64::from(m)).sum();
    Ok(wet.water.reservoirs().iter().sum::<f64>() / hair)
}

/// Drops fall by seven voxels in a long step.
fn intake_step() -> Result<Measured, SimError> {
    Ok(Measured::relative(left_by_drops(1.25e-3)?, left_by_drops(10e-3)?, 0.05))
}

/// Hair that sways in rain for 10 000 steps, repels it for a while, drips, and dries: what is in it, in the liquid and in the air is what fell.
fn drift() -> Result<Measured, SimError> {
    let medium = Medium { voxel: 4e-3, delay: 0.01, ..Medium::default() };
    let fibre = Fibre { drying: 0.3, fibre_drying: 0.1, oil: 0.8, wear: 5.0, flow: 1.0, ..Fibre::default() };
    let mut wet = Wet::new(Bundle::hanging(6, 1.3e-3, 10, 4e-3), medium, fibre)?;
    let (full, radius, dt) = (2.7e-5, 1.5e-3, 5e-3);
    let stream = Stream::new(1, "rain");
    let (mut liquid, mut near, mut drips) = (LiquidState::default(), Neighbours::default(), Vec::new());
    let (mut fallen, mut gone) = (Compensated::default(), Compensated::default());
    let [mut taken, mut dried, mut dripped] = [0.0; 3];
    for step in 0..10_000_u64 {
        // Its voxels change in every step.
        let sway = 1e-3 * (0.01 * step as f64).sin();
        wet.bundle.positions.iter_mut().for_each(|x| x.x += 1e-2 * sway);
        if step % 25 == 0 {
            let at = |k: u64| 8e-3 * stream.uniform(2 * step + k);
            let position = DVec3::new(wet.bundle.positions[0].x + at(0), 2e-3, at(1));
            liquid.add(&[Droplet { position, velocity: DVec3::NEG_Y, mass: full, birth: 0.0 }]);
            fallen.add(full);
        }
        let LiquidState { positions, velocities, masses, .. } = &mut liquid;
        positions.iter_mut().zip(&*velocities).for_each(|(x, v)| *x += *v * dt);
        let mut around = Liquid { positions, before: &[], velocities, masses, radius, full };
        let tally = wet.exchange(&mut around, dt, &mut drips)?;
        gone.add(tally.dried);
        (taken, dried, dripped) = (taken + tally.taken, dried + tally.dried, dripped + tally.dripped);
        liquid.remove(|drop| drop.mass <= 0.0);
        hair::release(&mut liquid, &drips, &mut near, [full, radius], 0.0).map_err(SimError::Wetting)?;
        gone.add(liquid.remove(|drop| drop.position.y < -0.2));
    }
    let held: f64 = wet.water.reservoirs().iter().sum::<f64>() + liquid.mass();
    // Every exchange has moved several times what there is.
    let little = [taken, dried, dripped].into_iter().any(|moved| moved < 3.0 * held);
    Ok(Measured::at_most(1e-9, if little { f64::NAN } else { (held + gone.value() - fallen.value()) / held }))
}
