//! Where liquid leaves.

use super::state::LiquidState;
use glam::DVec3;

/// A region that swallows liquid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drain {
    /// Everywhere below a height [m].
    Below(f64),
    /// Inside a box between two corners [m].
    Inside(DVec3, DVec3),
    /// Outside a box between two corners [m].
    Outside(DVec3, DVec3),
}

impl Drain {
    fn swallows(&self, p: DVec3) -> bool {
        let within = |low: DVec3, high: DVec3| p.cmpge(low).all() && p.cmple(high).all();
        match *self {
            Self::Below(height) => p.y < height,
            Self::Inside(low, high) => within(low, high),
            Self::Outside(low, high) => !within(low, high),
        }
    }
}

/// Removes what the drains swallow; gives its mass [kg], summed in order.
pub fn drain(state: &mut LiquidState, drains: &[Drain]) -> f64 {
    if drains.is_empty() { 0.0 } else { state.remove(|drop| drains.iter().any(|drain| drain.swallows(drop.position))) }
}

#[cfg(test)]
mod tests {
    use super::super::Droplet;
    use super::*;

    #[test]
    fn drains_take_what_is_in_them_and_nothing_else() {
        let mut state = LiquidState::default();
        let drop = |i: i32| Droplet {
            position: DVec3::splat(f64::from(i)),
            velocity: DVec3::ZERO,
            mass: f64::from(i + 20),
            birth: 0.0,
        };
        state.add(&(-10..=10).map(drop).collect::<Vec<_>>());
        assert_eq!(drain(&mut state, &[Drain::Below(-8.5)]), 10.0 + 11.0);
        assert_eq!(drain(&mut state, &[Drain::Outside(DVec3::splat(-9.0), DVec3::splat(8.0))]), 29.0 + 30.0);
        assert_eq!(drain(&mut state, &[Drain::Inside(DVec3::splat(-1.0), DVec3::splat(1.0))]), 19.0 + 20.0 + 21.0);
        assert_eq!(drain(&mut state, &[]), 0.0);
    }
}
