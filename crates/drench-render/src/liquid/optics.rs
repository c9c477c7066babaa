//! Light at the surface of a clear liquid and inside it: the laws of Snell, Fresnel, and Beer and Lambert.
//!
//! | symbol | here |
//! |---|---|
//! | n1 / n2, indices of refraction before and behind the surface | `ratio` |
//! | cos of the angle between ray and normal | `cosine` |
//! | sigma, absorption [1/m] | `absorption` |

use glam::Vec3;

/// The direction in which light goes on behind a surface; nothing if all of it is reflected. `normal` points against
/// the ray. From n1 sin a = n2 sin b, in vectors.
pub(crate) fn refract(direction: Vec3, normal: Vec3, ratio: f32) -> Option<Vec3> {
    let cosine = -direction.dot(normal);
    let beyond = 1.0 - ratio * ratio * (1.0 - cosine * cosine);
    (beyond > 0.0).then(|| (direction * ratio + normal * (ratio * cosine - beyond.sqrt())).normalize_or(direction))
}

/// The direction of a mirrored ray.
pub(crate) fn reflect(direction: Vec3, normal: Vec3) -> Vec3 {
    direction - normal * (2.0 * direction.dot(normal))
}

/// Share of unpolarised light that is reflected.
pub(crate) fn fresnel(cosine: f32, ratio: f32) -> f32 {
    let cosine = cosine.clamp(0.0, 1.0);
    let beyond = 1.0 - ratio * ratio * (1.0 - cosine * cosine);
    if beyond <= 0.0 {
        return 1.0;
    }
    let beyond = beyond.sqrt();
    let across = (ratio * cosine - beyond) / (ratio * cosine + beyond);
    let within = (cosine - ratio * beyond) / (cosine + ratio * beyond);
    0.5 * (across * across + within * within)
}

/// Mean radiance of the disc that a clear ball shows, over that of a white surface which faces the light: what its front
/// mirrors, and what it bends by twice the difference of the angles before and behind its surface. `cosine` is that of
/// the angle between the ways of the light before and behind the ball, `ior` its index of refraction. Of evenly
/// scattered light a ball of the radius R would send E R^2 / 4 anywhere; light that turns back inside is left out.
pub(crate) fn ball(cosine: f32, ior: f32) -> f32 {
    let (ior, cosine) = (ior.max(1.01), cosine.clamp(-1.0, 1.0));
    // Half the angle, as sine and cosine.
    let (sin, cos) = ((0.5 * (1.0 - cosine)).sqrt(), (0.5 * (1.0 + cosine)).sqrt());
    let mirrored = 0.25 * fresnel(sin, 1.0 / ior);
    // sin(a - b) with sin b = sin a / n gives tan a = sin / (cos - 1 / n).
    let beyond = cos - 1.0 / ior;
    if beyond <= 0.0 {
        return mirrored;
    }
    let length = sin.hypot(beyond);
    let (sin_a, cos_a) = (sin / length, beyond / length);
    let cos_b = (1.0 - (sin_a / ior).powi(2)).sqrt();
    let widening = 2.0 * (1.0 - cos_a / (ior * cos_b));
    // sin a / sin(angle), which is 0 / 0 straight ahead.
    let ratio = 0.5 / (length * cos);
    mirrored + (1.0 - fresnel(cos_a, 1.0 / ior)).powi(2) * ratio * cos_a / widening
}

/// Share of light that is left after a way [m] through what absorbs it.
pub(crate) fn passed(absorption: Vec3, way: f32) -> Vec3 {
    let depth = absorption * -way.max(0.0);
    Vec3::new(depth.x.exp(), depth.y.exp(), depth.z.exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refraction_follows_snell_and_fresnel_the_closed_forms() {
        for (ratio, inside) in [(1.0 / 1.33, false), (1.33, true), (1.0, false)] {
            for degrees in [0.0_f32, 10.0, 35.0, 48.0, 60.0, 89.0] {
                let (sin, cos) = degrees.to_radians().sin_cos();
                let direction = Vec3::new(sin, -cos, 0.0);
                let share = fresnel(cos, ratio);
                assert!((0.0..=1.0).contains(&share));
                match refract(direction, Vec3::Y, ratio) {
                    Some(beyond) => {
                        assert!((beyond.length() - 1.0).abs() < 1e-5);
                        assert!((beyond.x - ratio * sin).abs() < 1e-5, "{beyond} at {degrees}");
                        // Fresnel in its form with angles, away from the normal where that form is 0 / 0.
                        if degrees > 1.0 && ratio != 1.0 {
                            let (a, b) = (degrees.to_radians(), (ratio * sin).asin());
                            let s = ((a - b).sin() / (a + b).sin()).powi(2);
                            let p = ((a - b).tan() / (a + b).tan()).powi(2);
                            assert!((share - 0.5 * (s + p)).abs() < 1e-4, "{share} at {degrees}");
                        }
                    }
                    // Only from within, beyond the critical angle of 48.75 degrees.
                    None => {
                        assert!(inside && degrees > 48.7);
                        assert_eq!(share, 1.0);
                    }
                }
            }
        }
        let straight = ((1.33_f32 - 1.0) / (1.33 + 1.0)).powi(2);
        assert!((fresnel(1.0, 1.0 / 1.33) - straight).abs() < 1e-6);
        assert!(fresnel(0.0, 1.0 / 1.33) > 0.999);
    }

    /// What a ball of water mirrors and bends sums up to nearly all that falls on it, and most of it goes forwards.
    #[test]
    fn a_ball_loses_only_what_turns_back_inside_it() {
        let (count, mut sum, mut forwards) = (20_000, 0.0, 0.0);
        for k in 0..count {
            let cosine = (k as f32 + 0.5) / count as f32 * 2.0 - 1.0;
            let part = ball(cosine, 1.333) * 4.0 / count as f32;
            sum += part;
            forwards += if cosine > 0.0 { part } else { 0.0 };
        }
        assert!((0.9..0.98).contains(&sum), "{sum}");
        assert!(forwards > 0.85, "{forwards}");
        // Straight ahead it is a lens, which widens a beam's angle by 2 (1 - 1 / n), and its rim mirrors all.
        let passed = 1.0 - fresnel(1.0, 1.0 / 1.333);
        let lens = (passed / (2.0 * (1.0 - 1.0 / 1.333))).powi(2) + 0.25;
        assert!((ball(1.0, 1.333) / lens - 1.0).abs() < 0.01, "{} {lens}", ball(1.0, 1.333));
        assert!((ball(-1.0, 1.333) - 0.25 * fresnel(1.0, 1.0 / 1.333)).abs() < 1e-6);
    }

    #[test]
    fn reflection_keeps_the_angle() {
        let out = reflect(Vec3::new(0.6, -0.8, 0.0), Vec3::Y);
        assert!((out - Vec3::new(0.6, 0.8, 0.0)).length() < 1e-6);
    }

    #[test]
    fn absorption_is_exponential_and_ways_multiply() {
        let sigma = Vec3::new(0.0, 2.0, 7.0);
        let (a, b) = (passed(sigma, 0.3), passed(sigma, 0.5));
        assert!((a * b - passed(sigma, 0.8)).abs().max_element() < 1e-6);
        assert!((a.y - (-0.6_f32).exp()).abs() < 1e-6 && a.x == 1.0);
        assert_eq!(passed(sigma, -1.0), Vec3::ONE);
    }
}
