//! Children: strands that are not simulated but follow up to three guides and the skin under their own root.
//!
//! A child's vertex is its own skin point plus the weighted offsets of its guides from their roots, scaled by the ratio
//! of lengths. Guides that part from the nearest one, at rest or in motion, lose their weight: the mean of two locks
//! that fall to either side of a parting would be a hair that stands in the gap, and the mean of two curls out of phase
//! a straight one.

use super::Root;
use super::nearest::PointGrid;
use glam::{DVec3, Vec3};
use rayon::prelude::*;

/// Children of a groom; one entry per child in each array.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Children {
    /// Triangle of each root.
    pub triangles: Vec<u32>,
    /// Barycentric coordinates (u, v) of each root.
    pub barycentric: Vec<[f32; 2]>,
    /// Guide strands of each child, nearest first.
    pub guides: Vec<[u32; 3]>,
    /// Weight of each guide; they sum to one.
    pub weights: Vec<[f32; 3]>,
    /// Length of each child over the blended length of its guides.
    pub length_ratio: Vec<f32>,
}

/// Children as slices, wherever they are stored.
#[derive(Clone, Copy, Debug)]
pub struct ChildView<'a> {
    /// Triangle of each root.
    pub triangles: &'a [u32],
    /// Barycentric coordinates (u, v) of each root.
    pub barycentric: &'a [[f32; 2]],
    /// Guide strands of each child, nearest first.
    pub guides: &'a [[u32; 3]],
    /// Weight of each guide.
    pub weights: &'a [[f32; 3]],
    /// Length of each child over the blended length of its guides.
    pub length_ratio: &'a [f32],
}

impl Children {
    /// All arrays as slices.
    pub fn view(&self) -> ChildView<'_> {
        let Self { triangles, barycentric, guides, weights, length_ratio } = self;
        ChildView { triangles, barycentric, guides, weights, length_ratio }
    }
}

/// Guides farther than this many spacings beyond the nearest have no say.
const REACH: f64 = 1.5;

/// Finds the guides of the children. Strands are the guides at rest; `spacing` is the distance between their roots [m].
pub(super) fn place(guides: &[Root], offsets: &[u32], positions: &[DVec3], young: &[Root], spacing: f64) -> Children {
    let roots: Vec<DVec3> = guides.iter().map(|root| root.position).collect();
    let grid = PointGrid::new(&roots, spacing);
    let reach = |g: u32| {
        let (first, last) = (offsets[g as usize] as usize, offsets[g as usize + 1] as usize - 1);
        positions[last] - positions[first]
    };
    let child = |root: &Root| {
        let same_side = |i: usize| guides[i].normal.dot(root.normal) > 0.3;
        let mut found = grid.nearest::<3>(root.position, same_side);
        if found[0].is_none() {
            found = grid.nearest::<3>(root.position, |_| true);
        }
        let (nearest, least) = found[0]?;
        let mut ids = [nearest; 3];
        let mut weights = [0.0; 3];
        for (k, (guide, distance)) in found.into_iter().flatten().enumerate() {
            ids[k] = guide;
            let near = (1.0 - (distance - least) / (REACH * spacing)).max(0.0) / (distance + 0.1 * spacing);
            weights[k] = near * near * agreement(reach(guide).as_vec3(), reach(nearest).as_vec3()) as f64;
        }
        let sum: f64 = weights.iter().sum();
        let weights = weights.map(|w| w / sum);
        let blended: f64 = (0..3).map(|k| weights[k] * guides[ids[k] as usize].length).sum();
        let ratio = (root.length / blended) as f32;
        Some((root.point, ids, weights.map(|w| w as f32), ratio))
    };
    let placed: Vec<_> = young.par_iter().filter_map(child).collect();
    Children {
        triangles: placed.iter().map(|c| c.0.triangle).collect(),
        barycentric: placed.iter().map(|c| [c.0.u as f32, c.0.v as f32]).collect(),
        guides: placed.iter().map(|c| c.1).collect(),
        weights: placed.iter().map(|c| c.2).collect(),
        length_ratio: placed.iter().map(|c| c.3).collect(),
    }
}

/// How far a guide may be mixed with the nearest one: 1 if they reach to the same side, 0 from about 40 degrees on.
#[inline]
fn agreement(reach: Vec3, nearest: Vec3) -> f32 {
    let size = reach.length_squared().max(nearest.length_squared());
    if size == 0.0 {
        return 1.0;
    }
    let parted = (reach - nearest).length_squared() / size;
    (1.0 - 2.0 * parted).clamp(0.0, 1.0)
}

/// The children's strands now, as (offsets, positions [m]), from the guides' strands and the skin as they are now.
///
/// A child has as many vertices as its nearest guide. Guides or triangles that do not exist make an empty strand.
pub fn interpolate(
    guide_offsets: &[u32],
    guide_positions: &[[f32; 3]],
    skin_triangles: &[[u32; 3]],
    skin_positions: &[[f32; 3]],
    children: &ChildView,
) -> (Vec<u32>, Vec<[f32; 3]>) {
    let strand = |guide: u32| {
        let range = guide_offsets.get(guide as usize).zip(guide_offsets.get(guide as usize + 1));
        range.and_then(|(&first, &end)| guide_positions.get(first as usize..end as usize)).unwrap_or(&[])
    };
    let skin = |child: usize| {
        let triangle = skin_triangles.get(*children.triangles.get(child)? as usize)?;
        let corner = |k: usize| skin_positions.get(triangle[k] as usize).map(|&p| Vec3::from(p));
        let ([u, v], (a, b, c)) = (*children.barycentric.get(child)?, (corner(0)?, corner(1)?, corner(2)?));
        Some(a * (1.0 - u - v) + b * u + c * v)
    };
    let count = children.guides.len().min(children.weights.len()).min(children.length_ratio.len());
    let mut offsets = Vec::with_capacity(count + 1);
    offsets.push(0);
    let mut total = 0;
    for child in 0..count {
        total += if skin(child).is_some() { strand(children.guides[child][0]).len() as u32 } else { 0 };
        offsets.push(total);
    }
    let mut positions = vec![[0.0; 3]; total as usize];
    let slices = super::split(&mut positions, &offsets);
    slices.into_par_iter().enumerate().filter(|(_, out)| !out.is_empty()).for_each(|(child, out)| {
        let guides = children.guides[child].map(strand);
        let root = skin(child).unwrap_or_default();
        let vertices = follow(guides, children.weights[child], children.length_ratio[child], root);
        out.iter_mut().zip(vertices).for_each(|(p, vertex)| *p = vertex.to_array());
    });
    (offsets, positions)
}

/// The vertices of one child that stands at `root` and follows these guides, as many as the first guide has.
pub fn follow(
    guides: [&[[f32; 3]]; 3],
    mut weights: [f32; 3],
    length_ratio: f32,
    root: Vec3,
) -> impl Iterator<Item = Vec3> {
    let reach = |k: usize| match guides[k] {
        [first, .., last] => Vec3::from(*last) - Vec3::from(*first),
        _ => Vec3::ZERO,
    };
    for k in 1..3 {
        weights[k] *= if guides[k].len() < 2 { 0.0 } else { agreement(reach(k), reach(0)) };
    }
    let sum: f32 = weights.iter().sum();
    let scale = length_ratio / if sum > 0.0 { sum } else { 1.0 };
    let last = guides[0].len().saturating_sub(1).max(1) as f32;
    (0..guides[0].len()).map(move |i| {
        let mut offset = Vec3::ZERO;
        for k in 0..3 {
            if weights[k] > 0.0 {
                offset += offset_at(guides[k], i as f32 / last) * weights[k];
            }
        }
        root + offset * scale
    })
}

/// Offset from the root at the fraction `x` of a strand's length.
#[inline]
fn offset_at(strand: &[[f32; 3]], x: f32) -> Vec3 {
    let at = x * (strand.len() - 1) as f32;
    let low = (at as usize).min(strand.len().saturating_sub(2));
    let (a, b) = (Vec3::from(strand[low]), Vec3::from(strand[(low + 1).min(strand.len() - 1)]));
    a.lerp(b, at - low as f32) - Vec3::from(strand[0])
}
