//! Strain limiting with momentum kept [Rungjiratananon2012, 4.2].
//!
//! The source moves vertices from a clamped end to the other, or sweeps to and fro between two clamps, and then repairs velocities.
//! Here all segments are corrected together: with directions n_i, excess C_i = |x_i - x_(i-1)| - l_i and inverse masses w_i (0 where
//! a vertex is held) the impulses s_i along the segments solve
//!
//! (w_(i-1) + w_i) s_i - w_(i-1) (n_(i-1) . n_i) s_(i-1) - w_i (n_i . n_(i+1)) s_(i+1) = C_i,
//! x_i += w_i (n_(i+1) s_(i+1) - n_i s_i),
//!
//! which is one step of Newton's method and has three diagonals: it costs two sweeps, whatever is held: nothing, one end, both ends, or
//! vertices in between, where the equations fall apart by themselves. Impulses come in opposite pairs along segments, so linear
//! momentum is kept to rounding, and angular momentum about the positions at which they act; only held vertices take any.
//! Velocities that are differences of positions need no repair. The first impulses act as [`taut`] says, so that taut chains
//! hang still.
//!
//! A vertex that touches a solid with normal N is held by it in one direction: its inverse mass becomes w (1 - N N^T), so that the
//! weight of all that hangs on it goes to the solid and not into it. Solids push and do not pull: where the impulses of a step
//! point away from the solid the vertex is let go. One that sticks to the solid is held altogether, as long as the impulses stay in
//! the cone of friction; on a thin wire, where the least slip tips the balance, nothing else keeps a strand from running off.
//!
//! Breaks down: a chain that is pulled straight between two held vertices farther apart than it is long has no solution; its
//! segments then share the stretch.

mod taut;

use super::Context;
use super::lanes::{Batch, LANES, Lane, Lane3};
use super::model::Tip;
use super::state::Watched;
use super::symmetric::Symmetrics;
use glam::DVec3;
use taut::tighten;

/// What keeps the equations of a taut chain between two clamps solvable, as a share of inverse masses.
const LIFT: f64 = 1e-9;
/// Segments shorter than this have no direction [m].
const SHORTEST: f64 = 1e-12;

/// A batch of chains in lanes.
#[derive(Clone, Copy)]
struct Segments<'a> {
    lengths: &'a [Lane],
    inverse_masses: &'a [Lane],
    limit: f64,
}

/// How a solid holds a vertex.
#[derive(Clone, Copy, Debug)]
struct Lean {
    /// Outward normal; 0 where nothing is touched.
    normal: Lane3,
    /// Coefficient of friction where the vertex sticks, else 0.
    grip: Lane,
}

impl Segments<'_> {
    /// a . W b at a vertex, W its inverse mass.
    #[inline(always)]
    fn mobility(&self, i: usize, leans: &[Lean], a: Lane3, b: Lane3) -> Lane {
        let free = match leans.get(i) {
            Some(Lean { normal, grip }) => {
                let slides = a.dot(*normal).mul_neg_add(b.dot(*normal), a.dot(b));
                grip.simd_gt(Lane::ZERO).select(Lane::ZERO, slides)
            }
            None => a.dot(b),
        };
        self.inverse_masses[i] * free
    }
}

/// What a limit came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limited {
    /// Steps of Newton's method taken by the lane that needed most.
    pub steps: u32,
    /// 1 in lanes where a segment is still beyond the limit by more than the tolerance.
    pub beyond: Lane,
}

/// One segment while its equation is being solved.
#[derive(Clone, Copy, Debug)]
struct Row {
    direction: Lane3,
    /// Coefficient of the next impulse, over the pivot.
    next: Lane,
    right: Lane,
    /// Pull over length, of a segment that turns with it [kg].
    draw: Lane,
    /// Where the vertex at the end of the segment goes if the next one does not move [m].
    place: Lane3,
    /// How far it follows the next one, on a solid.
    share: Symmetrics,
}

impl Row {
    const NOTHING: Self = Self {
        direction: Lane3::ZERO,
        next: Lane::ZERO,
        right: Lane::ZERO,
        draw: Lane::ZERO,
        place: Lane3::ZERO,
        share: Symmetrics::ZERO,
    };
}

/// Working memory of a partition.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Inverse masses of a batch [1/kg]; 0 where a vertex is held or a lane has none.
    pub inverse_masses: Vec<Lane>,
    /// How solids hold the vertices; empty if none does.
    leans: Vec<Lean>,
    rows: Vec<Row>,
}

impl Scratch {
    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.inverse_masses.capacity() * size_of::<Lane>()
            + self.leans.capacity() * size_of::<Lean>()
            + self.rows.capacity() * size_of::<Row>()
    }

    /// Loads the inverse masses of strands that are held at their root.
    pub fn weigh(&mut self, context: &Context, batch: &Batch) {
        self.inverse_masses.clear();
        self.inverse_masses.push(Lane::ZERO);
        self.inverse_masses.extend((1..batch.longest).map(|i| batch.presence(i) / context.masses(batch, i)));
        self.hold_tips(context, batch);
    }

    /// Holds tips that are clamped.
    pub fn hold_tips(&mut self, context: &Context, batch: &Batch) {
        if context.model.tip == Tip::Clamped {
            for lane in 0..LANES {
                self.inverse_masses[batch.tip(lane)].as_mut_array()[lane] = 0.0;
            }
        }
    }

    /// Takes over which vertices lie on solids: none if nothing is watched. Only one that touches alone, as on a wire, may stick while lengths are solved: those
    /// that lie side by side would leave the segments between them nothing to move, and contact has given them their friction.
    pub fn lean(&mut self, watched: &[Watched], sticking: bool) {
        self.leans.clear();
        let touches = |i: usize, lane: usize| watched.get(i).is_some_and(|w| w.normal[lane] != DVec3::ZERO);
        if !(0..watched.len()).any(|i| watched[i].lanes != 0 && (0..LANES).any(|lane| touches(i, lane))) {
            return;
        }
        for (i, w) in watched.iter().enumerate() {
            let grip = std::array::from_fn(|lane| {
                let alone = !(touches(i + 1, lane) || i > 0 && touches(i - 1, lane));
                if sticking && alone { w.grip[lane] } else { 0.0 }
            });
            self.leans.push(Lean { normal: Lane3::new(w.normal), grip: Lane::new(grip) });
        }
    }

    /// Brings segments within the fraction `limit` of their `lengths` [m] to a relative `tolerance`, in at most `most` steps. Lengths are those of the segments that end
    /// at each vertex, 0 where a lane has none; the first is not used. Solids let go of vertices that are drawn away from them.
    pub fn limit(
        &mut self,
        lengths: &[Lane],
        limit: f64,
        tolerance: f64,
        most: u32,
        positions: &mut [Lane3],
    ) -> Limited {
        let Self { inverse_masses, leans, rows } = self;
        let segments = Segments { lengths, inverse_masses, limit };
        if rows.len() < positions.len() {
            rows.resize(positions.len(), Row::NOTHING);
        }
        let beyond = |positions: &[Lane3]| {
            let moves = |i: usize| (inverse_masses[i - 1] + inverse_masses[i]).simd_gt(Lane::ZERO);
            stretched(limit + tolerance, lengths, positions, moves).select(Lane::ONE, Lane::ZERO)
        };
        let mut working = beyond(positions);
        let mut steps = 0;
        while steps < most && working.simd_gt(Lane::ZERO).any() {
            steps += 1;
            eliminate(rows, segments, leans, positions);
            if steps == 1 {
                tighten(rows, segments, working, leans, positions);
            } else {
                substitute(rows, segments, working, leans, positions);
            }
            // A lane that is done stays done: its result must not depend on its neighbours.
            working *= beyond(positions);
        }
        Limited { steps, beyond: working }
    }
}

/// Marks lanes with a segment that is longer or shorter by more than a fraction, of those that count.
#[inline(always)]
pub(crate) fn stretched(fraction: f64, lengths: &[Lane], positions: &[Lane3], counts: impl Fn(usize) -> Lane) -> Lane {
    let longest = Lane::splat((1.0 + fraction).powi(2));
    let shortest = Lane::splat((1.0 - fraction).max(0.0).powi(2));
    let mut lanes = Lane::ZERO;
    for i in 1..positions.len() {
        let arm = positions[i] - positions[i - 1];
        let (now, rest) = (arm.dot(arm), lengths[i] * lengths[i]);
        let wrong = now.simd_gt(rest * longest) | now.simd_lt(rest * shortest);
        lanes |= wrong & rest.simd_gt(Lane::ZERO) & counts(i);
    }
    lanes
}

/// Builds the equations and takes out each impulse from the next.
#[inline(always)]
fn eliminate(rows: &mut [Row], segments: Segments, leans: &[Lean], positions: &[Lane3]) {
    let Segments { lengths, inverse_masses, limit } = segments;
    let (shortest, longest) = (Lane::splat(1.0 - limit), Lane::splat(1.0 + limit));
    let (mut direction_before, mut inverse_before, mut right_before) = (Lane3::ZERO, Lane::ZERO, Lane::ZERO);
    let mut active_before = Lane::ZERO;
    for i in 1..positions.len() {
        let arm = positions[i] - positions[i - 1];
        let now = arm.dot(arm).sqrt();
        let direction = arm * (Lane::ONE / now.fast_max(Lane::splat(SHORTEST)));
        let weight = inverse_masses[i - 1] + inverse_masses[i];
        let lighter = inverse_masses[i - 1].fast_max(inverse_masses[i]);
        let wanted = now.fast_max(lengths[i] * shortest).fast_min(lengths[i] * longest);
        let excess = now - wanted;
        let mut exists = lengths[i].simd_gt(Lane::ZERO) & weight.simd_gt(Lane::ZERO);
        if limit > 0.0 {
            exists &= excess.abs().simd_gt(Lane::ZERO);
        }
        let active = exists.select(Lane::ONE, Lane::ZERO);
        let own = if leans.is_empty() {
            weight
        } else {
            segments.mobility(i - 1, leans, direction, direction) + segments.mobility(i, leans, direction, direction)
        };
        let diagonal = exists.select(lighter.mul_add(Lane::splat(LIFT), own), Lane::ONE);
        let coupling = -(segments.mobility(i - 1, leans, direction, direction_before) * active * active_before);
        let next = coupling * inverse_before;
        let inverse = Lane::ONE / next.mul_neg_add(coupling, diagonal);
        let right = coupling.mul_neg_add(right_before, excess * active) * inverse;
        rows[i - 1].next = next;
        rows[i].direction = direction;
        rows[i].right = right;
        (direction_before, inverse_before, right_before, active_before) = (direction, inverse, right, active);
    }
    rows[positions.len() - 1].next = Lane::ZERO;
}

/// Finds the impulses from the last to the first and applies them in working lanes.
#[inline(always)]
fn substitute(rows: &[Row], segments: Segments, working: Lane, leans: &mut [Lean], positions: &mut [Lane3]) {
    let (mut impulse_after, mut pull_after) = (Lane::ZERO, Lane3::ZERO);
    for i in (1..positions.len()).rev() {
        let Row { direction, next, right, .. } = rows[i];
        let impulse = next.mul_neg_add(impulse_after, right);
        let pull = direction * (impulse * working);
        positions[i] = borne(leans, i, pull_after - pull).mul_add(segments.inverse_masses[i], positions[i]);
        (impulse_after, pull_after) = (impulse, pull);
    }
    positions[0] = borne(leans, 0, pull_after).mul_add(segments.inverse_masses[0], positions[0]);
}

/// What a solid leaves of the impulse on a vertex.
#[inline(always)]
fn borne(leans: &mut [Lean], i: usize, impulse: Lane3) -> Lane3 {
    let Some(lean) = leans.get_mut(i) else { return impulse };
    let pressed = impulse.dot(lean.normal).simd_gt(Lane::ZERO).select(Lane::ZERO, Lane::ONE);
    lean.normal = lean.normal * pressed;
    let inward = -impulse.dot(lean.normal);
    let along = lean.normal.mul_add(inward, impulse);
    let size = along.dot(along).sqrt();
    let friction = lean.grip * inward;
    let left = (Lane::ONE - friction / size.fast_max(Lane::splat(f64::MIN_POSITIVE))).fast_max(Lane::ZERO);
    // What slips or is let go sticks no more.
    lean.grip = size.simd_gt(friction).select(Lane::ZERO, lean.grip);
    along * left
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_math::random::Stream;
    use glam::DVec3;

    /// A zigzag chain of unit segments with noise.
    fn chain(count: usize, noise: f64) -> Vec<DVec3> {
        let stream = Stream::new(1, "strain");
        let at = |i: usize| DVec3::new(0.8 * i as f64, 0.3 * (i % 2) as f64, 0.0) + noise * stream.direction(i as u64);
        (0..count).map(at).collect()
    }

    fn run(start: &[DVec3], weights: &[f64], limit_to: f64) -> (Vec<DVec3>, Limited) {
        let mut positions: Vec<Lane3> = start.iter().map(|x| Lane3::splat(*x)).collect();
        let lengths = vec![Lane::splat(1.0); start.len()];
        let inverse_masses = weights.iter().map(|w| Lane::splat(*w)).collect();
        let mut scratch = Scratch { inverse_masses, ..Scratch::default() };
        let limited = scratch.limit(&lengths, limit_to, 1e-9, 60, &mut positions);
        (positions.iter().map(|x| x.lane(2)).collect(), limited)
    }

    fn strain(positions: &[DVec3]) -> f64 {
        positions.windows(2).map(|pair| ((pair[1] - pair[0]).length() - 1.0).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn lengths_are_met_whatever_is_held_and_momentum_goes_to_the_clamps_only() {
        let start = chain(20, 0.2);
        let stream = Stream::new(2, "masses");
        let masses: Vec<f64> = (0..20).map(|i| 0.2 + stream.uniform(i)).collect();
        for held in [&[][..], &[0], &[0, 19], &[0, 1, 8, 19]] {
            let weights: Vec<f64> = (0..20).map(|i| if held.contains(&i) { 0.0 } else { 1.0 / masses[i] }).collect();
            let (moved, limited) = run(&start, &weights, 0.0);
            let ignored = if held.len() > 2 { (start[1] - start[0]).length() - 1.0 } else { 0.0 };
            assert!(strain(&moved) < 1e-8_f64.max(ignored.abs() * 1.0001), "{held:?}: {}", strain(&moved));
            assert!(limited.steps <= 12 && limited.beyond.to_array() == [0.0; 4], "{held:?}: {}", limited.steps);
            assert!(held.iter().all(|&i| moved[i] == start[i]));
            if held.is_empty() {
                let change: DVec3 = (0..20).map(|i| (moved[i] - start[i]) * masses[i]).sum();
                assert!(change.length() < 1e-13);
            }
        }
    }

    #[test]
    fn a_solid_takes_what_pulls_a_vertex_into_it_and_nothing_else() {
        // A light vertex between heavy ends that have fallen: it stays at its height; turned upside down it goes along.
        for (side, held) in [(1.0, true), (-1.0, false)] {
            let start = [DVec3::new(-0.8, -1.0, 0.0), DVec3::ZERO, DVec3::new(0.8, -1.0, 0.0)];
            let mut positions = start.map(Lane3::splat);
            let lean = |normal: DVec3| Lean { normal: Lane3::splat(normal), grip: Lane::ZERO };
            let mut scratch = Scratch {
                inverse_masses: [0.1, 1.0, 0.1].map(Lane::splat).to_vec(),
                leans: [DVec3::ZERO, DVec3::Y * side, DVec3::ZERO].map(lean).to_vec(),
                rows: Vec::new(),
            };
            let limited = scratch.limit(&[Lane::ONE; 3], 0.0, 1e-9, 60, &mut positions);
            let moved = positions.map(|x| x.lane(1));
            assert_eq!(limited.beyond.to_array(), [0.0; 4]);
            assert!(strain(&moved) < 1e-8);
            assert_eq!((moved[1].y == 0.0, scratch.leans[1].normal.lane(1) != DVec3::ZERO), (held, held), "{moved:?}");
        }
    }

    #[test]
    fn within_the_limit_nothing_moves_and_beyond_it_only_what_must() {
        let start = chain(12, 0.0);
        let (same, limited) = run(&start, &[1.0; 12], 0.3);
        assert_eq!((same, limited.steps), (start, 0));
        let line: Vec<DVec3> = (0..6).map(|i| DVec3::X * (1.5 * f64::from(i))).collect();
        let (moved, _) = run(&line, &[0.0, 1.0, 1.0, 1.0, 1.0, 1.0], 0.1);
        assert!((moved[5].x - 5.5).abs() < 1e-8, "{}", moved[5]);
    }

    #[test]
    fn a_taut_chain_between_clamps_that_are_too_far_apart_shares_the_stretch() {
        let line: Vec<DVec3> = (0..6).map(|i| DVec3::X * if i == 5 { 7.0 } else { f64::from(i) }).collect();
        let (moved, limited) = run(&line, &[0.0, 1.0, 1.0, 1.0, 1.0, 0.0], 0.0);
        assert_eq!(limited.beyond.to_array(), [1.0; 4]);
        assert!(moved.windows(2).all(|pair| ((pair[1] - pair[0]).length() - 1.4).abs() < 1e-3), "{moved:?}");
    }
}
