//! The linear system of a round of Newton's method: vertices in a row, each coupled with its neighbours by the segments between them.
//!
//! With the block D, the load f and the step x of a vertex, and K of the segments on both sides of it,
//!
//! D_i x_i = f_i + K_(i-1) x_(i-1) + K_i x_(i+1).
//!
//! A vertex has to wait for the one before it, so a row is cut into four stretches that are eliminated side by side [cf. Wang1981]. Between two
//! stretches stands a vertex, a post, that is left over. With C the coupling of a vertex with the post behind it, at first K of the segment between them, and
//! P = (D - K P K)^-1 of what has been eliminated before,
//!
//! x_i = P f + P K x_(i+1) + P C x_post,
//!
//! and going on to the next vertex takes K P K from its block, gives K P f to its load and makes its coupling K P C; the post loses C^T P C and gets
//! C^T P f. What is left are three posts, each coupled with the next.

use crate::strands::lanes::{LANES, Lane, Lane3};
use crate::strands::symmetric::Symmetrics;
use glam::{DMat3, DVec3};

/// A symmetric matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symmetric {
    xx: f64,
    yy: f64,
    zz: f64,
    xy: f64,
    xz: f64,
    yz: f64,
}

impl Symmetric {
    pub const ZERO: Self = Self::scalar(0.0);

    /// A multiple of one.
    #[inline]
    pub const fn scalar(size: f64) -> Self {
        Self { xx: size, yy: size, zz: size, xy: 0.0, xz: 0.0, yz: 0.0 }
    }

    /// A multiple of a matrix that is symmetric.
    #[inline]
    pub fn scaled(m: &DMat3, scale: f64) -> Self {
        Self {
            xx: m.x_axis.x * scale,
            yy: m.y_axis.y * scale,
            zz: m.z_axis.z * scale,
            xy: m.x_axis.y * scale,
            xz: m.x_axis.z * scale,
            yz: m.y_axis.z * scale,
        }
    }

    /// Adds u v^T for a u along v.
    #[inline]
    pub fn add_dyad(&mut self, u: DVec3, v: DVec3) {
        self.xx = u.x.mul_add(v.x, self.xx);
        self.yy = u.y.mul_add(v.y, self.yy);
        self.zz = u.z.mul_add(v.z, self.zz);
        self.xy = u.x.mul_add(v.y, self.xy);
        self.xz = u.x.mul_add(v.z, self.xz);
        self.yz = u.y.mul_add(v.z, self.yz);
    }

    #[inline]
    pub fn times(&self, v: DVec3) -> DVec3 {
        DVec3::new(
            self.xx.mul_add(v.x, self.xy.mul_add(v.y, self.xz * v.z)),
            self.xy.mul_add(v.x, self.yy.mul_add(v.y, self.yz * v.z)),
            self.xz.mul_add(v.x, self.yz.mul_add(v.y, self.zz * v.z)),
        )
    }
}

impl Symmetrics {
    /// Adds a multiple of a matrix in one lane.
    pub fn add(&mut self, lane: usize, o: &Symmetric, scale: f64) {
        let add = |all: &mut Lane, value: f64| all.as_mut_array()[lane] += value * scale;
        add(&mut self.xx, o.xx);
        add(&mut self.yy, o.yy);
        add(&mut self.zz, o.zz);
        add(&mut self.xy, o.xy);
        add(&mut self.xz, o.xz);
        add(&mut self.yz, o.yz);
    }

    /// Every lane gets that of the one before it, the first one nothing.
    #[inline(always)]
    pub fn shifted(&self) -> Self {
        Self {
            xx: shifted(self.xx),
            yy: shifted(self.yy),
            zz: shifted(self.zz),
            xy: shifted(self.xy),
            xz: shifted(self.xz),
            yz: shifted(self.yz),
        }
    }

    fn lane(&self, lane: usize) -> DMat3 {
        matrix(&self.columns(), lane)
    }
}

/// Every lane gets the value of the one before it, the first one 0.
#[inline(always)]
pub(super) fn shifted(value: Lane) -> Lane {
    let [a, b, c, _] = value.to_array();
    Lane::new([0.0, a, b, c])
}

/// The matrix with these columns in one lane.
fn matrix(columns: &[Lane3; 3], lane: usize) -> DMat3 {
    let [x, y, z] = columns.map(|column| column.lane(lane));
    DMat3::from_cols(x, y, z)
}

/// The sum of columns, weighed by the components of a vector.
#[inline(always)]
fn combine(columns: &[Lane3; 3], v: Lane3, plus: Lane3) -> Lane3 {
    columns[2].mul_add(v.z, columns[1].mul_add(v.y, columns[0].mul_add(v.x, plus)))
}

/// A vertex of each stretch; the last row are the posts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// D, and f.
    pub block: Symmetrics,
    pub load: Lane3,
    /// K of the segment after the vertex.
    pub bond: Symmetrics,
    /// 1 if the vertex can move, 0 if it stays.
    pub free: Lane,
}

/// A vertex of each stretch that has been eliminated: P, P f, P K and P C.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gone {
    inverse: Symmetrics,
    alone: Lane3,
    after: [Lane3; 3],
    behind: [Lane3; 3],
}

impl Gone {
    const NONE: Self =
        Self { inverse: Symmetrics::ZERO, alone: Lane3::ZERO, after: [Lane3::ZERO; 3], behind: [Lane3::ZERO; 3] };
}

impl Row {
    pub const EMPTY: Self =
        Self { block: Symmetrics::ZERO, load: Lane3::ZERO, bond: Symmetrics::ZERO, free: Lane::ZERO };
}

/// Finds the steps of all vertices.
pub(super) fn solve(rows: &[Row], gone: &mut Vec<Gone>, steps: &mut [Lane3]) {
    let Some((posts, rows)) = rows.split_last() else { return };
    gone.resize(rows.len(), Gone::NONE);
    // Forth. What has been eliminated takes from the next block and gives to the next load.
    let (mut taken, mut given) = (Symmetrics::ZERO, Lane3::ZERO);
    for (row, gone) in rows.iter().zip(&mut *gone) {
        let bond = row.bond.columns();
        gone.inverse = row.block.minus(&taken).inverse(row.free);
        gone.after = bond.map(|column| gone.inverse.times(column));
        taken = Symmetrics::product(&bond, &gone.after);
        gone.alone = gone.inverse.times(row.load + given);
        given = row.bond.times(gone.alone);
    }
    // The same of the post behind; by itself, or there would be more numbers at a time than the processor can hold.
    let mut coupling = posts.bond.shifted().columns();
    let (mut taken_behind, mut given_behind) = (Symmetrics::ZERO, Lane3::ZERO);
    for (row, gone) in rows.iter().zip(&mut *gone) {
        let alone = gone.alone;
        gone.behind = coupling.map(|column| gone.inverse.times(column));
        taken_behind = taken_behind.plus(&Symmetrics::product(&coupling, &gone.behind));
        given_behind =
            given_behind + Lane3 { x: coupling[0].dot(alone), y: coupling[1].dot(alone), z: coupling[2].dot(alone) };
        coupling = gone.behind.map(|column| row.bond.times(column));
    }

    // The posts, one after the other.
    const POSTS: usize = LANES - 1;
    let block = posts.block.minus(&taken);
    let load = posts.load + given;
    let couplings: [DMat3; LANES] = std::array::from_fn(|lane| matrix(&coupling, lane));
    let (mut inverses, mut loads, mut at) = ([DMat3::ZERO; POSTS], [DVec3::ZERO; POSTS], [DVec3::ZERO; LANES]);
    for post in 0..POSTS {
        let mut own = block.lane(post) - taken_behind.lane(post + 1);
        loads[post] = load.lane(post) + given_behind.lane(post + 1);
        if post > 0 {
            let (k, before) = (couplings[post], inverses[post - 1]);
            own -= k * before * k.transpose();
            loads[post] += k * (before * loads[post - 1]);
        }
        if posts.free.as_array()[post] > 0.0 {
            inverses[post] = own.inverse();
        }
    }
    for post in (0..POSTS).rev() {
        let after = couplings[post + 1].transpose() * at[post + 1];
        at[post] = inverses[post] * (loads[post] + after);
    }

    // Back.
    let mut step = Lane3::new(at);
    let behind = Lane3 { x: shifted(step.x), y: shifted(step.y), z: shifted(step.z) };
    steps[rows.len()] = step;
    for (gone, to) in gone.iter().zip(steps).rev() {
        step = combine(&gone.after, step, combine(&gone.behind, behind, gone.alone));
        *to = step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_math::random::Stream;

    #[test]
    fn steps_solve_the_system() {
        let stream = Stream::new(3, "chain");
        for inner in [1_usize, 2, 5, 9] {
            let count = inner + 1;
            let vector = |i: usize, scale: f64| stream.child(i as u64).direction(1) * scale;
            let number = |i: usize, low: f64, high: f64| stream.child(i as u64).range(2, low, high);
            let stays = |i: usize| i % 7 == 5;
            let (mut rows, mut steps) = (vec![Row::EMPTY; count], vec![Lane3::ZERO; count]);
            let (mut own, mut loads, mut bonds) = (Vec::new(), Vec::new(), Vec::new());
            for i in 0..LANES * count {
                let normal = vector(3 * i, 1.0);
                let mut inertia = Symmetric::scalar(number(i, 10.0, 1e4));
                inertia.add_dyad(normal * 3.0, normal);
                let mut bond = Symmetric::scalar(number(i, 0.0, 1e3));
                bond.add_dyad(vector(3 * i + 1, 1e5), vector(3 * i + 1, 1.0));
                // Behind the last post there is nothing.
                let end = i + 1 >= LANES * count - 1;
                bonds.push(if end { Symmetric::ZERO } else { bond });
                own.push(inertia);
                loads.push(vector(3 * i + 2, 30.0));
            }
            for i in 0..LANES * count {
                let (lane, row) = (i / count, &mut rows[i % count]);
                row.block.add(lane, &own[i], 1.0);
                row.block.add(lane, &bonds[i], 1.0);
                row.block.add(lane, if i > 0 { &bonds[i - 1] } else { &Symmetric::ZERO }, 1.0);
                row.bond.add(lane, &bonds[i], 1.0);
                row.load.set_lane(lane, loads[i]);
                row.free.as_mut_array()[lane] = if stays(i) { 0.0 } else { 1.0 };
            }
            solve(&rows, &mut Vec::new(), &mut steps);
            let step = |i: usize| steps[i % count].lane(i / count);
            let mut longest = 0.0_f64;
            for i in 0..LANES * count - 1 {
                let mut left = own[i].times(step(i)) - loads[i];
                left += bonds[i].times(step(i) - step((i + 1).min(LANES * count - 1)));
                if i > 0 {
                    left += bonds[i - 1].times(step(i) - step(i - 1));
                }
                longest = longest.max(step(i).length());
                assert!(if stays(i) { step(i) == DVec3::ZERO } else { left.length() < 1e-6 }, "vertex {i}: {left}");
            }
            assert!(longest > 1e-3);
        }
    }
}
