//! What each voxel holds: hair, its direction, room for water, and water.

use super::grid::{Grid, cut};
use super::{Estimate, Hair, HairWater, Medium};
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::sync::atomic::AtomicU64;
use wide::{f32x4, f64x4};

/// Full particles around a voxel from which on it is within the liquid. Drops that pass by are fewer, particles of a pool more.
const SUBMERGED: f64 = 6.0;

/// Voxels that one task handles.
const CHUNK: usize = 256;

/// One voxel that holds hair.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Voxel {
    /// Length of hairs [m]: a strand that stands for several counts as often.
    pub length: f64,
    /// Water between and around hairs [kg].
    pub water: f64,
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
    /// Liquid particles whose surroundings reach it, by their mass: 1 is a full one.
    pub near: f64,
}

impl Voxel {
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

/// What a segment brings into its voxels for each length of it: one line of memory instead of one for every quantity, for it is far from the last.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Brought {
    /// Water around it [kg/m], room between and around its hairs [kg/m], and hairs.
    amounts: f64x4,
    /// Direction, and strength of the oil.
    along: f32x4,
    /// Velocity of its middle [m/s].
    velocity: f32x4,
}

/// What the segments in a voxel get of what happened to it, for each length of hair.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dealt {
    /// Room between hairs [kg/m].
    pub between: f64,
    /// Water that came in [kg/m]; or the part of its water that left.
    pub gained: f64,
    pub lost: f64,
    /// How far the voxel is within the liquid.
    pub submerged: f32,
    /// Whether there is liquid near it, and whether some came in.
    pub touched: bool,
    pub took: bool,
}

/// What the segments in a voxel share once they have run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Run {
    /// Part of its water that leaves as drops.
    pub leaving: f64,
    /// Free water for each length of hair [kg/m].
    pub free: f64,
}

/// All voxels that hold hair.
#[derive(Debug, Default)]
pub(super) struct Voxels {
    pub all: Vec<Voxel>,
    /// Length of the segment that ends at each vertex as the grid has it [m].
    pub lengths: Vec<f64>,
    /// What segments look up, in as little memory as it takes.
    pub dealt: Vec<Dealt>,
    pub run: Vec<Run>,
    /// Voxels that hold more than they can.
    pub over: Vec<bool>,
    /// Liquid near each voxel, as it is counted.
    pub counted: Vec<AtomicU64>,
    /// Liquid particles that have voxels around them.
    pub beside: Vec<bool>,
    brought: Vec<Brought>,
    /// Water around each segment for each length of it, and that part of it that is free [kg/m].
    held: Vec<[f64; 2]>,
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
                    let (way, share) = (positions[i] - positions[i - 1], 1.0 / *length);
                    let fibre = &hair.fibres[hair.groom_of(i)];
                    let mass = f64::from(hair.masses[i]) * share;
                    let room = [fibre.between, fibre.around].map(|room| room * mass);
                    let along = (way * (1.0 / way.length_squared().max(1e-30).sqrt())).as_vec3();
                    let velocity = ((velocities[i] + velocities[i - 1]) * 0.5).as_vec3();
                    *brought = Brought {
                        amounts: f64x4::new([water.around[i] * share, room[0], room[1], fibre.hairs]),
                        along: f32x4::new(along.extend(water.oil[i]).to_array()),
                        velocity: f32x4::new(velocity.extend(0.0).to_array()),
                    };
                }
            }
        });
        self.all.resize(grid.voxels(), Voxel::default());
        let brought = &self.brought;
        let volume = grid.edge().powi(3);
        self.all.par_chunks_mut(CHUNK).enumerate().for_each_init(Vec::new, |near, (chunk, voxels)| {
            for (voxel, number) in voxels.iter_mut().zip(chunk * CHUNK..) {
                // All that is in a voxel is fetched first: memory is waited for once, not once for each of them.
                let portions = grid.within(number);
                near.clear();
                near.extend(portions.iter().map(|portion| brought[portion.segment as usize]));
                let (mut sum, mut amounts, mut velocity) = (Voxel::default(), f64x4::ZERO, f64x4::ZERO);
                // Sums of l u u^T: xx, yy, zz, and oil; xy, xz, yz.
                let (mut even, mut mixed) = (f32x4::ZERO, f32x4::ZERO);
                // Sum of the squared lengths of hairs: what each has of itself in its voxel.
                let (mut squares, mut run, mut last) = (0.0, 0.0, None);
                for (portion, brought) in portions.iter().zip(&*near) {
                    let length = f64::from(portion.length);
                    let [.., each] = *brought.amounts.as_array();
                    // Segments of a strand follow each other; between two strands there is a root.
                    let goes_on = last.is_some_and(|last: u32| portion.segment <= last + 1);
                    run = if goes_on { run } else { 0.0 };
                    squares += each * length * (2.0 * run + length);
                    (last, run) = (Some(portion.segment), run + length);
                    let (hairs, weight) = (each * length, each as f32 * portion.length);
                    let weighed = brought.along * f32x4::splat(weight);
                    let ([x, y, z, _], [l, m, ..]) = (brought.along.to_array(), weighed.to_array());
                    even += weighed * f32x4::new([x, y, z, 1.0]);
                    mixed += f32x4::new([l, l, m, 0.0]) * f32x4::new([y, z, z, 0.0]);
                    amounts += brought.amounts * f64x4::splat(length);
                    velocity += f64x4::new(brought.velocity.to_array().map(f64::from)) * f64x4::splat(hairs);
                    sum.segments += 1;
                }
                [sum.water, sum.between, sum.around, sum.length] = amounts.to_array();
                let ([xx, yy, zz, oil], [xy, xz, yz, _]) = (even.to_array(), mixed.to_array());
                sum.directions = [xx, yy, zz, xy, xz, yz];
                sum.velocity = DVec3::from_slice(&velocity.to_array()) / sum.length;
                sum.oil = oil / sum.length as f32;
                // A hair is not its own neighbour.
                let others = (sum.length - squares / sum.length) / volume;
                sum.between *= sharing(&hair.medium, sum.segments, others);
                // No more water between hairs than there is space.
                sum.between = sum.between.min(hair.medium.liquid_density * volume);
                *voxel = sum;
            }
        });
    }

    /// Makes ready what segments get of what came into their voxels and left them.
    pub fn deal(&mut self) {
        self.dealt.resize(self.all.len(), Dealt::default());
        self.dealt.par_iter_mut().zip(&self.all).with_min_len(CHUNK).for_each(|(dealt, voxel)| {
            let share = 1.0 / voxel.length;
            *dealt = Dealt {
                between: voxel.between * share,
                gained: voxel.change.max(0.0) * share,
                // Rounding may leave a voxel a little less than it gives.
                lost: if voxel.change < 0.0 { (-voxel.change / voxel.water).min(1.0) } else { 0.0 },
                submerged: voxel.submerged() as f32,
                touched: voxel.near > 0.0,
                took: voxel.taken > 0.0,
            };
        });
    }

    /// Adds up the water again, and that part of it that is free, after strands have run.
    pub fn gather_free(&mut self, water: &HairWater, grid: &Grid) {
        let Self { all, lengths, run, over, held, .. } = self;
        held.resize(lengths.len(), [0.0; 2]);
        let segments = held.par_iter_mut().zip(&*lengths).zip(&water.around).zip(&water.free);
        segments.with_min_len(CHUNK).for_each(|(((held, length), around), free)| {
            // Nothing lies at a root, and nobody asks for it.
            let share = 1.0 / length;
            *held = [around * share, free * share];
        });
        run.resize(all.len(), Run::default());
        over.resize(all.len(), false);
        let voxels = all.par_iter_mut().zip(run).zip(over).enumerate();
        voxels.with_min_len(CHUNK).for_each(|(number, ((voxel, run), over))| {
            let (mut water, mut free) = (0.0, 0.0);
            for portion in grid.within(number) {
                let (length, held) = (f64::from(portion.length), held[portion.segment as usize]);
                water += held[0] * length;
                free += held[1] * length;
            }
            voxel.water = water;
            *run = Run { leaving: 0.0, free: free / voxel.length };
            *over = water > voxel.capacity();
        });
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.all.capacity() * (size_of::<Voxel>() + size_of::<Dealt>() + size_of::<Run>() + 1)
            + self.lengths.capacity() * (8 + 16)
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
