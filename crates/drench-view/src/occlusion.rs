//! The shade that strands and grains cast on each other, coarsely: a grid of how much is in each cell, and light that is
//! swept through it slice by slice. It gives hair its depth, and costs a few milliseconds a frame.

use glam::Vec3;
use rayon::prelude::*;

/// Cells along the longest side of the grid.
const CELLS: f32 = 40.0;
/// Optical depth of a cell that holds as much as is usual.
const DEPTH: f32 = 0.35;
/// Where the light comes from: above, a little from the left and from the front.
const LIGHT: Vec3 = Vec3::new(0.35, 0.85, 0.45);
/// Coordinates beyond this are nobody's [m].
const FARTHEST: f32 = 1e9;

/// How much of the light reaches each point of each set, 0 none to 255 all.
pub fn light(sets: &[&[[f32; 3]]]) -> Vec<Vec<u8>> {
    let points = || sets.iter().flat_map(|set| set.iter()).map(|&p| Vec3::from(p)).filter(usable);
    let (low, high) = points().fold((Vec3::INFINITY, Vec3::NEG_INFINITY), |(low, high), p| (low.min(p), high.max(p)));
    let side = (high - low).max_element();
    if !(side.is_finite() && side > 0.0) {
        return sets.iter().map(|set| vec![255; set.len()]).collect();
    }
    let mut grid = Grid::new(low, high, side / CELLS);
    points().for_each(|p| grid.add(p));
    grid.sweep(LIGHT.normalize());
    sets.iter().map(|set| set.par_iter().map(|&p| grid.at(Vec3::from(p))).collect()).collect()
}

fn usable(p: &Vec3) -> bool {
    p.is_finite() && p.abs().max_element() < FARTHEST
}

struct Grid {
    low: Vec3,
    cell: f32,
    size: [usize; 3],
    /// What is in each cell; after the sweep the part of the light that reaches it.
    values: Vec<f32>,
}

impl Grid {
    fn new(low: Vec3, high: Vec3, cell: f32) -> Self {
        // A cell more on either side, so that neighbours always exist.
        let size = ((high - low) / cell).to_array().map(|cells| cells as usize + 3);
        Self { low: low - cell, cell, size, values: vec![0.0; size.iter().product()] }
    }

    fn index(&self, [x, y, z]: [usize; 3]) -> usize {
        (y * self.size[2] + z) * self.size[0] + x
    }

    fn add(&mut self, p: Vec3) {
        let at = ((p - self.low) / self.cell).to_array();
        let cell = [0, 1, 2].map(|axis| (at[axis] as usize).min(self.size[axis] - 1));
        let index = self.index(cell);
        self.values[index] += 1.0;
    }

    /// Turns contents into light, from the top slice down: each cell gets what the cells towards the light let through.
    fn sweep(&mut self, light: Vec3) {
        let (sum, filled) =
            self.values.iter().filter(|&&v| v > 0.0).fold((0.0, 0), |(sum, filled), v| (sum + v, filled + 1));
        let usual = sum / filled.max(1) as f32;
        let [width, height, depth] = self.size;
        let shift = [light.x / light.y, light.z / light.y];
        let mut above: Vec<f32> = vec![1.0; width * depth];
        for y in (0..height).rev() {
            let mut here = vec![1.0; width * depth];
            for z in 0..depth {
                for x in 0..width {
                    let reaching = bilinear(&above, width, depth, x as f32 + shift[0], z as f32 + shift[1]);
                    let index = self.index([x, y, z]);
                    let content = (self.values[index] / usual).min(4.0);
                    // Half of the cell lies before its middle.
                    self.values[index] = reaching * (-0.5 * DEPTH * content).exp();
                    here[z * width + x] = reaching * (-DEPTH * content).exp();
                }
            }
            above = here;
        }
    }

    fn at(&self, p: Vec3) -> u8 {
        if !usable(&p) {
            return 255;
        }
        let at = ((p - self.low) / self.cell - 0.5).max(Vec3::ZERO).to_array();
        let low = [0, 1, 2].map(|axis| (at[axis] as usize).min(self.size[axis] - 2));
        let part = [0, 1, 2].map(|axis| (at[axis] - low[axis] as f32).clamp(0.0, 1.0));
        let mut sum = 0.0;
        for corner in 0..8 {
            let step = [corner & 1, corner >> 1 & 1, corner >> 2 & 1];
            let weight: f32 = (0..3).map(|axis| if step[axis] == 1 { part[axis] } else { 1.0 - part[axis] }).product();
            sum += weight * self.values[self.index([0, 1, 2].map(|axis| low[axis] + step[axis]))];
        }
        (sum.clamp(0.0, 1.0) * 255.0).round() as u8
    }
}

/// A value between the cells of a slice; beyond its edge everything is light.
fn bilinear(slice: &[f32], width: usize, depth: usize, x: f32, z: f32) -> f32 {
    let (x0, z0) = (x.floor(), z.floor());
    let value = |x: f32, z: f32| {
        let inside = x >= 0.0 && z >= 0.0 && (x as usize) < width && (z as usize) < depth;
        if inside { slice[z as usize * width + x as usize] } else { 1.0 }
    };
    let (u, v) = (x - x0, z - z0);
    (1.0 - v) * ((1.0 - u) * value(x0, z0) + u * value(x0 + 1.0, z0))
        + v * ((1.0 - u) * value(x0, z0 + 1.0) + u * value(x0 + 1.0, z0 + 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_deep_gets_less_light_than_what_lies_on_top() {
        let points: Vec<[f32; 3]> = (0..64_000).map(|i| [i % 40, i / 40 % 40, i / 1600].map(|k| k as f32)).collect();
        let light = light(&[&points]).remove(0);
        let mean = |row: usize| {
            let of_row: Vec<f64> =
                points.iter().zip(&light).filter(|(p, _)| p[1] == row as f32).map(|(_, &l)| f64::from(l)).collect();
            of_row.iter().sum::<f64>() / of_row.len() as f64
        };
        assert!(
            mean(39) > 180.0 && mean(39) > mean(30) && mean(30) > mean(10),
            "{} {} {}",
            mean(39),
            mean(30),
            mean(10)
        );
    }

    #[test]
    fn nothing_one_point_and_nonsense_are_lit() {
        assert_eq!(light(&[]), Vec::<Vec<u8>>::new());
        assert_eq!(light(&[&[], &[[1.0; 3]]]), [vec![], vec![255]]);
        let odd = light(&[&[[0.0; 3], [1.0; 3], [f32::NAN; 3], [f32::INFINITY; 3], [1e30; 3]]]).remove(0);
        assert_eq!(odd.len(), 5);
        assert_eq!(odd[2..], [255; 3]);
    }
}
