//! Drops that hang at the ends of wet hair.
//!
//! Of the film on the last segment of a strand a part clings, the rest gathers at the end. Where ends lie together they
//! are wet by one body of water: what gathers at an end runs along the strands that it touches to the lowest of their
//! ends, and hangs there as one drop. A drop holds by its surface tension: one wider than the capillary length
//! sqrt(sigma / rho g), 2.7 mm in water, falls. What is more stays at ends farther up.
//!
//! The shape of a drop is the pear r = sin t sin^m(t / 2), y = cos t, 0 <= t <= pi, of the volume 8 pi / ((m + 2) (m + 3)).
//! Small drops are round (m = 0 is a ball), in larger ones weight draws out the neck.

use super::surface::Surface;
use crate::fibre::water::{Wetness, per_vertex};
use drench_geometry::neighbours::Neighbours;
use drench_io::StrandBody;
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use std::f32::consts::{PI, TAU};
use std::sync::atomic::{AtomicU32, Ordering};

/// Film from which the water at the end of a strand hangs as a drop [radii of the strand].
const CLINGING: f32 = 0.6;
/// Capillary length of water [m]: across this distance it bridges gaps and bears its weight.
const CAPILLARY: f32 = 2.7e-3;
/// Radii of balls of as much water as drops hold [m]: smaller ones do not show, larger ones would have fallen.
pub(super) const HANGING: std::ops::RangeInclusive<f32> = 0.2e-3..=CAPILLARY;
/// Slices of a drop's mesh along and around it.
const RINGS: usize = 8;
const SEGMENTS: usize = 12;

/// Water at an end of hair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Drop {
    /// Where it hangs [m].
    pub end: Vec3,
    /// Volume [m^3].
    pub volume: f32,
}

impl Drop {
    /// Radius of a ball of this volume [m].
    fn radius(self) -> f32 {
        (self.volume * 0.75 / PI).cbrt()
    }
}

fn ball_volume(radius: f32) -> f32 {
    4.0 / 3.0 * PI * radius.powi(3)
}

/// Drops at the tips of wet strands, one for each bundle of them.
pub fn hanging_drops(body: &StrandBody) -> Surface {
    let mut mesh = Surface::default();
    for drop in drops(body) {
        pear(drop, &mut mesh);
    }
    mesh
}

/// The lower end of a strand.
#[derive(Clone, Copy)]
struct End {
    at: Vec3,
    /// What gathers there [m^3].
    water: f32,
    wet: bool,
}

impl End {
    const NONE: Self = Self { at: Vec3::NAN, water: 0.0, wet: false };
}

pub(super) fn drops(body: &StrandBody) -> Vec<Drop> {
    let ends = ends(body);
    if ends.iter().all(|end| end.water <= 0.0) {
        return Vec::new();
    }
    let below = runs_to(body, &ends);
    let mut order: Vec<u32> = (0..ends.len() as u32).filter(|&i| ends[i as usize].wet).collect();
    order.sort_unstable_by(|&i, &j| height(&ends, i).total_cmp(&height(&ends, j)).then(i.cmp(&j)));
    // Lowest first: where water runs to is known when its turn comes.
    let mut lowest: Vec<u32> = (0..ends.len() as u32).collect();
    let mut bundles: Vec<Bundle> = vec![Bundle::default(); ends.len()];
    let mut drops: Vec<Drop> = Vec::new();
    for &i in &order {
        lowest[i as usize] = below[i as usize].map_or(i, |j| lowest[j as usize]);
        let end = lowest[i as usize] as usize;
        bundles[end].fill(ends[end].at, ends[i as usize], &mut drops);
    }
    drops.retain(|drop| drop.radius() >= *HANGING.start());
    drops
}

fn height(ends: &[End], i: u32) -> f32 {
    ends[i as usize].at.y
}

/// Strands that end together.
#[derive(Clone, Copy, Default)]
struct Bundle {
    /// The drop that still has room.
    open: Option<u32>,
    /// Water that found no room yet [m^3].
    waiting: f32,
}

impl Bundle {
    /// Adds the water of an end that is not lower than the ends before.
    fn fill(&mut self, lowest: Vec3, end: End, drops: &mut Vec<Drop>) {
        let most = ball_volume(*HANGING.end());
        self.waiting += end.water;
        let clear = |drop: &Drop| end.at.y - drop.end.y > 3.0 * *HANGING.end();
        let open = match self.open {
            Some(open) if drops[open as usize].volume >= most && clear(&drops[open as usize]) => None,
            open => open,
        };
        if self.waiting <= 0.0 {
            return;
        }
        let open = open.unwrap_or_else(|| {
            let at = if self.open.is_none() { lowest } else { end.at };
            drops.push(Drop { end: at, volume: 0.0 });
            drops.len() as u32 - 1
        });
        self.open = Some(open);
        let drop = &mut drops[open as usize];
        let taken = self.waiting.min(most - drop.volume);
        drop.volume += taken;
        self.waiting -= taken;
    }
}

/// What gathers at the end of each strand, of the water on the last segment of its lock.
fn ends(body: &StrandBody) -> Vec<End> {
    let Some((wetness, radii)) = Wetness::of(body).zip(per_vertex(body, "radius")) else { return Vec::new() };
    let strands = body.offsets.len().saturating_sub(1).max(1);
    let children = body.children.as_ref().map_or(0, |children| children.guides.len());
    let hairs = 1.0 + children as f32 / strands as f32;
    let end = |strand: &[u32]| {
        let range = strand[0] as usize..strand[1] as usize;
        let Some([.., before, tip]) = body.positions.get(range.clone()) else { return End::NONE };
        let (before, tip, last) = (Vec3::from(*before), Vec3::from(*tip), range.end - 1);
        let (bare, film) = (radii[last], wetness.film(last));
        let section = PI * ((bare + film) * (bare + film) - bare * bare * (1.0 + CLINGING) * (1.0 + CLINGING));
        let water = section.max(0.0) * tip.distance(before) * hairs;
        let good = tip.is_finite() && tip.abs().max_element() < 1e9 && water.is_finite();
        if good { End { at: tip, water, wet: film > 0.0 } } else { End::NONE }
    };
    body.offsets.windows(2).map(end).collect()
}

/// For each end the strand that its water runs along: of those that it touches the one that ends lowest, if that is lower
/// than itself.
fn runs_to(body: &StrandBody, ends: &[End]) -> Vec<Option<u32>> {
    let full: Vec<u32> = (0..ends.len() as u32).filter(|&i| ends[i as usize].water > 0.0).collect();
    let places: Vec<DVec3> = full.iter().map(|&i| ends[i as usize].at.as_dvec3()).collect();
    let segments = |strand: usize| {
        let range = body.offsets[strand] as usize..body.offsets[strand + 1] as usize;
        body.positions.get(range).unwrap_or_default().windows(2).map(|pair| [Vec3::from(pair[0]), Vec3::from(pair[1])])
    };
    let wet = || (0..ends.len()).into_par_iter().filter(|&j| ends[j].wet);
    let longest = |strand| segments(strand).map(|[a, b]| a.distance_squared(b)).fold(0.0, f32::max);
    let longest = wet().map(longest).reduce(|| 0.0, f32::max).sqrt();
    let mut near = Neighbours::new();
    if near.rebuild(&places, f64::from(0.5 * longest + CAPILLARY)).is_err() {
        return vec![None; ends.len()];
    }
    // The lowest is the same whoever comes first.
    let lowest: Vec<AtomicU32> = (0..ends.len() as u32).map(AtomicU32::new).collect();
    let lower = |j: u32, i: u32| height(ends, j).total_cmp(&height(ends, i)).then(j.cmp(&i)).is_lt();
    wet().for_each(|j| {
        for [a, b] in segments(j) {
            near.for_each_near(a.midpoint(b).as_dvec3(), |k| {
                let (i, j) = (full[k as usize], j as u32);
                let touches = |p: Vec3| {
                    let ab = b - a;
                    let along = ((p - a).dot(ab) / ab.length_squared().max(f32::MIN_POSITIVE)).clamp(0.0, 1.0);
                    p.distance_squared(a + ab * along) < CAPILLARY * CAPILLARY
                };
                let lowest = &lowest[i as usize];
                if lower(j, lowest.load(Ordering::Relaxed)) && touches(ends[i as usize].at) {
                    // Another thread may have found a lower one meanwhile.
                    let _ = lowest.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| lower(j, now).then_some(j));
                }
            });
        }
    });
    let below = |(i, lowest): (u32, AtomicU32)| Some(lowest.into_inner()).filter(|&j| j != i);
    (0..).zip(lowest).map(below).collect()
}

/// Adds a drop in the shape of a pear, of its exact volume.
fn pear(drop: Drop, mesh: &mut Surface) {
    let sharpness = (drop.radius() / (0.6 * CAPILLARY)).min(1.0);
    let outline = |k: usize| {
        // Slices of even angle, closer at the neck.
        let t = PI * k as f32 / RINGS as f32;
        let (s, (sin, cos)) = ((0.5 * t).sin(), t.sin_cos());
        let neck = s.powf(sharpness);
        let slope = cos * neck + if s > 0.0 { sin * 0.5 * sharpness * neck / s * (0.5 * t).cos() } else { 0.0 };
        (sin.max(0.0) * neck, cos, glam::Vec2::new(sin, slope).normalize_or_zero())
    };
    // Volume of the mesh: frustums over polygons.
    let polygon = 0.5 * SEGMENTS as f32 * (TAU / SEGMENTS as f32).sin();
    let slice = |k: usize| {
        let ((r, y, _), (q, z, _)) = (outline(k), outline(k + 1));
        polygon / 3.0 * (y - z) * (r * r + r * q + q * q)
    };
    let scale = (drop.volume / (0..RINGS).map(slice).sum::<f32>()).cbrt();
    // The end of the hair lies a little above the middle.
    let middle = drop.end - Vec3::Y * (0.3 * scale);
    let first = mesh.positions.len() as u32;
    let mut corner = |r: f32, y: f32, normal: Vec3, around: Vec3| {
        mesh.positions.push(middle + (around * r + Vec3::Y * y) * scale);
        mesh.normals.push(normal);
    };
    corner(0.0, 1.0, Vec3::Y, Vec3::ZERO);
    for k in 1..RINGS {
        let (r, y, normal) = outline(k);
        for segment in 0..SEGMENTS {
            let (sin, cos) = (TAU * segment as f32 / SEGMENTS as f32).sin_cos();
            let around = Vec3::new(cos, 0.0, sin);
            corner(r, y, around * normal.x + Vec3::Y * normal.y, around);
        }
    }
    corner(0.0, -1.0, Vec3::NEG_Y, Vec3::ZERO);
    let at = |ring: usize, segment: usize| first + 1 + ((ring - 1) * SEGMENTS + segment % SEGMENTS) as u32;
    let last = first + 1 + ((RINGS - 1) * SEGMENTS) as u32;
    for segment in 0..SEGMENTS {
        mesh.triangles.push([first, at(1, segment + 1), at(1, segment)]);
        for ring in 1..RINGS - 1 {
            let [a, b] = [at(ring, segment), at(ring, segment + 1)];
            let [c, d] = [at(ring + 1, segment), at(ring + 1, segment + 1)];
            mesh.triangles.extend([[a, b, c], [b, d, c]]);
        }
        mesh.triangles.push([last, at(RINGS - 1, segment), at(RINGS - 1, segment + 1)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_io::{Attribute, Domain, Values};

    const RADIUS: f32 = 35e-6;

    /// Strands that hang straight down, each from the same height at a place to a length, with this film at its vertices.
    fn hanging(strands: &[(f32, f32, f32)]) -> StrandBody {
        let mut body = StrandBody { offsets: vec![0], ..StrandBody::default() };
        let mut films = Vec::new();
        for &(x, length, film) in strands {
            body.positions.extend((0..11).map(|k| [x, -0.1 * length * k as f32, 0.0]));
            body.offsets.push(body.positions.len() as u32);
            films.extend([film; 11]);
        }
        let per_vertex = |values| Attribute { domain: Domain::Vertex, values: Values::F32(values) };
        let count = films.len();
        body.attributes.insert("radius".into(), per_vertex(vec![RADIUS; count]));
        body.attributes.insert("fibre_water".into(), per_vertex(vec![1.0; count]));
        body.attributes.insert("film".into(), per_vertex(films));
        body
    }

    fn total(drops: &[Drop]) -> f32 {
        drops.iter().map(|drop| drop.volume).sum()
    }

    fn gathered(length: f32, film: f32) -> f32 {
        let clinging = RADIUS * (1.0 + CLINGING);
        PI * ((RADIUS + film).powi(2) - clinging * clinging) * 0.1 * length
    }

    #[test]
    fn strands_that_end_together_share_one_drop_of_all_their_water() {
        // The second ends beside the middle of the last segment of the first.
        let strands = [(0.0, 0.2, 90e-6), (1e-3, 0.19, 80e-6), (2e-3, 0.185, 90e-6)];
        let drops = drops(&hanging(&strands));
        let expected: f32 = strands.iter().map(|&(_, length, film)| gathered(length, film)).sum();
        assert_eq!(drops.len(), 1);
        assert!((drops[0].end - Vec3::new(0.0, -0.2, 0.0)).length() < 1e-6);
        assert!((drops[0].volume / expected - 1.0).abs() < 1e-4, "{} {expected}", drops[0].volume);
    }

    #[test]
    fn strands_that_end_apart_keep_their_own_drops() {
        let apart = hanging(&[(0.0, 0.2, 90e-6), (5e-3, 0.2, 80e-6)]);
        let [a, b] = drops(&apart)[..] else { panic!("not two drops") };
        assert!((a.volume / gathered(0.2, 90e-6) - 1.0).abs() < 1e-4);
        assert!((b.volume / gathered(0.2, 80e-6) - 1.0).abs() < 1e-4);
        assert_eq!((a.end.x, b.end.x), (0.0, 5e-3));
    }

    #[test]
    fn dry_strands_bear_no_drops_and_carry_no_water() {
        assert!(drops(&hanging(&[(0.0, 0.2, 0.0), (1e-3, 0.2, 15e-6)])).is_empty());
        // A dry neighbour that ends lower does not take over the drop.
        let one = drops(&hanging(&[(0.0, 0.2, 0.0), (1e-3, 0.19, 90e-6)]));
        assert_eq!((one.len(), one[0].end.x), (1, 1e-3));
    }

    #[test]
    fn what_is_too_heavy_for_one_drop_hangs_on_more_farther_up() {
        let strands: Vec<_> = (0..120).map(|k| (1e-5 * k as f32, 0.2 - 2e-4 * k as f32, 120e-6)).collect();
        let drops = drops(&hanging(&strands));
        let expected: f32 = strands.iter().map(|&(_, length, film)| gathered(length, film)).sum();
        let most = ball_volume(*HANGING.end());
        assert!(expected > 1.2 * most && drops.len() == 2, "{} {}", expected / most, drops.len());
        assert!(drops.iter().all(|drop| drop.volume <= most));
        assert!((total(&drops) / expected - 1.0).abs() < 1e-4, "{} {expected}", total(&drops));
        assert!((drops[0].end.y + 0.2).abs() < 1e-6 && drops[1].end.y > -0.2 + 2.0 * CAPILLARY);
    }

    /// The order of strands decides nothing but ties, and threads decide nothing.
    #[test]
    fn drops_do_not_depend_on_threads_or_the_order_of_strands() {
        let mut strands: Vec<_> = (0..60_u32)
            .map(|k| {
                let lot = |shift: u32| (drench_math::random::mix(u64::from(k)) >> shift & 0xff) as f32 / 255.0;
                (0.03 * lot(0), 0.15 + 0.02 * lot(8), 100e-6 * lot(16))
            })
            .collect();
        let sorted = |strands: &[(f32, f32, f32)]| {
            let mut drops = drops(&hanging(strands));
            drops.sort_by(|a, b| a.end.x.total_cmp(&b.end.x).then(a.end.y.total_cmp(&b.end.y)));
            drops
        };
        let before = sorted(&strands);
        for threads in [1, 2, 8] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| sorted(&strands)), before);
        }
        strands.reverse();
        let after = sorted(&strands);
        assert!(before.len() > 3 && before.len() == after.len());
        for (a, b) in before.iter().zip(&after) {
            assert!(a.end == b.end && (a.volume / b.volume - 1.0).abs() < 1e-4);
        }
    }

    #[test]
    fn a_pear_is_closed_looks_outwards_and_has_its_volume() {
        for radius in [0.3e-3, 1e-3, 2.7e-3] {
            let (mut mesh, end) = (Surface::default(), Vec3::new(0.3, -0.2, 0.1));
            pear(Drop { end, volume: ball_volume(radius) }, &mut mesh);
            let (mut volume, mut edges) = (0.0, Vec::new());
            for &[a, b, c] in &mesh.triangles {
                let [p, q, r] = [a, b, c].map(|v| mesh.positions[v as usize] - end);
                volume += p.dot(q.cross(r)) / 6.0;
                let flat = (q - p).cross(r - p);
                assert!([a, b, c].iter().all(|&v| flat.normalize().dot(mesh.normals[v as usize]) > 0.3));
                edges.extend([[a, b], [b, c], [c, a]]);
            }
            edges.sort_unstable();
            assert!(edges.iter().all(|&[a, b]| edges.binary_search(&[b, a]).is_ok()));
            assert!((volume / ball_volume(radius) - 1.0).abs() < 1e-3, "{}", volume / ball_volume(radius));
            assert!(mesh.normals.iter().all(|n| (n.length() - 1.0).abs() < 1e-4));
        }
    }
}
