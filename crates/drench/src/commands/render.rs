//! `drench render`: pictures and a movie from the frames of a run.

use super::use_threads;
use crate::cli::{FrameRange, RenderArguments};
use crate::failure::Failure;
use crate::pictures::{Gallery, find};
use crate::progress::Progress;
use crate::{interrupt, text};
use drench_io::{FrameCache, RunRecord};
use drench_scene::{Scene, Source};
use serde_json::json;
use std::path::Path;
use std::time::Instant;

/// Draws the frames of a run.
pub fn render(arguments: &RenderArguments) -> Result<(), Failure> {
    let mut progress = Progress::new(arguments.voice);
    let drawn = draw(arguments, &mut progress);
    progress.conclude_failure(drawn)
}

fn draw(arguments: &RenderArguments, progress: &mut Progress) -> Result<(), Failure> {
    use_threads(arguments.threads)?;
    interrupt::listen();
    let scene = recorded_scene(&arguments.run)?;
    let cache = FrameCache::open(&arguments.run)?;
    let mut look = match &arguments.look {
        Some(name) => find(&scene.looks, |look| &look.name, name, "look")?.render.clone(),
        None => scene.render.clone(),
    };
    if let Some((width, height)) = arguments.resolution {
        (look.width, look.height) = (width, height);
    }
    let folder = arguments.out.as_deref().unwrap_or(&arguments.run);
    let mut gallery = Gallery::new(&scene, &look, arguments.camera.as_deref(), folder)?;
    let all = cache.indices()?;
    let wanted = arguments.frames.unwrap_or(FrameRange::ALL);
    // A single frame is drawn even if the scene shows only every n-th.
    let chosen = |frame: u32| wanted.contains(frame) && (gallery.wants(frame) || wanted.first == wanted.last);
    let frames: Vec<u32> = all.iter().copied().filter(|&frame| chosen(frame)).collect();
    let (Some(&first), false) = (all.first(), frames.is_empty()) else {
        let held = match (all.first(), all.last()) {
            (Some(first), Some(last)) => format!("it holds frames {first} to {last}"),
            _ => "it holds no frames yet".to_owned(),
        };
        return Err(Failure::Input(format!("{} has no such frame: {held}", arguments.run.display())));
    };
    gallery.look_at(&cache.read(first)?);

    progress.begin("picture", frames.len() as u64, 0);
    let mut damaged = Vec::new();
    for &index in &frames {
        let clock = Instant::now();
        match cache.read(index) {
            Ok(frame) => gallery.draw(&frame)?,
            Err(error) => {
                progress.message(&format!("frame {index} is left out: {error}"));
                damaged.push(index);
            }
        }
        let path = gallery.path(index);
        let event = json!({ "frame": index, "path": path, "ms": clock.elapsed().as_secs_f64() * 1e3 });
        progress.step(&format!("frame {index} in {}", text::duration(clock.elapsed())), event);
        if interrupt::asked() {
            return Err(Failure::Interrupted(format!(
                "stopped after frame {index}; the pictures so far are in {}",
                folder.join("images").display()
            )));
        }
    }
    progress.stage("making the movie");
    let movie = gallery.movie(&frames)?;
    progress.event("end", json!({ "pictures": frames.len() - damaged.len(), "damaged": damaged, "movie": movie }));
    progress.say(&format!("{} pictures in {}", frames.len() - damaged.len(), folder.join("images").display()));
    if let Some(movie) = movie {
        progress.say(&format!("movie        {}", movie.display()));
    }
    Ok(())
}

/// The scene that a run was made of.
pub fn recorded_scene(folder: &Path) -> Result<Scene, Failure> {
    let record = RunRecord::read(folder)?;
    let source = Source::Text {
        name: folder.join("run.json").display().to_string(),
        text: record.scene,
        directory: record.base,
    };
    Ok(drench_scene::load(source, None, &[])?)
}
