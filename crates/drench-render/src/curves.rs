//! From the strands of a frame to smooth curves: children are interpolated, and each strand is resampled along a
//! Catmull-Rom spline with as many points as the picture can show.

use crate::camera::Camera;
use crate::fibre::water::Water;
use crate::strands::{Nodes, Strands, lot};
use crate::{HairLook, RenderError, Settings, tubes};
use drench_io::Frame;
use drench_math::random::Stream;
use glam::Vec3;
use rayon::prelude::*;

/// Most curve points of one picture: about 2 GB.
pub(crate) const POINT_LIMIT: u64 = 60_000_000;
/// Strands a parallel chunk holds.
const CHUNK: usize = 1024;
/// Chunks that are read before they are put together.
const GROUP: usize = 64;

/// How closely curves are drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detail {
    /// Distance between curve and chord [px].
    pub tolerance: f32,
    /// Width below which a few wider strands stand for many [px].
    pub thinnest: f32,
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
    /// From 0 to 1, even over all strands, and the same in every frame: the first part of them may stand for all.
    pub rank: f32,
}

impl Strand {
    /// The points that begin its segments.
    pub fn segments(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.count.max(1) - 1) as usize
    }
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

    /// How many strands this one stands for where strands are drawn at least `thinnest` wide [m]; nothing if another
    /// stands for it [Cook2007].
    pub fn stands_for(&self, strand: &Strand, thinnest: f32) -> Option<f32> {
        let width = 2.0 * self.radii[(strand.first + strand.count / 2) as usize];
        let share = share(width / thinnest);
        (strand.rank < share).then(|| 1.0 / share)
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
            let source = Strands::new(body, frame, looks[look].width)?;
            self.append(&source, look as u32, stream.child(look as u64), camera, detail)?;
        }
        if !self.water.is_empty() {
            self.water.resize(self.positions.len(), Water::NONE);
        }
        Ok(())
    }

    fn append(
        &mut self,
        source: &Strands,
        look: u32,
        stream: Stream,
        camera: &Camera,
        detail: Detail,
    ) -> Result<(), RenderError> {
        let chunks = source.len().div_ceil(CHUNK);
        if source.gets_wet() {
            self.water.resize(self.positions.len(), Water::NONE);
        }
        // In groups, so that not all points are held twice.
        for group in (0..chunks).step_by(GROUP) {
            let read = |chunk: usize| Chunk::read(source, chunk, stream, camera, detail);
            let group: Vec<Chunk> = (group..chunks.min(group + GROUP)).into_par_iter().map(read).collect();
            let needed = (self.positions.len() + group.iter().map(|chunk| chunk.positions.len()).sum::<usize>()) as u64;
            if needed > POINT_LIMIT {
                return Err(RenderError::TooManyPoints { points: needed, limit: POINT_LIMIT });
            }
            for chunk in &group {
                let mut first = self.positions.len() as u32;
                for &(strand, count, rank) in &chunk.strands {
                    let random = stream.bits(source.identity(strand));
                    let lock = stream.bits(source.lock(strand));
                    self.strand.resize((first + count) as usize, self.strands.len() as u32);
                    self.strands.push(Strand { first, count, look, random, lock, rank });
                    first += count;
                }
                self.positions.extend_from_slice(&chunk.positions);
                self.radii.extend_from_slice(&chunk.radii);
                self.water.extend_from_slice(&chunk.water);
                self.skipped += chunk.skipped;
            }
        }
        Ok(())
    }
}

/// The curves of some strands.
#[derive(Default)]
struct Chunk {
    /// Number of the strand in its groom, number of points, rank.
    strands: Vec<(usize, u32, f32)>,
    positions: Vec<Vec3>,
    radii: Vec<f32>,
    water: Vec<Water>,
    skipped: u64,
}

impl Chunk {
    fn read(source: &Strands, chunk: usize, stream: Stream, camera: &Camera, detail: Detail) -> Self {
        let (mut out, mut nodes) = (Self::default(), Nodes::default());
        for strand in chunk * CHUNK..((chunk + 1) * CHUNK).min(source.len()) {
            let lot = lot(stream.bits(source.identity(strand)));
            let share = source.middle(strand).map_or(1.0, |(p, radius)| {
                // Behind the camera it is still needed for its shadow.
                let scale = camera.pixels_per_metre(camera.project(p).1.abs());
                share(2.0 * radius * scale / detail.thinnest)
            });
            // Others stand for it. What is not a number is looked at below.
            if lot >= share {
                continue;
            }
            source.read(strand, &mut nodes);
            if !nodes.drawable() {
                out.skipped += 1;
                continue;
            }
            if strand < source.simulated() && nodes.is_tube(camera) {
                continue;
            }
            let count = nodes.points_needed(camera, detail);
            out.strands.push((strand, count, lot / share));
            nodes.resample(count as usize, 1.0 / share, &mut out.positions, &mut out.radii);
            if !nodes.water.is_empty() {
                nodes.resample_water(count as usize, &mut out.water);
            }
        }
        out
    }
}

impl Nodes {
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
        let by_length = length * scale * (1.0 + self.coat()) / 16.0;
        by_bend.max(by_length).ceil().clamp(2.0, 8.0 * spans) as u32 + 1
    }

    /// Points at even parameters of the Catmull-Rom spline through the vertices.
    fn resample(&self, count: usize, width: f32, positions: &mut Vec<Vec3>, radii: &mut Vec<f32>) {
        let p = &self.positions;
        let last = p.len() - 1;
        for k in 0..count {
            let (i, t) = span(k, count, last);
            // The neighbours of the ends are mirrored: the spline's end spans keep their direction.
            let before = if i > 0 { p[i - 1] } else { 2.0 * p[0] - p[1] };
            let after = if i + 2 <= last { p[i + 2] } else { 2.0 * p[last] - p[last - 1] };
            positions.push(catmull_rom(before, p[i], p[i + 1], after, t));
            radii.push((self.radii[i] + (self.radii[i + 1] - self.radii[i]) * t) * width);
        }
    }

    /// The water at the points of [`Self::resample`].
    fn resample_water(&self, count: usize, water: &mut Vec<Water>) {
        let last = self.water.len() - 1;
        water.extend((0..count).map(|k| {
            let (i, t) = span(k, count, last);
            self.water[i].lerp(self.water[i + 1], t)
        }));
    }
}

/// The span of a strand, whose last vertex is number `last`, and the place in it of point `k` of `count`.
fn span(k: usize, count: usize, last: usize) -> (usize, f32) {
    let s = k as f32 * last as f32 / (count - 1) as f32;
    let i = (s as usize).min(last - 1);
    (i, s - i as f32)
}

/// Share of strands such as one that are drawn, each wider by its inverse, if it has this part of the least width: where
/// many strands share a pixel, a few stand for all [Cook2007]. Changes smoothly as a strand comes nearer.
fn share(width: f32) -> f32 {
    width.clamp(0.1, 1.0)
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
    use drench_io::{Attribute, ChildStrands, Domain, SolidBody, StrandBody, Values};

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
    fn few_strands_stand_for_all_with_the_same_area() {
        let count = 4_000_u32;
        let positions = (0..count).flat_map(|i| [[i as f32 * 1e-5, 0.0, 0.0], [i as f32 * 1e-5, 0.05, 0.0]]).collect();
        let frame = frame(positions, (0..=count).map(|i| 2 * i).collect());
        // As many as are drawn, of which a part stands for all.
        for thinnest in [1e-9, 0.1] {
            let curves = gather(&frame, Detail { thinnest, ..FINE }).unwrap();
            let width = |strand: &Strand| 2.0 * curves.radii[strand.first as usize + 1];
            let all: f32 = curves.strands.iter().map(width).sum();
            let least = 3.0 * width(&curves.strands[0]);
            let few: Vec<f32> =
                curves.strands.iter().filter_map(|s| Some(width(s) * curves.stands_for(s, least)?)).collect();
            assert!(few.len() < curves.strands.len() / 2 && few.len() > curves.strands.len() / 5);
            assert!((few.iter().sum::<f32>() / all - 1.0).abs() < 0.1, "{} {all}", few.iter().sum::<f32>());
        }
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
