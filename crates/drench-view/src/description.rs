//! The scene as the page needs it: names, and what things look like.

use drench_render::Settings;
use drench_scene::Scene;
use glam::Vec3;
use serde_json::{Map, Value, json};

/// What a run shows, and the looks of its bodies. Colours are linear RGB.
pub fn describe(scene: Option<&Scene>, settings: &Settings) -> Value {
    let hair: Map<String, Value> = (settings.hair.iter())
        .map(|(name, look)| {
            let [root, tip] = look.colours();
            let value = json!({
                "root": root.to_array(), "tip": tip.to_array(), "variation": look.variation, "roughness": look.roughness,
            });
            (name.clone(), value)
        })
        .collect();
    let solids: Map<String, Value> = (settings.solids.iter())
        .map(|(name, look)| {
            let value =
                json!({ "colour": look.colour.to_array(), "roughness": look.roughness, "visible": look.visible });
            (name.clone(), value)
        })
        .collect();
    let grains: Map<String, Value> = (settings.grains.iter())
        .map(|(name, look)| {
            let value = json!({ "dry": look.dry.to_array(), "wet": look.wet.to_array(), "variation": look.variation });
            (name.clone(), value)
        })
        .collect();
    json!({
        "porous": scene.is_some_and(|scene| scene.grooms.iter().any(|groom| groom.wet.is_some())),
        "shows": scene.map_or("", |scene| &scene.shows),
        "hair": hair,
        "solids": solids,
        "grains": grains,
        "liquid": { "colour": liquid_colour(settings).to_array() },
        "ground": settings.ground.map(|ground| json!({ "height": ground.height, "colour": ground.colour.to_array() })),
        "planes": scene.map_or_else(Vec::new, planes),
    })
}

/// Solids that are endless to the eye: the camera need not have them in view.
fn planes(scene: &Scene) -> Vec<&str> {
    let flat = scene.solids.iter().filter(|solid| matches!(solid.shape, drench_scene::Shape::Plane { .. }));
    flat.map(|solid| solid.name.as_str()).collect()
}

/// The colour of a hand's breadth of the liquid over what it scatters.
fn liquid_colour(settings: &Settings) -> Vec3 {
    let look = settings.liquid;
    let through = (-look.absorption * 0.1).map(f32::exp);
    through.lerp(look.colour, (look.scattering * 0.01).clamp(0.0, 1.0))
}
