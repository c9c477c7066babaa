//! Which wet strands hang together.
//!
//! Strands join in the order of their numbers: a wet strand joins the first one before it that leads a clump and
//! runs along it, or leads a clump of its own. "Along" means that middles, three-quarter points and tips each lie within
//! the reach of the water. A clump bears the number of its leader, so it keeps its name as long as that strand leads;
//! dry strands are alone. Clumps are as wide as the reach and no chain of neighbours joins a whole head.

use glam::{IVec3, Vec3};
use std::collections::HashMap;

/// Mean wetness from which a strand clings to others.
const WET: f32 = 0.05;
/// Places along a strand that are compared.
const PLACES: [f32; 3] = [1.0, 0.75, 0.5];

/// The number of the strand that leads the clump of each strand. `reach` [m]; `wetness` is the mean of each strand.
pub fn clumps(offsets: &[u32], positions: &[[f32; 3]], wetness: &[f32], reach: f32) -> Vec<u32> {
    let mut leaders: HashMap<IVec3, Vec<(u32, [Vec3; 3])>> = HashMap::new();
    let cell = |p: Vec3| (p / reach).floor().as_ivec3();
    let join = |(strand, (range, &wetness)): (usize, (&[u32], &f32))| {
        let alone = strand as u32;
        let vertices = positions.get(range[0] as usize..range[1] as usize).unwrap_or(&[]);
        if wetness < WET || vertices.len() < 2 || reach.is_nan() || reach <= 0.0 {
            return alone;
        }
        let at = PLACES.map(|place| sample(vertices, place));
        if !at.iter().all(|p| p.is_finite() && (p.abs().max_element() / reach) < 1e9) {
            return alone;
        }
        let along = |other: &[Vec3; 3]| (0..3).all(|k| at[k].distance_squared(other[k]) <= reach * reach);
        let home = cell(at[0]);
        let around = (0..27).map(|k| home + IVec3::new(k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1));
        let near = around.filter_map(|cell| leaders.get(&cell)).flatten();
        match near.filter(|(_, places)| along(places)).map(|(leader, _)| *leader).min() {
            Some(leader) => leader,
            None => {
                leaders.entry(home).or_default().push((alone, at));
                alone
            }
        }
    };
    offsets.windows(2).zip(wetness).enumerate().map(join).collect()
}

fn sample(vertices: &[[f32; 3]], place: f32) -> Vec3 {
    let at = place * (vertices.len() - 1) as f32;
    let low = (at as usize).min(vertices.len() - 2);
    Vec3::from(vertices[low]).lerp(Vec3::from(vertices[low + 1]), at - low as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Straight strands that hang side by side at these places [m].
    fn hair(at: &[f32]) -> (Vec<u32>, Vec<[f32; 3]>) {
        let positions = at.iter().flat_map(|&x| [0.0, -0.05, -0.1].map(|y| [x, y, 0.0])).collect();
        ((0..=at.len() as u32).map(|i| 3 * i).collect(), positions)
    }

    #[test]
    fn wet_neighbours_join_and_chains_do_not() {
        let at = [0.0, 0.001, 0.002, 0.0031, 0.5, 0.5005];
        let (offsets, positions) = hair(&at);
        let wet = clumps(&offsets, &positions, &[1.0; 6], 0.002);
        assert_eq!(wet, [0, 0, 0, 3, 4, 4]);
        assert_eq!(clumps(&offsets, &positions, &[0.0; 6], 0.002), [0, 1, 2, 3, 4, 5]);
        let some = clumps(&offsets, &positions, &[0.0, 1.0, 1.0, 1.0, 1.0, 0.0], 0.002);
        assert_eq!(some, [0, 1, 1, 3, 4, 5]);
    }

    #[test]
    fn strands_that_only_cross_are_apart_and_bad_numbers_are_alone() {
        let (offsets, mut positions) = hair(&[0.0, 0.001]);
        positions[5] = [0.05, -0.1, 0.0];
        assert_eq!(clumps(&offsets, &positions, &[1.0; 2], 0.002), [0, 1]);
        positions[5] = [f32::NAN; 3];
        assert_eq!(clumps(&offsets, &positions, &[1.0; 2], 0.002), [0, 1]);
        assert_eq!(clumps(&offsets, &positions, &[1.0; 2], 0.0), [0, 1]);
    }
}
