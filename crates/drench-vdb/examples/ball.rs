//! Writes a ball, its velocity and a fog: `ball FILE`.

use drench_vdb::{Class, VdbError, level_set, mean_of_points, write};

/// Where the ball is [m].
const CENTRE: [f32; 3] = [0.1, -0.2, 0.3];
const RADIUS: f32 = 0.5;

fn main() -> Result<(), VdbError> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "ball.vdb".into());
    let (positions, triangles) = ball(64);
    let surface = level_set("surface", &positions, &triangles, 0.02)?;
    // Everything turns about the y axis, once in 2 pi seconds.
    let turning = positions.iter().map(|&[x, y, z]| ([x, y, z], [z, 0.0, -x]));
    let velocity = mean_of_points("velocity", Class::Plain, 0.02, 0.05, turning)?;
    let wetness = mean_of_points("wetness", Class::Fog, 0.02, 0.03, positions.iter().map(|&p| (p, 0.75)))?;
    println!("{} {} {}", surface.active_voxels(), velocity.active_voxels(), wetness.active_voxels());
    write(path.as_ref(), &[&surface, &velocity, &wetness])
}

/// A ball of `n` slices.
fn ball(n: u32) -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
    let mut positions = Vec::new();
    for ring in 0..=n {
        let latitude = std::f32::consts::PI * ring as f32 / n as f32;
        for slice in 0..2 * n {
            let longitude = std::f32::consts::PI * slice as f32 / n as f32;
            let unit = [latitude.sin() * longitude.cos(), latitude.cos(), latitude.sin() * longitude.sin()];
            positions.push([0, 1, 2].map(|axis| CENTRE[axis] + RADIUS * unit[axis]));
        }
    }
    let mut triangles = Vec::new();
    for ring in 0..n {
        for slice in 0..2 * n {
            let next = (slice + 1) % (2 * n);
            let [a, b] = [slice, next].map(|slice| ring * 2 * n + slice);
            let [c, d] = [a + 2 * n, b + 2 * n];
            triangles.extend([[a, b, c], [b, d, c]]);
        }
    }
    (positions, triangles)
}
