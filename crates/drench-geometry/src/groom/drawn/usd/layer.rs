//! Layers as they are read: prims, of their properties those that concern curves, and where else to look.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// What a prim may have that is not followed.
pub const VARIANTS: &str = "variant sets";
/// The other such ways, by the names that layers have for them, text or binary.
pub const UNFOLLOWED: &[(&str, &str)] = &[
    ("variantSet", VARIANTS),
    ("variantSets", VARIANTS),
    ("variantSetNames", VARIANTS),
    ("inherits", "inherited classes"),
    ("inheritPaths", "inherited classes"),
    ("specializes", "specialized classes"),
    ("clips", "value clips"),
];

/// A layer.
#[derive(Clone, Debug, Default)]
pub struct Layer {
    /// Metres per unit.
    pub unit: Option<f64>,
    /// The axis that is up.
    pub up: Option<String>,
    /// The prim that references mean which name none.
    pub default_prim: Option<String>,
    /// Files of the layers that it stands on, the strongest first.
    pub below: Vec<String>,
    /// All prims are below this one, which has no name.
    pub root: Prim,
}

/// A prim.
#[derive(Clone, Debug, Default)]
pub struct Prim {
    /// Name.
    pub name: String,
    /// Schema, such as `BasisCurves`; empty if it is not said here.
    pub kind: String,
    /// Whether it is there, and not only spoken of (`over`) or a pattern (`class`).
    pub defined: bool,
    /// Whether it is switched on, if that is said.
    pub active: Option<bool>,
    /// Properties: numbers and words.
    pub values: BTreeMap<String, Value>,
    /// References, then payloads, the strongest first.
    pub arcs: Vec<Arc>,
    /// What else it is made of, which is not followed.
    pub unfollowed: Vec<&'static str>,
    /// Prims below.
    pub children: Vec<Prim>,
}

/// A value, flat: all numbers and all words in it. Quaternions have their real part first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Value {
    /// The numbers.
    pub numbers: Vec<f64>,
    /// The words.
    pub words: Vec<String>,
}

/// A prim that another takes everything from which it does not say itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arc {
    /// The file as the layer has it; the layer's own if it is empty.
    pub asset: String,
    /// Where `asset` is. Found when layers are put together.
    pub file: PathBuf,
    /// The prim, or the default prim if it is empty.
    pub prim: String,
}

/// Whether a property concerns curves or where they are.
pub fn is_wanted(property: &str) -> bool {
    matches!(property, "points" | "curveVertexCounts") || property.starts_with("xformOp")
}

impl Prim {
    /// Whether it and what is below it can be seen.
    pub fn is_shown(&self) -> bool {
        self.defined && self.active != Some(false)
    }

    /// Takes from a weaker prim whatever this one does not say.
    pub fn merge(&mut self, weaker: Prim) {
        if self.kind.is_empty() {
            self.kind = weaker.kind;
        }
        self.defined |= weaker.defined;
        self.active = self.active.or(weaker.active);
        for (name, value) in weaker.values {
            self.values.entry(name).or_insert(value);
        }
        self.arcs.extend(weaker.arcs);
        self.unfollowed.extend(weaker.unfollowed);
        for child in weaker.children {
            match self.children.iter_mut().find(|ours| ours.name == child.name) {
                Some(ours) => ours.merge(child),
                None => self.children.push(child),
            }
        }
    }

    /// The prim at a path below this one, such as `/a/b`.
    pub fn at(&self, path: &str) -> Option<&Prim> {
        let mut names = path.split('/').filter(|name| !name.is_empty());
        names.try_fold(self, |prim, name| prim.children.iter().find(|child| child.name == name))
    }

    /// Memory that it and what is below it take, about [bytes].
    pub fn size(&self) -> usize {
        /// A prim or a value, without its numbers.
        const EACH: usize = 256;
        let own: usize = self.values.values().map(|value| EACH + size_of::<f64>() * value.numbers.len()).sum();
        EACH + own + self.children.iter().map(Prim::size).sum::<usize>()
    }
}
