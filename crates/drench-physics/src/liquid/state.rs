//! What a liquid carries from step to step.

use drench_math::ordered;
use glam::DVec3;
use rayon::prelude::*;

/// Particles of one liquid, structure of arrays. Every solve leaves them in the order of a space-filling curve: a particle
/// is known by its id, not by its place.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LiquidState {
    /// Positions [m].
    pub positions: Vec<DVec3>,
    /// Velocities [m/s].
    pub velocities: Vec<DVec3>,
    /// Masses [kg]: those who wet things take from them and give to them.
    pub masses: Vec<f64>,
    /// Numbers that are never given twice.
    pub ids: Vec<u64>,
    /// When each particle came into being [s].
    pub births: Vec<f64>,
    /// p / ρ² of the last step [m5/(kg s2)], where the next one begins.
    pub pressures: Vec<f32>,
    /// The next number to give.
    pub next_id: u64,
    /// How fast particles passed their neighbours at most at the end of the last step [m/s].
    pub stir: f64,
}

/// One particle, on its way in or out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Droplet {
    /// Position [m].
    pub position: DVec3,
    /// Velocity [m/s].
    pub velocity: DVec3,
    /// Mass [kg].
    pub mass: f64,
    /// When it comes into being [s].
    pub birth: f64,
}

impl LiquidState {
    /// How many particles there are.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether there is no liquid.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// The particle at this place.
    ///
    /// # Panics
    /// If there are not that many.
    pub fn droplet(&self, i: usize) -> Droplet {
        Droplet {
            position: self.positions[i],
            velocity: self.velocities[i],
            mass: self.masses[i],
            birth: self.births[i],
        }
    }

    /// Mass of all particles [kg], summed in an order that depends on nothing but the count.
    pub fn mass(&self) -> f64 {
        ordered::sum(self.len(), |i| self.masses[i])
    }

    /// Momentum of all particles [kg m/s].
    pub fn momentum(&self) -> DVec3 {
        self.sum(|i| self.masses[i] * self.velocities[i])
    }

    /// Kinetic energy [J].
    pub fn kinetic_energy(&self) -> f64 {
        ordered::sum(self.len(), |i| 0.5 * self.masses[i] * self.velocities[i].length_squared())
    }

    fn sum(&self, value: impl Fn(usize) -> DVec3 + Sync) -> DVec3 {
        ordered::reduce(self.len(), DVec3::ZERO, |range| range.map(&value).sum(), |a, b| a + b)
    }

    /// Adds particles and gives them ids; gives their mass [kg], summed in order.
    pub fn add(&mut self, drops: &[Droplet]) -> f64 {
        for drop in drops {
            self.positions.push(drop.position);
            self.velocities.push(drop.velocity);
            self.masses.push(drop.mass);
            self.births.push(drop.birth);
            self.ids.push(self.next_id);
            self.pressures.push(0.0);
            self.next_id += 1;
        }
        drops.iter().map(|drop| drop.mass).sum()
    }

    /// Removes the particles that `gone` says; gives their mass [kg], summed in order. The others keep their order.
    pub fn remove(&mut self, mut gone: impl FnMut(&Droplet) -> bool) -> f64 {
        let mut mass = 0.0;
        let mut kept = 0;
        for i in 0..self.len() {
            let drop = self.droplet(i);
            if gone(&drop) {
                mass += drop.mass;
                continue;
            }
            if kept != i {
                self.positions[kept] = self.positions[i];
                self.velocities[kept] = self.velocities[i];
                self.masses[kept] = self.masses[i];
                self.births[kept] = self.births[i];
                self.ids[kept] = self.ids[i];
                self.pressures[kept] = self.pressures[i];
            }
            kept += 1;
        }
        self.positions.truncate(kept);
        self.velocities.truncate(kept);
        self.masses.truncate(kept);
        self.births.truncate(kept);
        self.ids.truncate(kept);
        self.pressures.truncate(kept);
        mass
    }

    /// Brings the particles into this order. The buffer's memory is reused.
    pub(crate) fn reorder(&mut self, order: &[u32], buffer: &mut Reorder) {
        permute(&mut self.positions, order, &mut buffer.vectors);
        permute(&mut self.velocities, order, &mut buffer.vectors);
        permute(&mut self.masses, order, &mut buffer.doubles);
        permute(&mut self.births, order, &mut buffer.doubles);
        permute(&mut self.ids, order, &mut buffer.integers);
        permute(&mut self.pressures, order, &mut buffer.singles);
    }
}

/// Memory for [`LiquidState::reorder`].
#[derive(Debug, Default)]
pub(crate) struct Reorder {
    vectors: Vec<DVec3>,
    doubles: Vec<f64>,
    integers: Vec<u64>,
    singles: Vec<f32>,
}

/// Brings values into an order.
pub(crate) fn permute<T: Copy + Default + Send + Sync>(values: &mut Vec<T>, order: &[u32], buffer: &mut Vec<T>) {
    buffer.resize(order.len(), T::default());
    let values_before: &[T] = values;
    buffer.par_chunks_mut(4096).zip(order.par_chunks(4096)).for_each(|(to, from)| {
        to.iter_mut().zip(from).for_each(|(to, &from)| *to = values_before[from as usize]);
    });
    std::mem::swap(values, buffer);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drops(count: usize) -> Vec<Droplet> {
        let drop = |i: usize| Droplet {
            position: DVec3::X * i as f64,
            velocity: DVec3::Y,
            mass: 0.1 + 0.01 * i as f64,
            birth: 0.0,
        };
        (0..count).map(drop).collect()
    }

    #[test]
    fn what_is_added_and_removed_is_accounted_for() {
        let mut state = LiquidState::default();
        let added = state.add(&drops(100));
        assert_eq!(added, state.mass());
        let removed = state.remove(|drop| drop.position.x % 3.0 == 0.0);
        let expected: f64 = drops(100).iter().step_by(3).map(|drop| drop.mass).sum();
        assert_eq!(removed, expected);
        assert!((state.mass() + removed - added).abs() < 1e-14);
        assert!(state.ids.iter().all(|id| id % 3 != 0) && state.ids.is_sorted());
        assert_eq!(state.add(&drops(1)), 0.1);
        assert_eq!(state.ids.last(), Some(&100));
        state.masses[5] = 1e-9;
        assert_eq!((state.remove(|drop| drop.mass < 1e-6), state.len()), (1e-9, 66));
    }

    #[test]
    fn reordering_keeps_particles_whole() {
        let mut state = LiquidState::default();
        state.add(&drops(10));
        let before = state.clone();
        let order: Vec<u32> = (0..10).map(|i| i * 7 % 10).collect();
        state.reorder(&order, &mut Reorder::default());
        for (to, &from) in order.iter().enumerate() {
            let from = from as usize;
            assert_eq!(state.ids[to], before.ids[from]);
            assert_eq!(state.positions[to], before.positions[from]);
            assert_eq!(state.masses[to], before.masses[from]);
        }
    }
}
