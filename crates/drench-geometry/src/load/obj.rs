//! Wavefront OBJ: positions with optional colours, uvs, normals, polygons, groups, objects and materials.
//!
//! Each group, object and material becomes a face group of its name. Lines, points, curves and the contents of
//! material libraries are passed over.

use super::{LoadedMesh, malformed, polygon::triangulate};
use crate::clean::check_count;
use crate::{GeometryError, TriMesh};
use glam::{DVec2, DVec3};
use std::collections::BTreeMap;
use std::path::Path;

/// Numbers of the position, uv and normal that meet at a corner of a face, from 0.
type Corner = (u32, Option<u32>, Option<u32>);

#[derive(Default)]
struct Reader<'a> {
    positions: Vec<DVec3>,
    /// Colours of the positions; shorter than them if the last ones have none.
    colours: Vec<[f32; 4]>,
    uvs: Vec<DVec2>,
    normals: Vec<DVec3>,
    mesh: TriMesh,
    /// The last vertex made at each position, and for each vertex the one made there before it.
    last_at: Vec<Option<u32>>,
    before: Vec<Option<u32>>,
    /// The corner that each vertex was made for.
    made_for: Vec<Corner>,
    /// Corners of the face being read.
    corners: Vec<Corner>,
    groups: Vec<&'a str>,
    object: Option<&'a str>,
    material: Option<&'a str>,
    /// The names above that apply to the next face, each once.
    names: Vec<&'a str>,
    face_groups: BTreeMap<&'a str, Vec<u32>>,
    lines_and_points: usize,
}

pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<LoadedMesh, GeometryError> {
    // Names and comments may be in any encoding; numbers are not affected.
    let text = String::from_utf8_lossy(bytes);
    let mut reader = Reader::default();
    let mut lines = text.lines().enumerate();
    let mut joined;
    while let Some((number, mut line)) = lines.next() {
        // A backslash continues the line.
        if line.ends_with('\\') {
            joined = String::new();
            while let Some(start) = line.strip_suffix('\\') {
                joined.push_str(start);
                joined.push(' ');
                line = lines.next().map_or("", |(_, next)| next);
            }
            joined.push_str(line);
            // Only data lines are ever continued in practice; names keep to one line.
            reader.data(&joined).map_err(|problem| explain(path, number, problem))?;
            continue;
        }
        if !reader.name(line) {
            reader.data(line).map_err(|problem| explain(path, number, problem))?;
        }
        check_count(&path.display().to_string(), "triangles", reader.mesh.triangles.len() as u64)?;
    }
    Ok(reader.finish())
}

fn explain(path: &Path, line: usize, problem: String) -> GeometryError {
    malformed(path, format!("line {}", line + 1), problem, "correct the line or export the mesh again")
}

impl<'a> Reader<'a> {
    /// Takes a line that names things; returns whether it was one.
    fn name(&mut self, line: &'a str) -> bool {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let name = (!rest.is_empty()).then_some(rest);
        match word {
            "g" => self.groups = rest.split_whitespace().filter(|&g| g != "default").collect(),
            "o" => self.object = name,
            "usemtl" => self.material = name,
            _ => return false,
        }
        self.names = self.groups.iter().copied().chain(self.object).chain(self.material).collect();
        self.names.sort_unstable();
        self.names.dedup();
        true
    }

    /// Takes a line of numbers; words that are not known are passed over, as the format asks.
    fn data(&mut self, line: &str) -> Result<(), String> {
        let line = line.split('#').next().unwrap_or("");
        let mut words = line.split_whitespace();
        match words.next() {
            Some("v") => {
                let v = numbers(words)?;
                if v.len() < 3 {
                    return Err(format!("a vertex needs 3 coordinates, found {}", v.len()));
                }
                // x y z, or x y z w, or x y z r g b, or all of them.
                let colour = match v.len() {
                    6 => Some(&v[3..6]),
                    7.. => Some(&v[4..7]),
                    _ => None,
                };
                if let Some(rgb) = colour {
                    self.colours.resize(self.positions.len(), [1.0; 4]);
                    self.colours.push([rgb[0] as f32, rgb[1] as f32, rgb[2] as f32, 1.0]);
                }
                self.positions.push(DVec3::new(v[0], v[1], v[2]));
            }
            Some("vt") => {
                let v = numbers(words)?;
                let u = *v.first().ok_or("a texture coordinate needs a number")?;
                self.uvs.push(DVec2::new(u, v.get(1).copied().unwrap_or(0.0)));
            }
            Some("vn") => match numbers(words)?[..] {
                [x, y, z, ..] => self.normals.push(DVec3::new(x, y, z)),
                _ => return Err("a normal needs 3 coordinates".into()),
            },
            Some("f" | "fo") => self.face(words)?,
            Some("l" | "p") => self.lines_and_points += 1,
            _ => {}
        }
        Ok(())
    }

    fn face<'w>(&mut self, words: impl Iterator<Item = &'w str>) -> Result<(), String> {
        self.corners.clear();
        for word in words {
            let mut parts = word.split('/');
            let position = index(parts.next(), self.positions.len(), "vertex")?;
            let position = position.ok_or_else(|| format!("the corner \"{word}\" names no vertex"))?;
            let uv = index(parts.next(), self.uvs.len(), "texture coordinate")?;
            let normal = index(parts.next(), self.normals.len(), "normal")?;
            self.corners.push((position, uv, normal));
        }
        if self.corners.len() < 3 {
            return Err(format!("a face needs at least 3 corners, found {}", self.corners.len()));
        }
        let places: Vec<DVec3> = self.corners.iter().map(|c| self.positions[c.0 as usize]).collect();
        for triangle in triangulate(&places) {
            let number = self.mesh.triangles.len() as u32;
            let vertices = triangle.map(|k| self.vertex(self.corners[k]));
            self.mesh.triangles.push(vertices);
            for name in &self.names {
                self.face_groups.entry(name).or_default().push(number);
            }
        }
        Ok(())
    }

    /// The vertex for a corner, made at its first use.
    fn vertex(&mut self, corner: Corner) -> u32 {
        let (position, uv, normal) = corner;
        let position = position as usize;
        self.last_at.resize(self.positions.len(), None);
        let mut candidate = self.last_at[position];
        while let Some(vertex) = candidate {
            if self.made_for[vertex as usize] == corner {
                return vertex;
            }
            candidate = self.before[vertex as usize];
        }
        let vertex = self.mesh.positions.len() as u32;
        self.before.push(self.last_at[position].replace(vertex));
        self.made_for.push(corner);
        self.mesh.positions.push(self.positions[position]);
        self.mesh.uvs.push(uv.map_or(DVec2::ZERO, |i| self.uvs[i as usize]));
        self.mesh.colours.push(self.colours.get(position).copied().unwrap_or([1.0; 4]));
        self.mesh.normals.push(normal.map_or(DVec3::ZERO, |i| self.normals[i as usize].normalize_or_zero()));
        vertex
    }

    fn finish(mut self) -> LoadedMesh {
        self.mesh.face_groups = self.face_groups.into_iter().map(|(name, list)| (name.to_string(), list)).collect();
        if self.uvs.is_empty() {
            self.mesh.uvs.clear();
        }
        if self.colours.is_empty() {
            self.mesh.colours.clear();
        }
        // Normals are all or nothing: where some are lacking, all are computed later.
        if self.mesh.normals.contains(&DVec3::ZERO) {
            self.mesh.normals.clear();
        }
        let mut loaded = LoadedMesh::from(self.mesh);
        if self.lines_and_points > 0 {
            loaded.warnings.push(format!("{} lines and points were passed over", self.lines_and_points));
        }
        loaded
    }
}

fn numbers<'w>(words: impl Iterator<Item = &'w str>) -> Result<Vec<f64>, String> {
    words.map(|word| word.parse().map_err(|_| format!("\"{word}\" is not a number"))).collect()
}

/// An index from 0 out of one from 1, or one that counts back from the end; nothing if it is left out.
fn index(word: Option<&str>, count: usize, what: &str) -> Result<Option<u32>, String> {
    let Some(word) = word.filter(|word| !word.is_empty()) else { return Ok(None) };
    let number: i64 = word.parse().map_err(|_| format!("\"{word}\" is not the number of a {what}"))?;
    let from_start = if number < 0 { number + count as i64 } else { number - 1 };
    match u32::try_from(from_start) {
        Ok(index) if (index as usize) < count => Ok(Some(index)),
        _ => Err(format!("the face names {what} {number}, but only {count} were read so far (numbered from 1)")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::survives_damage;
    use super::*;

    const CUBE: &str = "# a cube with a lid\n\
        o box\nv 0 0 0 1 0 0\nv 1 0 0 1 0 0\nv 1 1 0 1 0 0\nv 0 1 0 1 0 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n\
        vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n\
        g walls\nf 4/1 3/2 2/3 1/4\nf 5/1 6/2 7/3 8/4\nf 1/1 2/2 6/3 5/4\nusemtl red\nf 2/1 3/2 7/3 6/4\nf 5/1 8/2 4/3 1/4\n\
        g lid\nf -1/1 \\\n -2/2 3/3 4/4\n";

    fn read(text: &str) -> Result<LoadedMesh, GeometryError> {
        parse(Path::new("cube.obj"), text.as_bytes())
    }

    #[test]
    fn polygons_groups_materials_uvs_and_colours_are_read() {
        let mut mesh = read(CUBE).unwrap().mesh;
        assert!(mesh.clean("cube").unwrap().is_empty());
        assert_eq!(mesh.triangles.len(), 12);
        assert!(mesh.topology().is_closed());
        assert_eq!(mesh.volume(), 1.0);
        let sizes: Vec<(&str, usize)> = mesh.face_groups.iter().map(|(n, g)| (n.as_str(), g.len())).collect();
        assert_eq!(sizes, [("box", 12), ("lid", 2), ("red", 6), ("walls", 10)]);
        for (v, p) in mesh.positions.iter().enumerate() {
            assert_eq!(mesh.colours[v], if p.z == 0.0 { [1.0, 0.0, 0.0, 1.0] } else { [1.0; 4] });
        }
        assert!(mesh.uvs.contains(&DVec2::ONE));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let refusal = |text: &str| read(text).unwrap_err().to_string();
        let text = refusal("v 0 0 0\nv 1 0 0\nv 0 x 0\n");
        assert!(text.contains("cube.obj") && text.contains("line 3") && text.contains("\"x\""), "{text}");
        let text = refusal("v 0 0 0\nv 1 0 0\nv 0 1 0\n\nf 1 2 4\n");
        assert!(text.contains("line 5") && text.contains("vertex 4") && text.contains("only 3"), "{text}");
        assert!(refusal("v 0 0 0\nf 1 1\n").contains("at least 3"));
        assert!(refusal("v 0 0\n").contains("line 1"));
        assert!(refusal("v 0 0 0\nf 0 1 1\n").contains("vertex 0"));
        let lines = read("v 0 0 0\nv 1 0 0\nl 1 2\n").unwrap();
        assert!(lines.warnings[0].contains("1 lines") && lines.mesh.triangles.is_empty());
    }

    #[test]
    fn damage_is_survived() {
        survives_damage(CUBE.as_bytes(), |bytes| parse(Path::new("cube.obj"), bytes));
    }
}
