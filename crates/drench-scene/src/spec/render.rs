//! `[render]`, `[[look]]`, `[[camera]]`, `[groom.shade]`, `[liquid.shade]` and `[grains.shade]`

use super::Easing;
use super::solid::check_times;
use crate::declare::{defaults, section, words};
use crate::form::{Form, Reader, colour, count, flattened, name_of, quantity, reference_to, tables, vector, word};
use crate::tree::{Place, Table};
use crate::units::{ANGLE, LENGTH, RATIO, TIME};
use glam::DVec3;

section! {
    /// How pictures are made.
    pub struct Render {
        /// Width of a picture [pixels].
        pub width: u32 = count(1u32, 16_384).or(1280u32),
        /// Height of a picture [pixels].
        pub height: u32 = count(1u32, 16_384).or(720u32),
        /// How much care is taken.
        pub quality: Quality = word().or(Quality::Preview),
        /// Exposure [stops]: 1 is twice as bright.
        pub exposure: f64 = quantity(RATIO).at_least(-20.0).at_most(20.0).or(0.0),
        /// Samples per pixel: more are smoother and slower.
        pub samples: Option<u32> = count(1u32, 65_536).optional_as("by quality"),
        /// Fibre model of all grooms, instead of their own.
        pub shading: Option<FibreModel> = word().optional_as("that of each groom"),
        /// How the particles of liquids are drawn.
        pub liquid: LiquidStyle = word().or(LiquidStyle::Surface),
        /// How long the shutter is open, as a part of the time between two frames: drops in the air are drawn as streaks
        /// as long as their way in that time. 0.5 is usual for films (180 degrees); 0 shows drops as if they stood still.
        pub shutter: f64 = quantity(RATIO).at_least(0.0).at_most(1.0).or(0.5),
        /// A picture of every n-th frame.
        pub every: u32 = count(1u32, 1_000_000).or(1u32),
    }
    example r#"
[render]
width = 1920
height = 1080
exposure = 0.5
"#
}

words! {
    /// How much care is taken with pictures.
    pub enum Quality {
        /// Quick, and already right.
        Preview = "preview",
        /// Slow and smooth.
        Beauty = "beauty",
    }
}

words! {
    /// How the particles of liquids are drawn.
    pub enum LiquidStyle {
        /// As one surface that light goes through.
        Surface = "surface",
        /// As balls: quick, and shows what is computed.
        Spheres = "spheres",
    }
}

section! {
    /// A named variation of `[render]`, for `drench render RUN --look NAME`.
    pub struct Look {
        /// Name, by which `--look` asks for it.
        pub name: String = name_of("look").required(),
        /// What is different here; a key that is left out has the value that it has in `[render]`.
        pub render: Render = flattened(),
    }
    example r#"
[[look]]
name = "beauty"
quality = "beauty"
"#
}

section! {
    /// A camera. The first one is used, unless `drench render RUN --camera NAME` asks for another.
    pub struct Camera {
        /// Name, by which `--camera` asks for it.
        pub name: String = name_of("camera").required(),
        /// Position; relative to the solid that it follows, if it follows one [m].
        pub position: DVec3 = vector(LENGTH).required(),
        /// The point that it looks at; relative in the same way [m].
        pub target: DVec3 = vector(LENGTH).or(DVec3::ZERO),
        /// Vertical field of view [rad].
        pub field_of_view: f64 = quantity(ANGLE).at_least(0.1f64.to_radians()).at_most(175f64.to_radians()).or(30f64.to_radians()),
        /// The direction that is up in the picture.
        pub up: DVec3 = vector(RATIO).nonzero().or(DVec3::Y),
        /// A solid whose position is added to `position` and `target`.
        pub follow: Option<String> = reference_to("solid").optional_as("it stands in the world"),
        /// Views over time, which replace `position` and `target`.
        pub keyframes as "keyframe": Vec<CameraKeyframe> = tables(100_000).or([]),
        /// Diameter of the aperture [m]; 0 keeps everything sharp.
        pub aperture: f64 = quantity(LENGTH).at_least(0.0).at_most(10.0).or(0.0),
        /// Distance that is sharp [m].
        pub focus: Option<f64> = quantity(LENGTH).above(0.0).at_most(1e6).optional_as("that of the target"),
    }
    check check_camera
    example r#"
[[camera]]
name = "main"
position = [0.5, 0.4, 1]
target = "0 20 0 cm"
field_of_view = "30 deg"
follow = "head"
"#
}

fn check_camera(camera: &Camera, table: &Table, place: Place, reader: &mut Reader) -> Option<()> {
    let times: Vec<f64> = camera.keyframes.iter().map(|keyframe| keyframe.time).collect();
    check_times(&times, table.get("keyframe"), place, reader);
    let views = camera.keyframes.iter().map(|keyframe| (keyframe.position, keyframe.target));
    for (position, target) in std::iter::once((camera.position, camera.target)).chain(views) {
        let forward = target - position;
        let at = table.get("target").or(table.get("position")).map_or(place, |node| node.place);
        if forward.length() < 1e-9 {
            reader.error(at, "the camera stands on the point that it looks at", "move `position` or `target`");
        } else if forward.normalize().cross(camera.up.normalize()).length() < 1e-6 {
            reader.error(at, "the camera looks along its own `up`", "give another up, such as [0, 0, -1]");
        }
    }
    Some(())
}

section! {
    /// A view at a time.
    pub struct CameraKeyframe {
        /// Time [s].
        pub time: f64 = quantity(TIME).at_least(0.0).at_most(1e9).required(),
        /// Position [m].
        pub position: DVec3 = vector(LENGTH).required(),
        /// The point that it looks at [m].
        pub target: DVec3 = vector(LENGTH).required(),
        /// How it goes from here to the next keyframe.
        pub easing: Easing = word().or(Easing::Smooth),
    }
}

section! {
    /// How strands look. The colour is either that of a pigment (`melanin`, `redness`) or given (`colour`).
    pub struct Shade {
        /// The fibre model.
        pub model: FibreModel = word().or(FibreModel::Chiang),
        /// Colour at the root, instead of that of the pigment.
        pub colour: Option<[f64; 3]> = colour().optional_as("from melanin"),
        /// Colour at the tip.
        pub tip_colour: Option<[f64; 3]> = colour().optional_as("that of the root"),
        /// Pigment: 0 white, 0.25 blond, 0.5 brown, 0.8 and more black.
        pub melanin: f64 = quantity(RATIO).fraction().or(0.5),
        /// Share of the pigment that is red.
        pub redness: f64 = quantity(RATIO).fraction().or(0.3),
        /// Random variation of the brightness from strand to strand.
        pub variation: f64 = quantity(RATIO).fraction().or(0.15),
        /// Roughness along the fibre: small makes sharp highlights.
        pub roughness: f64 = quantity(RATIO).at_least(0.01).at_most(1.0).or(0.3),
        /// Roughness around the fibre: small makes it glassy.
        pub roughness_azimuthal: f64 = quantity(RATIO).at_least(0.01).at_most(1.0).or(0.3),
        /// Tilt of the scales on the fibre, which moves the highlight [rad].
        pub tilt: f64 = quantity(ANGLE).at_least(-45f64.to_radians()).at_most(45f64.to_radians()).or(2.5f64.to_radians()),
        /// Refractive index.
        pub ior: f64 = quantity(RATIO).at_least(1.01).at_most(4.0).or(1.55),
        /// Random tilt of the tangent from strand to strand, which breaks up the highlight.
        pub jitter: f64 = quantity(RATIO).fraction().or(0.1),
        /// Exponent of the Kajiya-Kay highlight.
        pub shininess: f64 = quantity(RATIO).at_least(1.0).at_most(1e5).or(60.0),
        /// Multiplier of the drawn width.
        pub width: f64 = quantity(RATIO).at_least(1e-3).at_most(1e3).or(1.0),
        /// Plies of a strand that is thick enough to be a rope: 0 makes it smooth.
        pub plies: u32 = count(0u32, 12).or(3u32),
        /// Colour of one ply of a rope, or of a line along a smooth one: it shows the twist.
        pub stripe: Option<[f64; 3]> = colour().optional_as("that of the others"),
    }
    example r##"
[[groom]]
name = "auburn"
on = "head"
faces = "scalp"
strands = 5000
length = "20 cm"
shade = { melanin = 0.4, redness = 0.8, roughness = 0.25 }

[[groom]]
name = "grey-tips"
on = "head"
faces = "scalp"
strands = 500
length = "20 cm"
shade = { colour = "#4a4038", tip_colour = "#b8b0a8" }
"##
}

words! {
    /// How a fibre scatters light.
    pub enum FibreModel {
        /// The classic tangent model: quick.
        KajiyaKay = "kajiya-kay",
        /// Reflection, transmission and internal reflection by pigment and roughness [Chiang2016].
        Chiang = "chiang",
    }
}

section! {
    /// How a liquid looks. What is left out follows from its material.
    pub struct LiquidShade {
        /// Colour of the light that it scatters; it shows as far as `scattering` is not 0.
        pub tint: Option<[f64; 3]> = colour().optional_as("that of the material"),
        /// Light that it swallows on its way, for red, green and blue [1/m]: 7 leaves half of the light after 10 cm.
        pub absorption: Option<DVec3> = vector(RATIO).optional_as("that of the material"),
        /// Light that it scatters [1/m]: 0 is clear, 1500 as white as milk.
        pub scattering: Option<f64> = quantity(RATIO).at_least(0.0).at_most(1e6).optional_as("that of the material"),
        /// Refractive index.
        pub ior: Option<f64> = quantity(RATIO).at_least(1.0).at_most(4.0).optional_as("that of the material"),
        /// Roughness of the surface: larger makes wider highlights.
        pub roughness: Option<f64> = quantity(RATIO).fraction().optional_as("that of the material"),
        /// How much the surface is smoothed: 0 shows every particle, 1 is usual.
        pub smoothing: f64 = quantity(RATIO).at_least(0.0).at_most(4.0).or(1.0),
    }
    check check_liquid_shade
    example r##"
[liquid]
material = "water"
spacing = "8 mm"
fill = [{ kind = "box", low = [0, 0, 0], high = [1, 0.2, 1] }]
shade = { absorption = [1, 4, 8], smoothing = 1.5 }
"##
}

fn check_liquid_shade(shade: &LiquidShade, table: &Table, place: Place, reader: &mut Reader) -> Option<()> {
    if shade.absorption.is_some_and(|absorption| absorption.min_element() < 0.0) {
        let at = table.get("absorption").map_or(place, |node| node.place);
        reader.error(at, "a liquid cannot give out light that it swallows", "make `absorption` 0 or more");
    }
    Some(())
}

section! {
    /// How grains look.
    pub struct GrainShade {
        /// Colour of a dry grain.
        pub dry: [f64; 3] = colour().or_as([0.62, 0.46, 0.28], "sand"),
        /// Colour of a wet grain; over-wet ones are darker still, and shine.
        pub wet: [f64; 3] = colour().or_as([0.235, 0.135, 0.062], "wet sand"),
        /// Random variation from grain to grain.
        pub variation: f64 = quantity(RATIO).fraction().or(0.35),
    }
    example r##"
[[grains]]
name = "beads"
radius = "3 mm"
fill = [{ kind = "ball", centre = [0, 0.2, 0], radius = "10 cm" }]
shade = { dry = "#3060c0", wet = "#102040", variation = 0.1 }
"##
}

defaults!(Render, Shade, LiquidShade, GrainShade);
