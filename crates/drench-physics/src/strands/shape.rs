//! Keeping the groomed shape: frames carried from root to tip.

use super::StrandModel;
use super::lanes::{Batch, LANES, Lane, Lane3};
use super::state::Roots;
use glam::DMat3;

/// The constants of shape keeping in a substep.
pub(crate) struct Shape {
    /// dt^2 [s2].
    pub dt_squared: Lane,
    /// Twice the damping ratio.
    pub damping: Lane,
    has_damping: bool,
}

impl Shape {
    /// None if the strands are limp or keep their shape by matching it.
    pub fn new(model: &StrandModel, dt: f64) -> Option<Self> {
        let damping = model.material.shape_damping;
        let limp = model.material.shape * model.material.youngs_modulus == 0.0;
        (!limp && model.csm.is_none()).then(|| Self {
            dt_squared: Lane::splat(dt * dt),
            damping: Lane::splat(2.0 * damping),
            has_damping: damping > 0.0,
        })
    }

    /// Whether bending is damped.
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

/// How the roots of a batch turn during the substep: a rotation matrix, by columns.
#[derive(Clone, Copy)]
pub(crate) struct RootTurn([Lane3; 3]);

impl RootTurn {
    pub fn new(roots: &Roots, batch: &Batch) -> Self {
        let turns: [DMat3; LANES] = std::array::from_fn(|lane| {
            let strand = batch.strand_of(lane);
            let (after, before) = (roots.frames[strand], roots.frames_before[strand]);
            // Exactly the identity if the root does not turn: at rest nothing may move.
            if after == before { DMat3::IDENTITY } else { DMat3::from_quat(after * before.inverse()) }
        });
        Self([0, 1, 2].map(|column| Lane3::new(turns.map(|turn| turn.col(column)))))
    }

    /// `v` turned as the roots turn.
    #[inline(always)]
    pub fn apply(&self, v: Lane3) -> Lane3 {
        let [x, y, z] = self.0;
        x.mul_add(v.x, y.mul_add(v.y, z * v.z))
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
