//! `drench scenes`: the scenes that come with Drench.

use crate::cli::ScenesArguments;
use crate::failure::Failure;
use crate::text;
use drench_scene::{Scene, Size, Source, builtin};
use drench_sim::Estimate;
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
        text::json(&Value::Array(descriptions()?));
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

/// Every scene in every size. Counting means building meshes: all at once.
fn descriptions() -> Result<Vec<Value>, Failure> {
    let load = |scene: &builtin::Builtin| Size::ALL.iter().map(|size| loaded(scene.name, *size)).collect();
    let scenes: Vec<Vec<Scene>> = builtin::all().par_iter().map(load).collect::<Result<_, Failure>>()?;
    let estimates = drench_sim::estimate_all(&scenes.concat())?;
    let described = builtin::all().iter().zip(&scenes).zip(estimates.chunks(Size::ALL.len()));
    Ok(described.map(|((builtin, scenes), estimates)| description(builtin.name, scenes, estimates)).collect())
}

/// A scene in all sizes.
fn description(name: &str, scenes: &[Scene], estimates: &[Estimate]) -> Value {
    let preview = scenes.iter().zip(Size::ALL).find(|(_, size)| **size == Size::Preview);
    let Some((scene, _)) = preview else { return Value::Null };
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
    let counts = |estimate: &Estimate| -> Value {
        estimate.counts().map(|(name, count)| (name.to_owned(), Value::from(count))).collect()
    };
    let sizes = Size::ALL.iter().zip(estimates);
    let sizes: Map<String, Value> =
        sizes.map(|(size, estimate)| (size.word().to_owned(), json!({ "counts": counts(estimate) }))).collect();
    json!({ "name": name, "shows": scene.shows, "figure": scene.figure, "bodies": bodies, "sizes": sizes })
}
