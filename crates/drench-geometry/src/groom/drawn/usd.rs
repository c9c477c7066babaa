//! `BasisCurves` of a USD file, text or binary: the first value of their `points`. Transforms of the prims are not applied, and
//! references to other files not followed.

use super::malformed;
use crate::GeometryError;
use glam::DVec3;
use std::path::Path;

#[path = "usd_binary.rs"]
mod binary;

const FIX: &str = "export it again as one flat layer";

/// Numbers of vertices and points of one prim.
type Curves = (Vec<i64>, Vec<DVec3>);

/// The curves of a file.
pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Vec<Vec<DVec3>>, GeometryError> {
    let prims = if bytes.starts_with(binary::MAGIC) {
        binary::curves(bytes).map_err(|problem| malformed(path, "the binary layer", problem, FIX))?
    } else if bytes.starts_with(b"#usda") {
        text(path, &String::from_utf8_lossy(bytes))?
    } else {
        return Err(malformed(path, "the first bytes", "it is no USD layer", FIX));
    };
    let mut strands = Vec::new();
    for (counts, points) in prims {
        let told = counts.iter().try_fold(0_i64, |sum, &count| if count < 0 { None } else { sum.checked_add(count) });
        if told != Some(points.len() as i64) {
            let problem = format!("the curves have {told:?} vertices together, but there are {} points", points.len());
            return Err(malformed(path, "curveVertexCounts", problem, FIX));
        }
        let mut points = points.into_iter();
        strands.extend(counts.iter().map(|&count| points.by_ref().take(count as usize).collect::<Vec<_>>()));
    }
    Ok(strands)
}

/// The curves of a text layer.
fn text(path: &Path, layer: &str) -> Result<Vec<Curves>, GeometryError> {
    let mut prims = Vec::new();
    for (start, _) in layer.match_indices("def BasisCurves") {
        let prim = block(&layer[start..]);
        let place = || prim.lines().next().unwrap_or_default().trim().to_owned();
        let missing = |name: &str| malformed(path, place(), format!("it has no {name}"), FIX);
        let counts = array(prim, "curveVertexCounts").ok_or_else(|| missing("curveVertexCounts"))?;
        let points = array(prim, "points").ok_or_else(|| missing("points"))?;
        if points.len() % 3 != 0 || points.iter().chain(&counts).any(|x| x.is_nan()) {
            return Err(malformed(path, place(), "its points are not triples of numbers", FIX));
        }
        let points = points.chunks_exact(3).map(DVec3::from_slice).collect();
        prims.push((counts.into_iter().map(|count| count as i64).collect(), points));
    }
    Ok(prims)
}

/// The text of a prim, up to the brace that closes it.
fn block(text: &str) -> &str {
    let (mut depth, mut quoted) = (0_u32, false);
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b'{' if !quoted => depth += 1,
            b'}' if !quoted => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return &text[..place];
                }
            }
            _ => {}
        }
    }
    text
}

/// The numbers of an attribute: its default, or its first time sample. What is no number is NaN.
fn array(prim: &str, name: &str) -> Option<Vec<f64>> {
    let value = prim.match_indices(name).find_map(|(at, _)| {
        let (before, after) = (prim[..at].chars().next_back()?, &prim[at + name.len()..]);
        let after = after.strip_prefix(".timeSamples").unwrap_or(after).trim_start();
        after.strip_prefix('=').filter(|_| before.is_whitespace())
    })?;
    let open = value.find('[')?;
    let close = open + value[open..].find(']')?;
    let words = value[open + 1..close].split([',', '(', ')']).map(str::trim).filter(|word| !word.is_empty());
    Some(words.map(|word| word.parse().unwrap_or(f64::NAN)).collect())
}
