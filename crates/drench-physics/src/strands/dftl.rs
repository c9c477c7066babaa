//! Dynamic follow-the-leader [Mueller2012], [Henne2013, section 3.3].
//!
//! From root to tip every vertex is put at its length from its predecessor: after one pass no segment is stretched. The
//! pass gives a vertex infinitely less mass than its predecessor; the velocity correction
//!
//! v_i += s (-d_(i+1)) / dt,  d_i = x_i - p_i
//!
//! hides that by handing the successor's correction back. Here the correction is kept apart from the velocity as an
//! acceleration, [`super::StrandState::pulls`]; d counts from the prediction after bending, so that it holds what length and
//! contact did. With s = 1 the pull at rest is exactly the tension of a hanging chain, and bending, which is solved with the
//! pulls among its loads (see [`super::rod`]), balances the same forces as in an elastic rod.
//!
//! Deviations: the pull enters the next prediction but is not part of the velocity that air and neighbours see.
//! Breaks down: for s below about 0.8 a strand spins up; for s near 1 it may, when N g dt^2 exceeds the segment length.

use super::guard::{Guard, Vertex};
use super::lanes::{Batch, LANES, Lane, Lane3, unit};
use super::model::Tip;
use super::state::Partition;
use super::{Context, Span, predict};
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
}

/// One substep of four strands.
pub(super) fn solve(
    context: &Context,
    parameters: &Parameters,
    batch: &Batch,
    span: &mut Span,
    partition: &mut Partition,
) {
    predict::predict(context, batch, span, partition);
    let Partition { old, new, lengths, tally, .. } = partition;
    let base = span.base;
    let inverse_step = Lane::splat(1.0 / context.dt);
    let handed = Lane::splat(-parameters.damping / (context.dt * context.dt));

    let mut anchor = new[0];
    batch.store(0, base, span.positions, anchor);
    batch.store(0, base, span.velocities, (anchor - old[0]) * inverse_step);
    let mut guard = Guard::at_roots(context, batch, anchor);
    let (mut fastest, mut total) = (Lane::ZERO, Lane::ZERO);
    for i in 1..batch.longest {
        // Put the vertex at its distance from the predecessor, along its own direction.
        let length = lengths[i];
        let mut placed = unit(new[i] - anchor).mul_add(length, anchor);
        if let Some(guard) = &mut guard {
            let near = guard.near(context, length, old[i], placed, Lane::ZERO);
            if near != 0 {
                let vertex = Vertex { old: old[i], new: placed, anchor, length };
                placed = guard.place(context, batch, i, near, vertex, tally);
            }
        }
        if i > 1 {
            store_pull(batch, i, span, (placed - new[i]) * handed);
        }
        let velocity = (placed - old[i]) * inverse_step;
        let square = velocity.dot(velocity) * batch.presence(i);
        fastest = fastest.fast_max(square);
        total += square;
        batch.store(i, base, span.positions, placed);
        batch.store(i, base, span.velocities, velocity);
        anchor = placed;
    }
    tally.record_speeds(fastest, total);
    tally.iterations += batch.strands as u64;
    tally.iterations_max = 1;
}

/// Hands the correction of vertex `i` to vertex `i - 1`; the last vertex of a strand has no successor and keeps 0.
#[inline(always)]
fn store_pull(batch: &Batch, i: usize, span: &mut Span, pull: Lane3) {
    let pull = pull.to_array();
    for lane in 0..LANES {
        if batch.has(lane, i) {
            span.pulls[batch.at(lane, i - 1) - span.base] = pull[lane].as_vec3();
        }
    }
}
