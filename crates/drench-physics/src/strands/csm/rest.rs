//! What never changes about strands that keep their shape by matching it, and what stiffness that is.

use super::extent::{extent, half_width_of, squared_stiffness};
use super::sag::Sag;
use super::{HalfWidths, Parameters, REFERENCE_STEP, Stiffness, WIDEST};
use crate::strands::StrandModel;
use glam::{DVec3, Vec3};
use std::collections::BTreeMap;
use std::f64::consts::PI;

/// Weight on each end of a strand whose stiffness index is measured, 0.1 g [N] [Rungjiratananon2012, 4.7.2].
const INDEX_WEIGHT: f64 = 1e-4 * 9.81;

/// Bending rigidity [N m2] of a straight strand with `mass` a length [kg/m], segments of `length` [m] and regions of `half_width`.
pub fn rigidity(mass: f64, length: f64, half_width: f64) -> f64 {
    0.25 * mass * length.powi(4) * squared_stiffness(half_width) / (REFERENCE_STEP * REFERENCE_STEP)
}

/// Segment length [m] at which a straight strand with `mass` a length [kg/m] and regions of `half_width` has a bending rigidity [N m2].
pub fn segment_of(mass: f64, rigidity: f64, half_width: f64) -> f64 {
    (4.0 * rigidity * REFERENCE_STEP * REFERENCE_STEP / (mass * squared_stiffness(half_width))).powf(0.25)
}

/// Half-width of the regions that give a strand with `mass` a length [kg/m] and segments of `length` [m] a bending rigidity [N m2]; it has so many
/// vertices, the first few held.
pub fn half_width_of_rigidity(mass: f64, length: f64, rigidity: f64, vertices: usize, clamped: usize) -> f64 {
    let squared = squared_of_rigidity(mass, length, rigidity);
    Sag::of(vertices, clamped).map_or_else(|| half_width_of(squared), |sag| sag.half_width(squared))
}

/// q^2 in the middle of such a strand, if it goes to its goals in 10 ms.
pub(crate) fn squared_of_rigidity(mass: f64, length: f64, rigidity: f64) -> f64 {
    (4.0 * rigidity * REFERENCE_STEP * REFERENCE_STEP / (mass * length.powi(4))).min(1e12)
}

/// Bending rigidity [N m2] that gives a stiffness index [m] to a strand whose half, a leg, weighs `leg` [kg].
///
/// Hung over a hook, each leg is an elastica with B t'^2 / 2 = T (1 - sin t) where t is its angle from the horizontal; it comes to
/// hang at the distance sqrt(2 B / T) from the hook. With two legs B = T D^2 / 8, which is E = pi T D^2 / (2 A^2) for a round
/// fibre of cross-section A [Rungjiratananon2012, eq. 4.20; there A is called the linear density]. T is the weight on the end and, which the
/// text leaves out, that of the leg itself: it bends close to the hook, which bears both.
pub fn rigidity_of_index(index: f64, leg: f64) -> f64 {
    0.125 * (INDEX_WEIGHT + 9.81 * leg) * index * index
}

/// Rest shape and regions of every vertex.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rest {
    /// Segment that ends at each vertex, at rest [m]; 0 at roots.
    pub segments: Vec<Vec3>,
    /// Extent of the region around each vertex.
    pub extents: Vec<f32>,
}

impl Rest {
    pub fn new(model: &StrandModel, parameters: &Parameters, positions: &[DVec3]) -> Self {
        let mut rest =
            Self { segments: Vec::with_capacity(positions.len()), extents: Vec::with_capacity(positions.len()) };
        let (clamped, mut sags) = (parameters.clamped as usize, BTreeMap::new());
        for strand in model.offsets.windows(2) {
            let (from, to) = (strand[0] as usize, strand[1] as usize);
            // Asked to have a rigidity, not a half-width, clamped strands show it as a whole.
            let asked = !matches!(parameters.stiffness, Stiffness::HalfWidths(_));
            let sag =
                asked.then(|| sags.entry(to - from).or_insert_with(|| Sag::of(to - from, clamped)).as_ref()).flatten();
            let half_width_of =
                |squared: f64| sag.map_or_else(|| half_width_of(squared), |sag| sag.half_width(squared));
            let reach: f64 = model.lengths[from..to].iter().map(|l| f64::from(*l)).sum();
            let leg = 0.5 * model.masses[from..to].iter().map(|m| f64::from(*m)).sum::<f64>();
            let mut arc = 0.0;
            for i in from..to {
                let segment = if i == from { DVec3::ZERO } else { positions[i] - positions[i - 1] };
                rest.segments.push(segment.as_vec3());
                arc += f64::from(model.lengths[i]);
                // A region as wide as the strand makes it rigid; a wider one is the same but for a firmer clamp.
                let widest = if sag.is_some() { WIDEST } else { ((to - from - 1) as f64).min(WIDEST) };
                let half_width = match parameters.stiffness {
                    Stiffness::HalfWidths(widths) => HalfWidths::at(&widths, arc / reach),
                    Stiffness::Fibre => half_width_of(fibre(model, i, i + 1 < to)),
                    Stiffness::Index(index) => {
                        let mass = model.material.density * PI * f64::from(model.radii[i]).powi(2);
                        let length = length_at(model, i, i + 1 < to);
                        half_width_of(squared_of_rigidity(mass, length, rigidity_of_index(index, leg)))
                    }
                };
                rest.extents.push(extent(half_width.min(widest)) as f32);
            }
        }
        rest
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.segments.len() * 12 + self.extents.len() * 4
    }
}

/// Mean length of the segments at vertex `i` [m].
fn length_at(model: &StrandModel, i: usize, has_next: bool) -> f64 {
    let (before, after) = (f64::from(model.lengths[i]), if has_next { f64::from(model.lengths[i + 1]) } else { 0.0 });
    if before > 0.0 && after > 0.0 { 0.5 * (before + after) } else { before + after }
}

/// q^2 of the fibre itself: B = shape E pi r^4 / 4 with m' = rho pi r^2.
fn fibre(model: &StrandModel, i: usize, has_next: bool) -> f64 {
    let material = &model.material;
    let stiffness = material.shape * material.youngs_modulus * f64::from(model.radii[i]).powi(2) / material.density;
    (stiffness * REFERENCE_STEP * REFERENCE_STEP / length_at(model, i, has_next).powi(4)).min(1e12)
}
