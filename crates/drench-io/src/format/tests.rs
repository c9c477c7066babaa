use super::element::{shuffle, shuffle_bytes, unshuffle, unshuffle_bytes};
use super::*;
use crate::error::IoError;
use proptest::prelude::*;
use std::fs;

/// A coarse random walk, with the strands `offsets`.
fn walk(offsets: &[u32], scale: f32) -> Vec<[f32; 3]> {
    let mut positions = Vec::new();
    for strand in offsets.windows(2) {
        let root = [(strand[0] % 97) as f32, (strand[0] % 89) as f32, 0.5].map(|x| x * scale * 0.01);
        for i in 0..strand[1] - strand[0] {
            let t = i as f32 * 0.3;
            positions.push([
                root[0] + scale * t.sin() * 0.1,
                root[1] - scale * 0.02 * t,
                root[2] + scale * t.cos() * 0.1,
            ]);
        }
    }
    positions
}

fn offsets(strands: u32) -> Vec<u32> {
    // Lengths from 0 to 40 vertices, so that blocks begin anywhere in a strand.
    let mut offsets = vec![0];
    for strand in 0..strands {
        offsets.push(offsets[strand as usize] + (strand * 7919) % 41);
    }
    offsets
}

fn stored(values: &[[f32; 3]], precision: Precision, offsets: &[u32]) -> Vec<[f32; 3]> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let mut writer = Writer::new(FileKind::Frame);
    writer.rounded("v", values, precision, offsets);
    writer.write(&path).unwrap();
    Reader::open(&path, FileKind::Frame).unwrap().rounded("v", offsets).unwrap()
}

#[test]
fn rounding_errs_by_half_a_step_and_a_step_is_a_millionth_of_the_size() {
    let offsets = offsets(4_000);
    for scale in [1e-3, 1.0, 50.0, 1e6] {
        let values = walk(&offsets, scale);
        let back = stored(&values, Precision::POSITION, &offsets);
        let step = f64::from(step(&values, Precision::POSITION).unwrap()).exp2();
        assert!(step <= 1.2e-6 * f64::from(scale), "{step}");
        for (a, b) in values.iter().flatten().zip(back.iter().flatten()) {
            assert!((f64::from(*a) - f64::from(*b)).abs() <= 0.5 * step, "{a} {b}");
        }
    }
}

#[test]
fn rounding_again_changes_nothing() {
    let offsets = offsets(500);
    let once = stored(&walk(&offsets, 1.0), Precision::VELOCITY, &offsets);
    assert_eq!(stored(&once, Precision::VELOCITY, &offsets), once);
}

#[test]
fn values_that_no_step_fits_keep_their_bits() {
    for values in [
        vec![[f32::NAN, 1.0, f32::INFINITY]],
        vec![[1e-42, 0.0, 0.0]; 3],
        vec![[3.4e38, 0.0, 0.0], [-3.4e38, 0.0, 1.0]],
        vec![],
        vec![[0.0; 3]; 5],
        vec![[1000.5, 2.25, -7.125]; 4],
    ] {
        let back = stored(&values, Precision::POSITION, &[]);
        let bits = |values: &[[f32; 3]]| values.iter().flatten().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&back), bits(&values));
    }
}

#[test]
fn a_body_far_from_the_origin_keeps_its_bits() {
    // The range asks for a step far below the spacing of f32 at this distance.
    let values: Vec<[f32; 3]> = (0..100).map(|i| [1e5 + i as f32 / 128.0, 0.0, 0.0]).collect();
    assert_eq!(stored(&values, Precision::POSITION, &[]), values);
}

#[test]
fn bytes_do_not_depend_on_the_number_of_threads() {
    let offsets = offsets(10_000);
    let values = walk(&offsets, 1.0);
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let folder = tempfile::tempdir().unwrap();
            let mut writer = Writer::new(FileKind::Frame);
            writer.rounded("v", &values, Precision::POSITION, &offsets);
            writer.exact("o", &offsets);
            writer.write(&folder.path().join("a")).unwrap();
            fs::read(folder.path().join("a")).unwrap()
        })
    };
    assert_eq!(on(1), on(2));
    assert_eq!(on(1), on(8));
}

#[test]
fn a_wrong_kind_name_or_version_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let mut writer = Writer::new(FileKind::Frame);
    writer.exact("numbers", &[1_u32, 2, 3]);
    writer.write(&path).unwrap();
    let reader = Reader::open(&path, FileKind::Frame).unwrap();
    assert_eq!(reader.exact::<u32>("numbers").unwrap(), [1, 2, 3]);
    assert!(reader.exact::<f32>("numbers").unwrap_err().to_string().contains("holds U32, not F32"));
    assert!(reader.exact::<u32>("others").unwrap_err().to_string().contains("'others' is not in it"));
    assert!(Reader::open(&path, FileKind::Model).is_err());
    let mut content = fs::read(&path).unwrap();
    content[8] = 9;
    fs::write(&path, content).unwrap();
    assert!(matches!(Reader::open(&path, FileKind::Frame), Err(IoError::Version { found: 9, .. })));
    assert!(matches!(Reader::open(&folder.path().join("b"), FileKind::Frame), Err(IoError::Missing { .. })));
}

#[test]
fn a_table_that_claims_too_much_is_refused_before_allocation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    for claim in [u64::MAX, MOST_ELEMENTS, MOST_ELEMENTS + 1, 1 << 20] {
        // A sound checksum over a table that lies.
        let mut table = Vec::new();
        table.extend(1_u16.to_le_bytes());
        table.extend(*b"n");
        table.extend([1, 0, 0, 0, 0, 0]);
        table.extend(claim.to_le_bytes());
        let mut content = HEADER_MAGIC.to_vec();
        content.extend(VERSION.to_le_bytes());
        content.extend((FileKind::Frame as u32).to_le_bytes());
        content.extend(&table);
        content.extend((HEADER_LENGTH as u64).to_le_bytes());
        content.extend((table.len() as u64).to_le_bytes());
        content.extend(xxhash_rust::xxh3::xxh3_64(&table).to_le_bytes());
        content.extend(FOOTER_MAGIC);
        fs::write(&path, content).unwrap();
        let message = Reader::open(&path, FileKind::Frame).err().unwrap().to_string();
        assert!(message.contains("contradicts itself"), "{message}");
    }
}

proptest! {
    #[test]
    fn shuffling_is_reversible(elements in prop::collection::vec(any::<[u32; 3]>(), 0..50), bytes: Vec<u8>) {
        prop_assert_eq!(unshuffle::<[u32; 3]>(&shuffle(&elements), elements.len()).unwrap(), elements);
        prop_assert_eq!(unshuffle_bytes(&shuffle_bytes(&bytes, 8), 8), bytes);
    }

    #[test]
    fn any_vectors_survive_within_half_a_step(
        values in prop::collection::vec(prop::array::uniform3(-1e4_f32..1e4), 1..200),
        cuts in prop::collection::vec(0_usize..200, 0..20),
        first in 0_usize..100,
    ) {
        let mut offsets: Vec<u32> = cuts.iter().map(|&cut| (cut.min(values.len()) + first) as u32).collect();
        offsets.extend([0, (first + values.len()) as u32]);
        offsets.sort_unstable();
        let exponent = step(&values, Precision::POSITION).unwrap();
        let (order, residuals) = quantise::encode(&values, first, &offsets, exponent);
        let back = quantise::decode(order, &residuals, first, &offsets, exponent).unwrap();
        let half = 0.5 * f64::from(exponent).exp2();
        for (a, b) in values.iter().flatten().zip(back.iter().flatten()) {
            prop_assert!((f64::from(*a) - f64::from(*b)).abs() <= half);
        }
    }
}
