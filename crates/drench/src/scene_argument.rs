//! From the arguments to a validated scene.

use crate::cli::{SceneArguments, SizeArgument};
use crate::failure::Failure;
use drench_scene::{Scene, Size, Source};
use drench_sim::SimError;
use std::path::{Path, PathBuf};

/// Loads the scene that the arguments name, with size and overrides applied; `further` overrides come last.
pub fn load(arguments: &SceneArguments, further: &[(String, String)]) -> Result<Scene, Failure> {
    let overrides: Vec<_> = arguments.set.iter().chain(further).cloned().collect();
    Ok(drench_scene::load(Source::named(&arguments.scene), arguments.size.map(size), &overrides)?)
}

/// Why a scene that could be read could not be built, shown where the scene says it.
pub fn refused(arguments: &SceneArguments, error: SimError) -> Failure {
    let steps = error.steps();
    if steps.is_empty() {
        return error.into();
    }
    let (source, size) = (Source::named(&arguments.scene), arguments.size.map(size));
    Failure::Scene(drench_scene::point_out(&source, size, &arguments.set, &steps, &error.to_string()))
}

/// The folder that relative paths of the scene start from.
pub fn folder(arguments: &SceneArguments) -> PathBuf {
    match Source::named(&arguments.scene) {
        Source::Path(path) => {
            let parent = path.parent().unwrap_or(Path::new("")).to_owned();
            std::path::absolute(&parent).unwrap_or(parent)
        }
        _ => PathBuf::new(),
    }
}

/// The scene's own word for a size.
pub fn size(argument: SizeArgument) -> Size {
    match argument {
        SizeArgument::Tiny => Size::Tiny,
        SizeArgument::Preview => Size::Preview,
        SizeArgument::Full => Size::Full,
    }
}
