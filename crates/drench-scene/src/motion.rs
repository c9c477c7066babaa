//! Where solids and cameras are at a time.

use crate::form::from_euler;
use crate::spec::{Camera, Easing, Keyframe, Motion, Scene};
use glam::{DQuat, DVec3};

/// A place and an orientation: `world = rotation * local + position`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// Position [m].
    pub position: DVec3,
    /// Rotation (a unit quaternion).
    pub rotation: DQuat,
}

impl Pose {
    /// At the origin, not turned.
    pub const IDENTITY: Self = Self { position: DVec3::ZERO, rotation: DQuat::IDENTITY };

    /// A point of the posed frame, in the frame around it.
    pub fn apply(&self, point: DVec3) -> DVec3 {
        self.rotation * point + self.position
    }

    /// A point of the frame around, in the posed frame.
    pub fn apply_inverse(&self, point: DVec3) -> DVec3 {
        self.rotation.conjugate() * (point - self.position)
    }

    /// `inner`, which is posed in this frame, seen from the frame around.
    pub fn compose(&self, inner: &Self) -> Self {
        Self { position: self.apply(inner.position), rotation: (self.rotation * inner.rotation).normalize() }
    }
}

impl Easing {
    /// Share of the way at share `s` of the time, both 0 to 1.
    pub fn apply(self, s: f64) -> f64 {
        match self {
            Self::Linear => s,
            Self::Smooth => s * s * (3.0 - 2.0 * s),
            Self::In => s * s,
            Self::Out => s * (2.0 - s),
            Self::Hold => 0.0,
        }
    }
}

/// The keyframes around `time` and the eased share of the way between them.
fn between(
    times: impl Fn(usize) -> f64,
    easing: impl Fn(usize) -> Easing,
    count: usize,
    time: f64,
) -> (usize, usize, f64) {
    // First keyframe that lies after `time`.
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = (low + high) / 2;
        if times(middle) <= time { low = middle + 1 } else { high = middle }
    }
    match low {
        0 => (0, 0, 0.0),
        next if next == count => (count - 1, count - 1, 0.0),
        next => {
            let (from, to) = (times(next - 1), times(next));
            (next - 1, next, easing(next - 1).apply((time - from) / (to - from)))
        }
    }
}

impl Motion {
    /// Displacement and rotation on top of the pose at rest.
    pub fn at(&self, time: f64) -> Pose {
        match self {
            Self::Still => Pose::IDENTITY,
            Self::Keyframes { keyframes, repeat } => keyframes_at(keyframes, *repeat, time),
            Self::Expressions { position, rotation } => {
                let evaluate = |three: &[crate::Expression; 3]| {
                    DVec3::from_array(std::array::from_fn(|axis| three[axis].evaluate(&[time])))
                };
                Pose { position: evaluate(position), rotation: from_euler(evaluate(rotation)) }
            }
        }
    }
}

fn keyframes_at(keyframes: &[Keyframe], repeat: bool, time: f64) -> Pose {
    let Some(last) = keyframes.last() else { return Pose::IDENTITY };
    let time = if repeat && last.time > 0.0 { time.rem_euclid(last.time) } else { time };
    let (a, b, s) = between(|i| keyframes[i].time, |i| keyframes[i].easing, keyframes.len(), time);
    let (a, b) = (&keyframes[a], &keyframes[b]);
    Pose { position: a.position.lerp(b.position, s), rotation: a.rotation.slerp(b.rotation, s) }
}

/// What a camera sees at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CameraView {
    /// Position [m].
    pub position: DVec3,
    /// The point that it looks at [m].
    pub target: DVec3,
    /// The direction that is up in the picture.
    pub up: DVec3,
    /// Vertical field of view [rad].
    pub field_of_view: f64,
    /// Diameter of the aperture [m]; 0 keeps everything sharp.
    pub aperture: f64,
    /// Distance that is sharp [m].
    pub focus: f64,
}

impl Camera {
    /// The view at `time`, with the solid that it follows at `follow_position` (zero if it follows none).
    pub fn at(&self, time: f64, follow_position: DVec3) -> CameraView {
        let (position, target) = match self.keyframes.len() {
            0 => (self.position, self.target),
            count => {
                let (a, b, s) = between(|i| self.keyframes[i].time, |i| self.keyframes[i].easing, count, time);
                let (a, b) = (&self.keyframes[a], &self.keyframes[b]);
                (a.position.lerp(b.position, s), a.target.lerp(b.target, s))
            }
        };
        let focus = self.focus.unwrap_or_else(|| position.distance(target));
        CameraView {
            position: position + follow_position,
            target: target + follow_position,
            up: self.up,
            field_of_view: self.field_of_view,
            aperture: self.aperture,
            focus,
        }
    }
}

impl Scene {
    /// World pose of a solid at a time: its motion on its rest pose, carried by its parents. The solid's scale is not in it;
    /// velocities are differences of poses.
    pub fn pose_of(&self, solid: usize, time: f64) -> Pose {
        let mut pose = self.local_pose(solid, time);
        let mut child = solid;
        // A chain of parents is no longer than the list of solids, even in a scene that nobody validated.
        for _ in 0..self.solids.len() {
            let parent = self.solids.get(child).and_then(|solid| solid.parent.as_deref());
            let Some(parent) = parent.and_then(|name| self.solid(name)) else { break };
            pose = self.local_pose(parent, time).compose(&pose);
            child = parent;
        }
        pose
    }

    fn local_pose(&self, solid: usize, time: f64) -> Pose {
        let Some(solid) = self.solids.get(solid) else { return Pose::IDENTITY };
        let motion = solid.motion.at(time);
        Pose { position: solid.position + motion.position, rotation: (motion.rotation * solid.rotation).normalize() }
    }

    /// What a camera sees at a time, with the solid that it follows where that is.
    pub fn view_of(&self, camera: &Camera, time: f64) -> CameraView {
        let followed = camera.follow.as_deref().and_then(|name| self.solid(name));
        camera.at(time, followed.map_or(DVec3::ZERO, |solid| self.pose_of(solid, time).position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    fn keyframe(time: f64, x: f64, degrees: f64, easing: Easing) -> Keyframe {
        let rotation = DQuat::from_rotation_y(degrees.to_radians());
        Keyframe { time, position: DVec3::X * x, rotation, easing }
    }

    #[test]
    fn keyframes_hold_at_their_ends_and_ease_between() {
        let keyframes = vec![
            keyframe(1.0, 0.0, 0.0, Easing::Linear),
            keyframe(2.0, 1.0, 90.0, Easing::Smooth),
            keyframe(3.0, 3.0, 90.0, Easing::Hold),
            keyframe(4.0, 9.0, 0.0, Easing::Linear),
        ];
        let motion = Motion::Keyframes { keyframes: keyframes.clone(), repeat: false };
        for (time, x) in [
            (0.0, 0.0),
            (1.0, 0.0),
            (1.5, 0.5),
            (2.0, 1.0),
            (2.25, 1.3125),
            (2.5, 2.0),
            (3.9, 3.0),
            (4.0, 9.0),
            (7.0, 9.0),
        ] {
            assert!((motion.at(time).position.x - x).abs() < 1e-12, "{time}");
        }
        let half = motion.at(1.5).rotation;
        assert!(half.angle_between(DQuat::from_rotation_y(std::f64::consts::FRAC_PI_4)) < 1e-7);
        let repeated = Motion::Keyframes { keyframes, repeat: true };
        assert_eq!(repeated.at(5.5), motion.at(1.5));
    }

    #[test]
    fn easings_start_and_end_where_they_should() {
        for easing in [Easing::Linear, Easing::Smooth, Easing::In, Easing::Out] {
            assert_eq!((easing.apply(0.0), easing.apply(1.0)), (0.0, 1.0));
        }
        assert_eq!(Easing::Hold.apply(0.999), 0.0);
    }

    fn scene(text: &str) -> Scene {
        let source = crate::Source::Text { name: "test".into(), text: text.into(), directory: "".into() };
        crate::load(source, None, &[]).unwrap()
    }

    #[test]
    fn parents_carry_their_children() {
        let scene = scene(
            r#"
            name = "x"
            [[solid]]
            name = "child"
            parent = "arm"
            shape = { kind = "head" }
            position = [1, 0, 0]
            [[solid]]
            name = "arm"
            shape = { kind = "head" }
            position = [0, 2, 0]
            rotation = "0 90 0 deg"
            scale = 7
            motion = { kind = "expressions", position = ["t", 0, 0], rotation = [0, "90 deg * t", 0] }
            [[camera]]
            name = "main"
            position = [0, 0, 3]
            follow = "child"
            "#,
        );
        // At rest the arm is turned by 90 degrees about y, which takes +x to -z; after 1 s by 180, which takes it to -x.
        for (time, expected) in [(0.0, DVec3::new(0.0, 2.0, -1.0)), (1.0, DVec3::new(0.0, 2.0, 0.0))] {
            assert!(scene.pose_of(0, time).position.distance(expected) < 1e-12);
            let view = scene.view_of(&scene.cameras[0], time);
            assert!(view.position.distance(expected + 3.0 * DVec3::Z) < 1e-12);
            assert_relative_eq!(view.focus, 3.0);
        }
        let pose = scene.pose_of(1, 0.7);
        let point = DVec3::new(0.3, -0.2, 0.9);
        assert!(pose.apply_inverse(pose.apply(point)).distance(point) < 1e-12);
    }

    #[test]
    fn rotations_tilt_then_nod_then_turn() {
        let turn = DQuat::from_rotation_y(0.3) * DQuat::from_rotation_x(0.2) * DQuat::from_rotation_z(0.1);
        let scene =
            scene("name = 'x'\nsolid = [{ name = 'a', shape = { kind = 'head' }, rotation = [0.2, 0.3, 0.1] }]");
        assert!(scene.solids[0].rotation.angle_between(turn) < 1e-7);
        // A positive nod bows the head, which looks along +z, down.
        assert!((DQuat::from_rotation_x(0.2) * DVec3::Z).y < 0.0);
    }
}
