//! Every way in which a simulation is refused or stops.

use drench_geometry::GeometryError;
use drench_physics::PhysicsError;
use thiserror::Error;

/// Why a simulation could not be built, restored or continued.
#[derive(Debug, Error)]
pub enum SimError {
    /// A solid's mesh or field could not be made.
    #[error("solid \"{solid}\": {source}")]
    Solid {
        /// Name of the solid.
        solid: String,
        /// What is wrong.
        source: GeometryError,
    },
    /// Hair that cannot get wet as the scene says.
    #[error("wet hair: {0}")]
    Wetting(PhysicsError),
    /// A groom could not be grown.
    #[error("groom \"{groom}\": {source}")]
    Groom {
        /// Name of the groom.
        groom: String,
        /// What is wrong.
        source: GeometryError,
    },
    /// A groom names a part of its solid that does not exist.
    #[error("groom \"{groom}\": solid \"{solid}\" has no {what} \"{name}\"; {available}")]
    UnknownPart {
        /// Name of the groom.
        groom: String,
        /// Name of its solid.
        solid: String,
        /// What was looked for: a face group, a vertex group.
        what: &'static str,
        /// Its name.
        name: String,
        /// Which ones there are, as a sentence.
        available: String,
    },
    /// A map needs something that the mesh does not have.
    #[error("groom \"{groom}\": a map needs {what}, which solid \"{solid}\" does not have; {fix}")]
    MissingAttribute {
        /// Name of the groom.
        groom: String,
        /// Name of its solid.
        solid: String,
        /// What is missing, in the plural.
        what: &'static str,
        /// What to do about it.
        fix: &'static str,
    },
    /// An expression gave something that is no number.
    #[error(
        "groom \"{groom}\": the expression `{expression}` is {value} at vertex {vertex}; keep it finite over the whole surface"
    )]
    Expression {
        /// Name of the groom.
        groom: String,
        /// The formula.
        expression: String,
        /// What it gave.
        value: f64,
        /// Vertex of the solid's mesh.
        vertex: usize,
    },
    /// A groom without strands.
    #[error("groom \"{groom}\" has 0 strands; make `spacing` smaller, `density` larger, or choose other faces")]
    NoStrands {
        /// Name of the groom.
        groom: String,
    },
    /// More strands or children than should be asked for.
    #[error("groom \"{groom}\": about {count} {what} are more than the limit of {limit}; {fix}")]
    TooManyStrands {
        /// Name of the groom.
        groom: String,
        /// Strands or children.
        what: &'static str,
        /// How many there would be.
        count: u64,
        /// How many are allowed.
        limit: u64,
        /// What to do about it.
        fix: &'static str,
    },
    /// More than memory should be asked for.
    #[error(
        "groom \"{groom}\": with it the scene has about {vertices} vertices, more than the limit of {limit}; make `spacing` larger, or `strands` or `vertices` smaller"
    )]
    TooManyVertices {
        /// Name of the groom.
        groom: String,
        /// How many there would be, with those of the grooms before it.
        vertices: u64,
        /// How many are allowed.
        limit: u64,
    },
    /// A parameter that a physical model refuses.
    #[error("groom \"{groom}\": {source}")]
    Model {
        /// Name of the groom.
        groom: String,
        /// What is wrong.
        source: PhysicsError,
    },
    /// The boundary of a solid cannot be sampled for the interaction grid.
    #[error(
        "solid \"{solid}\": `boundary` of [interaction] needs a sample every half cell: {source}; make `cell` larger or leave `boundary` out"
    )]
    Boundary {
        /// Name of the solid.
        solid: String,
        /// What is wrong.
        source: GeometryError,
    },
    /// A body of grains that cannot be made.
    #[error("grains \"{grains}\": {source}")]
    Grains {
        /// Name of the body.
        grains: String,
        /// Which fill or pour of it is meant, from 0, if one is.
        part: Option<(&'static str, usize)>,
        /// What is wrong.
        source: PhysicsError,
    },
    /// A liquid that cannot be made.
    #[error("[liquid]: {0}")]
    Liquid(PhysicsError),
    /// A fill that holds no liquid.
    #[error(
        "[liquid]: fill {} holds no particle of {spacing} m, because it is smaller than that, or inside a solid or an earlier fill; make `spacing` smaller, or the fill larger, or move it",
        .fill + 1
    )]
    EmptyFill {
        /// Which one, from 0.
        fill: usize,
        /// Distance of particles [m].
        spacing: f64,
    },
    /// A container that is too small for the particles.
    #[error(
        "solid \"{solid}\": the room inside is {size:.3} m wide, less than 4 particles of the liquid ({spacing} m); make `spacing` of [liquid] smaller, or the solid larger"
    )]
    SmallContainer {
        /// Name of the solid.
        solid: String,
        /// Width of the room [m].
        size: f64,
        /// Distance of particles [m].
        spacing: f64,
    },
    /// An emitter that has no room.
    #[error("[liquid]: emitter {} is inside {solid}; move it out, or set `collide = false` there", .emitter + 1)]
    EmitterInside {
        /// Which one, from 0.
        emitter: usize,
        /// What it is inside of.
        solid: String,
    },
    /// An emitter that nothing, or too much, can come out of.
    #[error("[liquid]: emitter {}: {source}", .emitter + 1)]
    Emitter {
        /// Which one, from 0.
        emitter: usize,
        /// What is wrong.
        source: PhysicsError,
    },
    /// A pour that has no room.
    #[error("grains \"{grains}\": pour {} is inside {solid}; move it out, or set `collide = false` there", .pour + 1)]
    PourInside {
        /// Name of the body.
        grains: String,
        /// Which one, from 0.
        pour: usize,
        /// What it is inside of.
        solid: String,
    },
    /// A solid that cannot be sampled for the liquid.
    #[error(
        "solid \"{solid}\": liquid of spacing {spacing} m needs samples of its surface: {source}; make `spacing` of [liquid] larger, or the solid not collide"
    )]
    Wall {
        /// Name of the solid.
        solid: String,
        /// Distance of particles [m].
        spacing: f64,
        /// What is wrong.
        source: GeometryError,
    },
    /// A solid that is moved to nowhere.
    #[error(
        "solid \"{solid}\": its motion gives the position ({x}, {y}, {z}) at {time:.6} s; correct its `motion`, or that of its parents, so that it is a number of sensible size at every time"
    )]
    Motion {
        /// Name of the solid.
        solid: String,
        /// When [s].
        time: f64,
        /// Position along x [m].
        x: f64,
        /// Position along y [m].
        y: f64,
        /// Position along z [m].
        z: f64,
    },
    /// A cord that cannot be made.
    #[error("cord \"{cord}\": {source}")]
    Cord {
        /// Name of the cord.
        cord: String,
        /// What is wrong.
        source: PhysicsError,
    },
    /// More than memory should be asked for.
    #[error(
        "cord \"{cord}\": with it the scene's cords have {segments} segments, more than the limit of {limit}; make `segments` smaller"
    )]
    TooManySegments {
        /// Name of the cord.
        cord: String,
        /// Segments of it and the cords before it.
        segments: u64,
        /// How many are allowed.
        limit: u64,
    },
    /// A mesh that deforms cannot hold a cord.
    #[error(
        "cord \"{cord}\": a clamp holds it to \"{solid}\", whose mesh deforms; clamp it to a rigid solid, or to nothing"
    )]
    DeformingHolder {
        /// Name of the cord.
        cord: String,
        /// Name of the solid.
        solid: String,
    },
    /// A mesh that deforms cannot be a rigid body.
    #[error(
        "solid \"{solid}\": its mesh deforms, so it cannot be a rigid body; leave out `body`, or use a mesh without animation"
    )]
    DeformingBody {
        /// Name of the solid.
        solid: String,
    },
    /// Rigid bodies that cannot be made.
    #[error("rigid body {0}")]
    Bodies(PhysicsError),
    /// The interaction's parameters are refused.
    #[error("[interaction]: {0}")]
    Interaction(PhysicsError),
    /// Collisions that cannot be resolved.
    #[error("[collision]: {0}")]
    Collision(PhysicsError),
    /// Numbers ran away.
    #[error("diverged at {time:.4} s in stage \"{stage}\": {source}")]
    Diverged {
        /// Simulated time [s].
        time: f64,
        /// Stage of the step.
        stage: &'static str,
        /// Which body, and where.
        source: PhysicsError,
    },
    /// A checkpoint that does not belong to this scene, or is damaged.
    #[error("the checkpoint does not fit this scene: {0}; start anew with --force")]
    Checkpoint(String),
}

impl SimError {
    /// What of the scene it is about: keys, names and numbers from the root down. Empty if it is about nothing in particular.
    pub fn steps(&self) -> Vec<String> {
        // The name of a parameter is the key that sets it, where there is such a key.
        let parameter = |source: &PhysicsError| match source {
            PhysicsError::Parameter { name, .. } => (*name).to_owned(),
            PhysicsError::TooThick { .. } => "spacing".to_owned(),
            _ => String::new(),
        };
        let named = |kind: &str, name: &str| vec![kind.to_owned(), name.to_owned()];
        let numbered = |key: &str, number: usize| vec!["liquid".to_owned(), key.to_owned(), number.to_string()];
        match self {
            Self::Solid { solid, .. }
            | Self::Boundary { solid, .. }
            | Self::Wall { solid, .. }
            | Self::Motion { solid, .. }
            | Self::DeformingBody { solid } => named("solid", solid),
            Self::Groom { groom, .. }
            | Self::UnknownPart { groom, .. }
            | Self::MissingAttribute { groom, .. }
            | Self::Expression { groom, .. }
            | Self::NoStrands { groom }
            | Self::TooManyStrands { groom, .. }
            | Self::TooManyVertices { groom, .. }
            | Self::Model { groom, .. } => named("groom", groom),
            Self::Cord { cord, .. } | Self::TooManySegments { cord, .. } | Self::DeformingHolder { cord, .. } => {
                named("cord", cord)
            }
            Self::Grains { grains, part, source } => {
                let part = part.map(|(key, number)| [key.to_owned(), number.to_string()]);
                named("grains", grains)
                    .into_iter()
                    .chain(part.into_iter().flatten())
                    .chain([parameter(source)])
                    .collect()
            }
            Self::Liquid(source) => named("liquid", &parameter(source)),
            Self::EmptyFill { fill, .. } => numbered("fill", *fill),
            Self::SmallContainer { .. } => named("liquid", "spacing"),
            Self::Emitter { emitter, source } => {
                numbered("emitter", *emitter).into_iter().chain([parameter(source)]).collect()
            }
            Self::EmitterInside { emitter, .. } => {
                numbered("emitter", *emitter).into_iter().chain(["position".to_owned()]).collect()
            }
            Self::PourInside { grains, pour, .. } => {
                let part = ["pour".to_owned(), pour.to_string(), "position".to_owned()];
                named("grains", grains).into_iter().chain(part).collect()
            }
            Self::Wetting(source) => named("wetting", &parameter(source)),
            Self::Interaction(source) => named("interaction", &parameter(source)),
            Self::Collision(_) => named("collision", "radius"),
            Self::Bodies(_) | Self::Diverged { .. } | Self::Checkpoint(_) => Vec::new(),
        }
    }

    /// Whether the simulation itself ran away, rather than its input being wrong.
    pub fn is_divergence(&self) -> bool {
        matches!(self, Self::Diverged { .. })
    }
}
