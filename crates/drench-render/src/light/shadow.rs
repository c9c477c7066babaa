//! Deep opacity maps: how many strands lie between a light and a point [Yuksel2008].
//!
//! A map is a picture taken from the light. Each texel holds the depth of the first strand and, in layers behind it
//! whose thickness grows, how many strands a ray has crossed on average; and the depth of the first solid. Lookups
//! cost the same however many strands there are and have no noise.

use super::arriving;
use super::caustics;
use super::rays::Scenery;
use super::veil::{self, Veil};
use crate::Light;
use crate::curves::Strand;
use crate::grains::Grains;
use crate::liquid::Liquids;
use crate::raster::bins::{Bins, TileRange};
use crate::raster::strip::{self, Clip};
use crate::raster::triangle::Projected;
use glam::{Vec2, Vec3};
use rayon::prelude::*;

/// Layers behind the first strand; layer k ends at depth extent * ((k + 1) / LAYERS)^4.
const LAYERS: usize = 8;
/// Texels of a tile's side.
pub(super) const TILE: usize = 64;
/// Half width of a strand that is solid rather than one of many [texels].
const SOLID_WIDTH: f32 = 3.0;
/// Width below which a few wider strands stand for many [texels].
const THINNEST: f32 = 0.2;

/// Nine points over the unit disc.
const GROUND_TAPS: [Vec2; 9] = [
    Vec2::new(0.0, 0.0),
    Vec2::new(0.52, 0.16),
    Vec2::new(-0.16, 0.52),
    Vec2::new(-0.52, -0.16),
    Vec2::new(0.16, -0.52),
    Vec2::new(0.72, 0.66),
    Vec2::new(-0.66, 0.72),
    Vec2::new(-0.72, -0.66),
    Vec2::new(0.66, -0.72),
];

/// One light's view of the scene.
pub(crate) struct ShadowMap {
    pub light: Light,
    right: Vec3,
    up: Vec3,
    forward: Vec3,
    origin: Vec3,
    /// Texels per metre (sun) or per unit slope (lamp).
    scale: f32,
    /// Irradiance that arrives at the middle of the stage.
    irradiance: Vec3,
    /// Tiles of a side.
    pub(super) tiles: usize,
    /// Depth over which layers are spread [m].
    pub(super) extent: f32,
    /// From the light to the middle of the stage [m].
    distance: f32,
    /// Texels tile by tile.
    texels: Vec<Texel>,
    /// Averages over 1, 2, 4, ... texels: (share that is blocked, that share times the blocker's depth).
    blocked: Vec<Vec<Vec2>>,
    /// Liquid before each texel; empty if there is none.
    pub(super) veils: Vec<Veil>,
    /// How much brighter waves make what is below, row by row; empty if nothing does.
    pub(super) gains: Vec<f32>,
    /// Share of light that an average strand does not let on.
    absorbed: f32,
}

#[derive(Clone, Copy)]
struct Texel {
    /// Depth of the first strand [m].
    first: f32,
    /// Depth of the first solid [m].
    solid: f32,
    /// Strands crossed up to the end of each layer.
    crossed: [f32; LAYERS],
}

const EMPTY: Texel = Texel { first: f32::INFINITY, solid: f32::INFINITY, crossed: [0.0; LAYERS] };

/// Buffers that maps share while they are built.
#[derive(Default)]
pub(crate) struct Scratch {
    chosen: Vec<u32>,
    points: Vec<Point>,
    strands: Bins,
    triangles: Bins,
    projected: Vec<Projected>,
    balls: Bins,
    centres: Vec<(Vec2, f32)>,
}

/// A point of a strand as a light sees it.
#[derive(Clone, Copy)]
struct Point {
    /// Place in the map [texels].
    at: Vec2,
    /// Depth [m].
    depth: f32,
    /// Half of the width [texels].
    half_width: f32,
    /// Its strand: if that of the next point is the same, a segment begins here.
    strand: u32,
}

/// Where a strand covers a texel.
struct Stroke {
    texel: u32,
    /// Depth [m].
    depth: f32,
    /// Strands crossed there.
    crossed: f32,
}

/// What a map is drawn from, seen by its light and sorted into tiles.
struct Drawn<'a> {
    points: &'a [Point],
    strands: &'a Bins,
    projected: &'a [Projected],
    triangles: &'a Bins,
    grains: &'a Grains,
    centres: &'a [(Vec2, f32)],
    balls: &'a Bins,
}

/// What lies between a point and a light.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shade {
    /// Strands on the way.
    pub crossings: f32,
    /// Share of the light that passes the solids.
    pub passed: f32,
}

impl ShadowMap {
    /// A map of about `size` texels a side that sees the ball of `radius` around `centre`.
    /// `old` is a map whose buffers are no longer needed.
    pub fn new(light: Light, centre: Vec3, radius: f32, size: usize, old: Option<Self>) -> Self {
        let tiles = size.div_ceil(TILE).max(1);
        let size = (tiles * TILE) as f32;
        let (forward, origin, scale) = match light {
            Light::Sun { direction, .. } => {
                let forward = direction.try_normalize().unwrap_or(Vec3::NEG_Y);
                (forward, centre - forward * radius, size / (2.0 * radius))
            }
            Light::Lamp { position, .. } => {
                let towards = centre - position;
                let distance = towards.length();
                let sine = (radius / distance.max(1e-6)).min(0.96);
                let slope = sine / (1.0 - sine * sine).sqrt();
                (towards.try_normalize().unwrap_or(Vec3::NEG_Y), position, size / (2.0 * slope))
            }
        };
        let right = forward.any_orthonormal_vector();
        let (texels, veils) = old.map(|old| (old.texels, old.veils)).unwrap_or_default();
        Self {
            light,
            right,
            up: right.cross(forward),
            forward,
            origin,
            scale,
            irradiance: arriving(&light, centre).1,
            tiles,
            extent: 2.0 * radius,
            distance: centre.distance(origin),
            blocked: Vec::new(),
            texels,
            veils,
            gains: Vec::new(),
            absorbed: 1.0,
        }
    }

    /// Unit direction to the light and the irradiance of a surface that faces it, without shadows.
    #[inline]
    pub fn arriving(&self, p: Vec3) -> (Vec3, Vec3) {
        match self.light {
            Light::Sun { .. } => (-self.forward, self.irradiance),
            Light::Lamp { .. } => arriving(&self.light, p),
        }
    }

    pub(super) fn perspective(&self) -> bool {
        matches!(self.light, Light::Lamp { .. })
    }

    /// Texel coordinates and depth [m].
    #[inline]
    pub(super) fn project(&self, p: Vec3) -> (Vec2, f32) {
        let d = p - self.origin;
        let depth = d.dot(self.forward);
        let scale = if self.perspective() { self.scale / depth.max(1e-4) } else { self.scale };
        let half = (self.tiles * TILE) as f32 * 0.5;
        (Vec2::new(half + d.dot(self.right) * scale, half - d.dot(self.up) * scale), depth)
    }

    /// Metres of a texel at this depth.
    #[inline]
    pub(super) fn texel(&self, depth: f32) -> f32 {
        if self.perspective() { depth.max(1e-4) / self.scale } else { 1.0 / self.scale }
    }

    /// Draws strands, solids, grains and liquids; `transparency` is the share of light that goes on behind an average
    /// strand, `ground` the height of the floor [m].
    pub fn draw(
        &mut self,
        scenery: Scenery,
        liquids: &Liquids,
        ground: Option<f32>,
        transparency: f32,
        scratch: &mut Scratch,
    ) {
        let Scenery { curves, surfaces, grains } = scenery;
        let mut texels = std::mem::take(&mut self.texels);
        let Scratch { chosen, points, strands, triangles, projected, balls, centres } = scratch;
        let (tiles, perspective) = (self.tiles as u16, self.perspective());
        let near = if perspective { 1e-4 } else { f32::NEG_INFINITY };
        let stands_for = |strand: &Strand| {
            let depth = self.project(curves.positions[strand.first as usize]).1;
            curves.stands_for(strand, THINNEST * self.texel(depth))
        };
        chosen.clear();
        for strand in curves.strands.iter().filter(|strand| stands_for(strand).is_some()) {
            chosen.extend(strand.first..strand.first + strand.count);
        }
        let point = |&i: &u32| {
            let i = i as usize;
            let (at, depth) = self.project(curves.positions[i]);
            let width = stands_for(&curves.strands[curves.strand[i] as usize]).unwrap_or(0.0);
            Point { at, depth, half_width: curves.radii[i] * width / self.texel(depth), strand: curves.strand[i] }
        };
        chosen.par_iter().map(point).collect_into_vec(points);
        strands.fill(points.len().saturating_sub(1), tiles, tiles, |i| {
            let (a, b) = (points[i], points[i + 1]);
            if a.strand != b.strand || a.depth < near || b.depth < near {
                return None;
            }
            let reach = a.half_width.max(b.half_width) + 1.0;
            TileRange::around(a.at.min(b.at) - reach, a.at.max(b.at) + reach, TILE as f32, tiles, tiles)
        });
        projected.clear();
        projected.extend((0..surfaces.triangles.len()).filter_map(|t| {
            let corners = surfaces.corners(t).map(|p| self.project(p));
            let depth = corners.map(|(_, z)| if perspective { 1.0 / z } else { z });
            let seen = corners.iter().all(|&(_, z)| z > near);
            seen.then_some(Projected { corners: corners.map(|(p, _)| p), depth, id: t as u32 })
        }));
        triangles.fill(projected.len(), tiles, tiles, |t| {
            let (low, high) = projected[t].bounds();
            TileRange::around(low, high, TILE as f32, tiles, tiles)
        });

        grains.centres.par_iter().map(|&p| self.project(p)).collect_into_vec(centres);
        balls.fill(centres.len(), tiles, tiles, |i| {
            let (at, depth) = centres[i];
            let reach = grains.radii[i] / self.texel(depth) + 1.0;
            let seen = depth - grains.radii[i] > near;
            seen.then(|| TileRange::around(at - reach, at + reach, TILE as f32, tiles, tiles)).flatten()
        });

        texels.clear();
        texels.resize(self.tiles * self.tiles * TILE * TILE, EMPTY);
        let scene = Drawn { points, strands, projected, triangles, grains, centres, balls };
        texels.par_chunks_mut(TILE * TILE).enumerate().for_each_init(Vec::new, |strokes, (tile, texels)| {
            self.draw_tile(&scene, tile, texels, strokes);
        });
        self.texels = texels;
        self.absorbed = 1.0 - transparency;
        self.average(1.0 - transparency);
        let veils = std::mem::take(&mut self.veils);
        self.veils = veil::draw(self, liquids, veils);
        self.gains = caustics::draw(self, liquids, &self.veils, ground);
    }

    fn draw_tile(&self, scene: &Drawn, tile: usize, texels: &mut [Texel], strokes: &mut Vec<Stroke>) {
        let Drawn { points, strands, projected, triangles, grains, centres, balls } = scene;
        let perspective = self.perspective();
        let (x0, y0) = ((tile % self.tiles * TILE) as i32, (tile / self.tiles * TILE) as i32);
        let clip = Clip { x0, y0, x1: x0 + TILE as i32, y1: y0 + TILE as i32 };
        let place = |x: i32, y: i32| (y - y0) as usize * TILE + (x - x0) as usize;
        for t in triangles.of(tile) {
            projected[t as usize].visit(clip, |x, y, depth| {
                let texel = &mut texels[place(x, y)];
                texel.solid = texel.solid.min(if perspective { 1.0 / depth } else { depth });
            });
        }
        for i in balls.of(tile).map(|i| i as usize) {
            let ((at, depth), radius) = (centres[i], grains.radii[i]);
            let texel = self.texel(depth);
            // A grain smaller than a texel still fills the one that it is in.
            let reach = radius / texel;
            let low = (at - reach.max(0.5)).floor().max(Vec2::new(x0 as f32, y0 as f32));
            let high = (at + reach.max(0.5)).min(Vec2::new((clip.x1 - 1) as f32, (clip.y1 - 1) as f32));
            for y in low.y as i32..=high.y as i32 {
                for x in low.x as i32..=high.x as i32 {
                    let off = Vec2::new(x as f32 + 0.5, y as f32 + 0.5).distance_squared(at) * texel * texel;
                    let inside = at.floor() == Vec2::new(x as f32, y as f32);
                    if off <= radius * radius || inside {
                        let solid = &mut texels[place(x, y)].solid;
                        *solid = solid.min(depth - (radius * radius - off).max(0.0).sqrt());
                    }
                }
            }
        }
        strokes.clear();
        for i in strands.of(tile).map(|i| i as usize) {
            let (a, b) = (points[i], points[i + 1]);
            let widest = a.half_width.max(b.half_width);
            // A rope blocks all light, not just one strand's share.
            let weight = 1.0 + 5.0 * ((widest - 1.0) / (SOLID_WIDTH - 1.0)).clamp(0.0, 1.0);
            strip::visit(a.at, b.at, widest + 1.0, clip, |x, y, t, d| {
                let (place, depth) = (place(x, y), a.depth + (b.depth - a.depth) * t);
                let texel = &mut texels[place];
                // Nothing well behind a solid is ever lit.
                if depth < texel.solid + 2.0 * self.texel(depth) {
                    texel.first = texel.first.min(depth);
                    let crossed = weight * strip::coverage(d, a.half_width + (b.half_width - a.half_width) * t);
                    strokes.push(Stroke { texel: place as u32, depth, crossed });
                }
            });
        }
        // Layers begin at the first strand, which is known only now.
        for stroke in strokes.iter() {
            let texel = &mut texels[stroke.texel as usize];
            let layer = layer_of((stroke.depth - texel.first) / self.extent) as usize;
            texel.crossed[layer.min(LAYERS - 1)] += stroke.crossed;
        }
        for texel in texels {
            for k in 1..LAYERS {
                texel.crossed[k] += texel.crossed[k - 1];
            }
        }
    }

    /// What lies between the light and a strand's point: four texels around it, farther apart for a wide light, which
    /// is seen past the strands before at an angle.
    pub fn at_strand(&self, p: Vec3) -> Shade {
        let (at, depth) = self.project(p);
        let bias = 2.0 * self.texel(depth);
        let gap = (depth - self.first(at)).clamp(0.0, self.extent);
        let radius = (self.spread(depth) * gap / self.texel(depth)).clamp(0.5, 64.0);
        let mut sum = Shade { crossings: 0.0, passed: 0.0 };
        // A square on its corner: rows and columns of texels do not show.
        for offset in [Vec2::new(0.38, 0.92), Vec2::new(-0.92, 0.38), Vec2::new(-0.38, -0.92), Vec2::new(0.92, -0.38)] {
            let place = at + offset * radius;
            match self.index(place.x.floor() as i32, place.y.floor() as i32) {
                Some(i) => {
                    sum.crossings += 0.25 * self.texels[i].crossed_at(depth, self.extent);
                    sum.passed += 0.25 * self.texels[i].passed_at(depth, bias);
                }
                None => sum.passed += 0.25,
            }
        }
        sum
    }

    /// Share of the light that reaches a grain, on average over the side that it turns to the light.
    pub fn at_ball(&self, centre: Vec3, radius: f32) -> Vec3 {
        let (at, depth) = self.project(centre);
        let texel = self.texel(depth);
        let own = radius.max(1.5 * texel);
        let before = self.solid(at).min(self.first(at));
        let gap = (depth - own - before).clamp(0.0, self.extent);
        let reach = ((0.8 * radius + self.spread(depth) * gap) / texel).clamp(0.5, 64.0);
        const TAPS: usize = 7;
        let mut sum = 0.0;
        for k in 0..TAPS {
            let place = at + disc(k, TAPS) * reach;
            sum += match self.index(place.x.floor() as i32, place.y.floor() as i32) {
                Some(i) => {
                    // What lies a whole radius before the grain's front hides it.
                    let texel = &self.texels[i];
                    let hair = (-texel.crossed_at(depth - own, self.extent) * self.absorbed).exp();
                    ((texel.solid - depth + 2.0 * own) / own).clamp(0.0, 1.0) * hair
                }
                None => 1.0,
            };
        }
        self.through_liquid(centre) * (sum / TAPS as f32)
    }

    /// Share of the light that reaches a point of a solid with this normal; `turn` rotates the taps [rad].
    pub fn at_solid(&self, p: Vec3, normal: Vec3, absorbed: f32, taps: usize, turn: f32) -> f32 {
        let (_, depth) = self.project(p);
        // Strands that lie on the surface count, the surface itself does not.
        let behind = depth + self.texel(depth);
        let (at, depth) = self.project(p + normal * (2.0 * self.texel(depth)));
        let middle = self.solid(at).min(self.first(at));
        let gap = if middle < depth { depth - middle } else { 0.05 * self.extent };
        let radius = (self.spread(depth) * gap / self.texel(depth)).clamp(1.5, 64.0);
        let turn = Vec2::from_angle(turn);
        let mut sum = 0.0;
        for k in 0..taps {
            let tap = self.tap(at + turn.rotate(disc(k, taps)) * radius, depth - self.texel(depth), behind);
            sum += tap.passed * (-tap.crossings * absorbed).exp();
        }
        sum / taps as f32
    }

    /// Share of the light that reaches a point behind everything, such as the ground.
    pub fn at_ground(&self, p: Vec3) -> f32 {
        let (at, depth) = self.project(p);
        let (spread, texel) = (self.spread(depth), self.texel(depth));
        // The mean distance of the blockers around sets the width of the penumbra [Fernando2005].
        let search = (spread * 0.5 * self.extent / texel).max(2.0);
        let found = self.blocked_at(at, 2.0 * search);
        if found.x < 1e-5 {
            return 1.0;
        }
        let radius = (spread * (depth - found.y / found.x) / texel).clamp(0.7, search);
        let sum: f32 = GROUND_TAPS.iter().map(|&tap| self.blocked_at(at + tap * radius, 0.75 * radius).x).sum();
        1.0 - sum / GROUND_TAPS.len() as f32
    }

    /// Depth of the middle of the stage [m].
    pub(super) fn middle(&self) -> f32 {
        if self.perspective() { self.distance } else { 0.5 * self.extent }
    }

    /// An empty map.
    #[cfg(test)]
    pub(super) fn clear(&mut self) {
        self.texels = vec![EMPTY; self.tiles * self.tiles * TILE * TILE];
    }

    /// Radius of the light's image behind a blocker, per metre of distance to it.
    pub(super) fn spread(&self, depth: f32) -> f32 {
        match self.light {
            Light::Sun { angle, .. } => (0.5 * angle.clamp(0.0, 1.5)).tan(),
            Light::Lamp { radius, .. } => (radius / depth.max(1e-3)).min(1.0),
        }
    }

    pub(super) fn index(&self, x: i32, y: i32) -> Option<usize> {
        let size = (self.tiles * TILE) as i32;
        if x < 0 || y < 0 || x >= size || y >= size {
            return None;
        }
        let (x, y) = (x as usize, y as usize);
        Some(((y / TILE) * self.tiles + x / TILE) * TILE * TILE + (y % TILE) * TILE + x % TILE)
    }

    fn first(&self, at: Vec2) -> f32 {
        self.index(at.x as i32, at.y as i32).map_or(f32::INFINITY, |i| self.texels[i].first)
    }

    pub(super) fn solid(&self, at: Vec2) -> f32 {
        self.index(at.x as i32, at.y as i32).map_or(f32::INFINITY, |i| self.texels[i].solid)
    }

    /// The four texels around a place, blended: solids before `depth`, strands before `behind` [m].
    fn tap(&self, at: Vec2, depth: f32, behind: f32) -> Shade {
        let corner = (at - 0.5).floor();
        let f = at - 0.5 - corner;
        let bias = 2.0 * self.texel(depth);
        let mut shade = Shade { crossings: 0.0, passed: 0.0 };
        for (dx, dy, weight) in
            [(0, 0, (1.0 - f.x) * (1.0 - f.y)), (1, 0, f.x * (1.0 - f.y)), (0, 1, (1.0 - f.x) * f.y), (1, 1, f.x * f.y)]
        {
            let Some(i) = self.index(corner.x as i32 + dx, corner.y as i32 + dy) else {
                shade.passed += weight;
                continue;
            };
            let texel = &self.texels[i];
            shade.crossings += weight * texel.crossed_at(behind, self.extent);
            shade.passed += weight * texel.passed_at(depth, bias);
        }
        shade
    }

    fn average(&mut self, absorbed: f32) {
        let mut size = self.tiles * TILE;
        let texels = &self.texels;
        let tiles = self.tiles;
        let base: Vec<Vec2> = (0..size * size)
            .into_par_iter()
            .map(|i| {
                let (x, y) = (i % size, i / size);
                let texel = &texels[((y / TILE) * tiles + x / TILE) * TILE * TILE + (y % TILE) * TILE + x % TILE];
                let hair = 1.0 - (-absorbed * texel.crossed[LAYERS - 1]).exp();
                let blocked = if texel.solid.is_finite() { 1.0 } else { hair };
                let depth = texel.solid.min(texel.first);
                if depth.is_finite() { Vec2::new(blocked, blocked * depth) } else { Vec2::ZERO }
            })
            .collect();
        self.blocked = vec![base];
        while size > 8 {
            let fine = &self.blocked[self.blocked.len() - 1];
            let half = size / 2;
            let coarse = (0..half * half)
                .map(|i| {
                    let j = (i / half) * 2 * size + (i % half) * 2;
                    0.25 * (fine[j] + fine[j + 1] + fine[j + size] + fine[j + size + 1])
                })
                .collect();
            self.blocked.push(coarse);
            size = half;
        }
    }

    /// Averages over about this many texels, blended between levels.
    fn blocked_at(&self, at: Vec2, width: f32) -> Vec2 {
        let level = width.max(1.0).log2().min((self.blocked.len() - 1) as f32);
        let low = level as usize;
        let high = (low + 1).min(self.blocked.len() - 1);
        self.blocked_in(at, low).lerp(self.blocked_in(at, high), level - low as f32)
    }

    fn blocked_in(&self, at: Vec2, level: usize) -> Vec2 {
        let size = (self.tiles * TILE) >> level;
        let q = at / (1 << level) as f32 - 0.5;
        let corner = q.floor();
        let f = q - corner;
        let get = |dx: i32, dy: i32| {
            let (x, y) = (corner.x as i32 + dx, corner.y as i32 + dy);
            let inside = x >= 0 && y >= 0 && (x as usize) < size && (y as usize) < size;
            if inside { self.blocked[level][y as usize * size + x as usize] } else { Vec2::ZERO }
        };
        get(0, 0).lerp(get(1, 0), f.x).lerp(get(0, 1).lerp(get(1, 1), f.x), f.y)
    }
}

impl Texel {
    /// Whether the solid lies behind; half so at twice the bias before it, which hides the stairs of the map.
    #[inline]
    fn passed_at(&self, depth: f32, bias: f32) -> f32 {
        ((self.solid - depth) / bias + 2.5).clamp(0.0, 1.0)
    }

    #[inline]
    fn crossed_at(&self, depth: f32, extent: f32) -> f32 {
        if depth <= self.first {
            return 0.0;
        }
        let share = ((depth - self.first) / extent).min(1.0);
        let k = (layer_of(share) as usize).min(LAYERS - 1);
        let before = if k > 0 { self.crossed[k - 1] } else { 0.0 };
        let (start, length) = SPANS[k];
        before + (self.crossed[k] - before) * ((share - start) / length).clamp(0.0, 1.0)
    }
}

/// Where each layer begins and how thick it is, as shares of the depth extent.
const SPANS: [(f32, f32); LAYERS] = {
    let mut spans = [(0.0, 0.0); LAYERS];
    let mut k = 0;
    while k < LAYERS {
        let (low, high) = (k as f32 / LAYERS as f32, (k + 1) as f32 / LAYERS as f32);
        let start = low * low * low * low;
        spans[k] = (start, high * high * high * high - start);
        k += 1;
    }
    spans
};

/// Layer, with fraction, at a share of the depth extent.
#[inline]
fn layer_of(share: f32) -> f32 {
    share.max(0.0).sqrt().sqrt() * LAYERS as f32
}

/// Point `k` of `count` spread evenly over the unit disc along a spiral [Vogel1979].
#[inline]
pub(crate) fn disc(k: usize, count: usize) -> Vec2 {
    let radius = ((k as f32 + 0.5) / count as f32).sqrt();
    Vec2::from_angle(k as f32 * 2.399_963) * radius
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curves::{Curves, Strand};
    use crate::light::rays::{Rays, Way};
    use crate::surfaces::Surfaces;
    use drench_math::random::Stream;

    /// Level strands at random places of a layer half a metre thick.
    fn slab(count: u64) -> Curves {
        let stream = Stream::new(2, "slab");
        let mut curves = Curves::default();
        for k in 0..count {
            let at = |j: u64| stream.child(j).range(k, -0.5, 0.5) as f32;
            let middle = Vec3::new(at(0), 0.5 * at(1), at(2));
            let (s, c) = (at(3) * 6.3).sin_cos();
            let first = curves.positions.len() as u32;
            for j in 0..3 {
                curves.positions.push(middle + Vec3::new(c, 0.0, s) * (0.05 * (j as f32 - 1.0)));
                curves.radii.push(0.002);
                curves.strand.push(k as u32);
            }
            curves.strands.push(Strand { first, count: 3, look: 0, random: 0, lock: 0, rank: 0.5 });
        }
        curves
    }

    fn lights() -> [Light; 2] {
        let sun = Light::Sun { direction: Vec3::new(0.3, -1.0, 0.1), colour: Vec3::ONE, strength: 1.0, angle: 0.01 };
        let lamp = Light::Lamp { position: Vec3::new(0.2, 2.5, 0.0), colour: Vec3::ONE, power: 1.0, radius: 0.01 };
        [sun, lamp]
    }

    #[test]
    fn crossings_grow_with_depth_as_in_a_slab_and_as_rays_count() {
        let (curves, surfaces, grains) = (slab(20_000), Surfaces::default(), Grains::default());
        let scenery = Scenery { curves: &curves, surfaces: &surfaces, grains: &grains };
        let rays = Rays::build(scenery, |_| Some(1.0));
        for light in lights() {
            let mut map = ShadowMap::new(light, Vec3::ZERO, 0.8, 512, None);
            map.draw(scenery, &Liquids::default(), None, 0.0, &mut Scratch::default());
            for y in [0.2_f32, 0.0, -0.24] {
                let (mut mean, mut traced) = (0.0, 0.0);
                let n = 400;
                for k in 0..n {
                    let p = Vec3::new((k % 20) as f32 * 0.02 - 0.2, y, (k / 20) as f32 * 0.02 - 0.2);
                    let (towards, _) = crate::light::arriving(&light, p);
                    mean += map.at_strand(p).crossings / n as f32;
                    if let Way::Strands(count) = rays.way(scenery, (p, towards, 9.0), None) {
                        traced += count as f32 / n as f32;
                    }
                }
                // 20 000 strands of 0.1 m by 4 mm in 1 x 0.5 x 1 m: 16 a metre straight down, as many more as the
                // inclined way is longer, less the foreshortening of the strands.
                let straight = 16.0 * (0.25 - y);
                assert!((0.75..1.25).contains(&(traced / straight)), "{traced} {straight}");
                assert!((mean - traced).abs() < 0.12 * traced + 0.15, "{mean} {traced} at {y}");
            }
        }
    }

    #[test]
    fn solids_block_light_and_ground_shadows_are_soft() {
        let corners = [(-0.2, -0.2), (0.2, -0.2), (0.2, 0.2), (-0.2, 0.2)];
        let surfaces = Surfaces {
            positions: corners.map(|(x, z)| Vec3::new(x, 0.0, z)).into(),
            triangles: vec![[0, 1, 2], [0, 2, 3]],
            ..Surfaces::default()
        };
        let light = Light::Sun { direction: Vec3::NEG_Y, colour: Vec3::ONE, strength: 1.0, angle: 0.2 };
        let mut map = ShadowMap::new(light, Vec3::ZERO, 0.5, 512, None);
        let (curves, grains) = (Curves::default(), Grains::default());
        let scenery = Scenery { curves: &curves, surfaces: &surfaces, grains: &grains };
        map.draw(scenery, &Liquids::default(), None, 0.0, &mut Scratch::default());
        assert!(map.at_strand(Vec3::new(0.0, -0.1, 0.0)).passed < 0.01);
        assert!(map.at_strand(Vec3::new(0.0, 0.1, 0.0)).passed > 0.99);
        assert!(map.at_strand(Vec3::new(5.0, -0.1, 0.0)).passed > 0.99);
        let at = |x: f32| map.at_ground(Vec3::new(x, -0.4, 0.0));
        assert!(at(0.0) < 0.02 && at(0.4) > 0.98, "{} {}", at(0.0), at(0.4));
        // The edge is half lit, the penumbra about 0.4 m * 0.2 wide.
        assert!((at(0.2) - 0.5).abs() < 0.1, "{}", at(0.2));
        assert!(at(0.175) > 0.1 && at(0.225) < 0.9);
    }

    #[test]
    fn grains_hide_those_behind_them_and_not_themselves() {
        let (curves, surfaces) = (Curves::default(), Surfaces::default());
        let mut grains = Grains::default();
        grains.centres.extend([Vec3::ZERO, Vec3::new(0.0, -0.1, 0.0), Vec3::new(0.2, -0.1, 0.0)]);
        grains.radii.extend([0.02; 3]);
        let light = Light::Sun { direction: Vec3::NEG_Y, colour: Vec3::ONE, strength: 1.0, angle: 0.01 };
        let mut map = ShadowMap::new(light, Vec3::ZERO, 0.5, 512, None);
        let scenery = Scenery { curves: &curves, surfaces: &surfaces, grains: &grains };
        map.draw(scenery, &Liquids::default(), None, 0.0, &mut Scratch::default());
        let lit = [0, 1, 2].map(|i| map.at_ball(grains.centres[i], grains.radii[i]).x);
        assert!(lit[0] > 0.99 && lit[1] < 0.01 && lit[2] > 0.99, "{lit:?}");
    }
}
