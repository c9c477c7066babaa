//! The fibre model of Kajiya and Kay 1989, with the diffuse term of [Henne2013, 5.2].

use glam::Vec3;

/// Weight of the glossy term.
const GLOSS: f32 = 0.25;
/// How much stronger a film makes it.
const FILM: f32 = 1.0;

/// The glossy term.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gloss {
    /// Exponent.
    pub shininess: f32,
    /// How far a film of water hides the fibre, 0 to 1.
    pub coat: f32,
}

/// Radiance towards the eye for unit irradiance. `normal` is the surface of the hair around the point, or zero where
/// there is none.
pub(crate) fn scattered(
    colour: Vec3,
    gloss: Gloss,
    tangent: Vec3,
    normal: Vec3,
    towards_eye: Vec3,
    towards_light: Vec3,
) -> Vec3 {
    let (tl, te) = (tangent.dot(towards_light), tangent.dot(towards_eye));
    let (sin_l, sin_e) = ((1.0 - tl * tl).max(0.0).sqrt(), (1.0 - te * te).max(0.0).sqrt());
    // Phong's diffuse term mixed with that around the tangent, 0.6 to 0.4 [Henne2013, 5.2].
    let share = 0.6 * normal.length().min(1.0);
    let diffuse = share * normal.normalize_or_zero().dot(towards_light).max(0.0) + (1.0 - share) * sin_l;
    // The cone of mirror directions: the eye opposite the light along the tangent.
    let mirror = (sin_l * sin_e - tl * te).max(0.0);
    // What a film mirrors has not seen the pigment, and gathers more light into the narrower lobe.
    let tint = Vec3::ONE.lerp(colour, 0.5 * (1.0 - gloss.coat));
    let strength = GLOSS * (1.0 + FILM * gloss.coat) * mirror.powf(gloss.shininess.max(1.0)) * sin_l;
    (colour * diffuse + strength * tint) / std::f32::consts::PI
}

/// Share of light that goes on behind a strand: none through black hair, most of its own colour through bright hair.
pub(crate) fn forward(colour: Vec3) -> Vec3 {
    0.6 * colour.clamp(Vec3::ZERO, Vec3::ONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brightest_across_the_light_and_on_the_mirror_cone() {
        let shade = |eye: Vec3, light: Vec3| {
            let gloss = Gloss { shininess: 40.0, coat: 0.0 };
            scattered(Vec3::splat(0.5), gloss, Vec3::X, Vec3::ZERO, eye, light).x
        };
        let light = Vec3::new(0.6, 0.8, 0.0);
        let mirror = Vec3::new(-0.6, 0.0, 0.8);
        assert!(shade(mirror, light) > shade(Vec3::Z, light));
        assert!(shade(Vec3::Z, Vec3::Y) > shade(Vec3::Z, Vec3::X));
        assert!(shade(Vec3::X, Vec3::X) < 1e-3);
    }
}
