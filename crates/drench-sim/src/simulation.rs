//! A simulation: built from a scene, advanced frame by frame, saved and restored.

use crate::bodies;
use crate::bodies::BodyScratch;
use crate::boundary::{Boundary, BoundaryScratch};
use crate::capture;
use crate::checkpoint;
use crate::collisions::{CollisionModel, CollisionScratch};
use crate::cords::{self, CordWorking};
use crate::flow::{self, ForeignScratch};
use crate::hair::{self, HairWorking};
use crate::report::{Report, peak_memory_mb};
use crate::solids::{SolidModel, Span};
use crate::step::{self, substep};
use crate::world::{Model, Scratch, State, World};
use crate::{SimError, convert};
use crate::{grains, grooms, liquid, particles};
use drench_io::stats::{BodyStats, Compression, Energy, Point, Strain};
use drench_io::{Frame, FrameStats};
use drench_physics::air::AirFlow;
use drench_physics::cords::CordScratch;
use drench_physics::diagnostics;
use drench_physics::grains::GrainScratch;
use drench_physics::interaction::{Deposit, Grid};
use drench_physics::liquid::LiquidScratch;
use drench_physics::strands::{Roots, StrandScratch, StrandState};
use drench_physics::wetting::soak::SoakScratch;
use drench_scene::Scene;
use glam::DVec3;
use std::collections::BTreeMap;
use std::time;

/// A world and its clock.
#[derive(Debug)]
pub struct Simulation {
    world: World,
}

impl Simulation {
    /// Builds the world of a scene at time 0.
    pub fn build(scene: &Scene) -> Result<Self, SimError> {
        let solids = SolidModel::build_all(scene)?;
        let interaction = scene.interaction.as_ref().map(convert::interaction).transpose()?;
        let (mut strands, mut vertices) = (Vec::with_capacity(scene.grooms.len()), 0);
        for groom in &scene.grooms {
            let body = grooms::build(scene, groom, &solids, interaction.as_ref(), vertices)?;
            vertices += body.model.vertex_count() as u64;
            strands.push(body);
        }
        let (bodies, rigid) = bodies::build(scene, &solids)?;
        let mut state = State { rigid, ..State::default() };
        let (liquid, walls) = match liquid::build(scene, &solids)? {
            Some((body, filled)) => {
                state.liquid = filled;
                let walls = Boundary::build(&solids, body.model.spacing, scene.simulation.seed)?;
                (Some(body), walls)
            }
            None => (None, Boundary::default()),
        };
        let mut grains = Vec::with_capacity(scene.grains.len());
        for body in &scene.grains {
            let (body, filled) = grains::build(scene, body, &solids)?;
            grains.push(body);
            state.grains.push(filled);
        }
        let hair = hair::build(scene, &strands)?.map(|(body, water)| {
            state.hair = water;
            body
        });
        let (mut cords, mut cord_states, mut segments) = (Vec::new(), Vec::new(), 0);
        for cord in &scene.cords {
            let (body, state) = cords::build(scene, cord, &solids, &bodies, segments)?;
            segments += body.model.segment_count() as u64;
            cords.push(body);
            cord_states.push(state);
        }
        let winds: Vec<_> = scene.winds.iter().map(convert::wind).collect();
        let collision = CollisionModel::build(scene, &strands, &cords);
        let model = Model {
            scene: scene.clone(),
            solids,
            strands,
            cords,
            bodies,
            liquid,
            walls,
            grains,
            hair,
            air: convert::air(&scene.air),
            flow: AirFlow::new(&winds, scene.simulation.seed),
            interaction,
            collision,
        };
        let mut scratch = Scratch {
            solids: model.solids.iter().map(SolidModel::scratch).collect(),
            cords: (model.cords.iter())
                .map(|body| CordWorking { solver: CordScratch::new(&body.model), clamps: Vec::new() })
                .collect(),
            bodies: BodyScratch::default(),
            roots: model.strands.iter().map(|body| Roots::at_rest(vec![DVec3::ZERO; body.roots.len()])).collect(),
            strands: model.strands.iter().map(|body| StrandScratch::new(&body.model)).collect(),
            walls: BoundaryScratch::default(),
            liquid: LiquidScratch::default(),
            grains: model.grains.iter().map(|_| GrainScratch::default()).collect(),
            soak: SoakScratch::default(),
            foreign: ForeignScratch::default(),
            hair: HairWorking::default(),
            grid: Grid::default(),
            boundary: Deposit::default(),
            collisions: CollisionScratch::default(),
        };
        state.cords = cord_states;
        step::pose(&model, &state, &mut scratch, Span::at(0.0))?;
        state.strands = model
            .strands
            .iter()
            .map(|body| {
                let place = scratch.solids[body.solid].after;
                let world = body.rest.iter().map(|local| place.rotation * *local + place.translation).collect();
                StrandState::at_rest(&body.model, world)
            })
            .collect();
        hair::check(&model, &state)?;
        state.ledger.initial = particles::water(&state).map(|(_, mass)| mass).sum();
        Ok(Self { world: World { model, state, scratch } })
    }

    /// Lets strands settle for as long as the scene says, with all solids held at time 0; the figures of frame 0.
    pub fn begin(&mut self) -> Result<FrameStats, SimError> {
        self.begin_unless(|| false).map(Option::unwrap_or_default)
    }

    /// Like [`Simulation::begin`], but given up, with no figures, as soon as `stop` says so between two steps. The
    /// strands are then somewhere on their way: build the simulation anew.
    pub fn begin_unless(&mut self, stop: impl Fn() -> bool) -> Result<Option<FrameStats>, SimError> {
        let dt = self.dt();
        let steps = (self.world.model.scene.simulation.settle / dt).round() as u64;
        let (mut report, start, mut taken) = (Report::default(), time::Instant::now(), 0);
        for _ in 0..steps {
            if stop() {
                return Ok(None);
            }
            taken += self.step(Span { dt, ..Span::at(0.0) }, &mut report)?;
        }
        self.statistics(report, start, taken).map(Some)
    }

    /// One frame further; its figures.
    pub fn advance_frame(&mut self) -> Result<FrameStats, SimError> {
        let dt = self.dt();
        let substeps = u64::from(self.world.model.scene.simulation.substeps);
        let (mut report, start, mut taken) = (Report::default(), time::Instant::now(), 0);
        for step in 1..=substeps {
            let done = u64::from(self.world.state.frame) * substeps + step;
            let span = Span { from: (done - 1) as f64 * dt, to: done as f64 * dt, dt };
            taken += self.step(span, &mut report)?;
        }
        self.world.state.frame += 1;
        self.statistics(report, start, taken)
    }

    /// One substep, in as many parts as it needs, which it returns; by a thread of the pool: work that is shared out from outside of it waits for threads
    /// to wake up, a hundred times over.
    fn step(&mut self, span: Span, report: &mut Report) -> Result<u32, SimError> {
        let world = &mut self.world;
        rayon::scope(|_| {
            let parts = flow::parts(&world.model, &world.state, span, report)?;
            span.parts(parts).try_for_each(|part| substep(world, part, report))?;
            Ok(parts)
        })
    }

    /// Frames done so far.
    pub fn frame_index(&self) -> u32 {
        self.world.state.frame
    }

    /// Simulated time [s].
    pub fn time(&self) -> f64 {
        // As the substeps count it: the last bit matters when a run is resumed.
        let substeps = u64::from(self.world.model.scene.simulation.substeps);
        (u64::from(self.world.state.frame) * substeps) as f64 * self.dt()
    }

    /// Length of a substep [s].
    pub fn dt(&self) -> f64 {
        let simulation = &self.world.model.scene.simulation;
        1.0 / (simulation.fps * f64::from(simulation.substeps))
    }

    /// The world as it is.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The world, for checks that begin as no scene can say.
    pub(crate) fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    /// What was repaired in the scene's meshes, with the solid's name, and what may pass between the vertices of strands.
    pub fn warnings(&self) -> Vec<String> {
        let Model { scene, solids, bodies, strands, .. } = &self.world.model;
        let gaps = strands.iter().flat_map(|body| {
            let longest = body.model.lengths().iter().copied().fold(0.0, f32::max);
            grooms::gaps(scene, &body.name, f64::from(longest), solids)
        });
        let of_meshes =
            solids.iter().flat_map(|solid| solid.warnings.iter().map(|text| format!("{}: {text}", solid.name)));
        of_meshes.chain(bodies.warnings.iter().cloned()).chain(gaps).chain(liquid::doubts(scene)).collect()
    }

    /// What pictures, viewer and exports may see of the world now.
    pub fn frame(&self) -> Frame {
        capture::frame(&self.world, self.time())
    }

    /// The saved state.
    pub fn checkpoint(&self) -> Vec<u8> {
        checkpoint::encode(&self.world.state)
    }

    /// Goes on from a saved state of the same scene.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), SimError> {
        checkpoint::decode(bytes, &mut self.world.state)?;
        // Frames and root directions of the last substep are scratch: compute them anew.
        let now = Span::at(self.time());
        let World { model, state, scratch } = &mut self.world;
        step::pose(model, state, scratch, now)
    }

    fn statistics(&self, report: Report, start: time::Instant, steps: u32) -> Result<FrameStats, SimError> {
        let World { model, state, .. } = &self.world;
        let mut counts = BTreeMap::from([
            ("strands".to_owned(), model.strands.iter().map(|body| body.model.strand_count() as u64).sum()),
            ("strand_vertices".to_owned(), model.strands.iter().map(|body| body.model.vertex_count() as u64).sum()),
            ("triangles".to_owned(), model.solids.iter().map(|solid| solid.mesh.triangles.len() as u64).sum()),
            ("contacts".to_owned(), report.contacts),
        ]);
        if model.collision.is_some() {
            counts.insert("collisions".to_owned(), report.collisions);
        }
        if model.hair.is_some() {
            counts.insert("drips".to_owned(), report.dripping.drops());
            counts.insert("bridges".to_owned(), report.bridges);
        }
        if model.liquid.is_some() {
            counts.insert("liquid_steps".to_owned(), report.liquid_steps);
        }
        if !model.grains.is_empty() {
            let [taken, searches] = report.grain_steps;
            counts.insert("grain_steps".to_owned(), taken);
            counts.insert("grain_searches".to_owned(), searches);
        }
        if report.iterations_max > 0 {
            counts.insert("iterations_max".to_owned(), u64::from(report.iterations_max));
        }
        let (mut strain, mut energy, mut speed_max) = (Strain::default(), Energy::default(), 0.0_f64);
        let mut bodies = BTreeMap::new();
        let segments: usize = model.strands.iter().map(|body| segments(&body.model)).sum();
        for (groom, (body, strands)) in model.strands.iter().zip(&state.strands).enumerate() {
            let figures = diagnostics::measure(&body.name, &body.model, strands, model.scene.simulation.gravity)
                .map_err(|source| SimError::Diverged { time: self.time(), stage: "books", source })?;
            strain.max = strain.max.max(figures.strain_max);
            strain.mean += figures.strain_mean * segments_share(&body.model, segments);
            energy.kinetic += figures.kinetic_energy;
            energy.gravitational += figures.gravitational_energy;
            speed_max = speed_max.max(figures.speed_max);
            let own = Strain { max: figures.strain_max, mean: figures.strain_mean };
            let (wet_part, hair) = hair::measure(model, state, groom, &report.dripping).unzip();
            bodies.insert(
                body.name.clone(),
                BodyStats {
                    strain: Some(own),
                    speed_max: figures.speed_max,
                    height: Some(figures.centre.y),
                    centre: Some(Point { x: figures.centre.x, y: figures.centre.y, z: figures.centre.z }),
                    straightness: Some(figures.straightness),
                    wet_part,
                    hair,
                    ..BodyStats::default()
                },
            );
        }
        let (mut elastic, mut pieces) = (None, 0);
        for (body, cord) in model.cords.iter().zip(&state.cords) {
            let (energies, figures) = cords::measure(model, body, cord);
            energy.kinetic += energies[0];
            *elastic.get_or_insert(0.0) += energies[1];
            energy.gravitational += energies[2];
            pieces += cord.piece_count() as u64;
            speed_max = speed_max.max(figures.speed_max);
            bodies.insert(body.name.clone(), figures);
        }
        energy.elastic = elastic;
        if !model.cords.is_empty() {
            let segments = model.cords.iter().map(|body| body.model.segment_count() as u64).sum();
            counts.insert("cords".to_owned(), model.cords.len() as u64);
            counts.insert("cord_segments".to_owned(), segments);
            counts.insert("pieces".to_owned(), pieces);
            counts.insert("tears".to_owned(), pieces - model.cords.len() as u64);
        }
        for (name, figures) in bodies::figures(model, state) {
            speed_max = speed_max.max(figures.speed_max);
            bodies.insert(name.to_owned(), figures);
        }
        let flowing = particles::measure(model, state);
        for (name, figures) in flowing.bodies {
            speed_max = speed_max.max(figures.speed_max);
            bodies.insert(name, figures);
        }
        for [kinetic, gravitational] in [state.rigid.energy(), flowing.energy] {
            energy.kinetic += kinetic;
            energy.gravitational += gravitational;
        }
        counts.extend(flowing.counts);
        if !state.rigid.is_empty() {
            counts.insert("rigid_bodies".to_owned(), state.rigid.bodies().len() as u64);
        }
        let has_strands = !model.strands.is_empty();
        let dt = if steps > 0 { self.dt() } else { 0.0 };
        let [dt_min, dt_max] = report.lengths().unwrap_or([dt, dt]);
        let has_particles = model.liquid.is_some() || !model.grains.is_empty();
        let has_water = model.liquid.is_some()
            || model.hair.is_some()
            || model.grains.iter().any(|body| body.model.wetness().is_some());
        Ok(FrameStats {
            frame: state.frame,
            time: self.time(),
            steps,
            dt_min,
            dt_max,
            wall_ms: start.elapsed().as_secs_f64() * 1e3,
            stages: report.stages().iter().map(|(name, ms)| ((*name).to_owned(), *ms)).collect(),
            counts,
            memory_mb: peak_memory_mb(),
            water: has_water.then(|| state.ledger.close(particles::water(state))),
            strain: has_strands.then_some(strain),
            compression: report.compression.map(|[density, divergence]| Compression { density, divergence }),
            penetration_max: report.penetration_max,
            speed_max,
            energy: (has_strands || !model.cords.is_empty() || has_particles || !state.rigid.is_empty())
                .then_some(energy),
            warnings: report.warnings(),
            bodies,
        })
    }
}

fn segments(model: &drench_physics::strands::StrandModel) -> usize {
    model.vertex_count() - model.strand_count()
}

fn segments_share(model: &drench_physics::strands::StrandModel, all: usize) -> f64 {
    segments(model) as f64 / all.max(1) as f64
}
