//! Maximal Poisson-disk sets of points on triangle meshes, by dart throwing [Henne2013, ch. 2; Cline2009].
//!
//! Every point x of the surface has a disc of radius r(x) = distance / sqrt(density(x)). With `|x - y|` the straight
//! distance, the set is
//! - a Poisson-disk set: two samples are never closer than the *smaller* of their two radii, and
//! - maximal: every point x with density lies closer than min(r(x), r(s)) to some sample s, so none can be added.
//!
//! Where the density changes suddenly, the smaller radius lets the dense side fill up to the border; the larger one
//! would let a lone sparse sample clear a hole in it. Densities below 1/256 count as none.
//!
//! Space is cut into blocks, and each triangle, cut until it is small against a block, belongs to the block of its
//! centre. Blocks of one parity on each axis (8 colours) cannot see each other's samples and run in parallel, each
//! with random numbers of its own: the set depends on the seed, not on the threads. Within a block the method is that
//! of the source, with one addition: the samples found near a dart also drop those quarters of the sub-triangle
//! that they cover, before they are ever queued.
//!
//! Where it breaks down: gaps narrower than 1e-5 of the distance may stay open; two sheets of surface closer than
//! the distance share their discs.

mod bins;
mod block;

use crate::mesh::{SurfacePoint, TriMesh};
use crate::{GeometryError, morton};
use block::{Patch, Rules, Sample, Scratch};
use drench_math::{ordered, random::Stream};
use glam::{DVec2, DVec3, I64Vec3};
use rayon::prelude::*;
use std::collections::HashMap;

/// Samples per squared distance of a maximal set on a large surface. The jamming limit of random discs, whose coverage
/// 0.547 = n pi (d/2)^2, gives n = 0.6965 / d^2; measured on spheres and planes with a million samples it is 0.702,
/// because blocks that are filled after their neighbours pack slightly better along the seams.
pub const PACKING: f64 = 0.702;

/// Density below which there are no samples.
const DENSITY_FLOOR: f64 = 1.0 / 256.0;
/// Triangles longer than this part of a block, from their centre, are cut first.
const EXTENT: f64 = 0.25;
/// Pieces that cutting may make, as a multiple of triangles and expected samples together.
const MOST_PIECES: u64 = 64;

/// What to sample, and how densely.
#[derive(Clone, Copy, Debug)]
pub struct PoissonSettings<'a> {
    /// Smallest distance between samples, where the density is 1 [m].
    pub distance: f64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Triangles to sample; all of them if absent.
    pub faces: Option<&'a [u32]>,
    /// Density at each vertex, 0 to 1; 1 if absent.
    pub density: Option<&'a [f64]>,
    /// Most samples that are allowed.
    pub limit: usize,
}

/// The distance [m] that leads to about `count` samples on this `area` [m²] (times the mean density).
///
/// Within 1 % on closed surfaces from some thousand samples on; surfaces with borders hold slightly more, because discs
/// reach over the border.
pub fn spacing_for_count(area: f64, count: u64) -> f64 {
    (PACKING * area / count.max(1) as f64).sqrt()
}

/// Area of the chosen faces, weighted by density [m²].
pub fn weighted_area(mesh: &TriMesh, faces: Option<&[u32]>, density: Option<&[f64]>) -> Result<f64, GeometryError> {
    let faces = checked_faces(mesh, faces, density)?;
    Ok(ordered::sum(faces.len(), |i| weighted_face_area(mesh, faces[i], density)))
}

fn weighted_face_area(mesh: &TriMesh, face: u32, density: Option<&[f64]>) -> f64 {
    let mean = match density {
        None => 1.0,
        Some(values) => mesh.triangles[face as usize].iter().map(|&v| values[v as usize]).sum::<f64>() / 3.0,
    };
    mesh.area(face as usize) * mean
}

/// A maximal Poisson-disk set on the mesh, in the order of a space-filling curve.
pub fn sample(mesh: &TriMesh, settings: &PoissonSettings) -> Result<Vec<SurfacePoint>, GeometryError> {
    let distance = settings.distance;
    if !(distance > 0.0 && distance.is_finite()) {
        return Err(GeometryError::InvalidParameter {
            parameter: "distance between samples",
            value: distance,
            expected: "positive",
        });
    }
    let faces = checked_faces(mesh, settings.faces, settings.density)?;
    let area = ordered::sum(faces.len(), |i| weighted_face_area(mesh, faces[i], settings.density));
    let expected = PACKING * area / (distance * distance);
    if expected > settings.limit as f64 {
        return Err(GeometryError::TooManySamples {
            distance,
            expected,
            limit: settings.limit,
            fitting: spacing_for_count(area, settings.limit as u64),
        });
    }
    let rules = rules(mesh, &faces, settings)?;
    let pieces = cut(mesh, &faces, &rules, settings.density, expected)?;
    let samples = fill(mesh, &rules, settings, &pieces);

    let positions: Vec<DVec3> = samples.iter().map(|s| s.position).collect();
    let order = morton::order(&positions);
    let point = |&i: &u32| {
        let s = &samples[i as usize];
        // Rounding may leave the triangle by an ulp.
        let (u, v) = (s.uv.x.clamp(0.0, 1.0), s.uv.y.clamp(0.0, 1.0));
        SurfacePoint { triangle: s.triangle, u, v: v.min(1.0 - u) }
    };
    Ok(order.par_iter().map(point).collect())
}

/// The faces to sample, sorted, once each and with area; everything that they refer to exists and is finite.
fn checked_faces(mesh: &TriMesh, faces: Option<&[u32]>, density: Option<&[f64]>) -> Result<Vec<u32>, GeometryError> {
    let (triangles, vertices) = (mesh.triangles.len(), mesh.positions.len());
    if let Some(values) = density {
        if values.len() != vertices {
            return Err(GeometryError::AttributeLength {
                origin: "density map".into(),
                attribute: "density".into(),
                found: values.len(),
                expected: vertices,
            });
        }
        if let Some(&value) = values.iter().find(|v| !(0.0..=1.0).contains(*v)) {
            return Err(GeometryError::InvalidParameter { parameter: "density", value, expected: "between 0 and 1" });
        }
    }
    let mut chosen: Vec<u32> = match faces {
        None => (0..triangles as u32).collect(),
        Some(faces) => faces.to_vec(),
    };
    chosen.sort_unstable();
    chosen.dedup();
    if let Some(&last) = chosen.last()
        && last as usize >= triangles
    {
        return Err(GeometryError::NoSuchFace { face: last, triangles });
    }
    for &face in &chosen {
        for &index in &mesh.triangles[face as usize] {
            let Some(p) = mesh.positions.get(index as usize) else {
                let (triangle, origin) = (face as usize, "mesh to sample".into());
                return Err(GeometryError::IndexOutOfRange { origin, triangle, index, vertices });
            };
            if !p.is_finite() {
                return Err(GeometryError::NotFinite {
                    origin: "mesh to sample".into(),
                    vertex: index as usize,
                    attribute: "position",
                    x: p.x,
                    y: p.y,
                    z: p.z,
                });
            }
        }
    }
    chosen.retain(|&face| mesh.area(face as usize) > 0.0);
    Ok(chosen)
}

fn rules(mesh: &TriMesh, faces: &[u32], settings: &PoissonSettings) -> Result<Rules, GeometryError> {
    let mut sparsest: f64 = 1.0;
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for &face in faces {
        for &v in &mesh.triangles[face as usize] {
            let p = mesh.positions[v as usize];
            (low, high) = (low.min(p), high.max(p));
            sparsest = settings.density.map_or(sparsest, |density| sparsest.min(density[v as usize]));
        }
    }
    let floor = sparsest.max(DENSITY_FLOOR);
    let distance = settings.distance;
    let reach = distance / floor.sqrt();
    // Samples of two blocks of one colour stay (1 - 2 EXTENT) blocks apart, which must exceed the reach.
    let block = (BLOCK * distance).max(2.5 * reach);
    if !faces.is_empty() && (high - low).max_element() / block > morton::LARGEST {
        return Err(GeometryError::InvalidParameter {
            parameter: "distance between samples",
            value: distance,
            expected: "at least a 30-millionth of the size of the mesh",
        });
    }
    Ok(Rules { distance, reach, floor, even: sparsest >= 1.0, block, origin: low })
}

/// Edge of a block in distances: large enough that most samples have their neighbours in it, small enough that its
/// grid stays in the cache.
const BLOCK: f64 = 16.0;

/// A triangle or a part of one, and the block it belongs to.
struct Piece {
    block: u64,
    triangle: u32,
    /// Barycentric coordinates of its corners.
    corners: [[f32; 2]; 3],
}

const WHOLE: [[f32; 2]; 3] = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]];

/// Halves triangles at their longest edge until they are small against a block, and slivers until they are no longer
/// slivers; sorts the pieces by block.
fn cut(
    mesh: &TriMesh,
    faces: &[u32],
    rules: &Rules,
    density: Option<&[f64]>,
    expected: f64,
) -> Result<Vec<Piece>, GeometryError> {
    let most = MOST_PIECES * (faces.len() as u64 + expected as u64 + 1_000_000);
    let mut pieces = Vec::with_capacity(faces.len());
    let mut stack = Vec::new();
    for &triangle in faces {
        if let Some(values) = density
            && mesh.triangles[triangle as usize].iter().all(|&v| values[v as usize] < rules.floor)
        {
            continue;
        }
        let [a, b, c] = mesh.corners(triangle as usize);
        let at = |uv: [f32; 2]| a + (b - a) * f64::from(uv[0]) + (c - a) * f64::from(uv[1]);
        stack.push((WHOLE, 0));
        while let Some((corners, halvings)) = stack.pop() {
            let [p, q, r] = corners.map(at);
            let centre = (p + q + r) / 3.0;
            let extent2 = [p, q, r].iter().map(|x| x.distance_squared(centre)).fold(0.0, f64::max);
            let edges = [p.distance_squared(q), q.distance_squared(r), r.distance_squared(p)];
            let longest =
                if edges[0] >= edges[1] && edges[0] >= edges[2] { 0 } else { 1 + usize::from(edges[2] > edges[1]) };
            let too_large = extent2 > (EXTENT * rules.block).powi(2);
            // A sliver: three times as long as wide; quartering it would make pieces by the square of its length.
            let sliver = (q - p).cross(r - p).length() < edges[longest] / 3.0;
            let long = edges[longest] > rules.distance * rules.distance;
            // After 44 halvings the corners are no longer exact.
            if (too_large || (sliver && long)) && halvings < 44 {
                let (i, j, k) = (longest, (longest + 1) % 3, (longest + 2) % 3);
                let middle = [0, 1].map(|x| 0.5 * (corners[i][x] + corners[j][x]));
                stack.push(([corners[i], middle, corners[k]], halvings + 1));
                stack.push(([middle, corners[j], corners[k]], halvings + 1));
                continue;
            }
            let block = ((centre - rules.origin) / rules.block).as_i64vec3();
            pieces.push(Piece { block: morton::interleave(block), triangle, corners });
            if pieces.len() as u64 > most {
                return Err(GeometryError::SliverTriangles { distance: rules.distance, pieces: most });
            }
        }
    }
    // Stable: the order within a block is that of the faces.
    pieces.par_sort_by_key(|piece| piece.block);
    Ok(pieces)
}

/// Fills all blocks, one colour after the other.
fn fill(mesh: &TriMesh, rules: &Rules, settings: &PoissonSettings, pieces: &[Piece]) -> Vec<Sample> {
    let blocks: Vec<&[Piece]> = pieces.chunk_by(|a, b| a.block == b.block).collect();
    let index_of: HashMap<u64, usize> = blocks.iter().enumerate().map(|(i, block)| (block[0].block, i)).collect();
    let stream = Stream::new(settings.seed, "poisson");
    let mut filled: Vec<Vec<Sample>> = vec![Vec::new(); blocks.len()];
    for colour in 0..8 {
        // The lowest bits of the interleaved coordinates are their parities.
        let members: Vec<usize> = (0..blocks.len()).filter(|&i| blocks[i][0].block & 7 == colour).collect();
        let results: Vec<Vec<Sample>> = members
            .par_iter()
            .map_init(Scratch::default, |scratch, &i| {
                let key = blocks[i][0].block;
                let cell = morton::separate(key);
                let neighbours = (0..27)
                    .map(|n| cell + I64Vec3::new(n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1))
                    .filter(|c| c.min_element() >= 0)
                    .filter_map(|c| index_of.get(&morton::interleave(c)))
                    .map(|&j| filled[j].as_slice());
                scratch.patches.clear();
                scratch.patches.extend(blocks[i].iter().map(|piece| patch(mesh, settings.density, piece)));
                scratch.fill(rules, rules.origin + cell.as_dvec3() * rules.block, neighbours, stream.child(key))
            })
            .collect();
        for (i, samples) in members.into_iter().zip(results) {
            filled[i] = samples;
        }
    }
    filled.concat()
}

fn patch(mesh: &TriMesh, density: Option<&[f64]>, piece: &Piece) -> Patch {
    let [a, b, c] = mesh.corners(piece.triangle as usize);
    let [uv, uv1, uv2] = piece.corners.map(|[u, v]| DVec2::new(f64::from(u), f64::from(v)));
    let at = |uv: DVec2| a + (b - a) * uv.x + (c - a) * uv.y;
    let density = density.map_or([1.0; 3], |values| {
        let [a, b, c] = mesh.triangles[piece.triangle as usize].map(|v| values[v as usize]);
        [uv, uv1, uv2].map(|uv| a + (b - a) * uv.x + (c - a) * uv.y)
    });
    let corner = at(uv);
    let edges = [at(uv1) - corner, at(uv2) - corner];
    Patch {
        corner,
        edges,
        area: 0.5 * edges[0].cross(edges[1]).length(),
        uv,
        uv_edges: [uv1 - uv, uv2 - uv],
        density,
        triangle: piece.triangle,
    }
}

#[cfg(test)]
mod tests;
