//! Lines of an OBJ file: `v x y z` and `l 1 2 3 ...`. Lines of two vertices that follow each other are joined, because
//! some programs write a strand so.

use super::malformed;
use crate::GeometryError;
use glam::DVec3;
use std::path::Path;

const FIX: &str = "export the curves again";

/// The lines of a file.
pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Vec<Vec<DVec3>>, GeometryError> {
    let text = String::from_utf8_lossy(bytes);
    let mut vertices: Vec<DVec3> = Vec::new();
    let mut lines: Vec<Vec<usize>> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let refuse = |problem: String| malformed(path, format!("line {}", number + 1), problem, FIX);
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("v") => {
                let numbers: Vec<f64> = words.take(3).filter_map(|word| word.parse().ok()).collect();
                let [x, y, z] = numbers[..] else { return Err(refuse("a vertex needs three numbers".into())) };
                vertices.push(DVec3::new(x, y, z));
            }
            Some("l") => {
                let mut strand = Vec::new();
                for word in words {
                    // From one on, or backwards from the last; a texture vertex may follow a slash.
                    let index: Option<i64> = word.split('/').next().and_then(|word| word.parse().ok());
                    let count = vertices.len() as i64;
                    let place = index.map(|index| if index < 0 { count + index } else { index - 1 });
                    match place.filter(|place| (0..count).contains(place)) {
                        Some(place) => strand.push(place as usize),
                        None => return Err(refuse(format!("'{word}' names none of the {count} vertices so far"))),
                    }
                }
                match (lines.last_mut(), &strand[..]) {
                    (Some(last), &[from, to]) if last.last() == Some(&from) => last.push(to),
                    _ => lines.push(strand),
                }
            }
            _ => {}
        }
    }
    Ok(lines.into_iter().map(|line| line.into_iter().map(|vertex| vertices[vertex]).collect()).collect())
}
