//! A browser for the tests of the viewer: one that is there, or Chromium from Debian.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs that will do, best first.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// The browser to test with; installs one where that is possible, and says so.
pub fn find_or_install() -> Result<PathBuf, String> {
    if let Some(given) = std::env::var_os("CHROMIUM") {
        let given = PathBuf::from(given);
        return if given.is_file() {
            Ok(given)
        } else {
            Err(format!("CHROMIUM names {}, which is no file", given.display()))
        };
    }
    if let Some(found) = find() {
        return Ok(found);
    }
    println!("No Chromium is installed: installing it from Debian (apt-get install chromium).");
    let install = "apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium";
    let installed = [vec!["sh", "-c", install], vec!["sudo", "-n", "sh", "-c", install]]
        .iter()
        .any(|words| Command::new(words[0]).args(&words[1..]).status().is_ok_and(|status| status.success()));
    match find() {
        Some(found) if installed => Ok(found),
        _ => Err("Chromium could not be installed.\n  fix: install it by hand, or name a browser with \
                  CHROMIUM=/path/to/chromium"
            .to_owned()),
    }
}

fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|path: &PathBuf| Path::is_file(path))
}
