//! The viewer in a real browser. `cargo xtask test` runs these, with Chromium where there is none.
#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use common::browser::Browser;
use common::{Place, Viewing};
use image::RgbImage;
use std::fs;

/// Pixels that are of hair or sand: warmer than the ground, which is blue to grey.
fn warm(picture: &RgbImage) -> usize {
    picture.pixels().filter(|pixel| i32::from(pixel[0]) > i32::from(pixel[2]) + 12).count()
}

/// Pixels in which two pictures differ clearly.
fn differing(one: &RgbImage, other: &RgbImage) -> usize {
    let far = |(a, b): (&image::Rgb<u8>, &image::Rgb<u8>)| (0..3).any(|k| a[k].abs_diff(b[k]) > 24);
    one.pixels().zip(other.pixels()).filter(|pair| far(*pair)).count()
}

/// A page that shows its first frame.
fn open(viewing: &Viewing) -> Browser {
    let mut browser = Browser::start();
    browser.open(&viewing.address);
    browser.until("window.drench?.page.ready");
    browser
}

#[test]
#[ignore = "needs Chromium: `cargo xtask test` runs it"]
fn a_run_is_drawn_scrubbed_picked_coloured_and_compared() {
    let place = Place::new();
    place.drench("run tuft.toml --no-render --quiet").exits(0);
    place.drench("run tuft.toml --no-render --quiet --out runs/long --set groom.fur.length=0.05").exits(0);
    let viewing = place.view("runs/tuft");
    let mut browser = open(&viewing);

    // A frame is drawn.
    let first = browser.picture();
    assert!(warm(&first) > 4_000, "{} warm pixels", warm(&first));
    assert_eq!(browser.value("document.getElementById('name').textContent"), "tuft");
    assert_eq!(browser.value("document.getElementById('status').textContent"), "finished");

    // Scrub with the mouse to the end, then with keys.
    let track = "document.getElementById('track').getBoundingClientRect()";
    let x = browser.value(&format!("{track}.right - 9")).as_f64().unwrap();
    let y = browser.value(&format!("{track}.top + 20")).as_f64().unwrap();
    browser.click(x, y);
    browser.until("drench.page.frame === 8 && drench.stage.worlds[0].frame.frame === 8");
    assert!(differing(&first, &browser.picture()) > 1_000);
    browser.key("ArrowLeft");
    browser.until("drench.stage.worlds[0].frame.frame === 7");
    browser.key("Home");
    browser.until("drench.stage.worlds[0].frame.frame === 0");
    assert!(differing(&first, &browser.picture()) < 200, "the same frame looks the same");
    browser.key(" ");
    browser.until("drench.page.playing && drench.stage.worlds[0].frame.frame > 2");
    browser.key(" ");
    browser.key("Home");
    browser.until("!drench.page.playing && drench.stage.worlds[0].frame.frame === 0");

    // The graphs show what the statistics hold.
    assert_eq!(browser.value("document.querySelectorAll('.graph').length"), 2);
    assert!(browser.value("document.getElementById('graphs').textContent").as_str().unwrap().contains("largest speed"));

    // Click on a strand and read its values.
    let at = browser.value(
        "(() => { const box = document.getElementById('picture').getBoundingClientRect(); \
         for (let y = 0.3; y < 0.8; y += 0.02) for (let x = 0.4; x < 0.6; x += 0.01) \
         if (drench.stage.pick(x * box.width, y * box.height)) return [box.left + x * box.width, box.top + y * box.height]; })()",
    );
    browser.click(at[0].as_f64().unwrap(), at[1].as_f64().unwrap());
    browser.until("!document.getElementById('picked').hidden");
    let card = browser.value("document.getElementById('picked').textContent");
    let card = card.as_str().unwrap();
    assert!(
        card.contains("fur:") && card.contains("strand") && card.contains("speed") && card.contains("length"),
        "{card}"
    );
    browser.key("Escape");
    assert_eq!(browser.value("document.getElementById('picked').hidden"), true);

    // Colours show values, with a legend.
    browser.choose("colour", "id");
    browser.until("!document.getElementById('legend').hidden && drench.stage.worlds[0].frame.strands[0].arrays.value");
    assert!(differing(&first, &browser.picture()) > 3_000);
    browser.choose("colour", "speed");
    browser.until("document.getElementById('legend').textContent.includes('m/s')");
    browser.choose("colour", "");

    // A body is hidden and shown.
    browser.until("document.getElementById('legend').hidden");
    browser.value("document.querySelector('#bodies input').click()");
    assert!(differing(&first, &browser.picture()) > 1_000);
    browser.value("document.querySelector('#bodies input').click()");
    assert!(differing(&first, &browser.picture()) < 200);

    // Less is shown on request, and it is said.
    browser.choose("detail", "100000");
    browser.value("drench.page.budget = 60, drench.colourBy('')");
    browser.until("!document.getElementById('badge').hidden");
    assert!(browser.value("document.getElementById('badge').textContent").as_str().unwrap().contains("of 60 strands"));
    browser.value("drench.page.budget = 1e9, drench.colourBy('')");
    browser.until("document.getElementById('badge').hidden");

    // Side by side with the run whose hair is longer.
    let other =
        browser.value("fetch('api/others').then((r) => r.json()).then((list) => list.find((f) => f.endsWith('long')))");
    browser.value(&format!("drench.compareWith({other})"));
    browser.until("drench.stage.compare && drench.stage.worlds[1].frame");
    let both = browser.picture();
    let half = both.width() / 2;
    let side = |x: u32| warm(&image::imageops::crop_imm(&both, x, 0, half, both.height()).to_image());
    assert!(side(0) > 2_000 && side(half) > side(0) + 300, "{} {}", side(0), side(half));
    assert_eq!(browser.complaints, Vec::<String>::new());

    // A frame that was damaged since is named, and the others can still be seen.
    fs::write(place.path("runs/tuft/frames/000005.drench"), "no frame").unwrap();
    browser.value("drench.page.stores[0].frames.clear(), drench.go(5)");
    browser.until("document.getElementById('notice').textContent.includes('damaged')");
    browser.value("drench.go(6)");
    browser.until("drench.stage.worlds[0].frame.frame === 6 && document.getElementById('notice').hidden");
}

#[test]
#[ignore = "needs Chromium: `cargo xtask test` runs it"]
fn a_scene_is_simulated_changed_and_rerun() {
    let place = Place::new();
    let viewing = place.view("tuft.toml");
    let mut browser = open(&viewing);
    browser.until("drench.page.live.state === 'finished' && drench.page.runs[0].frames.last === 8");
    browser.value("drench.go(8)");
    browser.until("drench.stage.worlds[0].frame.frame === 8");
    let before = browser.picture();

    // A slider of the schema, with range and meaning; then the buttons.
    let row = "document.querySelector('[data-path=\"groom.fur.length\"]')";
    assert!(browser.value(&format!("{row}.title")).as_str().unwrap().to_lowercase().contains("length"));
    assert_eq!(browser.value(&format!("{row}.querySelector('em').textContent")), "m");
    browser.value(&format!("{{ const slider = {row}.querySelector('input[type=range]'); slider.value = 620; slider.dispatchEvent(new Event('input')); }}"));
    let length: f64 = browser
        .value("drench.page.live && Number(document.querySelector('[data-path=\"groom.fur.length\"] input').value)")
        .as_f64()
        .unwrap();
    assert!(length > 0.03, "{length}");
    browser.value("document.getElementById('rerun-start').click()");
    browser.until("drench.page.live.set['groom.fur.length'] && drench.page.live.state === 'finished'");
    browser.until("drench.page.runs[0].frames?.last === 8");
    browser.value("drench.go(8, true)");
    browser.until("drench.stage.worlds[0].frame?.frame === 8");
    assert!(differing(&before, &browser.picture()) > 500);

    // From a frame: the frames before the checkpoint stay as they are.
    let kept = fs::read(place.path("runs/tuft-live/frames/000005.drench")).unwrap();
    let replaced = fs::read(place.path("runs/tuft-live/frames/000008.drench")).unwrap();
    browser.value("drench.go(7)");
    browser.until("drench.page.frame === 7");
    let set = "{ ...drench.page.live.set, 'air.drag': '30' }";
    browser.value(&format!("drench.rerun({set}, 7, false)"));
    browser.until("drench.page.live.set['air.drag'] && drench.page.live.state === 'finished' && drench.page.runs[0].frames?.last === 8");
    assert_eq!(fs::read(place.path("runs/tuft-live/frames/000005.drench")).unwrap(), kept);
    assert_ne!(fs::read(place.path("runs/tuft-live/frames/000008.drench")).unwrap(), replaced);

    // From the very beginning, past the place where the scene was changed before.
    let [start, first] = ["0", "1"].map(|k| place.path(&format!("runs/tuft-live/frames/00000{k}.drench")));
    let (kept, replaced) = (fs::read(&start).unwrap(), fs::read(&first).unwrap());
    browser.value("drench.rerun({ ...drench.page.live.set, 'air.drag': '5' }, 2, false)");
    browser.until("drench.page.live.set['air.drag'] === '5' && drench.page.live.state === 'finished' && drench.page.runs[0].frames?.last === 8");
    assert_eq!(fs::read(&start).unwrap(), kept);
    assert_ne!(fs::read(&first).unwrap(), replaced);

    // A value that makes no sense is refused in words, and nothing is lost.
    assert_eq!(browser.complaints, Vec::<String>::new());
    browser.value("drench.rerun({ 'groom.fur.length': '-3' }, null, false)");
    browser.until("document.getElementById('notice').textContent.includes('out of range')");
    assert_eq!(place.frames("runs/tuft-live").len(), 9);
    viewing.end().exits(0);
    assert!(place.drench("info runs/tuft-live").exits(0).out.contains("finished"));
}

#[test]
#[ignore = "needs Chromium: `cargo xtask test` runs it"]
fn voxels_of_wet_hair_are_shown_and_picked_and_drops_hang_at_its_tips() {
    let place = Place::new();
    let dry = fs::read_to_string(place.path("tuft.toml")).unwrap();
    let wet = "vertices = 6\nchildren = 40\nwet = { wetness = 1, dampness = 1, between = 3 }";
    fs::write(place.path("wet.toml"), dry.replace("vertices = 6", wet)).unwrap();
    place.drench("run wet.toml --frames 3 --no-render --quiet --out runs/wet").exits(0);
    let viewing = place.view("runs/wet");
    let mut browser = open(&viewing);
    let plain = browser.picture();

    // The porous grid: hidden at first, then a layer that can be read.
    assert_eq!(browser.value("drench.stage.worlds[0].frame.porous ?? 'none'"), "none");
    browser.key("v");
    browser.until("drench.stage.worlds[0].frame.porous?.count > 50");
    assert_eq!(browser.value("document.getElementById('porous').value"), "1");
    let glass = browser.picture();
    assert!(differing(&plain, &glass) > 2_000, "{}", differing(&plain, &glass));
    let at = browser.value(
        "(() => { const box = document.getElementById('picture').getBoundingClientRect(); \
         for (let y = 0.2; y < 0.8; y += 0.02) for (let x = 0.3; x < 0.7; x += 0.01) \
         if (drench.stage.pick(x * box.width, y * box.height)?.kind === 'voxels') return [box.left + x * box.width, box.top + y * box.height]; })()",
    );
    browser.click(at[0].as_f64().unwrap(), at[1].as_f64().unwrap());
    browser.until("!document.getElementById('picked').hidden");
    let card = browser.value("document.getElementById('picked').textContent");
    let card = card.as_str().unwrap();
    for told in ["voxel", "saturation", "length of strands", "water inside fibres", "fits between hairs", "edge"] {
        assert!(card.contains(told), "{told}: {card}");
    }
    assert!(differing(&glass, &browser.picture()) > 20, "the voxel lights up");
    // It is the same place in the next frame, if there still is hair.
    browser.key("ArrowRight");
    browser.until("drench.stage.worlds[0].frame.frame === 1 && (!drench.page.pick || drench.page.pick.centre.every((x, k) => x === drench.stage.worlds[0].frame.porous.arrays.positions[3 * drench.page.pick.item + k]))");
    browser.key("Home");
    browser.until("drench.stage.worlds[0].frame.frame === 0");
    browser.key("Escape");
    browser.key("v");
    browser.until("!drench.stage.worlds[0].frame.porous");
    assert!(differing(&plain, &browser.picture()) < 200);

    // Drops at the tips are part of the liquid's surface, even where no other liquid is.
    browser.choose("surface", "1");
    browser.until("drench.stage.worlds[0].frame.surface?.triangles > 0 && drench.stage.worlds[0].bodies.get('surface').object.visible");
    assert!(differing(&plain, &browser.picture()) > 100);
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
#[ignore = "needs Chromium: `cargo xtask test` runs it"]
fn liquid_and_grains_are_drawn_and_picked() {
    let place = Place::new();
    // All that is drawn is there by then, but not the hole that the scene expects at its end.
    place.drench("run faucet --size tiny --frames 12 --no-render --quiet --out runs/a").exits(1);
    let viewing = place.view("runs/a");
    let mut browser = open(&viewing);
    browser.value("drench.go(12)");
    browser.until("drench.stage.worlds[0].frame.frame === 12");
    let natural = browser.picture();
    assert!(warm(&natural) > 2_000);
    let hit = browser.value("(() => { const { width, height } = document.getElementById('picture').getBoundingClientRect(); for (let y = 0.9; y > 0.1; y -= 0.02) { const hit = drench.pick(0.5 * width, y * height); if (hit) return hit; } })()");
    assert_eq!(hit["kind"], "particles");
    browser.until("document.getElementById('picked').textContent.includes('radius')");
    browser.key("Escape");
    browser.choose("surface", "1");
    browser.until("drench.stage.worlds[0].frame.surface?.triangles > 0");
    browser.choose("colour", "speed");
    browser.until("drench.stage.worlds[0].frame.particles[0].arrays.value");
    assert!(differing(&natural, &browser.picture()) > 1_000);
    assert_eq!(browser.complaints, Vec::<String>::new());
}
