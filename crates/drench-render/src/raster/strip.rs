//! Fills the pixels of a line with width: the projection of one segment of a strand.

use glam::Vec2;

/// A rectangle of pixels, the far ends excluded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clip {
    pub x0: i32,
    pub y0: i32,
    pub x1: i32,
    pub y1: i32,
}

/// Calls `visit(x, y, t, d)` for each pixel of `clip` whose centre lies within `reach` [px] of the line from `a` to `b`
/// and between its ends: `t` is the place along it (0 to 1, end excluded, so that the segments of a strand share no
/// pixel), `d` the signed distance [px].
#[inline]
pub(crate) fn visit<F: FnMut(i32, i32, f32, f32)>(a: Vec2, b: Vec2, reach: f32, clip: Clip, mut visit: F) {
    let ab = b - a;
    let length_squared = ab.length_squared();
    if !(length_squared > 1e-12 && length_squared < 1e12) {
        return;
    }
    let length = length_squared.sqrt();
    let u = ab / length;
    let y0 = (a.y.min(b.y) - reach - 0.5).ceil().max(clip.y0 as f32) as i32;
    let y1 = (a.y.max(b.y) + reach + 0.5).min(clip.y1 as f32) as i32;
    let box_x0 = (a.x.min(b.x) - reach - 0.5).ceil().max(clip.x0 as f32);
    let box_x1 = (a.x.max(b.x) + reach - 0.5).floor().min((clip.x1 - 1) as f32);
    // In a row, distance = u.y px - u.x py and place = u.x px + u.y py are linear in px: each bounds an interval.
    let inverse_x = if u.x.abs() > 1e-4 { 1.0 / u.x } else { 0.0 };
    let inverse_y = if u.y.abs() > 1e-4 { 1.0 / u.y } else { 0.0 };
    for y in y0..y1 {
        let py = y as f32 + 0.5 - a.y;
        let (mut low, mut high) = (box_x0, box_x1);
        if inverse_y != 0.0 {
            let middle = py * u.x * inverse_y + a.x - 0.5;
            let half = reach * inverse_y.abs();
            low = low.max((middle - half).ceil());
            high = high.min((middle + half).floor());
        }
        if inverse_x != 0.0 {
            let e0 = -py * u.y * inverse_x + a.x - 0.5;
            let e1 = (length - py * u.y) * inverse_x + a.x - 0.5;
            low = low.max((e0.min(e1) - 0.01).ceil());
            high = high.min((e0.max(e1) + 0.01).floor());
        }
        if low > high {
            continue;
        }
        for x in low as i32..=high as i32 {
            let px = x as f32 + 0.5 - a.x;
            let d = u.y * px - u.x * py;
            let along = u.x * px + u.y * py;
            if d.abs() < reach && along >= 0.0 && along < length {
                visit(x, y, along / length, d);
            }
        }
    }
}

/// How much of a pixel a band of this half width covers whose middle runs past at distance `d` [px], seen through a
/// tent filter two pixels wide. Summed over the pixels across it gives the band's width, however thin it is.
#[inline]
pub(crate) fn coverage(d: f32, half_width: f32) -> f32 {
    /// Integral of the tent from minus infinity.
    #[inline]
    fn tent(x: f32) -> f32 {
        let x = x.clamp(-1.0, 1.0);
        0.5 + x - 0.5 * x * x.abs()
    }
    tent(d + half_width) - tent(d - half_width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_math::random::Stream;

    #[test]
    fn visits_the_pixels_that_brute_force_finds() {
        let stream = Stream::new(5, "lines");
        let clip = Clip { x0: 0, y0: 0, x1: 32, y1: 32 };
        for i in 0..500 {
            let at = |k| stream.child(i).range(k, -10.0, 42.0) as f32;
            let (mut a, b, reach) = (Vec2::new(at(0), at(1)), Vec2::new(at(2), at(3)), 0.3 + at(4).abs() * 0.1);
            if i % 5 == 0 {
                a.x = b.x; // upright
            } else if i % 5 == 1 {
                a.y = b.y; // level
            }
            let mut found = Vec::new();
            visit(a, b, reach, clip, |x, y, _, _| found.push((x, y)));
            let u = (b - a).normalize();
            let mut expected = Vec::new();
            for (x, y) in (0..32).flat_map(|y| (0..32).map(move |x| (x, y))) {
                let p = Vec2::new(x as f32 + 0.5, y as f32 + 0.5) - a;
                let (along, d) = (p.dot(u), p.perp_dot(u));
                if d.abs() < reach - 1e-3 && along > 1e-3 && along < (b - a).length() - 1e-3 {
                    expected.push((x, y));
                }
            }
            assert!(expected.iter().all(|pixel| found.contains(pixel)), "{a} {b}");
            assert!(found.len() <= expected.len() + 3, "{} {}", found.len(), expected.len());
        }
    }

    #[test]
    fn coverage_across_a_band_sums_to_its_width() {
        for half_width in [0.01_f32, 0.2, 0.7, 3.3] {
            for shift in [0.0_f32, 0.13, 0.5, 0.77] {
                let sum: f32 = (-10..10).map(|i| coverage(i as f32 + shift, half_width)).sum();
                assert!((sum - 2.0 * half_width).abs() < 1e-4, "{sum} {half_width}");
            }
        }
    }
}
