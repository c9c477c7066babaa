//! What a scene will cost, without building all of it.

use crate::SimError;
use crate::grooms;
use crate::solids::SolidModel;
use drench_scene::Scene;

/// What will be simulated, about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Simulated strands.
    pub strands: u64,
    /// Their vertices.
    pub strand_vertices: u64,
    /// Strands for pictures only.
    pub children: u64,
    /// Triangles of all solids.
    pub triangles: u64,
    /// Memory that the simulation will hold [bytes].
    pub memory_bytes: u64,
    /// Substeps of the whole run, settling included.
    pub steps: u64,
    /// One line per body: its name and what it is.
    pub lines: Vec<(String, String)>,
}

/// Bytes a strand vertex takes in model, state and scratch: rest shape 24 + 12 + 16, state 60, grid and lanes about 24.
const VERTEX_BYTES: u64 = 136;
/// Bytes a strand takes: root and frames before and after 100, offsets, partitions.
const STRAND_BYTES: u64 = 140;
/// Bytes a child takes: root, guides, weights.
const CHILD_BYTES: u64 = 56;
/// Bytes a triangle takes: indices, half a vertex with its normal, its share of the tree.
const TRIANGLE_BYTES: u64 = 120;

/// Counts what a scene would simulate. Solids are built without their fields, grooms are not grown.
pub fn estimate(scene: &Scene) -> Result<Estimate, SimError> {
    let solids = SolidModel::meshes_only(scene)?;
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
        let kind = if solid.animation.is_some() { "deforming" } else { "rigid" };
        estimate.lines.push((format!("solid {}", solid.name), format!("{triangles} triangles, {kind}")));
    }
    for groom in &scene.grooms {
        let skin = &solids[scene.solid(&groom.on).unwrap_or_default()];
        let [strands, vertices, children] = grooms::expected(scene, groom, skin, estimate.strand_vertices)?;
        estimate.strands += strands;
        estimate.strand_vertices += vertices;
        estimate.children += children;
        let model = groom.strand.model.word();
        let text = format!("about {strands} strands, {vertices} vertices, model {model}");
        estimate.lines.push((format!("groom {}", groom.name), text));
    }
    estimate.memory_bytes = estimate.strand_vertices * VERTEX_BYTES
        + estimate.strands * STRAND_BYTES
        + estimate.children * CHILD_BYTES
        + estimate.triangles * TRIANGLE_BYTES;
    Ok(estimate)
}
