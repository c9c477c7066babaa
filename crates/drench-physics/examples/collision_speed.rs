//! How long strand-strand collisions take on a head of hair, part by part, and how the searches compare.
//!
//! `cargo run --release -p drench-physics --example collision_speed -- [strands] [radius in mm] [searches]`

use drench_geometry::neighbours::Neighbours;
use drench_math::random::Stream;
use drench_physics::collision::search::{Capsule, Search};
use drench_physics::collision::segments::{Segment, closest};
use drench_physics::collision::{Body, Collisions, Parameters, seven};
use drench_physics::synthetic::HairyBall;
use glam::DVec3;
use std::time::Instant;

const VERTICES: usize = 20;
const DT: f64 = 0.01;

fn main() {
    let arguments: Vec<f64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let strands = arguments.first().map_or(80_000, |&count| count as usize);
    let radius = arguments.get(1).map_or(2e-4, |millimetres| millimetres * 1e-3);
    let HairyBall { offsets, mut positions, .. } = HairyBall::combed(strands, VERTICES);
    let stream = Stream::new(1, "speed");
    let mut velocities: Vec<DVec3> = (0..positions.len() as u64).map(|i| stream.direction(i) * 0.02).collect();
    velocities.iter_mut().step_by(VERTICES).for_each(|root| *root = DVec3::ZERO);
    println!("{strands} strands, {} vertices, radius {radius} m", positions.len());
    let inverse_masses: Vec<f64> = (0..positions.len()).map(|i| if i % VERTICES == 0 { 0.0 } else { 1.0 }).collect();
    let radii = vec![radius as f32; positions.len()];
    let mut collisions = Collisions::default();
    for _ in 0..8 {
        let start = Instant::now();
        collisions.begin([&positions[..]]);
        let begun = start.elapsed();
        positions.iter_mut().zip(&velocities).for_each(|(x, v)| *x += *v * DT);
        let start = Instant::now();
        let mut bodies = [Body {
            offsets: &offsets,
            positions: &mut positions,
            velocities: &mut velocities,
            inverse_masses: &inverse_masses,
            resistance: &[],
            radii: &radii,
            continuous: false,
        }];
        let parameters = Parameters { friction: 0.3, iterations: 2 };
        match collisions.resolve(&mut bodies, &parameters, DT) {
            Ok(tally) => println!("{:.1} ms: {tally:?}", (begun + start.elapsed()).as_secs_f64() * 1e3),
            Err(error) => println!("{error}"),
        }
    }
    println!("{} MB", collisions.memory() / 1_000_000);
    if arguments.len() > 2 {
        compare(&offsets, &positions, 2.0 * radius);
    }
}

/// Three ways to the same pairs.
fn compare(offsets: &[u32], positions: &[DVec3], reach: f64) {
    let at = |i: usize| Segment { from: positions[i], to: positions[i + 1] };
    let segments: Vec<usize> = offsets.windows(2).flat_map(|pair| pair[0] as usize..pair[1] as usize - 1).collect();
    let near = |i: usize, j: usize| closest(&at(i), &at(j)).offset.length() <= reach;

    let mut capsules = vec![Capsule::NONE; positions.len()];
    segments.iter().for_each(|&i| capsules[i] = Capsule::around(positions[i], positions[i + 1], 0.5 * reach));
    let mut search = Search::default();
    for _ in 0..3 {
        let start = Instant::now();
        let pairs = search.pairs(&capsules).unwrap_or(&[]).iter();
        let found = pairs.filter(|&&[i, j]| near(i as usize, j as usize)).count();
        println!("cells that capsules pass through: {found} pairs in {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    }

    let longest = segments.iter().map(|&i| at(i).from.distance(at(i).to)).fold(0.0, f64::max);
    let middles: Vec<DVec3> = segments.iter().map(|&i| at(i).at(0.5)).collect();
    let mut neighbours = Neighbours::new();
    let start = Instant::now();
    let (mut found, mut candidates) = (0, 0_u64);
    if neighbours.rebuild(&middles, longest + reach).is_ok() {
        let mut test = |a: u32, b: u32| {
            let (i, j) = (segments[a as usize], segments[b as usize]);
            candidates += 1;
            let apart = middles[a as usize].distance_squared(middles[b as usize]) > (longest + reach).powi(2);
            found += usize::from(!apart && i.abs_diff(j) > 1 && near(i, j));
        };
        for number in 0..neighbours.occupied() {
            let (cell, range) = neighbours.occupied_cell(number);
            let own = &neighbours.order()[range];
            for (k, &a) in own.iter().enumerate() {
                own[k + 1..].iter().for_each(|&b| test(a, b));
                neighbours.for_each_following(cell, |other| other.iter().for_each(|&b| test(a, b)));
            }
        }
    }
    let ms = start.elapsed().as_secs_f64() * 1e3;
    println!("middles, 14 cells of l + d: {found} pairs of {candidates} candidates in {ms:.1} ms on one thread");

    let start = Instant::now();
    let found = seven::pairs(&mut neighbours, offsets, positions, reach).map_or(0, |pairs| pairs.len());
    println!("ends, 7 cells of 2 l: {found} pairs in {:.1} ms on one thread", start.elapsed().as_secs_f64() * 1e3);
}
