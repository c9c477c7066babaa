//! Surface tension by what particles lack of neighbours, with a contact angle on solids.
//!
//! How full the neighbourhood of a particle is, and what it lacks, is told by a kernel that reaches farther than that of pressure:
//!
//! ```text
//! c_i = Σ_j V_j W(r_ij) + Σ_b V_b ω(r_ib),    s_i = max(0, 0.99 − c_i),    V = m / ρ0,
//! W(r) = 315/(64 π H³) (1 − r²/H²)³ with H = 3 d,    ω(r) = 0.0904/d³ (1 − r²/4d²) over samples of solids.
//! ```
//!
//! Liquid has the energy E = k Σ V_i s_i²: none inside, more at the surface. Its slope,
//!
//! ```text
//! F_ij = 2 k V_i V_j (s_i + s_j) ∇W,    F_ib = 2 k V_i V_b s_i ∇ω,
//! ```
//!
//! pulls along lines, so that momentum and angular momentum are kept. A lattice that ends in a plane has the energy 0.0820 k d per area; but surfaces close up, drops are curved, and the pressure
//! solve has a say in what forces are left, so that k is `STRENGTH` times σ over that, between what periods of swinging drops and pressures inside of them ask for (`drench validate drop`). A
//! kernel of the reach of pressure, 2 d, would not do: the energy would be one of the densities that the pressure solve holds, and pressure could undo all of it.
//!
//! ω makes one layer of samples fill what a lattice of liquid below the skin would fill, and 15 % more, because the lowest layer stands a little off: that makes 90°. For other contact angles a
//! sample of the area A = V_b/d that is wet by C = Σ V_i u(r)/(1.81 d³) with u = (1 − r²/4d²)², 1 under a layer of particles, has an energy [Young1805]:
//!
//! ```text
//! 1.3 A σ cos θ max(0, 1 − C)²  up to 90°,    −2.5 A σ cos θ C  beyond.
//! ```
//!
//! What is wet is not pressed to the wall, and the edge of a drop is drawn on. Both factors are measured (`drench validate contact-angle`): edges of drops are not wet by all of 1, and liquid that is
//! repelled gives way until C is well below 1.
//!
//! Breaks down: films and threads of one particle. Drops with less than about nine particles to the radius have too much tension, by a third with six, because curved surfaces lack more. Settled
//! drops tremble at some millimetres a second, and it depends on how particles settled by 5 % what period they have (docs/validation.md). Contact angles below 45°: a drop of a thousand
//! particles is too thin to follow them. Energies that were tried and are worse: that of pairs over 2 d or 3 d [Tartakovsky2016], and 2 σ Σ V |∇c|, which is σ times the area
//! whatever the profile of the surface is: particles that fly apart have no gradient, and so they do.

use super::crowd::{Crowds, Marks};
use super::fields::{Fields, dot};
use super::rows::PIECE;
use super::walls::Walls;
use drench_geometry::neighbours::Neighbours;
use glam::DVec3;
use rayon::prelude::*;
use std::f64::consts::PI;
use std::ops::Range;
use wide::{f32x4, f32x8};

/// H in spacings. At most twice the support of pressure.
const REACH: f64 = 3.0;
/// How full a neighbourhood is that lacks nothing: liquid at rest is filled to 0.998 and trembles.
const FULL: f32 = 0.99;
/// Σ s² over the layers of a lattice that ends in a plane.
const PLANE: f64 = 0.0820;
/// k over that of a lattice that ends in a plane.
const STRENGTH: f64 = 0.93;
/// ω(0) d³. With 0.0786 a layer of samples at the distance d fills what layers of particles from there on would fill of c.
const FILL: f64 = 0.0904;
/// Σ u over a layer of particles at the distance d from a sample.
const LAYER: f64 = 1.8125;
/// Slope of the density over ρ0/d, and density over ρ0, that only particles at a surface have: the uppermost layer of a lattice has 0.51 and 0.85.
const SLANTED: f64 = 0.25;
const SPARSE: f64 = 0.9;
/// Energy of samples over that of Young's law: where drops without weight of 1 200 particles come to their height at 60 and 120 degrees.
const WETTED: f64 = 1.3;
const REPELLED: f64 = 2.5;

/// Strengths of the model; those with a time are changes of velocity in a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tension {
    /// H [m].
    reach: f32,
    /// 1 / H² and 1 / (2 d)² [1/m2].
    inverse_square: f32,
    inverse_square_wall: f32,
    /// W(0) / ρ0 and ω(0) / ρ0 [1/kg].
    own: f32,
    fill: f32,
    /// 1 / (1.81 ρ0 d³) [1/kg].
    wets: f32,
    /// 2 k dt W'/(r q²) / ρ0², with q = 1 − r²/H², and the same of ω [1/(kg s)].
    pull: f32,
    pull_wall: f32,
    /// dt A σ cos θ u'/(r q) / (ρ0 V_b) over what is wet by a kilogram [1/(kg s)].
    draw: f32,
    /// Whether solids are wetted: the contact angle is below 90°.
    wetted: bool,
    /// Slope of the density [kg/m4] from which on, and density [kg/m3] up to which a particle is at the surface.
    slanted: f32,
    sparse: f32,
}

impl Tension {
    pub fn new(surface_tension: f64, contact_angle: f64, density: f64, spacing: f64, dt: f64) -> Self {
        let (d, reach, reach_wall) = (spacing, REACH * spacing, 2.0 * spacing);
        let own = 315.0 / (64.0 * PI * reach.powi(3) * density);
        let fill = FILL / (d.powi(3) * density);
        let wets = 1.0 / (LAYER * d.powi(3) * density);
        let k = STRENGTH * surface_tension / (PLANE * d);
        let cosine = contact_angle.cos();
        let drawn = surface_tension * cosine * if cosine > 0.0 { WETTED } else { REPELLED };
        Self {
            reach: reach as f32,
            inverse_square: (1.0 / (reach * reach)) as f32,
            inverse_square_wall: (1.0 / (reach_wall * reach_wall)) as f32,
            own: own as f32,
            fill: fill as f32,
            wets: wets as f32,
            pull: (2.0 * k * dt / density * own * -6.0 / (reach * reach)) as f32,
            pull_wall: (2.0 * k * dt / density * fill * -2.0 / (reach_wall * reach_wall)) as f32,
            draw: (dt * drawn / (density * d) * wets * -4.0 / (reach_wall * reach_wall)) as f32,
            // Not at 90 degrees, however rounded: that would be much work for nothing.
            wetted: cosine > 1e-9,
            slanted: (SLANTED * density / d) as f32,
            sparse: (SPARSE * density) as f32,
        }
    }

    /// Whether solids are wetted: then their points must look back before the surface is found.
    pub fn wetted(&self) -> bool {
        self.wetted
    }

    /// 1 − r²/4d², 0 beyond.
    #[inline]
    fn rest(&self, offset: f32x4) -> f32 {
        (1.0 - dot(offset, offset) * self.inverse_square_wall).max(0.0)
    }

    /// Velocity [m/s] that a particle with the lack s gains from a wall point of mass ψ that is drawn to liquid so much.
    #[inline]
    fn at_wall(&self, offset: f32x4, mass: f32, lack: f32, drawn: f32) -> f32x4 {
        offset * f32x4::splat(mass * (self.pull_wall * lack + self.draw * drawn * self.rest(offset)))
    }
}

/// What the surface is told by: scratch.
#[derive(Debug, Default)]
pub(crate) struct Surface {
    /// s of every particle.
    lacks: Vec<f32>,
    /// −dE/dC over A σ cos θ of every point of solids and of foreign particles.
    drawn: [Vec<f32>; 2],
    changes: Vec<f32x4>,
    marks: Marks,
    crowds: Crowds,
}

impl Surface {
    /// Finds what particles lack and which wall points draw them. Points must have looked back if solids are wetted.
    pub fn find(
        &mut self,
        tension: &Tension,
        fields: &Fields,
        neighbours: &Neighbours,
        positions: &[DVec3],
        walls: [&Walls; 2],
    ) {
        let points = &fields.points;
        self.lacks.resize(points.x.len(), 0.0);
        let inverse_square = f32x8::splat(tension.inverse_square);
        let weights = (|_: Range<usize>| |_: usize| true, |j: usize| [points.masses[j], 0.0]);
        // Four spacings from all that is slanted or sparse, nothing is lacking but by chance.
        let (slanted, sparse) = (tension.slanted, tension.sparse);
        self.marks.set(points.x.len(), |i| {
            let total = fields.gradient[i] + fields.wall[i];
            fields.density[i] < sparse || dot(total, total) > slanted * slanted
        });
        let marked = (tension.reach, &self.marks);
        self.crowds.form(neighbours, positions);
        self.crowds.for_each((neighbours, points, positions), marked, &mut self.lacks, weights, |i, crowd| {
            if crowd.is_empty() {
                return 0.0;
            }
            let x = points.x[i];
            let mut sum = f32x8::ZERO;
            crowd.for_each(x, |[dx, dy, dz], [mass, _]| {
                let rest = (f32x8::ONE - (dx * dx + dy * dy + dz * dz) * inverse_square).fast_max(f32x8::ZERO);
                sum += mass * rest * rest * rest;
            });
            let mut filled = tension.own * sum.reduce_add();
            for walls in walls {
                let (others, _) = walls.rows[i / PIECE].row(i % PIECE);
                let parts = others.iter().map(|&b| walls.masses[b as usize] * tension.rest(x - walls.x[b as usize]));
                filled += tension.fill * parts.sum::<f32>();
            }
            (FULL - filled).max(0.0)
        });
        for (drawn, walls) in self.drawn.iter_mut().zip(walls) {
            drawn.resize(walls.len(), 0.0);
            drawn.par_iter_mut().enumerate().with_min_len(PIECE).for_each(|(b, drawn)| {
                // dE/dC = A σ cos θ times −2 (1 − C), or −1 beyond 90 degrees.
                *drawn = if tension.wetted {
                    let wet = |(i, _): (usize, f32)| {
                        let rest = tension.rest(points.x[i] - walls.x[b]);
                        points.masses[i] * rest * rest
                    };
                    2.0 * (1.0 - tension.wets * walls.seen(b).map(wet).sum::<f32>()).max(0.0)
                } else {
                    1.0
                };
            });
        }
    }

    /// What a point of the walls with this number gets from particle i [N s].
    pub fn impulse(
        &self,
        tension: &Tension,
        fields: &Fields,
        number: usize,
        walls: &Walls,
        i: usize,
        b: usize,
    ) -> f32x4 {
        let offset = fields.points.x[i] - walls.x[b];
        let gained = tension.at_wall(offset, walls.masses[b], self.lacks[i], self.drawn[number][b]);
        gained * f32x4::splat(-fields.points.masses[i])
    }

    /// v += dt F / m.
    pub fn pull(
        &mut self,
        tension: &Tension,
        fields: &mut Fields,
        neighbours: &Neighbours,
        positions: &[DVec3],
        walls: [&Walls; 2],
    ) {
        let Self { lacks, drawn, changes, marks, crowds } = self;
        let points = &fields.points;
        changes.resize(points.x.len(), f32x4::ZERO);
        let inverse_square = f32x8::splat(tension.inverse_square);
        // Those that lack nothing are pulled only by those that do.
        let (lacks, masses) = (&*lacks, &points.masses);
        let counts = |group: Range<usize>| {
            let all = lacks[group].iter().any(|&lack| lack > 0.0);
            move |j: usize| all || lacks[j] > 0.0
        };
        let weights = (counts, |j: usize| [masses[j], masses[j] * lacks[j]]);
        marks.set(points.x.len(), |i| lacks[i] > 0.0);
        crowds.for_each((neighbours, points, positions), (tension.reach, marks), changes, weights, |i, crowd| {
            let (x, lack) = (points.x[i], lacks[i]);
            let own = f32x8::splat(lack);
            let mut sums = [f32x8::ZERO; 3];
            crowd.for_each(x, |[dx, dy, dz], [mass, lacking]| {
                let rest = (f32x8::ONE - (dx * dx + dy * dy + dz * dz) * inverse_square).fast_max(f32x8::ZERO);
                let weight = (mass * own + lacking) * rest * rest;
                sums = [sums[0] + dx * weight, sums[1] + dy * weight, sums[2] + dz * weight];
            });
            let [a, b, c] = sums.map(|sum| tension.pull * sum.reduce_add());
            let mut change = f32x4::new([a, b, c, 0.0]);
            for (walls, drawn) in walls.iter().zip(&*drawn) {
                let (others, _) = walls.rows[i / PIECE].row(i % PIECE);
                for &b in others {
                    let b = b as usize;
                    change += tension.at_wall(x - walls.x[b], walls.masses[b], lack, drawn[b]);
                }
            }
            change
        });
        fields.v.par_iter_mut().zip(changes).with_min_len(PIECE).for_each(|(v, change)| *v += *change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::liquid::kernel::CubicSpline;
    use crate::liquid::rows::{Kernel8, Rows, Search};
    use crate::liquid::walls::Frame;
    use drench_math::random::Stream;

    const D: f64 = 0.1;
    const DENSITY: f64 = 900.0;
    const DT: f64 = 1e-3;
    const SIGMA: f64 = 0.07;

    /// Places [m] and masses [kg].
    type Places = Vec<(DVec3, f64)>;

    /// Liquid above a floor of samples in double precision: E as in the header.
    fn energy(liquid: &[(DVec3, f64)], floor: &[(DVec3, f64)], angle: f64) -> f64 {
        let rest = |p: DVec3, q: DVec3, reach: f64| (1.0 - p.distance_squared(q) / (reach * reach)).max(0.0);
        let (reach, k) = (REACH * D, STRENGTH * SIGMA / (PLANE * D));
        let lack = |p: DVec3| {
            let own: f64 = liquid.iter().map(|&(q, m)| m / DENSITY * rest(p, q, reach).powi(3)).sum();
            let wall: f64 = floor.iter().map(|&(q, m)| m / DENSITY * rest(p, q, 2.0 * D)).sum();
            (f64::from(FULL) - own * 315.0 / (64.0 * PI * reach.powi(3)) - wall * FILL / D.powi(3)).max(0.0)
        };
        let wet = |q: DVec3| {
            let sum: f64 = liquid.iter().map(|&(p, m)| m / DENSITY * rest(p, q, 2.0 * D).powi(2)).sum();
            sum / (LAYER * D.powi(3))
        };
        let cosine = angle.cos();
        let dry = |q: DVec3| {
            if cosine > 0.0 { WETTED * cosine * (1.0 - wet(q)).max(0.0).powi(2) } else { -REPELLED * cosine * wet(q) }
        };
        let liquid: f64 = liquid.iter().map(|&(p, m)| k * m / DENSITY * lack(p).powi(2)).sum();
        liquid + floor.iter().map(|&(q, m)| m / (DENSITY * D) * SIGMA * dry(q)).sum::<f64>()
    }

    /// A clump of uneven masses at an edge of a floor, in the order of its cells.
    fn clump() -> (Neighbours, Places, Places) {
        let stream = Stream::new(3, "clump");
        let at = |i: i32, shift: f64| {
            (DVec3::new(f64::from(i % 6), f64::from(i / 6 % 4) + shift, f64::from(i / 24)) + 0.5) * D
        };
        let liquid: Places = (0..120)
            .map(|i| {
                let mass = DENSITY * D.powi(3) * stream.range(1_000 + i as u64, 0.5, 1.0);
                (at(i, 0.0) + stream.direction(i as u64) * 0.2 * D, mass)
            })
            .collect();
        let places: Vec<DVec3> = liquid.iter().map(|p| p.0).collect();
        let mut neighbours = Neighbours::new();
        neighbours.rebuild(&places, 2.0 * D).unwrap();
        let liquid = neighbours.order().iter().map(|&i| liquid[i as usize]).collect();
        let floor = (0..120).filter(|i| i / 6 % 4 == 0).map(|i| (at(i, -1.0), DENSITY * D.powi(3))).collect();
        (neighbours, liquid, floor)
    }

    #[test]
    fn forces_are_the_slope_of_the_energy_and_keep_momentum() {
        let (neighbours, liquid, floor) = clump();
        let positions: Vec<DVec3> = liquid.iter().map(|p| p.0).collect();
        let kernel = CubicSpline::new(2.0 * D);
        let frame = Frame { origin: DVec3::ZERO, kernel, kernel8: Kernel8::new(&kernel), density: DENSITY };
        for angle in [50_f64, 130.0] {
            let tension = Tension::new(SIGMA, angle.to_radians(), DENSITY, D, DT);
            let mut fields = Fields::default();
            fields.resize(liquid.len());
            fields.points.set(liquid.len(), |i| frame.local(positions[i]), |i| liquid[i].1 as f32);
            let search = Search { neighbours: &neighbours, points: &fields.points, kernel: frame.kernel8 };
            let mut rows = Rows::default();
            let seeker = |i: usize| (neighbours.cell_of(positions[i]), fields.points.x[i], i as u32);
            search.fill(&mut rows, liquid.len(), seeker, |_, _| {});
            fields.rows = vec![rows];
            let (mut walls, foreign) = (Walls::default(), &mut Walls::default());
            let volumes: Vec<f64> = floor.iter().map(|p| p.1 / DENSITY).collect();
            walls.place_samples(floor.len(), &volumes, |b| floor[b].0, &frame).unwrap();
            foreign.place_samples(0, &[], |_| DVec3::ZERO, &frame).unwrap();
            for walls in [&mut walls, &mut *foreign] {
                walls.meet(&mut fields, &positions, |_| DVec3::ZERO, &frame);
                walls.look_back();
            }
            let mut surface = Surface::default();
            surface.find(&tension, &fields, &neighbours, &positions, [&walls, foreign]);
            let mut reactions = vec![DVec3::ZERO; floor.len()];
            walls.collect(&fields, &mut reactions, |i, b, _, _| surface.impulse(&tension, &fields, 0, &walls, i, b));
            surface.pull(&tension, &mut fields, &neighbours, &positions, [&walls, foreign]);
            let impulse = |i: usize| crate::liquid::walls::vector(fields.v[i]) * liquid[i].1;
            let strongest = (0..liquid.len()).map(|i| impulse(i).length()).fold(0.0, f64::max);

            let (mut momentum, mut spin) = (DVec3::ZERO, DVec3::ZERO);
            for (i, place) in positions.iter().enumerate() {
                momentum += impulse(i);
                spin += place.cross(impulse(i));
                let slope = DVec3::from_array(std::array::from_fn(|axis| {
                    let at = |step: f64| {
                        let mut moved = liquid.clone();
                        moved[i].0[axis] += step;
                        energy(&moved, &floor, angle.to_radians())
                    };
                    (at(1e-4 * D) - at(-1e-4 * D)) / (2e-4 * D)
                }));
                let off = (impulse(i) / DT + slope).length();
                assert!(off < 2e-3 * strongest / DT, "{angle} {i} {:?} {slope:?}", impulse(i) / DT);
            }
            for (b, reaction) in reactions.iter().enumerate() {
                momentum += *reaction;
                spin += floor[b].0.cross(*reaction);
            }
            assert!(reactions.iter().any(|reaction| reaction.length() > 0.1 * strongest));
            assert!(momentum.length() < 1e-4 * strongest && spin.length() < 1e-4 * strongest * D, "{momentum} {spin}");
        }
    }

    /// Σ s² over a lattice that ends in a plane is what the strength is reckoned with, and samples fill what is below.
    #[test]
    fn a_lattice_has_the_energy_of_its_plane() {
        let places =
            || (0..19 * 19 * 8).map(|i| DVec3::new(f64::from(i % 19), f64::from(i / 361), f64::from(i / 19 % 19)) * D);
        let liquid: Places = places().map(|p| (p, DENSITY * D.powi(3))).collect();
        let column = |y: i32| DVec3::new(9.0, f64::from(y), 9.0) * D;
        let filled = |p: DVec3| -> f64 {
            let rest = |q: DVec3| (1.0 - p.distance_squared(q) / (REACH * D).powi(2)).max(0.0);
            liquid.iter().map(|&(q, _)| rest(q).powi(3)).sum::<f64>() * 315.0 / (64.0 * PI * REACH.powi(3))
        };
        let inside = filled(column(4));
        let squares: f64 = (0..4).map(|y| (f64::from(FULL) - filled(column(y)) / inside).max(0.0).powi(2)).sum();
        assert!((squares / PLANE - 1.0).abs() < 0.01, "{squares}");
    }
}
