//! Which grains are near each other: a list that stays valid while no two grains have moved by a skin together.
//!
//! A pair belongs to the grain with the lower number; links are sorted by (owner, partner). Sums over links therefore run in
//! an order that does not depend on when the list was made, and pairs in it that do not touch add nothing: a list made
//! earlier or later gives the same bits.

use super::state::{GrainState, Link};
use super::{GrainModel, GrainScratch};
use crate::error::PhysicsError;
use glam::DVec3;
use rayon::prelude::*;

/// Distance between surfaces up to which pairs are listed, over the mean radius, on top of the reach of bridges.
pub(crate) const SKIN: f64 = 0.3;
/// Grains that are searched for in one piece.
const PIECE: usize = 2048;
/// Searches after which grains are renumbered along the curve.
const RENUMBER: u32 = 16;

/// Working memory of the search.
#[derive(Debug, Default)]
pub(crate) struct Search {
    pieces: Vec<Found>,
    old_offsets: Vec<u32>,
    old_links: Vec<Link>,
    /// Number before renumbering of each grain; empty if they kept theirs.
    before: Vec<u32>,
    /// What the lists of others' links were made for: searches of the state, and links.
    indexed: (u64, usize),
}

#[derive(Debug, Default)]
struct Found {
    counts: Vec<u32>,
    partners: Vec<u32>,
}

impl Search {
    /// Whether the lists of others' links are those of this state.
    pub fn lists(&self, state: &GrainState) -> bool {
        self.indexed == (state.listings, state.links.len())
    }

    pub fn memory(&self) -> usize {
        let found: usize =
            self.pieces.iter().map(|piece| 4 * (piece.counts.capacity() + piece.partners.capacity())).sum();
        found + 4 * self.old_offsets.capacity() + size_of::<Link>() * self.old_links.capacity()
    }
}

/// Whether grains should be renumbered now, if that is possible.
pub(crate) fn disordered(state: &GrainState) -> bool {
    state.searches >= RENUMBER
}

/// Lists the pairs anew; what contacts remember is carried over. May renumber the grains.
pub(crate) fn search(
    model: &GrainModel,
    state: &mut GrainState,
    scratch: &mut GrainScratch,
    renumber: bool,
) -> Result<(), PhysicsError> {
    let skin = SKIN * model.sizes().radius;
    // Dry grains have no bridges.
    let wetness = model.wetness().filter(|_| state.water.iter().any(|&water| water > 0.0));
    let reach = skin + wetness.map_or(0.0, |wetness| wetness.reach(model.sizes().most()));
    let largest = state.radii.iter().copied().fold(0.0, f64::max);
    // Bridges of grains that keep their numbers are in the list before.
    let known = !renumber && state.offsets.len() == state.len() + 1;
    let around = if known { skin } else { reach };
    scratch.neighbours.rebuild(&state.positions, (2.0 * largest + around).max(1e-9)).map_err(|_| lost(state))?;
    let search = &mut scratch.search;
    std::mem::swap(&mut search.old_offsets, &mut state.offsets);
    std::mem::swap(&mut search.old_links, &mut state.links);
    search.before.clear();
    if renumber {
        search.before.extend_from_slice(scratch.neighbours.order());
        renumber_all(state, &search.before);
        state.searches = 0;
    } else {
        state.searches += 1;
    }
    state.listings += 1;

    let count = state.len();
    search.pieces.resize_with(count.div_ceil(PIECE), Found::default);
    let (neighbours, grains) = (&scratch.neighbours, &*state);
    let Search { pieces, old_offsets, old_links, before, .. } = search;
    let old = Old { offsets: old_offsets, links: old_links, before };
    pieces.par_iter_mut().enumerate().for_each(|(piece, found)| {
        found.counts.clear();
        found.partners.clear();
        // Neighbours in memory are mostly in the same cell: look around once.
        let (mut cell, mut around) = (None, Vec::with_capacity(27));
        for i in piece * PIECE..((piece + 1) * PIECE).min(count) {
            let (x, radius) = (grains.positions[i], grains.radii[i]);
            let here = neighbours.cell_of(x);
            if cell != Some(here) {
                cell = Some(here);
                around.clear();
                around.extend(neighbours.around(here));
            }
            let first = found.partners.len();
            let mut offer = |j: usize| {
                if j > i {
                    let sum = radius + grains.radii[j];
                    let square = (grains.positions[j] - x).length_squared();
                    // Farther than a skin apart only a bridge that is there already can act.
                    let (near, far) = (sum + skin, sum + reach);
                    let wet = || grains.water[i] + grains.water[j] > 0.0;
                    if square < near * near || !known && square < far * far && wet() && old.bridged(i, j) {
                        found.partners.push(j as u32);
                    }
                }
            };
            for range in &around {
                if renumber {
                    range.clone().for_each(&mut offer);
                } else {
                    neighbours.order()[range.clone()].iter().for_each(|&j| offer(j as usize));
                }
            }
            if known && reach > skin {
                let near = found.partners.len();
                for link in old.own(i).iter().filter(|link| link.bridge > 0.0) {
                    let (j, sum) = (link.partner, radius + grains.radii[link.partner as usize]);
                    let square = (grains.positions[j as usize] - x).length_squared();
                    let wet = grains.water[i] + grains.water[j as usize] > 0.0;
                    if square < (sum + reach).powi(2) && wet && !found.partners[first..near].contains(&j) {
                        found.partners.push(j);
                    }
                }
            }
            found.partners[first..].sort_unstable();
            found.counts.push((found.partners.len() - first) as u32);
        }
    });
    let total: usize = search.pieces.iter().map(|found| found.partners.len()).sum();
    state.offsets.clear();
    state.offsets.push(0);
    let mut end = 0;
    for found in &search.pieces {
        state.offsets.extend(found.counts.iter().map(|n| {
            end += n;
            end
        }));
    }
    state.links.clear();
    state.links.resize(total, Link::default());
    carry_over(state, search);
    state.origins.clear();
    state.origins.extend_from_slice(&state.positions);
    index(state, scratch);
    Ok(())
}

/// The links before, by the numbers that grains have now.
struct Old<'a> {
    offsets: &'a [u32],
    links: &'a [Link],
    /// Number before renumbering of each grain; empty if they kept theirs.
    before: &'a [u32],
}

impl Old<'_> {
    fn number(&self, grain: usize) -> usize {
        if self.before.is_empty() { grain } else { self.before[grain] as usize }
    }

    /// The links of a grain that kept its number.
    fn own(&self, grain: usize) -> &[Link] {
        &self.links[self.offsets[grain] as usize..self.offsets[grain + 1] as usize]
    }

    /// Whether both grains were there when the old links were listed.
    fn knows(&self, a: usize, b: usize) -> bool {
        self.number(a).max(self.number(b)) + 1 < self.offsets.len()
    }

    /// What the contact of a, which will own it, and b remembers.
    fn link(&self, a: usize, b: usize) -> Option<Link> {
        let (owner, partner) = (self.number(a), self.number(b));
        let (low, high) = (owner.min(partner), owner.max(partner));
        let own = &self.links[self.offsets[low] as usize..self.offsets[low + 1] as usize];
        own.iter().find(|old| old.partner as usize == high).map(|old| old.turned(b as u32, low != owner))
    }

    /// Whether a bridge spans two grains. Wet grains are put into the world with the bridges that reach; dry ones lose
    /// theirs at once.
    fn bridged(&self, a: usize, b: usize) -> bool {
        !self.knows(a, b) || self.link(a, b).is_some_and(|link| link.bridge > 0.0)
    }
}

/// Fills the new links with what the old ones remember.
fn carry_over(state: &mut GrainState, search: &Search) {
    let old = Old { offsets: &search.old_offsets, links: &search.old_links, before: &search.before };
    let mut rest = state.links.as_mut_slice();
    let mut spans = Vec::with_capacity(search.pieces.len());
    for (piece, found) in search.pieces.iter().enumerate() {
        let (span, after) = rest.split_at_mut(found.partners.len());
        rest = after;
        spans.push((piece * PIECE, found, span));
    }
    spans.into_par_iter().for_each(|(first, found, span)| {
        let mut partners = found.partners.iter().zip(span);
        for (k, &count) in found.counts.iter().enumerate() {
            for (&partner, link) in partners.by_ref().take(count as usize) {
                let (a, b) = (first + k, partner as usize);
                let fresh = Link { partner, ..Link::default() };
                *link = match old.knows(a, b) {
                    true => old.link(a, b).unwrap_or(fresh),
                    false => Link { bridge: 1.0, ..fresh },
                };
            }
        }
    });
}

/// Lists for each grain the links that others own, by owner.
pub(crate) fn index(state: &GrainState, scratch: &mut GrainScratch) {
    let (count, links) = (state.len(), &state.links);
    scratch.search.indexed = (state.listings, links.len());
    scratch.reactions.clear();
    scratch.reactions.resize(links.len(), Default::default());
    let starts = &mut scratch.lower_offsets;
    starts.clear();
    starts.resize(count + 2, 0);
    links.iter().for_each(|link| starts[link.partner as usize + 2] += 1);
    for i in 2..starts.len() {
        starts[i] += starts[i - 1];
    }
    scratch.lower.clear();
    scratch.lower.resize(links.len(), (0, 0));
    // What was poured in since grains were last listed has no links yet.
    for owner in 0..state.offsets.len().saturating_sub(1) {
        for k in state.offsets[owner]..state.offsets[owner + 1] {
            let place = &mut starts[links[k as usize].partner as usize + 1];
            scratch.lower[*place as usize] = (k, owner as u32);
            *place += 1;
        }
    }
    starts.truncate(count + 1);
}

/// Gives the grains the numbers of this order.
fn renumber_all(state: &mut GrainState, order: &[u32]) {
    fn permute<T: Copy + Send + Sync>(values: &mut Vec<T>, order: &[u32]) {
        *values = order.par_iter().map(|&i| values[i as usize]).collect();
    }
    permute(&mut state.positions, order);
    permute(&mut state.velocities, order);
    permute(&mut state.spins, order);
    permute(&mut state.sizes, order);
    permute(&mut state.radii, order);
    permute(&mut state.water, order);
    permute(&mut state.calm, order);
    permute(&mut state.damped, order);
    permute(&mut state.carried, order);
    permute(&mut state.rested, order);
    permute(&mut state.ids, order);
    let mut after = vec![0; order.len()];
    order.iter().enumerate().for_each(|(new, &old)| after[old as usize] = new as u32);
    state.touches.iter_mut().for_each(|touch| touch.grain = after[touch.grain as usize]);
    state.touches.sort_unstable_by_key(|touch| touch.key());
}

/// The error that names a grain which ran away.
pub(crate) fn lost(state: &GrainState) -> PhysicsError {
    let far = |p: &DVec3| if p.is_finite() { p.abs().max_element() } else { f64::INFINITY };
    let bad = (0..state.len())
        .find(|&i| !(state.positions[i].is_finite() && state.velocities[i].is_finite() && state.spins[i].is_finite()))
        .or_else(|| (0..state.len()).max_by(|&a, &b| far(&state.positions[a]).total_cmp(&far(&state.positions[b]))))
        .unwrap_or(0);
    PhysicsError::GrainLost { grain: state.ids.get(bad).copied().unwrap_or(0), speed: state.velocities[bad].length() }
}
