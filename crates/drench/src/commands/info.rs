//! `drench info`: what a run folder holds.

use crate::cli::InfoArguments;
use crate::failure::Failure;
use crate::text;
use drench_io::{FrameCache, FrameStats, IoError, RunRecord, cache, run_folder};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// What was found in the folder.
struct Findings {
    record: RunRecord,
    frames: Vec<u32>,
    /// Frames that cannot be read, with the reason.
    damaged: Vec<(u32, String)>,
    stats: Vec<FrameStats>,
    images: usize,
    movie: Option<String>,
    bytes: u64,
}

/// Tells what a run holds.
pub fn info(arguments: &InfoArguments) -> Result<(), Failure> {
    let findings = inspect(&arguments.run)?;
    if arguments.json {
        text::json(&findings.to_json());
    } else {
        text::line(&findings.table());
    }
    Ok(())
}

fn inspect(folder: &Path) -> Result<Findings, Failure> {
    let record = RunRecord::read(folder)?;
    let frames = cache::frame_indices(folder)?;
    let (stats, _) = run_folder::read_stats(folder)?;
    let damaged = match FrameCache::open(folder) {
        Ok(cache) => frames.iter().filter_map(|&index| Some((index, cache.verify(index).err()?.to_string()))).collect(),
        Err(IoError::Missing { .. }) if frames.is_empty() => Vec::new(),
        Err(error) => frames.iter().map(|&index| (index, error.to_string())).collect(),
    };
    let names = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    let images = names(&folder.join("images")).iter().filter(|name| name.ends_with(".png")).count();
    let movie = names(folder).into_iter().find(|name| name.starts_with("movie.") && !name.ends_with(".part"));
    Ok(Findings { record, frames, damaged, stats, images, movie, bytes: size_of(folder) })
}

/// Bytes of all files below a folder. Links are not followed.
fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}

impl Findings {
    fn largest(&self, path: &str) -> Option<f64> {
        self.stats.iter().filter_map(|stats| stats.figure(path)).reduce(f64::max)
    }

    fn mean_ms(&self) -> Option<f64> {
        let stepped: Vec<f64> = self.stats.iter().filter(|stats| stats.frame > 0).map(|stats| stats.wall_ms).collect();
        (!stepped.is_empty()).then(|| stepped.iter().sum::<f64>() / stepped.len() as f64)
    }

    fn to_json(&self) -> Value {
        let RunRecord {
            name, version, seed, threads, size, frames, fps, status, started, updated, wall_seconds, ..
        } = &self.record;
        let damaged: Vec<Value> =
            self.damaged.iter().map(|(frame, reason)| json!({ "frame": frame, "reason": reason })).collect();
        json!({
            "name": name, "version": version, "status": status.word(), "seed": seed, "threads": threads, "size": size,
            "fps": fps, "frames_wanted": frames, "frames": self.frames.len(), "first_frame": self.frames.first(),
            "last_frame": self.frames.last(), "damaged": damaged, "started": started, "updated": updated,
            "wall_seconds": wall_seconds, "frame_ms": self.mean_ms(), "counts": self.stats.last().map(|last| &last.counts),
            "memory_mb": self.largest("memory_mb"), "strain_max": self.largest("strain.max"),
            "penetration_max": self.largest("penetration_max"), "speed_max": self.largest("speed_max"),
            "images": self.images, "movie": self.movie, "bytes": self.bytes,
        })
    }

    fn table(&self) -> String {
        let record = &self.record;
        let optional = |value: Option<f64>, unit: &str| value.map(|value| format!("{} {unit}", text::figure(value)));
        let mut rows: Vec<(String, Option<String>)> = vec![
            ("scene".into(), Some(record.name.clone())),
            ("size".into(), record.size.clone()),
            ("status".into(), Some(record.status.word().to_owned())),
            (
                "made by".into(),
                Some(format!("Drench {}, seed {}, {} threads", record.version, record.seed, record.threads)),
            ),
            ("started".into(), Some(record.started.clone())),
            (
                "computing time".into(),
                Some(text::duration(Duration::try_from_secs_f64(record.wall_seconds).unwrap_or_default())),
            ),
            (
                "frames".into(),
                Some(format!("{} of {}, {} per second", self.frames.len(), u64::from(record.frames) + 1, record.fps)),
            ),
            ("time per frame".into(), optional(self.mean_ms(), "ms")),
        ];
        let counts = self.stats.last().map(|last| &last.counts).into_iter().flatten();
        rows.extend(counts.map(|(name, count)| (name.replace('_', " "), Some(text::count(*count)))));
        rows.extend([
            ("largest stretch".into(), optional(self.largest("strain.max").map(|strain| 100.0 * strain), "%")),
            ("deepest penetration".into(), optional(self.largest("penetration_max"), "m")),
            ("largest speed".into(), optional(self.largest("speed_max"), "m/s")),
            ("peak memory".into(), optional(self.largest("memory_mb"), "MB")),
            ("pictures".into(), Some(self.images.to_string())),
            ("movie".into(), self.movie.clone()),
            ("on disk".into(), Some(text::bytes(self.bytes))),
        ]);
        rows.extend(
            self.damaged.iter().map(|(frame, reason)| (format!("frame {frame}"), Some(reason.replace('\n', " ")))),
        );
        let rows: Vec<_> = rows.into_iter().filter_map(|(name, value)| Some(vec![name, value?])).collect();
        text::table(&["what", "value"], &rows)
    }
}
