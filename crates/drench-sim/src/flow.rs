//! Liquid and grains during a substep: each moves in the surroundings that the other left, and what one gains the other
//! loses.

use crate::SimError;
use crate::bodies::BodyScratch;
use crate::grains::refuse;
use crate::hair::Submerged;
use crate::liquid::LiquidBody;
use crate::report::Report;
use crate::solids::{self, Span};
use crate::world::{Model, Scratch, State};
use drench_math::ordered;
use drench_physics::PhysicsError;
use drench_physics::contact::Collider;
use drench_physics::grains::{self, GrainScratch, fill};
use drench_physics::liquid::{self, Foreign, Limit, LiquidModel, LiquidState, Method, NO_BODY, Reactions, Velocities};
use drench_physics::wetting::pores::{Pores, Taken};
use drench_physics::wetting::{self, soak};
use glam::DVec3;
use rayon::prelude::*;
use std::ops::Range;

/// The grains near the liquid, and hair that gets wet, as it feels them.
#[derive(Debug, Default)]
pub struct ForeignScratch {
    /// Which grains they are, counted through all bodies.
    numbers: Vec<u32>,
    positions: Vec<DVec3>,
    velocities: Vec<DVec3>,
    volumes: Vec<f64>,
    /// Of the grains [m].
    diameters: Vec<f64>,
    /// How far they are closed, 0 to 1.
    closed: Vec<f64>,
    taken: Vec<Taken>,
    inverse_masses: Vec<f64>,
    /// What the liquid gave them in this substep [N s].
    pushes: Vec<DVec3>,
    /// The force that comes to, on every grain [N].
    forces: Vec<DVec3>,
    /// Hair in the liquid comes after the grains.
    hair: Submerged,
}

/// Permeability of hair that fills all of space [m2], about the square of the diameter of a hair: liquid of viscosity ν comes to its velocity at the rate ν over it.
const HAIR_PERMEABILITY: f64 = 5e-9;

/// How far, in spacings, liquid under pressure may push grains before these find out what they lean on.
const YIELD: f64 = 0.2;
/// How far, in spacings, a stream may come out of an opening in one part.
const STREAM: f64 = 1.0;
/// Grains that are looked at in one piece.
const PIECE: usize = 1024;
/// Most parts of a substep.
const MOST_PARTS: f64 = 64.0;

/// How many parts a substep is made in: as many as grains and bodies ask for, and streams.
///
/// A stream comes out of its opening at the end of a part, as far as it has got by then: it feels nothing on the way, and would make beads if it were long. It goes
/// [`STREAM`] at most, unless there is hair, which would have to be stepped as often.
pub fn parts(model: &Model, state: &State, span: Span, report: &mut Report) -> Result<u32, SimError> {
    let Some(body) = &model.liquid else { return Ok(1) };
    let mut step = taking_turns(model, state, body, span)?;
    if model.strands.is_empty() {
        step = step.min(STREAM * body.model.spacing / body.stream(span).max(f64::MIN_POSITIVE));
    }
    let parts = (span.dt / step - 1e-9).ceil();
    if parts > MOST_PARTS {
        report.warn(format!(
            "liquid: it and what it pushes should take turns more than {MOST_PARTS} times in a substep; use more substeps"
        ));
    }
    Ok(parts.clamp(1.0, MOST_PARTS) as u32)
}

/// How long grains and rigid bodies may wait for the liquid [s]. They give way to it as if they were loose, and lean on others afterwards: where they meet
/// it, they take turns with it at every step of it, and while grains go no farther than [`YIELD`] under the pressure among them. Liquid
/// that rests on sand would sink into it otherwise, and heave; and bodies much lighter than it would dance.
fn taking_turns(model: &Model, state: &State, body: &LiquidBody, span: Span) -> Result<f64, SimError> {
    let grains = state.grains.iter().flat_map(|grains| &grains.positions).fold(NOWHERE, enclose);
    let movable = state.rigid.bodies().iter().zip(&model.bodies.reaches).filter(|(body, _)| body.inverse_mass > 0.0);
    let bodies = movable.fold(NOWHERE, |bounds, (body, &reach)| {
        [body.centre - reach, body.centre + reach].iter().fold(bounds, enclose)
    });
    let reach = body.model.support();
    let (among, beside) = (pressure(&state.liquid, grains, reach), pressure(&state.liquid, bodies, reach));
    if among.or(beside).is_none() {
        return Ok(f64::INFINITY);
    }
    let (mut step, _) =
        liquid::longest_step(&body.model, &state.liquid, model.scene.simulation.gravity, Velocities::STILL)
            .map_err(diverged(span, "liquid"))?;
    if let Some(mean) = among {
        // Pressures are p/rho^2; twice the mean is that at the bottom. What yields to p sets off at this speed.
        let speed = (2.0 * mean * body.model.material.density).sqrt();
        // A NaN is no less than the step: the liquid will find it.
        step = step.min(YIELD * body.model.spacing / speed.max(f64::MIN_POSITIVE));
    }
    Ok(step)
}

/// The mean pressure, of what is under pressure, within some reach of a box; none if there is no liquid.
fn pressure(liquid: &LiquidState, (low, high): (DVec3, DVec3), reach: f64) -> Option<f64> {
    let (low, high) = (low - reach, high + reach);
    if !low.cmple(high).all() {
        return None;
    }
    let add = |a: [f64; 3], b: [f64; 3]| [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
    let count = |range: Range<usize>| {
        range.filter(|&i| within(liquid.positions[i], low, high)).fold([0.0; 3], |sum, i| {
            let pressure = f64::from(liquid.pressures[i]);
            add(sum, [1.0, if pressure > 0.0 { 1.0 } else { 0.0 }, pressure])
        })
    };
    let [near, pressed, sum] = ordered::reduce(liquid.len(), [0.0; 3], count, add);
    (near > 0.0).then(|| sum / pressed.max(1.0))
}

/// Liquid and grains of one substep: the liquid among the grains as they are, what enters and leaves meanwhile, then the grains
/// with what the liquid does to them, then the water that goes from one to the other.
pub fn advance(
    model: &Model,
    state: &mut State,
    scratch: &mut Scratch,
    span: Span,
    report: &mut Report,
) -> Result<(), SimError> {
    if model.liquid.is_none() && model.grains.is_empty() {
        return Ok(());
    }
    report.timed("liquid", |report| liquid(model, state, scratch, span, report))?;
    report.stage("emit", || exchange(model, state, scratch, span))?;
    report.timed("grains", |report| grains(model, state, scratch, span, report))?;
    report.stage("wetting", || wetting(model, state, scratch, span))
}

/// Lets liquid in and out, and books it.
fn exchange(model: &Model, state: &mut State, scratch: &Scratch, span: Span) -> Result<(), SimError> {
    let Some(body) = &model.liquid else { return Ok(()) };
    state.ledger.emit(body.emit(&mut state.liquid, &scratch.solids, span).map_err(SimError::Liquid)?);
    state.ledger.drain(body.drain(&mut state.liquid));
    Ok(())
}

/// Moves the liquid.
fn liquid(
    model: &Model,
    state: &mut State,
    scratch: &mut Scratch,
    span: Span,
    report: &mut Report,
) -> Result<(), SimError> {
    let Some(body) = &model.liquid else { return Ok(()) };
    let Scratch { solids, bodies, walls, liquid, grains, foreign, .. } = scratch;
    let skins = solids::skins(model, solids);
    let colliders = &solids::colliders(model, solids, &skins);
    model.walls.place(model, solids, &state.liquid, span.dt, walls);
    foreign.gather(model, state, grains, &body.model, span.dt);
    let carrier = |collider: &Collider| collider.body().map_or(NO_BODY, |body| body as u32);
    let collider_bodies: Vec<u32> = colliders.iter().map(carrier).collect();
    let surroundings = liquid::Surroundings {
        gravity: model.scene.simulation.gravity,
        colliders,
        collider_bodies: &collider_bodies,
        samples: walls.samples(),
        foreign: Foreign {
            positions: &foreign.positions,
            velocities: &foreign.velocities,
            volumes: &foreign.volumes,
            inverse_masses: &foreign.inverse_masses,
            loose: foreign.numbers.len(),
            diameters: &foreign.diameters,
            closed: &foreign.closed,
            drag: body.model.material.kinematic_viscosity() / HAIR_PERMEABILITY,
        },
    };
    let BodyScratch { states, pushes } = bodies;
    let mut reactions = Reactions { bodies: states, pushes, foreign: &mut foreign.pushes };
    let tally = liquid::solve(&body.model, &mut state.liquid, liquid, &surroundings, &mut reactions, span.dt);
    let tally = tally.map_err(diverged(span, "liquid"))?;
    foreign.give(span.dt);
    report.step_lengths(tally.shortest, tally.longest);
    report.liquid_steps += u64::from(tally.steps);
    if matches!(body.model.method, Method::Dfsph(_)) {
        let [density, divergence] = report.compression.unwrap_or_default();
        report.compression = Some([density.max(tally.density_error), divergence.max(tally.divergence_error)]);
    }
    let grains = foreign.positions.len() - foreign.hair.len();
    foreign.hair.carry(model, state, &foreign.pushes[grains..]);
    if tally.unconverged > 0 {
        report.warn("liquid: pressure stopped at the iteration limit before it was as exact as asked for".to_owned());
    }
    if tally.viscosity_unconverged > 0 {
        report.warn("liquid: viscosity stopped at the iteration limit before it was as exact as it should be; use more substeps".to_owned());
    }
    if let Some(limit) = tally.hurried {
        let why = match limit {
            Limit::Motion => "it moves too fast",
            Limit::Tension => "its surface tension is too strong",
            Limit::Viscosity => "it is too thick",
            Limit::Sound => "sound in it is too fast",
        };
        report.warn(format!("liquid: {why} for the shortest step; make the spacing larger"));
    }
    Ok(())
}

/// Moves the grains.
fn grains(
    model: &Model,
    state: &mut State,
    scratch: &mut Scratch,
    span: Span,
    report: &mut Report,
) -> Result<(), SimError> {
    let Scratch { solids, bodies, grains, foreign, .. } = scratch;
    let skins = solids::skins(model, solids);
    let colliders = &solids::colliders(model, solids, &skins);
    let State { grains: states, ledger, .. } = state;
    let carriers: Vec<Option<usize>> = colliders.iter().map(Collider::body).collect();
    let mut first = 0;
    for ((body, state), scratch) in model.grains.iter().zip(states).zip(grains) {
        // What is poured in during this substep feels no liquid yet.
        let forces = foreign.forces.get(first..first + state.len()).unwrap_or_default();
        let surroundings =
            grains::Surroundings { gravity: model.scene.simulation.gravity, colliders, carried_by: &carriers, forces };
        first += state.len();
        let tally =
            grains::solve(&body.model, state, scratch, &surroundings, &mut bodies.states, &mut bodies.pushes, span.dt);
        let tally = tally.map_err(diverged(span, "grains"))?;
        let h = span.dt / f64::from(tally.steps.max(1));
        report.step_lengths(h, h);
        let [steps, searches] = &mut report.grain_steps;
        (*steps, *searches) = (*steps + u64::from(tally.steps), *searches + u64::from(tally.searches));
        report.contacts = report.contacts.max(tally.contacts + tally.touches);
        report.penetration_max = report.penetration_max.max(tally.penetration_max);
        for (number, (opening, moisture)) in body.openings.iter().enumerate() {
            let stream = body.stream.child(number as u64);
            let poured = fill::pour(&body.model, state, opening, *moisture, (span.from, span.to), stream)
                .map_err(refuse(&body.name, Some(("pour", number))))?;
            ledger.emit(state.water[state.len() - poured..].iter().sum());
        }
    }
    Ok(())
}

/// Moves water: from the liquid into grains, from grain to grain, and into the air.
fn wetting(model: &Model, state: &mut State, scratch: &mut Scratch, span: Span) -> Result<(), SimError> {
    let State { liquid, grains, ledger, .. } = state;
    let refuse = diverged(span, "wetting");
    for ((body, grains), working) in model.grains.iter().zip(grains).zip(&mut scratch.grains) {
        if let Some(source) = &model.liquid {
            let mut near = wetting::Liquid {
                positions: &liquid.positions,
                before: &[],
                velocities: &liquid.velocities,
                masses: &mut liquid.masses,
                radius: 0.5 * source.model.spacing,
                full: source.model.particle_mass(),
            };
            soak::absorb(&body.model, grains, &mut scratch.soak, &mut near, span.dt).map_err(&refuse)?;
        }
        soak::spread(&body.model, grains, working, model.scene.simulation.gravity, span.dt).map_err(&refuse)?;
        ledger.drain(soak::dry(&body.model, grains, span.dt).map_err(&refuse)?);
    }
    // Particles that grains have emptied; nothing is left to be booked.
    liquid.remove(|drop| drop.mass <= 0.0);
    Ok(())
}

impl ForeignScratch {
    /// Takes over where the grains that the liquid may meet within the substep, and hair, are.
    fn gather(&mut self, model: &Model, state: &State, working: &mut [GrainScratch], liquid: &LiquidModel, dt: f64) {
        self.numbers.clear();
        self.positions.clear();
        self.velocities.clear();
        self.volumes.clear();
        self.diameters.clear();
        self.closed.clear();
        self.taken.clear();
        self.inverse_masses.clear();
        let (drops, speed) = (&state.liquid.positions, |velocities: &[DVec3]| {
            ordered::max(velocities.len(), 0.0, |i| velocities[i].length_squared()).sqrt()
        });
        let (low, high) = drops.iter().fold(NOWHERE, enclose);
        let mut first = 0;
        for ((body, grains), working) in model.grains.iter().zip(&state.grains).zip(working) {
            // Twice the way that they go, because collisions may make them faster meanwhile.
            let way = 2.0 * dt * (speed(&state.liquid.velocities) + speed(&grains.velocities));
            let reach = 2.0 * liquid.support() + way;
            let (low, high) = (low - reach, high + reach);
            let known = self.numbers.len();
            for (grain, &position) in grains.positions.iter().enumerate() {
                if within(position, low, high) {
                    self.numbers.push((first + grain) as u32);
                    self.positions.push(position);
                    self.velocities.push(grains.velocities[grain]);
                    self.diameters.push(2.0 * grains.radii[grain]);
                    self.inverse_masses.push(1.0 / grains.mass(&body.model, grain));
                }
            }
            let (pores, near) = (Pores::among(&body.model, grains, working), &self.numbers[known..]);
            let taken = near.par_iter().with_min_len(PIECE).map(|&number| pores.taken(number as usize - first));
            self.taken.par_extend(taken);
            self.volumes.extend(self.taken[known..].iter().map(|taken| taken.volume));
            self.closed.extend(self.taken[known..].iter().map(|taken| taken.closed));
            first += grains.len();
        }
        self.hair.find(model, state, dt, |position, velocity, volume, mass| {
            self.positions.push(position);
            self.velocities.push(velocity);
            self.volumes.push(volume);
            self.inverse_masses.push(1.0 / mass);
        });
        self.pushes.clear();
        self.pushes.resize(self.positions.len(), DVec3::ZERO);
        self.forces.clear();
        self.forces.resize(first, DVec3::ZERO);
    }

    /// Makes forces of what the liquid gave.
    fn give(&mut self, dt: f64) {
        for (&number, push) in self.numbers.iter().zip(&self.pushes) {
            self.forces[number as usize] = *push / dt;
        }
    }
}

/// Bounds of nothing.
const NOWHERE: (DVec3, DVec3) = (DVec3::INFINITY, DVec3::NEG_INFINITY);

/// Bounds that hold one more point.
fn enclose((low, high): (DVec3, DVec3), point: &DVec3) -> (DVec3, DVec3) {
    (low.min(*point), high.max(*point))
}

fn within(point: DVec3, low: DVec3, high: DVec3) -> bool {
    point.cmpge(low).all() && point.cmple(high).all()
}

fn diverged(span: Span, stage: &'static str) -> impl Fn(PhysicsError) -> SimError {
    move |source| SimError::Diverged { time: span.to, stage, source }
}
