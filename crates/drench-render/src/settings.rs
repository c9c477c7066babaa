//! What a picture shall look like, as plain values. Colours are linear RGB.

use glam::Vec3;
use std::collections::BTreeMap;

/// Everything about the pictures of a run that does not change from frame to frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Width of the picture [px].
    pub width: u32,
    /// Height of the picture [px].
    pub height: u32,
    /// How much work a picture is worth.
    pub quality: Quality,
    /// Exposure [stops]: each doubles the brightness.
    pub exposure: f32,
    /// Samples per pixel instead of the quality's own number.
    pub samples: Option<u32>,
    /// Shading of every groom instead of its own.
    pub shading: Option<FibreModel>,
    /// Suns and lamps.
    pub lights: Vec<Light>,
    /// The light from everywhere.
    pub sky: Sky,
    /// A floor without end.
    pub ground: Option<Ground>,
    /// Looks of the grooms by name; others get the default.
    pub hair: BTreeMap<String, HairLook>,
    /// Looks of the solids by name; others get the default.
    pub solids: BTreeMap<String, SolidLook>,
    /// Look of liquids.
    pub liquid: LiquidLook,
    /// Time for which the shutter is open [s]: drops in the air are drawn as streaks; 0: as if they stood still.
    pub shutter: f32,
    /// Looks of the grains by name; others get the default.
    pub grains: BTreeMap<String, GrainLook>,
    /// Seed of the variation between strands and between grains.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            width: 1280,
            height: 720,
            quality: Quality::Preview,
            exposure: 0.0,
            samples: None,
            shading: None,
            lights: Light::studio(),
            sky: Sky::default(),
            ground: None,
            hair: BTreeMap::new(),
            solids: BTreeMap::new(),
            liquid: LiquidLook::default(),
            shutter: 0.02,
            grains: BTreeMap::new(),
            seed: 1,
        }
    }
}

/// How much work a picture is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    /// Seconds a picture: shadows from deep opacity maps.
    Preview,
    /// Minutes a picture: shadow rays, four times the samples.
    Beauty,
}

/// Where a picture is taken from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Position of the camera [m].
    pub position: Vec3,
    /// Point in the middle of the picture [m].
    pub target: Vec3,
    /// Direction that is up in the picture.
    pub up: Vec3,
    /// Vertical field of view [rad].
    pub field_of_view: f32,
    /// Diameter of the lens [m]; 0: everything is sharp.
    pub aperture: f32,
    /// Distance that is sharp [m]; none: the target's.
    pub focus: Option<f32>,
}

impl Default for View {
    fn default() -> Self {
        Self {
            position: Vec3::new(0.0, 0.3, 1.0),
            target: Vec3::ZERO,
            up: Vec3::Y,
            field_of_view: 0.6,
            aperture: 0.0,
            focus: None,
        }
    }
}

/// A source of direct light.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Light {
    /// Light from infinitely far away.
    Sun {
        /// Direction it shines along.
        direction: Vec3,
        /// Colour.
        colour: Vec3,
        /// Irradiance of a surface that faces it, over pi: a white surface then has this radiance.
        strength: f32,
        /// Angular diameter [rad]; widens shadows.
        angle: f32,
    },
    /// A glowing ball.
    Lamp {
        /// Centre [m].
        position: Vec3,
        /// Colour.
        colour: Vec3,
        /// Radiant power [W].
        power: f32,
        /// Radius [m]; widens shadows.
        radius: f32,
    },
}

impl Light {
    /// Key light from the upper left, weak fill from the right, rim light from behind.
    pub fn studio() -> Vec<Self> {
        let sun = |direction: Vec3, colour: Vec3, strength, angle: f32| Self::Sun {
            direction: direction.normalize(),
            colour,
            strength,
            angle: angle.to_radians(),
        };
        vec![
            sun(Vec3::new(0.62, -0.85, -0.6), Vec3::new(1.0, 0.95, 0.88), 1.8, 5.0),
            sun(Vec3::new(-0.9, -0.35, -0.35), Vec3::new(0.85, 0.92, 1.0), 0.15, 20.0),
            sun(Vec3::new(-0.35, -0.6, 0.9), Vec3::new(0.95, 0.97, 1.0), 0.9, 6.0),
        ]
    }
}

/// Light from everywhere above the horizon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sky {
    /// Colour straight above.
    pub zenith: Vec3,
    /// Colour at the horizon.
    pub horizon: Vec3,
    /// Radiance of white.
    pub strength: f32,
    /// Whether the camera sees it; otherwise the background is black.
    pub visible: bool,
}

impl Default for Sky {
    fn default() -> Self {
        Self { zenith: Vec3::new(0.42, 0.5, 0.62), horizon: Vec3::new(0.72, 0.74, 0.77), strength: 0.35, visible: true }
    }
}

/// An endless horizontal floor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ground {
    /// Height [m].
    pub height: f32,
    /// Colour.
    pub colour: Vec3,
    /// Roughness, 0 mirror-like to 1 dull.
    pub roughness: f32,
}

/// The law of scattering of a fibre.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FibreModel {
    /// Kajiya and Kay 1989: a diffuse and a glossy term around the tangent.
    KajiyaKay,
    /// Chiang and others 2016: dielectric fibre with absorbing interior.
    Chiang,
}

/// The look of a groom's strands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HairLook {
    /// Law of scattering.
    pub model: FibreModel,
    /// Colour of a mass of such strands; none: from the melanin.
    pub colour: Option<Vec3>,
    /// Colour at the tips; none: as at the roots.
    pub tip_colour: Option<Vec3>,
    /// Amount of pigment, 0 white to 1 black.
    pub melanin: f32,
    /// Share of the red pigment pheomelanin.
    pub redness: f32,
    /// Variation of brightness between strands, 0 to 1.
    pub variation: f32,
    /// Roughness along the fibre, 0 to 1.
    pub roughness: f32,
    /// Roughness around the fibre, 0 to 1.
    pub roughness_azimuthal: f32,
    /// Tilt of the cuticle's scales [rad].
    pub tilt: f32,
    /// Index of refraction.
    pub ior: f32,
    /// Random change of each strand's tangent, in units of the tangent.
    pub jitter: f32,
    /// Exponent of Kajiya-Kay's glossy term.
    pub shininess: f32,
    /// Factor of the drawn width.
    pub width: f32,
    /// Plies of a strand that is thick enough to be a rope; 0: it is smooth.
    pub plies: u32,
    /// Colour of one ply of a rope, or of a line along a smooth one, which shows how it is twisted.
    pub stripe: Option<Vec3>,
}

impl Default for HairLook {
    fn default() -> Self {
        Self {
            model: FibreModel::Chiang,
            colour: None,
            tip_colour: None,
            melanin: 0.5,
            redness: 0.2,
            variation: 0.2,
            roughness: 0.3,
            roughness_azimuthal: 0.35,
            tilt: 0.05,
            ior: 1.55,
            jitter: 0.1,
            shininess: 30.0,
            width: 1.0,
            plies: 3,
            stripe: None,
        }
    }
}

/// The look of a solid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolidLook {
    /// Whether it is seen and casts shadows.
    pub visible: bool,
    /// Colour.
    pub colour: Vec3,
    /// Roughness, 0 mirror-like to 1 dull.
    pub roughness: f32,
}

impl Default for SolidLook {
    fn default() -> Self {
        Self { visible: true, colour: Vec3::splat(0.5), roughness: 0.6 }
    }
}

/// The look of a liquid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiquidLook {
    /// How its particles are drawn.
    pub style: LiquidStyle,
    /// Index of refraction.
    pub ior: f32,
    /// Light that it swallows, for red, green, blue [1/m].
    pub absorption: Vec3,
    /// Light that it scatters [1/m]: 0 is clear, some thousand is as opaque as milk.
    pub scattering: f32,
    /// Colour of the light that it scatters.
    pub colour: Vec3,
    /// Roughness of its surface, 0 mirror-like to 1 dull.
    pub roughness: f32,
    /// How much its surface is smoothed: 0 shows every particle, 1 is usual.
    pub smoothing: f32,
}

/// How the particles of a liquid are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiquidStyle {
    /// As one surface.
    Surface,
    /// As balls: quick, and shows what is computed.
    Spheres,
}

impl Default for LiquidLook {
    fn default() -> Self {
        Self::water()
    }
}

impl LiquidLook {
    /// Clear, with a hint of blue. A real tank must be metres deep to look blue; this one needs half a metre.
    pub fn water() -> Self {
        Self {
            style: LiquidStyle::Surface,
            ior: 1.333,
            absorption: Vec3::new(1.8, 0.45, 0.22),
            scattering: 0.0,
            colour: Vec3::new(0.8, 0.9, 1.0),
            roughness: 0.05,
            smoothing: 1.0,
        }
    }

    /// White and opaque.
    pub fn milk() -> Self {
        let colour = Vec3::new(0.93, 0.9, 0.84);
        Self { ior: 1.35, absorption: Vec3::ZERO, scattering: 1500.0, colour, roughness: 0.12, ..Self::water() }
    }

    /// Amber.
    pub fn honey() -> Self {
        Self { ior: 1.49, absorption: Vec3::new(4.0, 22.0, 90.0), scattering: 6.0, ..Self::tinted(0.95, 0.6, 0.15) }
    }

    /// Pale yellow.
    pub fn oil() -> Self {
        Self { ior: 1.47, absorption: Vec3::new(0.8, 1.6, 11.0), ..Self::tinted(0.95, 0.85, 0.4) }
    }

    /// Clear and strongly refracting.
    pub fn glycerine() -> Self {
        Self { ior: 1.47, absorption: Vec3::new(0.9, 0.6, 0.7), ..Self::water() }
    }

    /// Clear.
    pub fn alcohol() -> Self {
        Self { ior: 1.36, absorption: Vec3::new(0.5, 0.4, 0.4), ..Self::water() }
    }

    fn tinted(red: f32, green: f32, blue: f32) -> Self {
        Self { colour: Vec3::new(red, green, blue), ..Self::water() }
    }

    /// The colour of a thick layer, for particles drawn as balls.
    pub(crate) fn body_colour(&self) -> Vec3 {
        let through = crate::liquid::optics::passed(self.absorption, 0.3);
        let clear = 1.0 / (1.0 + 0.3 * self.scattering);
        self.colour.lerp(through * 0.75, clear)
    }
}

/// The look of a body of grains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrainLook {
    /// Colour of a dry grain.
    pub dry: Vec3,
    /// Colour of a wet grain.
    pub wet: Vec3,
    /// Variation between grains, 0 to 1.
    pub variation: f32,
}

impl Default for GrainLook {
    /// Sand.
    fn default() -> Self {
        Self { dry: Vec3::new(0.62, 0.46, 0.28), wet: Vec3::new(0.235, 0.135, 0.062), variation: 0.35 }
    }
}
