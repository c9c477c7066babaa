//! What is wrong with a scene: all of it at once, each with its place and the fix.

use crate::tree::Place;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::fmt;

/// No more than this many problems are kept: past that the first ones are what matters.
pub(crate) const MOST: usize = 100;

/// Everything that is wrong with a scene. Displays as plain text; [`Diagnostics::render`] colours it for a terminal.
#[derive(Clone, Debug, thiserror::Error)]
pub struct Diagnostics {
    sources: Vec<SourceText>,
    problems: Vec<Problem>,
    left_out: usize,
}

/// One problem, located.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Diagnostic {
    /// The scene file, or `--set` for an override; empty if the problem has no place.
    pub file: String,
    /// Line, from 1; 0 if the problem has no place.
    pub line: usize,
    /// Column in characters, from 1; 0 if the problem has no place.
    pub column: usize,
    /// Path of the key, such as `groom.fur.spacing`; empty if it is not about one key.
    pub key: String,
    /// What is wrong, and what was expected.
    pub message: String,
    /// How to mend it, or empty.
    pub help: String,
}

/// A text that a scene is made of.
#[derive(Clone, Debug)]
pub(crate) struct SourceText {
    pub name: String,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Problem {
    pub place: Option<Place>,
    pub key: String,
    pub message: String,
    pub help: String,
}

impl Diagnostics {
    pub(crate) fn new(sources: Vec<SourceText>, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| problem.place.map_or((0, 0), |place| (place.source, place.start)));
        problems.dedup();
        let left_out = problems.len().saturating_sub(MOST);
        problems.truncate(MOST);
        Self { sources, problems, left_out }
    }

    /// A problem that has no place in a text.
    pub(crate) fn placeless(message: impl Into<String>, help: impl Into<String>) -> Self {
        let problem = Problem { place: None, key: String::new(), message: message.into(), help: help.into() };
        Self::new(Vec::new(), vec![problem])
    }

    /// Number of problems.
    pub fn len(&self) -> usize {
        self.problems.len() + self.left_out
    }

    /// Whether there is no problem (never so in an error).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The problems in the order of the text, located, for machine-readable output.
    pub fn iter(&self) -> impl Iterator<Item = Diagnostic> + '_ {
        self.problems.iter().map(|problem| {
            let (file, line, column) = self.locate(problem.place);
            let Problem { key, message, help, .. } = problem.clone();
            Diagnostic { file, line, column, key, message, help }
        })
    }

    fn source(&self, place: Option<Place>) -> Option<(&SourceText, Place)> {
        let place = place?;
        Some((self.sources.get(place.source as usize)?, place))
    }

    fn locate(&self, place: Option<Place>) -> (String, usize, usize) {
        let Some((source, place)) = self.source(place) else { return (String::new(), 0, 0) };
        let before = source.text.get(..place.start as usize).unwrap_or(&source.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |text| text.chars().count()) + 1;
        (source.name.clone(), line, column)
    }

    /// The report as text, with colours if it goes to a terminal.
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let mut out = String::new();
        for problem in &self.problems {
            let title = match problem.key.as_str() {
                "" => problem.message.clone(),
                key => format!("{key}: {}", problem.message),
            };
            let mut group = Group::with_title(Level::ERROR.primary_title(title));
            if let Some((source, place)) = self.source(problem.place) {
                let (_, number, _) = self.locate(problem.place);
                let (line, span) = line_around(&source.text, place);
                let annotation = AnnotationKind::Primary.span(span);
                let snippet = Snippet::source(line).line_start(number).path(source.name.as_str());
                group = group.element(snippet.annotation(annotation));
            }
            if !problem.help.is_empty() {
                group = group.element(Level::HELP.message(problem.help.as_str()));
            }
            out.push_str(&renderer.render(&[group]));
            out.push_str("\n\n");
        }
        if self.left_out > 0 {
            out.push_str(&format!("... and {} more\n", self.left_out));
        }
        out
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(false).trim_end())
    }
}

/// The line on which a place begins, and the part of that line which it covers.
fn line_around(text: &str, place: Place) -> (&str, std::ops::Range<usize>) {
    let floor = |at: u32| text.floor_char_boundary((at as usize).min(text.len()));
    let (start, end) = (floor(place.start), floor(place.end));
    let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = text[start..].find(['\n', '\r']).map_or(text.len(), |length| start + length);
    (&text[line_start..line_end], start - line_start..end.clamp(start, line_end) - line_start)
}

/// The candidate that was probably meant.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > 100 {
        return None; // nothing that long is a slip of the finger, and the distance is quadratic
    }
    let lower = word.to_lowercase();
    let slips = |candidate: &str| strsim::damerau_levenshtein(&lower, &candidate.to_lowercase());
    candidates
        .into_iter()
        .map(|candidate| (slips(candidate), candidate))
        .filter(|(slips, candidate)| *slips <= (candidate.chars().count().max(lower.chars().count()) / 3).max(1))
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// "did you mean `fur`?", or the whole choice if nothing is near.
pub(crate) fn suggestion<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = nearest(word, candidates.clone()) {
        return format!("did you mean `{near}`?");
    }
    let all: Vec<_> = candidates.into_iter().take(30).map(|candidate| format!("`{candidate}`")).collect();
    match all.len() {
        0 => String::new(),
        1 => format!("the only choice is {}", all[0]),
        _ => format!("choose from {}", all.join(", ")),
    }
}
