//! The committed pages are those that the declarations give.

use drench_scene::schema;
use std::path::Path;

/// Fails when a page of docs/ is not `fresh`. Line ends do not count: a checkout may change them.
fn assert_current(page: &str, fresh: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let committed = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    let line = committed.lines().zip(fresh.lines()).take_while(|(old, new)| old == new).count() + 1;
    assert!(committed == fresh, "docs/{page} is stale from line {line} on: run cargo xtask docs");
}

#[test]
fn the_reference_page_is_current() {
    assert_current("scene-reference.md", &schema::reference_markdown());
}

#[test]
fn the_schema_is_current() {
    assert_current("scene.schema.json", &format!("{:#}\n", schema::json_schema()));
}
