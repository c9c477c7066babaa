//! How a command can fail, and the exit code of each way.

use crate::text;
use drench_io::IoError;
use drench_render::RenderError;
use drench_scene::Diagnostics;
use drench_sim::SimError;
use drench_view::ViewError;
use std::io::IsTerminal;

/// Exit code of a run that was interrupted and can be resumed.
pub const INTERRUPTED: u8 = 130;

/// Why a command ends without success. The text says what is wrong and how to mend it.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A validation or an expectation of the scene failed.
    #[error("{0}")]
    Validation(String),
    /// Arguments, scene, mesh or cache are wrong.
    #[error("{0}")]
    Input(String),
    /// The scene is wrong, at places that can be shown.
    #[error("{0}")]
    Scene(Diagnostics),
    /// The simulation diverged.
    #[error("{0}")]
    Diverged(String),
    /// Disk full, no permission.
    #[error("{0}")]
    Storage(String),
    /// Stopped by the user.
    #[error("{0}")]
    Interrupted(String),
}

impl Failure {
    /// The exit code, part of what scripts rely on.
    pub fn code(&self) -> u8 {
        match self {
            Self::Validation(_) => 1,
            Self::Input(_) | Self::Scene(_) => 2,
            Self::Diverged(_) => 3,
            Self::Storage(_) => 4,
            Self::Interrupted(_) => INTERRUPTED,
        }
    }

    /// Tells the user.
    pub fn tell(&self) {
        match self {
            Self::Scene(diagnostics) => {
                text::error_line(diagnostics.render(std::io::stderr().is_terminal()).trim_end())
            }
            Self::Interrupted(message) => text::error_line(message),
            other => text::error_line(&format!("error: {other}")),
        }
    }
}

impl From<IoError> for Failure {
    fn from(error: IoError) -> Self {
        if error.is_storage() { Self::Storage(error.to_string()) } else { Self::Input(error.to_string()) }
    }
}

impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Self {
        Self::Scene(diagnostics)
    }
}

impl From<SimError> for Failure {
    fn from(error: SimError) -> Self {
        if error.is_divergence() { Self::Diverged(error.to_string()) } else { Self::Input(error.to_string()) }
    }
}

impl From<RenderError> for Failure {
    fn from(error: RenderError) -> Self {
        match error {
            RenderError::Storage { .. } => Self::Storage(error.to_string()),
            _ => Self::Input(error.to_string()),
        }
    }
}

impl From<ViewError> for Failure {
    fn from(error: ViewError) -> Self {
        match error {
            ViewError::Io(error) => error.into(),
            error => Self::Input(error.to_string()),
        }
    }
}
