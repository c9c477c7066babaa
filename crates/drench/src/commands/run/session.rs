//! One session of a run: from where the last one stopped to the last frame.
//!
//! After each frame its file is written first, then its statistics, then, now and then, a checkpoint. Pictures come
//! after that and cannot harm it: if one fails, the simulation goes on without.

use super::resume_command;
use crate::cli::RunArguments;
use crate::failure::Failure;
use crate::pictures::Gallery;
use crate::progress::Progress;
use crate::{scene_argument, text};
use drench_io::checkpoint::Kept;
use drench_io::run_folder::Rewind;
use drench_io::{Checkpoint, Claim, Frame, FrameStats, RunFolder, RunRecord, RunStatus, clock, fingerprint};
use drench_scene::Scene;
use drench_sim::Simulation;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A run in progress.
pub struct Session<'a> {
    scene: &'a Scene,
    folder: RunFolder,
    simulation: Simulation,
    stats: Vec<FrameStats>,
    gallery: Option<Gallery<'a>>,
    picture_failure: Option<Failure>,
    movie: Option<PathBuf>,
    fingerprint: u64,
    resume_command: String,
    /// Whether somebody wants it to stop after the frame in hand.
    stop: &'a (dyn Fn() -> bool + Sync),
    /// What the statistics of the next frame warn of.
    note: Option<String>,
    begun: Instant,
    /// Elapsed time of earlier sessions [s].
    before: f64,
}

/// Where a session begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At frame 0; a run that is in the folder is replaced only if that is allowed.
    New { replace: bool },
    /// Where the same run stopped; at frame 0 if there is none.
    Resume,
    /// At the last checkpoint of another scene's run at or before this frame.
    Branch { frame: u32 },
}

impl Start {
    /// What the arguments ask for.
    pub fn of(arguments: &RunArguments) -> Self {
        if arguments.resume { Self::Resume } else { Self::New { replace: arguments.force } }
    }
}

impl<'a> Session<'a> {
    /// Makes or takes up the run folder and brings the simulation to where it goes on. `stop` is asked between frames.
    pub fn open(
        scene: &'a Scene,
        arguments: &RunArguments,
        start: Start,
        path: &Path,
        threads: usize,
        stop: &'a (dyn Fn() -> bool + Sync),
        progress: &Progress,
    ) -> Result<Self, Failure> {
        let begun = Instant::now();
        let record = new_record(scene, arguments, threads);
        let earlier = if matches!(start, Start::New { .. }) { None } else { RunFolder::resume(path)? };
        if start == Start::Resume && earlier.is_none() {
            progress.message(&format!("nothing to resume in {}: the run begins anew", path.display()));
        }
        // The folder is claimed before the simulation is built, which may take long, and changed only after.
        let place = match (earlier, start) {
            (Some(folder), Start::Branch { .. }) => Place::Earlier(Box::new(folder)),
            (Some(folder), _) => {
                same_run(&folder.record, &record)?;
                Place::Earlier(Box::new(folder))
            }
            (None, _) => Place::New(Claim::new(path, start == Start::New { replace: true })?),
        };
        progress.stage(&format!("building {}", scene.name));
        let mut simulation =
            Simulation::build(scene).map_err(|error| scene_argument::refused(&arguments.scene, error))?;
        for warning in simulation.warnings() {
            progress.message(&format!("warning: {warning}"));
        }
        let fingerprint = fingerprint(&essence(&record));
        let mut note = None;
        let (folder, stats) = match place {
            Place::New(claim) => (claim.begin(record)?, Vec::new()),
            Place::Earlier(mut folder) => {
                let stats = match start {
                    Start::Branch { frame } => {
                        let stats = branch_off(&mut folder, &mut simulation, frame)?;
                        note =
                            Some("the scene was changed here: earlier frames were made with other values".to_owned());
                        stats
                    }
                    _ => take_up(&mut folder, &mut simulation, fingerprint, progress)?,
                };
                let before = folder.record.wall_seconds;
                folder.record = RunRecord { started: folder.record.started, wall_seconds: before, ..record };
                folder.save_record()?;
                (*folder, stats)
            }
        };
        let before = folder.record.wall_seconds;
        let mut session = Self {
            scene,
            folder,
            simulation,
            stats,
            gallery: None,
            picture_failure: None,
            movie: None,
            fingerprint,
            resume_command: resume_command(arguments),
            stop,
            note,
            begun,
            before,
        };
        if !arguments.no_render {
            match Gallery::new(scene, &scene.render, None, path) {
                Ok(gallery) => session.gallery = Some(gallery),
                Err(failure) => session.give_up_pictures(failure, progress),
            }
        }
        Ok(session)
    }

    /// Keeps checkpoints of all the run, not only the last, so that it can branch off anywhere.
    pub fn keep_the_way_back(&mut self) {
        self.folder.kept = Kept::Spread;
    }

    /// Simulates and writes the frames that are missing.
    pub fn write_frames(&mut self, progress: &mut Progress) -> Result<(), Failure> {
        let last = self.scene.simulation.frames;
        let present = self.simulation.frame_index();
        progress.event(
            "start",
            json!({
                "name": self.scene.name, "folder": self.folder.path(), "frames": last, "from_frame": present,
                "threads": self.folder.record.threads, "version": self.folder.record.version,
            }),
        );
        if self.note.is_some() {
            // The one that the folder has is of the other scene.
            self.write_checkpoint()?;
        }
        progress.begin("frame", u64::from(last), u64::from(present));
        let outcome = self.frame_loop(last, progress);
        progress.end();
        let status = match &outcome {
            Ok(()) => RunStatus::Finished,
            Err(Failure::Interrupted(_)) => RunStatus::Interrupted,
            Err(Failure::Diverged(_)) => RunStatus::Diverged,
            Err(_) => RunStatus::Failed,
        };
        let saved = self.save_record(status);
        // What stopped the simulation is the news, not that the disk is full for the record too.
        outcome.and(saved)
    }

    fn frame_loop(&mut self, last: u32, progress: &mut Progress) -> Result<(), Failure> {
        if self.folder.cache().is_none() {
            let begun = self.simulation.begin_unless(self.stop);
            let Some(stats) = begun.map_err(|error| self.diverged(error.into()))? else {
                let message = format!("stopped before the first frame; begin again with\n  {}", self.resume_command);
                return Err(Failure::Interrupted(message));
            };
            self.finish_frame(stats, progress)?;
            self.write_checkpoint()?;
        }
        while self.simulation.frame_index() < last {
            self.stop_if_asked()?;
            let stats = self.simulation.advance_frame().map_err(|error| self.diverged(error.into()))?;
            let (index, note, event) = (stats.frame, note(&stats), json!({ "stats": stats }));
            self.finish_frame(stats, progress)?;
            progress.step(&note, event);
            if index.is_multiple_of(self.scene.simulation.checkpoint_every) || index == last {
                self.write_checkpoint()?;
            }
        }
        Ok(())
    }

    /// Puts a frame and its figures on the disk, then draws it.
    fn finish_frame(&mut self, mut stats: FrameStats, progress: &Progress) -> Result<(), Failure> {
        let clock = Instant::now();
        stats.warnings.extend(self.note.take());
        let frame = self.simulation.frame();
        self.folder.write_frame(&frame)?;
        stats.stages.insert("write".to_owned(), clock.elapsed().as_secs_f64() * 1e3);
        self.folder.append_stats(&stats)?;
        for warning in &stats.warnings {
            progress.message(&format!("frame {}: {warning}", stats.frame));
        }
        self.stats.push(stats);
        self.draw(&frame, progress);
        Ok(())
    }

    fn draw(&mut self, frame: &Frame, progress: &Progress) {
        let Some(gallery) = &mut self.gallery else { return };
        gallery.look_at(frame);
        if gallery.wants(frame.index)
            && let Err(failure) = gallery.draw(frame)
        {
            self.give_up_pictures(failure, progress);
        }
    }

    fn give_up_pictures(&mut self, failure: Failure, progress: &Progress) {
        if !matches!(failure, Failure::Interrupted(_)) {
            progress.message(&format!("no more pictures: {failure}\n  the frames are not affected"));
        }
        self.gallery = None;
        self.picture_failure = Some(failure);
    }

    fn write_checkpoint(&self) -> Result<(), Failure> {
        let (frame, state) = (self.simulation.frame_index(), self.simulation.checkpoint());
        Ok(self.folder.write_checkpoint(&Checkpoint { frame, scene: self.fingerprint, state })?)
    }

    fn stop_if_asked(&self) -> Result<(), Failure> {
        if !(self.stop)() {
            return Ok(());
        }
        self.write_checkpoint()?;
        let frame = self.simulation.frame_index();
        Err(Failure::Interrupted(format!("stopped after frame {frame}; go on with\n  {}", self.resume_command)))
    }

    fn diverged(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Diverged(message) => Failure::Diverged(format!(
                "{message}\n  {} in {}\n  fix: more substeps, such as --set simulation.substeps={} --force",
                match self.stats.last() {
                    Some(last) => format!("frames up to {} are kept", last.frame),
                    None => "no frame was finished".to_owned(),
                },
                self.folder.path().display(),
                self.scene.simulation.substeps * 2,
            )),
            other => other,
        }
    }

    fn save_record(&mut self, status: RunStatus) -> Result<(), Failure> {
        self.folder.record.status = status;
        self.folder.record.wall_seconds = self.before + self.begun.elapsed().as_secs_f64();
        Ok(self.folder.save_record()?)
    }

    /// Draws the pictures that an earlier session did not get to, and makes the movie. A failure is kept for later.
    pub fn finish_pictures(&mut self, progress: &mut Progress) {
        let Some(mut gallery) = self.gallery.take() else { return };
        match self.make_movie(&mut gallery, progress) {
            Ok(movie) => {
                progress.event("movie", json!({ "path": movie }));
                self.movie = movie;
                self.gallery = Some(gallery);
            }
            Err(failure) => self.give_up_pictures(failure, progress),
        }
    }

    fn make_movie(&self, gallery: &mut Gallery, progress: &mut Progress) -> Result<Option<PathBuf>, Failure> {
        let Some(cache) = self.folder.cache() else { return Ok(None) };
        let frames = cache.indices()?;
        let missing: Vec<u32> =
            frames.iter().copied().filter(|&frame| gallery.wants(frame) && !gallery.has(frame)).collect();
        if let (Some(&first), false) = (frames.first(), missing.is_empty()) {
            gallery.look_at(&cache.read(first)?);
            progress.begin("picture", missing.len() as u64, 0);
            for frame in missing {
                gallery.draw(&cache.read(frame)?)?;
                progress.step(&format!("frame {frame}"), json!({ "frame": frame }));
                if (self.stop)() {
                    return Err(Failure::Interrupted(format!("stopped; go on with\n  {}", self.resume_command)));
                }
            }
            progress.end();
        }
        progress.stage("making the movie");
        gallery.movie(&frames)
    }

    pub fn scene(&self) -> &Scene {
        self.scene
    }

    pub fn folder(&self) -> &RunFolder {
        &self.folder
    }

    pub fn stats(&self) -> &[FrameStats] {
        &self.stats
    }

    pub fn movie(&self) -> Option<&Path> {
        self.movie.as_deref()
    }

    pub fn has_pictures(&self) -> bool {
        self.gallery.is_some()
    }

    /// Why there are not all pictures, if so.
    pub fn picture_failure(self) -> Option<Failure> {
        self.picture_failure
    }
}

/// Where a run is written to.
enum Place {
    New(Claim),
    Earlier(Box<RunFolder>),
}

fn new_record(scene: &Scene, arguments: &RunArguments, threads: usize) -> RunRecord {
    RunRecord {
        name: scene.name.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: scene.simulation.seed,
        threads,
        size: arguments.scene.size.map(|size| size.word().to_owned()),
        frames: scene.simulation.frames,
        fps: scene.simulation.fps,
        status: RunStatus::Running,
        started: clock::now(),
        updated: clock::now(),
        wall_seconds: 0.0,
        base: scene_argument::folder(&arguments.scene),
        scene: scene.to_toml(),
    }
}

/// What decides the bits of a run: its version and its scene, but not how many frames of it are wanted.
fn essence(record: &RunRecord) -> String {
    let counts_frames = |line: &&str| line.trim_start().starts_with("frames =");
    let scene: Vec<&str> = record.scene.lines().filter(|line| !counts_frames(line)).collect();
    format!("{}\n{}", record.version, scene.join("\n"))
}

/// Whether a run may be gone on with: it must have been the same, except for the number of frames.
fn same_run(earlier: &RunRecord, now: &RunRecord) -> Result<(), Failure> {
    let (before, after) = (essence(earlier), essence(now));
    if before == after {
        return Ok(());
    }
    let fix = "fix: repeat the arguments of the first run, or begin anew with --force";
    if earlier.version != now.version {
        let versions = format!("it was begun by Drench {}, this is {}", earlier.version, now.version);
        return Err(Failure::Input(format!("cannot go on with this run: {versions}\n  {fix}")));
    }
    let differing = before.lines().zip(after.lines()).find(|(before, after)| before != after);
    let difference = match differing {
        Some((before, after)) => format!("\n  then: {}\n  now:  {}", before.trim(), after.trim()),
        None => " one is longer than the other".to_owned(),
    };
    Err(Failure::Input(format!("cannot go on with this run: its scene was another:{difference}\n  {fix}")))
}

/// Whether a folder holds this run with all its frames, or as far as it gets. Another run in it is an error.
pub fn is_done(path: &Path, scene: &Scene, arguments: &RunArguments) -> Result<bool, Failure> {
    let earlier = RunRecord::read(path)?;
    let now = new_record(scene, arguments, earlier.threads);
    same_run(&earlier, &now).map_err(|failure| Failure::Input(format!("{}: {failure}", path.display())))?;
    // Frames come first, then pictures: an interrupt between the two leaves no movie.
    let drawn = arguments.no_render || now.frames < 2 || path.join("movie.mp4").exists();
    let ended = earlier.status == RunStatus::Diverged || earlier.status == RunStatus::Finished && drawn;
    Ok(ended && earlier.frames == now.frames)
}

/// Rewinds the folder and brings the simulation to where it goes on. Returns the statistics so far.
fn take_up(
    folder: &mut RunFolder,
    simulation: &mut Simulation,
    fingerprint: u64,
    progress: &Progress,
) -> Result<Vec<FrameStats>, Failure> {
    let Rewind { checkpoint, stats, messages } = folder.rewind(fingerprint)?;
    for message in messages {
        progress.message(&message);
    }
    match checkpoint {
        Some(checkpoint) => {
            simulation.restore(&checkpoint.state)?;
            progress.message(&format!("going on after frame {}", checkpoint.frame));
        }
        None => progress.message("there is no checkpoint to go on from: the run begins anew"),
    }
    Ok(stats)
}

/// Rewinds the folder to the last checkpoint at or before a frame, and brings the simulation, of another scene, there.
/// Nothing is removed before it is certain that the state fits. Returns the statistics so far.
fn branch_off(folder: &mut RunFolder, simulation: &mut Simulation, frame: u32) -> Result<Vec<FrameStats>, Failure> {
    let fix = "fix: rerun from frame 0";
    // It may be of a scene before the last: runs can branch off again and again.
    let checkpoint = folder
        .checkpoint_before(frame)?
        .ok_or_else(|| Failure::Input(format!("no checkpoint at or before frame {frame} is kept\n  {fix}")))?;
    simulation.restore(&checkpoint.state).map_err(|error| {
        Failure::Input(format!("what was changed does not fit frame {}: {error}\n  {fix}", checkpoint.frame))
    })?;
    Ok(folder.rewind_to(None, checkpoint.frame)?.stats)
}

/// What the bar says of a frame.
fn note(stats: &FrameStats) -> String {
    let mut note = format!("{} ms", text::figure(stats.wall_ms));
    if let Some(strain) = stats.strain {
        note += &format!(", stretch {} %", text::figure(100.0 * strain.max));
    }
    note
}
