//! Benchmarks: the workloads that the source documents published figures for, built the same way.
//!
//! A bench gives the time of every repetition; the median is what is reported, because this kind of machine is shared.

mod collisions;
mod cords;
mod hair;
mod liquid;
mod sand;

use crate::{SimError, Simulation};
use drench_geometry::field::Field;
use drench_geometry::poisson::{self, PoissonSettings};
use drench_geometry::subdivide::loop_subdivide;
use drench_geometry::{GeometryError, bunny};
use drench_math::random::Stream;
use drench_physics::air::{Air, AirFlow};
use drench_physics::contact::{Collider, Placement};
use drench_physics::grains::fill::{Beginning, fill};
use drench_physics::grains::{self, GrainModel, GrainScratch, GrainState, Sizes, Spread};
use drench_physics::interaction::{Grid, Interaction, Storage};
use drench_physics::region::Region;
use drench_physics::strands::{
    self, Environment, Material, Method, StrandModel, StrandScratch, StrandState, Tip, csm, dftl, pbd,
};
use drench_physics::synthetic::HairyBall;
use glam::DVec3;
use std::time::Instant;

/// One workload.
#[derive(Clone, Copy, Debug)]
pub struct Bench {
    /// Name, by which it is asked for.
    pub name: &'static str,
    /// What is done.
    pub work: &'static str,
    /// What is timed.
    pub stage: &'static str,
    /// The published time [ms], if there is one.
    pub published_ms: Option<f64>,
    /// Where it was published, and on which machine.
    pub published_where: &'static str,
    /// The longest that the project puts up with on two cores [ms], if it has said so.
    pub limit_ms: Option<f64>,
    /// Gives the time of every repetition [ms].
    pub run: Run,
}

type Run = fn() -> Result<Vec<f64>, SimError>;

impl Bench {
    /// A workload.
    pub const fn new(name: &'static str, stage: &'static str, run: Run) -> Self {
        Self { name, work: "", stage, published_ms: None, published_where: "", limit_ms: None, run }
    }

    /// Says what is done.
    pub const fn of(self, work: &'static str) -> Self {
        Self { work, ..self }
    }

    /// With a published figure [ms].
    const fn published(self, ms: f64, at: &'static str) -> Self {
        Self { published_ms: Some(ms), published_where: at, ..self }
    }

    /// With a limit [ms].
    const fn at_most(self, ms: f64) -> Self {
        Self { limit_ms: Some(ms), ..self }
    }
}

const RUNGJIRATANANON: &str = "Rungjiratananon 2012, GTX 480, with rendering";
/// Where the figures of wet hair are from.
const WET_HAIR: &str = "Rungjiratananon 2012b, table 1 (i7, 3.2 GHz)";
const SAND: &str = "Rungjiratananon 2012, GTX 280, without rendering";
const HENNE: &str = "Henne 2013, i5-3450, 4 cores";

const CORDS: &str = "Rungjiratananon 2012, i7 3.2 GHz, with self-collisions";

/// Every workload of this crate.
pub const BENCHES: &[Bench] = &[
    Bench::new("poisson-1m", "sampling", || poisson_samples(1_000_000))
        .of("1 M Poisson-disk samples on a bunny of 940 544 triangles")
        .published(49_400.0, HENNE)
        .at_most(5000.0),
    Bench::new("dftl-240k", "step", || dftl_hair(20_031, 12, Some(Storage::Dense)))
        .of("240 372 particles, DFTL + interaction, cell 0.02")
        .published(45.0, HENNE)
        .at_most(15.0),
    Bench::new("dftl-240k-sparse", "step", || dftl_hair(20_031, 12, Some(Storage::Sparse)))
        .of("240 372 particles, DFTL + interaction, hash grid")
        .published(120.0, HENNE),
    Bench::new("dftl-240k-alone", "step", || dftl_hair(20_031, 12, None))
        .of("240 372 particles, DFTL without interaction")
        .published(16.0, HENNE),
    Bench::new("dftl-425k", "step", || dftl_hair(30_397, 14, Some(Storage::Dense)))
        .of("425 558 particles, DFTL + interaction, cell 0.02")
        .published(75.0, HENNE)
        .at_most(25.0),
    Bench::new("dftl-425k-sparse", "step", || dftl_hair(30_397, 14, Some(Storage::Sparse)))
        .of("425 558 particles, DFTL + interaction, hash grid")
        .published(210.0, HENNE),
    Bench::new("dftl-425k-alone", "step", || dftl_hair(30_397, 14, None))
        .of("425 558 particles, DFTL without interaction")
        .published(27.0, HENNE),
    Bench::new("long-hair-2m", "step", || long_hair(90_000))
        .of("90 000 strands of up to 35, 2 M particles, DFTL + interaction, cell 0.0175")
        .published(450.0, HENNE)
        .at_most(120.0),
    Bench::new("long-hair-1m", "step", || long_hair(45_000))
        .of("45 000 strands of up to 35, 1 M particles: half of long-hair-2m"),
    Bench::new("bunny-fur", "step", bunny_fur)
        .of("250 000 strands x 5, PBD to 20 % stretch + interaction, cell 0.03")
        .published(290.0, HENNE)
        .at_most(90.0),
    Bench::new("cords-100", "step", || cords::steps(&[100]))
        .of("a cord of 100 segments, all effects")
        .published(1.73, CORDS),
    Bench::new("cords-150", "step", || cords::steps(&[150]))
        .of("a cord of 150 segments, all effects")
        .published(2.16, CORDS),
    Bench::new("cords-200", "step", || cords::steps(&[200]))
        .of("a cord of 200 segments, all effects")
        .published(2.42, CORDS),
    Bench::new("cords-746", "step", || cords::steps(&[186, 186, 187, 187]))
        .of("four ropes of a bridge, 746 segments and 28 boards, all effects")
        .published(6.17, CORDS)
        .at_most(0.6),
    Bench::new("bridge-746", "substep", bridge)
        .of("the scene `bridge` in full: 746 segments in 34 ropes, 50 rigid bodies, no self-collisions")
        .published(6.17, CORDS),
    Bench::new("csm-160k", "step", || shape_matched(10_000, 16, 2.0))
        .of("10 000 strands of 16, 160 000 particles, CSM w = 2 + strain limiting")
        .published(83.0, RUNGJIRATANANON)
        .at_most(15.0),
    Bench::new("csm-580k", "step", || curls_matched(10_000, 58, 5.0))
        .of("10 000 curls of 58, 580 000 particles, CSM w = 5 + strain limiting")
        .published(143.0, RUNGJIRATANANON)
        .at_most(50.0),
    Bench::new("csm-580k-w2", "step", || curls_matched(10_000, 58, 2.0)).of("the same with w = 2"),
    Bench::new("csm-580k-w6", "step", || curls_matched(10_000, 58, 6.0))
        .of("the same with w = 6: at most 1.3 times as long as with w = 2"),
    Bench::new("csm-1600k", "step", || shape_matched(80_000, 20, 3.0))
        .of("80 000 strands of 20, 1.6 M particles, CSM w = 3 + strain limiting")
        .at_most(130.0),
    Bench::new("sand-pile", "step", || sand::steps(32_000, 8_000))
        .of("32 000 grains + 8 000 liquid particles that soak in; a step of the grains with its share of the rest")
        .published(9.4, SAND)
        .at_most(10.0),
    Bench::new("sand-pile-both", "step", || sand::steps_of_both(32_000, 8_000))
        .of("one step of the grains and one of the liquid, with all that is between them"),
    Bench::new("sand-pile-1s", "a second", || sand::second(32_000, 8_000)).of("the same for a simulated second"),
    Bench::new("sand-castle", "step", || sand::steps(25_000, 70_000))
        .of("25 000 grains + 70 000 liquid particles that soak in; a step of the grains with its share of the rest")
        .published(26.7, SAND)
        .at_most(60.0),
    Bench::new("sand-castle-both", "step", || sand::steps_of_both(25_000, 70_000))
        .of("one step of the grains and one of the liquid, with all that is between them"),
    Bench::new("sand-castle-1s", "a second", || sand::second(25_000, 70_000)).of("the same for a simulated second"),
    Bench::new("sand-bunny", "step", || sand::steps(35_000, 64_000))
        .of("35 000 grains + 64 000 liquid particles that soak in; a step of the grains with its share of the rest")
        .published(33.3, SAND)
        .at_most(60.0),
    Bench::new("sand-bunny-both", "step", || sand::steps_of_both(35_000, 64_000))
        .of("one step of the grains and one of the liquid, with all that is between them"),
    Bench::new("sand-bunny-1s", "a second", || sand::second(35_000, 64_000)).of("the same for a simulated second"),
    Bench::new("sand-large", "step", || sand::steps(160_000, 16_000))
        .of("160 000 grains + 16 000 liquid particles that soak in; a step of the grains with its share of the rest")
        .published(48.5, SAND)
        .at_most(48.0),
    Bench::new("sand-large-both", "step", || sand::steps_of_both(160_000, 16_000))
        .of("one step of the grains and one of the liquid, with all that is between them"),
    Bench::new("sand-large-1s", "a second", || sand::second(160_000, 16_000)).of("the same for a simulated second"),
    Bench::new("grains-32k", "step", || heap(32_000)).of("32 000 dry grains that slump"),
    Bench::new("grains-32k-1s", "a second", || heap_for_a_second(32_000)).of("the same for a simulated second"),
    Bench::new("grains-160k", "step", || heap(160_000)).of("160 000 dry grains that slump"),
    Bench::new("csm-collisions-1600k", "step", || collisions::steps(80_000))
        .of("80 000 combed strands of 20, 1.6 M particles, CSM w = 3 + strand-strand collisions")
        .at_most(600.0),
    Bench::new("csm-collisions-800k", "step", || collisions::steps(40_000))
        .of("40 000 combed strands of 20: half of csm-collisions-1600k"),
    Bench::new("dam-break-100k", "liquid step", || liquid::dam_break(50, 40))
        .of("100 000 liquid particles (50 to the height), collapsing column"),
    Bench::new("dam-break-1s", "a second", || liquid::dam_break_for_a_second(50, 40))
        .of("the same for a second; tools/splishsplash_dam_break.py does it with SPlisHSPlasH"),
    Bench::new("dam-wide-10k", "liquid step", || liquid::dam_break(25, 16))
        .of("10 000 liquid particles (25 to the height, 16 to the width), collapsing column"),
    Bench::new("dam-wide-100k", "liquid step", || liquid::dam_break(25, 160)).of("the same, ten times as wide"),
    Bench::new("dam-wide-1m", "liquid step", || liquid::dam_break(25, 1600)).of("the same, a hundred times as wide"),
    Bench::new("wet-hair-voxels", "voxels", || Ok(hair::voxels()))
        .of("134 000 segments, lengths in every voxel")
        .published(3872.0, WET_HAIR)
        .at_most(10.0),
    Bench::new("wet-hair-15k", "step", || hair::steps(500, 15_000, 2_500))
        .of("15 000 segments + 2 500 liquid particles, all stages")
        .published(941.0, WET_HAIR)
        .at_most(15.0),
    Bench::new("wet-hair-105k", "step", || hair::steps(5_500, 105_000, 8_200))
        .of("105 000 segments + 8 200 liquid particles, all stages")
        .published(7419.0, WET_HAIR)
        .at_most(90.0),
    Bench::new("wet-hair-134k", "step", || hair::steps(6_500, 134_000, 9_500))
        .of("134 000 segments + 9 500 liquid particles, all stages")
        .published(8573.0, WET_HAIR)
        .at_most(110.0),
    Bench::new("wet-hair-220k", "step", || hair::steps(11_000, 220_000, 4_800))
        .of("220 000 segments + 4 800 liquid particles, all stages")
        .published(15044.0, WET_HAIR)
        .at_most(170.0),
    Bench::new("wet-hair-2m", "step", || hair::steps(100_000, 2_000_000, 100_000))
        .of("100 000 strands, 2 000 000 segments + 100 000 liquid particles, all stages")
        .at_most(2500.0),
];

/// Radius of the head that long hair grows on [m].
const HEAD: f64 = 0.25;
/// Length of hair that is kept in shape [m].
const SHAPED: f64 = 0.3;
/// Steps before timing starts: buffers grow, hair falls.
const WARM_UP: u32 = 20;
/// Steps that are timed.
const TIMED: u32 = 31;
const DT: f64 = 0.01;

fn poisson_samples(count: usize) -> Result<Vec<f64>, SimError> {
    let wrap = |source: GeometryError| SimError::Groom { groom: "bench".to_owned(), source };
    let mesh = loop_subdivide(&bunny::bunny(0.2), 4).map_err(wrap)?;
    let distance = poisson::spacing_for_count(mesh.total_area(), count as u64);
    let settings = PoissonSettings { distance, seed: 1, faces: None, density: None, limit: 2 * count };
    (0..3)
        .map(|_| {
            let start = Instant::now();
            poisson::sample(&mesh, &settings).map_err(wrap)?;
            Ok(start.elapsed().as_secs_f64() * 1e3)
        })
        .collect()
}

/// Hair on a head, particles 0.02 apart, moved around [Henne2013, 4.2.3].
fn dftl_hair(strands: usize, vertices: usize, storage: Option<Storage>) -> Result<Vec<f64>, SimError> {
    let ball = HairyBall::new(HEAD, strands, 0.0, 0.02, |_| vertices);
    let interaction = storage.map(|storage| Interaction {
        cell: 0.02,
        friction: 0.05,
        repulsion: 1e-4,
        storage,
        ..Interaction::default()
    });
    let method = Method::Dftl(dftl::Parameters { damping: 0.9 });
    steps(&ball, limp(), method, interaction)
}

/// Long hair on the top of a ball, longest in the middle [Henne2013, 6.2].
fn long_hair(strands: usize) -> Result<Vec<f64>, SimError> {
    let ball = HairyBall::new(HEAD, strands, 0.2, 0.02, |height| 10 + (25.0 * height.clamp(0.0, 1.0)) as usize);
    let interaction = Interaction { cell: 0.0175, friction: 0.05, repulsion: 1e-5, ..Interaction::default() };
    let method = Method::Dftl(dftl::Parameters { damping: 0.9 });
    steps(&ball, limp(), method, Some(interaction))
}

/// Fur as dense as on the published bunny: 250 000 roots at least 0.0008 apart [Henne2013, 6.1].
fn bunny_fur() -> Result<Vec<f64>, SimError> {
    let ball = HairyBall::new(0.135, 250_000, -1.0, 0.004, |_| 5);
    let interaction = Interaction { cell: 0.03, friction: 0.05, repulsion: 1e-6, ..Interaction::default() };
    let iterations = pbd::Iterations::Strand { stretch: 0.2, least: 4, most: 50 };
    let method = Method::Pbd(pbd::Parameters { iterations, strain_limit: 0.2, ..pbd::Parameters::default() });
    steps(&ball, Material::default(), method, Some(interaction))
}

/// Strands on a head that is moved to and fro, 30 cm long: CSM and strain limiting, no interaction [Rungjiratananon2012, 4.7.1].
fn shape_matched(strands: usize, vertices: usize, half_width: f64) -> Result<Vec<f64>, SimError> {
    steps(&shaped(strands, vertices), Material::default(), Method::Csm(csm::Parameters::even(half_width)), None)
}

/// The same for curls.
fn curls_matched(strands: usize, vertices: usize, half_width: f64) -> Result<Vec<f64>, SimError> {
    let ball = shaped(strands, vertices).curled(SHAPED / vertices as f64, 4e-3, 8.0);
    steps(&ball, Material::default(), Method::Csm(csm::Parameters::even(half_width)), None)
}

fn shaped(strands: usize, vertices: usize) -> HairyBall {
    HairyBall::new(HEAD, strands, 0.0, SHAPED / vertices as f64, |_| vertices)
}

/// Steps of the whole scene of a bridge, in full, before it is hit and while it is.
fn bridge() -> Result<Vec<f64>, SimError> {
    let source = drench_scene::Source::named("bridge");
    let scene = drench_scene::load(source, Some(drench_scene::Size::Full), &[]).expect("built-in scenes are sound");
    let steps = scene.simulation.substeps;
    step_times(&mut Simulation::build(&scene)?, steps, 60)
}

/// The source's strands have no bending.
fn limp() -> Material {
    Material { shape: 0.0, ..Material::default() }
}

/// Times whole steps while the ball is moved to and fro.
fn steps(
    ball: &HairyBall,
    material: Material,
    method: Method,
    interaction: Option<Interaction>,
) -> Result<Vec<f64>, SimError> {
    let wrap = |source| SimError::Model { groom: "bench".to_owned(), source };
    let model = StrandModel::new(ball.rest(), material, method, Tip::Free).map_err(wrap)?;
    let mut state = StrandState::at_rest(&model, ball.positions.clone());
    let mut scratch = StrandScratch::new(&model);
    let mut roots = ball.roots();
    let start_roots = roots.positions.clone();
    let (mut grid, flow) = (Grid::default(), AirFlow::still());
    let mut samples = Vec::new();
    for step in 0..WARM_UP + TIMED {
        let shift = DVec3::X * (0.1 * (f64::from(step) * DT * 6.0).sin());
        let start = Instant::now();
        roots.advance();
        roots.positions.iter_mut().zip(&start_roots).for_each(|(now, rest)| *now = *rest + shift);
        let environment = Environment {
            gravity: DVec3::new(0.0, -9.81, 0.0),
            air: Air::default(),
            breeze: flow.at(0.0),
            colliders: &[],
        };
        strands::solve(&model, &mut state, &mut scratch, &roots, &environment, interaction.as_ref(), DT)
            .map_err(wrap)?;
        if let Some(interaction) = &interaction {
            grid.assemble(interaction, &[&scratch], &[]);
            grid.apply(interaction, &mut state, &[], DT);
        }
        if step >= WARM_UP {
            samples.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    Ok(samples)
}

/// Times single steps of a heap while it gives way: no grain sleeps.
fn heap(count: usize) -> Result<Vec<f64>, SimError> {
    Ok(slump(count)?.into_iter().map(|[ms, _]| ms).collect())
}

/// What a second of the same takes [ms].
fn heap_for_a_second(count: usize) -> Result<Vec<f64>, SimError> {
    Ok(slump(count)?.into_iter().map(|[ms, h]| ms / h).collect())
}

/// Time [ms] and length [s] of single steps of a heap that gives way.
fn slump(count: usize) -> Result<Vec<[f64; 2]>, SimError> {
    const STEPS: u32 = 10;
    /// When it has come together and flows [s].
    const FLOWS: f64 = 0.03;
    let wrap = |source| SimError::Grains { grains: "bench".to_owned(), part: None, source };
    let sizes = Sizes { radius: 2e-3, spread: Spread::Even(0.1) };
    let model = GrainModel::new(sizes, grains::Material::default(), None, None).map_err(wrap)?;
    // A cone whose height is its radius holds pi / 3 of its cube, 0.6 of it full of balls; some more for the rim.
    let foot = (count as f64 * sizes.radius.powi(3) * 4.0 / 0.6).cbrt() * 1.05;
    let cone = Region::Cone { foot: DVec3::ZERO, radius: foot, height: foot };
    let mut state = GrainState::default();
    let filled = fill(&model, &cone, Beginning::default(), Stream::new(1, "bench")).map_err(wrap)?;
    filled.into_iter().take(count).for_each(|grain| {
        state.push(&model, grain);
    });
    let ground = Collider::new(&Field::HalfSpace, Placement::IDENTITY, Placement::IDENTITY, 0.5);
    let surroundings = grains::Surroundings {
        gravity: DVec3::new(0.0, -9.81, 0.0),
        colliders: &[ground],
        carried_by: &[],
        forces: &[],
    };
    let mut scratch = GrainScratch::default();
    let mut solve =
        |dt: f64| grains::solve(&model, &mut state, &mut scratch, &surroundings, &mut [], &mut [], dt).map_err(wrap);
    solve(FLOWS)?;
    let dt = 0.9999 * model.longest_step() * f64::from(STEPS);
    (0..TIMED)
        .map(|_| {
            let start = Instant::now();
            let steps = f64::from(solve(dt)?.steps);
            Ok([start.elapsed().as_secs_f64() * 1e3 / steps, dt / steps])
        })
        .collect()
}

/// Time of a substep [ms] in each of so many frames of `steps` substeps.
fn step_times(simulation: &mut Simulation, steps: u32, runs: u32) -> Result<Vec<f64>, SimError> {
    (0..runs)
        .map(|_| {
            let start = Instant::now();
            simulation.advance_frame()?;
            Ok(start.elapsed().as_secs_f64() * 1e3 / f64::from(steps))
        })
        .collect()
}
