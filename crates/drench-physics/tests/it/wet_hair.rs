//! Water in hair: what must be kept, what closed forms say, what must not depend on threads.

#![allow(clippy::unwrap_used)]

use drench_math::random::Stream;
use drench_physics::liquid::{Droplet, LiquidState};
use drench_physics::synthetic::Bundle;
use drench_physics::wetting::Liquid;
use drench_physics::wetting::hair::{
    self, Clinging, Cohesion, Estimate, Fibre, Hair, HairScratch, HairWater, Medium, Strands, Surroundings, Tally,
};
use glam::DVec3;

/// Hair, its water and the liquid around it.
struct Bath {
    bundle: Bundle,
    hair: Hair,
    water: HairWater,
    scratch: HairScratch,
    velocities: Vec<DVec3>,
    liquid: LiquidState,
    drained: f64,
}

/// Mass [kg] and radius [m] of a full particle of liquid.
const FULL: f64 = 2.7e-5;
const RADIUS: f64 = 1.5e-3;

impl Bath {
    fn new(bundle: Bundle, medium: Medium, fibre: Fibre, wetness: [f64; 2]) -> Self {
        let hair = Hair::new(medium, &[bundle.groom(fibre)]).unwrap();
        let water = HairWater::new(&hair, &[wetness]);
        let velocities = vec![DVec3::ZERO; bundle.positions.len()];
        let (scratch, liquid) = (HairScratch::default(), LiquidState::default());
        Self { bundle, hair, water, scratch, velocities, liquid, drained: 0.0 }
    }

    fn step(&mut self, dt: f64) -> Tally {
        hair::locate(&self.hair, &mut self.scratch, &self.bundle.positions).unwrap();
        let strands = Strands { positions: &self.bundle.positions, velocities: &mut self.velocities };
        let mut liquid = Liquid {
            positions: &self.liquid.positions,
            before: &[],
            velocities: &self.liquid.velocities,
            masses: &mut self.liquid.masses,
            radius: RADIUS,
            full: FULL,
        };
        let around = Surroundings { gravity: DVec3::new(0.0, -9.81, 0.0), towels: &[] };
        let mut drips = Vec::new();
        let tally =
            hair::step(&self.hair, &mut self.water, &mut self.scratch, strands, &mut liquid, &around, dt, &mut drips)
                .unwrap();
        self.liquid.remove(|drop| drop.mass <= 0.0);
        hair::release(&mut self.liquid, &drips, &mut Default::default(), [FULL, RADIUS], 0.0).unwrap();
        self.drained += tally.dried;
        tally
    }

    fn total(&self) -> f64 {
        self.water.reservoirs().iter().sum::<f64>() + self.liquid.mass() + self.drained
    }

    fn rain(&mut self, seed: u64, count: u64, over: f64) {
        let stream = Stream::new(seed, "rain");
        let at = |i: u64, k: u64| over * stream.uniform(3 * i + k);
        let drop = |i| Droplet {
            position: DVec3::new(at(i, 0), 0.004 - 0.02 * stream.uniform(3 * i + 2), at(i, 1)),
            velocity: DVec3::new(0.0, -1.0, 0.0),
            mass: FULL,
            birth: 0.0,
        };
        self.liquid.add(&(0..count).map(drop).collect::<Vec<_>>());
    }
}

/// Hair that does nothing but what a test asks of it.
fn idle() -> (Medium, Fibre) {
    let medium = Medium { along: 0.0, across: 0.0, level: 0.0, delay: f64::MAX, ..Medium::default() };
    let fibre = Fibre { soak: 0.0, diffusion: 0.0, flow: 0.0, change: 0.0, ..Fibre::default() };
    (medium, fibre)
}

#[test]
fn no_water_is_made_or_lost_and_none_is_negative() {
    let fibre = Fibre { drying: 0.2, fibre_drying: 0.1, oil: 0.8, wear: 20.0, flow: 0.3, ..Fibre::default() };
    let medium = Medium { delay: 0.01, ..Medium::default() };
    let mut bath = Bath::new(Bundle::hanging(12, 1.3e-3, 12, 4e-3), medium, fibre, [0.0, 0.3]);
    let before = bath.total();
    let mut rained = 0.0;
    let (mut taken, mut drops) = (0.0, 0);
    for step in 0..2000 {
        if step % 40 == 0 && step < 1000 {
            bath.rain(step, 12, 0.016);
            rained += 12.0 * FULL;
        }
        for x in &mut bath.liquid.positions {
            x.y -= 2e-3;
        }
        let tally = bath.step(2e-3);
        taken += tally.taken;
        drops += tally.drops;
        let water = &bath.water;
        assert!(water.inside.iter().chain(&water.around).chain(&water.free).all(|&w| w >= 0.0 && w.is_finite()));
        assert!(water.free.iter().zip(&water.around).all(|(free, around)| free <= around));
        let error = (bath.total() - before - rained) / bath.total();
        assert!(error.abs() < 1e-12, "step {step}: {error:e}");
    }
    assert!(taken > 0.05 * rained && drops > 3, "{taken} of {rained}, {drops} drops");
    assert!(bath.velocities.iter().any(|v| v.y < -1e-3), "rain pushes hair down");
}

#[test]
fn momentum_of_what_is_taken_in_goes_to_the_hair() {
    let (medium, fibre) = idle();
    let mut bath = Bath::new(Bundle::hanging(6, 1e-3, 8, 4e-3), medium, fibre, [0.0, 0.0]);
    bath.rain(1, 5, 0.005);
    let liquid = bath.liquid.momentum();
    let tally = bath.step(1e-3);
    assert!(tally.taken > 0.0);
    let mut hair = DVec3::ZERO;
    for i in 0..bath.velocities.len() {
        let segment = |i: usize| match i < bath.velocities.len() {
            true => f64::from(bath.hair.masses()[i]) + bath.water.inside[i] + bath.water.around[i],
            false => 0.0,
        };
        hair += bath.velocities[i] * 0.5 * (segment(i) + segment(i + 1));
    }
    let error = (hair + bath.liquid.momentum() - liquid).length() / liquid.length();
    assert!(error < 1e-12, "{error:e}");
}

#[test]
fn a_hanging_strand_drains_at_the_speed_of_its_free_water() {
    let (medium, mut fibre) = idle();
    (fibre.flow, fibre.between) = (0.1, 0.0);
    for count in [50, 200] {
        let length = 0.2 / f64::from(count);
        let mut bath = Bath::new(Bundle::new(&[DVec3::ZERO], DVec3::NEG_Y, count + 1, length), medium, fibre, [0.0; 2]);
        bath.water.around.iter_mut().skip(1).for_each(|w| *w = 1e-9);
        let total: f64 = bath.water.around.iter().sum();
        // A second moves the water by half the strand: half of it is at the tip.
        for _ in 0..1000 {
            bath.step(1e-3);
        }
        let tip = bath.water.around.last().unwrap() / total;
        assert!((tip - 0.5).abs() < 1.5 / f64::from(count), "{count}: {tip}");
        let upper: f64 = bath.water.around[..count as usize / 4].iter().sum();
        assert!(upper < 0.02 * total, "{upper}");
    }
}

#[test]
fn water_is_thrown_to_the_tips_of_hair_that_is_swung() {
    let (medium, mut fibre) = idle();
    (fibre.flow, fibre.between) = (0.1, 0.0);
    // Lying strands: gravity does nothing.
    let mut bath = Bath::new(Bundle::new(&[DVec3::ZERO], DVec3::X, 21, 0.01), medium, fibre, [0.0, 0.0]);
    bath.water.around[10] = 1e-7;
    let centre = |bath: &Bath| {
        let sum: f64 = bath.water.around.iter().sum();
        (0..21).map(|i| bath.water.around[i] * i as f64).sum::<f64>() / sum
    };
    let before = centre(&bath);
    bath.step(1e-3);
    assert!((centre(&bath) - before).abs() < 1e-9);
    for step in 1..200 {
        // Thrown towards the root, water goes to the tip.
        bath.velocities.fill(DVec3::NEG_X * (0.02 * f64::from(step)));
        bath.step(1e-3);
    }
    assert!(centre(&bath) > before + 0.5, "{} {before}", centre(&bath));
}

#[test]
fn capillary_water_spreads_as_the_heat_equation_says_along_hair_and_across_it() {
    let (mut medium, mut fibre) = idle();
    (medium.along, medium.across, medium.voxel) = (2e-5, 5e-6, 2e-3);
    medium.estimate = Estimate::Count;
    fibre.between = 50.0;
    for way in [DVec3::Y, DVec3::new(1.0, 2.0, 0.5).normalize()] {
        let u = way.any_orthonormal_vector();
        let v = way.cross(u);
        let roots: Vec<DVec3> = (0..40 * 40)
            .map(|k| (u * f64::from(k % 40 - 20) + v * f64::from(k / 40 - 20)) * 1e-3 - way * 0.03)
            .collect();
        let bundle = Bundle::new(&roots, way, 61, 1e-3);
        let mut bath = Bath::new(bundle, medium, fibre, [0.0; 2]);
        // A small ball of water in the middle.
        for i in 0..bath.water.around.len() {
            let square = bath.bundle.positions[i].length_squared();
            if i % 61 != 0 {
                bath.water.around[i] = 1e-8 * (-square / (2.0 * 4e-3_f64.powi(2))).exp();
            }
        }
        let variance = |bath: &Bath, axis: DVec3| {
            let (mut sum, mut square) = (0.0, 0.0);
            for i in (0..bath.water.around.len()).filter(|i| i % 61 != 0) {
                let middle = 0.5 * (bath.bundle.positions[i] + bath.bundle.positions[i - 1]);
                sum += bath.water.around[i];
                square += bath.water.around[i] * middle.dot(axis).powi(2);
            }
            square / sum
        };
        let before = [way, u, v].map(|axis| variance(&bath, axis));
        for _ in 0..40 {
            bath.step(0.01);
        }
        let after = [way, u, v].map(|axis| variance(&bath, axis));
        let rates = [0, 1, 2].map(|axis| (after[axis] - before[axis]) / (2.0 * 0.4));
        assert!((rates[0] / medium.along - 1.0).abs() < 0.1, "{way}: {rates:?}");
        assert!((rates[1] / medium.across - 1.0).abs() < 0.1, "{way}: {rates:?}");
        assert!((rates[2] / medium.across - 1.0).abs() < 0.1, "{way}: {rates:?}");
    }
}

/// Variance along the strands [m2] of a small ball of water in slanting hair after 0.4 s, taken in so many steps.
fn variance_after(steps: u32) -> f64 {
    let (mut medium, mut fibre) = idle();
    (medium.along, medium.across, medium.voxel, medium.estimate) = (2e-5, 5e-6, 2e-3, Estimate::Count);
    fibre.between = 50.0;
    let way = DVec3::new(1.0, 2.0, 0.5).normalize();
    let (u, v) = (way.any_orthonormal_vector(), way.cross(way.any_orthonormal_vector()));
    let place = |k: i32| (u * f64::from(k % 20 - 10) + v * f64::from(k / 20 - 10)) * 1e-3 - way * 0.03;
    let mut bath =
        Bath::new(Bundle::new(&(0..400).map(place).collect::<Vec<_>>(), way, 61, 1e-3), medium, fibre, [0.0; 2]);
    let middles: Vec<DVec3> = (0..bath.water.around.len())
        .map(|i| 0.5 * (bath.bundle.positions[i] + bath.bundle.positions[i.saturating_sub(1)]))
        .collect();
    let inside = (0..middles.len()).filter(|i| i % 61 != 0 && middles[*i].length() < 3e-3);
    inside.for_each(|i| bath.water.around[i] = 1e-8);
    for _ in 0..steps {
        bath.step(0.4 / f64::from(steps));
    }
    let moment =
        |power: i32| (0..middles.len()).map(|i| bath.water.around[i] * middles[i].dot(way).powi(power)).sum::<f64>();
    moment(2) / moment(0) - (moment(1) / moment(0)).powi(2)
}

#[test]
fn one_long_step_spreads_water_as_far_as_many_short_ones() {
    let (short, long) = (variance_after(40), variance_after(1));
    assert!((long / short - 1.0).abs() < 0.03, "{long} {short}");
}

#[test]
fn spreading_that_is_too_fast_for_its_voxels_neither_hangs_nor_loses_water() {
    let medium = Medium { along: 0.01, across: 0.01, voxel: 2e-3, ..idle().0 };
    let mut bath = Bath::new(Bundle::hanging(5, 1e-3, 12, 2e-3), medium, idle().1, [0.0; 2]);
    bath.water.around[6] = 1e-8;
    for _ in 0..3 {
        // Two million steps of the fastest voxel.
        let left = bath.step(100.0).unspread;
        assert!(left > 90.0 && left < 100.0, "{left}");
    }
    assert_eq!(bath.step(0.01).unspread, 0.0);
    let total: f64 = bath.water.around.iter().sum();
    assert!((total / 1e-8 - 1.0).abs() < 1e-9 && bath.water.around.iter().all(|&w| w >= 0.0), "{total:e}");
    let most = bath.water.around.iter().fold(0.0_f64, |most, &w| most.max(w));
    assert!(most < 8.0 * total / (25.0 * 11.0), "{most} of {total}");
}

#[test]
fn a_hair_is_not_its_own_neighbour() {
    let (medium, fibre) = idle();
    let medium = Medium { estimate: Estimate::Spacing(1e-3), ..medium };
    let between = |roots: &[DVec3], hairs: f64| {
        let bundle = Bundle::new(roots, DVec3::NEG_Y, 9, 1e-3);
        let hair = Hair::new(medium, &[bundle.groom(Fibre { hairs, ..fibre })]).unwrap();
        let voxels = hair::survey(&hair, &HairWater::new(&hair, &[[0.0; 2]]), &bundle.positions).unwrap();
        voxels[0].between[1] / (fibre.between * hairs * 1e-7 * voxels[0].length / 1e-3)
    };
    let here = DVec3::new(2e-3, 4.5e-3, 2e-3);
    assert!(between(&[here], 1.0) < 1e-6);
    // One neighbour that goes through the same 3.5 mm of a voxel of 5 mm.
    let share = |others: f64| 1.0 - (-std::f64::consts::PI * others * 3.5e-3 / 125e-9 * 1e-6_f64).exp();
    let pair = between(&[here, here + DVec3::X * 1e-3], 1.0);
    assert!((pair / share(1.0) - 1.0).abs() < 1e-5, "{pair} {}", share(1.0));
    let strand = between(&[here], 15.0);
    assert!((strand / share(14.0) - 1.0).abs() < 1e-5, "{strand} {}", share(14.0));
}

#[test]
fn a_strand_that_stands_for_many_hairs_has_their_share_of_room_and_of_free_water() {
    let (medium, fibre) = idle();
    let medium = Medium { estimate: Estimate::Count, ..medium };
    let bundle = |x: f64| Bundle::new(&[DVec3::new(x, 4e-3, 2e-3)], DVec3::NEG_Y, 2, 2e-3);
    let (lone, lock) = (bundle(1e-3), bundle(2e-3));
    let positions = [&lone.positions[..], &lock.positions].concat();
    let run = |medium: Medium, fibre: Fibre, steps: u32| {
        let grooms = [lone.groom(fibre), lock.groom(Fibre { hairs: 19.0, ..fibre })];
        let hair = Hair::new(medium, &grooms).unwrap();
        let mut water = HairWater::new(&hair, &[[0.0; 2]; 2]);
        (water.around[1], water.around[3]) = (1e-6, 1e-6);
        let mut velocities = vec![DVec3::ZERO; 4];
        for _ in 0..steps {
            let mut none = Liquid {
                positions: &[],
                before: &[],
                velocities: &[],
                masses: &mut [],
                radius: 1e-3,
                full: f64::INFINITY,
            };
            let strands = Strands { positions: &positions, velocities: &mut velocities };
            let around = Surroundings { gravity: DVec3::ZERO, towels: &[] };
            let scratch = &mut HairScratch::default();
            hair::locate(&hair, scratch, &positions).unwrap();
            hair::step(&hair, &mut water, scratch, strands, &mut none, &around, 0.1, &mut Vec::new()).unwrap();
        }
        water
    };
    // Room for 0.8 of the mass of 20 hairs, a twentieth of it at the lone one.
    let water = run(medium, fibre, 1);
    let room = 0.8 * 1e-7;
    assert!((water.free[1] / (1e-6 - room) - 1.0).abs() < 1e-6, "{:e}", water.free[1]);
    assert_eq!(water.free[3], 0.0);
    // Free water has the same thickness on all hairs in the end.
    let water = run(Medium { level: 10.0, ..medium }, Fibre { between: 0.0, ..fibre }, 100);
    assert!((water.free[3] / water.free[1] - 19.0).abs() < 1e-6, "{}", water.free[3] / water.free[1]);
    assert!((water.free[1] + water.free[3] - 2e-6).abs() < 1e-15);
}

#[test]
fn water_does_not_flicker_between_hair_and_drops() {
    // Full hair whose fibres make a little room in every step, and a drop at rest within it.
    let (medium, fibre) = idle();
    let medium = Medium { estimate: Estimate::Count, ..medium };
    let fibre = Fibre { soak: 0.5, ..fibre };
    let mut bath = Bath::new(Bundle::hanging(4, 1e-3, 8, 4e-3), medium, fibre, [0.0; 2]);
    for i in 0..bath.water.around.len() {
        bath.water.around[i] = (fibre.between + fibre.around) * f64::from(bath.hair.masses()[i]);
    }
    let position = DVec3::new(2e-3, -7.5e-3, 2e-3);
    bath.liquid.add(&[Droplet { position, velocity: DVec3::ZERO, mass: FULL, birth: 0.0 }]);
    let sips = (0..600).filter(|_| bath.step(2e-3).taken > 0.0).count();
    // It drinks only where a twentieth of the room is free, and for a moment: seven times in 600 steps.
    assert!((1..=10).contains(&sips), "{sips}");
    // Hair that holds too much: what has dripped stays out, however slowly it falls away.
    let medium = Medium { delay: 0.02, ..Medium::default() };
    let mut bath = Bath::new(Bundle::hanging(6, 1e-3, 12, 4e-3), medium, Fibre::default(), [1.0, 0.0]);
    for i in 0..bath.water.around.len() {
        bath.water.around[i] = 3.0 * f64::from(bath.hair.masses()[i]);
    }
    let (mut dripped, mut taken) = (0.0, 0.0);
    for _ in 0..500 {
        let tally = bath.step(2e-3);
        (dripped, taken) = (dripped + tally.dripped, taken + tally.taken);
        let LiquidState { positions, velocities, .. } = &mut bath.liquid;
        for (x, v) in positions.iter_mut().zip(velocities) {
            v.y -= 9.81 * 2e-3;
            *x += *v * 2e-3;
        }
    }
    assert!(dripped > 3.0 * FULL && taken < 0.02 * dripped, "{taken:e} of {dripped:e}");
}

#[test]
fn a_voxel_takes_what_fits_and_leaves_the_rest() {
    let (medium, fibre) = idle();
    let mut bath = Bath::new(Bundle::hanging(4, 1e-3, 8, 4e-3), medium, fibre, [0.0; 2]);
    let hair: f64 = bath.hair.masses().iter().map(|&m| f64::from(m)).sum();
    for seed in 0..400 {
        bath.liquid = LiquidState::default();
        bath.rain(seed, 10, 0.004);
        for (k, x) in bath.liquid.positions.iter_mut().enumerate() {
            x.y = -0.003 * k as f64;
        }
        bath.step(1e-3);
    }
    let held: f64 = bath.water.around.iter().sum();
    let most = (fibre.between + fibre.around) * hair;
    assert!(held <= 1.001 * most && held > 0.5 * most, "{held} of {most}");
    assert!(!bath.liquid.is_empty());
}

#[test]
fn a_drop_wets_the_hair_on_its_way_however_long_the_steps_and_none_that_it_leaves() {
    let (medium, fibre) = idle();
    let taken = |x: f64, speed: f64, steps: u32| {
        let mut bath = Bath::new(Bundle::hanging(8, 1e-3, 10, 4e-3), medium, fibre, [0.0; 2]);
        let (position, velocity) = (DVec3::new(x, -0.0152, 0.0036), DVec3::X * speed);
        bath.liquid.add(&[Droplet { position, velocity, mass: FULL, birth: 0.0 }]);
        let dt = 0.02 / f64::from(steps);
        let step = |_| {
            bath.liquid.positions.iter_mut().for_each(|x| *x += velocity * dt);
            bath.velocities.fill(DVec3::ZERO);
            bath.step(dt).taken
        };
        (0..steps).map(step).sum::<f64>()
    };
    // Through 8 mm of hair, from 2 cm before it to 3 cm behind it.
    let [once, often] = [1, 37].map(|steps| taken(-0.02, 3.0, steps));
    assert!(once > 0.01 * FULL && (often / once - 1.0).abs() < 0.03, "{once:e} {often:e}");
    // Past the middle of the last voxel, and beside it.
    for x in [0.009, 0.0108] {
        assert_eq!([1, 37].map(|steps| taken(x, 1.0, steps)), [0.0; 2], "{x}");
    }
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let medium = Medium { delay: 0.0, ..Medium::default() };
            let mut bath = Bath::new(Bundle::hanging(40, 1.1e-3, 14, 4e-3), medium, Fibre::default(), [0.2, 1.0]);
            bath.rain(3, 200, 0.04);
            for _ in 0..20 {
                bath.step(5e-3);
            }
            (bath.water, bath.liquid)
        })
    };
    let one = run(1);
    assert!(one == run(2) && one == run(5));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let bundle = Bundle::hanging(2, 1e-3, 3, 1e-3);
    let groom = |fibre| bundle.groom(fibre);
    let refused = |medium, fibre| Hair::new(medium, &[groom(fibre)]).unwrap_err().to_string();
    let (medium, fibre) = (Medium::default(), Fibre::default());
    for (message, name) in [
        (refused(Medium { voxel: 0.0, ..medium }, fibre), "voxel"),
        (refused(Medium { along: -1.0, ..medium }, fibre), "along"),
        (refused(Medium { estimate: Estimate::Spacing(0.0), ..medium }, fibre), "reach"),
        (refused(medium, Fibre { inside: 1.5, ..fibre }), "inside"),
        (refused(medium, Fibre { flow: -0.1, ..fibre }), "free water"),
        (refused(medium, Fibre { drying: f64::NAN, ..fibre }), "drying"),
        (refused(medium, Fibre { hairs: 0.0, ..fibre }), "hairs"),
    ] {
        assert!(message.contains(name), "{message}");
    }
    // What reaches across too many voxels would take for ever.
    let thin = Medium { voxel: 1e-4, ..medium };
    let message = Cohesion { reach: 2e-3, pull: 1.0 }.check(&thin, 0.0).unwrap_err().to_string();
    assert!(message.contains("reach") && message.contains("make `voxel` larger"), "{message}");
    assert!(Cohesion { reach: 1e-3, pull: 1.0 }.check(&thin, 0.0).is_ok());
    assert!(Cohesion { reach: 1e-3, pull: 1.0 }.check(&thin, 1e-3).is_err());
    let hair = Hair::new(thin, &[groom(fibre)]).unwrap();
    let mut liquid =
        Liquid { positions: &[], before: &[], velocities: &[], masses: &mut [], radius: RADIUS, full: FULL };
    let mut velocities = vec![DVec3::ZERO; bundle.positions.len()];
    let strands = Strands { positions: &bundle.positions, velocities: &mut velocities };
    let around = Surroundings { gravity: DVec3::ZERO, towels: &[] };
    let (mut water, scratch) = (HairWater::new(&hair, &[[0.0; 2]]), &mut HairScratch::default());
    let refused = hair::step(&hair, &mut water, scratch, strands, &mut liquid, &around, 1e-3, &mut Vec::new());
    assert!(refused.unwrap_err().to_string().contains("make `voxel` larger"));
    // Hair that holds nothing is only odd.
    let mut bath = Bath::new(
        Bundle::hanging(3, 1e-3, 5, 2e-3),
        medium,
        Fibre { inside: 0.0, between: 0.0, around: 0.0, ..fibre },
        [1.0, 1.0],
    );
    bath.rain(1, 20, 0.003);
    let before = bath.total();
    for _ in 0..50 {
        bath.step(1e-2);
    }
    assert!((bath.total() / before - 1.0).abs() < 1e-12);
}

/// Two strands side by side, `apart` [m], as wet as said; where they are after a while, and how many bridges hold them.
fn side_by_side(apart: f64, dampness: f64, force: f64) -> (f64, u64) {
    let (medium, fibre) = idle();
    let roots = [DVec3::ZERO, DVec3::X * apart];
    let mut bath = Bath::new(Bundle::new(&roots, DVec3::NEG_Y, 21, 2e-3), medium, fibre, [0.0; 2]);
    let room = fibre.between + fibre.around;
    for i in 0..bath.water.around.len() {
        bath.water.around[i] = dampness * room * f64::from(bath.hair.masses()[i]);
    }
    // Roots are held.
    let light = |i: usize| if i.is_multiple_of(21) { 0.0 } else { 1.0 / (3.0 * f64::from(bath.bundle.masses[i])) };
    let masses: Vec<f64> = (0..42).map(light).collect();
    let radii = vec![4e-5; masses.len()];
    let cohesion = Cohesion { reach: 2e-3, pull: 1e-3 };
    let mut bridges = 0;
    // Nothing but bridges holds the vertices of a strand together here: when drawn apart they soon lie anyhow.
    for _ in 0..if force > 0.0 { 120 } else { 500 } {
        bath.step(2e-3);
        for (i, v) in bath.velocities.iter_mut().enumerate() {
            // Loose strands that are drawn apart, in thick air.
            v.x += if i < 21 { -force } else { force } * masses[i] * 2e-3;
            *v /= 1.0 + 5.0 * 2e-3;
        }
        let strands = Clinging {
            positions: &bath.bundle.positions,
            velocities: &mut bath.velocities,
            inverse_masses: &masses,
            radii: &radii,
        };
        bridges = hair::cling(&bath.hair, &mut bath.water, &mut bath.scratch, &cohesion, strands, 2e-3).unwrap();
        let moved = bath.velocities.iter().map(|v| *v * 2e-3);
        bath.bundle.positions.iter_mut().zip(moved).for_each(|(x, moved)| *x += moved);
    }
    (bath.bundle.positions[30].x - bath.bundle.positions[9].x, bridges)
}

#[test]
fn wet_strands_attract_hold_and_let_go_at_the_stated_reach() {
    let contact = 8e-5;
    // Full of water: across 2 mm.
    let (gap, bridges) = side_by_side(1.9e-3, 1.0, 0.0);
    assert!(bridges > 10 && (gap - contact).abs() < 2e-5, "{gap} {bridges}");
    assert_eq!(side_by_side(2.2e-3, 1.0, 0.0), (2.2e-3, 0));
    // Half full: across 1 mm.
    let (gap, _) = side_by_side(0.95e-3, 0.5, 0.0);
    assert!((gap - contact).abs() < 2e-5, "{gap}");
    assert_eq!(side_by_side(1.2e-3, 0.5, 0.0), (1.2e-3, 0));
    // Each vertex is held by 1e-3 N/m over 2 mm, from both sides.
    let (gap, bridges) = side_by_side(0.1e-3, 1.0, 1e-6);
    assert!(gap < 2e-3 && bridges > 10, "{gap}");
    let (gap, _) = side_by_side(0.1e-3, 1.0, 2e-5);
    assert!(gap > 2.1e-3, "{gap}");
    // Dry strands do not.
    assert_eq!(side_by_side(1e-3, 0.0, 0.0), (1e-3, 0));
}

#[test]
fn a_strand_between_two_others_goes_to_the_nearer_one() {
    let (medium, fibre) = idle();
    let roots = [0.0, 0.8e-3, 2e-3].map(|x| DVec3::X * x);
    let mut bath = Bath::new(Bundle::new(&roots, DVec3::NEG_Y, 21, 2e-3), medium, fibre, [1.0, 1.0]);
    let masses: Vec<f64> = bath.bundle.masses.iter().map(|&m| 1.0 / f64::from(m)).collect();
    let radii = vec![4e-5; masses.len()];
    // Both are within reach; whether the pull or the film limits it.
    for pull in [1e3, 1e-7] {
        bath.velocities.fill(DVec3::ZERO);
        for _ in 0..20 {
            bath.step(1e-3);
            bath.velocities.fill(DVec3::ZERO);
            let strands = Clinging {
                positions: &bath.bundle.positions,
                velocities: &mut bath.velocities,
                inverse_masses: &masses,
                radii: &radii,
            };
            let cohesion = Cohesion { reach: 5e-3, pull };
            hair::cling(&bath.hair, &mut bath.water, &mut bath.scratch, &cohesion, strands, 1e-3).unwrap();
        }
        let [left, middle, right] = [10, 31, 52].map(|i| bath.velocities[i].x);
        assert!(left > 0.0 && middle < 0.0 && right < 0.0, "{pull}: {left} {middle} {right}");
    }
}

#[test]
fn strands_that_bridges_have_drawn_together_are_one_clump() {
    let (medium, fibre) = idle();
    let masses = vec![0.0; 6 * 21];
    let radii = vec![4e-5; masses.len()];
    let cohesion = Cohesion { reach: 1.5e-3, pull: 1e-3 };
    // Three in a row, two, and one that is far away; the last of the three is only close to the second. Bent, they part by so much in their last segment.
    let clumps = |apart: f64, dampness: f64, parted: f64| {
        let roots = [0.0, apart, 2.0 * apart, 0.03, 0.03 + apart, 0.06].map(|x| DVec3::X * x);
        let mut bath = Bath::new(Bundle::new(&roots, DVec3::NEG_Y, 21, 2e-3), medium, fibre, [0.0; 2]);
        for strand in 0..6 {
            bath.bundle.positions[21 * strand + 20].x += parted * strand as f64;
        }
        let mut bridges = 0;
        let room = fibre.between + fibre.around;
        for i in 0..masses.len() {
            bath.water.around[i] = dampness * room * f64::from(bath.hair.masses()[i]);
        }
        for _ in 0..20 {
            bath.step(1e-3);
            let strands = Clinging {
                positions: &bath.bundle.positions,
                velocities: &mut bath.velocities,
                inverse_masses: &masses,
                radii: &radii,
            };
            bridges = hair::cling(&bath.hair, &mut bath.water, &mut bath.scratch, &cohesion, strands, 1e-3).unwrap();
        }
        (hair::clumps(&bath.hair, &bath.water, &cohesion, 0, &bath.bundle.positions, &radii), bridges > 0)
    };
    assert_eq!(clumps(0.2e-3, 0.0, 0.0), (6, false));
    assert_eq!(clumps(0.2e-3, 1.0, 0.0), (3, true));
    // A twentieth full they reach across 0.075 mm only.
    assert_eq!(clumps(0.2e-3, 0.05, 0.0), (6, false));
    // Bridges that have not drawn them together do not make a clump.
    assert_eq!(clumps(0.3e-3, 1.0, 0.0), (6, true));
    assert_eq!(clumps(1e-3, 1.0, 0.0), (6, true));
    // Nor do those farther up, if the tips have parted.
    assert_eq!(clumps(0.2e-3, 1.0, 1e-3), (6, true));
}

#[test]
fn what_one_strand_gains_by_clinging_the_others_lose() {
    let (medium, fibre) = idle();
    let mut bath = Bath::new(Bundle::hanging(8, 0.9e-3, 15, 3e-3), medium, fibre, [1.0, 1.0]);
    let stream = Stream::new(9, "cling");
    for (i, (x, v)) in bath.bundle.positions.iter_mut().zip(&mut bath.velocities).enumerate() {
        *x += stream.direction(i as u64) * 3e-4;
        *v = stream.direction(1_000_000 + i as u64);
    }
    let masses: Vec<f64> = bath.bundle.masses.iter().map(|&m| 1.0 / f64::from(m)).collect();
    let momentum = |v: &[DVec3]| v.iter().zip(&masses).map(|(v, m)| *v / *m).sum::<DVec3>();
    let energy = |v: &[DVec3]| v.iter().zip(&masses).map(|(v, m)| v.length_squared() / m).sum::<f64>();
    bath.step(1e-3);
    let radii = vec![1e-4; masses.len()];
    let cohesion = Cohesion { reach: 2e-3, pull: 1e3 };
    let mut bridges = 0;
    for _ in 0..10 {
        let before = (momentum(&bath.velocities), energy(&bath.velocities));
        let strands = Clinging {
            positions: &bath.bundle.positions,
            velocities: &mut bath.velocities,
            inverse_masses: &masses,
            radii: &radii,
        };
        bridges = hair::cling(&bath.hair, &mut bath.water, &mut bath.scratch, &cohesion, strands, 1e-3).unwrap();
        let change = momentum(&bath.velocities) - before.0;
        assert!(change.length() < 1e-18, "{change}");
        // However strong, it only brings velocities together.
        assert!(energy(&bath.velocities) < 1.01 * before.1);
    }
    assert!(bridges > 500, "{bridges}");
}
