//! Diffusion along any direction on a grid that has but whole steps, without negative weights.
//!
//! A symmetric positive matrix D is sum_k l_k e_k e_k^T with whole vectors e_k and l_k >= 0: Selling's reduction finds the six
//! terms [Selling1874], [Fehrenbach2014]. The second difference along e_k with weight l_k then makes div(D grad) exactly for
//! quadratic functions, and no neighbour ever counts against another: what diffuses so stays between its extremes.

use glam::{DMat3, DVec3, IVec3};

/// Reductions at most: more than an anisotropy of [`THINNEST`] ever takes.
const ROUNDS: usize = 256;
/// Farthest step along an axis while it is reduced.
const LONGEST: i32 = 1 << 14;
/// The least diffusivity in any direction, over the largest.
const THINNEST: f64 = 1e-4;

/// Whole steps and their weights, of which `d`, symmetric and positive, is the sum; steps to the faces alone, which keep what spreads along the axes, where it is too thin for
/// whole steps.
pub(super) fn decompose(d: &DMat3) -> [(IVec3, f64); 6] {
    let mut base = [IVec3::X, IVec3::Y, IVec3::Z, IVec3::NEG_ONE];
    let scale = d.x_axis.x + d.y_axis.y + d.z_axis.z;
    // Products b_i . D b_j, of which those of each vector with all others and with itself add up to 0.
    let mut products = [[0.0; 4]; 4];
    for [i, j, ..] in PAIRS {
        products[i][j] = base[i].as_dvec3().dot(*d * base[j].as_dvec3());
        products[j][i] = products[i][j];
    }
    for _ in 0..ROUNDS {
        // The largest product first: few rounds are needed even for thin ellipsoids.
        let larger = |best: [usize; 4], pair: [usize; 4]| {
            if products[pair[0]][pair[1]] > products[best[0]][best[1]] { pair } else { best }
        };
        let [i, j, k, l] = PAIRS.into_iter().fold(PAIRS[0], larger);
        let largest = products[i][j];
        if largest <= 1e-14 * scale {
            return PAIRS.map(|[i, j, k, l]| (base[k].cross(base[l]), (-products[i][j]).max(0.0)));
        }
        let turned = base[i];
        base[k] += turned;
        base[l] += turned;
        base[i] = -turned;
        if [k, l].into_iter().any(|side| base[side].abs().max_element() > LONGEST) {
            break;
        }
        let before = products;
        for (a, b, product) in [
            (i, j, -largest),
            (i, k, before[i][l] + largest),
            (i, l, before[i][k] + largest),
            (j, k, before[j][k] + largest),
            (j, l, before[j][l] + largest),
            (k, l, before[k][l] - largest),
        ] {
            (products[a][b], products[b][a]) = (product, product);
        }
    }
    let axes = [(IVec3::X, d.x_axis.x), (IVec3::Y, d.y_axis.y), (IVec3::Z, d.z_axis.z)];
    std::array::from_fn(|k| axes.get(k).copied().unwrap_or((IVec3::X, 0.0)))
}

/// Two of four, and the others.
const PAIRS: [[usize; 4]; 6] = [[0, 1, 2, 3], [0, 2, 1, 3], [0, 3, 1, 2], [1, 2, 0, 3], [1, 3, 0, 2], [2, 3, 0, 1]];

/// The matrix that is `across` in all directions but `along` in those of the orientation tensor (of trace 1).
pub(super) fn diffusivity(orientation: &DMat3, along: f64, across: f64) -> DMat3 {
    // A reduction of a matrix that is flat, or a line, would not end.
    let least = THINNEST * along.max(across);
    let (along, across) = (along.max(least), across.max(least));
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
    fn hair_that_lets_nothing_along_or_nothing_across_is_no_different() {
        let stream = Stream::new(4, "selling");
        for case in 0..20_000_u64 {
            // Close to an axis, and to a diagonal, too.
            let bend = 10.0_f64.powf(-6.0 * stream.uniform(case));
            let u = match case % 3 {
                0 => stream.direction(case),
                1 => (DVec3::X + stream.direction(case) * bend).normalize(),
                _ => (DVec3::ONE + stream.direction(case) * bend).normalize(),
            };
            let orientation = DMat3::from_cols(u * u.x, u * u.y, u * u.z);
            for [along, across] in [[0.0, 1.0], [1.0, 0.0]] {
                let d = diffusivity(&orientation, along, across);
                let mut sum = DMat3::ZERO;
                for (step, weight) in decompose(&d) {
                    assert!(weight >= 0.0);
                    let e = step.as_dvec3();
                    sum += DMat3::from_cols(e * e.x, e * e.y, e * e.z) * weight;
                }
                assert!((sum - d).to_cols_array().into_iter().all(|x| x.abs() < 1e-9), "{u}: {sum} {d}");
            }
        }
    }

    #[test]
    fn a_matrix_that_is_too_thin_spreads_along_the_axes() {
        // No ratio of its sides is one of whole numbers.
        let u = DVec3::new(1.0, 2.0_f64.cbrt(), 3.0_f64.sqrt()).normalize();
        let d = DMat3::from_cols(u * u.x, u * u.y, u * u.z);
        for (step, weight) in decompose(&d) {
            assert!(weight.is_finite() && weight >= 0.0 && step.abs().max_element() < 1 << 20, "{step} {weight}");
        }
    }

    #[test]
    fn diffusion_that_is_the_same_everywhere_goes_to_the_faces() {
        for (step, weight) in decompose(&DMat3::from_diagonal(DVec3::splat(2.0))) {
            assert_eq!(weight, if step.abs().element_sum() == 1 { 2.0 } else { 0.0 }, "{step}");
        }
    }
}
