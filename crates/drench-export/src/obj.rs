//! OBJ: one text file per frame with all bodies as objects: strands as lines, particles as points, surfaces as faces.

use crate::error::ExportError;
use crate::format::{Format, Writer};
use crate::moment::{Moment, Shot};
use crate::sequence::{Sequence, safe};
use crate::source::Options;
use crate::target::Layout;
use std::io::{self, Write};
use std::path::Path;

/// The format.
pub const FORMAT: Format = Format {
    name: "obj",
    title: "OBJ, one text file per frame",
    layout: Layout::Folder,
    endings: &["obj"],
    carries: "strands as lines, particles as points, meshes with normals",
    lacks: &[
        "attributes: no widths, no wetness, no velocities",
        "cameras",
        "frame rate: the number of the frame is in the name of each file",
    ],
    hints: &[
        ("Blender", "File > Import > Wavefront; lines become edges"),
        ("Houdini", "File SOP with $F4 in the name"),
        ("Unreal", "meshes only; use usdc or abc for hair"),
    ],
    begin: |shot: &Shot, _: &Options, folder: &Path| {
        Ok(Box::new(Obj { files: Sequence::new(folder), name: shot.name.clone() }))
    },
    per_frame: None,
};

struct Obj {
    files: Sequence,
    name: String,
}

impl Writer for Obj {
    fn frame(&mut self, moment: &Moment) -> Result<(), ExportError> {
        self.files.write(&self.name, moment.index, "obj", |out| write(moment, out)).map(|_| ())
    }

    fn finish(self: Box<Self>) -> Result<Vec<String>, ExportError> {
        Ok(Vec::new())
    }
}

fn write(moment: &Moment, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "# Drench, frame {}, {} s; metres, y up", moment.index, moment.time)?;
    // Vertices and normals are counted from one through the whole file.
    let (mut vertices, mut normals) = (1, 1);
    let place = |out: &mut dyn Write, name: &str, positions: &[[f32; 3]]| {
        writeln!(out, "o {}", safe(name))?;
        positions.iter().try_for_each(|[x, y, z]| writeln!(out, "v {x} {y} {z}"))
    };
    for body in &moment.curves {
        place(out, &body.name, &body.positions)?;
        for range in body.offsets.windows(2) {
            write!(out, "l")?;
            (range[0]..range[1]).try_for_each(|vertex| write!(out, " {}", vertices + vertex as usize))?;
            writeln!(out)?;
        }
        vertices += body.positions.len();
    }
    for body in &moment.points {
        place(out, &body.name, &body.positions)?;
        (0..body.positions.len()).try_for_each(|point| writeln!(out, "p {}", vertices + point))?;
        vertices += body.positions.len();
    }
    for body in &moment.meshes {
        place(out, &body.name, &body.positions)?;
        body.normals.iter().try_for_each(|[x, y, z]| writeln!(out, "vn {x} {y} {z}"))?;
        for triangle in &body.triangles {
            write!(out, "f")?;
            for &corner in triangle {
                let vertex = vertices + corner as usize;
                match body.normals.is_empty() {
                    true => write!(out, " {vertex}")?,
                    false => write!(out, " {vertex}//{}", normals + corner as usize)?,
                }
            }
            writeln!(out)?;
        }
        vertices += body.positions.len();
        normals += body.normals.len();
    }
    Ok(())
}
