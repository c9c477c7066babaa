//! Cords with all effects [Rungjiratananon2012, table 4.1]: bending, twist, tension, yield, tears, contact, boards hung on
//! them, and collisions of the cords with themselves and each other.

use super::{DT, SimError, TIMED, WARM_UP};
use drench_geometry::field::Field;
use drench_physics::air::{Air, AirFlow};
use drench_physics::collision::{Body, Collisions, Parameters};
use drench_physics::contact::{Collider, Placement};
use drench_physics::cords::{
    self, Bending, Bodies, Clamp, CordMaterial, CordModel, CordScratch, CordState, Curve, Holder, Torsion,
};
use drench_physics::rigid::{BodyState, Push};
use drench_physics::strands::{Environment, RestShape};
use glam::{DMat3, DQuat, DVec3};
use std::time::Instant;

/// Length of a segment [m].
const SEGMENT: f64 = 0.02;
/// Segments between two boards.
const BOARD_EVERY: usize = 12;

/// Times that all is done from the beginning: once is over in 20 ms, and its median was up to half as large again from one time to the next.
const REPETITIONS: usize = 8;

/// Steps of cords of these segments, time and again the same; by a thread of the pool, as a simulation takes them.
pub(super) fn steps(segments: &[usize]) -> Result<Vec<f64>, SimError> {
    rayon::scope(|_| {
        let mut samples = Vec::new();
        for _ in 0..REPETITIONS {
            samples.append(&mut once(segments)?);
        }
        Ok(samples)
    })
}

/// Steps of cords of these segments, side by side, held and twisted at both ends; boards join each pair of neighbours.
fn once(segments: &[usize]) -> Result<Vec<f64>, SimError> {
    let wrap = |source| SimError::Model { groom: "bench".to_owned(), source };
    let (mut positions, mut offsets) = (Vec::new(), vec![0_u32]);
    for (row, count) in segments.iter().enumerate() {
        positions.extend((0..=*count).map(|i| DVec3::new(SEGMENT * i as f64, 0.0, 0.5 * row as f64)));
        offsets.push(positions.len() as u32);
    }
    let radii = vec![5e-3; positions.len()];
    // About as stiff in torsion as shape matching is in bending.
    let torsion = Torsion { half_width: 2.0, ..Torsion::elastic(1e5) };
    let material = CordMaterial {
        bending: Bending::HalfWidth(2.0),
        tension: Curve::elastic(5e8).yielding_at(5e7, 1e8).tearing_at(9e7),
        torsion: Some(Torsion { curve: Curve::elastic(1e5).yielding_at(5e4, 2e4).tearing_at(9e4), ..torsion }),
        ..CordMaterial::default()
    };
    let rest = RestShape { offsets: &offsets, positions: &positions, radii: &radii };
    let model = CordModel::new(rest, material, 1).map_err(wrap)?;
    let mut state = CordState::at_rest(&model, positions.clone()).map_err(wrap)?;
    let mut scratch = CordScratch::new(&model);
    let (mut bodies, boards) = boards(segments, &offsets, &positions);
    let mut pushes = vec![Push::default(); bodies.len()];
    let (ball, flow) = (Field::Sphere { radius: 0.2 }, AirFlow::still());
    let mut collisions = Collisions::default();
    let mut held = vec![false; positions.len()];
    boards.iter().for_each(|board| held[board.vertex as usize] = true);
    let (mut inverse_masses, mut thickness) = (Vec::new(), Vec::new());
    let mut samples = Vec::new();
    for step in 0..WARM_UP + TIMED {
        let turn = DQuat::from_rotation_x(0.1 * f64::from(step));
        let mut clamps = boards.clone();
        for row in 0..segments.len() {
            for (vertex, turned) in [(offsets[row], DQuat::IDENTITY), (offsets[row + 1] - 1, turn)] {
                clamps.push(Clamp::fixed(&model, vertex, positions[vertex as usize], turned));
            }
        }
        // The cords sag onto a ball that swings below them.
        let middle = 0.5 * SEGMENT * segments[0] as f64;
        let at = |step: u32| Placement::at(DVec3::new(middle + 0.1 * (0.06 * f64::from(step)).sin(), -0.21, 0.0));
        let colliders = [Collider::new(&ball, at(step), at(step + 1), 0.3)];
        let start = Instant::now();
        let environment = Environment {
            gravity: DVec3::new(0.0, -9.81, 0.0),
            air: Air::default(),
            breeze: flow.at(0.0),
            colliders: &colliders,
        };
        collisions.begin([&state.positions[..]]);
        let mut hung = Bodies { states: &mut bodies, pushes: &mut pushes };
        cords::solve(&model, &mut state, &mut scratch, &clamps, &environment, &mut hung, DT).map_err(wrap)?;
        inverse_masses.clear();
        for piece in 0..state.piece_count() {
            inverse_masses.extend(state.vertices(piece).map(|vertex| {
                let own = state.model_vertex(piece, vertex);
                if held[own] { 0.0 } else { 1.0 / state.mass(&model, piece, vertex) }
            }));
        }
        state.radii(&model, &mut thickness);
        let strands = Body {
            offsets: &state.offsets,
            positions: &mut state.positions,
            velocities: &mut state.velocities,
            inverse_masses: &inverse_masses,
            radii: &thickness,
            continuous: true,
        };
        collisions.resolve(&mut [strands], &Parameters::default(), DT).map_err(wrap)?;
        if step >= WARM_UP {
            samples.push(start.elapsed().as_secs_f64() * 1e3);
        }
        for body in &mut bodies {
            body.velocity.y -= 9.81 * DT;
            body.centre += body.velocity * DT;
            body.rotation = (DQuat::from_scaled_axis(body.spin * DT) * body.rotation).normalize();
        }
    }
    Ok(samples)
}

/// Boards of 1 kg between the first and the second cord, the third and the fourth, and so on.
fn boards(segments: &[usize], offsets: &[u32], positions: &[DVec3]) -> (Vec<BodyState>, Vec<Clamp>) {
    let (mut bodies, mut clamps) = (Vec::new(), Vec::new());
    for pair in (0..segments.len().saturating_sub(1)).step_by(2) {
        let shorter = segments[pair].min(segments[pair + 1]);
        for i in (BOARD_EVERY..shorter - 2).step_by(BOARD_EVERY) {
            let ends = [offsets[pair] + i as u32, offsets[pair + 1] + i as u32];
            let centre = 0.5 * (positions[ends[0] as usize] + positions[ends[1] as usize]);
            for vertex in ends {
                let holder = Holder::Body { index: bodies.len(), anchor: positions[vertex as usize] - centre };
                clamps.push(Clamp { vertex, holder, frame: DQuat::IDENTITY, direction: false, roll: false });
            }
            bodies.push(BodyState {
                centre,
                rotation: DQuat::IDENTITY,
                velocity: DVec3::ZERO,
                spin: DVec3::ZERO,
                inverse_mass: 1.0,
                inverse_inertia: DMat3::from_diagonal(DVec3::new(45.0, 40.0, 300.0)),
            });
        }
    }
    (bodies, clamps)
}
