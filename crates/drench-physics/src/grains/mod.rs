//! Grains: spheres that push, rub and roll on each other, on solids and on rigid bodies (discrete elements).
//!
//! An outer step is divided into equal steps that are short against a collision (see [`GrainModel::longest_step`]). In a step
//!
//! 1. pairs that may touch are searched again if two grains may have come closer by a skin ([`search`]);
//! 2. every contact gives a force by the law of contact ([`law`]), the same to both sides but for the sign ([`forces`]);
//! 3. every grain sums its forces in the order of its neighbours' numbers, and moves: v += h a, then x += h v.
//!
//! | symbol | field |
//! |---|---|
//! | x, v, omega | `positions`, `velocities`, `spins` of [`GrainState`] |
//! | R, r | `sizes`, `radii` |
//! | s, u | `slip`, `roll` of [`Link`] and [`Touch`] |
//!
//! Momentum of grains among themselves is kept to rounding, angular momentum to single precision. Grains at rest sleep (see [`Sleep`]).
//! Contacts with rigid bodies go both ways: the body's [`BodyState`] answers in every step, and the sum is booked.
//!
//! *Breaks down*: contacts are linear springs, softer than sand, so that sound in the heap is slow and fast collisions
//! overlap; a body lighter than the grains that touch it is stepped too coarsely; a solid thinner than a grain's way in one
//! step is passed through.

pub(crate) mod carry;
pub mod fill;
mod forces;
pub mod heap;
mod integrate;
pub(crate) mod law;
mod model;
pub(crate) mod search;
pub(crate) mod solids;
mod state;

pub use model::{GrainModel, Material, Sizes, Sleep, Spread, Stiffness, restitution};
pub use state::{GrainScratch, GrainState, Link, NewGrain, Tally, Touch};

use crate::contact::Collider;
use crate::error::PhysicsError;
use crate::rigid::{BodyState, Push};
use crate::wetting::grains::WetLaw;
use forces::{Context, Part};
use glam::DVec3;
use integrate::Moved;
use law::Law;
use rayon::prelude::*;
use search::SKIN;
use solids::{Carrier, Solid};
use state::{Damp, Mover, Vigil};

pub(crate) use model::ball;

/// What surrounds the grains during a substep.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Gravity [m/s2].
    pub gravity: DVec3,
    /// Solids. A collider that a rigid body carries stands where the body's state says.
    pub colliders: &'a [Collider<'a>],
    /// For each collider the rigid body that carries it, if one does; may be shorter than the colliders.
    pub carried_by: &'a [Option<usize>],
    /// Force of anything else on each grain during the substep [N], such as of liquid; empty for none.
    pub forces: &'a [DVec3],
}

/// One substep of `dt` seconds. `pushes` are what the bodies gained, one a body.
pub fn solve(
    model: &GrainModel,
    state: &mut GrainState,
    scratch: &mut GrainScratch,
    surroundings: &Surroundings,
    bodies: &mut [BodyState],
    pushes: &mut [Push],
    dt: f64,
) -> Result<Tally, PhysicsError> {
    let steps = model.steps(dt)?;
    check_counts(state, surroundings, bodies, pushes)?;
    if state.is_empty() {
        return Ok(Tally { steps, ..Tally::default() });
    }
    let solids: Vec<Solid> = (surroundings.colliders.iter().enumerate())
        .map(|(i, collider)| Solid { collider, body: surroundings.carried_by.get(i).copied().flatten() })
        .collect();
    let mut carriers: Vec<Carrier> = bodies.iter().map(Carrier::new).collect();
    let skin = SKIN * model.sizes().radius;
    let bridges = model.wetness().map_or(0.0, |wetness| wetness.reach(model.sizes().most()));
    let (law, wet) = (Law::new(model), WetLaw::new(model));
    let h = dt / f64::from(steps);
    let mut tally = Tally { steps, ..Tally::default() };

    if surroundings.gravity != state.gravity {
        state.gravity = surroundings.gravity;
        state.calm.fill(0.0);
    }
    let listed = state.offsets.len() == state.len() + 1 && state.origins.len() == state.len();
    let mut stale = !listed || integrate::wandered(state) > skin;
    if !stale && !scratch.search.lists(state) {
        search::index(state, scratch);
    }
    let moving = solids.iter().any(Solid::moves);
    let mut touches_stale = moving || state.solids as usize != solids.len();
    if scratch.cleared != (state.listings, state.touches.len()) {
        // Not known, as after a restart: look.
        scratch.clear.clear();
        scratch.clear.resize(state.touches.len(), f64::NEG_INFINITY);
    }
    prepare(model, state, scratch, h);
    for step in 0..steps {
        if stale {
            search::search(model, state, scratch, false)?;
            tally.searches += 1;
            touches_stale = true;
        }
        if touches_stale {
            solids::list(state, scratch, &solids, bodies, skin + 2.0 * bridges, dt);
            touches_stale = false;
        }
        scratch.presses.resize(state.touches.len(), Default::default());
        let afresh = step == 0 || stale;
        let context = Context {
            law,
            wet,
            positions: &state.positions,
            origins: &state.origins,
            movers: &scratch.movers,
            damp: &scratch.damp,
            vigil: &scratch.vigil,
            offsets: &state.offsets,
            solids: &solids,
            bodies,
            carriers: &carriers,
            h,
            dt,
            done: f64::from(step) / f64::from(steps),
            afresh,
        };
        let part = Part {
            first: 0,
            loads: &mut scratch.loads,
            stirred: &mut scratch.stirred,
            links: &mut state.links,
            reactions: &mut scratch.reactions,
            touches: &mut state.touches,
            presses: &mut scratch.presses,
            clear: &scratch.clear,
        };
        forces::contacts(&context, part);
        press_bodies(state, scratch, &solids, &carriers, bodies, pushes, h);
        for (carrier, body) in carriers.iter_mut().zip(&*bodies) {
            carrier.advance(body, surroundings.gravity, h);
        }
        let Moved { wandered, fastest } = integrate::advance(model, state, scratch, surroundings, h, afresh);
        if !(fastest.is_finite() && fastest < FASTEST) {
            return Err(search::lost(state));
        }
        tally.speed_max = fastest;
        stale = wandered > skin;
    }
    if stale && search::disordered(state) {
        // The next step would search in any case: renumbering now disturbs nobody who counts on numbers.
        search::search(model, state, scratch, true)?;
        solids::list(state, scratch, &solids, bodies, skin + 2.0 * bridges, dt);
        tally.searches += 1;
    }
    heap::count(model, state, scratch, &solids, &carriers, &mut tally);
    if model.wetness().is_some() {
        carry::carry(model, state, scratch, dt);
    }
    Ok(tally)
}

/// Grains that are looked at in one piece.
const PIECE: usize = 2048;
/// Speeds above this are no motion but an explosion [m/s].
const FASTEST: f64 = 1e6;

/// Rounded copies of what the law of contact reads.
fn prepare(model: &GrainModel, state: &GrainState, scratch: &mut GrainScratch, h: f64) {
    let count = state.len();
    scratch.loads.resize(count, Default::default());
    scratch.stirred.resize(count, false);
    let mover = |i: usize| Mover {
        linear: state.velocities[i].as_vec3().extend(state.radii[i] as f32),
        angular: state.spins[i].as_vec3().extend(state.mass(model, i) as f32),
    };
    let damp = |i: usize| {
        let dry = Damp { yielding: 1.0, ..Damp::default() };
        model.wetness().map_or(dry, |wetness| Damp {
            wetness: wetness.wetness(state.water[i], model.dry_mass(state.sizes[i])) as f32,
            share: wetness.share(state.water[i]) as f32,
            yielding: model.yielding(state.damped[i], state.mass(model, i), h),
        })
    };
    let asleep = |calm: f32| model.sleep().is_some_and(|sleep| f64::from(calm) > sleep.time);
    let vigil = |i: usize| if asleep(state.calm[i]) { Vigil::Asleep } else { Vigil::Awake };
    let all = || (0..count).into_par_iter().with_min_len(PIECE);
    all().map(mover).collect_into_vec(&mut scratch.movers);
    all().map(damp).collect_into_vec(&mut scratch.damp);
    all().map(vigil).collect_into_vec(&mut scratch.vigil);
}

/// Gives the bodies what grains pressed on them, in the order of the touches.
fn press_bodies(
    state: &GrainState,
    scratch: &GrainScratch,
    solids: &[Solid],
    carriers: &[Carrier],
    bodies: &mut [BodyState],
    pushes: &mut [Push],
    h: f64,
) {
    if solids.iter().all(|solid| solid.body.is_none()) {
        return;
    }
    for (touch, press) in state.touches.iter().zip(&scratch.presses) {
        if let Some(b) = solids[touch.solid as usize].body {
            bodies[b].push(-press.force * h, carriers[b].seen(press.point), &mut pushes[b]);
            bodies[b].turn(-press.roll * h, &mut pushes[b]);
        }
    }
}

fn check_counts(
    state: &GrainState,
    surroundings: &Surroundings,
    bodies: &[BodyState],
    pushes: &[Push],
) -> Result<(), PhysicsError> {
    let count = state.len();
    let forces = if surroundings.forces.is_empty() { 0 } else { count };
    let counts = [
        ("velocities", state.velocities.len(), count),
        ("spins", state.spins.len(), count),
        ("sizes", state.sizes.len(), count),
        ("radii", state.radii.len(), count),
        ("water", state.water.len(), count),
        ("calm", state.calm.len(), count),
        ("damped", state.damped.len(), count),
        ("carried", state.carried.len(), count),
        ("rested", state.rested.len(), count),
        ("ids", state.ids.len(), count),
        ("forces", surroundings.forces.len(), forces),
        ("pushes", pushes.len(), bodies.len()),
    ];
    if let Some((what, got, expected)) = counts.into_iter().find(|(_, got, expected)| got != expected) {
        return Err(PhysicsError::Count { what, got, expected });
    }
    match surroundings.carried_by.iter().flatten().find(|&&body| body >= bodies.len()) {
        Some(&body) => Err(PhysicsError::Count { what: "bodies", got: bodies.len(), expected: body + 1 }),
        None => Ok(()),
    }
}
