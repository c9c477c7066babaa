//! Rigid bodies as strands, grains and liquid meet them: where a body is, how it moves, and what pushes it.
//!
//! Whoever touches a body during a substep works on its [`BodyState`], so that the next contact already sees the new
//! velocity, and books the same impulse in a [`Push`], which the rigid-body solver takes over: what a body gains is what
//! the other side loses.
//!
//! [`RigidWorld`] moves the bodies: shapes and masses are in [`shape`](Shape), what the wind does in [`Panels`].

mod shape;
mod wind;
mod world;

pub use shape::{Mesh, Shape};
pub use wind::Panels;
pub use world::{Body, Mass, Obstacle, RigidWorld, Surface};

use glam::{DMat3, DQuat, DVec3};

/// Where a rigid body is and how it moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyState {
    /// Centre of mass in the world [m].
    pub centre: DVec3,
    /// Rotation from the body's own frame to the world.
    pub rotation: DQuat,
    /// Velocity of the centre of mass [m/s].
    pub velocity: DVec3,
    /// Angular velocity in the world [rad/s].
    pub spin: DVec3,
    /// Inverse of its mass [1/kg]; 0 for a body that nothing can push.
    pub inverse_mass: f64,
    /// Inverse of its inertia about the centre of mass, in the world [1/(kg m2)].
    pub inverse_inertia: DMat3,
}

/// What a body gained from others during a substep.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Push {
    /// Impulse [N s].
    pub linear: DVec3,
    /// Angular impulse about the centre of mass [N m s].
    pub angular: DVec3,
}

impl BodyState {
    /// Velocity of the body's matter at a point of the world [m/s].
    pub fn velocity_at(&self, point: DVec3) -> DVec3 {
        self.velocity + self.spin.cross(point - self.centre)
    }

    /// Whether every number is one.
    pub fn is_finite(&self) -> bool {
        self.centre.is_finite() && self.rotation.is_finite() && self.velocity.is_finite() && self.spin.is_finite()
    }

    /// How much the velocity at `point` along the unit vector `direction` answers to an impulse there along it [1/kg].
    pub fn inverse_mass_at(&self, point: DVec3, direction: DVec3) -> f64 {
        let lever = (point - self.centre).cross(direction);
        self.inverse_mass + lever.dot(self.inverse_inertia * lever)
    }

    /// Gives the body an impulse [N s] at a point of the world, and books it.
    #[inline]
    pub fn push(&mut self, impulse: DVec3, point: DVec3, book: &mut Push) {
        let angular = (point - self.centre).cross(impulse);
        self.velocity += impulse * self.inverse_mass;
        self.turn(angular, book);
        book.linear += impulse;
    }

    /// Gives the body an angular impulse [N m s], and books it.
    #[inline]
    pub fn turn(&mut self, angular: DVec3, book: &mut Push) {
        self.spin += self.inverse_inertia * angular;
        book.angular += angular;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brick() -> BodyState {
        BodyState {
            centre: DVec3::new(1.0, 2.0, 3.0),
            rotation: DQuat::IDENTITY,
            velocity: DVec3::ZERO,
            spin: DVec3::ZERO,
            inverse_mass: 0.5,
            inverse_inertia: DMat3::from_diagonal(DVec3::new(4.0, 2.0, 1.0)),
        }
    }

    #[test]
    fn the_velocity_at_a_point_answers_to_an_impulse_there_as_announced() {
        let (mut body, mut book) = (brick(), Push::default());
        let (point, direction) = (DVec3::new(1.5, 2.25, 2.0), DVec3::new(0.6, 0.0, 0.8));
        let expected = 3.0 * body.inverse_mass_at(point, direction);
        body.push(direction * 3.0, point, &mut book);
        assert!((body.velocity_at(point).dot(direction) - expected).abs() < 1e-12);
        assert_eq!(book.linear, direction * 3.0);
        assert_eq!(book.angular, (point - body.centre).cross(direction * 3.0));
    }

    #[test]
    fn a_push_through_the_centre_does_not_turn() {
        let (mut body, mut book) = (brick(), Push::default());
        body.push(DVec3::X, body.centre, &mut book);
        assert_eq!((body.spin, body.velocity), (DVec3::ZERO, DVec3::X * 0.5));
    }
}
