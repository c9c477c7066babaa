//! One substep of a batch of strands by chain shape matching.

use super::extent::stiffened;
use super::matching::{Anchor, Chains, Workspace, match_shape};
use super::rotation::Turn;
use super::{PASSES, Parameters, REFERENCE_STEP, Rest};
use crate::strands::guard::{Guard, Vertex};
use crate::strands::lanes::{Batch, LANES, Lane, Lane3, unit};
use crate::strands::model::Tip;
use crate::strands::state::Partition;
use crate::strands::{Context, Span, pbd, predict};
use glam::{DMat3, DVec3};

/// How much heavier held vertices are for their regions than if they were free, over the cube of the half-width; and how strongly
/// they turn them, over what they weigh. A clamp is the rest of the strand, held; these two stand for the vertices that are not
/// there, so that a strand bends as a rod that is clamped at its last held vertex (to a quarter of the half-width).
pub(super) const HELD: f64 = 0.1;
pub(super) const TURNED: f64 = 0.05;
/// Strain at which a strand held at one end is long enough for the last sweep, which makes it exact.
const ROUGH: f64 = 1e-6;
/// Strain to which other strands are solved.
const FINE: f64 = 1e-9;
/// Newton steps for strands held at one end, and for others.
const FEW: u32 = 5;
const MANY: u32 = 40;
/// Rounds of lengths and contact for strands that cannot be swept from a held end.
const ROUNDS: u32 = 4;

/// Working memory of a partition.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    rest: Vec<Lane3>,
    masses: Vec<Lane>,
    extents: Vec<Lane>,
    anchors: Vec<Anchor>,
    work: Workspace,
    /// Predictions of loose strands.
    predicted: Vec<Lane3>,
}

impl Scratch {
    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.rest.capacity() * (96 + 2 * 32) + self.work.memory() + self.predicted.capacity() * 96
    }

    /// Loads what never changes, and says what is held.
    fn load(&mut self, context: &Context, rest: &Rest, clamped: usize, batch: &Batch, partition: &mut Partition) {
        let Partition { lengths, strain, .. } = partition;
        self.rest.clear();
        self.masses.clear();
        strain.inverse_masses.clear();
        self.extents.clear();
        let first = extents(context, rest, batch, 0);
        let held = (first * first * first).mul_add(Lane::splat(HELD), Lane::ONE);
        let mut at = Lane3::ZERO;
        for i in 0..batch.longest {
            let here = batch.presence(i);
            at = segment(context, rest, batch, i).mul_add(here, at);
            let mass = context.masses(batch, i);
            let (free, weight) = if i < clamped { (Lane::ZERO, here * held) } else { (here, here) };
            self.rest.push(at);
            self.masses.push(mass * weight);
            strain.inverse_masses.push(free / mass);
            self.extents.push(extents(context, rest, batch, i) * here);
            lengths[i] *= here;
        }
        strain.hold_tips(context, batch);
    }
}

/// Segments of four strands at rest: between those of dry and of wet hair.
#[inline(always)]
fn segment(context: &Context, rest: &Rest, batch: &Batch, i: usize) -> Lane3 {
    let dry = batch.load_short(i, 0, &rest.segments);
    match &context.model.wet {
        Some(wet) if !context.wet.is_empty() => {
            let change = batch.load_with(i, |at| f64::from(context.wet[at].change));
            let wet = batch.load_short(i, 0, &wet.segments);
            let between = (wet - dry).mul_add(change, dry);
            // Neither may be shorter on the way.
            let length = batch.load_scalar(i, &context.model.lengths);
            unit(between) * length
        }
        _ => dry,
    }
}

/// Extents of four regions. Matching makes a chain as stiff as it is heavy: to keep its stiffness under a load, regions shrink.
#[inline(always)]
fn extents(context: &Context, rest: &Rest, batch: &Batch, i: usize) -> Lane {
    let dry = batch.load_scalar(i, &rest.extents);
    if context.wet.is_empty() {
        return dry;
    }
    let factor = batch.load_with(i, |at| f64::from(context.wet[at].stiffness / context.wet[at].load));
    stiffened(dry, factor)
}

impl Scratch {
    /// Directions and rolls at the root are held as soon as more than one vertex is.
    fn anchor(&mut self, frame: Turn, clamped: usize, lengths: &[Lane]) {
        self.anchors.clear();
        let held = if clamped > 1 { clamped.min(self.masses.len()) } else { 0 };
        let square = lengths[1] * lengths[1];
        self.anchors.extend((0..held).map(|vertex| Anchor {
            vertex,
            frame,
            moment: self.masses[vertex] * square * Lane::splat(TURNED),
        }));
    }
}

/// One substep of four strands.
pub(crate) fn solve(
    context: &Context,
    parameters: &Parameters,
    batch: &Batch,
    span: &mut Span,
    partition: &mut Partition,
) {
    // The model was built with its method's rest shape.
    let Some(rest) = &context.model.csm else { return };
    let clamped = parameters.clamped as usize;
    let mut scratch = std::mem::take(&mut partition.csm);
    predict::predict(context, batch, span, partition);
    scratch.load(context, rest, clamped, batch, partition);
    if clamped == 0 {
        predict_loose(context, batch, span, partition);
        scratch.predicted.clear();
        scratch.predicted.extend_from_slice(&partition.new[..batch.longest]);
    }
    hold_roots(context, &scratch.rest, clamped, batch, &mut partition.new);
    let start = Turn::new(std::array::from_fn(|lane| context.roots.frames[batch.strand_of(lane)]));
    scratch.anchor(start, clamped, &partition.lengths);

    let chains = Chains { rest: &scratch.rest, masses: &scratch.masses, extents: &scratch.extents };
    let ratio = (context.dt / REFERENCE_STEP).powi(2) * parameters.relaxation;
    let passes = ratio.ceil().clamp(1.0, f64::from(PASSES));
    let gain = Lane::splat((ratio / passes).min(1.0));
    for _ in 0..passes as u32 {
        match_shape(&mut scratch.work, chains, &scratch.anchors, start, gain, &mut partition.new[..batch.longest]);
        hold_roots(context, &scratch.rest, clamped, batch, &mut partition.new);
        predict::clamp_tips(context, batch, &mut partition.new);
    }

    if clamped == 0 || context.model.tip == Tip::Clamped {
        between_clamps(context, parameters, batch, partition);
    } else {
        from_root(context, parameters, batch, &scratch.rest, partition);
    }
    // A tip that is held takes angular momentum.
    let loose = clamped == 0 && context.model.tip == Tip::Free;
    let spin = loose.then(|| spin_back(context, batch, &scratch, partition));
    store(context, batch, span, partition, spin);
    partition.csm = scratch;
}

/// The first vertex of loose strands moves like all others.
fn predict_loose(context: &Context, batch: &Batch, span: &Span, partition: &mut Partition) {
    let forces = &context.forces;
    let x = partition.old[0];
    let radius = batch.load_scalar(0, &context.model.radii);
    let wind = forces.wind(batch, 1, x, Lane3::ZERO);
    let tangent = unit(partition.old[1] - x);
    let v = forces.velocity(batch.load(0, span.base, span.velocities), tangent, radius, context.loads(batch, 0), wind);
    partition.new[0] = v.mul_add(Lane::splat(context.dt), x);
}

/// Puts the vertices that are held at the root where its frame has them.
fn hold_roots(context: &Context, rest: &[Lane3], clamped: usize, batch: &Batch, new: &mut [Lane3]) {
    for i in 0..clamped.min(batch.longest) {
        for lane in 0..LANES {
            let strand = batch.strand_of(lane);
            let at = context.roots.positions[strand] + context.roots.frames[strand] * rest[i].lane(lane);
            new[i].set_lane(lane, at);
        }
    }
}

/// Lengths and contact of strands that are held at the root alone: solids, a solve that keeps momentum, then one sweep that is exact and
/// meets the solids again. The sweep moves vertices by what the solve left over and by contact.
fn from_root(context: &Context, parameters: &Parameters, batch: &Batch, rest: &[Lane3], partition: &mut Partition) {
    // What lies on a solid is held up by it: lengths must not be solved as if it fell.
    let contacts = partition.tally.contacts;
    let touching = pbd::watch(context, batch, true, partition);
    if touching {
        hold_roots(context, rest, parameters.clamped as usize, batch, &mut partition.new);
    }
    partition.tally.contacts = contacts;
    let Partition { old, new, lengths, tally, strain, watched, .. } = partition;
    let new = &mut new[..batch.longest];
    // The sweep below has friction of its own.
    strain.lean(&watched[..if touching { batch.longest } else { 0 }], false);
    let limited = strain.limit(&lengths[..batch.longest], parameters.strain_limit, ROUGH, FEW, new);
    tally.iterations += u64::from(limited.steps) * batch.strands as u64;
    tally.iterations_max = tally.iterations_max.max(limited.steps);

    let (longest, shortest) = (Lane::splat(1.0 + parameters.strain_limit), Lane::splat(1.0 - parameters.strain_limit));
    let mut anchor = new[0];
    let mut guard = Guard::at_roots(context, batch, anchor);
    let mut direction = Lane3::ZERO;
    for i in 1..batch.longest {
        let arm = new[i] - anchor;
        let now = arm.dot(arm).sqrt();
        // Vertices on top of each other go on as the strand did.
        let nowhere = now.simd_le(lengths[i] * Lane::splat(1e-9));
        if nowhere.any() {
            let along = unit(arm);
            direction = Lane3 {
                x: nowhere.select(direction.x, along.x),
                y: nowhere.select(direction.y, along.y),
                z: nowhere.select(direction.z, along.z),
            };
        } else {
            direction = arm * (Lane::ONE / now);
        }
        let length = now.fast_max(lengths[i] * shortest).fast_min(lengths[i] * longest);
        let mut placed = direction.mul_add(length, anchor);
        if i < parameters.clamped as usize {
            placed = new[i];
        } else if let Some(guard) = &mut guard {
            let near = guard.near(context, length, old[i], placed, Lane::ZERO);
            if near != 0 {
                let vertex = Vertex { old: old[i], new: placed, anchor, length };
                placed = guard.place(context, batch, i, near, vertex, tally);
            }
        }
        new[i] = placed;
        anchor = placed;
    }
}

/// Lengths and contact of strands that are loose or held at both ends.
fn between_clamps(context: &Context, parameters: &Parameters, batch: &Batch, partition: &mut Partition) {
    let longest = batch.longest;
    let held = parameters.clamped > 0;
    let touching = pbd::watch(context, batch, held, partition);
    let working = Lane::new(std::array::from_fn(|lane| if lane < batch.strands { 1.0 } else { 0.0 }));
    let (mut steps, mut beyond) = (0, Lane::ZERO);
    for round in 0..if touching { ROUNDS } else { 1 } {
        let Partition { new, lengths, strain, watched, .. } = partition;
        strain.lean(&watched[..if touching { longest } else { 0 }], parameters.clamped == 0);
        let limited = strain.limit(&lengths[..longest], parameters.strain_limit, FINE, MANY, &mut new[..longest]);
        (steps, beyond) = (steps + limited.steps, limited.beyond);
        // The last word is the lengths'.
        if touching && round + 1 < ROUNDS {
            pbd::touch(context, batch, held, working, partition);
        }
    }
    let tally = &mut partition.tally;
    tally.iterations += u64::from(steps) * batch.strands as u64;
    tally.iterations_max = tally.iterations_max.max(steps);
    tally.unconverged += (0..batch.strands).filter(|&lane| beyond.as_array()[lane] > 0.0).count() as u64;
}

/// Positions and velocities to the state; loose strands also get a rotation [rad/s] about a centre.
fn store(context: &Context, batch: &Batch, span: &mut Span, partition: &mut Partition, spin: Option<(Lane3, Lane3)>) {
    let base = span.base;
    let inverse_step = Lane::splat(1.0 / context.dt);
    let Partition { old, new, tally, .. } = partition;
    let (mut fastest, mut total) = (Lane::ZERO, Lane::ZERO);
    for i in 0..batch.longest {
        let mut velocity = (new[i] - old[i]) * inverse_step;
        if let Some((rate, centre)) = spin {
            velocity = velocity + rate.cross(new[i] - centre);
        }
        let square = velocity.dot(velocity) * batch.presence(i);
        fastest = fastest.fast_max(square);
        total += square;
        batch.store(i, base, span.positions, new[i]);
        batch.store(i, base, span.velocities, velocity);
    }
    tally.record_speeds(fastest, total);
}

/// The rotation [rad/s] about the centres of mass that gives loose strands back the angular momentum
/// sum m x_old x (x_new - x_predicted) / dt, which internal impulses at other places than x_old have changed.
fn spin_back(context: &Context, batch: &Batch, scratch: &Scratch, partition: &Partition) -> (Lane3, Lane3) {
    let (mut rates, mut centres) = (Lane3::ZERO, Lane3::ZERO);
    for lane in 0..batch.strands {
        // Momentum that a solid may have taken is gone.
        if !context.colliders.is_empty() && partition.watched[..batch.longest].iter().any(|w| w.lanes >> lane & 1 == 1)
        {
            continue;
        }
        let count = batch.tip(lane) + 1;
        let mass = |i: usize| scratch.masses[i].as_array()[lane];
        let total: f64 = (0..count).map(mass).sum();
        let mean = |of: &[Lane3]| (0..count).map(|i| of[i].lane(lane) * mass(i)).sum::<DVec3>() / total;
        let (centre, old_centre) = (mean(&partition.new), mean(&partition.old));
        let (mut lost, mut inertia) = (DVec3::ZERO, DMat3::ZERO);
        for i in 0..count {
            let moved = partition.new[i].lane(lane) - scratch.predicted[i].lane(lane);
            lost += (partition.old[i].lane(lane) - old_centre).cross(moved) * (mass(i) / context.dt);
            let arm = partition.new[i].lane(lane) - centre;
            let outer = DMat3::from_cols(arm * arm.x, arm * arm.y, arm * arm.z);
            inertia += (DMat3::IDENTITY * arm.length_squared() - outer) * mass(i);
        }
        // A straight strand has no inertia about itself, and has lost no spin about itself.
        let trace = inertia.x_axis.x + inertia.y_axis.y + inertia.z_axis.z;
        let solved = (inertia + DMat3::IDENTITY * (1e-12 * trace)).inverse() * -lost;
        rates.set_lane(lane, if solved.is_finite() { solved } else { DVec3::ZERO });
        centres.set_lane(lane, centre);
    }
    (rates, centres)
}
