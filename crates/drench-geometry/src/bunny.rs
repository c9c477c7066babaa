//! The Stanford bunny, from `assets/bunny.bin` (source and layout: `assets/README.md`).

use crate::TriMesh;
use glam::DVec3;

static ASSET: &[u8] = include_bytes!("../../../assets/bunny.bin");

/// The bunny, `height` [m] from its feet to the tips of its ears.
///
/// It stands on y = 0 with the middle of its box on the y axis, looks along +z with its head turned a little to its
/// left (+x), is closed and has 3 674 triangles; [`crate::subdivide::loop_subdivide`] makes it smooth.
pub fn bunny(height: f64) -> TriMesh {
    let (header, body) = ASSET.split_at(8);
    let count = |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, &byte| (sum << 8) | usize::from(byte));
    let (positions, triangles) = body.split_at(6 * count(&header[..4]));
    let triple = |bytes: &[u8]| [0, 2, 4].map(|k| u16::from_le_bytes([bytes[k], bytes[k + 1]]));
    let mut mesh = TriMesh {
        positions: positions.chunks_exact(6).map(|bytes| DVec3::from(triple(bytes).map(f64::from))).collect(),
        triangles: triangles.chunks_exact(6).map(|bytes| triple(bytes).map(u32::from)).collect(),
        ..TriMesh::default()
    };
    let (low, high) = mesh.bounds();
    let base = DVec3::new(0.5 * (low.x + high.x), low.y, 0.5 * (low.z + high.z));
    let scale = height / (high.y - low.y);
    for p in &mut mesh.positions {
        *p = (*p - base) * scale;
    }
    mesh.compute_normals();
    mesh
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn the_bunny_is_whole_and_stands_on_the_ground() {
        let mut mesh = bunny(0.25);
        let topology = mesh.topology();
        assert!(topology.is_closed());
        assert_eq!((topology.vertices, topology.triangles, topology.euler_characteristic()), (1839, 3674, 2));
        assert!(mesh.volume() > 0.0);
        assert!(mesh.clean("bunny").unwrap().is_empty());
        let (low, high) = mesh.bounds();
        assert_eq!(low.y, 0.0);
        assert_relative_eq!(high.y, 0.25, epsilon = 1e-12);
        assert_relative_eq!(low.x + high.x, 0.0, epsilon = 1e-12);
        assert_relative_eq!(low.z + high.z, 0.0, epsilon = 1e-12);
        // It looks along +z: the upper half, head and ears, is in front.
        let upper: Vec<f64> = mesh.positions.iter().filter(|p| p.y > 0.18).map(|p| p.z).collect();
        assert!(upper.iter().sum::<f64>() / upper.len() as f64 > 0.03);
    }

    #[test]
    fn the_asset_has_the_documented_length() {
        assert_eq!(ASSET.len(), 8 + 6 * 1839 + 6 * 3674);
    }
}
