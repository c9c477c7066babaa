//! Forces on a vertex: gravity, air and damping, integrated so that even the lightest hair stays stable.

use super::Environment;
use super::lanes::{Batch, LANES, Lane, Lane3};
use super::model::Material;
use crate::air::{Breeze, DRAG};

/// Vertices that share one sample of a wind that varies in space.
const WIND_STRIDE: usize = 4;

/// The forces of a substep, ready for four strands at a time.
pub(crate) struct Forces<'a> {
    fall: Lane3,
    kept: Lane,
    drag: Option<Drag>,
    breeze: Breeze<'a>,
    uniform: Option<Lane3>,
}

/// Re = `reynolds` r |u|, rate of decay times dt = `decay` / r^2 times Re Cd.
struct Drag {
    reynolds: Lane,
    decay: Lane,
}

impl<'a> Forces<'a> {
    pub fn new(environment: &Environment<'a>, material: &Material, dt: f64) -> Self {
        let air = &environment.air;
        let drag = (air.drag > 0.0 && air.viscosity > 0.0).then(|| Drag {
            reynolds: Lane::splat(2.0 * air.density / air.viscosity),
            // Drag a length over mass a length: (mu / 2) (Re Cd) / (rho pi r^2).
            decay: Lane::splat(dt * air.drag * 0.5 * air.viscosity / (material.density * std::f64::consts::PI)),
        });
        Self {
            fall: Lane3::splat(environment.gravity * dt),
            kept: Lane::splat(1.0 / (1.0 + material.damping * dt)),
            drag,
            breeze: environment.breeze,
            uniform: environment.breeze.uniform().map(Lane3::splat),
        }
    }

    /// Whether vertices need their radius and direction.
    #[inline(always)]
    pub fn has_drag(&self) -> bool {
        self.drag.is_some()
    }

    /// The wind at vertex `i`: sampled at every fourth vertex, kept in between.
    #[inline(always)]
    pub fn wind(&self, batch: &Batch, i: usize, position: Lane3, last: Lane3) -> Lane3 {
        match self.uniform {
            Some(wind) => wind,
            None if i % WIND_STRIDE == 1 || i == 1 => {
                let mut wind = Lane3::ZERO;
                for lane in 0..LANES {
                    if batch.has(lane, i) {
                        wind.set_lane(lane, self.breeze.velocity(position.lane(lane)));
                    }
                }
                wind
            }
            None => last,
        }
    }

    /// The wind at a point, for vertices that lie close together.
    #[inline(always)]
    pub fn wind_at(&self, point: glam::DVec3) -> Lane3 {
        self.uniform.unwrap_or_else(|| Lane3::splat(self.breeze.velocity(point)))
    }

    /// Velocity at the end of the substep before any constraint, of strands that are `load` times as heavy as when dry.
    ///
    /// Drag is implicit in the velocity relative to the air, with the coefficient of the beginning: it tends to the
    /// terminal velocity for any step and never turns the relative velocity round.
    #[inline(always)]
    pub fn velocity(&self, v: Lane3, tangent: Lane3, radius: Lane, load: Lane, wind: Lane3) -> Lane3 {
        let falling = v + self.fall;
        let Some(drag) = &self.drag else { return falling * self.kept };
        let relative = falling - wind;
        let along = relative.dot(tangent);
        let across = tangent.mul_add(-along, relative);
        let reynolds = drag.reynolds * radius * across.dot(across).sqrt();
        let half = reynolds.sqrt();
        let viscous = Lane::splat(DRAG[0]) * half.sqrt().sqrt();
        let total = reynolds.mul_add(Lane::splat(DRAG[2]), half.mul_add(Lane::splat(DRAG[1]), viscous));
        let rate = drag.decay / (radius * radius * load);
        let one = Lane::ONE;
        let across_loss = rate.mul_add(total, one);
        let along_loss = (rate * Lane::splat(0.5)).mul_add(viscous, one);
        // One division for both.
        let inverse = one / (across_loss * along_loss);
        let (across_kept, along_kept) = (along_loss * inverse, across_loss * inverse);
        (across.mul_add(across_kept, tangent.mul_add(along * along_kept, wind))) * self.kept
    }
}
