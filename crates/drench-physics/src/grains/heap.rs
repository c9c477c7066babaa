//! Figures about a body of grains: contacts, momentum, energy, and the slope of a heap.

use super::GrainModel;
use super::carry::{self, VICINITY};
use super::solids::{self, Ball, Carrier, Solid};
use super::state::{GrainScratch, GrainState, Tally};
use drench_math::ordered;
use glam::{DVec2, DVec3};
use std::collections::BTreeMap;

/// Rings of a heap lower than this part of its height are its foot, higher than that its top: neither is flank.
const FLANK: std::ops::Range<f64> = 0.2..0.8;

/// Figures about a body of grains.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Diagnostics {
    /// Largest speed [m/s].
    pub speed_max: f64,
    /// Kinetic energy, of rotation too [J].
    pub kinetic_energy: f64,
    /// Energy in gravity, zero at the origin [J].
    pub gravitational_energy: f64,
    /// Mass with water [kg].
    pub mass: f64,
    /// Momentum [kg m/s].
    pub momentum: DVec3,
    /// Angular momentum about the origin [kg m2/s].
    pub angular_momentum: DVec3,
    /// Height of the highest grain's top [m].
    pub top: f64,
}

/// Measures a body of grains.
pub fn measure(model: &GrainModel, state: &GrainState, gravity: DVec3) -> Diagnostics {
    let nothing = Diagnostics { top: f64::NEG_INFINITY, ..Diagnostics::default() };
    let part = |range: std::ops::Range<usize>| {
        let mut sum = nothing;
        for i in range {
            let (x, v, spin) = (state.positions[i], state.velocities[i], state.spins[i]);
            let mass = state.mass(model, i);
            let inertia = 0.4 * mass * state.sizes[i] * state.sizes[i];
            sum.speed_max = sum.speed_max.max(v.length());
            sum.kinetic_energy += 0.5 * (mass * v.length_squared() + inertia * spin.length_squared());
            sum.gravitational_energy -= mass * gravity.dot(x);
            sum.mass += mass;
            sum.momentum += mass * v;
            sum.angular_momentum += x.cross(mass * v) + inertia * spin;
            sum.top = sum.top.max(x.y + state.radii[i]);
        }
        sum
    };
    let join = |a: Diagnostics, b: Diagnostics| Diagnostics {
        speed_max: a.speed_max.max(b.speed_max),
        kinetic_energy: a.kinetic_energy + b.kinetic_energy,
        gravitational_energy: a.gravitational_energy + b.gravitational_energy,
        mass: a.mass + b.mass,
        momentum: a.momentum + b.momentum,
        angular_momentum: a.angular_momentum + b.angular_momentum,
        top: a.top.max(b.top),
    };
    ordered::reduce(state.len(), nothing, part, join)
}

/// The slope of a round heap on the ground [rad]: a line through the mean height of rings about its middle, over its
/// flank. None if there is no heap to speak of.
pub fn angle_of_repose(state: &GrainState) -> Option<f64> {
    let count = state.len();
    if count < 100 {
        return None;
    }
    let radius = state.radii.iter().sum::<f64>() / count as f64;
    let flat = |p: DVec3| DVec2::new(p.x, p.z);
    let ground = state.positions.iter().map(|p| p.y).fold(f64::INFINITY, f64::min) - radius;
    // Weighted by height, stray grains on the ground do not move the middle.
    let height = |p: DVec3| (p.y - ground - 2.0 * radius).max(0.0);
    let weight: f64 = state.positions.iter().map(|&p| height(p)).sum();
    let middle = state.positions.iter().map(|&p| flat(p) * height(p)).sum::<DVec2>() / weight;
    if !middle.is_finite() {
        return None;
    }
    // The top of every column that is two grains wide.
    let width = 4.0 * radius;
    let mut columns = BTreeMap::<(i64, i64), f64>::new();
    for (p, r) in state.positions.iter().zip(&state.radii) {
        let cell = ((flat(*p) - middle) / width).floor();
        let top = columns.entry((cell.x as i64, cell.y as i64)).or_insert(0.0);
        *top = top.max(p.y + r - ground);
    }
    let mut rings = BTreeMap::<i64, (f64, f64)>::new();
    for (&(x, z), &top) in &columns {
        let distance = DVec2::new(x as f64 + 0.5, z as f64 + 0.5).length();
        let ring = rings.entry(distance as i64).or_insert((0.0, 0.0));
        *ring = (ring.0 + top, ring.1 + 1.0);
    }
    let profile: Vec<(f64, f64, f64)> =
        rings.iter().map(|(&ring, &(sum, n))| ((ring as f64 + 0.5) * width, sum / n, n)).collect();
    let peak = profile.iter().map(|&(_, height, _)| height).fold(0.0, f64::max);
    let flank = || profile.iter().filter(|(_, height, _)| FLANK.contains(&(height / peak)));
    if flank().count() < 3 || peak < 6.0 * radius {
        return None;
    }
    let total: f64 = flank().map(|(_, _, n)| n).sum();
    let mean = |f: fn(&(f64, f64, f64)) -> f64| flank().map(|ring| f(ring) * ring.2).sum::<f64>() / total;
    let (x, y) = (mean(|ring| ring.0), mean(|ring| ring.1));
    let (mut above, mut below) = (0.0, 0.0);
    for (distance, height, n) in flank() {
        above += n * (distance - x) * (height - y);
        below += n * (distance - x) * (distance - x);
    }
    Some((-above / below).atan())
}

/// Enters what is true at the end of a solve into its tally.
pub(super) fn count(
    model: &GrainModel,
    state: &GrainState,
    scratch: &mut GrainScratch,
    solids: &[Solid],
    carriers: &[Carrier],
    tally: &mut Tally,
) {
    let links = |range: std::ops::Range<usize>| {
        let (mut contacts, mut deepest) = (0_u64, 0.0_f64);
        for i in range {
            for link in &state.links[state.offsets[i] as usize..state.offsets[i + 1] as usize] {
                let j = link.partner as usize;
                let reach = state.radii[i] + state.radii[j];
                let square = (state.positions[j] - state.positions[i]).length_squared();
                if square < reach * reach {
                    contacts += 1;
                    deepest = deepest.max((reach - square.sqrt()) / state.radii[i].min(state.radii[j]));
                }
            }
        }
        (contacts, deepest)
    };
    let join = |a: (u64, f64), b: (u64, f64)| (a.0 + b.0, a.1.max(b.1));
    (tally.contacts, tally.overlap_max) = ordered::reduce(state.len(), (0, 0.0), links, join);
    scratch.stands.clear();
    scratch.stands.resize(state.len(), 0.0);
    let mut at = 0;
    for group in state.touches.chunk_by(|a, b| (a.grain, a.solid) == (b.grain, b.solid)) {
        let (grain, clear) = (group[0].grain as usize, scratch.clear[at]);
        at += group.len();
        let radius = state.radii[grain];
        let reach = (1.0 + VICINITY) * radius;
        if clear - (state.positions[grain] - state.origins[grain]).length_squared().sqrt() > reach {
            continue;
        }
        let solid = &solids[group[0].solid as usize];
        let ball = Ball { centre: state.positions[grain], radius, reach };
        let (near, count) = solids::faces(solid, solid.body.map(|body| &carriers[body]), ball, group.len(), 1.0);
        scratch.stands[grain] += near[..count].iter().map(|face| carry::from_face(state, grain, face)).sum::<f64>();
        for near in near[..count].iter().filter(|near| near.distance < radius) {
            tally.touches += 1;
            tally.penetration_max = tally.penetration_max.max(radius - near.distance);
        }
    }
    tally.asleep = state.asleep(model) as u64;
}

#[cfg(test)]
mod tests {
    use super::super::{Material, NewGrain, Sizes};
    use super::*;

    #[test]
    fn the_slope_of_a_built_cone_is_found() {
        let radius = 2e-3;
        let model = GrainModel::new(Sizes::equal(radius), Material::default(), None, None).unwrap();
        for slope in [20.0_f64, 32.0, 45.0] {
            let (foot, mut state) = (0.12, GrainState::default());
            let height = foot * slope.to_radians().tan();
            let cells = (foot / (2.0 * radius)) as i32 + 1;
            for (i, k) in (-cells..=cells).flat_map(|i| (-cells..=cells).map(move |k| (i, k))) {
                for j in 0..100 {
                    let p = DVec3::new(f64::from(i), f64::from(j) + 0.5, f64::from(k)) * 2.0 * radius;
                    if p.y < height * (1.0 - DVec2::new(p.x, p.z).length() / foot) {
                        let shift = DVec3::new(0.4, 0.0, -0.2);
                        state.push(&model, NewGrain { position: p + shift, velocity: DVec3::ZERO, radius, water: 0.0 });
                    }
                }
            }
            let got = angle_of_repose(&state).unwrap().to_degrees();
            assert!((got - slope).abs() < 2.0, "{slope}: {got}");
        }
        assert_eq!(angle_of_repose(&GrainState::default()), None);
    }
}
