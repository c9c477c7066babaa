//! Inextensible strands: a model, a state, and one solver per module.
//!
//! | method | module | what it gives |
//! |---|---|---|
//! | `dftl` | [`dftl`] | zero stretch in one pass from root to tip, with a velocity correction [Mueller2012] |
//! | `csm` | [`csm`] | chain shape matching: any stiffness at the same cost, any shape kept [Rungjiratananon2012] |
//! | `pbd` | [`pbd`] | momentum-keeping iterations, fixed or until the stretch is small enough [Mueller2007] |
//!
//! Adding a method: one module with a batch solver, one variant of [`Method`] and its line in each `match` below.

pub mod csm;
pub mod dftl;
pub(crate) mod forces;
mod guard;
pub(crate) mod lanes;
mod model;
pub mod pbd;
mod predict;
mod rod;
pub(crate) mod shape;
mod state;
mod strain;
pub(crate) mod symmetric;

pub(crate) use model::check_topology;
pub use model::{Material, RestShape, StrandModel, Tip};
pub use state::{Roots, StrandScratch, StrandState, Tally, Wet};

use crate::air::{Air, Breeze};
use crate::contact::Collider;
use crate::error::PhysicsError;
use crate::interaction::Interaction;
use forces::Forces;
use glam::{DVec3, Vec3};
use lanes::{Batch, LANES, Lane, Lane3, unit};
use shape::Shape;
use state::Partition;

/// How inextensibility is solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// Dynamic follow-the-leader.
    Dftl(dftl::Parameters),
    /// Position-based dynamics.
    Pbd(pbd::Parameters),
    /// Chain shape matching.
    Csm(csm::Parameters),
}

impl Method {
    pub(crate) fn check(&self, tip: Tip) -> Result<(), PhysicsError> {
        match self {
            Self::Dftl(parameters) => parameters.check(tip),
            Self::Pbd(parameters) => parameters.check(),
            Self::Csm(parameters) => parameters.check(),
        }
    }

    pub(crate) fn carries_pulls(&self) -> bool {
        matches!(self, Self::Dftl(_))
    }
}

/// What surrounds the strands during a substep.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    /// Gravity [m/s2].
    pub gravity: DVec3,
    /// The air.
    pub air: Air,
    /// How the air moves now.
    pub breeze: Breeze<'a>,
    /// Solids to stay out of.
    pub colliders: &'a [Collider<'a>],
}

/// Everything a batch solver reads.
pub(crate) struct Context<'a> {
    model: &'a StrandModel,
    roots: &'a Roots,
    forces: Forces<'a>,
    shape: Option<Shape>,
    colliders: &'a [Collider<'a>],
    /// Empty if the strands are dry.
    wet: &'a [Wet],
    dt: f64,
}

impl Context<'_> {
    /// Masses of four vertices, with their water [kg].
    #[inline(always)]
    fn masses(&self, batch: &Batch, i: usize) -> Lane {
        batch.load_scalar(i, &self.model.masses) * self.loads(batch, i)
    }

    /// Bending stiffness of the joints before four vertices [N/m].
    #[inline(always)]
    fn stiffness(&self, batch: &Batch, i: usize) -> Lane {
        let dry = batch.load_scalar(i, &self.model.stiffness);
        if self.wet.is_empty() { dry } else { dry * batch.load_with(i, |at| f64::from(self.wet[at].stiffness)) }
    }

    /// Directions of four segments at rest, in the frames of those before them.
    #[inline(always)]
    fn rest_direction(&self, batch: &Batch, i: usize) -> Lane3 {
        let dry = batch.load_short(i, 0, &self.model.rest_directions);
        match &self.model.wet {
            Some(wet) if !self.wet.is_empty() => {
                let change = batch.load_with(i, |at| f64::from(self.wet[at].change));
                let wet = batch.load_short(i, 0, &wet.directions);
                unit((wet - dry).mul_add(change, dry))
            }
            _ => dry,
        }
    }

    /// Their masses over what they are when dry.
    #[inline(always)]
    fn loads(&self, batch: &Batch, i: usize) -> Lane {
        if self.wet.is_empty() { Lane::ONE } else { batch.load_with(i, |at| f64::from(self.wet[at].load)) }
    }
}

/// The state of one partition, whose first vertex is `base`.
pub(crate) struct Span<'a> {
    base: usize,
    positions: &'a mut [DVec3],
    velocities: &'a mut [DVec3],
    pulls: &'a mut [Vec3],
}

/// One substep of `dt` seconds of a body: forces, prediction, shape, inextensibility, contact, velocities.
///
/// Afterwards each partition of the scratch holds what its vertices deposit in the interaction grid, if there is one.
pub fn solve(
    model: &StrandModel,
    state: &mut StrandState,
    scratch: &mut StrandScratch,
    roots: &Roots,
    environment: &Environment,
    interaction: Option<&Interaction>,
    dt: f64,
) -> Result<Tally, PhysicsError> {
    check_counts(model, state, scratch, roots)?;
    crate::error::check("dt", dt, "positive", |x| x > 0.0)?;
    let context = Context {
        model,
        roots,
        forces: Forces::new(environment, &model.material, dt),
        shape: Shape::new(model, dt),
        colliders: environment.colliders,
        wet: &scratch.wet,
        dt,
    };
    let span =
        Span { base: 0, positions: &mut state.positions, velocities: &mut state.velocities, pulls: &mut state.pulls };
    split(&context, interaction, 0, span, &mut scratch.partitions);
    if let Some(interaction) = interaction {
        scratch.partitions.iter().try_for_each(|partition| partition.deposit.check(interaction))?;
    }
    Ok(scratch.partitions.iter().fold(Tally::default(), |sum, partition| sum.join(partition.tally)))
}

/// Halves the partitions until one is left, then solves it. No allocation, no dependence on threads.
fn split(context: &Context, interaction: Option<&Interaction>, index: usize, span: Span, partitions: &mut [Partition]) {
    let model = context.model;
    if let [partition] = partitions {
        return solve_partition(context, interaction, index, span, partition);
    }
    let half = partitions.len() / 2;
    let (left, right) = partitions.split_at_mut(half);
    let cut = model.offsets[model.partitions[index + half] as usize] as usize;
    let at = cut - span.base;
    let (left_positions, right_positions) = span.positions.split_at_mut(at);
    let (left_velocities, right_velocities) = span.velocities.split_at_mut(at);
    let (left_pulls, right_pulls) = span.pulls.split_at_mut(at.min(span.pulls.len()));
    let left_span = Span { base: span.base, positions: left_positions, velocities: left_velocities, pulls: left_pulls };
    let right_span = Span { base: cut, positions: right_positions, velocities: right_velocities, pulls: right_pulls };
    rayon::join(
        || split(context, interaction, index, left_span, left),
        || split(context, interaction, index + half, right_span, right),
    );
}

fn solve_partition(
    context: &Context,
    interaction: Option<&Interaction>,
    index: usize,
    mut span: Span,
    partition: &mut Partition,
) {
    let model = context.model;
    let (from, to) = (model.partitions[index] as usize, model.partitions[index + 1] as usize);
    partition.tally = Tally { strands: (to - from) as u64, ..Tally::default() };
    partition.deposit.clear();
    for strand in (from..to).step_by(LANES) {
        let batch = Batch::new(&model.offsets, strand, to);
        match &model.method {
            Method::Dftl(parameters) => dftl::solve(context, parameters, &batch, &mut span, partition),
            Method::Pbd(parameters) => pbd::solve(context, parameters, &batch, &mut span, partition),
            Method::Csm(parameters) => csm::solve(context, parameters, &batch, &mut span, partition),
        }
        if let Some(interaction) = interaction {
            // While the batch is still in the first-level cache.
            let vertices = model.offsets[strand] as usize..model.offsets[strand + batch.strands] as usize;
            let local = vertices.start - span.base..vertices.end - span.base;
            partition.deposit.insert(
                interaction,
                &span.positions[local.clone()],
                &span.velocities[local],
                &model.masses[vertices.clone()],
                context.wet.get(vertices).unwrap_or_default(),
            );
        }
    }
}

fn check_counts(
    model: &StrandModel,
    state: &StrandState,
    scratch: &StrandScratch,
    roots: &Roots,
) -> Result<(), PhysicsError> {
    let (vertices, strands) = (model.vertex_count(), model.strand_count());
    let pulls = if model.method.carries_pulls() { vertices } else { 0 };
    let tips = if model.tip == Tip::Clamped { strands } else { 0 };
    let counts = [
        ("positions", state.positions.len(), vertices),
        ("velocities", state.velocities.len(), vertices),
        ("pulls", state.pulls.len(), pulls),
        ("root positions", roots.positions.len(), strands),
        ("root frames", roots.frames.len(), strands),
        ("root frames before", roots.frames_before.len(), strands),
        ("tips", roots.tips.len(), tips),
        ("wet vertices", scratch.wet.len(), if scratch.wet.is_empty() { 0 } else { vertices }),
    ];
    match counts.into_iter().find(|(_, got, expected)| got != expected) {
        Some((what, got, expected)) => Err(PhysicsError::Count { what, got, expected }),
        None => Ok(()),
    }
}
