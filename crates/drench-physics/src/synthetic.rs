//! Hair on a ball, for benches and tests: no mesh, no groom, the same strands every time.

use crate::strands::{RestShape, Roots};
use crate::wetting::hair::{Fibre, Groom};
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

    /// The same strands, `spacing` metres apart as they are, wound into coils of this radius [m] with so many segments to a turn.
    pub fn curled(mut self, spacing: f64, radius: f64, segments: f64) -> Self {
        let turn = std::f64::consts::TAU / segments;
        let across = 2.0 * radius * (0.5 * turn).sin();
        let rise = (spacing * spacing - across * across).max(0.0).sqrt();
        for pair in self.offsets.windows(2) {
            let root = self.positions[pair[0] as usize];
            let along = root.normalize();
            let (u, v) = along.any_orthonormal_pair();
            for (k, position) in (0..).zip(&mut self.positions[pair[0] as usize..pair[1] as usize]) {
                let (sine, cosine) = (turn * f64::from(k)).sin_cos();
                *position = root + along * (rise * f64::from(k)) + (u * (cosine - 1.0) + v * sine) * radius;
            }
        }
        self
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

/// Straight strands side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    /// First vertex of each strand, and the vertex count.
    pub offsets: Vec<u32>,
    /// Positions [m].
    pub positions: Vec<DVec3>,
    /// Masses of the vertices [kg].
    pub masses: Vec<f32>,
    /// Length of the segment that ends at each vertex [m].
    pub lengths: Vec<f32>,
}

/// Mass of a segment in a [`Bundle`] [kg].
const MASS: f32 = 1e-7;

impl Bundle {
    /// Strands of `vertices` vertices, `length` apart, from each of the roots along `way`.
    pub fn new(roots: &[DVec3], way: DVec3, vertices: u32, length: f64) -> Self {
        let count = roots.len() as u32;
        let place = |root: &DVec3| {
            let root = *root;
            (0..vertices).map(move |k| root + way * (length * f64::from(k)))
        };
        let end = |k: u32| if k == 0 || k + 1 == vertices { 0.5 * MASS } else { MASS };
        Self {
            offsets: (0..=count).map(|s| s * vertices).collect(),
            positions: roots.iter().flat_map(place).collect(),
            masses: (0..count).flat_map(|_| (0..vertices).map(end)).collect(),
            lengths: (0..count).flat_map(|_| (0..vertices).map(|k| if k == 0 { 0.0 } else { length as f32 })).collect(),
        }
    }

    /// `side` x `side` strands, `apart` from each other, hanging down.
    pub fn hanging(side: u32, apart: f64, vertices: u32, length: f64) -> Self {
        let roots: Vec<DVec3> =
            (0..side * side).map(|k| DVec3::new(f64::from(k % side), 0.0, f64::from(k / side)) * apart).collect();
        Self::new(&roots, DVec3::NEG_Y, vertices, length)
    }

    /// As a groom that gets wet.
    pub fn groom(&self, fibre: Fibre) -> Groom<'_> {
        Groom { offsets: &self.offsets, masses: &self.masses, lengths: &self.lengths, fibre }
    }
}
