//! Looking through liquids: a line of sight that is bent and split at their surfaces.
//!
//! At a surface the share F (Fresnel) is mirrored and the rest goes on, bent by Snell's law; on its way l through the
//! liquid it is weakened by exp(-sigma l) (Beer and Lambert), and a liquid that scatters adds its own colour, the more
//! the longer the way. What is mirrored is followed too as long as it matters; in the end everything is opaque or sky.

use crate::light::arriving;
use crate::light::rays::{Met, Scenery};
use crate::liquid::Body;
use crate::liquid::optics::{fresnel, passed, reflect, refract};
use crate::material;
use crate::shade::Stage;
use crate::surfaces::Surfaces;
use glam::Vec3;
use std::f32::consts::PI;

/// Share of a pixel below which a line of sight is not followed.
const NEGLIGIBLE: f32 = 0.02;

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
}

impl Stage<'_> {
    /// Radiance of a liquid's surface, seen from `origin` along `direction` (of unit length).
    pub fn liquid(&self, triangle: usize, origin: Vec3, direction: Vec3, turn: f32) -> Vec3 {
        let sight = Sight {
            origin,
            direction,
            medium: Medium::Air,
            bends: self.bends,
            share: 1.0,
            turn,
            mirror: false,
            camera: direction,
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
                self.split(sight, body, origin + direction * distance, normal)
            }
            None => self.surroundings(direction),
        }
    }

    /// Radiance that arrives along a line of sight.
    fn follow(&self, sight: Sight) -> Vec3 {
        let Sight { origin, direction, .. } = sight;
        let opaque = self.opaque(origin, direction);
        let surface = self.surface(origin, direction);
        match sight.medium {
            Medium::Air => match surface {
                Some((distance, triangle)) if opaque.is_none_or(|(t, _)| distance < t) && sight.bends > 0 => {
                    let body = &self.liquids.bodies[self.liquids.mesh.look[triangle] as usize];
                    let normal = self.normal(triangle, origin, direction);
                    self.split(sight, body, origin + direction * distance, normal)
                }
                _ => self.seen(sight, opaque),
            },
            Medium::Liquid(body, glow) => {
                // Where the liquid ends just before a solid, it wets it: no air lies between.
                let touches = |(t, met): (f32, Opaque), exit: f32| {
                    t <= exit || (t - exit) * self.facing(met, origin + direction * t, direction) < body.gap
                };
                let (way, light) = match (opaque, surface) {
                    (Some(opaque), Some((exit, _))) if touches(opaque, exit) => {
                        (opaque.0.min(exit.max(0.0)), self.seen(sight, Some(opaque)))
                    }
                    (opaque, None) => (opaque.map_or(0.0, |(t, _)| t), self.seen(sight, opaque)),
                    (_, Some((exit, triangle))) => {
                        let normal = self.normal(triangle, origin, direction);
                        (exit, self.leave(sight, body, glow, origin + direction * exit, normal))
                    }
                };
                dimmed(body, way, light, glow)
            }
        }
    }

    /// Radiance at a surface seen from the air: what it mirrors, and what shines out of it.
    fn split(&self, sight: Sight, body: &Body, p: Vec3, normal: Vec3) -> Vec3 {
        let (direction, look) = (sight.direction, &body.look);
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
    fn leave(&self, sight: Sight, body: &Body, glow: Vec3, p: Vec3, normal: Vec3) -> Vec3 {
        let direction = sight.direction;
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

    /// What is opaque along a line of sight, and how far away.
    fn opaque(&self, origin: Vec3, direction: Vec3) -> Option<(f32, Opaque)> {
        let things =
            self.sight_rays.and_then(|(opaque, _)| opaque.first(self.scenery(), origin, direction, self.skin()));
        let things = things.map(|(t, met)| (t, Opaque::Thing(met)));
        let ground = self.settings.ground.as_ref().map(|ground| (ground.height - origin.y) / direction.y);
        let ground = ground.filter(|t| *t > 0.0 && t.is_finite()).map(|t| (t, Opaque::Ground));
        match (things, ground) {
            (Some(a), Some(b)) => Some(if b.0 < a.0 { b } else { a }),
            (a, b) => a.or(b),
        }
    }

    /// The first surface of a liquid along a line of sight.
    fn surface(&self, origin: Vec3, direction: Vec3) -> Option<(f32, usize)> {
        let (_, liquids) = self.sight_rays?;
        let scenery = Scenery { surfaces: &self.liquids.mesh, ..self.scenery() };
        match liquids.first(scenery, origin, direction, self.skin())? {
            (t, Met::Triangle(triangle)) => Some((t, triangle)),
            _ => None,
        }
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
            Opaque::Thing(Met::Strand(..)) => 1.0,
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
            Opaque::Thing(Met::Strand(i, t)) => self.strand_point(i).lerp(self.strand_point(i + 1), t),
        }
    }

    /// What a smooth surface mirrors of the sky: the screens around the lights too, which give waves their shape, and
    /// less of what is low, where a studio is dark.
    fn studio(&self, direction: Vec3) -> Vec3 {
        let up = direction.y.clamp(0.0, 1.0);
        let mut out = self.surroundings(direction) * (0.45 + 0.75 * up);
        for map in self.maps {
            let (towards, irradiance) = arriving(&map.light, self.centre);
            // A screen some twenty degrees wide with a twentieth of the light.
            let near = ((towards.dot(direction) - 0.86) / 0.1).clamp(0.0, 1.0);
            out += irradiance * (0.05 * near * near * (3.0 - 2.0 * near));
        }
        out
    }

    /// What a clear body shows of the sky behind it: where it bends light strongly, it sees past the bright background
    /// into the dark of the studio. This is how photographers give glass and water an outline.
    fn bright_field(&self, camera: Vec3, direction: Vec3) -> Vec3 {
        let straight = ((camera.dot(direction) - 0.35) / 0.55).clamp(0.0, 1.0);
        self.surroundings(direction) * (0.3 + 0.7 * straight * straight * (3.0 - 2.0 * straight))
    }

    /// Mirror images of the lights.
    fn highlights(&self, body: &Body, p: Vec3, normal: Vec3, eye: Vec3) -> Vec3 {
        let mut out = Vec3::ZERO;
        for map in self.maps {
            let (towards, irradiance) = arriving(&map.light, p);
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
            let (towards, arriving) = arriving(&map.light, p);
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
    crate::light::rays::Rays::build(Scenery { curves: &none.0, surfaces: mesh, grains: &none.1 })
}
