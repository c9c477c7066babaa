//! Bending by chain shape matching [Rungjiratananon2012, section 4.1; see `strands::csm`].
//!
//! Shape matching also resists stretch, with a stiffness of its own that no curve has. Here it sees a rest shape whose segments are as long as
//! they now are where they are stretched, so that the tension is all that pulls. What presses is [`super::press`].
//!
//! Going to the goals once in a time t makes a cord of mass m' a length and segments of length l a rod of rigidity
//! B = m' l^4 q^2 / (4 t^2), where q^2 depends on the half-width alone. As strands do, a cord goes all the way in t = 10 ms, if not said otherwise, and the fraction (dt / t)^2 of
//! it in a shorter substep: B is the same in any step. In a longer one regions are as much wider as keeps B.
//!
//! A bending modulus makes a rod of a cord that is straight at rest: [`super::rod`]. Three vertices do not know how a curved shape is rolled about the cord; regions
//! that go all the way in a substep, as wide as B asks for then, carry it along.
//!
//! A clamp that holds a direction at the end of a piece is the rest of the cord, held: regions there reach on to vertices that continue the
//! cord straight through the clamp, whose goals push what holds it. Without them wide regions would hardly feel a clamp.
//!
//! Shape matching keeps linear and angular momentum about the predicted positions, which is not quite that about the positions
//! where the substep began; what is missing is a rigid motion, which is taken off where the piece is free or hangs on one point.

use super::Surroundings;
use super::clamp::Bodies;
use super::model::{Bending, CordMaterial, CordModel};
use super::press::press;
use super::rod;
use super::state::{CordScratch, CordState};
use crate::collision::segments::length;
use crate::strands::csm::extent::extent;
use crate::strands::csm::matching::{Chains, Workspace, match_shape};
use crate::strands::csm::rotation::Turn;
use crate::strands::csm::{REFERENCE_STEP, half_width_of, squared_of_rigidity, squared_stiffness};
use crate::strands::lanes::{LANES, Lane, Lane3};
use glam::{DMat3, DQuat, DVec3};

/// Four pieces side by side.
#[derive(Debug, Default)]
pub(crate) struct Regions {
    rest: Vec<Lane3>,
    masses: Vec<Lane>,
    extents: Vec<Lane>,
    positions: Vec<Lane3>,
    work: Workspace,
}

/// Largest q^2 of a region.
const MOST: f64 = 1e12;
/// Vertices beyond a clamp that a region may reach, at most.
const BEYOND: usize = 64;

/// Bends the cords: moves the predicted positions.
pub(super) fn bend(
    model: &CordModel,
    state: &CordState,
    scratch: &mut CordScratch,
    around: &Surroundings,
    bodies: &mut Bodies,
) {
    let dt = around.dt;
    match (model.rod(), &model.material.bending) {
        (_, Bending::None) => return,
        (Some(modulus), _) => {
            (0..state.piece_count()).for_each(|piece| rod::bend(model, state, scratch, modulus, piece, dt));
        }
        _ => match_regions(model, state, scratch, dt, bodies),
    }
    for piece in 0..state.piece_count() {
        // Ropes that hold bodies are slack where these come together: pressing them apart threw boards and ropes of a falling bridge at 240 m/s.
        if model.rod().is_some() || !holds_bodies(state, scratch, piece) {
            press(model, state, scratch, piece, dt);
        }
        move_piece(state, scratch, piece, dt, bodies);
    }
}

/// Whether rigid bodies hold some of a piece.
fn holds_bodies(state: &CordState, scratch: &CordScratch, piece: usize) -> bool {
    let vertices = state.vertices(piece);
    let held = scratch.grips.between([vertices.start, vertices.end - 1]);
    scratch.grips.bodies(&held).next().is_some()
}

/// Finds the ways of the vertices towards their goals, as `forces` [m].
fn match_regions(model: &CordModel, state: &CordState, scratch: &mut CordScratch, dt: f64, bodies: &mut Bodies) {
    let mut regions = std::mem::take(&mut scratch.regions);
    for first in (0..state.piece_count()).step_by(LANES) {
        let pieces = first..(first + LANES).min(state.piece_count());
        // Lanes without a piece repeat the first: one of four rotations that has nothing to turn would hold up the others.
        let taken: [usize; LANES] =
            std::array::from_fn(|lane| if first + lane < pieces.end { first + lane } else { first });
        let beyond = taken.map(|piece| Beyond::of(model, state, scratch, piece, dt));
        let length = |lane: usize| beyond[lane].before + state.vertices(taken[lane]).len() + beyond[lane].after;
        regions.clear((0..LANES).map(length).max().unwrap_or(0));
        for lane in 0..LANES {
            regions.load(model, state, scratch, (lane, taken[lane]), &beyond[lane], dt);
        }
        regions.match_shape(model, state, scratch, taken, dt);
        for (lane, piece) in pieces.enumerate() {
            let goals = |i: usize| regions.positions[i].lane(lane);
            beyond[lane].push(model, state, scratch, (piece, dt), bodies, goals);
            for (i, v) in state.vertices(piece).enumerate() {
                scratch.forces[v] = goals(beyond[lane].before + i) - scratch.next[v];
            }
        }
    }
    scratch.regions = regions;
}

/// The part of the way to their goals that vertices go in a substep, and how many times as stiff as they are in the time for all of it regions are for that.
fn part(material: &CordMaterial, dt: f64) -> [f64; 2] {
    match material.bending {
        Bending::Modulus(_) => [1.0, (dt / REFERENCE_STEP).powi(2)],
        _ => {
            let ratio = (dt / material.goal_time).powi(2);
            [ratio.min(1.0), ratio.max(1.0)]
        }
    }
}

/// Extent of the regions around a vertex.
fn extent_at(model: &CordModel, state: &CordState, piece: usize, v: usize, dt: f64) -> f64 {
    let s = (v - piece).min(state.segments(piece).end - 1);
    let [_, stiffer] = part(&model.material, dt);
    let wider =
        |width: f64| if stiffer > 1.0 { half_width_of((stiffer * squared_stiffness(width)).min(MOST)) } else { width };
    let width = match &model.material.bending {
        Bending::None => 0.0,
        Bending::HalfWidth(width) => wider(*width),
        Bending::HalfWidths(widths) => wider(widths[state.model_vertex(piece, v)]),
        // B = E pi r^4 / 4, m' = rho pi r^2.
        Bending::Modulus(modulus) => {
            let rigidity = 0.25 * modulus * model.areas[s] * model.radii[s].powi(2);
            let mass = model.masses[s] / model.lengths[s];
            half_width_of((stiffer * squared_of_rigidity(mass, model.lengths[s], rigidity)).min(MOST))
        }
    };
    extent(width.min(state.vertices(piece).len() as f64))
}

/// How many vertices continue a piece beyond the clamps at its ends.
struct Beyond {
    before: usize,
    after: usize,
}

impl Beyond {
    fn of(model: &CordModel, state: &CordState, scratch: &CordScratch, piece: usize, dt: f64) -> Self {
        let vertices = state.vertices(piece);
        let held = |v: usize| scratch.grips.at(v).is_some();
        let reach = |v: usize| (2 * extent_at(model, state, piece, v, dt).ceil() as usize).min(BEYOND);
        let (first, last) = (vertices.start, vertices.end - 1);
        Self {
            before: if held(first) && held(first + 1) { reach(first + 1) } else { 0 },
            after: if held(last) && held(last - 1) { reach(last - 1) } else { 0 },
        }
    }

    /// The vertex at an end, and the way from one to the next beyond it.
    fn end(&self, state: &CordState, scratch: &CordScratch, piece: usize, at_last: bool) -> (usize, DVec3) {
        let vertices = state.vertices(piece);
        let (v, inside) =
            if at_last { (vertices.end - 1, vertices.end - 2) } else { (vertices.start, vertices.start + 1) };
        (v, scratch.next[v] - scratch.next[inside])
    }

    /// Gives bodies that hold the ends what the vertices beyond them got.
    fn push(
        &self,
        model: &CordModel,
        state: &CordState,
        scratch: &CordScratch,
        (piece, dt): (usize, f64),
        bodies: &mut Bodies,
        goal: impl Fn(usize) -> DVec3,
    ) {
        let (segments, count) = (state.segments(piece), state.vertices(piece).len());
        for (at_last, beyond) in [(false, self.before), (true, self.after)] {
            let (v, way) = self.end(state, scratch, piece, at_last);
            let Some((grip, index)) = scratch.grips.at(v).and_then(|grip| grip.body.map(|index| (grip, index))) else {
                continue;
            };
            let mass = model.masses[if at_last { segments.end - 1 } else { segments.start }];
            for k in 1..=beyond {
                let (i, place) = (
                    if at_last { self.before + count - 1 + k } else { self.before - k },
                    scratch.next[v] + way * k as f64,
                );
                let impulse = grip.share * ((goal(i) - place) * (mass / dt));
                bodies.push(index, impulse, grip.begin + way * k as f64);
            }
        }
    }
}

impl Regions {
    fn clear(&mut self, longest: usize) {
        for array in [&mut self.rest, &mut self.positions] {
            array.clear();
            array.resize(longest, Lane3::ZERO);
        }
        for array in [&mut self.masses, &mut self.extents] {
            array.clear();
            array.resize(longest, Lane::ZERO);
        }
    }

    fn set(&mut self, lane: usize, i: usize, rest: DVec3, position: DVec3, [mass, extent]: [f64; 2]) {
        self.rest[i].set_lane(lane, rest);
        self.positions[i].set_lane(lane, position);
        self.masses[i].as_mut_array()[lane] = mass;
        self.extents[i].as_mut_array()[lane] = extent;
    }

    fn load(
        &mut self,
        model: &CordModel,
        state: &CordState,
        scratch: &CordScratch,
        (lane, piece): (usize, usize),
        beyond: &Beyond,
        dt: f64,
    ) {
        let (vertices, segments) = (state.vertices(piece), state.segments(piece));
        let uniform = matches!(model.material.bending, Bending::HalfWidth(_));
        let mut wide = extent_at(model, state, piece, vertices.start, dt);
        let mut rest = DVec3::ZERO;
        for (i, v) in vertices.clone().enumerate() {
            if i > 0 {
                let before = v - piece - 1;
                let natural = state.unstretched(model, before);
                let now = length(scratch.next[v] - scratch.next[v - 1]);
                rest += model.rest[before] * (now.max(natural) / model.lengths[before]);
                if !uniform {
                    wide = extent_at(model, state, piece, v, dt);
                }
            }
            let mut mass = scratch.mass[v];
            for (at_last, end, s) in
                [(false, vertices.start, segments.start), (true, vertices.end - 1, segments.end - 1)]
            {
                let count = if at_last { beyond.after } else { beyond.before };
                if v == end && count > 0 {
                    mass = model.masses[s];
                    let (_, way) = beyond.end(state, scratch, piece, at_last);
                    let turned = if at_last { model.rest[s] } else { -model.rest[s] };
                    let rest_way = turned * (length(way) / model.lengths[s]);
                    for k in 1..=count {
                        let at = if at_last { beyond.before + i + k } else { beyond.before - k };
                        let place = scratch.next[v] + way * k as f64;
                        self.set(lane, at, rest + rest_way * k as f64, place, [mass, wide]);
                    }
                }
            }
            self.set(lane, beyond.before + i, rest, scratch.next[v], [mass, wide]);
        }
    }

    fn match_shape(
        &mut self,
        model: &CordModel,
        state: &CordState,
        scratch: &CordScratch,
        pieces: [usize; LANES],
        dt: f64,
    ) {
        // From the frame at rest to the material frame now; without torsion the roll is anybody's.
        let turns = pieces.map(|piece| {
            if model.material.torsion.is_none() {
                return DQuat::IDENTITY;
            }
            let s = state.segments(piece).start;
            let frame = |x: DVec3, y: DVec3| DMat3::from_cols(x, y, x.cross(y));
            let material = DQuat::from_axis_angle(scratch.before[s], state.angles[s]) * state.references[s];
            let rest = frame(model.rest[s] / model.lengths[s], model.references[s]);
            DQuat::from_mat3(&(frame(scratch.before[s], material) * rest.transpose())).normalize()
        });
        let chains = Chains { rest: &self.rest, masses: &self.masses, extents: &self.extents };
        let gain = Lane::splat(part(&model.material, dt)[0]);
        match_shape(&mut self.work, chains, &[], Turn::new(turns), gain, &mut self.positions);
    }
}

/// Moves the vertices of a piece that are free by their ways, and pushes the bodies that hold others.
fn move_piece(state: &CordState, scratch: &mut CordScratch, piece: usize, dt: f64, bodies: &mut Bodies) {
    let vertices = state.vertices(piece);
    let CordScratch { next, free, forces, mass, grips, .. } = scratch;
    let mut held = (0, None);
    for grip in vertices.clone().filter_map(|v| grips.at(v)) {
        held = (held.0 + 1, Some(grip.begin));
    }
    if held.0 <= 1 {
        let way = &mut forces[vertices.clone()];
        without_momentum(&state.positions[vertices.clone()], &mass[vertices.clone()], held.1, way);
    }
    for v in vertices {
        match grips.at(v) {
            None => {
                next[v] += forces[v];
                free[v] += forces[v];
            }
            Some(grip) => {
                if let Some(index) = grip.body {
                    bodies.push(index, grip.share * (forces[v] * (mass[v] / dt)), grip.begin);
                }
            }
        }
    }
}

/// Takes off the rigid part of the ways that vertices at `positions` go: afterwards they carry no momentum and no angular momentum,
/// or no angular momentum about a pivot if there is one.
pub(crate) fn without_momentum(positions: &[DVec3], masses: &[f64], pivot: Option<DVec3>, ways: &mut [DVec3]) {
    if pivot.is_none() {
        let drift = centre(ways, masses);
        ways.iter_mut().for_each(|way| *way -= drift);
    }
    let spin = spin_of(positions, masses, pivot, ways);
    let about = pivot.unwrap_or_else(|| centre(positions, masses));
    for (x, way) in positions.iter().zip(ways) {
        *way -= spin.cross(*x - about);
    }
}

/// Mean of values, weighed by masses.
pub(super) fn centre(values: &[DVec3], masses: &[f64]) -> DVec3 {
    let total: f64 = masses.iter().sum();
    values.iter().zip(masses).map(|(value, m)| *value * *m).sum::<DVec3>() / total
}

/// The rotation that has the angular momentum of the ways that vertices go, about a pivot or their centre.
pub(super) fn spin_of(positions: &[DVec3], masses: &[f64], pivot: Option<DVec3>, ways: &[DVec3]) -> DVec3 {
    let about = pivot.unwrap_or_else(|| centre(positions, masses));
    let turns = positions.iter().zip(masses).zip(ways).map(|((x, m), way)| (*x - about).cross(*way) * *m);
    rotation_of(positions, masses, about, turns.sum())
}

/// The rotation of vertices that are stiff about a point which has this angular momentum.
pub(super) fn rotation_of(positions: &[DVec3], masses: &[f64], about: DVec3, angular: DVec3) -> DVec3 {
    let (mut square, mut inertia) = (0.0, DMat3::ZERO);
    for (x, m) in positions.iter().zip(masses) {
        let arm = *x - about;
        square += arm.length_squared() * m;
        inertia -= DMat3::from_cols(arm * arm.x, arm * arm.y, arm * arm.z) * *m;
    }
    // A straight cord has no inertia about itself, and no angular momentum either.
    inertia += DMat3::from_diagonal(DVec3::splat(square * (1.0 + 1e-9) + 1e-300));
    let spin = inertia.inverse() * angular;
    if spin.is_finite() { spin } else { DVec3::ZERO }
}
