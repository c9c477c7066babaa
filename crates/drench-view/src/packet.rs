//! A frame as bytes that a page can use without decoding them.
//!
//! ```text
//! 4 bytes   "DRF1"
//! u32       length of the header, a multiple of 4
//! header    JSON, filled up with spaces: names, counts, and of each array where it begins in the data, how many
//!           numbers it has and of which type
//! data      arrays, little endian, each at a multiple of 4 bytes
//! ```
//! The page draws a strand's segment from four vertices in a row, so the positions of strands begin with one vertex
//! more and end with two; what belongs to vertices ends with one more. `meta` holds four bytes a vertex: wetness; marks
//! ([`FIRST`], [`LAST`]) with the way from root to tip in the upper six bits; light that gets through to it; and a number
//! at random that stays with the strand.

use crate::channels;
use crate::drawn::DrawnStrands;
use crate::error::Result;
use crate::occlusion;
use crate::porous::Porous;
use drench_io::{Frame, ParticleBody, ParticleKind, SolidBody, StrandBody};
use drench_math::random::mix;
use drench_render::{Settings, Surface, View};
use glam::Vec3;
use serde_json::{Map, Value, json};

/// What every packet begins with.
pub const MAGIC: &[u8; 4] = b"DRF1";
/// Mark of a strand's first vertex.
pub const FIRST: u8 = 1;
/// Mark of a strand's last vertex.
pub const LAST: u8 = 2;
/// Radius of particles that carry none [m].
const DEFAULT_RADIUS: f32 = 5e-3;

/// What the page wants of a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Wish {
    /// Channel whose values come along; none: only what the natural look needs.
    pub channel: Option<String>,
    /// Most vertices of strands, and most particles, that are sent; the rest is left out evenly, and the header says so.
    pub budget: usize,
    /// Whether strands that are interpolated are wanted.
    pub children: bool,
    /// Whether the surface of liquids is wanted besides the particles.
    pub surface: bool,
    /// Whether the porous grid is wanted.
    pub porous: bool,
}

impl Default for Wish {
    fn default() -> Self {
        Self { channel: None, budget: 1_500_000, children: true, surface: false, porous: false }
    }
}

/// Arrays in a row, and where each is.
#[derive(Default)]
struct Data {
    bytes: Vec<u8>,
}

impl Data {
    fn floats(&mut self, values: impl IntoIterator<Item = f32>) -> Value {
        self.put("f32", values.into_iter().map(f32::to_le_bytes))
    }

    fn vectors<'a>(&mut self, vectors: impl IntoIterator<Item = &'a [f32; 3]>) -> Value {
        self.put("f32", vectors.into_iter().flatten().map(|x| x.to_le_bytes()))
    }

    fn whole(&mut self, values: impl IntoIterator<Item = u32>) -> Value {
        self.put("u32", values.into_iter().map(u32::to_le_bytes))
    }

    fn quads(&mut self, values: impl IntoIterator<Item = [u8; 4]>) -> Value {
        self.put("u8", values)
    }

    fn put(&mut self, kind: &str, words: impl IntoIterator<Item = [u8; 4]>) -> Value {
        let at = self.bytes.len();
        let words = words.into_iter();
        self.bytes.reserve(4 * words.size_hint().0);
        words.for_each(|word| self.bytes.extend_from_slice(&word));
        let words = (self.bytes.len() - at) / 4;
        json!([at, if kind == "u8" { words * 4 } else { words }, kind])
    }
}

/// Makes the packet of a frame; `first` is frame 0, from which strain is counted; `porous` the porous grid, if it is wanted.
pub fn encode(
    frame: &Frame,
    first: Option<&Frame>,
    porous: Option<&Porous>,
    settings: &Settings,
    views: &[(String, View)],
    wish: &Wish,
) -> Result<Vec<u8>> {
    let mut data = Data::default();
    let strands = gather(frame, wish)?;
    let grains: Vec<&ParticleBody> = frame.particles.iter().filter(|body| body.kind == ParticleKind::Grains).collect();
    let sets: Vec<&[[f32; 3]]> = (strands.iter().map(|drawn| &drawn.positions[..]))
        .chain(grains.iter().map(|body| &body.positions[..]))
        .collect();
    let mut light = occlusion::light(&sets);
    let of_grains = light.split_off(strands.len());
    let mut header = Map::new();
    header.insert("frame".into(), json!(frame.index));
    header.insert("time".into(), json!(frame.time));
    header.insert("channels".into(), json!(channels::available(frame)));
    header.insert("cameras".into(), json!(views.iter().map(camera).collect::<Vec<_>>()));
    let bodies = frame.strands.iter().zip(&strands).zip(&light).enumerate();
    let bodies = bodies.map(|(i, ((body, drawn), light))| {
        let first = first.and_then(|first| first.strands.get(i));
        strand_body(&mut data, body, first, drawn, light, wish)
    });
    header.insert("strands".into(), Value::Array(bodies.collect()));
    let mut of_grains = of_grains.into_iter();
    let bodies = frame.particles.iter().map(|body| {
        let light = if body.kind == ParticleKind::Grains { of_grains.next() } else { None };
        particle_body(&mut data, body, light.as_deref(), wish)
    });
    header.insert("particles".into(), Value::Array(bodies.collect()));
    header.insert("solids".into(), frame.solids.iter().map(|body| solid_body(&mut data, body)).collect());
    if wish.surface {
        let surface = surface(frame, settings)?;
        header.insert(
            "surface".into(),
            mesh(&mut data, &arrays(&surface.positions), &arrays(&surface.normals), &surface.triangles),
        );
    }
    if let Some(porous) = porous {
        header.insert("porous".into(), grid(&mut data, porous));
    }
    Ok(join(&Value::Object(header), data.bytes))
}

fn grid(data: &mut Data, porous: &Porous) -> Value {
    json!({
        "name": "porous grid", "count": porous.voxels.len(), "edge": porous.edge,
        "arrays": {
            "positions": data.vectors(porous.voxels.iter().map(|voxel| &voxel.centre)),
            "value": data.floats(porous.voxels.iter().map(|voxel| voxel.saturation)),
        },
    })
}

/// The strands that are drawn: all, or evenly as many as the budget allows.
fn gather(frame: &Frame, wish: &Wish) -> Result<Vec<DrawnStrands>> {
    let vertices: f64 = frame.strands.iter().map(|body| expected_vertices(body, wish.children)).sum();
    let share = (vertices / wish.budget.max(1) as f64).ceil().max(1.0) as usize;
    let drawn = frame.strands.iter().map(|body| Ok(DrawnStrands::gather(frame, body, wish.children, share)?));
    drawn.collect()
}

fn expected_vertices(body: &StrandBody, children: bool) -> f64 {
    let strands = body.strand_count();
    let follow = body.children.as_ref().filter(|_| children).map_or(0, |children| children.triangles.len());
    body.positions.len() as f64 * (strands + follow) as f64 / strands.max(1) as f64
}

fn join(header: &Value, data: Vec<u8>) -> Vec<u8> {
    let mut text = header.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let mut packet = Vec::with_capacity(8 + text.len() + data.len());
    packet.extend_from_slice(MAGIC);
    packet.extend_from_slice(&(text.len() as u32).to_le_bytes());
    packet.extend(text);
    packet.extend(data);
    packet
}

fn camera((name, view): &(String, View)) -> Value {
    json!({
        "name": name, "position": view.position.to_array(), "target": view.target.to_array(), "up": view.up.to_array(),
        "field_of_view": view.field_of_view,
    })
}

fn byte(part: f32) -> u8 {
    (part.clamp(0.0, 1.0) * 255.0).round() as u8
}

/// Lowest and highest of the finite values.
fn range(values: &[f32]) -> Option<[f32; 2]> {
    values.iter().filter(|value| value.is_finite()).fold(None, |range, &value| match range {
        None => Some([value; 2]),
        Some([low, high]) => Some([f32::min(low, value), f32::max(high, value)]),
    })
}

/// The one or two channels that a wish names.
fn wanted(wish: &Wish, particles: bool) -> Vec<&str> {
    match wish.channel.as_deref() {
        Some(channels::WATER) if particles => vec!["wetness"],
        Some(channels::WATER) => vec!["fibre_water", "film"],
        Some(channel) => vec![channel],
        None => Vec::new(),
    }
}

fn strand_body(
    data: &mut Data,
    body: &StrandBody,
    first: Option<&StrandBody>,
    drawn: &DrawnStrands,
    light: &[u8],
    wish: &Wish,
) -> Value {
    let vertices = drawn.positions.len();
    let wetness = channels::of_strands(body, None, "wetness");
    let mut meta: Vec<[u8; 4]> = (drawn.sources.iter().zip(light))
        .map(|(&source, &light)| [wetness.as_ref().map_or(0, |wetness| byte(wetness[source as usize])), 0, light, 0])
        .collect();
    for (ends, &number) in drawn.offsets.windows(2).zip(&drawn.numbers) {
        let range = ends[0] as usize..ends[1] as usize;
        for (i, meta) in meta[range.clone()].iter_mut().enumerate() {
            let along = i * 63 / (range.len() - 1).max(1);
            (meta[1], meta[3]) = ((along as u8) << 2, (mix(u64::from(number)) >> 56) as u8);
        }
        meta[range.start][1] |= FIRST;
        meta[range.end - 1][1] |= LAST;
    }
    let mut arrays = Map::new();
    if let (Some(root), Some(tip)) = (drawn.positions.first(), drawn.positions.last()) {
        let padded = [root].into_iter().chain(&drawn.positions).chain([tip, tip]);
        arrays.insert("positions".into(), data.vectors(padded));
    }
    arrays.insert("meta".into(), data.quads(meta.into_iter().chain([[0; 4]])));
    arrays.insert("radius".into(), data.floats(drawn.radii.iter().copied().chain([0.0])));
    arrays.insert("offsets".into(), data.whole(drawn.offsets.iter().copied()));
    arrays.insert("numbers".into(), data.whole(drawn.numbers.iter().copied()));
    let mut ranges = Vec::new();
    for (name, channel) in ["value", "second"].into_iter().zip(wanted(wish, false)) {
        if let Some(values) = channels::of_strands(body, first, channel) {
            ranges.push(range(&values));
            let values = drawn.sources.iter().map(|&source| values[source as usize]);
            arrays.insert(name.into(), data.floats(values.chain([0.0])));
        }
    }
    json!({
        "name": body.name, "strands": drawn.total, "shown": drawn.numbers.len(), "simulated": body.strand_count(),
        "vertices": vertices, "ranges": ranges, "arrays": arrays,
    })
}

fn particle_body(data: &mut Data, body: &ParticleBody, light: Option<&[u8]>, wish: &Wish) -> Value {
    let share = body.positions.len().div_ceil(wish.budget.max(1)).max(1);
    let finite = |i: &usize| body.positions[*i].iter().all(|x| x.is_finite());
    let shown: Vec<usize> = (0..body.positions.len()).step_by(share).filter(finite).collect();
    let (radii, wetness) = (body.scalars("radius"), body.scalars("wetness"));
    let ids = body.whole("id");
    // Those that are left stand for the others: together they fill the same volume.
    let wider = (share as f32).cbrt();
    let meta = shown.iter().map(|&i| {
        let id = ids.map_or(i as u32, |ids| ids[i]);
        [
            wetness.map_or(0, |wetness| byte(wetness[i])),
            0,
            light.map_or(255, |light| light[i]),
            (mix(u64::from(id)) >> 56) as u8,
        ]
    });
    let mut arrays = Map::new();
    arrays.insert("positions".into(), data.vectors(shown.iter().map(|&i| &body.positions[i])));
    arrays.insert("meta".into(), data.quads(meta));
    let radius = |i: usize| radii.map_or(DEFAULT_RADIUS, |radii| radii[i]) * wider;
    arrays.insert("radius".into(), data.floats(shown.iter().map(|&i| radius(i))));
    if share > 1 || shown.len() < body.positions.len() {
        arrays.insert("numbers".into(), data.whole(shown.iter().map(|&i| i as u32)));
    }
    let mut ranges = Vec::new();
    for (name, channel) in ["value", "second"].into_iter().zip(wanted(wish, true)) {
        if let Some(values) = channels::of_particles(body, channel) {
            ranges.push(range(&values));
            arrays.insert(name.into(), data.floats(shown.iter().map(|&i| values[i])));
        }
    }
    json!({
        "name": body.name, "kind": body.kind, "count": body.positions.len(), "shown": shown.len(), "ranges": ranges,
        "arrays": arrays,
    })
}

fn solid_body(data: &mut Data, body: &SolidBody) -> Value {
    let own;
    let normals = if body.normals.len() == body.positions.len() {
        &body.normals
    } else {
        own = smooth_normals(body);
        &own
    };
    let mut value = mesh(data, &body.positions, normals, &body.triangles);
    value["name"] = json!(body.name);
    // The page keeps the triangles of a solid as long as this stays the same.
    let corners: Vec<u8> = body.triangles.iter().flatten().flat_map(|corner| corner.to_le_bytes()).collect();
    value["topology"] = json!(format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&corners)));
    value
}

/// The surfaces of all liquids of a frame, as pictures show them, with the drops that hang at the tips of hair.
fn surface(frame: &Frame, settings: &Settings) -> Result<Surface> {
    let mut all = Surface::default();
    for body in frame.particles.iter().filter(|body| body.kind == ParticleKind::Liquid) {
        all.append(drench_render::surface(body, settings.liquid.smoothing, settings.quality)?);
    }
    frame.strands.iter().for_each(|body| all.append(drench_render::hanging_drops(body)));
    Ok(all)
}

fn arrays(vectors: &[Vec3]) -> Vec<[f32; 3]> {
    vectors.iter().map(Vec3::to_array).collect()
}

fn mesh(data: &mut Data, positions: &[[f32; 3]], normals: &[[f32; 3]], triangles: &[[u32; 3]]) -> Value {
    json!({
        "vertices": positions.len(),
        "triangles": triangles.len(),
        "arrays": {
            "positions": data.vectors(positions),
            "normals": data.vectors(normals),
            "triangles": data.whole(triangles.iter().flatten().copied()),
        },
    })
}

fn smooth_normals(body: &SolidBody) -> Vec<[f32; 3]> {
    let mut normals = vec![Vec3::ZERO; body.positions.len()];
    for triangle in &body.triangles {
        let [a, b, c] = triangle.map(|v| Vec3::from(body.positions[v as usize]));
        let normal = (b - a).cross(c - a);
        triangle.iter().for_each(|&v| normals[v as usize] += normal);
    }
    normals.into_iter().map(|normal| normal.normalize_or(Vec3::Y).to_array()).collect()
}

/// The header and the data of a packet, or nothing if the bytes are none.
pub fn split(packet: &[u8]) -> Option<(Value, &[u8])> {
    let rest = packet.strip_prefix(MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (header, data) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    Some((serde_json::from_slice(header).ok()?, data))
}

#[cfg(test)]
mod tests;
