//! Implicit bending of a strand with momentum kept: one banded solve from root to tip and back.
//!
//! The bent state minimises, over the free vertices,
//!
//! sum m_i / (2 dt^2) |x_i - p_i|^2 + sum k_i / 2 |x_i - x_(i-1) - r_i (x_(i-1) - x_(i-2)) - c_i|^2,  r_i = l_i / l_(i-1),
//!
//! where k_i = EI / (b_i l_i^2) makes the second sum the bending energy of a rod (angle at the joint: distance over l_i; b_i is
//! the length of rod that the joint stands for: half of both segments, half of the first at the clamp), and c_i is by how much
//! the groomed segment i departs from going straight on, in a rotation-minimising frame between the old shape and the
//! groomed one. At the clamp the goal is the first groomed segment itself. The matrix has five diagonals and is the same for x, y, z: bending of any stiffness costs two sweeps, needs no iterations
//! and never overshoots.
//!
//! Damping of ratio zeta acts on the rate of curvature: the goal becomes a mean of the groomed and the old curvature
//! (turned with the root), weights 1 and eta = 2 zeta / (w dt), and k grows by 1 + eta; w is the first frequency of the strand
//! as a cantilever, so that zeta is the damping ratio of the slowest motion.
//!
//! Breaks down: c_i is taken from frames of the beginning, so a tight curl follows a fast turn one step late; and lengths are
//! restored after bending, not with it, which errs by about dt^2 w^2 / 12 of the tension.

use super::Context;
use super::lanes::{Batch, Lane, Lane3, unit};
use super::shape::{self, Frame, RootTurn, Shape};
use super::state::Partition;

/// How far frames are led from the old shape to the groomed one. The departure from straight turns with the frame; if it
/// merely followed the old shape, a stiff curl that is turned by a small angle would stay turned or turn further, by up to the
/// angle between its first and its last segment. Above one half every error shrinks.
const LEAD: f64 = 0.6;

/// One eliminated row: x_i = right - first x_(i+1) - second x_(i+2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    first: Lane,
    second: Lane,
    right: Lane3,
}

impl Default for Row {
    fn default() -> Self {
        Self { first: Lane::ZERO, second: Lane::ZERO, right: Lane3::ZERO }
    }
}

/// One equation while it gathers its terms: pivot x_i + first x_(i+1) + second x_(i+2) = right.
#[derive(Clone, Copy)]
struct Equation {
    pivot: Lane,
    first: Lane,
    second: Lane,
    right: Lane3,
}

impl Equation {
    /// Inertia alone. Lanes without this vertex get an equation of their own that couples to nothing.
    #[inline(always)]
    fn inertia(mass: Lane, prediction: Lane3) -> Self {
        Self { pivot: mass, first: Lane::ZERO, second: Lane::ZERO, right: prediction * mass }
    }

    /// Takes this vertex out of the two equations that follow.
    #[inline(always)]
    fn eliminate(self, next: &mut Self, after: Option<&mut Self>) -> Row {
        let inverse = Lane::ONE / self.pivot;
        let (first, second) = (self.first * inverse, self.second * inverse);
        next.pivot = first.mul_neg_add(self.first, next.pivot);
        next.first = first.mul_neg_add(self.second, next.first);
        next.right = self.right.mul_add(-first, next.right);
        if let Some(after) = after {
            after.pivot = second.mul_neg_add(self.second, after.pivot);
            after.right = self.right.mul_add(-second, after.right);
        }
        Row { first, second, right: self.right * inverse }
    }
}

/// Bends the predictions in `new`, vertex 0 being held: one sweep to the tip that builds and eliminates, one back.
pub(super) fn bend(context: &Context, shape: &Shape, batch: &Batch, partition: &mut Partition) {
    let model = context.model;
    let Partition { old, new, lengths, directions, rod, .. } = partition;
    let longest = batch.longest;
    let mut frame = Frame::at_roots(model, context.roots, batch);
    let turn = RootTurn::new(context.roots, batch);
    let damped = shape.has_damping();
    let eta = if damped { damping(context, shape, batch) } else { Lane::ZERO };
    let share = Lane::ONE / (Lane::ONE + eta);
    let stiffen = shape.dt_squared * (Lane::ONE + eta);
    let mass_of = |i: usize| context.masses(batch, i);
    let stiffness_of = |i: usize| context.stiffness(batch, i) * stiffen * batch.presence(i);

    // The clamp: the goal of the first segment is the groomed one.
    let mut segment = old[1] - old[0];
    let groomed = frame.tangent * lengths[1];
    let goal = if damped { turn.apply(segment).mul_add(eta, groomed) * share } else { groomed };
    let k = stiffness_of(1);
    // Equations i - 2 and i - 1 of the joint at work; the first of them is that of the held root.
    let mut before = Equation::inertia(Lane::ONE, new[0]);
    let mut last = Equation::inertia(mass_of(1), new[1]);
    last.pivot += k;
    last.right = (goal + new[0]).mul_add(k, last.right);
    frame = frame.carried(led(turn.apply(directions[1]), frame.tangent));

    for i in 2..longest {
        let k = stiffness_of(i);
        let groomed = frame.direction(context.rest_direction(batch, i));
        let mut curvature = (groomed - frame.tangent) * lengths[i];
        let ratio = lengths[i] / lengths[i - 1];
        let next_segment = old[i] - old[i - 1];
        if damped {
            let was = segment.mul_add(-ratio, next_segment);
            curvature = turn.apply(was).mul_add(eta, curvature) * share;
        }
        // The stencil (r, -(1 + r), 1) on vertices i - 2, i - 1, i.
        let middle = -(Lane::ONE + ratio);
        let (k_middle, k_ratio) = (k * middle, k * ratio);
        let mut this = Equation::inertia(mass_of(i), new[i]);
        this.pivot += k;
        this.right = curvature.mul_add(k, this.right);
        last.pivot = k_middle.mul_add(middle, last.pivot);
        last.first += k_middle;
        last.right = curvature.mul_add(k_middle, last.right);
        if i == 2 {
            // Vertex 0 is known.
            this.right = new[0].mul_add(-k_ratio, this.right);
            last.right = new[0].mul_add(-(k_ratio * middle), last.right);
        } else {
            before.pivot = k_ratio.mul_add(ratio, before.pivot);
            before.first = k_ratio.mul_add(middle, before.first);
            before.second += k_ratio;
            before.right = curvature.mul_add(k_ratio, before.right);
            rod[i - 2] = before.eliminate(&mut last, Some(&mut this));
        }
        (before, last) = (last, this);

        let turned = shape::turn(directions[i], directions[i - 1], frame.tangent);
        frame = frame.carried(led(turned, groomed));
        segment = next_segment;
    }

    if longest > 2 {
        rod[longest - 2] = before.eliminate(&mut last, None);
    }
    let mut after = Lane3::ZERO;
    let mut x = last.right * (Lane::ONE / last.pivot);
    new[longest - 1] = x;
    for i in (1..longest - 1).rev() {
        let row = &rod[i];
        let here = after.mul_add(-row.second, x.mul_add(-row.first, row.right));
        new[i] = here;
        (after, x) = (x, here);
    }
}

/// The direction of the frame to come: the old segment turned with its predecessor, led towards the groomed direction.
#[inline(always)]
fn led(turned: Lane3, groomed: Lane3) -> Lane3 {
    unit(groomed.mul_add(Lane::splat(LEAD), turned * Lane::splat(1.0 - LEAD)))
}

/// eta = 2 zeta / (w dt) with w = 3.516 sqrt(EI / (m' L^4)), the first frequency of a cantilever.
fn damping(context: &Context, shape: &Shape, batch: &Batch) -> Lane {
    let model = context.model;
    // EI = k b l^2 at the clamp, where b = l / 2; m' from the tip's half segment would be noise, from the first is enough.
    let stiffness = context.stiffness(batch, 1);
    let length = batch.load_scalar(1, &model.lengths);
    let mass = context.masses(batch, 0);
    let reach = Lane::new(std::array::from_fn(|lane| f64::from(model.reaches[batch.strand_of(lane)])));
    // The root vertex holds half of the first segment: m' = 2 m_0 / l_1.
    let rigidity = stiffness * length * length * length * Lane::splat(0.5);
    let per_length = (mass + mass) / length;
    let slow = reach * reach;
    let frequency = Lane::splat(3.516) * (rigidity / per_length).sqrt() / slow;
    let step = shape.dt_squared.sqrt();
    shape.damping / (frequency * step).fast_max(Lane::splat(1e-12))
}
