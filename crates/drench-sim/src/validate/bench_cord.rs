//! One cord on a laboratory bench, with one body beside it that falls and turns freely.

use crate::SimError;
use drench_physics::air::{Air, AirFlow};
use drench_physics::cords::{
    self, Bodies, Clamp, CordMaterial, CordModel, CordScratch, CordState, Cords, Curve, Tally,
};
use drench_physics::cords::{Bending, Torsion};
use drench_physics::rigid::{BodyState, Push};
use drench_physics::strands::{Environment, RestShape};
use glam::{DMat3, DQuat, DVec3};
use std::f64::consts::PI;

/// Radius of all cords on the bench [m].
pub const RADIUS: f64 = 2e-3;
/// Their cross-section [m2].
pub const AREA: f64 = PI * RADIUS * RADIUS;
/// Their second moment of area in bending [m4]; that of torsion is twice as large.
pub const MOMENT: f64 = 0.25 * PI * RADIUS * RADIUS * RADIUS * RADIUS;

/// A single cord and what surrounds it.
#[derive(Debug)]
pub struct BenchCord {
    /// Immutable part.
    pub model: CordModel,
    /// What changes.
    pub state: CordState,
    /// What holds it; move it before a step.
    pub clamps: Vec<Clamp>,
    /// Bodies that clamps may refer to.
    pub bodies: Vec<BodyState>,
    /// Gravity [m/s2].
    pub gravity: DVec3,
    scratch: CordScratch,
    flow: AirFlow,
}

impl BenchCord {
    /// A cord with this rest shape.
    pub fn new(positions: &[DVec3], material: CordMaterial) -> Result<Self, SimError> {
        let radii = vec![RADIUS as f32; positions.len()];
        let rest = RestShape { offsets: &[0, positions.len() as u32], positions, radii: &radii };
        let wrap = |source| SimError::Model { groom: "bench cord".to_owned(), source };
        let model = CordModel::new(rest, material, 1).map_err(wrap)?;
        Ok(Self {
            state: CordState::at_rest(&model, positions.to_vec()).map_err(wrap)?,
            scratch: CordScratch::new(&model),
            clamps: Vec::new(),
            bodies: Vec::new(),
            gravity: DVec3::new(0.0, -9.81, 0.0),
            flow: AirFlow::still(),
            model,
        })
    }

    /// A straight cord of `segments` segments from the origin along `direction`, `length` metres long.
    pub fn straight(direction: DVec3, length: f64, segments: usize, material: CordMaterial) -> Result<Self, SimError> {
        let spacing = length / segments as f64;
        let positions: Vec<DVec3> = (0..=segments).map(|i| direction * (spacing * i as f64)).collect();
        Self::new(&positions, material)
    }

    /// One step of `dt` seconds.
    pub fn step(&mut self, dt: f64) -> Result<Tally, SimError> {
        let environment = Environment {
            gravity: self.gravity,
            air: Air { drag: 0.0, ..Air::default() },
            breeze: self.flow.at(0.0),
            colliders: &[],
        };
        let mut pushes = vec![Push::default(); self.bodies.len()];
        let mut bodies = Bodies { states: &mut self.bodies, pushes: &mut pushes };
        let mut cord = [Cords::new(&self.model, &mut self.state, &mut self.scratch, &self.clamps)];
        cords::solve(&mut cord, &environment, &mut bodies, dt).map_err(|(_, source)| SimError::Diverged {
            time: 0.0,
            stage: "cords",
            source,
        })?;
        let [Cords { tally, .. }] = cord;
        for body in &mut self.bodies {
            body.velocity += self.gravity * dt;
            body.centre += body.velocity * dt;
            body.rotation = (DQuat::from_scaled_axis(body.spin * dt) * body.rotation).normalize();
        }
        Ok(tally)
    }

    /// Takes the twist along to where a collision has moved the cord at the end of a step.
    pub fn follow(&mut self, dt: f64) {
        cords::follow(&self.model, &mut self.state, &mut self.scratch, dt);
    }
}

/// Limp and elastic.
pub fn limp(youngs_modulus: f64) -> CordMaterial {
    CordMaterial {
        bending: Bending::None,
        tension: Curve::elastic(youngs_modulus),
        torsion: None,
        variation: 0.0,
        ..CordMaterial::default()
    }
}

/// A rod with these moduli of bending and shear [Pa].
pub fn rod(bending: f64, shear: f64) -> CordMaterial {
    CordMaterial {
        bending: Bending::Modulus(bending),
        torsion: Some(Torsion { damping: 20.0, ..Torsion::elastic(shear) }),
        ..limp(1e8)
    }
}

/// A ball of this mass and moment of inertia.
pub fn ball(centre: DVec3, mass: f64, inertia: f64) -> BodyState {
    BodyState {
        centre,
        rotation: DQuat::IDENTITY,
        velocity: DVec3::ZERO,
        spin: DVec3::ZERO,
        inverse_mass: 1.0 / mass,
        inverse_inertia: DMat3::from_diagonal(DVec3::splat(1.0 / inertia)),
    }
}
