//! Keeping the groomed shape: frames carried from root to tip, goals in them, and the lever of the distal weight.

use super::lanes::{Batch, LANES, Lane, Lane3};
use super::state::Roots;
use super::{Environment, StrandModel};

/// Shortest lever of the distal weight, relative to a straight strand, that is believed.
const LEVER_LEAST: f64 = 0.2;

/// The constants of shape keeping in a substep.
pub(crate) struct Shape {
    /// dt^2 [s2].
    pub dt_squared: Lane,
    /// Twice the damping ratio.
    pub damping: Lane,
    has_damping: bool,
    down: Option<Lane3>,
}

impl Shape {
    /// None if the strands are limp.
    pub fn new(model: &StrandModel, environment: &Environment, dt: f64) -> Option<Self> {
        let damping = model.material.shape_damping;
        let limp = model.material.shape * model.material.youngs_modulus == 0.0;
        (!limp).then(|| Self {
            dt_squared: Lane::splat(dt * dt),
            damping: Lane::splat(2.0 * damping),
            has_damping: damping > 0.0,
            down: environment.gravity.try_normalize().map(Lane3::splat),
        })
    }

    /// Tip to root over the old positions: for each vertex the horizontal lever of everything distal about its
    /// predecessor, relative to the lever it would have if the strand ran on straight, between 0.2 and 1.
    ///
    /// The stiffness of the model assumes the straight lever; dividing by this makes a bent strand carry the moment that
    /// an elastic rod carries, M_i = sum m_j (x_j - x_(i-1)) x g.
    #[inline(always)]
    pub fn levers(&self, model: &StrandModel, batch: &Batch, old: &[Lane3], lever: &mut [Lane]) {
        let Some(down) = self.down else {
            lever[..batch.longest].fill(Lane::ONE);
            return;
        };
        let (mut mass, mut first, mut moment) = (Lane::ZERO, Lane3::ZERO, Lane::ZERO);
        let small = Lane::splat(1e-3);
        for i in (1..batch.longest).rev() {
            let present = batch.presence(i);
            let vertex_mass = batch.load_scalar(i, &model.masses) * present;
            let length = batch.load_scalar(i, &model.lengths);
            mass += vertex_mass;
            first = old[i].mul_add(vertex_mass, first);
            moment = length.mul_add(mass, moment);
            let segment = old[i] - old[i - 1];
            let arm = old[i - 1].mul_add(-mass, first);
            let flat = down.mul_add(-segment.dot(down), segment);
            // l arm.flat / (Q flat^2), held at 1 where the segment hangs straight down and neither matters.
            let floor = small * length * length;
            let above = length.mul_add(arm.dot(flat), moment * floor);
            let below = (moment * (flat.dot(flat) + floor)).fast_max(Lane::splat(1e-300));
            lever[i] = (above / below).fast_max(Lane::splat(LEVER_LEAST)).fast_min(Lane::ONE);
        }
    }

    /// The prediction `p` of vertex `i` pulled to its goal, `anchor` + `length` times the rest direction in `frame`.
    ///
    /// Implicit in the pull, q = (p + A g + B h) / (1 + A + B) with A = (w dt)^2: the same motion for any step that resolves
    /// it, and the goal itself for one that does not. B = 2 zeta w dt damps the motion relative to `h`, where the old segment
    /// would be had it turned with its predecessor.
    #[inline(always)]
    pub fn pull(&self, p: Lane3, anchor: Lane3, goal: Lane3, turned: Lane3, stiffness: Lane, lever: Lane) -> Lane3 {
        let a = stiffness * self.dt_squared / lever;
        let pulled = goal.mul_add(a, p);
        if self.has_damping {
            let b = self.damping * a.sqrt();
            let weight = Lane::ONE / (Lane::ONE + a + b);
            (turned + anchor).mul_add(b, pulled) * weight
        } else {
            pulled * (Lane::ONE / (Lane::ONE + a))
        }
    }

    /// Whether [`Self::pull`] uses `turned`.
    #[inline(always)]
    pub fn has_damping(&self) -> bool {
        self.has_damping
    }
}

/// Rotation-minimising frame of the segment last placed.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    pub tangent: Lane3,
    pub normal: Lane3,
}

impl Frame {
    /// The frames that the roots give the first segments.
    #[inline(always)]
    pub fn at_roots(model: &StrandModel, roots: &Roots, batch: &Batch) -> Self {
        let turned: [_; LANES] = std::array::from_fn(|lane| {
            let strand = batch.strand_of(lane);
            let [tangent, normal] = model.root_frames[strand];
            (roots.frames[strand] * tangent, roots.frames[strand] * normal)
        });
        Self { tangent: Lane3::new(turned.map(|t| t.0)), normal: Lane3::new(turned.map(|t| t.1)) }
    }

    /// A direction given in this frame.
    #[inline(always)]
    pub fn direction(&self, local: Lane3) -> Lane3 {
        let binormal = self.tangent.cross(self.normal);
        self.tangent.mul_add(local.x, self.normal.mul_add(local.y, binormal * local.z))
    }

    /// The frame turned by the smallest rotation that brings its tangent to `tangent`.
    #[inline(always)]
    pub fn carried(self, tangent: Lane3) -> Self {
        let moved = rotate(self.normal, self.tangent, tangent);
        // One Newton step towards orthonormal: errors of rounding must not grow along a strand of a thousand vertices.
        let moved = tangent.mul_add(-moved.dot(tangent), moved);
        let scale = moved.dot(moved).mul_add(Lane::splat(-0.5), Lane::splat(1.5));
        Self { tangent, normal: moved * scale }
    }
}

/// `v`, perpendicular to `from`, under the smallest rotation of the unit vector `from` to the unit vector `to`.
#[inline(always)]
fn rotate(v: Lane3, from: Lane3, to: Lane3) -> Lane3 {
    let fold = (Lane::ONE + from.dot(to)).fast_max(Lane::splat(1e-6));
    (from + to).mul_add(-(v.dot(to) / fold), v)
}

/// Any `v` under the smallest rotation of the unit vector `from` to the unit vector `to`.
#[inline(always)]
pub(crate) fn turn(v: Lane3, from: Lane3, to: Lane3) -> Lane3 {
    let along = v.dot(from);
    let across = from.mul_add(-along, v);
    to.mul_add(along, rotate(across, from, to))
}
