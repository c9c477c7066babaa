//! From the scene's words about pictures to the renderer's.

use drench_io::Frame;
use drench_render as render;
use drench_scene as scene;
use glam::{DVec3, Vec3};

/// The renderer's settings for a scene, with one of its `[render]` variations.
pub fn settings(scene: &scene::Scene, look: &scene::Render) -> render::Settings {
    render::Settings {
        width: look.width,
        height: look.height,
        quality: match look.quality {
            scene::Quality::Preview => render::Quality::Preview,
            scene::Quality::Beauty => render::Quality::Beauty,
        },
        exposure: look.exposure as f32,
        samples: look.samples,
        shading: look.shading.map(fibre_model),
        lights: scene.lights.iter().map(light).collect(),
        sky: render::Sky {
            zenith: colour(scene.sky.zenith),
            horizon: colour(scene.sky.horizon),
            strength: scene.sky.strength as f32,
            visible: scene.sky.visible,
        },
        ground: scene.ground.as_ref().map(|ground| render::Ground {
            height: ground.height as f32,
            colour: colour(ground.colour),
            roughness: ground.roughness as f32,
        }),
        hair: scene.grooms.iter().map(|groom| (groom.name.clone(), hair(&groom.shade))).collect(),
        solids: scene.solids.iter().map(|body| (body.name.clone(), solid(body))).collect(),
        seed: scene.simulation.seed,
    }
}

/// What a camera of the scene sees at a time.
pub fn view(scene: &scene::Scene, camera: &scene::Camera, time: f64) -> render::View {
    let view = scene.view_of(camera, time);
    render::View {
        position: view.position.as_vec3(),
        target: view.target.as_vec3(),
        up: view.up.as_vec3(),
        field_of_view: view.field_of_view as f32,
        aperture: view.aperture as f32,
        focus: Some(view.focus as f32),
    }
}

/// A view that has everything of a frame in it, for scenes without a camera.
pub fn framing_view(scene: &scene::Scene, frame: &Frame, width: u32, height: u32) -> render::View {
    let visible = |name: &str| scene.solids.iter().all(|solid| solid.name != name || solid.visible);
    // A plane is endless to the eye; what stands on it is what is looked at.
    let flat = |name: &str| {
        scene.solids.iter().any(|solid| solid.name == name && matches!(solid.shape, scene::Shape::Plane { .. }))
    };
    let strands = frame.strands.iter().flat_map(|body| &body.positions);
    let solids = frame.solids.iter().filter(|solid| visible(&solid.name) && !flat(&solid.name));
    let points = strands.chain(solids.flat_map(|solid| &solid.positions)).map(|&p| Vec3::from_array(p));
    let (low, high) = points
        .filter(|point| point.is_finite())
        .fold((Vec3::INFINITY, Vec3::NEG_INFINITY), |(low, high), point| (low.min(point), high.max(point)));
    let (centre, radius) =
        if low.x <= high.x { (0.5 * (low + high), 0.5 * low.distance(high)) } else { (Vec3::ZERO, 1.0) };
    let field_of_view = 30_f32.to_radians();
    // The narrower side of the picture must hold the ball around everything, with a margin for what moves.
    let aspect = (width as f32 / height.max(1) as f32).min(1.0);
    let half = ((0.5 * field_of_view).tan() * aspect).atan();
    let distance = 1.15 * radius.max(1e-3) / half.sin();
    render::View {
        position: centre + distance * Vec3::new(0.35, 0.25, 1.0).normalize(),
        target: centre,
        field_of_view,
        ..render::View::default()
    }
}

fn light(light: &scene::Light) -> render::Light {
    match light {
        scene::Light::Sun { direction, colour: tint, strength, angle } => render::Light::Sun {
            direction: direction.normalize_or(DVec3::NEG_Y).as_vec3(),
            colour: colour(*tint),
            strength: *strength as f32,
            angle: *angle as f32,
        },
        scene::Light::Lamp { position, colour: tint, power, radius } => render::Light::Lamp {
            position: position.as_vec3(),
            colour: colour(*tint),
            power: *power as f32,
            radius: *radius as f32,
        },
    }
}

fn hair(shade: &scene::Shade) -> render::HairLook {
    render::HairLook {
        model: fibre_model(shade.model),
        colour: shade.colour.map(colour),
        tip_colour: shade.tip_colour.map(colour),
        melanin: shade.melanin as f32,
        redness: shade.redness as f32,
        variation: shade.variation as f32,
        roughness: shade.roughness as f32,
        roughness_azimuthal: shade.roughness_azimuthal as f32,
        tilt: shade.tilt as f32,
        ior: shade.ior as f32,
        jitter: shade.jitter as f32,
        shininess: shade.shininess as f32,
        width: shade.width as f32,
    }
}

fn solid(solid: &scene::Solid) -> render::SolidLook {
    render::SolidLook { visible: solid.visible, colour: colour(solid.colour), roughness: solid.roughness as f32 }
}

fn fibre_model(model: scene::FibreModel) -> render::FibreModel {
    match model {
        scene::FibreModel::KajiyaKay => render::FibreModel::KajiyaKay,
        scene::FibreModel::Chiang => render::FibreModel::Chiang,
    }
}

fn colour(linear: [f64; 3]) -> Vec3 {
    DVec3::from_array(linear).as_vec3()
}
