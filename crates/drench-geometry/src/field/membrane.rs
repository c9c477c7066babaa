//! Holes. The winding number closes them with an imagined surface where it passes the threshold, but the distance to
//! the triangles does not know of that surface: it would jump from +r to -r across a hole of radius r. Here the
//! imagined surface is made of real triangles (dual contouring of the sign changes that no triangle accounts for), and
//! the distance to them is taken into the field, which is then continuous.

use super::bake::INSIDE;
use super::baked::Grid;
use crate::bvh::Bvh;
use glam::{DVec3, USizeVec3};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Makes the field continuous across holes. `winding` gives the size of the winding number at a point.
pub(super) fn close(grid: &Grid, values: &mut [f32], winding: impl Fn(DVec3) -> f64 + Sync) {
    let nodes = grid.nodes();
    let stride = [1, nodes.x, nodes.x * nodes.y];
    let unit = [USizeVec3::X, USizeVec3::Y, USizeVec3::Z];
    let node_at = |i: usize| USizeVec3::new(i % nodes.x, i / nodes.x % nodes.y, i / stride[2]);

    // Edges between an inner and an outer node whose distances leave room for no triangle.
    let field = &*values;
    let crossing = |i: usize| {
        let node = node_at(i);
        (0..3).filter(move |&axis| node[axis] + 1 < nodes[axis]).filter_map(move |axis| {
            let (a, b) = (field[i], field[i + stride[axis]]);
            let open = (a < 0.0) != (b < 0.0) && f64::from(a.abs() + b.abs()) > 1.001 * grid.cell;
            open.then_some((node, axis))
        })
    };
    let edges: Vec<(USizeVec3, usize)> = (0..field.len()).into_par_iter().flat_map_iter(crossing).collect();
    if edges.is_empty() {
        return;
    }

    // Where on its edge the winding number passes the threshold.
    let place = |&(node, axis): &(USizeVec3, usize)| {
        let (a, b) = (grid.position(node), grid.position(node + unit[axis]));
        let (wa, wb) = (winding(a), winding(b));
        let t = if wa == wb { 0.5 } else { ((INSIDE - wa) / (wb - wa)).clamp(0.0, 1.0) };
        a.lerp(b, t)
    };
    let places: Vec<DVec3> = edges.par_iter().map(place).collect();

    // The four cells around an edge get a vertex each, in the middle of the crossings of the cell. Borders are
    // outside, so that no crossing edge lies on one; saturation only guards the index.
    let around = |(node, axis): (USizeVec3, usize)| {
        let (u, v) = (unit[(axis + 1) % 3], unit[(axis + 2) % 3]);
        [u + v, v, USizeVec3::ZERO, u].map(|back| node.saturating_sub(back).to_array())
    };
    let mut cells: BTreeMap<[usize; 3], (DVec3, f64)> = BTreeMap::new();
    for (&edge, &p) in edges.iter().zip(&places) {
        for cell in around(edge) {
            let entry = cells.entry(cell).or_insert((DVec3::ZERO, 0.0));
            *entry = (entry.0 + p, entry.1 + 1.0);
        }
    }
    let number: BTreeMap<[usize; 3], u32> = cells.keys().enumerate().map(|(i, &cell)| (cell, i as u32)).collect();
    let positions: Vec<DVec3> = cells.values().map(|&(sum, count)| sum / count).collect();
    let quads = edges.iter().map(|&edge| around(edge).map(|cell| number[&cell]));
    let triangles: Vec<[u32; 3]> = quads.flat_map(|[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    let count = triangles.len() as u32;
    let tree = Bvh::over(&positions, &triangles, (0..count).collect());

    values.par_iter_mut().enumerate().for_each(|(i, value)| {
        let distance = f64::from(value.abs());
        if let Some(closest) = tree.closest_within(grid.position(node_at(i)), distance) {
            *value = (closest.distance as f32).copysign(*value);
        }
    });
}
