//! The last resort against passing through: what still would is moved as one rigid body for this step [Harmon2008].
//!
//! The vertices of pairs that would pass through each other form zones, which merge where they share a vertex. A zone takes
//! the rigid motion with its linear and angular momentum; one with held vertices goes with these. Relative positions in a zone
//! are those from before the step, so that nothing in it can pass through anything else in it.

use glam::{DMat3, DQuat, DVec3};
use std::collections::BTreeMap;

/// Zones of a step: a forest over vertices.
#[derive(Debug, Default)]
pub struct Zones {
    parents: BTreeMap<u32, u32>,
}

impl Zones {
    /// Puts all these vertices in one zone; whether that is news.
    pub fn join(&mut self, vertices: [usize; 4]) -> bool {
        let roots = vertices.map(|vertex| self.root(vertex as u32));
        let least = roots.into_iter().min().unwrap_or_default();
        let news = roots.iter().any(|&root| root != least);
        roots.into_iter().for_each(|root| {
            self.parents.insert(root, least);
        });
        news
    }

    fn root(&mut self, vertex: u32) -> u32 {
        let mut at = vertex;
        while let Some(&parent) = self.parents.get(&at).filter(|&&parent| parent != at) {
            at = parent;
        }
        self.parents.insert(vertex, at);
        at
    }

    /// The zones, each with its vertices in ascending order.
    pub fn members(&mut self) -> BTreeMap<u32, Vec<usize>> {
        let vertices: Vec<u32> = self.parents.keys().copied().collect();
        let mut zones: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for vertex in vertices {
            zones.entry(self.root(vertex)).or_default().push(vertex as usize);
        }
        zones
    }
}

/// The displacements of a zone's vertices if it moves rigidly. `motion` are the displacements that they would have.
pub fn rigid_motion(positions: &[DVec3], inverse_masses: &[f64], motion: &[DVec3]) -> Vec<DVec3> {
    let held: Vec<usize> = (0..positions.len()).filter(|&i| inverse_masses[i] == 0.0).collect();
    if !held.is_empty() {
        let mean = held.iter().map(|&i| motion[i]).sum::<DVec3>() / held.len() as f64;
        return (0..positions.len()).map(|i| if inverse_masses[i] == 0.0 { motion[i] } else { mean }).collect();
    }
    let masses: Vec<f64> = inverse_masses.iter().map(|inverse| 1.0 / inverse).collect();
    let total: f64 = masses.iter().sum();
    let mean = |of: &[DVec3]| of.iter().zip(&masses).map(|(v, m)| *v * *m).sum::<DVec3>() / total;
    let (centre, velocity) = (mean(positions), mean(motion));
    let (mut momentum, mut inertia) = (DVec3::ZERO, DMat3::ZERO);
    for ((position, moved), mass) in positions.iter().zip(motion).zip(&masses) {
        let arm = *position - centre;
        momentum += arm.cross(*moved - velocity) * *mass;
        let outer = DMat3::from_cols(arm * arm.x, arm * arm.y, arm * arm.z);
        inertia += (DMat3::IDENTITY * arm.length_squared() - outer) * *mass;
    }
    // Straight zones have no inertia about themselves.
    let trace = inertia.x_axis.x + inertia.y_axis.y + inertia.z_axis.z;
    let stiffened = inertia + DMat3::IDENTITY * (1e-9 * trace);
    let turn = if trace > 0.0 { stiffened.inverse() * momentum } else { DVec3::ZERO };
    // More than a radian in a step is no rotation to follow.
    let turn = if turn.is_finite() { turn.clamp_length_max(1.0) } else { DVec3::ZERO };
    let rotation = DQuat::from_scaled_axis(turn);
    positions.iter().map(|position| velocity + rotation * (*position - centre) - (*position - centre)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_merge_where_they_share_a_vertex() {
        let mut zones = Zones::default();
        assert!(zones.join([7, 8, 20, 21]));
        assert!(zones.join([30, 31, 40, 41]));
        assert!(zones.join([21, 22, 31, 32]));
        assert!(!zones.join([7, 8, 40, 41]));
        assert!(zones.join([50, 51, 60, 61]));
        let members = zones.members();
        assert_eq!(members[&7], [7, 8, 20, 21, 22, 30, 31, 32, 40, 41]);
        assert_eq!(members[&50], [50, 51, 60, 61]);
        assert_eq!(members.len(), 2);
    }

    #[test]
    fn a_rigid_motion_keeps_momentum_and_shape() {
        let positions = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::new(1.0, 2.0, 3.0)];
        let inverse = [1.0, 0.5, 0.25, 1.0];
        let motion = [DVec3::X, DVec3::Y, DVec3::Z, DVec3::NEG_X].map(|v| v * 1e-4);
        let moved = rigid_motion(&positions, &inverse, &motion);
        let momentum = |of: &[DVec3]| of.iter().zip(inverse).map(|(v, w)| *v / w).sum::<DVec3>();
        assert!((momentum(&moved) - momentum(&motion)).length() < 1e-15);
        let angular = |of: &[DVec3]| (0..4).map(|i| positions[i].cross(of[i]) / inverse[i]).sum::<DVec3>();
        assert!((angular(&moved) - angular(&motion)).length() < 1e-7);
        for i in 1..4 {
            let (was, is) = (positions[i] - positions[0], positions[i] + moved[i] - positions[0] - moved[0]);
            assert!((was.length() - is.length()).abs() < 1e-12);
        }
    }

    #[test]
    fn a_held_vertex_takes_its_zone_along() {
        let positions = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        let motion = [DVec3::X, DVec3::Y, DVec3::Z, DVec3::NEG_X];
        let moved = rigid_motion(&positions, &[0.0, 1.0, 1.0, 1.0], &motion);
        assert_eq!(moved, [DVec3::X; 4]);
    }
}
