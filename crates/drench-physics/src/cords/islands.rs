//! Many bodies of cords in one substep.
//!
//! Those that hang on the same rigid body are solved together, until they agree on what it does. Others do not depend on each
//! other: such islands are solved side by side. Each share of them works on its own copy of the rigid bodies; what it has pushed them with is added to
//! them in the order of the shares. What shares there are depends on the clamps alone, so that results do not depend on threads.
//!
//! A cord that touches a body which holds a cord of another share is not felt by that cord until the next substep. Contact with bodies is explicit
//! anyway ([`super::touch`]).

use super::Cords;
use super::clamp::Bodies;
use crate::error::{PhysicsError, check};
use crate::rigid::Push;
use crate::strands::Environment;
use rayon::prelude::*;

/// Shares at most.
const SHARES: usize = 16;

/// One substep of `dt` seconds of all bodies of cords. An error comes with the number of a body of cords; what was met is in their tallies.
///
/// Bodies are pushed and turned, not moved: that is for the rigid-body solver, whose step of `dt` is to follow.
pub fn solve(
    cords: &mut [Cords],
    environment: &Environment,
    bodies: &mut Bodies,
    dt: f64,
) -> Result<(), (usize, PhysicsError)> {
    check("dt", dt, "positive", |x| x > 0.0).map_err(|error| (0, error))?;
    if bodies.pushes.len() != bodies.states.len() {
        let (got, expected) = (bodies.pushes.len(), bodies.states.len());
        return Err((0, PhysicsError::Count { what: "pushes", got, expected }));
    }
    let mut shares = share_out(cords);
    if let [share] = &mut shares[..] {
        return share.iter_mut().try_for_each(|island| island.solve(environment, bodies, dt));
    }
    let states = &*bodies.states;
    let solved = shares.par_iter_mut().map(|share| {
        let (mut states, mut pushes) = (states.to_vec(), vec![Push::default(); states.len()]);
        let mut own = Bodies { states: &mut states, pushes: &mut pushes };
        share.iter_mut().try_for_each(|island| island.solve(environment, &mut own, dt))?;
        Ok(pushes)
    });
    for pushes in solved.collect::<Vec<_>>() {
        pushes?.iter().enumerate().for_each(|(index, push)| bodies.take(index, push));
    }
    Ok(())
}

/// Bodies of cords that hang on the same rigid bodies.
#[derive(Default)]
struct Island<'a, 'b> {
    cords: Vec<&'a mut Cords<'b>>,
    /// Their numbers.
    numbers: Vec<usize>,
}

impl Island<'_, '_> {
    fn solve(&mut self, environment: &Environment, bodies: &mut Bodies, dt: f64) -> Result<(), (usize, PhysicsError)> {
        let solved = super::solve_island(&mut self.cords, environment, bodies, dt);
        solved.map_err(|(member, error)| (self.numbers[member], error))
    }
}

/// Islands, shared out: each goes to the share that has the fewest segments yet.
fn share_out<'a, 'b>(cords: &'a mut [Cords<'b>]) -> Vec<Vec<Island<'a, 'b>>> {
    let island_of = islands(cords);
    let mut all: Vec<Island> = island_of.iter().map(|_| Island::default()).collect();
    for (number, (cords, island)) in cords.iter_mut().zip(island_of).enumerate() {
        all[island].cords.push(cords);
        all[island].numbers.push(number);
    }
    all.retain(|island| !island.cords.is_empty());
    let mut shares: Vec<(usize, Vec<Island>)> = (0..SHARES.min(all.len())).map(|_| (0, Vec::new())).collect();
    for island in all {
        if let Some((load, share)) = shares.iter_mut().min_by_key(|(load, _)| *load) {
            *load += island.cords.iter().map(|cords| cords.model.segment_count()).sum::<usize>();
            share.push(island);
        }
    }
    shares.into_iter().map(|(_, share)| share).collect()
}

/// The island of every body of cords, by the first of its members.
fn islands(cords: &[Cords]) -> Vec<usize> {
    let mut parents: Vec<usize> = (0..cords.len()).collect();
    let root = |parents: &[usize], mut at: usize| {
        while parents[at] != at {
            at = parents[at];
        }
        at
    };
    // Which was the last that each body was found to hold.
    let mut held = std::collections::BTreeMap::new();
    for (index, cords) in cords.iter().enumerate() {
        for body in cords.clamps.iter().filter_map(|clamp| clamp.anchor().1) {
            if let Some(other) = held.insert(body, index) {
                let [a, b] = [root(&parents, index), root(&parents, other)];
                parents[a.max(b)] = a.min(b);
            }
        }
    }
    (0..cords.len()).map(|index| root(&parents, index)).collect()
}
