use super::*;
use crate::primitives;

fn plane(size: f64) -> TriMesh {
    let p = |x, z| DVec3::new(x, 0.0, z) * size;
    TriMesh {
        positions: vec![p(0.0, 0.0), p(0.0, 1.0), p(1.0, 1.0), p(1.0, 0.0)],
        triangles: vec![[0, 1, 2], [0, 2, 3]],
        ..Default::default()
    }
}

/// A unit square cut into strips, columns and cells whose widths grow by orders of magnitude.
fn uneven_plane() -> TriMesh {
    let cuts: Vec<f64> = (0..=24).map(|i| (f64::from(i) / 24.0).powi(4)).collect();
    let n = cuts.len() as u32;
    let mut mesh = TriMesh::default();
    for &x in &cuts {
        mesh.positions.extend(cuts.iter().map(|&z| DVec3::new(x, 0.0, z)));
    }
    for i in 0..n - 1 {
        for j in 0..n - 1 {
            let a = i * n + j;
            mesh.triangles.extend([[a, a + 1, a + n + 1], [a, a + n + 1, a + n]]);
        }
    }
    mesh
}

fn settings(distance: f64) -> PoissonSettings<'static> {
    PoissonSettings { distance, seed: 7, faces: None, density: None, limit: 10_000_000 }
}

fn positions(mesh: &TriMesh, samples: &[SurfacePoint]) -> Vec<DVec3> {
    samples.iter().map(|s| s.interpolate(&mesh.triangles, &mesh.positions)).collect()
}

/// Random points on the surface, by a method of their own.
fn probes(mesh: &TriMesh, count: u64) -> Vec<SurfacePoint> {
    let stream = Stream::new(99, "probes");
    let areas: Vec<f64> = (0..mesh.triangles.len())
        .scan(0.0, |sum, t| {
            *sum += mesh.area(t);
            Some(*sum)
        })
        .collect();
    let total = areas[areas.len() - 1];
    let probe = |i: u64| {
        let triangle = areas.partition_point(|&a| a < total * stream.uniform(3 * i)) as u32;
        let (mut u, mut v) = (stream.uniform(3 * i + 1), stream.uniform(3 * i + 2));
        if u + v > 1.0 {
            (u, v) = (1.0 - u, 1.0 - v);
        }
        SurfacePoint { triangle, u, v }
    };
    (0..count).map(probe).collect()
}

/// Checks both properties against every pair; `radius` gives the radius of a point.
fn assert_maximal(mesh: &TriMesh, samples: &[SurfacePoint], radius: impl Fn(&SurfacePoint) -> f64) {
    let points = positions(mesh, samples);
    let radii: Vec<f64> = samples.iter().map(&radius).collect();
    for i in 0..points.len() {
        for j in 0..i {
            let allowed = radii[i].min(radii[j]);
            assert!(points[i].distance(points[j]) >= allowed * (1.0 - 1e-9), "{i} and {j} are too close");
        }
    }
    for probe in probes(mesh, 20_000) {
        let p = probe.interpolate(&mesh.triangles, &mesh.positions);
        let r = radius(&probe);
        let covered = (0..points.len()).any(|i| points[i].distance(p) <= r.min(radii[i]) * (1.0 + 1e-4));
        assert!(covered || !r.is_finite(), "nothing within {r} of {p}");
    }
}

#[test]
fn sets_are_poisson_disk_and_maximal() {
    let sphere = primitives::sphere(1.0, 3);
    for (mesh, distance) in [(plane(1.0), 0.03), (uneven_plane(), 0.04), (sphere.clone(), 0.08), (sphere, 0.9)] {
        let samples = sample(&mesh, &settings(distance)).unwrap();
        assert_maximal(&mesh, &samples, |_| distance);
    }
}

#[test]
fn count_is_that_of_the_jamming_limit() {
    let mesh = primitives::sphere(1.0, 5);
    let distance = spacing_for_count(mesh.total_area(), 20_000);
    let count = sample(&mesh, &settings(distance)).unwrap().len() as f64;
    assert!((count / 20_000.0 - 1.0).abs() < 0.01, "{count}");
}

#[test]
fn samples_are_uniform_by_area_whatever_the_triangles() {
    // Patches of equal area on triangles whose areas span eight orders of magnitude. Maximal sets are more even than
    // independent points, so that the statistic must lie far below its mean for those (63 degrees of freedom).
    let mesh = uneven_plane();
    let samples = sample(&mesh, &settings(0.008)).unwrap();
    let mut counts = [0.0; 64];
    for p in positions(&mesh, &samples) {
        let cell = |x: f64| ((x * 8.0) as usize).min(7);
        counts[cell(p.x) * 8 + cell(p.z)] += 1.0;
    }
    let mean = samples.len() as f64 / 64.0;
    let chi: f64 = counts.iter().map(|c| (c - mean) * (c - mean) / mean).sum();
    assert!(chi < 40.0, "{chi}");
}

#[test]
fn first_dart_is_uniform_on_its_triangle() {
    // One sample covers everything: its place shows the distribution of a single dart.
    let mesh = TriMesh { triangles: vec![[0, 1, 2]], ..plane(1.0) };
    let mut counts = [0.0; 4];
    for seed in 0..4_000 {
        let samples = sample(&mesh, &PoissonSettings { seed, ..settings(9.0) }).unwrap();
        let [s] = samples[..] else { panic!("one sample") };
        let part = if s.u + s.v < 0.5 {
            0
        } else if s.u > 0.5 {
            1
        } else if s.v > 0.5 {
            2
        } else {
            3
        };
        counts[part] += 1.0;
    }
    let chi: f64 = counts.iter().map(|c| (c - 1_000.0f64).powi(2) / 1_000.0).sum();
    assert!(chi < 16.3, "{counts:?}"); // 3 degrees of freedom, p = 0.001
}

#[test]
fn density_sets_the_local_distance() {
    let mesh = primitives::sphere(1.0, 4);
    let density: Vec<f64> = mesh.positions.iter().map(|p| (p.y * 0.9).clamp(0.0, 1.0).powi(2)).collect();
    let distance = 0.06;
    let chosen = PoissonSettings { density: Some(&density), ..settings(distance) };
    let samples = sample(&mesh, &chosen).unwrap();
    let radius = |s: &SurfacePoint| {
        let value = s.interpolate(&mesh.triangles, &density);
        if value < DENSITY_FLOOR { f64::INFINITY } else { distance / value.sqrt() }
    };
    assert_maximal(&mesh, &samples, radius);
    assert!(samples.iter().all(|s| s.interpolate(&mesh.triangles, &mesh.positions).y > 0.0));
}

#[test]
fn density_zero_means_no_samples() {
    let mesh = plane(1.0);
    let chosen = PoissonSettings { density: Some(&[0.0; 4]), ..settings(0.1) };
    assert!(sample(&mesh, &chosen).unwrap().is_empty());
}

#[test]
fn only_the_chosen_faces_are_sampled() {
    let mesh = primitives::sphere(1.0, 3);
    let faces: Vec<u32> = (0..mesh.triangles.len() as u32).filter(|f| f % 3 == 0).collect();
    let samples = sample(&mesh, &PoissonSettings { faces: Some(&faces), ..settings(0.05) }).unwrap();
    assert!(!samples.is_empty() && samples.iter().all(|s| s.triangle % 3 == 0));
    assert!(sample(&mesh, &PoissonSettings { faces: Some(&[]), ..settings(0.05) }).unwrap().is_empty());
    let missing = sample(&mesh, &PoissonSettings { faces: Some(&[1_000_000]), ..settings(0.05) });
    assert!(matches!(missing, Err(GeometryError::NoSuchFace { .. })));
}

#[test]
fn degenerate_triangles_and_slivers_do_no_harm() {
    let mut mesh = plane(1.0);
    mesh.positions.extend([DVec3::new(2.0, 0.0, 0.0), DVec3::new(5.0, 0.0, 0.0), DVec3::new(3.0, 0.0, 1e-9)]);
    mesh.triangles.extend([[0, 0, 1], [0, 2, 2], [3, 3, 3], [4, 5, 6]]);
    let samples = sample(&mesh, &settings(0.01)).unwrap();
    assert!(samples.iter().all(|s| s.triangle < 2 || s.triangle == 5));
    // The sliver is 3 long and holds about as many samples as a line of that length.
    let on_sliver = samples.iter().filter(|s| s.triangle == 5).count();
    assert!((150..300).contains(&on_sliver), "{on_sliver}");
}

#[test]
fn threads_do_not_change_the_set() {
    let mesh = primitives::sphere(1.0, 4);
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| sample(&mesh, &settings(0.02)).unwrap())
    };
    let one = on(1);
    assert!(one == on(2) && one == on(8));
    assert_ne!(one, sample(&mesh, &PoissonSettings { seed: 8, ..settings(0.02) }).unwrap());
}

#[test]
fn the_limit_is_checked_before_work() {
    let error = sample(&plane(100.0), &settings(1e-6)).unwrap_err();
    let GeometryError::TooManySamples { fitting, limit, .. } = error else { panic!("{error}") };
    assert_eq!(limit, 10_000_000);
    assert!(sample(&plane(1.0), &PoissonSettings { limit: 5_000, ..settings(fitting) }).is_ok());
}

#[test]
fn bad_input_is_refused() {
    let mut mesh = plane(1.0);
    for distance in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(sample(&mesh, &settings(distance)), Err(GeometryError::InvalidParameter { .. })));
    }
    let short = PoissonSettings { density: Some(&[1.0]), ..settings(0.1) };
    assert!(matches!(sample(&mesh, &short), Err(GeometryError::AttributeLength { .. })));
    let wild = PoissonSettings { density: Some(&[1.0, 2.0, 0.0, 0.0]), ..settings(0.1) };
    assert!(matches!(sample(&mesh, &wild), Err(GeometryError::InvalidParameter { .. })));
    mesh.positions[2].y = f64::NAN;
    assert!(matches!(sample(&mesh, &settings(0.1)), Err(GeometryError::NotFinite { .. })));
    mesh.triangles[0][0] = 9;
    assert!(matches!(sample(&mesh, &settings(0.1)), Err(GeometryError::IndexOutOfRange { .. })));
    assert!(sample(&TriMesh::default(), &settings(0.1)).unwrap().is_empty());
}
