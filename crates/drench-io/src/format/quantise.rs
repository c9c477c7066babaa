//! Vectors rounded to a step that is a power of two, each predicted from its predecessors along the strand.
//!
//! The grid is absolute (multiples of the step, no origin), and a multiple of a power of two is exact in `f32` up to 24
//! bits, so that rounding is idempotent: a frame that is read and written again has the same bytes. Beyond 24 bits the
//! `f32` value is a multiple of the step already. Hence the error of a coordinate is at most half a step, with no
//! further rounding.

/// How finely a kind of values is stored, relative to the largest range of a coordinate in the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precision {
    /// The step is at most the range divided by two to this power.
    pub bits: i32,
}

impl Precision {
    /// Positions: a body of 1 m is stored in steps of at most 1 um, with an error of at most half of that.
    pub const POSITION: Self = Self { bits: 20 };
    /// Velocities: they are for motion blur and exports, the simulation never reads them back.
    pub const VELOCITY: Self = Self { bits: 14 };
    /// Normals.
    pub const NORMAL: Self = Self { bits: 14 };
}

/// The binary exponent of the step for these values, or nothing if they can only be stored exactly (not finite, or of
/// a magnitude that no step fits).
pub fn step(values: &[[f32; 3]], precision: Precision) -> Option<i32> {
    let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    let mut finite = true;
    for value in values {
        for axis in 0..3 {
            low[axis] = low[axis].min(value[axis]);
            high[axis] = high[axis].max(value[axis]);
            finite &= value[axis].is_finite();
        }
    }
    if !finite || values.is_empty() {
        return None;
    }
    let range = (0..3).map(|axis| f64::from(high[axis]) - f64::from(low[axis])).fold(0.0, f64::max);
    let magnitude = (0..3).map(|axis| f64::from(high[axis].abs().max(low[axis].abs()))).fold(0.0, f64::max);
    // All equal: the magnitude stands in for the range; all zero: any step is exact.
    let scale = if range > 0.0 { range } else { magnitude };
    let wanted = if scale > 0.0 { scale.log2().floor() as i32 - precision.bits } else { 0 };
    // Rounded values must fit 31 bits with room, and the step and its inverse must be normal numbers.
    let least = if magnitude > 0.0 { magnitude.log2().floor() as i32 - 29 } else { wanted };
    let exponent = wanted.max(least);
    (-120..=100).contains(&exponent).then_some(exponent)
}

/// `2^exponent` for exponents of normal numbers.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// How a vertex is predicted: by the one before, or by going on straight from the two before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Previous = 1,
    Straight = 2,
}

/// The residuals of one block, with the order of prediction that leaves fewer bits.
///
/// `first` is the index of the block's first vertex; `offsets` are the strands, empty if the values belong to none.
pub(super) fn encode(values: &[[f32; 3]], first: usize, offsets: &[u32], exponent: i32) -> (u8, Vec<[u32; 3]>) {
    let inverse = power_of_two(-exponent);
    let rounded: Vec<[i32; 3]> =
        values.iter().map(|value| value.map(|x| (f64::from(x) * inverse).round() as i32)).collect();
    let residuals = |order: Order| {
        let mut walk = Walk::new(first, offsets);
        let mut bits = 0_u64;
        let mut residuals = Vec::with_capacity(rounded.len());
        for i in 0..rounded.len() {
            let predicted = walk.predict(&rounded[..i], order);
            let residual = [0, 1, 2].map(|axis| zigzag(rounded[i][axis].wrapping_sub(predicted[axis])));
            bits += residual.iter().map(|r| u64::from(32 - r.leading_zeros())).sum::<u64>();
            residuals.push(residual);
        }
        (bits, residuals)
    };
    let (previous_bits, previous) = residuals(Order::Previous);
    let (straight_bits, straight) = residuals(Order::Straight);
    if straight_bits < previous_bits { (Order::Straight as u8, straight) } else { (Order::Previous as u8, previous) }
}

/// The inverse of [`encode`], or nothing if the order is unknown.
pub(super) fn decode(
    order: u8,
    residuals: &[[u32; 3]],
    first: usize,
    offsets: &[u32],
    exponent: i32,
) -> Option<Vec<[f32; 3]>> {
    let order = [Order::Previous, Order::Straight].into_iter().find(|&known| known as u8 == order)?;
    let mut walk = Walk::new(first, offsets);
    let mut rounded: Vec<[i32; 3]> = Vec::with_capacity(residuals.len());
    for residual in residuals {
        let predicted = walk.predict(&rounded, order);
        rounded.push([0, 1, 2].map(|axis| predicted[axis].wrapping_add(unzigzag(residual[axis]))));
    }
    let step = power_of_two(exponent);
    Some(rounded.iter().map(|value| value.map(|x| (f64::from(x) * step) as f32)).collect())
}

/// Goes through the vertices of a block, knowing where strands begin.
struct Walk<'a> {
    /// Vertex that comes next.
    vertex: usize,
    /// Beginnings of the strands that are still to come.
    starts: std::slice::Iter<'a, u32>,
    next_start: usize,
    /// Vertices of the present strand that this block has seen.
    seen: usize,
    /// Index in the block of the last strand's first vertex.
    root: Option<usize>,
}

impl<'a> Walk<'a> {
    fn new(first: usize, offsets: &'a [u32]) -> Self {
        let passed = offsets.partition_point(|&start| (start as usize) < first);
        let mut starts = offsets[passed..].iter();
        let next_start = starts.next().map_or(usize::MAX, |&start| start as usize);
        Self { vertex: first, starts, next_start, seen: 0, root: None }
    }

    /// What the next vertex should be, from those before it in the block.
    fn predict(&mut self, before: &[[i32; 3]], order: Order) -> [i32; 3] {
        let n = before.len();
        let mut at_root = false;
        while self.next_start == self.vertex {
            // Empty strands begin at the same vertex as the next one.
            self.next_start = self.starts.next().map_or(usize::MAX, |&start| start as usize);
            at_root = true;
        }
        if at_root {
            self.seen = 0;
        }
        let predicted = match (self.seen, order) {
            // A root is near the root before it.
            (0, _) => self.root.map_or([0; 3], |root| before[root]),
            (1, _) | (_, Order::Previous) => before[n - 1],
            (_, Order::Straight) => {
                let (a, b) = (before[n - 2], before[n - 1]);
                [0, 1, 2].map(|axis| b[axis].wrapping_mul(2).wrapping_sub(a[axis]))
            }
        };
        if self.seen == 0 {
            self.root = Some(n);
        }
        self.seen += 1;
        self.vertex += 1;
        predicted
    }
}

/// Small values of either sign become small values without one.
fn zigzag(value: i32) -> u32 {
    ((value << 1) ^ (value >> 31)) as u32
}

fn unzigzag(value: u32) -> i32 {
    (value >> 1) as i32 ^ -((value & 1) as i32)
}
