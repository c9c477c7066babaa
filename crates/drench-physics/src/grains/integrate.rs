//! Every grain sums what pushes it, and moves; or sleeps, or wakes.

use super::model::{GrainModel, Sleep};
use super::state::{Dampers, GrainScratch, GrainState, Load, Mover, Reaction, Vigil};
use super::{Surroundings, ball};
use drench_math::ordered;
use glam::DVec3;
use rayon::prelude::*;
use std::ops::Range;

/// Grains that are moved in one piece.
const PIECE: usize = 1024;
/// Moment of inertia of a ball over m R^2.
const BALL: f64 = 0.4;

/// How far and how fast grains got.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moved {
    /// How far any two may have come closer since neighbours were searched [m].
    pub wandered: f64,
    /// Largest speed [m/s]; NaN if one is no number.
    pub fastest: f64,
}

/// How far any two grains may have come closer since neighbours were searched [m].
pub(crate) fn wandered(state: &GrainState) -> f64 {
    let GrainState { positions, origins, .. } = state;
    let part = |range: Range<usize>| {
        range.fold(Farthest::default(), |far, i| far.with((positions[i] - origins[i]).length_squared()))
    };
    ordered::reduce(positions.len().min(origins.len()), Farthest::default(), part, Farthest::join).both()
}

/// Squares of the two longest ways [m2]: no two grains have come closer than by both together. One that is thrown out of a heap leaves the rest its list.
#[derive(Clone, Copy, Debug, Default)]
struct Farthest {
    first: f64,
    second: f64,
}

impl Farthest {
    #[inline(always)]
    fn with(self, square: f64) -> Self {
        Self { first: self.first.max(square), second: self.second.max(square.min(self.first)) }
    }

    fn join(self, other: Self) -> Self {
        self.with(other.first).with(other.second)
    }

    fn both(self) -> f64 {
        self.first.sqrt() + self.second.sqrt()
    }
}

/// One step of `h` seconds of all grains; `afresh` asks every sleeping grain whether it is still in balance.
pub(crate) fn advance(
    model: &GrainModel,
    state: &mut GrainState,
    scratch: &mut GrainScratch,
    surroundings: &Surroundings,
    h: f64,
    afresh: bool,
) -> Moved {
    match model.wetness() {
        Some(_) => advance_all::<true>(model, state, scratch, surroundings, h, afresh),
        None => advance_all::<false>(model, state, scratch, surroundings, h, afresh),
    }
}

fn advance_all<const WET: bool>(
    model: &GrainModel,
    state: &mut GrainState,
    scratch: &mut GrainScratch,
    surroundings: &Surroundings,
    h: f64,
    afresh: bool,
) -> Moved {
    let GrainScratch { movers, damp, vigil, stirred, loads, reactions, lower_offsets, lower, before, .. } = scratch;
    before.clear();
    before.extend_from_slice(vigil);
    let summing = Summing { loads, reactions, lower_offsets, lower, before, stirred };
    let (sizes, origins) = (&state.sizes, &state.origins);
    let (water, density) = (&state.water, model.material().density);
    let motion = (state.positions.par_chunks_mut(PIECE))
        .zip(state.velocities.par_chunks_mut(PIECE))
        .zip(state.spins.par_chunks_mut(PIECE));
    let watch = state.calm.par_chunks_mut(PIECE).zip(movers.par_chunks_mut(PIECE)).zip(vigil.par_chunks_mut(PIECE));
    let dampers = state.damped.par_chunks_mut(PIECE).zip(damp.par_chunks_mut(PIECE));
    let (far, fastest): (Farthest, f64) = motion
        .zip(watch)
        .zip(dampers)
        .enumerate()
        .map(|(piece, ((((positions, velocities), spins), ((calm, movers), vigil)), (damped, damp)))| {
            let (mut far, mut fastest) = (Farthest::default(), 0.0);
            for k in 0..positions.len() {
                let i = piece * PIECE + k;
                if vigil[k] == Vigil::Asleep && !afresh && !summing.disturbed(i) {
                    continue;
                }
                let mass = density * ball(sizes[i]) + water[i];
                let mut load = summing.total::<WET>(i);
                // The dampers of dry grains never give way.
                if WET {
                    let Dampers { sum, largest } = load.dampers;
                    damped[k] = GrainModel::damped_by(f64::from(sum), f64::from(largest), mass) as f32;
                    damp[k].yielding = model.yielding(damped[k], mass, h);
                }
                if let Some(force) = surroundings.forces.get(i) {
                    load.force += *force;
                }
                let rim = sizes[i] * sizes[i];
                let acceleration = load.force * mass.recip() + surroundings.gravity;
                let angular = load.torque * (BALL * mass * rim).recip();
                if let (Some(sleep), true) = (model.sleep(), vigil[k] < Vigil::Awake) {
                    let woken = exceeds(2.0 * sleep.acceleration, acceleration, angular, rim);
                    vigil[k] = if woken { Vigil::Awake } else { Vigil::Asleep };
                    if woken {
                        calm[k] = 0.0;
                    }
                    continue;
                }
                velocities[k] += acceleration * h;
                spins[k] += angular * h;
                positions[k] += velocities[k] * h;
                if let Some(sleep) = model.sleep() {
                    rest(sleep, h, [acceleration, angular, velocities[k], spins[k]], rim, &mut calm[k]);
                    if f64::from(calm[k]) > sleep.time {
                        (velocities[k], spins[k], vigil[k]) = (DVec3::ZERO, DVec3::ZERO, Vigil::Dozing);
                    }
                }
                movers[k] = Mover {
                    linear: velocities[k].as_vec3().extend(movers[k].radius()),
                    angular: spins[k].as_vec3().extend(movers[k].mass()),
                };
                far = far.with((positions[k] - origins[i]).length_squared());
                let speed = velocities[k].length_squared() + spins[k].length_squared() * rim;
                fastest = larger(fastest, speed);
            }
            (far, fastest)
        })
        // The largest of all are the same in any order.
        .reduce(Default::default, |(far, fastest), (others, other)| (far.join(others), larger(fastest, other)));
    Moved { wandered: far.both(), fastest: fastest.sqrt() }
}

/// Not f64::max, which would hide a NaN.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b <= a { a } else { b }
}

/// Whether a centre or its surface (`rim`: radius squared) is beyond a limit.
fn exceeds(limit: f64, centre: DVec3, surface: DVec3, rim: f64) -> bool {
    // Written so that NaN exceeds.
    !(centre.length_squared() <= limit * limit && surface.length_squared() * rim <= limit * limit)
}

/// Counts how long a grain has been at rest.
fn rest(sleep: &Sleep, h: f64, [acceleration, angular, velocity, spin]: [DVec3; 4], rim: f64, calm: &mut f32) {
    let busy = exceeds(sleep.speed, velocity, spin, rim) || exceeds(sleep.acceleration, acceleration, angular, rim);
    *calm = if busy { 0.0 } else { *calm + h as f32 };
}

/// What sums over contacts read.
struct Summing<'a> {
    loads: &'a [Load],
    reactions: &'a [Reaction],
    lower_offsets: &'a [u32],
    lower: &'a [(u32, u32)],
    before: &'a [Vigil],
    stirred: &'a [bool],
}

impl Summing<'_> {
    fn others(&self, grain: usize) -> &[(u32, u32)] {
        &self.lower[self.lower_offsets[grain] as usize..self.lower_offsets[grain + 1] as usize]
    }

    /// Whether something near a sleeping grain is not asleep.
    fn disturbed(&self, grain: usize) -> bool {
        self.stirred[grain] || self.others(grain).iter().any(|&(_, owner)| self.before[owner as usize] > Vigil::Asleep)
    }

    /// Own contacts, then those of others by their number.
    fn total<const WET: bool>(&self, grain: usize) -> Load {
        let mut load = self.loads[grain];
        for &(link, _) in self.others(grain) {
            // Most are zero; adding those changes no bit and costs less than asking.
            let reaction = &self.reactions[link as usize];
            load.force += reaction.force.as_dvec3();
            load.torque += reaction.torque.as_dvec3();
            if WET {
                load.dampers.add(reaction.damper);
            }
        }
        load
    }
}
