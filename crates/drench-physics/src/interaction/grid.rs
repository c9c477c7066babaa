//! The grid of all bodies: assembled from their deposits, then applied to their velocities.

use super::deposit::Deposit;
use super::tile::{CHANNELS, EDGE, Key, ROW, SIDE, SLAB, Spot, TILE, Table, key, node, tile_of};
use super::{Gradient, Interaction, Storage};
use crate::strands::{StrandScratch, StrandState, Wet};
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use wide::f32x4;

/// Vertices a task handles.
const CHUNK: usize = 8192;
/// Largest array of tile addresses that `Automatic` still makes: 64 MB, a box of 2048 cells an edge.
const DENSE_LIMIT: usize = 1 << 24;

/// Density and velocity at the nodes of every tile that holds a vertex.
#[derive(Debug, Default)]
pub struct Grid {
    /// Tiles in ascending order.
    keys: Vec<Key>,
    /// Density and velocity of the nodes of each tile, those shared with neighbours included.
    nodes: Vec<f32>,
    /// Sums over deposits before neighbours exchange their shared nodes.
    sums: Vec<f32>,
    /// Which deposit has which tile, sorted by tile; `first[t]` is where tile t begins.
    sources: Vec<Source>,
    first: Vec<u32>,
    directory: Directory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Source {
    key: Key,
    deposit: u32,
    slot: u32,
}

/// Finds the slot of a tile.
#[derive(Debug, Default)]
struct Directory {
    dense: bool,
    low: [i32; 3],
    size: [i32; 3],
    /// Slot + 1, or 0.
    array: Vec<u32>,
    table: Table,
}

impl Grid {
    /// Adds up the deposits of bodies and boundary samples, in this order, into density and velocity.
    pub fn assemble(&mut self, interaction: &Interaction, bodies: &[&StrandScratch], boundaries: &[&Deposit]) {
        let partitions = bodies.iter().flat_map(|body| body.partitions.iter().map(|p| &p.deposit));
        let deposits: Vec<&Deposit> = partitions.chain(boundaries.iter().copied()).collect();
        self.index(interaction.storage, &deposits);
        self.add_up(&deposits);
        self.exchange();
    }

    fn index(&mut self, storage: Storage, deposits: &[&Deposit]) {
        self.sources.clear();
        for (deposit, index) in deposits.iter().zip(0..) {
            self.sources.extend(deposit.keys.iter().zip(0..).map(|(&key, slot)| Source { key, deposit: index, slot }));
        }
        self.sources.sort_unstable();
        self.keys.clear();
        self.first.clear();
        for (source, index) in self.sources.iter().zip(0..) {
            if self.keys.last() != Some(&source.key) {
                self.keys.push(source.key);
                self.first.push(index);
            }
        }
        self.first.push(self.sources.len() as u32);
        self.directory.rebuild(storage, &self.keys);
    }

    fn add_up(&mut self, deposits: &[&Deposit]) {
        let Self { keys, sums, sources, first, .. } = self;
        sums.resize(keys.len() * TILE, 0.0);
        sums.par_chunks_mut(TILE).enumerate().for_each(|(tile, sum)| {
            let of_tile = &sources[first[tile] as usize..first[tile + 1] as usize];
            for (source, order) in of_tile.iter().zip(0..) {
                let at = source.slot as usize * TILE;
                let part = &deposits[source.deposit as usize].nodes[at..at + TILE];
                if order == 0 {
                    sum.copy_from_slice(part);
                } else {
                    sum.iter_mut().zip(part).for_each(|(a, b)| *a += b);
                }
            }
        });
    }

    /// Nodes on the faces of a tile belong to its neighbours too: every tile takes the sum of all, in the order of keys, so that
    /// all owners of a node hold the same bits. Then momentum becomes velocity.
    fn exchange(&mut self) {
        let Self { keys, nodes, sums, directory, .. } = self;
        nodes.resize(keys.len() * TILE, 0.0);
        nodes.par_chunks_mut(TILE).zip(keys.par_iter()).for_each(|(own, &own_key)| {
            own.fill(0.0);
            let [x, y, z] = tile_of(own_key);
            for dz in -1..=1 {
                for dy in -1..=1 {
                    for dx in -1..=1 {
                        if let Some(slot) = directory.find([x + dx, y + dy, z + dz]) {
                            let at = slot as usize * TILE;
                            add_shared(own, &sums[at..at + TILE], [dx, dy, dz]);
                        }
                    }
                }
            }
            for node in own.chunks_exact_mut(CHANNELS) {
                let inverse = if node[0] > 0.0 { 1.0 / node[0] } else { 0.0 };
                node[1..].iter_mut().for_each(|p| *p *= inverse);
            }
        });
    }

    /// Friction and repulsion act on the velocities of a body during `dt` seconds.
    ///
    /// `friction` and `repulsion` of the interaction are used as given here, so that a body may have its own. `wet` is what water does to it; empty if it is dry.
    pub fn apply(&self, interaction: &Interaction, state: &mut StrandState, wet: &[Wet], dt: f64) {
        let cell = interaction.cell;
        let blend = 1.0 - (1.0 - interaction.friction).powf(dt / interaction.reference_step);
        let push = match interaction.gradient {
            Gradient::Plain => interaction.repulsion * dt,
            Gradient::Normalised => interaction.repulsion * cell / interaction.reference_step.powi(2) * dt,
        };
        let softening = (0.1 / cell).powi(2);
        let inverse_cell = 1.0 / cell;
        let positions = state.positions.par_chunks(CHUNK);
        let chunks = state.velocities.par_chunks_mut(CHUNK).zip(positions).enumerate();
        chunks.for_each(|(chunk, (velocities, positions))| {
            let mut last = (Key::MAX, 0);
            let wet = wet.get(chunk * CHUNK..).unwrap_or_default();
            for ((velocity, position), load) in velocities.iter_mut().zip(positions).zip(Wet::loads(wet)) {
                let Some(spot) = Spot::new(*position, inverse_cell) else { continue };
                let tile = key(spot.tile);
                if last.0 != tile {
                    let Some(slot) = self.directory.find(spot.tile) else { continue };
                    last = (tile, slot as usize);
                }
                let nodes = &self.nodes[last.1 * TILE..(last.1 + 1) * TILE];
                let (grid_velocity, gradient) = interpolate(nodes, &spot, inverse_cell);
                *velocity += (grid_velocity - *velocity) * blend;
                let strength = match interaction.gradient {
                    // Water makes strands heavier, not more of them: they push no harder, and give way as slowly as they are heavy.
                    Gradient::Plain => push / f64::from(load),
                    Gradient::Normalised => push / (gradient.length_squared() + softening).sqrt(),
                };
                *velocity -= gradient * strength;
            }
        });
    }

    /// Density [reference strands], its gradient [1/m] and the velocity [m/s] at a point; zero where no strand is near.
    pub fn sample(&self, interaction: &Interaction, point: DVec3) -> (f64, DVec3, DVec3) {
        let inverse_cell = 1.0 / interaction.cell;
        let found = Spot::new(point, inverse_cell).and_then(|spot| Some((spot, self.directory.find(spot.tile)?)));
        let Some((spot, slot)) = found else { return (0.0, DVec3::ZERO, DVec3::ZERO) };
        let nodes = &self.nodes[slot as usize * TILE..(slot as usize + 1) * TILE];
        let (velocity, gradient) = interpolate(nodes, &spot, inverse_cell);
        let [fx, fy, fz] = spot.fraction;
        let mut density = 0.0;
        for corner in 0..8_usize {
            let (i, j, k) = (corner & 1, corner >> 1 & 1, corner >> 2);
            let weight = |high: usize, f: f32| if high == 1 { f } else { 1.0 - f };
            let value = nodes[spot.offset + i * CHANNELS + j * ROW + k * SLAB];
            density += f64::from(value * weight(i, fx) * weight(j, fy) * weight(k, fz));
        }
        (density, gradient, velocity)
    }

    /// Number of tiles in use.
    pub fn tile_count(&self) -> usize {
        self.keys.len()
    }

    /// Bytes held now.
    pub fn memory(&self) -> usize {
        let arrays = (self.nodes.capacity() + self.sums.capacity() + self.directory.array.capacity()) * 4;
        arrays + self.sources.capacity() * 16 + self.keys.capacity() * 8 + self.directory.table.memory()
    }
}

/// Velocity and density gradient at a spot of a tile.
#[inline(always)]
fn interpolate(nodes: &[f32], spot: &Spot, inverse_cell: f64) -> (DVec3, DVec3) {
    let [fx, fy, fz] = spot.fraction.map(f32x4::splat);
    // Along x: value and difference of the four edges of the cell.
    let edge = |offset: usize| {
        let (low, high) = (node(nodes, offset), node(nodes, offset + CHANNELS));
        let difference = high - low;
        (difference.mul_add(fx, low), difference)
    };
    let (near_low, near_low_dx) = edge(spot.offset);
    let (near_high, near_high_dx) = edge(spot.offset + ROW);
    let (far_low, far_low_dx) = edge(spot.offset + SLAB);
    let (far_high, far_high_dx) = edge(spot.offset + SLAB + ROW);
    // Then along y, then z.
    let (near_dy, far_dy) = (near_high - near_low, far_high - far_low);
    let near = near_dy.mul_add(fy, near_low);
    let dz = far_dy.mul_add(fy, far_low) - near;
    let dy = (far_dy - near_dy).mul_add(fz, near_dy);
    let near_dx = (near_high_dx - near_low_dx).mul_add(fy, near_low_dx);
    let far_dx = (far_high_dx - far_low_dx).mul_add(fy, far_low_dx);
    let dx = (far_dx - near_dx).mul_add(fz, near_dx);
    let [_, u, v, w] = dz.mul_add(fz, near).to_array();
    let gradient = Vec3::new(dx.to_array()[0], dy.to_array()[0], dz.to_array()[0]);
    (Vec3::new(u, v, w).as_dvec3(), gradient.as_dvec3() * inverse_cell)
}

/// Adds what `other`, the tile at `offset` from `own`, holds of the nodes that both share.
fn add_shared(own: &mut [f32], other: &[f32], offset: [i32; 3]) {
    // First node here, first node there, and how many.
    let range = |o: i32| match o {
        -1 => (0, SIDE - 1, 1),
        0 => (0, 0, SIDE),
        _ => (SIDE - 1, 0, 1),
    };
    let ((x, other_x, width), (y, other_y, height), (z, other_z, depth)) =
        (range(offset[0]), range(offset[1]), range(offset[2]));
    for k in 0..depth {
        for j in 0..height {
            let to = x * CHANNELS + (y + j) * ROW + (z + k) * SLAB;
            let from = other_x * CHANNELS + (other_y + j) * ROW + (other_z + k) * SLAB;
            let count = width * CHANNELS;
            own[to..to + count].iter_mut().zip(&other[from..from + count]).for_each(|(a, b)| *a += b);
        }
    }
}

impl Directory {
    fn rebuild(&mut self, storage: Storage, keys: &[Key]) {
        let (mut low, mut high) = ([i32::MAX; 3], [i32::MIN; 3]);
        for tile in keys.iter().map(|&key| tile_of(key)) {
            low = std::array::from_fn(|axis| low[axis].min(tile[axis]));
            high = std::array::from_fn(|axis| high[axis].max(tile[axis]));
        }
        if keys.is_empty() {
            (low, high) = ([0; 3], [-1; 3]);
        }
        self.low = low;
        self.size = std::array::from_fn(|axis| high[axis] - low[axis] + 1);
        let volume = self.size.iter().try_fold(1_usize, |volume, &n| volume.checked_mul(n as usize));
        // Even `Dense` must not ask for more memory than there is.
        let limit = if storage == Storage::Dense { 16 * DENSE_LIMIT } else { DENSE_LIMIT };
        let fits = volume.filter(|&volume| storage != Storage::Sparse && volume <= limit);
        self.dense = fits.is_some();
        if let Some(volume) = fits {
            self.array.clear();
            self.array.resize(volume, 0);
            for (&key, slot) in keys.iter().zip(1..) {
                let index = self.index(tile_of(key)).expect("the box holds every tile");
                self.array[index] = slot;
            }
        } else {
            self.table.clear();
            for (&key, slot) in keys.iter().zip(0..) {
                self.table.insert(key, slot);
            }
        }
    }

    #[inline]
    fn index(&self, tile: [i32; 3]) -> Option<usize> {
        let [x, y, z]: [usize; 3] = std::array::from_fn(|axis| (tile[axis] - self.low[axis]) as u32 as usize);
        let size = self.size.map(|n| n as usize);
        (x < size[0] && y < size[1] && z < size[2]).then(|| x + size[0] * (y + size[1] * z))
    }

    #[inline]
    fn find(&self, tile: [i32; 3]) -> Option<u32> {
        if self.dense {
            self.index(tile).and_then(|index| self.array[index].checked_sub(1))
        } else {
            self.table.find(key(tile))
        }
    }
}

// Tiles are addressed by cells of 8: the bit arithmetic of `Spot` relies on it.
const _: () = assert!(EDGE == 8);
