//! The frame cache: one file per frame with what changed, one file per run with what stays the same.
//!
//! `model.drench` holds the first frame's topology, attributes, children and solids. An array of a later frame that
//! equals the model's is not written again, and a rigid solid is written as its pose. Reading puts both together: a
//! [`Frame`] is always complete. A frame whose topology differs (strands tear, particles come and go) simply carries
//! its own.
//!
//! Positions, velocities and normals are rounded, see [`Precision`], and of numbers that only pictures show
//! [`SHOWN`] as many bits are kept as those have; everything else keeps its bits.

use crate::error::{IoError, Result};
use crate::format::{FileKind, Precision, Reader, Writer};
use crate::frame::{
    Attribute, ChildStrands, Frame, ParticleBody, ParticleKind, RigidPose, SolidBody, StrandBody, Values,
};
use crate::{arrays, arrays::Arrays};
use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Ending of the names of frames.
pub const EXTENSION: &str = "drench";
const MODEL: &str = "model.drench";
const FRAMES: &str = "frames";

/// The frames of a run folder.
#[derive(Debug)]
pub struct FrameCache {
    folder: PathBuf,
    /// The first frame without the positions of its strands and particles.
    model: Frame,
    identity: u64,
}

/// What a frame holds besides arrays.
#[derive(Serialize, Deserialize)]
struct Contents {
    index: u32,
    time: f64,
    /// Identity of the model that the frame builds on.
    model: u64,
    strands: Vec<StrandContents>,
    solids: Vec<SolidContents>,
    /// Absent in version 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    particles: Vec<ParticleContents>,
}

#[derive(Serialize, Deserialize)]
struct StrandContents {
    name: String,
    attributes: BTreeMap<String, arrays::Description>,
    /// The solid that carries the children, if there are any.
    children: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct ParticleContents {
    name: String,
    kind: ParticleKind,
    attributes: BTreeMap<String, arrays::Description>,
}

#[derive(Serialize, Deserialize)]
struct SolidContents {
    name: String,
    /// Position x y z, rotation x y z w.
    pose: Option<[f64; 7]>,
    /// Whether the vertices follow from the model's by the pose.
    rigid: bool,
}

impl FrameCache {
    /// Begins a cache in a run folder: writes what stays the same, as `first` has it.
    pub fn create(folder: &Path, first: &Frame) -> Result<Self> {
        first.check().map_err(|reason| IoError::Unstorable { frame: first.index, reason })?;
        let frames = folder.join(FRAMES);
        fs::create_dir_all(&frames).map_err(IoError::storage("create", &frames))?;
        let mut model = first.clone();
        for body in &mut model.strands {
            body.positions = Vec::new();
            body.attributes.retain(|name, _| name != "velocity");
        }
        for body in &mut model.particles {
            body.positions = Vec::new();
            body.attributes.retain(|name, _| name != "velocity");
        }
        let mut writer = Writer::new(FileKind::Model);
        encode(&mut writer, &model, None)?;
        writer.write(&folder.join(MODEL))?;
        // As it is on the disk, rounding included: what a frame need not hold is the same after a restart.
        Self::open(folder)
    }

    /// Opens the cache of a run folder.
    pub fn open(folder: &Path) -> Result<Self> {
        let reader = Reader::open(&folder.join(MODEL), FileKind::Model)?;
        let model = decode(&reader, None)?;
        Ok(Self { folder: folder.to_owned(), model, identity: reader.identity() })
    }

    /// Where a frame is kept.
    pub fn path(&self, index: u32) -> PathBuf {
        frame_path(&self.folder, index)
    }

    /// Writes a frame; when this returns, it is on the disk. Returns its size [bytes].
    pub fn write(&self, frame: &Frame) -> Result<u64> {
        frame.check().map_err(|reason| IoError::Unstorable { frame: frame.index, reason })?;
        let mut writer = Writer::new(FileKind::Frame);
        encode(&mut writer, frame, Some(self))?;
        writer.write(&self.path(frame.index))
    }

    /// Reads a frame.
    pub fn read(&self, index: u32) -> Result<Frame> {
        self.read_from(&Reader::open(&self.path(index), FileKind::Frame)?, index)
    }

    fn read_from(&self, reader: &Reader, index: u32) -> Result<Frame> {
        let frame = decode(reader, Some(self))?;
        if frame.index != index {
            return Err(reader.damaged(format!("it holds frame {}", frame.index)));
        }
        frame.check().map_err(|reason| reader.damaged(reason))?;
        Ok(frame)
    }

    /// Whether a frame is there and has the bytes that were written. Decodes nothing.
    pub fn verify(&self, index: u32) -> Result<()> {
        let reader = Reader::open(&self.path(index), FileKind::Frame)?;
        reader.verify()?;
        let contents = contents(&reader)?;
        if contents.model != self.identity || contents.index != index {
            return Err(reader.damaged("it belongs to another run or place".to_owned()));
        }
        Ok(())
    }

    /// The frames that have a file, in order.
    pub fn indices(&self) -> Result<Vec<u32>> {
        frame_indices(&self.folder)
    }

    /// Removes the frames after `last`.
    pub fn remove_after(&self, last: u32) -> Result<()> {
        for index in self.indices()?.into_iter().filter(|&index| index > last) {
            let path = self.path(index);
            fs::remove_file(&path).map_err(IoError::storage("remove", &path))?;
        }
        Ok(())
    }
}

/// Where a frame of a run folder is kept.
pub fn frame_path(folder: &Path, index: u32) -> PathBuf {
    folder.join(FRAMES).join(format!("{index:06}.{EXTENSION}"))
}

/// The frames of a run folder that have a file, in order.
pub fn frame_indices(folder: &Path) -> Result<Vec<u32>> {
    crate::listing::numbered(&folder.join(FRAMES), EXTENSION)
}

/// Writes one frame. With a cache only what differs from its model; without one everything, as the model itself.
fn encode(writer: &mut Writer, frame: &Frame, cache: Option<&FrameCache>) -> Result<()> {
    let mut arrays = Arrays { writer, frame: frame.index };
    let model = cache.map(|cache| &cache.model);
    let mut contents = Contents {
        index: frame.index,
        time: frame.time,
        model: cache.map_or(0, |cache| cache.identity),
        strands: Vec::new(),
        solids: Vec::new(),
        particles: Vec::new(),
    };
    for (i, body) in frame.strands.iter().enumerate() {
        let same = model.and_then(|model| model.strands.get(i));
        contents.strands.push(encode_strands(&mut arrays, &format!("strands/{i}"), body, same)?);
    }
    for (i, solid) in frame.solids.iter().enumerate() {
        let same = model.and_then(|model| model.solids.get(i));
        contents.solids.push(encode_solid(&mut arrays, &format!("solids/{i}"), solid, same)?);
    }
    for (i, body) in frame.particles.iter().enumerate() {
        let place = format!("particles/{i}");
        let same = model.and_then(|model| model.particles.get(i));
        arrays.rounded(&format!("{place}/positions"), &body.positions, Precision::POSITION, &[])?;
        let kept = same.map(|same| &same.attributes);
        let attributes = encode_attributes(&mut arrays, &place, &body.attributes, kept, &[])?;
        contents.particles.push(ParticleContents { name: body.name.clone(), kind: body.kind, attributes });
    }
    // Names and finite numbers: nothing that JSON cannot hold.
    let text = serde_json::to_vec(&contents).expect("plain data");
    writer.bytes("contents", &text);
    Ok(())
}

fn encode_strands(
    arrays: &mut Arrays,
    place: &str,
    body: &StrandBody,
    same: Option<&StrandBody>,
) -> Result<StrandContents> {
    arrays.exact(&format!("{place}/offsets"), &body.offsets, same.map(|same| &same.offsets))?;
    arrays.rounded(&format!("{place}/positions"), &body.positions, Precision::POSITION, &body.offsets)?;
    let kept = same.map(|same| &same.attributes);
    let attributes = encode_attributes(arrays, place, &body.attributes, kept, &body.offsets)?;
    if let Some(children) = &body.children {
        let same = same.and_then(|same| same.children.as_ref());
        arrays.exact(&format!("{place}/children/triangles"), &children.triangles, same.map(|same| &same.triangles))?;
        let barycentric = same.map(|same| &same.barycentric);
        arrays.exact(&format!("{place}/children/barycentric"), &children.barycentric, barycentric)?;
        arrays.exact(&format!("{place}/children/guides"), &children.guides, same.map(|same| &same.guides))?;
        arrays.exact(&format!("{place}/children/weights"), &children.weights, same.map(|same| &same.weights))?;
        let length_ratio = same.map(|same| &same.length_ratio);
        arrays.exact(&format!("{place}/children/length_ratio"), &children.length_ratio, length_ratio)?;
    }
    let children = body.children.as_ref().map(|children| children.solid.clone());
    Ok(StrandContents { name: body.name.clone(), attributes, children })
}

fn encode_attributes(
    arrays: &mut Arrays,
    place: &str,
    attributes: &BTreeMap<String, Attribute>,
    kept: Option<&BTreeMap<String, Attribute>>,
    offsets: &[u32],
) -> Result<BTreeMap<String, arrays::Description>> {
    let describe = |(name, attribute): (&String, &Attribute)| {
        let kept = kept.and_then(|kept| kept.get(name));
        let place = format!("{place}/attributes/{name}");
        Ok((name.clone(), arrays.attribute(&place, name, attribute, kept, offsets)?))
    };
    attributes.iter().map(describe).collect()
}

fn encode_solid(
    arrays: &mut Arrays,
    place: &str,
    solid: &SolidBody,
    same: Option<&SolidBody>,
) -> Result<SolidContents> {
    let rigid = same.is_some_and(|same| follows_rigidly(same, solid));
    arrays.exact(&format!("{place}/triangles"), &solid.triangles, same.map(|same| &same.triangles))?;
    if !rigid {
        for (name, values, precision) in
            [("positions", &solid.positions, Precision::POSITION), ("normals", &solid.normals, Precision::NORMAL)]
        {
            let place = format!("{place}/{name}");
            let kept = same.map(|same| if name == "positions" { &same.positions } else { &same.normals });
            match kept {
                // The model keeps the bits, because every frame may refer to it.
                None => arrays.exact(&place, values, None)?,
                Some(kept) if arrays::same(kept, values) => {}
                Some(_) => arrays.rounded(&place, values, precision, &[])?,
            }
        }
    }
    let pose = solid.pose.filter(RigidPose::is_finite).map(pose_to_numbers);
    Ok(SolidContents { name: solid.name.clone(), pose, rigid })
}

fn contents(reader: &Reader) -> Result<Contents> {
    let text = reader.bytes("contents")?;
    serde_json::from_slice(&text).map_err(|error| reader.damaged(format!("unreadable contents ({error})")))
}

/// Reads one frame; what it does not hold comes from the cache's model.
fn decode(reader: &Reader, cache: Option<&FrameCache>) -> Result<Frame> {
    let contents = contents(reader)?;
    if contents.model != cache.map_or(0, |cache| cache.identity) {
        return Err(reader.damaged("it belongs to another run's model".to_owned()));
    }
    let model = cache.map(|cache| &cache.model);
    let mut frame = Frame { index: contents.index, time: contents.time, ..Frame::default() };
    for (i, body) in contents.strands.into_iter().enumerate() {
        let same = model.and_then(|model| model.strands.get(i));
        frame.strands.push(decode_strands(reader, &format!("strands/{i}"), body, same)?);
    }
    for (i, solid) in contents.solids.into_iter().enumerate() {
        let same = model.and_then(|model| model.solids.get(i));
        frame.solids.push(decode_solid(reader, &format!("solids/{i}"), solid, same)?);
    }
    for (i, body) in contents.particles.into_iter().enumerate() {
        let place = format!("particles/{i}");
        let kept = model.and_then(|model| model.particles.get(i)).map(|same| &same.attributes);
        frame.particles.push(ParticleBody {
            name: body.name,
            kind: body.kind,
            positions: reader.rounded(&format!("{place}/positions"), &[])?,
            attributes: decode_attributes(reader, &place, body.attributes, kept, &[])?,
        });
    }
    Ok(frame)
}

fn decode_strands(
    reader: &Reader,
    place: &str,
    contents: StrandContents,
    same: Option<&StrandBody>,
) -> Result<StrandBody> {
    let offsets: Vec<u32> = arrays::exact(reader, &format!("{place}/offsets"), same.map(|same| &same.offsets))?;
    let positions = reader.rounded(&format!("{place}/positions"), &offsets)?;
    let kept = same.map(|same| &same.attributes);
    let attributes = decode_attributes(reader, place, contents.attributes, kept, &offsets)?;
    let kept = same.and_then(|same| same.children.as_ref());
    let children = match contents.children {
        None => None,
        Some(solid) => Some(ChildStrands {
            solid,
            triangles: arrays::exact(reader, &format!("{place}/children/triangles"), kept.map(|c| &c.triangles))?,
            barycentric: arrays::exact(reader, &format!("{place}/children/barycentric"), kept.map(|c| &c.barycentric))?,
            guides: arrays::exact(reader, &format!("{place}/children/guides"), kept.map(|c| &c.guides))?,
            weights: arrays::exact(reader, &format!("{place}/children/weights"), kept.map(|c| &c.weights))?,
            length_ratio: arrays::exact(
                reader,
                &format!("{place}/children/length_ratio"),
                kept.map(|c| &c.length_ratio),
            )?,
        }),
    };
    Ok(StrandBody { name: contents.name, offsets, positions, attributes, children })
}

fn decode_attributes(
    reader: &Reader,
    place: &str,
    descriptions: BTreeMap<String, arrays::Description>,
    kept: Option<&BTreeMap<String, Attribute>>,
    offsets: &[u32],
) -> Result<BTreeMap<String, Attribute>> {
    let read = |(name, description): (String, arrays::Description)| {
        let kept = kept.and_then(|kept| kept.get(&name));
        let attribute = arrays::attribute(reader, &format!("{place}/attributes/{name}"), &description, kept, offsets)?;
        Ok((name, attribute))
    };
    descriptions.into_iter().map(read).collect()
}

fn decode_solid(reader: &Reader, place: &str, contents: SolidContents, same: Option<&SolidBody>) -> Result<SolidBody> {
    let pose = contents.pose.map(pose_from_numbers);
    let triangles = arrays::exact(reader, &format!("{place}/triangles"), same.map(|same| &same.triangles))?;
    if contents.rigid {
        let moved = same.zip(pose).and_then(|(same, pose)| moved_rigidly(same, &pose));
        let Some((positions, normals)) = moved else {
            return Err(reader.damaged(format!("solid '{}' has nothing to move", contents.name)));
        };
        return Ok(SolidBody { name: contents.name, positions, triangles, normals, pose });
    }
    let vectors = |name: &str, kept: Option<&Vec<[f32; 3]>>| {
        let place = format!("{place}/{name}");
        match kept.filter(|_| !reader.has(&place)) {
            Some(kept) => Ok(kept.clone()),
            None => reader.rounded(&place, &[]),
        }
    };
    let positions = vectors("positions", same.map(|same| &same.positions))?;
    let normals = vectors("normals", same.map(|same| &same.normals))?;
    Ok(SolidBody { name: contents.name, positions, triangles, normals, pose })
}

/// The vertices and normals of `solid` after it went from its pose to `pose`.
#[expect(clippy::type_complexity, reason = "positions and normals, nowhere else together")]
fn moved_rigidly(solid: &SolidBody, pose: &RigidPose) -> Option<(Vec<[f32; 3]>, Vec<[f32; 3]>)> {
    let from = solid.pose?;
    if from == *pose {
        return Some((solid.positions.clone(), solid.normals.clone()));
    }
    let turn = pose.rotation * from.rotation.inverse();
    let shift = pose.position - turn * from.position;
    let vector = |v: &[f32; 3]| DVec3::from_array(v.map(f64::from));
    let positions = solid.positions.iter().map(|p| (turn * vector(p) + shift).as_vec3().to_array()).collect();
    let normals = solid.normals.iter().map(|n| (turn * vector(n)).as_vec3().to_array()).collect();
    Some((positions, normals))
}

/// Whether the pose alone says where all vertices of `now` are, to the accuracy that positions are stored with.
fn follows_rigidly(first: &SolidBody, now: &SolidBody) -> bool {
    let Some(pose) = now.pose.filter(RigidPose::is_finite) else { return false };
    if first.positions.len() != now.positions.len() || first.normals.len() != now.normals.len() {
        return false;
    }
    let Some((positions, normals)) = moved_rigidly(first, &pose) else { return false };
    let size = now.positions.iter().flatten().fold(0.0_f32, |size, x| size.max(x.abs()));
    let near = |a: &[[f32; 3]], b: &[[f32; 3]], tolerance: f32| {
        a.iter().flatten().zip(b.iter().flatten()).all(|(a, b)| (a - b).abs() <= tolerance)
    };
    near(&positions, &now.positions, 2e-6 * size) && near(&normals, &now.normals, 1e-4)
}

fn pose_to_numbers(pose: RigidPose) -> [f64; 7] {
    let ([x, y, z], [i, j, k, w]) = (pose.position.to_array(), pose.rotation.to_array());
    [x, y, z, i, j, k, w]
}

fn pose_from_numbers([x, y, z, i, j, k, w]: [f64; 7]) -> RigidPose {
    RigidPose { position: DVec3::new(x, y, z), rotation: DQuat::from_xyzw(i, j, k, w) }
}

/// Attributes that change all the time and only pictures and exports show: numbers are kept to 14 significant bits, an
/// error of at most one part in 16 384.
pub(crate) const SHOWN: [&str; 6] = ["age", "density", "pressure", "tension", "twist", "wetness"];

/// Whether an attribute is stored rounded.
pub(crate) fn precision_of(name: &str, attribute: &Attribute) -> Option<Precision> {
    match (name, &attribute.values) {
        ("velocity", Values::F32x3(_)) => Some(Precision::VELOCITY),
        ("normal", Values::F32x3(_)) => Some(Precision::NORMAL),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
