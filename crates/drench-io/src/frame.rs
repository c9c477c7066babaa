//! What one frame of a run holds: everything that pictures, the viewer and exports may know of the world.

use glam::{DQuat, DVec3};
use std::collections::BTreeMap;

/// One frame: every body as it is at `time`, with its topology.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Frame number, 0 is the initial state.
    pub index: u32,
    /// Simulated time [s].
    pub time: f64,
    /// Hair, fur, rope: one entry per groom.
    pub strands: Vec<StrandBody>,
    /// Solids: one entry per solid of the scene.
    pub solids: Vec<SolidBody>,
    /// Liquids and heaps of grains: one entry each. Their numbers of particles change from frame to frame.
    pub particles: Vec<ParticleBody>,
}

/// Strands, flat: the vertices of strand `i` are `offsets[i]..offsets[i + 1]`.
///
/// Where a strand tears, the next frame has more strands and more vertices: each frame has its own topology.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StrandBody {
    /// Name of the groom.
    pub name: String,
    /// First vertex of each strand, and the vertex count at the end (n + 1 entries).
    pub offsets: Vec<u32>,
    /// Vertex positions in the world [m].
    pub positions: Vec<[f32; 3]>,
    /// Further values by name: `velocity` [m/s], `radius` [m], `id`, `root_uv`, `root_normal`, `wetness`, and of cords
    /// `tension` [N], `twist` [rad] and `normal`, the direction that turns with the material.
    pub attributes: BTreeMap<String, Attribute>,
    /// Further strands that only pictures and exports show, interpolated from these.
    pub children: Option<ChildStrands>,
}

/// Strands that are not simulated: each follows up to three guides and the skin under its own root.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChildStrands {
    /// Name of the solid that carries the roots.
    pub solid: String,
    /// Triangle of each root on that solid.
    pub triangles: Vec<u32>,
    /// Barycentric coordinates (u, v) of each root.
    pub barycentric: Vec<[f32; 2]>,
    /// Guide strands of each child.
    pub guides: Vec<[u32; 3]>,
    /// Weight of each guide; they sum to one.
    pub weights: Vec<[f32; 3]>,
    /// Length of each child over the blended length of its guides.
    pub length_ratio: Vec<f32>,
}

/// Particles: drops of a liquid or grains.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParticleBody {
    /// Name of the liquid or of the grains.
    pub name: String,
    /// What the particles are.
    pub kind: ParticleKind,
    /// Centres in the world [m].
    pub positions: Vec<[f32; 3]>,
    /// Further values by name, one per particle ([`Domain::Vertex`]): `velocity` [m/s], `radius` [m], `id` (stays with
    /// a particle as long as it lives), `age` [s], `wetness`, ...
    pub attributes: BTreeMap<String, Attribute>,
}

/// What particles are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ParticleKind {
    /// Drops that merge into one surface.
    #[default]
    Liquid,
    /// Balls that stay apart.
    Grains,
}

/// A solid's surface.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SolidBody {
    /// Name of the solid.
    pub name: String,
    /// Vertex positions in the world [m].
    pub positions: Vec<[f32; 3]>,
    /// Vertex indices of each triangle.
    pub triangles: Vec<[u32; 3]>,
    /// Vertex normals in the world, or empty.
    pub normals: Vec<[f32; 3]>,
    /// Where the solid is, if it moves without deforming: the cache then stores this instead of its vertices.
    pub pose: Option<RigidPose>,
}

/// Where a rigid solid is: `world = rotation * rest + position`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RigidPose {
    /// Where the solid's origin is [m].
    pub position: DVec3,
    /// How the solid is turned (unit quaternion).
    pub rotation: DQuat,
}

/// Values that belong to each element of a domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// What one value belongs to.
    pub domain: Domain,
    /// The values, in order of the domain's elements.
    pub values: Values,
}

/// What an attribute's values belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Domain {
    /// One value per vertex or particle.
    Vertex,
    /// One value per strand.
    Strand,
}

/// The values of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers.
    U32(Vec<u32>),
    /// Numbers.
    F32(Vec<f32>),
    /// Pairs, such as texture coordinates.
    F32x2(Vec<[f32; 2]>),
    /// Vectors.
    F32x3(Vec<[f32; 3]>),
}

impl Frame {
    /// Whether every array has the length that its body's topology asks for and every index is in range.
    ///
    /// Frames are checked when they are written and again when they are read, so whoever draws or exports one may
    /// index without asking. The message names the body and the array.
    pub fn check(&self) -> Result<(), String> {
        if !self.time.is_finite() {
            return Err(format!("the time of frame {} is {}", self.index, self.time));
        }
        for body in &self.strands {
            body.check().map_err(|reason| format!("strands '{}': {reason}", body.name))?;
        }
        for solid in &self.solids {
            solid.check().map_err(|reason| format!("solid '{}': {reason}", solid.name))?;
        }
        for body in &self.particles {
            body.check().map_err(|reason| format!("particles '{}': {reason}", body.name))?;
        }
        self.strands.iter().try_for_each(|body| self.check_children(body))
    }

    fn check_children(&self, body: &StrandBody) -> Result<(), String> {
        let Some(children) = &body.children else { return Ok(()) };
        let name = &body.name;
        let Some(solid) = self.solids.iter().find(|solid| solid.name == children.solid) else {
            return Err(format!("children of '{name}' stand on '{}', which is not a solid", children.solid));
        };
        let (strands, triangles) = (body.strand_count() as u32, solid.triangles.len() as u32);
        if children.triangles.iter().any(|&triangle| triangle >= triangles) {
            return Err(format!("a child of '{name}' stands on a triangle that '{}' does not have", solid.name));
        }
        if children.guides.iter().flatten().any(|&guide| guide >= strands) {
            return Err(format!("a child of '{name}' follows a strand that does not exist"));
        }
        Ok(())
    }
}

impl StrandBody {
    /// Number of strands.
    pub fn strand_count(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    fn check(&self) -> Result<(), String> {
        let (strands, vertices) = (self.strand_count(), self.positions.len());
        let starts_at_zero = self.offsets.first().is_none_or(|&first| first == 0);
        if !starts_at_zero || !self.offsets.is_sorted() || self.offsets.last().map_or(0, |&n| n as usize) != vertices {
            return Err(format!("offsets must rise from 0 to the number of vertices, {vertices}"));
        }
        for (name, attribute) in &self.attributes {
            let wanted = match attribute.domain {
                Domain::Vertex => vertices,
                Domain::Strand => strands,
            };
            expect_length(name, attribute.values.len(), wanted)?;
        }
        if let Some(children) = &self.children {
            let wanted = children.triangles.len();
            expect_length("children's barycentric", children.barycentric.len(), wanted)?;
            expect_length("children's guides", children.guides.len(), wanted)?;
            expect_length("children's weights", children.weights.len(), wanted)?;
            expect_length("children's length_ratio", children.length_ratio.len(), wanted)?;
        }
        Ok(())
    }
}

impl ParticleBody {
    /// The numbers of an attribute, if it has them.
    pub fn scalars(&self, name: &str) -> Option<&[f32]> {
        if let Some(Values::F32(values)) = self.attributes.get(name).map(|a| &a.values) { Some(values) } else { None }
    }

    /// The whole numbers of an attribute, if it has them.
    pub fn whole(&self, name: &str) -> Option<&[u32]> {
        if let Some(Values::U32(values)) = self.attributes.get(name).map(|a| &a.values) { Some(values) } else { None }
    }

    /// The vectors of an attribute, if it has them.
    pub fn vectors(&self, name: &str) -> Option<&[[f32; 3]]> {
        if let Some(Values::F32x3(values)) = self.attributes.get(name).map(|a| &a.values) { Some(values) } else { None }
    }

    fn check(&self) -> Result<(), String> {
        for (name, attribute) in &self.attributes {
            if attribute.domain != Domain::Vertex {
                return Err(format!("{name} belongs to strands, of which particles have none"));
            }
            expect_length(name, attribute.values.len(), self.positions.len())?;
        }
        Ok(())
    }
}

impl SolidBody {
    fn check(&self) -> Result<(), String> {
        let vertices = self.positions.len();
        if !self.normals.is_empty() {
            expect_length("normals", self.normals.len(), vertices)?;
        }
        match self.triangles.iter().flatten().find(|&&vertex| vertex as usize >= vertices) {
            Some(vertex) => Err(format!("a triangle names vertex {vertex} of {vertices}")),
            None => Ok(()),
        }
    }
}

impl RigidPose {
    /// Whether all numbers are finite.
    pub fn is_finite(&self) -> bool {
        self.position.is_finite() && self.rotation.is_finite()
    }
}

impl Values {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::U32(values) => values.len(),
            Self::F32(values) => values.len(),
            Self::F32x2(values) => values.len(),
            Self::F32x3(values) => values.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn expect_length(name: &str, got: usize, wanted: usize) -> Result<(), String> {
    if got == wanted { Ok(()) } else { Err(format!("{name} has {got} values, {wanted} are needed")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_strands() -> Frame {
        let body = StrandBody {
            name: "hair".into(),
            offsets: vec![0, 2, 5],
            positions: vec![[0.0; 3]; 5],
            ..StrandBody::default()
        };
        Frame { strands: vec![body], ..Frame::default() }
    }

    #[test]
    fn a_sound_frame_passes_and_an_empty_one_too() {
        assert_eq!(two_strands().check(), Ok(()));
        assert_eq!(Frame::default().check(), Ok(()));
        assert_eq!(Frame { strands: vec![StrandBody::default()], ..Frame::default() }.check(), Ok(()));
    }

    #[test]
    fn wrong_lengths_and_indices_are_named() {
        let broken = |change: fn(&mut Frame)| {
            let mut frame = two_strands();
            change(&mut frame);
            frame.check().unwrap_err()
        };
        assert!(broken(|frame| frame.time = f64::NAN).contains("NaN"));
        assert!(broken(|frame| frame.strands[0].offsets[1] = 9).contains("'hair'"));
        assert!(broken(|frame| frame.strands[0].offsets[0] = 1).contains("rise from 0"));
        assert!(
            broken(|frame| {
                let values = Values::F32(vec![0.0; 3]);
                frame.strands[0].attributes.insert("radius".into(), Attribute { domain: Domain::Strand, values });
            })
            .contains("radius has 3 values, 2 are needed")
        );
        assert!(
            broken(|frame| {
                let values = Values::F32(vec![0.0; 3]);
                let attributes = BTreeMap::from([("age".into(), Attribute { domain: Domain::Vertex, values })]);
                let positions = vec![[0.0; 3]; 2];
                frame.particles.push(ParticleBody { positions, attributes, ..ParticleBody::default() });
            })
            .contains("age has 3 values, 2 are needed")
        );
        assert!(
            broken(|frame| {
                let attribute = Attribute { domain: Domain::Strand, values: Values::F32(Vec::new()) };
                let attributes = BTreeMap::from([("age".into(), attribute)]);
                frame.particles.push(ParticleBody { attributes, ..ParticleBody::default() });
            })
            .contains("age belongs to strands")
        );
        assert!(
            broken(|frame| {
                frame.solids.push(SolidBody { triangles: vec![[0, 1, 2]], ..SolidBody::default() });
            })
            .contains("vertex 0 of 0")
        );
        assert!(
            broken(|frame| {
                frame.strands[0].children = Some(ChildStrands { solid: "head".into(), ..ChildStrands::default() });
            })
            .contains("'head', which is not a solid")
        );
    }
}
