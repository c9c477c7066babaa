//! Pictures and movies from frames, on the CPU.
//!
//! A picture is made in five steps, see [`Renderer::render`]:
//!
//! 1. *curves*: strands become smooth curves with as many points as the picture can show; children are interpolated.
//! 2. *shadows*: each light sees the scene as a deep opacity map, which tells how many strands lie before a point.
//! 3. *sky*: its light is swept through a coarse grid of hair and solids, which gives soft depth and contact shadows.
//! 4. *tiles*: in each tile of the picture, solids go into a depth buffer, and strands are laid over it from front to
//!    back, each with the exact share of the pixel that it covers: no noise, however thin the hair is.
//! 5. *develop*: exposure, tone curve, sRGB.
//!
//! Colours of strands come from Kajiya and Kay's model or from that of Chiang and others with dual scattering. The
//! renderer sees frames and plain settings, never the simulated world.

mod camera;
mod curves;
mod error;
mod fibre;
mod from_scene;
mod grains;
mod light;
mod liquid;
mod material;
pub mod movie;
mod picture;
mod raster;
mod renderer;
mod settings;
mod shade;
mod surfaces;
mod trace;
mod tubes;

pub use error::RenderError;
pub use picture::Picture;
pub use renderer::Renderer;
pub use settings::{
    FibreModel, GrainLook, Ground, HairLook, Light, LiquidLook, LiquidStyle, Quality, Settings, Sky, SolidLook, View,
};
