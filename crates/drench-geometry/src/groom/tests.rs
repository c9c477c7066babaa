use super::*;
use crate::primitives;

const BALL: Field = Field::Sphere { radius: 0.1 };

fn ball() -> TriMesh {
    primitives::sphere(0.1, 5)
}

fn settings() -> GroomSettings<'static> {
    GroomSettings {
        placement: Placement::Count(400),
        length: 0.05,
        vertices: 11,
        skin: Some(&BALL),
        ..Default::default()
    }
}

fn styled() -> GroomSettings<'static> {
    GroomSettings {
        comb: DVec3::new(0.0, 0.3, -1.0),
        lay: 0.7,
        hang: 0.6,
        clearance: 0.002,
        length_variation: 0.3,
        curl: Some(Curl { radius: 0.003, pitch: 0.02, start: 0.1, flat: 0.3, variation: 0.5, grow: 0.2 }),
        clump: Some(Clump { spacing: 0.03, strength: 0.7, shape: 1.0 }),
        noise: Some(NoiseStyle { amplitude: 0.002, size: 0.02 }),
        vertices: 21,
        ..settings()
    }
}

fn strands(groom: &Groom) -> impl Iterator<Item = &[DVec3]> {
    groom.offsets.windows(2).map(|w| &groom.positions[w[0] as usize..w[1] as usize])
}

fn length(strand: &[DVec3]) -> f64 {
    strand.windows(2).map(|w| w[0].distance(w[1])).sum()
}

#[test]
fn standing_hair_is_straight_along_the_normal_and_as_long_as_asked() {
    let groom = grow(&ball(), &GroomSettings { length_variation: 0.0, ..settings() }).unwrap();
    assert!((groom.roots.len() as f64 - 400.0).abs() < 20.0);
    for strand in strands(&groom) {
        assert_eq!(strand.len(), 11);
        assert!((length(strand) - 0.05).abs() < 1e-9);
        let direction = (strand[10] - strand[0]).normalize();
        assert!(strand[10].distance(strand[0]) > 0.05 * 0.999 && direction.dot(strand[0].normalize()) > 0.999);
    }
}

#[test]
fn styled_strands_start_on_the_skin_have_equal_segments_and_stay_outside() {
    let mesh = ball();
    let groom = grow(&mesh, &styled()).unwrap();
    assert_eq!(groom.offsets.len(), groom.roots.len() + 1);
    assert_eq!(groom.radii.len(), groom.positions.len());
    for (strand, root) in strands(&groom).zip(&groom.roots) {
        assert_eq!(strand[0], root.interpolate(&mesh.triangles, &mesh.positions));
        let segment = strand[0].distance(strand[1]);
        for pair in strand.windows(2) {
            assert!((pair[0].distance(pair[1]) / segment - 1.0).abs() < 1e-9);
        }
        // The mesh itself lies up to 0.1 mm inside the ball.
        assert!(strand[1..].iter().all(|&p| BALL.distance(p) > -1e-4));
    }
}

#[test]
fn length_follows_map_and_variation_with_vertices_in_proportion() {
    let mesh = ball();
    let map = |point: &SurfacePoint| (point.interpolate(&mesh.triangles, &mesh.positions).y / 0.1).max(0.0);
    let values: Vec<f64> = mesh.positions.iter().map(|p| (p.y / 0.1).max(0.0)).collect();
    for map in [Map::Vertices(values), Map::Function(Box::new(map))] {
        let groom = grow(&mesh, &GroomSettings { length_map: Some(map), length_variation: 0.2, ..settings() }).unwrap();
        for strand in strands(&groom) {
            let height = strand[0].y / 0.1;
            assert!(height > 0.0);
            let relative = length(strand) / 0.05 / height;
            assert!((0.79..1.21).contains(&relative) || height < 0.05, "{relative}");
            let segments = (length(strand) / 0.005).round().max(2.0);
            assert_eq!(strand.len() as f64, segments + 1.0);
        }
    }
}

#[test]
fn laid_hair_follows_the_comb_along_the_skin() {
    let chosen = GroomSettings { comb: DVec3::X, lay: 1.0, clearance: 0.001, length_variation: 0.0, ..settings() };
    for strand in strands(&grow(&ball(), &chosen).unwrap()) {
        let end = (strand[9] - strand[7]).normalize();
        let out = strand[8].normalize();
        if out.x.abs() < 0.8 {
            let along = (DVec3::X - out * out.x).normalize();
            assert!(end.dot(along) > 0.95, "{end} {along}");
            assert!(strand[strand.len() - 1].length() < 0.1 + 0.008);
        }
    }
}

#[test]
fn hanging_hair_points_down_at_the_tip() {
    let chosen = GroomSettings { hang: 1.0, length: 0.3, vertices: 31, ..settings() };
    for strand in strands(&grow(&ball(), &chosen).unwrap()) {
        let tip = (strand[strand.len() - 1] - strand[strand.len() - 2]).normalize();
        assert!(tip.y < -0.9, "{tip}");
        assert!(strand.iter().all(|&p| BALL.distance(p) > -1e-4));
    }
}

#[test]
fn clumps_gather_tips_but_not_roots() {
    let spread = |settings: GroomSettings| {
        let groom = grow(&ball(), &settings).unwrap();
        let nearest = |points: Vec<DVec3>| {
            let least = |i: usize| {
                let others = (0..points.len()).filter(|&j| j != i);
                others.map(|j| points[i].distance(points[j])).fold(f64::INFINITY, f64::min)
            };
            (0..points.len()).map(least).sum::<f64>() / points.len() as f64
        };
        let tips = nearest(strands(&groom).map(|s| s[s.len() - 1]).collect());
        tips / nearest(strands(&groom).map(|s| s[0]).collect())
    };
    let clump = Some(Clump { spacing: 0.04, strength: 0.9, shape: 1.0 });
    let still = || GroomSettings { length_variation: 0.0, ..settings() };
    let (loose, gathered) = (spread(still()), spread(GroomSettings { clump, ..still() }));
    assert!(loose > 1.4 && gathered < 0.4, "{loose} {gathered}");
}

#[test]
fn a_curl_takes_length_and_keeps_it() {
    let curl = Some(Curl { radius: 0.004, pitch: 0.01, start: 0.0, flat: 0.0, variation: 0.0, grow: 0.0 });
    let chosen = GroomSettings { curl, vertices: 101, length_variation: 0.0, ..settings() };
    // A turn of 1 cm takes sqrt(1 + (2 pi 0.4)^2) = 2.70 cm of hair.
    for strand in strands(&grow(&ball(), &chosen).unwrap()) {
        assert!((length(strand) / 0.05 - 1.0).abs() < 0.02, "{}", length(strand));
        let reach = strand[0].distance(strand[100]);
        assert!((reach / 0.05 * 2.7 - 1.0).abs() < 0.25, "{reach}");
    }
}

#[test]
fn radii_taper_from_root_to_tip() {
    let groom = grow(&ball(), &settings()).unwrap();
    let first = &groom.radii[..groom.offsets[1] as usize];
    assert!((first[0] - 35e-6).abs() < 1e-9 && (first[first.len() - 1] - 20e-6).abs() < 1e-9);
    assert!(first.windows(2).all(|w| w[1] < w[0]));
}

#[test]
fn threads_do_not_change_the_groom() {
    let mesh = ball();
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| grow(&mesh, &GroomSettings { children: 3, skin: None, ..styled() }).unwrap())
    };
    let one = on(1);
    assert!(one == on(2) && one == on(8));
}

#[test]
fn bad_settings_are_refused_with_their_name() {
    let mesh = ball();
    let refused = |settings: GroomSettings| grow(&mesh, &settings).unwrap_err().to_string();
    assert!(refused(GroomSettings { length: -0.1, ..settings() }).contains("length"));
    assert!(refused(GroomSettings { placement: Placement::Count(0), ..settings() }).contains("strands"));
    assert!(refused(GroomSettings { vertices: 1, ..settings() }).contains("vertices"));
    assert!(refused(GroomSettings { placement: Placement::Spacing(f64::NAN), ..settings() }).contains("spacing"));
    assert!(refused(GroomSettings { lay: 2.0, ..settings() }).contains("lay"));
    assert!(refused(GroomSettings { faces: Some(vec![]), ..settings() }).contains("no hair grows"));
    assert!(refused(GroomSettings { length_map: Some(Map::Vertices(vec![1.0])), ..settings() }).contains("length map"));
    assert!(refused(GroomSettings { placement: Placement::Spacing(1e-6), ..settings() }).contains("limit"));
    let zero = Map::Function(Box::new(|_: &SurfacePoint| 0.0));
    assert!(refused(GroomSettings { length_map: Some(zero), ..settings() }).contains("no hair grows"));
    assert!(grow(&TriMesh::default(), &settings()).is_err());
}

fn single(mesh: &TriMesh) -> Vec<[f32; 3]> {
    mesh.positions.iter().map(|p| p.as_vec3().to_array()).collect()
}

#[test]
fn children_follow_their_guides_and_their_own_skin() {
    let mesh = ball();
    let groom = grow(&mesh, &GroomSettings { children: 5, ..settings() }).unwrap();
    let young = groom.children.unwrap();
    let count = young.guides.len();
    assert!((count as f64 / 2_000.0 - 1.0).abs() < 0.1, "{count}");
    assert!(young.weights.iter().all(|w| (w.iter().sum::<f32>() - 1.0).abs() < 1e-5 && w[0] > 0.0));
    let guides: Vec<[f32; 3]> = groom.positions.iter().map(|p| p.as_vec3().to_array()).collect();
    let skin = single(&mesh);
    let (offsets, positions) = children::interpolate(&groom.offsets, &guides, &mesh.triangles, &skin, &young.view());
    assert_eq!(offsets.len(), count + 1);
    let at = |i: u32| glam::Vec3::from(positions[i as usize]);
    for child in 0..count {
        let (first, last) = (offsets[child], offsets[child + 1] - 1);
        let point = SurfacePoint {
            triangle: young.triangles[child],
            u: young.barycentric[child][0].into(),
            v: young.barycentric[child][1].into(),
        };
        let root = point.interpolate(&mesh.triangles, &mesh.positions).as_vec3();
        assert!(at(first).distance(root) < 1e-6);
        // Like the guides, within their variation, children stand along the normal.
        let reach = at(last) - at(first);
        assert!(reach.normalize().dot(root.normalize()) > 0.95 && (0.04..0.06).contains(&reach.length()), "{reach}");
    }
    // Everything moved: everything follows.
    let shift = |p: &[f32; 3]| [p[0] + 1.0, p[1], p[2]];
    let (there, here): (Vec<_>, Vec<_>) = (guides.iter().map(shift).collect(), skin.iter().map(shift).collect());
    let (_, moved) = children::interpolate(&groom.offsets, &there, &mesh.triangles, &here, &young.view());
    assert!(moved.iter().zip(&positions).all(|(a, b)| (a[0] - b[0] - 1.0).abs() < 1e-5 && (a[1] - b[1]).abs() < 1e-5));
}

#[test]
fn a_child_between_parting_guides_keeps_its_length() {
    let (triangles, skin) = ([[0, 1, 2]], [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]);
    let guides = [[0.0; 3], [1.0, 0.0, 0.0], [0.0; 3], [-1.0, 0.0, 0.0]];
    let young = Children {
        triangles: vec![0],
        barycentric: vec![[0.25, 0.25]],
        guides: vec![[0, 1, 1]],
        weights: vec![[0.5, 0.5, 0.0]],
        length_ratio: vec![1.0],
    };
    let (_, positions) = children::interpolate(&[0, 2, 4], &guides, &triangles, &skin, &young.view());
    assert_eq!(positions, [[0.25, 0.0, 0.25], [1.25, 0.0, 0.25]]);
    // References that lead nowhere make no strand and no panic.
    let lost = Children { guides: vec![[9; 3]], ..young.clone() };
    assert!(children::interpolate(&[0, 2, 4], &guides, &triangles, &skin, &lost.view()).1.is_empty());
    let bare = Children { triangles: vec![9], ..young };
    assert!(children::interpolate(&[0, 2, 4], &guides, &triangles, &skin, &bare.view()).1.is_empty());
}
