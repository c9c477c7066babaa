//! Water in hair against closed forms and conservation.

use super::{Case, GRAVITY, Measured};
use crate::experiment::scene_of;
use crate::{SimError, Simulation};
use drench_physics::synthetic::Bundle;
use drench_physics::wetting::Liquid;
use drench_physics::wetting::hair::{
    self, Clinging, Cohesion, Estimate, Fibre, Hair, HairScratch, HairWater, Medium, Strands, Surroundings,
};
use glam::DVec3;

pub const CASES: &[Case] = &[
    Case {
        name: "hair-spread-along",
        law: "capillary water spreads along slanting hair: variance grows by 2 D t",
        run: || spread(|rates| rates[0], ALONG),
    },
    Case {
        name: "hair-spread-across",
        law: "and across it",
        run: || spread(|rates| 0.5 * (rates[1] + rates[2]), ACROSS),
    },
    Case {
        name: "hair-spread-ratio",
        law: "the ratio of both, as given",
        run: || spread(|rates| 2.0 * rates[0] / (rates[1] + rates[2]), ALONG / ACROSS),
    },
    Case { name: "hair-fibre", law: "water inside a fibre spreads as the heat equation says", run: fibre_spread },
    Case { name: "hair-drains", law: "a hanging strand has lost v t / L of its free water to the tip", run: drains },
    Case { name: "hair-full", law: "hair under water holds what its capacities say, over its mass", run: full },
    Case { name: "hair-reach", law: "wet strands let go of each other at the stated reach [m]", run: reach },
    Case {
        name: "hair-clumps-grow",
        law: "clumps of a hanging brush get larger with its wetness: wetter brushes with smaller ones",
        run: clumps_grow,
    },
    Case {
        name: "hair-clumps-saturate",
        law: "and the wetter it is, the less: growth from 65 to 100 % over that from 30 to 65 %",
        run: clumps_saturate,
    },
    Case { name: "hair-drift", law: "relative drift of the water over 10 000 steps", run: drift },
];

const ALONG: f64 = 2e-5;
const ACROSS: f64 = 5e-6;

/// Hair that does nothing but what a check asks of it.
fn idle() -> (Medium, Fibre) {
    let medium = Medium { along: 0.0, across: 0.0, level: 0.0, delay: f64::MAX, ..Medium::default() };
    (medium, Fibre { soak: 0.0, diffusion: 0.0, flow: 0.0, change: 0.0, ..Fibre::default() })
}

/// Hair and its water.
struct Wet {
    bundle: Bundle,
    hair: Hair,
    water: HairWater,
    scratch: HairScratch,
    velocities: Vec<DVec3>,
}

impl Wet {
    fn new(bundle: Bundle, medium: Medium, fibre: Fibre) -> Result<Self, SimError> {
        let hair = Hair::new(medium, &[bundle.groom(fibre)]).map_err(SimError::Wetting)?;
        let water = HairWater::new(&hair, &[[0.0; 2]]);
        let velocities = vec![DVec3::ZERO; bundle.positions.len()];
        Ok(Self { bundle, hair, water, scratch: HairScratch::default(), velocities })
    }

    fn step(&mut self, liquid: &mut Liquid, dt: f64) -> Result<hair::Tally, SimError> {
        let Self { bundle, hair, water, scratch, velocities } = self;
        let strands = Strands { positions: &bundle.positions, velocities };
        let around = Surroundings { gravity: DVec3::NEG_Y * GRAVITY, towels: &[] };
        hair::step(hair, water, scratch, strands, liquid, &around, dt, &mut Vec::new()).map_err(SimError::Wetting)
    }

    fn step_alone(&mut self, dt: f64) -> Result<hair::Tally, SimError> {
        let mut none = Liquid { positions: &[], velocities: &[], masses: &mut [], radius: 1e-3, full: f64::INFINITY };
        self.step(&mut none, dt)
    }
}

fn spread(figure: fn([f64; 3]) -> f64, expected: f64) -> Result<Measured, SimError> {
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
    for _ in 0..40 {
        wet.step_alone(0.01)?;
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

/// Two strands that are moved apart by hand, and the distance at which the last bridge breaks.
fn reach() -> Result<Measured, SimError> {
    let (medium, fibre) = idle();
    let (reach, radius) = (2e-3, 4e-5_f32);
    let roots = [DVec3::ZERO, DVec3::X * 1e-4];
    let mut wet = Wet::new(Bundle::new(&roots, DVec3::NEG_Y, 21, 2e-3), medium, fibre)?;
    let room = fibre.between + fibre.around;
    for i in 0..42 {
        wet.water.around[i] = room * f64::from(wet.hair.masses()[i]);
    }
    let (masses, radii) = (vec![0.0; 42], vec![radius; 42]);
    let cohesion = Cohesion { reach, pull: 1e-3 };
    let mut apart = 1e-4;
    for step in 0.. {
        if step > 16 {
            apart += 1e-6;
        }
        (21..42).for_each(|i| wet.bundle.positions[i].x = apart);
        wet.step_alone(1e-3)?;
        let Wet { bundle, hair, water, scratch, velocities } = &mut wet;
        let strands = Clinging { positions: &bundle.positions, velocities, inverse_masses: &masses, radii: &radii };
        let bridges = hair::cling(hair, water, scratch, &cohesion, strands, 1e-3).map_err(SimError::Wetting)?;
        if step > 16 && bridges == 0 || apart > 1.0 {
            break;
        }
    }
    Ok(Measured::relative(reach + 2.0 * f64::from(radius), apart, 0.002))
}

/// Strands in a clump, on average, of a hanging brush whose room for water is filled to this part.
fn clump_size(wetness: f64) -> Result<f64, SimError> {
    let mut brush = Simulation::build(&scene_of(format!(
        "name = 'brush'\n\
         simulation = {{ fps = 24, substeps = 8 }}\n\
         wetting = {{ reach = '3 mm' }}\n\
         [[solid]]\nname = 'clamp'\nposition = [0, 0.2, 0]\n\
         shape = {{ kind = 'cylinder', radius = '3 cm', height = '1 cm' }}\n\
         [[groom]]\nname = 'brush'\non = 'clamp'\nstrands = 300\nlength = '12 cm'\nvertices = 13\n\
         density = 'step(0.5, -ny)'\nhang = 1\nlay = 1\ncomb = [0, -1, 0]\n\
         strand = {{ model = 'csm', contact_radius = '0.2 mm' }}\n\
         wet = {{ around = 0, soak = 0, dampness = {wetness} }}\n"
    )))?;
    brush.begin()?;
    let mut size = f64::NAN;
    for _ in 0..16 {
        let stats = brush.advance_frame()?;
        size = stats.bodies["brush"].hair.map_or(f64::NAN, |hair| hair.clump_size);
    }
    Ok(size)
}

fn clumps_grow() -> Result<Measured, SimError> {
    let sizes = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0].map(clump_size).into_iter().collect::<Result<Vec<f64>, _>>()?;
    // Dry hair hangs strand by strand, wet hair in clumps of several.
    let begins = usize::from(sizes[0] != 1.0) + usize::from(sizes[5].is_nan() || sizes[5] < 2.0);
    Ok(Measured::none(begins + sizes.windows(2).filter(|pair| pair[1] < pair[0]).count()))
}

fn clumps_saturate() -> Result<Measured, SimError> {
    let [damp, wet, soaked] = [clump_size(0.3)?, clump_size(0.65)?, clump_size(1.0)?];
    Ok(Measured::at_most(1.0, (soaked - wet) / (wet - damp)))
}

fn drift() -> Result<Measured, SimError> {
    let medium = Medium { voxel: 4e-3, ..Medium::default() };
    let mut wet = Wet::new(Bundle::hanging(6, 1.3e-3, 10, 4e-3), medium, Fibre::default())?;
    for i in (0..wet.water.around.len()).filter(|i| i % 7 == 3) {
        wet.water.around[i] = 1e-7;
    }
    let before: f64 = wet.water.reservoirs().iter().sum();
    for step in 0..10_000 {
        // Hair that sways: its voxels change in every step.
        let sway = 1e-3 * (0.01 * f64::from(step)).sin();
        wet.bundle.positions.iter_mut().for_each(|x| x.x += 1e-2 * sway);
        wet.step_alone(5e-3)?;
    }
    let after: f64 = wet.water.reservoirs().iter().sum();
    Ok(Measured::at_most(1e-9, (after - before) / before))
}
