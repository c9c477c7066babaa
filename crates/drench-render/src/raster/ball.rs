//! Balls in the picture: exact outlines, exact depth.

use crate::camera::{Camera, NEAR};
use glam::{Vec2, Vec3};

/// A box of pixels around the image of a ball; nothing if it reaches behind the camera.
pub(crate) fn bounds(camera: &Camera, centre: Vec3, radius: f32) -> Option<(Vec2, Vec2)> {
    let (at, depth) = camera.project(centre);
    if depth - radius < NEAR {
        return None;
    }
    // The cone around a ball of radius r at distance d has the slope r / sqrt(d^2 - r^2); off the axis, in the
    // direction away from the middle, its image is longer by the slope of the line of sight.
    let slope = (centre - camera.position).length() / depth;
    let reach = radius * camera.pixels_per_metre((depth * depth - radius * radius).sqrt()) * slope * slope + 1.0;
    (at.is_finite() && reach.is_finite()).then(|| (at - reach, at + reach))
}

/// Depth at which a ray (of unit depth) meets a ball.
#[inline]
pub(crate) fn depth(centre: Vec3, radius: f32, origin: Vec3, direction: Vec3) -> Option<f32> {
    let to = centre - origin;
    let length = direction.length_squared();
    let along = to.dot(direction) / length;
    let across = to - direction * along;
    let half = (radius * radius - across.length_squared()) / length;
    (half >= 0.0).then(|| along - half.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::View;
    use drench_math::random::Stream;

    #[test]
    fn every_pixel_that_shows_a_ball_is_in_its_box() {
        let view = View { field_of_view: 1.6, aperture: 0.02, ..View::default() };
        let camera = Camera::new(&view, 64, 48).unwrap().through(Vec2::new(0.006, -0.004));
        let stream = Stream::new(7, "balls");
        let mut shown = 0;
        for k in 0..200 {
            let centre = stream.direction(k).as_vec3() * 0.6;
            let radius = 0.02 + 0.2 * stream.child(1).uniform(k) as f32;
            let found = bounds(&camera, centre, radius);
            for (x, y) in (0..48).flat_map(|y| (0..64).map(move |x| (x, y))) {
                let place = Vec2::new(x as f32 + 0.5, y as f32 + 0.5);
                let (origin, direction) = camera.ray(place);
                if let (Some((low, high)), Some(_)) = (found, depth(centre, radius, origin, direction)) {
                    assert!(place.cmpge(low).all() && place.cmple(high).all(), "{place} {low} {high}");
                    shown += 1;
                }
            }
        }
        assert!(shown > 1_000);
    }
}
