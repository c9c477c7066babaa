//! What changes: the state that a checkpoint holds, scratch, and what a solve met.
//!
//! A tear parts a cord at a vertex: the vertex is doubled, each copy keeps the half segment on its side and the velocity,
//! so mass, length and momentum are kept and every piece has at least one segment. Segments keep their index for ever;
//! vertices of later pieces move up by one. With V vertices and P pieces there are always V - P segments, and
//!
//! segment s of piece p lies between vertices s + p and s + p + 1.

use super::bend::Regions;
use super::clamp::Grips;
use super::law::{Law, Laws};
use super::lean::{Lean, Near};
use super::model::CordModel;
use super::round::{Inertia, Rows, Workspace};
use super::tension::Run;
use super::touch::Clearances;
use crate::collision::segments::length;
use crate::error::PhysicsError;
use drench_math::bands::Row;
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Everything about a body of cords that persists from step to step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CordState {
    /// First vertex of each piece, and the vertex count.
    pub offsets: Vec<u32>,
    /// The cord each piece was part of.
    pub cords: Vec<u32>,
    /// Positions of vertices [m].
    pub positions: Vec<DVec3>,
    /// Velocities of vertices [m/s].
    pub velocities: Vec<DVec3>,
    /// Angle of each segment against its reference direction, in whole turns and more [rad].
    pub angles: Vec<f64>,
    /// Rate at which each segment turns about its axis [rad/s].
    pub rates: Vec<f64>,
    /// Direction across each segment that time carries along without turning it about the axis.
    pub references: Vec<DVec3>,
    /// Direction of each segment when its reference was carried there.
    pub tangents: Vec<DVec3>,
    /// Angle between neighbouring reference directions at the joint before each segment [rad].
    pub reference_twists: Vec<f64>,
    /// Permanent twist of the joint before each segment [rad].
    pub rest_twists: Vec<f64>,
    /// Plastic shear strain of the joint before each segment, added up over both senses.
    pub twist_flows: Vec<f64>,
    /// Torque through the joint before each segment [N m].
    pub torques: Vec<f64>,
    /// Tension of each segment [N].
    pub tensions: Vec<f64>,
    /// Permanent strain of each segment.
    pub plastic_strains: Vec<f64>,
    /// For each vertex of the model, the sides that clamps have lost: 1 towards its first vertex, 2 towards its last.
    pub lost: Vec<u8>,
}

impl CordState {
    /// At rest at the given positions [m], without twist or tension.
    pub fn at_rest(model: &CordModel, positions: Vec<DVec3>) -> Result<Self, PhysicsError> {
        let (vertices, segments) = (model.vertex_count(), model.segment_count());
        if positions.len() != vertices {
            return Err(PhysicsError::Count { what: "positions", got: positions.len(), expected: vertices });
        }
        let mut state = Self {
            offsets: model.offsets.clone(),
            cords: (0..model.cord_count() as u32).collect(),
            velocities: vec![DVec3::ZERO; vertices],
            positions,
            angles: vec![0.0; segments],
            rates: vec![0.0; segments],
            references: model.references.clone(),
            tangents: vec![DVec3::X; segments],
            reference_twists: vec![0.0; segments],
            rest_twists: vec![0.0; segments],
            twist_flows: vec![0.0; segments],
            torques: vec![0.0; segments],
            tensions: vec![0.0; segments],
            plastic_strains: vec![0.0; segments],
            lost: vec![0; vertices],
        };
        state.reserve(model);
        super::twist::lay_references(model, &mut state);
        Ok(state)
    }

    /// Makes room for every tear there can be, so that steps allocate nothing.
    pub(crate) fn reserve(&mut self, model: &CordModel) {
        let segments = model.segment_count();
        let room = |len: usize, most: usize| most.saturating_sub(len);
        self.positions.reserve(room(self.positions.len(), 2 * segments));
        self.velocities.reserve(room(self.velocities.len(), 2 * segments));
        self.offsets.reserve(room(self.offsets.len(), segments + 1));
        self.cords.reserve(room(self.cords.len(), segments));
    }

    /// Number of pieces.
    pub fn piece_count(&self) -> usize {
        self.cords.len()
    }

    /// Vertices of a piece.
    pub fn vertices(&self, piece: usize) -> Range<usize> {
        self.offsets[piece] as usize..self.offsets[piece + 1] as usize
    }

    /// Segments of a piece.
    pub fn segments(&self, piece: usize) -> Range<usize> {
        self.offsets[piece] as usize - piece..self.offsets[piece + 1] as usize - piece - 1
    }

    /// The piece that has a segment.
    pub fn piece_of_segment(&self, segment: usize) -> usize {
        let (mut low, mut high) = (0, self.piece_count());
        while high - low > 1 {
            let middle = (low + high) / 2;
            if self.offsets[middle] as usize - middle <= segment { low = middle } else { high = middle }
        }
        low
    }

    /// The model's vertex that a vertex of a piece is a copy of: an identity that lasts.
    pub fn model_vertex(&self, piece: usize, vertex: usize) -> usize {
        vertex - piece + self.cords[piece] as usize
    }

    /// Mass of a vertex of a piece [kg].
    pub fn mass(&self, model: &CordModel, piece: usize, vertex: usize) -> f64 {
        let segments = self.segments(piece);
        let after = vertex - piece;
        let half = |s: usize| if segments.contains(&s) { 0.5 * model.masses[s] } else { 0.0 };
        half(after) + half(after.wrapping_sub(1))
    }

    /// Twist of the joint before a segment beyond its permanent one [rad]; 0 at the beginning of a piece.
    pub fn twist(&self, piece: usize, segment: usize) -> f64 {
        if segment == self.segments(piece).start { 0.0 } else { self.twist_before(segment) }
    }

    /// The same before a segment that does not begin a piece.
    #[inline]
    pub(crate) fn twist_before(&self, segment: usize) -> f64 {
        self.angles[segment] - self.angles[segment - 1] + self.reference_twists[segment] - self.rest_twists[segment]
    }

    /// Length of a segment without tension [m].
    #[inline]
    pub(crate) fn unstretched(&self, model: &CordModel, segment: usize) -> f64 {
        model.lengths[segment] * (1.0 + self.plastic_strains[segment])
    }

    /// Radius of each vertex now [m]: a stretched segment keeps its volume.
    pub fn radii(&self, model: &CordModel, radii: &mut Vec<f32>) {
        radii.clear();
        for piece in 0..self.piece_count() {
            let segments = self.segments(piece);
            let radius = |s: usize| {
                let length = length(self.positions[s + piece + 1] - self.positions[s + piece]);
                model.radii[s] * (model.lengths[s] / length.max(0.25 * model.lengths[s])).sqrt()
            };
            let mut before = radius(segments.start);
            for s in segments {
                let here = radius(s);
                radii.push((0.5 * (before + here)) as f32);
                before = here;
            }
            radii.push(before as f32);
        }
    }

    /// An error unless the state belongs to the model.
    pub fn check(&self, model: &CordModel) -> Result<(), PhysicsError> {
        let (vertices, segments, pieces) = (self.positions.len(), model.segment_count(), self.cords.len());
        let counts = [
            ("velocities", self.velocities.len(), vertices),
            ("piece offsets", self.offsets.len(), pieces + 1),
            ("vertices of all pieces", vertices, segments + pieces),
            ("angles", self.angles.len(), segments),
            ("rates", self.rates.len(), segments),
            ("references", self.references.len(), segments),
            ("tangents", self.tangents.len(), segments),
            ("reference twists", self.reference_twists.len(), segments),
            ("rest twists", self.rest_twists.len(), segments),
            ("twist flows", self.twist_flows.len(), segments),
            ("torques", self.torques.len(), segments),
            ("tensions", self.tensions.len(), segments),
            ("plastic strains", self.plastic_strains.len(), segments),
            ("lost clamps", self.lost.len(), model.vertex_count()),
        ];
        if let Some((what, got, expected)) = counts.into_iter().find(|(_, got, expected)| got != expected) {
            return Err(PhysicsError::Count { what, got, expected });
        }
        let ends = (self.offsets[0], self.offsets[pieces] as usize);
        for (strand, pair) in self.offsets.windows(2).enumerate() {
            let (from, to) = (pair[0] as usize, pair[1] as usize);
            if ends != (0, vertices) || to > vertices || to < from + 2 {
                return Err(PhysicsError::Offsets { strand, from, to, vertices });
            }
        }
        let cords = model.cord_count();
        let known = |pair: &[u32]| pair[0] <= pair[1];
        let sound = self.cords.windows(2).all(known)
            && (0..pieces).all(|piece| {
                let cord = self.cords[piece] as usize;
                let first = self.segments(piece);
                cord < cords
                    && model.offsets[cord] as usize - cord <= first.start
                    && first.end < model.offsets[cord + 1] as usize - cord
            });
        if sound {
            Ok(())
        } else {
            Err(PhysicsError::Count { what: "cords of the pieces", got: pieces, expected: cords })
        }
    }

    /// Bytes the state holds.
    pub fn memory(&self) -> usize {
        self.positions.len() * 48 + self.angles.len() * (48 + 8 * 8) + self.offsets.len() * 8 + self.lost.len()
    }
}

/// Working memory; may be dropped and rebuilt between steps without changing a bit.
#[derive(Debug)]
pub struct CordScratch {
    /// Where vertices would go without tension, and where they go.
    pub(crate) free: Vec<DVec3>,
    pub(crate) next: Vec<DVec3>,
    /// Mass of each vertex, and its inverse: 0 where it is held.
    pub(crate) mass: Vec<f64>,
    pub(crate) inverse_mass: Vec<f64>,
    /// Normal of the solid that each vertex lies on, 0 if it lies on none; one more than the number of that solid.
    pub(crate) normals: Vec<DVec3>,
    pub(crate) touched: Vec<u32>,
    /// Where that solid keeps the vertex, along the normal [m].
    pub(crate) planes: Vec<f64>,
    /// How far solids have moved each vertex.
    pub(crate) pushed: Vec<DVec3>,
    /// Segments that may meet a solid between their ends, and those that do; bounds of the distances of two neighbours to every solid.
    pub(crate) near: Vec<Near>,
    pub(crate) leans: Vec<Lean>,
    pub(crate) clearances: [Clearances; 2],
    /// Forces on vertices beside weight and drag.
    pub(crate) forces: Vec<DVec3>,
    /// Angular momentum that the twist of each piece owes its vertices [kg m2/s].
    pub(crate) owed: Vec<DVec3>,
    /// Directions of segments at the beginning and at the end.
    pub(crate) before: Vec<DVec3>,
    pub(crate) tangents: Vec<DVec3>,
    /// Tension at the beginning; rows of tridiagonal systems.
    pub(crate) tensions: Vec<f64>,
    pub(crate) rows: Vec<[f64; 2]>,
    pub(crate) steps: Vec<f64>,
    /// Length of each segment at the beginning.
    pub(crate) spans: Vec<f64>,
    /// Turning: inertia over dt^2 and turn of each segment, sums over segments and over means of regions, and rates averaged over these.
    pub(crate) weights: Vec<f64>,
    pub(crate) turns: Vec<f64>,
    pub(crate) sums: Vec<[f64; 2]>,
    pub(crate) means: Vec<f64>,
    pub(crate) averages: Vec<f64>,
    pub(crate) runs: Vec<Run>,
    /// What lengths are solved on, a round of that, and the steps in it of vertices that are held.
    pub(crate) length_rows: Rows,
    pub(crate) round: Workspace,
    pub(crate) moves: Vec<DVec3>,
    /// How vertices resist being pulled, in the rows of the runs.
    pub(crate) inertias: Vec<Inertia>,
    /// Tension over length of each segment, one by one and in the rows of the runs.
    pub(crate) laws: Vec<Law>,
    pub(crate) law_rows: Vec<Laws>,
    pub(crate) grips: Grips,
    /// Whether a vertex or a segment lies on a solid.
    pub(crate) touching: bool,
    /// For each body, when lengths are solved, when it was last pulled by a run that was not done.
    pub(crate) stirred: Vec<u32>,
    /// Bending: regions of chain shape matching, or the joints of a rod.
    pub(crate) regions: Regions,
    pub(crate) joints: Vec<Row>,
}

impl CordScratch {
    /// Whether a vertex, or a segment beside it, lies on a solid.
    pub(crate) fn touches(&self, v: usize) -> bool {
        self.normals[v] != DVec3::ZERO || self.leans.iter().any(|lean| lean.vertex == v || lean.vertex + 1 == v)
    }

    /// Scratch for a model.
    pub fn new(model: &CordModel) -> Self {
        let (segments, vertices) = (model.segment_count(), 2 * model.segment_count());
        Self {
            free: Vec::with_capacity(vertices),
            next: Vec::with_capacity(vertices),
            mass: Vec::with_capacity(vertices),
            inverse_mass: Vec::with_capacity(vertices),
            normals: Vec::with_capacity(vertices),
            touched: Vec::with_capacity(vertices),
            planes: Vec::with_capacity(vertices),
            pushed: Vec::with_capacity(vertices),
            near: Vec::new(),
            leans: Vec::new(),
            clearances: Default::default(),
            forces: Vec::with_capacity(vertices),
            owed: Vec::with_capacity(segments),
            before: vec![DVec3::X; segments],
            tangents: vec![DVec3::X; segments],
            tensions: vec![0.0; segments],
            rows: vec![[0.0; 2]; segments],
            steps: vec![0.0; segments],
            spans: vec![0.0; segments],
            weights: vec![0.0; segments],
            turns: vec![0.0; segments],
            sums: Vec::new(),
            means: Vec::new(),
            averages: Vec::new(),
            runs: Vec::with_capacity(segments),
            moves: vec![DVec3::ZERO; vertices],
            length_rows: Rows::default(),
            round: Workspace::default(),
            inertias: Vec::with_capacity(vertices),
            laws: vec![Law::default(); segments],
            law_rows: Vec::with_capacity(vertices),
            grips: Grips::default(),
            touching: false,
            stirred: Vec::new(),
            regions: Regions::default(),
            joints: Vec::new(),
        }
    }
}

/// What one solve met.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Pieces there are after the solve.
    pub pieces: u64,
    /// Rounds of the length solver.
    pub rounds: u32,
    /// Runs of segments that stopped at the limit of rounds before their lengths were right.
    pub unconverged: u64,
    /// Largest stretch beyond what the stress-strain curve says, relative.
    pub stretch_error: f64,
    /// Largest strain.
    pub strain_max: f64,
    /// Largest tension [N].
    pub tension_max: f64,
    /// Largest torque [N m].
    pub torque_max: f64,
    /// Segments torn by pull in this solve.
    pub torn_by_pull: u64,
    /// Joints torn by twist in this solve.
    pub torn_by_twist: u64,
    /// Joints that folded back so fast that a whole turn of twist may have been lost.
    pub doubtful_turns: u64,
    /// Energy that flicking gave back [J].
    pub flicked: f64,
    /// Vertices touching a solid.
    pub contacts: u64,
    /// Deepest a vertex lies inside a solid after the solve [m].
    pub penetration_max: f64,
    /// Largest speed [m/s]; NaN if a velocity is not finite.
    pub speed_max: f64,
}

impl Tally {
    /// Both tallies, of one solve after the other, together.
    pub fn join(self, other: Self) -> Self {
        // Not f64::max, which would hide a NaN.
        let larger = |a: f64, b: f64| if a.is_nan() || b <= a { a } else { b };
        Self {
            pieces: other.pieces,
            rounds: self.rounds.max(other.rounds),
            unconverged: self.unconverged + other.unconverged,
            stretch_error: larger(self.stretch_error, other.stretch_error),
            strain_max: larger(self.strain_max, other.strain_max),
            tension_max: larger(self.tension_max, other.tension_max),
            torque_max: larger(self.torque_max, other.torque_max),
            torn_by_pull: self.torn_by_pull + other.torn_by_pull,
            torn_by_twist: self.torn_by_twist + other.torn_by_twist,
            doubtful_turns: self.doubtful_turns + other.doubtful_turns,
            flicked: self.flicked + other.flicked,
            contacts: self.contacts.max(other.contacts),
            penetration_max: larger(self.penetration_max, other.penetration_max),
            speed_max: larger(self.speed_max, other.speed_max),
        }
    }
}
