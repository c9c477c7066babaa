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
    let refuse = refuse(body);
    let model = model(scene, body).map_err(&refuse)?;
    let stream = Stream::new(scene.simulation.seed, &format!("grains {}", body.name));
    let moisture = |wetness: f64| body.wetness.as_ref().map_or(0.0, |law| (wetness * law.threshold).min(law.most));
    let mut state = GrainState::default();
    for (number, part) in body.fills.iter().enumerate() {
        let region = regions::region(scene, &part.region, solids)?;
        let beginning = Beginning { velocity: part.velocity, moisture: moisture(part.wetness) };
        let grains =
            fill::fill(&model, &region.as_physics(), beginning, stream.child(number as u64)).map_err(&refuse)?;
        for grain in grains {
            state.push(&model, grain);
        }
    }
    let mut openings = Vec::with_capacity(body.pours.len());
    for pour in &body.pours {
        let opening = Opening {
            position: pour.position,
            direction: pour.direction,
            radius: pour.radius,
            speed: pour.speed,
            start: pour.start,
            stop: pour.stop.unwrap_or(f64::INFINITY),
        };
        opening.check(&model).map_err(&refuse)?;
        openings.push((opening, moisture(pour.wetness)));
    }
    Ok((GrainBody { name: body.name.clone(), model, openings, stream: stream.child(u64::MAX) }, state))
}

/// About how many grains a body begins with.
pub fn expected(scene: &Scene, body: &scene::Grains, solids: &[SolidModel]) -> Result<u64, SimError> {
    let model = model(scene, body).map_err(refuse(body))?;
    body.fills.iter().try_fold(0, |sum, part| {
        let region = regions::region(scene, &part.region, solids)?;
        Ok(sum + fill::estimate(&model, &region.as_physics()))
    })
}

fn refuse(body: &scene::Grains) -> impl Fn(PhysicsError) -> SimError {
    let grains = body.name.clone();
    move |source| SimError::Grains { grains: grains.clone(), source }
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
