//! Checkpoints: the whole state of a simulation, from which it goes on with the same bits.

use crate::error::{IoError, Result};
use crate::format::{FileKind, Reader, Writer};
use crate::listing;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

const EXTENSION: &str = "ckpt";
/// How many of the newest are kept. If the very newest turns out to be damaged, there is an older one.
pub const KEPT: usize = 3;
/// How many of the others are kept where they are [`Kept::Spread`].
pub const SPREAD: usize = 16;

/// Which checkpoints stay when a new one is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kept {
    /// The newest [`KEPT`]: enough to go on.
    #[default]
    Newest,
    /// The newest, the first, and [`SPREAD`] in all of those between, about equally far apart: to go back too.
    Spread,
}

/// The state of a simulation after a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The frame that was the last to be finished.
    pub frame: u32,
    /// Stands for the scene, the seed and the version; a checkpoint is of use only to the same.
    pub scene: u64,
    /// What the simulation saved.
    pub state: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct Label {
    frame: u32,
    scene: u64,
}

/// Writes a checkpoint into `folder` and removes older ones that are not to be kept.
pub fn write(folder: &Path, checkpoint: &Checkpoint, kept: Kept) -> Result<PathBuf> {
    fs::create_dir_all(folder).map_err(IoError::storage("create", folder))?;
    let mut writer = Writer::new(FileKind::Checkpoint);
    let label = Label { frame: checkpoint.frame, scene: checkpoint.scene };
    writer.bytes("label", &serde_json::to_vec(&label).expect("plain data"));
    writer.bytes("state", &checkpoint.state);
    let path = path(folder, checkpoint.frame);
    writer.write(&path)?;
    let mut frames = listing::numbered(folder, EXTENSION)?;
    frames.retain(|&frame| frame <= checkpoint.frame);
    for old in superfluous(&frames, kept) {
        let path = self::path(folder, old);
        fs::remove_file(&path).map_err(IoError::storage("remove", &path))?;
    }
    Ok(path)
}

/// The frames, of those in order, whose checkpoints are not kept.
fn superfluous(frames: &[u32], kept: Kept) -> Vec<u32> {
    let mut older = frames[..frames.len().saturating_sub(KEPT)].to_vec();
    if kept == Kept::Newest {
        return older;
    }
    let mut removed = Vec::new();
    while older.len() > SPREAD {
        // The first stays; of the others goes the one that leaves the smallest gap, the oldest of several.
        let gap = |k: &usize| older.get(k + 1).map_or(u32::MAX, |next| next - older[k - 1]);
        let Some(least) = (1..older.len()).min_by_key(gap) else { break };
        removed.push(older.remove(least));
    }
    removed
}

/// The newest checkpoint of this scene, or of any, at or before frame `last` that can be read, and why newer ones were
/// passed over.
pub fn latest_valid(folder: &Path, scene: Option<u64>, last: u32) -> Result<(Option<Checkpoint>, Vec<String>)> {
    let mut messages = Vec::new();
    for frame in listing::numbered(folder, EXTENSION)?.into_iter().rev().filter(|&frame| frame <= last) {
        match read(&path(folder, frame)) {
            Ok(checkpoint) if scene.is_some_and(|scene| checkpoint.scene != scene) => {
                messages.push(format!("checkpoint of frame {frame} is passed over: it belongs to another scene"));
            }
            Ok(checkpoint) if checkpoint.frame != frame => {
                messages.push(format!("checkpoint of frame {frame} is passed over: it holds {}", checkpoint.frame));
            }
            Ok(checkpoint) => return Ok((Some(checkpoint), messages)),
            Err(error) => messages.push(format!("checkpoint of frame {frame} is passed over: {error}")),
        }
    }
    Ok((None, messages))
}

/// Removes the checkpoints after `last`, all if there is no last: they may come from damaged files.
pub fn remove_after(folder: &Path, last: Option<u32>) -> Result<()> {
    for frame in listing::numbered(folder, EXTENSION)? {
        if last.is_none_or(|last| frame > last) {
            let path = path(folder, frame);
            fs::remove_file(&path).map_err(IoError::storage("remove", &path))?;
        }
    }
    Ok(())
}

/// Reads one checkpoint.
pub fn read(path: &Path) -> Result<Checkpoint> {
    let reader = Reader::open(path, FileKind::Checkpoint)?;
    let label: Label = serde_json::from_slice(&reader.bytes("label")?)
        .map_err(|error| reader.damaged(format!("unreadable label ({error})")))?;
    Ok(Checkpoint { frame: label.frame, scene: label.scene, state: reader.bytes("state")? })
}

fn path(folder: &Path, frame: u32) -> PathBuf {
    folder.join(format!("{frame:06}.{EXTENSION}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(frame: u32) -> Checkpoint {
        let state = (0..700_001_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> (i % 23)) as u8).collect();
        Checkpoint { frame, scene: 99, state }
    }

    #[test]
    fn the_newest_comes_back_and_old_ones_go() {
        let folder = tempfile::tempdir().unwrap();
        for frame in [0, 10, 20, 30, 40] {
            write(folder.path(), &checkpoint(frame), Kept::Newest).unwrap();
        }
        assert_eq!(listing::numbered(folder.path(), EXTENSION).unwrap(), [20, 30, 40]);
        assert_eq!(latest_valid(folder.path(), Some(99), u32::MAX).unwrap(), (Some(checkpoint(40)), vec![]));
        assert_eq!(latest_valid(folder.path(), Some(99), 39).unwrap(), (Some(checkpoint(30)), vec![]));
        remove_after(folder.path(), Some(20)).unwrap();
        assert_eq!(latest_valid(folder.path(), Some(99), u32::MAX).unwrap(), (Some(checkpoint(20)), vec![]));
        remove_after(folder.path(), None).unwrap();
        assert_eq!(latest_valid(folder.path(), Some(99), u32::MAX).unwrap(), (None, vec![]));
    }

    #[test]
    fn spread_ones_reach_back_to_the_first_without_large_gaps() {
        let mut frames: Vec<u32> = Vec::new();
        for newest in (0..=4000).step_by(10) {
            frames.push(newest);
            let gone = superfluous(&frames, Kept::Spread);
            frames.retain(|frame| !gone.contains(frame));
            assert!(frames.len() <= SPREAD + KEPT && frames[0] == 0, "{frames:?}");
            let gap = frames.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
            assert!(gap <= 10.max(newest / 5), "{gap} of {newest}: {frames:?}");
        }
        assert_eq!(frames[frames.len() - KEPT..], [3980, 3990, 4000]);
        assert_eq!(superfluous(&[0, 10, 20, 30], Kept::Newest), [0]);
        let folder = tempfile::tempdir().unwrap();
        for frame in 0..25 {
            write(folder.path(), &Checkpoint { frame, scene: 1, state: vec![7] }, Kept::Spread).unwrap();
        }
        let (found, _) = latest_valid(folder.path(), None, 7).unwrap();
        assert!(found.is_some_and(|found| (5..=7).contains(&found.frame)));
    }

    #[test]
    fn damaged_and_foreign_ones_are_passed_over_with_a_message() {
        let folder = tempfile::tempdir().unwrap();
        for frame in [10, 20, 30] {
            write(folder.path(), &checkpoint(frame), Kept::Newest).unwrap();
        }
        let newest = path(folder.path(), 30);
        let content = fs::read(&newest).unwrap();
        fs::write(&newest, &content[..content.len() / 2]).unwrap();
        let middle = path(folder.path(), 20);
        let mut content = fs::read(&middle).unwrap();
        content[100] ^= 1;
        fs::write(&middle, &content).unwrap();
        let (found, messages) = latest_valid(folder.path(), Some(99), u32::MAX).unwrap();
        assert_eq!(found, Some(checkpoint(10)));
        assert_eq!(messages.len(), 2);
        assert!(messages[0].contains("frame 30") && messages[1].contains("checksum"), "{messages:?}");
        let (found, messages) = latest_valid(folder.path(), Some(98), 10).unwrap();
        assert_eq!((found, messages.len()), (None, 1));
    }

    #[test]
    fn an_absent_folder_has_none() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(latest_valid(&folder.path().join("none"), Some(0), 5).unwrap(), (None, vec![]));
    }
}
