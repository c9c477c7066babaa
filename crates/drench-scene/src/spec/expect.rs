//! `[[expect]]`

use crate::declare::{section, words};
use crate::diagnostics::suggestion;
use crate::form::{Form, Reader, quantity, text, word};
use crate::tree::{Place, Table};
use crate::units::{RATIO, TIME};

section! {
    /// An outcome that the scene asserts of its own statistics; `drench run` says at the end whether it holds. At least one
    /// bound is needed.
    pub struct Expectation {
        /// A figure of stats.jsonl, such as "strain.max", "penetration_max", "speed_max", "counts.strands" or
        /// "bodies.NAME.strain.max" of one groom.
        pub that: String = text().required(),
        /// Another such figure, which is taken from it frame by frame: bounds are for what is left.
        pub less: Option<String> = text().optional_as("nothing is taken off"),
        /// Which of its values over the run are meant.
        pub over: Over = word().or(Over::EveryFrame),
        /// Time from which frames count [s].
        pub from: f64 = quantity(TIME).at_least(0.0).at_most(1e9).or(0.0),
        /// Time up to which frames count [s].
        pub until: Option<f64> = quantity(TIME).at_least(0.0).at_most(1e9).optional_as("the end"),
        /// It is at least this.
        pub at_least: Option<f64> = quantity(RATIO).optional_as("no lower bound"),
        /// It is at most this.
        pub at_most: Option<f64> = quantity(RATIO).optional_as("no upper bound"),
        /// Why that must be so.
        pub because: String = text().or(""),
    }
    check check_expectation
    example r#"
[[expect]]
that = "strain.max"
at_most = 0.01
because = "hair does not stretch"
"#
}

/// Figures of a frame; those that end with a dot hold further names of the scene's own.
const FIGURES: &[&str] = &[
    "frame",
    "time",
    "steps",
    "dt_min",
    "dt_max",
    "wall_ms",
    "memory_mb",
    "strain.max",
    "strain.mean",
    "penetration_max",
    "speed_max",
    "energy.kinetic",
    "energy.elastic",
    "energy.gravitational",
    "water.error",
    "water.",
    "compression.",
    "counts.",
    "stages.",
    "bodies.",
];

fn check_expectation(expect: &Expectation, table: &Table, place: Place, reader: &mut Reader) -> Option<()> {
    for (key, named) in [("that", Some(&expect.that)), ("less", expect.less.as_ref())] {
        let Some(named) = named else { continue };
        let known = |figure: &&str| *figure == named || (figure.ends_with('.') && named.starts_with(*figure));
        if !FIGURES.iter().any(known) {
            let at = table.get(key).map_or(place, |node| node.place);
            let help = suggestion(named, FIGURES.iter().copied());
            reader.error(at, format!("no figure is called `{}`", crate::tree::shorten(named)), help);
        }
    }
    if let Some(until) = expect.until
        && until < expect.from
    {
        let at = table.get("until").map_or(place, |node| node.place);
        reader.error(
            at,
            format!("no frame lies between {} s and {until} s", expect.from),
            "exchange `from` and `until`",
        );
    }
    match (expect.at_least, expect.at_most) {
        (None, None) => reader.error(place, "the expectation has no bound", "add `at_most` or `at_least`"),
        (Some(low), Some(high)) if low > high => {
            reader.error(place, format!("nothing is at least {low} and at most {high}"), "exchange the bounds");
        }
        _ => {}
    }
    Some(())
}

words! {
    /// Which values of a figure are meant.
    pub enum Over {
        /// Every single one.
        EveryFrame = "every-frame",
        /// The last one.
        LastFrame = "last-frame",
        /// The largest.
        Maximum = "maximum",
        /// The smallest.
        Minimum = "minimum",
        /// Their mean.
        Mean = "mean",
    }
}
