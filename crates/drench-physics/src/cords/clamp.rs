//! Clamps: what holds a vertex, and optionally the direction and the roll of the segment at it.
//!
//! A clamp that holds the direction holds the next vertex of its segment too. A clamp that holds the roll turns the
//! segment's material direction with it: twist is imposed by turning the clamp. Where the clamp does not hold the
//! direction, its material direction is carried over to the segment by the smallest rotation.
//!
//! A vertex held by a rigid body moves as part of it. Its own mass m goes along: an impulse J on the vertex reaches the
//! body as (1 + m K)^-1 J, where K is the body's answer in velocity at the anchor to an impulse there.

use super::model::CordModel;
use super::state::CordState;
use crate::error::PhysicsError;
use crate::rigid::{BodyState, Push};
use glam::{DMat3, DQuat, DVec3};

/// Length of a cord over the distance of what holds it, up to which it is taut.
const TAUT: f64 = 1.05;
/// Length of a knot, in radii of the cord.
const KNOT: f64 = 8.0;

/// What holds a clamp, at the end of the substep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Holder {
    /// Something that nothing can move.
    World {
        /// Where the vertex is at the end of the substep [m].
        position: DVec3,
    },
    /// A rigid body.
    Body {
        /// Index of the body.
        index: usize,
        /// Where the vertex is on it, from the centre of mass, in the body's frame [m].
        anchor: DVec3,
    },
}

/// One clamp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clamp {
    /// The model's vertex that is held.
    pub vertex: u32,
    /// What holds it.
    pub holder: Holder,
    /// Rotation from the clamp to the world at the end of the substep, or to the body's frame. The clamp's x is the
    /// cord's direction (towards its last vertex), its y the cord's material direction; [`CordModel::frame_at`] is what
    /// holds the cord as it is at rest.
    pub frame: DQuat,
    /// Whether it holds the direction of the segment after the vertex (before it at a cord's last vertex).
    pub direction: bool,
    /// Whether it holds the roll of that segment.
    pub roll: bool,
}

impl Clamp {
    /// A pin: holds the vertex, not the direction.
    pub fn pin(vertex: u32, position: DVec3) -> Self {
        Self { vertex, holder: Holder::World { position }, frame: DQuat::IDENTITY, direction: false, roll: false }
    }

    /// Holds the vertex, the direction and the roll of the cord as at rest, turned and moved to `position`.
    pub fn fixed(model: &CordModel, vertex: u32, position: DVec3, turned: DQuat) -> Self {
        let frame = turned * model.frame_at(vertex as usize);
        Self { vertex, holder: Holder::World { position }, frame, direction: true, roll: true }
    }

    /// Where it holds its vertex: in the frame of the body that does, or in the world.
    pub(super) fn anchor(&self) -> (DVec3, Option<usize>) {
        match self.holder {
            Holder::World { position } => (position, None),
            Holder::Body { index, anchor } => (anchor, Some(index)),
        }
    }
}

/// The rigid bodies that cords hang on, hold and touch, and what they gain.
#[derive(Debug, Default)]
pub struct Bodies<'a> {
    /// Where they are at the beginning of the substep. Velocities are before gravity: those that can be pushed will fall with the
    /// environment's gravity when the rigid-body solver takes its step.
    pub states: &'a mut [BodyState],
    /// What they gain.
    pub pushes: &'a mut [Push],
}

impl Bodies<'_> {
    #[inline]
    pub(crate) fn push(&mut self, index: usize, impulse: DVec3, point: DVec3) {
        self.states[index].push(impulse, point, &mut self.pushes[index]);
    }

    pub(crate) fn turn(&mut self, index: usize, angular: DVec3) {
        self.states[index].turn(angular, &mut self.pushes[index]);
    }

    /// Gives a body all that a copy of it has got.
    pub(crate) fn take(&mut self, index: usize, push: &Push) {
        self.push(index, push.linear, self.states[index].centre);
        self.turn(index, push.angular);
    }
}

/// A vertex that is held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grip {
    pub vertex: usize,
    /// The body that holds it.
    pub body: Option<usize>,
    /// Where it is held: in the body's frame, or in the world at the end of the substep.
    pub anchor: DVec3,
    /// Where it was held at the beginning of the substep.
    pub begin: DVec3,
    /// (1 + m K)^-1.
    pub share: DMat3,
    /// m + K^-1, the mass that a pull at the vertex meets [kg], over the number of vertices of the piece that the body holds; none if it cannot
    /// be moved.
    pub inertia: Option<DMat3>,
    /// Inverse of the inertia; 0 if it cannot be moved.
    pub answer: DMat3,
    /// Impulses of tension that the body has got so far [N s].
    pub given: [DVec3; 2],
    /// The same when lengths were begun to be solved.
    pub start: [DVec3; 2],
    /// How the first of these went.
    pub round: Round,
    piece: usize,
}

/// What the last round of solving lengths made of an impulse [N s].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Round {
    /// What the next one begins with.
    pub from: DVec3,
    /// What it came to.
    pub to: DVec3,
    /// By how much it changed it.
    pub change: DVec3,
}

/// A segment whose roll is held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Roll {
    pub body: Option<usize>,
    /// Rotation from the clamp to the world at the end of the substep, or to the body's frame.
    pub frame: DQuat,
}

/// Everything that is held in this substep.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grips {
    /// Ascending.
    pub vertices: Vec<Grip>,
    pub rolls: Vec<Roll>,
    /// The same as the clamps hold them.
    unordered: Vec<Grip>,
    /// One more than the index in `vertices` of each vertex of the state, 0 if it is free.
    pub of_vertex: Vec<u32>,
    /// One more than the index in `rolls` of each segment, 0 if it turns freely.
    pub of_segment: Vec<u32>,
    /// Body, piece and index of what bodies hold, to be sorted.
    order: Vec<(Option<usize>, usize, usize)>,
}

impl Grips {
    #[inline]
    pub fn at(&self, vertex: usize) -> Option<&Grip> {
        match self.of_vertex[vertex] {
            0 => None,
            index => Some(&self.vertices[index as usize - 1]),
        }
    }

    #[inline]
    pub fn roll(&self, segment: usize) -> Option<&Roll> {
        match self.of_segment[segment] {
            0 => None,
            index => Some(&self.rolls[index as usize - 1]),
        }
    }

    /// Which of `vertices` lie from the first to the last of a run.
    pub fn between(&self, [first, last]: [usize; 2]) -> std::ops::Range<usize> {
        let from = self.vertices.partition_point(|grip| grip.vertex < first);
        from..from + self.vertices[from..].partition_point(|grip| grip.vertex <= last)
    }

    /// The bodies that hold some of `vertices`.
    pub fn bodies(&self, held: &std::ops::Range<usize>) -> impl Iterator<Item = usize> {
        self.vertices[held.clone()].iter().filter_map(|grip| grip.body)
    }

    /// Whether a cord is not to touch a body (none: the world) at a free vertex of a piece because it comes out of it there: the body holds the
    /// next vertex, or one within the length of a knot, or holds the cord on both sides so taut that it cannot come off in between.
    pub fn comes_out(&self, model: &CordModel, [piece, vertex]: [usize; 2], body: Option<usize>) -> bool {
        let after = self.vertices.partition_point(|grip| grip.vertex < vertex);
        let [before, after] = [after.checked_sub(1), Some(after)]
            .map(|index| self.vertices.get(index?).filter(|grip| grip.piece == piece && grip.body == body));
        if [before, after].iter().flatten().any(|grip| grip.vertex.abs_diff(vertex) == 1) {
            return true;
        }
        // Which solid of the world holds a cord is not known.
        if body.is_none() {
            return false;
        }
        let span = |from: usize, to: usize| model.lengths[from - piece..to - piece].iter().sum::<f64>();
        let knot = KNOT * model.radii[(vertex - piece).max(1) - 1];
        before.is_some_and(|grip| span(grip.vertex, vertex) <= knot)
            || after.is_some_and(|grip| span(vertex, grip.vertex) <= knot)
            || before.zip(after).is_some_and(|(a, b)| span(a.vertex, b.vertex) < TAUT * a.begin.distance(b.begin))
    }

    /// Takes hold of what the clamps hold.
    pub fn take(
        &mut self,
        model: &CordModel,
        state: &CordState,
        clamps: &[Clamp],
        bodies: &Bodies,
    ) -> Result<(), PhysicsError> {
        self.vertices.clear();
        self.rolls.clear();
        self.of_vertex.clear();
        self.of_vertex.resize(state.positions.len(), 0);
        self.of_segment.clear();
        self.of_segment.resize(model.segment_count(), 0);
        for (index, clamp) in clamps.iter().enumerate() {
            check(model, index, clamp, bodies.states.len())?;
            let mut free = true;
            for copy in copies(model, state, clamp.vertex as usize).into_iter().flatten() {
                free &= self.hold(model, state, clamp, copy, bodies);
            }
            if !free {
                let (vertex, why) = (clamp.vertex, "another clamp holds it already: remove one of them");
                return Err(PhysicsError::Clamp { clamp: index, vertex, why });
            }
        }
        // Once every clamp has its vertex: what holds a direction leaves the next vertex to a clamp of its own.
        for clamp in clamps.iter().filter(|clamp| clamp.direction) {
            for copy in copies(model, state, clamp.vertex as usize).into_iter().flatten() {
                self.hold_direction(model, state, clamp, copy, bodies);
            }
        }
        self.line_up();
        self.share_out();
        Ok(())
    }

    /// Puts what is held in the order of the vertices.
    fn line_up(&mut self) {
        let Self { vertices, unordered, of_vertex, .. } = self;
        std::mem::swap(vertices, unordered);
        vertices.clear();
        for index in of_vertex.iter_mut().filter(|index| **index != 0) {
            vertices.push(unordered[*index as usize - 1]);
            *index = vertices.len() as u32;
        }
    }

    /// Shares the inertia of a body out over the vertices of a piece that it holds: pulled at all of them, it answers to each.
    fn share_out(&mut self) {
        let Self { vertices, order, .. } = self;
        order.clear();
        let movable = vertices.iter().enumerate().filter(|(_, grip)| grip.inertia.is_some());
        order.extend(movable.map(|(g, grip)| (grip.body, grip.piece, g)));
        order.sort_unstable();
        for group in order.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            for &(_, _, g) in group {
                vertices[g].inertia = vertices[g].inertia.map(|inertia| inertia * (1.0 / group.len() as f64));
                vertices[g].answer = vertices[g].inertia.map_or(DMat3::ZERO, |inertia| inertia.inverse());
            }
        }
    }

    /// Holds a vertex, and the roll of the segment at it; false if it is held already.
    fn hold(
        &mut self,
        model: &CordModel,
        state: &CordState,
        clamp: &Clamp,
        copy: (usize, usize),
        bodies: &Bodies,
    ) -> bool {
        if self.of_vertex[copy.1] != 0 {
            return false;
        }
        let (anchor, body) = clamp.anchor();
        self.grip(model, state, copy, anchor, body, bodies);
        if clamp.roll && model.material.torsion.is_some() {
            let segment = beside(state, copy).0;
            // What is left of a torn cord may be held at both ends of one segment: it turns with the first.
            if self.of_segment[segment] == 0 {
                self.rolls.push(Roll { body, frame: clamp.frame });
                self.of_segment[segment] = self.rolls.len() as u32;
            }
        }
        true
    }

    /// Holds the next vertex of the segment at a vertex that is held.
    fn hold_direction(
        &mut self,
        model: &CordModel,
        state: &CordState,
        clamp: &Clamp,
        copy: (usize, usize),
        bodies: &Bodies,
    ) {
        let (segment, neighbour) = beside(state, copy);
        if self.of_vertex[neighbour] == 0 {
            let (anchor, body) = clamp.anchor();
            let sign = if neighbour > copy.1 { 1.0 } else { -1.0 };
            let beside = anchor + clamp.frame * DVec3::X * (sign * natural_length(model, state, segment));
            self.grip(model, state, (copy.0, neighbour), beside, body, bodies);
        }
    }

    fn grip(
        &mut self,
        model: &CordModel,
        state: &CordState,
        (piece, vertex): (usize, usize),
        anchor: DVec3,
        body: Option<usize>,
        bodies: &Bodies,
    ) {
        let (begin, share, inertia) = match body {
            None => (state.positions[vertex], DMat3::ZERO, None),
            Some(index) => {
                let body = &bodies.states[index];
                let lever = body.rotation * anchor;
                let cross = DMat3::from_cols(
                    DVec3::new(0.0, lever.z, -lever.y),
                    DVec3::new(-lever.z, 0.0, lever.x),
                    DVec3::new(lever.y, -lever.x, 0.0),
                );
                // K = 1/M - [r] I^-1 [r].
                let k = DMat3::from_diagonal(DVec3::splat(body.inverse_mass)) - cross * body.inverse_inertia * cross;
                let mass = state.mass(model, piece, vertex);
                let share = (DMat3::IDENTITY + k * mass).inverse();
                let own = DMat3::from_diagonal(DVec3::splat(mass));
                (body.centre + lever, share, (body.inverse_mass > 0.0).then(|| k.inverse() + own))
            }
        };
        self.vertices.push(Grip {
            vertex,
            body,
            anchor,
            begin,
            share,
            inertia,
            answer: DMat3::ZERO,
            given: [DVec3::ZERO; 2],
            start: [DVec3::ZERO; 2],
            round: Round::default(),
            piece,
        });
        self.of_vertex[vertex] = self.vertices.len() as u32;
    }
}

impl Grip {
    /// The least mass with which the vertex answers to a pull, whatever its direction [kg]; infinite if it cannot be moved.
    pub fn mass(&self) -> f64 {
        1.0 / (self.answer.x_axis.x + self.answer.y_axis.y + self.answer.z_axis.z)
    }

    /// Where the vertex is at the end of the substep, as the body moves now.
    pub fn end(&self, bodies: &Bodies, gravity: DVec3, dt: f64) -> DVec3 {
        let Some(index) = self.body else { return self.anchor };
        let body = &bodies.states[index];
        body.centre + fall(body, gravity, dt) * dt + turned(body, dt) * self.anchor
    }
}

/// Velocity of a body's centre when it has fallen for `dt`.
fn fall(body: &BodyState, gravity: DVec3, dt: f64) -> DVec3 {
    if body.inverse_mass > 0.0 { body.velocity + gravity * dt } else { body.velocity }
}

/// Rotation of a body after `dt`.
pub(crate) fn turned(body: &BodyState, dt: f64) -> DQuat {
    // Half of the angle is small, mostly: series of sin x / x and cos x, to the last digit.
    let half = body.spin * (0.5 * dt);
    let square = half.length_squared();
    if square < 0.01 {
        let series = |terms: [f64; 5]| terms.iter().rev().fold(1.0, |sum, over| 1.0 - square * over * sum);
        let axis = half * series([6.0, 20.0, 42.0, 72.0, 110.0].map(|x| 1.0 / x));
        let turn = DQuat::from_xyzw(axis.x, axis.y, axis.z, series([2.0, 12.0, 30.0, 56.0, 90.0].map(|x| 1.0 / x)));
        return turn * body.rotation;
    }
    DQuat::from_scaled_axis(body.spin * dt) * body.rotation
}

/// Which vertices of the state clamps hold themselves or by the direction of their segment.
pub fn held(model: &CordModel, state: &CordState, clamps: &[Clamp]) -> Vec<bool> {
    let mut held = vec![false; state.positions.len()];
    for clamp in clamps {
        for copy in copies(model, state, clamp.vertex as usize).into_iter().flatten() {
            held[copy.1] = true;
            if clamp.direction {
                held[beside(state, copy).1] = true;
            }
        }
    }
    held
}

/// The segment after a vertex of a piece, or before it at the end of the piece, and the vertex at its other end.
fn beside(state: &CordState, (piece, vertex): (usize, usize)) -> (usize, usize) {
    if vertex - piece == state.segments(piece).end {
        (vertex - piece - 1, vertex - 1)
    } else {
        (vertex - piece, vertex + 1)
    }
}

/// Length of a segment under its tension [m].
pub(crate) fn natural_length(model: &CordModel, state: &CordState, segment: usize) -> f64 {
    let stress = state.tensions[segment] / model.areas[segment];
    model.lengths[segment] * (1.0 + model.tensile_curve(segment).strain(stress, state.plastic_strains[segment]).0)
}

/// Piece and vertex of the copies of a model's vertex that clamps still hold: the one that ends a piece, the one that begins one;
/// the same once if it is not torn.
fn copies(model: &CordModel, state: &CordState, vertex: usize) -> [Option<(usize, usize)>; 2] {
    let cord = model.cord_of(vertex);
    let (first, last) = (model.offsets[cord] as usize == vertex, model.offsets[cord + 1] as usize == vertex + 1);
    let before = (!first).then(|| {
        let piece = state.piece_of_segment(vertex - cord - 1);
        (piece, vertex - cord + piece)
    });
    let after = (!last).then(|| {
        let piece = state.piece_of_segment(vertex - cord);
        (piece, vertex - cord + piece)
    });
    let lost = state.lost[vertex];
    if before == after {
        return [before.filter(|_| lost == 0), None];
    }
    [before.filter(|_| lost & 1 == 0), after.filter(|_| lost & 2 == 0)]
}

fn check(model: &CordModel, index: usize, clamp: &Clamp, bodies: usize) -> Result<(), PhysicsError> {
    let refuse = |why| Err(PhysicsError::Clamp { clamp: index, vertex: clamp.vertex, why });
    if clamp.vertex as usize >= model.vertex_count() {
        return refuse("there is no such vertex: count from 0");
    }
    let place = match clamp.holder {
        Holder::World { position } => position,
        Holder::Body { index, .. } if index >= bodies => return refuse("there is no such body: count from 0"),
        Holder::Body { anchor, .. } => anchor,
    };
    if !(place.is_finite() && clamp.frame.is_finite()) {
        return refuse("its position or frame is not finite");
    }
    if !clamp.frame.is_normalized() {
        return refuse("its frame is not of unit length: normalise the quaternion");
    }
    Ok(())
}
