//! What the core of shape matching must do, on chains of four lanes.

use super::extent::extent;
use super::matching::{Chains, Workspace, match_shape};
use super::rotation::{Turn, largest_eigenvector};
use crate::strands::lanes::{LANES, Lane, Lane3};
use drench_math::random::Stream;
use glam::{DMat3, DQuat, DVec3};

/// One chain, in lane arithmetic later.
#[derive(Clone)]
struct Chain {
    rest: Vec<DVec3>,
    now: Vec<DVec3>,
    masses: Vec<f64>,
    half_widths: Vec<f64>,
}

impl Chain {
    fn random(seed: u64, count: usize, noise: f64) -> Self {
        let stream = Stream::new(seed, "chain");
        let vector = |i: u64| stream.direction(i) * stream.uniform(7 * i + 1);
        let turn = DQuat::from_scaled_axis(stream.direction(99) * 2.5);
        let rest: Vec<DVec3> = (0..count)
            .map(|i| {
                let s = i as f64;
                DVec3::new(0.01 * s, 0.004 * (0.7 * s).sin(), 0.004 * (0.7 * s).cos()) + 0.001 * vector(1000 + i as u64)
            })
            .collect();
        let now = rest
            .iter()
            .enumerate()
            .map(|(i, x)| turn * (*x + noise * 0.01 * vector(i as u64)) + DVec3::new(1.0, -2.0, 0.5))
            .collect();
        Self {
            rest,
            now,
            masses: (0..count as u64).map(|i| 1e-8 * (0.5 + stream.uniform(500 + i))).collect(),
            half_widths: (0..count).map(|i| 2.0 + 1.5 * (0.3 * i as f64 + seed as f64).sin()).collect(),
        }
    }
}

/// Goals of up to four chains at once; lanes past the last repeat nothing.
fn goals(chains: &[Chain], gain: f64) -> Vec<Vec<DVec3>> {
    let longest = chains.iter().map(|chain| chain.rest.len()).max().unwrap();
    let lane3 = |i: usize, of: fn(&Chain) -> &Vec<DVec3>| {
        Lane3::new(std::array::from_fn(|lane| {
            chains.get(lane).map_or(DVec3::ZERO, |chain| of(chain)[i.min(of(chain).len() - 1)])
        }))
    };
    let lane = |i: usize, of: &dyn Fn(&Chain, usize) -> f64| {
        Lane::new(std::array::from_fn(|lane| {
            chains.get(lane).map_or(0.0, |chain| if i < chain.rest.len() { of(chain, i) } else { 0.0 })
        }))
    };
    let rest: Vec<Lane3> = (0..longest).map(|i| lane3(i, |chain| &chain.rest)).collect();
    let mut positions: Vec<Lane3> = (0..longest).map(|i| lane3(i, |chain| &chain.now)).collect();
    let masses: Vec<Lane> = (0..longest).map(|i| lane(i, &|chain, i| chain.masses[i])).collect();
    let extents: Vec<Lane> = (0..longest).map(|i| lane(i, &|chain, i| extent(chain.half_widths[i]))).collect();
    let batch = Chains { rest: &rest, masses: &masses, extents: &extents };
    let start = Turn::new([DQuat::IDENTITY; LANES]);
    match_shape(&mut Workspace::default(), batch, &[], start, Lane::splat(gain), &mut positions);
    let of = |(lane, chain): (usize, &Chain)| (0..chain.rest.len()).map(|i| positions[i].lane(lane)).collect();
    chains.iter().enumerate().map(of).collect()
}

/// Goals by the definition: every region on its own, rotations without a warm start.
fn oracle(chain: &Chain) -> Vec<DVec3> {
    let count = chain.rest.len();
    let weight = |r: usize, i: usize| {
        let extent = extent(chain.half_widths[r]);
        let (whole, part) = (extent.floor().max(1.0), (extent - extent.floor().max(1.0)).max(0.0));
        let distance = r.abs_diff(i) as f64;
        if distance <= whole {
            1.0
        } else if distance == whole + 1.0 {
            part
        } else {
            0.0
        }
    };
    let regions: Vec<f64> = (0..count).map(|i| (0..count).map(|r| weight(r, i)).sum()).collect();
    let mut goals = chain.now.clone();
    for r in 0..count {
        let mass = |i: usize| chain.masses[i] * weight(r, i) / regions[i];
        let total: f64 = (0..count).map(mass).sum();
        let centre = |of: &[DVec3]| (0..count).map(|i| of[i] * mass(i)).sum::<DVec3>() / total;
        let (now, rest) = (centre(&chain.now), centre(&chain.rest));
        let mut a = DMat3::ZERO;
        for i in 0..count {
            let (p, q) = ((chain.now[i] - now) * mass(i), chain.rest[i] - rest);
            a += DMat3::from_cols(p * q.x, p * q.y, p * q.z);
        }
        let polar = DMat3::from_quat(largest_eigenvector(a, DQuat::IDENTITY));
        let strength = extent(chain.half_widths[r]).min(1.0);
        for i in 0..count {
            let goal = polar * (chain.rest[i] - rest) + now;
            goals[i] += (goal - chain.now[i]) * (strength * weight(r, i) / regions[i]);
        }
    }
    goals
}

#[test]
fn goals_are_those_of_the_definition() {
    for seed in 0..20 {
        let chains: Vec<Chain> =
            (0..4).map(|lane| Chain::random(4 * seed + lane, 20 + 40 * lane as usize, 0.3)).collect();
        for (chain, goals) in chains.iter().zip(goals(&chains, 1.0)) {
            for (goal, expected) in goals.iter().zip(oracle(chain)) {
                assert!((*goal - expected).length() < 1e-9, "seed {seed}: {goal} {expected}");
            }
        }
    }
}

#[test]
fn momentum_is_kept() {
    for seed in 0..20 {
        let chain = Chain::random(seed, 40, 2.0);
        let goals = &goals(std::slice::from_ref(&chain), 0.8)[0];
        let (mut linear, mut angular, mut size) = (DVec3::ZERO, DVec3::ZERO, 0.0);
        let centre = chain.now.iter().sum::<DVec3>() / 40.0;
        for i in 0..40 {
            let moved = (goals[i] - chain.now[i]) * chain.masses[i];
            linear += moved;
            angular += (chain.now[i] - centre).cross(moved);
            size += moved.length();
        }
        assert!(linear.length() < 1e-12 * size && angular.length() < 1e-10 * size, "{seed}: {linear} {angular} {size}");
    }
}

#[test]
fn a_chain_that_moved_rigidly_stays_where_it_is() {
    let chains: Vec<Chain> = (0..3).map(|lane| Chain::random(lane, 30 + 7 * lane as usize, 0.0)).collect();
    for (chain, goals) in chains.iter().zip(goals(&chains, 1.0)) {
        let moved = goals.iter().zip(&chain.now).map(|(goal, now)| (*goal - *now).length()).fold(0.0, f64::max);
        // Rotations are found to 1e-6 rad, from where the next correction would be its square.
        assert!(moved < 1e-10, "{moved:e}");
    }
}

#[test]
fn a_lane_does_not_know_its_neighbours() {
    let chains: Vec<Chain> = (0..4).map(|lane| Chain::random(lane, 25 + 31 * lane as usize, 1.5)).collect();
    let together = goals(&chains, 1.0);
    for (chain, together) in chains.iter().zip(&together) {
        assert_eq!(&goals(std::slice::from_ref(chain), 1.0)[0], together);
    }
}

#[test]
fn straight_bent_crumpled_and_coincident_chains_have_finite_goals() {
    let stream = Stream::new(5, "crumple");
    for case in 0..3000_u64 {
        let count = 2 + (stream.bits(case) % 20) as usize;
        let mut chain = Chain::random(case, count, 0.0);
        chain.half_widths = vec![0.1 + 30.0 * stream.uniform(case).powi(2); count];
        match case % 5 {
            0 => chain.rest = (0..count).map(|i| DVec3::X * i as f64).collect(),
            1 => chain.now = vec![DVec3::ONE; count],
            2 => chain.now = (0..count).map(|i| stream.direction(case * 100 + i as u64) * 3.0).collect(),
            3 => chain.now.reverse(),
            _ => {
                chain.rest = vec![DVec3::ZERO; count];
                chain.now = (0..count).map(|i| DVec3::Y * (1e6 * i as f64)).collect();
            }
        }
        let size = chain.now.iter().chain(&chain.rest).map(|x| x.length()).fold(0.0, f64::max);
        for goal in &goals(&[chain], 1.0)[0] {
            assert!(goal.is_finite() && goal.length() < 10.0 * size, "case {case}: {goal}");
        }
    }
}
