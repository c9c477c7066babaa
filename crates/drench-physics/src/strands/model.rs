//! The immutable part of a body of strands: topology, rest shape, masses, stiffness, parameters.
//!
//! | symbol | field |
//! |---|---|
//! | l_i, length of the segment that ends at vertex i | `lengths` |
//! | direction of segment i in the rotation-minimising frame of segment i - 1 at rest | `rest_directions` |
//! | k_i = EI / (b_i l_i^2) of the joint before segment i, see [`super::rod`] | `stiffness` |
//! | m_i, half of both neighbouring segments | `masses` |

use super::{Method, csm};
use crate::error::{PhysicsError, check};
use glam::{DVec3, Vec3};

/// Vertices a partition holds about; fixed, because the partition is part of the result's definition.
const PARTITION_VERTICES: usize = 32_768;
/// Partitions at most.
const PARTITIONS: usize = 64;
/// Partitions that a small body is cut into, so that all threads have an even share, and vertices that each holds at least.
const FEW_PARTITIONS: usize = 8;
const FEWEST_VERTICES: usize = 1024;

/// The groomed shape, in the coordinates that [`super::Roots`] frames carry into the world.
#[derive(Clone, Copy, Debug)]
pub struct RestShape<'a> {
    /// First vertex of each strand, and the vertex count (strands + 1 entries).
    pub offsets: &'a [u32],
    /// Rest positions [m].
    pub positions: &'a [DVec3],
    /// Radius of each vertex [m].
    pub radii: &'a [f32],
}

/// What strands are made of, and how they answer to air and solids.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Material {
    /// Density [kg/m3].
    pub density: f64,
    /// Young's modulus [Pa].
    pub youngs_modulus: f64,
    /// Multiplier of the bending stiffness that keeps the groomed shape: 0 limp, 1 physical.
    pub shape: f64,
    /// Damping ratio of the bending that keeps the shape.
    pub shape_damping: f64,
    /// Damping of velocity [1/s].
    pub damping: f64,
    /// Distance kept from solids [m].
    pub contact_radius: f64,
}

impl Default for Material {
    fn default() -> Self {
        Self {
            density: 1320.0,
            youngs_modulus: 3.9e9,
            shape: 1.0,
            shape_damping: 0.1,
            damping: 0.0,
            contact_radius: 5e-4,
        }
    }
}

/// What holds the far end of every strand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tip {
    /// Nothing.
    #[default]
    Free,
    /// The positions in [`super::Roots::tips`]; `dftl` cannot hold both ends.
    Clamped,
}

/// Immutable model of a body of strands.
#[derive(Clone, Debug)]
pub struct StrandModel {
    pub(crate) offsets: Vec<u32>,
    pub(crate) lengths: Vec<f32>,
    pub(crate) rest_directions: Vec<Vec3>,
    pub(crate) stiffness: Vec<f32>,
    pub(crate) masses: Vec<f32>,
    pub(crate) radii: Vec<f32>,
    /// Tangent and normal of the first segment's frame at rest, one pair a strand.
    pub(crate) root_frames: Vec<[DVec3; 2]>,
    /// Length of each strand [m].
    pub(crate) reaches: Vec<f32>,
    /// First strand of each partition, and the strand count.
    pub(crate) partitions: Vec<u32>,
    pub(crate) longest: usize,
    pub(crate) material: Material,
    pub(crate) method: Method,
    pub(crate) tip: Tip,
    /// What shape matching needs, if that is the method.
    pub(crate) csm: Option<csm::Rest>,
    /// The shape of wet strands, if it is another one.
    pub(crate) wet: Option<WetShape>,
}

/// The rest shape of strands whose fibres are full of water.
#[derive(Clone, Debug)]
pub(crate) struct WetShape {
    /// Like [`StrandModel::rest_directions`].
    pub directions: Vec<Vec3>,
    /// Segment that ends at each vertex [m]; 0 at roots.
    pub segments: Vec<Vec3>,
}

impl StrandModel {
    /// Builds the model of a groom.
    pub fn new(rest: RestShape, material: Material, method: Method, tip: Tip) -> Result<Self, PhysicsError> {
        check_material(&material)?;
        method.check(tip)?;
        check_topology(&rest)?;
        check_radii(&rest)?;
        let vertices = rest.positions.len();
        let mut model = Self {
            offsets: rest.offsets.to_vec(),
            lengths: vec![0.0; vertices],
            rest_directions: vec![Vec3::X; vertices],
            stiffness: vec![0.0; vertices],
            masses: vec![0.0; vertices],
            radii: blunt(&rest),
            root_frames: Vec::with_capacity(rest.offsets.len().saturating_sub(1)),
            reaches: Vec::with_capacity(rest.offsets.len().saturating_sub(1)),
            partitions: Vec::new(),
            longest: 0,
            material,
            method,
            tip,
            csm: None,
            wet: None,
        };
        for strand in 0..model.strand_count() {
            model.build_strand(strand, rest.positions)?;
        }
        model.partitions = partitions(&model.offsets);
        if let Method::Csm(parameters) = method {
            model.csm = Some(csm::Rest::new(&model, &parameters, rest.positions));
        }
        Ok(model)
    }

    /// The same strands with another shape when they are wet, in which segments are as long as in the dry one.
    pub fn with_wet_shape(mut self, positions: &[DVec3]) -> Result<Self, PhysicsError> {
        if positions.len() != self.vertex_count() {
            let (got, expected) = (positions.len(), self.vertex_count());
            return Err(PhysicsError::Count { what: "positions of the wet shape", got, expected });
        }
        let rest = RestShape { offsets: &self.offsets, positions, radii: &self.radii };
        let wet = Self::new(rest, self.material, self.method, self.tip)?;
        let segment = |i: usize| match self.lengths[i] > 0.0 {
            true => ((positions[i] - positions[i - 1]).normalize_or_zero() * f64::from(self.lengths[i])).as_vec3(),
            false => Vec3::ZERO,
        };
        let segments = (0..positions.len()).map(segment).collect();
        self.wet = Some(WetShape { directions: wet.rest_directions, segments });
        Ok(self)
    }

    fn build_strand(&mut self, strand: usize, positions: &[DVec3]) -> Result<(), PhysicsError> {
        let (from, to) = (self.offsets[strand] as usize, self.offsets[strand + 1] as usize);
        self.longest = self.longest.max(to - from);
        let area = |i: usize| std::f64::consts::PI * f64::from(self.radii[i]).powi(2);

        let (mut tangent, mut normal) = (DVec3::X, DVec3::Y);
        for i in from + 1..to {
            let segment = positions[i] - positions[i - 1];
            let length = segment.length();
            if !(length.is_finite() && length > 1e-9) {
                return Err(PhysicsError::Segment { strand, segment: i - from - 1, length });
            }
            let direction = segment / length;
            if i == from + 1 {
                (tangent, normal) = (direction, direction.any_orthonormal_vector());
                self.root_frames.push([tangent, normal]);
            } else {
                let binormal = tangent.cross(normal);
                let local = DVec3::new(direction.dot(tangent), direction.dot(normal), direction.dot(binormal));
                self.rest_directions[i] = local.as_vec3();
                normal = transport(normal, tangent, direction);
                tangent = direction;
            }
            self.lengths[i] = length as f32;
            let half = 0.5 * self.material.density * length * 0.5 * (area(i) + area(i - 1));
            self.masses[i] += half as f32;
            self.masses[i - 1] += half as f32;
        }

        for i in from + 1..to {
            let length = f64::from(self.lengths[i]);
            let stands_for = if i == from + 1 { 0.5 * length } else { 0.5 * (length + f64::from(self.lengths[i - 1])) };
            let rigidity = 0.25 * self.material.youngs_modulus * area(i - 1) * f64::from(self.radii[i - 1]).powi(2);
            let stiffness = self.material.shape * rigidity / (stands_for * length * length);
            self.stiffness[i] = stiffness.min(1e30) as f32;
        }
        self.reaches.push(self.lengths[from + 1..to].iter().sum());
        Ok(())
    }

    /// Number of strands.
    pub fn strand_count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.lengths.len()
    }

    /// First vertex of each strand, and the vertex count.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// Length of the segment that ends at each vertex [m]; 0 at roots.
    pub fn lengths(&self) -> &[f32] {
        &self.lengths
    }

    /// Mass of each vertex [kg].
    pub fn masses(&self) -> &[f32] {
        &self.masses
    }

    /// Radius of each vertex [m].
    pub fn radii(&self) -> &[f32] {
        &self.radii
    }

    /// Bending stiffness of the joint before each vertex, EI / (b l^2) [N/m]; 0 at roots.
    pub fn stiffness(&self) -> &[f32] {
        &self.stiffness
    }

    /// The material.
    pub fn material(&self) -> &Material {
        &self.material
    }

    /// The method that solves these strands.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// What holds the tips.
    pub fn tip(&self) -> Tip {
        self.tip
    }

    /// Bytes the model holds.
    pub fn memory(&self) -> usize {
        self.offsets.len() * 4
            + self.vertex_count() * (4 * 4 + 12)
            + self.root_frames.len() * 52
            + self.csm.as_ref().map_or(0, csm::Rest::memory)
    }
}

/// Carries `normal` along by the smallest rotation that turns `from` to `to` (both of unit length).
fn transport(normal: DVec3, from: DVec3, to: DVec3) -> DVec3 {
    let moved = normal - (from + to) * (normal.dot(to) / (1.0 + from.dot(to)).max(1e-6));
    (moved - to * moved.dot(to)).normalize_or(to.any_orthonormal_vector())
}

fn check_material(material: &Material) -> Result<(), PhysicsError> {
    check("density", material.density, "positive", |x| x > 0.0)?;
    check("youngs_modulus", material.youngs_modulus, "0 or more", |x| x >= 0.0)?;
    check("shape", material.shape, "0 or more", |x| x >= 0.0)?;
    check("shape_damping", material.shape_damping, "0 or more", |x| x >= 0.0)?;
    check("damping", material.damping, "0 or more", |x| x >= 0.0)?;
    check("contact_radius", material.contact_radius, "0 or more", |x| x >= 0.0)
}

/// An error unless every strand has two vertices or more and every vertex a radius.
pub(crate) fn check_topology(rest: &RestShape) -> Result<(), PhysicsError> {
    let vertices = rest.positions.len();
    if rest.radii.len() != vertices {
        return Err(PhysicsError::Count { what: "radii", got: rest.radii.len(), expected: vertices });
    }
    let ends = (rest.offsets.first().copied(), rest.offsets.last().copied());
    if ends != (Some(0), u32::try_from(vertices).ok()) {
        let (from, to) = (ends.0.unwrap_or(0) as usize, ends.1.unwrap_or(0) as usize);
        return Err(PhysicsError::Offsets { strand: 0, from, to, vertices });
    }
    for (strand, pair) in rest.offsets.windows(2).enumerate() {
        let (from, to) = (pair[0] as usize, pair[1] as usize);
        if to > vertices || to < from + 2 {
            return Err(PhysicsError::Offsets { strand, from, to, vertices });
        }
    }
    Ok(())
}

fn check_radii(rest: &RestShape) -> Result<(), PhysicsError> {
    // Only a tip may be a point.
    let tips = |i: usize| i > 0 && rest.radii[i - 1] > 0.0 && rest.offsets.binary_search(&(i as u32 + 1)).is_ok();
    let good = |i: usize, r: f32| r.is_finite() && (r > 0.0 || r == 0.0 && tips(i));
    match rest.radii.iter().enumerate().find(|(i, r)| !good(*i, **r)) {
        Some((_, &radius)) => {
            Err(PhysicsError::Parameter { name: "radius", value: f64::from(radius), range: "finite and positive" })
        }
        None => Ok(()),
    }
}

/// The radii, with the mean of the half segment that it stands for where a tip is a point: air moves a hair without
/// thickness at no effort.
fn blunt(rest: &RestShape) -> Vec<f32> {
    let mut radii = rest.radii.to_vec();
    for tip in rest.offsets[1..].iter().map(|&end| end as usize - 1) {
        if radii[tip] == 0.0 {
            radii[tip] = 0.25 * radii[tip - 1];
        }
    }
    radii
}

/// Cuts strands into runs of about equal vertex count. Depends on the model alone.
fn partitions(offsets: &[u32]) -> Vec<u32> {
    let strands = offsets.len() - 1;
    let vertices = offsets[strands] as usize;
    let few = (vertices / FEWEST_VERTICES).clamp(1, FEW_PARTITIONS);
    let count = vertices.div_ceil(PARTITION_VERTICES).clamp(few, PARTITIONS).min(strands.max(1));
    let cut = |k: usize| offsets.partition_point(|&o| (o as usize) * count < k * vertices).min(strands) as u32;
    let mut cuts: Vec<u32> = (0..count).map(cut).collect();
    cuts.push(strands as u32);
    cuts
}
