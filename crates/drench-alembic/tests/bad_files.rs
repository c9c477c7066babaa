//! Files that lie are refused; nothing panics, hangs or eats memory.

#![allow(clippy::unwrap_used)]

use drench_alembic::{About, AlembicError, Archive, CurvesSample, Parameter, Reader, Scope, TimeSampling, Values};
use std::path::Path;

/// A small file with something of everything that the reader knows.
fn sound_file(path: &Path) -> Vec<u8> {
    let sampling = TimeSampling { start: 0.0, step: 0.04 };
    let mut archive = Archive::create(path, &About::default(), sampling).unwrap();
    let above = archive.add_xform(archive.top(), "above").unwrap();
    let turn = [[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
    archive.write_xform(above, turn, [1.0, 2.0, 3.0]).unwrap();
    let hair = archive.add_curves(above, "hair").unwrap();
    for frame in 0..3 {
        let positions = [[frame as f32, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 2.0, 0.0]];
        let sample = CurvesSample {
            positions: &positions,
            counts: &[3],
            widths: Some((Scope::Constant, &[0.1])),
            uvs: Some((Scope::Uniform, &[[0.5, 0.5]])),
            velocities: Some(&positions),
            parameters: &[
                Parameter { name: "groom_id", scope: Scope::Uniform, values: Values::I32(&[4]) },
                Parameter { name: "groom_tool", scope: Scope::Constant, values: Values::Text(&["drench"]) },
            ],
            ..CurvesSample::default()
        };
        archive.write_curves(hair, &sample).unwrap();
    }
    archive.finish().unwrap();
    std::fs::read(path).unwrap()
}

/// Reads everything that there is.
fn read_all(path: &Path) -> Result<usize, AlembicError> {
    let reader = Reader::open(path)?;
    let mut vertices = 0;
    for curves in reader.curves()? {
        for sample in 0..curves.sample_count().min(8) {
            vertices += curves.read(sample)?.positions.len();
        }
    }
    Ok(vertices)
}

#[test]
fn every_truncation_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.abc");
    let bytes = sound_file(&path);
    assert_eq!(read_all(&path).unwrap(), 9);
    for length in 0..bytes.len() {
        std::fs::write(&path, &bytes[..length]).unwrap();
        // The root group is the last thing in the file.
        let error = read_all(&path).unwrap_err();
        assert!(!error.is_storage(), "{length}: {error}");
    }
}

#[test]
fn no_flipped_bit_makes_it_panic_or_hang() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.abc");
    let mut bytes = sound_file(&path);
    for place in 0..bytes.len() {
        let bit = place % 8;
        bytes[place] ^= 1 << bit;
        std::fs::write(&path, &bytes).unwrap();
        // Numbers may change unseen; what is read must still fit together, which the reader checks.
        let _ = read_all(&path);
        bytes[place] ^= 1 << bit;
    }
}

#[test]
fn words_of_all_ones_and_zeroes_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.abc");
    let sound = sound_file(&path);
    for place in 0..sound.len() - 8 {
        let mut bytes = sound.clone();
        bytes[place..place + 8].fill([0x00, 0x7f, 0xff][place % 3]);
        std::fs::write(&path, &bytes).unwrap();
        let _ = read_all(&path);
    }
}

#[test]
fn an_object_that_is_its_own_child_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.abc");
    let mut bytes = sound_file(&path);
    let word = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    // Root group -> top object -> its first child, which becomes the top object itself.
    let top = word(&bytes, word(&bytes, 8) + 8 + 2 * 8);
    let child = top + 8 + 8;
    bytes[child..child + 8].copy_from_slice(&(top as u64).to_le_bytes());
    std::fs::write(&path, &bytes).unwrap();
    let message = read_all(&path).unwrap_err().to_string();
    assert!(message.contains("is part of two things"), "{message}");
}

#[test]
fn other_files_are_named_for_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.abc");
    let says = |bytes: &[u8], what: &str| {
        std::fs::write(&path, bytes).unwrap();
        let message = read_all(&path).unwrap_err().to_string();
        assert!(message.contains(what) && message.contains("file.abc"), "{message}");
    };
    says(b"", "too short");
    says(b"v 0 0 0\nv 1 0 0\nl 1 2\n", "does not begin with 'Ogawa'");
    says(b"\x89HDF\r\n\x1a\n........", "abcconvert");
    says(b"Ogawa\xff\x00\x02........", "0.2, not 0.1");
    assert!(read_all(&folder.path().join("none.abc")).unwrap_err().is_storage());
}
