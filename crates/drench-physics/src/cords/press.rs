//! Resistance to compression: segments that bending has left shorter than they are without tension push their ends apart.
//!
//! A push lambda_s along n_s moves the ends by w lambda, w the inverse mass; the pushes that give all short segments the length that goes with them,
//!
//! |e_s| = L_s - lambda_s L_s / (E A dt^2),   lambda_s >= 0,
//!
//! solve a system with three diagonals. A segment that others press together joins in the next round. Tension, which comes after, only pulls. What begins the step
//! shorter than that, because a body or a contact has crushed it, gets a part of its length back.

use super::clamp::Grip;
use super::model::CordModel;
use super::state::{CordScratch, CordState};
use crate::collision::segments::length;
use glam::DVec3;

/// Rounds at most.
const ROUNDS: u32 = 4;
/// Part of its length that a segment may be too short.
const SHORT: f64 = 1e-6;
/// Time in which a segment that something has crushed gets its whole length back, and a vertex gets out of a solid that it was deep in [s]. At once, as it would if that were elastic, a few of them in a row would throw their ends
/// at hundreds of metres per second.
pub(super) const RECOVERY: f64 = 0.1;

/// Adds the ways that pushes take the vertices of a piece to those in `forces` [m]; what is held gets the way that it would go if it were free.
pub(super) fn press(model: &CordModel, state: &CordState, scratch: &mut CordScratch, piece: usize, dt: f64) {
    let (vertices, segments) = (state.vertices(piece), state.segments(piece));
    let CordScratch {
        next, spans, forces, before, mass, grips, moves: places, tangents: directions, steps, rows, ..
    } = scratch;
    // Inverse of the mass that a push meets.
    let answer = |v: usize| 1.0 / grips.at(v).map_or(mass[v], Grip::mass);
    for v in vertices {
        places[v] = if grips.at(v).is_none() { next[v] + forces[v] } else { next[v] };
    }
    steps[segments.clone()].fill(0.0);
    for _ in 0..ROUNDS {
        // L D L^T; of the segment before: its direction, inverse pivot and right-hand side, all 0 where it does not push.
        let (mut last, mut inverse, mut load, mut short) = (DVec3::ZERO, 0.0, 0.0, false);
        for s in segments.clone() {
            let v = s + piece;
            let (edge, natural) = (places[v + 1] - places[v], state.unstretched(model, s));
            let long = length(edge);
            let give = natural / (model.tensile_curve(s).elastic * model.areas[s] * dt * dt);
            let gap = natural.min(spans[s] + natural * dt / RECOVERY) - long - give * steps[s];
            let pressed = gap > SHORT * natural;
            short |= pressed;
            if !pressed && steps[s] == 0.0 {
                rows[s] = [0.0; 2];
                (last, inverse, load) = (DVec3::ZERO, 0.0, 0.0);
                continue;
            }
            let direction = if long > SHORT * natural { edge * (1.0 / long) } else { before[s] };
            let coupling = -answer(v) * last.dot(direction);
            let factor = coupling * inverse;
            load = gap - factor * load;
            inverse = 1.0 / (answer(v) + answer(v + 1) + give - factor * coupling);
            rows[s] = [factor, load * inverse];
            (directions[s], last) = (direction, direction);
        }
        if !short {
            break;
        }
        let (mut factor, mut after) = (0.0, 0.0);
        for s in segments.clone().rev() {
            let v = s + piece;
            let more = rows[s][1] - factor * after;
            (factor, after) = (rows[s][0], more);
            // Nothing pulls here.
            let more = more.max(-steps[s]);
            if more != 0.0 {
                steps[s] += more;
                let push = directions[s] * more;
                places[v] -= push * answer(v);
                places[v + 1] += push * answer(v + 1);
                forces[v] -= push / mass[v];
                forces[v + 1] += push / mass[v + 1];
            }
        }
    }
}
