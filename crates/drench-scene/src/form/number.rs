//! Numbers: quantities with units, whole numbers, switches.

use super::{Form, Kind, Reader};
use crate::tree::{Data, Node};
use crate::units::{self, Measure};
use serde_json::json;
use std::marker::PhantomData;

/// A limit of a range, and whether it belongs to the range.
#[derive(Clone, Copy)]
struct Limit {
    at: f64,
    included: bool,
}

/// A number with a unit, within a range.
#[derive(Clone, Copy)]
pub(crate) struct Quantity {
    measure: &'static Measure,
    low: Limit,
    high: Limit,
}

/// A quantity; without further limits its size may be up to 1e12.
pub(crate) fn quantity(measure: &'static Measure) -> Quantity {
    let limit = |at| Limit { at, included: true };
    Quantity { measure, low: limit(-1e12), high: limit(1e12) }
}

impl Quantity {
    pub fn above(mut self, at: f64) -> Self {
        self.low = Limit { at, included: false };
        self
    }

    pub fn at_least(mut self, at: f64) -> Self {
        self.low = Limit { at, included: true };
        self
    }

    pub fn below(mut self, at: f64) -> Self {
        self.high = Limit { at, included: false };
        self
    }

    pub fn at_most(mut self, at: f64) -> Self {
        self.high = Limit { at, included: true };
        self
    }

    /// From 0 to 1.
    pub fn fraction(self) -> Self {
        self.at_least(0.0).at_most(1.0)
    }

    fn contains(&self, value: f64) -> bool {
        let low = if self.low.included { value >= self.low.at } else { value > self.low.at };
        let high = if self.high.included { value <= self.high.at } else { value < self.high.at };
        low && high
    }

    fn range(&self) -> String {
        let show = |limit: Limit| units::show(limit.at, self.measure);
        let low = (self.low.at > -1e12).then(|| show(self.low));
        let high = (self.high.at < 1e12).then(|| show(self.high));
        match (low, high, self.low.included, self.high.included) {
            (None, None, ..) => String::new(),
            (Some(low), None, true, _) => format!("at least {low}"),
            (Some(low), None, false, _) => format!("above {low}"),
            (None, Some(high), _, true) => format!("at most {high}"),
            (None, Some(high), _, false) => format!("below {high}"),
            (Some(low), Some(high), true, true) => format!("{low} to {high}"),
            (Some(low), Some(high), true, false) => format!("{low} to below {high}"),
            (Some(low), Some(high), false, true) => format!("above {low}, to {high}"),
            (Some(low), Some(high), false, false) => format!("above {low}, below {high}"),
        }
    }
}

/// One number of `measure` in SI, from a number or a text with a unit.
pub(super) fn read_number(node: &Node, measure: &Measure, reader: &mut Reader) -> Option<f64> {
    let value = match &node.data {
        Data::Integer(value) => *value as f64,
        Data::Float(value) => *value,
        Data::Text(text) => match units::parse::<1>(&text.value, measure) {
            Ok([value]) => value,
            Err(error) => {
                reader.error(node.place_in_text(error.span), error.message, error.help);
                return None;
            }
        },
        _ => {
            let message = format!("expected {}, found {}", measure.with_article(), node.wording());
            reader.error(node.place, message, format!("write {}", measure.examples));
            return None;
        }
    };
    if !value.is_finite() {
        let message = format!("expected {}, found {value}", measure.with_article());
        reader.error(node.place, message, format!("write a finite number, such as {}", measure.examples));
        return None;
    }
    Some(value)
}

impl Form for Quantity {
    type Value = f64;

    fn read(&self, node: &Node, reader: &mut Reader) -> Option<f64> {
        let value = read_number(node, self.measure, reader)?;
        if self.contains(value) {
            return Some(value);
        }
        let range = if value.abs() > 1e12 { "at most 1e12 in size".into() } else { self.range() };
        reader.error(
            node.place,
            format!("{} is out of range", node.wording()),
            format!("{} here is {range}", self.measure.with_article()),
        );
        None
    }

    fn write(&self, value: &f64) -> Data {
        Data::Float(*value)
    }

    fn kind(&self) -> Kind {
        let mut number = json!({ "type": "number" });
        let limits = [(self.low, "minimum", "exclusiveMinimum"), (self.high, "maximum", "exclusiveMaximum")];
        for (limit, inclusive, exclusive) in limits {
            if limit.at.abs() < 1e12 {
                number[if limit.included { inclusive } else { exclusive }] = limit.at.into();
            }
        }
        let schema = json!({ "anyOf": [number, { "type": "string", "pattern": NUMBER_WITH_UNIT }] });
        Kind::Leaf { wording: wording(self.measure), range: self.range(), schema, words: Vec::new() }
    }

    fn show(&self, value: &f64) -> String {
        let shown = units::show(*value, self.measure);
        if shown.contains(' ') { format!("\"{shown}\"") } else { shown }
    }
}

const NUMBER_WITH_UNIT: &str = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*[^0-9]*";

/// "length [m]"
pub(super) fn wording(measure: &Measure) -> String {
    match measure.unit {
        "" => "number".into(),
        unit => format!("{} [{unit}]", measure.name),
    }
}

/// A whole number within a range.
pub(crate) struct Count<T> {
    low: u64,
    high: u64,
    number: PhantomData<T>,
}

/// A whole number from `low` to `high`.
pub(crate) fn count<T: Into<u64>>(low: T, high: T) -> Count<T> {
    Count { low: low.into(), high: high.into(), number: PhantomData }
}

impl<T: TryFrom<u64> + Into<u64> + Copy> Form for Count<T> {
    type Value = T;

    fn read(&self, node: &Node, reader: &mut Reader) -> Option<T> {
        let range = format!("a whole number from {} to {}", self.low, self.high);
        let value = match node.data {
            Data::Integer(value) => value,
            // 1e6 is how people write large counts.
            Data::Float(value) if value.fract() == 0.0 && value.abs() < 9e15 => value as i64,
            _ => {
                reader.error(node.place, format!("expected {range}, found {}", node.wording()), "");
                return None;
            }
        };
        let fits = u64::try_from(value).ok().filter(|value| (self.low..=self.high).contains(value));
        let value = fits.and_then(|value| T::try_from(value).ok());
        if value.is_none() {
            reader.error(node.place, format!("{} is out of range", node.wording()), format!("write {range}"));
        }
        value
    }

    fn write(&self, value: &T) -> Data {
        Data::Integer(i64::try_from((*value).into()).unwrap_or(i64::MAX))
    }

    fn kind(&self) -> Kind {
        let schema = json!({ "type": "integer", "minimum": self.low, "maximum": self.high });
        let range = format!("{} to {}", self.low, self.high);
        Kind::Leaf { wording: "whole number".into(), range, schema, words: Vec::new() }
    }
}

/// `true` or `false`.
pub(crate) struct Flag;

pub(crate) fn flag() -> Flag {
    Flag
}

impl Form for Flag {
    type Value = bool;

    fn read(&self, node: &Node, reader: &mut Reader) -> Option<bool> {
        if let Data::Flag(value) = node.data {
            return Some(value);
        }
        reader.error(node.place, format!("expected true or false, found {}", node.wording()), "");
        None
    }

    fn write(&self, value: &bool) -> Data {
        Data::Flag(*value)
    }

    fn kind(&self) -> Kind {
        let schema = json!({ "type": "boolean" });
        Kind::Leaf { wording: "true or false".into(), range: String::new(), schema, words: Vec::new() }
    }
}
