//! Values of scattered points, on a grid.

use crate::grid::{Leaf, for_each_leaf, split};
use crate::{Class, Grid, Value, VdbError};
use std::collections::BTreeMap;

/// The weighted mean of the values of all points within `reach` [m] of a voxel; voxels that no point reaches do not
/// count. Points that are not finite are left out.
///
/// Weights fall as (1 - (d / reach)^2)^2, so the grid is smooth.
pub fn mean_of_points<T: Value>(
    name: &str,
    class: Class,
    voxel: f64,
    reach: f64,
    points: impl Iterator<Item = ([f32; 3], T)>,
) -> Result<Grid<T>, VdbError> {
    let mut grid = Grid::new(name, class, voxel, T::ZERO)?;
    let mut weights: BTreeMap<[i32; 3], Box<[f32; crate::grid::LEAF]>> = BTreeMap::new();
    // A point reaches the voxel nearest to it, however small its reach.
    let reach = (reach / voxel).max(0.9);
    for (point, value) in points {
        if !point.iter().all(|x| x.is_finite()) || !value.is_finite() {
            continue;
        }
        let centre = point.map(|x| f64::from(x) / voxel);
        let range = grid.range(centre.map(|x| x - reach), centre.map(|x| x + reach))?;
        for_each_leaf(range, |at, [xs, ys, zs]| {
            let leaf = grid.leaf(at)?;
            let weights = weights.entry(at).or_insert_with(|| Box::new([0.0; crate::grid::LEAF]));
            for x in xs[0]..=xs[1] {
                for y in ys[0]..=ys[1] {
                    for z in zs[0]..=zs[1] {
                        let away = [x, y, z].map(f64::from);
                        let squared: f64 = (0..3).map(|k| (away[k] - centre[k]).powi(2)).sum();
                        let share = 1.0 - squared / (reach * reach);
                        if share > 0.0 {
                            let (_, place) = split([x, y, z]);
                            let weight = (share * share) as f32;
                            add(leaf, place, value, weight);
                            weights[place] += weight;
                        }
                    }
                }
            }
            Ok(())
        })?;
    }
    for (at, leaf) in &mut grid.leaves {
        let weights = &weights[at];
        for place in 0..weights.len() {
            if weights[place] > 0.0 {
                leaf.values[place] = leaf.values[place].times(1.0 / weights[place]);
            }
        }
    }
    grid.leaves.retain(|_, leaf| leaf.active.iter().any(|&word| word != 0));
    Ok(grid)
}

fn add<T: Value>(leaf: &mut Leaf<T>, place: usize, value: T, weight: f32) {
    leaf.values[place] = leaf.values[place].plus(value, weight);
    leaf.activate(place);
}
