//! Scene files: text in, validated values out.
//!
//! A scene is a TOML file. Every key is declared once (in `spec`), with its type, unit, range, default and meaning; from
//! that declaration come the struct, the reading, the writing, the JSON Schema and the reference page. Loading goes
//!
//! ```text
//! text -> tree with places -> size table and overrides applied -> values checked -> Scene
//! ```
//!
//! and reports every problem at once, each with file, line, column and the fix.

pub mod builtin;
mod checks;
mod declare;
mod diagnostics;
mod expression;
mod form;
mod load;
mod motion;
mod overrides;
pub mod schema;
mod spec;
mod tree;
mod units;

pub use diagnostics::{Diagnostic, Diagnostics};
pub use expression::{
    ALONG_VARIABLES, Expression, FUNCTIONS, Function, NotFinite, SURFACE_VARIABLES, TIME_VARIABLES, Variables,
};
pub use load::{Size, Source, load, point_out};
pub use motion::{CameraView, Pose};
pub use spec::*;
