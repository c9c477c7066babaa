//! The surface of a set of liquid particles.
//!
//! Marching cubes over the smoothed density, on a grid that is fixed in the world so that the surface does not crawl
//! from frame to frame, then smoothed where particles are many: single drops stay as they are [Loeschner2023].
//! With a support of four radii and a threshold of 0.6 a single particle becomes a ball of its own volume, (2 r)^3.

use drench_geometry::neighbours::Neighbours;
use glam::{DVec3, IVec3, Vec3};
use rayon::prelude::*;
use splashsurf_lib::nalgebra::Vector3;
use splashsurf_lib::{GridDecompositionParameters, Parameters, SpatialDecomposition, reconstruct_surface};

/// Support of the density's kernel [radii of a particle].
const SUPPORT: f32 = 4.0;
/// Share of the density at rest where the surface is.
const THRESHOLD: f32 = 0.6;
/// Vertices a parallel chunk holds.
const CHUNK: usize = 1 << 12;
/// Particles in a cell as wide as the support between which smoothing sets in: a flat surface has four.
const ALONE: f32 = 1.0;
const TOGETHER: f32 = 3.0;
/// Rounds of smoothing of the normals alone.
const NORMAL_ROUNDS: u32 = 3;

/// A closed mesh, triangles counter-clockwise from outside.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    /// Vertices [m].
    pub positions: Vec<Vec3>,
    /// Unit normals, outwards.
    pub normals: Vec<Vec3>,
    /// Vertex indices of each triangle.
    pub triangles: Vec<[u32; 3]>,
}

impl Surface {
    /// Adds another surface to this one.
    pub fn append(&mut self, other: Self) {
        let first = self.positions.len() as u32;
        self.positions.extend(other.positions);
        self.normals.extend(other.normals);
        self.triangles.extend(other.triangles.into_iter().map(|t| t.map(|v| v + first)));
    }
}

/// How a surface is made of particles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recipe {
    /// Radius of a particle: half their distance at rest [m].
    pub radius: f32,
    /// Side of a cube of the grid [radii].
    pub cube: f32,
    /// Rounds of smoothing.
    pub rounds: u32,
}

/// The surface around particles; finite positions only.
pub(crate) fn extract(particles: &[Vec3], recipe: Recipe) -> Result<Surface, String> {
    if particles.is_empty() {
        return Ok(Surface::default());
    }
    let points: Vec<Vector3<f32>> = particles.iter().map(|p| Vector3::new(p.x, p.y, p.z)).collect();
    let mut parameters = Parameters::new(recipe.radius, SUPPORT * recipe.radius, recipe.cube * recipe.radius);
    parameters.iso_surface_threshold = THRESHOLD;
    // Always in blocks, or a growing body would change from one way of rounding to the other.
    let blocks = GridDecompositionParameters { subdomain_num_cubes_per_dim: 32, auto_disable: false };
    parameters.spatial_decomposition = SpatialDecomposition::UniformGrid(blocks);
    // Its sums depend on the order in which threads meet, so it gets one.
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(|error| error.to_string())?;
    let surface = alone.install(|| reconstruct_surface::<i64, f32>(&points, &parameters));
    let surface = surface.map_err(|error| format!("{error:#}"))?;
    let positions: Vec<Vec3> = surface.mesh.vertices.iter().map(|v| Vec3::new(v.x, v.y, v.z)).collect();
    let triangles = surface.mesh.triangles.iter().map(|t| t.map(|v| v as u32)).collect();
    let mut mesh = in_order(positions, triangles);
    let around = Around::new(mesh.positions.len(), &mesh.triangles);
    if recipe.rounds > 0 {
        let mut cells = Neighbours::new();
        let places: Vec<DVec3> = particles.par_iter().map(|p| p.as_dvec3()).collect();
        cells.rebuild(&places, f64::from(SUPPORT * recipe.radius)).map_err(|error| error.to_string())?;
        let weight = |&p: &Vec3| smoothstep((count(&cells, p.as_dvec3()) - ALONE) / (TOGETHER - ALONE));
        let weights: Vec<f32> = mesh.positions.par_iter().map(weight).collect();
        let rough = mesh.positions.clone();
        around.smooth(&mesh.triangles, &mut mesh.positions, recipe.rounds, |v| weights[v]);
        // Smoothing draws in what is curved, thin streams most. The mean way back, without the bumps, undoes it.
        mesh.normals = around.normals(&mesh);
        let mut back: Vec<Vec3> = (0..rough.len())
            .into_par_iter()
            .map(|v| Vec3::splat((rough[v] - mesh.positions[v]).dot(mesh.normals[v])))
            .collect();
        around.smooth(&mesh.triangles, &mut back, recipe.rounds, |v| weights[v]);
        for ((p, n), back) in mesh.positions.iter_mut().zip(&mesh.normals).zip(back) {
            *p += n * back;
        }
    }
    mesh.normals = around.normals(&mesh);
    around.smooth(&mesh.triangles, &mut mesh.normals, NORMAL_ROUNDS, |_| 0.7);
    mesh.normals.par_iter_mut().for_each(|n| *n = n.normalize_or(Vec3::Y));
    Ok(mesh)
}

/// Numbers vertices and triangles by where they are: the blocks come in an order that says nothing.
fn in_order(positions: Vec<Vec3>, mut triangles: Vec<[u32; 3]>) -> Surface {
    let rank = |v: u32| {
        positions[v as usize].to_array().map(|x| {
            let bits = x.to_bits();
            // Bits that rise with the number.
            if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
        })
    };
    let mut order: Vec<u32> = (0..positions.len() as u32).collect();
    order.par_sort_unstable_by_key(|&v| rank(v));
    let mut place = vec![0; positions.len()];
    order.iter().enumerate().for_each(|(new, &old)| place[old as usize] = new as u32);
    triangles.par_iter_mut().for_each(|t| {
        *t = t.map(|v| place[v as usize]);
        let first = (0..3).min_by_key(|&k| t[k]).unwrap_or(0);
        t.rotate_left(first);
    });
    triangles.par_sort_unstable();
    let positions = order.par_iter().map(|&v| positions[v as usize]).collect();
    Surface { positions, normals: Vec::new(), triangles }
}

/// The triangles around each vertex.
struct Around {
    starts: Vec<u32>,
    triangles: Vec<u32>,
}

impl Around {
    fn new(vertices: usize, triangles: &[[u32; 3]]) -> Self {
        let mut starts = vec![0; vertices + 1];
        triangles.iter().flatten().for_each(|&v| starts[v as usize + 1] += 1);
        for v in 0..vertices {
            starts[v + 1] += starts[v];
        }
        let mut next = starts.clone();
        let mut around = vec![0; triangles.len() * 3];
        for (t, corners) in triangles.iter().enumerate() {
            for &v in corners {
                around[next[v as usize] as usize] = t as u32;
                next[v as usize] += 1;
            }
        }
        Self { starts, triangles: around }
    }

    fn of(&self, vertex: usize) -> &[u32] {
        &self.triangles[self.starts[vertex] as usize..self.starts[vertex + 1] as usize]
    }

    /// Blends values with their neighbours' a number of times.
    fn smooth(
        &self,
        triangles: &[[u32; 3]],
        values: &mut Vec<Vec3>,
        rounds: u32,
        weight: impl Fn(usize) -> f32 + Sync,
    ) {
        let mut before = values.clone();
        for _ in 0..rounds {
            std::mem::swap(&mut before, values);
            self.blend(triangles, &before, values, &weight);
        }
    }

    /// Moves each value towards the mean of its neighbours', all the way where the weight is one.
    fn blend(&self, triangles: &[[u32; 3]], from: &[Vec3], to: &mut [Vec3], weight: &(impl Fn(usize) -> f32 + Sync)) {
        to.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, to)| {
            for (k, to) in to.iter_mut().enumerate() {
                let v = chunk * CHUNK + k;
                let near = self.of(v);
                // In a closed mesh each neighbour stands in two triangles.
                let all: Vec3 = near.iter().flat_map(|&t| triangles[t as usize]).map(|w| from[w as usize]).sum();
                let others = all - from[v] * near.len() as f32;
                let mean = if near.is_empty() { from[v] } else { others / (2 * near.len()) as f32 };
                *to = from[v].lerp(mean, weight(v));
            }
        });
    }

    /// Means of the triangles' normals, weighted by area.
    fn normals(&self, mesh: &Surface) -> Vec<Vec3> {
        let normal = |v: usize| {
            let flat = |&t: &u32| {
                let [a, b, c] = mesh.triangles[t as usize].map(|v| mesh.positions[v as usize]);
                (b - a).cross(c - a)
            };
            self.of(v).iter().map(flat).sum::<Vec3>().normalize_or(Vec3::Y)
        };
        (0..mesh.positions.len()).into_par_iter().with_min_len(CHUNK).map(normal).collect()
    }
}

/// Particles in a volume of one cell around a place, each cell weighted by its part of that volume: smooth everywhere.
fn count(cells: &Neighbours, p: DVec3) -> f32 {
    let q = p / cells.cell_size() - 0.5;
    let corner = q.floor();
    let f = (q - corner).as_vec3();
    let weight = |d: i32, f: f32| if d == 1 { f } else { 1.0 - f };
    let part = |k: i32| {
        let d = IVec3::new(k & 1, k >> 1 & 1, k >> 2 & 1);
        let inside = cells.cell((corner.as_ivec3() + d).to_array()).len();
        inside as f32 * weight(d.x, f.x) * weight(d.y, f.y) * weight(d.z, f.z)
    };
    (0..8).map(part).sum()
}

fn smoothstep(x: f32) -> f32 {
    let x = x.clamp(0.0, 1.0);
    x * x * (3.0 - 2.0 * x)
}

/// A ball of 32 triangles with exact normals, of the volume of a true one.
pub(crate) fn ball(centre: Vec3, radius: f32, mesh: &mut Surface) {
    const CORNERS: [Vec3; 6] = [Vec3::X, Vec3::Z, Vec3::NEG_X, Vec3::NEG_Z, Vec3::Y, Vec3::NEG_Y];
    // An octahedron with each side cut in four holds 0.7026 of the ball's volume.
    let radius = radius * 1.125;
    let mut corner = |n: Vec3| {
        mesh.positions.push(centre + n * radius);
        mesh.normals.push(n);
        mesh.positions.len() as u32 - 1
    };
    for k in 0..8 {
        let (a, b, pole) = (CORNERS[k % 4], CORNERS[(k + 1) % 4], CORNERS[4 + k / 4]);
        // Seen from outside the upper half runs the other way round than the lower.
        let (a, b) = if k < 4 { (b, a) } else { (a, b) };
        let [i, j, p] = [a, b, pole].map(&mut corner);
        let [ij, jp, pi] = [a + b, b + pole, pole + a].map(|sum| corner(sum.normalize()));
        mesh.triangles.extend([[i, ij, pi], [ij, j, jp], [pi, jp, p], [ij, jp, pi]]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_math::random::Stream;
    use std::f32::consts::PI;

    const RECIPE: Recipe = Recipe { radius: 0.01, cube: 0.75, rounds: 8 };

    fn volume(mesh: &Surface) -> f32 {
        let part = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| mesh.positions[v as usize]);
            a.dot(b.cross(c)) / 6.0
        };
        mesh.triangles.iter().map(part).sum()
    }

    fn lattice(inside: impl Fn(Vec3) -> bool) -> Vec<Vec3> {
        let axis = |i: i32| (i as f32 + 0.5) * 0.02;
        let all = (-10..10).flat_map(|z| (-10..10).flat_map(move |y| (-10..10).map(move |x| [x, y, z])));
        all.map(|p| Vec3::from(p.map(axis))).filter(|&p| inside(p)).collect()
    }

    #[test]
    fn a_drop_and_a_ball_have_their_volume_and_look_outwards() {
        // Far from the origin's planes, so that the volume needs the orientation of every triangle.
        let fine = Recipe { cube: 0.2, ..RECIPE };
        let drop = extract(&[Vec3::new(0.3, 0.2, -0.1)], fine).unwrap();
        assert!((volume(&drop) / 8e-6 - 1.0).abs() < 0.05, "{}", volume(&drop) / 8e-6);
        let ball = lattice(|p| p.length() < 0.15);
        let mesh = extract(&ball, RECIPE).unwrap();
        let expected = ball.len() as f32 * 8e-6;
        assert!((volume(&mesh) / expected - 1.0).abs() < 0.12, "{}", volume(&mesh) / expected);
        for (p, n) in mesh.positions.iter().zip(&mesh.normals) {
            assert!(n.dot(p.normalize()) > 0.8 && (n.length() - 1.0).abs() < 1e-5);
            assert!((0.13..0.18).contains(&p.length()));
        }
    }

    #[test]
    fn smoothing_does_not_thin_a_stream() {
        let stream = lattice(|p| Vec3::new(p.x, 0.0, p.z).length() < 0.035);
        let [rough, smooth] = [0, 20].map(|rounds| volume(&extract(&stream, Recipe { rounds, ..RECIPE }).unwrap()));
        assert!((smooth / rough - 1.0).abs() < 0.06, "{}", smooth / rough);
    }

    #[test]
    fn the_surface_is_closed_and_the_same_bits_on_any_number_of_threads() {
        let stream = Stream::new(9, "splash");
        let particles: Vec<Vec3> = (0..6_000)
            .map(|i| stream.direction(i).as_vec3() * 0.4 * stream.child(1).uniform(i).cbrt() as f32)
            .collect();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| extract(&particles, RECIPE).unwrap())
        };
        let mesh = on(1);
        assert!(mesh == on(2) && mesh == on(8));
        let mut edges: Vec<[u32; 2]> = Vec::new();
        for &[a, b, c] in &mesh.triangles {
            edges.extend([[a, b], [b, c], [c, a]]);
        }
        edges.sort_unstable();
        assert!(edges.iter().all(|&[a, b]| edges.binary_search(&[b, a]).is_ok()));
    }

    /// A body that moves does not change the surface of another.
    #[test]
    fn the_grid_stands_still() {
        let mut particles = lattice(|p| p.length() < 0.1);
        let near = |mesh: &Surface| mesh.positions.iter().filter(|p| p.length() < 0.3).copied().collect::<Vec<_>>();
        particles.push(Vec3::new(0.7, 0.0, 0.0));
        let one = near(&extract(&particles, RECIPE).unwrap());
        *particles.last_mut().unwrap() = Vec3::new(-0.913, 0.421, 0.3);
        let other = near(&extract(&particles, RECIPE).unwrap());
        assert_eq!(one.len(), other.len());
        let nearest = |p: &Vec3| other.iter().map(|q| p.distance(*q)).fold(f32::INFINITY, f32::min);
        assert!(one.iter().all(|p| nearest(p) < 1e-5));
    }

    #[test]
    fn nothing_has_no_surface_and_a_cut_octahedron_is_a_ball() {
        assert_eq!(extract(&[], RECIPE).unwrap(), Surface::default());
        let mut mesh = Surface::default();
        ball(Vec3::new(0.1, -0.4, 0.2), 0.05, &mut mesh);
        let expected = 4.0 / 3.0 * PI * 0.05_f32.powi(3);
        assert!((volume(&mesh) / expected - 1.0).abs() < 0.02, "{}", volume(&mesh) / expected);
        assert_eq!(mesh.triangles.len(), 32);
    }
}
