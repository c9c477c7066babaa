//! `drench bench`: this machine beside the published figures.

use crate::cli::BenchArguments;
use crate::failure::Failure;
use crate::text;
use drench_io::{Frame, FrameCache};
use drench_render::{Renderer, Settings, View};
use drench_scene::{Scene, Size, Source};
use drench_sim::bench::{BENCHES, Bench};
use drench_sim::{SimError, Simulation, report};
use serde::Serialize;
use serde_json::json;
use std::time::Instant;

/// The figures of one benchmark, as scripts read them.
#[derive(Debug, Serialize)]
struct Figures {
    name: &'static str,
    work: &'static str,
    stage: &'static str,
    published_ms: Option<f64>,
    published_where: &'static str,
    /// The longest that the project puts up with on two cores [ms].
    limit_ms: Option<f64>,
    /// Median [ms].
    ms: f64,
    runs: usize,
    /// Published over ours.
    ratio: Option<f64>,
    memory_mb: f64,
    threads: usize,
}

/// What a finished frame costs, beside the simulation's own benches.
const FRAME_BENCHES: &[Bench] = &[
    Bench::new("frame-write-2m", "write", frame_write).of("a frame of about 2 M strand vertices to the disk, synced"),
    Bench::new("render-bunny", "picture", render_bunny).of("250 000 strands x 5 at 1280 x 720, preview quality"),
];

/// Runs the benchmarks whose name begins with what was asked for, or all.
pub fn bench(arguments: &BenchArguments) -> Result<(), Failure> {
    let threads = super::use_threads(arguments.threads)?;
    let all = || BENCHES.iter().chain(FRAME_BENCHES);
    let wanted = arguments.name.as_deref().unwrap_or("");
    let chosen: Vec<&Bench> = all().filter(|bench| bench.name.starts_with(wanted)).collect();
    if chosen.is_empty() {
        let names: Vec<_> = all().map(|bench| bench.name).collect();
        return Err(Failure::Input(format!("no benchmark is called {wanted}\n  there are: {}", names.join(", "))));
    }
    let mut figures = Vec::new();
    for bench in chosen {
        if !arguments.json {
            text::error_line(&format!("timing {}: {}", bench.name, bench.work));
        }
        let measured = measure(bench, threads)?;
        // All of them take minutes: what is stopped half-way has said what it knows.
        if !arguments.json {
            text::error_line(&format!("       {} ms", text::figure(measured.ms)));
        }
        figures.push(measured);
    }
    if arguments.json {
        text::json(&json!(figures));
    } else {
        text::line(&table(&figures));
    }
    Ok(())
}

fn measure(bench: &Bench, threads: usize) -> Result<Figures, Failure> {
    report::forget_peak_memory();
    // By a thread of the pool, as a simulation runs.
    let mut samples = rayon::scope(|_| (bench.run)())?;
    samples.sort_by(f64::total_cmp);
    let ms = samples[samples.len() / 2];
    Ok(Figures {
        name: bench.name,
        work: bench.work,
        stage: bench.stage,
        published_ms: bench.published_ms,
        published_where: bench.published_where,
        limit_ms: bench.limit_ms,
        ms,
        runs: samples.len(),
        ratio: bench.published_ms.map(|published| published / ms),
        memory_mb: report::peak_memory_mb(),
        threads,
    })
}

fn table(figures: &[Figures]) -> String {
    let row = |figures: &Figures| {
        vec![
            figures.name.to_owned(),
            text::figure(figures.ms),
            figures.limit_ms.map(|limit| limit_of(limit, figures.ms)).unwrap_or_default(),
            figures.published_ms.map(text::figure).unwrap_or_default(),
            figures.ratio.map(|ratio| format!("{ratio:.1}")).unwrap_or_default(),
            format!("{:.0}", figures.memory_mb),
            figures.work.to_owned(),
            figures.published_where.to_owned(),
        ]
    };
    let heading = ["benchmark", "ms", "at most", "published", "ratio", "MB", "work", "published where"];
    text::table(&heading, &figures.iter().map(row).collect::<Vec<_>>())
}

/// A limit, marked where it is not kept.
fn limit_of(limit: f64, ms: f64) -> String {
    format!("{}{}", text::figure(limit), if ms > limit { " (missed)" } else { "" })
}

fn full(name: &str) -> Scene {
    drench_scene::load(Source::named(name), Some(Size::Full), &[]).expect("built-in scenes are tested to be sound")
}

fn first_frame(scene: &Scene) -> Result<Frame, SimError> {
    Ok(Simulation::build(scene)?.frame())
}

fn frame_write() -> Result<Vec<f64>, SimError> {
    let mut frame = first_frame(&full("long-hair"))?;
    let folder = std::env::temp_dir().join(format!("drench-bench-{}", std::process::id()));
    let mut write_all = || -> Result<Vec<f64>, drench_io::IoError> {
        let cache = FrameCache::create(&folder, &frame)?;
        (1..=5)
            .map(|index| {
                frame.index = index;
                let start = Instant::now();
                cache.write(&frame)?;
                Ok(start.elapsed().as_secs_f64() * 1e3)
            })
            .collect()
    };
    let samples = write_all().unwrap_or_else(|_| vec![f64::NAN]);
    // What is left behind lies in the folder for temporary files.
    let _ = std::fs::remove_dir_all(&folder);
    Ok(samples)
}

fn render_bunny() -> Result<Vec<f64>, SimError> {
    let scene = full("bunny");
    let frame = first_frame(&scene)?;
    let mut samples = Vec::new();
    if let (Ok(mut renderer), Some(camera)) =
        (Renderer::new(Settings::from_scene(&scene, &scene.render)), scene.cameras.first())
    {
        let view = View::from_scene(&scene, camera, 0.0);
        for _ in 0..3 {
            let start = Instant::now();
            if renderer.render(&frame, &view).is_err() {
                break;
            }
            samples.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    Ok(if samples.is_empty() { vec![f64::NAN] } else { samples })
}
