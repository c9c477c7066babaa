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
    load(&path, Some(1.0), Some(Up::Y))
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
        load(&path, Some(1.0), Some(Up::Y)).unwrap()
    };
    let all = strands(None);
    assert_eq!((all.offsets.as_slice(), all.positions[3]), (&[0, 2, 5][..], DVec3::new(2.0, 0.0, 5.0)));
    let guides = strands(Some([0, 1]));
    assert_eq!((guides.offsets.as_slice(), guides.positions[0]), (&[0, 3][..], DVec3::new(1.0, 0.0, 5.0)));
    let message = load_bytes("a.abc", b"Ogawa").unwrap_err().to_string();
    assert!(message.contains("a.abc") && message.contains("too short"), "{message}");
}

/// Files in a folder of their own, and what the first of them gives.
fn load_files(files: &[(&str, &str)]) -> Result<Drawn, GeometryError> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
        std::fs::write(folder.path().join(name), format!("#usda 1.0\n{text}")).unwrap();
    }
    load(&folder.path().join(files[0].0), None, None)
}

const STRAND: &str =
    "def BasisCurves \"s\" {\n int[] curveVertexCounts = [2]\n point3f[] points = [(1, 0, 0), (2, 0, 0)]\n}";
const METRES: &str = "(\n metersPerUnit = 1\n defaultPrim = \"top\"\n)\n";

/// One strand from (1, 0, 0) to (2, 0, 0) below a prim with these properties, in metres.
fn moved(properties: &str) -> Vec<DVec3> {
    let text = format!("{METRES}def Xform \"top\" {{\n{properties}\n{STRAND}\n}}");
    load_files(&[("a.usda", &text)]).unwrap().positions
}

fn near(got: &[DVec3], wanted: [[f64; 3]; 2]) -> bool {
    got.len() == 2 && got.iter().zip(wanted).all(|(a, b)| a.distance(b.into()) < 1e-12)
}

#[test]
fn usd_curves_are_where_the_transforms_above_them_put_them() {
    let cases = [
        (
            "double3 xformOp:translate = (0, 5, 0)\n uniform token[] xformOpOrder = [\"xformOp:translate\"]",
            [[1.0, 5.0, 0.0], [2.0, 5.0, 0.0]],
        ),
        // The last of the list comes first: scaled, then turned about z, then moved.
        (
            "double3 xformOp:translate = (0, 0, 3)\n float xformOp:rotateZ.timeSamples = { 1: 90, 2: 45 }\n float3 xformOp:scale = (2, 1, 1)\n \
             uniform token[] xformOpOrder = [\"xformOp:translate\", \"xformOp:rotateZ\", \"xformOp:scale\"]",
            [[0.0, 2.0, 3.0], [0.0, 4.0, 3.0]],
        ),
        // x stays about x, then y turns it to -z, then z leaves that.
        (
            "float3 xformOp:rotateXYZ = (90, 90, 90)\n uniform token[] xformOpOrder = [\"xformOp:rotateXYZ\"]",
            [[0.0, 0.0, -1.0], [0.0, 0.0, -2.0]],
        ),
        // The other way round: z turns x to y, then y leaves it, then x turns it to z.
        (
            "float3 xformOp:rotateZYX = (90, 90, 90)\n uniform token[] xformOpOrder = [\"xformOp:rotateZYX\"]",
            [[0.0, 0.0, 1.0], [0.0, 0.0, 2.0]],
        ),
        (
            "quatf xformOp:orient = (0.70710678118654752, 0, 0, 0.70710678118654752)\n uniform token[] xformOpOrder = [\"xformOp:orient\"]",
            [[0.0, 1.0, 0.0], [0.0, 2.0, 0.0]],
        ),
        (
            "matrix4d xformOp:transform = ( (0, 1, 0, 0), (-1, 0, 0, 0), (0, 0, 1, 0), (7, 0, 0, 1) )\n uniform token[] xformOpOrder = [\"xformOp:transform\"]",
            [[7.0, 1.0, 0.0], [7.0, 2.0, 0.0]],
        ),
        // About a pivot at (1, 0, 0).
        (
            "float3 xformOp:translate:pivot = (1, 0, 0)\n float xformOp:rotateZ = 90\n uniform token[] xformOpOrder = [\"xformOp:translate:pivot\", \
             \"xformOp:rotateZ\", \"!invert!xformOp:translate:pivot\"]",
            [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]],
        ),
        // What is not in the order does nothing.
        ("double3 xformOp:translate = (0, 5, 0)", [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]),
    ];
    for (properties, wanted) in cases {
        let got = moved(properties);
        assert!(near(&got, wanted), "{properties}: {got:?}");
    }
    // Transforms of all prims above count, up to one that stands for itself.
    let shift = |by: u32, order: &str| {
        format!("double3 xformOp:translate = ({by}, 0, 0)\n token[] xformOpOrder = [{order}\"xformOp:translate\"]\n")
    };
    for (order, x) in [("", 111.0), ("\"!resetXformStack!\", ", 101.0)] {
        let inner = format!("def Xform \"in\" {{\n{}def Scope \"deep\" {{\n{STRAND}\n}}\n}}", shift(100, order));
        let text = format!("{METRES}def Xform \"top\" {{\n{}{inner}\n}}", shift(10, ""));
        let got = load_files(&[("a.usda", &text)]).unwrap().positions;
        assert!(near(&got, [[x, 0.0, 0.0], [x + 1.0, 0.0, 0.0]]), "{got:?}");
    }
    let wrong = format!(
        "def Xform \"top\" {{\n double xformOp:shear = 3\n uniform token[] xformOpOrder = [\"xformOp:shear\"]\n{STRAND}\n}}"
    );
    let message = load_files(&[("a.usda", &wrong)]).unwrap_err().to_string();
    assert!(message.contains("/top") && message.contains("xformOp:shear"), "{message}");
}

#[test]
fn usd_files_say_what_their_unit_and_their_up_is_unless_the_scene_does() {
    let place = |head: &str, unit, up| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.usda");
        std::fs::write(&path, format!("#usda 1.0\n{head}{}", STRAND.replace("(2, 0, 0)", "(2, 0, 3)"))).unwrap();
        load(&path, unit, up).unwrap().positions[1]
    };
    assert_eq!(place("(metersPerUnit = 0.5 upAxis = \"Z\")", None, None), DVec3::new(1.0, 1.5, 0.0));
    assert_eq!(place("(metersPerUnit = 0.5 upAxis = \"Z\")", Some(2.0), Some(Up::Y)), DVec3::new(4.0, 0.0, 6.0));
    // Centimetres, as USD has it.
    assert!(place("", None, None).distance(DVec3::new(0.02, 0.0, 0.03)) < 1e-15);
}

#[test]
fn usd_layers_references_and_payloads_are_followed() {
    let body = format!(
        "{METRES}def Xform \"top\" {{\n double3 xformOp:translate = (0, 1, 0)\n uniform token[] xformOpOrder = [\"xformOp:translate\"]\n{STRAND}\n}}\nclass \"pattern\" {{\n{STRAND}\n}}"
    );
    let strands = |files: &[(&str, &str)]| load_files(files).unwrap().positions;
    let there = [[1.0, 1.0, 0.0], [2.0, 1.0, 0.0]];
    // A layer on another, which moves what the other has.
    let above = "(\n metersPerUnit = 1\n subLayers = [@./parts/b.usda@ (offset = 3)]\n)\nover \"top\" {\n double3 xformOp:translate = (0, 0, 8)\n}";
    assert!(near(&strands(&[("a.usda", above), ("parts/b.usda", &body)]), [[1.0, 0.0, 8.0], [2.0, 0.0, 8.0]]));
    for arc in [
        "prepend references = @parts/b.usda@",
        "references = [@./parts/b.usda@</top> (offset = 1; scale = 2)]",
        "payload = @parts/b.usda@</top>",
    ] {
        let text = format!(
            "(\n metersPerUnit = 1\n)\ndef \"here\" (\n \"a comment\"\n {arc}\n kind = \"component\"\n) {{\n}}"
        );
        assert!(near(&strands(&[("a.usda", &text), ("parts/b.usda", &body)]), there), "{arc}");
    }
    // Through another reference, in a layer further down, and to a prim of the same layer.
    let middle = "(\n defaultPrim = \"mid\"\n)\ndef \"mid\" (references = @../b.usda@) {\n}";
    let text = "(\n metersPerUnit = 1\n)\ndef \"x\" (references = @deep/m.usda@) {\n}\ndef \"y\" (references = </x>) {\n}\nover \"no\" (references = </x>) {\n}\ndef \"off\" (references = </x> active = false) {\n}";
    let positions = strands(&[("a.usda", text), ("deep/m.usda", middle), ("b.usda", &body)]);
    assert!(positions.len() == 6 && near(&positions[..2], there) && near(&positions[4..], there), "{positions:?}");
    let wrong = [
        ("def \"a\" (references = @gone.usda@) {\n}", "gone.usda"),
        ("(subLayers = [@gone.usda@])", "gone.usda"),
        ("(subLayers = [@a.usda@])", "stands on itself"),
        ("def \"a\" (references = </b>) {\n}\ndef \"b\" (references = </a>) {\n}", "back to itself"),
        ("def \"a\" (references = </none>) {\n}", "prim /none"),
        ("def \"a\" (references = @a.usda@) {\n}", "default prim"),
        (
            "def \"a\" (variants = { string look = \"x\" } prepend variantSets = \"look\") {\n variantSet \"look\" = {\n \"x\" {\n }\n }\n}",
            "variant sets",
        ),
        ("def BasisCurves \"a\" (inherits = </p>) {\n}", "inherited classes"),
        ("def Xform \"a\" {\n int x = = 3\n}", "line 3"),
        ("def Xform \"a\" {\n", "does not end"),
    ];
    for (text, said) in wrong {
        let message = load_files(&[("a.usda", text)]).unwrap_err().to_string();
        assert!(message.contains(said), "{text}: {message}");
    }
    let deep = format!("def \"a\" {{\n{}", "def \"b\" {\n".repeat(100_000));
    assert!(load_files(&[("a.usda", &deep)]).unwrap_err().to_string().contains("inside each other"));
    // However a layer is cut off, it is read or refused.
    for at in (0..body.len()).filter(|&at| body.is_char_boundary(at)) {
        let _ = load_files(&[("a.usda", &body[..at])]);
    }
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
