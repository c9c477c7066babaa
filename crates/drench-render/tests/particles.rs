//! Pictures of liquids, grains and ropes: shapes where they must be, the same bits on any number of threads, no panic.

use drench_io::{Attribute, Domain, Frame, ParticleBody, ParticleKind, StrandBody, Values};
use drench_render::{Ground, LiquidLook, LiquidStyle, Picture, Quality, RenderError, Renderer, Settings, Sky, View};
use glam::Vec3;
use std::collections::BTreeMap;
use std::f32::consts::PI;

fn body(kind: ParticleKind, positions: Vec<Vec3>, radii: Vec<f32>) -> ParticleBody {
    let per_particle = |values| Attribute { domain: Domain::Vertex, values };
    ParticleBody {
        name: "stuff".into(),
        kind,
        attributes: BTreeMap::from([
            ("wetness".to_owned(), per_particle(Values::F32((0..radii.len()).map(|i| i as f32 * 0.1).collect()))),
            ("radius".to_owned(), per_particle(Values::F32(radii))),
        ]),
        positions: positions.into_iter().map(|p| p.to_array()).collect(),
    }
}

fn lattice(count: i32, step: f32, centre: Vec3) -> Vec<Vec3> {
    let axis = |i: i32| (i as f32 + 0.5 - 0.5 * count as f32) * step;
    let all = (0..count).flat_map(|z| (0..count).flat_map(move |y| (0..count).map(move |x| [x, y, z])));
    all.map(|p| centre + Vec3::from(p.map(axis))).collect()
}

fn rope() -> StrandBody {
    let per_vertex = |values| Attribute { domain: Domain::Vertex, values };
    StrandBody {
        name: "rope".into(),
        offsets: vec![0, 4, 8],
        positions: (0..8).map(|i| [0.02 * i as f32 - 0.08, 0.08 + 0.01 * (i / 4) as f32, 0.02]).collect(),
        attributes: BTreeMap::from([
            ("radius".to_owned(), per_vertex(Values::F32(vec![0.004; 8]))),
            ("twist".to_owned(), per_vertex(Values::F32((0..8).map(|i| i as f32).collect()))),
        ]),
        children: None,
    }
}

/// Water in which sand lies, with a rope across and a few drops in the air.
fn beach() -> Frame {
    let mut water = lattice(8, 0.01, Vec3::ZERO);
    water.extend([Vec3::new(0.0, 0.1, 0.0), Vec3::new(0.05, 0.08, 0.01)]);
    // The last drop is small.
    let mut radii = vec![0.005; water.len() - 1];
    radii.push(0.001);
    let mut water = body(ParticleKind::Liquid, water, radii);
    // One of them falls, so fast that it is a streak.
    let mut velocities = vec![[0.0; 3]; water.positions.len()];
    velocities[512] = [0.2, -2.0, 0.1];
    water.attributes.insert("velocity".into(), Attribute { domain: Domain::Vertex, values: Values::F32x3(velocities) });
    let sand = lattice(6, 0.006, Vec3::new(0.05, -0.02, 0.0));
    let sand = body(ParticleKind::Grains, sand, vec![0.003; 216]);
    Frame { particles: vec![water, sand], strands: vec![rope()], ..Frame::default() }
}

fn view() -> View {
    View { position: Vec3::new(0.1, 0.15, 0.4), target: Vec3::ZERO, field_of_view: 0.5, ..View::default() }
}

/// Only an even white sky.
fn white(width: u32, height: u32) -> Settings {
    let sky = Sky { zenith: Vec3::ONE, horizon: Vec3::ONE, strength: 1.0, visible: true };
    Settings { width, height, lights: Vec::new(), sky, ..Settings::default() }
}

fn sound(picture: &Picture) {
    assert!(picture.pixels.iter().flatten().all(|v| v.is_finite() && *v >= 0.0));
}

/// Opacity counts the pixels of a ball, whatever its colour.
#[test]
fn a_grain_covers_the_area_of_its_silhouette() {
    let mut settings = white(200, 150);
    settings.sky.visible = false;
    let straight = View { position: Vec3::Z, target: Vec3::ZERO, field_of_view: 0.4, ..View::default() };
    for (radius, centre) in [(0.1, Vec3::ZERO), (0.03, Vec3::new(0.1, -0.08, 0.0)), (0.004, Vec3::new(-0.1, 0.0, 0.0))]
    {
        let frame =
            Frame { particles: vec![body(ParticleKind::Grains, vec![centre], vec![radius])], ..Frame::default() };
        let picture = Renderer::new(settings.clone()).unwrap().render(&frame, &straight).unwrap();
        let covered: f32 = picture.opacity.iter().sum();
        // The cone around the ball, of half angle a with sin a = r / d at the angle b to the axis, cuts the picture
        // plane in an ellipse of area pi sin^2 a cos a / (cos^2 b - sin^2 a)^(3/2) for plane distance one.
        let to = centre - Vec3::Z;
        let (sin_a, cos_b) = (radius / to.length(), -to.z / to.length());
        let cos_a = (1.0 - sin_a * sin_a).sqrt();
        let area = PI * sin_a * sin_a * cos_a / (cos_b * cos_b - sin_a * sin_a).powf(1.5);
        let scale = 75.0 / 0.2_f32.tan();
        let expected = area * scale * scale;
        assert!((covered / expected - 1.0).abs() < 0.02 + 0.5 / expected.sqrt(), "{covered} {expected} of {radius}");
    }
}

/// A drop in front of an even sky: what is not mirrored goes through, so that only absorption dims it.
#[test]
fn clear_water_before_an_even_sky_is_as_bright_as_the_sky() {
    let mut settings = white(60, 60);
    let drop = body(ParticleKind::Liquid, lattice(9, 0.01, Vec3::ZERO), vec![0.005; 729]);
    let frame = Frame { particles: vec![drop], ..Frame::default() };
    let straight = View { position: Vec3::new(0.0, 0.0, 0.3), target: Vec3::ZERO, ..View::default() };
    let middle = |settings: &Settings| {
        let picture = Renderer::new(settings.clone()).unwrap().render(&frame, &straight).unwrap();
        sound(&picture);
        Vec3::from(picture.pixels[30 * 60 + 30])
    };
    settings.liquid = LiquidLook { absorption: Vec3::ZERO, ..LiquidLook::water() };
    let clear = middle(&settings);
    assert!((clear - 1.0).abs().max_element() < 0.05, "{clear}");
    // About 0.09 m of liquid and a little more for the surface's distance from the outermost particles.
    settings.liquid.absorption = Vec3::new(0.0, 5.0, 10.0);
    let dim = middle(&settings) / clear;
    let way = -dim.y.ln() / 5.0;
    assert!((0.08..0.11).contains(&way) && (dim.x - 1.0).abs() < 0.05, "{dim} {way}");
    assert!((dim.z - dim.y * dim.y).abs() < 0.02, "{dim}");
    // Milk hides the sky behind it.
    settings.liquid = LiquidLook { colour: Vec3::new(0.5, 0.5, 0.5), ..LiquidLook::milk() };
    let milk = middle(&settings);
    assert!(milk.max_element() < 0.75, "{milk}");
}

#[test]
fn pictures_have_the_same_bits_on_any_number_of_threads() {
    let mut settings = Settings { width: 96, height: 64, ..Settings::default() };
    settings.ground = Some(Ground { height: -0.045, colour: Vec3::splat(0.4), roughness: 0.8 });
    for (quality, style) in [
        (Quality::Preview, LiquidStyle::Surface),
        (Quality::Beauty, LiquidStyle::Surface),
        (Quality::Preview, LiquidStyle::Spheres),
    ] {
        settings.quality = quality;
        settings.liquid.style = style;
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut renderer = Renderer::new(settings.clone()).unwrap();
            pool.install(|| renderer.render(&beach(), &view()).unwrap())
        };
        let one = on(1);
        sound(&one);
        assert_eq!(one, on(2));
        assert_eq!(one, on(8));
    }
}

/// A drop that falls takes away of the picture behind it what one that stands still does, spread over its way.
#[test]
fn a_falling_drop_is_spread_over_its_way() {
    let mut settings = white(150, 200);
    settings.sky.visible = false;
    let straight = View { position: Vec3::Z, target: Vec3::ZERO, field_of_view: 0.4, ..View::default() };
    let covered = |shutter: f32| {
        let mut drop = body(ParticleKind::Liquid, vec![Vec3::ZERO], vec![2.4e-3 / (6.0 / PI).cbrt() / 2.0]);
        let velocity = Values::F32x3(vec![[0.0, -3.0, 0.0]]);
        drop.attributes.insert("velocity".into(), Attribute { domain: Domain::Vertex, values: velocity });
        let frame = Frame { particles: vec![drop], ..Frame::default() };
        let settings = Settings { shutter, ..settings.clone() };
        let picture = Renderer::new(settings).unwrap().render(&frame, &straight).unwrap();
        sound(&picture);
        let sum: f32 = picture.opacity.iter().sum();
        let rows = picture.opacity.chunks(150).filter(|row| row.iter().any(|&o| o > 1e-3)).count();
        (sum, rows as f32, picture.opacity.iter().copied().fold(0.0, f32::max))
    };
    // Pixels of a metre at the distance of the drop.
    let scale = 100.0 / 0.2_f32.tan();
    for shutter in [0.01_f32, 0.02, 0.05] {
        let (sum, rows, most) = covered(shutter);
        let (area, way) = (PI * (1.2e-3 * scale).powi(2), 3.0 * shutter * scale);
        assert!((sum / area - 1.0).abs() < 0.1, "{sum} {area}");
        assert!((rows - way).abs() < 3.0, "{rows} {way}");
        assert!(most < 2.5e-3 * scale / way, "{most}");
    }
    let (_, rows, most) = covered(0.0);
    assert!(rows < 4.0 && most > 0.15, "{rows} {most}");
}

#[test]
fn buffers_do_not_leak_from_picture_to_picture() {
    let mut renderer = Renderer::new(Settings { width: 96, height: 64, ..Settings::default() }).unwrap();
    let first = renderer.render(&beach(), &view()).unwrap();
    assert_ne!(first, renderer.render(&Frame::default(), &view()).unwrap());
    assert_eq!(first, renderer.render(&beach(), &view()).unwrap());
}

#[test]
fn odd_particles_are_left_out_and_counted() {
    let mut renderer = Renderer::new(Settings { width: 48, height: 32, ..Settings::default() }).unwrap();
    for kind in [ParticleKind::Liquid, ParticleKind::Grains] {
        let positions = vec![
            Vec3::ZERO,
            Vec3::NAN,
            Vec3::INFINITY,
            Vec3::splat(1e8),
            Vec3::new(0.01, 0.0, 0.0),
            Vec3::ZERO,
            Vec3::new(0.0, 0.02, 0.0),
        ];
        let radii = vec![0.005, 0.005, 0.005, 0.005, 0.0, 0.005, f32::NAN];
        let mut stuff = body(kind, positions, radii);
        let values = Values::F32(vec![f32::NAN, f32::INFINITY, -1.0, 0.0, 0.0, 1e30, 0.0]);
        stuff.attributes.insert("wetness".into(), Attribute { domain: Domain::Vertex, values });
        let mut frame = Frame { particles: vec![stuff], ..Frame::default() };
        let picture = renderer.render(&frame, &view()).unwrap();
        sound(&picture);
        assert!(picture.skipped >= 4, "{}", picture.skipped);
        // All around the camera, and none.
        frame.particles[0].positions.fill(view().position.to_array());
        sound(&renderer.render(&frame, &view()).unwrap());
        frame.particles[0].positions.truncate(2);
        assert!(matches!(renderer.render(&frame, &view()), Err(RenderError::Malformed { .. })));
        frame.particles[0] = ParticleBody { kind, ..ParticleBody::default() };
        assert_eq!(renderer.render(&frame, &view()).unwrap().skipped, 0);
        frame.particles[0].positions.push([0.0; 3]);
        sound(&renderer.render(&frame, &view()).unwrap());
    }
}

#[test]
fn the_camera_may_be_under_water() {
    let mut settings = Settings { width: 48, height: 32, ..Settings::default() };
    settings.ground = Some(Ground { height: -0.045, colour: Vec3::splat(0.4), roughness: 0.8 });
    let inside = View { position: Vec3::new(0.0, 0.0, 0.01), target: Vec3::ZERO, ..View::default() };
    sound(&Renderer::new(settings).unwrap().render(&beach(), &inside).unwrap());
}
