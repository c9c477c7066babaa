//! Where liquid comes from: openings, rain and filled regions.
//!
//! An [`Opening`] is a disc from which liquid flows at a given speed. It lets go of layers: hexagonal lattices of particles across
//! the disc, every other one shifted, at the instants that make the mean volume rate exactly π R² times the speed. When a layer
//! appears at the end of a substep it has already travelled since its instant, so that layers keep their distance whatever
//! the substep is. What an opening lets go between two instants depends on them alone; nothing needs to be remembered.

use super::state::Droplet;
use crate::error::{PhysicsError, check};
use drench_math::random::Stream;
use glam::DVec3;

/// Distance of neighbours in a hexagonal close packing with one particle in d³, over d: 2^(1/6).
const PACKED: f64 = 1.122_462_048_309_373;
/// Particles that one call may make.
const MOST: f64 = 2e7;

/// Common to all particles that a source makes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Portion {
    /// Distance of particles at rest [m].
    pub spacing: f64,
    /// Mass of a particle [kg].
    pub mass: f64,
}

/// A disc that liquid flows out of: a faucet, a hose, one hole of a shower head.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Opening {
    /// The middle [m].
    pub position: DVec3,
    /// The direction of the stream, of length 1.
    pub direction: DVec3,
    /// Radius [m].
    pub radius: f64,
    /// Speed of the stream [m/s].
    pub speed: f64,
    /// Velocity of the opening itself [m/s].
    pub velocity: DVec3,
    /// Part of a layer's interval by which it is ahead of others: openings of a shower head should not pulse together.
    pub phase: f64,
}

impl Opening {
    /// How many particles a layer has: as many as fit into the opening, one at least.
    pub fn layer(&self, spacing: f64) -> usize {
        // The layers of the packing are √(2/3) of the neighbours' distance apart.
        let area = spacing * spacing / (PACKED * (2.0_f64 / 3.0).sqrt());
        (std::f64::consts::PI * self.radius * self.radius / area).round().max(1.0) as usize
    }

    /// Time between two layers: a layer's volume over the volume rate [s].
    fn interval(&self, portion: &Portion) -> f64 {
        let rate = std::f64::consts::PI * self.radius * self.radius * self.speed;
        self.layer(portion.spacing) as f64 * portion.spacing.powi(3) / rate
    }

    /// Offsets across the disc of the particles of an even or odd layer: the nearest points of a hexagonal lattice.
    fn lattice(&self, portion: &Portion, odd: bool) -> Vec<DVec3> {
        let (across, count) = (self.direction.any_orthonormal_vector(), self.layer(portion.spacing));
        let along = self.direction.cross(across);
        let edge = PACKED * portion.spacing;
        // Layers lie in each other's gaps, unless they are single drops far enough apart.
        let apart = count == 1 && self.interval(portion) * self.speed > 0.95 * portion.spacing;
        let shift = if apart { 0.0 } else { edge / 3.0_f64.sqrt() * if odd { 0.5 } else { -0.5 } };
        let rows = (count as f64).sqrt().ceil() as i64 + 1;
        let mut lattice = Vec::new();
        for row in -rows..=rows {
            let v = row as f64 * edge * 0.75_f64.sqrt() + shift;
            let half = if row.rem_euclid(2) == 1 { 0.5 } else { 0.0 };
            lattice.extend((-rows..=rows).map(|column| across * ((column as f64 + half) * edge) + along * v));
        }
        lattice.sort_by(|a, b| a.length_squared().total_cmp(&b.length_squared()));
        lattice.truncate(count);
        lattice
    }

    /// Refuses what nothing can come out of, or too much at once.
    pub fn check(&self, portion: &Portion) -> Result<(), PhysicsError> {
        check("radius of an opening", self.radius, "positive", |x| x > 0.0)?;
        check("speed of an opening", self.speed, "positive", |x| x > 0.0)?;
        check("spacing", portion.spacing, "positive", |x| x > 0.0)?;
        check("direction of an opening", self.direction.length(), "of length 1", |x| (x - 1.0).abs() < 1e-6)?;
        check("radius of an opening over the spacing", self.radius / portion.spacing, "at most 300", |x| x <= 300.0)
    }

    /// About how many particles leave it in so much time [s].
    pub fn count(&self, portion: &Portion, time: f64) -> f64 {
        time / self.interval(portion) * self.layer(portion.spacing) as f64
    }

    /// Appends what leaves the opening after `from` and until `to` [s], where it is at `to`. Time counts from the opening's own
    /// start; a stream that stops is a `to` that stops growing.
    pub fn emit(&self, portion: &Portion, from: f64, to: f64, drops: &mut Vec<Droplet>) -> Result<(), PhysicsError> {
        self.check(portion)?;
        let lattices = [self.lattice(portion, false), self.lattice(portion, true)];
        let interval = self.interval(portion);
        check("particles that leave an opening at once", self.count(portion, to - from), "at most 2e7", |x| x <= MOST)?;
        let first = (from / interval).floor().max(0.0) as u64;
        for k in first..=(to / interval).ceil().max(0.0) as u64 + 1 {
            let instant = (k as f64 + 1.0 - self.phase) * interval;
            if instant > from && instant <= to {
                let travelled = self.direction * (self.speed * (to - instant));
                drops.extend(lattices[k as usize % 2].iter().map(|offset| Droplet {
                    position: self.position + *offset + travelled,
                    velocity: self.velocity + self.direction * self.speed,
                    mass: portion.mass,
                    birth: instant,
                }));
            }
        }
        Ok(())
    }
}

/// The openings of a shower head: spread evenly over a disc, the outer ones turned outwards.
///
/// `spread` is the angle of the outermost jets to the direction [rad].
pub fn shower(head: &Opening, openings: u32, opening: f64, spread: f64, seed: u64) -> Vec<Opening> {
    let across = head.direction.any_orthonormal_vector();
    let along = head.direction.cross(across);
    let phases = Stream::new(seed, "shower");
    // A sunflower: equal areas, no rows.
    let golden = std::f64::consts::PI * (3.0 - 5.0_f64.sqrt());
    (0..openings)
        .map(|k| {
            let part = ((f64::from(k) + 0.5) / f64::from(openings)).sqrt();
            let (sine, cosine) = (golden * f64::from(k)).sin_cos();
            let outward = across * cosine + along * sine;
            Opening {
                position: head.position + outward * (part * head.radius),
                direction: (head.direction + outward * (spread * part).tan()).normalize(),
                radius: opening,
                phase: phases.uniform(u64::from(k)),
                ..*head
            }
        })
        .collect()
}

/// Rain from a level rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rain {
    /// The middle [m].
    pub position: DVec3,
    /// Lengths along x and z [m].
    pub size: [f64; 2],
    /// Height of liquid that falls per second [m/s].
    pub rate: f64,
    /// Velocity of the drops [m/s].
    pub velocity: DVec3,
}

impl Rain {
    /// Refuses rain that does not fall anywhere.
    pub fn check(&self) -> Result<(), PhysicsError> {
        check("area of the rain", self.size[0].min(self.size[1]), "positive", |x| x > 0.0)?;
        check("rate of the rain", self.rate, "positive", |x| x > 0.0)
    }

    /// Time between two drops [s].
    fn interval(&self, portion: &Portion) -> f64 {
        portion.spacing.powi(3) / (self.size[0] * self.size[1] * self.rate)
    }

    /// About how many drops fall in so much time [s].
    pub fn count(&self, portion: &Portion, time: f64) -> f64 {
        time / self.interval(portion)
    }

    /// Appends the drops that start after `from` and until `to` [s], where they are at `to`.
    ///
    /// Drop k starts in the k-th interval, at a random instant and place: the mean rate is exact.
    pub fn emit(
        &self,
        portion: &Portion,
        seed: u64,
        from: f64,
        to: f64,
        drops: &mut Vec<Droplet>,
    ) -> Result<(), PhysicsError> {
        self.check()?;
        check("drops of rain at once", self.count(portion, to - from), "at most 2e7", |x| x <= MOST)?;
        let interval = self.interval(portion);
        let stream = Stream::new(seed, "rain");
        let first = ((from / interval).floor() - 1.0).max(0.0) as u64;
        for k in first..=(to / interval).ceil().max(0.0) as u64 {
            let [when, x, z] = [0, 1, 2].map(|item| stream.uniform(3 * k + item));
            let instant = (k as f64 + when) * interval;
            if instant > from && instant <= to {
                let place = DVec3::new((x - 0.5) * self.size[0], 0.0, (z - 0.5) * self.size[1]);
                drops.push(Droplet {
                    position: self.position + place + self.velocity * (to - instant),
                    velocity: self.velocity,
                    mass: portion.mass,
                    birth: instant,
                });
            }
        }
        Ok(())
    }
}

/// A lattice of particles at rest in the part of a box that is `inside`; at most `limit` of them.
///
/// The lattice is centred: a box whose lengths are multiples of the spacing is filled to the brim, with half a spacing to
/// its faces.
pub fn fill(
    portion: &Portion,
    [low, high]: [DVec3; 2],
    velocity: DVec3,
    limit: usize,
    inside: impl Fn(DVec3) -> bool,
) -> Result<Vec<Droplet>, PhysicsError> {
    check("spacing", portion.spacing, "positive", |x| x > 0.0)?;
    let size = high - low;
    check("size of a filled box", size.min_element(), "positive", |x| x > 0.0)?;
    // A little more than a multiple must not lose a layer to rounding.
    let counts = (size / portion.spacing + DVec3::splat(1e-6)).floor();
    check("smallest size of a filled box over the spacing", counts.min_element(), "1 or more", |x| x >= 1.0)?;
    let total = counts.element_product();
    check("lattice points of a filled box", total, "at most 1e9: make the spacing larger", |x| x <= 1e9)?;
    let corner = 0.5 * (low + high) - 0.5 * (counts - 1.0) * portion.spacing;
    let mut drops = Vec::new();
    for z in 0..counts.z as u64 {
        for y in 0..counts.y as u64 {
            for x in 0..counts.x as u64 {
                let position = corner + DVec3::new(x as f64, y as f64, z as f64) * portion.spacing;
                if inside(position) {
                    if drops.len() >= limit {
                        check("particles of a filled region", f64::INFINITY, "fewer: make the spacing larger", |_| {
                            true
                        })?;
                    }
                    drops.push(Droplet { position, velocity, mass: portion.mass, birth: 0.0 });
                }
            }
        }
    }
    Ok(drops)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORTION: Portion = Portion { spacing: 0.01, mass: 1e-3 };

    fn hose(radius: f64) -> Opening {
        Opening {
            position: DVec3::ZERO,
            direction: DVec3::new(0.6, -0.8, 0.0),
            radius,
            speed: 1.7,
            velocity: DVec3::ZERO,
            phase: 0.0,
        }
    }

    #[test]
    fn a_stream_has_the_right_rate_and_no_overlap_whatever_the_substep() {
        for radius in [0.001, 0.006, 0.007, 0.012, 0.05] {
            let opening = hose(radius);
            let run = |substeps: u32| {
                let mut drops = Vec::new();
                for k in 0..substeps {
                    let (from, to) = (f64::from(k) / f64::from(substeps), f64::from(k + 1) / f64::from(substeps));
                    let before = drops.len();
                    opening.emit(&PORTION, from, to, &mut drops).unwrap();
                    // Carry them to the end.
                    for drop in &mut drops[before..] {
                        drop.position += drop.velocity * (1.0 - to);
                    }
                }
                drops
            };
            let drops = run(10);
            let volume = drops.len() as f64 * PORTION.spacing.powi(3);
            let expected = std::f64::consts::PI * radius * radius * opening.speed;
            let layers = opening.layer(PORTION.spacing) as f64 * PORTION.spacing.powi(3);
            assert!((volume - expected).abs() <= layers, "{radius}: {volume} {expected}");
            let other = run(37);
            assert_eq!(drops.len(), other.len());
            for (a, b) in drops.iter().zip(&other) {
                assert!((a.position - b.position).length() < 1e-9);
            }
            let nearest = |i: usize| {
                let distance = |j: usize| (drops[i].position - drops[j].position).length();
                (0..drops.len().min(i + 500)).filter(|&j| j != i).map(distance).fold(f64::INFINITY, f64::min)
            };
            let least = (0..drops.len().min(300)).map(nearest).fold(f64::INFINITY, f64::min);
            assert!(least > 0.75 * PORTION.spacing, "{radius}: {least}");
        }
    }

    #[test]
    fn rain_has_the_right_rate_and_falls_from_its_rectangle() {
        let rain = Rain { position: DVec3::Y, size: [1.0, 2.0], rate: 1e-3, velocity: DVec3::NEG_Y * 5.0 };
        let mut drops = Vec::new();
        for k in 0..100 {
            rain.emit(&PORTION, 3, 0.1 * f64::from(k), 0.1 * f64::from(k + 1), &mut drops).unwrap();
        }
        // 10 s of 1 mm/s on 2 m²: 0.02 m³.
        assert!((drops.len() as f64 - 20_000.0).abs() <= 1.0, "{}", drops.len());
        assert!(drops.iter().all(|d| d.position.x.abs() <= 0.5 && d.position.z.abs() <= 1.0 && d.position.y <= 1.0));
        let mean = drops.iter().map(|drop| drop.position.x).sum::<f64>() / drops.len() as f64;
        assert!(mean.abs() < 0.01);
    }

    #[test]
    fn a_box_is_filled_to_the_brim_and_too_much_is_refused() {
        let cube = [DVec3::ZERO, DVec3::splat(0.1)];
        let drops = fill(&PORTION, cube, DVec3::X, 1000, |_| true).unwrap();
        assert_eq!(drops.len(), 1000);
        assert!(drops.iter().all(|d| d.position.min_element() > 0.0049 && d.position.max_element() < 0.0951));
        assert!(fill(&PORTION, cube, DVec3::X, 999, |_| true).is_err());
        assert!(fill(&PORTION, [DVec3::ZERO, DVec3::splat(0.001)], DVec3::X, 9, |_| true).is_err());
        assert!(fill(&PORTION, [DVec3::ZERO, DVec3::splat(f64::NAN)], DVec3::X, 9, |_| true).is_err());
        assert!(fill(&PORTION, [DVec3::ZERO, DVec3::splat(1e9)], DVec3::X, 9, |_| true).is_err());
    }

    #[test]
    fn a_shower_covers_its_head_and_spreads() {
        let head = Opening { radius: 0.1, direction: DVec3::NEG_Y, ..hose(0.1) };
        let openings = shower(&head, 200, 1e-3, 0.3, 1);
        let centre = openings.iter().map(|o| o.position).sum::<DVec3>() / 200.0;
        assert!(centre.length() < 0.003, "{centre}");
        let angle = |o: &Opening| o.direction.dot(DVec3::NEG_Y).acos();
        let widest = openings.iter().map(angle).fold(0.0, f64::max);
        assert!((widest - 0.3).abs() < 0.01, "{widest}");
    }

    #[test]
    fn bad_openings_are_refused() {
        let mut drops = Vec::new();
        for bad in [
            Opening { radius: 0.0, ..hose(0.1) },
            Opening { speed: f64::NAN, ..hose(0.1) },
            Opening { direction: DVec3::ZERO, ..hose(0.1) },
            hose(1e9),
        ] {
            assert!(bad.emit(&PORTION, 0.0, 1.0, &mut drops).is_err());
        }
        assert!(hose(0.1).emit(&PORTION, 0.0, 1e12, &mut drops).is_err());
    }
}
