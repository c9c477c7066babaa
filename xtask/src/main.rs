//! Chores of the project: `cargo xtask test` is the one command that passes all the tests, `cargo xtask docs` writes
//! the generated pages anew.

mod clients;

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
        "What the tests need comes with cargo, except for the programs that exports are opened with: those are Python"
    );
    println!("packages, which the last check installs below the target folder.");
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
    if !clients() {
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

/// Writes the pages that come from the code. A test of drench-scene fails when they are stale.
fn docs() -> bool {
    cargo(&["run", "--quiet", "--package", "drench-scene", "--example", "reference"])
}

fn cargo(arguments: &[&str]) -> bool {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    match Command::new(cargo).args(arguments).status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("cannot start cargo: {error}");
            false
        }
    }
}
