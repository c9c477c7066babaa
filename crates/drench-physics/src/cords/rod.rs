//! Bending of a cord that is straight at rest and has a bending modulus: the elastic rod, all joints at once.
//!
//! With t_s = e_s / L_s the direction of segment s, the joint between segments a and b stores B / (2 l) |t_b - t_a|^2, l the mean of both lengths:
//! 4 sin^2(angle / 2) for the square of the angle. L_s is the length that the segment has at the beginning of the step, so that the energy is a square of the positions,
//! whatever a torque throws single vertices to before this puts them right. The positions that make
//!
//! sum_v m_v |x_v - x*_v|^2 / (2 dt^2) + sum over joints of B / (2 l) |t_b - t_a|^2
//!
//! least solve a system with five diagonals, the same for x, y and z: stable at any stiffness, and the same rod in any step and at any resolution. It is what shape
//! matching of regions of three vertices would come to if it were repeated without end. Wider regions, which are as stiff after one pass, do not see what bends within
//! their reach.

use super::clamp::Grip;
use super::model::CordModel;
use super::state::{CordScratch, CordState};
use drench_math::bands::{self, Row};
use glam::DVec3;

/// Finds the ways that bending takes the vertices of a piece, as `forces` [m]; of what is held, the way that it would go if it were free.
pub(super) fn bend(
    model: &CordModel,
    state: &CordState,
    scratch: &mut CordScratch,
    modulus: f64,
    piece: usize,
    dt: f64,
) {
    let vertices = state.vertices(piece);
    let CordScratch { next, spans, forces, mass, grips, joints: rows, .. } = scratch;
    let inertia = |v: usize| grips.at(v).map_or(mass[v], Grip::mass);
    rows.clear();
    rows.extend(vertices.clone().map(|v| [inertia(v), 0.0, 0.0]));
    forces[vertices.clone()].fill(DVec3::ZERO);
    for_each_joint(model, state, (next, spans), modulus, piece, dt, |first, stiffness, factors, bent| {
        resist(&mut rows[first - vertices.start..], stiffness, factors);
        for (force, factor) in forces[first..].iter_mut().zip(factors) {
            *force -= bent * (stiffness * factor);
        }
    });
    bands::factor(rows);
    bands::substitute(rows, &mut forces[vertices.clone()]);
    for v in vertices {
        let inertia = inertia(v);
        forces[v] = if inertia.is_finite() { forces[v] * (inertia / mass[v]) } else { DVec3::ZERO };
    }
}

/// What the vertices of rods put up against being moved in a step, five diagonals of masses and stiffness, factored; nothing for cords that are no rods. Vertices
/// without inverse mass are held.
pub fn resistance(model: &CordModel, state: &CordState, inverse_masses: &[f64], dt: f64, rows: &mut Vec<Row>) {
    rows.clear();
    let Some(modulus) = model.rod() else { return };
    rows.extend(inverse_masses.iter().map(|inverse| [1.0 / inverse, 0.0, 0.0]));
    for piece in 0..state.piece_count() {
        let natural = (&state.positions[..], &model.lengths[..]);
        for_each_joint(model, state, natural, modulus, piece, dt, |first, stiffness, factors, _| {
            resist(&mut rows[first..], stiffness, factors);
        });
    }
    bands::factor(rows);
}

/// Calls `each` for the joints of a piece, given where vertices are and how long segments, with the vertex before each, B / l dt^2, the factors of the three vertices in
/// t_b - t_a, and t_b - t_a.
fn for_each_joint(
    model: &CordModel,
    state: &CordState,
    (places, lengths): (&[DVec3], &[f64]),
    modulus: f64,
    piece: usize,
    dt: f64,
    mut each: impl FnMut(usize, f64, [f64; 3], DVec3),
) {
    let vertices = state.vertices(piece);
    // 1 / L and t of the segment after a vertex.
    let along = |v: usize| {
        let inverse = 1.0 / lengths[v - piece].max(state.unstretched(model, v - piece));
        (inverse, (places[v + 1] - places[v]) * inverse)
    };
    let mut before = along(vertices.start);
    for v in vertices.start + 1..vertices.end - 1 {
        let after = along(v);
        let stiffness = joint_stiffness(model, modulus, v - piece) * dt * dt;
        each(v - 1, stiffness, [before.0, -(before.0 + after.0), after.0], after.1 - before.1);
        before = after;
    }
}

/// B / l = E I / l of the joint before a segment [N m].
#[inline]
pub(super) fn joint_stiffness(model: &CordModel, modulus: f64, segment: usize) -> f64 {
    modulus * model.joints[segment].bending
}

/// Adds the stiffness of a joint to the rows from the vertex before it on.
#[inline]
fn resist(rows: &mut [Row], stiffness: f64, factors: [f64; 3]) {
    for (i, row) in rows.iter_mut().take(3).enumerate() {
        for (band, factor) in row.iter_mut().zip(&factors[i..]) {
            *band += stiffness * factors[i] * factor;
        }
    }
}
