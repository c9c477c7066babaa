//! The immutable part of a body of cords: topology, rest shape, masses, stiffness, strength.
//!
//! Segments are numbered through the whole body and keep their number for ever; segment s of cord c lies between the
//! model's vertices s + c and s + c + 1.
//!
//! | symbol | field |
//! |---|---|
//! | e0_s, segment at rest, and L0_s, its length | `rest`, `lengths` |
//! | r_s, mean of both vertices; A_s = pi r^2 | `radii`, `areas` |
//! | rho A L0 | `masses` |
//! | twist-free frame at rest | `references` |
//! | random factors of slopes and of stresses | `stiffness`, `strength` |

use super::curve::Curve;
use super::frame;
use crate::error::{PhysicsError, check};
use crate::strands::csm::REFERENCE_STEP;
use crate::strands::{RestShape, check_topology};
use drench_math::random::Stream;
use glam::{DMat3, DQuat, DVec3};
use std::f64::consts::PI;

/// Sine of the angle at a joint up to which a cord is straight at rest.
const STRAIGHT: f64 = 1e-6;

/// How a cord resists bending.
#[derive(Clone, Debug, PartialEq)]
pub enum Bending {
    /// Limp.
    None,
    /// Chain shape matching with this half-width everywhere; its stiffness depends on the segment length, see `bend`.
    HalfWidth(f64),
    /// Chain shape matching with a half-width for each vertex.
    HalfWidths(Vec<f64>),
    /// Young's modulus of bending [Pa]: an elastic rod where the cord is straight at rest; elsewhere the half-width that has this stiffness in a step.
    Modulus(f64),
}

/// How a cord resists twist.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Torsion {
    /// Shear stress at the surface, 2 M / (pi r^3), over shear strain at the surface, r dtheta/ds.
    pub curve: Curve,
    /// Rate at which spin about the axis dies away [1/s].
    pub damping: f64,
    /// Inner friction: the torque answers to the twist so much later [s].
    pub lag: f64,
    /// Half-width of the regions over which the turn of a step is averaged; 0 for none.
    pub half_width: f64,
}

impl Torsion {
    /// Elastic torsion with little damping.
    pub fn elastic(shear_modulus: f64) -> Self {
        Self { curve: Curve::elastic(shear_modulus), damping: 1.0, lag: 0.0, half_width: 0.0 }
    }
}

/// A joint between two segments, as twist sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joint {
    /// Shear strain of the surface over twist: radius over length [1/rad].
    pub strain: f64,
    /// Torque over surface stress [m3].
    pub section: f64,
    /// Second moment of area over length, both between the middles of its segments [m3].
    pub bending: f64,
}

impl Joint {
    /// Between segments of a mean radius and length, with so many times the torsional rigidity of the rest.
    fn new(radius: f64, length: f64, rigidity: f64) -> Self {
        Self {
            strain: radius / length,
            section: 0.5 * PI * radius.powi(3) * rigidity,
            bending: 0.25 * PI * radius.powi(4) / length,
        }
    }
}

/// What cords are made of, and how they answer.
#[derive(Clone, Debug, PartialEq)]
pub struct CordMaterial {
    /// Density [kg/m3].
    pub density: f64,
    /// Damping of velocity [1/s].
    pub damping: f64,
    /// Resistance to bending.
    pub bending: Bending,
    /// Time in which vertices go all the way to the goals of their regions [s].
    pub goal_time: f64,
    /// Tensile stress over strain.
    pub tension: Curve,
    /// Resistance to twist, if any.
    pub torsion: Option<Torsion>,
    /// At each vertex, by how much torques differ from those of `torsion`; none: by nothing.
    pub torsion_profile: Option<Vec<f64>>,
    /// Random variation of slopes and strengths from segment to segment, relative.
    pub variation: f64,
    /// Whether the energy of a load that is let go suddenly flings the cord back.
    pub flick: bool,
    /// Distance kept from solids beyond the cord's own radius [m].
    pub margin: f64,
}

impl Default for CordMaterial {
    /// A soft laid rope of nylon.
    fn default() -> Self {
        Self {
            density: 1100.0,
            damping: 0.0,
            bending: Bending::HalfWidth(2.0),
            goal_time: REFERENCE_STEP,
            tension: Curve::elastic(1e9),
            torsion: Some(Torsion::elastic(5e7)),
            torsion_profile: None,
            variation: 1e-4,
            flick: true,
            margin: 0.0,
        }
    }
}

/// Immutable model of a body of cords.
#[derive(Clone, Debug)]
pub struct CordModel {
    pub(crate) offsets: Vec<u32>,
    /// Rest positions of the model's vertices.
    pub(crate) positions: Vec<DVec3>,
    pub(crate) rest: Vec<DVec3>,
    pub(crate) lengths: Vec<f64>,
    pub(crate) radii: Vec<f64>,
    pub(crate) areas: Vec<f64>,
    pub(crate) masses: Vec<f64>,
    pub(crate) references: Vec<DVec3>,
    /// The joint before each segment; any before the first one of a cord.
    pub(crate) joints: Vec<Joint>,
    pub(crate) stiffness: Vec<f64>,
    pub(crate) strength: Vec<f64>,
    pub(crate) longest: usize,
    /// Whether all cords are straight at rest.
    pub(crate) straight: bool,
    pub(crate) material: CordMaterial,
}

impl CordModel {
    /// Young's modulus of bending, if the cords are elastic rods [Pa].
    #[inline]
    pub(crate) fn rod(&self) -> Option<f64> {
        match self.material.bending {
            Bending::Modulus(modulus) if self.straight => Some(modulus),
            _ => None,
        }
    }

    /// Builds the model of cords; the seed chooses the variation of strength.
    pub fn new(rest: RestShape, material: CordMaterial, seed: u64) -> Result<Self, PhysicsError> {
        check_material(&material, rest.positions.len())?;
        check_topology(&rest)?;
        rest.radii.iter().try_for_each(|&radius| check("radius", f64::from(radius), "positive", |r| r > 0.0))?;
        let segments = rest.positions.len() + 1 - rest.offsets.len();
        let variation = |name| {
            let stream = Stream::new(seed, name);
            (0..segments as u64).map(|s| 1.0 + material.variation * stream.range(s, -1.0, 1.0)).collect()
        };
        let mut model = Self {
            offsets: rest.offsets.to_vec(),
            positions: rest.positions.to_vec(),
            rest: Vec::with_capacity(segments),
            lengths: Vec::with_capacity(segments),
            radii: Vec::with_capacity(segments),
            areas: Vec::with_capacity(segments),
            masses: Vec::with_capacity(segments),
            references: Vec::with_capacity(segments),
            joints: Vec::with_capacity(segments),
            stiffness: variation("cord stiffness"),
            strength: variation("cord strength"),
            longest: 0,
            straight: true,
            material,
        };
        for cord in 0..model.cord_count() {
            model.build_cord(cord, &rest)?;
        }
        Ok(model)
    }

    fn build_cord(&mut self, cord: usize, shape: &RestShape) -> Result<(), PhysicsError> {
        let (from, to) = (shape.offsets[cord] as usize, shape.offsets[cord + 1] as usize);
        self.longest = self.longest.max(to - from);
        let mut last: Option<(DVec3, DVec3)> = None;
        for i in from..to - 1 {
            let segment = shape.positions[i + 1] - shape.positions[i];
            let length = segment.length();
            if !(length.is_finite() && length > 1e-9) {
                return Err(PhysicsError::Segment { strand: cord, segment: i - from, length });
            }
            let tangent = segment / length;
            let reference = match last {
                None => tangent.any_orthonormal_vector(),
                Some((before, reference)) => frame::transport(reference, before, tangent),
            };
            self.straight &=
                last.is_none_or(|(before, _)| before.cross(tangent).length() < STRAIGHT && before.dot(tangent) > 0.0);
            last = Some((tangent, reference));
            let radius = 0.5 * f64::from(shape.radii[i] + shape.radii[i + 1]);
            let area = PI * radius * radius;
            self.rest.push(segment);
            self.lengths.push(length);
            self.radii.push(radius);
            self.areas.push(area);
            self.masses.push(self.material.density * area * length);
            self.references.push(reference);
            let before = self.lengths.len().max(2) - 2;
            let mean = |values: &[f64]| 0.5 * (values[before] + values[values.len() - 1]);
            let rigidity = self.material.torsion_profile.as_ref().map_or(1.0, |profile| profile[i]);
            self.joints.push(Joint::new(mean(&self.radii), mean(&self.lengths), rigidity));
        }
        Ok(())
    }

    /// Number of cords.
    pub fn cord_count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of segments.
    pub fn segment_count(&self) -> usize {
        self.positions.len() - self.cord_count()
    }

    /// Number of vertices before anything is torn.
    pub fn vertex_count(&self) -> usize {
        self.positions.len()
    }

    /// First vertex of each cord, and the vertex count.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// Rest positions [m].
    pub fn rest_positions(&self) -> &[DVec3] {
        &self.positions
    }

    /// Length of each segment at rest [m].
    pub fn lengths(&self) -> &[f64] {
        &self.lengths
    }

    /// Radius of each segment at rest [m].
    pub fn radii(&self) -> &[f64] {
        &self.radii
    }

    /// Mass of each segment [kg].
    pub fn masses(&self) -> &[f64] {
        &self.masses
    }

    /// The material.
    pub fn material(&self) -> &CordMaterial {
        &self.material
    }

    /// The cord that has a vertex of the model.
    pub fn cord_of(&self, vertex: usize) -> usize {
        self.offsets.partition_point(|&first| first as usize <= vertex).saturating_sub(1)
    }

    /// The segment that a clamp at a vertex of the model takes hold of: the next one, or the last one of the cord.
    pub fn segment_at(&self, vertex: usize) -> usize {
        let cord = self.cord_of(vertex);
        let last = vertex + 1 == self.offsets[cord + 1] as usize;
        vertex - cord - usize::from(last)
    }

    /// Frame at rest of the segment that a clamp at this vertex takes hold of: x along the cord, y its material direction.
    pub fn frame_at(&self, vertex: usize) -> DQuat {
        let segment = self.segment_at(vertex);
        let (x, y) = (self.rest[segment] / self.lengths[segment], self.references[segment]);
        DQuat::from_mat3(&DMat3::from_cols(x, y, x.cross(y))).normalize()
    }

    /// Tensile curve of a segment, with its random variation.
    #[inline]
    pub fn tensile_curve(&self, segment: usize) -> Curve {
        self.material.tension.scaled(self.stiffness[segment], self.strength[segment])
    }

    /// Torsional curve of the joint before a segment, with its random variation.
    #[inline]
    pub fn torsional_curve(&self, segment: usize) -> Option<Curve> {
        self.material.torsion.map(|torsion| torsion.curve.scaled(self.stiffness[segment], self.strength[segment]))
    }

    /// Bytes the model holds.
    pub fn memory(&self) -> usize {
        self.offsets.len() * 4 + self.positions.len() * 24 + self.segment_count() * (2 * 24 + 8 * 8)
    }
}

fn check_material(material: &CordMaterial, vertices: usize) -> Result<(), PhysicsError> {
    check("density", material.density, "positive", |x| x > 0.0)?;
    check("damping", material.damping, "0 or more", |x| x >= 0.0)?;
    check("variation", material.variation, "0 or more and below 1", |x| (0.0..1.0).contains(&x))?;
    check("margin", material.margin, "0 or more", |x| x >= 0.0)?;
    material.tension.check()?;
    if let Some(torsion) = &material.torsion {
        torsion.curve.check()?;
        check("twist damping", torsion.damping, "0 or more", |x| x >= 0.0)?;
        check("twist lag", torsion.lag, "0 or more", |x| x >= 0.0)?;
        check("twist half_width", torsion.half_width, "0 or more", |x| x >= 0.0)?;
    }
    if let Some(profile) = &material.torsion_profile {
        if profile.len() != vertices {
            let got = profile.len();
            return Err(PhysicsError::Count { what: "torsional rigidities", got, expected: vertices });
        }
        profile.iter().try_for_each(|factor| check("torsion profile", *factor, "positive", |x| x > 0.0))?;
    }
    check("goal time", material.goal_time, "positive", |x| x > 0.0)?;
    match &material.bending {
        Bending::None => Ok(()),
        Bending::HalfWidth(width) => check("half_width", *width, "0 or more", |x| x >= 0.0),
        Bending::Modulus(modulus) => check("bending modulus", *modulus, "0 or more", |x| x >= 0.0),
        Bending::HalfWidths(widths) if widths.len() != vertices => {
            Err(PhysicsError::Count { what: "half-widths", got: widths.len(), expected: vertices })
        }
        Bending::HalfWidths(widths) => {
            widths.iter().try_for_each(|width| check("half_width", *width, "0 or more", |x| x >= 0.0))
        }
    }
}
