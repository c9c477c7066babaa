//! Liquids of particles: a model, a state, and one pressure method per module.
//!
//! | method | module | what it gives |
//! |---|---|---|
//! | `dfsph` | [`dfsph`] | incompressible: density and its rate kept to given errors [Bender2017] |
//! | `mueller2003` | [`mueller2003`] | pressure from an equation of state, for comparison [Mueller2003] |
//!
//! [`solve`] takes one substep of the scene in as many steps of its own as the liquid's motion asks for (`pace`). One step:
//!
//! 1. particles are sorted along a space-filling curve and find their neighbours (`rows`), densities on the way;
//! 2. what solids and foreign particles add is summed once (`walls`);
//! 3. divergence is removed, forces act (gravity, [`viscosity`], surface `tension`, drag), compression is removed;
//! 4. particles move, and the `guard` puts back what went into a solid.
//!
//! Particles have a spacing d at rest and a kernel of support H = 2 d; the mass at rest is ρ0 d³, but every particle has a mass of
//! its own, which wetting may change: a light particle counts for less.

mod crowd;
pub mod dfsph;
mod drag;
pub mod drain;
mod fields;
mod film;
mod floaters;
mod guard;
pub mod kernel;
mod material;
pub mod mueller2003;
mod pace;
mod pools;
mod rows;
pub mod source;
mod state;
mod step;
mod tension;
pub mod viscosity;
mod walls;

#[cfg(test)]
mod tests;

pub use material::Material;
pub use pace::{Limit, Velocities, longest_step};
pub use state::{Droplet, LiquidState};
pub use step::{LiquidScratch, Tally, solve};
pub use walls::sample_volumes;

use crate::contact::Collider;
use crate::error::{PhysicsError, check};
use crate::rigid::{BodyState, Push};
use glam::DVec3;

/// The body index of samples of solids that nothing can push.
pub const NO_BODY: u32 = u32::MAX;

/// How pressure is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Divergence-free SPH.
    Dfsph(dfsph::Parameters),
    /// An equation of state.
    Mueller2003(mueller2003::Parameters),
}

/// How long a step may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepLimits {
    /// Part of the spacing by which particles may pass their neighbours in a step.
    pub cfl: f64,
    /// Longest step [s].
    pub longest: f64,
    /// Shortest step [s]: below it the liquid is hurried, and the tally says so.
    pub shortest: f64,
}

impl Default for StepLimits {
    fn default() -> Self {
        Self { cfl: 0.4, longest: 5e-3, shortest: 1e-5 }
    }
}

/// What does not change about a liquid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiquidModel {
    /// What it is made of.
    pub material: Material,
    /// Distance of particles at rest d [m].
    pub spacing: f64,
    /// Contact angle on solids [rad].
    pub contact_angle: f64,
    /// How pressure is found.
    pub method: Method,
    /// How viscosity is solved.
    pub viscosity: viscosity::Solver,
    /// How strongly walls hold the liquid that flows along them: 1 sticks, 0 slips.
    pub wall_friction: f64,
    /// How long a step may be.
    pub limits: StepLimits,
}

impl LiquidModel {
    /// Water with this spacing [m], with everything else as usual.
    pub fn water(spacing: f64) -> Self {
        Self {
            material: Material::WATER,
            spacing,
            contact_angle: std::f64::consts::FRAC_PI_3,
            method: Method::Dfsph(dfsph::Parameters::default()),
            viscosity: viscosity::Solver::Explicit,
            wall_friction: 1.0,
            limits: StepLimits::default(),
        }
    }

    /// Refuses what cannot work.
    pub fn check(&self) -> Result<(), PhysicsError> {
        self.material.check()?;
        check("spacing", self.spacing, "1e-6 to 1e3 m", |x| (1e-6..=1e3).contains(&x))?;
        check("contact angle", self.contact_angle, "0 to pi", |x| (0.0..=std::f64::consts::PI).contains(&x))?;
        check("wall friction", self.wall_friction, "0 to 1", |x| (0.0..=1.0).contains(&x))?;
        check("cfl", self.limits.cfl, "above 0 and at most 1", |x| x > 0.0 && x <= 1.0)?;
        check("longest step", self.limits.longest, "positive", |x| x > 0.0)?;
        check("shortest step", self.limits.shortest, "positive", |x| x > 0.0)?;
        if let viscosity::Solver::Implicit { error, most_iterations } = self.viscosity {
            check("viscosity error", error, "above 0 and below 1", |x| x > 0.0 && x < 1.0)?;
            check("viscosity iterations", f64::from(most_iterations), "1 or more", |x| x >= 1.0)?;
        }
        match &self.method {
            Method::Dfsph(parameters) => parameters.check(),
            Method::Mueller2003(parameters) => parameters.check(),
        }?;
        let step = pace::viscous_step(self);
        if step < self.limits.shortest {
            let fix = match self.method {
                Method::Dfsph(_) => "set `viscosity_solver = \"implicit\"`",
                Method::Mueller2003(_) => "set `method = \"dfsph\"` and `viscosity_solver = \"implicit\"`",
            };
            return Err(PhysicsError::TooThick { step, shortest: self.limits.shortest, fix });
        }
        Ok(())
    }

    /// Mass of a particle at rest, ρ0 d³ [kg].
    pub fn particle_mass(&self) -> f64 {
        self.material.density * self.spacing.powi(3)
    }

    /// Radius of the kernel H = 2 d [m].
    pub fn support(&self) -> f64 {
        2.0 * self.spacing
    }
}

/// Samples of the surfaces of solids, at most about one spacing apart, half a spacing below the skin.
#[derive(Clone, Copy, Debug, Default)]
pub struct Samples<'a> {
    /// Positions at the end of the substep [m].
    pub positions: &'a [DVec3],
    /// Velocities [m/s]; those of pushed bodies follow from the body instead.
    pub velocities: &'a [DVec3],
    /// Which of the bodies each belongs to, or [`NO_BODY`].
    pub bodies: &'a [u32],
    /// Volumes of wall that they stand for [m3], see [`sample_volumes`]; if empty, samples share the walls that they are in.
    pub volumes: &'a [f64],
}

/// Particles of others, such as grains, that the liquid flows around and drags along.
#[derive(Clone, Copy, Debug, Default)]
pub struct Foreign<'a> {
    /// Positions at the beginning of the substep [m].
    pub positions: &'a [DVec3],
    /// Velocities at the beginning of the substep [m/s].
    pub velocities: &'a [DVec3],
    /// Volumes that the liquid cannot have [m3].
    pub volumes: &'a [f64],
    /// Inverse masses [1/kg]: the velocity that the liquid sees answers to the impulses of earlier steps of the substep.
    pub inverse_masses: &'a [f64],
    /// How many of them, the first, give way to pressure while it is solved for, as what is loose does. The others give way when the step is
    /// over, as what hangs on more than its own mass.
    pub loose: usize,
    /// Diameters of those that are spheres, the first [m]: they and the liquid hold each other as in a bed of grains.
    pub diameters: &'a [f64],
    /// How far the first of them are closed, 0 to 1: liquid does not flow between them, and is mirrored in them as in a wall.
    pub closed: &'a [f64],
    /// How fast liquid comes to the velocity of the others, where they fill all of space [1/s].
    pub drag: f64,
}

/// What surrounds the liquid during a substep.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Gravity [m/s2].
    pub gravity: DVec3,
    /// Solids to stay out of.
    pub colliders: &'a [Collider<'a>],
    /// Which of the bodies each collider is, or [`NO_BODY`]; empty if none is one.
    pub collider_bodies: &'a [u32],
    /// Samples of the solids.
    pub samples: Samples<'a>,
    /// Foreign particles.
    pub foreign: Foreign<'a>,
}

impl Surroundings<'_> {
    /// Nothing but gravity [m/s2].
    pub fn empty(gravity: DVec3) -> Self {
        Self { gravity, colliders: &[], collider_bodies: &[], samples: Samples::default(), foreign: Foreign::default() }
    }
}

/// What the liquid pushes: equal and opposite to what it feels.
#[derive(Debug, Default)]
pub struct Reactions<'a> {
    /// Rigid bodies, which see pushes at once.
    pub bodies: &'a mut [BodyState],
    /// The same pushes, for the rigid-body solver.
    pub pushes: &'a mut [Push],
    /// Impulses on foreign particles over the substep [N s], added to what is there.
    pub foreign: &'a mut [DVec3],
}
