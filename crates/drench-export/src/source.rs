//! The frames of a run, one after the other, as moments.

use crate::curves::Groom;
use crate::error::ExportError;
use crate::moment::{CameraView, Mesh, MeshKind, Moment, Shot};
use drench_io::{Frame, FrameCache, ParticleKind, RunRecord, SolidBody};
use drench_render::Quality;
use drench_scene::Scene;
use glam::Vec3;
use std::path::Path;

/// How curves are drawn through their vertices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Basis {
    /// Smooth: a Catmull-Rom spline.
    #[default]
    Cubic,
    /// Straight from vertex to vertex.
    Linear,
}

/// What of a run is exported, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// How curves are drawn through their vertices.
    pub basis: Basis,
    /// Only the simulated strands, without the children that follow them.
    pub guides_only: bool,
    /// Surfaces of liquids too, besides their particles.
    pub surface: bool,
}

/// A run whose frames are exported.
#[derive(Debug)]
pub struct Source {
    shot: Shot,
    cache: FrameCache,
    scene: Scene,
    options: Options,
    /// What each body of strands keeps from frame to frame.
    grooms: Vec<Groom>,
    /// The last frame that was taken in.
    seen: Option<u32>,
    /// All frames that the run holds.
    all: Vec<u32>,
}

impl Source {
    /// Opens a run that was made of `scene`. `wanted` says which frames will be shown.
    pub fn open(
        folder: &Path,
        scene: Scene,
        options: Options,
        wanted: impl Fn(u32) -> bool,
    ) -> Result<Self, ExportError> {
        let record = RunRecord::read(folder)?;
        let cache = FrameCache::open(folder)?;
        let all = cache.indices()?;
        let narrow = |colour: [f64; 3]| colour.map(|x| x as f32);
        let hair = scene.grooms.iter().map(|groom| (&groom.name, &groom.shade));
        let cords = scene.cords.iter().map(|cord| (&cord.name, &cord.shade));
        let solids = scene.solids.iter().map(|solid| (solid.name.clone(), narrow(solid.colour)));
        let grains = scene.grains.iter().map(|grains| (grains.name.clone(), narrow(grains.shade.dry)));
        let strands = hair.chain(cords).map(|(name, shade)| (name.clone(), strand_colour(shade)));
        let shot = Shot {
            name: record.name,
            version: record.version,
            fps: record.fps,
            frames: all.iter().copied().filter(|&frame| wanted(frame)).collect(),
            aspect: scene.render.width as f32 / scene.render.height.max(1) as f32,
            colours: solids.chain(grains).chain(strands).collect(),
        };
        Ok(Self { shot, cache, scene, options, grooms: Vec::new(), seen: None, all })
    }

    /// What is known before the first frame.
    pub fn shot(&self) -> &Shot {
        &self.shot
    }

    /// All frames that the run holds, wanted or not.
    pub fn held(&self) -> &[u32] {
        &self.all
    }

    /// A frame, later than those before. What dries and what is at rest depends on all frames of the run up to here, so
    /// those that were not asked for are taken in too: a part of a run has the same values as the whole.
    pub fn moment(&mut self, index: u32) -> Result<Moment, ExportError> {
        let dries = self.scene.grooms.iter().any(|groom| groom.wet.is_some());
        let next = self.seen.map_or(0, |seen| seen + 1);
        let passed: Vec<u32> = self.all.iter().copied().filter(|frame| (next..index).contains(frame)).collect();
        for frame in passed {
            if dries || self.seen.is_none() {
                // A damaged one is told of where it is wanted.
                if let Ok(frame) = self.cache.read(frame) {
                    self.see(&frame)?;
                }
            }
        }
        let frame = self.cache.read(index)?;
        self.see(&frame)?;
        self.show(&frame)
    }

    fn see(&mut self, frame: &Frame) -> Result<(), ExportError> {
        for (number, body) in frame.strands.iter().enumerate() {
            if self.grooms.len() <= number {
                let shades = self.scene.grooms.iter().map(|groom| (&groom.name, &groom.shade));
                let cords = self.scene.cords.iter().map(|cord| (&cord.name, &cord.shade));
                let shade = shades.chain(cords).find(|(name, _)| **name == body.name);
                let width = shade.map_or(1.0, |(_, shade)| shade.width as f32);
                self.grooms.push(Groom::new(width, self.scene.wetting.reach as f32));
            }
            self.grooms[number].see(body, frame, !self.options.guides_only)?;
        }
        self.seen = Some(frame.index);
        Ok(())
    }

    fn show(&self, frame: &Frame) -> Result<Moment, ExportError> {
        let mut moment = Moment { index: frame.index, time: frame.time, ..Moment::default() };
        for (groom, body) in self.grooms.iter().zip(&frame.strands) {
            moment.curves.push(groom.show(body, frame, !self.options.guides_only)?);
        }
        let visible = |solid: &&SolidBody| self.scene.solids.iter().all(|s| s.name != solid.name || s.visible);
        moment.meshes = frame.solids.iter().filter(visible).map(solid_mesh).collect();
        if self.options.surface {
            let smoothing = self.scene.liquid.as_ref().map_or(1.0, |liquid| liquid.shade.smoothing as f32);
            for body in frame.particles.iter().filter(|body| body.kind == ParticleKind::Liquid) {
                let surface = drench_render::surface(body, smoothing, Quality::Beauty)?;
                let plain = |vectors: Vec<Vec3>| vectors.into_iter().map(|v| v.to_array()).collect();
                moment.meshes.push(Mesh {
                    name: format!("{}_surface", body.name),
                    kind: MeshKind::Liquid,
                    positions: plain(surface.positions),
                    triangles: surface.triangles,
                    normals: plain(surface.normals),
                    pose: None,
                });
            }
        }
        moment.points = frame.particles.clone();
        moment.cameras = self.scene.cameras.iter().map(|camera| self.camera(camera, frame.time)).collect();
        Ok(moment)
    }

    fn camera(&self, camera: &drench_scene::Camera, time: f64) -> CameraView {
        let view = self.scene.view_of(camera, time);
        let forward = (view.target - view.position).normalize();
        // Straight up or down any direction will do; scenes with such cameras are refused anyway.
        let right = forward.cross(camera.up).try_normalize().unwrap_or_else(|| forward.any_orthonormal_vector());
        CameraView {
            name: camera.name.clone(),
            position: view.position,
            forward,
            up: right.cross(forward),
            field_of_view: camera.field_of_view,
            focus: camera.focus.unwrap_or(view.focus),
            aperture: camera.aperture,
        }
    }
}

fn solid_mesh(solid: &SolidBody) -> Mesh {
    Mesh {
        name: solid.name.clone(),
        kind: MeshKind::Solid,
        positions: solid.positions.clone(),
        triangles: solid.triangles.clone(),
        normals: solid.normals.clone(),
        pose: solid.pose,
    }
}

/// The colour of strands: as given, or from the pigment as eyes see a mass of them.
fn strand_colour(shade: &drench_scene::Shade) -> [f32; 3] {
    if let Some(colour) = shade.colour {
        return colour.map(|x| x as f32);
    }
    // White hair through blond and brown to black; redness keeps the red and takes the blue.
    let dark = (shade.melanin as f32).clamp(0.0, 1.0);
    let red = shade.redness as f32;
    [0.8, 0.8 - 0.25 * red, 0.8 - 0.5 * red].map(|x: f32| x * (1.0 - dark).powi(3).max(0.01))
}
