use super::*;
use crate::frame::Domain;

/// A head that turns with hair that waves; everything else stays.
fn frame(index: u32, strands: u32) -> Frame {
    let time = f64::from(index) / 24.0;
    let vertices = 12;
    let offsets: Vec<u32> = (0..=strands).map(|strand| strand * vertices).collect();
    let positions: Vec<[f32; 3]> = (0..strands * vertices)
        .map(|i| {
            let (root, along) = ((i / vertices) as f32 * 0.7, (i % vertices) as f32);
            [root.sin() + 0.01 * along * (time as f32).sin(), root.cos() - 0.01 * along, 0.001 * along * along]
        })
        .collect();
    let vector = |scale: f32| positions.iter().map(|p| p.map(|x| x * scale)).collect::<Vec<_>>();
    let radius = (0..positions.len()).map(|i| 35e-6 * (1.0 - i as f32 * 1e-6)).collect();
    let attributes = BTreeMap::from([
        ("velocity".to_owned(), Attribute { domain: Domain::Vertex, values: Values::F32x3(vector(3.0)) }),
        ("radius".to_owned(), Attribute { domain: Domain::Vertex, values: Values::F32(radius) }),
        ("id".to_owned(), Attribute { domain: Domain::Strand, values: Values::U32((0..strands).collect()) }),
        (
            "root_uv".to_owned(),
            Attribute { domain: Domain::Strand, values: Values::F32x2(vec![[0.25, 0.5]; strands as usize]) },
        ),
        (
            "root_normal".to_owned(),
            Attribute { domain: Domain::Strand, values: Values::F32x3(vec![[0.0, 1.0, 0.0]; strands as usize]) },
        ),
    ]);
    let children = ChildStrands {
        solid: "head".into(),
        triangles: vec![0, 1],
        barycentric: vec![[0.2, 0.3]; 2],
        guides: vec![[0, 1, 0]; 2],
        weights: vec![[0.5, 0.25, 0.25]; 2],
        length_ratio: vec![0.9, 1.1],
    };
    let hair = StrandBody { name: "hair".into(), offsets, positions, attributes, children: Some(children) };
    let particles = vec![drops(index, strands), ParticleBody { kind: ParticleKind::Grains, ..drops(0, 20) }];
    Frame { index, time, strands: vec![hair], solids: vec![head(time), jelly(time)], particles }
}

/// Drops that fall; in each frame a few more.
fn drops(index: u32, count: u32) -> ParticleBody {
    let count = count + 3 * index;
    let fall = 0.01 * index as f32;
    let place = |i: u32| [(i % 10) as f32 * 0.01, (i / 10 % 10) as f32 * 0.01 - fall, (i / 100) as f32 * 0.01];
    let values = |values: Values| Attribute { domain: Domain::Vertex, values };
    let numbers = |f: &dyn Fn(u32) -> f32| values(Values::F32((0..count).map(f).collect()));
    ParticleBody {
        name: "water".into(),
        kind: ParticleKind::Liquid,
        positions: (0..count).map(place).collect(),
        attributes: BTreeMap::from([
            ("velocity".to_owned(), values(Values::F32x3((0..count).map(|i| [0.0, -(i as f32) * 0.1, 0.3]).collect()))),
            ("radius".to_owned(), numbers(&|_| 0.005)),
            ("age".to_owned(), numbers(&|i| fall + i as f32 / 3.0)),
            ("id".to_owned(), values(Values::U32((0..count).collect()))),
        ]),
    }
}

fn head(time: f64) -> SolidBody {
    let pose = RigidPose {
        position: DVec3::new(0.1 * time, 1.5, -0.2),
        rotation: DQuat::from_rotation_y(time) * DQuat::from_rotation_x(0.3),
    };
    let rest = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
    let positions = rest.map(|p| (pose.rotation * (0.1 * p) + pose.position).as_vec3().to_array());
    let normals = rest.map(|p| (pose.rotation * (p - 0.25).normalize()).as_vec3().to_array());
    SolidBody {
        name: "head".into(),
        positions: positions.to_vec(),
        triangles: vec![[0, 1, 2], [0, 2, 3]],
        normals: normals.to_vec(),
        pose: Some(pose),
    }
}

fn jelly(time: f64) -> SolidBody {
    let positions = (0..100).map(|i| [i as f32 * 0.01, (f64::from(i) * time).sin() as f32, 0.3]).collect();
    SolidBody { name: "jelly".into(), positions, triangles: vec![[7, 8, 9]], normals: vec![], pose: None }
}

fn largest_difference(a: &[[f32; 3]], b: &[[f32; 3]]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

fn velocity(frame: &Frame) -> &[[f32; 3]] {
    match &frame.strands[0].attributes["velocity"].values {
        Values::F32x3(values) => values,
        _ => unreachable!(),
    }
}

#[test]
fn frames_come_back_complete_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let cache = FrameCache::create(folder.path(), &frame(0, 3_000)).unwrap();
    for index in 0..4 {
        cache.write(&frame(index, 3_000)).unwrap();
    }
    let cache = FrameCache::open(folder.path()).unwrap();
    assert_eq!(cache.indices().unwrap(), [0, 1, 2, 3]);
    for index in [3, 0, 2] {
        cache.verify(index).unwrap();
        let (mut wanted, mut got) = (frame(index, 3_000), cache.read(index).unwrap());
        assert!(largest_difference(&wanted.strands[0].positions, &got.strands[0].positions) <= 1e-6);
        assert!(largest_difference(velocity(&wanted), velocity(&got)) <= 3e-4);
        for (wanted, got) in wanted.particles.iter().zip(&got.particles) {
            assert!(largest_difference(&wanted.positions, &got.positions) <= 1e-6);
            // 300 m/s in steps of at most 2^-14 of that.
            let velocities = (wanted.vectors("velocity").unwrap(), got.vectors("velocity").unwrap());
            assert!(largest_difference(velocities.0, velocities.1) <= 0.01);
            for (wanted, got) in wanted.scalars("age").unwrap().iter().zip(got.scalars("age").unwrap()) {
                assert!((wanted - got).abs() <= wanted / 16_384.0);
            }
        }
        for solid in 0..2 {
            assert!(largest_difference(&wanted.solids[solid].positions, &got.solids[solid].positions) <= 1e-6);
            assert!(largest_difference(&wanted.solids[solid].normals, &got.solids[solid].normals) <= 1e-6);
        }
        // Everything else, bit by bit.
        for frame in [&mut wanted, &mut got] {
            frame.strands[0].positions.clear();
            frame.strands[0].attributes.remove("velocity");
            for body in &mut frame.particles {
                body.positions.clear();
                body.attributes.retain(|name, _| name != "velocity" && name != "age");
            }
            frame.solids.iter_mut().for_each(|solid| {
                solid.positions.clear();
                solid.normals.clear();
            });
        }
        assert_eq!(wanted, got);
    }
    cache.remove_after(1).unwrap();
    assert_eq!(cache.indices().unwrap(), [0, 1]);
}

#[test]
fn a_frame_holds_only_what_changes() {
    let folder = tempfile::tempdir().unwrap();
    let cache = FrameCache::create(folder.path(), &frame(0, 10)).unwrap();
    cache.write(&frame(2, 10)).unwrap();
    let reader = Reader::open(&cache.path(2), FileKind::Frame).unwrap();
    for name in ["strands/0/positions", "strands/0/attributes/velocity", "solids/1/positions"] {
        assert!(reader.has(name), "{name}");
    }
    for name in [
        "strands/0/offsets",
        "strands/0/attributes/radius",
        "strands/0/children/guides",
        "solids/0/positions",
        "solids/0/normals",
        "solids/0/triangles",
        "solids/1/triangles",
    ] {
        assert!(!reader.has(name), "{name}");
    }
}

#[test]
fn a_solid_that_claims_to_be_rigid_and_is_not_keeps_its_shape() {
    let folder = tempfile::tempdir().unwrap();
    let cache = FrameCache::create(folder.path(), &frame(0, 2)).unwrap();
    let mut bent = frame(1, 2);
    bent.solids[0].positions[2][1] += 0.05;
    cache.write(&bent).unwrap();
    let got = cache.read(1).unwrap();
    assert!(largest_difference(&bent.solids[0].positions, &got.solids[0].positions) <= 1e-6);
}

#[test]
fn topology_may_change() {
    let folder = tempfile::tempdir().unwrap();
    let cache = FrameCache::create(folder.path(), &frame(0, 50)).unwrap();
    let mut torn = frame(1, 40);
    torn.strands[0].offsets.insert(1, 5);
    torn.strands[0].attributes.retain(|name, _| name == "velocity");
    torn.strands[0].children = None;
    cache.write(&torn).unwrap();
    let got = cache.read(1).unwrap();
    assert_eq!(got.strands[0].offsets, torn.strands[0].offsets);
    assert_eq!(got.strands[0].attributes.len(), 1);
    assert!(largest_difference(&torn.strands[0].positions, &got.strands[0].positions) <= 1e-6);
}

/// A cord that tears more and more: more pieces, more vertices, and everything is there in each frame.
#[test]
fn strands_tear_from_frame_to_frame() {
    let folder = tempfile::tempdir().unwrap();
    let torn = |index: u32| {
        let (pieces, vertices) = (index + 1, 20 + index);
        let offsets = (0..=pieces).map(|piece| piece * vertices / pieces).collect();
        let numbers = |scale: f32| Values::F32((0..vertices).map(|i| i as f32 * scale).collect());
        let per_vertex = |values| Attribute { domain: Domain::Vertex, values };
        let ids = Attribute { domain: Domain::Strand, values: Values::U32((0..pieces).collect()) };
        let cord = StrandBody {
            name: "rope".into(),
            offsets,
            positions: (0..vertices).map(|i| [i as f32 * 0.1, 0.0, 0.5]).collect(),
            attributes: BTreeMap::from([
                ("radius".to_owned(), per_vertex(numbers(1e-3))),
                ("tension".to_owned(), per_vertex(numbers(0.125))),
                ("normal".to_owned(), per_vertex(Values::F32x3(vec![[0.0, 1.0, 0.0]; vertices as usize]))),
                ("id".to_owned(), ids),
            ]),
            children: None,
        };
        Frame { index, strands: vec![cord], ..Frame::default() }
    };
    let cache = FrameCache::create(folder.path(), &torn(0)).unwrap();
    for index in 0..5 {
        cache.write(&torn(index)).unwrap();
    }
    for index in [4, 0, 2] {
        let (mut wanted, mut got) = (torn(index), FrameCache::open(folder.path()).unwrap().read(index).unwrap());
        assert!(largest_difference(&wanted.strands[0].positions, &got.strands[0].positions) <= 1e-6);
        wanted.strands[0].positions.clear();
        got.strands[0].positions.clear();
        assert_eq!(wanted, got);
    }
}

#[test]
fn particles_come_and_go_and_only_what_changes_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let wet = |particles| Frame { particles, ..Frame::default() };
    let cache = FrameCache::create(folder.path(), &wet(vec![drops(0, 5_000)])).unwrap();
    for (index, particles) in
        [vec![drops(0, 5_000)], vec![drops(0, 0)], vec![drops(7, 4_000)], vec![], vec![drops(0, 1), drops(0, 0)]]
            .into_iter()
            .enumerate()
    {
        cache.write(&Frame { index: index as u32, ..wet(particles.clone()) }).unwrap();
        let got = cache.read(index as u32).unwrap().particles;
        assert_eq!(got.len(), particles.len());
        for (got, wanted) in got.iter().zip(&particles) {
            assert!(largest_difference(&got.positions, &wanted.positions) <= 1e-6);
            assert_eq!(got.whole("id"), wanted.whole("id"));
        }
    }
    let reader = |index| Reader::open(&cache.path(index), FileKind::Frame).unwrap();
    assert!(reader(0).has("particles/0/positions") && reader(0).has("particles/0/attributes/velocity"));
    assert!(!reader(0).has("particles/0/attributes/id") && !reader(0).has("particles/0/attributes/radius"));
    assert!(reader(2).has("particles/0/attributes/id"));
}

/// Version 1 is the same without particles, and a version that is not known is refused.
#[test]
fn frames_of_version_1_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let dry = |index| Frame { particles: Vec::new(), ..frame(index, 10) };
    let cache = FrameCache::create(folder.path(), &dry(0)).unwrap();
    cache.write(&dry(1)).unwrap();
    let now = cache.read(1).unwrap();
    let set_version = |version: u8| {
        for path in [folder.path().join(MODEL), cache.path(1)] {
            let mut content = fs::read(&path).unwrap();
            content[8] = version;
            fs::write(&path, content).unwrap();
        }
    };
    set_version(1);
    assert_eq!(FrameCache::open(folder.path()).unwrap().read(1).unwrap(), now);
    set_version(3);
    assert!(matches!(FrameCache::open(folder.path()), Err(IoError::Version { found: 3, supported: 2, .. })));
}

#[test]
fn an_empty_world_is_a_frame_too() {
    let folder = tempfile::tempdir().unwrap();
    let cache = FrameCache::create(folder.path(), &Frame::default()).unwrap();
    cache.write(&Frame::default()).unwrap();
    assert_eq!(cache.read(0).unwrap(), Frame::default());
}

#[test]
fn a_frame_that_contradicts_itself_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let cache = FrameCache::create(folder.path(), &frame(0, 5)).unwrap();
    let mut broken = frame(1, 5);
    broken.strands[0].positions.pop();
    assert!(matches!(cache.write(&broken), Err(IoError::Unstorable { frame: 1, .. })));
    let mut broken = frame(1, 5);
    let values = Values::F32(vec![0.0; 5]);
    broken.strands[0].attributes.insert("x".repeat(300), Attribute { domain: Domain::Strand, values });
    assert!(matches!(cache.write(&broken), Err(IoError::Unstorable { .. })));
    assert!(cache.indices().unwrap().is_empty());
}

#[test]
fn a_frame_of_another_run_or_number_is_recognised() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let cache = FrameCache::create(one.path(), &frame(0, 5)).unwrap();
    cache.write(&frame(1, 5)).unwrap();
    let foreign = FrameCache::create(other.path(), &frame(0, 6)).unwrap();
    foreign.write(&frame(1, 6)).unwrap();
    fs::copy(foreign.path(1), cache.path(2)).unwrap();
    fs::copy(cache.path(1), cache.path(3)).unwrap();
    for index in [2, 3] {
        assert!(matches!(cache.read(index), Err(IoError::Damaged { .. })));
        assert!(matches!(cache.verify(index), Err(IoError::Damaged { .. })));
    }
    assert!(matches!(cache.read(9), Err(IoError::Missing { .. })));
}

/// Every truncation and every flipped byte is an error, never a panic and never another frame.
#[test]
fn damage_anywhere_is_recognised() {
    let folder = tempfile::tempdir().unwrap();
    let cache = FrameCache::create(folder.path(), &frame(0, 5)).unwrap();
    cache.write(&frame(1, 5)).unwrap();
    let sound = fs::read(cache.path(1)).unwrap();
    let read = |content: &[u8]| {
        let reader = Reader::new(&cache.path(1), FileKind::Frame, content.to_vec())?;
        cache.read_from(&reader, 1)
    };
    assert!(read(&sound).is_ok());
    for length in 0..sound.len() {
        assert!(matches!(read(&sound[..length]), Err(IoError::Damaged { .. })), "cut after {length} bytes");
    }
    for place in 0..sound.len() {
        let mut content = sound.clone();
        content[place] ^= 1 << (place % 8);
        let error = read(&content).expect_err("a flipped bit");
        assert!(matches!(error, IoError::Damaged { .. } | IoError::Version { .. }), "byte {place}: {error}");
        assert!(error.to_string().contains("000001.drench") && error.to_string().contains("fix:"));
    }
    assert!(read(&[&sound[..], &[0; 7]].concat()).is_err());
}

#[test]
fn frames_have_the_same_bytes_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let before = FrameCache::create(folder.path(), &frame(0, 5)).unwrap();
    before.write(&frame(3, 5)).unwrap();
    let bytes = fs::read(before.path(3)).unwrap();
    let after = FrameCache::open(folder.path()).unwrap();
    after.write(&frame(3, 5)).unwrap();
    assert!(fs::read(after.path(3)).unwrap() == bytes);
}
