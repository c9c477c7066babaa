//! `drench sweep`: a scene with all combinations of some values, each in a folder of its own, compared in a table and a
//! contact sheet. The same command again skips what is finished and goes on with what was interrupted.

mod contact_sheet;
mod table;

use super::run::{resolved_scene, session};
use super::use_threads;
use crate::cli::{RunArguments, SceneArguments, SweepArguments};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::{interrupt, text};
use drench_io::atomic;
use drench_scene::Scene;
use serde_json::json;
use session::{Session, Start, is_done};
use std::path::{Path, PathBuf};

/// Most combinations: more are a slip of the pen.
const MOST: usize = 10_000;

/// One combination of values.
struct Case {
    /// The values, in the order of the keys.
    values: Vec<String>,
    /// `key=value`, for people.
    label: String,
    arguments: RunArguments,
    folder: PathBuf,
    scene: Scene,
    is_done: bool,
}

/// Runs all combinations.
pub fn sweep(arguments: &SweepArguments) -> Result<(), Failure> {
    let mut progress = Progress::new(arguments.voice);
    let done = run_all(arguments, &mut progress);
    progress.conclude(done)
}

fn run_all(arguments: &SweepArguments, progress: &mut Progress) -> Result<(), Failure> {
    // Every combination is looked at before the first one runs: a wrong key or value costs nothing.
    let names = short_names(&arguments.vary)?;
    let folder = folder(arguments)?;
    let cases = cases(arguments, &names, &folder)?;
    let threads = use_threads(arguments.threads)?;
    interrupt::listen();
    let mut diverged = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let place = format!("run {} of {}: {}", number + 1, cases.len(), case.label);
        progress.event(
            "run",
            json!({ "number": number + 1, "of": cases.len(), "folder": case.folder, "skipped": case.is_done }),
        );
        if case.is_done {
            progress.say(&format!("{place}: is finished"));
            continue;
        }
        progress.say(&place);
        match run_one(case, threads, progress) {
            Ok(()) => {}
            // The others may well go through.
            Err(Failure::Diverged(message)) => {
                progress.message(&message);
                diverged.push(case.label.as_str());
            }
            Err(Failure::Interrupted(_)) => {
                let message = format!("stopped in {}; the same command goes on from there", case.label);
                return Err(Failure::Interrupted(message));
            }
            Err(failure) => return Err(failure),
        }
    }
    let rows: Vec<table::Row> = cases.iter().map(table::Row::read).collect::<Result<_, _>>()?;
    let csv = folder.join("sweep.csv");
    atomic::write(&csv, &[table::csv(&arguments.vary, &rows).as_bytes()])?;
    progress.say(&format!("\n{}\n\ntable     {}", table::text(&names, &rows), csv.display()));
    if !arguments.no_render {
        let columns = arguments.vary.last().map_or(1, |(_, values)| values.len());
        let sheet = folder.join("contact-sheet.png");
        let pictures: Vec<(&str, &Path)> =
            cases.iter().map(|case| (case.label.as_str(), case.folder.as_path())).collect();
        if contact_sheet::write(&sheet, &pictures, columns)? {
            progress.event("contact_sheet", json!({ "path": sheet }));
            progress.say(&format!("pictures  {}", sheet.display()));
        }
    }
    match diverged.as_slice() {
        [] => Ok(()),
        some => Err(Failure::Diverged(format!("{} of {} runs diverged: {}", some.len(), cases.len(), some.join("; ")))),
    }
}

fn run_one(case: &Case, threads: usize, progress: &mut Progress) -> Result<(), Failure> {
    let start = Start::of(&case.arguments);
    let mut session =
        Session::open(&case.scene, &case.arguments, start, &case.folder, threads, &interrupt::asked, progress)?;
    session.write_frames(progress)?;
    session.finish_pictures(progress);
    session.picture_failure().map_or(Ok(()), Err)
}

/// The shortest ends of the keys that tell them apart.
fn short_names(vary: &[(String, Vec<String>)]) -> Result<Vec<String>, Failure> {
    if let Some(twice) = (1..vary.len()).find(|&i| vary[..i].iter().any(|(key, _)| *key == vary[i].0)) {
        let key = &vary[twice].0;
        return Err(Failure::Input(format!("'{key}' is varied twice\n  fix: give all its values in one --vary")));
    }
    let end = |key: &str, words: usize| {
        let all: Vec<&str> = key.split('.').collect();
        all[all.len().saturating_sub(words)..].join(".")
    };
    let is_unique =
        |key: &str, words: usize| vary.iter().filter(|(other, _)| end(other, words) == end(key, words)).count() == 1;
    let short = |key: &str| (1..).find(|&words| is_unique(key, words)).map_or(key.to_owned(), |words| end(key, words));
    Ok(vary.iter().map(|(key, _)| short(key)).collect())
}

fn folder(arguments: &SweepArguments) -> Result<PathBuf, Failure> {
    match &arguments.out {
        Some(folder) => Ok(folder.clone()),
        None => {
            let scene = crate::scene_argument::load(&arguments.scene, &[])?;
            Ok(Path::new("runs").join(format!("{}-sweep", scene.name)))
        }
    }
}

/// All combinations, the last key turning fastest.
fn cases(arguments: &SweepArguments, names: &[String], folder: &Path) -> Result<Vec<Case>, Failure> {
    let count = arguments.vary.iter().try_fold(1_usize, |count, (_, values)| count.checked_mul(values.len()));
    let Some(count) = count.filter(|&count| count <= MOST) else {
        return Err(Failure::Input(format!("there are more than {MOST} combinations\n  fix: vary less")));
    };
    (0..count).map(|number| case(arguments, names, folder, number)).collect()
}

fn case(arguments: &SweepArguments, names: &[String], folder: &Path, number: usize) -> Result<Case, Failure> {
    let mut rest = number;
    let mut values: Vec<String> = Vec::new();
    for (_, choices) in arguments.vary.iter().rev() {
        values.push(choices[rest % choices.len()].clone());
        rest /= choices.len();
    }
    values.reverse();
    let varied = arguments.vary.iter().map(|(key, _)| key.clone()).zip(values.iter().cloned());
    let label = names.iter().zip(&values).map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ");
    let folder = folder.join(folder_name(&label));
    let mut run = RunArguments {
        scene: SceneArguments {
            scene: arguments.scene.scene.clone(),
            size: arguments.scene.size,
            set: arguments.scene.set.iter().cloned().chain(varied).collect(),
        },
        out: Some(folder.clone()),
        frames: arguments.frames,
        threads: arguments.threads,
        seed: arguments.seed,
        no_render: arguments.no_render,
        force: false,
        resume: false,
        voice: arguments.voice,
    };
    let scene = resolved_scene(&run)?;
    run.resume = folder.join("run.json").exists();
    let is_done = run.resume && is_done(&folder, &scene, &run)?;
    Ok(Case { values, label, arguments: run, folder, scene, is_done })
}

/// A name that every file system takes; what it cannot hold is told apart by a number.
fn folder_name(label: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.=+".contains(c);
    let name: String = label.replace(", ", "+").chars().map(|c| if plain(c) { c } else { '_' }).take(120).collect();
    let is_exact = label.replace(", ", "+") == name;
    if is_exact { name } else { format!("{name}-{:08x}", drench_io::fingerprint(label) as u32) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_short_as_they_can_be() {
        let names = |keys: &[&str]| short_names(&keys.iter().map(|key| (key.to_string(), vec![])).collect::<Vec<_>>());
        assert_eq!(names(&["simulation.substeps", "hair.radius"]).unwrap(), ["substeps", "radius"]);
        assert_eq!(names(&["a.b.radius", "c.b.radius", "x"]).unwrap(), ["a.b.radius", "c.b.radius", "x"]);
        assert!(names(&["a.b", "a.b"]).unwrap_err().to_string().contains("varied twice"));
    }

    #[test]
    fn folders_of_different_cases_are_different() {
        assert_eq!(folder_name("substeps=4, radius=2"), "substeps=4+radius=2");
        assert_ne!(folder_name("wind=[1,0]"), folder_name("wind=(1,0)"));
        assert!(folder_name(&"x".repeat(500)).len() < 140);
        assert!(!folder_name("../../etc=/a b").contains(['/', ' ']));
    }
}
