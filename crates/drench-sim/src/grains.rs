//! Grains: from the scene's words to bodies of sand, and what is told of them.

use crate::SimError;
use crate::regions;
use crate::solids::SolidModel;
use drench_math::random::Stream;
use drench_physics::PhysicsError;
use drench_physics::grains::fill::{self, Beginning, Opening};
use drench_physics::grains::{GrainModel, GrainState, Material, Sizes, Sleep, Spread, Stiffness};
use drench_physics::wetting::{bridge, grains::Wetness};
use drench_scene as scene;
use drench_scene::Scene;

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
    let (made, stream) = (self::body(scene, body)?, stream(scene, body));
    let mut state = GrainState::default();
    for (number, part) in body.fills.iter().enumerate() {
        let region = regions::region(scene, &part.region, solids)?;
        let beginning = Beginning { velocity: part.velocity, moisture: moisture(body, part.wetness) };
        let grains = fill::fill(&made.model, &region.as_physics(), beginning, stream.child(number as u64))
            .map_err(refuse(body, Some(("fill", number))))?;
        for grain in grains {
            state.push(&made.model, grain);
        }
    }
    Ok((made, state))
}

/// About how many grains a body begins with. Refuses what [`build`] would refuse.
pub fn expected(scene: &Scene, body: &scene::Grains, solids: &[SolidModel]) -> Result<u64, SimError> {
    let (made, stream) = (self::body(scene, body)?, stream(scene, body));
    body.fills.iter().enumerate().try_fold(0, |sum, (number, part)| {
        let region = regions::region(scene, &part.region, solids)?;
        let count = fill::count(&made.model, &region.as_physics(), stream.child(number as u64));
        Ok(sum + count.map_err(refuse(body, Some(("fill", number))))?)
    })
}

/// All that never changes about a body.
fn body(scene: &Scene, body: &scene::Grains) -> Result<GrainBody, SimError> {
    let model = model(scene, body).map_err(refuse(body, None))?;
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
        opening.check(&model).map_err(refuse(body, Some(("pour", number))))?;
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

fn refuse(body: &scene::Grains, part: Option<(&'static str, usize)>) -> impl Fn(PhysicsError) -> SimError {
    let grains = body.name.clone();
    move |source| SimError::Grains { grains: grains.clone(), part, source }
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
