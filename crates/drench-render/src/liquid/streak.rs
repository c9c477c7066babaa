//! Drops in the air while the shutter is open.
//!
//! A drop of radius R that goes the way l past the camera shows for the part of the exposure that it needs to pass a
//! pixel: the chord of its disc there over l. The rest of the exposure shows what is behind [Garg2007].

use super::Particles;
use drench_geometry::neighbours::Neighbours;
use drench_io::ParticleBody;
use glam::{DVec3, Vec3};
use rayon::prelude::*;

/// Radius up to which falling drops hold together [m]: a particle of more water stands for some that follow each other.
const LARGEST: f32 = 1.5e-3;
/// A particle with as much as this many usual ones within this distance [their radii] is part of a body of liquid.
const CROWD: f32 = 4.0;
const AROUND: f32 = 5.0;

/// The way of a drop while the shutter is open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Streak {
    /// Where it begins and ends [m].
    pub from: Vec3,
    pub to: Vec3,
    /// Half its width [m].
    pub radius: f32,
    /// How many drops follow each other, 1 or more, and the radius of each [m].
    pub drops: f32,
    pub drop: f32,
    /// How far the drops of a row are ahead of its middle or behind it, as a share of their way.
    pub loose: f32,
}

impl Streak {
    /// That of a particle that stands for a cube of side `2 half`, if it goes farther than it is wide; what is large, and
    /// would be as solid as a jet, must go much farther.
    pub fn of(p: Vec3, half: f32, velocity: Vec3, age: f32, shutter: f32) -> Option<Self> {
        let whole = super::ball_radius(half);
        let drop = whole.min(LARGEST);
        let way = velocity * shutter;
        let length = way.length();
        let least = 2.0 * whole * (0.5 * whole / drop).max(1.0);
        if !(length > least && length < 1e3) {
            return None;
        }
        let drops = (whole / drop).powi(3);
        // No narrower than a jet of so much water.
        let jet = (4.0 / 3.0 * whole.powi(3) / length).sqrt();
        // It did not come out of the wall behind its opening.
        let before = (0.5 * shutter).min(age.max(0.0)) / shutter;
        Some(Self {
            from: p - way * before,
            to: p + way * 0.5,
            radius: if drops > 1.0 { drop.max(jet) } else { drop },
            drops,
            drop,
            loose: if drops > 1.0 { (drops * drop / length).min(0.25) } else { 0.0 },
        })
    }

    /// Area of all its drops, over that of one as wide as the streak.
    pub fn covering(&self) -> f32 {
        self.drops * (self.drop / self.radius).powi(2)
    }
}

/// Streaks of particles by their place in `particles`; none for what is slow or part of a body of liquid.
pub(super) fn find(body: &ParticleBody, particles: &Particles, radius: f32, shutter: f32) -> Vec<Option<Streak>> {
    let count = body.positions.len();
    let velocities = body.vectors("velocity").filter(|velocities| velocities.len() == count);
    let Some(velocities) = velocities.filter(|_| shutter > 0.0) else { return Vec::new() };
    let ages = body.scalars("age").filter(|ages| ages.len() == count);
    let places: Vec<DVec3> = particles.positions.iter().map(|p| p.as_dvec3()).collect();
    let mut cells = Neighbours::new();
    if cells.rebuild(&places, f64::from(AROUND * radius)).is_err() {
        return Vec::new();
    }
    let alone = |i: usize| {
        let mut met = 0.0;
        for range in cells.around(cells.cell_of(places[i])) {
            for j in cells.order()[range].iter().map(|&j| j as usize) {
                if j != i && places[j].distance_squared(places[i]) < cells.cell_size().powi(2) {
                    met += (particles.radii[j] / radius).powi(3);
                }
            }
            if met >= CROWD {
                return false;
            }
        }
        true
    };
    let streak = |i: usize| {
        let number = particles.numbers[i] as usize;
        let (velocity, age) = (Vec3::from(velocities[number]), ages.map_or(f32::INFINITY, |ages| ages[number]));
        Streak::of(particles.positions[i], particles.radii[i], velocity, age, shutter).filter(|_| alone(i))
    };
    (0..places.len()).into_par_iter().with_min_len(1 << 10).map(streak).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_io::{Attribute, Domain, ParticleKind, Values};
    use std::collections::BTreeMap;

    const HALF: f32 = 1e-3;

    fn liquid(particles: &[([f32; 3], [f32; 3])]) -> ParticleBody {
        let attribute = |values| Attribute { domain: Domain::Vertex, values };
        let velocities = particles.iter().map(|&(_, velocity)| velocity).collect();
        ParticleBody {
            name: "water".into(),
            kind: ParticleKind::Liquid,
            positions: particles.iter().map(|&(p, _)| p).collect(),
            attributes: BTreeMap::from([
                ("velocity".to_owned(), attribute(Values::F32x3(velocities))),
                ("radius".to_owned(), attribute(Values::F32(vec![HALF; particles.len()]))),
            ]),
        }
    }

    fn found(body: &ParticleBody, shutter: f32) -> Vec<Option<Streak>> {
        find(body, &Particles::read(body).unwrap(), HALF, shutter)
    }

    #[test]
    fn a_streak_is_as_long_as_the_way_while_the_shutter_is_open() {
        let velocity = Vec3::new(0.6, -2.0, 0.1);
        let body = liquid(&[([0.1, 0.2, 0.3], velocity.to_array())]);
        for shutter in [0.005_f32, 0.02, 0.04] {
            let streak = found(&body, shutter)[0].unwrap();
            assert!((streak.from.distance(streak.to) - velocity.length() * shutter).abs() < 1e-6);
            assert!((streak.from.midpoint(streak.to) - Vec3::new(0.1, 0.2, 0.3)).length() < 1e-6);
            // Its drops hold the water of the particle.
            let volume = 4.0 / 3.0 * std::f32::consts::PI * streak.drop.powi(3) * streak.drops;
            assert!((volume / (2.0 * HALF).powi(3) - 1.0).abs() < 1e-4);
        }
        assert!(found(&body, 0.0).is_empty());
    }

    #[test]
    fn large_drops_come_apart_and_keep_their_water() {
        let of = |half: f32, speed: f32| Streak::of(Vec3::ZERO, half, Vec3::new(0.0, -speed, 0.0), 1.0, 0.02);
        let streak = of(4e-3, 3.0).unwrap();
        let volume = |streak: &Streak| 4.0 / 3.0 * std::f32::consts::PI * streak.drop.powi(3) * streak.drops;
        assert!((volume(&streak) / 8e-3_f32.powi(3) - 1.0).abs() < 1e-4);
        assert!(streak.drop == LARGEST && streak.drops > 10.0 && streak.covering() > 1.0);
        // It is no denser than water.
        let wide = of(8e-3, 10.0).unwrap();
        let jet = std::f32::consts::PI * wide.radius.powi(2) * wide.from.distance(wide.to);
        assert!(wide.radius > LARGEST && jet > 0.99 * volume(&wide), "{} {}", jet, volume(&wide));
        // What is as large as a fist stays a body of water.
        assert!(of(3e-2, 3.0).is_none() && of(3e-2, 20.0).is_none());
    }

    #[test]
    fn what_just_came_out_of_an_opening_does_not_reach_behind_it() {
        let velocity = Vec3::new(0.0, -2.0, 0.0);
        let new = Streak::of(Vec3::ZERO, HALF, velocity, 0.002, 0.02).unwrap();
        assert!((new.from.y - 0.004).abs() < 1e-6 && (new.to.y + 0.02).abs() < 1e-6);
    }

    #[test]
    fn slow_drops_and_bodies_of_liquid_stay_as_they_are() {
        let (slow, fast) = ([0.0, -0.05, 0.0], [0.0, -2.0, 0.0]);
        let mut particles: Vec<_> =
            (0..27).map(|k| ([k % 3, k / 3 % 3, k / 9].map(|x| 2.0 * HALF * x as f32), fast)).collect();
        particles.extend([([0.1, 0.0, 0.0], fast), ([0.2, 0.0, 0.0], slow), ([0.3, 0.0, 0.0], [f32::NAN; 3])]);
        let found = found(&liquid(&particles), 0.02);
        let streaks: Vec<usize> = (0..found.len()).filter(|&i| found[i].is_some()).collect();
        assert_eq!(streaks, [27]);
    }
}
