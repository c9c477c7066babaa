//! Where the values of prims go: all into one layer, or one layer a frame ([`super::clips`]).

use super::layer::{Kind, Layer, Store};
use super::value::Value;
use crate::error::ExportError;
use std::io;

/// A property of a prim below the root.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Name of the prim.
    pub prim: &'a str,
    /// Its schema, such as `Mesh`.
    pub schema: &'static str,
    /// Name of the property.
    pub property: &'a str,
}

/// Takes the values of one frame after the other.
pub trait Recording {
    /// What follows is of this frame.
    fn begin(&mut self, frame: u32) -> Result<(), ExportError>;

    /// Gives a property its value in the frame.
    fn set(&mut self, place: Place, kind: Kind, value: &Value) -> io::Result<()>;

    /// Whether a property had a value in this or an earlier frame.
    fn has(&self, place: Place) -> bool;

    /// Completes the files.
    fn finish(self: Box<Self>) -> Result<(), ExportError>;
}

/// All frames in one layer.
pub struct Whole {
    store: Box<dyn Store>,
    layer: Layer,
    time: f64,
}

impl Whole {
    /// Records `layer`, which is empty, into `store`.
    pub fn new(store: Box<dyn Store>, layer: Layer) -> Self {
        Self { store, layer, time: 0.0 }
    }
}

impl Recording for Whole {
    fn begin(&mut self, frame: u32) -> Result<(), ExportError> {
        self.time = f64::from(frame);
        Ok(())
    }

    fn set(&mut self, place: Place, kind: Kind, value: &Value) -> io::Result<()> {
        let prim = self.layer.root.child(place.prim, place.schema);
        prim.set(self.store.as_mut(), place.property, kind, self.time, value)
    }

    fn has(&self, place: Place) -> bool {
        let prim = self.layer.root.children.iter().find(|prim| prim.name == place.prim);
        prim.is_some_and(|prim| prim.has(place.property))
    }

    fn finish(self: Box<Self>) -> Result<(), ExportError> {
        self.store.close(&self.layer)
    }
}
