//! What a step computes for every particle, in single precision and z-order: scratch.

use super::rows::{PIECE, Points, Rows};
use rayon::prelude::*;
use wide::f32x4;

/// Everything about the particles of a liquid that the passes of a step share.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    /// Positions relative to the origin [m], and masses [kg].
    pub points: Points,
    /// Neighbours.
    pub rows: Vec<Rows>,
    /// Velocities [m/s].
    pub v: Vec<f32x4>,
    /// Velocities before the pressure that is being solved for [m/s].
    pub free: Vec<f32x4>,
    /// Densities [kg/m3].
    pub density: Vec<f32>,
    /// Σ m_j ∇W over liquid neighbours [kg/m4].
    pub gradient: Vec<f32x4>,
    /// Σ ψ_b ∇W over solids, as often as they count in pressure [kg/m4].
    pub wall: Vec<f32x4>,
    /// Σ ψ_b v_b · ∇W, as often as they count in pressure [kg/(m3 s)].
    pub wall_rate: Vec<f32>,
    /// −Σ V W' r / 3 over everything around, 1 in a continuum, and then the factor that makes viscosity right.
    pub even: Vec<f32>,
    /// One over the answer of the density's rate to the particle's own pressure; 0 where pressure has no hold.
    pub inverse_diagonal: Vec<f32>,
    /// Pressure impulses dt p/ρ² [m5/(kg s)].
    pub kappa: Vec<f32>,
    pub kappa_next: Vec<f32>,
    pub kappa_last: Vec<f32>,
    /// Gradients of the components of the velocity [1/s].
    pub slopes: Vec<[f32x4; 3]>,
    /// Memory of the viscosity.
    pub krylov: [Vec<f32x4>; 4],
}

impl Fields {
    /// Makes room for `count` particles.
    pub fn resize(&mut self, count: usize) {
        self.rows.resize_with(count.div_ceil(PIECE), Rows::default);
        for vectors in [&mut self.v, &mut self.free, &mut self.gradient, &mut self.wall] {
            vectors.resize(count, f32x4::ZERO);
        }
        self.krylov.iter_mut().for_each(|values| values.resize(count, f32x4::ZERO));
        self.slopes.resize(count, [f32x4::ZERO; 3]);
        let scalars = [
            &mut self.density,
            &mut self.wall_rate,
            &mut self.even,
            &mut self.inverse_diagonal,
            &mut self.kappa,
            &mut self.kappa_next,
            &mut self.kappa_last,
        ];
        for values in scalars {
            values.resize(count, 0.0);
        }
    }
}

/// Computes one value a particle from its row, piece by piece in parallel.
pub(crate) fn for_each_row<T: Send>(rows: &[Rows], out: &mut [T], value: impl Fn(usize, &[u32], &[f32]) -> T + Sync) {
    out.par_chunks_mut(PIECE).zip(rows).enumerate().for_each(|(piece, (out, rows))| {
        for (number, out) in out.iter_mut().enumerate() {
            let (others, weights) = rows.row(number);
            *out = value(piece * PIECE + number, others, weights);
        }
    });
}

/// The first three lanes as a dot product.
#[inline]
pub(crate) fn dot(a: f32x4, b: f32x4) -> f32 {
    let [x, y, z, _] = (a * b).to_array();
    x + y + z
}

/// A sum over particles whose bits depend on nothing but the values: pieces of a fixed length, joined in order.
pub(crate) fn sum(count: usize, value: impl Fn(usize) -> f64 + Sync) -> f64 {
    drench_math::ordered::sum(count, value)
}
