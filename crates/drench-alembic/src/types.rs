//! Words that writer and reader share.

/// The top bit of a position tells data from groups.
pub(crate) const DATA: u64 = 1 << 63;
/// Data without bytes: named, never stored.
pub(crate) const EMPTY_DATA: u64 = DATA;
/// A group without children: named, never stored.
pub(crate) const EMPTY_GROUP: u64 = 0;

/// When samples are: sample `i` is at `start + i * step`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeSampling {
    /// Time of the first sample [s].
    pub start: f64,
    /// Time from sample to sample [s], above zero.
    pub step: f64,
}

/// What one value of a parameter belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The whole object: one value.
    Constant,
    /// One curve or one face.
    Uniform,
    /// One vertex, interpolated like positions.
    Vertex,
    /// One vertex, interpolated linearly.
    Varying,
    /// One corner of one face.
    FaceVarying,
}

impl Scope {
    /// The word in metadata.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Constant => "con",
            Self::Uniform => "uni",
            Self::Vertex => "vtx",
            Self::Varying => "var",
            Self::FaceVarying => "fvr",
        }
    }

    /// The scope of a word in metadata.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        [Self::Constant, Self::Uniform, Self::Vertex, Self::Varying, Self::FaceVarying]
            .into_iter()
            .find(|scope| scope.word() == word)
    }
}

/// How a curve runs through or past its vertices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Basis {
    /// Straight from vertex to vertex.
    #[default]
    Linear,
    /// Cubic, Bezier.
    Bezier,
    /// Cubic B-spline.
    BSpline,
    /// Cubic through every vertex but the first and the last.
    CatmullRom,
}

impl Basis {
    /// Type, wrap, basis and basis again, as `curveBasisAndType` stores them.
    pub(crate) fn bytes(self) -> [u8; 4] {
        let (kind, basis) = match self {
            Self::Linear => (1, 0),
            Self::Bezier => (0, 1),
            Self::BSpline => (0, 2),
            Self::CatmullRom => (0, 3),
        };
        [kind, 0, basis, basis]
    }
}

/// Type of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pod {
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    F32,
    F64,
    Text,
    WideText,
}

impl Pod {
    const ALL: [Self; 14] = [
        Self::Bool,
        Self::U8,
        Self::I8,
        Self::U16,
        Self::I16,
        Self::U32,
        Self::I32,
        Self::U64,
        Self::I64,
        Self::F16,
        Self::F32,
        Self::F64,
        Self::Text,
        Self::WideText,
    ];

    pub(crate) fn from_code(code: u32) -> Option<Self> {
        Self::ALL.get(code as usize).copied()
    }

    pub(crate) fn code(self) -> u32 {
        Self::ALL.iter().position(|&pod| pod == self).map_or(0, |index| index as u32)
    }

    /// Size of one number [bytes]; text has none.
    pub(crate) fn size(self) -> Option<usize> {
        match self {
            Self::Bool | Self::U8 | Self::I8 => Some(1),
            Self::U16 | Self::I16 | Self::F16 => Some(2),
            Self::U32 | Self::I32 | Self::F32 => Some(4),
            Self::U64 | Self::I64 | Self::F64 => Some(8),
            Self::Text | Self::WideText => None,
        }
    }

    /// The word in metadata.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Bool => "bool_t",
            Self::U8 => "uint8_t",
            Self::I8 => "int8_t",
            Self::U16 => "uint16_t",
            Self::I16 => "int16_t",
            Self::U32 => "uint32_t",
            Self::I32 => "int32_t",
            Self::U64 => "uint64_t",
            Self::I64 => "int64_t",
            Self::F16 => "float16_t",
            Self::F32 => "float32_t",
            Self::F64 => "float64_t",
            Self::Text => "string",
            Self::WideText => "wstring",
        }
    }
}
