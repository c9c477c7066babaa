//! The charts of a run: where the water is, where the time goes, how many there are of everything, how far it stretches.

use crate::chart::{Chart, Kind, Panel, Series};
use drench_io::{FrameStats, Water};
use std::collections::{BTreeMap, BTreeSet};

/// Stages with a colour of their own; the others are one.
const STAGES: usize = 7;
/// By how much the books may be wrong, as the contract promises.
const TOLERANCE: f64 = 1e-9;
/// Books that balance to the last bit have no place on a scale of powers: they are shown here.
const NOTHING: f64 = 1e-18;

/// A chart with the name of its file.
pub struct Plot {
    /// Name of the file without its ending.
    pub name: &'static str,
    /// What it shows, for a heading.
    pub title: &'static str,
    /// The chart.
    pub chart: Chart,
}

/// All charts that the figures of a run allow.
pub fn plots(stats: &[FrameStats]) -> Vec<Plot> {
    let plot = |name, title, panels: Option<Vec<Panel>>| {
        let places = stats.iter().map(|stats| stats.time).collect();
        panels.map(|panels| Plot {
            name,
            title,
            chart: Chart { horizontal: "simulated time [s]".into(), places, panels },
        })
    };
    [
        plot("water", "Water", water(stats)),
        plot("stages", "Time per stage", stages(stats)),
        plot("counts", "Counts", counts(stats)),
        plot("strain", "Stretch", strain(stats)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn water(stats: &[FrameStats]) -> Option<Vec<Panel>> {
    let of = |value: &dyn Fn(&Water) -> f64| -> Vec<f64> {
        stats.iter().map(|stats| stats.water.as_ref().map_or(f64::NAN, value)).collect()
    };
    let waters = || stats.iter().filter_map(|stats| stats.water.as_ref());
    let names: BTreeSet<&str> = waters().flat_map(|water| water.reservoirs.keys().map(String::as_str)).collect();
    let largest = waters().flat_map(|water| [water.total, water.emitted, water.drained]).reduce(f64::max)?;
    let (factor, unit) = scale(largest, [(1.0, "kg"), (1e3, "g"), (1e6, "mg")]);
    let mut series: Vec<Series> = names
        .into_iter()
        .map(|name| {
            let values = of(&|water| factor * water.reservoirs.get(name).copied().unwrap_or(0.0));
            Series::new(name.replace('_', " "), values)
        })
        .filter(|series| series.values.iter().any(|&value| value != 0.0))
        .collect();
    // The largest at the bottom, where its outline is its own.
    series.sort_by(|a, b| last(&b.values).total_cmp(&last(&a.values)));
    // Water in hair or sand is little beside a pool, and is what matters.
    let beside = (series.len() > 1).then(|| {
        let title = format!("The same without {}", series[0].name);
        let rest = series[1..].to_vec();
        Panel { first_colour: 1, ..panel(&title, format!("mass [{unit}]"), Kind::Stacked, 180.0, rest) }
    });
    for (name, value) in
        [("let in so far", of(&|water| factor * water.emitted)), ("let out so far", of(&|w| factor * w.drained))]
    {
        if value.iter().any(|&value| value > 0.0) {
            series.push(Series { dashed: true, ..Series::new(name, value) });
        }
    }
    let error = of(&|water| water.error.abs().max(NOTHING));
    let promise = Series { dashed: true, ..Series::new("promised bound", vec![TOLERANCE; stats.len()]) };
    let error = vec![Series::new("error", error), promise];
    let mut panels = vec![panel("Where the water is", format!("mass [{unit}]"), Kind::Stacked, 280.0, series)];
    panels.extend(beside);
    panels.push(panel("How far the books are off", "|error| / total".into(), Kind::Powers, 150.0, error));
    Some(panels)
}

fn stages(stats: &[FrameStats]) -> Option<Vec<Panel>> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (stage, ms) in stats.iter().flat_map(|stats| &stats.stages) {
        *sums.entry(stage).or_default() += ms;
    }
    let mut order: Vec<(&str, f64)> = sums.into_iter().filter(|(_, ms)| *ms > 0.0).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    let of = |names: &[(&str, f64)], factor: f64| -> Vec<f64> {
        let sum = |stats: &FrameStats| names.iter().filter_map(|(name, _)| stats.stages.get(*name)).sum::<f64>();
        stats.iter().map(|stats| factor * sum(stats)).collect()
    };
    let largest = of(&order, 1.0).into_iter().reduce(f64::max)?;
    let (factor, unit) = scale(largest, [(1e-3, "s"), (1.0, "ms"), (1e3, "\u{b5}s")]);
    let (shown, rest) = order.split_at(order.len().min(STAGES));
    let mut series: Vec<Series> = shown.iter().map(|stage| Series::new(stage.0, of(&[*stage], factor))).collect();
    if !rest.is_empty() {
        series.push(Series::new(format!("{} others", rest.len()), of(rest, factor)));
    }
    let title = "Where the time goes";
    (!series.is_empty()).then(|| vec![panel(title, format!("time per frame [{unit}]"), Kind::Stacked, 300.0, series)])
}

fn counts(stats: &[FrameStats]) -> Option<Vec<Panel>> {
    let names: BTreeSet<&str> = stats.iter().flat_map(|stats| stats.counts.keys().map(String::as_str)).collect();
    let series: Vec<Series> = names
        .into_iter()
        .map(|name| {
            // Nothing has no place on a scale of powers.
            let value = |stats: &FrameStats| stats.counts.get(name).map_or(f64::NAN, |&count| count as f64);
            Series::new(name.replace('_', " "), stats.iter().map(value).collect())
        })
        .filter(|series| series.values.iter().any(|&value| value > 0.0))
        .collect();
    (!series.is_empty()).then(|| vec![panel("How many there are", "number".into(), Kind::Powers, 280.0, series)])
}

fn strain(stats: &[FrameStats]) -> Option<Vec<Panel>> {
    let of = |value: fn(&drench_io::Strain) -> f64| -> Vec<f64> {
        stats.iter().map(|stats| stats.strain.as_ref().map_or(f64::NAN, |strain| 100.0 * value(strain))).collect()
    };
    stats.iter().find(|stats| stats.strain.is_some())?;
    let series = vec![Series::new("largest", of(|strain| strain.max)), Series::new("mean", of(|strain| strain.mean))];
    let speed = Series::new("speed", stats.iter().map(|stats| stats.speed_max).collect());
    Some(vec![
        panel("How far strands stretch", "strain [%]".into(), Kind::Lines, 220.0, series),
        panel("How fast the fastest is", "speed [m/s]".into(), Kind::Lines, 150.0, vec![speed]),
    ])
}

fn panel(title: &str, vertical: String, kind: Kind, height: f64, series: Vec<Series>) -> Panel {
    // Every name in the legend needs a line.
    let height = height.max(20.0 * series.len() as f64);
    Panel { title: title.into(), vertical, kind, height, series, first_colour: 0 }
}

fn last(values: &[f64]) -> f64 {
    values.last().copied().unwrap_or(0.0)
}

/// The first unit in which the largest value is at least a tenth, or the last.
fn scale(largest: f64, units: [(f64, &'static str); 3]) -> (f64, &'static str) {
    units.into_iter().find(|(factor, _)| largest * factor >= 0.1).unwrap_or(units[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Vec<FrameStats> {
        let stats = |frame: u32| FrameStats {
            frame,
            time: f64::from(frame) / 25.0,
            stages: BTreeMap::from_iter((0..10).map(|i| (format!("stage{i}"), f64::from(i)))),
            counts: BTreeMap::from([("strands".into(), 100), ("contacts".into(), 0)]),
            water: Some(Water {
                reservoirs: BTreeMap::from([("bulk".into(), 2e-3), ("film".into(), 1e-3), ("unused".into(), 0.0)]),
                total: 3e-3,
                emitted: 3e-3,
                ..Water::default()
            }),
            ..FrameStats::default()
        };
        (0..5).map(stats).collect()
    }

    #[test]
    fn charts_show_what_the_run_has_and_nothing_else() {
        let plots = plots(&run());
        let names: Vec<&str> = plots.iter().map(|plot| plot.name).collect();
        assert_eq!(names, ["water", "stages", "counts"], "there are no strands that could stretch");
        let legend = |plot: usize, panel: usize| -> Vec<String> {
            plots[plot].chart.panels[panel].series.iter().map(|series| series.name.clone()).collect()
        };
        assert_eq!(legend(0, 0), ["bulk", "film", "let in so far"]);
        assert_eq!(plots[0].chart.panels[0].vertical, "mass [g]");
        assert_eq!(plots[0].chart.panels[0].series[0].values[0], 2.0);
        assert_eq!(legend(0, 1), ["film"]);
        assert_eq!(plots[0].chart.panels[1].first_colour, 1, "the colour that it has above");
        assert_eq!(legend(1, 0).last().unwrap(), "2 others");
        assert_eq!(legend(2, 0), ["strands"]);
    }

    #[test]
    fn a_run_without_frames_has_no_charts() {
        assert!(plots(&[]).is_empty());
    }
}
