//! Wet strands that cling to each other: two of them against the law of their bridges, a brush against what it does without them.

use super::hair::{Wet, idle};
use super::{Case, Measured};
use crate::experiment::scene_of;
use crate::{SimError, Simulation};
use drench_physics::synthetic::Bundle;
use drench_physics::wetting::hair::{self, Clinging, Cohesion};
use glam::DVec3;

pub const CASES: &[Case] = &[
    Case {
        name: "hair-reach",
        law: "free wet strands come together from no farther than the stated reach [m]",
        run: reach,
    },
    Case { name: "hair-hold", law: "they hold each other, from both sides, by 2 `pull` a length [N/m]", run: hold },
    Case { name: "hair-release", law: "and pulled harder let go of each other at the reach [m]", run: release },
    Case {
        name: "hair-clumps-grow",
        law: "clumps of a hanging brush get larger with its wetness: wetter brushes with ones smaller by 5 %",
        run: clumps_grow,
    },
    Case {
        name: "hair-clumps-saturate",
        law: "and do not grow on: what 60 to 100 % of the water add over what 20 to 60 % do",
        run: clumps_saturate,
    },
    Case {
        name: "hair-clumps-pull",
        law: "by the pull: strands in a clump of a soaked brush whose bridges do not pull",
        run: clumps_without_pull,
    },
    Case {
        name: "hair-clumps-still",
        law: "a wet brush hangs still after 3 s: rms speed [m/s], 1 if a clump changes in half a second",
        run: still,
    },
    Case {
        name: "hair-clumps-step",
        law: "clumps do not depend on the time step from 10.4 ms down: strands in one in steps of 10.4, 5.2 and 1.3 ms over that in 2.6 ms, the one farthest from 1",
        run: clumps_step,
    },
];

/// Distance at which full strands cling, force for each length, radius and length of segments of the pair.
const REACH: f64 = 2e-3;
const PULL: f64 = 1e-3;
const RADIUS: f32 = 4e-5;
const SEGMENT: f64 = 2e-3;
/// Vertices of a strand.
const COUNT: usize = 21;

/// Two strands full of water, side by side in thick air; nothing holds them but their bridges, and their roots.
struct Pair {
    wet: Wet,
    inverse_masses: Vec<f64>,
}

impl Pair {
    /// So far apart [m].
    fn new(apart: f64) -> Result<Self, SimError> {
        let (medium, fibre) = idle();
        let roots = [DVec3::ZERO, DVec3::X * apart];
        let bundle = Bundle::new(&roots, DVec3::NEG_Y, COUNT as u32, SEGMENT);
        let light = |(i, mass): (usize, &f32)| if i % COUNT == 0 { 0.0 } else { 1.0 / (3.0 * f64::from(*mass)) };
        let inverse_masses = bundle.masses.iter().enumerate().map(light).collect();
        let mut wet = Wet::new(bundle, medium, fibre)?;
        for i in 0..2 * COUNT {
            wet.water.around[i] = (fibre.between + fibre.around) * f64::from(wet.hair.masses()[i]);
        }
        Ok(Self { wet, inverse_masses })
    }

    /// One step in which every vertex is drawn outwards by a force [N]; how many bridges there are.
    fn step(&mut self, force: f64, dt: f64) -> Result<u64, SimError> {
        self.wet.step_alone(dt)?;
        let Wet { bundle, hair, water, scratch, velocities } = &mut self.wet;
        for (i, v) in velocities.iter_mut().enumerate() {
            v.x += if i < COUNT { -force } else { force } * self.inverse_masses[i] * dt;
            *v /= 1.0 + 5.0 * dt;
        }
        let radii = [RADIUS; 2 * COUNT];
        let (positions, inverse_masses) = (&bundle.positions[..], &self.inverse_masses[..]);
        let strands = Clinging { positions, velocities, inverse_masses, radii: &radii };
        let cohesion = Cohesion { reach: REACH, pull: PULL };
        let bridges = hair::cling(hair, water, scratch, &cohesion, strands, dt).map_err(SimError::Wetting)?;
        bundle.positions.iter_mut().zip(velocities).for_each(|(x, v)| *x += *v * dt);
        Ok(bridges)
    }

    /// How far apart their middles are [m].
    fn distance(&self) -> f64 {
        let middle = COUNT / 2;
        self.wet.bundle.positions[middle].distance(self.wet.bundle.positions[middle + COUNT])
    }
}

/// Where an outcome ends that holds at the lower and not at the upper of two values.
fn bisect(mut within: [f64; 2], holds: impl Fn(f64) -> Result<bool, SimError>) -> Result<f64, SimError> {
    for _ in 0..9 {
        let middle = 0.5 * (within[0] + within[1]);
        within[usize::from(!holds(middle)?)] = middle;
    }
    Ok(0.5 * (within[0] + within[1]))
}

fn reach() -> Result<Measured, SimError> {
    let contact = 2.0 * f64::from(RADIUS);
    let farthest = bisect([0.5 * REACH, 1.5 * REACH], |apart| {
        let mut pair = Pair::new(apart)?;
        for _ in 0..250 {
            pair.step(0.0, 2e-3)?;
        }
        Ok(pair.distance() < 2.0 * contact)
    })?;
    Ok(Measured::relative(REACH + contact, farthest, 0.005))
}

/// Two strands in contact with their bridges.
fn joined(dt: f64) -> Result<Pair, SimError> {
    let mut pair = Pair::new(2.0 * f64::from(RADIUS))?;
    for _ in 0..20 {
        pair.step(0.0, dt)?;
    }
    Ok(pair)
}

fn hold() -> Result<Measured, SimError> {
    let (expected, dt) = (2.0 * PULL, 2e-3);
    let most = bisect([0.5 * expected, 1.5 * expected], |force| {
        let mut pair = joined(dt)?;
        for _ in 0..300 {
            pair.step(force * SEGMENT, dt)?;
        }
        Ok(pair.distance() < REACH)
    })?;
    Ok(Measured::relative(expected, most, 0.03))
}

fn release() -> Result<Measured, SimError> {
    let mut pair = joined(1e-4)?;
    let mut before = pair.distance();
    // Those of the roots last: they are held.
    while pair.step(3.0 * PULL * SEGMENT, 1e-4)? > COUNT as u64 / 2 {
        before = pair.distance();
        if before > 2.0 * REACH {
            break;
        }
    }
    Ok(Measured::relative(REACH + 2.0 * f64::from(RADIUS), before, 0.02))
}

/// A hanging brush whose room for water is filled to this part, and whose bridges pull so strongly [N/m], or as they do by default. They reach
/// across more than twice the distance of its strands. It takes so many steps in a frame.
fn brush(wetness: f64, pull: Option<f64>, substeps: u32) -> Result<Simulation, SimError> {
    let pull = pull.map_or_else(String::new, |pull| format!(", pull = {pull}"));
    let mut brush = Simulation::build(&scene_of(format!(
        "name = 'brush'\n\
         simulation = {{ fps = 24, substeps = {substeps} }}\n\
         wetting = {{ reach = '7 mm'{pull} }}\n\
         [[solid]]\nname = 'clamp'\nposition = [0, 0.2, 0]\n\
         shape = {{ kind = 'cylinder', radius = '3 cm', height = '1 cm' }}\n\
         [[groom]]\nname = 'brush'\non = 'clamp'\nstrands = 300\nlength = '8 cm'\nvertices = 13\n\
         density = 'step(0.5, -ny)'\nhang = 1\nlay = 1\ncomb = [0, -1, 0]\n\
         strand = {{ model = 'csm', contact_radius = '0.2 mm' }}\n\
         wet = {{ around = 0, soak = 0, dampness = {wetness} }}\n"
    )))?;
    brush.begin()?;
    Ok(brush)
}

/// Strands in a clump, on average, frame by frame.
fn sizes(brush: &mut Simulation, frames: u32) -> Result<Vec<f64>, SimError> {
    let size = |_| Ok(brush.advance_frame()?.bodies["brush"].hair.map_or(f64::NAN, |hair| hair.clump_size));
    (0..frames).map(size).collect()
}

/// A pull that limits how large clumps get: a tenth of what strands weigh for each length [N/m].
const WEAK: f64 = 1e-5;

/// Steps in a frame, of 2.6 ms.
const SUBSTEPS: u32 = 16;

/// Strands in a clump of a brush after a second and a half.
fn grown(mut brush: Simulation) -> Result<f64, SimError> {
    Ok(sizes(&mut brush, 36)?.last().copied().unwrap_or(f64::NAN))
}

/// The same, in brushes that are so wet.
fn series<const N: usize>(wetness: [f64; N]) -> Result<Vec<f64>, SimError> {
    wetness.into_iter().map(|wetness| grown(brush(wetness, Some(WEAK), SUBSTEPS)?)).collect()
}

fn clumps_grow() -> Result<Measured, SimError> {
    let sizes = series([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])?;
    // Dry hair hangs strand by strand, wet hair in clumps of several.
    let begins = usize::from(sizes[0] != 1.0) + usize::from(sizes[5].is_nan() || sizes[5] < 5.0);
    Ok(Measured::none(begins + sizes.windows(2).filter(|pair| pair[1] < 0.95 * pair[0]).count()))
}

fn clumps_saturate() -> Result<Measured, SimError> {
    let sizes = series([0.2, 0.6, 1.0])?;
    Ok(Measured::at_most(0.2, ((sizes[2] - sizes[1]) / (sizes[1] - sizes[0])).abs()))
}

fn clumps_without_pull() -> Result<Measured, SimError> {
    Ok(Measured::relative(1.0, grown(brush(1.0, Some(1e-9), SUBSTEPS)?)?, 0.05))
}

fn clumps_step() -> Result<Measured, SimError> {
    let size = |substeps: u32| grown(brush(1.0, None, substeps)?);
    let middle = size(SUBSTEPS)?;
    let mut farthest = 1.0_f64;
    for substeps in [SUBSTEPS / 4, SUBSTEPS / 2, 2 * SUBSTEPS] {
        let ratio = size(substeps)? / middle;
        farthest = if (ratio - 1.0).abs() > (farthest - 1.0).abs() { ratio } else { farthest };
    }
    // A brush has about twenty clumps: two of them more or less are chance.
    Ok(Measured::relative(1.0, farthest, 0.2))
}

fn still() -> Result<Measured, SimError> {
    let mut brush = brush(1.0, Some(2e-3), SUBSTEPS)?;
    let sizes = sizes(&mut brush, 84)?;
    let velocities = &brush.world().state.strands[0].velocities;
    let speed = (velocities.iter().map(|v| v.length_squared()).sum::<f64>() / velocities.len() as f64).sqrt();
    let changes = sizes[72..].windows(2).any(|pair| pair[0] != pair[1]);
    Ok(Measured::at_most(0.001, speed + f64::from(u8::from(changes))))
}
