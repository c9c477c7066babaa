//! The archive while it is written: a tree of objects whose samples are already on disk.

mod property;
pub mod schema;
mod stream;

use crate::error::AlembicError;
use crate::murmur::{Digest, digest};
use crate::types::{EMPTY_DATA, TimeSampling};
use property::{Compound, Property, Shape, SharedMetadata, nothing};
use schema::Values;
use std::collections::HashMap;
use std::path::Path;
use stream::Stream;

/// Version of the container's layout of properties.
const FORMAT_VERSION: i32 = 0;
/// The Alembic library whose files these are like: 1.8.5.
const LIBRARY_VERSION: i32 = 10_805;
/// The archive's second time sampling; its first, which the format demands, is one sample per second.
const SAMPLED: u32 = 1;
/// For what has one sample.
const UNSAMPLED: u32 = 0;

/// What the file tells of its origin.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Program that wrote the file, with its version.
    pub application: String,
    /// What the file shows.
    pub description: String,
    /// When it was written, as text; left out if empty.
    pub date: String,
}

/// An object of an [`Archive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectId(usize);

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Top,
    Xform,
    Curves,
    Points,
    Mesh,
    Camera,
}

impl Kind {
    /// Name of the schema, whether it is a shape, and the property that holds it.
    fn schema(self) -> (&'static str, bool, &'static str) {
        match self {
            Self::Top => ("", false, ""),
            Self::Xform => ("AbcGeom_Xform_v3", false, ".xform"),
            Self::Curves => ("AbcGeom_Curve_v2", true, ".geom"),
            Self::Points => ("AbcGeom_Points_v1", true, ".geom"),
            Self::Mesh => ("AbcGeom_PolyMesh_v1", true, ".geom"),
            Self::Camera => ("AbcGeom_Camera_v1", false, ".geom"),
        }
    }

    /// Metadata of the property that holds the schema.
    fn metadata(self) -> String {
        let (schema, is_shape, _) = self.schema();
        format!("schema={schema}{}", if is_shape { ";schemaBaseType=AbcGeom_GeomBase_v1" } else { "" })
    }

    /// Metadata of the object.
    fn object_metadata(self) -> String {
        let (schema, _, holder) = self.schema();
        format!("{};schemaObjTitle={schema}:{holder}", self.metadata())
    }
}

struct Object {
    name: String,
    kind: Kind,
    properties: Compound,
    children: Vec<usize>,
    samples: u32,
    /// Of transforms: the last matrix, and which of its numbers changed.
    matrix: Option<([f64; 16], [bool; 16])>,
}

/// An Alembic file that is being written.
///
/// Samples go to disk as they come. Until [`Archive::finish`] the file says that it is incomplete, and other programs
/// refuse it.
pub struct Archive {
    stream: Stream,
    objects: Vec<Object>,
    sampling: TimeSampling,
    about: About,
    buffer: Vec<u8>,
    /// Where the dimensions of text arrays are, by length.
    text_dimensions: HashMap<usize, u64>,
}

impl Archive {
    /// Begins a file, over one that is there.
    pub fn create(path: &Path, about: &About, sampling: TimeSampling) -> Result<Self, AlembicError> {
        let top = Object {
            name: "ABC".into(),
            kind: Kind::Top,
            properties: Compound::default(),
            children: Vec::new(),
            samples: 0,
            matrix: None,
        };
        if !(sampling.step > 0.0 && sampling.step.is_finite() && sampling.start.is_finite()) {
            return Err(refuse(&top, format!("samples every {} s from {} s on", sampling.step, sampling.start)));
        }
        let stream = Stream::create(path)?;
        let about = about.clone();
        Ok(Self { stream, objects: vec![top], sampling, about, buffer: Vec::new(), text_dimensions: HashMap::new() })
    }

    /// The object above all others.
    pub fn top(&self) -> ObjectId {
        ObjectId(0)
    }

    fn add(&mut self, parent: ObjectId, name: &str, kind: Kind) -> Result<ObjectId, AlembicError> {
        let above = &self.objects[parent.0];
        if name.is_empty() || name.contains(['/', '\0']) {
            return Err(refuse(above, format!("'{name}' cannot be the name of an object")));
        }
        if above.children.iter().any(|&child| self.objects[child].name == name) {
            return Err(refuse(above, format!("it already has a child '{name}'")));
        }
        let id = self.objects.len();
        let properties = Compound::default();
        let children = Vec::new();
        self.objects.push(Object { name: name.to_owned(), kind, properties, children, samples: 0, matrix: None });
        self.objects[parent.0].children.push(id);
        Ok(ObjectId(id))
    }

    /// The object, if it is what it is written as.
    fn expect(&self, id: ObjectId, kind: Kind) -> Result<(), AlembicError> {
        let object = &self.objects[id.0];
        if object.kind == kind { Ok(()) } else { Err(refuse(object, format!("it is a {:?}", object.kind))) }
    }

    /// Gives a property its next sample. Samples that it missed so far are empty.
    fn set(&mut self, id: ObjectId, place: &Place, values: &Values) -> Result<(), AlembicError> {
        self.buffer.clear();
        values.append_to(&mut self.buffer);
        let stored = self.stream.sample(&self.buffer, values.is_text())?;
        let (pod, extent, elements) = (values.pod(), place.extent.unwrap_or(values.extent()), values.len());
        let dimensions = if values.is_text() && place.shape == Shape::Array {
            match self.text_dimensions.get(&elements) {
                Some(&position) => position,
                None => {
                    let position = self.stream.data(&(elements as u64).to_le_bytes())?;
                    self.text_dimensions.insert(elements, position);
                    position
                }
            }
        } else {
            EMPTY_DATA
        };

        let object = &mut self.objects[id.0];
        let (holder, metadata) = (object.kind.schema().2, object.kind.metadata());
        let elements = if place.shape == Shape::Scalar { 1 } else { elements };
        let property = object
            .properties
            .compound(holder, &metadata)
            .and_then(|schema| match place.inside {
                Some(compound) => schema.compound(compound, ""),
                None => Some(schema),
            })
            .and_then(|compound| {
                compound.property(place.name, || {
                    Property::new(place.name, place.metadata.clone(), place.shape, pod, extent, place.sampling)
                })
            });
        let Some(property) = property.filter(|p| p.pod == pod && p.extent == extent && p.metadata == place.metadata)
        else {
            return Err(refuse(object, format!("'{}' was something else in an earlier sample", place.name)));
        };
        if place.sampling == SAMPLED {
            while property.samples < object.samples {
                property.push(nothing(), EMPTY_DATA, 0);
            }
        }
        property.push(stored, dimensions, elements);
        Ok(())
    }

    /// Ends a sample of an object: properties that got no value this time are empty.
    fn end_sample(&mut self, id: ObjectId) {
        let object = &mut self.objects[id.0];
        object.samples += 1;
        let samples = object.samples;
        object.properties.for_each_property(&mut |property| {
            if property.sampling == SAMPLED && property.samples < samples {
                property.push(nothing(), EMPTY_DATA, 0);
            }
        });
    }

    /// Lets every object that has samples stay as it is for one more.
    pub fn hold(&mut self) {
        for object in self.objects.iter_mut().filter(|object| object.samples > 0) {
            object.samples += 1;
            object.properties.for_each_property(&mut |property| {
                if property.sampling == SAMPLED {
                    property.repeat();
                }
            });
        }
    }

    /// Number of samples that an object has.
    pub fn samples(&self, id: ObjectId) -> u32 {
        self.objects[id.0].samples
    }

    /// Writes the tree and sees the file to the disk. From now on other programs can read it.
    pub fn finish(mut self) -> Result<(), AlembicError> {
        self.tell_moving_channels()?;
        let mut shared = SharedMetadata::default();
        let version = self.stream.data(&FORMAT_VERSION.to_le_bytes())?;
        let library = self.stream.data(&LIBRARY_VERSION.to_le_bytes())?;
        let (top, _) = write_object(&self.objects, 0, &mut self.stream, &mut shared)?;
        let metadata = self.stream.data(self.archive_metadata().as_bytes())?;

        let mut most = [0, 0];
        for object in &mut self.objects {
            object.properties.for_each_property(&mut |property| {
                let most = &mut most[property.sampling.min(SAMPLED) as usize];
                *most = property.timed_samples().max(*most);
            });
        }
        let mut samplings = Vec::new();
        for (most, TimeSampling { start, step }) in most.into_iter().zip([EVERY_SECOND, self.sampling]) {
            samplings.extend(most.to_le_bytes());
            samplings.extend(step.to_le_bytes());
            samplings.extend(1_u32.to_le_bytes());
            samplings.extend(start.to_le_bytes());
        }
        let samplings = self.stream.data(&samplings)?;
        let shared = self.stream.data(&shared.bytes())?;
        let root = self.stream.group(&[version, library, top, metadata, samplings, shared])?;
        self.stream.finish(root)
    }

    fn archive_metadata(&self) -> String {
        // In the order of their keys, as the library sorts them.
        let library = format!("Alembic 1.8.5 (drench-alembic {})", env!("CARGO_PKG_VERSION"));
        let rate = format!("{}", 1.0 / self.sampling.step);
        [
            ("_ai_AlembicVersion", library.as_str()),
            ("_ai_Application", &self.about.application),
            ("_ai_DCC_FPS", &rate),
            ("_ai_DateWritten", &self.about.date),
            ("_ai_Description", &self.about.description),
        ]
        .iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(key, text)| format!("{key}={}", text.replace(['=', ';'], " ")))
        .collect::<Vec<_>>()
        .join(";")
    }
}

const EVERY_SECOND: TimeSampling = TimeSampling { start: 0.0, step: 1.0 };

/// Where a value goes.
struct Place<'a> {
    /// Compound within the schema.
    inside: Option<&'a str>,
    name: &'a str,
    metadata: String,
    shape: Shape,
    /// Numbers per element, if not what the values say: scalars count all their numbers as one element.
    extent: Option<u8>,
    sampling: u32,
}

impl<'a> Place<'a> {
    fn array(name: &'a str, metadata: &str) -> Self {
        let metadata = metadata.to_owned();
        Self { inside: None, name, metadata, shape: Shape::Array, extent: None, sampling: SAMPLED }
    }

    fn scalar(name: &'a str, metadata: &str, extent: u8) -> Self {
        Self { shape: Shape::Scalar, extent: Some(extent), ..Self::array(name, metadata) }
    }

    fn inside(self, compound: &'a str) -> Self {
        Self { inside: Some(compound), ..self }
    }

    fn unsampled(self) -> Self {
        Self { sampling: UNSAMPLED, ..self }
    }
}

fn refuse(object: &Object, reason: String) -> AlembicError {
    AlembicError::Sample { object: object.name.clone(), reason }
}

/// Writes an object with all below it: the position of its group and a digest of all.
fn write_object(
    objects: &[Object],
    index: usize,
    stream: &mut Stream,
    shared: &mut SharedMetadata,
) -> Result<(u64, Digest), AlembicError> {
    let object = &objects[index];
    let (properties, properties_digest) = object.properties.write(stream, shared)?;
    let (mut group, mut headers, mut digests) = (vec![properties], Vec::new(), Vec::new());
    for &child in &object.children {
        let (position, digest) = write_object(objects, child, stream, shared)?;
        group.push(position);
        digests.extend(digest);
        let child = &objects[child];
        headers.extend((child.name.len() as u32).to_le_bytes());
        headers.extend(child.name.as_bytes());
        shared.append_to_object_header(&child.kind.object_metadata(), &mut headers);
    }
    let children_digest = digest(&digests);
    headers.extend(properties_digest);
    headers.extend(children_digest);
    group.push(stream.data(&headers)?);
    let all = digest(&[object.name.as_bytes(), &properties_digest, &children_digest].concat());
    Ok((stream.group(&group)?, all))
}
