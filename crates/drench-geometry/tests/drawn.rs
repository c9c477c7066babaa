//! Strands from files, and on the skin.

#![allow(clippy::unwrap_used)]

use drench_geometry::groom::drawn::{Drawn, Up, load};
use drench_geometry::groom::{GroomSettings, Placement, grow};
use drench_geometry::{GeometryError, primitives};
use glam::DVec3;

/// A .hair file of these strands.
fn hair_file(strands: &[&[[f32; 3]]]) -> Vec<u8> {
    let points: usize = strands.iter().map(|strand| strand.len()).sum();
    let mut bytes = b"HAIR".to_vec();
    for number in [strands.len() as u32, points as u32, 3, 0] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.resize(128, 0);
    strands.iter().for_each(|strand| bytes.extend((strand.len() as u16 - 1).to_le_bytes()));
    strands.iter().flat_map(|strand| strand.as_flattened()).for_each(|x| bytes.extend(x.to_le_bytes()));
    bytes
}

fn load_bytes(name: &str, bytes: &[u8]) -> Result<Drawn, GeometryError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    load(&path, 1.0, Up::Y)
}

const TWO: [&[[f32; 3]]; 2] =
    [&[[0.0, 1.0, 0.0], [0.0, 2.0, 0.0]], &[[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 1.0, 0.0]]];

#[test]
fn hair_lines_and_curves_have_the_same_strands() {
    let hair = load_bytes("a.hair", &hair_file(&TWO)).unwrap();
    assert_eq!((hair.offsets.as_slice(), hair.positions[3]), (&[0, 2, 5][..], DVec3::new(2.0, 0.0, 0.0)));
    let obj = "v 0 1 0\nv 0 2 0\nl 1 2\nv 1 0 0\nv 2 0 0\nv 2 1 0\nl 3 -2\nl 4/1 5/2\n# the end\n";
    assert_eq!(load_bytes("a.obj", obj.as_bytes()).unwrap(), hair);
    let usda = "#usda 1.0\ndef Xform \"a\" {\n def BasisCurves \"hair\" (doc = \"}\") {\n int[] curveVertexCounts = [2, 3]\n \
                point3f[] primvars:points = [(9, 9, 9)]\n point3f[] points.timeSamples = {\n 0: [(0, 1, 0), (0, 2, 0), (1, 0, 0), \
                (2, 0, 0), (2, 1, 0)],\n 1: [(5, 5, 5)],\n }\n }\n}\n";
    assert_eq!(load_bytes("a.usda", usda.as_bytes()).unwrap(), hair);
}

#[test]
fn alembic_curves_are_taken_with_their_transforms_and_only_guides_where_some_are() {
    use drench_alembic::{About, Archive, CurvesSample, Parameter, Scope, TimeSampling, Values};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("groom.abc");
    let strands = |marks: Option<[i16; 2]>| {
        let mut archive = Archive::create(&path, &About::default(), TimeSampling { start: 0.0, step: 0.04 }).unwrap();
        let above = archive.add_xform(archive.top(), "above").unwrap();
        let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        archive.write_xform(above, axes, [0.0, 0.0, 5.0]).unwrap();
        let curves = archive.add_curves(above, "curves").unwrap();
        let marks = marks.unwrap_or_default();
        let parameters = [Parameter { name: "groom_guide", scope: Scope::Uniform, values: Values::I16(&marks) }];
        let positions = TWO.concat();
        let sample =
            CurvesSample { positions: &positions, counts: &[2, 3], parameters: &parameters, ..CurvesSample::default() };
        archive.write_curves(curves, &sample).unwrap();
        archive.finish().unwrap();
        load(&path, 1.0, Up::Y).unwrap()
    };
    let all = strands(None);
    assert_eq!((all.offsets.as_slice(), all.positions[3]), (&[0, 2, 5][..], DVec3::new(2.0, 0.0, 5.0)));
    let guides = strands(Some([0, 1]));
    assert_eq!((guides.offsets.as_slice(), guides.positions[0]), (&[0, 3][..], DVec3::new(1.0, 0.0, 5.0)));
    let message = load_bytes("a.abc", b"Ogawa").unwrap_err().to_string();
    assert!(message.contains("a.abc") && message.contains("too short"), "{message}");
}

#[test]
fn files_that_lie_are_refused_with_what_is_wrong() {
    let sound = hair_file(&TWO);
    let with = |at: usize, byte: u8| {
        let mut bytes = sound.clone();
        bytes[at] = byte;
        load_bytes("a.hair", &bytes).unwrap_err().to_string()
    };
    assert!(with(4, 200).contains("200 strands"), "{}", with(4, 200));
    assert!(with(11, 255).contains("take"), "{}", with(11, 255));
    assert!(with(128, 9).contains("13 points together, but the header says 5"), "{}", with(128, 9));
    assert!(with(0, b'B').contains("does not begin"));
    assert!(with(12, 1).contains("no points"));
    for length in 0..sound.len() {
        assert!(load_bytes("a.hair", &sound[..length]).is_err(), "{length}");
    }
    let wrong = [
        ("a.obj", "v 0 0 0\nl 1 2\n", "names none of the 1 vertices"),
        ("a.obj", "v 0 zero 0\n", "line 1"),
        ("a.obj", "v 0 0 0\n", "no strand"),
        ("a.usda", "#usda 1.0\ndef BasisCurves \"h\" {\n point3f[] points = [(0,0,0)]\n}", "no curveVertexCounts"),
        (
            "a.usda",
            "#usda 1.0\ndef BasisCurves \"h\" {\n int[] curveVertexCounts = [7]\n point3f[] points = [(0,0,0)]\n}",
            "1 points",
        ),
        ("a.usda", "", "no USD layer"),
        ("a.usdc", "PXR-USDC", "header"),
        ("a.blend", "BLENDER", ".blend"),
    ];
    for (name, text, said) in wrong {
        let error = load_bytes(name, text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(said), "{name}: {error}");
    }
}

#[test]
fn drawn_strands_stand_on_the_skin_with_equal_segments() {
    let mesh = primitives::sphere(0.1, 3);
    let arc: Vec<DVec3> =
        (0..30).map(|k| DVec3::new(0.001 * f64::from(k * k) / 9.0, 0.12 + 0.003 * f64::from(k), 0.0)).collect();
    let side: Vec<DVec3> = (0..4).map(|k| DVec3::new(0.1 + 0.02 * f64::from(k), 0.0, 0.0)).collect();
    let drawn = Drawn { offsets: vec![0, 30, 34], positions: [arc.clone(), side].concat() };
    let settings =
        GroomSettings { placement: Placement::Drawn(drawn), vertices: 9, children: 3, ..GroomSettings::default() };
    let groom = grow(&mesh, &settings).unwrap();
    assert_eq!(groom.offsets, [0, 9, 18]);
    for strand in groom.positions.chunks(9) {
        assert!((strand[0].length() - 0.1).abs() < 2e-3, "{}", strand[0]);
        let sizes: Vec<f64> = strand.windows(2).map(|pair| pair[0].distance(pair[1])).collect();
        assert!(sizes.iter().all(|size| (size / sizes[0] - 1.0).abs() < 1e-9), "{sizes:?}");
    }
    let total: f64 = groom.positions[..9].windows(2).map(|pair| pair[0].distance(pair[1])).sum();
    let drawn: f64 = arc.windows(2).map(|pair| pair[0].distance(pair[1])).sum();
    assert!((total / drawn - 1.0).abs() < 0.01);
    assert!(groom.children.is_some_and(|children| !children.guides.is_empty()));
}
