//! Ropes: strands thick enough to have a surface become tubes of triangles, wound of plies that follow the twist.
//!
//! The cross-section turns with the material. Its angle at vertex i is
//!
//! phi_i = s_i / pitch + theta_i,
//!
//! with s_i the length up to the vertex (the lay of the rope) and theta_i the twist: the angle of the attribute
//! `normal` against a frame carried along the curve without turning, or the attribute `twist` itself. Where both are
//! given, the twist tells how many whole turns the normals made. Triangles follow the plies, so grooves stay sharp
//! however far the rope is wound.

use crate::camera::Camera;
use crate::fibre::Fur;
use crate::fibre::water::{Water, Wetness, per_vertex};
use crate::surfaces::Surfaces;
use crate::{RenderError, SolidLook};
use drench_io::{Domain, Frame, StrandBody, Values};
use glam::{Quat, Vec3};
use std::f32::consts::{PI, TAU};

/// Radius from which a strand is a rope [m].
const THICK: f32 = 0.4e-3;
/// Half width in the picture from which it is drawn as one [px].
const WIDE: f32 = 0.75;
/// Length of one turn of the plies [radii].
const PITCH: f32 = 8.0;
/// Depth of the grooves between plies [radii].
const GROOVE: f32 = 0.26;
/// Steps along a tube: in radii, and in turns of the cross-section [rad].
const STEP: f32 = 0.7;
const TURN: f32 = 0.35;
/// Most rings of all tubes of a picture; beyond it they stand farther apart.
const MOST_RINGS: f32 = 60_000.0;

/// Whether a strand with its middle here is drawn as a tube.
pub(crate) fn is_tube(middle: Vec3, radius: f32, camera: &Camera) -> bool {
    let (_, depth) = camera.project(middle);
    radius >= THICK && radius.is_finite() && radius * camera.pixels_per_metre(depth.abs()) > WIDE
}

/// Adds the ropes of a frame to the surfaces; `furs[i]` is the look of groom `i`.
pub(crate) fn gather(frame: &Frame, furs: &[Fur], camera: &Camera, surfaces: &mut Surfaces) -> Result<(), RenderError> {
    let mut spines = Vec::new();
    surfaces.solid_triangles = surfaces.triangles.len();
    for (body, fur) in frame.strands.iter().zip(furs) {
        let radii = per_vertex(body, "radius").filter(|_| body.offsets.is_sorted());
        let (Some(radii), false) = (radii, body.positions.is_empty()) else { continue };
        for strand in body.offsets.windows(2) {
            let range = strand[0] as usize..strand[1] as usize;
            let Some(positions) = body.positions.get(range.clone()) else {
                let reason = "its offsets lead past its last position";
                return Err(RenderError::Malformed { body: body.name.clone(), reason });
            };
            let middle = range.start + positions.len() / 2;
            let width = fur.look().width;
            let good = |p: &[f32; 3]| p.iter().all(|x| x.is_finite() && x.abs() < 1e9);
            if positions.len() >= 2
                && positions.iter().all(good)
                && radii[range.clone()].iter().all(|r| r.is_finite() && *r >= 0.0)
                && is_tube(Vec3::from(body.positions[middle]), radii[middle] * width, camera)
            {
                spines.push((Spine::new(body, range, radii, width), fur));
            }
        }
    }
    let rings: f32 = spines.iter().map(|(spine, _)| spine.rings(1.0)).sum();
    let coarse = (rings / MOST_RINGS).max(1.0);
    for (spine, fur) in &spines {
        spine.add(fur, camera, coarse, surfaces);
    }
    Ok(())
}

/// The middle line of a tube.
struct Spine {
    points: Vec<Vec3>,
    radii: Vec<f32>,
    tangents: Vec<Vec3>,
    /// A direction across the line, carried along it without turning.
    across: Vec<Vec3>,
    /// Angle of the material [rad].
    twist: Vec<f32>,
    /// Length up to each vertex [m].
    length: Vec<f32>,
    water: Vec<Water>,
}

impl Spine {
    fn new(body: &StrandBody, range: std::ops::Range<usize>, radii: &[f32], width: f32) -> Self {
        let points: Vec<Vec3> = body.positions[range.clone()].iter().map(|&p| Vec3::from(p)).collect();
        let last = points.len() - 1;
        let mut tangents: Vec<Vec3> = Vec::with_capacity(points.len());
        for i in 0..=last {
            let chord = points[(i + 1).min(last)] - points[i.saturating_sub(1)];
            let before = tangents.last().copied().unwrap_or(Vec3::Y);
            tangents.push(chord.normalize_or(before));
        }
        let mut across = vec![tangents[0].any_orthonormal_vector()];
        let mut length = vec![0.0];
        for i in 1..=last {
            let carried = Quat::from_rotation_arc(tangents[i - 1], tangents[i]) * across[i - 1];
            across.push(carried.reject_from_normalized(tangents[i]).normalize_or(tangents[i].any_orthonormal_vector()));
            length.push(length[i - 1] + points[i].distance(points[i - 1]));
        }
        let finite = |x: &f32| if x.is_finite() { *x } else { 0.0 };
        let mut twist: Vec<f32> = per_vertex(body, "twist")
            .map_or_else(|| vec![0.0; points.len()], |twist| twist[range.clone()].iter().map(finite).collect());
        let normal = body.attributes.get("normal").map(|a| (a.domain, &a.values));
        if let Some((Domain::Vertex, Values::F32x3(normals))) = normal
            && normals.len() == body.positions.len()
        {
            let mut before: Option<(f32, f32)> = None;
            for (i, &normal) in normals[range.clone()].iter().enumerate() {
                let (normal, side) = (Vec3::from(normal), tangents[i].cross(across[i]));
                let (y, x) = (normal.dot(side), normal.dot(across[i]));
                let seen = if (x * x + y * y).is_finite() && x * x + y * y > 1e-12 { y.atan2(x) } else { 0.0 };
                // As near as whole turns allow to what the twist says.
                let wound = before.map_or(seen, |(angle, twist_before)| angle + twist[i] - twist_before);
                let angle = seen + TAU * ((wound - seen) / TAU).round();
                before = Some((angle, twist[i]));
                twist[i] = angle;
            }
        }
        let wetness = Wetness::of(body);
        let film = |i: usize| wetness.map_or(0.0, |wetness| wetness.film(i));
        let water = |i: usize| wetness.map_or(Water::NONE, |wetness| wetness.at(i, radii[i]));
        Self {
            points,
            radii: range.clone().map(|i| (radii[i] + film(i)) * width).collect(),
            tangents,
            across,
            twist,
            length,
            water: range.map(water).collect(),
        }
    }

    /// Angle of the plies at a vertex.
    fn phase(&self, i: usize, lay: f32) -> f32 {
        self.twist[i] + lay * self.length[i]
    }

    /// Turn of the plies per length [rad/m].
    fn lay(&self, plies: u32) -> f32 {
        let radius = self.radii[self.radii.len() / 2].max(1e-6);
        if plies > 1 { TAU / (PITCH * radius) } else { 0.0 }
    }

    /// Rings between vertex `i` and the next.
    fn steps(&self, i: usize, coarse: f32, lay: f32) -> f32 {
        let radius = self.radii[i].max(self.radii[i + 1]).max(1e-6);
        let along = (self.length[i + 1] - self.length[i]) / (STEP * radius);
        let around = (self.phase(i + 1, lay) - self.phase(i, lay)).abs() / TURN;
        // The curve between vertices is smooth, however straight the tube is.
        (along.max(around).max(2.0) / coarse).ceil().clamp(1.0, 1024.0)
    }

    fn rings(&self, coarse: f32) -> f32 {
        (0..self.points.len() - 1).map(|i| self.steps(i, coarse, self.lay(3))).sum::<f32>() + 1.0
    }

    /// Adds the tube and its two ends.
    fn add(&self, fur: &Fur, camera: &Camera, coarse: f32, surfaces: &mut Surfaces) {
        let look = fur.look();
        let (plies, lay) = (look.plies, self.lay(look.plies));
        let middle = self.points.len() / 2;
        let pixels = self.radii[middle] * camera.pixels_per_metre(camera.project(self.points[middle]).1.abs());
        // Points around, a whole number for each ply.
        let each = if pixels > 24.0 {
            12
        } else if pixels > 6.0 {
            8
        } else {
            4
        };
        let sides = if plies > 1 { each * plies.min(12) } else { 3 * each };
        let profile: Vec<Corner> = (0..sides).map(|k| Corner::new(k, sides, plies.min(12))).collect();
        let shade = |along: f32, water: Water, corner: &Corner| {
            let base = fur.colour(along, 0, water);
            let own = look.stripe.filter(|_| corner.striped).map_or(base, |stripe| water.colour(stripe));
            own * corner.shade
        };
        let first = surfaces.positions.len() as u32;
        let whole = self.length.last().copied().unwrap_or(0.0).max(1e-9);
        let mut ends = [Vec3::ZERO; 2];
        let last = self.points.len() - 1;
        let mut rings = 0;
        for i in 0..last {
            let steps = self.steps(i, coarse, lay) as usize;
            for k in 0..steps + usize::from(i + 1 == last) {
                let t = k as f32 / steps as f32;
                let (centre, tangent) = self.curve(i, t);
                if rings == 0 {
                    ends[0] = centre - tangent * (0.3 * self.radii[0]);
                }
                ends[1] = centre + tangent * (0.3 * self.radii[last]);
                let carried = Quat::from_rotation_arc(self.tangents[i], tangent) * self.across[i];
                let phase = self.phase(i, lay) + (self.phase(i + 1, lay) - self.phase(i, lay)) * t;
                let u = Quat::from_axis_angle(tangent, phase) * carried;
                let v = tangent.cross(u);
                let radius = self.radii[i] + (self.radii[i + 1] - self.radii[i]) * t;
                let along = (self.length[i] + (self.length[i + 1] - self.length[i]) * t) / whole;
                let water = self.water[i].lerp(self.water[i + 1], t);
                for corner in &profile {
                    surfaces.positions.push(centre + (u * corner.place.0 + v * corner.place.1) * radius);
                    surfaces.colours.push(shade(along, water, corner));
                }
                rings += 1;
            }
            surfaces.spines.push((self.points[i], self.points[i + 1], 0.5 * (self.radii[i] + self.radii[i + 1])));
        }
        let ring = |r: u32, k: u32| first + r * sides + k % sides;
        let number = surfaces.looks.len() as u32;
        for r in 0..rings - 1 {
            for k in 0..sides {
                let [a, b, c, d] = [ring(r, k), ring(r, k + 1), ring(r + 1, k + 1), ring(r + 1, k)];
                surfaces.triangles.extend([[a, b, c], [a, c, d]]);
            }
        }
        for (r, end) in [(0, ends[0]), (rings - 1, ends[1])] {
            let centre = surfaces.positions.len() as u32;
            surfaces.positions.push(end);
            surfaces.colours.push(surfaces.colours[ring(r, sides / 2) as usize] * 0.8);
            for k in 0..sides {
                let (a, b) = (ring(r, k), ring(r, k + 1));
                surfaces.triangles.push(if r == 0 { [centre, b, a] } else { [centre, a, b] });
            }
        }
        let added = surfaces.triangles.len();
        let from = surfaces.look.len();
        surfaces.look.resize(added, number);
        surfaces.looks.push(SolidLook { roughness: self.water[middle].surface(0.75), ..SolidLook::default() });
        surfaces.smooth(first as usize, from);
    }

    /// The Catmull-Rom spline from vertex `i` to the next: point and unit tangent.
    fn curve(&self, i: usize, t: f32) -> (Vec3, Vec3) {
        let p = &self.points;
        let last = p.len() - 1;
        let before = if i > 0 { p[i - 1] } else { 2.0 * p[0] - p[1] };
        let after = if i + 2 <= last { p[i + 2] } else { 2.0 * p[last] - p[last - 1] };
        let (m0, m1) = (0.5 * (p[i + 1] - before), 0.5 * (after - p[i]));
        let (t2, t3) = (t * t, t * t * t);
        let point = p[i] * (2.0 * t3 - 3.0 * t2 + 1.0)
            + m0 * (t3 - 2.0 * t2 + t)
            + p[i + 1] * (3.0 * t2 - 2.0 * t3)
            + m1 * (t3 - t2);
        let slope =
            (p[i] - p[i + 1]) * (6.0 * t2 - 6.0 * t) + m0 * (3.0 * t2 - 4.0 * t + 1.0) + m1 * (3.0 * t2 - 2.0 * t);
        (point, slope.normalize_or(self.tangents[i]))
    }
}

/// A point of the cross-section of a rope of radius one.
struct Corner {
    place: (f32, f32),
    /// Less in the grooves.
    shade: f32,
    /// Whether it belongs to the ply that may have another colour.
    striped: bool,
}

impl Corner {
    fn new(k: u32, sides: u32, plies: u32) -> Self {
        let angle = TAU * k as f32 / sides as f32;
        let (radius, shade, striped) = if plies > 1 {
            // Round plies that meet in grooves: place in the ply from -1 to 1.
            let place = 2.0 * (angle * plies as f32 / TAU).fract() - 1.0;
            let height = (1.0 - place * place).max(0.0).sqrt();
            (1.0 - GROOVE * (1.0 - height), 0.35 + 0.65 * height, angle * plies as f32 / TAU < 1.0 - 1e-3)
        } else {
            // A little outside the circle, so that the polygon has the circle's area.
            let part = TAU / sides as f32;
            ((part / part.sin()).sqrt(), 1.0, angle.min(TAU - angle) < PI / 4.0)
        };
        Self { place: (radius * angle.cos(), radius * angle.sin()), shade, striped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HairLook, View};
    use drench_io::Attribute;
    use std::collections::BTreeMap;

    fn camera() -> Camera {
        let view = View { position: Vec3::new(0.0, 0.0, 1.0), ..View::default() };
        Camera::new(&view, 640, 360).unwrap()
    }

    fn rope(vertices: usize, twist: f32, normals: bool) -> StrandBody {
        let per_vertex = |values| Attribute { domain: Domain::Vertex, values };
        let angle = |i: usize| twist * i as f32 / (vertices - 1) as f32;
        let mut attributes = BTreeMap::from([
            ("radius".to_owned(), per_vertex(Values::F32(vec![0.01; vertices]))),
            ("twist".to_owned(), per_vertex(Values::F32((0..vertices).map(angle).collect()))),
        ]);
        if normals {
            let normal = |i: usize| [angle(i).cos(), 0.0, -angle(i).sin()];
            attributes.insert("normal".to_owned(), per_vertex(Values::F32x3((0..vertices).map(normal).collect())));
        }
        StrandBody {
            name: "rope".into(),
            offsets: vec![0, vertices as u32],
            positions: (0..vertices).map(|i| [0.0, 0.2 * i as f32 / (vertices - 1) as f32, 0.0]).collect(),
            attributes,
            children: None,
        }
    }

    fn tube(body: StrandBody, plies: u32) -> Surfaces {
        let frame = Frame { strands: vec![body], ..Frame::default() };
        let mut surfaces = Surfaces::default();
        let furs = [Fur::new(HairLook { plies, ..HairLook::default() })];
        gather(&frame, &furs, &camera(), &mut surfaces).unwrap();
        surfaces
    }

    #[test]
    fn a_smooth_tube_is_a_cylinder_with_normals_outwards() {
        let surfaces = tube(rope(5, 0.0, false), 0);
        assert_eq!(surfaces.positions.len(), surfaces.colours.len());
        assert_eq!(surfaces.positions.len(), surfaces.normals.len());
        let mut volume = 0.0;
        for t in 0..surfaces.triangles.len() {
            let [a, b, c] = surfaces.corners(t);
            volume += a.dot(b.cross(c)) / 6.0;
        }
        // The ends bulge by a third of a cone of 0.3 radii each.
        let expected = PI * 1e-4 * (0.2 + 2.0 * 0.003 / 3.0);
        assert!((volume / expected - 1.0).abs() < 0.02, "{}", volume / expected);
        for (p, n) in surfaces.positions.iter().zip(&surfaces.normals) {
            let out = Vec3::new(p.x, 0.0, p.z);
            assert!((n.length() - 1.0).abs() < 1e-4);
            assert!(out.length() < 1e-4 || n.dot(out.normalize()) > 0.5, "{p} {n}");
        }
    }

    /// Twist turns the far end against the near one by its angle, whether it comes as angles or as directions.
    #[test]
    fn plies_follow_the_twist() {
        let end = |surfaces: &Surfaces| {
            let sides = surfaces.positions.len() - 2;
            // Twelve points around at this size.
            let p = surfaces.positions[sides - 12];
            p.z.atan2(p.x)
        };
        for normals in [false, true] {
            let (still, wound) = (tube(rope(9, 0.0, normals), 3), tube(rope(9, 13.0, normals), 3));
            let angle = (end(&wound) - end(&still)).rem_euclid(TAU);
            // Around +y, which turns z towards x.
            let difference = (angle + 13.0).rem_euclid(TAU);
            assert!(!(0.02..=TAU - 0.02).contains(&difference), "{angle} {normals}");
            assert!(wound.positions.len() > still.positions.len());
        }
    }

    #[test]
    fn thin_torn_and_broken_strands_are_harmless() {
        let mut body = rope(6, 1.0, true);
        body.offsets = vec![0, 1, 3, 3, 6];
        assert!(!tube(body.clone(), 3).triangles.is_empty());
        body.positions[1] = [f32::NAN; 3];
        body.positions[4] = [f32::INFINITY; 3];
        assert!(tube(body.clone(), 3).triangles.is_empty());
        let same = StrandBody { positions: vec![[0.1; 3]; 6], ..body.clone() };
        let surfaces = tube(same, 3);
        assert!(surfaces.positions.iter().chain(&surfaces.normals).all(|p| p.is_finite()));
        body.attributes.remove("radius");
        assert!(tube(body, 3).triangles.is_empty());
    }
}
