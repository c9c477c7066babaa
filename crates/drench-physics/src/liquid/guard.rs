//! Nothing leaks: after the last step of a substep no particle is left inside a solid, or beyond one that it went through.
//!
//! Pressure from the samples of solids keeps liquid out in all but violent moments. The guard is for those: the way of every particle
//! over the substep is traced through the distance fields, as strands are [`crate::contact`]. What would end closer than `keep` is put
//! back to that distance and loses the velocity with which it went in; the solid gets that momentum.

use super::rows::PIECE;
use super::state::LiquidState;
use crate::contact::{Collider, resolve};
use glam::DVec3;
use rayon::prelude::*;

/// A particle that was stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    pub collider: usize,
    pub position: DVec3,
    /// What the solid gets [N s].
    pub impulse: DVec3,
}

/// Stops particles that went from `starts` into solids; gives what the solids get, in the order of the particles.
pub(crate) fn guard(
    state: &mut LiquidState,
    starts: &[DVec3],
    colliders: &[Collider],
    keep: f64,
    dt: f64,
) -> Vec<Stop> {
    if colliders.is_empty() {
        return Vec::new();
    }
    let LiquidState { positions, velocities, masses, .. } = state;
    let pieces = positions.par_chunks_mut(PIECE).zip(velocities.par_chunks_mut(PIECE));
    let pieces = pieces.zip(starts.par_chunks(PIECE)).zip(masses.par_chunks(PIECE));
    let stops: Vec<Vec<Stop>> = pieces
        .map(|(((positions, velocities), starts), masses)| {
            let mut stops = Vec::new();
            for k in 0..positions.len() {
                // Once more if a solid pushed it into another.
                for _ in 0..2 {
                    let before = stops.len();
                    for (collider, solid) in colliders.iter().enumerate() {
                        let touch = resolve(std::slice::from_ref(solid), starts[k], positions[k], keep, None);
                        if !touch.contact {
                            continue;
                        }
                        let outward = (touch.position - positions[k]).normalize_or_zero();
                        let approach = (velocities[k] - solid.displacement(touch.position) / dt).dot(outward).min(0.0);
                        velocities[k] -= outward * approach;
                        positions[k] = touch.position;
                        let impulse = outward * (approach * masses[k]);
                        stops.push(Stop { collider, position: touch.position, impulse });
                    }
                    if stops.len() <= before + 1 {
                        break;
                    }
                }
            }
            stops
        })
        .collect();
    stops.concat()
}
