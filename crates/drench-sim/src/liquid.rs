//! The liquid: from the scene's words to particles, where it comes in and where it goes out.

use crate::SimError;
use crate::regions;
use crate::solids::{self, SolidModel, SolidScratch, Span};
use drench_physics::PhysicsError;
use drench_physics::contact::Placement;
use drench_physics::liquid::drain::{self, Drain};
use drench_physics::liquid::source::{self, Opening, Portion, Rain};
use drench_physics::liquid::{
    Droplet, LiquidModel, LiquidState, Material, Method, StepLimits, dfsph, mueller2003, viscosity,
};
use drench_scene as scene;
use drench_scene::Scene;
use glam::DVec3;
use std::cell::Cell;

/// Most particles of a liquid.
pub const MOST: usize = 20_000_000;
/// Smallest number of particles across a tank in which a liquid can flow.
const ACROSS: f64 = 4.0;
/// How near to what liquid begins in solids matter to it, in spacings: as far as is looked for a second wall, and a little.
pub const NEAR: f64 = ACROSS + 1.0;

/// The immutable part of the liquid.
#[derive(Debug)]
pub struct LiquidBody {
    /// What it is like.
    pub model: LiquidModel,
    /// Where it comes in.
    emitters: Vec<Emitter>,
    /// Where it goes out.
    drains: Vec<Drain>,
}

/// Where liquid comes in.
#[derive(Debug)]
struct Emitter {
    outlet: Outlet,
    /// The solid that carries it.
    solid: Option<usize>,
    start: f64,
    stop: f64,
    /// What it is drawn from, if it is random.
    seed: u64,
}

#[derive(Debug)]
enum Outlet {
    /// Openings, in the frame of what carries them.
    Openings(Vec<Opening>),
    Rain(Rain),
}

impl Outlet {
    /// Refuses what nothing, or too much, can come out of.
    fn check(&self, portion: &Portion) -> Result<(), PhysicsError> {
        match self {
            Self::Openings(openings) => openings.iter().try_for_each(|opening| opening.check(portion)),
            Self::Rain(rain) => rain.check(),
        }
    }

    /// About how many particles come out in so much time [s].
    fn count(&self, portion: &Portion, time: f64) -> f64 {
        match self {
            Self::Openings(openings) => openings.iter().map(|opening| opening.count(portion, time)).sum(),
            Self::Rain(rain) => rain.count(portion, time),
        }
    }

    /// The middle of everything that liquid comes out of [m].
    fn middles(&self) -> Vec<DVec3> {
        match self {
            Self::Openings(openings) => openings.iter().map(|opening| opening.position).collect(),
            Self::Rain(rain) => vec![rain.position],
        }
    }

    /// The middle and the edge of everything that liquid comes out of [m].
    fn edge(&self) -> Vec<DVec3> {
        let around = |opening: &Opening| solids::edge_of(opening.position, opening.direction, opening.radius);
        match self {
            Self::Openings(openings) => openings.iter().flat_map(around).collect(),
            Self::Rain(rain) => {
                let [x, z] = rain.size.map(|size| 0.5 * size);
                let parts = [-1.0, 0.0, 1.0].map(|part| [(part, -1.0), (part, 0.0), (part, 1.0)]);
                parts.as_flattened().iter().map(|(u, v)| rain.position + DVec3::new(u * x, 0.0, v * z)).collect()
            }
        }
    }
}

/// Density of the scene's liquid, or of water if it has none [kg/m3].
pub fn density(scene: &Scene) -> f64 {
    scene.liquid.as_ref().map_or(Material::WATER, material).density
}

/// The liquid of a scene, with all that the scene fills in at the beginning.
pub fn build(scene: &Scene, solids: &[SolidModel]) -> Result<Option<(LiquidBody, LiquidState)>, SimError> {
    let Some(liquid) = &scene.liquid else { return Ok(None) };
    let body = body(scene, liquid, solids)?;
    let mut state = LiquidState::default();
    for index in 0..liquid.fills.len() {
        let room = MOST.saturating_sub(state.len());
        state.add(&body.fill(scene, index, solids, room, |_| true)?);
    }
    Ok(Some((body, state)))
}

/// How many particles a liquid begins with, and about how many come in over the whole run. Refuses what [`build`] would refuse.
pub fn expected(scene: &Scene, solids: &[SolidModel]) -> Result<[u64; 2], SimError> {
    let Some(liquid) = &scene.liquid else { return Ok([0, 0]) };
    let body = body(scene, liquid, solids)?;
    let count = Cell::new(0);
    for index in 0..liquid.fills.len() {
        // Counts without keeping; what is one too many is kept, and refused.
        let too_many = |_| {
            count.set(count.get() + 1);
            count.get() > MOST
        };
        body.fill(scene, index, solids, 0, too_many)?;
    }
    let end = scene.duration();
    let emitted =
        |emitter: &Emitter| emitter.outlet.count(&body.portion(), (emitter.stop.min(end) - emitter.start).max(0.0));
    Ok([count.get() as u64, body.emitters.iter().map(emitted).sum::<f64>() as u64])
}

/// What is doubtful about the liquid and what holds it.
pub fn doubts(scene: &Scene) -> Vec<String> {
    let Some(liquid) = &scene.liquid else { return Vec::new() };
    let thin = scene.solids.iter().filter_map(|solid| match solid.shape {
        scene::Shape::Tank { wall, .. } if solid.collide && wall * solid.scale < liquid.spacing * (1.0 - 1e-6) => Some(format!(
            "{}: its walls are thinner ({} m) than a particle of the liquid ({} m), which stays away from them by up to half of that; make `wall` thicker, or \
             `spacing` smaller",
            solid.name,
            wall * solid.scale,
            liquid.spacing
        )),
        _ => None,
    });
    thin.collect()
}

fn material(liquid: &scene::Liquid) -> Material {
    let named = match liquid.material {
        scene::LiquidMaterial::Water => Material::WATER,
        scene::LiquidMaterial::Oil => Material::OIL,
        scene::LiquidMaterial::Milk => Material::MILK,
        scene::LiquidMaterial::Honey => Material::HONEY,
        scene::LiquidMaterial::Glycerine => Material::GLYCERINE,
        scene::LiquidMaterial::Alcohol => Material::ALCOHOL,
    };
    Material {
        density: liquid.density.unwrap_or(named.density),
        viscosity: liquid.viscosity.unwrap_or(named.viscosity),
        surface_tension: liquid.surface_tension.unwrap_or(named.surface_tension),
    }
}

fn body(scene: &Scene, liquid: &scene::Liquid, solids: &[SolidModel]) -> Result<LiquidBody, SimError> {
    let model = LiquidModel {
        material: material(liquid),
        spacing: liquid.spacing,
        contact_angle: liquid.contact_angle,
        method: match liquid.method {
            scene::LiquidMethod::Dfsph => Method::Dfsph(dfsph::Parameters {
                density_error: liquid.density_error,
                divergence_error: liquid.divergence_error,
                ..dfsph::Parameters::default()
            }),
            scene::LiquidMethod::Mueller2003 => {
                Method::Mueller2003(liquid.speed_of_sound.map_or(mueller2003::Parameters::default(), |speed| {
                    mueller2003::Parameters { stiffness: speed * speed }
                }))
            }
        },
        viscosity: match liquid.viscosity_solver {
            scene::ViscositySolver::Explicit => viscosity::Solver::Explicit,
            scene::ViscositySolver::Implicit => viscosity::Solver::Implicit { error: 1e-3, most_iterations: 100 },
        },
        wall_friction: liquid.wall_friction,
        limits: StepLimits { cfl: liquid.cfl, longest: liquid.longest_step, ..StepLimits::default() },
    };
    model.check().map_err(SimError::Liquid)?;
    for solid in &scene.solids {
        if let scene::Shape::Tank { size, .. } = solid.shape
            && solid.collide
            && size.min_element() * solid.scale < ACROSS * model.spacing
        {
            let (solid, size) = (solid.name.clone(), size.min_element() * solid.scale);
            return Err(SimError::SmallContainer { solid, size, spacing: model.spacing });
        }
    }
    let emitters =
        liquid.emitters.iter().enumerate().map(|(index, emitter)| self::emitter(scene, solids, emitter, index));
    let emitters = emitters.collect::<Result<_, _>>()?;
    let body = LiquidBody { model, emitters, drains: liquid.drains.iter().map(drain_of).collect() };
    for (emitter, made) in body.emitters.iter().enumerate() {
        made.outlet.check(&body.portion()).map_err(|source| SimError::Emitter { emitter, source })?;
    }
    for (emitter, made) in liquid.emitters.iter().zip(&body.emitters) {
        let place = place_of(scene, emitter);
        for local in made.outlet.middles() {
            body.check_room(scene, solids, place.rotation * local + place.translation)?;
        }
    }
    Ok(body)
}

/// Boxes in which liquid comes into being, by the corners [m].
pub fn begins(scene: &Scene, liquid: &scene::Liquid, solids: &[SolidModel]) -> Result<Vec<(DVec3, DVec3)>, SimError> {
    let mut boxes = Vec::new();
    for fill in &liquid.fills {
        boxes.push(regions::region(scene, &fill.region, solids)?.as_physics().bounds());
    }
    for (index, emitter) in liquid.emitters.iter().enumerate() {
        let place = place_of(scene, emitter);
        let points = outlet(scene, emitter, index).edge().into_iter();
        boxes.extend(points.map(|local| place.rotation * local + place.translation).map(|point| (point, point)));
    }
    Ok(boxes)
}

/// Where what carries an emitter is at the beginning.
fn place_of(scene: &Scene, emitter: &scene::Emitter) -> Placement {
    let solid = emitter.on.as_ref().and_then(|name| scene.solid(name));
    solid.map_or(Placement::IDENTITY, |solid| solids::placed(scene.pose_of(solid, 0.0)))
}

/// What an emitter is drawn from, if it is random.
fn seed_of(scene: &Scene, index: usize) -> u64 {
    scene.simulation.seed.wrapping_add(index as u64)
}

fn outlet(scene: &Scene, emitter: &scene::Emitter, index: usize) -> Outlet {
    let opening = |position: DVec3, direction: DVec3, radius, speed| Opening {
        position,
        direction: direction.normalize(),
        radius,
        speed,
        velocity: DVec3::ZERO,
        phase: 0.0,
    };
    match emitter.outlet {
        scene::Outlet::Faucet { position, direction, radius, speed } => {
            Outlet::Openings(vec![opening(position, direction, radius, speed)])
        }
        scene::Outlet::Shower { position, direction, radius, openings, opening: hole, spread, speed } => {
            let head = opening(position, direction, radius, speed);
            Outlet::Openings(source::shower(&head, openings, hole, spread, seed_of(scene, index)))
        }
        scene::Outlet::Rain { position, size, rate, velocity } => {
            Outlet::Rain(Rain { position, size: [size.x, size.z], rate, velocity })
        }
    }
}

fn emitter(scene: &Scene, solids: &[SolidModel], emitter: &scene::Emitter, index: usize) -> Result<Emitter, SimError> {
    let (outlet, place) = (outlet(scene, emitter, index), place_of(scene, emitter));
    for local in outlet.edge() {
        let position = place.rotation * local + place.translation;
        if let Some(solid) = solids::solid_around(scene, solids, position) {
            return Err(SimError::EmitterInside { emitter: index, solid: solid.to_owned() });
        }
    }
    let (solid, seed) = (emitter.on.as_ref().and_then(|name| scene.solid(name)), seed_of(scene, index));
    Ok(Emitter { outlet, solid, start: emitter.start, stop: emitter.stop.unwrap_or(f64::INFINITY), seed })
}

fn drain_of(drain: &scene::Drain) -> Drain {
    match *drain {
        scene::Drain::Below { height } => Drain::Below(height),
        scene::Drain::Box { low, high } => Drain::Inside(low, high),
        scene::Drain::Outside { low, high } => Drain::Outside(low, high),
    }
}

impl LiquidBody {
    /// The particles of a fill that are `kept`, at most `room` of them.
    fn fill(
        &self,
        scene: &Scene,
        index: usize,
        solids: &[SolidModel],
        room: usize,
        kept: impl Fn(DVec3) -> bool,
    ) -> Result<Vec<Droplet>, SimError> {
        let Some(fill) = scene.liquid.as_ref().and_then(|liquid| liquid.fills.get(index)) else {
            return Ok(Vec::new());
        };
        let (spacing, reach) = (self.model.spacing, 0.45 * self.model.spacing);
        let fills = scene.liquid.iter().flat_map(|liquid| &liquid.fills[..index]);
        let earlier: Vec<_> =
            fills.map(|fill| regions::region(scene, &fill.region, solids)).collect::<Result<_, _>>()?;
        // Nearer than that to its region there are particles of an earlier fill.
        let taken = |p: DVec3| earlier.iter().any(|region| region.as_physics().depth(p) > -0.4 * spacing);
        let region = regions::region(scene, &fill.region, solids)?;
        let region = region.as_physics();
        let (low, high) = region.bounds();
        let empty = SimError::EmptyFill { fill: index, spacing };
        if (high - low).min_element() < spacing * (1.0 - 1e-6) {
            return Err(empty);
        }
        self.check_room(scene, solids, 0.5 * (low + high))?;
        let any = Cell::new(false);
        let free = |p: DVec3| {
            let [told, most] = solids::clearances(scene, solids, p);
            let free = region.depth(p) >= 0.0 && most >= reach && told >= 0.5 * reach && !taken(p);
            any.set(any.get() || free);
            free && kept(p)
        };
        let drops = source::fill(&self.portion(), [low, high], fill.velocity, room, free).map_err(SimError::Liquid)?;
        if any.get() { Ok(drops) } else { Err(empty) }
    }

    /// Refuses walls on both sides of a point that leave no room for the liquid to flow between them.
    fn check_room(&self, scene: &Scene, solids: &[SolidModel], point: DVec3) -> Result<(), SimError> {
        let (spacing, farthest) = (self.model.spacing, ACROSS * self.model.spacing);
        let way = |direction: DVec3| {
            // No wall is nearer than the clearance: as far as that it is safe to go.
            let mut way = 0.0;
            while way < farthest {
                let clear = solids::clearance(scene, solids, point + direction * way);
                if clear < 1e-3 * spacing {
                    break;
                }
                way += clear;
            }
            way
        };
        if solids::clearance(scene, solids, point) <= 0.0 {
            return Ok(());
        }
        for axis in [DVec3::X, DVec3::Z] {
            let ways = [way(axis), way(-axis)];
            let (size, wall) = (ways[0] + ways[1], point + axis * (ways[0] + 0.01 * spacing));
            if size < farthest
                && let Some(solid) = solids::solid_around(scene, solids, wall)
            {
                return Err(SimError::SmallContainer { solid: solid.to_owned(), size, spacing });
            }
        }
        Ok(())
    }

    /// What all its particles have in common.
    pub fn portion(&self) -> Portion {
        Portion { spacing: self.model.spacing, mass: self.model.particle_mass() }
    }

    /// Speed of the fastest stream, several particles across, that comes in during a substep [m/s].
    pub fn stream(&self, span: Span) -> f64 {
        let open = self.emitters.iter().filter(|emitter| emitter.start < span.to && span.from < emitter.stop);
        let openings = open.flat_map(|emitter| match &emitter.outlet {
            Outlet::Openings(openings) => openings.as_slice(),
            Outlet::Rain(_) => &[],
        });
        let streams = openings.filter(|opening| opening.layer(self.model.spacing) > 1);
        streams.map(|opening| opening.speed).fold(0.0, f64::max)
    }

    /// Lets in what the emitters give during the substep; its mass [kg].
    pub fn emit(&self, state: &mut LiquidState, solids: &[SolidScratch], span: Span) -> Result<f64, PhysicsError> {
        let mut drops: Vec<Droplet> = Vec::new();
        let open = |emitter: &Emitter| (span.from.max(emitter.start), span.to.min(emitter.stop));
        let coming = |emitter: &Emitter| {
            let (from, to) = open(emitter);
            emitter.outlet.count(&self.portion(), (to - from).max(0.0))
        };
        if state.len() as f64 + self.emitters.iter().map(coming).sum::<f64>() > MOST as f64 {
            return Err(PhysicsError::TooMuchLiquid { limit: MOST });
        }
        for emitter in &self.emitters {
            let (from, to) = open(emitter);
            if from >= to {
                continue;
            }
            let (from, to) = (from - emitter.start, to - emitter.start);
            let first = drops.len();
            match &emitter.outlet {
                Outlet::Rain(rain) => rain.emit(&self.portion(), emitter.seed, from, to, &mut drops)?,
                Outlet::Openings(openings) => {
                    for opening in openings {
                        let carried = emitter.solid.map_or(*opening, |solid| carried(opening, &solids[solid], span.dt));
                        carried.emit(&self.portion(), from, to, &mut drops)?;
                    }
                }
            }
            drops[first..].iter_mut().for_each(|drop| drop.birth += emitter.start);
        }
        Ok(state.add(&drops))
    }

    /// Lets out what the drains swallow; its mass [kg].
    pub fn drain(&self, state: &mut LiquidState) -> f64 {
        drain::drain(state, &self.drains)
    }
}

/// An opening as the solid that carries it has it at the end of the substep.
fn carried(opening: &Opening, solid: &SolidScratch, dt: f64) -> Opening {
    let at = |place: &Placement| place.rotation * opening.position + place.translation;
    let (before, after) = (at(&solid.before), at(&solid.after));
    Opening {
        position: after,
        direction: (solid.after.rotation * opening.direction).normalize(),
        velocity: (after - before) / dt,
        ..*opening
    }
}
