//! Dart throwing in one block of space, until each of its sub-triangles is covered by a disc [Henne2013, 2.1.2].

use super::bins::Bins;
use drench_math::random::Stream;
use glam::{DVec2, DVec3};

/// A piece of a triangle of the mesh, small against the block: what darts are thrown at.
#[derive(Clone, Copy)]
pub(super) struct Patch {
    /// First corner and the edges to the other two [m].
    pub corner: DVec3,
    pub edges: [DVec3; 2],
    /// The same in the triangle's barycentric coordinates.
    pub uv: DVec2,
    pub uv_edges: [DVec2; 2],
    /// Density at the corners, 0 to 1.
    pub density: [f64; 3],
    pub triangle: u32,
    /// Area [m²].
    pub area: f64,
}

impl Patch {
    #[inline]
    fn at(&self, x: f64, y: f64) -> DVec3 {
        self.corner + self.edges[0] * x + self.edges[1] * y
    }

    #[inline]
    fn density_at(&self, x: f64, y: f64) -> f64 {
        let [a, b, c] = self.density;
        a + (b - a) * x + (c - a) * y
    }
}

/// A part of a patch with edges parallel to it: coordinates (x, y) in it are `offset + scale (x, y)` in the patch; the
/// middle one of four has a negative scale [Henne2013, 2.1.4]. Both are dyadic, so exact in `f32`.
#[derive(Clone, Copy)]
pub(super) struct SubTriangle {
    pub patch: u32,
    pub scale: f32,
    pub offset: [f32; 2],
}

/// An accepted dart.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    pub position: DVec3,
    /// Square of its disc's radius [m²].
    pub radius2: f64,
    pub triangle: u32,
    pub uv: DVec2,
}

/// What every block needs to know.
pub(super) struct Rules {
    /// Smallest radius of a disc, where the density is 1 [m].
    pub distance: f64,
    /// Largest radius, where the density is `floor` [m].
    pub reach: f64,
    /// Density below which there are no samples.
    pub floor: f64,
    /// Whether the density is 1 everywhere.
    pub even: bool,
    /// Edge of a block [m].
    pub block: f64,
    /// Lowest corner of the first block [m].
    pub origin: DVec3,
}

impl Rules {
    /// Square of the disc's radius where the density is `density` [m²].
    #[inline]
    fn radius2(&self, density: f64) -> f64 {
        if self.even { self.distance * self.distance } else { self.distance * self.distance / density.max(self.floor) }
    }
}

/// Uncovered sub-triangles whose edges are shorter than this part of the distance are dropped.
const SMALLEST: f64 = 1e-5;
const NONE: u32 = u32::MAX;

/// Buffers that one thread keeps from block to block.
#[derive(Default)]
pub(super) struct Scratch {
    bins: Bins,
    pub patches: Vec<Patch>,
    /// Samples of this block, after those of its neighbours.
    samples: Vec<Sample>,
    /// Their positions in the grid and squared radii, in distances, for the coverage test.
    discs: Vec<[f32; 4]>,
    /// The next sample in the same cell.
    next: Vec<u32>,
    /// First sample in each cell of a dense grid around the block.
    heads: Vec<u32>,
    /// Cells along an edge of that grid.
    side: usize,
    /// Lowest corner of that grid [m], and cells per metre.
    origin: DVec3,
    per_metre: f64,
}

impl Scratch {
    /// Throws darts at `self.patches` until the set is maximal on them. `low` is the block's lowest corner;
    /// `neighbours` are the samples of the blocks around it.
    pub fn fill<'a>(
        &mut self,
        rules: &Rules,
        low: DVec3,
        neighbours: impl Iterator<Item = &'a [Sample]>,
        stream: Stream,
    ) -> Vec<Sample> {
        // Patches reach a quarter of a block out of it, and discs `reach` further.
        let halo = 0.25 * rules.block + rules.reach;
        self.start_grid(low - halo, rules.block + 2.0 * halo, rules.distance);
        for sample in neighbours.flatten() {
            let p = sample.position - self.origin;
            if p.min_element() > 0.0 && p.max_element() < rules.block + 2.0 * halo {
                self.insert(*sample);
            }
        }
        let foreign = self.samples.len();

        let largest = self.patches.iter().map(|patch| patch.area).fold(0.0, f64::max);
        let mut bins = std::mem::take(&mut self.bins);
        bins.reset(largest);
        for (index, patch) in self.patches.iter().enumerate() {
            bins.push(SubTriangle { patch: index as u32, scale: 1.0, offset: [0.0; 2] }, patch.area);
        }
        let mut counter = 0;
        let mut uniform = || {
            counter += 1;
            stream.uniform(counter)
        };
        while let Some(item) = bins.draw(&mut uniform) {
            self.throw_dart(rules, item, &mut bins, &mut uniform);
        }
        self.bins = bins;
        self.samples[foreign..].to_vec()
    }

    fn throw_dart(&mut self, rules: &Rules, item: SubTriangle, bins: &mut Bins, uniform: &mut impl FnMut() -> f64) {
        let patch = self.patches[item.patch as usize];
        let (s, [ox, oy]) = (f64::from(item.scale), item.offset.map(f64::from));
        let densest = if rules.even {
            1.0
        } else {
            patch.density_at(ox, oy).max(patch.density_at(ox + s, oy)).max(patch.density_at(ox, oy + s))
        };
        if densest < rules.floor {
            return; // hairless
        }
        let (e1, e2) = (patch.edges[0] * s, patch.edges[1] * s);
        let points = self.outline(patch.at(ox, oy), e1, e2);

        // Uniform on the triangle. The source prints v = a sqrt(b), which is not [Henne2013, 2.1.1].
        let root = uniform().sqrt();
        let (x, y) = (1.0 - root, uniform() * root);
        let (x, y) = (ox + s * x, oy + s * y);
        let dart = patch.at(x, y);
        let density = if rules.even { 1.0 } else { patch.density_at(x, y) };
        let dart_radius2 = rules.radius2(density);
        // The smallest radius in the sub-triangle: a sample that covers its corners with this covers all of it.
        let least_radius2 = (rules.radius2(densest) * self.per_metre * self.per_metre) as f32;
        let size2 = e1.length_squared().max(e2.length_squared()).max((e1 - e2).length_squared());
        // No sample farther from the dart than this covers a part of the sub-triangle.
        let relevant2 = (dart_radius2.sqrt() + size2.sqrt()).powi(2);

        let mut free = density >= rules.floor;
        let mut covered = 0;
        self.near(dart, dart_radius2, |index| {
            let sample = &self.samples[index];
            let distance2 = sample.position.distance_squared(dart);
            free &= distance2 >= dart_radius2.min(sample.radius2);
            if distance2 < relevant2 {
                covered |= covered_parts(&points, &self.discs[index], least_radius2);
            }
            covered & WHOLE == 0
        });
        if covered & WHOLE != 0 {
            return;
        }
        if free {
            let uv = patch.uv + patch.uv_edges[0] * x + patch.uv_edges[1] * y;
            self.insert(Sample { position: dart, radius2: dart_radius2, triangle: patch.triangle, uv });
            covered |= covered_parts(&points, &self.discs[self.discs.len() - 1], least_radius2);
            if covered & WHOLE != 0 {
                return;
            }
        }
        if size2 < SMALLEST * SMALLEST * rules.distance * rules.distance {
            return;
        }
        let half = 0.5 * item.scale;
        let area = patch.area * f64::from(half * half);
        let [x, y] = item.offset;
        let parts = [(half, [x, y]), (half, [x + half, y]), (half, [x, y + half]), (-half, [x + half, y + half])];
        for (i, (scale, offset)) in parts.into_iter().enumerate() {
            if covered & 1 << i == 0 {
                bins.push(SubTriangle { patch: item.patch, scale, offset }, area);
            }
        }
    }

    /// Corners 0, 1, 2 of a sub-triangle and the middles of its edges 01, 12, 20, in the grid and in distances.
    ///
    /// Coverage may be tested in `f32`: its rounding opens gaps far narrower than [`SMALLEST`].
    #[inline]
    fn outline(&self, corner: DVec3, e1: DVec3, e2: DVec3) -> Outline {
        let p = ((corner - self.origin) * self.per_metre).as_vec3();
        let (e1, e2) = ((e1 * self.per_metre).as_vec3(), (e2 * self.per_metre).as_vec3());
        let axis = |p: f32, a: f32, b: f32| [p, p + a, p + b, p + 0.5 * a, p + 0.5 * (a + b), p + 0.5 * b, p, p];
        [axis(p.x, e1.x, e2.x), axis(p.y, e1.y, e2.y), axis(p.z, e1.z, e2.z)]
    }

    fn start_grid(&mut self, origin: DVec3, size: f64, cell: f64) {
        self.origin = origin;
        self.per_metre = 1.0 / cell;
        self.side = (size / cell).ceil() as usize + 1;
        self.heads.clear();
        self.heads.resize(self.side.pow(3), NONE);
        self.samples.clear();
        self.discs.clear();
        self.next.clear();
    }

    fn insert(&mut self, sample: Sample) {
        let local = (sample.position - self.origin) * self.per_metre;
        let radius2 = sample.radius2 * self.per_metre * self.per_metre;
        self.discs.push([local.x as f32, local.y as f32, local.z as f32, radius2 as f32]);
        let cell = local.as_usizevec3();
        let head = &mut self.heads[(cell.z * self.side + cell.y) * self.side + cell.x];
        self.next.push(*head);
        *head = self.samples.len() as u32;
        self.samples.push(sample);
    }

    /// Visits at least the samples whose distance from `p` is below the radius, until `visit` returns false.
    #[inline]
    fn near(&self, p: DVec3, radius2: f64, mut visit: impl FnMut(usize) -> bool) {
        let local = (p - self.origin) * self.per_metre;
        let reach = radius2.sqrt() * self.per_metre;
        let low = (local - reach).max(DVec3::ZERO).as_usizevec3();
        let high = (local + reach).as_usizevec3().min(glam::USizeVec3::splat(self.side - 1));
        for z in low.z..=high.z {
            for y in low.y..=high.y {
                let row = (z * self.side + y) * self.side;
                for &head in &self.heads[row + low.x..=row + high.x] {
                    let mut index = head;
                    while index != NONE {
                        if !visit(index as usize) {
                            return;
                        }
                        index = self.next[index as usize];
                    }
                }
            }
        }
    }
}

/// Six points by coordinate, padded to the width of a vector register.
type Outline = [[f32; 8]; 3];

const WHOLE: u32 = 16;

/// Which of the four parts lie inside the disc (bits 0 to 3), and whether all of the sub-triangle does (bit 4).
#[inline]
fn covered_parts([x, y, z]: &Outline, disc: &[f32; 4], radius2: f32) -> u32 {
    let radius2 = radius2.min(disc[3]);
    let mut inside = 0u32;
    for i in 0..8 {
        let (dx, dy, dz) = (x[i] - disc[0], y[i] - disc[1], z[i] - disc[2]);
        inside |= u32::from(dx * dx + dy * dy + dz * dz < radius2) << i;
    }
    // Points of the four parts and of the whole.
    [0b10_1001, 0b01_1010, 0b11_0100, 0b11_1000, 0b00_0111]
        .iter()
        .enumerate()
        .map(|(i, &part)| u32::from(inside & part == part) << i)
        .sum()
}
