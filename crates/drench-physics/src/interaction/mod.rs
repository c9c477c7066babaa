//! Friction and repulsion between strands on a voxel grid [Petrovic2005], [Mueller2012], [Henne2013, section 4.2].
//!
//! Every vertex spreads its mass and momentum over the eight nodes around it. Node velocities P / M are then gathered with
//! the same weights, which makes the friction blend v <- (1 - s) v + s v_grid keep the total momentum to rounding:
//! sum over i of m_i sum over c of w_ic V_c = sum over c of M_c V_c = sum over i of m_i v_i.
//!
//! Units. Density is counted in reference strands: mass over (reference line density times cell), so that a strand of that
//! line density with vertices one cell apart adds 1 a vertex, as in [Henne2013]. Its gradient g [1/m] is the exact derivative
//! of the trilinear density, from the same eight nodes. Then
//!
//! | | law | s |
//! |---|---|---|
//! | friction | v <- v + (1 - (1 - s)^(dt / dt_ref)) (v_grid - v) | fraction of the difference lost in dt_ref |
//! | repulsion, plain | v <- v - s g dt | [m2/s2], a pressure over density |
//! | repulsion, normalised | v <- v - s (cell / dt_ref^2) g / sqrt(g^2 + (0.1 / cell)^2) dt | cells moved in dt_ref by one step's push |
//!
//! The published s g / dt of the normalised form depends on the step; here s is the displacement of a step of dt_ref,
//! in cells, whatever the step. The small constant keeps noise in an even interior from being blown up to full strength.
//! Repulsion keeps momentum only up to the grid's asymmetry.
//!
//! Storage: tiles of 8 x 8 x 8 cells with all their 9 x 9 x 9 nodes, so that a vertex touches one tile. Each partition of a body
//! fills tiles of its own; [`Grid::assemble`] adds them in a fixed order. Tiles are found through an array over the
//! bounding box (`Dense`) or a hash table (`Sparse`); both give the same bits.

mod deposit;
mod grid;
mod tile;

pub(crate) use deposit::Room;
pub use deposit::{BoundarySample, Deposit};
pub use grid::Grid;

use crate::error::{PhysicsError, check};

/// How repulsion uses the density gradient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gradient {
    /// As it is.
    #[default]
    Plain,
    /// Scaled to unit length.
    Normalised,
}

/// How tiles are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    /// An array if it is small enough, a hash table otherwise.
    #[default]
    Automatic,
    /// An array over the bounding box.
    Dense,
    /// A hash table.
    Sparse,
}

/// Parameters of the interaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interaction {
    /// Edge of a cell [m].
    pub cell: f64,
    /// Friction s, 0 to 1.
    pub friction: f64,
    /// Repulsion s; its unit depends on `gradient`.
    pub repulsion: f64,
    /// How repulsion uses the density gradient.
    pub gradient: Gradient,
    /// Line density of the strand that counts as one [kg/m]; the default is a hair of 35 um.
    pub reference: f64,
    /// Step that friction and normalised repulsion are quoted for [s].
    pub reference_step: f64,
    /// How tiles are found.
    pub storage: Storage,
}

impl Default for Interaction {
    fn default() -> Self {
        Self {
            cell: 0.02,
            friction: 0.05,
            repulsion: 0.0,
            gradient: Gradient::Plain,
            reference: 1320.0 * std::f64::consts::PI * 35e-6 * 35e-6,
            reference_step: 0.01,
            storage: Storage::Automatic,
        }
    }
}

impl Interaction {
    /// Whether every value lies in its range.
    pub fn check(&self) -> Result<(), PhysicsError> {
        check("interaction cell", self.cell, "above 1e-6 m", |x| x > 1e-6)?;
        check("interaction friction", self.friction, "between 0 and 1", |x| (0.0..=1.0).contains(&x))?;
        check("interaction repulsion", self.repulsion, "0 or more", |x| x >= 0.0)?;
        check("interaction reference", self.reference, "positive", |x| x > 0.0)?;
        check("interaction reference_step", self.reference_step, "positive", |x| x > 0.0)
    }
}
