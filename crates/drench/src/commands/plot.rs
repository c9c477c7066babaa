//! `drench plot`: the figures of a run as charts.

use crate::cli::PlotArguments;
use crate::failure::Failure;
use crate::plots::{Plot, plots};
use crate::text;
use drench_io::{FrameStats, RunRecord, atomic, run_folder};
use serde_json::json;
use std::fs;
use std::path::Path;

/// Writes the charts of a run.
pub fn plot(arguments: &PlotArguments) -> Result<(), Failure> {
    let record = RunRecord::read(&arguments.run)?;
    let stats = figures(&arguments.run)?;
    let folder = arguments.out.clone().unwrap_or_else(|| arguments.run.join("plots"));
    fs::create_dir_all(&folder)
        .map_err(|error| Failure::Storage(format!("cannot create {}: {error}", folder.display())))?;
    let mut written = Vec::new();
    for Plot { name, chart, .. } in plots(&stats) {
        let path = folder.join(name).with_extension("svg");
        atomic::write(&path, &[chart.svg().as_bytes()])?;
        written.push(path);
    }
    if arguments.json {
        text::json(&json!({ "name": record.name, "frames": stats.len(), "plots": written }));
    } else {
        written.iter().for_each(|path| text::line(&path.display().to_string()));
    }
    Ok(())
}

/// The figures of all frames that a run has so far. Lines that cannot be read are told and left out.
pub fn figures(folder: &Path) -> Result<Vec<FrameStats>, Failure> {
    let (stats, unreadable) = run_folder::read_stats(folder)?;
    for message in unreadable {
        text::error_line(&message);
    }
    if stats.is_empty() {
        let folder = folder.display();
        return Err(Failure::Input(format!(
            "{folder} holds no figures yet\n  fix: wait for its first frame, or run it"
        )));
    }
    Ok(stats)
}
