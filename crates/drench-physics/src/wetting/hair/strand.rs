//! Water along a strand [Rungjiratananon2012b, section 5.3]: into the fibre, inside it, and freely down it.
//!
//! Free water runs at the speed `flow` k, k = t . (g - a) / 9.81: gravity and the strand's own acceleration drive it, so that a shaken head throws water to
//! the tips. Each segment gives c = |flow k| dt / l of what it will have to the next one (upwind, implicit): the matrix has columns that add up to
//! 1 and no negative inverse, so that nothing is lost and nothing falls below 0 at any step. Roots and tips are closed: what comes to a tip stays
//! there until it drips.

use super::grid::{Grid, Share, cut};
use super::voxels::Voxels;
use super::{FULL_GRAVITY, Fibre, Hair, HairWater};
use crate::wetting::filled;
use glam::DVec3;
use rayon::prelude::*;
use std::ops::Range;

/// How many times as fast as under gravity free water runs at most, however a strand is thrown.
const FASTEST: f64 = 10.0;

/// Working memory of a share.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Rows of a tridiagonal system: left of the diagonal, the diagonal, right of it.
    rows: Vec<[f64; 3]>,
    right: Vec<f64>,
    /// Part of each segment that is not within the liquid.
    in_air: Vec<f64>,
}

/// A share's part of the water in hair.
struct Part<'a> {
    share: &'a Share,
    inside: &'a mut [f64],
    around: &'a mut [f64],
    free: &'a mut [f64],
    change: &'a mut [f32],
    oil: &'a mut [f32],
    velocities: &'a mut [DVec3],
}

/// Gives segments what came into their voxels, takes what left, and lets water run along the strands.
#[allow(clippy::too_many_arguments)]
pub(super) fn run(
    hair: &Hair,
    water: &mut HairWater,
    grid: &Grid,
    voxels: &Voxels,
    works: &mut Vec<Work>,
    positions: &[DVec3],
    velocities: &mut [DVec3],
    gravity: DVec3,
    dt: f64,
) {
    let shares = &grid.shares;
    works.resize_with(shares.len(), Work::default);
    let accelerations = &water.accelerations;
    let mut velocities = cut(shares, velocities).into_iter();
    let mut inside = cut(shares, &mut water.inside).into_iter();
    let mut around = cut(shares, &mut water.around).into_iter();
    let mut free = cut(shares, &mut water.free).into_iter();
    let mut change = cut(shares, &mut water.change).into_iter();
    let mut oil = cut(shares, &mut water.oil).into_iter();
    let parts: Vec<Part> = shares
        .iter()
        .map_while(|share| {
            Some(Part {
                share,
                inside: inside.next()?,
                around: around.next()?,
                free: free.next()?,
                change: change.next()?,
                oil: oil.next()?,
                velocities: velocities.next()?,
            })
        })
        .collect();
    parts.into_par_iter().zip(works).for_each(|(mut part, work)| {
        let (from, to) = (part.share.vertices.start, part.share.vertices.end);
        let mut strand = hair.offsets.partition_point(|&o| (o as usize) < from);
        while strand + 1 < hair.offsets.len() && (hair.offsets[strand + 1] as usize) <= to {
            let vertices = hair.offsets[strand] as usize..hair.offsets[strand + 1] as usize;
            let fibre = &hair.fibres[hair.groom_of(vertices.start)];
            part.settle(hair, fibre, voxels, &mut work.in_air, vertices.clone(), dt);
            part.soak(hair, fibre, voxels, work, vertices.clone(), dt);
            let drive = |i: usize| {
                let way = positions[i] - positions[i - 1];
                let pull = gravity - accelerations[i].as_dvec3();
                let length = way.length_squared().sqrt().max(1e-12);
                let drive = way.dot(pull) / (length * FULL_GRAVITY);
                fibre.flow * drive.clamp(-FASTEST, FASTEST) * dt / length
            };
            if fibre.flow > 0.0 {
                part.flow(work, vertices, drive);
            }
            strand += 1;
        }
    });
}

impl Part<'_> {
    /// What came into the voxels of a segment is its by the length of its hairs, what left them it gives by what it has there; then capillaries and free water
    /// are told apart.
    fn settle(
        &mut self,
        hair: &Hair,
        fibre: &Fibre,
        voxels: &Voxels,
        in_air: &mut Vec<f64>,
        vertices: Range<usize>,
        dt: f64,
    ) {
        let base = self.share.vertices.start;
        let wear = (-(-fibre.wear * dt).exp_m1()) as f32;
        in_air.clear();
        for i in vertices.start + 1..vertices.end {
            let (mut gained, mut lost, mut taken, mut momentum, mut between) = (0.0, 0.0, 0.0, DVec3::ZERO, 0.0);
            let (mut touched, mut submerged) = (false, 0.0);
            for portion in self.share.of(i) {
                let dealt = &voxels.dealt[portion.voxel as usize];
                let length = f64::from(portion.length);
                between += dealt.between * length;
                gained += dealt.gained * length;
                lost += dealt.lost * length;
                submerged += f64::from(dealt.submerged) * length;
                touched |= dealt.touched;
                if dealt.took {
                    let voxel = &voxels.all[portion.voxel as usize];
                    let part = fibre.hairs * length / voxel.length;
                    taken += voxel.taken * part;
                    momentum += voxel.momentum * part;
                }
            }
            let (k, part) = (i - base, 1.0 / voxels.lengths[i]);
            if taken > 0.0 {
                self.receive(hair, vertices.end, i, taken, momentum);
            }
            if touched {
                self.oil[k] -= wear * self.oil[k];
            }
            self.around[k] += fibre.hairs * gained - (lost * part).min(1.0) * self.around[k];
            self.free[k] = (self.around[k] - fibre.hairs * between).max(0.0);
            in_air.push((1.0 - submerged * part).max(0.0));
        }
    }

    /// The ends of a segment take over the momentum [kg m/s] of the water that came in [kg].
    fn receive(&mut self, hair: &Hair, end: usize, i: usize, taken: f64, momentum: DVec3) {
        let base = self.share.vertices.start;
        let mass = |i: usize| match i < end {
            true => f64::from(hair.masses[i]) + self.inside[i - base] + self.around[i - base],
            false => 0.0,
        };
        for vertex in [i - 1, i] {
            // A vertex carries half of the segments on both sides, and half of what came.
            let carried = mass(vertex) + mass(vertex + 1);
            let velocity = &mut self.velocities[vertex - base];
            *velocity = (*velocity * carried + momentum) / (carried + taken);
        }
    }

    /// Fibres fill with the water around them, water inside them levels out, and their shape follows.
    #[allow(clippy::too_many_arguments)]
    fn soak(&mut self, hair: &Hair, fibre: &Fibre, voxels: &Voxels, work: &mut Work, vertices: Range<usize>, dt: f64) {
        let base = self.share.vertices.start;
        let segments = vertices.start + 1..vertices.end;
        let (part, follow) = (-(-fibre.soak * dt).exp_m1(), (-(-fibre.change * dt).exp_m1()) as f32);
        let mut wettest = 0.0_f64;
        for i in segments.clone() {
            let k = i - base;
            let room = fibre.inside * f64::from(hair.masses[i]) - self.inside[k];
            let taken = (part * room).min(self.around[k]).max(0.0);
            self.inside[k] += taken;
            self.around[k] -= taken;
            self.free[k] = self.free[k].min(self.around[k]);
            wettest = wettest.max(self.inside[k]);
        }
        if fibre.diffusion > 0.0 && fibre.inside > 0.0 && wettest > 0.0 {
            self.level_out(hair, fibre, &voxels.lengths, work, segments.clone(), dt);
        }
        for i in segments {
            let k = i - base;
            let most = fibre.inside * f64::from(hair.masses[i]);
            let saturation = filled(self.inside[k], most) as f32;
            self.change[k] += (saturation - self.change[k]) * follow;
        }
    }

    /// Diffusion inside the fibre, implicit: dS/dt = D S'' in conservative form between segments.
    #[allow(clippy::too_many_arguments)]
    fn level_out(
        &mut self,
        hair: &Hair,
        fibre: &Fibre,
        lengths: &[f64],
        work: &mut Work,
        segments: Range<usize>,
        dt: f64,
    ) {
        let base = self.share.vertices.start;
        let count = segments.len();
        let room = |n: usize| fibre.inside * f64::from(hair.masses[segments.start + n]);
        // Room a length is the fibre's cross-section: the same law on both sides of a joint. Lengths are in proportion to masses.
        let length = |n: usize| lengths[segments.start + n];
        let Work { rows, right, .. } = work;
        rows.clear();
        rows.resize(count, [0.0; 3]);
        right.clear();
        right.extend(segments.clone().map(|i| self.inside[i - base]));
        let side = |n: usize| (length(n), room(n) / length(n));
        let mut before = side(0);
        for n in 0..count {
            rows[n][1] += room(n);
            if n + 1 < count {
                let after = side(n + 1);
                let apart = 0.5 * (before.0 + after.0);
                let area = 0.5 * (before.1 + after.1);
                let exchange = dt * fibre.diffusion * area / apart;
                rows[n][1] += exchange;
                rows[n][2] = -exchange;
                rows[n + 1][0] = -exchange;
                rows[n + 1][1] += exchange;
                before = after;
            }
        }
        let conserve: f64 = right.iter().sum();
        solve(rows, right);
        let mut sum = 0.0;
        for (n, saturation) in right.iter().enumerate() {
            let value = (saturation * room(n)).max(0.0);
            self.inside[segments.start + n - base] = value;
            sum += value;
        }
        // Rounding must not add up over thousands of steps.
        let scale = if sum > 0.0 { conserve / sum } else { 1.0 };
        segments.for_each(|i| self.inside[i - base] *= scale);
    }

    /// Free water runs along the strand.
    fn flow(&mut self, work: &mut Work, vertices: Range<usize>, drive: impl Fn(usize) -> f64) {
        let base = self.share.vertices.start;
        let segments = vertices.start + 1..vertices.end;
        let total: f64 = segments.clone().map(|i| self.free[i - base]).sum();
        if total <= 0.0 {
            return;
        }
        let count = segments.len();
        let Work { rows, right, in_air } = work;
        rows.clear();
        rows.resize(count, [0.0, 1.0, 0.0]);
        right.clear();
        right.extend(segments.clone().map(|i| self.free[i - base]));
        for (n, i) in segments.clone().enumerate() {
            // Within the liquid nothing drives it: it weighs nothing there.
            let drive = drive(i) * in_air[n];
            if drive > 0.0 && n + 1 < count {
                rows[n][1] += drive;
                rows[n + 1][0] -= drive;
            } else if drive < 0.0 && n > 0 {
                rows[n][1] -= drive;
                rows[n - 1][2] += drive;
            }
        }
        solve(rows, right);
        let sum: f64 = right.iter().map(|x| x.max(0.0)).sum();
        let scale = total / sum;
        for (n, i) in segments.enumerate() {
            let (k, run) = (i - base, right[n].max(0.0) * scale);
            self.around[k] += run - self.free[k];
            self.free[k] = run;
        }
    }
}

/// Solves a tridiagonal system in place: the right-hand side becomes the solution.
fn solve(rows: &mut [[f64; 3]], right: &mut [f64]) {
    // Every diagonal becomes its inverse: one division a row.
    let (mut inverse, mut beside, mut before) = (0.0, 0.0, 0.0);
    for (row, right) in rows.iter_mut().zip(&mut *right) {
        let factor = row[0] * inverse;
        inverse = 1.0 / (row[1] - factor * beside);
        before = *right - factor * before;
        (row[1], beside, *right) = (inverse, row[2], before);
    }
    let mut after = 0.0;
    for (row, right) in rows.iter().zip(right).rev() {
        after = (*right - row[2] * after) * row[1];
        *right = after;
    }
}

/// Drops take their part; free water is shared within each voxel that does not drip.
pub(super) fn level(hair: &Hair, water: &mut HairWater, grid: &Grid, voxels: &Voxels, dt: f64) {
    let shares = &grid.shares;
    let rate = -(-hair.medium.level * dt).exp_m1();
    let around = cut(shares, &mut water.around);
    let free = cut(shares, &mut water.free);
    shares.par_iter().zip(around).zip(free).for_each(|((share, around), free)| {
        for i in share.vertices.clone() {
            let k = i - share.vertices.start;
            let own = share.of(i);
            if own.is_empty() {
                continue;
            }
            let hairs = hair.fibres[hair.groom_of(i)].hairs;
            let (mut leaving, mut gained, mut given) = (0.0, 0.0, 0.0);
            for portion in own {
                let (run, length) = (&voxels.run[portion.voxel as usize], f64::from(portion.length));
                if run.leaving > 0.0 {
                    leaving += run.leaving * length;
                } else {
                    gained += run.free * length;
                    given += length;
                }
            }
            let part = 1.0 / voxels.lengths[i];
            leaving *= part;
            let moved = rate * (gained * hairs - given * part * free[k]);
            if leaving > 0.0 {
                let dripped = leaving * around[k];
                around[k] -= dripped;
                free[k] = (free[k] - dripped).max(0.0);
            }
            around[k] += moved;
            free[k] += moved;
            free[k] = free[k].clamp(0.0, around[k].max(0.0));
        }
    });
}
