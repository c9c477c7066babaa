//! The curves of a binary USD layer (crate file, versions 0.7 and later).
//!
//! Tables of tokens, fields, sets of fields, paths and specs lead to the `points` and `curveVertexCounts` of every prim of
//! type `BasisCurves`. Tables and arrays of whole numbers are compressed: differences of one, two or four bytes in a block of
//! LZ4. Every number that is read is checked against what the file can hold.

use super::Curves;
use glam::DVec3;

/// The first bytes of a layer.
pub const MAGIC: &[u8] = b"PXR-USDC";

const ARRAY: u64 = 1 << 63;
const INLINED: u64 = 1 << 62;
const COMPRESSED: u64 = 1 << 61;
const INT: u64 = 3;
const TOKEN: u64 = 11;
const VECTOR: u64 = 24;
const TIME_SAMPLES: u64 = 46;
/// Arrays shorter than this are never compressed.
const SHORT: usize = 16;
const ATTRIBUTE: i64 = 1;
const PRIM: i64 = 6;
/// Most entries of a table, and most numbers of an array.
const MOST: u64 = 1 << 30;

type Read<T> = Result<T, String>;

/// The curves of a layer.
pub fn curves(file: &[u8]) -> Read<Vec<Curves>> {
    let layer = Layer::read(file)?;
    let mut found = Vec::new();
    for &(prim, set, kind) in &layer.specs {
        let type_name = layer.field(set, "typeName");
        if kind != PRIM || type_name.and_then(|rep| layer.token(rep)) != Some("BasisCurves") {
            continue;
        }
        let attribute = |name: &str| {
            let spec = layer.specs.iter().find(|spec| {
                let path = layer.paths.get(spec.0);
                spec.2 == ATTRIBUTE && path.is_some_and(|path| path.parent == prim && path.name == name)
            });
            let (_, set, _) = spec.ok_or_else(|| format!("curves without {name}"))?;
            match (layer.field(*set, "default"), layer.field(*set, "timeSamples")) {
                (_, Some(samples)) => layer.first_sample(samples),
                (Some(value), None) => Ok(value),
                _ => Err(format!("{name} has no value")),
            }
        };
        let counts = layer.whole_numbers(attribute("curveVertexCounts")?)?;
        found.push((counts, layer.vectors(attribute("points")?)?));
    }
    Ok(found)
}

/// A path: its parent's number, and its last part.
#[derive(Clone, Default)]
struct Place {
    parent: usize,
    name: String,
}

/// The tables of a layer.
struct Layer<'a> {
    file: &'a [u8],
    tokens: Vec<String>,
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
        Ok(Self { file, tokens, fields, field_sets, paths, specs })
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

    fn array(&self, rep: u64, wanted: u64) -> Read<(Cursor<'a>, usize)> {
        if rep & ARRAY == 0 || kind(rep) != wanted {
            return Err(format!("values of kind {} where an array of kind {wanted} is expected", kind(rep)));
        }
        let mut cursor = Cursor { file: self.file, at: place(rep) };
        // An array of nothing has no place.
        let count = if place(rep) == 0 { 0 } else { cursor.count()? };
        Ok((cursor, count))
    }

    fn whole_numbers(&self, rep: u64) -> Read<Vec<i64>> {
        let (mut cursor, count) = self.array(rep, INT)?;
        if rep & COMPRESSED != 0 && count >= SHORT {
            return cursor.compressed(count);
        }
        let bytes = cursor.take(count * 4)?.chunks_exact(4);
        Ok(bytes.map(|b| i64::from(i32::from_le_bytes([b[0], b[1], b[2], b[3]]))).collect())
    }

    fn vectors(&self, rep: u64) -> Read<Vec<DVec3>> {
        let (mut cursor, count) = self.array(rep, VECTOR)?;
        let axis = |b: &[u8]| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let vector = |b: &[u8]| DVec3::new(axis(&b[..4]), axis(&b[4..8]), axis(&b[8..]));
        Ok(cursor.take(count * 12)?.chunks_exact(12).map(vector).collect())
    }
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
    let mut paths = vec![Place::default(); all.min(numbers.len())];
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
