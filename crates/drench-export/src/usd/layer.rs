//! A USD layer as it is being recorded: prims, their properties, and handles of values that are already on the disk.
//!
//! A value goes to the [`Store`] as soon as its frame comes; what stays in memory is a handle. A value that equals that
//! of the frame before shares its handle, and a property whose value never changes is written without time samples.

use super::value::Value;
use crate::error::ExportError;
use crate::moment::Shot;
use std::collections::HashMap;
use std::io;
use xxhash_rust::xxh3::xxh3_64;

/// Where a value is; what the numbers mean is the store's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(pub u64, pub u64);

/// A file format of layers.
pub trait Store {
    /// Writes a value. `bytes` is the value as [`Value::bytes`] has it.
    fn put(&mut self, value: &Value, bytes: &[u8]) -> io::Result<Handle>;

    /// Completes the file.
    fn close(self: Box<Self>, layer: &Layer) -> Result<(), ExportError>;
}

/// A layer: what it says of itself, and its root prim with all others below.
#[derive(Debug)]
pub struct Layer {
    /// What wrote it.
    pub comment: String,
    /// Time codes a second, which are frames [1/s].
    pub fps: f64,
    /// First and last time code.
    pub range: [f64; 2],
    /// Names of layers in the same folder that it stands on, the strongest first.
    pub below: Vec<String>,
    /// The root prim.
    pub root: Prim,
}

impl Layer {
    /// An empty layer of a shot.
    pub fn of(shot: &Shot) -> Self {
        let frames = &shot.frames;
        let name = identifier(&shot.name);
        Self {
            comment: format!("Drench {}: {name}", shot.version),
            fps: shot.fps,
            range: [frames.first(), frames.last()].map(|frame| frame.copied().map_or(0.0, f64::from)),
            below: Vec::new(),
            root: Prim::new(name, "Xform"),
        }
    }
}

/// A name as prims have them: letters, digits and underscores, not beginning with a digit.
pub fn identifier(name: &str) -> String {
    let mut plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if plain.chars().next().is_none_or(|first| first.is_ascii_digit()) {
        plain.insert(0, '_');
    }
    plain
}

/// A prim.
#[derive(Debug, Default)]
pub struct Prim {
    /// Name: letters, digits, underscores.
    pub name: String,
    /// Schema, such as `Mesh`.
    pub kind: &'static str,
    /// Properties in the order that they were first given.
    pub properties: Vec<Property>,
    /// Prims below.
    pub children: Vec<Prim>,
    /// Whether values that never change are time samples too, as in a layer that is a clip of a shot.
    pub sampled: bool,
    places: HashMap<String, usize>,
}

/// A property of a prim.
#[derive(Debug)]
pub struct Property {
    /// Name, such as `primvars:wetness`.
    pub name: String,
    /// Type, such as `float[]`.
    pub kind: &'static str,
    /// What one value of an array belongs to, for primvars and widths.
    pub interpolation: Option<&'static str>,
    /// Whether the schema wants it to be the same at all times.
    pub uniform: bool,
    /// Values with their time codes.
    samples: Vec<(f64, Handle)>,
    hash: u64,
}

/// What a property is, apart from its values.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Type, such as `float[]`.
    pub name: &'static str,
    /// What one value of an array belongs to.
    pub interpolation: Option<&'static str>,
    /// Whether the schema wants it to be the same at all times.
    pub uniform: bool,
}

impl Kind {
    /// An attribute that may change.
    pub const fn of(name: &'static str) -> Self {
        Self { name, interpolation: None, uniform: false }
    }

    /// An attribute that the schema wants to be the same at all times.
    pub const fn uniform(name: &'static str) -> Self {
        Self { name, interpolation: None, uniform: true }
    }

    /// An array with one value for each of some elements.
    pub const fn per(name: &'static str, interpolation: &'static str) -> Self {
        Self { name, interpolation: Some(interpolation), uniform: false }
    }
}

/// What a property holds.
pub enum Held<'a> {
    /// One value at all times.
    Always(Handle),
    /// Values at times.
    Samples(&'a [(f64, Handle)]),
}

impl Prim {
    /// An empty prim.
    pub fn new(name: String, kind: &'static str) -> Self {
        Self { name, kind, ..Self::default() }
    }

    /// What a property of this prim holds: one value if it never changes, all of them otherwise.
    pub fn held<'a>(&self, property: &'a Property) -> Held<'a> {
        match property.samples.first() {
            Some(&(_, first)) if !self.sampled && property.samples.iter().all(|&(_, handle)| handle == first) => {
                Held::Always(first)
            }
            _ => Held::Samples(&property.samples),
        }
    }

    /// Whether a property has a value.
    pub fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// Gives a property its value at a time code, later than those before.
    pub fn set(&mut self, store: &mut dyn Store, name: &str, kind: Kind, time: f64, value: &Value) -> io::Result<()> {
        let place = match self.places.get(name) {
            Some(&place) => place,
            None => {
                let Kind { name: kind, interpolation, uniform } = kind;
                let name = name.to_owned();
                self.places.insert(name.clone(), self.properties.len());
                self.properties.push(Property { name, kind, interpolation, uniform, samples: Vec::new(), hash: 0 });
                self.properties.len() - 1
            }
        };
        let property = &mut self.properties[place];
        let bytes = value.bytes();
        let hash = xxh3_64(&bytes);
        let handle = match property.samples.last() {
            Some(&(_, last)) if property.hash == hash => last,
            _ => store.put(value, &bytes)?,
        };
        property.hash = hash;
        property.samples.push((time, handle));
        Ok(())
    }

    /// The prim of a name below this one; made if there is none.
    pub fn child(&mut self, name: &str, kind: &'static str) -> &mut Prim {
        let place = match self.children.iter().position(|child| child.name == name) {
            Some(place) => place,
            None => {
                self.children.push(Prim { sampled: self.sampled, ..Prim::new(name.to_owned(), kind) });
                self.children.len() - 1
            }
        };
        &mut self.children[place]
    }
}
