//! Solids and ground: a diffuse base under a rough dielectric coat.

use glam::Vec3;
use std::f32::consts::PI;

/// Reflectance of the coat seen straight on: an index of refraction of 1.5.
const STRAIGHT: f32 = 0.04;

/// Radiance towards the eye for unit irradiance across the light's direction. Includes the cosine.
pub(crate) fn lit(colour: Vec3, roughness: f32, normal: Vec3, eye: Vec3, light: Vec3) -> Vec3 {
    let cos_l = normal.dot(light);
    if cos_l <= 0.0 {
        return Vec3::ZERO;
    }
    let cos_e = normal.dot(eye).max(1e-3);
    let half = (light + eye).try_normalize().unwrap_or(normal);
    let fresnel = schlick(eye.dot(half).max(0.0));
    let glossy = fresnel * lobe(roughness.clamp(0.05, 1.0), cos_l, cos_e, normal.dot(half).max(0.0));
    (colour * ((1.0 - fresnel) / PI) + Vec3::splat(glossy)) * cos_l
}

/// GGX distribution with the height-correlated masking term of Smith [Walter2007], [Heitz2014].
fn lobe(roughness: f32, cos_l: f32, cos_e: f32, cos_h: f32) -> f32 {
    let a2 = roughness.powi(4);
    let d = cos_h * cos_h * (a2 - 1.0) + 1.0;
    let distribution = a2 / (PI * d * d);
    let masking =
        0.5 / (cos_e * (a2 + (1.0 - a2) * cos_l * cos_l).sqrt() + cos_l * (a2 + (1.0 - a2) * cos_e * cos_e).sqrt());
    distribution * masking
}

/// Radiance of the mirror image of a light in the surface of a liquid, for unit irradiance across the light's
/// direction. The surface is never so smooth that the light's own size would matter.
pub(crate) fn mirrored(roughness: f32, ior: f32, normal: Vec3, eye: Vec3, light: Vec3) -> f32 {
    let (cos_l, cos_e) = (normal.dot(light), normal.dot(eye).max(1e-3));
    if cos_l <= 0.0 {
        return 0.0;
    }
    let half = (light + eye).try_normalize().unwrap_or(normal);
    let fresnel = crate::liquid::optics::fresnel(eye.dot(half), 1.0 / ior.max(1.0));
    fresnel * lobe(roughness.clamp(0.18, 1.0), cos_l, cos_e, normal.dot(half).max(0.0)) * cos_l
}

/// Radiance towards the eye under light from all around: irradiance on the diffuse base, radiance on the coat.
pub(crate) fn ambient(colour: Vec3, roughness: f32, cos_e: f32, irradiance: Vec3, mirrored: Vec3) -> Vec3 {
    let fresnel = schlick(cos_e.clamp(0.0, 1.0)) * (1.0 - 0.7 * roughness.clamp(0.0, 1.0));
    colour * irradiance * ((1.0 - fresnel) / PI) + mirrored * fresnel
}

fn schlick(cosine: f32) -> f32 {
    STRAIGHT + (1.0 - STRAIGHT) * (1.0 - cosine).clamp(0.0, 1.0).powi(5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_math::random::Stream;

    #[test]
    fn white_material_gives_out_no_more_than_came_in() {
        let stream = Stream::new(2, "material");
        for roughness in [0.3, 0.6, 1.0] {
            for eye in [Vec3::Y, Vec3::new(0.9, 0.44, 0.0).normalize()] {
                let n = 40_000;
                let sum: Vec3 =
                    (0..n).map(|i| lit(Vec3::ONE, roughness, Vec3::Y, eye, stream.direction(i).as_vec3())).sum();
                let out = sum.x * 4.0 * PI / n as f32;
                assert!((0.7..1.06).contains(&out), "{out} at {roughness} {eye}");
            }
        }
    }
}
