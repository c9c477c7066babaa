//! The water ledger: every gram that enters or leaves the scene is booked here, and the books are closed every frame.
//!
//! Models move water from one reservoir to another as single numbers that are taken here and given there; what they take
//! in from outside or let go they report, and it comes to [`Ledger::emit`] or [`Ledger::drain`]. So the error below is
//! rounding and nothing else.

use drench_io::stats::Water;
use drench_math::ordered::Compensated;

/// Mass [kg] below which a total counts as nothing, so that the relative error stays defined; and the part, of all water that there has been, below which it does:
/// of a sea that has dried up but for a drop the books cannot know more digits than of the sea.
const TINY: f64 = 1e-12;
const TRACE: f64 = 1e-3;

/// What was let into the scene and out of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Ledger {
    /// Water at the beginning [kg].
    pub initial: f64,
    /// Water let in since [kg].
    pub emitted: Compensated,
    /// Water let out since, or dried up [kg].
    pub drained: Compensated,
}

impl Ledger {
    /// Books water that came in [kg].
    pub fn emit(&mut self, mass: f64) {
        self.emitted.add(mass);
    }

    /// Books water that went out [kg].
    pub fn drain(&mut self, mass: f64) {
        self.drained.add(mass);
    }

    /// The books with the reservoirs [kg] as they are now.
    pub fn close(&self, reservoirs: impl IntoIterator<Item = (&'static str, f64)>) -> Water {
        let mut water = Water { emitted: self.emitted.value(), drained: self.drained.value(), ..Water::default() };
        for (name, mass) in reservoirs {
            *water.reservoirs.entry(name.to_owned()).or_default() += mass;
            water.total += mass;
        }
        let surplus = water.total + water.drained - water.emitted - self.initial;
        water.error = surplus / water.total.max(TRACE * (self.initial + water.emitted)).max(TINY);
        water
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn books_that_balance_have_no_error_and_lost_water_shows() {
        let mut ledger = Ledger { initial: 2.0, ..Ledger::default() };
        ledger.emit(3.0);
        ledger.drain(1.0);
        let water = ledger.close([("bulk", 3.0), ("grains", 0.5), ("grains", 0.5)]);
        assert_eq!((water.total, water.error), (4.0, 0.0));
        assert_eq!(water.reservoirs["grains"], 1.0);
        assert_eq!(ledger.close([("bulk", 3.6)]).error, (3.6 + 1.0 - 3.0 - 2.0) / 3.6);
        assert_eq!(Ledger::default().close([]).error, 0.0);
        // All but gone.
        ledger.drain(4.0 - 1e-9);
        assert!(ledger.close([("bulk", 1e-9)]).error.abs() < 1e-9);
        assert!(ledger.close([("bulk", 0.0)]).error.abs() > 1e-7);
    }
}
