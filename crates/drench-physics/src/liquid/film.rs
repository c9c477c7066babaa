//! Water gets between grains and walls.
//!
//! A grain of volume V feels −V ∇⟨p⟩, the pressure as the kernel smooths it: ⟨p⟩ = Σ m_i p_i W / ρ. Beside a wall a part of the kernel is behind it, where no particles are: ⟨p⟩ falls towards the wall,
//! and the grain would be pressed on it by V p Φ(s), as if nothing could get between them. Under 10 cm of water that is six times the weight that a grain of 8 mm has in it,
//! and friction holds it there. So the liquid is mirrored in the wall for grains too. With
//!
//! ```text
//! Φ(s) = ∫ W over the plane at the distance s,      ω(s) = ∫ W behind it,
//! ```
//!
//! the image, with the mean pressure and the part of space that the liquid has on this side, gives the impulse ψ Φ Σ m_i κ_i W / (1 − ω) away from the wall, and the wall gets
//! the opposite. Where the pressure is even nothing is left. While pressure is solved for a grain that can move goes along with it, and would go into the wall: of its velocity towards the wall the part
//! Φ(s)/Φ(0) is taken away, which leaves the answer to pressure symmetric.

use super::fields::{Fields, dot};
use super::kernel::CubicSpline;
use super::rows::PIECE;
use super::walls::{Frame, Walls, vector};
use crate::contact::Collider;
use crate::grains::solids::{Ball, FACES, Solid, faces};
use glam::DVec3;
use rayon::prelude::*;

/// A grain beside a face of a solid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Film {
    /// Which of the points that are felt it is.
    point: usize,
    /// The collider that the face is of.
    pub collider: usize,
    /// Where the face is [m], and the way out of it.
    pub place: DVec3,
    normal: DVec3,
    /// ψ Φ / (1 − ω) [kg/m].
    strength: f64,
    /// Φ(s)/Φ(0).
    near: f64,
    /// What the grain got in this step [N s].
    pub impulse: DVec3,
}

/// Φ [1/m] and ω at the distance s [m].
fn beyond(kernel: &CubicSpline, s: f64) -> (f64, f64) {
    let q = (s / kernel.support).clamp(0.0, 1.0);
    let (a, b) = (1.0 - q, (0.5 - q).max(0.0));
    let (a4, b4) = (a.powi(4), b.powi(4));
    let plane = a4 * (0.5 - 0.4 * a) - b4 * (1.0 - 1.6 * b);
    let behind = a4 * a * (0.1 - a / 15.0) - b4 * b * (0.2 - 4.0 / 15.0 * b);
    (16.0 / kernel.support * plane, 16.0 * behind)
}

/// The films of grains of these diameters [m], the first of the points, when the part `done` of the substep is over.
pub(crate) fn find(
    films: &mut Vec<Film>,
    foreign: &mut Walls,
    diameters: &[f64],
    colliders: &[Collider],
    frame: &Frame,
    done: f64,
) {
    let given = &*foreign;
    let around = |point: usize| {
        let diameter = diameters.get(given.given(point));
        let place = frame.origin + vector(given.x[point]);
        let solids = colliders.iter().enumerate().filter(move |_| diameter.is_some());
        solids.flat_map(move |(number, collider)| {
            let solid = Solid { collider, body: None };
            let radius = 0.5 * diameter.copied().unwrap_or_default();
            let ball = Ball { centre: place, radius, reach: frame.kernel.support };
            let (faces, count) = faces(&solid, None, ball, FACES, done);
            let faces = faces.into_iter().take(count).take_while(|face| face.distance < frame.kernel.support);
            faces.map(move |face| {
                // No grain is nearer than its radius, but as far as contacts give way.
                let (plane, behind) = beyond(&frame.kernel, face.distance);
                Film {
                    point,
                    collider: number,
                    place: place - face.normal * face.distance,
                    normal: face.normal,
                    near: plane / beyond(&frame.kernel, 0.0).0,
                    strength: f64::from(given.masses[point]) * plane / (1.0 - behind),
                    impulse: DVec3::ZERO,
                }
            })
        })
    };
    films.clear();
    films.par_extend((0..given.len()).into_par_iter().with_min_len(PIECE).flat_map_iter(around));
    foreign.hold(films.iter().map(|film| (film.point, film.normal, film.near)));
}

/// Pushes grains off walls with the pressure κ.
pub(crate) fn push(films: &mut [Film], fields: &Fields, foreign: &Walls, kernel: &CubicSpline, impulses: &mut [DVec3]) {
    films.par_iter_mut().with_min_len(PIECE).for_each(|film| {
        let smoothed = foreign.seen(film.point).map(|(i, _)| {
            let offset = fields.points.x[i] - foreign.x[film.point];
            let value = kernel.value(f64::from(dot(offset, offset)).sqrt());
            f64::from(fields.points.masses[i] * fields.kappa[i]) * value
        });
        film.impulse = film.normal * (film.strength * smoothed.sum::<f64>());
    });
    for film in films {
        impulses[foreign.given(film.point)] += film.impulse;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn what_is_behind_a_plane_is_the_integral_of_the_kernel() {
        let kernel = CubicSpline::new(0.02);
        let n = 2000;
        let step = kernel.support / f64::from(n);
        let middle = |i: i32| step * (f64::from(i) + 0.5);
        for s in [0.0_f64, 0.003, 0.009, 0.011, 0.019, 0.03] {
            let rings = (0..n).map(|i| 2.0 * PI * middle(i) * kernel.value(s.hypot(middle(i))) * step);
            let behind = (0..n).map(|i| beyond(&kernel, s + middle(i)).0 * step);
            let (plane, part) = beyond(&kernel, s);
            assert!((rings.sum::<f64>() - plane).abs() < 1e-5 / kernel.support, "{s}");
            assert!((behind.sum::<f64>() - part).abs() < 1e-5, "{s}");
        }
        assert!((beyond(&kernel, 0.0).1 - 0.5).abs() < 1e-12);
    }
}
