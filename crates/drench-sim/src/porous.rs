//! The porous grid of a frame, to look at: the simulation's own is gone when the step is over, and frames do not hold it.
//!
//! Films and fibres of the frame tell the water, its strands the lengths; both are rounded to `f32`, and lengths are those of
//! the moment, not those at rest.

use crate::SimError;
use crate::hair::{fibre, medium};
use drench_io::frame::{Attribute, Domain, Frame, StrandBody, Values};
use drench_physics::wetting::hair::{self, Fibre, Groom, Hair, HairWater, Surveyed};
use drench_scene::{self as scene, Scene};
use glam::{DVec3, Vec3};

/// The porous grid of a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Voxels {
    /// Edge of a voxel [m].
    pub edge: f64,
    /// Those that hold hair.
    pub voxels: Vec<Surveyed>,
}

/// The porous grid of a frame, as the simulation would build it: voxels that hold hair, with room and water.
pub fn voxels(scene: &Scene, frame: &Frame) -> Result<Voxels, SimError> {
    let mut found = Voxels { edge: medium(scene).voxel, voxels: Vec::new() };
    let seen = |groom: &scene::Groom| {
        let body = frame.strands.iter().find(|body| body.name == groom.name)?;
        let scalars = |name: &str| match body.attributes.get(name)? {
            Attribute { domain: Domain::Vertex, values: Values::F32(values) } => Some(&values[..]),
            _ => None,
        };
        let values = [scalars("radius")?, scalars("fibre_water")?, scalars("film")?];
        Some(Seen::new(body, values, fibre(groom.wet.as_ref()?, groom.children), groom.strand.density))
    };
    let grooms: Vec<Seen> = scene.grooms.iter().filter_map(seen).collect();
    if grooms.is_empty() {
        return Ok(found);
    }
    let parts: Vec<Groom> = grooms
        .iter()
        .map(|seen| Groom { offsets: seen.offsets, masses: &seen.masses, lengths: &seen.lengths, fibre: seen.fibre })
        .collect();
    let hair = Hair::new(medium(scene), &parts).map_err(SimError::Wetting)?;
    let mut water = HairWater::new(&hair, &vec![[0.0; 2]; grooms.len()]);
    let mut positions = Vec::new();
    for (number, seen) in grooms.iter().enumerate() {
        let base = hair.vertices(number).start;
        let [radii, full, films] = seen.values;
        for i in (0..radii.len()).filter(|&i| seen.lengths[i] > 0.0) {
            let (radius, film) = (f64::from(radii[i]), f64::from(films[i]));
            let section = std::f64::consts::PI * film * (film + 2.0 * radius);
            let volume = seen.fibre.hairs * f64::from(seen.lengths[i]) * section;
            water.around[base + i] = hair.medium().liquid_density * volume;
            water.inside[base + i] = f64::from(full[i]) * seen.fibre.inside * f64::from(hair.masses()[base + i]);
        }
        positions.extend(seen.positions.iter().map(|&p| DVec3::from(p.map(f64::from))));
    }
    found.voxels = hair::survey(&hair, &water, &positions).map_err(SimError::Wetting)?;
    Ok(found)
}

/// A groom as a frame has it.
struct Seen<'a> {
    offsets: &'a [u32],
    positions: &'a [[f32; 3]],
    /// Radii [m], how full fibres are, films [m].
    values: [&'a [f32]; 3],
    /// Masses of vertices [kg], and lengths of the segments that end at them [m].
    masses: Vec<f32>,
    lengths: Vec<f32>,
    fibre: Fibre,
}

impl<'a> Seen<'a> {
    fn new(body: &'a StrandBody, values: [&'a [f32]; 3], fibre: Fibre, density: f64) -> Self {
        let positions = &body.positions[..];
        let (mut masses, mut lengths) = (vec![0.0; positions.len()], vec![0.0; positions.len()]);
        for pair in body.offsets.windows(2) {
            for i in pair[0] as usize + 1..pair[1] as usize {
                let length = Vec3::from(positions[i]).distance(Vec3::from(positions[i - 1])).max(f32::MIN_POSITIVE);
                let area = |i: usize| std::f32::consts::PI * values[0][i] * values[0][i];
                let half = 0.5 * density as f32 * length * 0.5 * (area(i) + area(i - 1));
                lengths[i] = length;
                masses[i] += half;
                masses[i - 1] += half;
            }
        }
        Self { offsets: &body.offsets, positions, values, masses, lengths, fibre }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simulation;

    const SCENE: &str = r#"
name = "wet"

[simulation]
frames = 4

[[solid]]
name = "ball"
shape = { kind = "sphere", radius = 0.05 }

[[groom]]
name = "hair"
on = "ball"
strands = 60
children = 5
length = 0.06
wet = { wetness = 0.7, dampness = 0.6 }
"#;

    #[test]
    fn a_frame_tells_the_water_and_the_room_that_the_simulation_has() {
        let scene = crate::experiment::scene_of(SCENE.to_owned());
        let mut simulation = Simulation::build(&scene).unwrap();
        simulation.begin().unwrap();
        simulation.advance_frame().unwrap();
        let found = voxels(&scene, &simulation.frame()).unwrap();
        let world = simulation.world();
        let (model, water) = (&world.model.hair.as_ref().unwrap().model, &world.state.hair);
        let [inside, capillary, free] = water.reservoirs();
        let mass: f64 = model.masses().iter().map(|&m| f64::from(m)).sum();
        let sum = |of: &dyn Fn(&Surveyed) -> f64| found.voxels.iter().map(of).sum::<f64>();
        // Strands are stretched by less than a percent.
        let near =
            |what: &str, got: f64, wanted: f64| assert!((got / wanted - 1.0).abs() < 0.01, "{what}: {got} {wanted}");
        near("inside", sum(&|v| v.inside[0]), inside);
        near("around", sum(&|v| v.between[0] + v.around[0]), capillary + free);
        near("room inside", sum(&|v| v.inside[1]), model.fibre(0).inside * mass);
        near("room around", sum(&|v| v.around[1]), model.fibre(0).around * mass);
        assert!(found.edge == model.medium().voxel && found.voxels.len() > 100);
        assert!(found.voxels.iter().all(|v| v.between[0] <= v.between[1]));
        assert_eq!(voxels(&scene, &Frame::default()).unwrap().voxels, []);
    }
}
