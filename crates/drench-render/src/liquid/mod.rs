//! Liquids: from particles to surfaces that light goes through.

mod hanging;
pub(crate) mod optics;
mod streak;
mod surface;

use crate::surfaces::Surfaces;
use crate::{LiquidLook, LiquidStyle, Quality, RenderError, Settings};
use drench_geometry::neighbours::Neighbours;
use drench_io::{Frame, ParticleBody, ParticleKind, StrandBody};
use glam::{DVec3, Vec3};
use hanging::HANGING;
use std::f32::consts::PI;
use surface::Recipe;

pub use hanging::hanging_drops;
pub(crate) use streak::Streak;
pub use surface::Surface;

/// Radius of particles that carry none [m].
pub(crate) const DEFAULT_RADIUS: f32 = 5e-3;
/// Particles smaller than this share of the body's usual radius are drawn as balls of their own.
const SMALL: f32 = 0.7;
/// Such a particle belongs to the liquid of the others once this many of them are this near [their radii].
const MERGED: usize = 3;
const MERGING: f32 = 2.5;
/// Distance from the middle of the body beyond which a particle is left out [radii]: a grid that holds more would lose
/// its resolution.
const FARTHEST: f32 = 1e5;

/// The surfaces of all liquids of a picture.
#[derive(Default)]
pub(crate) struct Liquids {
    /// Triangles, outwards; `look` of a triangle is the number of its body.
    pub mesh: Surfaces,
    pub bodies: Vec<Body>,
    /// Drops in the air that move while the shutter is open.
    pub streaks: Vec<Streak>,
    /// Particles that were left out because a number is not finite, or they are lost in space.
    pub skipped: u64,
}

/// One liquid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body {
    pub look: LiquidLook,
    /// Distance across which the liquid is taken to touch a solid [m]: the surface of particles on a wall ends a
    /// little before or behind it.
    pub gap: f32,
}

impl Liquids {
    pub fn gather(&mut self, frame: &Frame, settings: &Settings) -> Result<(), RenderError> {
        *self = Self::default();
        if settings.liquid.style == LiquidStyle::Spheres {
            return Ok(());
        }
        for body in frame.particles.iter().filter(|body| body.kind == ParticleKind::Liquid) {
            self.add(body, settings)?;
        }
        for body in &frame.strands {
            self.hang(body, settings);
        }
        Ok(())
    }

    fn hang(&mut self, body: &StrandBody, settings: &Settings) {
        let drops = hanging_drops(body);
        if !drops.triangles.is_empty() {
            self.bodies.push(Body { look: settings.liquid, gap: *HANGING.start() });
            self.append(drops);
        }
    }

    /// Adds a surface of the last body.
    fn append(&mut self, Surface { positions, normals, triangles }: Surface) {
        let (number, first) = (self.bodies.len() as u32 - 1, self.mesh.positions.len() as u32);
        self.mesh.positions.extend(positions);
        self.mesh.normals.extend(normals);
        self.mesh.look.resize(self.mesh.look.len() + triangles.len(), number);
        self.mesh.triangles.extend(triangles.into_iter().map(|t| t.map(|v| v + first)));
    }

    fn add(&mut self, body: &ParticleBody, settings: &Settings) -> Result<(), RenderError> {
        let look = settings.liquid;
        let shape = Shape::of(body, look.smoothing, settings.quality, settings.shutter)?;
        self.skipped += shape.skipped;
        self.streaks.extend(shape.streaks);
        if let Some(radius) = shape.radius {
            self.bodies.push(Body { look, gap: 2.0 * radius });
            self.append(shape.surface);
        }
        Ok(())
    }
}

/// The surface of a liquid's particles; `smoothing` as in its look, 1 is usual.
pub fn surface(body: &ParticleBody, smoothing: f32, quality: Quality) -> Result<Surface, RenderError> {
    Ok(Shape::of(body, smoothing, quality, 0.0)?.surface)
}

/// Radius of a ball of the volume that a particle of this radius stands for, the cube around it [m].
fn ball_radius(radius: f32) -> f32 {
    radius * (6.0 / PI).cbrt()
}

/// What the particles of a liquid become.
#[derive(Default)]
struct Shape {
    surface: Surface,
    streaks: Vec<Streak>,
    /// Usual radius of the particles, if there are any [m].
    radius: Option<f32>,
    /// How many of them were left out.
    skipped: u64,
}

impl Shape {
    fn of(body: &ParticleBody, smoothing: f32, quality: Quality, shutter: f32) -> Result<Self, RenderError> {
        let particles = Particles::read(body)?;
        let mut shape = Self { skipped: particles.skipped, ..Self::default() };
        let Some(radius) = usual(&particles.radii) else { return Ok(shape) };
        shape.radius = Some(radius);
        let cube = if quality == Quality::Beauty { 0.7 } else { 1.0 };
        let recipe = Recipe { radius, cube, rounds: (smoothing.clamp(0.0, 4.0) * 16.0 / cube).round() as u32 };
        let middle = median(&particles.positions);
        let moving = streak::find(body, &particles, radius, shutter);
        let (mut main, mut small) = (Vec::with_capacity(particles.positions.len()), Vec::new());
        for (i, (&p, &r)) in particles.positions.iter().zip(&particles.radii).enumerate() {
            if (p - middle).abs().max_element() > FARTHEST * radius {
                shape.skipped += 1;
            } else if let Some(&Some(streak)) = moving.get(i) {
                shape.streaks.push(streak);
            } else if r < SMALL * radius {
                small.push((p, r));
            } else {
                main.push(p);
            }
        }
        let failed = |reason| RenderError::Surface { body: body.name.clone(), reason };
        shape.surface = surface::extract(&main, recipe).map_err(failed)?;
        let mut balls = Surface::default();
        for (p, r) in apart(small, &main, radius) {
            surface::ball(p, ball_radius(r), &mut balls);
        }
        shape.surface.append(balls);
        Ok(shape)
    }
}

/// Those of the small drops that have not fallen into the liquid of the large ones.
fn apart(mut small: Vec<(Vec3, f32)>, main: &[Vec3], radius: f32) -> Vec<(Vec3, f32)> {
    if small.is_empty() {
        return small;
    }
    let main: Vec<DVec3> = main.iter().map(|p| p.as_dvec3()).collect();
    let (mut neighbours, reach) = (Neighbours::new(), f64::from(MERGING * radius));
    if neighbours.rebuild(&main, reach).is_ok() {
        small.retain(|(p, _)| {
            let (p, mut met) = (p.as_dvec3(), 0);
            neighbours.for_each_near(p, |i| {
                met += usize::from((main[i as usize] - p).length_squared() < reach * reach);
            });
            met < MERGED
        });
    }
    small
}

/// The particles of a body that can be drawn.
pub(crate) struct Particles {
    pub positions: Vec<Vec3>,
    pub radii: Vec<f32>,
    /// Which particle of the body each is.
    pub numbers: Vec<u32>,
    /// How many cannot be drawn: a coordinate or radius is not finite, or the radius is not positive.
    pub skipped: u64,
}

impl Particles {
    pub fn read(body: &ParticleBody) -> Result<Self, RenderError> {
        let count = body.positions.len();
        let given = body.scalars("radius");
        if given.is_some_and(|radii| radii.len() != count) {
            let reason = "it has another number of radii than of particles";
            return Err(RenderError::Malformed { body: body.name.clone(), reason });
        }
        let mut particles = Self {
            positions: Vec::with_capacity(count),
            radii: Vec::with_capacity(count),
            numbers: Vec::new(),
            skipped: 0,
        };
        for (i, &p) in body.positions.iter().enumerate() {
            let (p, r) = (Vec3::from(p), given.map_or(DEFAULT_RADIUS, |radii| radii[i]));
            if p.is_finite() && p.abs().max_element() < 1e9 && r.is_finite() && r > 0.0 && r < 1e6 {
                particles.positions.push(p);
                particles.radii.push(r);
                particles.numbers.push(i as u32);
            } else {
                particles.skipped += 1;
            }
        }
        Ok(particles)
    }
}

/// The radius that nine of ten do not exceed.
fn usual(radii: &[f32]) -> Option<f32> {
    let mut radii = radii.to_vec();
    let place = (radii.len() * 9 / 10).min(radii.len().checked_sub(1)?);
    Some(*radii.select_nth_unstable_by(place, f32::total_cmp).1)
}

/// The middle value of each coordinate: a few lost particles do not move it.
fn median(points: &[Vec3]) -> Vec3 {
    let axis = |axis: usize| {
        let mut values: Vec<f32> = points.iter().map(|p| p[axis]).collect();
        let place = values.len() / 2;
        if values.is_empty() { 0.0 } else { *values.select_nth_unstable_by(place, f32::total_cmp).1 }
    };
    Vec3::new(axis(0), axis(1), axis(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_io::{Attribute, Domain, Values};

    #[test]
    fn small_drops_are_drawn_until_they_fall_into_the_liquid() {
        let pool: Vec<Vec3> = (0..64).map(|k| Vec3::new((k % 8) as f32, 0.0, (k / 8) as f32)).collect();
        let drops: Vec<(Vec3, f32)> = [0.0, 0.8, 3.0].map(|y| (Vec3::new(3.4, y, 3.6), 0.2)).to_vec();
        assert_eq!(apart(drops.clone(), &pool, 0.5), drops[2..]);
        assert_eq!(apart(drops.clone(), &[], 0.5), drops);
    }

    #[test]
    fn drops_hang_at_tips_that_hold_more_than_clings() {
        let lock = |film: f32| {
            let per_vertex = |x: f32| Attribute { domain: Domain::Vertex, values: Values::F32(vec![x; 3]) };
            let mut body = StrandBody { offsets: vec![0, 3], ..StrandBody::default() };
            body.positions = [0.0, -0.02, -0.04].map(|y| [0.0, y, 0.0]).to_vec();
            for (name, value) in [("radius", 35e-6), ("fibre_water", 1.0), ("film", film)] {
                body.attributes.insert(name.into(), per_vertex(value));
            }
            Frame { strands: vec![body], ..Frame::default() }
        };
        let lowest = |film: f32| {
            let mut liquids = Liquids::default();
            liquids.gather(&lock(film), &Settings::default()).unwrap();
            liquids.mesh.positions.iter().map(|p| p.y).reduce(f32::min)
        };
        assert_eq!((lowest(0.0), lowest(15e-6)), (None, None));
        let (small, large) = (lowest(40e-6).unwrap(), lowest(80e-6).unwrap());
        assert!(large < small && small < -0.04 && lowest(f32::MAX).unwrap() > -0.045);
    }
}
