//! What colours can show: values of strands and particles, by name.

use drench_io::{Attribute, Domain, Frame, ParticleBody, StrandBody, Values};
use glam::Vec3;
use serde::Serialize;
use std::collections::BTreeMap;

/// A kind of value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Channel {
    /// Name in requests.
    pub name: String,
    /// Name for people.
    pub label: String,
    /// SI unit, or empty.
    pub unit: &'static str,
    /// Lowest and highest value, where they are fixed.
    pub range: Option<[f32; 2]>,
}

/// The values that are known by name: name, name for people, unit, fixed range.
const KNOWN: &[(&str, &str, &str, Option<[f32; 2]>)] = &[
    ("wetness", "Wetness", "", Some([0.0, 1.0])),
    (WATER, "Kinds of water", "", Some([0.0, 1.0])),
    ("fibre_water", "Water in fibres", "", Some([0.0, 1.0])),
    ("film", "Film thickness", "m", None),
    ("speed", "Speed", "m/s", None),
    ("strain", "Strain", "", None),
    ("tension", "Tension", "N", None),
    ("twist", "Twist", "rad", None),
    ("age", "Age", "s", None),
    ("id", "Identity", "", None),
    ("radius", "Radius", "m", None),
];

/// Name of the pair of channels: water inside fibres and grains, film around fibres.
pub const WATER: &str = "water";

/// The channels that a frame has, in the order of [`KNOWN`], then others by name.
pub fn available(frame: &Frame) -> Vec<Channel> {
    let mut names: Vec<&str> = Vec::new();
    let attributes =
        (frame.strands.iter().map(|body| &body.attributes)).chain(frame.particles.iter().map(|body| &body.attributes));
    for (name, attribute) in attributes.flatten() {
        match (name.as_str(), &attribute.values) {
            ("velocity", Values::F32x3(_)) => names.push("speed"),
            (_, Values::F32(_) | Values::U32(_)) => names.push(name),
            _ => {}
        }
    }
    if names.contains(&"fibre_water") && names.contains(&"film") {
        names.push(WATER);
    }
    if !frame.strands.is_empty() {
        names.push("strain");
    }
    names.sort_unstable();
    names.dedup();
    let place = |name: &str| KNOWN.iter().position(|known| known.0 == name).unwrap_or(KNOWN.len());
    names.sort_by_key(|name| place(name));
    names.into_iter().map(describe).collect()
}

fn describe(name: &str) -> Channel {
    match KNOWN.iter().find(|known| known.0 == name) {
        Some(&(name, label, unit, range)) => Channel { name: name.into(), label: label.into(), unit, range },
        None => Channel { name: name.into(), label: name.replace('_', " "), unit: "", range: None },
    }
}

/// The values of a channel at the vertices of a groom; `first` is the groom in frame 0, where strain begins.
pub fn of_strands(body: &StrandBody, first: Option<&StrandBody>, channel: &str) -> Option<Vec<f32>> {
    if channel == "strain" {
        return strain(body, first?);
    }
    let attribute = attribute(&body.attributes, channel)?;
    let values = scalars(&attribute.values)?;
    match attribute.domain {
        Domain::Vertex => Some(values),
        Domain::Strand => {
            let spread = body.offsets.windows(2).zip(values);
            Some(spread.flat_map(|(ends, value)| (ends[0]..ends[1]).map(move |_| value)).collect())
        }
    }
}

/// The values of a channel of particles.
pub fn of_particles(body: &ParticleBody, channel: &str) -> Option<Vec<f32>> {
    scalars(&attribute(&body.attributes, channel)?.values)
}

fn attribute<'a>(attributes: &'a BTreeMap<String, Attribute>, channel: &str) -> Option<&'a Attribute> {
    attributes.get(if channel == "speed" { "velocity" } else { channel })
}

/// Numbers as they are, vectors as their lengths; whole numbers keep their last 24 bits, which a float holds exactly.
fn scalars(values: &Values) -> Option<Vec<f32>> {
    match values {
        Values::F32(values) => Some(values.clone()),
        Values::U32(values) => Some(values.iter().map(|value| (value & 0xff_ffff) as f32).collect()),
        Values::F32x3(values) => Some(values.iter().map(|&value| Vec3::from(value).length()).collect()),
        Values::F32x2(_) => None,
    }
}

/// Change of length since the first frame of the segments that meet at each vertex, the larger of the two. Nothing once
/// a strand is torn: its segments are then other ones.
fn strain(body: &StrandBody, first: &StrandBody) -> Option<Vec<f32>> {
    if body.offsets != first.offsets {
        return None;
    }
    let length = |positions: &[[f32; 3]], i: usize| Vec3::from(positions[i]).distance(Vec3::from(positions[i + 1]));
    let mut strain = vec![0.0_f32; body.positions.len()];
    for ends in body.offsets.windows(2) {
        for i in ends[0] as usize..(ends[1] as usize).saturating_sub(1) {
            let rest = length(&first.positions, i);
            let change = if rest > 0.0 { length(&body.positions, i) / rest - 1.0 } else { 0.0 };
            for vertex in [i, i + 1] {
                if change.abs() > strain[vertex].abs() {
                    strain[vertex] = change;
                }
            }
        }
    }
    Some(strain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(stretch: f32) -> StrandBody {
        let mut body = StrandBody { offsets: vec![0, 3, 5], ..StrandBody::default() };
        body.positions = [0.0, 1.0, 2.0, 0.0, stretch].map(|y| [0.0, y, 0.0]).to_vec();
        let velocity = Values::F32x3(vec![[3.0, 0.0, 4.0]; 5]);
        body.attributes.insert("velocity".into(), Attribute { domain: Domain::Vertex, values: velocity });
        body.attributes
            .insert("id".into(), Attribute { domain: Domain::Strand, values: Values::U32(vec![7, 1 << 24]) });
        body
    }

    #[test]
    fn values_are_spread_over_vertices() {
        assert_eq!(of_strands(&body(1.0), None, "speed"), Some(vec![5.0; 5]));
        assert_eq!(of_strands(&body(1.0), None, "id"), Some(vec![7.0, 7.0, 7.0, 0.0, 0.0]));
        assert_eq!(of_strands(&body(1.0), None, "no such"), None);
        let strain = of_strands(&body(1.5), Some(&body(1.0)), "strain").unwrap();
        assert_eq!(strain, [0.0, 0.0, 0.0, 0.5, 0.5]);
        let torn = StrandBody { offsets: vec![0, 2, 5], ..body(1.0) };
        assert_eq!(of_strands(&torn, Some(&body(1.0)), "strain"), None);
    }

    #[test]
    fn a_frame_tells_its_channels_in_order() {
        let frame = Frame { strands: vec![body(1.0)], ..Frame::default() };
        let names: Vec<_> = available(&frame).into_iter().map(|channel| channel.name).collect();
        assert_eq!(names, ["speed", "strain", "id"]);
        assert_eq!(available(&Frame::default()), []);
    }
}
