//! Hair on a ball, for benches and tests: no mesh, no groom, the same strands every time.

use crate::strands::{RestShape, Roots};
use drench_math::random::Stream;
use glam::DVec3;

/// Straight strands on the upper part of a ball, ordered so that neighbours in space are neighbours in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct HairyBall {
    /// First vertex of each strand, and the vertex count.
    pub offsets: Vec<u32>,
    /// Rest positions [m].
    pub positions: Vec<DVec3>,
    /// Radius of each vertex [m].
    pub radii: Vec<f32>,
}

impl HairyBall {
    /// `strands` strands stand on a ball of this radius around the origin, above `lowest` (height over radius, -1 to 1), with
    /// `vertices(height over radius)` vertices each (at least 2), `spacing` metres apart.
    pub fn new(radius: f64, strands: usize, lowest: f64, spacing: f64, vertices: impl Fn(f64) -> usize) -> Self {
        let golden = std::f64::consts::PI * (3.0 - 5.0_f64.sqrt());
        let mut directions: Vec<DVec3> = (0..strands)
            .map(|i| {
                // Fibonacci spiral: even in area.
                let y = 1.0 - (1.0 - lowest) * (i as f64 + 0.5) / strands as f64;
                let across = (1.0 - y * y).max(0.0).sqrt();
                let angle = golden * i as f64;
                DVec3::new(across * angle.cos(), y, across * angle.sin())
            })
            .collect();
        directions.sort_by_key(|direction| morton(*direction));
        let mut ball = Self { offsets: vec![0], positions: Vec::new(), radii: Vec::new() };
        for direction in directions {
            let count = vertices(direction.y).max(2);
            ball.positions.extend((0..count).map(|k| direction * (radius + spacing * k as f64)));
            ball.offsets.push(ball.positions.len() as u32);
        }
        ball.radii = vec![35e-6; ball.positions.len()];
        ball
    }

    /// `strands` strands of `vertices` vertices and 20 cm on the upper half of a head of 10 cm, hanging down around it, a little untidy
    /// like combed hair: as crowded as hair is.
    pub fn combed(strands: usize, vertices: usize) -> Self {
        let (head, spacing) = (0.1, 0.2 / (vertices.max(2) - 1) as f64);
        let mut ball = Self::new(head, strands, 0.0, spacing, |_| vertices);
        let stream = Stream::new(1, "combed");
        for strand in 0..strands {
            let own = ball.offsets[strand] as usize..ball.offsets[strand + 1] as usize;
            let mut along = ball.positions[own.start].normalize();
            for i in own.start + 1..own.end {
                let at = ball.positions[i - 1];
                // Down once it is over the side of the head.
                let down = if at.with_y(0.0).length() > head { 0.4 } else { 0.12 };
                along = (along + stream.direction(i as u64) * 0.12 + DVec3::NEG_Y * down).normalize();
                let next = at + along * spacing;
                ball.positions[i] = if next.length() < 1.01 * head { next.normalize() * (1.01 * head) } else { next };
            }
        }
        ball
    }

    /// The rest shape.
    pub fn rest(&self) -> RestShape<'_> {
        RestShape { offsets: &self.offsets, positions: &self.positions, radii: &self.radii }
    }

    /// The roots where they are at rest.
    pub fn roots(&self) -> Roots {
        let strands = self.offsets.len() - 1;
        Roots::at_rest(self.offsets[..strands].iter().map(|&first| self.positions[first as usize]).collect())
    }
}

/// Bits of three coordinates in -1 to 1, interleaved.
fn morton(p: DVec3) -> u64 {
    let spread = |x: f64| {
        let cell = ((x * 0.5 + 0.5).clamp(0.0, 1.0) * 1023.0) as u64;
        (0..10).fold(0, |bits, b| bits | (cell >> b & 1) << (3 * b))
    };
    spread(p.x) | spread(p.y) << 1 | spread(p.z) << 2
}
