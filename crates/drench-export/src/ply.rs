//! PLY: one binary file per body and frame, with every attribute as a property.
//!
//! Curves are vertices with the number of their strand, joined by edges; values of a strand stand at each of its
//! vertices. Surfaces are faces.

use crate::error::ExportError;
use crate::format::{Format, Writer};
use crate::moment::{Curves, Mesh, Moment, Points, Shot};
use crate::sequence::Sequence;
use crate::source::Options;
use crate::target::Layout;
use drench_io::{Attribute, Domain, Values};
use std::io::{self, Write};
use std::path::Path;

/// The format.
pub const FORMAT: Format = Format {
    name: "ply",
    title: "PLY, one binary file per body and frame",
    layout: Layout::Folder,
    endings: &["ply"],
    carries: "curves as vertices and edges, particles, meshes; every attribute as a vertex property",
    lacks: &["cameras", "frame rate: the number of the frame is in the name of each file"],
    hints: &[
        ("Blender", "File > Import > Stanford PLY; attributes appear on the mesh"),
        ("Houdini", "File SOP with $F4 in the name; attributes of other names than Houdini's need a Rename"),
        ("Unreal", "use usdc or abc instead"),
    ],
    begin: |_: &Shot, _: &Options, folder: &Path| Ok(Box::new(Ply(Sequence::new(folder)))),
    per_frame: None,
};

struct Ply(Sequence);

impl Writer for Ply {
    fn frame(&mut self, moment: &Moment) -> Result<(), ExportError> {
        for body in &moment.curves {
            self.0.write(&body.name, moment.index, "ply", |out| curves(body, out))?;
        }
        for body in &moment.points {
            self.0.write(&body.name, moment.index, "ply", |out| points(body, out))?;
        }
        for body in &moment.meshes {
            self.0.write(&body.name, moment.index, "ply", |out| mesh(body, out))?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<String>, ExportError> {
        Ok(Vec::new())
    }
}

/// A property of vertices: its header lines, and what writes its value.
struct Property<'a> {
    header: String,
    value: Box<dyn Fn(usize) -> Vec<u8> + 'a>,
}

/// One number or more of a vertex, named `name`, or `name_x` and so on. Velocities and normals bear the usual names.
fn property<'a>(name: &str, values: &'a Values, element: impl Fn(usize) -> usize + 'a) -> Property<'a> {
    let header = |kind: &str, parts: &[&str]| parts.iter().map(|part| format!("property {kind} {part}\n")).collect();
    let named = |ends: [&str; 3]| ends.map(|end| format!("{name}_{end}"));
    match values {
        Values::U32(values) => Property {
            header: header("uint", &[name]),
            value: Box::new(move |vertex| values[element(vertex)].to_le_bytes().to_vec()),
        },
        Values::F32(values) => Property {
            header: header("float", &[name]),
            value: Box::new(move |vertex| values[element(vertex)].to_le_bytes().to_vec()),
        },
        Values::F32x2(values) => Property {
            header: header("float", &[&format!("{name}_u"), &format!("{name}_v")]),
            value: Box::new(move |vertex| values[element(vertex)].iter().flat_map(|x| x.to_le_bytes()).collect()),
        },
        Values::F32x3(values) => {
            let names = match name {
                "velocity" => ["vx", "vy", "vz"].map(str::to_owned),
                "normal" => ["nx", "ny", "nz"].map(str::to_owned),
                _ => named(["x", "y", "z"]),
            };
            Property {
                header: header("float", &names.each_ref().map(String::as_str)),
                value: Box::new(move |vertex| values[element(vertex)].iter().flat_map(|x| x.to_le_bytes()).collect()),
            }
        }
    }
}

fn write(
    out: &mut impl Write,
    positions: &[[f32; 3]],
    properties: &[Property],
    other: &str,
    rest: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let header: String = properties.iter().map(|property| property.header.as_str()).collect();
    write!(out, "ply\nformat binary_little_endian 1.0\ncomment Drench, metres, y up\n")?;
    writeln!(out, "element vertex {}", positions.len())?;
    write!(out, "property float x\nproperty float y\nproperty float z\n{header}{other}end_header\n")?;
    for (vertex, position) in positions.iter().enumerate() {
        for x in position {
            out.write_all(&x.to_le_bytes())?;
        }
        for property in properties {
            out.write_all(&(property.value)(vertex))?;
        }
    }
    rest(out)
}

fn curves(body: &Curves, out: &mut impl Write) -> io::Result<()> {
    let numbers: Vec<u32> = (0..body.len() as u32)
        .zip(body.vertex_counts())
        .flat_map(|(strand, count)| std::iter::repeat_n(strand, count as usize))
        .collect();
    let strands = Values::U32(numbers.clone());
    let mut properties = vec![property("strand", &strands, |vertex| vertex)];
    for (name, Attribute { domain, values }) in &body.attributes {
        let numbers = &numbers;
        properties.push(match domain {
            Domain::Vertex => property(name, values, |vertex| vertex),
            Domain::Strand => property(name, values, move |vertex| numbers[vertex] as usize),
        });
    }
    let edges = body.positions.len() - body.len();
    let header = format!("element edge {edges}\nproperty int vertex1\nproperty int vertex2\n");
    write(out, &body.positions, &properties, &header, |out| {
        for range in body.offsets.windows(2) {
            for vertex in range[0]..range[1] - 1 {
                out.write_all(&vertex.to_le_bytes())?;
                out.write_all(&(vertex + 1).to_le_bytes())?;
            }
        }
        Ok(())
    })
}

fn points(body: &Points, out: &mut impl Write) -> io::Result<()> {
    let attributes = body.attributes.iter();
    let properties: Vec<_> = attributes.map(|(name, a)| property(name, &a.values, |vertex| vertex)).collect();
    write(out, &body.positions, &properties, "", |_| Ok(()))
}

fn mesh(body: &Mesh, out: &mut impl Write) -> io::Result<()> {
    let normals = Values::F32x3(body.normals.clone());
    let properties =
        if body.normals.is_empty() { Vec::new() } else { vec![property("normal", &normals, |vertex| vertex)] };
    let header = format!("element face {}\nproperty list uchar int vertex_indices\n", body.triangles.len());
    write(out, &body.positions, &properties, &header, |out| {
        for triangle in &body.triangles {
            out.write_all(&[3])?;
            for vertex in triangle {
                out.write_all(&vertex.to_le_bytes())?;
            }
        }
        Ok(())
    })
}
