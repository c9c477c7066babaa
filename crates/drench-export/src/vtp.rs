//! VTK's `vtp`: one file per body and frame, and a `pvd` file per body that tells ParaView their times.
//!
//! The numbers stand behind the XML as they are, each array with its size before it.

use crate::error::ExportError;
use crate::format::{Format, Writer};
use crate::moment::{Curves, Mesh, Moment, Points, Shot};
use crate::sequence::{Sequence, safe};
use crate::source::Options;
use crate::target::Layout;
use drench_io::{Domain, Values};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

/// The format.
pub const FORMAT: Format = Format {
    name: "vtp",
    title: "VTK, one binary file per body and frame, with their times for ParaView",
    layout: Layout::Folder,
    endings: &["vtp", "pvd"],
    carries: "strands as lines, particles as points, meshes; every attribute, at points or at lines; times",
    lacks: &["cameras"],
    hints: &[
        ("ParaView", "open the .pvd files; Tube or Glyph filters show widths and radii"),
        ("Blender", "use usdc or abc instead"),
        ("Houdini", "use usdc or abc instead"),
    ],
    begin: |_: &Shot, _: &Options, folder: &Path| {
        Ok(Box::new(Vtp { files: Sequence::new(folder), times: BTreeMap::new() }))
    },
    per_frame: None,
};

struct Vtp {
    files: Sequence,
    /// Times and files of each body.
    times: BTreeMap<String, Vec<(f64, String)>>,
}

impl Writer for Vtp {
    fn frame(&mut self, moment: &Moment) -> Result<(), ExportError> {
        let curves = moment.curves.iter().map(|body| (&body.name, curves(body)));
        let points = moment.points.iter().map(|body| (&body.name, points(body)));
        let meshes = moment.meshes.iter().map(|body| (&body.name, mesh(body)));
        for (name, data) in curves.chain(points).chain(meshes) {
            let file = self.files.write(name, moment.index, "vtp", |out| data.write(out))?;
            self.times.entry(safe(name)).or_default().push((moment.time, file));
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<String>, ExportError> {
        for (body, files) in &self.times {
            self.files.write_named(&format!("{body}.pvd"), |out| {
                writeln!(
                    out,
                    "<VTKFile type=\"Collection\" version=\"1.0\" byte_order=\"LittleEndian\">\n<Collection>"
                )?;
                for (time, file) in files {
                    writeln!(out, "<DataSet timestep=\"{time}\" part=\"0\" file=\"{file}\"/>")?;
                }
                writeln!(out, "</Collection>\n</VTKFile>")
            })?;
        }
        Ok(Vec::new())
    }
}

/// The XML and the numbers of one file.
#[derive(Default)]
struct Data {
    piece: String,
    xml: String,
    numbers: Vec<u8>,
}

impl Data {
    fn new(positions: &[[f32; 3]], cells: &str, count: usize) -> Self {
        let mut data =
            Self { piece: format!("NumberOfPoints=\"{}\" {cells}=\"{count}\"", positions.len()), ..Self::default() };
        data.section("Points", |data| data.array("Points", "Float32", 3, bytes(positions.as_flattened())));
        data
    }

    fn section(&mut self, name: &str, fill: impl FnOnce(&mut Self)) {
        let _ = writeln!(self.xml, "<{name}>");
        fill(self);
        let _ = writeln!(self.xml, "</{name}>");
    }

    fn array(&mut self, name: &str, kind: &str, parts: usize, bytes: Vec<u8>) {
        let offset = self.numbers.len();
        let _ = writeln!(
            self.xml,
            "<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{parts}\" format=\"appended\" offset=\"{offset}\"/>"
        );
        self.numbers.extend((bytes.len() as u64).to_le_bytes());
        self.numbers.extend(bytes);
    }

    fn values(&mut self, name: &str, values: &Values) {
        match values {
            Values::U32(values) => {
                self.array(name, "UInt32", 1, values.iter().flat_map(|x| x.to_le_bytes()).collect());
            }
            Values::F32(values) => self.array(name, "Float32", 1, bytes(values)),
            Values::F32x2(values) => self.array(name, "Float32", 2, bytes(values.as_flattened())),
            Values::F32x3(values) => self.array(name, "Float32", 3, bytes(values.as_flattened())),
        }
    }

    /// Cells of the points with these numbers, which end at these places.
    fn cells(&mut self, name: &str, points: impl Iterator<Item = u32>, ends: impl Iterator<Item = usize>) {
        let points = points.flat_map(|point| i64::from(point).to_le_bytes()).collect();
        let ends = ends.flat_map(|end| (end as i64).to_le_bytes()).collect();
        self.section(name, |data| {
            data.array("connectivity", "Int64", 1, points);
            data.array("offsets", "Int64", 1, ends);
        });
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { piece, xml, numbers } = self;
        write!(
            out,
            "<VTKFile type=\"PolyData\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n<PolyData>\n\
             <Piece {piece}>\n{xml}</Piece>\n</PolyData>\n<AppendedData encoding=\"raw\">\n_"
        )?;
        out.write_all(numbers)?;
        write!(out, "\n</AppendedData>\n</VTKFile>\n")
    }
}

fn bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn curves(body: &Curves) -> Data {
    let mut data = Data::new(&body.positions, "NumberOfLines", body.len());
    for (section, domain) in [("PointData", Domain::Vertex), ("CellData", Domain::Strand)] {
        data.section(section, |data| {
            let attributes = body.attributes.iter().filter(|(_, attribute)| attribute.domain == domain);
            attributes.for_each(|(name, attribute)| data.values(name, &attribute.values));
        });
    }
    let ends = body.offsets.iter().skip(1).map(|&end| end as usize);
    data.cells("Lines", 0..body.positions.len() as u32, ends);
    data
}

fn points(body: &Points) -> Data {
    let count = body.positions.len();
    let mut data = Data::new(&body.positions, "NumberOfVerts", count);
    data.section("PointData", |data| {
        body.attributes.iter().for_each(|(name, attribute)| data.values(name, &attribute.values));
    });
    data.cells("Verts", 0..count as u32, 1..=count);
    data
}

fn mesh(body: &Mesh) -> Data {
    let count = body.triangles.len();
    let mut data = Data::new(&body.positions, "NumberOfPolys", count);
    if !body.normals.is_empty() {
        let normals = bytes(body.normals.as_flattened());
        data.section("PointData", |data| data.array("Normals", "Float32", 3, normals));
    }
    data.cells("Polys", body.triangles.as_flattened().iter().copied(), (1..=count).map(|k| 3 * k));
    data
}
