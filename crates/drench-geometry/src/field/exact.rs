//! Distance and gradient of simple shapes in closed form. Where the gradient is not defined (an axis, a centre), one
//! of the directions that lead out is chosen.

use glam::{DVec2, DVec3};

pub(super) fn sphere(p: DVec3, radius: f64) -> (f64, DVec3) {
    // One root for both, by the processor and not through the library that `glam` asks.
    let length = p.length_squared().sqrt();
    let inverse = 1.0 / length;
    (length - radius, if inverse.is_finite() && inverse > 0.0 { p * inverse } else { DVec3::Y })
}

pub(super) fn cuboid(p: DVec3, size: DVec3) -> (f64, DVec3) {
    let sign = DVec3::new(1f64.copysign(p.x), 1f64.copysign(p.y), 1f64.copysign(p.z));
    let q = p.abs() - 0.5 * size;
    if q.max_element() > 0.0 {
        let outside = q.max(DVec3::ZERO);
        let distance = outside.length();
        return (distance, sign * outside / distance);
    }
    // Inside, the nearest face decides.
    let axis = q.max_position();
    (q[axis], DVec3::AXES[axis] * sign[axis])
}

pub(super) fn capsule(p: DVec3, radius: f64, height: f64) -> (f64, DVec3) {
    let nearest = DVec3::Y * p.y.clamp(-0.5 * height, 0.5 * height);
    let (distance, gradient) = sphere(p - nearest, radius);
    (distance, if p == nearest { DVec3::X } else { gradient })
}

pub(super) fn cylinder(p: DVec3, radius: f64, height: f64) -> (f64, DVec3) {
    let (out, radial) = radial(p);
    let cap = DVec3::Y * 1f64.copysign(p.y);
    let q = DVec2::new(out - radius, p.y.abs() - 0.5 * height);
    if q.x > 0.0 && q.y > 0.0 {
        let distance = q.length();
        return (distance, (radial * q.x + cap * q.y) / distance);
    }
    if q.x > q.y { (q.x, radial) } else { (q.y, cap) }
}

pub(super) fn torus(p: DVec3, radius: f64, thickness: f64) -> (f64, DVec3) {
    let (_, radial) = radial(p);
    let offset = p - radial * radius;
    (offset.length() - thickness, offset.try_normalize().unwrap_or(DVec3::Y))
}

/// An open tank: a floor and four walls, each a box. Outside, which is where things are kept, the nearest box is the
/// nearest wall.
pub(super) fn tank(p: DVec3, size: DVec3, wall: f64) -> (f64, DVec3) {
    let (x, z) = (0.5 * size.x - p.x.abs(), 0.5 * size.z - p.z.abs());
    if x > 0.0 && z > 0.0 && p.y > 0.0 && p.y <= size.y {
        // Where things are mostly asked for: between the walls.
        let (floor, across) = (p.y <= x && p.y <= z, x <= z);
        return match (floor, across) {
            (true, _) => (p.y, DVec3::Y),
            (false, true) => (x, DVec3::NEG_X * 1f64.copysign(p.x)),
            (false, false) => (z, DVec3::NEG_Z * 1f64.copysign(p.z)),
        };
    }
    let (outer, rise) = (size + DVec3::new(2.0, 0.0, 2.0) * wall, size.y + wall);
    // Walls stand beside the floor down to its underside, and the two pairs share their corners.
    let floor = (DVec3::NEG_Y * 0.5 * wall, DVec3::new(outer.x, wall, outer.z));
    let side = |axis: DVec3, inner: f64, length: DVec3| {
        let centre = axis * (0.5 * (inner + wall)).copysign(p.dot(axis)) + DVec3::Y * 0.5 * (size.y - wall);
        (centre, axis * wall + length + DVec3::Y * rise)
    };
    let walls = [side(DVec3::X, size.x, DVec3::Z * outer.z), side(DVec3::Z, size.z, DVec3::X * outer.x)];
    let nearest = |a: (f64, DVec3), b: (f64, DVec3)| if b.0 < a.0 { b } else { a };
    walls.into_iter().fold(cuboid(p - floor.0, floor.1), |best, (centre, size)| nearest(best, cuboid(p - centre, size)))
}

/// Distance from the y axis and the direction away from it.
fn radial(p: DVec3) -> (f64, DVec3) {
    let flat = DVec3::new(p.x, 0.0, p.z);
    (flat.length(), flat.try_normalize().unwrap_or(DVec3::X))
}

#[cfg(test)]
mod tests {
    use crate::bvh::Bvh;
    use crate::field::Field;
    use crate::primitives;
    use drench_math::random::Stream;
    use glam::DVec3;

    fn shapes() -> Vec<Field> {
        vec![
            Field::Sphere { radius: 0.8 },
            Field::Box { size: DVec3::new(1.0, 0.6, 1.4) },
            Field::Capsule { radius: 0.4, height: 0.9 },
            Field::Cylinder { radius: 0.5, height: 0.9 },
            Field::Torus { radius: 0.8, thickness: 0.25 },
            Field::HalfSpace,
        ]
    }

    #[test]
    fn a_tank_is_as_far_as_its_mesh_from_whatever_is_in_it_or_around_it() {
        let (size, wall) = (DVec3::new(1.0, 0.6, 1.4), 0.1);
        let field = Field::Tank { size, wall };
        let tree = Bvh::build(&primitives::tank(size, wall));
        let mut inside = 0;
        for p in probes(2000) {
            let (distance, gradient) = field.distance_and_gradient(p);
            if distance > 0.0 {
                assert!((distance - tree.closest_point(p).unwrap().distance).abs() < 1e-9, "{p}");
                assert!(field.distance(p - gradient * distance).abs() < 1e-9);
                inside += u32::from(p.abs().cmplt(0.5 * size).all() && p.y > 0.0);
            }
        }
        assert!(inside > 50, "few probes were in the tank: {inside}");
        // A little inside a wall or the floor, the way out leads back into the tank.
        assert_eq!(field.distance_and_gradient(DVec3::new(0.51, 0.3, 0.0)).1, DVec3::NEG_X);
        assert_eq!(field.distance_and_gradient(DVec3::new(0.1, 0.3, -0.72)).1, DVec3::Z);
        assert_eq!(field.distance_and_gradient(DVec3::new(0.0, -0.01, 0.0)).1, DVec3::Y);
    }

    fn probes(count: u64) -> impl Iterator<Item = DVec3> {
        let stream = Stream::new(3, "probes");
        (0..count).map(move |i| stream.direction(i) * 1.5 * stream.uniform(1_000_000 + i))
    }

    #[test]
    fn gradients_are_unit_and_match_finite_differences() {
        let h = 1e-6;
        for field in shapes() {
            let mut smooth = 0;
            for p in probes(400) {
                let (distance, gradient) = field.distance_and_gradient(p);
                assert!((gradient.length() - 1.0).abs() < 1e-12);
                let difference =
                    |axis: DVec3| (field.distance(p + axis * h) - field.distance(p - axis * h)) / (2.0 * h);
                let numeric = DVec3::new(difference(DVec3::X), difference(DVec3::Y), difference(DVec3::Z));
                smooth += usize::from(numeric.distance(gradient) < 1e-5);
                // A step along the gradient by the distance lands on the surface.
                assert!(field.distance(p - gradient * distance).abs() < 1e-9, "{field:?} {p}");
            }
            // The few others lie within h of the medial axis.
            assert!(smooth >= 398, "{field:?} {smooth}");
        }
    }

    #[test]
    fn distances_match_the_meshes_of_the_same_shapes() {
        let meshes = [
            primitives::sphere(0.8, 6),
            primitives::cuboid(DVec3::new(1.0, 0.6, 1.4)),
            primitives::capsule(0.4, 0.9, 6),
            primitives::cylinder(0.5, 0.9, 6),
            primitives::torus(0.8, 0.25, 6),
        ];
        for (mesh, field) in meshes.iter().zip(shapes()) {
            let tree = Bvh::build(mesh);
            for p in probes(300) {
                let found = tree.closest_point(p).unwrap().distance;
                assert!((field.distance(p).abs() - found).abs() < 2e-3, "{field:?} {p}");
            }
        }
    }

    #[test]
    fn degenerate_points_have_a_way_out() {
        for field in shapes() {
            for p in [DVec3::ZERO, DVec3::Y * 0.1, DVec3::new(0.8, 0.0, 0.0)] {
                let (distance, gradient) = field.distance_and_gradient(p);
                assert!(distance.is_finite() && (gradient.length() - 1.0).abs() < 1e-12);
            }
        }
    }
}
