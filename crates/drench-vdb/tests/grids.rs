//! Level sets and means, against what is known in closed form.

#![allow(clippy::unwrap_used)]

use drench_vdb::{Class, Grid, VdbError, level_set, mean_of_points, write};

/// A box from `low` to `high`, faces outwards.
fn cuboid(low: [f32; 3], high: [f32; 3]) -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
    let corner = |k: usize| [0, 1, 2].map(|axis| if k >> axis & 1 == 1 { high[axis] } else { low[axis] });
    let quads = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    ((0..8).map(corner).collect(), quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect())
}

/// Signed distance to that box.
fn distance(point: [f64; 3], low: [f32; 3], high: [f32; 3]) -> f64 {
    let beyond = [0, 1, 2].map(|axis| {
        let (low, high) = (f64::from(low[axis]), f64::from(high[axis]));
        (low - point[axis]).max(point[axis] - high)
    });
    let outside: f64 = beyond.iter().map(|x| x.max(0.0).powi(2)).sum::<f64>().sqrt();
    outside + beyond.iter().copied().fold(f64::NEG_INFINITY, f64::max).min(0.0)
}

#[test]
fn a_box_has_its_distances_and_a_thick_inside() {
    // Faces on voxels in x, between them in y, oblique ones are the ball's in the example; 50 voxels thick.
    let (low, high) = ([-1.0, -0.23, -0.5], [1.0, 0.31, 0.9]);
    let (positions, triangles) = cuboid(low, high);
    let voxel = 0.02;
    let grid = level_set("box", &positions, &triangles, voxel).unwrap();
    let band = 3.0 * voxel;
    for i in -60..60 {
        for j in -20..24 {
            for k in (-32..54).step_by(3) {
                let expected = distance([i, j, k].map(|n| f64::from(n) * voxel), low, high);
                let got = f64::from(grid.value([i, j, k]));
                if expected.abs() < band - 1e-6 {
                    // On the surface either sign is right.
                    assert!((got.abs() - expected.abs()).abs() < 1e-6, "{got} {expected}");
                    assert!(grid.is_active([i, j, k]));
                }
                if expected.abs() > 1e-6 {
                    let clamped = expected.clamp(-band, band);
                    assert!((got - clamped).abs() < 1e-6, "{got} {clamped} at {i} {j} {k}");
                }
            }
        }
    }
}

#[test]
fn overlapping_bodies_are_their_union() {
    let (mut positions, mut triangles) = cuboid([0.0; 3], [0.5; 3]);
    let (others, faces) = cuboid([0.2; 3], [0.8; 3]);
    triangles.extend(faces.iter().map(|t| t.map(|v| v + 8)));
    positions.extend(others);
    let grid = level_set("two", &positions, &triangles, 0.02).unwrap();
    // In both, in one, in neither.
    assert!(grid.value([17, 17, 17]) < 0.0 && grid.value([5, 5, 5]) < 0.0 && grid.value([35, 35, 35]) < 0.0);
    assert!(grid.value([5, 5, 35]) > 0.0);
}

#[test]
fn means_are_means() {
    let points = [([0.0, 0.0, 0.0], 1.0), ([0.1, 0.0, 0.0], 3.0), ([f32::NAN, 0.0, 0.0], 9.0)];
    let grid = mean_of_points("wetness", Class::Fog, 0.05, 0.06, points.into_iter()).unwrap();
    assert_eq!(grid.value([0, 0, 0]), 1.0);
    assert_eq!(grid.value([2, 0, 0]), 3.0);
    assert_eq!(grid.value([1, 0, 0]), 2.0, "as far from one as from the other");
    assert!(!grid.is_active([9, 0, 0]));
    // Less reach than half a voxel still shows.
    let lone = mean_of_points("v", Class::Plain, 1.0, 0.1, [([0.4, 0.4, 0.4], [1.0, 2.0, 3.0])].into_iter()).unwrap();
    assert_eq!(lone.value([0, 0, 0]), [1.0, 2.0, 3.0]);
    assert_eq!(lone.active_voxels(), 1 + 3, "the corner and those beside it");
}

#[test]
fn what_would_not_fit_is_refused_before_memory_is_taken() {
    let far = mean_of_points("far", Class::Fog, 1e-6, 1e-6, [([1e9, 0.0, 0.0], 1.0)].into_iter());
    assert!(matches!(far, Err(VdbError::TooLarge { .. })));
    let (positions, triangles) = cuboid([-1e3; 3], [1e3; 3]);
    let large = level_set("large", &positions, &triangles, 0.01);
    assert!(large.err().unwrap().to_string().contains("take larger ones"));
    assert!(matches!(Grid::new("x", Class::Fog, 0.0, 0.0_f32), Err(VdbError::Voxel(_))));
    assert!(matches!(Grid::new("x", Class::Fog, f64::NAN, 0.0_f32), Err(VdbError::Voxel(_))));
    // Corners that do not exist or are nowhere are left out.
    let broken = level_set("broken", &[[f32::NAN; 3], [0.0; 3]], &[[0, 1, 1], [0, 1, 7]], 0.1).unwrap();
    assert_eq!(broken.active_voxels(), 0);
}

#[test]
fn the_same_grids_give_the_same_file_with_its_counts_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let (positions, triangles) = cuboid([0.0; 3], [1.0; 3]);
    let grid = level_set("surface", &positions, &triangles, 0.05).unwrap();
    let empty = mean_of_points::<f32>("nothing", Class::Fog, 0.05, 0.1, std::iter::empty()).unwrap();
    let file = |name: &str| {
        let path = folder.path().join(name);
        write(&path, &[&grid, &empty]).unwrap();
        std::fs::read(path).unwrap()
    };
    let bytes = file("a.vdb");
    assert_eq!(bytes, file("b.vdb"));
    assert!(bytes.starts_with(b" BDV\0\0\0\0\xe0\0\0\0"));
    let count = b"file_voxel_count\x05\0\0\0int64\x08\0\0\0";
    let at = bytes.windows(count.len()).position(|window| window == count).unwrap() + count.len();
    assert_eq!(u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()), grid.active_voxels());
    let missing = write(&folder.path().join("no/such.vdb"), &[&empty]);
    assert!(matches!(missing, Err(VdbError::Storage { .. })));
}
