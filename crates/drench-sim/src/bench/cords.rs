//! Cords with all effects [Rungjiratananon2012, table 4.1]: bending, twist, tension, yield, tears, contact, boards hung on
//! them, and collisions of the cords with themselves and each other.

use super::{DT, SimError, TIMED, WARM_UP};
use drench_geometry::field::Field;
use drench_physics::PhysicsError;
use drench_physics::air::{Air, AirFlow};
use drench_physics::collision::{Body, Collisions, Parameters};
use drench_physics::contact::{Collider, Placement};
use drench_physics::cords::{
    Bending, Bodies, Clamp, CordMaterial, CordModel, CordScratch, CordState, Cords, Curve, Holder, Torsion, solve,
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
    let mut boards = Vec::new();
    let mut pairs = Vec::new();
    for (row, pair) in segments.chunks(2).enumerate() {
        pairs.push(Pair::new(pair, row as f64, &mut boards).map_err(wrap)?);
    }
    let mut pushes = vec![Push::default(); boards.len()];
    let (ball, flow) = (Field::Sphere { radius: 0.2 }, AirFlow::still());
    let mut collisions = Collisions::default();
    let mut samples = Vec::new();
    for step in 0..WARM_UP + TIMED {
        let turn = DQuat::from_rotation_x(0.1 * f64::from(step));
        pairs.iter_mut().for_each(|pair| pair.hold(turn));
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
        collisions.begin(pairs.iter().map(|pair| &pair.state.positions[..]));
        let mut hung = Bodies { states: &mut boards, pushes: &mut pushes };
        let mut cords: Vec<_> = pairs.iter_mut().map(Pair::cords).collect();
        solve(&mut cords, &environment, &mut hung, DT).map_err(|(_, source)| wrap(source))?;
        let mut bodies: Vec<_> = pairs.iter_mut().map(Pair::body).collect();
        collisions.resolve(&mut bodies, &Parameters::default(), DT).map_err(wrap)?;
        if step >= WARM_UP {
            samples.push(start.elapsed().as_secs_f64() * 1e3);
        }
        for body in &mut boards {
            body.velocity.y -= 9.81 * DT;
            body.centre += body.velocity * DT;
            body.rotation = (DQuat::from_scaled_axis(body.spin * DT) * body.rotation).normalize();
        }
    }
    Ok(samples)
}

/// One or two cords side by side, joined by boards of 1 kg.
struct Pair {
    model: CordModel,
    state: CordState,
    scratch: CordScratch,
    positions: Vec<DVec3>,
    offsets: Vec<u32>,
    /// What holds it: boards, and ends that are turned.
    clamps: Vec<Clamp>,
    boards: usize,
    /// Whether a board holds a vertex.
    held: Vec<bool>,
    inverse_masses: Vec<f64>,
    thickness: Vec<f32>,
}

impl Pair {
    /// Cords of these segments; adds their boards to those of all.
    fn new(segments: &[usize], row: f64, boards: &mut Vec<BodyState>) -> Result<Self, PhysicsError> {
        let (mut positions, mut offsets) = (Vec::new(), vec![0_u32]);
        for (side, count) in segments.iter().enumerate() {
            let z = row + 0.5 * side as f64;
            positions.extend((0..=*count).map(|i| DVec3::new(SEGMENT * i as f64, 0.0, z)));
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
        let model = CordModel::new(rest, material, 1)?;
        let clamps = hang(segments, &offsets, &positions, boards);
        let mut held = vec![false; positions.len()];
        clamps.iter().for_each(|board| held[board.vertex as usize] = true);
        Ok(Self {
            state: CordState::at_rest(&model, positions.clone())?,
            scratch: CordScratch::new(&model),
            model,
            boards: clamps.len(),
            clamps,
            held,
            inverse_masses: Vec::new(),
            thickness: Vec::new(),
            positions,
            offsets,
        })
    }

    /// Holds the ends, the last ones turned.
    fn hold(&mut self, turn: DQuat) {
        self.clamps.truncate(self.boards);
        for ends in self.offsets.windows(2) {
            for (vertex, turned) in [(ends[0], DQuat::IDENTITY), (ends[1] - 1, turn)] {
                let position = self.positions[vertex as usize];
                self.clamps.push(Clamp::fixed(&self.model, vertex, position, turned));
            }
        }
    }

    fn cords(&mut self) -> Cords<'_> {
        let Self { model, state, scratch, clamps, .. } = self;
        Cords::new(model, state, scratch, clamps)
    }

    /// As collisions see it.
    fn body(&mut self) -> Body<'_> {
        let Self { model, state, held, inverse_masses, thickness, .. } = self;
        inverse_masses.clear();
        for piece in 0..state.piece_count() {
            inverse_masses.extend(state.vertices(piece).map(|vertex| {
                let own = state.model_vertex(piece, vertex);
                if held[own] { 0.0 } else { 1.0 / state.mass(model, piece, vertex) }
            }));
        }
        state.radii(model, thickness);
        Body {
            offsets: &state.offsets,
            positions: &mut state.positions,
            velocities: &mut state.velocities,
            inverse_masses,
            resistance: &[],
            radii: thickness,
            continuous: true,
        }
    }
}

/// Adds boards between two cords, if there are two, and says where these are held by them.
fn hang(segments: &[usize], offsets: &[u32], positions: &[DVec3], boards: &mut Vec<BodyState>) -> Vec<Clamp> {
    let mut clamps = Vec::new();
    let [first, second] = segments else { return clamps };
    for i in (BOARD_EVERY..*first.min(second) - 2).step_by(BOARD_EVERY) {
        let ends = [offsets[0] + i as u32, offsets[1] + i as u32];
        let centre = 0.5 * (positions[ends[0] as usize] + positions[ends[1] as usize]);
        for vertex in ends {
            let holder = Holder::Body { index: boards.len(), anchor: positions[vertex as usize] - centre };
            clamps.push(Clamp { vertex, holder, frame: DQuat::IDENTITY, direction: false, roll: false });
        }
        boards.push(BodyState {
            centre,
            rotation: DQuat::IDENTITY,
            velocity: DVec3::ZERO,
            spin: DVec3::ZERO,
            inverse_mass: 1.0,
            inverse_inertia: DMat3::from_diagonal(DVec3::new(45.0, 40.0, 300.0)),
        });
    }
    clamps
}
