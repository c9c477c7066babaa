//! Chores of the project: `cargo xtask test` is the one command that passes all the tests, `cargo xtask docs` writes
//! the generated pages anew.

mod browser;
mod clients;

use std::ffi::OsStr;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// What the test command runs, in order: a name, what it proves, and the cargo arguments.
const TESTS: &[(&str, &str, &[&str])] = &[
    ("format", "the code is formatted", &["fmt", "--all", "--", "--check"]),
    ("lint", "no warnings", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    ("tests", "units, models, files, laws of physics, and the program itself", &["test", "--workspace"]),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["test"] => test(),
        ["clients"] => clients(),
        ["docs"] => docs(),
        _ => {
            eprintln!("usage: cargo xtask test      run every check of the project");
            eprintln!("       cargo xtask clients   open exports with USD, Blender and VTK: the last of these checks");
            eprintln!("       cargo xtask docs      write the generated pages of docs/ anew");
            return ExitCode::from(2);
        }
    };
    if done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs every check, stops at the first that fails.
fn test() -> bool {
    println!(
        "What the tests need comes with cargo, except for a browser and the programs that exports are opened with: Chromium is"
    );
    println!("installed where there is none, and Python packages below the target folder.");
    let start = Instant::now();
    for (name, proves, arguments) in TESTS {
        println!("\n== {name}: {proves}");
        let step = Instant::now();
        if !cargo(arguments) {
            eprintln!("\n{name} failed: run `cargo {}` to see it alone", arguments.join(" "));
            return false;
        }
        println!("== {name}: passed in {:.0} s", step.elapsed().as_secs_f64());
    }
    if !viewer() || !clients() {
        return false;
    }
    println!("\nAll checks passed in {:.0} s.", start.elapsed().as_secs_f64());
    true
}

/// Opens exports with the programs that people use.
fn clients() -> bool {
    println!("\n== clients: USD, Blender and VTK find in exports what the run holds");
    let step = Instant::now();
    if let Err(reason) = clients::check() {
        eprintln!("\n{reason}\nclients failed: run `cargo xtask clients` to see it alone");
        return false;
    }
    println!("== clients: passed in {:.0} s", step.elapsed().as_secs_f64());
    true
}

/// Tests the viewer in a real browser.
fn viewer() -> bool {
    println!("\n== viewer: the page in a real browser");
    let step = Instant::now();
    let browser = match browser::find_or_install() {
        Ok(browser) => browser,
        Err(reason) => {
            eprintln!("\nviewer failed: {reason}");
            return false;
        }
    };
    let arguments = ["test", "--workspace", "--test", "browser", "--", "--ignored"];
    let passed = cargo_with(&arguments, &[("CHROMIUM", browser.as_os_str())]);
    if passed {
        println!("== viewer: passed in {:.0} s", step.elapsed().as_secs_f64());
    } else {
        eprintln!("\nviewer failed: run `cargo {}` to see it alone", arguments.join(" "));
    }
    passed
}

/// Writes the pages that come from the code. A test of drench-scene fails when they are stale.
fn docs() -> bool {
    cargo(&["run", "--quiet", "--package", "drench-scene", "--example", "reference"])
}

fn cargo(arguments: &[&str]) -> bool {
    cargo_with(arguments, &[])
}

fn cargo_with(arguments: &[&str], variables: &[(&str, &OsStr)]) -> bool {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    match Command::new(cargo).args(arguments).envs(variables.iter().copied()).status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("cannot start cargo: {error}");
            false
        }
    }
}
