//! One contact between two segments: its linear form, and one step of relaxation.
//!
//! | symbol | field |
//! |---|---|
//! | s, t | `s`, `t` |
//! | n, from the second segment to the first | `normal` |
//! | d = r_i + r_j | `reach` |
//! | n . (x_(i,s) - x_(j,t)) at the end of the step, less what it must be | `gap` |
//! | tangential displacement since the contact began | `slip` |
//! | normal and tangential impulse times dt | `press`, `grip` |
//!
//! With weights b = (1 - s, s, t - 1, -t) of the four ends, a push P moves them by w_k b_k P. The weights add up to 0: linear momentum
//! stays. A contact that the step begins with takes n along the connection of its points at the beginning, x_0: with
//! v = (x_1 - x_0) / dt the angular momentum sum m x_1 x v = sum m x_0 x v changes by (p_0 - q_0) x n, which is 0.

use super::segments::{Segment, length};
use glam::DVec3;

/// Distance of axes, as a fraction of the reach, below which they have no direction from one to the other.
const CROSSED: f64 = 1e-6;

/// A contact of two segments, each named by its first vertex.
#[derive(Clone, Copy, Debug)]
pub struct Contact {
    pub first: u32,
    pub second: u32,
    pub s: f64,
    pub t: f64,
    pub normal: DVec3,
    /// Sum of the radii [m].
    pub reach: f64,
    /// Distance along the normal that the step must leave [m].
    pub target: f64,
    /// Violation of the target by the motion as it came, negative if it is violated [m].
    pub gap: f64,
    /// Motion of one past the other from the contact on [m].
    pub slip: DVec3,
    /// When it begins, as a fraction of the step.
    pub time: f64,
    /// What answers to a push, inverse [kg]; filled in by the solver.
    pub mass: f64,
    /// Accumulated pushes [kg m].
    pub press: f64,
    pub grip: DVec3,
}

/// Where a contact is: points, direction, time.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub s: f64,
    pub t: f64,
    pub offset: DVec3,
    pub time: f64,
}

/// The two segments of a pair, each named by its first vertex, before and after the step.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    pub vertices: [usize; 2],
    pub first: [Segment; 2],
    pub second: [Segment; 2],
    /// How thick each is [m].
    pub radii: [f64; 2],
}

impl Pair {
    /// Sum of the radii [m].
    #[inline]
    pub fn reach(&self) -> f64 {
        self.radii[0] + self.radii[1]
    }
}

impl Contact {
    pub fn new(pair: &Pair, place: &Place, reach: f64) -> Self {
        let (s, t) = (place.s, place.t);
        let at = |k: usize| pair.first[k].at(s) - pair.second[k].at(t);
        let (start, end) = (at(0), at(1));
        let distance = length(place.offset);
        let normal = if distance > CROSSED * reach { place.offset / distance } else { across(pair) };
        let target = reach.min(place.offset.dot(normal));
        Self {
            first: pair.vertices[0] as u32,
            second: pair.vertices[1] as u32,
            s,
            t,
            normal,
            reach,
            target,
            gap: normal.dot(end) - target,
            slip: (end - start) * (1.0 - place.time),
            time: place.time,
            mass: 0.0,
            press: 0.0,
            grip: DVec3::ZERO,
        }
    }

    /// The four vertices.
    #[inline]
    pub fn vertices(&self) -> [usize; 4] {
        let (first, second) = (self.first as usize, self.second as usize);
        [first, first + 1, second, second + 1]
    }

    /// Their weights in the relative displacement.
    #[inline]
    pub fn weights(&self) -> [f64; 4] {
        [1.0 - self.s, self.s, self.t - 1.0, -self.t]
    }

    /// The displacement of the first point relative to the second.
    #[inline]
    pub fn relative(&self, shift: &[DVec3]) -> DVec3 {
        let [i, j, k, l] = self.vertices();
        let [a, b, c, d] = self.weights();
        shift[i] * a + shift[j] * b + shift[k] * c + shift[l] * d
    }

    /// How much the relative displacement answers to a push, given how much each vertex does [1/kg].
    #[inline]
    pub fn answer(&self, answers: &[f64]) -> f64 {
        let (vertices, weights) = (self.vertices(), self.weights());
        (0..4).map(|k| answers[vertices[k]] * weights[k] * weights[k]).sum()
    }

    /// Fills in the mass that a push meets, given how much the relative displacement answers to it [1/kg].
    #[inline]
    pub fn weigh(&mut self, answer: f64) {
        self.mass = if answer > 0.0 { 1.0 / answer } else { 0.0 };
    }

    /// One step of projected relaxation towards no approach and, within Coulomb's cone, no slip; `relative` is what the
    /// corrections so far have made of the motion. Returns the push.
    #[inline]
    pub fn relax(&mut self, relative: DVec3, friction: f64) -> DVec3 {
        let press = (self.press - (self.gap + self.normal.dot(relative)) * self.mass).max(0.0);
        let mut push = self.normal * (press - self.press);
        self.press = press;
        if friction > 0.0 {
            let slip = self.slip + relative;
            let tangential = slip - self.normal * self.normal.dot(slip);
            let (wanted, most) = (self.grip - tangential * self.mass, friction * press);
            let size = length(wanted);
            let grip = if size > most { wanted * (most / size) } else { wanted };
            push += grip - self.grip;
            self.grip = grip;
        }
        push
    }

    /// Forgets what was pushed, and asks for `more` distance than the corrections so far have left.
    pub fn ask_for(&mut self, more: f64, relative: DVec3) {
        self.gap = -more - self.normal.dot(relative);
        self.press = 0.0;
        self.grip = DVec3::ZERO;
    }

    /// Distance along the normal after the corrections so far [m].
    pub fn distance(&self, relative: DVec3) -> f64 {
        self.gap + self.target + self.normal.dot(relative)
    }
}

/// A direction for axes that cross: across both.
fn across(pair: &Pair) -> DVec3 {
    let direction = |segment: &Segment| (segment.to - segment.from).normalize_or_zero();
    let (u, v) = (direction(&pair.first[0]), direction(&pair.second[0]));
    let normal = u.cross(v).normalize_or(if u == DVec3::ZERO { DVec3::Y } else { u.any_orthonormal_vector() });
    // On the side that the motion came from.
    let motion = |segment: &[Segment; 2]| segment[1].at(0.5) - segment[0].at(0.5);
    if normal.dot(motion(&pair.first) - motion(&pair.second)) > 0.0 { -normal } else { normal }
}
