//! A run folder that is looked at. It is only read: another process may write it, replace it, or be killed while it does.

use crate::error::{Result, ViewError};
use crate::packet::{self, Wish};
use crate::pick::{self, Pick};
use crate::porous::{Porous, Survey};
use drench_io::cache::frame_indices;
use drench_io::{Frame, FrameCache, FrameStats, IoError, RunRecord, RunStatus, fingerprint, run_folder};
use drench_render::{Settings, View};
use drench_scene::{Scene, Source};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// Decoded frames that are kept for the next question about them.
const KEPT: usize = 3;

/// A run that the page shows.
#[derive(Debug)]
pub struct Run {
    folder: PathBuf,
    /// What was read of the folder, as long as it is the same run.
    opened: Mutex<Option<(String, Arc<Opened>)>>,
    stats: Mutex<Statistics>,
}

/// What does not change while a run is the same.
#[derive(Debug)]
struct Opened {
    cache: FrameCache,
    /// None, if the scene needs a newer version; its frames can be shown all the same.
    scene: Option<Scene>,
    settings: Settings,
    /// The last frames that were asked for, newest last.
    frames: Mutex<Vec<(u32, Arc<Frame>)>>,
}

/// The statistics that were read, and of which file.
#[derive(Debug, Default)]
struct Statistics {
    stamp: Option<(u64, SystemTime)>,
    frames: Arc<Vec<FrameStats>>,
}

impl Run {
    /// A run folder; it may be empty yet.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), opened: Mutex::default(), stats: Mutex::default() }
    }

    /// A folder that must hold a run which can be read, frames or not.
    pub fn open(folder: &Path) -> Result<Self> {
        let run = Self::new(folder);
        RunRecord::read(folder)?;
        match run.opened() {
            // A run that has not written its first frame yet.
            Ok(_) | Err(ViewError::Io(IoError::Missing { .. })) => Ok(run),
            Err(error) => Err(error),
        }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How the run stands: `name`, `status`, `frames` {first, last, missing}, `generation` (changes when frames that were
    /// read before are no longer true), ...; with `problem` instead of frames if it cannot be read.
    pub fn state(&self) -> Value {
        let mut state = json!({ "folder": self.folder, "label": self.label() });
        match self.read_state(&mut state) {
            Ok(()) => {}
            Err(ViewError::Io(IoError::Missing { .. })) => state["status"] = json!("waiting"),
            Err(error) => state["problem"] = json!(error.to_string()),
        }
        state
    }

    fn label(&self) -> String {
        self.folder.file_name().unwrap_or(self.folder.as_os_str()).to_string_lossy().into_owned()
    }

    fn read_state(&self, state: &mut Value) -> Result<()> {
        let record = RunRecord::read(&self.folder)?;
        let running = record.status == RunStatus::Running;
        let killed = running && run_folder::writer(&self.folder) == Some(false);
        state["name"] = json!(record.name);
        state["version"] = json!(record.version);
        state["size"] = json!(record.size);
        state["status"] = json!(if killed { "stopped" } else { record.status.word() });
        state["fps"] = json!(record.fps);
        state["wanted"] = json!(record.frames);
        state["threads"] = json!(record.threads);
        state["started"] = json!(record.started);
        let (generation, opened) = self.opened()?;
        let frames = frame_indices(&self.folder)?;
        let (first, last) = (frames.first().copied(), frames.last().copied());
        let missing: Vec<u32> = first
            .zip(last)
            .filter(|(first, last)| (last - first) as usize + 1 != frames.len())
            .map_or_else(Vec::new, |(first, last)| {
                (first..=last).filter(|i| frames.binary_search(i).is_err()).collect()
            });
        state["generation"] = json!(generation);
        state["frames"] = json!({ "first": first, "last": last, "missing": missing });
        if opened.scene.is_none() {
            state["note"] = json!(
                "This version of Drench does not understand the run's scene: cameras and colours are not those of the run."
            );
        }
        Ok(())
    }

    /// Opens the cache, or keeps the open one if the folder still holds the same run.
    fn opened(&self) -> Result<(String, Arc<Opened>)> {
        let record = RunRecord::read(&self.folder)?;
        let model = fs::metadata(self.folder.join("model.drench")).ok();
        let stamp = model.map(|model| (model.len(), model.modified().ok()));
        let generation = format!("{:016x}", fingerprint(&format!("{}{stamp:?}{}", record.started, record.scene)));
        let mut kept = lock(&self.opened);
        if let Some((of, opened)) = kept.as_ref()
            && *of == generation
        {
            return Ok((generation, opened.clone()));
        }
        let cache = FrameCache::open(&self.folder)?;
        let name = self.folder.join("run.json").display().to_string();
        let source = Source::Text { name, text: record.scene, directory: record.base };
        let scene = drench_scene::load(source, None, &[]).ok();
        let settings =
            scene.as_ref().map_or_else(Settings::default, |scene| Settings::from_scene(scene, &scene.render));
        let opened = Arc::new(Opened { cache, scene, settings, frames: Mutex::default() });
        *kept = Some((generation.clone(), opened.clone()));
        Ok((generation, opened))
    }

    /// The packet of a frame.
    pub fn packet(&self, index: u32, wish: &Wish, survey: Option<Survey>) -> Result<Vec<u8>> {
        let (_, opened) = self.opened()?;
        let frame = opened.frame(index)?;
        let porous = if wish.porous { opened.porous(&frame, survey)? } else { None };
        let (first, views) = (opened.first(wish), opened.views(frame.time));
        packet::encode(&frame, first.as_deref(), porous.as_ref(), &opened.settings, &views, wish)
    }

    /// What is known of one strand, particle or voxel.
    pub fn pick(&self, index: u32, pick: Pick, survey: Option<Survey>) -> Result<Value> {
        let (_, opened) = self.opened()?;
        let (frame, first) = (opened.frame(index)?, opened.frame(0).ok());
        let porous = if pick.kind == pick::Kind::Voxels { opened.porous(&frame, survey)? } else { None };
        pick::values(&frame, first.as_deref(), porous.as_ref(), pick)
    }

    /// The statistics from a frame on.
    pub fn stats(&self, from: u32) -> Result<Vec<FrameStats>> {
        let stamp =
            fs::metadata(self.folder.join("stats.jsonl")).ok().and_then(|log| Some((log.len(), log.modified().ok()?)));
        let mut kept = lock(&self.stats);
        if kept.stamp != stamp || stamp.is_none() {
            let (frames, _) = run_folder::read_stats(&self.folder)?;
            *kept = Statistics { stamp, frames: Arc::new(frames) };
        }
        Ok(kept.frames.iter().filter(|stats| stats.frame >= from).cloned().collect())
    }

    /// The scene as the page needs it.
    pub fn description(&self) -> Result<Value> {
        let (_, opened) = self.opened()?;
        Ok(crate::description::describe(opened.scene.as_ref(), &opened.settings))
    }
}

impl Opened {
    fn frame(&self, index: u32) -> Result<Arc<Frame>> {
        if let Some((_, frame)) = lock(&self.frames).iter().find(|(kept, _)| *kept == index) {
            return Ok(frame.clone());
        }
        let frame = Arc::new(self.cache.read(index)?);
        let mut frames = lock(&self.frames);
        // Frame 0, from which strain is counted, stays.
        if frames.len() >= KEPT
            && let Some(oldest) = frames.iter().position(|(kept, _)| *kept != 0)
        {
            frames.remove(oldest);
        }
        frames.push((index, frame.clone()));
        Ok(frame)
    }

    /// Frame 0, if it is needed and can be read.
    fn first(&self, wish: &Wish) -> Option<Arc<Frame>> {
        if wish.channel.as_deref() == Some("strain") { self.frame(0).ok() } else { None }
    }

    /// The porous grid of a frame, if somebody can find it.
    fn porous(&self, frame: &Frame, survey: Option<Survey>) -> Result<Option<Porous>> {
        let found = self.scene.as_ref().zip(survey).map(|(scene, survey)| survey(scene, frame));
        found.transpose().map_err(ViewError::Request)
    }

    fn views(&self, time: f64) -> Vec<(String, View)> {
        let Some(scene) = &self.scene else { return Vec::new() };
        scene.cameras.iter().map(|camera| (camera.name.clone(), View::from_scene(scene, camera, time))).collect()
    }
}

/// A lock that a panic of another request cannot take away: what it guards is only a cache.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The run folders beside these, by name: what a run can be compared with.
pub fn beside(folders: &[PathBuf]) -> Vec<PathBuf> {
    /// More than a list in a page can hold.
    const MOST: usize = 300;
    let mut parents: Vec<PathBuf> =
        (folders.iter()).filter_map(|folder| fs::canonicalize(folder).ok()?.parent().map(Path::to_owned)).collect();
    parents.sort();
    parents.dedup();
    let entries = parents.iter().filter_map(|parent| fs::read_dir(parent).ok()).flatten().flatten();
    let mut runs: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.join("run.json").is_file()).take(MOST).collect();
    runs.sort();
    runs
}
