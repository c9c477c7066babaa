//! Curves of an Alembic file, in its first sample, with the transforms above them.
//!
//! Where some curves are marked as guides (`groom_guide`, as Unreal and our own exports do), only those are taken: the
//! others follow them.

use super::malformed;
use crate::GeometryError;
use drench_alembic::{AlembicError, Curves, ReadValues, Reader};
use glam::DVec3;
use std::path::Path;

/// Most vertices of a file.
const MOST_VERTICES: usize = 100_000_000;

/// The curves of a file.
pub(super) fn parse(path: &Path) -> Result<Vec<Vec<DVec3>>, GeometryError> {
    let refuse = |error: AlembicError| match error {
        AlembicError::Storage { path, source } => GeometryError::Read { path, source },
        AlembicError::Format { reason, .. } | AlembicError::Damaged { reason, .. } => {
            malformed(path, "Alembic", reason, "export the curves again")
        }
        other => malformed(path, "Alembic", other.to_string(), "export the curves again"),
    };
    let reader = Reader::open(path).map_err(refuse)?;
    let (mut all, mut count) = (Vec::new(), 0);
    for object in reader.curves().map_err(refuse)? {
        let curves = object.read(0).map_err(refuse)?;
        count += curves.positions.len();
        if count > MOST_VERTICES {
            let (origin, limit) = (path.display().to_string(), MOST_VERTICES as u64);
            let (what, fix) = ("vertices", "export fewer curves");
            return Err(GeometryError::TooMany { origin, what, count: count as u64, limit, fix });
        }
        all.push(curves);
    }
    let marks: Vec<Vec<bool>> = all.iter().map(guides).collect();
    let some_are_guides = marks.iter().flatten().any(|&guide| guide);
    let mut strands = Vec::new();
    for (curves, marks) in all.iter().zip(&marks) {
        let mut rest = curves.positions.as_slice();
        for (&count, &is_guide) in curves.counts.iter().zip(marks) {
            // The reader has seen to it that counts and vertices agree.
            let (strand, after) = rest.split_at(count as usize);
            rest = after;
            if is_guide || !some_are_guides {
                strands.push(strand.iter().map(|p| DVec3::from(p.map(f64::from))).collect());
            }
        }
    }
    Ok(strands)
}

/// Which curves are marked as guides; one mark may stand for all.
fn guides(curves: &Curves) -> Vec<bool> {
    let marks = curves.parameters.iter().find(|parameter| parameter.name == "groom_guide");
    match marks.map(|marks| &marks.values) {
        Some(ReadValues::Whole(marks)) if marks.len() == curves.counts.len() => marks.iter().map(|&m| m != 0).collect(),
        Some(ReadValues::Whole(marks)) => vec![marks.first().is_some_and(|&m| m != 0); curves.counts.len()],
        _ => vec![false; curves.counts.len()],
    }
}
