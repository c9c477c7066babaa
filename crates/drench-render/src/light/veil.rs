//! The coloured shadows of liquids: how much light is left behind, or inside, what a light shines through.
//!
//! Seen from the light, depths of the surface's back sides less depths of its front sides add up to the way that the
//! light goes through liquid, however many bodies and drops lie behind each other. Light goes straight on here; what
//! waves make of it is in [`super::caustics`].

use super::shadow::{ShadowMap, TILE, disc};
use crate::liquid::{Liquids, optics};
use crate::raster::bins::{Bins, TileRange};
use crate::raster::strip::Clip;
use crate::raster::triangle::Projected;
use glam::{Vec2, Vec3};
use rayon::prelude::*;

/// Light that the two sides of a liquid turn back.
const TURNED_BACK: f32 = 0.06;
/// Share of the scattered light that is lost to the beam: most of it goes on forwards.
const LOST: f32 = 0.3;

/// Taps of a soft shadow.
const TAPS: usize = 6;

/// Liquid before a texel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Veil {
    /// Depth of the first surface [m].
    first: f32,
    /// Way through liquid [m].
    way: f32,
    /// Absorption along it.
    depth: Vec3,
}

const CLEAR: Veil = Veil { first: f32::INFINITY, way: 0.0, depth: Vec3::ZERO };

/// The veils that a light sees, tile by tile; empty if there is no liquid.
pub(crate) fn draw(map: &ShadowMap, liquids: &Liquids, mut veils: Vec<Veil>) -> Vec<Veil> {
    veils.clear();
    let mesh = &liquids.mesh;
    if mesh.triangles.is_empty() {
        return veils;
    }
    let perspective = map.perspective();
    let projected: Vec<Projected> = (0..mesh.triangles.len())
        .into_par_iter()
        .map(|t| {
            let corners = mesh.corners(t).map(|p| map.project(p));
            let depth = corners.map(|(_, z)| if perspective { 1.0 / z.max(1e-4) } else { z });
            Projected { corners: corners.map(|(p, _)| p), depth, id: t as u32 }
        })
        .collect();
    let tiles = map.tiles as u16;
    let mut bins = Bins::default();
    bins.fill(projected.len(), tiles, tiles, |t| {
        let (low, high) = projected[t].bounds();
        TileRange::around(low, high, TILE as f32, tiles, tiles)
    });
    let extinction: Vec<Vec3> =
        liquids.bodies.iter().map(|body| body.look.absorption + LOST * body.look.scattering).collect();
    veils.resize(map.tiles * map.tiles * TILE * TILE, CLEAR);
    veils.par_chunks_mut(TILE * TILE).enumerate().for_each(|(tile, veils)| {
        let (x0, y0) = ((tile % map.tiles * TILE) as i32, (tile / map.tiles * TILE) as i32);
        let clip = Clip { x0, y0, x1: x0 + TILE as i32, y1: y0 + TILE as i32 };
        for t in bins.of(tile) {
            let triangle = &projected[t as usize];
            let [a, b, c] = triangle.corners;
            // The picture's y runs down: what is counter-clockwise in space is clockwise here.
            let sign = -(b - a).perp_dot(c - a).signum();
            let extinction = extinction[mesh.look[t as usize] as usize];
            triangle.visit(clip, |x, y, depth| {
                let z = if perspective { 1.0 / depth } else { depth };
                let veil = &mut veils[(y - y0) as usize * TILE + (x - x0) as usize];
                veil.first = veil.first.min(z);
                veil.way -= sign * z;
                veil.depth -= extinction * (sign * z);
            });
        }
    });
    veils
}

impl ShadowMap {
    /// Share of the light that liquid leaves at a point; less sharp the farther the liquid is.
    pub fn through_liquid(&self, p: Vec3) -> Vec3 {
        if self.veils.is_empty() {
            return Vec3::ONE;
        }
        let (at, depth) = self.project(p);
        let gap = self.index(at.x.floor() as i32, at.y.floor() as i32).map_or(0.0, |i| depth - self.veils[i].last());
        let radius = self.spread(depth) * gap.clamp(0.0, self.extent) / self.texel(depth);
        let (left, under) = if radius < 1.0 {
            self.veil_at(at, depth)
        } else {
            let taps = (0..TAPS).map(|k| self.veil_at(at + disc(k, TAPS) * radius.min(48.0), depth));
            let sum = taps.fold((Vec3::ZERO, 0.0), |sum, tap| (sum.0 + tap.0, sum.1 + tap.1));
            (sum.0 / TAPS as f32, sum.1 / TAPS as f32)
        };
        // Just under the surface light has not been gathered yet.
        if under > 0.0 { left * (1.0 + (self.gathered(at) - 1.0) * under) } else { left }
    }

    /// What the four texels around a place leave of the light, and the part of the way through liquid before a depth.
    fn veil_at(&self, at: Vec2, depth: f32) -> (Vec3, f32) {
        let corner = (at - 0.5).floor();
        let f = at - 0.5 - corner;
        let (mut left, mut under) = (Vec3::ZERO, 0.0);
        for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let weight = if dx == 1 { f.x } else { 1.0 - f.x } * if dy == 1 { f.y } else { 1.0 - f.y };
            match self.index(corner.x as i32 + dx, corner.y as i32 + dy) {
                Some(i) => {
                    left += self.veils[i].left(depth) * weight;
                    under += self.veils[i].share(depth) * weight;
                }
                None => left += Vec3::splat(weight),
            }
        }
        (left, under)
    }
}

impl Veil {
    /// Whether there is no liquid.
    pub fn is_clear(&self) -> bool {
        self.way <= 0.0
    }

    /// Depth of the first surface and way through liquid [m].
    pub fn extent(&self) -> (f32, f32) {
        (self.first, self.way.max(0.0))
    }

    /// Depth below which there is no more liquid, if there is but one body of it [m].
    fn last(&self) -> f32 {
        if self.is_clear() { f32::INFINITY } else { self.first + self.way }
    }

    /// Part of the way through liquid that lies before a depth.
    fn share(&self, depth: f32) -> f32 {
        if depth <= self.first || self.way <= 0.0 { 0.0 } else { ((depth - self.first) / self.way).min(1.0) }
    }

    fn left(&self, depth: f32) -> Vec3 {
        let share = self.share(depth);
        if share == 0.0 {
            return Vec3::ONE;
        }
        optics::passed(self.depth.max(Vec3::ZERO), share) * (1.0 - TURNED_BACK * share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::liquid::Body;
    use crate::surfaces::Surfaces;
    use crate::{Light, LiquidLook};

    /// A slab of liquid half a metre thick dims a light above as Beer and Lambert say, from any angle.
    #[test]
    fn light_behind_and_in_a_slab_follows_beer_lambert() {
        let corners = [(-2.0, -2.0), (-2.0, 2.0), (2.0, 2.0), (2.0, -2.0)];
        let level = |y: f32| corners.map(|(x, z)| Vec3::new(x, y, z));
        let mesh = Surfaces {
            positions: [level(0.5), level(0.0)].concat(),
            triangles: vec![[0, 1, 2], [0, 2, 3], [4, 6, 5], [4, 7, 6]],
            look: vec![0; 4],
            ..Surfaces::default()
        };
        let look = LiquidLook { absorption: Vec3::new(3.0, 1.0, 0.0), ..LiquidLook::water() };
        let liquids = Liquids { mesh, bodies: vec![Body { look, gap: 0.01 }], ..Liquids::default() };
        for (direction, slant) in [(Vec3::NEG_Y, 1.0), (Vec3::new(0.6, -0.8, 0.0), 1.0 / 0.8)] {
            let light = Light::Sun { direction, colour: Vec3::ONE, strength: 1.0, angle: 0.01 };
            let mut map = ShadowMap::new(light, Vec3::ZERO, 2.0, 128, None);
            map.veils = draw(&map, &liquids, Vec::new());
            for (y, way) in [(0.8, 0.0), (0.25, 0.25), (-0.2, 0.5)] {
                let left = map.through_liquid(Vec3::new(0.03, y, 0.02));
                let expected = optics::passed(look.absorption, way * slant) * (1.0 - TURNED_BACK * way / 0.5);
                assert!((left - expected).abs().max_element() < 0.02, "{left} {expected} at {y}");
            }
        }
    }
}
