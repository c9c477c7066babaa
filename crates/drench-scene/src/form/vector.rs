//! Vectors, rotations and colours.

use super::number::{read_number, wording};
use super::{Form, Kind, Reader};
use crate::tree::{Data, Node};
use crate::units::{self, ANGLE, Measure, RATIO};
use glam::{DQuat, DVec3, EulerRot};
use serde_json::{Value as Json, json};

/// Three components that share a measure.
#[derive(Clone, Copy)]
pub(crate) struct Vector {
    measure: &'static Measure,
    nonzero: bool,
    positive: bool,
}

/// A vector, each component up to 1e9 in size.
pub(crate) fn vector(measure: &'static Measure) -> Vector {
    Vector { measure, nonzero: false, positive: false }
}

const LARGEST: f64 = 1e9;

impl Vector {
    /// Not all components zero: it has a direction.
    pub fn nonzero(mut self) -> Self {
        self.nonzero = true;
        self
    }

    /// Every component above zero: it is a size.
    pub fn positive(mut self) -> Self {
        self.positive = true;
        self
    }
}

/// N numbers from a list, or from one text with one unit.
fn read_components<const N: usize>(
    node: &Node,
    measure: &Measure,
    example: &str,
    reader: &mut Reader,
) -> Option<[f64; N]> {
    match &node.data {
        Data::List(items) if items.len() == N => {
            let values: Vec<_> = items.iter().map(|item| read_number(item, measure, reader)).collect();
            values.into_iter().collect::<Option<Vec<_>>>()?.try_into().ok()
        }
        Data::Text(text) => match units::parse::<N>(&text.value, measure) {
            Ok(values) => Some(values),
            Err(error) => {
                reader.error(node.place_in_text(error.span), error.message, format!("write {example}"));
                None
            }
        },
        _ => {
            reader.error(
                node.place,
                format!("expected {N} numbers, found {}", node.wording()),
                format!("write {example}"),
            );
            None
        }
    }
}

fn component_schema(count: usize) -> Json {
    json!({ "type": "array", "items": { "type": ["number", "string"] }, "minItems": count, "maxItems": count })
}

fn list(values: &[f64]) -> Data {
    Data::list(values.iter().map(|value| Data::Float(*value)))
}

fn show_list(values: &[f64]) -> String {
    let shown: Vec<_> = values.iter().map(|value| format!("{}", (value * 1e4).round() / 1e4)).collect();
    format!("[{}]", shown.join(", "))
}

impl Form for Vector {
    type Value = DVec3;

    fn read(&self, node: &Node, reader: &mut Reader) -> Option<DVec3> {
        let example = match self.measure.unit {
            "" => "[0, 1, 0]".into(),
            unit => format!("[0, 1, 0] or \"0 1 0 {unit}\""),
        };
        let value = DVec3::from_array(read_components::<3>(node, self.measure, &example, reader)?);
        let problem = if value.abs().max_element() > LARGEST {
            format!("no component may be larger than {LARGEST:e}")
        } else if self.nonzero && value.length() < 1e-12 {
            "it must not be zero, since it gives a direction".into()
        } else if self.positive && value.min_element() <= 0.0 {
            "every component must be above 0".into()
        } else {
            return Some(value);
        };
        reader.error(node.place, "the vector is out of range", problem);
        None
    }

    fn write(&self, value: &DVec3) -> Data {
        list(&value.to_array())
    }

    fn kind(&self) -> Kind {
        let schema = json!({ "anyOf": [component_schema(3), { "type": "string" }] });
        let wording = match self.measure.unit {
            "" => "vector".into(),
            _ => format!("vector: {}", wording(self.measure)),
        };
        let range = match (self.nonzero, self.positive) {
            (true, _) => "not zero",
            (_, true) => "each above 0",
            _ => "",
        };
        Kind::Leaf { wording, range: range.into(), schema, words: Vec::new() }
    }

    fn show(&self, value: &DVec3) -> String {
        show_list(&value.to_array())
    }
}

/// A list of points.
pub(crate) struct Points {
    point: Vector,
    most: usize,
}

pub(crate) fn points(measure: &'static Measure, most: usize) -> Points {
    Points { point: vector(measure), most }
}

impl Form for Points {
    type Value = Vec<DVec3>;

    fn read(&self, node: &Node, reader: &mut Reader) -> Option<Vec<DVec3>> {
        let Data::List(items) = &node.data else {
            let message = format!("expected a list of points, found {}", node.wording());
            reader.error(node.place, message, "write [[0, 0, 0], [0, \"10 cm\", 0]]");
            return None;
        };
        if items.len() > self.most {
            let message = format!("{} points are too many", items.len());
            reader.error(node.place, message, format!("at most {} are allowed", self.most));
            return None;
        }
        // Every wrong point is reported.
        let points: Vec<_> = items.iter().map(|item| self.point.read(item, reader)).collect();
        points.into_iter().collect()
    }

    fn write(&self, value: &Vec<DVec3>) -> Data {
        Data::list(value.iter().map(|point| self.point.write(point)))
    }

    fn kind(&self) -> Kind {
        let schema = json!({ "type": "array", "items": { "type": ["array", "string"] }, "maxItems": self.most });
        let wording = format!("list of points: {}", wording(self.point.measure));
        Kind::Leaf { wording, range: format!("at most {}", self.most), schema, words: Vec::new() }
    }
}

/// A rotation: three Euler angles, or a quaternion of four numbers.
pub(crate) struct Rotation;

pub(crate) fn rotation() -> Rotation {
    Rotation
}

/// The rotation that turns by `angles` about x, y, z: first about z (tilt), then x (nod), then y (turn).
pub(crate) fn from_euler(angles: DVec3) -> DQuat {
    DQuat::from_euler(EulerRot::YXZ, angles.y, angles.x, angles.z)
}

impl Form for Rotation {
    type Value = DQuat;

    fn read(&self, node: &Node, reader: &mut Reader) -> Option<DQuat> {
        const EXAMPLE: &str = "\"0 90 0 deg\" (about x, y, z) or a quaternion [x, y, z, w]";
        if node.items().len() == 4 {
            let value = DQuat::from_array(read_components::<4>(node, RATIO, EXAMPLE, reader)?);
            let length = value.length();
            if !(1e-6..=1e6).contains(&length) {
                reader.error(node.place, "the quaternion has no direction", format!("write {EXAMPLE}"));
                return None;
            }
            // A unit quaternion keeps its bits: a written scene reads back to the same values.
            return Some(if (length - 1.0).abs() < 1e-12 { value } else { value / length });
        }
        let angles = DVec3::from_array(read_components::<3>(node, ANGLE, EXAMPLE, reader)?);
        if angles.abs().max_element() > LARGEST {
            reader.error(
                node.place,
                "the rotation is out of range",
                format!("no angle may be larger than {LARGEST:e}"),
            );
            return None;
        }
        Some(from_euler(angles))
    }

    fn write(&self, value: &DQuat) -> Data {
        list(&value.to_array())
    }

    fn kind(&self) -> Kind {
        let schema = json!({ "anyOf": [component_schema(3), component_schema(4), { "type": "string" }] });
        Kind::Leaf { wording: "rotation".into(), range: String::new(), schema, words: Vec::new() }
    }

    fn show(&self, value: &DQuat) -> String {
        let (y, x, z) = value.to_euler(EulerRot::YXZ);
        let degrees = [x, y, z].map(|angle| format!("{}", (angle.to_degrees() * 1e4).round() / 1e4 + 0.0));
        format!("\"{} deg\"", degrees.join(" "))
    }
}

/// A colour: linear components, or sRGB as "#rrggbb".
pub(crate) struct Colour;

pub(crate) fn colour() -> Colour {
    Colour
}

/// One sRGB component, 0 to 1, as linear light (IEC 61966-2-1).
pub(crate) fn srgb_to_linear(value: f64) -> f64 {
    if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
}

impl Form for Colour {
    type Value = [f64; 3];

    fn read(&self, node: &Node, reader: &mut Reader) -> Option<[f64; 3]> {
        const EXAMPLE: &str = "\"#c08040\" (sRGB) or [0.5, 0.2, 0.05] (linear, 0 to 1)";
        if let Some(text) = node.as_text().filter(|text| text.trim_start().starts_with('#')) {
            let digits = text.trim().trim_start_matches('#');
            let number = u32::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 6);
            let Some(number) = number.filter(|_| digits.bytes().all(|byte| byte.is_ascii_hexdigit())) else {
                reader.error(node.place, format!("{} is not a colour", node.wording()), format!("write {EXAMPLE}"));
                return None;
            };
            return Some([16, 8, 0].map(|shift| srgb_to_linear(f64::from(number >> shift & 0xff) / 255.0)));
        }
        let value = read_components::<3>(node, RATIO, EXAMPLE, reader)?;
        if value.iter().all(|component| (0.0..=1.0).contains(component)) {
            return Some(value);
        }
        reader.error(node.place, "a colour's components lie between 0 and 1", format!("write {EXAMPLE}"));
        None
    }

    fn write(&self, value: &[f64; 3]) -> Data {
        list(value)
    }

    fn kind(&self) -> Kind {
        let text = json!({ "type": "string", "pattern": "^#[0-9a-fA-F]{6}$" });
        let schema = json!({ "anyOf": [component_schema(3), text] });
        Kind::Leaf { wording: "colour".into(), range: String::new(), schema, words: Vec::new() }
    }

    fn show(&self, value: &[f64; 3]) -> String {
        show_list(value)
    }
}
