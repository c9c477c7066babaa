//! The real binary in a folder of its own.
#![allow(dead_code, clippy::unwrap_used, reason = "test code; each test file uses its own part")]

pub mod browser;
pub mod deforming;

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Lines, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use tempfile::TempDir;

/// A ball with a few hairs that is shaken: the smallest scene that has everything.
pub const TUFT: &str = r#"
name = "tuft"
shows = "A ball with a few hairs."

[simulation]
frames = 8
substeps = 2
checkpoint_every = 3

[[solid]]
name = "ball"
shape = { kind = "sphere", radius = "5 cm" }
motion = { kind = "expressions", position = ["0.02 * sin(9 * t)", "0", "0"] }

[[groom]]
name = "fur"
on = "ball"
strands = 60
length = "3 cm"
vertices = 6

[interaction]
cell = "1 cm"

[render]
width = 32
height = 24

[[expect]]
that = "strain.max"
at_most = 0.1
because = "hair does not stretch"
"#;

/// A folder in which the program runs.
pub struct Place {
    folder: TempDir,
}

impl Place {
    /// A folder that holds the scene `tuft.toml`.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tuft.toml"), TUFT).unwrap();
        Self { folder }
    }

    /// Adds the scene `tent.toml`: the same hair on a mesh that deforms, by these heights [m].
    pub fn add_tent(&self, heights: [f32; 4]) {
        let (text, data) = deforming::tent("tent", heights);
        fs::write(self.path("tent.gltf"), text).unwrap();
        fs::write(self.path("tent.bin"), data).unwrap();
        let ball = "shape = { kind = \"sphere\", radius = \"5 cm\" }";
        assert!(TUFT.contains(ball));
        let scene = TUFT.replace(ball, "shape = { kind = \"file\", path = \"tent.gltf\" }");
        fs::write(self.path("tent.toml"), scene).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_drench"));
        command.current_dir(self.folder.path()).args(line.split_whitespace()).stdin(Stdio::null());
        command
    }

    /// Runs `drench LINE` to its end.
    pub fn drench(&self, line: &str) -> Ended {
        Ended::new(self.command(line).output().unwrap())
    }

    /// Runs a line of shell to its end, in which `$DRENCH` is the program.
    pub fn shell(&self, line: &str) -> Ended {
        let mut command = Command::new("sh");
        command.current_dir(self.folder.path()).args(["-c", line]).env("DRENCH", env!("CARGO_BIN_EXE_drench"));
        Ended::new(command.output().unwrap())
    }

    /// Begins `drench LINE`.
    pub fn begin(&self, line: &str) -> Child {
        self.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Begins `drench view SUBJECT` and waits until it tells its address.
    pub fn view(&self, subject: &str) -> Viewing {
        let mut process = self.begin(&format!("view {subject} --no-open"));
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut said = Vec::new();
        while let Some(line) = lines.next().transpose().unwrap() {
            if let Some(address) = line.strip_prefix("viewer") {
                let address = address.trim().to_owned();
                return Viewing { address, process, said, lines };
            }
            said.push(line);
        }
        panic!("no address: {}", Ended::new(process.wait_with_output().unwrap()).err);
    }

    /// The bytes of all frames of a run.
    pub fn frames(&self, run: &str) -> Vec<(String, Vec<u8>)> {
        let mut frames: Vec<_> = fs::read_dir(self.path(run).join("frames"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()))
            .collect();
        frames.sort();
        frames
    }

    /// The numbers of the frames in the statistics of a run, in their order.
    pub fn stats_frames(&self, run: &str) -> Vec<u64> {
        self.stats(run).iter().map(|frame| frame["frame"].as_u64().unwrap()).collect()
    }

    /// The statistics of a run, frame by frame.
    pub fn stats(&self, run: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.path(run).join("stats.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn status(&self, run: &str) -> String {
        let text = fs::read_to_string(self.path(run).join("run.json")).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["status"].as_str().unwrap().to_owned()
    }
}

/// A viewer that runs.
pub struct Viewing {
    /// What to open.
    pub address: String,
    process: Child,
    said: Vec<String>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Viewing {
    /// Ends it as Ctrl-C does.
    pub fn end(mut self) -> Ended {
        let process = self.process.id().to_string();
        assert!(Command::new("kill").args(["-INT", &process]).status().unwrap().success());
        let mut said = std::mem::take(&mut self.said);
        said.extend(self.lines.by_ref().map(Result::unwrap));
        let mut err = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        Ended { code: self.process.wait().unwrap().code(), out: said.join("\n"), err }
    }
}

impl Drop for Viewing {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A program that ended.
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ended {
    pub fn new(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let ended = Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) };
        assert!(!ended.err.contains("panicked"), "{}", ended.err);
        ended
    }

    /// Checks the exit code and shows what was said if it is another.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "\nout: {}\nerr: {}", self.out, self.err);
        self
    }

    /// Checks that the error text holds all of these.
    #[track_caller]
    pub fn tells(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.err.contains(word), "'{word}' is not in: {}", self.err);
        }
        self
    }
}

/// Waits until a file is there, at most half a minute.
pub fn wait_for(path: &Path) {
    for _ in 0..3_000 {
        if path.exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{} did not appear", path.display());
}
