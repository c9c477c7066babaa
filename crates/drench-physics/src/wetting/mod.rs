//! What water does to what it wets: one module per family.

pub mod bridge;
pub mod grains;
pub mod hair;
pub mod pores;
pub mod soak;

use glam::DVec3;

/// Part of a full liquid particle below which one is taken in whole.
const CRUMB: f64 = 0.05;

/// Liquid particles as what they wet sees them.
#[derive(Debug)]
pub struct Liquid<'a> {
    /// Positions [m].
    pub positions: &'a [DVec3],
    /// Where they were when the step began [m]; if empty, where their velocities lead them from.
    pub before: &'a [DVec3],
    /// Velocities [m/s].
    pub velocities: &'a [DVec3],
    /// Masses [kg]: what is taken in is taken from them. Particles left with 0 are to be removed.
    pub masses: &'a mut [f64],
    /// Radius of a full particle [m]: half their spacing.
    pub radius: f64,
    /// Mass of a full particle [kg].
    pub full: f64,
}

impl Liquid<'_> {
    /// Where a particle was when a step of `dt` seconds began, and where it is [m].
    fn way(&self, particle: usize, dt: f64) -> [DVec3; 2] {
        let here = self.positions[particle];
        [self.before.get(particle).copied().unwrap_or_else(|| here - self.velocities[particle] * dt), here]
    }

    /// Mass up to which a particle is taken in whole [kg].
    fn crumb(&self) -> f64 {
        CRUMB * self.full
    }
}

/// How full a room for water is, 0 to 1; nothing fits into none.
#[inline]
pub fn filled(water: f64, room: f64) -> f64 {
    if room > 0.0 { (water / room).min(1.0) } else { 0.0 }
}
