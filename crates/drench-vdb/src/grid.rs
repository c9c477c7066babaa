//! A sparse grid: leaves of 8^3 voxels where something is.

use crate::VdbError;
use std::collections::{BTreeMap, BTreeSet};

/// Voxels along the side of a leaf.
pub(crate) const SIDE: i32 = 8;
/// Voxels of a leaf.
pub(crate) const LEAF: usize = 512;
/// Most leaves of a grid: a gigabyte of numbers.
const MOST_LEAVES: usize = 1 << 19;
/// Most leaves in the box around one point or triangle, which need not all exist.
const MOST_LOOKED_AT: f64 = 3e7;
/// Farthest leaf from the origin [leaves].
const FARTHEST: i32 = 1 << 26;

/// What a grid's numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Distance to a surface [m], negative inside, known within a narrow band.
    LevelSet,
    /// How much there is; zero where nothing is.
    Fog,
    /// Anything else, such as velocities.
    Plain,
}

/// A number or a vector.
pub trait Value: Copy + PartialEq {
    /// Name of the type of tree.
    const TREE: &'static str;
    /// Name of the kind of vector, if it is one.
    const VECTOR: Option<&'static str>;
    /// Zero.
    const ZERO: Self;
    /// `self + other * weight`.
    fn plus(self, other: Self, weight: f32) -> Self;
    /// `self * factor`.
    fn times(self, factor: f32) -> Self;
    /// Whether all numbers are finite.
    fn is_finite(self) -> bool;
    /// Appends the bytes, little end first.
    fn append_to(self, out: &mut Vec<u8>);
}

impl Value for f32 {
    const TREE: &'static str = "Tree_float_5_4_3";
    const VECTOR: Option<&'static str> = None;
    const ZERO: Self = 0.0;

    fn plus(self, other: Self, weight: f32) -> Self {
        self + other * weight
    }

    fn times(self, factor: f32) -> Self {
        self * factor
    }

    fn is_finite(self) -> bool {
        f32::is_finite(self)
    }

    fn append_to(self, out: &mut Vec<u8>) {
        out.extend(self.to_le_bytes());
    }
}

impl Value for [f32; 3] {
    const TREE: &'static str = "Tree_vec3s_5_4_3";
    // Turns and stretches with the volume, as velocities do.
    const VECTOR: Option<&'static str> = Some("contravariant relative");
    const ZERO: Self = [0.0; 3];

    fn plus(self, other: Self, weight: f32) -> Self {
        [0, 1, 2].map(|axis| self[axis] + other[axis] * weight)
    }

    fn times(self, factor: f32) -> Self {
        self.map(|x| x * factor)
    }

    fn is_finite(self) -> bool {
        self.iter().all(|x| x.is_finite())
    }

    fn append_to(self, out: &mut Vec<u8>) {
        self.iter().for_each(|x| out.extend(x.to_le_bytes()));
    }
}

/// A leaf: its values, x slowest, and which of them count.
#[derive(Clone, Debug)]
pub(crate) struct Leaf<T> {
    pub active: [u64; LEAF / 64],
    pub values: Box<[T; LEAF]>,
}

impl<T> Leaf<T> {
    pub fn is_active(&self, place: usize) -> bool {
        self.active[place / 64] >> (place % 64) & 1 == 1
    }

    pub fn activate(&mut self, place: usize) {
        self.active[place / 64] |= 1 << (place % 64);
    }
}

/// A sparse grid.
#[derive(Clone, Debug)]
pub struct Grid<T> {
    /// Name by which programs find the grid.
    pub name: String,
    /// What its numbers are.
    pub class: Class,
    /// Side of a voxel [m].
    pub voxel: f64,
    /// Value where nothing is.
    pub background: T,
    /// Leaves by their number along each axis.
    pub(crate) leaves: BTreeMap<[i32; 3], Leaf<T>>,
    /// Blocks of the size of a leaf that lie wholly inside a level set: their value is the background's negative.
    pub(crate) inside: BTreeSet<[i32; 3]>,
}

impl<T: Value> Grid<T> {
    /// A grid with nothing in it.
    pub fn new(name: &str, class: Class, voxel: f64, background: T) -> Result<Self, VdbError> {
        if !(voxel > 0.0 && voxel.is_finite()) {
            return Err(VdbError::Voxel(voxel));
        }
        let (leaves, inside) = (BTreeMap::new(), BTreeSet::new());
        Ok(Self { name: name.to_owned(), class, voxel, background, leaves, inside })
    }

    /// The leaf at a place, made if there is none.
    pub(crate) fn leaf(&mut self, at: [i32; 3]) -> Result<&mut Leaf<T>, VdbError> {
        let is_new = !self.leaves.contains_key(&at);
        if is_new && (self.leaves.len() >= MOST_LEAVES || at.iter().any(|x| x.abs() > FARTHEST)) {
            return Err(self.too_large());
        }
        let background = self.background;
        Ok(self
            .leaves
            .entry(at)
            .or_insert_with(|| Leaf { active: [0; LEAF / 64], values: Box::new([background; LEAF]) }))
    }

    pub(crate) fn too_large(&self) -> VdbError {
        VdbError::TooLarge { grid: self.name.clone(), voxel: self.voxel, most: MOST_LEAVES * LEAF }
    }

    /// The voxels whose centres may lie in a box of voxel coordinates.
    pub(crate) fn range(&self, low: [f64; 3], high: [f64; 3]) -> Result<[[i32; 2]; 3], VdbError> {
        let farthest = f64::from(FARTHEST * SIDE);
        let mut range = [[0; 2]; 3];
        for axis in 0..3 {
            if low[axis] < -farthest || high[axis] > farthest {
                return Err(self.too_large());
            }
            range[axis] = [low[axis].ceil() as i32, high[axis].floor() as i32];
        }
        let leaves = range.iter().map(|[low, high]| f64::from((high >> 3) - (low >> 3) + 1)).product::<f64>();
        if leaves > MOST_LOOKED_AT { Err(self.too_large()) } else { Ok(range) }
    }

    /// The value of a voxel.
    pub fn value(&self, voxel: [i32; 3]) -> T {
        let (at, place) = split(voxel);
        match self.leaves.get(&at) {
            Some(leaf) => leaf.values[place],
            None if self.inside.contains(&at) => self.background.times(-1.0),
            None => self.background,
        }
    }

    /// Whether a voxel counts.
    pub fn is_active(&self, voxel: [i32; 3]) -> bool {
        let (at, place) = split(voxel);
        self.leaves.get(&at).is_some_and(|leaf| leaf.is_active(place))
    }

    /// Number of voxels that count.
    pub fn active_voxels(&self) -> u64 {
        self.leaves.values().flat_map(|leaf| leaf.active).map(|word| u64::from(word.count_ones())).sum()
    }
}

/// The leaf of a voxel, and its place in the leaf.
pub(crate) fn split(voxel: [i32; 3]) -> ([i32; 3], usize) {
    let [x, y, z] = voxel.map(|i| (i & (SIDE - 1)) as usize);
    (voxel.map(|i| i >> 3), x << 6 | y << 3 | z)
}

/// The part of a range of voxels that lies in a leaf, for each leaf that it touches.
pub(crate) fn for_each_leaf(
    range: [[i32; 2]; 3],
    mut visit: impl FnMut([i32; 3], [[i32; 2]; 3]) -> Result<(), VdbError>,
) -> Result<(), VdbError> {
    let [xs, ys, zs] = range.map(|[low, high]| low >> 3..=high >> 3);
    for x in xs {
        for y in ys.clone() {
            for z in zs.clone() {
                let at = [x, y, z];
                let mut part = range;
                for axis in 0..3 {
                    let first = at[axis] * SIDE;
                    part[axis] = [range[axis][0].max(first), range[axis][1].min(first + SIDE - 1)];
                }
                visit(at, part)?;
            }
        }
    }
    Ok(())
}
