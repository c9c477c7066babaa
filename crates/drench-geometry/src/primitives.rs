//! Simple solids, centred at the origin, facing outwards, with analytic normals and texture coordinates.
//!
//! Vertices are split where uvs or normals jump, at bit-identical positions, so the solids are closed
//! (see [`crate::topology`]). Round caps are built in rings of 4, 8, 12, ... segments, which keeps the triangles even
//! all the way to the pole. Lengths are expected positive and finite: [`TriMesh::clean`] refuses what others give.

use crate::TriMesh;
use glam::{DVec2, DVec3};
use std::f64::consts::{FRAC_PI_2, PI, TAU};

/// Detail that looks smooth at the size of a hand: 64 segments around.
pub const DETAIL: u32 = 4;

/// Most detail: a sphere of 2 million triangles.
const MAX_DETAIL: u32 = 9;

/// Squares along the longest side of a cuboid, and along a plane.
const CELLS: u32 = 16;

/// A sphere of 8 · 4^detail triangles. `radius` [m].
pub fn sphere(radius: f64, detail: u32) -> TriMesh {
    capsule(radius, 0.0, detail)
}

/// A cylinder along y with half-spheres on both ends. `radius` and `height` of the straight part [m].
pub fn capsule(radius: f64, height: f64, detail: u32) -> TriMesh {
    let rings = rings(detail);
    let mut mesh = TriMesh::default();
    // Texture coordinates follow the length of the profile from pole to pole.
    let profile = PI * radius + height;
    for up in [1.0, -1.0] {
        rosette(&mut mesh, rings, up > 0.0, |ring, turn| {
            let (out, along) = quarter(ring, rings);
            let normal = around(turn) * out + DVec3::Y * (up * along);
            let depth = ring as f64 / rings as f64 * FRAC_PI_2 * radius / profile;
            let position = normal * radius + DVec3::Y * (up * 0.5 * height);
            (position, normal, DVec2::new(turn.fraction(), if up > 0.0 { 1.0 - depth } else { depth }))
        });
    }
    if height > 0.0 {
        side(&mut mesh, radius, height, rings, FRAC_PI_2 * radius / profile);
    }
    mesh
}

/// A cylinder along y. `radius` and `height` [m].
pub fn cylinder(radius: f64, height: f64, detail: u32) -> TriMesh {
    let rings = rings(detail);
    let mut mesh = TriMesh::default();
    for up in [1.0, -1.0] {
        rosette(&mut mesh, rings, up > 0.0, |ring, turn| {
            let out = around(turn) * (ring as f64 / rings as f64);
            let uv = DVec2::new(0.5 + 0.5 * out.x, 0.5 - 0.5 * up * out.z);
            (out * radius + DVec3::Y * (up * 0.5 * height), DVec3::Y * up, uv)
        });
    }
    side(&mut mesh, radius, height, rings, 0.0);
    mesh
}

/// A torus around y. `radius` of the ring and `thickness` (radius of the tube) [m].
pub fn torus(radius: f64, thickness: f64, detail: u32) -> TriMesh {
    let mut mesh = TriMesh::default();
    let (columns, rows) = (4 * rings(detail), (2 * rings(detail)).max(3));
    grid(&mut mesh, columns, rows, |i, j| {
        let (long, tube) = (Turn { step: i, of: columns }, Turn { step: j, of: rows });
        let (sin, cos) = tube.sin_cos();
        let normal = around(long) * cos + DVec3::Y * sin;
        let position = around(long) * radius + normal * thickness;
        (position, normal, DVec2::new(long.fraction(), tube.fraction()))
    });
    mesh
}

/// A box with the given side lengths [m], its faces cut into about square cells.
pub fn cuboid(size: DVec3) -> TriMesh {
    let mut mesh = TriMesh::default();
    let cells = size.to_array().map(|side| ((side / size.max_element() * f64::from(CELLS)).round() as u32).max(1));
    // The same expression on every face gives the same bits along shared edges.
    let at = |axis: usize, i: u32| size[axis] * (f64::from(i) / f64::from(cells[axis]) - 0.5);
    for axis in 0..3 {
        let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
        for end in [false, true] {
            let normal = DVec3::AXES[axis] * if end { 1.0 } else { -1.0 };
            let (a, b) = if end { (a, b) } else { (b, a) };
            grid(&mut mesh, cells[a], cells[b], |i, j| {
                let mut position = DVec3::ZERO;
                position[axis] = at(axis, if end { cells[axis] } else { 0 });
                position[a] = at(a, i);
                position[b] = at(b, j);
                (position, normal, DVec2::new(f64::from(i) / f64::from(cells[a]), f64::from(j) / f64::from(cells[b])))
            });
        }
    }
    mesh
}

/// An open tank that stands with the middle of its floor at the origin. `size` of the room inside, thickness of floor
/// and `wall` [m].
pub fn tank(size: DVec3, wall: f64) -> TriMesh {
    let half = 0.5 * size;
    let across = |half: f64| [-half - wall, -half, half, half + wall];
    let (x, y, z) = (across(half.x), [-wall, 0.0, size.y], across(half.z));
    // Cells between these planes are full or empty; the skin is where one meets the other.
    let full = |cell: [i32; 3]| {
        let within = (0..3).contains(&cell[0]) && (0..2).contains(&cell[1]) && (0..3).contains(&cell[2]);
        within && (cell[1] == 0 || cell[0] != 1 || cell[2] != 1)
    };
    let corner = |cell: [i32; 3]| DVec3::new(x[cell[0] as usize], y[cell[1] as usize], z[cell[2] as usize]);
    let mut mesh = TriMesh::default();
    for [i, j, k] in (0..18).map(|n| [n / 6, n / 3 % 2, n % 3]) {
        for (axis, end) in (0..3).flat_map(|axis| [(axis, false), (axis, true)]) {
            let mut beyond = [i, j, k];
            beyond[axis] += if end { 1 } else { -1 };
            if !full([i, j, k]) || full(beyond) {
                continue;
            }
            let normal = DVec3::AXES[axis] * if end { 1.0 } else { -1.0 };
            let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
            let (a, b) = if end { (a, b) } else { (b, a) };
            grid(&mut mesh, 1, 1, |p, q| {
                let mut at = [i, j, k];
                at[axis] += i32::from(end);
                at[a] += p as i32;
                at[b] += q as i32;
                (corner(at), normal, DVec2::new(f64::from(p), f64::from(q)))
            });
        }
    }
    mesh
}

/// A square at y = 0 that faces +y. `size` is the length of its side [m].
pub fn plane(size: f64) -> TriMesh {
    let mut mesh = TriMesh::default();
    grid(&mut mesh, CELLS, CELLS, |i, j| {
        let uv = DVec2::new(f64::from(i), f64::from(j)) / f64::from(CELLS);
        (DVec3::new(size * (uv.x - 0.5), 0.0, size * (0.5 - uv.y)), DVec3::Y, uv)
    });
    mesh
}

/// A fraction of a full turn, exact for the same place on rings of the same count.
#[derive(Clone, Copy)]
struct Turn {
    step: u32,
    of: u32,
}

impl Turn {
    fn fraction(self) -> f64 {
        f64::from(self.step) / f64::from(self.of)
    }

    /// The last step gives the same bits as the first.
    fn sin_cos(self) -> (f64, f64) {
        (TAU * f64::from(self.step % self.of) / f64::from(self.of)).sin_cos()
    }
}

/// Direction in the plane y = 0, counter-clockwise seen from above.
fn around(turn: Turn) -> DVec3 {
    let (sin, cos) = turn.sin_cos();
    DVec3::new(cos, 0.0, -sin)
}

/// Distance from the axis and height of ring `ring` on a quarter circle of unit radius; exact at the equator.
fn quarter(ring: u32, rings: u32) -> (f64, f64) {
    if ring == rings { (1.0, 0.0) } else { (FRAC_PI_2 * f64::from(ring) / f64::from(rings)).sin_cos() }
}

fn rings(detail: u32) -> u32 {
    1 << detail.min(MAX_DETAIL)
}

/// The straight wall between two rings of 4 · `rings` segments; uvs run from `margin` to 1 - `margin`.
fn side(mesh: &mut TriMesh, radius: f64, height: f64, rings: u32, margin: f64) {
    let columns = 4 * rings;
    let spacing = TAU * radius / f64::from(columns);
    let rows = (height / spacing).round().clamp(1.0, f64::from(1_u32 << MAX_DETAIL)) as u32;
    grid(mesh, columns, rows, |i, j| {
        let turn = Turn { step: i, of: columns };
        let rise = f64::from(j) / f64::from(rows);
        let normal = around(turn);
        let position = normal * radius + DVec3::Y * (height * (rise - 0.5));
        (position, normal, DVec2::new(turn.fraction(), margin + rise * (1.0 - 2.0 * margin)))
    });
}

/// Position, normal and texture coordinate of a vertex.
type Vertex = (DVec3, DVec3, DVec2);

fn push(mesh: &mut TriMesh, (position, normal, uv): Vertex) {
    mesh.positions.push(position);
    mesh.normals.push(normal);
    mesh.uvs.push(uv);
}

/// Adds a sheet of `columns` x `rows` cells that faces along (its columns) x (its rows).
fn grid(mesh: &mut TriMesh, columns: u32, rows: u32, vertex: impl Fn(u32, u32) -> Vertex) {
    let first = mesh.positions.len() as u32;
    for j in 0..=rows {
        for i in 0..=columns {
            push(mesh, vertex(i, j));
        }
    }
    for j in 0..rows {
        for i in 0..columns {
            let a = first + j * (columns + 1) + i;
            let (b, c, d) = (a + 1, a + columns + 1, a + columns + 2);
            // Alternate diagonals, so that no direction is preferred.
            let pair = if (i + j) % 2 == 0 { [[a, b, d], [a, d, c]] } else { [[a, b, c], [b, d, c]] };
            mesh.triangles.extend(pair);
        }
    }
}

/// Adds a round patch of four sectors: ring k has 4k segments, and the centre is split once per sector.
fn rosette(mesh: &mut TriMesh, rings: u32, faces_up: bool, vertex: impl Fn(u32, Turn) -> Vertex) {
    let mut row_start = Vec::with_capacity(rings as usize + 1);
    for ring in 0..=rings {
        row_start.push(mesh.positions.len() as u32);
        if ring == 0 {
            // The centre's longitude is that of the middle of its sector.
            (0..4).for_each(|sector| push(mesh, vertex(0, Turn { step: 2 * sector + 1, of: 8 })));
        } else {
            (0..=4 * ring).for_each(|step| push(mesh, vertex(ring, Turn { step, of: 4 * ring })));
        }
    }
    let mut add = |a: u32, b: u32, c: u32| mesh.triangles.push(if faces_up { [a, b, c] } else { [a, c, b] });
    for ring in 0..rings {
        for sector in 0..4 {
            let inner = row_start[ring as usize] + if ring == 0 { sector } else { sector * ring };
            let outer = row_start[ring as usize + 1] + sector * (ring + 1);
            for i in 0..=ring {
                add(inner + i, outer + i, outer + i + 1);
                if i < ring {
                    add(inner + i, outer + i + 1, inner + i + 1);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    /// Normals agree with the triangles, every attribute is there, nothing needs cleaning.
    fn check(mesh: &TriMesh, euler: i64) {
        let mut copy = mesh.clone();
        assert!(copy.clean("solid").unwrap().is_empty());
        assert_eq!(&copy, mesh);
        assert_eq!(mesh.uvs.len(), mesh.positions.len());
        assert!(mesh.uvs.iter().all(|uv| uv.cmpge(DVec2::ZERO).all() && uv.cmple(DVec2::ONE).all()));
        assert_eq!(mesh.topology().euler_characteristic(), euler);
        for (t, triangle) in mesh.triangles.iter().enumerate() {
            for &i in triangle {
                assert!(mesh.normals[i as usize].dot(mesh.face_normal(t)) > 0.5, "triangle {t}");
            }
        }
    }

    /// Volume and area approach the closed form with the second order of a chord against its arc.
    fn converges(build: impl Fn(u32) -> TriMesh, euler: i64, volume: f64, area: f64) {
        let mut last = [0.0; 2];
        for detail in 3..=6 {
            let mesh = build(detail);
            check(&mesh, euler);
            assert!(mesh.topology().is_closed());
            let errors = [1.0 - mesh.volume() / volume, 1.0 - mesh.total_area() / area];
            if detail > 3 {
                assert_relative_eq!(last[0] / errors[0], 4.0, max_relative = 0.1);
                assert_relative_eq!(last[1] / errors[1], 4.0, max_relative = 0.1);
            }
            last = errors;
        }
        assert!(last[0] > 0.0 && last[0] < 2e-3 && last[1] < 2e-3);
    }

    #[test]
    fn round_solids_converge_to_their_volume_and_area() {
        let (r, h) = (0.3_f64, 0.8);
        converges(|d| sphere(r, d), 2, 4.0 / 3.0 * PI * r.powi(3), 4.0 * PI * r * r);
        converges(|d| capsule(r, h, d), 2, PI * r * r * (4.0 / 3.0 * r + h), TAU * r * (2.0 * r + h));
        converges(|d| cylinder(r, h, d), 2, PI * r * r * h, TAU * r * (r + h));
        converges(|d| torus(h, r, d), 0, 2.0 * PI * PI * h * r * r, 4.0 * PI * PI * h * r);
    }

    #[test]
    fn flat_solids_are_exact() {
        let mesh = cuboid(DVec3::new(1.0, 0.1, 0.4));
        check(&mesh, 2);
        assert!(mesh.topology().is_closed());
        assert_relative_eq!(mesh.volume(), 0.04, epsilon = 1e-15);
        assert_relative_eq!(mesh.total_area(), 2.0 * (0.1 + 0.4 + 0.04), epsilon = 1e-14);
        let mesh = tank(DVec3::new(1.0, 0.5, 0.4), 0.1);
        check(&mesh, 2);
        assert!(mesh.topology().is_closed());
        assert_relative_eq!(mesh.volume(), 1.2 * 0.6 * 0.6 - 1.0 * 0.5 * 0.4, epsilon = 1e-14);
        let mesh = plane(3.0);
        check(&mesh, 1);
        assert_relative_eq!(mesh.total_area(), 9.0, epsilon = 1e-13);
    }

    #[test]
    fn triangles_stay_even_to_the_pole() {
        let mesh = sphere(1.0, 5);
        let areas: Vec<f64> = (0..mesh.triangles.len()).map(|t| mesh.area(t)).collect();
        let (low, high) = areas.iter().fold((f64::MAX, 0.0_f64), |(low, high), &a| (low.min(a), high.max(a)));
        assert!(high / low < 2.0, "{low} to {high}");
    }

    #[test]
    fn absurd_lengths_and_details_do_not_panic() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300] {
            for mut mesh in [
                sphere(bad, 1),
                capsule(1.0, bad, 1),
                cylinder(bad, 1.0, 0),
                cylinder(1.0, bad, 0),
                torus(bad, 1.0, 0),
                cuboid(DVec3::new(1.0, bad, 1.0)),
                plane(bad),
                tank(DVec3::new(1.0, bad, 1.0), 0.1),
                tank(DVec3::ONE, bad),
            ] {
                let _ = mesh.clean("bad");
            }
        }
        assert_eq!(rings(u32::MAX), 512);
    }
}
