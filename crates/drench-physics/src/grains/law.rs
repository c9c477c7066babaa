//! The law of contact: one function for two grains and for a grain on a solid.
//!
//! With the overlap d, the relative velocity v of the surfaces and its parts along (v_n, positive when closing) and
//! across (v_t) the normal,
//!
//! | part | law | symbol -> name |
//! |---|---|---|
//! | normal | P = max(0, k d + c min(v_n, v_n / 3 + d / h)), c = 2 zeta sqrt(k m) | k `stiffness`, m reduced mass, zeta from the restitution |
//! | tangential | T = -(k_t s + c_t v_t), s' = v_t, \|T\| <= mu P | s `slip`, k_t = 2/7 k, c_t = 2/7 c, mu `friction` |
//! | rolling | M = -R (k_t u + c_t R w), u' = R w, \|M\| <= mu_r R P | u `roll`, w relative spin, R reduced radius, mu_r `rolling` |
//!
//! [Rungjiratananon2012, eq. 3.6-3.9] has the first with a pulling damper and the second as a constant force along the
//! slip, bounded by nothing: there a heap creeps. Here friction and rolling friction remember (s, u), so a contact at rest
//! holds any load within its cone for ever. Twist about the normal is treated like rolling.
//!
//! The law is evaluated in single precision, but for the overlap; both grains of a pair are given the same rounded force.

use super::model::{GrainModel, TANGENT};
use glam::Vec3A;

/// What a contact that has just begun, with an overlap d below h v_n, is damped for: d/h and this part of v_n. Damped for all of v_n, whenever in the step it began, grains of
/// restitution 0.4 come back with 0.35 to 0.43 in steps of a twelfth of a collision, and 0.382 in the mean; so with 0.395 to 0.43, and 0.402, and others from 0.05 to 1 alike.
const BEGUN: f32 = 1.0 / 3.0;

/// Part of the velocity against each other that a damper takes from two surfaces in one step at most: what they have in common has not been counted when they meet.
const STOPPED: f32 = 0.5;

/// Constants of the law, rounded once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Law {
    pub stiffness: f32,
    /// 2 zeta sqrt(k) [sqrt(kg)/s]: times the root of the reduced mass it is the damper.
    pub damping: f32,
    pub friction: f32,
    pub rolling: f32,
}

impl Law {
    /// The damper of the normal spring [kg/s].
    #[inline(always)]
    fn damper(&self, meeting: &Meeting) -> f32 {
        self.damping * meeting.mass.sqrt() * meeting.viscous
    }

    /// Lets the damper give way to this part in steps of `h` seconds; returns what it was by itself [kg/s].
    #[inline(always)]
    pub fn give_way(&self, meeting: &mut Meeting, part: f32, h: f32) -> f32 {
        meeting.viscous = meeting.viscous.min(STOPPED * meeting.mass.sqrt() / (self.damping * h));
        let damper = self.damper(meeting);
        meeting.viscous *= part;
        damper
    }

    pub fn new(model: &GrainModel) -> Self {
        Self {
            stiffness: model.stiffness() as f32,
            damping: (2.0 * model.damping_ratio() * model.stiffness().sqrt()) as f32,
            friction: model.material().friction as f32,
            rolling: model.material().rolling_friction as f32,
        }
    }
}

/// A contact between a and b as it is now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meeting {
    /// From a to b.
    pub normal: Vec3A,
    /// [m].
    pub overlap: f32,
    /// Velocity of the surface of a against that of b [m/s].
    pub velocity: Vec3A,
    /// Spin of a against that of b [rad/s].
    pub spin: Vec3A,
    /// Reduced mass [kg] and reduced radius [m].
    pub mass: f32,
    pub radius: f32,
    /// Coulomb and rolling friction, and what multiplies the damper.
    pub friction: f32,
    pub rolling: f32,
    pub viscous: f32,
}

/// What a contact remembers: how far its two springs are strained [m].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Memory {
    pub slip: Vec3A,
    pub roll: Vec3A,
}

/// What a contact does to a; b gets the opposite of both.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Answer {
    /// [N].
    pub force: Vec3A,
    /// Couple of rolling friction [N m].
    pub couple: Vec3A,
}

/// The forces of a contact; strains its springs over a step of `h` seconds (0 leaves them as they are).
#[inline(always)]
pub(crate) fn answer(law: &Law, meeting: &Meeting, memory: &mut Memory, h: f32) -> Answer {
    let Meeting { normal, velocity, .. } = *meeting;
    let damper = law.damper(meeting);
    let closing = velocity.dot(normal);
    // Contacts begin within a step, and are met at its end.
    let begun = meeting.overlap < (1.0 - BEGUN) * closing * h;
    let damped = if begun { BEGUN * closing + meeting.overlap / h } else { closing };
    let push = (law.stiffness * meeting.overlap + damper * damped).max(0.0);
    let (stiffness, damper) = (TANGENT as f32 * law.stiffness, TANGENT as f32 * damper);
    // The spring turns with the contact: what has come to point along the normal is dropped.
    if h > 0.0 {
        memory.slip -= normal * memory.slip.dot(normal);
    }
    let across = velocity - normal * closing;
    let friction = bounded(&mut memory.slip, across, stiffness, damper, meeting.friction * push, h);
    let rolling = meeting.spin * meeting.radius;
    let roll = bounded(&mut memory.roll, rolling, stiffness, damper, meeting.rolling * push, h);
    Answer { force: friction - normal * push, couple: roll * meeting.radius }
}

/// A spring and damper against a motion that gives way at a bound; it then keeps the strain of the bound.
#[inline(always)]
fn bounded(strain: &mut Vec3A, velocity: Vec3A, stiffness: f32, damper: f32, bound: f32, h: f32) -> Vec3A {
    let moved = *strain + velocity * h;
    let force = moved * -stiffness - velocity * damper;
    let square = force.length_squared();
    if square <= bound * bound {
        *strain = moved;
        return force;
    }
    let force = force * (bound / square.sqrt());
    if h > 0.0 {
        // The spring carries all of it: were the damper's share taken off, a fast slip would strain it backwards.
        *strain = force * (-1.0 / stiffness);
    }
    force
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAW: Law = Law { stiffness: 1000.0, damping: 2.0, friction: 0.5, rolling: 0.2 };

    fn meeting(overlap: f32, velocity: Vec3A, spin: Vec3A) -> Meeting {
        Meeting {
            normal: Vec3A::X,
            overlap,
            velocity,
            spin,
            mass: 0.01,
            radius: 1e-3,
            friction: LAW.friction,
            rolling: LAW.rolling,
            viscous: 1.0,
        }
    }

    #[test]
    fn nothing_that_rests_is_pushed_sideways_and_nothing_is_pulled() {
        let mut memory = Memory::default();
        let rest = answer(&LAW, &meeting(1e-4, Vec3A::ZERO, Vec3A::ZERO), &mut memory, 1e-5);
        assert!((rest.force - Vec3A::new(-0.1, 0.0, 0.0)).length() < 1e-7);
        assert_eq!(rest.couple.length(), 0.0);
        let parting = answer(&LAW, &meeting(1e-4, -Vec3A::X * 10.0, Vec3A::ZERO), &mut memory, 1e-5);
        assert_eq!(parting.force, Vec3A::ZERO);
    }

    #[test]
    fn friction_and_rolling_friction_keep_to_their_bounds_and_remember() {
        let mut memory = Memory::default();
        let sliding = meeting(1e-4, Vec3A::Y, Vec3A::Z * 300.0);
        for _ in 0..100 {
            let Answer { force, couple } = answer(&LAW, &sliding, &mut memory, 1e-5);
            assert!((force.x + 0.1).abs() < 1e-6);
            let friction = Vec3A::new(0.0, force.y, force.z).length();
            assert!(friction <= 0.05 * (1.0 + 1e-5) && force.y < 0.0);
            assert!(couple.length() <= 0.2 * 1e-3 * 0.1 * (1.0 + 1e-5) && couple.z < 0.0);
        }
        // It stops: what is left of the strain still pushes back.
        let rest = answer(&LAW, &meeting(1e-4, Vec3A::ZERO, Vec3A::ZERO), &mut memory, 0.0);
        assert!(rest.force.y < -1e-3 && rest.couple.z < 0.0);
    }

    #[test]
    fn evaluating_without_time_changes_nothing() {
        let mut memory = Memory { slip: Vec3A::new(1e-6, 3e-3, 1e-4), roll: Vec3A::new(0.0, 1e-2, 0.0) };
        let before = memory;
        let once = answer(&LAW, &meeting(1e-4, Vec3A::ZERO, Vec3A::ZERO), &mut memory, 0.0);
        assert_eq!(memory, before);
        assert_eq!(answer(&LAW, &meeting(1e-4, Vec3A::ZERO, Vec3A::ZERO), &mut memory, 0.0), once);
    }
}
