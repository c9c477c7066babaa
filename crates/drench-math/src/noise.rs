//! Smooth noise in space: gradient noise, its vector form, and divergence-free curl noise for turbulence.

use crate::random::Stream;
use glam::DVec3;

/// Gradient noise at `p`: smooth, zero mean, about -1 to 1, features of unit size.
pub fn gradient(stream: Stream, p: DVec3) -> f64 {
    let cell = p.floor();
    let f = p - cell;
    // Quintic weights: continuous second derivative, so that curl noise has a continuous gradient.
    let w = f * f * f * (f * (f * 6.0 - 15.0) + 10.0);
    let corner = |dx: f64, dy: f64, dz: f64| {
        let offset = DVec3::new(dx, dy, dz);
        let lattice = cell + offset;
        stream.direction(lattice_index(lattice)).dot(f - offset)
    };
    let lerp = |a: f64, b: f64, t: f64| a + (b - a) * t;
    let x = |dy: f64, dz: f64| lerp(corner(0.0, dy, dz), corner(1.0, dy, dz), w.x);
    let y = |dz: f64| lerp(x(0.0, dz), x(1.0, dz), w.y);
    1.5 * lerp(y(0.0), y(1.0), w.z)
}

/// Three independent gradient noises.
pub fn vector(stream: Stream, p: DVec3) -> DVec3 {
    DVec3::new(gradient(stream.child(0), p), gradient(stream.child(1), p), gradient(stream.child(2), p))
}

/// A divergence-free field: the curl of [`vector`], about unit size. Air that swirls but does not gather.
pub fn curl(stream: Stream, p: DVec3) -> DVec3 {
    const H: f64 = 1e-3;
    let d = |axis: DVec3| (vector(stream, p + axis * H) - vector(stream, p - axis * H)) / (2.0 * H);
    let (dx, dy, dz) = (d(DVec3::X), d(DVec3::Y), d(DVec3::Z));
    DVec3::new(dy.z - dz.y, dz.x - dx.z, dx.y - dy.x) * 0.5
}

fn lattice_index(lattice: DVec3) -> u64 {
    // 21 bits an axis; the wrap-around lies 2 million features away.
    let bits = |x: f64| (x as i64 as u64) & 0x1f_ffff;
    bits(lattice.x) | bits(lattice.y) << 21 | bits(lattice.z) << 42
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradient_noise_is_smooth_and_bounded() {
        let stream = Stream::new(1, "noise");
        let step = DVec3::new(1e-4, 0.0, 0.0);
        for i in 0..2_000 {
            let p = stream.direction(i) * 50.0;
            let value = gradient(stream, p);
            assert!(value.abs() < 1.5, "{value}");
            assert!((gradient(stream, p + step) - value).abs() < 1e-3);
        }
    }

    #[test]
    fn curl_noise_has_no_divergence() {
        let stream = Stream::new(2, "curl");
        let h = 1e-2;
        let mut size = 0.0;
        for i in 0..200 {
            let p = stream.direction(i) * 20.0;
            let d = |axis: DVec3| (curl(stream, p + axis * h) - curl(stream, p - axis * h)) / (2.0 * h);
            let divergence = d(DVec3::X).x + d(DVec3::Y).y + d(DVec3::Z).z;
            assert!(divergence.abs() < 2e-2, "{divergence}");
            size += curl(stream, p).length() / 200.0;
        }
        // The field is not trivially zero.
        assert!((0.3..2.0).contains(&size), "{size}");
    }
}
