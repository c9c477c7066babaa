//! A finished picture: linear light in, tone-mapped eight-bit sRGB out.

use crate::RenderError;
use rayon::prelude::*;
use std::path::Path;

/// A picture in linear light.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Width [px].
    pub width: u32,
    /// Height [px].
    pub height: u32,
    /// Radiance of each pixel, linear RGB, rows from the top, exposure applied.
    pub pixels: Vec<[f32; 3]>,
    /// How much of each pixel is not background, 0 to 1, or empty if the background is seen. Pixels are multiplied by it.
    pub opacity: Vec<f32>,
    /// Strands, triangles and particles that were left out because a number is not finite.
    pub skipped: u64,
}

impl Picture {
    /// The tone-mapped picture, three bytes a pixel; what is transparent is black.
    pub fn to_srgb8(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.pixels.len() * 3];
        bytes.par_chunks_exact_mut(3).zip(&self.pixels).enumerate().for_each(|(index, (bytes, &pixel))| {
            let (x, y) = (index as u32 % self.width, index as u32 / self.width);
            // Half a step of ordered noise hides the banding of smooth backgrounds.
            let dither = interleaved_noise(x, y) - 0.5;
            let value = tone_map(pixel).map(|value| (srgb(value) * 255.0 + dither + 0.5).clamp(0.0, 255.0) as u8);
            bytes.copy_from_slice(&value);
        });
        bytes
    }

    /// Writes the tone-mapped picture as a PNG file, with transparency if it has any.
    pub fn write_png(&self, path: &Path) -> Result<(), RenderError> {
        let mut encoded = Vec::new();
        let encoder = image::codecs::png::PngEncoder::new(&mut encoded);
        let (bytes, colour) = if self.opacity.is_empty() {
            (self.to_srgb8(), image::ExtendedColorType::Rgb8)
        } else {
            (self.to_srgba8(), image::ExtendedColorType::Rgba8)
        };
        image::ImageEncoder::write_image(encoder, &bytes, self.width, self.height, colour)
            .map_err(|error| RenderError::Encoding { path: path.to_owned(), reason: error.to_string() })?;
        std::fs::write(path, encoded).map_err(|source| RenderError::Storage { path: path.to_owned(), source })
    }

    /// Colour and opacity, four bytes a pixel. PNG wants colours that are not multiplied by the opacity.
    fn to_srgba8(&self) -> Vec<u8> {
        let byte = |value: f32| (value * 255.0 + 0.5).clamp(0.0, 255.0) as u8;
        let pixel = |(&pixel, &opacity): (&[f32; 3], &f32)| {
            let [r, g, b] = tone_map(pixel.map(|value| value / opacity.max(1e-3))).map(|value| byte(srgb(value)));
            [r, g, b, byte(opacity)]
        };
        self.pixels.iter().zip(&self.opacity).flat_map(pixel).collect()
    }
}

/// Filmic tone curve. Part of it acts on each channel, which lets highlights bleach as film does; the rest on the
/// brightness alone, which keeps the hue of coloured hair.
fn tone_map(pixel: [f32; 3]) -> [f32; 3] {
    // Rational fit of the ACES response [Narkowicz2015], scaled so that middle grey stays where it is.
    let curve = |x: f32| {
        let x = x.max(0.0) * 0.72;
        (x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14)).min(1.0)
    };
    let brightness = 0.2126 * pixel[0] + 0.7152 * pixel[1] + 0.0722 * pixel[2];
    if !brightness.is_finite() {
        return [1.0; 3];
    }
    let scale = curve(brightness) / brightness.max(1e-6);
    pixel.map(|value| 0.65 * curve(value) + 0.35 * (value * scale).clamp(0.0, 1.0))
}

/// The sRGB transfer curve.
fn srgb(linear: f32) -> f32 {
    if linear <= 0.003_130_8 { 12.92 * linear } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 }
}

/// A fixed pattern in [0, 1) whose neighbours differ as much as possible [Jimenez2014].
pub(crate) fn interleaved_noise(x: u32, y: u32) -> f32 {
    let value = 0.067_110_56 * x as f32 + 0.005_837_15 * y as f32;
    (52.982_918 * value.fract()).fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(width: u32, height: u32) -> Picture {
        let pixels = (0..width * height).map(|i| [i as f32 / 100.0; 3]).collect();
        Picture { width, height, pixels, opacity: Vec::new(), skipped: 0 }
    }

    #[test]
    fn png_has_the_size_of_the_picture() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ramp.png");
        ramp(31, 17).write_png(&path).unwrap();
        let read = image::open(&path).unwrap();
        assert_eq!((read.width(), read.height()), (31, 17));
    }

    #[test]
    fn transparency_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ramp.png");
        let opacity = vec![0.0, 0.5, 1.0, 1.0];
        Picture { opacity, ..ramp(2, 2) }.write_png(&path).unwrap();
        let read = image::open(&path).unwrap().to_rgba8();
        assert_eq!(read.pixels().map(|p| p.0[3]).collect::<Vec<_>>(), [0, 128, 255, 255]);
    }

    #[test]
    fn unwritable_path_is_named_in_the_error() {
        let error = ramp(2, 2).write_png(Path::new("/nowhere/ramp.png")).unwrap_err();
        assert!(error.to_string().contains("/nowhere/ramp.png"), "{error}");
    }

    #[test]
    fn tone_curve_rises_and_stays_in_range() {
        let mut last = -1.0;
        for step in 0..2_000 {
            let [value, ..] = tone_map([step as f32 * 0.01; 3]);
            assert!((0.0..1.000_01).contains(&value) && value >= last - 1e-6);
            last = value;
        }
        assert_eq!(tone_map([f32::NAN; 3]), [1.0; 3]);
        // Middle grey stays within a few percent of its place.
        assert!((tone_map([0.18; 3])[0] - 0.18).abs() < 0.04, "{:?}", tone_map([0.18; 3]));
    }
}
