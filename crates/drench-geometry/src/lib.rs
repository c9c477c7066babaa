//! Meshes, distance fields, sampling on surfaces, grooms: knows no physics.

pub mod bunny;
pub mod clean;
pub mod error;
pub mod head;
mod isosurface;
pub mod mesh;
pub mod primitives;
pub mod subdivide;
pub mod topology;

pub use error::GeometryError;
pub use mesh::{SurfacePoint, TriMesh};
