//! `[[cord]]`: ropes, strings, wires, noodles, with everything that they can do.

use super::Shade;
use crate::declare::{defaults, section, tagged, words};
use crate::expression::{ALONG_VARIABLES, Expression};
use crate::form::{
    Form, Kind, Reader, count, either, expression, flag, name_of, points, quantity, reference_to, table, tables,
    vector, word,
};
use crate::tree::{Data, Node, Place, Table};
use crate::units::{DENSITY, LENGTH, PRESSURE, RATE, RATIO, TIME};
use glam::DVec3;
use serde_json::json;

/// Time in which vertices go all the way to where their regions want them, if none is given [s].
const GOAL_TIME: f64 = 0.01;

section! {
    /// A cord: rope, string, wire or noodle. It bends, twists, buckles, yields, tears and flicks back, carries bodies and
    /// collides with solids [Rungjiratananon2012, chapter 4]. Where it is held is in `[[cord.clamp]]`.
    pub struct Cord {
        /// Name, by which overrides, expectations and pictures refer to it.
        pub name: String = name_of("cord").required(),
        /// A cord above whose keys this one has where it leaves them out, all but `name` and `clamp`.
        pub like: Option<String> = reference_to("cord").optional(),
        /// The line that it follows at first [m].
        pub shape: CordShape = table().required(),
        /// Its shape without load.
        pub rest: RestForm = word().or(RestForm::Drawn),
        /// Segments that it is made of.
        pub segments: u32 = count(1u32, 100_000).or(50u32),
        /// Radius [m].
        pub radius: f64 = quantity(LENGTH).at_least(1e-6).at_most(10.0).or(5e-3),
        /// Multiplier of the radius along the cord, a formula of s from 0 (start) to 1 (end). A thicker part bends, twists
        /// and tears less.
        pub profile: Option<Expression> = expression(&ALONG_VARIABLES).optional_as("1 everywhere"),
        /// What it is made of.
        pub material: CordMaterial = table().or(CordMaterial::default()),
        /// Where it is held.
        pub clamps as "clamp": Vec<Clamp> = tables(10_000).or([]),
        /// How it looks; its `stripe` shows how it is twisted.
        pub shade: Shade = table().or(Shade::default()),
    }
    check check_cord
    example r##"
[[solid]]
name = "hook"
shape = { kind = "sphere", radius = "2 cm" }
position = [0, 2, 0]

[[solid]]
name = "load"
shape = { kind = "box", size = "20 20 20 cm" }
position = [0, 0.9, 0]
body = { mass = "2 kg" }

[[cord]]
name = "string"
shape = { kind = "line", points = [[0, 2, 0], [0, 1, 0]] }
segments = 40
radius = "3 mm"

[cord.material]
tension = { modulus = "100 MPa", rupture = "5 MPa" }

[[cord.clamp]]
at = "start"
to = "hook"

[[cord.clamp]]
at = "end"
to = "load"
hold = "all"
"##
}

tagged! {
    /// The line that a cord follows at first.
    pub enum CordShape {
        /// Straight from point to point.
        Line as "line" {
            /// The points [m].
            points: Vec<DVec3> = points(LENGTH, 100_000).required(),
        },
        /// A helix about the line between two points, like the cord of a telephone.
        Helix as "helix" {
            /// Beginning of its axis [m].
            from: DVec3 = vector(LENGTH).required(),
            /// End of its axis [m].
            to: DVec3 = vector(LENGTH).required(),
            /// Radius of its turns [m].
            radius: f64 = quantity(LENGTH).above(0.0).at_most(1e4).required(),
            /// Number of turns; negative for a left-handed one.
            turns: f64 = quantity(RATIO).at_least(-1e4).at_most(1e4).required(),
        },
        /// Hanging between two points.
        Catenary as "catenary" {
            /// Where it begins [m].
            from: DVec3 = vector(LENGTH).required(),
            /// Where it ends [m].
            to: DVec3 = vector(LENGTH).required(),
            /// Its length over the distance of the two points.
            slack: f64 = quantity(RATIO).at_least(1.0).at_most(100.0).or(1.05),
        },
    }
}

words! {
    /// The shape of a cord without load.
    pub enum RestForm {
        /// As it is drawn.
        Drawn = "drawn",
        /// Straight, however it is laid.
        Straight = "straight",
    }
}

section! {
    /// What a cord is made of. The defaults are those of a soft rope.
    pub struct CordMaterial {
        /// Density [kg/m3].
        pub density: f64 = quantity(DENSITY).above(0.0).at_most(1e5).or(1100.0),
        /// Resistance to bending.
        pub bending: Bending = either(
            quantity(RATIO).at_least(0.0).at_most(1e4),
            |half_width| Bending::Regions { half_width, profile: None, time: GOAL_TIME },
            |bending| match bending {
                Bending::Regions { half_width, profile: None, time: GOAL_TIME } => Some(*half_width),
                _ => None,
            },
        ).or(Bending::Regions { half_width: 2.0, profile: None, time: GOAL_TIME }),
        /// Tensile stress over strain, by force and elongation.
        pub tension: Curve = table().or_as(Curve::of(1e9), "a modulus of 1 GPa, without end"),
        /// Torsional stress over strain, both at the surface of the cord. Absent: twist costs nothing and does nothing.
        pub torsion: Option<Torsion> = table().optional_as("it does not feel twist"),
        /// Damping of all motion [1/s].
        pub damping: f64 = quantity(RATE).at_least(0.0).at_most(1e4).or(0.0),
        /// Random variation of stiffness and strength from segment to segment: 1e-4 is 0.01 %.
        pub variation: f64 = quantity(RATIO).at_least(0.0).at_most(0.5).or(1e-4),
        /// Whether a pulled cord flicks back when it is let go or torn.
        pub flick: bool = flag().or(true),
        /// Distance that it keeps from solids beyond its own radius [m].
        pub margin: f64 = quantity(LENGTH).at_least(0.0).at_most(10.0).or(0.0),
    }
    example r#"
[[cord]]
name = "wire"
shape = { kind = "helix", from = [0, 0, 0], to = [0.3, 0, 0], radius = "2 cm", turns = 8 }
segments = 200
radius = "2 mm"

[cord.material]
density = 7800
bending = { kind = "modulus", modulus = "200 GPa" }
tension = { modulus = "200 GPa", yield = "400 MPa", plastic = "2 GPa", rupture = "600 MPa" }
torsion = { modulus = "80 GPa", damping = 2 }
"#
}

tagged! {
    /// Resistance to bending. A number alone is the half-width of regions.
    pub enum Bending {
        /// Regions of chain shape matching: the wider, the stiffer; how stiff depends on the segment length.
        Regions as "regions" {
            /// Half-width, in segments; 0 is limp.
            half_width: f64 = quantity(RATIO).at_least(0.0).at_most(1e4).required(),
            /// Multiplier along the cord, a formula of s from 0 (start) to 1 (end).
            profile: Option<Expression> = expression(&ALONG_VARIABLES).optional_as("1 everywhere"),
            /// Time in which vertices go all the way to where their regions want them [s]: half of it makes a cord four times as stiff.
            time: f64 = quantity(TIME).at_least(1e-6).at_most(10.0).or(GOAL_TIME),
        },
        /// Young's modulus of bending: an elastic rod. Cords that are curved at rest get the regions that have this stiffness in a step.
        Modulus as "modulus" {
            /// The modulus [Pa].
            modulus: f64 = quantity(PRESSURE).at_least(0.0).at_most(1e13).required(),
        },
    }
}

section! {
    /// Stress over strain: a line of one slope up to the yield stress, one of a smaller slope from there to rupture.
    pub struct Curve {
        /// Slope up to the yield stress: Young's modulus, or the shear modulus [Pa].
        pub modulus: f64 = quantity(PRESSURE).above(0.0).at_most(1e13).required(),
        /// Stress from which on deformation is permanent [Pa].
        pub yields as "yield": Option<f64> = quantity(PRESSURE).above(0.0).at_most(1e13).optional_as("it never is"),
        /// Slope beyond the yield stress, at most `modulus` [Pa].
        pub plastic: Option<f64> = quantity(PRESSURE).above(0.0).at_most(1e13).optional_as("a tenth of `modulus`"),
        /// Stress at which it tears [Pa].
        pub rupture: Option<f64> = quantity(PRESSURE).above(0.0).at_most(1e13).optional_as("it never does"),
    }
    check check_curve
}

impl Curve {
    fn of(modulus: f64) -> Self {
        Self { modulus, yields: None, plastic: None, rupture: None }
    }
}

section! {
    /// Resistance to twist.
    pub struct Torsion {
        /// Slope up to the yield stress: the shear modulus [Pa].
        pub modulus: f64 = quantity(PRESSURE).above(0.0).at_most(1e13).required(),
        /// Stress from which on twist is permanent [Pa].
        pub yields as "yield": Option<f64> = quantity(PRESSURE).above(0.0).at_most(1e13).optional_as("it never is"),
        /// Slope beyond the yield stress, at most `modulus` [Pa].
        pub plastic: Option<f64> = quantity(PRESSURE).above(0.0).at_most(1e13).optional_as("a tenth of `modulus`"),
        /// Stress at which it tears [Pa].
        pub rupture: Option<f64> = quantity(PRESSURE).above(0.0).at_most(1e13).optional_as("it never does"),
        /// Rate at which spin about the cord's axis dies away [1/s].
        pub damping: f64 = quantity(RATE).at_least(0.0).at_most(1e5).or(1.0),
        /// Inner friction: the torque answers to the twist so much later [s].
        pub lag: f64 = quantity(TIME).at_least(0.0).at_most(10.0).or(0.0),
        /// Half-width, in segments, of the regions over which the turn of a step is averaged
        /// [Rungjiratananon2012, eq. 4.1]; 0 for none.
        pub half_width: f64 = quantity(RATIO).at_least(0.0).at_most(1e4).or(0.0),
        /// Multiplier of the torsional rigidity and strength along the cord, a formula of s from 0 (start) to 1 (end).
        pub profile: Option<Expression> = expression(&ALONG_VARIABLES).optional_as("1 everywhere"),
    }
    check check_torsion
}

impl Torsion {
    /// Its stress over strain.
    pub fn curve(&self) -> Curve {
        Curve { modulus: self.modulus, yields: self.yields, plastic: self.plastic, rupture: self.rupture }
    }
}

fn check_curve(curve: &Curve, table: &Table, place: Place, reader: &mut Reader) -> Option<()> {
    let at = |key: &str| table.get(key).map_or(place, |node| node.place);
    if let (Some(yields), Some(rupture)) = (curve.yields, curve.rupture)
        && rupture < yields
    {
        let message = format!("it would tear at {rupture:e} Pa, before it yields at {yields:e} Pa");
        reader.error(
            at("rupture"),
            message,
            "make `rupture` at least `yield`, or leave out `yield` for a brittle cord",
        );
    }
    if let Some(plastic) = curve.plastic
        && plastic > curve.modulus
    {
        let message =
            format!("the plastic slope ({plastic:e} Pa) is steeper than the elastic one ({:e} Pa)", curve.modulus);
        reader.error(at("plastic"), message, "make `plastic` at most `modulus`");
    }
    if curve.plastic.is_some() && curve.yields.is_none() {
        reader.error(at("plastic"), "`plastic` says how it goes on after it yields, but it never does", "add `yield`");
    }
    Some(())
}

fn check_torsion(torsion: &Torsion, table: &Table, place: Place, reader: &mut Reader) -> Option<()> {
    check_curve(&torsion.curve(), table, place, reader)
}

section! {
    /// A place where a cord is held.
    pub struct Clamp {
        /// Where on the cord: "start", "end" or a fraction of its length; the nearest vertex is held.
        pub at: f64 = along().required(),
        /// The solid that holds it, at the place where it is at first: one that stands, one that the scene moves, or a body.
        pub to: Option<String> = reference_to("solid").optional_as("the world"),
        /// What is held.
        pub hold: Hold = word().or(Hold::Point),
        /// When it is let go [s].
        pub release: Option<f64> = quantity(TIME).at_least(0.0).at_most(1e9).optional_as("never"),
    }
}

words! {
    /// What a clamp holds.
    pub enum Hold {
        /// The point: the cord may turn about it.
        Point = "point",
        /// The point and the direction of the cord there: it may roll about its own axis.
        Direction = "direction",
        /// Everything: turning what holds it twists the cord.
        All = "all",
    }
}

/// A place along a cord: a fraction, or one of its ends by name.
struct Along;

fn along() -> Along {
    Along
}

impl Form for Along {
    type Value = f64;

    fn read(&self, node: &Node, reader: &mut Reader) -> Option<f64> {
        match node.as_text() {
            Some("start") => Some(0.0),
            Some("end") => Some(1.0),
            Some(text) if !text.trim_end().ends_with('%') && text.parse::<f64>().is_err() => {
                let message = format!("{} is no place on a cord", node.wording());
                reader.error(node.place, message, "write \"start\", \"end\" or a fraction, such as 0.5");
                None
            }
            _ => quantity(RATIO).fraction().read(node, reader),
        }
    }

    fn write(&self, value: &f64) -> Data {
        Data::Float(*value)
    }

    fn kind(&self) -> Kind {
        let number = json!({ "type": "number", "minimum": 0, "maximum": 1 });
        let schema = json!({ "anyOf": [number, { "type": "string" }] });
        Kind::Leaf {
            wording: "\"start\", \"end\" or fraction".into(),
            range: "0 to 1".into(),
            schema,
            words: Vec::new(),
        }
    }
}

impl Cord {
    /// The vertex that a clamp holds.
    pub fn vertex(&self, clamp: &Clamp) -> usize {
        (clamp.at * f64::from(self.segments)).round() as usize
    }
}

fn check_cord(cord: &Cord, table: &Table, place: Place, reader: &mut Reader) -> Option<()> {
    let at = |key: &str| table.get(key).map_or(place, |node| node.place);
    match &cord.shape {
        CordShape::Line { points } => {
            let length: f64 = points.windows(2).map(|pair| pair[0].distance(pair[1])).sum();
            if points.len() < 2 || length < 1e-6 {
                reader.error(at("shape"), "the cord has no length", "give at least two points that are apart");
            }
        }
        CordShape::Helix { from, to, .. } | CordShape::Catenary { from, to, .. } => {
            if from.distance(*to) < 1e-6 {
                reader.error(at("shape"), "the cord begins where it ends", "move `from` and `to` apart");
            }
        }
    }
    if let Bending::Regions { half_width, .. } = cord.material.bending
        && half_width > f64::from(cord.segments)
    {
        let message =
            format!("regions of half-width {half_width} are wider than the cord of {} segments", cord.segments);
        let help = format!("make `material.bending` at most {}, or use more `segments`", cord.segments);
        reader.error(at("material"), message, help);
    }
    for (key, profile) in profiles(cord) {
        let values = (0..=100).map(|i| profile.evaluate_finite(&[f64::from(i) / 100.0]));
        let problem = values.into_iter().find_map(|value| match value {
            Err(error) => Some(error.to_string()),
            Ok(value) if !(1e-3..=1e3).contains(&value) => Some(format!("the profile gives {value}")),
            Ok(_) => None,
        });
        if let Some(message) = problem {
            reader.error(at(key), message, "a profile must lie between 0.001 and 1000 for s from 0 to 1");
        }
    }
    let clamps = table.get("clamp").map_or(&[][..], Node::items);
    for (index, clamp) in cord.clamps.iter().enumerate() {
        let vertex = cord.vertex(clamp);
        if let Some(other) = cord.clamps[..index].iter().find(|other| cord.vertex(other) == vertex) {
            let message =
                format!("two clamps hold vertex {vertex} of {} (at = {} and {})", cord.segments, other.at, clamp.at);
            let help = "leave out one of them, move one, or use more `segments`";
            reader.error(clamps.get(index).map_or(place, |node| node.place), message, help);
        }
        // The segment after a vertex, or before the last one.
        let segment = |clamp: &Clamp| cord.vertex(clamp).min(cord.segments as usize - 1);
        let turns = |other: &&Clamp| other.hold == Hold::All && segment(other) == segment(clamp);
        if cord.material.torsion.is_some()
            && clamp.hold == Hold::All
            && let Some(other) = cord.clamps[..index].iter().find(turns)
        {
            let message =
                format!("two clamps turn the same segment of {} (at = {} and {})", cord.segments, other.at, clamp.at);
            let help = "let one of them hold the \"direction\" only, or use more `segments`";
            reader.error(clamps.get(index).map_or(place, |node| node.place), message, help);
        }
    }
    Some(())
}

fn profiles(cord: &Cord) -> impl Iterator<Item = (&'static str, &Expression)> {
    let bending = match &cord.material.bending {
        Bending::Regions { profile, .. } => profile.as_ref(),
        Bending::Modulus { .. } => None,
    };
    let torsion = cord.material.torsion.as_ref().and_then(|torsion| torsion.profile.as_ref());
    cord.profile
        .as_ref()
        .map(|profile| ("profile", profile))
        .into_iter()
        .chain([bending, torsion].into_iter().flatten().map(|profile| ("material", profile)))
}

defaults!(CordMaterial);
