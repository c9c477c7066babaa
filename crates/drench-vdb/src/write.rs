//! The file: a header, then per grid its metadata, its transform, the shape of its tree and the values of its leaves.

use crate::VdbError;
use crate::grid::{Class, Grid, LEAF, Value};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

const MAGIC: u64 = 0x5644_4220;
const FILE_VERSION: u32 = 224;
/// The library whose files these are like.
const LIBRARY_VERSION: [u32; 2] = [10, 0];
/// Values are zipped, and only those that count are stored.
const ZIP_AND_ACTIVE: u32 = 1 | 2;

/// What stands before the values of a node: how those that do not count are found again.
mod inactive {
    pub const ALL_BACKGROUND: u8 = 0;
    pub const ALL_MINUS_BACKGROUND: u8 = 1;
    /// A mask tells background (1) from its negative (0).
    pub const MASKED: u8 = 3;
    /// Every value is stored.
    pub const STORED: u8 = 6;
}

/// A grid that can be written.
pub trait Writable {
    /// Appends the grid to a file, at whose end it will stand.
    fn append_to(&self, file: &mut Vec<u8>);
}

/// Writes a file with these grids, over one that is there.
pub fn write(path: &Path, grids: &[&dyn Writable]) -> Result<(), VdbError> {
    let mut body = Vec::new();
    // Its length does not depend on the id in it.
    let length = header([0; 2], grids.len()).len();
    body.resize(length, 0);
    for grid in grids {
        grid.append_to(&mut body);
    }
    let id = [0xcbf2_9ce4_8422_2325, 0x6c62_272e_07bb_0142].map(|seed| fingerprint(&body[length..], seed));
    body[..length].copy_from_slice(&header(id, grids.len()));
    std::fs::write(path, body).map_err(|source| VdbError::Storage { path: path.to_owned(), source })
}

fn header(id: [u64; 2], grids: usize) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend(MAGIC.to_le_bytes());
    out.extend(FILE_VERSION.to_le_bytes());
    LIBRARY_VERSION.iter().for_each(|number| out.extend(number.to_le_bytes()));
    out.push(1); // grids say where they end
    let id = format!("{:016x}{:016x}", id[0], id[1]);
    out.extend(format!("{}-{}-4{}-a{}-{}", &id[..8], &id[8..12], &id[13..16], &id[17..20], &id[20..]).bytes());
    append_metadata(&[("creator", Meta::Text(concat!("drench-vdb ", env!("CARGO_PKG_VERSION"))))], &mut out);
    out.extend((grids as u32).to_le_bytes());
    out
}

/// FNV-1a: the same grids give the same file, others another id.
fn fingerprint(bytes: &[u8], seed: u64) -> u64 {
    bytes.iter().fold(seed, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

enum Meta<'a> {
    Text(&'a str),
    Whole(i64),
    Corner([i32; 3]),
}

fn append_text(text: &str, out: &mut Vec<u8>) {
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(text.as_bytes());
}

fn append_metadata(entries: &[(&str, Meta)], out: &mut Vec<u8>) {
    out.extend((entries.len() as u32).to_le_bytes());
    for (name, value) in entries {
        append_text(name, out);
        match value {
            Meta::Text(text) => {
                append_text("string", out);
                append_text(text, out);
            }
            Meta::Whole(number) => {
                append_text("int64", out);
                out.extend(8_u32.to_le_bytes());
                out.extend(number.to_le_bytes());
            }
            Meta::Corner(corner) => {
                append_text("vec3i", out);
                out.extend(12_u32.to_le_bytes());
                corner.iter().for_each(|x| out.extend(x.to_le_bytes()));
            }
        }
    }
}

impl<T: Value> Writable for Grid<T> {
    fn append_to(&self, out: &mut Vec<u8>) {
        append_text(&self.name, out);
        append_text(T::TREE, out);
        append_text("", out); // no instance of another
        let ends = out.len();
        out.extend([0; 24]);
        let grid = out.len();
        out.extend(ZIP_AND_ACTIVE.to_le_bytes());
        self.append_grid_metadata(out);
        append_transform(self.voxel, out);
        let tree = Tree::of(self);
        tree.append_topology(self, out);
        let values = out.len();
        tree.append_values(self, out);
        let end = out.len();
        for (slot, position) in [grid, values, end].into_iter().enumerate() {
            out[ends + 8 * slot..ends + 8 * slot + 8].copy_from_slice(&(position as u64).to_le_bytes());
        }
    }
}

impl<T: Value> Grid<T> {
    fn append_grid_metadata(&self, out: &mut Vec<u8>) {
        let (mut low, mut high) = ([i32::MAX; 3], [i32::MIN; 3]);
        for (at, leaf) in &self.leaves {
            for place in (0..LEAF).filter(|&place| leaf.is_active(place)) {
                let inner = [place >> 6, place >> 3 & 7, place & 7];
                for axis in 0..3 {
                    let voxel = at[axis] * 8 + inner[axis] as i32;
                    low[axis] = low[axis].min(voxel);
                    high[axis] = high[axis].max(voxel);
                }
            }
        }
        let class = match self.class {
            Class::LevelSet => "level set",
            Class::Fog => "fog volume",
            Class::Plain => "unknown",
        };
        let mut entries = vec![
            ("class", Meta::Text(class)),
            ("file_bbox_max", Meta::Corner(high)),
            ("file_bbox_min", Meta::Corner(low)),
            ("file_compression", Meta::Text("zip + active values")),
            ("file_voxel_count", Meta::Whole(self.active_voxels() as i64)),
            ("name", Meta::Text(&self.name)),
        ];
        entries.extend(T::VECTOR.map(|vector| ("vector_type", Meta::Text(vector))));
        append_metadata(&entries, out);
    }
}

/// A map that scales all axes alike: scale, voxel size, and what the library derives of them.
fn append_transform(voxel: f64, out: &mut Vec<u8>) {
    append_text("UniformScaleMap", out);
    for value in [voxel, voxel, 1.0 / voxel, 1.0 / (voxel * voxel), 0.5 / voxel] {
        for _axis in 0..3 {
            out.extend(value.to_le_bytes());
        }
    }
}

/// Blocks by the upper node (4096 voxels wide) and the lower node (128 voxels) that they are in.
struct Tree {
    uppers: BTreeMap<[i32; 3], BTreeMap<[i32; 3], Vec<Block>>>,
}

/// A block of 8^3 voxels.
struct Block {
    at: [i32; 3],
    is_leaf: bool,
}

impl Tree {
    fn of<T>(grid: &Grid<T>) -> Self {
        let mut uppers: BTreeMap<_, BTreeMap<_, Vec<Block>>> = BTreeMap::new();
        let leaves = grid.leaves.keys().map(|&at| Block { at, is_leaf: true });
        for block in leaves.chain(grid.inside.iter().map(|&at| Block { at, is_leaf: false })) {
            let (upper, lower) = (block.at.map(|i| i >> 9), block.at.map(|i| i >> 4));
            uppers.entry(upper).or_default().entry(lower).or_default().push(block);
        }
        for blocks in uppers.values_mut().flat_map(BTreeMap::values_mut) {
            blocks.sort_by_key(|block| place_in(block.at, 4));
        }
        Self { uppers }
    }

    /// The lower nodes of an upper one, in the order of their places.
    fn in_order(lowers: &BTreeMap<[i32; 3], Vec<Block>>) -> Vec<(usize, &[Block])> {
        let mut nodes: Vec<_> = lowers.iter().map(|(&at, blocks)| (place_in(at, 5), blocks.as_slice())).collect();
        nodes.sort_by_key(|&(place, _)| place);
        nodes
    }

    fn append_topology<T: Value>(&self, grid: &Grid<T>, out: &mut Vec<u8>) {
        out.extend(1_u32.to_le_bytes()); // buffers per leaf
        grid.background.append_to(out);
        out.extend(0_u32.to_le_bytes()); // tiles of the root
        out.extend((self.uppers.len() as u32).to_le_bytes());
        for (at, lowers) in &self.uppers {
            at.iter().for_each(|i| out.extend((i << 12).to_le_bytes()));
            let lowers = Self::in_order(lowers);
            let mut children = vec![0; (1 << 15) / 64];
            lowers.iter().for_each(|&(place, _)| set(&mut children, place));
            append_mask(&children, out);
            append_mask(&vec![0; (1 << 15) / 64], out);
            out.push(inactive::ALL_BACKGROUND);
            append_zipped(&[], out);
            for (_, blocks) in lowers {
                append_lower_node(grid, blocks, out);
            }
        }
    }

    fn append_values<T: Value>(&self, grid: &Grid<T>, out: &mut Vec<u8>) {
        let mut bytes = Vec::new();
        let uppers = self.uppers.values();
        for (_, blocks) in uppers.flat_map(|lowers| Self::in_order(lowers)) {
            for leaf in blocks.iter().filter_map(|block| grid.leaves.get(&block.at)) {
                append_mask(&leaf.active, out);
                let minus = grid.background.times(-1.0);
                let mut mask = [0; LEAF / 64];
                let (mut plus_seen, mut minus_seen, mut other_seen) = (false, false, false);
                for place in (0..LEAF).filter(|&place| !leaf.is_active(place)) {
                    let value = leaf.values[place];
                    if value == grid.background {
                        plus_seen = true;
                        set(&mut mask, place);
                    } else {
                        minus_seen |= value == minus;
                        other_seen |= value != minus;
                    }
                }
                bytes.clear();
                let kept = |place: &usize| other_seen || leaf.is_active(*place);
                (0..LEAF).filter(kept).for_each(|place| leaf.values[place].append_to(&mut bytes));
                match (other_seen, minus_seen, plus_seen) {
                    (true, ..) => out.push(inactive::STORED),
                    (_, false, _) => out.push(inactive::ALL_BACKGROUND),
                    (_, true, false) => out.push(inactive::ALL_MINUS_BACKGROUND),
                    (_, true, true) => {
                        out.push(inactive::MASKED);
                        append_mask(&mask, out);
                    }
                }
                append_zipped(&bytes, out);
            }
        }
    }
}

/// A node of 16^3 blocks: which are leaves, and which of the others are inside.
fn append_lower_node<T: Value>(grid: &Grid<T>, blocks: &[Block], out: &mut Vec<u8>) {
    let (mut children, mut outside) = (vec![0; 4096 / 64], vec![u64::MAX; 4096 / 64]);
    for block in blocks {
        let place = place_in(block.at, 4);
        if block.is_leaf {
            set(&mut children, place);
        } else {
            outside[place / 64] &= !(1 << (place % 64));
        }
    }
    append_mask(&children, out);
    append_mask(&[0; 4096 / 64], out);
    if outside.iter().all(|&word| word == u64::MAX) {
        out.push(inactive::ALL_BACKGROUND);
    } else {
        out.push(inactive::MASKED);
        append_mask(&outside, out);
    }
    append_zipped(&[], out);
    for leaf in blocks.iter().filter_map(|block| grid.leaves.get(&block.at)) {
        append_mask(&leaf.active, out);
    }
}

/// Place of a child in a node of 2^bits children along each side, x slowest.
fn place_in(at: [i32; 3], bits: u32) -> usize {
    let [x, y, z] = at.map(|i| (i & ((1 << bits) - 1)) as usize);
    x << (2 * bits) | y << bits | z
}

fn set(mask: &mut [u64], place: usize) {
    mask[place / 64] |= 1 << (place % 64);
}

fn append_mask(mask: &[u64], out: &mut Vec<u8>) {
    mask.iter().for_each(|word| out.extend(word.to_le_bytes()));
}

/// Bytes behind their zipped length, or, if zipping gains nothing, behind the negative of their length.
fn append_zipped(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend([0; 8]);
    let mut encoder = ZlibEncoder::new(&mut *out, Compression::fast());
    // A vector takes all bytes.
    let zipped = encoder.write_all(bytes).and_then(|()| encoder.finish().map(|_| ())).is_ok();
    let length = out.len() - start - 8;
    let length = if zipped && length < bytes.len() {
        length as i64
    } else {
        out.truncate(start + 8);
        out.extend(bytes);
        -(bytes.len() as i64)
    };
    out[start..start + 8].copy_from_slice(&length.to_le_bytes());
}
