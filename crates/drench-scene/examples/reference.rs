//! Writes the pages of docs/ that come from the declarations of scene files. `cargo xtask docs` calls it.

use drench_scene::schema;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::write(docs.join("scene-reference.md"), schema::reference_markdown())?;
    std::fs::write(docs.join("scene.schema.json"), format!("{:#}\n", schema::json_schema()))?;
    println!("wrote docs/scene-reference.md and docs/scene.schema.json");
    Ok(())
}
