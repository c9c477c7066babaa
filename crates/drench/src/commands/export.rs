//! `drench export`: the frames of a run for other programs.

use super::render::recorded_scene;
use super::use_threads;
use crate::cli::{CurveArgument, ExportArguments, FrameRange, LayerArgument};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::{interrupt, text};
use drench_export::{Basis, ExportError, FORMATS, Format, Manifest, Options, Source, Target, format};
use drench_io::{IoError, RunRecord, RunStatus};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Exports a run, or lists the formats.
pub fn export(arguments: &ExportArguments) -> Result<(), Failure> {
    if arguments.list {
        list(arguments.voice.json);
        return Ok(());
    }
    let mut progress = Progress::new(arguments.voice);
    let written = write(arguments, &mut progress);
    progress.conclude_failure(written)
}

fn list(as_json: bool) {
    if as_json {
        let format = |format: &Format| json!({ "name": format.name, "title": format.title, "carries": format.carries, "lacks": format.lacks });
        text::json(&FORMATS.iter().map(format).collect());
        return;
    }
    let row = |format: &Format| vec![format.name.to_owned(), format.carries.to_owned(), format.lacks.join("; ")];
    text::line(&text::table(&["format", "carries", "cannot carry"], &FORMATS.iter().map(row).collect::<Vec<_>>()));
}

fn write(arguments: &ExportArguments, progress: &mut Progress) -> Result<(), Failure> {
    let (Some(run), Some(to)) = (&arguments.run, &arguments.to) else {
        return Err(Failure::Input("name a run and a format, such as drench export runs/shower --to usdc".to_owned()));
    };
    let Some(format) = format::find(to) else {
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        return Err(Failure::Input(format!(
            "there is no format called '{to}'\n  fix: choose from {}",
            names.join(", ")
        )));
    };
    let format = match arguments.layers {
        LayerArgument::Single => format,
        LayerArgument::PerFrame => format.per_frame.ok_or_else(|| {
            let able = FORMATS.iter().filter(|format| format.per_frame.is_some());
            let names: Vec<&str> = able.map(|format| format.name).collect();
            Failure::Input(format!(
                "{to} has no layers that could be divided\n  fix: leave --layers out, or choose from {}",
                names.join(", ")
            ))
        })?,
    };
    use_threads(arguments.threads)?;
    interrupt::listen();
    let scene = recorded_scene(run)?;
    let options = Options {
        basis: match arguments.curves {
            CurveArgument::Cubic => Basis::Cubic,
            CurveArgument::Linear => Basis::Linear,
        },
        guides_only: arguments.guides_only,
        surface: arguments.surface,
    };
    let wanted = arguments.frames.unwrap_or(FrameRange::ALL);
    let mut source = Source::open(run, scene, options, |frame| wanted.contains(frame))?;
    let frames = source.shot().frames.clone();
    if frames.is_empty() {
        return Err(no_such_frame(run, source.held()));
    }
    let status = RunRecord::read(run)?.status;
    if status != RunStatus::Finished {
        let held = source.held().len();
        progress.message(&format!("the run is {}: {held} frames are there, and no others are exported", status.word()));
    }
    let path = destination(arguments.out.as_deref(), run, &source.shot().name, format);
    let target = Target::new(&path, format.layout, format.endings, arguments.force)?;
    let mut writer = (format.begin)(source.shot(), &options, target.place())?;
    let mut manifest = Manifest::new(format, source.shot());

    progress.begin("frame", frames.len() as u64, 0);
    for &index in &frames {
        let clock = Instant::now();
        match source.moment(index) {
            Ok(moment) => {
                writer.frame(&moment)?;
                manifest.see(&moment);
            }
            Err(ExportError::Run(error)) if !error.is_storage() => {
                progress.message(&left_out(index, &error));
                manifest.damaged.push(index);
            }
            Err(error) => return Err(error.into()),
        }
        let event = json!({ "frame": index, "ms": clock.elapsed().as_secs_f64() * 1e3 });
        progress.step(&format!("frame {index} in {}", text::duration(clock.elapsed())), event);
        if interrupt::asked() {
            return Err(Failure::Interrupted(format!("stopped at frame {index}; nothing was written")));
        }
    }
    if manifest.frames == 0 {
        return Err(Failure::Input(format!("{}: none of the frames asked for can be read", run.display())));
    }
    manifest.not_carried.extend(writer.finish()?);
    manifest.files = target.commit()?;
    progress.end();
    progress.event("end", json!({ "manifest": manifest }));
    progress.say(&describe(&manifest, &path));
    Ok(())
}

fn left_out(index: u32, error: &IoError) -> String {
    format!("frame {index} is left out: {error}")
}

fn no_such_frame(run: &Path, held: &[u32]) -> Failure {
    let held = match (held.first(), held.last()) {
        (Some(first), Some(last)) => format!("it holds frames {first} to {last}"),
        _ => "it holds no frames yet".to_owned(),
    };
    Failure::Input(format!("{} has no such frame: {held}", run.display()))
}

/// Where the export goes: `exports/` of the run unless said otherwise.
fn destination(out: Option<&Path>, run: &Path, name: &str, format: &Format) -> PathBuf {
    let own = match format.layout {
        drench_export::target::Layout::File => format!("{name}.{}", format.name),
        drench_export::target::Layout::Folder => format!("{name}_{}", format.name),
    };
    match out {
        None => run.join("exports").join(own),
        // A folder takes the file into it.
        Some(out) if out.is_dir() && format.layout == drench_export::target::Layout::File => out.join(own),
        Some(out) => out.to_owned(),
    }
}

fn describe(manifest: &Manifest, path: &Path) -> String {
    let bodies: Vec<Vec<String>> = manifest
        .bodies
        .iter()
        .map(|body| {
            let attributes: Vec<&str> = body.attributes.iter().map(String::as_str).collect();
            vec![
                body.name.clone(),
                body.kind.to_owned(),
                text::count(body.elements as u64),
                text::count(body.vertices as u64),
                attributes.join(" "),
            ]
        })
        .collect();
    let mut lines = vec![
        format!(
            "{} frames at {} per second, {} in {} ({} files)",
            manifest.frames,
            manifest.fps,
            text::bytes(manifest.bytes()),
            path.display(),
            manifest.files.len()
        ),
        text::table(&["body", "kind", "elements", "vertices", "attributes"], &bodies),
    ];
    if !manifest.damaged.is_empty() {
        lines.push(format!("left out because they are damaged: frames {:?}", manifest.damaged));
    }
    lines.extend(manifest.not_carried.iter().map(|what| format!("not carried: {what}")));
    lines.extend(manifest.hints.iter().map(|(program, hint)| format!("{program}: {hint}")));
    lines.join("\n")
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        if error.is_storage() { Self::Storage(error.to_string()) } else { Self::Input(error.to_string()) }
    }
}
