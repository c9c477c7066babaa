//! Strands that were drawn in another program: `.hair`, lines of an OBJ file, curves of a USD or Alembic file.
//!
//! Every strand is moved to the point of the skin that is nearest to its first point and cut into segments of equal length.
//! No file, however damaged, may cause a panic, and counts are checked before memory is taken for them.

mod abc;
mod hair;
mod obj;
mod usd;

use super::resample::along;
use super::{Children, Groom, GroomSettings, Root, VERTEX_LIMIT, children, place, split};
use crate::bvh::Bvh;
use crate::load;
use crate::mesh::TriMesh;
use crate::{GeometryError, poisson};
use drench_math::random::Stream;
use glam::DVec3;
use rayon::prelude::*;
use std::path::Path;

/// Strands, flat: the vertices of strand `i` are `offsets[i]..offsets[i + 1]`, root first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawn {
    /// First vertex of each strand, and the number of vertices at the end.
    pub offsets: Vec<u32>,
    /// Vertices [m].
    pub positions: Vec<DVec3>,
}

/// Which axis of the file is up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Up {
    /// +y, as in our scenes.
    #[default]
    Y,
    /// +z, as in Blender and in Cem Yuksel's models.
    Z,
}

/// Loads strands from a file; its extension says which format it has. `unit` is the length of the file's unit [m]. Without
/// `unit` and `up`, what a USD file says of itself counts; other files are in metres with +y up.
pub fn load(path: &Path, unit: Option<f64>, up: Option<Up>) -> Result<Drawn, GeometryError> {
    let (mut own_unit, mut own_up) = (1.0, Up::Y);
    let strands = match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
        Some("abc") => abc::parse(path)?,
        Some("hair") => hair::parse(path, &load::read(path)?)?,
        Some("obj") => obj::parse(path, &load::read(path)?)?,
        Some("usda" | "usdc" | "usd") => {
            let file = usd::parse(path)?;
            (own_unit, own_up) = (file.unit, file.up);
            file.strands
        }
        other => {
            let extension = other.map_or("a file without extension".into(), |e| format!(".{e}"));
            return Err(GeometryError::UnknownGroomFormat { path: path.into(), extension });
        }
    };
    let (unit, up) = (unit.unwrap_or(own_unit), up.unwrap_or(own_up));
    let mut drawn = Drawn { offsets: vec![0], positions: Vec::new() };
    for strand in strands {
        // What is shorter than a segment is no strand.
        if strand.len() >= 2 && strand.iter().all(|p| p.is_finite()) && length(&strand) * unit > 1e-9 {
            drawn.positions.extend(strand.into_iter().map(|p| unit * p));
            drawn.offsets.push(drawn.positions.len() as u32);
        }
    }
    if up == Up::Z {
        drawn.positions.iter_mut().for_each(|p| *p = DVec3::new(p.x, p.z, -p.y));
    }
    if drawn.offsets.len() == 1 {
        return Err(malformed(path, "the whole file", "there is no strand in it", "export curves, not only meshes"));
    }
    Ok(drawn)
}

fn length(strand: &[DVec3]) -> f64 {
    strand.windows(2).map(|pair| pair[0].distance(pair[1])).sum()
}

fn malformed(path: &Path, place: impl Into<String>, problem: impl Into<String>, fix: &str) -> GeometryError {
    GeometryError::Malformed { path: path.into(), place: place.into(), problem: problem.into(), fix: fix.into() }
}

/// Puts drawn strands on the skin.
pub(super) fn attach(mesh: &TriMesh, settings: &GroomSettings, drawn: &Drawn) -> Result<Groom, GeometryError> {
    let bvh = Bvh::build(mesh);
    let strands: Vec<&[DVec3]> =
        drawn.offsets.windows(2).map(|pair| &drawn.positions[pair[0] as usize..pair[1] as usize]).collect();
    let points = strands.iter().filter_map(|strand| bvh.closest_point(strand[0]));
    let points = points.map(|closest| closest.surface_point(mesh.corners(closest.triangle as usize))).collect();
    // Their lengths are their own, whatever maps say.
    let plain = GroomSettings { length: 1.0, length_map: None, length_variation: 0.0, ..GroomSettings::default() };
    let mut roots = place(mesh, &plain, points, (0.0, Stream::new(0, "")));
    if roots.len() != strands.len() {
        return Err(GeometryError::NoRoots);
    }
    roots.iter_mut().zip(&strands).for_each(|(root, strand)| root.length = length(strand));
    let vertices = settings.vertices.max(3) as usize;
    let total = (strands.len() * vertices) as u64;
    if total > VERTEX_LIMIT {
        let (origin, what, fix) = ("groom".into(), "vertices", "use fewer strands or fewer vertices per strand");
        return Err(GeometryError::TooMany { origin, what, count: total, limit: VERTEX_LIMIT, fix });
    }
    let offsets: Vec<u32> = (0..=strands.len()).map(|strand| (strand * vertices) as u32).collect();
    let mut positions = vec![DVec3::ZERO; total as usize];
    split(&mut positions, &offsets).into_par_iter().zip(&strands).zip(&roots).for_each(|((out, strand), root)| {
        equal_segments(strand, root.length, out);
        let shift = root.position - out[0];
        out.iter_mut().for_each(|p| *p += shift);
    });
    let taper = |k: usize| {
        let x = (k % vertices) as f64 / (vertices - 1) as f64;
        (settings.root_radius + (settings.tip_radius - settings.root_radius) * x) as f32
    };
    let radii = (0..positions.len()).map(taper).collect();
    let children = young(mesh, settings, &roots, &offsets, &positions)?;
    Ok(Groom { roots: roots.iter().map(|root| root.point).collect(), offsets, positions, radii, children })
}

/// Puts vertices along a line, at distances from each other that are equal.
fn equal_segments(line: &[DVec3], length: f64, out: &mut [DVec3]) {
    let last = (out.len() - 1) as f64;
    along(line, length / last, out);
    // Chords of a curve are not equal.
    let chord = out.windows(2).map(|pair| pair[0].distance(pair[1])).sum::<f64>() / last;
    for k in 1..out.len() {
        let before = out[k - 1];
        out[k] = before + (out[k] - before).normalize_or(DVec3::Y) * chord;
    }
}

/// Children among drawn strands, as dense as theirs and as long as the nearest ones.
fn young(
    mesh: &TriMesh,
    settings: &GroomSettings,
    roots: &[Root],
    offsets: &[u32],
    positions: &[DVec3],
) -> Result<Option<Children>, GeometryError> {
    if settings.children == 0 {
        return Ok(None);
    }
    let (faces, density) = (settings.faces.as_deref(), settings.density.as_deref());
    let spacing = poisson::spacing_for_count(poisson::weighted_area(mesh, faces, density)?, roots.len() as u64);
    let distance = spacing / f64::from(settings.children).sqrt();
    let seed = Stream::new(settings.seed, "groom").bits(2);
    let sampling = poisson::PoissonSettings { distance, seed, faces, density, limit: settings.limit };
    let mean = roots.iter().map(|root| root.length).sum::<f64>() / roots.len() as f64;
    let plain = GroomSettings { length: mean, length_map: None, length_variation: 0.0, ..GroomSettings::default() };
    let young = place(mesh, &plain, poisson::sample(mesh, &sampling)?, (0.0, Stream::new(0, "")));
    let mut children = children::place(roots, offsets, positions, &young, spacing);
    // As long as the strands that they follow.
    children.length_ratio.fill(1.0);
    Ok(Some(children))
}
