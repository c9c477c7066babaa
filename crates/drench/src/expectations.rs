//! What a scene asserts of its own statistics, compared with what came out.

use crate::text;
use drench_io::FrameStats;
use drench_scene::{Expectation, Over};
use serde_json::{Value, json};

/// An expectation and what came of it.
pub struct Outcome<'a> {
    pub expectation: &'a Expectation,
    /// The value, the worst one where every frame counts; nothing if no frame has such a figure.
    pub got: Option<f64>,
    pub pass: bool,
}

/// Compares all expectations with the statistics of a run.
pub fn evaluate<'a>(expectations: &'a [Expectation], stats: &[FrameStats]) -> Vec<Outcome<'a>> {
    expectations.iter().map(|expectation| outcome(expectation, stats)).collect()
}

fn outcome<'a>(expectation: &'a Expectation, stats: &[FrameStats]) -> Outcome<'a> {
    // Half a microsecond of grace: the time of a frame is a rounded number too.
    let until = expectation.until.unwrap_or(f64::INFINITY) + 5e-7;
    let counts = |stats: &&FrameStats| (expectation.from - 5e-7..=until).contains(&stats.time);
    let value = |stats: &FrameStats| {
        let less = expectation.less.as_ref().map_or(Some(0.0), |less| stats.figure(less))?;
        Some(stats.figure(&expectation.that)? - less)
    };
    let values: Vec<f64> = stats.iter().filter(counts).filter_map(value).collect();
    // How far a value is outside its bounds; negative inside.
    let excess = |value: f64| {
        let above = expectation.at_most.map_or(f64::NEG_INFINITY, |bound| value - bound);
        let below = expectation.at_least.map_or(f64::NEG_INFINITY, |bound| bound - value);
        above.max(below)
    };
    let largest = |a: f64, b: f64| a.max(b);
    let smallest = |a: f64, b: f64| a.min(b);
    let got = match expectation.over {
        Over::EveryFrame => values.iter().copied().reduce(|a, b| if excess(b) > excess(a) { b } else { a }),
        Over::LastFrame => values.last().copied(),
        Over::Maximum => values.iter().copied().reduce(largest),
        Over::Minimum => values.iter().copied().reduce(smallest),
        Over::Mean if values.is_empty() => None,
        Over::Mean => Some(values.iter().sum::<f64>() / values.len() as f64),
    };
    Outcome { expectation, got, pass: got.is_some_and(|value| excess(value) <= 0.0) }
}

impl Outcome<'_> {
    /// The figure that was looked at, or the two whose difference was.
    pub fn figure(&self) -> String {
        let Expectation { that, less, .. } = self.expectation;
        less.as_ref().map_or_else(|| that.clone(), |less| format!("{that} - {less}"))
    }

    /// What was expected, in words.
    pub fn bounds(&self) -> String {
        match (self.expectation.at_least, self.expectation.at_most) {
            (Some(low), Some(high)) => format!("{} to {}", text::figure(low), text::figure(high)),
            (Some(low), None) => format!("at least {}", text::figure(low)),
            (None, Some(high)) => format!("at most {}", text::figure(high)),
            (None, None) => "anything".to_owned(),
        }
    }

    /// Which of its values are meant, and when.
    fn over(&self) -> String {
        let Expectation { over, from, until, .. } = self.expectation;
        let over = over.word().replace('-', " ");
        match (*from, until) {
            (0.0, None) => over,
            (0.0, Some(until)) => format!("{over} until {until} s"),
            (from, None) => format!("{over} from {from} s"),
            (from, Some(until)) => format!("{over} from {from} s to {until} s"),
        }
    }

    pub fn to_json(&self) -> Value {
        let Expectation { that, less, over, from, until, at_least, at_most, because } = self.expectation;
        json!({
            "that": that, "less": less, "over": over.word(), "from": from, "until": until, "at_least": at_least,
            "at_most": at_most, "got": self.got, "pass": self.pass, "because": because,
        })
    }
}

/// The outcomes as a table.
pub fn table(outcomes: &[Outcome]) -> String {
    let row = |outcome: &Outcome| {
        vec![
            if outcome.pass { "pass" } else { "FAIL" }.to_owned(),
            outcome.figure(),
            outcome.over(),
            outcome.bounds(),
            outcome.got.map_or_else(|| "no such figure".to_owned(), text::figure),
            outcome.expectation.because.clone(),
        ]
    };
    text::table(&["", "figure", "over", "expected", "got", "because"], &outcomes.iter().map(row).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(speeds: &[f64]) -> Vec<FrameStats> {
        speeds.iter().map(|&speed_max| FrameStats { speed_max, ..FrameStats::default() }).collect()
    }

    fn expect(over: Over, at_least: Option<f64>, at_most: Option<f64>) -> Expectation {
        let (that, because) = ("speed_max".into(), String::new());
        Expectation { that, less: None, over, from: 0.0, until: None, at_least, at_most, because }
    }

    #[test]
    fn each_kind_of_value_is_compared_with_its_bounds() {
        let stats = stats(&[1.0, 4.0, 2.0]);
        for (over, got) in [(Over::LastFrame, 2.0), (Over::Maximum, 4.0), (Over::Minimum, 1.0), (Over::Mean, 7.0 / 3.0)]
        {
            for (bound, pass) in [(got + 0.1, true), (got - 0.1, false)] {
                let expectation = expect(over, None, Some(bound));
                let outcome = outcome(&expectation, &stats);
                assert_eq!((outcome.got, outcome.pass), (Some(got), pass), "{}", over.word());
            }
        }
    }

    #[test]
    fn the_worst_frame_is_shown_where_every_frame_counts() {
        let stats = stats(&[1.0, 4.0, 2.0]);
        let got = |at_least, at_most| {
            let expectation = expect(Over::EveryFrame, at_least, at_most);
            let outcome = outcome(&expectation, &stats);
            (outcome.got, outcome.pass)
        };
        assert_eq!(got(None, Some(4.0)), (Some(4.0), true));
        assert_eq!(got(None, Some(3.9)), (Some(4.0), false));
        assert_eq!(got(Some(1.5), None), (Some(1.0), false));
        assert_eq!(got(Some(0.5), Some(3.0)), (Some(4.0), false));
    }

    #[test]
    fn only_frames_between_the_times_count() {
        let mut stats = stats(&[1.0, 4.0, 2.0, 9.0]);
        stats.iter_mut().enumerate().for_each(|(frame, stats)| stats.time = 0.1 * frame as f64);
        let within = |from, until| Expectation { from, until, ..expect(Over::Maximum, None, Some(5.0)) };
        for (from, until, got) in
            [(0.0, Some(0.05), 1.0), (0.1, Some(0.2), 4.0), (0.2, None, 9.0), (0.15, Some(0.2), 2.0)]
        {
            let expectation = within(from, until);
            assert_eq!(outcome(&expectation, &stats).got, Some(got), "{from}");
        }
        assert!(!outcome(&within(1.0, None), &stats).pass);
    }

    #[test]
    fn of_two_figures_the_difference_in_each_frame_counts() {
        let mut stats = stats(&[1.0, 4.0, 2.0]);
        stats.iter_mut().zip([0.5, 3.8, 0.0]).for_each(|(stats, depth)| stats.penetration_max = depth);
        let mut expectation = expect(Over::EveryFrame, Some(0.15), None);
        expectation.less = Some("penetration_max".into());
        let least = outcome(&expectation, &stats);
        assert!(least.pass && (least.got.unwrap() - 0.2).abs() < 1e-12, "{:?}", least.got);
        expectation.at_least = Some(0.25);
        assert!(!outcome(&expectation, &stats).pass);
        assert!(table(&evaluate(std::slice::from_ref(&expectation), &stats)).contains("speed_max - penetration_max"));
        expectation.less = Some("strain.max".into());
        assert!(!outcome(&expectation, &stats).pass, "what is not there cannot be compared");
    }

    #[test]
    fn a_figure_that_never_came_fails() {
        let mut expectation = expect(Over::Maximum, None, Some(1.0));
        expectation.that = "strain.max".into();
        assert!(!outcome(&expectation, &stats(&[1.0])).pass);
        assert!(!outcome(&expectation, &[]).pass);
        assert!(table(&evaluate(&[expectation], &[])).contains("no such figure"));
    }
}
