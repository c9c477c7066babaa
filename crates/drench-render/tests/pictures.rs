//! Whole pictures: shapes where they must be, the same bits on any number of threads, no panic on any frame.

use drench_io::{Frame, SolidBody, StrandBody};
use drench_render::{FibreModel, Ground, Light, Quality, RenderError, Renderer, Settings, Sky, SolidLook, View};
use glam::Vec3;
use std::f32::consts::{PI, TAU};

fn settings(width: u32, height: u32) -> Settings {
    Settings { width, height, ..Settings::default() }
}

fn ball(radius: f32) -> SolidBody {
    let (columns, rows) = (96, 48);
    let mut body = SolidBody { name: "ball".into(), ..SolidBody::default() };
    for j in 0..=rows {
        for i in 0..=columns {
            let (u, v) = (i as f32 / columns as f32 * TAU, j as f32 / rows as f32 * PI);
            let n = Vec3::new(v.sin() * u.cos(), v.cos(), v.sin() * u.sin());
            body.positions.push((n * radius).to_array());
            body.normals.push(n.to_array());
        }
    }
    for j in 0..rows {
        for i in 0..columns {
            let a = j * (columns + 1) + i;
            body.triangles.extend([[a, a + 1, a + columns + 1], [a + 1, a + columns + 2, a + columns + 1]]);
        }
    }
    body
}

fn fur(count: u32, length: f32) -> StrandBody {
    let mut body = StrandBody { name: "fur".into(), offsets: vec![0], ..StrandBody::default() };
    for i in 0..count {
        let y = 1.0 - 2.0 * (i as f32 + 0.5) / count as f32;
        let (r, angle) = ((1.0 - y * y).sqrt(), i as f32 * 2.399_963);
        let n = Vec3::new(r * angle.cos(), y, r * angle.sin());
        for k in 0..5 {
            let s = k as f32 / 4.0;
            body.positions.push((n * (0.1 + length * s) + Vec3::NEG_Y * (length * 0.3 * s * s)).to_array());
        }
        body.offsets.push(body.positions.len() as u32);
    }
    body
}

fn furry() -> Frame {
    Frame { strands: vec![fur(1_500, 0.03)], solids: vec![ball(0.1)], ..Frame::default() }
}

fn view() -> View {
    View { position: Vec3::new(0.3, 0.2, 0.6), target: Vec3::ZERO, field_of_view: 0.5, ..View::default() }
}

#[test]
fn a_ball_covers_the_area_of_its_silhouette() {
    let mut settings = settings(200, 150);
    settings.lights = Vec::new();
    settings.sky = Sky { zenith: Vec3::ONE, horizon: Vec3::ONE, strength: 1.0, visible: true };
    settings.solids.insert("ball".into(), SolidLook { visible: true, colour: Vec3::ZERO, roughness: 1.0 });
    let frame = Frame { solids: vec![ball(0.1)], ..Frame::default() };
    let view = View { position: Vec3::new(0.0, 0.0, 1.0), target: Vec3::ZERO, field_of_view: 0.4, ..View::default() };
    let picture = Renderer::new(settings).unwrap().render(&frame, &view).unwrap();
    let covered: f32 = picture.pixels.iter().map(|p| 1.0 - p[0].min(1.0)).sum();
    // Tangent cone of a ball of radius r at distance d: radius of the image r / sqrt(d^2 - r^2).
    let radius = 0.1 / (1.0_f32 - 0.01).sqrt() * 75.0 / 0.2_f32.tan();
    let expected = PI * radius * radius;
    // The coat reflects a little of the sky, more at the rim.
    assert!((0.85..1.01).contains(&(covered / expected)), "{}", covered / expected);
}

#[test]
fn strands_cover_the_area_of_their_width() {
    let mut settings = settings(300, 200);
    settings.lights = Vec::new();
    settings.sky = Sky { zenith: Vec3::ONE, horizon: Vec3::ONE, strength: 1.0, visible: true };
    let look = drench_render::HairLook { model: FibreModel::KajiyaKay, colour: Some(Vec3::ZERO), ..Default::default() };
    settings.hair.insert("hair".into(), look);
    let mut body = StrandBody { name: "hair".into(), offsets: vec![0], ..StrandBody::default() };
    // Far apart, in all directions of the picture, a fraction of a pixel wide.
    for i in 0..60 {
        let (s, c) = (i as f32 * 0.7).sin_cos();
        let middle = Vec3::new((i % 10) as f32 * 0.03 - 0.135, (i / 10) as f32 * 0.03 - 0.075, 0.0);
        let half = Vec3::new(c, s, 0.0) * 0.012;
        body.positions.extend([(middle - half).to_array(), middle.to_array(), (middle + half).to_array()]);
        body.offsets.push(body.positions.len() as u32);
    }
    let values = drench_io::Values::F32(vec![2e-4; body.positions.len()]);
    body.attributes.insert("radius".into(), drench_io::Attribute { domain: drench_io::Domain::Vertex, values });
    let frame = Frame { strands: vec![body], ..Frame::default() };
    let view = View { position: Vec3::new(0.0, 0.0, 1.0), target: Vec3::ZERO, field_of_view: 0.3, ..View::default() };
    let picture = Renderer::new(settings).unwrap().render(&frame, &view).unwrap();
    let covered: f32 = picture.pixels.iter().map(|p| 1.0 - p[0]).sum();
    let scale = 100.0 / 0.15_f32.tan();
    let expected = 60.0 * (0.024 * scale) * (4e-4 * scale);
    assert!((covered / expected - 1.0).abs() < 0.03, "{}", covered / expected);
}

#[test]
fn pictures_have_the_same_bits_on_any_number_of_threads() {
    let mut settings = Settings { samples: Some(4), ..settings(96, 54) };
    settings.ground = Some(Ground { height: -0.13, colour: Vec3::splat(0.4), roughness: 0.8 });
    settings.lights.push(Light::Lamp {
        position: Vec3::new(0.4, 0.5, 0.3),
        colour: Vec3::ONE,
        power: 2.0,
        radius: 0.05,
    });
    for quality in [Quality::Preview, Quality::Beauty] {
        settings.quality = quality;
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut renderer = Renderer::new(settings.clone()).unwrap();
            let view = View { aperture: 0.01, ..view() };
            let view = if quality == Quality::Beauty { self::view() } else { view };
            pool.install(|| renderer.render(&furry(), &view).unwrap())
        };
        let one = on(1);
        assert!(one.pixels.iter().flatten().all(|v| v.is_finite() && *v >= 0.0));
        assert_eq!(one, on(2));
        assert_eq!(one, on(8));
    }
}

#[test]
fn buffers_do_not_leak_from_picture_to_picture() {
    let mut renderer = Renderer::new(settings(120, 80)).unwrap();
    let first = renderer.render(&furry(), &view()).unwrap();
    let other = View { position: Vec3::new(-0.4, 0.1, 0.3), ..view() };
    assert_ne!(first, renderer.render(&Frame::default(), &other).unwrap());
    assert_eq!(first, renderer.render(&furry(), &view()).unwrap());
}

#[test]
fn fur_is_shadowed_and_both_models_and_qualities_agree_on_brightness() {
    let mean = |picture: &drench_render::Picture| {
        let middle = (0..80 * 60).filter(|i| (20..40).contains(&(i / 80)) && (30..50).contains(&(i % 80)));
        middle.map(|i| picture.pixels[i][1]).sum::<f32>() / 400.0
    };
    let mut values = Vec::new();
    for (shading, quality) in [
        (FibreModel::Chiang, Quality::Preview),
        (FibreModel::Chiang, Quality::Beauty),
        (FibreModel::KajiyaKay, Quality::Preview),
    ] {
        let settings = Settings { shading: Some(shading), quality, ..settings(80, 60) };
        values.push(mean(&Renderer::new(settings).unwrap().render(&furry(), &view()).unwrap()));
    }
    assert!(values.iter().all(|v| (v / values[0] - 1.0).abs() < 0.5), "{values:?}");
}

#[test]
fn odd_frames_give_a_picture_or_an_error_but_no_panic() {
    assert!(matches!(Renderer::new(settings(0, 10)), Err(RenderError::NoPixels { .. })));
    assert!(matches!(Renderer::new(settings(60_000, 60_000)), Err(RenderError::TooManyPixels { .. })));
    let mut renderer = Renderer::new(settings(33, 17)).unwrap();
    let empty = renderer.render(&Frame::default(), &view()).unwrap();
    assert_eq!((empty.pixels.len(), empty.skipped), (33 * 17, 0));

    let mut broken = furry();
    broken.strands[0].positions[7] = [f32::NAN; 3];
    broken.solids[0].positions[500] = [f32::INFINITY; 3];
    let picture = renderer.render(&broken, &view()).unwrap();
    assert!(picture.skipped >= 2);
    assert!(picture.pixels.iter().flatten().all(|v| v.is_finite()));

    broken.solids[0].triangles.push([0, 1, 9_999_999]);
    assert!(matches!(renderer.render(&broken, &view()), Err(RenderError::Malformed { .. })));

    // The camera inside the ball, everything behind it, strands of no length and of great width.
    let mut strange = furry();
    strange.strands[0].positions[..5].fill([0.0; 3]);
    let values = drench_io::Values::F32(vec![0.03; strange.strands[0].positions.len()]);
    let radius = drench_io::Attribute { domain: drench_io::Domain::Vertex, values };
    strange.strands[0].attributes.insert("radius".into(), radius);
    strange.strands[0].offsets.truncate(9);
    for position in [Vec3::new(0.0, 0.0, 0.05), Vec3::new(0.0, 0.0, -9.0)] {
        let view = View { position, target: Vec3::new(0.0, 0.0, -10.0), ..view() };
        let picture = renderer.render(&strange, &view).unwrap();
        assert!(picture.pixels.iter().flatten().all(|v| v.is_finite()));
    }
}

#[test]
fn scenes_become_settings() {
    let source = drench_scene::Source::named("bunny");
    let scene = drench_scene::load(source, None, &[]).unwrap();
    let settings = Settings::from_scene(&scene, &scene.render);
    assert_eq!((settings.width, settings.height), (scene.render.width, scene.render.height));
    assert_eq!(settings.lights.len(), scene.lights.len());
    let view = View::from_scene(&scene, &scene.cameras[0], 0.5);
    assert!(view.position.is_finite() && view.field_of_view > 0.0);
}
