//! Opens exports with the programs that people use: Pixar's USD library, Alembic's, OpenVDB, Blender, VTK.
//!
//! They are Python packages of pinned versions (`tests/clients/requirements.txt`), installed into an environment of their
//! own below the target folder. A tiny wet scene is run and exported in every format, and scripts compare what
//! each program finds with the plainest of the exports, PLY.

use crate::cargo;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The only Python that Blender's package is made for.
const PYTHON: &str = "python3.11";
const SCRIPTS: &str = "tests/clients";
/// What is run: half a second of all that exports carry.
const SCENE: &str = "tests/clients/wet-hair.toml";
/// Formats, the names of the exports, and how they are divided into layers.
const EXPORTS: &[(&str, &str, &str)] = &[
    ("usdc", "run.usdc", "single"),
    ("usda", "run.usda", "single"),
    ("usdz", "run.usdz", "single"),
    ("usdc", "layers_usdc", "per-frame"),
    ("usda", "layers_usda", "per-frame"),
    ("abc", "run.abc", "single"),
    ("vdb", "vdb", "single"),
    ("vtp", "vtp", "single"),
    ("ply", "ply", "single"),
];
/// The scripts, each with the program that it asks.
const CHECKS: &[(&str, &str)] = &[
    ("usd.py", "USD"),
    ("usd_groom.py", "USD grooms"),
    ("abc_file.py", "Alembic"),
    ("vtk_files.py", "VTK"),
    ("blender.py", "Blender"),
];
/// The system's Python, for which Debian packages OpenVDB's own library; there is no such package for the other.
const SYSTEM_PYTHON: &str = "/usr/bin/python3";
const VDB_CHECK: (&str, &str) = ("vdb_files.py", "OpenVDB");

/// Runs all checks. Says why if one fails.
pub fn check() -> Result<(), String> {
    let target = PathBuf::from(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
    let folder = target.join("clients");
    fs::create_dir_all(&folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    let python = environment(&folder)?;
    // Built as the tests build it: by itself, its dependencies would be built a second time with other features.
    if !cargo(&["test", "--workspace", "--no-run", "--quiet"]) {
        return Err("drench does not build".to_owned());
    }
    let drench = target.join("debug/drench");
    let run = folder.join("run");
    call(Command::new(&drench).args(["run", SCENE, "--no-render", "--force", "--quiet", "--out"]).arg(&run), None)?;
    for (format, name, layers) in EXPORTS {
        let mut export = Command::new(&drench);
        export.arg("export").arg(&run).args(["--to", format, "--layers", layers]);
        export.args(["--force", "--json", "--surface", "--out"]);
        call(export.arg(folder.join(name)), Some(&folder.join("export.jsonl")))?;
    }
    find_openvdb()?;
    let checks = CHECKS.iter().map(|check| (check, python.as_path()));
    for ((script, program), python) in checks.chain([(&VDB_CHECK, Path::new(SYSTEM_PYTHON))]) {
        println!("-- {program}");
        let log = folder.join(script).with_extension("log");
        call(Command::new(python).arg(Path::new(SCRIPTS).join(script)).args([&folder, &drench]), Some(&log))?;
        // Blender tells every step of a picture; what our scripts say names the file first.
        let told = fs::read_to_string(&log).unwrap_or_default();
        told.lines()
            .filter(|line| {
                EXPORTS.iter().any(|(format, name, _)| {
                    line.starts_with(&format!("{format}: ")) || line.starts_with(&format!("{name}: "))
                })
            })
            .for_each(|line| println!("{line}"));
    }
    Ok(())
}

/// The Python of an environment that has the pinned packages; made if there is none, or of other versions.
fn environment(folder: &Path) -> Result<PathBuf, String> {
    let (home, stamp) = (folder.join("python"), folder.join("installed.txt"));
    let python = home.join("bin/python");
    let wanted = Path::new(SCRIPTS).join("requirements.txt");
    let packages = fs::read_to_string(&wanted).map_err(|error| format!("cannot read {}: {error}", wanted.display()))?;
    if python.exists() && fs::read_to_string(&stamp).is_ok_and(|installed| installed == packages) {
        return Ok(python);
    }
    let names: Vec<&str> = packages.lines().filter(|line| line.contains("==")).collect();
    println!("installing into {} (about 600 MB, once): {}", home.display(), names.join(", "));
    find_python()?;
    call(Command::new(PYTHON).args(["-m", "venv", "--clear"]).arg(&home), None)?;
    call(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(&wanted), None)?;
    fs::write(&stamp, packages).map_err(|error| format!("cannot write {}: {error}", stamp.display()))?;
    Ok(python)
}

/// Makes sure that the right Python is there, with the system's packages where we may.
fn find_python() -> Result<(), String> {
    let there = || {
        let asked = Command::new(PYTHON).args(["-c", "import venv, ensurepip"]).stderr(Stdio::null()).status();
        asked.is_ok_and(|status| status.success())
    };
    if there() {
        return Ok(());
    }
    println!("{PYTHON} is missing; trying apt-get");
    // Whether it worked shows in the next line.
    let _ = Command::new("apt-get").args(["install", "--yes", "--quiet", PYTHON, "python3.11-venv"]).status();
    if there() {
        return Ok(());
    }
    Err(format!(
        "{PYTHON} is missing: Blender's package is made for it alone\n  fix: apt-get install {PYTHON} python3.11-venv, or \
         uv python install 3.11, or pyenv install 3.11; then again"
    ))
}

/// Makes sure that OpenVDB's library is there.
fn find_openvdb() -> Result<(), String> {
    let there = || {
        let asked = Command::new(SYSTEM_PYTHON).args(["-c", "import pyopenvdb, numpy"]).stderr(Stdio::null()).status();
        asked.is_ok_and(|status| status.success())
    };
    if !there() {
        println!("OpenVDB's Python library is missing; trying apt-get");
        // Whether it worked shows in the next line.
        let _ =
            Command::new("apt-get").args(["install", "--yes", "--quiet", "python3-openvdb", "python3-numpy"]).status();
    }
    if there() {
        return Ok(());
    }
    Err("OpenVDB's Python library is missing\n  fix: apt-get install python3-openvdb python3-numpy; then again"
        .to_owned())
}

/// Runs a command, with its output in a file if one is named.
fn call(command: &mut Command, output: Option<&Path>) -> Result<(), String> {
    if let Some(path) = output {
        let file = fs::File::create(path).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        command.stdout(file);
    }
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            let told = output.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
            Err(format!("{command:?} ended with {status}\n{told}"))
        }
        Err(error) => Err(format!("cannot start {command:?}: {error}")),
    }
}
