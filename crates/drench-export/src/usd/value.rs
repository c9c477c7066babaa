//! Values of USD attributes.

use std::borrow::Cow;

/// A value, borrowed where it is large.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// A word.
    Token(&'static str),
    /// Words.
    Tokens(Vec<&'static str>),
    /// A number.
    Float(f32),
    /// Two numbers.
    Float2([f32; 2]),
    /// A transform: rows of a matrix that points are multiplied to from the left.
    Matrix([[f64; 4]; 4]),
    /// Whole numbers.
    Ints(Cow<'a, [u32]>),
    /// Whole numbers of 64 bits.
    Longs(Vec<i64>),
    /// Numbers.
    Floats(Cow<'a, [f32]>),
    /// Pairs.
    Pairs(Cow<'a, [[f32; 2]]>),
    /// Vectors.
    Vectors(Cow<'a, [[f32; 3]]>),
}

impl Value<'_> {
    /// The numbers, little-endian, one after the other. Words are separated by zeros.
    pub fn bytes(&self) -> Vec<u8> {
        fn all<const N: usize>(values: impl ExactSizeIterator<Item = [u8; N]>) -> Vec<u8> {
            let mut bytes = Vec::with_capacity(N * values.len());
            values.for_each(|value| bytes.extend_from_slice(&value));
            bytes
        }
        match self {
            Self::Token(word) => word.as_bytes().to_vec(),
            Self::Tokens(words) => words.join("\0").into_bytes(),
            Self::Float(x) => x.to_le_bytes().to_vec(),
            Self::Float2(pair) => all(pair.iter().map(|x| x.to_le_bytes())),
            Self::Matrix(rows) => all(rows.as_flattened().iter().map(|x| x.to_le_bytes())),
            Self::Ints(values) => all(values.iter().map(|x| x.to_le_bytes())),
            Self::Longs(values) => all(values.iter().map(|x| x.to_le_bytes())),
            Self::Floats(values) => all(values.iter().map(|x| x.to_le_bytes())),
            Self::Pairs(values) => all(values.as_flattened().iter().map(|x| x.to_le_bytes())),
            Self::Vectors(values) => all(values.as_flattened().iter().map(|x| x.to_le_bytes())),
        }
    }

    /// The value with numbers of its own.
    pub fn to_static(&self) -> Value<'static> {
        fn own<T: Clone>(values: &[T]) -> Cow<'static, [T]> {
            Cow::Owned(values.to_vec())
        }
        match self {
            Self::Token(word) => Value::Token(word),
            Self::Tokens(words) => Value::Tokens(words.clone()),
            Self::Float(x) => Value::Float(*x),
            Self::Float2(pair) => Value::Float2(*pair),
            Self::Matrix(rows) => Value::Matrix(*rows),
            Self::Ints(values) => Value::Ints(own(values)),
            Self::Longs(values) => Value::Longs(values.clone()),
            Self::Floats(values) => Value::Floats(own(values)),
            Self::Pairs(values) => Value::Pairs(own(values)),
            Self::Vectors(values) => Value::Vectors(own(values)),
        }
    }

    /// Number of values of an array; nothing for a single one.
    pub fn length(&self) -> Option<usize> {
        match self {
            Self::Token(_) | Self::Float(_) | Self::Float2(_) | Self::Matrix(_) => None,
            Self::Tokens(words) => Some(words.len()),
            Self::Ints(values) => Some(values.len()),
            Self::Longs(values) => Some(values.len()),
            Self::Floats(values) => Some(values.len()),
            Self::Pairs(values) => Some(values.len()),
            Self::Vectors(values) => Some(values.len()),
        }
    }
}
