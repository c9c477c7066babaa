//! Every built-in scene, in its smallest size, comes out as it says it does.

mod common;

use common::Place;
use serde_json::Value;
use std::sync::Mutex;
use std::thread;

#[test]
fn every_built_in_scene_meets_its_own_expectations() {
    let place = Place::new();
    let list: Value = serde_json::from_str(&place.drench("scenes --json").exits(0).out).unwrap();
    let waiting = Mutex::new(list.as_array().unwrap().iter().map(|scene| scene["name"].as_str().unwrap()));
    let next = || waiting.lock().unwrap().next();
    // Small scenes do not fill several threads; several scenes do.
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, Into::into) {
            scope.spawn(|| {
                while let Some(name) = next() {
                    comes_out(&place, name);
                }
            });
        }
    });
}

fn comes_out(place: &Place, name: &str) {
    place.drench(&format!("run {name} --size tiny --no-render --threads 1 --out {name}")).exits(0);
    for frame in place.stats(name) {
        let error = frame["water"]["error"].as_f64().unwrap_or(0.0);
        assert!(error.abs() <= 1e-9, "{name}: water error {error} in frame {}", frame["frame"]);
    }
}

#[test]
fn scenes_of_hair_notice_that_what_they_show_is_gone() {
    let place = Place::new();
    let limp = |grooms: &[&str]| -> String {
        grooms.iter().map(|groom| format!(" --set groom.{groom}.csm.half_width=0")).collect::<String>()
    };
    let cases = [
        ("wind-styles", "bodies.curly.straightness", limp(&["straight", "curly", "mixed"])),
        ("wind-styles", "bodies.curly.centre.x", " --set air.drag=0".to_owned()),
        ("full-head", "bodies.hair.centre.x", " --set air.drag=0".to_owned()),
        ("drape", "bodies.w5.height", " --set groom.w5.csm.half_width=3".to_owned()),
        ("shower", "bodies.hair.clump_size", " --set wetting.pull=1e-9".to_owned()),
        ("lock", "bodies.dripping.drips", " --set wetting.delay=10".to_owned()),
        ("repellent", "bodies.oiled.content", " --set groom.oiled.wet.repellent=0".to_owned()),
        ("repellent", "bodies.plain.content", " --set groom.plain.wet.repellent=1".to_owned()),
        ("wet-to-wavy", "bodies.hair.curvature", " --set groom.hair.wet.change=0".to_owned()),
        ("curly-to-straight", "bodies.hair.straightness", " --set groom.hair.wet.change=0".to_owned()),
        ("mop", "bodies.mop.clump_size", " --set wetting.reach=0".to_owned()),
    ];
    for (scene, figure, change) in cases {
        is_noticed(&place, scene, figure, &change);
    }
}

#[test]
fn scenes_of_sand_notice_that_what_they_show_is_gone() {
    let place = Place::new();
    is_noticed(&place, "wetting-front", "bodies.deep.wet.bottom", " --set grains.deep.wetness.downward=0");
    is_noticed(&place, "repose", "bodies.rough.slope", " --set grains.rough.friction=0.1");
}

/// A scene with this change must fail what it expects of this figure.
fn is_noticed(place: &Place, scene: &str, figure: &str, change: &str) {
    let line = format!("run {scene} --size tiny --no-render --force --out {scene}{change}");
    let ended = place.drench(&line).exits(1);
    let noticed = ended.out.lines().any(|line| line.starts_with("FAIL") && line.contains(figure));
    assert!(noticed, "{line}: {}", ended.out);
}
