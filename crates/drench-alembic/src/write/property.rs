//! Properties while they are written: where their samples are, and what their headers will say.

use super::stream::{Stored, Stream};
use crate::error::AlembicError;
use crate::murmur::{Digest, digest};
use crate::types::{EMPTY_DATA, Pod};
use std::collections::HashMap;

/// Metadata that several headers share: stored once, named by an index.
#[derive(Default)]
pub struct SharedMetadata {
    texts: Vec<String>,
    indices: HashMap<String, u32>,
}

/// In place of an index: the text follows.
const IN_LINE: u32 = 255;

impl SharedMetadata {
    /// The index of `text`; 0 is no text.
    pub fn index(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        if let Some(&index) = self.indices.get(text) {
            return index;
        }
        if text.len() > 255 || self.texts.len() >= 254 {
            return IN_LINE;
        }
        self.texts.push(text.to_owned());
        let index = self.texts.len() as u32;
        self.indices.insert(text.to_owned(), index);
        index
    }

    /// All texts, each behind its length.
    pub fn bytes(&self) -> Vec<u8> {
        self.texts.iter().flat_map(|text| [&[text.len() as u8], text.as_bytes()].concat()).collect()
    }

    /// Appends the index and, if it has none, the text.
    pub fn append_to_object_header(&mut self, text: &str, out: &mut Vec<u8>) {
        let index = self.index(text);
        out.push(index as u8);
        if index == IN_LINE {
            out.extend((text.len() as u32).to_le_bytes());
            out.extend(text.as_bytes());
        }
    }
}

/// Whether a property is one value or many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Scalar,
    Array,
}

/// A sample on disk, the position of its dimensions, and the number of its elements.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Sample {
    stored: Stored,
    dimensions: u64,
    elements: usize,
}

/// A property that holds samples.
pub struct Property {
    pub name: String,
    pub metadata: String,
    pub shape: Shape,
    pub pod: Pod,
    pub extent: u8,
    /// Which of the archive's time samplings.
    pub sampling: u32,
    /// Number of samples, stored or not.
    pub samples: u32,
    /// Positions: one per stored sample, or two, the second of its dimensions.
    positions: Vec<u64>,
    last: Option<Sample>,
    first_changed: u32,
    last_changed: u32,
    same_elements: bool,
    one_element: bool,
    digest: Digest,
}

impl Property {
    pub fn new(name: &str, metadata: String, shape: Shape, pod: Pod, extent: u8, sampling: u32) -> Self {
        Self {
            name: name.to_owned(),
            metadata,
            shape,
            pod,
            extent,
            sampling,
            samples: 0,
            positions: Vec::new(),
            last: None,
            first_changed: 0,
            last_changed: 0,
            same_elements: true,
            one_element: true,
            digest: [0; 16],
        }
    }

    /// Takes the next sample, of `elements` elements.
    pub fn push(&mut self, stored: Stored, dimensions: u64, elements: usize) {
        let sample = Sample { stored, dimensions, elements };
        if let Some(last) = self.last {
            if sample != last {
                if self.first_changed == 0 {
                    self.first_changed = self.samples;
                } else {
                    // From the first change on every sample is named.
                    for _ in self.last_changed + 1..self.samples {
                        self.name_sample(last);
                    }
                }
                self.name_sample(sample);
                self.last_changed = self.samples;
            }
            self.same_elements &= elements == last.elements;
        } else {
            self.name_sample(sample);
        }
        self.one_element &= elements == 1;
        self.last = Some(sample);
        self.samples += 1;
        self.digest = digest(&[self.digest, stored.digest].concat());
    }

    /// Takes the last sample once more.
    pub fn repeat(&mut self) {
        if let Some(Sample { stored, dimensions, elements }) = self.last {
            self.push(stored, dimensions, elements);
        }
    }

    fn name_sample(&mut self, sample: Sample) {
        self.positions.push(sample.stored.position);
        if self.shape == Shape::Array {
            self.positions.push(sample.dimensions);
        }
    }

    /// Samples that a reader must know the times of.
    pub fn timed_samples(&self) -> u32 {
        if self.last_changed == 0 { self.samples.min(1) } else { self.samples }
    }

    fn append_header(&self, shared: &mut SharedMetadata, out: &mut Vec<u8>) {
        let width = width_of(&[self.metadata.len(), self.name.len(), self.samples as usize, self.sampling as usize]);
        let metadata = shared.index(&self.metadata);
        let kind = match (self.shape, self.one_element) {
            (Shape::Scalar, _) => 1,
            (Shape::Array, false) => 2,
            (Shape::Array, true) => 3,
        };
        let constant = self.first_changed == 0 && self.last_changed == 0;
        let all_change = self.first_changed == 1 && self.last_changed + 1 == self.samples;
        let tells_changes = !constant && !all_change;
        let info = kind
            | width.hint() << 2
            | self.pod.code() << 4
            | u32::from(self.sampling != 0) << 8
            | u32::from(tells_changes) << 9
            | u32::from(self.same_elements) << 10
            | u32::from(constant) << 11
            | u32::from(self.extent) << 12
            | metadata << 20;
        out.extend(info.to_le_bytes());
        width.append(self.samples, out);
        if tells_changes {
            width.append(self.first_changed, out);
            width.append(self.last_changed, out);
        }
        if self.sampling != 0 {
            width.append(self.sampling, out);
        }
        append_name(&self.name, &self.metadata, metadata, width, out);
    }
}

/// Bytes that the numbers of one header take.
#[derive(Clone, Copy)]
enum Width {
    One,
    Two,
    Four,
}

impl Width {
    fn hint(self) -> u32 {
        self as u32
    }

    fn append(self, value: u32, out: &mut Vec<u8>) {
        let bytes = value.to_le_bytes();
        out.extend(&bytes[..1 << self.hint()]);
    }
}

fn width_of(values: &[usize]) -> Width {
    match values.iter().max() {
        Some(0x1_0000..) => Width::Four,
        Some(0x100..) => Width::Two,
        _ => Width::One,
    }
}

fn append_name(name: &str, metadata: &str, index: u32, width: Width, out: &mut Vec<u8>) {
    width.append(name.len() as u32, out);
    out.extend(name.as_bytes());
    if index == IN_LINE {
        width.append(metadata.len() as u32, out);
        out.extend(metadata.as_bytes());
    }
}

/// Properties under one name.
#[derive(Default)]
pub struct Compound {
    pub name: String,
    pub metadata: String,
    children: Vec<Child>,
}

enum Child {
    Compound(Compound),
    Property(Property),
}

impl Child {
    fn name(&self) -> &str {
        match self {
            Self::Compound(compound) => &compound.name,
            Self::Property(property) => &property.name,
        }
    }
}

impl Compound {
    pub fn new(name: &str, metadata: &str) -> Self {
        Self { name: name.to_owned(), metadata: metadata.to_owned(), children: Vec::new() }
    }

    /// The compound `name` in this one, made if it is not there.
    pub fn compound(&mut self, name: &str, metadata: &str) -> Option<&mut Compound> {
        let index = self.children.iter().position(|child| child.name() == name).unwrap_or_else(|| {
            self.children.push(Child::Compound(Self::new(name, metadata)));
            self.children.len() - 1
        });
        if let Child::Compound(compound) = &mut self.children[index] { Some(compound) } else { None }
    }

    /// The property `name`, made by `make` if it is not there; `None` if that name is a compound's.
    pub fn property(&mut self, name: &str, make: impl FnOnce() -> Property) -> Option<&mut Property> {
        let index = self.children.iter().position(|child| child.name() == name).unwrap_or_else(|| {
            self.children.push(Child::Property(make()));
            self.children.len() - 1
        });
        if let Child::Property(property) = &mut self.children[index] { Some(property) } else { None }
    }

    /// Every property that holds samples, with those of compounds in this one.
    pub fn for_each_property(&mut self, visit: &mut impl FnMut(&mut Property)) {
        for child in &mut self.children {
            match child {
                Child::Compound(compound) => compound.for_each_property(visit),
                Child::Property(property) => visit(property),
            }
        }
    }

    /// Writes what this holds: the position of its group and a digest of all.
    pub fn write(&self, stream: &mut Stream, shared: &mut SharedMetadata) -> Result<(u64, Digest), AlembicError> {
        let (mut group, mut headers, mut digests) = (Vec::new(), Vec::new(), Vec::new());
        for child in &self.children {
            match child {
                Child::Compound(compound) => {
                    let (position, inner) = compound.write(stream, shared)?;
                    group.push(position);
                    digests.extend(inner);
                    let width = width_of(&[compound.name.len(), compound.metadata.len()]);
                    let index = shared.index(&compound.metadata);
                    headers.extend((width.hint() << 2 | index << 20).to_le_bytes());
                    append_name(&compound.name, &compound.metadata, index, width, &mut headers);
                }
                Child::Property(property) => {
                    group.push(stream.group(&property.positions)?);
                    digests.extend(property.digest);
                    digests.extend(property.name.as_bytes());
                    property.append_header(shared, &mut headers);
                }
            }
        }
        if !group.is_empty() {
            group.push(stream.data(&headers)?);
        }
        Ok((stream.group(&group)?, digest(&digests)))
    }
}

/// A sample without elements.
pub fn nothing() -> Stored {
    Stored { position: EMPTY_DATA, digest: [0; 16] }
}
