//! The viewer in the browser: a local page that shows the frames of runs.
//!
//! - [`server`]: the page and its data over HTTP, for this machine alone ([`guard`]).
//! - [`run`]: a run folder that is looked at, and never written to, while another process may write it.
//! - [`packet`]: a frame as bytes that a page can hand to its graphics card as they are, with the strands that are
//!   drawn ([`drawn`]), the values that colours show ([`channels`]) and the shade that strands and grains cast on each other ([`occlusion`]).
//! - [`pick`]: what is known of one strand, particle or voxel.
//! - [`porous`]: the grid in which hair takes up water, which whoever starts the viewer finds.
//! - [`description`]: the scene as the page needs it.
//! - [`live`]: what the page may ask of a simulation that runs behind it; whoever starts the viewer provides it.
//!
//! The page itself is in `web/`: sources in `web/src`, and the bundle `web/dist/app.js` that is part of the program.

pub mod channels;
pub mod description;
pub mod drawn;
pub mod error;
pub mod guard;
pub mod live;
pub mod occlusion;
pub mod packet;
pub mod pick;
pub mod porous;
pub mod run;
pub mod server;

pub use error::ViewError;
pub use live::{Live, LiveState, LiveStatus, Request};
pub use porous::{Porous, Survey, Voxel};
pub use run::Run;
pub use server::Viewer;
