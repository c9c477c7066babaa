//! From a scene to the renderer's settings.

use crate::{
    FibreModel, GrainLook, Ground, HairLook, Light, LiquidLook, LiquidStyle, Quality, Settings, Sky, SolidLook, View,
};
use drench_scene as scene;
use glam::{DVec3, Vec3};

impl Settings {
    /// The settings of a scene's pictures, with one of its variations of `[render]`.
    pub fn from_scene(scene: &scene::Scene, render: &scene::Render) -> Self {
        Self {
            width: render.width,
            height: render.height,
            quality: match render.quality {
                scene::Quality::Preview => Quality::Preview,
                scene::Quality::Beauty => Quality::Beauty,
            },
            exposure: render.exposure as f32,
            samples: render.samples,
            shading: render.shading.map(fibre_model),
            lights: scene.lights.iter().map(light).collect(),
            sky: Sky {
                zenith: colour(scene.sky.zenith),
                horizon: colour(scene.sky.horizon),
                strength: scene.sky.strength as f32,
                visible: scene.sky.visible,
            },
            ground: scene.ground.as_ref().map(|ground| Ground {
                height: ground.height as f32,
                colour: colour(ground.colour),
                roughness: ground.roughness as f32,
            }),
            hair: (scene.grooms.iter().map(|groom| (&groom.name, &groom.shade)))
                .chain(scene.cords.iter().map(|cord| (&cord.name, &cord.shade)))
                .map(|(name, shade)| (name.clone(), hair(shade)))
                .collect(),
            solids: (scene.solids.iter())
                .map(|solid| {
                    let look = SolidLook {
                        visible: solid.visible,
                        colour: colour(solid.colour),
                        roughness: solid.roughness as f32,
                    };
                    (solid.name.clone(), look)
                })
                .collect(),
            liquid: LiquidLook {
                style: liquid_style(render.liquid),
                ..scene.liquid.as_ref().map_or_else(LiquidLook::default, liquid)
            },
            shutter: (render.shutter / scene.simulation.fps) as f32,
            grains: scene.grains.iter().map(|grains| (grains.name.clone(), grain(&grains.shade))).collect(),
            seed: scene.simulation.seed,
        }
    }
}

impl View {
    /// What a camera of a scene sees at a time [s].
    pub fn from_scene(scene: &scene::Scene, camera: &scene::Camera, time: f64) -> Self {
        let view = scene.view_of(camera, time);
        Self {
            position: view.position.as_vec3(),
            target: view.target.as_vec3(),
            up: camera.up.as_vec3(),
            field_of_view: camera.field_of_view as f32,
            aperture: camera.aperture as f32,
            focus: camera.focus.map(|focus| focus as f32),
        }
    }
}

fn colour(linear: [f64; 3]) -> Vec3 {
    DVec3::from(linear).as_vec3()
}

fn fibre_model(model: scene::FibreModel) -> FibreModel {
    match model {
        scene::FibreModel::KajiyaKay => FibreModel::KajiyaKay,
        scene::FibreModel::Chiang => FibreModel::Chiang,
    }
}

fn light(light: &scene::Light) -> Light {
    match *light {
        scene::Light::Sun { direction, colour: rgb, strength, angle } => Light::Sun {
            direction: direction.as_vec3(),
            colour: colour(rgb),
            strength: strength as f32,
            angle: angle as f32,
        },
        scene::Light::Lamp { position, colour: rgb, power, radius } => Light::Lamp {
            position: position.as_vec3(),
            colour: colour(rgb),
            power: power as f32,
            radius: radius as f32,
        },
    }
}

fn hair(shade: &scene::Shade) -> HairLook {
    HairLook {
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
        plies: shade.plies,
        stripe: shade.stripe.map(colour),
    }
}

fn liquid_style(style: scene::LiquidStyle) -> LiquidStyle {
    match style {
        scene::LiquidStyle::Surface => LiquidStyle::Surface,
        scene::LiquidStyle::Spheres => LiquidStyle::Spheres,
    }
}

/// The look of the liquid's material, with what its shade says of its own.
fn liquid(liquid: &scene::Liquid) -> LiquidLook {
    let of_material = match liquid.material {
        scene::LiquidMaterial::Water => LiquidLook::water(),
        scene::LiquidMaterial::Oil => LiquidLook::oil(),
        scene::LiquidMaterial::Milk => LiquidLook::milk(),
        scene::LiquidMaterial::Honey => LiquidLook::honey(),
        scene::LiquidMaterial::Glycerine => LiquidLook::glycerine(),
        scene::LiquidMaterial::Alcohol => LiquidLook::alcohol(),
    };
    let shade = &liquid.shade;
    LiquidLook {
        ior: shade.ior.map_or(of_material.ior, |ior| ior as f32),
        absorption: shade.absorption.map_or(of_material.absorption, |absorption| absorption.as_vec3()),
        scattering: shade.scattering.map_or(of_material.scattering, |scattering| scattering as f32),
        colour: shade.tint.map_or(of_material.colour, colour),
        roughness: shade.roughness.map_or(of_material.roughness, |roughness| roughness as f32),
        smoothing: shade.smoothing as f32,
        ..of_material
    }
}

fn grain(shade: &scene::GrainShade) -> GrainLook {
    GrainLook { dry: colour(shade.dry), wet: colour(shade.wet), variation: shade.variation as f32 }
}
