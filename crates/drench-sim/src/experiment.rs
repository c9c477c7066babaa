//! Scenes that benches and checks write for themselves.

use drench_scene::{Scene, Source};
use std::path::PathBuf;

/// The scene of a sound text.
pub(crate) fn scene_of(text: String) -> Scene {
    let source = Source::Text { name: "experiment".to_owned(), text, directory: PathBuf::new() };
    drench_scene::load(source, None, &[]).expect("scenes of benches and checks are sound")
}
