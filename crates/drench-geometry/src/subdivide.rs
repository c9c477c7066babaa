//! Loop subdivision (C. Loop 1987, with Warren's vertex weights): each triangle becomes four, on a smoother surface.
//!
//! Positions follow the rules of the surface with coincident vertices taken as one, so that seams of uvs and normals stay
//! closed and leave no crease. Edges of one triangle, or of more than two, are kept as smooth curves of their own. Uvs,
//! colours and weights are interpolated linearly, within their side of a seam.

use crate::clean::MAX_ELEMENTS;
use crate::topology::coincident;
use crate::{GeometryError, TriMesh};
use glam::DVec3;
use rayon::prelude::*;

/// Subdivides `levels` times; each level has four times the triangles.
pub fn loop_subdivide(mesh: &TriMesh, levels: u32) -> Result<TriMesh, GeometryError> {
    mesh.validate("subdivision")?;
    let count = (mesh.triangles.len() as u64).saturating_mul(4_u64.saturating_pow(levels));
    if count > MAX_ELEMENTS as u64 {
        return Err(GeometryError::TooMany {
            origin: format!("{levels} subdivisions of {} triangles", mesh.triangles.len()),
            what: "triangles",
            count,
            limit: MAX_ELEMENTS as u64,
            fix: "subdivide fewer times",
        });
    }
    let mut mesh = mesh.clone();
    let mut place = coincident(&mesh.positions);
    for _ in 0..levels {
        (mesh, place) = subdivide_once(&mesh, &place);
    }
    if levels > 0 {
        smooth_normals(&mut mesh, &place);
    }
    Ok(mesh)
}

/// One side of a triangle, ordered so that sides of the same edge of the surface are neighbours, and among them those
/// with the same vertices.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Side {
    /// Places of the ends, lower first.
    edge: (u32, u32),
    /// Vertices at these places.
    vertices: (u32, u32),
    triangle: u32,
    /// Which side of the triangle: from corner k to k + 1.
    k: u32,
}

fn sorted_sides(triangles: &[[u32; 3]], place: &[u32]) -> Vec<Side> {
    let mut sides = Vec::with_capacity(3 * triangles.len());
    for (t, triangle) in triangles.iter().enumerate() {
        for k in 0..3 {
            let ends = [triangle[k], triangle[(k + 1) % 3]];
            let places = ends.map(|i| place[i as usize]);
            let swap = places[0] > places[1];
            let ordered = |pair: [u32; 2]| if swap { (pair[1], pair[0]) } else { (pair[0], pair[1]) };
            let (edge, vertices) = (ordered(places), ordered(ends));
            sides.push(Side { edge, vertices, triangle: t as u32, k: k as u32 });
        }
    }
    sides.par_sort_unstable();
    sides
}

/// One level. Returns the finer mesh and which vertices of it coincide.
fn subdivide_once(mesh: &TriMesh, place: &[u32]) -> (TriMesh, Vec<u32>) {
    let sides = sorted_sides(&mesh.triangles, place);
    let position = |i: u32| mesh.positions[i as usize];
    let old = mesh.positions.len();

    let mut fine = TriMesh { positions: vec![DVec3::ZERO; old], ..TriMesh::default() };
    let mut fine_place = place.to_vec();
    let mut parents: Vec<(u32, u32)> = Vec::with_capacity(sides.len() / 2);
    let mut middle = vec![[0_u32; 3]; mesh.triangles.len()];
    // Per place: sum of and number of neighbours, over all edges and over sharp edges only.
    let mut ring = vec![(DVec3::ZERO, 0_u32); old];
    let mut sharp = vec![(DVec3::ZERO, 0_u32); old];

    for edge in sides.chunk_by(|a, b| a.edge == b.edge) {
        let (a, b) = edge[0].edge;
        let smooth = edge.len() == 2;
        for (from, to) in [(a, b), (b, a)] {
            let add = |sum: &mut (DVec3, u32)| *sum = (sum.0 + position(to), sum.1 + 1);
            add(&mut ring[from as usize]);
            if !smooth {
                add(&mut sharp[from as usize]);
            }
        }
        let ends = position(a) + position(b);
        let point = if smooth {
            let opposite: DVec3 = edge
                .iter()
                .map(|side| position(mesh.triangles[side.triangle as usize][(side.k as usize + 2) % 3]))
                .sum();
            0.375 * ends + 0.125 * opposite
        } else {
            0.5 * ends
        };
        let representative = fine.positions.len() as u32;
        for split in edge.chunk_by(|a, b| a.vertices == b.vertices) {
            let vertex = fine.positions.len() as u32;
            fine.positions.push(point);
            fine_place.push(representative);
            parents.push(split[0].vertices);
            for side in split {
                middle[side.triangle as usize][side.k as usize] = vertex;
            }
        }
    }
    for v in 0..old {
        let p = place[v] as usize;
        fine.positions[v] = vertex_point(position(p as u32), ring[p], sharp[p]);
    }
    fine.triangles = Vec::with_capacity(4 * mesh.triangles.len());
    for (&[a, b, c], &[ab, bc, ca]) in mesh.triangles.iter().zip(&middle) {
        fine.triangles.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
    }

    fine.uvs = refine(&mesh.uvs, &parents, |a, b| 0.5 * (a + b));
    fine.colours = refine(&mesh.colours, &parents, |a, b| std::array::from_fn(|k| 0.5 * (a[k] + b[k])));
    for (name, weights) in &mesh.vertex_groups {
        fine.vertex_groups.insert(name.clone(), refine(weights, &parents, |a, b| 0.5 * (a + b)));
    }
    for (name, triangles) in &mesh.face_groups {
        fine.face_groups.insert(name.clone(), triangles.iter().flat_map(|t| 4 * t..4 * t + 4).collect());
    }
    (fine, fine_place)
}

/// Where an old vertex moves, from the sums over its neighbours along all edges and along sharp ones.
fn vertex_point(own: DVec3, ring: (DVec3, u32), sharp: (DVec3, u32)) -> DVec3 {
    match (ring.1, sharp.1) {
        (0, _) => own, // of no triangle
        (n, 0) => {
            let beta = if n == 3 { 3.0 / 16.0 } else { 3.0 / (8.0 * f64::from(n)) };
            (1.0 - f64::from(n) * beta) * own + beta * ring.0
        }
        (_, 2) => 0.75 * own + 0.125 * sharp.0,
        _ => own, // a corner where several rims meet
    }
}

/// Old values, then the mean of the two parents for each new vertex; empty stays empty.
fn refine<T: Copy>(values: &[T], parents: &[(u32, u32)], mean: impl Fn(T, T) -> T) -> Vec<T> {
    let mut fine = values.to_vec();
    if !values.is_empty() {
        fine.extend(parents.iter().map(|&(a, b)| mean(values[a as usize], values[b as usize])));
    }
    fine
}

/// Normals that agree across seams, since the subdivided surface is smooth there.
fn smooth_normals(mesh: &mut TriMesh, place: &[u32]) {
    let split = std::mem::take(&mut mesh.triangles);
    mesh.triangles = split.iter().map(|t| t.map(|i| place[i as usize])).collect();
    mesh.compute_normals();
    mesh.triangles = split;
    for (v, &p) in place.iter().enumerate() {
        mesh.normals[v] = mesh.normals[p as usize];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bunny::bunny;
    use crate::primitives::{cuboid, plane, sphere, torus};
    use approx::assert_relative_eq;

    fn octahedron() -> TriMesh {
        sphere(1.0, 0)
    }

    #[test]
    fn counts_grow_fourfold_and_closed_meshes_stay_closed() {
        for mesh in [bunny(1.0), octahedron(), cuboid(DVec3::ONE), torus(1.0, 0.3, 1)] {
            let fine = loop_subdivide(&mesh, 2).unwrap();
            assert_eq!(fine.triangles.len(), 16 * mesh.triangles.len());
            let (before, after) = (mesh.topology(), fine.topology());
            assert!(after.is_closed());
            assert_eq!(before.euler_characteristic(), after.euler_characteristic());
            assert!(fine.volume() > 0.0 && fine.volume() < mesh.volume());
            fine.validate("fine").unwrap();
            assert!(fine.clone().clean("fine").unwrap().is_empty());
        }
    }

    #[test]
    fn vertices_go_to_their_limit() {
        // The limit of a vertex of n neighbours is (1 - n x) v + x sum, x = 1 / (3 / (8 beta) + n): at a corner of the
        // octahedron, n = 4 and beta = 3/32 give x = 1/8, and the neighbours cancel.
        let fine = loop_subdivide(&octahedron(), 7).unwrap();
        let (_, high) = fine.bounds();
        assert_relative_eq!(high.x, 0.5, epsilon = 1e-4);
        assert_relative_eq!(high.x, high.y, epsilon = 1e-12);
        // A closed seam leaves no trace: the surface is as symmetric as the octahedron.
        let corner = fine.positions.iter().filter(|p| p.distance(DVec3::Y * high.y) < 1e-9).count();
        assert_eq!(corner, 4);
        assert!(fine.normals.iter().zip(&fine.positions).all(|(n, p)| n.dot(p.normalize()) > 0.9));
    }

    #[test]
    fn a_flat_sheet_stays_flat_and_keeps_its_rim_and_linear_attributes() {
        let mut mesh = plane(2.0);
        mesh.colours = mesh.uvs.iter().map(|uv| [uv.x as f32, uv.y as f32, 0.0, 1.0]).collect();
        mesh.vertex_groups.insert("u".into(), mesh.uvs.iter().map(|uv| uv.x as f32).collect());
        mesh.face_groups.insert("first".into(), vec![0, 3]);
        let fine = loop_subdivide(&mesh, 2).unwrap();
        assert!(fine.positions.iter().all(|p| p.y == 0.0));
        assert!(fine.normals.iter().all(|n| n.y > 0.999_999));
        // Only the four corners are rounded off by the boundary curve.
        assert_relative_eq!(fine.total_area(), 4.0, max_relative = 2e-3);
        let area = |mesh: &TriMesh| mesh.face_groups["first"].iter().map(|&t| mesh.area(t as usize)).sum::<f64>();
        assert_eq!(fine.face_groups["first"].len(), 32);
        assert_relative_eq!(area(&fine), area(&mesh), max_relative = 0.2);
        for (v, uv) in fine.uvs.iter().enumerate() {
            assert_relative_eq!(fine.vertex_groups["u"][v], uv.x as f32, epsilon = 1e-6);
            assert_relative_eq!(fine.colours[v][1], uv.y as f32, epsilon = 1e-6);
            if uv.x > 0.2 && uv.x < 0.8 && uv.y > 0.2 && uv.y < 0.8 {
                assert_relative_eq!(fine.positions[v].x, 2.0 * (uv.x - 0.5), epsilon = 0.02);
            }
        }
    }

    #[test]
    fn zero_levels_change_nothing_and_too_many_are_refused() {
        let mesh = bunny(1.0);
        assert_eq!(loop_subdivide(&mesh, 0).unwrap(), mesh);
        for levels in [8, 40, u32::MAX] {
            let text = loop_subdivide(&mesh, levels).unwrap_err().to_string();
            assert!(text.contains("3674 triangles") && text.contains("fewer"), "{text}");
        }
    }
}
