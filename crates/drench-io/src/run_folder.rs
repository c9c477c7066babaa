//! The folder of a run: its description, frames, statistics and checkpoints, and the lock of whoever writes them.
//!
//! ```text
//! run.json       what was asked for: resolved scene, version, seed, threads, times, status
//! stats.jsonl    one object per frame
//! model.drench   what stays the same in all frames
//! frames/        000000.drench, 000001.drench, ...
//! checkpoints/   the last ones, and some before them where a run may go back
//! images/ plots/ movie.*
//! ```
//! A frame's file comes first, its line in the statistics second, a checkpoint last: a checkpoint never speaks of
//! frames that are not there. A killed run is rewound to the newest point where all three agree.

use crate::cache::FrameCache;
use crate::checkpoint::{self, Checkpoint, Kept};
use crate::error::{IoError, Result};
use crate::frame::Frame;
use crate::stats::{self, FrameStats, StatsLog};
use crate::{atomic, clock};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

const RECORD: &str = "run.json";
const STATS: &str = "stats.jsonl";
const LOCK: &str = ".lock";
const CHECKPOINTS: &str = "checkpoints";
/// Folders of a run, all of which `--force` empties.
const FOLDERS: [&str; 4] = ["frames", CHECKPOINTS, "images", "plots"];

/// What `run.json` says of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Name of the scene.
    pub name: String,
    /// Version of Drench that made the run.
    pub version: String,
    /// Seed of all randomness.
    pub seed: u64,
    /// Threads that computed it; results do not depend on it.
    pub threads: usize,
    /// `tiny`, `preview` or `full`, if one was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// Last frame that the scene asks for.
    pub frames: u32,
    /// Frames per second of simulated time [1/s].
    pub fps: f64,
    /// How the run stands.
    pub status: RunStatus,
    /// When it was begun (UTC).
    pub started: String,
    /// When this record was last written (UTC).
    pub updated: String,
    /// Elapsed time over all sessions of the run [s].
    pub wall_seconds: f64,
    /// Folder that relative paths in the scene start from.
    pub base: PathBuf,
    /// The resolved scene, as a scene file.
    pub scene: String,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// It is being computed, or was killed.
    Running,
    /// All frames are there.
    Finished,
    /// It was stopped and can be resumed.
    Interrupted,
    /// The simulation diverged.
    Diverged,
    /// It stopped because of another error.
    Failed,
}

impl RunStatus {
    /// The status in one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
            Self::Diverged => "diverged",
            Self::Failed => "failed",
        }
    }
}

impl RunRecord {
    /// Reads the record of a run folder.
    pub fn read(folder: &Path) -> Result<Self> {
        const FIX: &str = "give the folder of a run, such as runs/NAME; `drench run SCENE` makes one";
        let path = folder.join(RECORD);
        let content = fs::read(&path).map_err(IoError::reading(&path, FIX))?;
        const REPLACE: &str =
            "frames cannot be used without it: run the scene again with --force, or with another --out";
        serde_json::from_slice(&content).map_err(|error| IoError::Damaged {
            path,
            what: error.to_string(),
            fix: REPLACE,
        })
    }

    fn write(&self, folder: &Path) -> Result<()> {
        let mut text = serde_json::to_vec_pretty(self).expect("plain data");
        text.push(b'\n');
        atomic::write(&folder.join(RECORD), &[&text])
    }
}

/// A run folder that this process writes to.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// What `run.json` says; [`RunFolder::save_record`] writes it.
    pub record: RunRecord,
    /// Which checkpoints stay.
    pub kept: Kept,
    cache: Option<FrameCache>,
    stats: StatsLog,
    /// Held as long as this lives. The system gives it back when the process ends, however it ends.
    _lock: File,
}

/// A folder that a run may write to, before it does.
///
/// Claiming first and beginning later lets a long preparation fail without harm to a run that is to be replaced, and
/// lets an unwritable folder fail before a long preparation.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    lock: Option<File>,
    /// Whether the folder is new, so that giving up the claim removes it again.
    new: bool,
}

impl Claim {
    /// Claims a folder. An earlier run in it is an error, unless `replace`; so are other files in any case.
    pub fn new(path: &Path, replace: bool) -> Result<Self> {
        let new = !path.exists();
        fs::create_dir_all(path).map_err(IoError::storage("create the folder", path))?;
        let holds_run = path.join(RECORD).exists();
        if holds_run && !replace {
            return Err(IoError::Exists { path: path.to_owned() });
        }
        if !holds_run && holds_other_files(path)? {
            return Err(IoError::Foreign { path: path.to_owned() });
        }
        Ok(Self { path: path.to_owned(), lock: Some(lock(path)?), new })
    }

    /// Removes what an earlier run left and begins a new one.
    pub fn begin(mut self, record: RunRecord) -> Result<RunFolder> {
        remove_run(&self.path)?;
        record.write(&self.path)?;
        let stats = StatsLog::open(&self.path.join(STATS))?;
        let lock = self.lock.take().expect("a claim holds its lock until it begins");
        Ok(RunFolder { path: self.path.clone(), record, kept: Kept::default(), cache: None, stats, _lock: lock })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.new && self.lock.is_some() {
            // A folder that was made for nothing; if it cannot be removed, it does no harm.
            let _ = fs::remove_file(self.path.join(LOCK)).and_then(|()| fs::remove_dir(&self.path));
        }
    }
}

/// Where a run goes on.
#[derive(Debug)]
pub struct Rewind {
    /// The state to go on from; without one the run begins anew.
    pub checkpoint: Option<Checkpoint>,
    /// The statistics of the frames that are kept.
    pub stats: Vec<FrameStats>,
    /// What was passed over, and why.
    pub messages: Vec<String>,
}

impl RunFolder {
    /// Makes a run folder. An earlier run in it is an error, unless `replace`; other files are never touched.
    pub fn create(path: &Path, record: RunRecord, replace: bool) -> Result<Self> {
        Claim::new(path, replace)?.begin(record)
    }

    /// Takes up a run again; nothing if the folder holds none. Follow with [`RunFolder::rewind`].
    pub fn resume(path: &Path) -> Result<Option<Self>> {
        if !path.join(RECORD).exists() {
            return Ok(None);
        }
        let lock = lock(path)?;
        let record = RunRecord::read(path)?;
        atomic::remove_unfinished(path)?;
        for folder in FOLDERS {
            atomic::remove_unfinished(&path.join(folder))?;
        }
        let stats = StatsLog::open(&path.join(STATS))?;
        Ok(Some(Self { path: path.to_owned(), record, kept: Kept::default(), cache: None, stats, _lock: lock }))
    }

    /// Finds the newest checkpoint of this scene before which every frame and its statistics are sound, and removes
    /// whatever is later. Without such a checkpoint everything is removed and the run begins anew.
    pub fn rewind(&mut self, scene: u64) -> Result<Rewind> {
        self.rewind_to(Some(scene), u32::MAX)
    }

    /// The newest checkpoint at or before a frame, of whatever scene. Nothing is changed.
    pub fn checkpoint_before(&self, frame: u32) -> Result<Option<Checkpoint>> {
        Ok(checkpoint::latest_valid(&self.path.join(CHECKPOINTS), None, frame)?.0)
    }

    /// Like [`RunFolder::rewind`], to a checkpoint of this scene, or of any, at or before a frame.
    pub fn rewind_to(&mut self, scene: Option<u64>, frame: u32) -> Result<Rewind> {
        let mut messages = Vec::new();
        self.cache = match FrameCache::open(&self.path) {
            Ok(cache) => Some(cache),
            Err(IoError::Missing { .. }) => None,
            Err(error) => {
                messages.push(format!("the frames are computed anew: {error}"));
                None
            }
        };
        let log = self.path.join(STATS);
        let (frames, unreadable) = stats::read(&log)?;
        messages.extend(unreadable);
        let known: BTreeSet<u32> = frames.iter().map(|stats| stats.frame).collect();
        let sound = self.cache.as_ref().and_then(|cache| last_sound(cache, &known, &mut messages));
        let last = sound.map(|last| last.min(frame));
        let checkpoints = self.path.join(CHECKPOINTS);
        let checkpoint = match last {
            Some(last) => {
                let (checkpoint, passed_over) = checkpoint::latest_valid(&checkpoints, scene, last)?;
                messages.extend(passed_over);
                checkpoint
            }
            None => None,
        };
        let last = checkpoint.as_ref().map(|checkpoint| checkpoint.frame);
        checkpoint::remove_after(&checkpoints, last)?;
        match (&self.cache, last) {
            (Some(cache), Some(last)) => cache.remove_after(last)?,
            _ => {
                self.cache = None;
                remove_folder(&self.path.join("frames"))?;
            }
        }
        stats::cut_back(&log, last)?;
        self.stats = StatsLog::open(&log)?;
        let (stats, _) = stats::read(&log)?;
        Ok(Rewind { checkpoint, stats, messages })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a frame; the first one also founds the cache. Returns its size [bytes].
    pub fn write_frame(&mut self, frame: &Frame) -> Result<u64> {
        let cache = match self.cache.take() {
            Some(cache) => cache,
            None => FrameCache::create(&self.path, frame)?,
        };
        self.cache.insert(cache).write(frame)
    }

    /// The frames, once the first is written.
    pub fn cache(&self) -> Option<&FrameCache> {
        self.cache.as_ref()
    }

    /// Adds a frame's figures to the statistics.
    pub fn append_stats(&mut self, stats: &FrameStats) -> Result<()> {
        self.stats.append(stats)
    }

    /// Writes a checkpoint.
    pub fn write_checkpoint(&self, checkpoint: &Checkpoint) -> Result<()> {
        checkpoint::write(&self.path.join(CHECKPOINTS), checkpoint, self.kept).map(|_| ())
    }

    /// Writes the record, with the time of now.
    pub fn save_record(&mut self) -> Result<()> {
        self.record.updated = clock::now();
        self.record.write(&self.path)
    }
}

/// The statistics of a run folder, and a message for each line that could not be read.
pub fn read_stats(folder: &Path) -> Result<(Vec<FrameStats>, Vec<String>)> {
    stats::read(&folder.join(STATS))
}

/// Whether the process that last wrote to a run folder still lives, where the system tells. Nothing is locked or written
/// to find out, so that whoever looks at a run never stands in the way of whoever makes it.
pub fn writer(folder: &Path) -> Option<bool> {
    let process: u32 = fs::read_to_string(folder.join(LOCK)).ok()?.trim().parse().ok()?;
    // Systems without this folder do not tell.
    Path::new("/proc/self").exists().then(|| Path::new("/proc").join(process.to_string()).exists())
}

/// The last frame up to which all frames are sound and have statistics (the initial state may have none).
fn last_sound(cache: &FrameCache, known: &BTreeSet<u32>, messages: &mut Vec<String>) -> Option<u32> {
    let mut last = None;
    for index in 0..=u32::MAX {
        match cache.verify(index) {
            Ok(()) if index == 0 || known.contains(&index) => last = Some(index),
            Ok(()) | Err(IoError::Missing { .. }) => return last,
            Err(error) => {
                messages.push(format!("frame {index} is computed anew: {error}"));
                return last;
            }
        }
    }
    last
}

fn holds_other_files(path: &Path) -> Result<bool> {
    let entries = fs::read_dir(path).map_err(IoError::storage("list", path))?;
    Ok(entries.flatten().any(|entry| {
        let name = entry.file_name();
        name != LOCK && Path::new(&name).extension().is_none_or(|extension| extension != atomic::TEMPORARY)
    }))
}

/// Removes what a run consists of and nothing else. The record stays until the new one replaces it: whoever is killed
/// here leaves a folder that is still recognised as a run.
fn remove_run(path: &Path) -> Result<()> {
    let mut files = vec![path.join(STATS), path.join("model.drench")];
    let entries = fs::read_dir(path).map_err(IoError::storage("list", path))?;
    files.extend(entries.flatten().filter(|e| e.file_name().to_string_lossy().starts_with("movie.")).map(|e| e.path()));
    for file in files.iter().filter(|file| file.is_file()) {
        fs::remove_file(file).map_err(IoError::storage("remove", file))?;
    }
    atomic::remove_unfinished(path)?;
    FOLDERS.iter().try_for_each(|folder| remove_folder(&path.join(folder)))
}

fn remove_folder(path: &Path) -> Result<()> {
    if path.is_dir() { fs::remove_dir_all(path).map_err(IoError::storage("remove", path)) } else { Ok(()) }
}

/// Takes the lock of a folder. It is the system's, bound to the open file: a killed process leaves none behind.
fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(LOCK);
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let mut file = file.map_err(IoError::storage("open", &path))?;
    match file.try_lock() {
        Ok(()) => {
            // Only for the message of whoever comes second: if it cannot be written, the lock still holds.
            let _ = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
            Ok(file)
        }
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            Err(IoError::Locked { path: folder.to_owned(), process: holder.trim().parse().ok() })
        }
        // File systems without locks exist; a run there is as safe as its user is careful.
        Err(TryLockError::Error(error)) if error.kind() == std::io::ErrorKind::Unsupported => Ok(file),
        Err(TryLockError::Error(error)) => Err(IoError::storage("lock", &path)(error)),
    }
}

#[cfg(test)]
mod tests;
