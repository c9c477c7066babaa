//! A tent of glTF whose top moves, with its data in a file of its own.

/// The tent as `FILE.gltf` and `FILE.bin`; the top is raised by these heights [m] at 0, 0.1, 0.2 and 0.3 s.
pub fn tent(file: &str, heights: [f32; 4]) -> (String, Vec<u8>) {
    let corners: [[f32; 3]; 5] =
        [[-0.05, 0.0, -0.05], [0.05, 0.0, -0.05], [0.05, 0.0, 0.05], [-0.05, 0.0, 0.05], [0.0, 0.06, 0.0]];
    let raised: [[f32; 3]; 5] = [[0.0; 3], [0.0; 3], [0.0; 3], [0.0; 3], [0.0, 1.0, 0.0]];
    let triangles: [u16; 18] = [0, 4, 1, 1, 4, 2, 2, 4, 3, 3, 4, 0, 0, 1, 2, 0, 2, 3];
    let floats = corners.iter().chain(&raised).flatten().copied().chain([0.0, 0.1, 0.2, 0.3]).chain(heights);
    let mut data: Vec<u8> = floats.flat_map(f32::to_le_bytes).collect();
    data.extend(triangles.iter().flat_map(|index| index.to_le_bytes()));
    let text = r#"{"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],"nodes":[{"mesh":0}],
        "meshes":[{"primitives":[{"attributes":{"POSITION":0},"indices":4,"targets":[{"POSITION":1}]}],"weights":[0]}],
        "animations":[{"channels":[{"sampler":0,"target":{"node":0,"path":"weights"}}],"samplers":[{"input":2,"output":3}]}],
        "buffers":[{"byteLength":188,"uri":"FILE.bin"}],
        "bufferViews":[{"buffer":0,"byteLength":60},{"buffer":0,"byteOffset":60,"byteLength":60},
            {"buffer":0,"byteOffset":120,"byteLength":16},{"buffer":0,"byteOffset":136,"byteLength":16},
            {"buffer":0,"byteOffset":152,"byteLength":36}],
        "accessors":[
            {"bufferView":0,"componentType":5126,"count":5,"type":"VEC3","min":[-0.05,0,-0.05],"max":[0.05,0.06,0.05]},
            {"bufferView":1,"componentType":5126,"count":5,"type":"VEC3","min":[0,0,0],"max":[0,1,0]},
            {"bufferView":2,"componentType":5126,"count":4,"type":"SCALAR","min":[0],"max":[0.3]},
            {"bufferView":3,"componentType":5126,"count":4,"type":"SCALAR"},
            {"bufferView":4,"componentType":5123,"count":18,"type":"SCALAR"}]}"#;
    (text.replace("FILE", file), data)
}
