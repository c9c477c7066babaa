//! Files that appear whole or not at all.
//!
//! An export goes to a temporary name beside its own and gets its name when it is complete; what was there before stays
//! until then. An export that fails or is stopped leaves nothing behind.

use crate::error::ExportError;
use drench_io::atomic::TEMPORARY;
use std::fs;
use std::path::{Path, PathBuf};

/// Whether a format is one file, or a folder of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One file for all frames.
    File,
    /// A folder, with a file or some for each frame.
    Folder,
}

/// Where an export goes.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    temporary: PathBuf,
    layout: Layout,
    done: bool,
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Written {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
}

impl Target {
    /// Prepares the place. What is there is an error unless `replace`, and a folder is replaced only if all its files
    /// have one of these endings.
    pub fn new(path: &Path, layout: Layout, endings: &[&str], replace: bool) -> Result<Self, ExportError> {
        if path.exists() {
            if !replace || path.is_dir() != (layout == Layout::Folder) {
                return Err(ExportError::Exists { path: path.to_owned() });
            }
            if let Some(file) = foreign(path, endings) {
                return Err(ExportError::Foreign { path: path.to_owned(), file });
            }
        }
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".");
        name.push(TEMPORARY);
        let target = Self { path: path.to_owned(), temporary: path.with_file_name(name), layout, done: false };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(ExportError::storage("create", parent))?;
        // What a killed export left.
        target.clear();
        match layout {
            Layout::File => fs::File::create(&target.temporary).map(|_| ()),
            Layout::Folder => fs::create_dir(&target.temporary),
        }
        .map_err(ExportError::storage("create", &target.temporary))?;
        Ok(target)
    }

    /// Where to write: an empty file, or an empty folder.
    pub fn place(&self) -> &Path {
        &self.temporary
    }

    /// Gives the export its name; it is complete and on the disk. Returns its files.
    pub fn commit(mut self) -> Result<Vec<Written>, ExportError> {
        let storage = |source| ExportError::Storage { action: "write", path: self.path.clone(), source };
        let files = if self.layout == Layout::File { vec![self.temporary.clone()] } else { files_in(&self.temporary) };
        for file in &files {
            fs::File::open(file).and_then(|file| file.sync_all()).map_err(storage)?;
        }
        let aside = self.temporary.with_extension("old");
        let replaced = self.layout == Layout::Folder && self.path.exists();
        if replaced {
            fs::rename(&self.path, &aside).map_err(storage)?;
        }
        fs::rename(&self.temporary, &self.path).map_err(storage)?;
        if replaced {
            fs::remove_dir_all(&aside).map_err(storage)?;
        }
        self.done = true;
        let named = |file: PathBuf| match file.strip_prefix(&self.temporary) {
            Ok(rest) if !rest.as_os_str().is_empty() => self.path.join(rest),
            _ => self.path.clone(),
        };
        let written = |path: PathBuf| {
            let bytes = fs::metadata(&path).map_or(0, |metadata| metadata.len());
            Written { path, bytes }
        };
        Ok(files.into_iter().map(named).map(written).collect())
    }

    fn clear(&self) {
        // Whatever cannot be removed shows when the place is made anew.
        let _ = if self.temporary.is_dir() {
            fs::remove_dir_all(&self.temporary)
        } else {
            fs::remove_file(&self.temporary)
        };
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if !self.done {
            self.clear();
        }
    }
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// A file in a folder that has none of these endings.
fn foreign(path: &Path, endings: &[&str]) -> Option<String> {
    let ours = |file: &Path| {
        let ending = file.extension().and_then(|ending| ending.to_str());
        file.is_file() && ending.is_some_and(|ending| endings.contains(&ending))
    };
    let file = files_in(path).into_iter().find(|file| !ours(file))?;
    Some(file.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_when_it_is_complete_and_what_was_there_stays_until_then() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/a.usdc");
        let target = Target::new(&path, Layout::File, &["usdc"], false).unwrap();
        fs::write(target.place(), b"first").unwrap();
        assert!(!path.exists());
        assert_eq!(target.commit().unwrap(), [Written { path: path.clone(), bytes: 5 }]);
        let error = Target::new(&path, Layout::File, &["usdc"], false).unwrap_err();
        assert!(matches!(error, ExportError::Exists { .. }) && error.to_string().contains("--force"), "{error}");
        let target = Target::new(&path, Layout::File, &["usdc"], true).unwrap();
        fs::write(target.place(), b"half").unwrap();
        drop(target);
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_is_replaced_only_if_it_is_of_an_export() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ply");
        let write = |names: &[&str], replace| {
            let target = Target::new(&path, Layout::Folder, &["ply"], replace)?;
            names.iter().for_each(|name| fs::write(target.place().join(name), b"ply").unwrap());
            target.commit()
        };
        assert_eq!(write(&["a.ply", "b.ply"], false).unwrap().len(), 2);
        assert_eq!(write(&["c.ply"], true).unwrap()[0].path, path.join("c.ply"));
        assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        fs::write(path.join("thesis.odt"), b"years of work").unwrap();
        let error = write(&["d.ply"], true).unwrap_err().to_string();
        assert!(error.contains("thesis.odt"), "{error}");
        assert!(path.join("thesis.odt").exists());
        // A file where the folder should be, and the other way round.
        assert!(Target::new(&path, Layout::File, &["ply"], true).is_err());
        assert!(Target::new(&path.join("c.ply"), Layout::Folder, &["ply"], true).is_err());
    }
}
