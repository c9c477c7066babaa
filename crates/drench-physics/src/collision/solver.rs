//! Corrections that all contacts of a step agree on.
//!
//! Unknown is the displacement `shift` of every vertex. Contacts relax in turn while they are few, which converges fast; many are
//! relaxed side by side, with the mass of a vertex split among its contacts [Tonge2012], and their pushes are gathered
//! vertex by vertex in a fixed order. Segments get back the length that they came with, along their direction at the beginning of the step.
//! Every push acts on both sides equally, so that momentum stays, and no result depends on threads.

use super::contact::Contact;
use super::segments::length;
use crate::cords::without_momentum;
use crate::strands::lanes::{Batch, LANES, Lane, Lane3};
use drench_math::bands::{self, Row};
use glam::DVec3;
use rayon::prelude::*;

/// Contacts up to which they relax one after the other.
const FEW: usize = 2048;
/// Strands that one task gathers.
const TASK: usize = 256;
/// Segments that a range has at least.
const CHUNK: usize = 4096;
/// Passes over few contacts at most, in multiples of the iterations that many get.
const PATIENCE: u32 = 6;
/// Displacement in a pass, in reaches, below which few contacts have settled.
const SETTLED: f64 = 1e-5;
/// Relative change of a segment's squared length that is left alone.
const NEGLIGIBLE: f64 = 1e-7;
/// Squared cosine of the angle by which a segment has turned in the step, down to which it counts as not turned; and the same once that
/// has made energy.
const UNTURNED: [f64; 2] = [0.25, 0.98];

/// What the solver works on.
pub struct Problem<'a> {
    /// First vertex of each strand of all bodies, and the vertex count.
    pub strands: &'a [u32],
    pub before: &'a [DVec3],
    pub after: &'a [DVec3],
    pub inverse_masses: &'a [f64],
    /// The same of stiff strands, as five diagonals, factored; nothing if there are none.
    pub resistance: &'a [Row],
}

impl Problem<'_> {
    /// Whether neighbours go along when a vertex of a strand is pushed. Lengths are left to its next step then: to restore them vertex by vertex would bend it.
    fn is_stiff(&self, strand: usize) -> bool {
        let vertices = self.strands[strand] as usize..self.strands[strand + 1] as usize;
        self.resistance.get(vertices).is_some_and(|rows| rows.iter().any(|row| row[1] != 0.0))
    }
}

/// Which contacts touch a segment.
#[derive(Debug, Default)]
pub struct Incidence {
    starts: Vec<u32>,
    /// Segment, and contact and side, by segment.
    entries: Vec<[u32; 2]>,
    /// How much each vertex answers to pushes, its mass split among its contacts [1/kg].
    answers: Vec<f64>,
    /// Segments of each contact, close together.
    ends: Vec<[u32; 2]>,
    /// The last push of each contact.
    pushes: Vec<Push>,
    /// What pushes do where strands are stiff, few contacts only.
    columns: Columns,
}

/// How far vertices go if a contact pushes by 1 [m/(kg m)]: where a strand is stiff, neighbours go along. So contacts and bending are solved as one, both at the end of the
/// step. Single vertices, pushed by their masses, would bend the strand, and it would spring back in the next step: pressed on itself it would tremble.
#[derive(Debug, Default)]
struct Columns {
    /// First vertex and first value of both sides of each contact, and the value after the last.
    sides: Vec<(u32, u32)>,
    values: Vec<f64>,
}

impl Columns {
    fn rebuild(&mut self, problem: &Problem, contacts: &[Vec<Contact>]) {
        self.sides.clear();
        self.values.clear();
        if problem.resistance.is_empty() {
            return;
        }
        for contact in contacts.iter().flatten() {
            for (segment, at) in [(contact.first, contact.s), (contact.second, contact.t)] {
                let begin = self.values.len() as u32;
                let first = bands::column(problem.resistance, segment as usize, [1.0 - at, at], &mut self.values);
                self.sides.push((first as u32, begin));
            }
        }
        self.sides.push((0, self.values.len() as u32));
    }

    /// How much the relative displacement of a contact answers to its push [1/kg].
    fn answer(&self, index: usize, contact: &Contact, inverse_masses: &[f64]) -> f64 {
        if self.sides.is_empty() {
            return contact.answer(inverse_masses);
        }
        let [one, other] = self.of(index).map(|(first, values)| {
            let at = |v: usize| values.get(v.wrapping_sub(first)).copied().unwrap_or(0.0);
            contact.vertices().into_iter().zip(contact.weights()).map(|(v, weight)| weight * at(v)).sum::<f64>()
        });
        one - other
    }

    /// Moves what a push of a contact moves.
    #[inline]
    fn push(&self, index: usize, contact: &Contact, inverse_masses: &[f64], push: DVec3, shift: &mut [DVec3]) {
        if self.sides.is_empty() {
            for (vertex, weight) in contact.vertices().into_iter().zip(contact.weights()) {
                shift[vertex] += push * (inverse_masses[vertex] * weight);
            }
            return;
        }
        for ((first, values), push) in self.of(index).into_iter().zip([push, -push]) {
            shift[first..].iter_mut().zip(values).for_each(|(shift, value)| *shift += push * *value);
        }
    }

    /// First vertex, and how far it and those after it go, of both sides of a contact.
    fn of(&self, contact: usize) -> [(usize, &[f64]); 2] {
        [0, 1].map(|side| {
            let [(first, begin), (_, end)] = [0, 1].map(|next| self.sides[2 * contact + side + next]);
            (first as usize, &self.values[begin as usize..end as usize])
        })
    }
}

/// The last push of a contact, with what it takes to share it out.
#[derive(Clone, Copy, Debug)]
struct Push {
    push: DVec3,
    /// s and t.
    at: [f64; 2],
}

impl Push {
    const NONE: Self = Self { push: DVec3::ZERO, at: [0.0; 2] };

    /// What a contact does that is relaxed.
    #[inline]
    fn by(contact: &mut Contact, relative: DVec3, friction: f64) -> Self {
        Self { push: contact.relax(relative, friction), at: [contact.s, contact.t] }
    }

    /// What the ends of the first (0) or the second (1) segment get. Which one is a guess that would often be wrong, so there is no branch.
    #[inline]
    fn shares(&self, side: u32) -> [DVec3; 2] {
        let (at, sign) = (self.at[side as usize], 1.0 - 2.0 * f64::from(side));
        [self.push * ((1.0 - at) * sign), self.push * (at * sign)]
    }
}

impl Incidence {
    /// Ranges of segments are done side by side, each looking through all contacts; how many they are makes no difference to the result.
    fn rebuild(&mut self, contacts: &mut [Vec<Contact>], inverse_masses: &[f64]) {
        let Self { starts, entries, answers, ends, pushes, columns } = self;
        columns.sides.clear();
        let vertices = inverse_masses.len();
        let count = count(contacts);
        pushes.resize(count, Push::NONE);
        ends.resize(count, [0; 2]);
        side_by_side(contacts, ends, |contact| ([contact.first, contact.second], ()), |_, _| ());
        let ends = &*ends;
        let range = vertices.div_ceil(rayon::current_num_threads()).max(CHUNK);
        let within = |part: usize| {
            let first = part * range;
            let local = move |segment: u32| (segment as usize).wrapping_sub(first);
            ends.iter().zip(0_u32..).flat_map(move |(segments, index)| {
                [(local(segments[0]), 2 * index), (local(segments[1]), 2 * index + 1)]
            })
        };
        starts.clear();
        starts.resize(vertices + 1, 0);
        starts[1..].par_chunks_mut(range).enumerate().for_each(|(part, starts)| {
            within(part).for_each(|(segment, _)| {
                if let Some(count) = starts.get_mut(segment) {
                    *count += 1;
                }
            });
        });
        for i in 0..vertices {
            starts[i + 1] += starts[i];
        }
        let starts = &*starts;
        let answer = |(vertex, inverse): (usize, &f64)| inverse * at_vertex(starts, vertex);
        answers.clear();
        answers.par_extend(inverse_masses.par_iter().enumerate().with_min_len(CHUNK).map(answer));
        entries.resize(2 * count, [0; 2]);
        let (mut rest, mut parts) = (&mut entries[..], Vec::new());
        for part in 0..vertices.div_ceil(range) {
            let (first, end) = (part * range, ((part + 1) * range).min(vertices));
            let (own, behind) = rest.split_at_mut((starts[end] - starts[first]) as usize);
            rest = behind;
            parts.push((part, first..end, own));
        }
        parts.into_par_iter().for_each(|(part, segments, own)| {
            let (first, base) = (segments.start, starts[segments.start]);
            let mut next: Vec<u32> = starts[segments].iter().map(|start| start - base).collect();
            within(part).for_each(|(segment, entry)| {
                if let Some(at) = next.get_mut(segment) {
                    own[*at as usize] = [(first + segment) as u32, entry];
                    *at += 1;
                }
            });
        });
    }

    /// Contacts of the segments from `first` up to, without, `end`.
    #[inline]
    fn count(&self, first: usize, end: usize) -> u32 {
        self.starts[end] - self.starts[first]
    }
}

/// Contacts at a vertex, with `starts` of an [`Incidence`]; the last vertex of a strand begins no segment and has none there.
#[inline]
fn at_vertex(starts: &[u32], vertex: usize) -> f64 {
    f64::from(starts[vertex + 1] - starts[vertex.saturating_sub(1)])
}

/// Moves vertices, which `shift` has not moved yet if `fresh`, until the contacts hold, about; strands keep the lengths that they came with, about.
pub fn solve(
    problem: &Problem,
    contacts: &mut [Vec<Contact>],
    incidence: &mut Incidence,
    shift: &mut [DVec3],
    friction: f64,
    iterations: u32,
    fresh: bool,
) {
    if count(contacts) <= FEW {
        incidence.columns.rebuild(problem, contacts);
        for (index, contact) in contacts.iter_mut().flatten().enumerate() {
            contact.weigh(incidence.columns.answer(index, contact, problem.inverse_masses));
        }
        return keep_energy(problem, contacts, &incidence.columns, shift, friction, iterations);
    }
    incidence.rebuild(contacts, problem.inverse_masses);
    for pass in 0..iterations {
        let Incidence { answers, pushes, .. } = &mut *incidence;
        let relax = |contact: &mut Contact| {
            if pass == 0 {
                contact.weigh(contact.answer(answers));
            }
            let relative = if fresh && pass == 0 { DVec3::ZERO } else { contact.relative(shift) };
            (Push::by(contact, relative, friction), ())
        };
        side_by_side(contacts, pushes, relax, |_, _| ());
        // Lengths cost more than contacts; they are restored where it counts most.
        gather(problem, incidence, shift, pass + 1 == iterations);
    }
}

/// Has contacts of the last call to [`solve`] ask for more distance, and gives it, about, in one go; `ask` is told the displacement so far and
/// says whether it asks, and something that is joined for all of them.
pub fn widen<T: Copy + Default + Send>(
    problem: &Problem,
    contacts: &mut [Vec<Contact>],
    incidence: &mut Incidence,
    shift: &mut [DVec3],
    ask: impl Fn(&mut Contact, DVec3) -> (bool, T) + Sync,
    join: impl Fn(T, T) -> T + Sync,
) -> T {
    let join = |a: (bool, T), b: (bool, T)| (a.0 | b.0, join(a.1, b.1));
    let ask = |contact: &mut Contact, shift: &[DVec3]| {
        let relative = contact.relative(shift);
        (ask(contact, relative), relative)
    };
    if count(contacts) > FEW {
        let relax = |contact: &mut Contact| {
            let (said, relative) = ask(contact, shift);
            (Push::by(contact, relative, 0.0), said)
        };
        let (any, said) = side_by_side(contacts, &mut incidence.pushes, relax, join);
        if any {
            gather(problem, incidence, shift, true);
        }
        return said;
    }
    let (any, said) =
        contacts.iter_mut().flatten().fold(<(bool, T)>::default(), |said, contact| join(said, ask(contact, shift).0));
    if any {
        let touched = touched(problem.strands, contacts);
        in_turn(problem, (contacts, &incidence.columns), &touched, shift, 0.0, 1, UNTURNED[0]);
    }
    said
}

/// Contacts one after the other; once more, with lengths restored the shortest way, if that has made energy, which no impact without
/// restitution does.
fn keep_energy(
    problem: &Problem,
    contacts: &mut [Vec<Contact>],
    columns: &Columns,
    shift: &mut [DVec3],
    friction: f64,
    iterations: u32,
) {
    let touched = touched(problem.strands, contacts);
    let vertices =
        || touched.iter().flat_map(|&strand| problem.strands[strand] as usize..problem.strands[strand + 1] as usize);
    let before = (contacts.to_vec(), vertices().map(|i| shift[i]).collect::<Vec<_>>());
    in_turn(problem, (contacts, columns), &touched, shift, friction, iterations, UNTURNED[0]);
    // Twice the change of the kinetic energy, times dt^2: m (|x + s|^2 - |x|^2) where a vertex that came by x is moved by s.
    let gain = vertices().filter(|&i| problem.inverse_masses[i] > 0.0).map(|i| {
        let came = problem.after[i] - problem.before[i];
        shift[i].dot(2.0 * came + shift[i]) / problem.inverse_masses[i]
    });
    if gain.sum::<f64>() > 0.0 && touched.iter().any(|&strand| !problem.is_stiff(strand)) {
        contacts.clone_from_slice(&before.0);
        vertices().zip(before.1).for_each(|(i, moved)| shift[i] = moved);
        in_turn(problem, (contacts, columns), &touched, shift, friction, iterations, UNTURNED[1]);
    }
    keep_angular_momentum(problem, contacts, &touched, shift);
}

/// Bending gives neighbours a share in a push as it is at the end of the step, and the angular momentum is that of its beginning: stiff strands that nothing holds are turned by what
/// is missing.
fn keep_angular_momentum(problem: &Problem, contacts: &[Vec<Contact>], touched: &[usize], shift: &mut [DVec3]) {
    for &strand in touched.iter().filter(|&&strand| problem.is_stiff(strand)) {
        let vertices = problem.strands[strand] as usize..problem.strands[strand + 1] as usize;
        let inverse_masses = &problem.inverse_masses[vertices.clone()];
        if inverse_masses.contains(&0.0) {
            continue;
        }
        let masses: Vec<f64> = inverse_masses.iter().map(|inverse| 1.0 / inverse).collect();
        // Where the pushes alone would take the vertices.
        let mut pushed = vec![DVec3::ZERO; masses.len()];
        for contact in contacts.iter().flatten() {
            let push = contact.normal * contact.press + contact.grip;
            for (vertex, weight) in contact.vertices().into_iter().zip(contact.weights()) {
                if vertices.contains(&vertex) {
                    pushed[vertex - vertices.start] += push * (weight * problem.inverse_masses[vertex]);
                }
            }
        }
        let shift = &mut shift[vertices.clone()];
        shift.iter_mut().zip(&pushed).for_each(|(shift, pushed)| *shift -= *pushed);
        without_momentum(&problem.before[vertices], &masses, None, shift);
        shift.iter_mut().zip(&pushed).for_each(|(shift, pushed)| *shift += *pushed);
    }
}

/// Contacts one after the other, until they have settled: each sees what those before it did. `touched` are their strands.
fn in_turn(
    problem: &Problem,
    (contacts, columns): (&mut [Vec<Contact>], &Columns),
    touched: &[usize],
    shift: &mut [DVec3],
    friction: f64,
    iterations: u32,
    unturned: f64,
) {
    let mut batches: Vec<Batch> = Vec::new();
    for &strand in touched.iter().filter(|&&strand| !problem.is_stiff(strand)) {
        if batches.last().is_none_or(|batch| strand >= batch.strand + batch.strands) {
            let all = problem.strands.len() - 1;
            let mut others = strand + 1..all.min(strand + LANES);
            batches.push(Batch::new(problem.strands, strand, others.find(|&k| problem.is_stiff(k)).unwrap_or(all)));
        }
    }
    let mut lengths = Lengths::default();
    for _ in 0..PATIENCE * iterations {
        let mut largest = 0.0_f64;
        for (index, contact) in contacts.iter_mut().flatten().enumerate() {
            let push = contact.relax(contact.relative(shift), friction);
            if contact.mass > 0.0 {
                largest = largest.max(length(push) / (contact.mass * contact.reach));
            }
            columns.push(index, contact, problem.inverse_masses, push, shift);
        }
        lengths.restore(problem, &batches, 0, shift, unturned);
        if largest < SETTLED {
            break;
        }
    }
}

/// Calls `each` for all contacts, none of which sees what the others do, and takes note of what comes of them; joins what is said of them.
fn side_by_side<N: Send, T: Copy + Default + Send>(
    contacts: &mut [Vec<Contact>],
    notes: &mut [N],
    each: impl Fn(&mut Contact) -> (N, T) + Sync,
    join: impl Fn(T, T) -> T + Sync,
) -> T {
    let (mut rest, mut parts) = (notes, Vec::with_capacity(contacts.len()));
    for part in contacts {
        let (own, behind) = rest.split_at_mut(part.len());
        rest = behind;
        parts.push((part, own));
    }
    let said = parts.into_par_iter().map(|(part, notes)| {
        part.iter_mut().zip(notes).fold(T::default(), |all, (contact, noted)| {
            let (note, said) = each(contact);
            *noted = note;
            join(all, said)
        })
    });
    said.reduce(T::default, &join)
}

/// How many contacts all parts have.
fn count(contacts: &[Vec<Contact>]) -> usize {
    contacts.iter().map(Vec::len).sum()
}

/// The strands that have contacts, ascending.
fn touched(strands: &[u32], contacts: &[Vec<Contact>]) -> Vec<usize> {
    let of = |segment: u32| strands.partition_point(|&first| first <= segment) - 1;
    let mut touched: Vec<usize> = contacts.iter().flatten().flat_map(|c| [of(c.first), of(c.second)]).collect();
    touched.sort_unstable();
    touched.dedup();
    touched
}

/// Adds the last pushes of all contacts, strand by strand.
fn gather(problem: &Problem, incidence: &Incidence, shift: &mut [DVec3], lengths: bool) {
    let strands = problem.strands;
    let mut parts = Vec::with_capacity(strands.len() / TASK + 1);
    let (mut rest, mut done) = (shift, 0);
    for group in (0..strands.len() - 1).step_by(TASK) {
        let end = (group + TASK).min(strands.len() - 1);
        let (part, behind) = rest.split_at_mut(strands[end] as usize - done);
        (rest, done) = (behind, strands[end] as usize);
        parts.push((group..end, part));
    }
    parts.into_par_iter().for_each(|(group, part)| {
        let base = strands[group.start] as usize;
        // All contacts of the group in one loop: how many a segment has is a guess that would often be wrong.
        let [first, end] = [group.start, group.end].map(|strand| incidence.starts[strands[strand] as usize] as usize);
        for &[segment, entry] in &incidence.entries[first..end] {
            let [low, high] = incidence.pushes[entry as usize / 2].shares(entry % 2);
            let at = segment as usize;
            part[at - base] += low * problem.inverse_masses[at];
            part[at - base + 1] += high * problem.inverse_masses[at + 1];
        }
        if lengths {
            let batches = group.clone().step_by(LANES).map(|first| Batch::new(strands, first, group.end));
            let touched = |batch: &Batch| {
                incidence.count(strands[batch.strand] as usize, strands[batch.strand + batch.strands] as usize) > 0
            };
            let batches: Vec<Batch> = batches.filter(touched).collect();
            Lengths::default().restore(problem, &batches, base, part, UNTURNED[0]);
        }
    });
}

/// Two batches of four strands while their segments get their lengths back: a segment has to wait for the one before it, so that one batch
/// fills the time in which the other waits.
#[derive(Debug, Default)]
struct Lengths {
    /// Corrections, vertex by vertex.
    shift: [Vec<Lane3>; 2],
    links: [Vec<Link>; 2],
}

/// A segment of each of four strands.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// The vector that it came with, and the one at the beginning of the step [m].
    came: Lane3,
    start: Lane3,
    /// Inverse masses of its ends; 0 where the strand has no such segment.
    weights: [Lane; 2],
    /// What is left alone of the difference of the squared lengths [m^2].
    negligible: Lane,
    /// Squared cosine down to which it counts as not turned, times the squared length at the beginning [m^2].
    unturned: Lane,
}

impl Lengths {
    /// Gives the segments of strands back the lengths that they came with: once from root to tip, once back. The vertices of the strands
    /// are in `shift` from `base` on.
    fn restore(&mut self, problem: &Problem, batches: &[Batch], base: usize, shift: &mut [DVec3], unturned: f64) {
        for two in batches.chunks(2) {
            for (which, batch) in two.iter().enumerate() {
                self.load(which, problem, batch, base, shift, unturned);
            }
            let [one, other] = [0, 1].map(|which| if which < two.len() { self.links[which].len() } else { 0 });
            let longest = one.max(other);
            for k in (0..longest).chain((0..longest).rev()) {
                if k < one {
                    self.links[0][k].restore(&mut self.shift[0][k..k + 2]);
                }
                if k < other {
                    self.links[1][k].restore(&mut self.shift[1][k..k + 2]);
                }
            }
            for (batch, moved) in two.iter().zip(&self.shift) {
                for (i, moved) in moved.iter().enumerate() {
                    batch.store(i, base, shift, *moved);
                }
            }
        }
    }

    fn load(&mut self, which: usize, problem: &Problem, batch: &Batch, base: usize, shift: &[DVec3], unturned: f64) {
        let (moved, links) = (&mut self.shift[which], &mut self.links[which]);
        moved.clear();
        moved.extend((0..batch.longest).map(|i| batch.load(i, base, shift)));
        let vertex = |i: usize| {
            let weight = batch.load_with(i, |at| problem.inverse_masses[at]);
            (batch.load(i, 0, problem.after), batch.load(i, 0, problem.before), weight)
        };
        let mut last = vertex(0);
        links.clear();
        links.extend((1..batch.longest).map(|i| {
            let (low, high) = (last, vertex(i));
            last = high;
            let (came, start, there) = (high.0 - low.0, high.1 - low.1, batch.presence(i));
            let negligible = came.dot(came) * Lane::splat(NEGLIGIBLE);
            let unturned = start.dot(start) * Lane::splat(unturned);
            Link { came, start, weights: [low.2 * there, high.2 * there], negligible, unturned }
        }));
    }
}

impl Link {
    /// Changes the corrections of both ends so that it has its length again.
    #[inline(always)]
    fn restore(&self, ends: &mut [Lane3]) {
        let (low, high) = (ends[0], ends[1]);
        let [wa, wb] = self.weights;
        let change = high - low;
        let now = self.came + change;
        // The difference of the squared lengths without their cancelling.
        let excess = change.dot(self.came + now);
        let wrong = !excess.abs().simd_le(self.negligible) & (wa + wb).simd_gt(Lane::ZERO);
        // Along the direction at the beginning the angular momentum stays. But shortening a segment that way turns it on, the more the farther
        // it has turned, until there is nothing left to shorten: then along its own, which is the shortest way.
        let (along, size) = (now.dot(self.start), now.dot(now));
        let turned = along.simd_le(Lane::ZERO) | (along * along).simd_le(self.unturned * size);
        let choose = |one: Lane, other: Lane| turned.select(one, other);
        let start = self.start;
        let direction = Lane3 { x: choose(now.x, start.x), y: choose(now.y, start.y), z: choose(now.z, start.z) };
        // One step of Newton's method on |now|^2 = |came|^2: no square root.
        let correction = direction * (excess / (Lane::splat(2.0) * choose(size, along) * (wa + wb)));
        // What is not finite is not 0 when it is multiplied by 0.
        let off = correction * Lane::ZERO;
        let known = wrong & (off.x + off.y + off.z).simd_eq(Lane::ZERO);
        let keep = |new: Lane3, old: Lane3| {
            let keep = |new: Lane, old: Lane| known.select(new, old);
            Lane3 { x: keep(new.x, old.x), y: keep(new.y, old.y), z: keep(new.z, old.z) }
        };
        ends[0] = keep(low + correction * wa, low);
        ends[1] = keep(high - correction * wb, high);
    }
}
