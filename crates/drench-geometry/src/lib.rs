//! Meshes, distance fields, sampling on surfaces, grooms: knows no physics.

pub mod mesh;

pub use mesh::{SurfacePoint, TriMesh};
