//! How strands scatter light.

pub(crate) mod chiang;
pub(crate) mod kajiya;
mod lobes;
pub(crate) mod water;

use crate::{FibreModel, HairLook};
use chiang::{Chiang, Fibre, absorption_of_colour, absorption_of_melanin, colour_of_absorption};
use glam::Vec3;
use water::Water;

/// How many strands light has crossed on its way to a point.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Crossed {
    /// So many on average.
    Mean(f32),
    /// So many.
    Exactly(u32),
}

impl Crossed {
    /// Probability of none: crossings are Poisson distributed around their mean.
    pub fn none(self) -> f32 {
        match self {
            Self::Mean(n) => (-n).exp(),
            Self::Exactly(n) => f32::from(n == 0),
        }
    }

    /// What is left of light of which each strand passes a share: the mean of `share^k`.
    pub fn passed(self, share: Vec3) -> Vec3 {
        match self {
            Self::Mean(n) => chiang::exp(-n * (Vec3::ONE - share)),
            Self::Exactly(n) => share.map(|share| share.powi(n as i32)),
        }
    }

    pub fn mean(self) -> f32 {
        match self {
            Self::Mean(n) => n,
            Self::Exactly(n) => n as f32,
        }
    }
}

/// A groom's look, ready to shade.
pub(crate) struct Fur {
    look: HairLook,
    tables: Option<Chiang>,
    root: Vec3,
    tip: Vec3,
    /// Share of light that goes on behind a strand of average colour.
    pub forward: Vec3,
}

/// A place on a strand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub tangent: Vec3,
    /// From 0 at the root to 1 at the tip.
    pub along: f32,
    pub water: Water,
    /// Random bits of the strand.
    pub random: u64,
    /// Random bits of the lock that it is in when it is wet.
    pub lock: u64,
}

/// One point of a strand, ready to be lit.
pub(crate) enum Point<'a> {
    Chiang {
        model: &'a Chiang,
        fibre: Fibre,
        albedo: Vec3,
    },
    KajiyaKay {
        colour: Vec3,
        shininess: f32,
        /// How far a film hides the fibre.
        coat: f32,
        tangent: Vec3,
        normal: Vec3,
        towards_eye: Vec3,
        forward: Vec3,
    },
}

impl HairLook {
    /// Colours of a mass of such strands at roots and tips, as Kajiya and Kay's model takes them.
    pub fn colours(&self) -> [Vec3; 2] {
        let fur = Fur::new(Self { model: FibreModel::KajiyaKay, ..*self });
        [fur.root, fur.tip]
    }
}

impl Fur {
    pub fn new(look: HairLook) -> Self {
        let finite = |x: f32, otherwise: f32| if x.is_finite() { x } else { otherwise };
        let roughness_azimuthal = finite(look.roughness_azimuthal, 0.3);
        let absorption = absorption_of_melanin(finite(look.melanin, 0.5), finite(look.redness, 0.0));
        match look.model {
            FibreModel::Chiang => {
                let model = Chiang::new(
                    finite(look.ior, 1.55),
                    finite(look.roughness, 0.3),
                    roughness_azimuthal,
                    finite(look.tilt, 0.0).clamp(-0.3, 0.3),
                );
                let sigma = |colour: Vec3| absorption_of_colour(colour, roughness_azimuthal);
                let root = look.colour.map_or(absorption, sigma);
                let tip = look.tip_colour.map_or(root, sigma);
                let forward = model.forward(0.5 * (root + tip));
                Self { look, tables: Some(model), root, tip, forward }
            }
            FibreModel::KajiyaKay => {
                // The colour whose absorption this is: the same pigment gives both models about the same hair.
                let root = look.colour.unwrap_or(colour_of_absorption(absorption, roughness_azimuthal));
                let tip = look.tip_colour.unwrap_or(root);
                Self { look, tables: None, root, tip, forward: kajiya::forward(0.5 * (root + tip)) }
            }
        }
    }

    /// The look it was made from.
    pub fn look(&self) -> HairLook {
        self.look
    }

    /// Colour of a strand as a surface.
    pub fn colour(&self, along: f32, random: u64, water: Water) -> Vec3 {
        let base = self.root.lerp(self.tip, along);
        let brightness = self.look.variation * ((random >> 48) as f32 / 32_767.5 - 1.0);
        let dry = match &self.tables {
            Some(_) => colour_of_absorption(base, self.look.roughness_azimuthal) * (1.0 + brightness),
            None => base * (1.0 + brightness),
        };
        water.colour(dry)
    }

    /// The strand at `place`; `normal` is that of the hair's surface or zero.
    pub fn point(&self, place: Place, towards_eye: Vec3, normal: Vec3) -> Point<'_> {
        let Place { tangent, along, water, random, lock } = place;
        let part = |bits: u64, shift: u32| ((bits >> shift) & 0xffff) as f32 / 65_535.0 * 2.0 - 1.0;
        let offset = |bits: u64| Vec3::from([0, 16, 32].map(|shift| part(bits, shift)));
        // The same offset in every frame, or highlights would flicker [Henne2013, 5.2].
        let mut jitter = offset(random);
        if water.coat > 0.0 {
            // The hairs of a wet lock lie along each other and shine as one.
            jitter = jitter.lerp(0.8 * offset(lock), 0.85 * water.coat);
        }
        let tangent = (tangent + jitter * self.look.jitter).try_normalize().unwrap_or(tangent);
        let brightness = part(random, 48) * self.look.variation;
        let base = self.root.lerp(self.tip, along);
        match &self.tables {
            Some(model) => {
                // Pigment varies between strands by a factor, as brightness does by a difference.
                let sigma = base * ((-2.5 * brightness).exp() * water.absorption());
                let fibre = model.fibre(tangent, towards_eye, sigma, water);
                let albedo = model.albedo(&fibre);
                Point::Chiang { model, fibre, albedo }
            }
            None => Point::KajiyaKay {
                colour: water.colour(base * (1.0 + brightness)),
                shininess: water.shininess(self.look.shininess),
                coat: water.coat,
                tangent,
                normal,
                towards_eye,
                forward: self.forward,
            },
        }
    }
}

impl Point<'_> {
    /// Radiance towards the eye per irradiance from a direction, weakened by strands on the way.
    #[inline]
    pub fn scattered(&self, towards_light: Vec3, crossed: Crossed) -> Vec3 {
        match self {
            Point::Chiang { model, fibre, .. } => model.scattered(fibre, towards_light, crossed),
            Point::KajiyaKay { colour, shininess, coat, tangent, normal, towards_eye, forward } => {
                let gloss = kajiya::Gloss { shininess: *shininess, coat: *coat };
                let passed = crossed.passed(*forward);
                passed * kajiya::scattered(*colour, gloss, *tangent, *normal, *towards_eye, towards_light)
            }
        }
    }

    /// Share of light from all around that goes to the eye.
    #[inline]
    pub fn albedo(&self) -> Vec3 {
        match self {
            Point::Chiang { albedo, .. } => *albedo,
            Point::KajiyaKay { colour, .. } => 0.8 * *colour,
        }
    }
}
