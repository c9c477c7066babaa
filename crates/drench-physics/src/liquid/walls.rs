//! What the liquid touches: samples of solids, and foreign particles such as grains.
//!
//! A solid is sampled at about the particles' distance. Each sample b stands for a volume V_b = γ / Σ W over the samples
//! around it [Akinci2012], so that uneven samples make an even wall: those around it of the same side, because liquid before a thin wall does
//! not feel its back. It counts in densities and pressures like a particle of mass ψ_b = ρ0 V_b. Liquid is mirrored in a wall: its image has the same pressure and the opposite velocity, so that a sample counts
//! twice in pressure forces and in the rate of the density; particles half a spacing from the skin, whose samples lie as far
//! below it, are then in the same balance as those inside. A foreign particle does the same with its own volume: liquid among
//! grains fills what the grains leave; it is not mirrored, and feels its volume times the gradient of pressure, unless it is closed. The sums over samples are taken once a step; the pressure iterations see two values a particle.
//! Solids and hair may have a hundred times as many points as there are particles: once particles have found theirs, only these points take part.
//!
//! Whatever momentum the liquid gets from a sample, the sample gets with the opposite sign. A loose point of mass m_f moves on while the pressure
//! is solved for, by Δu_f = Σ m_i κ_i ψ_f ∇W_if / m_f: a point that stood still until the step is over would be thrown by all the momentum of the liquid that it
//! stopped, however much heavier than itself, into the liquid on its other side, and so on: such coupling diverges at any length of the step.

use super::fields::{Fields, dot};
use super::kernel::CubicSpline;
use super::rows::{Kernel8, PIECE, Points, Rows, Search};
use crate::error::PhysicsError;
use drench_geometry::neighbours::Neighbours;
use glam::DVec3;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use wide::{f32x4, f64x4};

/// Σ W d³ over a square lattice of samples in one plane: with it their volume is d³, and a particle at the distance d from the
/// plane has the density of rest.
const LAYER: f64 = 0.700_3;

/// Most groups of pieces that look back at the same time.
const GROUPS: usize = 8;

/// Cosine of the angle between normals beyond which samples are of different sides of a wall.
const AWAY: f32 = -0.5;

/// How one-sided liquid is about a point, the length of Σ m ∇W over Σ m |∇W|: a half and more before a wall. Up to the first it counts as all around, from the second on as
/// on one side.
const EVEN: f32 = 0.2;
const ONE_SIDED: f32 = 0.45;

/// How many more like it a loose point that is closed takes along: it lies among others.
const LEANING: f32 = 12.0;

/// Where the volumes of points come from.
#[derive(Clone, Copy)]
enum Volumes<'a> {
    /// Each point has its own [m3].
    Given(&'a [f64]),
    /// From the points around, on skins with these normals; all of one side if there are none.
    Shared(&'a [DVec3]),
}

/// Volumes [m3] that samples of one solid stand for before a liquid of this spacing [m]. Where the skin is stretched they grow with it.
pub fn sample_volumes(spacing: f64, positions: &[DVec3], normals: &[DVec3]) -> Result<Vec<f64>, PhysicsError> {
    let kernel = CubicSpline::new(2.0 * spacing);
    let origin = positions.iter().sum::<DVec3>() / positions.len().max(1) as f64;
    let frame = Frame { origin, kernel, kernel8: Kernel8::new(&kernel), density: 1.0 };
    let mut walls = Walls::default();
    let points = positions.iter().copied().enumerate();
    walls.place(points, Volumes::Shared(normals), &frame)?;
    let mut volumes = vec![0.0; positions.len()];
    for (place, &volume) in walls.all.masses.iter().enumerate() {
        volumes[walls.at(place)] = f64::from(volume);
    }
    Ok(volumes)
}

/// Points that the liquid feels, in z-order.
#[derive(Debug, Default)]
pub(crate) struct Walls {
    /// Where the points are that count [m], which of those given they are, and their volumes if these are given [m3].
    placed: Vec<DVec3>,
    chosen: Vec<u32>,
    volumes: Vec<f64>,
    /// Which of those given are near the liquid.
    near: Vec<bool>,
    origin: DVec3,
    neighbours: Neighbours,
    /// All of them in z-order; masses are ψ [kg].
    all: Points,
    /// Those that liquid feels, in z-order: one bit for each of all, their places among all, and, for a place that is felt, which of them it is. What follows is about these.
    marks: Vec<AtomicU64>,
    felt: Vec<u32>,
    numbers: Vec<u32>,
    /// Where they are, relative to the origin [m], ψ [kg] and velocities [m/s].
    pub x: Vec<f32x4>,
    pub masses: Vec<f32>,
    pub velocities: Vec<f32x4>,
    /// Neighbours of every liquid particle among the points.
    pub rows: Vec<Rows>,
    own_rows: Vec<Rows>,
    /// The same neighbours, seen from the points: which particles, and the bits of their weights below; and where those of each point begin. Atomics, because
    /// pieces scatter into one array; each entry is written once.
    seen: Vec<AtomicU64>,
    begins: Vec<u32>,
    /// Where a group of pieces goes on to write, for each point.
    next: Vec<u32>,
    /// How often a point counts in pressure forces: twice if the liquid is mirrored in it.
    pub mirror: f32,
    /// How much the liquid is mirrored in each of those felt beyond that, 0 to 1; empty if in none.
    pub closed: Vec<f32>,
    /// Inverse masses of the points that are loose [1/kg], 0 of others; empty if none is.
    loose: Vec<f32>,
    /// Σ m_i |ψ ∇W| / m_f over the particles around each of them.
    answers: Vec<f32>,
    /// Those beside a solid: the way out of it, and the part of Δu along it that it takes.
    held: Vec<(u32, f32x4, f32)>,
    /// Δu, what velocity the pressure that is being solved for gives them [m/s].
    gained: Vec<f32x4>,
}

impl Walls {
    /// How many points the liquid feels.
    pub fn len(&self) -> usize {
        self.felt.len()
    }

    /// Where a sample is now [m].
    pub fn position(&self, sample: usize) -> DVec3 {
        self.placed[sample]
    }

    /// Which of the points given one that is felt is.
    pub fn given(&self, point: usize) -> usize {
        self.at(self.felt[point] as usize)
    }

    /// The point, as given, that is at this place of the z-order.
    fn at(&self, place: usize) -> usize {
        self.chosen[self.neighbours.order()[place] as usize] as usize
    }

    /// Whether points that have not moved are where they were put.
    pub fn stands(&self, frame: &Frame) -> bool {
        self.origin == frame.origin
    }

    /// Puts samples of solids where they are now. Nothing is done if nothing changed. Without `volumes` [m3] they have what they have among each other.
    pub fn place_samples(
        &mut self,
        count: usize,
        volumes: &[f64],
        position: impl Fn(usize) -> DVec3 + Sync,
        frame: &Frame,
    ) -> Result<(), PhysicsError> {
        self.mirror = 2.0;
        let points = (0..count).map(|i| (i, position(i)));
        let volumes = if volumes.is_empty() { Volumes::Shared(&[]) } else { Volumes::Given(volumes) };
        self.place(points, volumes, frame)
    }

    /// Puts foreign particles of these volumes [m3] where they are now: all, or those that `liquid`, in cells of one support, may feel now.
    pub fn place_foreign(
        &mut self,
        liquid: Option<&Neighbours>,
        volumes: &[f64],
        position: impl Fn(usize) -> DVec3 + Sync,
        frame: &Frame,
    ) -> Result<(), PhysicsError> {
        self.mirror = 1.0;
        let mut near = std::mem::take(&mut self.near);
        near.clear();
        near.resize(volumes.len(), true);
        if let Some(liquid) = liquid {
            near.par_iter_mut().enumerate().with_min_len(PIECE).for_each(|(i, near)| {
                *near = liquid.any_around(liquid.cell_of(position(i)));
            });
        }
        let points = (0..volumes.len()).filter(|&i| near[i]).map(|i| (i, position(i)));
        let placed = self.place(points, Volumes::Given(volumes), frame);
        self.near = near;
        placed
    }

    /// Puts these points there, with their numbers.
    fn place(
        &mut self,
        points: impl Iterator<Item = (usize, DVec3)>,
        volumes: Volumes,
        frame: &Frame,
    ) -> Result<(), PhysicsError> {
        let (mut changed, mut count) = (self.origin != frame.origin, 0);
        for (number, position) in points {
            let volume = match volumes {
                Volumes::Given(volumes) => volumes[number],
                Volumes::Shared(_) => 0.0,
            };
            if count == self.placed.len() {
                self.placed.push(DVec3::NAN);
                self.chosen.push(0);
                self.volumes.push(0.0);
            }
            let known = (self.placed[count], self.chosen[count] as usize, self.volumes[count]);
            changed |= known != (position, number, volume);
            (self.placed[count], self.chosen[count], self.volumes[count]) = (position, number as u32, volume);
            count += 1;
        }
        changed |= count < self.placed.len();
        self.placed.truncate(count);
        self.chosen.truncate(count);
        self.volumes.truncate(count);
        if changed {
            self.origin = frame.origin;
            self.neighbours
                .rebuild(&self.placed, frame.kernel.support)
                .map_err(|e| PhysicsError::search("solids", &e))?;
            let order = self.neighbours.order();
            let position = |i: usize| frame.local(self.placed[order[i] as usize]);
            match volumes {
                Volumes::Given(_) => {
                    let mass = |i: usize| (frame.density * self.volumes[order[i] as usize]) as f32;
                    self.all.set(order.len(), position, mass);
                }
                Volumes::Shared(normals) => {
                    self.all.set(order.len(), position, |_| 1.0);
                    self.weigh(normals, frame);
                }
            }
        }
        Ok(())
    }

    /// ψ = ρ0 γ / Σ W [Akinci2012, eq. 4], with γ for what lies behind the one layer of samples, over the samples that do not face away.
    fn weigh(&mut self, normals: &[DVec3], frame: &Frame) {
        let count = self.all.x.len();
        let search = Search { neighbours: &self.neighbours, points: &self.all, kernel: frame.kernel8 };
        let own = frame.kernel.value(0.0) as f32;
        let mut masses = vec![0.0_f32; count];
        self.own_rows.resize_with(count.div_ceil(PIECE), Rows::default);
        let (placed, neighbours, x) = (&self.placed, &self.neighbours, &self.all.x);
        let facing = |&place: &u32| lanes(normals[self.chosen[place as usize] as usize]);
        let known = neighbours.order().iter().filter(|_| !normals.is_empty());
        let normals: Vec<f32x4> = known.map(facing).collect();
        masses.par_chunks_mut(PIECE).zip(&mut self.own_rows).enumerate().for_each(|(piece, (masses, rows))| {
            let seeker = |number: usize| {
                let i = piece * PIECE + number;
                let cell = neighbours.cell_of(placed[neighbours.order()[i] as usize]);
                (cell, x[i], i as u32)
            };
            search.fill(rows, masses.len(), seeker, |number, sum| masses[number] = own + sum.density);
            for (number, mass) in masses.iter_mut().enumerate() {
                let i = piece * PIECE + number;
                let away = |j: &usize| !normals.is_empty() && dot(normals[i], normals[*j]) < AWAY;
                let others = rows.row(number).0.iter().map(|&j| j as usize).filter(away);
                let values = others.map(|j| frame.kernel.value(vector(x[i] - x[j]).length()));
                *mass = (LAYER * frame.density / (f64::from(*mass) - values.sum::<f64>())) as f32;
            }
        });
        self.all.masses = masses;
    }

    /// Finds the neighbours of every liquid particle among the points, and adds what follows to the fields. `velocity` is that of points as given [m/s].
    pub fn meet(
        &mut self,
        fields: &mut Fields,
        positions: &[DVec3],
        velocity: impl Fn(usize) -> DVec3 + Sync,
        frame: &Frame,
    ) {
        self.closed.clear();
        self.rows.resize_with(positions.len().div_ceil(PIECE), Rows::default);
        self.marks.clear();
        self.marks.resize_with(self.placed.len().div_ceil(64), AtomicU64::default);
        let search = Search { neighbours: &self.neighbours, points: &self.all, kernel: frame.kernel8 };
        let (x, neighbours, marks) = (&fields.points.x, &self.neighbours, &self.marks);
        let mirror = f32x4::splat(self.mirror);
        let Fields { density, wall, even, .. } = fields;
        let out = density.par_chunks_mut(PIECE).zip(wall.par_chunks_mut(PIECE)).zip(even.par_chunks_mut(PIECE));
        let rest = frame.density as f32;
        out.zip(&mut self.rows).enumerate().for_each(|(piece, (((density, wall), even), rows))| {
            let seeker = |number: usize| {
                let i = piece * PIECE + number;
                (neighbours.cell_of(positions[i]), x[i], u32::MAX)
            };
            search.fill(rows, density.len(), seeker, |number, sum| {
                density[number] += sum.density;
                wall[number] += sum.gradient * mirror;
                even[number] += sum.spread / rest;
            });
            for &place in rows.others() {
                let (mark, bit) = (&marks[place as usize / 64], 1 << (place % 64));
                if mark.load(Ordering::Relaxed) & bit == 0 {
                    mark.fetch_or(bit, Ordering::Relaxed);
                }
            }
        });
        self.narrow(velocity);
        let (x, points, velocities, numbers) = (&fields.points.x, &self.x, &self.velocities, &self.numbers);
        fields.wall_rate.par_chunks_mut(PIECE).zip(&mut self.rows).enumerate().for_each(|(piece, (rates, rows))| {
            rows.rename(|place| numbers[place as usize]);
            for (number, rate) in rates.iter_mut().enumerate() {
                let (others, weights) = rows.row(number);
                let mut sum = f32x4::ZERO;
                for (&b, &weight) in others.iter().zip(weights) {
                    let b = b as usize;
                    sum += (x[piece * PIECE + number] - points[b]) * velocities[b] * f32x4::splat(weight);
                }
                *rate += dot(sum, mirror);
            }
        });
    }

    /// Takes over the points that are marked: what comes after costs as much as the liquid that feels them, however large the solids are.
    fn narrow(&mut self, velocity: impl Fn(usize) -> DVec3 + Sync) {
        self.numbers.resize(self.placed.len(), 0);
        self.felt.clear();
        for (word, mark) in self.marks.iter_mut().enumerate() {
            let mut left = std::mem::take(mark.get_mut());
            while left != 0 {
                let place = word as u32 * 64 + left.trailing_zeros();
                left &= left - 1;
                self.numbers[place as usize] = self.felt.len() as u32;
                self.felt.push(place);
            }
        }
        let count = self.felt.len();
        let (mut x, mut masses, mut velocities) =
            (std::mem::take(&mut self.x), std::mem::take(&mut self.masses), std::mem::take(&mut self.velocities));
        x.resize(count, f32x4::ZERO);
        masses.resize(count, 0.0);
        velocities.resize(count, f32x4::ZERO);
        let points = x.par_iter_mut().zip(&mut masses).zip(&mut velocities).zip(&self.felt).with_min_len(PIECE);
        points.for_each(|(((x, mass), v), &place)| {
            let place = place as usize;
            (*x, *mass, *v) = (self.all.x[place], self.all.masses[place], lanes(velocity(self.at(place))));
        });
        (self.x, self.masses, self.velocities) = (x, masses, velocities);
    }

    /// Mirrors the liquid in points that have looked back, as far as they are closed, given for the first of those given, and have liquid on one side only: there
    /// are walls. Where it is all around them it is not mirrored: they would feel its pressure twice. Weights are from now on those of pressure.
    pub fn close(&mut self, fields: &mut Fields, closed: &[f64]) {
        if closed.iter().all(|&closed| closed == 0.0) {
            return;
        }
        let mut share = std::mem::take(&mut self.closed);
        let Points { x, masses, .. } = &fields.points;
        let one_sided = |b: usize| {
            let (sum, whole) = self.seen(b).fold((f32x4::ZERO, 0.0), |(sum, whole), (i, weight)| {
                let pull = (x[i] - self.x[b]) * f32x4::splat(weight * masses[i]);
                (sum + pull, whole + dot(pull, pull).sqrt())
            });
            let side = dot(sum, sum).sqrt() / whole.max(f32::MIN_POSITIVE);
            ((side - EVEN) / (ONE_SIDED - EVEN)).clamp(0.0, 1.0)
        };
        share.par_extend((0..self.len()).into_par_iter().with_min_len(PIECE).map(|b| {
            let closed = closed.get(self.given(b)).map_or(0.0, |&closed| closed as f32);
            if closed > 0.0 { closed * one_sided(b) } else { 0.0 }
        }));
        let (points, velocities) = (&self.x, &self.velocities);
        let out = fields.wall.par_chunks_mut(PIECE).zip(fields.wall_rate.par_chunks_mut(PIECE));
        out.zip(&mut self.rows).enumerate().for_each(|(piece, ((walls, rates), rows))| {
            for (number, (wall, rate)) in walls.iter_mut().zip(rates).enumerate() {
                rows.reweigh(number, |b, weight| {
                    let b = b as usize;
                    let more = (x[piece * PIECE + number] - points[b]) * f32x4::splat(share[b] * weight);
                    *wall += more;
                    *rate += dot(more, velocities[b]);
                    weight * (1.0 + share[b])
                });
            }
        });
        let begins = &self.begins;
        for (b, share) in share.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            for entry in &mut self.seen[begins[b] as usize..begins[b + 1] as usize] {
                let entry = entry.get_mut();
                let weight = f32::from_bits(*entry as u32) * (1.0 + share);
                *entry = *entry >> 32 << 32 | u64::from(weight.to_bits());
            }
        }
        self.closed = share;
    }

    /// Part of the weight of a point that is the image of the liquid, behind it.
    #[inline]
    pub fn behind(&self, point: usize) -> f32 {
        self.closed.get(point).map_or(self.mirror - 1.0, |closed| closed / (1.0 + closed))
    }

    /// Lets the points find the particles that have found them, in the order of the particles.
    pub fn look_back(&mut self) {
        let Self { rows, seen, begins, next, felt, .. } = self;
        let points = felt.len();
        begins.clear();
        begins.resize(points + 1, 0);
        if points == 0 {
            return;
        }
        // Each group counts for every point: not more of them than there is something to count.
        let groups = (rows.iter().map(|rows| rows.others().len()).sum::<usize>() / points).clamp(1, GROUPS);
        let group = rows.len().div_ceil(groups).max(1);
        next.clear();
        next.resize(rows.len().div_ceil(group) * points, 0);
        next.par_chunks_mut(points).zip(rows.par_chunks(group)).for_each(|(next, rows)| {
            rows.iter().flat_map(Rows::others).for_each(|&b| next[b as usize] += 1);
        });
        let mut end = 0;
        for b in 0..points {
            begins[b] = end;
            for next in next[b..].iter_mut().step_by(points) {
                (*next, end) = (end, end + *next);
            }
        }
        begins[points] = end;
        seen.resize_with(end as usize, AtomicU64::default);
        let groups = next.par_chunks_mut(points).zip(rows.par_chunks(group)).enumerate();
        groups.for_each(|(number, (next, rows))| {
            for (piece, rows) in (number * group..).zip(rows) {
                for number in 0..rows.len() {
                    let particle = ((piece * PIECE + number) as u64) << 32;
                    let (others, weights) = rows.row(number);
                    for (&b, &weight) in others.iter().zip(weights) {
                        let place = &mut next[b as usize];
                        seen[*place as usize].store(particle | u64::from(weight.to_bits()), Ordering::Relaxed);
                        *place += 1;
                    }
                }
            }
        });
    }

    /// Lets those points that have looked back go with pressure that are among the first given, of which these are the inverse masses [1/kg].
    pub fn loosen(&mut self, fields: &Fields, inverse_masses: &[f64]) {
        let (mut loose, mut answers) = (std::mem::take(&mut self.loose), std::mem::take(&mut self.answers));
        loose.clear();
        answers.clear();
        if !inverse_masses.is_empty() {
            loose.extend((0..self.len()).map(|b| {
                let leaning = 1.0 + LEANING * self.closed.get(b).copied().unwrap_or(0.0);
                inverse_masses.get(self.given(b)).map_or(0.0, |&inverse| inverse as f32 / leaning)
            }));
        }
        if loose.iter().all(|&inverse_mass| inverse_mass == 0.0) {
            loose.clear();
        }
        let answer = |(b, inverse_mass): (usize, &f32)| {
            let pulls =
                self.seen(b).map(|(i, weight)| fields.points.masses[i] * self.pull(fields.points.x[i], b, weight));
            pulls.sum::<f32>() * inverse_mass
        };
        answers.par_extend(loose.par_iter().enumerate().with_min_len(PIECE).map(answer));
        (self.loose, self.answers) = (loose, answers);
    }

    /// Whether any point is loose.
    pub fn is_loose(&self) -> bool {
        !self.loose.is_empty()
    }

    /// Lets solids hold loose points in the pressure that is solved for: by number, the way out of the solid, and the part of what they gain along it that it takes.
    pub fn hold(&mut self, points: impl Iterator<Item = (usize, DVec3, f64)>) {
        self.held.clear();
        self.held.extend(points.map(|(point, normal, part)| (point as u32, lanes(normal), part as f32)));
    }

    /// Δu under the pressure κ.
    pub fn go_along(&mut self, fields: &Fields) {
        let mut gained = std::mem::take(&mut self.gained);
        gained.resize(self.len(), f32x4::ZERO);
        let Points { x, masses, .. } = &fields.points;
        gained.par_iter_mut().enumerate().with_min_len(PIECE).for_each(|(b, gained)| {
            let impulse = self.seen(b).fold(f32x4::ZERO, |sum, (i, weight)| {
                sum + (x[i] - self.x[b]) * f32x4::splat(weight * fields.kappa[i] * masses[i])
            });
            *gained = impulse * f32x4::splat(self.loose[b]);
        });
        for &(point, normal, part) in &self.held {
            let gained = &mut gained[point as usize];
            *gained -= normal * f32x4::splat(part * dot(normal, *gained));
        }
        self.gained = gained;
    }

    /// Σ ψ_f Δu_f · ∇W at a particle, given by its piece, number and place.
    #[inline]
    pub fn gained_rate(&self, piece: usize, number: usize, x: f32x4) -> f32 {
        let (others, weights) = self.rows[piece].row(number);
        let sum = others.iter().zip(weights).fold(f32x4::ZERO, |sum, (&b, &weight)| {
            sum + (x - self.x[b as usize]) * self.gained[b as usize] * f32x4::splat(weight)
        });
        dot(sum, f32x4::ONE)
    }

    /// What loose points add to the diagonal of the answer to pressure at a particle, given as above: at least a third of the largest eigenvalue of their
    /// part of that answer, namely of the sum of its row, Σ_f |g_if| Σ_j m_j |g_jf| / m_f with g = ψ ∇W.
    #[inline]
    pub fn loose_diagonal(&self, piece: usize, number: usize, x: f32x4) -> f32 {
        let (others, weights) = self.rows[piece].row(number);
        let pulls = others.iter().zip(weights);
        pulls.map(|(&b, &weight)| self.pull(x, b as usize, weight) * self.answers[b as usize]).sum::<f32>() / 3.0
    }

    /// |ψ ∇W| of a point at a place.
    #[inline]
    fn pull(&self, x: f32x4, point: usize, weight: f32) -> f32 {
        let offset = x - self.x[point];
        dot(offset, offset).sqrt() * weight.abs()
    }

    /// The particles that have found a point, with their weights.
    pub fn seen(&self, point: usize) -> impl Iterator<Item = (usize, f32)> {
        let seen = &self.seen[self.begins[point] as usize..self.begins[point + 1] as usize];
        seen.iter().map(|entry| {
            let entry = entry.load(Ordering::Relaxed);
            ((entry >> 32) as usize, f32::from_bits(entry as u32))
        })
    }

    /// Adds up, for every point as given, the impulses [N s] that it gets. `impulse` gives what one pair exchanges, from
    /// particle, point, offset and weight. In the order of the particles, so that sums have one outcome. Points must have looked back.
    pub fn collect(
        &self,
        fields: &Fields,
        impulses: &mut [DVec3],
        impulse: impl Fn(usize, usize, f32x4, f32) -> f32x4 + Sync,
    ) {
        if impulses.is_empty() {
            return;
        }
        let sum = |b: usize| {
            let sum = self.seen(b).fold(f64x4::ZERO, |sum, (i, weight)| {
                let impulse = impulse(i, b, fields.points.x[i] - self.x[b], weight);
                sum + f64x4::new(impulse.to_array().map(f64::from))
            });
            DVec3::from_slice(&sum.to_array())
        };
        let sums: Vec<DVec3> = (0..self.len()).into_par_iter().with_min_len(PIECE).map(sum).collect();
        for (b, sum) in sums.into_iter().enumerate() {
            impulses[self.given(b)] += sum;
        }
    }
}

/// Where and in which measure a step works.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// What positions in single precision are relative to [m].
    pub origin: DVec3,
    pub kernel: CubicSpline,
    pub kernel8: Kernel8,
    /// Density at rest [kg/m3].
    pub density: f64,
}

impl Frame {
    #[inline]
    pub fn local(&self, position: DVec3) -> [f32; 3] {
        (position - self.origin).as_vec3().to_array()
    }
}

/// A vector in lanes, the fourth zero.
#[inline]
pub(crate) fn lanes(v: DVec3) -> f32x4 {
    f32x4::new([v.x as f32, v.y as f32, v.z as f32, 0.0])
}

/// A vector from lanes.
#[inline]
pub(crate) fn vector(v: f32x4) -> DVec3 {
    let [x, y, z, _] = v.to_array();
    DVec3::new(f64::from(x), f64::from(y), f64::from(z))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sheets of samples one spacing apart stand for what one sheet does if they face away from each other, and share that if they do not.
    #[test]
    fn the_back_of_a_thin_wall_takes_nothing_from_its_front() {
        let d = 0.1;
        let sheet = |y: f64| (0..81).map(move |i| DVec3::new(f64::from(i % 9), y, f64::from(i / 9)) * d);
        let (wall, floor): (Vec<DVec3>, Vec<DVec3>) = (sheet(0.0).chain(sheet(1.0)).collect(), sheet(0.0).collect());
        let middle = |points: &[DVec3], normals: &[DVec3]| sample_volumes(d, points, normals).unwrap()[40];
        let normals = |back: DVec3| [[DVec3::NEG_Y; 81], [back; 81]].concat();
        let one = middle(&floor, &[]);
        assert!((one / d.powi(3) - 1.0).abs() < 1e-3, "{one}");
        assert!((middle(&wall, &normals(DVec3::Y)) / one - 1.0).abs() < 1e-5);
        for shared in [middle(&wall, &normals(DVec3::NEG_Y)), middle(&wall, &[])] {
            assert!((shared / one - 0.7 / 0.85).abs() < 0.01, "{shared} of {one}");
        }
    }
}
