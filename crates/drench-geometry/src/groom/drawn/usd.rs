//! `BasisCurves` of a USD file, text or binary, where they are in the world: the first value of their `points`, with all
//! transforms above them.
//!
//! [`text`] and [`binary`] read a layer into prims ([`layer`]), [`stage`] puts layers, references and payloads together,
//! [`transform`] follows `xformOpOrder`. Variant sets are refused; inherits, specializes and value clips where they
//! concern curves.

mod binary;
mod layer;
mod stage;
mod text;
mod transform;

use super::{Up, malformed};
use crate::GeometryError;
use glam::{DMat4, DVec3};
use layer::Prim;
use std::path::Path;

const FIX: &str = "export it again as one flat layer, such as with usdcat --flatten";

/// What a file says of itself and holds.
pub(super) struct File {
    pub strands: Vec<Vec<DVec3>>,
    /// Length of its unit [m]: centimetres where it says nothing, as USD has it.
    pub unit: f64,
    pub up: Up,
}

/// The curves of a file, in its own units.
pub(super) fn parse(path: &Path) -> Result<File, GeometryError> {
    let layer = stage::compose(path)?;
    let mut found = Found { path, strands: Vec::new(), above: Vec::new() };
    layer.root.children.iter().try_for_each(|prim| found.walk(prim, DMat4::IDENTITY))?;
    let up = if layer.up.as_deref() == Some("Z") { Up::Z } else { Up::Y };
    Ok(File { strands: found.strands, unit: layer.unit.unwrap_or(0.01), up })
}

/// Goes through the prims and takes curves.
struct Found<'a> {
    path: &'a Path,
    strands: Vec<Vec<DVec3>>,
    /// The prims from the root to where it is.
    above: Vec<&'a Prim>,
}

impl<'a> Found<'a> {
    fn refuse(&self, problem: impl Into<String>) -> GeometryError {
        let place: String = self.above.iter().map(|prim| format!("/{}", prim.name)).collect();
        malformed(self.path, place, problem, FIX)
    }

    fn walk(&mut self, prim: &'a Prim, parent: DMat4) -> Result<(), GeometryError> {
        if !prim.is_shown() {
            return Ok(());
        }
        self.above.push(prim);
        // A variant may hold any strands, whatever the prim is.
        if prim.unfollowed.contains(&layer::VARIANTS) {
            return Err(self.refuse(format!("it has {}, which are not followed", layer::VARIANTS)));
        }
        let matrix = transform::world(prim, parent).map_err(|problem| self.refuse(problem))?;
        if prim.kind == "BasisCurves" {
            self.curves(prim, matrix)?;
        }
        prim.children.iter().try_for_each(|child| self.walk(child, matrix))?;
        self.above.pop();
        Ok(())
    }

    fn curves(&mut self, prim: &Prim, matrix: DMat4) -> Result<(), GeometryError> {
        if let Some((above, way)) = self.above.iter().find_map(|prim| Some((&prim.name, prim.unfollowed.first()?))) {
            return Err(self.refuse(format!("'{above}' has {way}, which are not followed")));
        }
        let numbers = |name: &str| match prim.values.get(name) {
            Some(value) => Ok(&value.numbers),
            None => Err(self.refuse(format!("it has no {name}"))),
        };
        let (counts, points) = (numbers("curveVertexCounts")?, numbers("points")?);
        if points.len() % 3 != 0 || points.iter().chain(counts).any(|x| x.is_nan()) {
            return Err(self.refuse("its points are not triples of numbers"));
        }
        let told = counts.iter().try_fold(0.0, |sum, &count| if count < 0.0 { None } else { Some(sum + count) });
        let there = points.len() / 3;
        if told != Some(there as f64) {
            let told = told.map_or("a negative number of".to_owned(), |told| told.to_string());
            return Err(self.refuse(format!(
                "curveVertexCounts: the curves have {told} vertices together, but there are {there} points"
            )));
        }
        let mut points = points.chunks_exact(3).map(|point| matrix.transform_point3(DVec3::from_slice(point)));
        self.strands.extend(counts.iter().map(|&count| points.by_ref().take(count as usize).collect::<Vec<_>>()));
        Ok(())
    }
}
