//! Solver iterations of a rope that is moved, against the tables of [Henne2013, 3.4.1].
//!
//! The source does not say how its rope is moved; here the root goes to and fro at constant speed, half a second each way,
//! for ten seconds. Absolute counts therefore agree only roughly; what must hold is what the tables teach: over-relaxation
//! saves most of the iterations, and uneven masses half of what is left.

use super::bench_strand::{BenchStrand, limp};
use super::{Case, Measured};
use crate::SimError;
use drench_physics::strands::{Method, Tip, pbd};
use glam::DVec3;

const DT: f64 = 0.01;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "iterations-over-relaxation",
        law: "mean iterations at k = 1.65 over k = 1, 4 m/s [Henne2013: 0.2]",
        run: || {
            Ok(Measured::at_most(
                0.35,
                at_speed(4.0, 1.65, pbd::MassLaw::Even)?.0 / at_speed(4.0, 1.0, pbd::MassLaw::Even)?.0,
            ))
        },
    },
    Case {
        name: "iterations-uneven-mass",
        law: "mean iterations with m_i = 1/i over equal masses, k = 1, 4 m/s [Henne2013: 0.52]",
        run: || {
            Ok(Measured::at_most(
                0.65,
                at_speed(4.0, 1.0, pbd::MassLaw::Uneven)?.0 / at_speed(4.0, 1.0, pbd::MassLaw::Even)?.0,
            ))
        },
    },
    Case {
        name: "iterations-falling",
        law: "mean iterations of a falling rope, k = 1.65, 0.04 m [Henne2013: 4.0]",
        run: || Ok(Measured::relative(4.0, falling(0.04, 1.65)?.0, 0.15)),
    },
];

/// A row of the table: (mean, largest) iterations.
pub type Counts = (f64, u32);

fn rope(
    spacing: f64,
    relaxation: f64,
    mass: pbd::MassLaw,
    iterations: pbd::Iterations,
) -> Result<BenchStrand, SimError> {
    let method = Method::Pbd(pbd::Parameters { iterations, relaxation, mass, strain_limit: pbd::NO_LIMIT });
    BenchStrand::new(30, 29.0 * spacing, DVec3::X, limp(), method, Tip::Free)
}

/// Until the whole rope is within 5 % of its length, as most of the tables have it.
pub const WHOLE: pbd::Iterations = pbd::Iterations::Strand { stretch: 0.05, least: 4, most: 1000 };

fn at_speed(speed: f64, relaxation: f64, mass: pbd::MassLaw) -> Result<Counts, SimError> {
    moving(0.04, speed, relaxation, mass, WHOLE)
}

/// Iterations of a rope that falls from the horizontal, over three seconds.
pub fn falling(spacing: f64, relaxation: f64) -> Result<Counts, SimError> {
    count(rope(spacing, relaxation, pbd::MassLaw::Even, WHOLE)?, 300, |_| DVec3::ZERO)
}

/// Iterations of a rope that hangs while its root is moved to and fro.
pub fn moving(
    spacing: f64,
    speed: f64,
    relaxation: f64,
    mass: pbd::MassLaw,
    iterations: pbd::Iterations,
) -> Result<Counts, SimError> {
    let mut hanging = rope(spacing, relaxation, mass, iterations)?;
    hanging.point_along(DVec3::NEG_Y);
    let there_and_back = |time: f64| speed * (0.5 - ((time + 0.25) % 1.0 - 0.5).abs()) - 0.25 * speed;
    count(hanging, 1000, |step| DVec3::X * there_and_back(f64::from(step) * DT))
}

fn count(mut strand: BenchStrand, steps: u32, root: impl Fn(u32) -> DVec3) -> Result<Counts, SimError> {
    let (mut sum, mut most) = (0.0, 0);
    for step in 1..=steps {
        strand.roots.positions[0] = root(step);
        let tally = strand.step(DT)?;
        sum += tally.iterations_mean();
        most = most.max(tally.iterations_max);
    }
    Ok((sum / f64::from(steps), most))
}
