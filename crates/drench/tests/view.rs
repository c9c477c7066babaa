//! `drench view` without a browser: what it refuses, and that it ends when asked to.
#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use common::Place;
use std::fs;
use std::net::TcpListener;

#[test]
fn what_cannot_be_shown_is_refused_with_the_fix() {
    let place = Place::new();
    place.drench("run tuft.toml --frames 2 --no-render --quiet").exits(0);
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    let number = port.local_addr().unwrap().port();
    for (line, expected) in [
        ("view no-such-thing --no-open".to_owned(), "no such file"),
        ("view . --no-open".to_owned(), "run.json is missing"),
        ("view runs/tuft runs/none --no-open".to_owned(), "run.json is missing"),
        ("view runs/tuft --no-open --size tiny".to_owned(), "--size is for scenes"),
        ("view tuft.toml --no-open --out runs/tuft".to_owned(), "already holds a run"),
        ("view tuft.toml --no-open --set groom.fur.length=-1".to_owned(), "out of range"),
        (format!("view runs/tuft --no-open --port {number}"), "is in use"),
        ("view runs/tuft --no-open --port 0".to_owned(), "0"),
    ] {
        let ended = place.drench(&line).exits(2);
        assert!(ended.err.contains(expected), "{line}: {}", ended.err);
    }
    let model = place.path("runs/tuft/model.drench");
    let mut content = fs::read(&model).unwrap();
    content[8] = 9;
    fs::write(&model, content).unwrap();
    assert!(place.drench("view runs/tuft --no-open").exits(2).err.contains("format version 9"));
}

#[test]
fn a_scene_is_simulated_into_a_folder_that_is_kept() {
    let place = Place::new();
    for folder in ["runs/tuft-live", "runs/tuft-live-2"] {
        let viewing = place.view("tuft.toml");
        let begun = std::time::Instant::now();
        while !place.path(folder).join("frames/000008.drench").exists() || place.status(folder) != "finished" {
            assert!(begun.elapsed().as_secs() < 60);
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        let ended = viewing.end().exits(0);
        assert!(ended.out.contains(folder), "{}", ended.out);
    }
    // The same frames as without the viewer.
    place.drench("run tuft.toml --no-render --quiet").exits(0);
    assert_eq!(place.frames("runs/tuft"), place.frames("runs/tuft-live"));
}

#[test]
fn a_missing_browser_is_told_and_does_no_harm() {
    let place = Place::new();
    place.drench("run tuft.toml --frames 2 --no-render --quiet").exits(0);
    let ended = place.shell("PATH= \"$DRENCH\" view runs/tuft & sleep 2; kill -INT $!; wait $!").exits(0);
    assert!(ended.err.contains("no browser could be started"), "{}", ended.err);
    assert!(ended.out.contains("http://127.0.0.1:"), "{}", ended.out);
}
