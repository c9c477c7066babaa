//! The capsules of a block of cells, and which of them meet.
//!
//! In every cell all are held against all, in single precision with a margin: first whether the lines of their axes come within reach, which says no to
//! nineteen of twenty, and whether they share a layer of the cell in each direction, which says no to two thirds of the rest: lines may come close
//! outside of it. Then, for those that are left, the axes themselves and whether it is this cell that they meet in.

use super::search::{LOCAL, Member, Piece};
use wide::{f32x8, i32x8, u32x8};

/// Pairs that are gathered before they are looked at closely.
const FULL: usize = 4096;
/// Squared sine of the angle of two axes from which on single precision knows the direction across both and where they meet, up to the margin of
/// the radii.
const SKEW: f32 = 1e-5;
/// More than single precision gets wrong of the squared sine.
const ROUNDING: f32 = 2e-6;
/// More than single precision gets wrong of the distance of two lines times the sine of their angle, in cells, with centres up to `FAR` cells from the middle
/// of the block.
const BLUR: f32 = 5e-5;
const FAR: f32 = 16.0;
/// (x + y)^2 <= (1 + d) x^2 + (1 + 1 / d) y^2: how much of a margin the distance of lines gets for the sake of its blur.
const WIDER: f32 = 0.1;
/// Layers that a cell is divided into in each direction are bits of a number, one direction after the other, each with one more bit for what is
/// carried over.
const FINE: u32 = 3;
const DIRECTION: u32 = (1 << FINE) + 1;
const CARRY: u32 = (1 | 1 << DIRECTION | 1 << (2 * DIRECTION)) << (1 << FINE);
const LAYERS: u32 = CARRY - (CARRY >> (1 << FINE));
/// Cells of a block.
const CELLS: usize = 1 << (3 * LOCAL);

/// The capsules of a block, sorted by cell, side by side.
#[derive(Debug, Default)]
pub struct Crowd {
    /// Every cell of every member, one member after the other.
    entries: Vec<Entry>,
    /// Where each cell begins, and the end.
    starts: Vec<u32>,
    /// Who is in a cell, and which one it is; eight more than there are.
    places: Vec<[u32; 2]>,
    /// Where each is in its cell.
    extents: Vec<u32>,
    /// The members. One that does not follow the one before it on its strand leaves a gap, so that neighbours on a strand are known by their numbers.
    members: Vec<Member>,
    /// The lines that the members' axes lie on: direction u, moment c x u about the middle of the block, and twice the squared radius; counted in
    /// cells.
    lines: Vec<[f32; 8]>,
    /// Those of one cell, close together; eight more than there are.
    lined_up: Vec<[f32; 8]>,
    near: Near,
}

/// A member in a cell.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    member: u32,
    cell: u32,
    /// The layers of the cell that it is in.
    extent: u32,
}

impl Crowd {
    /// Collects a block from all pieces and sorts it by cell; false if nobody is there to meet.
    pub fn take(&mut self, pieces: &[Piece], block: usize) -> bool {
        let Self { entries, starts, places, extents, members, lines, .. } = self;
        members.clear();
        lines.clear();
        let (mut next, mut count) = (0, 0);
        for member in pieces.iter().flat_map(|piece| piece.in_block(block)) {
            if member.index != next {
                members.push(Member::default());
            }
            next = member.index + 1;
            if entries.len() < count + CELLS + 2 {
                entries.resize(2 * (count + CELLS), Entry::default());
            }
            count += cells_of(member, members.len() as u32, &mut entries[count..]);
            members.push(*member);
        }
        if count < 2 {
            return false;
        }
        let entries = &entries[..count];
        starts.clear();
        starts.resize(CELLS + 1, 0);
        entries.iter().for_each(|entry| starts[entry.cell as usize + 1] += 1);
        // Apart from the loop above, so that one root does not wait for the other.
        lines.extend(members.iter().map(line_of));
        for cell in 0..CELLS {
            starts[cell + 1] += starts[cell];
        }
        places.clear();
        places.resize(count + 8, [0; 2]);
        extents.resize(count + 8, 0);
        for &Entry { member, cell, extent } in entries {
            let at = starts[cell as usize] as usize;
            starts[cell as usize] += 1;
            places[at] = [member, cell];
            extents[at] = extent;
        }
        // Every start has moved on to the next cell's.
        starts.rotate_right(1);
        starts[0] = 0;
        true
    }

    /// Adds every pair that may meet in this block to `found`.
    pub fn look_through(&mut self, found: &mut Vec<[u32; 2]>) {
        let mut near = std::mem::take(&mut self.near);
        for cell in self.starts.windows(2) {
            let (from, to) = (cell[0] as usize, cell[1] as usize);
            if to < from + 2 {
                continue;
            }
            self.lined_up.clear();
            self.lined_up.extend(self.places[from..to + 8].iter().map(|&[member, _]| self.lines[member as usize]));
            for eight in (from..to).step_by(8) {
                self.line_up(from, eight, to, &mut near);
                if near.count >= FULL {
                    self.touching(&mut near, found);
                }
            }
        }
        self.touching(&mut near, found);
        self.near = near;
    }

    /// Takes note of the capsules from `eight` on, eight at the most and up to `end`, that may be within reach of one before them, from
    /// `begin` on: the lines of their axes are, or are nearly parallel. A capsule and the next one in the same strand, which are neighbours here,
    /// are passed over.
    #[inline]
    fn line_up(&self, begin: usize, eight: usize, end: usize, near: &mut Near) {
        let whole = if end - eight < 8 { (1_u32 << (end - eight)) - 1 } else { 0xff };
        let last = (eight + 7).min(end - 1);
        let [vx, vy, vz, nx, ny, nz, thick, _] =
            f32x8::transpose(std::array::from_fn(|k| f32x8::new(self.lined_up[eight - begin + k])));
        let extent = u32x8::new(std::array::from_fn(|k| self.extents[eight + k]));
        let blur = f32x8::splat((1.0 + 1.0 / WIDER) * BLUR * BLUR);
        near.reserve(last - begin);
        let close = |line: &[f32; 8], own: u32| {
            let [ux, uy, uz, mx, my, mz, broad, _] = line.map(f32x8::splat);
            // (u x v) . (d - c) = -(u . (d x v) + v . (c x u)), which is the distance of the lines times the sine of their angle.
            let moment = vx.mul_add(mx, vy.mul_add(my, vz * mz));
            let apart = ux.mul_add(nx, uy.mul_add(ny, uz.mul_add(nz, moment)));
            let cosine = ux.mul_add(vx, uy.mul_add(vy, uz * vz));
            let sine = cosine.mul_neg_add(cosine, f32x8::splat(1.0 + ROUNDING));
            // (r + q)^2 <= 2 r^2 + 2 q^2, and no less where both are as thick.
            let close = (apart * apart).simd_le((thick + broad).mul_add(sine, blur));
            // A layer that both are in carries over; they share a place if one in each direction does.
            let shared = (extent & u32x8::splat(own)) + u32x8::splat(LAYERS);
            let met = (shared & u32x8::splat(CARRY)).simd_eq(u32x8::splat(CARRY));
            close.to_bitmask() & met.to_bitmask() & whole
        };
        // Those before the last one in front of the eight have no neighbour among them.
        let apart = eight.saturating_sub(1).max(begin);
        let ones = self.lined_up[..apart - begin].iter().zip(&self.extents[begin..apart]);
        for ((line, &own), i) in ones.zip(begin as u32..) {
            near.note(i, close(line, own));
        }
        for i in apart..last {
            let follows = self.places[i + 1][0] == self.places[i][0] + 1;
            let passed = (i + 1 + usize::from(follows)).saturating_sub(eight);
            near.note(i as u32, close(&self.lined_up[i - begin], self.extents[i]) & 0xff << passed);
        }
        near.unfold(eight as u32);
    }

    /// Adds the noted pairs whose axes come within reach of each other to `found`, if they may do so in the cell that they were noted in; forgets
    /// them.
    fn touching(&self, near: &mut Near, found: &mut Vec<[u32; 2]>) {
        let (low, high) = (f32x8::splat(-1.0), f32x8::splat(1.0));
        let clamp = |x: f32x8| x.fast_max(low).fast_min(high);
        let half = f32x8::splat(0.5);
        let rows = near.count.div_ceil(8);
        // The last row is filled up with someone who is there.
        near.first[near.count..8 * rows].fill(0);
        near.second[near.count..8 * rows].fill(0);
        for (row, (one, other)) in
            near.first.as_chunks::<8>().0.iter().zip(near.second.as_chunks::<8>().0).take(rows).enumerate()
        {
            let (one, other) = (one.map(|k| self.places[k as usize]), other.map(|k| self.places[k as usize]));
            let eight = |places: [[u32; 2]; 8]| {
                f32x8::transpose(places.map(|[member, _]| f32x8::new(self.members[member as usize].row())))
            };
            let [cx, cy, cz, hx, hy, hz, radius, _] = eight(one);
            let [dx, dy, dz, kx, ky, kz, reach, _] = eight(other);
            // A point has no direction: any will do, as long as it is a number.
            let square = |[x, y, z]: [f32x8; 3]| x.mul_add(x, y.mul_add(y, z * z)).fast_max(f32x8::splat(1e-30));
            let (a, e) = (square([hx, hy, hz]), square([kx, ky, kz]));
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
            let cell = i32x8::new(one.map(|[_, cell]| cell as i32));
            let off = |point: f32x8, axis: u32| {
                let corner = f32x8::from_i32x8((cell >> (axis * LOCAL)) & i32x8::splat((1 << LOCAL) - 1));
                (point - corner - half).abs()
            };
            let (px, py, pz) = (s.mul_add(hx, cx), s.mul_add(hy, cy), s.mul_add(hz, cz));
            let far = off(px, 0).fast_max(off(py, 1)).fast_max(off(pz, 2));
            let here = far.simd_le(half + reach) | size.simd_le(f32x8::splat(SKEW) * a * e);
            let mut bits = (square.simd_le(reach * reach) & here).to_bitmask();
            if near.count - 8 * row < 8 {
                bits &= (1 << (near.count - 8 * row)) - 1;
            }
            while bits != 0 {
                let lane = bits.trailing_zeros() as usize;
                let [first, second] = [one, other].map(|places| self.members[places[lane][0] as usize].index);
                if second > first + 1 {
                    found.push([first, second]);
                }
                bits &= bits - 1;
            }
        }
        near.count = 0;
    }
}

/// Writes down every cell of its block that a member passes through, and some at its corners, with the layers of the cell that it is in: slab
/// by slab across the longest side of its axis, all eight at a time. How many they are; two more may be written over.
#[inline]
fn cells_of(member: &Member, number: u32, entries: &mut [Entry]) -> usize {
    let size = member.half.abs();
    let [a, b, c] = if size.x >= size.y && size.x >= size.z {
        [0, 1, 2]
    } else if size.y >= size.z {
        [1, 2, 0]
    } else {
        [2, 0, 1]
    };
    let (centre, half, radius) = (member.centre.to_array(), member.half.to_array(), member.radius);
    let reach = half[a].abs();
    let slabs = f32x8::new([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]) - f32x8::splat(centre[a]);
    // The part of the axis whose surroundings may lie in each slab, from the centre.
    let from = (slabs - f32x8::splat(radius)).fast_max(f32x8::splat(-reach));
    let to = (slabs + f32x8::splat(1.0 + radius)).fast_min(f32x8::splat(reach));
    // Counted in layers, from the lowest cell. Beyond the least and the most is as good as just beyond; just below 0 is as good as 0.
    let layers = |low: f32x8, high: f32x8, least: f32, most: f32| {
        let fine = f32x8::splat((1 << FINE) as f32);
        let number = |x: f32x8, least: f32, most: f32| {
            (x * fine).fast_max(f32x8::splat(least)).fast_min(f32x8::splat(most)).fast_trunc_int().to_array()
        };
        (number(low, 0.0, most + 1.0), number(high, least, most))
    };
    let radius = f32x8::splat(radius);
    let span = |k: usize| {
        let slope = f32x8::splat(if reach > 0.0 { half[k] / half[a] } else { 0.0 });
        let centre = f32x8::splat(centre[k]);
        let (one, other) = (slope.mul_add(from, centre), slope.mul_add(to, centre));
        layers(one.fast_min(other) - radius, one.fast_max(other) + radius, -1.0, 63.0)
    };
    let ((b0, b1), (c0, c1)) = (span(b), span(c));
    let (a0, a1) = layers(from - slabs - radius, to - slabs + radius, 0.0, 7.0);
    let [along, one, other] = [a, b, c].map(|axis| axis as u32 * LOCAL);
    let directions = [a, b, c].map(|axis| axis as u32 * DIRECTION);
    // All bits from one to another.
    let bits = |from: i32, to: i32| !0_u64 << from & !0 >> (63 - to);
    let mut passed = from.simd_le(to).to_bitmask();
    let mut count = 0;
    while passed != 0 {
        let slab = passed.trailing_zeros() as usize;
        passed &= passed - 1;
        let (y0, z0) = (b0[slab] >> FINE, c0[slab] >> FINE);
        let (wide, high) = ((b1[slab] >> FINE) - y0, (c1[slab] >> FINE) - z0);
        if (wide | high) < 0 {
            continue;
        }
        let corner = (slab << along) as i32 + (y0 << one) + (z0 << other);
        let own = (bits(a0[slab].min(7), a1[slab]) as u32) << directions[0];
        let (across, up) = (bits(b0[slab], b1[slab]) >> (y0 << FINE), bits(c0[slab], c1[slab]) >> (z0 << FINE));
        let layer = |all: u64, cell: i32, k: usize| ((all >> (cell << FINE)) as u32 & 0xff) << directions[k];
        let place = |y: i32, z: i32| Entry {
            member: number,
            cell: (corner + (y << one) + (z << other)) as u32,
            extent: own | layer(across, y, 1) | layer(up, z, 2),
        };
        if (wide | high) <= 1 {
            // One, two or four: which of them is a guess that would often be wrong, so all are written and as many counted.
            entries[count..count + 2].copy_from_slice(&[place(0, 0), place(1, 0)]);
            count += 1 + wide as usize;
            entries[count..count + 2].copy_from_slice(&[place(0, 1), place(1, 1)]);
            count += ((1 + wide) * high) as usize;
            continue;
        }
        for z in 0..=high {
            for y in 0..=wide {
                entries[count] = place(y, z);
                count += 1;
            }
        }
    }
    count
}

/// The line of a member's axis.
#[inline]
fn line_of(member: &Member) -> [f32; 8] {
    let Member { centre, half, radius, .. } = *member;
    let from_middle = centre - (1 << (LOCAL - 1)) as f32;
    // A point has no direction, and is near everything; so is one whose moment is not known well.
    let known = if from_middle.abs().max_element() < FAR { 1.0 } else { 0.0 };
    let along = half * (known / half.length_squared().max(1e-30).sqrt());
    let moment = from_middle.cross(along);
    let thick = 2.0 * radius * radius * (1.0 + WIDER);
    [along.x, along.y, along.z, moment.x, moment.y, moment.z, thick, 0.0]
}

/// Pairs that may be close, as places in a crowd.
#[derive(Debug, Default)]
struct Near {
    first: Vec<u32>,
    second: Vec<u32>,
    count: usize,
    /// One, and which of eight in a row it is near to, bit by bit.
    noted: Vec<[u32; 2]>,
    notes: usize,
}

impl Near {
    /// Makes room for so many notes and their pairs.
    fn reserve(&mut self, notes: usize) {
        let room = (self.count + 8 * notes + 8).next_multiple_of(8);
        if self.first.len() < room {
            self.first.resize(room, 0);
            self.second.resize(room, 0);
        }
        if self.noted.len() <= notes {
            self.noted.resize(notes + 1, [0; 2]);
        }
    }

    /// Takes note of one and those of eight in a row whose bits are set. Writes anyway and counts if there are any: whether there are is a
    /// guess that would often be wrong.
    #[inline]
    fn note(&mut self, one: u32, bits: u32) {
        self.noted[self.notes] = [one, bits];
        self.notes += usize::from(bits != 0);
    }

    /// Makes pairs of the notes on the eight from `first` on. Writes eight and counts as many as there are.
    #[inline]
    fn unfold(&mut self, first: u32) {
        for &[one, bits] in &self.noted[..self.notes] {
            let order = u32x8::new(SET[bits as usize & 0xff]);
            self.first[self.count..self.count + 8].copy_from_slice(&[one; 8]);
            self.second[self.count..self.count + 8].copy_from_slice((order + u32x8::splat(first)).as_array());
            self.count += bits.count_ones() as usize;
        }
        self.notes = 0;
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
