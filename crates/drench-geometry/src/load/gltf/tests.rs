//! Small files built here, posed, and compared with closed forms.

use super::super::tests::survives_damage;
use super::*;
use crate::load::load_mesh;
use crate::primitives::{cylinder, sphere};
use approx::assert_relative_eq;

/// A file under construction: JSON lists and the binary they point into.
#[derive(Default)]
struct File {
    binary: Vec<u8>,
    views: Vec<String>,
    accessors: Vec<String>,
    lists: Vec<(&'static str, String)>,
}

impl File {
    fn bytes(&mut self, bytes: &[u8], kind: &str, component: u32, count: usize, extra: &str) -> usize {
        let (view, offset) = (self.views.len(), self.binary.len());
        self.views.push(format!(r#"{{"buffer":0,"byteOffset":{offset},"byteLength":{}}}"#, bytes.len()));
        self.binary.extend(bytes);
        self.binary.resize(self.binary.len().next_multiple_of(4), 0);
        self.accessors.push(format!(
            r#"{{"bufferView":{view},"componentType":{component},"count":{count},"type":"{kind}"{extra}}}"#
        ));
        self.accessors.len() - 1
    }

    fn floats(&mut self, kind: &str, width: usize, values: &[f64]) -> usize {
        let bytes: Vec<u8> = values.iter().flat_map(|&v| (v as f32).to_le_bytes()).collect();
        self.bytes(&bytes, kind, 5126, values.len() / width, "")
    }

    fn vectors(&mut self, values: &[DVec3]) -> usize {
        self.floats("VEC3", 3, &values.iter().flat_map(|v| v.to_array()).collect::<Vec<_>>())
    }

    fn times(&mut self, times: &[f64]) -> usize {
        self.floats("SCALAR", 1, times)
    }

    fn indices(&mut self, mesh: &TriMesh) -> usize {
        let bytes: Vec<u8> = mesh.triangles.iter().flatten().flat_map(|&i| (i as u16).to_le_bytes()).collect();
        self.bytes(&bytes, "SCALAR", 5123, 3 * mesh.triangles.len(), "")
    }

    fn list(&mut self, name: &'static str, content: impl Into<String>) {
        self.lists.push((name, content.into()));
    }

    fn json(&self, uri: &str) -> String {
        let mut json = String::from(r#"{"asset":{"version":"2.0"}"#);
        for (name, content) in &self.lists {
            json += &format!(r#","{name}":[{content}]"#);
        }
        json += &format!(r#","accessors":[{}],"bufferViews":[{}]"#, self.accessors.join(","), self.views.join(","));
        json + &format!(r#","buffers":[{{"byteLength":{}{uri}}}]}}"#, self.binary.len())
    }

    fn glb(&self) -> Vec<u8> {
        let mut json = self.json("").into_bytes();
        json.resize(json.len().next_multiple_of(4), b' ');
        let mut bytes = b"glTF".to_vec();
        let total = 12 + 8 + json.len() + 8 + self.binary.len();
        [2, total as u32, json.len() as u32].iter().for_each(|v| bytes.extend(v.to_le_bytes()));
        bytes.extend(b"JSON");
        bytes.extend(json);
        bytes.extend((self.binary.len() as u32).to_le_bytes());
        bytes.extend(b"BIN\0");
        bytes.extend(&self.binary);
        bytes
    }
}

fn read(bytes: &[u8]) -> Result<LoadedMesh, GeometryError> {
    parse(Path::new("thing.glb"), bytes, 1.0, None)
}

fn refusal(bytes: &[u8]) -> String {
    read(bytes).unwrap_err().to_string()
}

fn assert_posed(loaded: &LoadedMesh, time: f64, expected: impl Fn(usize) -> DVec3) {
    let mut posed = vec![DVec3::NAN; loaded.mesh.positions.len()];
    let animation = loaded.animation.as_ref().unwrap();
    assert_eq!(animation.vertex_count(), posed.len());
    animation.pose_at(time, &mut posed);
    for (v, p) in posed.iter().enumerate() {
        assert!(p.distance(expected(v)) < 1e-5, "time {time}, vertex {v}: {p} for {}", expected(v));
    }
}

/// A cylinder from y = -1 to 1 on two bones that meet at the origin; the upper one bends by a right angle in 2 s.
fn bending_cylinder() -> (File, TriMesh) {
    let mesh = cylinder(0.2, 2.0, 1);
    let mut file = File::default();
    let (position, index) = (file.vectors(&mesh.positions), file.indices(&mesh));
    let joints: Vec<u8> = mesh.positions.iter().flat_map(|_| [0, 1, 0, 0]).collect();
    let joints = file.bytes(&joints, "VEC4", 5121, mesh.positions.len(), "");
    let weights: Vec<f64> = mesh.positions.iter().flat_map(|p| [1.0 - upper(*p), upper(*p), 0.0, 0.0]).collect();
    let weights = file.floats("VEC4", 4, &weights);
    // The bones stand at y = -1 and 0, so binding moves the mesh up by 1 and by 0.
    let bind = |up: f64| [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, up, 0.0, 1.0];
    let binds = file.floats("MAT4", 16, &[bind(1.0), bind(0.0)].concat());
    let times = file.times(&[0.0, 2.0]);
    let turn = [DQuat::IDENTITY, DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2)];
    let turns = file.floats("VEC4", 4, &turn.iter().flat_map(|q| q.to_array()).collect::<Vec<_>>());
    file.list(
        "meshes",
        format!(
            r#"{{"primitives":[{{"attributes":{{"POSITION":{position},"JOINTS_0":{joints},"WEIGHTS_0":{weights}}},
            "indices":{index},"material":0}}]}}"#
        ),
    );
    file.list("materials", r#"{"name":"skin"}"#);
    // A skinned mesh does not follow its own node.
    file.list(
        "nodes",
        r#"{"mesh":0,"skin":0,"translation":[7,7,7]},{"translation":[0,-1,0],"children":[2]},{"translation":[0,1,0]}"#,
    );
    file.list("skins", format!(r#"{{"joints":[1,2],"inverseBindMatrices":{binds}}}"#));
    file.list(
        "animations",
        format!(
            r#"{{"name":"bend","channels":[{{"sampler":0,"target":{{"node":2,"path":"rotation"}}}}],
            "samplers":[{{"input":{times},"output":{turns}}}]}}"#
        ),
    );
    (file, mesh)
}

/// Share of the upper bone.
fn upper(p: DVec3) -> f64 {
    (0.5 + p.y).clamp(0.0, 1.0)
}

#[test]
fn a_skinned_cylinder_bends() {
    let (file, mesh) = bending_cylinder();
    let mut loaded = read(&file.glb()).unwrap();
    assert!(loaded.warnings.is_empty());
    assert!(loaded.mesh.clean("cylinder").unwrap().is_empty());
    assert_eq!(loaded.mesh.face_groups["skin"].len(), mesh.triangles.len());
    for (v, p) in loaded.mesh.positions.iter().enumerate() {
        assert!(p.distance(mesh.positions[v]) < 1e-6);
    }
    assert_eq!(loaded.animation.as_ref().unwrap().duration(), 2.0);
    for (time, angle) in [(-1.0, 0.0_f64), (0.0, 0.0), (0.5, 22.5), (1.0, 45.0), (2.0, 90.0), (5.0, 90.0)] {
        let turn = DQuat::from_rotation_z(angle.to_radians());
        assert_posed(&loaded, time, |v| {
            let p = mesh.positions[v];
            p.lerp(turn * p, upper(p))
        });
    }
}

/// An octahedron whose second morph target is a shear, weighted by cubic keys, and whose first is always half on.
fn morphing_octahedron() -> (File, TriMesh) {
    let mesh = sphere(1.0, 0);
    let mut file = File::default();
    let (position, index) = (file.vectors(&mesh.positions), file.indices(&mesh));
    let grown = file.vectors(&mesh.positions);
    let sheared = file.vectors(&mesh.positions.iter().map(|p| DVec3::X * p.y).collect::<Vec<_>>());
    let times = file.times(&[0.0, 1.0]);
    // Hermite keys of w(t) = t²: values 0 and 1, slopes 0 and 2; the first weight stays at 0.5.
    let keys = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.0], [0.0, 2.0], [0.5, 1.0], [0.0, 2.0]];
    let weights = file.floats("SCALAR", 1, &keys.concat());
    file.list(
        "meshes",
        format!(
            r#"{{"primitives":[{{"attributes":{{"POSITION":{position}}},"indices":{index},
            "targets":[{{"POSITION":{grown}}},{{"POSITION":{sheared}}}]}}],"weights":[0.5,0]}}"#
        ),
    );
    file.list("nodes", r#"{"mesh":0,"name":"gem","scale":[2,2,2]}"#);
    file.list(
        "animations",
        format!(
            r#"{{"channels":[{{"sampler":0,"target":{{"node":0,"path":"weights"}}}}],
            "samplers":[{{"input":{times},"output":{weights},"interpolation":"CUBICSPLINE"}}]}}"#
        ),
    );
    (file, mesh)
}

#[test]
fn an_octahedron_morphs() {
    let (file, mesh) = morphing_octahedron();
    let mut loaded = parse(Path::new("thing.glb"), &file.glb(), 0.1, None).unwrap();
    assert_relative_eq!(loaded.mesh.volume(), 36.0, epsilon = 1e-4); // 1.5 times the size, scaled by 2, before the unit
    for time in [0.0, 0.25, 0.5, 1.0, 1.5] {
        let shear = f64::powi(f64::min(time, 1.0), 2);
        assert_posed(&loaded, time, |v| {
            let p = mesh.positions[v];
            0.1 * 2.0 * (1.5 * p + DVec3::X * shear * p.y)
        });
    }
    assert!(loaded.mesh.clean("gem").unwrap().is_empty());
    assert!(loaded.mesh.face_groups.contains_key("gem"));
}

/// An octahedron on an arm that turns in steps, while it slides along it; a mirrored copy stands still.
fn swinging_octahedra() -> (File, TriMesh) {
    let mesh = sphere(0.5, 0);
    let mut file = File::default();
    let (position, index) = (file.vectors(&mesh.positions), file.indices(&mesh));
    let normal = file.vectors(&mesh.normals);
    let uv = file.floats("VEC2", 2, &mesh.uvs.iter().flat_map(|uv| uv.to_array()).collect::<Vec<_>>());
    let colour: Vec<u8> = mesh.positions.iter().flat_map(|_| [255, 0, 51, 255]).collect();
    let colour = file.bytes(&colour, "VEC4", 5121, mesh.positions.len(), r#","normalized":true"#);
    let times = file.times(&[0.0, 1.0, 2.0]);
    let turns: Vec<f64> =
        [0.0, 90.0, 180.0_f64].iter().flat_map(|a| DQuat::from_rotation_y(a.to_radians()).to_array()).collect();
    let turns = file.floats("VEC4", 4, &turns);
    let slides = file.floats("VEC3", 3, &[1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 4.0, 0.0, 0.0]);
    file.list(
        "meshes",
        format!(
            r#"{{"primitives":[{{"attributes":
            {{"POSITION":{position},"NORMAL":{normal},"TEXCOORD_0":{uv},"COLOR_0":{colour}}},"indices":{index}}}]}}"#
        ),
    );
    file.list(
        "nodes",
        r#"{"name":"arm","children":[1]},{"name":"hand","mesh":0,"translation":[1,0,0]},
        {"mesh":0,"matrix":[-1,0,0,0, 0,1,0,0, 0,0,1,0, 0,5,0,1]}"#,
    );
    file.list(
        "animations",
        format!(
            r#"{{"name":"swing","channels":[{{"sampler":0,"target":{{"node":0,"path":"rotation"}}}},
            {{"sampler":1,"target":{{"node":1,"path":"translation"}}}}],
            "samplers":[{{"input":{times},"output":{turns},"interpolation":"STEP"}},{{"input":{times},"output":{slides}}}]}},
            {{"name":"rest","channels":[],"samplers":[]}}"#
        ),
    );
    (file, mesh)
}

#[test]
fn nodes_carry_their_children() {
    let (file, mesh) = swinging_octahedra();
    let mut loaded = read(&file.glb()).unwrap();
    assert!(loaded.warnings[0].contains("\"swing\", \"rest\""));
    let half = mesh.positions.len();
    for (time, angle, slide) in
        [(0.0, 0.0_f64, 1.0), (0.5, 0.0, 1.5), (1.0, 90.0, 2.0), (1.9, 90.0, 3.8), (2.0, 180.0, 4.0)]
    {
        assert_posed(&loaded, time, |v| match v.checked_sub(half) {
            None => DQuat::from_rotation_y(angle.to_radians()) * (mesh.positions[v] + DVec3::X * slide),
            Some(v) => mesh.positions[v] * DVec3::new(-1.0, 1.0, 1.0) + 5.0 * DVec3::Y,
        });
    }
    // The mirrored copy faces outwards and its normals with it.
    assert!(loaded.mesh.clean("gems").unwrap().is_empty());
    assert_relative_eq!(loaded.mesh.volume(), 1.0 / 3.0, epsilon = 1e-5);
    for t in 0..loaded.mesh.triangles.len() {
        let normal = loaded.mesh.normals[loaded.mesh.triangles[t][0] as usize];
        assert_relative_eq!(normal.dot(loaded.mesh.face_normal(t)), 1.0 / f64::sqrt(3.0), epsilon = 1e-5);
    }
    assert_eq!(loaded.mesh.colours[3], [1.0, 0.0, 0.2, 1.0]);
    assert_eq!(loaded.mesh.uvs[0].y, 1.0 - mesh.uvs[0].y);
    assert_eq!(loaded.mesh.face_groups["hand"].len(), mesh.triangles.len());
}

#[test]
fn animations_are_chosen_by_name() {
    let (file, _) = swinging_octahedra();
    let named = |name| parse(Path::new("thing.glb"), &file.glb(), 1.0, Some(name));
    assert!(named("swing").unwrap().animation.is_some());
    assert!(named("rest").unwrap().animation.is_none());
    let text = named("hop").unwrap_err().to_string();
    assert!(text.contains("\"hop\"") && text.contains("\"swing\""), "{text}");
}

#[test]
fn buffers_come_from_data_uris_and_files() {
    let (file, _) = morphing_octahedron();
    let expected = read(&file.glb()).unwrap().mesh;
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in file.binary.chunks(3) {
        let bits = three.iter().fold(0_u32, |bits, &byte| (bits << 8) | u32::from(byte)) << (8 * (3 - three.len()));
        for k in 0..4 {
            let digit = alphabet[(bits >> (18 - 6 * k)) as usize & 63];
            text.push(if k <= three.len() { digit as char } else { '=' });
        }
    }
    let json = file.json(&format!(r#","uri":"data:application/octet-stream;base64,{text}""#));
    assert_eq!(read(json.as_bytes()).unwrap().mesh, expected);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gem.gltf");
    std::fs::write(&path, file.json(r#","uri":"my%20gem.bin""#)).unwrap();
    let text = load_mesh(&path, 1.0, None).unwrap_err().to_string();
    assert!(text.contains("gem.gltf") && text.contains("buffer 0") && text.contains("my gem.bin"), "{text}");
    std::fs::write(folder.path().join("my gem.bin"), &file.binary).unwrap();
    assert_eq!(load_mesh(&path, 1.0, None).unwrap().mesh.positions, expected.positions);
    std::fs::write(folder.path().join("my gem.bin"), &file.binary[..10]).unwrap();
    let text = load_mesh(&path, 1.0, None).unwrap_err().to_string();
    assert!(text.contains("10 bytes"), "{text}");
}

#[test]
fn malformed_files_are_refused_with_their_place() {
    let (file, _) = bending_cylinder();
    let json = file.json("");
    assert!(refusal(json.as_bytes()).contains("no uri"));
    assert!(refusal(b"{}").contains("thing.glb"));
    assert!(refusal(b"glTF\x01\0\0\0").contains("version 1"));

    let damaged = |from: &str, to: &str| {
        let (mut file, _) = bending_cylinder();
        let swap = |text: &mut String| *text = text.replacen(from, to, 1);
        file.lists.iter_mut().for_each(|(_, text)| swap(text));
        file.accessors.iter_mut().for_each(&swap);
        file.views.iter_mut().for_each(swap);
        assert!(file.json("") != json, "{from}");
        refusal(&file.glb())
    };
    let count = cylinder(0.2, 2.0, 1).positions.len();
    assert!(damaged(&format!("\"count\":{count}"), "\"count\":4000").contains("beyond its buffer view"));
    assert!(damaged("\"byteLength\":", "\"byteLength\":99").contains("beyond the"));
    assert!(damaged("\"joints\":[1,2]", "\"joints\":[1]").contains("names joint 1"));
    assert!(damaged("\"children\":[2]", "\"children\":[2,1]").contains("node 1"));
    assert!(damaged("\"path\":\"rotation\"", "\"path\":\"colour\"").contains("animation 0, channel 0"));
    assert!(damaged("\"node\":2", "\"node\":3").contains("node 3"));
    assert!(damaged("\"POSITION\":0", "\"POSITION\":40").contains("mesh 0"));
    assert!(damaged("\"mesh\":0", "\"mesh\":5").contains("mesh"));
    assert!(
        damaged(
            "\"componentType\":5126,\"count\":2,\"type\":\"SCALAR\"",
            "\"componentType\":5126,\"count\":1,\"type\":\"SCALAR\""
        )
        .contains("keys")
    );
}

#[test]
fn sparse_accessors_strips_and_fans_are_read() {
    let mut file = File::default();
    let flat = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::X + DVec3::Y];
    let position = file.vectors(&flat);
    let moved: Vec<u8> = [0.0_f32, 0.0, 3.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let index_accessor = file.bytes(&[3, 0], "SCALAR", 5123, 1, "");
    let value_accessor = file.bytes(&moved, "VEC3", 5126, 1, "");
    let sparse = format!(
        r#","sparse":{{"count":1,"indices":{{"bufferView":{index_accessor},"componentType":5123}},
        "values":{{"bufferView":{value_accessor}}}}}"#
    );
    let end = file.accessors[position].len() - 1;
    file.accessors[position].insert_str(end, &sparse);
    file.list(
        "meshes",
        format!(r#"{{"primitives":[{{"attributes":{{"POSITION":{position}}},"mode":5}},{{"attributes":{{"POSITION":{position}}},"mode":6}},
        {{"attributes":{{"POSITION":{position}}},"mode":1}}]}}"#),
    );
    file.list("nodes", r#"{"mesh":0}"#);
    let loaded = read(&file.glb()).unwrap();
    assert_eq!(loaded.mesh.positions[3], 3.0 * DVec3::Z);
    assert_eq!(loaded.mesh.triangles, [[0, 1, 2], [2, 1, 3], [4, 5, 6], [4, 6, 7]]);
    assert!(loaded.warnings[0].contains("lines"));
}

#[test]
fn damage_is_survived() {
    for file in [bending_cylinder().0, morphing_octahedron().0, swinging_octahedra().0] {
        survives_damage(&file.glb(), read);
    }
}
