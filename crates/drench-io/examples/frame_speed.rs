//! Time and size of a frame of long hair (90 000 strands, 2 million vertices) and of a checkpoint of it.
//!
//! `cargo run --release -p drench-io --example frame_speed [FOLDER]`

use drench_io::{Attribute, Checkpoint, Domain, Frame, FrameCache, StrandBody, Values, checkpoint};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

const STRANDS: u32 = 90_000;
const VERTICES: u32 = 22;

/// Hair 25 cm long that hangs from a head, waves, and is not too smooth.
fn hair(index: u32) -> Frame {
    let phase = index as f32 * 0.1;
    let vertex = |i: u32| {
        let (strand, along) = ((i / VERTICES) as f32, (i % VERTICES) as f32);
        let rough =
            |k: u32| ((i.wrapping_mul(2_654_435_761).wrapping_add(k * 40_503) >> 8) as f32 / 16_777_216.0 - 0.5) * 2e-4;
        let (around, up) = (strand * 2.399_963, strand / STRANDS as f32);
        let wave = 0.004 * (along * 0.8 + strand * 0.37 + phase).sin();
        let r = 0.1 * (1.0 - up * up).sqrt() + 0.002 * along;
        [
            r * around.cos() + wave + rough(1),
            0.1 * up + 1.6 - 0.011 * along + rough(2),
            r * around.sin() + wave + rough(3),
        ]
    };
    let positions: Vec<[f32; 3]> = (0..STRANDS * VERTICES).map(vertex).collect();
    let velocities = positions.iter().map(|p| [p[2] * 3.0, p[0].sin(), -p[0] * 3.0]).collect();
    let radii = (0..positions.len()).map(|i| 35e-6 * (1.0 - (i as u32 % VERTICES) as f32 / 40.0)).collect();
    let attributes = BTreeMap::from([
        ("velocity".to_owned(), Attribute { domain: Domain::Vertex, values: Values::F32x3(velocities) }),
        ("radius".to_owned(), Attribute { domain: Domain::Vertex, values: Values::F32(radii) }),
    ]);
    let offsets = (0..=STRANDS).map(|strand| strand * VERTICES).collect();
    let body = StrandBody { name: "hair".into(), offsets, positions, attributes, children: None };
    Frame { index, time: f64::from(index) / 24.0, strands: vec![body], ..Frame::default() }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let argument = std::env::args().nth(1).unwrap_or_else(|| "frame-speed".to_owned());
    let folder = Path::new(&argument);
    let cache = FrameCache::create(folder, &hair(0))?;
    for index in 0..5 {
        let frame = hair(index);
        let clock = Instant::now();
        let size = cache.write(&frame)?;
        let written = clock.elapsed();
        let clock = Instant::now();
        let read = cache.read(index)?;
        println!(
            "frame {index}: {} vertices, {:.1} MB ({:.2} bytes a vertex), written in {:.3} s, read in {:.3} s",
            read.strands[0].positions.len(),
            size as f64 * 1e-6,
            size as f64 / read.strands[0].positions.len() as f64,
            written.as_secs_f64(),
            clock.elapsed().as_secs_f64(),
        );
    }
    // Positions and velocities in f64.
    let frame = hair(7);
    let state = frame.strands[0].positions.iter().flatten().flat_map(|&x| [f64::from(x) * 1.1, f64::from(x) / 3.0]);
    let state: Vec<u8> = state.flat_map(f64::to_le_bytes).collect();
    let clock = Instant::now();
    let bytes = state.len();
    let path = checkpoint::write(
        &folder.join("checkpoints"),
        &Checkpoint { frame: 5, scene: 0, state },
        checkpoint::Kept::Newest,
    )?;
    let written = clock.elapsed().as_secs_f64();
    let size = std::fs::metadata(&path)?.len();
    let clock = Instant::now();
    checkpoint::read(&path)?;
    println!(
        "checkpoint: {:.0} MB as {:.0} MB, written in {written:.3} s, read in {:.3} s",
        bytes as f64 * 1e-6,
        size as f64 * 1e-6,
        clock.elapsed().as_secs_f64()
    );
    Ok(())
}
