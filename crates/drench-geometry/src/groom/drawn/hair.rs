//! `.hair`, the format of Cem Yuksel's hair models: a header of 128 bytes, then the segments of each strand (16 bits), then
//! the points (three 32-bit floats each); further arrays are not read.

use super::malformed;
use crate::GeometryError;
use glam::DVec3;
use std::path::Path;

const HEADER: usize = 128;
const FIX: &str = "download or export it again";

/// The strands of a file.
pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Vec<Vec<DVec3>>, GeometryError> {
    if bytes.len() < HEADER || &bytes[..4] != b"HAIR" {
        return Err(malformed(path, "the header", "it does not begin as a .hair file does", FIX));
    }
    let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let (strands, points, arrays, usual) = (number(4) as u64, number(8) as u64, number(12), number(16) as u64);
    let has_segments = arrays & 1 != 0;
    if arrays & 2 == 0 {
        return Err(malformed(path, "the header", "it says that there are no points", FIX));
    }
    let needed = HEADER as u64 + if has_segments { 2 * strands } else { 0 } + 12 * points;
    if (bytes.len() as u64) < needed {
        let problem = format!(
            "it promises {strands} strands and {points} points, which take {needed} bytes, but the file has {}",
            bytes.len()
        );
        return Err(malformed(path, "the header", problem, FIX));
    }
    let (mut at, strands) = (HEADER, strands as usize);
    let segments: Vec<u64> = if has_segments {
        let pairs = bytes[at..at + 2 * strands].chunks_exact(2);
        at += 2 * strands;
        pairs.map(|pair| u64::from(u16::from_le_bytes([pair[0], pair[1]]))).collect()
    } else if usual.saturating_add(1).saturating_mul(strands as u64) == points {
        vec![usual; strands]
    } else {
        let problem = format!("{strands} strands of {usual} segments do not have {points} points");
        return Err(malformed(path, "the header", problem, FIX));
    };
    let told: u64 = segments.iter().map(|count| count + 1).sum();
    if told != points {
        let problem = format!("the strands have {told} points together, but the header says {points}");
        return Err(malformed(path, "the numbers of segments", problem, FIX));
    }
    let mut coordinates = bytes[at..at + 12 * points as usize].chunks_exact(12).map(|xyz| {
        let axis = |k: usize| f64::from(f32::from_le_bytes([xyz[k], xyz[k + 1], xyz[k + 2], xyz[k + 3]]));
        DVec3::new(axis(0), axis(4), axis(8))
    });
    Ok(segments.into_iter().map(|count| coordinates.by_ref().take(count as usize + 1).collect()).collect())
}
