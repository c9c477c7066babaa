//! What one partition of a body spreads over the grid: tiles of its own, so that partitions never meet.

use super::Interaction;
use super::tile::{Key, ROW, SLAB, Spot, TILE, Table, add_pair, key};
use glam::DVec3;
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

/// Tiles with mass and momentum, private to one partition or one set of boundary samples.
#[derive(Debug, Default)]
pub struct Deposit {
    pub(super) keys: Vec<Key>,
    pub(super) nodes: Vec<f32>,
    table: Table,
    last: Option<(Key, u32)>,
}

impl Deposit {
    /// Forgets everything but keeps the memory.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.table.clear();
        self.last = None;
    }

    /// Bytes held now.
    pub fn memory(&self) -> usize {
        self.nodes.capacity() * 4 + self.keys.capacity() * 8 + self.table.memory()
    }

    /// Spreads vertices; masses in kilograms.
    pub(crate) fn insert(
        &mut self,
        interaction: &Interaction,
        positions: &[DVec3],
        velocities: &[DVec3],
        masses: &[f32],
    ) {
        let inverse_cell = 1.0 / interaction.cell;
        let unit = (1.0 / (interaction.reference * interaction.cell)) as f32;
        for ((position, velocity), mass) in positions.iter().zip(velocities).zip(masses) {
            self.add(*position, *velocity, mass * unit, inverse_cell);
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
        let slot = self.slot(key(spot.tile));
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
    fn slot(&mut self, key: Key) -> usize {
        match self.last {
            Some((last, slot)) if last == key => slot as usize,
            _ => self.slot_of_other(key),
        }
    }

    fn slot_of_other(&mut self, key: Key) -> usize {
        let slot = self.table.find(key).unwrap_or_else(|| {
            let slot = self.keys.len() as u32;
            self.keys.push(key);
            self.table.insert(key, slot);
            let end = self.keys.len() * TILE;
            if self.nodes.len() < end {
                self.nodes.resize(end, 0.0);
            }
            self.nodes[end - TILE..end].fill(0.0);
            slot
        });
        self.last = Some((key, slot));
        slot as usize
    }
}
