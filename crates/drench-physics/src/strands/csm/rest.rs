//! What never changes about strands that keep their shape by matching it, and what stiffness that is.

use super::drape::{Drape, GRAVITY, TUBE};
use super::extent::{extent, half_width_of, squared_stiffness};
use super::sag::Sag;
use super::{HalfWidths, Parameters, REFERENCE_STEP, Stiffness, WIDEST};
use crate::strands::StrandModel;
use glam::{DVec3, Vec3};
use std::collections::BTreeMap;
use std::f64::consts::PI;

/// Bending rigidity [N m2] of a straight strand with `mass` a length [kg/m], segments of `length` [m] and regions of `half_width`.
pub fn rigidity(mass: f64, length: f64, half_width: f64) -> f64 {
    0.25 * mass * length.powi(4) * squared_stiffness(half_width) / (REFERENCE_STEP * REFERENCE_STEP)
}

/// Half-width of the regions that give a long strand with `mass` a length [kg/m] and segments of `length` [m] a bending rigidity [N m2].
pub fn half_width_of_rigidity(mass: f64, length: f64, rigidity: f64) -> f64 {
    half_width_of(squared_of_rigidity(mass, length, rigidity))
}

/// q^2 that gives a strand with `mass` a length [kg/m] and segments of `length` [m] a bending rigidity [N m2], if it goes to its goals in 10 ms.
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
    0.125 * GRAVITY * (TUBE + leg) * index * index
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
        let (clamped, mut sags, mut rigidities) = (parameters.clamped as usize, BTreeMap::new(), BTreeMap::new());
        for strand in model.offsets.windows(2) {
            let (from, to) = (strand[0] as usize, strand[1] as usize);
            // Asked to be as stiff as the fibre, clamped strands are so as a whole.
            let asked = matches!(parameters.stiffness, Stiffness::Fibre);
            let sag =
                asked.then(|| sags.entry(to - from).or_insert_with(|| Sag::of(to - from, clamped)).as_ref()).flatten();
            let half_width_of =
                |squared: f64| sag.map_or_else(|| half_width_of(squared), |sag| sag.half_width(squared));
            let reach: f64 = model.lengths[from..to].iter().map(|l| f64::from(*l)).sum();
            let rigidity = match parameters.stiffness {
                Stiffness::Index(index) => {
                    *rigidities.entry(to - from).or_insert_with(|| draped(model, to - from, index))
                }
                _ => 0.0,
            };
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
                    Stiffness::Index(_) => {
                        let mass = model.material.density * PI * f64::from(model.radii[i]).powi(2);
                        half_width_of_rigidity(mass, length_at(model, i, i + 1 < to), rigidity)
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

/// Rigidity [N m2] with which the mean of the strands that have so many vertices, hung over a hook, has a stiffness index [m].
fn draped(model: &StrandModel, vertices: usize, index: f64) -> f64 {
    let (mut strands, mut length, mut mass) = (0.0, 0.0, 0.0);
    for strand in model.offsets.windows(2).filter(|strand| (strand[1] - strand[0]) as usize == vertices) {
        let range = strand[0] as usize..strand[1] as usize;
        strands += 1.0;
        length += model.lengths[range.clone()].iter().map(|l| f64::from(*l)).sum::<f64>();
        mass += model.masses[range].iter().map(|m| f64::from(*m)).sum::<f64>();
    }
    let (spacing, mass) = (length / (strands * (vertices - 1) as f64), mass / length);
    Drape::of(vertices, spacing, mass).rigidity(index)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strands::{Material, Method, RestShape, Tip};

    #[test]
    fn strands_asked_for_an_index_get_the_half_width_that_hangs_so() {
        // Two strands of the same number of vertices, the second half as long again: one rigidity, that of a strand between them.
        let (count, spacing, radius, index) = (25, 0.01, 4e-4, 0.05);
        let line = |spacing: f64| (0..count).map(move |i| DVec3::X * (spacing * f64::from(i)));
        let positions: Vec<DVec3> = line(0.8 * spacing).chain(line(1.2 * spacing)).collect();
        let radii = vec![radius as f32; positions.len()];
        let rest = RestShape { offsets: &[0, 25, 50], positions: &positions, radii: &radii };
        let method = Method::Csm(Parameters { stiffness: Stiffness::Index(index), ..Parameters::default() });
        let model = StrandModel::new(rest, Material::default(), method, Tip::Free).unwrap();
        let mass = model.material.density * PI * radius * radius;
        let drape = Drape::of(25, spacing, mass);
        let wanted = drape.rigidity(index);
        let extents = &model.csm.as_ref().unwrap().extents;
        for (vertex, spacing) in [(12, 0.8 * spacing), (37, 1.2 * spacing)] {
            let own = half_width_of_rigidity(mass, spacing, wanted);
            assert!((f64::from(extents[vertex]) / extent(own) - 1.0).abs() < 1e-4, "{} {own}", extents[vertex]);
        }
        assert!(extents[12] > extents[37]);
    }
}
