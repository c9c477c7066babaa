//! Hair that gets wet: which grooms do, the stage of the step, and what is told of it.

use crate::SimError;
use crate::collisions;
use crate::solids::Span;
use crate::world::{Model, Scratch, State, StrandBody};
use drench_geometry::neighbours::Neighbours;
use drench_io::stats::HairStats;
use drench_math::ordered;
use drench_physics::PhysicsError;
use drench_physics::liquid::LiquidState;
use drench_physics::strands::{StrandScratch, StrandState, Wet};
use drench_physics::wetting::hair::{
    self, Clinging, Cohesion, Drip, Estimate, Fibre, Groom, Hair, HairScratch, HairWater, Medium, Strands, Surroundings,
};
use drench_physics::wetting::{Liquid, filled};
use drench_scene as scene;
use drench_scene::Scene;
use glam::DVec3;
use rayon::prelude::*;

/// Water between and around hairs from which a strand counts as wet, over its mass.
const WET: f64 = 0.05;

/// Vertices that one task copies.
const COPIED: usize = 8192;

/// The immutable part of all hair that gets wet.
#[derive(Debug)]
pub struct HairBody {
    /// What it does with water.
    pub model: Hair,
    /// The grooms that get wet, by their index among all, and what the scene says of them.
    grooms: Vec<(usize, scene::WetHair)>,
    /// Groom by groom among all: which of those above.
    of_groom: Vec<Option<usize>>,
    cohesion: Cohesion,
    /// Inverse masses of dry strands [1/kg], 0 where they are held, and radii with what strands stand for [m]; grooms one after the other.
    inverse_masses: Vec<f64>,
    radii: Vec<f32>,
}

/// Working memory.
#[derive(Debug, Default)]
pub struct HairWorking {
    scratch: HairScratch,
    positions: Vec<DVec3>,
    velocities: Vec<DVec3>,
    towels: Vec<f64>,
    inverse_masses: Vec<f64>,
    drips: Vec<Drip>,
    neighbours: Neighbours,
    /// Where liquid particles were when the substep began [m], by their numbers; and one after the other as they are at its end.
    places: Vec<(u64, DVec3)>,
    before: Vec<DVec3>,
}

/// The hair of a scene that gets wet, and the water in it at the beginning.
pub fn build(scene: &Scene, strands: &[StrandBody]) -> Result<Option<(HairBody, HairWater)>, SimError> {
    let wet = |(index, groom): (usize, &scene::Groom)| Some((index, groom.wet.clone()?));
    let grooms: Vec<(usize, scene::WetHair)> = scene.grooms.iter().enumerate().filter_map(wet).collect();
    if grooms.is_empty() {
        return Ok(None);
    }
    let parts: Vec<Groom> = grooms
        .iter()
        .map(|(index, wet)| {
            let model = &strands[*index].model;
            let fibre = fibre(wet, scene.grooms[*index].children);
            Groom { offsets: model.offsets(), masses: model.masses(), lengths: model.lengths(), fibre }
        })
        .collect();
    let model = Hair::new(medium(scene), &parts).map_err(SimError::Wetting)?;
    let wetness: Vec<[f64; 2]> = grooms.iter().map(|(_, wet)| [wet.wetness, wet.dampness]).collect();
    let water = HairWater::new(&model, &wetness);
    let of_groom = (0..strands.len()).map(|index| grooms.iter().position(|(own, _)| *own == index)).collect();
    let cohesion = Cohesion { reach: scene.wetting.reach, pull: scene.wetting.pull };
    let (mut inverse_masses, mut radii) = (Vec::new(), Vec::new());
    for (number, (index, _)) in grooms.iter().enumerate() {
        let body = &strands[*index].model;
        inverse_masses.extend(collisions::inverse_masses(body));
        // The hairs of a lock lie side by side.
        let bundle = model.fibre(number).hairs.sqrt() as f32;
        radii.extend(body.radii().iter().map(|radius| radius * bundle));
    }
    let thickest = radii.iter().fold(0.0_f32, |most, radius| most.max(*radius));
    cohesion.check(model.medium(), f64::from(thickest)).map_err(SimError::Wetting)?;
    Ok(Some((HairBody { model, grooms, of_groom, cohesion, inverse_masses, radii }, water)))
}

/// What all hair of a scene has in common.
pub(crate) fn medium(scene: &Scene) -> Medium {
    let wetting = &scene.wetting;
    Medium {
        voxel: scene.voxel(),
        estimate: match wetting.capillaries {
            scene::Capillaries::Spacing { reach } => Estimate::Spacing(reach),
            scene::Capillaries::Count => Estimate::Count,
        },
        along: wetting.along,
        across: wetting.across,
        level: wetting.level,
        delay: wetting.delay,
        kick: wetting.kick,
        liquid_density: crate::liquid::density(scene),
    }
}

/// What a groom's hair does with water.
pub(crate) fn fibre(wet: &scene::WetHair, children: u32) -> Fibre {
    Fibre {
        hairs: wet.hairs.unwrap_or(1.0 + f64::from(children)),
        inside: wet.inside,
        between: wet.between,
        around: wet.around,
        soak: wet.soak,
        diffusion: wet.diffusion,
        flow: wet.flow,
        drying: wet.drying,
        fibre_drying: wet.fibre_drying,
        oil: wet.repellent,
        wear: wet.wear,
        change: wet.change,
    }
}

/// Refuses hair that spreads over more voxels than there may be.
pub fn check(model: &Model, state: &State) -> Result<(), SimError> {
    let Some(body) = &model.hair else { return Ok(()) };
    let positions = body.grooms.iter().flat_map(|(groom, _)| &state.strands[*groom].positions);
    hair::grid::holds(body.model.medium().voxel, positions.copied()).map_err(SimError::Wetting)
}

/// Drops that left hair over some time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dripping {
    /// That time [s].
    time: f64,
    /// How many there were, and their mass [kg], one entry a groom that gets wet.
    grooms: Vec<(u64, f64)>,
}

impl Dripping {
    /// Those of a step.
    fn new(grooms: usize, drips: &[Drip], time: f64) -> Self {
        let mut dripping = Self { time, grooms: vec![(0, 0.0); grooms] };
        for drip in drips {
            let (drops, mass) = &mut dripping.grooms[drip.groom];
            *drops += 1;
            *mass += drip.mass;
        }
        dripping
    }

    /// Adds those of the time that follows.
    pub fn add(&mut self, next: &Self) {
        self.time += next.time;
        self.grooms.resize(next.grooms.len(), (0, 0.0));
        for (sum, own) in self.grooms.iter_mut().zip(&next.grooms) {
            *sum = (sum.0 + own.0, sum.1 + own.1);
        }
    }

    /// How many there were of all grooms.
    pub fn drops(&self) -> u64 {
        self.grooms.iter().map(|(drops, _)| drops).sum()
    }

    /// Drops [1/s] and their mass [kg/s] of a groom that gets wet.
    fn rates(&self, groom: usize) -> [f64; 2] {
        let (drops, mass) = self.grooms.get(groom).copied().unwrap_or_default();
        [drops as f64, mass].map(|sum| if self.time > 0.0 { sum / self.time } else { 0.0 })
    }
}

/// Takes note of where the strands and the liquid are.
pub fn follow(model: &Model, state: &State, working: &mut HairWorking) {
    if let Some(body) = &model.hair {
        gather(body, state, |strands| &strands.positions, &mut working.positions);
        let places = state.liquid.ids.iter().copied().zip(state.liquid.positions.iter().copied());
        working.places.clear();
        working.places.extend(places);
        // The liquid changes the order of its particles as it moves.
        working.places.par_sort_unstable_by_key(|place| place.0);
    }
}

/// Where each particle of the liquid was when the substep began that is now over [m]; those that have come meanwhile, where they came from.
fn trace(liquid: &LiquidState, places: &[(u64, DVec3)], now: f64, before: &mut Vec<DVec3>) {
    before.clear();
    before.par_extend((0..liquid.len()).into_par_iter().with_min_len(COPIED).map(|p| {
        match places.binary_search_by_key(&liquid.ids[p], |place| place.0) {
            Ok(at) => places[at].1,
            Err(_) => liquid.positions[p] - liquid.velocities[p] * (now - liquid.births[p]).max(0.0),
        }
    }));
}

/// Finds the voxels of hair that [`follow`] has taken note of.
pub fn locate(model: &Model, working: &mut HairWorking, span: Span) -> Result<(), SimError> {
    let Some(body) = &model.hair else { return Ok(()) };
    let HairWorking { scratch, positions, .. } = working;
    hair::locate(&body.model, scratch, positions).map_err(|source| match source {
        // Hair that has not run away needs larger voxels.
        PhysicsError::PorousTooLarge { .. } if positions.iter().all(|p| p.is_finite()) => SimError::Wetting(source),
        source => SimError::Diverged { time: span.to, stage: "wetting", source },
    })
}

/// Water in hair, whose voxels are found ([`locate`]), during a substep: in from the liquid, through the hair, out as drops and into the air. The drops that left, and what went wrong.
pub fn wet(
    model: &Model,
    state: &mut State,
    scratch: &mut Scratch,
    span: Span,
) -> Result<(Dripping, Option<String>), SimError> {
    let Some(body) = &model.hair else { return Ok((Dripping::default(), None)) };
    let HairWorking { scratch, positions, velocities, towels, drips, neighbours, places, before, .. } =
        &mut scratch.hair;
    trace(&state.liquid, places, span.to, before);
    gather(body, state, |strands| &strands.velocities, velocities);
    towels.clear();
    towels.extend(body.grooms.iter().map(|(_, wet)| match &wet.towel {
        Some(towel) if (towel.start..towel.stop).contains(&span.from) => towel.rate,
        _ => 0.0,
    }));
    // Without a liquid in the scene hair has nothing to drip into, and keeps what it has.
    let [full, radius] = model.liquid.as_ref().map_or([f64::INFINITY, 0.5 * body.model.medium().voxel], |liquid| {
        [liquid.model.particle_mass(), 0.5 * liquid.model.spacing]
    });
    let liquid = &mut state.liquid;
    let mut near = Liquid {
        positions: &liquid.positions,
        before,
        velocities: &liquid.velocities,
        masses: &mut liquid.masses,
        radius,
        full,
    };
    let refuse = |source| SimError::Diverged { time: span.to, stage: "wetting", source };
    let strands = Strands { positions, velocities };
    let surroundings = Surroundings { gravity: model.scene.simulation.gravity, towels };
    let tally = hair::step(&body.model, &mut state.hair, scratch, strands, &mut near, &surroundings, span.dt, drips)
        .map_err(refuse)?;
    state.ledger.drain(tally.dried);
    liquid.remove(|drop| drop.mass <= 0.0);
    hair::release(liquid, drips, neighbours, [full, radius], span.to).map_err(refuse)?;
    let slow = (tally.unspread > 0.0).then(|| {
        let voxel = 1e3 * body.model.medium().voxel;
        format!(
            "hair: water spreads too fast for voxels of {voxel:.1} mm and falls behind: raise `wetting.voxel` or \
             `simulation.substeps`, or lower `wetting.along` and `wetting.across`"
        )
    });
    Ok((Dripping::new(body.grooms.len(), drips, span.dt), slow))
}

/// Tells strands how water changes them, and lets wet ones, as [`wet`] has just left them, cling to each other; how many bridges of water there are.
pub fn cling(
    model: &Model,
    state: &mut State,
    strands: &mut [StrandScratch],
    working: &mut HairWorking,
    span: Span,
) -> Result<u64, SimError> {
    let Some(body) = &model.hair else { return Ok(0) };
    for (number, (groom, _)) in body.grooms.iter().enumerate() {
        burden(model, body, &state.hair, number, &mut strands[*groom]);
    }
    let HairWorking { scratch, positions, velocities, inverse_masses, .. } = working;
    inverse_masses.clear();
    for (number, (groom, _)) in body.grooms.iter().enumerate() {
        let dry = body.inverse_masses[body.model.vertices(number)].par_iter().with_min_len(COPIED);
        let loads = strands[*groom].wet.par_iter().map(|wet| f64::from(wet.load));
        inverse_masses.par_extend(dry.zip(loads).map(|(dry, load)| dry / load));
    }
    let clinging = Clinging { positions, velocities, inverse_masses, radii: &body.radii };
    let bridges = hair::cling(&body.model, &mut state.hair, scratch, &body.cohesion, clinging, span.dt)
        .map_err(|source| SimError::Diverged { time: span.to, stage: "cohesion", source })?;
    scatter(body, state, velocities);
    Ok(bridges)
}

/// Takes over what the strands of all grooms have.
fn gather(body: &HairBody, state: &State, own: impl Fn(&StrandState) -> &[DVec3], all: &mut Vec<DVec3>) {
    all.clear();
    for (groom, _) in &body.grooms {
        all.par_extend(own(&state.strands[*groom]).par_iter().with_min_len(COPIED).copied());
    }
}

/// Gives the strands their velocities.
fn scatter(body: &HairBody, state: &mut State, velocities: &[DVec3]) {
    for (number, (groom, _)) in body.grooms.iter().enumerate() {
        let own = state.strands[*groom].velocities.par_chunks_mut(COPIED);
        let new = velocities[body.model.vertices(number)].par_chunks(COPIED);
        own.zip(new).for_each(|(own, new)| own.copy_from_slice(new));
    }
}

/// The wet hair that is in the liquid or close to it, in lumps as large as what the liquid can tell apart.
#[derive(Debug, Default)]
pub struct Submerged {
    /// Groom by groom and vertex by vertex: its lump, or none.
    lump_of: Vec<u32>,
    lumps: Vec<Lump>,
    /// Coarse cells around the liquid, numbered, and the lump in each eighth of a numbered cell.
    cells: Vec<u32>,
    eighths: Vec<u32>,
}

/// Hair that moves as one where the liquid meets it.
#[derive(Clone, Copy, Debug, Default)]
struct Lump {
    /// Sum of volumes times positions [m4]; of volumes [m3], which the liquid cannot have.
    moment: DVec3,
    volume: f64,
    /// Sum of masses times velocities [kg m/s]; of masses [kg].
    momentum: DVec3,
    mass: f64,
}

/// Cells that a drop may cross in a substep before it is looked for only here and there along its way.
const LONGEST_WAY: f64 = 64.0;
/// Cells that are looked at to find hair near the liquid.
const CELL_LIMIT: f64 = 1e7;
/// No number.
const NONE: u32 = u32::MAX;

impl Submerged {
    /// How many lumps there are.
    pub fn len(&self) -> usize {
        self.lumps.len()
    }

    /// Finds those that the liquid may meet within `dt` seconds: `found` gets position [m], velocity [m/s], volume that the liquid cannot have [m3]
    /// and mass [kg] of each.
    pub fn find(&mut self, model: &Model, state: &State, dt: f64, mut found: impl FnMut(DVec3, DVec3, f64, f64)) {
        let Self { lump_of, lumps, cells, eighths } = self;
        lumps.clear();
        let (Some(body), Some(liquid)) = (&model.hair, &model.liquid) else { return };
        let cell = liquid.model.support();
        // A drop that goes farther than a cell is looked for all along its way.
        let ways = || {
            state.liquid.positions.iter().zip(&state.liquid.velocities).flat_map(|(&from, &velocity)| {
                let way = velocity * dt;
                let steps = (way.length_squared().sqrt() / cell).ceil().min(LONGEST_WAY);
                (0..=steps as u32).map(move |step| from + way * (f64::from(step) / steps.max(1.0)))
            })
        };
        let bounds = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let (low, high) = ways().fold(bounds, |(low, high), point| (low.min(point), high.max(point)));
        let low = low - 1.5 * cell;
        let size = ((high - low) / cell).ceil() + 2.0;
        let count = size.element_product();
        if state.liquid.is_empty() || !count.is_finite() || count > CELL_LIMIT {
            return;
        }
        let [nx, ny, nz] = size.to_array().map(|n| n as usize);
        let place = |p: DVec3| {
            let at = (p - low) / cell;
            (at.cmpge(DVec3::ZERO).all() && at.cmplt(size).all()).then(|| at.to_array())
        };
        cells.clear();
        cells.resize(nx * ny * nz, NONE);
        let mut near = 0;
        for [x, y, z] in ways().filter_map(place).map(|at| at.map(|c| c as usize)) {
            for z in z.saturating_sub(1)..(z + 2).min(nz) {
                for y in y.saturating_sub(1)..(y + 2).min(ny) {
                    let row = (z * ny + y) * nx;
                    for cell in &mut cells[row + x.saturating_sub(1)..row + (x + 2).min(nx)] {
                        if *cell == NONE {
                            *cell = near;
                            near += 1;
                        }
                    }
                }
            }
        }
        eighths.clear();
        eighths.resize(8 * near as usize, NONE);
        let (masses, wet_volume) = (body.model.masses(), 1.0 / body.model.medium().liquid_density);
        lump_of.resize(masses.len(), NONE);
        for (number, (groom, _)) in body.grooms.iter().enumerate() {
            let (strands, range) = (&state.strands[*groom], body.model.vertices(number));
            let lump_of = &mut lump_of[range.clone()];
            ordered::fill(lump_of, |i| {
                let Some(at) = place(strands.positions[i]).filter(|_| masses[range.start + i] > 0.0) else {
                    return NONE;
                };
                let ([x, y, z], [u, v, w]) = (at.map(|c| c as usize), at.map(|c| (2.0 * c) as u32 & 1));
                match cells[(z * ny + y) * nx + x] {
                    NONE => NONE,
                    cell => 8 * cell + 4 * w + 2 * v + u,
                }
            });
            for place in lump_of.iter_mut().filter(|place| **place != NONE) {
                let lump = &mut eighths[*place as usize];
                if *lump == NONE {
                    *lump = lumps.len() as u32;
                    lumps.push(Lump::default());
                }
                *place = *lump;
            }
        }
        // Every thread goes through all hair and adds up lumps of its own, so that sums have one outcome.
        let share = lumps.len().div_ceil(rayon::current_num_threads()).max(1);
        lumps.par_chunks_mut(share).enumerate().for_each(|(chunk, lumps)| {
            for (number, (groom, _)) in body.grooms.iter().enumerate() {
                let (strands, range) = (&state.strands[*groom], body.model.vertices(number));
                let dry_volume = 1.0 / model.strands[*groom].model.material().density;
                for (own, i) in range.enumerate() {
                    let lump = (lump_of[i] as usize).checked_sub(chunk * share).and_then(|k| lumps.get_mut(k));
                    let Some(lump) = lump else { continue };
                    let (dry, water) = (f64::from(masses[i]), state.hair.held(i));
                    let volume = dry * dry_volume + water * wet_volume;
                    lump.moment += strands.positions[own] * volume;
                    lump.volume += volume;
                    lump.momentum += strands.velocities[own] * (dry + water);
                    lump.mass += dry + water;
                }
            }
        });
        for lump in lumps {
            found(lump.moment / lump.volume, lump.momentum / lump.mass, lump.volume, lump.mass);
        }
    }

    /// The liquid pushes them [N s]: all hair of a lump gains the same velocity.
    pub fn carry(&self, model: &Model, state: &mut State, pushes: &[DVec3]) {
        let Some(body) = model.hair.as_ref().filter(|_| !self.lumps.is_empty()) else { return };
        let gains: Vec<DVec3> = self.lumps.iter().zip(pushes).map(|(lump, push)| *push / lump.mass).collect();
        for (number, (groom, _)) in body.grooms.iter().enumerate() {
            let velocities = state.strands[*groom].velocities.par_iter_mut().with_min_len(COPIED);
            velocities.zip(&self.lump_of[body.model.vertices(number)]).for_each(|(velocity, &lump)| {
                if lump != NONE {
                    *velocity += gains[lump as usize];
                }
            });
        }
    }
}

/// Tells the strands of a groom that gets wet how water changes them: they are heavier, softer, and take another shape.
fn burden(model: &Model, body: &HairBody, water: &HairWater, number: usize, strands: &mut StrandScratch) {
    let (groom, wet) = &body.grooms[number];
    let fibre = body.model.fibre(number);
    let range = body.model.vertices(number);
    let masses = model.strands[*groom].model.masses();
    let hair = &body.model.masses()[range.clone()];
    let (inside, around) = (&water.inside[range.clone()], &water.around[range.clone()]);
    let change = &water.change[range];
    strands.wet.resize(masses.len(), Wet::DRY);
    ordered::fill(&mut strands.wet, |i| {
        // Half of the segments on both sides; the segment after a tip is that of a root, which has none.
        let next = (i + 1).min(hair.len() - 1);
        let own = |i: usize| if hair[i] > 0.0 { inside[i] + around[i] } else { 0.0 };
        let held = 0.5 * (own(i) + if next > i { own(next) } else { 0.0 });
        let most = fibre.inside * f64::from(hair[i]);
        let full = filled(inside[i], most);
        Wet {
            load: (1.0 + held / (fibre.hairs * f64::from(masses[i]))) as f32,
            stiffness: (1.0 + (wet.stiffness - 1.0) * full) as f32,
            change: change[i],
        }
    });
}

/// What pictures may know of the water in a groom: wetness from 0 to 1, water inside the fibre from 0 to 1, thickness of the film [m].
pub fn look(model: &Model, water: &HairWater, groom: usize) -> Option<[Vec<f32>; 3]> {
    let body = model.hair.as_ref()?;
    let number = body.of_groom[groom]?;
    let fibre = body.model.fibre(number);
    let strands = &model.strands[groom].model;
    let (radii, lengths) = (strands.radii(), strands.lengths());
    let density = body.model.medium().liquid_density;
    let base = body.model.vertices(number).start;
    let figures = (0..radii.len()).map(|i| {
        // A root looks as the segment that it begins.
        let i = if lengths[i] == 0.0 { (i + 1).min(radii.len() - 1) } else { i };
        let mass = f64::from(body.model.masses()[base + i]);
        let (inside, around) = (water.inside[base + i], water.around[base + i]);
        let full = filled(inside, fibre.inside * mass);
        let wetness = 1.0 - (1.0 - full) * (1.0 - filled(around, fibre.between * mass));
        let section = around / (density * fibre.hairs * f64::from(lengths[i]) * std::f64::consts::PI);
        let radius = f64::from(radii[i]);
        [wetness, full, (radius * radius + section).sqrt() - radius].map(|x| x as f32)
    });
    let mut columns = [const { Vec::new() }; 3];
    for row in figures {
        columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    Some(columns)
}

/// The part of the strands of a groom that are wet; figures about its water, and about the shape that it gives it.
pub fn measure(model: &Model, state: &State, groom: usize, dripping: &Dripping) -> Option<(f64, HairStats)> {
    let body = model.hair.as_ref()?;
    let number = body.of_groom[groom]?;
    let range = body.model.vertices(number);
    let strands = &model.strands[groom].model;
    let held = |i: usize| state.hair.held(i);
    let water = ordered::sum(range.len(), |i| held(range.start + i));
    let hair = ordered::sum(range.len(), |i| f64::from(body.model.masses()[range.start + i]));
    let count = strands.strand_count();
    let is_wet = |ends: &&[u32]| {
        let own = range.start + ends[0] as usize..range.start + ends[1] as usize;
        let mass: f64 = own.clone().map(|i| f64::from(body.model.masses()[i])).sum();
        own.map(held).sum::<f64>() > WET * mass
    };
    let wet = strands.offsets().par_windows(2).filter(is_wet).count();
    let [drips, dripping] = dripping.rates(number);
    let clumps = hair::clumps(
        &body.model,
        &state.hair,
        &body.cohesion,
        number,
        &state.strands[groom].positions,
        &body.radii[range.clone()],
    );
    let figures = HairStats {
        water,
        content: water / hair,
        clumps,
        clump_size: count as f64 / clumps.max(1) as f64,
        curvature: curvature(strands.offsets(), &state.strands[groom].positions),
        drips,
        dripping: dripping / hair,
    };
    Some((wet as f64 / count.max(1) as f64, figures))
}

/// By how much strands turn from segment to segment, over the length along which they do [rad/m]; the mean of all strands.
fn curvature(offsets: &[u32], positions: &[DVec3]) -> f64 {
    let of_strand = |strand: usize| {
        let points = &positions[offsets[strand] as usize..offsets[strand + 1] as usize];
        // Not by `glam`, whose root goes through a library.
        let length = |v: DVec3| v.length_squared().sqrt();
        let turns = points.windows(3).map(|p| {
            let [before, after] = [p[1] - p[0], p[2] - p[1]];
            [length(before.cross(after)).atan2(before.dot(after)), 0.5 * (length(before) + length(after))]
        });
        let [turn, length] = turns.fold([0.0; 2], |sum, own| [sum[0] + own[0], sum[1] + own[1]]);
        if length > 0.0 { turn / length } else { 0.0 }
    };
    let count = offsets.len() - 1;
    ordered::sum(count, of_strand) / count.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    #[test]
    fn a_helix_turns_as_its_radius_and_pitch_say_and_a_straight_strand_does_not() {
        let (radius, turns, count) = (4e-3, 3.0, 200_u32);
        // A turn of this height has the curvature radius / (radius^2 + (height / tau)^2).
        let height: f64 = 0.03;
        let helix = (0..count).map(|i| {
            let part = turns * f64::from(i) / f64::from(count - 1);
            let (sin, cos) = (TAU * part).sin_cos();
            DVec3::new(radius * cos, -height * part, radius * sin)
        });
        let straight = (0..count).map(|i| DVec3::Y * 1e-3 * f64::from(i));
        let positions: Vec<DVec3> = helix.chain(straight).collect();
        let exact = radius / (radius * radius + (height / TAU).powi(2));
        let curl = curvature(&[0, count], &positions);
        assert!((curl / exact - 1.0).abs() < 1e-3, "{curl} for {exact}");
        let straight = curvature(&[0, count], &positions[count as usize..]);
        assert!(straight < 1e-3, "{straight}");
        let both = curvature(&[0, count, 2 * count], &positions);
        assert!((both - 0.5 * (curl + straight)).abs() < 1e-12 * exact, "{both}");
    }

    #[test]
    fn rates_of_drops_are_those_of_each_groom_over_all_steps() {
        let drip = |groom, mass| Drip { position: DVec3::ZERO, velocity: DVec3::ZERO, mass, groom };
        let mut sum = Dripping::default();
        assert_eq!(sum.rates(0), [0.0; 2]);
        sum.add(&Dripping::new(2, &[drip(1, 2e-5), drip(1, 1e-5)], 0.1));
        sum.add(&Dripping::new(2, &[drip(0, 4e-5)], 0.3));
        assert_eq!(sum.drops(), 3);
        let near = |got: [f64; 2], wanted: [f64; 2]| {
            (0..2).for_each(|k| assert!((got[k] / wanted[k] - 1.0).abs() < 1e-12, "{got:?} {wanted:?}"));
        };
        near(sum.rates(0), [1.0 / 0.4, 4e-5 / 0.4]);
        near(sum.rates(1), [2.0 / 0.4, 3e-5 / 0.4]);
    }
}
