//! Water on strands, as it changes their look.
//!
//! Water inside a fibre and between its scales lowers the steps of the refractive index there. Less light turns back at
//! them, so light goes a longer way through the pigment: wet hair is darker and more saturated. A film around the fibre
//! is smooth where the scales are not, and covers their tilt: highlights are narrow, bright and where a cylinder has
//! them.

use drench_io::{Domain, StrandBody, Values};
use glam::Vec3;

/// How much more a fibre full of water absorbs.
const ABSORPTION: f32 = 0.7;
/// Part of the light scattered between strands that is lost where a film fills the gaps between them.
const FILLED: f32 = 0.25;
/// Film that hides the scales of a fibre [radii]: one of e times less shows a third of them.
const HIDING: f32 = 0.1;
/// Thickest film [m].
const THICKEST: f32 = 0.01;
/// Roughness along the fibre of a film.
const SMOOTH: f32 = 0.08;
/// Roughness of a film as a surface: that along the fibre, and waves that are too small to be drawn.
const FILM_SURFACE: f32 = 0.25;
/// Exponent of the Kajiya-Kay highlight of a film: a lobe as wide as that of its roughness.
const SHININESS: f32 = 400.0;

/// Water at a point of a strand.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Water {
    /// How full the fibre is, 0 to 1.
    pub inside: f32,
    /// How far a film hides the surface of the fibre, 0 to 1.
    pub coat: f32,
}

impl Water {
    /// No water.
    pub const NONE: Self = Self { inside: 0.0, coat: 0.0 };

    /// Whether there is none.
    #[inline]
    pub fn is_none(self) -> bool {
        self.inside <= 0.0 && self.coat <= 0.0
    }

    /// On the way from here to `other`.
    pub fn lerp(self, other: Self, t: f32) -> Self {
        Self { inside: self.inside + (other.inside - self.inside) * t, coat: self.coat + (other.coat - self.coat) * t }
    }

    /// Absorption of a fibre over that of the dry one.
    pub fn absorption(self) -> f32 {
        1.0 + ABSORPTION * self.inside
    }

    /// Colour of a mass of strands from that of dry ones: what is left falls with the root of the absorption
    /// [Chiang2016, eq. 9], and the film takes its part.
    pub fn colour(self, dry: Vec3) -> Vec3 {
        if self.is_none() {
            return dry;
        }
        let power = self.absorption().sqrt();
        dry.max(Vec3::ZERO).map(|x| x.powf(power)) * self.between()
    }

    /// Light scattered between strands over that of dry ones.
    pub fn between(self) -> f32 {
        1.0 - FILLED * self.coat
    }

    /// Roughness of a surface that is this rough when dry.
    pub fn roughness(self, dry: f32) -> f32 {
        dry + (SMOOTH.min(dry) - dry) * self.coat
    }

    /// Roughness of the surface of a strand that is wide enough to have one.
    pub fn surface(self, dry: f32) -> f32 {
        dry + (FILM_SURFACE.min(dry) - dry) * self.coat
    }

    /// Exponent of the Kajiya-Kay highlight from that of dry strands.
    pub fn shininess(self, dry: f32) -> f32 {
        dry * (SHININESS / dry).max(1.0).powf(self.coat)
    }

    /// What is left of tilts and disorder of a dry surface.
    pub fn bare(self) -> f32 {
        1.0 - self.coat
    }
}

/// The water of a body's strands, vertex by vertex.
#[derive(Clone, Copy)]
pub(crate) struct Wetness<'a> {
    inside: &'a [f32],
    film: &'a [f32],
}

impl<'a> Wetness<'a> {
    /// That of a body whose frame tells of it.
    pub fn of(body: &'a StrandBody) -> Option<Self> {
        Some(Self { inside: per_vertex(body, "fibre_water")?, film: per_vertex(body, "film")? })
    }

    /// Thickness of the film at a vertex [m].
    pub fn film(&self, vertex: usize) -> f32 {
        number(self.film[vertex]).min(THICKEST)
    }

    /// The water at a vertex of this dry radius [m].
    pub fn at(&self, vertex: usize, radius: f32) -> Water {
        let coat = 1.0 - (-self.film(vertex) / (HIDING * radius.max(1e-6))).exp();
        Water { inside: number(self.inside[vertex]).min(1.0), coat }
    }
}

/// An attribute with one number for each vertex.
pub(crate) fn per_vertex<'a>(body: &'a StrandBody, name: &str) -> Option<&'a [f32]> {
    match body.attributes.get(name).map(|a| (a.domain, &a.values)) {
        Some((Domain::Vertex, Values::F32(values))) if values.len() == body.positions.len() => Some(values),
        _ => None,
    }
}

/// A number that is no negative one.
fn number(x: f32) -> f32 {
    if x.is_finite() { x.max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_io::Attribute;

    #[test]
    fn more_water_is_darker_smoother_and_more_saturated() {
        let steps: Vec<Water> = [0.0, 0.3, 0.7, 1.0].map(|x| Water { inside: x, coat: x }).to_vec();
        let dry = Vec3::new(0.5, 0.3, 0.2);
        assert_eq!(steps[0].colour(dry), dry);
        assert_eq!((steps[0].roughness(0.3), steps[0].shininess(60.0)), (0.3, 60.0));
        for pair in steps.windows(2) {
            let colours = [pair[0].colour(dry), pair[1].colour(dry)];
            let saturation = colours.map(|c| 1.0 - c.min_element() / c.max_element());
            assert!(colours[1].max_element() < colours[0].max_element() && saturation[1] > saturation[0]);
            assert!(pair[1].roughness(0.3) < pair[0].roughness(0.3));
            assert!(pair[1].shininess(60.0) > pair[0].shininess(60.0));
            // What is smoother already stays as it is.
            assert_eq!(pair[1].roughness(0.02), 0.02);
            assert_eq!(pair[1].shininess(2000.0), 2000.0);
        }
    }

    #[test]
    fn frames_tell_of_water_and_bad_numbers_are_none() {
        let per_vertex = |values: Vec<f32>| Attribute { domain: Domain::Vertex, values: Values::F32(values) };
        let mut body = StrandBody { positions: vec![[0.0; 3]; 4], ..StrandBody::default() };
        assert!(Wetness::of(&body).is_none());
        body.attributes.insert("fibre_water".into(), per_vertex(vec![0.0, 0.5, 7.0, f32::NAN]));
        body.attributes.insert("film".into(), per_vertex(vec![0.0, 2e-6, 30e-6, f32::NEG_INFINITY]));
        let wetness = Wetness::of(&body).unwrap();
        let at = |vertex| wetness.at(vertex, 35e-6);
        assert_eq!((at(0), at(3)), (Water::NONE, Water::NONE));
        assert!(at(1).coat > 0.3 && at(1).coat < 0.6 && at(2).coat > 0.99 && at(2).inside == 1.0);
        assert_eq!(wetness.film(2), 30e-6);
    }
}
