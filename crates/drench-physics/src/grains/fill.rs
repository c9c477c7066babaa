//! Where grains come from: regions filled with them, and openings that pour them. None overlap when they appear.
//!
//! A region is filled as densely as sand lies: grains are set on a shaken lattice and pushed apart until they only touch; what is
//! still too large for its place is made smaller. They need not fall into place when the scene begins.

use super::state::{GrainState, NewGrain};
use super::{GrainModel, Spread, ball};
use crate::error::{PhysicsError, check};
use crate::region::Region;
use drench_geometry::neighbours::Neighbours;
use drench_math::random::Stream;
use glam::{DVec2, DVec3};
use rayon::prelude::*;

/// Part of space that grains fill in a region: sand that was poured, not shaken.
const DENSITY: f64 = 0.6;
/// How far grains are shaken off their lattice, over its spacing.
const SHAKE: f64 = 0.1;
/// How deep the centre of a grain must be inside the region to begin with, over its radius.
const INSIDE: f64 = 0.9;
/// Rounds of pushing apart, and the overlap over the radius at which it is enough.
const ROUNDS: usize = 60;
const ENOUGH: f64 = 2e-3;
/// Rounds after which neighbours are looked up again, and how far a ball may go until then, over the mean radius.
const LOOK: usize = 10;
const WAY: f64 = 0.4;
/// Room between grains that are poured, over the largest diameter.
const ROOM: f64 = 1.02;
/// Grains that a region, and a body that is poured, may hold.
pub const MOST: u64 = 20_000_000;
/// A region without room for a single grain.
const NONE: PhysicsError =
    PhysicsError::GrainCount { count: 0, fix: "make the region larger or `radius` smaller, or move it out of solids" };

/// What the grains of a region or an opening are like at the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Beginning {
    /// Velocity [m/s].
    pub velocity: DVec3,
    /// Water over the dry mass.
    pub moisture: f64,
}

/// Grains that fill a region; `stream` draws their sizes and shakes them. An empty region is an error.
pub fn fill(
    model: &GrainModel,
    region: &Region,
    beginning: Beginning,
    stream: Stream,
) -> Result<Vec<NewGrain>, PhysicsError> {
    check("moisture", beginning.moisture, "at least 0", |x| x >= 0.0)?;
    let (mut positions, mut radii): (Vec<DVec3>, Vec<f64>) = places(model, region, stream)?.unzip();
    push_apart(model, region, &mut positions, &mut radii)?;
    let balls = positions.iter().zip(&radii).filter(|&(_, &radius)| radius >= 0.98 * model.sizes().least());
    let grains: Vec<NewGrain> = balls
        .map(|(&position, &radius)| {
            let water = beginning.moisture * model.dry_mass(radius);
            NewGrain { position, velocity: beginning.velocity, radius, water }
        })
        .collect();
    match grains.len() as u64 {
        0 => Err(NONE),
        count if count > MOST => Err(too_many(count)),
        _ => Ok(grains),
    }
}

/// Where grains of a region are set, and their radii [m], before they are pushed apart.
fn places<'a>(
    model: &'a GrainModel,
    region: &'a Region,
    stream: Stream,
) -> Result<impl Iterator<Item = (DVec3, f64)> + use<'a>, PhysicsError> {
    let (low, high) = region.bounds();
    let size = high - low;
    check("region", size.min_element(), "larger than nothing, and finite", |x| x > 0.0 && low.is_finite())?;
    let spacing = (2.0_f64.sqrt() * mean_volume(model) / DENSITY).cbrt();
    // Rows, layers and stacks of the closest packing.
    let step = DVec3::new(spacing, spacing * (2.0_f64 / 3.0).sqrt(), spacing * 0.75_f64.sqrt());
    let places = (size / step).ceil();
    let count = places.x * places.y * places.z;
    if count > 8.0 * MOST as f64 {
        return Err(too_many(count as u64));
    }
    let (sizes, shake) = (stream.child(0), stream.child(1));
    let mut number = 0;
    Ok(lattice(places).filter_map(move |(layer, row, column)| {
        let odd = f64::from(layer % 2);
        let shift = DVec3::new(0.5 * (f64::from(row % 2) - odd).abs() * spacing, 0.0, odd * step.z / 3.0);
        let place =
            low + 0.5 * spacing + DVec3::new(f64::from(column), f64::from(layer), f64::from(row)) * step + shift;
        let radius = model.sizes().draw(sizes, number);
        let position = place + shake.direction(2 * number) * (SHAKE * spacing * shake.uniform(2 * number + 1).cbrt());
        let inside = region.depth(position) >= INSIDE * radius;
        number += u64::from(inside);
        inside.then_some((position, radius))
    }))
}

fn too_many(count: u64) -> PhysicsError {
    let fix = "make the region smaller or `radius` larger: 20 million grains are the limit";
    PhysicsError::GrainCount { count, fix }
}

/// Mean volume of a grain [m3].
fn mean_volume(model: &GrainModel) -> f64 {
    // The mean of (1 + x)^3 is 1 + 3 <x^2>; an even spread has <x^2> = part^2 / 3.
    let square = match model.sizes().spread {
        Spread::Even(part) => part * part / 3.0,
        Spread::Normal(deviation) => deviation * deviation,
    };
    ball(model.sizes().radius) * (1.0 + 3.0 * square)
}

/// Pushes balls apart and into the region, then makes those smaller that still overlap or stick out.
fn push_apart(
    model: &GrainModel,
    region: &Region,
    positions: &mut [DVec3],
    radii: &mut [f64],
) -> Result<(), PhysicsError> {
    let way = WAY * model.sizes().radius;
    let mut settled = false;
    for _ in 0..ROUNDS / LOOK {
        let near = nearby(model, positions, 2.0 * way)?;
        for _ in 0..LOOK {
            let found = shove(region, positions, radii, &near, way / LOOK as f64);
            settled = found.iter().all(|&(_, deepest, _)| deepest < ENOUGH);
            positions.iter_mut().zip(&found).for_each(|(position, &(place, _, _))| *position = place);
        }
        if settled {
            break;
        }
    }
    let near = nearby(model, positions, 0.0)?;
    let found = shove(region, positions, radii, &near, 0.0);
    radii.iter_mut().zip(&found).for_each(|(radius, &(_, _, fitting))| *radius = fitting);
    Ok(())
}

/// For each ball the others whose surfaces may be within `reach` [m]: offsets and numbers.
fn nearby(model: &GrainModel, positions: &[DVec3], reach: f64) -> Result<(Vec<usize>, Vec<u32>), PhysicsError> {
    let cell = 2.0 * model.sizes().most() + reach;
    let mut neighbours = Neighbours::new();
    neighbours.rebuild(positions, cell).map_err(|problem| PhysicsError::search("grains", &problem))?;
    let lists: Vec<Vec<u32>> = (positions.par_iter().enumerate())
        .map(|(i, &x)| {
            let mut near = Vec::new();
            neighbours.for_each_near(x, |j| {
                if j as usize != i && (positions[j as usize] - x).length_squared() < cell * cell {
                    near.push(j);
                }
            });
            near
        })
        .collect();
    let mut offsets = vec![0];
    offsets.extend(lists.iter().scan(0, |end, list| {
        *end += list.len();
        Some(*end)
    }));
    Ok((offsets, lists.concat()))
}

/// Where each ball should go, at most `farthest` [m]; how deep it overlaps over its radius; and what radius would just touch.
fn shove(
    region: &Region,
    positions: &[DVec3],
    radii: &[f64],
    (offsets, near): &(Vec<usize>, Vec<u32>),
    farthest: f64,
) -> Vec<(DVec3, f64, f64)> {
    (positions.par_iter().zip(radii).enumerate())
        .map(|(i, (&x, &radius))| {
            let (mut push, mut deepest, mut fitting) = (DVec3::ZERO, 0.0_f64, radius);
            for &j in &near[offsets[i]..offsets[i + 1]] {
                let (apart, reach) = (x - positions[j as usize], radius + radii[j as usize]);
                let square = apart.length_squared();
                if square < reach * reach {
                    let distance = square.sqrt();
                    push += apart.normalize_or(DVec3::Y) * (0.5 * (reach - distance));
                    deepest = deepest.max((reach - distance) / radius);
                    fitting = fitting.min(distance * radius / reach * (1.0 - 1e-12));
                }
            }
            let depth = region.depth(x + push);
            if depth < radius {
                let slope = |axis: DVec3| region.depth(x + push + axis * (1e-3 * radius)) - depth;
                let inward = DVec3::new(slope(DVec3::X), slope(DVec3::Y), slope(DVec3::Z)).normalize_or_zero();
                push += inward * (radius - depth);
            }
            let depth = region.depth(x);
            deepest = deepest.max((radius - depth) / radius);
            (x + push.clamp_length_max(farthest), deepest, fitting.min(depth))
        })
        .collect()
}

fn lattice(places: DVec3) -> impl Iterator<Item = (i32, i32, i32)> {
    let (x, y, z) = (places.x as i32, places.y as i32, places.z as i32);
    (0..y).flat_map(move |layer| (0..z).flat_map(move |row| (0..x).map(move |column| (layer, row, column))))
}

/// How many grains fill a region, but for the few that find no room among the others: what a check tells.
pub fn count(model: &GrainModel, region: &Region, stream: Stream) -> Result<u64, PhysicsError> {
    match places(model, region, stream)?.take(MOST as usize + 1).count() as u64 {
        0 => Err(NONE),
        count if count > MOST => Err(too_many(count)),
        count => Ok(count),
    }
}

/// Whether something holds at any of the places that grains would take in a region, by position and radius [m], before they are pushed apart.
pub fn any_place(
    model: &GrainModel,
    region: &Region,
    stream: Stream,
    holds: impl Fn(DVec3, f64) -> bool,
) -> Result<bool, PhysicsError> {
    Ok(places(model, region, stream)?.any(|(position, radius)| holds(position, radius)))
}

/// A round opening that pours grains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Opening {
    /// Its middle [m].
    pub position: DVec3,
    /// Direction in which grains leave.
    pub direction: DVec3,
    /// Its radius [m].
    pub radius: f64,
    /// Speed of the grains [m/s].
    pub speed: f64,
    /// When it starts [s].
    pub start: f64,
    /// When it stops [s].
    pub stop: f64,
}

impl Opening {
    /// Refuses what cannot pour.
    pub fn check(&self, model: &GrainModel) -> Result<(), PhysicsError> {
        let largest = model.sizes().most();
        check("speed", self.speed, "above 0 and at most 1e3 m/s", |x| x > 0.0 && x <= 1e3)?;
        check("radius", self.radius, "at least that of the largest grain, and finite", |x| x >= largest)?;
        let layer = (self.radius / largest).powi(2);
        check("grains in a layer", layer, "at most 1e6: make the opening smaller", |x| x <= 1e6)?;
        check("direction", self.direction.length(), "longer than nothing", |x| x > 0.0)
    }

    /// Which layers leave between two times [s]: layer n leaves at start + n [`Self::pace`].
    fn layers(&self, model: &GrainModel, (from, to): (f64, f64)) -> [f64; 2] {
        [from, to].map(|time| ((time.min(self.stop) - self.start) / self.pace(model)).ceil().max(0.0))
    }

    /// Time from layer to layer [s].
    fn pace(&self, model: &GrainModel) -> f64 {
        spacing(model) / self.speed
    }

    /// Where the grains of a layer are, from its middle [m], before it is turned and they are shaken.
    fn layer(&self, model: &GrainModel) -> impl Iterator<Item = DVec2> + use<> {
        let (spacing, largest, radius) = (spacing(model), model.sizes().most(), self.radius);
        let rows = ((radius - largest) / (spacing * 0.75_f64.sqrt())) as i32;
        let columns = (radius / spacing) as i32 + 1;
        let places = (-rows..=rows).flat_map(move |row| (-columns..=columns).map(move |column| (row, column)));
        let place = move |(row, column): (i32, i32)| {
            let u = spacing * (f64::from(column) + 0.5 * f64::from(row.rem_euclid(2)));
            DVec2::new(u, spacing * 0.75_f64.sqrt() * f64::from(row))
        };
        places.map(place).filter(move |place| place.x.hypot(place.y) + largest <= radius)
    }

    /// How many grains leave until a time [s] if no heap stops them.
    pub fn count(&self, model: &GrainModel, until: f64) -> u64 {
        let [first, last] = self.layers(model, (self.start, until));
        ((last - first) * self.layer(model).count() as f64) as u64
    }
}

/// Distance of grains that are poured [m].
fn spacing(model: &GrainModel) -> f64 {
    2.0 * ROOM * model.sizes().most()
}

/// Pours what leaves an opening between two times [s]; returns how many grains. Grains that would appear in others are
/// held back, so that a heap that has reached the opening stops it. `water` is over the dry mass.
pub fn pour(
    model: &GrainModel,
    state: &mut GrainState,
    opening: &Opening,
    moisture: f64,
    (from, to): (f64, f64),
    stream: Stream,
) -> Result<usize, PhysicsError> {
    opening.check(model)?;
    let (spacing, pace) = (spacing(model), opening.pace(model));
    let direction = opening.direction.normalize();
    let (across, along) = direction.any_orthonormal_pair();
    let ([first, last], old) = (opening.layers(model, (from, to)), state.len());
    check("layers of grains in one step", last - first, "at most 1000: use more substeps", |x| x <= 1000.0)?;
    if first >= last {
        return Ok(0);
    }
    let middle = |layer: f64| opening.position + direction * (opening.speed * (to - (opening.start + layer * pace)));
    let (near, before) = around(model, state, opening, [middle(last - 1.0), middle(first)])?;
    for layer in first as u64..last as u64 {
        let draw = stream.child(layer);
        let middle = middle(layer as f64);
        let (sin, cos) = draw.range(u64::MAX, 0.0, std::f64::consts::TAU).sin_cos();
        for DVec2 { x: u, y: v } in opening.layer(model) {
            let place = middle + across * (u * cos - v * sin) + along * (u * sin + v * cos);
            let number = u64::from(state.next_id);
            let radius = model.sizes().draw(draw.child(0), number);
            let shake = draw.child(1).direction(number) * (0.5 * spacing - radius);
            let position = place + shake * draw.child(2).uniform(number).cbrt();
            let mut free = true;
            near.for_each_near(position, |i| {
                let i = before[i as usize] as usize;
                free &= (state.positions[i] - position).length() >= state.radii[i] + radius;
            });
            if free {
                let water = moisture * model.dry_mass(radius);
                state.push(model, NewGrain { position, velocity: direction * opening.speed, radius, water });
            }
        }
        if state.len() as u64 > MOST {
            return Err(PhysicsError::TooManyPoured { limit: MOST });
        }
    }
    Ok(state.len() - old)
}

/// Grains that those which leave an opening may meet, between the middles of the last layer and the first [m]: a search among them, and which they are. Layers have
/// room for each other: they need not be looked at.
fn around(
    model: &GrainModel,
    state: &GrainState,
    opening: &Opening,
    [last, first]: [DVec3; 2],
) -> Result<(Neighbours, Vec<u32>), PhysicsError> {
    let largest = model.sizes().most();
    let (way, reach) = (first - last, opening.radius + 4.0 * largest);
    let meets = |&i: &u32| {
        let from_last = state.positions[i as usize] - last;
        let part = (from_last.dot(way) / way.length_squared().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        (from_last - way * part).length_squared() < reach * reach
    };
    let before: Vec<u32> = (0..state.len() as u32).filter(meets).collect();
    let positions: Vec<DVec3> = before.iter().map(|&i| state.positions[i as usize]).collect();
    let mut near = Neighbours::new();
    near.rebuild(&positions, 2.0 * largest).map_err(|problem| PhysicsError::search("grains", &problem))?;
    Ok((near, before))
}

#[cfg(test)]
mod tests {
    use super::super::{Material, Sizes};
    use super::*;
    use crate::contact::Placement;
    use drench_geometry::field::Field;

    fn model() -> GrainModel {
        let sizes = Sizes { radius: 2e-3, spread: Spread::Even(0.3) };
        GrainModel::new(sizes, Material::default(), None, None).unwrap()
    }

    fn overlaps(grains: &[(DVec3, f64)]) -> usize {
        let pairs = (0..grains.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        pairs.filter(|&(i, j)| (grains[i].0 - grains[j].0).length() < grains[i].1 + grains[j].1).count()
    }

    #[test]
    fn regions_are_filled_densely_inside_and_without_overlap() {
        let model = model();
        let ball = Field::Sphere { radius: 0.02 };
        let placement = Placement { scale: 1.5, ..Placement::at(DVec3::new(1.0, 2.0, 3.0)) };
        let regions = [
            Region::Box { low: DVec3::ZERO, high: DVec3::splat(0.05) },
            Region::Ball { centre: DVec3::X, radius: 0.03 },
            Region::Cylinder { foot: DVec3::Y, radius: 0.03, height: 0.05 },
            Region::Cone { foot: DVec3::ZERO, radius: 0.05, height: 0.04 },
            Region::Solid { field: &ball, placement, bounds: (DVec3::splat(-0.02), DVec3::splat(0.02)) },
        ];
        for region in regions {
            let grains = fill(&model, &region, Beginning::default(), Stream::new(1, "fill")).unwrap();
            let balls: Vec<_> = grains.iter().map(|g| (g.position, g.radius)).collect();
            assert_eq!(overlaps(&balls), 0);
            assert!(balls.iter().all(|&(p, r)| region.depth(p) >= r));
            let part = grains.len() as f64 / count(&model, &region, Stream::new(1, "fill")).unwrap() as f64;
            assert!((0.95..=1.0).contains(&part), "{part}");
        }
    }

    #[test]
    fn grains_fill_what_solids_leave_of_a_region() {
        let (model, stream) = (model(), Stream::new(1, "fill"));
        let whole = Region::Box { low: DVec3::ZERO, high: DVec3::splat(0.05) };
        // A ball that reaches into it through a corner, and all of space.
        let clearance = |p: DVec3| p.length() - 0.04;
        let beside = Region::Beside { region: &whole, clearance: &clearance };
        let grains = fill(&model, &beside, Beginning::default(), stream).unwrap();
        let balls: Vec<_> = grains.iter().map(|g| (g.position, g.radius)).collect();
        assert_eq!(overlaps(&balls), 0);
        assert!(balls.iter().all(|&(p, r)| whole.depth(p) >= r && clearance(p) >= r));
        let all = fill(&model, &whole, Beginning::default(), stream).unwrap().len() as f64;
        let left = 1.0 - ball(0.04) / 8.0 / 0.05_f64.powi(3);
        assert!((grains.len() as f64 / all / left - 1.0).abs() < 0.1, "{} of {all}", grains.len());
        let nothing = Region::Beside { region: &whole, clearance: &|_| -1.0 };
        assert!(fill(&model, &nothing, Beginning::default(), stream).is_err());
        assert!(count(&model, &nothing, stream).is_err());
    }

    #[test]
    fn regions_that_are_empty_or_huge_are_refused() {
        let (model, stream) = (model(), Stream::new(1, "fill"));
        for high in [1e-3, 100.0, f64::NAN, -1.0] {
            let region = Region::Box { low: DVec3::ZERO, high: DVec3::splat(high) };
            assert!(fill(&model, &region, Beginning::default(), stream).is_err(), "{high}");
            assert!(count(&model, &region, stream).is_err(), "{high}");
        }
    }

    #[test]
    fn what_is_poured_does_not_depend_on_steps_and_does_not_overlap() {
        let model = model();
        let opening =
            Opening { position: DVec3::Y, direction: DVec3::NEG_Y, radius: 0.02, speed: 0.5, start: 0.01, stop: 0.2 };
        let run = |steps: u32| {
            let mut state = GrainState::default();
            for step in 0..steps {
                let dt = 0.3 / f64::from(steps);
                let time = f64::from(step) * dt;
                state.positions.iter_mut().zip(&state.velocities).for_each(|(x, v)| *x += *v * dt);
                pour(&model, &mut state, &opening, 0.0, (time, time + dt), Stream::new(2, "pour")).unwrap();
            }
            state
        };
        let (coarse, fine) = (run(30), run(60));
        assert!(coarse.len() > 200);
        assert_eq!(coarse.len(), fine.len());
        assert!(coarse.positions.iter().zip(&fine.positions).all(|(a, b)| (*a - *b).length() < 1e-9));
        let balls: Vec<_> = coarse.positions.iter().copied().zip(coarse.radii.iter().copied()).collect();
        assert_eq!(overlaps(&balls), 0);
        assert_eq!(opening.count(&model, 0.3), coarse.len() as u64);
        // A closed opening pours nothing more.
        let mut state = coarse.clone();
        assert_eq!(pour(&model, &mut state, &opening, 0.0, (0.2, 9.0), Stream::new(2, "pour")).unwrap(), 0);
    }

    #[test]
    fn a_heap_holds_back_what_would_appear_in_it_and_nothing_else() {
        let (model, stream) = (model(), Stream::new(2, "pour"));
        let opening =
            Opening { position: DVec3::Y, direction: DVec3::NEG_Y, radius: 0.02, speed: 1.0, start: 0.0, stop: 1.0 };
        let poured = |low: DVec3, high: DVec3| {
            let mut state = GrainState::default();
            for grain in fill(&model, &Region::Box { low, high }, Beginning::default(), Stream::new(1, "fill")).unwrap()
            {
                state.push(&model, grain);
            }
            // Ten layers and more in one step.
            let count = pour(&model, &mut state, &opening, 0.0, (0.0, 0.06), stream).unwrap();
            let balls: Vec<_> = state.positions.iter().copied().zip(state.radii.iter().copied()).collect();
            assert_eq!(overlaps(&balls), 0);
            count as u64
        };
        let (edge, all) = (DVec3::splat(0.03), opening.count(&model, 0.06));
        // Where the first of them have got to, and all around but not in their way.
        let below = DVec3::new(0.0, 0.95, 0.0);
        assert!((1..all).contains(&poured(below - edge, below + edge)));
        for side in [DVec3::X, DVec3::NEG_X, DVec3::Z, DVec3::NEG_Z, 2.0 * DVec3::Y] {
            let beside = DVec3::new(0.0, 0.97, 0.0) + side * 0.051;
            assert_eq!(poured(beside - edge, beside + edge), all, "{side}");
        }
    }
}
