//! Grains: from the scene's words to bodies of sand, and what is told of them.

use crate::SimError;
use crate::regions;
use crate::solids::{self, SolidModel};
use drench_math::random::Stream;
use drench_physics::PhysicsError;
use drench_physics::grains::fill::{self, Beginning, Opening};
use drench_physics::grains::{GrainModel, GrainState, Material, Sizes, Sleep, Spread, Stiffness};
use drench_physics::region::Region;
use drench_physics::wetting::{bridge, grains::Wetness};
use drench_scene as scene;
use drench_scene::Scene;
use glam::DVec3;

/// How much nearer to a solid than to the edge of its region a grain must be for the solid to reach into it, over its radius: more than rounding.
const NEARER: f64 = 1e-6;

/// The immutable part of one body of grains.
#[derive(Debug)]
pub struct GrainBody {
    /// Its name.
    pub name: String,
    /// What its grains are like.
    pub model: GrainModel,
    /// Where they are poured in, and how wet: water over the dry mass.
    pub openings: Vec<(Opening, f64)>,
    /// What draws their sizes and places.
    pub stream: Stream,
}

/// A body of grains with all that the scene fills in at the beginning.
pub fn build(scene: &Scene, body: &scene::Grains, solids: &[SolidModel]) -> Result<(GrainBody, GrainState), SimError> {
    let made = self::body(scene, body, solids)?;
    let mut state = GrainState::default();
    for (number, part) in body.fills.iter().enumerate() {
        let beginning = Beginning { velocity: part.velocity, moisture: moisture(body, part.wetness) };
        let make = |region: &Region, stream| fill::fill(&made.model, region, beginning, stream);
        let grains = in_fill(scene, body, solids, &made.model, number, make)?;
        for grain in grains {
            state.push(&made.model, grain);
        }
    }
    Ok((made, state))
}

/// About how many grains a body begins with, and how many are poured in over the whole run if no heap stops them. Refuses what [`build`] would refuse.
pub fn expected(scene: &Scene, body: &scene::Grains, solids: &[SolidModel]) -> Result<[u64; 2], SimError> {
    let made = self::body(scene, body, solids)?;
    let count = |region: &Region, stream| fill::count(&made.model, region, stream);
    let filled = (0..body.fills.len())
        .try_fold(0, |sum, number| Ok(sum + in_fill(scene, body, solids, &made.model, number, count)?))?;
    let poured = made.openings.iter().map(|(opening, _)| opening.count(&made.model, scene.duration())).sum();
    Ok([filled, poured])
}

/// Boxes in which grains come into being, by the corners [m].
pub fn begins(scene: &Scene, body: &scene::Grains, solids: &[SolidModel]) -> Result<Vec<(DVec3, DVec3)>, SimError> {
    let mut boxes = Vec::new();
    for fill in &body.fills {
        boxes.push(regions::region(scene, &fill.region, solids)?.as_physics().bounds());
    }
    let points = body.pours.iter().flat_map(|pour| solids::edge_of(pour.position, pour.direction, pour.radius));
    boxes.extend(points.map(|point| (point, point)));
    Ok(boxes)
}

/// What is made of the region of a fill, but for the solids that reach into it, and of what draws its grains.
fn in_fill<T>(
    scene: &Scene,
    body: &scene::Grains,
    solids: &[SolidModel],
    model: &GrainModel,
    number: usize,
    make: impl Fn(&Region, Stream) -> Result<T, PhysicsError>,
) -> Result<T, SimError> {
    let earlier: Vec<_> = (body.fills[..number].iter())
        .map(|fill| regions::region(scene, &fill.region, solids))
        .collect::<Result<_, _>>()?;
    let beside = |p: DVec3| earlier.iter().map(|region| -region.as_physics().depth(p)).fold(f64::INFINITY, f64::min);
    let region = regions::region(scene, &body.fills[number].region, solids)?;
    let (region, stream) = (region.as_physics(), stream(scene, body).child(number as u64));
    // As far as contact will find them to be: grains that began nearer would be pushed away. So they would by those of an earlier fill.
    let clearance = |p: DVec3| solids::room(scene, solids, p, 2.0 * model.sizes().most()).min(beside(p));
    // Most fills stand on solids and between them without any reaching in: they need not ask for the solids in every round of pushing apart.
    let nearer = |p: DVec3, radius: f64| clearance(p) < region.depth(p) - NEARER * radius;
    let made = match fill::any_place(model, &region, stream, nearer) {
        Ok(true) => make(&Region::Beside { region: &region, clearance: &clearance }, stream),
        Ok(false) => make(&region, stream),
        Err(problem) => Err(problem),
    };
    made.map_err(refuse(&body.name, Some(("fill", number))))
}

/// All that never changes about a body.
fn body(scene: &Scene, body: &scene::Grains, solids: &[SolidModel]) -> Result<GrainBody, SimError> {
    let model = model(scene, body).map_err(refuse(&body.name, None))?;
    let mut openings = Vec::with_capacity(body.pours.len());
    for (number, pour) in body.pours.iter().enumerate() {
        let opening = Opening {
            position: pour.position,
            direction: pour.direction,
            radius: pour.radius,
            speed: pour.speed,
            start: pour.start,
            stop: pour.stop.unwrap_or(f64::INFINITY),
        };
        opening.check(&model).map_err(refuse(&body.name, Some(("pour", number))))?;
        for point in solids::edge_of(pour.position, pour.direction, pour.radius) {
            if let Some(solid) = solids::solid_around(scene, solids, point) {
                return Err(SimError::PourInside { grains: body.name.clone(), pour: number, solid: solid.to_owned() });
            }
        }
        openings.push((opening, moisture(body, pour.wetness)));
    }
    Ok(GrainBody { name: body.name.clone(), model, openings, stream: stream(scene, body).child(u64::MAX) })
}

fn stream(scene: &Scene, body: &scene::Grains) -> Stream {
    Stream::new(scene.simulation.seed, &format!("grains {}", body.name))
}

/// Water over the dry mass of grains of this wetness. The scene was checked: only rounding can make it more than they hold.
fn moisture(body: &scene::Grains, wetness: f64) -> f64 {
    body.wetness.as_ref().map_or(0.0, |law| (wetness * law.threshold).min(law.most))
}

/// What is wrong with a body of this name, or with a fill or a pour of it.
pub fn refuse(name: &str, part: Option<(&'static str, usize)>) -> impl Fn(PhysicsError) -> SimError {
    move |source| SimError::Grains { grains: name.to_owned(), part, source }
}

fn model(scene: &Scene, body: &scene::Grains) -> Result<GrainModel, PhysicsError> {
    let spread = match body.distribution {
        scene::Distribution::Even => Spread::Even(body.spread),
        scene::Distribution::Normal => Spread::Normal(body.spread),
    };
    let material = Material {
        density: body.density,
        restitution: body.restitution,
        friction: body.friction,
        rolling_friction: body.rolling_friction,
        stiffness: Stiffness::Overlap { part: body.overlap, speed: body.speed },
    };
    let density = crate::liquid::density(scene);
    let wetness = body.wetness.as_ref().map(|law| wetness(law, density));
    GrainModel::new(Sizes { radius: body.radius, spread }, material, body.sleep.then(Sleep::default), wetness)
}

fn wetness(law: &scene::Wetness, density: f64) -> Wetness {
    Wetness {
        threshold: law.threshold,
        most: law.most,
        fluidised: law.fluidised,
        absorption: law.absorption,
        downward: law.downward,
        sideways: law.sideways,
        upward: law.upward,
        damping: law.damping,
        friction: law.friction,
        fluidised_friction: law.fluidised_friction,
        bridge: match law.bridge {
            scene::Bridge::None => None,
            scene::Bridge::Willett { surface_tension, contact_angle } => {
                Some(bridge::Bridge::Willett { surface_tension, contact_angle })
            }
            scene::Bridge::Empirical { strength, surface_tension } => {
                Some(bridge::Bridge::Empirical { strength, surface_tension })
            }
        },
        stands_for: law.stands_for,
        shrink: law.shrink,
        evaporation: law.evaporation,
        density,
    }
}
