//! Wet hair on a porous grid [Rungjiratananon2012b], [Rungjiratananon2012, chapter 6]: hair takes in liquid, water spreads and runs along the
//! strands, and drips.
//!
//! Every segment holds water inside the fibre (s) and around it (m). What is around it fills first the gaps between hairs (c, capillary)
//! and then covers them (f, free). Voxels that hold hair are where segments meet.
//!
//! | symbol | meaning | where |
//! |---|---|---|
//! | l_iv, L_v | length of segment i in voxel v, and of all hairs | [`grid`] |
//! | W_s, W_c, W_f | capacities: [`Fibre::inside`], [`Fibre::between`], [`Fibre::around`] times the mass of hair | [`voxels`] |
//! | w_i = s_i + m_i | water of segment i [kg] | [`HairWater`] |
//! | T_v = sum l u u^T / L_v | orientation tensor | [`voxels`] |
//! | F_vu = (l_e / h^2) H(W_v, W_u) (S_u - S_v) | flow between voxels, S = c / W_c, H the harmonic mean, l_e from D(T) | [`spread`] |
//! | k = t . (g - a) / 9.81 | drive along a strand that is itself accelerated by a | [`strand`] |
//!
//! A step ([`step`]), once the voxels are found ([`locate`]): the air takes some; liquid that moves into hair is taken in along its way as far as there is room; water spreads from voxel to voxel; along every
//! strand the fibre takes in water, water inside it levels out, free water runs; where there is more than can be held for a while, it drips; free
//! water is shared within a voxel. Every exchange is one number, taken here and given there.
//!
//! Deviations from the text, each for a reason:
//! - (14) multiplies two differences of the same sign, so that both sides gain. Here one flow a link is taken from one voxel and given to the other,
//!   in steps short enough that no voxel becomes fuller than the fullest around it.
//! - (10) averages signed tangents, of which opposite ones cancel. Here the tensor u u^T is averaged, and [`selling`] turns it into links with weights that
//!   are never negative, so that water follows hair in any direction, not only along the axes.
//! - (17) shares a voxel's capillaries by n_i l_iv / L_v, n_i the hairs that the strand stands for.
//! - (18) and the rules of free flow are implicit in time along each strand: they are stable and positive at any step.
//! - Water inside the fibre is a quantity of its own that fills at a rate ([`Fibre::soak`]); at a high rate it is (7).
//! - (5) gives capillaries to any voxel with two segments, be they of one strand, and however large the voxel. [`Estimate::Spacing`] counts the hairs that have a
//!   neighbour within reach instead.
//!
//! Breaks down: voxels much larger than the distance between locks wet dry locks beside wet ones; water that flows from segment to segment leaves its
//! momentum behind.

mod cohesion;
mod drip;
pub mod grid;
mod intake;
mod selling;
mod spread;
mod strand;
mod survey;
mod voxels;

pub use cohesion::{Clinging, Cohesion, cling, clumps};
pub use drip::{Drip, release};
pub use survey::{Surveyed, survey};

use crate::error::{PhysicsError, check};
use crate::wetting::Liquid;
use drench_math::ordered::{self, Compensated};
use glam::{DVec3, Vec3};
use grid::Grid;
use rayon::prelude::*;
use spread::Links;
use voxels::Voxels;

/// Voxels that anything reaches across at most: every point looks at all of them.
pub const WIDEST: f64 = 16.0;
const WIDEST_SAID: &str = "between 0 and 16: make `voxel` larger";

/// Gravity that drives free water at its full speed [m/s2].
const FULL_GRAVITY: f64 = 9.81;

/// What all hair of a scene has in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Medium {
    /// Edge of a voxel [m].
    pub voxel: f64,
    /// How capillaries are estimated.
    pub estimate: Estimate,
    /// Diffusivity of capillary water along hair [m2/s].
    pub along: f64,
    /// Diffusivity across it [m2/s].
    pub across: f64,
    /// How fast free water is shared within a voxel [1/s].
    pub level: f64,
    /// How long a voxel holds more than it can before it drips [s].
    pub delay: f64,
    /// Speed at which drops leave the hair [m/s].
    pub kick: f64,
    /// Density of the liquid [kg/m3].
    pub liquid_density: f64,
}

/// How much of the hair in a voxel has capillaries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Estimate {
    /// All of it if there are two segments or more, none otherwise: the text's rule.
    Count,
    /// The part that has a neighbour within this distance between axes [m], if hairs are scattered: 1 - exp(-pi n d^2) with n other hairs an area.
    Spacing(f64),
}

/// What one groom's hair does with water.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fibre {
    /// Hairs that a strand stands for.
    pub hairs: f64,
    /// Water that fits into the fibre, over the mass of hair.
    pub inside: f64,
    /// Water that fits between hairs, over the mass of hair.
    pub between: f64,
    /// Water that fits around hairs, over the mass of hair.
    pub around: f64,
    /// How fast fibres fill with the water around them [1/s].
    pub soak: f64,
    /// Diffusivity of water inside the fibre [m2/s].
    pub diffusion: f64,
    /// Speed of free water along a hanging strand [m/s].
    pub flow: f64,
    /// How fast water around hair dries [1/s].
    pub drying: f64,
    /// How fast water inside the fibre dries once there is none around it [1/s].
    pub fibre_drying: f64,
    /// How strongly dry hair repels water, 0 to 1: from [`REPELS`] on it takes none in.
    pub oil: f64,
    /// How fast contact with water wears off what repels it [1/s].
    pub wear: f64,
    /// How fast the rest shape follows the water inside the fibre [1/s].
    pub change: f64,
}

/// Mean strength of the oil in a voxel from which it takes in no water.
pub const REPELS: f64 = 0.5;

impl Default for Medium {
    fn default() -> Self {
        Self {
            voxel: 5e-3,
            estimate: Estimate::Spacing(1e-3),
            along: 2e-4,
            across: 5e-5,
            level: 5.0,
            delay: 0.05,
            kick: 0.1,
            liquid_density: 1000.0,
        }
    }
}

impl Default for Fibre {
    fn default() -> Self {
        Self {
            hairs: 1.0,
            inside: 0.35,
            between: 0.8,
            around: 1.2,
            soak: 0.5,
            diffusion: 1e-6,
            flow: 0.15,
            drying: 0.0,
            fibre_drying: 0.0,
            oil: 0.0,
            wear: 0.5,
            change: 1.0,
        }
    }
}

impl Medium {
    fn check(&self) -> Result<(), PhysicsError> {
        let diffusivity = "between 0 and 0.01 m2/s";
        check("voxel", self.voxel, "between 0.1 mm and 1 m", |x| (1e-4..=1.0).contains(&x))?;
        if let Estimate::Spacing(reach) = self.estimate {
            check("capillary reach", reach, "positive", |x| x > 0.0)?;
        }
        check("diffusivity along hair", self.along, diffusivity, |x| (0.0..=0.01).contains(&x))?;
        check("diffusivity across hair", self.across, diffusivity, |x| (0.0..=0.01).contains(&x))?;
        check("levelling", self.level, "0 or more", |x| x >= 0.0)?;
        check("drip delay", self.delay, "0 or more", |x| x >= 0.0)?;
        check("drip speed", self.kick, "0 or more", |x| x >= 0.0)?;
        check("liquid density", self.liquid_density, "positive", |x| x > 0.0)
    }
}

impl Fibre {
    fn check(&self) -> Result<(), PhysicsError> {
        let capacity = "0 or more, and at most 100";
        check("hairs of a strand", self.hairs, "positive", |x| x > 0.0)?;
        check("capacity inside the fibre", self.inside, "between 0 and 1 (hair takes in 0.3 to 0.45)", |x| {
            (0.0..=1.0).contains(&x)
        })?;
        check("capacity between hairs", self.between, capacity, |x| (0.0..=100.0).contains(&x))?;
        check("capacity around hairs", self.around, capacity, |x| (0.0..=100.0).contains(&x))?;
        check("diffusivity inside the fibre", self.diffusion, "between 0 and 1 m2/s", |x| (0.0..=1.0).contains(&x))?;
        check("speed of free water", self.flow, "between 0 and 100 m/s", |x| (0.0..=100.0).contains(&x))?;
        check("repellent", self.oil, "between 0 and 1", |x| (0.0..=1.0).contains(&x))?;
        for (name, rate) in [
            ("soaking", self.soak),
            ("drying", self.drying),
            ("drying of the fibre", self.fibre_drying),
            ("wear of the repellent", self.wear),
            ("change of shape", self.change),
        ] {
            check(name, rate, "0 or more", |x| x >= 0.0)?;
        }
        Ok(())
    }
}

/// One groom as it comes into the model.
#[derive(Clone, Copy, Debug)]
pub struct Groom<'a> {
    /// First vertex of each strand, and the vertex count.
    pub offsets: &'a [u32],
    /// Mass of each vertex [kg], of one hair.
    pub masses: &'a [f32],
    /// Length of the segment that ends at each vertex [m].
    pub lengths: &'a [f32],
    /// What it does with water.
    pub fibre: Fibre,
}

/// All hair that can get wet, as one: what never changes.
#[derive(Clone, Debug)]
pub struct Hair {
    medium: Medium,
    /// First vertex of each strand, and the vertex count.
    offsets: Vec<u32>,
    /// First vertex and first strand of each groom.
    grooms: Vec<(usize, usize)>,
    fibres: Vec<Fibre>,
    /// Mass of hair of the segment that ends at each vertex [kg]; 0 at roots.
    masses: Vec<f32>,
    /// The strand that each vertex belongs to.
    strands: Vec<u32>,
}

impl Hair {
    /// The hair of these grooms.
    pub fn new(medium: Medium, grooms: &[Groom]) -> Result<Self, PhysicsError> {
        medium.check()?;
        let mut hair = Self {
            medium,
            offsets: vec![0],
            grooms: Vec::new(),
            fibres: Vec::new(),
            masses: Vec::new(),
            strands: Vec::new(),
        };
        for groom in grooms {
            groom.fibre.check()?;
            let base = hair.masses.len() as u32;
            hair.grooms.push((base as usize, hair.offsets.len() - 1));
            hair.fibres.push(groom.fibre);
            hair.offsets.extend(groom.offsets[1..].iter().map(|end| base + end));
            hair.masses.resize(base as usize + groom.masses.len(), 0.0);
            let masses = &mut hair.masses[base as usize..];
            for pair in groom.offsets.windows(2) {
                let (root, end) = (pair[0] as usize, pair[1] as usize);
                let length: f64 = groom.lengths[root + 1..end].iter().map(|&l| f64::from(l)).sum();
                let mass: f64 = groom.masses[root..end].iter().map(|&m| f64::from(m)).sum();
                // Vertices hold halves of their segments; a segment has its part of the whole.
                for i in root + 1..end {
                    masses[i] = (groom.fibre.hairs * mass * f64::from(groom.lengths[i]) / length) as f32;
                }
            }
        }
        for (strand, pair) in hair.offsets.windows(2).enumerate() {
            hair.strands.resize(pair[1] as usize, strand as u32);
        }
        Ok(hair)
    }

    /// What all hair has in common.
    pub fn medium(&self) -> &Medium {
        &self.medium
    }

    /// Vertices of a groom.
    pub fn vertices(&self, groom: usize) -> std::ops::Range<usize> {
        let end = self.grooms.get(groom + 1).map_or(self.masses.len(), |next| next.0);
        self.grooms[groom].0..end
    }

    /// What a groom does with water.
    pub fn fibre(&self, groom: usize) -> &Fibre {
        &self.fibres[groom]
    }

    /// Mass of hair of the segment that ends at each vertex [kg]; 0 at roots.
    pub fn masses(&self) -> &[f32] {
        &self.masses
    }

    /// The groom that a vertex belongs to.
    #[inline]
    fn groom_of(&self, vertex: usize) -> usize {
        if self.grooms.len() == 1 { 0 } else { self.grooms.partition_point(|groom| groom.0 <= vertex) - 1 }
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        (self.offsets.len() + self.masses.len() + self.strands.len()) * 4
    }
}

/// Water in hair, one entry for the segment that ends at each vertex, all grooms one after the other; nothing at roots.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct HairWater {
    /// Water inside the fibre [kg].
    pub inside: Vec<f64>,
    /// Water between and around hairs [kg].
    pub around: Vec<f64>,
    /// That part of it that is free [kg], as the last step had it.
    pub free: Vec<f64>,
    /// How far the rest shape has gone from dry (0) to wet (1).
    pub change: Vec<f32>,
    /// How strongly it repels water.
    pub oil: Vec<f32>,
    /// How long more water has been there than can be held [s].
    brim: Vec<f32>,
    /// Velocities of the vertices one step ago [m/s], and their acceleration, smoothed [m/s2].
    velocities: Vec<Vec3>,
    accelerations: Vec<Vec3>,
    /// The segments that each vertex clings to.
    bridges: Vec<[u32; cohesion::BRIDGES]>,
    /// Counts steps: strands take turns in looking for others.
    phase: u32,
}

impl HairWater {
    /// Dry hair, or hair whose fibres and capillaries are full to the given parts, one pair a groom.
    pub fn new(hair: &Hair, wetness: &[[f64; 2]]) -> Self {
        let vertices = hair.masses.len();
        let mut water = Self {
            inside: vec![0.0; vertices],
            around: vec![0.0; vertices],
            free: vec![0.0; vertices],
            change: vec![0.0; vertices],
            oil: vec![0.0; vertices],
            brim: vec![0.0; vertices],
            velocities: vec![Vec3::ZERO; vertices],
            accelerations: vec![Vec3::ZERO; vertices],
            bridges: vec![[cohesion::NONE; cohesion::BRIDGES]; vertices],
            phase: 0,
        };
        for (groom, [inside, between]) in wetness.iter().enumerate() {
            let fibre = hair.fibre(groom);
            for i in hair.vertices(groom) {
                let mass = f64::from(hair.masses[i]);
                water.inside[i] = inside * fibre.inside * mass;
                water.around[i] = between * fibre.between * mass;
                water.change[i] = *inside as f32;
                water.oil[i] = fibre.oil as f32;
            }
        }
        water
    }

    /// Water of the segment that ends at a vertex [kg].
    pub fn held(&self, vertex: usize) -> f64 {
        self.inside[vertex] + self.around[vertex]
    }

    /// Water inside fibres, in capillaries, and free [kg].
    pub fn reservoirs(&self) -> [f64; 3] {
        let inside = ordered::sum(self.inside.len(), |i| self.inside[i]);
        let around = ordered::sum(self.around.len(), |i| self.around[i]);
        let free = ordered::sum(self.free.len(), |i| self.free[i]);
        [inside, around - free, free]
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.inside.len() * (3 * 8 + 3 * 4 + 2 * 12 + 4 * cohesion::BRIDGES)
    }
}

/// Working memory; may be dropped between steps without changing a bit.
#[derive(Debug, Default)]
pub struct HairScratch {
    grid: Grid,
    voxels: Voxels,
    links: Links,
    shares: Vec<strand::Work>,
    drips: drip::Work,
    bonds: cohesion::Work,
}

impl HairScratch {
    /// The grid of the last step.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.grid.memory() + self.voxels.memory() + self.links.memory()
    }
}

/// The strands during a step.
#[derive(Debug)]
pub struct Strands<'a> {
    /// Positions of all vertices [m], grooms one after the other.
    pub positions: &'a [DVec3],
    /// Their velocities [m/s]: water that is taken in brings its momentum.
    pub velocities: &'a mut [DVec3],
}

/// What surrounds hair during a step.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Gravity [m/s2].
    pub gravity: DVec3,
    /// How fast towels take the water around hair, one rate a groom [1/s]; none if empty.
    pub towels: &'a [f64],
}

/// What a step did with water.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Water taken from the liquid [kg].
    pub taken: f64,
    /// Water that air and towels took [kg].
    pub dried: f64,
    /// Drops that left the hair, and their mass [kg].
    pub drops: u64,
    /// Their mass [kg].
    pub dripped: f64,
    /// Time for which capillary water did not spread, because it is too fast for the voxels [s].
    pub unspread: f64,
}

/// Finds out which hair is in which voxel, and who is near whom: all that depends on nothing but where the strands are.
pub fn locate(hair: &Hair, scratch: &mut HairScratch, positions: &[DVec3]) -> Result<(), PhysicsError> {
    let HairScratch { grid, bonds, .. } = scratch;
    grid.rebuild(hair.medium.voxel, &hair.offsets, positions)?;
    bonds.range(grid, positions);
    Ok(())
}

/// Water in hair for `dt` seconds; the scratch has been told by [`locate`] where the strands are. Liquid loses what hair takes in: particles left without mass are to be removed. `drips` gets the drops that
/// leave; they have left the hair when this returns.
#[allow(clippy::too_many_arguments)]
pub fn step(
    hair: &Hair,
    water: &mut HairWater,
    scratch: &mut HairScratch,
    strands: Strands,
    liquid: &mut Liquid,
    surroundings: &Surroundings,
    dt: f64,
    drips: &mut Vec<Drip>,
) -> Result<Tally, PhysicsError> {
    check("dt", dt, "positive", |x| x > 0.0)?;
    check(
        "spacing of the liquid over the edge of a voxel",
        2.0 * liquid.radius / hair.medium.voxel,
        WIDEST_SAID,
        |x| (0.0..=WIDEST).contains(&x),
    )?;
    let vertices = hair.masses.len();
    for (what, got) in [
        ("positions", strands.positions.len()),
        ("velocities", strands.velocities.len()),
        ("water in hair", water.inside.len()),
        ("located vertices", scratch.grid.vertices()),
    ] {
        if got != vertices {
            return Err(PhysicsError::Count { what, got, expected: vertices });
        }
    }
    let HairScratch { grid, voxels, links, shares, drips: work, .. } = scratch;
    let medium = &hair.medium;
    water.feel(strands.velocities, dt);
    let dried = dry_out(hair, water, surroundings.towels, dt);
    let gravity = surroundings.gravity;
    voxels.gather(hair, water, grid, strands.positions, strands.velocities);
    let taken = intake::take_in(medium, grid, voxels, liquid, dt);
    let unspread = links.spread(medium, grid, voxels, dt);
    voxels.deal();
    strand::run(hair, water, grid, voxels, shares, strands.positions, strands.velocities, gravity, dt);
    voxels.gather_free(water, grid);
    drip::drip(hair, water, grid, voxels, work, liquid.drop_masses(), gravity, dt, strands.positions, drips);
    strand::level(hair, water, grid, voxels, dt);
    let dripped = drips.iter().map(|drip| drip.mass).sum();
    Ok(Tally { taken, dried, drops: drips.len() as u64, dripped, unspread })
}

/// Air and towels take water; returns how much [kg].
fn dry_out(hair: &Hair, water: &mut HairWater, towels: &[f64], dt: f64) -> f64 {
    let mut lost = Compensated::default();
    for (groom, fibre) in hair.fibres.iter().enumerate() {
        let rate = fibre.drying + towels.get(groom).copied().unwrap_or(0.0);
        if rate <= 0.0 && fibre.fibre_drying <= 0.0 {
            continue;
        }
        let outside = -(-rate * dt).exp_m1();
        let inside = -(-fibre.fibre_drying * dt).exp_m1();
        let range = hair.vertices(groom);
        let (around, within) = (&mut water.around[range.clone()], &mut water.inside[range.clone()]);
        let masses = &hair.masses[range];
        let chunks = around.par_chunks_mut(ordered::CHUNK).zip(within.par_chunks_mut(ordered::CHUNK));
        let parts: Vec<Compensated> = chunks
            .zip(masses.par_chunks(ordered::CHUNK))
            .map(|((around, within), masses)| {
                let mut lost = Compensated::default();
                for ((around, within), &mass) in around.iter_mut().zip(within).zip(masses) {
                    let before = [*around, *within];
                    *around -= outside * *around;
                    // A fibre keeps its water while its surface is wet.
                    if *around < 0.02 * fibre.inside * f64::from(mass) {
                        *within -= inside * *within;
                    }
                    lost.add(before[0] - *around);
                    lost.add(before[1] - *within);
                }
                lost
            })
            .collect();
        lost = parts.into_iter().fold(lost, Compensated::join);
    }
    lost.value()
}

/// Over which time accelerations are smoothed [s]: contact makes strands jump from step to step, and water does not follow that.
const SMOOTH: f64 = 0.03;

impl HairWater {
    /// Takes note of how strands are accelerated.
    fn feel(&mut self, velocities: &[DVec3], dt: f64) {
        let part = (dt / (SMOOTH + dt)) as f32;
        let per_step = (1.0 / dt) as f32;
        let own = self.velocities.par_iter_mut().zip(&mut self.accelerations);
        own.zip(velocities).for_each(|((before, acceleration), &velocity)| {
            let now = velocity.as_vec3();
            *acceleration += ((now - *before) * per_step - *acceleration) * part;
            *before = now;
        });
    }
}
