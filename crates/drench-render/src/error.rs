//! What can go wrong while pictures are made.

use std::path::PathBuf;

/// Why a picture or movie could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// A side of the picture is zero.
    #[error("a picture of {width} x {height} pixels has no pixels: both sides must be at least 1")]
    NoPixels {
        /// Wanted width [px].
        width: u32,
        /// Wanted height [px].
        height: u32,
    },
    /// The picture has more pixels than the renderer allocates.
    #[error("a picture of {width} x {height} pixels is too large: at most {limit} pixels in all and 16384 a side")]
    TooManyPixels {
        /// Wanted width [px].
        width: u32,
        /// Wanted height [px].
        height: u32,
        /// Most pixels of one picture.
        limit: u64,
    },
    /// The camera cannot see.
    #[error("the camera cannot be placed: {reason}")]
    Camera {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The strands of a frame have more points than can be addressed.
    #[error("the frame's strands need {points} curve points for this picture: at most {limit}")]
    TooManyPoints {
        /// Curve points that would be needed.
        points: u64,
        /// Most curve points of one picture.
        limit: u64,
    },
    /// A frame contradicts itself.
    #[error("`{body}` of the frame is malformed: {reason}")]
    Malformed {
        /// Name of the groom or solid.
        body: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The particles of a liquid have no surface.
    #[error("no surface can be drawn around the particles of `{body}`: {reason}")]
    Surface {
        /// Name of the liquid.
        body: String,
        /// What went wrong.
        reason: String,
    },
    /// A file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Storage {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A picture could not be encoded.
    #[error("cannot encode {}: {reason}", path.display())]
    Encoding {
        /// The file.
        path: PathBuf,
        /// What the encoder says.
        reason: String,
    },
    /// A picture of another size was given to a movie.
    #[error("the movie {} is {width} x {height} pixels, but a picture of {got_width} x {got_height} was added", path.display())]
    MovieSize {
        /// The movie.
        path: PathBuf,
        /// Width of the movie [px].
        width: u32,
        /// Height of the movie [px].
        height: u32,
        /// Width of the picture [px].
        got_width: u32,
        /// Height of the picture [px].
        got_height: u32,
    },
}
