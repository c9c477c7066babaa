//! Collisions between strands: capsules that neither overlap nor pass through each other [Rungjiratananon2012, section 4.5].
//!
//! Every segment is a capsule. After the strands of all bodies have moved from x_0 to x_1,
//!
//! 1. [`search`] finds the pairs that come close;
//! 2. every pair becomes a [`contact`]: at the closest points before the step, or, for continuous bodies, at the
//!    first moment at which the capsules touch ([`segments::approach`]);
//! 3. [`solver`] moves vertices until no contact is closer than it was when it began (restitution 0), with Coulomb friction on
//!    displacements, and gives segments back their length; velocities change by displacement over dt;
//! 4. overlaps that were there before the step are opened by a fraction of their depth, without making speed of it;
//! 5. for continuous bodies 1 to 3 are repeated until nothing passes through; what would after all is
//!    moved rigidly for this step ([`zones`]).
//!
//! The text adds a penalty force k (d - |x_i,s - x_j,t|) to the next step, eq. 4.15. Its stiffness would have to be chosen for the
//! mass, the step and the load of every scene: too soft and strands sink in, too hard and they blow up. The projection has
//! no stiffness, and acts in the step that it belongs to.
//!
//! | symbol | field |
//! |---|---|
//! | r_i | [`Body::radii`] |
//! | mu | [`Parameters::friction`] |
//! | x_0, x_1 | positions given to [`Collisions::begin`], [`Body::positions`] |
//! | 1 / m_i, 0 if held | [`Body::inverse_masses`] |
//!
//! Strands that are stiff ([`Body::resistance`]) answer to a push with their masses and their stiffness over the step, as long as contacts are few (`solver`): contact and bending are
//! then one implicit solve.
//!
//! What is conserved: linear momentum of what is not held, angular momentum by every normal push. Friction acts at the surfaces, a radius from
//! each axis; its moment d x F would spin the fibres about themselves, which these strands cannot, and is lost.
//!
//! Breaks down: without `continuous`, strands that move past each other by more than about three diameters in a
//! step are not seen. A strand's own segments within a quarter turn of the tightest bend, pi/2 (r_i + r_j) of arc, do not collide.

mod contact;
mod crowd;
mod drift;
pub mod search;
pub mod segments;
pub mod seven;
mod solver;
mod sweep;
mod zones;

use crate::error::{PhysicsError, check};
use contact::{Contact, Pair, Place};
use drench_math::bands::Row;
use drift::Drift;
use glam::DVec3;
use rayon::prelude::*;
use search::{Capsule, Search, overlap};
use segments::{Closest, Segment, approach_from, closest, length};
use solver::{Incidence, Problem, solve, widen};
use std::sync::atomic::{AtomicBool, Ordering};
use zones::{Zones, rigid_motion};

/// How much thicker capsules are when pairs are looked for, as a fraction of their radius.
const MARGIN: f64 = 0.5;
/// How far vertices may be moved, as a fraction of their radius, before pairs have to be looked for again.
const ROOM: f64 = 0.05;
/// Distance, in reaches, up to which contacts that do not press yet are solved with the others.
const CLOSE: f64 = 1.02;
/// Rounds of looking again for what passes through.
const ROUNDS: u32 = 8;
/// Share of the distance before the step that a round must leave, and that zones must.
const KEEP: [f64; 2] = [0.7, 0.25];
/// Rounds of merging rigid zones.
const MERGERS: u32 = 32;
/// Share of an old overlap that is opened in a step, and the share of the reach that is left alone.
const RECOVERY: f64 = 0.2;
const SLOP: f64 = 0.01;
/// Vertices that one task handles.
const CHUNK: usize = 8192;
/// Pairs whose ends are fetched before they are looked at.
const FETCHED: usize = 32;

/// How strands collide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Coefficient of Coulomb friction.
    pub friction: f64,
    /// Passes over all contacts per round.
    pub iterations: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { friction: 0.3, iterations: 8 }
    }
}

impl Parameters {
    /// Whether every value lies in its range.
    pub fn check(&self) -> Result<(), PhysicsError> {
        check("collision friction", self.friction, "between 0 and 100", |x| (0.0..=100.0).contains(&x))?;
        check("collision iterations", f64::from(self.iterations), "1 to 1000", |x| (1.0..=1000.0).contains(&x))
    }
}

/// Strands of one body as collisions see them, after their own step.
#[derive(Debug)]
pub struct Body<'a> {
    /// First vertex of each strand, and the vertex count.
    pub offsets: &'a [u32],
    /// Positions [m].
    pub positions: &'a mut [DVec3],
    /// Velocities [m/s].
    pub velocities: &'a mut [DVec3],
    /// Inverse of each vertex's mass [1/kg]; 0 if it is held.
    pub inverse_masses: &'a [f64],
    /// What vertices put up against being moved in the step, their masses and the stiffness between neighbours, factored; empty where masses are all.
    pub resistance: &'a [Row],
    /// Collision radius of each vertex [m]; a segment is as thick as the thicker of its ends.
    pub radii: &'a [f32],
    /// Whether motion during the step is looked at, so that these strands pass through none of their kind at any speed.
    pub continuous: bool,
}

/// What one step met.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Pairs of segments that press on each other.
    pub contacts: u64,
    /// Those of them that met during the step.
    pub impacts: u64,
    /// Groups of vertices that had to be moved rigidly.
    pub zones: u64,
    /// Deepest overlap of two capsules that touch, before it is opened [m].
    pub penetration_max: f64,
}

/// Working memory of collisions; nothing in it outlives a step.
#[derive(Debug, Default)]
pub struct Collisions {
    search: Search,
    /// Contacts in the parts in which they were found. Their memory is what counts: with many it takes longer to get than to fill.
    found: Vec<Vec<Contact>>,
    incidence: Incidence,
    before: Vec<DVec3>,
    /// Vertices that `begin` was given, body by body.
    begun: Vec<usize>,
    after: Vec<DVec3>,
    shift: Vec<DVec3>,
    /// Where corrections had moved continuous bodies when pairs were looked for.
    sought: Vec<DVec3>,
    inverse_masses: Vec<f64>,
    /// Nothing unless a body is stiff.
    resistance: Vec<Row>,
    radii: Vec<f32>,
    capsules: Vec<Capsule>,
    strands: Vec<u32>,
    /// First vertex of each body and whether it is continuous.
    bodies: Vec<(usize, bool)>,
    /// How all of these that are continuous have moved.
    drift: Drift,
    /// Velocity changes that are not displacement over dt [m/s].
    kicks: Vec<DVec3>,
}

impl Collisions {
    /// Takes note of where the bodies are before their step, in the order in which `resolve` will get them. A body whose vertices
    /// change in number in between, or that is not given, is taken to come from where its velocities say.
    pub fn begin<'a>(&mut self, positions: impl IntoIterator<Item = &'a [DVec3]>) {
        self.before.clear();
        self.begun.clear();
        for body in positions {
            append(&mut self.before, body);
            self.begun.push(body.len());
        }
    }

    /// Keeps the bodies from passing through each other and themselves; `dt` [s] is the step they have made.
    pub fn resolve(&mut self, bodies: &mut [Body], parameters: &Parameters, dt: f64) -> Result<Tally, PhysicsError> {
        parameters.check()?;
        check("dt", dt, "positive", |x| x > 0.0)?;
        bodies.iter().try_for_each(check_body)?;
        self.gather(bodies, dt);
        self.look(false)?;
        if self.search.runs().iter().all(Vec::is_empty) {
            return Ok(Tally::default());
        }
        let grazes = self.find(false, |step, pair, start| step.meet(pair, start));
        // What has not come within reach cannot have passed through either.
        if self.found.iter().all(Vec::is_empty) && !grazes {
            return Ok(Tally::default());
        }
        let mut contacts = std::mem::take(&mut self.found);
        self.relax(&mut contacts, parameters, true);
        let continuous = bodies.iter().any(|body| body.continuous);
        if continuous {
            for _ in 1..ROUNDS {
                self.look(true)?;
                self.find(true, |step, pair, start| step.miss(pair, start, KEEP[0]));
                if self.found.iter().all(Vec::is_empty) {
                    break;
                }
                contacts.append(&mut self.found);
                self.relax(&mut contacts, parameters, false);
            }
            self.kick(&contacts, dt);
        }
        scatter(bodies, &self.shift, |_, velocity, shift| *velocity += shift / dt);
        let mut tally = self.recover(&mut contacts);
        if continuous {
            tally.zones = self.stiffen(dt)?;
        }
        self.found = contacts;
        scatter(bodies, &self.shift, |position, _, shift| *position += shift);
        if !self.kicks.is_empty() {
            scatter(bodies, &self.kicks, |_, velocity, kick| *velocity += kick);
        }
        Ok(tally)
    }

    /// Bytes held now.
    pub fn memory(&self) -> usize {
        let vectors = self.before.capacity()
            + self.after.capacity()
            + self.shift.capacity()
            + self.sought.capacity()
            + self.kicks.capacity();
        vectors * 24
            + self.inverse_masses.capacity() * 8
            + self.capsules.capacity() * size_of::<Capsule>()
            + self.found.iter().map(|part| part.capacity() * size_of::<Contact>()).sum::<usize>()
            + self.search.memory()
    }

    /// All bodies in one.
    fn gather(&mut self, bodies: &[Body], dt: f64) {
        self.begun.resize(bodies.len(), usize::MAX);
        if bodies.iter().zip(&self.begun).any(|(body, &count)| body.positions.len() != count) {
            let noted = std::mem::take(&mut self.before);
            let mut first = 0;
            for (body, &count) in bodies.iter().zip(&self.begun) {
                if body.positions.len() == count {
                    append(&mut self.before, &noted[first..first + count]);
                } else {
                    let back = |(position, velocity): (&DVec3, &DVec3)| *position - *velocity * dt;
                    self.before.par_extend(body.positions.par_iter().zip(body.velocities.par_iter()).map(back));
                }
                first = (first + count.min(noted.len())).min(noted.len());
            }
        }
        self.begun.clear();
        self.after.clear();
        self.inverse_masses.clear();
        self.resistance.clear();
        self.radii.clear();
        self.strands.clear();
        self.bodies.clear();
        self.kicks.clear();
        for body in bodies {
            let base = self.after.len();
            self.bodies.push((base, body.continuous));
            append(&mut self.after, body.positions);
            append(&mut self.inverse_masses, body.inverse_masses);
            append(&mut self.radii, body.radii);
            self.strands.extend(body.offsets[..body.offsets.len() - 1].iter().map(|first| base as u32 + first));
        }
        self.strands.push(self.after.len() as u32);
        if bodies.iter().any(|body| !body.resistance.is_empty()) {
            // A mass alone is a matrix with one diagonal.
            self.resistance.par_extend(self.inverse_masses.par_iter().map(|inverse| [*inverse, 0.0, 0.0]));
            for (body, (base, _)) in bodies.iter().zip(&self.bodies) {
                self.resistance[*base..][..body.resistance.len()].copy_from_slice(body.resistance);
            }
        }
        if self.bodies.iter().any(|body| body.1) {
            self.drift = Drift::of(&self.before, &self.after, |i| is_continuous(&self.bodies, i));
        }
        self.shift.resize(self.after.len(), DVec3::ZERO);
        self.shift.par_chunks_mut(CHUNK).for_each(|shift| shift.fill(DVec3::ZERO));
    }

    /// Finds the pairs that come close; if `again`, those of continuous bodies, once corrections have moved one of them out of the room that
    /// it was found with.
    fn look(&mut self, again: bool) -> Result<(), PhysicsError> {
        let Self { bodies, shift, sought, radii, .. } = self;
        let ends = bodies.iter().skip(1).map(|body| body.0).chain([shift.len()]);
        let mut moving = bodies.iter().zip(ends).filter(|(body, _)| body.1).map(|(body, end)| body.0..end);
        if again
            && !moving.any(|body| {
                let vertices = body.into_par_iter().with_min_len(CHUNK);
                vertices.any(|i| length(shift[i] - sought[i]) > ROOM * f64::from(radii[i]))
            })
        {
            return Ok(());
        }
        if bodies.iter().any(|body| body.1) {
            sought.clone_from(shift);
        }
        self.enclose(again);
        self.search.look(&self.capsules)
    }

    /// Puts a capsule around every segment halfway through the step; only around continuous ones if `again`.
    fn enclose(&mut self, again: bool) {
        let Self { before, after, shift, radii, capsules, strands, bodies, drift, .. } = self;
        let (before, after, shift, radii) = (&*before, &*after, &*shift, &*radii);
        capsules.resize(after.len(), Capsule::NONE);
        capsules.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, capsules)| {
            for (capsule, i) in capsules.iter_mut().zip(chunk * CHUNK..) {
                let j = i + 1;
                if j == after.len() {
                    continue;
                }
                let continuous = is_continuous(bodies, i);
                // Nothing has been moved yet the first time.
                let end = |i: usize| if again { after[i] + shift[i] } else { after[i] };
                let motion = [Segment { from: before[i], to: before[j] }, Segment { from: end(i), to: end(j) }];
                let radius = f64::from(radii[i].max(radii[j]));
                *capsule = match again && !continuous {
                    true => Capsule::NONE,
                    false => halfway(&motion, thickness(drift, &motion, radius, continuous)),
                };
            }
        });
        for &end in &strands[1..] {
            capsules[end as usize - 1] = Capsule::NONE;
        }
    }

    /// Finds what `meet` makes of pairs that come close; `again` if corrections have moved them already. Says whether there are some that come within
    /// reach but make no contact.
    fn find(&mut self, again: bool, meet: impl Fn(&Step, &Pair, Closest) -> Option<Contact> + Sync) -> bool {
        let Self { search, found, before, after, shift, radii, capsules, bodies, drift, .. } = self;
        let shift = again.then_some(&shift[..]);
        let step = Step { before, after, shift, radii, capsules, bodies, drift, grazes: AtomicBool::new(false) };
        found.resize_with(search.runs().len(), Vec::new);
        found.par_iter_mut().zip(search.runs()).for_each_init(Vec::new, |fetched, (found, pairs)| {
            found.clear();
            for some in pairs.chunks(FETCHED) {
                // What comes from far away first, so that one does not wait for the other.
                fetched.clear();
                fetched.extend(some.iter().map(|&[i, j]| step.pair(i as usize, j as usize)));
                found.extend(fetched.iter().filter_map(|pair| {
                    let start = closest(&pair.first[0], &pair.second[0]);
                    let close = search.decided() || step.close(pair, &start);
                    if close { meet(&step, pair, start).filter(|_| !step.follow(pair)) } else { None }
                }));
            }
        });
        step.grazes.into_inner()
    }

    fn relax(&mut self, contacts: &mut [Vec<Contact>], parameters: &Parameters, fresh: bool) {
        let Self { strands, before, after, inverse_masses, resistance, incidence, shift, .. } = self;
        let problem = Problem { strands, before, after, inverse_masses, resistance };
        solve(&problem, contacts, incidence, shift, parameters.friction, parameters.iterations, fresh);
    }

    /// A contact that begins at time tau of the step moves its vertices for the rest of the step only: the impulse that does it is
    /// larger by 1 / (1 - tau). It never does more than end the approach that the contacts before it have left.
    fn kick(&mut self, contacts: &[Vec<Contact>], dt: f64) {
        for contact in contacts.iter().flatten().filter(|contact| contact.time > 0.0 && contact.press > 0.0) {
            self.kicks.resize(self.after.len(), DVec3::ZERO);
            let answer = contact.answer(&self.inverse_masses);
            let (vertices, weights) = (contact.vertices(), contact.weights());
            let motion = |i: usize| self.after[i] + self.shift[i] - self.before[i] + self.kicks[i] * dt;
            let closing = -(0..4).map(|k| weights[k] * motion(vertices[k]).dot(contact.normal)).sum::<f64>();
            let later = contact.press * contact.time / (1.0 - contact.time);
            let missing = contact.normal * (later.min(closing / answer.max(f64::MIN_POSITIVE)).max(0.0) / dt);
            for k in 0..4 {
                self.kicks[vertices[k]] += missing * (weights[k] * self.inverse_masses[vertices[k]]);
            }
        }
    }

    /// Opens overlaps a little, without changing velocities; what there was to open.
    fn recover(&mut self, contacts: &mut [Vec<Contact>]) -> Tally {
        let Self { strands, before, after, inverse_masses, resistance, incidence, shift, .. } = self;
        let problem = Problem { strands, before, after, inverse_masses, resistance };
        let ask = |contact: &mut Contact, relative: DVec3| {
            let (distance, pressing) = (contact.distance(relative), u64::from(contact.press > 0.0));
            let overlap = contact.reach * (1.0 - SLOP) - distance;
            // One that does not overlap is infinitely far from pressing.
            contact.ask_for(if overlap > 0.0 { RECOVERY * overlap } else { f64::NEG_INFINITY }, relative);
            let impacts = if contact.time > 0.0 { pressing } else { 0 };
            (overlap > 0.0, Tally { contacts: pressing, impacts, penetration_max: contact.reach - distance, zones: 0 })
        };
        let join = |a: Tally, b: Tally| Tally {
            contacts: a.contacts + b.contacts,
            impacts: a.impacts + b.impacts,
            penetration_max: a.penetration_max.max(b.penetration_max),
            zones: 0,
        };
        widen(&problem, contacts, incidence, shift, ask, join)
    }

    /// Moves rigidly what would still pass through; how many groups.
    fn stiffen(&mut self, dt: f64) -> Result<u64, PhysicsError> {
        let mut zones = Zones::default();
        for _ in 0..MERGERS {
            self.look(true)?;
            self.find(true, |step, pair, start| step.miss(pair, start, KEEP[1]));
            let news = self.found.iter().flatten().fold(false, |news, contact| zones.join(contact.vertices()) | news);
            if !news {
                break;
            }
            self.kicks.resize(self.after.len(), DVec3::ZERO);
            for vertices in zones.members().into_values() {
                let positions: Vec<DVec3> = vertices.iter().map(|&i| self.before[i]).collect();
                let inverse_masses: Vec<f64> = vertices.iter().map(|&i| self.inverse_masses[i]).collect();
                let motion: Vec<DVec3> =
                    vertices.iter().map(|&i| self.after[i] + self.shift[i] - self.before[i]).collect();
                for (&i, moved) in vertices.iter().zip(rigid_motion(&positions, &inverse_masses, &motion)) {
                    let shift = moved - (self.after[i] - self.before[i]);
                    self.kicks[i] += (shift - self.shift[i]) / dt;
                    self.shift[i] = shift;
                }
            }
        }
        Ok(zones.members().len() as u64)
    }
}

/// The motion of all bodies during the step, corrections included.
struct Step<'a> {
    before: &'a [DVec3],
    after: &'a [DVec3],
    /// Nothing where nothing has been moved yet.
    shift: Option<&'a [DVec3]>,
    radii: &'a [f32],
    capsules: &'a [Capsule],
    bodies: &'a [(usize, bool)],
    drift: &'a Drift,
    /// Whether two have come within reach of each other, but not so that it is a contact.
    grazes: AtomicBool,
}

impl Step<'_> {
    /// Two segments.
    fn pair(&self, i: usize, j: usize) -> Pair {
        let motion = |i: usize| {
            let end = |i: usize| self.shift.map_or(self.after[i], |shift| self.after[i] + shift[i]);
            [Segment { from: self.before[i], to: self.before[i + 1] }, Segment { from: end(i), to: end(i + 1) }]
        };
        let radius = |i: usize| f64::from(self.radii[i].max(self.radii[i + 1]));
        Pair { vertices: [i, j], first: motion(i), second: motion(j), radii: [radius(i), radius(j)] }
    }

    /// Whether their capsules overlap, which are sooner made again than fetched from far away; `start` is where the axes are closest before the step.
    /// Mostly the same points are near enough halfway.
    fn close(&self, pair: &Pair, start: &Closest) -> bool {
        let thick = |k: usize, motion: &[Segment; 2]| {
            thickness(self.drift, motion, pair.radii[k], is_continuous(self.bodies, pair.vertices[k]))
        };
        let [one, other] = [thick(0, &pair.first), thick(1, &pair.second)];
        let end = pair.first[1].at(start.s) - pair.second[1].at(start.t);
        0.5 * length(start.offset + end) <= one + other
            || overlap([&halfway(&pair.first, one), &halfway(&pair.second, other)])
    }

    /// Whether the second segment follows the first on the same strand so closely that the strand would have to be bent to a point for
    /// them to be apart.
    fn follow(&self, pair: &Pair) -> bool {
        let [i, j] = pair.vertices;
        let tightest = std::f64::consts::FRAC_PI_2 * pair.reach();
        let mut arc = 0.0;
        for k in i + 1..j {
            arc += length(self.before[k] - self.before[k + 1]);
            if arc >= tightest || !self.capsules[k].exists() {
                return false;
            }
        }
        true
    }

    /// Whether the motion of both during the step counts.
    fn continuous(&self, pair: &Pair) -> bool {
        pair.vertices.iter().all(|&vertex| is_continuous(self.bodies, vertex))
    }

    /// The contact of two segments that come close; `start` is where they are closest before the step.
    fn meet(&self, pair: &Pair, start: Closest) -> Option<Contact> {
        let (reach, continuous) = (pair.reach(), self.continuous(pair));
        let place = if continuous {
            let met = approach_from(start, pair.first.each_ref(), pair.second.each_ref(), reach)?;
            Place { s: met.closest.s, t: met.closest.t, offset: met.closest.offset, time: met.time }
        } else {
            Place { s: start.s, t: start.t, offset: start.offset, time: 0.0 }
        };
        let contact = Contact::new(pair, &place, reach);
        let near = place.time == 0.0 && length(place.offset) <= CLOSE * reach;
        let meets = contact.gap < 0.0 || near;
        if !meets && continuous {
            self.grazes.store(true, Ordering::Relaxed);
        }
        meets.then_some(contact)
    }

    /// The contact of two segments that come closer, during the step as it is now, than `keep` times the distance they had before it.
    fn miss(&self, pair: &Pair, start: Closest, keep: f64) -> Option<Contact> {
        if !self.continuous(pair) {
            return None;
        }
        let reach = pair.reach();
        let least = keep * length(start.offset).min(reach);
        // Axes that crossed before the step have no side to be kept on.
        if least < 1e-6 * reach {
            return None;
        }
        let met = approach_from(start, pair.first.each_ref(), pair.second.each_ref(), least)?;
        // Contacts are stated for the motion as it came; corrections come on top.
        let plain = |i: usize| Segment { from: self.after[i], to: self.after[i + 1] };
        let [first, second] = pair.vertices.map(plain);
        let pair = Pair { first: [pair.first[0], first], second: [pair.second[0], second], ..*pair };
        let place = Place { s: met.closest.s, t: met.closest.t, offset: met.closest.offset, time: met.time };
        Some(Contact::new(&pair, &place, reach))
    }
}

/// How thick the capsule around a segment is that moves, from before the step to its end [m].
#[inline(always)]
fn thickness(drift: &Drift, motion: &[Segment; 2], radius: f64, continuous: bool) -> f64 {
    match continuous {
        true => drift.thickness(motion, radius * (1.0 + SLOP + ROOM)),
        false => radius * (1.0 + MARGIN),
    }
}

/// The capsule around a segment halfway through its motion.
#[inline(always)]
fn halfway([before, after]: &[Segment; 2], thick: f64) -> Capsule {
    let middle = before.towards(after, 0.5);
    Capsule::around(middle.from, middle.to, thick)
}

/// Adds the values of a body to those of all, without tasks for few of them.
fn append<T: Copy + Send + Sync>(all: &mut Vec<T>, body: &[T]) {
    all.par_extend(body.par_iter().with_min_len(CHUNK));
}

fn is_continuous(bodies: &[(usize, bool)], vertex: usize) -> bool {
    let after = bodies.partition_point(|&(first, _)| first <= vertex);
    after > 0 && bodies[after - 1].1
}

/// Calls `change` with position, velocity and value of every vertex whose value is not 0.
fn scatter(bodies: &mut [Body], values: &[DVec3], change: impl Fn(&mut DVec3, &mut DVec3, DVec3) + Sync) {
    let mut rest = values;
    for body in bodies {
        let (own, behind) = rest.split_at(body.positions.len());
        rest = behind;
        let state = body.positions.par_chunks_mut(CHUNK).zip(body.velocities.par_chunks_mut(CHUNK));
        state.zip(own.par_chunks(CHUNK)).for_each(|((positions, velocities), values)| {
            for ((position, velocity), value) in positions.iter_mut().zip(velocities).zip(values) {
                if *value != DVec3::ZERO {
                    change(position, velocity, *value);
                }
            }
        });
    }
}

fn check_body(body: &Body) -> Result<(), PhysicsError> {
    let vertices = body.positions.len();
    let counts = [
        ("velocities", body.velocities.len()),
        ("inverse masses", body.inverse_masses.len()),
        ("collision radii", body.radii.len()),
    ];
    let stiff = ("rows of resistance", body.resistance.len());
    let counts = counts.into_iter().chain((stiff.1 > 0).then_some(stiff));
    if let Some((what, got)) = counts.into_iter().find(|(_, got)| *got != vertices) {
        return Err(PhysicsError::Count { what, got, expected: vertices });
    }
    let ends = (body.offsets.first().copied(), body.offsets.last().map(|&end| end as usize));
    let ascending = body.offsets.windows(2).position(|pair| pair[1] <= pair[0]);
    if ends != (Some(0), Some(vertices)) || ascending.is_some() {
        let strand = ascending.unwrap_or(0);
        let at = |k: usize| body.offsets.get(k).map_or(0, |&offset| offset as usize);
        return Err(PhysicsError::Offsets { strand, from: at(strand), to: at(strand + 1), vertices });
    }
    Ok(())
}
