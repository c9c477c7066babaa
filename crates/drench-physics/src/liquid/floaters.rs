//! Rigid bodies that give way to pressure while it is solved for.
//!
//! A body that stood still until the step is over would be thrown by all the momentum of the liquid that it stopped, however much lighter it is: see [`super::walls`],
//! where loose points are. With a_i = 2 Σ ψ_b ∇W_ib over those samples of the body that particle i feels, and t_i = 2 Σ (x_b − c) × ψ_b ∇W_ib about its centre c,
//! the pressure κ and the weight g give it, until the end of the step,
//!
//! ```text
//! ΔV = g t + 1/M (J + Σ m_i κ_i a_i),   Δω = I⁻¹ (L + Σ m_i κ_i t_i),
//! ```
//!
//! which takes a_i · ΔV + t_i · Δω from the rate of the density. J and L are what other forces of the liquid have given it in this step. Weight is counted because the
//! body gets it only when it is moved, after the liquid: a body that floats would seem to be lifted otherwise.

use super::fields::Fields;
use super::rows::{PIECE, Rows};
use super::walls::{Walls, vector};
use crate::collision::segments::length;
use crate::rigid::{BodyState, Push};
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// A particle that feels a body.
#[derive(Clone, Copy, Debug)]
struct Touch {
    particle: u32,
    body: u32,
    /// a_i and t_i [kg/m4, kg/m3].
    pull: DVec3,
    twist: DVec3,
}

/// The bodies that liquid can move, and the particles that feel them.
#[derive(Debug, Default)]
pub(crate) struct Floaters {
    /// Ascending by particle.
    touches: Vec<Touch>,
    bodies: Vec<BodyState>,
    /// What they have got in this step by other forces, and with the pressure that is being solved for; ΔV and Δω of that [m/s, rad/s].
    given: Vec<Push>,
    pushes: Vec<Push>,
    gained: Vec<[DVec3; 2]>,
    /// g t [m/s].
    fall: DVec3,
    /// What they take from the rate of the density of every particle [kg/(m3 s)], and what they add to the diagonal of the answer to pressure.
    rates: Vec<f32>,
    diagonal: Vec<f32>,
}

impl Floaters {
    /// Whether no particle feels a body that it can move.
    pub fn is_empty(&self) -> bool {
        self.touches.is_empty()
    }

    /// Finds the particles that feel bodies; `of_sample` are the bodies of the samples, and `fall` is the velocity that weight gives a body until the end of the step.
    pub fn take(&mut self, fields: &Fields, walls: &Walls, of_sample: &[u32], bodies: &[BodyState], fall: DVec3) {
        self.fall = fall;
        self.touches.clear();
        self.bodies.clear();
        self.bodies.extend_from_slice(bodies);
        if bodies.iter().all(|body| body.inverse_mass == 0.0) {
            return;
        }
        let x = &fields.points.x;
        let of_piece = |(piece, rows): (usize, &Rows)| {
            let mut found: Vec<Touch> = Vec::new();
            for number in 0..rows.len() {
                let (first, particle) = (found.len(), piece * PIECE + number);
                let (samples, weights) = rows.row(number);
                for (&b, &weight) in samples.iter().zip(weights) {
                    let sample = walls.given(b as usize);
                    let body = of_sample[sample];
                    let Some(state) = bodies.get(body as usize).filter(|state| state.inverse_mass > 0.0) else {
                        continue;
                    };
                    let pull = vector(x[particle] - walls.x[b as usize]) * f64::from(walls.mirror * weight);
                    let twist = (walls.position(sample) - state.centre).cross(pull);
                    match found[first..].iter_mut().find(|touch| touch.body == body) {
                        Some(touch) => {
                            touch.pull += pull;
                            touch.twist += twist;
                        }
                        None => found.push(Touch { particle: particle as u32, body, pull, twist }),
                    }
                }
            }
            found
        };
        let found: Vec<Vec<Touch>> = walls.rows.par_iter().enumerate().map(of_piece).collect();
        self.touches.extend(found.iter().flatten());
        self.rates.clear();
        self.rates.resize(x.len(), 0.0);
        self.weigh(fields);
    }

    /// At least a third of the largest eigenvalue of what bodies add to the answer to pressure: a third of the sums of its rows.
    fn weigh(&mut self, fields: &Fields) {
        let Self { touches, bodies, diagonal, .. } = self;
        diagonal.clear();
        diagonal.resize(fields.points.masses.len(), 0.0);
        // Σ m_j |a_j| / M, and Σ m_j |t_j| times the largest sum of a row of I⁻¹.
        let mut sums = vec![[0.0; 2]; bodies.len()];
        for touch in &*touches {
            let mass = f64::from(fields.points.masses[touch.particle as usize]);
            let [pulls, twists] = &mut sums[touch.body as usize];
            *pulls += mass * length(touch.pull);
            *twists += mass * length(touch.twist);
        }
        for ([pulls, twists], body) in sums.iter_mut().zip(&*bodies) {
            let DMat3 { x_axis, y_axis, z_axis } = body.inverse_inertia;
            *pulls *= body.inverse_mass;
            *twists *= [x_axis, y_axis, z_axis].into_iter().map(|row| row.abs().element_sum()).fold(0.0, f64::max);
        }
        for touch in &*touches {
            let [pulls, twists] = sums[touch.body as usize];
            let sum = length(touch.pull) * pulls + length(touch.twist) * twists;
            diagonal[touch.particle as usize] += (sum / 3.0) as f32;
        }
    }

    /// What bodies add to the diagonal of the answer to pressure at a particle.
    #[inline]
    pub fn diagonal(&self, particle: usize) -> f32 {
        if self.is_empty() { 0.0 } else { self.diagonal[particle] }
    }

    /// Counts the impulses that samples have got in this step [N s].
    pub fn count(&mut self, walls: &Walls, of_sample: &[u32], impulses: &[DVec3]) {
        self.given.clear();
        self.given.resize(self.bodies.len(), Push::default());
        for (sample, impulse) in impulses.iter().enumerate() {
            if let Some(given) = self.given.get_mut(of_sample[sample] as usize) {
                let centre = self.bodies[of_sample[sample] as usize].centre;
                given.linear += *impulse;
                given.angular += (walls.position(sample) - centre).cross(*impulse);
            }
        }
    }

    /// Lets bodies go with the pressure κ.
    pub fn go_along(&mut self, fields: &Fields) {
        let Self { touches, bodies, given, pushes, gained, fall, rates, .. } = self;
        pushes.clone_from(given);
        for touch in &*touches {
            let i = touch.particle as usize;
            let impulse = f64::from(fields.kappa[i] * fields.points.masses[i]);
            let push = &mut pushes[touch.body as usize];
            push.linear += touch.pull * impulse;
            push.angular += touch.twist * impulse;
            rates[i] = 0.0;
        }
        gained.clear();
        gained.extend(
            pushes
                .iter()
                .zip(&*bodies)
                .map(|(push, body)| [*fall + push.linear * body.inverse_mass, body.inverse_inertia * push.angular]),
        );
        for touch in &*touches {
            let [velocity, spin] = gained[touch.body as usize];
            rates[touch.particle as usize] += (touch.pull.dot(velocity) + touch.twist.dot(spin)) as f32;
        }
    }

    /// From here on bodies move as pressure has it.
    pub fn arrive(&self, fields: &mut Fields) {
        if !self.is_empty() {
            fields.wall_rate.iter_mut().zip(&self.rates).for_each(|(rate, gained)| *rate += gained);
        }
    }

    /// What bodies take from the rate of the density of a particle.
    #[inline]
    pub fn rate(&self, particle: usize) -> f32 {
        self.rates[particle]
    }
}
