//! USD: hair as `BasisCurves`, liquid and grains as `Points`, solids and surfaces as `Mesh`, cameras.
//!
//! One layer for the whole shot, or one a frame ([`clips`]); a time code is a frame. Metres, +y up. Whatever never changes
//! is written once, a solid that does not deform as one mesh with a transform. Our own writer, because values must go to the
//! disk as frames come: [`layer`] is what is recorded, [`binary`] and [`text`] are the two ways to store it, [`package`]
//! wraps the first.

mod binary;
mod clips;
mod layer;
mod package;
mod recording;
mod text;
mod value;

use crate::error::ExportError;
use crate::format::{Format, Writer};
use crate::moment::{CameraView, Curves, Mesh, Moment, Points, Shot, extent};
use crate::source::{Basis, Options};
use crate::target::Layout;
use binary::Binary;
use clips::{Clips, Create};
use drench_io::{Domain, RigidPose, Values};
use glam::{DMat4, DVec3};
use layer::{Kind, Layer, Store, identifier};
use package::Package;
use recording::{Place, Recording, Whole};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use text::Text;
use value::Value;

const CARRIES: &str =
    "curves (cubic or linear), particles, meshes, cameras, all attributes as primvars, velocities, frame rate, units";
const LACKS: &[&str] = &["materials: attributes and display colours are there to make some of"];
const HINTS: &[(&str, &str)] = &[
    (
        "Blender",
        "File > Import > Universal Scene Description, or tools/blender_wet_hair.py, which makes wet hair of it; in a \
         material the Attribute node reads wetness, wet_spec, wet_dark",
    ),
    ("Houdini", "Solaris: Sublayer or Reference LOP; at the SOP level USD Import; primvars become attributes"),
    ("Unreal", "USD Stage window; for a groom asset use --to abc instead"),
];

const FRAME_HINTS: &[(&str, &str)] = &[
    ("all", "open the .usda that bears the name of the scene; the other files belong beside it"),
    ("Blender", "File > Import > Universal Scene Description"),
    ("Houdini", "Solaris: Sublayer or Reference LOP"),
];

/// `usdc`.
pub const BINARY: Format = Format {
    title: "USD, binary: one file for all frames",
    layout: Layout::File,
    endings: &["usdc"],
    hints: HINTS,
    begin: |shot, options, path| Ok(whole(shot, options, path, binary_store(path)?)),
    per_frame: Some(&BINARY_FRAMES),
    ..BINARY_FRAMES
};

const BINARY_FRAMES: Format = Format {
    name: "usdc",
    title: "USD, binary: a file for each frame, stitched by another",
    layout: Layout::Folder,
    endings: &["usda", "usdc"],
    carries: CARRIES,
    lacks: LACKS,
    hints: FRAME_HINTS,
    begin: |shot, options, folder| Ok(frames(shot, options, folder, "usdc", binary_store)),
    per_frame: None,
};

/// `usda`.
pub const TEXT: Format = Format {
    name: "usda",
    title: "USD, text: to read and to edit; three times as large as usdc",
    endings: &["usda"],
    begin: |shot, options, path| Ok(whole(shot, options, path, Text::create(path)?)),
    per_frame: Some(&TEXT_FRAMES),
    ..BINARY
};

const TEXT_FRAMES: Format = Format {
    name: "usda",
    title: "USD, text: a file for each frame, stitched by another",
    begin: |shot, options, folder| Ok(frames(shot, options, folder, "usda", Text::create)),
    ..BINARY_FRAMES
};

/// `usdz`.
pub const PACKAGE: Format = Format {
    name: "usdz",
    title: "USD, packed: usdc in an archive, for web pages and phones",
    endings: &["usdz"],
    begin: |shot, options, path| {
        let store = Package::create(path, &identifier(&shot.name))?;
        Ok(whole(shot, options, path, store))
    },
    per_frame: None,
    ..BINARY
};

fn binary_store(path: &Path) -> Result<Box<dyn Store>, ExportError> {
    Ok(Box::new(Binary::create(path, 0)?))
}

/// All frames in one layer.
fn whole(shot: &Shot, options: &Options, path: &Path, store: Box<dyn Store>) -> Box<dyn Writer> {
    Box::new(Usd::new(shot, options, path, Box::new(Whole::new(store, Layer::of(shot)))))
}

/// One layer a frame.
fn frames(shot: &Shot, options: &Options, folder: &Path, ending: &'static str, create: Create) -> Box<dyn Writer> {
    Box::new(Usd::new(shot, options, folder, Box::new(Clips::new(folder, ending, create, shot))))
}

/// Takes moments apart into prims and their properties.
struct Usd {
    path: PathBuf,
    recording: Box<dyn Recording>,
    basis: Basis,
    aspect: f32,
    colours: BTreeMap<String, [f32; 3]>,
    /// Names of prims by kind and name of the body.
    names: BTreeMap<(&'static str, String), String>,
    used: HashSet<String>,
}

impl Usd {
    fn new(shot: &Shot, options: &Options, path: &Path, recording: Box<dyn Recording>) -> Self {
        Self {
            path: path.to_owned(),
            recording,
            basis: options.basis,
            aspect: shot.aspect,
            colours: shot.colours.clone(),
            names: BTreeMap::new(),
            used: HashSet::new(),
        }
    }

    /// The prim of a body, named at its first frame.
    fn prim(&mut self, schema: &'static str, body: &str) -> Recorder<'_> {
        let used = &mut self.used;
        let name = self.names.entry((schema, body.to_owned())).or_insert_with(|| {
            let plain = identifier(body);
            let numbered = (2..).map(|k| format!("{plain}_{k}"));
            let free = std::iter::once(plain.clone()).chain(numbered).find(|name| !used.contains(name));
            let name = free.unwrap_or(plain);
            used.insert(name.clone());
            name
        });
        Recorder { recording: self.recording.as_mut(), prim: name, schema }
    }

    fn record(&mut self, moment: &Moment) -> io::Result<()> {
        let (basis, aspect) = (self.basis, self.aspect);
        for body in &moment.curves {
            let colour = self.colours.get(&body.name).copied();
            self.prim("BasisCurves", &body.name).curves(body, basis, colour)?;
        }
        for body in &moment.points {
            let colour = self.colours.get(&body.name).copied();
            self.prim("Points", &body.name).points(body, colour)?;
        }
        for body in &moment.meshes {
            let colour = self.colours.get(&body.name).copied();
            self.prim("Mesh", &body.name).mesh(body, colour)?;
        }
        for camera in &moment.cameras {
            self.prim("Camera", &camera.name).camera(camera, aspect)?;
        }
        Ok(())
    }
}

impl Writer for Usd {
    fn frame(&mut self, moment: &Moment) -> Result<(), ExportError> {
        self.recording.begin(moment.index)?;
        self.record(moment).map_err(|source| ExportError::Storage { action: "write", path: self.path.clone(), source })
    }

    fn finish(self: Box<Self>) -> Result<Vec<String>, ExportError> {
        self.recording.finish()?;
        Ok(Vec::new())
    }
}

/// Records one prim in one frame.
struct Recorder<'a> {
    recording: &'a mut dyn Recording,
    prim: &'a str,
    schema: &'static str,
}

impl Recorder<'_> {
    fn set(&mut self, property: &str, kind: Kind, value: &Value) -> io::Result<()> {
        self.recording.set(Place { prim: self.prim, schema: self.schema, property }, kind, value)
    }

    fn vectors(&mut self, name: &str, kind: Kind, vectors: &[[f32; 3]]) -> io::Result<()> {
        self.set(name, kind, &Value::Vectors(Cow::Borrowed(vectors)))
    }

    /// Points, the box around them, and the colour.
    fn body(&mut self, positions: &[[f32; 3]], radius: f32, colour: Option<[f32; 3]>) -> io::Result<()> {
        self.vectors("points", Kind::of("point3f[]"), positions)?;
        self.vectors("extent", Kind::of("float3[]"), &extent(positions, radius))?;
        match colour {
            Some(colour) => self.vectors("primvars:displayColor", Kind::per("color3f[]", "constant"), &[colour]),
            None => Ok(()),
        }
    }

    fn primvar(&mut self, name: &str, domain: &'static str, values: &Values) -> io::Result<()> {
        let name = format!("primvars:{name}");
        match values {
            Values::U32(values) => self.set(&name, Kind::per("int[]", domain), &Value::Ints(Cow::Borrowed(values))),
            Values::F32(values) => self.set(&name, Kind::per("float[]", domain), &Value::Floats(Cow::Borrowed(values))),
            Values::F32x2(values) => {
                self.set(&name, Kind::per("texCoord2f[]", domain), &Value::Pairs(Cow::Borrowed(values)))
            }
            Values::F32x3(values) => {
                let kind = if name == "primvars:rest" { "point3f[]" } else { "vector3f[]" };
                self.vectors(&name, Kind::per(kind, domain), values)
            }
        }
    }

    fn curves(&mut self, body: &Curves, basis: Basis, colour: Option<[f32; 3]>) -> io::Result<()> {
        // Pinned: the curve goes through its first and last vertex without phantom ones beyond them.
        let (kind, wrap) = match basis {
            Basis::Cubic => ("cubic", "pinned"),
            Basis::Linear => ("linear", "nonperiodic"),
        };
        self.set("type", Kind::uniform("token"), &Value::Token(kind))?;
        self.set("basis", Kind::uniform("token"), &Value::Token("catmullRom"))?;
        self.set("wrap", Kind::uniform("token"), &Value::Token(wrap))?;
        let counts: Vec<u32> = body.vertex_counts().collect();
        self.set("curveVertexCounts", Kind::of("int[]"), &Value::Ints(Cow::Owned(counts)))?;
        let widths = body.scalars("width").unwrap_or(&[]);
        self.body(&body.positions, 0.5 * widths.iter().copied().fold(0.0, f32::max), colour)?;
        for (name, attribute) in &body.attributes {
            let domain = match attribute.domain {
                Domain::Vertex => "vertex",
                Domain::Strand => "uniform",
            };
            match (name.as_str(), &attribute.values) {
                ("width", Values::F32(widths)) => {
                    self.set("widths", Kind::per("float[]", domain), &Value::Floats(Cow::Borrowed(widths)))?;
                }
                ("velocity", Values::F32x3(velocities)) => {
                    self.vectors("velocities", Kind::of("vector3f[]"), velocities)?;
                }
                // Blender and the schema keep these two names for themselves.
                ("normal", values) => self.primvar("frame_normal", domain, values)?,
                ("id", values) => self.primvar("strand_id", domain, values)?,
                ("root_uv", values) => self.primvar("st", domain, values)?,
                (name, values) => self.primvar(name, domain, values)?,
            }
        }
        Ok(())
    }

    fn points(&mut self, body: &Points, colour: Option<[f32; 3]>) -> io::Result<()> {
        let radii = body.scalars("radius").unwrap_or(&[]);
        self.body(&body.positions, radii.iter().copied().fold(0.0, f32::max), colour)?;
        for (name, attribute) in &body.attributes {
            match (name.as_str(), &attribute.values) {
                ("radius", Values::F32(radii)) => {
                    let widths: Vec<f32> = radii.iter().map(|radius| 2.0 * radius).collect();
                    self.set("widths", Kind::per("float[]", "vertex"), &Value::Floats(Cow::Owned(widths)))?;
                }
                ("velocity", Values::F32x3(velocities)) => {
                    self.vectors("velocities", Kind::of("vector3f[]"), velocities)?;
                }
                ("id", Values::U32(ids)) => {
                    let ids = ids.iter().map(|&id| i64::from(id)).collect();
                    self.set("ids", Kind::of("int64[]"), &Value::Longs(ids))?;
                }
                (name, values) => self.primvar(name, "vertex", values)?,
            }
        }
        Ok(())
    }

    fn mesh(&mut self, body: &Mesh, colour: Option<[f32; 3]>) -> io::Result<()> {
        // A rigid body's shape is recorded at its first frame alone; the pose brings it where it is.
        let points = Place { prim: self.prim, schema: self.schema, property: "points" };
        let new = !self.recording.has(points);
        if let Some(pose) = &body.pose {
            let matrix = pose_matrix(pose);
            self.set("xformOp:transform", Kind::of("matrix4d"), &matrix)?;
            self.set("xformOpOrder", Kind::uniform("token[]"), &Value::Tokens(vec!["xformOp:transform"]))?;
            if !new {
                return Ok(());
            }
        }
        let back = body.pose.map(|pose| pose.rotation.inverse());
        let turned = |n: &[f32; 3]| {
            let n = DVec3::from_array(n.map(f64::from));
            back.map_or(n, |back| back * n).as_vec3().to_array()
        };
        let positions = body.at_rest().map_or(Cow::Borrowed(&body.positions[..]), Cow::Owned);
        self.body(&positions, 0.0, colour)?;
        let corners = body.triangles.as_flattened();
        self.set("faceVertexCounts", Kind::of("int[]"), &Value::Ints(Cow::Owned(vec![3; body.triangles.len()])))?;
        self.set("faceVertexIndices", Kind::of("int[]"), &Value::Ints(Cow::Borrowed(corners)))?;
        if !body.normals.is_empty() || !new {
            let normals: Vec<[f32; 3]> = body.normals.iter().map(turned).collect();
            self.vectors("normals", Kind::per("normal3f[]", "vertex"), &normals)?;
        }
        self.set("subdivisionScheme", Kind::uniform("token"), &Value::Token("none"))
    }

    fn camera(&mut self, camera: &CameraView, aspect: f32) -> io::Result<()> {
        /// Height of the picture on the film of a small-format camera [m].
        const FILM: f32 = 0.024;
        /// Lengths of the lens are in tenths of a unit.
        const TENTH: f32 = 10.0;
        let right = camera.forward.cross(camera.up);
        let row = |v: DVec3, w: f64| [v.x, v.y, v.z, w];
        let rows = [row(right, 0.0), row(camera.up, 0.0), row(-camera.forward, 0.0), row(camera.position, 1.0)];
        self.set("xformOp:transform", Kind::of("matrix4d"), &Value::Matrix(rows))?;
        self.set("xformOpOrder", Kind::uniform("token[]"), &Value::Tokens(vec!["xformOp:transform"]))?;
        let focal = 0.5 * FILM / (0.5 * camera.field_of_view).tan() as f32;
        let stop = if camera.aperture > 0.0 { focal / camera.aperture as f32 } else { 0.0 };
        let distance = camera.focus as f32;
        for (name, value) in [
            ("focalLength", TENTH * focal),
            ("horizontalAperture", TENTH * FILM * aspect),
            ("verticalAperture", TENTH * FILM),
            ("focusDistance", distance),
            ("fStop", stop),
        ] {
            self.set(name, Kind::of("float"), &Value::Float(value))?;
        }
        self.set("clippingRange", Kind::of("float2"), &Value::Float2([1e-3, 1e3]))
    }
}

fn pose_matrix(pose: &RigidPose) -> Value<'static> {
    // Columns of ours are rows of theirs.
    Value::Matrix(DMat4::from_rotation_translation(pose.rotation, pose.position).to_cols_array_2d())
}
