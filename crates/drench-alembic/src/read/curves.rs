//! Curves with what is on them, in the space of the whole file.

use super::Reader;
use super::ogawa::Container;
use super::tree::{self, Content, Object, Property, Samples};
use crate::error::AlembicError;
use crate::types::{Basis, Pod, Scope, TimeSampling};

/// Rows that a row vector is multiplied by.
pub type Matrix = [[f64; 4]; 4];

pub const IDENTITY: Matrix = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];

/// Most texts in one sample.
const MOST_TEXTS: usize = 1_000_000;
/// Most numbers in a value that indices name: a matrix.
const WIDEST: usize = 16;

/// Curves in a file.
pub struct CurvesObject<'r> {
    reader: &'r Reader,
    geometry: &'r [Property],
    path: String,
    matrix: Matrix,
}

/// Curves at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    /// Vertices of all curves, one curve after the other, with all transforms above them applied.
    pub positions: Vec<[f32; 3]>,
    /// Number of vertices of each curve.
    pub counts: Vec<u32>,
    /// How curves run along their vertices.
    pub basis: Basis,
    /// Diameters, if the file tells them.
    pub widths: Option<ReadParameter>,
    /// Texture coordinates, if the file tells them.
    pub uvs: Option<ReadParameter>,
    /// Velocity of each vertex [units/s], if the file tells it.
    pub velocities: Option<Vec<[f32; 3]>>,
    /// Further values.
    pub parameters: Vec<ReadParameter>,
}

/// Values on curves.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadParameter {
    /// Name.
    pub name: String,
    /// What one value belongs to; `None` if the file does not tell.
    pub scope: Option<Scope>,
    /// Numbers per value.
    pub extent: usize,
    /// The values, `extent` numbers each.
    pub values: ReadValues,
}

/// Numbers or texts.
#[derive(Clone, Debug, PartialEq)]
pub enum ReadValues {
    /// Whole numbers.
    Whole(Vec<i64>),
    /// Numbers.
    Number(Vec<f32>),
    /// Texts.
    Text(Vec<String>),
}

impl ReadValues {
    /// Numbers that it holds.
    fn len(&self) -> usize {
        match self {
            Self::Whole(values) => values.len(),
            Self::Number(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }
}

impl<'r> CurvesObject<'r> {
    pub(super) fn new(reader: &'r Reader, object: &'r Object, path: String, matrix: Matrix) -> Self {
        Self { reader, geometry: tree::compound(&object.properties, ".geom"), path, matrix }
    }

    /// Names of the objects from the top to this one, with slashes.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Number of samples.
    pub fn sample_count(&self) -> u32 {
        tree::samples(self.geometry, "P").map_or(0, |samples| samples.count)
    }

    /// When the samples are, if they are equally far apart.
    pub fn time_sampling(&self) -> Option<TimeSampling> {
        let samples = tree::samples(self.geometry, "P")?;
        self.reader.samplings.get(samples.sampling as usize).copied().flatten()
    }

    /// Reads a sample; after the last one, the last.
    pub fn read(&self, sample: u32) -> Result<Curves, AlembicError> {
        let container = &self.reader.container;
        let mut positions = self.vectors("P", sample)?.unwrap_or_default();
        for position in &mut positions {
            *position = transform_point(&self.matrix, *position);
        }
        let mut counts = Vec::new();
        if let Some(samples) = tree::samples(self.geometry, "nVertices") {
            let ReadValues::Whole(values) = read_values(container, samples, sample)? else {
                return Err(self.damaged("its nVertices are no whole numbers"));
            };
            for value in values {
                let count = u32::try_from(value).map_err(|_| self.damaged(format!("a curve has {value} vertices")))?;
                counts.push(count);
            }
        }
        let sum: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        if sum != positions.len() as u64 {
            return Err(self.damaged(format!("its curves claim {sum} vertices, there are {}", positions.len())));
        }
        let velocities = self.vectors(".velocities", sample)?.filter(|velocities| !velocities.is_empty());
        let velocities = match velocities {
            Some(velocities) if velocities.len() != positions.len() => {
                return Err(self.damaged(format!("{} velocities on {sum} vertices", velocities.len())));
            }
            Some(velocities) => Some(velocities.iter().map(|&v| transform_vector(&self.matrix, v)).collect()),
            None => None,
        };
        let mut parameters = Vec::new();
        for property in tree::compound(self.geometry, ".arbGeomParams") {
            parameters.extend(self.parameter(property, sample, &counts, positions.len())?);
        }
        let schema = |name| tree::find(self.geometry, name);
        let widths = schema("width").map(|p| self.parameter(p, sample, &counts, positions.len())).transpose()?;
        let uvs = schema("uv").map(|p| self.parameter(p, sample, &counts, positions.len())).transpose()?;
        let basis = self.basis(sample)?;
        let (widths, uvs) = (widths.flatten(), uvs.flatten());
        Ok(Curves { positions, counts, basis, widths, uvs, velocities, parameters })
    }

    fn damaged(&self, reason: impl std::fmt::Display) -> AlembicError {
        self.reader.container.damaged(format!("{}: {reason}", self.path))
    }

    fn basis(&self, sample: u32) -> Result<Basis, AlembicError> {
        let bytes = match tree::samples(self.geometry, "curveBasisAndType") {
            Some(samples) => samples.read(&self.reader.container, sample)?,
            None => Vec::new(),
        };
        Ok(match bytes.as_slice() {
            [0, _, 1, ..] => Basis::Bezier,
            [0, _, 3, ..] => Basis::CatmullRom,
            [0, ..] => Basis::BSpline,
            _ => Basis::Linear,
        })
    }

    fn vectors(&self, name: &str, sample: u32) -> Result<Option<Vec<[f32; 3]>>, AlembicError> {
        let Some(samples) = tree::samples(self.geometry, name) else { return Ok(None) };
        let values = read_values(&self.reader.container, samples, sample)?;
        match (samples.extent, values) {
            (3, ReadValues::Number(values)) => Ok(Some(values.as_chunks::<3>().0.to_vec())),
            _ => Err(self.damaged(format!("its {name} are no vectors"))),
        }
    }

    /// The values of a parameter, spread out if they are named by indices; `None` if there is nothing in this sample, or
    /// nothing that numbers and texts can hold.
    fn parameter(
        &self,
        property: &Property,
        sample: u32,
        counts: &[u32],
        vertices: usize,
    ) -> Result<Option<ReadParameter>, AlembicError> {
        let container = &self.reader.container;
        let (samples, indices) = match &property.content {
            Content::Samples(samples) => (samples, None),
            Content::Compound(inner) => match (tree::samples(inner, ".vals"), tree::samples(inner, ".indices")) {
                (Some(values), Some(indices)) => (values, Some(indices)),
                _ => return Ok(None),
            },
        };
        // One text or one wide value named by many indices would be far larger than the file.
        let spreads_too_far = indices.is_some() && (samples.pod == Pod::Text || samples.extent > WIDEST);
        if matches!(samples.pod, Pod::F16 | Pod::WideText) || spreads_too_far {
            return Ok(None);
        }
        let extent = samples.extent;
        let mut values = read_values(container, samples, sample)?;
        if let Some(indices) = indices {
            let ReadValues::Whole(indices) = read_values(container, indices, sample)? else {
                return Err(self.damaged(format!("the indices of '{}' are no whole numbers", property.name)));
            };
            values = self.spread(&property.name, &values, &indices, extent)?;
        }
        if values.len() == 0 {
            return Ok(None);
        }
        let scope = tree::value(&property.metadata, "geoScope").and_then(Scope::from_word);
        let elements = values.len() / extent;
        let wanted = match scope {
            Some(Scope::Constant) => 1,
            Some(Scope::Uniform) => counts.len(),
            Some(Scope::Vertex | Scope::FaceVarying) => vertices,
            // Varying values of cubic curves are one per segment end, whose number programs count differently.
            Some(Scope::Varying) | None => elements,
        };
        if elements != wanted {
            let name = &property.name;
            return Err(self.damaged(format!("'{name}' has {elements} values, its scope asks for {wanted}")));
        }
        Ok(Some(ReadParameter { name: property.name.clone(), scope, extent, values }))
    }

    fn spread(
        &self,
        name: &str,
        values: &ReadValues,
        indices: &[i64],
        extent: usize,
    ) -> Result<ReadValues, AlembicError> {
        let elements = values.len() / extent;
        if let Some(index) = indices.iter().find(|&&i| usize::try_from(i).map_or(true, |i| i >= elements)) {
            return Err(self.damaged(format!("'{name}' names value {index} of {elements}")));
        }
        let flat = || indices.iter().flat_map(|&i| (0..extent).map(move |k| i as usize * extent + k));
        Ok(match values {
            ReadValues::Whole(values) => ReadValues::Whole(flat().map(|i| values[i]).collect()),
            ReadValues::Number(values) => ReadValues::Number(flat().map(|i| values[i]).collect()),
            ReadValues::Text(values) => ReadValues::Text(flat().map(|i| values[i].clone()).collect()),
        })
    }
}

fn read_values(container: &Container, samples: &Samples, sample: u32) -> Result<ReadValues, AlembicError> {
    let bytes = samples.read(container, sample)?;
    Ok(match samples.pod {
        Pod::Bool | Pod::U8 => whole(&bytes, |[x]: [u8; 1]| i64::from(x)),
        Pod::I8 => whole(&bytes, |x| i64::from(i8::from_le_bytes(x))),
        Pod::U16 => whole(&bytes, |x| i64::from(u16::from_le_bytes(x))),
        Pod::I16 => whole(&bytes, |x| i64::from(i16::from_le_bytes(x))),
        Pod::U32 => whole(&bytes, |x| i64::from(u32::from_le_bytes(x))),
        Pod::I32 => whole(&bytes, |x| i64::from(i32::from_le_bytes(x))),
        Pod::U64 => whole(&bytes, |x| i64::try_from(u64::from_le_bytes(x)).unwrap_or(i64::MAX)),
        Pod::I64 => whole(&bytes, i64::from_le_bytes),
        Pod::F32 => ReadValues::Number(bytes.as_chunks().0.iter().map(|&x| f32::from_le_bytes(x)).collect()),
        Pod::F64 => ReadValues::Number(bytes.as_chunks().0.iter().map(|&x| f64::from_le_bytes(x) as f32).collect()),
        Pod::Text => {
            if bytes.iter().filter(|&&byte| byte == 0).count() > MOST_TEXTS {
                return Err(container.damaged(format!("a property has more than {MOST_TEXTS} texts")));
            }
            let mut texts: Vec<String> =
                bytes.split(|&byte| byte == 0).map(|text| String::from_utf8_lossy(text).into_owned()).collect();
            // Each text ends with a zero, so what follows the last is none.
            texts.pop();
            if !texts.len().is_multiple_of(samples.extent) {
                return Err(container.damaged("a text property is no whole number of elements"));
            }
            ReadValues::Text(texts)
        }
        Pod::F16 | Pod::WideText => return Err(container.damaged("a property is of a type that has no use there")),
    })
}

fn whole<const N: usize>(bytes: &[u8], value: impl Fn([u8; N]) -> i64) -> ReadValues {
    ReadValues::Whole(bytes.as_chunks().0.iter().map(|&bytes| value(bytes)).collect())
}

/// What a transform does to what is below it, in its first sample.
pub fn transform(container: &Container, object: &Object, above: Matrix) -> Result<Matrix, AlembicError> {
    let schema = tree::compound(&object.properties, ".xform");
    let inherits = match tree::samples(schema, ".inherits") {
        Some(samples) => samples.read(container, 0)?.first() != Some(&0),
        None => true,
    };
    let operations = match tree::samples(schema, ".ops") {
        Some(samples) => samples.read(container, 0)?,
        None => Vec::new(),
    };
    let channels = match tree::samples(schema, ".vals") {
        Some(samples) if samples.pod == Pod::F64 => {
            samples.read(container, 0)?.as_chunks().0.iter().map(|&x| f64::from_le_bytes(x)).collect()
        }
        _ => Vec::new(),
    };
    let mut channels = channels.as_slice();
    let mut matrix = IDENTITY;
    for operation in operations {
        let kind = operation >> 4;
        let count = match kind {
            0 | 1 => 3,
            2 => 4,
            3 => 16,
            4..=6 => 1,
            _ => return Err(container.damaged(format!("'{}' has a transform of no known kind", object.name))),
        };
        let Some((taken, rest)) = channels.split_at_checked(count) else {
            return Err(container.damaged(format!("the transform of '{}' lacks numbers", object.name)));
        };
        channels = rest;
        // The first operation is the outermost.
        matrix = multiply(&operation_matrix(kind, taken), &matrix);
    }
    if matrix.as_flattened().iter().any(|x| !x.is_finite()) {
        return Err(container.damaged(format!("the transform of '{}' is not finite", object.name)));
    }
    Ok(if inherits { multiply(&matrix, &above) } else { matrix })
}

fn operation_matrix(kind: u8, channels: &[f64]) -> Matrix {
    let mut matrix = IDENTITY;
    match (kind, channels) {
        (0, &[x, y, z]) => (matrix[0][0], matrix[1][1], matrix[2][2]) = (x, y, z),
        (1, &[x, y, z]) => matrix[3] = [x, y, z, 1.0],
        (2, &[x, y, z, angle]) => matrix = rotation([x, y, z], angle),
        (3, values) => matrix.as_flattened_mut().copy_from_slice(values),
        (4, &[angle]) => matrix = rotation([1.0, 0.0, 0.0], angle),
        (5, &[angle]) => matrix = rotation([0.0, 1.0, 0.0], angle),
        (_, &[angle]) => matrix = rotation([0.0, 0.0, 1.0], angle),
        _ => {}
    }
    matrix
}

/// Turns about an axis by an angle [degrees].
fn rotation(axis: [f64; 3], degrees: f64) -> Matrix {
    let length = axis.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length == 0.0 {
        return IDENTITY;
    }
    let [x, y, z] = axis.map(|component| component / length);
    let (sin, cos) = degrees.to_radians().sin_cos();
    let rest = 1.0 - cos;
    // Rodrigues, transposed: vectors are rows.
    [
        [cos + x * x * rest, x * y * rest + z * sin, x * z * rest - y * sin, 0.0],
        [x * y * rest - z * sin, cos + y * y * rest, y * z * rest + x * sin, 0.0],
        [x * z * rest + y * sin, y * z * rest - x * sin, cos + z * z * rest, 0.0],
        [0.0, 0.0, 0.0, 1.0],
    ]
}

fn multiply(a: &Matrix, b: &Matrix) -> Matrix {
    let mut product = [[0.0; 4]; 4];
    for row in 0..4 {
        for column in 0..4 {
            product[row][column] = (0..4).map(|k| a[row][k] * b[k][column]).sum();
        }
    }
    product
}

fn transform_vector(matrix: &Matrix, vector: [f32; 3]) -> [f32; 3] {
    if *matrix == IDENTITY {
        return vector;
    }
    let mut out = [0.0; 3];
    for axis in 0..3 {
        out[axis] = (0..3).map(|k| f64::from(vector[k]) * matrix[k][axis]).sum::<f64>() as f32;
    }
    out
}

fn transform_point(matrix: &Matrix, point: [f32; 3]) -> [f32; 3] {
    if *matrix == IDENTITY {
        return point;
    }
    let mut out = [0.0; 3];
    for axis in 0..3 {
        let turned: f64 = (0..3).map(|k| f64::from(point[k]) * matrix[k][axis]).sum();
        out[axis] = (turned + matrix[3][axis]) as f32;
    }
    out
}
