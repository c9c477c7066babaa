//! `.hair`, the format of Cem Yuksel's hair models: one file per groom and frame.
//!
//! A header of 128 bytes, then for each strand its number of segments (16 bits), for each point its position and its
//! thickness (32-bit floats), little-endian.

use crate::error::ExportError;
use crate::format::{Format, Writer};
use crate::moment::{Curves, Moment, Shot};
use crate::sequence::{Sequence, floats};
use crate::source::Options;
use crate::target::Layout;
use std::io::{self, Write};
use std::path::Path;

/// Arrays that our files have: segments, points, thickness.
const ARRAYS: u32 = 0b111;
/// Length of the text in the header.
const TEXT: usize = 88;

/// The format.
pub const FORMAT: Format = Format {
    name: "hair",
    title: ".hair, one file per groom and frame",
    layout: Layout::Folder,
    endings: &["hair"],
    carries: "strands with their thickness",
    lacks: &[
        "every attribute but the thickness",
        "liquid, grains, meshes and cameras",
        "frame rate: the number of the frame is in the name of each file",
    ],
    hints: &[
        ("Blender", "no importer of its own; use usdc or abc"),
        ("Houdini", "no importer of its own; use usdc or abc"),
        ("others", "renderers for research read it: www.cemyuksel.com/research/hairmodels; ours are in metres, +y up"),
    ],
    begin: |_: &Shot, _: &Options, folder: &Path| Ok(Box::new(Hair { files: Sequence::new(folder), any: false })),
    per_frame: None,
};

struct Hair {
    files: Sequence,
    /// Whether there was any hair.
    any: bool,
}

impl Writer for Hair {
    fn frame(&mut self, moment: &Moment) -> Result<(), ExportError> {
        for body in &moment.curves {
            self.any |= !body.is_empty();
            if let Some(most) = body.vertex_counts().max().filter(|&most| most > u32::from(u16::MAX)) {
                let reason = format!("a strand of '{}' has {most} vertices, and 65535 are the most", body.name);
                return Err(ExportError::Unable { format: "hair", reason, fix: "use usdc or abc" });
            }
            self.files.write(&body.name, moment.index, "hair", |out| write(body, out))?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<String>, ExportError> {
        if !self.any {
            let reason = "it has no hair".to_owned();
            return Err(ExportError::Unable { format: "hair", reason, fix: "use another format, see --list" });
        }
        Ok(Vec::new())
    }
}

fn write(body: &Curves, out: &mut impl Write) -> io::Result<()> {
    let mut text = [0; TEXT];
    let name: Vec<u8> = format!("Drench: {}, metres, y up", body.name).bytes().take(TEXT - 1).collect();
    text[..name.len()].copy_from_slice(&name);
    out.write_all(b"HAIR")?;
    for number in [body.len() as u32, body.positions.len() as u32, ARRAYS, 0] {
        out.write_all(&number.to_le_bytes())?;
    }
    // Thickness, transparency and colour of those that say nothing of their own.
    floats(out, &[7e-5, 0.0, 0.2, 0.12, 0.08])?;
    out.write_all(&text)?;
    for count in body.vertex_counts() {
        out.write_all(&((count - 1) as u16).to_le_bytes())?;
    }
    floats(out, body.positions.as_flattened())?;
    match body.scalars("width") {
        Some(widths) => floats(out, widths),
        None => floats(out, body.positions.iter().map(|_| &7e-5)),
    }
}
