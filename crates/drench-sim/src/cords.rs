//! Cords: from the scene's words to vertices with masses, curves and clamps, and back to figures and frames.
//!
//! A clamp remembers where its vertex was on what holds it when the simulation began. From then on that place moves with
//! the world (not at all), with a solid of the scene (as the scene says), or with a rigid body (which feels the cord).

use crate::bodies::BodyModel;
use crate::report::Report;
use crate::solids::{SolidModel, SolidScratch};
use crate::world::Model;
use crate::{SimError, convert};
use drench_io::stats::{BodyStats, CordStats, Strain};
use drench_physics::PhysicsError;
use drench_physics::cords::{Bending, Clamp, CordModel, CordScratch, CordState, Holder, writhe};
use drench_physics::strands::RestShape;
use drench_scene as scene;
use drench_scene::{CordShape, Hold, RestForm, Scene};
use glam::{DMat3, DQuat, DVec3};
use std::f64::consts::TAU;

/// Points that a shape is drawn with, at least, before it is cut into equal segments; those of a turn, and of a segment.
const DRAWN: usize = 4000;
const DRAWN_TURN: f64 = 64.0;
const DRAWN_SEGMENT: usize = 4;
/// Most segments of all cords.
const SEGMENT_LIMIT: u64 = 1_000_000;
/// Most segments of a cord whose writhe is measured: it takes the square of their number.
const WINDING_LIMIT: usize = 1000;

/// The immutable part of one cord.
#[derive(Debug)]
pub struct CordBody {
    /// Name of the cord.
    pub name: String,
    /// Masses, curves, rest shape.
    pub model: CordModel,
    /// Where it is at first [m].
    pub positions: Vec<DVec3>,
    /// What holds it.
    clamps: Vec<Held>,
}

/// A clamp of the scene, from the holder's point of view.
#[derive(Debug)]
struct Held {
    vertex: u32,
    by: By,
    /// Where the vertex is: in the world, in the solid's frame, or from the body's centre of mass in its frame [m].
    place: DVec3,
    /// The clamp's frame, in the same frame.
    frame: DQuat,
    hold: Hold,
    release: f64,
}

/// What holds a clamp.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    World,
    Solid(usize),
    Body(usize),
}

/// A cord during a substep.
#[derive(Debug)]
pub struct CordWorking {
    /// Working memory of the solver.
    pub solver: CordScratch,
    /// What holds it in this substep.
    pub clamps: Vec<Clamp>,
}

/// Builds a cord as the scene has it at time 0. `before` is how many segments other cords have already.
pub fn build(
    scene: &Scene,
    cord: &scene::Cord,
    solids: &[SolidModel],
    bodies: &BodyModel,
    before: u64,
) -> Result<(CordBody, CordState), SimError> {
    count(cord, before)?;
    let refuse = |source| SimError::Cord { cord: cord.name.clone(), source };
    let positions = positions(cord);
    let rest = match cord.rest {
        RestForm::Drawn => positions.clone(),
        RestForm::Straight => straightened(&positions),
    };
    let along = |vertex: usize| vertex as f64 / f64::from(cord.segments);
    // The scene was tried at a hundred places along the cord; the model refuses what is wrong between them.
    let factor = |profile: &Option<scene::Expression>, vertex: usize| {
        profile.as_ref().map_or(1.0, |profile| profile.evaluate(&[along(vertex)]))
    };
    let radii: Vec<f32> =
        (0..positions.len()).map(|vertex| (cord.radius * factor(&cord.profile, vertex)) as f32).collect();
    let mut material = convert::cord_material(&cord.material);
    if let scene::Bending::Regions { half_width, profile: profile @ Some(_), .. } = &cord.material.bending {
        let widths = (0..positions.len()).map(|vertex| half_width * factor(profile, vertex));
        material.bending = Bending::HalfWidths(widths.collect());
    }
    if let Some(scene::Torsion { profile: profile @ Some(_), .. }) = &cord.material.torsion {
        material.torsion_profile = Some((0..positions.len()).map(|vertex| factor(profile, vertex)).collect());
    }
    let offsets = [0, positions.len() as u32];
    let shape = RestShape { offsets: &offsets, positions: &rest, radii: &radii };
    // Each cord has its own weak places.
    let seed = drench_math::random::Stream::new(scene.simulation.seed, &cord.name).bits(0);
    let model = CordModel::new(shape, material, seed).map_err(refuse)?;
    let state = CordState::at_rest(&model, positions.clone()).map_err(refuse)?;
    let clamps = cord.clamps.iter().map(|clamp| held(scene, cord, clamp, solids, bodies, &model, &state));
    let clamps = clamps.collect::<Result<_, _>>()?;
    Ok((CordBody { name: cord.name.clone(), model, positions, clamps }, state))
}

/// Refuses more segments than memory should be asked for.
pub fn count(cord: &scene::Cord, before: u64) -> Result<u64, SimError> {
    let segments = before + u64::from(cord.segments);
    if segments > SEGMENT_LIMIT {
        return Err(SimError::TooManySegments { cord: cord.name.clone(), segments, limit: SEGMENT_LIMIT });
    }
    Ok(segments)
}

/// Where the vertices of a cord are at first: equally far apart along its shape.
fn positions(cord: &scene::Cord) -> Vec<DVec3> {
    let least = DRAWN.max(DRAWN_SEGMENT * cord.segments as usize);
    let drawn = match &cord.shape {
        CordShape::Line { points } => points.clone(),
        CordShape::Helix { from, to, radius, turns } => {
            let axis = (*to - *from).normalize_or(DVec3::X);
            let across = axis.any_orthonormal_vector();
            let drawn = least.max((DRAWN_TURN * turns.abs()) as usize);
            let point = |i: usize| {
                let share = i as f64 / drawn as f64;
                let turned = DQuat::from_axis_angle(axis, std::f64::consts::TAU * turns * share) * across;
                from.lerp(*to, share) + turned * *radius
            };
            (0..=drawn).map(point).collect()
        }
        CordShape::Catenary { from, to, slack } => catenary(*from, *to, *slack, least),
    };
    resampled(&drawn, cord.segments as usize)
}

/// A hanging chain between two points, `slack` times as long as they are apart.
///
/// With a sagging parameter a, y = a cosh(x / a); its length over the span h and the rise v is sqrt(L^2 - v^2) =
/// 2 a sinh(h / 2a), which is solved for a by bisection. One that hangs straight down goes down to its lowest point and up again.
fn catenary(from: DVec3, to: DVec3, slack: f64, drawn: usize) -> Vec<DVec3> {
    let level = DVec3::new(to.x - from.x, 0.0, to.z - from.z);
    let (h, v, length) = (level.length(), to.y - from.y, slack * from.distance(to));
    let wanted = (length * length - v * v).max(0.0).sqrt() / h.max(1e-300);
    if h < 1e-9 * length {
        let below = from.y.min(to.y) - 0.5 * (length - v.abs()).max(0.0);
        return vec![from, from.with_y(below), to.with_y(below), to];
    }
    if wanted < 1.0 + 1e-9 {
        return vec![from, to];
    }
    // sinh(u) / u = wanted with u = h / 2a grows with u.
    let (mut low, mut high) = (1e-9, 50.0_f64);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle.sinh() / middle < wanted { low = middle } else { high = middle }
    }
    let a = h / (low + high);
    let lowest = 0.5 * h - a * (v / length).atanh();
    let height = |x: f64| a * (((x - lowest) / a).cosh() - (lowest / a).cosh());
    (0..=drawn).map(|i| i as f64 / drawn as f64).map(|s| from + level * s + DVec3::Y * height(h * s)).collect()
}

/// `segments + 1` points on a polyline, equally far apart along it.
fn resampled(points: &[DVec3], segments: usize) -> Vec<DVec3> {
    let total: f64 = points.windows(2).map(|pair| pair[0].distance(pair[1])).sum();
    let (mut result, mut walked, mut leg) = (Vec::with_capacity(segments + 1), 0.0, 0);
    for i in 0..=segments {
        let wanted = total * i as f64 / segments as f64;
        while leg + 2 < points.len() && walked + points[leg].distance(points[leg + 1]) < wanted {
            walked += points[leg].distance(points[leg + 1]);
            leg += 1;
        }
        let length = points[leg].distance(points[leg + 1]);
        let share = if length > 0.0 { ((wanted - walked) / length).clamp(0.0, 1.0) } else { 0.0 };
        result.push(points[leg].lerp(points[leg + 1], share));
    }
    result
}

/// A straight line of the same segments.
fn straightened(positions: &[DVec3]) -> Vec<DVec3> {
    let axis = (positions[positions.len() - 1] - positions[0]).normalize_or(DVec3::X);
    let mut at = positions[0];
    let mut line = vec![at];
    for pair in positions.windows(2) {
        at += axis * pair[0].distance(pair[1]);
        line.push(at);
    }
    line
}

/// A clamp, from the point of view of what holds it at time 0.
fn held(
    scene: &Scene,
    cord: &scene::Cord,
    clamp: &scene::Clamp,
    solids: &[SolidModel],
    bodies: &BodyModel,
    model: &CordModel,
    state: &CordState,
) -> Result<Held, SimError> {
    let vertex = cord.vertex(clamp);
    let segment = model.segment_at(vertex);
    let along = (state.positions[segment + 1] - state.positions[segment]).normalize_or(DVec3::X);
    let across = state.references[segment];
    let frame = DQuat::from_mat3(&DMat3::from_cols(along, across, along.cross(across))).normalize();
    let position = state.positions[vertex];
    let solid = clamp.to.as_ref().and_then(|name| scene.solid(name));
    let (by, place, frame) = match solid {
        None => (By::World, position, frame),
        Some(solid) => {
            if solids[solid].animation.is_some() {
                let (cord, solid) = (cord.name.clone(), solids[solid].name.clone());
                return Err(SimError::DeformingHolder { cord, solid });
            }
            let pose = scene.pose_of(solid, 0.0);
            let inward = pose.rotation.inverse();
            let local = inward * (position - pose.position);
            match bodies.of_solid(solid) {
                Some(body) => (By::Body(body), local - bodies.centres[body], inward * frame),
                None => (By::Solid(solid), local, inward * frame),
            }
        }
    };
    let release = clamp.release.unwrap_or(f64::INFINITY);
    Ok(Held { vertex: vertex as u32, by, place, frame: frame.normalize(), hold: clamp.hold, release })
}

/// What holds a cord at the end of a substep that begins at `time`.
pub fn clamps(body: &CordBody, solids: &[SolidScratch], time: f64, clamps: &mut Vec<Clamp>) {
    clamps.clear();
    for held in body.clamps.iter().filter(|held| held.release > time) {
        let (holder, frame) = match held.by {
            By::World => (Holder::World { position: held.place }, held.frame),
            By::Solid(solid) => {
                let place = solids[solid].after;
                let position = place.translation + place.rotation * held.place;
                (Holder::World { position }, (place.rotation * held.frame).normalize())
            }
            By::Body(index) => (Holder::Body { index, anchor: held.place }, held.frame),
        };
        let (direction, roll) = (held.hold != Hold::Point, held.hold == Hold::All);
        clamps.push(Clamp { vertex: held.vertex, holder, frame, direction, roll });
    }
}

/// Names a cord where the solver does not.
pub fn diverged(body: &CordBody, time: f64, source: PhysicsError) -> SimError {
    match source {
        source @ (PhysicsError::NotFinite { .. } | PhysicsError::Runaway { .. }) => {
            SimError::Diverged { time, stage: "cords", source }
        }
        source => SimError::Cord { cord: body.name.clone(), source },
    }
}

/// Says so if joints folded so fast that turns may be lost.
pub fn doubt(body: &CordBody, doubtful_turns: u64, report: &mut Report) {
    if doubtful_turns > 0 {
        let name = &body.name;
        report.warn(format!("{name}: folded so fast that a turn of twist may be lost; try more segments or substeps"));
    }
}

/// Kinetic, elastic and gravitational energy of a cord [J], and its figures.
pub fn measure(model: &Model, body: &CordBody, state: &CordState) -> ([f64; 3], BodyStats) {
    let gravity = model.scene.simulation.gravity;
    let (mut energy, mut figures) =
        ([0.0; 3], CordStats { pieces: state.piece_count() as u64, ..CordStats::default() });
    let (mut strain, mut speed_max) = (Strain::default(), 0.0_f64);
    (figures.lowest, figures.highest) = (f64::INFINITY, f64::NEG_INFINITY);
    let segments = body.model.segment_count();
    for piece in 0..state.piece_count() {
        for vertex in state.vertices(piece) {
            let (position, velocity) = (state.positions[vertex], state.velocities[vertex]);
            let mass = state.mass(&body.model, piece, vertex);
            energy[0] += 0.5 * mass * velocity.length_squared();
            energy[2] -= mass * gravity.dot(position);
            speed_max = speed_max.max(velocity.length());
            figures.lowest = figures.lowest.min(position.y);
            figures.highest = figures.highest.max(position.y);
        }
        for segment in state.segments(piece) {
            let (from, to) = (state.positions[segment + piece], state.positions[segment + piece + 1]);
            let (length, rest) = (from.distance(to), body.model.lengths()[segment]);
            let stretch = length / rest - 1.0;
            figures.length += length;
            strain.max = strain.max.max(stretch.abs());
            strain.mean += stretch.abs() / segments as f64;
            figures.tension_max = figures.tension_max.max(state.tensions[segment]);
            figures.torque_max = figures.torque_max.max(state.torques[segment].abs());
            figures.plastic_strain = figures.plastic_strain.max(state.plastic_strains[segment]);
            figures.twist_max = figures.twist_max.max(state.twist(piece, segment).abs());
            let area = std::f64::consts::PI * body.model.radii()[segment].powi(2);
            let curve = body.model.tensile_curve(segment);
            energy[1] += curve.energy(state.tensions[segment] / area) * area * rest;
            energy[1] += 0.5 * state.torques[segment] * state.twist(piece, segment);
        }
    }
    if state.piece_count() == 1 {
        let twists = (0..segments).map(|segment| state.twist(0, segment) + state.rest_twists[segment]);
        figures.twist = twists.sum();
        figures.plastic_twist = state.rest_twists.iter().sum();
        if body.model.material().torsion.is_some() && segments <= WINDING_LIMIT {
            figures.writhe = TAU * writhe(&state.positions);
        }
    }
    if let (Some(first), Some(last)) = (state.positions.first(), state.positions.last()) {
        figures.span = first.distance(*last);
    }
    (energy, BodyStats { strain: Some(strain), speed_max, cord: Some(figures), ..BodyStats::default() })
}

/// What pictures see of the material at each vertex: tension [N], turn since the beginning of the piece [rad], and a
/// direction across the cord that turns with it.
pub fn material(state: &CordState) -> (Vec<f32>, Vec<f32>, Vec<DVec3>) {
    let count = state.positions.len();
    let (mut tension, mut twist, mut normal) =
        (Vec::with_capacity(count), Vec::with_capacity(count), Vec::with_capacity(count));
    for piece in 0..state.piece_count() {
        let segments = state.segments(piece);
        let direction = |segment: usize| {
            let along = state.positions[segment + piece + 1] - state.positions[segment + piece];
            let axis = along.normalize_or(DVec3::X);
            DQuat::from_axis_angle(axis, state.angles[segment]) * state.references[segment]
        };
        let mut turned = 0.0;
        for vertex in state.vertices(piece) {
            let after = (vertex - piece).min(segments.end - 1);
            let before = (vertex - piece).max(segments.start + 1) - 1;
            // A vertex lies in the middle of the turn at its joint.
            let joint = if before < after { state.twist(piece, after) + state.rest_twists[after] } else { 0.0 };
            tension.push((0.5 * (state.tensions[before] + state.tensions[after])) as f32);
            twist.push((turned + 0.5 * joint) as f32);
            turned += joint;
            normal.push((direction(before) + direction(after)).normalize_or(direction(after)));
        }
    }
    (tension, twist, normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_catenary_has_its_length_ends_and_shape() {
        let (from, to) = (DVec3::new(-1.0, 0.5, 0.3), DVec3::new(1.5, 1.0, -0.2));
        let points = catenary(from, to, 1.2, DRAWN);
        let length: f64 = points.windows(2).map(|pair| pair[0].distance(pair[1])).sum();
        assert!((length / (1.2 * from.distance(to)) - 1.0).abs() < 1e-6, "{length}");
        assert!(points[0].distance(from) < 1e-9 && points[DRAWN].distance(to) < 1e-9, "{} {to}", points[DRAWN]);
        // Level force is the same everywhere: the slope's sinh^-1 is linear in x.
        let slope = |i: usize| {
            let step = points[i + 1] - points[i];
            (step.y / step.with_y(0.0).length()).asinh()
        };
        let bend = slope(1000) - slope(500);
        assert!((slope(3500) - slope(3000) - bend).abs() < 1e-6 * bend.abs() + 1e-9);
    }

    #[test]
    fn slack_of_one_is_a_line_and_a_plumb_one_folds() {
        assert_eq!(catenary(DVec3::ZERO, DVec3::X, 1.0, DRAWN).len(), 2);
        let folded = catenary(DVec3::ZERO, DVec3::Y, 1.5, DRAWN);
        let length: f64 = folded.windows(2).map(|pair| pair[0].distance(pair[1])).sum();
        assert!((length - 1.5).abs() < 1e-12, "{length}");
        assert_eq!((folded[1], folded[3]), (DVec3::NEG_Y * 0.25, DVec3::Y));
    }

    #[test]
    fn a_helix_of_many_turns_is_drawn_as_one() {
        for turns in [4000.0, -4000.0] {
            let shape =
                format!("{{ kind = \"helix\", from = [0, 0, 0], to = [1, 0, 0], radius = 0.02, turns = {turns} }}");
            let text =
                format!("name = \"helix\"\n[[cord]]\nname = \"h\"\nsegments = 20000\nradius = 1e-5\nshape = {shape}");
            let cord = crate::experiment::scene_of(text).cords.remove(0);
            let points = positions(&cord);
            let length: f64 = points.windows(2).map(|pair| pair[0].distance(pair[1])).sum();
            // Five chords to a turn are shorter than the arc by sinc(pi / 5).
            let arc = 4000.0 * TAU * 0.02;
            assert!((0.9..1.0).contains(&(length / arc)), "{turns}: {length} {arc}");
        }
    }

    #[test]
    fn vertices_are_equally_far_apart() {
        let corner = [DVec3::ZERO, DVec3::X, DVec3::X, DVec3::new(1.0, 2.0, 0.0)];
        let points = resampled(&corner, 6);
        assert_eq!(points.len(), 7);
        assert!(points[2].distance(DVec3::X) < 1e-12 && points[6].distance(corner[3]) < 1e-12);
        for pair in points.windows(2) {
            assert!((pair[0].distance(pair[1]) - 0.5).abs() < 1e-12);
        }
        let line = straightened(&points);
        assert!((line[6].distance(line[0]) - 3.0).abs() < 1e-12);
    }
}
