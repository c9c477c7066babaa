//! Arrays of a frame as chunks of a file: written unless the model has the same, read from where they are.

use crate::cache::{SHOWN, precision_of};
use crate::error::{IoError, Result};
use crate::format::{Element, MOST_ELEMENTS, Precision, Reader, Writer};
use crate::frame::{Attribute, Domain, Values};
use serde::{Deserialize, Serialize};

/// Longest name of an attribute [bytes].
const LONGEST_NAME: usize = 255;

/// An attribute without its values.
#[derive(Serialize, Deserialize)]
pub(crate) struct Description {
    domain: Domain,
    kind: ValueKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ValueKind {
    U32,
    F32,
    F32x2,
    F32x3,
}

/// Puts the arrays of one frame into a file.
pub(crate) struct Arrays<'a> {
    pub(crate) writer: &'a mut Writer,
    /// Number of the frame, for messages.
    pub(crate) frame: u32,
}

impl Arrays<'_> {
    /// Writes an array bit by bit, unless it is the same as the model's.
    pub(crate) fn exact<T: Element>(&mut self, place: &str, values: &[T], kept: Option<&Vec<T>>) -> Result<()> {
        self.check_count(place, values.len())?;
        if !kept.is_some_and(|kept| same(kept, values)) {
            self.writer.exact(place, values);
        }
        Ok(())
    }

    /// Writes vectors rounded.
    pub(crate) fn rounded(
        &mut self,
        place: &str,
        values: &[[f32; 3]],
        precision: Precision,
        offsets: &[u32],
    ) -> Result<()> {
        self.check_count(place, values.len())?;
        self.writer.rounded(place, values, precision, offsets);
        Ok(())
    }

    /// Writes an attribute's values, unless they are the same as the model's, and says what they are.
    pub(crate) fn attribute(
        &mut self,
        place: &str,
        name: &str,
        attribute: &Attribute,
        kept: Option<&Attribute>,
        offsets: &[u32],
    ) -> Result<Description> {
        if name.len() > LONGEST_NAME {
            let reason =
                format!("the name of an attribute has {} bytes, at most {LONGEST_NAME} are allowed", name.len());
            return Err(IoError::Unstorable { frame: self.frame, reason });
        }
        let precision = precision_of(name, attribute);
        let offsets = if attribute.domain == Domain::Vertex { offsets } else { &[] };
        let kept = kept.map(|kept| &kept.values);
        let kind = match (&attribute.values, kept) {
            (Values::F32x3(values), _) if let Some(precision) = precision => {
                self.rounded(place, values, precision, offsets)?;
                ValueKind::F32x3
            }
            (Values::U32(values), kept) => {
                self.exact(place, values, u32s(kept))?;
                ValueKind::U32
            }
            (Values::F32(values), kept) => {
                let shown = SHOWN.contains(&name).then(|| values.iter().map(|&x| shorten(x)).collect::<Vec<_>>());
                self.exact(place, shown.as_ref().unwrap_or(values), f32s(kept))?;
                ValueKind::F32
            }
            (Values::F32x2(values), kept) => {
                self.exact(place, values, pairs(kept))?;
                ValueKind::F32x2
            }
            (Values::F32x3(values), kept) => {
                self.exact(place, values, vectors(kept))?;
                ValueKind::F32x3
            }
        };
        Ok(Description { domain: attribute.domain, kind })
    }

    fn check_count(&self, place: &str, count: usize) -> Result<()> {
        if count as u64 <= MOST_ELEMENTS {
            return Ok(());
        }
        let reason = format!("{place} has {count} elements, the format holds at most {MOST_ELEMENTS}");
        Err(IoError::Unstorable { frame: self.frame, reason })
    }
}

/// A number rounded to 14 significant bits, so that half of its bits are zero and cost nothing. Infinity and NaN stay.
fn shorten(x: f32) -> f32 {
    const DROPPED: u32 = 10;
    let rounded = f32::from_bits(x.to_bits().wrapping_add(1 << (DROPPED - 1)) & !((1 << DROPPED) - 1));
    if rounded.is_finite() { rounded } else { x }
}

/// Whether two arrays have the same bits.
pub(crate) fn same<T: Element>(a: &[T], b: &[T]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (0..T::LANES).all(|lane| a.lane(lane) == b.lane(lane)))
}

/// Reads an array from the file, or takes the model's if the file has none.
pub(crate) fn exact<T: Element>(reader: &Reader, place: &str, kept: Option<&Vec<T>>) -> Result<Vec<T>> {
    match kept.filter(|_| !reader.has(place)) {
        Some(kept) => Ok(kept.clone()),
        None => reader.exact(place),
    }
}

/// Reads an attribute from the file, or takes the model's if the file has none.
pub(crate) fn attribute(
    reader: &Reader,
    place: &str,
    description: &Description,
    kept: Option<&Attribute>,
    offsets: &[u32],
) -> Result<Attribute> {
    let kept = kept.map(|kept| &kept.values);
    let offsets = if description.domain == Domain::Vertex { offsets } else { &[] };
    let values = match description.kind {
        ValueKind::U32 => Values::U32(exact(reader, place, u32s(kept))?),
        ValueKind::F32 => Values::F32(exact(reader, place, f32s(kept))?),
        ValueKind::F32x2 => Values::F32x2(exact(reader, place, pairs(kept))?),
        ValueKind::F32x3 if reader.has(place) => Values::F32x3(reader.rounded(place, offsets)?),
        ValueKind::F32x3 => Values::F32x3(exact(reader, place, vectors(kept))?),
    };
    Ok(Attribute { domain: description.domain, values })
}

fn u32s(values: Option<&Values>) -> Option<&Vec<u32>> {
    if let Some(Values::U32(values)) = values { Some(values) } else { None }
}

fn f32s(values: Option<&Values>) -> Option<&Vec<f32>> {
    if let Some(Values::F32(values)) = values { Some(values) } else { None }
}

fn pairs(values: Option<&Values>) -> Option<&Vec<[f32; 2]>> {
    if let Some(Values::F32x2(values)) = values { Some(values) } else { None }
}

fn vectors(values: Option<&Values>) -> Option<&Vec<[f32; 3]>> {
    if let Some(Values::F32x3(values)) = values { Some(values) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_numbers_err_by_one_part_in_16384_and_stay_when_shortened_again() {
        for x in [0.0, -0.0, 1.0, 0.1, -17.3, 1e-30, 1e30, f32::MAX, f32::MIN_POSITIVE, f32::INFINITY] {
            let short = shorten(x);
            assert!(short == x || (short - x).abs() <= x.abs() / 16_384.0, "{x} {short}");
            assert_eq!(shorten(short).to_bits(), short.to_bits());
        }
        assert!(shorten(f32::NAN).is_nan());
    }
}
