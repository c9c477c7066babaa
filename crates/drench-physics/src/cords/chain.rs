//! The linear system of a round of Newton's method: vertices in a row, each coupled with its neighbours by the segments between them.
//!
//! A segment of tension T, length l and slope k of the tension over the length couples its ends by
//!
//! K = T / l (1 - n n^T) + k n n^T = a + b n n^T.
//!
//! With the block B and the load f of a vertex, B dx = f + K dx', and dx' the step of the neighbour that is left, eliminating the vertex
//! adds K - K B^-1 K to the neighbour's block and K B^-1 f to its load. A segment that leans on a solid takes what holds it from K, see
//! [`super::lean`].

use super::lean::Lean;
use super::model::CordModel;
use super::state::CordState;
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

    /// Adds a multiple of another.
    #[inline]
    pub fn add(&mut self, other: &Self, scale: f64) {
        self.xx += other.xx * scale;
        self.yy += other.yy * scale;
        self.zz += other.zz * scale;
        self.xy += other.xy * scale;
        self.xz += other.xz * scale;
        self.yz += other.yz * scale;
    }

    fn matrix(&self) -> DMat3 {
        let Self { xx, yy, zz, xy, xz, yz } = *self;
        DMat3::from_cols(DVec3::new(xx, xy, xz), DVec3::new(xy, yy, yz), DVec3::new(xz, yz, zz))
    }

    #[inline]
    pub fn times(&self, v: DVec3) -> DVec3 {
        DVec3::new(
            self.xx.mul_add(v.x, self.xy.mul_add(v.y, self.xz * v.z)),
            self.xy.mul_add(v.x, self.yy.mul_add(v.y, self.yz * v.z)),
            self.xz.mul_add(v.x, self.yz.mul_add(v.y, self.zz * v.z)),
        )
    }

    /// The inverse, up to a factor, and that factor: who goes on with the first need not wait for the division.
    #[inline]
    fn inverse(&self) -> (Self, f64) {
        let Self { xx, yy, zz, xy, xz, yz } = *self;
        let adjugate = Self {
            xx: yy.mul_add(zz, -(yz * yz)),
            yy: xx.mul_add(zz, -(xz * xz)),
            zz: xx.mul_add(yy, -(xy * xy)),
            xy: xz.mul_add(yz, -(xy * zz)),
            xz: xy.mul_add(yz, -(xz * yy)),
            yz: xy.mul_add(xz, -(xx * yz)),
        };
        (adjugate, 1.0 / xx.mul_add(adjugate.xx, xy.mul_add(adjugate.xy, xz * adjugate.xz)))
    }
}

/// Tension of a segment over its length, as the plastic strain so far has it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Law {
    /// Length of the cord as made, and without tension [m].
    rest: f64,
    pub slack: f64,
    /// 1 over the square of the first [1/m2].
    pub over_square: f64,
    /// Tension at which it yields, and at which it tears: until it has torn it bears that, however long it gets [N].
    limit: f64,
    most: f64,
    /// Slope of the tension over the length below and above the first [N/m], and their inverses.
    stiffness: [f64; 2],
    compliance: [f64; 2],
}

impl Law {
    pub fn of(model: &CordModel, state: &CordState, s: usize) -> Self {
        let (rest, area, curve, flowed) =
            (model.lengths[s], model.areas[s], model.tensile_curve(s), state.plastic_strains[s]);
        let slopes = [curve.elastic, curve.plastic];
        Self {
            rest,
            slack: rest * (1.0 + flowed),
            over_square: 1.0 / (rest * rest),
            limit: curve.yield_after(flowed) * area,
            most: curve.rupture * area,
            stiffness: slopes.map(|slope| area * slope / rest),
            compliance: slopes.map(|slope| rest / (area * slope)),
        }
    }

    /// Tension that goes with a length [N].
    #[inline]
    pub fn tension(&self, length: f64) -> f64 {
        let longer = (length - self.slack).max(0.0);
        let tension = longer * self.stiffness[0];
        if tension <= self.limit {
            return tension.min(self.most);
        }
        (longer - self.limit * self.compliance[0]).mul_add(self.stiffness[1], self.limit).min(self.most)
    }

    /// The bond of a segment with an edge and a tension. Without tension it is one if it is not too `short` for its length; `before` is its
    /// direction if it has none.
    #[inline]
    pub fn bond(&self, edge: DVec3, tension: f64, before: DVec3, short: f64) -> Bond {
        let length = edge.length_squared().sqrt();
        let normal = if length > 1e-9 * self.rest { edge * (1.0 / length) } else { before };
        let yields = tension > self.limit;
        let borne = if yields {
            (tension - self.limit).mul_add(self.compliance[1], self.limit * self.compliance[0])
        } else {
            tension * self.compliance[0]
        };
        let gap = length - (self.slack + borne);
        if tension <= 0.0 && gap < -short * self.rest {
            return Bond { normal, limit: f64::INFINITY, most: f64::INFINITY, ..Bond::default() };
        }
        // What bears all it can goes on bearing it, unless it gets shorter.
        let tears = tension >= self.most && gap >= 0.0;
        let (stiffness, gap) = if tears { (0.0, 0.0) } else { (self.stiffness[usize::from(yields)], gap) };
        let across = tension / length.max(0.1 * self.rest);
        let (along, force) = (stiffness - across, stiffness.mul_add(gap, tension));
        let Self { limit, most, .. } = *self;
        Bond { across, along, normal, stiffness, gap, force, limit, most, yields, lean: 0 }
    }
}

/// K of a segment: a + b n n^T.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bond {
    across: f64,
    along: f64,
    pub normal: DVec3,
    /// Slope of the tension over the length, and how much too long the segment is.
    stiffness: f64,
    gap: f64,
    /// Tension with the gap closed.
    force: f64,
    /// Tension at which it yields, and at which it tears; whether the stiffness is that of yielding.
    limit: f64,
    pub most: f64,
    yields: bool,
    /// One more than the index of what it leans on a solid with; 0 if it does not.
    pub lean: u32,
}

impl Bond {
    /// Tension after a change of the edge.
    #[inline]
    pub fn tension(&self, old: f64, change: DVec3) -> f64 {
        self.stiffness.mul_add(self.gap + self.normal.dot(change), old)
    }

    /// Whether a tension lies on the other side of the yield point, by more than rounding: a cord that flows stands on it in every step. Or beyond
    /// what it bears.
    #[inline]
    pub fn changes(&self, tension: f64) -> bool {
        let yields =
            if self.yields { tension < self.limit * (1.0 - 1e-9) } else { tension > self.limit * (1.0 + 1e-9) };
        yields || tension > self.most * (1.0 + 1e-9)
    }

    #[inline]
    pub fn times(&self, v: DVec3, leans: &[Lean]) -> DVec3 {
        let own = v * self.across + self.normal * (self.along * self.normal.dot(v));
        self.lean(leans).map_or(own, |lean| {
            let (hold, part) = lean.coupling();
            own - hold.times(v) * part
        })
    }

    /// The point at which it leans on a solid.
    #[inline]
    pub fn lean<'a>(&self, leans: &'a [Lean]) -> Option<&'a Lean> {
        if self.lean == 0 { None } else { leans.get(self.lean as usize - 1) }
    }

    /// All of K, with what a hold takes from it.
    #[cold]
    fn with(&self, lean: &Lean) -> Symmetric {
        let mut all = Symmetric::scalar(self.across);
        all.add_dyad(self.normal * self.along, self.normal);
        let (hold, part) = lean.coupling();
        all.add(hold, -part);
        all
    }
}

/// Which way along the cord a bond leads from a vertex: 1 to the next one, -1 to the one before.
pub(super) type Way = f64;

/// A vertex that has been eliminated: the inverse of its block in two factors, and its step if its neighbour stays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    inverse: Symmetric,
    factor: f64,
    alone: DVec3,
}

impl Block {
    /// A vertex that stays.
    pub const FIXED: Self = Self { inverse: Symmetric::ZERO, factor: 0.0, alone: DVec3::ZERO };

    /// Eliminates a vertex of this resistance and load, when neighbours have been eliminated and another may be left.
    #[inline(always)]
    pub fn new(
        (mut matrix, mut load): (Symmetric, DVec3),
        left: Option<(&Bond, Way)>,
        gone: [Option<(&Bond, Way, &Self)>; 2],
        leans: &[Lean],
    ) -> Self {
        if let Some((bond, way)) = left {
            let n = bond.normal;
            matrix.xx += bond.across;
            matrix.yy += bond.across;
            matrix.zz += bond.across;
            matrix.add_dyad(n * bond.along, n);
            load += n * (way * bond.force);
            if let Some(lean) = bond.lean(leans) {
                let (hold, part) = lean.coupling();
                matrix.add(hold, -part);
            }
        }
        for (bond, way, neighbour) in gone.into_iter().flatten() {
            if let Some(lean) = bond.lean(leans) {
                let whole = bond.with(lean);
                let k = whole.matrix();
                matrix.add(&Symmetric::scaled(&(k - k * neighbour.inverse.matrix() * k * neighbour.factor), 1.0), 1.0);
                load += whole.times(neighbour.alone) + bond.normal * (way * bond.force);
                continue;
            }
            let (a, b, n, p, factor) = (bond.across, bond.along, bond.normal, &neighbour.inverse, neighbour.factor);
            let pn = p.times(n);
            // K - K P K = a - a^2 P - u n^T - n u^T.
            let u = pn * (a * b * factor) + n * (0.5 * b * (b * factor).mul_add(n.dot(pn), -1.0));
            let square = a * a * factor;
            matrix.xx = (-2.0 * u.x).mul_add(n.x, (-square).mul_add(p.xx, matrix.xx + a));
            matrix.yy = (-2.0 * u.y).mul_add(n.y, (-square).mul_add(p.yy, matrix.yy + a));
            matrix.zz = (-2.0 * u.z).mul_add(n.z, (-square).mul_add(p.zz, matrix.zz + a));
            matrix.xy = (-u.x).mul_add(n.y, (-u.y).mul_add(n.x, (-square).mul_add(p.xy, matrix.xy)));
            matrix.xz = (-u.x).mul_add(n.z, (-u.z).mul_add(n.x, (-square).mul_add(p.xz, matrix.xz)));
            matrix.yz = (-u.y).mul_add(n.z, (-u.z).mul_add(n.y, (-square).mul_add(p.yz, matrix.yz)));
            load += neighbour.alone * a + n * b.mul_add(n.dot(neighbour.alone), way * bond.force);
        }
        let (inverse, factor) = matrix.inverse();
        Self { inverse, factor, alone: inverse.times(load) * factor }
    }

    /// The step of the vertex if nothing is left beside it.
    #[inline]
    pub fn alone(&self) -> DVec3 {
        self.alone
    }

    /// The step of the vertex when that of its neighbour is known.
    #[inline]
    pub fn beside(&self, bond: &Bond, step: DVec3, leans: &[Lean]) -> DVec3 {
        self.alone + self.inverse.times(bond.times(step, leans)) * self.factor
    }
}

#[cfg(test)]
mod tests {
    use super::super::Curve;
    use super::*;
    use drench_math::random::Stream;

    fn law(limit: f64) -> Law {
        let (rest, area, curve) = (0.1, 1e-5, Curve::elastic(2e9).yielding_at(4e7, 2e8));
        let slopes = [curve.elastic, curve.plastic];
        Law {
            rest,
            slack: 1.01 * rest,
            over_square: 1.0 / (rest * rest),
            limit,
            most: f64::INFINITY,
            stiffness: slopes.map(|slope| area * slope / rest),
            compliance: slopes.map(|slope| rest / (area * slope)),
        }
    }

    #[test]
    fn steps_of_eliminated_vertices_solve_the_system() {
        let stream = Stream::new(3, "chain");
        let bonds: Vec<Bond> = (0..4)
            .map(|s| {
                let edge = stream.direction(s) * 0.1 * stream.range(10 + s, 1.0, 1.05);
                law(400.0).bond(edge, stream.range(20 + s, 0.0, 900.0), DVec3::X, 0.02)
            })
            .collect();
        let own: Vec<(Symmetric, DVec3)> = (0..5)
            .map(|v| {
                let mut inertia = Symmetric::scalar(stream.range(30 + v, 10.0, 1e4));
                inertia.add_dyad(stream.direction(40 + v) * 1.0, stream.direction(40 + v));
                (inertia, stream.direction(50 + v) * 30.0)
            })
            .collect();
        // Segment 1 leans on a solid, and so does segment 2, which is eliminated from the other side.
        let at = [0.0, 0.1, 0.2, 0.3, 0.4].map(|x| DVec3::new(x, 0.0, 0.0));
        let leans: Vec<Lean> = [(1, 0.3), (2, 0.8)]
            .map(|(s, place)| Lean::held(s, place, (stream.direction(60 + s as u64), 1e5), DVec3::Y * 1e-3, &at))
            .to_vec();
        let (mut bonds, mut own) = (bonds, own);
        for (index, lean) in leans.iter().enumerate() {
            bonds[lean.segment].lean = index as u32 + 1;
            lean.bear(&mut own[lean.vertex], 1.0 - lean.place);
            lean.bear(&mut own[lean.vertex + 1], lean.place);
        }
        // From both ends to vertex 2, and back.
        let new = |own, left, gone| Block::new(own, left, gone, &leans);
        let first = new(own[0], Some((&bonds[0], 1.0)), [None, None]);
        let second = new(own[1], Some((&bonds[1], 1.0)), [Some((&bonds[0], -1.0, &first)), None]);
        let last = new(own[4], Some((&bonds[3], -1.0)), [None, None]);
        let fourth = new(own[3], Some((&bonds[2], -1.0)), [Some((&bonds[3], 1.0, &last)), None]);
        let sides = [Some((&bonds[1], -1.0, &second)), Some((&bonds[2], 1.0, &fourth))];
        let mut steps = [DVec3::ZERO; 5];
        steps[2] = new(own[2], None, sides).alone();
        steps[1] = second.beside(&bonds[1], steps[2], &leans);
        steps[0] = first.beside(&bonds[0], steps[1], &leans);
        steps[3] = fourth.beside(&bonds[2], steps[2], &leans);
        steps[4] = last.beside(&bonds[3], steps[3], &leans);
        for v in 0..5 {
            let (inertia, load) = &own[v];
            let mut left = inertia.times(steps[v]) - *load;
            if v < 4 {
                left += bonds[v].times(steps[v] - steps[v + 1], &[]) - bonds[v].normal * bonds[v].force;
            }
            if v > 0 {
                left += bonds[v - 1].times(steps[v] - steps[v - 1], &[]) + bonds[v - 1].normal * bonds[v - 1].force;
            }
            // The force of a hold falls with the step of its point; its load is in `own`, whose matrix counts it once too often.
            for lean in leans.iter().filter(|lean| lean.vertex == v || lean.vertex + 1 == v) {
                let share = if lean.vertex == v { 1.0 - lean.place } else { lean.place };
                left += lean.coupling().0.times(lean.point(&steps) - steps[v]) * share;
            }
            assert!(left.length() < 1e-7, "vertex {v}: {left}");
        }
        assert!(steps.iter().any(|step| step.length() > 1e-3));
    }

    #[test]
    fn bonds_close_the_gap_to_the_length_that_the_tension_has() {
        for tension in [0.0, 100.0, 399.0, 401.0, 2000.0] {
            let law = law(400.0);
            let bond = law.bond(DVec3::Y * 0.101, tension, DVec3::X, 0.02);
            let length = 0.101 - bond.gap;
            assert!((law.tension(length) - tension).abs() < 1e-9 * (1.0 + tension), "{tension}");
            // Within a branch the tension is linear: one step brings it to that of the length.
            let longer = DVec3::Y * 1e-6;
            let expected = law.tension(length + 1e-6);
            assert!((bond.tension(tension, longer - bond.normal * bond.gap) - expected).abs() < 1e-6, "{tension}");
        }
    }
}
