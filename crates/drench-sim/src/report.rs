//! What a step tells about itself: time per stage, counted events, warnings.

use crate::hair::Dripping;
use std::collections::BTreeMap;
use std::time::Instant;

/// Gathers the stages of the substeps of one frame.
#[derive(Debug, Default)]
pub struct Report {
    stages: Vec<(&'static str, f64)>,
    /// Most vertices that touched a solid in one substep.
    pub contacts: u64,
    /// Deepest that a vertex lay inside a solid at the end of a substep [m].
    pub penetration_max: f64,
    /// Most solver iterations that a strand took in one substep.
    pub iterations_max: u32,
    /// Most pairs of segments that pressed on each other in one substep.
    pub collisions: u64,
    /// Shortest and longest step that a model took within a substep [s].
    lengths: Option<[f64; 2]>,
    /// Largest mean compression of the liquid that its pressure solves left, and per step.
    pub compression: Option<[f64; 2]>,
    /// Steps of the liquid.
    pub liquid_steps: u64,
    /// Steps of grains, and times that their neighbours were searched.
    pub grain_steps: [u64; 2],
    /// Tears of cords.
    pub tears: u64,
    /// Drops that left hair.
    pub dripping: Dripping,
    /// Bridges of water between strands, at the end.
    pub bridges: u64,
    warnings: BTreeMap<String, u64>,
}

impl Report {
    /// Runs one stage of the step and books its time under `name`.
    pub fn stage<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        self.timed(name, |_| work())
    }

    /// Like [`Report::stage`], for work that reports by itself.
    pub fn timed<T>(&mut self, name: &'static str, work: impl FnOnce(&mut Self) -> T) -> T {
        let start = Instant::now();
        let result = work(self);
        let ms = start.elapsed().as_secs_f64() * 1e3;
        match self.stages.iter_mut().find(|(stage, _)| *stage == name) {
            Some((_, total)) => *total += ms,
            None => self.stages.push((name, ms)),
        }
        result
    }

    /// Notes the shortest and the longest step that a model took within a substep [s].
    pub fn step_lengths(&mut self, shortest: f64, longest: f64) {
        let [low, high] = self.lengths.unwrap_or([shortest, longest]);
        self.lengths = Some([low.min(shortest), high.max(longest)]);
    }

    /// Shortest and longest step that a model took within a substep [s], if one took its own.
    pub fn lengths(&self) -> Option<[f64; 2]> {
        self.lengths
    }

    /// Notes a degraded result. The same text is counted, not repeated.
    pub fn warn(&mut self, text: String) {
        *self.warnings.entry(text).or_default() += 1;
    }

    /// Time per stage [ms], in order of first use.
    pub fn stages(&self) -> &[(&'static str, f64)] {
        &self.stages
    }

    /// The warnings, each once, with the number of substeps that it came in if more than one.
    pub fn warnings(&self) -> Vec<String> {
        let text = |(text, count): (&String, &u64)| match count {
            1 => text.clone(),
            _ => format!("{text} (in {count} substeps)"),
        };
        self.warnings.iter().map(text).collect()
    }
}

/// Begins to look for the most memory anew, where the system lets it.
pub fn forget_peak_memory() {
    // Where this cannot be written the peak is that of the whole process, as it would be without.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The most memory that this process has held so far, or since it was last forgotten [MB], or 0 where the system does not say.
pub fn peak_memory_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.trim().trim_end_matches(" kB").trim().parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1024.0
}
