//! Which of a few capsules overlap: their boxes, in the order of their lower ends along the direction in which they lie farthest apart.
//!
//! A box meets only those that begin before it ends; these follow it in the order and are looked at eight at a time. Of cords that lie side by side that
//! is a handful. Entering them in cells costs more, because a cell that a thick cord passes through holds many of its segments, which are all held
//! against each other.

use super::search::{Capsule, overlap};
use glam::{DVec3, Vec3};
use wide::f32x8;

/// Working memory: the boxes around capsules.
#[derive(Debug, Default)]
pub struct Sweep {
    /// Lower and upper ends by capsule, the axis of the order first.
    boxes: Vec<[Vec3; 2]>,
    /// Lower end along the axis, as a number with the same order, and capsule.
    order: Vec<u64>,
    /// Eight boxes after the other in this order: lower ends, upper ends.
    rows: Vec<[f32x8; 6]>,
}

impl Sweep {
    /// Puts every pair of overlapping capsules in `found`, the lower index first, in ascending order; capsules that follow each other are left out.
    pub fn pairs(&mut self, capsules: &[Capsule], found: &mut Vec<[u32; 2]>) {
        found.clear();
        self.line_up(capsules);
        for (place, &key) in (1..).zip(&self.order) {
            let one = key as u32;
            let [low, high] = self.boxes[one as usize].map(|corner| corner.to_array().map(f32x8::splat));
            let mut after = 0xff << (place % 8);
            for (row, eight) in (8 * (place / 8)..).step_by(8).zip(&self.rows[place / 8..]) {
                let along = eight[0].simd_le(high[0]).to_bitmask();
                let across = eight[1].simd_le(high[1])
                    & eight[2].simd_le(high[2])
                    & eight[4].simd_ge(low[1])
                    & eight[5].simd_ge(low[2]);
                let mut bits = across.to_bitmask() & along & after;
                while bits != 0 {
                    let other = self.order[row + bits.trailing_zeros() as usize] as u32;
                    let [first, second] = [one.min(other), one.max(other)];
                    if second > first + 1 && overlap([first, second].map(|index| &capsules[index as usize])) {
                        found.push([first, second]);
                    }
                    bits &= bits - 1;
                }
                if along != 0xff {
                    break;
                }
                after = 0xff;
            }
        }
        // Contacts that are solved in turn do best along the strands.
        found.sort();
    }

    /// Sorts the boxes.
    fn line_up(&mut self, capsules: &[Capsule]) {
        let Self { boxes, order, rows } = self;
        let existing = || capsules.iter().filter(|capsule| capsule.exists());
        let (low, high) = existing().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), capsule| {
            (low.min(capsule.centre), high.max(capsule.centre))
        });
        let axis = (high - low).max_position();
        // More than single precision rounds off.
        let rounding = 1e-7 * (high - low).max_element();
        boxes.clear();
        boxes.extend(capsules.iter().map(|capsule| {
            let (centre, half) = ((capsule.centre - low).to_array(), capsule.half.to_array());
            let turned = |v: [f64; 3]| DVec3::new(v[axis], v[(axis + 1) % 3], v[(axis + 2) % 3]);
            let size = half.map(|x| f64::from(x.abs() + capsule.radius) * (1.0 + 1e-6) + rounding);
            let (centre, size) = (turned(centre), turned(size));
            [(centre - size).as_vec3(), (centre + size).as_vec3()]
        }));
        order.clear();
        let key = |(index, capsule): (u32, &Capsule)| {
            capsule.exists().then(|| u64::from(rank(boxes[index as usize][0].x)) << 32 | u64::from(index))
        };
        order.extend((0..).zip(capsules).filter_map(key));
        // Strands mostly go one way: what is in order already is only merged.
        order.sort();
        rows.clear();
        rows.extend(order.chunks(8).map(|eight| {
            // Nothing meets what is not a number.
            let mut row = [[f32::NAN; 8]; 6];
            for (lane, &key) in eight.iter().enumerate() {
                let [low, high] = boxes[key as u32 as usize];
                for (column, value) in row.iter_mut().zip([low.x, low.y, low.z, high.x, high.y, high.z]) {
                    column[lane] = value;
                }
            }
            row.map(f32x8::new)
        }));
    }

    /// Bytes held now.
    pub fn memory(&self) -> usize {
        self.boxes.capacity() * size_of::<[Vec3; 2]>() + self.order.capacity() * 8 + self.rows.capacity() * 192
    }
}

/// A number that is larger for a larger one.
fn rank(x: f32) -> u32 {
    let bits = x.to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}
