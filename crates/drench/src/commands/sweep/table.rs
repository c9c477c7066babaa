//! The figures of all runs of a sweep, side by side.

use super::{Case, text};
use crate::expectations;
use crate::failure::Failure;
use drench_io::{FrameStats, RunRecord, run_folder};
use std::collections::{BTreeMap, BTreeSet};

/// What came of one run.
pub struct Row {
    values: Vec<String>,
    folder: String,
    record: RunRecord,
    passed: usize,
    expected: usize,
    /// Figures by name; units as in `stats.jsonl`.
    figures: BTreeMap<String, f64>,
}

impl Row {
    /// Reads the folder of a run.
    pub fn read(case: &Case) -> Result<Self, Failure> {
        let record = RunRecord::read(&case.folder)?;
        let (stats, _) = run_folder::read_stats(&case.folder)?;
        let outcomes = expectations::evaluate(&case.scene.expect, &stats);
        Ok(Self {
            values: case.values.clone(),
            folder: case.folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            record,
            passed: outcomes.iter().filter(|outcome| outcome.pass).count(),
            expected: outcomes.len(),
            figures: figures(&stats),
        })
    }

    fn figure(&self, name: &str, factor: f64) -> String {
        self.figures.get(name).map_or(String::new(), |&value| text::figure(factor * value))
    }
}

fn figures(stats: &[FrameStats]) -> BTreeMap<String, f64> {
    let largest = |value: &dyn Fn(&FrameStats) -> Option<f64>| stats.iter().filter_map(value).reduce(f64::max);
    let stepped = stats.iter().filter(|stats| stats.frame > 0);
    let (sum, count) = stepped.fold((0.0, 0_u32), |(sum, count), stats| (sum + stats.wall_ms, count + 1));
    let mut figures = BTreeMap::new();
    let mut add = |name: String, value: Option<f64>| figures.extend(value.map(|value| (name, value)));
    add("last_frame".into(), stats.last().map(|last| f64::from(last.frame)));
    add("frame_ms".into(), (count > 0).then(|| sum / f64::from(count)));
    add("strain_max".into(), largest(&|stats| Some(stats.strain?.max)));
    add("penetration_max".into(), largest(&|stats| Some(stats.penetration_max)));
    add("speed_max".into(), largest(&|stats| Some(stats.speed_max)));
    add("memory_mb".into(), largest(&|stats| Some(stats.memory_mb)));
    add("water_error_max".into(), largest(&|stats| Some(stats.water.as_ref()?.error.abs())));
    if let Some(last) = stats.last() {
        for (name, value) in last.water.iter().flat_map(|water| &water.reservoirs) {
            add(format!("water.{name}"), Some(*value));
        }
        for (name, value) in &last.counts {
            add(format!("counts.{name}"), Some(*value as f64));
        }
    }
    figures
}

/// The table for spreadsheets: every figure.
pub fn csv(vary: &[(String, Vec<String>)], rows: &[Row]) -> String {
    let names: BTreeSet<&str> = rows.iter().flat_map(|row| row.figures.keys().map(String::as_str)).collect();
    let fixed = ["folder", "status", "wall_seconds", "expectations_passed", "expectations"];
    let heading = vary.iter().map(|(key, _)| key.as_str()).chain(fixed).chain(names.iter().copied());
    let mut lines = vec![heading.map(field).collect::<Vec<_>>().join(",")];
    for row in rows {
        let mut cells: Vec<String> = row.values.iter().map(|value| field(value)).collect();
        cells.extend([field(&row.folder), row.record.status.word().to_owned(), row.record.wall_seconds.to_string()]);
        cells.extend([row.passed.to_string(), row.expected.to_string()]);
        cells.extend(names.iter().map(|name| row.figures.get(*name).map_or(String::new(), f64::to_string)));
        lines.push(cells.join(","));
    }
    lines.join("\n") + "\n"
}

fn field(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

/// The table for people: what matters first.
pub fn text(names: &[String], rows: &[Row]) -> String {
    let fixed = ["status", "frame", "ms per frame", "stretch %", "speed m/s", "water off by", "expected"];
    let heading: Vec<&str> = names.iter().map(String::as_str).chain(fixed).collect();
    let cells = |row: &Row| {
        let expected = if row.expected == 0 { String::new() } else { format!("{}/{}", row.passed, row.expected) };
        let mut cells = row.values.clone();
        cells.extend([row.record.status.word().to_owned(), row.figure("last_frame", 1.0), row.figure("frame_ms", 1.0)]);
        cells.extend([
            row.figure("strain_max", 100.0),
            row.figure("speed_max", 1.0),
            row.figure("water_error_max", 1.0),
        ]);
        cells.push(expected);
        cells
    };
    text::table(&heading, &rows.iter().map(cells).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_commas_are_quoted() {
        assert_eq!(field("[1,2]"), "\"[1,2]\"");
        assert_eq!(field("a \"b\""), "\"a \"\"b\"\"\"");
        assert_eq!(field("8"), "8");
    }

    #[test]
    fn figures_are_of_the_whole_run_or_of_its_end() {
        let frame = |frame: u32, speed: f64| FrameStats {
            frame,
            speed_max: speed,
            wall_ms: 10.0 * f64::from(frame),
            counts: BTreeMap::from([("strands".into(), u64::from(frame))]),
            ..FrameStats::default()
        };
        let figures = figures(&[frame(0, 0.0), frame(1, 5.0), frame(2, 3.0)]);
        assert_eq!(figures["speed_max"], 5.0);
        assert_eq!(figures["frame_ms"], 15.0);
        assert_eq!(figures["counts.strands"], 2.0);
        assert!(!figures.contains_key("strain_max"));
    }
}
