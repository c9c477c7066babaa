//! `drench check`: everything that is wrong with a scene, or what would be simulated.

use crate::cli::CheckArguments;
use crate::failure::Failure;
use crate::{scene_argument, text};
use serde_json::json;

/// Validates a scene and says what it would cost.
pub fn check(arguments: &CheckArguments) -> Result<(), Failure> {
    let scene = scene_argument::load(&arguments.scene, &[])?;
    let estimate = drench_sim::estimate(&scene)?;
    if arguments.json {
        text::json(&json!({
            "name": scene.name,
            "frames": scene.simulation.frames,
            "duration": scene.duration(),
            "strands": estimate.strands,
            "strand_vertices": estimate.strand_vertices,
            "children": estimate.children,
            "cord_segments": estimate.cord_segments,
            "rigid_bodies": estimate.rigid_bodies,
            "triangles": estimate.triangles,
            "memory_bytes": estimate.memory_bytes,
            "steps": estimate.steps,
        }));
        return Ok(());
    }
    text::line(format!("{} is sound. {}", scene.name, scene.shows).trim_end());
    text::line("");
    let mut rows = vec![
        ("strands", text::count(estimate.strands)),
        ("strand vertices", text::count(estimate.strand_vertices)),
        ("children for pictures", text::count(estimate.children)),
        ("cord segments", text::count(estimate.cord_segments)),
        ("rigid bodies", text::count(estimate.rigid_bodies)),
        ("triangles", text::count(estimate.triangles)),
        ("memory", format!("about {}", text::bytes(estimate.memory_bytes))),
        (
            "frames",
            format!("{} ({} s)", text::count(u64::from(scene.simulation.frames)), text::figure(scene.duration())),
        ),
        ("steps", text::count(estimate.steps)),
    ]
    .into_iter()
    .map(|(name, value)| vec![name.to_owned(), value])
    .collect::<Vec<_>>();
    rows.extend(estimate.lines.iter().map(|(name, value)| vec![name.clone(), value.clone()]));
    text::line(&text::table(&["what", "how much"], &rows));
    text::line("");
    text::line(&format!("drench run {}   simulates it", arguments.scene.scene));
    Ok(())
}
