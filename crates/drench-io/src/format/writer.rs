//! Writes chunks into a file.

use super::element::{Element, Kind, shuffle, shuffle_bytes};
use super::{
    BLOCK, BYTE_BLOCK, BYTE_STRIDE, COMPRESSION_LEVEL, Codec, FOOTER_MAGIC, FileKind, HEADER_LENGTH, HEADER_MAGIC,
    Precision, VERSION, quantise,
};
use crate::atomic;
use crate::error::Result;
use rayon::prelude::*;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// Collects chunks and writes them at once.
pub(crate) struct Writer {
    kind: FileKind,
    table: Vec<u8>,
    blocks: Vec<Vec<u8>>,
}

impl Writer {
    pub(crate) fn new(kind: FileKind) -> Self {
        Self { kind, table: Vec::new(), blocks: Vec::new() }
    }

    /// Adds plain bytes.
    pub(crate) fn bytes(&mut self, name: &str, bytes: &[u8]) {
        let blocks = bytes.par_chunks(BYTE_BLOCK).map(|block| compress(&shuffle_bytes(block, BYTE_STRIDE))).collect();
        self.add(name, Kind::Bytes, Codec::Exact, bytes.len(), blocks);
    }

    /// Adds numbers that keep every bit.
    pub(crate) fn exact<T: Element>(&mut self, name: &str, elements: &[T]) {
        let blocks = elements.par_chunks(BLOCK).map(|block| compress(&shuffle(block))).collect();
        self.add(name, T::KIND, Codec::Exact, elements.len(), blocks);
    }

    /// Adds vectors rounded as `precision` says; exactly if no rounding fits them. `offsets` as in a strand body.
    pub(crate) fn rounded(&mut self, name: &str, values: &[[f32; 3]], precision: Precision, offsets: &[u32]) {
        let Some(exponent) = quantise::step(values, precision) else { return self.exact(name, values) };
        let block = |(index, block): (usize, &[[f32; 3]])| {
            let (order, residuals) = quantise::encode(block, index * BLOCK, offsets, exponent);
            let mut bytes = shuffle(&residuals);
            bytes.push(order);
            compress(&bytes)
        };
        let blocks = values.par_chunks(BLOCK).enumerate().map(block).collect();
        self.add(name, Kind::F32x3, Codec::Quantised { exponent }, values.len(), blocks);
    }

    fn add(&mut self, name: &str, kind: Kind, codec: Codec, count: usize, blocks: Vec<Vec<u8>>) {
        let (code, exponent) = match codec {
            Codec::Exact => (0_u8, 0_i32),
            Codec::Quantised { exponent } => (1, exponent),
        };
        let table = &mut self.table;
        table.extend((name.len() as u16).to_le_bytes());
        table.extend(name.as_bytes());
        table.extend([kind as u8, code]);
        table.extend(exponent.to_le_bytes());
        table.extend((count as u64).to_le_bytes());
        for block in &blocks {
            table.extend((block.len() as u32).to_le_bytes());
            table.extend(xxh3_64(block).to_le_bytes());
        }
        self.blocks.extend(blocks);
    }

    /// A number that stands for the whole content, however it is named or stored.
    pub(crate) fn identity(&self) -> u64 {
        xxh3_64(&self.table)
    }

    /// Writes the file, atomically, and returns its size [bytes].
    pub(crate) fn write(self, path: &Path) -> Result<u64> {
        let mut header = HEADER_MAGIC.to_vec();
        header.extend(VERSION.to_le_bytes());
        header.extend((self.kind as u32).to_le_bytes());
        let table_offset = HEADER_LENGTH + self.blocks.iter().map(Vec::len).sum::<usize>();
        let mut footer = Vec::new();
        footer.extend((table_offset as u64).to_le_bytes());
        footer.extend((self.table.len() as u64).to_le_bytes());
        footer.extend(self.identity().to_le_bytes());
        footer.extend(FOOTER_MAGIC);
        let mut parts: Vec<&[u8]> = vec![&header];
        parts.extend(self.blocks.iter().map(Vec::as_slice));
        parts.extend([&self.table[..], &footer[..]]);
        atomic::write(path, &parts)?;
        Ok((table_offset + self.table.len() + footer.len()) as u64)
    }
}

fn compress(bytes: &[u8]) -> Vec<u8> {
    // In memory and with a valid level there is nothing that can fail but the allocation.
    zstd::bulk::compress(bytes, COMPRESSION_LEVEL).expect("compression in memory")
}
