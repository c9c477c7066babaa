//! A mesh of the zero set of a smooth function, by surface nets on a grid with uneven spacing that may be bent.
//!
//! One vertex per cell that the surface crosses, one quadrilateral per grid edge that it crosses (Gibson 1998). The vertices are then
//! moved along the surface to the middle of their neighbours, for even triangles, and back onto it by Newton's
//! method, so that smoothing does not shrink the shape.

use crate::TriMesh;
use glam::DVec3;
use rayon::prelude::*;

const ABSENT: u32 = u32::MAX;

/// Rounds of evening out.
const RELAXATIONS: u32 = 4;

/// Grid points along the side of a block that is looked at as a whole first.
const BLOCK: usize = 4;

/// Meshes where `distance` is zero; it is negative inside and must be positive on the rim of the grid.
///
/// `axes` are the grid's coordinates, increasing [m], and `warp` says where its points are; `gradient` is that of
/// `distance`, used for projection and normals. The distance may be a rough one, but must not overestimate by more than
/// a half.
pub(crate) fn surface_nets(
    axes: [&[f64]; 3],
    warp: impl Fn(DVec3) -> DVec3 + Sync,
    distance: impl Fn(DVec3) -> f64 + Sync,
    gradient: impl Fn(DVec3) -> DVec3 + Sync,
) -> TriMesh {
    let mut values = sample(axes, &warp, &distance);
    untangle(axes.map(<[f64]>::len), &mut values);
    let mut mesh = net(axes, &warp, &values);
    // One step of Newton's method along a gradient that is not far from unit length.
    let step = |p: DVec3, slope: DVec3| p - slope * (distance(p) / slope.length_squared().max(0.25));
    for _ in 0..RELAXATIONS {
        let middles = middles(&mesh);
        mesh.positions.par_iter_mut().zip(&middles).with_min_len(256).for_each(|(p, &middle)| {
            let slope = gradient(*p);
            let normal = slope.normalize_or_zero();
            let shift = 0.5 * (middle - *p);
            *p = step(*p + shift - shift.dot(normal) * normal, slope);
        });
    }
    mesh.positions.par_iter_mut().with_min_len(256).for_each(|p| *p = step(*p, gradient(*p)));
    mesh.normals = mesh.positions.par_iter().with_min_len(256).map(|&p| gradient(p).normalize_or(DVec3::Y)).collect();
    mesh
}

/// Values at the grid points, x fastest, then y, then z. Blocks far from the surface get one value for all points.
fn sample(
    axes: [&[f64]; 3],
    warp: &(impl Fn(DVec3) -> DVec3 + Sync),
    distance: &(impl Fn(DVec3) -> f64 + Sync),
) -> Vec<f64> {
    let [xs, ys, zs] = axes;
    let mut values = vec![0.0; xs.len() * ys.len() * zs.len()];
    let slab = xs.len() * ys.len();
    values.par_chunks_mut(slab * BLOCK).enumerate().for_each(|(layer, values)| {
        let z_range = layer * BLOCK..((layer + 1) * BLOCK).min(zs.len());
        for y_start in (0..ys.len()).step_by(BLOCK) {
            let y_range = y_start..(y_start + BLOCK).min(ys.len());
            for x_start in (0..xs.len()).step_by(BLOCK) {
                let x_range = x_start..(x_start + BLOCK).min(xs.len());
                let low = DVec3::new(xs[x_range.start], ys[y_range.start], zs[z_range.start]);
                let high = DVec3::new(xs[x_range.end - 1], ys[y_range.end - 1], zs[z_range.end - 1]);
                let middle = distance(warp(0.5 * (low + high)));
                let far = middle.abs() > 0.75 * (warp(high) - warp(low)).length();
                for z in z_range.clone() {
                    for y in y_range.clone() {
                        for x in x_range.clone() {
                            let value = if far { middle } else { distance(warp(DVec3::new(xs[x], ys[y], zs[z]))) };
                            values[(z - z_range.start) * slab + y * xs.len() + x] = value;
                        }
                    }
                }
            }
        }
    });
    values
}

/// Sees to it that no face of the grid has its two inner corners across from each other: there, two sheets of the surface
/// would touch along an edge of four triangles. The least certain outer corner moves inside, until all are clear.
fn untangle(size: [usize; 3], values: &mut [f64]) {
    let stride = [1, size[0], size[0] * size[1]];
    let mut changed = true;
    while changed {
        changed = false;
        for (a, b, c) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
            for k in 0..size[c] {
                for j in 0..size[b] - 1 {
                    for i in 0..size[a] - 1 {
                        let first = i * stride[a] + j * stride[b] + k * stride[c];
                        let corners = [first, first + stride[a], first + stride[a] + stride[b], first + stride[b]];
                        let inside = corners.map(|corner| values[corner] < 0.0);
                        if inside[0] == inside[2] && inside[1] == inside[3] && inside[0] != inside[1] {
                            // Only ever inwards: a corner that changes stays, so the loop ends.
                            let outer = corners.into_iter().filter(|&corner| values[corner] >= 0.0);
                            if let Some(corner) = outer.min_by(|&a, &b| values[a].total_cmp(&values[b])) {
                                values[corner] = -values[corner].max(f64::MIN_POSITIVE);
                                changed = true;
                            }
                        }
                    }
                }
            }
        }
    }
}

fn net(axes: [&[f64]; 3], warp: &impl Fn(DVec3) -> DVec3, values: &[f64]) -> TriMesh {
    let size = axes.map(<[f64]>::len);
    let stride = [1, size[0], size[0] * size[1]];
    let at = |cell: [usize; 3]| cell[0] + stride[1] * cell[1] + stride[2] * cell[2];
    let point = |cell: [usize; 3]| warp(DVec3::new(axes[0][cell[0]], axes[1][cell[1]], axes[2][cell[2]]));
    let mut mesh = TriMesh::default();
    let mut vertex = vec![ABSENT; values.len()];

    for z in 0..size[2] - 1 {
        for y in 0..size[1] - 1 {
            for x in 0..size[0] - 1 {
                let mut sum = DVec3::ZERO;
                let mut crossings = 0;
                for (axis, side_a, side_b) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
                    for corner in 0..4 {
                        let mut from = [x, y, z];
                        from[side_a] += corner & 1;
                        from[side_b] += corner >> 1;
                        let mut to = from;
                        to[axis] += 1;
                        let (a, b) = (values[at(from)], values[at(to)]);
                        if (a < 0.0) != (b < 0.0) {
                            sum += point(from).lerp(point(to), a / (a - b));
                            crossings += 1;
                        }
                    }
                }
                if crossings > 0 {
                    vertex[at([x, y, z])] = mesh.positions.len() as u32;
                    mesh.positions.push(sum / f64::from(crossings));
                }
            }
        }
    }
    for z in 1..size[2] - 1 {
        for y in 1..size[1] - 1 {
            for x in 1..size[0] - 1 {
                let here = at([x, y, z]);
                for (axis, a, b) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
                    let (low, high) = (values[here] < 0.0, values[here + stride[axis]] < 0.0);
                    if low == high {
                        continue;
                    }
                    // The four cells around the edge, counter-clockwise seen from its far end.
                    let (a, b) = (stride[a], stride[b]);
                    let mut quad = [here - a - b, here - b, here, here - a].map(|cell| vertex[cell]);
                    if high {
                        quad.reverse();
                    }
                    mesh.triangles.extend(split(&mesh.positions, quad));
                }
            }
        }
    }
    mesh
}

/// Cuts a quadrilateral along its shorter diagonal.
fn split(positions: &[DVec3], [a, b, c, d]: [u32; 4]) -> [[u32; 3]; 2] {
    let length = |i: u32, j: u32| positions[i as usize].distance_squared(positions[j as usize]);
    if length(a, c) <= length(b, d) { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] }
}

/// Mean of the neighbours of each vertex.
fn middles(mesh: &TriMesh) -> Vec<DVec3> {
    let mut sums = vec![(DVec3::ZERO, 0.0); mesh.positions.len()];
    for triangle in &mesh.triangles {
        for k in 0..3 {
            // Each edge of a closed mesh is walked once in each direction, so every neighbour counts once.
            let (from, to) = (triangle[k] as usize, triangle[(k + 1) % 3] as usize);
            sums[from].0 += mesh.positions[to];
            sums[from].1 += 1.0;
        }
    }
    sums.iter().map(|&(sum, count)| sum / f64::max(count, 1.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn a_sphere_is_closed_round_and_even() {
        let axis = |n: i32, grow: f64| (-n..=n).map(|i| f64::from(i) * 0.06 + grow * f64::from(i).powi(3)).collect();
        let axes: [Vec<f64>; 3] = [axis(20, 1e-5), axis(20, 0.0), axis(21, 2e-5)];
        let distance = |p: DVec3| p.length() - 1.0;
        let bend = |p: DVec3| p + DVec3::X * (0.1 * p.y * p.y);
        let mesh_on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let axes = [&axes[0][..], &axes[1][..], &axes[2][..]];
            pool.install(|| surface_nets(axes, bend, distance, |p| p.normalize_or_zero()))
        };
        let mesh = mesh_on(1);
        assert_eq!(mesh, mesh_on(8));
        let topology = mesh.topology();
        assert!(topology.is_closed());
        assert_eq!(topology.euler_characteristic(), 2);
        assert!(mesh.positions.iter().all(|p| (p.length() - 1.0).abs() < 1e-9));
        assert_relative_eq!(mesh.volume(), 4.0 / 3.0 * std::f64::consts::PI, max_relative = 5e-3);
        for t in 0..mesh.triangles.len() {
            let [a, b, c] = mesh.corners(t);
            let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
            // 0.433 for the equilateral triangle.
            assert!(mesh.area(t) / (longest * longest) > 0.1);
            assert!(mesh.face_normal(t).dot(a) > 0.9);
        }
    }

    #[test]
    fn sheets_that_touch_are_joined() {
        // Two balls that touch near a grid edge, on many different offsets of the grid.
        for shift in 0..20 {
            let shift = f64::from(shift) * 0.013;
            let axis: Vec<f64> = (-20..=20).map(|i| f64::from(i) * 0.1 + shift).collect();
            let distance = |p: DVec3| {
                let centre = DVec3::new(0.52, 0.48, 0.0);
                (p - centre).length().min((p + centre).length()) - 0.7
            };
            let gradient = |p: DVec3| {
                let h = 1e-5;
                DVec3::AXES.map(|e| e * (distance(p + h * e) - distance(p - h * e)) / (2.0 * h)).iter().sum()
            };
            let mesh = surface_nets([&axis, &axis, &axis], |p| p, distance, gradient);
            assert!(mesh.topology().is_closed(), "{shift} {:?}", mesh.topology());
        }
    }
}
