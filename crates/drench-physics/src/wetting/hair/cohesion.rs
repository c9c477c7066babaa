//! Wet strands cling to each other [Rungjiratananon2012b, section 6].
//!
//! A bridge of water joins a vertex with a segment of another strand once they are closer than the water between and around them reaches,
//! d = r_i + r_j + R, R = `reach` (s_i + s_j) / 2, s the part of the room for water that is filled (20). Across the gap g that is left it pulls
//! them together with no more than a force that falls with the gap, as in (21),
//!
//! F = `pull` l (s_i + s_j) / 2 (1 - g / R) for each length l of strand,
//!
//! holds them in contact while they are pulled apart less strongly, and breaks where they are farther than d. Strands that overlap are pushed
//! apart by whatever it takes (22). Motion along each other is damped by the film between them.
//!
//! The text's force (21) would be explicit: stiff on hairs that weigh micrograms. Here a bridge asks for a velocity: that at which (21) closes a gap
//! against the film's drag, (R - g) / [`CLOSING`], and no more than g over [`TOUCHING`] steps, which ends in contact. Bridges act one after the other,
//! each on what those before it have left (sweeps of Gauss and Seidel): each gets the velocity that it asks for with the masses as they are, or gives all
//! of its force in all sweeps together, whatever the step; and what one side gains the other loses. Nearer ones act later.
//!
//! That the nearer neighbour pulls more is what makes clumps: a strand amid others that pull more the farther they are, or all alike, stays where it is.
//!
//! Bridges last from step to step; new ones are looked for in a part of the strands at a time.

use super::grid::{Grid, Portion, hand_out};
use super::{Hair, HairScratch, HairWater, Medium, WIDEST, WIDEST_SAID};
use crate::collision::segments::Segment;
use crate::error::{PhysicsError, check};
use crate::wetting::filled;
use drench_math::ordered;
use glam::{DVec3, IVec3, Vec3};
use rayon::prelude::*;
use wide::f32x8;

/// Bridges of a vertex at most.
pub(super) const BRIDGES: usize = 4;
/// No bridge.
pub(super) const NONE: u32 = u32::MAX;
/// Every how long a strand looks for new bridges [s]; where a vertex holds two or more it can wait twice as long. Strands that cling come nearer to
/// others by a good part of a millimetre meanwhile.
const PATIENCE: f64 = 0.02;
/// Time for which one sweep over the bridges is enough [s]: in it, what a bridge gives to one strand of a clump goes to the next ones. In a longer
/// step there are more sweeps, or clumps would be the smaller the longer it is.
const SWEEP: f64 = 2.5e-3;
/// Sweeps in a step at most.
const SWEEPS: f64 = 8.0;
/// Part of the room for water that must be filled, on average, for two strands to cling.
const LEAST: f64 = 0.02;
/// Time in which a bridge closes its gap [s]. Where bridges cannot all close, as in the middle of a clump, shorter ones would make it tremble.
const CLOSING: f64 = 0.08;
/// Time in which an overlap ends [s].
const PARTING: f64 = 0.02;
/// Steps in which a bridge whose gap is about to close gets to contact: in one, vertices that share bridges would chatter.
const TOUCHING: f64 = 2.0;
/// Time in which a film stops strands that slide along each other [s]: a hair of 5 mg a metre on water 20 to 30 um thick, which drags at
/// 1 mPa s times 70 um over that.
const SLIDING: f64 = 2e-3;
/// Parts of their reach across which bridges are nearer ones, from far to near.
const NEARER: [f64; 3] = [0.5, 0.3, 0.15];

/// How wet strands cling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cohesion {
    /// Gap across which strands full of water cling [m].
    pub reach: f64,
    /// Force for each length of strand [N/m].
    pub pull: f64,
}

impl Cohesion {
    /// Refuses what makes no sense for strands of which the thickest has this radius [m].
    pub fn check(&self, medium: &Medium, thickest: f64) -> Result<(), PhysicsError> {
        check("reach of wet strands", self.reach, "0 or more", |x| x >= 0.0)?;
        check("pull of wet strands", self.pull, "0 or more", |x| x >= 0.0)?;
        let widest = (self.reach + 2.0 * thickest) / medium.voxel;
        check("reach of wet strands and their thickness over the edge of a voxel", widest, WIDEST_SAID, |x| x <= WIDEST)
    }
}

/// The strands of all grooms, one after the other.
#[derive(Debug)]
pub struct Clinging<'a> {
    /// Positions [m].
    pub positions: &'a [DVec3],
    /// Velocities [m/s].
    pub velocities: &'a mut [DVec3],
    /// Inverse masses, of a strand and its water [1/kg]; 0 where it is held.
    pub inverse_masses: &'a [f64],
    /// Radii of strands, with what they stand for [m].
    pub radii: &'a [f32],
}

/// One bridge, as it acts in this step.
#[derive(Clone, Copy, Debug)]
struct Bond {
    /// The vertex.
    vertex: u32,
    /// The segment ends at this vertex.
    segment: u32,
    /// Place on the segment, 0 to 1.
    place: f32,
    /// Speed at which it closes its gap; negative out of an overlap [m/s].
    speed: f32,
    /// The most it pulls in this step [N s].
    most: f32,
    /// What it has pushed the vertex away by so far in this step [N s]; negative if it has pulled.
    given: f32,
    /// From the segment to the vertex, of length 1.
    normal: Vec3,
}

impl Bond {
    /// Velocities of the vertex and of both ends of the segment [m/s], of these inverse masses [1/kg], once it has acted. It slows what slides by
    /// the part `slowed`.
    #[inline(always)]
    fn act(&mut self, [a, b, c]: [DVec3; 3], inverse_masses: [f64; 3], slowed: f64) -> [DVec3; 3] {
        let t = f64::from(self.place);
        let [i, j, k] = [inverse_masses[0], (1.0 - t) * inverse_masses[1], t * inverse_masses[2]];
        let answer = i + (1.0 - t) * j + t * k;
        // Nothing moves what is held on both sides.
        let mass = if answer > 0.0 { 1.0 / answer } else { 0.0 };
        let (normal, speed, pull) = (self.normal.as_dvec3(), f64::from(self.speed), f64::from(self.most));
        let relative = a - (b * (1.0 - t) + c * t);
        let parting = relative.dot(normal);
        let given = f64::from(self.given);
        let wanted = given + (-speed - parting) * mass;
        // Out of an overlap by any force.
        let most = if speed < 0.0 && wanted > 0.0 { f64::INFINITY } else { pull };
        let push = wanted.clamp(-pull, most);
        self.given = push as f32;
        let mut impulse = normal * (push - given);
        // Not in every sweep, and it takes a root and a division.
        if slowed > 0.0 {
            let slide = (relative - normal * parting) * (-slowed * mass);
            impulse += slide * (pull / slide.length_squared().sqrt().max(1e-300)).min(1.0);
        }
        [a + impulse * i, b - impulse * j, c - impulse * k]
    }
}

/// Parts of the hair that act on each other in turn, an even number.
const PARTS: usize = 16;

/// Bridges of the vertices of a part, from far to near, by part of the segment.
type Bonds = [[Vec<Bond>; PARTS]; NEARER.len() + 1];

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Bridges, by part of the vertex.
    bonds: Vec<Bonds>,
    /// First vertex of each part, and the vertex count: strands are whole.
    parts: Vec<usize>,
    coats: Vec<Coat>,
    lanes: Lanes,
}

/// What a vertex is, and the segment that ends there, beside where it is: together, because they are asked for together.
#[derive(Clone, Copy, Debug, Default)]
struct Coat {
    /// The part of the room for water around it that is filled.
    saturation: f32,
    /// Radius of the strand [m].
    radius: f32,
}

/// Segments that are tested at once.
const WIDTH: usize = 8;
/// Eights that one task makes.
const EIGHTS: usize = 256;

/// Eight segments, coordinates apart: where they end, the way back to where they begin, and one over its square. Nothing is near a NaN.
#[derive(Clone, Copy, Debug)]
struct Eight {
    to: [f32x8; 3],
    back: [f32x8; 3],
    inverse: f32x8,
    /// The vertices at which they end.
    segments: [u32; WIDTH],
}

impl Eight {
    fn new(portions: &[Portion], points: &[Vec3]) -> Self {
        let (mut from, mut to) = ([[f32::NAN; WIDTH]; 3], [[f32::NAN; WIDTH]; 3]);
        let mut segments = [NONE; WIDTH];
        for (lane, portion) in portions.iter().take(WIDTH).enumerate() {
            let j = portion.segment as usize;
            let (begins, ends) = (points[j - 1], points[j]);
            for axis in 0..3 {
                (from[axis][lane], to[axis][lane]) = (begins[axis], ends[axis]);
            }
            segments[lane] = portion.segment;
        }
        let (from, to) = (from.map(f32x8::new), to.map(f32x8::new));
        let back @ [x, y, z]: [f32x8; 3] = std::array::from_fn(|axis| from[axis] - to[axis]);
        // A segment without any length is a point.
        let inverse = f32x8::ONE / (x * x + y * y + z * z).fast_max(f32x8::splat(f32::MIN_POSITIVE));
        Self { to, back, inverse, segments }
    }

    /// Which of them may come within the square `limit` [m2] of a point, as bits.
    #[inline(always)]
    fn near(&self, point: [f32x8; 3], limit: f32x8) -> u32 {
        let [x, y, z] = std::array::from_fn(|axis| point[axis] - self.to[axis]);
        let [u, v, w] = self.back;
        let place = (x * u + y * v + z * w) * self.inverse;
        let place = place.fast_max(f32x8::ZERO).fast_min(f32x8::ONE);
        let (x, y, z) = (x - u * place, y - v * place, z - w * place);
        (x * x + y * y + z * z).simd_lt(limit).to_bitmask()
    }
}

/// The segments of all voxels, voxel by voxel, in single precision: what is far away is told by it, and all else looked at again.
#[derive(Debug, Default)]
struct Lanes {
    /// How much farther two points may seem to be than they are [m].
    slack: f64,
    points: Vec<Vec3>,
    eights: Vec<Eight>,
}

impl Lanes {
    /// Takes over the segments of a grid.
    fn fill(&mut self, grid: &Grid, positions: &[DVec3]) {
        let none = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let span = |range: std::ops::Range<usize>| {
            positions[range].iter().fold(none, |(low, high), &p| (low.min(p), high.max(p)))
        };
        let (low, high) = ordered::reduce(positions.len(), none, span, |a, b| (a.0.min(b.0), a.1.max(b.1)));
        let Self { slack, points, eights } = self;
        let middle = 0.5 * (low + high);
        // A coordinate is off by 6e-8 of this at most, and a distance by a few times as much.
        *slack = 1e-6 * (high - low).max_element();
        points.resize(positions.len(), Vec3::ZERO);
        ordered::fill(points, |i| (positions[i] - middle).as_vec3());
        let portions = grid.portions();
        eights.resize(portions.len().div_ceil(WIDTH), Eight::new(&[], &[]));
        let own = eights.par_iter_mut().zip(portions.par_chunks(WIDTH)).with_min_len(EIGHTS);
        own.for_each(|(eight, portions)| *eight = Eight::new(portions, points));
    }

    /// Those of the portions in this range that may come within the square `limit` [m2] of a point: eight by eight, which of them, as bits.
    #[inline(always)]
    fn near(&self, range: std::ops::Range<usize>, number: usize, point: [f32x8; 3], limit: f32x8) -> u32 {
        let first = number * WIDTH;
        let (from, to) = (range.start.saturating_sub(first), (range.end - first).min(WIDTH));
        self.eights[number].near(point, limit) & ((1_u32 << to) - (1_u32 << from))
    }
}

/// Part of a strand, from its tip, that the tip of another may touch to hang together with it.
const TIP: f64 = 0.25;

/// Gap that a bridge has closed, over the reach of full strands. One that is wider has only been found: nothing has come together yet, and in
/// dense hair many are as close by chance.
const CLOSED: f64 = 0.1;

/// How many groups a groom's strands form, as the eye counts points: a strand belongs to those that a bridge of its very tip has drawn it to, near their
/// tips, and one that nothing holds is one by itself. Bridges farther up do not count: where locks that end apart touch each other, a few are enough to
/// make one group of a whole curtain. Positions [m] and radii [m] are those of the groom.
pub fn clumps(
    hair: &Hair,
    water: &HairWater,
    cohesion: &Cohesion,
    groom: usize,
    positions: &[DVec3],
    radii: &[f32],
) -> u64 {
    let vertices = hair.vertices(groom);
    if vertices.is_empty() {
        return 0;
    }
    let first = hair.strands[vertices.start] as usize;
    let strands = first..hair.strands[vertices.end - 1] as usize + 1;
    let mut leaders: Vec<usize> = (0..strands.len()).collect();
    fn leader(leaders: &mut [usize], mut strand: usize) -> usize {
        while leaders[strand] != strand {
            leaders[strand] = leaders[leaders[strand]];
            strand = leaders[strand];
        }
        strand
    }
    let near_tip = |strand: usize| {
        let (root, end) = (hair.offsets[strand] as usize, hair.offsets[strand + 1] as usize);
        end - ((TIP * (end - root) as f64) as usize).max(1)..end
    };
    let closed = |i: usize, segment: usize| {
        let (i, j) = (i - vertices.start, segment - vertices.start);
        let nearest = Segment { from: positions[j - 1], to: positions[j] }.nearest(positions[i]);
        (positions[i] - nearest).length_squared().sqrt() - f64::from(radii[i] + radii[j]) <= CLOSED * cohesion.reach
    };
    let (within, near_tip, closed) = (&strands, &near_tip, &closed);
    let joined = |strand: usize| {
        let tip = hair.offsets[strand + 1] as usize - 1;
        let bridges = water.bridges[tip].into_iter().filter(|&segment| segment != NONE).map(|segment| segment as usize);
        bridges.filter_map(move |segment| {
            let other = hair.strands[segment] as usize;
            let hang = within.contains(&other) && near_tip(other).contains(&segment) && closed(tip, segment);
            hang.then_some([strand, other])
        })
    };
    let joined: Vec<[usize; 2]> = strands.clone().into_par_iter().flat_map_iter(joined).collect();
    for pair in joined {
        let [a, b] = pair.map(|strand| leader(&mut leaders, strand - first));
        leaders[a.max(b)] = a.min(b);
    }
    (0..strands.len()).filter(|&strand| leaders[strand] == strand).count() as u64
}

/// How many bridges there are, after `dt` seconds of clinging. [`super::locate`] has told the scratch where the strands are.
pub fn cling(
    hair: &Hair,
    water: &mut HairWater,
    scratch: &mut HairScratch,
    cohesion: &Cohesion,
    strands: Clinging,
    dt: f64,
) -> Result<u64, PhysicsError> {
    check("dt", dt, "positive", |x| x > 0.0)?;
    let thickest = ordered::max(strands.radii.len(), 0.0, |i| f64::from(strands.radii[i]));
    cohesion.check(&hair.medium, thickest)?;
    let vertices = hair.masses.len();
    for (what, got) in [
        ("positions", strands.positions.len()),
        ("velocities", strands.velocities.len()),
        ("inverse masses", strands.inverse_masses.len()),
        ("radii", strands.radii.len()),
        ("located vertices", scratch.bonds.lanes.points.len()),
    ] {
        if got != vertices {
            return Err(PhysicsError::Count { what, got, expected: vertices });
        }
    }
    if cohesion.reach <= 0.0 || cohesion.pull <= 0.0 {
        return Ok(0);
    }
    let HairScratch { grid, bonds: work, .. } = scratch;
    work.coat(hair, water, strands.radii);
    work.part(hair);
    let scene = Scene { hair, grid, cohesion, coats: &work.coats, lanes: &work.lanes, strands: &strands, thickest, dt };
    let patience = (PATIENCE / dt).round().clamp(1.0, 1e6) as u32;
    let phase = water.phase;
    water.phase = water.phase.wrapping_add(1);
    let Work { bonds, parts, .. } = work;
    bonds.resize_with(PARTS, Default::default);
    cut(parts, &mut water.bridges).into_par_iter().zip(bonds).enumerate().for_each(|(part, (bridges, bonds))| {
        bonds.iter_mut().flatten().for_each(Vec::clear);
        for (i, bridges) in (parts[part]..).zip(bridges) {
            let mut enter = |nearness: usize, bond: Bond| {
                let other = parts.partition_point(|&first| first <= bond.segment as usize) - 1;
                bonds[nearness][other].push(bond);
            };
            scene.keep(i, bridges, &mut enter);
            let held = bridges.iter().filter(|&&bridge| bridge != NONE).count();
            let every = if held < 2 { patience } else { 2 * patience };
            if held < BRIDGES && hair.strands[i] % every == phase % every {
                scene.look_around(i, bridges, &mut enter);
            }
        }
    });
    let count = work.bonds.iter().flatten().flatten().map(|bonds| bonds.len() as u64).sum();
    if count > 0 {
        work.act(strands, dt);
    }
    Ok(count)
}

impl Work {
    /// Takes over the segments of a grid, to look for strands near by.
    pub(super) fn range(&mut self, grid: &Grid, positions: &[DVec3]) {
        self.lanes.fill(grid, positions);
    }

    /// Makes ready what is asked for often.
    fn coat(&mut self, hair: &Hair, water: &HairWater, radii: &[f32]) {
        self.coats.resize(radii.len(), Coat::default());
        for (groom, fibre) in hair.fibres.iter().enumerate() {
            let (vertices, room) = (hair.vertices(groom), fibre.between + fibre.around);
            let first = vertices.start;
            ordered::fill(&mut self.coats[vertices], |k| {
                let i = first + k;
                let most = room * f64::from(hair.masses[i]);
                Coat { saturation: filled(water.around[i], most) as f32, radius: radii[i] }
            });
        }
    }

    /// Cuts the hair into parts.
    fn part(&mut self, hair: &Hair) {
        let strands = hair.offsets.len() - 1;
        self.parts.clear();
        self.parts.extend((0..=PARTS).map(|part| hair.offsets[strands * part / PARTS] as usize));
    }

    /// Lets the bonds act one after the other, sweep by sweep, each on what those before it have left: nearer ones later, so that strands go to the nearer and none
    /// draws them into each other. Parts meet in pairs as in a tournament: no two threads move the same strand, and the order does not depend on them.
    fn act(&mut self, strands: Clinging, dt: f64) {
        let Self { bonds, parts, .. } = self;
        let parts = &*parts;
        let Clinging { velocities, inverse_masses, .. } = strands;
        let sweeps = (dt / SWEEP).round().clamp(1.0, SWEEPS) as u32;
        let masses = |bond: &Bond| {
            let (i, j) = (bond.vertex as usize, bond.segment as usize);
            [inverse_masses[i], inverse_masses[j - 1], inverse_masses[j]]
        };
        let mut players: Vec<Player> = cut(parts, velocities)
            .into_iter()
            .zip(bonds)
            .enumerate()
            .map(|(part, (velocities, bonds))| Player { part, velocities, bonds })
            .collect();
        for sweep in 0..sweeps {
            // Once a step: the film is slow to answer.
            let slowed = if sweep == 0 { dt / (dt + SLIDING) } else { 0.0 };
            for nearness in 0..=NEARER.len() {
                players.par_iter_mut().for_each(|Player { part, velocities, bonds }| {
                    let first = parts[*part];
                    for bond in &mut bonds[nearness][*part] {
                        let (i, j) = (bond.vertex as usize - first, bond.segment as usize - first);
                        [velocities[i], velocities[j - 1], velocities[j]] =
                            bond.act([velocities[i], velocities[j - 1], velocities[j]], masses(bond), slowed);
                    }
                });
                for _ in 1..PARTS {
                    let (left, right) = players.split_at_mut(PARTS / 2);
                    left.par_iter_mut().zip(right.par_iter_mut().rev()).for_each(|(left, right)| {
                        let (a, b) = (left.part, right.part);
                        let (mine, others) = (&mut left.bonds[nearness][b], &mut right.bonds[nearness][a]);
                        between(mine, [parts[a], parts[b]], left.velocities, right.velocities, &masses, slowed);
                        between(others, [parts[b], parts[a]], right.velocities, left.velocities, &masses, slowed);
                    });
                    players[1..].rotate_right(1);
                }
            }
        }
    }
}

/// A part of the hair as it meets the others.
struct Player<'a> {
    part: usize,
    velocities: &'a mut [DVec3],
    bonds: &'a mut Bonds,
}

/// Lets bonds act between vertices and segments of two parts that begin at these vertices.
fn between(
    bonds: &mut [Bond],
    [first, other]: [usize; 2],
    vertices: &mut [DVec3],
    segments: &mut [DVec3],
    masses: &impl Fn(&Bond) -> [f64; 3],
    slowed: f64,
) {
    for bond in bonds {
        let (i, j) = (bond.vertex as usize - first, bond.segment as usize - other);
        [vertices[i], segments[j - 1], segments[j]] =
            bond.act([vertices[i], segments[j - 1], segments[j]], masses(bond), slowed);
    }
}

/// Hands a slice out to parts.
fn cut<'a, T>(parts: &[usize], slice: &'a mut [T]) -> Vec<&'a mut [T]> {
    hand_out(parts.windows(2).map(|ends| ends[1] - ends[0]), slice)
}

/// Everything that a vertex looks at.
struct Scene<'a> {
    hair: &'a Hair,
    grid: &'a Grid,
    cohesion: &'a Cohesion,
    coats: &'a [Coat],
    lanes: &'a Lanes,
    strands: &'a Clinging<'a>,
    /// Largest radius [m].
    thickest: f64,
    dt: f64,
}

impl Scene<'_> {
    /// How much water a vertex and a segment share, 0 to 1.
    fn shared(&self, i: usize, segment: usize) -> f64 {
        0.5 * f64::from(self.coats[i].saturation + self.coats[segment].saturation)
    }

    /// Where a vertex and a segment are closest.
    #[inline(always)]
    fn meet(&self, i: usize, segment: usize) -> Meeting {
        let positions = self.strands.positions;
        let (from, to, x) = (positions[segment - 1], positions[segment], positions[i]);
        let place = Segment { from, to }.fraction(x);
        let offset = x - (from + (to - from) * place);
        Meeting { place, offset, square: offset.length_squared() }
    }

    /// Square of the distance up to which a vertex and a segment cling [m2].
    #[inline(always)]
    fn reach(&self, i: usize, segment: usize) -> f64 {
        let shared = self.shared(i, segment);
        let reach = if shared < LEAST { 0.0 } else { self.contact(i, segment) + self.cohesion.reach * shared };
        reach * reach
    }

    /// Distance of axes in contact [m].
    fn contact(&self, i: usize, segment: usize) -> f64 {
        f64::from(self.coats[i].radius + self.coats[segment].radius)
    }

    /// Bridges that are too long break. One that has slid to the end of its segment goes on to the next. The others act.
    fn keep(&self, i: usize, bridges: &mut [u32; BRIDGES], enter: &mut impl FnMut(usize, Bond)) {
        for k in 0..BRIDGES {
            if bridges[k] == NONE {
                continue;
            }
            let mut at = bridges[k] as usize;
            let mut meeting = self.meet(i, at);
            // Beyond an end of the segment its neighbour is nearer.
            if meeting.place <= 0.0 || meeting.place >= 1.0 {
                let beyond = if meeting.place <= 0.0 { at - 1 } else { at + 1 };
                let exists = |j: usize| j < self.hair.masses.len() && self.hair.masses[j] > 0.0;
                if exists(beyond) && self.hair.strands[beyond] == self.hair.strands[at] {
                    let other = self.meet(i, beyond);
                    if other.square < meeting.square {
                        (meeting, at) = (other, beyond);
                    }
                }
            }
            // Two that have slid to the same segment are one.
            let lasts = meeting.square < self.reach(i, at) && !bridges[..k].contains(&(at as u32));
            bridges[k] = if lasts { at as u32 } else { NONE };
            if lasts {
                self.bond(i, at as u32, &meeting, enter);
            }
        }
    }

    /// Looks for the nearest strands within reach, as many as a vertex can hold.
    fn look_around(&self, i: usize, bridges: &mut [u32; BRIDGES], enter: &mut impl FnMut(usize, Bond)) {
        // A vertex shares the water of the segment that ends there; a root has none.
        if self.coats[i].saturation < LEAST as f32 {
            return;
        }
        let x = self.strands.positions[i];
        let reach = self.cohesion.reach + f64::from(self.coats[i].radius) + self.thickest;
        let (low, high) = self.grid.around(x, reach);
        let point = self.lanes.points[i].to_array().map(f32x8::splat);
        let mut found = [(f64::INFINITY, NONE); BRIDGES];
        let mut limit = self.within(reach);
        for z in low.z..=high.z {
            for y in low.y..=high.y {
                for x in low.x..=high.x {
                    let Some(voxel) = self.grid.voxel(IVec3::new(x, y, z)) else { continue };
                    let portions = self.grid.range(voxel);
                    for number in portions.start / WIDTH..portions.end.div_ceil(WIDTH) {
                        // Most are too far, whatever they are.
                        let mut near = self.lanes.near(portions.clone(), number, point, limit);
                        while near != 0 {
                            let j = self.lanes.eights[number].segments[near.trailing_zeros() as usize % WIDTH] as usize;
                            near &= near - 1;
                            let distance = self.meet(i, j).square;
                            if distance < reach * reach
                                && distance <= found[BRIDGES - 1].0
                                && distance < self.reach(i, j)
                                && !self.same_strand(i as u32, j)
                                && !bridges.iter().any(|&bridge| self.same_strand(bridge, j))
                            {
                                self.rank(&mut found, (distance, j as u32));
                                limit = self.within(found[BRIDGES - 1].0.sqrt().min(reach));
                            }
                        }
                    }
                }
            }
        }
        let mut nearest = found.into_iter().map(|(_, j)| j).filter(|&j| j != NONE);
        for bridge in bridges.iter_mut().filter(|bridge| **bridge == NONE) {
            let Some(j) = nearest.next() else { break };
            *bridge = j;
            self.bond(i, j, &self.meet(i, j as usize), enter);
        }
    }

    /// Square of a distance [m], so that no segment is left out for want of precision [m2].
    #[inline(always)]
    fn within(&self, distance: f64) -> f32x8 {
        f32x8::splat((1.000_01 * (distance + self.lanes.slack).powi(2)) as f32)
    }

    /// Whether a bridge leads to the strand of segment `j`.
    fn same_strand(&self, bridge: u32, j: usize) -> bool {
        bridge != NONE && self.hair.strands[bridge as usize] == self.hair.strands[j]
    }

    /// Enters a candidate in its place; of each strand only the nearest segment.
    fn rank(&self, found: &mut [(f64, u32); BRIDGES], candidate: (f64, u32)) {
        if let Some(same) = found.iter_mut().find(|(_, j)| self.same_strand(*j, candidate.1 as usize)) {
            if candidate < *same {
                *same = candidate;
            }
        } else if candidate < found[BRIDGES - 1] {
            found[BRIDGES - 1] = candidate;
        }
        // One is out of place: it goes down to where it belongs.
        for k in (1..BRIDGES).rev() {
            if found[k] < found[k - 1] {
                found.swap(k, k - 1);
            }
        }
    }

    /// Enters the bridge as it acts now, and how near it is.
    fn bond(&self, i: usize, segment: u32, meeting: &Meeting, enter: &mut impl FnMut(usize, Bond)) {
        let j = segment as usize;
        let way = self.strands.positions[j] - self.strands.positions[j - 1];
        let distance = meeting.square.sqrt();
        // Axes that cross have no side: any direction across the segment will do.
        let across = || way.any_orthogonal_vector().normalize_or(DVec3::X);
        let normal = if distance > 1e-12 { meeting.offset * (1.0 / distance) } else { across() };
        let (gap, shared) = (distance - self.contact(i, j), self.shared(i, j));
        let reach = self.cohesion.reach * shared;
        let touching = 1.0 / (TOUCHING * self.dt);
        let speed = if gap > 0.0 {
            ((reach - gap) * (1.0 / CLOSING)).min(gap * touching)
        } else {
            gap * touching.min(1.0 / PARTING)
        };
        // Across the gap at the end of the step.
        let strength = shared * (1.0 - (gap - speed * self.dt).max(0.0) / reach);
        let bond = Bond {
            vertex: i as u32,
            segment,
            place: meeting.place as f32,
            speed: speed as f32,
            most: (self.cohesion.pull * way.length_squared().sqrt() * strength * self.dt) as f32,
            given: 0.0,
            normal: normal.as_vec3(),
        };
        enter(NEARER.iter().filter(|&&part| gap < part * reach).count(), bond);
    }
}

/// A vertex and the point of a segment that is nearest to it.
#[derive(Clone, Copy, Debug)]
struct Meeting {
    /// Place on the segment, 0 to 1.
    place: f64,
    /// From there to the vertex [m], and the square of its length [m2].
    offset: DVec3,
    square: f64,
}
