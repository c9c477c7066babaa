//! The colour of what a camera sees: strands, solids, grains, ground, sky.

use crate::camera::Camera;
use crate::curves::Curves;
use crate::fibre::{Crossed, Fur, Place};
use crate::grains::Grains;
use crate::light::ambient::{Ambient, sky_radiance};
use crate::light::rays::{Rays, Scenery, Way};
use crate::light::shadow::{Shade, ShadowMap};
use crate::liquid::{Liquids, optics};
use crate::surfaces::Surfaces;
use crate::{Ground, Light, Settings, material};
use drench_math::random::mix;
use glam::{Vec3, Vec4};
use std::f32::consts::{FRAC_1_SQRT_2, PI};
use std::sync::atomic::{AtomicU64, Ordering};

/// Shadow rays of a strand's point per light.
const STRAND_RAYS: u64 = 3;
/// Share of the sky's light that a strand in a film mirrors: the mean of Fresnel's law over a cylinder of water, 0.045, and
/// what the fibre adds below it.
const FILM_MIRROR: f32 = 0.06;
/// Shadow rays of a solid's point per light.
const SOLID_RAYS: u64 = 6;
/// Part of the open sky's light that gets everywhere by way of other surfaces.
const BOUNCED: f32 = 0.3;

/// Everything that decides a colour.
pub(crate) struct Stage<'a> {
    pub settings: &'a Settings,
    pub camera: Camera,
    pub curves: &'a Curves,
    pub furs: &'a [Fur],
    pub surfaces: &'a Surfaces,
    pub grains: &'a Grains,
    pub liquids: &'a Liquids,
    pub maps: &'a [ShadowMap],
    pub ambient: &'a Ambient,
    /// Traces shadows; otherwise they come from the maps.
    pub shadow_rays: Option<&'a Rays>,
    /// Traces what is seen through liquids: what is opaque, and the surfaces of the liquids.
    pub sight_rays: Option<(&'a Rays, &'a Rays)>,
    /// Surfaces of liquids that a line of sight meets at most.
    pub bends: u32,
    /// Centre and radius of what is on stage [m].
    pub centre: Vec3,
    pub radius: f32,
    /// Share of light that an average strand does not let on.
    pub absorbed: f32,
    /// Taps of a solid's soft shadow.
    pub taps: usize,
    /// Colours of curve points that were already computed, packed.
    pub cache: &'a [AtomicU64],
}

impl Stage<'_> {
    /// Radiance of the background in a direction: the sky, into which a floor bends up as in a photographer's studio.
    /// With its opacity.
    pub fn background(&self, direction: Vec3) -> Vec4 {
        if self.settings.sky.visible { self.surroundings(direction).extend(1.0) } else { Vec4::ZERO }
    }

    /// The same, also where the camera does not see it: what mirrors and bends light does.
    pub fn surroundings(&self, direction: Vec3) -> Vec3 {
        let direction = direction.normalize_or_zero();
        let sky = sky_radiance(&self.settings.sky, direction);
        let Some(ground) = &self.settings.ground else { return sky };
        let rise = (direction.y / 0.35).clamp(0.0, 1.0);
        if rise >= 1.0 {
            return sky;
        }
        self.open_ground(ground, direction).lerp(sky, rise * rise * (3.0 - 2.0 * rise))
    }

    /// What rays may meet.
    pub fn scenery(&self) -> Scenery<'_> {
        Scenery { curves: self.curves, surfaces: self.surfaces, grains: self.grains }
    }

    /// Radiance of the ground seen along a direction where nothing is near.
    fn open_ground(&self, ground: &Ground, direction: Vec3) -> Vec3 {
        let eye = Vec3::new(-direction.x, direction.y.abs().max(0.02), -direction.z).normalize_or(Vec3::Y);
        let open = self.ambient.open();
        let mirrored = open.radiance(Vec3::new(-eye.x, eye.y, -eye.z), 0.9);
        let mut out = material::ambient(ground.colour, ground.roughness, eye.y, open.irradiance(Vec3::Y), mirrored);
        for map in self.maps {
            let (towards, irradiance) = map.arriving(self.centre.with_y(ground.height));
            out += material::lit(ground.colour, ground.roughness, Vec3::Y, eye, towards) * irradiance;
        }
        out
    }

    /// Radiance of a curve's point towards the camera, computed once per picture.
    pub fn strand_point(&self, i: usize) -> Vec3 {
        let packed = self.cache[i].load(Ordering::Relaxed);
        if packed != 0 {
            return unpack(packed);
        }
        let colour = self.strand_colour(i);
        // Another thread may do the same at the same time, but it finds the same value.
        let packed = pack(colour);
        self.cache[i].store(packed, Ordering::Relaxed);
        unpack(packed)
    }

    fn strand_colour(&self, i: usize) -> Vec3 {
        let p = self.curves.positions[i];
        let strand = &self.curves.strands[self.curves.strand[i] as usize];
        let eye = (self.camera.position - p).normalize_or_zero();
        let sky = self.ambient.at(p);
        let fur = &self.furs[strand.look as usize];
        let (tangent, water) = (self.curves.tangent(i), self.curves.water(i));
        let place = Place { tangent, along: self.curves.along(i), water, random: strand.random, lock: strand.lock };
        let point = fur.point(place, eye, sky.opening());
        let mut colour = point.albedo() * sky.radiance(eye, 0.4);
        if water.coat > 0.0 {
            // The sky in the film.
            let mirror = eye - tangent * (2.0 * eye.dot(tangent));
            colour += FILM_MIRROR * water.coat * sky.radiance(mirror, 0.9);
        }
        for (number, map) in self.maps.iter().enumerate() {
            let (towards, irradiance) = map.arriving(p);
            let irradiance = irradiance * map.through_liquid(p);
            if self.shadow_rays.is_some() {
                for k in 0..STRAND_RAYS {
                    let (towards, way) = self.shadow_ray(map, p, (i * 8 + number) as u64 * STRAND_RAYS + k, Some(i));
                    if let Way::Strands(count) = way {
                        let scattered = point.scattered(towards, Crossed::Exactly(count));
                        colour += scattered * irradiance / STRAND_RAYS as f32;
                    }
                }
                continue;
            }
            let Shade { crossings, passed } = map.at_strand(p);
            if passed > 1e-3 {
                colour += point.scattered(towards, Crossed::Mean(crossings)) * irradiance * passed;
            }
        }
        colour
    }

    /// A ray from `p` to a random place of a light: its direction and what lies on its way. `i` is the curve's point
    /// that it starts from, if any; `index` makes it different from other rays.
    fn shadow_ray(&self, map: &ShadowMap, p: Vec3, index: u64, i: Option<usize>) -> (Vec3, Way) {
        let random = mix(index ^ 0x3c6e_f372_fe94_f82b);
        let uniform = |shift: u32| (random >> shift & 0xff_ffff) as f32 / (1 << 24) as f32;
        let (u, v) = (uniform(0), uniform(32));
        let disc = glam::Vec2::from_angle(u * std::f32::consts::TAU) * v.sqrt();
        let (middle, _) = map.arriving(p);
        let (right, up) = middle.any_orthonormal_pair();
        let (towards, distance) = match map.light {
            Light::Sun { angle, .. } => (middle + (right * disc.x + up * disc.y) * (0.5 * angle.min(1.5)).tan(), 1e6),
            Light::Lamp { position, radius, .. } => {
                let towards = position + (right * disc.x + up * disc.y) * radius - p;
                (towards, (towards.length() - radius).max(0.0))
            }
        };
        let direction = towards.normalize_or(middle);
        let Some(rays) = self.shadow_rays else { return (direction, Way::Strands(0)) };
        let own = i.map(|i| self.curves.strand[i]);
        // Roots stand in the skin: start a little way out, or the skin would hide them from every light.
        let start = p + direction * (0.002 * self.radius);
        (direction, rays.way(self.scenery(), (start, direction, distance), own))
    }

    /// Radiance of a strand that is wide enough to have a surface, seen at `side` of its width (-1 to 1) and a
    /// fraction `t` of the way from point `i` to the next. `right` is the direction across the strand in the picture.
    pub fn rope(&self, i: usize, t: f32, side: f32, right: Vec3) -> Vec3 {
        let curves = self.curves;
        let centre = curves.positions[i].lerp(curves.positions[i + 1], t);
        let radius = curves.radii[i] + (curves.radii[i + 1] - curves.radii[i]) * t;
        let tangent = curves.tangent(i).lerp(curves.tangent(i + 1), t).normalize_or(Vec3::Y);
        let eye = (self.camera.position - centre).normalize_or_zero();
        let facing = (eye - tangent * eye.dot(tangent)).normalize_or(right);
        let side = side.clamp(-1.0, 1.0);
        let normal = facing * (1.0 - side * side).sqrt() + right * side;
        let strand = &curves.strands[curves.strand[i] as usize];
        let p = centre + normal * radius;
        let water = curves.water(i).lerp(curves.water(i + 1), t);
        let colour = self.furs[strand.look as usize].colour(curves.along(i), strand.random, water);
        let sky = self.ambient.at(p);
        let mirror = (normal * (2.0 * normal.dot(eye)) - eye).normalize_or_zero();
        let mirrored = if water.coat > 0.0 { water.coat * sky.radiance(mirror, 0.9) } else { Vec3::ZERO };
        let mut out = material::ambient(colour, water.surface(0.8), 1.0, sky.irradiance(normal), mirrored);
        for map in self.maps {
            let (towards, irradiance) = map.arriving(p);
            if normal.dot(towards) > 0.0 {
                let Shade { crossings, passed } = map.at_strand(p + (normal + towards) * radius);
                let passed = passed * (-crossings * self.absorbed).exp() * map.through_liquid(p);
                out += material::lit(colour, water.surface(0.7), normal, eye, towards) * irradiance * passed;
            }
        }
        out
    }

    /// Mean radiance of a drop's disc towards the camera, and the share of it that hides what is behind. A clear drop shows
    /// most of the half of the world behind it, upside down [Garg2007], and the lights as a ball of water bends
    /// and mirrors them. Where something is close behind, that is most of what it shows.
    pub fn drop(&self, p: Vec3, radius: f32) -> Vec4 {
        // Half of the light that a ball of water bends goes on within 0.5 rad; these stand for either half.
        const BENT: [f32; 2] = [0.3, 0.9];
        let look = &self.settings.liquid;
        let direction = (p - self.camera.position).normalize_or(self.camera.forward);
        let sky = self.ambient.at(p);
        let open = sky.radiance(direction, 0.9).element_sum()
            / self.ambient.open().radiance(direction, 0.9).element_sum().max(1e-6);
        let open = open.clamp(0.0, 1.0);
        let (right, up) = (self.camera.right(), self.camera.up());
        let mut clear = Vec3::ZERO;
        for (bent, sides) in BENT.into_iter().zip([[right + up, -right - up], [right - up, up - right]]) {
            let (across, ahead) = bent.sin_cos();
            for side in sides {
                let towards = direction * ahead + side * (across * FRAC_1_SQRT_2);
                clear += 0.25 * 0.94 * open * self.bright_field(direction, towards);
            }
        }
        let mut cloudy = sky.radiance(direction, 0.0);
        for map in self.maps {
            let (towards, irradiance) = map.arriving(p);
            let Shade { crossings, passed } = map.at_strand(p);
            let arrived = irradiance * map.through_liquid(p) * (passed * (-crossings * self.absorbed).exp() / PI);
            clear += arrived * optics::ball(direction.dot(towards), look.ior);
            cloudy += 0.25 * arrived;
        }
        // The mean way through a ball.
        let way = 4.0 / 3.0 * radius;
        let scattered = 1.0 - (-look.scattering * way).exp();
        let colour =
            clear * optics::passed(look.absorption, way) * (1.0 - scattered) + look.colour * cloudy * scattered;
        colour.extend(open + (1.0 - open) * scattered)
    }

    /// Radiance of a solid's surface towards `eye`. `seen` is the share of the pixel that shows it: little deserves few
    /// taps.
    pub fn solid(&self, triangle: usize, p: Vec3, normal: Vec3, eye: Vec3, turn: f32, seen: f32) -> Vec3 {
        let taps = if seen < 0.25 { 4 } else { self.taps };
        let roughness = self.surfaces.looks[self.surfaces.look[triangle] as usize].roughness;
        let colour = self.surfaces.colour(triangle, p);
        let sky = self.ambient.at(p + normal * self.ambient.cell());
        let mirror = (normal * (2.0 * normal.dot(eye)) - eye).normalize_or_zero();
        let irradiance = self.bounced(sky.irradiance(normal), normal);
        let mut out = material::ambient(colour, roughness, normal.dot(eye), irradiance, sky.radiance(mirror, 0.9));
        for map in self.maps {
            let (towards, irradiance) = map.arriving(p);
            let lit = material::lit(colour, roughness, normal, eye, towards);
            if lit == Vec3::ZERO {
                continue;
            }
            let irradiance = irradiance * map.through_liquid(p);
            out += lit
                * irradiance
                * if self.shadow_rays.is_some() {
                    self.traced(map, p, normal, seen)
                } else {
                    map.at_solid(p, normal, self.absorbed, taps, turn)
                };
        }
        out
    }

    /// The sky's light on a surface with what comes to it by way of others: under things, in the shade of all lamps, and in crevices it is dark, but not black.
    fn bounced(&self, irradiance: Vec3, normal: Vec3) -> Vec3 {
        irradiance.lerp(self.ambient.open().irradiance(normal), BOUNCED)
    }

    /// Share of a light that arrives at a surface, by rays.
    fn traced(&self, map: &ShadowMap, p: Vec3, normal: Vec3, seen: f32) -> f32 {
        let rays = if seen < 0.25 { 1 } else { SOLID_RAYS };
        let index = mix(p.x.to_bits() as u64 | u64::from(p.z.to_bits()) << 32);
        let passed = |k: u64| match self.shadow_ray(map, p + normal * (0.002 * self.radius), index + k, None).1 {
            Way::Blocked => 0.0,
            Way::Strands(count) => (1.0 - self.absorbed).powi(count as i32),
        };
        (0..rays).map(passed).sum::<f32>() / rays as f32
    }

    /// Radiance of a grain's surface towards `eye`.
    pub fn grain(&self, grain: usize, p: Vec3, normal: Vec3, eye: Vec3, seen: f32) -> Vec3 {
        let skin = self.grains.skins[grain];
        let mirror = (normal * (2.0 * normal.dot(eye)) - eye).normalize_or_zero();
        let irradiance = self.grains.irradiance(grain, normal);
        let mirrored = self.grains.mirrored(grain, mirror);
        let mut out = material::ambient(skin.colour, skin.roughness, normal.dot(eye), irradiance, mirrored);
        for (map, &arrived) in self.maps.iter().zip(self.grains.lit(grain)) {
            let (towards, irradiance) = map.arriving(p);
            let lit = material::lit(skin.colour, skin.roughness, normal, eye, towards);
            if lit == Vec3::ZERO {
                continue;
            }
            let arrived = match self.shadow_rays {
                Some(_) => map.through_liquid(p) * self.traced(map, p, normal, seen),
                None => arrived,
            };
            out += lit * irradiance * arrived;
        }
        out
    }

    /// Radiance and opacity of the ground; far away it fades into the background, as a studio's floor does.
    pub fn ground(&self, ground: &Ground, p: Vec3, direction: Vec3) -> Vec4 {
        let away = (p - self.centre).with_y(0.0).length() / self.radius;
        let fade = ((away - 2.0) / 8.0).clamp(0.0, 1.0);
        let fade = fade * fade * (3.0 - 2.0 * fade);
        if fade >= 1.0 {
            return self.background(direction);
        }
        let eye = -direction.normalize_or_zero();
        let normal = Vec3::Y * if eye.y < 0.0 { -1.0 } else { 1.0 };
        let sky = self.ambient.at(p + normal * (0.5 * self.ambient.cell()));
        let mirror = Vec3::new(-eye.x, eye.y, -eye.z);
        let irradiance = self.bounced(sky.irradiance(normal), normal);
        let mut out =
            material::ambient(ground.colour, ground.roughness, normal.dot(eye), irradiance, sky.radiance(mirror, 0.9));
        for map in self.maps {
            let (towards, irradiance) = map.arriving(p);
            let lit = material::lit(ground.colour, ground.roughness, normal, eye, towards);
            if lit != Vec3::ZERO {
                out += lit * irradiance * map.at_ground(p) * map.through_liquid(p);
            }
        }
        out.extend(1.0).lerp(self.background(direction), fade)
    }
}

/// Three channels of 20 bits (8 exponent, 12 mantissa) and a mark that something is stored.
fn pack(colour: Vec3) -> u64 {
    let bits = |x: f32| u64::from(x.clamp(0.0, 1e6).to_bits() >> 11);
    1 << 63 | bits(colour.x) << 42 | bits(colour.y) << 21 | bits(colour.z)
}

fn unpack(packed: u64) -> Vec3 {
    let value = |shift: u32| f32::from_bits(((packed >> shift & 0x1f_ffff) as u32) << 11);
    Vec3::new(value(42), value(21), value(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_colours_keep_three_digits() {
        for colour in [Vec3::ZERO, Vec3::new(0.001, 1.0, 17.3), Vec3::new(-1.0, f32::MAX, 0.5)] {
            let expected = colour.clamp(Vec3::ZERO, Vec3::splat(1e6));
            let got = unpack(pack(colour));
            assert!((got - expected).abs().cmple(expected * 3e-4).all(), "{got} {expected}");
            assert_ne!(pack(colour), 0);
        }
        assert!(unpack(pack(Vec3::NAN)).is_finite() || pack(Vec3::NAN) != 0);
    }
}
