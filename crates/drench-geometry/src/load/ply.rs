//! PLY, as text and binary of both byte orders: positions, normals, uvs, colours, polygons.
//!
//! Every other number of the vertices whose values all lie in 0..1 becomes a vertex group of its name.

use super::{LoadedMesh, malformed, polygon::triangulate};
use crate::clean::check_count;
use crate::{GeometryError, TriMesh};
use glam::{DVec2, DVec3};
use ply_rs_bw::parser::{ParseError, Parser, Reader};
use ply_rs_bw::ply::{ElementDef, Property, PropertyAccess, PropertyAccessResult, PropertyType, ScalarType};
use std::path::Path;

/// The numbers of one element in the order of the header, and its last list of whole numbers.
#[derive(Default)]
struct Row {
    numbers: Vec<f64>,
    list: Option<Vec<i64>>,
}

impl PropertyAccess for Row {
    fn new() -> Self {
        Self::default()
    }

    fn set_property(&mut self, name: &str, property: Property) -> PropertyAccessResult {
        let indices = name == "vertex_indices" || name == "vertex_index";
        let list = match property {
            Property::Char(v) => return self.number(v.into()),
            Property::UChar(v) => return self.number(v.into()),
            Property::Short(v) => return self.number(v.into()),
            Property::UShort(v) => return self.number(v.into()),
            Property::Int(v) => return self.number(v.into()),
            Property::UInt(v) => return self.number(v.into()),
            Property::Float(v) => return self.number(v.into()),
            Property::Double(v) => return self.number(v),
            Property::ListChar(v) => v.into_iter().map(i64::from).collect(),
            Property::ListUChar(v) => v.into_iter().map(i64::from).collect(),
            Property::ListShort(v) => v.into_iter().map(i64::from).collect(),
            Property::ListUShort(v) => v.into_iter().map(i64::from).collect(),
            Property::ListInt(v) => v.into_iter().map(i64::from).collect(),
            Property::ListUInt(v) => v.into_iter().map(i64::from).collect(),
            Property::ListFloat(_) | Property::ListDouble(_) => return PropertyAccessResult::Ignored,
        };
        if !indices {
            return PropertyAccessResult::Ignored;
        }
        self.list = Some(list);
        PropertyAccessResult::Set
    }
}

impl Row {
    fn number(&mut self, value: f64) -> PropertyAccessResult {
        self.numbers.push(value);
        PropertyAccessResult::Set
    }
}

pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<LoadedMesh, GeometryError> {
    let origin = path.display().to_string();
    let refuse = |error: ParseError| {
        let place = error.line().map_or("data".into(), |line| format!("line {line}"));
        // The message may quote the whole line on several lines of its own.
        let message = error.to_string();
        let problem = message.split("\n\t").next().unwrap_or("unreadable").trim_end_matches('.');
        // It begins with the line again.
        let problem =
            problem.split_once(": ").filter(|(line, _)| line.starts_with("Line ")).map_or(problem, |(_, rest)| rest);
        malformed(path, place, problem, "correct it or export the mesh again")
    };
    let parser = Parser::<Row>::new();
    let mut reader = Reader::new(bytes);
    let header = parser.read_header(&mut reader).map_err(refuse)?;
    for element in header.elements.values() {
        check_count(&origin, "PLY elements", element.count as u64)?;
    }
    let mut loaded = LoadedMesh::from(TriMesh::default());
    let mut polygons = None;
    for element in header.elements.values() {
        let rows = parser.read_payload_for_element(&mut reader, element, &header).map_err(refuse)?;
        match element.name.as_str() {
            "vertex" => vertices(path, element, &rows, &mut loaded.mesh)?,
            "face" => polygons = Some(rows),
            other => loaded.warnings.push(format!("{} elements \"{other}\" were passed over", element.count)),
        }
    }
    for (number, row) in polygons.unwrap_or_default().iter().enumerate() {
        let count = loaded.mesh.positions.len();
        let indices = row.list.as_deref().unwrap_or_default();
        let checked: Result<Vec<u32>, i64> =
            indices.iter().map(|&i| u32::try_from(i).ok().filter(|&u| (u as usize) < count).ok_or(i)).collect();
        let corners = checked.map_err(|index| {
            let problem = format!("it names vertex {index}, but there are {count} (numbered from 0)");
            malformed(path, format!("face {number}"), problem, "export the mesh again")
        })?;
        let places: Vec<DVec3> = corners.iter().map(|&i| loaded.mesh.positions[i as usize]).collect();
        loaded.mesh.triangles.extend(triangulate(&places).iter().map(|t| t.map(|k| corners[k])));
    }
    Ok(loaded)
}

fn vertices(path: &Path, element: &ElementDef, rows: &[Row], mesh: &mut TriMesh) -> Result<(), GeometryError> {
    let scalars: Vec<(&str, &ScalarType)> = element
        .properties
        .values()
        .filter_map(|property| match &property.data_type {
            PropertyType::Scalar(kind) => Some((property.name.as_str(), kind)),
            PropertyType::List(..) => None,
        })
        .collect();
    let column = |names: &[&str]| scalars.iter().position(|(name, _)| names.contains(name));
    let columns = |names: [&[&str]; 3]| {
        let [a, b, c] = names.map(column);
        Some([a?, b?, c?])
    };
    let vector = |row: &Row, at: [usize; 3]| DVec3::from(at.map(|k| row.numbers[k]));
    let position = columns([&["x"], &["y"], &["z"]]).ok_or_else(|| {
        malformed(path, "header", "the vertices have no x, y and z", "export the mesh with vertex positions")
    })?;
    mesh.positions = rows.iter().map(|row| vector(row, position)).collect();
    let mut used = position.to_vec();
    if let Some(normal) = columns([&["nx"], &["ny"], &["nz"]]) {
        mesh.normals = rows.iter().map(|row| vector(row, normal).normalize_or(DVec3::Y)).collect();
        used.extend(normal);
    }
    if let (Some(u), Some(v)) = (column(&["s", "u", "texture_u"]), column(&["t", "v", "texture_v"])) {
        mesh.uvs = rows.iter().map(|row| DVec2::new(row.numbers[u], row.numbers[v])).collect();
        used.extend([u, v]);
    }
    if let Some(rgb) = columns([&["red", "r"], &["green", "g"], &["blue", "b"]]) {
        let alpha = column(&["alpha", "a"]);
        let channel = |row: &Row, k: usize| (row.numbers[k] / full_scale(scalars[k].1)) as f32;
        mesh.colours = rows
            .iter()
            .map(|row| {
                let [r, g, b] = rgb.map(|k| channel(row, k));
                [r, g, b, alpha.map_or(1.0, |k| channel(row, k))]
            })
            .collect();
        used.extend(rgb);
        used.extend(alpha);
    }
    for (k, (name, _)) in scalars.iter().enumerate().filter(|(k, _)| !used.contains(k)) {
        if !rows.is_empty() && rows.iter().all(|row| (0.0..=1.0).contains(&row.numbers[k])) {
            let weights = rows.iter().map(|row| row.numbers[k] as f32).collect();
            mesh.vertex_groups.insert((*name).into(), weights);
        }
    }
    Ok(())
}

/// The value that stands for 1 in a colour of this type.
fn full_scale(kind: &ScalarType) -> f64 {
    match kind {
        ScalarType::Char | ScalarType::UChar => 255.0,
        ScalarType::Short | ScalarType::UShort => 65535.0,
        ScalarType::Int | ScalarType::UInt => f64::from(u32::MAX),
        ScalarType::Float | ScalarType::Double => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::survives_damage;
    use super::*;

    const HEADER: &str = "element vertex 5\nproperty float x\nproperty float y\nproperty double z\n\
        property uchar red\nproperty uchar green\nproperty uchar blue\nproperty float length\nproperty float quality\n\
        element face 5\nproperty list uchar int vertex_indices\nend_header\n";

    /// A pyramid on a square.
    fn pyramid() -> (Vec<[f64; 8]>, Vec<Vec<i32>>) {
        let place = [[1.0, 0.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 0.0, -1.0], [-1.0, 0.0, 1.0], [0.0, 1.5, 0.0]];
        let rows = place.iter().enumerate().map(|(k, p)| [p[0], p[1], p[2], 255.0, 0.0, 51.0, 0.25 * k as f64, 7.0]);
        (rows.collect(), vec![vec![0, 3, 2, 1], vec![0, 1, 4], vec![1, 2, 4], vec![2, 3, 4], vec![3, 0, 4]])
    }

    fn ascii() -> Vec<u8> {
        let (rows, faces) = pyramid();
        let mut text = format!("ply\nformat ascii 1.0\ncomment made up\n{HEADER}");
        for row in rows {
            text +=
                &format!("{} {} {} {} {} {} {} {}\n", row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]);
        }
        for face in faces {
            let list: Vec<String> = face.iter().map(i32::to_string).collect();
            text += &format!("{} {}\n", face.len(), list.join(" "));
        }
        text.into_bytes()
    }

    fn binary(big: bool) -> Vec<u8> {
        let (rows, faces) = pyramid();
        let order = if big { "big" } else { "little" };
        let mut bytes = format!("ply\nformat binary_{order}_endian 1.0\n{HEADER}").into_bytes();
        let put = |bytes: &mut Vec<u8>, little: &[u8]| {
            let mut word = little.to_vec();
            if big {
                word.reverse();
            }
            bytes.extend(word);
        };
        for row in rows {
            for k in [0, 1] {
                put(&mut bytes, &(row[k] as f32).to_le_bytes());
            }
            put(&mut bytes, &row[2].to_le_bytes());
            bytes.extend([row[3] as u8, row[4] as u8, row[5] as u8]);
            for k in [6, 7] {
                put(&mut bytes, &(row[k] as f32).to_le_bytes());
            }
        }
        for face in faces {
            bytes.push(face.len() as u8);
            face.iter().for_each(|i| put(&mut bytes, &i.to_le_bytes()));
        }
        bytes
    }

    #[test]
    fn all_three_encodings_give_the_same_mesh() {
        let read = |bytes: &[u8]| parse(Path::new("pyramid.ply"), bytes).unwrap().mesh;
        let mut mesh = read(&ascii());
        assert_eq!(mesh, read(&binary(false)));
        assert_eq!(mesh, read(&binary(true)));
        assert!(mesh.clean("pyramid").unwrap().is_empty());
        assert!((mesh.volume() - 2.0).abs() < 1e-12);
        assert_eq!(mesh.triangles.len(), 6);
        assert_eq!(mesh.colours[2], [1.0, 0.0, 0.2, 1.0]);
        // "quality" is 7 everywhere, no weight.
        assert_eq!(mesh.vertex_groups.keys().collect::<Vec<_>>(), ["length"]);
        assert_eq!(mesh.vertex_groups["length"], [0.0, 0.25, 0.5, 0.75, 1.0]);
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let refusal = |text: &str| parse(Path::new("p.ply"), text.as_bytes()).unwrap_err().to_string();
        let good = String::from_utf8(ascii()).unwrap();
        let text = refusal(&good.replace("3 0 4", "3 0 9"));
        assert!(text.contains("face 4") && text.contains("vertex 9") && text.contains("there are 5"), "{text}");
        let text = refusal(&good.replace("3 3 0 4\n", ""));
        assert!(text.contains("p.ply: line") && text.contains("end of file"), "{text}");
        let text = refusal(&good.replace("vertex 5", "vertex 99999999999"));
        assert!(text.contains("99999999999") && text.contains("limit"), "{text}");
        let text = refusal(&good.replace("property float x\n", "property float a\n"));
        assert!(text.contains("no x, y and z"), "{text}");
        assert!(refusal("plum\n").contains("p.ply"));
    }

    #[test]
    fn damage_is_survived() {
        for bytes in [ascii(), binary(false), binary(true)] {
            survives_damage(&bytes, |bytes| parse(Path::new("p.ply"), bytes));
        }
    }
}
