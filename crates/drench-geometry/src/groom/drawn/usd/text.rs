//! A text layer.
//!
//! Everything is read by the rules of the format, and what does not concern curves is dropped on the way. Values are
//! flattened: all numbers and all words in the order that they stand in.

use super::layer::{Arc, Layer, Prim, UNFOLLOWED, Value, is_wanted};

/// Prims in prims, and brackets in brackets.
const DEEPEST: usize = 128;

/// The number of the line, and what is wrong there.
pub type Problem = (usize, String);

type Read<T> = Result<T, String>;

/// Reads a layer.
pub fn layer(bytes: &[u8]) -> Result<Layer, Problem> {
    let mut parser = Parser { bytes, at: 0, depth: 0 };
    parser.layer().map_err(|problem| {
        let read = &bytes[..parser.at.min(bytes.len())];
        (1 + read.iter().filter(|&&byte| byte == b'\n').count(), problem)
    })
}

/// A word and what it is.
enum Word {
    Asset(String),
    Path(String),
    Text(String),
}

/// What stands between brackets after a name: keys and what they are given.
type Metadata = Vec<(String, Vec<Word>, Vec<f64>)>;

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn layer(&mut self) -> Read<Layer> {
        let mut layer = Layer::default();
        if self.take(b'(') {
            for (key, words, numbers) in self.metadata()? {
                let word =
                    words.iter().find_map(|word| if let Word::Text(text) = word { Some(text.clone()) } else { None });
                match key.as_str() {
                    "metersPerUnit" => layer.unit = numbers.first().copied(),
                    "upAxis" => layer.up = word,
                    "defaultPrim" => layer.default_prim = word,
                    "subLayers" => {
                        layer.below = words
                            .into_iter()
                            .filter_map(|word| if let Word::Asset(asset) = word { Some(asset) } else { None })
                            .collect();
                    }
                    _ => {}
                }
            }
        }
        while self.peek().is_some() {
            match self.name()? {
                specifier @ ("def" | "over" | "class") => {
                    let prim = self.prim(specifier == "def")?;
                    layer.root.children.push(prim);
                }
                // The order of prims.
                "reorder" => {
                    self.name()?;
                    self.expect(b'=')?;
                    self.value(&mut Sink::default())?;
                }
                other => return Err(format!("'{other}' where a prim is expected")),
            }
        }
        Ok(layer)
    }

    fn prim(&mut self, defined: bool) -> Read<Prim> {
        self.enter()?;
        let mut prim = Prim { defined, ..Prim::default() };
        if !matches!(self.peek(), Some(b'"' | b'\'')) {
            prim.kind = self.name()?.to_owned();
        }
        prim.name = self.string()?;
        if self.take(b'(') {
            for (key, words, numbers) in self.metadata()? {
                match key.as_str() {
                    "active" => prim.active = Some(!is_false(&words, &numbers)),
                    // References are stronger.
                    "references" => prim.arcs.splice(0..0, arcs(words)).for_each(drop),
                    "payload" => prim.arcs.extend(arcs(words)),
                    key => prim.unfollowed.extend(unfollowed(key)),
                }
            }
        }
        self.expect(b'{')?;
        while !self.take(b'}') {
            if self.peek().is_none() {
                return Err(format!("'{}' does not end", prim.name));
            }
            match self.name()? {
                specifier @ ("def" | "over" | "class") => {
                    let child = self.prim(specifier == "def")?;
                    prim.children.push(child);
                }
                "variantSet" => {
                    prim.unfollowed.extend(unfollowed("variantSet"));
                    self.string()?;
                    self.expect(b'=')?;
                    self.expect(b'{')?;
                    self.skip_block()?;
                }
                "reorder" => {
                    self.name()?;
                    self.expect(b'=')?;
                    self.value(&mut Sink::default())?;
                }
                first => self.property(first, &mut prim)?,
            }
        }
        self.depth -= 1;
        Ok(prim)
    }

    /// A property, of which the first word is read: modifiers, type, name, value, metadata.
    fn property(&mut self, first: &'a str, prim: &mut Prim) -> Read<()> {
        const MODIFIERS: [&str; 7] = ["custom", "uniform", "varying", "prepend", "append", "add", "delete"];
        let mut kind = first;
        while MODIFIERS.contains(&kind) {
            kind = self.name()?;
        }
        let named = self.name()?;
        let (name, sampled) = named.strip_suffix(".timeSamples").map_or((named, false), |name| (name, true));
        let mut sink = Sink { keep: is_wanted(name), ..Sink::default() };
        if self.take(b'=') {
            if sampled {
                self.first_sample(&mut sink)?;
            } else {
                self.value(&mut sink)?;
            }
            let value = Value { numbers: sink.numbers, words: sink.words.into_iter().map(Word::text).collect() };
            // Samples are stronger than a default, whichever comes first.
            if sink.keep && (sampled || !prim.values.contains_key(name)) {
                prim.values.insert(name.to_owned(), value);
            }
        }
        if self.take(b'(') {
            self.metadata()?;
        }
        Ok(())
    }

    /// The first of the values at times; the others are passed over.
    fn first_sample(&mut self, sink: &mut Sink) -> Read<()> {
        self.expect(b'{')?;
        let mut first = true;
        while !self.take(b'}') {
            let time = self.number()?;
            self.expect(b':')?;
            if first && time.is_finite() {
                self.value(sink)?;
            } else {
                self.value(&mut Sink::default())?;
            }
            first = false;
            self.take(b',');
        }
        Ok(())
    }

    /// What stands between brackets after a name, up to and with the closing one.
    fn metadata(&mut self) -> Read<Metadata> {
        let mut found = Vec::new();
        while !self.take(b')') {
            match self.peek() {
                None => return Err("brackets that do not close".to_owned()),
                Some(b'"' | b'\'') => {
                    self.string()?;
                    continue;
                }
                Some(b',') => {
                    self.at += 1;
                    continue;
                }
                _ => {}
            }
            let first = self.name()?;
            let changes = matches!(first, "prepend" | "append" | "add" | "delete" | "reorder");
            let key = if changes { self.name()? } else { first };
            let mut sink = Sink { keep: !matches!(first, "delete" | "reorder"), ..Sink::default() };
            if self.take(b'=') {
                self.value(&mut sink)?;
                // A file, a prim in it, and a shift of its times are one value.
                while matches!(self.peek(), Some(b'<' | b'(')) {
                    self.value(&mut sink)?;
                }
            }
            if sink.keep {
                found.push((key.to_owned(), sink.words, sink.numbers));
            }
        }
        Ok(found)
    }

    /// A value of any kind.
    fn value(&mut self, sink: &mut Sink) -> Read<()> {
        match self.peek().ok_or("it ends where a value is expected")? {
            open @ (b'[' | b'(') => {
                self.enter()?;
                self.at += 1;
                let close = if open == b'[' { b']' } else { b')' };
                while !self.take(close) {
                    match self.peek() {
                        Some(b',' | b'=') => self.at += 1,
                        Some(_) => self.value(sink)?,
                        None => return Err("brackets that do not close".to_owned()),
                    }
                }
                self.depth -= 1;
            }
            b'{' => {
                self.at += 1;
                self.skip_block()?;
            }
            b'"' | b'\'' => {
                let text = self.string()?;
                sink.word(Word::Text(text));
            }
            b'@' => {
                let fence: &[u8] = if self.bytes[self.at..].starts_with(b"@@@") { b"@@@" } else { b"@" };
                let asset = self.fenced(fence.len(), fence)?;
                sink.word(Word::Asset(asset));
            }
            b'<' => {
                let path = self.fenced(1, b">")?;
                sink.word(Word::Path(path));
            }
            b'0'..=b'9' | b'-' | b'+' | b'.' => {
                let number = self.number()?;
                sink.number(number);
            }
            _ => match self.name()? {
                "inf" => sink.number(f64::INFINITY),
                "nan" => sink.number(f64::NAN),
                "None" => {}
                word => sink.word(Word::Text(word.to_owned())),
            },
        }
        Ok(())
    }

    fn number(&mut self) -> Read<f64> {
        self.peek();
        let length =
            self.rest().iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)).count();
        let text = std::str::from_utf8(&self.rest()[..length]).unwrap_or_default();
        let number = text.parse().map_err(|_| format!("'{text}' where a number is expected"))?;
        self.at += length;
        Ok(number)
    }

    /// A name or a type, such as `xformOp:translate` or `point3f[]`.
    fn name(&mut self) -> Read<&'a str> {
        self.peek();
        let inside = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_:.".contains(byte) || **byte >= 0x80;
        let mut length = self.rest().iter().take_while(inside).count();
        if length > 0 && self.rest()[length..].starts_with(b"[]") {
            length += 2;
        }
        let name = std::str::from_utf8(&self.bytes[self.at..self.at + length]).unwrap_or_default();
        if name.is_empty() {
            let there = self.rest().first().map_or("the end".to_owned(), |&byte| format!("'{}'", char::from(byte)));
            return Err(format!("{there} where a name is expected"));
        }
        self.at += length;
        Ok(name)
    }

    /// A text in quotation marks, one or three of them, single or double.
    fn string(&mut self) -> Read<String> {
        let mark = self.peek().filter(|mark| b"\"'".contains(mark)).ok_or("a name in quotation marks is expected")?;
        let three = self.rest().starts_with(&[mark; 3]);
        let fence = if three { vec![mark; 3] } else { vec![mark] };
        self.fenced(fence.len(), &fence)
    }

    /// What stands between here, `open` bytes on, and a fence.
    fn fenced(&mut self, open: usize, fence: &[u8]) -> Read<String> {
        let start = self.at + open;
        let mut end = start;
        while !self.bytes.get(end..).is_some_and(|rest| rest.starts_with(fence)) {
            match self.bytes.get(end) {
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
                None => return Err("quotation marks that do not close".to_owned()),
            }
        }
        self.at = end + fence.len();
        Ok(String::from_utf8_lossy(&self.bytes[start..end]).into_owned())
    }

    /// Passes over everything up to the brace that closes the one before.
    fn skip_block(&mut self) -> Read<()> {
        let mut depth = 1_usize;
        while depth > 0 {
            match self.peek().ok_or("braces that do not close")? {
                b'"' | b'\'' => drop(self.string()?),
                b'@' => self.value(&mut Sink::default())?,
                b'{' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' => {
                    depth -= 1;
                    self.at += 1;
                }
                _ => self.at += 1,
            }
        }
        Ok(())
    }

    fn enter(&mut self) -> Read<()> {
        self.depth += 1;
        if self.depth > DEEPEST { Err(format!("more than {DEEPEST} things inside each other")) } else { Ok(()) }
    }

    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at.min(self.bytes.len())..]
    }

    /// The next byte that is neither space, semicolon nor comment; the parser stands there.
    fn peek(&mut self) -> Option<u8> {
        loop {
            let rest = self.rest();
            match rest.first()? {
                b'#' => self.at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()),
                byte if byte.is_ascii_whitespace() || *byte == b';' => self.at += 1,
                &byte => return Some(byte),
            }
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, byte: u8) -> Read<()> {
        if self.take(byte) { Ok(()) } else { Err(format!("'{}' is expected", char::from(byte))) }
    }
}

/// Where the parts of a value go.
#[derive(Default)]
struct Sink {
    /// Whether they are wanted at all.
    keep: bool,
    numbers: Vec<f64>,
    words: Vec<Word>,
}

impl Sink {
    fn number(&mut self, number: f64) {
        if self.keep {
            self.numbers.push(number);
        }
    }

    fn word(&mut self, word: Word) {
        if self.keep {
            self.words.push(word);
        }
    }
}

impl Word {
    fn text(self) -> String {
        match self {
            Self::Asset(text) | Self::Path(text) | Self::Text(text) => text,
        }
    }
}

fn is_false(words: &[Word], numbers: &[f64]) -> bool {
    numbers.first() == Some(&0.0) || matches!(words.first(), Some(Word::Text(word)) if word == "false")
}

fn unfollowed(key: &str) -> Option<&'static str> {
    UNFOLLOWED.iter().find(|(name, _)| *name == key).map(|(_, way)| *way)
}

/// References: files, each with the prim that follows it, and prims without a file.
fn arcs(words: Vec<Word>) -> Vec<Arc> {
    let mut arcs: Vec<Arc> = Vec::new();
    let mut open = false;
    for word in words {
        match word {
            Word::Asset(asset) => arcs.push(Arc { asset, ..Arc::default() }),
            Word::Path(prim) if open => arcs.iter_mut().last().into_iter().for_each(|arc| arc.prim.clone_from(&prim)),
            Word::Path(prim) => arcs.push(Arc { prim, ..Arc::default() }),
            Word::Text(_) => continue,
        }
        open = arcs.last().is_some_and(|arc| arc.prim.is_empty());
    }
    arcs
}
