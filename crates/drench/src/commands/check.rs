//! `drench check`: everything that is wrong with a scene, or what would be simulated.

use crate::cli::CheckArguments;
use crate::failure::Failure;
use crate::{scene_argument, text};
use serde_json::json;

/// Validates a scene and says what it would cost.
pub fn check(arguments: &CheckArguments) -> Result<(), Failure> {
    let scene = scene_argument::load(&arguments.scene, &[])?;
    let estimate = drench_sim::estimate(&scene).map_err(|error| scene_argument::refused(&arguments.scene, error))?;
    if arguments.json {
        let mut description = json!({
            "name": scene.name,
            "frames": scene.simulation.frames,
            "duration": scene.duration(),
            "memory_bytes": estimate.memory_bytes,
            "steps": estimate.steps,
            "warnings": estimate.warnings,
        });
        estimate.counts().for_each(|(name, count)| description[name] = count.into());
        text::json(&description);
        return Ok(());
    }
    text::line(format!("{} is sound. {}", scene.name, scene.shows).trim_end());
    text::line("");
    let frames = text::count(u64::from(scene.simulation.frames));
    let mut rows: Vec<Vec<String>> =
        estimate.counts().map(|(name, count)| vec![name.replace('_', " "), text::count(count)]).collect();
    rows.push(vec!["memory".to_owned(), format!("about {}", text::bytes(estimate.memory_bytes))]);
    rows.push(vec!["frames".to_owned(), format!("{frames} ({} s)", text::figure(scene.duration()))]);
    rows.push(vec!["steps".to_owned(), text::count(estimate.steps)]);
    rows.extend(estimate.lines.iter().map(|(name, value)| vec![name.clone(), value.clone()]));
    text::line(&text::table(&["what", "how much"], &rows));
    estimate.warnings.iter().for_each(|warning| text::line(&format!("warning: {warning}")));
    text::line("");
    text::line(&format!("drench run {}   simulates it", arguments.scene.scene));
    Ok(())
}
