//! From the strands of a frame to smooth curves: children are interpolated, and each strand is resampled along a
//! Catmull-Rom spline with as many points as the picture can show.

use crate::camera::Camera;
use crate::fibre::water::{Water, Wetness, per_vertex};
use crate::{HairLook, RenderError, Settings, tubes};
use drench_geometry::groom::children;
use drench_io::{Domain, Frame, SolidBody, StrandBody, Values};
use drench_math::random::{Stream, mix};
use glam::Vec3;
use rayon::prelude::*;

/// Most curve points of one picture: about 2 GB.
pub(crate) const POINT_LIMIT: u64 = 60_000_000;
/// Radius of strands that carry none [m]: human hair.
const DEFAULT_RADIUS: f32 = 35e-6;
/// Strands a parallel chunk holds.
const CHUNK: usize = 1024;

/// How near wet children lie to their nearest guide at the tip: what is left of their distance from it.
const CLUMP: f32 = 0.1;
/// One of so many children leaves the lock.
const STRAYS: u64 = 14;

/// In place of a number of points: the strand cannot be drawn.
const UNDRAWABLE: u32 = u32::MAX;

/// How closely curves are drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detail {
    /// Distance between curve and chord [px].
    pub tolerance: f32,
    /// Width below which a few wider strands stand for many [px].
    pub thinnest: f32,
}

/// A number from 0 to 1 that has nothing to do with the strand's other random traits.
fn lot(random: u64) -> f32 {
    (mix(random ^ 0x5bf0_3635) >> 40) as f32 / (1u64 << 24) as f32
}

/// All curves of a picture, flat. Points of the same strand follow each other, so point `i` begins a segment if
/// point `i + 1` belongs to the same strand.
#[derive(Default)]
pub(crate) struct Curves {
    pub positions: Vec<Vec3>,
    pub radii: Vec<f32>,
    pub strand: Vec<u32>,
    /// Water at each point, or nothing at all if all strands are dry.
    water: Vec<Water>,
    pub strands: Vec<Strand>,
    /// Strands that were left out because a coordinate is not finite.
    pub skipped: u64,
    points: Vec<u32>,
}

/// What the points of one strand share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strand {
    /// First point.
    pub first: u32,
    /// Number of points.
    pub count: u32,
    /// Index of the groom's look.
    pub look: u32,
    /// Random bits that are the same in every frame.
    pub random: u64,
    /// The same of its nearest guide, or its own if it is simulated.
    pub lock: u64,
}

impl Curves {
    /// Whether point `i` begins a segment.
    #[inline]
    pub fn begins_segment(&self, i: usize) -> bool {
        i + 1 < self.strand.len() && self.strand[i] == self.strand[i + 1]
    }

    /// Unit tangent at point `i`, from root to tip, by central differences [Henne2013, 5.2].
    #[inline]
    pub fn tangent(&self, i: usize) -> Vec3 {
        let strand = &self.strands[self.strand[i] as usize];
        let (first, last) = (strand.first as usize, (strand.first + strand.count - 1) as usize);
        let (a, b) = (i.saturating_sub(1).max(first), (i + 1).min(last));
        (self.positions[b] - self.positions[a]).try_normalize().unwrap_or(Vec3::Y)
    }

    /// Water at point `i`.
    #[inline]
    pub fn water(&self, i: usize) -> Water {
        self.water.get(i).copied().unwrap_or(Water::NONE)
    }

    /// Position of point `i` along its strand, 0 root to 1 tip.
    #[inline]
    pub fn along(&self, i: usize) -> f32 {
        let strand = &self.strands[self.strand[i] as usize];
        (i as u32 - strand.first) as f32 / (strand.count - 1).max(1) as f32
    }

    /// Reads the strands of `frame`; `looks[i]` is the look of groom `i`.
    pub fn gather(
        &mut self,
        frame: &Frame,
        settings: &Settings,
        looks: &[HairLook],
        camera: &Camera,
        detail: Detail,
    ) -> Result<(), RenderError> {
        self.positions.clear();
        self.radii.clear();
        self.strand.clear();
        self.water.clear();
        self.strands.clear();
        self.skipped = 0;
        let stream = Stream::new(settings.seed, "strand look");
        for (look, body) in frame.strands.iter().enumerate() {
            let source = Source::new(body, frame, looks[look].width)?;
            self.append(&source, look as u32, stream.child(look as u64), camera, detail)?;
        }
        if !self.water.is_empty() {
            self.water.resize(self.positions.len(), Water::NONE);
        }
        Ok(())
    }

    fn append(
        &mut self,
        source: &Source,
        look: u32,
        stream: Stream,
        camera: &Camera,
        detail: Detail,
    ) -> Result<(), RenderError> {
        let count = source.len();
        // Pass 1: how many points each strand needs; none for those that others stand for.
        self.points.clear();
        self.points.resize(count, 0);
        self.points.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, points)| {
            let mut nodes = Nodes::default();
            for (k, points) in points.iter_mut().enumerate() {
                source.read(chunk * CHUNK + k, &mut nodes);
                *points = if !nodes.drawable() {
                    UNDRAWABLE
                } else if chunk * CHUNK + k < source.strands && nodes.is_tube(camera) {
                    0
                } else if lot(stream.bits(source.identity(chunk * CHUNK + k))) < nodes.share(camera, detail) {
                    nodes.points_needed(camera, detail)
                } else {
                    0
                };
            }
        });
        self.skipped += self.points.iter().filter(|&&n| n == UNDRAWABLE).count() as u64;
        self.points.iter_mut().filter(|n| **n == UNDRAWABLE).for_each(|n| *n = 0);
        let needed = self.positions.len() as u64 + self.points.iter().map(|&n| u64::from(n)).sum::<u64>();
        if needed > POINT_LIMIT {
            return Err(RenderError::TooManyPoints { points: needed, limit: POINT_LIMIT });
        }
        // Pass 2: every chunk of strands fills its own part of the arrays.
        let start = self.positions.len();
        self.positions.resize(needed as usize, Vec3::ZERO);
        self.radii.resize(needed as usize, 0.0);
        self.strand.resize(needed as usize, 0);
        if source.wetness.is_some() {
            self.water.resize(needed as usize, Water::NONE);
        }
        let mut first = start as u32;
        let mut chunks = Vec::with_capacity(count.div_ceil(CHUNK));
        let (mut positions, mut radii, mut ids) =
            (&mut self.positions[start..], &mut self.radii[start..], &mut self.strand[start..]);
        let mut water = self.water.get_mut(start..).filter(|_| source.wetness.is_some()).unwrap_or_default();
        for (chunk, points) in self.points.chunks(CHUNK).enumerate() {
            let id = self.strands.len() as u32;
            for (k, &n) in points.iter().enumerate() {
                if n == 0 {
                    continue;
                }
                let random = stream.bits(source.identity(chunk * CHUNK + k));
                let lock = stream.bits(source.lock(chunk * CHUNK + k));
                self.strands.push(Strand { first, count: n, look, random, lock });
                first += n;
            }
            let total = points.iter().sum::<u32>() as usize;
            let (p, rest) = positions.split_at_mut(total);
            positions = rest;
            let (r, rest) = radii.split_at_mut(total);
            radii = rest;
            let (s, rest) = ids.split_at_mut(total);
            ids = rest;
            let (w, rest) = water.split_at_mut(total.min(water.len()));
            water = rest;
            chunks.push((chunk, id, points, p, r, s, w));
        }
        chunks.into_par_iter().for_each(|(chunk, mut id, points, positions, radii, ids, water)| {
            let mut nodes = Nodes::default();
            let mut at = 0;
            for (k, &n) in points.iter().enumerate() {
                if n == 0 {
                    continue;
                }
                let end = at + n as usize;
                source.read(chunk * CHUNK + k, &mut nodes);
                nodes.resample(&mut positions[at..end], &mut radii[at..end], 1.0 / nodes.share(camera, detail));
                if let Some(water) = water.get_mut(at..end) {
                    nodes.resample_water(water);
                }
                ids[at..end].fill(id);
                id += 1;
                at = end;
            }
        });
        Ok(())
    }
}

/// Strands of a groom as pictures show them, children among them, at the vertices that were simulated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DrawnStrands {
    /// First vertex of each strand, and the vertex count at the end.
    pub offsets: Vec<u32>,
    /// Vertex positions in the world [m].
    pub positions: Vec<[f32; 3]>,
    /// Radius at each vertex, with the film of water around it [m].
    pub radii: Vec<f32>,
    /// The simulated vertex whose values each vertex has: its own, or that of a child's nearest guide.
    pub sources: Vec<u32>,
    /// Number of each strand; children follow the simulated strands.
    pub numbers: Vec<u32>,
    /// How many strands there are, those that were not asked for included.
    pub total: usize,
}

impl DrawnStrands {
    /// The strands of `body`, a groom of `frame`: one of every `share`. Strands that cannot be drawn are left out.
    pub fn gather(frame: &Frame, body: &StrandBody, children: bool, share: usize) -> Result<Self, RenderError> {
        let source = Source::new(body, frame, 1.0)?;
        let total = if children { source.len() } else { source.strands };
        let chosen: Vec<u32> = (0..total as u32).step_by(share.max(1)).collect();
        let parts = chosen.par_chunks(CHUNK).map(|chunk| {
            let (mut part, mut nodes) = (Self::default(), Nodes::default());
            for &number in chunk {
                source.read(number as usize, &mut nodes);
                if nodes.drawable() {
                    part.offsets.push(nodes.positions.len() as u32);
                    part.positions.extend(nodes.positions.iter().map(|p| p.to_array()));
                    part.radii.extend(&nodes.radii);
                    let first = source.range(source.followed(number as usize)).start as u32;
                    part.sources.extend(first..first + nodes.positions.len() as u32);
                    part.numbers.push(number);
                }
            }
            part
        });
        let mut all = Self { offsets: vec![0], total, ..Self::default() };
        for part in parts.collect::<Vec<_>>() {
            for count in part.offsets {
                all.offsets.push(all.offsets.last().unwrap_or(&0) + count);
            }
            all.positions.extend(part.positions);
            all.radii.extend(part.radii);
            all.sources.extend(part.sources);
            all.numbers.extend(part.numbers);
        }
        Ok(all)
    }
}

/// The strands of one groom, simulated and interpolated, each to be read by its number.
struct Source<'a> {
    body: &'a StrandBody,
    strands: usize,
    radius: Option<&'a [f32]>,
    ids: Option<&'a [u32]>,
    wetness: Option<Wetness<'a>>,
    skin: Option<&'a SolidBody>,
    children: usize,
    width: f32,
}

impl<'a> Source<'a> {
    fn new(body: &'a StrandBody, frame: &'a Frame, width: f32) -> Result<Self, RenderError> {
        let malformed = |reason| RenderError::Malformed { body: body.name.clone(), reason };
        let strands = body.offsets.len().saturating_sub(1);
        if body.offsets.windows(2).any(|w| w[0] > w[1]) {
            return Err(malformed("its offsets fall"));
        }
        if strands > 0 && *body.offsets.last().unwrap_or(&0) as usize > body.positions.len() {
            return Err(malformed("its offsets lead past its last position"));
        }
        let (radius, wetness) = (per_vertex(body, "radius"), Wetness::of(body));
        let ids = match body.attributes.get("id").map(|a| (a.domain, &a.values)) {
            Some((Domain::Strand, Values::U32(values))) if values.len() == strands => Some(&values[..]),
            _ => None,
        };
        let skin = body.children.as_ref().and_then(|c| frame.solids.iter().find(|solid| solid.name == c.solid));
        let mut children = 0;
        if let Some(c) = &body.children {
            children = c.triangles.len();
            let lengths = [c.barycentric.len(), c.guides.len(), c.weights.len(), c.length_ratio.len()];
            if lengths.iter().any(|&n| n != children) {
                return Err(malformed("the arrays of its children differ in length"));
            }
            if children > 0 && skin.is_none() {
                return Err(malformed("its children stand on a solid that the frame does not hold"));
            }
            if c.guides.iter().flatten().any(|&g| g as usize >= strands) {
                return Err(malformed("a child follows a strand that does not exist"));
            }
            if skin.is_some_and(|skin| c.triangles.iter().any(|&t| t as usize >= skin.triangles.len())) {
                return Err(malformed("a child stands on a triangle that does not exist"));
            }
        }
        Ok(Self { body, strands, radius, ids, wetness, skin, children, width })
    }

    fn len(&self) -> usize {
        self.strands + self.children
    }

    /// A number that stays with the strand from frame to frame.
    fn identity(&self, strand: usize) -> u64 {
        match self.ids {
            Some(ids) if strand < self.strands => u64::from(ids[strand]),
            _ if strand < self.strands => strand as u64,
            _ => (1 << 32) + (strand - self.strands) as u64,
        }
    }

    /// The simulated strand that this one follows most closely: itself, or a child's nearest guide.
    fn followed(&self, strand: usize) -> usize {
        let guide = self.body.children.as_ref().and_then(|c| c.guides.get(strand.checked_sub(self.strands)?));
        guide.map_or(strand, |guides| guides[0] as usize)
    }

    /// The identity of the simulated strand that this one follows.
    fn lock(&self, strand: usize) -> u64 {
        self.identity(self.followed(strand))
    }

    fn read(&self, strand: usize, nodes: &mut Nodes) {
        nodes.positions.clear();
        nodes.radii.clear();
        nodes.water.clear();
        if strand < self.strands {
            nodes.positions.extend(self.range(strand).map(|i| Vec3::from(self.body.positions[i])));
            self.read_hair(strand, nodes);
        } else {
            self.read_child(strand - self.strands, nodes);
        }
    }

    fn range(&self, strand: usize) -> std::ops::Range<usize> {
        self.body.offsets[strand] as usize..self.body.offsets[strand + 1] as usize
    }

    fn radius_at(&self, strand: usize, i: usize) -> f32 {
        let taper = || {
            let range = self.range(strand);
            let s = (i - range.start) as f32 / (range.len() - 1).max(1) as f32;
            DEFAULT_RADIUS * (1.0 - 0.7 * s)
        };
        self.radius.map_or_else(taper, |r| r[i])
    }

    /// What the vertices of a simulated strand are like: how thick, with the film around them, and how wet.
    fn read_hair(&self, strand: usize, nodes: &mut Nodes) {
        for i in self.range(strand) {
            let radius = self.radius_at(strand, i);
            let film = self.wetness.map_or(0.0, |wetness| wetness.film(i));
            nodes.radii.push((radius + film) * self.width);
            nodes.water.extend(self.wetness.map(|wetness| wetness.at(i, radius)));
        }
    }

    /// A child stands on its own skin point and follows its guides; it is as thick and as wet as the nearest of them.
    fn read_child(&self, child: usize, nodes: &mut Nodes) {
        let (Some(c), Some(skin)) = (&self.body.children, self.skin) else { return };
        let corner = |v: u32| skin.positions.get(v as usize).map_or(Vec3::NAN, |&p| Vec3::from(p));
        let [a, b, d] = skin.triangles[c.triangles[child] as usize].map(corner);
        let [u, v] = c.barycentric[child];
        let root = a * (1.0 - u - v) + b * u + d * v;
        let guides = c.guides[child].map(|guide| &self.body.positions[self.range(guide as usize)]);
        nodes.positions.extend(children::follow(guides, c.weights[child], c.length_ratio[child], root));
        let nearest = c.guides[child][0] as usize;
        self.read_hair(nearest, nodes);
        nodes.cling(guides[0], c.length_ratio[child], mix(self.identity(self.strands + child)));
    }
}

/// The vertices of one strand.
#[derive(Default)]
struct Nodes {
    positions: Vec<Vec3>,
    radii: Vec<f32>,
    /// Empty if the groom is dry.
    water: Vec<Water>,
}

impl Nodes {
    /// Draws a wet child to its guide, the more the farther from the root: a guide with its children is a lock that
    /// tapers. `ratio` is the child's length over that of its guides.
    fn cling(&mut self, guide: &[[f32; 3]], ratio: f32, random: u64) {
        let last = guide.len().saturating_sub(1);
        // Locks have a thickness, and some hairs stand off.
        let loose = if random.is_multiple_of(STRAYS) { 0.6 } else { 0.25 * lot(random) };
        let most = (1.0 - CLUMP) * (1.0 - loose);
        for (i, (p, water)) in self.positions.iter_mut().zip(&self.water).enumerate() {
            let left = 1.0 - i as f32 / last.max(1) as f32;
            let place = (i as f32 * ratio).min(last as f32);
            let low = (place as usize).min(last.saturating_sub(1));
            let high = (low + 1).min(last);
            let target = Vec3::from(guide[low]).lerp(Vec3::from(guide[high]), place - low as f32);
            *p = p.lerp(target, most * water.coat * (1.0 - left * left * left));
        }
    }

    /// How far a film covers it at most.
    fn coat(&self) -> f32 {
        self.water.iter().fold(0.0, |most, water| water.coat.max(most))
    }

    fn drawable(&self) -> bool {
        let finite = |p: &Vec3| p.is_finite() && p.abs().max_element() < 1e9;
        self.positions.len() >= 2
            && self.positions.iter().all(finite)
            && self.radii.iter().all(|r| r.is_finite() && *r >= 0.0)
    }

    /// Whether it is drawn as a surface instead of a curve.
    fn is_tube(&self, camera: &Camera) -> bool {
        let middle = self.positions.len() / 2;
        tubes::is_tube(self.positions[middle], self.radii[middle], camera)
    }

    /// Pixels per metre at the strand's middle. Behind the camera it is still needed for its shadow.
    fn scale(&self, camera: &Camera) -> f32 {
        let (_, depth) = camera.project(self.positions[self.positions.len() / 2]);
        camera.pixels_per_metre(depth.abs())
    }

    /// Share of strands such as this one that are drawn, each wider by its inverse: where many strands share a pixel,
    /// a few stand for all [Cook2007]. Changes smoothly as the strand comes nearer.
    fn share(&self, camera: &Camera, detail: Detail) -> f32 {
        let width = 2.0 * self.radii[self.radii.len() / 2] * self.scale(camera);
        (width / detail.thinnest).clamp(0.1, 1.0)
    }

    /// Points that show the curve closely enough.
    fn points_needed(&self, camera: &Camera, detail: Detail) -> u32 {
        let p = &self.positions;
        let scale = self.scale(camera);
        let length: f32 = p.windows(2).map(|w| w[0].distance(w[1])).sum();
        // A chord of one span leaves the curve by an eighth of the second difference; of h spans by h^2 times that.
        let bend = p.windows(3).map(|w| (w[0] - 2.0 * w[1] + w[2]).length()).fold(0.0, f32::max) * scale / 8.0;
        let spans = (p.len() - 1) as f32;
        let by_bend = spans * (bend / detail.tolerance).sqrt();
        // Highlights on wet strands are short.
        let by_length = length * scale * (1.0 + self.coat()) / 12.0;
        by_bend.max(by_length).ceil().clamp(2.0, 8.0 * spans) as u32 + 1
    }

    /// Points at even parameters of the Catmull-Rom spline through the vertices.
    fn resample(&self, positions: &mut [Vec3], radii: &mut [f32], width: f32) {
        let p = &self.positions;
        let last = p.len() - 1;
        let segments = positions.len() - 1;
        for (k, (position, radius)) in positions.iter_mut().zip(radii).enumerate() {
            let s = k as f32 * last as f32 / segments as f32;
            let i = (s as usize).min(last - 1);
            let t = s - i as f32;
            // The neighbours of the ends are mirrored: the spline's end spans keep their direction.
            let before = if i > 0 { p[i - 1] } else { 2.0 * p[0] - p[1] };
            let after = if i + 2 <= last { p[i + 2] } else { 2.0 * p[last] - p[last - 1] };
            *position = catmull_rom(before, p[i], p[i + 1], after, t);
            *radius = (self.radii[i] + (self.radii[i + 1] - self.radii[i]) * t) * width;
        }
    }

    /// The water at the points of [`Self::resample`].
    fn resample_water(&self, water: &mut [Water]) {
        let last = self.water.len() - 1;
        let segments = water.len() - 1;
        for (k, water) in water.iter_mut().enumerate() {
            let s = k as f32 * last as f32 / segments as f32;
            let i = (s as usize).min(last - 1);
            *water = self.water[i].lerp(self.water[i + 1], s - i as f32);
        }
    }
}

/// The cubic through `b` (t = 0) and `c` (t = 1) whose tangents are half the chords of the neighbours.
fn catmull_rom(a: Vec3, b: Vec3, c: Vec3, d: Vec3, t: f32) -> Vec3 {
    let (m0, m1) = (0.5 * (c - a), 0.5 * (d - b));
    let (t2, t3) = (t * t, t * t * t);
    b * (2.0 * t3 - 3.0 * t2 + 1.0) + m0 * (t3 - 2.0 * t2 + t) + c * (3.0 * t2 - 2.0 * t3) + m1 * (t3 - t2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::View;
    use drench_io::{Attribute, ChildStrands};

    const FINE: Detail = Detail { tolerance: 0.1, thinnest: 1e-9 };

    fn gather(frame: &Frame, detail: Detail) -> Result<Curves, RenderError> {
        let camera = Camera::new(&View::default(), 640, 360)?;
        let mut curves = Curves::default();
        curves.gather(frame, &Settings::default(), &[HairLook::default()], &camera, detail)?;
        Ok(curves)
    }

    fn frame(positions: Vec<[f32; 3]>, offsets: Vec<u32>) -> Frame {
        let body = StrandBody { name: "hair".into(), positions, offsets, ..StrandBody::default() };
        Frame { strands: vec![body], ..Frame::default() }
    }

    #[test]
    fn curves_pass_through_the_ends_and_near_the_vertices() {
        let arc: Vec<[f32; 3]> =
            (0..9).map(|i| (i as f32 * 0.2).sin_cos()).map(|(s, c)| [0.1 * s, 0.1 * c, 0.0]).collect();
        let curves = gather(&frame(arc.clone(), vec![0, 9]), FINE).unwrap();
        let p = &curves.positions;
        assert_eq!(p[0], Vec3::from(arc[0]));
        assert!(p[p.len() - 1].distance(Vec3::from(arc[8])) < 1e-6);
        assert!(p.len() > 9);
        // The end spans are half as bent as the circle; the sagitta of a span is 5e-4.
        assert!(p.iter().all(|p| (p.length() - 0.1).abs() < 3e-4), "{p:?}");
    }

    #[test]
    fn bad_strands_are_counted_and_left_out() {
        let positions = vec![[0.0; 3], [0.1, 0.0, 0.0], [f32::NAN; 3], [0.0; 3], [0.0, 0.1, 0.0]];
        let curves = gather(&frame(positions.clone(), vec![0, 2, 4, 5]), FINE).unwrap();
        assert_eq!((curves.strands.len(), curves.skipped), (1, 2));
        assert!(gather(&frame(positions.clone(), vec![0, 9]), FINE).is_err());
        assert!(gather(&frame(positions, vec![3, 0]), FINE).is_err());
    }

    #[test]
    fn a_share_of_thin_strands_keeps_the_covered_area() {
        let count = 20_000_u32;
        let positions = (0..count).flat_map(|i| [[i as f32 * 1e-5, 0.0, 0.0], [i as f32 * 1e-5, 0.05, 0.0]]).collect();
        let frame = frame(positions, (0..=count).map(|i| 2 * i).collect());
        let area = |curves: &Curves| {
            (0..curves.positions.len())
                .filter(|&i| curves.begins_segment(i))
                .map(|i| {
                    curves.positions[i].distance(curves.positions[i + 1]) * (curves.radii[i] + curves.radii[i + 1])
                })
                .sum::<f32>()
        };
        let all = gather(&frame, FINE).unwrap();
        let few = gather(&frame, Detail { thinnest: 0.1, ..FINE }).unwrap();
        assert!(few.strands.len() < all.strands.len() / 2);
        assert!((area(&few) / area(&all) - 1.0).abs() < 0.05, "{}", area(&few) / area(&all));
    }

    #[test]
    fn children_follow_their_guides_and_the_skin() {
        let mut frame = frame(vec![[0.0; 3], [0.0, 0.1, 0.0], [1.0, 0.0, 0.0], [1.0, 0.1, 0.0]], vec![0, 2, 4]);
        frame.solids.push(SolidBody {
            name: "skin".into(),
            positions: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
            triangles: vec![[0, 1, 2]],
            normals: Vec::new(),
            ..SolidBody::default()
        });
        frame.strands[0].children = Some(ChildStrands {
            solid: "skin".into(),
            triangles: vec![0],
            barycentric: vec![[0.5, 0.25]],
            guides: vec![[0, 1, 1]],
            weights: vec![[0.5, 0.5, 0.0]],
            length_ratio: vec![0.5],
        });
        let curves = gather(&frame, FINE).unwrap();
        let child = curves.strands[2];
        let at = |i: u32| curves.positions[i as usize];
        assert!(at(child.first).distance(Vec3::new(0.5, 0.0, 0.25)) < 1e-6);
        assert!(at(child.first + child.count - 1).distance(Vec3::new(0.5, 0.05, 0.25)) < 1e-6);
        assert_eq!((child.lock, curves.strands[0].lock), (curves.strands[0].random, curves.strands[0].random));
        // Wet, it is thicker and lies with the tip at its nearest guide.
        assert!(curves.water.is_empty());
        let per_vertex = |x: f32| Attribute { domain: Domain::Vertex, values: Values::F32(vec![x; 4]) };
        for (name, value) in [("radius", 35e-6), ("fibre_water", 1.0), ("film", 20e-6)] {
            frame.strands[0].attributes.insert(name.into(), per_vertex(value));
        }
        let wet = gather(&frame, FINE).unwrap();
        let (child, tip) = (wet.strands[2], wet.positions.len() - 1);
        assert!(wet.positions[child.first as usize].distance(Vec3::new(0.5, 0.0, 0.25)) < 1e-6);
        let away = |p: Vec3| p.with_y(0.0).length();
        assert!(away(wet.positions[tip]) < 0.7 * away(curves.positions[curves.positions.len() - 1]));
        assert!((wet.radii[tip] - 55e-6).abs() < 1e-9 && wet.water(tip).coat > 0.9 && wet.water(tip).inside == 1.0);
        frame.strands[0].children.as_mut().unwrap().guides[0][0] = 7;
        assert!(gather(&frame, FINE).is_err());
    }
}
