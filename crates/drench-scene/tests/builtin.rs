//! The scenes that come with Drench: every size loads, says what it shows and expects something of itself.

use drench_scene::{Roots, Scene, Size, Source, builtin, load};

fn load_builtin(name: &str, size: Size) -> Scene {
    load(Source::named(name), Some(size), &[]).unwrap_or_else(|problems| panic!("{name} {size}:\n{problems}"))
}

fn strands(scene: &Scene) -> u64 {
    let count = |roots| match roots {
        Roots::Count(count) => count,
        Roots::At(points) => points.len() as u64,
        Roots::Import(import) => panic!("a count is expected, not the file {}", import.path.display()),
        Roots::Spacing(distance) => panic!("a count is expected, not a spacing of {distance}"),
    };
    scene.grooms.iter().map(|groom| count(groom.roots())).sum()
}

#[test]
fn every_size_of_every_scene_loads() {
    for builtin in builtin::all() {
        for &size in Size::ALL {
            let scene = load_builtin(builtin.name, size);
            assert_eq!(scene.name, builtin.name);
            assert!(!scene.shows.is_empty());
            assert!(!scene.cameras.is_empty() && !scene.expect.is_empty());
            assert!(scene.expect.iter().all(|expect| !expect.because.is_empty()));
        }
    }
}

#[test]
fn full_sizes_are_those_of_the_source_document() {
    for (name, expected, vertices) in [("bunny", 250_000, 5), ("long-hair", 90_000, 35), ("rope", 3, 30)] {
        let scene = load_builtin(name, Size::Full);
        assert_eq!((strands(&scene), scene.grooms[0].vertices), (expected, vertices), "{name}");
    }
    let hairstyles = load_builtin("hairstyles", Size::Full);
    assert!(hairstyles.grooms.iter().all(|groom| groom.roots() == Roots::Count(20_000)));
    for builtin in builtin::all() {
        assert!(strands(&load_builtin(builtin.name, Size::Tiny)) < 2_000);
    }
}

#[test]
fn the_bunny_lands_where_it_took_off_from_and_never_jumps() {
    let scene = load_builtin("bunny", Size::Full);
    let start = scene.pose_of(0, 0.0);
    let mut before = start;
    for i in 1..=4000 {
        let pose = scene.pose_of(0, f64::from(i) * 1e-3);
        assert!(pose.position.distance(before.position) < 5e-3, "{} ms", i);
        assert!(pose.position.y >= start.position.y - 1e-12);
        before = pose;
    }
    assert!((before.position.z - start.position.z - 0.2).abs() < 1e-12);
    assert_eq!(before.position.y, start.position.y);
}

#[test]
fn written_scenes_load_to_equal_scenes() {
    for builtin in builtin::all() {
        for &size in Size::ALL {
            let scene = load_builtin(builtin.name, size);
            let text = scene.to_toml();
            let again = Source::Text { name: "written".into(), text: text.clone(), directory: "".into() };
            let again = load(again, None, &[]).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
            assert_eq!(scene, again);
            assert_eq!(text, again.to_toml());
        }
    }
}
