//! Every way in which this crate refuses work.

use thiserror::Error;

/// Why a model could not be built or a step could not be taken.
#[derive(Debug, Error, Clone, PartialEq)]
pub enum PhysicsError {
    /// Offsets must start at 0, never decrease, give every strand at least two vertices and end at the vertex count.
    #[error(
        "strand {strand}: offsets run from {from} to {to} of {vertices} vertices; a strand needs at least 2 vertices"
    )]
    Offsets {
        /// Index of the strand.
        strand: usize,
        /// Its first vertex.
        from: usize,
        /// One past its last vertex.
        to: usize,
        /// Vertices in the body.
        vertices: usize,
    },
    /// An array has the wrong number of entries.
    #[error("{what}: {got} values where {expected} are needed")]
    Count {
        /// Which array.
        what: &'static str,
        /// Entries it has.
        got: usize,
        /// Entries it needs.
        expected: usize,
    },
    /// A segment of the rest shape has no length or is not finite.
    #[error(
        "strand {strand}: segment {segment} of the rest shape has length {length:.3e} m; it must be finite and above 1e-9 m: make `length` larger or `vertices` smaller"
    )]
    Segment {
        /// Index of the strand.
        strand: usize,
        /// Index of the segment in it.
        segment: usize,
        /// Its length [m].
        length: f64,
    },
    /// A clamp cannot hold what it should.
    #[error("clamp {clamp} at vertex {vertex}: {why}")]
    Clamp {
        /// Index of the clamp.
        clamp: usize,
        /// The model's vertex it should hold.
        vertex: u32,
        /// What is wrong, and what to do.
        why: &'static str,
    },
    /// A parameter lies outside its range.
    #[error("{name} = {value}; it must be {range}")]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// What was given.
        value: f64,
        /// What is allowed, in words.
        range: &'static str,
    },
    /// The interaction grid would take more memory than it may.
    #[error(
        "strands spread over more than {limit} blocks of 8 x 8 x 8 cells of {cell:.3e} m; make `cell` larger, such as twice as large"
    )]
    GridTooLarge {
        /// Edge of a cell [m].
        cell: f64,
        /// Blocks that are allowed.
        limit: usize,
    },
    /// More strands touch than can be told apart.
    #[error(
        "more than {limit} pairs of {capsules} segments touch each other; make the `radius` of [collision] smaller, such as a quarter of it, or steps shorter"
    )]
    TooManyPairs {
        /// Segments that collide.
        capsules: usize,
        /// Pairs that are allowed.
        limit: usize,
    },
    /// The grid of wet hair would take more memory than it may.
    #[error(
        "hair spreads over more than {limit} blocks of 4 x 4 x 4 voxels of {voxel:.3e} m; make `voxel` larger, such as twice as large"
    )]
    PorousTooLarge {
        /// Edge of a voxel [m].
        voxel: f64,
        /// Blocks that are allowed.
        limit: usize,
    },
    /// A body moves faster than anything that can be simulated.
    #[error("{body}: strand {strand} moves at {speed:.1e} m/s; try more substeps, or less repulsion, wind or gravity")]
    Runaway {
        /// Name of the body.
        body: String,
        /// A strand that does.
        strand: usize,
        /// Its speed [m/s].
        speed: f64,
    },
    /// A shape that cannot be a rigid body.
    #[error("{body}: {why}")]
    BodyShape {
        /// Name of the body.
        body: String,
        /// What is wrong with it, and what to do.
        why: &'static str,
    },
    /// A rigid body left the realm of finite numbers.
    #[error("{body}: its position or velocity is no longer finite; try more substeps or weaker forces")]
    BodyNotFinite {
        /// Name of the body.
        body: String,
    },
    /// A snapshot of rigid bodies that is damaged or belongs to others.
    #[error("a snapshot of rigid bodies ({bytes} bytes) is damaged or belongs to other bodies")]
    Snapshot {
        /// Its length.
        bytes: usize,
    },
    /// A grain moves faster, or is farther away, than anything that can be simulated.
    #[error(
        "grain {grain} has run away at {speed:.1e} m/s; do grains begin inside each other or inside a solid? Else make them stiffer, or remove what leaves the scene"
    )]
    GrainLost {
        /// Its id.
        grain: u32,
        /// Its speed [m/s].
        speed: f64,
    },
    /// A region for grains that holds none, or too many.
    #[error("about {count} grains fit into the region; {fix}")]
    GrainCount {
        /// How many there would be.
        count: u64,
        /// What to do about it.
        fix: &'static str,
    },
    /// More grains than a body may have.
    #[error(
        "it brings the grains to more than {limit}; let it `stop` earlier, or make its `radius` smaller or that of the grains larger"
    )]
    TooManyPoured {
        /// How many are allowed.
        limit: u64,
    },
    /// More liquid than there may be.
    #[error(
        "emitters bring the liquid to more than {limit} particles; let them `stop` earlier, or make `spacing` larger, or add a [[liquid.drain]]"
    )]
    TooMuchLiquid {
        /// How many are allowed.
        limit: usize,
    },
    /// A liquid whose viscosity cannot be solved explicitly.
    #[error(
        "it is so thick that explicit viscosity would need steps of {step:.1e} s, shorter than the shortest of {shortest:.0e} s; {fix}, or make `spacing` larger"
    )]
    TooThick {
        /// The longest step that is stable [s].
        step: f64,
        /// The shortest that is allowed [s].
        shortest: f64,
        /// What to do about it.
        fix: &'static str,
    },
    /// A body left the realm of finite numbers.
    #[error("{body}: strand {strand} is no longer finite; try more substeps or less repulsion")]
    NotFinite {
        /// Name of the body.
        body: String,
        /// First strand with a value that is not finite.
        strand: usize,
    },
    /// Particles that no neighbour search can hold.
    #[error("{what}: {problem}")]
    Search {
        /// Whose particles.
        what: &'static str,
        /// What the search said.
        problem: String,
    },
}

impl PhysicsError {
    /// What a neighbour search refused.
    pub(crate) fn search(what: &'static str, problem: &drench_geometry::GeometryError) -> Self {
        Self::Search { what, problem: problem.to_string() }
    }
}

/// `value` if it is finite and passes `test`, an error that names it otherwise.
pub(crate) fn check(
    name: &'static str,
    value: f64,
    range: &'static str,
    test: impl Fn(f64) -> bool,
) -> Result<(), PhysicsError> {
    if value.is_finite() && test(value) { Ok(()) } else { Err(PhysicsError::Parameter { name, value, range }) }
}
