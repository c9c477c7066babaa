//! Diffusion along any direction on a grid that has but whole steps, without negative weights.
//!
//! A symmetric positive matrix D is sum_k l_k e_k e_k^T with whole vectors e_k and l_k >= 0: Selling's reduction finds the six
//! terms [Selling1874], [Fehrenbach2014]. The second difference along e_k with weight l_k then makes div(D grad) exactly for
//! quadratic functions, and no neighbour ever counts against another: what diffuses so stays between its extremes.

use glam::{DMat3, DVec3, IVec3};

/// Reductions at most: enough for an anisotropy of a million.
const ROUNDS: usize = 256;

/// Whole steps and their weights, of which `d`, symmetric and positive, is the sum.
pub(super) fn decompose(d: &DMat3) -> [(IVec3, f64); 6] {
    let mut base = [IVec3::X, IVec3::Y, IVec3::Z, IVec3::NEG_ONE];
    let product = |a: IVec3, b: IVec3| a.as_dvec3().dot(*d * b.as_dvec3());
    let scale = d.x_axis.x + d.y_axis.y + d.z_axis.z;
    for _ in 0..ROUNDS {
        // The largest product first: few rounds are needed even for thin ellipsoids.
        let pairs = PAIRS.map(|(i, j)| (product(base[i], base[j]), i, j));
        let (largest, i, j) = pairs.into_iter().fold(pairs[0], |best, pair| if pair.0 > best.0 { pair } else { best });
        if largest <= 1e-14 * scale {
            break;
        }
        let turned = base[i];
        (0..4).filter(|&k| k != i && k != j).for_each(|k| base[k] += turned);
        base[i] = -turned;
    }
    PAIRS.map(|(i, j)| {
        let mut others = (0..4).filter(|&k| k != i && k != j).map(|k| base[k]);
        let (k, l) = (others.next().unwrap_or_default(), others.next().unwrap_or_default());
        (k.cross(l), (-product(base[i], base[j])).max(0.0))
    })
}

const PAIRS: [(usize, usize); 6] = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];

/// The matrix that is `across` in all directions but `along` in those of the orientation tensor (of trace 1).
pub(super) fn diffusivity(orientation: &DMat3, along: f64, across: f64) -> DMat3 {
    // A reduction of a matrix without any width would not end.
    let across = across.max(1e-6 * along);
    DMat3::from_diagonal(DVec3::splat(across)) + *orientation * (along - across)
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_math::random::Stream;

    #[test]
    fn any_positive_matrix_is_a_sum_of_whole_steps() {
        let stream = Stream::new(3, "selling");
        for case in 0..3000_u64 {
            let u = stream.direction(case);
            let orientation = DMat3::from_cols(u * u.x, u * u.y, u * u.z);
            let d = diffusivity(&orientation, 1.0, 10.0_f64.powf(-4.0 * stream.uniform(case)));
            let mut sum = DMat3::ZERO;
            for (step, weight) in decompose(&d) {
                assert!(weight >= 0.0);
                let e = step.as_dvec3();
                sum += DMat3::from_cols(e * e.x, e * e.y, e * e.z) * weight;
            }
            assert!((sum - d).to_cols_array().into_iter().all(|x| x.abs() < 1e-9), "{case}: {sum} {d}");
        }
    }

    #[test]
    fn diffusion_that_is_the_same_everywhere_goes_to_the_faces() {
        for (step, weight) in decompose(&DMat3::from_diagonal(DVec3::splat(2.0))) {
            assert_eq!(weight, if step.abs().element_sum() == 1 { 2.0 } else { 0.0 }, "{step}");
        }
    }
}
