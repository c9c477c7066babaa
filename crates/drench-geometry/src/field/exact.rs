//! Distance and gradient of simple shapes in closed form. Where the gradient is not defined (an axis, a centre), one
//! of the directions that lead out is chosen.

use glam::{DVec2, DVec3};

pub(super) fn sphere(p: DVec3, radius: f64) -> (f64, DVec3) {
    (p.length() - radius, p.try_normalize().unwrap_or(DVec3::Y))
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
