//! Which particles hang together: bodies of liquid that no other body touches.

use super::rows::{PIECE, Rows};

/// The body of every particle, and how many bodies there are. Bodies are numbered by their first particles.
pub(crate) fn pools(rows: &[Rows]) -> (Vec<u32>, usize) {
    let count: usize = rows.iter().map(Rows::len).sum();
    // A forest in which every tree is a body and nothing comes before its root.
    let mut above: Vec<u32> = (0..count as u32).collect();
    for (piece, rows) in rows.iter().enumerate() {
        for number in 0..rows.len() {
            let particle = (piece * PIECE + number) as u32;
            for &other in rows.row(number).0.iter().filter(|&&other| other < particle) {
                let (a, b) = (root(&mut above, particle), root(&mut above, other));
                above[a.max(b) as usize] = a.min(b);
            }
        }
    }
    let mut bodies = 0;
    for particle in 0..count {
        // What is above has its number already.
        above[particle] = if above[particle] as usize == particle {
            bodies += 1;
            bodies - 1
        } else {
            above[above[particle] as usize]
        };
    }
    (above, bodies as usize)
}

fn root(above: &mut [u32], mut at: u32) -> u32 {
    while above[at as usize] != at {
        above[at as usize] = above[above[at as usize] as usize];
        at = above[at as usize];
    }
    at
}

#[cfg(test)]
mod tests {
    use super::super::kernel::CubicSpline;
    use super::super::rows::{Kernel8, Points, Search};
    use super::*;
    use drench_geometry::neighbours::Neighbours;
    use drench_math::random::Stream;
    use glam::DVec3;

    /// Against a flood over all pairs, among points so sparse that they are in many bodies.
    #[test]
    fn bodies_are_those_of_a_flood() {
        let kernel = CubicSpline::new(0.05);
        let stream = Stream::new(1, "pools");
        let positions: Vec<DVec3> = (0..1200).map(|i| stream.direction(i) * stream.uniform(9_000 + i) * 0.4).collect();
        let mut neighbours = Neighbours::new();
        neighbours.rebuild(&positions, kernel.support).unwrap();
        let positions: Vec<DVec3> = neighbours.order().iter().map(|&i| positions[i as usize]).collect();
        let mut points = Points::default();
        points.set(positions.len(), |i| positions[i].as_vec3().to_array(), |_| 1.0);
        let search = Search { neighbours: &neighbours, points: &points, kernel: Kernel8::new(&kernel) };
        let mut rows: Vec<Rows> = Vec::new();
        for first in (0..positions.len()).step_by(PIECE) {
            let mut piece = Rows::default();
            let seeker = |k: usize| (neighbours.cell_of(positions[first + k]), points.x[first + k], (first + k) as u32);
            search.fill(&mut piece, PIECE.min(positions.len() - first), seeker, |_, _| ());
            rows.push(piece);
        }
        let mut expected = vec![u32::MAX; positions.len()];
        let mut count = 0;
        for start in 0..positions.len() {
            if expected[start] != u32::MAX {
                continue;
            }
            let mut open = vec![start];
            while let Some(i) = open.pop() {
                expected[i] = count;
                let near = |&j: &usize| expected[j] == u32::MAX && positions[i].distance(positions[j]) < kernel.support;
                open.extend((0..positions.len()).filter(near));
            }
            count += 1;
        }
        assert_eq!(pools(&rows), (expected, count as usize));
        assert!((10..1100).contains(&count), "{count}");
    }
}
