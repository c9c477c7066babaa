//! Symmetric matrices, one in each lane: of strands side by side, or of stretches of one cord.

use super::lanes::{Lane, Lane3};

/// A symmetric matrix in each lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symmetrics {
    pub xx: Lane,
    pub yy: Lane,
    pub zz: Lane,
    pub xy: Lane,
    pub xz: Lane,
    pub yz: Lane,
}

impl Symmetrics {
    pub const ZERO: Self =
        Self { xx: Lane::ZERO, yy: Lane::ZERO, zz: Lane::ZERO, xy: Lane::ZERO, xz: Lane::ZERO, yz: Lane::ZERO };

    /// a + b n n^T.
    #[inline(always)]
    pub fn along(a: Lane, b: Lane, n: Lane3) -> Self {
        let u = n * b;
        Self {
            xx: u.x.mul_add(n.x, a),
            yy: u.y.mul_add(n.y, a),
            zz: u.z.mul_add(n.z, a),
            xy: u.x * n.y,
            xz: u.x * n.z,
            yz: u.y * n.z,
        }
    }

    #[inline(always)]
    pub fn plus(&self, o: &Self) -> Self {
        Self {
            xx: self.xx + o.xx,
            yy: self.yy + o.yy,
            zz: self.zz + o.zz,
            xy: self.xy + o.xy,
            xz: self.xz + o.xz,
            yz: self.yz + o.yz,
        }
    }

    #[inline(always)]
    pub fn minus(&self, o: &Self) -> Self {
        Self {
            xx: self.xx - o.xx,
            yy: self.yy - o.yy,
            zz: self.zz - o.zz,
            xy: self.xy - o.xy,
            xz: self.xz - o.xz,
            yz: self.yz - o.yz,
        }
    }

    #[inline(always)]
    pub fn columns(&self) -> [Lane3; 3] {
        let Self { xx, yy, zz, xy, xz, yz } = *self;
        [Lane3 { x: xx, y: xy, z: xz }, Lane3 { x: xy, y: yy, z: yz }, Lane3 { x: xz, y: yz, z: zz }]
    }

    #[inline(always)]
    pub fn times(&self, v: Lane3) -> Lane3 {
        let [x, y, z] = self.columns();
        Lane3 { x: x.dot(v), y: y.dot(v), z: z.dot(v) }
    }

    /// self * s + o
    #[inline(always)]
    pub fn mul_add(self, s: Lane, o: Self) -> Self {
        Self {
            xx: self.xx.mul_add(s, o.xx),
            xy: self.xy.mul_add(s, o.xy),
            xz: self.xz.mul_add(s, o.xz),
            yy: self.yy.mul_add(s, o.yy),
            yz: self.yz.mul_add(s, o.yz),
            zz: self.zz.mul_add(s, o.zz),
        }
    }

    /// (1 - n n^T) self (1 - n n^T) for a unit vector or 0.
    #[inline(always)]
    pub fn across(self, n: Lane3) -> Self {
        let u = self.times(n);
        // self - n u^T - u n^T + (n . u) n n^T = self - n v^T - v n^T
        let v = n.mul_add(-(n.dot(u) * Lane::splat(0.5)), u);
        Self {
            xx: self.xx - (n.x * v.x + v.x * n.x),
            xy: self.xy - (n.x * v.y + v.x * n.y),
            xz: self.xz - (n.x * v.z + v.x * n.z),
            yy: self.yy - (n.y * v.y + v.y * n.y),
            yz: self.yz - (n.y * v.z + v.y * n.z),
            zz: self.zz - (n.z * v.z + v.z * n.z),
        }
    }

    /// The inverse, times `factor`.
    #[inline(always)]
    pub fn inverse(&self, factor: Lane) -> Self {
        let Self { xx, yy, zz, xy, xz, yz } = *self;
        let (cxx, cxy, cxz) = (yy.mul_sub(zz, yz * yz), xz.mul_sub(yz, xy * zz), xy.mul_sub(yz, xz * yy));
        let over = factor / xx.mul_add(cxx, xy.mul_add(cxy, xz * cxz));
        Self {
            xx: cxx * over,
            yy: xx.mul_sub(zz, xz * xz) * over,
            zz: xx.mul_sub(yy, xy * xy) * over,
            xy: cxy * over,
            xz: cxz * over,
            yz: xy.mul_sub(xz, xx * yz) * over,
        }
    }

    /// A^T B, if that is symmetric.
    #[inline(always)]
    pub fn product(a: &[Lane3; 3], b: &[Lane3; 3]) -> Self {
        Self {
            xx: a[0].dot(b[0]),
            yy: a[1].dot(b[1]),
            zz: a[2].dot(b[2]),
            xy: a[0].dot(b[1]),
            xz: a[0].dot(b[2]),
            yz: a[1].dot(b[2]),
        }
    }
}
