use super::*;
use crate::porous::Voxel;
use drench_io::{Attribute, ChildStrands, Domain, Values};

fn floats(packet: &[u8], array: &Value) -> Vec<f32> {
    let (_, data) = split(packet).unwrap();
    let (at, count) = (array[0].as_u64().unwrap() as usize, array[1].as_u64().unwrap() as usize);
    assert_eq!((at % 4, array[2].as_str()), (0, Some("f32")));
    data[at..at + 4 * count].chunks(4).map(|word| f32::from_le_bytes(word.try_into().unwrap())).collect()
}

fn words(packet: &[u8], array: &Value) -> Vec<u32> {
    let (_, data) = split(packet).unwrap();
    let (at, count) = (array[0].as_u64().unwrap() as usize, array[1].as_u64().unwrap() as usize);
    data[at..at + 4 * count].chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

fn quads(packet: &[u8], array: &Value) -> Vec<[u8; 4]> {
    let (_, data) = split(packet).unwrap();
    let (at, count) = (array[0].as_u64().unwrap() as usize, array[1].as_u64().unwrap() as usize);
    data[at..at + count].chunks(4).map(|quad| quad.try_into().unwrap()).collect()
}

/// `strands` straight strands of 3 vertices side by side, wet at the tips, with as many children, over a triangle, and
/// drops beside them.
fn frame(strands: u32) -> Frame {
    let per_vertex = |values: Values| Attribute { domain: Domain::Vertex, values };
    let vertices = 3 * strands as usize;
    let mut body =
        StrandBody { name: "hair".into(), offsets: (0..=strands).map(|i| 3 * i).collect(), ..StrandBody::default() };
    body.positions = (0..vertices).map(|i| [(i / 3) as f32, -((i % 3) as f32), 0.0]).collect();
    let wetness = (0..vertices).map(|i| (i % 3) as f32 / 2.0).collect();
    body.attributes.insert("wetness".into(), per_vertex(Values::F32(wetness)));
    body.attributes.insert("radius".into(), per_vertex(Values::F32(vec![1e-4; vertices])));
    body.children = Some(ChildStrands {
        solid: "skin".into(),
        triangles: vec![0; strands as usize],
        barycentric: vec![[0.2, 0.3]; strands as usize],
        guides: (0..strands).map(|i| [i; 3]).collect(),
        weights: vec![[1.0, 0.0, 0.0]; strands as usize],
        length_ratio: vec![1.0; strands as usize],
    });
    let skin = SolidBody {
        name: "skin".into(),
        positions: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]],
        triangles: vec![[0, 1, 2]],
        ..SolidBody::default()
    };
    let mut drops = ParticleBody { name: "liquid".into(), positions: vec![[0.5; 3]; 10], ..ParticleBody::default() };
    drops.attributes.insert("age".into(), per_vertex(Values::F32((0..10).map(|i| i as f32).collect())));
    Frame { index: 4, time: 0.25, strands: vec![body], solids: vec![skin], particles: vec![drops] }
}

fn packet(frame: &Frame, wish: &Wish) -> Vec<u8> {
    encode(frame, Some(frame), None, &Settings::default(), &[("main".into(), View::default())], wish).unwrap()
}

#[test]
fn a_frame_comes_back_from_its_packet() {
    let frame = frame(2);
    let packet = packet(&frame, &Wish { channel: Some("wetness".into()), children: false, ..Wish::default() });
    let (header, _) = split(&packet).unwrap();
    assert_eq!((header["frame"].as_u64(), header["time"].as_f64()), (Some(4), Some(0.25)));
    let hair = &header["strands"][0];
    assert_eq!((hair["name"].as_str(), hair["vertices"].as_u64()), (Some("hair"), Some(6)));
    assert_eq!((hair["strands"].as_u64(), hair["shown"].as_u64()), (Some(2), Some(2)));
    let positions = floats(&packet, &hair["arrays"]["positions"]);
    let expected: Vec<f32> = frame.strands[0].positions.iter().flatten().copied().collect();
    assert_eq!(positions.len(), 3 * (1 + 6 + 2));
    assert_eq!(positions[3..21], expected[..]);
    let meta = quads(&packet, &hair["arrays"]["meta"]);
    assert_eq!(
        meta.iter().map(|m| m[1]).collect::<Vec<_>>(),
        [FIRST, 31 << 2, LAST | 63 << 2, FIRST, 31 << 2, LAST | 63 << 2, 0]
    );
    assert_eq!(meta.iter().map(|m| m[0]).collect::<Vec<_>>(), [0, 128, 255, 0, 128, 255, 0]);
    assert_eq!((meta[0][3], meta[3][3]), (meta[2][3], meta[5][3]));
    assert_eq!(floats(&packet, &hair["arrays"]["value"])[..6], [0.0, 0.5, 1.0, 0.0, 0.5, 1.0]);
    assert_eq!(words(&packet, &hair["arrays"]["offsets"]), [0, 3, 6]);
    assert_eq!(hair["ranges"], json!([[0.0, 1.0]]));
    let skin = &header["solids"][0];
    assert_eq!(words(&packet, &skin["arrays"]["triangles"]), [0, 1, 2]);
    assert_eq!(floats(&packet, &skin["arrays"]["normals"])[..3], [0.0, 1.0, 0.0]);
    assert_eq!(header["particles"][0]["count"], 10);
    assert_eq!(header["cameras"][0]["name"], "main");
}

#[test]
fn children_have_the_values_of_their_guides() {
    let frame = frame(2);
    let packet = packet(&frame, &Wish { channel: Some("wetness".into()), ..Wish::default() });
    let (header, _) = split(&packet).unwrap();
    let hair = &header["strands"][0];
    assert_eq!((hair["strands"].as_u64(), hair["simulated"].as_u64()), (Some(4), Some(2)));
    assert_eq!(floats(&packet, &hair["arrays"]["value"])[..12], [0.0, 0.5, 1.0].repeat(4));
    assert_eq!(words(&packet, &hair["arrays"]["numbers"]), [0, 1, 2, 3]);
}

#[test]
fn what_is_left_out_for_the_budget_is_told() {
    let frame = frame(100);
    let packet = packet(&frame, &Wish { budget: 4, channel: Some("age".into()), ..Wish::default() });
    let (header, _) = split(&packet).unwrap();
    let (hair, drops) = (&header["strands"][0], &header["particles"][0]);
    assert_eq!(hair["strands"], 200);
    assert!(hair["shown"].as_u64().unwrap() <= 2 && hair["vertices"].as_u64().unwrap() <= 6);
    assert_eq!((drops["count"].as_u64(), drops["shown"].as_u64()), (Some(10), Some(4)));
    assert_eq!(words(&packet, &drops["arrays"]["numbers"]), [0, 3, 6, 9]);
    assert_eq!(floats(&packet, &drops["arrays"]["value"]), [0.0, 3.0, 6.0, 9.0]);
    let radius = floats(&packet, &drops["arrays"]["radius"])[0];
    assert!((radius / DEFAULT_RADIUS - 3_f32.cbrt()).abs() < 1e-6);
}

#[test]
fn a_surface_comes_on_request() {
    let header = |surface| split(&packet(&frame(1), &Wish { surface, ..Wish::default() })).unwrap().0;
    assert!(header(true)["surface"]["triangles"].as_u64().unwrap() > 0);
    assert!(header(false)["surface"].is_null());
    // Drops hang at the tips of strands that hold more than clings to them.
    let lowest = |film: f32| {
        let mut frame = frame(1);
        frame.particles.clear();
        for (name, value) in [("fibre_water", 1.0), ("film", film)] {
            let values = Attribute { domain: Domain::Vertex, values: Values::F32(vec![value; 3]) };
            frame.strands[0].attributes.insert(name.into(), values);
        }
        let packet = packet(&frame, &Wish { surface: true, ..Wish::default() });
        let surface = split(&packet).unwrap().0["surface"].clone();
        floats(&packet, &surface["arrays"]["positions"]).chunks(3).map(|p| p[1]).reduce(f32::min)
    };
    assert_eq!(lowest(1e-6), None);
    assert!(lowest(2e-4).is_some_and(|y| y < -2.0 && y > -2.01), "{:?}", lowest(2e-4));
}

#[test]
fn the_porous_grid_comes_with_its_voxels() {
    let voxel = Voxel { centre: [1.0, 2.0, 3.0], saturation: 0.5, values: Vec::new() };
    let porous = Porous { edge: 0.01, voxels: vec![Voxel::default(), voxel] };
    let frame = frame(1);
    let packet = encode(&frame, None, Some(&porous), &Settings::default(), &[], &Wish::default()).unwrap();
    let grid = split(&packet).unwrap().0["porous"].clone();
    assert_eq!((grid["count"].as_u64(), floats(&packet, &grid["arrays"]["value"])), (Some(2), vec![0.0, 0.5]));
    assert_eq!(floats(&packet, &grid["arrays"]["positions"])[3..], [1.0, 2.0, 3.0]);
}

#[test]
fn empty_frames_and_foreign_bytes_do_no_harm() {
    let packet = packet(&Frame::default(), &Wish { surface: true, channel: Some("no such".into()), ..Wish::default() });
    assert_eq!(split(&packet).unwrap().0["strands"], json!([]));
    let empty = Frame { strands: vec![StrandBody { offsets: vec![0], ..StrandBody::default() }], ..Frame::default() };
    assert!(encode(&empty, None, None, &Settings::default(), &[], &Wish::default()).is_ok());
    for length in 0..packet.len().min(40) {
        assert!(split(&packet[..length]).is_none(), "{length}");
    }
    assert!(split(b"DRF2\0\0\0\0").is_none());
}
