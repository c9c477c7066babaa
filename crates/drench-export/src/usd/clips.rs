//! One layer a frame, and a root layer that stitches them with value clips.
//!
//! Layers that lie above each other do not do it: USD takes all samples of an attribute from the strongest layer that
//! has one. A value clip is a layer that counts for a while: which one counts when is written in the root layer, and so
//! each frame may have its own number of points.
//!
//! | file | holds |
//! |---|---|
//! | `NAME.usda` | the root: which layer counts when |
//! | `NAME.still` | what never changes |
//! | `NAME.manifest` | what changes, with its value in the first frame: USD takes that where a clip has none |
//! | `NAME.0007` | what is different in frame 7 from the first |
//!
//! Frames stand on the two layers in the middle, so each can be opened by itself too. What changes shows only at the end:
//! the values of the first frame stay in memory until then.

use super::layer::{Kind, Layer, Prim, Store};
use super::recording::{Place, Recording};
use super::text;
use super::value::Value;
use crate::error::ExportError;
use crate::moment::Shot;
use crate::sequence::{Sequence, safe};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Begins a layer file.
pub type Create = fn(&Path) -> Result<Box<dyn Store>, ExportError>;

/// Frames that become clips.
pub struct Clips {
    folder: PathBuf,
    ending: &'static str,
    create: Create,
    shot: Shot,
    /// Everything that was ever set, with its first value.
    first: Vec<First>,
    /// The frame that is being recorded.
    open: Option<(u32, Box<dyn Store>, Layer)>,
    /// Frames that were recorded, and the names of their files.
    frames: Vec<(u32, String)>,
}

/// A property.
struct First {
    prim: String,
    schema: &'static str,
    property: String,
    kind: Kind,
    value: Value<'static>,
    /// Whether another frame has another value.
    changes: bool,
}

impl First {
    fn is(&self, place: Place) -> bool {
        self.prim == place.prim && self.property == place.property
    }
}

impl Clips {
    /// Writes into this folder, with layers of this ending.
    pub fn new(folder: &Path, ending: &'static str, create: Create, shot: &Shot) -> Self {
        let (folder, shot) = (folder.to_owned(), shot.clone());
        Self { folder, ending, create, shot, first: Vec::new(), open: None, frames: Vec::new() }
    }

    fn file(&self, part: &str) -> String {
        format!("{}.{part}.{}", safe(&self.shot.name), self.ending)
    }

    /// The two layers that frames and the root stand on.
    fn below(&self) -> Vec<String> {
        vec![self.file("still"), self.file("manifest")]
    }

    fn close_frame(&mut self) -> Result<(), ExportError> {
        match self.open.take() {
            Some((_, store, layer)) => store.close(&layer),
            None => Ok(()),
        }
    }

    /// Writes the first values of what changes, or of what does not.
    fn write_first(&self, part: &str, changes: bool) -> Result<(), ExportError> {
        let path = self.folder.join(self.file(part));
        let (mut store, mut layer) = ((self.create)(&path)?, Layer::of(&self.shot));
        for first in self.first.iter().filter(|first| first.changes == changes) {
            let prim = layer.root.child(&first.prim, first.schema);
            prim.set(store.as_mut(), &first.property, first.kind, 0.0, &first.value)
                .map_err(ExportError::storage("write", &path))?;
        }
        store.close(&layer)
    }
}

impl Recording for Clips {
    fn begin(&mut self, frame: u32) -> Result<(), ExportError> {
        self.close_frame()?;
        let name = self.file(&format!("{frame:04}"));
        let store = (self.create)(&self.folder.join(&name))?;
        let mut layer = Layer { range: [f64::from(frame); 2], below: self.below(), ..Layer::of(&self.shot) };
        layer.root.sampled = true;
        self.open = Some((frame, store, layer));
        self.frames.push((frame, name));
        Ok(())
    }

    fn set(&mut self, place: Place, kind: Kind, value: &Value) -> io::Result<()> {
        let Some(first) = self.first.iter_mut().find(|first| first.is(place)) else {
            let Place { prim, schema, property } = place;
            let (prim, property, value) = (prim.to_owned(), property.to_owned(), value.to_static());
            self.first.push(First { prim, schema, property, kind, value, changes: false });
            return Ok(());
        };
        let Some((frame, store, layer)) = self.open.as_mut().filter(|_| first.value != *value) else { return Ok(()) };
        first.changes = true;
        let prim: &mut Prim = layer.root.child(place.prim, place.schema);
        prim.set(store.as_mut(), place.property, kind, f64::from(*frame), value)
    }

    fn has(&self, place: Place) -> bool {
        self.first.iter().any(|first| first.is(place))
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        self.close_frame()?;
        self.write_first("still", false)?;
        self.write_first("manifest", true)?;
        let layer = Layer { below: self.below(), ..Layer::of(&self.shot) };
        let name = format!("{}.usda", safe(&self.shot.name));
        Sequence::new(&self.folder)
            .write_named(&name, |out| write_root(out, &layer, &self.frames, &self.file("manifest")))
    }
}

/// The root layer: clip `k` counts from the time code of its frame on, and gives what it has at that time code.
fn write_root(out: &mut impl Write, layer: &Layer, frames: &[(u32, String)], manifest: &str) -> io::Result<()> {
    text::write_head(out, layer)?;
    let root = &layer.root.name;
    let list = |item: &dyn Fn(usize, u32, &str) -> String| {
        let items: Vec<String> = frames.iter().enumerate().map(|(k, (frame, name))| item(k, *frame, name)).collect();
        items.join(", ")
    };
    let active = list(&|k, frame, _| format!("({frame}, {k})"));
    let files = list(&|_, _, name| format!("@./{name}@"));
    let times = list(&|_, frame, _| format!("({frame}, {frame})"));
    write!(
        out,
        "\nover \"{root}\" (\n    clips = {{\n        dictionary default = {{\n            double2[] active = [{active}]\n            \
         asset[] assetPaths = [{files}]\n            asset manifestAssetPath = @./{manifest}@\n            \
         string primPath = \"/{root}\"\n            double2[] times = [{times}]\n        }}\n    }}\n)\n{{\n}}\n"
    )
}
