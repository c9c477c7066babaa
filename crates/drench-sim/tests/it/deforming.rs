//! A mesh that deforms fast: hair in its way is swept along, not passed over.

use drench_scene::Source;
use drench_sim::{Simulation, solids};
use glam::DVec3;
use std::fs;

/// A slab, 2 cm thick, whose vertices all move by 0.4 m along x within 0.1 s: 4 m/s, by morphing alone.
fn morphing_slab() -> (String, Vec<u8>) {
    let corner = |i: u32| {
        let side = |bit: u32, half: f32| if i >> bit & 1 == 1 { half } else { -half };
        [side(0, 0.01) - 0.2, side(1, 0.15) - 0.1, side(2, 0.2)]
    };
    let triangles: [u16; 36] =
        [0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5, 0, 1, 5, 0, 5, 4, 2, 6, 7, 2, 7, 3, 0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6];
    let corners = (0..8).flat_map(corner);
    let moved = (0..8).flat_map(|_| [0.4, 0.0, 0.0]);
    let mut data: Vec<u8> = corners.chain(moved).chain([0.0, 0.1, 0.0, 1.0]).flat_map(f32::to_le_bytes).collect();
    data.extend(triangles.iter().flat_map(|index| index.to_le_bytes()));
    let text = r#"{"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],"nodes":[{"mesh":0}],
        "meshes":[{"primitives":[{"attributes":{"POSITION":0},"indices":4,"targets":[{"POSITION":1}]}],"weights":[0]}],
        "animations":[{"channels":[{"sampler":0,"target":{"node":0,"path":"weights"}}],"samplers":[{"input":2,"output":3}]}],
        "buffers":[{"byteLength":280,"uri":"slab.bin"}],
        "bufferViews":[{"buffer":0,"byteLength":96},{"buffer":0,"byteOffset":96,"byteLength":96},
            {"buffer":0,"byteOffset":192,"byteLength":8},{"buffer":0,"byteOffset":200,"byteLength":8},
            {"buffer":0,"byteOffset":208,"byteLength":72}],
        "accessors":[
            {"bufferView":0,"componentType":5126,"count":8,"type":"VEC3","min":[-0.21,-0.25,-0.2],"max":[-0.19,0.05,0.2]},
            {"bufferView":1,"componentType":5126,"count":8,"type":"VEC3","min":[0.4,0,0],"max":[0.4,0,0]},
            {"bufferView":2,"componentType":5126,"count":2,"type":"SCALAR","min":[0],"max":[0.1]},
            {"bufferView":3,"componentType":5126,"count":2,"type":"SCALAR"},
            {"bufferView":4,"componentType":5123,"count":36,"type":"SCALAR"}]}"#;
    (text.to_owned(), data)
}

const SCENE: &str = r#"
name = "sweep"

[simulation]
frames = 4
fps = 40
substeps = 2

[[solid]]
name = "slab"
shape = { kind = "file", path = "slab.gltf" }

[[solid]]
name = "hook"
shape = { kind = "sphere", radius = "5 mm" }
position = [-0.16, 0.15, 0]
collide = false
motion = { kind = "expressions", position = ["4 * min(t, 0.1)", "0", "0"] }

[[groom]]
name = "hair"
on = "hook"
at = [[0, -0.005, 0]]
length = "25 cm"
vertices = 12
strand = { model = "MODEL", shape = 0 }
"#;

#[test]
fn a_slab_that_morphs_fast_takes_hair_along() {
    let folder = tempfile::tempdir().unwrap();
    let (text, data) = morphing_slab();
    fs::write(folder.path().join("slab.gltf"), text).unwrap();
    fs::write(folder.path().join("slab.bin"), data).unwrap();
    for model in ["dftl", "pbd"] {
        let path = folder.path().join("sweep.toml");
        fs::write(&path, SCENE.replace("MODEL", model)).unwrap();
        let scene = drench_scene::load(Source::Path(path), None, &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let mut simulation = Simulation::build(&scene).unwrap();
        simulation.advance_frame().unwrap();
        // The last substep took the slab from -0.15 to -0.1.
        let world = simulation.world();
        let skins = solids::skins(&world.model, &world.scratch.solids);
        let moved = skins[0].as_ref().unwrap().at(DVec3::new(-0.12, 0.01, 0.03));
        assert!(moved.distance(DVec3::X * 0.05) < 1e-6, "{moved}");
        assert!(skins[1].is_none(), "the hook is rigid");
        drop(skins);
        for _ in 0..3 {
            simulation.advance_frame().unwrap();
        }
        // The slab goes from x = -0.2 to 0.2, 5 cm a step, more than its thickness. The hook goes 4 cm before it; the hair
        // lags behind and is met. Hair that the slab passed over would hang behind it.
        let strand = &simulation.frame().strands[0].positions;
        let behind = strand.iter().filter(|p| p[1] < 0.04 && p[0] < 0.205).count();
        assert_eq!(behind, 0, "{model}: {strand:?}");
    }
}
