//! What grains are made of, how large they are, and what follows from that: stiffness, damping, the longest stable step.
//!
//! *The step.* v' = v - h M^-1 (K x + C v), x' = x + h v' keeps every motion of bound contacts bounded while h^2 k + 2 h c <= 4 for the quotients k = u*Ku / u*Mu
//! and c = u*Cu / u*Mu of every u. Both are sums over contacts of a |s_i - s_j|^2, s the motion of a grain's surface there, and that is at most 2 a |s_i|^2 + 2 a |s_j|^2:
//! neither is more than a grain's own contacts make it if its partners move against it as fast. [`CROWD`] is that of twelve equal ones.
//!
//! *Wet grains* have larger dampers. A step for the worst of all grains, the smallest among twelve wet ones, would be half as long for a heap in which nearly all
//! have five or six contacts. So the step is that of dry grains, and dampers give way where a grain has more of them than it stands: by
//! phi_i = min(1, c_most / c_i), where c_i bounds what its contacts had in the step before ([`GrainModel::damped_by`]) and c_most = (4 - h^2 k) / 2h is
//! what the step stands ([`GrainModel::withstood`]). A contact has min(phi_i, phi_j) of its damper, so that both sides get the same force and no grain keeps more than
//! c_most. A collision of two wet grains, or of a wet grain with a heap, is as the law says; springs never give way.

use crate::error::{PhysicsError, check};
use crate::wetting::grains::Wetness;
use drench_math::random::Stream;
use std::f64::consts::PI;

/// Tangential over normal stiffness: both springs of two equal spheres then swing in the same time, because a tangential
/// impulse at the surface of a ball meets 2/7 of its mass.
pub(crate) const TANGENT: f64 = 2.0 / 7.0;
/// Bound of the largest eigenvalue of K m / k, and of C m / c: a grain among twelve equal ones with every contact stuck.
/// Translation: 2 (12/3 + 12 (2/3) (2/7)) = 12.6; rotation: 2 (12 (2/3) (2/7) + 12 (1/4) (2/7)) / 0.4 = 15.7.
const CROWD: f64 = 16.0;
/// The same for n contacts is at most CROWD / 12 (n + FEW): few contacts can all be across one axis. With equal balls around a ball the largest
/// are 2.3, 4.5, 6.6, 8.1, 9.6, 10.7 (a hexagon), 11.5, 12.3, 13.1 for one to nine, and 15.7 for twelve.
const FEW: f64 = 2.2;
/// Part of the longest stable step that is taken. The bound of it is never reached: partners of one grain touch each other, and cannot all move against all of theirs.
const SAFETY: f64 = 0.9;
/// Least number of steps that a collision of two grains takes.
const CONTACT_STEPS: f64 = 12.0;
/// A normal distribution is cut at this many standard deviations.
const CUT: f64 = 3.0;
/// Steps of grains that one outer step may be divided into.
const MOST_STEPS: f64 = 100_000.0;

/// What grains are made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Material {
    /// Density of the grains themselves [kg/m3].
    pub density: f64,
    /// Normal speed that is left after a collision, over that before.
    pub restitution: f64,
    /// Coulomb friction between grains; on solids it is that of the solid.
    pub friction: f64,
    /// Rolling friction: how far off centre a contact pushes, over its effective radius.
    pub rolling_friction: f64,
    /// How stiff contacts are.
    pub stiffness: Stiffness,
}

impl Default for Material {
    fn default() -> Self {
        Self {
            density: 2650.0,
            restitution: 0.4,
            friction: 0.6,
            rolling_friction: 0.3,
            stiffness: Stiffness::default(),
        }
    }
}

/// How stiff contacts are: stiffer grains overlap less and need more steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stiffness {
    /// Stiffness of the spring between two grains [N/m].
    Given(f64),
    /// As stiff as it takes.
    Overlap {
        /// Overlap of two mean grains that meet head-on, over their mean radius.
        part: f64,
        /// The relative speed at which they meet [m/s].
        speed: f64,
    },
}

impl Default for Stiffness {
    fn default() -> Self {
        Self::Overlap { part: 0.1, speed: 1.0 }
    }
}

/// How the radii of grains are distributed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// Mean radius [m].
    pub radius: f64,
    /// How radii spread about it.
    pub spread: Spread,
}

/// How radii spread about their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// Evenly between (1 - part) and (1 + part) times the mean; 0 makes all grains equal.
    Even(f64),
    /// Normally with this standard deviation over the mean, cut at three standard deviations.
    Normal(f64),
}

impl Sizes {
    /// All of one radius [m].
    pub fn equal(radius: f64) -> Self {
        Self { radius, spread: Spread::Even(0.0) }
    }

    /// Smallest radius [m].
    pub fn least(&self) -> f64 {
        self.radius * (1.0 - self.width())
    }

    /// Largest radius [m].
    pub fn most(&self) -> f64 {
        self.radius * (1.0 + self.width())
    }

    /// Radius of the grain with this number [m].
    pub fn draw(&self, stream: Stream, number: u64) -> f64 {
        match self.spread {
            Spread::Even(part) => self.radius * (1.0 + part * stream.range(number, -1.0, 1.0)),
            Spread::Normal(deviation) => self.radius * (1.0 + deviation * stream.normal(number).clamp(-CUT, CUT)),
        }
    }

    fn width(&self) -> f64 {
        match self.spread {
            Spread::Even(part) => part,
            Spread::Normal(deviation) => CUT * deviation,
        }
    }

    fn check(&self) -> Result<(), PhysicsError> {
        check("radius", self.radius, "between 1e-6 m and 10 m", |x| (1e-6..=10.0).contains(&x))?;
        match self.spread {
            Spread::Even(part) => check(
                "spread",
                part,
                "0 to 0.9: at 1 the smallest grains would have no size; make `spread` smaller",
                |x| (0.0..=0.9).contains(&x),
            ),
            Spread::Normal(deviation) => check(
                "deviation",
                deviation,
                "0 to 0.3: radii reach down to 1 - 3 deviations of the mean, which must stay above zero; make it smaller",
                |x| (0.0..=0.3).contains(&x),
            ),
        }
    }
}

/// When resting grains are put to sleep.
///
/// A sleeping grain stands still. It falls asleep when it moved slower than `speed` and accelerated by less than
/// `acceleration` during the whole of `time`, and wakes when the forces on it no longer balance to twice that. So sleep
/// takes at most `speed` from a velocity, once, and holds back an acceleration of at most 2 `acceleration`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sleep {
    /// Speed of the centre, and of the surface about it, below which a grain rests [m/s].
    pub speed: f64,
    /// Acceleration of both below which a grain rests [m/s2].
    pub acceleration: f64,
    /// How long it must have rested [s].
    pub time: f64,
}

impl Default for Sleep {
    fn default() -> Self {
        Self { speed: 1e-3, acceleration: 0.05, time: 0.05 }
    }
}

/// A kind of grains: what never changes about them.
#[derive(Clone, Debug, PartialEq)]
pub struct GrainModel {
    material: Material,
    sizes: Sizes,
    sleep: Option<Sleep>,
    wetness: Option<Wetness>,
    stiffness: f64,
    damping_ratio: f64,
    longest_step: f64,
}

impl GrainModel {
    /// Grains of a material and a distribution of sizes, that may sleep and may get wet.
    pub fn new(
        sizes: Sizes,
        material: Material,
        sleep: Option<Sleep>,
        wetness: Option<Wetness>,
    ) -> Result<Self, PhysicsError> {
        sizes.check()?;
        let m = &material;
        check("density", m.density, "between 1 and 1e5 kg/m3", |x| (1.0..=1e5).contains(&x))?;
        check("restitution", m.restitution, "between 0.05 and 1", |x| (0.05..=1.0).contains(&x))?;
        check("friction", m.friction, "between 0 and 10", |x| (0.0..=10.0).contains(&x))?;
        check("rolling_friction", m.rolling_friction, "between 0 and 10", |x| (0.0..=10.0).contains(&x))?;
        if let Some(sleep) = &sleep {
            check("sleep.speed", sleep.speed, "above 0 m/s", |x| x > 0.0)?;
            check("sleep.acceleration", sleep.acceleration, "above 0 m/s2", |x| x > 0.0)?;
            check("sleep.time", sleep.time, "at least 0 s", |x| x >= 0.0)?;
        }
        if let Some(wetness) = &wetness {
            wetness.check()?;
        }
        let mean = ball(sizes.radius) * m.density;
        let stiffness = match m.stiffness {
            Stiffness::Given(stiffness) => stiffness,
            Stiffness::Overlap { part, speed } => {
                check("overlap", part, "above 0 and at most 0.5 of the radius", |x| x > 0.0 && x <= 0.5)?;
                check("speed", speed, "between 1e-6 and 1e3 m/s", |x| (1e-6..=1e3).contains(&x))?;
                // Two equal grains stop where their energy is in the spring: (m/2) v^2 = k overlap^2.
                0.5 * mean * (speed / (part * sizes.radius)).powi(2)
            }
        };
        check("stiffness", stiffness, "between 1e-12 and 1e12 N/m", |x| (1e-12..=1e12).contains(&x))?;
        let damping_ratio = damping_ratio(m.restitution);
        // The smallest grains are the quickest; among others of their size their contact is the stiffest to step.
        let least = ball(sizes.least()) * m.density;
        let rate = (stiffness / least).sqrt();
        let bridge = wetness.as_ref().map_or(0.0, Wetness::bridge_damping);
        // c = 2 zeta sqrt(k m / 2) between two of mass m; [K] = CROWD k / m and [C] = CROWD c / m.
        let spring = CROWD * rate * rate;
        let damper = CROWD * (2.0 * damping_ratio * 0.5_f64.sqrt() * rate + bridge);
        // Symplectic Euler is stable while h^2 K + 2 h C < 4.
        let stable = 4.0 / (damper + (damper * damper + 4.0 * spring).sqrt());
        let collision = PI / (2.0_f64.sqrt() * rate);
        let longest_step = (SAFETY * stable).min(collision / CONTACT_STEPS);
        Ok(Self { material, sizes, sleep, wetness, stiffness, damping_ratio, longest_step })
    }

    /// What they are made of.
    pub fn material(&self) -> &Material {
        &self.material
    }

    /// How large they are.
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// When they sleep, if they do.
    pub fn sleep(&self) -> Option<&Sleep> {
        self.sleep.as_ref()
    }

    /// How they get wet, if they do.
    pub fn wetness(&self) -> Option<&Wetness> {
        self.wetness.as_ref()
    }

    /// Stiffness of the normal spring [N/m].
    pub fn stiffness(&self) -> f64 {
        self.stiffness
    }

    /// Damping of the normal spring over critical damping.
    pub fn damping_ratio(&self) -> f64 {
        self.damping_ratio
    }

    /// Bound of how fast contacts damp the motion of a grain of this mass [kg] against its partners [1/s]: from the sum and the largest of their
    /// dampers [kg/s].
    pub(crate) fn damped_by(sum: f64, largest: f64, mass: f64) -> f64 {
        CROWD / 12.0 * (sum + FEW * largest) / mass
    }

    /// Part of their dampers that contacts have, in steps of `h` seconds, of a grain of this mass [kg] that they would damp so fast [1/s].
    pub(crate) fn yielding(&self, damped: f32, mass: f64, h: f64) -> f32 {
        (self.withstood(mass, h).max(0.0) / f64::from(damped)).min(1.0) as f32
    }

    /// How fast contacts may damp a grain of this mass [kg] in steps of `h` seconds [1/s], beside bridges.
    fn withstood(&self, mass: f64, h: f64) -> f64 {
        let bridge = self.wetness.as_ref().map_or(0.0, Wetness::bridge_damping);
        (2.0 - 0.5 * h * h * CROWD * self.stiffness / mass) / h - CROWD * bridge
    }

    /// Longest step that is stable and resolves a collision [s].
    pub fn longest_step(&self) -> f64 {
        self.longest_step
    }

    /// Steps that an outer step of `dt` seconds is divided into.
    pub fn steps(&self, dt: f64) -> Result<u32, PhysicsError> {
        check("dt", dt, "positive", |x| x > 0.0)?;
        let steps = (dt / self.longest_step).ceil().max(1.0);
        check(
            "steps of grains in one substep",
            steps,
            "at most 100 000: make grains softer (a larger overlap or a smaller reference speed), or use more substeps",
            |x| x <= MOST_STEPS,
        )?;
        Ok(steps as u32)
    }

    /// Dry mass of a grain of this radius [kg].
    pub fn dry_mass(&self, radius: f64) -> f64 {
        ball(radius) * self.material.density
    }
}

/// Volume of a ball [m3].
pub(crate) fn ball(radius: f64) -> f64 {
    4.0 / 3.0 * PI * radius * radius * radius
}

/// Restitution of a spring and damper whose force never pulls, at a ratio of the damping to critical damping.
///
/// The contact ends when the force, not the overlap, is zero, because dry grains do not pull; that gives
/// e = exp(-2 zeta acos(zeta) / sqrt(1 - zeta^2)), and the same with acosh above critical damping.
pub fn restitution(damping_ratio: f64) -> f64 {
    let z = damping_ratio;
    let root = (1.0 - z * z).abs().sqrt();
    // Both branches tend to 1 at critical damping.
    let angle_over_root = if root < 1e-6 {
        1.0
    } else if z < 1.0 {
        z.acos() / root
    } else {
        z.acosh() / root
    };
    (-2.0 * z * angle_over_root).exp()
}

/// The damping ratio that gives a restitution: the inverse of [`restitution`], by bisection.
fn damping_ratio(wanted: f64) -> f64 {
    let (mut low, mut high) = (0.0, 16.0);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if restitution(middle) > wanted { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(sizes: Sizes, material: Material) -> Result<GrainModel, PhysicsError> {
        GrainModel::new(sizes, material, None, None)
    }

    #[test]
    fn damping_gives_the_restitution_that_was_asked_for() {
        for wanted in [0.05, 0.1353, 0.2, 0.5, 0.9, 1.0] {
            assert!((restitution(damping_ratio(wanted)) - wanted).abs() < 1e-9, "{wanted}");
        }
        // At critical damping e = exp(-2).
        assert!((restitution(1.0) - (-2.0_f64).exp()).abs() < 1e-9);
        assert!((restitution(1.0 + 1e-7) - restitution(1.0 - 1e-7)).abs() < 1e-6);
    }

    #[test]
    fn radii_stay_within_their_bounds_and_have_their_mean() {
        let stream = Stream::new(1, "radii");
        for spread in [Spread::Even(0.4), Spread::Normal(0.2)] {
            let sizes = Sizes { radius: 2e-3, spread };
            let radii: Vec<f64> = (0..20_000).map(|i| sizes.draw(stream, i)).collect();
            assert!(radii.iter().all(|r| (sizes.least()..=sizes.most()).contains(r)));
            let mean = radii.iter().sum::<f64>() / radii.len() as f64;
            assert!((mean / 2e-3 - 1.0).abs() < 0.01, "{mean}");
        }
    }

    #[test]
    fn sizes_that_reach_zero_are_refused_with_the_fix() {
        for spread in [Spread::Even(1.0), Spread::Normal(0.34), Spread::Even(f64::NAN)] {
            let error = model(Sizes { radius: 1e-3, spread }, Material::default()).unwrap_err();
            assert!(matches!(error, PhysicsError::Parameter { range, .. } if range.contains("smaller")), "{error}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let sizes = Sizes::equal(1e-3);
        let base = Material::default();
        for material in [
            Material { density: f64::NAN, ..base },
            Material { restitution: 0.0, ..base },
            Material { friction: -1.0, ..base },
            Material { rolling_friction: f64::INFINITY, ..base },
            Material { stiffness: Stiffness::Given(0.0), ..base },
            Material { stiffness: Stiffness::Overlap { part: 0.0, speed: 1.0 }, ..base },
        ] {
            assert!(model(sizes, material).is_err(), "{material:?}");
        }
        assert!(model(sizes, base).unwrap().steps(f64::NAN).is_err());
        assert!(model(sizes, base).unwrap().steps(1e9).is_err());
    }

    #[test]
    fn a_step_is_short_against_a_collision_and_divides_the_outer_step() {
        let model = model(Sizes { radius: 1e-3, spread: Spread::Even(0.5) }, Material::default()).unwrap();
        let least = model.dry_mass(0.5e-3);
        let collision = PI * (0.5 * least / model.stiffness()).sqrt();
        assert!(model.longest_step() <= collision / 12.0 * (1.0 + 1e-12));
        let steps = model.steps(1e-2).unwrap();
        assert!(1e-2 / f64::from(steps) <= model.longest_step());
    }
}
