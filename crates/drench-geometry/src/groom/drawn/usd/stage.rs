//! Puts layers together: those that a layer stands on, and what references and payloads bring in.

use super::layer::{Arc, Layer, Prim};
use super::{FIX, binary, malformed, text};
use crate::{GeometryError, load};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Layers that stand on each other, and references to prims that have references: no sane file has more.
const DEEPEST: usize = 64;
/// What references may bring in [bytes].
const MOST: usize = 4 << 30;

/// The layer of a file with all that it refers to.
pub fn compose(path: &Path) -> Result<Layer, GeometryError> {
    let mut stage = Stage { layers: HashMap::new(), left: MOST };
    let mut layer = stage.stack(path, &mut Vec::new())?;
    let mut root = std::mem::take(&mut layer.root);
    stage.layers.insert(path.to_owned(), Layer { root: root.clone(), ..layer.clone() });
    stage.expand(&mut root, path, "", &mut Vec::new())?;
    layer.root = root;
    Ok(layer)
}

struct Stage {
    /// Layers with those that they stand on, by file.
    layers: HashMap<PathBuf, Layer>,
    /// How much more references may bring in.
    left: usize,
}

impl Stage {
    /// A layer and those that it stands on. `above` are the files that are being read.
    fn stack(&self, path: &Path, above: &mut Vec<PathBuf>) -> Result<Layer, GeometryError> {
        if above.iter().any(|file| file == path) || above.len() > DEEPEST {
            return Err(malformed(path, "subLayers", "the layer stands on itself", FIX));
        }
        let bytes = load::read(path)?;
        let mut layer = if bytes.starts_with(binary::MAGIC) {
            binary::layer(&bytes).map_err(|problem| malformed(path, "the binary layer", problem, FIX))?
        } else if bytes.starts_with(b"#usda") {
            text::layer(&bytes).map_err(|(line, problem)| malformed(path, format!("line {line}"), problem, FIX))?
        } else {
            return Err(malformed(path, "the first bytes", "it is no USD layer, text or binary", FIX));
        };
        drop(bytes);
        anchor(&mut layer.root, path, above.first().map_or(path, PathBuf::as_path));
        above.push(path.to_owned());
        for asset in std::mem::take(&mut layer.below) {
            let file = beside(path, &asset);
            let weaker = self.stack(&file, above).map_err(|error| missing(path, "subLayers", &asset, error))?;
            layer.root.merge(weaker.root);
        }
        above.pop();
        Ok(layer)
    }

    /// Brings in what a prim and those below it refer to. `chain` are the references that led here.
    fn expand(&mut self, prim: &mut Prim, path: &Path, place: &str, chain: &mut Vec<Arc>) -> Result<(), GeometryError> {
        // What a prim refers to itself is stronger than what comes to it with its parent.
        for child in &mut prim.children {
            let place = format!("{place}/{}", child.name);
            self.expand(child, path, &place, chain)?;
        }
        for arc in std::mem::take(&mut prim.arcs) {
            if chain.contains(&arc) || chain.len() > DEEPEST {
                return Err(malformed(path, place, "its references lead back to itself", FIX));
            }
            let mut target = self.target(&arc, path, place)?;
            self.left = self
                .left
                .checked_sub(target.size())
                .ok_or_else(|| malformed(path, place, "its references bring in more than 4 GiB of curves", FIX))?;
            chain.push(arc);
            self.expand(&mut target, path, place, chain)?;
            chain.pop();
            prim.merge(target);
        }
        Ok(())
    }

    /// What a reference means.
    fn target(&mut self, arc: &Arc, path: &Path, place: &str) -> Result<Prim, GeometryError> {
        if !self.layers.contains_key(&arc.file) {
            let layer = self.stack(&arc.file, &mut Vec::new());
            let layer = layer.map_err(|error| missing(path, place, &arc.asset, error))?;
            self.layers.insert(arc.file.clone(), layer);
        }
        let layer = &self.layers[&arc.file];
        let wanted = if arc.prim.is_empty() { layer.default_prim.as_deref().unwrap_or_default() } else { &arc.prim };
        match layer.root.at(wanted) {
            Some(prim) if !wanted.is_empty() => Ok(prim.clone()),
            _ => {
                let named = if arc.prim.is_empty() { "default prim".to_owned() } else { format!("prim {}", arc.prim) };
                let problem = format!("it refers to the {named} of {}, and there is none", arc.file.display());
                Err(malformed(path, place, problem, FIX))
            }
        }
    }
}

/// Finds the files of references from where the layer is. Those without a file mean the layer that stands on all others.
fn anchor(prim: &mut Prim, path: &Path, top: &Path) {
    for arc in &mut prim.arcs {
        arc.file = if arc.asset.is_empty() { top.to_owned() } else { beside(path, &arc.asset) };
    }
    prim.children.iter_mut().for_each(|child| anchor(child, path, top));
}

fn beside(path: &Path, asset: &str) -> PathBuf {
    let joined = path.parent().unwrap_or(Path::new("")).join(asset);
    // One file has one name, so that a circle is seen as one.
    joined.canonicalize().unwrap_or(joined)
}

/// Tells who wanted a file that cannot be read.
fn missing(path: &Path, place: &str, asset: &str, error: GeometryError) -> GeometryError {
    match error {
        GeometryError::Read { path: file, source } => {
            let problem = format!("it refers to @{asset}@, but {} cannot be read: {source}", file.display());
            malformed(path, place, problem, "put the file there, or export one flat layer (usdcat --flatten)")
        }
        other => other,
    }
}
