//! Dynamic follow-the-leader [Mueller2012], [Henne2013, section 3.3].
//!
//! From root to tip every vertex is put at its length from its predecessor: after one pass no segment is stretched. The
//! pass gives a vertex infinitely less mass than its predecessor; the velocity correction
//!
//! v_i += s (-d_(i+1)) / dt,  d_i = x_i - p_i
//!
//! hides that by handing the successor's correction back. Here the correction is kept apart from the velocity as an
//! acceleration, [`super::StrandState::pulls`], and covers everything that moved the vertex: length, shape and contact.
//! With s = 1 the pull at rest is exactly the weight of everything distal.
//!
//! # Bending like a rod, at any resolution
//!
//! Vertex i is pulled to its goal g_i = x_(i-1) + l_i (rest direction in the frame carried to i - 1) with the implicit weight
//! A = (w dt)^2 against its inertia, q = (p + A g) / (1 + A). At rest the prediction p is displaced from x by the load
//! dt^2 g S_i, where S_i = 1 + s + s^2 + ... counts the distal vertices whose weight the pulls hand down. Balance across the
//! segment gives the angle sin(phi) = g_perp S_i / (l_i w_i^2). A rod bends there by M b_i / EI, with M = g_perp Q_i,
//! Q_i = sum over j >= i of m_j (s_j - s_(i-1)) the first moment of everything distal, and b_i the length of rod that the joint
//! stands for. Both agree if w_i^2 = S_i EI / (l_i b_i Q_i). Where the strand is curved its weight has a shorter lever
//! than Q_i says; [`Shape::levers`](super::shape::Shape::levers) corrects for that step by step.
//!
//! Deviations: the pull enters the next prediction but is not part of the velocity that air and neighbours see.
//! Breaks down: for s below about 0.8 a strand spins up; for s near 1 it may, when N g dt^2 exceeds the segment length.

use super::guard::{Guard, Vertex};
use super::lanes::{Batch, LANES, Lane, Lane3};
use super::model::{Joint, Tip};
use super::shape::{self, Frame};
use super::state::Partition;
use super::{Context, Span};
use crate::error::{PhysicsError, check};

/// Parameters of dynamic follow-the-leader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Fraction s of a correction that is handed to the predecessor.
    pub damping: f64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { damping: 0.9 }
    }
}

impl Parameters {
    pub(crate) fn check(&self, tip: Tip) -> Result<(), PhysicsError> {
        check("dftl damping", self.damping, "between 0 and 1", |s| (0.0..=1.0).contains(&s))?;
        let clamped = if tip == Tip::Clamped { 1.0 } else { 0.0 };
        check("clamped tips", clamped, "absent: dftl holds one end only, use pbd", |x| x == 0.0)
    }

    /// w^2 = S EI / (l b Q) [1/s2], with S = 1 + s + s^2 + ... over the distal vertices.
    pub(crate) fn stiffness(&self, joint: &Joint) -> f64 {
        let s = self.damping;
        let distal = joint.distal;
        let load = if s > 1.0 - 1e-9 { distal as f64 } else { (1.0 - s.powi(distal.min(10_000) as i32)) / (1.0 - s) };
        load * joint.rigidity / (joint.length * joint.stands_for * joint.moment)
    }
}

/// One substep of four strands.
pub(super) fn solve(
    context: &Context,
    parameters: &Parameters,
    batch: &Batch,
    span: &mut Span,
    partition: &mut Partition,
) {
    let Context { model, roots, forces, shape, dt, .. } = context;
    let Partition { old, lever, tally, .. } = partition;
    let base = span.base;
    let (step, inverse_step) = (Lane::splat(*dt), Lane::splat(1.0 / dt));
    let step_squared = step * step;
    let handed = Lane::splat(-parameters.damping / (dt * dt));

    for i in 0..batch.longest {
        old[i] = batch.load(i, base, span.positions);
    }
    if let Some(shape) = shape {
        shape.levers(model, batch, old, lever);
    }

    let mut anchor = Lane3::new(std::array::from_fn(|lane| roots.positions[batch.strand_of(lane)]));
    let root_velocity = (anchor - old[0]) * inverse_step;
    batch.store(0, base, span.positions, anchor);
    batch.store(0, base, span.velocities, root_velocity);
    let mut guard = Guard::at_roots(context, batch, anchor);
    let mut frame = Frame::at_roots(model, roots, batch);
    let mut direction_before = frame.tangent;
    let mut wind = Lane3::ZERO;
    let (mut fastest, mut total) = (Lane::ZERO, Lane::ZERO);

    for i in 1..batch.longest {
        let x = old[i];
        let length = batch.load_scalar(i, &model.lengths);
        let segment = x - old[i - 1];
        let direction = segment * (Lane::ONE / length);

        // Prediction [Henne2013, section 3.1].
        let mut v = batch.load(i, base, span.velocities);
        let radius = if forces.has_drag() { batch.load_scalar(i, &model.radii) } else { Lane::ONE };
        wind = forces.wind(batch, i, x, wind);
        v = forces.velocity(v, direction, radius, wind);
        let pull = batch.load_short(i, base, span.pulls);
        let p = v.mul_add(step, pull.mul_add(step_squared, x));

        // Shape.
        let mut target = p;
        if let Some(shape) = shape {
            let local = batch.load_short(i, 0, &model.rest_directions);
            let goal = frame.direction(local).mul_add(length, anchor);
            let stiffness = batch.load_scalar(i, &model.stiffness);
            let turned = if !shape.has_damping() {
                segment
            } else if i == 1 {
                turned_with_roots(context, batch, segment)
            } else {
                shape::turn(segment, direction_before, frame.tangent)
            };
            target = shape.pull(p, anchor, goal, turned, stiffness, lever[i]);
        }

        // Length: put the vertex at its distance from the predecessor, along its own direction.
        let arm = target - anchor;
        let square = arm.dot(arm);
        let inverse = Lane::ONE / square.fast_max(Lane::splat(1e-24)).sqrt();
        let mut tangent = arm * inverse;
        let mut new = tangent.mul_add(length, anchor);

        if let Some(guard) = &mut guard {
            let near = guard.near(context, length, x, new, Lane::ZERO);
            if near != 0 {
                let mut vertex = Vertex { old: x, new, anchor, length, tangent };
                guard.place(context, batch, i, near, &mut vertex, tally);
                (new, tangent) = (vertex.new, vertex.tangent);
            }
        }

        let correction = new - p;
        if i > 1 {
            // Only where this vertex exists: the last vertex of a strand has no successor.
            store_pull(batch, i, span, correction * handed);
        }
        let velocity = (new - x) * inverse_step;
        let square = velocity.dot(velocity) * batch.presence(i);
        fastest = fastest.fast_max(square);
        total += square;
        batch.store(i, base, span.positions, new);
        batch.store(i, base, span.velocities, velocity);

        direction_before = direction;
        frame = frame.carried(tangent);
        anchor = new;
    }
    tally.record_speeds(fastest, total);
    tally.iterations += batch.strands as u64;
    tally.iterations_max = 1;
}

/// Hands the correction of vertex `i` to vertex `i - 1`.
#[inline(always)]
fn store_pull(batch: &Batch, i: usize, span: &mut Span, pull: Lane3) {
    let pull = pull.to_array();
    for lane in 0..LANES {
        if batch.has(lane, i) {
            span.pulls[batch.at(lane, i - 1) - span.base] = pull[lane].as_vec3();
        }
    }
}

/// First segments turned as their roots turned in this substep.
pub(super) fn turned_with_roots(context: &Context, batch: &Batch, segment: Lane3) -> Lane3 {
    let roots = context.roots;
    Lane3::new(std::array::from_fn(|lane| {
        let strand = batch.strand_of(lane);
        let (after, before) = (roots.frames[strand], roots.frames_before[strand]);
        if after == before { segment.lane(lane) } else { after * (before.inverse() * segment.lane(lane)) }
    }))
}
