//! glTF 2.0 and GLB: the meshes of all nodes joined in world space, with their animation.
//!
//! Materials and nodes become face groups of their names. Buffers come from data URIs, files next to the scene, and
//! the binary chunk.

use super::accessor::Buffers;
use super::{LoadedMesh, malformed, read_file};
use crate::animation::{Channel, Interpolation, MeshAnimation, Node, Piece, Placement, Skin, Target};
use crate::clean::check_count;
use crate::{GeometryError, TriMesh};
use glam::{DAffine3, DMat4, DQuat, DVec2, DVec3};
use gltf::animation::Property;
use gltf::json::{Root, validation::Checked};
use gltf::mesh::Mode;
use gltf::scene::Transform;
use gltf::{Document, Primitive, Semantic};
use std::path::Path;

const AGAIN: &str = "export the file again";

pub(super) fn parse(
    path: &Path,
    bytes: &[u8],
    unit: f64,
    animation: Option<&str>,
) -> Result<LoadedMesh, GeometryError> {
    let (json, chunk) = split_glb(path, bytes)?;
    let document = read_document(path, json)?;
    let buffers = Buffers { path, contents: read_buffers(path, &document, chunk)? };
    let tree = Tree::of(path, &document)?;
    let mut scene =
        Scene { path, buffers: &buffers, mesh: TriMesh::default(), pieces: Vec::new(), warnings: Vec::new() };
    for node in document.nodes() {
        if let (Some(mesh), Some(place)) = (node.mesh(), tree.place[node.index()]) {
            for primitive in mesh.primitives() {
                scene.add(&node, place, &tree, &primitive)?;
            }
        }
    }
    let Scene { mut mesh, pieces, mut warnings, .. } = scene;
    let mut motion = MeshAnimation { nodes: tree.nodes.clone(), channels: Vec::new(), pieces, unit, duration: 0.0 };

    // At rest, in the file's unit; normals follow only rigid pieces, others are computed later.
    motion.unit = 1.0;
    motion.pose_at_rest(&mut mesh.positions);
    motion.unit = unit;
    place_normals(&mut mesh, &motion);

    let chosen = choose_animation(path, &document, animation, &mut warnings)?;
    if let Some(chosen) = &chosen {
        for channel in chosen.channels() {
            motion.channels.extend(read_channel(&buffers, &tree, &channel)?);
        }
        motion.duration = motion.channels.iter().filter_map(|c| c.times.last().copied()).fold(0.0, f64::max);
    }
    let animation = (!motion.channels.is_empty()).then_some(motion);
    Ok(LoadedMesh { mesh, animation, warnings })
}

/// JSON and binary chunk of a GLB, or the whole file as JSON.
fn split_glb<'a>(path: &Path, bytes: &'a [u8]) -> Result<(&'a [u8], Option<&'a [u8]>), GeometryError> {
    if !bytes.starts_with(b"glTF") {
        return Ok((bytes, None));
    }
    let word = |at: usize| bytes.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let cut_short = |at: usize| malformed(path, format!("byte {at}"), "the file ends early", AGAIN);
    let version = word(4).ok_or_else(|| cut_short(4))?;
    if version != 2 {
        let problem = format!("it is GLB version {version}");
        return Err(malformed(path, "byte 4", problem, "export it as glTF 2.0"));
    }
    let (mut json, mut chunk) = (None, None);
    let mut at = 12;
    while at + 8 <= bytes.len() {
        let length = word(at).ok_or_else(|| cut_short(at))? as usize;
        let kind = &bytes[at + 4..at + 8];
        let content = bytes[at + 8..].get(..length).ok_or_else(|| cut_short(at))?;
        match kind {
            b"JSON" if json.is_none() => json = Some(content),
            b"BIN\0" if chunk.is_none() => chunk = Some(content),
            _ => {}
        }
        at += 8 + length;
    }
    match json {
        Some(json) => Ok((json, chunk)),
        None => Err(malformed(path, "byte 12", "there is no JSON chunk", AGAIN)),
    }
}

/// Extensions that change how a surface looks or is stored, but not where it is.
const HARMLESS_EXTENSIONS: [&str; 4] = ["KHR_materials_", "KHR_texture_", "KHR_lights_", "KHR_mesh_quantization"];

fn read_document(path: &Path, json: &[u8]) -> Result<Document, GeometryError> {
    let mut root = Root::from_slice(json).map_err(|error| malformed(path, "JSON", error.to_string(), AGAIN))?;
    root.extensions_required.retain(|name| !HARMLESS_EXTENSIONS.iter().any(|known| name.starts_with(known)));
    for accessor in &mut root.accessors {
        // Bounds are demanded of positions, but some exporters leave them out and nothing here reads them.
        accessor.min = Some(vec![0.0; 3].into());
        accessor.max = Some(vec![0.0; 3].into());
    }
    check_references(path, &root)?;
    Document::from_json(root).map_err(|error| {
        let first = match &error {
            gltf::Error::Validation(list) => list.first().map(|(place, error)| (place.to_string(), error.to_string())),
            _ => None,
        };
        let (place, problem) = first.unwrap_or_else(|| ("JSON".into(), error.to_string()));
        let fix = "export the file again, without required extensions such as mesh compression";
        malformed(path, place, problem, fix)
    })
}

/// Checks the references that the validation of the document forgets but relies on.
fn check_references(path: &Path, root: &Root) -> Result<(), GeometryError> {
    for (m, mesh) in root.meshes.iter().enumerate() {
        for accessor in mesh.primitives.iter().flat_map(|primitive| primitive.attributes.values()) {
            if accessor.value() >= root.accessors.len() {
                let problem = format!("it uses accessor {}, but there are {}", accessor.value(), root.accessors.len());
                return Err(malformed(path, format!("mesh {m}"), problem, AGAIN));
            }
        }
    }
    for (a, animation) in root.animations.iter().enumerate() {
        for (c, channel) in animation.channels.iter().enumerate() {
            let problem = if channel.target.node.value() >= root.nodes.len() {
                format!("it moves node {}, but there are {}", channel.target.node.value(), root.nodes.len())
            } else if matches!(channel.target.path, Checked::Invalid) {
                "it moves something else than translation, rotation, scale or weights".into()
            } else {
                continue;
            };
            return Err(malformed(path, format!("animation {a}, channel {c}"), problem, "remove the channel"));
        }
    }
    Ok(())
}

fn read_buffers(path: &Path, document: &Document, chunk: Option<&[u8]>) -> Result<Vec<Vec<u8>>, GeometryError> {
    let mut contents = Vec::new();
    for buffer in document.buffers() {
        let place = format!("buffer {}", buffer.index());
        let bytes = match buffer.source() {
            gltf::buffer::Source::Bin => {
                let missing = || malformed(path, &*place, "it has no uri and the file has no binary chunk", AGAIN);
                chunk.ok_or_else(missing)?.to_vec()
            }
            gltf::buffer::Source::Uri(uri) => match uri.strip_prefix("data:") {
                Some(data) => decode_data(data).map_err(|problem| malformed(path, &*place, problem, AGAIN))?,
                None if uri.contains("://") => {
                    let fix = "download it next to the file and name it there";
                    return Err(malformed(path, place, format!("it is at {uri}, which is not a file"), fix));
                }
                None => {
                    let file = path.parent().unwrap_or(Path::new("")).join(percent_decode(uri));
                    read_file(&file, buffer.length() as u64).map_err(|error| {
                        let problem = format!("its file {} cannot be read ({error})", file.display());
                        malformed(path, &*place, problem, "keep the .bin file next to the .gltf file, or export a .glb")
                    })?
                }
            },
        };
        if bytes.len() < buffer.length() {
            let problem = format!("it has {} bytes where {} are announced", bytes.len(), buffer.length());
            return Err(malformed(path, place, problem, AGAIN));
        }
        contents.push(bytes);
    }
    Ok(contents)
}

/// The content of a data URI after its "data:".
fn decode_data(data: &str) -> Result<Vec<u8>, String> {
    let (header, body) = data.split_once(',').ok_or("its data URI has no comma")?;
    if !header.ends_with(";base64") {
        return Ok(percent_decode(body).into_bytes());
    }
    let mut bytes = Vec::with_capacity(body.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for character in body.bytes().filter(|b| !b.is_ascii_whitespace()) {
        let value = match character {
            b'A'..=b'Z' => character - b'A',
            b'a'..=b'z' => character - b'a' + 26,
            b'0'..=b'9' => character - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            _ => return Err(format!("\"{}\" is no base64", character.escape_ascii())),
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Ok(bytes)
}

fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let digits = tail.get(..2).and_then(|d| std::str::from_utf8(d).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The nodes in an order in which parents come first.
struct Tree {
    nodes: Vec<Node>,
    /// Place in `nodes` of each node of the file, if the scene shows it.
    place: Vec<Option<usize>>,
}

impl Tree {
    fn of(path: &Path, document: &Document) -> Result<Self, GeometryError> {
        let count = document.nodes().len();
        let mut parent = vec![None; count];
        for node in document.nodes() {
            for child in node.children() {
                if parent[child.index()].replace(node.index()).is_some() {
                    let problem = "it is the child of more than one node";
                    return Err(malformed(path, format!("node {}", child.index()), problem, AGAIN));
                }
            }
        }
        let roots: Vec<usize> = match document.default_scene().or_else(|| document.scenes().next()) {
            Some(scene) => scene.nodes().map(|node| node.index()).collect(),
            None => (0..count).filter(|&node| parent[node].is_none()).collect(),
        };
        let all: Vec<gltf::Node> = document.nodes().collect();
        let mut tree = Tree { nodes: Vec::with_capacity(count), place: vec![None; count] };
        let mut waiting: Vec<(usize, Option<usize>)> = roots.iter().rev().map(|&root| (root, None)).collect();
        while let Some((index, parent)) = waiting.pop() {
            // With one parent each, a node met twice can only be a root listed twice or inside the tree.
            if tree.place[index].is_some() {
                let problem = "it is listed twice in the scene, or is its own ancestor";
                return Err(malformed(path, format!("node {index}"), problem, AGAIN));
            }
            let place = tree.nodes.len();
            tree.place[index] = Some(place);
            tree.nodes.push(Node { parent, rest: placement(all[index].transform()) });
            waiting.extend(all[index].children().map(|child| (child.index(), Some(place))));
        }
        Ok(tree)
    }
}

fn placement(transform: Transform) -> Placement {
    match transform {
        Transform::Matrix { matrix } => Placement::Matrix(affine(&matrix.map(|column| column.map(f64::from)))),
        Transform::Decomposed { translation, rotation, scale } => {
            let rotation = DQuat::from_array(rotation.map(f64::from));
            let rotation = if rotation.length_squared() > 0.0 { rotation.normalize() } else { DQuat::IDENTITY };
            Placement::Steps {
                translation: translation.map(f64::from).into(),
                rotation,
                scale: scale.map(f64::from).into(),
            }
        }
    }
}

fn affine(columns: &[[f64; 4]; 4]) -> DAffine3 {
    DAffine3::from_mat4(DMat4::from_cols_array_2d(columns))
}

/// What the nodes visited so far add up to.
struct Scene<'a> {
    path: &'a Path,
    buffers: &'a Buffers<'a>,
    mesh: TriMesh,
    pieces: Vec<Piece>,
    warnings: Vec<String>,
}

impl Scene<'_> {
    fn add(
        &mut self,
        node: &gltf::Node,
        place: usize,
        tree: &Tree,
        primitive: &Primitive,
    ) -> Result<(), GeometryError> {
        let at = format!("node {}, primitive {}", node.index(), primitive.index());
        let Some(position) = primitive.get(&Semantic::Positions) else {
            self.warnings.push(format!("{at}: a primitive without positions was passed over"));
            return Ok(());
        };
        if !matches!(primitive.mode(), Mode::Triangles | Mode::TriangleStrip | Mode::TriangleFan) {
            self.warnings.push(format!("{at}: lines and points were passed over"));
            return Ok(());
        }
        let count = position.count();
        check_count(&self.path.display().to_string(), "vertices", (self.mesh.positions.len() + count) as u64)?;
        let vectors = |rows: Vec<[f64; 3]>| rows.into_iter().map(DVec3::from).collect::<Vec<DVec3>>();
        let rest = vectors(self.buffers.rows::<3>(&position, count)?);

        let indices = match primitive.indices() {
            Some(accessor) => self.buffers.integers(&accessor)?,
            None => (0..count as u32).collect(),
        };
        let mut part =
            TriMesh { positions: rest.clone(), triangles: triangles(primitive.mode(), &indices), ..TriMesh::default() };
        if let Some((triangle, &index)) = part
            .triangles
            .iter()
            .enumerate()
            .find_map(|(t, corners)| corners.iter().find(|&&i| i as usize >= count).map(|index| (t, index)))
        {
            let origin = format!("{}: {at}", self.path.display());
            return Err(GeometryError::IndexOutOfRange { origin, triangle, index, vertices: count });
        }
        let total = self.mesh.triangles.len() + part.triangles.len();
        check_count(&self.path.display().to_string(), "triangles", total as u64)?;
        if let Some(accessor) = primitive.get(&Semantic::Normals) {
            let rows = self.buffers.rows::<3>(&accessor, count)?;
            part.normals = rows.into_iter().map(|n| DVec3::from(n).normalize_or(DVec3::Y)).collect();
        }
        if let Some(accessor) = primitive.get(&Semantic::TexCoords(0)) {
            // glTF counts v downwards from the top of the image.
            let rows = self.buffers.rows::<2>(&accessor, count)?;
            part.uvs = rows.into_iter().map(|[u, v]| DVec2::new(u, 1.0 - v)).collect();
        }
        if let Some(accessor) = primitive.get(&Semantic::Colors(0)) {
            part.colours = if accessor.dimensions() == gltf::accessor::Dimensions::Vec3 {
                let rows = self.buffers.rows::<3>(&accessor, count)?;
                rows.into_iter().map(|[r, g, b]| [r as f32, g as f32, b as f32, 1.0]).collect()
            } else {
                self.buffers.rows::<4>(&accessor, count)?.into_iter().map(|c| c.map(|v| v as f32)).collect()
            };
        }
        let all: Vec<u32> = (0..part.triangles.len() as u32).collect();
        for name in [primitive.material().name(), node.name()].into_iter().flatten() {
            part.face_groups.insert(name.into(), all.clone());
        }

        let mut morphs = Vec::new();
        for target in primitive.morph_targets() {
            morphs.push(match target.positions() {
                Some(accessor) => vectors(self.buffers.rows::<3>(&accessor, count)?),
                None => vec![DVec3::ZERO; count],
            });
        }
        let given = node.weights().or_else(|| node.mesh().and_then(|mesh| mesh.weights())).unwrap_or_default();
        let mut morph_weights: Vec<f64> = given.iter().copied().map(f64::from).collect();
        morph_weights.resize(morphs.len(), 0.0);
        let skin = match node.skin() {
            Some(skin) => self.skin(&skin, tree, primitive, count)?,
            None => None,
        };
        let first = self.mesh.positions.len();
        self.pieces.push(Piece { node: place, first, rest, morphs, morph_weights, skin });
        self.mesh.append(part);
        Ok(())
    }

    /// The bones of a primitive and how they hold its vertices; nothing if it has no weights.
    fn skin(
        &mut self,
        skin: &gltf::Skin,
        tree: &Tree,
        primitive: &Primitive,
        count: usize,
    ) -> Result<Option<Skin>, GeometryError> {
        let place = format!("skin {}", skin.index());
        let mut sets = Vec::new();
        while let (Some(joints), Some(weights)) =
            (primitive.get(&Semantic::Joints(sets.len() as u32)), primitive.get(&Semantic::Weights(sets.len() as u32)))
        {
            sets.push((self.buffers.rows::<4>(&joints, count)?, self.buffers.rows::<4>(&weights, count)?));
        }
        if sets.is_empty() {
            self.warnings.push(format!("{place}: a primitive without joints and weights follows its node instead"));
            return Ok(None);
        }
        let bones = skin.joints().len();
        let binds = match skin.inverse_bind_matrices() {
            Some(accessor) => self.buffers.rows::<16>(&accessor, accessor.count())?,
            None => Vec::new(),
        };
        let mut joints = Vec::with_capacity(bones);
        for (k, joint) in skin.joints().enumerate() {
            let node = tree.place[joint.index()].ok_or_else(|| {
                let problem = format!("its joint, node {}, is not part of the scene", joint.index());
                malformed(self.path, &*place, problem, AGAIN)
            })?;
            let bind = binds.get(k).map_or(DAffine3::IDENTITY, |m| {
                affine(&std::array::from_fn(|column| std::array::from_fn(|row| m[4 * column + row])))
            });
            joints.push((node, bind));
        }
        let mut built = Skin { joints, offsets: vec![0], influences: Vec::new() };
        for v in 0..count {
            let start = built.influences.len();
            for (joint, weight) in sets.iter().flat_map(|(j, w)| j[v].into_iter().zip(w[v])) {
                if weight > 0.0 {
                    if joint as usize >= bones {
                        let problem = format!("vertex {v} names joint {joint}, but the skin has {bones}");
                        return Err(malformed(self.path, place, problem, AGAIN));
                    }
                    built.influences.push((joint as u32, weight));
                }
            }
            let sum: f64 = built.influences[start..].iter().map(|(_, weight)| weight).sum();
            if sum > 0.0 && sum.is_finite() {
                built.influences[start..].iter_mut().for_each(|(_, weight)| *weight /= sum);
            } else {
                // A vertex that nothing holds goes with the first bone, rather than to the origin.
                built.influences.truncate(start);
                built.influences.push((0, 1.0));
            }
            built.offsets.push(built.influences.len() as u32);
        }
        Ok((bones > 0).then_some(built))
    }
}

fn triangles(mode: Mode, indices: &[u32]) -> Vec<[u32; 3]> {
    match mode {
        Mode::TriangleStrip => {
            // Every other triangle of a strip is turned.
            let turned = |(k, w): (usize, &[u32])| if k % 2 == 0 { [w[0], w[1], w[2]] } else { [w[1], w[0], w[2]] };
            indices.windows(3).enumerate().map(turned).collect()
        }
        Mode::TriangleFan => indices.windows(2).skip(1).map(|w| [indices[0], w[0], w[1]]).collect(),
        _ => indices.as_chunks::<3>().0.to_vec(),
    }
}

/// Turns the normals of rigid pieces with their nodes; drops all normals if any piece is skinned or morphs. Nodes that
/// mirror also turn their triangles.
fn place_normals(mesh: &mut TriMesh, motion: &MeshAnimation) {
    if motion.pieces.iter().any(|piece| piece.skin.is_some() || !piece.morphs.is_empty()) {
        mesh.normals.clear();
    }
    let maps = motion.node_maps(None);
    let mut mirrored = vec![false; mesh.positions.len()];
    for piece in motion.pieces.iter().filter(|piece| piece.skin.is_none()) {
        let range = piece.first..piece.first + piece.rest.len();
        let linear = maps[piece.node].matrix3;
        let determinant = linear.determinant();
        mirrored[range.clone()].fill(determinant < 0.0);
        if determinant != 0.0 {
            let covector = linear.inverse().transpose();
            for normal in mesh.normals.get_mut(range).unwrap_or_default() {
                *normal = (covector * *normal).normalize_or(DVec3::Y);
            }
        }
    }
    for triangle in mesh.triangles.iter_mut().filter(|t| mirrored[t[0] as usize]) {
        triangle.swap(1, 2);
    }
}

fn choose_animation<'a>(
    path: &Path,
    document: &'a Document,
    name: Option<&str>,
    warnings: &mut Vec<String>,
) -> Result<Option<gltf::Animation<'a>>, GeometryError> {
    let names: Vec<&str> = document.animations().map(|a| a.name().unwrap_or("unnamed")).collect();
    let Some(name) = name else {
        if names.len() > 1 {
            let list = names.join("\", \"");
            warnings.push(format!("it has the animations \"{list}\"; the first is played, as none is named"));
        }
        return Ok(document.animations().next());
    };
    let found = document.animations().find(|animation| animation.name() == Some(name));
    if found.is_none() {
        let available = match names[..] {
            [] => "the file has none: remove the key".to_string(),
            _ => format!("it has \"{}\"", names.join("\", \"")),
        };
        return Err(GeometryError::UnknownAnimation { path: path.into(), name: name.into(), available });
    }
    Ok(found)
}

fn read_channel(
    buffers: &Buffers,
    tree: &Tree,
    channel: &gltf::animation::Channel,
) -> Result<Option<Channel>, GeometryError> {
    let node = channel.target().node();
    let Some(place) = tree.place[node.index()] else { return Ok(None) };
    let target = match channel.target().property() {
        Property::Translation => Target::Translation,
        Property::Rotation => Target::Rotation,
        Property::Scale => Target::Scale,
        Property::MorphTargetWeights => {
            let mut primitives = node.mesh().into_iter().flat_map(|mesh| mesh.primitives());
            Target::Weights(primitives.next().map_or(0, |primitive| primitive.morph_targets().len()))
        }
    };
    let sampler = channel.sampler();
    let (interpolation, parts) = match sampler.interpolation() {
        gltf::animation::Interpolation::Step => (Interpolation::Step, 1),
        gltf::animation::Interpolation::Linear => (Interpolation::Linear, 1),
        gltf::animation::Interpolation::CubicSpline => (Interpolation::Cubic, 3),
    };
    let refuse = |problem: String| {
        let fix = "remove the channel or export the animation again";
        malformed(buffers.path, format!("animation channel {}", channel.index()), problem, fix)
    };
    let times = buffers.numbers(&sampler.input())?;
    let values = buffers.numbers(&sampler.output())?;
    if times.is_empty() || target.width() == 0 {
        return Ok(None);
    }
    if !times.iter().all(|t| t.is_finite()) || times.windows(2).any(|w| w[0] >= w[1]) {
        return Err(refuse("its times do not increase".into()));
    }
    if values.len() != times.len() * target.width() * parts {
        let needed = times.len() * target.width() * parts;
        return Err(refuse(format!("it has {} numbers for {} keys, which need {needed}", values.len(), times.len())));
    }
    if let Some(k) = values.iter().position(|v| !v.is_finite()) {
        return Err(refuse(format!("number {k} of its values is not finite")));
    }
    Ok(Some(Channel { node: place, target, interpolation, times, values }))
}

#[cfg(test)]
mod tests;
