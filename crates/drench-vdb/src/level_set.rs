//! The level set of a closed mesh: distances within a narrow band, signs everywhere.
//!
//! Distances are exact, of each triangle to the voxels around it. Signs come from lines along z through the voxels'
//! centres: a voxel is inside if the triangles that its line meets above it do not cancel out. Overlapping bodies are
//! their union.

use crate::grid::{SIDE, for_each_leaf, split};
use crate::{Class, Grid, VdbError};
use std::collections::BTreeMap;

/// Width of the band on each side of the surface [voxels], as OpenVDB's own tools make it.
pub const HALF_WIDTH: f64 = 3.0;

type Point = [f64; 3];

/// The level set of a closed mesh whose triangles run counter-clockwise seen from outside. Triangles with corners that do
/// not exist or are not finite are left out.
pub fn level_set(
    name: &str,
    positions: &[[f32; 3]],
    triangles: &[[u32; 3]],
    voxel: f64,
) -> Result<Grid<f32>, VdbError> {
    let band = (HALF_WIDTH * voxel) as f32;
    let mut grid = Grid::new(name, Class::LevelSet, voxel, band)?;
    let mut crossings = Crossings::default();
    for triangle in triangles {
        let corners = triangle.map(|corner| positions.get(corner as usize));
        let [Some(a), Some(b), Some(c)] = corners else { continue };
        if [a, b, c].into_iter().flatten().all(|x| x.is_finite()) {
            let corners = [a, b, c].map(|corner| corner.map(|x| f64::from(x) / voxel));
            near(&mut grid, &corners)?;
            crossings.add(&corners);
        }
    }
    crossings.sort();
    sign(&mut grid, &crossings);
    Ok(grid)
}

/// Enters the distances from a triangle, in voxels, where they are the smallest so far.
fn near(grid: &mut Grid<f32>, corners: &[Point; 3]) -> Result<(), VdbError> {
    let edge = |pick: fn(f64, f64) -> f64| [0, 1, 2].map(|k| pick(pick(corners[0][k], corners[1][k]), corners[2][k]));
    let (low, high) = (edge(f64::min).map(|x| x - HALF_WIDTH), edge(f64::max).map(|x| x + HALF_WIDTH));
    let triangle = Triangle::new(corners);
    let voxel = grid.voxel;
    let range = grid.range(low, high)?;
    // From the middle of a leaf to its corners, and across the band.
    let farthest = 0.5 * f64::from(SIDE) * 3_f64.sqrt() + HALF_WIDTH;
    for_each_leaf(range, |at, [xs, ys, zs]| {
        let middle = at.map(|i| (f64::from(i) + 0.5) * f64::from(SIDE) - 0.5);
        if triangle.plane_distance(middle).abs() > farthest {
            return Ok(());
        }
        let leaf = grid.leaf(at)?;
        for x in xs[0]..=xs[1] {
            for y in ys[0]..=ys[1] {
                for z in zs[0]..=zs[1] {
                    let (_, place) = split([x, y, z]);
                    let best = (f64::from(leaf.values[place]) / voxel).min(HALF_WIDTH);
                    let point = [x, y, z].map(f64::from);
                    if triangle.may_be_within(point, best) {
                        let distance = triangle.distance_squared(point).sqrt();
                        if distance < best {
                            leaf.values[place] = (distance * voxel) as f32;
                            leaf.activate(place);
                        }
                    }
                }
            }
        }
        Ok(())
    })
}

/// Gives distances their sign, drops leaves that the band does not reach, and finds what is wholly inside.
fn sign(grid: &mut Grid<f32>, crossings: &Crossings) {
    grid.leaves.retain(|_, leaf| leaf.active.iter().any(|&word| word != 0));
    for (at, leaf) in &mut grid.leaves {
        let [x0, y0, z0] = at.map(|i| i * SIDE);
        for x in 0..SIDE {
            for y in 0..SIDE {
                let line = crossings.on(x0 + x, y0 + y);
                for z in 0..SIDE {
                    let (_, place) = split([x, y, z]);
                    if winding(line, z0 + z) != 0 {
                        leaf.values[place] = -leaf.values[place];
                    }
                }
            }
        }
    }
    // A block without a leaf has no surface in it: one voxel tells for all.
    for (&[x, y], line) in &crossings.lines {
        if (x | y) & (SIDE - 1) != 0 {
            continue;
        }
        let (Some(first), Some(last)) = (line.first(), line.last()) else { continue };
        for z in (first.0.floor() as i32 >> 3)..=(last.0.ceil() as i32 >> 3) {
            let at = [x >> 3, y >> 3, z];
            if !grid.leaves.contains_key(&at) && winding(line, z * SIDE) != 0 {
                grid.inside.insert(at);
            }
        }
    }
}

/// How many times more the surface is left than entered above `z`.
fn winding(line: &[(f64, i32)], z: i32) -> i32 {
    let z = f64::from(z);
    line.iter().filter(|(height, _)| *height > z).map(|(_, way)| way).sum()
}

/// Where lines along z meet triangles: height, and whether the line leaves (1) or enters (-1) going up.
#[derive(Default)]
struct Crossings {
    lines: BTreeMap<[i32; 2], Vec<(f64, i32)>>,
}

impl Crossings {
    fn add(&mut self, corners: &[Point; 3]) {
        let edge = |k: usize, pick: fn(f64, f64) -> f64| pick(pick(corners[0][k], corners[1][k]), corners[2][k]);
        let range = |k| edge(k, f64::min).ceil() as i32..=edge(k, f64::max).floor() as i32;
        let area = cross(corners[0], corners[1], corners[2]);
        if area == 0.0 {
            return;
        }
        for x in range(0) {
            for y in range(1) {
                let at = [f64::from(x), f64::from(y), 0.0];
                // Each edge is looked at in the same direction from both sides, so that a line which meets an edge counts
                // for one of its two triangles only.
                let side = |a: Point, b: Point| {
                    let forward = (a[0], a[1]) < (b[0], b[1]);
                    let value = if forward { cross(a, b, at) } else { -cross(b, a, at) };
                    if value != 0.0 { value > 0.0 } else { forward }
                };
                let sides = [0, 1, 2].map(|k| side(corners[k], corners[(k + 1) % 3]));
                if sides.iter().all(|&left| left == (area > 0.0)) {
                    let weights = [1, 2, 0].map(|k: usize| cross(corners[k], corners[(k + 1) % 3], at) / area);
                    let height = (0..3).map(|k| weights[k] * corners[k][2]).sum();
                    self.lines.entry([x, y]).or_default().push((height, if area > 0.0 { 1 } else { -1 }));
                }
            }
        }
    }

    fn sort(&mut self) {
        for line in self.lines.values_mut() {
            line.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
    }

    fn on(&self, x: i32, y: i32) -> &[(f64, i32)] {
        self.lines.get(&[x, y]).map_or(&[], Vec::as_slice)
    }
}

/// Twice the area of a triangle seen from above, positive if it runs counter-clockwise.
fn cross(a: Point, b: Point, c: Point) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// A triangle, ready for distances.
struct Triangle {
    corner: Point,
    edges: [Point; 2],
    normal: Point,
    /// Middle of a ball around it, and its radius.
    centre: Point,
    radius: f64,
    /// Products of the edges: first with itself, first with second, second with itself.
    products: [f64; 3],
}

impl Triangle {
    fn new(&[a, b, c]: &[Point; 3]) -> Self {
        let edges = [minus(b, a), minus(c, a)];
        let [[ux, uy, uz], [vx, vy, vz]] = edges;
        let normal = [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx];
        let length = dot(normal, normal).sqrt();
        // Of a triangle without area every point is in its plane, as far as it is known.
        let normal = if length > 0.0 { normal.map(|x| x / length) } else { [0.0; 3] };
        let products = [dot(edges[0], edges[0]), dot(edges[0], edges[1]), dot(edges[1], edges[1])];
        let centre = [0, 1, 2].map(|axis| (a[axis] + b[axis] + c[axis]) / 3.0);
        let squared = |corner: Point| dot(minus(corner, centre), minus(corner, centre));
        let radius = squared(a).max(squared(b)).max(squared(c)).sqrt();
        Self { corner: a, edges, normal, centre, radius, products }
    }

    fn plane_distance(&self, point: Point) -> f64 {
        dot(minus(point, self.corner), self.normal)
    }

    /// Whether it may be nearer than this; cheap, and mostly no.
    fn may_be_within(&self, point: Point, distance: f64) -> bool {
        let away = minus(point, self.centre);
        let reach = distance + self.radius;
        dot(away, away) < reach * reach && self.plane_distance(point).abs() < distance
    }

    /// To the closest point: inside, or on one of the edges.
    fn distance_squared(&self, point: Point) -> f64 {
        let from = minus(point, self.corner);
        let [uu, uv, vv] = self.products;
        let (pu, pv) = (dot(from, self.edges[0]), dot(from, self.edges[1]));
        let area = uu * vv - uv * uv;
        let (s, t) = (vv * pu - uv * pv, uu * pv - uv * pu);
        if area > 0.0 && s >= 0.0 && t >= 0.0 && s + t <= area {
            let height = dot(from, self.normal);
            return height * height;
        }
        let to_edge = |start: Point, edge: Point| {
            let from = minus(from, start);
            let length = dot(edge, edge);
            let along = if length > 0.0 { (dot(from, edge) / length).clamp(0.0, 1.0) } else { 0.0 };
            let away = minus(from, edge.map(|x| x * along));
            dot(away, away)
        };
        let [u, v] = self.edges;
        to_edge([0.0; 3], u).min(to_edge([0.0; 3], v)).min(to_edge(u, minus(v, u)))
    }
}

fn minus(a: Point, b: Point) -> Point {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: Point, b: Point) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
