//! `drench report`: one page with everything that a colleague wants to see of a run, nothing to load from elsewhere.

use super::plot::figures;
use super::render::recorded_scene;
use crate::chart::escaped;
use crate::cli::ReportArguments;
use crate::expectations::{self, Outcome};
use crate::failure::Failure;
use crate::plots::plots;
use crate::text;
use drench_io::{FrameStats, RunRecord, atomic};
use image::codecs::jpeg::JpegEncoder;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Pictures on the page, spread evenly over the run.
const PICTURES: usize = 6;
/// Width of a picture on the page [px].
const WIDTH: u32 = 640;
/// Largest movie that goes into the page [bytes]; mail servers refuse more.
const LARGEST_MOVIE: u64 = 32_000_000;
const STYLE: &str = "\
:root{color-scheme:light dark;--ground:#fff;--text:#22272e;--soft:#5b6470;--line:#d9dde3;--panel:#f5f6f8}\
@media(prefers-color-scheme:dark){:root{--ground:#16191d;--text:#dfe3e8;--soft:#98a2ae;--line:#333a43;--panel:#1e2227}}\
body{margin:0 auto;padding:2rem 1.5rem 4rem;max-width:62rem;background:var(--ground);color:var(--text);\
font:16px/1.5 system-ui,sans-serif}h1{margin:0 0 .2rem}h2{margin:2.6rem 0 .8rem;font-size:1.2rem}\
.soft{color:var(--soft)}table{border-collapse:collapse}td,th{padding:.25rem 1.2rem .25rem 0;text-align:left;\
border-bottom:1px solid var(--line);vertical-align:top}td.n{text-align:right;font-variant-numeric:tabular-nums}\
.wide{overflow-x:auto}.pictures{display:grid;grid-template-columns:repeat(auto-fill,minmax(17rem,1fr));gap:.8rem}\
figure{margin:0}figure img,video{width:100%;border-radius:.4rem;display:block}figcaption{font-size:.85rem;color:var(--soft)}\
svg{max-width:100%;height:auto}pre{background:var(--panel);padding:1rem;border-radius:.4rem;overflow-x:auto;font-size:.85rem}\
.warn{border-left:4px solid #d9822b;background:var(--panel);padding:.5rem 1rem;margin:.4rem 0;border-radius:.2rem}\
.fail{color:#d64545;font-weight:600}";

/// Writes the page.
pub fn report(arguments: &ReportArguments) -> Result<(), Failure> {
    let folder = &arguments.run;
    let record = RunRecord::read(folder)?;
    let stats = figures(folder)?;
    let page = page(folder, &record, &stats)?;
    let path = arguments.out.clone().unwrap_or_else(|| folder.join("report.html"));
    atomic::write(&path, &[page.as_bytes()])?;
    if arguments.json {
        text::json(&json!({ "name": record.name, "report": path, "bytes": page.len() }));
    } else {
        text::line(&format!("{} ({})", path.display(), text::bytes(page.len() as u64)));
    }
    Ok(())
}

fn page(folder: &Path, record: &RunRecord, stats: &[FrameStats]) -> Result<String, Failure> {
    let name = escaped(&record.name);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{name} - Drench</title>\
         <style>{STYLE}</style></head>\n<body>\n<h1>{name}</h1>\n<p class=\"soft\">{}</p>\n",
        escaped(&headline(record, stats))
    );
    // A run of another version may not be readable as a scene; its figures still are.
    let scene = recorded_scene(folder).ok();
    if let Some(shows) = scene.as_ref().map(|scene| scene.shows.as_str()).filter(|shows| !shows.is_empty()) {
        let _ = writeln!(out, "<p>{}</p>", escaped(shows));
    }
    moving_picture(folder, &mut out)?;
    pictures(folder, record.fps, &mut out)?;
    warnings(stats, &mut out);
    let outcomes = scene.as_ref().map_or_else(Vec::new, |scene| expectations::evaluate(&scene.expect, stats));
    expected(&outcomes, &mut out);
    out.push_str("<h2>Figures</h2>\n");
    rows(&key_figures(stats), &mut out);
    for plot in plots(stats) {
        let _ = writeln!(out, "<h2>{}</h2>\n<div class=\"wide\">{}</div>", plot.title, plot.chart.svg());
    }
    timings(stats, &mut out);
    let _ = writeln!(
        out,
        "<h2>Parameters</h2>\n<details><summary>The scene with all its values</summary><pre>{}</pre></details>",
        escaped(&record.scene)
    );
    out.push_str("</body></html>\n");
    Ok(out)
}

fn headline(record: &RunRecord, stats: &[FrameStats]) -> String {
    let status = match record.status {
        drench_io::RunStatus::Finished => String::new(),
        status => format!("{}: ", status.word()),
    };
    let time = text::duration(Duration::try_from_secs_f64(record.wall_seconds).unwrap_or_default());
    let size = record.size.as_ref().map(|size| format!("{size} size, ")).unwrap_or_default();
    let last = stats.last().map_or(0, |last| last.frame);
    format!(
        "{status}frame {last} of {}, {size}{time} on {} threads, seed {}, Drench {}, begun {}",
        record.frames, record.threads, record.seed, record.version, record.started
    )
}

fn moving_picture(folder: &Path, out: &mut String) -> Result<(), Failure> {
    let path = folder.join("movie.mp4");
    let Ok(size) = fs::metadata(&path).map(|metadata| metadata.len()) else { return Ok(()) };
    if size > LARGEST_MOVIE {
        let _ = writeln!(out, "<p class=\"soft\">The movie, {}, is too large for this page.</p>", text::bytes(size));
        return Ok(());
    }
    let bytes = read(&path)?;
    let _ = writeln!(
        out,
        "<video controls loop muted autoplay playsinline src=\"data:video/mp4;base64,{}\"></video>",
        base64(&bytes)
    );
    Ok(())
}

fn pictures(folder: &Path, fps: f64, out: &mut String) -> Result<(), Failure> {
    let entries = fs::read_dir(folder.join("images")).into_iter().flatten().flatten();
    let frame = |path: PathBuf| {
        let frame = path.file_stem()?.to_str()?.parse::<u32>().ok()?;
        (path.extension()? == "png").then_some((frame, path))
    };
    let mut all: Vec<(u32, PathBuf)> = entries.filter_map(|entry| frame(entry.path())).collect();
    all.sort();
    if all.is_empty() {
        return Ok(());
    }
    let count = all.len().min(PICTURES);
    out.push_str("<h2>Pictures</h2>\n<div class=\"pictures\">\n");
    for k in 0..count {
        let (frame, path) = &all[if count > 1 { k * (all.len() - 1) / (count - 1) } else { 0 }];
        match thumbnail(path) {
            Ok(jpeg) => {
                let time = text::figure(f64::from(*frame) / fps);
                let _ = writeln!(
                    out,
                    "<figure><img alt=\"frame {frame}\" src=\"data:image/jpeg;base64,{}\">\
                     <figcaption>frame {frame}, {time} s</figcaption></figure>",
                    base64(&jpeg)
                );
            }
            Err(reason) => text::error_line(&format!("{} is left out: {reason}", path.display())),
        }
    }
    out.push_str("</div>\n");
    Ok(())
}

fn thumbnail(path: &Path) -> Result<Vec<u8>, String> {
    let picture = image::open(path).map_err(|error| error.to_string())?;
    let picture = if picture.width() > WIDTH {
        picture.resize(WIDTH, u32::MAX, image::imageops::FilterType::Triangle)
    } else {
        picture
    };
    let mut jpeg = Vec::new();
    let encoder = JpegEncoder::new_with_quality(&mut jpeg, 88);
    picture.into_rgb8().write_with_encoder(encoder).map_err(|error| error.to_string())?;
    Ok(jpeg)
}

fn warnings(stats: &[FrameStats], out: &mut String) {
    let mut frames: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for (frame, warning) in stats.iter().flat_map(|stats| stats.warnings.iter().map(|warning| (stats.frame, warning))) {
        frames.entry(warning).or_default().push(frame);
    }
    if frames.is_empty() {
        return;
    }
    out.push_str("<h2>Warnings</h2>\n");
    for (warning, frames) in frames {
        let place = match frames.as_slice() {
            [frame] => format!("frame {frame}"),
            frames => format!("{} frames from {} on", frames.len(), frames[0]),
        };
        let _ = writeln!(out, "<div class=\"warn\">{} <span class=\"soft\">({place})</span></div>", escaped(warning));
    }
}

fn expected(outcomes: &[Outcome], out: &mut String) {
    if outcomes.is_empty() {
        return;
    }
    out.push_str("<h2>What the scene expects</h2>\n<table>\n");
    for outcome in outcomes {
        let verdict = if outcome.pass { "pass" } else { "<span class=\"fail\">FAIL</span>" };
        let got = outcome.got.map_or("nothing".to_owned(), text::figure);
        let because = escaped(&outcome.expectation.because);
        let (that, bounds) = (escaped(&outcome.figure()), escaped(&outcome.bounds()));
        let _ = writeln!(
            out,
            "<tr><td>{verdict}</td><td>{that}</td><td>{bounds}</td><td>{got}</td><td>{because}</td></tr>"
        );
    }
    out.push_str("</table>\n");
}

fn key_figures(stats: &[FrameStats]) -> Vec<(String, String)> {
    let largest = |value: &dyn Fn(&FrameStats) -> Option<f64>| stats.iter().filter_map(value).reduce(f64::max);
    let mut figures = Vec::new();
    if let Some(last) = stats.last() {
        let present = last.counts.iter().filter(|(_, count)| **count > 0);
        figures.extend(present.map(|(name, count)| (name.replace('_', " "), text::count(*count))));
    }
    let mut figure = |name: &str, value: Option<f64>, unit: &str| {
        figures.extend(value.map(|value| (name.to_owned(), format!("{} {unit}", text::figure(value)))));
    };
    figure("largest stretch", largest(&|stats| Some(100.0 * stats.strain?.max)), "%");
    figure("deepest penetration", largest(&|stats| Some(stats.penetration_max)), "m");
    figure("largest speed", largest(&|stats| Some(stats.speed_max)), "m/s");
    figure("largest error of the water's books", largest(&|stats| Some(stats.water.as_ref()?.error.abs())), "");
    figure("peak memory", largest(&|stats| Some(stats.memory_mb)), "MB");
    figures
}

fn timings(stats: &[FrameStats], out: &mut String) {
    let stepped: Vec<&FrameStats> = stats.iter().filter(|stats| stats.frame > 0).collect();
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (stage, ms) in stepped.iter().flat_map(|stats| &stats.stages) {
        *sums.entry(stage).or_default() += ms;
    }
    let mut order: Vec<(&str, f64)> = sums.into_iter().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    let frames = stepped.len().max(1) as f64;
    let whole = order.iter().map(|(_, ms)| ms).sum::<f64>().max(f64::MIN_POSITIVE);
    out.push_str("<h2>Timings</h2>\n<table><tr><th>stage</th><th>ms per frame</th><th>share</th></tr>\n");
    for (stage, ms) in order {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"n\">{:.2}</td><td class=\"n\">{:.0} %</td></tr>",
            escaped(stage),
            ms / frames,
            100.0 * ms / whole
        );
    }
    out.push_str("</table>\n");
}

fn rows(rows: &[(String, String)], out: &mut String) {
    out.push_str("<table>\n");
    for (name, value) in rows {
        let _ = writeln!(out, "<tr><td>{}</td><td class=\"n\">{}</td></tr>", escaped(name), escaped(value));
    }
    out.push_str("</table>\n");
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure::Storage(format!("cannot read {}: {error}", path.display())))
}

/// Bytes as text that an address may hold.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0_u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * place) & 63) as usize];
            out.push(if place > chunk.len() { '=' } else { char::from(letter) });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_its_standard() {
        // RFC 4648, section 10.
        let pairs =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")];
        for (plain, coded) in pairs {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
        assert_eq!(base64(&[0xff, 0xfe, 0xfd]), "//79");
    }
}
