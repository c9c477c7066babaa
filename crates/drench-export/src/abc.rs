//! Alembic: hair as curves with the `groom_*` attributes that Unreal reads, liquid and grains as points, solids and
//! surfaces as polygon meshes, cameras.
//!
//! One file for the whole shot, metres, +y up. Every body is a transform with its shape below it. A solid that does not
//! deform is one mesh under a transform that moves. What Unreal reads is its "Alembic for Grooms" specification 1.5:
//!
//! | attribute | scope | |
//! |---|---|---|
//! | `groom_version_major`, `groom_version_minor`, `groom_tool` | user properties of the transform | 1, 5, Drench |
//! | `groom_id` | curve | number of the strand |
//! | `groom_group_id`, `groom_group_name` | all curves | one group per body of strands |
//! | `groom_guide` | curve | 1: simulated, and children follow it |
//! | `groom_root_uv` | curve | texture coordinates of the root |
//! | `groom_width` | vertex | diameter [cm]: Unreal scales positions and widths when it imports, but not this |

use crate::error::ExportError;
use crate::format::{Format, Writer};
use crate::moment::{CameraView, Curves, Mesh, Moment, Points, Shot};
use crate::source::{self, Options};
use crate::target::Layout;
use drench_alembic::{
    About, AlembicError, Archive, Basis, CameraSample, CurvesSample, MeshSample, ObjectId, Parameter, PointsSample,
    Scope, TimeSampling, Values,
};
use drench_io::{Domain, RigidPose};
use glam::{DMat3, DVec3, Vec3};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

/// The format.
pub const FORMAT: Format = Format {
    name: "abc",
    title: "Alembic: one file for all frames, for Unreal grooms, Houdini, Maya",
    layout: Layout::File,
    endings: &["abc"],
    carries: "curves (cubic or linear) with groom_* attributes, particles, meshes, cameras, all attributes, velocities, \
              frame rate",
    lacks: &["materials", "units: lengths are in metres, y is up"],
    hints: &[
        (
            "Blender",
            "set the frame rate, then File > Import > Alembic; of curves it takes positions and radii, no other \
             attributes: use usdc for those",
        ),
        ("Houdini", "Alembic SOP; curves, points and all attributes arrive as they are"),
        (
            "Unreal",
            "import as Groom with scale 100 (metres to centimetres) and rotation (90, 0, 0); a groom cache plays the frames",
        ),
    ],
    begin: |shot: &Shot, options: &Options, path: &Path| {
        let about = About {
            application: format!("Drench {}", shot.version),
            description: shot.name.clone(),
            date: String::new(),
        };
        let first = shot.frames.first().copied().unwrap_or(0);
        let sampling = TimeSampling { start: f64::from(first) / shot.fps, step: 1.0 / shot.fps };
        Ok(Box::new(Alembic {
            archive: Archive::create(path, &about, sampling)?,
            version: shot.version.clone(),
            basis: match options.basis {
                source::Basis::Cubic => Basis::CatmullRom,
                source::Basis::Linear => Basis::Linear,
            },
            aspect: f64::from(shot.aspect),
            first,
            samples: 0,
            bodies: BTreeMap::new(),
            names: HashSet::new(),
        }))
    },
    per_frame: None,
};

/// An archive that is being written.
struct Alembic {
    archive: Archive,
    version: String,
    basis: Basis,
    aspect: f64,
    /// Frame of the first sample, and samples so far.
    first: u32,
    samples: u32,
    /// Objects by kind and name of the body.
    bodies: BTreeMap<(Kind, String), Body>,
    names: HashSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Curves,
    Points,
    Mesh,
    Camera,
}

/// A body in the file.
#[derive(Clone)]
struct Body {
    xform: ObjectId,
    shape: ObjectId,
    /// Of curves: the number of their group.
    group: i32,
    /// Of solids that do not deform: the mesh before it is moved.
    rest: Option<Rest>,
}

/// Vertices and normals before the pose moves them.
#[derive(Clone)]
struct Rest {
    positions: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
}

const IDENTITY: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

impl Writer for Alembic {
    fn frame(&mut self, moment: &Moment) -> Result<(), ExportError> {
        // Frames that were left out keep the picture before them, so that time goes on.
        while self.samples > 0 && self.first + self.samples < moment.index {
            self.archive.hold();
            self.samples += 1;
        }
        for curves in &moment.curves {
            self.curves(curves)?;
        }
        for points in &moment.points {
            self.points(points)?;
        }
        for mesh in &moment.meshes {
            self.mesh(mesh)?;
        }
        for camera in &moment.cameras {
            self.camera(camera)?;
        }
        self.samples += 1;
        self.leave_empty()
    }

    fn finish(self: Box<Self>) -> Result<Vec<String>, ExportError> {
        self.archive.finish()?;
        Ok(Vec::new())
    }
}

impl Alembic {
    /// The objects of a body, made when it is first seen.
    fn body(&mut self, kind: Kind, name: &str) -> Result<Body, ExportError> {
        let key = (kind, name.to_owned());
        if let Some(body) = self.bodies.get(&key) {
            return Ok(body.clone());
        }
        let plain = name.replace(['/', '\0'], "_");
        let plain = if plain.is_empty() { "body".to_owned() } else { plain };
        let mut unique = plain.clone();
        for number in 2.. {
            if self.names.insert(unique.clone()) {
                break;
            }
            unique = format!("{plain}_{number}");
        }
        let top = self.archive.top();
        let xform = self.archive.add_xform(top, &unique)?;
        let below = format!("{unique}Shape");
        let shape = match kind {
            Kind::Curves => self.archive.add_curves(xform, &below)?,
            Kind::Points => self.archive.add_points(xform, &below)?,
            Kind::Mesh => self.archive.add_mesh(xform, &below)?,
            Kind::Camera => self.archive.add_camera(xform, &below)?,
        };
        let group = self.bodies.keys().filter(|(kind, _)| *kind == Kind::Curves).count() as i32;
        if kind == Kind::Curves {
            self.archive.user_property(xform, "groom_version_major", Values::I16(&[1]))?;
            self.archive.user_property(xform, "groom_version_minor", Values::I16(&[5]))?;
            let tool = format!("Drench {}", self.version);
            self.archive.user_property(xform, "groom_tool", Values::Text(&[&tool]))?;
        }
        if matches!(kind, Kind::Curves | Kind::Points) {
            self.archive.write_xform(xform, IDENTITY, [0.0; 3])?;
        }
        let body = Body { xform, shape, group, rest: None };
        // A body that comes late was nothing before.
        for _ in 0..self.samples {
            self.write_nothing(kind, &body)?;
        }
        self.bodies.insert(key, body.clone());
        Ok(body)
    }

    fn write_nothing(&mut self, kind: Kind, body: &Body) -> Result<(), ExportError> {
        match kind {
            Kind::Curves => {
                self.archive
                    .write_curves(body.shape, &CurvesSample { basis: self.basis, ..CurvesSample::default() })?;
            }
            Kind::Points => self.archive.write_points(body.shape, &PointsSample::default())?,
            Kind::Mesh => {
                self.archive.write_xform(body.xform, IDENTITY, [0.0; 3])?;
                self.archive.write_mesh(body.shape, &MeshSample::default())?;
            }
            Kind::Camera => {
                self.archive.write_xform(body.xform, IDENTITY, [0.0; 3])?;
                self.archive.write_camera(body.shape, &CameraSample::default())?;
            }
        }
        Ok(())
    }

    /// Bodies that this frame does not have are nothing in it.
    fn leave_empty(&mut self) -> Result<(), ExportError> {
        let missing = |body: &Body| self.archive.samples(body.shape) < self.samples;
        let bodies: Vec<(Kind, Body)> = self
            .bodies
            .iter()
            .filter(|(_, body)| missing(body))
            .map(|((kind, _), body)| (*kind, body.clone()))
            .collect();
        bodies.iter().try_for_each(|(kind, body)| self.write_nothing(*kind, body))
    }

    fn curves(&mut self, curves: &Curves) -> Result<(), ExportError> {
        let body = self.body(Kind::Curves, &curves.name)?;
        let counts: Vec<i32> = curves.vertex_counts().map(|count| count as i32).collect();
        let whole = |name: &str| whole_per_strand(curves, name);
        let ids = whole("id").unwrap_or_else(|| (0..counts.len() as i32).collect());
        // Without children Unreal finds guides itself; with them, the simulated strands are the guides.
        let guides: Vec<i16> = match whole("guide") {
            Some(guides) if guides != ids => {
                ids.iter().zip(&guides).map(|(id, guide)| i16::from(id == guide)).collect()
            }
            _ => vec![0; counts.len()],
        };
        let uvs = curves.attributes.get("root_uv").and_then(|attribute| match &attribute.values {
            drench_io::Values::F32x2(values) if attribute.domain == Domain::Strand => Some(values.as_slice()),
            _ => None,
        });
        let widths = curves.scalars("width");
        let centimetres: Option<Vec<f32>> = widths.map(|widths| widths.iter().map(|width| 100.0 * width).collect());

        let further = Further::of(&curves.attributes, &["velocity", "width"]);
        let mut parameters = further.parameters();
        let mut groom = |name, scope, values| parameters.push(Parameter { name, scope, values });
        groom("groom_id", Scope::Uniform, Values::I32(&ids));
        let (group, name) = ([body.group], [curves.name.as_str()]);
        groom("groom_group_id", Scope::Constant, Values::I32(&group));
        groom("groom_group_name", Scope::Constant, Values::Text(&name));
        groom("groom_guide", Scope::Uniform, Values::I16(&guides));
        if let Some(uvs) = uvs {
            groom("groom_root_uv", Scope::Uniform, Values::F32x2(uvs));
        }
        if let Some(centimetres) = &centimetres {
            groom("groom_width", Scope::Vertex, Values::F32(centimetres));
        }
        let sample = CurvesSample {
            positions: &curves.positions,
            counts: &counts,
            basis: self.basis,
            widths: widths.map(|widths| (Scope::Vertex, widths)),
            uvs: uvs.map(|uvs| (Scope::Uniform, uvs)),
            velocities: curves.vectors("velocity"),
            parameters: &parameters,
        };
        Ok(self.archive.write_curves(body.shape, &sample)?)
    }

    fn points(&mut self, points: &Points) -> Result<(), ExportError> {
        let body = self.body(Kind::Points, &points.name)?;
        let ids: Vec<u64> = match points.whole("id") {
            Some(ids) => ids.iter().map(|&id| u64::from(id)).collect(),
            None => (0..points.positions.len() as u64).collect(),
        };
        let widths: Option<Vec<f32>> = points.scalars("radius").map(|radii| radii.iter().map(|r| 2.0 * r).collect());
        let further = Further::of(&points.attributes, &["velocity", "id", "radius"]);
        let sample = PointsSample {
            positions: &points.positions,
            ids: &ids,
            velocities: points.vectors("velocity"),
            widths: widths.as_ref().map(|widths| (Scope::Vertex, widths.as_slice())),
            parameters: &further.parameters(),
        };
        Ok(self.archive.write_points(body.shape, &sample)?)
    }

    fn mesh(&mut self, mesh: &Mesh) -> Result<(), ExportError> {
        let body = self.body(Kind::Mesh, &mesh.name)?;
        let counts = vec![3; mesh.triangles.len()];
        let indices: Vec<i32> = mesh.triangles.as_flattened().iter().map(|&vertex| vertex as i32).collect();
        let pose = mesh.pose;
        // Taken from the first frame alone: from each frame anew it would differ in the last digits.
        let rest = match (pose, body.rest) {
            (Some(_), Some(rest)) if rest.positions.len() == mesh.positions.len() => Some(rest),
            (Some(pose), _) => {
                mesh.at_rest().map(|positions| Rest { positions, normals: turned_back(&pose, &mesh.normals) })
            }
            (None, _) => None,
        };
        let (axes, origin) = pose.map_or((IDENTITY, [0.0; 3]), |pose| {
            let axes = DMat3::from_quat(pose.rotation);
            ([axes.x_axis, axes.y_axis, axes.z_axis].map(|axis| axis.to_array()), pose.position.to_array())
        });
        self.archive.write_xform(body.xform, axes, origin)?;
        let (positions, normals) = match &rest {
            Some(rest) => (&rest.positions, &rest.normals),
            None => (&mesh.positions, &mesh.normals),
        };
        let normals = (!normals.is_empty()).then_some(normals.as_slice());
        let sample = MeshSample { positions, counts: &counts, indices: &indices, normals, ..MeshSample::default() };
        self.archive.write_mesh(body.shape, &sample)?;
        if let Some(known) = self.bodies.get_mut(&(Kind::Mesh, mesh.name.clone())) {
            known.rest = rest;
        }
        Ok(())
    }

    fn camera(&mut self, camera: &CameraView) -> Result<(), ExportError> {
        const FILM_HEIGHT: f64 = 24.0;
        let body = self.body(Kind::Camera, &camera.name)?;
        let right = camera.forward.cross(camera.up);
        let axes = [right, camera.up, -camera.forward].map(|axis: DVec3| axis.to_array());
        self.archive.write_xform(body.xform, axes, camera.position.to_array())?;
        let focal_length = 0.5 * FILM_HEIGHT / (0.5 * camera.field_of_view).tan();
        let sample = CameraSample {
            focal_length,
            film_width: FILM_HEIGHT * self.aspect,
            film_height: FILM_HEIGHT,
            focus_distance: camera.focus,
            // Millimetres over metres; without an aperture everything is sharp.
            f_stop: if camera.aperture > 0.0 { focal_length * 1e-3 / camera.aperture } else { 1e3 },
            ..CameraSample::default()
        };
        Ok(self.archive.write_camera(body.shape, &sample)?)
    }
}

fn whole_per_strand(curves: &Curves, name: &str) -> Option<Vec<i32>> {
    match curves.attributes.get(name).map(|attribute| (attribute.domain, &attribute.values)) {
        Some((Domain::Strand, drench_io::Values::U32(values))) => Some(values.iter().map(|&id| id as i32).collect()),
        _ => None,
    }
}

fn turned_back(pose: &RigidPose, normals: &[[f32; 3]]) -> Vec<[f32; 3]> {
    let back = pose.rotation.inverse();
    normals.iter().map(|&normal| (back * Vec3::from(normal).as_dvec3()).as_vec3().to_array()).collect()
}

/// Attributes that the schema has no place for, as parameters.
struct Further<'a> {
    attributes: Vec<(&'a str, &'a drench_io::Attribute)>,
    /// Whole numbers as programs expect them: with a sign.
    whole: Vec<Vec<i32>>,
}

impl<'a> Further<'a> {
    fn of(attributes: &'a BTreeMap<String, drench_io::Attribute>, without: &[&str]) -> Self {
        let kept = attributes.iter().filter(|(name, _)| !without.contains(&name.as_str()));
        let attributes: Vec<_> = kept.map(|(name, attribute)| (name.as_str(), attribute)).collect();
        let whole = attributes
            .iter()
            .map(|(_, attribute)| match &attribute.values {
                drench_io::Values::U32(values) => values.iter().map(|&value| value as i32).collect(),
                _ => Vec::new(),
            })
            .collect();
        Self { attributes, whole }
    }

    fn parameters(&self) -> Vec<Parameter<'_>> {
        self.attributes
            .iter()
            .zip(&self.whole)
            .map(|((name, attribute), whole)| Parameter {
                name,
                scope: match attribute.domain {
                    Domain::Vertex => Scope::Vertex,
                    Domain::Strand => Scope::Uniform,
                },
                values: match &attribute.values {
                    drench_io::Values::U32(_) => Values::I32(whole),
                    drench_io::Values::F32(values) => Values::F32(values),
                    drench_io::Values::F32x2(values) => Values::F32x2(values),
                    drench_io::Values::F32x3(values) => Values::F32x3(values),
                },
            })
            .collect()
    }
}

impl From<AlembicError> for ExportError {
    fn from(error: AlembicError) -> Self {
        match error {
            AlembicError::Storage { path, source } => Self::Storage { action: "write", path, source },
            other => Self::Unable {
                format: "abc",
                reason: other.to_string(),
                fix: "export the frames before and after it apart with --frames",
            },
        }
    }
}
