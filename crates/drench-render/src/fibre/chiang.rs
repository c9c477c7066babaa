//! The fibre model of Chiang and others 2016, averaged over the fibre's width, and dual scattering [Zinke2008].
//!
//! A strand is thinner than a pixel, so the place h where a ray meets it is averaged away beforehand: tables over
//! phi, the difference angle theta_d and the absorption sigma hold the azimuthal lobes. Inclinations enter through
//! theta_d = (theta_i - theta_o) / 2 and the tilt is shared evenly by both directions, which makes the model
//! reciprocal; in the original both belong to the outgoing direction alone.

use super::Crossed;
use super::lobes::{Longitudinal, attenuation, azimuthal, azimuthal_scale, exit_angle, longitudinal_variance};
use super::water::Water;
use glam::{Vec3, Vec4};
use std::f32::consts::{FRAC_PI_2, PI, TAU};

/// Entries over phi from 0 to pi.
const PHI: usize = 65;
/// Entries over the cosine of theta_d.
const THETA: usize = 16;
/// Entries over the absorption, at `SIGMA_MOST (k / (SIGMA - 1))^3`.
const SIGMA: usize = 20;
const SIGMA_MOST: f32 = 30.0;
/// Steps from a fibre without a film to one that a film hides.
const COATS: usize = 65;
/// Places over the fibre's width.
const WIDTH: usize = 32;
/// Share of a strand's surroundings that is filled with others, for light scattered back and forward [Zinke2008, 4.1].
const DENSITY: f32 = 0.7;

/// Tables of one groom's fibre.
pub(crate) struct Chiang {
    /// R lobe over (theta_d, phi): it does not depend on the absorption.
    reflected: Vec<f32>,
    /// (TT, TRT, all lobes smeared over a half circle, 0) over (theta_d, sigma, phi).
    inner: Vec<Vec4>,
    /// (forward share, backward share, share of the rest lobe, 0) over (theta_d, sigma).
    shares: Vec<Vec4>,
    /// Surfaces of fibres that a film hides more and more, from none to all.
    surfaces: Vec<Surface>,
    /// Variance of the lobe R of a dry fibre. Between strands light is spread as by dry ones: there, not the scales but
    /// the disorder of the strands decides.
    variance: f32,
    /// Lobe of what neighbours scatter back.
    back: Longitudinal,
}

/// What the surface of a fibre decides.
#[derive(Clone, Copy)]
struct Surface {
    /// Lobes R, TT, TRT with the (sine, cosine) of their tilt.
    lobes: [(Longitudinal, (f32, f32)); 3],
    /// Light scattered between fibres over that between dry ones.
    between: f32,
}

impl Surface {
    /// With the roughness for light that is mirrored and for light that goes through.
    fn new(mirroring: f32, passing: f32, tilt: f32, between: f32) -> Self {
        let [mirrored, passed] = [mirroring, passing].map(longitudinal_variance);
        // Lobes are tilted by -2, 1, 4 times the scales' angle [Marschner2003, 5.2], half on either side.
        let lobe = |variance: f32, turn: f32| (Longitudinal::new(variance), (turn * tilt).sin_cos());
        Self { lobes: [lobe(mirrored, -1.0), lobe(0.25 * passed, 0.5), lobe(4.0 * passed, 2.0)], between }
    }
}

/// What all lights at one point of a strand share.
pub(crate) struct Fibre {
    tangent: Vec3,
    /// (Sine, cosine) of the inclination to the eye.
    sin_cos_o: (f32, f32),
    across_o: Vec3,
    sigma: [(usize, f32); 3],
    /// Number of its surface.
    coat: usize,
}

impl Chiang {
    pub fn new(ior: f32, roughness: f32, roughness_azimuthal: f32, tilt: f32) -> Self {
        let ior = ior.clamp(1.05, 3.0);
        let s = azimuthal_scale(roughness_azimuthal);
        let phi_of = |j: usize| j as f32 * PI / (PHI - 1) as f32;
        let mut reflected = vec![0.0; THETA * PHI];
        let mut inner = vec![Vec4::ZERO; THETA * SIGMA * PHI];
        let mut shares = vec![Vec4::ZERO; THETA * SIGMA];
        for d in 0..THETA {
            let cos_theta = cos_theta_of(d);
            for k in 0..WIDTH {
                // The other half of the width is the mirror image, which `both` adds.
                let h = (k as f32 + 0.5) / WIDTH as f32;
                let both = |p: usize, phi: f32| {
                    let exit = exit_angle(p, cos_theta, h, ior);
                    0.5 * (azimuthal(phi - exit, s) + azimuthal(phi + exit, s)) / WIDTH as f32
                };
                let lobes: Vec<[f32; 3]> = (0..PHI).map(|j| [0, 1, 2].map(|p| both(p, phi_of(j)))).collect();
                for k in 0..SIGMA {
                    let a = attenuation(cos_theta, h, ior, sigma_of(k));
                    shares[d * SIGMA + k].z += a[3] / WIDTH as f32;
                    for (j, lobe) in lobes.iter().enumerate() {
                        inner[(d * SIGMA + k) * PHI + j] += Vec4::new(a[1] * lobe[1], a[2] * lobe[2], 0.0, 0.0);
                        if k == 0 {
                            reflected[d * PHI + j] += a[0] * lobe[0];
                        }
                    }
                }
            }
            for k in 0..SIGMA {
                let rest = shares[d * SIGMA + k].z / TAU;
                let row = &mut inner[(d * SIGMA + k) * PHI..][..PHI];
                let all: Vec<f32> = (0..PHI).map(|j| reflected[d * PHI + j] + row[j].x + row[j].y + rest).collect();
                let at = |phi: f32| {
                    let phi = (phi - TAU * (phi / TAU).round()).abs();
                    let x = phi / PI * (PHI - 1) as f32;
                    let j = (x as usize).min(PHI - 2);
                    all[j] + (all[j + 1] - all[j]) * (x - j as f32)
                };
                let half_circle = |middle: f32| {
                    let n = 64;
                    let step = PI / n as f32;
                    (0..n).map(|i| at(middle - FRAC_PI_2 + (i as f32 + 0.5) * step)).sum::<f32>() * step
                };
                for (j, entry) in row.iter_mut().enumerate() {
                    entry.z = half_circle(phi_of(j)) / PI;
                }
                let share = &mut shares[d * SIGMA + k];
                (share.x, share.y) = (half_circle(PI), half_circle(0.0));
            }
        }
        let surface = |k: usize| {
            let water = Water { inside: 0.0, coat: k as f32 / (COATS - 1) as f32 };
            let mirroring = water.roughness(roughness);
            // Light that goes through still meets the scales below the film, at a smaller step of the index.
            let passing = 0.25 * mirroring + 0.75 * roughness;
            Surface::new(mirroring, passing, tilt * water.bare(), water.between())
        };
        let surfaces = (0..COATS).map(surface).collect();
        let variance = longitudinal_variance(roughness);
        let back = Longitudinal::new((6.0 * variance).clamp(0.1, 1.0));
        Self { reflected, inner, shares, surfaces, variance, back }
    }

    pub fn fibre(&self, tangent: Vec3, towards_eye: Vec3, sigma: Vec3, water: Water) -> Fibre {
        let sin_o = tangent.dot(towards_eye).clamp(-1.0, 1.0);
        let place = |sigma: f32| {
            let x = (sigma.clamp(0.0, SIGMA_MOST) / SIGMA_MOST).cbrt() * (SIGMA - 1) as f32;
            let k = (x as usize).min(SIGMA - 2);
            // What passes falls with sigma itself, not with its root.
            (k, ((sigma - sigma_of(k)) / (sigma_of(k + 1) - sigma_of(k))).clamp(0.0, 1.0))
        };
        Fibre {
            tangent,
            sin_cos_o: (sin_o, cosine(sin_o)),
            across_o: towards_eye - tangent * sin_o,
            sigma: sigma.to_array().map(place),
            coat: (water.coat.clamp(0.0, 1.0) * (COATS - 1) as f32).round() as usize,
        }
    }

    fn surface(&self, fibre: &Fibre) -> &Surface {
        &self.surfaces[fibre.coat]
    }

    /// Radiance towards the eye for unit irradiance from `towards_light`, with nothing around the fibre.
    #[cfg(test)]
    pub fn single(&self, fibre: &Fibre, towards_light: Vec3) -> Vec3 {
        let g = self.geometry(fibre, towards_light);
        self.single_at(fibre, &g)
    }

    /// Radiance towards the eye for unit irradiance from `towards_light` before the strands on the way weaken it: light that reached the strand directly, light that the others scattered forward to it, and what the
    /// neighbours scatter back [Zinke2008, eq. 5 and 12].
    pub fn scattered(&self, fibre: &Fibre, towards_light: Vec3, crossed: Crossed) -> Vec3 {
        let g = self.geometry(fibre, towards_light);
        let shares = self.shares_at(fibre, g.theta_row);
        let (forward, backward) = (channel(shares, 0), channel(shares, 1));
        let direct = crossed.none();
        let passed = crossed.passed(forward) - direct;
        let surface = self.surface(fibre);
        let back = surface.between * self.back(&g, forward, backward);
        let mut out = Vec3::ZERO;
        if direct > 1e-4 {
            out += direct * (self.single_at(fibre, &g) + DENSITY * back);
        }
        if passed.max_element() > 1e-4 {
            let spread = (4.0 * self.variance + crossed.mean() * self.variance).min(1.0);
            let smeared = channel(self.inner_at(fibre, &g), 2) * Longitudinal::new(spread).at(g.sin_cos_i, g.sin_cos_o);
            out += passed * DENSITY * (surface.between * smeared + PI * DENSITY * back);
        }
        out
    }

    /// Share of uniform light that a thick layer of such strands throws back: the two-stream solution for layers that
    /// each let `f` through and turn `b` back [KubelkaMunk1931].
    pub fn albedo(&self, fibre: &Fibre) -> Vec3 {
        let shares = self.shares_at(fibre, theta_row(fibre.sin_cos_o.1));
        let (f, b) = (channel(shares, 0), channel(shares, 1));
        let lost = (Vec3::ONE - f).max(b);
        let root = (lost * lost - b * b).max(Vec3::ZERO).map(f32::sqrt);
        (lost - root) / b.max(Vec3::splat(1e-4)) * self.surface(fibre).between
    }

    /// Share of crossing light that goes on forward, averaged over the inclination.
    pub fn forward(&self, sigma: Vec3) -> Vec3 {
        let fibre = self.fibre(Vec3::X, Vec3::Y, sigma, Water::NONE);
        let rows = [1.0_f32, 0.9, 0.7, 0.45];
        rows.iter().map(|&c| channel(self.shares_at(&fibre, theta_row(c)), 0)).sum::<Vec3>() / rows.len() as f32
    }

    /// Average backward scattering of the neighbourhood: light that turns back once or three times between strands
    /// [Zinke2008, eq. 11 to 16].
    fn back(&self, g: &Geometry, forward: Vec3, backward: Vec3) -> Vec3 {
        let f2 = (forward * forward).min(Vec3::splat(0.98));
        let once = backward * f2 / (Vec3::ONE - f2);
        let thrice = backward * once * backward / ((Vec3::ONE - f2) * (Vec3::ONE - f2));
        let share = (once + thrice).min(Vec3::ONE);
        // The lobe is wide along the strand; around it the lit side of the neighbourhood is seen from the light's side.
        share * self.back.at(g.sin_cos_i, g.sin_cos_o) * (1.0 + g.cos_phi) / TAU
    }

    fn geometry(&self, fibre: &Fibre, towards_light: Vec3) -> Geometry {
        let sin_i = fibre.tangent.dot(towards_light).clamp(-1.0, 1.0);
        let sin_cos_i = (sin_i, cosine(sin_i));
        let sin_cos_o = fibre.sin_cos_o;
        let across_i = towards_light - fibre.tangent * sin_i;
        let lengths = (across_i.length_squared() * fibre.across_o.length_squared()).sqrt();
        // Seen along the strand, phi has no meaning: take the middle.
        let cos_phi = if lengths > 1e-9 { (across_i.dot(fibre.across_o) / lengths).clamp(-1.0, 1.0) } else { 0.0 };
        let phi = arc_cosine(cos_phi) / PI * (PHI - 1) as f32;
        let j = (phi as usize).min(PHI - 2);
        // cos((theta_i - theta_o) / 2) by the half-angle formula.
        let cos_difference = sin_cos_i.1 * sin_cos_o.1 + sin_cos_i.0 * sin_cos_o.0;
        let theta_row = theta_row((0.5 + 0.5 * cos_difference).max(0.0).sqrt());
        Geometry { sin_cos_i, sin_cos_o, theta_row, phi: (j, phi - j as f32), cos_phi }
    }

    fn single_at(&self, fibre: &Fibre, g: &Geometry) -> Vec3 {
        let turn = |(s, c): (f32, f32), (st, ct): (f32, f32)| (s * ct + c * st, (c * ct - s * st).max(0.0));
        let lobes = &self.surface(fibre).lobes;
        let m = lobes.map(|(lobe, tilt)| lobe.at(turn(g.sin_cos_i, tilt), turn(g.sin_cos_o, tilt)));
        let rest = lobes[2].0.at(g.sin_cos_i, g.sin_cos_o) / TAU;
        let shares = self.shares_at(fibre, g.theta_row);
        let inner = self.inner_at(fibre, g);
        let (d, f) = g.theta_row;
        let (j, t) = g.phi;
        let r = |d: usize| self.reflected[d * PHI + j] * (1.0 - t) + self.reflected[d * PHI + j + 1] * t;
        let reflected = r(d) * (1.0 - f) + r(d + 1) * f;
        Vec3::splat(m[0] * reflected) + m[1] * channel(inner, 0) + m[2] * channel(inner, 1) + rest * channel(shares, 2)
    }

    fn inner_at(&self, fibre: &Fibre, g: &Geometry) -> [Vec4; 3] {
        let (d, f) = g.theta_row;
        let (j, t) = g.phi;
        fibre.sigma.map(|(k, s)| {
            let at = |d: usize, k: usize| {
                let i = (d * SIGMA + k) * PHI + j;
                self.inner[i] + (self.inner[i + 1] - self.inner[i]) * t
            };
            let row = |d: usize| at(d, k) * (1.0 - s) + at(d, k + 1) * s;
            row(d) * (1.0 - f) + row(d + 1) * f
        })
    }

    fn shares_at(&self, fibre: &Fibre, (d, f): (usize, f32)) -> [Vec4; 3] {
        fibre.sigma.map(|(k, s)| {
            let row = |d: usize| self.shares[d * SIGMA + k] * (1.0 - s) + self.shares[d * SIGMA + k + 1] * s;
            row(d) * (1.0 - f) + row(d + 1) * f
        })
    }
}

struct Geometry {
    sin_cos_i: (f32, f32),
    sin_cos_o: (f32, f32),
    theta_row: (usize, f32),
    phi: (usize, f32),
    cos_phi: f32,
}

fn cosine(sine: f32) -> f32 {
    (1.0 - sine * sine).max(0.0).sqrt()
}

/// acos to 7e-5 [AbramowitzStegun, 4.4.45]: finer than the table that it leads into.
fn arc_cosine(x: f32) -> f32 {
    let y = x.abs();
    let positive = (1.0 - y).max(0.0).sqrt() * (1.570_728_8 + y * (-0.212_114_4 + y * (0.074_261 - y * 0.018_729_3)));
    if x < 0.0 { PI - positive } else { positive }
}

fn cos_theta_of(d: usize) -> f32 {
    0.03 + 0.97 * d as f32 / (THETA - 1) as f32
}

fn theta_row(cos_theta: f32) -> (usize, f32) {
    let x = ((cos_theta - 0.03) / 0.97).clamp(0.0, 1.0) * (THETA - 1) as f32;
    let d = (x as usize).min(THETA - 2);
    (d, x - d as f32)
}

fn sigma_of(k: usize) -> f32 {
    SIGMA_MOST * (k as f32 / (SIGMA - 1) as f32).powi(3)
}

fn channel(rgb: [Vec4; 3], lobe: usize) -> Vec3 {
    Vec3::new(rgb[0][lobe], rgb[1][lobe], rgb[2][lobe])
}

pub(crate) fn exp(v: Vec3) -> Vec3 {
    Vec3::new(v.x.exp(), v.y.exp(), v.z.exp())
}

/// Absorption that gives a mass of strands this colour [Chiang2016, eq. 9].
pub(crate) fn absorption_of_colour(colour: Vec3, roughness_azimuthal: f32) -> Vec3 {
    let root = colour.clamp(Vec3::splat(1e-3), Vec3::splat(0.995)).map(f32::ln) / albedo_fit(roughness_azimuthal);
    root * root
}

/// The inverse of [`absorption_of_colour`].
pub(crate) fn colour_of_absorption(sigma: Vec3, roughness_azimuthal: f32) -> Vec3 {
    exp(-sigma.max(Vec3::ZERO).map(f32::sqrt) * albedo_fit(roughness_azimuthal))
}

fn albedo_fit(roughness_azimuthal: f32) -> f32 {
    let b = roughness_azimuthal.clamp(0.02, 1.0);
    5.969 + b * (-0.215 + b * (2.532 + b * (-10.73 + b * (5.574 + b * 0.245))))
}

/// Absorption of pigmented hair: `melanin` 0 white to 1 black, `redness` the share of pheomelanin. The two pigments'
/// absorptions are those of [dEon2011, 6.1].
pub(crate) fn absorption_of_melanin(melanin: f32, redness: f32) -> Vec3 {
    let amount = -(1.0 - melanin.clamp(0.0, 1.0)).max(1e-4).ln();
    let redness = redness.clamp(0.0, 1.0);
    amount * ((1.0 - redness) * Vec3::new(0.506, 0.841, 1.653) + redness * Vec3::new(0.343, 0.733, 1.924))
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_math::random::Stream;

    fn tables(roughness: f32, tilt: f32) -> Chiang {
        Chiang::new(1.55, roughness, 0.3, tilt)
    }

    /// Mean over all directions of light, times the whole sphere.
    fn furnace(model: &Chiang, sigma: Vec3, eye: Vec3) -> Vec3 {
        let fibre = model.fibre(Vec3::X, eye, sigma, Water::NONE);
        let n = 60_000;
        // Fibonacci directions: even, so that the sum converges faster than with random ones.
        let sum: Vec3 = (0..n)
            .map(|i| {
                let x = 1.0 - 2.0 * (i as f32 + 0.5) / n as f32;
                let angle = (f64::from(i) * 2.399_963_229_728_653).rem_euclid(std::f64::consts::TAU) as f32;
                let r = (1.0 - x * x).sqrt();
                model.single(&fibre, Vec3::new(x, r * angle.cos(), r * angle.sin()))
            })
            .sum();
        sum * (2.0 * TAU) / n as f32
    }

    #[test]
    fn white_furnace_loses_nothing() {
        for roughness in [0.15, 0.3, 0.6] {
            for eye in [Vec3::Y, Vec3::new(0.5, 0.8, 0.2).normalize(), Vec3::new(-0.8, 0.0, 0.6)] {
                for tilt in [0.0, 0.05] {
                    let out = furnace(&tables(roughness, tilt), Vec3::ZERO, eye);
                    assert!((out - Vec3::ONE).abs().max_element() < 0.05, "{out} at {roughness} {eye} {tilt}");
                }
            }
        }
    }

    #[test]
    fn absorption_darkens_and_the_reflection_remains() {
        let out = furnace(&tables(0.3, 0.0), Vec3::new(0.1, 1.0, 30.0), Vec3::Y);
        assert!(out.x > out.y && out.y > out.z, "{out}");
        // A black fibre keeps the surface reflection of a cylinder, about 7 percent at this index.
        assert!((0.04..0.12).contains(&out.z), "{out}");
    }

    #[test]
    fn swapping_light_and_eye_changes_nothing() {
        let stream = Stream::new(9, "directions");
        let model = tables(0.3, 0.06);
        let sigma = Vec3::new(0.2, 0.7, 1.5);
        for i in 0..500 {
            let (a, b) = (stream.direction(2 * i).as_vec3(), stream.direction(2 * i + 1).as_vec3());
            let there = model.single(&model.fibre(Vec3::X, a, sigma, Water::NONE), b);
            let back = model.single(&model.fibre(Vec3::X, b, sigma, Water::NONE), a);
            assert!((there - back).abs().max_element() < 1e-3 * (1.0 + there.max_element()), "{there} {back}");
        }
    }

    #[test]
    fn thick_layers_have_the_colour_that_was_asked_for() {
        let model = tables(0.3, 0.0);
        for colour in [0.1_f32, 0.3, 0.6, 0.9] {
            let fibre = model.fibre(Vec3::X, Vec3::Y, absorption_of_colour(Vec3::splat(colour), 0.3), Water::NONE);
            let got = model.albedo(&fibre).x;
            assert!((got - colour).abs() < 0.13, "{got} for {colour}");
        }
    }

    #[test]
    fn forward_and_backward_shares_add_up() {
        let model = tables(0.3, 0.0);
        let fibre = model.fibre(Vec3::X, Vec3::Y, Vec3::new(0.0, 0.5, 5.0), Water::NONE);
        let shares = model.shares_at(&fibre, theta_row(1.0));
        let sum = channel(shares, 0) + channel(shares, 1);
        assert!((sum.x - 1.0).abs() < 0.01, "{sum}");
        assert!(sum.y < 0.8 && sum.z < sum.y, "{sum}");
    }

    #[test]
    fn multiple_scattering_gives_out_no_more_than_came_in() {
        let model = tables(0.3, 0.05);
        for (eye, crossings) in [(Vec3::Y, 0.0), (Vec3::Y, 2.0), (Vec3::new(0.6, 0.8, 0.0), 6.0)] {
            let fibre = model.fibre(Vec3::X, eye, Vec3::splat(0.001), Water::NONE);
            let n = 20_000;
            let stream = Stream::new(4, "furnace");
            let sum: Vec3 =
                (0..n).map(|i| model.scattered(&fibre, stream.direction(i).as_vec3(), Crossed::Mean(crossings))).sum();
            let out = sum * (2.0 * TAU) / n as f32;
            // A strand in the open also shows what its neighbours throw back, hence a little more than one.
            assert!(out.max_element() < 2.0 && out.min_element() > 0.1, "{out}");
        }
    }

    #[test]
    fn a_film_narrows_and_heightens_the_highlight_and_darkens_the_rest() {
        let model = tables(0.3, 0.06);
        let sigma = Vec3::new(0.4, 0.8, 1.6);
        let fibre = |x: f32| {
            let water = Water { inside: x, coat: x };
            model.fibre(Vec3::X, Vec3::Y, sigma * water.absorption(), water)
        };
        let crossed = Crossed::Mean(1.5);
        let aside = Vec3::new(0.7, 0.714, 0.0);
        let steps = [0.0, 0.4, 0.8, 1.0].map(fibre);
        for pair in steps.windows(2) {
            let [less, more] = [&pair[0], &pair[1]];
            assert!(model.single(more, Vec3::Y).x > model.single(less, Vec3::Y).x);
            assert!(model.scattered(more, aside, crossed).y < model.scattered(less, aside, crossed).y);
            assert!(model.albedo(more).x < model.albedo(less).x);
        }
        // Blond hair gets more saturated; the colour of dark hair drowns in what its surface mirrors, wet or dry.
        let blond = |factor: f32| model.albedo(&model.fibre(Vec3::X, Vec3::Y, 0.1 * factor * sigma, Water::NONE));
        let saturation = |c: Vec3| 1.0 - c.min_element() / c.max_element();
        let full = Water { inside: 1.0, coat: 0.0 };
        assert!(saturation(blond(full.absorption())) > saturation(blond(1.0)));
        // The peak of R stands where a smooth cylinder mirrors: opposite along the fibre, not turned by the scales.
        let eye = Vec3::new(0.5, 0.866, 0.0);
        let wet = model.fibre(Vec3::X, eye, Vec3::splat(20.0), Water { inside: 1.0, coat: 1.0 });
        let at = |x: f32| model.single(&wet, Vec3::new(x, (1.0 - x * x).sqrt(), 0.0)).x;
        assert!(at(-0.5) > at(-0.4) && at(-0.5) > at(-0.6));
    }

    #[test]
    fn darker_colours_absorb_more() {
        let light = absorption_of_colour(Vec3::splat(0.8), 0.3);
        let dark = absorption_of_colour(Vec3::splat(0.1), 0.3);
        assert!(dark.min_element() > 10.0 * light.max_element());
        assert!(absorption_of_melanin(0.9, 0.0).z > absorption_of_melanin(0.2, 0.0).z);
        assert_eq!(absorption_of_melanin(0.0, 0.5), Vec3::ZERO);
    }
}
