//! Single strands against mechanics.

use super::bench_strand::{BenchStrand, limp};
use super::{Case, GRAVITY, Measured};
use crate::SimError;
use drench_physics::strands::{Material, Method, Tip, dftl, pbd};
use glam::DVec3;

pub const CASES: &[Case] = &[
    Case { name: "free-fall", law: "a root falling freely: no vertex moves against it", run: free_fall },
    Case { name: "pendulum", law: "T = 2 pi sqrt(L/g) (1 + th^2/16 + 11 th^4/3072), th = 0.5", run: pendulum },
    Case { name: "pendulum-dftl", law: "the same for follow-the-leader with one segment", run: pendulum_dftl },
    Case { name: "hanging-chain", law: "f = 1.2024 / (2 pi) sqrt(g/L), 40 segments", run: hanging_chain },
    Case { name: "catenary", law: "sag of y = a cosh(x/a) for length 1 m over a span of 0.6 m", run: catenary },
    Case {
        name: "zero-stretch",
        law: "follow-the-leader: no strain while its root shakes at 4 m/s",
        run: zero_stretch,
    },
    Case { name: "pbd-convergence", law: "strain after 400 iterations over strain after 25", run: pbd_convergence },
    Case {
        name: "cantilever-1",
        law: "H/W = 0.12456 at G = rho A g L^3/(E I) = 1 [Romero2021]",
        run: || leader(1.0, 0.12456),
    },
    Case { name: "cantilever-10", law: "H/W = 1.06680 at G = 10 [Romero2021]", run: || leader(10.0, 1.06680) },
];

fn exact_pbd(iterations: u32) -> Method {
    Method::Pbd(pbd::Parameters {
        iterations: pbd::Iterations::Fixed(iterations),
        relaxation: 1.0,
        mass: pbd::MassLaw::Even,
        strain_limit: pbd::NO_LIMIT,
    })
}

/// In a freely falling frame nothing has weight: after 1 s every vertex is as far from the root as at the beginning.
fn free_fall() -> Result<Measured, SimError> {
    let (dt, steps) = (1e-3, 1000);
    let mut strand = BenchStrand::new(20, 0.2, DVec3::X, limp(), exact_pbd(20), Tip::Free)?;
    let start = strand.state.positions.clone();
    let mut fallen = 0.0;
    for step in 1..=steps {
        // As the integrator does it: velocity first, then position [Henne2013, 3.1].
        fallen -= GRAVITY * dt * dt * f64::from(step);
        strand.roots.positions[0] = DVec3::new(0.0, fallen, 0.0);
        strand.step(dt)?;
    }
    let moved =
        strand.state.positions.iter().zip(&start).map(|(now, then)| (*now - *then - DVec3::Y * fallen).length());
    Ok(Measured::at_most(1e-6, moved.fold(0.0, f64::max)))
}

fn pendulum() -> Result<Measured, SimError> {
    pendulum_with(exact_pbd(1))
}

fn pendulum_dftl() -> Result<Measured, SimError> {
    pendulum_with(Method::Dftl(dftl::Parameters { damping: 0.9 }))
}

/// Mean period of two swings of a single segment.
fn pendulum_with(method: Method) -> Result<Measured, SimError> {
    let (length, angle, dt) = (0.5, 0.5_f64, 2e-4);
    let mut strand = BenchStrand::new(2, length, DVec3::NEG_Y, limp(), method, Tip::Free)?;
    strand.point_along(DVec3::new(angle.sin(), -angle.cos(), 0.0));
    let got = period(&mut strand, dt, 4)?;
    let expected = std::f64::consts::TAU
        * (length / GRAVITY).sqrt()
        * (1.0 + angle.powi(2) / 16.0 + 11.0 * angle.powi(4) / 3072.0);
    Ok(Measured::relative(expected, got, 2e-3))
}

/// The slowest mode of a hanging chain: started in its shape J0(2.4048 sqrt(s/L)), s from the tip.
fn hanging_chain() -> Result<Measured, SimError> {
    let (length, vertices, dt) = (1.0, 41, 5e-4);
    let mut strand = BenchStrand::new(vertices, length, DVec3::NEG_Y, limp(), exact_pbd(60), Tip::Free)?;
    let spacing = length / (vertices - 1) as f64;
    // Lay out segments with the slope of the mode, at a small amplitude, keeping their length.
    for i in 1..vertices {
        let middle = length - spacing * (i as f64 - 0.5);
        let slope = 0.02 * 0.5 * 2.4048 / (middle * length).sqrt() * bessel_j1(2.4048 * (middle / length).sqrt());
        let segment = DVec3::new(slope, -(1.0 - slope * slope).sqrt(), 0.0) * spacing;
        strand.state.positions[i] = strand.state.positions[i - 1] + segment;
    }
    let got = 1.0 / period(&mut strand, dt, 4)?;
    let expected = 1.2024 * (GRAVITY / length).sqrt() / std::f64::consts::TAU;
    Ok(Measured::relative(expected, got, 1e-2))
}

/// Time of one swing of the tip through x = 0, averaged over `halves` half swings.
pub(super) fn period(strand: &mut BenchStrand, dt: f64, halves: usize) -> Result<f64, SimError> {
    let mut crossings = Vec::new();
    let mut before = strand.tip().x;
    for step in 1..200_000_u32 {
        strand.step(dt)?;
        let now = strand.tip().x;
        if before * now < 0.0 {
            crossings.push(dt * (f64::from(step) - now / (now - before)));
            if crossings.len() > halves {
                return Ok(2.0 * (crossings[halves] - crossings[0]) / halves as f64);
            }
        }
        before = now;
    }
    Ok(f64::NAN)
}

/// J1 by its series, enough for arguments up to 3.
fn bessel_j1(x: f64) -> f64 {
    let square = -0.25 * x * x;
    let mut term = 0.5 * x;
    (1..20).fold(0.5 * x, |sum, k| {
        term *= square / (f64::from(k) * f64::from(k + 1));
        sum + term
    })
}

/// A chain of 1 m held at two points 0.6 m apart comes to rest in a catenary.
fn catenary() -> Result<Measured, SimError> {
    let (length, span, vertices, dt) = (1.0, 0.6, 41, 2e-3);
    let material = Material { damping: 4.0, ..limp() };
    let mut strand = BenchStrand::new(vertices, length, DVec3::X, material, exact_pbd(400), Tip::Clamped)?;
    strand.roots.tips[0] = DVec3::X * span;
    // A triangle with the right length is close enough to begin with.
    let depth = (0.25 * length * length - 0.25 * span * span).sqrt();
    for i in 0..vertices {
        let s = i as f64 / (vertices - 1) as f64;
        strand.state.positions[i] = DVec3::new(s * span, -depth * (1.0 - (2.0 * s - 1.0).abs()), 0.0);
    }
    for _ in 0..3000 {
        strand.step(dt)?;
    }
    let sag = -strand.state.positions.iter().map(|p| p.y).fold(0.0, f64::min);
    // 2 a sinh(span / 2a) = length by bisection.
    let (mut low, mut high) = (0.05_f64, 10.0_f64);
    for _ in 0..100 {
        let a = 0.5 * (low + high);
        if 2.0 * a * (span / (2.0 * a)).sinh() > length { low = a } else { high = a }
    }
    Ok(Measured::relative(low * ((span / (2.0 * low)).cosh() - 1.0), sag, 5e-3))
}

/// The root is shaken at 4 m/s, as in [Henne2013, 3.4.1]; every segment keeps its length.
fn zero_stretch() -> Result<Measured, SimError> {
    let method = Method::Dftl(dftl::Parameters { damping: 0.9 });
    let mut strand = BenchStrand::new(30, 0.58, DVec3::X, limp(), method, Tip::Free)?;
    let mut worst = 0.0_f64;
    for step in 1..=500_u32 {
        let time = 0.01 * f64::from(step);
        // A triangle wave of 1 m has a constant speed of 4 m/s.
        strand.roots.positions[0] = DVec3::X * (4.0 * ((time % 0.5) - 0.25).abs() - 1.0);
        strand.step(0.01)?;
        worst = worst.max(strand.strain_max());
    }
    Ok(Measured::at_most(1e-6, worst))
}

/// Iterating longer must lead to the inextensible strand: the strain goes down at least tenfold.
fn pbd_convergence() -> Result<Measured, SimError> {
    let strain_after = |iterations| -> Result<f64, SimError> {
        let mut strand = BenchStrand::new(30, 0.58, DVec3::X, limp(), exact_pbd(iterations), Tip::Free)?;
        let mut worst = 0.0_f64;
        for _ in 0..200 {
            strand.step(0.01)?;
            worst = worst.max(strand.strain_max());
        }
        Ok(worst)
    };
    Ok(Measured::at_most(0.1, strain_after(400)? / strain_after(25)?))
}

fn leader(weight: f64, expected: f64) -> Result<Measured, SimError> {
    cantilever(weight, expected, 41, Method::Dftl(dftl::Parameters { damping: 0.9 }), 0.05)
}

/// A clamped strand of a fibre bends under its own weight; drop of the tip over its reach.
pub fn cantilever(
    weight: f64,
    expected: f64,
    vertices: usize,
    method: Method,
    tolerance: f64,
) -> Result<Measured, SimError> {
    let material = Material { shape_damping: 1.0, damping: 5.0, ..Material::default() };
    // G = rho A g L^3 / (E pi r^4 / 4) = 4 rho g L^3 / (E r^2).
    let radius = super::bench_strand::RADIUS;
    let length = (weight * material.youngs_modulus * radius * radius / (4.0 * material.density * GRAVITY)).cbrt();
    let mut strand = BenchStrand::new(vertices, length, DVec3::X, material, method, Tip::Free)?;
    for _ in 0..20_000 {
        strand.step(1e-3)?;
    }
    let tip = strand.tip();
    Ok(Measured::relative(expected, -tip.y / tip.x, tolerance))
}
