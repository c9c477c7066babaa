//! What a stranger may throw at it: every input is answered with the right exit code and a message that names the place
//! and the fix, and nothing panics, hangs or takes all memory.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::*;
use std::fs;

/// A cube of 10 cm.
const CUBE: &str = "v -.05 -.05 -.05\nv -.05 -.05 .05\nv -.05 .05 -.05\nv -.05 .05 .05\nv .05 -.05 -.05\nv .05 -.05 .05\n\
    v .05 .05 -.05\nv .05 .05 .05\nf 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n";

/// One triangle as glTF with its buffer in `URI` and `COUNT` vertices.
const GLTF: &str = r#"{"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],"nodes":[{"mesh":0,"children":CHILDREN}],
    "meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"buffers":[{"byteLength":36,"uri":"URI"}],
    "bufferViews":[{"buffer":0,"byteLength":36}],
    "accessors":[{"bufferView":0,"componentType":5126,"count":COUNT,"type":"VEC3","min":[0,0,0],"max":[1,1,0]}]}"#;

/// The scene with other lines: for each pair, what begins a line of it and the line that takes its place.
fn tuft(changes: &[(&str, &str)]) -> String {
    let mut lines: Vec<String> = TUFT.lines().map(str::to_owned).collect();
    for (key, line) in changes {
        let at = lines.iter().position(|line| line.starts_with(key)).unwrap_or_else(|| panic!("no line {key}"));
        lines[at] = (*line).to_owned();
    }
    lines.join("\n")
}

/// The cube again as vertices 9 to 16, moved so that it reaches into the first.
fn second_cube() -> String {
    let moved = CUBE.replace("v .05", "v .09").replace("v -.05", "v .01");
    let number = |word: &str| word.parse::<u32>().map_or(word.to_owned(), |vertex| (vertex + 8).to_string());
    let faces = moved.lines().map(|line| match line.starts_with('f') {
        true => line.split(' ').map(number).collect::<Vec<_>>().join(" ") + "\n",
        false => format!("{line}\n"),
    });
    faces.collect()
}

/// Runs a scene of one's own for a frame or two; nothing but the folder of a run may be left behind.
fn run_scene(place: &Place, scene: &str) -> Ended {
    fs::write(place.path("own.toml"), scene).unwrap();
    // With less address space than the machine has, runaway memory is a failure and not a nuisance.
    place.shell(
        "ulimit -v 8000000; exec $DRENCH run own.toml --no-render --quiet --force --frames 2 --threads 2 --out own",
    )
}

#[test]
fn meshes_that_cannot_be_used_are_refused() {
    let place = Place::new();
    let gltf = |uri: &str, count: &str, children: &str| {
        GLTF.replace("URI", uri).replace("COUNT", count).replace("CHILDREN", children).into_bytes()
    };
    let far = CUBE.replace(".05", "5e8");
    let small = CUBE.replace(".05", "5e-9");
    let stl_of_many = [&[0; 80][..], &u32::MAX.to_le_bytes(), &[0; 50]].concat();
    let ply_of_many = "ply\nformat ascii 1.0\nelement vertex 99999999999\nproperty float x\nend_header\n0\n";
    let cases: &[(&str, &[u8], &[&str])] = &[
        ("garbage.obj", b"\0\xff\x80 1 2\nv 1", &["garbage.obj"]),
        ("words.obj", b"v a b c\nf 1 2 3\n", &["words.obj: line 1", "\"a\" is not a number"]),
        ("index.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", &["line 4", "vertex 9", "only 3"]),
        ("points.obj", b"v 0 0 0\n", &["no triangles", "export it with faces"]),
        ("empty.obj", b"", &["no triangles"]),
        ("nan.obj", b"v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", &["vertex 0", "NaN", "not finite"]),
        ("inf.obj", b"v 0 0 0\nv inf 0 0\nv 0 1 0\nf 1 2 3\n", &["vertex 1", "not finite"]),
        ("line.obj", b"v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n", &["no triangles of positive area"]),
        ("planet.obj", far.as_bytes(), &["1.000e9 m large", "set `unit`"]),
        ("atom.obj", small.as_bytes(), &["1.000e-8 m large", "set `unit`"]),
        ("rabbit.fbx", b"?", &["rabbit.fbx", ".gltf"]),
        ("short.ply", b"ply\nformat ascii 1.0\n", &["short.ply: line 3", "end_header"]),
        ("many.ply", ply_of_many.as_bytes(), &["99999999999", "limit"]),
        ("short.stl", b"\0\0", &["short.stl", "only 2 bytes"]),
        ("many.stl", &stl_of_many, &["announces 214748364834 bytes"]),
        ("garbage.gltf", b"\x01\x02", &["garbage.gltf: JSON"]),
        ("short.glb", b"glTF\x02\0\0\0\x10\0\0\0", &["short.glb: byte 12"]),
        ("many.gltf", &gltf("x.bin", "1000000000000", "[]"), &["1000000000000 vertices", "limit"]),
        ("circle.gltf", &gltf("x.bin", "3", "[0]"), &["node 0", "its own ancestor"]),
        ("lost.gltf", &gltf("lost.bin", "3", "[]"), &["buffer 0", "lost.bin", "next to the .gltf"]),
        ("pipe.gltf", &gltf("pipe", "3", "[]"), &["buffer 0", "it is not a file"]),
        ("device.gltf", &gltf("/dev/zero", "3", "[]"), &["buffer 0", "it is not a file"]),
        ("remote.gltf", &gltf("https://a.b/c.bin", "3", "[]"), &["https://a.b/c.bin", "download it"]),
    ];
    fs::write(place.path("x.bin"), [0; 36]).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(place.path("pipe")).status().unwrap().success());
    for (name, content, words) in cases {
        fs::write(place.path(name), content).unwrap();
        let shape = format!("shape = {{ kind = \"file\", path = \"{name}\" }}");
        run_scene(&place, &tuft(&[("shape", &shape)])).exits(2).tells(words).tells(&["ball"]);
        assert!(!place.path("own").exists(), "{name}");
    }
    let missing = tuft(&[("shape", "shape = { kind = \"file\", path = \"nowhere.obj\" }")]);
    run_scene(&place, &missing).exits(2).tells(&["own.toml:12", "no file `nowhere.obj`"]);
}

#[test]
fn meshes_with_flaws_are_repaired_and_grow_hair() {
    let place = Place::new();
    let flipped = CUBE.lines().map(|line| match line.split(' ').collect::<Vec<_>>()[..] {
        ["f", a, b, c, d] => format!("f {d} {c} {b} {a}\n"),
        _ => format!("{line}\n"),
    });
    let cases = [
        ("flat faces", format!("{CUBE}f 1 1 2\nf 1 2 2\n")),
        ("an edge of three faces", format!("{CUBE}v 0 .1 0\nf 1 2 9\n")),
        ("inside out", flipped.collect()),
        ("a hole", CUBE.rsplit_once("f ").unwrap().0.to_owned()),
        ("two parts that overlap", format!("{CUBE}{}", second_cube())),
        ("one triangle", "v 0 0 0\nv .1 0 0\nv 0 .1 0\nf 1 2 3\n".to_owned()),
    ];
    for (name, content) in cases {
        fs::write(place.path("mesh.obj"), content).unwrap();
        let shape = "shape = { kind = \"file\", path = \"mesh.obj\" }";
        let ended = run_scene(&place, &tuft(&[("shape", shape), ("strands", "strands = 20")]));
        assert_eq!(ended.code, Some(0), "{name}: {}", ended.err);
    }
    run_scene(&place, &tuft(&[("shape", "shape = { kind = \"plane\", size = 0.1 }")])).exits(0);
}

#[test]
fn scenes_that_ask_for_the_impossible_are_refused() {
    let place = Place::new();
    fs::write(place.path("broken.png"), b"\x89PNG\r\n\x1a\nno").unwrap();
    fs::write(place.path("cube.obj"), CUBE).unwrap();
    let motion = |x: &str| format!("motion = {{ kind = \"expressions\", position = [\"{x}\", \"0\", \"0\"] }}");
    let more = |line: &str| format!("vertices = 6\n{line}");
    let cases: &[(&str, &str, &[&str])] = &[
        ("strands", "spacing = 1e-6", &["fur", "about 2", "limit of 20000000", "`spacing` larger"]),
        ("strands", "strands = 100000000", &["fur", "100000000 strands", "`strands` smaller"]),
        ("strands", "strands = 0", &["own.toml:18:11", "from 1 to"]),
        ("strands", "at = []", &["0 strands", "at least one point"]),
        ("strands", "strands = 19999999", &["fur", "119999994 vertices", "limit of 100000000"]),
        ("strands", "strands = 10000\nchildren = 10000", &["100000000 children", "`children` smaller"]),
        ("length", "length = -0.1", &["fur.length", "above 0"]),
        ("length", "length = 0", &["fur.length", "above 0"]),
        ("length", "length = nan", &["fur.length", "finite"]),
        ("length", "length = 1e300", &["1e300 is out of range"]),
        ("length", "length = 1e-12", &["fur", "`length` larger"]),
        ("vertices", "vertices = 1", &["from 2 to 1000"]),
        ("vertices", &more("root_radius = 0"), &["root_radius", "above 0"]),
        ("vertices", &more("length_map = \"1e300\""), &["fur", "length_map", "at most 1e4 m"]),
        ("vertices", &more("length_map = \"0 * x\""), &["fur", "no hair grows"]),
        ("vertices", &more("density = \"1 / (0 * y)\""), &["fur", "1 / (0 * y)", "keep it finite"]),
        ("vertices", &more("faces = [\"scalp\"]"), &["no face group \"scalp\""]),
        ("vertices", &more("density = { kind = \"group\", group = \"x\" }"), &["no vertex group \"x\""]),
        ("vertices", &more("density = { kind = \"colour\" }"), &["vertex colours", "paint some"]),
        ("vertices", &more("density = { kind = \"image\", path = \"no.png\" }"), &["no file `no.png`"]),
        ("vertices", &more("density = { kind = \"image\", path = \"broken.png\" }"), &["broken.png", "PNG or a JPEG"]),
        ("vertices", &more("clump = { spacing = 2e-6, strength = 1 }"), &["clumps", "`spacing` of the clumps larger"]),
        ("vertices", &more("[groom.strand]\ndensity = nan"), &["fur.strand.density", "finite"]),
        (
            "vertices",
            "vertices = 4\nstrand = { model = \"csm\" }\ncsm = { half_width = 5 }",
            &["half-width 5", "strands of 4 vertices", "at most 3"],
        ),
        ("vertices", &more("strand = { tip = \"held\" }"), &["`dftl` holds strands at the root only", "\"csm\""]),
        ("on", "on = \"bal\"", &["no solid is named `bal`", "did you mean `ball`?"]),
        ("motion", "parent = \"ball\"", &["circle: ball -> ball", "leave out one `parent`"]),
        ("motion", &motion("0 / 0"), &["own.toml:13", "NaN at t = 0"]),
        ("motion", &motion("sqrt(0.03 - t)"), &["own.toml:13", "NaN at t = 0.04"]),
        ("motion", &motion("exp(1e5 * t)"), &["own.toml:13", "sensible size"]),
        ("motion", "scale = 1e6\nposition = \"1 0 0 m\"\nfield_cell = nan", &["field_cell", "finite"]),
        ("frames", "frames = 8\ngravity = [0, nan, 0]", &["gravity", "finite"]),
        ("cell", "cell = 0", &["interaction.cell", "10 um to 100 m"]),
        ("cell", "cell = 1e-5\nboundary = 1", &["ball", "`boundary`", "`cell` larger"]),
        ("name", "name = \"../../etc/x\"", &["cannot be a name", "letters, digits"]),
        ("name", "name = \"tuft\"\nshow = 1", &["unknown key `show`", "did you mean `shows`?"]),
        ("name", "name = [[[[", &["own.toml:3", "toml.io"]),
    ];
    for (key, line, words) in cases {
        let scene = tuft(&[(key, line)]);
        run_scene(&place, &scene).exits(2).tells(words);
        assert!(!place.path("own").exists(), "{line}");
    }
    let image = tuft(&[
        ("shape", "shape = { kind = \"file\", path = \"cube.obj\" }"),
        ("vertices", &more("density = { kind = \"image\", path = \"broken.png\" }")),
    ]);
    run_scene(&place, &image).exits(2).tells(&["broken.png"]);
}

#[test]
fn sand_and_water_that_cannot_be_are_refused() {
    let place = Place::new();
    const SCENE: &str = r#"
name = "own"
simulation = { frames = 1, fps = 25, substeps = 1 }
[liquid]
material = "water"
spacing = 0.02
[[liquid.emitter]]
kind = "faucet"
position = [0, 0.3, 0]
radius = 0.03
speed = 1
[[solid]]
name = "tank"
shape = { kind = "tank", size = [0.4, 0.4, 0.4], wall = 0.05 }
[[grains]]
name = "sand"
radius = 0.01
distribution = "normal"
spread = 0.1
fill = [{ kind = "box", low = [-0.1, 0, -0.1], high = [0.1, 0.1, 0.1] }]
wetness = { threshold = 0.1, most = 0.25, fluidised = 0.22 }
"#;
    let faucet = "kind = \"faucet\"\nposition = [0, 0.3, 0]\nradius = 0.03\nspeed = 1";
    let rain = "kind = \"rain\"\nposition = [0, 0.3, 0]\nsize = [0.42, 0, 0.1]\nrate = 0.01";
    let fill =
        |low: &str, high: &str| format!("[[liquid.fill]]\nkind = \"box\"\nlow = {low}\nhigh = {high}\n[[solid]]");
    let thin = fill("[0, 0.1, 0]", "[0.01, 0.2, 0.2]");
    let wall = |name: &str, x: f64| {
        format!(
            "[[solid]]\nname = \"{name}\"\nshape = {{ kind = \"box\", size = [0.1, 0.1, 0.1] }}\nposition = [{x}, 0.05, 0]\n"
        )
    };
    // A gap of 6 cm between two boxes.
    let gap = [wall("left", -0.08), wall("right", 0.08), fill("[-0.03, 0, -0.05]", "[0.03, 0.1, 0.05]")].concat();
    let wetness = "wetness = { threshold = 0.1, most = 0.25, fluidised = 0.22 }";
    let dry_fill = "fill = [{ kind = \"box\", low = [-0.1, 0, -0.1], high = [0.1, 0.1, 0.1] }]";
    let wet_fill = dry_fill.replacen("{ kind", "{ wetness = 9, kind", 1);
    let pour = "pour = [{ position = [0, 0.3, 0], radius = 0.05, wetness = 1 }]";
    let narrow = "pour = [{ position = [0, 0.3, 0], radius = 0.005 }]";
    let buried =
        dry_fill.replace("[-0.1, 0, -0.1], high = [0.1, 0.1, 0.1]", "[-0.1, -0.045, -0.1], high = [0.1, -0.005, 0.1]");
    let buried_pour = "pour = [{ position = [0.1, -0.02, 0], radius = 0.05 }]";
    // The same gap with a faucet in it, between boxes that stand on no tank.
    let faucet_in_gap = [
        "[[liquid.emitter]]\nkind = \"faucet\"\nposition = [0, 0.05, 0]\nradius = 0.02\nspeed = 1\n",
        &wall("left", -0.08),
        &wall("right", 0.08),
        "[[solid]]",
    ]
    .concat();
    let thick = "spacing = 0.02\nviscosity = 1e5";
    let cases: &[(&str, &str, &[&str])] = &[
        (dry_fill, &buried, &["own.toml:20:9", "about 0 grains", "move it out of solids"]),
        (wetness, buried_pour, &["own.toml:21:22", "pour 1 is inside tank", "move it out"]),
        (
            "[[solid]]",
            &faucet_in_gap,
            &["own.toml:6:11", "right", "0.060 m wide", "make `spacing` of [liquid] smaller"],
        ),
        ("spacing = 0.02", thick, &["own.toml:6:11", "so thick", "set `viscosity_solver = \"implicit\"`"]),
        ("spread = 0.1", "spread = 0.34", &["own.toml:19:10", "which is no size", "make `spread` at most 0.3"]),
        ("radius = 0.01", "radius = 0.3", &["own.toml:20:9", "about 0 grains", "`radius` smaller"]),
        ("most = 0.25", "most = 0.05", &["own.toml:21:37", "hold less", "make `most` at least `threshold`"]),
        ("fluidised = 0.22", "fluidised = 0.1", &["own.toml:21:55", "before they are over-wet", "`fluidised` larger"]),
        ("fluidised = 0.22", "fluidised = 0.3", &["own.toml:21:55", "what makes them flow (0.3)", "at most `most`"]),
        (dry_fill, &wet_fill, &["own.toml:20:21", "a wetness of 9", "at most 2.5"]),
        (wetness, pour, &["own.toml:21:60", "cannot be wet", "leave `wetness` of the pour out"]),
        (wetness, narrow, &["own.toml:21:44", "radius = 0.005", "at least that of the largest grain"]),
        ("[0, 0.3, 0]", "[0, -0.02, 0]", &["own.toml:9:12", "emitter 1 is inside tank", "move it out"]),
        ("[0, 0.3, 0]", "[0.18, 0.3, 0]", &["own.toml:9:12", "emitter 1 is inside tank", "move it out"]),
        (faucet, rain, &["own.toml:9:12", "emitter 1 is inside tank", "move it out"]),
        ("spacing = 0.02", "spacing = 0.5", &["own.toml:6:11", "tank", "make `spacing` of [liquid] smaller"]),
        ("[[solid]]", &thin, &["own.toml:12", "fill 1 holds no particle of 0.02 m", "make `spacing` smaller"]),
        ("[[solid]]", &gap, &["own.toml:6:11", "right", "0.060 m wide", "make `spacing` of [liquid] smaller"]),
        (
            "spacing = 0.02",
            "spacing = 0.02\nviscosity = 0\nviscosity_solver = \"implicit\"",
            &["own.toml:7:13", "no viscosity to solve implicitly", "give a viscosity"],
        ),
        (
            "spacing = 0.02",
            "spacing = 0.02\nmethod = \"mueller2003\"\nviscosity_solver = \"implicit\"",
            &["solves viscosity explicitly", "leave `viscosity_solver` out"],
        ),
        ("spacing = 0.02", "spacing = 0.02\nspeed_of_sound = 30", &["incompressible", "leave `speed_of_sound` out"]),
    ];
    run_scene(&place, SCENE).exits(0);
    place.drench("check own.toml").exits(0);
    for (from, to, words) in cases {
        assert!(SCENE.contains(from), "{from}");
        let ended = run_scene(&place, &SCENE.replacen(from, to, 1));
        assert_eq!(ended.code, Some(2), "{to}: {}", ended.err);
        let ended = ended.tells(words);
        // What is checked is told in the same words.
        assert_eq!(place.drench("check own.toml").exits(2).err, ended.err);
    }
}

#[test]
fn files_that_are_no_scenes_are_refused() {
    let place = Place::new();
    let cases: &[(&[u8], &[&str])] = &[
        (b"", &["`name` is missing"]),
        (b"\xff\xfe\x00", &["byte 0 is not UTF-8", "save it as UTF-8"]),
        (b"name = \"\xe9\"", &["byte 8 is not UTF-8"]),
        (b"name = \"a\0b\"", &["scene.toml:1:10"]),
        (&vec![b'#'; 5 << 20], &["larger than 4 MB"]),
        (&[b"a = ".to_vec(), vec![b'['; 100_000]].concat(), &["scene.toml:1"]),
        (&[b"a.".repeat(50_000), b"b = 1".to_vec()].concat(), &["scene.toml:1"]),
    ];
    for (content, words) in cases {
        fs::write(place.path("scene.toml"), content).unwrap();
        place.drench("check scene.toml").exits(2).tells(words);
    }
    place.drench("check .").exits(2);
    for (setting, word) in [
        ("nonsense", "KEY=VALUE"),
        ("simulation.frames=many", "whole number"),
        ("groom.9.length=1", "no groom is named `9`"),
        ("groom.fur.lenght=1", "did you mean `length`?"),
        ("simulation=3", "expected a table"),
        ("size.tiny.x=1", "--size"),
    ] {
        place.drench(&format!("check tuft.toml --set {setting}")).exits(2).tells(&[word]);
    }
}

#[test]
fn extreme_but_possible_scenes_run() {
    let place = Place::new();
    let motion = |x: &str| format!("motion = {{ kind = \"expressions\", position = [\"{x}\", \"0\", \"0\"] }}");
    let more = |line: &str| format!("vertices = 6\n{line}");
    let cases = [
        ("motion", motion("1e6 * t")),
        ("motion", motion("if(t > 0.05, 1000, 0)")),
        ("frames", "frames = 8\ngravity = \"0 -1e6 0 m/s2\"".into()),
        ("frames", "frames = 8\nfps = 1e-3".into()),
        ("frames", "frames = 8\nfps = 1e6".into()),
        ("vertices", "vertices = 2".into()),
        ("vertices", "vertices = 2\nstrand = { model = \"csm\" }".into()),
        ("vertices", "vertices = 2\nstrand = { model = \"csm\", tip = \"held\" }\ncsm = { half_width = 1 }".into()),
        ("vertices", "vertices = 2\nstrand = { model = \"csm\" }\ncsm = { clamped = 0 }".into()),
        ("vertices", more("tip_radius = 0")),
        (
            "vertices",
            more(
                "[groom.strand]\nyoungs_modulus = 1e12\nmodel = \"pbd\"\n[groom.pbd]\niterations = { kind = \"fixed\", count = 3 }",
            ),
        ),
        ("cell", "cell = 1e-5".into()),
        ("cell", "cell = 1e-5\nstorage = \"dense\"".into()),
        ("cell", "cell = 100".into()),
        ("cell", "cell = 0.01\nrepulsion = 1e6".into()),
        ("cell", "cell = 0.01\n[[wind]]\nkind = \"uniform\"\nvelocity = \"1000 0 0 m/s\"".into()),
    ];
    for (key, line) in cases {
        // Hair may stretch under such forces: a failed expectation is a finding about the scene.
        let ended = run_scene(&place, &tuft(&[(key, &line)]));
        assert!(matches!(ended.code, Some(0 | 1)), "{line}: {:?} {}", ended.code, ended.err);
        assert_eq!(place.frames("own").len(), 3, "{line}");
    }
}

#[test]
fn a_motion_that_fails_between_the_trials_keeps_what_was_computed() {
    let place = Place::new();
    // No number in the middle of the second frame, at a substep that the trials of a long scene pass over.
    let motion = "motion = { kind = \"expressions\", position = [\"sqrt(abs(t - 0.0625) - 1e-9)\", \"0\", \"0\"] }";
    let scene = tuft(&[("motion", motion), ("frames", "frames = 3001")]);
    fs::write(place.path("own.toml"), scene).unwrap();
    let ended = place.drench("run own.toml --no-render --quiet --out own");
    ended.exits(2).tells(&["solid \"ball\"", "NaN", "0.0625", "correct its `motion`"]);
    assert_eq!(place.frames("own").len(), 2);
    assert_eq!(place.status("own"), "failed");
}

#[test]
fn a_mesh_that_deforms_beyond_reason_is_refused() {
    let place = Place::new();
    for heights in [[0.0, f32::NAN, 0.0, 0.0], [0.0, 1e9, 0.0, 0.0], [0.0, 0.0, 1e30, 0.0], [f32::INFINITY; 4]] {
        place.add_tent(heights);
        let ended = place.drench("run tent.toml --no-render --quiet --force --out own");
        assert_eq!(ended.code, Some(2), "{heights:?}: {}", ended.err);
        ended.tells(&["ball"]);
    }
}

#[test]
fn a_simulation_that_diverges_is_exit_code_3_and_keeps_its_frames() {
    let place = Place::new();
    // Strands of a metre's thickness that push each other away with all their might.
    let scene = tuft(&[
        ("vertices", "vertices = 6\nroot_radius = 1\ntip_radius = 1\n[groom.strand]\ndensity = 1e5"),
        ("cell", "cell = 1e-3\nrepulsion = 1e6"),
        ("frames", "frames = 8\nfps = 1"),
    ]);
    let ended = run_scene(&place, &scene).exits(3);
    ended.tells(&[
        "diverged at 1.0000 s",
        "stage \"books\"",
        "fur: strand",
        "m/s",
        "frames up to 0 are kept",
        "substeps=4",
    ]);
    assert_eq!(place.frames("own").len(), 1);
    assert_eq!(place.status("own"), "diverged");
}

#[test]
fn a_grid_that_would_take_all_memory_is_refused() {
    let place = Place::new();
    let scene = tuft(&[
        ("strands", "strands = 5000"),
        ("length", "length = 1"),
        ("vertices", "vertices = 40"),
        ("cell", "cell = 1e-5"),
    ]);
    run_scene(&place, &scene).exits(2).tells(&["[interaction]", "1.000e-5 m", "make `cell` larger"]);
}

#[test]
fn wet_hair_that_cannot_be_is_refused_before_it_runs() {
    let place = Place::new();
    let wet = |more: &str, line: &str| tuft(&[("vertices", &format!("vertices = 6\n{more}\n[groom.wet]\n{line}"))]);
    let voxel = |edge: &str| format!("[wetting]\nvoxel = {edge}");
    let cases: [(String, &[&str]); 5] = [
        (wet("", "inside = 0\nbetween = 0\naround = 0"), &["own.toml:22", "no room for water", "leave `wet` out"]),
        (wet("", "repellent = 1.5"), &["repellent"]),
        (wet("", "soak = -1"), &["fur.wet.soak"]),
        (wet("root_radius = 0.005", &voxel("1e-4")), &["own.toml:24", "smaller than the radius", "`fur`"]),
        (wet("", &voxel("1e-4\nreach = 1e-3")), &["wet hair", "1.000e-4 m", "make `voxel` larger"]),
    ];
    for (scene, words) in cases {
        run_scene(&place, &scene).exits(2).tells(words);
        assert!(!place.path("own").exists(), "{words:?}");
    }
    run_scene(&place, &wet("", &voxel("1e-3"))).exits(0);
}

#[test]
fn an_interrupt_while_strands_settle_stops_at_once() {
    let place = Place::new();
    let scene = tuft(&[("frames", "frames = 2\nsettle = 3600")]).replace("substeps = 2", "substeps = 1000");
    fs::write(place.path("own.toml"), scene).unwrap();
    let run = place.begin("run own.toml --no-render --quiet --out own");
    wait_for(&place.path("own/run.json"));
    let kill = std::process::Command::new("kill").args(["-INT", &run.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let ended = Ended::new(run.wait_with_output().unwrap());
    ended.exits(130).tells(&["stopped before the first frame", "--resume"]);
    assert_eq!(place.status("own"), "interrupted");
}

#[test]
fn output_that_is_cut_off_is_told() {
    let place = Place::new();
    place.shell("test ! -e /dev/full || $DRENCH scenes rope > /dev/full; code=$?; test ! -e /dev/full || exit $code; exit 4").exits(4);
    place.shell("$DRENCH scenes rope >&-").exits(0);
}

#[test]
fn a_damaged_record_is_refused_and_can_be_replaced() {
    let place = Place::new();
    place.drench("run tuft.toml --no-render --quiet --frames 1 --out own").exits(0);
    for content in ["", "{\"name\": 3}", "[]", "\0"] {
        fs::write(place.path("own/run.json"), content).unwrap();
        for line in ["info own", "render own", "run tuft.toml --no-render --resume --out own"] {
            place.drench(line).exits(2).tells(&["run.json is damaged", "--force"]);
        }
    }
    place.drench("run tuft.toml --no-render --quiet --frames 1 --force --out own").exits(0);
    assert_eq!(place.frames("own").len(), 2);
}
