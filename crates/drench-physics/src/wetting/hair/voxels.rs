//! What each voxel holds: hair, its direction, room for water, and water.

use super::grid::{BLOCK, Grid, Portion, cut};
use super::{Estimate, Hair, HairWater, Medium};
use glam::{DMat3, DVec3, Vec3};
use rayon::prelude::*;

/// Full particles around a voxel from which on it is within the liquid. Drops that pass by are fewer, particles of a pool more.
const SUBMERGED: f64 = 6.0;

/// One voxel. Without hair its length is 0.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Voxel {
    /// Length of hairs [m]: a strand that stands for several counts as often.
    pub length: f64,
    /// Water between and around hairs [kg].
    pub water: f64,
    /// Of which free [kg], after strands have run.
    pub free: f64,
    /// Room between hairs, and around them [kg].
    pub between: f64,
    pub around: f64,
    /// Sum of l u u^T [m]: xx, yy, zz, xy, xz, yz.
    pub directions: [f32; 6],
    /// Mean velocity of hair [m/s].
    pub velocity: DVec3,
    /// Mean strength of the oil.
    pub oil: f32,
    /// Segments.
    pub segments: u32,
    /// Water that has come in less what has gone [kg], and the momentum of what came in from the liquid [kg m/s].
    pub change: f64,
    pub taken: f64,
    pub momentum: DVec3,
    /// Part of its water that leaves as drops.
    pub leaving: f64,
    /// Liquid particles whose surroundings reach it, by their mass: 1 is a full one.
    pub near: f64,
}

impl Voxel {
    /// Whether there is hair.
    pub fn exists(&self) -> bool {
        self.segments > 0
    }

    /// How far it is within the liquid, from 0 in the air to 1: there water neither drips nor runs.
    pub fn submerged(&self) -> f64 {
        (self.near / SUBMERGED).min(1.0)
    }

    /// Room for water [kg].
    pub fn capacity(&self) -> f64 {
        self.between + self.around
    }

    /// Orientation tensor, of trace 1.
    pub fn orientation(&self) -> DMat3 {
        let [xx, yy, zz, xy, xz, yz] = self.directions.map(|x| f64::from(x) / self.length);
        DMat3::from_cols(DVec3::new(xx, xy, xz), DVec3::new(xy, yy, yz), DVec3::new(xz, yz, zz))
    }
}

/// What a segment brings into its voxels for each length of it: one line of memory instead of one for every quantity.
#[derive(Clone, Copy, Debug, Default)]
struct Brought {
    /// Water around it [kg/m], and hair [kg/m].
    water: f64,
    hair: f64,
    /// Direction, and velocity of its middle [m/s].
    along: Vec3,
    velocity: Vec3,
    oil: f32,
    groom: u32,
}

/// The voxels of all blocks.
#[derive(Debug, Default)]
pub(super) struct Voxels {
    pub all: Vec<Voxel>,
    /// Length of the segment that ends at each vertex as the grid has it [m].
    pub lengths: Vec<f64>,
    brought: Vec<Brought>,
}

impl Voxels {
    /// Adds up what segments hold.
    pub fn gather(&mut self, hair: &Hair, water: &HairWater, grid: &Grid, positions: &[DVec3], velocities: &[DVec3]) {
        self.lengths.resize(positions.len(), 0.0);
        self.brought.resize(positions.len(), Brought::default());
        let parts = cut(&grid.shares, &mut self.lengths).into_iter().zip(cut(&grid.shares, &mut self.brought));
        grid.shares.par_iter().zip(parts.collect::<Vec<_>>()).for_each(|(share, (lengths, brought))| {
            for ((length, brought), i) in lengths.iter_mut().zip(brought).zip(share.vertices.clone()) {
                *length = share.of(i).iter().map(|portion| f64::from(portion.length)).sum();
                if *length > 0.0 {
                    let way = positions[i] - positions[i - 1];
                    *brought = Brought {
                        water: water.around[i] / *length,
                        hair: f64::from(hair.masses[i]) / *length,
                        along: (way * (1.0 / way.length_squared().max(1e-30).sqrt())).as_vec3(),
                        velocity: ((velocities[i] + velocities[i - 1]) * 0.5).as_vec3(),
                        oil: water.oil[i],
                        groom: hair.groom_of(i) as u32,
                    };
                }
            }
        });
        self.all.resize(grid.blocks() * BLOCK, Voxel::default());
        let brought = &self.brought;
        let volume = grid.edge().powi(3);
        self.all.par_chunks_mut(BLOCK).enumerate().for_each(|(block, voxels)| {
            voxels.fill(Voxel::default());
            // Sum of the squared lengths of hairs: what each has of itself in its voxel.
            let mut squares = [0.0; BLOCK];
            let (mut last, mut run) = (Portion { voxel: u32::MAX, segment: 0, length: 0.0 }, 0.0);
            for portion in grid.portions(block) {
                let length = f64::from(portion.length);
                let cell = portion.voxel as usize % BLOCK;
                let (voxel, brought) = (&mut voxels[cell], &brought[portion.segment as usize]);
                let fibre = &hair.fibres[brought.groom as usize];
                // Segments of a strand follow each other; between two strands there is a root.
                let goes_on = portion.voxel == last.voxel && portion.segment <= last.segment + 1;
                run = if goes_on { run } else { 0.0 };
                squares[cell] += fibre.hairs * length * (2.0 * run + length);
                (last, run) = (*portion, run + length);
                let (hairs, weight) = (fibre.hairs * length, fibre.hairs as f32 * portion.length);
                let (u, l) = (brought.along, brought.along * weight);
                let tensor = [l.x * u.x, l.y * u.y, l.z * u.z, l.x * u.y, l.x * u.z, l.y * u.z];
                voxel.directions.iter_mut().zip(tensor).for_each(|(sum, value)| *sum += value);
                voxel.length += hairs;
                voxel.water += brought.water * length;
                voxel.between += fibre.between * brought.hair * length;
                voxel.around += fibre.around * brought.hair * length;
                voxel.velocity += brought.velocity.as_dvec3() * hairs;
                voxel.oil += brought.oil * weight;
                voxel.segments += 1;
            }
            for (voxel, squares) in voxels.iter_mut().zip(squares).filter(|(voxel, _)| voxel.exists()) {
                voxel.velocity /= voxel.length;
                voxel.oil /= voxel.length as f32;
                // A hair is not its own neighbour.
                let others = (voxel.length - squares / voxel.length) / volume;
                voxel.between *= sharing(&hair.medium, voxel.segments, others);
                // No more water between hairs than there is space.
                voxel.between = voxel.between.min(hair.medium.liquid_density * volume);
            }
        });
    }

    /// Adds up the water again, and that part of it that is free, after strands have run.
    pub fn gather_free(&mut self, water: &HairWater, grid: &Grid) {
        let lengths = &self.lengths;
        self.all.par_chunks_mut(BLOCK).enumerate().for_each(|(block, voxels)| {
            for voxel in &mut *voxels {
                (voxel.water, voxel.free) = (0.0, 0.0);
            }
            for portion in grid.portions(block) {
                let i = portion.segment as usize;
                let voxel = &mut voxels[portion.voxel as usize % BLOCK];
                let part = f64::from(portion.length) / lengths[i];
                voxel.water += water.around[i] * part;
                voxel.free += water.free[i] * part;
            }
        });
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.all.capacity() * size_of::<Voxel>()
            + self.lengths.capacity() * 8
            + self.brought.capacity() * size_of::<Brought>()
    }
}

/// The part of the hair in a voxel that shares capillaries, of so many segments and, for each hair, so many others an area [1/m2].
fn sharing(medium: &Medium, segments: u32, others: f64) -> f64 {
    match medium.estimate {
        Estimate::Count => f64::from(u8::from(segments > 1)),
        Estimate::Spacing(reach) => -(-std::f64::consts::PI * others.max(0.0) * reach * reach).exp_m1(),
    }
}
