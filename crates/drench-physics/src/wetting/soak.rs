//! Water on its way: from liquid particles into grains, from grain to grain, and into the air [Rungjiratananon2012, 5.3-5.5].
//!
//! | what | law |
//! |---|---|
//! | absorption | a grain asks every liquid particle it touches for (1 - exp(-`absorption` dt)) m / n, n the grains that ask it, and takes what fits: up to `most` of its dry mass |
//! | spreading | i -> j: a min(M_i, M_j) (e_i - e_j), e = max(0, q - threshold), a = (1 - exp(-k dt)) / (1 + max(n_i, n_j)) |
//! | k | (c^4 `downward` + s^4 `sideways`) / (c^4 + s^4) for a way down, c and s the cosine and sine to gravity; `upward` for a way up |
//! | drying | (1 - exp(-`evaporation` dt)) of its water |
//!
//! M is the dry mass, q the water over it, n the number of grains nearby. Every exchange is one number that is taken here and
//! given there. The weights of spreading sum to less than 1 about any grain, so that no grain gets wetter than the wettest around
//! it, at any dt. In one pass water gets no farther than the next grain: it spreads in rounds in which k dt is at most [`SHARE`], so that a
//! front goes as far in one long step as in many short ones. Water carries its momentum along.
//!
//! Deviations: the text gives a whole liquid particle to grains that may not have room; here the rest of it stays. It
//! distributes the excess to grains below the threshold only, so that a grain a hair above it would stop the front; here
//! differences of excess drive the flow, which is the same law (5.7) where the receiver is below the threshold.

use crate::error::{PhysicsError, check};
use crate::grains::carry::VICINITY;
use crate::grains::search::{index, search};
use crate::grains::{GrainModel, GrainScratch, GrainState};
use crate::wetting::Liquid;
use crate::wetting::grains::Wetness;
use drench_geometry::neighbours::Neighbours;
use drench_math::ordered::{self, Compensated};
use glam::DVec3;
use rayon::prelude::*;

/// Largest rate of spreading times the length of a round, and most rounds in a step: beyond that, water goes as fast as it can.
const SHARE: f64 = 0.5;
const MOST_ROUNDS: f64 = 32.0;
/// Grains that look for liquid in one piece.
const PIECE: usize = 1024;

/// Working memory of [`absorb`]; may be dropped at any time.
#[derive(Debug, Default)]
pub struct SoakScratch {
    neighbours: Neighbours,
    pieces: Vec<Vec<(u32, u32)>>,
    asked: Vec<u32>,
}

/// Whether two grains are so near each other that water passes between them.
#[inline]
pub(super) fn adjoin(grains: &GrainState, i: usize, j: usize) -> bool {
    let reach = (1.0 + VICINITY) * (grains.radii[i] + grains.radii[j]);
    (grains.positions[j] - grains.positions[i]).length_squared() < reach * reach
}

/// Grains take in liquid that touches them; returns how much [kg].
pub fn absorb(
    model: &GrainModel,
    state: &mut GrainState,
    scratch: &mut SoakScratch,
    liquid: &mut Liquid,
    dt: f64,
) -> Result<f64, PhysicsError> {
    check("dt", dt, "positive", |x| x > 0.0)?;
    let Some(wetness) = model.wetness() else { return Ok(0.0) };
    let count = liquid.positions.len();
    for (what, got) in [("liquid velocities", liquid.velocities.len()), ("liquid masses", liquid.masses.len())] {
        if got != count {
            return Err(PhysicsError::Count { what, got, expected: count });
        }
    }
    if count == 0 || state.is_empty() || wetness.absorption <= 0.0 {
        return Ok(0.0);
    }
    check("radius of a liquid particle", liquid.radius, "positive", |x| x > 0.0)?;
    let SoakScratch { neighbours, pieces, asked } = scratch;
    let cell = model.sizes().most() + liquid.radius;
    neighbours.rebuild(liquid.positions, cell).map_err(|problem| PhysicsError::search("liquid", &problem))?;
    let grains = &*state;
    // Most grains are far from any liquid.
    let none = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    let (low, high) = liquid.positions.iter().fold(none, |(low, high), &p| (low.min(p), high.max(p)));
    let (low, high) = (low - cell, high + cell);
    let dipped = |x: DVec3| x.cmpge(low).all() && x.cmple(high).all();
    pieces.resize_with(grains.len().div_ceil(PIECE), Vec::new);
    pieces.par_iter_mut().enumerate().for_each(|(piece, pairs)| {
        pairs.clear();
        for i in piece * PIECE..((piece + 1) * PIECE).min(grains.len()) {
            if dipped(grains.positions[i]) && grains.water[i] < wetness.most * model.dry_mass(grains.sizes[i]) {
                let (x, first, reach) = (grains.positions[i], pairs.len(), grains.radii[i] + liquid.radius);
                neighbours.for_each_near(x, |l| {
                    if (liquid.positions[l as usize] - x).length_squared() < reach * reach {
                        pairs.push((i as u32, l));
                    }
                });
                pairs[first..].sort_unstable();
            }
        }
    });
    asked.clear();
    asked.resize(count, 0);
    pieces.iter().flatten().for_each(|&(_, l)| asked[l as usize] += 1);

    let part = -(-wetness.absorption * dt).exp_m1();
    let (crumb, mut total) = (liquid.crumb(), Compensated::default());
    // One after the other, so that what fits is known: few grains touch liquid.
    for pairs in pieces.iter() {
        for own in pairs.chunk_by(|a, b| a.0 == b.0) {
            let grain = own[0].0 as usize;
            let dry = model.dry_mass(state.sizes[grain]);
            let mut room = wetness.most * dry - state.water[grain];
            let (mut taken, mut momentum) = (0.0, DVec3::ZERO);
            for &(_, l) in own {
                let left = &mut liquid.masses[l as usize];
                // What is left of a particle counts as of now: it was not more at the beginning.
                let whole = *left <= crumb;
                let wanted = if whole { *left } else { part * *left / f64::from(asked[l as usize]) };
                let amount = wanted.min(room).min(*left).max(0.0);
                *left -= amount;
                room -= amount;
                taken += amount;
                momentum += amount * liquid.velocities[l as usize];
            }
            if taken > 0.0 {
                receive(state, grain, dry, taken, momentum);
                total.add(taken);
            }
        }
    }
    shrink(model, wetness, state);
    Ok(total.value())
}

/// A grain takes in water [kg] with its momentum [kg m/s].
fn receive(state: &mut GrainState, grain: usize, dry: f64, taken: f64, momentum: DVec3) {
    let before = dry + state.water[grain];
    let after = before + taken;
    state.velocities[grain] = (state.velocities[grain] * before + momentum) / after;
    state.spins[grain] *= before / after;
    state.water[grain] += taken;
    state.calm[grain] = 0.0;
}

/// Over-wet grains pass their excess on to grains nearby, for `dt` seconds.
pub fn spread(
    model: &GrainModel,
    state: &mut GrainState,
    scratch: &mut GrainScratch,
    gravity: DVec3,
    dt: f64,
) -> Result<(), PhysicsError> {
    check("dt", dt, "positive", |x| x > 0.0)?;
    let Some(wetness) = model.wetness() else { return Ok(()) };
    let fastest = wetness.downward.max(wetness.sideways).max(wetness.upward);
    let rounds = (fastest * dt / SHARE).ceil().clamp(1.0, MOST_ROUNDS);
    for _ in 0..rounds as u32 {
        spread_once(model, wetness, state, scratch, gravity, dt / rounds)?;
    }
    shrink(model, wetness, state);
    Ok(())
}

fn spread_once(
    model: &GrainModel,
    wetness: &Wetness,
    state: &mut GrainState,
    scratch: &mut GrainScratch,
    gravity: DVec3,
    dt: f64,
) -> Result<(), PhysicsError> {
    let excess_of = |i: usize| (state.water[i] / model.dry_mass(state.sizes[i]) - wetness.threshold).max(0.0);
    let excess: Vec<f64> = (0..state.len()).into_par_iter().with_min_len(PIECE).map(excess_of).collect();
    if excess.iter().all(|&excess| excess == 0.0) {
        return Ok(());
    }
    if state.offsets.len() != state.len() + 1 {
        search(model, state, scratch, false)?;
    } else if !scratch.search.lists(state) {
        index(state, scratch);
    }
    let grains = &*state;
    let own = |i: usize| grains.offsets[i] as usize..grains.offsets[i + 1] as usize;
    let others = |i: usize| &scratch.lower[scratch.lower_offsets[i] as usize..scratch.lower_offsets[i + 1] as usize];
    // How many grains lie around each that gives or gets: one that is over-wet, or beside one that is.
    let around: Vec<u32> = (0..grains.len())
        .into_par_iter()
        .map(|i| {
            let involved = excess[i] > 0.0 || scratch.around(grains, i).any(|j| excess[j] > 0.0);
            if involved { scratch.around(grains, i).filter(|&j| adjoin(grains, i, j)).count() as u32 } else { 0 }
        })
        .collect();

    // Positive from the owner of the link to its partner.
    let down = gravity.normalize_or(DVec3::NEG_Y);
    let rates = Rates { wetness, down, dt };
    let flow = |i: usize, j: usize| {
        if around[i] == 0 || excess[i] == excess[j] || !adjoin(grains, i, j) {
            return 0.0;
        }
        let (wet, less) = (excess[i], excess[j]);
        let way = (grains.positions[j] - grains.positions[i]).normalize_or_zero();
        let part = rates.part(if wet > less { way } else { -way }) / f64::from(1 + around[i].max(around[j]));
        part * model.dry_mass(grains.sizes[i].min(grains.sizes[j])) * (wet - less)
    };
    let mut flows = std::mem::take(&mut scratch.flows);
    flows.clear();
    flows.resize(grains.links.len(), 0.0);
    flows.par_chunks_mut(PIECE).enumerate().for_each(|(piece, flows)| {
        let first = piece * PIECE;
        let mut owner = grains.offsets.partition_point(|&offset| offset as usize <= first) - 1;
        for (k, flow_of_link) in flows.iter_mut().enumerate() {
            while grains.offsets[owner + 1] as usize <= first + k {
                owner += 1;
            }
            *flow_of_link = flow(owner, grains.links[first + k].partner as usize);
        }
    });

    let moved: Vec<(f64, DVec3, DVec3)> = (0..grains.len())
        .into_par_iter()
        .map(|i| {
            if around[i] == 0 {
                return (grains.water[i], grains.velocities[i], grains.spins[i]);
            }
            let mass = model.dry_mass(grains.sizes[i]) + grains.water[i];
            let (mut water, mut momentum, mut kept) = (grains.water[i], DVec3::ZERO, mass);
            let mut exchange = |gained: f64, other: usize| {
                water += gained;
                if gained > 0.0 {
                    momentum += gained * grains.velocities[other];
                } else {
                    kept += gained;
                }
            };
            own(i).for_each(|k| exchange(-flows[k], grains.links[k].partner as usize));
            others(i).iter().for_each(|&(k, owner)| exchange(flows[k as usize], owner as usize));
            let after = model.dry_mass(grains.sizes[i]) + water;
            (water, (momentum + kept * grains.velocities[i]) / after, grains.spins[i] * (kept / after))
        })
        .collect();
    scratch.flows = flows;
    for (i, (water, velocity, spin)) in moved.into_iter().enumerate() {
        if water != state.water[i] {
            if velocity != DVec3::ZERO {
                state.calm[i] = 0.0;
            }
            (state.water[i], state.velocities[i], state.spins[i]) = (water, velocity, spin);
        }
    }
    Ok(())
}

/// How fast water goes which way.
struct Rates<'a> {
    wetness: &'a Wetness,
    down: DVec3,
    dt: f64,
}

impl Rates<'_> {
    /// Part of an excess that goes along a unit vector during the step.
    fn part(&self, way: DVec3) -> f64 {
        let cosine = way.dot(self.down);
        let square = (cosine * cosine).min(1.0);
        let (steep, level) = (square * square, (1.0 - square) * (1.0 - square));
        let along = if cosine > 0.0 { self.wetness.downward } else { self.wetness.upward };
        let rate = (steep * along + level * self.wetness.sideways) / (steep + level);
        -(-rate * self.dt).exp_m1()
    }
}

/// Grains lose water to the air for `dt` seconds; returns how much [kg].
pub fn dry(model: &GrainModel, state: &mut GrainState, dt: f64) -> Result<f64, PhysicsError> {
    check("dt", dt, "positive", |x| x > 0.0)?;
    let Some(wetness) = model.wetness().filter(|wetness| wetness.evaporation > 0.0) else { return Ok(0.0) };
    let part = -(-wetness.evaporation * dt).exp_m1();
    let before = std::mem::take(&mut state.water);
    state.water = before.par_iter().map(|water| water - part * water).collect();
    let after = &state.water;
    let lost = |range: std::ops::Range<usize>| {
        let mut sum = Compensated::default();
        range.for_each(|i| sum.add(before[i] - after[i]));
        sum
    };
    Ok(ordered::reduce(before.len(), Compensated::default(), lost, Compensated::join).value())
}

/// Wet grains shrink (5.1). They do not grow again when they dry: what has settled stays settled, and growing against a load would
/// make energy of nothing.
fn shrink(model: &GrainModel, wetness: &Wetness, state: &mut GrainState) {
    if wetness.shrink > 0.0 {
        let GrainState { radii, sizes, water, .. } = state;
        radii.par_iter_mut().zip(sizes.par_iter().zip(water.par_iter())).for_each(|(radius, (&size, &water))| {
            *radius = radius.min(size * wetness.shrunk(water, model.dry_mass(size)));
        });
    }
}
