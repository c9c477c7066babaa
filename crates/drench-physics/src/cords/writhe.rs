//! Writhe: how often a cord winds about itself.
//!
//! Wr = 1/(4 pi) sum over pairs of segments of the signed solid angle of the directions in which one is seen to cross the other
//! [Klenin2000, method 1a]. Both ends go on straight, far beyond everything else: if they look the same way, the turn of one against the other
//! is twist + 2 pi Wr, however the cord is wound [White1969]. It changes by 2 where the cord passes through itself.

use glam::DVec3;
use std::f64::consts::PI;

/// How far the ends go on, in lengths of the cord.
const FAR: f64 = 1e3;

/// Writhe of a chain of vertices, in turns; costs the square of their number.
pub fn writhe(positions: &[DVec3]) -> f64 {
    let count = positions.len();
    if count < 3 {
        return 0.0;
    }
    let length: f64 = positions.windows(2).map(|pair| pair[0].distance(pair[1])).sum();
    let beyond = |end: DVec3, inside: DVec3| end + (end - inside).normalize_or_zero() * (FAR * length);
    let first = beyond(positions[0], positions[1]);
    let last = beyond(positions[count - 1], positions[count - 2]);
    let at = |i: usize| match i {
        0 => first,
        i if i > count => last,
        i => positions[i - 1],
    };
    let mut sum = 0.0;
    for i in 0..=count {
        for j in i + 2..=count {
            sum += crossing([at(i), at(i + 1)], [at(j), at(j + 1)]);
        }
    }
    // Either of a pair is seen from the other.
    2.0 * sum / (4.0 * PI)
}

/// Signed solid angle of the directions in which one segment is seen to cross another.
fn crossing(one: [DVec3; 2], other: [DVec3; 2]) -> f64 {
    let [a, b, c, d] = [other[0] - one[0], other[1] - one[0], other[1] - one[1], other[0] - one[1]];
    let sides = [a.cross(b), b.cross(c), c.cross(d), d.cross(a)].map(DVec3::normalize_or_zero);
    let angle: f64 = (0..4).map(|k| sides[k].dot(sides[(k + 1) % 4]).clamp(-1.0, 1.0).asin()).sum();
    let side = (other[1] - other[0]).cross(one[1] - one[0]).dot(a);
    if side == 0.0 { 0.0 } else { angle.copysign(side) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    /// A right-handed helix of `turns` turns along z, whose radius grows and shrinks so that the ends lie on the axis.
    fn helix(turns: f64, radius: f64, height: f64, vertices: usize) -> Vec<DVec3> {
        let point = |i: usize| {
            let u = i as f64 / (vertices - 1) as f64;
            let ramp = |x: f64| (x * 20.0).clamp(0.0, 1.0);
            let r = radius * ramp(u) * ramp(1.0 - u);
            DVec3::new(r * (TAU * turns * u).cos(), r * (TAU * turns * u).sin(), height * u)
        };
        (0..vertices).map(point).collect()
    }

    #[test]
    fn a_helix_writhes_by_its_turns_less_the_cosine() {
        // Wr = n (1 - sin(pitch angle)) [Fuller1971], up to the ramps.
        let (turns, radius, height) = (20.0, 1.0, 60.0);
        let got = writhe(&helix(turns, radius, height, 1500));
        let arc = (TAU * turns * radius).hypot(height);
        let expected = turns * (1.0 - height / arc);
        assert!((got / expected - 1.0).abs() < 0.1, "{got} {expected}");
        let mirrored: Vec<DVec3> = helix(turns, radius, height, 1500).iter().map(|x| x.with_x(-x.x)).collect();
        assert!((writhe(&mirrored) + got).abs() < 1e-9);
    }

    #[test]
    fn flat_and_straight_cords_have_none_and_passing_through_costs_two() {
        let flat: Vec<DVec3> = (0..40).map(|i| DVec3::new(f64::from(i), (f64::from(i)).sin(), 0.0)).collect();
        assert!(writhe(&flat).abs() < 1e-9);
        assert!(writhe(&flat[..2]).abs() < 1e-9);
        // A loop whose two legs cross at a small distance, above or below.
        let leg = |height: f64| {
            [[-5.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, height], [0.0, -5.0, height]]
                .map(DVec3::from_array)
        };
        let change = writhe(&leg(1e-6)) - writhe(&leg(-1e-6));
        assert!((change.abs() - 2.0).abs() < 1e-4, "{change}");
    }
}
