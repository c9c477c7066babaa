//! What an export tells when it is done: what was written, and what was not.

use crate::format::Format;
use crate::moment::{MeshKind, Moment, Shot};
use crate::target::Written;
use drench_io::ParticleKind;
use std::collections::{BTreeMap, BTreeSet};

/// What was written, and what was not.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Manifest {
    /// Name of the format.
    pub format: &'static str,
    /// The files.
    pub files: Vec<Written>,
    /// Frames per second [1/s].
    pub fps: f64,
    /// First frame.
    pub first: Option<u32>,
    /// Last frame.
    pub last: Option<u32>,
    /// Number of frames.
    pub frames: u32,
    /// Frames that are damaged and were left out.
    pub damaged: Vec<u32>,
    /// What is in the frames, by kind and name.
    pub bodies: Vec<Body>,
    /// What the format, or this export, does not carry.
    pub not_carried: Vec<String>,
    /// How to open it, by program.
    pub hints: Vec<(&'static str, &'static str)>,
}

/// Something that is in the frames.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Body {
    /// Name.
    pub name: String,
    /// `curves`, `liquid`, `grains`, `solid`, `surface` or `camera`.
    pub kind: &'static str,
    /// Curves, particles or triangles in the last frame.
    pub elements: usize,
    /// Vertices in the last frame.
    pub vertices: usize,
    /// Names of its attributes.
    pub attributes: BTreeSet<String>,
}

impl Manifest {
    /// That of an export which has not begun.
    pub fn new(format: &Format, shot: &Shot) -> Self {
        Self {
            format: format.name,
            files: Vec::new(),
            fps: shot.fps,
            first: None,
            last: None,
            frames: 0,
            damaged: Vec::new(),
            bodies: Vec::new(),
            not_carried: format.lacks.iter().map(|&what| what.to_owned()).collect(),
            hints: format.hints.to_vec(),
        }
    }

    /// Counts a frame in.
    pub fn see(&mut self, moment: &Moment) {
        self.first.get_or_insert(moment.index);
        self.last = Some(moment.index);
        self.frames += 1;
        let mut bodies: BTreeMap<(&'static str, String), Body> =
            self.bodies.drain(..).map(|body| ((body.kind, body.name.clone()), body)).collect();
        let mut see = |kind, name: &str, elements, vertices, attributes: Vec<&String>| {
            let fresh = || Body { name: name.to_owned(), kind, elements, vertices, attributes: BTreeSet::new() };
            let body = bodies.entry((kind, name.to_owned())).or_insert_with(fresh);
            (body.elements, body.vertices) = (elements, vertices);
            body.attributes.extend(attributes.into_iter().cloned());
        };
        for body in &moment.curves {
            see("curves", &body.name, body.len(), body.positions.len(), body.attributes.keys().collect());
        }
        for body in &moment.points {
            let kind = if body.kind == ParticleKind::Liquid { "liquid" } else { "grains" };
            see(kind, &body.name, body.positions.len(), body.positions.len(), body.attributes.keys().collect());
        }
        for body in &moment.meshes {
            let kind = if body.kind == MeshKind::Solid { "solid" } else { "surface" };
            see(kind, &body.name, body.triangles.len(), body.positions.len(), Vec::new());
        }
        for camera in &moment.cameras {
            see("camera", &camera.name, 1, 0, Vec::new());
        }
        self.bodies = bodies.into_values().collect();
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}
