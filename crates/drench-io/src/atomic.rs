//! Files that appear whole or not at all.
//!
//! The bytes go to a temporary name in the same folder, are synced, and only then get their name; the folder is synced
//! last, so that after a power failure the name points to the whole content.

use crate::error::{IoError, Result};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Ending of temporary names; whatever bears it was never finished.
pub const TEMPORARY: &str = "tmp";

/// Writes `parts`, one after the other, as the file `path`, replacing what was there.
pub fn write(path: &Path, parts: &[&[u8]]) -> Result<()> {
    let temporary = temporary_name(path);
    let written = write_and_sync(&temporary, parts).and_then(|()| fs::rename(&temporary, path));
    if let Err(source) = written {
        // The first error is the one to tell; that the remains cannot be removed either adds nothing.
        let _ = fs::remove_file(&temporary);
        return Err(IoError::Storage { action: "write", path: path.to_owned(), source });
    }
    sync_folder(parent(path)).map_err(IoError::storage("sync the folder of", path))
}

/// Removes unfinished files that a killed process left in `folder`. A folder that does not exist holds none.
pub fn remove_unfinished(folder: &Path) -> Result<()> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|extension| extension == TEMPORARY) && path.is_file() {
            fs::remove_file(&path).map_err(IoError::storage("remove", &path))?;
        }
    }
    Ok(())
}

fn write_and_sync(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let mut file = File::create(path)?;
    for part in parts {
        file.write_all(part)?;
    }
    file.sync_all()
}

fn temporary_name(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(TEMPORARY);
    path.with_file_name(name)
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes names in a folder survive a power failure.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    // Only Unix lets a folder be opened and synced; elsewhere the rename itself is what the system offers.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_the_whole_content_and_leaves_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        write(&path, &[b"a long first content"]).unwrap();
        write(&path, &[b"se", b"cond"]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_refusal_is_a_storage_error_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        // A folder stands where the file should go: the rename fails after the bytes were written.
        let path = folder.path().join("taken");
        fs::create_dir_all(path.join("inner")).unwrap();
        let error = write(&path, &[b"bytes"]).unwrap_err();
        assert!(error.is_storage(), "{error}");
        assert!(error.to_string().contains("taken"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write(&folder.path().join("no/such/folder"), &[b""]).unwrap_err().is_storage());
    }

    #[test]
    fn unfinished_files_are_removed_and_finished_ones_kept() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("000001.drench.tmp"), b"half").unwrap();
        fs::write(folder.path().join("000000.drench"), b"whole").unwrap();
        remove_unfinished(folder.path()).unwrap();
        remove_unfinished(&folder.path().join("absent")).unwrap();
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["000000.drench"]);
    }
}
