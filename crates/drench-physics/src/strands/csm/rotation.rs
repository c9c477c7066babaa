//! The rotation of a region: that R in SO(3) which maximises tr(R^T A), A = sum m p q^T with p the offsets now, q those at rest.
//!
//! Newton's method on the rotation group, from the rotation of the neighbouring region. With B = A R^T the torque is
//! T = sum m (R q) x p = sum of R's columns x A's columns, the matrix H = tr(B) 1 - sym(B), the step w = H^-1 T, turned by the angle
//! whose tangent is |w|: that is exact at once for plane motion and has cubic convergence otherwise. A rotation stays one:
//! reflections cannot appear. Where the offsets lie on a line the roll about it is undetermined: H is singular along it, T has no
//! component along it, and with a little on its diagonal the roll stays that of the neighbour. Where H is not positive the roll is mostly
//! upside down: the best turn about the axis that is determined least is known in closed form. Only if that does not help, far from the
//! maximum, or where eight steps are not enough, is a lane sent to the largest eigenvector of Horn's matrix, which is the
//! best quaternion wherever one begins; where there are many, it is the one nearest to the start.

use crate::strands::lanes::{LANES, Lane, Lane3};
use glam::{DMat3, DMat4, DQuat, DVec3, DVec4};

/// How well the roll must be determined, compared with the direction, to be followed at all.
const ROLL: f64 = 1e-6;
/// Squared step below which a lane is done: the cube of the step is what remains.
const DONE: f64 = 1e-6;
/// Squared step above which a lane is lost after the last step.
const LOST: f64 = 1e-3;
/// Newton steps at most.
const MOST: u32 = 8;
/// What keeps a region without extent from dividing by zero [kg m2].
const NOTHING: f64 = 1e-60;

/// A rotation of each lane, as a unit quaternion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    w: Lane,
    v: Lane3,
}

impl Turn {
    /// The rotations of the lanes.
    pub fn new(turns: [DQuat; LANES]) -> Self {
        Self {
            w: Lane::new(turns.map(|turn| turn.w)),
            v: Lane3::new(turns.map(|turn| DVec3::new(turn.x, turn.y, turn.z))),
        }
    }

    /// The rotations of the lanes.
    #[cfg(test)]
    pub fn to_array(self) -> [DQuat; LANES] {
        std::array::from_fn(|lane| self.lane(lane))
    }

    fn lane(&self, lane: usize) -> DQuat {
        let v = self.v.lane(lane);
        DQuat::from_xyzw(v.x, v.y, v.z, self.w.as_array()[lane])
    }

    /// The columns of the rotation matrix.
    #[inline(always)]
    pub fn columns(&self) -> [Lane3; 3] {
        let Self { w, v: Lane3 { x, y, z } } = *self;
        let (x2, y2, z2) = (x + x, y + y, z + z);
        let (xx, yy, zz) = (x * x2, y * y2, z * z2);
        let (xy, xz, yz) = (x * y2, x * z2, y * z2);
        let (wx, wy, wz) = (w * x2, w * y2, w * z2);
        let one = Lane::ONE;
        [
            Lane3 { x: one - (yy + zz), y: xy + wz, z: xz - wy },
            Lane3 { x: xy - wz, y: one - (xx + zz), z: yz + wx },
            Lane3 { x: xz + wy, y: yz - wx, z: one - (xx + yy) },
        ]
    }

    /// `v` turned.
    #[inline(always)]
    pub fn apply(&self, v: Lane3) -> Lane3 {
        let [x, y, z] = self.columns();
        x.mul_add(v.x, y.mul_add(v.y, z * v.z))
    }

    /// Turned on about `step`, by the angle whose tangent is its length.
    #[inline(always)]
    fn turned(self, step: Lane3) -> Self {
        let real = Lane::ONE + (Lane::ONE + step.dot(step)).sqrt();
        self.after(real, step)
    }

    /// Turned on by the quaternion (`w`, `v`) of any length.
    #[inline(always)]
    fn after(self, w: Lane, v: Lane3) -> Self {
        let real = w.mul_sub(self.w, v.dot(self.v));
        let imaginary = self.v.mul_add(w, v.mul_add(self.w, v.cross(self.v)));
        let scale = Lane::ONE / (real * real + imaginary.dot(imaginary)).sqrt();
        Self { w: real * scale, v: imaginary * scale }
    }

    /// Turned on by the smallest rotation that brings `from` to `to` (unit vectors or shorter; unchanged if one is zero).
    pub fn aligned(self, from: Lane3, to: Lane3) -> Self {
        // The half-way quaternion (1 + cos, sin). Opposite vectors turn about any axis across.
        let real = Lane::ONE + from.dot(to);
        let mut axis = from.cross(to);
        for lane in 0..LANES {
            if real.as_array()[lane] < 1e-9 {
                axis.set_lane(lane, from.lane(lane).any_orthogonal_vector());
            }
        }
        self.after(real.fast_max(Lane::splat(1e-9)), axis)
    }
}

/// The matrix A of each lane, by columns, and its best rotation near `start`.
#[inline(always)]
pub(crate) fn best_rotation(a: &[Lane3; 3], start: Turn) -> Turn {
    let mut turn = start;
    // Lanes that still move; a lane that is done keeps its bits whatever its neighbours need.
    let mut moving = Lane::ONE.simd_gt(Lane::ZERO);
    let mut rolled = 0;
    let mut square = Lane::ZERO;
    for _ in 0..MOST {
        let Slope { torque, cofactors: [xx, xy, xz, yy, yz, zz], determinant, positive, .. } = Slope::new(a, &turn);
        let stepping = moving & positive;
        let away = !positive.to_bitmask() & moving.to_bitmask() & 15;
        if away != 0 {
            turn = roll(a, turn, away & !rolled);
            turn = search(a, turn, away & rolled);
            moving = keep(moving, !(away & rolled));
            rolled |= away;
        }
        let inverse = Lane::ONE / determinant;
        let step = Lane3 {
            x: xx.mul_add(torque.x, xy.mul_add(torque.y, xz * torque.z)),
            y: xy.mul_add(torque.x, yy.mul_add(torque.y, yz * torque.z)),
            z: xz.mul_add(torque.x, yz.mul_add(torque.y, zz * torque.z)),
        } * inverse;
        let next = turn.turned(step);
        turn = Turn {
            w: stepping.select(next.w, turn.w),
            v: Lane3 {
                x: stepping.select(next.v.x, turn.v.x),
                y: stepping.select(next.v.y, turn.v.y),
                z: stepping.select(next.v.z, turn.v.z),
            },
        };
        // A lane that was rolled has all of its way before it.
        square = positive.select(step.dot(step), Lane::ONE);
        moving &= square.simd_gt(Lane::splat(DONE));
        if !moving.any() {
            return turn;
        }
    }
    let lost = (moving & square.simd_gt(Lane::splat(LOST))).to_bitmask();
    if lost == 0 { turn } else { search(a, turn, lost) }
}

/// Torque and curvature of tr(R^T A) at a rotation.
struct Slope {
    torque: Lane3,
    /// H with something on its diagonal, and what that is: xx, xy, xz, yy, yz, zz.
    lifted: [Lane; 6],
    lift: Lane,
    /// Of H = tr(B) 1 - sym(B): xx, xy, xz, yy, yz, zz.
    cofactors: [Lane; 6],
    determinant: Lane,
    /// Where H is positive definite.
    positive: Lane,
}

impl Slope {
    #[inline(always)]
    fn new(a: &[Lane3; 3], turn: &Turn) -> Self {
        let r = turn.columns();
        // B_jk = sum over columns of a_j r_k.
        let dot = |p: [Lane; 3], q: [Lane; 3]| p[0].mul_add(q[0], p[1].mul_add(q[1], p[2] * q[2]));
        let [ax, ay, az] = [[a[0].x, a[1].x, a[2].x], [a[0].y, a[1].y, a[2].y], [a[0].z, a[1].z, a[2].z]];
        let [rx, ry, rz] = [[r[0].x, r[1].x, r[2].x], [r[0].y, r[1].y, r[2].y], [r[0].z, r[1].z, r[2].z]];
        let (bxx, byy, bzz) = (dot(ax, rx), dot(ay, ry), dot(az, rz));
        let (bxy, byx, bxz) = (dot(ax, ry), dot(ay, rx), dot(ax, rz));
        let (bzx, byz, bzy) = (dot(az, rx), dot(ay, rz), dot(az, ry));
        let torque = Lane3 { x: bzy - byz, y: bxz - bzx, z: byx - bxy };
        let trace = bxx + byy + bzz;
        let size = trace.abs() + Lane::splat(NOTHING);
        // For offsets on a line H has the eigenvalue -(1 - cos) / 2 at an angle from the best direction; sin^2 / 2 outweighs it and
        // is of third order in the step.
        let lift = size.mul_add(Lane::splat(ROLL), torque.dot(torque) / (size + size));
        let half = Lane::splat(-0.5);
        let (hxx, hyy, hzz) = (byy + bzz + lift, bxx + bzz + lift, bxx + byy + lift);
        let (hxy, hxz, hyz) = ((bxy + byx) * half, (bxz + bzx) * half, (byz + bzy) * half);
        let cxx = hyy.mul_sub(hzz, hyz * hyz);
        let cxy = hxz.mul_sub(hyz, hxy * hzz);
        let cxz = hxy.mul_sub(hyz, hxz * hyy);
        let cyy = hxx.mul_sub(hzz, hxz * hxz);
        let cyz = hxy.mul_sub(hxz, hxx * hyz);
        let czz = hxx.mul_sub(hyy, hxy * hxy);
        let determinant = hxx.mul_add(cxx, hxy.mul_add(cxy, hxz * cxz));
        let positive = hxx.fast_min(czz).fast_min(determinant).simd_gt(Lane::ZERO);
        Self {
            torque,
            lifted: [hxx, hxy, hxz, hyy, hyz, hzz],
            lift,
            cofactors: [cxx, cxy, cxz, cyy, cyz, czz],
            determinant,
            positive,
        }
    }
}

/// The lanes of a mask that are also among `lanes`.
fn keep(mask: Lane, lanes: u32) -> Lane {
    let kept = |lane: usize| if lanes >> lane & 1 == 1 { 1.0 } else { 0.0 };
    mask & Lane::new(std::array::from_fn(kept)).simd_gt(Lane::ZERO)
}

/// Turns lanes by the best angle about the axis u along which |H| is least: tr(R^T A) is u^T H u cos + u . T sin of that angle, and a constant.
#[cold]
fn roll(a: &[Lane3; 3], turn: Turn, lanes: u32) -> Turn {
    let Slope { torque, lifted: [hxx, hxy, hxz, hyy, hyz, hzz], lift, cofactors, .. } = Slope::new(a, &turn);
    // The cofactors are about those of u u^T: its longest column.
    let [xx, xy, xz, yy, yz, zz] = cofactors;
    let column = |first: Lane3, second: Lane3, is: Lane| Lane3 {
        x: is.select(first.x, second.x),
        y: is.select(first.y, second.y),
        z: is.select(first.z, second.z),
    };
    let (x, y, z) = (Lane3 { x: xx, y: xy, z: xz }, Lane3 { x: xy, y: yy, z: yz }, Lane3 { x: xz, y: yz, z: zz });
    let longest = column(x, y, xx.abs().simd_gt(yy.abs()));
    let longest = column(longest, z, xx.abs().fast_max(yy.abs()).simd_gt(zz.abs()));
    let length = longest.dot(longest).fast_max(Lane::splat(f64::MIN_POSITIVE)).sqrt();
    let u = longest * (Lane::ONE / length);
    let bent = Lane3 {
        x: hxx.mul_add(u.x, hxy.mul_add(u.y, hxz * u.z)),
        y: hxy.mul_add(u.x, hyy.mul_add(u.y, hyz * u.z)),
        z: hxz.mul_add(u.x, hyz.mul_add(u.y, hzz * u.z)),
    };
    let (cosine, sine) = (u.dot(bent) - lift, u.dot(torque));
    let size = cosine.mul_add(cosine, sine * sine).sqrt().fast_max(Lane::splat(f64::MIN_POSITIVE));
    // Half of the angle: the quaternion ((1 + cos) / 2, sin / 2 u), or (sin / 2, (1 - cos) / 2 u) beyond a right angle.
    let (cosine, sine) = (cosine / size, sine / size);
    let near = cosine.simd_gt(Lane::ZERO);
    let next = turn.after(near.select(Lane::ONE + cosine, sine), u * near.select(sine, Lane::ONE - cosine));
    let rolls = keep(Lane::ONE.simd_gt(Lane::ZERO), lanes);
    Turn { w: rolls.select(next.w, turn.w), v: column(next.v, turn.v, rolls) }
}

/// Sends lanes to their best rotation, wherever they are.
#[cold]
fn search(a: &[Lane3; 3], mut turn: Turn, lanes: u32) -> Turn {
    for lane in 0..LANES {
        if lanes >> lane & 1 == 1 {
            let [x, y, z] = a.map(|column| column.lane(lane));
            let found = largest_eigenvector(DMat3::from_cols(x, y, z), turn.lane(lane));
            turn.w.as_mut_array()[lane] = found.w;
            turn.v.set_lane(lane, DVec3::new(found.x, found.y, found.z));
        }
    }
    turn
}

/// The unit quaternion q that maximises q^T K q, K being Horn's matrix of A: powers of K, moved so that all eigenvalues are
/// positive, by squaring.
#[rustfmt::skip]
pub(super) fn largest_eigenvector(a: DMat3, start: DQuat) -> DQuat {
    let [[xx, yx, zx], [xy, yy, zy], [xz, yz, zz]] = a.to_cols_array_2d();
    let size = a.to_cols_array().iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    if !(size.is_finite() && size > NOTHING) {
        return start;
    }
    let k = DMat4::from_cols_array(&[
        xx - yy - zz, xy + yx, xz + zx, zy - yz, //
        xy + yx, yy - xx - zz, yz + zy, xz - zx, //
        xz + zx, yz + zy, zz - xx - yy, yx - xy, //
        zy - yz, xz - zx, yx - xy, xx + yy + zz,
    ]);
    // No eigenvalue is below -3 size.
    let mut power = k * (1.0 / size) + DMat4::IDENTITY * 4.0;
    for _ in 0..40 {
        power *= power;
        // With the trace at 1 the largest eigenvalue is between 1/4 and 1.
        power *= 1.0 / (power.x_axis.x + power.y_axis.y + power.z_axis.z + power.w_axis.w);
    }
    let nearest = power * DVec4::from(start);
    let longer = |a: DVec4, b: DVec4| if b.length_squared() > a.length_squared() { b } else { a };
    let any = || (1..4).map(|c| power.col(c)).fold(power.col(0), longer);
    let best = if nearest.length_squared() > 1e-6 { nearest } else { any() };
    DQuat::from_vec4(best * (1.0 / best.length_squared().sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_math::random::Stream;

    fn random_vector(stream: &Stream, index: &mut u64) -> DVec3 {
        let mut next = || {
            *index += 1;
            stream.range(*index, -1.0, 1.0)
        };
        DVec3::new(next(), next(), next())
    }

    fn objective(a: DMat3, turn: DQuat) -> f64 {
        let r = DMat3::from_quat(turn);
        (0..3).map(|c| a.col(c).dot(r.col(c))).sum()
    }

    #[test]
    fn the_best_rotation_is_found_from_anywhere_and_is_never_a_reflection() {
        let stream = Stream::new(3, "rotation");
        let mut index = 0;
        for case in 0..2000_u64 {
            let mut a = DMat3::ZERO;
            let flat = case % 4;
            for _ in 0..5 {
                let (p, mut q) = (random_vector(&stream, &mut index), random_vector(&stream, &mut index));
                if flat == 1 {
                    q.z = 0.0;
                }
                if flat == 2 {
                    q = DVec3::X * q.x;
                }
                a += DMat3::from_cols(p * q.x, p * q.y, p * q.z) * 1e-9;
            }
            let start = random_vector(&stream, &mut index).normalize_or(DVec3::X);
            let start = Turn::new([DQuat::from_axis_angle(start, 3.0 * start.x); LANES]);
            let columns = [0, 1, 2].map(|c| Lane3::splat(a.col(c)));
            let got = best_rotation(&columns, start).to_array()[0];
            assert!((got.length() - 1.0).abs() < 1e-12);
            // No rotation does better, of many.
            let reached = objective(a, got);
            for other in 0..50 {
                let axis = stream.direction(1000 * case + other);
                let angle = [1e-4, 1e-2, 0.3, 1.5, 3.0][other as usize % 5];
                let best = objective(a, DQuat::from_axis_angle(axis, angle) * got);
                assert!(reached >= best - 1e-19, "case {case}: {reached:e} of {best:e}");
            }
        }
    }

    #[test]
    fn nothing_to_turn_turns_nothing() {
        let start = Turn::new([DQuat::from_rotation_y(0.3); LANES]);
        let got = best_rotation(&[Lane3::ZERO; 3], start).to_array()[2];
        assert!(got.angle_between(DQuat::from_rotation_y(0.3)) < 1e-12);
    }

    #[test]
    fn the_roll_about_a_line_stays_that_of_the_start() {
        // Offsets on a line along x that now lie along y: any rotation that does it will do; the start's roll is kept.
        let a = DMat3::from_cols(DVec3::Y, DVec3::ZERO, DVec3::ZERO);
        let start = DQuat::from_rotation_z(1.2) * DQuat::from_rotation_x(0.7);
        let columns = [0, 1, 2].map(|c| Lane3::splat(a.col(c)));
        let got = best_rotation(&columns, Turn::new([start; LANES])).to_array()[1];
        let expected = DQuat::from_rotation_z(std::f64::consts::FRAC_PI_2) * DQuat::from_rotation_x(0.7);
        assert!(got.angle_between(expected) < 1e-6, "{got} {expected}");
    }
}
