//! The capsules of a block of cells, and which of them meet.
//!
//! In every cell all are held against all, in single precision with a margin: first whether the lines of their axes come within reach, which says no to
//! most, then, for those that are left, the axes themselves and whether it is this cell that they meet in. What remains is decided in double
//! precision.

use super::search::{Capsule, Cells, LOCAL, Piece, meeting_point};
use glam::{DVec3, Vec3};
use wide::{f32x8, u32x8};

/// Pairs that are gathered before they are looked at closely.
const FULL: usize = 4096;
/// Squared sine of the angle of two axes from which on single precision knows the direction across both and where they meet, up to the margin of
/// the radii.
const SKEW: f32 = 1e-5;

/// The capsules of a block, sorted by cell, side by side.
#[derive(Debug, Default)]
pub struct Crowd {
    entries: Vec<u64>,
    /// Where each cell begins, and the end.
    starts: Vec<u32>,
    indices: Vec<u32>,
    /// Centre relative to `origin`, half axis, radius, and the squared length of the half axis; eight more than there are capsules.
    rows: Vec<[f32; 8]>,
    origin: DVec3,
    near: Near,
}

impl Crowd {
    /// Collects a block from all pieces and sorts it by cell; false if nobody is there to meet.
    pub fn take(&mut self, pieces: &[Piece], block: usize, capsules: &[Capsule]) -> bool {
        const CELLS: usize = 1 << (3 * LOCAL);
        let Self { entries, starts, indices, rows, origin, .. } = self;
        entries.clear();
        for piece in pieces {
            entries.extend_from_slice(piece.in_block(block));
        }
        if entries.len() < 2 {
            return false;
        }
        let cell_of = |entry: u64| (entry >> 32) as usize & (CELLS - 1);
        starts.clear();
        starts.resize(CELLS + 1, 0);
        for &entry in &*entries {
            starts[cell_of(entry) + 1] += 1;
        }
        for cell in 0..CELLS {
            starts[cell + 1] += starts[cell];
        }
        let count = entries.len();
        indices.resize(count, 0);
        // Eight at a time may reach beyond the end.
        rows.resize(count + 8, [0.0; 8]);
        *origin = capsules[entries[0] as u32 as usize].centre;
        let (mut last, mut row) = (u32::MAX, [0.0; 8]);
        for &entry in &*entries {
            let at = &mut starts[cell_of(entry)];
            let k = *at as usize;
            *at += 1;
            // The cells of a capsule follow each other.
            if entry as u32 != last {
                last = entry as u32;
                row = row_of(&capsules[last as usize], *origin);
            }
            indices[k] = last;
            rows[k] = row;
        }
        // Every start has moved on to the next cell's.
        starts.rotate_right(1);
        starts[0] = 0;
        true
    }

    /// Adds every pair that meets in this block to `found`.
    pub fn look_through(&mut self, cells: &Cells, block: usize, capsules: &[Capsule], found: &mut Vec<[u32; 2]>) {
        let half = if cells.lowest.is_some() { (0.5 / cells.inverse) as f32 } else { f32::INFINITY };
        let mut near = std::mem::take(&mut self.near);
        for cell in 0..self.starts.len() - 1 {
            let (from, to) = (self.starts[cell] as usize, self.starts[cell + 1] as usize);
            if to < from + 2 {
                continue;
            }
            let key = (block << (3 * LOCAL) | cell) as u64;
            let middle = cells.middle(block, cell).map_or(Vec3::ZERO, |middle| (middle - self.origin).as_vec3());
            // Long capsules come to a cell from several periods of the blocks: once is enough.
            let again = |k: usize| k > from && self.indices[k] == self.indices[k - 1];
            let mut look = |near: &mut Near| {
                self.touching(near, middle, half, |i, j| {
                    let (first, second) = (self.indices[i], self.indices[j]);
                    if second != first + 1
                        && !again(i)
                        && !again(j)
                        && meeting_point(&capsules[first as usize], &capsules[second as usize])
                            .is_some_and(|point| cells.key(cells.cell_of(point)) == key)
                    {
                        found.push([first, second]);
                    }
                });
            };
            for eight in (from..to).step_by(8) {
                self.line_up(from, eight, to, &mut near);
                if near.count >= FULL {
                    look(&mut near);
                }
            }
            look(&mut near);
        }
        self.near = near;
    }

    /// Takes note of the capsules from `eight` on, eight at the most and up to `end`, that may be within reach of one before them, from
    /// `begin` on: the lines of their axes are, or are nearly parallel. A capsule and the next one in the same strand, which are neighbours here,
    /// are passed over.
    #[inline]
    fn line_up(&self, begin: usize, eight: usize, end: usize, near: &mut Near) {
        let whole = if end - eight < 8 { (1_u32 << (end - eight)) - 1 } else { 0xff };
        let last = (eight + 7).min(end - 1);
        let [dx, dy, dz, kx, ky, kz, reach, other] = self.eight(|k| eight + k);
        near.reserve(8 * (last - begin));
        for i in begin..last {
            let [cx, cy, cz, hx, hy, hz, radius, square] = self.rows[i].map(f32x8::splat);
            let (dx, dy, dz, reach) = (dx - cx, dy - cy, dz - cz, reach + radius);
            // Across both axes.
            let (nx, ny, nz) = (hy.mul_sub(kz, hz * ky), hz.mul_sub(kx, hx * kz), hx.mul_sub(ky, hy * kx));
            let size = nx.mul_add(nx, ny.mul_add(ny, nz * nz));
            let apart = nx.mul_add(dx, ny.mul_add(dy, nz * dz));
            let parallel = square * f32x8::splat(SKEW);
            let close = (apart * apart).simd_le(reach * reach * size) | size.simd_le(parallel * other);
            let follows = usize::from(self.indices[i + 1] == self.indices[i] + 1);
            let passed = (i + 1 + follows).saturating_sub(eight);
            near.push(i as u32, eight as u32, close.to_bitmask() & whole & (0xff << passed));
        }
    }

    /// The rows of eight capsules, column by column.
    #[inline]
    fn eight(&self, who: impl Fn(usize) -> usize) -> [f32x8; 8] {
        let mut rows = [f32x8::ZERO; 8];
        for (k, row) in rows.iter_mut().enumerate() {
            *row = f32x8::new(self.rows[who(k)]);
        }
        f32x8::transpose(rows)
    }

    /// Calls `hit` with the noted pairs whose axes come within reach of each other, and may do so in the cell with this middle and half an edge;
    /// forgets them.
    #[inline]
    fn touching(&self, near: &mut Near, middle: Vec3, edge: f32, mut hit: impl FnMut(usize, usize)) {
        let (low, high) = (f32x8::splat(-1.0), f32x8::splat(1.0));
        let clamp = |x: f32x8| x.fast_max(low).fast_min(high);
        let (mx, my, mz) = (f32x8::splat(middle.x), f32x8::splat(middle.y), f32x8::splat(middle.z));
        let rows = near.count.div_ceil(8);
        for (row, (one, other)) in
            near.first.as_chunks::<8>().0.iter().zip(near.second.as_chunks::<8>().0).take(rows).enumerate()
        {
            let [cx, cy, cz, hx, hy, hz, radius, a] = self.eight(|k| one[k] as usize);
            let [dx, dy, dz, kx, ky, kz, reach, e] = self.eight(|k| other[k] as usize);
            let (dx, dy, dz, reach) = (dx - cx, dy - cy, dz - cz, reach + radius);
            // Minimise |d + t k - s h| over -1..1, as `closest` does: where the lines are closest s = (d x k) . n / n^2 with n = h x k.
            let cross = |[ax, ay, az]: [f32x8; 3], [bx, by, bz]: [f32x8; 3]| {
                [ay.mul_sub(bz, az * by), az.mul_sub(bx, ax * bz), ax.mul_sub(by, ay * bx)]
            };
            let [nx, ny, nz] = cross([hx, hy, hz], [kx, ky, kz]);
            let [ox, oy, oz] = cross([dx, dy, dz], [kx, ky, kz]);
            let size = nx.mul_add(nx, ny.mul_add(ny, nz * nz));
            let b = hx.mul_add(kx, hy.mul_add(ky, hz * kz));
            let c = hx.mul_add(dx, hy.mul_add(dy, hz * dz));
            let f = kx.mul_add(dx, ky.mul_add(dy, kz * dz));
            let s = clamp(ox.mul_add(nx, oy.mul_add(ny, oz * nz)) / size.fast_max(f32x8::splat(1e-30)));
            let t = clamp(s.mul_add(b, -f) / e);
            let s = clamp(t.mul_add(b, c) / a);
            let (rx, ry, rz) = (t.mul_add(kx, dx) - s * hx, t.mul_add(ky, dy) - s * hy, t.mul_add(kz, dz) - s * hz);
            let square = rx.mul_add(rx, ry.mul_add(ry, rz * rz));
            // The point they share is within reach of the one on the first axis: most pairs share more cells than the one it is in.
            let (px, py, pz) = (s.mul_add(hx, cx) - mx, s.mul_add(hy, cy) - my, s.mul_add(hz, cz) - mz);
            let far = px.abs().fast_max(py.abs()).fast_max(pz.abs());
            let here = far.simd_le(f32x8::splat(edge) + reach) | size.simd_le(f32x8::splat(SKEW) * a * e);
            let mut bits = (square.simd_le(reach * reach) & here).to_bitmask();
            if near.count - 8 * row < 8 {
                bits &= (1 << (near.count - 8 * row)) - 1;
            }
            while bits != 0 {
                let lane = bits.trailing_zeros() as usize;
                hit(one[lane] as usize, other[lane] as usize);
                bits &= bits - 1;
            }
        }
        near.count = 0;
    }
}

/// A capsule in single precision.
#[inline]
fn row_of(capsule: &Capsule, origin: DVec3) -> [f32; 8] {
    let (centre, half) = ((capsule.centre - origin).as_vec3(), capsule.half);
    // The margin covers what single precision makes of nearly parallel axes, and of places that are far away because a key stands
    // for several cells.
    let radius = capsule.radius + 1e-3 * half.abs().max_element() + 1e-6 * centre.abs().max_element();
    // A point has no direction: any will do, as long as it is a number.
    let square = half.length_squared().max(1e-30);
    [centre.x, centre.y, centre.z, half.x, half.y, half.z, radius, square]
}

/// Pairs that may be close, as places in a crowd.
#[derive(Debug, Default)]
struct Near {
    first: Vec<u32>,
    second: Vec<u32>,
    count: usize,
}

impl Near {
    /// Makes room for so many pairs and a row.
    fn reserve(&mut self, more: usize) {
        let room = (self.count + more + 8).next_multiple_of(8);
        if self.first.len() < room {
            self.first.resize(room, 0);
            self.second.resize(room, 0);
        }
    }

    /// Adds the pairs of `one` with those of eight in a row whose bits are set. Writes all eight and counts as many: which ones are set
    /// is a guess that would often be wrong.
    #[inline]
    fn push(&mut self, one: u32, first: u32, bits: u32) {
        let order = u32x8::new(SET[bits as usize & 0xff]);
        self.first[self.count..self.count + 8].copy_from_slice(&[one; 8]);
        self.second[self.count..self.count + 8].copy_from_slice((order + u32x8::splat(first)).as_array());
        self.count += bits.count_ones() as usize;
    }
}

/// Which bits of a number are set, from the lowest on.
static SET: [[u32; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut number = 0;
    while number < 256 {
        let (mut bit, mut count) = (0, 0);
        while bit < 8 {
            if number >> bit & 1 == 1 {
                table[number][count] = bit;
                count += 1;
            }
            bit += 1;
        }
        number += 1;
    }
    table
};
