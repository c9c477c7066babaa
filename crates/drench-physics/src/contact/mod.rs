//! Contact of vertices with solids that move, fast or slowly.
//!
//! Work is done in the solid's own frame: there the solid stands still and a vertex travels from where it was, seen from
//! the pose before the substep, to where it wants to be, seen from the pose after. That path is sphere-traced through the
//! distance field, so neither a fast hair nor a fast solid can jump through. A vertex that would end closer than the
//! contact radius is pushed out along the field's gradient; its slip along the surface is reduced by Coulomb's law on
//! displacements, at most mu times the push [Mueller2007, section 3.5].
//!
//! A deforming solid gives its surface displacement over the substep as a function of the local point; without it the
//! surface is taken to move with the poses.

mod resolve;

pub(crate) use resolve::{Hold, clearance, resolve};

use drench_geometry::field::Field;
use glam::{DMat3, DQuat, DVec3};

/// A signed distance with its gradient, negative inside.
pub trait SignedDistance: Sync {
    /// Distance [local m] at a local point, and the unit direction in which it grows.
    fn distance_and_gradient(&self, point: DVec3) -> (f64, DVec3);

    /// The distance alone, which most questions are about.
    fn distance(&self, point: DVec3) -> f64 {
        self.distance_and_gradient(point).0
    }

    /// Distance and gradient as exact as can be outside and within `reach` [local m].
    fn nearest(&self, point: DVec3, _reach: f64) -> (f64, DVec3) {
        self.distance_and_gradient(point)
    }
}

impl SignedDistance for Field {
    #[inline]
    fn distance_and_gradient(&self, point: DVec3) -> (f64, DVec3) {
        Field::distance_and_gradient(self, point)
    }

    fn distance(&self, point: DVec3) -> f64 {
        Field::distance(self, point)
    }

    fn nearest(&self, point: DVec3, reach: f64) -> (f64, DVec3) {
        Field::nearest(self, point, reach)
    }
}

/// Where a solid stands: world = translation + rotation (scale local).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// Rotation from local to world.
    pub rotation: DQuat,
    /// Position of the local origin [m].
    pub translation: DVec3,
    /// World metres per local metre.
    pub scale: f64,
}

impl Placement {
    /// Local and world coordinates agree.
    pub const IDENTITY: Self = Self { rotation: DQuat::IDENTITY, translation: DVec3::ZERO, scale: 1.0 };

    /// Shifted only [m].
    pub fn at(translation: DVec3) -> Self {
        Self { translation, ..Self::IDENTITY }
    }

    /// Corners of a box around a box that is given by its corners in local coordinates [m].
    pub fn around(&self, (low, high): (DVec3, DVec3)) -> (DVec3, DVec3) {
        let (centre, half) = (0.5 * (low + high), 0.5 * (high - low));
        let turn = DMat3::from_quat(self.rotation);
        let extent = turn.x_axis.abs() * half.x + turn.y_axis.abs() * half.y + turn.z_axis.abs() * half.z;
        let middle = self.translation + self.rotation * centre * self.scale;
        (middle - extent * self.scale, middle + extent * self.scale)
    }
}

/// Displacement of a deforming surface over the substep [local m] at a local point near it.
pub type Deformation<'a> = &'a (dyn Fn(DVec3) -> DVec3 + Sync);

/// A solid that strands collide with, over one substep.
#[derive(Clone, Copy)]
pub struct Collider<'a> {
    field: &'a dyn SignedDistance,
    deformation: Option<Deformation<'a>>,
    /// Largest displacement of the deforming surface [local m].
    deformed_most: f64,
    friction: f64,
    body: Option<usize>,
    scale: f64,
    inverse_scale: f64,
    /// World from local after the substep, and local from world before and after (rotations; then scale).
    outward: DMat3,
    inward: DMat3,
    inward_before: DMat3,
    inverse_scale_before: f64,
    origin: DVec3,
    origin_before: DVec3,
    /// Norm of (relative rotation - 1): how much faster points farther away move.
    turn: f64,
    moves: bool,
}

impl<'a> Collider<'a> {
    /// A solid whose field moves from one placement to the other, with Coulomb friction.
    pub fn new(field: &'a dyn SignedDistance, before: Placement, after: Placement, friction: f64) -> Self {
        let relative = after.rotation * before.rotation.inverse();
        let half_angle_sine = DVec3::new(relative.x, relative.y, relative.z).length().min(1.0);
        Self {
            field,
            deformation: None,
            deformed_most: 0.0,
            friction,
            body: None,
            scale: after.scale,
            inverse_scale: 1.0 / after.scale,
            outward: DMat3::from_quat(after.rotation),
            inward: DMat3::from_quat(after.rotation.inverse()),
            inward_before: DMat3::from_quat(before.rotation.inverse()),
            inverse_scale_before: 1.0 / before.scale,
            origin: after.translation,
            origin_before: before.translation,
            turn: 2.0 * half_angle_sine + (after.scale / before.scale - 1.0).abs(),
            moves: before != after,
        }
    }

    /// The same solid with a surface that also deforms over the substep, nowhere by more than `most` [local m].
    pub fn deforming(self, deformation: Deformation<'a>, most: f64) -> Self {
        Self { deformation: Some(deformation), deformed_most: most, moves: true, ..self }
    }

    /// Coulomb friction of its surface.
    pub(crate) fn friction(&self) -> f64 {
        self.friction
    }

    /// Whether it moves or deforms during the substep.
    pub(crate) fn moves(&self) -> bool {
        self.moves
    }

    /// How far the substep carries the matter of the solid that is at a point before it [m].
    pub(crate) fn carried(&self, point: DVec3) -> DVec3 {
        if self.moves { self.world(self.local_before(point)) - point } else { DVec3::ZERO }
    }

    /// Signed distance [m] of a point and the direction out of the solid when part `done` of the substep is over: exact
    /// at its ends, between them as if the solid moved evenly.
    pub(crate) fn meet(&self, point: DVec3, done: f64) -> (f64, DVec3) {
        let (distance, gradient) = self.sample(self.local(self.seen(point, done)));
        (distance * self.scale, self.outward * gradient)
    }

    /// The same for what is as large as `reach` [m]: as exact as can be within that.
    pub(crate) fn meet_large(&self, point: DVec3, reach: f64, done: f64) -> (f64, DVec3) {
        let local = self.local(self.seen(point, done));
        let (distance, gradient) = self.field.nearest(local, reach * self.inverse_scale);
        (distance * self.scale, self.outward * gradient)
    }

    /// Where a point is at the end of the substep as the solid sees it that part `done` of it is over.
    fn seen(&self, point: DVec3, done: f64) -> DVec3 {
        if self.moves { point + self.carried(point) * (1.0 - done) } else { point }
    }

    /// Signed distance [m] of a point at the end of the substep, and the direction out of the solid.
    pub(crate) fn distance_at(&self, point: DVec3) -> (f64, DVec3) {
        let (distance, gradient) = self.sample(self.local(point));
        (distance * self.scale, self.outward * gradient)
    }

    /// How far a point goes over the solid in the substep [m].
    pub(crate) fn path(&self, start: DVec3, end: DVec3) -> f64 {
        (self.local(end) - self.local_before(start)).length() * self.scale
    }

    /// The same solid as part of a rigid body, which gets what cords do to it.
    pub fn of_body(self, index: usize) -> Self {
        Self { body: Some(index), ..self }
    }

    /// The rigid body it is part of.
    pub fn body(&self) -> Option<usize> {
        self.body
    }

    #[inline]
    fn local(&self, world: DVec3) -> DVec3 {
        self.inward * ((world - self.origin) * self.inverse_scale)
    }

    #[inline]
    fn local_before(&self, world: DVec3) -> DVec3 {
        let local = self.inward_before * ((world - self.origin_before) * self.inverse_scale_before);
        match self.deformation {
            Some(deformation) => local + deformation(local),
            None => local,
        }
    }

    #[inline]
    fn world(&self, local: DVec3) -> DVec3 {
        self.outward * (local * self.scale) + self.origin
    }

    /// Distance and unit gradient at a local point.
    #[inline]
    fn sample(&self, local: DVec3) -> (f64, DVec3) {
        self.field.distance_and_gradient(local)
    }

    /// Distance at a local point.
    #[inline]
    fn distance(&self, local: DVec3) -> f64 {
        self.field.distance(local)
    }

    /// How far the solid's matter that is at this point of the world after the substep went during it [m].
    pub(crate) fn displacement(&self, after: DVec3) -> DVec3 {
        let local = self.local(after);
        let before = self.inward_before.transpose() * (local / self.inverse_scale_before) + self.origin_before;
        let deformed =
            self.deformation.map_or(DVec3::ZERO, |deformation| self.outward * deformation(local) * self.scale);
        after - before + deformed
    }

    /// How far the solid's motion carries any point within `reach` of `point` over the substep, at most [m].
    fn carry(&self, point: DVec3, reach: f64) -> f64 {
        let rigid = self.inward_before * ((point - self.origin_before) * self.inverse_scale_before);
        (self.world(rigid) - point).length() + self.turn * reach + self.deformed_most * self.scale
    }
}
