//! Wet strands cling to each other [Rungjiratananon2012b, section 6].
//!
//! A bridge of water joins a vertex with a segment of another strand once they are closer than the water between and around them reaches,
//! d = r_i + r_j + `reach` (s_i + s_j) / 2, s the part of the room for water that is filled (20). It pulls them together, as a liquid does: to
//! contact, within a time, and with no more than a force
//!
//! F = `pull` l (s_i + s_j) / 2 for each length l of strand,
//!
//! holds them there while they are pulled apart less strongly, and breaks where they are farther than d. Strands that overlap are pushed apart
//! by whatever it takes (22). Motion along each other is damped by the film between them.
//!
//! The text's force (21) would be explicit: stiff on hairs that weigh micrograms. Here a bridge asks for a velocity, and each vertex gives every bridge an equal part of its
//! mass: whatever the strength, velocities stay between those that bridges ask for, and what one side gains the other loses.
//!
//! Bridges last from step to step; new ones are looked for in a part of the strands at a time.

use super::grid::Grid;
use super::{Hair, HairScratch, HairWater};
use crate::collision::segments::Segment;
use crate::error::{PhysicsError, check};
use glam::{DVec3, IVec3};
use rayon::prelude::*;

/// Bridges of a vertex at most.
pub(super) const BRIDGES: usize = 4;
/// No bridge.
pub(super) const NONE: u32 = u32::MAX;
/// Every how many steps a strand looks for new bridges.
const PATIENCE: u32 = 8;
/// Part of the room for water that must be filled, on average, for two strands to cling.
const LEAST: f64 = 0.02;
/// Time in which a bridge closes its gap [s].
const CLOSING: f64 = 0.04;
/// Time in which a film stops strands that slide along each other [s].
const SLIDING: f64 = 0.1;
/// Vertices that one task handles.
const CHUNK: usize = 2048;

/// How wet strands cling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cohesion {
    /// Gap across which strands full of water cling [m].
    pub reach: f64,
    /// Force for each length of strand [N/m].
    pub pull: f64,
}

/// The strands of all grooms, one after the other.
#[derive(Debug)]
pub struct Clinging<'a> {
    /// Positions [m].
    pub positions: &'a [DVec3],
    /// Velocities [m/s].
    pub velocities: &'a mut [DVec3],
    /// Inverse masses, of a strand and its water [1/kg]; 0 where it is held.
    pub inverse_masses: &'a [f64],
    /// Radii of strands, with what they stand for [m].
    pub radii: &'a [f32],
}

/// One bridge, as it acts in this step.
#[derive(Clone, Copy, Debug, Default)]
struct Bond {
    /// The vertex.
    vertex: u32,
    /// The segment ends at this vertex.
    segment: u32,
    /// Place on the segment, 0 to 1.
    place: f64,
    /// From the segment to the vertex, of length 1.
    normal: DVec3,
    /// Distance less that of contact [m].
    gap: f64,
    /// The most it pulls in this step [N s].
    most: f64,
}

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// What bridges do, chunk by chunk of the vertices.
    bonds: Vec<Vec<Bond>>,
    impulses: Vec<Vec<DVec3>>,
    shares: Vec<f64>,
    saturation: Vec<f32>,
}

/// How many bridges there are, after `dt` seconds of clinging. The grid is that of the last [`super::step`].
pub fn cling(
    hair: &Hair,
    water: &mut HairWater,
    scratch: &mut HairScratch,
    cohesion: &Cohesion,
    strands: Clinging,
    dt: f64,
) -> Result<u64, PhysicsError> {
    check("dt", dt, "positive", |x| x > 0.0)?;
    check("reach of wet strands", cohesion.reach, "0 or more", |x| x >= 0.0)?;
    check("pull of wet strands", cohesion.pull, "0 or more", |x| x >= 0.0)?;
    let vertices = hair.masses.len();
    for (what, got) in [
        ("positions", strands.positions.len()),
        ("velocities", strands.velocities.len()),
        ("inverse masses", strands.inverse_masses.len()),
        ("radii", strands.radii.len()),
    ] {
        if got != vertices {
            return Err(PhysicsError::Count { what, got, expected: vertices });
        }
    }
    if cohesion.reach <= 0.0 || cohesion.pull <= 0.0 {
        return Ok(0);
    }
    let HairScratch { grid, bonds: work, .. } = scratch;
    work.saturate(hair, water);
    let scene = Scene { hair, grid, cohesion, saturation: &work.saturation, strands: &strands, dt };
    let phase = water.phase % PATIENCE;
    water.phase = water.phase.wrapping_add(1);
    work.bonds.resize_with(vertices.div_ceil(CHUNK), Vec::new);
    let chunks = water.bridges.par_chunks_mut(CHUNK).zip(&mut work.bonds).enumerate();
    chunks.for_each(|(chunk, (bridges, bonds))| {
        bonds.clear();
        for (i, bridges) in (chunk * CHUNK..).zip(bridges) {
            scene.keep(i, bridges);
            if hair.strands[i] % PATIENCE == phase {
                scene.look_around(i, bridges);
            }
            let held = bridges.iter().filter(|&&segment| segment != NONE);
            bonds.extend(held.map(|&segment| scene.bond(i, segment)));
        }
    });
    Ok(work.act(strands, dt))
}

impl Work {
    /// The part of the room for water around each segment that is filled.
    fn saturate(&mut self, hair: &Hair, water: &HairWater) {
        self.saturation.clear();
        for (groom, fibre) in hair.fibres.iter().enumerate() {
            let room = fibre.between + fibre.around;
            self.saturation.par_extend(hair.vertices(groom).into_par_iter().map(|i| {
                let most = room * f64::from(hair.masses[i]);
                if most > 0.0 { (water.around[i] / most).min(1.0) as f32 } else { 0.0 }
            }));
        }
    }

    /// Gives velocities what the bonds ask for.
    fn act(&mut self, strands: Clinging, dt: f64) -> u64 {
        let Self { bonds, impulses, shares, .. } = self;
        let Clinging { velocities, inverse_masses, .. } = strands;
        // How many bonds share each vertex.
        shares.clear();
        shares.resize(velocities.len(), 0.0);
        for bond in bonds.iter().flatten() {
            let j = bond.segment as usize;
            shares[bond.vertex as usize] += 1.0;
            shares[j - 1] += 1.0;
            shares[j] += 1.0;
        }
        let (now, shares) = (&*velocities, &*shares);
        impulses.resize_with(bonds.len(), Vec::new);
        impulses.par_iter_mut().zip(&*bonds).for_each(|(impulses, bonds)| {
            impulses.clear();
            impulses.extend(bonds.iter().map(|bond| {
                let (i, j, t) = (bond.vertex as usize, bond.segment as usize, bond.place);
                let light = |v: usize| inverse_masses[v] * shares[v];
                let answer = light(i) + (1.0 - t).powi(2) * light(j - 1) + t * t * light(j);
                if answer <= 0.0 {
                    return DVec3::ZERO;
                }
                let relative = now[i] - (now[j - 1] * (1.0 - t) + now[j] * t);
                let parting = relative.dot(bond.normal);
                // To contact in a while; out of an overlap as fast, and by any force.
                let wanted = (-bond.gap / CLOSING - parting) / answer;
                let along = relative - bond.normal * parting;
                let most = if bond.gap < 0.0 && wanted > 0.0 { f64::INFINITY } else { bond.most };
                let slide = along * (-(dt / (dt + SLIDING)) / answer);
                let slide = slide * (bond.most / slide.length_squared().sqrt().max(1e-300)).min(1.0);
                bond.normal * wanted.clamp(-bond.most, most) + slide
            }));
        });
        // One after the other: the sum at a vertex must not depend on threads.
        for (bond, &impulse) in bonds.iter().flatten().zip(impulses.iter().flatten()) {
            let (i, j, t) = (bond.vertex as usize, bond.segment as usize, bond.place);
            velocities[i] += impulse * inverse_masses[i];
            velocities[j - 1] -= impulse * ((1.0 - t) * inverse_masses[j - 1]);
            velocities[j] -= impulse * (t * inverse_masses[j]);
        }
        bonds.iter().map(|bonds| bonds.len() as u64).sum()
    }
}

/// Everything that a vertex looks at.
struct Scene<'a> {
    hair: &'a Hair,
    grid: &'a Grid,
    cohesion: &'a Cohesion,
    saturation: &'a [f32],
    strands: &'a Clinging<'a>,
    dt: f64,
}

impl Scene<'_> {
    /// How much water a vertex and a segment share, 0 to 1.
    fn shared(&self, i: usize, segment: usize) -> f64 {
        0.5 * f64::from(self.saturation[i] + self.saturation[segment])
    }

    /// Squared distance of a vertex to a segment [m2], and the square of that up to which they cling.
    fn apart(&self, i: usize, segment: usize) -> (f64, f64) {
        let x = self.strands.positions[i];
        let distance = (x - self.line(segment).nearest(x)).length_squared();
        let shared = self.shared(i, segment);
        let reach = if shared < LEAST { 0.0 } else { self.contact(i, segment) + self.cohesion.reach * shared };
        (distance, reach * reach)
    }

    /// Where on a segment the point nearest to a vertex is, 0 to 1.
    fn place(&self, i: usize, segment: usize) -> f64 {
        self.line(segment).fraction(self.strands.positions[i])
    }

    fn line(&self, segment: usize) -> Segment {
        Segment { from: self.strands.positions[segment - 1], to: self.strands.positions[segment] }
    }

    /// Distance of axes in contact [m].
    fn contact(&self, i: usize, segment: usize) -> f64 {
        f64::from(self.strands.radii[i] + self.strands.radii[segment])
    }

    /// Bridges that are too long break. One that has slid to the end of its segment goes on to the next.
    fn keep(&self, i: usize, bridges: &mut [u32; BRIDGES]) {
        for bridge in bridges.iter_mut().filter(|bridge| **bridge != NONE) {
            let at = *bridge as usize;
            let mut best = (self.apart(i, at), at);
            // Beyond an end of the segment its neighbour is nearer.
            let place = self.place(i, at);
            let beyond = if place <= 0.0 { at - 1 } else { at + 1 };
            let exists = |j: usize| j < self.hair.masses.len() && self.hair.masses[j] > 0.0;
            if (place <= 0.0 || place >= 1.0) && exists(beyond) && self.hair.strands[beyond] == self.hair.strands[at] {
                let apart = self.apart(i, beyond);
                if apart.0 < best.0.0 {
                    best = (apart, beyond);
                }
            }
            let ((distance, reach), at) = best;
            *bridge = if distance < reach { at as u32 } else { NONE };
        }
        // Two that have slid to the same segment are one.
        for k in 1..BRIDGES {
            if bridges[..k].contains(&bridges[k]) {
                bridges[k] = NONE;
            }
        }
    }

    /// Looks for the nearest strands within reach, as many as a vertex can hold.
    fn look_around(&self, i: usize, bridges: &mut [u32; BRIDGES]) {
        let free = bridges.iter().filter(|&&bridge| bridge == NONE).count();
        // A vertex shares the water of the segment that ends there; a root has none.
        if free == 0 || self.saturation[i] < LEAST as f32 {
            return;
        }
        let x = self.strands.positions[i];
        let reach = self.cohesion.reach + 2.0 * f64::from(self.strands.radii[i]);
        let (low, high) = (self.grid.coordinates(x - reach), self.grid.coordinates(x + reach));
        let mut found = [(f64::INFINITY, NONE); BRIDGES];
        for z in low.z..=high.z {
            for y in low.y..=high.y {
                for x in low.x..=high.x {
                    let Some(voxel) = self.grid.voxel(IVec3::new(x, y, z)) else { continue };
                    for portion in self.grid.within(voxel) {
                        let j = portion.segment as usize;
                        if self.same_strand(i as u32, j) || bridges.iter().any(|&bridge| self.same_strand(bridge, j)) {
                            continue;
                        }
                        let (distance, reach) = self.apart(i, j);
                        if distance < reach {
                            self.enter(&mut found, (distance, j as u32));
                        }
                    }
                }
            }
        }
        let mut nearest = found.into_iter().map(|(_, j)| j).filter(|&j| j != NONE);
        for bridge in bridges.iter_mut().filter(|bridge| **bridge == NONE) {
            *bridge = nearest.next().unwrap_or(NONE);
        }
    }

    /// Whether a bridge leads to the strand of segment `j`.
    fn same_strand(&self, bridge: u32, j: usize) -> bool {
        bridge != NONE && self.hair.strands[bridge as usize] == self.hair.strands[j]
    }

    /// Enters a candidate in its place; of each strand only the nearest segment.
    fn enter(&self, found: &mut [(f64, u32); BRIDGES], candidate: (f64, u32)) {
        if let Some(same) = found.iter_mut().find(|(_, j)| self.same_strand(*j, candidate.1 as usize)) {
            if candidate < *same {
                *same = candidate;
            }
        } else if candidate < found[BRIDGES - 1] {
            found[BRIDGES - 1] = candidate;
        }
        found.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    }

    /// The bridge as it acts now.
    fn bond(&self, i: usize, segment: u32) -> Bond {
        let j = segment as usize;
        let positions = self.strands.positions;
        let (from, way, place) = (positions[j - 1], positions[j] - positions[j - 1], self.place(i, j));
        let square = way.length_squared();
        let offset = positions[i] - (from + way * place);
        let distance = offset.length_squared().sqrt();
        // Axes that cross have no side: any direction across the segment will do.
        let normal =
            if distance > 1e-12 { offset / distance } else { way.any_orthogonal_vector().normalize_or(DVec3::X) };
        Bond {
            vertex: i as u32,
            segment,
            place,
            normal,
            gap: distance - self.contact(i, j),
            most: self.cohesion.pull * square.sqrt() * self.shared(i, j) * self.dt,
        }
    }
}
