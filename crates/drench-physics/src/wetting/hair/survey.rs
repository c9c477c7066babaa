//! The porous grid of one moment, to look at: what every voxel that holds hair has room for, and what is in it.

use super::grid::Grid;
use super::voxels::Voxels;
use super::{Hair, HairWater};
use crate::error::PhysicsError;
use glam::DVec3;

/// A voxel that holds hair.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Surveyed {
    /// Its middle [m].
    pub centre: DVec3,
    /// Length of strands in it [m].
    pub length: f64,
    /// Segments that pass through it.
    pub segments: u32,
    /// Water inside fibres, and what fits [kg].
    pub inside: [f64; 2],
    /// Water between hairs, and what fits [kg].
    pub between: [f64; 2],
    /// Free water around hairs, and what fits [kg].
    pub around: [f64; 2],
}

impl Surveyed {
    /// Water over what fits, 0 to 1; more where it is about to drip.
    pub fn saturation(&self) -> f64 {
        let kinds = [self.inside, self.between, self.around];
        let [held, most] = [0, 1].map(|k| kinds.iter().map(|kind| kind[k]).sum::<f64>());
        if most > 0.0 { held / most } else { 0.0 }
    }
}

/// The voxels that hold hair at these positions [m]. The water around hair counts as between hairs as far as
/// there is room, as a step begins with it.
pub fn survey(hair: &Hair, water: &HairWater, positions: &[DVec3]) -> Result<Vec<Surveyed>, PhysicsError> {
    let (mut grid, mut voxels) = (Grid::default(), Voxels::default());
    grid.rebuild(hair.medium.voxel, &hair.offsets, positions)?;
    voxels.gather(hair, water, &grid, positions, &vec![DVec3::ZERO; positions.len()]);
    let mut found = Vec::new();
    for (number, voxel) in voxels.all.iter().enumerate() {
        let (mut length, mut inside) = (0.0, [0.0; 2]);
        for portion in grid.within(number) {
            let i = portion.segment as usize;
            let part = f64::from(portion.length) / voxels.lengths[i];
            length += f64::from(portion.length);
            inside[0] += water.inside[i] * part;
            inside[1] += hair.fibres[hair.groom_of(i)].inside * f64::from(hair.masses[i]) * part;
        }
        let between = voxel.water.min(voxel.between);
        found.push(Surveyed {
            centre: grid.centre(grid.place(number)),
            length,
            segments: voxel.segments,
            inside,
            between: [between, voxel.between],
            around: [voxel.water - between, voxel.around],
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::{Fibre, Groom, Medium};
    use super::*;

    #[test]
    fn voxels_hold_all_the_hair_and_all_the_water_of_its_segments() {
        let offsets = [0, 4, 8];
        let positions: Vec<DVec3> =
            (0..8).map(|i| DVec3::new(2e-3 * f64::from(i / 4), -4e-3 * f64::from(i % 4), 1e-3)).collect();
        let lengths: Vec<f32> = (0..8).map(|i| if i % 4 == 0 { 0.0 } else { 4e-3 }).collect();
        let fibre = Fibre { hairs: 10.0, ..Fibre::default() };
        let groom = Groom { offsets: &offsets, masses: &[1e-8; 8], lengths: &lengths, fibre };
        let hair = Hair::new(Medium { voxel: 5e-3, ..Medium::default() }, &[groom]).unwrap();
        let water = HairWater::new(&hair, &[[0.5, 0.25]]);
        let voxels = survey(&hair, &water, &positions).unwrap();
        let sum = |of: &dyn Fn(&Surveyed) -> f64| voxels.iter().map(of).sum::<f64>();
        let mass = 10.0 * 8e-8;
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-6;
        assert!(near(sum(&|v| v.length), 24e-3) && near(sum(&|v| v.inside[1]), fibre.inside * mass));
        assert!(near(sum(&|v| v.inside[0]), 0.5 * fibre.inside * mass));
        assert!(near(sum(&|v| v.between[0] + v.around[0]), 0.25 * fibre.between * mass));
        assert!(near(sum(&|v| v.around[1]), fibre.around * mass));
        assert!(voxels.iter().all(|v| v.between[0] <= v.between[1] && (0.0..1.0).contains(&v.saturation())));
        // Middles of voxels of 5 mm, and every segment is in one.
        assert!(voxels.iter().all(|v| near((v.centre.y / 5e-3 - 0.5).round() * 5e-3 + 2.5e-3, v.centre.y)));
        assert!(survey(&hair, &water, &[DVec3::NAN; 8]).is_err());
    }
}
