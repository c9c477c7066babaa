//! Surface tension from the energy of the interface, with a contact angle on solids.
//!
//! The colour of the liquid, c = Σ V_j W, is one inside and falls to zero across the surface. Its squared gradient is an energy
//! of the surface [Cahn1958; He2014]: with n_i = Σ V_j ∇W_ij, s_i = Σ V_b ∇W_ib over samples of solids, V = m/ρ0,
//!
//! ```text
//! E = κ Σ_i V_i (|n_i|² / 2 + β n_i · s_i),     F_i = −∂E/∂x_i
//!   = −κ V_i (Σ_j V_j H_ij (n_i − n_j + β (s_i − s_j)) + β Σ_b V_b H_ib n_i),     H = ∇∇W.
//! ```
//!
//! At a flat surface n is the kernel integrated over planes, w(x) at the depth x, so that σ = κ/2 ∫ w² dx gives κ: no
//! fitted force. At a wall s = −n, the liquid's energy there is σ (1 − 2β), and Young's law σ cos θ = σ_sv − σ_sl gives
//! β = (1 + cos θ)/2. Forces of pairs are opposite and E does not change under rotation: momentum and angular momentum are kept.
//!
//! The surface of a liquid of particles is not the one of the integral: its outermost particles lie half a distance below it
//! and settle denser or looser. `CALIBRATION` corrects κ so that drops oscillate at Rayleigh's frequency.
//!
//! Breaks down: films and threads of one particle; drops of less than some fifty particles.

use super::fields::{Fields, dot, for_each_row};
use super::kernel::CubicSpline;
use super::rows::PIECE;
use super::walls::Walls;
use wide::f32x4;

/// κ over that of the flat, continuous surface: from the frequency of drops (`drench validate drop`).
pub(crate) const CALIBRATION: f64 = 1.0;

/// Strengths of the model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tension {
    /// κ dt / ρ0² [m2·...], so that weights m_j count instead of volumes.
    strength: f32,
    /// β.
    adhesion: f32,
    inverse_density: f32,
    inverse_support: f32,
    bend: f32,
}

impl Tension {
    pub fn new(surface_tension: f64, contact_angle: f64, density: f64, kernel: &CubicSpline, dt: f64) -> Self {
        let kappa = CALIBRATION * 2.0 * surface_tension / kernel.interface();
        Self {
            strength: (kappa * dt / (density * density)) as f32,
            adhesion: (0.5 * (1.0 + contact_angle.cos())) as f32,
            inverse_density: (1.0 / density) as f32,
            inverse_support: (1.0 / kernel.support) as f32,
            bend: (6.0 * kernel.scale / kernel.support.powi(4)) as f32,
        }
    }

    /// m_j H u for a neighbour whose weight m_j W'/r and mass are known.
    #[inline]
    fn hessian(&self, d: f32x4, weight: f32, mass: f32, u: f32x4) -> f32x4 {
        let q = dot(d, d).sqrt() * self.inverse_support;
        let bend = if q <= 0.5 { 3.0 / q.max(1e-6) } else { (1.0 - q * q) / (q * q * q) };
        u * f32x4::splat(weight) + d * f32x4::splat(mass * self.bend * bend * dot(d, u))
    }

    /// What a wall point gets from particle i [N s].
    pub fn impulse(&self, fields: &Fields, walls: &Walls, i: usize, b: usize, weight: f32) -> f32x4 {
        let d = fields.points.x[i] - walls.points.x[b];
        let n = fields.gradient[i] * f32x4::splat(self.inverse_density);
        let scale = self.strength * self.adhesion * fields.points.masses[i];
        self.hessian(d, weight, walls.points.masses[b], n) * f32x4::splat(scale)
    }
}

/// v += dt F / m.
pub(crate) fn pull(fields: &mut Fields, walls: &[&Walls], tension: Tension) {
    std::mem::swap(&mut fields.v, &mut fields.free);
    let Fields { points, rows, v, free, gradient, solid, .. } = fields;
    let (x, masses) = (&points.x, &points.masses);
    let scale = f32x4::splat(tension.inverse_density);
    let adhesion = f32x4::splat(tension.adhesion);
    // n and s of a particle, as they appear together.
    let colour = |i: usize| (gradient[i] + solid[i] * adhesion) * scale;
    for_each_row(rows, v, |i, others, weights| {
        let own = colour(i);
        let mut force = f32x4::ZERO;
        for (&j, &weight) in others.iter().zip(weights) {
            let j = j as usize;
            force += tension.hessian(x[i] - x[j], weight, masses[j], own - colour(j));
        }
        let n = gradient[i] * scale * adhesion;
        for walls in walls {
            let (others, weights) = walls.rows[i / PIECE].row(i % PIECE);
            for (&b, &weight) in others.iter().zip(weights) {
                let b = b as usize;
                force += tension.hessian(x[i] - walls.points.x[b], weight, walls.points.masses[b], n);
            }
        }
        free[i] - force * f32x4::splat(tension.strength)
    });
}

#[cfg(test)]
mod tests {
    use super::super::rows::{Kernel8, Rows, Search};
    use super::*;
    use drench_geometry::neighbours::Neighbours;
    use drench_math::random::Stream;
    use glam::DVec3;

    /// E / κ of the module header without walls, in double precision.
    fn energy(kernel: &CubicSpline, positions: &[DVec3], volume: f64) -> f64 {
        let gradient = |i: usize| {
            let share = |j: usize| {
                let d = positions[i] - positions[j];
                d * (volume * kernel.slope(d.length()))
            };
            (0..positions.len()).filter(|&j| j != i).map(share).sum::<DVec3>()
        };
        (0..positions.len()).map(|i| 0.5 * volume * gradient(i).length_squared()).sum()
    }

    #[test]
    fn forces_are_the_derivative_of_the_energy() {
        let kernel = CubicSpline::new(2.0);
        let stream = Stream::new(8, "tension");
        let mut positions: Vec<DVec3> =
            (0..40).map(|i| stream.direction(i) * 1.8 * stream.uniform(500 + i).cbrt()).collect();
        let mut neighbours = Neighbours::new();
        neighbours.rebuild(&positions, kernel.support).unwrap();
        positions = neighbours.order().iter().map(|&i| positions[i as usize]).collect();
        let mut fields = Fields::default();
        fields.resize(positions.len());
        // Density 1 and volume 1: mass 1.
        fields.points.set(positions.len(), |i| positions[i].as_vec3().to_array(), |_| 1.0);
        let mut rows = Rows::default();
        let search = Search { neighbours: &neighbours, points: &fields.points, kernel: Kernel8::new(&kernel) };
        let seeker = |i: usize| (neighbours.cell_of(positions[i]), fields.points.x[i], i as u32);
        let mut gradients = Vec::new();
        search.fill(&mut rows, positions.len(), seeker, |_, sums| gradients.push(sums.gradient));
        fields.gradient = gradients;
        fields.rows = vec![rows];
        let sigma = 0.5 * kernel.interface() / CALIBRATION;
        pull(&mut fields, &[], Tension::new(sigma, 1.0, 1.0, &kernel, 1.0));
        let mut largest = 0.0_f64;
        for i in 0..positions.len() {
            for axis in 0..3 {
                let e = 1e-5;
                let mut moved = positions.clone();
                moved[i][axis] += e;
                let up = energy(&kernel, &moved, 1.0);
                moved[i][axis] -= 2.0 * e;
                let down = energy(&kernel, &moved, 1.0);
                let expected = -(up - down) / (2.0 * e);
                let got = f64::from(fields.v[i].to_array()[axis]);
                largest = largest.max(expected.abs());
                assert!((got - expected).abs() < 1e-3 * (0.1 + expected.abs()), "{i} {axis}: {got} {expected}");
            }
        }
        assert!(largest > 0.1, "{largest}");
    }
}
