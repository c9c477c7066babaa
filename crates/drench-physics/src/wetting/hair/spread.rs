//! Capillary water spreads from voxel to voxel [Rungjiratananon2012b, section 5.2], more along hair than across it.
//!
//! dc_v/dt = sum over links of (l_e / h^2) H(W_v, W_u) (S_u - S_v). With even capacities this is dc/dt = div(D grad c) for D = `across` + (`along` -
//! `across`) T. A link between voxels has the mean of their weights for it.
//!
//! Sub-steps in which no voxel changes by more than half of its room keep it between its neighbours, however long the step. There are at most
//! [`SUBSTEPS`]: past them, at D dt / h^2 of about 80, water spreads as far as they carry it, a dozen voxels in a step.

use super::Medium;
use super::grid::Grid;
use super::selling::{decompose, diffusivity};
use super::voxels::Voxels;
use crate::wetting::filled;
use rayon::prelude::*;

/// Voxels that one task handles.
const CHUNK: usize = 512;
/// Part of its room by which a voxel may fill or empty in one go.
const COURANT: f64 = 0.5;
/// Sub-steps at most: in one step water goes no farther than they carry it.
const SUBSTEPS: f64 = 1000.0;

/// A way from voxel to voxel.
#[derive(Clone, Copy, Debug)]
struct Link {
    from: u32,
    to: u32,
    /// Flow for a difference of 1 in saturation [kg/s].
    conductance: f64,
}

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct Links {
    chunks: Vec<Vec<Link>>,
    rates: Vec<f64>,
    water: Vec<f64>,
    room: Vec<f64>,
    /// The part of its room that each voxel has filled.
    saturation: Vec<f64>,
}

impl Links {
    /// Lets capillary water spread for `dt` seconds; the voxels' changes tell where it went. The time for which it could not, because
    /// there are too many sub-steps in it [s].
    pub fn spread(&mut self, medium: &Medium, grid: &Grid, voxels: &mut Voxels, dt: f64) -> f64 {
        if medium.along <= 0.0 && medium.across <= 0.0 {
            return 0.0;
        }
        self.fill(voxels);
        if self.even() {
            return 0.0;
        }
        // In one go water crosses only links between voxels that are not equally full now.
        self.join(medium, grid, voxels, false);
        let mut fastest = self.fastest();
        if dt * fastest > COURANT {
            self.join(medium, grid, voxels, true);
            fastest = self.fastest();
        }
        let longest = COURANT / fastest;
        let steps = (dt / longest).ceil().clamp(1.0, SUBSTEPS);
        let (h, left) = (longest.min(dt / steps), (dt - steps * longest).max(0.0));
        let Self { chunks, water, room, saturation, .. } = self;
        for step in 0..steps as u64 {
            // Saturations of the beginning drive all flows of a step.
            if step > 0 {
                let now = saturation.iter_mut().zip(&*water).zip(&*room);
                now.for_each(|((saturation, &water), &room)| *saturation = filled(water, room));
            }
            for link in chunks.iter().flatten() {
                let (from, to) = (link.from as usize, link.to as usize);
                let flow = h * link.conductance * (saturation[from] - saturation[to]);
                water[from] -= flow;
                water[to] += flow;
                voxels.all[from].change -= flow;
                voxels.all[to].change += flow;
            }
        }
        left
    }

    /// Takes over the voxels' water and their room between hairs.
    fn fill(&mut self, voxels: &Voxels) {
        let Self { water, room, saturation, .. } = self;
        let count = voxels.all.len();
        water.resize(count, 0.0);
        room.resize(count, 0.0);
        saturation.resize(count, 0.0);
        let own = water.par_iter_mut().zip(room).zip(saturation).zip(&voxels.all).with_min_len(CHUNK);
        own.for_each(|(((water, room), saturation), voxel)| {
            (*water, *room) = (voxel.water + voxel.change, voxel.between);
            *saturation = filled(*water, *room);
        });
    }

    /// Whether all voxels with room are equally full, as where all are dry or none can hold more: nothing spreads then.
    fn even(&self) -> bool {
        let mut full = self.saturation.iter().zip(&self.room).filter(|(_, room)| **room > 0.0).map(|(full, _)| full);
        full.next().is_none_or(|first| full.all(|full| full == first))
    }

    /// The largest rate at which the links could empty or fill a voxel [1/s].
    fn fastest(&mut self) -> f64 {
        let Self { chunks, rates, room, .. } = self;
        rates.clear();
        rates.resize(room.len(), 0.0);
        for link in chunks.iter().flatten() {
            rates[link.from as usize] += link.conductance;
            rates[link.to as usize] += link.conductance;
        }
        let full = rates.iter().zip(&*room).filter(|(_, room)| **room > 0.0);
        full.fold(0.0_f64, |most, (rate, room)| most.max(rate / room))
    }

    /// Finds the links between voxels: all, or those between voxels that are not equally full.
    fn join(&mut self, medium: &Medium, grid: &Grid, voxels: &Voxels, all: bool) {
        let Self { chunks, room, saturation, .. } = self;
        let (room, saturation) = (&*room, &*saturation);
        let scale = 0.5 / grid.edge().powi(2);
        chunks.resize_with(room.len().div_ceil(CHUNK), Vec::new);
        chunks.par_iter_mut().enumerate().for_each(|(chunk, links)| {
            links.clear();
            for v in (chunk * CHUNK..room.len().min((chunk + 1) * CHUNK)).filter(|&v| room[v] > 0.0) {
                let here = grid.place(v);
                let d = diffusivity(&voxels.all[v].orientation(), medium.along, medium.across);
                for (step, weight) in decompose(&d).into_iter().filter(|(_, weight)| *weight > 0.0) {
                    for side in [step, -step] {
                        let Some(u) = grid.voxel(here + side).filter(|&u| room[u] > 0.0) else { continue };
                        if all || saturation[u] != saturation[v] {
                            let mean = 2.0 * room[v] * room[u] / (room[v] + room[u]);
                            let conductance = scale * weight * mean;
                            links.push(Link { from: v as u32, to: u as u32, conductance });
                        }
                    }
                }
            }
        });
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.capacity() * size_of::<Link>()).sum::<usize>()
            + 4 * self.room.capacity() * 8
    }
}
