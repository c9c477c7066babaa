//! Stress over strain: a line of elastic slope up to the yield stress, a flatter line from there to rupture
//! [Rungjiratananon2012, section 4.4.1].
//!
//! Unloading follows the elastic slope, so what exceeds sigma / E is permanent, and the next yield lies where the last
//! load ended (isotropic hardening). With plastic strain p the yield stress is
//!
//! Y(p) = Y + H p,  H = E Ep / (E - Ep),
//!
//! which makes the loading curve the two given lines. The text keeps the whole strain past the yield point; a fraction
//! of it is what its own section 4.4.1 says and what materials do.
//!
//! | symbol | field |
//! |---|---|
//! | E, slope up to the yield stress | `elastic` |
//! | Ep, slope beyond | `plastic` |
//! | Y | `yield_stress` |
//! | stress at which it tears | `rupture` |

use crate::error::{PhysicsError, check};

/// A stress-strain curve; stress and strain are nominal: force over the area at rest, elongation over the length at rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    /// Slope up to the yield stress: Young's modulus, or the shear modulus of a torsional curve [Pa].
    pub elastic: f64,
    /// Slope beyond the yield stress [Pa]; at most the elastic one.
    pub plastic: f64,
    /// Stress at which deformation begins to be permanent [Pa]; infinite if it never is.
    pub yield_stress: f64,
    /// Stress at which it tears [Pa]; infinite if it never does.
    pub rupture: f64,
}

impl Curve {
    /// Elastic without end.
    pub fn elastic(slope: f64) -> Self {
        Self { elastic: slope, plastic: slope, yield_stress: f64::INFINITY, rupture: f64::INFINITY }
    }

    /// The same, yielding at a stress [Pa] and rising by another slope [Pa] from there.
    pub fn yielding_at(self, stress: f64, plastic: f64) -> Self {
        Self { yield_stress: stress, plastic, ..self }
    }

    /// The same, torn at a stress [Pa]; brittle if it has not yielded before.
    pub fn tearing_at(self, stress: f64) -> Self {
        let yield_stress = if self.yield_stress.is_infinite() { stress } else { self.yield_stress };
        Self { rupture: stress, yield_stress, ..self }
    }

    /// An error that says what to change, unless the curve rises from the origin to yield to rupture.
    pub fn check(&self) -> Result<(), PhysicsError> {
        check("elastic slope", self.elastic, "positive: give the modulus in pascal", |x| x > 0.0)?;
        check("plastic slope", self.plastic, "positive and at most the elastic slope: make `plastic` smaller", |x| {
            x > 0.0 && x <= self.elastic
        })?;
        let ordered = |name, value: f64, range, good: bool| {
            if good { Ok(()) } else { Err(PhysicsError::Parameter { name, value, range }) }
        };
        ordered("yield stress", self.yield_stress, "positive", self.yield_stress > 0.0)?;
        let range = "at least the yield stress: raise `rupture` or lower `yield`";
        ordered("rupture stress", self.rupture, range, self.rupture >= self.yield_stress)
    }

    /// The curve of a piece of other stiffness and strength.
    #[inline]
    pub(crate) fn scaled(&self, stiffness: f64, strength: f64) -> Self {
        Self {
            elastic: self.elastic * stiffness,
            plastic: self.plastic * stiffness,
            yield_stress: self.yield_stress * strength,
            rupture: self.rupture * strength,
        }
    }

    /// H, how fast the yield stress grows with plastic strain [Pa]; infinite if the slopes are equal.
    #[inline]
    fn hardening(&self) -> f64 {
        self.elastic * self.plastic / (self.elastic - self.plastic)
    }

    /// The stress that the material bears without flowing further [Pa], after plastic strain `flowed` in all.
    #[inline]
    pub fn yield_after(&self, flowed: f64) -> f64 {
        if flowed > 0.0 { self.yield_stress + self.hardening() * flowed } else { self.yield_stress }
    }

    /// Strain under a tensile stress, and how fast it grows [1/Pa], after plastic strain `flowed`.
    #[inline]
    pub(crate) fn strain(&self, stress: f64, flowed: f64) -> (f64, f64) {
        let limit = self.yield_after(flowed);
        if stress <= limit {
            (flowed + stress / self.elastic, 1.0 / self.elastic)
        } else {
            (flowed + limit / self.elastic + (stress - limit) / self.plastic, 1.0 / self.plastic)
        }
    }

    /// Stress at a strain beyond the permanent one, and its slope [Pa], after plastic strain `flowed` in all; odd in the
    /// strain, because twist goes both ways.
    #[inline]
    pub(crate) fn stress(&self, strain: f64, flowed: f64) -> (f64, f64) {
        let (trial, limit) = (self.elastic * strain, self.yield_after(flowed));
        if trial.abs() <= limit {
            (trial, self.elastic)
        } else {
            let past = (trial.abs() - limit) * self.plastic / self.elastic;
            ((limit + past).copysign(trial), self.plastic)
        }
    }

    /// Plastic strain added by bearing this stress, 0 or more.
    #[inline]
    pub(crate) fn flow(&self, stress: f64, flowed: f64) -> f64 {
        let past = stress - self.yield_after(flowed);
        if past > 0.0 { past / self.hardening() } else { 0.0 }
    }

    /// Elastic energy a volume stores at a stress [J/m3].
    pub fn energy(&self, stress: f64) -> f64 {
        0.5 * stress * stress / self.elastic
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nylon() -> Curve {
        Curve::elastic(2e9).yielding_at(4e7, 2e8).tearing_at(8e7)
    }

    #[test]
    fn loading_follows_both_lines_and_unloading_the_first() {
        let curve = nylon();
        let (mut flowed, mut worst) = (0.0, 0.0_f64);
        for step in 0..=800 {
            let stress = 1e5 * f64::from(step);
            let (strain, _) = curve.strain(stress, flowed);
            let given = if stress <= 4e7 { stress / 2e9 } else { 0.02 + (stress - 4e7) / 2e8 };
            worst = worst.max((strain - given).abs());
            flowed += curve.flow(stress, flowed);
        }
        assert!(worst < 1e-12, "{worst}");
        // 0.22 in all, of which 0.04 come back.
        assert!((flowed - 0.18).abs() < 1e-12, "{flowed}");
        assert!((curve.strain(0.0, flowed).0 - 0.18).abs() < 1e-12);
        assert!((curve.strain(8e7, flowed).0 - 0.22).abs() < 1e-12);
    }

    #[test]
    fn stress_is_the_inverse_of_strain_and_odd() {
        let curve = nylon();
        for (strain, flowed) in [(0.01, 0.0), (0.05, 0.0), (0.03, 0.1), (0.2, 0.1)] {
            let (stress, slope) = curve.stress(strain, flowed);
            assert!((curve.strain(stress, flowed).0 - flowed - strain).abs() < 1e-12);
            assert_eq!(curve.stress(-strain, flowed), (-stress, slope));
            let nearby = curve.stress(strain + 1e-7, flowed).0;
            assert!(((nearby - stress) / 1e-7 / slope - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn what_cannot_be_a_curve_is_refused_with_the_fix() {
        assert!(nylon().check().is_ok() && Curve::elastic(1e9).check().is_ok());
        let bad = [
            Curve { rupture: 1e7, ..nylon() },
            Curve { plastic: 3e9, ..nylon() },
            Curve { plastic: 0.0, ..nylon() },
            Curve { elastic: -1.0, ..nylon() },
            Curve { yield_stress: f64::NAN, ..nylon() },
            Curve { elastic: f64::INFINITY, ..nylon() },
        ];
        for curve in bad {
            assert!(curve.check().is_err(), "{curve:?}");
        }
        let message = bad[0].check().unwrap_err().to_string();
        assert!(message.contains("raise `rupture`"), "{message}");
    }
}
