//! One round of Newton's method on the lengths of a run, in four stretches side by side (see [`super::chain`]), and how far it may go.

use super::chain::{self, Gone, Row, Symmetric, shifted};
use super::law::{Bond, Law, Laws};
use super::lean::Lean;
use super::state::CordScratch;
use super::tension::Run;
use crate::strands::lanes::{LANES, Lane, Lane3};
use crate::strands::symmetric::Symmetrics;
use glam::DVec3;

/// Mass of a vertex along the normal of the solid that it lies on, over its own, and in all directions where friction holds it: not so much that
/// it could not give way to a cord pulled too long.
pub(super) const FIXED: f64 = 1e6;
pub(super) const STUCK: f64 = 16.0;
/// Steps, in lengths of a segment, above which it is looked whether they go too far; looks at most.
const LONG: f64 = 0.03;
const LOOKS: u32 = 6;
/// Slope of the energy where a step ends, over that where it begins, up to which it has not gone too far.
const BEYOND: f64 = 0.5;

/// A run in four stretches: which vertex is where. Its vertices go down the rows of one stretch after the other; in the last row stand the posts
/// between stretches.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stretches {
    /// First vertex and first segment.
    vertex: usize,
    segment: usize,
    /// Segments.
    count: usize,
    /// Rows of a stretch with its post.
    rows: usize,
    /// Its first row among those of all runs.
    first_row: usize,
}

impl Stretches {
    /// Segments of a run from a vertex on; its rows come after others.
    pub fn new(vertex: usize, segment: usize, count: usize, first_row: usize) -> Self {
        // Behind the last stretch there is no post.
        let rows = (count + 2).div_ceil(LANES).max(2);
        Self { vertex, segment, count, rows, first_row }
    }

    /// Its rows among those of all runs.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.first_row..self.first_row + self.rows
    }

    /// Appends the laws of its segments in rows.
    pub fn lay_out(&self, laws: &[Law], rows: &mut Vec<Laws>) {
        let laws = &laws[self.segment..self.segment + self.count];
        rows.extend((0..self.rows).map(|row| Laws::new(self.at(row, self.count).map(|i| i.map(|i| &laws[i])))));
    }

    /// Takes places of vertices and tensions of segments into its rows.
    pub fn load(&self, rows: &mut Rows, places: &[DVec3], tensions: &[f64]) {
        let vertices = &places[self.vertex..=self.vertex + self.count];
        let segments = &tensions[self.segment..self.segment + self.count];
        for row in 0..self.rows {
            let at: [usize; LANES] = std::array::from_fn(|lane| lane * self.rows + row);
            // Past the end the last vertex is repeated; there is no tension.
            rows.places[self.first_row + row] = Lane3::new(at.map(|i| vertices[i.min(self.count)]));
            rows.tensions[self.first_row + row] = Lane::new(at.map(|i| segments.get(i).copied().unwrap_or(0.0)));
        }
    }

    /// The other way round.
    pub fn store(&self, rows: &Rows, places: &mut [DVec3], tensions: &mut [f64]) {
        let vertices = &mut places[self.vertex..=self.vertex + self.count];
        let segments = &mut tensions[self.segment..self.segment + self.count];
        for row in 0..self.rows {
            let (places, tensions) =
                (rows.places[self.first_row + row].to_array(), rows.tensions[self.first_row + row]);
            for (lane, tension) in tensions.to_array().into_iter().enumerate() {
                let i = lane * self.rows + row;
                if let Some(place) = vertices.get_mut(i) {
                    *place = places[lane];
                }
                if let Some(to) = segments.get_mut(i) {
                    *to = tension;
                }
            }
        }
    }

    /// Row and stretch of a vertex, or of the segment after it.
    fn of(&self, vertex: usize) -> (usize, usize) {
        let i = vertex - self.vertex;
        (i % self.rows, i / self.rows)
    }

    /// What segments or vertices of a row are, counted from the first one of the run; none past the last.
    #[inline(always)]
    fn at(&self, row: usize, most: usize) -> [Option<usize>; LANES] {
        std::array::from_fn(|lane| Some(lane * self.rows + row).filter(|i| *i < most))
    }

    /// A direction of the segments of a row; past the end that of the last.
    #[cold]
    fn directions(&self, row: usize, of: &[DVec3]) -> Lane3 {
        let of = &of[self.segment..self.segment + self.count];
        Lane3::new(std::array::from_fn(|lane| of[(lane * self.rows + row).min(self.count - 1)]))
    }
}

/// Where vertices are and what segments bear while lengths are solved, in the rows of all runs.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    places: Vec<Lane3>,
    tensions: Vec<Lane>,
}

impl Rows {
    /// Makes room for as many rows.
    pub fn resize(&mut self, rows: usize) {
        self.places.resize(rows, Lane3::ZERO);
        self.tensions.resize(rows, Lane::ZERO);
    }

    /// Puts a vertex of a run somewhere.
    pub fn put(&mut self, stretches: &Stretches, vertex: usize, place: DVec3) {
        let (row, lane) = stretches.of(vertex);
        self.places[stretches.first_row + row].set_lane(lane, place);
    }
}

/// How the vertices of a row resist being pulled off their way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inertia {
    /// Mass over dt^2, a multiple of it where friction holds the vertex [N/m]; 0 where a body that can move does.
    heavy: Lane,
    /// Where it would go [m].
    goal: Lane3,
    /// Normal of the solid that it lies on, or 0, and where along it the solid keeps the vertex [m].
    normal: Lane3,
    plane: Lane,
    /// 1 if it can move, also with a body, 0 if it stays.
    free: Lane,
}

impl Inertia {
    /// Finds those of all rows of a run.
    pub fn all(scratch: &mut CordScratch, run: &Run, dt: f64) {
        let stretches = &run.stretches;
        let CordScratch { inertias, free, pushed, mass, inverse_mass, normals, planes, grips, .. } = scratch;
        let (over, first, last) = (Lane::splat(1.0 / (dt * dt)), stretches.vertex, stretches.vertex + stretches.count);
        let begin = inertias.len();
        for row in 0..stretches.rows {
            let at: [usize; LANES] = std::array::from_fn(|lane| (first + lane * stretches.rows + row).min(last));
            let stuck = Lane::new(at.map(|v| inverse_mass[v])).simd_eq(Lane::ZERO);
            inertias.push(Self {
                heavy: Lane::new(at.map(|v| mass[v])) * over * stuck.select(Lane::splat(STUCK), Lane::ONE),
                goal: Lane3::new(at.map(|v| free[v])) + Lane3::new(at.map(|v| pushed[v])),
                normal: Lane3::new(at.map(|v| normals[v])),
                plane: Lane::new(at.map(|v| planes[v])),
                free: Lane::ONE,
            });
        }
        // Bodies that can move have an inertia of their own; what stays must only not be nothing.
        let rows = &mut inertias[begin..];
        let mut hold = |i: usize, movable: bool| {
            let (row, lane) = (&mut rows[i % stretches.rows], i / stretches.rows);
            let (none, one) = if movable { (0.0, 1.0) } else { (1.0, 0.0) };
            row.heavy.as_mut_array()[lane] = none;
            row.free.as_mut_array()[lane] = one;
            row.normal.set_lane(lane, DVec3::ZERO);
        };
        for grip in &grips.vertices[run.held.clone()] {
            hold(grip.vertex - first, grip.inertia.is_some());
        }
        for i in stretches.count + 1..LANES * stretches.rows {
            hold(i, false);
        }
    }

    /// Force on vertices at a place [N].
    #[inline(always)]
    fn force(&self, place: Lane3) -> Lane3 {
        let away = self.goal - place;
        // What friction took counts; along the normal the solid keeps it where it lies.
        let off = Lane::splat(FIXED) * (self.plane - self.normal.dot(place)) - self.normal.dot(away);
        self.normal.mul_add(off, away) * self.heavy
    }

    /// How vertices resist being moved on [N/m].
    #[inline(always)]
    fn matrix(&self) -> Symmetrics {
        Symmetrics::along(self.heavy, self.heavy * Lane::splat(FIXED), self.normal)
    }
}

/// Working memory of a round: rows of one run.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    /// Vertices, with those after the posts.
    places: Vec<Lane3>,
    bonds: Vec<Bond>,
    rows: Vec<Row>,
    gone: Vec<Gone>,
    /// Steps of vertices, and tensions after them.
    steps: Vec<Lane3>,
    pulls: Vec<Lane>,
}

/// One round of Newton's method on a run, with bodies that hold still or answer; returns its largest step, in lengths of a
/// segment, and whether all segments were on the branch that they were thought to be on.
pub(super) fn improve(scratch: &mut CordScratch, run: &Run, dt: f64, slack: f64, still: bool) -> (f64, bool) {
    let CordScratch { length_rows: rows, before, law_rows, inertias, grips, moves, leans, round, .. } = scratch;
    let stretches = &run.stretches;
    let (laws, inertias) = (&law_rows[stretches.range()], &inertias[stretches.range()]);
    let held = &grips.vertices[run.held.clone()];
    let bodies = || {
        let scale = 1.0 / (dt * dt);
        held.iter().filter_map(move |grip| grip.inertia.map(|inertia| (grip, Symmetric::scaled(&inertia, scale))))
    };
    let (places, tensions) = (&mut rows.places[stretches.range()], &mut rows.tensions[stretches.range()]);
    let leaning = || leans.iter().filter(|lean| run.segments.contains(&lean.segment));
    // The point at which a segment leans on a solid.
    let point = |lean: &Lean, of: &[Lane3]| {
        let [a, b] = [0, 1].map(|end| stretches.of(lean.vertex + end)).map(|(row, lane)| of[row].lane(lane));
        a.lerp(b, lean.place)
    };

    round.load(places);
    round.assemble(laws, inertias, tensions, slack, |row| stretches.directions(row, before));
    for grip in held.iter().filter(|_| still) {
        let (row, lane) = stretches.of(grip.vertex);
        round.rows[row].free.as_mut_array()[lane] = 0.0;
    }
    for (grip, inertia) in bodies() {
        round.add(stretches.of(grip.vertex), &inertia, grip.given[0] * (-1.0 / dt));
    }
    for lean in leaning() {
        round.lean(stretches, lean, lean.hold_at(point(lean, places)));
    }
    chain::solve(&round.rows, &mut round.gone, &mut round.steps);
    round.keep_within(run.reach);
    let (worst, sure) = round.pull(laws, tensions);

    let slope = |part: f64| {
        let mut sum = round.slope(laws, inertias, part);
        for (grip, inertia) in bodies() {
            let (row, lane) = stretches.of(grip.vertex);
            let way = round.steps[row].lane(lane);
            sum += (grip.given[0] * (1.0 / dt) + inertia.times(way * part)).dot(way);
        }
        for lean in leaning() {
            let way = point(lean, &round.steps);
            sum -= lean.hold_at(point(lean, places) + way * part).dot(way);
        }
        sum
    };
    let part = if worst > LONG { far_enough(slope) } else { 1.0 };
    // Bodies will take their vertices there, up to what others do to them.
    for grip in held {
        let (row, lane) = stretches.of(grip.vertex);
        moves[grip.vertex] = round.steps[row].lane(lane) * part;
    }
    round.go(part, places, tensions);
    (worst, sure)
}

impl Workspace {
    /// Takes where vertices are.
    fn load(&mut self, from: &[Lane3]) {
        let Self { places, bonds, rows, steps, pulls, .. } = self;
        places.clear();
        places.extend_from_slice(from);
        // After a post begins the next stretch.
        let [_, b, c, d] = from[0].to_array();
        places.push(Lane3::new([b, c, d, d]));
        bonds.resize(from.len(), Bond::NONE);
        rows.resize(from.len(), Row::EMPTY);
        steps.resize(from.len() + 1, Lane3::ZERO);
        pulls.resize(from.len(), Lane::ZERO);
    }

    /// The linear system without bodies and without segments that lean on something.
    #[inline(always)]
    fn assemble(
        &mut self,
        laws: &[Laws],
        inertias: &[Inertia],
        tensions: &[Lane],
        slack: f64,
        before: impl Fn(usize) -> Lane3,
    ) {
        let Self { places, bonds, rows, .. } = self;
        let short = Lane::splat(slack);
        // What the segment before a vertex is to it.
        let (mut matrix_before, mut pull_before) = (Symmetrics::ZERO, Lane3::ZERO);
        for (index, ((row, bond), inertia)) in rows.iter_mut().zip(bonds).zip(inertias).enumerate() {
            let (law, edge) = (&laws[index], places[index + 1] - places[index]);
            let length = edge.dot(edge).sqrt();
            let mut normal = edge * (Lane::ONE / length.fast_max(Lane::splat(1e-300)));
            let clear = length.simd_gt(law.rest * Lane::splat(1e-9));
            if !clear.all() {
                let before = before(index);
                normal = Lane3 {
                    x: clear.select(normal.x, before.x),
                    y: clear.select(normal.y, before.y),
                    z: clear.select(normal.z, before.z),
                };
            }
            *bond = law.bond(normal, length, tensions[index], short);
            let (matrix, pull) = (bond.matrix(), bond.normal * bond.force);
            row.bond = matrix;
            row.block = inertia.matrix().plus(&matrix).plus(&matrix_before);
            row.load = inertia.force(places[index]) + pull - pull_before;
            row.free = inertia.free;
            (matrix_before, pull_before) = (matrix, pull);
        }
        // Before the first row that is the segment after the post behind.
        let Some(first) = rows.first_mut() else { return };
        let Lane3 { x, y, z } = pull_before;
        first.block = first.block.plus(&matrix_before.shifted());
        first.load = first.load - Lane3 { x: shifted(x), y: shifted(y), z: shifted(z) };
    }

    /// Adds to what resists at a vertex, and to its load.
    fn add(&mut self, (row, lane): (usize, usize), matrix: &Symmetric, load: DVec3) {
        let row = &mut self.rows[row];
        row.block.add(lane, matrix, 1.0);
        row.load.set_lane(lane, row.load.lane(lane) + load);
    }

    /// Adds what holds a segment between its ends, and its force: p^2 M and (1 - p)^2 M at the ends, and p (1 - p) M off their coupling.
    fn lean(&mut self, stretches: &Stretches, lean: &Lean, force: DVec3) {
        let hold = lean.hold();
        let (row, lane) = stretches.of(lean.vertex);
        self.rows[row].bond.add(lane, hold, -lean.place * (1.0 - lean.place));
        for (end, share) in [(0, 1.0 - lean.place), (1, lean.place)] {
            let (row, lane) = stretches.of(lean.vertex + end);
            let row = &mut self.rows[row];
            row.block.add(lane, hold, share * share);
            row.load.set_lane(lane, row.load.lane(lane) + force * share);
        }
    }

    /// No step is longer than the run, wherever a first round may want to go.
    fn keep_within(&mut self, reach: f64) {
        let Some((after, steps)) = self.steps.split_last_mut() else { return };
        let far = Lane::splat(reach * reach);
        for step in &mut *steps {
            if !step.dot(*step).simd_le(far).all() {
                *step = Lane3::new(step.to_array().map(|step| within(step, reach)));
            }
        }
        let [_, b, c, d] = steps[0].to_array();
        *after = Lane3::new([b, c, d, DVec3::ZERO]);
    }

    /// Finds tensions after the steps; returns the largest step in lengths of a segment, and whether all segments are on their branch.
    fn pull(&mut self, laws: &[Laws], tensions: &[Lane]) -> (f64, bool) {
        let Self { bonds, steps, pulls, .. } = self;
        let (mut worst, mut wrong, mut sound) = (Lane::ZERO, Lane::ZERO, Lane::ZERO.simd_eq(Lane::ZERO));
        let mut square = steps[0].dot(steps[0]);
        for (row, pull) in pulls.iter_mut().enumerate() {
            let old = tensions[row];
            let after = laws[row].after(&bonds[row], old, steps[row + 1] - steps[row]);
            // On another branch than it was thought to be: one more round.
            wrong |= after.wrong;
            *pull = after.finite.select(after.tension, old);
            sound &= after.finite;
            let here = std::mem::replace(&mut square, steps[row + 1].dot(steps[row + 1]));
            worst = worst.fast_max(here.fast_max(square) * laws[row].over_square);
        }
        let worst = worst.to_array().into_iter().fold(0.0, f64::max).sqrt();
        (if sound.all() { worst } else { f64::INFINITY }, !wrong.any())
    }

    /// Slope of the energy of vertices and segments along the step after a part of it [N m].
    fn slope(&self, laws: &[Laws], inertias: &[Inertia], part: f64) -> f64 {
        let Self { places, steps, .. } = self;
        let (part, mut sum) = (Lane::splat(part), Lane::ZERO);
        let mut here = steps[0].mul_add(part, places[0]);
        for (row, (laws, inertia)) in laws.iter().zip(inertias).enumerate() {
            let after = steps[row + 1].mul_add(part, places[row + 1]);
            let (edge, change) = (after - here, steps[row + 1] - steps[row]);
            let long = edge.dot(edge).sqrt();
            sum += laws.tension(long) * edge.dot(change) / long.fast_max(Lane::splat(f64::MIN_POSITIVE))
                - inertia.force(here).dot(steps[row]);
            here = after;
        }
        sum.to_array().into_iter().sum()
    }

    /// Goes a part of the step.
    fn go(&self, part: f64, places: &mut [Lane3], tensions: &mut [Lane]) {
        let part = Lane::splat(part);
        for (place, step) in places.iter_mut().zip(&self.steps) {
            *place = step.mul_add(part, *place);
        }
        for (tension, pull) in tensions.iter_mut().zip(&self.pulls) {
            // What lets go does so at once, or it would pull for ever.
            let old = pull.simd_gt(Lane::ZERO) & *tension;
            *tension = (*pull - old).mul_add(part, old);
        }
    }
}

/// The part of a step that goes about as far as the slope falls.
fn far_enough(slope: impl Fn(f64) -> f64) -> f64 {
    let behind = slope(1.0);
    if behind <= 0.0 {
        return 1.0;
    }
    let start = slope(0.0);
    // Segments that have become too short for the tension that they still have make steps that do not go down: these let go of it.
    if start >= 0.0 {
        return 1.0;
    }
    let (mut low, mut high) = ((0.0, start), (1.0, behind));
    for _ in 0..LOOKS {
        if high.1 <= -BEYOND * start {
            break;
        }
        // The secant, drawn to the middle of the bracket where that is one-sided.
        let part = low.0 + (high.0 - low.0) * (low.1 / (low.1 - high.1)).clamp(0.1, 0.5);
        let here = slope(part);
        if here > 0.0 {
            high = (part, here);
        } else {
            low = (part, here);
            if here >= BEYOND * start {
                return part;
            }
        }
    }
    if low.0 > 0.0 && high.1 > -BEYOND * start { low.0 } else { high.0 }
}

/// The step, made shorter if it is longer than `most`; none if it is not finite.
#[inline]
fn within(step: DVec3, most: f64) -> DVec3 {
    let square = step.length_squared();
    if square <= most * most {
        step
    } else if square.is_finite() {
        step * (most / square.sqrt())
    } else {
        DVec3::ZERO
    }
}
