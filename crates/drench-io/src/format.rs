//! The file format of frames, models and checkpoints: named chunks of numbers, compressed in blocks, checksummed.
//!
//! ```text
//! header   magic "\x89DRENCH\n" (8), version u32, kind u32
//! blocks   compressed bytes, back to back
//! table    per chunk: name, element, codec, exponent, count, and per block: stored length u32, xxh3 u64
//! footer   table offset u64, table length u64, table xxh3 u64, magic "DRENCHED" (8)
//! ```
//! All numbers are little-endian. A chunk is cut into blocks of [`BLOCK`] elements, and each block is coded on its own
//! and at zstd level 1: blocks are coded in parallel and the bytes do not depend on the number of threads. Within a
//! block the bytes are shuffled, all first bytes first, then all second bytes and so on, which puts the bytes that
//! hardly change next to each other.
//!
//! A reader trusts nothing: the footer, the table and each block have a checksum, and what the table claims is compared
//! with the size of the file before anything is allocated.

mod element;
mod quantise;
mod reader;
mod writer;

pub(crate) use element::Element;
pub use quantise::{Precision, step};
pub(crate) use reader::Reader;
pub(crate) use writer::Writer;

/// Elements in a block. Part of the format.
const BLOCK: usize = 1 << 15;
/// Most elements in a chunk: 268 million.
pub(crate) const MOST_ELEMENTS: u64 = 1 << 28;
/// Most bytes in a checkpoint's state or a text: 64 GiB.
const MOST_BYTES: u64 = 1 << 36;
/// Bytes of one block of plain bytes.
const BYTE_BLOCK: usize = 1 << 18;
/// Width of the values that plain bytes are taken for when they are shuffled: checkpoints are mostly `f64`.
const BYTE_STRIDE: usize = 8;

/// Version that is written. 2: particles; a program that knows only 1 would leave them out without a word.
const VERSION: u32 = 2;
/// Oldest version that is read: its files are files of this version without particles.
const OLDEST_VERSION: u32 = 1;
const HEADER_MAGIC: &[u8; 8] = b"\x89DRENCH\n";
const FOOTER_MAGIC: &[u8; 8] = b"DRENCHED";
const HEADER_LENGTH: usize = 16;
const FOOTER_LENGTH: usize = 32;
const COMPRESSION_LEVEL: i32 = 1;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// What stays the same in all frames of a run.
    Model = 1,
    /// What changed in one frame.
    Frame = 2,
    /// The whole state of a simulation.
    Checkpoint = 3,
}

impl FileKind {
    /// What to do when such a file is broken.
    fn fix(self) -> &'static str {
        match self {
            Self::Model => "run the scene again with --resume: it writes this file anew",
            Self::Frame => "run the scene again with --resume: it computes the frame anew, with the same bits",
            Self::Checkpoint => "run the scene again with --resume: it goes on from an earlier checkpoint",
        }
    }
}

/// How a chunk's numbers become bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Codec {
    /// Bit by bit.
    Exact,
    /// Rounded to multiples of `2^exponent`, each predicted from those before.
    Quantised { exponent: i32 },
}

#[cfg(test)]
mod tests;
