//! Charts as SVG: axes with round numbers, units, a legend, readable on light and on dark ground.

use std::fmt::Write;

/// Size of a chart, and the room around its panel for numbers, names and the legend [px].
const WIDTH: f64 = 860.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 50.0;
/// Most points of a line: more than this cannot be told apart.
const MOST_POINTS: usize = 1_500;
/// Colours that stand apart on both grounds, also for most who confuse red and green.
const COLOURS: [&str; 9] =
    ["#3b87d8", "#e07b39", "#2fa36b", "#c6558f", "#8f6fd6", "#b5952a", "#33a6b0", "#9a7b66", "#8b9098"];
const STYLE: &str = "\
.dc-ground{fill:#ffffff}.dc-text{fill:#2a2f36;font:12px system-ui,sans-serif}.dc-title{font-size:15px;font-weight:600}\
.dc-axis{stroke:#6b7280;fill:none}.dc-grid{stroke:#d9dde3;fill:none}\
@media(prefers-color-scheme:dark){.dc-ground{fill:#16191d}.dc-text{fill:#dfe3e8}.dc-axis{stroke:#8b94a0}.dc-grid{stroke:#333a43}}";

/// How the values of a panel are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A line each.
    Lines,
    /// A line each, on a scale of powers of ten.
    Powers,
    /// Areas on top of each other.
    Stacked,
}

/// Some values over time.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// One value per place on the horizontal axis; not finite where there is none.
    pub values: Vec<f64>,
    /// Drawn as a dashed line over what is stacked.
    pub dashed: bool,
}

impl Series {
    /// A series that takes part in its panel's kind.
    pub fn new(name: impl Into<String>, values: Vec<f64>) -> Self {
        Self { name: name.into(), values, dashed: false }
    }
}

/// One pair of axes.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What it shows.
    pub title: String,
    /// Name and unit of the vertical axis.
    pub vertical: String,
    /// How it shows it.
    pub kind: Kind,
    /// Height without title and numbers [px].
    pub height: f64,
    /// What it shows, in the order of the legend.
    pub series: Vec<Series>,
    /// Colour of the first series: panels that show parts of others keep their colours.
    pub first_colour: usize,
}

/// Panels below each other over one horizontal axis.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Name and unit of the horizontal axis.
    pub horizontal: String,
    /// Places on it, rising.
    pub places: Vec<f64>,
    /// From top to bottom.
    pub panels: Vec<Panel>,
}

impl Chart {
    /// The picture.
    pub fn svg(&self) -> String {
        let height: f64 = self.panels.iter().map(|panel| TOP + panel.height + BOTTOM).sum();
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
             height=\"{height}\" role=\"img\">\n<style>{STYLE}</style>\n\
             <rect class=\"dc-ground\" width=\"{WIDTH}\" height=\"{height}\"/>\n"
        );
        let mut top = 0.0;
        for panel in &self.panels {
            self.draw(panel, top + TOP, &mut out);
            top += TOP + panel.height + BOTTOM;
        }
        out.push_str("</svg>\n");
        out
    }

    fn draw(&self, panel: &Panel, top: f64, out: &mut String) {
        let across =
            Axis::round(&[self.places.first().copied(), self.places.last().copied()].map(|x| x.unwrap_or(0.0)));
        // Time ends where it ends.
        let across = Axis { low: self.places.first().copied().unwrap_or(0.0), high: self.last_place(), ..across };
        let layers = panel.layers();
        let shown: Vec<f64> = layers.iter().flat_map(|layer| &layer.upper).copied().collect();
        let up = match panel.kind {
            Kind::Powers => Axis::powers(&shown),
            Kind::Stacked | Kind::Lines => Axis::round(&[&[0.0], shown.as_slice()].concat()),
        };
        let x = |value: f64| LEFT + (WIDTH - LEFT - RIGHT) * across.share(value);
        let y = |value: f64| top + panel.height * (1.0 - up.share(value));
        let (right, bottom) = (WIDTH - RIGHT, top + panel.height);

        text(out, LEFT, top - 18.0, "start", " dc-title", &panel.title);
        for tick in &up.ticks {
            let at = y(*tick);
            let _ = writeln!(out, "<path class=\"dc-grid\" d=\"M{LEFT} {at:.1}H{right}\"/>");
            text(out, LEFT - 8.0, at + 4.0, "end", "", &up.label(*tick));
        }
        for tick in across.ticks.iter().filter(|&&tick| tick <= across.high) {
            let at = x(*tick);
            let _ = writeln!(out, "<path class=\"dc-axis\" d=\"M{at:.1} {bottom}v5\"/>");
            text(out, at, bottom + 19.0, "middle", "", &across.label(*tick));
        }
        text(out, (LEFT + right) / 2.0, bottom + 38.0, "middle", "", &self.horizontal);
        let middle = top + panel.height / 2.0;
        let _ = writeln!(
            out,
            "<text class=\"dc-text\" text-anchor=\"middle\" transform=\"translate(16 {middle:.1}) rotate(-90)\">{}</text>",
            escaped(&panel.vertical)
        );
        for (number, layer) in layers.iter().enumerate() {
            let colour = COLOURS[(panel.first_colour + number) % COLOURS.len()];
            layer.draw(&self.places, colour, &x, &y, out);
            let at = top + 8.0 + 20.0 * number as f64;
            let swatch = if layer.dashed {
                format!(
                    "<path d=\"M{} {}h16\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"5 3\"/>",
                    right + 14.0,
                    at
                )
            } else {
                format!(
                    "<rect x=\"{}\" y=\"{}\" width=\"16\" height=\"10\" rx=\"2\" fill=\"{colour}\"/>",
                    right + 14.0,
                    at - 5.0
                )
            };
            out.push_str(&swatch);
            text(out, right + 36.0, at + 4.0, "start", "", &layer.name);
        }
        let _ = writeln!(out, "<path class=\"dc-axis\" d=\"M{LEFT} {top}V{bottom}H{right}\"/>");
    }

    /// Where the horizontal axis ends: a single place still needs an axis.
    fn last_place(&self) -> f64 {
        match (self.places.first(), self.places.last()) {
            (Some(first), Some(last)) if last > first => *last,
            (Some(first), _) => first + 1.0,
            _ => 1.0,
        }
    }
}

/// A series as it is drawn: a line, or an area between two.
struct Layer {
    name: String,
    upper: Vec<f64>,
    lower: Option<Vec<f64>>,
    dashed: bool,
}

impl Panel {
    fn layers(&self) -> Vec<Layer> {
        let mut sum: Vec<f64> = Vec::new();
        let mut layers = Vec::new();
        for series in &self.series {
            let (name, dashed) = (series.name.clone(), series.dashed);
            if self.kind != Kind::Stacked || dashed {
                layers.push(Layer { name, upper: series.values.clone(), lower: None, dashed });
                continue;
            }
            let lower = if sum.is_empty() { vec![0.0; series.values.len()] } else { sum.clone() };
            let add = |(low, value): (&f64, &f64)| low + if value.is_finite() { value.max(0.0) } else { 0.0 };
            sum = lower.iter().zip(&series.values).map(add).collect();
            layers.push(Layer { name, upper: sum.clone(), lower: Some(lower), dashed });
        }
        layers
    }
}

impl Layer {
    fn draw(&self, places: &[f64], colour: &str, x: &impl Fn(f64) -> f64, y: &impl Fn(f64) -> f64, out: &mut String) {
        let bucket = places.len().div_ceil(MOST_POINTS).max(1);
        // Of many values the largest is shown: a spike must not vanish.
        let thin = |values: &[f64]| -> Vec<[f64; 2]> {
            let largest = |part: &[f64]| part.iter().copied().filter(|v| v.is_finite()).reduce(f64::max);
            let parts = places.chunks(bucket).zip(values.chunks(bucket));
            parts.map(|(place, part)| [x(place[0]), largest(part).map_or(f64::NAN, y)]).collect()
        };
        let mut path = String::new();
        let mut is_down = false;
        for [x, y] in thin(&self.upper) {
            if y.is_finite() {
                let _ = write!(path, "{}{x:.1} {y:.1}", if is_down { "L" } else { "M" });
            }
            is_down = y.is_finite();
        }
        let title = escaped(&self.name);
        if let Some(lower) = &self.lower {
            for [x, y] in thin(lower).into_iter().rev() {
                let _ = write!(path, "L{x:.1} {y:.1}");
            }
            let _ = writeln!(
                out,
                "<path d=\"{path}Z\" fill=\"{colour}\" fill-opacity=\"0.85\"><title>{title}</title></path>"
            );
        } else {
            let dashes = if self.dashed { " stroke-dasharray=\"6 4\"" } else { "" };
            let _ = writeln!(
                out,
                "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-linejoin=\"round\"\
                 {dashes}><title>{title}</title></path>"
            );
        }
    }
}

/// An axis: from where to where, and which values have a mark.
#[derive(Clone, Debug, PartialEq)]
struct Axis {
    low: f64,
    high: f64,
    ticks: Vec<f64>,
    is_powers: bool,
}

impl Axis {
    /// Ticks at round numbers: one, two or five times a power of ten apart, some six of them.
    fn round(values: &[f64]) -> Self {
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let (low, high) = (finite().reduce(f64::min).unwrap_or(0.0), finite().reduce(f64::max).unwrap_or(1.0));
        let span = if high > low { high - low } else { high.abs().max(1.0) };
        let rough = span / 6.0;
        let power = 10_f64.powi(rough.log10().floor() as i32);
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|&step| step >= rough * 0.999);
        let step = step.unwrap_or(power);
        let (first, last) = ((low / step + 1e-9).floor(), ((low + span) / step - 1e-9).ceil());
        let ticks: Vec<f64> = (0..=(last - first) as u32).map(|k| (first + f64::from(k)) * step).collect();
        Self { low: first * step, high: last * step, ticks, is_powers: false }
    }

    /// Ticks at powers of ten, of positive values.
    fn powers(values: &[f64]) -> Self {
        let finite = || values.iter().copied().filter(|value| value.is_finite() && *value > 0.0);
        let (low, high) = (finite().reduce(f64::min).unwrap_or(0.1), finite().reduce(f64::max).unwrap_or(1.0));
        let first = low.log10().floor();
        let last = high.log10().ceil().max(first + 1.0);
        let every = ((last - first) / 6.0).ceil().max(1.0);
        let count = ((last - first) / every).floor() as u32;
        let ticks = (0..=count).map(|k| 10_f64.powi((first + f64::from(k) * every) as i32)).collect();
        Self { low: 10_f64.powi(first as i32), high: 10_f64.powi(last as i32), ticks, is_powers: true }
    }

    /// Where a value is, from 0 at the low end to 1 at the high end; not a number if it has no place.
    fn share(&self, value: f64) -> f64 {
        if !self.is_powers {
            return (value - self.low) / (self.high - self.low);
        }
        if value > 0.0 { (value / self.low).log10() / (self.high / self.low).log10() } else { f64::NAN }
    }

    fn label(&self, tick: f64) -> String {
        let step = if self.ticks.len() > 1 { (self.ticks[1] - self.ticks[0]).abs() } else { 1.0 };
        let size = self.high.abs().max(self.low.abs());
        if self.is_powers && !(1e-3..1e5).contains(&tick) || size >= 1e6 || step < 1e-5 {
            let text = format!("{tick:.1e}").replace(".0e", "e");
            return if tick == 0.0 { "0".to_owned() } else { text };
        }
        let step = if self.is_powers { tick } else { step };
        let decimals = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
        let text = format!("{:.decimals$}", tick + 0.0);
        if text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.') { "0".to_owned() } else { text }
    }
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, class: &str, words: &str) {
    let words = escaped(words);
    let _ = writeln!(
        out,
        "<text class=\"dc-text{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"
    );
}

/// Text as SVG and HTML take it.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_hold_all_values() {
        let ticks = |values: &[f64]| Axis::round(values).ticks;
        assert_eq!(ticks(&[0.0, 100.0]), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(ticks(&[0.0, 1.2]).len(), 7);
        for values in [[0.0, 1.0], [-3.7, 12.2], [0.0, 1e-12], [1e9, 1.0001e9], [5.0, 5.0], [0.0, 0.0], [-1e-3, 0.0]] {
            let axis = Axis::round(&values);
            assert!((2..=12).contains(&axis.ticks.len()), "{values:?}: {axis:?}");
            assert!(axis.low <= values[0] && axis.high >= values[1] && axis.high > axis.low, "{values:?}: {axis:?}");
        }
        let axis = Axis::powers(&[1e-16, f64::NAN, 0.0, 3e-12]);
        assert!(axis.low <= 1e-16 && axis.high >= 3e-12 && axis.ticks.len() <= 8);
    }

    #[test]
    fn labels_read_well() {
        let labels = |axis: Axis| axis.ticks.iter().map(|&tick| axis.label(tick)).collect::<Vec<_>>();
        assert_eq!(labels(Axis::round(&[0.0, 1.0])), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(Axis::round(&[0.0, 3e7]))[1], "5e6");
        assert_eq!(labels(Axis::powers(&[1e-9, 1e-7])), ["1e-9", "1e-8", "1e-7"]);
        assert_eq!(labels(Axis::powers(&[1.0, 100.0])), ["1", "10", "100"]);
    }

    #[test]
    fn a_chart_is_sound_xml_whatever_the_values() {
        let series = |name: &str, values: &[f64]| Series::new(name, values.to_vec());
        for values in [vec![], vec![1.0], vec![f64::NAN; 3], vec![0.0, f64::INFINITY, -1.0, 1e300]] {
            for kind in [Kind::Lines, Kind::Powers, Kind::Stacked] {
                let chart = Chart {
                    horizontal: "time [s]".into(),
                    places: (0..values.len()).map(|i| i as f64).collect(),
                    panels: vec![Panel {
                        title: "a < b & \"c\"".into(),
                        vertical: "kg".into(),
                        kind,
                        height: 100.0,
                        series: vec![series("<one>", &values), series("two", &values)],
                        first_colour: 0,
                    }],
                };
                let svg = chart.svg();
                assert!(svg.contains("&lt;one&gt;") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
                assert_eq!(svg.matches("<svg").count(), svg.matches("</svg>").count());
            }
        }
    }

    #[test]
    fn a_spike_does_not_vanish_among_many_values() {
        let mut values = vec![0.0; 100_000];
        values[77_777] = 10.0;
        let chart = Chart {
            horizontal: "x".into(),
            places: (0..values.len()).map(|i| i as f64).collect(),
            panels: vec![Panel {
                title: "t".into(),
                vertical: "v".into(),
                kind: Kind::Lines,
                height: 200.0,
                series: vec![Series::new("s", values)],
                first_colour: 0,
            }],
        };
        let svg = chart.svg();
        assert!(svg.len() < 60_000, "{}", svg.len());
        assert!(svg.contains(&format!(" {TOP:.1}L")), "the line reaches the top");
    }
}
