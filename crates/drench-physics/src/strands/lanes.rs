//! Four strands at a time: a strand is serial from root to tip, so the width of the processor is used across strands.
//!
//! A [`Batch`] is four neighbouring strands walked in step. Lanes of shorter strands repeat their last vertex and are
//! not written, so a strand's result never depends on its neighbours in the batch.

use glam::{DVec3, Vec3};
use std::ops::{Add, Mul, Sub};
use wide::f64x4;

/// Strands in a batch.
pub(crate) const LANES: usize = 4;
/// One number of each strand of a batch.
pub(crate) type Lane = f64x4;

/// One vector of each strand of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane3 {
    pub x: Lane,
    pub y: Lane,
    pub z: Lane,
}

impl Lane3 {
    pub const ZERO: Self = Self { x: Lane::ZERO, y: Lane::ZERO, z: Lane::ZERO };

    #[inline(always)]
    pub fn splat(v: DVec3) -> Self {
        Self { x: Lane::splat(v.x), y: Lane::splat(v.y), z: Lane::splat(v.z) }
    }

    #[inline(always)]
    pub fn new(v: [DVec3; LANES]) -> Self {
        let [a, b, c, d] = v;
        Self {
            x: Lane::new([a.x, b.x, c.x, d.x]),
            y: Lane::new([a.y, b.y, c.y, d.y]),
            z: Lane::new([a.z, b.z, c.z, d.z]),
        }
    }

    #[inline(always)]
    pub fn lane(&self, lane: usize) -> DVec3 {
        DVec3::new(self.x.as_array()[lane], self.y.as_array()[lane], self.z.as_array()[lane])
    }

    #[inline(always)]
    pub fn set_lane(&mut self, lane: usize, v: DVec3) {
        self.x.as_mut_array()[lane] = v.x;
        self.y.as_mut_array()[lane] = v.y;
        self.z.as_mut_array()[lane] = v.z;
    }

    #[inline(always)]
    pub fn to_array(self) -> [DVec3; LANES] {
        let (x, y, z) = (self.x.to_array(), self.y.to_array(), self.z.to_array());
        std::array::from_fn(|lane| DVec3::new(x[lane], y[lane], z[lane]))
    }

    #[inline(always)]
    pub fn dot(self, o: Self) -> Lane {
        self.x.mul_add(o.x, self.y.mul_add(o.y, self.z * o.z))
    }

    #[inline(always)]
    pub fn cross(self, o: Self) -> Self {
        Self {
            x: self.y.mul_sub(o.z, self.z * o.y),
            y: self.z.mul_sub(o.x, self.x * o.z),
            z: self.x.mul_sub(o.y, self.y * o.x),
        }
    }

    /// self * s + o
    #[inline(always)]
    pub fn mul_add(self, s: Lane, o: Self) -> Self {
        Self { x: self.x.mul_add(s, o.x), y: self.y.mul_add(s, o.y), z: self.z.mul_add(s, o.z) }
    }
}

impl Add for Lane3 {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Self { x: self.x + o.x, y: self.y + o.y, z: self.z + o.z }
    }
}

impl Sub for Lane3 {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Self { x: self.x - o.x, y: self.y - o.y, z: self.z - o.z }
    }
}

impl Mul<Lane> for Lane3 {
    type Output = Self;
    #[inline(always)]
    fn mul(self, s: Lane) -> Self {
        Self { x: self.x * s, y: self.y * s, z: self.z * s }
    }
}

/// `v` at unit length; any short vector if it has none.
#[inline(always)]
pub(crate) fn unit(v: Lane3) -> Lane3 {
    v * (Lane::ONE / v.dot(v).fast_max(Lane::splat(1e-24)).sqrt())
}

/// Four neighbouring strands: where each begins and ends in the arrays, and how many vertices the longest has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch {
    first: [usize; LANES],
    last: [usize; LANES],
    count: [usize; LANES],
    /// Vertices of the longest strand.
    pub longest: usize,
    /// Vertices that every lane has; 0 if a lane is idle.
    shortest: usize,
    /// Index of the first strand.
    pub strand: usize,
    /// Strands in this batch; the rest of the lanes repeat the first and are never written.
    pub strands: usize,
}

impl Batch {
    /// The strands from `strand` on, at most four and none past `end`.
    #[inline(always)]
    pub fn new(offsets: &[u32], strand: usize, end: usize) -> Self {
        let strands = (end - strand).min(LANES);
        let mut batch =
            Self { first: [0; 4], last: [0; 4], count: [0; 4], longest: 0, shortest: usize::MAX, strand, strands };
        for lane in 0..LANES {
            let source = if lane < strands { strand + lane } else { strand };
            let (from, to) = (offsets[source] as usize, offsets[source + 1] as usize);
            batch.first[lane] = from;
            batch.last[lane] = to - 1;
            batch.count[lane] = if lane < strands { to - from } else { 0 };
            batch.longest = batch.longest.max(batch.count[lane]);
            batch.shortest = batch.shortest.min(batch.count[lane]);
        }
        batch
    }

    /// Array index of vertex `i` of a lane; its last vertex if the strand is shorter.
    #[inline(always)]
    pub fn at(&self, lane: usize, i: usize) -> usize {
        (self.first[lane] + i).min(self.last[lane])
    }

    /// Whether the lane's strand has a vertex `i`.
    #[inline(always)]
    pub fn has(&self, lane: usize, i: usize) -> bool {
        i < self.count[lane]
    }

    /// Index of the last vertex of the lane's strand, counted from its root.
    #[inline(always)]
    pub fn tip(&self, lane: usize) -> usize {
        self.last[lane] - self.first[lane]
    }

    /// The strand a lane works on (lanes past the end repeat the first).
    #[inline(always)]
    pub fn strand_of(&self, lane: usize) -> usize {
        if lane < self.strands { self.strand + lane } else { self.strand }
    }

    /// 1 in the lanes that have a vertex `i`, 0 elsewhere.
    #[inline(always)]
    pub fn presence(&self, i: usize) -> Lane {
        if i < self.shortest {
            return Lane::ONE;
        }
        Lane::new(std::array::from_fn(|lane| if self.has(lane, i) { 1.0 } else { 0.0 }))
    }

    /// `value(index)` of vertex `i` in every lane. Most vertices are shared by all strands of a batch and need no
    /// clamping; the two branches are spelled out because an array of indices would go through memory.
    #[inline(always)]
    fn gather<T>(&self, i: usize, value: impl Fn(usize) -> T) -> [T; LANES] {
        if i < self.shortest {
            std::array::from_fn(|lane| value(self.first[lane] + i))
        } else {
            std::array::from_fn(|lane| value(self.at(lane, i)))
        }
    }

    #[inline(always)]
    pub fn load(&self, i: usize, base: usize, from: &[DVec3]) -> Lane3 {
        Lane3::new(self.gather(i, |at| from[at - base]))
    }

    #[inline(always)]
    pub fn load_short(&self, i: usize, base: usize, from: &[Vec3]) -> Lane3 {
        Lane3::new(self.gather(i, |at| from[at - base].as_dvec3()))
    }

    /// A value of four vertices, each found by its index.
    #[inline(always)]
    pub fn load_with(&self, i: usize, value: impl Fn(usize) -> f64) -> Lane {
        Lane::new(self.gather(i, value))
    }

    #[inline(always)]
    pub fn load_scalar(&self, i: usize, from: &[f32]) -> Lane {
        Lane::new(self.gather(i, |at| f64::from(from[at])))
    }

    #[inline(always)]
    pub fn store(&self, i: usize, base: usize, to: &mut [DVec3], value: Lane3) {
        let value = value.to_array();
        if i < self.shortest {
            for lane in 0..LANES {
                to[self.first[lane] + i - base] = value[lane];
            }
            return;
        }
        for lane in 0..LANES {
            if self.has(lane, i) {
                to[self.first[lane] + i - base] = value[lane];
            }
        }
    }
}
