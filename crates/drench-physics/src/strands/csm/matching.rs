//! Goal positions of a chain by shape matching over regions [Rungjiratananon2012, 3.3 and 4.1], at a cost that does not grow with
//! their width.
//!
//! | symbol | meaning |
//! |---|---|
//! | a_ri | weight of vertex i in the region around vertex r: 1 within its half-width, less at its ends, see [`super::extent`] |
//! | A_i = sum_r a_ri | how many regions hold vertex i |
//! | m_ri = m_i a_ri / A_i | the vertex's mass in the region: over all regions it adds up to m_i |
//! | c_r, d_r | centre of mass of the region now and at rest, with m_ri |
//! | R_r | best rotation of the region, see [`super::rotation`] |
//! | g_i = sum_r (a_ri / A_i) (R_r (x0_i - d_r) + c_r) | goal [Rungjiratananon2012, eq. 3.10] |
//!
//! **What is kept.** sum_i m_i g_i = sum_r M_r c_r = sum_i m_i x_i, and sum_i m_i x_i x g_i = 0, because the torque of every region
//! vanishes at its best rotation: going to the goals is the work of internal impulses at x. That needs m_ri both in the mean
//! of the goals and in the centres and rotations.
//!
//! **Sums.** The weights are those of two boxes, (1 - f) of half-width n and f of half-width n + 1. Sums over a region are differences
//! of sums from the left, taken for blocks of regions about an origin of their own so that nothing cancels; goals are summed up
//! by entering each region's R_r and c_r - R_r d_r where it begins and taking it out where it ends. Both are
//! free of the width, and the width may change from vertex to vertex and lane to lane.

use super::rotation::{Turn, best_rotation};
use crate::strands::lanes::{Lane, Lane3, unit};

/// Region centres that share an origin of their sums, at least.
const BLOCK: usize = 64;

/// A batch of chains in lanes. Vertices past the end of a lane's chain have no mass, any position, and an extent of 0.
#[derive(Clone, Copy)]
pub(crate) struct Chains<'a> {
    /// Rest positions [m], in any coordinates.
    pub rest: &'a [Lane3],
    /// Masses [kg].
    pub masses: &'a [Lane],
    /// Extents of the regions around the vertices, see [`super::extent::extent`].
    pub extents: &'a [Lane],
}

/// A vertex whose surroundings are turned with a frame, as if it carried a body of its own: what holds direction and roll where a
/// chain is clamped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Anchor {
    /// Index of the vertex.
    pub vertex: usize,
    /// Rotation from rest to now.
    pub frame: Turn,
    /// How strongly regions that hold the vertex follow [kg m2]; 0 in lanes where they do not.
    pub moment: Lane,
}

/// Working memory, as large as the longest chain so far.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    /// Weight of every vertex in the regions: m_i / A_i, and 1 / A_i.
    shares: Vec<[Lane; 2]>,
    sums: Vec<Sums>,
    /// What begins and ends at every vertex.
    moves: Vec<Moves>,
}

impl Workspace {
    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.shares.capacity() * size_of::<[Lane; 2]>()
            + self.sums.capacity() * size_of::<Sums>()
            + self.moves.capacity() * size_of::<Moves>()
    }
}

/// Something that is summed over a window.
trait Summed: Copy {
    const ZERO: Self;
    /// self += other * factor
    fn add(&mut self, other: &Self, factor: Lane);
}

impl Summed for Lane {
    const ZERO: Self = Lane::ZERO;
    #[inline(always)]
    fn add(&mut self, other: &Self, factor: Lane) {
        *self = other.mul_add(factor, *self);
    }
}

/// Sums over vertices: m_ri times 1, x, x0 and x x0^T (by columns).
#[derive(Clone, Copy, Debug)]
struct Sums {
    mass: Lane,
    now: Lane3,
    rest: Lane3,
    moment: [Lane3; 3],
}

impl Summed for Sums {
    const ZERO: Self = Self { mass: Lane::ZERO, now: Lane3::ZERO, rest: Lane3::ZERO, moment: [Lane3::ZERO; 3] };
    #[inline(always)]
    fn add(&mut self, other: &Self, factor: Lane) {
        self.mass = other.mass.mul_add(factor, self.mass);
        self.now = other.now.mul_add(factor, self.now);
        self.rest = other.rest.mul_add(factor, self.rest);
        for column in 0..3 {
            self.moment[column] = other.moment[column].mul_add(factor, self.moment[column]);
        }
    }
}

/// Sums over regions: how strongly they are followed, R by columns, c - R d.
#[derive(Clone, Copy, Debug)]
struct Moves {
    strength: Lane,
    turn: [Lane3; 3],
    shift: Lane3,
}

impl Summed for Moves {
    const ZERO: Self = Self { strength: Lane::ZERO, turn: [Lane3::ZERO; 3], shift: Lane3::ZERO };
    #[inline(always)]
    fn add(&mut self, other: &Self, factor: Lane) {
        self.strength = other.strength.mul_add(factor, self.strength);
        for column in 0..3 {
            self.turn[column] = other.turn[column].mul_add(factor, self.turn[column]);
        }
        self.shift = other.shift.mul_add(factor, self.shift);
    }
}

/// Calls `visit(from, to, weight)` for the boxes of weight that make up the region around vertex `r` of `count`: one for whole
/// half-widths, two for others, more where lanes differ.
#[inline(always)]
fn boxes(extent: Lane, r: usize, count: usize, mut visit: impl FnMut(usize, usize, Lane)) {
    let whole = extent.floor().fast_max(Lane::ONE);
    let part = (extent - whole).fast_max(Lane::ZERO);
    let partial = part.simd_gt(Lane::ZERO).any();
    let mut both = |n: usize, mask: Lane| {
        let (from, to) = (r.saturating_sub(n), (r + n + 1).min(count));
        if partial {
            visit(from, to, mask - part * mask);
            visit(from.saturating_sub(1), (to + 1).min(count), part * mask);
        } else {
            visit(from, to, mask);
        }
    };
    let widths = whole.to_array();
    // Lanes without this vertex have extent 0, of which the whole is 1, and reach no farther than any other.
    if whole.simd_eq(Lane::splat(widths[0])).all() {
        return both(widths[0] as usize, Lane::ONE);
    }
    for (lane, width) in widths.into_iter().enumerate() {
        if !widths[..lane].contains(&width) {
            let mask = whole.simd_eq(Lane::splat(width)).select(Lane::ONE, Lane::ZERO);
            both(width as usize, mask);
        }
    }
}

/// 1 where the vertex exists.
#[inline(always)]
fn presence(mass: Lane) -> Lane {
    mass.simd_gt(Lane::ZERO).select(Lane::ONE, Lane::ZERO)
}

/// Moves `positions` by the fraction `gain` of the way to their goals. `start` turns the rest shape to about where the first
/// vertices are; where they lie on a line, their roll about it is that of `start`. Anchors are in the order of their vertices.
pub(crate) fn match_shape(
    work: &mut Workspace,
    chains: Chains,
    anchors: &[Anchor],
    start: Turn,
    gain: Lane,
    positions: &mut [Lane3],
) {
    let count = positions.len();
    if count < 2 {
        return;
    }
    share_out(work, chains, count);
    work.moves.clear();
    work.moves.resize(count + 1, Moves::ZERO);
    let widest = chains.extents[..count].iter().fold(Lane::ONE, |most, extent| most.fast_max(*extent));
    let reach = widest.to_array().into_iter().fold(1.0, f64::max) as usize + 1;
    let mut turn = start.aligned(start.apply(unit(chains.rest[1] - chains.rest[0])), unit(positions[1] - positions[0]));
    let block = BLOCK.max(reach);
    for first in (0..count).step_by(block) {
        let last = (first + block).min(count);
        turn = find_moves(work, chains, anchors, turn, [first, last, reach], positions);
    }

    // Goals, as regions begin and end.
    let origin = positions[0];
    let mut sum = Moves::ZERO;
    for i in 0..count {
        sum.add(&work.moves[i], Lane::ONE);
        let (x, rest) = (positions[i], chains.rest[i] - chains.rest[0]);
        let [a, b, c] = sum.turn;
        let goals = a.mul_add(rest.x, b.mul_add(rest.y, c.mul_add(rest.z, sum.shift)));
        let away = (x - origin).mul_add(-sum.strength, goals);
        positions[i] = away.mul_add(work.shares[i][1] * gain, x);
    }
}

/// m_i / A_i and 1 / A_i of every vertex.
fn share_out(work: &mut Workspace, chains: Chains, count: usize) {
    let shares = &mut work.shares;
    shares.clear();
    shares.resize(count + 1, [Lane::ZERO; 2]);
    for r in 0..count {
        let here = presence(chains.masses[r]);
        boxes(chains.extents[r], r, count, |from, to, weight| {
            shares[from][0].add(&here, weight);
            shares[to][0].add(&here, -weight);
        });
    }
    let mut regions = Lane::ZERO;
    for (share, mass) in shares.iter_mut().zip(chains.masses) {
        regions += share[0];
        // A vertex is in its own region at least; past the end of a chain there may be none.
        let inverse = Lane::ONE / regions.fast_max(Lane::splat(0.5));
        *share = [*mass * inverse, inverse];
    }
}

/// Finds the rotations and shifts of the regions around vertices `first` to `last`, and enters them where they begin and end.
/// Returns the last rotation.
fn find_moves(
    work: &mut Workspace,
    chains: Chains,
    anchors: &[Anchor],
    mut turn: Turn,
    [first, last, reach]: [usize; 3],
    positions: &[Lane3],
) -> Turn {
    let count = positions.len();
    let Workspace { shares, sums, moves } = work;
    let (from, to) = (first.saturating_sub(reach), (last + reach).min(count));
    let (origin, rest_origin) = (positions[first], chains.rest[first]);
    sums.clear();
    let mut sum = Sums::ZERO;
    sums.push(sum);
    let mut anchors = anchors.iter().skip_while(|anchor| anchor.vertex < from).peekable();
    for i in from..to {
        let (mass, x, rest) = (shares[i][0], positions[i] - origin, chains.rest[i] - rest_origin);
        let weighed = x * mass;
        sum.mass += mass;
        sum.now = sum.now + weighed;
        sum.rest = rest.mul_add(mass, sum.rest);
        for (column, rest) in sum.moment.iter_mut().zip([rest.x, rest.y, rest.z]) {
            *column = weighed.mul_add(rest, *column);
        }
        while let Some(anchor) = anchors.next_if(|anchor| anchor.vertex == i) {
            let share = anchor.moment * shares[i][1];
            for (column, axis) in sum.moment.iter_mut().zip(anchor.frame.columns()) {
                *column = axis.mul_add(share, *column);
            }
        }
        sums.push(sum);
    }

    let (shift_now, shift_rest) = (origin - positions[0], rest_origin - chains.rest[0]);
    for r in first..last {
        let extent = chains.extents[r];
        let mut region = Sums::ZERO;
        boxes(extent, r, count, |begin, end, weight| {
            region.add(&sums[end - from], weight);
            region.add(&sums[begin - from], -weight);
        });
        let inverse = Lane::ONE / region.mass.fast_max(Lane::splat(1e-100));
        let (now, rest) = (region.now * inverse, region.rest * inverse);
        let moment = region.moment;
        let covariance = [
            region.now.mul_add(-rest.x, moment[0]),
            region.now.mul_add(-rest.y, moment[1]),
            region.now.mul_add(-rest.z, moment[2]),
        ];
        turn = best_rotation(&covariance, turn);
        let columns = turn.columns();
        let [a, b, c] = columns;
        let rest = rest + shift_rest;
        let turned = a.mul_add(rest.x, b.mul_add(rest.y, c * rest.z));
        let strength = extent.fast_min(Lane::ONE) * presence(chains.masses[r]);
        let here = Moves { strength: Lane::ONE, turn: columns, shift: now + shift_now - turned };
        boxes(extent, r, count, |begin, end, weight| {
            moves[begin].add(&here, weight * strength);
            moves[end].add(&here, -weight * strength);
        });
    }
    turn
}
