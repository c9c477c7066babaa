//! Meshes, distance fields, sampling on surfaces, grooms: knows no physics.

pub mod animation;
pub mod bunny;
pub mod bvh;
pub mod clean;
pub mod error;
pub mod field;
pub mod groom;
pub mod head;
mod isosurface;
pub mod load;
pub mod mesh;
mod morton;
pub mod neighbours;
pub mod poisson;
pub mod primitives;
pub mod subdivide;
pub mod topology;
pub mod winding;

pub use animation::MeshAnimation;
pub use error::GeometryError;
pub use load::{LoadedMesh, load_mesh};
pub use mesh::{SurfacePoint, TriMesh};
