//! One tile of the picture: solids, grains and surfaces of liquids into a depth buffer, strands and streaks of drops over
//! it from front to back, then the colours of whatever the strands left visible.

use super::ball;
use super::bins::{Bins, TileRange};
use super::streak;
use super::strip::{self, Clip};
use super::triangle::{Projected, cut_near};
use crate::camera::{Camera, NEAR};
use crate::picture::interleaved_noise;
use crate::shade::Stage;
use glam::{Vec2, Vec3, Vec4};
use rayon::prelude::*;
use std::f32::consts::TAU;

/// Pixels of a tile's side.
pub(crate) const TILE: usize = 32;
/// Samples of a pixel's side for the edges of solids.
const SIDE: usize = 3;
const SAMPLES: usize = TILE * SIDE;
/// What is left to see of a pixel when strands stop being drawn: what lies farther back counts as those before it.
const OPAQUE: f32 = 0.03;
/// Pixels of a block's side: a tile of 8 x 8 blocks has one bit for each.
const BLOCK: usize = TILE / 8;
/// Half width from which a strand is shaded as a surface instead of a fibre [px].
const ROPE: f32 = 1.5;

const NOTHING: u32 = u32::MAX;
const GROUND: u32 = u32::MAX - 1;
/// Steps in depth between the samples of a pixel, in pixels, from which it shows an edge.
const EDGE: f32 = 12.0;

/// What a sample shows. Its number: triangles of solids first, then grains, then triangles of liquids.
enum Owner {
    Nothing,
    Ground,
    Solid(usize),
    Grain(usize),
    Liquid(usize),
}

impl Owner {
    fn of(number: u32, stage: &Stage) -> Self {
        let (solids, grains) = (stage.surfaces.triangles.len(), stage.grains.centres.len());
        match number as usize {
            _ if number == NOTHING => Self::Nothing,
            _ if number == GROUND => Self::Ground,
            i if i < solids => Self::Solid(i),
            i if i < solids + grains => Self::Grain(i - solids),
            i => Self::Liquid(i - solids - grains),
        }
    }

    /// The same for samples that one colour does for.
    fn thing(&self, stage: &Stage) -> (u32, u32) {
        match *self {
            Self::Nothing => (0, 0),
            Self::Ground => (1, 0),
            Self::Solid(t) => (2, stage.surfaces.look[t]),
            Self::Grain(i) => (3, i as u32),
            Self::Liquid(t) => (4, stage.liquids.mesh.look[t]),
        }
    }
}

/// Everything in front of the camera, projected and sorted into tiles.
#[derive(Default)]
pub(crate) struct Projection {
    points: Vec<(Vec2, f32)>,
    strands: Bins,
    drops: Vec<streak::Projected>,
    streaks: Bins,
    triangles: Vec<Projected>,
    solids: Bins,
    grains: Bins,
    columns: usize,
    rows: usize,
}

impl Projection {
    pub fn prepare(&mut self, stage: &Stage, width: usize, height: usize) {
        let (camera, curves) = (&stage.camera, stage.curves);
        (self.columns, self.rows) = (width.div_ceil(TILE), height.div_ceil(TILE));
        let (columns, rows) = (self.columns as u16, self.rows as u16);
        curves.positions.par_iter().map(|&p| camera.project(p)).collect_into_vec(&mut self.points);
        let points = &self.points;
        self.strands.fill(points.len().saturating_sub(1), columns, rows, |i| {
            let ((a, za), (b, zb)) = (points[i], points[i + 1]);
            if !curves.begins_segment(i) || za < NEAR || zb < NEAR {
                return None;
            }
            let reach = 1.0 + curves.radii[i].max(curves.radii[i + 1]) * camera.pixels_per_metre(za.min(zb));
            TileRange::around(a.min(b) - reach, a.max(b) + reach, TILE as f32, columns, rows)
        });
        let project = |streak| streak::Projected::new(camera, streak, |p| stage.drop(p, streak.drop));
        self.drops.clear();
        self.drops.par_extend(stage.liquids.streaks.par_iter().with_min_len(64).filter_map(project));
        let drops = &self.drops;
        self.streaks.fill(drops.len(), columns, rows, |i| {
            let (low, high) = drops[i].bounds();
            TileRange::around(low, high, TILE as f32, columns, rows)
        });
        self.triangles.clear();
        let liquids = &stage.liquids.mesh;
        let first = stage.surfaces.triangles.len() + stage.grains.centres.len();
        let solids = (0..stage.surfaces.triangles.len()).map(|t| (t, stage.surfaces.corners(t)));
        let all = solids.chain((0..liquids.triangles.len()).map(|t| (first + t, liquids.corners(t))));
        for (number, corners) in all {
            let depth = corners.map(|p| camera.project(p).1);
            cut_near(corners, depth, 2.0 * NEAR, |piece| {
                let projected = piece.map(|p| camera.project(p));
                self.triangles.push(Projected {
                    // Coordinates count samples, not pixels.
                    corners: projected.map(|(p, _)| p * SIDE as f32),
                    depth: projected.map(|(_, z)| 1.0 / z),
                    id: number as u32,
                });
            });
        }
        let triangles = &self.triangles;
        self.solids.fill(triangles.len(), columns, rows, |t| {
            let (low, high) = triangles[t].bounds();
            TileRange::around(low, high, SAMPLES as f32, columns, rows)
        });
        let grains = stage.grains;
        self.grains.fill(grains.centres.len(), columns, rows, |i| {
            let (low, high) = ball::bounds(camera, grains.centres[i], grains.radii[i])?;
            TileRange::around(low, high, TILE as f32, columns, rows)
        });
    }

    pub fn tiles(&self) -> usize {
        self.columns * self.rows
    }

    /// Adds this view of the scene, `weight` times, to the picture.
    pub fn draw(&self, stage: &Stage, width: usize, weight: f32, picture: &mut [Vec4]) {
        let height = picture.len() / width;
        let tiles: Vec<Vec<Vec4>> = (0..self.tiles())
            .into_par_iter()
            .map_init(Canvas::default, |canvas, tile| canvas.draw(self, stage, tile))
            .collect();
        for (tile, colours) in tiles.iter().enumerate() {
            let (x0, y0) = (tile % self.columns * TILE, tile / self.columns * TILE);
            let columns = TILE.min(width - x0);
            for y in 0..TILE.min(height - y0) {
                let row = &mut picture[(y0 + y) * width + x0..][..columns];
                row.iter_mut().zip(&colours[y * TILE..]).for_each(|(pixel, &colour)| *pixel += colour * weight);
            }
        }
    }
}

/// Buffers of the tile that a thread is drawing.
#[derive(Default)]
struct Canvas {
    /// 1 / depth and what is there, for each sample.
    nearness: Vec<f32>,
    owner: Vec<u32>,
    /// Nearest and farthest solid of each pixel [m].
    depth: Vec<(f32, f32)>,
    /// Colour of the strands so far and what still shines through, for each pixel.
    strands: Vec<(Vec3, f32)>,
    order: Vec<(u32, u32)>,
    /// 1 / depth of the farthest sample of each pixel, while grains are drawn.
    farthest: Vec<f32>,
}

impl Canvas {
    fn draw(&mut self, projection: &Projection, stage: &Stage, tile: usize) -> Vec<Vec4> {
        let (x0, y0) = ((tile % projection.columns * TILE) as i32, (tile / projection.columns * TILE) as i32);
        self.draw_solids(projection, stage, tile, x0, y0);
        self.draw_strands(projection, stage, tile, x0, y0);
        (0..TILE * TILE).map(|pixel| self.resolve(stage, pixel, x0, y0)).collect()
    }

    fn draw_solids(&mut self, projection: &Projection, stage: &Stage, tile: usize, x0: i32, y0: i32) {
        self.nearness.clear();
        self.nearness.resize(SAMPLES * SAMPLES, 0.0);
        self.owner.clear();
        self.owner.resize(SAMPLES * SAMPLES, NOTHING);
        if let Some(ground) = &stage.settings.ground {
            // 1 / depth of a plane is linear in the picture: three samples give all.
            let at = |x: usize, y: usize| {
                let (origin, direction) = stage.camera.ray(sample_place(x, y, x0, y0));
                direction.y / (ground.height - origin.y)
            };
            let corner = at(0, 0);
            let last = (SAMPLES - 1) as f32;
            let (dx, dy) = ((at(SAMPLES - 1, 0) - corner) / last, (at(0, SAMPLES - 1) - corner) / last);
            for (i, (nearness, owner)) in self.nearness.iter_mut().zip(&mut self.owner).enumerate() {
                let inverse = corner + dx * (i % SAMPLES) as f32 + dy * (i / SAMPLES) as f32;
                // Beyond 10 km it is the horizon.
                if inverse > 1e-4 {
                    (*nearness, *owner) = (inverse, GROUND);
                }
            }
        }
        let (sx, sy) = (x0 * SIDE as i32, y0 * SIDE as i32);
        let clip = Clip { x0: sx, y0: sy, x1: sx + SAMPLES as i32, y1: sy + SAMPLES as i32 };
        for t in projection.solids.of(tile) {
            let triangle = &projection.triangles[t as usize];
            triangle.visit(clip, |x, y, nearness| {
                let i = (y - sy) as usize * SAMPLES + (x - sx) as usize;
                if nearness > self.nearness[i] {
                    self.nearness[i] = nearness;
                    self.owner[i] = triangle.id;
                }
            });
        }
        self.draw_grains(projection, stage, tile, x0, y0);
        self.depth.clear();
        self.depth.extend((0..TILE * TILE).map(|pixel| {
            let nearness = samples_of(pixel).map(|i| self.nearness[i]);
            let (low, high) = nearness.iter().fold((f32::INFINITY, 0.0_f32), |(l, h), &n| (l.min(n), h.max(n)));
            (1.0 / high.max(1e-9), 1.0 / low.max(1e-9))
        }));
    }

    /// Balls from front to back: a pixel that is nearer already costs one comparison.
    fn draw_grains(&mut self, projection: &Projection, stage: &Stage, tile: usize, x0: i32, y0: i32) {
        let (camera, grains) = (&stage.camera, stage.grains);
        let first = stage.surfaces.triangles.len() as u32;
        self.order.clear();
        self.order.extend(projection.grains.of(tile).map(|i| {
            let depth = camera.project(grains.centres[i as usize]).1 - grains.radii[i as usize];
            (depth.max(NEAR).to_bits(), i)
        }));
        if self.order.is_empty() {
            return;
        }
        self.order.sort_unstable();
        self.farthest.clear();
        let least =
            |nearness: &[f32], pixel| samples_of(pixel).iter().map(|&i| nearness[i]).fold(f32::INFINITY, f32::min);
        self.farthest.extend((0..TILE * TILE).map(|pixel| least(&self.nearness, pixel)));
        for &(depth, i) in &self.order {
            let nearest = 1.0 / f32::from_bits(depth);
            let (centre, radius) = (grains.centres[i as usize], grains.radii[i as usize]);
            let Some((low, high)) = ball::bounds(camera, centre, radius) else { continue };
            let from = (low.floor() - Vec2::new(x0 as f32, y0 as f32)).max(Vec2::ZERO);
            let to = (high.floor() - Vec2::new(x0 as f32, y0 as f32)).min(Vec2::splat((TILE - 1) as f32));
            if to.x < 0.0 || to.y < 0.0 {
                continue;
            }
            for y in from.y as usize..=to.y as usize {
                for x in from.x as usize..=to.x as usize {
                    let pixel = y * TILE + x;
                    if nearest <= self.farthest[pixel] {
                        continue;
                    }
                    let mut changed = false;
                    for i_sample in samples_of(pixel) {
                        let place = sample_place(i_sample % SAMPLES, i_sample / SAMPLES, x0, y0);
                        let (origin, direction) = camera.ray(place);
                        if let Some(depth) = ball::depth(centre, radius, origin, direction)
                            && depth > NEAR
                            && 1.0 / depth > self.nearness[i_sample]
                        {
                            self.nearness[i_sample] = 1.0 / depth;
                            self.owner[i_sample] = first + i;
                            changed = true;
                        }
                    }
                    if changed {
                        self.farthest[pixel] = least(&self.nearness, pixel);
                    }
                }
            }
        }
    }

    fn draw_strands(&mut self, projection: &Projection, stage: &Stage, tile: usize, x0: i32, y0: i32) {
        self.strands.clear();
        self.strands.resize(TILE * TILE, (Vec3::ZERO, 1.0));
        let points = &projection.points;
        let behind_all = self.depth.iter().fold(0.0_f32, |far, &(_, farthest)| far.max(farthest));
        // How much nearer than its middle a segment may begin.
        let mut slack = 0.0_f32;
        self.order.clear();
        self.order.extend(projection.strands.of(tile).filter_map(|i| {
            let (za, zb) = (points[i as usize].1, points[i as usize + 1].1);
            slack = slack.max(0.5 * (za - zb).abs());
            // The bits of positive numbers rise with them.
            (za.min(zb) < behind_all).then(|| ((za + zb).to_bits(), i))
        }));
        // Streaks of drops are numbered after the strands.
        self.order.extend(projection.streaks.of(tile).filter_map(|i| {
            let [za, zb] = projection.drops[i as usize].depths;
            slack = slack.max(0.5 * (za - zb).abs());
            (za.min(zb) < behind_all).then(|| ((za + zb).to_bits(), points.len() as u32 + i))
        }));
        self.order.sort_unstable();
        let clip = Clip { x0, y0, x1: x0 + TILE as i32, y1: y0 + TILE as i32 };
        let mut open = Open::default();
        for &(depth, i) in &self.order {
            let nearest_yet = 0.5 * f32::from_bits(depth) - slack;
            let i = i as usize;
            if i >= points.len() {
                let streak = &projection.drops[i - points.len()];
                let ([za, zb], [ca, cb]) = (streak.depths, streak.colours);
                streak.visit(clip, |x, y, t, covered| {
                    let pixel = (y - y0) as usize * TILE + (x - x0) as usize;
                    let (colour, left) = &mut self.strands[pixel];
                    let covered = covered * free(&self.nearness, self.depth[pixel], pixel, za + (zb - za) * t);
                    if *left >= OPAQUE && covered > 1e-5 {
                        let own = ca.lerp(cb, t);
                        *colour += own.truncate() * (*left * covered);
                        *left *= 1.0 - covered * own.w;
                    }
                });
                continue;
            }
            let ((a, za), (b, zb)) = (points[i], points[i + 1]);
            let half_width = |i: usize, z: f32| stage.curves.radii[i] * stage.camera.pixels_per_metre(z);
            let (wa, wb) = (half_width(i, za), half_width(i + 1, zb));
            let reach = wa.max(wb) + 1.0;
            let corner = Vec2::new(x0 as f32, y0 as f32);
            if !open.any(a.min(b) - reach - corner, a.max(b) + reach - corner) {
                continue;
            }
            let rope = wa.max(wb) > ROPE;
            let mut colours = None;
            strip::visit(a, b, reach, clip, |x, y, t, d| {
                let pixel = (y - y0) as usize * TILE + (x - x0) as usize;
                let (colour, left) = &mut self.strands[pixel];
                if *left < OPAQUE {
                    return;
                }
                let z = za + (zb - za) * t;
                let depth = self.depth[pixel];
                if z > depth.1 {
                    if nearest_yet > depth.1 {
                        open.close(pixel);
                    }
                    return;
                }
                let width = wa + (wb - wa) * t;
                let covered = strip::coverage(d, width) * free(&self.nearness, depth, pixel, z);
                if covered < 1e-5 {
                    return;
                }
                let own = if rope {
                    let across = across(&stage.camera, b - a);
                    stage.rope(i, t, d / width.max(1e-6), across)
                } else {
                    let (ca, cb) = *colours.get_or_insert_with(|| (stage.strand_point(i), stage.strand_point(i + 1)));
                    ca.lerp(cb, t)
                };
                *colour += own * (*left * covered);
                *left *= 1.0 - covered;
                if *left < OPAQUE {
                    open.close(pixel);
                }
            });
            if open.blocks == 0 {
                break;
            }
        }
    }

    /// The colour and opacity of a pixel: strands over solids, ground or sky.
    fn resolve(&self, stage: &Stage, pixel: usize, x0: i32, y0: i32) -> Vec4 {
        let (strands, left) = self.strands[pixel];
        if left < OPAQUE {
            return (strands / (1.0 - left)).extend(1.0);
        }
        let strands = strands.extend(1.0 - left);
        let samples = samples_of(pixel);
        let owner = samples.map(|i| self.owner[i]);
        let (x, y) = (x0 + (pixel % TILE) as i32, y0 + (pixel / TILE) as i32);
        let turn = interleaved_noise(x as u32, y as u32) * TAU;
        // One colour does for a pixel that shows one thing; edges get one for each sample.
        let middle = owner[SIDE * SIDE / 2];
        let thing = Owner::of(middle, stage).thing(stage);
        let (nearest, farthest) = self.depth[pixel];
        let step = (farthest - nearest) * stage.camera.pixels_per_metre(nearest);
        let one = owner.iter().all(|&o| o == middle || Owner::of(o, stage).thing(stage) == thing);
        let behind = if one && (middle >= GROUND || step < EDGE) {
            self.colour(stage, middle, Vec2::new(x as f32 + 0.5, y as f32 + 0.5), turn, left)
        } else {
            self.edges(stage, samples, (x0, y0), turn, left)
        };
        strands + behind * left
    }

    /// The mean colour of samples that show several things: each is looked at a third as often as it has samples.
    fn edges(&self, stage: &Stage, samples: [usize; SIDE * SIDE], (x0, y0): (i32, i32), turn: f32, left: f32) -> Vec4 {
        let things = samples.map(|i| Owner::of(self.owner[i], stage).thing(stage));
        let mut sum = Vec4::ZERO;
        for (k, &thing) in things.iter().enumerate() {
            if things[..k].contains(&thing) {
                continue;
            }
            let mut own = [0; SIDE * SIDE];
            let mut count = 0;
            for (&i, _) in samples.iter().zip(&things).filter(|(_, other)| **other == thing) {
                own[count] = i;
                count += 1;
            }
            let looks = count.div_ceil(SIDE);
            let weight = count as f32 / (looks * SIDE * SIDE) as f32;
            for look in 0..looks {
                let i = own[(2 * look + 1) * count / (2 * looks)];
                let place = sample_place(i % SAMPLES, i / SAMPLES, x0, y0);
                sum += weight * self.colour(stage, self.owner[i], place, turn, left * weight);
            }
        }
        sum
    }

    fn colour(&self, stage: &Stage, owner: u32, place: Vec2, turn: f32, seen: f32) -> Vec4 {
        let (origin, direction) = stage.camera.ray(place);
        let towards = direction.normalize_or(stage.camera.forward);
        match (Owner::of(owner, stage), &stage.settings.ground) {
            (Owner::Nothing, _) | (Owner::Ground, None) => stage.background(direction),
            (Owner::Ground, Some(ground)) => {
                let distance = (ground.height - origin.y) / direction.y;
                stage.ground(ground, origin + direction * distance, direction)
            }
            (Owner::Solid(triangle), _) => match stage.surfaces.hit(triangle, origin, direction) {
                Some((distance, normal)) => {
                    stage.solid(triangle, origin + direction * distance, normal, -towards, turn, seen).extend(1.0)
                }
                None => Vec4::W,
            },
            (Owner::Grain(i), _) => {
                let centre = stage.grains.centres[i];
                // The middle of a pixel may lie just beside a ball that all its samples show.
                let depth = ball::depth(centre, stage.grains.radii[i], origin, direction)
                    .unwrap_or_else(|| (centre - origin).dot(direction) / direction.length_squared());
                let p = origin + direction * depth;
                stage.grain(i, p, (p - centre).normalize_or(-towards), -towards, seen).extend(1.0)
            }
            (Owner::Liquid(triangle), _) => stage.liquid(triangle, origin, towards, turn, seen).extend(1.0),
        }
    }
}

/// The pixels of a tile that farther strands may still change.
struct Open {
    /// A bit for each block with such pixels, row by row.
    blocks: u64,
    /// A bit for each pixel, row by row.
    pixels: [u32; TILE],
}

impl Default for Open {
    fn default() -> Self {
        Self { blocks: u64::MAX, pixels: [u32::MAX; TILE] }
    }
}

impl Open {
    /// Whether there may be some in a box, given from the tile's corner [px].
    #[inline]
    fn any(&self, low: Vec2, high: Vec2) -> bool {
        let block = |x: f32| (x.clamp(0.0, (TILE - 1) as f32) as u32) / BLOCK as u32;
        let (x0, x1, y0, y1) = (block(low.x), block(high.x), block(low.y), block(high.y));
        let columns = (0xff << x0 & 0xff >> (7 - x1)) * 0x0101_0101_0101_0101_u64;
        let rows = u64::MAX << (8 * y0) & u64::MAX >> (8 * (7 - y1));
        self.blocks & columns & rows != 0
    }

    fn close(&mut self, pixel: usize) {
        let (x, y) = (pixel % TILE, pixel / TILE);
        self.pixels[y] &= !(1 << x);
        let (column, row) = (x / BLOCK, y / BLOCK);
        let block = ((1 << BLOCK) - 1) << (column * BLOCK);
        if self.pixels[row * BLOCK..][..BLOCK].iter().all(|line| line & block == 0) {
            self.blocks &= !(1 << (row * 8 + column));
        }
    }
}

/// Share of a pixel's samples whose solids lie behind a depth `z`; they lie between the nearest and the farthest.
#[inline]
fn free(samples: &[f32], (nearest, farthest): (f32, f32), pixel: usize, z: f32) -> f32 {
    if z > farthest {
        0.0
    } else if z > nearest {
        samples_of(pixel).iter().filter(|&&i| samples[i] * z < 1.0).count() as f32 / (SIDE * SIDE) as f32
    } else {
        1.0
    }
}

/// Direction in space that is across a line of the picture, on the side of positive distances.
fn across(camera: &Camera, line: Vec2) -> Vec3 {
    let u = line.normalize_or(Vec2::X);
    // Distance grows along (u.y, -u.x); the picture's y runs down.
    (camera.right() * u.y + camera.up() * u.x).normalize_or(camera.right())
}

/// Samples of a pixel.
fn samples_of(pixel: usize) -> [usize; SIDE * SIDE] {
    let first = pixel / TILE * SIDE * SAMPLES + pixel % TILE * SIDE;
    std::array::from_fn(|k| first + k / SIDE * SAMPLES + k % SIDE)
}

/// Where in the picture a sample lies [px].
fn sample_place(x: usize, y: usize, x0: i32, y0: i32) -> Vec2 {
    let at = |k: usize, start: i32| start as f32 + (k as f32 + 0.5) / SIDE as f32;
    Vec2::new(at(x, x0), at(y, y0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_closed_when_all_blocks_that_it_touches_are() {
        let mut open = Open::default();
        let any = |open: &Open, x: f32, y: f32| open.any(Vec2::new(x - 2.0, y - 1.0), Vec2::new(x + 2.0, y + 1.0));
        // All but the last block of the second row of blocks.
        for pixel in (0..TILE * TILE).filter(|pixel| pixel / TILE / BLOCK == 1 && pixel % TILE < TILE - BLOCK) {
            assert!(any(&open, (pixel % TILE) as f32, (pixel / TILE) as f32));
            open.close(pixel);
        }
        let middle = 1.5 * BLOCK as f32;
        assert!(!any(&open, 10.0, middle) && !any(&open, -5.0, middle));
        assert!(any(&open, 29.0, middle) && any(&open, 10.0, 3.0 * BLOCK as f32) && any(&open, 90.0, middle));
        (0..TILE * TILE).for_each(|pixel| open.close(pixel));
        assert_eq!(open.blocks, 0);
    }
}
