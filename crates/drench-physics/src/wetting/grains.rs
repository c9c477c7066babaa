//! Grains that get wet [Rungjiratananon2012, 5].
//!
//! A grain holds water [kg], in its pores and on its skin. By the ratio q of water to dry mass it is dry (0), wet (up to
//! the threshold) or over-wet (up to `most`). w = q / threshold is its *wetness*.
//!
//! | what | law | text |
//! |---|---|---|
//! | damping | c (1 + `damping` min(w, 1)), w the mean of both | 5.4 |
//! | friction | mu (1 + `friction` min(w, 1)), falling from the threshold on to mu `fluidised_friction` at fluidisation | 5.5 |
//! | rolling friction | as dry up to the threshold, then falling in the same way | |
//! | bridges | [`bridge`](super::bridge), times (1 - w / w_f) | 5.6 |
//! | coarse grains | bridges R / `stands_for` times as strong | |
//! | radius | r = R (1 - `shrink` min(w, 1)), never growing again | 5.1 |
//!
//! The text says that over-wet sand flows, but its friction grows without end and only bridges fade, so that over-wet sand would be dry sand.
//! What gives way is the contact: water that cannot leave the pores carries the part r of the load, grains rub with what is left, mu (1 - r)
//! [Terzaghi1943], and r grows from 0 where pores begin to fill to its most where the heap is fluidised. `fluidised_friction` is 1 - r there; water that stands
//! in full pores carries r = 1000 / 1990, its density over that of sand and water together, and 1 - r is a half.

use super::bridge::Bridge;
use crate::error::{PhysicsError, check};
use crate::grains::GrainModel;

/// Bridges that a grain's water is shared among: the contacts of a grain in a random heap.
const BRIDGES: f64 = 6.0;
/// Volume of a bridge over R^3 at which neighbouring bridges would flow together.
const MOST_VOLUME: f64 = 0.05;
/// Wetness at which bridges have come to their full strength: below, water fills the roughness first.
const ONSET: f64 = 0.05;

/// How grains get wet. Water is measured by the dry mass of the grain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wetness {
    /// Water above which a grain is over-wet and passes it on, over its dry mass.
    pub threshold: f64,
    /// Water that a grain can hold, over its dry mass.
    pub most: f64,
    /// Water at which bridges have lost all strength and the heap flows, over the dry mass.
    pub fluidised: f64,
    /// Part of the water nearby that a grain takes in per second [1/s].
    pub absorption: f64,
    /// Part of the excess that goes to grains below, per second [1/s].
    pub downward: f64,
    /// Part of the excess that goes to grains beside, per second [1/s].
    pub sideways: f64,
    /// Part of the excess that goes to grains above, per second [1/s].
    pub upward: f64,
    /// How much wetness at the threshold adds to the damping of collisions, over that of dry grains.
    pub damping: f64,
    /// How much wetness at the threshold adds to friction, over that of dry grains.
    pub friction: f64,
    /// Friction and rolling friction that are left at fluidisation, over those of dry grains: the part of the load that pore water does
    /// not carry.
    pub fluidised_friction: f64,
    /// The liquid bridges between wet grains, if there are any.
    pub bridge: Option<Bridge>,
    /// Radius of the sand that grains stand for [m], if not themselves: bridges hold the heap as they would hold that sand.
    pub stands_for: Option<f64>,
    /// Part of its radius that a grain loses at the threshold.
    pub shrink: f64,
    /// Part of its water that a grain loses to the air per second [1/s].
    pub evaporation: f64,
    /// Density of the water [kg/m3].
    pub density: f64,
}

impl Default for Wetness {
    fn default() -> Self {
        Self {
            threshold: 0.1,
            most: 0.25,
            fluidised: 0.22,
            absorption: 50.0,
            downward: 10.0,
            sideways: 5.0,
            upward: 1.0,
            damping: 1.0,
            friction: 0.5,
            fluidised_friction: 0.5,
            bridge: Some(Bridge::default()),
            stands_for: None,
            shrink: 0.0,
            evaporation: 0.0,
            density: 1000.0,
        }
    }
}

impl Wetness {
    pub(crate) fn check(&self) -> Result<(), PhysicsError> {
        let ratio = |x: f64| x > 0.0 && x <= 10.0;
        check("threshold", self.threshold, "above 0 and at most 10 of the dry mass", ratio)?;
        check("most", self.most, "above 0 and at most 10 of the dry mass", ratio)?;
        check("fluidised", self.fluidised, "above 0 and at most 10 of the dry mass", ratio)?;
        let over = self.threshold;
        check("most", self.most, "at least `threshold`: grains could not hold what makes them over-wet", |x| {
            x >= over
        })?;
        check(
            "fluidised",
            self.fluidised,
            "above `threshold`: grains would flow before they are over-wet; raise it, or lower `threshold`",
            |x| x > over,
        )?;
        let most = self.most;
        check("fluidised", self.fluidised, "at most `most`: grains could not hold what makes them flow", |x| {
            x <= most
        })?;
        for (name, rate) in [
            ("absorption", self.absorption),
            ("downward", self.downward),
            ("sideways", self.sideways),
            ("upward", self.upward),
            ("evaporation", self.evaporation),
        ] {
            check(name, rate, "between 0 and 1e6 1/s", |x| (0.0..=1e6).contains(&x))?;
        }
        check("damping", self.damping, "between 0 and 1e3", |x| (0.0..=1e3).contains(&x))?;
        check("friction", self.friction, "between 0 and 1e3", |x| (0.0..=1e3).contains(&x))?;
        check("fluidised_friction", self.fluidised_friction, "between 0 and 1", |x| (0.0..=1.0).contains(&x))?;
        let sand = self.stands_for.unwrap_or(1.0);
        check("stands_for", sand, "above 1e-6 m and at most 10 m", |x| (1e-6..=10.0).contains(&x))?;
        check("shrink", self.shrink, "between 0 and 0.5: what is left must have a size", |x| (0.0..=0.5).contains(&x))?;
        check("density", self.density, "between 1 and 1e5 kg/m3", |x| (1.0..=1e5).contains(&x))?;
        self.bridge.as_ref().map_or(Ok(()), Bridge::check)
    }

    /// Wetness of a grain: its water over that at the threshold.
    pub fn wetness(&self, water: f64, dry_mass: f64) -> f64 {
        water / (self.threshold * dry_mass)
    }

    /// What is left of the radius of a grain with this water [kg].
    pub(crate) fn shrunk(&self, water: f64, dry_mass: f64) -> f64 {
        1.0 - self.shrink * self.wetness(water, dry_mass).min(1.0)
    }

    /// Damping of bridges over the mass of a grain, at most [1/s].
    pub(crate) fn bridge_damping(&self) -> f64 {
        match self.bridge {
            Some(Bridge::Empirical { strength, .. }) => 0.5 * strength * self.fluidised / self.threshold,
            _ => 0.0,
        }
    }

    /// Farthest that a bridge between grains of up to this radius reaches [m]; on a solid, where Derjaguin's radius is
    /// twice that of the grain, it is twice as far.
    pub(crate) fn reach(&self, radius: f64) -> f64 {
        self.bridge.map_or(0.0, |bridge| bridge.rupture(MOST_VOLUME * radius.powi(3)))
    }

    /// Volume that a grain with this water [kg] gives to each of its bridges [m3].
    pub(crate) fn share(&self, water: f64) -> f64 {
        water / (self.density * BRIDGES)
    }
}

/// What wetness does to contacts, rounded once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WetLaw {
    damping: f32,
    friction: f32,
    /// Wetness at fluidisation, and friction that is left there.
    fluidised: f32,
    slippery: f32,
    bridge: Option<Meniscus>,
    /// How much stronger bridges are than those of single grains. The strength of damp sand is a pull over an area, about gamma / R:
    /// grains k times as large as the sand they stand for need bridges k times as strong to hold as it does.
    strength: f32,
}

/// What two surfaces of this mean wetness do to each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wet {
    pub viscous: f32,
    pub friction: f32,
    pub rolling: f32,
    /// Strength of bridges, 0 to 1, and wetness that is missing to fluidisation.
    fading: f32,
    missing: f32,
}

impl WetLaw {
    pub fn new(model: &GrainModel) -> Option<Self> {
        model.wetness().map(|w| Self {
            damping: w.damping as f32,
            friction: w.friction as f32,
            fluidised: (w.fluidised / w.threshold) as f32,
            slippery: w.fluidised_friction as f32,
            bridge: w.bridge.map(Meniscus::new),
            strength: w.stands_for.map_or(1.0, |sand| model.sizes().radius / sand) as f32,
        })
    }

    /// The factors of the law of contact at a mean wetness.
    #[inline]
    pub fn at(&self, wetness: f32) -> Wet {
        let missing = (self.fluidised - wetness).max(0.0);
        let grown = wetness.min(1.0);
        // What grains carry of the load: all of it up to the threshold, the least at fluidisation.
        let carried = (missing / (self.fluidised - 1.0)).min(1.0);
        Wet {
            viscous: 1.0 + self.damping * grown,
            friction: self.slippery + (1.0 + self.friction * grown - self.slippery) * carried,
            rolling: self.slippery + (1.0 - self.slippery) * carried,
            fading: missing / self.fluidised * (wetness * (1.0 / ONSET as f32)).min(1.0),
            missing,
        }
    }

    /// Pull of a bridge [N], or none if it breaks. `radius` is Derjaguin's, `volume` what both surfaces give to it.
    #[inline]
    pub fn bridge(&self, wet: &Wet, radius: f32, volume: f32, gap: f32, parting: f32, mass: f32) -> Option<f32> {
        let bridge = self.bridge.as_ref()?;
        let volume = volume.min(MOST_VOLUME as f32 * radius * radius * radius);
        // The law of `Bridge::rupture`, cubed.
        if volume <= 0.0 || gap * gap * gap > bridge.rupture * volume {
            return None;
        }
        let bound = bridge.pull * radius * wet.fading * self.strength;
        Some(match bridge.damping {
            None if gap > 0.0 => {
                let s = gap * (radius / volume).sqrt();
                bound / (1.0 + 1.05 * s + 2.5 * s * s)
            }
            None => bound,
            Some(damping) => (damping * mass * wet.missing * parting).clamp(0.0, bound),
        })
    }
}

/// A [`Bridge`], rounded once.
#[derive(Clone, Copy, Debug)]
struct Meniscus {
    /// Pull in contact over Derjaguin's radius [N/m].
    pull: f32,
    /// Cube of the gap at rupture over the volume.
    rupture: f32,
    /// What grains that part are held back with [1/s]; none where the meniscus pulls of itself.
    damping: Option<f32>,
}

impl Meniscus {
    fn new(bridge: Bridge) -> Self {
        Self {
            pull: bridge.pull(1.0, 1.0, 0.0) as f32,
            rupture: bridge.rupture(1.0).powi(3) as f32,
            damping: match bridge {
                Bridge::Willett { .. } => None,
                Bridge::Empirical { strength, .. } => Some(strength as f32),
            },
        }
    }
}
