//! Solids as the liquid feels them: samples of their skin, moved along with it.
//!
//! A solid with a mesh is sampled once, by Poisson disks; the samples lie half a spacing below the skin, because a sample
//! stands for as much wall as a particle for liquid. Where a wall is hardly thicker than that, they lie in the middle of it, and those of both skins share it: those of its back
//! would be in the liquid otherwise, or count a second time. Where its animation stretches the mesh they are closer from the beginning, so that they are never
//! too far apart; samples that crowd count for less each, and all for more as the skin stretches. A plane has no end, so that it is sampled anew in every substep, on a
//! lattice of its own, wherever liquid is near.

use crate::SimError;
use crate::solids::{SolidModel, SolidScratch};
use crate::world::Model;
use drench_geometry::animation::MeshAnimation;
use drench_geometry::field::Field;
use drench_geometry::neighbours::Neighbours;
use drench_geometry::poisson::{self, PoissonSettings};
use drench_geometry::{GeometryError, SurfacePoint, TriMesh};
use drench_physics::contact::Placement;
use drench_physics::liquid::{self, LiquidState, NO_BODY, Samples};
use glam::DVec3;
use rayon::prelude::*;

/// Samples of one solid at most.
const LIMIT: usize = 8_000_000;
/// Least distance of two samples in spacings: maximal Poisson disks are then half a spacing apart in the mean. In a layer as thin as the liquid, particles
/// settle in the gaps: with 0.8, water in a tank of 12 particles across stands 4 % too low, pressed against the guard in one place of four.
const APART: f64 = 0.4;
/// Thickness of a wall, in spacings, below which samples of both its skins are one layer.
const THIN: f64 = 1.25;
/// Lattice points along the edge of a block of a plane: the unit in which planes are sampled.
const BLOCK: i64 = 4;
/// How far ahead of liquid planes are sampled at most, in blocks: what is faster meets the guard.
const FAR: f64 = 16.0;
/// Instants of an animation, beside its beginning, at which it is asked how far the mesh is stretched.
const LOOKS: u32 = 16;
/// Stretch up to which a mesh counts as stiff, and beyond which samples thin out.
const BARELY: f64 = 1.01;
const MOST_STRETCH: f64 = 8.0;
/// Particles that look for blocks together.
const PIECE: usize = 4096;

/// Samples of the solids, in their own frames.
#[derive(Debug, Default)]
pub struct Boundary {
    /// Distance of the liquid's particles [m].
    spacing: f64,
    /// Of each solid; empty where nothing collides with it, and for planes.
    samples: Vec<Vec<Sample>>,
}

/// A point of the skin, how far below it the sample lies [m], and the volume of wall that it stands for at rest [m3].
#[derive(Debug)]
struct Sample {
    point: SurfacePoint,
    depth: f64,
    volume: f64,
}

/// Samples as they are at the end of a substep.
#[derive(Debug, Default)]
pub struct BoundaryScratch {
    positions: Vec<DVec3>,
    velocities: Vec<DVec3>,
    bodies: Vec<u32>,
    volumes: Vec<f64>,
    blocks: Vec<[i64; 2]>,
    /// Of each solid: where it last stood still, and its samples there [m].
    stood: Vec<Option<(Placement, Vec<DVec3>)>>,
}

impl BoundaryScratch {
    /// The samples.
    pub fn samples(&self) -> Samples<'_> {
        let Self { positions, velocities, bodies, volumes, .. } = self;
        Samples { positions, velocities, bodies, volumes }
    }
}

impl Boundary {
    /// Samples every solid that the liquid collides with.
    pub fn build(solids: &[SolidModel], spacing: f64, seed: u64) -> Result<Self, SimError> {
        let sample = |solid: &SolidModel| match &solid.field {
            None | Some(Field::HalfSpace) => Ok(Vec::new()),
            Some(_) => sample(solid, spacing, seed),
        };
        Ok(Self { spacing, samples: solids.iter().map(sample).collect::<Result<_, _>>()? })
    }

    /// Moves the samples to where the solids are at the end of the substep. `liquid` says where planes matter.
    pub fn place(
        &self,
        model: &Model,
        solids: &[SolidScratch],
        liquid: &LiquidState,
        dt: f64,
        out: &mut BoundaryScratch,
    ) {
        out.positions.clear();
        out.velocities.clear();
        out.bodies.clear();
        out.volumes.clear();
        out.stood.resize_with(solids.len(), || None);
        for (index, (solid, scratch)) in model.solids.iter().zip(solids).enumerate() {
            let body = model.bodies.of_solid(index).map_or(NO_BODY, |body| body as u32);
            match solid.field {
                Some(Field::HalfSpace) => self.place_plane(scratch.before, scratch.after, liquid, dt, out),
                _ => self.place_skin(index, solid, scratch, dt, out),
            }
            out.bodies.resize(out.positions.len(), body);
        }
        if let Some(ground) = &model.scene.ground {
            let place = Placement::at(DVec3::Y * ground.height);
            self.place_plane(place, place, liquid, dt, out);
            out.bodies.resize(out.positions.len(), NO_BODY);
        }
    }

    fn place_skin(&self, index: usize, solid: &SolidModel, scratch: &SolidScratch, dt: f64, out: &mut BoundaryScratch) {
        let samples = &self.samples[index];
        let first = out.positions.len();
        let stands = scratch.before == scratch.after && solid.animation.is_none();
        if let Some((_, stood)) = out.stood[index].as_ref().filter(|(place, _)| stands && *place == scratch.after) {
            out.positions.extend_from_slice(stood);
            out.velocities.resize(out.positions.len(), DVec3::ZERO);
            out.volumes.extend(samples.iter().map(|sample| sample.volume));
            return;
        }
        let count = first + samples.len();
        out.positions.resize(count, DVec3::ZERO);
        out.velocities.resize(count, DVec3::ZERO);
        out.volumes.resize(count, 0.0);
        let placed = out.positions[first..].par_iter_mut().zip(&mut out.velocities[first..]);
        placed.zip(&mut out.volumes[first..]).zip(samples).for_each(|(((position, velocity), volume), sample)| {
            let [then, now] = scratch.path(solid, &sample.point, sample.depth);
            (*position, *velocity) = (now, (now - then) / dt);
            *volume = sample.volume * scratch.stretch(solid, &sample.point);
        });
        out.stood[index] = stands.then(|| (scratch.after, out.positions[first..].to_vec()));
    }

    /// A level of lattice points half a spacing below the plane y = 0 of its frame, wherever liquid is near.
    fn place_plane(
        &self,
        before: Placement,
        after: Placement,
        liquid: &LiquidState,
        dt: f64,
        out: &mut BoundaryScratch,
    ) {
        let edge = BLOCK as f64 * self.spacing;
        let inward = after.rotation.inverse();
        // Around the way that a particle can go during the substep: its speed may turn, but hardly grow.
        let blocks = |(p, v): (&DVec3, &DVec3)| {
            let local = inward * (*p - after.translation);
            let way = (v.length_squared().sqrt() * dt).min(FAR * edge);
            let reach = move |x: f64| ((x - way) / edge).floor() as i64 - 1..=((x + way) / edge).floor() as i64 + 1;
            let near = local.y.abs() < edge + way;
            let rows = near.then(|| reach(local.x)).into_iter().flatten();
            rows.flat_map(move |x| reach(local.z).map(move |z| [x, z]))
        };
        let near = liquid.positions.par_chunks(PIECE).zip(liquid.velocities.par_chunks(PIECE));
        let near: Vec<Vec<[i64; 2]>> = near
            .map(|(positions, velocities)| {
                let mut near: Vec<_> = positions.iter().zip(velocities).flat_map(blocks).collect();
                near.sort_unstable();
                near.dedup();
                near
            })
            .collect();
        out.blocks.clear();
        out.blocks.extend(near.into_iter().flatten());
        out.blocks.sort_unstable();
        out.blocks.dedup();
        let world = |place: &Placement, local: DVec3| place.rotation * local + place.translation;
        for &[x, z] in &out.blocks {
            for (i, j) in (0..BLOCK).flat_map(|i| (0..BLOCK).map(move |j| (i, j))) {
                let local = DVec3::new((x * BLOCK + i) as f64, -0.5, (z * BLOCK + j) as f64) * self.spacing;
                let (now, then) = (world(&after, local), world(&before, local));
                out.positions.push(now);
                out.velocities.push((now - then) / dt);
                out.volumes.push(self.spacing.powi(3));
            }
        }
    }
}

fn sample(solid: &SolidModel, spacing: f64, seed: u64) -> Result<Vec<Sample>, SimError> {
    let wrap = |source| SimError::Wall { solid: solid.name.clone(), spacing, source };
    let points = points(solid, spacing, seed).map_err(wrap)?;
    let TriMesh { triangles, positions, .. } = &solid.mesh;
    let mut normals: Vec<DVec3> =
        points.par_iter().map(|point| solid.mesh.face_normal(point.triangle as usize)).collect();
    let skin: Vec<DVec3> = points.par_iter().map(|point| point.interpolate(triangles, positions)).collect();
    let thicknesses = thicknesses(&skin, &normals, spacing).map_err(wrap)?;
    let depth = |&thickness: &f64| 0.5 * spacing.min(thickness);
    let below: Vec<DVec3> =
        (skin.iter().zip(&normals).zip(&thicknesses)).map(|((p, n), thickness)| *p - *n * depth(thickness)).collect();
    // What faces nowhere shares the wall with both skins.
    let thin = normals.iter_mut().zip(&thicknesses).filter(|(_, thickness)| thickness.is_finite());
    thin.for_each(|(normal, _)| *normal = DVec3::ZERO);
    let volumes = liquid::sample_volumes(spacing, &below, &normals).map_err(SimError::Liquid)?;
    let samples = points.into_iter().zip(&thicknesses).zip(volumes);
    Ok(samples.map(|((point, thickness), volume)| Sample { point, depth: depth(thickness), volume }).collect())
}

/// How thick the wall below each point of a skin is [m], infinitely if more than [`THIN`] spacings: where the points of its back are.
fn thicknesses(skin: &[DVec3], normals: &[DVec3], spacing: f64) -> Result<Vec<f64>, GeometryError> {
    let most = THIN * spacing;
    let mut neighbours = Neighbours::new();
    neighbours.rebuild(skin, most)?;
    let back = |i: usize, j: usize| {
        let way = skin[i] - skin[j];
        let below = way.dot(normals[i]);
        let beside = way - normals[i] * below;
        let faces_away = normals[i].dot(normals[j]) < -0.5;
        let opposite = below > 0.0 && below < most && beside.length_squared() < (APART * spacing).powi(2);
        (faces_away && opposite).then_some(below)
    };
    let thickness = |i: usize| {
        let near = neighbours.around(neighbours.cell_of(skin[i]));
        let others = near.flat_map(|range| &neighbours.order()[range]);
        others.filter_map(|&j| back(i, j as usize)).fold(f64::INFINITY, f64::min)
    };
    Ok((0..skin.len()).into_par_iter().with_min_len(PIECE).map(thickness).collect())
}

fn points(solid: &SolidModel, spacing: f64, seed: u64) -> Result<Vec<SurfacePoint>, GeometryError> {
    let stretch = solid.animation.as_ref().map(|animation| stretch(&solid.mesh, animation)).unwrap_or_default();
    let most = stretch.iter().copied().fold(1.0, f64::max);
    let most = if most > BARELY { most } else { 1.0 };
    let density: Vec<f64> = stretch.iter().map(|stretch| (stretch / most).powi(2)).collect();
    let settings = PoissonSettings {
        distance: APART * spacing / most,
        seed,
        faces: None,
        density: (most > 1.0).then_some(density.as_slice()),
        limit: LIMIT,
    };
    poisson::sample(&solid.mesh, &settings)
}

/// How many times as long as in the mesh the edges of the triangles at each vertex get, at least 1 and at most [`MOST_STRETCH`].
fn stretch(mesh: &TriMesh, animation: &MeshAnimation) -> Vec<f64> {
    let mut rest = vec![DVec3::ZERO; mesh.positions.len()];
    animation.pose_at_rest(&mut rest);
    let (mut posed, mut stretch) = (rest.clone(), vec![1.0_f64; rest.len()]);
    for look in 0..=LOOKS {
        animation.pose_at(animation.duration() * f64::from(look) / f64::from(LOOKS), &mut posed);
        for triangle in &mesh.triangles {
            let corners = triangle.map(|vertex| vertex as usize);
            let longer = |k: usize| {
                let (a, b) = (corners[k], corners[(k + 1) % 3]);
                posed[a].distance(posed[b]) / rest[a].distance(rest[b]).max(f64::MIN_POSITIVE)
            };
            let most = (0..3).map(longer).fold(1.0, f64::max).min(MOST_STRETCH);
            corners.iter().for_each(|&vertex| stretch[vertex] = stretch[vertex].max(most));
        }
    }
    stretch
}
