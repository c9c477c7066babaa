//! A scene that is simulated behind the page: one thread that makes the frames of one run after the other.

use super::free_folder;
use crate::cli::RunArguments;
use crate::commands::run::session::{Session, Start};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::scene_argument;
use drench_scene::{Scene, Source, schema};
use drench_view::{Live, LiveState, LiveStatus, Request};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// A simulation behind the page.
pub struct Simulated {
    arguments: RunArguments,
    threads: usize,
    /// The scene as it was given, with every table written out, so that any key can be set.
    given: Source,
    /// Where the first run is written; further ones that are kept get a number.
    base: PathBuf,
    desk: Mutex<Desk>,
    /// Rings when something on the desk changed.
    bell: Condvar,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the page and the simulating thread have in common.
struct Desk {
    scene: Scene,
    folder: PathBuf,
    set: BTreeMap<String, String>,
    state: LiveState,
    message: String,
    paused: bool,
    /// The next run, if one was asked for.
    next: Option<Job>,
    /// The viewer is being closed.
    closing: bool,
}

/// A run to make.
struct Job {
    scene: Scene,
    start: Start,
    folder: PathBuf,
}

impl Simulated {
    /// A simulation of `scene`, which the arguments name; it begins with [`Simulated::begin`].
    pub fn new(arguments: RunArguments, scene: Scene, folder: PathBuf, threads: usize) -> Self {
        let name = arguments.scene.scene.clone();
        let directory = scene_argument::folder(&arguments.scene);
        let given = Source::Text { name, text: scene.to_toml(), directory };
        let job = Job { scene: scene.clone(), start: Start::New { replace: false }, folder: folder.clone() };
        let desk = Desk {
            scene,
            folder: folder.clone(),
            set: BTreeMap::new(),
            state: LiveState::Building,
            message: String::new(),
            paused: false,
            next: Some(job),
            closing: false,
        };
        Self {
            arguments,
            threads,
            given,
            base: folder,
            desk: Mutex::new(desk),
            bell: Condvar::new(),
            thread: Mutex::default(),
        }
    }

    /// Starts the thread.
    pub fn begin(self: &Arc<Self>) {
        let worker = self.clone();
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(std::thread::spawn(move || worker.work()));
    }

    /// Stops after the frame in hand.
    pub fn end(&self) {
        self.desk().closing = true;
        self.bell.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // If it panicked, that was told already.
            let _ = thread.join();
        }
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        while let Some(job) = self.next_job() {
            let done = catch_unwind(AssertUnwindSafe(|| self.make(&job)));
            let (state, message) = match done {
                Ok(Ok(())) => (LiveState::Finished, String::new()),
                // It was asked to make way for the next, or to close.
                Ok(Err(Failure::Interrupted(_))) => continue,
                Ok(Err(failure)) => (LiveState::Failed, failure.to_string()),
                Err(_) => (LiveState::Failed, "the simulation failed by a mistake of Drench's own".to_owned()),
            };
            let mut desk = self.desk();
            (desk.state, desk.message) = (state, message);
        }
    }

    /// Waits for the next run to make; none when the viewer is closed.
    fn next_job(&self) -> Option<Job> {
        let mut desk = self.desk();
        loop {
            if desk.closing {
                return None;
            }
            if let Some(job) = desk.next.take() {
                desk.state = LiveState::Building;
                desk.message.clear();
                return Some(job);
            }
            desk = self.bell.wait(desk).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn make(&self, job: &Job) -> Result<(), Failure> {
        let mut progress = Progress::new(self.arguments.voice);
        let stop = || self.should_stop();
        let mut session =
            Session::open(&job.scene, &self.arguments, job.start, &job.folder, self.threads, &stop, &progress)?;
        session.keep_the_way_back();
        session.write_frames(&mut progress)
    }

    /// Asked between frames, and between steps before the first: waits as long as the page wants a pause.
    fn should_stop(&self) -> bool {
        let mut desk = self.desk();
        loop {
            if desk.closing || desk.next.is_some() {
                return true;
            }
            if !desk.paused {
                desk.state = LiveState::Running;
                return false;
            }
            desk.state = LiveState::Paused;
            desk = self.bell.wait(desk).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn rerun(&self, set: BTreeMap<String, String>, from: Option<u32>, keep: bool) -> Result<(), String> {
        let overrides: Vec<(String, String)> = set.clone().into_iter().collect();
        let scene =
            drench_scene::load(self.given.clone(), None, &overrides).map_err(|problems| problems.to_string())?;
        let mut desk = self.desk();
        if keep && from.is_some() {
            return Err("a run that goes on from a frame replaces what came after it: it cannot be kept too\n  \
                        fix: rerun from frame 0"
                .to_owned());
        }
        if keep {
            desk.folder = free_folder(&self.base);
        }
        let start = match from {
            Some(frame) => Start::Branch { frame },
            None => Start::New { replace: true },
        };
        desk.next = Some(Job { scene: scene.clone(), start, folder: desk.folder.clone() });
        (desk.scene, desk.set, desk.paused) = (scene, set, false);
        (desk.state, desk.message) = (LiveState::Building, String::new());
        drop(desk);
        self.bell.notify_all();
        Ok(())
    }
}

impl Live for Simulated {
    fn folder(&self) -> PathBuf {
        self.desk().folder.clone()
    }

    fn status(&self) -> LiveStatus {
        let desk = self.desk();
        let state = if desk.paused && desk.state == LiveState::Running { LiveState::Paused } else { desk.state };
        LiveStatus { state, message: desk.message.clone(), set: desk.set.clone() }
    }

    fn request(&self, request: Request) -> Result<(), String> {
        match request {
            Request::Pause => self.desk().paused = true,
            Request::Resume => self.desk().paused = false,
            Request::Rerun { set, from, keep } => self.rerun(set, from, keep)?,
        }
        self.bell.notify_all();
        Ok(())
    }

    fn parameters(&self) -> Value {
        let parameters = schema::parameters(&self.desk().scene);
        let object = |p: schema::Parameter| {
            json!({
                "path": p.path, "value": p.value, "doc": p.doc, "wording": p.wording, "unit": p.unit, "range": p.range,
                "low": p.low, "high": p.high, "whole": p.whole, "words": p.words,
            })
        };
        parameters.into_iter().map(object).collect()
    }
}
