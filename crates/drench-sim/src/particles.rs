//! Figures about liquid and grains.

use crate::grains::GrainBody;
use crate::world::{Model, State};
use drench_io::stats::{BodyStats, Extent, ParticleStats, Point};
use drench_math::ordered;
use drench_physics::grains::{GrainState, heap};
use glam::DVec3;
use std::collections::BTreeMap;

/// Water above which a grain counts as wet, over what makes it over-wet.
const WET: f64 = 0.05;

/// What is told of liquid and grains.
#[derive(Debug, Default)]
pub struct Figures {
    /// By name.
    pub bodies: BTreeMap<String, BodyStats>,
    /// How many there are.
    pub counts: BTreeMap<String, u64>,
    /// Kinetic and gravitational energy [J].
    pub energy: [f64; 2],
}

/// The water of each reservoir [kg].
pub fn water(state: &State) -> impl Iterator<Item = (&'static str, f64)> {
    let bulk = std::iter::once(("bulk", state.liquid.mass()));
    let grains = state.grains.iter().map(|grains| ("grains", grains.total_water()));
    let hair = ["fibre", "capillary", "free_flow"].into_iter().zip(state.hair.reservoirs());
    let wet = !state.hair.inside.is_empty();
    bulk.chain(grains).chain(hair.filter(move |_| wet))
}

/// Measures liquid and grains.
pub fn measure(model: &Model, state: &State) -> Figures {
    let gravity = model.scene.simulation.gravity;
    let mut figures = Figures::default();
    if model.liquid.is_some() {
        let liquid = &state.liquid;
        let height = |i: usize| -liquid.masses[i] * gravity.dot(liquid.positions[i]);
        figures.energy = [liquid.kinetic_energy(), ordered::sum(liquid.len(), height)];
        figures.counts.insert("liquid_particles".to_owned(), liquid.len() as u64);
        let speed_max = ordered::max(liquid.len(), 0.0, |i| liquid.velocities[i].length_squared()).sqrt();
        let particles = ParticleStats {
            count: liquid.len() as u64,
            extent: extent(liquid.positions.iter().copied()),
            ..ParticleStats::default()
        };
        let centre = centre(&liquid.positions, |i| liquid.masses[i]);
        let stats = BodyStats { speed_max, centre, particles: Some(particles), ..BodyStats::default() };
        figures.bodies.insert("liquid".to_owned(), stats);
    }
    for (body, grains) in model.grains.iter().zip(&state.grains) {
        let measured = heap::measure(&body.model, grains, gravity);
        figures.energy[0] += measured.kinetic_energy;
        figures.energy[1] += measured.gravitational_energy;
        *figures.counts.entry("grains".to_owned()).or_default() += grains.len() as u64;
        *figures.counts.entry("grains_asleep".to_owned()).or_default() += grains.asleep(&body.model) as u64;
        let stats = BodyStats { speed_max: measured.speed_max, ..grain_figures(body, grains) };
        figures.bodies.insert(body.name.clone(), stats);
    }
    figures
}

fn grain_figures(body: &GrainBody, grains: &GrainState) -> BodyStats {
    let mut particles = ParticleStats {
        count: grains.len() as u64,
        extent: extent(grains.positions.iter().copied()),
        slope: heap::angle_of_repose(grains),
        ..ParticleStats::default()
    };
    let mut wet_part = None;
    if let Some(law) = body.model.wetness() {
        let wet = |&i: &usize| law.wetness(grains.water[i], body.model.dry_mass(grains.sizes[i])) > WET;
        let wet: Vec<DVec3> = (0..grains.len()).filter(wet).map(|i| grains.positions[i]).collect();
        wet_part = Some(wet.len() as f64 / grains.len().max(1) as f64);
        particles.wet = (!wet.is_empty()).then(|| extent(wet.into_iter()));
    }
    let centre = centre(&grains.positions, |i| body.model.dry_mass(grains.sizes[i]));
    BodyStats { wet_part, centre, particles: Some(particles), ..BodyStats::default() }
}

/// Centre of these masses [kg], if there are any.
fn centre(positions: &[DVec3], mass: impl Fn(usize) -> f64 + Sync) -> Option<Point> {
    let total = ordered::sum(positions.len(), &mass);
    let mean = |axis: usize| ordered::sum(positions.len(), |i| mass(i) * positions[i][axis]) / total;
    (total > 0.0).then(|| Point { x: mean(0), y: mean(1), z: mean(2) })
}

/// A box around points; nothing is at the origin.
fn extent(mut points: impl Iterator<Item = DVec3>) -> Extent {
    let Some(first) = points.next() else { return Extent::default() };
    let (low, high) = points.fold((first, first), |(low, high), point| (low.min(point), high.max(point)));
    Extent { left: low.x, right: high.x, bottom: low.y, top: high.y, back: low.z, front: high.z }
}
