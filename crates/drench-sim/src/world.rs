//! The world: what never changes (model), what must be saved to go on (state), what can be computed anew (scratch).
//!
//! Architecture invariant: a step is a function of model and state. Dropping the scratch between two steps changes no
//! bit, so a checkpoint holds the state alone.

use crate::bodies::{BodyModel, BodyScratch};
use crate::boundary::{Boundary, BoundaryScratch};
use crate::collisions::{CollisionModel, CollisionScratch};
use crate::cords::{CordBody, CordWorking};
use crate::flow::ForeignScratch;
use crate::grains::GrainBody;
use crate::hair::{HairBody, HairWorking};
use crate::ledger::Ledger;
use crate::liquid::LiquidBody;
use crate::solids::{SolidModel, SolidScratch};
use drench_geometry::SurfacePoint;
use drench_geometry::groom::Children;
use drench_physics::air::{Air, AirFlow};
use drench_physics::cords::CordState;
use drench_physics::grains::{GrainScratch, GrainState};
use drench_physics::interaction::{Deposit, Grid, Interaction};
use drench_physics::liquid::{LiquidScratch, LiquidState};
use drench_physics::rigid::RigidWorld;
use drench_physics::strands::{Roots, StrandModel, StrandScratch, StrandState};
use drench_physics::wetting::hair::HairWater;
use drench_physics::wetting::soak::SoakScratch;
use drench_scene::Scene;
use glam::{DVec2, DVec3};

/// Everything that one simulation holds.
#[derive(Debug)]
pub struct World {
    /// What never changes.
    pub model: Model,
    /// What must be saved to go on.
    pub state: State,
    /// What can be computed anew.
    pub scratch: Scratch,
}

/// What never changes during a run.
#[derive(Debug)]
pub struct Model {
    /// The scene as it was read.
    pub scene: Scene,
    /// Solids, in the scene's order.
    pub solids: Vec<SolidModel>,
    /// Strands, one entry per groom.
    pub strands: Vec<StrandBody>,
    /// Cords, in the scene's order.
    pub cords: Vec<CordBody>,
    /// Solids that are rigid bodies.
    pub bodies: BodyModel,
    /// The liquid, if there is one.
    pub liquid: Option<LiquidBody>,
    /// Solids as the liquid feels them.
    pub walls: Boundary,
    /// Grains, one entry per body.
    pub grains: Vec<GrainBody>,
    /// Hair that gets wet, if there is any.
    pub hair: Option<HairBody>,
    /// The air at rest.
    pub air: Air,
    /// The winds together.
    pub flow: AirFlow,
    /// How strands feel each other, if they do.
    pub interaction: Option<Interaction>,
    /// How strands collide with each other, if they do.
    pub collision: Option<CollisionModel>,
}

/// The immutable part of one groom's strands.
#[derive(Debug)]
pub struct StrandBody {
    /// Name of the groom.
    pub name: String,
    /// Index of the solid that carries the roots.
    pub solid: usize,
    /// Where the roots are on it.
    pub roots: Vec<SurfacePoint>,
    /// Texture coordinates of the roots; empty if the solid has none.
    pub root_uvs: Vec<DVec2>,
    /// Rest shape in the solid's frame [m].
    pub rest: Vec<DVec3>,
    /// Topology, masses, stiffness.
    pub model: StrandModel,
    /// How this groom feels other strands: the scene's interaction with its own strengths.
    pub interaction: Option<Interaction>,
    /// Strands for pictures only.
    pub children: Option<Children>,
}

/// What must be saved to go on.
#[derive(Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct State {
    /// Frames done. Time follows from it: a clock that is added to would drift.
    pub frame: u32,
    /// Positions and velocities, one entry per groom.
    pub strands: Vec<StrandState>,
    /// Cords with their twist, tension and tears, in the scene's order.
    pub cords: Vec<CordState>,
    /// Rigid bodies and their contacts.
    pub rigid: RigidWorld,
    /// The liquid; empty if there is none.
    pub liquid: LiquidState,
    /// Grains, one entry per body.
    pub grains: Vec<GrainState>,
    /// Water in hair; empty if none gets wet.
    pub hair: HairWater,
    /// The water that came and went.
    pub ledger: Ledger,
}

/// What can be computed anew.
#[derive(Debug)]
pub struct Scratch {
    /// Where the solids are at the beginning and the end of the substep.
    pub solids: Vec<SolidScratch>,
    /// Cords and what holds them, in the scene's order.
    pub cords: Vec<CordWorking>,
    /// Rigid bodies, and what pushes them.
    pub bodies: BodyScratch,
    /// Where the roots are at the end of the substep, one entry per groom.
    pub roots: Vec<Roots>,
    /// Working memory of the strand solvers, one entry per groom.
    pub strands: Vec<StrandScratch>,
    /// Samples of the solids for the liquid.
    pub walls: BoundaryScratch,
    /// Working memory of the liquid.
    pub liquid: LiquidScratch,
    /// Working memory of the grains, one entry per body.
    pub grains: Vec<GrainScratch>,
    /// Working memory of what soaks into grains.
    pub soak: SoakScratch,
    /// The grains as the liquid feels them.
    pub foreign: ForeignScratch,
    /// Working memory of wet hair.
    pub hair: HairWorking,
    /// The interaction grid.
    pub grid: Grid,
    /// What solids deposit in the grid.
    pub boundary: Deposit,
    /// Working memory of collisions between strands.
    pub collisions: CollisionScratch,
}
