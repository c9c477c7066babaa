//! What is known of one strand, particle or voxel.

use crate::channels;
use crate::error::{Result, ViewError};
use crate::porous::Porous;
use drench_io::{Attribute, Domain, Frame, Values};
use glam::Vec3;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What was clicked on.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Pick {
    /// What kind of body.
    pub kind: Kind,
    /// Number of the body among those of its kind.
    pub body: usize,
    /// Number of the strand, particle or voxel; children follow the simulated strands.
    pub item: usize,
    /// Vertex of the strand, from its root.
    #[serde(default)]
    pub vertex: usize,
}

/// Kinds of bodies that can be picked.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Hair, fur, rope.
    Strands,
    /// Liquids and grains.
    Particles,
    /// The porous grid.
    Voxels,
}

/// The values of what was picked: `title`, `values` [{name, value, unit}], and for strands `along` {name: [values from
/// root to tip]}. `porous` is the porous grid, if a voxel was picked.
pub fn values(frame: &Frame, first: Option<&Frame>, porous: Option<&Porous>, pick: Pick) -> Result<Value> {
    match pick.kind {
        Kind::Strands => strand(frame, first, pick),
        Kind::Particles => particle(frame, pick),
        Kind::Voxels => voxel(porous.ok_or_else(|| gone("voxel"))?, pick),
    }
}

fn gone(what: &str) -> ViewError {
    ViewError::Request(format!("this frame has no such {what}"))
}

fn strand(frame: &Frame, first: Option<&Frame>, pick: Pick) -> Result<Value> {
    let body = frame.strands.get(pick.body).ok_or_else(|| gone("body"))?;
    let simulated = body.strand_count();
    let guide = match pick.item.checked_sub(simulated) {
        None => None,
        Some(child) => {
            let guides = body.children.as_ref().and_then(|children| children.guides.get(child));
            Some(guides.ok_or_else(|| gone("strand"))?[0] as usize)
        }
    };
    let strand = guide.unwrap_or(pick.item);
    let range = body.offsets[strand] as usize..body.offsets[strand + 1] as usize;
    if range.is_empty() {
        return Err(gone("strand"));
    }
    let vertex = range.start + pick.vertex.min(range.len() - 1);
    let points: Vec<Vec3> = body.positions[range.clone()].iter().map(|&p| Vec3::from(p)).collect();
    let length: f32 = points.windows(2).map(|ends| ends[0].distance(ends[1])).sum();
    let mut values = vec![entry("vertex", json!(format!("{} of {}", vertex - range.start, range.len())), "")];
    values.push(entry("position", json!(body.positions[vertex]), "m"));
    values.push(entry("length", json!(length), "m"));
    values.extend(attributes(&body.attributes, Some(strand), vertex));
    let mut along = Map::new();
    for channel in
        channels::available(frame).iter().filter(|channel| !["id", "radius"].contains(&channel.name.as_str()))
    {
        let of_first = first.and_then(|first| first.strands.get(pick.body));
        if let Some(all) = channels::of_strands(body, of_first, &channel.name) {
            if channel.name == "strain" {
                values.push(entry("strain", json!(all[vertex]), ""));
            }
            along.insert(channel.name.clone(), json!(all[range.clone()]));
        }
    }
    let title = match guide {
        None => format!("{}: strand {strand}", body.name),
        Some(guide) => format!("{}: interpolated strand, follows {guide}", body.name),
    };
    Ok(json!({ "title": title, "values": values, "along": along }))
}

fn particle(frame: &Frame, pick: Pick) -> Result<Value> {
    let body = frame.particles.get(pick.body).ok_or_else(|| gone("body"))?;
    let position = body.positions.get(pick.item).ok_or_else(|| gone("particle"))?;
    let mut values = vec![entry("position", json!(position), "m")];
    values.extend(attributes(&body.attributes, None, pick.item));
    Ok(json!({ "title": format!("{}: particle {}", body.name, pick.item), "values": values }))
}

fn voxel(porous: &Porous, pick: Pick) -> Result<Value> {
    let voxel = porous.voxels.get(pick.item).ok_or_else(|| gone("voxel"))?;
    let mut values = vec![entry("centre", json!(voxel.centre), "m"), entry("edge", json!(porous.edge), "m")];
    values.push(entry("saturation", json!(voxel.saturation), ""));
    values.extend(voxel.values.iter().map(|(name, value, unit)| entry(name, json!(value), unit)));
    Ok(json!({ "title": format!("porous grid: voxel {} of {}", pick.item, porous.voxels.len()), "values": values }))
}

fn entry(name: &str, value: Value, unit: &str) -> Value {
    json!({ "name": name, "value": value, "unit": unit })
}

fn attributes(attributes: &BTreeMap<String, Attribute>, strand: Option<usize>, vertex: usize) -> Vec<Value> {
    let mut values = Vec::new();
    for (name, attribute) in attributes {
        let index = match attribute.domain {
            Domain::Vertex => vertex,
            Domain::Strand => strand.unwrap_or(vertex),
        };
        let value = match &attribute.values {
            Values::U32(values) => json!(values[index]),
            Values::F32(values) => json!(values[index]),
            Values::F32x2(values) => json!(values[index]),
            Values::F32x3(values) => json!(values[index]),
        };
        values.push(entry(name, value, unit(name)));
        if let ("velocity", Values::F32x3(vectors)) = (name.as_str(), &attribute.values) {
            values.push(entry("speed", json!(Vec3::from(vectors[index]).length()), "m/s"));
        }
    }
    values
}

fn unit(name: &str) -> &'static str {
    match name {
        "velocity" => "m/s",
        "radius" | "film" => "m",
        "age" => "s",
        "tension" => "N",
        "twist" => "rad",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::porous::Voxel;
    use drench_io::{ParticleBody, StrandBody};

    #[test]
    fn values_of_strands_and_particles_are_told_and_nonsense_is_refused() {
        let positions = vec![[0.0; 3], [0.0, 1.0, 0.0], [0.0, 3.0, 0.0]];
        let mut hair = StrandBody { name: "hair".into(), offsets: vec![0, 1, 3], positions, ..StrandBody::default() };
        let wetness = Values::F32(vec![0.1, 0.2, 0.3]);
        hair.attributes.insert("wetness".into(), Attribute { domain: Domain::Vertex, values: wetness });
        let drops = ParticleBody { name: "liquid".into(), positions: vec![[1.0; 3]], ..ParticleBody::default() };
        let frame = Frame { strands: vec![hair], particles: vec![drops], ..Frame::default() };
        let voxel = Voxel { centre: [0.5; 3], saturation: 0.25, values: vec![("hair", 2.0, "m")] };
        let porous = Porous { edge: 1.0, voxels: vec![voxel] };
        let pick =
            |kind, body, item, vertex| values(&frame, Some(&frame), Some(&porous), Pick { kind, body, item, vertex });
        let voxel = pick(Kind::Voxels, 0, 0, 0).unwrap();
        assert_eq!((&voxel["values"][2]["value"], &voxel["values"][3]["unit"]), (&json!(0.25), &json!("m")));
        let strand = pick(Kind::Strands, 0, 1, 1).unwrap();
        assert_eq!(strand["title"], "hair: strand 1");
        assert_eq!(strand["along"]["wetness"].as_array().unwrap().len(), 2);
        let length = strand["values"].as_array().unwrap().iter().find(|value| value["name"] == "length").unwrap();
        assert_eq!(length["value"], 2.0);
        assert!(pick(Kind::Strands, 0, 1, 99).is_ok());
        assert!(pick(Kind::Particles, 0, 0, 0).is_ok());
        for (kind, body, item) in [
            (Kind::Strands, 1, 0),
            (Kind::Strands, 0, 2),
            (Kind::Particles, 0, 1),
            (Kind::Particles, 9, 0),
            (Kind::Voxels, 0, 1),
        ] {
            assert!(matches!(pick(kind, body, item, 0), Err(ViewError::Request(_))));
        }
    }
}
