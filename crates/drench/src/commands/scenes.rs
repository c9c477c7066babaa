//! `drench scenes`: the scenes that come with Drench.

use crate::cli::ScenesArguments;
use crate::failure::Failure;
use crate::text;
use drench_scene::{Scene, Size, Source, builtin};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

/// Lists the built-in scenes, or prints the file of one.
pub fn scenes(arguments: &ScenesArguments) -> Result<(), Failure> {
    if let Some(name) = &arguments.name {
        // Loading tells an unknown name, with the nearest known one.
        let Some(scene) = builtin::find(name) else { return loaded(name, Size::Preview).map(|_| ()) };
        text::line(scene.text.trim_end());
        return Ok(());
    }
    if arguments.json {
        // Counting means building meshes: all scenes and sizes at once.
        let list: Result<Vec<Value>, Failure> =
            builtin::all().par_iter().map(|scene| description(scene.name)).collect();
        text::json(&Value::Array(list?));
        return Ok(());
    }
    let names = || builtin::all().iter().map(|scene| scene.name);
    let indent = names().map(str::len).max().unwrap_or(0) + 2;
    for name in names() {
        let scene = loaded(name, Size::Preview)?;
        text::line(&format!("{name:<indent$}{}", text::wrapped(&scene.shows, indent)));
        if !scene.figure.is_empty() {
            text::line(&format!("{:<indent$}{}", "", text::wrapped(&scene.figure, indent)));
        }
        text::line("");
    }
    text::line("drench run NAME --size tiny|preview|full   simulates one and makes a movie");
    text::line("drench scenes NAME > my.toml               prints one, ready to be edited");
    Ok(())
}

fn loaded(name: &str, size: Size) -> Result<Scene, Failure> {
    Ok(drench_scene::load(Source::Builtin(name.to_owned()), Some(size), &[])?)
}

fn description(name: &str) -> Result<Value, Failure> {
    let scene = loaded(name, Size::Preview)?;
    let bodies: Vec<&str> = scene
        .solids
        .iter()
        .map(|solid| &solid.name)
        .chain(scene.grooms.iter().map(|groom| &groom.name))
        .chain(scene.cords.iter().map(|cord| &cord.name))
        .chain(scene.grains.iter().map(|grains| &grains.name))
        .map(String::as_str)
        .chain(scene.liquid.iter().map(|_| "liquid"))
        .collect();
    let sizes: Result<Vec<(String, Value)>, Failure> = Size::ALL
        .par_iter()
        .map(|size| Ok((size.word().to_owned(), json!({ "counts": counts(&loaded(name, *size)?)? }))))
        .collect();
    let sizes = Map::from_iter(sizes?);
    Ok(json!({ "name": name, "shows": scene.shows, "figure": scene.figure, "bodies": bodies, "sizes": sizes }))
}

fn counts(scene: &Scene) -> Result<Value, Failure> {
    let estimate = drench_sim::estimate(scene)?;
    Ok(estimate.counts().map(|(name, count)| (name.to_owned(), Value::from(count))).collect())
}
