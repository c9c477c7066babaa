//! How a key is written in a scene file: forms read a node, check it, write it back and describe themselves.
//!
//! A section of the file is declared once, as a struct whose every field carries its form (see [`crate::declare`]).
//! Parsing, defaults, ranges, units, the JSON Schema, the reference page and the writing back all come from that.

mod number;
mod table;
mod text;
mod vector;

pub(crate) use number::{Quantity, count, flag, quantity};
pub(crate) use table::{Either, declared_default, either, flattened, table, tables};
pub(crate) use text::{Formula, Words, expression, expressions, name_of, path, reference_to, text, texts, word};
pub(crate) use vector::{colour, from_euler, points, rotation, vector};

use crate::diagnostics::Problem;
use crate::tree::{Data, Node, Place, Table};
use serde_json::Value as Json;
use std::path::PathBuf;

/// Reads values of one form.
pub(crate) trait Form {
    type Value;

    /// The value, or `None` after the reader was told what is wrong.
    fn read(&self, node: &Node, reader: &mut Reader) -> Option<Self::Value>;

    fn write(&self, value: &Self::Value) -> Data;

    fn kind(&self) -> Kind;

    /// A value as a person would write it, for defaults in the reference.
    fn show(&self, value: &Self::Value) -> String {
        let mut table = Table::default();
        table.push("x", self.write(value));
        crate::tree::to_text(&table).trim().trim_start_matches("x = ").to_owned()
    }

    /// The key must be there.
    fn required(self) -> Required<Self>
    where
        Self: Sized,
    {
        Required(self)
    }

    /// The key may be absent, and then has this value.
    fn or(self, value: impl Into<Self::Value>) -> Or<Self>
    where
        Self: Sized,
    {
        Or { form: self, default: value.into(), note: None, unless: None }
    }

    /// The key may be absent, and then has this value, which the reference describes in words.
    fn or_as(self, value: impl Into<Self::Value>, note: &'static str) -> Or<Self>
    where
        Self: Sized,
    {
        Or { form: self, default: value.into(), note: Some(note), unless: None }
    }

    /// The key must be there unless another is, and then has this value, which the reference describes in words.
    fn required_unless(self, other: &'static str, value: impl Into<Self::Value>, note: &'static str) -> Or<Self>
    where
        Self: Sized,
    {
        Or { form: self, default: value.into(), note: Some(note), unless: Some(other) }
    }

    /// The key may be absent, which means something of its own.
    fn optional(self) -> Optional<Self>
    where
        Self: Sized,
    {
        Optional { form: self, note: "" }
    }

    /// The same, saying in the reference what absence means.
    fn optional_as(self, note: &'static str) -> Optional<Self>
    where
        Self: Sized,
    {
        Optional { form: self, note }
    }
}

/// What a form accepts, for the schema and the reference.
pub(crate) enum Kind {
    Leaf {
        /// Such as "length" or "word".
        wording: String,
        /// Such as "above 0 m"; empty if anything goes.
        range: String,
        schema: Json,
        /// Words with their meanings, if it is a choice of words.
        words: Vec<(&'static str, &'static str)>,
    },
    Table(Description),
    Tables(Description),
    /// A leaf or a table, whichever is written.
    Either(Box<Kind>, Box<Kind>),
}

/// A field of a section: a form, and what its absence means.
pub(crate) trait Field {
    type Value;
    fn read(&self, key: &'static str, table: &Table, place: Place, reader: &mut Reader) -> Option<Self::Value>;
    fn write(&self, key: &'static str, value: &Self::Value, table: &mut Table);
    fn describe(&self, key: &'static str, doc: &'static str) -> FieldDescription;

    /// Keys that this field reads in `table`.
    fn keys(&self, key: &'static str, _table: &Table, keys: &mut Vec<&'static str>) {
        keys.push(key);
    }
}

/// The field itself: lets the declared type of its value decide the types within the form.
pub(crate) fn of<T, F: Field<Value = T>>(field: F) -> F {
    field
}

/// A section of the scene file.
pub(crate) trait Section: Sized {
    fn describe() -> Description;
    fn read(table: &Table, place: Place, reader: &mut Reader) -> Option<Self>;
    fn write(&self, table: &mut Table);

    /// Keys that the section knows in `table`; those of a tagged one depend on the `kind` that is written.
    fn keys(table: &Table, keys: &mut Vec<&'static str>);
}

pub(crate) struct Description {
    pub name: &'static str,
    pub doc: &'static str,
    /// A short scene fragment that uses it; may be empty.
    pub example: &'static str,
    pub body: Body,
}

pub(crate) enum Body {
    Fields(Vec<FieldDescription>),
    /// A table whose key `kind` chooses the other keys.
    Variants(Vec<VariantDescription>),
}

pub(crate) struct VariantDescription {
    pub word: &'static str,
    pub doc: &'static str,
    pub fields: Vec<FieldDescription>,
}

pub(crate) struct FieldDescription {
    pub key: &'static str,
    pub doc: &'static str,
    pub kind: Kind,
    pub presence: Presence,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Presence {
    Required,
    /// Absent means this value: as it is written, or in words; and as data, unless it is a table.
    Default {
        shown: String,
        in_words: bool,
        data: Option<Json>,
    },
    Optional(&'static str),
    /// Its keys stand directly in the table around it.
    Flattened,
}

pub(crate) struct Required<F>(F);
pub(crate) struct Or<F: Form> {
    form: F,
    default: F::Value,
    note: Option<&'static str>,
    /// The key without which this one must be there.
    unless: Option<&'static str>,
}
pub(crate) struct Optional<F> {
    form: F,
    note: &'static str,
}

impl<F: Form> Field for Required<F> {
    type Value = F::Value;

    fn read(&self, key: &'static str, table: &Table, place: Place, reader: &mut Reader) -> Option<F::Value> {
        match table.get(key) {
            Some(node) => reader.within(key, |reader| self.0.read(node, reader)),
            None => {
                reader.missing(key, &self.0.kind(), place);
                None
            }
        }
    }

    fn write(&self, key: &'static str, value: &F::Value, table: &mut Table) {
        table.push(key, self.0.write(value));
    }

    fn describe(&self, key: &'static str, doc: &'static str) -> FieldDescription {
        FieldDescription { key, doc, kind: self.0.kind(), presence: Presence::Required }
    }
}

impl<F: Form<Value: Clone>> Field for Or<F> {
    type Value = F::Value;

    fn read(&self, key: &'static str, table: &Table, place: Place, reader: &mut Reader) -> Option<F::Value> {
        match table.get(key) {
            Some(node) => reader.within(key, |reader| self.form.read(node, reader)),
            None if self.unless.is_some_and(|other| table.get(other).is_none()) => {
                reader.missing(key, &self.form.kind(), place);
                None
            }
            None => Some(self.default.clone()),
        }
    }

    fn write(&self, key: &'static str, value: &F::Value, table: &mut Table) {
        table.push(key, self.form.write(value));
    }

    fn describe(&self, key: &'static str, doc: &'static str) -> FieldDescription {
        let kind = self.form.kind();
        let shown = self.note.map_or_else(|| self.form.show(&self.default), str::to_owned);
        let data = match kind {
            Kind::Leaf { .. } => to_json(&self.form.write(&self.default)),
            _ => None,
        };
        let in_words = self.note.is_some() || data.is_none();
        FieldDescription { key, doc, kind, presence: Presence::Default { shown, in_words, data } }
    }
}

impl<F: Form> Field for Optional<F> {
    type Value = Option<F::Value>;

    fn read(&self, key: &'static str, table: &Table, _: Place, reader: &mut Reader) -> Option<Option<F::Value>> {
        match table.get(key) {
            Some(node) => reader.within(key, |reader| self.form.read(node, reader)).map(Some),
            None => Some(None),
        }
    }

    fn write(&self, key: &'static str, value: &Option<F::Value>, table: &mut Table) {
        if let Some(value) = value {
            table.push(key, self.form.write(value));
        }
    }

    fn describe(&self, key: &'static str, doc: &'static str) -> FieldDescription {
        FieldDescription { key, doc, kind: self.form.kind(), presence: Presence::Optional(self.note) }
    }
}

/// What a key wants, in a few words.
fn expectation(kind: &Kind) -> String {
    match kind {
        Kind::Leaf { wording, words, .. } if words.is_empty() => format!("<{wording}>"),
        Kind::Leaf { words, .. } => {
            words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(" or ")
        }
        Kind::Table(_) => "{ ... }".into(),
        Kind::Tables(_) => "[{ ... }]".into(),
        Kind::Either(first, _) => expectation(first),
    }
}

pub(crate) fn to_json(data: &Data) -> Option<Json> {
    Some(match data {
        Data::Text(text) => text.value.clone().into(),
        Data::Integer(value) => (*value).into(),
        Data::Float(value) => (*value).into(),
        Data::Flag(value) => (*value).into(),
        Data::List(items) => Json::Array(items.iter().map(|item| to_json(&item.data)).collect::<Option<_>>()?),
        Data::Date(_) | Data::Table(_) => return None,
    })
}

impl Description {
    /// Where below this section a key could belong: "strand.model" for `model` in a groom.
    fn homes_of(&self, key: &str, path: &str, homes: &mut Vec<String>) {
        let fields: Vec<&FieldDescription> = match &self.body {
            Body::Fields(fields) => fields.iter().collect(),
            Body::Variants(variants) => variants.iter().flat_map(|variant| &variant.fields).collect(),
        };
        for field in fields {
            if field.key == key {
                homes.push(format!("{path}{key}"));
            }
            if let Kind::Table(inner) = &field.kind {
                inner.homes_of(key, &format!("{path}{}.", field.key), homes);
            }
        }
    }
}

/// Collects problems, names and references while the tree is read.
pub(crate) struct Reader {
    pub problems: Vec<Problem>,
    /// Relative paths are relative to this.
    pub directory: PathBuf,
    /// Whether the files that the scene names must exist.
    pub files_must_exist: bool,
    path: Vec<String>,
    definitions: Vec<Name>,
    references: Vec<Name>,
}

struct Name {
    kind: &'static str,
    name: String,
    place: Place,
    path: String,
}

impl Reader {
    pub fn new(directory: PathBuf, files_must_exist: bool) -> Self {
        Self {
            problems: Vec::new(),
            directory,
            files_must_exist,
            path: Vec::new(),
            definitions: Vec::new(),
            references: Vec::new(),
        }
    }

    pub fn error(&mut self, place: Place, message: impl Into<String>, help: impl Into<String>) {
        let (message, help) = (message.into(), help.into());
        self.problems.push(Problem { place: Some(place), key: self.path.join("."), message, help });
    }

    /// Reports that a key is not there.
    fn missing(&mut self, key: &str, kind: &Kind, place: Place) {
        let what = expectation(kind);
        self.error(place, format!("the key `{key}` is missing"), format!("add {key} = {what}"));
    }

    /// Runs `read` with `step` on the path that errors name.
    pub fn within<T>(&mut self, step: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step.into());
        let result = read(self);
        self.path.pop();
        result
    }

    pub fn define(&mut self, kind: &'static str, name: &str, place: Place) {
        self.definitions.push(Name { kind, name: name.into(), place, path: self.path.join(".") });
    }

    pub fn refer(&mut self, kind: &'static str, name: &str, place: Place) {
        self.references.push(Name { kind, name: name.into(), place, path: self.path.join(".") });
    }

    /// The `kind` of a tagged table, which must be one of `words`.
    pub fn kind_of<'a>(&mut self, table: &Table, place: Place, words: &'a [&'a str]) -> Option<&'a str> {
        let Some(node) = table.get("kind") else {
            self.error(place, "the key `kind` is missing", crate::diagnostics::suggestion("", words.iter().copied()));
            return None;
        };
        let text = node.as_text().unwrap_or_default();
        let found = words.iter().find(|word| **word == text).copied();
        if found.is_none() {
            let help = crate::diagnostics::suggestion(text, words.iter().copied());
            self.error(node.place, format!("unknown kind {}", node.wording()), help);
        }
        found
    }

    /// Reports keys that the section does not know.
    pub fn reject_unknown<T: Section>(&mut self, table: &Table) {
        let mut known = Vec::new();
        T::keys(table, &mut known);
        let mut unknown = table.entries.iter().filter(|entry| !known.contains(&entry.key.as_str())).peekable();
        if unknown.peek().is_none() {
            return;
        }
        let description = T::describe();
        // A table with more unknown keys than a report holds is not a slip of the finger.
        for entry in unknown.take(crate::diagnostics::MOST) {
            let mut homes = Vec::new();
            description.homes_of(&entry.key, "", &mut homes);
            let near = crate::diagnostics::nearest(&entry.key, known.iter().copied());
            let help = match (near, &homes[..]) {
                (Some(near), _) => format!("did you mean `{near}`?"),
                (None, [home]) if home.contains('.') => format!("it belongs further in: `{home}`"),
                _ => crate::diagnostics::suggestion(&entry.key, known.iter().copied()),
            };
            self.error(entry.place, format!("unknown key `{}`", crate::tree::shorten(&entry.key)), help);
        }
    }

    /// Reports names given twice and references to names that nothing has.
    pub fn check_names(&mut self) {
        for (i, name) in self.definitions.iter().enumerate() {
            if self.definitions[..i].iter().any(|other| other.kind == name.kind && other.name == name.name) {
                self.problems.push(Problem {
                    place: Some(name.place),
                    key: name.path.clone(),
                    message: format!("a {} named `{}` is already there", name.kind, name.name),
                    help: "give each a name of its own".into(),
                });
            }
        }
        for reference in &self.references {
            let candidates = || self.definitions.iter().filter(|name| name.kind == reference.kind);
            if candidates().any(|name| name.name == reference.name) {
                continue;
            }
            let mut names: Vec<&str> = candidates().map(|name| name.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            let help = match names.is_empty() {
                true => format!("add [[{0}]] with name = \"{1}\"", reference.kind, reference.name),
                false => crate::diagnostics::suggestion(&reference.name, names),
            };
            self.problems.push(Problem {
                place: Some(reference.place),
                key: reference.path.clone(),
                message: format!("no {} is named `{}`", reference.kind, crate::tree::shorten(&reference.name)),
                help,
            });
        }
    }
}
