//! VDB: the liquid as a level set with its velocity, and the wetness of hair as a fog. One file per frame.
//!
//! | grid | class | |
//! |---|---|---|
//! | `surface` | level set | distance to the surface that pictures show, negative inside [m], three voxels to each side |
//! | `velocity` | vector | mean of the particles around [m/s] |
//! | `wetness` | fog volume | mean wetness of the hair around, 0 to 1 |
//!
//! With several liquids, the name of each stands before those of its grids.

use crate::error::ExportError;
use crate::format::{Format, Writer};
use crate::moment::{Moment, Points, Shot};
use crate::sequence::safe;
use crate::source::Options;
use crate::target::Layout;
use drench_io::ParticleKind;
use drench_render::Quality;
use drench_vdb::{Class, Grid, VdbError, Writable, level_set, mean_of_points};
use std::path::{Path, PathBuf};

/// The format.
pub const FORMAT: Format = Format {
    name: "vdb",
    title: "VDB volumes: one file per frame",
    layout: Layout::Folder,
    endings: &["vdb"],
    carries: "liquid as level set and velocity, wetness of hair as fog",
    lacks: &["curves, grains, solids and cameras: export them as usdc or abc beside it", "frame rate"],
    hints: &[
        (
            "Blender",
            "File > Import > OpenVDB, all files as a sequence; a Volume to Mesh modifier makes a mesh of 'surface'",
        ),
        ("Houdini", "File SOP with $F4 in the name; Convert VDB makes polygons of 'surface'"),
        ("Unreal", "Sparse Volume Texture from the sequence: 'wetness' is a fog, 'surface' a distance"),
    ],
    begin: |shot: &Shot, _: &Options, folder: &Path| {
        Ok(Box::new(Volumes { folder: folder.to_owned(), name: safe(&shot.name), hair_voxel: None, has_volume: false }))
    },
    per_frame: None,
};

/// Voxels along the longest side of the hair.
const HAIR_VOXELS: f32 = 96.0;
/// Radius of particles that carry none [m].
const DEFAULT_RADIUS: f32 = 5e-3;

/// Files that are being written.
struct Volumes {
    folder: PathBuf,
    name: String,
    /// Side of a voxel of hair, from the first frame: it must not change with the hair [m].
    hair_voxel: Option<f64>,
    has_volume: bool,
}

impl Writer for Volumes {
    fn frame(&mut self, moment: &Moment) -> Result<(), ExportError> {
        let liquids: Vec<&Points> = moment.points.iter().filter(|body| body.kind == ParticleKind::Liquid).collect();
        let mut grids: Vec<Box<dyn Writable>> = Vec::new();
        for liquid in &liquids {
            let prefix = if liquids.len() > 1 { format!("{}_", safe(&liquid.name)) } else { String::new() };
            let (surface, velocity) = volumes(liquid, &prefix)?;
            grids.push(Box::new(surface));
            grids.extend(velocity.map(|velocity| Box::new(velocity) as Box<dyn Writable>));
        }
        if let Some(wetness) = self.wetness(moment)? {
            grids.push(Box::new(wetness));
        }
        self.has_volume |= !grids.is_empty();
        let grids: Vec<&dyn Writable> = grids.iter().map(AsRef::as_ref).collect();
        let path = self.folder.join(format!("{}.{:04}.vdb", self.name, moment.index));
        Ok(drench_vdb::write(&path, &grids)?)
    }

    fn finish(self: Box<Self>) -> Result<Vec<String>, ExportError> {
        let nothing = "anything: the run has no liquid and no wet hair, so the files are empty";
        Ok(if self.has_volume { Vec::new() } else { vec![nothing.to_owned()] })
    }
}

/// The surface of a liquid and, if its particles tell it, its velocity.
type LiquidGrids = (Grid<f32>, Option<Grid<[f32; 3]>>);

/// The volumes of a liquid.
fn volumes(liquid: &Points, prefix: &str) -> Result<LiquidGrids, ExportError> {
    // Half the distance of particles at rest; small ones are spray.
    let radius =
        liquid.scalars("radius").and_then(|radii| radii.iter().copied().filter(|r| r.is_finite()).reduce(f32::max));
    let voxel = f64::from(radius.filter(|&r| r > 0.0).unwrap_or(DEFAULT_RADIUS));
    let surface = drench_render::surface(liquid, 1.0, Quality::Preview)?;
    let positions: Vec<[f32; 3]> = surface.positions.iter().map(|p| p.to_array()).collect();
    let surface = level_set(&format!("{prefix}surface"), &positions, &surface.triangles, voxel)?;
    let velocity = match liquid.vectors("velocity") {
        Some(velocities) => {
            let points = liquid.positions.iter().copied().zip(velocities.iter().copied());
            Some(mean_of_points(&format!("{prefix}velocity"), Class::Plain, 2.0 * voxel, 4.0 * voxel, points)?)
        }
        None => None,
    };
    Ok((surface, velocity))
}

impl Volumes {
    /// The wetness of all hair, if there is any that gets wet.
    fn wetness(&mut self, moment: &Moment) -> Result<Option<Grid<f32>>, ExportError> {
        let wet = || moment.curves.iter().filter_map(|curves| Some((&curves.positions, curves.scalars("wetness")?)));
        let all = || wet().flat_map(|(positions, wetness)| positions.iter().copied().zip(wetness.iter().copied()));
        if self.hair_voxel.is_none() {
            let finite = all().map(|(position, _)| position).filter(|p| p.iter().all(|x| x.is_finite()));
            let (low, high) = finite.fold(([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]), |(low, high), p| {
                ([0, 1, 2].map(|k| low[k].min(p[k])), [0, 1, 2].map(|k| high[k].max(p[k])))
            });
            let longest = (0..3).map(|k| high[k] - low[k]).fold(0.0, f32::max);
            self.hair_voxel = (longest > 0.0).then(|| f64::from(longest / HAIR_VOXELS));
        }
        let Some(voxel) = self.hair_voxel else { return Ok(None) };
        Ok(Some(mean_of_points("wetness", Class::Fog, voxel, 1.5 * voxel, all())?))
    }
}

impl From<VdbError> for ExportError {
    fn from(error: VdbError) -> Self {
        match error {
            VdbError::Storage { path, source } => Self::Storage { action: "write", path, source },
            other => Self::Unable {
                format: "vdb",
                reason: other.to_string(),
                fix: "let liquid drain away in the scene instead of falling for ever, or export fewer --frames",
            },
        }
    }
}
