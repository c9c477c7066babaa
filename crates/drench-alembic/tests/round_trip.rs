//! What is written is read back.

#![allow(clippy::unwrap_used)]

use drench_alembic::{
    About, AlembicError, Archive, Basis, CurvesSample, MeshSample, Parameter, PointsSample, ReadValues, Reader, Scope,
    TimeSampling, Values,
};
use std::path::Path;

const SAMPLING: TimeSampling = TimeSampling { start: 0.5, step: 1.0 / 30.0 };
const IDENTITY: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

fn archive(path: &Path) -> Archive {
    Archive::create(path, &About::default(), SAMPLING).unwrap()
}

#[test]
fn curves_come_back_with_all_that_is_on_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hair.abc");
    let mut archive = archive(&path);
    let hair = archive.add_curves(archive.top(), "hair").unwrap();
    let frame = |frame: usize| -> Vec<[f32; 3]> { (0..5).map(|i| [i as f32, frame as f32, 0.5]).collect() };
    for index in 0..4 {
        let sample = CurvesSample {
            positions: &frame(index),
            counts: &[2, 3],
            basis: Basis::BSpline,
            widths: Some((Scope::Vertex, &[0.1; 5])),
            uvs: Some((Scope::Uniform, &[[0.5, 0.25], [0.75, 1.0]])),
            velocities: Some(&[[0.0, 30.0, 0.0]; 5]),
            parameters: &[
                Parameter { name: "groom_id", scope: Scope::Uniform, values: Values::I32(&[7, -8]) },
                Parameter { name: "groom_tool", scope: Scope::Constant, values: Values::Text(&["drench"]) },
            ],
        };
        archive.write_curves(hair, &sample).unwrap();
    }
    archive.finish().unwrap();

    let reader = Reader::open(&path).unwrap();
    let found = reader.curves().unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].path(), found[0].sample_count()), ("/hair", 4));
    assert_eq!(found[0].time_sampling(), Some(SAMPLING));
    for index in 0..5 {
        let curves = found[0].read(index as u32).unwrap();
        assert_eq!(curves.positions, frame(index.min(3)), "after the last sample comes the last");
        assert_eq!((curves.counts.as_slice(), curves.basis), ([2, 3].as_slice(), Basis::BSpline));
        assert_eq!(curves.widths.unwrap().values, ReadValues::Number(vec![0.1; 5]));
        assert_eq!(curves.uvs.unwrap().values, ReadValues::Number(vec![0.5, 0.25, 0.75, 1.0]));
        assert_eq!(curves.velocities.unwrap(), [[0.0, 30.0, 0.0]; 5]);
        assert_eq!(curves.parameters[0].values, ReadValues::Whole(vec![7, -8]));
        assert_eq!(curves.parameters[0].scope, Some(Scope::Uniform));
        assert_eq!(curves.parameters[1].values, ReadValues::Text(vec!["drench".into()]));
    }
}

#[test]
fn samples_that_pause_and_go_on_keep_their_places() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hair.abc");
    let mut archive = archive(&path);
    let hair = archive.add_curves(archive.top(), "hair").unwrap();
    // Still, moving, still, moving, still: first and last change are in the middle.
    let heights = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 0.0, 0.0, 0.0];
    for height in heights {
        let positions = [[0.0, 0.0, 0.0], [0.0, height, 1.0]];
        archive
            .write_curves(hair, &CurvesSample { positions: &positions, counts: &[2], ..CurvesSample::default() })
            .unwrap();
    }
    archive.finish().unwrap();
    let reader = Reader::open(&path).unwrap();
    let found = reader.curves().unwrap();
    assert_eq!(found[0].sample_count(), 10);
    let read: Vec<f32> = (0..10).map(|frame| found[0].read(frame).unwrap().positions[1][1]).collect();
    assert_eq!(read, heights);
}

#[test]
fn a_parameter_that_comes_late_and_leaves_early_is_empty_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hair.abc");
    let mut archive = archive(&path);
    let hair = archive.add_curves(archive.top(), "hair").unwrap();
    let wet = [Parameter { name: "wetness", scope: Scope::Vertex, values: Values::F32(&[0.5, 1.0]) }];
    for frame in 0..4 {
        let parameters = if frame == 2 { wet.as_slice() } else { &[] };
        let positions = [[0.0; 3]; 2];
        let sample = CurvesSample { positions: &positions, counts: &[2], parameters, ..CurvesSample::default() };
        archive.write_curves(hair, &sample).unwrap();
    }
    archive.finish().unwrap();
    let reader = Reader::open(&path).unwrap();
    let found = reader.curves().unwrap();
    let has: Vec<usize> = (0..4).map(|frame| found[0].read(frame).unwrap().parameters.len()).collect();
    assert_eq!(has, [0, 0, 1, 0]);
}

#[test]
fn what_is_held_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hair.abc");
    let mut archive = archive(&path);
    let hair = archive.add_curves(archive.top(), "hair").unwrap();
    archive.hold();
    assert_eq!(archive.samples(hair), 0, "nothing to hold yet");
    for height in [1.0, 2.0] {
        let positions = [[0.0; 3], [0.0, height, 0.0]];
        let sample = CurvesSample { positions: &positions, counts: &[2], ..CurvesSample::default() };
        archive.write_curves(hair, &sample).unwrap();
        archive.hold();
    }
    archive.finish().unwrap();
    let reader = Reader::open(&path).unwrap();
    let found = reader.curves().unwrap();
    let read: Vec<f32> = (0..4).map(|frame| found[0].read(frame).unwrap().positions[1][1]).collect();
    assert_eq!(read, [1.0, 1.0, 2.0, 2.0]);
}

#[test]
fn transforms_above_curves_are_applied() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hair.abc");
    let mut archive = archive(&path);
    let outer = archive.add_xform(archive.top(), "outer").unwrap();
    archive.write_xform(outer, IDENTITY, [10.0, 0.0, 0.0]).unwrap();
    // A quarter turn about z: x goes to y.
    let inner = archive.add_xform(outer, "inner").unwrap();
    let turn = [[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
    archive.write_xform(inner, turn, [0.0, 5.0, 0.0]).unwrap();
    let hair = archive.add_curves(inner, "hair").unwrap();
    let positions = [[0.0; 3], [1.0, 0.0, 0.0]];
    let velocities = [[2.0, 0.0, 0.0]; 2];
    let sample =
        CurvesSample { positions: &positions, counts: &[2], velocities: Some(&velocities), ..CurvesSample::default() };
    archive.write_curves(hair, &sample).unwrap();
    archive.finish().unwrap();
    let reader = Reader::open(&path).unwrap();
    let curves = reader.curves().unwrap()[0].read(0).unwrap();
    assert_eq!(curves.positions, [[10.0, 5.0, 0.0], [10.0, 6.0, 0.0]]);
    assert_eq!(curves.velocities.unwrap(), [[0.0, 2.0, 0.0]; 2]);
}

#[test]
fn equal_samples_are_stored_once() {
    let folder = tempfile::tempdir().unwrap();
    let size = |frames: usize| {
        let path = folder.path().join(format!("{frames}.abc"));
        let mut archive = archive(&path);
        let hair = archive.add_curves(archive.top(), "hair").unwrap();
        let positions = vec![[1.0; 3]; 1000];
        for _ in 0..frames {
            let sample = CurvesSample {
                positions: &positions,
                velocities: Some(&positions),
                counts: &[1000],
                ..CurvesSample::default()
            };
            archive.write_curves(hair, &sample).unwrap();
        }
        archive.finish().unwrap();
        std::fs::metadata(&path).unwrap().len()
    };
    assert_eq!(size(1), size(100));
    assert!(size(1) < 20_000, "positions and velocities are the same bytes");
}

#[test]
fn the_size_is_that_of_the_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hair.abc");
    let mut archive = archive(&path);
    let hair = archive.add_curves(archive.top(), "hair").unwrap();
    for frame in 0..50 {
        let positions = vec![[frame as f32, 0.0, 1.0]; 2000];
        archive
            .write_curves(hair, &CurvesSample { positions: &positions, counts: &[2000], ..CurvesSample::default() })
            .unwrap();
    }
    archive.finish().unwrap();
    let raw = 50 * 2000 * 12;
    assert!(std::fs::metadata(&path).unwrap().len() < raw + raw / 50);
}

#[test]
fn the_same_input_gives_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str| {
        let path = folder.path().join(name);
        let mut archive = archive(&path);
        let drops = archive.add_points(archive.top(), "drops").unwrap();
        for frame in 0..3_u64 {
            let ids: Vec<u64> = (0..frame).collect();
            let positions = vec![[frame as f32; 3]; ids.len()];
            archive
                .write_points(drops, &PointsSample { positions: &positions, ids: &ids, ..PointsSample::default() })
                .unwrap();
        }
        archive.finish().unwrap();
        std::fs::read(path).unwrap()
    };
    assert_eq!(write("a.abc"), write("b.abc"));
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut archive = archive(&folder.path().join("bad.abc"));
    let top = archive.top();
    let hair = archive.add_curves(top, "hair").unwrap();
    let mesh = archive.add_mesh(top, "mesh").unwrap();
    let says = |result: Result<(), AlembicError>, what: &str| {
        let message = result.unwrap_err().to_string();
        assert!(message.contains(what), "{message}");
    };
    let two = [[0.0; 3]; 2];
    let sound = CurvesSample { positions: &two, counts: &[2], ..CurvesSample::default() };
    says(archive.add_curves(top, "hair").map(|_| ()), "already has a child 'hair'");
    says(archive.add_curves(top, "a/b").map(|_| ()), "'a/b' cannot be the name");
    says(archive.write_curves(mesh, &sound), "it is a Mesh");
    says(archive.write_curves(hair, &CurvesSample { counts: &[3], ..sound }), "counts do not sum to the 2 vertices");
    says(archive.write_curves(hair, &CurvesSample { counts: &[3, -1], ..sound }), "counts do not sum");
    says(archive.write_curves(hair, &CurvesSample { velocities: Some(&two[..1]), ..sound }), "velocities has 1 values");
    let widths = Some((Scope::Vertex, [0.1].as_slice()));
    says(archive.write_curves(hair, &CurvesSample { widths, ..sound }), "width has 1 values, 2 are needed");
    let face = MeshSample { positions: &two, counts: &[3], indices: &[0, 1, 2], ..MeshSample::default() };
    says(archive.write_mesh(mesh, &face), "names vertex 2 of 2");
    says(archive.user_property(hair, "x", Values::F32(&[])), "needs an object and one value");
    let step = TimeSampling { start: 0.0, step: 0.0 };
    says(Archive::create(&folder.path().join("t.abc"), &About::default(), step).map(|_| ()), "every 0 s");
}

#[test]
fn an_unfinished_file_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("half.abc");
    drop(archive(&path));
    let message = Reader::open(&path).err().unwrap().to_string();
    assert!(message.contains("did not finish it"), "{message}");
}
