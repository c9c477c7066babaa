//! Wind on a rigid body: pressure on the panels of its skin.
//!
//! A panel of area A and outward normal n in air that moves with u relative to it feels
//!
//! F = 1/2 rho C s A |u.n| (u.n) n,   s = 2/3 where the air comes from (u.n < 0), 1/3 in the lee,
//!
//! pressure in front, suction behind: a plate across the wind has the drag coefficient C, and air that turns or that
//! blows harder on one side turns the body. Panels know nothing of each other: no shelter behind an edge, no lift of a
//! stalled wing, no friction of the air along the skin.
//!
//! The force is made a little implicit: it is divided by 1 + dt sum k w, with k = dF/du of a panel and w what its point
//! gives way by, so that no time step lets light bodies overshoot the wind.

use super::{BodyState, Mesh, Push};
use crate::air::{Air, Breeze};
use glam::DVec3;
use std::collections::BTreeMap;

/// Shares of the pressure in front and of the suction behind.
const FRONT: f64 = 2.0 / 3.0;
const LEE: f64 = 1.0 / 3.0;
/// Panels along the longest edge of a body.
const ALONG: f64 = 4.0;

/// The skin of a body, in some dozens of flat panels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panels {
    /// Centres, in the body's own frame [m].
    centres: Vec<DVec3>,
    /// Outward normals times areas, in the body's own frame [m2].
    areas: Vec<DVec3>,
}

impl Panels {
    /// Cuts a mesh into panels: its triangles are split where they are large, and joined where they lie in the same cell
    /// and face the same way.
    pub fn new(mesh: Mesh) -> Self {
        let mut low = DVec3::INFINITY;
        let mut high = DVec3::NEG_INFINITY;
        for position in mesh.positions {
            (low, high) = (low.min(*position), high.max(*position));
        }
        let cell = (high - low).max_element() / ALONG;
        if !(cell.is_finite() && cell > 0.0) {
            return Self::default();
        }
        let mut joined: BTreeMap<[i64; 4], (DVec3, DVec3, f64)> = BTreeMap::new();
        let mut stack: Vec<[DVec3; 3]> = Vec::new();
        for triangle in mesh.triangles {
            stack.push(triangle.map(|corner| mesh.positions[corner as usize]));
            while let Some([a, b, c]) = stack.pop() {
                // Split at the longest edge, which is then opposite of the first corner.
                let edges = [(b - c).length(), (c - a).length(), (a - b).length()];
                let longest = (0..3).fold(0, |best, i| if edges[i] > edges[best] { i } else { best });
                if edges[longest] > cell {
                    let [a, b, c] = [[a, b, c], [b, c, a], [c, a, b]][longest];
                    let middle = 0.5 * (b + c);
                    stack.extend([[a, b, middle], [a, middle, c]]);
                    continue;
                }
                let (centre, area) = ((a + b + c) / 3.0, 0.5 * (b - a).cross(c - a));
                let size = area.length();
                if size > 0.0 {
                    let [i, j, k] = ((centre - low) / cell).floor().to_array().map(|x| x as i64);
                    let panel = joined.entry([i, j, k, facing(area)]).or_default();
                    *panel = (panel.0 + centre * size, panel.1 + area, panel.2 + size);
                }
            }
        }
        let panels = joined.into_values();
        let (centres, areas) = panels.map(|(centre, area, size)| (centre / size, area)).unzip();
        Self { centres, areas }
    }

    /// What the wind does to a body during `dt` seconds, with the drag coefficient of a plate of its size.
    /// `local_centre` is the centre of mass in the body's own frame [m].
    pub fn push(
        &self,
        body: &mut BodyState,
        local_centre: DVec3,
        drag: f64,
        (air, breeze): (&Air, &Breeze),
        dt: f64,
        book: &mut Push,
    ) {
        if body.inverse_mass == 0.0 || drag == 0.0 {
            return;
        }
        let (mut linear, mut angular, mut stiffness) = (DVec3::ZERO, DVec3::ZERO, 0.0);
        for (centre, area) in self.centres.iter().zip(&self.areas) {
            let lever = body.rotation * (*centre - local_centre);
            let point = body.centre + lever;
            let area = body.rotation * *area;
            let size = area.length();
            let normal = area / size.max(1e-300);
            let through = (breeze.velocity(point) - body.velocity_at(point)).dot(normal);
            let share = if through < 0.0 { FRONT } else { LEE };
            let factor = 0.5 * air.density * air.drag * drag * share * size * through.abs();
            let force = normal * (factor * through);
            linear += force;
            angular += lever.cross(force);
            stiffness += 2.0 * factor * body.inverse_mass_at(point, normal);
        }
        let implicit = dt / (1.0 + dt * stiffness);
        body.push(linear * implicit, body.centre, book);
        body.turn(angular * implicit, book);
    }
}

/// Which of six ways a vector faces, mostly.
fn facing(vector: DVec3) -> i64 {
    let size = vector.abs();
    let axis = if size.x >= size.y && size.x >= size.z {
        0
    } else if size.y >= size.z {
        1
    } else {
        2
    };
    2 * axis + i64::from(vector[axis as usize] < 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::air::{AirFlow, Wind};
    use drench_geometry::primitives;
    use glam::{DMat3, DQuat};

    fn cube(velocity: DVec3) -> (Panels, BodyState) {
        let mesh = primitives::cuboid(DVec3::splat(0.2));
        let panels = Panels::new(Mesh { positions: &mesh.positions, triangles: &mesh.triangles });
        let body = BodyState {
            centre: DVec3::new(3.0, 1.0, 0.0),
            rotation: DQuat::IDENTITY,
            velocity,
            spin: DVec3::ZERO,
            inverse_mass: 1.0,
            inverse_inertia: DMat3::IDENTITY * 150.0,
        };
        (panels, body)
    }

    #[test]
    fn a_plate_across_the_wind_has_the_given_drag() {
        let flow = AirFlow::new(&[Wind::Uniform { velocity: DVec3::X * 5.0 }], 1);
        let (panels, mut body) = cube(DVec3::ZERO);
        let (mut push, dt) = (Push::default(), 1e-6);
        panels.push(&mut body, DVec3::ZERO, 1.1, (&Air::default(), &flow.at(0.0)), dt, &mut push);
        let expected = 0.5 * 1.2 * 1.1 * 0.04 * 25.0 * dt;
        assert!((push.linear - DVec3::X * expected).length() < 1e-4 * expected, "{:?}", push.linear);
        assert!(push.angular.length() < 1e-9 * expected, "a symmetric body in even wind does not turn");
    }

    #[test]
    fn a_body_is_carried_to_the_speed_of_the_wind_and_never_past_it() {
        let flow = AirFlow::new(&[Wind::Uniform { velocity: DVec3::X * 40.0 }], 1);
        let (panels, mut body) = cube(DVec3::ZERO);
        body.inverse_mass = 1e3;
        for _ in 0..2000 {
            let mut push = Push::default();
            panels.push(&mut body, DVec3::ZERO, 1.0, (&Air::default(), &flow.at(0.0)), 0.05, &mut push);
            assert!((0.0..=40.0).contains(&body.velocity.x));
        }
        assert!(body.velocity.x > 39.0, "{}", body.velocity);
    }

    #[test]
    fn swirls_turn_a_body_and_spin_dies_in_still_air() {
        let flow = AirFlow::new(&[Wind::Turbulent { velocity: DVec3::ZERO, speed: 3.0, size: 0.3 }], 4);
        let (panels, mut body) = cube(DVec3::ZERO);
        let mut push = Push::default();
        panels.push(&mut body, DVec3::ZERO, 1.0, (&Air::default(), &flow.at(0.0)), 0.01, &mut push);
        assert!(body.spin.length() > 1e-3, "{}", body.spin);
        let still = AirFlow::still();
        let before = body.spin.length();
        for _ in 0..100 {
            panels.push(&mut body, DVec3::ZERO, 1.0, (&Air::default(), &still.at(0.0)), 0.01, &mut push);
        }
        assert!(body.spin.length() < before);
    }

    #[test]
    fn a_fine_sphere_becomes_few_panels_that_close() {
        let mesh = primitives::sphere(0.5, 5);
        let panels = Panels::new(Mesh { positions: &mesh.positions, triangles: &mesh.triangles });
        assert!(panels.centres.len() < 250, "{}", panels.centres.len());
        assert!(panels.areas.iter().sum::<DVec3>().length() < 1e-9);
    }
}
