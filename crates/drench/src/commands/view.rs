//! `drench view`: a run, or a scene while it is simulated, in the browser.

mod live;

use super::use_threads;
use crate::cli::{RunArguments, SceneArguments, ViewArguments, VoiceArguments};
use crate::failure::Failure;
use crate::{interrupt, scene_argument, text};
use drench_io::Frame;
use drench_scene::{Scene, Source};
use drench_view::{Live, Porous, Run, Viewer, Voxel};
use live::Simulated;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// How often the command looks whether somebody asked it to stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// Serves the page until Ctrl-C.
pub fn view(arguments: &ViewArguments) -> Result<(), Failure> {
    let subject = Path::new(&arguments.subject);
    let is_scene = matches!(Source::named(&arguments.subject), Source::Builtin(_));
    let is_run = subject.join("run.json").exists() || (subject.is_dir() && !is_scene);
    let mut runs = Vec::new();
    if is_run {
        only_for_scenes(arguments)?;
        runs.push(Run::open(subject)?);
    }
    if let Some(beside) = &arguments.beside {
        runs.push(Run::open(beside)?);
    }
    let simulated = if is_run { None } else { Some(simulate(arguments)?) };
    let live = simulated.clone().map(|simulated| simulated as Arc<dyn Live>);
    let viewer = Viewer::bind(arguments.port.unwrap_or(0), runs, live)?.with_survey(survey);
    let address = viewer.address();
    interrupt::listen_saying("\nclosing; Ctrl-C again stops at once");
    if let Some(simulated) = &simulated {
        text::line(&format!("simulating  into {}", simulated.folder().display()));
        simulated.begin();
    }
    text::line(&format!("viewer      {address}"));
    text::line("            Ctrl-C ends it");
    if !arguments.no_open && !open_browser(&address) {
        text::error_line("no browser could be started: open the address above in one of this machine");
    }
    let server = std::thread::spawn(move || viewer.serve());
    while !interrupt::asked() && !server.is_finished() {
        std::thread::sleep(PATIENCE);
    }
    if let Some(simulated) = &simulated {
        simulated.end();
        text::line(&format!("the frames are in {}", simulated.folder().display()));
    }
    match server.is_finished().then(|| server.join()) {
        Some(Ok(Err(error))) => Err(error.into()),
        _ => Ok(()),
    }
}

/// The porous grid of a frame, as a simulation of the scene would build it.
fn survey(scene: &Scene, frame: &Frame) -> Result<Porous, String> {
    let found = drench_sim::voxels(scene, frame).map_err(|error| error.to_string())?;
    let voxels = found.voxels.iter().map(|voxel| Voxel {
        centre: voxel.centre.as_vec3().to_array(),
        saturation: voxel.saturation() as f32,
        values: vec![
            ("length of strands", voxel.length, "m"),
            ("segments", f64::from(voxel.segments), ""),
            ("water inside fibres", voxel.inside[0], "kg"),
            ("fits inside fibres", voxel.inside[1], "kg"),
            ("water between hairs", voxel.between[0], "kg"),
            ("fits between hairs", voxel.between[1], "kg"),
            ("free water around hairs", voxel.around[0], "kg"),
            ("fits around hairs", voxel.around[1], "kg"),
        ],
    });
    Ok(Porous { edge: found.edge as f32, voxels: voxels.collect() })
}

fn only_for_scenes(arguments: &ViewArguments) -> Result<(), Failure> {
    let given = [
        ("--size", arguments.size.is_some()),
        ("--set", !arguments.set.is_empty()),
        ("--out", arguments.out.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::Input(format!(
            "{} is a run, which is only looked at: {option} is for scenes\n  fix: leave it out, or give a scene",
            arguments.subject
        ))),
    }
}

/// The simulation of the scene that was asked for; it has not begun yet.
fn simulate(arguments: &ViewArguments) -> Result<Arc<Simulated>, Failure> {
    let scene = SceneArguments { scene: arguments.subject.clone(), size: arguments.size, set: arguments.set.clone() };
    let resolved = scene_argument::load(&scene, &[])?;
    let threads = use_threads(arguments.threads)?;
    let folder = arguments
        .out
        .clone()
        .unwrap_or_else(|| free_folder(&Path::new("runs").join(format!("{}-live", resolved.name))));
    if folder.join("run.json").exists() {
        return Err(drench_io::IoError::Exists { path: folder }.into());
    }
    let voice = VoiceArguments { json: false, quiet: true };
    let run = RunArguments {
        scene,
        out: None,
        frames: None,
        threads: arguments.threads,
        seed: None,
        no_render: true,
        force: false,
        resume: false,
        voice,
    };
    Ok(Arc::new(Simulated::new(run, resolved, folder, threads)))
}

/// This folder if it is free, or else the first of NAME-2, NAME-3, ... that is.
fn free_folder(path: &Path) -> PathBuf {
    let numbered = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!("-{number}"));
        PathBuf::from(name)
    };
    std::iter::once(path.to_owned()).chain((2..).map(numbered)).find(|path| !path.exists()).unwrap_or_default()
}

/// Asks the system to open the address; false if it cannot.
fn open_browser(address: &str) -> bool {
    let mut command = if cfg!(target_os = "macos") {
        Command::new("open")
    } else if cfg!(target_os = "windows") {
        Command::new("explorer")
    } else {
        Command::new("xdg-open")
    };
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut opener) = command.spawn() else { return false };
    // It ends at once where there is no browser; where there is, it may stay as long as that.
    for _ in 0..10 {
        std::thread::sleep(PATIENCE);
        if let Ok(Some(status)) = opener.try_wait() {
            return status.success();
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_exists_is_never_chosen() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.b-live");
        assert_eq!(free_folder(&path), path);
        std::fs::create_dir(&path).unwrap();
        assert_eq!(free_folder(&path), place.path().join("a.b-live-2"));
        std::fs::create_dir(place.path().join("a.b-live-2")).unwrap();
        assert_eq!(free_folder(&path), place.path().join("a.b-live-3"));
    }
}
