//! The lobes of a rough dielectric fibre: longitudinal [dEon2011], azimuthal and attenuation [Chiang2016].
//!
//! | symbol | meaning |
//! |---|---|
//! | theta | inclination of a direction to the plane across the fibre |
//! | phi | angle between the two directions around the fibre: 0 light comes from the viewer, pi from behind |
//! | h | where on the fibre's width the light enters, -1 to 1 |
//! | sigma | absorption of the interior per fibre radius |
//! | p | 0 reflected (R), 1 transmitted (TT), 2 once reflected inside (TRT), 3 all the rest |

use std::f32::consts::{PI, TAU};

/// Variance of the longitudinal lobe p = 0 for a roughness in 0..1; p = 1 has a quarter of it, p >= 2 four times
/// [Chiang2016, eq. 7].
pub(crate) fn longitudinal_variance(roughness: f32) -> f32 {
    let b = roughness.clamp(0.02, 1.0);
    let root = 0.726 * b + 0.812 * b * b + 3.7 * b.powi(20);
    root * root
}

/// Scale of the azimuthal logistic for a roughness in 0..1 [Chiang2016, eq. 8].
pub(crate) fn azimuthal_scale(roughness: f32) -> f32 {
    let b = roughness.clamp(0.02, 1.0);
    (PI / 8.0).sqrt() * (0.265 * b + 1.194 * b * b + 5.372 * b.powi(22))
}

/// A longitudinal lobe of some variance. Its integral over the inclination with weight cos(theta) is one
/// [dEon2011, eq. 7].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Longitudinal {
    /// 1 / variance.
    sharpness: f32,
    /// Factor that normalises it.
    norm: f32,
}

impl Longitudinal {
    pub fn new(variance: f32) -> Self {
        let sharpness = 1.0 / variance.max(1e-4);
        Self { sharpness, norm: sharpness / (1.0 - (-2.0 * sharpness).exp()) }
    }

    /// Between two inclinations, given as (sine, cosine).
    #[inline]
    pub fn at(&self, i: (f32, f32), o: (f32, f32)) -> f32 {
        // I0(a) exp(-b) / (2 v sinh(1 / v)), arranged so that no factor overflows by itself.
        let a = i.1 * o.1 * self.sharpness;
        let b = i.0 * o.0 * self.sharpness;
        scaled_bessel_0(a.max(0.0)) * (a - b - self.sharpness).exp() * self.norm
    }
}

/// I0(x) exp(-x) for x >= 0 to about 1e-6 [AbramowitzStegun, 9.8.1 and 9.8.2].
#[inline]
fn scaled_bessel_0(x: f32) -> f32 {
    if x < 3.75 {
        let t = (x / 3.75) * (x / 3.75);
        let series = 1.2067492 + t * (0.2659732 + t * (0.0360768 + t * 0.0045813));
        (1.0 + t * (3.5156229 + t * (3.0899424 + t * series))) * (-x).exp()
    } else {
        let t = 3.75 / x;
        let tail = -0.02057706 + t * (0.02635537 + t * (-0.01647633 + t * 0.00392377));
        let series = 0.00225319 + t * (-0.00157565 + t * (0.00916281 + t * tail));
        (0.398_942_3 + t * (0.01328592 + t * series)) / x.sqrt()
    }
}

/// Logistic distribution of scale `s` cut to -pi..pi, its integral one.
#[inline]
pub(crate) fn azimuthal(phi: f32, s: f32) -> f32 {
    let wrapped = phi - TAU * (phi / TAU).round();
    let e = (-wrapped.abs() / s).exp();
    let mass = 1.0 / (1.0 + (-PI / s).exp()) - 1.0 / (1.0 + (PI / s).exp());
    e / (s * (1.0 + e) * (1.0 + e)) / mass
}

/// Share of the light that each lobe carries when it enters at `h` under an inclination with this cosine; and the
/// angles by which lobes 0 to 2 leave.
pub(crate) fn attenuation(cos_theta: f32, h: f32, ior: f32, sigma: f32) -> [f32; 4] {
    let cos_gamma = (1.0 - h * h).max(0.0).sqrt();
    let f = fresnel(cos_theta * cos_gamma, ior);
    let sin_theta_t = (1.0 - cos_theta * cos_theta).max(0.0).sqrt() / ior;
    let cos_theta_t = (1.0 - sin_theta_t * sin_theta_t).sqrt();
    let sin_gamma_t = (h / bravais(cos_theta, ior)).clamp(-1.0, 1.0);
    let cos_gamma_t = (1.0 - sin_gamma_t * sin_gamma_t).sqrt();
    let t = (-sigma * 2.0 * cos_gamma_t / cos_theta_t).exp();
    let a1 = (1.0 - f) * (1.0 - f) * t;
    let a2 = a1 * t * f;
    [f, a1, a2, a2 * f * t / (1.0 - t * f).max(1e-6)]
}

/// Angle around the fibre by which lobe `p` leaves [Marschner2003, eq. 3].
pub(crate) fn exit_angle(p: usize, cos_theta: f32, h: f32, ior: f32) -> f32 {
    let gamma = h.clamp(-1.0, 1.0).asin();
    let gamma_t = (h / bravais(cos_theta, ior)).clamp(-1.0, 1.0).asin();
    2.0 * p as f32 * gamma_t - 2.0 * gamma + p as f32 * PI
}

/// Index of refraction that the cross-section shows to inclined light [Marschner2003, eq. 10].
fn bravais(cos_theta: f32, ior: f32) -> f32 {
    let sin2 = 1.0 - cos_theta * cos_theta;
    (ior * ior - sin2).max(1.0).sqrt() / cos_theta.max(1e-3)
}

/// Unpolarised reflectance of a dielectric surface.
fn fresnel(cos_i: f32, ior: f32) -> f32 {
    let sin2_t = (1.0 - cos_i * cos_i).max(0.0) / (ior * ior);
    let cos_t = (1.0 - sin2_t).max(0.0).sqrt();
    let parallel = (ior * cos_i - cos_t) / (ior * cos_i + cos_t);
    let across = (cos_i - ior * cos_t) / (cos_i + ior * cos_t);
    0.5 * (parallel * parallel + across * across)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longitudinal_lobe_is_normalised() {
        for roughness in [0.1_f32, 0.25, 0.5, 0.9] {
            for theta_o in [0.0_f32, 0.4, -1.0] {
                let lobe = Longitudinal::new(longitudinal_variance(roughness));
                let n = 20_000;
                let sum: f64 = (0..n)
                    .map(|k| {
                        let theta =
                            (f64::from(k) + 0.5) / f64::from(n) * std::f64::consts::PI - 0.5 * std::f64::consts::PI;
                        let i = (theta.sin() as f32, theta.cos() as f32);
                        f64::from(lobe.at(i, theta_o.sin_cos())) * theta.cos()
                    })
                    .sum::<f64>()
                    * std::f64::consts::PI
                    / f64::from(n);
                assert!((sum - 1.0).abs() < 0.01, "{sum} for {roughness} {theta_o}");
            }
        }
    }

    #[test]
    fn azimuthal_lobe_is_normalised() {
        for roughness in [0.1_f32, 0.3, 0.8] {
            let s = azimuthal_scale(roughness);
            let n = 10_000;
            let sum: f32 = (0..n).map(|k| azimuthal(k as f32 / n as f32 * TAU + 1.0, s)).sum::<f32>() * TAU / n as f32;
            assert!((sum - 1.0).abs() < 1e-3, "{sum}");
        }
    }

    #[test]
    fn without_absorption_no_light_is_lost() {
        for (cos_theta, h) in [(1.0, 0.0), (0.7, 0.5), (0.3, -0.9)] {
            let sum: f32 = attenuation(cos_theta, h, 1.55, 0.0).iter().sum();
            assert!((sum - 1.0).abs() < 1e-4, "{sum}");
            assert!(attenuation(cos_theta, h, 1.55, 1.0).iter().sum::<f32>() < 0.9);
        }
    }
}
