//! What can go wrong with geometry: one variant per cause, with the numbers in it and the way out.

use std::path::PathBuf;
use thiserror::Error;

/// Every way in which meshes, their files and what grows on them can be refused.
#[derive(Debug, Error)]
pub enum GeometryError {
    /// A file could not be read.
    #[error("cannot read {path}: {source}; check the path (it is relative to the scene file) and its permissions", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A file's extension is none that can be loaded.
    #[error("{path}: cannot load a mesh from {extension}; use an .obj, .ply, .stl, .gltf or .glb file", path = path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// The extension as written, or a phrase saying that there is none.
        extension: String,
    },
    /// A file's extension is none that strands can be loaded from.
    #[error("{path}: cannot load strands from {extension}; use an .abc, .hair, .obj, .usda or .usdc file", path = path.display())]
    UnknownGroomFormat {
        /// The file.
        path: PathBuf,
        /// The extension as written, or a phrase saying that there is none.
        extension: String,
    },
    /// A file does not follow its format.
    #[error("{path}: {place}: {problem}; {fix}", path = path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Line, element or byte where reading stopped.
        place: String,
        /// What was found there.
        problem: String,
        /// What to do about it.
        fix: String,
    },
    /// A mesh without any triangle of positive area.
    #[error("{origin}: the mesh has no triangles{reason}; export it with faces, not only points or lines")]
    NoTriangles {
        /// File or shape that the mesh comes from.
        origin: String,
        /// Why none is left, or empty.
        reason: String,
    },
    /// A coordinate that is NaN or infinite.
    #[error(
        "{origin}: vertex {vertex} has the {attribute} ({x}, {y}, {z}), which is not finite; repair the vertex or export the mesh again"
    )]
    NotFinite {
        /// File or shape that the mesh comes from.
        origin: String,
        /// Number of the vertex, from 0.
        vertex: usize,
        /// Which attribute of the vertex.
        attribute: &'static str,
        /// First coordinate.
        x: f64,
        /// Second coordinate.
        y: f64,
        /// Third coordinate.
        z: f64,
    },
    /// A triangle that names a vertex which does not exist.
    #[error(
        "{origin}: triangle {triangle} names vertex {index}, but there are only {vertices} vertices (numbered from 0); export the mesh again"
    )]
    IndexOutOfRange {
        /// File or shape that the mesh comes from.
        origin: String,
        /// Number of the triangle, from 0.
        triangle: usize,
        /// The index that points nowhere.
        index: u32,
        /// How many vertices there are.
        vertices: usize,
    },
    /// An attribute array, or a group, that does not match the mesh.
    #[error("{origin}: {attribute} has {found} entries where the mesh has {expected}; export the mesh again")]
    AttributeLength {
        /// File or shape that the mesh comes from.
        origin: String,
        /// Name of the attribute or group.
        attribute: String,
        /// Entries in the attribute.
        found: usize,
        /// Entries needed.
        expected: usize,
    },
    /// More of something than is allowed, found before memory was taken for it.
    #[error("{origin}: {count} {what} are more than the limit of {limit}; {fix}")]
    TooMany {
        /// File, shape or stage that asks for them.
        origin: String,
        /// What is counted, in the plural.
        what: &'static str,
        /// How many there would be.
        count: u64,
        /// How many are allowed.
        limit: u64,
        /// What to do about it.
        fix: &'static str,
    },
    /// A parameter outside its range.
    #[error("{parameter} is {value:?}, but must be {expected}")]
    InvalidParameter {
        /// Name of the parameter.
        parameter: &'static str,
        /// Its value.
        value: f64,
        /// The range, in words.
        expected: &'static str,
    },
    /// A mesh so large, so small or so far away that metres cannot be what it is measured in.
    #[error(
        "the mesh is {size:.3e} m large and reaches {reach:.3e} m from its origin, where 1e-6 to 1e6 m make sense; set `unit` to the length of the file's unit [m], or `scale`"
    )]
    OutOfScale {
        /// Longest edge of its bounding box [m].
        size: f64,
        /// Largest coordinate [m].
        reach: f64,
    },
    /// An animation that the file does not have.
    #[error("{path}: there is no animation \"{name}\"; {available}", path = path.display())]
    UnknownAnimation {
        /// The file.
        path: PathBuf,
        /// The animation asked for.
        name: String,
        /// Which ones there are, as a sentence.
        available: String,
    },

    /// A point that the neighbour search cannot hold: not finite, or too far from the others for its cells.
    #[error(
        "point {point} at ({x:.3e}, {y:.3e}, {z:.3e}) m is not finite, or more than two million cells of {cell:.3e} m away from others; something has run away: try more substeps, or let a drain take what leaves the scene"
    )]
    Scattered {
        /// Number of the point, from 0.
        point: usize,
        /// First coordinate [m].
        x: f64,
        /// Second coordinate [m].
        y: f64,
        /// Third coordinate [m].
        z: f64,
        /// Edge of a cell [m].
        cell: f64,
    },

    // Sampling, distance fields and grooms.
    /// A Poisson-disk set that would be larger than allowed, found before any work.
    #[error(
        "a distance of {distance:.3e} m between samples would make about {expected:.2e} of them, more than the limit of {limit}; use at least {fitting:.3e} m"
    )]
    TooManySamples {
        /// Distance asked for [m].
        distance: f64,
        /// Samples it would make.
        expected: f64,
        /// Samples allowed.
        limit: usize,
        /// Distance that makes as many as are allowed [m].
        fitting: f64,
    },
    /// A face that the mesh does not have.
    #[error("face {face} is asked for, but the mesh has only {triangles} triangles (numbered from 0)")]
    NoSuchFace {
        /// The face.
        face: u32,
        /// Triangles of the mesh.
        triangles: usize,
    },
    /// Triangles so long and thin that covering them takes too many pieces.
    #[error(
        "the triangles are too long and thin to be sampled every {distance:.3e} m: cutting them makes more than {pieces} pieces; remesh the surface or use a larger distance"
    )]
    SliverTriangles {
        /// Distance between samples [m].
        distance: f64,
        /// Pieces allowed.
        pieces: u64,
    },
    /// A distance field that would take more memory than allowed, found before any is taken.
    #[error(
        "a distance field with cells of {cell:.3e} m needs {needed} bytes, more than the limit of {limit}; set `field_cell` to at least {fitting:.3e} m"
    )]
    FieldTooLarge {
        /// Cell asked for [m].
        cell: f64,
        /// Bytes it needs.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
        /// Cell that fits [m].
        fitting: f64,
    },
    /// An image that cannot be decoded.
    #[error("cannot decode the image {path}: {problem}; use an 8 or 16 bit PNG or a JPEG", path = path.display())]
    Image {
        /// The file.
        path: PathBuf,
        /// What the decoder said.
        problem: String,
    },
    /// An image map on a mesh without texture coordinates.
    #[error("the image {path} cannot be laid on the mesh: it has no texture coordinates; export it with uvs, or use a vertex colour or vertex group", path = path.display())]
    NoTextureCoordinates {
        /// The file.
        path: PathBuf,
    },
    /// A groom without a single root.
    #[error(
        "no hair grows: the chosen faces have no area, or the density or length map is zero on all of them; check the face groups and the maps"
    )]
    NoRoots,
}
