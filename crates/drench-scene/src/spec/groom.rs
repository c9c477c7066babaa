//! `[[groom]]`: strands on a solid, and their style.

use super::{Csm, Dftl, Pbd, Shade, Strand, StrandModel, StrandTip, WetHair};
use crate::declare::{section, tagged, words};
use crate::expression::{Expression, SURFACE_VARIABLES};
use crate::form::{
    Form, Reader, count, either, expression, expressions, flattened, name_of, path, points, quantity, reference_to,
    table, text, texts, vector, word,
};
use crate::tree::{Place, Table};
use crate::units::{LENGTH, RATIO};
use glam::DVec3;
use std::path::PathBuf;

section! {
    /// Strands on a solid. Exactly one of `spacing`, `strands`, `at` and `import` says where the roots are.
    pub struct Groom {
        /// Name, by which overrides and pictures refer to it.
        pub name: String = name_of("groom").required(),
        /// The solid that it grows on.
        pub on: String = reference_to("solid").required(),
        /// Face groups of the solid that it grows on: names of the groups and materials of its mesh.
        pub faces: Vec<String> = texts().or_as([], "the whole surface"),
        /// Distance between roots (Poisson disk) [m].
        pub spacing: Option<f64> = quantity(LENGTH).at_least(1e-7).at_most(1e3).optional(),
        /// Number of strands, instead of `spacing`: the distance is found from the area.
        pub strands: Option<u64> = count(1u64, 100_000_000).optional(),
        /// Single strands, instead of `spacing`: each grows from the surface point that is nearest to one of these points,
        /// which are in the solid's frame [m].
        pub at: Vec<DVec3> = points(LENGTH, 1_000_000).or_as([], "none"),
        /// Strands that were drawn in another program, instead of `spacing`: they keep their shape, so nothing here bends them.
        pub import: Option<Import> = table().optional_as("none"),
        /// Share of the strands that grow, 0 to 1, over the surface.
        pub density: Option<Map> = map().optional_as("1 everywhere"),
        /// Length of a strand [m]. Needed unless strands are imported.
        pub length: f64 = quantity(LENGTH).above(0.0).at_most(1e3).required_unless("import", 0.1, "that of imported strands"),
        /// Multiplier of the length over the surface.
        pub length_map: Option<Map> = map().optional_as("1 everywhere"),
        /// Random variation of the length: 0.2 is 20 % up or down.
        pub length_variation: f64 = quantity(RATIO).fraction().or(0.0),
        /// Vertices of a strand of full length; shorter ones get fewer, so that segments are equally long.
        pub vertices: u32 = count(2u32, 1000).or(8u32),
        /// Radius at the root [m].
        pub root_radius: f64 = quantity(LENGTH).above(0.0).at_most(1.0).or(35e-6),
        /// Radius at the tip, at most that at the root [m].
        pub tip_radius: f64 = quantity(LENGTH).at_least(0.0).at_most(1.0).or(15e-6),
        /// Direction that it is combed to, in the solid's frame. Zero: it stands along the normal.
        pub comb: DVec3 = vector(RATIO).or(DVec3::ZERO),
        /// How far it is combed: 0 stands along the normal, 1 lies along `comb`.
        pub lay: f64 = quantity(RATIO).fraction().or(0.0),
        /// Combing direction over the surface, instead of `comb`.
        pub direction_map: Option<DirectionMap> = table().optional(),
        /// How far the groomed shape stays off the skin after its first part: the body of the hair [m].
        pub clearance: f64 = quantity(LENGTH).at_least(0.0).at_most(1.0).or(5e-4),
        /// How much the groomed shape bends towards gravity along its length, 0 to 1.
        pub hang: f64 = quantity(RATIO).fraction().or(0.0),
        /// Curls and waves.
        pub curl: Option<Curl> = table().optional_as("straight"),
        /// Strands that gather towards their tips.
        pub clump: Option<Clump> = table().optional_as("no clumps"),
        /// Disorder of the groomed shape.
        pub noise: Option<NoiseStyle> = table().optional_as("none"),
        /// Strands that are drawn around each simulated one, in addition to it.
        pub children: u32 = count(0u32, 10_000).or(0u32),
        /// What the strands are made of, and the model that moves them.
        pub strand: Strand = table().or(Strand::default()),
        /// Settings of the model `pbd`; they may stand here whichever model is chosen.
        pub pbd: Pbd = table().or(Pbd::default()),
        /// Settings of the model `dftl`; they may stand here whichever model is chosen.
        pub dftl: Dftl = table().or(Dftl::default()),
        /// Settings of the model `csm`; they may stand here whichever model is chosen.
        pub csm: Csm = table().or(Csm::default()),
        /// How it gets wet. Absent: it does not.
        pub wet: Option<WetHair> = table().optional_as("it does not get wet"),
        /// How the strands look.
        pub shade: Shade = table().or(Shade::default()),
    }
    check check_groom
    example r#"
[[groom]]
name = "fur"
on = "head"
faces = "scalp"
spacing = "2 mm"
length = "3 cm"
length_map = "smoothstep(0, 0.1, y)"
comb = [0, -1, -1]
lay = 0.6

[groom.strand]
model = "pbd"
"#
}

section! {
    /// Strands from a file: `.hair`, lines of an `.obj`, `BasisCurves` of a `.usda` or `.usdc`, curves of an
    /// `.abc`. Each is moved to the nearest point of the solid and gets `vertices` vertices at equal distances.
    pub struct Import {
        /// The file.
        pub path: PathBuf = path().required(),
        /// Metres per unit of the file.
        pub unit: Option<f64> = quantity(RATIO).at_least(1e-9).at_most(1e9).optional_as("what a USD file says, 1 for others"),
        /// The axis of the file that is up.
        pub up: Option<UpAxis> = word().optional_as("what a USD file says, y for others"),
    }
    example r#"
[[groom]]
name = "drawn"
on = "head"
vertices = 20
import = { path = "wStraight.hair", unit = 0.0254, up = "z" }
"#
}

words! {
    /// An axis that is up.
    pub enum UpAxis {
        /// As in Drench, Houdini and Maya.
        Y = "y",
        /// As in Blender, and in the models that come as `.hair`.
        Z = "z",
    }
}

/// Where the roots of a groom are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Roots<'a> {
    /// Poisson disk with this distance [m].
    Spacing(f64),
    /// Poisson disk with the distance that gives about this many.
    Count(u64),
    /// At the surface points nearest to these, in the solid's frame [m].
    At(&'a [DVec3]),
    /// Where the strands of a file begin.
    Import(&'a Import),
}

impl Groom {
    /// Where the roots are.
    pub fn roots(&self) -> Roots<'_> {
        match (self.spacing, self.strands, &self.import) {
            (Some(distance), ..) => Roots::Spacing(distance),
            (_, Some(count), _) => Roots::Count(count),
            (.., Some(import)) => Roots::Import(import),
            _ => Roots::At(&self.at),
        }
    }
}

fn check_groom(groom: &Groom, table: &Table, place: Place, reader: &mut Reader) -> Option<()> {
    const WAYS: [&str; 4] = ["spacing", "strands", "at", "import"];
    const SHAPES: [&str; 9] =
        ["length_map", "length_variation", "comb", "lay", "direction_map", "hang", "curl", "clump", "noise"];
    let mut given: Vec<_> = WAYS.iter().filter_map(|key| table.entry(key)).collect();
    if given.len() > 1 {
        given.retain(|entry| entry.key != "at" || !groom.at.is_empty());
    }
    match given[..] {
        [] => {
            let help = "add spacing = \"3 mm\", strands = 10000 or at = [[0, 1, 0]]";
            reader.error(place, "nothing says how many strands there are", help);
        }
        [only] if only.key == "at" && groom.at.is_empty() => {
            let help = "name at least one point, or use `spacing` or `strands`";
            reader.error(only.node.place, "a groom of 0 strands", help);
        }
        [_] => {}
        [first, .., last] => {
            let message = format!("`{}` and `{}` both say where the strands are", first.key, last.key);
            reader.error(last.place, message, "keep one of them");
        }
    }
    if groom.import.is_some() {
        // A resolved scene writes defaults out, which say nothing.
        let bends = [
            groom.length_map.is_some(),
            groom.length_variation != 0.0,
            groom.comb != DVec3::ZERO,
            groom.lay != 0.0,
            groom.direction_map.is_some(),
            groom.hang != 0.0,
            groom.curl.is_some(),
            groom.clump.is_some(),
            groom.noise.is_some(),
        ];
        for (key, _) in SHAPES.iter().zip(bends).filter(|(_, bends)| *bends) {
            let at = table.entry(key).map_or(place, |entry| entry.place);
            let message = format!("imported strands have their own shape, which `{key}` would change");
            reader.error(at, message, format!("leave `{key}` out"));
        }
        if groom.wet.as_ref().is_some_and(|wet| wet.straight || wet.curl.is_some()) {
            let at = table.entry("wet").map_or(place, |entry| entry.place);
            let message = "imported strands have one shape, wet or dry";
            reader.error(at, message, "leave `straight` and `curl` of `wet` out");
        }
    }
    let widest = groom.csm.half_width.unwrap_or(0.0).max(groom.csm.tip_half_width.unwrap_or(0.0));
    if groom.strand.model == StrandModel::Csm && widest > f64::from(groom.vertices - 1) {
        let at = table.get("csm").map_or(place, |node| node.place);
        let (vertices, most) = (groom.vertices, groom.vertices - 1);
        let message = format!("regions of half-width {widest} are wider than strands of {vertices} vertices");
        reader.error(at, message, format!("make the half-widths at most {most}, or `vertices` more"));
    }
    if groom.strand.model == StrandModel::Dftl && groom.strand.tip == StrandTip::Held {
        let at = table.get("strand").map_or(place, |node| node.place);
        reader.error(at, "`dftl` holds strands at the root only, but `tip` is held", "use model = \"csm\" or \"pbd\"");
    }
    if groom.tip_radius > groom.root_radius {
        let at = table.get("tip_radius").or(table.get("root_radius")).map_or(place, |node| node.place);
        let message = format!(
            "the tip (radius {} um) is thicker than the root ({} um)",
            groom.tip_radius * 1e6,
            groom.root_radius * 1e6
        );
        reader.error(at, message, "make `tip_radius` at most `root_radius`");
    }
    if groom.lay > 0.0 && groom.comb == DVec3::ZERO && groom.direction_map.is_none() {
        let at = table.get("lay").map_or(place, |node| node.place);
        reader.error(at, "`lay` needs a direction to lie along", "add comb = [0, -1, 0], or a direction_map");
    }
    Some(())
}

section! {
    /// A value over the surface: low + (high - low) times what the source gives, 0 to 1. A text alone is an expression.
    pub struct Map {
        /// Where the value comes from.
        pub source: MapSource = flattened(),
        /// Value where the source gives 0.
        pub low: f64 = quantity(RATIO).at_least(-1e6).at_most(1e6).or(0.0),
        /// Value where the source gives 1.
        pub high: f64 = quantity(RATIO).at_least(-1e6).at_most(1e6).or(1.0),
    }
    example r#"
[[groom]]
name = "fur"
on = "head"
strands = 5000
length = "3 cm"
density = { kind = "colour", channel = 1, low = 0.2 }
length_map = "1 - 0.5 * abs(nx)"
"#
}

tagged! {
    /// Where a value over the surface comes from.
    pub enum MapSource {
        /// A channel of the vertex colours.
        Colour as "colour" {
            /// Channel: 0 red, 1 green, 2 blue, 3 alpha.
            channel: u32 = count(0u32, 3).or(0u32),
        },
        /// The weights of a vertex group.
        Group as "group" {
            /// Name of the group.
            group: String = text().required(),
        },
        /// The brightness of an image, by texture coordinates.
        Image as "image" {
            /// The file, PNG or JPEG.
            path: PathBuf = path().required(),
        },
        /// A formula of the position x, y, z [m] and the normal nx, ny, nz in the solid's frame, and texture coordinates u, v.
        Expression as "expression" {
            /// The formula.
            value: Expression = expression(&SURFACE_VARIABLES).required(),
        },
    }
}

/// A map, or an expression that stands for one.
fn map() -> crate::form::Either<Map, crate::form::Formula> {
    either(
        expression(&SURFACE_VARIABLES),
        |value| Map { source: MapSource::Expression { value }, low: 0.0, high: 1.0 },
        |map| match &map.source {
            MapSource::Expression { value } if map.low == 0.0 && map.high == 1.0 => Some(value.clone()),
            _ => None,
        },
    )
}

tagged! {
    /// A direction over the surface, in the solid's frame.
    pub enum DirectionMap {
        /// Vertex colours: red, green, blue 0 to 1 are x, y, z from -1 to 1.
        Colour as "colour",
        /// An image, by texture coordinates: red, green, blue 0 to 1 are x, y, z from -1 to 1.
        Image as "image" {
            /// The file, PNG or JPEG.
            path: PathBuf = path().required(),
        },
        /// Formulas of position, normal and texture coordinates for x, y and z.
        Expression as "expression" {
            /// The formulas.
            value: [Expression; 3] = expressions(&SURFACE_VARIABLES).required(),
        },
    }
}

section! {
    /// Curls: each strand winds about the line that it would follow without them.
    pub struct Curl {
        /// Radius of the helix [m].
        pub radius: f64 = quantity(LENGTH).above(0.0).at_most(10.0).required(),
        /// Length along the strand of one turn [m].
        pub pitch: f64 = quantity(LENGTH).above(0.0).at_most(100.0).required(),
        /// Share of the length after which it begins, from the root.
        pub start: f64 = quantity(RATIO).at_least(0.0).below(1.0).or(0.0),
        /// 0 is a helix, 1 a wave in a plane.
        pub flat: f64 = quantity(RATIO).fraction().or(0.0),
        /// Random variation of radius and pitch: 0.2 is 20 % up or down.
        pub variation: f64 = quantity(RATIO).fraction().or(0.2),
        /// Share of the length over which the radius grows to its full size.
        pub grow: f64 = quantity(RATIO).fraction().or(0.2),
    }
    example r#"
[[groom]]
name = "ringlets"
on = "head"
faces = "scalp"
strands = 2000
length = "25 cm"
vertices = 40
curl = { radius = "1 cm", pitch = "4 cm", start = 0.2 }
clump = { spacing = "15 mm", strength = 0.7 }
noise = { amplitude = "3 mm", size = "2 cm" }
"#
}

section! {
    /// Clumps: strands lean towards the nearest of some that are chosen as centres.
    pub struct Clump {
        /// Distance between centres [m].
        pub spacing: f64 = quantity(LENGTH).at_least(1e-6).at_most(100.0).required(),
        /// How close they come at the tip: 0 not at all, 1 they meet.
        pub strength: f64 = quantity(RATIO).fraction().or(0.5),
        /// How the closeness grows along the strand: 1 evenly, 2 mostly near the tip.
        pub shape: f64 = quantity(RATIO).above(0.0).at_most(20.0).or(1.0),
    }
}

section! {
    /// Disorder: a smooth random displacement of the groomed shape that grows along the strand.
    pub struct NoiseStyle {
        /// Displacement at the tip [m].
        pub amplitude: f64 = quantity(LENGTH).at_least(0.0).at_most(10.0).required(),
        /// Size of its features [m].
        pub size: f64 = quantity(LENGTH).above(0.0).at_most(100.0).or(0.02),
    }
}
