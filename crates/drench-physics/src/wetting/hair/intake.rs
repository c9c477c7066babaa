//! Hair takes in liquid [Rungjiratananon2012b, section 5.1].
//!
//! The text gives a particle to the voxel that it is in at the end of a step, as far as there is room: what moves by several voxels in a step passes through hair, and
//! what is taken in grows as steps get shorter. Here the way of a particle during the step is walked through the voxels. A particle of section A = d^2 (m / m_full)^(2/3) that goes
//! ds against the hair of a voxel of volume V sweeps A ds / V of it, and what it sweeps over fills up. Where it has been before there is nothing left to fill, so that the room R follows
//!
//!   dR/ds = -R A / V,   a stretch s takes in R (1 - exp(-A s / V)), at most what the particle has.
//!
//! Two stretches one after the other do what they do as one: the outcome does not depend on where steps end. Gaps draw water in besides, at the speed u
//! ([`SUCTION`]), so that s = (|v| + u) t, which is what fills hair in still water: at the rate u / d in a pool.
//!
//! Only liquid that moves towards hair goes in: of the chord through a voxel that which comes before its middle, where its hair counts as lying, so that |v| counts twice. Liquid that
//! moves with the hair that it is in ([`CALM`]) goes in wherever it goes. A particle outside of hair reaches into the voxels beside it with the part of it that is beyond their face.
//!
//! Breaks down: the way is straight from the beginning of the step to its end, and hair stays where it was; liquid particles much wider than voxels wet only what their
//! middle passes.

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
/// Speed at which gaps between hairs draw water in [m/s]: (2 sigma / (rho a))^(1/2) for gaps of a = 0.15 mm [Bosanquet1923].
const SUCTION: f64 = 1.0;
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

/// Takes in liquid that has moved towards hair during `dt` seconds, as much as fits; returns how much [kg].
pub(super) fn take_in(medium: &Medium, grid: &Grid, voxels: &mut Voxels, liquid: &mut Liquid, dt: f64) -> f64 {
    surround(grid, voxels, liquid, dt);
    let Voxels { all, beside, .. } = voxels;
    let (crumb, volume) = (liquid.crumb(), grid.edge().powi(3));
    let mut total = Compensated::default();
    // One after the other, so that what fits is known.
    for p in (0..liquid.positions.len()).filter(|&p| beside[p]) {
        let way = liquid.way(p, dt);
        let mut mass = liquid.masses[p];
        meet(grid, way, liquid.radius, |stretch| {
            let voxel = &mut all[stretch.voxel];
            let room = voxel.capacity() - voxel.water - voxel.change;
            if mass <= 0.0 || room <= LEAST_ROOM * voxel.capacity() || f64::from(voxel.oil) >= REPELS {
                return;
            }
            let centre = grid.centre(grid.place(stretch.voxel));
            let passed = stretch.passed(medium, way, centre, voxel.velocity, dt);
            let section = (2.0 * liquid.radius * (mass / liquid.full).cbrt()).powi(2);
            let swept = -(-stretch.share * section * passed / volume).exp_m1();
            let taken = if swept > 0.0 && mass <= crumb { mass } else { mass.min(swept * room) };
            mass -= taken;
            voxel.change += taken;
            voxel.taken += taken;
            voxel.momentum += taken * liquid.velocities[p];
            total.add(taken);
        });
        liquid.masses[p] = mass;
    }
    total.value()
}

/// A stretch of a particle's way along which it reaches into a voxel that holds hair.
struct Stretch {
    voxel: usize,
    /// Where it begins and ends, in parts of the whole way.
    parts: [f64; 2],
    /// The share of the particle that is in the voxel.
    share: f64,
    /// Whether its middle is.
    inside: bool,
}

impl Stretch {
    /// How much hair-filled space passes the particle while it moves towards the hair of a voxel that has this centre [m] and velocity [m/s]; per its section [m].
    fn passed(&self, medium: &Medium, [from, to]: [DVec3; 2], centre: DVec3, velocity: DVec3, dt: f64) -> f64 {
        let way = to - from;
        let relative = way / dt - velocity;
        let speed = relative.length_squared().sqrt();
        if self.inside && speed < CALM * medium.kick {
            return SUCTION * (self.parts[1] - self.parts[0]) * dt;
        }
        let towards = |part: f64| relative.dot(centre - (from + way * part));
        positive(self.parts, towards).map_or(0.0, |[begin, end]| (2.0 * speed + SUCTION) * (end - begin) * dt)
    }
}

/// Finds the stretches of a way on which a particle is in hair, or, where it is not, reaches into hair beside it.
fn meet(grid: &Grid, [from, to]: [DVec3; 2], radius: f64, mut visit: impl FnMut(Stretch)) {
    let way = to - from;
    grid.along(from, to, |here, parts| {
        if let Some(voxel) = grid.voxel(here) {
            return visit(Stretch { voxel, parts, share: 1.0, inside: true });
        }
        for axis in 0..3 {
            for side in [0, 1] {
                let mut place = here;
                place[axis] += 2 * side - 1;
                let Some(voxel) = grid.voxel(place) else { continue };
                let face = f64::from(here[axis] + side) * grid.edge();
                let depth = |part: f64| radius - (from[axis] + way[axis] * part - face).abs();
                if let Some(parts) = positive(parts, depth) {
                    // Half of a particle whose middle is at the face is beyond it.
                    let share = 0.5 * depth(0.5 * (parts[0] + parts[1])) / radius;
                    visit(Stretch { voxel, parts, share, inside: false });
                }
            }
        }
    });
}

/// The part of an interval in which a linear function is positive.
fn positive([from, to]: [f64; 2], f: impl Fn(f64) -> f64) -> Option<[f64; 2]> {
    let (before, after) = (f(from), f(to));
    let root = || from + (to - from) * before / (before - after);
    match (before > 0.0, after > 0.0) {
        (true, true) => Some([from, to]),
        (true, false) => Some([from, root()]),
        (false, true) => Some([root(), to]),
        (false, false) => None,
    }
}

/// Full particles are counted in parts of this: sums of whole numbers do not depend on their order.
const FINEST: f64 = 1.0 / (1_u64 << 32) as f64;

/// Tells the voxels around particles that there is liquid, and finds those particles that met any on their way.
fn surround(grid: &Grid, voxels: &mut Voxels, liquid: &Liquid, dt: f64) {
    let Voxels { all, counted, beside, .. } = voxels;
    counted.clear();
    counted.resize_with(all.len(), AtomicU64::default);
    beside.resize(liquid.positions.len(), false);
    let particles = liquid.positions.par_iter().zip(&*liquid.masses).zip(beside).enumerate().with_min_len(PARTICLES);
    particles.for_each(|(p, ((&x, mass), beside))| {
        *beside = false;
        meet(grid, liquid.way(p, dt), liquid.radius, |_| *beside = true);
        // Even the smallest is some.
        let part = (mass / liquid.full / FINEST).ceil() as u64;
        let (low, high) = grid.around(x, 2.0 * liquid.radius);
        for z in low.z..=high.z {
            for y in low.y..=high.y {
                for x in low.x..=high.x {
                    if let Some(voxel) = grid.voxel(IVec3::new(x, y, z)) {
                        counted[voxel].fetch_add(part, Ordering::Relaxed);
                    }
                }
            }
        }
    });
    for (voxel, count) in all.iter_mut().zip(counted) {
        voxel.near = *count.get_mut() as f64 * FINEST;
    }
}
