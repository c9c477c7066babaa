//! `drench run`: from a scene to frames, statistics, pictures and a movie.

pub(super) mod session;
mod summary;

use super::use_threads;
use crate::cli::RunArguments;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::{expectations, interrupt, scene_argument};
use drench_scene::Scene;
use session::{Session, Start};
use std::path::{Path, PathBuf};

/// Simulates a scene.
pub fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let mut progress = Progress::new(arguments.voice);
    let done = simulate(arguments, &mut progress);
    progress.conclude(done)
}

fn simulate(arguments: &RunArguments, progress: &mut Progress) -> Result<(), Failure> {
    let scene = resolved_scene(arguments)?;
    let threads = use_threads(arguments.threads)?;
    let folder = arguments.out.clone().unwrap_or_else(|| Path::new("runs").join(&scene.name));
    interrupt::listen();

    let start = Start::of(arguments);
    let mut session = Session::open(&scene, arguments, start, &folder, threads, &interrupt::asked, progress)?;
    session.write_frames(progress)?;
    session.finish_pictures(progress);

    let outcomes = expectations::evaluate(&scene.expect, session.stats());
    for outcome in &outcomes {
        progress.event("expectation", outcome.to_json());
    }
    progress.say(&summary::text(&session, &outcomes));
    if let Some(failure) = session.picture_failure() {
        return Err(failure);
    }
    match outcomes.iter().filter(|outcome| !outcome.pass).count() {
        0 => Ok(()),
        failed => Err(Failure::Validation(format!(
            "{failed} of {} expectations of the scene failed; all frames are in {}",
            outcomes.len(),
            folder.display()
        ))),
    }
}

/// The scene with everything that the arguments change in it.
pub(super) fn resolved_scene(arguments: &RunArguments) -> Result<Scene, Failure> {
    let frames = arguments.frames.map(|frames| ("simulation.frames".to_owned(), frames.to_string()));
    let seed = arguments.seed.map(|seed| ("simulation.seed".to_owned(), seed.to_string()));
    let further: Vec<_> = frames.into_iter().chain(seed).collect();
    scene_argument::load(&arguments.scene, &further)
}

/// The command that goes on with this run.
fn resume_command(arguments: &RunArguments) -> String {
    let mut words = vec!["drench".to_owned(), "run".to_owned(), arguments.scene.scene.clone()];
    if let Some(size) = arguments.scene.size {
        words.extend(["--size".to_owned(), size.word().to_owned()]);
    }
    for (key, value) in &arguments.scene.set {
        words.extend(["--set".to_owned(), format!("{key}={value}")]);
    }
    let mut option = |name: &str, value: Option<String>| {
        words.extend(value.into_iter().flat_map(|value| [format!("--{name}"), value]))
    };
    option("out", arguments.out.as_ref().map(|out: &PathBuf| out.display().to_string()));
    option("frames", arguments.frames.map(|frames| frames.to_string()));
    option("seed", arguments.seed.map(|seed| seed.to_string()));
    option("threads", arguments.threads.map(|threads| threads.to_string()));
    if arguments.no_render {
        words.push("--no-render".to_owned());
    }
    words.push("--resume".to_owned());
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    #[test]
    fn the_resume_command_repeats_what_matters() {
        let line = [
            "drench",
            "run",
            "rope",
            "--size",
            "tiny",
            "--set",
            "air.drag=2 %",
            "--out",
            "a b",
            "--frames",
            "7",
            "--force",
        ];
        let Command::Run(arguments) = Cli::parse_from(line).command else { unreachable!() };
        let expected = "drench run rope --size tiny --set 'air.drag=2 %' --out 'a b' --frames 7 --resume";
        assert_eq!(resume_command(&arguments), expected);
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
