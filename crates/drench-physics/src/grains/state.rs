//! What changes: the state that a checkpoint holds, and scratch.

use super::GrainModel;
use super::carry;
use super::law::Memory;
use drench_geometry::neighbours::Neighbours;
use glam::{DVec3, Vec3, Vec3A, Vec4};

/// Everything about a body of grains that persists from step to step.
///
/// Grains are numbered along a curve that fills space, so that neighbours are near each other in memory; [`solve`] may
/// renumber them at its end. `ids` stay.
///
/// [`solve`]: super::solve
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct GrainState {
    /// Centres [m].
    pub positions: Vec<DVec3>,
    /// Velocities [m/s].
    pub velocities: Vec<DVec3>,
    /// Angular velocities [rad/s].
    pub spins: Vec<DVec3>,
    /// Radii of the dry grains [m]: what their mass follows from.
    pub sizes: Vec<f64>,
    /// Radii at which grains touch now [m]: wet grains shrink.
    pub radii: Vec<f64>,
    /// Water in each grain [kg].
    pub water: Vec<f64>,
    /// How long each grain has been at rest [s].
    pub calm: Vec<f32>,
    /// Bound of how fast contacts damped each grain in the last step [1/s].
    pub damped: Vec<f32>,
    /// Which grains solids below them carry, or others that are carried.
    pub carried: Vec<bool>,
    /// How far each grain has been carried for some time, 0 to 1; below 0 until it is known.
    pub rested: Vec<f32>,
    /// Names that grains keep when they are renumbered.
    pub ids: Vec<u32>,
    /// The name of the next grain.
    pub next_id: u32,
    /// First link of each grain, and their count; shorter than that if grains were added since links were searched.
    pub offsets: Vec<u32>,
    /// Pairs of grains that touch or are near, owned by the grain with the lower number.
    pub links: Vec<Link>,
    /// Contacts with solids and places near them, by grain.
    pub touches: Vec<Touch>,
    /// Number of colliders when touches were listed.
    pub solids: u32,
    /// Where grains were when links were searched [m].
    pub origins: Vec<DVec3>,
    /// How often links were searched since grains were last renumbered.
    pub searches: u32,
    /// How often links were searched at all.
    pub listings: u64,
    /// Gravity of the last step [m/s2]: when it changes everything wakes.
    pub gravity: DVec3,
}

/// Two grains near each other, and what their contact remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Link {
    /// The grain with the higher number.
    pub partner: u32,
    /// Strain of the friction spring, of the owner against the partner [m].
    pub slip: Vec3,
    /// Strain of the rolling spring [m].
    pub roll: Vec3,
    /// 1 while a liquid bridge spans the two, else 0.
    pub bridge: f32,
}

/// A grain near a solid, and what their contact remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Touch {
    /// The grain.
    pub grain: u32,
    /// The collider.
    pub solid: u32,
    /// 0 for the nearest face of the solid, 1 and 2 for further ones in a corner.
    pub face: u32,
    /// Strain of the normal spring [m].
    pub strain: f64,
    /// Strain of the friction spring, of the grain against the solid [m].
    pub slip: Vec3,
    /// Strain of the rolling spring [m].
    pub roll: Vec3,
    /// 1 while a liquid bridge spans the two, else 0.
    pub bridge: f32,
}

impl Link {
    pub(crate) fn memory(&self) -> Memory {
        Memory { slip: self.slip.into(), roll: self.roll.into() }
    }

    pub(crate) fn remember(&mut self, memory: Memory) {
        (self.slip, self.roll) = (memory.slip.into(), memory.roll.into());
    }

    /// The same contact with the roles of owner and partner changed.
    pub(crate) fn turned(self, partner: u32, turn: bool) -> Self {
        let sign = if turn { -1.0 } else { 1.0 };
        Self { partner, slip: self.slip * sign, roll: self.roll * sign, bridge: self.bridge }
    }
}

impl Touch {
    pub(crate) fn memory(&self) -> Memory {
        Memory { slip: self.slip.into(), roll: self.roll.into() }
    }

    pub(crate) fn remember(&mut self, memory: Memory) {
        (self.slip, self.roll) = (memory.slip.into(), memory.roll.into());
    }

    /// Forgets all strains: the two do not touch.
    pub(crate) fn forget(&mut self) {
        self.strain = 0.0;
        self.remember(Memory::default());
    }

    pub(crate) fn key(&self) -> (u32, u32, u32) {
        (self.grain, self.solid, self.face)
    }
}

/// A grain to be added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewGrain {
    /// Centre [m].
    pub position: DVec3,
    /// Velocity [m/s].
    pub velocity: DVec3,
    /// Radius of the dry grain [m].
    pub radius: f64,
    /// Water in it [kg].
    pub water: f64,
}

impl GrainState {
    /// Number of grains.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Adds a grain at rest about its centre; returns its id.
    pub fn push(&mut self, model: &GrainModel, grain: NewGrain) -> u32 {
        let id = self.next_id;
        let dry = model.dry_mass(grain.radius);
        let shrunk = model.wetness().map_or(1.0, |wetness| wetness.shrunk(grain.water, dry));
        self.positions.push(grain.position);
        self.velocities.push(grain.velocity);
        self.spins.push(DVec3::ZERO);
        self.sizes.push(grain.radius);
        self.radii.push(grain.radius * shrunk);
        self.water.push(grain.water);
        self.calm.push(0.0);
        self.damped.push(0.0);
        self.carried.push(false);
        self.rested.push(carry::NEW);
        self.ids.push(id);
        self.next_id = id.wrapping_add(1);
        id
    }

    /// Keeps the grains for which `keep(number)` holds; contacts of the others are forgotten.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let count = self.len();
        let mut number = vec![u32::MAX; count];
        let mut kept = 0;
        for i in (0..count).filter(|&i| keep(i)) {
            number[i] = kept;
            kept += 1;
        }
        if kept as usize == count {
            return;
        }
        if self.offsets.len() == count + 1 {
            let (mut offsets, mut links) = (vec![0], Vec::with_capacity(self.links.len()));
            for i in (0..count).filter(|&i| number[i] != u32::MAX) {
                let own = &self.links[self.offsets[i] as usize..self.offsets[i + 1] as usize];
                let stay = own.iter().filter(|link| number[link.partner as usize] != u32::MAX);
                links.extend(stay.map(|link| Link { partner: number[link.partner as usize], ..*link }));
                offsets.push(links.len() as u32);
            }
            (self.offsets, self.links) = (offsets, links);
        } else {
            // Links of grains that were added just now are not known: search again, and begin contacts anew.
            self.offsets.clear();
            self.links.clear();
        }
        self.touches.retain(|touch| number[touch.grain as usize] != u32::MAX);
        self.touches.iter_mut().for_each(|touch| touch.grain = number[touch.grain as usize]);
        let stays = |i: usize| number.get(i).is_some_and(|&n| n != u32::MAX);
        only(&mut self.positions, stays);
        only(&mut self.velocities, stays);
        only(&mut self.spins, stays);
        only(&mut self.sizes, stays);
        only(&mut self.radii, stays);
        only(&mut self.water, stays);
        only(&mut self.calm, stays);
        only(&mut self.damped, stays);
        only(&mut self.carried, stays);
        only(&mut self.rested, stays);
        only(&mut self.ids, stays);
        only(&mut self.origins, stays);
    }

    /// Mass of a grain with its water [kg].
    pub fn mass(&self, model: &GrainModel, grain: usize) -> f64 {
        model.dry_mass(self.sizes[grain]) + self.water[grain]
    }

    /// Water in all grains [kg], summed so that the last bits are right.
    pub fn total_water(&self) -> f64 {
        drench_math::ordered::sum(self.len(), |i| self.water[i])
    }

    /// Wakes a grain.
    pub fn wake(&mut self, grain: usize) {
        self.calm[grain] = 0.0;
    }

    /// Number of grains asleep.
    pub fn asleep(&self, model: &GrainModel) -> usize {
        let Some(sleep) = model.sleep() else { return 0 };
        self.calm.iter().filter(|&&calm| f64::from(calm) > sleep.time).count()
    }

    /// Bytes the state holds.
    pub fn memory(&self) -> usize {
        self.len() * (4 * 24 + 3 * 8 + 5 * 4 + 1)
            + self.links.len() * size_of::<Link>()
            + self.touches.len() * size_of::<Touch>()
    }
}

fn only<T>(values: &mut Vec<T>, stays: impl Fn(usize) -> bool) {
    let mut at = 0;
    values.retain(|_| {
        at += 1;
        stays(at - 1)
    });
}

/// A grain as the law of contact sees it: rounded, in two loads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mover {
    /// Velocity [m/s] and radius [m].
    pub linear: Vec4,
    /// Spin [rad/s] and mass [kg].
    pub angular: Vec4,
}

impl Mover {
    #[inline(always)]
    pub fn velocity(&self) -> Vec3A {
        Vec3A::from_vec4(self.linear)
    }

    #[inline(always)]
    pub fn spin(&self) -> Vec3A {
        Vec3A::from_vec4(self.angular)
    }

    #[inline(always)]
    pub fn radius(&self) -> f32 {
        self.linear.w
    }

    #[inline(always)]
    pub fn mass(&self) -> f32 {
        self.angular.w
    }
}

/// What a pair does to the partner, and whether it does anything.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reaction {
    pub force: Vec3,
    pub active: f32,
    pub torque: Vec3,
    /// The contact's damper before it gives way [kg/s].
    pub damper: f32,
}

impl Reaction {
    #[inline(always)]
    pub fn new(force: Vec3A, torque: Vec3A, damper: f32) -> Self {
        Self { force: force.into(), active: 1.0, torque: torque.into(), damper }
    }
}

/// Force [N] and torque [N m] on a grain.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Load {
    pub force: DVec3,
    pub torque: DVec3,
    pub dampers: Dampers,
}

/// The dampers of a grain's contacts [kg/s]: their sum, and the largest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Dampers {
    pub sum: f32,
    pub largest: f32,
}

impl Dampers {
    #[inline(always)]
    pub fn add(&mut self, damper: f32) {
        self.sum += damper;
        self.largest = self.largest.max(damper);
    }
}

/// How wet a grain is, as contacts see it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Damp {
    /// Water over that at the threshold.
    pub wetness: f32,
    /// Volume that it gives to each of its bridges [m3].
    pub share: f32,
    /// Part of their dampers that its contacts have, so that a step stands them.
    pub yielding: f32,
}

/// Working memory of a body; may be dropped and rebuilt between steps without changing a bit.
#[derive(Debug, Default)]
pub struct GrainScratch {
    pub(crate) neighbours: Neighbours,
    pub(crate) movers: Vec<Mover>,
    pub(crate) damp: Vec<Damp>,
    pub(crate) vigil: Vec<Vigil>,
    /// The same at the beginning of the step.
    pub(crate) before: Vec<Vigil>,
    /// Grains asleep whose own contacts were disturbed in this step.
    pub(crate) stirred: Vec<bool>,
    pub(crate) loads: Vec<Load>,
    pub(crate) reactions: Vec<Reaction>,
    /// Links of each grain that others own: their numbers and owners, from `lower_offsets`.
    pub(crate) lower_offsets: Vec<u32>,
    pub(crate) lower: Vec<(u32, u32)>,
    /// What each touch does.
    pub(crate) presses: Vec<Press>,
    /// Distance of each touch's grain from the face when it is where neighbours were searched, at least [m].
    pub(crate) clear: Vec<f64>,
    /// What that was noted for: searches of the state, and touches.
    pub(crate) cleared: (u64, usize),
    pub(crate) search: super::search::Search,
    /// How steeply solids go up to each grain, and, while that is looked up, which are carried.
    pub(crate) stands: Vec<f64>,
    pub(crate) carried: Vec<bool>,
    /// Flows of water along links [kg].
    pub(crate) flows: Vec<f64>,
}

impl GrainScratch {
    /// Grains linked with one, by their number, when the links of others are listed: none with one that was poured in since.
    pub(crate) fn around(&self, state: &GrainState, grain: usize) -> impl Iterator<Item = usize> {
        let span = |offsets: &[u32]| match offsets.get(grain..grain + 2) {
            Some(&[from, to]) => from as usize..to as usize,
            _ => 0..0,
        };
        let others = self.lower[span(&self.lower_offsets)].iter().map(|&(_, owner)| owner);
        let own = state.links[span(&state.offsets)].iter().map(|link| link.partner);
        others.chain(own).map(|other| other as usize)
    }

    /// Bytes held now.
    pub fn memory(&self) -> usize {
        self.movers.capacity() * (size_of::<Mover>() + size_of::<Damp>() + size_of::<Load>() + 5)
            + self.reactions.capacity() * (size_of::<Reaction>() + 4)
            + self.presses.capacity() * (size_of::<Press>() + 8)
            + self.flows.capacity() * 8
            + self.search.memory()
    }
}

/// How awake a grain is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Vigil {
    /// Nothing of it changes.
    #[default]
    Asleep,
    /// It fell asleep in the last step: its contacts have still to be seen at rest.
    Dozing,
    Awake,
}

/// What a touch does to the grain: force [N], torque [N m], the part of it that is rolling friction, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Press {
    pub force: DVec3,
    pub couple: DVec3,
    pub roll: DVec3,
    pub point: DVec3,
    /// The damper before it gives way [kg/s].
    pub damper: f32,
}

/// What one solve met.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Steps of grains that were taken.
    pub steps: u32,
    /// Times that neighbours were searched.
    pub searches: u32,
    /// Pairs of grains that touch at the end.
    pub contacts: u64,
    /// Grains that touch solids at the end, counted once a face.
    pub touches: u64,
    /// Grains asleep at the end.
    pub asleep: u64,
    /// Deepest overlap of two grains at the end, over the smaller radius.
    pub overlap_max: f64,
    /// Deepest that a grain's surface is inside a solid at the end [m].
    pub penetration_max: f64,
    /// Largest speed at the end [m/s].
    pub speed_max: f64,
}
