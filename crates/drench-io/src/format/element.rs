//! Numbers as 32-bit lanes, and lanes as shuffled bytes.

/// What a chunk's elements are. The numbers are part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bytes = 0,
    U32 = 1,
    F32 = 2,
    F32x2 = 3,
    F32x3 = 4,
    U32x3 = 5,
}

impl Kind {
    pub(super) fn from_code(code: u8) -> Option<Self> {
        [Self::Bytes, Self::U32, Self::F32, Self::F32x2, Self::F32x3, Self::U32x3].into_iter().nth(usize::from(code))
    }
}

/// An element made of `LANES` values of 32 bits.
pub(crate) trait Element: Copy + Send + Sync + 'static {
    const KIND: Kind;
    const LANES: usize;
    /// The bits of one lane.
    fn lane(&self, lane: usize) -> u32;
    /// The element whose lanes `lane(i)` gives.
    fn from_lanes(lane: impl Fn(usize) -> u32) -> Self;
}

impl Element for u32 {
    const KIND: Kind = Kind::U32;
    const LANES: usize = 1;
    fn lane(&self, _: usize) -> u32 {
        *self
    }
    fn from_lanes(lane: impl Fn(usize) -> u32) -> Self {
        lane(0)
    }
}

impl Element for f32 {
    const KIND: Kind = Kind::F32;
    const LANES: usize = 1;
    fn lane(&self, _: usize) -> u32 {
        self.to_bits()
    }
    fn from_lanes(lane: impl Fn(usize) -> u32) -> Self {
        Self::from_bits(lane(0))
    }
}

impl Element for [f32; 2] {
    const KIND: Kind = Kind::F32x2;
    const LANES: usize = 2;
    fn lane(&self, lane: usize) -> u32 {
        self[lane].to_bits()
    }
    fn from_lanes(lane: impl Fn(usize) -> u32) -> Self {
        [0, 1].map(|i| f32::from_bits(lane(i)))
    }
}

impl Element for [f32; 3] {
    const KIND: Kind = Kind::F32x3;
    const LANES: usize = 3;
    fn lane(&self, lane: usize) -> u32 {
        self[lane].to_bits()
    }
    fn from_lanes(lane: impl Fn(usize) -> u32) -> Self {
        [0, 1, 2].map(|i| f32::from_bits(lane(i)))
    }
}

impl Element for [u32; 3] {
    const KIND: Kind = Kind::U32x3;
    const LANES: usize = 3;
    fn lane(&self, lane: usize) -> u32 {
        self[lane]
    }
    fn from_lanes(lane: impl Fn(usize) -> u32) -> Self {
        [0, 1, 2].map(lane)
    }
}

/// The bytes of `elements`: for each lane all lowest bytes, then all second bytes, ...
pub(super) fn shuffle<T: Element>(elements: &[T]) -> Vec<u8> {
    let count = elements.len();
    let mut bytes = vec![0; count * T::LANES * 4];
    for lane in 0..T::LANES {
        let (first, rest) = bytes[lane * 4 * count..(lane + 1) * 4 * count].split_at_mut(count);
        let (second, rest) = rest.split_at_mut(count);
        let (third, fourth) = rest.split_at_mut(count);
        for i in 0..count {
            [first[i], second[i], third[i], fourth[i]] = elements[i].lane(lane).to_le_bytes();
        }
    }
    bytes
}

/// The inverse of [`shuffle`], or nothing if the length does not fit.
pub(super) fn unshuffle<T: Element>(bytes: &[u8], count: usize) -> Option<Vec<T>> {
    if bytes.len() != count * T::LANES * 4 {
        return None;
    }
    let lane = |i: usize, lane: usize| {
        let at = |byte: usize| bytes[(lane * 4 + byte) * count + i];
        u32::from_le_bytes([at(0), at(1), at(2), at(3)])
    };
    Some((0..count).map(|i| T::from_lanes(|l| lane(i, l))).collect())
}

/// Shuffles plain bytes as values of `stride` bytes; what is left over at the end stays as it is.
pub(super) fn shuffle_bytes(bytes: &[u8], stride: usize) -> Vec<u8> {
    let (whole, rest) = bytes.split_at(bytes.len() / stride * stride);
    let mut shuffled = Vec::with_capacity(bytes.len());
    for byte in 0..stride {
        shuffled.extend(whole.iter().skip(byte).step_by(stride));
    }
    shuffled.extend_from_slice(rest);
    shuffled
}

/// The inverse of [`shuffle_bytes`].
pub(super) fn unshuffle_bytes(shuffled: &[u8], stride: usize) -> Vec<u8> {
    let count = shuffled.len() / stride;
    let mut bytes = Vec::with_capacity(shuffled.len());
    for i in 0..count {
        bytes.extend((0..stride).map(|byte| shuffled[byte * count + i]));
    }
    bytes.extend_from_slice(&shuffled[count * stride..]);
    bytes
}
