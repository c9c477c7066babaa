//! What can go wrong when a run is looked at.

use drench_io::IoError;
use drench_render::RenderError;

/// An error of the viewer.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// The run folder or a frame cannot be read.
    #[error(transparent)]
    Io(#[from] IoError),
    /// A frame cannot be drawn.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// Another program listens at the port.
    #[error(
        "port {port} is in use by another program\n  fix: choose another with --port N, or leave --port out to take a free one"
    )]
    PortInUse {
        /// The port.
        port: u16,
    },
    /// The system does not let us listen.
    #[error("cannot listen at 127.0.0.1:{port}: {reason}\n  fix: choose another port with --port N")]
    Listen {
        /// The port.
        port: u16,
        /// What the system said.
        reason: String,
    },
    /// The page asked for something that does not exist or makes no sense.
    #[error("{0}")]
    Request(String),
}

/// The result of everything in this crate.
pub type Result<T> = std::result::Result<T, ViewError>;
