//! A binary layer (crate file, versions 0.7 and later).
//!
//! Tables of tokens, strings, fields, sets of fields, paths and specs lead to prims and the properties that concern
//! curves. Tables and arrays of whole numbers are compressed: differences of one, two or four bytes in a block of LZ4.
//! Every number that is read is checked against what the file can hold.

use super::layer::{self, Arc, Prim, UNFOLLOWED, Value, is_wanted};
use std::collections::HashMap;

/// The first bytes of a layer.
pub const MAGIC: &[u8] = b"PXR-USDC";

const ARRAY: u64 = 1 << 63;
const INLINED: u64 = 1 << 62;
const COMPRESSED: u64 = 1 << 61;
const BOOL: u64 = 1;
const INT: u64 = 3;
const HALF: u64 = 7;
const FLOAT: u64 = 8;
const DOUBLE: u64 = 9;
const TOKEN: u64 = 11;
const MATRIX: u64 = 15;
const QUATERNIONS: [u64; 3] = [16, 17, 18];
/// Vectors of three doubles, floats, halves.
const VECTORS: [u64; 3] = [23, 24, 25];
const REFERENCES: u64 = 35;
const SPECIFIER: u64 = 42;
const TIME_SAMPLES: u64 = 46;
const PAYLOAD: u64 = 47;
const STRINGS: u64 = 50;
const BLOCK: u64 = 51;
const PAYLOADS: u64 = 55;
/// The specifier of what is there, and not only spoken of.
const DEFINED: u64 = 0;
/// Arrays shorter than this are never compressed.
const SHORT: usize = 16;
const ATTRIBUTE: i64 = 1;
const PRIM: i64 = 6;
const ROOT: i64 = 7;
/// Prims in prims.
const DEEPEST: usize = 128;
/// Most entries of a table, and most numbers of an array.
const MOST: u64 = 1 << 30;

type Read<T> = Result<T, String>;

/// Reads a layer.
pub fn layer(file: &[u8]) -> Read<layer::Layer> {
    let crate_file = Layer::read(file)?;
    let mut found = layer::Layer::default();
    let mut prims: HashMap<usize, Prim> = HashMap::new();
    let mut order = Vec::new();
    for &(path, set, kind) in &crate_file.specs {
        match kind {
            ROOT => {
                found.unit = match crate_file.field(set, "metersPerUnit") {
                    Some(rep) => crate_file.value(rep)?.numbers.first().copied(),
                    None => None,
                };
                let token = |name| crate_file.field(set, name).and_then(|rep| crate_file.token(rep)).map(str::to_owned);
                (found.up, found.default_prim) = (token("upAxis"), token("defaultPrim"));
                if let Some(rep) = crate_file.field(set, "subLayers") {
                    found.below = crate_file.strings_at(rep)?;
                }
            }
            PRIM => {
                prims.insert(path, crate_file.prim(path, set)?);
                order.push(path);
            }
            _ => {}
        }
    }
    for &(path, set, kind) in &crate_file.specs {
        let Some(place) = crate_file.paths.get(path).filter(|place| kind == ATTRIBUTE && is_wanted(&place.name)) else {
            continue;
        };
        let Some(prim) = prims.get_mut(&place.parent) else { continue };
        let rep = match (crate_file.field(set, "default"), crate_file.field(set, "timeSamples")) {
            (_, Some(samples)) => crate_file.first_sample(samples)?,
            (Some(value), None) => value,
            _ => continue,
        };
        let value = crate_file.value(rep).map_err(|problem| format!("{}: {problem}", crate_file.path(path)))?;
        prim.values.insert(place.name.clone(), value);
    }
    // The deepest first, so that each is complete before its parent takes it; those of one parent in the order of the file.
    let mut deepest: Vec<(usize, usize)> = order.iter().map(|&path| (crate_file.depth(path), path)).collect();
    if deepest.iter().any(|&(depth, _)| depth > DEEPEST) {
        return Err(format!("more than {DEEPEST} prims inside each other"));
    }
    deepest.sort_by_key(|&(depth, _)| std::cmp::Reverse(depth));
    for (_, path) in deepest {
        let Some(prim) = prims.remove(&path) else { continue };
        let parent = crate_file.paths.get(path).map_or(usize::MAX, |place| place.parent);
        match prims.get_mut(&parent) {
            Some(parent) => parent.children.push(prim),
            // What stands below the pseudo-root; variants have paths of their own and are left out.
            None if crate_file.depth(path) == 1 => found.root.children.push(prim),
            None => {}
        }
    }
    Ok(found)
}

/// A path: its parent's number, and its last part.
#[derive(Clone)]
struct Place {
    parent: usize,
    name: String,
}

/// The tables of a layer.
struct Layer<'a> {
    file: &'a [u8],
    /// Whether payloads shift times: since 0.8.
    shifted_payloads: bool,
    tokens: Vec<String>,
    /// The token of each string.
    strings: Vec<u32>,
    /// Token and value of each field.
    fields: Vec<(usize, u64)>,
    field_sets: Vec<i64>,
    paths: Vec<Place>,
    /// Path, first field of its set, and what it is.
    specs: Vec<(usize, usize, i64)>,
}

impl<'a> Layer<'a> {
    fn read(file: &'a [u8]) -> Read<Self> {
        let version = file.get(8..11).ok_or("it ends within the header")?;
        if version[0] != 0 || version[1] < 7 {
            return Err(format!(
                "it has version {}.{}.{}; 0.7.0 and later can be read",
                version[0], version[1], version[2]
            ));
        }
        let mut contents = Cursor { file, at: 16 };
        contents.at = contents.size()?;
        let count = contents.size()?;
        let mut sections = Vec::new();
        for _ in 0..count.min(64) {
            let name = contents.take(16)?;
            sections.push((name, contents.size()?));
            contents.take(8)?;
        }
        let section = |name: &str| {
            let found =
                sections.iter().find(|(bytes, _)| bytes.split(|&byte| byte == 0).next() == Some(name.as_bytes()));
            found.map(|&(_, at)| Cursor { file, at }).ok_or_else(|| format!("it has no section {name}"))
        };

        let mut cursor = section("TOKENS")?;
        let (_, whole, packed) = (cursor.count()?, cursor.count()?, cursor.size()?);
        let text = unpack(cursor.take(packed)?, whole)?;
        let tokens: Vec<String> =
            text.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();

        let mut cursor = section("STRINGS")?;
        let count = cursor.count()?;
        let numbers = cursor.take(4 * count)?.chunks_exact(4);
        let strings = numbers.map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();

        let mut cursor = section("FIELDS")?;
        let count = cursor.count()?;
        let names = cursor.compressed(count)?;
        let packed = cursor.size()?;
        let reps = unpack(cursor.take(packed)?, 8 * count)?;
        let reps = reps.chunks_exact(8).map(|rep| u64::from_le_bytes(rep.try_into().unwrap_or_default()));
        let fields = names.into_iter().map(|name| name as usize).zip(reps).collect();

        let mut cursor = section("FIELDSETS")?;
        let count = cursor.count()?;
        let field_sets = cursor.compressed(count)?;

        let mut cursor = section("PATHS")?;
        let (all, count) = (cursor.count()?, cursor.count()?);
        let (numbers, elements, jumps) =
            (cursor.compressed(count)?, cursor.compressed(count)?, cursor.compressed(count)?);
        let paths = paths(all, &numbers, &elements, &jumps, &tokens)?;

        let mut cursor = section("SPECS")?;
        let count = cursor.count()?;
        let (places, sets, kinds) = (cursor.compressed(count)?, cursor.compressed(count)?, cursor.compressed(count)?);
        let specs =
            places.into_iter().zip(sets).zip(kinds).map(|((path, set), kind)| (path as usize, set as usize, kind));
        let specs = specs.collect();
        Ok(Self { file, shifted_payloads: version[1] >= 8, tokens, strings, fields, field_sets, paths, specs })
    }

    /// The value of a field of the set that begins at `set`.
    fn field(&self, set: usize, name: &str) -> Option<u64> {
        let set = self.field_sets.get(set..)?.iter().take_while(|&&field| field >= 0);
        let mut fields = set.filter_map(|&field| self.fields.get(field as usize));
        fields.find(|(token, _)| self.tokens.get(*token).is_some_and(|token| token == name)).map(|field| field.1)
    }

    fn token(&self, rep: u64) -> Option<&str> {
        let inlined = rep & INLINED != 0 && kind(rep) == TOKEN;
        self.tokens.get((rep & 0xffff_ffff) as usize).filter(|_| inlined).map(String::as_str)
    }

    fn first_sample(&self, rep: u64) -> Read<u64> {
        if kind(rep) != TIME_SAMPLES {
            return Err("time samples of an unknown kind".to_owned());
        }
        let mut cursor = Cursor { file: self.file, at: place(rep) };
        for part in 0..2 {
            let start = cursor.at;
            let jump = cursor.size()?;
            cursor.at = start.checked_add(jump).ok_or("time samples that lead nowhere")?;
            // The times first, then the number of values.
            let number = cursor.number()?;
            if part == 1 && number == 0 {
                return Err("no time samples".to_owned());
            }
        }
        cursor.number()
    }

    /// A prim without its properties and children.
    fn prim(&self, path: usize, set: usize) -> Read<Prim> {
        let mut prim =
            Prim { name: self.paths.get(path).map_or_else(String::new, |p| p.name.clone()), ..Prim::default() };
        prim.kind = self.field(set, "typeName").and_then(|rep| self.token(rep)).unwrap_or_default().to_owned();
        let small = |name: &str, wanted: u64| {
            let rep = self.field(set, name).filter(|&rep| kind(rep) == wanted && rep & INLINED != 0)?;
            Some(rep & 0xffff_ffff)
        };
        prim.defined = small("specifier", SPECIFIER) == Some(DEFINED);
        prim.active = small("active", BOOL).map(|active| active != 0);
        // References are stronger.
        for name in ["references", "payload"] {
            if let Some(rep) = self.field(set, name) {
                prim.arcs.extend(self.arcs(rep).map_err(|problem| format!("{}: {name}: {problem}", self.path(path)))?);
            }
        }
        let ways = UNFOLLOWED.iter().filter(|(name, _)| self.field(set, name).is_some());
        prim.unfollowed = ways.map(|(_, way)| *way).collect();
        Ok(prim)
    }

    /// Files and prims that a prim refers to.
    fn arcs(&self, rep: u64) -> Read<Vec<Arc>> {
        let mut cursor = Cursor { file: self.file, at: place(rep) };
        let mut arcs = Vec::new();
        match kind(rep) {
            PAYLOAD => arcs.push(self.arc(&mut cursor, self.shifted_payloads)?),
            REFERENCES | PAYLOADS => {
                // Which lists follow: given as they are, added, prepended, appended. Deleted ones and their order come last.
                let lists = cursor.take(1)?[0];
                for list in [1, 2, 5, 6] {
                    let count = if lists >> list & 1 == 1 { cursor.count()? } else { 0 };
                    for _ in 0..count {
                        arcs.push(self.arc(&mut cursor, kind(rep) == REFERENCES || self.shifted_payloads)?);
                        // Data of the reference's own.
                        if kind(rep) == REFERENCES && cursor.number()? != 0 {
                            return Err("a reference with custom data".to_owned());
                        }
                    }
                }
            }
            BLOCK => {}
            other => return Err(format!("values of kind {other}")),
        }
        Ok(arcs)
    }

    fn arc(&self, cursor: &mut Cursor, shifted: bool) -> Read<Arc> {
        let asset = cursor.word().map(|string| self.string(string))?;
        let prim = cursor.word().map(|path| self.path(path as usize))?;
        if shifted {
            cursor.take(16)?;
        }
        Ok(Arc { asset, prim, ..Arc::default() })
    }

    fn string(&self, number: u32) -> String {
        let token = self.strings.get(number as usize).and_then(|&token| self.tokens.get(token as usize));
        token.cloned().unwrap_or_default()
    }

    fn strings_at(&self, rep: u64) -> Read<Vec<String>> {
        if kind(rep) != STRINGS {
            return Err(format!("names of layers of kind {}", kind(rep)));
        }
        let mut cursor = Cursor { file: self.file, at: place(rep) };
        let count = cursor.count()?;
        (0..count).map(|_| cursor.word().map(|number| self.string(number))).collect()
    }

    /// A path in full; nothing for the empty path, or one that is not there.
    fn path(&self, number: usize) -> String {
        let mut names = Vec::new();
        let mut at = number;
        while let Some(place) = self.paths.get(at).filter(|place| place.parent != usize::MAX) {
            names.push(format!("/{}", place.name));
            at = place.parent;
            if names.len() > DEEPEST {
                break;
            }
        }
        names.into_iter().rev().collect()
    }

    /// How many paths are above one, or one more than [`DEEPEST`].
    fn depth(&self, number: usize) -> usize {
        let above = |&at: &usize| self.paths.get(at).map(|place| place.parent).filter(|&parent| parent != usize::MAX);
        std::iter::successors(above(&number), above).take(DEEPEST + 1).count()
    }

    /// A value that concerns curves or transforms.
    fn value(&self, rep: u64) -> Read<Value> {
        let wrong = || format!("values of kind {} are not expected here", kind(rep));
        let array = rep & ARRAY != 0;
        let mut cursor = Cursor { file: self.file, at: place(rep) };
        // An array of nothing has no place.
        let count = match (array, place(rep)) {
            (true, 0) => 0,
            (true, _) => cursor.count()?,
            (false, _) => 1,
        };
        let kind = kind(rep);
        if array && kind == TOKEN {
            let words = (0..count).map(|_| {
                let word = self.tokens.get(cursor.word()? as usize);
                word.cloned().ok_or_else(|| "a word that is not there".to_owned())
            });
            return Ok(Value { words: words.collect::<Read<_>>()?, ..Value::default() });
        }
        if array && kind == INT && rep & COMPRESSED != 0 && count >= SHORT {
            let numbers = cursor.compressed(count)?.into_iter().map(|number| number as f64).collect();
            return Ok(Value { numbers, ..Value::default() });
        }
        if rep & COMPRESSED != 0 {
            return Err(wrong());
        }
        let payload = (rep & 0xffff_ffff) as u32;
        let [p0, p1, p2, p3] = payload.to_le_bytes();
        let numbers = match kind {
            BLOCK => Vec::new(),
            // Whole numbers from -128 to 127 stand in the place itself.
            _ if VECTORS.contains(&kind) && rep & INLINED != 0 => [p0, p1, p2].map(|x| f64::from(x as i8)).to_vec(),
            MATRIX if rep & INLINED != 0 => {
                let mut matrix = vec![0.0; 16];
                [p0, p1, p2, p3].iter().enumerate().for_each(|(k, &x)| matrix[5 * k] = f64::from(x as i8));
                matrix
            }
            INT if rep & INLINED != 0 => vec![f64::from(payload as i32)],
            HALF if rep & INLINED != 0 => vec![half([p0, p1])],
            FLOAT | DOUBLE if rep & INLINED != 0 => vec![f64::from(f32::from_bits(payload))],
            INT => cursor.numbers::<4>(count, |b| f64::from(i32::from_le_bytes(b)))?,
            FLOAT => cursor.numbers::<4>(count, |b| f64::from(f32::from_le_bytes(b)))?,
            DOUBLE => cursor.numbers::<8>(count, f64::from_le_bytes)?,
            MATRIX => cursor.numbers::<8>(16 * count, f64::from_le_bytes)?,
            _ if kind == VECTORS[0] => cursor.numbers::<8>(3 * count, f64::from_le_bytes)?,
            _ if kind == VECTORS[1] => cursor.numbers::<4>(3 * count, |b| f64::from(f32::from_le_bytes(b)))?,
            _ if kind == VECTORS[2] => cursor.numbers::<2>(3 * count, half)?,
            _ if kind == QUATERNIONS[0] => cursor.numbers::<8>(4 * count, f64::from_le_bytes)?,
            _ if kind == QUATERNIONS[1] => cursor.numbers::<4>(4 * count, |b| f64::from(f32::from_le_bytes(b)))?,
            _ if kind == QUATERNIONS[2] => cursor.numbers::<2>(4 * count, half)?,
            _ => return Err(wrong()),
        };
        let mut value = Value { numbers, ..Value::default() };
        if QUATERNIONS.contains(&kind) {
            // The real part is stored last.
            value.numbers.chunks_exact_mut(4).for_each(|quaternion| quaternion.rotate_right(1));
        }
        Ok(value)
    }
}

/// A number of 16 bits.
fn half(bytes: [u8; 2]) -> f64 {
    let bits = u16::from_le_bytes(bytes);
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023) / 1024.0);
    let size = match exponent {
        0 => fraction * 2_f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction) * 2_f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -size } else { size }
}

fn kind(rep: u64) -> u64 {
    rep >> 48 & 0xff
}

fn place(rep: u64) -> usize {
    (rep & ((1 << 48) - 1)) as usize
}

/// The paths from their tree: a jump of -2 ends a branch, -1 is followed by a child, 0 by a sibling, a larger one by a child,
/// and says where the sibling is.
fn paths(all: usize, numbers: &[i64], elements: &[i64], jumps: &[i64], tokens: &[String]) -> Read<Vec<Place>> {
    const BROKEN: &str = "its paths lead nowhere";
    // The empty path, which references without a prim have, is counted, but is not in the tree.
    let mut paths = vec![Place { parent: usize::MAX, name: String::new() }; all.min(numbers.len() + 1)];
    // Where a branch begins and whose child its first path is.
    let mut branches = vec![(0_usize, usize::MAX)];
    let mut seen = 0;
    while let Some((mut at, parent)) = branches.pop() {
        let mut parent = parent;
        while at < numbers.len() {
            seen += 1;
            if seen > numbers.len() {
                return Err(BROKEN.to_owned());
            }
            let number = usize::try_from(numbers[at]).map_err(|_| BROKEN)?;
            let name = tokens.get(elements[at].unsigned_abs() as usize).cloned().unwrap_or_default();
            *paths.get_mut(number).ok_or(BROKEN)? = Place { parent, name };
            match jumps[at] {
                -2 => break,
                -1 => parent = number,
                0 => {}
                jump => {
                    let sibling = usize::try_from(jump).ok().and_then(|jump| at.checked_add(jump)).ok_or(BROKEN)?;
                    branches.push((sibling, parent));
                    parent = number;
                }
            }
            at += 1;
        }
    }
    Ok(paths)
}

/// Reads the file from a place on.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    file: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, bytes: usize) -> Read<&'a [u8]> {
        let end = self.at.checked_add(bytes).filter(|&end| end <= self.file.len());
        let end = end.ok_or_else(|| format!("it ends where {bytes} bytes more are promised"))?;
        let taken = &self.file[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn number(&mut self) -> Read<u64> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().unwrap_or_default()))
    }

    /// A number of 32 bits.
    fn word(&mut self) -> Read<u32> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().unwrap_or_default()))
    }

    /// Numbers of so many bytes each.
    fn numbers<const N: usize>(&mut self, count: usize, number: impl Fn([u8; N]) -> f64) -> Read<Vec<f64>> {
        let bytes = count.checked_mul(N).ok_or("more numbers than a file can hold")?;
        Ok(self.take(bytes)?.chunks_exact(N).map(|b| number(b.try_into().unwrap_or([0; N]))).collect())
    }

    /// A number of bytes, or a place.
    fn size(&mut self) -> Read<usize> {
        usize::try_from(self.number()?).map_err(|_| "a place beyond the end".to_owned())
    }

    /// A number of things.
    fn count(&mut self) -> Read<usize> {
        let count = self.number()?;
        if count > MOST { Err(format!("it promises {count} entries")) } else { Ok(count as usize) }
    }

    /// Whole numbers with the size of their block before it.
    fn compressed(&mut self, count: usize) -> Read<Vec<i64>> {
        let packed = self.size()?;
        let codes = (2 * count).div_ceil(8);
        let bytes = unpack(self.take(packed)?, 4 + codes + 4 * count)?;
        let mut cursor = Cursor { file: &bytes, at: 0 };
        let common = cursor.take(4)?;
        let common = i32::from_le_bytes([common[0], common[1], common[2], common[3]]);
        let codes = cursor.take(codes)?;
        let (mut last, mut numbers) = (0_i32, Vec::with_capacity(count.min(bytes.len() * 4)));
        for k in 0..count {
            let difference = match codes[k / 4] >> (2 * (k % 4)) & 3 {
                0 => common,
                1 => i32::from(cursor.take(1)?[0] as i8),
                2 => cursor.take(2).map(|b| i32::from(i16::from_le_bytes([b[0], b[1]])))?,
                _ => cursor.take(4).map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]]))?,
            };
            last = last.wrapping_add(difference);
            numbers.push(i64::from(last));
        }
        Ok(numbers)
    }
}

/// What a compressed block holds, `most` bytes or less. Its first byte is the number of pieces, 0 for a single one.
fn unpack(block: &[u8], most: usize) -> Read<Vec<u8>> {
    let (&pieces, mut rest) = block.split_first().ok_or("an empty block")?;
    let mut out = Vec::new();
    if pieces == 0 {
        lz4(rest, most, &mut out)?;
    }
    for _ in 0..pieces {
        let mut cursor = Cursor { file: rest, at: 0 };
        let size = cursor.take(4)?;
        let size = u32::from_le_bytes([size[0], size[1], size[2], size[3]]) as usize;
        lz4(cursor.take(size)?, most, &mut out)?;
        rest = &rest[cursor.at..];
    }
    Ok(out)
}

/// Appends what a block of LZ4 holds: runs of literals, each followed by a copy of what came before.
fn lz4(block: &[u8], most: usize, out: &mut Vec<u8>) -> Read<()> {
    let mut cursor = Cursor { file: block, at: 0 };
    let start = out.len();
    let length = |cursor: &mut Cursor, short: u8| -> Read<usize> {
        let mut length = usize::from(short);
        if short == 15 {
            loop {
                let more = cursor.take(1)?[0];
                length += usize::from(more);
                if more < 255 {
                    break;
                }
            }
        }
        Ok(length)
    };
    while cursor.at < block.len() {
        let token = cursor.take(1)?[0];
        let literals = length(&mut cursor, token >> 4)?;
        out.extend_from_slice(cursor.take(literals)?);
        if cursor.at == block.len() {
            break;
        }
        let back = cursor.take(2)?;
        let back = usize::from(u16::from_le_bytes([back[0], back[1]]));
        let copied = length(&mut cursor, token & 15)? + 4;
        if back == 0 || back > out.len() - start || out.len() + copied > most {
            return Err("a block that copies what is not there".to_owned());
        }
        for _ in 0..copied {
            out.push(out[out.len() - back]);
        }
    }
    if out.len() > most { Err("a block that is larger than promised".to_owned()) } else { Ok(()) }
}
