//! The arguments, as people type them.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Thin things getting wet: hair, fur, rope and sand that meet water and other liquids, from a scene file to a movie.
#[derive(Debug, Parser)]
#[command(name = "drench", version, max_term_width = 110)]
#[command(after_help = "Begin with:  drench scenes  and  drench run shower")]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Simulates a scene and makes a movie of it
    Run(RunArguments),
    /// Lists the built-in scenes, or prints one as a file to edit
    Scenes(ScenesArguments),
    /// Validates a scene without running it, and says what would be simulated
    Check(CheckArguments),
    /// Makes pictures and a movie from a run folder
    Render(RenderArguments),
    /// Shows a run in the browser, or a scene while it is simulated
    View(ViewArguments),
    /// Writes the frames of a run for other programs
    Export(ExportArguments),
    /// Tells what a run holds
    Info(InfoArguments),
    /// Draws charts of a run: water, time per stage, counts, stretch
    Plot(PlotArguments),
    /// Makes one page of a run to send to a colleague: movie, pictures, charts, parameters
    Report(ReportArguments),
    /// Runs a scene with all combinations of some values, and compares them
    Sweep(SweepArguments),
    /// Times this machine on the workloads that were published
    Bench(BenchArguments),
    /// Checks the physics against laws and measurements
    Validate(ValidateArguments),
}

/// How large a built-in scene is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SizeArgument {
    /// Done within seconds
    Tiny,
    /// Done within about a minute, and already looks right
    Preview,
    /// As large as its source published it
    Full,
}

impl SizeArgument {
    /// The word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tiny => "tiny",
            Self::Preview => "preview",
            Self::Full => "full",
        }
    }
}

#[derive(Debug, Args)]
pub struct SceneArguments {
    /// Name of a built-in scene (see `drench scenes`) or path of a scene file
    pub scene: String,
    /// Size of the scene [default: preview]
    #[arg(long, value_enum)]
    pub size: Option<SizeArgument>,
    /// Changes any key of the scene, such as --set simulation.substeps=8 (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_override)]
    pub set: Vec<(String, String)>,
}

#[derive(Debug, Args)]
pub struct RunArguments {
    #[command(flatten)]
    pub scene: SceneArguments,
    /// Folder to write to [default: runs/NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Number of frames to simulate
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub frames: Option<u32>,
    /// Threads to use [default: one per core]; the results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Seed of everything random
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Makes no pictures and no movie
    #[arg(long)]
    pub no_render: bool,
    /// Replaces a run that is in the folder
    #[arg(long, conflicts_with = "resume")]
    pub force: bool,
    /// Goes on with a run that is in the folder
    #[arg(long)]
    pub resume: bool,
    #[command(flatten)]
    pub voice: VoiceArguments,
}

/// How a long command speaks.
#[derive(Clone, Copy, Debug, Args)]
pub struct VoiceArguments {
    /// Writes progress as JSON, one object per line, to standard output
    #[arg(long)]
    pub json: bool,
    /// Writes nothing but errors
    #[arg(long, conflicts_with = "json")]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub struct ScenesArguments {
    /// Scene to print
    pub name: Option<String>,
    /// Writes the list as JSON
    #[arg(long, conflicts_with = "name")]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CheckArguments {
    #[command(flatten)]
    pub scene: SceneArguments,
    /// Writes the result as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RenderArguments {
    /// Folder of a run, such as runs/bunny
    pub run: PathBuf,
    /// Frames to draw, first..last, such as 10..20; either end may be left out [default: all]
    #[arg(long, value_name = "A..B", value_parser = parse_frames)]
    pub frames: Option<FrameRange>,
    /// Size of the pictures in pixels, such as 1920x1080
    #[arg(long, value_name = "WxH", value_parser = parse_resolution)]
    pub resolution: Option<(u32, u32)>,
    /// Camera of the scene [default: the first]
    #[arg(long, value_name = "NAME")]
    pub camera: Option<String>,
    /// Look of the scene: a named variation of its [render] table
    #[arg(long, value_name = "NAME")]
    pub look: Option<String>,
    /// Folder to write images/ and movie.mp4 to [default: the run folder]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Threads to use [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    #[command(flatten)]
    pub voice: VoiceArguments,
}

#[derive(Debug, Args)]
pub struct ViewArguments {
    /// Folder of a run, such as runs/bunny; or the name of a built-in scene or the path of a scene file, to be simulated
    /// while you look
    #[arg(value_name = "RUN_OR_SCENE")]
    pub subject: String,
    /// Folder of another run, to be shown beside the first
    pub beside: Option<PathBuf>,
    /// Port to listen at on this machine [default: a free one]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Does not open a browser, only prints the address
    #[arg(long)]
    pub no_open: bool,
    /// Size of a scene [default: preview]
    #[arg(long, value_enum)]
    pub size: Option<SizeArgument>,
    /// Changes any key of a scene, such as --set simulation.substeps=8 (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_override)]
    pub set: Vec<(String, String)>,
    /// Folder to write the frames of a scene to [default: runs/NAME-live, or the first of NAME-live-2, ... that is free]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Threads to use [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

#[derive(Debug, Args)]
pub struct ExportArguments {
    /// Folder of a run, such as runs/shower
    #[arg(required_unless_present = "list")]
    pub run: Option<PathBuf>,
    /// Format to write, such as usdc (see --list)
    #[arg(long, value_name = "FORMAT", required_unless_present = "list")]
    pub to: Option<String>,
    /// Names the formats and what each carries
    #[arg(long)]
    pub list: bool,
    /// File or folder to write [default: RUN/exports/NAME.FORMAT]
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// Frames to write, first..last, such as 10..20; either end may be left out [default: all]
    #[arg(long, value_name = "A..B", value_parser = parse_frames)]
    pub frames: Option<FrameRange>,
    /// How curves go through their vertices
    #[arg(long, value_enum, default_value = "cubic")]
    pub curves: CurveArgument,
    /// One file for all frames, or one for each and another that stitches them (usdc and usda only)
    #[arg(long, value_enum, default_value = "single")]
    pub layers: LayerArgument,
    /// Only the simulated strands, without the children around them
    #[arg(long)]
    pub guides_only: bool,
    /// Surfaces of liquids too, besides their particles
    #[arg(long)]
    pub surface: bool,
    /// Replaces what is there
    #[arg(long)]
    pub force: bool,
    /// Threads to use [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    #[command(flatten)]
    pub voice: VoiceArguments,
}

/// How frames are divided into layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LayerArgument {
    /// One layer
    Single,
    /// One a frame
    PerFrame,
}

/// How exported curves go through their vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CurveArgument {
    /// Smoothly
    Cubic,
    /// Straight from vertex to vertex
    Linear,
}

#[derive(Debug, Args)]
pub struct InfoArguments {
    /// Folder of a run, such as runs/bunny
    pub run: PathBuf,
    /// Writes it as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct PlotArguments {
    /// Folder of a run, such as runs/bunny
    pub run: PathBuf,
    /// Folder to write the SVG files to [default: plots/ in the run folder]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Writes the list of files as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Folder of a run, such as runs/bunny
    pub run: PathBuf,
    /// File to write [default: report.html in the run folder]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Writes where the page is as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct SweepArguments {
    #[command(flatten)]
    pub scene: SceneArguments,
    /// Values to try for a key of the scene, such as --vary simulation.substeps=4,8,16 (repeatable: all combinations)
    #[arg(long, value_name = "KEY=A,B,...", required = true, value_parser = parse_vary)]
    pub vary: Vec<(String, Vec<String>)>,
    /// Folder to write to, one folder per combination in it [default: runs/NAME-sweep]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Number of frames to simulate
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub frames: Option<u32>,
    /// Threads to use [default: one per core]; the results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Seed of everything random
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Makes no pictures, no movies and no contact sheet
    #[arg(long)]
    pub no_render: bool,
    #[command(flatten)]
    pub voice: VoiceArguments,
}

#[derive(Debug, Args)]
pub struct BenchArguments {
    /// Only the benchmarks whose name begins with this
    pub name: Option<String>,
    /// Threads to use [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Writes the figures as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ValidateArguments {
    /// Only the checks whose name begins with this
    pub name: Option<String>,
    /// Writes the outcomes as JSON
    #[arg(long)]
    pub json: bool,
}

/// Frames from the first to the last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRange {
    pub first: u32,
    pub last: u32,
}

impl FrameRange {
    pub const ALL: Self = Self { first: 0, last: u32::MAX };

    pub fn contains(self, frame: u32) -> bool {
        (self.first..=self.last).contains(&frame)
    }
}

fn parse_override(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err("expected KEY=VALUE, such as simulation.substeps=8".to_owned()),
    }
}

fn parse_vary(text: &str) -> Result<(String, Vec<String>), String> {
    let (key, values) = parse_override(text).map_err(|_| "expected KEY=A,B,..., such as simulation.substeps=4,8,16")?;
    let mut depth = 0;
    let mut parts = vec![String::new()];
    for letter in values.chars() {
        depth += match letter {
            '[' | '{' | '(' => 1,
            ']' | '}' | ')' => -1,
            _ => 0,
        };
        // The commas of a vector are its own.
        if letter == ',' && depth == 0 {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(letter);
        }
    }
    let values: Vec<String> = parts.iter().map(|part| part.trim().to_owned()).collect();
    if values.iter().any(String::is_empty) {
        return Err(format!("a value of '{key}' is empty"));
    }
    if let Some(twice) = (1..values.len()).find(|&i| values[..i].contains(&values[i])) {
        return Err(format!("'{key}' has the value {} twice", values[twice]));
    }
    Ok((key, values))
}

fn parse_frames(text: &str) -> Result<FrameRange, String> {
    const EXPECTED: &str = "expected one frame or first..last, such as 7, 10..20, 10.. or ..20";
    let end = |text: &str, open: u32| if text.is_empty() { Ok(open) } else { text.parse().map_err(|_| EXPECTED) };
    let range = match text.split_once("..") {
        Some((first, last)) => {
            FrameRange { first: end(first, 0)?, last: end(last.strip_prefix('=').unwrap_or(last), u32::MAX)? }
        }
        None => text.parse().map(|frame| FrameRange { first: frame, last: frame }).map_err(|_| EXPECTED)?,
    };
    if range.first > range.last {
        return Err(format!("the first frame, {}, comes after the last, {}", range.first, range.last));
    }
    Ok(range)
}

fn parse_resolution(text: &str) -> Result<(u32, u32), String> {
    let sides = text.split_once(['x', 'X', '\u{d7}']).map(|(width, height)| (width.parse(), height.parse()));
    match sides {
        Some((Ok(width), Ok(height))) if (1..=16_384).contains(&width) && (1..=16_384).contains(&height) => {
            Ok((width, height))
        }
        _ => Err("expected WIDTHxHEIGHT in pixels, each from 1 to 16384, such as 1920x1080".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn frames_are_inclusive_and_open_at_either_end() {
        assert_eq!(parse_frames("10..20"), Ok(FrameRange { first: 10, last: 20 }));
        assert_eq!(parse_frames("10..=20"), Ok(FrameRange { first: 10, last: 20 }));
        assert_eq!(parse_frames("..20"), Ok(FrameRange { first: 0, last: 20 }));
        assert_eq!(parse_frames("10.."), Ok(FrameRange { first: 10, last: u32::MAX }));
        assert_eq!(parse_frames("7"), Ok(FrameRange { first: 7, last: 7 }));
        for wrong in ["", "a..b", "-1..2", "20..10", "1..2..3", "99999999999"] {
            assert!(parse_frames(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn resolutions_have_two_sides() {
        assert_eq!(parse_resolution("1920x1080"), Ok((1920, 1080)));
        for wrong in ["1920", "0x10", "10x0", "99999x10", "axb", "-1x5", ""] {
            assert!(parse_resolution(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn overrides_have_a_key_and_a_value() {
        assert_eq!(parse_override("a.b = 25 cm"), Ok(("a.b".into(), "25 cm".into())));
        assert_eq!(parse_override("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert!(parse_override("a").is_err() && parse_override("=1").is_err());
    }

    #[test]
    fn values_to_vary_are_split_at_commas_outside_brackets() {
        let vary = |text| parse_vary(text).map(|(key, values)| (key, values.join("|")));
        assert_eq!(vary("a.b=1, 2 cm,x"), Ok(("a.b".into(), "1|2 cm|x".into())));
        assert_eq!(vary("wind=[1,0,0],[0,0,2]"), Ok(("wind".into(), "[1,0,0]|[0,0,2]".into())));
        for wrong in ["a", "=1,2", "a=1,,2", "a=", "a=1,2,1"] {
            assert!(vary(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn impossible_arguments_are_refused() {
        for line in [
            "drench run",
            "drench run rope --threads 0",
            "drench run rope --threads 100000",
            "drench run rope --frames 0",
            "drench run rope --frames -3",
            "drench run rope --size huge",
            "drench run rope --force --resume",
            "drench run rope --json --quiet",
            "drench run rope --set nonsense",
            "drench sweep rope",
            "drench sweep rope --vary simulation.substeps",
            "drench paint",
            "drench export",
            "drench export runs/rope",
            "drench export runs/rope --to usdc --frames 9..3",
            "drench export runs/rope --to usdc --curves wavy",
        ] {
            assert!(Cli::try_parse_from(line.split(' ')).is_err(), "{line}");
        }
    }
}
