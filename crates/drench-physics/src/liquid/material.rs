//! Liquids by name.

use crate::error::{PhysicsError, check};

/// What a liquid is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Material {
    /// Density at rest [kg/m3].
    pub density: f64,
    /// Dynamic viscosity [Pa s].
    pub viscosity: f64,
    /// Surface tension against air [N/m].
    pub surface_tension: f64,
}

impl Material {
    /// Water at 20 °C (CRC Handbook of Chemistry and Physics).
    pub const WATER: Self = Self { density: 998.2, viscosity: 1.002e-3, surface_tension: 0.0728 };
    /// Olive oil at 20 °C (CRC Handbook; Fellows, Food Processing Technology).
    pub const OIL: Self = Self { density: 915.0, viscosity: 0.084, surface_tension: 0.033 };
    /// Whole milk at 20 °C (Walstra, Dairy Science and Technology).
    pub const MILK: Self = Self { density: 1030.0, viscosity: 2.0e-3, surface_tension: 0.047 };
    /// Honey with 17 % water at 20 °C (Bogdanov, Physical Properties of Honey; it varies tenfold with its water).
    pub const HONEY: Self = Self { density: 1420.0, viscosity: 14.0, surface_tension: 0.055 };
    /// Glycerine, pure, at 20 °C (Segur and Oberstar 1951; CRC Handbook).
    pub const GLYCERINE: Self = Self { density: 1261.0, viscosity: 1.41, surface_tension: 0.0634 };
    /// Ethanol at 20 °C (CRC Handbook).
    pub const ALCOHOL: Self = Self { density: 789.3, viscosity: 1.20e-3, surface_tension: 0.0223 };

    /// Kinematic viscosity [m2/s].
    pub fn kinematic_viscosity(&self) -> f64 {
        self.viscosity / self.density
    }

    pub(crate) fn check(&self) -> Result<(), PhysicsError> {
        check("density", self.density, "positive", |x| x > 0.0)?;
        check("viscosity", self.viscosity, "0 or more", |x| x >= 0.0)?;
        check("surface tension", self.surface_tension, "0 or more", |x| x >= 0.0)
    }
}
