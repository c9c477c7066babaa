//! Contact along a strand: cheap where solids are far.
//!
//! A distance field changes by at most the distance walked, so the clearance measured at one vertex bounds that of its
//! successors. A vertex is looked at only if its bound is smaller than what it and the solids move in the substep.

use super::Context;
use super::lanes::{Batch, LANES, Lane, Lane3};
use super::state::{Tally, Watched};
use crate::contact::{self, Hold};

/// Rise over run of the cone around a root in which hair may lie closer to the skin than the contact radius.
const ROOT_SLOPE: f64 = 0.3;
/// Segments over which a root that lies inside its solid is led out.
const ROOT_SEGMENTS: f64 = 4.0;

/// A vertex being placed at `length` from `anchor`.
pub(crate) struct Vertex {
    pub old: Lane3,
    pub new: Lane3,
    pub anchor: Lane3,
    pub length: Lane,
}

/// Walks along a batch with it.
pub(crate) struct Guard {
    /// Lower bound of the distance to any solid.
    clear: Lane,
    /// Upper bound of how far solids carry a vertex of this strand.
    carry: Lane,
    /// Arc length from the root.
    arc: Lane,
    /// How far the root itself lies inside (0 or negative), and the arc length over which that is forgiven.
    root_depth: Lane,
    forgiven: Lane,
}

impl Guard {
    /// None if there is nothing to touch.
    #[inline(always)]
    pub fn at_roots(context: &Context, batch: &Batch, roots: Lane3) -> Option<Self> {
        if context.colliders.is_empty() {
            return None;
        }
        let (mut clear, mut carry) = ([f64::INFINITY; LANES], [0.0; LANES]);
        for lane in 0..batch.strands {
            let reach = f64::from(context.model.reaches[batch.strand_of(lane)]);
            (clear[lane], carry[lane]) = contact::clearance(context.colliders, roots.lane(lane), reach);
        }
        let clear = Lane::new(clear);
        let first = batch.load_scalar(1, &context.model.lengths);
        Some(Self {
            clear,
            carry: Lane::new(carry),
            arc: Lane::ZERO,
            root_depth: clear.fast_min(Lane::ZERO),
            forgiven: Lane::ONE / (first * Lane::splat(ROOT_SEGMENTS)),
        })
    }

    /// The guard of strands that are held nowhere: no vertex may be closer to a solid than others.
    pub fn loose(self) -> Self {
        Self { arc: Lane::splat(1e9), root_depth: Lane::ZERO, ..self }
    }

    /// Walks on by one segment of this length and says which lanes may touch a solid, as bits, if the vertex moves from
    /// `old` to `new` and the solver by `slack` more.
    #[inline(always)]
    pub fn near(&mut self, context: &Context, length: Lane, old: Lane3, new: Lane3, slack: Lane) -> u32 {
        self.arc += length;
        self.clear -= length;
        let moved = new - old;
        let radius = Lane::splat(context.model.material.contact_radius);
        let margin = self.carry + moved.dot(moved).sqrt() + radius + slack;
        self.clear.simd_lt(margin).to_bitmask()
    }

    /// Distance that vertex at the current arc length must keep.
    #[inline]
    pub fn keep(&self, context: &Context, lane: usize) -> f64 {
        let arc = self.arc.as_array()[lane];
        let led_out = (1.0 - arc * self.forgiven.as_array()[lane]).max(0.0);
        let radius = context.model.material.contact_radius;
        radius.min(ROOT_SLOPE * arc) + self.root_depth.as_array()[lane] * led_out
    }

    /// Puts the lanes in `near` at their length from the anchor and outside of all solids.
    #[cold]
    pub fn place(
        &mut self,
        context: &Context,
        batch: &Batch,
        i: usize,
        near: u32,
        mut vertex: Vertex,
        tally: &mut Tally,
    ) -> Lane3 {
        for lane in 0..LANES {
            if near >> lane & 1 == 0 || !batch.has(lane, i) {
                continue;
            }
            let (old, new) = (vertex.old.lane(lane), vertex.new.lane(lane));
            let hold = Hold { anchor: vertex.anchor.lane(lane), length: vertex.length.as_array()[lane] };
            let touch = contact::resolve(context.colliders, old, new, self.keep(context, lane), Some(hold));
            if touch.contact {
                vertex.new.set_lane(lane, touch.position);
                tally.contacts += 1;
                tally.penetration_max = tally.penetration_max.max(touch.penetration);
            }
            self.clear.as_mut_array()[lane] = touch.clearance;
        }
        vertex.new
    }

    /// Moves the lanes in `near` from `old` to `new` without entering a solid, and notes how far they stay from any.
    pub fn meet(
        &mut self,
        context: &Context,
        batch: &Batch,
        i: usize,
        near: u32,
        (old, new): (Lane3, &mut Lane3),
        tally: &mut Tally,
    ) -> Watched {
        let mut watched = Watched::default();
        for lane in 0..LANES {
            if near >> lane & 1 == 0 || !batch.has(lane, i) {
                continue;
            }
            let keep = self.keep(context, lane);
            let touch = contact::resolve(context.colliders, old.lane(lane), new.lane(lane), keep, None);
            if touch.contact {
                new.set_lane(lane, touch.position);
                tally.contacts += 1;
            }
            self.clear.as_mut_array()[lane] = touch.clearance;
            watched.lanes |= 1 << lane;
            watched.keep[lane] = keep;
            watched.clear[lane] = touch.clearance;
            watched.seen[lane] = touch.position;
            if touch.contact {
                watched.normal[lane] = touch.normal;
                watched.grip[lane] = if touch.stuck { touch.friction } else { 0.0 };
            }
        }
        watched
    }
}
