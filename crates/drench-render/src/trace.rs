//! Looking through liquids: a line of sight that is bent and split at their surfaces.
//!
//! At a surface the share F (Fresnel) is mirrored and the rest goes on, bent by Snell's law; on its way l through the
//! liquid it is weakened by exp(-sigma l) (Beer and Lambert), and a liquid that scatters adds its own colour, the more
//! the longer the way. What is mirrored is followed too as long as it matters; in the end everything is opaque or sky.
//! Strands on the way are laid over what is behind them as they are in the picture, each with the share of the pixel
//! that it covers there.

use crate::light::rays::{Crossings, Met, Scenery, Sightline};
use crate::liquid::Body;
use crate::liquid::optics::{fresnel, passed, reflect, refract};
use crate::material;
use crate::shade::Stage;
use crate::surfaces::Surfaces;
use glam::Vec3;
use std::f32::consts::PI;

/// Share of a pixel below which a line of sight is not followed.
const NEGLIGIBLE: f32 = 0.02;

/// How far beyond the end of a liquid what it touches may be, on a line of sight that grazes it [gaps].
const GRAZING: f32 = 6.0;

/// Where a line of sight is.
#[derive(Clone, Copy)]
enum Medium<'a> {
    Air,
    /// In a liquid, which shines with this radiance if it is deep.
    Liquid(&'a Body, Vec3),
}

/// A line of sight.
#[derive(Clone, Copy)]
struct Sight<'a> {
    origin: Vec3,
    direction: Vec3,
    medium: Medium<'a>,
    /// Surfaces that it may still meet.
    bends: u32,
    /// Share of the pixel that it decides.
    share: f32,
    /// Turns taps of shadows [rad].
    turn: f32,
    /// Whether it is the mirror image of the surroundings.
    mirror: bool,
    /// Direction in which the camera looks.
    camera: Vec3,
    /// Way from the camera to the origin [m].
    way: f32,
    /// Distance up to which strands were seen already [m].
    combed: f32,
}

impl Stage<'_> {
    /// Radiance of a liquid's surface, seen from `origin` along `direction` (of unit length); `share` is the share of the
    /// pixel that shows it.
    pub fn liquid(&self, triangle: usize, origin: Vec3, direction: Vec3, turn: f32, share: f32) -> Vec3 {
        let sight = Sight {
            origin,
            direction,
            medium: Medium::Air,
            bends: self.bends,
            share,
            turn,
            mirror: false,
            camera: direction,
            way: 0.0,
            combed: 0.0,
        };
        match self.liquids.mesh.hit(triangle, origin, direction) {
            Some((distance, normal)) => {
                // Seen from behind, the camera is in the liquid.
                let inside = self.liquids.mesh.area_normal(triangle).dot(direction) > 0.0;
                let body = &self.liquids.bodies[self.liquids.mesh.look[triangle] as usize];
                if inside {
                    let medium = Medium::Liquid(body, Vec3::ZERO);
                    return self.follow(Sight { medium, ..sight });
                }
                self.split(sight, body, distance, normal)
            }
            None => self.surroundings(direction),
        }
    }

    /// Radiance that arrives along a line of sight.
    fn follow(&self, sight: Sight) -> Vec3 {
        let Sight { origin, direction, .. } = sight;
        let surface = self.surface(&sight);
        let exit = surface.map_or(f32::INFINITY, |(distance, _)| distance);
        match sight.medium {
            Medium::Air => {
                let far = if sight.bends > 0 { exit } else { f32::INFINITY };
                let (opaque, strands) = self.opaque(&sight, far);
                let surface =
                    surface.filter(|&(distance, _)| opaque.is_none_or(|(t, _)| distance < t) && sight.bends > 0);
                let end = surface.map_or(f32::INFINITY, |(distance, _)| distance);
                let (hair, left) = self.combed(&strands, end, |_, light| light);
                let sight = Sight { share: sight.share * left, ..sight };
                hair + left
                    * match surface {
                        _ if sight.share < NEGLIGIBLE && left < 0.5 => hair / (1.0 - left),
                        Some((distance, triangle)) => {
                            let body = &self.liquids.bodies[self.liquids.mesh.look[triangle] as usize];
                            let normal = self.normal(triangle, origin, direction);
                            self.split(sight, body, distance, normal)
                        }
                        None => self.seen(sight, opaque),
                    }
            }
            Medium::Liquid(body, glow) => {
                let (opaque, strands) = self.opaque(&sight, exit + GRAZING * body.gap);
                // Where the liquid ends just before a solid, or a strand, it wets it: no air lies between.
                let touches = |(t, met): (f32, Opaque)| {
                    t <= exit || (t - exit) * self.facing(met, origin + direction * t, direction) < body.gap
                };
                let wetted = opaque.filter(|&opaque| surface.is_none() || touches(opaque));
                let (hair, left) =
                    self.combed(&strands, exit + body.gap, |t, light| dimmed(body, t.min(exit), light, glow));
                let sight = Sight { share: sight.share * left, ..sight };
                if sight.share < NEGLIGIBLE && left < 0.5 {
                    return hair / (1.0 - left);
                }
                let (way, light) = match (wetted, surface) {
                    (None, Some((exit, triangle))) => {
                        let normal = self.normal(triangle, origin, direction);
                        (exit, self.leave(sight, body, glow, exit, normal))
                    }
                    (opaque, _) => (opaque.map_or(0.0, |(t, _)| t.min(exit.max(0.0))), self.seen(sight, opaque)),
                };
                hair + left * dimmed(body, way, light, glow)
            }
        }
    }

    /// Light of the strands before a distance, each dimmed on its way, and what shines through between them.
    fn combed(&self, strands: &Crossings, end: f32, dim: impl Fn(f32, Vec3) -> Vec3) -> (Vec3, f32) {
        let (mut light, mut left) = (Vec3::ZERO, 1.0);
        for crossing in strands.iter().take_while(|crossing| crossing.distance < end) {
            let point = crossing.point as usize;
            let own = self.strand_point(point).lerp(self.strand_point(point + 1), crossing.along);
            light += dim(crossing.distance, own) * (left * crossing.covered);
            left *= 1.0 - crossing.covered;
        }
        (light, left)
    }

    /// Radiance at a surface seen from the air: what it mirrors, and what shines out of it.
    fn split(&self, sight: Sight, body: &Body, distance: f32, normal: Vec3) -> Vec3 {
        let (direction, look) = (sight.direction, &body.look);
        let p = sight.origin + direction * distance;
        let sight = Sight { way: sight.way + distance, combed: 0.0, ..sight };
        let cosine = -direction.dot(normal);
        let ratio = 1.0 / look.ior.max(1.0);
        let mirrored = fresnel(cosine, ratio);
        let mut out = self.highlights(body, p, normal, -direction);
        let bends = sight.bends.saturating_sub(1);
        let share = sight.share * mirrored;
        let outwards = reflect(direction, normal);
        out += mirrored
            * if share > NEGLIGIBLE {
                // Below its own horizon a wave shows the waves around it: what they mirror is much the same.
                let medium = Medium::Air;
                let origin = p + normal * self.skin();
                self.follow(Sight {
                    origin,
                    direction: outwards,
                    medium,
                    mirror: true,
                    bends: bends.min(1),
                    share,
                    ..sight
                })
            } else {
                self.studio(outwards)
            };
        let share = sight.share * (1.0 - mirrored);
        if let Some(inwards) = refract(direction, normal, ratio)
            && share > NEGLIGIBLE
        {
            let glow = if look.scattering > 0.0 { self.glow(body, p, normal) } else { Vec3::ZERO };
            let medium = Medium::Liquid(body, glow);
            let below = Sight {
                origin: p - normal * self.skin(),
                direction: inwards,
                medium,
                mirror: false,
                bends,
                share,
                ..sight
            };
            out += (1.0 - mirrored) * self.follow(below);
        }
        out
    }

    /// Radiance at a surface seen from within the liquid.
    fn leave(&self, sight: Sight, body: &Body, glow: Vec3, exit: f32, normal: Vec3) -> Vec3 {
        let direction = sight.direction;
        let p = sight.origin + direction * exit;
        let sight = Sight { way: sight.way + exit, combed: 0.0, ..sight };
        let mirrored = fresnel(-direction.dot(normal), body.look.ior.max(1.0));
        let back = reflect(direction, normal);
        if sight.bends == 0 {
            return self.bright_field(sight.camera, if mirrored < 0.5 { direction } else { back });
        }
        let bends = sight.bends - 1;
        let mut out = Vec3::ZERO;
        if let Some(outwards) = refract(direction, normal, body.look.ior.max(1.0))
            && mirrored < 1.0
        {
            let share = sight.share * (1.0 - mirrored);
            let sight = Sight {
                origin: p - normal * self.skin(),
                direction: outwards,
                medium: Medium::Air,
                bends,
                share,
                combed: body.gap,
                ..sight
            };
            out += (1.0 - mirrored)
                * if share > NEGLIGIBLE { self.follow(sight) } else { self.bright_field(sight.camera, outwards) };
        }
        let share = sight.share * mirrored;
        // Inside it goes on only if it is a good part: each further round costs as much as the first.
        out += mirrored
            * if share > 4.0 * NEGLIGIBLE {
                let medium = Medium::Liquid(body, glow);
                self.follow(Sight { origin: p + normal * self.skin(), direction: back, medium, bends, share, ..sight })
            } else {
                self.bright_field(sight.camera, back)
            };
        out
    }

    /// What is opaque along a line of sight, and how far away; and the strands before it.
    fn opaque(&self, sight: &Sight, far: f32) -> (Option<(f32, Opaque)>, Crossings) {
        let Sight { origin, direction, .. } = *sight;
        let mut strands = Crossings::default();
        let line = self.line(sight, far);
        let things = self.sight_rays.and_then(|(opaque, _)| opaque.sight(self.scenery(), line, &mut strands));
        let things = things.map(|(t, met)| (t, Opaque::Thing(met)));
        let ground = self.settings.ground.as_ref().map(|ground| (ground.height - origin.y) / direction.y);
        let ground = ground.filter(|t| *t > 0.0 && t.is_finite()).map(|t| (t, Opaque::Ground));
        let opaque = match (things, ground) {
            (Some(a), Some(b)) => Some(if b.0 < a.0 { b } else { a }),
            (a, b) => a.or(b),
        };
        (opaque, strands)
    }

    /// The first surface of a liquid along a line of sight.
    fn surface(&self, sight: &Sight) -> Option<(f32, usize)> {
        let (_, liquids) = self.sight_rays?;
        let scenery = Scenery { surfaces: &self.liquids.mesh, ..self.scenery() };
        let line = Sightline { pixel: (0.0, 0.0), ..self.line(sight, f32::INFINITY) };
        match liquids.sight(scenery, line, &mut Crossings::default())? {
            (t, Met::Triangle(triangle)) => Some((t, triangle)),
            _ => None,
        }
    }

    fn line(&self, sight: &Sight, far: f32) -> Sightline {
        let Sight { origin, direction, combed, .. } = *sight;
        let slope = 1.0 / self.camera.pixels_per_metre(1.0);
        let pixel = (slope * sight.way, slope);
        Sightline { origin, direction, near: self.skin(), far, near_strands: combed.max(self.skin()), pixel }
    }

    /// Smooth normal on the side that a line of sight comes from.
    fn normal(&self, triangle: usize, origin: Vec3, direction: Vec3) -> Vec3 {
        self.liquids.mesh.hit(triangle, origin, direction).map_or(-direction, |(_, normal)| facing(normal, direction))
    }

    /// Distance that keeps a line of sight from meeting the surface that it starts from [m].
    fn skin(&self) -> f32 {
        1e-5 * self.radius + 1e-6
    }

    /// How much what is met looks towards the line of sight.
    fn facing(&self, met: Opaque, p: Vec3, direction: Vec3) -> f32 {
        match met {
            Opaque::Ground => direction.y.abs(),
            Opaque::Thing(Met::Triangle(t)) => self.surfaces.area_normal(t).normalize_or_zero().dot(direction).abs(),
            Opaque::Thing(Met::Grain(i)) => (p - self.grains.centres[i]).normalize_or_zero().dot(direction).abs(),
        }
    }

    /// Radiance of what is opaque, or of the sky.
    fn seen(&self, sight: Sight, opaque: Option<(f32, Opaque)>) -> Vec3 {
        let Sight { origin, direction, turn, share, .. } = sight;
        let Some((t, met)) = opaque else {
            return if sight.mirror { self.studio(direction) } else { self.bright_field(sight.camera, direction) };
        };
        let p = origin + direction * t;
        match met {
            Opaque::Ground => match &self.settings.ground {
                Some(ground) => self.ground(ground, p, direction).truncate(),
                None => self.surroundings(direction),
            },
            Opaque::Thing(Met::Triangle(triangle)) => match self.surfaces.hit(triangle, origin, direction) {
                Some((_, normal)) => self.solid(triangle, p, normal, -direction, turn, share),
                None => Vec3::ZERO,
            },
            Opaque::Thing(Met::Grain(i)) => {
                let normal = (p - self.grains.centres[i]).normalize_or(-direction);
                self.grain(i, p, normal, -direction, share)
            }
        }
    }

    /// What a smooth surface mirrors of the sky: the screens around the lights too, which give waves their shape, and
    /// less of what is low, where a studio is dark.
    fn studio(&self, direction: Vec3) -> Vec3 {
        let up = direction.y.clamp(0.0, 1.0);
        let mut out = self.surroundings(direction) * (0.45 + 0.75 * up);
        for map in self.maps {
            let (towards, irradiance) = map.arriving(self.centre);
            // A screen some twenty degrees wide with a twentieth of the light.
            let near = ((towards.dot(direction) - 0.86) / 0.1).clamp(0.0, 1.0);
            out += irradiance * (0.05 * near * near * (3.0 - 2.0 * near));
        }
        out
    }

    /// What a clear body shows of the sky behind it: where it bends light strongly, it sees past the bright background
    /// into the dark of the studio. This is how photographers give glass and water an outline.
    pub fn bright_field(&self, camera: Vec3, direction: Vec3) -> Vec3 {
        let straight = ((camera.dot(direction) - 0.35) / 0.55).clamp(0.0, 1.0);
        self.surroundings(direction) * (0.3 + 0.7 * straight * straight * (3.0 - 2.0 * straight))
    }

    /// Mirror images of the lights.
    fn highlights(&self, body: &Body, p: Vec3, normal: Vec3, eye: Vec3) -> Vec3 {
        let mut out = Vec3::ZERO;
        for map in self.maps {
            let (towards, irradiance) = map.arriving(p);
            let lit = material::mirrored(body.look.roughness, body.look.ior, normal, eye, towards);
            if lit > 1e-4 {
                let passed = map.at_solid(p, normal, self.absorbed, 4, 0.0);
                out += irradiance * (lit * passed);
            }
        }
        out
    }

    /// Radiance of deep liquid that scatters light: as of a dull surface, but light wraps around edges.
    fn glow(&self, body: &Body, p: Vec3, normal: Vec3) -> Vec3 {
        const WRAP: f32 = 0.3;
        let sky = self.ambient.at(p + normal * self.ambient.cell());
        let mut irradiance = sky.irradiance(normal);
        for map in self.maps {
            let (towards, arriving) = map.arriving(p);
            let facing = ((normal.dot(towards) + WRAP) / (1.0 + WRAP)).max(0.0);
            if facing > 0.0 {
                // From above its own surface: only other parts of the liquid dim it.
                let above = p + (normal + towards) * body.gap;
                let passed = map.at_solid(p, normal, self.absorbed, 8, 0.0);
                irradiance += arriving * map.through_liquid(above) * (facing * passed);
            }
        }
        body.look.colour * irradiance / PI
    }
}

/// What stops a line of sight.
#[derive(Clone, Copy)]
enum Opaque {
    Ground,
    Thing(Met),
}

/// Light after a way through a liquid.
fn dimmed(body: &Body, way: f32, light: Vec3, glow: Vec3) -> Vec3 {
    let extinction = body.look.absorption + body.look.scattering;
    let left = passed(extinction, way);
    // Share of what is lost that was scattered, not absorbed.
    let scattered = Vec3::splat(body.look.scattering) / extinction.max(Vec3::splat(1e-9));
    light * left + glow * (Vec3::ONE - left) * scattered
}

/// A smooth normal that does not look away from the eye, as it may near an outline.
fn facing(normal: Vec3, direction: Vec3) -> Vec3 {
    let away = normal.dot(direction);
    if away > -0.02 { (normal - direction * (away + 0.02)).normalize_or(-direction) } else { normal }
}

/// Nothing but the triangles of a mesh.
pub(crate) fn alone(mesh: &Surfaces) -> crate::light::rays::Rays {
    let none = (Default::default(), Default::default());
    crate::light::rays::Rays::build(Scenery { curves: &none.0, surfaces: mesh, grains: &none.1 }, |_| None)
}
