//! Clumps, curls and noise on top of a centre line.

use super::centre_line::Grower;
use super::nearest::PointGrid;
use super::resample::resample;
use super::{Clump, Curl, Root};
use drench_math::noise;
use drench_math::random::Stream;
use glam::DVec3;
use rayon::prelude::*;
use std::f64::consts::TAU;

/// Steps of a centre line for one turn of a curl.
const STEPS_PER_TURN: f64 = 14.0;
/// Steps of a centre line, at least and at most.
const STEPS: (f64, f64) = (24.0, 2_000.0);
/// Steps of a clump's own line.
const CLUMP_STEPS: usize = 48;

/// The centres that strands are drawn to.
pub(super) struct Clumps {
    style: Clump,
    grid: PointGrid,
    roots: Vec<Root>,
    lines: Vec<Vec<DVec3>>,
}

impl Clumps {
    /// Grows the centre lines of the clumps.
    pub fn grow(grower: &Grower, style: Clump, roots: &[Root]) -> Self {
        let stream = Stream::new(grower.settings.seed, "layer of clumps");
        let line = |(i, root): (usize, &Root)| {
            let mut line = Vec::new();
            grower.line(root, root.length, CLUMP_STEPS, stream.uniform(i as u64), &mut line);
            line
        };
        let lines = roots.par_iter().enumerate().map(line).collect();
        let positions: Vec<DVec3> = roots.iter().map(|root| root.position).collect();
        Self { style, grid: PointGrid::new(&positions, style.spacing), roots: roots.to_vec(), lines }
    }

    /// The clump of a root: the nearest on the same side of the skin.
    fn of(&self, root: &Root) -> Option<usize> {
        let same_side = |i: usize| self.roots[i].normal.dot(root.normal) > 0.0;
        self.grid.nearest::<1>(root.position, same_side)[0].map(|(i, _)| i as usize)
    }

    /// The point of clump `i` at the arc length `s` [m].
    fn at(&self, i: usize, s: f64) -> DVec3 {
        let x = s / self.roots[i].length * CLUMP_STEPS as f64;
        let (low, line) = ((x as usize).min(CLUMP_STEPS - 1), &self.lines[i]);
        // Beyond its end a clump goes on straight.
        line[low] + (line[low + 1] - line[low]) * (x - low as f64)
    }
}

/// Shapes strand `index`; `line` is a buffer, `out` gets the vertices.
pub(super) fn strand(
    grower: &Grower,
    clumps: Option<&Clumps>,
    index: u64,
    root: &Root,
    line: &mut Vec<DVec3>,
    out: &mut [DVec3],
) {
    let settings = grower.settings;
    let clump = clumps.and_then(|clumps| clumps.of(root).map(|i| (clumps, i)));
    let layer = Stream::new(settings.seed, "layer").uniform(index);
    let curl = settings.curl.filter(|curl| curl.radius > 0.0).map(|curl| varied(grower, &curl, clump, index));
    // Along the centre line a curly strand is shorter. A reserve is cut off when it is resampled.
    let reach = root.length / curl.as_ref().map_or(1.0, |(curl, _)| lengthening(curl));
    let turns = curl.as_ref().map_or(0.0, |(curl, _)| reach / curl.pitch);
    let steps = (4.0 * out.len() as f64).max(turns * STEPS_PER_TURN).clamp(STEPS.0, STEPS.1) as usize;
    let reserve = if curl.is_some() || settings.noise.is_some() || clump.is_some() { 1.15 } else { 1.0 };
    grower.line(root, reach * reserve, steps, layer, line);
    let ds = reach * reserve / steps as f64;

    if let Some((clumps, i)) = clump {
        for (k, p) in line.iter_mut().enumerate().skip(1) {
            let s = k as f64 * ds;
            let x = (s / reach).min(1.0);
            *p = p.lerp(clumps.at(i, s), clumps.style.strength * x.powf(clumps.style.shape));
        }
    }
    if let Some((curl, phase)) = &curl {
        wind(line, curl, *phase, ds, reach, settings.gravity);
    }
    if let Some(style) = &settings.noise {
        let stream = Stream::new(settings.seed, "noise");
        // Neighbours move alike, but not the same.
        let own = stream.direction(index) * 0.3;
        // Noise is smooth at its own size: a few values, and straight lines between them.
        let stride = ((0.2 * style.size / ds) as usize).max(1);
        let at = |p: DVec3| noise::vector(stream, p / style.size + own);
        let mut begin = 0;
        let mut from = at(line[0]);
        while begin + 1 < line.len() {
            let end = (begin + stride).min(line.len() - 1);
            let to = at(line[end]);
            for k in begin + 1..=end {
                let x = (k as f64 * ds / reach).min(1.0);
                let shift = from.lerp(to, (k - begin) as f64 / (end - begin) as f64);
                line[k] += shift * (style.amplitude * x * (2.0 - x));
            }
            (begin, from) = (end, to);
        }
    }
    resample(grower, line, root.length, layer, out);
}

/// The curl of one strand and its phase: clumps curl as one, up to the looseness of the clump.
fn varied(grower: &Grower, curl: &Curl, clump: Option<(&Clumps, usize)>, index: u64) -> (Curl, f64) {
    let seed = grower.settings.seed;
    let own = Stream::new(seed, "curl").child(index);
    let (stream, loose) = match clump {
        Some((clumps, i)) => (Stream::new(seed, "curl of clumps").child(i as u64), 1.0 - clumps.style.strength),
        None => (own, 0.0),
    };
    let vary = |k: u64, part: f64| 1.0 + part * curl.variation * stream.range(k, -1.0, 1.0);
    let phase = curl.variation * (stream.uniform(2) + 0.5 * loose * own.range(3, -1.0, 1.0)) * TAU;
    (Curl { radius: curl.radius * vary(0, 0.4), pitch: curl.pitch * vary(1, 0.3), ..*curl }, phase)
}

/// Length along the curl over length along its centre line.
fn lengthening(curl: &Curl) -> f64 {
    let slope = TAU * curl.radius / curl.pitch;
    // A flat wave moves on one axis only.
    let full = (1.0 + slope * slope * (1.0 - 0.5 * curl.flat)).sqrt();
    let straight = (curl.start + 0.5 * curl.grow).min(1.0);
    // Fractions are of the centre line.
    straight + (1.0 - straight) * full
}

/// Winds the line around itself, in a frame carried along without twist (double reflection, [Wang2008]).
fn wind(line: &mut [DVec3], curl: &Curl, phase: f64, ds: f64, reach: f64, gravity: DVec3) {
    let tangent = |a: DVec3, b: DVec3| (b - a).normalize_or(DVec3::Y);
    let mut t = tangent(line[0], line[1]);
    // Waves of neighbours lie in one plane: the first axis is level.
    let mut r = t.cross(gravity).try_normalize().unwrap_or_else(|| t.any_orthonormal_vector());
    let mut last = line[0];
    for k in 1..line.len() {
        let p = line[k];
        let next = if k + 1 < line.len() { tangent(p, line[k + 1]) } else { tangent(last, p) };
        r = carried(last, p, t, next, r);
        (t, last) = (next, p);
        let x = k as f64 * ds / reach;
        let grown =
            if curl.grow > 0.0 { ((x - curl.start) / curl.grow).clamp(0.0, 1.0) } else { f64::from(x >= curl.start) };
        let radius = curl.radius * grown * grown * (3.0 - 2.0 * grown);
        let angle = TAU * k as f64 * ds / curl.pitch + phase;
        line[k] = p + (r * angle.cos() + t.cross(r) * ((1.0 - curl.flat) * angle.sin())) * radius;
    }
}

/// The vector `r`, normal to `t` at `p`, carried to `q` where the tangent is `u`.
fn carried(p: DVec3, q: DVec3, t: DVec3, u: DVec3, r: DVec3) -> DVec3 {
    let reflect = |v: DVec3, axis: DVec3| {
        let size = axis.length_squared();
        if size > 0.0 { v - axis * (2.0 * v.dot(axis) / size) } else { v }
    };
    let (r1, t1) = (reflect(r, q - p), reflect(t, q - p));
    let r2 = reflect(r1, u - t1);
    (r2 - u * r2.dot(u)).try_normalize().unwrap_or_else(|| u.any_orthonormal_vector())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_helix_has_its_radius_pitch_and_length() {
        let curl = Curl { radius: 0.01, pitch: 0.03, start: 0.0, flat: 0.0, variation: 0.0, grow: 0.0 };
        let steps = 3_000;
        let ds = 0.3 / f64::from(steps);
        let mut line: Vec<DVec3> = (0..=steps).map(|k| DVec3::X * (f64::from(k) * ds)).collect();
        wind(&mut line, &curl, 0.0, ds, 0.3, DVec3::NEG_Y);
        assert!(line[1..].iter().all(|p| ((p.y * p.y + p.z * p.z).sqrt() - 0.01).abs() < 1e-9));
        let length: f64 = line[1..].windows(2).map(|w| w[0].distance(w[1])).sum();
        assert!((length / 0.3 / lengthening(&curl) - 1.0).abs() < 1e-3);
        // One pitch on, the same place around the axis.
        let turn = line[1_300] - line[1_000];
        assert!((turn - DVec3::X * 0.03).length() < 1e-9);
    }

    #[test]
    fn the_carried_frame_does_not_twist_on_a_circle() {
        let n = 400;
        let at = |k: i32| {
            let a = TAU * f64::from(k) / f64::from(n);
            (DVec3::new(a.cos(), a.sin(), 0.0), DVec3::new(-a.sin(), a.cos(), 0.0))
        };
        let mut r = (DVec3::X + DVec3::Z).normalize();
        for k in 0..n {
            let ((p, t), (q, u)) = (at(k), at(k + 1));
            r = carried(p, q, t, u, r);
            assert!((r.z - 0.5f64.sqrt()).abs() < 1e-6 && r.dot(u).abs() < 1e-12);
        }
    }
}
