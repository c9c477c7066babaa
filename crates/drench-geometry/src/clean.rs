//! What is done to a mesh from outside before anything is built on it: refuse what has no meaning, repair what has.

use crate::topology::{Side, coincident, sorted_sides};
use crate::{GeometryError, TriMesh};
use glam::DVec3;
use rayon::prelude::*;

/// Most triangles, and most vertices, that a mesh may have.
pub const MAX_ELEMENTS: usize = 50_000_000;

/// A triangle with less area than this times the square of its longest side counts as a line.
const FLATNESS: f64 = 1e-10;

/// Refuses more than [`MAX_ELEMENTS`] of `what`; called before memory is taken for them.
pub(crate) fn check_count(origin: &str, what: &'static str, count: u64) -> Result<(), GeometryError> {
    let limit = MAX_ELEMENTS as u64;
    if count <= limit {
        return Ok(());
    }
    let fix = "simplify the mesh, or check that the file is not damaged";
    Err(GeometryError::TooMany { origin: origin.into(), what, count, limit, fix })
}

impl TriMesh {
    /// Checks that every number is finite, every index points somewhere and every attribute has its length.
    ///
    /// `origin` names the file or shape in the error.
    pub fn validate(&self, origin: &str) -> Result<(), GeometryError> {
        let name = || origin.to_string();
        let vertices = self.positions.len();
        check_count(origin, "vertices", vertices as u64)?;
        check_count(origin, "triangles", self.triangles.len() as u64)?;
        if self.triangles.is_empty() {
            return Err(GeometryError::NoTriangles { origin: name(), reason: String::new() });
        }
        let lengths = [("normals", self.normals.len()), ("uvs", self.uvs.len()), ("colours", self.colours.len())];
        for (attribute, found) in lengths {
            if found != 0 && found != vertices {
                let attribute = attribute.into();
                return Err(GeometryError::AttributeLength { origin: name(), attribute, found, expected: vertices });
            }
        }
        for (group, weights) in &self.vertex_groups {
            if weights.len() != vertices {
                let (attribute, found) = (format!("vertex group \"{group}\""), weights.len());
                return Err(GeometryError::AttributeLength { origin: name(), attribute, found, expected: vertices });
            }
        }
        for (attribute, values) in [("position", &self.positions), ("normal", &self.normals)] {
            if let Some(vertex) = values.iter().position(|v| !v.is_finite()) {
                let DVec3 { x, y, z } = values[vertex];
                return Err(GeometryError::NotFinite { origin: name(), vertex, attribute, x, y, z });
            }
        }
        for (triangle, indices) in self.triangles.iter().enumerate() {
            if let Some(&index) = indices.iter().find(|&&i| i as usize >= vertices) {
                return Err(GeometryError::IndexOutOfRange { origin: name(), triangle, index, vertices });
            }
        }
        for (group, triangles) in &self.face_groups {
            if let Some(&t) = triangles.iter().find(|&&t| t as usize >= self.triangles.len()) {
                let (attribute, found) = (format!("face group \"{group}\""), t as usize + 1);
                let expected = self.triangles.len();
                return Err(GeometryError::AttributeLength { origin: name(), attribute, found, expected });
            }
        }
        Ok(())
    }

    /// Makes a mesh from outside fit to build on and says what was wrong with it, one sentence per kind of defect.
    ///
    /// Removes triangles without area and repeated ones, turns triangles that face another way than their neighbours
    /// and closed parts that are inside out, replaces uvs, colours and weights that are not finite, and computes
    /// normals where there are none. Vertices stay where and what they are, so that animations still fit.
    pub fn clean(&mut self, origin: &str) -> Result<Vec<String>, GeometryError> {
        self.validate(origin)?;
        let mut warnings = Vec::new();
        self.replace_stray_attributes(&mut warnings);
        let place = coincident(&self.positions);
        self.remove_useless_triangles(origin, &place, &mut warnings)?;
        let turned = self.orient(&place, &mut warnings);
        if self.normals.is_empty() || turned {
            self.compute_normals();
        }
        Ok(warnings.into_iter().map(|warning| format!("{origin}: {warning}")).collect())
    }

    fn replace_stray_attributes(&mut self, warnings: &mut Vec<String>) {
        let mut stray = 0;
        for uv in self.uvs.iter_mut().filter(|uv| !uv.is_finite()) {
            *uv = Default::default();
            stray += 1;
        }
        for channel in self.colours.iter_mut().flatten().filter(|c| !c.is_finite()) {
            *channel = 1.0;
            stray += 1;
        }
        for weight in self.vertex_groups.values_mut().flatten().filter(|w| !(0.0..=1.0).contains(*w)) {
            *weight = if weight.is_nan() { 0.0 } else { weight.clamp(0.0, 1.0) };
            stray += 1;
        }
        if stray > 0 {
            warnings.push(format!("{stray} uvs, colours or weights were not finite or not in 0..1 and were replaced"));
        }
    }

    fn remove_useless_triangles(
        &mut self,
        origin: &str,
        place: &[u32],
        warnings: &mut Vec<String>,
    ) -> Result<(), GeometryError> {
        let count = self.triangles.len();
        let mut keep = vec![true; count];
        let mut flat = Vec::new();
        for t in 0..count {
            let [a, b, c] = self.corners(t);
            let longest = (b - a).length_squared().max((c - b).length_squared()).max((a - c).length_squared());
            let area = self.area(t);
            // Coordinates so large that the area overflows are no use either.
            if area.is_nan() || area <= FLATNESS * longest {
                keep[t] = false;
                flat.push(t);
            }
        }
        // The same places in the same turn: rotate the lowest to the front, then equal triangles are neighbours when sorted.
        let rotated = |t: u32| {
            let mut corners = self.triangles[t as usize].map(|i| place[i as usize]);
            let lowest = (0..3).min_by_key(|&k| corners[k]).unwrap_or(0);
            corners.rotate_left(lowest);
            (corners, t)
        };
        let mut order: Vec<([u32; 3], u32)> = (0..count as u32).filter(|&t| keep[t as usize]).map(rotated).collect();
        order.par_sort_unstable();
        let repeated: Vec<u32> = order.windows(2).filter(|w| w[0].0 == w[1].0).map(|w| w[1].1).collect();
        for &t in &repeated {
            keep[t as usize] = false;
        }
        if let Some(first) = flat.first() {
            let n = flat.len();
            warnings.push(format!("{n} triangles without area were removed (the first is triangle {first})"));
        }
        if let Some(first) = repeated.iter().min() {
            let n = repeated.len();
            warnings.push(format!("{n} repeated triangles were removed (the first is triangle {first})"));
        }
        if flat.len() == count {
            let reason = format!(" of positive area (all {count} are points or lines)");
            return Err(GeometryError::NoTriangles { origin: origin.into(), reason });
        }
        if !flat.is_empty() || !repeated.is_empty() {
            self.keep_triangles(&keep);
        }
        Ok(())
    }

    /// Drops the triangles not marked in `keep` and renumbers the face groups.
    pub(crate) fn keep_triangles(&mut self, keep: &[bool]) {
        let mut next = 0;
        let renumbered: Vec<u32> = keep
            .iter()
            .map(|&kept| {
                next += u32::from(kept);
                next.wrapping_sub(1)
            })
            .collect();
        for group in self.face_groups.values_mut() {
            group.retain(|&t| keep[t as usize]);
            group.iter_mut().for_each(|t| *t = renumbered[*t as usize]);
        }
        let mut t = 0;
        self.triangles.retain(|_| {
            t += 1;
            keep[t - 1]
        });
    }

    /// Lets neighbours face the same way and closed parts outwards. Returns whether anything was turned.
    fn orient(&mut self, place: &[u32], warnings: &mut Vec<String>) -> bool {
        let sides = sorted_sides(&self.triangles, place);
        let tangled = sides.chunk_by(|a, b| a.edge == b.edge).filter(|edge| edge.len() > 2).count();
        if tangled > 0 {
            warnings.push(format!(
                "{tangled} edges belong to more than two triangles (not a manifold); distances stay right, but \
                 inside and outside are ambiguous there: remove inner faces or double walls"
            ));
        }
        let parts = Parts::find(self.triangles.len(), &sides);
        let mut against = 0;
        let mut inside_out = 0;
        let mut turn = parts.turn.clone();
        let shapes: Vec<Shape> = parts.members.iter().map(|members| Shape::of(self, members, &turn)).collect();
        for (index, members) in parts.members.iter().enumerate() {
            let turned = members.iter().filter(|&&t| turn[t as usize]).count();
            against += turned.min(members.len() - turned);
            // A closed part knows its outside; an open one keeps the way that most of it faces.
            let inverted = if parts.closed[index] {
                let cavity = shapes[index].volume < 0.0 && turned == 0 && {
                    let others = shapes.iter().enumerate().filter(|&(other, _)| other != index && parts.closed[other]);
                    others.into_iter().any(|(_, other)| other.surrounds(&shapes[index]))
                };
                shapes[index].volume < 0.0 && !cavity
            } else {
                2 * turned > members.len()
            };
            if inverted {
                members.iter().for_each(|&t| turn[t as usize] ^= true);
                inside_out += usize::from(parts.closed[index] && 2 * turned < members.len());
            }
        }
        if against > 0 {
            warnings.push(format!("{against} triangles faced another way than their neighbours and were turned"));
        }
        if parts.one_sided > 0 {
            let n = parts.one_sided;
            warnings
                .push(format!("{n} edges cannot be oriented (a one-sided surface); inside and outside are ambiguous"));
        }
        if inside_out > 0 {
            warnings.push(format!("{inside_out} closed parts were inside out and were turned"));
        }
        let mut turned = false;
        for (triangle, &turn) in self.triangles.iter_mut().zip(&turn) {
            if turn {
                triangle.swap(1, 2);
                turned = true;
            }
        }
        turned
    }
}

/// Parts of a mesh that hang together by edges of exactly two triangles.
struct Parts {
    /// Triangles of each part.
    members: Vec<Vec<u32>>,
    /// Whether each part has no open or tangled edge.
    closed: Vec<bool>,
    /// Whether each triangle must be turned to face the same way as the first of its part.
    turn: Vec<bool>,
    /// Edges whose triangles cannot agree.
    one_sided: usize,
}

impl Parts {
    fn find(count: usize, sides: &[Side]) -> Self {
        let mut neighbours = vec![[(u32::MAX, false); 3]; count];
        let mut filled = vec![0_u8; count];
        for edge in sides.chunk_by(|a, b| a.edge == b.edge) {
            if let [a, b] = edge {
                for (from, to) in [(a, b), (b, a)] {
                    let t = from.triangle as usize;
                    neighbours[t][filled[t] as usize] = (to.triangle, a.upwards == b.upwards);
                    filled[t] += 1;
                }
            }
        }
        let mut parts = Parts { members: Vec::new(), closed: Vec::new(), turn: vec![false; count], one_sided: 0 };
        let mut seen = vec![false; count];
        for seed in 0..count {
            if seen[seed] {
                continue;
            }
            seen[seed] = true;
            let mut members = vec![seed as u32];
            let mut next = 0;
            let mut closed = true;
            while next < members.len() {
                let t = members[next] as usize;
                next += 1;
                closed &= filled[t] == 3;
                for &(other, opposed) in &neighbours[t][..filled[t] as usize] {
                    let wanted = parts.turn[t] ^ opposed;
                    let other = other as usize;
                    if !seen[other] {
                        seen[other] = true;
                        parts.turn[other] = wanted;
                        members.push(other as u32);
                    } else if parts.turn[other] != wanted {
                        parts.one_sided += 1;
                        closed = false;
                    }
                }
            }
            parts.members.push(members);
            parts.closed.push(closed);
        }
        parts.one_sided /= 2; // each edge was met from both triangles
        parts
    }
}

/// Signed volume and box of one part.
struct Shape {
    volume: f64,
    low: DVec3,
    high: DVec3,
}

impl Shape {
    fn of(mesh: &TriMesh, members: &[u32], turn: &[bool]) -> Self {
        let anchor = mesh.corners(members[0] as usize)[0];
        let mut shape = Shape { volume: 0.0, low: anchor, high: anchor };
        for &t in members {
            let corners = mesh.corners(t as usize);
            for p in corners {
                shape.low = shape.low.min(p);
                shape.high = shape.high.max(p);
            }
            let [a, b, c] = corners.map(|p| p - anchor);
            let cone = a.dot(b.cross(c)) / 6.0;
            shape.volume += if turn[t as usize] { -cone } else { cone };
        }
        shape
    }

    /// Whether this part's box holds all of the other's: then an inverted part is the wall of a cavity.
    fn surrounds(&self, other: &Shape) -> bool {
        self.low.cmplt(other.low).all() && self.high.cmpgt(other.high).all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::{cuboid, sphere};
    use glam::DAffine3;

    fn refusal(mesh: &mut TriMesh) -> String {
        mesh.clean("wool.obj").unwrap_err().to_string()
    }

    #[test]
    fn what_has_no_meaning_is_refused_with_its_place() {
        let good = cuboid(DVec3::ONE);
        assert!(refusal(&mut TriMesh::default()).contains("no triangles"));

        let mut mesh = good.clone();
        mesh.positions[7].y = f64::NAN;
        let text = refusal(&mut mesh);
        assert!(text.contains("wool.obj") && text.contains("vertex 7") && text.contains("NaN"), "{text}");

        let mut mesh = good.clone();
        mesh.triangles[3][1] = 1_000_000;
        let text = refusal(&mut mesh);
        assert!(text.contains("triangle 3") && text.contains("1000000"), "{text}");

        let mut mesh = good.clone();
        mesh.uvs.pop();
        assert!(refusal(&mut mesh).contains("uvs"));

        let mut mesh = good.clone();
        mesh.face_groups.insert("front".into(), vec![u32::MAX]);
        assert!(refusal(&mut mesh).contains("front"));

        let mut mesh = good.clone();
        mesh.positions.fill(DVec3::ONE);
        assert!(refusal(&mut mesh).contains("points or lines"));
    }

    #[test]
    fn a_good_mesh_is_left_alone() {
        let mut mesh = sphere(1.0, 2);
        let before = mesh.clone();
        assert!(mesh.clean("sphere").unwrap().is_empty());
        assert_eq!(mesh, before);
    }

    #[test]
    fn useless_triangles_go_and_groups_follow() {
        let mut mesh = sphere(1.0, 1);
        let [a, b, c] = mesh.triangles[5];
        mesh.face_groups.insert("cap".into(), vec![0, 5]);
        mesh.triangles.insert(0, [a, a, b]);
        mesh.triangles.push([b, c, a]);
        mesh.face_groups.insert("cap".into(), vec![0, 1, 6]);
        let warnings = mesh.clean("ball").unwrap();
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[0].contains("1 triangles without area") && warnings[0].contains("triangle 0"));
        assert!(warnings[1].contains("repeated"));
        assert_eq!(mesh.face_groups["cap"], [0, 5]);
        assert!(mesh.topology().is_closed());
    }

    #[test]
    fn inside_out_and_mixed_up_parts_are_turned() {
        let mut mesh = sphere(1.0, 2);
        mesh.flip();
        let warnings = mesh.clean("ball").unwrap();
        assert!(warnings.len() == 1 && warnings[0].contains("inside out"), "{warnings:?}");
        assert!(mesh.volume() > 0.0);
        assert!(mesh.normals.iter().zip(&mesh.positions).all(|(n, p)| n.dot(*p) > 0.9));

        let mut mesh = sphere(1.0, 2);
        for t in [0, 3, 4, 50] {
            mesh.triangles[t].swap(0, 1);
        }
        let warnings = mesh.clean("ball").unwrap();
        assert!(warnings.len() == 1 && warnings[0].contains("4 triangles"), "{warnings:?}");
        assert!(mesh.topology().is_closed() && mesh.volume() > 0.0);
    }

    #[test]
    fn the_wall_of_a_cavity_stays_turned_inwards() {
        let mut hollow = sphere(1.0, 2);
        let mut wall = sphere(0.5, 2);
        wall.flip();
        hollow.append(wall);
        let before = hollow.volume();
        assert!(hollow.clean("hollow").unwrap().is_empty());
        assert_eq!(hollow.volume(), before);

        let mut apart = sphere(1.0, 2);
        let mut other = sphere(1.0, 2);
        other.flip();
        other.transform(&DAffine3::from_translation(3.0 * DVec3::X));
        apart.append(other);
        assert!(apart.clean("pair").unwrap()[0].contains("1 closed parts"));
    }

    #[test]
    fn tangled_and_one_sided_surfaces_are_reported() {
        let mut mesh = cuboid(DVec3::ONE);
        let [a, b, _] = mesh.triangles[0];
        let far = mesh.positions.len() as u32;
        mesh.positions.push(DVec3::splat(9.0));
        mesh.normals.clear();
        mesh.uvs.clear();
        mesh.triangles.push([a, b, far]);
        let warnings = mesh.clean("fin").unwrap();
        assert!(warnings[0].contains("1 edges belong to more than two"), "{warnings:?}");
        assert_eq!(mesh.normals.len(), mesh.positions.len());

        // A Möbius strip of 9 quads.
        let mut strip = TriMesh::default();
        for k in 0..9 {
            let angle = std::f64::consts::TAU * k as f64 / 9.0;
            let out = DVec3::new(angle.cos(), angle.sin(), 0.0);
            let across = 0.3 * (out * (0.5 * angle).cos() + DVec3::Z * (0.5 * angle).sin());
            strip.positions.extend([out - across, out + across]);
        }
        for k in 0..9_u32 {
            let (a, b) = (2 * k, 2 * k + 1);
            let (c, d) = if k < 8 { (a + 2, b + 2) } else { (1, 0) };
            strip.triangles.extend([[a, c, b], [b, c, d]]);
        }
        let warnings = strip.clean("strip").unwrap();
        assert!(warnings.iter().any(|w| w.contains("one-sided")), "{warnings:?}");
    }
}
