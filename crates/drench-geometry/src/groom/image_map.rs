//! Images laid on a mesh by its texture coordinates.

use crate::GeometryError;
use crate::mesh::{SurfacePoint, TriMesh};
use glam::DVec2;
use std::path::{Path, PathBuf};

/// What the numbers in an image file mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Values as they are: density, length and direction maps, where a grey of 128 is one half.
    Data,
    /// Colours with the sRGB curve, made linear.
    Srgb,
}

/// An image in memory.
#[derive(Clone, Debug)]
pub struct ImageMap {
    path: PathBuf,
    width: usize,
    height: usize,
    /// RGBA, 0 to 1, rows from the top.
    pixels: Vec<[f32; 4]>,
}

impl ImageMap {
    /// Reads a PNG or JPEG file.
    pub fn load(path: &Path, encoding: Encoding) -> Result<Self, GeometryError> {
        let read = |source| GeometryError::Read { path: path.into(), source };
        let bytes = std::fs::read(path).map_err(read)?;
        let picture = image::load_from_memory(&bytes)
            .map_err(|error| GeometryError::Image { path: path.into(), problem: error.to_string() })?
            .into_rgba32f();
        let (width, height) = (picture.width() as usize, picture.height() as usize);
        if width == 0 || height == 0 {
            return Err(GeometryError::Image { path: path.into(), problem: "it has no pixels".into() });
        }
        let linear = |x: f32| match encoding {
            Encoding::Data => x,
            Encoding::Srgb if x <= 0.04045 => x / 12.92,
            Encoding::Srgb => ((x + 0.055) / 1.055).powf(2.4),
        };
        let pixels = picture.pixels().map(|p| [linear(p[0]), linear(p[1]), linear(p[2]), p[3]]).collect();
        Ok(Self { path: path.into(), width, height, pixels })
    }

    /// RGBA at texture coordinates: bilinear between pixel centres, repeated beyond 0 to 1, v upwards.
    pub fn sample(&self, uv: DVec2) -> [f64; 4] {
        let wrap = |x: f64| if x.is_finite() { x - x.floor() } else { 0.0 };
        let x = wrap(uv.x) * self.width as f64 - 0.5;
        let y = (1.0 - wrap(uv.y)) * self.height as f64 - 0.5;
        let (fx, fy) = (x - x.floor(), y - y.floor());
        let pixel = |dx: i64, dy: i64| {
            let column = (x.floor() as i64 + dx).rem_euclid(self.width as i64) as usize;
            let row = (y.floor() as i64 + dy).rem_euclid(self.height as i64) as usize;
            self.pixels[row * self.width + column].map(f64::from)
        };
        let (a, b, c, d) = (pixel(0, 0), pixel(1, 0), pixel(0, 1), pixel(1, 1));
        std::array::from_fn(|i| {
            let (top, bottom) = (a[i] + (b[i] - a[i]) * fx, c[i] + (d[i] - c[i]) * fx);
            top + (bottom - top) * fy
        })
    }

    /// Whether the mesh has the texture coordinates that the image needs.
    pub fn fits(&self, mesh: &TriMesh) -> Result<(), GeometryError> {
        if mesh.uvs.len() == mesh.positions.len() && !mesh.uvs.is_empty() {
            return Ok(());
        }
        Err(GeometryError::NoTextureCoordinates { path: self.path.clone() })
    }

    /// RGBA at a point of a mesh that it [fits](Self::fits); transparent black on others.
    pub fn sample_at(&self, mesh: &TriMesh, point: &SurfacePoint) -> [f64; 4] {
        match self.fits(mesh) {
            Ok(()) => self.sample(point.interpolate(&mesh.triangles, &mesh.uvs)),
            Err(_) => [0.0; 4],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives;

    fn checker(folder: &Path) -> PathBuf {
        let path = folder.join("map.png");
        let picture = image::RgbaImage::from_fn(2, 2, |x, y| image::Rgba([255 * (x as u8), 255 * (y as u8), 128, 255]));
        picture.save(&path).unwrap();
        path
    }

    #[test]
    fn pixels_are_where_they_belong_and_blend_between() {
        let folder = tempfile::tempdir().unwrap();
        let map = ImageMap::load(&checker(folder.path()), Encoding::Data).unwrap();
        // Pixel centres; the bottom row of the picture is at small v.
        let at = |u, v| map.sample(DVec2::new(u, v));
        assert_eq!(at(0.25, 0.25)[..2], [0.0, 1.0]);
        assert_eq!(at(0.75, 0.75)[..2], [1.0, 0.0]);
        assert!((at(0.5, 0.5)[0] - 0.5).abs() < 1e-6 && (at(0.5, 0.5)[2] - 128.0 / 255.0).abs() < 1e-6);
        assert_eq!(at(1.25, -0.75), at(0.25, 0.25));
        let srgb = ImageMap::load(&checker(folder.path()), Encoding::Srgb).unwrap();
        assert!((srgb.sample(DVec2::ZERO)[2] - 0.2158).abs() < 1e-3);
    }

    #[test]
    fn missing_and_broken_files_and_absent_uvs_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let missing = ImageMap::load(&folder.path().join("none.png"), Encoding::Data);
        assert!(matches!(missing, Err(GeometryError::Read { .. })));
        let broken = folder.path().join("broken.png");
        std::fs::write(&broken, b"not a picture").unwrap();
        assert!(matches!(ImageMap::load(&broken, Encoding::Data), Err(GeometryError::Image { .. })));
        let map = ImageMap::load(&checker(folder.path()), Encoding::Data).unwrap();
        let mut mesh = primitives::sphere(1.0, 1);
        assert!(map.fits(&mesh).is_ok());
        mesh.uvs.clear();
        assert!(matches!(map.fits(&mesh), Err(GeometryError::NoTextureCoordinates { .. })));
    }
}
