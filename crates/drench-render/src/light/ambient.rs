//! Light from the sky as it reaches every place among hair and solids.
//!
//! A coarse grid holds how strongly strands weaken light on its way. The sky is cut into a few dozen directions; for
//! each, one sweep through the grid carries its light along, every cell taking what its upstream neighbours let
//! through. The blur that such a sweep adds is welcome: each direction stands for a whole patch of the sky. Cells keep
//! the first two moments of the light that arrives, enough for its brightness and its main direction.

use crate::curves::Curves;
use crate::fibre::Fur;
use crate::grains::Grains;
use crate::surfaces::Surfaces;
use crate::{Ground, Sky};
use glam::{IVec3, Vec3};
use rayon::prelude::*;
use std::f32::consts::PI;

/// Parts into which strands and directions are cut; fixed, so that sums do not depend on threads.
const PARTS: usize = 4;
/// Cells around a layer of the grid from which light may come.
const BORDER: usize = 2;
/// Width below which a few wider strands stand for many [cells].
const THINNEST: f32 = 0.03;

/// The light of the sky on a grid.
#[derive(Default)]
pub(crate) struct Ambient {
    low: Vec3,
    cell: f32,
    size: [usize; 3],
    moments: Vec<Moments>,
    open: Moments,
}

/// Moments of the radiance over all directions.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Moments {
    /// Integral of the radiance, RGB.
    total: Vec3,
    /// Integral of radiance times direction it comes from, for R, G, B.
    first: [Vec3; 3],
}

impl Moments {
    fn add(&mut self, radiance: Vec3, from: Vec3) {
        self.total += radiance;
        for (first, radiance) in self.first.iter_mut().zip(radiance.to_array()) {
            *first += radiance * from;
        }
    }

    fn add_scaled(&mut self, other: &Self, weight: f32) {
        self.total += other.total * weight;
        for (first, other) in self.first.iter_mut().zip(other.first) {
            *first += other * weight;
        }
    }

    /// Irradiance of a surface with this normal: exact up to the first order of spherical harmonics.
    pub fn irradiance(&self, normal: Vec3) -> Vec3 {
        let directed = Vec3::from(self.first.map(|first| first.dot(normal)));
        (0.25 * self.total + 0.5 * directed).max(Vec3::ZERO)
    }

    /// Where most light comes from: unit length if all of it comes from one side, zero if it comes evenly.
    pub fn opening(&self) -> Vec3 {
        let sum = self.first[0] + self.first[1] + self.first[2];
        sum * (2.0 / self.total.element_sum().max(1e-9))
    }

    /// Mean radiance around a point, tilted towards what comes from the side of `direction`.
    pub fn radiance(&self, direction: Vec3, tilt: f32) -> Vec3 {
        let directed = Vec3::from(self.first.map(|first| first.dot(direction)));
        (self.total + 3.0 * tilt * directed).max(Vec3::ZERO) / (4.0 * PI)
    }
}

/// What the sky's light meets.
pub(crate) struct Blockers<'a> {
    pub curves: &'a Curves,
    pub furs: &'a [Fur],
    pub surfaces: &'a Surfaces,
    pub grains: &'a Grains,
    pub sky: Sky,
    pub ground: Option<Ground>,
    /// Irradiance of the ground in the open.
    pub ground_irradiance: Vec3,
}

impl Ambient {
    /// Fills the grid over the box `low..high`, `cells` along its longest side, from so many directions.
    pub fn build(&mut self, blockers: &Blockers, low: Vec3, high: Vec3, cells: usize, directions: usize) {
        let extent = (high - low).max(Vec3::splat(1e-3));
        self.cell = extent.max_element() / cells as f32;
        self.low = low;
        self.size = extent.to_array().map(|e| ((e / self.cell).ceil() as usize).clamp(2, cells + 1));
        let density = self.density(blockers);
        let directions: Vec<(Vec3, Vec3)> = sphere(directions)
            .map(|from| (from, radiance_from(blockers, from) * (4.0 * PI / directions as f32)))
            .collect();
        self.open = Moments::default();
        directions.iter().for_each(|&(from, radiance)| self.open.add(radiance, from));
        let count = density.len() / 3;
        let parts: Vec<Sums> = (0..PARTS)
            .into_par_iter()
            .map(|part| {
                let mut sums = Sums::new(count);
                for &(from, radiance) in directions.iter().skip(part).step_by(PARTS) {
                    self.sweep(&density, from, radiance, &mut sums);
                }
                sums
            })
            .collect();
        let moments = |i: usize| {
            let mut moments = Moments::default();
            for part in &parts {
                let [total, x, y, z] = part.0.each_ref().map(|plane| &plane[3 * i..3 * i + 3]);
                moments.total += Vec3::from_slice(total);
                for (c, first) in moments.first.iter_mut().enumerate() {
                    *first += Vec3::new(x[c], y[c], z[c]);
                }
            }
            moments
        };
        (0..count).into_par_iter().map(moments).collect_into_vec(&mut self.moments);
    }

    /// The light at a point; outside the grid that of the open sky.
    pub fn at(&self, p: Vec3) -> Moments {
        let q = (p - self.low) / self.cell - 0.5;
        let top = Vec3::new(self.size[0] as f32, self.size[1] as f32, self.size[2] as f32) - 1.0;
        // The light of the outermost cells fades into the open sky's over two cells.
        let outside = (-q).max(q - top).max_element();
        if self.moments.is_empty() || outside.is_nan() || outside > 2.0 {
            return self.open;
        }
        let q = q.clamp(Vec3::ZERO, top);
        // Not below zero: cutting off the fraction is the floor.
        let c = q.min(top - 1.0).max(Vec3::ZERO).as_ivec3();
        let f = q - c.as_vec3();
        let mut sum = Moments::default();
        for k in 0..8 {
            let d = IVec3::new(k & 1, k >> 1 & 1, k >> 2 & 1);
            let w = |d: i32, f: f32| if d == 1 { f } else { 1.0 - f };
            let weight = w(d.x, f.x) * w(d.y, f.y) * w(d.z, f.z);
            if weight > 0.0 {
                let v = c + d;
                sum.add_scaled(&self.moments[self.index(v.x as usize, v.y as usize, v.z as usize)], weight);
            }
        }
        if outside > 0.0 {
            let open = 0.5 * outside;
            let mut blend = Moments::default();
            blend.add_scaled(&sum, 1.0 - open);
            blend.add_scaled(&self.open, open);
            return blend;
        }
        sum
    }

    /// The light where nothing is near.
    pub fn open(&self) -> Moments {
        self.open
    }

    /// Side of a cell [m].
    pub fn cell(&self) -> f32 {
        self.cell
    }

    fn index(&self, x: usize, y: usize, z: usize) -> usize {
        (z * self.size[1] + y) * self.size[0] + x
    }

    /// Attenuation of each cell [1/m], RGB, cell by cell.
    fn density(&self, blockers: &Blockers) -> Vec<f32> {
        let [nx, ny, nz] = self.size;
        let count = nx * ny * nz;
        let curves = blockers.curves;
        let strands = curves.strands.len();
        let volume = self.cell.powi(3);
        let parts: Vec<Vec<Vec3>> = (0..PARTS)
            .into_par_iter()
            .map(|part| {
                let mut density = vec![Vec3::ZERO; count];
                for strand in &curves.strands[part * strands / PARTS..(part + 1) * strands / PARTS] {
                    let Some(stands_for) = curves.stands_for(strand, THINNEST * self.cell) else { continue };
                    let absorbed = Vec3::ONE - blockers.furs[strand.look as usize].forward;
                    for i in strand.segments() {
                        let (a, b) = (curves.positions[i], curves.positions[i + 1]);
                        // Shadow of a cylinder over all directions: diameter times length times pi / 4.
                        let width = stands_for * (curves.radii[i] + curves.radii[i + 1]);
                        let shadow = absorbed * (a.distance(b) * width * 0.25 * PI / volume);
                        let steps = (a.distance(b) / (0.7 * self.cell)).ceil().clamp(1.0, 64.0);
                        for k in 0..steps as usize {
                            let p = a.lerp(b, (k as f32 + 0.5) / steps);
                            if let Some(i) = self.cell_of(p) {
                                density[i] += shadow / steps;
                            }
                        }
                    }
                }
                density
            })
            .collect();
        let mut density = vec![Vec3::ZERO; count];
        density.par_iter_mut().enumerate().for_each(|(i, sum)| {
            *sum = parts.iter().map(|part| part[i]).sum::<Vec3>();
        });
        for &(a, b, radius) in &blockers.surfaces.spines {
            let shadow = Vec3::splat(a.distance(b) * radius * 0.5 * PI / volume);
            let steps = (a.distance(b) / (0.7 * self.cell)).ceil().clamp(1.0, 64.0);
            for k in 0..steps as usize {
                if let Some(i) = self.cell_of(a.lerp(b, (k as f32 + 0.5) / steps)) {
                    density[i] += shadow / steps;
                }
            }
        }
        for (&p, &r) in blockers.grains.centres.iter().zip(&blockers.grains.radii) {
            if let Some(i) = self.cell_of(p) {
                density[i] += Vec3::splat(PI * r * r / volume);
            }
        }
        self.add_solids(blockers.surfaces, &mut density);
        density.iter().flat_map(|density| density.to_array()).collect()
    }

    /// Solids are shells of opaque cells, one cell below the surface so that the surface itself stays in the light.
    fn add_solids(&self, surfaces: &Surfaces, density: &mut [Vec3]) {
        let opaque = Vec3::splat(6.0 / self.cell);
        for t in 0..surfaces.solid_triangles {
            let normal = surfaces.area_normal(t);
            let Some(inwards) = (-normal).try_normalize() else { continue };
            let [a, b, c] = surfaces.corners(t);
            let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
            let steps = (longest / (0.5 * self.cell)).ceil().clamp(1.0, 512.0) as usize;
            for i in 0..steps {
                for j in 0..steps - i {
                    let at = |k: usize| (k as f32 + 1.0 / 3.0) / steps as f32;
                    let p = a + (b - a) * at(i) + (c - a) * at(j) + inwards * (1.2 * self.cell);
                    if let Some(i) = self.cell_of(p) {
                        density[i] = density[i].max(opaque);
                    }
                }
            }
        }
    }

    fn cell_of(&self, p: Vec3) -> Option<usize> {
        let q = (p - self.low) / self.cell;
        let inside = |v: f32, n: usize| v >= 0.0 && v < n as f32;
        let [nx, ny, nz] = self.size;
        (inside(q.x, nx) && inside(q.y, ny) && inside(q.z, nz))
            .then(|| self.index(q.x as usize, q.y as usize, q.z as usize))
    }

    /// Carries light of this radiance that comes from one direction through the grid, and adds what arrives to the sums.
    fn sweep(&self, density: &[f32], from: Vec3, radiance: Vec3, sums: &mut Sums) {
        let towards = -from;
        let size = self.size;
        let strides = [1, size[0], size[0] * size[1]];
        let main = (0..3).max_by(|&a, &b| towards[a].abs().total_cmp(&towards[b].abs())).unwrap_or(1);
        // Rows run along x wherever they can: there, cells follow each other.
        let (u, v) = [(1, 2), (0, 2), (0, 1)][main];
        let (nu, nv) = (size[u], size[v]);
        let along = towards[main].abs();
        let half_step = 0.5 * self.cell / along;
        // One layer upstream the ray is shifted by as many cells everywhere: the four cells that it comes from lie the
        // same way from each cell and have the same weights.
        let ((du, fu), (dv, fv)) = (split(-towards[u] / along), split(-towards[v] / along));
        let weights = [(1.0 - fu) * (1.0 - fv), fu * (1.0 - fv), (1.0 - fu) * fv, fu * fv];
        // A border of two cells around each layer lies in the open.
        let row = 3 * (nu + 2 * BORDER);
        let mut before: Vec<f32> = radiance.to_array().into_iter().cycle().take(row * (nv + 2 * BORDER)).collect();
        let mut now = before.clone();
        let place = |i: usize, j: usize| (j + BORDER) * row + 3 * (i + BORDER);
        let (mut arrived, mut passed) = (vec![0.0; 3 * nu], vec![0.0; 3 * nu]);
        for k in 0..size[main] {
            let layer = if towards[main] > 0.0 { k } else { size[main] - 1 - k };
            for j in 0..nv {
                let first = layer * strides[main] + j * strides[v];
                if strides[u] == 1 {
                    passed.copy_from_slice(&density[3 * first..3 * (first + nu)]);
                } else {
                    for (i, passed) in passed.chunks_exact_mut(3).enumerate() {
                        passed.copy_from_slice(&density[3 * (first + i * strides[u])..][..3]);
                    }
                }
                let upstream = (place(0, j) as i64 + i64::from(dv) * row as i64 + 3 * i64::from(du)) as usize;
                let rows = [0, 3, row, row + 3].map(|offset| &before[upstream + offset..][..3 * nu]);
                let next = &mut now[place(0, j)..][..3 * nu];
                for k in 0..3 * nu {
                    let upstream = rows[0][k] * weights[0]
                        + rows[1][k] * weights[1]
                        + rows[2][k] * weights[2]
                        + rows[3][k] * weights[3];
                    // The cell's middle has half of the cell's strands before it.
                    let half = weaken(passed[k] * half_step);
                    arrived[k] = upstream * half;
                    next[k] = arrived[k] * half;
                }
                for (plane, factor) in sums.0.iter_mut().zip([1.0, from.x, from.y, from.z]) {
                    if strides[u] == 1 {
                        let plane = &mut plane[3 * first..3 * (first + nu)];
                        plane.iter_mut().zip(&arrived).for_each(|(sum, light)| *sum += light * factor);
                    } else {
                        for (i, light) in arrived.chunks_exact(3).enumerate() {
                            let plane = &mut plane[3 * (first + i * strides[u])..][..3];
                            plane.iter_mut().zip(light).for_each(|(sum, light)| *sum += light * factor);
                        }
                    }
                }
            }
            std::mem::swap(&mut before, &mut now);
        }
    }
}

/// Sums over directions, RGB cell by cell: of the light that arrives, and of it times the x, y and z of where it is from.
struct Sums([Vec<f32>; 4]);

impl Sums {
    fn new(cells: usize) -> Self {
        Self(std::array::from_fn(|_| vec![0.0; 3 * cells]))
    }
}

/// Whole part and fraction.
fn split(x: f32) -> (i32, f32) {
    let whole = x.floor();
    (whole as i32, x - whole)
}

/// exp(-x) for x >= 0 to about two percent, without transcendental functions: 1 / (1 + x / 8)^8 would lag behind, the
/// truncated series in the denominator does not.
fn weaken(x: f32) -> f32 {
    1.0 / (1.0 + x * (1.0 + x * (0.5 + x * (1.0 / 6.0))))
}

/// Directions spread evenly over the sphere.
fn sphere(count: usize) -> impl Iterator<Item = Vec3> {
    (0..count).map(move |i| {
        let y = 1.0 - 2.0 * (i as f32 + 0.5) / count as f32;
        let r = (1.0 - y * y).sqrt();
        let angle = i as f32 * 2.399_963;
        Vec3::new(r * angle.cos(), y, r * angle.sin())
    })
}

/// Radiance of the sky, or below the horizon of the ground.
fn radiance_from(blockers: &Blockers, from: Vec3) -> Vec3 {
    if from.y >= 0.0 {
        return sky_radiance(&blockers.sky, from);
    }
    match blockers.ground {
        // Near its own shadow the ground is darker than in the open.
        Some(ground) => ground.colour * blockers.ground_irradiance * (0.7 / PI),
        None => blockers.sky.horizon * blockers.sky.strength * 0.5,
    }
}

/// Radiance of the sky in a direction; below the horizon that of the horizon.
pub(crate) fn sky_radiance(sky: &Sky, from: Vec3) -> Vec3 {
    let up = from.y.clamp(0.0, 1.0);
    sky.horizon.lerp(sky.zenith, up.sqrt()) * sky.strength
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HairLook;

    fn grey() -> Sky {
        Sky { zenith: Vec3::ONE, horizon: Vec3::ONE, strength: 1.0, visible: true }
    }

    /// Strands that fill a slab: the light that arrives under it follows from the integral over directions.
    #[test]
    fn light_through_a_slab_follows_beer_lambert() {
        let mut ambient = Ambient { low: Vec3::ZERO, cell: 0.1, size: [40, 20, 40], ..Ambient::default() };
        let sigma = 1.5;
        let density: Vec<f32> =
            (0..3 * 40 * 20 * 40).map(|i| if (5..15).contains(&(i / 3 / 40 % 20)) { sigma } else { 0.0 }).collect();
        ambient.open = Moments::default();
        for from in [Vec3::Y, Vec3::new(0.4, 1.0, 0.0).normalize(), Vec3::new(-0.3, 1.0, 0.3).normalize()] {
            let mut sums = Sums::new(density.len() / 3);
            ambient.sweep(&density, from, Vec3::new(1.0, 2.0, 3.0), &mut sums);
            for (y, inside) in [(17, 0.0), (10, 0.45), (2, 1.0)] {
                let expected = (-sigma * inside / from.y).exp();
                let i = 3 * ambient.index(20, y, 20);
                let got = sums.0[0][i];
                assert_eq!((sums.0[0][i + 1], sums.0[2][i]), (2.0 * got, from.y * got));
                assert!((got - expected).abs() < 0.03, "{got} {expected} from {from} at {y}");
            }
        }
    }

    #[test]
    fn open_sky_has_the_irradiance_of_half_a_sphere() {
        let (curves, surfaces, grains) = (Curves::default(), Surfaces::default(), Grains::default());
        let furs = [Fur::new(HairLook::default())];
        let ground = Some(Ground { height: 0.0, colour: Vec3::ZERO, roughness: 1.0 });
        let blockers = Blockers {
            curves: &curves,
            furs: &furs,
            surfaces: &surfaces,
            grains: &grains,
            sky: grey(),
            ground,
            ground_irradiance: Vec3::ZERO,
        };
        let mut ambient = Ambient::default();
        ambient.build(&blockers, Vec3::ZERO, Vec3::ONE, 8, 64);
        for p in [Vec3::splat(0.5), Vec3::splat(9.0), Vec3::NAN] {
            let up = ambient.at(p).irradiance(Vec3::Y);
            assert!((up.x - PI).abs() < 0.1, "{up}");
            assert!(ambient.at(p).irradiance(Vec3::NEG_Y).x < 0.1);
        }
    }
}
