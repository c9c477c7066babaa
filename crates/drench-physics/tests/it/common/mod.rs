//! A bench for strands: one call builds a body, one call steps it.
#![allow(dead_code, missing_docs, clippy::unwrap_used)]

use drench_physics::air::{Air, AirFlow};
use drench_physics::contact::Collider;
use drench_physics::diagnostics::{self, Diagnostics};
use drench_physics::strands::{
    Environment, Material, Method, RestShape, Roots, StrandModel, StrandScratch, StrandState, Tally, Tip, dftl, pbd,
    solve,
};
use glam::DVec3;

pub const GRAVITY: DVec3 = DVec3::new(0.0, -9.81, 0.0);

pub fn dftl() -> Method {
    Method::Dftl(dftl::Parameters::default())
}

pub fn pbd(stretch: f64) -> Method {
    let iterations = pbd::Iterations::Strand { stretch, least: 4, most: 400 };
    Method::Pbd(pbd::Parameters { iterations, ..pbd::Parameters::default() })
}

pub fn limp() -> Material {
    Material { shape: 0.0, ..Material::default() }
}

pub struct Body {
    pub model: StrandModel,
    pub state: StrandState,
    pub scratch: StrandScratch,
    pub roots: Roots,
    pub gravity: DVec3,
    pub air: Air,
    pub flow: AirFlow,
}

impl Body {
    /// Strands of equal vertex count, given one after the other.
    pub fn new(positions: &[DVec3], vertices: usize, material: Material, method: Method) -> Self {
        Self::with_tips(positions, vertices, material, method, Tip::Free)
    }

    pub fn with_tips(positions: &[DVec3], vertices: usize, material: Material, method: Method, tip: Tip) -> Self {
        let strands = positions.len() / vertices;
        let offsets: Vec<u32> = (0..=strands).map(|s| (s * vertices) as u32).collect();
        let radii = vec![35e-6; positions.len()];
        let rest = RestShape { offsets: &offsets, positions, radii: &radii };
        let model = StrandModel::new(rest, material, method, tip).unwrap();
        let mut roots = Roots::at_rest((0..strands).map(|s| positions[s * vertices]).collect());
        if tip == Tip::Clamped {
            roots.tips = (1..=strands).map(|s| positions[s * vertices - 1]).collect();
        }
        Self {
            state: StrandState::at_rest(&model, positions.to_vec()),
            scratch: StrandScratch::new(&model),
            model,
            roots,
            gravity: GRAVITY,
            air: Air { drag: 0.0, ..Air::default() },
            flow: AirFlow::still(),
        }
    }

    pub fn step(&mut self, dt: f64) -> Tally {
        self.step_among(&[], dt)
    }

    pub fn step_among(&mut self, colliders: &[Collider], dt: f64) -> Tally {
        let environment = Environment { gravity: self.gravity, air: self.air, breeze: self.flow.at(0.0), colliders };
        solve(&self.model, &mut self.state, &mut self.scratch, &self.roots, &environment, None, dt).unwrap()
    }

    pub fn measure(&self) -> Diagnostics {
        diagnostics::measure("body", &self.model, &self.state, self.gravity).unwrap()
    }
}

/// A straight strand from `root` along `direction`.
pub fn straight(root: DVec3, direction: DVec3, length: f64, vertices: usize) -> Vec<DVec3> {
    (0..vertices).map(|i| root + direction * (length * i as f64 / (vertices - 1) as f64)).collect()
}

/// A helix around -y that begins at `root`.
pub fn helix(root: DVec3, radius: f64, pitch: f64, turns: f64, vertices: usize) -> Vec<DVec3> {
    (0..vertices)
        .map(|i| {
            let turn = turns * i as f64 / (vertices - 1) as f64;
            let angle = std::f64::consts::TAU * turn;
            root + DVec3::new(radius * (angle.cos() - 1.0), -pitch * turn, radius * angle.sin())
        })
        .collect()
}
