//! Bright lines on what lies under a liquid: waves gather light here and spread it there.
//!
//! Each triangle of the surface that a light sees carries the light that falls on it to where its corners, bent by
//! Snell's law, meet what is below [Watt1990]. Seen from the light, the triangle covers the area A there before and A'
//! after, so that it brightens what it covers by A / A'. Light that leaves a drop goes on as it came: true for flat
//! bodies, and for drops kinder than true. The size of the light blurs it all.

use super::shadow::ShadowMap;
use super::shadow::TILE;
use super::veil::Veil;
use crate::liquid::{Liquids, optics};
use crate::raster::strip::Clip;
use crate::raster::triangle::Projected;
use glam::{Vec2, Vec3};

/// Scattering from which a liquid is too cloudy [1/m].
const CLOUDY: f32 = 60.0;
/// Brightest that light is gathered.
const BRIGHTEST: f32 = 10.0;
/// Area below which a triangle is a point [texels].
const SMALL: f32 = 3.0;

/// How much brighter than by straight light each texel is, row by row; empty if nothing is clear.
pub(super) fn draw(map: &ShadowMap, liquids: &Liquids, veils: &[Veil], ground: Option<f32>) -> Vec<f32> {
    let (size, mesh) = (map.tiles * TILE, &liquids.mesh);
    let clear = |t: usize| liquids.bodies[mesh.look[t] as usize].look.scattering < CLOUDY;
    if veils.is_empty() || !(0..mesh.triangles.len()).any(clear) {
        return Vec::new();
    }
    let mut light: Vec<f32> = vec![0.0; size * size];
    for (i, texel) in light.iter_mut().enumerate() {
        let clear = map.index((i % size) as i32, (i / size) as i32).is_none_or(|i| veils[i].is_clear());
        *texel = if clear { 1.0 } else { 0.0 };
    }
    let clip = Clip { x0: 0, y0: 0, x1: size as i32, y1: size as i32 };
    let (mut reach, mut carried) = (0.0, 0.0);
    for t in 0..mesh.triangles.len() {
        let corners = mesh.triangles[t];
        let before = corners.map(|v| map.project(mesh.positions[v as usize]).0);
        let area = -0.5 * (before[1] - before[0]).perp_dot(before[2] - before[0]);
        // What faces away lets light out, and only what comes first lets it in.
        if area.is_nan() || area <= 0.0 || !clear(t) {
            continue;
        }
        let body = &liquids.bodies[mesh.look[t] as usize];
        let ior = body.look.ior.max(1.0);
        let landed = corners
            .map(|v| land(map, veils, mesh.positions[v as usize], mesh.normals[v as usize], ior, ground, body.gap));
        let [Some(a), Some(b), Some(c)] = landed else { continue };
        reach += area * a.1;
        carried += area;
        let after = [a.0, b.0, c.0];
        let covered = 0.5 * (after[1] - after[0]).perp_dot(after[2] - after[0]).abs();
        if covered < SMALL {
            splat(&mut light, size, (after[0] + after[1] + after[2]) / 3.0, area);
        } else {
            let gain = (area / covered).min(BRIGHTEST);
            let triangle = Projected { corners: after, depth: [1.0; 3], id: 0 };
            triangle.visit(clip, |x, y, _| light[y as usize * size + x as usize] += gain);
        }
    }
    // Two boxes are a tent; its width is that of the light's image.
    let width = (map.spread(map.middle()) * reach / f32::max(carried, 1e-9) / map.texel(map.middle())).clamp(1.0, 32.0);
    let mut scratch = vec![0.0; size];
    for _ in 0..2 {
        blur(&mut light, size, width as usize, &mut scratch);
    }
    light.iter_mut().for_each(|gain| *gain = gain.clamp(0.0, BRIGHTEST));
    light
}

/// Where the light that falls on a point of the surface ends, as seen from the light, and how far below.
fn land(
    map: &ShadowMap,
    veils: &[Veil],
    p: Vec3,
    normal: Vec3,
    ior: f32,
    ground: Option<f32>,
    gap: f32,
) -> Option<(Vec2, f32)> {
    let (at, depth) = map.project(p);
    let texel = map.index(at.x.floor() as i32, at.y.floor() as i32)?;
    let (first, way) = veils[texel].extent();
    if depth > first + gap {
        return None;
    }
    let (towards, _) = map.arriving(p);
    let direction = -towards;
    let floor =
        ground.map(|height| (height - p.y) / direction.y).filter(|t| *t > 0.0).map_or(f32::INFINITY, |t| depth + t);
    let below = (map.solid(at).min(floor) - depth).clamp(0.0, map.extent);
    let normal = if normal.dot(direction) < 0.0 { normal } else { towards };
    let bent = optics::refract(direction, normal, 1.0 / ior)?;
    let inside = below.min(way);
    let out = p + bent * (inside / bent.dot(direction).max(0.3));
    Some((map.project(out).0, below))
}

/// Adds light at a point to the four texels around it.
fn splat(light: &mut [f32], size: usize, at: Vec2, amount: f32) {
    let corner = (at - 0.5).floor();
    let f = at - 0.5 - corner;
    for (dx, dy, weight) in
        [(0, 0, (1.0 - f.x) * (1.0 - f.y)), (1, 0, f.x * (1.0 - f.y)), (0, 1, (1.0 - f.x) * f.y), (1, 1, f.x * f.y)]
    {
        let (x, y) = (corner.x as i64 + dx, corner.y as i64 + dy);
        if x >= 0 && y >= 0 && x < size as i64 && y < size as i64 {
            light[y as usize * size + x as usize] += amount * weight;
        }
    }
}

/// Averages over `2 radius + 1` texels along both axes.
fn blur(light: &mut [f32], size: usize, radius: usize, line: &mut [f32]) {
    for (stride, step) in [(1, size), (size, 1)] {
        for start in (0..size).map(|k| k * step) {
            for (k, value) in line.iter_mut().enumerate() {
                *value = light[start + k * stride];
            }
            // The border goes on as it ends.
            let get = |k: i64| line[k.clamp(0, size as i64 - 1) as usize];
            let mut sum: f32 = (-(radius as i64)..=radius as i64).map(get).sum();
            for k in 0..size {
                light[start + k * stride] = sum / (2 * radius + 1) as f32;
                sum += get((k + radius + 1) as i64) - get(k as i64 - radius as i64);
            }
        }
    }
}

impl ShadowMap {
    /// How much brighter waves make a texel's surroundings.
    pub(super) fn gathered(&self, at: Vec2) -> f32 {
        let size = self.tiles * TILE;
        if self.gains.is_empty() {
            return 1.0;
        }
        let corner = (at - 0.5).floor();
        let f = at - 0.5 - corner;
        let get = |dx: i32, dy: i32| {
            let (x, y) = (corner.x as i32 + dx, corner.y as i32 + dy);
            let inside = x >= 0 && y >= 0 && (x as usize) < size && (y as usize) < size;
            if inside { self.gains[y as usize * size + x as usize] } else { 1.0 }
        };
        let row = |dy: i32| get(0, dy) * (1.0 - f.x) + get(1, dy) * f.x;
        row(0) * (1.0 - f.y) + row(1) * f.y
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::light::shadow::ShadowMap;
    use crate::light::veil;
    use crate::liquid::Body;
    use crate::surfaces::Surfaces;
    use crate::{Light, LiquidLook};

    /// A pool with waves: light is conserved, and gathers under the crests, which are lenses.
    #[test]
    fn waves_gather_light_under_their_crests_and_lose_none() {
        let (count, height) = (120_u32, 0.3);
        let place = |i: u32| i as f32 * 2.0 / count as f32 - 1.0;
        let wave = |x: f32| 0.01 * (12.0 * x).cos();
        let mut mesh = Surfaces::default();
        for (top, y) in [(true, height), (false, 0.0)] {
            let first = mesh.positions.len() as u32;
            for k in 0..(count + 1) * (count + 1) {
                let (x, z) = (place(k % (count + 1)), place(k / (count + 1)));
                let slope = if top { 0.12 * (12.0 * x).sin() } else { 0.0 };
                mesh.positions.push(Vec3::new(x, y + if top { wave(x) } else { 0.0 }, z));
                mesh.normals.push(Vec3::new(slope, if top { 1.0 } else { -1.0 }, 0.0).normalize());
            }
            for k in 0..count * count {
                let a = first + k / count * (count + 1) + k % count;
                let [a, b, c, d] = [a, a + 1, a + count + 2, a + count + 1];
                mesh.triangles.extend(if top { [[a, d, c], [a, c, b]] } else { [[a, c, d], [a, b, c]] });
            }
        }
        mesh.look = vec![0; mesh.triangles.len()];
        let liquids =
            Liquids { mesh, bodies: vec![Body { look: LiquidLook::water(), gap: 0.03 }], ..Liquids::default() };
        let light = Light::Sun { direction: Vec3::NEG_Y, colour: Vec3::ONE, strength: 1.0, angle: 0.01 };
        let mut map = ShadowMap::new(light, Vec3::ZERO, 1.5, 256, None);
        map.clear();
        let veils = veil::draw(&map, &liquids, Vec::new());
        map.gains = draw(&map, &liquids, &veils, Some(0.0));
        let size = map.tiles * TILE;
        let mean = map.gains.iter().sum::<f32>() / (size * size) as f32;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        let at = |x: f32| map.gathered(map.project(Vec3::new(x, 0.0, 0.013)).0);
        let (crest, trough) = (at(0.0), at(std::f32::consts::PI / 12.0));
        // Small slopes bend light by (1 - 1 / n) of them: a point at x ends at x - h (1 - 1 / n) A k sin(k x).
        let expected = |depth: f32, sign: f32| 1.0 / (1.0 - sign * depth * (1.0 - 1.0 / 1.333) * 0.01 * 144.0);
        assert!((crest - expected(0.31, 1.0)).abs() < 0.03, "{crest}");
        assert!((trough - expected(0.29, -1.0)).abs() < 0.03, "{trough}");
    }
}
