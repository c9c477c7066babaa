//! Texts: names, references, words of a choice, paths, expressions.

use super::{Form, Kind, Reader};
use crate::diagnostics::suggestion;
use crate::expression::{Expression, Variables};
use crate::tree::{Data, Node, shorten};
use serde_json::json;
use std::marker::PhantomData;
use std::path::PathBuf;

fn read_text<'a>(node: &'a Node, what: &str, reader: &mut Reader) -> Option<&'a str> {
    let text = node.as_text();
    if text.is_none() {
        reader.error(node.place, format!("expected {what}, found {}", node.wording()), "write it in quotes");
    }
    text
}

fn leaf(wording: &str, range: &str) -> Kind {
    let schema = json!({ "type": "string" });
    Kind::Leaf { wording: wording.into(), range: range.into(), schema, words: Vec::new() }
}

/// Any text.
pub(crate) struct FreeText;

pub(crate) fn text() -> FreeText {
    FreeText
}

impl Form for FreeText {
    type Value = String;

    fn read(&self, node: &Node, reader: &mut Reader) -> Option<String> {
        read_text(node, "a text", reader).map(str::to_owned)
    }

    fn write(&self, value: &String) -> Data {
        Data::text(value)
    }

    fn kind(&self) -> Kind {
        leaf("text", "")
    }
}

/// A list of texts; one text alone is a list of one.
pub(crate) struct Texts;

pub(crate) fn texts() -> Texts {
    Texts
}

impl Form for Texts {
    type Value = Vec<String>;

    fn read(&self, node: &Node, reader: &mut Reader) -> Option<Vec<String>> {
        if let Data::List(items) = &node.data {
            let texts: Vec<_> = items.iter().map(|item| FreeText.read(item, reader)).collect();
            return texts.into_iter().collect();
        }
        FreeText.read(node, reader).map(|text| vec![text])
    }

    fn write(&self, value: &Vec<String>) -> Data {
        Data::list(value.iter().map(Data::text))
    }

    fn kind(&self) -> Kind {
        let schema = json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] });
        Kind::Leaf { wording: "list of texts".into(), range: String::new(), schema, words: Vec::new() }
    }
}

/// The name of a new thing of some kind.
pub(crate) struct NameOf(&'static str);

pub(crate) fn name_of(kind: &'static str) -> NameOf {
    NameOf(kind)
}

impl Form for NameOf {
    type Value = String;

    fn read(&self, node: &Node, reader: &mut Reader) -> Option<String> {
        let name = read_text(node, "a name", reader)?;
        // Names are steps of key paths and parts of file names.
        let good = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
        if name.is_empty() || name.len() > 64 || !name.chars().all(good) {
            reader.error(
                node.place,
                format!("{} cannot be a name", node.wording()),
                "use 1 to 64 letters, digits, `-` and `_`",
            );
            return None;
        }
        reader.define(self.0, name, node.place);
        Some(name.into())
    }

    fn write(&self, value: &String) -> Data {
        Data::text(value)
    }

    fn kind(&self) -> Kind {
        leaf("name", "letters, digits, - and _")
    }
}

/// The name of a thing that stands elsewhere in the scene.
pub(crate) struct ReferenceTo(&'static str);

pub(crate) fn reference_to(kind: &'static str) -> ReferenceTo {
    ReferenceTo(kind)
}

impl Form for ReferenceTo {
    type Value = String;

    fn read(&self, node: &Node, reader: &mut Reader) -> Option<String> {
        let name = read_text(node, &format!("the name of a {}", self.0), reader)?;
        reader.refer(self.0, name, node.place);
        Some(name.into())
    }

    fn write(&self, value: &String) -> Data {
        Data::text(value)
    }

    fn kind(&self) -> Kind {
        leaf(&format!("name of a {}", self.0), "")
    }
}

/// A choice of words, each with its meaning; declared by `words!`.
pub(crate) trait Words: Sized + Copy + PartialEq + 'static {
    const ALL: &'static [(Self, &'static str, &'static str)];
}

pub(crate) struct Word<T>(PhantomData<T>);

pub(crate) fn word<T: Words>() -> Word<T> {
    Word(PhantomData)
}

impl<T: Words> Form for Word<T> {
    type Value = T;

    fn read(&self, node: &Node, reader: &mut Reader) -> Option<T> {
        let words = T::ALL.iter().map(|(_, word, _)| *word);
        let Some(text) = node.as_text() else {
            let message = format!("expected a word, found {}", node.wording());
            reader.error(node.place, message, suggestion("", words));
            return None;
        };
        let found = T::ALL.iter().find(|(_, word, _)| *word == text).map(|(value, ..)| *value);
        if found.is_none() {
            reader.error(node.place, format!("unknown word `{}`", shorten(text)), suggestion(text, words));
        }
        found
    }

    fn write(&self, value: &T) -> Data {
        let word = T::ALL.iter().find(|(other, ..)| other == value).map_or("", |(_, word, _)| *word);
        Data::text(word)
    }

    fn kind(&self) -> Kind {
        let words: Vec<_> = T::ALL.iter().map(|(_, word, doc)| (*word, doc.trim())).collect();
        let schema = json!({ "enum": words.iter().map(|(word, _)| *word).collect::<Vec<_>>() });
        Kind::Leaf { wording: "word".into(), range: String::new(), schema, words }
    }
}

/// The path of a file, relative to the scene file.
pub(crate) struct FilePath;

pub(crate) fn path() -> FilePath {
    FilePath
}

impl Form for FilePath {
    type Value = PathBuf;

    fn read(&self, node: &Node, reader: &mut Reader) -> Option<PathBuf> {
        let text = read_text(node, "a path", reader)?;
        if text.is_empty() || text.contains('\0') {
            reader.error(node.place, "the path is empty", "write the path of a file, relative to the scene file");
            return None;
        }
        let joined = reader.directory.join(text);
        // Absolute, so that the resolved scene means the same files wherever it is read again.
        let path = std::path::absolute(&joined).unwrap_or(joined);
        if reader.files_must_exist && !path.is_file() {
            let help = format!("paths are relative to the scene file; looked for {}", path.display());
            reader.error(node.place, format!("there is no file `{}`", shorten(text)), help);
            return None;
        }
        Some(path)
    }

    fn write(&self, value: &PathBuf) -> Data {
        Data::text(value.to_string_lossy())
    }

    fn kind(&self) -> Kind {
        leaf("path", "relative to the scene file")
    }
}

/// A formula.
pub(crate) struct Formula(&'static Variables);

pub(crate) fn expression(variables: &'static Variables) -> Formula {
    Formula(variables)
}

impl Form for Formula {
    type Value = Expression;

    fn read(&self, node: &Node, reader: &mut Reader) -> Option<Expression> {
        let source = match &node.data {
            Data::Integer(value) => value.to_string(),
            Data::Float(value) if value.is_finite() => format!("{value:?}"),
            _ => read_text(node, "an expression", reader)?.to_owned(),
        };
        match Expression::compile(&source, self.0) {
            Ok(expression) => Some(expression),
            Err(error) => {
                reader.error(node.place_in_text(error.span), error.message, error.help);
                None
            }
        }
    }

    fn write(&self, value: &Expression) -> Data {
        Data::text(value.source())
    }

    fn kind(&self) -> Kind {
        let schema = json!({ "type": ["string", "number"] });
        let wording = format!("expression of {}", self.0.names.join(", "));
        Kind::Leaf { wording, range: String::new(), schema, words: Vec::new() }
    }
}

/// Three formulas: x, y, z.
pub(crate) struct Formulas(Formula);

pub(crate) fn expressions(variables: &'static Variables) -> Formulas {
    Formulas(Formula(variables))
}

impl Form for Formulas {
    type Value = [Expression; 3];

    fn read(&self, node: &Node, reader: &mut Reader) -> Option<[Expression; 3]> {
        let items = node.items();
        if items.len() != 3 {
            let message = format!("expected three expressions, found {}", node.wording());
            reader.error(
                node.place,
                message,
                "write one for each of x, y and z, such as [\"0\", \"0.1 * sin(t)\", \"0\"]",
            );
            return None;
        }
        let three: Vec<_> = items.iter().map(|item| self.0.read(item, reader)).collect();
        three.into_iter().collect::<Option<Vec<_>>>()?.try_into().ok()
    }

    fn write(&self, value: &[Expression; 3]) -> Data {
        Data::list(value.iter().map(|one| self.0.write(one)))
    }

    fn kind(&self) -> Kind {
        let items = json!({ "type": ["string", "number"] });
        let schema = json!({ "type": "array", "items": items, "minItems": 3, "maxItems": 3 });
        let wording = format!("three expressions of {}", self.0.0.names.join(", "));
        Kind::Leaf { wording, range: String::new(), schema, words: Vec::new() }
    }
}
