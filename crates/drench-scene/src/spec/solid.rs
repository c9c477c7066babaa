//! `[[solid]]`: bodies, their shapes and their motion.

use super::RigidBody;
use super::body::check_body;
use crate::declare::{section, tagged, words};
use crate::expression::{Expression, TIME_VARIABLES};
use crate::form::{
    Form, Reader, colour, count, expressions, flag, name_of, path, quantity, reference_to, rotation, table, tables,
    text, vector, word,
};
use crate::tree::{Node, Place, Table};
use crate::units::{LENGTH, RATIO, TIME};
use glam::{DQuat, DVec3};
use std::path::PathBuf;

section! {
    /// A solid body.
    pub struct Solid {
        /// Name, by which grooms, cameras and other solids refer to it.
        pub name: String = name_of("solid").required(),
        /// A solid above whose keys this one has where it leaves them out, all but `name`.
        pub like: Option<String> = reference_to("solid").optional(),
        /// Its shape, in its own frame.
        pub shape: Shape = table().required(),
        /// Loop subdivisions of its mesh; each makes four triangles of one. A mesh that deforms cannot be subdivided.
        pub subdivide: u32 = count(0u32, 6).or(0u32),
        /// Position at rest, in the parent's frame [m].
        pub position: DVec3 = vector(LENGTH).or(DVec3::ZERO),
        /// Rotation at rest, in the parent's frame: angles about x, y, z, applied in the order z (tilt), x (nod), y (turn);
        /// or a quaternion x, y, z, w.
        pub rotation: DQuat = rotation().or(DQuat::IDENTITY),
        /// Multiplier of its size. It does not carry over to children.
        pub scale: f64 = quantity(RATIO).at_least(1e-6).at_most(1e6).or(1.0),
        /// The solid that carries it: position, rotation and motion are then in that solid's frame.
        pub parent: Option<String> = reference_to("solid").optional_as("the world"),
        /// How it moves.
        pub motion: Motion = table().or_as(Motion::Still, "still"),
        /// Makes it a rigid body, which moves by itself. Absent: only the scene moves it.
        pub body: Option<RigidBody> = table().optional_as("only the scene moves it"),
        /// Whether strands, cords and rigid bodies collide with it.
        pub collide: bool = flag().or(true),
        /// Whether it is drawn.
        pub visible: bool = flag().or(true),
        /// Coulomb friction on it.
        pub friction: f64 = quantity(RATIO).at_least(0.0).at_most(100.0).or(0.3),
        /// Cell of its baked distance field [m].
        pub field_cell: Option<f64> = quantity(LENGTH).above(0.0).at_most(1e3).optional_as("from its size"),
        /// Colour of its surface: linear components, or sRGB as "#rrggbb".
        pub colour: [f64; 3] = colour().or([0.5, 0.42, 0.36]),
        /// Roughness of its surface: 0 polished, 1 matt.
        pub roughness: f64 = quantity(RATIO).fraction().or(0.6),
    }
    check check_solid
    example r##"
[[solid]]
name = "ball"
shape = { kind = "sphere", radius = "10 cm" }
position = "0 50 0 cm"
colour = "#c08040"
"##
}

fn check_solid(solid: &Solid, table: &Table, place: Place, reader: &mut Reader) -> Option<()> {
    check_body(solid, table, place, reader);
    let motion = table.get("motion");
    let place = motion.map_or(place, |node| node.place);
    match &solid.motion {
        Motion::Still | Motion::Expressions { .. } => {}
        Motion::Keyframes { keyframes, .. } if keyframes.is_empty() => {
            reader.error(place, "the motion has no keyframe", "add [[solid.motion.keyframe]], or leave `motion` out");
        }
        Motion::Keyframes { keyframes, .. } => {
            let times: Vec<f64> = keyframes.iter().map(|keyframe| keyframe.time).collect();
            let node = motion.and_then(Node::as_table).and_then(|motion| motion.get("keyframe"));
            check_times(&times, node, place, reader);
        }
    }
    if let Shape::Torus { radius, thickness } = solid.shape
        && thickness >= radius
    {
        let message = format!("the tube ({thickness} m) is as thick as the ring is wide ({radius} m)");
        let place = table.get("shape").map_or(place, |node| node.place);
        reader.error(place, message, "make `thickness` smaller than `radius`");
    }
    Some(())
}

tagged! {
    /// The shape of a solid, in its own frame.
    pub enum Shape {
        /// A sphere about the origin.
        Sphere as "sphere" {
            /// Radius [m].
            radius: f64 = size(),
        },
        /// A box about the origin.
        Box as "box" {
            /// Edge lengths [m].
            size: DVec3 = vector(LENGTH).positive().required(),
        },
        /// A capsule along y, about the origin.
        Capsule as "capsule" {
            /// Radius [m].
            radius: f64 = size(),
            /// Height of the straight part [m].
            height: f64 = size(),
        },
        /// A cylinder along y, about the origin.
        Cylinder as "cylinder" {
            /// Radius [m].
            radius: f64 = size(),
            /// Height [m].
            height: f64 = size(),
        },
        /// The plane y = 0 with its normal along +y; for collision everything below is solid.
        Plane as "plane" {
            /// Edge length of the part that is drawn [m].
            size: f64 = size(),
        },
        /// A torus about the y axis.
        Torus as "torus" {
            /// Radius of the circle that the tube follows [m].
            radius: f64 = size(),
            /// Radius of the tube [m].
            thickness: f64 = size(),
        },
        /// An open tank or tray that stands with the middle of its floor at the origin.
        Tank as "tank" {
            /// Width, height and depth of the room inside [m].
            size: DVec3 = vector(LENGTH).positive().required(),
            /// Thickness of floor and walls [m].
            wall: f64 = quantity(LENGTH).above(0.0).at_most(1e4).or(0.02),
        },
        /// A head with neck and shoulders, the centre of the head at the origin, looking along +z. Face groups `scalp`, `face`,
        /// `ears`, `neck` and `shoulders`; the vertex group `scalp` falls off softly at the hairline.
        Head as "head" {
            /// Height from chin to crown [m].
            height: f64 = quantity(LENGTH).above(0.0).at_most(1e4).or(0.23),
        },
        /// The Stanford bunny, standing on y = 0, looking along +z.
        Bunny as "bunny" {
            /// Height from the feet to the tips of the ears [m].
            height: f64 = quantity(LENGTH).above(0.0).at_most(1e4).or(0.2),
        },
        /// A mesh from a file: OBJ, PLY, STL, glTF or GLB.
        File as "file" {
            /// The file.
            path: PathBuf = path().required(),
            /// Metres per unit of the file.
            unit: f64 = quantity(RATIO).at_least(1e-9).at_most(1e9).or(1.0),
            /// Name of the glTF animation to play.
            animation: Option<String> = text().optional_as("the first, if there is one"),
        },
    }
}

fn size() -> crate::form::Required<crate::form::Quantity> {
    quantity(LENGTH).above(0.0).at_most(1e4).required()
}

tagged! {
    /// How a solid moves, on top of its position and rotation at rest: the motion's position is added, its rotation is applied
    /// after the rotation at rest, about the solid's own origin.
    pub enum Motion {
        /// Not at all.
        Still as "still",
        /// From keyframe to keyframe; before the first and after the last it holds.
        Keyframes as "keyframes" {
            /// The keyframes, in order of time.
            keyframes as "keyframe": Vec<Keyframe> = tables(100_000).required(),
            /// Whether it starts over after the last keyframe.
            repeat: bool = flag().or(false),
        },
        /// By formulas of the time t [s].
        Expressions as "expressions" {
            /// Displacement [m].
            position: [Expression; 3] = expressions(&TIME_VARIABLES).or(zeros()),
            /// Angles about x, y, z [rad], applied in the order z, x, y.
            rotation: [Expression; 3] = expressions(&TIME_VARIABLES).or(zeros()),
        },
    }
    example r#"
[[solid]]
name = "nodding"
shape = { kind = "head" }

[solid.motion]
kind = "keyframes"
repeat = true

[[solid.motion.keyframe]]
time = 0

[[solid.motion.keyframe]]
time = "0.5 s"
rotation = "20 0 0 deg"

[[solid.motion.keyframe]]
time = "1 s"

[[solid]]
name = "swinging"
shape = { kind = "torus", radius = "10 cm", thickness = "2 cm" }
motion = { kind = "expressions", position = ["0.1 * sin(tau * t)", 0, 0], rotation = [0, "20 deg * noise(2 * t)", 0] }
"#
}

fn zeros() -> [Expression; 3] {
    std::array::from_fn(|_| Expression::zero(&TIME_VARIABLES))
}

section! {
    /// A pose at a time.
    pub struct Keyframe {
        /// Time [s].
        pub time: f64 = quantity(TIME).at_least(0.0).at_most(1e9).required(),
        /// Displacement from the position at rest [m].
        pub position: DVec3 = vector(LENGTH).or(DVec3::ZERO),
        /// Rotation on top of the rotation at rest; between keyframes it takes the shorter way.
        pub rotation: DQuat = rotation().or(DQuat::IDENTITY),
        /// How it goes from here to the next keyframe.
        pub easing: Easing = word().or(Easing::Smooth),
    }
}

words! {
    /// How a motion goes from one keyframe to the next.
    pub enum Easing {
        /// At constant speed.
        Linear = "linear",
        /// Starting and ending at rest.
        Smooth = "smooth",
        /// Starting at rest.
        In = "in",
        /// Ending at rest.
        Out = "out",
        /// Staying here until the next keyframe.
        Hold = "hold",
    }
}

/// Times of keyframes must increase; looks at the tree, so that it can point at the wrong one.
pub(crate) fn check_times(keyframes: &[f64], node: Option<&Node>, place: Place, reader: &mut Reader) {
    let item = |index: usize| {
        let item = node.and_then(|node| node.items().get(index));
        let time = item.and_then(Node::as_table).and_then(|table: &Table| table.get("time"));
        time.or(item).map_or(place, |node| node.place)
    };
    for (index, pair) in keyframes.windows(2).enumerate() {
        if pair[1] <= pair[0] {
            let message = format!("the time {} s does not come after {} s", pair[1], pair[0]);
            reader.error(item(index + 1), message, "keyframe times must increase");
        }
    }
}
