//! What docs/guide.md tells its readers to type works.

use drench_scene::{Size, Source, load};
use std::path::Path;

/// The blocks of the guide that are marked as `language`.
fn blocks(language: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide.md");
    let page = std::fs::read_to_string(path).expect("the guide is there").replace("\r\n", "\n");
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).filter_map(|rest| Some(rest.split_once("```")?.0.to_owned())).collect()
}

#[test]
fn the_scene_from_scratch_is_sound_after_every_block() {
    let mut text = String::new();
    for block in blocks("toml") {
        text.push_str(&block);
        for &size in Size::ALL {
            let source = Source::Text { name: "cushion.toml".into(), text: text.clone(), directory: "".into() };
            load(source, Some(size), &[]).unwrap_or_else(|problems| panic!("{problems}\nafter\n{block}"));
        }
    }
    assert!(text.len() > 2000);
}

#[test]
fn the_mistakes_are_reported_as_the_guide_says() {
    let texts = blocks("text");
    let scene = texts.iter().find(|text| text.starts_with("name = \"oops\"")).expect("the guide shows mistakes");
    let shown = texts.iter().find(|text| text.starts_with("error: simulation")).expect("and what is said of them");
    let source = Source::Text { name: "oops.toml".into(), text: scene.clone(), directory: "".into() };
    let problems = load(source, None, &[]).unwrap_err().to_string();
    assert_eq!(problems.trim(), shown.trim());
}
