//! Filling the grid: exact distances near the surface, interpolated ones far from it, signs from winding numbers.
//!
//! 1. Every fourth node ("corner") gets its exact distance, walking along x with the last distance as a bound.
//! 2. Bricks that the surface comes near to are filled node by node in the same way; the others are interpolated.
//! 3. Signs. On a closed mesh the sign can only change across a triangle, so it is carried from a node to the next when
//!    their two distances add up to more than the step: no triangle fits between. Otherwise, and everywhere on an open
//!    mesh, the winding number decides.
//! 4. An open mesh gets a membrane over its holes, see [`super::membrane`].
//!
//! Triangles with the solid on both sides (walls inside a body made of overlapping parts) do not count for the
//! distance, so that hair caught inside is led out of the whole body and not to such a wall.

use super::baked::{BRICK, Grid};
use super::membrane;
use crate::bvh::Bvh;
use crate::winding::WindingTree;
use crate::{GeometryError, TriMesh};
use glam::{DVec3, USizeVec3};
use rayon::prelude::*;

/// Winding number above which a point is inside. Above 1/2, the number on a flat open sheet, so that sheets, whose
/// sides cannot be told apart, have no inside.
pub(super) const INSIDE: f64 = 0.6;

/// Values are exact at nodes this many cells from the surface, or nearer.
const EXACT: f64 = 1.5;

/// The mesh that a field is baked from.
#[derive(Clone, Debug)]
pub(super) struct Source {
    triangles: Vec<[u32; 3]>,
    vertices: usize,
    closed: bool,
    /// All triangles, for winding numbers.
    tree: Bvh,
    winding: WindingTree,
    /// The triangles that bound the solid, if those are not all.
    outer: Option<Bvh>,
}

/// What is known at a node: the signed distance [m], and the leaf slot of the closest triangle.
#[derive(Clone, Copy)]
struct Node {
    value: f64,
    slot: Option<u32>,
}

impl Source {
    /// Builds the trees and sorts out inner walls.
    pub fn new(mesh: &TriMesh) -> Self {
        let tree = Bvh::build(mesh);
        let winding = WindingTree::build(&tree);
        let inner = |t: u32| {
            let corners = mesh.corners(t as usize);
            let centre = corners.iter().sum::<DVec3>() / 3.0;
            let size = corners[0].distance(centre).max(corners[1].distance(centre));
            let step = mesh.face_normal(t as usize) * (1e-3 * size);
            [step, -step].iter().all(|&s| winding.winding_number(&tree, centre + s).abs() > INSIDE)
        };
        let all: Vec<u32> = (0..mesh.triangles.len() as u32).collect();
        let bounding: Vec<u32> = all.into_par_iter().filter(|&t| !inner(t)).collect();
        let partly = bounding.len() < mesh.triangles.len() && !bounding.is_empty();
        let outer = partly.then(|| Bvh::over(&mesh.positions, &mesh.triangles, bounding));
        let closed = mesh.topology().is_closed();
        Self { triangles: mesh.triangles.clone(), vertices: mesh.positions.len(), closed, tree, winding, outer }
    }

    /// Follows the vertices.
    pub fn move_to(&mut self, positions: &[DVec3]) -> Result<(), GeometryError> {
        if positions.len() != self.vertices {
            return Err(GeometryError::AttributeLength {
                origin: "deforming solid".into(),
                attribute: "positions".into(),
                found: positions.len(),
                expected: self.vertices,
            });
        }
        if let Some(vertex) = positions.iter().position(|p| !p.is_finite()) {
            let DVec3 { x, y, z } = positions[vertex];
            let (origin, attribute) = ("deforming solid".into(), "position");
            return Err(GeometryError::NotFinite { origin, vertex, attribute, x, y, z });
        }
        self.tree.refit(positions, &self.triangles);
        self.winding = WindingTree::build(&self.tree);
        if let Some(outer) = &mut self.outer {
            outer.refit(positions, &self.triangles);
        }
        Ok(())
    }

    /// Memory of the trees, roughly [bytes].
    pub fn memory(&self) -> usize {
        let trees = self.triangles.len() + self.outer.as_ref().map_or(0, |tree| tree.order.len());
        trees * (72 + 4 + 24) + self.triangles.len() * (12 + 32)
    }

    /// Distance of a point outside from a closed mesh [m], and the way there from the mesh; none on the mesh itself.
    pub fn nearest(&self, p: DVec3) -> Option<(f64, DVec3)> {
        let tree = self.outer.as_ref().unwrap_or(&self.tree);
        let closest = tree.closest_point(p).filter(|closest| self.closed && closest.distance > 0.0)?;
        Some((closest.distance, (p - closest.point) / closest.distance))
    }

    /// Fills `values` with the signed distance at the nodes.
    pub fn bake(&self, grid: &Grid, values: &mut Vec<f32>) {
        let corners = self.corners(grid);
        let nodes = grid.nodes();
        values.clear();
        values.resize(nodes.element_product(), 0.0);
        // One slab of bricks is one run of memory; the last layer of nodes is left over.
        let layer = nodes.x * nodes.y;
        let (body, last) = values.split_at_mut((nodes.z - 1) * layer);
        let slabs = body.par_chunks_mut(BRICK * layer).enumerate();
        slabs.for_each(|(slab, run)| self.fill_slab(grid, &corners, slab, run));
        interpolate_last_layer(grid, &corners, last);
        if !self.closed {
            let winding = |p: DVec3| self.winding.winding_number(&self.tree, p).abs();
            membrane::close(grid, values, winding);
        }
    }

    /// Signed distances at the corners of the bricks.
    fn corners(&self, grid: &Grid) -> Vec<f32> {
        let count = grid.bricks + 1;
        let step = grid.cell * BRICK as f64;
        let mut values = vec![0.0; count.element_product()];
        values.par_chunks_mut(count.x).enumerate().for_each(|(row, line)| {
            // The border is outside, and there is no bound yet.
            let mut last = Node { value: f64::INFINITY, slot: None };
            for (x, value) in line.iter_mut().enumerate() {
                let node = USizeVec3::new(x, row % count.y, row / count.y);
                last = self.signed_distance(grid.position(node * BRICK), last, step);
                *value = last.value as f32;
            }
        });
        values
    }

    /// Signed distance at `p`, where the node `step` away is `last`.
    #[inline]
    fn signed_distance(&self, p: DVec3, last: Node, step: f64) -> Node {
        let tree = self.outer.as_ref().unwrap_or(&self.tree);
        // Rounding must not lose the triangle that gave the last distance.
        let bound = (last.value.abs() + step) * (1.0 + 1e-6);
        let closest = tree.closest_from(p, bound, last.slot);
        let (distance, slot) = closest.map_or((bound, None), |(closest, slot)| (closest.distance, Some(slot)));
        if self.closed && distance + last.value.abs() > step * (1.0 + 1e-6) {
            return Node { value: distance.copysign(last.value), slot };
        }
        let inside = self.winding.winding_number(&self.tree, p).abs() > INSIDE;
        Node { value: if inside { -distance } else { distance }, slot }
    }

    /// Whether a brick whose nearest corner is at this distance lies within [`EXACT`] cells of the surface: the slot of a
    /// triangle there.
    fn near(&self, grid: &Grid, brick: USizeVec3, nearest_corner: f64) -> Option<u32> {
        // No point of a brick is farther than half its diagonal from its centre, nor from some corner.
        let reach = grid.cell * (0.5 * 3f64.sqrt() * BRICK as f64 + EXACT);
        if nearest_corner > reach {
            return None;
        }
        let centre = grid.position(brick * BRICK) + 0.5 * BRICK as f64 * grid.cell;
        let tree = self.outer.as_ref().unwrap_or(&self.tree);
        tree.closest_from(centre, reach, None).map(|(_, slot)| slot)
    }

    fn fill_slab(&self, grid: &Grid, corners: &[f32], slab: usize, run: &mut [f32]) {
        let nodes = grid.nodes();
        for by in 0..grid.bricks.y {
            for bx in 0..grid.bricks.x {
                let brick = USizeVec3::new(bx, by, slab);
                let at = corner_values(grid, corners, brick);
                let nearest = at.iter().fold(f32::INFINITY, |m, v| m.min(v.abs()));
                let mixed = at.iter().any(|v| (*v < 0.0) != (at[0] < 0.0));
                let near = self.near(grid, brick, f64::from(nearest));
                // The last brick of a row or column also owns the last nodes.
                let own = |b: usize, count: usize| if b + 1 == count { BRICK + 1 } else { BRICK };
                let (wide, high) = (own(bx, grid.bricks.x), own(by, grid.bricks.y));
                let first = Node { value: f64::from(at[0]), slot: near };
                let mut exact = [[[first; BRICK + 1]; BRICK + 1]; BRICK];
                for z in 0..BRICK {
                    for y in 0..high {
                        for x in 0..wide {
                            let node = brick * BRICK + USizeVec3::new(x, y, z);
                            let value = if !(near.is_some() || mixed) {
                                interpolate(&at, [x, y, z].map(|i| i as f32 / BRICK as f32))
                            } else if x + y + z == 0 {
                                at[0]
                            } else {
                                let last = match (x, y) {
                                    (0, 0) => exact[z - 1][0][0],
                                    (0, _) => exact[z][y - 1][0],
                                    _ => exact[z][y][x - 1],
                                };
                                exact[z][y][x] = self.signed_distance(grid.position(node), last, grid.cell);
                                exact[z][y][x].value as f32
                            };
                            run[(z * nodes.y + node.y) * nodes.x + node.x] = value;
                        }
                    }
                }
            }
        }
    }
}

/// Values at the eight corners of a brick, x fastest.
fn corner_values(grid: &Grid, corners: &[f32], brick: USizeVec3) -> [f32; 8] {
    let count = grid.bricks + 1;
    std::array::from_fn(|i| {
        let c = brick + USizeVec3::new(i & 1, i >> 1 & 1, i >> 2);
        corners[(c.z * count.y + c.y) * count.x + c.x]
    })
}

fn interpolate(v: &[f32; 8], [x, y, z]: [f32; 3]) -> f32 {
    let lerp = |a: f32, b: f32, t: f32| a + (b - a) * t;
    let plane = |o: usize| lerp(lerp(v[o], v[o + 1], x), lerp(v[o + 2], v[o + 3], x), y);
    lerp(plane(0), plane(4), z)
}

/// The last layer of nodes lies at the border, two cells or more outside.
fn interpolate_last_layer(grid: &Grid, corners: &[f32], run: &mut [f32]) {
    let nodes = grid.nodes();
    for y in 0..nodes.y {
        for x in 0..nodes.x {
            let brick = USizeVec3::new(x / BRICK, y / BRICK, grid.bricks.z - 1).min(grid.bricks - 1);
            let at = corner_values(grid, corners, brick);
            let part = |i: usize, b: usize| (i - b * BRICK) as f32 / BRICK as f32;
            run[y * nodes.x + x] = interpolate(&at, [part(x, brick.x), part(y, brick.y), 1.0]);
        }
    }
}
