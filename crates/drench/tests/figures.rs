//! `drench plot`, `report` and `sweep`: what they write, and what they make of runs that are not as they should be.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Place, wait_for};
use serde_json::Value;
use std::fs;

#[test]
fn charts_and_a_page_are_made_of_a_run_and_of_one_that_is_not_finished() {
    let place = Place::new();
    place.drench("run tuft.toml --quiet").exits(0);
    let told = place.drench("plot runs/tuft").exits(0);
    let written: Vec<&str> = told.out.lines().collect();
    assert_eq!(written, ["stages.svg", "counts.svg", "strain.svg"].map(|name| format!("runs/tuft/plots/{name}")));
    let svg = fs::read_to_string(place.path("runs/tuft/plots/strain.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("strain [%]") && svg.contains("simulated time [s]"));
    place.drench("plot runs/tuft --out elsewhere/deep").exits(0);
    assert!(place.path("elsewhere/deep/stages.svg").exists());

    place.drench("report runs/tuft").exits(0);
    let page = fs::read_to_string(place.path("runs/tuft/report.html")).unwrap();
    for part in ["data:video/mp4;base64,", "data:image/jpeg;base64,", "<svg", "hair does not stretch", "[[groom]]"] {
        assert!(page.contains(part), "{part}");
    }
    let outside = |link: &str| page.contains(&format!("src=\"{link}")) || page.contains(&format!("href=\"{link}"));
    assert!(!outside("http") && !outside("/") && !outside("runs"), "the page needs nothing else");

    // Interrupted, with a line that was being written, and a picture that is damaged.
    let record = fs::read_to_string(place.path("runs/tuft/run.json")).unwrap();
    fs::write(place.path("runs/tuft/run.json"), record.replace("\"finished\"", "\"running\"")).unwrap();
    let stats = fs::read_to_string(place.path("runs/tuft/stats.jsonl")).unwrap();
    fs::write(place.path("runs/tuft/stats.jsonl"), &stats[..stats.len() - 20]).unwrap();
    fs::write(place.path("runs/tuft/images/000000.png"), b"no picture").unwrap();
    place.drench("plot runs/tuft").exits(0);
    let told = place.drench("report runs/tuft --out page.html --json").exits(0);
    assert!(told.err.contains("000000.png is left out"), "{}", told.err);
    let told: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(told["report"], "page.html");
    assert!(fs::read_to_string(place.path("page.html")).unwrap().contains("running: frame 7 of 8"));
}

#[test]
fn folders_without_a_run_or_without_figures_are_refused() {
    let place = Place::new();
    place.drench("run tuft.toml --no-render --quiet").exits(0);
    for command in ["plot", "report"] {
        let told = place.drench(&format!("{command} nowhere")).exits(2);
        assert!(told.err.contains("drench run"), "{}", told.err);
    }
    fs::write(place.path("runs/tuft/stats.jsonl"), "").unwrap();
    for command in ["plot", "report"] {
        let told = place.drench(&format!("{command} runs/tuft")).exits(2);
        assert!(told.err.contains("holds no figures yet"), "{}", told.err);
    }
    fs::write(place.path("runs/tuft/run.json"), "{").unwrap();
    place.drench("plot runs/tuft").exits(2);
    fs::write(place.path("in-the-way"), "").unwrap();
    place.drench("run tuft.toml --no-render --quiet --force").exits(0);
    place.drench("plot runs/tuft --out in-the-way/plots").exits(4);
}

const SWEEP: &str = "sweep tuft.toml --vary simulation.substeps=2,3 --vary groom.fur.length=3cm,4cm --out all";

#[test]
fn a_sweep_runs_all_combinations_and_skips_what_is_finished() {
    let place = Place::new();
    let told = place.drench(SWEEP).exits(0);
    let runs = ["substeps=2+length=3cm", "substeps=2+length=4cm", "substeps=3+length=3cm", "substeps=3+length=4cm"];
    for run in runs {
        assert_eq!(place.status(&format!("all/{run}")), "finished");
    }
    assert!(told.out.contains("run 4 of 4: substeps=3, length=4cm") && told.out.contains("contact-sheet.png"));
    let csv = fs::read_to_string(place.path("all/sweep.csv")).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 5, "{csv}");
    assert!(lines[0].starts_with("simulation.substeps,groom.fur.length,folder,status,"), "{csv}");
    assert!(lines[3].starts_with("3,3cm,substeps=3+length=3cm,finished,"), "{csv}");
    let sheet = image::open(place.path("all/contact-sheet.png")).unwrap();
    assert!(sheet.width() > 2 * 360 && sheet.height() > 2 * 270, "two rows of two");

    // One was interrupted, one never began.
    let record = place.path("all").join(runs[1]).join("run.json");
    let text = fs::read_to_string(&record).unwrap();
    fs::write(&record, text.replace("\"finished\"", "\"interrupted\"")).unwrap();
    fs::remove_dir_all(place.path("all").join(runs[2])).unwrap();
    let before = fs::metadata(place.path("all").join(runs[0]).join("movie.mp4")).unwrap().modified().unwrap();
    let told = place.drench(SWEEP).exits(0);
    assert_eq!(told.out.matches("is finished").count(), 2, "{}", told.out);
    assert_eq!(fs::metadata(place.path("all").join(runs[0]).join("movie.mp4")).unwrap().modified().unwrap(), before);
    for run in runs {
        assert_eq!(place.status(&format!("all/{run}")), "finished");
    }

    // Another scene in the same folders is an error, before anything runs.
    let told = place.drench(&format!("{SWEEP} --set groom.fur.strands=30")).exits(2);
    assert!(told.err.contains("its scene was another"), "{}", told.err);
}

#[test]
fn bad_keys_and_values_are_refused_before_anything_runs() {
    let place = Place::new();
    for (line, what) in [
        ("--vary simulation.substep=2,3", "did you mean `substeps`"),
        ("--vary simulation.substeps=2,many", "substeps"),
        ("--vary simulation.substeps=2 --vary simulation.substeps=3", "varied twice"),
        ("--vary simulation.substeps=2,2", "twice"),
    ] {
        let told = place.drench(&format!("sweep tuft.toml --out all {line}")).exits(2);
        assert!(told.err.contains(what), "{}", told.err);
        assert!(!place.path("all").exists(), "{line}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_sweep_goes_on_with_the_same_command() {
    let place = Place::new();
    let line = "sweep tuft.toml --vary simulation.substeps=2,40 --frames 400 --no-render --quiet --out all";
    let mut child = place.begin(line);
    wait_for(&place.path("all/substeps=40/frames/000003.drench"));
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(
        (place.status("all/substeps=2"), place.status("all/substeps=40")),
        ("finished".into(), "interrupted".into())
    );
    assert!(!place.path("all/sweep.csv").exists());
    place.drench(line).exits(0);
    assert_eq!(place.stats_frames("all/substeps=40").len(), 401);
    assert!(place.path("all/sweep.csv").exists());
}
