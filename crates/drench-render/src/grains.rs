//! Grains as balls: their colours, and how much of the sky each sees past its neighbours.

use crate::light::ambient::{Ambient, Moments};
use crate::light::shadow::ShadowMap;
use crate::liquid::Particles;
use crate::{GrainLook, LiquidStyle, RenderError, Settings};
use drench_geometry::neighbours::Neighbours;
use drench_io::{Frame, ParticleBody, ParticleKind};
use drench_math::random::{Stream, mix};
use glam::{DVec3, Vec3};
use rayon::prelude::*;

/// Grains a parallel chunk holds.
const CHUNK: usize = 1 << 10;
/// Most neighbours that hide the sky from a grain.
const MOST_NEIGHBOURS: usize = 64;
/// Cells between the origin and the end of the world.
const CELLS: f32 = 1e5;

/// All grains of a picture, flat.
#[derive(Default)]
pub(crate) struct Grains {
    pub centres: Vec<Vec3>,
    pub radii: Vec<f32>,
    pub skins: Vec<Skin>,
    /// What hides the sky: share of all directions that neighbours fill, and the mean of their directions times it.
    hidden: Vec<(f32, Vec3)>,
    neighbours: Neighbours,
    /// The sky's light around each grain.
    sky: Vec<Moments>,
    /// Share of each light that arrives at each grain, light by light for grain 0, then for grain 1.
    pub lit: Vec<Vec3>,
    lights: usize,
    /// Grains that were left out because a number is not finite.
    pub skipped: u64,
}

/// The surface of a grain.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Skin {
    pub colour: Vec3,
    /// 0 mirror-like to 1 dull.
    pub roughness: f32,
}

impl Grains {
    pub fn gather(&mut self, frame: &Frame, settings: &Settings) -> Result<(), RenderError> {
        self.centres.clear();
        self.radii.clear();
        self.skins.clear();
        self.skipped = 0;
        let stream = Stream::new(settings.seed, "grain look");
        for (number, body) in frame.particles.iter().enumerate() {
            match body.kind {
                ParticleKind::Grains => {
                    let look = settings.grains.get(&body.name).copied().unwrap_or_default();
                    self.add(body, stream.child(number as u64), |wetness, random| skin(&look, wetness, random))?;
                }
                ParticleKind::Liquid if settings.liquid.style == LiquidStyle::Spheres => {
                    let look = settings.liquid;
                    let skin = Skin { colour: look.body_colour(), roughness: 0.2 };
                    self.add(body, stream.child(number as u64), |_, _| skin)?;
                }
                ParticleKind::Liquid => {}
            }
        }
        self.hide();
        Ok(())
    }

    fn add(&mut self, body: &ParticleBody, stream: Stream, skin: impl Fn(f32, u64) -> Skin) -> Result<(), RenderError> {
        let particles = Particles::read(body)?;
        self.skipped += particles.skipped;
        let (wetness, ids) = (body.scalars("wetness"), body.whole("id"));
        self.skins.extend(particles.numbers.iter().map(|&i| {
            let wetness = wetness.and_then(|wetness| wetness.get(i as usize)).copied().unwrap_or(0.0);
            let id = ids.and_then(|ids| ids.get(i as usize)).copied().unwrap_or(i);
            skin(if wetness.is_finite() { wetness } else { 0.0 }, stream.bits(u64::from(id)))
        }));
        self.centres.extend(particles.positions);
        self.radii.extend(particles.radii);
        Ok(())
    }

    /// Finds what neighbours hide of the sky. A ball of radius r at distance d fills (1 - sqrt(1 - (r / d)^2)) / 2 of all
    /// directions.
    fn hide(&mut self) {
        let cell = 4.0 * self.radii.iter().fold(1e-6_f32, |a, &b| a.max(b));
        // Grains that flew out of the world have no neighbours worth finding.
        let far = Vec3::splat(CELLS * cell);
        let places: Vec<DVec3> = self.centres.par_iter().map(|p| p.clamp(-far, far).as_dvec3()).collect();
        let found = self.neighbours.rebuild(&places, f64::from(cell));
        debug_assert!(found.is_ok(), "{found:?}");
        let (centres, radii, neighbours) = (&self.centres, &self.radii, &self.neighbours);
        let hidden = |i: usize| {
            let (mut share, mut mean, mut count) = (0.0, Vec3::ZERO, 0);
            neighbours.for_each_near(places[i], |j| {
                let j = j as usize;
                let d = centres[j] - centres[i];
                let distance = d.length();
                let reach = 4.0 * radii[i].max(radii[j]);
                if j == i || distance > reach || distance < 1e-9 || count == MOST_NEIGHBOURS {
                    return;
                }
                count += 1;
                let sine = (radii[j] / distance).min(1.0);
                // Fades out, so that nothing jumps when grains move.
                let fade = 1.0 - (distance / reach).powi(4);
                let part = 0.5 * (1.0 - (1.0 - sine * sine).sqrt()) * fade;
                share += part;
                mean += d * (part / distance);
            });
            (share, mean)
        };
        (0..centres.len()).into_par_iter().with_min_len(CHUNK).map(hidden).collect_into_vec(&mut self.hidden);
    }

    /// Looks up the light that arrives at each grain, once for all its pixels.
    pub fn illuminate(&mut self, maps: &[ShadowMap], ambient: &Ambient) {
        let (centres, radii, hidden) = (&self.centres, &self.radii, &self.hidden);
        let sky = |i: usize| {
            // From where the heap is open, or a whole cell of it would lie before the grain.
            let out = (-hidden[i].1).normalize_or(Vec3::Y);
            ambient.at(centres[i] + out * (radii[i] + ambient.cell()))
        };
        (0..centres.len()).into_par_iter().with_min_len(CHUNK).map(sky).collect_into_vec(&mut self.sky);
        self.lights = maps.len();
        self.lit.clear();
        self.lit.resize(centres.len() * maps.len(), Vec3::ZERO);
        if maps.is_empty() {
            return;
        }
        self.lit.par_chunks_mut(maps.len() * CHUNK).enumerate().for_each(|(chunk, lit)| {
            for (k, lit) in lit.chunks_mut(maps.len()).enumerate() {
                let i = chunk * CHUNK + k;
                for (lit, map) in lit.iter_mut().zip(maps) {
                    *lit = map.at_ball(centres[i], radii[i]);
                }
            }
        });
    }

    /// Share of each light that arrives at a grain.
    pub fn lit(&self, grain: usize) -> &[Vec3] {
        &self.lit[grain * self.lights..(grain + 1) * self.lights]
    }

    /// Irradiance by the sky of a grain's surface with this normal. By the first two moments of what hides it: a part
    /// `w` of all directions around `d` takes w (1 + 2 n d) of an even sky's irradiance.
    pub fn irradiance(&self, grain: usize, normal: Vec3) -> Vec3 {
        self.sky[grain].irradiance(normal) * self.open(grain, normal)
    }

    /// Share of the sky over a surface with this normal that neighbours leave.
    pub fn open(&self, grain: usize, normal: Vec3) -> f32 {
        let (share, mean) = self.hidden[grain];
        (1.0 - share - 2.0 * normal.dot(mean)).clamp(0.06, 1.0)
    }

    /// Radiance of the sky that a grain mirrors in a direction.
    pub fn mirrored(&self, grain: usize, direction: Vec3) -> Vec3 {
        self.sky[grain].radiance(direction, 0.9) * self.open(grain, direction)
    }
}

/// The skin of a grain: wet is darker and more saturated, over-wet (beyond 1) darker still and shiny.
fn skin(look: &GrainLook, wetness: f32, random: u64) -> Skin {
    let part = |shift: u32| (mix(random) >> shift & 0xffff) as f32 / 65_535.0 - 0.5;
    let (soaked, over) = (wetness.clamp(0.0, 1.0), (wetness - 1.0).clamp(0.0, 1.0));
    let colour = look.dry.lerp(look.wet, soaked) * (1.0 - 0.4 * over);
    // Sand is a mix of minerals: most grains differ a little, some are dark, some are clear.
    let odd = part(48);
    let kind = if odd > 0.44 {
        0.45
    } else if odd < -0.42 {
        1.35
    } else {
        1.0
    };
    let bright = 1.0 + look.variation * (part(0) + part(16));
    let warm = 1.0 + 0.35 * look.variation * part(32);
    let colour = colour * bright * (1.0 + (kind - 1.0) * (2.0 * look.variation).min(1.0));
    let colour = (colour * Vec3::new(warm, 1.0, 1.0 / warm)).clamp(Vec3::ZERO, Vec3::ONE);
    Skin { colour, roughness: 0.9 - 0.35 * soaked - 0.35 * over }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wet_grains_are_darker_and_over_wet_ones_shine() {
        let look = GrainLook { variation: 0.0, ..GrainLook::default() };
        let [dry, damp, wet, over] = [0.0, 0.5, 1.0, 1.8].map(|wetness| skin(&look, wetness, 7));
        let brightness = |skin: Skin| skin.colour.element_sum();
        let saturation = |skin: Skin| 1.0 - skin.colour.min_element() / skin.colour.max_element();
        assert!(brightness(dry) > brightness(damp) && brightness(damp) > brightness(wet));
        assert!(brightness(wet) > brightness(over) && saturation(wet) > saturation(dry));
        assert!(dry.roughness > wet.roughness && wet.roughness > over.roughness);
        assert_eq!(dry.colour, look.dry);
        assert_eq!(skin(&look, f32::MAX, 7).roughness, skin(&look, 2.0, 7).roughness);
    }

    #[test]
    fn a_lone_grain_sees_the_whole_sky_and_one_under_others_little() {
        let mut grains = Grains { centres: vec![Vec3::ZERO], radii: vec![0.01], ..Grains::default() };
        grains.hide();
        assert_eq!(grains.open(0, Vec3::Y), 1.0);
        // A floor of touching grains below.
        for k in 0..81 {
            grains.centres.push(Vec3::new((k % 9 - 4) as f32 * 0.02, -0.017, (k / 9 - 4) as f32 * 0.02));
            grains.radii.push(0.01);
        }
        grains.hide();
        let (up, down) = (grains.open(0, Vec3::Y), grains.open(0, Vec3::NEG_Y));
        assert!(up > 0.9 && down < 0.5, "{up} {down}");
    }
}
