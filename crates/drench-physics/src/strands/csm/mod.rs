//! Chain shape matching: strands that keep any shape, stable at any stiffness [Rungjiratananon2012, 3.3 and 4].
//!
//! A substep: forces and inertia predict positions; the vertices held at the root go with its frame; every vertex goes towards
//! the mean of where the rigidly moved regions around it would have it; segments get their length back; solids are kept out;
//! velocities are what was moved over dt.
//!
//! | module | what it does |
//! |---|---|
//! | [`extent`] | how far regions reach, and how stiff that makes a chain: B = m' l^4 q^2 / (4 t^2) |
//! | [`rotation`] | the best rotation of a region |
//! | [`matching`] | goal positions of a batch of chains |
//! | [`drape`] | the draping experiment: the half-width that gives a stiffness index |
//! | [`rest`] | what never changes: rest shape and regions of every vertex |
//! | [`sag`] | the half-width that makes a short, clamped strand sag as its fibre would |
//! | `solve` | the substep; lengths are those of [`strain`](super::strain) |
//!
//! **Time steps.** The source goes all the way to the goals in every step of 10 ms. Going all the way in every step of any length makes
//! strands stiffer the shorter the step, B ~ 1 / dt^2. Here a step goes the fraction a = (dt / 10 ms)^2 of the way: for what is
//! bent slowly that is the same force in any step, and for dt towards 0 the strand becomes the elastic body
//! x'' = (g(x) - x) / (10 ms)^2. A longer step goes there in several passes, as many as keep the fraction below 1.
//!
//! **What is kept.** Matching and lengths act by internal impulses: a loose strand keeps linear momentum to rounding, and its angular
//! momentum, which position-based steps lose by a term of order dt per step because impulses act at the predicted positions, is
//! given back as a rotation. A held strand gives momentum to its clamps and solids only.
//!
//! Breaks down: bending and twisting stiffness cannot be chosen apart; the stiffness goes with l^4 at a given half-width; regions
//! wider than a strand make it rigid but not stiffer; steps longer than [`REFERENCE_STEP`] times sqrt([`PASSES`]) soften it.

mod drape;
pub(crate) mod extent;
pub(crate) mod matching;
mod rest;
pub(crate) mod rotation;
mod sag;
mod solve;
#[cfg(test)]
mod tests;

pub use drape::Drape;
pub use extent::{half_width_of, squared_stiffness};
pub(crate) use rest::{Rest, squared_of_rigidity};
pub use rest::{half_width_of_rigidity, rigidity, rigidity_of_index};
pub(crate) use solve::{Scratch, solve};

use crate::error::{PhysicsError, check};

/// The time step in which strands go all the way to their goals [s].
pub const REFERENCE_STEP: f64 = 0.01;
/// Passes a step may take when it is longer.
pub const PASSES: u32 = 8;
/// Largest half-width [vertices].
pub const WIDEST: f64 = 10_000.0;

/// Parameters of chain shape matching.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// What makes the strands stiff.
    pub stiffness: Stiffness,
    /// Vertices held at the root; 1 is a hinge, 0 a loose strand.
    pub clamped: u32,
    /// By which fraction a segment may be longer or shorter than at rest.
    pub strain_limit: f64,
    /// Fraction of the way to the goals that a step of 10 ms goes.
    pub relaxation: f64,
}

/// What makes strands stiff.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stiffness {
    /// The fibre: regions as wide as Young's modulus, radius and the material's `shape` ask for.
    Fibre,
    /// Half-widths of the regions.
    HalfWidths(HalfWidths),
    /// The stiffness index [m]: the distance between the legs of a strand hung over a hook with 0.1 g on each end.
    Index(f64),
}

/// Half-widths of the regions along a strand [vertices]: constant towards both ends, linear in between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HalfWidths {
    /// Half-width near the root.
    pub root: f64,
    /// Half-width near the tip.
    pub tip: f64,
    /// Where along the strand it begins to change, from 0 at the root to 1 at the tip.
    pub from: f64,
    /// Where it ends to change.
    pub to: f64,
}

impl HalfWidths {
    /// The same half-width everywhere.
    pub fn even(half_width: f64) -> Self {
        Self { root: half_width, tip: half_width, from: 0.5, to: 0.5 }
    }

    /// The half-width at a place from 0 at the root to 1 at the tip.
    pub fn at(&self, place: f64) -> f64 {
        if place <= self.from {
            return self.root;
        }
        if place >= self.to {
            return self.tip;
        }
        self.root + (self.tip - self.root) * (place - self.from) / (self.to - self.from)
    }
}

impl Default for Parameters {
    fn default() -> Self {
        Self { stiffness: Stiffness::Fibre, clamped: 2, strain_limit: 0.0, relaxation: 1.0 }
    }
}

impl Parameters {
    /// Regions of the same half-width everywhere.
    pub fn even(half_width: f64) -> Self {
        Self { stiffness: Stiffness::HalfWidths(HalfWidths::even(half_width)), ..Self::default() }
    }

    pub(crate) fn check(&self) -> Result<(), PhysicsError> {
        match self.stiffness {
            Stiffness::Fibre => {}
            Stiffness::HalfWidths(HalfWidths { root, tip, from, to }) => {
                let range = "between 0 and 10 000";
                check("csm half-width", root, range, |w| (0.0..=WIDEST).contains(&w))?;
                check("csm half-width at the tip", tip, range, |w| (0.0..=WIDEST).contains(&w))?;
                check("csm change from", from, "between 0 and 1", |s| (0.0..=1.0).contains(&s))?;
                check("csm change to", to, "between where the change begins and 1", |s| (from..=1.0).contains(&s))?;
            }
            Stiffness::Index(index) => check("csm stiffness index", index, "0 or more", |d| d >= 0.0)?,
        }
        check("csm strain limit", self.strain_limit, "at least 0 and below 1", |e| (0.0..1.0).contains(&e))?;
        check("csm relaxation", self.relaxation, "between 0 and 1", |a| (0.0..=1.0).contains(&a))
    }
}
