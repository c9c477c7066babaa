//! Hair takes in liquid [Rungjiratananon2012b, section 5.1].

use super::grid::Grid;
use super::voxels::Voxels;
use super::{Medium, REPELS};
use crate::wetting::Liquid;
use drench_math::ordered::Compensated;
use glam::{DVec3, IVec3};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// Particles that one task handles.
const PARTICLES: usize = 128;
/// Part of its capacity that a voxel must have left to take in liquid: water does not flicker between hair and drops.
const LEAST_ROOM: f64 = 0.05;
/// Speed, over that at which drops leave, below which liquid within hair counts as moving with it.
const CALM: f64 = 0.5;
/// Part of a full particle that a drop holds when it leaves, at least.
const LEAST_DROP: f64 = 0.25;
/// Mass of a drop that falls off a tip by its weight, about [kg]: coarse liquid does not keep it from falling.
const FALLING_DROP: f64 = 2e-5;

impl Liquid<'_> {
    /// The least and the most a drop holds when it leaves hair [kg]; none leaves if particles are infinitely large.
    pub(super) fn drop_masses(&self) -> [f64; 2] {
        let least = LEAST_DROP * self.full;
        [if least.is_finite() { least.min(FALLING_DROP) } else { least }, self.full]
    }
}

/// Takes in liquid that moves towards hair, as much as fits; returns how much [kg].
pub(super) fn take_in(medium: &Medium, grid: &Grid, voxels: &mut Voxels, liquid: &mut Liquid) -> f64 {
    surround(grid, voxels, liquid);
    let mut total = Compensated::default();
    // One after the other, so that what fits is known.
    for p in (0..liquid.positions.len()).filter(|&p| voxels.beside[p]) {
        let (x, v, mass) = (liquid.positions[p], liquid.velocities[p], liquid.masses[p]);
        let here = grid.coordinates(x);
        let Some(target) = target(medium, grid, voxels, liquid.radius, here, x, v) else { continue };
        let voxel = &mut voxels.all[target];
        let room = voxel.capacity() - voxel.water - voxel.change;
        let whole = mass <= liquid.crumb() && room > 0.0;
        let taken = if whole { mass } else { mass.min(room) };
        liquid.masses[p] -= taken;
        voxel.change += taken;
        voxel.taken += taken;
        voxel.momentum += taken * v;
        total.add(taken);
    }
    total.value()
}

/// Full particles are counted in parts of this: sums of whole numbers do not depend on their order.
const FINEST: f64 = 1.0 / (1_u64 << 32) as f64;

/// Tells the voxels around particles that there is liquid, and finds those particles that have any.
fn surround(grid: &Grid, voxels: &mut Voxels, liquid: &Liquid) {
    let Voxels { all, counted, beside, .. } = voxels;
    counted.clear();
    counted.resize_with(all.len(), AtomicU64::default);
    beside.resize(liquid.positions.len(), false);
    let particles = liquid.positions.par_iter().zip(&*liquid.masses).zip(beside).with_min_len(PARTICLES);
    particles.for_each(|((&x, mass), beside)| {
        *beside = false;
        // Even the smallest is some.
        let part = (mass / liquid.full / FINEST).ceil() as u64;
        let (low, high) = grid.around(x, 2.0 * liquid.radius);
        for z in low.z..=high.z {
            for y in low.y..=high.y {
                for x in low.x..=high.x {
                    if let Some(voxel) = grid.voxel(IVec3::new(x, y, z)) {
                        counted[voxel].fetch_add(part, Ordering::Relaxed);
                        *beside = true;
                    }
                }
            }
        }
    });
    for (voxel, count) in all.iter_mut().zip(counted) {
        voxel.near = *count.get_mut() as f64 * FINEST;
    }
}

/// The voxel that takes in a particle: the one around it, or the one beside it into which it moves fastest.
fn target(
    medium: &Medium,
    grid: &Grid,
    voxels: &Voxels,
    radius: f64,
    here: IVec3,
    x: DVec3,
    v: DVec3,
) -> Option<usize> {
    let mut best = None;
    let mut consider = |place: IVec3, inside: bool| {
        let Some(index) = grid.voxel(place) else { return };
        let voxel = &voxels.all[index];
        let relative = v - voxel.velocity;
        let towards = relative.dot(grid.centre(place) - x);
        let calm = inside && relative.length_squared() < (CALM * medium.kick).powi(2);
        let room = voxel.capacity() - voxel.water - voxel.change;
        if (towards > 0.0 || calm) && room > LEAST_ROOM * voxel.capacity() && f64::from(voxel.oil) < REPELS {
            let rank = if inside { f64::INFINITY } else { towards };
            if best.is_none_or(|(most, _)| rank > most) {
                best = Some((rank, index));
            }
        }
    };
    consider(here, true);
    for axis in 0..3 {
        for side in [-1, 1] {
            let mut place = here;
            place[axis] += side;
            let face = f64::from(here[axis] + i32::from(side > 0)) * grid.edge();
            if (x[axis] - face).abs() < radius {
                consider(place, false);
            }
        }
    }
    best.map(|(_, index)| index)
}
