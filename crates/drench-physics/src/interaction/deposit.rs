//! What one partition of a body spreads over the grid: tiles of its own, so that partitions never meet.

use super::Interaction;
use super::tile::{Key, ROW, SLAB, Spot, TILE, Table, add_pair, key};
use crate::error::PhysicsError;
use crate::strands::Wet;
use glam::DVec3;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wide::f32x8;

/// A sample below the skin of a solid that fills its border with density [Henne2013, section 4.2.5].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundarySample {
    /// Position, a little below the surface [m].
    pub position: DVec3,
    /// Velocity of the solid there [m/s].
    pub velocity: DVec3,
    /// Density it adds [reference strands].
    pub density: f64,
}

/// Tiles that deposits may hold together: 1.5 GB, and in the worst case twice as much again when they are added up.
const TILE_LIMIT: usize = 1 << 17;

/// Tiles that may still be made, shared by partitions. Who takes the last one depends on threads; whether all find one
/// does not, and nothing else is told.
#[derive(Debug)]
pub(crate) struct Room {
    left: AtomicUsize,
    limit: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self::of(TILE_LIMIT)
    }
}

impl Room {
    fn of(limit: usize) -> Self {
        Self { left: AtomicUsize::new(limit), limit }
    }

    fn take(&self) -> bool {
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

/// Tiles with mass and momentum, private to one partition or one set of boundary samples.
#[derive(Debug, Default)]
pub struct Deposit {
    pub(super) keys: Vec<Key>,
    pub(super) nodes: Vec<f32>,
    table: Table,
    last: Option<(Key, u32)>,
    room: Arc<Room>,
    /// Whether something was left out for want of room.
    full: bool,
}

impl Deposit {
    /// An empty deposit that shares its room with others.
    pub(crate) fn within(room: Arc<Room>) -> Self {
        Self { room, ..Self::default() }
    }

    /// An empty deposit of at most so many tiles.
    pub fn with_limit(tiles: usize) -> Self {
        Self::within(Arc::new(Room::of(tiles)))
    }

    /// Whether everything found room; otherwise the cell is too small for how far the samples are spread.
    pub fn check(&self, interaction: &Interaction) -> Result<(), PhysicsError> {
        match self.full {
            true => Err(PhysicsError::GridTooLarge { cell: interaction.cell, limit: self.room.limit }),
            false => Ok(()),
        }
    }

    /// Forgets everything but keeps the memory.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.table.clear();
        self.last = None;
        self.full = false;
    }

    /// Bytes held now.
    pub fn memory(&self) -> usize {
        self.nodes.capacity() * 4 + self.keys.capacity() * 8 + self.table.memory()
    }

    /// Spreads vertices; masses in kilograms, of dry strands, and what water does to them, if any are wet.
    pub(crate) fn insert(
        &mut self,
        interaction: &Interaction,
        positions: &[DVec3],
        velocities: &[DVec3],
        masses: &[f32],
        wet: &[Wet],
    ) {
        let inverse_cell = 1.0 / interaction.cell;
        let unit = (1.0 / (interaction.reference * interaction.cell)) as f32;
        for (((position, velocity), mass), load) in positions.iter().zip(velocities).zip(masses).zip(Wet::loads(wet)) {
            self.add(*position, *velocity, mass * load * unit, inverse_cell);
        }
    }

    /// Spreads samples of solids.
    pub fn insert_boundary(&mut self, interaction: &Interaction, samples: &[BoundarySample]) {
        let inverse_cell = 1.0 / interaction.cell;
        for sample in samples {
            self.add(sample.position, sample.velocity, sample.density as f32, inverse_cell);
        }
    }

    #[inline(always)]
    fn add(&mut self, position: DVec3, velocity: DVec3, mass: f32, inverse_cell: f64) {
        let Some(spot) = Spot::new(position, inverse_cell) else { return };
        let Some(slot) = self.slot(key(spot.tile)) else { return };
        let nodes = &mut self.nodes[slot * TILE..(slot + 1) * TILE];
        let [fx, fy, fz] = spot.fraction;
        let v = velocity.as_vec3() * mass;
        let (low, high) = (1.0 - fx, fx);
        let value = f32x8::new([mass, v.x, v.y, v.z, mass, v.x, v.y, v.z])
            * f32x8::new([low, low, low, low, high, high, high, high]);
        let at = spot.offset;
        add_pair(nodes, at, value * f32x8::splat((1.0 - fy) * (1.0 - fz)));
        add_pair(nodes, at + ROW, value * f32x8::splat(fy * (1.0 - fz)));
        add_pair(nodes, at + SLAB, value * f32x8::splat((1.0 - fy) * fz));
        add_pair(nodes, at + SLAB + ROW, value * f32x8::splat(fy * fz));
    }

    #[inline(always)]
    fn slot(&mut self, key: Key) -> Option<usize> {
        match self.last {
            Some((last, slot)) if last == key => Some(slot as usize),
            _ => self.slot_of_other(key),
        }
    }

    fn slot_of_other(&mut self, key: Key) -> Option<usize> {
        let slot = match self.table.find(key) {
            Some(slot) => slot,
            None => self.new_slot(key)?,
        };
        self.last = Some((key, slot));
        Some(slot as usize)
    }

    /// A tile of zeros; none if memory would have to grow and there is no room left.
    fn new_slot(&mut self, key: Key) -> Option<u32> {
        let slot = self.keys.len();
        let end = (slot + 1) * TILE;
        if self.nodes.len() < end {
            if !self.room.take() {
                self.full = true;
                return None;
            }
            self.nodes.resize(end, 0.0);
        }
        self.nodes[end - TILE..end].fill(0.0);
        self.keys.push(key);
        self.table.insert(key, slot as u32);
        Some(slot as u32)
    }
}
