//! The strands of a groom at once, for those who draw them by themselves.

use crate::RenderError;
use crate::strands::{Nodes, Strands};
use drench_io::{Frame, StrandBody};
use rayon::prelude::*;

/// Strands a parallel chunk holds.
const CHUNK: usize = 1024;

/// Strands of a groom as pictures show them, children among them, at the vertices that were simulated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DrawnStrands {
    /// First vertex of each strand, and the vertex count at the end.
    pub offsets: Vec<u32>,
    /// Vertex positions in the world [m].
    pub positions: Vec<[f32; 3]>,
    /// Radius at each vertex, with the film of water around it [m].
    pub radii: Vec<f32>,
    /// The simulated vertex whose values each vertex has: its own, or that of a child's nearest guide.
    pub sources: Vec<u32>,
    /// Number of each strand; children follow the simulated strands.
    pub numbers: Vec<u32>,
    /// How many strands there are, those that were not asked for included.
    pub total: usize,
}

impl DrawnStrands {
    /// The strands of `body`, a groom of `frame`: one of every `share`. Strands that cannot be drawn are left out.
    pub fn gather(frame: &Frame, body: &StrandBody, children: bool, share: usize) -> Result<Self, RenderError> {
        let source = Strands::new(body, frame, 1.0)?;
        let total = if children { source.len() } else { source.simulated() };
        let chosen: Vec<u32> = (0..total as u32).step_by(share.max(1)).collect();
        let parts = chosen.par_chunks(CHUNK).map(|chunk| {
            let (mut part, mut nodes) = (Self::default(), Nodes::default());
            for &number in chunk {
                source.read(number as usize, &mut nodes);
                if nodes.drawable() {
                    part.offsets.push(nodes.positions.len() as u32);
                    part.positions.extend(nodes.positions.iter().map(|p| p.to_array()));
                    part.radii.extend(&nodes.radii);
                    let first = source.range(source.guide(number as usize)).start as u32;
                    part.sources.extend(first..first + nodes.positions.len() as u32);
                    part.numbers.push(number);
                }
            }
            part
        });
        let mut all = Self { offsets: vec![0], total, ..Self::default() };
        for part in parts.collect::<Vec<_>>() {
            for count in part.offsets {
                all.offsets.push(all.offsets.last().unwrap_or(&0) + count);
            }
            all.positions.extend(part.positions);
            all.radii.extend(part.radii);
            all.sources.extend(part.sources);
            all.numbers.extend(part.numbers);
        }
        Ok(all)
    }
}
