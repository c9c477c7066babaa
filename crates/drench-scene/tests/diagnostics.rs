//! What is wrong with a scene is said all at once, with place and fix.

use drench_scene::{Diagnostics, Scene, Size, Source, load};

fn read(text: &str) -> Result<Scene, Diagnostics> {
    load_with(text, &[])
}

fn load_with(text: &str, overrides: &[(&str, &str)]) -> Result<Scene, Diagnostics> {
    let overrides: Vec<_> = overrides.iter().map(|(path, value)| ((*path).into(), (*value).into())).collect();
    let source = Source::Text { name: "scene.toml".into(), text: text.into(), directory: "".into() };
    load(source, None, &overrides)
}

/// A scene that is right, to be made wrong.
const GOOD: &str = r#"name = "good"

[[solid]]
name = "head"
shape = { kind = "sphere", radius = "10 cm" }

[[groom]]
name = "fur"
on = "head"
spacing = "5 mm"
length = "3 cm"
"#;

#[test]
fn the_good_scene_is_good() {
    let scene = read(GOOD).unwrap();
    assert_eq!(scene.grooms[0].spacing, Some(0.005));
    assert_eq!(scene.simulation.frames, 100);
    assert_eq!(scene.lights.len(), 3);
}

#[test]
fn all_problems_are_reported_at_once_with_places_and_fixes() {
    let text = r##"name = "bad"
colour = "red"

[simulation]
frames = 0
fps = "24 kg"
gravity = "0 -9.81 m/s2"

[[solid]]
name = "head"
shape = { kind = "spere", radius = "10 cm" }
position = [0, nan, 0]

[[solid]]
name = "head"
shape = { kind = "sphere", radius = -1 }
colour = "#12345"

[[groom]]
name = "fur"
on = "haed"
spacing = 0
lenght = "3 cm"
model = "pbd"

[groom.strand]
model = "dftll"
density = "1.3 g/cm2"

[[camera]]
name = "main"
position = [0, 0, 1]
follow = "tail"

[[camera.keyframe]]
time = 1
position = [0, 0, 1]
target = [0, 0, 0]

[[camera.keyframe]]
time = 0.5
position = [0, 0, 1]
target = [0, 0, 0]
"##;
    insta::assert_snapshot!(read(text).unwrap_err().to_string());
}

#[test]
fn expressions_are_pointed_into() {
    let text = GOOD.replace(
        "[[groom]]",
        "motion = { kind = \"expressions\", position = [\"0\", \"0.1 * sim(t)\", \"1 / (t - 1)\"] }\n[[groom]]",
    );
    let problems = read(&text).unwrap_err();
    let one = problems.iter().next().unwrap();
    assert_eq!((one.line, one.column), (7, 58));
    assert!(one.message.contains("unknown function `sim`") && one.help.contains("`sin`"));
    let text = text.replace("sim(t)", "sin(t)");
    let one = read(&text).unwrap_err().iter().next().unwrap();
    assert_eq!(one.message, "the expression `1 / (t - 1)` gives inf at t = 1");
    assert_eq!(one.key, "solid.head.motion.position");
    assert_eq!((one.line, one.column), (7, 67));
}

#[test]
fn circles_of_parents_are_printed() {
    let text = r#"name = "x"
solid = [
  { name = "a", parent = "b", shape = { kind = "head" } },
  { name = "b", parent = "c", shape = { kind = "head" } },
  { name = "c", parent = "a", shape = { kind = "head" } },
  { name = "d", parent = "c", shape = { kind = "head" } },
  { name = "e", parent = "e", shape = { kind = "head" } },
]
"#;
    let problems = read(text).unwrap_err();
    let messages: Vec<_> = problems.iter().map(|problem| problem.message).collect();
    assert_eq!(messages, ["parents go in a circle: a -> b -> c -> a", "parents go in a circle: e -> e"]);
}

#[test]
fn every_bad_value_is_refused_with_its_range() {
    for (from, to, words) in [
        ("spacing = \"5 mm\"", "spacing = \"-5 mm\"", "out of range"),
        ("spacing = \"5 mm\"", "spacing = inf", "found inf"),
        ("spacing = \"5 mm\"", "spacing = true", "expected a length, found true"),
        ("spacing = \"5 mm\"", "spacing = \"5 mn\"", "unknown unit `mn`"),
        ("spacing = \"5 mm\"", "spacing = [1]", "expected a length"),
        ("spacing = \"5 mm\"", "spacing = 2020-01-01", "found the date"),
        ("spacing = \"5 mm\"", "strands = 0", "out of range"),
        ("spacing = \"5 mm\"", "strands = 1_000_000_000", "out of range"),
        ("spacing = \"5 mm\"", "strands = 2.5", "whole number"),
        ("spacing = \"5 mm\"", "strands = \"many\"", "whole number"),
        ("spacing = \"5 mm\"", "", "nothing says how many strands"),
        ("spacing = \"5 mm\"", "at = []", "0 strands"),
        ("spacing = \"5 mm\"", "at = [[0, 0]]", "expected 3 numbers"),
        ("spacing = \"5 mm\"", "spacing = 1\nstrands = 10", "both say"),
        ("spacing = \"5 mm\"", "spacing = 1\ntip_radius = \"1 mm\"", "thicker than the root"),
        ("spacing = \"5 mm\"", "spacing = 1\nlay = 1", "needs a direction"),
        ("spacing = \"5 mm\"", "spacing = 1\nvertices = 1", "out of range"),
        ("spacing = \"5 mm\"", "spacing = 1\nchildren = -1", "out of range"),
        (
            "spacing = \"5 mm\"",
            "spacing = 1\npbd = { iterations = { kind = \"adaptive\", least = 9, most = 5 } }",
            "`least` is 9",
        ),
        ("spacing = \"5 mm\"", "spacing = 1\ndensity = { kind = \"colour\", path = \"x\" }", "unknown key `path`"),
        ("spacing = \"5 mm\"", "spacing = 1\ndensity = \"z + w\"", "unknown variable `w`"),
        ("length = \"3 cm\"", "", "`length` is missing"),
        ("radius = \"10 cm\"", "radius = 0", "out of range"),
        ("radius = \"10 cm\"", "radius = 1e9", "out of range"),
        ("radius = \"10 cm\"", "size = 1", "unknown key `size`"),
        ("{ kind = \"sphere\", radius = \"10 cm\" }", "\"sphere\"", "expected a table"),
        ("{ kind = \"sphere\", radius = \"10 cm\" }", "{ radius = 1 }", "`kind` is missing"),
        ("{ kind = \"sphere\", radius = \"10 cm\" }", "{ kind = \"torus\", radius = 1, thickness = 2 }", "as thick"),
        ("name = \"good\"", "", "`name` is missing"),
        ("name = \"good\"", "name = \"not good\"", "cannot be a name"),
        ("name = \"good\"", "name = \"good\"\nsolid = 3", "duplicate key"),
        ("name = \"good\"", "name = \"good", "string"),
        ("name = \"good\"", "name = \"good\"\nsimulation = 3", "expected a table"),
        ("name = \"good\"", "name = \"good\"\nsize = 3", "expected the tables"),
        ("name = \"good\"", "name = \"good\"\nsize.huge.x = 3", "unknown size `huge`"),
        ("name = \"good\"", "name = \"good\"\nsize.preview = 3", "expected a table of key paths"),
        ("name = \"good\"", "name = \"good\"\nexpect = [{ that = \"strain.mix\", at_most = 1 }]", "no figure"),
        ("name = \"good\"", "name = \"good\"\nexpect = [{ that = \"strain.max\" }]", "no bound"),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let problems = read(&GOOD.replacen(from, to, 1)).expect_err(to);
        let text = problems.to_string();
        assert!(text.contains(words), "{to}: expected {words:?} in\n{text}");
        let one = problems.iter().next().unwrap();
        assert!(one.line > 0 || one.message.contains("`name` is missing"), "{to}: {one:?}");
    }
}

#[test]
fn overrides_reach_every_key() {
    for (path, value) in [
        ("groom.fur.spacing", "7 mm"),
        ("groom.0.spacing", "0.007"),
        ("groom.fur.spacing", "\"7 mm\""),
        ("groom . fur . spacing", " 7 mm "),
    ] {
        assert_eq!(load_with(GOOD, &[(path, value)]).unwrap().grooms[0].spacing, Some(0.007), "{path}={value}");
    }
    let scene = load_with(
        GOOD,
        &[
            ("groom.fur.strand.model", "pbd"),
            ("simulation.frames", "7"),
            ("simulation.gravity", "[0, 0, \"-1 m/s2\"]"),
            ("groom.fur.pbd.iterations", "{ kind = 'adaptive', stretch = '2 %' }"),
            ("interaction.cell", "3 mm"),
            ("simulation.frames", "8"),
        ],
    )
    .unwrap();
    assert_eq!(scene.grooms[0].strand.model, drench_scene::StrandModel::Pbd);
    assert_eq!((scene.simulation.frames, scene.simulation.gravity.z), (8, -1.0));
    let adaptive =
        drench_scene::Iterations::Adaptive { stretch: 0.02, of: drench_scene::StretchOf::Strand, least: 4, most: 200 };
    assert_eq!(scene.grooms[0].pbd.iterations, adaptive);
    assert_eq!(scene.interaction.unwrap().cell, 0.003);
}

#[test]
fn a_missing_length_is_told_with_the_other_errors_unless_strands_are_imported() {
    let with = |lines: &str| read(&GOOD.replace("length = \"3 cm\"", lines)).unwrap_err().to_string();
    let told = with("vertices = 1");
    assert!(told.contains("`length` is missing") && told.contains("add length") && told.contains("vertices"), "{told}");
    let told = with("vertices = 1\nimport = { path = \"a.hair\" }");
    assert!(!told.contains("`length` is missing") && told.contains("vertices"), "{told}");
}

#[test]
fn errors_in_overrides_point_at_the_override() {
    for (path, value, words) in [
        ("groom.fr.spacing", "5 mm", "no groom is named `fr`"),
        ("groom.fr.spacing", "5 mm", "did you mean `fur`?"),
        ("groom.7.spacing", "5 mm", "no groom is named `7`"),
        ("groom.fur.spacin", "5 mm", "did you mean `spacing`?"),
        ("groom.fur.spacing", "5 kg", "`kg` is a mass"),
        ("simulaton.frames", "5", "did you mean `simulation`?"),
        ("groom.fur.length.x", "5", "holds no keys"),
        ("camera.main.follow", "head", "the scene has no camera"),
        ("groom.fur.strand.model", "dtfl", "did you mean `dftl`?"),
        ("", "5", "not a path"),
        ("a..b", "5", "not a path"),
        ("size.tiny.x", "5", "sizes cannot be changed"),
        ("solid.head.parent", "head", "circle"),
        ("solid", "3", "expected a list of tables"),
    ] {
        let problems = load_with(GOOD, &[(path, value)]).expect_err(path);
        let text = problems.to_string();
        assert!(text.contains(words), "{path}={value}: expected {words:?} in\n{text}");
        assert!(text.contains("--set") && text.contains(&format!("{path}={value}")), "{text}");
        assert!(problems.iter().any(|problem| problem.file == "--set"), "{text}");
    }
}

#[test]
fn sizes_apply_before_overrides() {
    let text = format!(
        "{GOOD}\n[size.tiny]\nsimulation.frames = 3\n\"groom.fur.spacing\" = \"1 cm\"\n[size.preview.simulation]\nframes = 5\n"
    );
    let with = |size, overrides: &[(String, String)]| {
        let source = Source::Text { name: "x".into(), text: text.clone(), directory: "".into() };
        load(source, size, overrides).unwrap()
    };
    let tiny = with(Some(Size::Tiny), &[]);
    assert_eq!((tiny.simulation.frames, tiny.grooms[0].spacing), (3, Some(0.01)));
    assert_eq!(with(None, &[]).simulation.frames, 5);
    assert_eq!(with(Some(Size::Full), &[]).simulation.frames, 100);
    let set = [("simulation.frames".to_owned(), "9".to_owned())];
    assert_eq!(with(Some(Size::Tiny), &set).simulation.frames, 9);
    let wrong = text.replace("groom.fur.spacing", "groom.fu.spacing");
    let source = Source::Text { name: "x".into(), text: wrong, directory: "".into() };
    let one = load(source, Some(Size::Tiny), &[]).unwrap_err().iter().next().unwrap();
    assert_eq!((one.line, one.column), (15, 8));
    assert_eq!(one.message, "no groom is named `fu`");
}

#[test]
fn looks_take_what_they_leave_out_from_render() {
    let text = format!("{GOOD}\n[render]\nwidth = 100\nexposure = 1\n[[look]]\nname = \"wide\"\nwidth = 300\n");
    let scene = read(&text).unwrap();
    let wide = &scene.look("wide").unwrap().render;
    assert_eq!((wide.width, wide.exposure, wide.height), (300, 1.0, 720));
}

#[test]
fn files_are_found_beside_the_scene() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("scene.toml");
    let text = GOOD.replace("kind = \"sphere\", radius = \"10 cm\"", "kind = \"file\", path = \"mesh.obj\"");
    std::fs::write(&path, text).unwrap();
    let source = Source::named(path.to_str().unwrap());
    let problems = load(source.clone(), None, &[]).unwrap_err().to_string();
    assert!(problems.contains("there is no file `mesh.obj`"), "{problems}");
    std::fs::write(directory.path().join("mesh.obj"), "").unwrap();
    let scene = load(source, None, &[]).unwrap();
    let drench_scene::Shape::File { path, .. } = &scene.solids[0].shape else { panic!() };
    assert_eq!(path, &directory.path().join("mesh.obj"));
    // The resolved scene means the same file from anywhere.
    let again = Source::Text { name: "x".into(), text: scene.to_toml(), directory: "/elsewhere".into() };
    assert_eq!(load(again, None, &[]).unwrap(), scene);
}

#[test]
fn unreadable_sources_say_why() {
    let fail = |name: &str| load(Source::named(name), None, &[]).unwrap_err().to_string();
    assert!(fail("buny").contains("did you mean the built-in scene `bunny`?"));
    assert!(fail("/nowhere/scene.toml").contains("no such file"));
    let directory = tempfile::tempdir().unwrap();
    assert!(fail(directory.path().to_str().unwrap()).contains("cannot read the scene"));
    let path = directory.path().join("latin.toml");
    std::fs::write(&path, b"name = \"caf\xe9\"").unwrap();
    assert!(fail(path.to_str().unwrap()).contains("byte 11 is not UTF-8"));
    std::fs::write(&path, vec![b'#'; 5 << 20]).unwrap();
    assert!(fail(path.to_str().unwrap()).contains("larger than 4 MB"));
    let builtin = load(Source::Builtin("ropes".into()), None, &[]).unwrap_err().to_string();
    assert!(builtin.contains("did you mean `rope`?"));
}

/// A body on a cord that is right, to be made wrong.
const HANGING: &str = r#"name = "hanging"

[[solid]]
name = "load"
shape = { kind = "box", size = [0.1, 0.1, 0.1] }
body = { mass = 1 }

[[cord]]
name = "rope"
segments = 20
shape = { kind = "line", points = [[0, 1, 0], [0, 0, 0]] }
clamp = [{ at = "start" }, { at = "end", to = "load" }]

[cord.material]
bending = 2
tension = { modulus = "1 GPa", yield = "2 MPa", rupture = "3 MPa" }
"#;

#[test]
fn bad_cords_and_bodies_are_refused_with_the_fix() {
    read(HANGING).unwrap();
    for (from, to, message, help) in [
        ("rupture = \"3 MPa\"", "rupture = \"1 MPa\"", "before it yields", "at least `yield`"),
        ("rupture = \"3 MPa\"", "plastic = \"2 GPa\"", "steeper", "at most `modulus`"),
        ("yield = \"2 MPa\"", "plastic = 1", "never does", "add `yield`"),
        ("bending = 2", "bending = 21", "wider than the cord of 20 segments", "at most 20"),
        ("to = \"load\"", "to = \"laod\"", "no solid is named `laod`", "did you mean `load`"),
        ("at = \"end\"", "at = \"strat\"", "no place on a cord", "\"start\", \"end\" or a fraction"),
        ("at = \"end\"", "at = 1.5", "out of range", "0 to 1"),
        ("at = \"end\"", "at = 0.01", "two clamps hold vertex 0", "leave out one"),
        (
            "clamp = [{ at = \"start\" }, { at = \"end\", to = \"load\" }]\n\n[cord.material]",
            "clamp = [{ at = 0.95, hold = \"all\" }, { at = \"end\", hold = \"all\" }]\n\n[cord.material]\ntorsion = { modulus = 1e9 }",
            "two clamps turn the same segment",
            "\"direction\" only",
        ),
        ("[0, 1, 0], [0, 0, 0]", "[0, 1, 0], [0, 1, 0]", "no length", "points that are apart"),
        ("[0, 1, 0], [0, 0, 0]", "[0, 1, 0]", "no length", "at least two points"),
        ("segments = 20", "segments = 20\nprofile = \"s\"", "the profile gives 0", "between 0.001 and 1000"),
        ("segments = 20", "segments = 20\nlike = \"string\"", "no cord is named `string`", "`rope`"),
        ("segments = 20", "segments = 20\nlike = \"rope\"", "stands above", "move it"),
        ("\"rope\"", "\"load\"", "a cord is named `load` too", "a name of its own"),
        ("{ mass = 1 }", "{ mass = 1 }\nmotion = { kind = \"expressions\" }", "cannot have a `motion`", "leave out"),
        ("{ mass = 1 }", "{ mass = 1 }\nparent = \"load\"", "cannot have a `parent`", "leave out `parent`"),
        ("{ mass = 1 }", "{ mass = 0 }", "out of range", "mass"),
        ("{ kind = \"box\", size = [0.1, 0.1, 0.1] }", "{ kind = \"plane\", size = 1 }", "no inside", "another shape"),
        (
            "[[cord]]",
            "[[solid]]\nname = \"child\"\nparent = \"load\"\nshape = { kind = \"head\" }\n[[cord]]",
            "cannot carry",
            "tie the two",
        ),
    ] {
        let text = HANGING.replacen(from, to, 1);
        assert_ne!(text, HANGING, "{from}");
        let problems = read(&text).unwrap_err();
        let found = problems.iter().any(|problem| problem.message.contains(message) && problem.help.contains(help));
        assert!(found, "{to}:\n{problems}");
    }
}

#[test]
fn what_is_like_another_has_its_keys() {
    let text = format!("{HANGING}\n[[cord]]\nname = \"twin\"\nlike = \"rope\"\nsegments = 30\n");
    let scene = read(&text).unwrap();
    let [rope, twin] = &scene.cords[..] else { panic!("two cords") };
    assert_eq!((twin.segments, &twin.shape, &twin.material), (30, &rope.shape, &rope.material));
    assert!(twin.clamps.is_empty());
    assert_eq!(read(&scene.to_toml()).unwrap(), scene);
}

#[test]
fn wet_hair_that_makes_no_sense_is_refused_with_a_fix() {
    let groom = |keys: &str| GOOD.replace("[[groom]]", &format!("[[groom]]\n{keys}"));
    for (text, part) in [
        (groom("wet = { inside = 1.5 }"), "inside"),
        (groom("wet = { flow = -1 }"), "flow"),
        (groom("wet = { straight = true, curl = { radius = 0.01, pitch = 0.03 } }"), "straight"),
        (groom("wet = { towel = { start = 2, stop = 1 } }"), "towel"),
        (groom("wet = { inside = 0, between = 0, around = 0 }"), "no room for water"),
        (groom("wet = { repellent = 1.1 }"), "repellent"),
        (groom("wet = { wetness = 1.1 }"), "wetness"),
        (groom("wet = { soak = -1 }"), "soak"),
        (groom("wet = { drying = -0.1 }"), "drying"),
        (groom("wet = { wear = -1 }"), "wear"),
        (groom("wet = { change = -1 }"), "change"),
        (groom("wet = { hairs = 0 }"), "hairs"),
        (format!("{GOOD}\n[wetting]\nvoxel = 1e-6\n"), "voxel"),
        (format!("{GOOD}\n[wetting]\nalong = -1\n"), "along"),
        (format!("{GOOD}\n[wetting]\nacross = 1.1\n"), "across"),
        (format!("{GOOD}\n[wetting]\nlevel = -1\n"), "level"),
        (format!("{GOOD}\n[wetting]\ndelay = -1\n"), "delay"),
        (format!("{GOOD}\n[wetting]\nreach = -1\n"), "reach"),
        (format!("{}\n[wetting]\nvoxel = 1e-3\nreach = 0.02\n", groom("wet = {}")), "`voxel` at least 0.00125 m"),
        (
            format!(
                "{}\n[wetting]\nvoxel = 1e-4\nreach = 0\n[liquid]\nspacing = 0.002\n\
                 [[liquid.fill]]\nkind = \"box\"\nlow = [0, 0, 0]\nhigh = [0.1, 0.1, 0.1]\n",
                groom("wet = {}")
            ),
            "`voxel` at least 0.000125 m",
        ),
    ] {
        let problems = read(&text).unwrap_err();
        let one = problems.iter().next().unwrap();
        let told = [&one.key, &one.message, &one.help].into_iter().any(|text| text.contains(part));
        assert!(told && !one.help.is_empty(), "{part}: {problems}");
    }
    for one in ["inside = 0.1", "between = 0.1", "around = 0.1"] {
        let others = ["inside", "between", "around"].into_iter().filter(|key| !one.starts_with(key));
        let keys: String = others.map(|key| format!(", {key} = 0")).collect();
        read(&groom(&format!("wet = {{ {one}{keys} }}"))).unwrap();
    }
}

#[test]
fn hair_that_is_thicker_than_its_voxels_is_refused_whatever_says_how_large_they_are() {
    let scene = |wet: &str, rest: &str| {
        let groom = format!("[[groom]]\nroot_radius = \"5 mm\"\n{wet}");
        read(&format!("{}\n{rest}", GOOD.replace("[[groom]]", &groom)))
    };
    let liquid = |spacing: &str| {
        format!("[liquid]\nspacing = \"{spacing}\"\nfill = [{{ kind = \"box\", low = [0, 1, 0], high = [1, 2, 1] }}]\n")
    };
    for rest in ["[wetting]\nvoxel = \"4.9 mm\"\n".to_owned(), liquid("3.3 mm")] {
        let problems = scene("wet = {}", &rest).unwrap_err().to_string();
        for part in ["wetting.voxel", "`fur`", "0.005 m", "at least 0.005"] {
            assert!(problems.contains(part), "{part}: {problems}");
        }
        scene("", &rest).unwrap();
    }
    assert_eq!(scene("wet = {}", &liquid("3.4 mm")).unwrap().voxel(), 1.5 * 3.4e-3);
    assert_eq!(scene("wet = {}", "").unwrap().voxel(), 5e-3);
}
