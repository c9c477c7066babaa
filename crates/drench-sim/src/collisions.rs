//! Collisions between strands: who takes part, how thick and how heavy they are, and the stage of the step.

use crate::SimError;
use crate::cords::{self, CordBody, CordWorking};
use crate::report::Report;
use crate::solids::Span;
use crate::world::{Model, State, StrandBody};
use drench_math::bands::Row;
use drench_physics::PhysicsError;
use drench_physics::collision::{Body, Collisions, Parameters};
use drench_physics::cords::{CordState, follow, held, resistance};
use drench_physics::strands::{Method, StrandModel, StrandScratch, Tip, Wet};
use drench_scene as scene;
use drench_scene::{Continuous, Scene};

/// What never changes about collisions.
#[derive(Debug)]
pub struct CollisionModel {
    parameters: Parameters,
    continuous: Continuous,
    /// For each groom, unless it is excepted.
    grooms: Vec<Option<Thickness>>,
    /// For each cord, whether it takes part.
    cords: Vec<bool>,
}

/// How vertices answer to a push.
#[derive(Debug, Default)]
struct Thickness {
    inverse_masses: Vec<f64>,
    /// With the stiffness of rods; nothing else has any here.
    resistance: Vec<Row>,
    radii: Vec<f32>,
}

/// Working memory.
#[derive(Debug, Default)]
pub struct CollisionScratch {
    solver: Collisions,
    cords: Vec<Thickness>,
    /// Inverse masses of grooms with the water in them [1/kg].
    wet: Vec<Vec<f64>>,
}

impl CollisionModel {
    /// The collisions that a scene asks for.
    pub fn build(scene: &Scene, strands: &[StrandBody], cords: &[CordBody]) -> Option<Self> {
        let collision = scene.collision.as_ref()?;
        let takes_part = |name: &str| !collision.except.iter().any(|except| except == name);
        let parameters = Parameters { friction: collision.friction, iterations: collision.iterations };
        let thickness = |(groom, body): (&scene::Groom, &StrandBody)| {
            // A guide stands for a bundle: as thick as all its hairs side by side.
            let bundle = f64::from(1 + groom.children).sqrt();
            let radius = |own: f32| collision.radius.unwrap_or(f64::from(own) * bundle) as f32;
            takes_part(&body.name).then(|| Thickness {
                inverse_masses: inverse_masses(&body.model),
                resistance: Vec::new(),
                radii: body.model.radii().iter().map(|&own| radius(own)).collect(),
            })
        };
        Some(Self {
            parameters,
            continuous: collision.continuous,
            grooms: scene.grooms.iter().zip(strands).map(thickness).collect(),
            cords: cords.iter().map(|cord| takes_part(&cord.name)).collect(),
        })
    }
}

/// Takes note of where strands are before they move.
pub fn begin(model: &Model, state: &State, scratch: &mut CollisionScratch, report: &mut Report) {
    let Some(collision) = &model.collision else { return };
    report.stage("collisions", || {
        let grooms = state.strands.iter().zip(&collision.grooms).filter(|(_, thickness)| thickness.is_some());
        let cords = state.cords.iter().zip(&collision.cords).filter(|(_, takes_part)| **takes_part);
        let positions = grooms.map(|(body, _)| &body.positions).chain(cords.map(|(cord, _)| &cord.positions));
        scratch.solver.begin(positions.map(|positions| &positions[..]));
    });
}

/// Keeps strands from passing through each other.
pub fn resolve(
    model: &Model,
    state: &mut State,
    strands: &[StrandScratch],
    working: &mut [CordWorking],
    scratch: &mut CollisionScratch,
    span: Span,
    report: &mut Report,
) -> Result<(), SimError> {
    let Some(collision) = &model.collision else { return Ok(()) };
    let tally = report.stage("collisions", || {
        let CollisionScratch { solver, cords, wet } = scratch;
        wet.resize_with(strands.len(), Vec::new);
        for ((inverse_masses, dry), working) in wet.iter_mut().zip(&collision.grooms).zip(strands) {
            weigh(dry.as_ref().map_or(&[], |dry| &dry.inverse_masses), working, inverse_masses);
        }
        cords.resize_with(state.cords.len(), Thickness::default);
        let held = model.cords.iter().zip(&state.cords).zip(&*working).zip(&mut *cords);
        held.for_each(|(((body, cord), working), thickness)| measure(body, cord, working, span.dt, thickness));
        let continuous = collision.continuous;
        let grooms = model.strands.iter().zip(&mut state.strands).zip(&collision.grooms).zip(&*wet);
        let grooms = grooms.filter_map(|(((body, strands), thickness), inverse_masses)| {
            let Thickness { radii, .. } = thickness.as_ref()?;
            Some(Body {
                offsets: body.model.offsets(),
                positions: &mut strands.positions,
                velocities: &mut strands.velocities,
                inverse_masses,
                resistance: &[],
                radii,
                continuous: continuous == Continuous::All,
            })
        });
        let cords = state.cords.iter_mut().zip(cords).zip(&collision.cords).filter(|(_, takes_part)| **takes_part);
        let cords = cords.map(|((cord, thickness), _)| Body {
            offsets: &cord.offsets,
            positions: &mut cord.positions,
            velocities: &mut cord.velocities,
            inverse_masses: &thickness.inverse_masses,
            resistance: &thickness.resistance,
            radii: &thickness.radii,
            continuous: continuous != Continuous::None,
        });
        let mut bodies: Vec<Body> = grooms.chain(cords).collect();
        solver.resolve(&mut bodies, &collision.parameters, span.dt)
    });
    let tally = tally.map_err(|source| match source {
        PhysicsError::TooManyPairs { .. } => SimError::Collision(source),
        source => SimError::Diverged { time: span.to, stage: "collisions", source },
    })?;
    if tally.contacts > 0 {
        let moved = model.cords.iter().zip(&mut state.cords).zip(working).zip(&collision.cords);
        for (((body, cord), working), _) in moved.filter(|(_, takes_part)| **takes_part) {
            cords::doubt(body, follow(&body.model, cord, &mut working.solver, span.dt), report);
        }
    }
    report.collisions = report.collisions.max(tally.contacts);
    if tally.zones > 0 {
        report.warn("collisions: some strands were moved rigidly to keep them apart; try more substeps".to_owned());
    }
    Ok(())
}

/// Inverse masses of a groom with the water in it, from those of the dry one [1/kg].
fn weigh(dry: &[f64], strands: &StrandScratch, wet: &mut Vec<f64>) {
    wet.clear();
    wet.extend(dry.iter().zip(Wet::loads(&strands.wet)).map(|(dry, load)| dry / f64::from(load)));
}

/// Inverse masses of a groom's vertices; 0 where it is held.
pub fn inverse_masses(model: &StrandModel) -> Vec<f64> {
    let mut inverse: Vec<f64> = model.masses().iter().map(|&mass| 1.0 / f64::from(mass)).collect();
    let held = match model.method() {
        Method::Csm(parameters) => parameters.clamped as usize,
        Method::Dftl(_) | Method::Pbd(_) => 1,
    };
    for pair in model.offsets().windows(2) {
        let (root, end) = (pair[0] as usize, pair[1] as usize);
        inverse[root..end.min(root + held)].fill(0.0);
        if model.tip() == Tip::Clamped {
            inverse[end - 1] = 0.0;
        }
    }
    inverse
}

/// Masses, stiffness and radii of a cord as it is now: what clamps hold has no inverse mass.
fn measure(body: &CordBody, cord: &CordState, working: &CordWorking, dt: f64, thickness: &mut Thickness) {
    cord.radii(&body.model, &mut thickness.radii);
    thickness.inverse_masses.clear();
    let held = held(&body.model, cord, &working.clamps);
    for piece in 0..cord.piece_count() {
        thickness.inverse_masses.extend(cord.vertices(piece).map(|vertex| {
            let mass = cord.mass(&body.model, piece, vertex);
            if held[vertex] || mass <= 0.0 { 0.0 } else { 1.0 / mass }
        }));
    }
    resistance(&body.model, cord, &thickness.inverse_masses, dt, &mut thickness.resistance);
}
