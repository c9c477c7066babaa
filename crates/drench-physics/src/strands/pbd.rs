//! Position-based dynamics of a chain [Mueller2007], [Henne2013, section 3.2].
//!
//! After the prediction and the implicit bending of [`super::rod`], distance constraints are projected from root to tip, again and
//! again: dx = -k w_i / (w_i + w_j) (|x_i - x_j| - l) n. Over-relaxation k = 1.65 spreads corrections faster, at least 4
//! iterations keep its overshoot invisible [Henne2013, section 3.4.1]; masses that fall along the strand, m_i = 1 / i, halve
//! the count again. A strand stops by itself when it meets the criterion, whatever its neighbours do.
//!
//! Sweeps carry a correction a few segments far. What they leave behind, where a drop of water hits a hair lighter than itself or where long hair
//! hangs in long steps, is no small rest: half a segment and more. Segments that are still beyond `strain_limit` are therefore solved for directly, by the
//! three diagonals of [`strain`](super::strain) and with true masses, water included; then one sweep from the root makes sure of them. In strands that keep within the limit not a bit changes.

use super::guard::{Guard, Vertex};
use super::lanes::{Batch, LANES, Lane, Lane3};
use super::model::Tip;
use super::state::{Partition, Watched};
use super::{Context, Span, predict, strain};
use crate::contact;
use crate::error::{PhysicsError, check};

/// Parameters of position-based dynamics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// When to stop.
    pub iterations: Iterations,
    /// Over-relaxation k.
    pub relaxation: f64,
    /// How corrections are shared.
    pub mass: MassLaw,
    /// Fraction by which no segment may be longer or shorter after the iterations; [`NO_LIMIT`] if they have the last word.
    pub strain_limit: f64,
}

/// The limit of strands that are left as the iterations left them.
pub const NO_LIMIT: f64 = f64::MAX;

/// Tolerance of the limit, as a part of it.
const TOLERANCE: f64 = 0.1;
/// Newton steps of the limit at most: the sweep does the rest.
const FEW: u32 = 5;

/// When a strand has had enough iterations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Iterations {
    /// After so many.
    Fixed(u32),
    /// When the whole strand is stretched or squeezed by no more than this fraction.
    Strand {
        /// Fraction of the strand's length.
        stretch: f64,
        /// Iterations at least.
        least: u32,
        /// Iterations at most.
        most: u32,
    },
    /// When every segment is stretched or squeezed by no more than this fraction.
    Segment {
        /// Fraction of a segment's length.
        stretch: f64,
        /// Iterations at least.
        least: u32,
        /// Iterations at most.
        most: u32,
    },
}

/// How a correction is shared by the two ends of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MassLaw {
    /// Equally.
    #[default]
    Even,
    /// m_i = 1 / i, counted from the root.
    Uneven,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            iterations: Iterations::Strand { stretch: 0.05, least: 4, most: 50 },
            relaxation: 1.65,
            mass: MassLaw::Even,
            strain_limit: 0.04,
        }
    }
}

impl Parameters {
    pub(crate) fn check(&self) -> Result<(), PhysicsError> {
        check("pbd relaxation", self.relaxation, "above 0 and below 2", |k| k > 0.0 && k < 2.0)?;
        check("pbd strain limit", self.strain_limit, "positive", |x| x > 0.0)?;
        match self.iterations {
            Iterations::Fixed(count) => check("pbd iterations", f64::from(count), "at least 1", |n| n >= 1.0),
            Iterations::Strand { stretch, least, most } | Iterations::Segment { stretch, least, most } => {
                check("pbd stretch", stretch, "positive", |x| x > 0.0)?;
                check("pbd least iterations", f64::from(least), "at least 1", |n| n >= 1.0)?;
                check("pbd most iterations", f64::from(most), "no less than the least", |n| n >= f64::from(least))
            }
        }
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
    let base = span.base;
    predict::predict(context, batch, span, partition);
    iterate(context, parameters, batch, partition);
    if parameters.strain_limit < NO_LIMIT {
        limit(context, parameters.strain_limit, batch, partition);
    }

    let inverse_step = Lane::splat(1.0 / context.dt);
    let (mut fastest, mut total) = (Lane::ZERO, Lane::ZERO);
    for i in 0..batch.longest {
        let velocity = (partition.new[i] - partition.old[i]) * inverse_step;
        let square = velocity.dot(velocity) * batch.presence(i);
        fastest = fastest.fast_max(square);
        total += square;
        batch.store(i, base, span.positions, partition.new[i]);
        batch.store(i, base, span.velocities, velocity);
    }
    partition.tally.record_speeds(fastest, total);
}

/// Brings the predictions to the solids by a swept test and notes which vertices must be watched during the iterations; the first
/// vertex only if it is not `held`.
pub(super) fn watch(context: &Context, batch: &Batch, held: bool, partition: &mut Partition) -> bool {
    let Partition { old, new, lengths, watched, tally, .. } = partition;
    let Some(mut guard) = Guard::at_roots(context, batch, new[0]).map(|g| if held { g } else { g.loose() }) else {
        return false;
    };
    let mut any = 0;
    watched[0] = Watched::default();
    for i in usize::from(held)..batch.longest {
        let length = if i == 0 { Lane::ZERO } else { lengths[i] };
        // A stretched prediction may be that much closer along the strand, and iterations move it on.
        let near = guard.near(context, length, old[i], new[i], length);
        watched[i] = match near {
            0 => Watched::default(),
            _ => guard.meet(context, batch, i, near, (old[i], &mut new[i]), tally),
        };
        any |= watched[i].lanes;
    }
    any != 0
}

/// Projects distances, and contact where it is near, until the criterion is met.
fn iterate(context: &Context, parameters: &Parameters, batch: &Batch, partition: &mut Partition) {
    let model = context.model;
    let (least, most) = match parameters.iterations {
        Iterations::Fixed(count) => (count, count),
        Iterations::Strand { least, most, .. } | Iterations::Segment { least, most, .. } => (least, most),
    };
    let touching = watch(context, batch, true, partition);
    // Lanes still working: 1, stopped: 0.
    let mut working = Lane::new(std::array::from_fn(|lane| if lane < batch.strands { 1.0 } else { 0.0 }));
    let mut iteration = 0;
    while iteration < most {
        iteration += 1;
        let gain = working * Lane::splat(parameters.relaxation);
        project(parameters, model.tip, batch, gain, &partition.lengths, &mut partition.new);
        if touching {
            touch(context, batch, true, working, partition);
        }
        if iteration < least {
            continue;
        }
        let done = match parameters.iterations {
            Iterations::Fixed(_) => Lane::ZERO,
            Iterations::Strand { stretch, .. } => strand_within(batch, stretch, &partition.lengths, &partition.new),
            Iterations::Segment { stretch, .. } => segments_within(batch, stretch, &partition.lengths, &partition.new),
        };
        let before = working.to_array();
        working *= Lane::ONE - done;
        let after = working.to_array();
        for lane in 0..batch.strands {
            if before[lane] > 0.0 && after[lane] == 0.0 {
                partition.tally.iterations += u64::from(iteration);
                partition.tally.iterations_max = partition.tally.iterations_max.max(iteration);
            }
        }
        if after.iter().all(|&w| w == 0.0) {
            break;
        }
    }
    for lane in 0..batch.strands {
        if working.to_array()[lane] > 0.0 {
            partition.tally.iterations += u64::from(iteration);
            partition.tally.iterations_max = partition.tally.iterations_max.max(iteration);
            partition.tally.unconverged += u64::from(!matches!(parameters.iterations, Iterations::Fixed(_)));
        }
    }
}

/// Brings what the iterations left beyond the limit within it.
fn limit(context: &Context, limit: f64, batch: &Batch, partition: &mut Partition) {
    let longest = batch.longest;
    for i in 1..longest {
        partition.lengths[i] *= batch.presence(i);
    }
    let (lengths, new) = (&partition.lengths[..longest], &partition.new[..longest]);
    let all = Lane::ZERO.simd_eq(Lane::ZERO);
    let stretched = strain::stretched(limit * (1.0 + TOLERANCE), lengths, new, |_| all).to_bitmask();
    if stretched != 0 {
        shorten(context, limit, batch, stretched, partition);
    }
}

/// Solves for the lengths of these lanes, and sweeps what is held at the root alone.
#[cold]
fn shorten(context: &Context, limit: f64, batch: &Batch, lanes: u32, partition: &mut Partition) {
    let longest = batch.longest;
    let clamped = context.model.tip == Tip::Clamped;
    let Partition { new, lengths, strain, watched, .. } = partition;
    strain.weigh(context, batch);
    // What lies on a solid is held up by it.
    strain.lean(&watched[..if context.colliders.is_empty() { 0 } else { longest }], false);
    strain.limit(&lengths[..longest], limit, TOLERANCE * limit, FEW, &mut new[..longest]);
    // Nothing can be swept between two clamps.
    if !clamped {
        sweep(context, limit, batch, lanes, partition);
    }
}

/// Puts every vertex of these lanes within the limit of its predecessor, and outside of solids, from root to tip.
fn sweep(context: &Context, limit: f64, batch: &Batch, lanes: u32, partition: &mut Partition) {
    let Partition { old, new, lengths, tally, .. } = partition;
    let (longest, shortest) = (Lane::splat(1.0 + limit), Lane::splat(1.0 - limit));
    let mut anchor = new[0];
    let mut guard = Guard::at_roots(context, batch, anchor);
    let contacts = tally.contacts;
    for i in 1..batch.longest {
        let arm = new[i] - anchor;
        let now = arm.dot(arm).fast_max(Lane::splat(1e-24)).sqrt();
        let length = now.fast_max(lengths[i] * shortest).fast_min(lengths[i] * longest);
        let mut placed = arm.mul_add(length / now, anchor);
        if let Some(guard) = &mut guard {
            let near = guard.near(context, length, old[i], placed, Lane::ZERO) & lanes;
            if near != 0 {
                placed =
                    guard.place(context, batch, i, near, Vertex { old: old[i], new: placed, anchor, length }, tally);
            }
        }
        for lane in (0..LANES).filter(|lane| lanes >> lane & 1 == 1) {
            new[i].set_lane(lane, placed.lane(lane));
        }
        anchor = new[i];
    }
    // They have been counted.
    tally.contacts = contacts;
}

/// One sweep from root to tip. `gain` is the relaxation, 0 in lanes that have stopped.
#[inline(always)]
fn project(parameters: &Parameters, tip: Tip, batch: &Batch, gain: Lane, lengths: &[Lane], new: &mut [Lane3]) {
    let clamped = tip == Tip::Clamped;
    let mut upper = new[0];
    for i in 1..batch.longest {
        let lower = new[i];
        let length = lengths[i];
        let arm = lower - upper;
        let inverse = Lane::ONE / arm.dot(arm).fast_max(Lane::splat(1e-24)).sqrt();
        let excess = gain * batch.presence(i) * (Lane::ONE - length * inverse);
        let (share_upper, share_lower) = shares(parameters.mass, i, clamped, batch);
        new[i - 1] = arm.mul_add(excess * share_upper, upper);
        upper = arm.mul_add(-(excess * share_lower), lower);
    }
    new[batch.longest - 1] = upper;
}

/// w_(i-1) / (w_(i-1) + w_i) and w_i / (w_(i-1) + w_i).
#[inline(always)]
fn shares(mass: MassLaw, i: usize, clamped: bool, batch: &Batch) -> (Lane, Lane) {
    let upper = match (i, mass) {
        (1, _) => 0.0,
        (_, MassLaw::Even) => 0.5,
        // w_i = i
        (_, MassLaw::Uneven) => (i - 1) as f64 / (2 * i - 1) as f64,
    };
    if !clamped {
        return (Lane::splat(upper), Lane::splat(1.0 - upper));
    }
    let mut share = ([upper; LANES], [1.0 - upper; LANES]);
    for lane in 0..LANES {
        if i == batch.tip(lane) {
            share.0[lane] = if i == 1 { 0.0 } else { 1.0 };
            share.1[lane] = 0.0;
        }
    }
    (Lane::new(share.0), Lane::new(share.1))
}

/// Pushes watched vertices of working lanes out of solids, where they may have come near since they were last seen.
pub(super) fn touch(context: &Context, batch: &Batch, held: bool, working: Lane, partition: &mut Partition) {
    let Partition { old, new, watched, tally, .. } = partition;
    let clamped = context.model.tip == Tip::Clamped;
    for i in usize::from(held)..batch.longest {
        let Watched { lanes, keep, clear, seen, normal, grip } = &mut watched[i];
        for lane in 0..LANES {
            if *lanes >> lane & 1 == 0 || working.as_array()[lane] == 0.0 || (clamped && i == batch.tip(lane)) {
                continue;
            }
            let target = new[i].lane(lane);
            if clear[lane] - (target - seen[lane]).length() > keep[lane] {
                continue;
            }
            let touch = contact::resolve(context.colliders, old[i].lane(lane), target, keep[lane], None);
            (clear[lane], seen[lane]) = (touch.clearance, touch.position);
            if touch.contact {
                new[i].set_lane(lane, touch.position);
                normal[lane] = touch.normal;
                grip[lane] = if touch.stuck { touch.friction } else { 0.0 };
                tally.penetration_max = tally.penetration_max.max(touch.penetration);
            }
        }
    }
}

/// 1 in the lanes whose strand has its length within a fraction.
#[inline(always)]
fn strand_within(batch: &Batch, stretch: f64, lengths: &[Lane], new: &[Lane3]) -> Lane {
    let (mut now, mut rest) = (Lane::ZERO, Lane::ZERO);
    for i in 1..batch.longest {
        let present = batch.presence(i);
        let arm = new[i] - new[i - 1];
        now = arm.dot(arm).sqrt().mul_add(present, now);
        rest = lengths[i].mul_add(present, rest);
    }
    within(now, rest, stretch)
}

/// 1 in the lanes all of whose segments have their length within a fraction.
#[inline(always)]
fn segments_within(batch: &Batch, stretch: f64, lengths: &[Lane], new: &[Lane3]) -> Lane {
    let mut all = Lane::ONE;
    for i in 1..batch.longest {
        let arm = new[i] - new[i - 1];
        let one = within(arm.dot(arm).sqrt(), lengths[i], stretch);
        all *= Lane::ONE - (Lane::ONE - one) * batch.presence(i);
    }
    all
}

#[inline(always)]
fn within(now: Lane, rest: Lane, stretch: f64) -> Lane {
    let too_long = now.simd_gt(rest * Lane::splat(1.0 + stretch));
    let long_enough = now.simd_ge(rest * Lane::splat(1.0 - stretch));
    long_enough.select(too_long.select(Lane::ZERO, Lane::ONE), Lane::ZERO)
}
