//! Where the vertices of a batch would go: forces, inertia, and the implicit bending that keeps the groomed shape.

use super::lanes::{Batch, LANES, Lane, Lane3, unit};
use super::model::Tip;
use super::state::Partition;
use super::{Context, Span, rod};

/// Fills `old`, `lengths`, `directions` (of old segments, if needed) and `new` of the partition; held ends of `new` are in place [Henne2013, section 3.1].
pub(super) fn predict(context: &Context, batch: &Batch, span: &Span, partition: &mut Partition) {
    let Context { model, roots, forces, dt, .. } = context;
    let Partition { old, new, lengths, directions, .. } = partition;
    let (step, step_squared) = (Lane::splat(*dt), Lane::splat(dt * dt));
    old[0] = batch.load(0, span.base, span.positions);
    new[0] = Lane3::new(std::array::from_fn(|lane| roots.positions[batch.strand_of(lane)]));
    let directed = forces.has_drag() || context.shape.is_some();
    let mut wind = Lane3::ZERO;
    for i in 1..batch.longest {
        let x = batch.load(i, span.base, span.positions);
        old[i] = x;
        lengths[i] = batch.load_scalar(i, &model.lengths);
        if directed {
            directions[i] = unit(x - old[i - 1]);
        }
        let radius = if forces.has_drag() { batch.load_scalar(i, &model.radii) } else { Lane::ONE };
        wind = forces.wind(batch, i, x, wind);
        let v = forces.velocity(
            batch.load(i, span.base, span.velocities),
            directions[i],
            radius,
            context.loads(batch, i),
            wind,
        );
        new[i] = v.mul_add(step, x);
        if !span.pulls.is_empty() {
            new[i] = batch.load_short(i, span.base, span.pulls).mul_add(step_squared, new[i]);
        }
    }
    clamp_tips(context, batch, new);
    if let Some(shape) = &context.shape {
        rod::bend(context, shape, batch, partition);
        clamp_tips(context, batch, &mut partition.new);
    }
}

/// Puts clamped tips where they are held.
pub(super) fn clamp_tips(context: &Context, batch: &Batch, new: &mut [Lane3]) {
    if context.model.tip == Tip::Clamped {
        for lane in 0..LANES {
            new[batch.tip(lane)].set_lane(lane, context.roots.tips[batch.strand_of(lane)]);
        }
    }
}
