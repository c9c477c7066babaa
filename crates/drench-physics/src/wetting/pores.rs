//! The room that grains with the water they hold leave to the liquid.
//!
//! Water that a grain has taken in lies in the pores of the heap that the grain is in, and takes up room there: V = V_solid + n water / density. n is 1 with
//! [`CARRIED`] neighbours and less with fewer: a grain alone has no pores, and its water goes for part of the liquid around it. So does that of a grain that nothing
//! carries ([`GrainState::rested`]): sand that sinks lets the liquid pass between its grains, and closes when it has come to rest. It would float otherwise.
//!
//! In a heap, where grains have the part φ = [`PACKED`] of space, pores are full when the water has (1 − φ) / φ of the volume of the grain. A liquid particle counts in its own density by d³ W(0) = 1/π: it
//! can be in a heap as long as grains and their water have less than 0.68 of space, when a fifth of the pores is filled, and hardly beyond [`OPEN`]. From there on the heap is a
//! wall: a grain is *closed* as far as it is full and [`CARRIED`] full ones lie around it.

use crate::grains::search::index;
use crate::grains::{GrainModel, GrainScratch, GrainState, ball};
use crate::wetting::soak::adjoin;

/// Part of space that grains have in a heap.
const PACKED: f64 = 0.6;
/// Parts of the pores that are filled where they begin to close, and where they are closed.
const OPEN: f64 = 0.4;
const CLOSED: f64 = 0.7;
/// Neighbours with which a grain is in a heap: as many as carry one. With as many full ones there is no way past it.
const CARRIED: f64 = 3.0;

/// What grains leave to the liquid.
#[derive(Clone, Copy)]
pub struct Pores<'a> {
    model: &'a GrainModel,
    state: &'a GrainState,
    scratch: &'a GrainScratch,
}

/// What a grain takes from the liquid.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// Volume [m3].
    pub volume: f64,
    /// How far the grain is closed to the liquid, 0 to 1.
    pub closed: f64,
}

impl<'a> Pores<'a> {
    /// Looks at grains as they are.
    pub fn among(model: &'a GrainModel, state: &'a GrainState, scratch: &'a mut GrainScratch) -> Self {
        if !scratch.search.lists(state) && state.water.iter().any(|&water| water > 0.0) {
            index(state, scratch);
        }
        Self { model, state, scratch }
    }

    /// What one of them takes.
    pub fn taken(&self, grain: usize) -> Taken {
        let solid = ball(self.state.radii[grain]);
        // A dry grain takes its own volume, whatever lies around it.
        if self.held(grain) == 0.0 {
            return Taken { volume: solid, closed: 0.0 };
        }
        let (mut near, mut full) = (0.0, 0.0);
        for other in self.scratch.around(self.state, grain).filter(|&other| adjoin(self.state, grain, other)) {
            near += 1.0;
            full += self.full(other);
        }
        // What has not been looked at rests.
        let rests = f64::from(self.state.rested[grain].abs());
        Taken {
            volume: solid + rests * (near / CARRIED).min(1.0) * self.held(grain),
            closed: rests * self.full(grain) * (full / CARRIED).min(1.0),
        }
    }

    /// Volume of the water in a grain [m3].
    fn held(&self, grain: usize) -> f64 {
        self.model.wetness().map_or(0.0, |wetness| self.state.water[grain] / wetness.density)
    }

    /// How full the pores about a grain would be in a heap, 0 where they begin to close to 1 where they are closed.
    fn full(&self, grain: usize) -> f64 {
        let filled = self.held(grain) / (ball(self.state.radii[grain]) * (1.0 - PACKED) / PACKED);
        ((filled - OPEN) / (CLOSED - OPEN)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grains::search::search;
    use crate::grains::{GrainScratch, Material, NewGrain, Sizes, Spread};
    use crate::wetting::grains::Wetness;
    use glam::DVec3;

    const RADIUS: f64 = 0.004;

    /// How far the first of grains on a lattice is closed, so many along each edge, each with this part of the water that it can hold, and what the one in the middle takes from the liquid
    /// beyond its own volume, over the volume of the water.
    fn closed(edge: usize, part: f64) -> (f64, f64) {
        let wetness = Wetness::default();
        let sizes = Sizes { radius: RADIUS, spread: Spread::Even(0.0) };
        let model = GrainModel::new(sizes, Material::default(), None, Some(wetness)).unwrap();
        let (mut state, mut scratch) = (GrainState::default(), GrainScratch::default());
        let water = part * wetness.most * model.dry_mass(RADIUS);
        for i in 0..edge.pow(3) {
            let place = DVec3::new((i % edge) as f64, (i / edge % edge) as f64, (i / edge / edge) as f64);
            let (position, velocity) = (2.0 * RADIUS * place, DVec3::ZERO);
            state.push(&model, NewGrain { position, velocity, radius: RADIUS, water });
        }
        search(&model, &mut state, &mut scratch, false).unwrap();
        let pores = Pores::among(&model, &state, &mut scratch);
        let middle = pores.taken(edge.pow(3) / 2);
        (pores.taken(0).closed, (middle.volume - ball(RADIUS)) / (water / wetness.density))
    }

    #[test]
    fn full_grains_are_closed_among_others_only_and_dry_ones_never() {
        assert_eq!(closed(1, 1.0).0, 0.0);
        // The corner of a cube has three neighbours.
        assert_eq!(closed(3, 1.0).0, 1.0);
        assert_eq!(closed(3, 0.1).0, 0.0);
        assert!((0.1..0.9).contains(&closed(3, 0.55).0), "{:?}", closed(3, 0.55));
    }

    #[test]
    fn water_takes_up_its_volume_in_a_heap() {
        for part in [0.1, 1.0] {
            assert_eq!(closed(1, part).1, 0.0);
            assert!((closed(3, part).1 - 1.0).abs() < 1e-9, "{:?}", closed(3, part));
        }
    }
}
