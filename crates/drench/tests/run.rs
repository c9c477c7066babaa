//! `drench run`: what is on the disk afterwards, and that its bits depend on nothing but the scene.

mod common;

use common::{Ended, Place, wait_for};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

#[test]
fn the_smallest_rope_runs_and_leaves_a_movie() {
    let place = Place::new();
    let ended = place.drench("run rope --size tiny").exits(0);
    for file in ["run.json", "stats.jsonl", "frames/000000.drench", "images/000000.png", "movie.mp4", "checkpoints"] {
        assert!(place.path("runs/rope").join(file).exists(), "{file}");
    }
    assert!(ended.out.contains("movie.mp4") && ended.out.contains("drench info runs/rope"), "{}", ended.out);
    assert_eq!(place.status("runs/rope"), "finished");
    let info = place.drench("info runs/rope --json").exits(0);
    let info: Value = serde_json::from_str(&info.out).unwrap();
    assert_eq!(info["frames"].as_u64(), info["frames_wanted"].as_u64().map(|wanted| wanted + 1));
    assert_eq!(info["damaged"], Value::Array(vec![]));
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let place = Place::new();
    for threads in [1, 2, 8] {
        place.drench(&format!("run tuft.toml --no-render --threads {threads} --out t{threads} --quiet")).exits(0);
    }
    assert_eq!(place.frames("t1").len(), 9);
    assert!(place.frames("t1") == place.frames("t2"));
    assert!(place.frames("t1") == place.frames("t8"));
}

/// Runs a line on 1, 2 and 8 threads, and once more until a frame is there, to be killed and resumed: all frames must be the same. `code` is
/// what it exits with: a part of a scene does not meet all that is expected of the whole.
fn gives_the_same_bits(place: &Place, line: &str, code: i32, killed_at: u32) {
    let line = format!("{line} --no-render --quiet --set simulation.checkpoint_every=4");
    for threads in [1, 2, 8] {
        place.drench(&format!("{line} --threads {threads} --out t{threads}")).exits(code);
    }
    let mut child = place.begin(&format!("{line} --out killed"));
    wait_for(&place.path(&format!("killed/frames/{killed_at:06}.drench")));
    child.kill().expect("it runs");
    child.wait().expect("it was started here");
    place.drench(&format!("{line} --out killed --resume")).exits(code);
    assert!(place.frames("t1").len() > killed_at as usize);
    for other in ["t2", "t8", "killed"] {
        assert!(place.frames("t1") == place.frames(other), "{other}");
    }
}

#[test]
fn a_mesh_that_deforms_gives_the_same_bits_on_any_threads_and_after_a_kill() {
    let place = Place::new();
    place.add_tent([0.0, 0.03, -0.02, 0.01]);
    gives_the_same_bits(&place, "run tent.toml", 0, 4);
}

#[test]
fn torn_cords_and_bodies_give_the_same_bits_on_any_threads_and_after_a_kill() {
    // By then some have torn and others have not.
    gives_the_same_bits(&Place::new(), "run material-tests --size tiny", 0, 30);
}

#[test]
fn wet_hair_gives_the_same_bits_on_any_threads_and_after_a_kill() {
    // It begins in a pool.
    gives_the_same_bits(&Place::new(), "run pool-rise --size tiny --frames 8", 1, 5);
}

#[test]
fn wet_sand_gives_the_same_bits_on_any_threads_and_after_a_kill() {
    gives_the_same_bits(&Place::new(), "run wetting-front --size tiny --frames 8", 1, 5);
}

/// Water falls on sand with a box on it, in a tank.
const BEACH: &str = r#"
name = "beach"
shows = "Water, sand and a box."
simulation = { frames = 6, fps = 50, substeps = 4 }

[liquid]
material = "water"
spacing = "1 cm"
fill = [{ kind = "box", low = [-0.05, 0.03, -0.05], high = [0, 0.09, 0.05], velocity = [0, -0.5, 0] }]

[[solid]]
name = "tank"
shape = { kind = "tank", size = [0.1, 0.2, 0.1], wall = "2 cm" }

[[solid]]
name = "box"
shape = { kind = "box", size = [0.03, 0.03, 0.03] }
position = [0.025, 0.045, 0]
body = { density = 700 }

[[grains]]
name = "sand"
radius = "5 mm"
speed = 0.5
wetness = {}
fill = [{ kind = "box", low = [-0.05, 0, -0.05], high = [0.05, 0.03, 0.05] }]
"#;

#[test]
fn sand_water_and_a_body_give_the_same_bits_on_any_threads_and_after_a_kill() {
    let place = Place::new();
    std::fs::write(place.path("beach.toml"), BEACH).expect("the folder is there");
    gives_the_same_bits(&place, "run beach.toml", 0, 4);
    let last = &place.stats("t1")[6];
    assert!(last["water"]["grains"].as_f64().is_some_and(|water| water > 0.01), "water is in the sand: {last}");
    assert!(last["bodies"]["box"]["y"].as_f64().is_some_and(|y| (y - 0.045).abs() > 1e-4), "the box moves: {last}");
}

#[test]
fn another_seed_gives_other_bits() {
    let place = Place::new();
    place.drench("run tuft.toml --no-render --frames 1 --out a --quiet").exits(0);
    place.drench("run tuft.toml --no-render --frames 1 --out b --seed 7 --quiet").exits(0);
    assert!(place.frames("a") != place.frames("b"));
}

#[test]
fn a_killed_run_goes_on_with_the_same_bits() {
    let place = Place::new();
    let line = "run tuft.toml --no-render --frames 40 --quiet";
    place.drench(&format!("{line} --out whole")).exits(0);
    // At different moments: while building, after a frame without and after one with a checkpoint.
    for (run, moment) in [("early", "run.json"), ("middle", "frames/000005.drench"), ("late", "frames/000031.drench")] {
        let mut child = place.begin(&format!("{line} --out {run}"));
        wait_for(&place.path(run).join(moment));
        child.kill().unwrap();
        child.wait().unwrap();
        place.drench(&format!("{line} --out {run} --resume")).exits(0);
        assert!(place.frames("whole") == place.frames(run), "{run}");
        assert_eq!(place.stats_frames(run), (0..=40).collect::<Vec<_>>(), "{run}");
        assert_eq!(place.status(run), "finished");
    }
}

#[test]
fn a_run_killed_again_and_again_ends_with_the_same_bits() {
    let place = Place::new();
    let line = "run tuft.toml --no-render --frames 30 --quiet";
    place.drench(&format!("{line} --out whole")).exits(0);
    for last in [4, 9, 14, 22] {
        let mut child = place.begin(&format!("{line} --out other --resume"));
        wait_for(&place.path("other").join(format!("frames/{last:06}.drench")));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    place.drench(&format!("{line} --out other --resume")).exits(0);
    assert!(place.frames("whole") == place.frames("other"));
    assert_eq!(place.stats_frames("other"), (0..=30).collect::<Vec<_>>());
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_how_to_go_on_and_does() {
    let place = Place::new();
    let line = "run tuft.toml --no-render --frames 400 --set simulation.checkpoint_every=1000";
    let child = place.begin(&format!("{line} --out run"));
    wait_for(&place.path("run/frames/000002.drench"));
    place.shell(&format!("kill -INT {}", child.id())).exits(0);
    let ended = Ended::new(child.wait_with_output().unwrap()).exits(130);
    assert!(ended.err.contains("--resume") && ended.err.contains("--frames 400"), "{}", ended.err);
    assert_eq!(place.status("run"), "interrupted");
    let done = place.frames("run").len();
    assert!(done < 401);
    let resumed = place.drench(&format!("{line} --out run --resume --frames {}", done + 1));
    // Given twice, --frames is an argument error: the user edits the line instead.
    resumed.exits(2);
    let shorter = line.replace("400", &(done + 1).to_string());
    let resumed = place.drench(&format!("{shorter} --out run --resume")).exits(0);
    assert!(resumed.err.contains(&format!("going on after frame {}", done - 1)), "{}", resumed.err);
    assert_eq!(place.frames("run").len(), done + 2);
}

#[test]
fn a_finished_run_can_be_made_longer() {
    let place = Place::new();
    place.drench("run tuft.toml --no-render --frames 9 --out whole --quiet").exits(0);
    place.drench("run tuft.toml --no-render --frames 4 --out run --quiet").exits(0);
    place.drench("run tuft.toml --no-render --frames 9 --out run --resume --quiet").exits(0);
    assert!(place.frames("whole") == place.frames("run"));
}

#[test]
fn resuming_draws_the_pictures_that_are_missing() {
    let place = Place::new();
    place.drench("run tuft.toml --frames 4 --no-render --quiet").exits(0);
    place.drench("run tuft.toml --frames 4 --resume --quiet").exits(0);
    let pictures: BTreeSet<_> =
        fs::read_dir(place.path("runs/tuft/images")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(pictures.len(), 5);
    assert!(place.path("runs/tuft/movie.mp4").exists());
}

#[test]
fn another_scene_is_not_mixed_into_a_run() {
    let place = Place::new();
    place.drench("run tuft.toml --no-render --frames 2 --quiet").exits(0);
    let line = "run tuft.toml --no-render --frames 2 --set simulation.substeps=3 --resume --quiet";
    place.drench(line).exits(2).tells(&["substeps = 2", "substeps = 3", "--force"]);
    assert_eq!(place.frames("runs/tuft").len(), 3);
}

#[test]
fn a_run_is_not_overwritten_unless_forced() {
    let place = Place::new();
    place.drench("run tuft.toml --no-render --frames 1 --quiet").exits(0);
    place.drench("run tuft.toml --no-render --frames 2 --quiet").exits(2).tells(&["--force", "--resume"]);
    assert_eq!(place.frames("runs/tuft").len(), 2);
    place.drench("run tuft.toml --no-render --frames 2 --force --quiet").exits(0);
    assert_eq!(place.frames("runs/tuft").len(), 3);
}

#[test]
fn a_damaged_frame_is_computed_anew() {
    let place = Place::new();
    place.drench("run tuft.toml --no-render --out whole --quiet").exits(0);
    place.drench("run tuft.toml --no-render --out run --quiet").exits(0);
    let path = place.path("run/frames/000007.drench");
    let mut bytes = fs::read(&path).unwrap();
    bytes.truncate(100);
    fs::write(&path, &bytes).unwrap();
    let info: Value = serde_json::from_str(&place.drench("info run --json").exits(0).out).unwrap();
    assert_eq!(info["damaged"][0]["frame"], 7);
    place.drench("run tuft.toml --no-render --out run --resume").exits(0).tells(&["frame 7 is computed anew"]);
    assert!(place.frames("whole") == place.frames("run"));
}

#[test]
fn progress_as_json_parses_line_by_line() {
    let place = Place::new();
    let ended = place.drench("run tuft.toml --frames 3 --json").exits(0);
    let events: Vec<Value> = ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let named = |name: &str| events.iter().filter(|event| event["event"] == name).collect::<Vec<_>>();
    assert_eq!(named("start").len(), 1);
    let frames = named("frame");
    assert_eq!(frames.iter().map(|event| event["stats"]["frame"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(named("expectation")[0]["pass"], true);
    assert_eq!(events.last().unwrap()["event"], "end");
    assert_eq!(events.last().unwrap()["exit"], 0);
}

#[test]
fn a_failed_expectation_is_exit_code_1_and_keeps_the_frames() {
    let place = Place::new();
    let text = common::TUFT.replace("at_most = 0.1", "at_least = 100");
    fs::write(place.path("hopeless.toml"), text).unwrap();
    let ended = place.drench("run hopeless.toml --no-render --frames 2 --out run").exits(1);
    assert!(ended.out.contains("FAIL") && ended.out.contains("hair does not stretch"), "{}", ended.out);
    assert_eq!(place.frames("run").len(), 3);
}

#[test]
fn any_groom_can_be_moved_by_chain_shape_matching() {
    let place = Place::new();
    for (scene, groom) in [("bunny", "fur"), ("long-hair", "hair")] {
        let model = format!("--set groom.{groom}.strand.model=csm");
        place.drench(&format!("run {scene} --size tiny --frames 4 --no-render --quiet {model} --out {scene}")).exits(0);
        place.drench(&format!("run {scene} --size tiny --frames 4 --no-render --quiet --out {scene}-own")).exits(0);
        // Exact lengths are its mark; that it is another solver, the bits tell.
        let strain = |run: &str| place.stats(run).last().unwrap()["strain"]["max"].as_f64().unwrap();
        assert!(strain(scene) < 1e-5, "{scene}: {}", strain(scene));
        assert!(place.frames(scene) != place.frames(&format!("{scene}-own")), "{scene}");
    }
}

#[test]
fn small_solids_beside_coarse_strands_and_stiffness_indices_are_told() {
    let place = Place::new();
    let pin = "\n[[solid]]\nname = \"pin\"\nposition = [0, 0.2, 0]\nshape = { kind = \"cylinder\", radius = \"1 mm\", height = \"30 cm\" }\n";
    fs::write(place.path("pin.toml"), format!("{}{pin}", common::TUFT)).unwrap();
    let words = "fur: `pin` is 2.00 mm wide and may pass between vertices that are 6.00 mm apart";
    assert!(place.drench("check pin.toml").exits(0).out.contains(words));
    let ended = place.drench("run pin.toml --no-render --frames 1 --out pin").exits(0);
    assert!(ended.err.contains(words) || ended.out.contains(words), "{} {}", ended.out, ended.err);
    assert!(!place.drench("check tuft.toml").exits(0).out.contains("may pass"));

    let stiff = common::TUFT
        .replace("vertices = 6", "vertices = 6\nstrand = { model = \"csm\" }\ncsm = { stiffness_index = \"6 mm\" }");
    fs::write(place.path("stiff.toml"), stiff).unwrap();
    let out = place.drench("check stiff.toml").exits(0).out;
    assert!(
        out.contains("stiffness index 6.000 mm: half-width") && out.contains("segments of 6.000 mm, hangs at "),
        "{out}"
    );
}
