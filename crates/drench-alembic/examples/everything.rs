//! Writes a file with one object of every kind, three frames long: `everything FILE`.

use drench_alembic::{
    About, AlembicError, Archive, Basis, CameraSample, CurvesSample, MeshSample, Parameter, PointsSample, Scope,
    TimeSampling, Values,
};
use std::path::Path;

const IDENTITY: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

fn main() -> Result<(), AlembicError> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "everything.abc".into());
    write_everything(Path::new(&path))
}

fn write_everything(path: &Path) -> Result<(), AlembicError> {
    let about = About { application: "everything".into(), description: "All kinds".into(), date: String::new() };
    let mut archive = Archive::create(path, &about, TimeSampling { start: 0.0, step: 1.0 / 24.0 })?;
    let top = archive.top();
    let head = archive.add_xform(top, "hair")?;
    archive.user_property(head, "groom_version_major", Values::I16(&[1]))?;
    archive.user_property(head, "groom_tool", Values::Text(&["everything"]))?;
    let linear = archive.add_curves(head, "linear")?;
    let cubic = archive.add_curves(top, "cubic")?;
    let drops = archive.add_points(top, "drops")?;
    let ball = archive.add_xform(top, "ball")?;
    let mesh = archive.add_mesh(ball, "ball_shape")?;
    let stand = archive.add_xform(top, "view")?;
    let camera = archive.add_camera(stand, "view_camera")?;
    archive.write_xform(head, IDENTITY, [0.0; 3])?;

    for frame in 0..3 {
        let lift = frame as f32;
        let positions: Vec<[f32; 3]> =
            (0..5).map(|vertex| [if vertex < 2 { 0.0 } else { 1.0 }, vertex as f32 + lift, 0.25]).collect();
        let wetness: Vec<f32> = (0..5).map(|vertex| (vertex as f32 + lift) / 8.0).collect();
        let parameters = [
            Parameter { name: "wetness", scope: Scope::Vertex, values: Values::F32(&wetness) },
            Parameter { name: "rest", scope: Scope::Vertex, values: Values::F32x3(&[[0.5; 3]; 5]) },
            Parameter { name: "groom_id", scope: Scope::Uniform, values: Values::I32(&[7, 8]) },
            Parameter { name: "groom_guide", scope: Scope::Constant, values: Values::I16(&[1]) },
            Parameter { name: "groom_closest_guides", scope: Scope::Uniform, values: Values::I32x3(&[[0, 1, 2]; 2]) },
            Parameter { name: "groom_group_name", scope: Scope::Constant, values: Values::Text(&["wet"]) },
        ];
        let sample = CurvesSample {
            positions: &positions,
            counts: &[2, 3],
            // Blender reads widths per vertex and nothing else.
            widths: Some((Scope::Vertex, &[0.1, 0.1, 0.2, 0.2, 0.2])),
            uvs: Some((Scope::Uniform, &[[0.5, 0.25], [0.75, 1.0]])),
            velocities: Some(&[[0.0, 24.0, 0.0]; 5]),
            parameters: &parameters,
            ..CurvesSample::default()
        };
        archive.write_curves(linear, &sample)?;
        let positions: Vec<[f32; 3]> = (0..6).map(|vertex| [2.0, vertex as f32, lift]).collect();
        let sample = CurvesSample {
            positions: &positions,
            counts: &[6],
            basis: Basis::CatmullRom,
            widths: Some((Scope::Vertex, &[0.1; 6])),
            ..CurvesSample::default()
        };
        archive.write_curves(cubic, &sample)?;

        // One drop more per frame.
        let ids: Vec<u64> = (0..=frame as u64).collect();
        let positions: Vec<[f32; 3]> = ids.iter().map(|&id| [id as f32, lift, 0.0]).collect();
        let ages = vec![lift; ids.len()];
        let sample = PointsSample {
            positions: &positions,
            ids: &ids,
            velocities: Some(&positions),
            widths: Some((Scope::Vertex, &ages)),
            parameters: &[Parameter { name: "age", scope: Scope::Vertex, values: Values::F32(&ages) }],
        };
        archive.write_points(drops, &sample)?;

        archive.write_xform(ball, IDENTITY, [3.0, f64::from(lift), 0.0])?;
        let tetrahedron = MeshSample {
            positions: &[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            counts: &[3; 4],
            indices: &[0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3],
            ..MeshSample::default()
        };
        archive.write_mesh(mesh, &tetrahedron)?;
        archive.write_xform(stand, IDENTITY, [0.0, 1.0, 10.0 + f64::from(lift)])?;
        archive.write_camera(camera, &CameraSample::default())?;
    }
    archive.finish()
}
