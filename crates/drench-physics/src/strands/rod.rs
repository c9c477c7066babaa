//! Implicit bending of a strand with momentum kept: one banded solve from tip to root and back.
//!
//! The bent state minimises, over the free vertices,
//!
//! sum m_i / (2 dt^2) |x_i - p_i|^2 + sum k_i / 2 |x_i - x_(i-1) - r_i (x_(i-1) - x_(i-2)) - c_i|^2,  r_i = l_i / l_(i-1),
//!
//! where k_i = EI / (b_i l_i^2) makes the second sum the bending energy of a rod (angle at the joint: distance over l_i; b_i is
//! the length of rod that the joint stands for), and c_i is by how much the groomed segment i departs from going straight on, in
//! a rotation-minimising frame between the old shape and the groomed one. At the clamp the goal is the first groomed segment itself. The
//! matrix has five diagonals and is the same for x, y, z: bending of any stiffness costs two sweeps, needs no iterations
//! and never overshoots.
//!
//! Damping of ratio zeta acts on the rate of curvature: the goal becomes a mean of the groomed and the old curvature
//! (turned with the root), weights 1 and eta = 2 zeta / (w dt), and k grows by 1 + eta; w is the first frequency of the strand
//! as a cantilever, so that zeta is the damping ratio of the slowest motion.

use super::Context;
use super::dftl::turned_with_roots;
use super::lanes::{Batch, Lane, Lane3, unit};
use super::model::Joint;
use super::shape::{self, Frame, Shape};
use super::state::Partition;

/// How far frames are led from the old shape to the groomed one. The departure from straight turns with the frame; if it
/// merely followed the old shape, a stiff curl that is turned by a small angle would stay turned or turn further, by up to the
/// angle between its first and its last segment. Above one half every error shrinks.
const LEAD: f64 = 0.6;

/// One row of the factorised matrix L D L^T and its right-hand side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    inverse_pivot: Lane,
    /// Entries of L in the two rows below.
    first: Lane,
    second: Lane,
    right: Lane3,
}

impl Default for Row {
    fn default() -> Self {
        Self { inverse_pivot: Lane::ONE, first: Lane::ZERO, second: Lane::ZERO, right: Lane3::ZERO }
    }
}

/// k = EI / (b l^2) [N/m].
pub(super) fn stiffness(joint: &Joint) -> f64 {
    joint.rigidity / (joint.stands_for * joint.length * joint.length)
}

/// Bends the predictions in `new`, vertex 0 being held.
pub(super) fn bend(context: &Context, shape: &Shape, batch: &Batch, partition: &mut Partition) {
    let model = context.model;
    let Partition { old, new, rod, .. } = partition;
    let longest = batch.longest;
    // The matrix, first as its three upper diagonals: pivot, first, second.
    for i in 1..longest {
        // Lanes without this vertex get an equation of their own that couples to nothing.
        let mass = batch.load_scalar(i, &model.masses);
        rod[i] = Row { inverse_pivot: mass, first: Lane::ZERO, second: Lane::ZERO, right: new[i] * mass };
    }

    let mut frame = Frame::at_roots(model, context.roots, batch);
    let damped = shape.has_damping();
    let eta = if damped { damping(context, shape, batch) } else { Lane::ZERO };
    let share = Lane::ONE / (Lane::ONE + eta);
    let stiffen = shape.dt_squared * (Lane::ONE + eta);
    let mut direction_before = frame.tangent;
    let mut length_before = Lane::ONE;
    for i in 1..longest {
        let k = batch.load_scalar(i, &model.stiffness) * stiffen * batch.presence(i);
        let length = batch.load_scalar(i, &model.lengths);
        let groomed = frame.direction(batch.load_short(i, 0, &model.rest_directions)) * length;
        let segment = old[i] - old[i - 1];
        if i == 1 {
            let mut goal = groomed;
            if damped {
                goal = (turned_with_roots(context, batch, segment).mul_add(eta, goal)) * share;
            }
            rod[1].inverse_pivot += k;
            rod[1].right = (goal + new[0]).mul_add(k, rod[1].right);
        } else {
            let ratio = length / length_before;
            let mut curvature = frame.tangent.mul_add(-length, groomed);
            if damped {
                let was = (old[i - 1] - old[i - 2]).mul_add(-ratio, segment);
                let turned = turned_with_roots(context, batch, was);
                curvature = (turned.mul_add(eta, curvature)) * share;
            }
            // The stencil (r, -(1 + r), 1) on vertices i - 2, i - 1, i.
            let middle = -(Lane::ONE + ratio);
            rod[i].inverse_pivot += k;
            rod[i].right = curvature.mul_add(k, rod[i].right);
            let k_middle = k * middle;
            rod[i - 1].inverse_pivot = k_middle.mul_add(middle, rod[i - 1].inverse_pivot);
            rod[i - 1].first += k_middle;
            let k_ratio = k * ratio;
            if i == 2 {
                // Vertex 0 is known.
                let known = new[0] * -k_ratio;
                rod[2].right = rod[2].right + known;
                rod[1].right = (curvature.mul_add(k, known)).mul_add(middle, rod[1].right);
            } else {
                rod[i - 1].right = curvature.mul_add(k_middle, rod[i - 1].right);
                rod[i - 2].inverse_pivot = k_ratio.mul_add(ratio, rod[i - 2].inverse_pivot);
                rod[i - 2].first = k_ratio.mul_add(middle, rod[i - 2].first);
                rod[i - 2].second += k_ratio;
                rod[i - 2].right = curvature.mul_add(k_ratio, rod[i - 2].right);
            }
        }
        // The frame to come: the old segment turned with its predecessor, led towards the groomed direction.
        let direction = unit(segment);
        let turned = if i == 1 {
            turned_with_roots(context, batch, direction)
        } else {
            shape::turn(direction, direction_before, frame.tangent)
        };
        let led = turned * Lane::splat(1.0 - LEAD) + groomed * (Lane::splat(LEAD) / length);
        frame = frame.carried(unit(led));
        direction_before = direction;
        length_before = length;
    }
    substitute(&mut rod[..longest], &mut new[..longest]);
}

/// Solves the five-diagonal system: elimination towards the tip, substitution back.
fn substitute(rod: &mut [Row], new: &mut [Lane3]) {
    let count = rod.len();
    for i in 1..count {
        let row = rod[i];
        let inverse = Lane::ONE / row.inverse_pivot;
        let (first, second) = (row.first * inverse, row.second * inverse);
        if i + 1 < count {
            let next = &mut rod[i + 1];
            next.inverse_pivot = first.mul_neg_add(row.first, next.inverse_pivot);
            next.first = first.mul_neg_add(row.second, next.first);
            next.right = row.right.mul_add(-first, next.right);
        }
        if i + 2 < count {
            let after = &mut rod[i + 2];
            after.inverse_pivot = second.mul_neg_add(row.second, after.inverse_pivot);
            after.right = row.right.mul_add(-second, after.right);
        }
        rod[i] = Row { inverse_pivot: inverse, first, second, right: row.right * inverse };
    }
    for i in (1..count).rev() {
        let mut x = rod[i].right;
        if i + 1 < count {
            x = new[i + 1].mul_add(-rod[i].first, x);
        }
        if i + 2 < count {
            x = new[i + 2].mul_add(-rod[i].second, x);
        }
        new[i] = x;
    }
}

/// eta = 2 zeta / (w dt) with w = 3.516 sqrt(EI / (m' L^4)), the first frequency of a cantilever.
fn damping(context: &Context, shape: &Shape, batch: &Batch) -> Lane {
    let model = context.model;
    // EI = k b l^2 at the clamp, where b = l / 2; m' from the tip's half segment would be noise, from the first is enough.
    let stiffness = batch.load_scalar(1, &model.stiffness);
    let length = batch.load_scalar(1, &model.lengths);
    let mass = batch.load_scalar(0, &model.masses);
    let reach = Lane::new(std::array::from_fn(|lane| f64::from(model.reaches[batch.strand_of(lane)])));
    // The root vertex holds half of the first segment: m' = 2 m_0 / l_1.
    let rigidity = stiffness * length * length * length * Lane::splat(0.5);
    let per_length = (mass + mass) / length;
    let slow = reach * reach;
    let frequency = Lane::splat(3.516) * (rigidity / per_length).sqrt() / slow;
    let step = shape.dt_squared.sqrt();
    shape.damping / (frequency * step).fast_max(Lane::splat(1e-12))
}
