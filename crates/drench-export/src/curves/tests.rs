use super::*;
use drench_io::{ChildStrands, SolidBody};

/// Two guides with a child between them, on a triangle, with water on the first guide.
fn frame(time: f64, film: f32) -> Frame {
    let per_vertex = |values: Vec<f32>| Attribute { domain: Domain::Vertex, values: Values::F32(values) };
    let per_strand = |values| Attribute { domain: Domain::Strand, values };
    let attributes = BTreeMap::from([
        ("radius".to_owned(), per_vertex(vec![35e-6; 4])),
        ("wetness".to_owned(), per_vertex(vec![film * 1e4, film * 1e4, 0.0, 0.0])),
        ("fibre_water".to_owned(), per_vertex(vec![film * 1e4, film * 1e4, 0.0, 0.0])),
        ("film".to_owned(), per_vertex(vec![film, film, 0.0, 0.0])),
        ("velocity".to_owned(), Attribute { domain: Domain::Vertex, values: Values::F32x3(vec![[1.0, 0.0, 0.0]; 4]) }),
        ("id".to_owned(), per_strand(Values::U32(vec![5, 9]))),
        ("root_uv".to_owned(), per_strand(Values::F32x2(vec![[0.1, 0.1], [0.15, 0.1]]))),
    ]);
    let body = StrandBody {
        name: "hair".into(),
        offsets: vec![0, 2, 4],
        positions: vec![[0.0; 3], [0.0, 0.1, 0.0], [1.0, 0.0, 0.0], [1.0, 0.1, 0.0]],
        attributes,
        children: Some(ChildStrands {
            solid: "skin".into(),
            triangles: vec![0],
            barycentric: vec![[0.5, 0.25]],
            guides: vec![[0, 1, 1]],
            weights: vec![[0.5, 0.5, 0.0]],
            length_ratio: vec![0.5],
        }),
    };
    let skin = SolidBody {
        name: "skin".into(),
        positions: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
        triangles: vec![[0, 1, 2]],
        ..SolidBody::default()
    };
    Frame { index: 0, time, strands: vec![body], solids: vec![skin], ..Frame::default() }
}

fn curves(groom: &mut Groom, frame: &Frame, children: bool) -> Curves {
    groom.see(&frame.strands[0], frame, children).unwrap();
    groom.show(&frame.strands[0], frame, children).unwrap()
}

#[test]
fn children_are_curves_with_the_values_of_their_guides() {
    let mut groom = Groom::new(2.0, 0.002);
    let all = curves(&mut groom, &frame(0.0, 20e-6), true);
    assert_eq!((all.len(), &all.offsets[..]), (3, &[0, 2, 4, 6][..]));
    assert_eq!(all.positions[4], [0.5, 0.0, 0.25]);
    // Diameter of fibre and film, twice as wide as it is.
    let width = all.scalars("width").unwrap();
    assert!((width[0] - 4.0 * 55e-6).abs() < 1e-9 && (width[2] - 4.0 * 35e-6).abs() < 1e-9);
    assert_eq!((width[4], all.scalars("film").unwrap()[4]), (width[0], 20e-6));
    assert_eq!(all.attributes["id"].values, Values::U32(vec![5, 9, 10]));
    assert_eq!(all.attributes["guide"].values, Values::U32(vec![5, 9, 5]));
    assert_eq!(all.attributes["clump_id"].values, Values::U32(vec![5, 9, 5]));
    assert_eq!(all.attributes["root_uv"].values, Values::F32x2(vec![[0.1, 0.1], [0.15, 0.1], [0.125, 0.1]]));
    assert_eq!(all.vectors("rest").unwrap(), all.positions);
    assert!(!all.attributes.contains_key("radius"));
    let guides = curves(&mut Groom::new(1.0, 0.002), &frame(0.0, 20e-6), false);
    assert_eq!((guides.len(), guides.positions.len()), (2, 4));
}

#[test]
fn every_attribute_has_a_value_for_each_of_its_elements_and_the_look_dries() {
    let mut groom = Groom::new(1.0, 0.002);
    let wet = curves(&mut groom, &frame(0.0, 20e-6), true);
    let mut moved = frame(1.0, 0.0);
    moved.strands[0].positions.iter_mut().for_each(|p| p[2] += 0.3);
    let dry = curves(&mut groom, &moved, true);
    for curves in [&wet, &dry] {
        for (name, attribute) in &curves.attributes {
            let wanted = if attribute.domain == Domain::Vertex { curves.positions.len() } else { curves.len() };
            assert_eq!(attribute.values.len(), wanted, "{name}");
        }
    }
    let at = |curves: &Curves, name: &str| curves.scalars(name).unwrap()[1];
    assert!(at(&wet, "wet_spec") > 0.9 && at(&dry, "wet_spec") < 0.2 && at(&dry, "wet_spec") > 0.05);
    assert!(at(&dry, "wet_dark") > 0.8 * at(&wet, "wet_dark"));
    assert_eq!((at(&dry, "film"), dry.vectors("rest").unwrap()), (0.0, &wet.positions[..]));
}

#[test]
fn pieces_of_a_torn_cord_keep_their_rest() {
    let positions: Vec<[f32; 3]> = (0..4).map(|i| [i as f32, 0.0, 0.0]).collect();
    let id = |ids: Vec<u32>| {
        BTreeMap::from([("id".to_owned(), Attribute { domain: Domain::Strand, values: Values::U32(ids) })])
    };
    let cord = |offsets: Vec<u32>, positions: Vec<[f32; 3]>, ids| Frame {
        strands: vec![StrandBody {
            name: "rope".into(),
            offsets,
            positions,
            attributes: id(ids),
            ..StrandBody::default()
        }],
        ..Frame::default()
    };
    let whole = cord(vec![0, 4], positions.clone(), vec![0]);
    let torn = cord(vec![0, 2, 5], vec![[0.0, 5.0, 0.0]; 5], vec![0, 0]);
    let mut groom = Groom::new(1.0, 0.0);
    curves(&mut groom, &whole, true);
    let pieces = curves(&mut groom, &torn, true);
    assert_eq!(pieces.vectors("rest").unwrap().iter().map(|p| p[0]).collect::<Vec<_>>(), [0.0, 1.0, 1.0, 2.0, 3.0]);
}
