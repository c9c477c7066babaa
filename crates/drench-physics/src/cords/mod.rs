//! Cords: strands with all effects of [Rungjiratananon2012, chapter 4]: they bend, twist, yield, tear and flick, are clamped anywhere, and
//! carry rigid bodies.
//!
//! | module | what it does | section of the text |
//! |---|---|---|
//! | `predict` | inertia, weight, air, forces of twist | 4.1 |
//! | `bend` | chain shape matching | 4.1 |
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
//!
//! **Limits.** Stress and strain are nominal (area and length at rest). The torque of the last substep bends the cord in the next, and a body that lies on a cord is
//! pushed in the next rigid step: both are explicit. Cords do not see each other here.

mod bend;
mod chain;
mod clamp;
mod curve;
mod flick;
mod frame;
mod law;
mod lean;
mod model;
mod predict;
mod round;
mod state;
mod tear;
mod tension;
mod touch;
mod twist;
mod writhe;

pub use bend::effective_bending_stiffness;
pub use clamp::{Bodies, Clamp, Holder};
pub use curve::Curve;
pub use model::{Bending, CordMaterial, CordModel, Torsion};
pub use state::{CordScratch, CordState, Tally};
pub use twist::follow;
pub use writhe::writhe;

use crate::error::{PhysicsError, check};
use crate::strands::Environment;

/// What surrounds the cords, and for how long.
pub(crate) struct Surroundings<'a> {
    environment: &'a Environment<'a>,
    dt: f64,
}

/// One substep of `dt` seconds of a body of cords. Read it from top to bottom: it is the algorithm.
///
/// Bodies are pushed and turned, not moved: that is for the rigid-body solver, whose step of `dt` is to follow.
pub fn solve(
    model: &CordModel,
    state: &mut CordState,
    scratch: &mut CordScratch,
    clamps: &[Clamp],
    environment: &Environment,
    bodies: &mut Bodies,
    dt: f64,
) -> Result<Tally, PhysicsError> {
    state.check(model)?;
    check("dt", dt, "positive", |x| x > 0.0)?;
    if bodies.pushes.len() != bodies.states.len() {
        let (got, expected) = (bodies.pushes.len(), bodies.states.len());
        return Err(PhysicsError::Count { what: "pushes", got, expected });
    }
    state.reserve(model);
    let around = Surroundings { environment, dt };
    let mut tally = Tally::default();

    scratch.grips.take(model, state, clamps, bodies)?;
    predict::predict(model, state, scratch, &around, bodies);
    bend::bend(model, state, scratch, &around, bodies);
    let mut touches = false;
    if !environment.colliders.is_empty() {
        tension::solve(state, scratch, &around, tension::ROUGH, bodies, &mut tally);
        touches = touch::touch(model, state, scratch, &around, false, &mut tally);
    }
    tension::solve(state, scratch, &around, tension::TOLERANCE, bodies, &mut tally);
    if touches {
        lean::book(state, scratch, dt);
        touch::touch(model, state, scratch, &around, true, &mut tally);
    }
    tension::keep_angular_momentum(state, scratch);
    tension::settle(model, state, scratch, &mut tally);
    if touches {
        touch::react(state, scratch, &around, bodies);
    }
    twist::turn(model, state, scratch, &around, bodies, &mut tally);
    advance(state, scratch, dt);
    flick::flick(model, state, scratch, dt, bodies, &mut tally);
    tear::tear(model, state, scratch, &mut tally);

    tally.pieces = state.piece_count() as u64;
    let fastest = state.velocities.iter().map(|v| v.length_squared());
    tally.speed_max = fastest.fold(0.0_f64, |a, b| if a.is_nan() || b <= a { a } else { b }).sqrt();
    Ok(tally)
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
