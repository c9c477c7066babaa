//! STL, as text and binary. Corners at exactly the same place are welded into one vertex.

use super::{LoadedMesh, malformed};
use crate::clean::check_count;
use crate::topology::coincident;
use crate::{GeometryError, TriMesh};
use glam::DVec3;
use std::path::Path;

/// Bytes before the triangles of a binary file: a comment and the count.
const HEADER: usize = 84;
/// Bytes of a triangle: normal, three corners, two bytes for whatever.
const RECORD: usize = 50;

pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<LoadedMesh, GeometryError> {
    // Binary files may also start with "solid", so their exact length decides.
    let count = bytes.get(80..HEADER).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize);
    let announced = count.map(|count| HEADER + RECORD * count);
    let mut loaded = LoadedMesh::from(TriMesh::default());
    let text = bytes.trim_ascii_start().starts_with(b"solid");
    let corners = if announced == Some(bytes.len()) || (!text && announced.is_some_and(|n| n <= bytes.len())) {
        if announced != Some(bytes.len()) {
            loaded.warnings.push("bytes after the last triangle were passed over".into());
        }
        binary(path, &bytes[HEADER..announced.unwrap_or(HEADER)])?
    } else if text {
        ascii(path, bytes)?
    } else {
        let problem = match announced {
            Some(announced) => {
                format!(
                    "its header announces {announced} bytes, but it has {}: it is cut short, or no STL",
                    bytes.len()
                )
            }
            None => format!("it has only {} bytes and does not start with \"solid\"", bytes.len()),
        };
        return Err(malformed(path, "header", problem, "export the mesh again"));
    };
    loaded.mesh = weld(&corners);
    Ok(loaded)
}

fn binary(path: &Path, records: &[u8]) -> Result<Vec<DVec3>, GeometryError> {
    check_count(&path.display().to_string(), "triangles", (records.len() / RECORD) as u64)?;
    let coordinate = |b: &[u8]| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let corner = |b: &[u8]| DVec3::new(coordinate(b), coordinate(&b[4..]), coordinate(&b[8..]));
    Ok(records.chunks_exact(RECORD).flat_map(|record| record[12..48].chunks_exact(12).map(corner)).collect())
}

fn ascii(path: &Path, bytes: &[u8]) -> Result<Vec<DVec3>, GeometryError> {
    let text = String::from_utf8_lossy(bytes);
    let mut corners = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let refuse = |problem: String| {
            malformed(path, format!("line {}", number + 1), problem, "correct the line or export the mesh again")
        };
        let mut words = line.split_whitespace();
        match words.next() {
            Some("vertex") => {
                let mut coordinate = || {
                    let word = words.next().unwrap_or("nothing");
                    word.parse::<f64>().map_err(|_| refuse(format!("expected a coordinate, found \"{word}\"")))
                };
                corners.push(DVec3::new(coordinate()?, coordinate()?, coordinate()?));
            }
            Some("endfacet") if corners.len() % 3 != 0 => {
                return Err(refuse("the facet does not have 3 vertices".into()));
            }
            _ => {}
        }
    }
    if corners.len() % 3 != 0 {
        return Err(malformed(path, "end", "the last facet does not have 3 vertices", "export the mesh again"));
    }
    check_count(&path.display().to_string(), "triangles", (corners.len() / 3) as u64)?;
    Ok(corners)
}

/// A mesh out of loose triangles.
fn weld(corners: &[DVec3]) -> TriMesh {
    let place = coincident(corners);
    let mut number = vec![0; corners.len()];
    let mut mesh = TriMesh::default();
    for (k, &p) in place.iter().enumerate() {
        // The first corner at each place comes before all others there.
        number[k] = if p as usize == k {
            mesh.positions.push(corners[k]);
            mesh.positions.len() as u32 - 1
        } else {
            number[p as usize]
        };
    }
    mesh.triangles = number.chunks_exact(3).map(|t| [t[0], t[1], t[2]]).collect();
    mesh
}

#[cfg(test)]
mod tests {
    use super::super::tests::survives_damage;
    use super::*;
    use crate::primitives::{cuboid, sphere};

    fn as_binary(mesh: &TriMesh) -> Vec<u8> {
        let mut bytes = b"solid but binary".to_vec();
        bytes.resize(80, b' ');
        bytes.extend((mesh.triangles.len() as u32).to_le_bytes());
        for t in 0..mesh.triangles.len() {
            for v in [mesh.face_normal(t)].into_iter().chain(mesh.corners(t)) {
                v.to_array().iter().for_each(|&x| bytes.extend((x as f32).to_le_bytes()));
            }
            bytes.extend([0, 0]);
        }
        bytes
    }

    fn as_text(mesh: &TriMesh) -> String {
        let facet = |t: usize| {
            let corners = mesh.corners(t).map(|p| format!("vertex {} {} {}\n", p.x, p.y, p.z)).concat();
            format!("facet normal 0 0 0\nouter loop\n{corners}endloop\nendfacet\n")
        };
        format!("solid thing\n{}endsolid thing\n", (0..mesh.triangles.len()).map(facet).collect::<String>())
    }

    #[test]
    fn both_kinds_are_read_and_welded() {
        let cube = cuboid(DVec3::splat(2.0));
        for bytes in [as_binary(&cube), as_text(&cube).into_bytes()] {
            let mut mesh = parse(Path::new("cube.stl"), &bytes).unwrap().mesh;
            assert_eq!(mesh.positions.len(), cube.topology().vertices);
            assert_eq!(mesh.triangles.len(), cube.triangles.len());
            assert!(mesh.clean("cube").unwrap().is_empty());
            assert!((mesh.volume() - 8.0).abs() < 1e-12);
        }
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let refusal = |bytes: &[u8]| parse(Path::new("cube.stl"), bytes).unwrap_err().to_string();
        let mut bytes = as_binary(&sphere(1.0, 0));
        bytes[0] = b'S';
        bytes.pop();
        assert!(refusal(&bytes).contains("cut short"));
        assert!(refusal(b"nonsense").contains("only 8 bytes"));
        assert!(refusal(b"solid\nvertex 0 0 0\nvertex 1 two 0\n").contains("line 3"));
        assert!(refusal(b"solid\nvertex 0 0 0\nendfacet\n").contains("line 3"));
        bytes.extend([0; 60]);
        assert!(parse(Path::new("cube.stl"), &bytes).unwrap().warnings[0].contains("after the last"));
    }

    #[test]
    fn damage_is_survived() {
        let ball = sphere(1.0, 1);
        survives_damage(&as_binary(&ball), |bytes| parse(Path::new("a.stl"), bytes));
        survives_damage(as_text(&sphere(1.0, 0)).as_bytes(), |bytes| parse(Path::new("a.stl"), bytes));
    }
}
