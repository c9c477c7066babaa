//! The seven-cell search of [Rungjiratananon2012, section 4.5], put right, and what it needs to be complete.
//!
//! Ends of segments are kept in cells of edge h; segments are tested if an end of one lies in the cell of an end of the
//! other or in one of the six that share a face with it.
//!
//! **The text's condition, h >= l (the longest segment), is not enough in space.** With h = 1, the segments from (1.0001, 0.5, 0.875)
//! to (0.2, 1.0001, 0.875) and from (-0.0001, 0.9375, 0.5) to (0.4, 0.9375, 1.0001) are 0.94 and 0.64 long and meet near
//! (0.3, 0.9375, 0.875). Their ends lie in the cells (1, 0, 0), (0, 1, 0) and (-1, 0, 0), (0, 0, 1): every end is two steps from every
//! end of the other.
//!
//! **h >= 2 l is enough for segments that meet.** All four ends lie within l of the common point, on each axis thus in an interval of
//! 2 l <= h, which at most two consecutive cells share. On one axis let k ends of the first and m of the second lie in the upper one.
//! The four distances between ends add up to k (2 - m) + (2 - k) m there: 0 or 2, or 4 if one segment lies wholly in the
//! lower and the other wholly in the upper, but then they cannot meet. Three axes give at most 6. If every pair of ends were two or more steps apart, it
//! would be 8. So one pair is at most one step apart. **And no less will do**: as h goes to 2 l from below, move the example's
//! meeting point to (1/2, 1, 1) h: the first needs hardly more than from x = h/2 to h, the second from 0 to h/2.
//!
//! **Capsules need more than larger cells.** Two short segments on both sides of a cell's corner may touch, whatever h is, with all ends
//! three steps apart. If x and y are their closest points, moving the second segment by x - y, by no more than the reach d, makes
//! them meet, and the above holds for the ends so moved. So it is enough that each end is entered not only in its own
//! cell but in all that are within d of it on every axis; at most eight if 2 d <= h, mostly one.
//!
//! It is complete, as the tests show, but not fast where hair is: cells of 2 l hold eight times as many ends as cells of l.
//! [`super::search`] takes its place; this one stays as the second opinion that the first is validated with.

use super::segments::{Segment, closest};
use crate::error::{PhysicsError, check};
use drench_geometry::neighbours::Neighbours;
use glam::DVec3;

/// Whether an end of one segment lies in the same cell as an end of the other, or in one that shares a face with it.
pub fn sees(first: &Segment, second: &Segment, cell: f64) -> bool {
    let cell_of = |p: DVec3| (p / cell).floor().as_i64vec3();
    let steps = |a: DVec3, b: DVec3| (cell_of(a) - cell_of(b)).abs().element_sum();
    [first.from, first.to].iter().any(|&a| [second.from, second.to].iter().any(|&b| steps(a, b) <= 1))
}

/// All pairs of segments, not adjacent, whose axes come within `reach` [m] of each other; segments are named by their first
/// vertex, the lower first. Sorted.
pub fn pairs(
    neighbours: &mut Neighbours,
    offsets: &[u32],
    positions: &[DVec3],
    reach: f64,
) -> Result<Vec<(u32, u32)>, PhysicsError> {
    check("reach", reach, "0 or more", |x| x >= 0.0)?;
    let segments = || offsets.windows(2).flat_map(|pair| pair[0]..pair[1].max(1) - 1);
    let at = |i: u32| Segment { from: positions[i as usize], to: positions[i as usize + 1] };
    let longest = segments().map(|i| at(i).from.distance(at(i).to)).fold(0.0, f64::max);
    let cell = (2.0 * longest).max(2.0 * reach) * (1.0 + 1e-9);
    check("length of the longest segment", cell, "positive", |x| x > 0.0)?;
    // Every vertex once for each cell within reach of it: those of the corners of the box around it.
    let (mut points, mut vertices) = (Vec::new(), Vec::new());
    for (position, vertex) in positions.iter().zip(0_u32..) {
        let mut taken = [None; 8];
        for corner in 0..8 {
            let sign = |axis: u32| if corner >> axis & 1 == 0 { -reach } else { reach };
            let point = *position + DVec3::new(sign(0), sign(1), sign(2));
            let own = Some((point / cell).floor().as_i64vec3());
            if !taken[..corner].contains(&own) {
                points.push(point);
                vertices.push(vertex);
            }
            taken[corner] = own;
        }
    }
    neighbours.rebuild(&points, cell).map_err(|_| PhysicsError::Parameter {
        name: "cell",
        value: cell,
        range: "large enough for the extent of the strands",
    })?;
    let ends = |vertex: u32| {
        let strand = offsets.partition_point(|&first| first <= vertex);
        let (from, to) = (offsets[strand - 1], offsets[strand]);
        (vertex.max(from + 1) - 1..=vertex).filter(move |&segment| segment + 1 < to)
    };
    let mut found = Vec::new();
    for (position, vertex) in positions.iter().zip(0_u32..) {
        neighbours.for_each_near_faces(*position, |index| {
            for i in ends(vertex) {
                for j in ends(vertices[index as usize]) {
                    if j > i + 1 && closest(&at(i), &at(j)).offset.length() <= reach {
                        found.push((i, j));
                    }
                }
            }
        });
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collision::search::{Capsule, Search};
    use drench_math::random::Stream;

    fn example() -> (Segment, Segment) {
        let segment = |from: [f64; 3], to: [f64; 3]| Segment { from: from.into(), to: to.into() };
        (segment([1.0001, 0.5, 0.875], [0.2, 1.0001, 0.875]), segment([-0.0001, 0.9375, 0.5], [0.4, 0.9375, 1.0001]))
    }

    #[test]
    fn cells_as_long_as_segments_are_not_enough() {
        let (first, second) = example();
        assert!(first.from.distance(first.to) < 1.0 && second.from.distance(second.to) < 1.0);
        assert!(closest(&first, &second).offset.length() < 1e-3);
        assert!(!sees(&first, &second, 1.0));
        assert!(sees(&first, &second, 2.0));
    }

    #[test]
    fn nothing_less_than_twice_the_length_is_enough() {
        // The example drawn towards the edge where it needs least length.
        for slack in [1e-2, 1e-4, 1e-6] {
            let meet = DVec3::new(0.5, 1.0 - slack, 1.0 - slack);
            let first = Segment { from: DVec3::new(1.0, meet.y, meet.z), to: meet + DVec3::new(-slack, slack, 0.0) };
            let second = Segment { from: DVec3::new(-slack, meet.y, meet.z), to: meet + DVec3::new(slack, 0.0, slack) };
            let longest = first.from.distance(first.to).max(second.from.distance(second.to));
            assert!(closest(&first, &second).offset.length() < 4.0 * slack);
            assert!(longest < 0.5 + 3.0 * slack && !sees(&first, &second, 1.0));
        }
    }

    #[test]
    fn twice_the_length_is_enough() {
        let stream = Stream::new(1, "seven");
        let mut at_once = 0;
        for i in 0..200_000_u64 {
            // Segments of length 1/2 and less that meet in a point near faces, edges and corners of cells of edge 1.
            let near = |k: u64| {
                let offset = 10.0_f64.powf(stream.range(10 * i + k, -6.0, 0.0));
                if stream.bits(20 * i + k).is_multiple_of(2) { offset } else { -offset }
            };
            let meet = DVec3::new(near(0), near(1), near(2));
            let through = |k: u64| {
                let along = stream.direction(3 * i + k);
                let along = if stream.bits(i + k).is_multiple_of(3) {
                    along.with_y(near(5 + k) * 0.01).normalize()
                } else {
                    along
                };
                let split = stream.uniform(30 * i + k);
                let from = meet - along * 0.5 * split;
                Segment { from, to: from + along * 0.5 }
            };
            let (first, second) = (through(3), through(4));
            assert!(sees(&first, &second, 1.0), "{first:?} {second:?}");
            at_once += u32::from(!sees(&first, &second, 0.5));
        }
        // Cells of the segments' length miss some of these.
        assert!(at_once > 0);
    }

    #[test]
    fn both_searches_find_the_same_capsules() {
        let stream = Stream::new(2, "both");
        let mut neighbours = Neighbours::new();
        let mut all = 0;
        for case in 0..60_u64 {
            let here = stream.child(case);
            let reach = [0.0, 1e-3, 0.02, 0.1, 0.7][case as usize % 5];
            let vertices = 4_u32;
            let strands = 30 + case as u32 % 7;
            let offsets: Vec<u32> = (0..=strands).map(|k| k * vertices).collect();
            let mut positions = Vec::new();
            for strand in 0..u64::from(strands) {
                let mut at = here.direction(strand) * 0.6;
                // Half of them snapped to the borders of the cells.
                at = if case % 2 == 0 { (at / 0.2).round() * 0.2 } else { at };
                for k in 0..u64::from(vertices) {
                    positions.push(at);
                    at += here.direction(1000 + 10 * strand + k) * 0.2 * here.uniform(5000 + 10 * strand + k);
                }
            }
            let found = pairs(&mut neighbours, &offsets, &positions, reach).unwrap();
            let mut capsules = vec![Capsule::NONE; positions.len()];
            for i in offsets.windows(2).flat_map(|pair| pair[0]..pair[1] - 1) {
                capsules[i as usize] = Capsule::around(positions[i as usize], positions[i as usize + 1], 0.5 * reach);
            }
            let at = |i: usize| Segment { from: positions[i], to: positions[i + 1] };
            // The capsules are a little thicker than asked for.
            let exact = |&[i, j]: &[u32; 2]| {
                (closest(&at(i as usize), &at(j as usize)).offset.length() <= reach).then_some((i, j))
            };
            let mut other: Vec<_> = Search::default().pairs(&capsules).unwrap().iter().filter_map(exact).collect();
            other.sort_unstable();
            assert_eq!(found, other, "case {case}");
            all += found.len();
        }
        assert!(all > 1000, "{all}");
    }
}
