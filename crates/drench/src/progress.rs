//! What a long command tells while it works: a bar on a terminal, plain lines otherwise, JSON, or nothing.

use crate::cli::VoiceArguments;
use crate::failure::Failure;
use crate::text;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Shortest time between two plain lines.
const PACE: Duration = Duration::from_secs(1);

/// The voice of a command.
pub struct Progress {
    voice: Voice,
    /// The whole of what is counted, what of it is done, and what of that was done before.
    whole: u64,
    done: u64,
    before: u64,
    begun: Instant,
    last_line: Option<Instant>,
    title: String,
}

enum Voice {
    Bar(ProgressBar),
    Lines,
    Json,
    Quiet,
}

impl Progress {
    pub fn new(arguments: VoiceArguments) -> Self {
        let voice = match arguments {
            VoiceArguments { json: true, .. } => Voice::Json,
            VoiceArguments { quiet: true, .. } => Voice::Quiet,
            _ if std::io::stderr().is_terminal() => Voice::Bar(spinner()),
            _ => Voice::Lines,
        };
        Self { voice, whole: 0, done: 0, before: 0, begun: Instant::now(), last_line: None, title: String::new() }
    }

    /// Something begins that cannot be counted.
    pub fn stage(&self, text: &str) {
        match &self.voice {
            Voice::Bar(bar) => {
                bar.set_message(text.to_owned());
                bar.enable_steady_tick(Duration::from_millis(120));
            }
            Voice::Lines => text::line(text),
            Voice::Json => self.event("stage", json!({ "text": text })),
            Voice::Quiet => {}
        }
    }

    /// Something begins that can: `whole` items called `title`, `before` of them done by an earlier session.
    pub fn begin(&mut self, title: &str, whole: u64, before: u64) {
        (self.whole, self.done, self.before) = (whole, before, before);
        (self.begun, self.last_line) = (Instant::now(), None);
        title.clone_into(&mut self.title);
        if let Voice::Bar(spinner) = &self.voice {
            spinner.finish_and_clear();
            let bar = ProgressBar::new(whole).with_position(before);
            let style =
                ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len}  {elapsed} gone, {eta} left  {msg}");
            if let Ok(style) = style {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.set_prefix(self.title.clone());
            bar.reset_eta();
            bar.enable_steady_tick(Duration::from_millis(250));
            self.voice = Voice::Bar(bar);
        }
    }

    /// One item is done. `note` is for people, `event` for programs.
    pub fn step(&mut self, note: &str, event: Value) {
        self.done += 1;
        match &self.voice {
            Voice::Bar(bar) => {
                bar.set_position(self.done);
                bar.set_message(note.to_owned());
            }
            Voice::Lines => {
                let due = self.last_line.is_none_or(|last| last.elapsed() >= PACE) || self.done >= self.whole;
                if due {
                    self.last_line = Some(Instant::now());
                    let left = text::duration(self.time_left());
                    text::line(&format!("{} {}/{}, {left} left, {note}", self.title, self.done, self.whole));
                }
            }
            Voice::Json => {
                let mut event = event;
                event["done"] = json!(self.done);
                event["of"] = json!(self.whole);
                event["seconds_left"] = json!(self.time_left().as_secs_f64());
                self.event(&self.title, event);
            }
            Voice::Quiet => {}
        }
    }

    /// Ends it and tells scripts how the command came out.
    pub fn conclude(&mut self, done: Result<(), Failure>) -> Result<(), Failure> {
        self.end();
        let (exit, message) = match &done {
            Ok(()) => (0, None),
            Err(failure) => (failure.code(), Some(failure.to_string())),
        };
        self.event("end", json!({ "exit": exit, "message": message }));
        done
    }

    /// Ends it and tells scripts of a failure; what came out well has told of itself.
    pub fn conclude_failure(&mut self, done: Result<(), Failure>) -> Result<(), Failure> {
        self.end();
        if let Err(failure) = &done {
            self.event("error", json!({ "exit": failure.code(), "message": failure.to_string() }));
        }
        done
    }

    /// The counted items are done, or will not be.
    pub fn end(&mut self) {
        if let Voice::Bar(bar) = &self.voice {
            bar.finish_and_clear();
            self.voice = Voice::Bar(spinner());
        }
    }

    /// Something that a user should know.
    pub fn message(&self, text: &str) {
        match &self.voice {
            Voice::Bar(bar) => bar.suspend(|| text::error_line(text)),
            Voice::Lines => text::error_line(text),
            Voice::Json => self.event("message", json!({ "text": text })),
            Voice::Quiet => {}
        }
    }

    /// Text for people only, such as the closing summary.
    pub fn say(&self, text: &str) {
        match &self.voice {
            Voice::Bar(bar) => bar.suspend(|| text::line(text)),
            Voice::Lines => text::line(text),
            Voice::Json | Voice::Quiet => {}
        }
    }

    /// A line for programs only: the fields of `fields` with the name of the event before them.
    pub fn event(&self, name: &str, fields: Value) {
        if !matches!(self.voice, Voice::Json) {
            return;
        }
        let mut object = serde_json::Map::from_iter([("event".to_owned(), json!(name))]);
        if let Value::Object(fields) = fields {
            object.extend(fields);
        }
        text::line(&Value::Object(object).to_string());
    }

    fn time_left(&self) -> Duration {
        let done = self.done.saturating_sub(self.before).max(1);
        let left = self.whole.saturating_sub(self.done);
        self.begun.elapsed().mul_f64(left as f64 / done as f64)
    }
}

fn spinner() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}  {elapsed}") {
        bar.set_style(style);
    }
    bar
}
