//! What a scene will cost, without building all of it.

use crate::SimError;
use crate::solids::{Shelf, SolidModel};
use crate::{cords, grains, grooms, liquid};
use drench_physics::grains::fill;
use drench_physics::strands::csm::{self, Drape};
use drench_scene::{Groom, Scene};
use rayon::prelude::*;

/// What will be simulated, about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Simulated strands.
    pub strands: u64,
    /// Their vertices.
    pub strand_vertices: u64,
    /// Strands for pictures only.
    pub children: u64,
    /// Segments of all cords.
    pub cord_segments: u64,
    /// Rigid bodies.
    pub rigid_bodies: u64,
    /// Liquid particles at the beginning and those that come in later.
    pub liquid_particles: u64,
    /// Grains at the beginning and those that are poured in later.
    pub grains: u64,
    /// Triangles of all solids.
    pub triangles: u64,
    /// Memory that the simulation will hold [bytes].
    pub memory_bytes: u64,
    /// Substeps of the whole run, settling included.
    pub steps: u64,
    /// One line per body: its name and what it is.
    pub lines: Vec<(String, String)>,
    /// What a user should know.
    pub warnings: Vec<String>,
}

impl Estimate {
    /// How many there are of everything that the scene has, by the names of the statistics.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = [
            ("strands", self.strands),
            ("strand_vertices", self.strand_vertices),
            ("children", self.children),
            ("cord_segments", self.cord_segments),
            ("rigid_bodies", self.rigid_bodies),
            ("liquid_particles", self.liquid_particles),
            ("grains", self.grains),
            ("triangles", self.triangles),
        ];
        counts.into_iter().filter(|(_, count)| *count > 0)
    }
}

/// Bytes a strand vertex takes in model, state and scratch: rest shape 24 + 12 + 16, state 60, grid and lanes about 24.
const VERTEX_BYTES: u64 = 136;
/// Bytes a strand takes: root and frames before and after 100, offsets, partitions.
const STRAND_BYTES: u64 = 140;
/// Bytes a child takes: root, guides, weights.
const CHILD_BYTES: u64 = 56;
/// Bytes a vertex of hair that gets wet takes besides, and for each voxel that a segment of it passes through: water, bridges, motion of the step before and
/// copies for the step; portions by strand, by voxel and in lanes, in lists that grow, and voxels with their links, the more of them the smaller they are. Both
/// are fitted to what runs held.
const WET_VERTEX_BYTES: f64 = 100.0;
const PORTION_BYTES: f64 = 215.0;
/// Bytes a segment of a cord takes in model, state and scratch, torn everywhere.
const SEGMENT_BYTES: u64 = 900;
/// Bytes a liquid particle takes: state 104, fields and two rows of about 35 neighbours.
const PARTICLE_BYTES: u64 = 800;
/// Bytes a grain takes: state 152, about eight links and touches, rounded copies.
const GRAIN_BYTES: u64 = 900;
/// Bytes a triangle takes: indices, half a vertex with its normal, its share of the tree.
const TRIANGLE_BYTES: u64 = 120;

/// Most segments on each side of the hook that are looked at for a half-width, and how many lengths of them.
const FINEST: u32 = 64;
const LOOKS: u32 = 10;
/// By which part a strand may miss its stiffness index before it is worth a warning.
const MISSED: f64 = 0.05;

/// Which half-width a stiffness index takes with the segments of a groom, and with which segments others give the same.
fn index_line(groom: &Groom, index: f64) -> (String, Option<String>) {
    let radius = 0.5 * (groom.root_radius + groom.tip_radius);
    let mass = groom.strand.density * std::f64::consts::PI * radius * radius;
    let spacing = groom.length / f64::from(groom.vertices - 1);
    let drape = Drape::of(groom.vertices as usize, spacing, mass);
    let rigidity = drape.rigidity(index);
    let hangs = drape.index(csm::half_width_of_rigidity(mass, drape.spacing, rigidity));
    let own = csm::half_width_of_rigidity(mass, spacing, rigidity);
    let leg = 0.5 * groom.length;
    let pair = |whole: u32| {
        let spacing = spacing_for(f64::from(whole), leg, mass, index)?;
        Some(format!("{whole} of {:.2} mm", 1e3 * spacing))
    };
    let pairs: Vec<String> = (1..=8).filter_map(pair).collect();
    let [index_mm, hangs_mm, spacing_mm] = [index, hangs, spacing].map(|length| 1e3 * length);
    let warning = ((hangs - index).abs() > MISSED * index).then(|| {
        format!(
            "{}: regions that make strands as stiff as a fibre with a stiffness index of {index_mm:.3} mm reach {:.3} mm, and do not feel the kink over a hook: there they will hang \
             {hangs_mm:.3} mm apart; thicker strands have shorter regions",
            groom.name,
            1e3 * own * spacing
        )
    });
    let line = format!(
        "stiffness index {index_mm:.3} mm: half-width {own:.3} with segments of {spacing_mm:.3} mm, hangs at {hangs_mm:.3} mm; others: {}",
        if pairs.is_empty() { "none".to_owned() } else { pairs.join(", ") }
    );
    (line, warning)
}

/// Length of the segments [m] with which a half-width gives a stiffness index to a strand with such legs; nothing if they would have to be finer than is looked at, or
/// coarser than half of a leg.
fn spacing_for(half_width: f64, leg: f64, mass: f64, index: f64) -> Option<f64> {
    let hangs = |spacing: f64| Drape { segments: (leg / spacing).round() as usize, spacing, mass }.index(half_width);
    // Finer segments hang closer.
    let (mut fine, mut coarse) = (leg / f64::from(FINEST), 0.5 * leg);
    if hangs(fine) > index || hangs(coarse) < index {
        return None;
    }
    for _ in 0..LOOKS {
        let middle = (fine * coarse).sqrt();
        if hangs(middle) > index { coarse = middle } else { fine = middle }
    }
    Some(fine)
}

/// Counts what a scene would simulate, and refuses what could not be built. Solids are sampled for nothing, grooms are not grown, and grains
/// are not pushed apart.
pub fn estimate(scene: &Scene) -> Result<Estimate, SimError> {
    count(scene, &Shelf::default())
}

/// The same of many scenes, in their order: what they have in common is made once.
pub fn estimate_all(scenes: &[Scene]) -> Result<Vec<Estimate>, SimError> {
    let shelf = Shelf::stock(scenes)?;
    scenes.par_iter().map(|scene| count(scene, &shelf)).collect()
}

fn count(scene: &Scene, shelf: &Shelf) -> Result<Estimate, SimError> {
    let solids = SolidModel::to_count(scene, shelf)?;
    let simulation = &scene.simulation;
    let step_rate = simulation.fps * f64::from(simulation.substeps);
    let mut estimate = Estimate {
        steps: u64::from(simulation.frames) * u64::from(simulation.substeps)
            + (simulation.settle * step_rate).round() as u64,
        ..Estimate::default()
    };
    for solid in &solids {
        let triangles = solid.mesh.triangles.len() as u64;
        estimate.triangles += triangles;
        let body = scene.solid(&solid.name).is_some_and(|index| scene.solids[index].body.is_some());
        let kind = match (body, solid.animation.is_some()) {
            (true, _) => "a rigid body",
            (false, true) => "deforming",
            (false, false) => "rigid",
        };
        estimate.rigid_bodies += u64::from(body);
        estimate.lines.push((format!("solid {}", solid.name), format!("{triangles} triangles, {kind}")));
    }
    for groom in &scene.grooms {
        let skin = &solids[scene.solid(&groom.on).unwrap_or_default()];
        let [strands, vertices, children] = grooms::expected(scene, groom, skin, estimate.strand_vertices)?;
        estimate.strands += strands;
        estimate.strand_vertices += vertices;
        estimate.children += children;
        if groom.wet.is_some() {
            estimate.memory_bytes += wet_bytes(scene, groom, vertices);
        }
        let model = groom.strand.model.word();
        let text = format!("about {strands} strands, {vertices} vertices, model {model}");
        estimate.lines.push((format!("groom {}", groom.name), text));
        if let Some(index) = groom.csm.stiffness_index {
            let (line, warning) = index_line(groom, index);
            estimate.lines.push((format!("groom {}", groom.name), line));
            estimate.warnings.extend(warning);
        }
        if groom.import.is_none() {
            let segment = groom.length / f64::from(groom.vertices - 1);
            estimate.warnings.extend(grooms::gaps(scene, &groom.name, segment, &solids));
        }
    }
    for cord in &scene.cords {
        estimate.cord_segments = cords::count(cord, estimate.cord_segments)?;
        let text = format!("{} segments, {} clamps", cord.segments, cord.clamps.len());
        estimate.lines.push((format!("cord {}", cord.name), text));
    }
    if scene.liquid.is_some() {
        let [filled, emitted] = liquid::expected(scene, &solids)?;
        estimate.liquid_particles = filled + emitted;
        estimate.lines.push(("liquid".to_owned(), format!("{filled} particles, about {emitted} more come in")));
        estimate.warnings.extend(liquid::doubts(scene));
        if filled + emitted > liquid::MOST as u64 {
            estimate.warnings.push(format!(
                "liquid: emitters bring it to {} particles, if no drain takes them, and a run ends at {}; let them `stop` earlier, or make `spacing` larger",
                filled + emitted,
                liquid::MOST
            ));
        }
    }
    for body in &scene.grains {
        let [filled, poured] = grains::expected(scene, body, &solids)?;
        estimate.grains += filled + poured;
        let more = if body.pours.is_empty() { String::new() } else { format!(", at most {poured} more are poured in") };
        estimate.lines.push((format!("grains {}", body.name), format!("about {filled}{more}")));
        if filled + poured > fill::MOST {
            estimate.warnings.push(format!(
                "{}: pours bring the grains to {}, if no heap stops them, and a run ends at {}; let them `stop` earlier, or make their \
                 `radius` smaller or that of the grains larger",
                body.name,
                filled + poured,
                fill::MOST
            ));
        }
    }
    estimate.memory_bytes += estimate.strand_vertices * VERTEX_BYTES
        + estimate.strands * STRAND_BYTES
        + estimate.children * CHILD_BYTES
        + estimate.cord_segments * SEGMENT_BYTES
        + estimate.liquid_particles * PARTICLE_BYTES
        + estimate.grains * GRAIN_BYTES
        + estimate.triangles * TRIANGLE_BYTES;
    Ok(estimate)
}

/// What the water in a groom of so many vertices takes [bytes].
fn wet_bytes(scene: &Scene, groom: &Groom, vertices: u64) -> u64 {
    let segment = groom.length / f64::from(groom.vertices - 1).max(1.0);
    // A line of any direction meets 3/2 faces of a grid of cubes in the length of an edge.
    let portions = 1.0 + 1.5 * segment / scene.voxel();
    (vertices as f64 * (WET_VERTEX_BYTES + PORTION_BYTES * portions)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::scene_of;

    #[test]
    fn water_in_hair_takes_memory_and_more_so_in_small_voxels() {
        let bytes = |wet: &str| {
            let text = format!(
                "name = 'hair'\n[[solid]]\nname = 'ball'\nshape = {{ kind = 'sphere', radius = 0.1 }}\n\
                 [[groom]]\nname = 'hair'\non = 'ball'\nstrands = 10000\nvertices = 21\nlength = 0.27\n{wet}"
            );
            estimate(&scene_of(text)).unwrap().memory_bytes as f64 / 2.1e5
        };
        let dry = bytes("");
        let [fine, coarse] = ["0.003", "0.012"].map(|voxel| bytes(&format!("wet = {{}}\n[wetting]\nvoxel = {voxel}")));
        // The memory that runs of 10 000 and of 20 000 such strands held differed by 2070 and by 690 bytes a vertex.
        assert!(dry < 200.0, "{dry}");
        assert!((fine / 2070.0 - 1.0).abs() < 0.15, "{fine}");
        assert!((coarse / 690.0 - 1.0).abs() < 0.25, "{coarse}");
    }
}
