//! Corrections that all contacts of a step agree on.
//!
//! Unknown is the displacement `shift` of every vertex. Contacts relax in turn while they are few, which converges fast; many are
//! relaxed side by side, with the mass of a vertex split among its contacts [Tonge2012], and their pushes are gathered
//! vertex by vertex in a fixed order. Segments get back the length that they came with, along their direction at the beginning of the step.
//! Every push acts on both sides equally, so that momentum stays, and no result depends on threads.

use super::contact::Contact;
use super::segments::length;
use glam::DVec3;
use rayon::prelude::*;

/// Contacts up to which they relax one after the other.
const FEW: usize = 2048;
/// Strands that one task gathers.
const TASK: usize = 256;
/// Strands whose lengths are restored at the same time.
const ABREAST: usize = 4;
/// Ranges of segments that look for their contacts side by side.
const RANGES: usize = 8;
/// Contacts that one task relaxes.
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
}

/// Which contacts touch a segment.
#[derive(Debug, Default)]
pub struct Incidence {
    starts: Vec<u32>,
    /// Contact and side, by segment.
    entries: Vec<u32>,
    /// Segments of each contact, close together.
    ends: Vec<[u32; 2]>,
    /// The last push of each contact.
    pushes: Vec<Push>,
}

/// The last push of a contact, with what it takes to share it out.
#[derive(Clone, Copy, Debug)]
struct Push {
    push: DVec3,
    s: f64,
    t: f64,
}

impl Push {
    const NONE: Self = Self { push: DVec3::ZERO, s: 0.0, t: 0.0 };

    /// What the ends of the first (0) or the second (1) segment get.
    #[inline]
    fn shares(&self, side: u32) -> [DVec3; 2] {
        if side == 0 {
            [self.push * (1.0 - self.s), self.push * self.s]
        } else {
            [self.push * (self.t - 1.0), self.push * -self.t]
        }
    }
}

impl Incidence {
    /// Ranges of segments are done side by side, each looking through all contacts.
    fn rebuild(&mut self, contacts: &[Contact], vertices: usize) {
        let Self { starts, entries, ends, pushes } = self;
        pushes.resize(contacts.len(), Push::NONE);
        let pairs = contacts.par_iter().with_min_len(CHUNK).map(|contact| [contact.first, contact.second]);
        pairs.collect_into_vec(ends);
        let ends = &*ends;
        let range = vertices.div_ceil(RANGES).max(CHUNK);
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
        entries.resize(2 * contacts.len(), 0);
        let (mut rest, mut parts) = (&mut entries[..], Vec::with_capacity(RANGES));
        for part in 0..vertices.div_ceil(range) {
            let (first, end) = (part * range, ((part + 1) * range).min(vertices));
            let (own, behind) = rest.split_at_mut((starts[end] - starts[first]) as usize);
            rest = behind;
            parts.push((part, first..end, own));
        }
        parts.into_par_iter().for_each(|(part, segments, own)| {
            let base = starts[segments.start];
            let mut next: Vec<u32> = starts[segments].iter().map(|start| start - base).collect();
            within(part).for_each(|(segment, entry)| {
                if let Some(at) = next.get_mut(segment) {
                    own[*at as usize] = entry;
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

    /// Contacts at a vertex; the last vertex of a strand begins no segment and has none there.
    #[inline]
    fn at_vertex(&self, vertex: usize) -> f64 {
        f64::from(self.count(vertex.saturating_sub(1), vertex + 1))
    }
}

/// Moves vertices, which `shift` has not moved yet if `fresh`, until the contacts hold, about; strands keep the lengths that they came with, about.
pub fn solve(
    problem: &Problem,
    contacts: &mut [Contact],
    incidence: &mut Incidence,
    shift: &mut [DVec3],
    friction: f64,
    iterations: u32,
    fresh: bool,
) {
    let many = contacts.len() > FEW;
    if many {
        incidence.rebuild(contacts, problem.before.len());
    }
    let count = &*incidence;
    contacts.par_chunks_mut(CHUNK).flatten_iter().for_each(|contact| {
        let answer = contact.answer(problem.inverse_masses, |vertex| if many { count.at_vertex(vertex) } else { 1.0 });
        contact.mass = if answer > 0.0 { 1.0 / answer } else { 0.0 };
    });
    if !many {
        return keep_energy(problem, contacts, shift, friction, iterations);
    }
    for pass in 0..iterations {
        let none = fresh && pass == 0;
        // Lengths cost more than contacts; they are restored where it counts most.
        let relax = |contact: &mut Contact, shift: &[DVec3]| {
            let relative = if none { DVec3::ZERO } else { contact.relative(shift) };
            (contact.relax(relative, friction), ())
        };
        side_by_side(contacts, &mut incidence.pushes, shift, relax, |_, _| ());
        gather(problem, incidence, shift, pass + 1 == iterations);
    }
}

/// Has contacts of the last call to [`solve`] ask for more distance, and gives it, about, in one go; `ask` is told the displacement so far and
/// says whether it asks, and something that is joined for all of them.
pub fn widen<T: Copy + Default + Send>(
    problem: &Problem,
    contacts: &mut [Contact],
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
    if contacts.len() > FEW {
        let relax = |contact: &mut Contact, shift: &[DVec3]| {
            let (said, relative) = ask(contact, shift);
            (contact.relax(relative, 0.0), said)
        };
        let (any, said) = side_by_side(contacts, &mut incidence.pushes, shift, relax, join);
        if any {
            gather(problem, incidence, shift, true);
        }
        return said;
    }
    let (any, said) =
        contacts.iter_mut().fold(<(bool, T)>::default(), |said, contact| join(said, ask(contact, shift).0));
    if any {
        in_turn(problem, contacts, &touched(problem.strands, contacts), shift, 0.0, 1, UNTURNED[0]);
    }
    said
}

/// Contacts one after the other; once more, with lengths restored the shortest way, if that has made energy, which no impact without
/// restitution does.
fn keep_energy(problem: &Problem, contacts: &mut [Contact], shift: &mut [DVec3], friction: f64, iterations: u32) {
    let touched = touched(problem.strands, contacts);
    let vertices =
        || touched.iter().flat_map(|&strand| problem.strands[strand] as usize..problem.strands[strand + 1] as usize);
    let before = (contacts.to_vec(), vertices().map(|i| shift[i]).collect::<Vec<_>>());
    in_turn(problem, contacts, &touched, shift, friction, iterations, UNTURNED[0]);
    // Twice the change of the kinetic energy, times dt^2: m (|x + s|^2 - |x|^2) where a vertex that came by x is moved by s.
    let gain = vertices().filter(|&i| problem.inverse_masses[i] > 0.0).map(|i| {
        let came = problem.after[i] - problem.before[i];
        shift[i].dot(2.0 * came + shift[i]) / problem.inverse_masses[i]
    });
    if gain.sum::<f64>() > 0.0 {
        contacts.copy_from_slice(&before.0);
        vertices().zip(before.1).for_each(|(i, moved)| shift[i] = moved);
        in_turn(problem, contacts, &touched, shift, friction, iterations, UNTURNED[1]);
    }
}

/// Contacts one after the other, until they have settled: each sees what those before it did. `touched` are their strands.
fn in_turn(
    problem: &Problem,
    contacts: &mut [Contact],
    touched: &[usize],
    shift: &mut [DVec3],
    friction: f64,
    iterations: u32,
    unturned: f64,
) {
    for _ in 0..PATIENCE * iterations {
        let mut largest = 0.0_f64;
        for contact in &mut *contacts {
            let push = contact.relax(contact.relative(shift), friction);
            if contact.mass > 0.0 {
                largest = largest.max(length(push) / (contact.mass * contact.reach));
            }
            for (vertex, weight) in contact.vertices().into_iter().zip(contact.weights()) {
                shift[vertex] += push * (problem.inverse_masses[vertex] * weight);
            }
        }
        touched
            .chunks(ABREAST)
            .for_each(|strands| restore_lengths(problem, strands.iter().copied(), 0, shift, unturned));
        if largest < SETTLED {
            break;
        }
    }
}

/// Relaxes all contacts, none of which sees what the others do, and takes note of their pushes; joins what is said of them.
fn side_by_side<T: Copy + Default + Send>(
    contacts: &mut [Contact],
    pushes: &mut [Push],
    shift: &[DVec3],
    relax: impl Fn(&mut Contact, &[DVec3]) -> (DVec3, T) + Sync,
    join: impl Fn(T, T) -> T + Sync,
) -> T {
    let chunks = contacts.par_chunks_mut(CHUNK).zip(pushes.par_chunks_mut(CHUNK));
    let said = chunks.map(|(contacts, pushes)| {
        contacts.iter_mut().zip(pushes).fold(T::default(), |all, (contact, noted)| {
            let (push, said) = relax(contact, shift);
            *noted = Push { push, s: contact.s, t: contact.t };
            join(all, said)
        })
    });
    said.reduce(T::default, &join)
}

/// The strands that have contacts, ascending.
fn touched(strands: &[u32], contacts: &[Contact]) -> Vec<usize> {
    let of = |segment: u32| strands.partition_point(|&first| first <= segment) - 1;
    let mut touched: Vec<usize> = contacts.iter().flat_map(|c| [of(c.first), of(c.second)]).collect();
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
        for strand in group.clone() {
            let (from, to) = (strands[strand] as usize, strands[strand + 1] as usize);
            if incidence.count(from, to) == 0 {
                continue;
            }
            let own = &mut part[from - base..to - base];
            for segment in from..to - 1 {
                let (mut low, mut high) = (DVec3::ZERO, DVec3::ZERO);
                let range = incidence.starts[segment] as usize..incidence.starts[segment + 1] as usize;
                for &entry in &incidence.entries[range] {
                    let [first, second] = incidence.pushes[entry as usize / 2].shares(entry % 2);
                    low += first;
                    high += second;
                }
                own[segment - from] += low * problem.inverse_masses[segment];
                own[segment - from + 1] += high * problem.inverse_masses[segment + 1];
            }
        }
        if lengths {
            let touched =
                |strand: &usize| incidence.count(strands[*strand] as usize, strands[*strand + 1] as usize) > 0;
            for first in group.clone().step_by(ABREAST) {
                restore_lengths(
                    problem,
                    (first..(first + ABREAST).min(group.end)).filter(touched),
                    base,
                    part,
                    UNTURNED[0],
                );
            }
        }
    });
}

/// Gives the segments of a few strands back the lengths that they came with: once from root to tip, once back. The strands, whose vertices are in `shift` from
/// `base` on, do not know of each other; they go abreast because a segment has to wait for the one before it.
fn restore_lengths(
    problem: &Problem,
    strands: impl Iterator<Item = usize>,
    base: usize,
    shift: &mut [DVec3],
    unturned: f64,
) {
    let mut few = [(0, 0); ABREAST];
    let mut longest = 0;
    for (range, strand) in few.iter_mut().zip(strands) {
        // The last vertex begins no segment.
        *range = (problem.strands[strand] as usize, problem.strands[strand + 1] as usize - 1);
        longest = longest.max(range.1 - range.0);
    }
    for step in (0..longest).chain((0..longest).rev()) {
        for (from, to) in few {
            if from + step < to {
                restore_length(problem, from + step, base, shift, unturned);
            }
        }
    }
}

/// Gives the segment that begins at vertex `a` back the length that it came with.
#[inline]
fn restore_length(problem: &Problem, a: usize, base: usize, shift: &mut [DVec3], unturned: f64) {
    let (b, i) = (a + 1, a - base);
    let (wa, wb) = (problem.inverse_masses[a], problem.inverse_masses[b]);
    let change = shift[i + 1] - shift[i];
    let came = problem.after[b] - problem.after[a];
    let now = came + change;
    let square = came.length_squared();
    // The difference of the squared lengths without their cancelling.
    let excess = change.dot(came + now);
    if wa + wb == 0.0 || excess.abs() <= NEGLIGIBLE * square {
        return;
    }
    // Along the direction at the beginning the angular momentum stays. But shortening a segment that way turns it on, the more the farther
    // it has turned, until there is nothing left to shorten: then along its own, which is the shortest way.
    let start = problem.before[b] - problem.before[a];
    let (along, size) = (now.dot(start), now.length_squared());
    let turned = along <= 0.0 || along * along <= unturned * size * start.length_squared();
    let (direction, projection) = if turned { (now, size) } else { (start, along) };
    // One step of Newton's method on |now|^2 = |came|^2: no square root.
    let correction = direction * (excess / (2.0 * projection * (wa + wb)));
    if correction.is_finite() {
        shift[i] += correction * wa;
        shift[i + 1] -= correction * wb;
    }
}
