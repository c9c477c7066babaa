//! One substep of a liquid. Read [`solve`] and `Step::advance` from top to bottom: they are the algorithm.

use super::dfsph::{self, Solved};
use super::drag::{Drag, Flow};
use super::fields::{Fields, dot};
use super::film::{self, Film};
use super::floaters::Floaters;
use super::guard::{Guard, Stop};
use super::kernel::CubicSpline;
use super::mueller2003::{self, Springy};
use super::pace::{Limit, Velocities, longest_step, stir};
use super::rows::{Kernel8, PIECE, Search};
use super::state::{LiquidState, Reorder, permute};
use super::tension::{Surface, Tension};
use super::viscosity::{self, Viscous};
use super::walls::{Frame, Walls, lanes, vector};
use super::{LiquidModel, Method, NO_BODY, Reactions, Surroundings};
use crate::error::{PhysicsError, check};
use drench_geometry::neighbours::Neighbours;
use drench_math::ordered;
use glam::DVec3;
use rayon::prelude::*;
use wide::f32x4;

/// The origin of single precision moves in steps of this many supports.
const ORIGIN_STEP: f64 = 64.0;
/// Distance to solids that the guard insists on, in spacings.
const KEEP: f64 = 0.1;
/// How far foreign particles that give way only when the step is over may go before they are put where they are, in spacings.
const DRIFT: f64 = 0.1;
/// Speed beyond which a liquid has run away [m/s].
const FASTEST: f64 = 1e4;

/// Buffers of a liquid, made anew at will.
#[derive(Debug, Default)]
pub struct LiquidScratch {
    fields: Fields,
    neighbours: Neighbours,
    walls: Walls,
    foreign: Walls,
    films: Vec<Film>,
    floaters: Floaters,
    drag: Drag,
    surface: Surface,
    reorder: Reorder,
    /// Where particles were at the beginning of the step [m].
    starts: Vec<DVec3>,
    /// How far particles may go before they can meet a solid that stands still [m].
    room: Vec<f32>,
    room_buffer: Vec<f32>,
    /// Velocities in single precision before whatever changes them.
    before: Vec<f32x4>,
    wall_impulses: Vec<DVec3>,
    foreign_impulses: Vec<DVec3>,
}

/// What happened in a substep.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Steps taken.
    pub steps: u32,
    /// Shortest of them [s].
    pub shortest: f64,
    /// Longest of them [s].
    pub longest: f64,
    /// Iterations of all density solves.
    pub density_iterations: u32,
    /// Iterations of all divergence solves.
    pub divergence_iterations: u32,
    /// Iterations of all viscosity solves.
    pub viscosity_iterations: u32,
    /// Largest mean compression that a density solve left.
    pub density_error: f64,
    /// Largest mean compression per step that a divergence solve left.
    pub divergence_error: f64,
    /// Solves of pressure that stopped before they were exact enough.
    pub unconverged: u32,
    /// Solves of viscosity that did.
    pub viscosity_unconverged: u32,
    /// Why a step should have been shorter than the shortest allowed, if one should.
    pub hurried: Option<Limit>,
    /// How often the guard put a particle back.
    pub guarded: u32,
    /// Largest speed at the end [m/s].
    pub speed: f64,
}

/// Everything a step works with.
struct Step<'a, 'b> {
    model: &'a LiquidModel,
    surroundings: &'a Surroundings<'b>,
    frame: Frame,
    /// Length of the step [s].
    dt: f64,
    /// Part of the substep that is over [s].
    since: f64,
    /// Part of the substep that is left, this step included [s].
    left: f64,
    /// Whether solids, and foreign particles, are elsewhere than in the last step.
    moved: [bool; 2],
}

/// One substep of `dt` seconds, in as many steps as the liquid needs; they divide it exactly.
pub fn solve(
    model: &LiquidModel,
    state: &mut LiquidState,
    scratch: &mut LiquidScratch,
    surroundings: &Surroundings,
    reactions: &mut Reactions,
    dt: f64,
) -> Result<Tally, PhysicsError> {
    check("dt", dt, "positive", |x| x > 0.0)?;
    model.check()?;
    check_counts(state, surroundings, reactions)?;
    let mut tally = Tally { shortest: dt, ..Tally::default() };
    if state.is_empty() {
        return Ok(tally);
    }
    scratch.room.clear();
    scratch.room.resize(state.len(), 0.0);
    let solids = Velocities::of(surroundings.samples.velocities);
    let drifting = surroundings.foreign.velocities;
    let others = solids.and(Velocities::of(drifting));
    let drift = ordered::max(drifting.len(), 0.0, |f| drifting[f].length_squared()).sqrt();
    let (mut left, mut put) = (dt, dt);
    loop {
        let (length, hurried) = longest_step(model, state, surroundings.gravity, others)?;
        let steps = (left / length - 1e-9).ceil().max(1.0);
        let length = left / steps;
        let frame = frame(model, state);
        let first = tally.steps == 0;
        // Loose ones are put in their places in every step, those of them that are near the liquid; others once they have gone some way.
        let drifted = first || surroundings.foreign.loose > 0 || (put - left) * drift > DRIFT * model.spacing;
        put = if drifted { left } else { put };
        let moved = [first || !solids.stand(), drifted];
        let step = Step { model, surroundings, frame, dt: length, since: dt - left, left, moved };
        step.advance(state, scratch, reactions, &mut tally)?;
        let guard = Guard {
            colliders: surroundings.colliders,
            keep: KEEP * model.spacing,
            dt,
            span: [1.0 - left / dt, if steps <= 1.0 { 1.0 } else { 1.0 - (left - length) / dt }],
        };
        tally.guarded += step.guard(&guard, state, scratch, reactions);
        tally.steps += 1;
        tally.hurried = tally.hurried.or(hurried);
        tally.shortest = tally.shortest.min(length);
        tally.longest = tally.longest.max(length);
        if steps <= 1.0 {
            break;
        }
        left -= length;
    }
    tally.speed = speed(state)?;
    Ok(tally)
}

/// Largest speed of a particle [m/s].
pub(super) fn speed(state: &LiquidState) -> Result<f64, PhysicsError> {
    let speed = ordered::max(state.len(), 0.0, |i| state.velocities[i].length_squared()).sqrt();
    check("speed of the liquid [m/s]", speed, "below 10 000: try smaller steps or gentler motion", |x| x < FASTEST)?;
    Ok(speed)
}

/// Kernel and origin of a step.
fn frame(model: &LiquidModel, state: &LiquidState) -> Frame {
    let kernel = CubicSpline::new(model.support());
    let origin = origin(state, kernel.support);
    Frame { origin, kernel, kernel8: Kernel8::new(&kernel), density: model.material.density }
}

/// Where single precision counts from: near the middle of the liquid, so that stray drops cost it nothing.
fn origin(state: &LiquidState, support: f64) -> DVec3 {
    let add = |range: std::ops::Range<usize>| range.map(|i| state.positions[i]).sum::<DVec3>();
    let mean = ordered::reduce(state.len(), DVec3::ZERO, add, |a, b| a + b) / state.len() as f64;
    let step = ORIGIN_STEP * support;
    (mean / step).round() * step
}

/// Brings the particles into z-order.
fn sort(state: &mut LiquidState, scratch: &mut LiquidScratch, support: f64) -> Result<(), PhysicsError> {
    scratch.neighbours.rebuild(&state.positions, support).map_err(|error| PhysicsError::search("liquid", &error))?;
    state.reorder(scratch.neighbours.order(), &mut scratch.reorder);
    permute(&mut scratch.room, scratch.neighbours.order(), &mut scratch.room_buffer);
    scratch.starts.clone_from(&state.positions);
    Ok(())
}

/// Gives bodies and foreign particles what the liquid got from them.
fn push_back(scratch: &LiquidScratch, surroundings: &Surroundings, reactions: &mut Reactions) {
    for (b, impulse) in scratch.wall_impulses.iter().enumerate() {
        let body = surroundings.samples.bodies[b] as usize;
        if body < reactions.bodies.len() && *impulse != DVec3::ZERO {
            let position = scratch.walls.position(b);
            reactions.bodies[body].push(*impulse, position, &mut reactions.pushes[body]);
        }
    }
    for (total, impulse) in reactions.foreign.iter_mut().zip(&scratch.foreign_impulses) {
        *total += *impulse;
    }
    for film in &scratch.films {
        let body = surroundings.collider_bodies.get(film.collider).map_or(NO_BODY, |&body| body) as usize;
        if body < reactions.bodies.len() {
            reactions.bodies[body].push(-film.impulse, film.place, &mut reactions.pushes[body]);
        }
    }
}

impl Step<'_, '_> {
    fn advance(
        &self,
        state: &mut LiquidState,
        scratch: &mut LiquidScratch,
        reactions: &mut Reactions,
        tally: &mut Tally,
    ) -> Result<(), PhysicsError> {
        sort(state, scratch, self.frame.kernel.support)?;
        self.find_neighbours(state, scratch);
        self.meet_solids(state, scratch, reactions)?;
        self.weigh_pressure(scratch);
        match &self.model.method {
            Method::Dfsph(parameters) => {
                self.apply_forces(state, scratch, tally);
                let solved = self.remove_divergence(state, scratch, parameters);
                tally.divergence_iterations += solved.iterations;
                tally.divergence_error = tally.divergence_error.max(solved.error);
                tally.unconverged += u32::from(solved.error > parameters.divergence_error);
                let solved = self.remove_compression(state, scratch, parameters);
                tally.density_iterations += solved.iterations;
                tally.density_error = tally.density_error.max(solved.error);
                tally.unconverged += u32::from(solved.error > parameters.density_error);
            }
            Method::Mueller2003(parameters) => self.apply_springs(state, scratch, parameters),
        }
        state.stir = stir(&scratch.fields, self.model.spacing, self.frame.density);
        push_back(scratch, self.surroundings, reactions);
        Ok(())
    }

    /// Keeps particles out of solids; gives how many it had to stop.
    fn guard(
        &self,
        guard: &Guard,
        state: &mut LiquidState,
        scratch: &mut LiquidScratch,
        reactions: &mut Reactions,
    ) -> u32 {
        let stops = guard.hold(state, &scratch.starts, &mut scratch.room);
        let body_of = |stop: &Stop| self.surroundings.collider_bodies.get(stop.collider).map_or(NO_BODY, |&body| body);
        let at_bodies = || {
            stops.iter().map(|stop| (stop, body_of(stop) as usize)).filter(|(_, body)| *body < reactions.bodies.len())
        };
        let mut met = vec![0.0; reactions.bodies.len()];
        for (stop, body) in at_bodies() {
            let way = stop.impulse.normalize_or_zero();
            met[body] += state.masses[stop.particle] * reactions.bodies[body].inverse_mass_at(stop.position, way);
        }
        let pushes: Vec<(&Stop, usize)> = at_bodies().collect();
        for (stop, body) in pushes {
            let share = 1.0 / (1.0 + met[body]);
            state.velocities[stop.particle] += stop.impulse * ((1.0 - share) / state.masses[stop.particle]);
            reactions.bodies[body].push(stop.impulse * share, stop.position, &mut reactions.pushes[body]);
        }
        stops.len() as u32
    }

    fn find_neighbours(&self, state: &LiquidState, scratch: &mut LiquidScratch) {
        let LiquidScratch { fields, neighbours, before, .. } = scratch;
        let count = state.len();
        fields.resize(count);
        let (frame, positions) = (&self.frame, &state.positions);
        fields.points.set(count, |i| frame.local(positions[i]), |i| state.masses[i] as f32);
        take_velocities(&mut fields.v, state);
        before.clone_from(&fields.v);
        let Fields { points, rows, density, gradient, inverse_diagonal, even, .. } = fields;
        let search = Search { neighbours, points, kernel: frame.kernel8 };
        let own = frame.kernel.value(0.0) as f32;
        let out = density.par_chunks_mut(PIECE).zip(gradient.par_chunks_mut(PIECE));
        let out = out.zip(inverse_diagonal.par_chunks_mut(PIECE)).zip(even.par_chunks_mut(PIECE));
        let rest = frame.density as f32;
        out.zip(rows).enumerate().for_each(|(piece, ((((density, gradient), squares), even), rows))| {
            let seeker = |number: usize| {
                let i = piece * PIECE + number;
                (neighbours.cell_of(positions[i]), points.x[i], i as u32)
            };
            search.fill(rows, density.len(), seeker, |number, sums| {
                density[number] = own * points.masses[piece * PIECE + number] + sums.density;
                gradient[number] = sums.gradient;
                squares[number] = sums.squares;
                even[number] = sums.spread / rest;
            });
        });
    }

    /// Puts solids and foreign particles where they are now, and lets particles find them.
    fn meet_solids(
        &self,
        state: &LiquidState,
        scratch: &mut LiquidScratch,
        reactions: &Reactions,
    ) -> Result<(), PhysicsError> {
        let LiquidScratch { fields, neighbours, walls, foreign, films, floaters, .. } = scratch;
        let LiquidScratch { wall_impulses, foreign_impulses, .. } = scratch;
        let (samples, others) = (&self.surroundings.samples, &self.surroundings.foreign);
        fields.wall.fill(f32x4::ZERO);
        fields.wall_rate.fill(0.0);

        if self.moved[0] || !walls.stands(&self.frame) {
            let position = |b: usize| samples.positions[b] - samples.velocities[b] * self.left;
            walls.place_samples(samples.positions.len(), samples.volumes, position, &self.frame)?;
        }
        let velocity = |b: usize| match reactions.bodies.get(samples.bodies[b] as usize) {
            Some(body) => body.velocity_at(samples.positions[b]),
            None => samples.velocities[b],
        };
        walls.meet(fields, &state.positions, velocity, &self.frame);
        let pushed = samples.bodies.iter().any(|&body| (body as usize) < reactions.bodies.len());
        wall_impulses.clear();
        wall_impulses.resize(if pushed { samples.positions.len() } else { 0 }, DVec3::ZERO);
        if pushed {
            walls.look_back();
        }
        let fall = self.surroundings.gravity * (self.since + self.dt);
        floaters.take(fields, walls, samples.bodies, reactions.bodies, fall);

        if self.moved[1] || !foreign.stands(&self.frame) {
            let near = (others.loose > 0).then_some(&*neighbours);
            let position = |f: usize| others.positions[f] + others.velocities[f] * self.since;
            foreign.place_foreign(near, others.volumes, position, &self.frame)?;
        }
        let velocity = |f: usize| others.velocities[f] + reactions.foreign[f] * others.inverse_masses[f];
        foreign.meet(fields, &state.positions, velocity, &self.frame);
        foreign.look_back();
        foreign.close(fields, others.closed);
        foreign.loosen(fields, &others.inverse_masses[..others.loose.min(others.inverse_masses.len())]);
        let done = self.since / (self.since + self.left);
        film::find(films, foreign, others.diameters, self.surroundings.colliders, &self.frame, done);
        foreign_impulses.clear();
        foreign_impulses.resize(others.positions.len(), DVec3::ZERO);
        Ok(())
    }

    /// The diagonal of D G: |Σ m_j ∇W + Σ ψ_b ∇W|² + m_i Σ m_j |∇W|², and what loose points and bodies add.
    fn weigh_pressure(&self, scratch: &mut LiquidScratch) {
        let LiquidScratch { fields, foreign, floaters, .. } = scratch;
        let Fields { points, gradient, wall, inverse_diagonal, .. } = fields;
        let loose = Some(&*foreign).filter(|foreign| foreign.is_loose());
        // Below this, pressure would need more than all neighbours on one side to get hold of the particle.
        let least = (1e-6 * (self.frame.density / self.model.spacing).powi(2)) as f32;
        // A hundred droplets crowd where one particle should be, and act as one: each by its own small mass would go too far.
        let full = self.model.particle_mass() as f32;
        inverse_diagonal.par_iter_mut().enumerate().with_min_len(PIECE).for_each(|(i, inverse)| {
            let total = gradient[i] + wall[i];
            let diagonal = dot(total, total)
                + points.masses[i].max(full) * *inverse
                + loose.map_or(0.0, |loose| loose.loose_diagonal(i / PIECE, i % PIECE, points.x[i]))
                + floaters.diagonal(i);
            *inverse = if diagonal > least { 1.0 / diagonal } else { 0.0 };
        });
    }

    /// Gravity in double precision; surface tension, viscosity and drag, which depend on neighbours, in single.
    fn apply_forces(&self, state: &mut LiquidState, scratch: &mut LiquidScratch, tally: &mut Tally) {
        self.fall(state, scratch);
        self.lean_on_walls(state, scratch);
        self.apply_tension(state, scratch);
        self.apply_viscosity(scratch, tally);
        self.apply_drag(scratch);
    }

    fn fall(&self, state: &mut LiquidState, scratch: &mut LiquidScratch) {
        let gained = self.surroundings.gravity * self.dt;
        state.velocities.par_iter_mut().with_min_len(PIECE).for_each(|velocity| *velocity += gained);
        take_velocities(&mut scratch.fields.v, state);
        scratch.before.clone_from(&scratch.fields.v);
    }

    /// Pressure goes on growing downwards behind a wall: p_b − p_i = ρ0 g · (x_b − x_i) [Adami2012]. Without it, liquid at walls would
    /// miss part of its buoyancy and sink. Only what is under pressure leans on walls: a drop that falls along one does not.
    fn lean_on_walls(&self, state: &LiquidState, scratch: &mut LiquidScratch) {
        let LiquidScratch { fields, walls, wall_impulses, foreign, foreign_impulses, .. } = scratch;
        let (gravity, strength) = (lanes(self.surroundings.gravity), (self.dt / self.frame.density) as f32);
        // 1 from the pressure at a depth of one spacing on.
        let depth = self.model.spacing * self.surroundings.gravity.length() / self.frame.density;
        let full = (1.0 / depth.max(f64::MIN_POSITIVE)).min(1e30) as f32;
        let share = |i: usize| strength * (state.pressures[i] * full).min(1.0);
        let pair =
            |i: usize, offset: f32x4, weight: f32| offset * f32x4::splat(share(i) * weight * dot(gravity, offset));
        for (walls, impulses) in [(&*walls, wall_impulses), (&*foreign, foreign_impulses)] {
            if walls.mirror == 1.0 && walls.closed.is_empty() {
                continue;
            }
            let x = &fields.points.x;
            fields.v.par_chunks_mut(PIECE).zip(&walls.rows).enumerate().for_each(|(piece, (v, rows))| {
                for (number, v) in v.iter_mut().enumerate() {
                    let (i, (others, weights)) = (piece * PIECE + number, rows.row(number));
                    *v += others.iter().zip(weights).fold(f32x4::ZERO, |sum, (&b, &weight)| {
                        let b = b as usize;
                        sum + pair(i, x[i] - walls.x[b], weight * walls.behind(b))
                    });
                }
            });
            walls.collect(fields, impulses, |i, b, offset, weight| {
                pair(i, offset, weight * walls.behind(b)) * f32x4::splat(-fields.points.masses[i])
            });
        }
    }

    fn apply_tension(&self, state: &LiquidState, scratch: &mut LiquidScratch) {
        let material = &self.model.material;
        if material.surface_tension == 0.0 {
            return;
        }
        let LiquidScratch { fields, neighbours, walls, foreign, surface, wall_impulses, foreign_impulses, .. } =
            scratch;
        let (angle, d) = (self.model.contact_angle, self.model.spacing);
        let tension = Tension::new(material.surface_tension, angle, material.density, d, self.dt);
        if tension.wetted() && wall_impulses.is_empty() {
            walls.look_back();
        }
        let both = [&*walls, &*foreign];
        surface.find(&tension, fields, neighbours, &state.positions, both);
        for (number, (walls, impulses)) in both.into_iter().zip([wall_impulses, foreign_impulses]).enumerate() {
            walls.collect(fields, impulses, |i, b, _, _| surface.impulse(&tension, fields, number, walls, i, b));
        }
        surface.pull(&tension, fields, neighbours, &state.positions, both);
    }

    /// Calms what velocities are not smooth.
    fn calm(&self, fields: &mut Fields) {
        let (d, density) = (self.model.spacing, self.frame.density);
        viscosity::prepare(fields, density as f32);
        let calming = 2.0 * viscosity::CALMING * d * self.dt / density;
        let slow = calming * (self.surroundings.gravity.length() * d).sqrt();
        viscosity::calm(fields, density as f32, slow as f32, calming as f32);
    }

    /// Viscosity, and the calming.
    fn apply_viscosity(&self, scratch: &mut LiquidScratch, tally: &mut Tally) {
        let LiquidScratch { fields, walls, wall_impulses, .. } = scratch;
        let (d, density) = (self.model.spacing, self.frame.density);
        self.calm(fields);
        let nu = self.model.material.kinematic_viscosity();
        if nu == 0.0 {
            return;
        }
        let viscous = Viscous {
            strength: (2.0 * nu * self.dt / density) as f32,
            rest: density as f32,
            walls: self.model.wall_friction as f32,
            half: (0.5 * d) as f32,
        };
        let mut react = |fields: &Fields| {
            walls.collect(fields, wall_impulses, |i, b, _, weight| viscous.impulse(fields, walls, i, b, weight));
        };
        match self.model.viscosity {
            viscosity::Solver::Explicit => {
                react(fields);
                viscosity::explicit(fields, walls, viscous);
            }
            viscosity::Solver::Implicit { error, most_iterations } => {
                let solved = viscosity::implicit(fields, walls, viscous, error, most_iterations);
                tally.viscosity_iterations += solved.iterations;
                tally.viscosity_unconverged += u32::from(solved.error > error);
                react(fields);
            }
        }
    }

    /// Liquid and the foreign particles around it come to the same velocity.
    fn apply_drag(&self, scratch: &mut LiquidScratch) {
        let LiquidScratch { fields, foreign, foreign_impulses, drag, .. } = scratch;
        let flow = Flow { material: &self.model.material, kernel: &self.frame.kernel, dt: self.dt };
        drag.act(fields, foreign, &self.surroundings.foreign, foreign_impulses, flow);
    }

    /// Lets pressure act on the velocities.
    fn remove_divergence(
        &self,
        state: &mut LiquidState,
        scratch: &mut LiquidScratch,
        parameters: &dfsph::Parameters,
    ) -> Solved {
        let dt = self.dt as f32;
        let warm = scratch.fields.kappa.iter_mut().zip(&state.pressures);
        warm.for_each(|(kappa, pressure)| *kappa = pressure * dt);
        let LiquidScratch { fields, walls, wall_impulses, foreign, floaters, .. } = scratch;
        floaters.count(walls, self.surroundings.samples.bodies, wall_impulses);
        let solved = dfsph::solve_divergence(fields, foreign, floaters, self.frame.density, self.dt, parameters);
        floaters.arrive(fields);
        let pressures = state.pressures.iter_mut().zip(&scratch.fields.kappa);
        pressures.for_each(|(pressure, kappa)| *pressure = kappa / dt);
        collect_pressure(scratch, &self.frame);
        give_velocities(state, &scratch.fields.v, &scratch.before);
        solved
    }

    /// Moves the particles, and apart where they would be too close.
    fn remove_compression(
        &self,
        state: &mut LiquidState,
        scratch: &mut LiquidScratch,
        parameters: &dfsph::Parameters,
    ) -> Solved {
        let LiquidScratch { fields, before, .. } = scratch;
        before.clone_from(&fields.v);
        fields.kappa.fill(0.0);
        let solved = dfsph::solve_density(fields, self.frame.density, self.dt, parameters);
        let moves = state.positions.par_iter_mut().zip(&state.velocities).zip(&fields.v).zip(before);
        moves.with_min_len(PIECE).for_each(|(((position, velocity), after), before)| {
            *position += (*velocity + vector(*after - *before)) * self.dt;
        });
        solved
    }

    fn apply_springs(
        &self,
        state: &mut LiquidState,
        scratch: &mut LiquidScratch,
        parameters: &mueller2003::Parameters,
    ) {
        self.fall(state, scratch);
        self.apply_tension(state, scratch);
        self.calm(&mut scratch.fields);
        self.apply_drag(scratch);
        let LiquidScratch { fields, walls, foreign, wall_impulses, foreign_impulses, .. } = scratch;
        let springy = Springy {
            support: self.frame.kernel.support as f32,
            rest: self.frame.density as f32,
            stiffness: parameters.stiffness as f32,
            viscosity: self.model.material.viscosity as f32,
            walls: self.model.wall_friction as f32,
            dt: self.dt as f32,
        };
        mueller2003::accelerate(fields, &[walls, foreign], springy);
        for (walls, impulses) in [(&*walls, wall_impulses), (&*foreign, foreign_impulses)] {
            walls.collect(fields, impulses, |i, b, _, _| springy.impulse(fields, walls, i, b));
        }
        let pressures = state.pressures.iter_mut().zip(&fields.kappa);
        pressures.for_each(|(pressure, kappa)| *pressure = kappa / self.dt as f32);
        collect_pressure(scratch, &self.frame);
        give_velocities(state, &scratch.fields.v, &scratch.before);
        let moves = state.positions.par_iter_mut().zip(&state.velocities);
        moves.with_min_len(PIECE).for_each(|(position, velocity)| *position += *velocity * self.dt);
    }
}

/// What walls get from the pressure κ that was just applied: m κ ψ ∇W.
fn collect_pressure(scratch: &mut LiquidScratch, frame: &Frame) {
    let LiquidScratch { fields, walls, foreign, films, wall_impulses, foreign_impulses, .. } = scratch;
    film::push(films, fields, foreign, &frame.kernel, foreign_impulses);
    for (walls, impulses) in [(&*walls, wall_impulses), (&*foreign, foreign_impulses)] {
        walls.collect(fields, impulses, |i, _, offset, weight| {
            offset * f32x4::splat(walls.mirror * weight * fields.kappa[i] * fields.points.masses[i])
        });
    }
}

fn take_velocities(v: &mut [f32x4], state: &LiquidState) {
    v.par_iter_mut().zip(&state.velocities).with_min_len(PIECE).for_each(|(v, velocity)| *v = lanes(*velocity));
}

/// Adds the change in single precision to the velocities: what did not change keeps all its digits.
fn give_velocities(state: &mut LiquidState, v: &[f32x4], before: &[f32x4]) {
    let changes = state.velocities.par_iter_mut().zip(v).zip(before).with_min_len(PIECE);
    changes.for_each(|((velocity, after), before)| *velocity += vector(*after - *before));
}

fn check_counts(state: &LiquidState, surroundings: &Surroundings, reactions: &Reactions) -> Result<(), PhysicsError> {
    let (count, samples, foreign) = (state.len(), &surroundings.samples, &surroundings.foreign);
    let counts = [
        ("liquid velocities", state.velocities.len(), count),
        ("liquid masses", state.masses.len(), count),
        ("liquid ids", state.ids.len(), count),
        ("liquid births", state.births.len(), count),
        ("liquid pressures", state.pressures.len(), count),
        ("sample velocities", samples.velocities.len(), samples.positions.len()),
        ("sample bodies", samples.bodies.len(), samples.positions.len()),
        ("sample volumes", samples.volumes.len(), if samples.volumes.is_empty() { 0 } else { samples.positions.len() }),
        ("foreign velocities", foreign.velocities.len(), foreign.positions.len()),
        ("foreign volumes", foreign.volumes.len(), foreign.positions.len()),
        ("foreign inverse masses", foreign.inverse_masses.len(), foreign.positions.len()),
        ("foreign diameters", foreign.diameters.len().min(foreign.positions.len()), foreign.diameters.len()),
        ("foreign closed", foreign.closed.len().min(foreign.positions.len()), foreign.closed.len()),
        ("foreign impulses", reactions.foreign.len(), foreign.positions.len()),
        ("pushes", reactions.pushes.len(), reactions.bodies.len()),
    ];
    if let Some((what, got, expected)) = counts.into_iter().find(|(_, got, expected)| got != expected) {
        return Err(PhysicsError::Count { what, got, expected });
    }
    let heaviest = ordered::max(count, 0.0, |i| if state.masses[i] > 0.0 { state.masses[i] } else { f64::NAN });
    check("mass of a liquid particle", heaviest, "positive and finite", |_| true)?;
    let volume =
        ordered::max(
            foreign.volumes.len(),
            0.0,
            |i| {
                if foreign.volumes[i] >= 0.0 { foreign.volumes[i] } else { f64::NAN }
            },
        );
    check("volume of a foreign particle", volume, "0 or more", |_| true)
}
