//! The closing words of a run: what was simulated, where the time went, what came of the expectations, what next.

use super::session::Session;
use crate::expectations::{self, Outcome};
use crate::text;
use drench_io::{FrameStats, Water};
use std::collections::BTreeMap;
use std::time::Duration;

/// The whole summary.
pub fn text(session: &Session, outcomes: &[Outcome]) -> String {
    let folder = session.folder().path();
    let mut parts = vec![headline(session), stages(session.stats())];
    parts.extend(session.stats().last().and_then(|last| last.water.as_ref()).map(water));
    if !outcomes.is_empty() {
        parts.push(expectations::table(outcomes));
    }
    let mut places = vec![format!("frames    {}", folder.join("frames").display())];
    if session.has_pictures() {
        places.push(format!("pictures  {}", folder.join("images").display()));
    }
    places.extend(session.movie().map(|movie| format!("movie     {}", movie.display())));
    parts.push(places.join("\n"));
    parts.push(format!("next:  drench info {0}\n       drench render {0} --resolution 1920x1080", folder.display()));
    format!("\n{}", parts.join("\n\n"))
}

fn headline(session: &Session) -> String {
    let scene = session.scene();
    let record = &session.folder().record;
    let mut counts = String::new();
    if let Some(last) = session.stats().last() {
        let present = last.counts.iter().filter(|(_, count)| **count > 0);
        let words: Vec<String> =
            present.map(|(name, count)| format!("{} {}", text::count(*count), name.replace('_', " "))).collect();
        counts = if words.is_empty() { String::new() } else { format!(": {}", words.join(", ")) };
    }
    format!(
        "{}{counts}\n{} frames, {} s of motion, in {} on {} threads",
        scene.name,
        text::count(u64::from(scene.simulation.frames)),
        text::figure(scene.duration()),
        text::duration(Duration::try_from_secs_f64(record.wall_seconds).unwrap_or_default()),
        record.threads,
    )
}

/// Time per stage, the longest first.
fn stages(stats: &[FrameStats]) -> String {
    let mut total: BTreeMap<&str, f64> = BTreeMap::new();
    for (stage, ms) in stats.iter().filter(|stats| stats.frame > 0).flat_map(|stats| &stats.stages) {
        *total.entry(stage).or_default() += ms;
    }
    let whole: f64 = total.values().sum();
    let frames = stats.iter().filter(|stats| stats.frame > 0).count().max(1);
    let mut stages: Vec<(&str, f64)> = total.into_iter().collect();
    stages.sort_by(|a, b| b.1.total_cmp(&a.1));
    let rows: Vec<Vec<String>> = stages
        .into_iter()
        .map(|(stage, ms)| {
            let share = if whole > 0.0 { 100.0 * ms / whole } else { 0.0 };
            vec![stage.to_owned(), format!("{:.2}", ms / frames as f64), format!("{share:.0} %")]
        })
        .collect();
    text::table(&["stage", "ms per frame", "share"], &rows)
}

/// Where the water is at the end.
fn water(water: &Water) -> String {
    let reservoirs = water.reservoirs.iter().map(|(name, mass)| (name.as_str(), *mass));
    let books =
        [("total", water.total), ("emitted", water.emitted), ("drained", water.drained), ("error", water.error)];
    let rows: Vec<Vec<String>> =
        reservoirs.chain(books).map(|(name, value)| vec![name.to_owned(), text::figure(value)]).collect();
    text::table(&["water", "kg"], &rows)
}
