//! The pinhole or lens camera: from the world to pixels.

use crate::{RenderError, View};
use glam::{Vec2, Vec3};

/// A camera that looks at a picture of a certain size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Camera {
    pub position: Vec3,
    right: Vec3,
    up: Vec3,
    pub forward: Vec3,
    /// Distance of the picture plane [px].
    scale: f32,
    centre: Vec2,
    /// Depth of the sharp plane [m].
    focus: f32,
    /// Radius of the lens [m].
    pub lens_radius: f32,
    /// Where on the lens this picture is taken from, in the lens plane [m].
    lens: Vec2,
}

/// Nearest depth that is drawn [m].
pub(crate) const NEAR: f32 = 1e-3;

impl Camera {
    pub fn new(view: &View, width: u32, height: u32) -> Result<Self, RenderError> {
        let finite = view.position.is_finite() && view.target.is_finite() && view.up.is_finite();
        if !finite || !view.aperture.is_finite() || !view.focus.unwrap_or(1.0).is_finite() {
            return Err(RenderError::Camera { reason: "a coordinate is not a finite number" });
        }
        if !(view.field_of_view > 1e-3 && view.field_of_view < 3.1) {
            return Err(RenderError::Camera { reason: "its field of view must lie between 0.06 and 177 degrees" });
        }
        let towards = view.target - view.position;
        if towards.length() < 1e-6 {
            return Err(RenderError::Camera { reason: "its position and its target are the same point" });
        }
        let forward = towards.normalize();
        // Straight up or down any horizontal direction will do.
        let side = forward.cross(view.up);
        let right = side.try_normalize().unwrap_or_else(|| forward.any_orthonormal_vector());
        Ok(Self {
            position: view.position,
            right,
            up: right.cross(forward),
            forward,
            scale: 0.5 * height as f32 / (0.5 * view.field_of_view).tan(),
            centre: Vec2::new(width as f32, height as f32) * 0.5,
            focus: view.focus.unwrap_or(towards.length()).max(1e-3),
            lens_radius: 0.5 * view.aperture.max(0.0),
            lens: Vec2::ZERO,
        })
    }

    /// The camera seen through another point of its lens [m].
    pub fn through(self, lens: Vec2) -> Self {
        Self { lens, ..self }
    }

    /// Unit direction to the right in the picture.
    pub fn right(&self) -> Vec3 {
        self.right
    }

    /// Unit direction up in the picture.
    pub fn up(&self) -> Vec3 {
        self.up
    }

    /// Pixel coordinates and depth [m]. The depth may be negative: behind the camera.
    #[inline]
    pub fn project(&self, point: Vec3) -> (Vec2, f32) {
        let d = point - self.position;
        let depth = d.dot(self.forward);
        let z = depth.max(NEAR);
        // A point off the sharp plane moves against the lens offset [Cook1984].
        let shift = self.lens * (1.0 - z / self.focus);
        let x = d.dot(self.right) - shift.x;
        let y = d.dot(self.up) - shift.y;
        let s = self.scale / z;
        (Vec2::new(self.centre.x + x * s, self.centre.y - y * s), depth)
    }

    /// Pixels that one metre covers at this depth [px/m].
    #[inline]
    pub fn pixels_per_metre(&self, depth: f32) -> f32 {
        self.scale / depth.max(NEAR)
    }

    /// The ray through a point of the picture: origin and direction with unit depth.
    #[inline]
    pub fn ray(&self, pixel: Vec2) -> (Vec3, Vec3) {
        let q = (pixel - self.centre) / self.scale;
        let origin = self.position + self.right * self.lens.x + self.up * self.lens.y;
        let sharp = self.position + (self.forward + self.right * q.x - self.up * q.y) * self.focus;
        (origin, (sharp - origin) / self.focus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ray_goes_through_the_points_that_project_to_its_pixel() {
        let view = View { aperture: 0.02, focus: Some(0.8), ..View::default() };
        let camera = Camera::new(&view, 640, 360).unwrap().through(Vec2::new(0.004, -0.007));
        for pixel in [Vec2::new(320.0, 180.0), Vec2::new(13.0, 300.0), Vec2::new(600.0, 5.0)] {
            let (origin, direction) = camera.ray(pixel);
            for depth in [0.3_f32, 0.8, 2.0] {
                let (back, z) = camera.project(origin + direction * depth);
                assert!((z - depth).abs() < 1e-4);
                assert!((back - pixel).length() < 2e-2, "{back} {pixel}");
            }
        }
    }

    #[test]
    fn impossible_cameras_are_refused() {
        let bad = [
            View { target: View::default().position, ..View::default() },
            View { field_of_view: 4.0, ..View::default() },
            View { position: Vec3::NAN, ..View::default() },
        ];
        assert!(bad.iter().all(|view| Camera::new(view, 10, 10).is_err()));
        let down = View { position: Vec3::Y, target: Vec3::ZERO, ..View::default() };
        assert!(Camera::new(&down, 10, 10).is_ok());
    }
}
