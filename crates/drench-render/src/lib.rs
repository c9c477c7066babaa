//! Pictures and movies from frames, on the CPU.
//!
//! A picture is made in these steps, see [`Renderer::render`]:
//!
//! 1. *shapes*: strands become smooth curves with as many points as the picture can show; children are interpolated, and
//!    where strands are thin, a few wider ones stand for all. Ropes become tubes of triangles whose plies follow their
//!    twist. Grains become balls, with what their neighbours hide of the sky; the particles of liquids get a surface,
//!    and drops in the air streaks along their way.
//! 2. *light*: each light sees the scene as a deep opacity map, which tells how many strands lie before a point, what
//!    liquid swallows of the light, and where waves gather it. That of the sky is swept through a coarse grid of hair,
//!    grains and solids, which gives soft depth and contact shadows. If lines of sight go through liquid or shadows are
//!    traced, all of it goes into a tree of boxes.
//! 3. *tiles*: in each tile of the picture, solids, grains and liquids go into a depth buffer, and strands and the streaks
//!    of falling drops are laid over it from front to back, each with the exact share of the pixel and of the exposure
//!    that it covers: no noise, however thin the hair is.
//!    What is seen through a liquid is traced, and strands there are laid over each other in the same way.
//! 4. *develop*: exposure, tone curve, sRGB.
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
pub mod strands;
mod surfaces;
mod trace;
mod tubes;

pub use error::RenderError;
pub use fibre::water::Water;
pub use liquid::{Surface, hanging_drops, surface};
pub use picture::Picture;
pub use renderer::Renderer;
pub use settings::{
    FibreModel, GrainLook, Ground, HairLook, Light, LiquidLook, LiquidStyle, Quality, Settings, Sky, SolidLook, View,
};
