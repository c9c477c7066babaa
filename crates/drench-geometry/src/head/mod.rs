//! A human head with shoulders, made from a smooth function.

mod anatomy;
mod hairline;

use crate::TriMesh;
use crate::isosurface::surface_nets;
use anatomy::{Anatomy, CUT, REFERENCE_HEIGHT};
use glam::DVec3;
use hairline::{Region, region, scalp_weight};

/// Side of the grid's cells in the face [m].
const CELL: f64 = 0.0028;

/// A head with neck and shoulders, cut off flat across the chest; `height` [m] from chin to crown (0.23 m for an adult).
///
/// The origin is the centre of the head, +z is in front of the face and +y is up. The surface is closed. Face groups:
/// `scalp` (inside the hairline), `face`, `ears`, `neck`, `shoulders`. The vertex group `scalp` falls softly from 1 to
/// 0 at the hairline, for hair that thins out there.
pub fn head(height: f64) -> TriMesh {
    let anatomy = Anatomy::new();
    let axes = axes();
    let mut mesh =
        surface_nets([&axes[0], &axes[1], &axes[2]], widen, |p| anatomy.distance(p), |p| anatomy.gradient(p));

    for region in [Region::Scalp, Region::Face, Region::Ears, Region::Neck, Region::Shoulders] {
        mesh.face_groups.insert(region.name().into(), Vec::new());
    }
    for t in 0..mesh.triangles.len() {
        let [a, b, c] = mesh.corners(t);
        let name = region(&anatomy, (a + b + c) / 3.0).name();
        if let Some(group) = mesh.face_groups.get_mut(name) {
            group.push(t as u32);
        }
    }
    let weights = mesh.positions.iter().map(|&p| scalp_weight(&anatomy, p) as f32).collect();
    mesh.vertex_groups.insert("scalp".into(), weights);

    let scale = height / REFERENCE_HEIGHT;
    for p in &mut mesh.positions {
        *p *= scale;
    }
    mesh
}

/// Grid lines: fine where the face is, coarser behind, above and below [m].
fn axes() -> [Vec<f64>; 3] {
    let right = spaced(0.0, 0.105, |_| CELL);
    let x = right[1..].iter().rev().map(|x| -x).chain(right.iter().copied()).collect();
    let y = spaced(CUT - 0.02, 0.13, |y| CELL + 0.05 * (-0.1 - y).clamp(0.0, 0.08) + 0.06 * (y - 0.03).max(0.0));
    let z = spaced(-0.125, 0.13, |z| CELL + 0.05 * (0.03 - z).max(0.0));
    [x, y, z]
}

/// Widens the grid below the chin, from the head to the shoulders.
fn widen(p: DVec3) -> DVec3 {
    let t = ((-0.09 - p.y) / 0.12).clamp(0.0, 1.0);
    let widening = 1.0 + 1.25 * t * t * (3.0 - 2.0 * t);
    DVec3::new(p.x * widening, p.y, (p.z + 0.04) * widening - 0.04)
}

/// Coordinates from `low` to beyond `high`, each a step from the last that depends on where it is.
fn spaced(low: f64, high: f64, step: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut at = low;
    let mut line = vec![low];
    while at < high {
        at += step(at);
        line.push(at);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use glam::{DAffine3, dvec3};
    use std::sync::LazyLock;

    static HEAD: LazyLock<TriMesh> = LazyLock::new(|| head(0.46));

    #[test]
    fn the_head_is_whole_and_has_its_proportions() {
        let mut mesh = HEAD.clone();
        let topology = mesh.topology();
        assert!(topology.is_closed());
        assert_eq!(topology.euler_characteristic(), 2);
        assert!((20_000..60_000).contains(&topology.triangles), "{}", topology.triangles);
        assert!(mesh.clean("head").unwrap().is_empty());
        // Crown and chin are half a height from the centre; the cut is flat; left equals right.
        let (low, high) = mesh.bounds();
        assert_relative_eq!(high.y, 0.23, epsilon = 2e-3);
        let chin = mesh.positions.iter().filter(|p| p.z > 0.12 && p.y > -0.3);
        assert_relative_eq!(chin.map(|p| p.y).fold(0.0, f64::min), -0.23, epsilon = 6e-3);
        assert_relative_eq!(low.y, 2.0 * CUT, epsilon = 1e-6);
        assert_relative_eq!(low.x, -high.x, epsilon = 1e-4);
        // The tip of the nose is the foremost point.
        let nose = mesh.positions.iter().max_by(|a, b| a.z.total_cmp(&b.z)).unwrap();
        assert!(nose.x.abs() < 0.01 && (-0.09..-0.06).contains(&nose.y), "{nose}");
        // Normals are those of the surface.
        let along = |t: usize| mesh.normals[mesh.triangles[t][0] as usize].dot(mesh.face_normal(t));
        let sharp = (0..mesh.triangles.len()).filter(|&t| along(t) < 0.5).count();
        assert!(sharp < 40, "{sharp}");
    }

    #[test]
    fn every_triangle_is_in_one_group_and_hair_grows_on_the_scalp() {
        let mut mesh = HEAD.clone();
        mesh.transform(&DAffine3::from_scale(DVec3::splat(0.5)));
        let mut groups = vec![0; mesh.triangles.len()];
        for (name, triangles) in &mesh.face_groups {
            let area: f64 = triangles.iter().map(|&t| mesh.area(t as usize)).sum();
            assert!(area > 0.005, "{name} {area}");
            triangles.iter().for_each(|&t| groups[t as usize] += 1);
        }
        assert!(groups.iter().all(|&n| n == 1));
        assert_eq!(mesh.face_groups.len(), 5);
        // A human scalp has about 0.06 m2.
        let scalp: f64 = mesh.face_groups["scalp"].iter().map(|&t| mesh.area(t as usize)).sum();
        assert_relative_eq!(scalp, 0.062, epsilon = 0.01);

        let weight = |p: DVec3| {
            let distance = |&i: &usize| mesh.positions[i].distance_squared(p);
            let nearest = (0..mesh.positions.len()).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap();
            mesh.vertex_groups["scalp"][nearest]
        };
        assert_eq!(weight(dvec3(0.0, 0.2, 0.0)), 1.0); // crown
        assert_eq!(weight(dvec3(0.0, 0.0, -0.2)), 1.0); // back of the head
        for bare in [dvec3(0.0, 0.03, 0.2), dvec3(0.03, -0.04, 0.1), dvec3(0.1, -0.03, -0.02), dvec3(0.0, -0.15, -0.2)]
        {
            assert_eq!(weight(bare), 0.0, "{bare}");
        }
        let soft = mesh.vertex_groups["scalp"].iter().filter(|&&w| w > 0.05 && w < 0.95).count();
        assert!(soft > 300, "{soft}");
    }
}
