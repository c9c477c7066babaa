//! Polygons into triangles.

use glam::{DVec2, DVec3};

/// Larger polygons are cut as fans: the search for ears takes the square of the corners.
const MOST_CORNERS_FOR_EARS: usize = 256;

/// Cuts a polygon, flat or nearly so, into triangles of its corner numbers by clipping ears; concave ones too.
pub(super) fn triangulate(corners: &[DVec3]) -> Vec<[usize; 3]> {
    let n = corners.len();
    if n < 3 {
        return Vec::new();
    }
    let fan = || (1..n - 1).map(|k| [0, k, k + 1]).collect();
    if n == 3 || n > MOST_CORNERS_FOR_EARS {
        return fan();
    }
    // Newell's normal, then the corners in the plane across it.
    let normal: DVec3 = (0..n).map(|k| (corners[k] - corners[0]).cross(corners[(k + 1) % n] - corners[0])).sum();
    let Some(normal) = normal.try_normalize() else { return fan() };
    let (across, up) = normal.any_orthonormal_pair();
    let flat: Vec<DVec2> =
        corners.iter().map(|&p| p - corners[0]).map(|p| DVec2::new(p.dot(across), p.dot(up))).collect();

    let mut left: Vec<usize> = (0..n).collect();
    let mut triangles = Vec::with_capacity(n - 2);
    while left.len() > 3 {
        let count = left.len();
        let around = |k: usize| [left[(k + count - 1) % count], left[k], left[(k + 1) % count]];
        // The roundest ear first, which also cuts quadrilaterals along their better diagonal.
        let best = (0..count)
            .filter(|&k| is_ear(&flat, &left, around(k)))
            .max_by(|&a, &b| quality(&flat, around(a)).total_cmp(&quality(&flat, around(b))))
            .unwrap_or(0); // a polygon that crosses itself has no right answer
        triangles.push(around(best));
        left.remove(best);
    }
    triangles.push([left[0], left[1], left[2]]);
    triangles
}

fn doubled_area(p: &[DVec2], [a, b, c]: [usize; 3]) -> f64 {
    (p[b] - p[a]).perp_dot(p[c] - p[a])
}

fn is_ear(p: &[DVec2], left: &[usize], ear: [usize; 3]) -> bool {
    let inside = |q: usize| (0..3).all(|k| doubled_area(p, [ear[k], ear[(k + 1) % 3], q]) >= 0.0);
    doubled_area(p, ear) > 0.0 && !left.iter().any(|&q| !ear.contains(&q) && inside(q))
}

/// Area over the square of the longest side.
fn quality(p: &[DVec2], [a, b, c]: [usize; 3]) -> f64 {
    let longest = p[a].distance_squared(p[b]).max(p[b].distance_squared(p[c])).max(p[c].distance_squared(p[a]));
    doubled_area(p, [a, b, c]) / longest.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    fn area(corners: &[DVec3], normal: DVec3) -> (f64, bool) {
        let triangles = triangulate(corners);
        assert_eq!(triangles.len(), corners.len() - 2);
        let areas: Vec<f64> = triangles
            .iter()
            .map(|t| 0.5 * (corners[t[1]] - corners[t[0]]).cross(corners[t[2]] - corners[t[0]]).dot(normal))
            .collect();
        (areas.iter().sum(), areas.iter().all(|&a| a > 0.0))
    }

    #[test]
    fn concave_polygons_are_covered_once() {
        let turn = DQuat::from_rotation_x(0.8) * DQuat::from_rotation_z(0.3);
        let place = |points: &[(f64, f64)]| -> Vec<DVec3> {
            points.iter().map(|&(x, y)| turn * DVec3::new(x, y, 0.0) + DVec3::splat(5.0)).collect()
        };
        // An arrow head, which a fan from the first corner would get wrong, a comb, and a square.
        let arrow = place(&[(2.0, 0.0), (-1.0, 1.0), (0.0, 0.0), (-1.0, -1.0)]);
        let comb = place(&[
            (0.0, 0.0),
            (5.0, 0.0),
            (5.0, 3.0),
            (4.0, 3.0),
            (4.0, 1.0),
            (3.0, 1.0),
            (3.0, 3.0),
            (2.0, 3.0),
            (2.0, 1.0),
            (1.0, 1.0),
            (1.0, 3.0),
            (0.0, 3.0),
        ]);
        let square = place(&[(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]);
        for (corners, expected) in [(arrow, 2.0), (comb, 11.0), (square, 1.0)] {
            let (sum, positive) = area(&corners, turn * DVec3::Z);
            assert!((sum - expected).abs() < 1e-12 && positive, "{sum}");
        }
    }

    #[test]
    fn hopeless_polygons_do_not_panic() {
        assert!(triangulate(&[DVec3::ZERO; 2]).is_empty());
        assert_eq!(triangulate(&[DVec3::ZERO; 7]).len(), 5);
        assert_eq!(triangulate(&[DVec3::NAN; 7]).len(), 5);
        assert_eq!(triangulate(&[DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::X + DVec3::Y, DVec3::Z]).len(), 3);
        assert_eq!(triangulate(&[DVec3::ZERO; 1000]).len(), 998);
    }
}
