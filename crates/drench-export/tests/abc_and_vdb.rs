//! Alembic and VDB: what is in the files, read back.

#![allow(clippy::unwrap_used)]

use drench_alembic::{Basis, ReadValues, Reader, TimeSampling};
use drench_export::format::{Begin, find};
use drench_export::{Curves, Moment, Options, Points, Shot};
use drench_io::{Attribute, Domain};
use std::collections::BTreeMap;

fn begin(format: &str) -> Begin {
    find(format).unwrap().begin
}

/// A guide and a child that follows it, at a height that tells the frame.
fn moment(index: u32) -> Moment {
    let height = index as f32;
    let strand = |values| Attribute { domain: Domain::Strand, values };
    let attributes = BTreeMap::from([
        ("id".to_owned(), strand(drench_io::Values::U32(vec![4, 5]))),
        ("guide".to_owned(), strand(drench_io::Values::U32(vec![4, 4]))),
        ("width".to_owned(), Attribute { domain: Domain::Vertex, values: drench_io::Values::F32(vec![1e-4; 5]) }),
    ]);
    let curves =
        Curves { name: "hair".into(), offsets: vec![0, 2, 5], positions: vec![[0.0, height, 0.0]; 5], attributes };
    Moment { index, curves: vec![curves], ..Moment::default() }
}

#[test]
fn guides_are_marked_widths_are_in_centimetres_and_time_goes_on_where_a_frame_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.abc");
    let shot = Shot { fps: 25.0, frames: vec![3, 4, 5], ..Shot::default() };
    let mut writer = (begin("abc"))(&shot, &Options::default(), &path).unwrap();
    writer.frame(&moment(3)).unwrap();
    // A body that comes late and another that goes.
    let late = Points { name: "drops".into(), positions: vec![[0.0; 3]], ..Points::default() };
    writer.frame(&Moment { points: vec![late], ..moment(5) }).unwrap();
    assert!(writer.finish().unwrap().is_empty());

    let reader = Reader::open(&path).unwrap();
    let found = reader.curves().unwrap();
    assert_eq!((found.len(), found[0].path(), found[0].sample_count()), (1, "/hair/hairShape", 3));
    assert_eq!(found[0].time_sampling(), Some(TimeSampling { start: 3.0 / 25.0, step: 1.0 / 25.0 }));
    let heights: Vec<f32> = (0..3).map(|sample| found[0].read(sample).unwrap().positions[0][1]).collect();
    assert_eq!(heights, [3.0, 3.0, 5.0]);
    let curves = found[0].read(0).unwrap();
    assert_eq!(curves.basis, Basis::CatmullRom);
    let values = |name: &str| &curves.parameters.iter().find(|parameter| parameter.name == name).unwrap().values;
    assert_eq!(*values("groom_guide"), ReadValues::Whole(vec![1, 0]));
    assert_eq!(*values("groom_id"), ReadValues::Whole(vec![4, 5]));
    assert_eq!(*values("groom_width"), ReadValues::Number(vec![1e-2; 5]));
    assert_eq!(*values("groom_group_name"), ReadValues::Text(vec!["hair".into()]));
}

#[test]
fn each_frame_is_a_file_and_a_run_without_volumes_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let shot = Shot { name: "a run".into(), ..Shot::default() };
    let mut writer = (begin("vdb"))(&shot, &Options::default(), folder.path()).unwrap();
    writer.frame(&Moment { index: 7, ..Moment::default() }).unwrap();
    assert!(writer.finish().unwrap()[0].contains("no liquid"));
    let drop = Points { name: "water".into(), positions: vec![[0.1, 0.2, 0.3]], ..Points::default() };
    let mut writer = (begin("vdb"))(&shot, &Options::default(), folder.path()).unwrap();
    writer.frame(&Moment { index: 8, points: vec![drop], ..Moment::default() }).unwrap();
    assert!(writer.finish().unwrap().is_empty());
    let [empty, full] =
        ["a_run.0007.vdb", "a_run.0008.vdb"].map(|name| std::fs::read(folder.path().join(name)).unwrap());
    let names = |bytes: &[u8]| bytes.windows(7).any(|window| window == b"surface");
    assert!(!names(&empty) && names(&full));
}
