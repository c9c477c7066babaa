//! Objects and properties: the headers, as far as they make sense.

use super::ogawa::{Child, Container};
use crate::error::AlembicError;
use crate::types::{Pod, TimeSampling};
use std::collections::HashSet;
use std::rc::Rc;

/// Deepest nesting of objects and of compounds.
const DEEPEST: usize = 64;
/// Most objects and properties together: more is a file that lies.
const MOST: usize = 4_000_000;

/// An object.
pub struct Object {
    pub name: String,
    pub metadata: Rc<str>,
    pub properties: Vec<Property>,
    pub children: Vec<Object>,
}

/// A property.
pub struct Property {
    pub name: String,
    pub metadata: Rc<str>,
    pub content: Content,
}

/// What a property holds.
pub enum Content {
    Compound(Vec<Property>),
    Samples(Samples),
}

/// Where the samples of a property are.
pub struct Samples {
    pub is_array: bool,
    pub pod: Pod,
    pub extent: usize,
    /// Number of samples, stored or not.
    pub count: u32,
    pub first_changed: u32,
    pub last_changed: u32,
    /// Which of the archive's time samplings.
    pub sampling: u32,
    /// Position of the group of samples.
    group: u64,
}

/// Reads the tree.
pub struct TreeReader<'a> {
    pub container: &'a Container,
    shared: Vec<Rc<str>>,
    /// Groups that were read: nothing is below itself, nor at two places.
    seen: HashSet<u64>,
    nodes: usize,
}

impl<'a> TreeReader<'a> {
    pub fn new(container: &'a Container, shared: &[u8]) -> Result<Self, AlembicError> {
        let mut texts = vec![Rc::from("")];
        let mut bytes = Bytes { container, bytes: shared };
        while !bytes.bytes.is_empty() {
            let length = bytes.number(1)?;
            texts.push(bytes.text(length)?.into());
        }
        Ok(Self { container, shared: texts, seen: HashSet::new(), nodes: 0 })
    }

    fn enter(&mut self, group: u64, depth: usize) -> Result<(), AlembicError> {
        self.nodes += 1;
        if depth > DEEPEST {
            return Err(self.container.damaged(format!("it is nested more than {DEEPEST} deep")));
        }
        if self.nodes > MOST {
            return Err(self.container.damaged(format!("it has more than {MOST} objects and properties")));
        }
        if group != 0 && !self.seen.insert(group) {
            return Err(self.container.damaged(format!("the group at byte {group} is part of two things")));
        }
        Ok(())
    }

    /// The object whose group is at `group`, with all below it.
    pub fn object(
        &mut self,
        group: u64,
        name: String,
        metadata: Rc<str>,
        depth: usize,
    ) -> Result<Object, AlembicError> {
        self.enter(group, depth)?;
        let groups = self.container.group(group)?;
        let properties = match groups.first() {
            Some(&Child::Group(properties)) => self.properties(properties, depth + 1)?,
            _ => Vec::new(),
        };
        let mut children = Vec::new();
        if let (Some(&Child::Data(headers)), true) = (groups.last(), groups.len() > 1) {
            let headers = self.container.data(headers)?;
            // Two digests stand at the end.
            let mut bytes = Bytes { container: self.container, bytes: &headers[..headers.len().saturating_sub(32)] };
            while !bytes.bytes.is_empty() {
                let length = bytes.number(4)?;
                let name = bytes.text(length)?;
                let index = bytes.number(1)?;
                let metadata = self.metadata(index, &mut bytes, 4)?;
                let Some(&Child::Group(child)) = groups.get(children.len() + 1) else {
                    return Err(self.container.damaged(format!("the object '{name}' is named but not there")));
                };
                children.push(self.object(child, name, metadata, depth + 1)?);
            }
        }
        Ok(Object { name, metadata, properties, children })
    }

    fn metadata(&self, index: usize, bytes: &mut Bytes, width: usize) -> Result<Rc<str>, AlembicError> {
        if index == 255 {
            let length = bytes.number(width)?;
            return Ok(bytes.text(length)?.into());
        }
        let text = self.shared.get(index).cloned();
        text.ok_or_else(|| self.container.damaged(format!("it names metadata {index} of {}", self.shared.len())))
    }

    fn properties(&mut self, group: u64, depth: usize) -> Result<Vec<Property>, AlembicError> {
        self.enter(group, depth)?;
        let groups = self.container.group(group)?;
        let Some(&Child::Data(headers)) = groups.last() else { return Ok(Vec::new()) };
        let headers = self.container.data(headers)?;
        let mut bytes = Bytes { container: self.container, bytes: &headers };
        let mut properties = Vec::new();
        while !bytes.bytes.is_empty() {
            let child = groups.get(properties.len()).copied();
            properties.push(self.property(&mut bytes, child, depth)?);
        }
        Ok(properties)
    }

    fn property(&mut self, bytes: &mut Bytes, child: Option<Child>, depth: usize) -> Result<Property, AlembicError> {
        let info = bytes.number(4)? as u32;
        let width = match info >> 2 & 3 {
            0 => 1,
            1 => 2,
            2 => 4,
            _ => return Err(self.container.damaged("a property's header has numbers of no known width")),
        };
        let kind = info & 3;
        let mut samples = None;
        if kind != 0 {
            let count = bytes.number(width)? as u32;
            let (mut first_changed, mut last_changed) = (1, count.saturating_sub(1));
            if info & 0x200 != 0 {
                first_changed = bytes.number(width)? as u32;
                last_changed = bytes.number(width)? as u32;
            } else if info & 0x800 != 0 {
                (first_changed, last_changed) = (0, 0);
            }
            let sampling = if info & 0x100 != 0 { bytes.number(width)? as u32 } else { 0 };
            let Some(pod) = Pod::from_code(info >> 4 & 15) else {
                return Err(self.container.damaged("a property is of no known type"));
            };
            let extent = (info >> 12 & 255) as usize;
            if first_changed > last_changed || last_changed > count || extent == 0 {
                return Err(self.container.damaged("a property's header contradicts itself"));
            }
            let is_array = kind != 1;
            samples = Some(Samples { is_array, pod, extent, count, first_changed, last_changed, sampling, group: 0 });
        }
        let length = bytes.number(width)?;
        let name = bytes.text(length)?;
        let metadata = self.metadata((info >> 20 & 255) as usize, bytes, width)?;
        let Some(Child::Group(group)) = child else {
            return Err(self.container.damaged(format!("the property '{name}' is named but not there")));
        };
        let content = match samples {
            None => Content::Compound(self.properties(group, depth + 1)?),
            Some(samples) => {
                self.enter(group, depth)?;
                Content::Samples(Samples { group, ..samples })
            }
        };
        Ok(Property { name, metadata, content })
    }
}

impl Samples {
    /// The bytes of a sample, without its digest, and the number of its elements as far as that can be told.
    pub fn read(&self, container: &Container, sample: u32) -> Result<Vec<u8>, AlembicError> {
        if self.count == 0 {
            return Ok(Vec::new());
        }
        let sample = sample.min(self.count - 1);
        // Samples before the first change and after the last are not stored.
        let stored = if self.first_changed == 0 || sample < self.first_changed {
            0
        } else {
            sample.min(self.last_changed) - self.first_changed + 1
        } as usize;
        let groups = container.group(self.group)?;
        let place = if self.is_array { 2 * stored } else { stored };
        let Some(&Child::Data(position)) = groups.get(place) else {
            return Err(container.damaged(format!("sample {sample} of a property is not there")));
        };
        let mut bytes = container.data(position)?;
        if bytes.is_empty() {
            return Ok(bytes);
        }
        if bytes.len() < 16 {
            return Err(container.damaged("a sample is shorter than its digest"));
        }
        bytes.drain(..16);
        if let Some(size) = self.pod.size()
            && !bytes.len().is_multiple_of(size * self.extent)
        {
            return Err(container.damaged(format!("a sample of {} bytes is no whole number of elements", bytes.len())));
        }
        Ok(bytes)
    }
}

/// The property `name` among `properties`.
pub fn find<'p>(properties: &'p [Property], name: &str) -> Option<&'p Property> {
    properties.iter().find(|property| property.name == name)
}

/// The properties of the compound `name`.
pub fn compound<'p>(properties: &'p [Property], name: &str) -> &'p [Property] {
    match find(properties, name).map(|property| &property.content) {
        Some(Content::Compound(properties)) => properties,
        _ => &[],
    }
}

/// The samples of the property `name`.
pub fn samples<'p>(properties: &'p [Property], name: &str) -> Option<&'p Samples> {
    match find(properties, name).map(|property| &property.content) {
        Some(Content::Samples(samples)) => Some(samples),
        _ => None,
    }
}

/// The value of `key` in metadata.
pub fn value<'m>(metadata: &'m str, key: &str) -> Option<&'m str> {
    metadata.split(';').find_map(|entry| entry.strip_prefix(key)?.strip_prefix('='))
}

/// The archive's time samplings; `None` for those that are not uniform.
pub fn time_samplings(container: &Container, bytes: &[u8]) -> Result<Vec<Option<TimeSampling>>, AlembicError> {
    let mut bytes = Bytes { container, bytes };
    let mut samplings = Vec::new();
    while !bytes.bytes.is_empty() {
        bytes.number(4)?;
        let step = bytes.double()?;
        let times = bytes.number(4)?;
        if times > bytes.bytes.len() / 8 {
            return Err(container.damaged(format!("a time sampling claims {times} times")));
        }
        let mut start = 0.0;
        for time in 0..times {
            let at = bytes.double()?;
            start = if time == 0 { at } else { start };
        }
        let uniform = times == 1 && step > 0.0 && step.is_finite() && start.is_finite();
        samplings.push(uniform.then_some(TimeSampling { start, step }));
    }
    Ok(samplings)
}

/// Bytes that are taken from the front.
struct Bytes<'a> {
    container: &'a Container,
    bytes: &'a [u8],
}

impl Bytes<'_> {
    fn take(&mut self, length: usize) -> Result<&[u8], AlembicError> {
        let Some((taken, rest)) = self.bytes.split_at_checked(length) else {
            return Err(self.container.damaged("a header ends too early"));
        };
        self.bytes = rest;
        Ok(taken)
    }

    fn number(&mut self, width: usize) -> Result<usize, AlembicError> {
        let mut all = [0; 4];
        all[..width].copy_from_slice(self.take(width)?);
        Ok(u32::from_le_bytes(all) as usize)
    }

    fn double(&mut self) -> Result<f64, AlembicError> {
        let mut all = [0; 8];
        all.copy_from_slice(self.take(8)?);
        Ok(f64::from_le_bytes(all))
    }

    fn text(&mut self, length: usize) -> Result<String, AlembicError> {
        let bytes = self.take(length)?.to_vec();
        String::from_utf8(bytes).map_err(|_| self.container.damaged("a name is not text"))
    }
}
