//! Bending of a cord that is straight at rest and has a bending modulus: the elastic rod, all joints at once.
//!
//! With t_s = e_s / L_s the direction of segment s, the joint between segments a and b stores B / (2 l) |t_b - t_a|^2, l the mean of both lengths:
//! 4 sin^2(angle / 2) for the square of the angle. L_s is the length that the segment is predicted to have, so that the energy is a square of the positions
//! and adds no tension. The positions that make
//!
//! sum_v m_v |x_v - x*_v|^2 / (2 dt^2) + sum over joints of B / (2 l) |t_b - t_a|^2
//!
//! least solve a system with five diagonals, the same for x, y and z: stable at any stiffness, and the same rod in any step and at any resolution. It is what shape
//! matching of regions of three vertices would come to if it were repeated without end. Wider regions, which are as stiff after one pass, do not see what bends within
//! their reach.

use super::clamp::Grip;
use super::model::{CordModel, Joint};
use super::state::{CordScratch, CordState};
use crate::collision::segments::length;
use glam::DVec3;

/// A row of the system: the diagonal and the two above it, then the inverse pivot and the two factors below it; the right-hand side, then the answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Row {
    bands: [f64; 3],
    force: DVec3,
}

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
    let CordScratch { next, forces, mass, grips, joints: rows, .. } = scratch;
    rows.clear();
    rows.resize(vertices.len(), Row::default());
    // 1 / L and t of the segment after a vertex.
    let along = |v: usize| {
        let edge = next[v + 1] - next[v];
        let inverse = 1.0 / length(edge).max(state.unstretched(model, v - piece));
        (inverse, edge * inverse)
    };
    let (mut before, first) = (along(vertices.start), vertices.start);
    for v in first + 1..vertices.end - 1 {
        let after = along(v);
        let Joint { section, strain } = model.joints[v - piece];
        // B / l = E J / (2 l).
        let stiffness = 0.5 * modulus * section * strain * dt * dt;
        let (c, factors) = (after.1 - before.1, [before.0, -(before.0 + after.0), after.0]);
        for (i, row) in rows[v - 1 - first..=v + 1 - first].iter_mut().enumerate() {
            for (band, factor) in row.bands.iter_mut().zip(&factors[i..]) {
                *band += stiffness * factors[i] * factor;
            }
            row.force -= c * (stiffness * factors[i]);
        }
        before = after;
    }
    for (v, row) in vertices.clone().zip(rows.iter_mut()) {
        row.bands[0] += grips.at(v).map_or(mass[v], Grip::mass);
    }
    solve(rows);
    for (v, row) in vertices.zip(rows.iter()) {
        let inertia = grips.at(v).map_or(mass[v], Grip::mass);
        forces[v] = if inertia.is_finite() { row.force * (inertia / mass[v]) } else { DVec3::ZERO };
    }
}

/// Solves the system by L D L^T; rows with an infinite diagonal stay where they are.
fn solve(rows: &mut [Row]) {
    // Of the two rows before: inverse pivot, factor of the row before, bands above, and the right-hand side.
    let (mut one, mut two) = ([0.0; 4], [0.0; 4]);
    let (mut near, mut far) = (DVec3::ZERO, DVec3::ZERO);
    for row in rows.iter_mut() {
        let [own, above, beyond] = row.bands;
        let k = two[3] * two[0];
        let l = (one[2] - two[3] * one[1]) * one[0];
        let pivot = own - l * (one[2] - two[3] * one[1]) - k * two[3];
        let inverse = if pivot.is_finite() { 1.0 / pivot } else { 0.0 };
        row.force -= near * l + far * k;
        (far, near) = (near, row.force);
        (two, one) = (one, [inverse, l, above, beyond]);
        row.bands = [inverse, l, k];
    }
    let (mut near, mut far) = (DVec3::ZERO, DVec3::ZERO);
    let (mut l, mut k, mut k_after) = (0.0, 0.0, 0.0);
    for row in rows.iter_mut().rev() {
        let step = row.force * row.bands[0] - near * l - far * k;
        row.force = step;
        (far, near) = (near, step);
        (l, k, k_after) = (row.bands[1], k_after, row.bands[2]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_math::random::Stream;

    #[test]
    fn five_diagonals_are_solved_and_what_is_held_stays() {
        let random = Stream::new(5, "bands");
        for count in [1_usize, 2, 3, 8, 20] {
            let held = |i: usize| i % 6 == 3;
            // K = sum of p p^T over joints, which is positive, and masses.
            let mut full = vec![vec![0.0; count]; count];
            for v in 1..count.max(2) - 1 {
                let p: [f64; 3] = std::array::from_fn(|k| random.range((3 * v + k) as u64, -2.0, 2.0));
                (0..9).for_each(|k| full[v - 1 + k / 3][v - 1 + k % 3] += p[k / 3] * p[k % 3]);
            }
            (0..count).for_each(|i| full[i][i] += 0.1);
            let load = |i: usize| random.child(i as u64).direction(1);
            let mut rows: Vec<Row> = (0..count)
                .map(|i| {
                    let band = |k: usize| if i + k < count { full[i][i + k] } else { 0.0 };
                    let own = if held(i) { f64::INFINITY } else { band(0) };
                    Row { bands: [own, band(1), band(2)], force: load(i) }
                })
                .collect();
            solve(&mut rows);
            for i in 0..count {
                let left = (0..count).fold(-load(i), |sum, j| sum + rows[j].force * full[i][j]);
                let off = if held(i) { rows[i].force.length() } else { left.length() };
                assert!(off < 1e-10, "{count}, row {i}: {off}");
            }
        }
    }
}
