//! The other commands, bad input and bad storage: exit codes and messages.

mod common;

use common::{Ended, Place};
use serde_json::Value;
use std::fs;

#[test]
fn bad_arguments_are_exit_code_2() {
    let place = Place::new();
    for line in [
        "run",
        "run rope --threads 0",
        "run rope --threads 99999",
        "run rope --frames 0",
        "run rope --size huge",
        "run rope --set simulation.frames",
        "run rope --force --resume",
        "render",
        "render runs/none",
        "export runs/none --to usdc",
        "info nowhere",
        "paint rope",
    ] {
        place.drench(line).exits(2);
    }
    assert!(!place.path("runs").exists());
}

#[test]
fn a_wrong_name_is_answered_with_the_nearest() {
    let place = Place::new();
    place.drench("run roep").exits(2).tells(&["rope"]);
    place.drench("scenes roep").exits(2).tells(&["rope"]);
    place.drench("check tuft.toml --set simulation.substep=4").exits(2).tells(&["substeps"]);
}

#[test]
fn a_wrong_scene_is_told_with_its_places() {
    let place = Place::new();
    let text = common::TUFT.replace("strands = 60", "strands = 60\nlenght = 1").replace("\"3 cm\"", "\"-3 cm\"");
    fs::write(place.path("wrong.toml"), text).unwrap();
    for command in ["check", "run"] {
        place.drench(&format!("{command} wrong.toml")).exits(2).tells(&["wrong.toml:", "lenght", "length"]);
    }
    assert!(!place.path("runs").exists());
}

#[test]
fn a_scene_that_cannot_be_built_harms_no_earlier_run() {
    let place = Place::new();
    place.drench("run tuft.toml --no-render --frames 1 --quiet").exits(0);
    let text = common::TUFT.replace("strands = 60", "strands = 60\nfaces = [\"moustache\"]");
    fs::write(place.path("wrong.toml"), text).unwrap();
    place.drench("run wrong.toml --no-render --force --quiet").exits(2).tells(&["moustache"]);
    assert_eq!(place.frames("runs/tuft").len(), 2);
}

#[test]
fn storage_that_refuses_is_exit_code_4() {
    let place = Place::new();
    fs::write(place.path("file"), "").unwrap();
    place.drench("run tuft.toml --no-render --quiet --out file/run").exits(4).tells(&["file/run", "fix:"]);
}

#[cfg(unix)]
#[test]
fn a_full_disk_keeps_what_was_computed() {
    let place = Place::new();
    // The limit on file sizes stands in for the disk: statistics grow past it while frames still fit.
    let line = "ulimit -f 100; trap '' XFSZ; \"$DRENCH\" run tuft.toml --no-render --frames 400 --quiet --out run";
    place.shell(line).exits(4).tells(&["stats.jsonl", "fix:"]);
    let kept = place.frames("run").len();
    assert!(kept > 1 && kept < 401);
    let info: Value = serde_json::from_str(&place.drench("info run --json").exits(0).out).unwrap();
    assert_eq!(info["damaged"], Value::Array(vec![]));
    assert!(
        fs::read_dir(place.path("run/frames"))
            .unwrap()
            .all(|entry| { entry.unwrap().path().extension().is_some_and(|extension| extension == "drench") })
    );
}

#[test]
fn a_folder_with_other_files_is_not_touched() {
    let place = Place::new();
    fs::create_dir(place.path("mine")).unwrap();
    fs::write(place.path("mine/letter.txt"), "dear").unwrap();
    for force in ["", "--force"] {
        place.drench(&format!("run tuft.toml --no-render --quiet --out mine {force}")).exits(2).tells(&["mine"]);
    }
    assert_eq!(fs::read_dir(place.path("mine")).unwrap().count(), 1);
}

#[test]
fn the_list_of_scenes_is_as_promised() {
    let place = Place::new();
    let list: Value = serde_json::from_str(&place.drench("scenes --json").exits(0).out).unwrap();
    let names: Vec<&str> = list.as_array().unwrap().iter().map(|scene| scene["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"rope") && names.contains(&"bunny"), "{names:?}");
    for scene in list.as_array().unwrap() {
        for key in ["name", "shows", "figure", "bodies"] {
            assert!(!scene[key].is_null(), "{key}");
        }
        for size in ["tiny", "preview", "full"] {
            let counts = scene["sizes"][size]["counts"].as_object().unwrap();
            let simulated = ["strands", "cord_segments", "liquid_particles", "grains", "rigid_bodies"];
            assert!(simulated.iter().any(|what| counts.contains_key(*what)), "{size}: {counts:?}");
        }
    }
    let text = place.drench("scenes").exits(0).out;
    assert!(names.iter().all(|name| text.contains(name)));
}

#[test]
fn a_printed_scene_can_be_checked_as_a_file() {
    let place = Place::new();
    fs::write(place.path("mine.toml"), place.drench("scenes rope").exits(0).out).unwrap();
    place.drench("check mine.toml --size tiny").exits(0);
    let check = place.drench("check tuft.toml --json").exits(0);
    let check: Value = serde_json::from_str(&check.out).unwrap();
    assert_eq!(check["frames"], 8);
    assert!(check["strand_vertices"].as_u64().unwrap() > 100);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let place = Place::new();
    for line in ["scenes", "scenes rope", "check tuft.toml"] {
        let mut child = place.begin(line);
        drop(child.stdout.take());
        Ended::new(child.wait_with_output().unwrap()).exits(0);
    }
    let mut child = place.begin("run tuft.toml --no-render --frames 2 --json");
    drop(child.stdout.take());
    Ended::new(child.wait_with_output().unwrap()).exits(0);
    assert_eq!(place.frames("runs/tuft").len(), 3);
}

#[test]
fn pictures_of_chosen_frames_go_where_they_are_wanted() {
    let place = Place::new();
    place.drench("run tuft.toml --no-render --frames 5 --quiet").exits(0);
    place.drench("render runs/tuft --frames 1..3 --resolution 20x16 --out pictures --quiet").exits(0);
    let mut names: Vec<String> = fs::read_dir(place.path("pictures/images"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["000001.png", "000002.png", "000003.png"]);
    assert!(place.path("pictures/movie.mp4").exists());
    assert!(!place.path("runs/tuft/images").exists());
    place.drench("render runs/tuft --frames 50..60").exits(2).tells(&["frames 0 to 5"]);
    place.drench("render runs/tuft --camera nobody").exits(2).tells(&["nobody"]);
    place.drench("render runs/tuft --look nothing").exits(2).tells(&["nothing"]);
}

#[test]
fn a_run_is_exported_in_every_format_and_never_over_what_is_there() {
    let place = Place::new();
    place.drench("run tuft.toml --no-render --frames 2 --quiet").exits(0);
    let listed = place.drench("export --list --json").exits(0).out;
    let formats: Vec<Value> = serde_json::from_str(&listed).unwrap();
    assert!(formats.len() >= 7);
    for format in formats.iter().map(|format| format["name"].as_str().unwrap()) {
        let line = format!("export runs/tuft --to {format} --out out/{format}");
        let ended = place.drench(&format!("{line} --json"));
        if ended.code == Some(2) {
            // A format for what this run has none of says so, and leaves nothing.
            ended.tells(&["cannot hold this run"]);
            assert!(!place.path(&format!("out/{format}")).exists());
            continue;
        }
        let told = ended.exits(0).out;
        let last: Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
        assert_eq!((&last["event"], &last["manifest"]["frames"]), (&"end".into(), &3.into()), "{format}");
        let files = last["manifest"]["files"].as_array().unwrap();
        assert!(files.iter().all(|file| file["bytes"].as_u64() > Some(0)), "{format}: {files:?}");
        place.drench(&line).exits(2).tells(&["already there", "--force"]);
        place.drench(&format!("{line} --force --quiet")).exits(0);
    }
    let names: Vec<_> = fs::read_dir(place.path("out")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains("tmp")), "{names:?}");
    let layers = "export runs/tuft --to usdc --layers per-frame";
    let told = place.drench(layers).exits(0).out;
    assert!(told.contains("6 files") && told.contains("tuft_usdc"), "{told}");
    place.drench(layers).exits(2).tells(&["--force"]);
    place.drench(&format!("{layers} --force")).exits(0);
    assert!(place.path("runs/tuft/exports/tuft_usdc/tuft.usda").exists());
    place.drench("export runs/tuft --to ply --layers per-frame").exits(2).tells(&["no layers", "usdc, usda"]);
    place.drench("export runs/tuft --to gif").exits(2).tells(&["gif", "usdc"]);
    place.drench("export runs/tuft --to usdc --frames 7..9").exits(2).tells(&["frames 0 to 2"]);
    place.drench("export runs/tuft --to usdc --out /proc/nowhere/a.usdc").exits(4);
}

#[test]
fn a_damaged_frame_is_left_out_of_an_export_and_named() {
    let place = Place::new();
    place.drench("run tuft.toml --no-render --frames 3 --quiet").exits(0);
    let path = place.path("runs/tuft/frames/000002.drench");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(&path, bytes).unwrap();
    let ended = place.drench("export runs/tuft --to usda").exits(0).tells(&["frame 2 is left out"]);
    drop(ended);
    let text = fs::read_to_string(place.path("runs/tuft/exports/tuft.usda")).unwrap();
    let points = text.split("points.timeSamples").nth(1).unwrap();
    assert!(points.contains(" 1: [") && points.contains(" 3: ["));
    assert!(!points.split('}').next().unwrap().contains(" 2: ["));
    place.drench("export runs/tuft --to usda --frames 2 --force").exits(2).tells(&["none of the frames"]);
}
