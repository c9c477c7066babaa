//! Rigid bodies: solids of the scene that move by themselves.
//!
//! During a substep everybody works on [`BodyScratch`]: where the bodies are, how they move by now, and what they have
//! gained. At the end the rigid-body solver takes over what was booked and moves them.

use crate::SimError;
use crate::solids::{self, SolidModel, SolidScratch, Span};
use crate::world::{Model, State};
use drench_io::stats::{BodyStats, RigidStats};
use drench_physics::air::Breeze;
use drench_physics::contact::Placement;
use drench_physics::rigid::{Body, BodyState, Mass, Mesh, Obstacle, Panels, Push, RigidWorld, Shape, Surface};
use drench_scene::{Motion, Scene, Touch};
use glam::{DQuat, DVec3};

/// What never changes about the rigid bodies of a scene.
#[derive(Debug, Default)]
pub struct BodyModel {
    /// The solid of each body.
    pub solids: Vec<usize>,
    /// Centre of mass of each, in its own frame [m].
    pub centres: Vec<DVec3>,
    /// How far each reaches from there [m].
    pub reaches: Vec<f64>,
    /// The solid of each obstacle that moves, with its number among the obstacles.
    moving: Vec<(usize, usize)>,
    /// Skin of each body, for the wind.
    panels: Vec<Panels>,
    /// Drag coefficient of each.
    drags: Vec<f64>,
    /// What a user should know.
    pub warnings: Vec<String>,
}

/// The bodies during a substep.
#[derive(Debug, Default)]
pub struct BodyScratch {
    /// Where they were at its beginning, and how they move by now; gravity is left to the solver.
    pub states: Vec<BodyState>,
    /// What they have gained.
    pub pushes: Vec<Push>,
}

impl BodyModel {
    /// The body that a solid is, if it is one.
    pub fn of_solid(&self, solid: usize) -> Option<usize> {
        self.solids.iter().position(|&own| own == solid)
    }
}

/// Builds the rigid bodies of a scene as they are at time 0, and all that they can touch.
pub fn build(scene: &Scene, solids: &[SolidModel]) -> Result<(BodyModel, RigidWorld), SimError> {
    let mut model = BodyModel::default();
    let mut bodies = Vec::new();
    let mut obstacles = Vec::new();
    for (index, (solid, built)) in scene.solids.iter().zip(solids).enumerate() {
        let placement = solids::placed(scene.pose_of(index, 0.0));
        let restitution = solid.body.as_ref().map_or(0.0, |body| body.restitution);
        let surface = Surface { friction: solid.friction, restitution };
        let mesh = Mesh { positions: &built.mesh.positions, triangles: &built.mesh.triangles };
        let Some(body) = &solid.body else {
            if built.animation.is_some() && solid.collide {
                let text = "rigid bodies pass through it, because it deforms".to_owned();
                model.warnings.push(format!("{}: {text}", solid.name));
            } else if solid.collide {
                let moves = moves(scene, index);
                if moves {
                    model.moving.push((index, obstacles.len()));
                }
                let shape = exact(solid, Shape::Triangles(mesh));
                obstacles.push(Obstacle { name: &solid.name, shape, placement, surface, moves });
            }
            continue;
        };
        if built.animation.is_some() {
            return Err(SimError::DeformingBody { solid: solid.name.clone() });
        }
        let hull = match body.touch {
            Touch::Hull => Shape::Hull(mesh),
            Touch::Pieces => Shape::Pieces(mesh),
        };
        bodies.push(Body {
            name: &solid.name,
            shape: exact(solid, hull),
            placement,
            mass: body.mass.map_or(Mass::Density(body.density), Mass::Total),
            surface,
            collide: solid.collide,
            damping: [body.damping, body.spin_damping],
            velocity: body.velocity,
            spin: body.spin,
            release: body.release,
        });
        model.solids.push(index);
        model.panels.push(Panels::new(mesh));
        model.drags.push(body.drag);
    }
    if let Some(ground) = &scene.ground {
        let surface = Surface { friction: ground.friction, restitution: 0.0 };
        let placement = Placement::at(DVec3::Y * ground.height);
        obstacles.push(Obstacle { name: "the ground", shape: Shape::HalfSpace, placement, surface, moves: false });
    }
    if bodies.is_empty() {
        return Ok((BodyModel::default(), RigidWorld::default()));
    }
    let world = RigidWorld::new(&bodies, &obstacles, scene.simulation.gravity).map_err(SimError::Bodies)?;
    model.centres = (0..bodies.len()).map(|body| world.local_centre(body)).collect();
    model.reaches =
        model.solids.iter().zip(&model.centres).map(|(&solid, &centre)| reach(&solids[solid], centre)).collect();
    Ok((model, world))
}

/// How far a solid reaches from a point of its own frame [m].
fn reach(solid: &SolidModel, point: DVec3) -> f64 {
    solid.mesh.positions.iter().map(|&position| position.distance_squared(point)).fold(0.0, f64::max).sqrt()
}

/// The shape of a solid where rigid bodies know it, `otherwise` where they do not.
fn exact<'a>(solid: &drench_scene::Solid, otherwise: Shape<'a>) -> Shape<'a> {
    use drench_scene::Shape as Given;
    let s = solid.scale;
    match solid.shape {
        Given::Plane { .. } => Shape::HalfSpace,
        // Subdivision rounds a shape.
        _ if solid.subdivide > 0 => otherwise,
        Given::Sphere { radius } => Shape::Sphere { radius: radius * s },
        Given::Box { size } => Shape::Box { size: size * s },
        Given::Capsule { radius, height } => Shape::Capsule { radius: radius * s, height: height * s },
        Given::Cylinder { radius, height } => Shape::Cylinder { radius: radius * s, height: height * s },
        Given::Torus { radius, thickness } => Shape::Torus { radius: radius * s, thickness: thickness * s },
        Given::Tank { .. } | Given::Head { .. } | Given::Bunny { .. } | Given::File { .. } => otherwise,
    }
}

/// Whether the scene ever moves a solid, by itself or with a parent.
fn moves(scene: &Scene, solid: usize) -> bool {
    let mut at = Some(solid);
    // Parents do not go in a circle: the scene was checked.
    while let Some(solid) = at.map(|index| &scene.solids[index]) {
        if solid.motion != Motion::Still {
            return true;
        }
        at = solid.parent.as_ref().and_then(|parent| scene.solid(parent));
    }
    false
}

/// Lets go what is due, and begins a substep: where the bodies are, what the wind gives them, and where they will be if
/// nothing else happens.
pub fn begin(
    model: &Model,
    state: &mut State,
    scratch: &mut BodyScratch,
    solids: &mut [SolidScratch],
    breeze: &Breeze,
    span: Span,
) {
    if state.rigid.is_empty() {
        return;
    }
    state.rigid.release(span.from);
    scratch.states.clear();
    scratch.states.extend_from_slice(state.rigid.bodies());
    scratch.pushes.clear();
    scratch.pushes.resize(scratch.states.len(), Push::default());
    let bodies = scratch.states.iter_mut().zip(&mut scratch.pushes).enumerate();
    for (index, (body, push)) in bodies {
        let (centre, drag) = (model.bodies.centres[index], model.bodies.drags[index]);
        model.bodies.panels[index].push(body, centre, drag, (&model.air, breeze), span.dt, push);
    }
    stand(model, state, solids);
    for (index, body) in scratch.states.iter().enumerate() {
        let fall = if body.inverse_mass > 0.0 { model.scene.simulation.gravity * span.dt } else { DVec3::ZERO };
        let rotation = (DQuat::from_scaled_axis(body.spin * span.dt) * body.rotation).normalize();
        let centre = body.centre + (body.velocity + fall) * span.dt;
        let translation = centre - rotation * model.bodies.centres[index];
        solids[model.bodies.solids[index]].after = Placement { rotation, translation, scale: 1.0 };
    }
}

/// Moves the bodies by what they gained, and the solids that they are with them.
pub fn step(
    model: &Model,
    state: &mut State,
    scratch: &BodyScratch,
    solids: &mut [SolidScratch],
    span: Span,
) -> Result<(), SimError> {
    if state.rigid.is_empty() {
        return Ok(());
    }
    for &(solid, obstacle) in &model.bodies.moving {
        state.rigid.move_obstacle(obstacle, &solids[solid].after);
    }
    let stepped = state.rigid.step(span.dt, &scratch.pushes);
    stepped.map_err(|source| SimError::Diverged { time: span.to, stage: "bodies", source })?;
    for (body, &solid) in model.bodies.solids.iter().enumerate() {
        solids[solid].after = state.rigid.placement(body);
    }
    Ok(())
}

/// Puts the solids that are bodies where these are.
pub fn stand(model: &Model, state: &State, solids: &mut [SolidScratch]) {
    for (body, &solid) in model.bodies.solids.iter().enumerate() {
        let place = state.rigid.placement(body);
        (solids[solid].before, solids[solid].after) = (place, place);
    }
}

/// The figures of each body, with its name.
pub fn figures<'a>(model: &'a Model, state: &'a State) -> impl Iterator<Item = (&'a str, BodyStats)> {
    model.bodies.solids.iter().zip(state.rigid.bodies()).map(|(&solid, body)| {
        let DVec3 { x, y, z } = body.centre;
        let rigid = RigidStats { x, y, z, spin: body.spin.length() };
        let figures = BodyStats { speed_max: body.velocity.length(), rigid: Some(rigid), ..BodyStats::default() };
        (model.solids[solid].name.as_str(), figures)
    })
}
