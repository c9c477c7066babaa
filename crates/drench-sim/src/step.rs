//! The time step.

use crate::SimError;
use crate::cords::CordWorking;
use crate::report::Report;
use crate::solids::{self, Span};
use crate::world::{Model, Scratch, State, World};
use crate::{bodies, collisions, cords, flow, hair};
use drench_physics::cords::{Bodies, Cords};
use drench_physics::strands::{self, Environment, Tally};
use drench_physics::{PhysicsError, diagnostics};

/// One substep. Read it from top to bottom: it is the algorithm.
pub fn substep(world: &mut World, span: Span, report: &mut Report) -> Result<(), SimError> {
    let World { model, state, scratch } = world;
    let dt = span.dt;

    report.stage("motion", || {
        solids::move_to(model, &mut scratch.solids, span)?;
        bodies::begin(model, state, &mut scratch.bodies, &mut scratch.solids, &model.flow.at(span.to), span);
        Ok(())
    })?;

    collisions::begin(model, state, &mut scratch.collisions, report);
    solve_cords(model, state, scratch, span, report)?;
    flow_around_strands(model, state, scratch, span, report)?;
    if model.hair.is_some() {
        let (dripping, slow) = report.stage("wetting", || hair::wet(model, state, scratch, span))?;
        report.dripping.add(&dripping);
        slow.into_iter().for_each(|text| report.warn(text));
        // Before the strands are solved: velocities after a step are those at which they have moved.
        report.bridges =
            report.stage("cohesion", || hair::cling(model, state, &mut scratch.strands, &mut scratch.hair, span))?;
    }

    report.stage("bodies", || bodies::step(model, state, &scratch.bodies, &mut scratch.solids, span))?;

    carry_roots(model, scratch);
    let skins = solids::skins(model, &scratch.solids);
    let colliders = solids::colliders(model, &scratch.solids, &skins);
    let environment = Environment {
        gravity: model.scene.simulation.gravity,
        air: model.air,
        breeze: model.flow.at(span.to),
        colliders: &colliders,
    };
    let bodies = model.strands.iter().zip(&mut state.strands).zip(&mut scratch.strands).zip(&scratch.roots);
    for (((body, strands), working), roots) in bodies {
        let tally = report.stage("strands", || {
            strands::solve(&body.model, strands, working, roots, &environment, body.interaction.as_ref(), dt)
        });
        let tally = tally.map_err(|source| match source {
            PhysicsError::GridTooLarge { .. } => SimError::Interaction(source),
            source => SimError::Diverged { time: span.to, stage: "strands", source },
        })?;
        book(report, &body.name, &tally);
        if !tally.is_finite() {
            let source = diagnostics::not_finite(&body.name, &body.model, strands);
            return Err(SimError::Diverged { time: span.to, stage: "strands", source });
        }
    }

    if let Some(interaction) = &model.interaction {
        report.stage("interaction", || {
            solids::deposit(model, &scratch.solids, interaction, &mut scratch.boundary, dt);
            scratch.boundary.check(interaction).map_err(SimError::Interaction)?;
            let deposits: Vec<_> = scratch.strands.iter().collect();
            scratch.grid.assemble(interaction, &deposits, &[&scratch.boundary]);
            for ((body, strands), working) in model.strands.iter().zip(&mut state.strands).zip(&scratch.strands) {
                scratch.grid.apply(body.interaction.as_ref().unwrap_or(interaction), strands, &working.wet, dt);
            }
            Ok(())
        })?;
    }
    collisions::resolve(model, state, &scratch.strands, &mut scratch.cords, &mut scratch.collisions, span, report)
}

/// Moves the cords, and books what they do to rigid bodies.
fn solve_cords(
    model: &Model,
    state: &mut State,
    scratch: &mut Scratch,
    span: Span,
    report: &mut Report,
) -> Result<(), SimError> {
    if model.cords.is_empty() {
        return Ok(());
    }
    let Scratch { cords: working, bodies, solids, .. } = scratch;
    let skins = solids::skins(model, solids);
    let colliders = solids::colliders(model, solids, &skins);
    let environment = Environment {
        gravity: model.scene.simulation.gravity,
        air: model.air,
        breeze: model.flow.at(span.to),
        colliders: &colliders,
    };
    let working = model.cords.iter().zip(&mut state.cords).zip(working);
    let mut cords: Vec<Cords> = working
        .map(|((body, state), CordWorking { solver, clamps })| {
            cords::clamps(body, solids, span.from, clamps);
            Cords::new(&body.model, state, solver, clamps)
        })
        .collect();
    let mut bodies = Bodies { states: &mut bodies.states, pushes: &mut bodies.pushes };
    report
        .stage("cords", || drench_physics::cords::solve(&mut cords, &environment, &mut bodies, span.dt))
        .map_err(|(cord, source)| cords::diverged(&model.cords[cord], span.to, source))?;
    for (body, Cords { tally, .. }) in model.cords.iter().zip(cords) {
        report.contacts = report.contacts.max(tally.contacts);
        report.penetration_max = report.penetration_max.max(tally.penetration_max);
        report.tears += tally.torn_by_pull + tally.torn_by_twist;
        if tally.unconverged > 0 {
            report.warn(format!("{}: lengths stopped at the limit of rounds before they were right", body.name));
        }
        cords::doubt(body, tally.doubtful_turns, report);
        if !tally.speed_max.is_finite() {
            let source = PhysicsError::NotFinite { body: body.name.clone(), strand: 0 };
            return Err(SimError::Diverged { time: span.to, stage: "cords", source });
        }
    }
    Ok(())
}

/// Moves liquid and grains. Strands stay where they are meanwhile, so that the voxels of hair can be found at the same time.
fn flow_around_strands(
    model: &Model,
    state: &mut State,
    scratch: &mut Scratch,
    span: Span,
    report: &mut Report,
) -> Result<(), SimError> {
    let mut working = std::mem::take(&mut scratch.hair);
    hair::follow(model, state, &mut working);
    let (moved, located) =
        rayon::join(|| flow::advance(model, state, scratch, span, report), || hair::locate(model, &mut working, span));
    scratch.hair = working;
    moved.and(located)
}

/// Puts the solids, and the roots with them, where they are at an instant.
pub fn pose(model: &Model, state: &State, scratch: &mut Scratch, now: Span) -> Result<(), SimError> {
    solids::move_to(model, &mut scratch.solids, now)?;
    bodies::stand(model, state, &mut scratch.solids);
    carry_roots(model, scratch);
    Ok(())
}

/// Moves the roots along with the solids that they grow on.
fn carry_roots(model: &Model, scratch: &mut Scratch) {
    for (body, roots) in model.strands.iter().zip(&mut scratch.roots) {
        scratch.solids[body.solid].carry_roots(&model.solids[body.solid], body, roots);
    }
}

/// Takes over what a solve met.
fn book(report: &mut Report, body: &str, tally: &Tally) {
    report.contacts = report.contacts.max(tally.contacts);
    report.penetration_max = report.penetration_max.max(tally.penetration_max);
    report.iterations_max = report.iterations_max.max(tally.iterations_max);
    if tally.unconverged > 0 {
        report.warn(format!("{body}: strands stopped at the iteration limit before they met the stretch limit"));
    }
}
