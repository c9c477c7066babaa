//! One strand on a laboratory bench: straight at rest, held at its root, in vacuum unless told otherwise.

use crate::SimError;
use drench_physics::air::{Air, AirFlow};
use drench_physics::contact::Collider;
use drench_physics::strands::{
    self, Environment, Material, Method, RestShape, Roots, StrandModel, StrandScratch, StrandState, Tally, Tip,
};
use glam::DVec3;

/// A single strand and what surrounds it.
#[derive(Debug)]
pub struct BenchStrand {
    /// Immutable part.
    pub model: StrandModel,
    /// Positions and velocities.
    pub state: StrandState,
    /// Where it is held; move it before a step.
    pub roots: Roots,
    /// Gravity [m/s2].
    pub gravity: DVec3,
    scratch: StrandScratch,
    flow: AirFlow,
}

/// Radius of all strands on the bench [m].
pub const RADIUS: f64 = 35e-6;

/// Material without bending stiffness.
pub fn limp() -> Material {
    Material { shape: 0.0, ..Material::default() }
}

impl BenchStrand {
    /// A strand of `vertices` vertices from the origin along `direction`, `length` metres long.
    pub fn new(
        vertices: usize,
        length: f64,
        direction: DVec3,
        material: Material,
        method: Method,
        tip: Tip,
    ) -> Result<Self, SimError> {
        let spacing = length / (vertices - 1) as f64;
        let positions: Vec<DVec3> = (0..vertices).map(|i| direction * (spacing * i as f64)).collect();
        Self::shaped(&positions, RADIUS, material, method, tip)
    }

    /// A strand with this rest shape [m] and radius [m].
    pub fn shaped(
        positions: &[DVec3],
        radius: f64,
        material: Material,
        method: Method,
        tip: Tip,
    ) -> Result<Self, SimError> {
        let vertices = positions.len();
        let rest = RestShape { offsets: &[0, vertices as u32], positions, radii: &vec![radius as f32; vertices] };
        let model = StrandModel::new(rest, material, method, tip)
            .map_err(|source| SimError::Model { groom: "bench strand".to_owned(), source })?;
        let mut roots = Roots::at_rest(vec![positions[0]]);
        if tip == Tip::Clamped {
            roots.tips = vec![positions[vertices - 1]];
        }
        Ok(Self {
            state: StrandState::at_rest(&model, positions.to_vec()),
            scratch: StrandScratch::new(&model),
            roots,
            gravity: DVec3::new(0.0, -9.81, 0.0),
            flow: AirFlow::still(),
            model,
        })
    }

    /// One step of `dt` seconds.
    pub fn step(&mut self, dt: f64) -> Result<Tally, SimError> {
        self.step_among(&[], dt)
    }

    /// One step of `dt` seconds among solids.
    pub fn step_among(&mut self, colliders: &[Collider], dt: f64) -> Result<Tally, SimError> {
        let environment = Environment {
            gravity: self.gravity,
            air: Air { drag: 0.0, ..Air::default() },
            breeze: self.flow.at(0.0),
            colliders,
        };
        strands::solve(&self.model, &mut self.state, &mut self.scratch, &self.roots, &environment, None, dt)
            .map_err(|source| SimError::Diverged { time: 0.0, stage: "strands", source })
    }

    /// Turns the strand about the root, away from its rest shape, and stops it.
    pub fn point_along(&mut self, direction: DVec3) {
        let root = self.state.positions[0];
        for position in &mut self.state.positions {
            *position = root + direction * (*position - root).length();
        }
        self.state.velocities.fill(DVec3::ZERO);
    }

    /// The last vertex [m].
    pub fn tip(&self) -> DVec3 {
        self.state.positions[self.state.positions.len() - 1]
    }

    /// Largest relative change of a segment's length.
    pub fn strain_max(&self) -> f64 {
        let lengths = self.model.lengths();
        let strain = |i: usize| {
            ((self.state.positions[i] - self.state.positions[i - 1]).length() / f64::from(lengths[i]) - 1.0).abs()
        };
        (1..self.state.positions.len()).map(strain).fold(0.0, f64::max)
    }
}
