//! Combed hair that follows a head: chain shape matching and strand-strand collisions.

use super::DT;
use crate::SimError;
use drench_physics::air::{Air, AirFlow};
use drench_physics::collision::{Body, Collisions, Parameters};
use drench_physics::strands::{self, Environment, Material, Method, StrandModel, StrandScratch, StrandState, Tip, csm};
use drench_physics::synthetic::HairyBall;
use glam::DVec3;
use std::time::Instant;

const WARM_UP: u32 = 4;
const TIMED: u32 = 11;
const VERTICES: usize = 20;

/// Times whole steps while the head is moved to and fro; every hair collides with its own thickness.
pub fn steps(strands: usize) -> Result<Vec<f64>, SimError> {
    let wrap = |source| SimError::Model { groom: "bench".to_owned(), source };
    let ball = HairyBall::combed(strands, VERTICES);
    let method = Method::Csm(csm::Parameters::even(3.0));
    let model = StrandModel::new(ball.rest(), Material::default(), method, Tip::Free).map_err(wrap)?;
    let mut state = StrandState::at_rest(&model, ball.positions.clone());
    let (mut scratch, mut roots, flow) = (StrandScratch::new(&model), ball.roots(), AirFlow::still());
    let start_roots = roots.positions.clone();
    let mut inverse_masses: Vec<f64> = model.masses().iter().map(|&mass| 1.0 / f64::from(mass)).collect();
    inverse_masses.iter_mut().step_by(VERTICES).for_each(|root| *root = 0.0);
    let parameters = Parameters { iterations: 2, ..Parameters::default() };
    let mut collisions = Collisions::default();
    let mut samples = Vec::new();
    for step in 0..WARM_UP + TIMED {
        let shift = DVec3::X * (0.02 * (f64::from(step) * DT * 6.0).sin());
        roots.advance();
        roots.positions.iter_mut().zip(&start_roots).for_each(|(now, rest)| *now = *rest + shift);
        let start = Instant::now();
        collisions.begin([&state.positions[..]]);
        // Without gravity the head needs no solid to keep hair out.
        let environment =
            Environment { gravity: DVec3::ZERO, air: Air::default(), breeze: flow.at(0.0), colliders: &[] };
        strands::solve(&model, &mut state, &mut scratch, &roots, &environment, None, DT).map_err(wrap)?;
        let body = Body {
            offsets: model.offsets(),
            positions: &mut state.positions,
            velocities: &mut state.velocities,
            inverse_masses: &inverse_masses,
            resistance: &[],
            radii: model.radii(),
            continuous: false,
        };
        collisions.resolve(&mut [body], &parameters, DT).map_err(wrap)?;
        if step >= WARM_UP {
            samples.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    Ok(samples)
}
