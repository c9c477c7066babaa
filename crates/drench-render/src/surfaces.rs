//! The triangles of a frame's solids, and of its ropes.

use crate::{RenderError, Settings, SolidLook};
use drench_io::Frame;
use glam::Vec3;

/// All visible solids of a picture, flat.
#[derive(Default)]
pub(crate) struct Surfaces {
    pub positions: Vec<Vec3>,
    pub normals: Vec<Vec3>,
    /// Colour at each vertex.
    pub colours: Vec<Vec3>,
    pub triangles: Vec<[u32; 3]>,
    /// Triangles that belong to solids; those that follow belong to ropes.
    pub solid_triangles: usize,
    /// Middle lines of the ropes: two ends and a radius [m].
    pub spines: Vec<(Vec3, Vec3, f32)>,
    /// Look of each triangle's solid.
    pub look: Vec<u32>,
    pub looks: Vec<SolidLook>,
    /// Triangles that were left out because a coordinate is not finite.
    pub skipped: u64,
}

impl Surfaces {
    pub fn gather(&mut self, frame: &Frame, settings: &Settings) -> Result<(), RenderError> {
        *self = Self::default();
        for body in &frame.solids {
            let look = settings.solids.get(&body.name).copied().unwrap_or_default();
            if !look.visible {
                continue;
            }
            if body.triangles.iter().flatten().any(|&v| v as usize >= body.positions.len()) {
                let reason = "a triangle names a vertex that does not exist";
                return Err(RenderError::Malformed { body: body.name.clone(), reason });
            }
            let first = self.positions.len() as u32;
            self.positions.extend(body.positions.iter().map(|&p| Vec3::from(p)));
            for triangle in &body.triangles {
                let corners = triangle.map(|v| v + first);
                let good = |&v: &u32| {
                    let p = self.positions[v as usize];
                    p.is_finite() && p.abs().max_element() < 1e9
                };
                if corners.iter().all(good) {
                    self.triangles.push(corners);
                    self.look.push(self.looks.len() as u32);
                } else {
                    self.skipped += 1;
                }
            }
            if body.normals.len() == body.positions.len() {
                self.normals.extend(body.normals.iter().map(|&n| Vec3::from(n)));
            } else {
                self.normals.resize(self.positions.len(), Vec3::ZERO);
            }
            self.colours.resize(self.positions.len(), look.colour);
            self.looks.push(look);
        }
        self.solid_triangles = self.triangles.len();
        Ok(())
    }

    /// Gives the vertices from `vertex` on the normals of the triangles from `triangle` on.
    pub fn smooth(&mut self, vertex: usize, triangle: usize) {
        self.normals.resize(self.positions.len(), Vec3::ZERO);
        for t in triangle..self.triangles.len() {
            let flat = self.area_normal(t);
            self.triangles[t].iter().for_each(|&v| self.normals[v as usize] += flat);
        }
        self.normals[vertex..].iter_mut().for_each(|n| *n = n.normalize_or(Vec3::Y));
    }

    pub fn corners(&self, triangle: usize) -> [Vec3; 3] {
        self.triangles[triangle].map(|v| self.positions[v as usize])
    }

    /// Geometric normal, not normalised: twice the area long.
    pub fn area_normal(&self, triangle: usize) -> Vec3 {
        let [a, b, c] = self.corners(triangle);
        (b - a).cross(c - a)
    }

    /// Where the ray meets the plane of a triangle: distance along the ray and smooth unit normal on the ray's side.
    pub fn hit(&self, triangle: usize, origin: Vec3, direction: Vec3) -> Option<(f32, Vec3)> {
        let [a, b, c] = self.corners(triangle);
        let flat = (b - a).cross(c - a);
        let area = flat.length_squared();
        let t = (a - origin).dot(flat) / direction.dot(flat);
        if !(t.is_finite() && area > 0.0) {
            return None;
        }
        let weights = weights([a, b, c], flat, area, origin + direction * t);
        let [i, j, k] = self.triangles[triangle].map(|v| self.normals[v as usize]);
        let smooth = i * weights.x + j * weights.y + k * weights.z;
        let normal = if smooth.is_finite() && smooth.length_squared() > 1e-6 { smooth } else { flat }.normalize();
        Some((t, if flat.dot(direction) * flat.dot(normal) > 0.0 { -normal } else { normal }))
    }

    /// Colour of a triangle's point.
    pub fn colour(&self, triangle: usize, p: Vec3) -> Vec3 {
        let [a, b, c] = self.corners(triangle);
        let flat = (b - a).cross(c - a);
        let weights = weights([a, b, c], flat, flat.length_squared().max(f32::MIN_POSITIVE), p);
        let [i, j, k] = self.triangles[triangle].map(|v| self.colours[v as usize]);
        i * weights.x + j * weights.y + k * weights.z
    }
}

/// Barycentric coordinates of a point of a triangle, whose normal is `flat` long with the square `area`.
fn weights([a, b, c]: [Vec3; 3], flat: Vec3, area: f32, p: Vec3) -> Vec3 {
    let v = (b - p).cross(c - p).dot(flat) / area;
    let w = (c - p).cross(a - p).dot(flat) / area;
    Vec3::new(v, w, 1.0 - v - w).clamp(Vec3::ZERO, Vec3::ONE)
}
