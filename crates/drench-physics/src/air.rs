//! Air: how it moves and how it drags a thin cylinder.
//!
//! Drag on a cylinder of radius r across its axis, a length unit: F = 1/2 rho Cd 2 r |u| u = (mu / 2) (Re Cd) u with
//! Re = 2 r rho |u| / mu. The law used is
//!
//! Re Cd = 6.475 Re^(1/8) + 2.827 Re^(1/2) + 0.9 Re,
//!
//! which needs square roots only and stays within 9 % of Lamb's low-Re result for Re from 0.001 to 0.4 and of the
//! measured 2.05 and 1.52 at Re 20 and 40; it tends to Cd about 1 for Re near 1000. Along the axis the viscous part alone acts, by
//! half (slender-body theory: a thin rod sinks twice as fast along its axis as across).

use drench_geometry::neighbours::floor;
use drench_math::noise;
use drench_math::random::Stream;
use glam::DVec3;

/// Properties of the air.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Air {
    /// Density [kg/m3].
    pub density: f64,
    /// Dynamic viscosity [Pa s].
    pub viscosity: f64,
    /// Multiplier of the physical drag; 0 is vacuum.
    pub drag: f64,
}

impl Default for Air {
    fn default() -> Self {
        Self { density: 1.2, viscosity: 1.8e-5, drag: 1.0 }
    }
}

/// Coefficients of Re^(1/8), Re^(1/2) and Re in Re Cd.
pub(crate) const DRAG: [f64; 3] = [6.475, 2.827, 0.9];

/// Drag coefficient of a cylinder across its axis at a Reynolds number (diameter).
pub fn drag_coefficient(reynolds: f64) -> f64 {
    (DRAG[0] * reynolds.powf(0.125) + DRAG[1] * reynolds.sqrt() + DRAG[2] * reynolds) / reynolds
}

/// How the air moves, as the scene says it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wind {
    /// The same everywhere and always.
    Uniform {
        /// Velocity [m/s].
        velocity: DVec3,
    },
    /// velocity (1 + strength n(t / period)) with smooth noise n of about -1 to 1.
    Gusts {
        /// Mean velocity [m/s].
        velocity: DVec3,
        /// Relative strength of the gusts.
        strength: f64,
        /// Time between gusts [s].
        period: f64,
    },
    /// Divergence-free swirls carried along by the mean velocity.
    Turbulent {
        /// Mean velocity [m/s].
        velocity: DVec3,
        /// Root mean square speed of the swirls [m/s].
        speed: f64,
        /// Size of the swirls [m].
        size: f64,
    },
}

/// Nodes of the swirl table along an axis, and how many of them a swirl spans: the pattern repeats after 8 swirls.
const TABLE: usize = 32;
const NODES_A_SWIRL: usize = 4;

/// Moving air, ready to be asked: a pure function of (seed, time, position).
#[derive(Clone, Debug)]
pub struct AirFlow {
    winds: Vec<Wind>,
    gusts: Stream,
    /// Velocity of periodic swirls with root mean square 1; empty unless a wind is turbulent.
    swirls: Vec<[f32; 4]>,
}

impl AirFlow {
    /// Prepares winds, which add up; the seed chooses their noise.
    pub fn new(winds: &[Wind], seed: u64) -> Self {
        let turbulent = winds.iter().any(|wind| matches!(wind, Wind::Turbulent { .. }));
        let swirls = if turbulent { swirl_table(Stream::new(seed, "swirls")) } else { Vec::new() };
        Self { winds: winds.to_vec(), gusts: Stream::new(seed, "gusts"), swirls }
    }

    /// Air that does not move.
    pub fn still() -> Self {
        Self::new(&[], 0)
    }

    /// The flow at an instant [s].
    pub fn at(&self, time: f64) -> Breeze<'_> {
        let mean = self.winds.iter().zip(0..).map(|(wind, index)| match *wind {
            Wind::Uniform { velocity } | Wind::Turbulent { velocity, .. } => velocity,
            Wind::Gusts { velocity, strength, period } => {
                // Off the lattice, where gradient noise vanishes at every whole period.
                let when = DVec3::new(time / period.max(1e-6), 0.37, 0.59);
                velocity * (1.0 + strength * noise::gradient(self.gusts.child(index), when))
            }
        });
        Breeze { mean: mean.sum(), time, flow: self }
    }
}

/// Moving air at one instant.
#[derive(Clone, Copy, Debug)]
pub struct Breeze<'a> {
    mean: DVec3,
    time: f64,
    flow: &'a AirFlow,
}

impl Breeze<'_> {
    /// The velocity if it is the same everywhere.
    pub fn uniform(&self) -> Option<DVec3> {
        if self.flow.swirls.is_empty() { Some(self.mean) } else { None }
    }

    /// Velocity of the air at a point [m/s].
    pub fn velocity(&self, point: DVec3) -> DVec3 {
        let swirls = self.flow.winds.iter().map(|wind| match *wind {
            Wind::Turbulent { velocity, speed, size } => {
                // The mean carries the pattern along.
                let p = (point - velocity * self.time) * (NODES_A_SWIRL as f64 / size.max(1e-6));
                swirl_velocity(&self.flow.swirls, p) * speed
            }
            Wind::Uniform { .. } | Wind::Gusts { .. } => DVec3::ZERO,
        });
        swirls.fold(self.mean, |sum, swirl| sum + swirl)
    }
}

/// The table at a point in units of its nodes, trilinear, periodic.
fn swirl_velocity(table: &[[f32; 4]], p: DVec3) -> DVec3 {
    let cell = floor(p);
    let f = (p - cell).as_vec3();
    let wrap = |x: f64| (x as i64).rem_euclid(TABLE as i64) as usize;
    let low = [wrap(cell.x), wrap(cell.y), wrap(cell.z)];
    let high = low.map(|i| (i + 1) % TABLE);
    let mut sum = glam::Vec3::ZERO;
    for corner in 0..8 {
        let pick =
            |axis: usize| if corner >> axis & 1 == 1 { (high[axis], f[axis]) } else { (low[axis], 1.0 - f[axis]) };
        let ((i, wx), (j, wy), (k, wz)) = (pick(0), pick(1), pick(2));
        let [x, y, z, _] = table[table_index(i, j, k)];
        sum += glam::Vec3::new(x, y, z) * (wx * wy * wz);
    }
    sum.as_dvec3()
}

fn table_index(i: usize, j: usize, k: usize) -> usize {
    i + TABLE * (j + TABLE * k)
}

/// Curl, by central differences, of a smooth periodic vector potential: its discrete divergence vanishes exactly.
fn swirl_table(stream: Stream) -> Vec<[f32; 4]> {
    let lattice = TABLE / NODES_A_SWIRL;
    // Quadratic B-spline of random lattice values: smooth, and periodic because the lattice wraps.
    let potential = |i: usize, j: usize, k: usize| -> DVec3 {
        let spline = |n: usize| -> [(usize, f64); 3] {
            let f = (n % NODES_A_SWIRL) as f64 / NODES_A_SWIRL as f64 - 0.5;
            let centre = n / NODES_A_SWIRL;
            let weights = [0.5 * (0.5 - f).powi(2), 0.75 - f * f, 0.5 * (0.5 + f).powi(2)];
            std::array::from_fn(|a| ((centre + lattice + a - 1) % lattice, weights[a]))
        };
        let mut sum = DVec3::ZERO;
        for (c, wz) in spline(k) {
            for (b, wy) in spline(j) {
                for (a, wx) in spline(i) {
                    let index = (a + lattice * (b + lattice * c)) as u64;
                    let value = DVec3::new(
                        stream.range(3 * index, -1.0, 1.0),
                        stream.range(3 * index + 1, -1.0, 1.0),
                        stream.range(3 * index + 2, -1.0, 1.0),
                    );
                    sum += value * (wx * wy * wz);
                }
            }
        }
        sum
    };
    let mut potentials = vec![DVec3::ZERO; TABLE.pow(3)];
    for k in 0..TABLE {
        for j in 0..TABLE {
            for i in 0..TABLE {
                potentials[table_index(i, j, k)] = potential(i, j, k);
            }
        }
    }
    let next = |i: usize| (i + 1) % TABLE;
    let previous = |i: usize| (i + TABLE - 1) % TABLE;
    let mut velocity = vec![DVec3::ZERO; TABLE.pow(3)];
    for k in 0..TABLE {
        for j in 0..TABLE {
            for i in 0..TABLE {
                let at = |i, j, k| potentials[table_index(i, j, k)];
                let dx = at(next(i), j, k) - at(previous(i), j, k);
                let dy = at(i, next(j), k) - at(i, previous(j), k);
                let dz = at(i, j, next(k)) - at(i, j, previous(k));
                velocity[table_index(i, j, k)] = DVec3::new(dy.z - dz.y, dz.x - dx.z, dx.y - dy.x);
            }
        }
    }
    let mean_square = velocity.iter().map(|v| v.length_squared()).sum::<f64>() / velocity.len() as f64;
    let scale = 1.0 / mean_square.sqrt().max(1e-30);
    velocity.iter().map(|v| [(v.x * scale) as f32, (v.y * scale) as f32, (v.z * scale) as f32, 0.0]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drag_follows_lamb_and_measurement() {
        let lamb = |re: f64| 8.0 * std::f64::consts::PI / (re * (0.5 - 0.577_215_66 - (re / 8.0).ln()));
        for re in [0.001, 0.01, 0.1, 0.2, 0.4] {
            let ratio = drag_coefficient(re) / lamb(re);
            assert!((ratio - 1.0).abs() < 0.09, "Re {re}: {ratio}");
        }
        assert!((drag_coefficient(20.0) / 2.05 - 1.0).abs() < 0.09);
        assert!((drag_coefficient(40.0) / 1.52 - 1.0).abs() < 0.09);
        assert!((drag_coefficient(1000.0) - 1.0).abs() < 0.1);
    }

    #[test]
    fn swirls_have_the_given_speed_and_no_divergence() {
        let wind = Wind::Turbulent { velocity: DVec3::X, speed: 2.0, size: 0.1 };
        let flow = AirFlow::new(&[wind], 5);
        let breeze = flow.at(0.3);
        let stream = Stream::new(1, "points");
        let (mut square, mut divergence) = (0.0, 0.0);
        // Central differences over one node of the table, at nodes, see the discrete divergence.
        let h = 0.1 / NODES_A_SWIRL as f64;
        for i in 0..500 {
            let node = (stream.direction(i) * 40.0).floor() * h + DVec3::X * 0.3;
            let d = |axis: DVec3| (breeze.velocity(node + axis * h) - breeze.velocity(node - axis * h)) / (2.0 * h);
            divergence += (d(DVec3::X).x + d(DVec3::Y).y + d(DVec3::Z).z).abs() / 500.0;
            square += (breeze.velocity(node) - DVec3::X).length_squared() / 500.0;
        }
        assert!((square.sqrt() - 2.0).abs() < 0.3, "{square}");
        assert!(divergence < 1e-3 * 2.0 / h, "{divergence}");
    }

    #[test]
    fn swirls_are_carried_by_the_mean_flow() {
        let flow = AirFlow::new(&[Wind::Turbulent { velocity: DVec3::new(3.0, 0.0, 1.0), speed: 1.0, size: 0.2 }], 9);
        let p = DVec3::new(0.11, 0.42, -0.3);
        let later = p + DVec3::new(3.0, 0.0, 1.0) * 0.7;
        assert!((flow.at(0.0).velocity(p) - flow.at(0.7).velocity(later)).length() < 1e-6);
    }

    #[test]
    fn gusts_vary_around_the_mean() {
        let flow = AirFlow::new(&[Wind::Gusts { velocity: DVec3::X * 4.0, strength: 0.5, period: 1.0 }], 3);
        let speeds: Vec<f64> = (0..400).map(|i| flow.at(0.1 * f64::from(i)).velocity(DVec3::ZERO).x).collect();
        let mean = speeds.iter().sum::<f64>() / 400.0;
        let spread = speeds.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / 400.0;
        assert!((mean - 4.0).abs() < 0.4 && spread.sqrt() > 0.2, "{mean} {spread}");
    }
}
