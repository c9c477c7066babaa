//! The scene file as a tree whose every node knows where it was written.
//!
//! Between the text and the values stands this tree, because sizes and overrides change the document before it is
//! validated, and an error in a changed value must point at the text that changed it.

use std::ops::Range;

/// A range of bytes in one of the texts that make up a scene (the file, or an override).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub source: u32,
    pub start: u32,
    pub end: u32,
}

impl Place {
    /// Of values that no text holds: those being written.
    pub const NOWHERE: Self = Self { source: u32::MAX, start: 0, end: 0 };

    pub fn new(source: u32, span: Range<usize>) -> Self {
        Self { source, start: span.start as u32, end: span.end as u32 }
    }

    /// The part of this place between two offsets from its start.
    pub fn part(self, span: Range<usize>) -> Self {
        let start = self.start.saturating_add(span.start as u32).min(self.end);
        let end = self.start.saturating_add(span.end as u32).clamp(start, self.end);
        Self { start, end, ..self }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub data: Data,
    pub place: Place,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    Text(Text),
    Integer(i64),
    Float(f64),
    Flag(bool),
    Date(String),
    List(Vec<Node>),
    Table(Table),
}

/// A string value, and how its characters lie in the source.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Text {
    pub value: String,
    /// Bytes from the start of the node to the first character, when the text stands there literally (no escapes).
    pub inset: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table {
    pub entries: Vec<Entry>,
    /// Written as `{ ... }`.
    pub inline: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub key: String,
    pub place: Place,
    pub node: Node,
}

impl Data {
    pub fn text(value: impl Into<String>) -> Self {
        Self::Text(Text { value: value.into(), inset: None })
    }

    pub fn list(items: impl IntoIterator<Item = Self>) -> Self {
        Self::List(items.into_iter().map(Node::written).collect())
    }
}

impl Node {
    /// A node that is about to be written out.
    pub fn written(data: Data) -> Self {
        Self { data, place: Place::NOWHERE }
    }

    /// What it is, for "found ..." in a message.
    pub fn wording(&self) -> String {
        match &self.data {
            Data::Text(text) => format!("{:?}", shorten(&text.value)),
            Data::Integer(value) => value.to_string(),
            Data::Float(value) => float(*value),
            Data::Flag(value) => value.to_string(),
            Data::Date(value) => format!("the date {value}"),
            Data::List(items) => format!("a list of {}", items.len()),
            Data::Table(_) => "a table".into(),
        }
    }

    /// The place of a stretch of this node's text, as exactly as the source allows.
    pub fn place_in_text(&self, span: Range<usize>) -> Place {
        match &self.data {
            Data::Text(Text { inset: Some(inset), .. }) => {
                let inset = *inset as usize;
                self.place.part(span.start + inset..span.end + inset)
            }
            _ => self.place,
        }
    }

    pub fn as_table(&self) -> Option<&Table> {
        match &self.data {
            Data::Table(table) => Some(table),
            _ => None,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        match &self.data {
            Data::Text(text) => Some(&text.value),
            _ => None,
        }
    }

    /// The place of the last of these steps down the tree that is there; none if not even the first is. An item of a list goes by
    /// its name or by its number.
    pub fn deepest(&self, steps: &[String]) -> Option<Place> {
        let (step, rest) = steps.split_first()?;
        let named = |item: &&Node| item.as_table().and_then(Table::name) == Some(step);
        let next = match &self.data {
            Data::Table(table) => table.get(step),
            Data::List(items) => {
                items.iter().find(named).or_else(|| step.parse().ok().and_then(|index: usize| items.get(index)))
            }
            _ => None,
        }?;
        next.deepest(rest).or(Some(next.place))
    }

    /// Items of a list; nothing for anything else.
    pub fn items(&self) -> &[Node] {
        match &self.data {
            Data::List(items) => items,
            _ => &[],
        }
    }
}

impl Table {
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.node)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }

    pub fn remove(&mut self, key: &str) -> Option<Entry> {
        let index = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(index))
    }

    /// Adds a value that is about to be written out.
    pub fn push(&mut self, key: &str, data: Data) {
        self.entries.push(Entry { key: key.into(), place: Place::NOWHERE, node: Node::written(data) });
    }

    /// The name that an item of a list of tables goes by.
    pub fn name(&self) -> Option<&str> {
        self.get("name").and_then(Node::as_text)
    }
}

/// A number in a message: the shorter form of very large and very small ones.
pub(crate) fn float(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() || (1e-4..1e6).contains(&size) {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

/// Long values are cut in messages.
pub(crate) fn shorten(text: &str) -> String {
    const LONGEST: usize = 60;
    if text.chars().count() <= LONGEST {
        return text.into();
    }
    text.chars().take(LONGEST - 3).chain("...".chars()).collect()
}

/// The tree of a parsed document.
pub(crate) fn from_document(document: &toml_edit::Document<&str>, text: &str, source: u32) -> Node {
    let builder = Builder { text, source };
    let whole = Place::new(source, 0..0);
    Node { data: Data::Table(builder.table(document.as_table(), whole)), place: whole }
}

/// The tree of one value that stands at `offset` in its source.
pub(crate) fn from_value(value: &toml_edit::Value, text: &str, place: Place) -> Node {
    let mut node = Builder { text, source: place.source }.value(value, place);
    // A value parsed on its own has no spans: everything in it lies where the value lies.
    node.place = place;
    node
}

struct Builder<'a> {
    text: &'a str,
    source: u32,
}

impl Builder<'_> {
    fn place(&self, span: Option<Range<usize>>, otherwise: Place) -> Place {
        span.map_or(otherwise, |span| Place::new(self.source, span))
    }

    fn table(&self, table: &toml_edit::Table, around: Place) -> Table {
        let entries = table.iter().filter_map(|(name, item)| {
            let key = table.key(name);
            let place = self.place(key.and_then(|key| key.span()), around);
            let node = match item {
                toml_edit::Item::None => return None,
                toml_edit::Item::Value(value) => self.value(value, place),
                toml_edit::Item::Table(table) => {
                    // A dotted key's or implicit table's own text is its key.
                    let own = if table.is_dotted() || table.is_implicit() { None } else { table.span() };
                    let here = self.place(own, place);
                    Node { data: Data::Table(self.table(table, here)), place: here }
                }
                toml_edit::Item::ArrayOfTables(tables) => {
                    let items = tables.iter().map(|table| {
                        let here = self.place(table.span(), place);
                        Node { data: Data::Table(self.table(table, here)), place: here }
                    });
                    Node { data: Data::List(items.collect()), place }
                }
            };
            Some(Entry { key: name.into(), place, node })
        });
        Table { entries: entries.collect(), inline: false }
    }

    fn value(&self, value: &toml_edit::Value, around: Place) -> Node {
        let place = self.place(value.span(), around);
        let data = match value {
            toml_edit::Value::String(string) => {
                let value = string.value().clone();
                let inset = self.inset(&value, place);
                Data::Text(Text { value, inset })
            }
            toml_edit::Value::Integer(integer) => Data::Integer(*integer.value()),
            toml_edit::Value::Float(float) => Data::Float(*float.value()),
            toml_edit::Value::Boolean(flag) => Data::Flag(*flag.value()),
            toml_edit::Value::Datetime(date) => Data::Date(date.value().to_string()),
            toml_edit::Value::Array(array) => Data::List(array.iter().map(|item| self.value(item, place)).collect()),
            toml_edit::Value::InlineTable(table) => {
                let entries = table.iter().map(|(name, value)| {
                    let place = self.place(table.key(name).and_then(|key| key.span()), place);
                    Entry { key: name.into(), place, node: self.value(value, place) }
                });
                Data::Table(Table { entries: entries.collect(), inline: true })
            }
        };
        Node { data, place }
    }

    /// Where the characters of a string begin behind its quotes, if they stand in the source as they are.
    fn inset(&self, value: &str, place: Place) -> Option<u32> {
        let raw = self.text.get(place.start as usize..place.end as usize)?;
        let quotes = if raw.starts_with("\"\"\"") || raw.starts_with("'''") { 3 } else { 1 };
        (raw.get(quotes..raw.len().checked_sub(quotes)?)? == value).then_some(quotes as u32)
    }
}

/// The tree as TOML text.
pub(crate) fn to_text(root: &Table) -> String {
    let mut out = String::new();
    write_table(&mut out, root, "");
    out
}

fn write_table(out: &mut String, table: &Table, path: &str) {
    let is_tables = |node: &Node| !node.items().is_empty() && node.items().iter().all(|item| item.as_table().is_some());
    for Entry { key, node, .. } in &table.entries {
        if node.as_table().is_none() && !is_tables(node) {
            out.push_str(&format!("{key} = "));
            write_value(out, node);
            out.push('\n');
        }
    }
    for Entry { key, node, .. } in &table.entries {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        if let Some(table) = node.as_table() {
            out.push_str(&format!("\n[{path}]\n"));
            write_table(out, table, &path);
        } else if is_tables(node) {
            for table in node.items().iter().filter_map(Node::as_table) {
                out.push_str(&format!("\n[[{path}]]\n"));
                write_table(out, table, &path);
            }
        }
    }
}

fn write_value(out: &mut String, node: &Node) {
    match &node.data {
        Data::Text(text) => out.push_str(&toml_edit::Value::from(text.value.as_str()).to_string()),
        Data::Integer(value) => out.push_str(&value.to_string()),
        // Debug prints the shortest digits that read back to the same bits.
        Data::Float(value) => out.push_str(&format!("{value:?}")),
        Data::Flag(value) => out.push_str(&value.to_string()),
        Data::Date(value) => out.push_str(value),
        Data::List(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                write_value(out, item);
            }
            out.push(']');
        }
        Data::Table(table) => {
            out.push_str("{ ");
            for (i, Entry { key, node, .. }) in table.entries.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                out.push_str(&format!("{key} = "));
                write_value(out, node);
            }
            out.push_str(" }");
        }
    }
}
