//! What changes: the state that a checkpoint holds, the roots that the caller moves, and scratch.

use super::lanes::{LANES, Lane, Lane3};
use super::rod::Row;
use super::{StrandModel, csm, strain};
use crate::interaction::{Deposit, Room};
use glam::{DQuat, DVec3, Vec3};
use std::sync::Arc;

/// Everything about a body of strands that persists from step to step.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct StrandState {
    /// Positions [m].
    pub positions: Vec<DVec3>,
    /// Velocities [m/s].
    pub velocities: Vec<DVec3>,
    /// Acceleration that each vertex owes to its successor's last correction [m/s2]; empty unless the method is `dftl`.
    ///
    /// [Mueller2012] adds this to the velocity. Kept apart, the velocity stays the motion one sees: air, friction and
    /// energy would otherwise act on a strand that hangs at rest.
    pub pulls: Vec<Vec3>,
}

impl StrandState {
    /// At rest at the given positions [m].
    pub fn at_rest(model: &StrandModel, positions: Vec<DVec3>) -> Self {
        let vertices = positions.len();
        let pulls = if model.method().carries_pulls() { vec![Vec3::ZERO; vertices] } else { Vec::new() };
        Self { positions, velocities: vec![DVec3::ZERO; vertices], pulls }
    }

    /// Bytes the state holds.
    pub fn memory(&self) -> usize {
        (self.positions.len() + self.velocities.len()) * 24 + self.pulls.len() * 12
    }
}

/// Where strands are held, at the end of the substep; the caller moves them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Roots {
    /// Root positions [m], one a strand.
    pub positions: Vec<DVec3>,
    /// Rotation from the coordinates of the rest shape to the world, one a strand.
    pub frames: Vec<DQuat>,
    /// The same rotation at the beginning of the substep.
    pub frames_before: Vec<DQuat>,
    /// Positions of clamped tips [m], one a strand; empty if tips are free.
    pub tips: Vec<DVec3>,
}

impl Roots {
    /// Roots at these positions with frames as at rest.
    pub fn at_rest(positions: Vec<DVec3>) -> Self {
        let frames = vec![DQuat::IDENTITY; positions.len()];
        Self { frames_before: frames.clone(), frames, positions, tips: Vec::new() }
    }

    /// Makes the frames of now the frames before; call it before writing the next ones.
    pub fn advance(&mut self) {
        self.frames_before.copy_from_slice(&self.frames);
    }
}

/// Working memory of a body; may be dropped and rebuilt between steps without changing a bit.
#[derive(Debug)]
pub struct StrandScratch {
    pub(crate) partitions: Vec<Partition>,
    /// What water does to the strands; the caller says so before every step. Empty: they are dry.
    pub wet: Vec<Wet>,
}

/// What water does to the strand at a vertex.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wet {
    /// Mass over that of the dry strand.
    pub load: f32,
    /// Bending stiffness over that of the dry strand.
    pub stiffness: f32,
    /// How far the rest shape has gone from dry (0) to wet (1).
    pub change: f32,
}

impl Wet {
    /// Nothing.
    pub const DRY: Self = Self { load: 1.0, stiffness: 1.0, change: 0.0 };

    /// The load of every vertex; 1 for those, perhaps all, that nothing is known of.
    pub fn loads(wet: &[Self]) -> impl Iterator<Item = f32> {
        wet.iter().chain(std::iter::repeat(&Self::DRY)).map(|wet| wet.load)
    }
}

impl StrandScratch {
    /// Scratch for a model.
    pub fn new(model: &StrandModel) -> Self {
        let room = Arc::new(Room::default());
        let partition = |_| Partition {
            old: vec![Lane3::ZERO; model.longest],
            new: vec![Lane3::ZERO; model.longest],
            lengths: vec![Lane::ONE; model.longest],
            directions: vec![Lane3::ZERO; model.longest],
            rod: vec![Row::default(); model.longest],
            watched: vec![Watched::default(); model.longest],
            csm: csm::Scratch::default(),
            strain: strain::Scratch::default(),
            deposit: Deposit::within(Arc::clone(&room)),
            tally: Tally::default(),
        };
        Self { partitions: (1..model.partitions.len()).map(partition).collect(), wet: Vec::new() }
    }

    /// Bytes held now.
    pub fn memory(&self) -> usize {
        self.partitions
            .iter()
            .map(|p| {
                p.old.capacity() * (320 + size_of::<Watched>())
                    + p.rod.capacity() * size_of::<Row>()
                    + p.csm.memory()
                    + p.strain.memory()
                    + p.deposit.memory()
            })
            .sum()
    }
}

/// Working memory of one partition: a batch in lanes, the deposit in the grid, and the tally.
#[derive(Debug)]
pub(crate) struct Partition {
    pub old: Vec<Lane3>,
    pub new: Vec<Lane3>,
    pub lengths: Vec<Lane>,
    pub directions: Vec<Lane3>,
    pub rod: Vec<Row>,
    pub watched: Vec<Watched>,
    pub csm: csm::Scratch,
    pub strain: strain::Scratch,
    pub deposit: Deposit,
    pub tally: Tally,
}

/// Lanes of a vertex that contact must watch while it is moved about.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watched {
    /// Bits of the lanes.
    pub lanes: u32,
    /// Distance to keep [m].
    pub keep: [f64; LANES],
    /// Distance to the nearest solid [m] when last looked at, and where that was.
    pub clear: [f64; LANES],
    pub seen: [DVec3; LANES],
    /// Outward normal of the solid it touches; 0 if none.
    pub normal: [DVec3; LANES],
    /// Its coefficient of friction if the vertex sticks to it, else 0.
    pub grip: [f64; LANES],
}

/// What one solve met.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Strands solved.
    pub strands: u64,
    /// Sum over strands of solver iterations.
    pub iterations: u64,
    /// Most iterations a strand took.
    pub iterations_max: u32,
    /// Strands that stopped at the iteration limit before they met the stretch limit.
    pub unconverged: u64,
    /// Vertices touching a solid.
    pub contacts: u64,
    /// Deepest a vertex lies inside a solid after the solve [m].
    pub penetration_max: f64,
    /// Largest squared speed [m2/s2]; NaN if a velocity is not finite.
    pub speed_squared_max: f64,
}

impl Tally {
    /// Mean iterations a strand took.
    pub fn iterations_mean(&self) -> f64 {
        if self.strands == 0 { 0.0 } else { self.iterations as f64 / self.strands as f64 }
    }

    /// Largest speed [m/s].
    pub fn speed_max(&self) -> f64 {
        self.speed_squared_max.sqrt()
    }

    /// Whether every velocity was finite.
    pub fn is_finite(&self) -> bool {
        self.speed_squared_max.is_finite()
    }

    /// Takes note of squared speeds: the largest of each lane, and their sums, which no NaN can leave unnoticed.
    pub(crate) fn record_speeds(&mut self, fastest: Lane, total: Lane) {
        let largest = if total.reduce_add().is_finite() {
            fastest.to_array().into_iter().fold(self.speed_squared_max, f64::max)
        } else {
            f64::NAN
        };
        self.speed_squared_max = if self.speed_squared_max.is_nan() { f64::NAN } else { largest };
    }

    /// Both tallies together.
    pub fn join(self, other: Self) -> Self {
        // Not f64::max, which would hide a NaN.
        let larger = |a: f64, b: f64| if a.is_nan() || b <= a { a } else { b };
        Self {
            strands: self.strands + other.strands,
            iterations: self.iterations + other.iterations,
            iterations_max: self.iterations_max.max(other.iterations_max),
            unconverged: self.unconverged + other.unconverged,
            contacts: self.contacts + other.contacts,
            penetration_max: self.penetration_max.max(other.penetration_max),
            speed_squared_max: larger(self.speed_squared_max, other.speed_squared_max),
        }
    }
}
