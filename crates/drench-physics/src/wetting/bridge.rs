//! Liquid bridges between two wet spheres.
//!
//! | law | force |
//! |---|---|
//! | [Willett2000] | F = 2 pi R gamma cos(theta) / (1 + 1.05 s + 2.5 s^2), s = gap sqrt(R / V) with the full gap |
//! | [Rungjiratananon2012, eq. 5.6] | F = min(c v, 2 pi R gamma) while the spheres part at v, c = strength m (w_f - w) |
//!
//! R is Derjaguin's radius 2 a b / (a + b): that of equal spheres, twice that of a sphere on a plane. A bridge forms when
//! two wet surfaces touch and breaks at (1 + theta / 2) V^(1/3) [Lian1993]; until then it is remembered.
//! Both are multiplied by a fading that is 1 for damp grains and 0 where the heap is fluidised.
//!
//! *Breaks down*: Willett's fit holds for V / R^3 up to about 0.1 and theta up to 50 degrees. The law of 5.6 has no force at
//! rest: what hangs on it creeps. As printed it has no bound, acts along the whole velocity difference (which makes
//! angular momentum) and has no reach; here it acts along the normal, up to the pull of a meniscus, and breaks like one.

use crate::error::{PhysicsError, check};
use std::f64::consts::{FRAC_PI_2, TAU};

/// The pull of liquid bridges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bridge {
    /// The measured law [Willett2000].
    Willett {
        /// Surface tension [N/m].
        surface_tension: f64,
        /// Contact angle [rad].
        contact_angle: f64,
    },
    /// The empirical law [Rungjiratananon2012, eq. 5.6], bounded by the pull of a meniscus.
    Empirical {
        /// Damping of parting grains at the wetness threshold below fluidisation [1/s].
        strength: f64,
        /// Surface tension that bounds the force [N/m].
        surface_tension: f64,
    },
}

impl Default for Bridge {
    fn default() -> Self {
        Self::Willett { surface_tension: 0.072, contact_angle: 0.0 }
    }
}

impl Bridge {
    pub(crate) fn check(&self) -> Result<(), PhysicsError> {
        let tension = |x| check("surface_tension", x, "between 0 and 100 N/m", |x| (0.0..=100.0).contains(&x));
        match *self {
            Self::Willett { surface_tension, contact_angle } => {
                tension(surface_tension)?;
                check("contact_angle", contact_angle, "at least 0 and below pi / 2", |x| (0.0..FRAC_PI_2).contains(&x))
            }
            Self::Empirical { strength, surface_tension } => {
                tension(surface_tension)?;
                check("strength", strength, "between 0 and 1e6 1/s", |x| (0.0..=1e6).contains(&x))
            }
        }
    }

    /// Gap at which a bridge of this volume [m3] breaks [m].
    pub fn rupture(&self, volume: f64) -> f64 {
        (1.0 + 0.5 * self.contact_angle()) * volume.cbrt()
    }

    /// Pull across a gap [N]: Willett's force, or the bound of the empirical one.
    pub fn pull(&self, radius: f64, volume: f64, gap: f64) -> f64 {
        match *self {
            Self::Willett { surface_tension, contact_angle } => {
                let s = gap.max(0.0) * (radius / volume).sqrt();
                TAU * radius * surface_tension * contact_angle.cos() / (1.0 + 1.05 * s + 2.5 * s * s)
            }
            Self::Empirical { surface_tension, .. } => TAU * radius * surface_tension,
        }
    }

    fn contact_angle(&self) -> f64 {
        match *self {
            Self::Willett { contact_angle, .. } => contact_angle,
            Self::Empirical { .. } => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn willetts_force_is_what_was_measured() {
        let bridge = Bridge::Willett { surface_tension: 20.6e-3, contact_angle: 0.0 };
        let (radius, volume) = (2.381e-3, 74.2e-12);
        for (gap, force) in [(0.0, 308e-6), (0.1e-3, 129e-6), (0.2e-3, 57e-6), (0.3e-3, 31e-6)] {
            let got = bridge.pull(radius, volume, gap);
            assert!((got - force).abs() < 0.6e-6, "{gap}: {got}");
        }
        assert!((bridge.rupture(volume) - 0.420e-3).abs() < 0.5e-6);
    }
}
