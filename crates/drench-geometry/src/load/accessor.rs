//! The numbers behind glTF accessors, with every range checked before it is read.

use super::malformed;
use crate::GeometryError;
use crate::clean::check_count;
use gltf::Accessor;
use gltf::accessor::DataType;
use gltf::buffer::View;
use std::path::Path;

/// The contents of all buffers of a file.
pub(super) struct Buffers<'a> {
    pub path: &'a Path,
    pub contents: Vec<Vec<u8>>,
}

impl Buffers<'_> {
    /// All components of an accessor as numbers, row by row; normalised integers are mapped to -1..1 or 0..1.
    pub fn numbers(&self, accessor: &Accessor) -> Result<Vec<f64>, GeometryError> {
        let width = accessor.dimensions().multiplicity();
        let kind = accessor.data_type();
        let count = accessor.count();
        check_count(&self.path.display().to_string(), "values of an accessor", count as u64)?;
        if accessor.dimensions().multiplicity() * kind.size() != accessor.size() {
            // Matrices of bytes and shorts have padded columns, which nothing here reads.
            return Err(self.refuse(accessor, "its matrices are of an integer type"));
        }
        let decode = |bytes: &[u8]| decode(bytes, kind, accessor.normalized());
        let mut values = Vec::new();
        if let Some(view) = accessor.view() {
            let stride = view.stride().unwrap_or(accessor.size());
            let bytes = self.view(accessor, &view)?;
            for row in 0..count {
                let start = row.checked_mul(stride).and_then(|n| n.checked_add(accessor.offset()));
                let bytes = start.and_then(|start| bytes.get(start..start.checked_add(accessor.size())?));
                let bytes = bytes.ok_or_else(|| self.refuse(accessor, "it reaches beyond its buffer view"))?;
                values.extend(bytes.chunks_exact(kind.size()).map(decode));
            }
        } else {
            values.resize(count * width, 0.0);
        }
        if let Some(sparse) = accessor.sparse() {
            let indices = sparse.indices();
            let index_kind = match indices.index_type() {
                gltf::accessor::sparse::IndexType::U8 => DataType::U8,
                gltf::accessor::sparse::IndexType::U16 => DataType::U16,
                gltf::accessor::sparse::IndexType::U32 => DataType::U32,
            };
            let index_view = indices.view();
            let index_bytes = self.view(accessor, &index_view)?.get(indices.offset()..).unwrap_or_default();
            let value_view = sparse.values().view();
            let value_bytes = self.view(accessor, &value_view)?.get(sparse.values().offset()..).unwrap_or_default();
            let rows = index_bytes.chunks_exact(index_kind.size()).zip(value_bytes.chunks_exact(accessor.size()));
            if rows.len() < sparse.count() {
                return Err(self.refuse(accessor, "its sparse part reaches beyond its buffer view"));
            }
            for (index, bytes) in rows.take(sparse.count()) {
                let row = self::decode(index, index_kind, false) as usize;
                if row >= count {
                    return Err(self.refuse(accessor, "its sparse part names a row that it does not have"));
                }
                for (k, bytes) in bytes.chunks_exact(kind.size()).enumerate() {
                    values[row * width + k] = decode(bytes);
                }
            }
        }
        Ok(values)
    }

    /// The same in rows of `N`; refused unless the accessor has `count` rows of that width.
    pub fn rows<const N: usize>(&self, accessor: &Accessor, count: usize) -> Result<Vec<[f64; N]>, GeometryError> {
        if accessor.dimensions().multiplicity() != N || accessor.count() != count {
            let (width, found) = (accessor.dimensions().multiplicity(), accessor.count());
            let problem = format!("it has {found} rows of {width} where {count} rows of {N} are needed");
            return Err(self.refuse(accessor, &problem));
        }
        Ok(self.numbers(accessor)?.as_chunks::<N>().0.to_vec())
    }

    /// Whole numbers, such as vertex indices.
    pub fn integers(&self, accessor: &Accessor) -> Result<Vec<u32>, GeometryError> {
        Ok(self.numbers(accessor)?.into_iter().map(|value| value as u32).collect())
    }

    fn view(&self, accessor: &Accessor, view: &View) -> Result<&[u8], GeometryError> {
        let buffer = self.contents.get(view.buffer().index()).map(Vec::as_slice).unwrap_or_default();
        let range = view.offset().checked_add(view.length()).and_then(|end| buffer.get(view.offset()..end));
        range.ok_or_else(|| {
            let problem =
                format!("its buffer view {} reaches beyond the {} bytes of its buffer", view.index(), buffer.len());
            self.refuse(accessor, &problem)
        })
    }

    fn refuse(&self, accessor: &Accessor, problem: &str) -> GeometryError {
        let fix = "the file is cut short or damaged: export it again";
        malformed(self.path, format!("accessor {}", accessor.index()), problem, fix)
    }
}

fn decode(b: &[u8], kind: DataType, normalised: bool) -> f64 {
    let (value, most) = match kind {
        DataType::I8 => (f64::from(b[0] as i8), 127.0),
        DataType::U8 => (f64::from(b[0]), 255.0),
        DataType::I16 => (f64::from(i16::from_le_bytes([b[0], b[1]])), 32767.0),
        DataType::U16 => (f64::from(u16::from_le_bytes([b[0], b[1]])), 65535.0),
        DataType::U32 => (f64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]])), f64::from(u32::MAX)),
        DataType::F32 => return f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])),
    };
    if normalised { (value / most).max(-1.0) } else { value }
}
