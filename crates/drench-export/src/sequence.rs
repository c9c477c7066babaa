//! Formats that hold one frame in a file: a folder of files with the number of the frame in their names.

use crate::error::ExportError;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A folder of files.
pub(crate) struct Sequence {
    folder: PathBuf,
}

impl Sequence {
    /// Files go into this folder, which is there.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Writes the file of a body and frame, such as `hair.0007.ply`. Returns its name.
    pub fn write(
        &self,
        body: &str,
        frame: u32,
        ending: &str,
        content: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<String, ExportError> {
        let name = format!("{}.{frame:04}.{ending}", safe(body));
        self.write_named(&name, content)?;
        Ok(name)
    }

    /// Writes a file of this name.
    pub fn write_named(
        &self,
        name: &str,
        content: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), ExportError> {
        let path = self.folder.join(name);
        let written = File::create(&path).and_then(|file| {
            let mut out = BufWriter::new(file);
            content(&mut out)?;
            out.flush()
        });
        written.map_err(ExportError::storage("write", &path))
    }
}

/// A name without letters that file systems or readers refuse.
pub(crate) fn safe(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' }).collect()
}

/// Writes numbers, little-endian.
pub(crate) fn floats<'a>(out: &mut impl Write, numbers: impl IntoIterator<Item = &'a f32>) -> io::Result<()> {
    numbers.into_iter().try_for_each(|x| out.write_all(&x.to_le_bytes()))
}
