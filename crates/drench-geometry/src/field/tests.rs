use super::*;
use crate::{GeometryError, TriMesh, primitives};
use drench_math::random::Stream;

fn probes(count: u64, size: f64) -> impl Iterator<Item = DVec3> {
    let stream = Stream::new(4, "probes");
    (0..count).map(move |i| stream.direction(i) * size * stream.uniform(1_000_000 + i))
}

fn moved(mut mesh: TriMesh, by: DVec3) -> TriMesh {
    mesh.positions.iter_mut().for_each(|p| *p += by);
    mesh
}

/// A sphere without its cap: the hole has a radius of 0.6.
fn holed_sphere() -> TriMesh {
    let mut mesh = primitives::sphere(1.0, 5);
    let positions = mesh.positions.clone();
    mesh.triangles.retain(|t| t.iter().any(|&v| positions[v as usize].y < 0.8));
    mesh
}

#[test]
fn a_baked_sphere_matches_the_exact_one() {
    let field = DistanceField::bake(&primitives::sphere(1.0, 6), 0.04, 0.2).unwrap();
    let exact = Field::Sphere { radius: 1.0 };
    for p in probes(3_000, 2.5) {
        let (d, g) = field.distance_and_gradient(p);
        let (e, n) = exact.distance_and_gradient(p);
        assert!((g.length() - 1.0).abs() < 1e-9);
        if e.abs() < 0.08 {
            // Curvature x cell^2 / 8 per axis, and the mesh's own error.
            assert!((d - e).abs() < 2e-3, "{d} {e}");
            assert!(g.dot(n) > 0.998, "{g} {n}");
        } else if p.length() > 0.3 {
            assert!((d - e).abs() < 0.1 * e.abs() + 0.02 || e > 0.2, "{d} {e} at {p}");
            assert!(d < e + 0.02 || e < 0.0);
        }
    }
}

#[test]
fn the_gradient_is_that_of_the_values() {
    let field = DistanceField::bake(&primitives::torus(1.0, 0.4, 4), 0.05, 0.2).unwrap();
    let h = 1e-7;
    let (low, high) = field.bounds();
    for p in probes(500, 1.5).filter(|p| p.cmpgt(low).all() && p.cmplt(high).all()) {
        let (_, gradient) = field.distance_and_gradient(p);
        let difference = |axis: DVec3| (field.distance(p + axis * h) - field.distance(p - axis * h)) / (2.0 * h);
        let numeric = DVec3::new(difference(DVec3::X), difference(DVec3::Y), difference(DVec3::Z));
        assert!(numeric.normalize().distance(gradient) < 1e-3 || numeric.length() < 0.2, "{numeric} {gradient}");
    }
}

#[test]
fn the_early_out_never_hides_a_near_point() {
    let field = DistanceField::bake(&primitives::torus(1.0, 0.4, 4), 0.05, 0.2).unwrap();
    let mut skipped = 0;
    for p in probes(5_000, 3.0) {
        let (distance, gradient) = field.distance_and_gradient(p);
        match field.within(p, 0.1) {
            Some(found) => assert!(found == (distance, gradient) && distance <= 0.1),
            None => {
                assert!(distance > 0.1);
                skipped += 1;
            }
        }
    }
    assert!(skipped > 1_000);
}

#[test]
fn outside_the_box_the_distance_is_a_lower_bound_and_grows() {
    let field = DistanceField::bake(&primitives::sphere(1.0, 5), 0.1, 0.2).unwrap();
    for direction in (0..400).map(|i| Stream::new(1, "rays").direction(i)) {
        let mut last = f64::NEG_INFINITY;
        for k in 0..100 {
            let p = direction * (1.0 + 0.05 * f64::from(k));
            let d = field.distance(p);
            assert!(d <= p.length() - 1.0 + 0.03 && d > last - 1e-3, "{d} at {p}");
            last = d;
        }
    }
    let (far, gradient) = field.distance_and_gradient(DVec3::splat(1e100));
    assert!(far.is_finite() && gradient.is_finite());
}

#[test]
fn a_hole_is_closed_by_a_membrane() {
    let field = DistanceField::bake(&holed_sphere(), 0.05, 0.3).unwrap();
    // Outwards from anywhere outside the sphere, nothing is ever inside.
    for direction in (0..500).map(|i| Stream::new(2, "rays").direction(i)) {
        for k in 0..40 {
            let p = direction * (1.03 + 0.03 * f64::from(k));
            assert!(field.distance(p) > 0.0, "{p}");
        }
    }
    assert!(field.distance(DVec3::ZERO) < -0.5);
    // Down the axis through the hole: from outside to inside once, without a jump.
    let line: Vec<f64> = (0..300).map(|k| field.distance(DVec3::Y * (1.5 - 0.005 * f64::from(k)))).collect();
    assert!(line.windows(2).all(|w| (w[0] - w[1]).abs() < 0.02), "jump");
    assert_eq!(line.windows(2).filter(|w| (w[0] < 0.0) != (w[1] < 0.0)).count(), 1);
}

#[test]
fn overlapping_spheres_are_one_body() {
    let mut mesh = moved(primitives::sphere(1.0, 5), DVec3::X * 0.5);
    mesh.append(moved(primitives::sphere(1.0, 5), DVec3::X * -0.5));
    let field = DistanceField::bake(&mesh, 0.05, 0.2).unwrap();
    let truth = |p: DVec3| p.distance(DVec3::X * 0.5).min(p.distance(DVec3::X * -0.5)) - 1.0;
    for p in probes(3_000, 2.0) {
        let d = field.distance(p);
        assert!((d > 0.0) == (truth(p) > 0.0) || truth(p).abs() < 0.01, "{d} at {p}");
        // The walls inside do not attract: deep inside, the way out is the union's.
        assert!(truth(p) > -0.25 || d < -0.15, "{d} at {p}");
    }
    // Following the gradient from inside leads out.
    for start in probes(300, 1.0).filter(|&p| truth(p) < -0.1) {
        let mut p = start;
        for _ in 0..20 {
            let (d, g) = field.distance_and_gradient(p);
            p -= g * d;
        }
        assert!(truth(p).abs() < 0.03, "from {start} to {p}");
    }
}

#[test]
fn what_is_nearest_is_told_by_the_mesh_itself() {
    let mesh = primitives::cuboid(DVec3::new(1.0, 0.8, 0.6));
    let field = Field::Baked(DistanceField::bake(&mesh, 0.05, 0.2).unwrap());
    let truth = Field::Box { size: DVec3::new(1.0, 0.8, 0.6) };
    for p in probes(3_000, 2.0) {
        let ((distance, out), (expected, way)) = (field.nearest(p, 0.5), truth.distance_and_gradient(p));
        if expected > 0.05 && expected < 0.5 {
            assert!(
                (distance - expected).abs() < 1e-6 && out.dot(way) > 1.0 - 1e-6,
                "{distance} for {expected} at {p}"
            );
        }
    }
}

#[test]
fn an_open_sheet_has_no_inside_and_an_inside_out_mesh_does() {
    let sheet = DistanceField::bake(&primitives::plane(2.0), 0.05, 0.4).unwrap();
    assert!(probes(2_000, 1.3).all(|p| sheet.distance(p) >= 0.0));
    let mut inverted = primitives::sphere(1.0, 4);
    inverted.flip();
    let field = DistanceField::bake(&inverted, 0.1, 0.2).unwrap();
    assert!(field.distance(DVec3::ZERO) < -0.5 && field.distance(DVec3::X * 1.15) > 0.1);
}

#[test]
fn an_updated_field_is_the_field_of_the_deformed_mesh() {
    let mut mesh = primitives::sphere(1.0, 4);
    let mut field = DistanceField::bake(&mesh, 0.06, 0.2).unwrap();
    mesh.positions.iter_mut().for_each(|p| *p = DVec3::new(p.x * 1.4 + 0.3 * p.y, p.y, p.z * 0.7) + DVec3::Z * 3.0);
    field.update(&mesh.positions).unwrap();
    let fresh = DistanceField::bake(&mesh, 0.06, 0.2).unwrap();
    for p in probes(2_000, 2.0).map(|p| p + DVec3::Z * 3.0) {
        assert!((field.distance(p) - fresh.distance(p)).abs() < 1e-6);
    }
    assert!(matches!(field.update(&mesh.positions[1..]), Err(GeometryError::AttributeLength { .. })));
    mesh.positions[7].x = f64::NAN;
    assert!(matches!(field.update(&mesh.positions), Err(GeometryError::NotFinite { .. })));
}

#[test]
fn threads_do_not_change_the_field() {
    let mesh = holed_sphere();
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| DistanceField::bake(&mesh, 0.06, 0.2).unwrap().values)
    };
    let one = on(1);
    assert!(one == on(2) && one == on(8));
}

#[test]
fn memory_and_parameters_are_checked_first() {
    let mesh = primitives::sphere(1.0, 2);
    let error = DistanceField::bake(&mesh, 1e-5, 0.1).unwrap_err();
    let GeometryError::FieldTooLarge { fitting, limit, .. } = error else { panic!("{error}") };
    assert!(limit == MEMORY_LIMIT && fitting > 1e-5);
    assert!(DistanceField::bake(&mesh, 0.0, 0.1).is_err());
    assert!(DistanceField::bake(&mesh, 0.1, f64::NAN).is_err());
    assert!(DistanceField::bake(&TriMesh::default(), 0.1, 0.1).is_err());
}
