//! Meshes, distance fields, sampling on surfaces, grooms: knows no physics.

pub mod error;
pub mod mesh;

pub use error::GeometryError;
pub use mesh::{SurfacePoint, TriMesh};
