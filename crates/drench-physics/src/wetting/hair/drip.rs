//! Water leaves hair as drops [Rungjiratananon2012b, section 5.4].
//!
//! A voxel at the border of the hair that has held more than it can for [`Medium::delay`](super::Medium) lets the excess go. The drop comes to lie on the surface
//! {x: distance to the nearest hair = radius of the drop}, below or outside the lowest and outermost point of the voxel's hair, which is a tip if there is
//! one. The text makes a mesh of that surface by a distance transform and marching cubes; here the surface itself is met, and only where something drips:
//! the distance to segments is exact and its gradient has length 1, so that x + (radius - d) grad d lies on it where one hair is nearest. Where others come
//! nearer in turn, as in dense hair, the drop walks on, outwards, until it is clear of all.

use super::grid::{self, Grid, cut};
use super::voxels::Voxels;
use super::{Hair, HairWater};
use crate::collision::segments::Segment;
use crate::error::PhysicsError;
use crate::liquid::{Droplet, LiquidState};
use drench_geometry::neighbours::Neighbours;
use glam::{DVec3, IVec3};
use rayon::prelude::*;

/// Steps towards the surface of the hair along the gradient of the distance, and outwards after them.
const PROJECTIONS: usize = 4;
const WALK: usize = 24;
/// Distance from hair at which a drop lies on the surface, over its radius.
const CLEAR: f64 = 0.9;
/// How much farther down than out a drop would rather leave.
const DOWN: f64 = 1.0;

/// A drop that leaves hair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drip {
    /// Position [m].
    pub position: DVec3,
    /// Velocity [m/s].
    pub velocity: DVec3,
    /// Mass [kg].
    pub mass: f64,
    /// The groom that it hung from: of its water, others in the same voxel may have held a part.
    pub groom: usize,
}

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct Work {
    full: Vec<u32>,
}

/// Finds the drops that leave, and marks the part of the water that they take from their voxels.
#[allow(clippy::too_many_arguments)]
pub(super) fn drip(
    hair: &Hair,
    water: &mut HairWater,
    grid: &Grid,
    voxels: &mut Voxels,
    work: &mut Work,
    [least, most]: [f64; 2],
    gravity: DVec3,
    dt: f64,
    positions: &[DVec3],
    drips: &mut Vec<Drip>,
) {
    drips.clear();
    wait(water, grid, voxels, dt);
    let delay = hair.medium.delay as f32;
    let excess = |v: usize| voxels.all[v].water - voxels.all[v].capacity();
    work.full.clear();
    let lets_go = |v: &u32| voxels.all[*v as usize].submerged() < 1.0 && excess(*v as usize) >= least;
    work.full.par_extend((0..voxels.all.len() as u32).into_par_iter().filter(lets_go));
    let brim = &water.brim;
    let down = gravity.normalize_or_zero();
    let radius = |mass: f64| (mass / hair.medium.liquid_density * 3.0 / (4.0 * std::f64::consts::PI)).cbrt();
    let found: Vec<Option<(usize, Drip)>> = work
        .full
        .par_iter()
        .map(|&v| {
            let v = v as usize;
            let own = || grid.within(v).iter().map(|p| p.segment as usize);
            if own().fold(0.0_f32, |longest, i| longest.max(brim[i])) < delay {
                return None;
            }
            let outward = outward(grid, voxels, v)?;
            let mass = excess(v).min(most);
            let way = (outward + DOWN * down).try_normalize().unwrap_or(outward);
            let ends =
                |i: usize| clip(grid, grid.place(v), positions[i - 1], positions[i]).map(|ends| ends.map(|p| (i, p)));
            // The first of equals: the order of portions is fixed.
            let (segment, lowest) =
                own().filter_map(ends).flatten().fold(None, |best: Option<(usize, DVec3)>, end| match best {
                    Some(best) if best.1.dot(way) >= end.1.dot(way) => Some(best),
                    _ => Some(end),
                })?;
            let position = surface(grid, positions, lowest, [way, outward], radius(mass));
            let velocity = voxels.all[v].velocity + way * hair.medium.kick;
            Some((v, Drip { position, velocity, mass, groom: hair.groom_of(segment) }))
        })
        .collect();
    for (v, drip) in found.into_iter().flatten() {
        voxels.run[v].leaving = drip.mass / voxels.all[v].water;
        drips.push(drip);
    }
}

/// Segments in voxels that hold more than they can wait; others begin anew.
fn wait(water: &mut HairWater, grid: &Grid, voxels: &Voxels, dt: f64) {
    grid.shares.par_iter().zip(cut(&grid.shares, &mut water.brim)).for_each(|(share, brim)| {
        for (k, brim) in brim.iter_mut().enumerate() {
            let full = share.of(share.vertices.start + k).iter().any(|p| voxels.over[p.voxel as usize]);
            *brim = if full { *brim + dt as f32 } else { 0.0 };
        }
    });
}

/// The way out of the hair, from where there is more of it to where there is less; none within the hair.
fn outward(grid: &Grid, voxels: &Voxels, v: usize) -> Option<DVec3> {
    let here = grid.place(v);
    let length = |place: IVec3| grid.voxel(place).map_or(0.0, |u| voxels.all[u].length);
    let (mut way, mut border) = (DVec3::ZERO, false);
    for axis in [IVec3::X, IVec3::Y, IVec3::Z] {
        let (before, after) = (length(here - axis), length(here + axis));
        border |= before == 0.0 || after == 0.0;
        way += axis.as_dvec3() * (before - after);
    }
    border.then(|| way.normalize_or_zero())
}

/// Both ends of the part of a segment that lies in a voxel.
fn clip(grid: &Grid, voxel: IVec3, from: DVec3, to: DVec3) -> Option<[DVec3; 2]> {
    let low = voxel.as_dvec3() * grid.edge();
    let parts = grid::clip([low, low + grid.edge()], from, to)?;
    Some(parts.map(|part| from + (to - from) * part))
}

/// The place on the surface around all hair, `radius` away from it, that a drop comes to which leaves a point this way; where it does not get
/// clear of the hair, it goes on outwards. The clearest place if none is clear.
fn surface(grid: &Grid, positions: &[DVec3], from: DVec3, [way, outward]: [DVec3; 2], radius: f64) -> DVec3 {
    let mut at = from + way * radius;
    let mut best = (f64::NEG_INFINITY, at);
    for step in 0..PROJECTIONS + WALK {
        let apart = nearest(grid, positions, at, radius);
        let distance = apart.map_or(radius, DVec3::length);
        if distance > best.0 {
            best = (distance, at);
        }
        if distance >= CLEAR * radius {
            break;
        }
        at += if step < PROJECTIONS {
            apart.and_then(DVec3::try_normalize).unwrap_or(way) * (radius - distance)
        } else {
            outward.try_normalize().unwrap_or(way) * (radius - distance).max(0.25 * radius)
        };
    }
    best.1
}

/// From the nearest hair to a point, if there is any within `radius` [m].
fn nearest(grid: &Grid, positions: &[DVec3], at: DVec3, radius: f64) -> Option<DVec3> {
    let (low, high) = grid.around(at, radius);
    let mut nearest: Option<DVec3> = None;
    for z in low.z..=high.z {
        for y in low.y..=high.y {
            for x in low.x..=high.x {
                let Some(u) = grid.voxel(IVec3::new(x, y, z)) else { continue };
                for portion in grid.within(u) {
                    let i = portion.segment as usize;
                    let offset = at - Segment { from: positions[i - 1], to: positions[i] }.nearest(at);
                    let square = offset.length_squared();
                    if square < radius * radius && nearest.is_none_or(|best| square < best.length_squared()) {
                        nearest = Some(offset);
                    }
                }
            }
        }
    }
    nearest
}

/// Gives drops to the liquid: to a particle near by that is not full, or as particles of their own. `full` is the mass of a full particle [kg], `reach` how
/// near one must be [m], `time` now [s].
pub fn release(
    liquid: &mut LiquidState,
    drips: &[Drip],
    neighbours: &mut Neighbours,
    [full, reach]: [f64; 2],
    time: f64,
) -> Result<(), PhysicsError> {
    if drips.is_empty() {
        return Ok(());
    }
    neighbours.rebuild(&liquid.positions, reach).map_err(|problem| PhysicsError::search("liquid", &problem))?;
    let mut own = Vec::with_capacity(drips.len());
    for drip in drips {
        let mut nearest: Option<(f64, u32)> = None;
        neighbours.for_each_near(drip.position, |p| {
            let distance = (liquid.positions[p as usize] - drip.position).length_squared();
            let fits = liquid.masses[p as usize] + drip.mass <= full;
            let nearer = nearest.is_none_or(|best| (distance, p) < best);
            if fits && distance < reach * reach && nearer {
                nearest = Some((distance, p));
            }
        });
        let Some((_, p)) = nearest else {
            own.push(Droplet { position: drip.position, velocity: drip.velocity, mass: drip.mass, birth: time });
            continue;
        };
        let p = p as usize;
        let (before, after) = (liquid.masses[p], liquid.masses[p] + drip.mass);
        liquid.positions[p] = (liquid.positions[p] * before + drip.position * drip.mass) / after;
        liquid.velocities[p] = (liquid.velocities[p] * before + drip.velocity * drip.mass) / after;
        liquid.masses[p] = after;
    }
    liquid.add(&own);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_math::random::Stream;

    #[test]
    fn drops_that_leave_dense_hair_lie_on_its_surface() {
        let stream = Stream::new(4, "dense");
        let (strands, vertices) = (600_u32, 12_u32);
        let offsets: Vec<u32> = (0..=strands).map(|s| s * vertices).collect();
        let mut positions = Vec::new();
        for s in 0..u64::from(strands) {
            // A block of 2 x 2 x 4 cm, hairs every 0.8 mm, tangled.
            let root = DVec3::new(stream.uniform(2 * s), 0.0, stream.uniform(2 * s + 1)) * 0.02;
            let tangle = |k: u32| stream.direction(99 * s + u64::from(k)) * 1e-3;
            positions.extend((0..vertices).map(|k| root - DVec3::Y * (4e-3 * f64::from(k)) + tangle(k)));
        }
        let mut grid = Grid::default();
        grid.rebuild(4.5e-3, &offsets, &positions).unwrap();
        let mut voxels = Voxels::default();
        voxels.all.resize(grid.voxels(), Default::default());
        for (v, voxel) in voxels.all.iter_mut().enumerate() {
            voxel.length = grid.within(v).iter().map(|portion| f64::from(portion.length)).sum();
        }
        let (radius, mut drops, mut hidden) = (1.9e-3, 0, 0);
        for v in 0..voxels.all.len() {
            let portion = grid.within(v)[0];
            let Some(outward) = outward(&grid, &voxels, v) else { continue };
            let way = (outward + DVec3::NEG_Y).try_normalize().unwrap_or(outward);
            let from = positions[portion.segment as usize];
            let at = surface(&grid, &positions, from, [way, outward], radius);
            // Every segment is looked at.
            let ends = positions.windows(2).enumerate().filter(|(i, _)| (i + 1) % vertices as usize != 0);
            let distance = ends
                .map(|(_, p)| Segment { from: p[0], to: p[1] }.nearest(at).distance(at))
                .fold(f64::INFINITY, f64::min);
            assert!(distance < 1.2 * radius, "{distance}: a drop is not thrown off");
            drops += 1;
            hidden += usize::from(distance < 0.89 * radius);
        }
        assert!(drops > 50 && hidden == 0, "{hidden} of {drops} are within the hair");
    }
}
