//! The program of the page that is committed is the one that its sources make.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::fs;
use std::path::Path;

#[test]
fn the_bundle_was_built_from_these_sources() {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("web");
    let mut sources: Vec<_> = (fs::read_dir(web.join("src")).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "js"))
        .collect();
    sources.sort();
    // FNV-1a over names and contents, as web/build.mjs computes it.
    let bytes = sources.iter().flat_map(|path| {
        let name = path.file_name().unwrap().to_str().unwrap().as_bytes().to_vec();
        name.into_iter().chain(fs::read(path).unwrap())
    });
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let bundle = fs::read_to_string(web.join("dist/app.js")).unwrap();
    let recorded = bundle.lines().nth(1).unwrap().trim_start_matches("// sources ");
    assert_eq!(
        recorded,
        format!("{hash:016x}"),
        "web/src was changed: run `npm ci && npm run build` in crates/drench-view/web"
    );
    assert!(bundle.lines().next().unwrap().contains("MIT"));
}
