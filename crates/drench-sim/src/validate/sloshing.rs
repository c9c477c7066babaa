//! Water that sloshes in a tank of a scene, with its sampled walls and its guard: kept in, kept whole, and as fast as waves are.

use super::{Case, GRAVITY, Measured};
use crate::experiment::scene_of;
use crate::{SimError, Simulation};
use glam::DVec3;
use std::f64::consts::{PI, TAU};

pub const CASES: &[Case] = &[
    Case {
        name: "sloshing-volume",
        law: "level of water that sloshes in a tank, over that of its volume: largest deviation in three periods",
        run: volume,
    },
    Case { name: "sloshing-period", law: "w^2 = g k tanh(k h): period of water that sloshes, over that", run: period },
];

/// Inside of the tank along the wave and across it, and depth of the water [m].
const LENGTH: f64 = 0.4;
const WIDTH: f64 = 0.1;
const DEPTH: f64 = 0.2;
/// Height of the wave [m]: a tenth of what would take it over the rim.
const WAVE: f64 = 0.03;
/// Frames per second.
const RATE: f64 = 50.0;

/// What was seen of it.
struct Sloshing {
    /// Level after every frame, over that of the volume.
    levels: Vec<f64>,
    /// When the water stood as high on both sides [s].
    crossings: Vec<f64>,
    /// Particles that were found outside of the tank, frame after frame.
    outside: usize,
}

/// Water begins level, with the velocities of the wave η = a sin(ω t) cos(k x) of half a length: v = ∇φ, φ = a ω cosh(k y) cos(k x) / (k sinh(k h)).
fn slosh(periods: f64) -> Result<Sloshing, SimError> {
    let text = format!(
        "name = 'slosh'\nsimulation = {{ fps = {RATE}, substeps = 1 }}\n\
         [liquid]\nmaterial = 'water'\nspacing = 0.0125\n\
         fill = [{{ kind = 'box', low = [0, 0, 0], high = [{LENGTH}, {DEPTH}, {WIDTH}] }}]\n\
         [[solid]]\nname = 'tank'\nshape = {{ kind = 'tank', size = [{LENGTH}, 0.5, {WIDTH}], wall = '3 cm' }}\n\
         position = [{}, 0, {}]\n",
        0.5 * LENGTH,
        0.5 * WIDTH
    );
    let mut simulation = Simulation::build(&scene_of(text))?;
    let (k, omega) = wave();
    let liquid = &mut simulation.world_mut().state.liquid;
    for (velocity, p) in liquid.velocities.iter_mut().zip(&liquid.positions) {
        let (along, up) = (-(k * p.x).sin() * (k * p.y).cosh(), (k * p.x).cos() * (k * p.y).sinh());
        *velocity = DVec3::new(along, up, 0.0) * (WAVE * omega / (k * DEPTH).sinh());
    }
    let count = simulation.world().state.liquid.len();
    let mut seen = Sloshing { levels: Vec::new(), crossings: Vec::new(), outside: 0 };
    let mut last = f64::INFINITY;
    for frame in 1..=(RATE * periods * TAU / omega).ceil() as u32 {
        simulation.advance_frame()?;
        let positions = &simulation.world().state.liquid.positions;
        let inside = |p: &&DVec3| (0.0..=LENGTH).contains(&p.x) && (0.0..=WIDTH).contains(&p.z) && p.y >= 0.0;
        seen.outside += count - positions.iter().filter(inside).count();
        let centre = positions.iter().sum::<DVec3>() / count as f64;
        // A wave of height a moves the centre of mass by −2 a L / (π² h) along, and lifts it by a² / (4 h).
        let height = (0.5 * LENGTH - centre.x) * PI * PI * DEPTH / (2.0 * LENGTH);
        seen.levels.push(2.0 * (centre.y - height * height / (4.0 * DEPTH)) / DEPTH);
        if height * last < 0.0 {
            seen.crossings.push((f64::from(frame) - height / (height - last)) / RATE);
        }
        last = height;
    }
    Ok(seen)
}

/// k [1/m] and ω [1/s].
fn wave() -> (f64, f64) {
    let k = PI / LENGTH;
    (k, (GRAVITY * k * (k * DEPTH).tanh()).sqrt())
}

fn volume() -> Result<Measured, SimError> {
    let seen = slosh(3.0)?;
    if seen.outside > 0 {
        return Ok(Measured::none(seen.outside));
    }
    let deviations = seen.levels.iter().map(|level| (level - 1.0).abs());
    Ok(Measured::at_most(0.01, deviations.fold(0.0, f64::max)))
}

fn period() -> Result<Measured, SimError> {
    let crossings = slosh(2.2)?.crossings;
    let (Some(first), Some(last)) = (crossings.first(), crossings.last()) else {
        return Ok(Measured::relative(1.0, f64::NAN, 0.0));
    };
    let half = (last - first) / (crossings.len() - 1) as f64;
    Ok(Measured::relative(1.0, half * wave().1 / PI, 0.02))
}
