//! `usdc`: a layer in the crate format, version 0.8.0, which every USD reads.
//!
//! A header of 88 bytes, then values as they come, then six tables: tokens, strings, fields (a token and a value), sets
//! of fields, paths, and specs (a path, a set of fields, what it is), at last a table of contents. The header says where that is.
//!
//! A value is named by 64 bits: flags (array, inlined), its type, and where it is, or for small ones the value itself.
//! Arrays are written plain. Tables must be "compressed": whole numbers become differences of one, two or four bytes, and
//! those bytes a block of LZ4. Our blocks hold literals only; the tables are small against the values.

use super::layer::{Handle, Held, Layer, Prim, Store};
use super::value::Value;
use crate::error::ExportError;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"PXR-USDC";
const VERSION: [u8; 8] = [0, 8, 0, 0, 0, 0, 0, 0];
const HEADER: u64 = 88;

const ARRAY: u64 = 1 << 63;
const INLINED: u64 = 1 << 62;

/// Types of values, as the format numbers them.
#[derive(Clone, Copy)]
enum Type {
    Int = 3,
    Int64 = 5,
    Float = 8,
    Double = 9,
    Token = 11,
    String = 10,
    Matrix4d = 15,
    Vec2f = 20,
    Vec3f = 24,
    TokenVector = 41,
    Specifier = 42,
    Variability = 44,
    TimeSamples = 46,
    DoubleVector = 48,
    LayerOffsetVector = 49,
    StringVector = 50,
}

/// What specs are, as the format numbers them.
#[derive(Clone, Copy)]
enum Spec {
    Attribute = 1,
    Prim = 6,
    PseudoRoot = 7,
}

/// A crate file in the making.
pub struct Binary {
    path: PathBuf,
    out: BufWriter<File>,
    /// Where the layer begins in the file.
    base: u64,
    /// Bytes of the layer so far.
    end: u64,
    tokens: Tokens,
}

impl Binary {
    /// Begins the file; the layer begins after `base` bytes.
    pub fn create(path: &Path, base: u64) -> Result<Self, ExportError> {
        let begin = || {
            let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
            out.write_all(&vec![0; (base + HEADER) as usize])?;
            Ok(out)
        };
        let out = begin().map_err(ExportError::storage("write", path))?;
        Ok(Self { path: path.to_owned(), out, base, end: HEADER, tokens: Tokens::new() })
    }

    /// Completes the layer and gives the file back.
    pub fn complete(mut self, layer: &Layer) -> Result<File, ExportError> {
        let path = self.path.clone();
        self.write_tables(layer)
            .and_then(|()| self.out.into_inner().map_err(io::IntoInnerError::into_error))
            .map_err(ExportError::storage("write", &path))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.end += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Where the next value goes: a multiple of eight.
    fn align(&mut self) -> io::Result<u64> {
        let gap = self.end.next_multiple_of(8) - self.end;
        self.write(&[0; 8][..gap as usize])?;
        Ok(self.end)
    }

    /// A value that stands in the file by itself.
    fn stored(&mut self, kind: Type, parts: &[&[u8]]) -> io::Result<u64> {
        let at = self.align()?;
        parts.iter().try_for_each(|part| self.write(part))?;
        Ok((kind as u64) << 48 | at)
    }

    fn double(&mut self, x: f64) -> io::Result<u64> {
        if f64::from(x as f32) == x {
            return Ok(inlined(Type::Double, (x as f32).to_bits()));
        }
        self.stored(Type::Double, &[&x.to_le_bytes()])
    }

    fn token(&mut self, word: &str) -> u64 {
        inlined(Type::Token, self.tokens.of(word))
    }

    fn token_vector<'a>(&mut self, words: impl Iterator<Item = &'a str>) -> io::Result<u64> {
        let numbers: Vec<[u8; 4]> = words.map(|word| self.tokens.of(word).to_le_bytes()).collect();
        self.stored(Type::TokenVector, &[&(numbers.len() as u64).to_le_bytes(), numbers.as_flattened()])
    }

    fn write_tables(&mut self, layer: &Layer) -> io::Result<()> {
        let mut tables = Tables::default();
        tables.layer(self, layer)?;
        let mut contents = Vec::new();
        let mut section = |name: &str, start: u64, bytes: u64| {
            let mut entry = [0; 32];
            entry[..name.len()].copy_from_slice(name.as_bytes());
            entry[16..24].copy_from_slice(&start.to_le_bytes());
            entry[24..].copy_from_slice(&bytes.to_le_bytes());
            contents.extend(entry);
        };
        let sections = [
            ("TOKENS", self.tokens.table()),
            ("STRINGS", tables.strings()),
            ("FIELDS", tables.fields()),
            ("FIELDSETS", tables.field_sets()),
            ("PATHS", tables.paths()),
            ("SPECS", tables.specs()),
        ];
        for (name, bytes) in &sections {
            let start = self.align()?;
            self.write(bytes)?;
            section(name, start, bytes.len() as u64);
        }
        let table_of_contents = self.align()?;
        self.write(&(sections.len() as u64).to_le_bytes())?;
        self.write(&contents)?;
        self.out.seek(SeekFrom::Start(self.base))?;
        self.out.write_all(MAGIC)?;
        self.out.write_all(&VERSION)?;
        self.out.write_all(&table_of_contents.to_le_bytes())?;
        self.out.seek(SeekFrom::End(0)).map(|_| ())
    }
}

impl Store for Binary {
    fn put(&mut self, value: &Value, bytes: &[u8]) -> io::Result<Handle> {
        let single = |binary: &mut Self, kind| binary.stored(kind, &[bytes]);
        let many = |binary: &mut Self, kind, length: usize| {
            // An array of nothing has no place.
            let nothing = (kind as u64) << 48;
            let parts = [&(length as u64).to_le_bytes()[..], bytes];
            Ok::<u64, io::Error>(ARRAY | if length == 0 { nothing } else { binary.stored(kind, &parts)? })
        };
        let length = value.length().unwrap_or(0);
        let rep = match value {
            Value::Token(word) => self.token(word),
            Value::Tokens(words) => {
                let numbers: Vec<[u8; 4]> = words.iter().map(|word| self.tokens.of(word).to_le_bytes()).collect();
                let parts = [&(length as u64).to_le_bytes(), numbers.as_flattened()];
                ARRAY | self.stored(Type::Token, &parts)?
            }
            Value::Float(x) => inlined(Type::Float, x.to_bits()),
            Value::Float2(_) => single(self, Type::Vec2f)?,
            Value::Matrix(_) => single(self, Type::Matrix4d)?,
            Value::Ints(_) => many(self, Type::Int, length)?,
            Value::Longs(_) => many(self, Type::Int64, length)?,
            Value::Floats(_) => many(self, Type::Float, length)?,
            Value::Pairs(_) => many(self, Type::Vec2f, length)?,
            Value::Vectors(_) => many(self, Type::Vec3f, length)?,
        };
        Ok(Handle(rep, 0))
    }

    fn close(self: Box<Self>, layer: &Layer) -> Result<(), ExportError> {
        self.complete(layer).map(|_| ())
    }
}

fn inlined(kind: Type, payload: u32) -> u64 {
    INLINED | (kind as u64) << 48 | u64::from(payload)
}

/// Words by number. Number 0 is never used: properties are told from prims by a minus sign.
struct Tokens {
    words: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Tokens {
    fn new() -> Self {
        Self { words: vec!["-".to_owned()], numbers: HashMap::new() }
    }

    fn of(&mut self, word: &str) -> u32 {
        if let Some(&number) = self.numbers.get(word) {
            return number;
        }
        let number = self.words.len() as u32;
        self.words.push(word.to_owned());
        self.numbers.insert(word.to_owned(), number);
        number
    }

    fn table(&self) -> Vec<u8> {
        let text: Vec<u8> = self.words.iter().flat_map(|word| word.bytes().chain([0])).collect();
        let block = lz4(&text);
        let sizes = [self.words.len(), text.len(), block.len()];
        sizes.iter().flat_map(|size| (*size as u64).to_le_bytes()).chain(block).collect()
    }
}

/// The tables at the end of the file.
#[derive(Default)]
struct Tables {
    /// Tokens that are strings.
    strings: Vec<u32>,
    fields: Vec<(u32, u64)>,
    places: HashMap<(u32, u64), u32>,
    field_sets: Vec<u32>,
    /// Token of each path's last part, negative for properties; the paths are in order, parents first.
    elements: Vec<i32>,
    /// How to go on from each path: -2 it ends here, -1 only a child follows, 0 only a sibling, else where the sibling is.
    jumps: Vec<i32>,
    specs: Vec<(u32, u32, Spec)>,
    /// The times that were written last, and where: nearly all properties have the same.
    times: Option<(Vec<f64>, u64)>,
}

impl Tables {
    fn layer(&mut self, file: &mut Binary, layer: &Layer) -> io::Result<()> {
        let documentation = file.tokens.of(&layer.comment);
        self.strings.push(documentation);
        let mut fields = vec![
            ("defaultPrim", file.token(&layer.root.name)),
            ("documentation", inlined(Type::String, 0)),
            ("endTimeCode", file.double(layer.range[1])?),
            ("framesPerSecond", file.double(layer.fps)?),
            ("metersPerUnit", file.double(1.0)?),
            ("startTimeCode", file.double(layer.range[0])?),
            ("timeCodesPerSecond", file.double(layer.fps)?),
            ("upAxis", file.token("Y")),
            ("primChildren", file.token_vector(std::iter::once(layer.root.name.as_str()))?),
        ];
        if !layer.below.is_empty() {
            let first = self.strings.len() as u32;
            self.strings.extend(layer.below.iter().map(|name| file.tokens.of(&format!("./{name}"))));
            let numbers: Vec<u8> = (first..self.strings.len() as u32).flat_map(u32::to_le_bytes).collect();
            let count = (layer.below.len() as u64).to_le_bytes();
            fields.push(("subLayers", file.stored(Type::StringVector, &[&count, &numbers])?));
            // Their times are ours: shifted by 0, stretched by 1.
            let same = [0.0_f64, 1.0].map(f64::to_le_bytes).concat().repeat(layer.below.len());
            fields.push(("subLayerOffsets", file.stored(Type::LayerOffsetVector, &[&count, &same])?));
        }
        self.spec(file, Spec::PseudoRoot, &fields);
        self.elements.push(0);
        self.jumps.push(-1);
        self.prim(file, &layer.root, true)
    }

    fn prim(&mut self, file: &mut Binary, prim: &Prim, last: bool) -> io::Result<()> {
        let mut fields = vec![("specifier", inlined(Type::Specifier, 0)), ("typeName", file.token(prim.kind))];
        if !prim.properties.is_empty() {
            let names = prim.properties.iter().map(|property| property.name.as_str());
            fields.push(("properties", file.token_vector(names)?));
        }
        if !prim.children.is_empty() {
            let names = prim.children.iter().map(|child| child.name.as_str());
            fields.push(("primChildren", file.token_vector(names)?));
        }
        self.spec(file, Spec::Prim, &fields);
        let place = self.jumps.len();
        self.elements.push(file.tokens.of(&prim.name) as i32);
        self.jumps.push(0);
        let below = prim.children.len() + prim.properties.len();
        for (k, child) in prim.children.iter().enumerate() {
            self.prim(file, child, k + 1 == below)?;
        }
        for (k, property) in prim.properties.iter().enumerate() {
            let mut fields = vec![("typeName", file.token(property.kind))];
            if property.uniform {
                fields.push(("variability", inlined(Type::Variability, 1)));
            }
            if let Some(interpolation) = property.interpolation {
                fields.push(("interpolation", file.token(interpolation)));
            }
            fields.push(match prim.held(property) {
                Held::Always(handle) => ("default", handle.0),
                Held::Samples(samples) => ("timeSamples", self.time_samples(file, samples)?),
            });
            self.spec(file, Spec::Attribute, &fields);
            self.elements.push(-(file.tokens.of(&property.name) as i32));
            self.jumps.push(if prim.children.len() + k + 1 == below { -2 } else { 0 });
        }
        self.jumps[place] = match (below > 0, last) {
            (false, true) => -2,
            (false, false) => 0,
            (true, true) => -1,
            (true, false) => (self.jumps.len() - place) as i32,
        };
        Ok(())
    }

    /// The times and the values of a property; both are preceded by the distance to what follows them.
    fn time_samples(&mut self, file: &mut Binary, samples: &[(f64, Handle)]) -> io::Result<u64> {
        let times: Vec<f64> = samples.iter().map(|sample| sample.0).collect();
        let count = (samples.len() as u64).to_le_bytes();
        let times = match &self.times {
            Some((same, rep)) if *same == times => *rep,
            _ => {
                let bytes: Vec<u8> = times.iter().flat_map(|time| time.to_le_bytes()).collect();
                let rep = file.stored(Type::DoubleVector, &[&count, &bytes])?;
                self.times = Some((times, rep));
                rep
            }
        };
        let values: Vec<u8> = samples.iter().flat_map(|(_, handle)| handle.0.to_le_bytes()).collect();
        let next = 8_i64.to_le_bytes();
        file.stored(Type::TimeSamples, &[&next, &times.to_le_bytes(), &next, &count, &values])
    }

    fn spec(&mut self, file: &mut Binary, kind: Spec, fields: &[(&str, u64)]) {
        self.specs.push((self.specs.len() as u32, self.field_sets.len() as u32, kind));
        for &(name, value) in fields {
            let field = (file.tokens.of(name), value);
            let number = *self.places.entry(field).or_insert_with(|| {
                self.fields.push(field);
                self.fields.len() as u32 - 1
            });
            self.field_sets.push(number);
        }
        self.field_sets.push(u32::MAX);
    }

    fn strings(&self) -> Vec<u8> {
        let numbers = self.strings.iter().flat_map(|number| number.to_le_bytes());
        (self.strings.len() as u64).to_le_bytes().into_iter().chain(numbers).collect()
    }

    fn fields(&self) -> Vec<u8> {
        let mut bytes = (self.fields.len() as u64).to_le_bytes().to_vec();
        bytes.extend(compressed(self.fields.iter().map(|field| field.0 as i32)));
        let values: Vec<u8> = self.fields.iter().flat_map(|field| field.1.to_le_bytes()).collect();
        let block = lz4(&values);
        bytes.extend((block.len() as u64).to_le_bytes());
        bytes.extend(block);
        bytes
    }

    fn field_sets(&self) -> Vec<u8> {
        let count = (self.field_sets.len() as u64).to_le_bytes();
        count.into_iter().chain(compressed(self.field_sets.iter().map(|&field| field as i32))).collect()
    }

    fn paths(&self) -> Vec<u8> {
        let count = (self.elements.len() as u64).to_le_bytes();
        let mut bytes = [count, count].concat();
        bytes.extend(compressed(0..self.elements.len() as i32));
        bytes.extend(compressed(self.elements.iter().copied()));
        bytes.extend(compressed(self.jumps.iter().copied()));
        bytes
    }

    fn specs(&self) -> Vec<u8> {
        let mut bytes = (self.specs.len() as u64).to_le_bytes().to_vec();
        bytes.extend(compressed(self.specs.iter().map(|spec| spec.0 as i32)));
        bytes.extend(compressed(self.specs.iter().map(|spec| spec.1 as i32)));
        bytes.extend(compressed(self.specs.iter().map(|spec| spec.2 as i32)));
        bytes
    }
}

/// Whole numbers as the format compresses them, with the size of the block before it.
///
/// Each becomes the difference from the one before: the most frequent difference, two bits for each that say whether it is
/// that one or has one, two or four bytes, and the bytes.
fn compressed(numbers: impl ExactSizeIterator<Item = i32> + Clone) -> Vec<u8> {
    let differences: Vec<i32> = numbers
        .clone()
        .zip(std::iter::once(0).chain(numbers))
        .map(|(number, before)| number.wrapping_sub(before))
        .collect();
    let mut counts: HashMap<i32, usize> = HashMap::new();
    differences.iter().for_each(|&difference| *counts.entry(difference).or_default() += 1);
    let common = counts.into_iter().max_by_key(|&(value, count)| (count, value)).map_or(0, |(value, _)| value);
    let mut codes = vec![0_u8; (2 * differences.len()).div_ceil(8)];
    let mut bytes = Vec::new();
    for (k, &difference) in differences.iter().enumerate() {
        let code = if difference == common {
            0
        } else if let Ok(small) = i8::try_from(difference) {
            bytes.extend(small.to_le_bytes());
            1
        } else if let Ok(small) = i16::try_from(difference) {
            bytes.extend(small.to_le_bytes());
            2
        } else {
            bytes.extend(difference.to_le_bytes());
            3
        };
        codes[k / 4] |= code << (2 * (k % 4));
    }
    let block = lz4(&[&common.to_le_bytes()[..], &codes, &bytes].concat());
    (block.len() as u64).to_le_bytes().into_iter().chain(block).collect()
}

/// A block of LZ4 that holds literals only, in the frame that USD puts around it: one byte, 0 for a single block.
fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut block = vec![0];
    let length = bytes.len();
    block.push((length.min(15) << 4) as u8);
    if let Some(mut rest) = length.checked_sub(15) {
        while rest >= 255 {
            block.push(255);
            rest -= 255;
        }
        block.push(rest as u8);
    }
    block.extend_from_slice(bytes);
    block
}
