//! `usda`: a layer as text.
//!
//! Text has the samples of an attribute together, but frames come one after the other. So values are formatted into a
//! file without a name, and copied from there when the layer is complete.

use super::layer::{Handle, Held, Layer, Prim, Store};
use super::value::Value;
use crate::error::ExportError;
use std::fmt::{self, Display, Write as _};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A text file in the making.
pub struct Text {
    path: PathBuf,
    values: BufWriter<File>,
    end: u64,
    line: String,
}

impl Text {
    /// Begins the file.
    pub fn create(path: &Path) -> Result<Box<dyn Store>, ExportError> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let values = tempfile::tempfile_in(folder).map_err(ExportError::storage("write to", folder))?;
        Ok(Box::new(Self { path: path.to_owned(), values: BufWriter::new(values), end: 0, line: String::new() }))
    }
}

impl Store for Text {
    fn put(&mut self, value: &Value, _: &[u8]) -> io::Result<Handle> {
        self.line.clear();
        // Writing to a string cannot fail.
        let _ = write!(self.line, "{value}");
        self.values.write_all(self.line.as_bytes())?;
        let handle = Handle(self.end, self.line.len() as u64);
        self.end += handle.1;
        Ok(handle)
    }

    fn close(self: Box<Self>, layer: &Layer) -> Result<(), ExportError> {
        let written = self.values.into_inner().map_err(io::IntoInnerError::into_error).and_then(|mut values| {
            let mut out = BufWriter::new(File::create(&self.path)?);
            write_layer(&mut out, &mut values, layer)?;
            out.flush()
        });
        written.map_err(ExportError::storage("write", &self.path))
    }
}

fn write_layer(out: &mut impl Write, values: &mut File, layer: &Layer) -> io::Result<()> {
    write_head(out, layer)?;
    write_prim(out, values, &layer.root, "")
}

/// What a layer says of itself.
pub fn write_head(out: &mut impl Write, layer: &Layer) -> io::Result<()> {
    let Layer { comment, fps, range: [first, last], below, root } = layer;
    let mut more = String::new();
    if !below.is_empty() {
        let names: Vec<String> = below.iter().map(|name| format!("        @./{name}@")).collect();
        more = format!("    subLayers = [\n{}\n    ]\n", names.join(",\n"));
    }
    write!(
        out,
        "#usda 1.0\n(\n    defaultPrim = \"{}\"\n    doc = \"{comment}\"\n    endTimeCode = {last}\n    framesPerSecond = \
         {fps}\n    metersPerUnit = 1\n    startTimeCode = {first}\n{more}    timeCodesPerSecond = {fps}\n    upAxis = \"Y\"\n)\n",
        root.name
    )
}

fn write_prim(out: &mut impl Write, values: &mut File, prim: &Prim, indent: &str) -> io::Result<()> {
    write!(out, "\n{indent}def {} \"{}\"\n{indent}{{\n", prim.kind, prim.name)?;
    let inner = format!("{indent}    ");
    for property in &prim.properties {
        let uniform = if property.uniform { "uniform " } else { "" };
        let metadata = property.interpolation.map_or_else(String::new, |interpolation| {
            format!(" (\n{inner}    interpolation = \"{interpolation}\"\n{inner})")
        });
        let declared = format!("{inner}{uniform}{} {}", property.kind, property.name);
        match prim.held(property) {
            Held::Always(handle) => {
                write!(out, "{declared} = ")?;
                copy(out, values, handle)?;
                writeln!(out, "{metadata}")?;
            }
            Held::Samples(samples) => {
                if !metadata.is_empty() {
                    writeln!(out, "{declared}{metadata}")?;
                }
                writeln!(out, "{declared}.timeSamples = {{")?;
                for &(time, handle) in samples {
                    write!(out, "{inner}    {time}: ")?;
                    copy(out, values, handle)?;
                    writeln!(out, ",")?;
                }
                writeln!(out, "{inner}}}")?;
            }
        }
    }
    for child in &prim.children {
        write_prim(out, values, child, &inner)?;
    }
    writeln!(out, "{indent}}}")
}

fn copy(out: &mut impl Write, values: &mut File, Handle(offset, length): Handle) -> io::Result<()> {
    values.seek(SeekFrom::Start(offset))?;
    io::copy(&mut values.take(length), out).map(|_| ())
}

impl Display for Value<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token(word) => write!(out, "\"{word}\""),
            Self::Tokens(words) => list(out, "[]", words.iter(), |out, word| write!(out, "\"{word}\"")),
            Self::Float(x) => x.fmt(out),
            Self::Float2(pair) => list(out, "()", pair.iter(), |out, x| x.fmt(out)),
            Self::Matrix(rows) => {
                list(out, "()", rows.iter(), |out, row| list(out, "()", row.iter(), |out, x| x.fmt(out)))
            }
            Self::Ints(values) => list(out, "[]", values.iter(), |out, x| (*x as i32).fmt(out)),
            Self::Longs(values) => list(out, "[]", values.iter(), |out, x| x.fmt(out)),
            Self::Floats(values) => list(out, "[]", values.iter(), |out, x| x.fmt(out)),
            Self::Pairs(values) => {
                list(out, "[]", values.iter(), |out, pair| list(out, "()", pair.iter(), |out, x| x.fmt(out)))
            }
            Self::Vectors(values) => {
                list(out, "[]", values.iter(), |out, vector| list(out, "()", vector.iter(), |out, x| x.fmt(out)))
            }
        }
    }
}

/// Items between brackets, separated by commas.
fn list<T>(
    out: &mut fmt::Formatter<'_>,
    brackets: &str,
    items: impl Iterator<Item = T>,
    mut item: impl FnMut(&mut fmt::Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    out.write_str(&brackets[..1])?;
    for (k, value) in items.enumerate() {
        if k > 0 {
            out.write_str(", ")?;
        }
        item(out, value)?;
    }
    out.write_str(&brackets[1..])
}
