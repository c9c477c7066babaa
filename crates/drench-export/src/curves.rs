//! From the strands of a frame to curves with the attributes that drive a wet look.
//!
//! | attribute | of | |
//! |---|---|---|
//! | `velocity` | vertex | [m/s]; a child moves like its nearest guide |
//! | `width` | vertex | diameter as drawn: fibre and film, times the scene's `shade.width` [m] |
//! | `wetness` | vertex | water held over what fits, 0 to 1 |
//! | `film` | vertex | thickness of the film around the fibre [m] |
//! | `fibre_water` | vertex | how full the fibre is, 0 to 1 |
//! | `wet_spec`, `wet_dark` | vertex | gloss and darkness that dry in their own time, see [`crate::memory`] |
//! | `rest` | vertex | where the vertex is in the run's first frame [m] |
//! | `id` | strand | stays with the strand; children follow after the simulated ones |
//! | `guide` | strand | the simulated strand that it follows, or is |
//! | `root_uv` | strand | texture coordinates of the root, if the skin has them |
//! | `clump_id` | strand | leader of its clump, see [`crate::clumps`] |
//! | `mean_wetness` | strand | mean over its vertices |
//!
//! Ropes have `tension` [N], `twist` [rad] and `normal` too.

use crate::clumps::clumps;
use crate::memory::Memory;
use crate::moment::Curves;
use drench_io::{Attribute, Domain, Frame, StrandBody, Values};
use drench_render::strands::{Nodes, Strands};
use drench_render::{RenderError, Water};
use glam::Vec2;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Strands a parallel chunk holds.
const CHUNK: usize = 256;
/// Texture coordinates of guides farther apart than this lie on two sides of a seam.
const SEAM: f32 = 0.1;

/// What one body of strands keeps from frame to frame.
#[derive(Clone, Debug, Default)]
pub struct Groom {
    /// Multiplier of the drawn width.
    pub width: f32,
    /// Gap across which its wet strands cling to each other [m].
    pub reach: f32,
    memory: Memory,
    /// Vertices of the simulated strands in the first frame, and where each strand's begin.
    rest: Vec<[f32; 3]>,
    rest_offsets: Vec<u32>,
    /// Vertices of the curves in the first frame, children included.
    shown: Vec<[f32; 3]>,
}

impl Groom {
    /// A body that is drawn `width` times as thick as it is and whose wet strands cling across `reach` [m].
    pub fn new(width: f32, reach: f32) -> Self {
        Self { width, reach, ..Self::default() }
    }

    /// Takes a frame in without showing it: what dries and what is at rest depends on all frames before.
    pub fn see(&mut self, body: &StrandBody, frame: &Frame, children: bool) -> Result<(), RenderError> {
        let strands = Strands::new(body, frame, self.width)?;
        if strands.gets_wet() {
            self.remember(frame.time, &strands);
        }
        if self.rest_offsets.is_empty() {
            let numbers = numbers(&strands, children);
            (self.rest, self.rest_offsets) = (body.positions.clone(), body.offsets.clone());
            self.shown = vertices(&strands, &numbers).1;
        }
        Ok(())
    }

    fn remember(&mut self, time: f64, strands: &Strands) {
        let chunks: Vec<Vec<Water>> = (0..strands.simulated().div_ceil(CHUNK))
            .into_par_iter()
            .map(|chunk| {
                let (mut nodes, mut water) = (Nodes::default(), Vec::new());
                for strand in chunk * CHUNK..((chunk + 1) * CHUNK).min(strands.simulated()) {
                    strands.read(strand, &mut nodes);
                    water.extend_from_slice(&nodes.water);
                }
                water
            })
            .collect();
        self.memory.see(time, &chunks.concat());
    }

    /// The curves of a frame that was seen, with children if they are wanted.
    pub fn show(&self, body: &StrandBody, frame: &Frame, children: bool) -> Result<Curves, RenderError> {
        let strands = Strands::new(body, frame, self.width)?;
        let numbers = numbers(&strands, children);
        let (offsets, positions, widths) = vertices(&strands, &numbers);
        let mut curves = Curves { name: body.name.clone(), offsets, positions, attributes: BTreeMap::new() };
        let vertex = |values| Attribute { domain: Domain::Vertex, values };
        let strand = |values| Attribute { domain: Domain::Strand, values };
        let mut add = |name: &str, attribute| curves.attributes.insert(name.to_owned(), attribute);

        // The vertices of a child have the values of its guide's.
        let guides: Vec<usize> = numbers.iter().map(|&number| strands.guide(number)).collect();
        let of_guides = |values: &Values| gather(values, guides.iter().flat_map(|&guide| strands.range(guide)));
        for (name, attribute) in &body.attributes {
            if attribute.domain == Domain::Vertex && name != "radius" {
                add(name, vertex(of_guides(&attribute.values)));
            }
        }
        add("width", vertex(Values::F32(widths)));
        if strands.gets_wet() {
            let Memory { gloss, darkness, .. } = &self.memory;
            add("wet_spec", vertex(of_guides(&Values::F32(gloss.clone()))));
            add("wet_dark", vertex(of_guides(&Values::F32(darkness.clone()))));
        }
        let count: usize = guides.iter().map(|&guide| strands.range(guide).len()).sum();
        add("rest", vertex(Values::F32x3(self.rest_of(body, &guides, count))));

        let own = match body.attributes.get("id").map(|a| &a.values) {
            Some(Values::U32(ids)) => ids.clone(),
            _ => (0..strands.simulated() as u32).collect(),
        };
        let first_child = own.iter().max().map_or(0, |most| most + 1);
        let id = |&number: &usize| match number.checked_sub(strands.simulated()) {
            None => own[number],
            Some(child) => first_child + child as u32,
        };
        add("id", strand(Values::U32(numbers.iter().map(id).collect())));
        add("guide", strand(Values::U32(guides.iter().map(|&guide| own[guide]).collect())));
        if let Some(Values::F32x2(uvs)) = body.attributes.get("root_uv").map(|a| &a.values) {
            let uv = |&number: &usize| root_uv(body, uvs, number, strands.simulated());
            add("root_uv", strand(Values::F32x2(numbers.iter().map(uv).collect())));
        }
        if let Some(Values::F32(wetness)) = body.attributes.get("wetness").map(|a| &a.values) {
            let mean = |strand: usize| {
                let range = strands.range(strand);
                wetness[range.clone()].iter().sum::<f32>() / range.len().max(1) as f32
            };
            let means: Vec<f32> = (0..strands.simulated()).map(mean).collect();
            let clumps = clumps(&body.offsets, &body.positions, &means, self.reach);
            add("mean_wetness", strand(Values::F32(guides.iter().map(|&guide| means[guide]).collect())));
            add("clump_id", strand(Values::U32(guides.iter().map(|&guide| own[clumps[guide] as usize]).collect())));
        }
        Ok(curves)
    }

    /// Where each vertex is in the first frame. Where a cord tears, the vertex there becomes two, the last of one piece
    /// and the first of the next, so the pieces of a cord are found along it.
    fn rest_of(&self, body: &StrandBody, guides: &[usize], count: usize) -> Vec<[f32; 3]> {
        if self.shown.len() == count && self.rest_offsets == body.offsets {
            return self.shown.clone();
        }
        let ids = match body.attributes.get("id").map(|a| &a.values) {
            Some(Values::U32(ids)) => &ids[..],
            _ => &[],
        };
        // How far along each cord its pieces have come.
        let mut reached: BTreeMap<u32, usize> = BTreeMap::new();
        let mut rest = Vec::with_capacity(count);
        for &piece in guides {
            let length = (body.offsets[piece + 1] - body.offsets[piece]) as usize;
            let cord = ids.get(piece).copied().unwrap_or(piece as u32) as usize;
            let range = self.rest_offsets.get(cord).zip(self.rest_offsets.get(cord + 1));
            let whole = range.and_then(|(&a, &b)| self.rest.get(a as usize..b as usize)).unwrap_or(&[]);
            let begun = reached.entry(cord as u32).or_insert(0);
            let last = whole.len().saturating_sub(1);
            rest.extend((0..length).map(|k| whole.get((*begun + k).min(last)).copied().unwrap_or_default()));
            *begun += length.saturating_sub(1);
        }
        rest
    }
}

/// The strands that are shown: those that can be drawn, without children if they are not wanted.
fn numbers(strands: &Strands, children: bool) -> Vec<usize> {
    let all = if children { strands.len() } else { strands.simulated() };
    (0..all).filter(|&number| strands.range(strands.guide(number)).len() >= 2).collect()
}

/// Offsets, positions [m] and diameters [m] of these strands.
#[expect(clippy::type_complexity, reason = "three arrays, nowhere else together")]
fn vertices(strands: &Strands, numbers: &[usize]) -> (Vec<u32>, Vec<[f32; 3]>, Vec<f32>) {
    let chunks: Vec<(Vec<u32>, Vec<[f32; 3]>, Vec<f32>)> = numbers
        .par_chunks(CHUNK)
        .map(|numbers| {
            let (mut nodes, mut counts, mut positions, mut widths) =
                (Nodes::default(), Vec::new(), Vec::new(), Vec::new());
            for &number in numbers {
                strands.read(number, &mut nodes);
                counts.push(nodes.positions.len() as u32);
                positions.extend(nodes.positions.iter().map(|p| p.to_array()));
                widths.extend(nodes.radii.iter().map(|radius| 2.0 * radius));
            }
            (counts, positions, widths)
        })
        .collect();
    let mut offsets = Vec::with_capacity(numbers.len() + 1);
    offsets.push(0);
    let (mut positions, mut widths, mut end) = (Vec::new(), Vec::new(), 0);
    for (counts, more, wider) in chunks {
        offsets.extend(counts.into_iter().map(|count| {
            end += count;
            end
        }));
        positions.extend(more);
        widths.extend(wider);
    }
    (offsets, positions, widths)
}

/// The values with these numbers.
fn gather(values: &Values, numbers: impl Iterator<Item = usize>) -> Values {
    match values {
        Values::U32(values) => Values::U32(numbers.map(|i| values[i]).collect()),
        Values::F32(values) => Values::F32(numbers.map(|i| values[i]).collect()),
        Values::F32x2(values) => Values::F32x2(numbers.map(|i| values[i]).collect()),
        Values::F32x3(values) => Values::F32x3(numbers.map(|i| values[i]).collect()),
    }
}

/// Texture coordinates of a root: those of its guides, mixed as the child follows them unless a seam lies between.
fn root_uv(body: &StrandBody, uvs: &[[f32; 2]], number: usize, simulated: usize) -> [f32; 2] {
    let Some((children, child)) = body.children.as_ref().zip(number.checked_sub(simulated)) else { return uvs[number] };
    let [a, b, c] = children.guides[child].map(|guide| Vec2::from(uvs[guide as usize]));
    let [x, y, z] = children.weights[child];
    let apart = if y > 0.0 { a.distance(b) } else { 0.0 }.max(if z > 0.0 { a.distance(c) } else { 0.0 });
    if apart > SEAM { a } else { a * x + b * y + c * z }.to_array()
}

#[cfg(test)]
mod tests;
