//! From a fine line to a strand of equal segments.

use super::centre_line::Grower;
use glam::DVec3;

/// Puts the vertices of a strand at equal steps of arc length along the line, up to `length` [m], then makes the
/// segments themselves equal (chords of a curve are not), and keeps the vertices out of the skin.
pub(super) fn resample(grower: &Grower, line: &[DVec3], length: f64, layer: f64, out: &mut [DVec3]) {
    let total: f64 = line.windows(2).map(|w| w[0].distance(w[1])).sum();
    let step = total.min(length) / (out.len() - 1) as f64;
    along(line, step, out);
    let chord = out.windows(2).map(|w| w[0].distance(w[1])).sum::<f64>() / (out.len() - 1) as f64;
    for k in 1..out.len() {
        let last = out[k - 1];
        let p = last + (out[k] - last).normalize_or(DVec3::Y) * chord;
        out[k] = grower.outside(p, last, chord, grower.clearance(k as f64 * chord, layer));
    }
}

/// Points at multiples of `step` along the line.
pub(super) fn along(line: &[DVec3], step: f64, out: &mut [DVec3]) {
    let (mut k, mut passed) = (0, 0.0);
    let mut size = line[0].distance(line[1]);
    for (i, slot) in out.iter_mut().enumerate() {
        let arc = i as f64 * step;
        while k + 2 < line.len() && passed + size < arc {
            passed += size;
            k += 1;
            size = line[k].distance(line[k + 1]);
        }
        let x = if size > 0.0 { ((arc - passed) / size).min(1.0) } else { 0.0 };
        *slot = line[k].lerp(line[k + 1], x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_lie_at_equal_arc_lengths() {
        let line = [DVec3::ZERO, DVec3::X, DVec3::X, DVec3::new(1.0, 2.0, 0.0), DVec3::new(1.0, 2.0, 3.0)];
        let mut out = [DVec3::ZERO; 7];
        along(&line, 1.0, &mut out);
        let expected =
            [(0., 0., 0.), (1., 0., 0.), (1., 1., 0.), (1., 2., 0.), (1., 2., 1.), (1., 2., 2.), (1., 2., 3.)];
        for (p, e) in out.iter().zip(expected) {
            assert!(p.distance(e.into()) < 1e-12, "{p}");
        }
    }
}
