//! Exports of made-up runs: what goes in comes out again.
#![allow(clippy::unwrap_used)]

use drench_export::{ExportError, Format, Options, Source, Target, format};
use drench_geometry::groom::drawn::{self, Drawn, Up};
use drench_io::{
    Attribute, Domain, Frame, ParticleBody, RunFolder, RunRecord, RunStatus, SolidBody, StrandBody, Values,
};
use drench_scene::Scene;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const SCENE: &str = "name = 'made-up'\n[[solid]]\nname = 'skin'\nshape = { kind = 'sphere', radius = 0.1 }\n[[groom]]\nname = 'hair'\non = \
                     'skin'\nstrands = 3\nlength = 0.1\nwet = { soak = 1 }\n[[camera]]\nname = 'main'\nposition = [0, 0, 1]\n";

/// Strands of these numbers of vertices that move, get wet at frame 2 and dry again.
fn frame(index: u32, counts: &[usize], particles: usize) -> Frame {
    let mut offsets = vec![0];
    counts.iter().for_each(|count| offsets.push(offsets[offsets.len() - 1] + *count as u32));
    let total = offsets[counts.len()] as usize;
    let position = |i: usize| [0.01 * i as f32, 0.1 * index as f32, -0.5];
    let wet = if index == 2 { 1.0 } else { 0.0 };
    let scalar = |x: f32, n: usize| Attribute { domain: Domain::Vertex, values: Values::F32(vec![x; n]) };
    let strands = StrandBody {
        name: "hair".into(),
        offsets,
        positions: (0..total).map(position).collect(),
        attributes: BTreeMap::from([
            ("radius".to_owned(), scalar(40e-6, total)),
            ("wetness".to_owned(), scalar(wet, total)),
            ("fibre_water".to_owned(), scalar(wet, total)),
            ("film".to_owned(), scalar(20e-6 * wet, total)),
        ]),
        children: None,
    };
    let liquid = ParticleBody {
        name: "liquid".into(),
        positions: (0..particles).map(position).collect(),
        attributes: BTreeMap::from([("radius".to_owned(), scalar(1e-3, particles))]),
        ..ParticleBody::default()
    };
    let skin = SolidBody {
        name: "skin".into(),
        positions: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
        triangles: vec![[0, 1, 2]],
        ..SolidBody::default()
    };
    let time = f64::from(index) / 25.0;
    Frame { index, time, strands: vec![strands], solids: vec![skin], particles: vec![liquid] }
}

fn scene(folder: &Path) -> Scene {
    let source = drench_scene::Source::Text { name: "made-up".into(), text: SCENE.into(), directory: folder.into() };
    drench_scene::load(source, None, &[]).unwrap()
}

/// A run of `frames` frames.
fn run(folder: &Path, frames: u32, counts: &[usize]) -> PathBuf {
    let record = RunRecord {
        name: "made-up".into(),
        version: "0".into(),
        seed: 1,
        threads: 1,
        size: None,
        frames,
        fps: 25.0,
        status: RunStatus::Finished,
        started: String::new(),
        updated: String::new(),
        wall_seconds: 0.0,
        base: folder.into(),
        scene: SCENE.into(),
    };
    let path = folder.join("run");
    let mut run = RunFolder::create(&path, record, true).unwrap();
    for index in 0..frames {
        run.write_frame(&frame(index, counts, 3 * index as usize)).unwrap();
    }
    path
}

fn open(run: &Path, wanted: impl Fn(u32) -> bool) -> Source {
    Source::open(run, scene(run), Options::default(), wanted).unwrap()
}

fn export(run: &Path, name: &str, out: &Path) -> Result<Vec<PathBuf>, ExportError> {
    export_as(run, format::find(name).unwrap(), out)
}

fn export_as(run: &Path, format: &Format, out: &Path) -> Result<Vec<PathBuf>, ExportError> {
    let mut source = open(run, |_| true);
    let target = Target::new(out, format.layout, format.endings, true)?;
    let mut writer = (format.begin)(source.shot(), &Options::default(), target.place())?;
    for index in source.shot().frames.clone() {
        writer.frame(&source.moment(index)?)?;
    }
    writer.finish()?;
    Ok(target.commit()?.into_iter().map(|file| file.path).collect())
}

/// The first frame's hair, from its file.
fn hair_of(path: &Path) -> Drawn {
    drawn::load(path, Some(1.0), Some(Up::Y)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn strands_come_back_from_every_format_that_can_be_read(counts in prop::collection::vec(2_usize..40, 1..60)) {
        let folder = tempfile::tempdir().unwrap();
        let run = run(folder.path(), 2, &counts);
        let first = open(&run, |_| true).moment(0).unwrap();
        let near = |drawn: &Drawn| {
            let same = drawn.positions.iter().zip(&first.curves[0].positions);
            drawn.offsets == first.curves[0].offsets
                && same.into_iter().all(|(a, b)| a.as_vec3().to_array() == *b)
        };
        for name in ["usdc", "usda"] {
            let out = folder.path().join(format!("a.{name}"));
            export(&run, name, &out).unwrap();
            prop_assert!(near(&hair_of(&out)), "{}", name);
        }
        let files = export(&run, "hair", &folder.path().join("hair")).unwrap();
        prop_assert_eq!(files.len(), 2);
        prop_assert!(near(&hair_of(&files[0])));
        let files = export(&run, "obj", &folder.path().join("obj")).unwrap();
        // Lines of two vertices that share one are joined, and none do here.
        prop_assert!(near(&hair_of(&files[0])));
    }
}

#[test]
fn the_same_run_gives_the_same_bytes_and_a_part_has_the_values_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let run = run(folder.path(), 6, &[4, 7, 2]);
    for name in ["usdc", "usda", "usdz"] {
        let [a, b] = ["a", "b"].map(|stem| folder.path().join(format!("{stem}.{name}")));
        export(&run, name, &a).unwrap();
        export(&run, name, &b).unwrap();
        assert_eq!(fs::read(&a).unwrap(), fs::read(&b).unwrap(), "{name}");
    }
    let mut whole = open(&run, |_| true);
    let moments: Vec<_> = (0..6).map(|index| whole.moment(index).unwrap()).collect();
    let mut part = open(&run, |frame| frame >= 4);
    assert_eq!(part.shot().frames, [4, 5]);
    let fourth = part.moment(4).unwrap();
    assert_eq!(fourth, moments[4]);
    // It was wet at frame 2, and gloss fades faster than darkness.
    let at = |name: &str| fourth.curves[0].scalars(name).unwrap()[0];
    assert!(at("wet_spec") > 0.5 && at("wet_spec") < at("wet_dark") && at("wet_dark") < 1.0 && at("wetness") == 0.0);
}

#[test]
fn a_layer_a_frame_holds_what_differs_from_the_first_and_the_root_stitches_them() {
    let folder = tempfile::tempdir().unwrap();
    let run = run(folder.path(), 4, &[4, 7, 2]);
    let out = folder.path().join("layers");
    let per_frame = |name: &str| format::find(name).unwrap().per_frame.unwrap();
    let files = export_as(&run, per_frame("usda"), &out).unwrap();
    let names: Vec<_> = files.iter().map(|file| file.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    let parts = ["0000", "0001", "0002", "0003", "manifest", "still"].map(|part| format!("made-up.{part}.usda"));
    assert_eq!(names, [&parts[..], &["made-up.usda".to_owned()]].concat());
    let read = |part: &str| fs::read_to_string(out.join(part)).unwrap();
    let root = read("made-up.usda");
    for part in [
        "@./made-up.still.usda@,\n        @./made-up.manifest.usda@",
        "active = [(0, 0), (1, 1), (2, 2), (3, 3)]",
        "times = [(0, 0), (1, 1), (2, 2), (3, 3)]",
        "manifestAssetPath = @./made-up.manifest.usda@",
        "@./made-up.0000.usda@, @./made-up.0001.usda@, ",
        "primPath = \"/made_up\"",
        "endTimeCode = 3",
    ] {
        assert!(root.contains(part), "{part} is not in\n{root}");
    }
    let [still, manifest, first, wet] =
        ["still", "manifest", "0000", "0002"].map(|k| read(&format!("made-up.{k}.usda")));
    let has = |text: &str, parts: &[&str]| parts.iter().map(|part| text.contains(part)).collect::<Vec<_>>();
    // The rest shape, the skin and the numbers of vertices stay; positions, wetness and drops change.
    let parts = ["curveVertexCounts", "primvars:rest", "faceVertexIndices", "primvars:wetness", "point3f[] points"];
    assert_eq!(has(&still, &parts), [true, true, true, false, true]);
    assert_eq!(has(&manifest, &parts), [false, false, false, true, true]);
    assert_eq!(has(&wet, &parts), [false, false, false, true, true]);
    assert!(!still.contains("timeSamples") && !manifest.contains("timeSamples") && !first.contains("point3f"));
    assert!(wet.contains("primvars:wetness.timeSamples = {\n            2: [1, 1,"), "{wet}");
    // The drops are three more in every frame, none in the first.
    assert!(manifest.contains("point3f[] points = []"), "{manifest}");

    let binary = folder.path().join("binary");
    let files = export_as(&run, per_frame("usdc"), &binary).unwrap();
    assert_eq!(files.iter().filter(|file| file.extension().unwrap() == "usdc").count(), 6);
    let again = folder.path().join("again");
    for (a, b) in files.iter().zip(export_as(&run, per_frame("usdc"), &again).unwrap()) {
        assert_eq!(fs::read(a).unwrap(), fs::read(&b).unwrap(), "{}", b.display());
    }
    assert!(["usdz", "abc", "ply"].iter().all(|name| format::find(name).unwrap().per_frame.is_none()));
}

#[test]
fn archives_hold_the_layer_at_a_multiple_of_64_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let run = run(folder.path(), 3, &[5, 5]);
    let [layer, archive] = ["a.usdc", "a.usdz"].map(|name| folder.path().join(name));
    export(&run, "usdc", &layer).unwrap();
    export(&run, "usdz", &archive).unwrap();
    let (layer, archive) = (fs::read(&layer).unwrap(), fs::read(&archive).unwrap());
    let short = |at: usize| usize::from(u16::from_le_bytes([archive[at], archive[at + 1]]));
    assert_eq!((&archive[..4], short(8)), (&b"PK\x03\x04"[..], 0));
    let start = 30 + short(26) + short(28);
    assert!(start.is_multiple_of(64) && archive[start..start + layer.len()] == layer);
    assert_eq!(&archive[30..30 + short(26)], b"made_up.usdc");
    assert_eq!(&archive[archive.len() - 22..archive.len() - 18], b"PK\x05\x06");
}

#[test]
fn what_never_changes_is_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let size = |frames: u32| {
        let path = folder.path().join("a.usdc");
        export(&run(folder.path(), frames, &[100; 40]), "usdc", &path).unwrap();
        fs::metadata(&path).unwrap().len() as f64
    };
    // Of a dry frame only positions and liquid are new; of all frames of 4000 vertices that is 12 bytes each.
    let (few, many) = (size(10), size(30));
    assert!((many - few) / 20.0 < 1.2 * 4000.0 * (12.0 + 8.0), "{}", (many - few) / 20.0);
}

#[test]
fn a_run_without_hair_is_no_hair_file_and_damaged_frames_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = run(folder.path(), 3, &[3]);
    fs::write(path.join("frames/000001.drench"), b"nonsense").unwrap();
    let mut source = open(&path, |_| true);
    assert!(source.moment(0).is_ok());
    let error = source.moment(1).unwrap_err();
    assert!(matches!(&error, ExportError::Run(_)) && !error.is_storage(), "{error}");
    assert!(source.moment(2).is_ok());
    let empty = tempfile::tempdir().unwrap();
    let error = Source::open(empty.path(), scene(empty.path()), Options::default(), |_| true).unwrap_err();
    assert!(error.to_string().contains("run.json"), "{error}");
    let bald = run(empty.path(), 2, &[]);
    let out = empty.path().join("hair");
    let error = export(&bald, "hair", &out).unwrap_err().to_string();
    assert!(error.contains("no hair") && !out.exists(), "{error}");
}

#[test]
fn a_layer_with_any_byte_changed_or_missing_is_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.usdc");
    export(&run(folder.path(), 2, &[3; 20]), "usdc", &path).unwrap();
    let sound = fs::read(&path).unwrap();
    // The tables are at the end, and one byte of them can lead anywhere.
    let tables = sound.len() - 3000.min(sound.len());
    for at in (0..tables).step_by(97).chain((tables..sound.len()).step_by(3)) {
        let mut bytes = sound.clone();
        bytes[at] ^= [0xff, 0x01, 0x80][at / 3 % 3];
        fs::write(&path, &bytes).unwrap();
        let _ = drawn::load(&path, Some(1.0), Some(Up::Y));
        fs::write(&path, &sound[..at]).unwrap();
        assert!(drawn::load(&path, Some(1.0), Some(Up::Y)).is_err(), "{at}");
    }
}
