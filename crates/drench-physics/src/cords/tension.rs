//! Lengths and tensions at once.
//!
//! The positions at the end of the substep solve
//!
//! m_v (x'_v - x*_v) / dt^2 = T_s n'_s - T_(s-1) n'_(s-1),   |x'_(v+1) - x'_v| = L0_s (1 + strain(T_s / A_s)),   T_s >= 0,
//!
//! where x* is the prediction without tension and n'_s the direction of segment s at the end. T is the Lagrange multiplier of the length,
//! a force in newton: the coefficient k_stiff of [Rungjiratananon2012, eq. 4.12] is m / dt^2 seen through all neighbours, and a hanging
//! weight gives T = m g. A cord cannot push: a segment shorter than its length has no tension. Nor can it bear more than its strength: what is hit
//! so hard that it tears within the substep has passed on no more than that.
//!
//! Newton's method on x and T together; with dT = k (gap + n . (dx_(v+1) - dx_v)), k the slope of the tension over the length, what is left
//! is symmetric and couples neighbours only, in blocks
//!
//! K_s = T_s / l (1 - n n^T) + k n n^T,
//!
//! so that a round is one sweep forth and one back [cf. section 4.2, where sweeps are repeated]. The first part is what holds a taut string
//! straight; left out, light vertices between heavy ones would fly off sideways. A vertex held by the world has dx = 0 and parts a piece into runs; one
//! held by a body has the inverse of the body's answer for its mass (shared out if the body holds several vertices of the piece); one that lies on a solid is
//! as good as fixed along the normal. Runs that share a body are solved in turn until all agree.
//!
//! Cords that cannot push make the energy of all this convex: a step that goes too far beyond its least value is made shorter. No step is longer than the run, and no pull throws a body far beyond that. Where runs and bodies still do not agree
//! (light bodies on long levers), a run is given up for the substep: its bodies get back what they were given, the run is solved as if they held still, and they are then
//! drawn by its tension no farther than the run is too long. That is counted as unconverged. In runs that were stopped no tension is larger than goes with the length.
//!
//! Directions of the end make the scheme stable at any tension and take a little from fast sideways motion; where a piece is free or hangs
//! on one point its angular momentum is given back by a rotation.

use super::chain::{Block, Law, Symmetric};
use super::clamp::{Bodies, Grips, Round};
use super::lean::Lean;
use super::model::CordModel;
use super::state::{CordScratch, CordState, Tally};
use super::{Surroundings, bend, frame};
use crate::collision::segments::length;
use glam::{DQuat, DVec3};
use std::ops::Range;

/// Rounds at most: of a run by itself, and of runs that end at bodies.
const ROUNDS: u32 = 24;
const COUPLED_ROUNDS: u32 = 48;
/// Last step of Newton's method that is good enough, in lengths of a segment: what remains is its square.
pub(super) const TOLERANCE: f64 = 1e-6;
/// The same where it is only to be seen what the cord will touch.
pub(super) const ROUGH: f64 = 1e-2;
/// How much shorter than its length, relative, a segment may be and still be thought to pull: in the first round, which finds out, and later.
const SLACK: [f64; 2] = [0.02, 1e-10];
/// Mass of a vertex along the normal of the solid that it lies on, over its own, and in all directions where friction holds it: not so much that
/// it could not give way to a cord pulled too long.
pub(super) const FIXED: f64 = 1e6;
pub(super) const STUCK: f64 = 16.0;

/// Segments of a piece between two vertices that are held, or between one and an end.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub piece: usize,
    pub segments: Range<usize>,
    /// Whether its lengths are what goes with the tensions.
    pub done: bool,
    /// Whether a body that can move holds a vertex.
    pub coupled: bool,
    /// Farthest that a round may move anything [m].
    pub reach: f64,
    /// Farthest that a pull may take a body [m].
    pub far: f64,
    /// Last step of Newton's method, in lengths of a segment.
    last: f64,
    /// When it was last solved, counted over all runs.
    turn: u32,
}

/// Steps, in lengths of a segment, above which it is looked whether they go too far; looks at most.
const LONG: f64 = 0.03;
const LOOKS: u32 = 6;
/// Slope of the energy where a step ends, over that where it begins, up to which it has not gone too far.
const BEYOND: f64 = 0.5;
/// Last step, in lengths of a segment, that is still an answer, if not a good one.
const LOST: f64 = 0.01;
/// Change of a round over that of the one before up to which rounds are steady; squared cosine of the two from which on they go straight on.
const STEADY: f64 = 0.5;
const STRAIGHT: f64 = 0.98;
/// How much longer rounds are made at most if they are steady, and if they go straight on.
const HURRY: [f64; 2] = [0.5, 50.0];
/// How many times farther than a run reaches its pull may take a body by itself: others that hold the body pull too.
const FAR: f64 = 1e3;

impl Run {
    pub fn new(piece: usize, segments: Range<usize>, grips: &Grips) -> Self {
        let mut run = Self {
            piece,
            segments,
            done: false,
            coupled: false,
            reach: f64::INFINITY,
            far: f64::INFINITY,
            last: f64::INFINITY,
            turn: 0,
        };
        let [first, last] = run.ends();
        run.coupled = (first..=last).any(|v| grips.at(v).is_some_and(|grip| grip.inertia.is_some()));
        run
    }

    /// First and last vertex.
    pub fn ends(&self) -> [usize; 2] {
        [self.segments.start + self.piece, self.segments.end + self.piece]
    }
}

/// Brings all segments to the length that goes with their tension.
pub(super) fn solve(
    state: &mut CordState,
    scratch: &mut CordScratch,
    around: &Surroundings,
    tolerance: f64,
    bodies: &mut Bodies,
    tally: &mut Tally,
) {
    let mut runs = std::mem::take(&mut scratch.runs);
    for run in &mut runs {
        (run.done, run.last) = (false, f64::INFINITY);
        let span = run.segments.clone().map(|s| {
            let v = s + run.piece;
            length(scratch.next[v + 1] - scratch.next[v])
        });
        run.reach = run.reach.max(span.sum());
        run.far = FAR * run.reach;
    }
    Inertia::all(scratch, around.dt);
    for grip in &mut scratch.grips.vertices {
        grip.start = grip.given;
        grip.round = Round { from: grip.given[0], ..Round::default() };
    }
    // Runs that meet no body do not depend on any other.
    for run in runs.iter_mut().filter(|run| !run.coupled) {
        alone(state, scratch, run, around.dt, tolerance, tally);
    }
    let mut turn = 0;
    scratch.stirred.clear();
    scratch.stirred.resize(bodies.states.len(), 0);
    for round in 1..=COUPLED_ROUNDS {
        let mut all = true;
        for run in runs.iter_mut().filter(|run| run.coupled) {
            // A run that is done is, until another moves one of its bodies.
            if run.done && scratch.grips.bodies(run.ends()).all(|body| scratch.stirred[body] < run.turn) {
                continue;
            }
            turn += 1;
            run.turn = turn;
            hold(scratch, run, around, bodies);
            let (step, sure) = improve(state, scratch, run, around.dt, SLACK[usize::from(round > 1)], false);
            tally.rounds = tally.rounds.max(round);
            run.last = step;
            lead(scratch, run, around.dt, bodies);
            run.done = sure && step <= tolerance;
            all &= run.done;
            if !run.done {
                scratch.grips.bodies(run.ends()).for_each(|body| scratch.stirred[body] = turn);
            }
        }
        if all {
            break;
        }
        turn += 1;
        hurry(scratch, &runs, turn, bodies);
    }
    // What bodies got is what the tensions are, to the last digit.
    for run in runs.iter().filter(|run| run.coupled && run.done) {
        pull(state, scratch, run, around.dt, bodies);
    }
    // Written so that a NaN is lost too.
    let lost = |run: &Run| run.coupled && !run.done && (run.last.is_nan() || run.last > LOST);
    for run in runs.iter().filter(|run| lost(run)) {
        give_back(scratch, run, bodies);
    }
    for run in &mut runs {
        tally.unconverged += u64::from(!run.done);
        if lost(run) {
            give_up(state, scratch, run, around, bodies, tally);
        } else if !run.done {
            ease(state, scratch, run);
        }
    }
    for run in runs.iter().filter(|run| run.coupled) {
        hold(scratch, run, around, bodies);
    }
    scratch.runs = runs;
}

/// Solves a run whose ends, and vertices on bodies, stay where they are.
fn alone(state: &mut CordState, scratch: &mut CordScratch, run: &mut Run, dt: f64, tolerance: f64, tally: &mut Tally) {
    for round in 1..=ROUNDS {
        tally.rounds = tally.rounds.max(round);
        let (step, sure) = improve(state, scratch, run, dt, SLACK[usize::from(round > 1)], true);
        run.last = step;
        run.done = sure && step <= tolerance;
        if run.done {
            break;
        }
    }
}

/// Takes from bodies what a run has given them in this solve.
fn give_back(scratch: &mut CordScratch, run: &Run, bodies: &mut Bodies) {
    let held = scratch.grips.between(run.ends());
    for grip in &mut scratch.grips.vertices[held] {
        if let (Some(index), Some(_)) = (grip.body, grip.inertia) {
            bodies.push(index, grip.share * (grip.start[0] - grip.given[0]), grip.begin);
            grip.given[0] = grip.start[0];
        }
    }
}

/// Solves a run that does not agree with its bodies as if they held still, then draws them.
fn give_up(
    state: &mut CordState,
    scratch: &mut CordScratch,
    run: &mut Run,
    around: &Surroundings,
    bodies: &mut Bodies,
    tally: &mut Tally,
) {
    hold(scratch, run, around, bodies);
    let [first, last] = run.ends();
    for v in (first..=last).filter(|v| scratch.grips.at(*v).is_none()) {
        scratch.next[v] = scratch.free[v] + scratch.pushed[v];
    }
    for s in run.segments.clone() {
        state.tensions[s] = scratch.tensions[s];
    }
    alone(state, scratch, run, around.dt, TOLERANCE, tally);
    run.far = ease(state, scratch, run);
    pull(state, scratch, run, around.dt, bodies);
    run.done = false;
}

/// Takes off the tension that is more than goes with the lengths that a run was stopped at; returns how much too long it is [m].
fn ease(state: &mut CordState, scratch: &CordScratch, run: &Run) -> f64 {
    let mut excess = 0.0;
    for s in run.segments.clone() {
        let v = s + run.piece;
        let (law, length) = (&scratch.laws[s], length(scratch.next[v + 1] - scratch.next[v]));
        excess += (length - law.slack).max(0.0);
        state.tensions[s] = state.tensions[s].min(law.tension(length));
    }
    excess
}

/// Puts vertices on bodies where the bodies now take them.
fn hold(scratch: &mut CordScratch, run: &Run, around: &Surroundings, bodies: &Bodies) {
    let CordScratch { grips, next, .. } = scratch;
    let held = grips.between(run.ends());
    for grip in grips.vertices[held].iter().filter(|grip| grip.inertia.is_some()) {
        next[grip.vertex] = grip.end(bodies, around.environment.gravity, around.dt);
    }
}

/// Gives bodies what takes the vertices that they hold along the step of a round. Not the pull itself: far from the solution its direction turns
/// more in a round than light bodies could follow.
fn lead(scratch: &mut CordScratch, run: &Run, dt: f64, bodies: &mut Bodies) {
    let CordScratch { grips, moves, .. } = scratch;
    let held = grips.between(run.ends());
    for grip in &mut grips.vertices[held] {
        if let (Some(index), Some(inertia)) = (grip.body, grip.inertia) {
            let more = inertia * moves[grip.vertex] * (1.0 / dt);
            bodies.push(index, grip.share * more, grip.begin);
            grip.given[0] += more;
        }
    }
}

/// Takes bodies on the way that rounds take them. Where runs share bodies, a round leaves about the same part of the error as the one before it;
/// Anderson's method with a memory of one round finds out which: with x what bodies had got when a round began, g what it made of that, and f = g - x,
/// the next one begins with g + p (g - g_before), where p makes |f + p (f - f_before)| least.
fn hurry(scratch: &mut CordScratch, runs: &[Run], turn: u32, bodies: &mut Bodies) {
    let CordScratch { grips, stirred, .. } = scratch;
    let unsettled = || runs.iter().filter(|run| run.coupled && !run.done);
    // f . f, f . f_before, f_before . f_before.
    let [mut new, mut both, mut old] = [0.0; 3];
    for grip in unsettled().flat_map(|run| &grips.vertices[grips.between(run.ends())]) {
        let change = grip.given[0] - grip.round.from;
        new += change.length_squared();
        both += change.dot(grip.round.change);
        old += grip.round.change.length_squared();
    }
    let most = if both > 0.0 && both * both > STRAIGHT * new * old && new < old {
        HURRY[1]
    } else if new < STEADY * STEADY * old {
        HURRY[0]
    } else {
        0.0
    };
    let part = if both > new { ((both - new) / (new - 2.0 * both + old)).min(most) } else { 0.0 };
    for run in unsettled() {
        let held = grips.between(run.ends());
        for grip in &mut grips.vertices[held] {
            let (to, change, more) =
                (grip.given[0], grip.given[0] - grip.round.from, (grip.given[0] - grip.round.to) * part);
            if let (Some(index), Some(_)) = (grip.body, grip.inertia)
                && more != DVec3::ZERO
            {
                bodies.push(index, grip.share * more, grip.begin);
                grip.given[0] += more;
                stirred[index] = turn;
            }
            grip.round = Round { from: grip.given[0], to, change };
        }
    }
}

/// Gives bodies the pull on the vertices that they hold, less what they have got before.
pub(super) fn pull(state: &CordState, scratch: &mut CordScratch, run: &Run, dt: f64, bodies: &mut Bodies) {
    let CordScratch { grips, next, before, .. } = scratch;
    let [first, last] = run.ends();
    let force = |s: usize| {
        let v = s + run.piece;
        frame::unit_or(next[v + 1] - next[v], before[s]) * state.tensions[s]
    };
    let held = grips.between(run.ends());
    for grip in &mut grips.vertices[held] {
        let v = grip.vertex;
        let Some(index) = grip.body else { continue };
        let mut impulse = DVec3::ZERO;
        if v < last {
            impulse += force(v - run.piece) * dt;
        }
        if v > first {
            impulse -= force(v - run.piece - 1) * dt;
        }
        // A body that cannot move parts two runs, which both pull it.
        let side = usize::from(grip.inertia.is_none() && v == last);
        let mut more = impulse - grip.given[side];
        if !more.is_finite() {
            continue;
        }
        // Nothing throws a body far beyond the run. Written so that a NaN is too far.
        if grip.inertia.is_some() {
            let way = length(grip.answer * more) * dt;
            if way.is_nan() || way > run.far {
                more *= if way.is_finite() { run.far / way } else { 0.0 };
            }
        }
        bodies.push(index, grip.share * more, grip.begin);
        grip.given[side] += more;
    }
}

/// One round of Newton's method on a run, with bodies that hold still or answer; returns its largest step, in lengths of a
/// segment, and whether all segments were on the branch that they were thought to be on.
fn improve(
    state: &mut CordState,
    scratch: &mut CordScratch,
    run: &Run,
    dt: f64,
    slack: f64,
    still: bool,
) -> (f64, bool) {
    let CordScratch { next, before, blocks, laws, bonds, inertias, grips, moves, pulls, leans, .. } = scratch;
    let resistance = Resistance { inertias, grips, dt, still };
    let (piece, segments) = (run.piece, run.segments.clone());
    let [first, last] = run.ends();

    for s in segments.clone() {
        let v = s + piece;
        bonds[s] = laws[s].bond(next[v + 1] - next[v], state.tensions[s], before[s], slack);
    }
    let mut leaning = false;
    for (index, lean) in leans.iter_mut().enumerate().filter(|(_, lean)| segments.contains(&lean.segment)) {
        lean.pull_at(next);
        bonds[lean.segment].lean = index as u32 + 1;
        leaning = true;
    }
    let (bonds, leans) = (&*bonds, &*leans);
    let own = |v: usize| {
        let mut own = resistance.at(v, next[v], DVec3::ZERO)?;
        if leaning {
            if let Some(lean) = bonds[segments.clone()].get(v - first).and_then(|bond| bond.lean(leans)) {
                lean.bear(&mut own, 1.0 - lean.place);
            }
            if let Some(lean) = (v > first).then(|| &bonds[v - piece - 1]).and_then(|bond| bond.lean(leans)) {
                lean.bear(&mut own, lean.place);
            }
        }
        Some(own)
    };

    // Forth: elimination from both ends to the middle, side by side, because every vertex waits for the one before it.
    let middle = first.midpoint(last);
    let before = |v: usize| &bonds[v - piece - 1];
    let after = |v: usize| &bonds[v - piece];
    for k in 0..last - middle {
        let (v, w) = (first + k, last - k);
        if v < middle {
            let gone = (v > first).then(|| (before(v), -1.0, &blocks[v - 1]));
            blocks[v] = own(v).map_or(Block::FIXED, |own| Block::new(own, Some((after(v), 1.0)), [gone, None], leans));
        }
        let gone = (w < last).then(|| (after(w), 1.0, &blocks[w + 1]));
        blocks[w] = own(w).map_or(Block::FIXED, |own| Block::new(own, Some((before(w), -1.0)), [gone, None], leans));
    }
    let sides = [
        (middle > first).then(|| (before(middle), -1.0, &blocks[middle - 1])),
        Some((after(middle), 1.0, &blocks[middle + 1])),
    ];
    blocks[middle] = own(middle).map_or(Block::FIXED, |own| Block::new(own, None, sides, leans));

    // Back: the steps, from the middle to both ends. No step is longer than the run, wherever a first round may want to go.
    moves[middle] = within(blocks[middle].alone(), run.reach);
    for k in 1..=last - middle {
        let (v, w) = (middle.wrapping_sub(k), middle + k);
        if k <= middle - first {
            moves[v] = within(blocks[v].beside(after(v), moves[v + 1], leans), run.reach);
        }
        moves[w] = within(blocks[w].beside(before(w), moves[w - 1], leans), run.reach);
    }

    // Tensions; a cord cannot push, nor bear more than tears it.
    let (mut worst, mut sure, mut square) = (0.0_f64, true, moves[first].length_squared());
    for s in segments.clone() {
        let (bond, v, old) = (&bonds[s], s + piece, state.tensions[s]);
        let tension = bond.tension(old, moves[v + 1] - moves[v]);
        // On another branch than it was thought to be: one more round.
        sure &= !(tension < 0.0 && old > 0.0 || bond.changes(tension));
        pulls[s] = tension.clamp(0.0, bond.most);
        if !tension.is_finite() {
            (pulls[s], worst) = (old, f64::INFINITY);
        }
        let here = std::mem::replace(&mut square, moves[v + 1].length_squared());
        worst = worst.max(here.max(square) * laws[s].over_square);
    }
    let worst = worst.sqrt();

    let part =
        if worst > LONG { far_enough(|part| slope(run, &resistance, laws, leans, [next, moves], part)) } else { 1.0 };
    // Bodies will take their vertices there, up to what others do to them.
    for v in first..=last {
        moves[v] *= part;
        next[v] += moves[v];
    }
    for s in segments {
        // What lets go does so at once, or it would pull for ever.
        let old = if pulls[s] > 0.0 { state.tensions[s] } else { 0.0 };
        state.tensions[s] = old + part * (pulls[s] - old);
    }
    (worst, sure)
}

/// What resists the pull of segments at vertices.
struct Resistance<'a> {
    inertias: &'a [Inertia],
    grips: &'a Grips,
    dt: f64,
    still: bool,
}

/// How a vertex that nothing holds resists being pulled off its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inertia {
    /// Mass over dt^2, a multiple of it where friction holds the vertex [N/m].
    heavy: f64,
    /// Where it would go [m].
    goal: DVec3,
    /// Normal of the solid that it lies on, or 0, and where along it the solid keeps the vertex [m].
    normal: DVec3,
    plane: f64,
}

impl Inertia {
    fn all(scratch: &mut CordScratch, dt: f64) {
        let CordScratch { inertias, free, pushed, mass, inverse_mass, normals, planes, .. } = scratch;
        inertias.clear();
        inertias.extend((0..free.len()).map(|v| Self {
            heavy: mass[v] / (dt * dt) * if inverse_mass[v] == 0.0 { STUCK } else { 1.0 },
            goal: free[v] + pushed[v],
            normal: normals[v],
            plane: planes[v],
        }));
    }

    /// The same at a place: how it resists being moved on [N/m], and the force that is on it [N].
    #[inline(always)]
    fn at(&self, place: DVec3) -> (Symmetric, DVec3) {
        let (mut inertia, away) = (Symmetric::scalar(self.heavy), self.goal - place);
        if self.normal == DVec3::ZERO {
            return (inertia, away * self.heavy);
        }
        inertia.add_dyad(self.normal * (self.heavy * FIXED), self.normal);
        // What friction took counts; along the normal the solid keeps it where it lies.
        let off = FIXED * (self.plane - self.normal.dot(place)) - self.normal.dot(away);
        (inertia, (away + self.normal * off) * self.heavy)
    }
}

impl Resistance<'_> {
    /// How a vertex at a place resists being moved on [N/m], and the force that is on it [N] after it has gone some way in this round;
    /// nothing if it stays.
    #[inline(always)]
    fn at(&self, v: usize, place: DVec3, gone: DVec3) -> Option<(Symmetric, DVec3)> {
        let Some(grip) = self.grips.at(v) else { return Some(self.inertias[v].at(place + gone)) };
        let inertia = Symmetric::scaled(grip.inertia.as_ref().filter(|_| !self.still)?, 1.0 / (self.dt * self.dt));
        Some((inertia, grip.given[0] * (-1.0 / self.dt) - inertia.times(gone)))
    }
}

/// Slope of the energy along the step of a round after a part of it [N m].
fn slope(
    run: &Run,
    resistance: &Resistance,
    laws: &[Law],
    leans: &[Lean],
    [next, moves]: [&[DVec3]; 2],
    part: f64,
) -> f64 {
    let [first, last] = run.ends();
    let mut sum = 0.0;
    for v in first..=last {
        if let Some((_, force)) = resistance.at(v, next[v], moves[v] * part) {
            sum -= force.dot(moves[v]);
        }
        if v < last {
            let change = moves[v + 1] - moves[v];
            let edge = next[v + 1] - next[v] + change * part;
            let long = length(edge);
            sum += laws[v - run.piece].tension(long) * edge.dot(change) / long.max(f64::MIN_POSITIVE);
        }
    }
    for lean in leans.iter().filter(|lean| run.segments.contains(&lean.segment)) {
        let way = lean.point(moves);
        sum -= lean.hold_at(lean.point(next) + way * part).dot(way);
    }
    sum
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

/// Gives back the angular momentum of pieces that are free or hang on one point of the world.
pub(super) fn keep_angular_momentum(state: &CordState, scratch: &mut CordScratch) {
    let CordScratch { next, free, forces, mass, normals, grips, leans, .. } = scratch;
    for piece in 0..state.piece_count() {
        let vertices = state.vertices(piece);
        let segments = state.segments(piece);
        let (mut held, mut loose) = (None, !leans.iter().any(|lean| segments.contains(&lean.segment)));
        for v in vertices.clone() {
            loose &= normals[v] == DVec3::ZERO;
            if let Some(grip) = grips.at(v) {
                loose &= held.is_none() && grip.body.is_none();
                held = Some((v, grip.begin));
            }
        }
        if !loose {
            continue;
        }
        let (positions, masses) = (&state.positions[vertices.clone()], &mass[vertices.clone()]);
        for _ in 0..2 {
            for v in vertices.clone() {
                forces[v] = next[v] - free[v];
            }
            let spin = bend::spin_of(positions, masses, held.map(|(_, begin)| begin), &forces[vertices.clone()]);
            let centre = match held {
                Some((v, _)) => next[v],
                None => bend::centre(&next[vertices.clone()], masses),
            };
            let back = DQuat::from_scaled_axis(-spin);
            if back.is_finite() {
                vertices.clone().for_each(|v| next[v] = centre + back * (next[v] - centre));
            }
        }
    }
}

/// Books what directions, lengths and tensions have come to, and lets segments past their yield stress flow.
pub(super) fn settle(model: &CordModel, state: &mut CordState, scratch: &mut CordScratch, tally: &mut Tally) {
    let CordScratch { next, before, tangents, .. } = scratch;
    for piece in 0..state.piece_count() {
        for s in state.segments(piece) {
            let edge = next[s + piece + 1] - next[s + piece];
            let length = length(edge);
            tangents[s] = frame::unit_or(edge, before[s]);
            let (curve, tension) = (model.tensile_curve(s), state.tensions[s]);
            let stress = tension / model.areas[s];
            let strain = length / model.lengths[s] - 1.0;
            // A segment that is about to tear is as long as it likes.
            let expected =
                if stress < curve.rupture { curve.strain(stress, state.plastic_strains[s]).0 } else { strain };
            let larger = |a: f64, b: f64| if a.is_nan() || b <= a { a } else { b };
            tally.stretch_error = larger(tally.stretch_error, strain - expected);
            tally.strain_max = larger(tally.strain_max, strain);
            tally.tension_max = larger(tally.tension_max, tension);
            state.plastic_strains[s] += curve.flow(stress, state.plastic_strains[s]);
        }
    }
}
