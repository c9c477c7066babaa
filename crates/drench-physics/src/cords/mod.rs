//! Cords: strands with all effects of [Rungjiratananon2012, chapter 4]: they bend, twist, yield, tear and flick, are clamped anywhere, and
//! carry rigid bodies.
//!
//! | module | what it does | section of the text |
//! |---|---|---|
//! | `predict` | inertia, weight, air, forces of twist | 4.1 |
//! | `bend` | chain shape matching, where there is no rod | 4.1 |
//! | `rod` | bending of what is straight at rest and has a modulus | |
//! | `press` | resistance to compression | |
//! | `tension` | lengths and tensions at once | 4.2, 4.4.2 |
//! | `round` | one round of that | |
//! | `law` | tension over length | |
//! | `chain` | the linear system of a round | |
//! | `touch` | contact of vertices with solids and its reaction | 4.5 |
//! | `lean` | the same between vertices | 4.5 |
//! | `flick` | stored energy becomes motion | 4.4.3 |
//! | `twist` | twist-free frames, angles, torques | 4.3 |
//! | `writhe` | how a cord winds about itself | |
//! | `tear` | topology changes | 4.4.3 |
//! | `curve` | stress over strain | 4.4.1 |
//! | `clamp` | what is held, and by what | |
//! | `islands` | many bodies of cords, side by side | |
//!
//! **Limits.** Stress and strain are nominal (area and length at rest). The torque of the last substep bends the cord in the next, and a body that lies on a cord is
//! pushed in the next rigid step: both are explicit. Cords do not see each other here.

mod bend;
mod chain;
mod clamp;
mod curve;
mod flick;
mod frame;
mod islands;
mod law;
mod lean;
mod model;
mod predict;
mod press;
mod rod;
mod round;
mod state;
mod tear;
mod tension;
mod touch;
mod twist;
mod writhe;

pub(crate) use bend::without_momentum;
pub use clamp::{Bodies, Clamp, Holder, held};
pub use curve::Curve;
pub use islands::solve;
pub use model::{Bending, CordMaterial, CordModel, Torsion};
pub use rod::resistance;
pub use state::{CordScratch, CordState, Tally};
pub use twist::follow;
pub use writhe::writhe;

use crate::error::PhysicsError;
use crate::strands::Environment;

/// What surrounds the cords, and for how long.
pub(crate) struct Surroundings<'a> {
    environment: &'a Environment<'a>,
    dt: f64,
}

/// A body of cords, what it takes to solve it, and what that met.
#[derive(Debug)]
pub struct Cords<'a> {
    /// Masses, curves, rest shape.
    pub model: &'a CordModel,
    /// Where it is.
    pub state: &'a mut CordState,
    /// Working memory.
    pub scratch: &'a mut CordScratch,
    /// What holds it in this substep.
    pub clamps: &'a [Clamp],
    /// What the last substep met.
    pub tally: Tally,
}

impl<'a> Cords<'a> {
    /// A body of cords before its substep.
    pub fn new(
        model: &'a CordModel,
        state: &'a mut CordState,
        scratch: &'a mut CordScratch,
        clamps: &'a [Clamp],
    ) -> Self {
        Self { model, state, scratch, clamps, tally: Tally::default() }
    }

    /// Begins a substep: what is held is taken hold of.
    fn take_hold(&mut self, bodies: &Bodies) -> Result<(), PhysicsError> {
        let Self { model, state, scratch, clamps, tally } = self;
        *tally = Tally::default();
        state.check(model)?;
        state.reserve(model);
        scratch.touching = false;
        scratch.grips.take(model, state, clamps, bodies)
    }
}

/// One substep of `dt` seconds of bodies of cords that hang on the same rigid bodies. Read it from top to bottom: it is the algorithm. An error
/// comes with the member of the island that it is about.
fn solve_island(
    island: &mut [&mut Cords],
    environment: &Environment,
    bodies: &mut Bodies,
    dt: f64,
) -> Result<(), (usize, PhysicsError)> {
    let around = Surroundings { environment, dt };
    for (member, cords) in island.iter_mut().enumerate() {
        cords.take_hold(bodies).map_err(|error| (member, error))?;
    }
    for Cords { model, state, scratch, .. } in island.iter_mut() {
        predict::predict(model, state, scratch, &around, bodies);
        bend::bend(model, state, scratch, &around, bodies);
    }
    if !environment.colliders.is_empty() {
        tension::solve(island, &around, tension::ROUGH, bodies);
        for Cords { model, state, scratch, tally, .. } in island.iter_mut() {
            scratch.touching = touch::touch(model, state, scratch, &around, false, tally);
        }
    }
    tension::solve(island, &around, tension::TOLERANCE, bodies);
    for Cords { model, state, scratch, tally, .. } in island.iter_mut() {
        if scratch.touching {
            lean::book(state, scratch, dt);
            touch::touch(model, state, scratch, &around, true, tally);
        }
        tension::keep_angular_momentum(state, scratch);
        tension::settle(model, state, scratch, tally);
        if scratch.touching {
            touch::react(state, scratch, &around, bodies);
        }
        twist::turn(model, state, scratch, &around, bodies, tally);
        advance(state, scratch, dt);
        twist::settle_debts(state, scratch);
        flick::flick(model, state, scratch, dt, bodies, tally);
        tear::tear(model, state, scratch, tally);

        tally.pieces = state.piece_count() as u64;
        let fastest = state.velocities.iter().map(|v| v.length_squared());
        tally.speed_max = fastest.fold(0.0_f64, |a, b| if a.is_nan() || b <= a { a } else { b }).sqrt();
    }
    Ok(())
}

/// Vertices go where they were led; velocities are what that took.
fn advance(state: &mut CordState, scratch: &CordScratch, dt: f64) {
    let CordScratch { next, grips, .. } = scratch;
    for (v, next) in next.iter().enumerate() {
        let from = grips.at(v).map_or(state.positions[v], |grip| grip.begin);
        state.velocities[v] = (*next - from) / dt;
        state.positions[v] = *next;
    }
}
