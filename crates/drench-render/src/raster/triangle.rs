//! Fills the pixels of a triangle, and cuts triangles at the camera's near plane.

use super::strip::Clip;
use glam::{Vec2, Vec3};

/// A projected triangle. `depth` is a value that is linear in the picture: 1 / depth of a perspective, depth of a
/// parallel projection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Projected {
    pub corners: [Vec2; 3],
    pub depth: [f32; 3],
    pub id: u32,
}

impl Projected {
    pub fn bounds(&self) -> (Vec2, Vec2) {
        let [a, b, c] = self.corners;
        (a.min(b).min(c), a.max(b).max(c))
    }

    /// Calls `visit(x, y, depth)` for each pixel centre of `clip` inside; shared edges belong to one side.
    #[inline]
    pub fn visit<F: FnMut(i32, i32, f32)>(&self, clip: Clip, mut visit: F) {
        let [a, mut b, mut c] = self.corners;
        let mut depth = Vec3::from(self.depth);
        let mut area = (b - a).perp_dot(c - a);
        if area < 0.0 {
            (b, c) = (c, b);
            depth = Vec3::new(depth.x, depth.z, depth.y);
            area = -area;
        }
        if area.is_nan() || area <= 1e-12 {
            return;
        }
        let (low, high) = self.bounds();
        let x0 = (low.x - 0.5).ceil().max(clip.x0 as f32) as i32;
        let x1 = (high.x + 0.5).min(clip.x1 as f32) as i32;
        let y0 = (low.y - 0.5).ceil().max(clip.y0 as f32) as i32;
        let y1 = (high.y + 0.5).min(clip.y1 as f32) as i32;
        let inside =
            |value: f32, edge: Vec2| value > 0.0 || (value == 0.0 && (edge.y > 0.0 || (edge.y == 0.0 && edge.x < 0.0)));
        let (ab, bc, ca) = (b - a, c - b, a - c);
        for y in y0..y1 {
            for x in x0..x1 {
                let p = Vec2::new(x as f32 + 0.5, y as f32 + 0.5);
                let (wa, wb, wc) = (bc.perp_dot(p - b), ca.perp_dot(p - c), ab.perp_dot(p - a));
                if inside(wa, bc) && inside(wb, ca) && inside(wc, ab) {
                    visit(x, y, (wa * depth.x + wb * depth.y + wc * depth.z) / area);
                }
            }
        }
    }
}

/// Cuts a triangle, given as points with depths, at `near` and hands out what lies beyond it: no, one or two triangles.
pub(crate) fn cut_near(corners: [Vec3; 3], depth: [f32; 3], near: f32, mut emit: impl FnMut([Vec3; 3])) {
    let mut polygon = [Vec3::ZERO; 4];
    let mut count = 0;
    for i in 0..3 {
        let j = (i + 1) % 3;
        if depth[i] >= near {
            polygon[count] = corners[i];
            count += 1;
        }
        if (depth[i] >= near) != (depth[j] >= near) {
            polygon[count] = corners[i].lerp(corners[j], (near - depth[i]) / (depth[j] - depth[i]));
            count += 1;
        }
    }
    for k in 2..count {
        emit([polygon[0], polygon[k - 1], polygon[k]]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_halves_of_a_square_cover_each_pixel_once() {
        let clip = Clip { x0: 0, y0: 0, x1: 20, y1: 20 };
        let square = [Vec2::new(2.5, 3.5), Vec2::new(12.5, 3.5), Vec2::new(12.5, 13.5), Vec2::new(2.5, 13.5)];
        let mut hits = vec![0; 400];
        for corners in [[square[0], square[1], square[2]], [square[2], square[0], square[3]]] {
            let triangle = Projected { corners, depth: [1.0, 1.0, 1.0], id: 0 };
            triangle.visit(clip, |x, y, depth| {
                assert!((depth - 1.0).abs() < 1e-5);
                hits[(y * 20 + x) as usize] += 1;
            });
        }
        assert!(hits.iter().all(|&n| n < 2));
        assert_eq!(hits.iter().sum::<i32>(), 100);
    }

    #[test]
    fn near_plane_keeps_the_far_part() {
        let corners = [Vec3::new(0.0, 0.0, 2.0), Vec3::new(1.0, 0.0, -2.0), Vec3::new(0.0, 1.0, 2.0)];
        let mut pieces = Vec::new();
        cut_near(corners, corners.map(|p| p.z), 0.5, |piece| pieces.push(piece));
        assert_eq!(pieces.len(), 2);
        assert!(pieces.iter().flatten().all(|p| p.z >= 0.5 - 1e-6));
        cut_near(corners, corners.map(|p| p.z), 3.0, |_| panic!("nothing lies beyond"));
    }
}
