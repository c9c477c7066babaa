//! The formats, and what each must do.

use crate::error::ExportError;
use crate::moment::{Moment, Shot};
use crate::source::Options;
use crate::target::Layout;
use crate::{abc, hair, obj, ply, usd, vdb, vtp};
use std::path::Path;

/// Takes one moment after the other and writes it; holds no more than one.
pub trait Writer {
    /// Writes a frame.
    fn frame(&mut self, moment: &Moment) -> Result<(), ExportError>;

    /// Completes the files. Returns what of this run could not be carried, beyond what the format lacks anyway.
    fn finish(self: Box<Self>) -> Result<Vec<String>, ExportError>;
}

/// Begins an export: a description of what will come, how, and the empty file or folder to write to.
pub type Begin = fn(&Shot, &Options, &Path) -> Result<Box<dyn Writer>, ExportError>;

/// A format.
pub struct Format {
    /// The word on the command line, and the ending of its files.
    pub name: &'static str,
    /// What it is.
    pub title: &'static str,
    /// One file, or a folder of them.
    pub layout: Layout,
    /// Endings of all files that it writes.
    pub endings: &'static [&'static str],
    /// What it carries.
    pub carries: &'static str,
    /// What it does not carry.
    pub lacks: &'static [&'static str],
    /// How to open it, by program.
    pub hints: &'static [(&'static str, &'static str)],
    /// Begins an export.
    pub begin: Begin,
    /// The same with a layer for each frame, if it can be cut up so.
    pub per_frame: Option<&'static Format>,
}

/// All formats.
pub const FORMATS: &[Format] = &[
    usd::BINARY,
    usd::TEXT,
    usd::PACKAGE,
    abc::FORMAT,
    vdb::FORMAT,
    ply::FORMAT,
    obj::FORMAT,
    vtp::FORMAT,
    hair::FORMAT,
];

/// The format of that name.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
