//! Movies: H.264 in an MP4 file, written with no external program.

use crate::{Picture, RenderError};
use muxide::api::{Muxer, MuxerBuilder, MuxerError, VideoCodec};
use openh264::encoder::{
    Complexity, Encoder, EncoderConfig, FrameRate, FrameType, IntraFramePeriod, QpRange, RateControlMode, UsageType,
    VuiConfig,
};
use openh264::formats::YUVSlices;
use openh264::{OpenH264API, Timestamp};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Frames between two that can be decoded by themselves, and so be jumped to [s].
const KEY_INTERVAL: f64 = 1.0;

/// Writes pictures one after the other into a movie.
///
/// The file appears under its name when [`MovieWriter::finish`] has succeeded, never half-written. H.264 halves the
/// resolution of colours, so odd sides lose their last row or column.
pub struct MovieWriter {
    path: PathBuf,
    partial: PathBuf,
    encoder: Encoder,
    muxer: Muxer<BufWriter<File>>,
    width: u32,
    height: u32,
    frames_per_second: f64,
    frames: u64,
    bytes: Vec<u8>,
}

impl MovieWriter {
    /// A movie of pictures of this size, shown at this rate [1/s].
    pub fn create(path: &Path, width: u32, height: u32, frames_per_second: f64) -> Result<Self, RenderError> {
        let encoding = |reason: String| RenderError::Encoding { path: path.to_owned(), reason };
        if width < 2 || height < 2 {
            return Err(RenderError::NoPixels { width, height });
        }
        if !(frames_per_second > 0.0 && frames_per_second <= 1000.0) {
            return Err(encoding(format!("a movie cannot show {frames_per_second} frames a second")));
        }
        let (even_width, even_height) = (width & !1, height & !1);
        let config = EncoderConfig::new()
            .max_frame_rate(FrameRate::from_hz(frames_per_second as f32))
            // The same fidelity for every frame, however many bits fur takes. Without rate control the encoder starts
            // from its base step and keeps adaptive ones within the range.
            .rate_control_mode(RateControlMode::Off)
            .adaptive_quantization(true)
            .qp(QpRange::new(18, 22))
            .usage_type(UsageType::CameraVideoRealTime)
            .complexity(Complexity::High)
            .skip_frames(false)
            .background_detection(false)
            .intra_frame_period(IntraFramePeriod::from_num_frames((frames_per_second * KEY_INTERVAL).ceil() as u32))
            // One thread: the file's bits must not depend on the machine.
            .num_threads(1)
            .vui(VuiConfig::bt709());
        let encoder = Encoder::with_api_config(OpenH264API::from_source(), config)
            .map_err(|error| encoding(error.to_string()))?;
        let mut partial = path.as_os_str().to_owned();
        partial.push(".part");
        let partial = PathBuf::from(partial);
        let file = File::create(&partial).map_err(|source| RenderError::Storage { path: partial.clone(), source })?;
        let muxer = MuxerBuilder::new(BufWriter::new(file))
            .video(VideoCodec::H264, even_width, even_height, frames_per_second)
            .build()
            .map_err(|error| encoding(error.to_string()))?;
        Ok(Self {
            path: path.to_owned(),
            partial,
            encoder,
            muxer,
            width,
            height,
            frames_per_second,
            frames: 0,
            bytes: Vec::new(),
        })
    }

    /// Adds a picture.
    pub fn add(&mut self, picture: &Picture) -> Result<(), RenderError> {
        self.add_srgb8(picture.width, picture.height, &picture.to_srgb8())
    }

    /// Adds a picture that is already tone-mapped, three bytes a pixel.
    pub fn add_srgb8(&mut self, width: u32, height: u32, rgb: &[u8]) -> Result<(), RenderError> {
        if (width, height) != (self.width, self.height) || rgb.len() as u64 != u64::from(width) * u64::from(height) * 3
        {
            return Err(RenderError::MovieSize {
                path: self.path.clone(),
                width: self.width,
                height: self.height,
                got_width: width,
                got_height: height,
            });
        }
        let (even_width, even_height) = (width as usize & !1, height as usize & !1);
        let planes = Planes::new(rgb, width as usize, even_width, even_height);
        let time = Timestamp::from_millis((self.frames as f64 * 1000.0 / self.frames_per_second).round() as u64);
        let stream = self
            .encoder
            .encode_at(&planes.slices(even_width, even_height), time)
            .map_err(|error| RenderError::Encoding { path: self.path.clone(), reason: error.to_string() })?;
        let key = matches!(stream.frame_type(), FrameType::IDR | FrameType::I);
        self.bytes.clear();
        stream.write_vec(&mut self.bytes);
        self.muxer
            .write_video(self.frames as f64 / self.frames_per_second, &self.bytes, key)
            .map_err(|error| muxing(&self.path, error))?;
        self.frames += 1;
        Ok(())
    }

    /// Pictures so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Completes the file and gives it its name.
    pub fn finish(mut self) -> Result<(), RenderError> {
        let storage = |source| RenderError::Storage { path: self.path.clone(), source };
        self.muxer.finish_in_place().map_err(|error| muxing(&self.path, error))?;
        let mut writer = self.muxer.into_writer();
        writer.flush().map_err(storage)?;
        writer.get_ref().sync_all().map_err(storage)?;
        std::fs::rename(&self.partial, &self.path).map_err(storage)
    }
}

fn muxing(path: &Path, error: MuxerError) -> RenderError {
    match error {
        MuxerError::Io(source) => RenderError::Storage { path: path.to_owned(), source },
        other => RenderError::Encoding { path: path.to_owned(), reason: other.to_string() },
    }
}

/// A picture as brightness and two colour differences of half the resolution.
struct Planes {
    y: Vec<u8>,
    u: Vec<u8>,
    v: Vec<u8>,
}

impl Planes {
    /// BT.709 with studio range, as the stream's header says.
    fn new(rgb: &[u8], stride: usize, width: usize, height: usize) -> Self {
        let pixel = |x: usize, y: usize| {
            let i = (y * stride + x) * 3;
            [f32::from(rgb[i]), f32::from(rgb[i + 1]), f32::from(rgb[i + 2])]
        };
        let luma = |[r, g, b]: [f32; 3]| 0.2126 * r + 0.7152 * g + 0.0722 * b;
        let mut planes = Self { y: Vec::with_capacity(width * height), u: Vec::new(), v: Vec::new() };
        for y in 0..height {
            planes.y.extend((0..width).map(|x| (16.0 + luma(pixel(x, y)) * (219.0 / 255.0) + 0.5) as u8));
        }
        for y in (0..height).step_by(2) {
            for x in (0..width).step_by(2) {
                let four = [pixel(x, y), pixel(x + 1, y), pixel(x, y + 1), pixel(x + 1, y + 1)];
                let mean = [0, 1, 2].map(|c| four.iter().map(|p| p[c]).sum::<f32>() * 0.25);
                let scale = 224.0 / 255.0;
                planes.u.push((128.0 + (mean[2] - luma(mean)) / 1.8556 * scale + 0.5) as u8);
                planes.v.push((128.0 + (mean[0] - luma(mean)) / 1.5748 * scale + 0.5) as u8);
            }
        }
        planes
    }

    fn slices(&self, width: usize, height: usize) -> YUVSlices<'_> {
        YUVSlices::new((&self.y, &self.u, &self.v), (width, height), (width, width / 2, width / 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openh264::decoder::Decoder;
    use openh264::formats::YUVSource;

    fn picture(width: u32, height: u32, frame: u32) -> Vec<u8> {
        (0..width * height)
            .flat_map(|i| {
                let (x, y) = (i % width, i / width);
                let wave = |k: f32| (128.0 + 90.0 * ((x + frame * 3) as f32 * 0.1 * k + y as f32 * 0.05).sin()) as u8;
                [wave(1.0), wave(0.7), wave(0.4)]
            })
            .collect()
    }

    /// The frames of the file: sizes from `stsz`, bytes from `mdat`, each a chain of length-prefixed units.
    fn samples(file: &[u8]) -> Vec<Vec<u8>> {
        let find = |name: &[u8]| file.windows(4).position(|w| w == name).unwrap() + 4;
        let number = |at: usize| u32::from_be_bytes(file[at..at + 4].try_into().unwrap()) as usize;
        let (sizes, offsets) = (find(b"stsz"), find(b"stco"));
        let mut at = number(offsets + 8);
        (0..number(sizes + 8))
            .map(|k| {
                let size = number(sizes + 12 + 4 * k);
                let sample = file[at..at + size].to_vec();
                at += size;
                sample
            })
            .collect()
    }

    fn annex_b(sample: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut rest = sample;
        while rest.len() > 4 {
            let length = u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
            out.extend([0, 0, 0, 1]);
            out.extend(&rest[4..4 + length]);
            rest = &rest[4 + length..];
        }
        out
    }

    #[test]
    fn a_movie_decodes_to_its_pictures() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wave.mp4");
        let (width, height, frames) = (161, 91, 30);
        let mut movie = MovieWriter::create(&path, width, height, 24.0).unwrap();
        for k in 0..frames {
            movie.add_srgb8(width, height, &picture(width, height, k)).unwrap();
        }
        assert_eq!(movie.frames(), u64::from(frames));
        assert!(!path.exists());
        movie.finish().unwrap();
        let file = std::fs::read(&path).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);

        // Duration: frames at 24 a second, in the media's 90 000 ticks.
        let at = file.windows(4).position(|w| w == b"mdhd").unwrap() + 4;
        let number = |at: usize| u32::from_be_bytes(file[at..at + 4].try_into().unwrap());
        assert_eq!(number(at + 12), 90_000);
        assert!((f64::from(number(at + 16)) / 90_000.0 - 30.0 / 24.0).abs() < 1e-3, "{}", number(at + 16));

        let samples = samples(&file);
        assert_eq!(samples.len(), frames as usize);
        let mut decoder = Decoder::new().unwrap();
        // Parameter sets stand in the header box `avcC`.
        let at = file.windows(4).position(|w| w == b"avcC").unwrap() + 4;
        let sps = u16::from_be_bytes([file[at + 6], file[at + 7]]) as usize;
        let pps_at = at + 8 + sps + 1;
        let pps = u16::from_be_bytes([file[pps_at], file[pps_at + 1]]) as usize;
        let mut head = vec![0, 0, 0, 1];
        head.extend(&file[at + 8..at + 8 + sps]);
        head.extend([0, 0, 0, 1]);
        head.extend(&file[pps_at + 2..pps_at + 2 + pps]);
        let mut decoded = 0;
        for (k, sample) in samples.iter().enumerate() {
            let mut stream = if k == 0 { head.clone() } else { Vec::new() };
            stream.extend(annex_b(sample));
            let Some(image) = decoder.decode(&stream).unwrap() else { continue };
            assert_eq!(image.dimensions(), (160, 90));
            let planes = Planes::new(&picture(width, height, k as u32), width as usize, 160, 90);
            let stride = image.strides().0;
            let error: f64 = (0..160 * 90)
                .map(|i| f64::from(planes.y[i]) - f64::from(image.y()[i / 160 * stride + i % 160]))
                .map(|d| d * d)
                .sum::<f64>()
                / (160.0 * 90.0);
            assert!(error.sqrt() < 4.0, "frame {k}: {}", error.sqrt());
            decoded += 1;
        }
        assert_eq!(decoded, frames);
    }

    #[test]
    fn bad_movies_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.mp4");
        assert!(MovieWriter::create(&path, 1, 90, 24.0).is_err());
        assert!(MovieWriter::create(&path, 160, 90, f64::NAN).is_err());
        let error = MovieWriter::create(Path::new("/nowhere/m.mp4"), 160, 90, 24.0).err().unwrap();
        assert!(error.to_string().contains("/nowhere/m.mp4"), "{error}");
        let mut movie = MovieWriter::create(&path, 160, 90, 24.0).unwrap();
        assert!(movie.add_srgb8(80, 90, &[0; 80 * 90 * 3]).is_err());
    }
}
