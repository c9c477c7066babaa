//! Streaks in the picture: how much of a pixel, and for which part of the exposure, a drop that flies past covers.

use super::strip::{self, Clip};
use crate::camera::{Camera, NEAR};
use crate::liquid::Streak;
use glam::{Vec2, Vec3, Vec4};

/// A streak as the camera sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Projected {
    /// Ends of the drop's way [px], and their depths [m].
    pub ends: [Vec2; 2],
    pub depths: [f32; 2],
    /// Half the width [px].
    half_width: f32,
    /// How many discs of this width its drops cover, and how far the ends of a row are from its middle [px].
    covering: f32,
    loose: f32,
    /// Radiance of a drop at both ends, and how much of what is behind it hides.
    pub colours: [Vec4; 2],
}

impl Projected {
    /// Nothing if it reaches behind the camera. `colour` is that of a drop at a place.
    pub fn new(camera: &Camera, streak: &Streak, colour: impl Fn(Vec3) -> Vec4) -> Option<Self> {
        let [(a, za), (b, zb)] = [camera.project(streak.from), camera.project(streak.to)];
        if za.min(zb) < NEAR {
            return None;
        }
        // What moves towards the camera still covers a pixel.
        let (middle, half) = (0.5 * (a + b), 0.5 * (b - a));
        let half = if half.length() < 0.5 { half.normalize_or(Vec2::X) * 0.5 } else { half };
        Some(Self {
            ends: [middle - half, middle + half],
            depths: [za, zb],
            half_width: streak.radius * camera.pixels_per_metre(0.5 * (za + zb)),
            covering: streak.covering(),
            loose: streak.loose * 2.0 * half.length(),
            colours: [colour(streak.from), colour(streak.to)],
        })
    }

    /// A box of pixels around it.
    pub fn bounds(&self) -> (Vec2, Vec2) {
        let ([a, b], reach) = (self.ends, self.half_width + self.loose + 1.0);
        (a.min(b) - reach, a.max(b) + reach)
    }

    fn reach(&self) -> f32 {
        self.half_width + 1.0
    }

    /// Calls `visit(x, y, t, covered)` for the pixels of `clip` that it shows in: `t` is the place along it, 0 to 1.
    pub fn visit(&self, clip: Clip, mut visit: impl FnMut(i32, i32, f32, f32)) {
        let [a, b] = self.ends;
        let length = a.distance(b);
        // Half of the drop, or of the row, reaches beyond either end.
        let (beyond, row) = (self.half_width + self.loose, self.loose > 0.0);
        let over = (b - a) * (beyond / length);
        strip::visit(a - over, b + over, self.reach(), clip, |x, y, t, d| {
            let place = t * (length + 2.0 * beyond) - beyond;
            let chord = mean_chord(d, self.half_width);
            // The part of the exposure in which it is here: a row is there for longer, but drops in it are few.
            let half = if row { self.loose } else { 0.5 * chord };
            let here = ((place + half).min(length) - (place - half).max(0.0)).max(0.0) / length;
            let shown = if row { (here * chord / (2.0 * half)).min(1.0) } else { here };
            let covered = if row { 1.0 - (1.0 - shown).powf(self.covering) } else { shown };
            visit(x, y, (place / length).clamp(0.0, 1.0), covered);
        });
    }
}

/// Mean chord of a disc across a pixel whose middle it passes at a distance [px].
fn mean_chord(d: f32, radius: f32) -> f32 {
    // Integral of 2 sqrt(r^2 - x^2).
    let area = |x: f32| {
        let x = x.clamp(-radius, radius);
        x * (radius * radius - x * x).max(0.0).sqrt() + radius * radius * (x / radius.max(1e-9)).clamp(-1.0, 1.0).asin()
    };
    area(d + 0.5) - area(d - 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::View;

    /// Spread out or not, a drop takes the same part of light and place.
    #[test]
    fn a_streak_covers_the_area_of_its_drop() {
        let camera = Camera::new(&View { position: Vec3::Z, ..View::default() }, 400, 300).unwrap();
        let clip = Clip { x0: 0, y0: 0, x1: 400, y1: 300 };
        for radius in [0.2e-3, 1e-3, 8e-3] {
            for way in [Vec3::new(0.01, -0.2, 0.0), Vec3::new(0.15, -0.06, 0.0), Vec3::new(0.0, -0.03, 0.001)] {
                let streak = Streak { from: -0.5 * way, to: 0.5 * way, radius, drops: 1.0, drop: radius, loose: 0.0 };
                let projected = Projected::new(&camera, &streak, |_| Vec4::ONE).unwrap();
                let (mut sum, mut most) = (0.0, 0.0_f32);
                projected.visit(clip, |_, _, _, covered| {
                    sum += covered;
                    most = most.max(covered);
                });
                let expected = std::f32::consts::PI * (radius * camera.pixels_per_metre(1.0)).powi(2);
                assert!((sum / expected - 1.0).abs() < 0.06, "{sum} {expected} for {radius} along {way}");
                assert!(most <= 1.0 && most <= 2.05 * radius / way.length(), "{most} for {radius} along {way}");
            }
        }
    }

    #[test]
    fn drops_in_a_row_cover_more_but_never_all() {
        let camera = Camera::new(&View { position: Vec3::Z, ..View::default() }, 400, 300).unwrap();
        let clip = Clip { x0: 0, y0: 0, x1: 400, y1: 300 };
        let covered = |drops: f32| {
            let streak =
                Streak { from: Vec3::ZERO, to: Vec3::new(0.0, -0.1, 0.0), radius: 2e-3, drops, drop: 2e-3, loose: 0.1 };
            let (mut sum, mut most) = (0.0, 0.0_f32);
            Projected::new(&camera, &streak, |_| Vec4::ONE).unwrap().visit(clip, |_, _, _, covered| {
                sum += covered;
                most = most.max(covered);
            });
            (sum, most)
        };
        let (one, many) = (covered(1.0), covered(20.0));
        assert!(many.0 > 5.0 * one.0 && many.0 < 20.0 * one.0 && many.1 < 1.0, "{one:?} {many:?}");
    }

    #[test]
    fn what_reaches_behind_the_camera_is_not_drawn() {
        let camera = Camera::new(&View { position: Vec3::Z, ..View::default() }, 40, 30).unwrap();
        let streak =
            Streak { from: Vec3::ZERO, to: Vec3::new(0.0, 0.0, 2.0), radius: 1e-3, drops: 1.0, drop: 1e-3, loose: 0.0 };
        assert!(Projected::new(&camera, &streak, |_| Vec4::ONE).is_none());
        let towards = Streak { to: Vec3::new(0.0, 0.0, 0.1), ..streak };
        let clip = Clip { x0: 0, y0: 0, x1: 40, y1: 30 };
        let mut seen = 0.0;
        Projected::new(&camera, &towards, |_| Vec4::ONE).unwrap().visit(clip, |_, _, _, covered| seen += covered);
        assert!(seen > 0.0);
    }
}
