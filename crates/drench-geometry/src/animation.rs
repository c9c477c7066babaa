//! Meshes that move: a tree of nodes with keyframes, skinning and morph targets, evaluated into vertex positions.
//!
//! A vertex at rest r becomes p = r + Σ w_m d_m (morph targets), and then either N p with the matrix N of its node, or
//! Σ w_j J_j B_j p with the matrices J of its joints and their inverse bind matrices B (linear blend skinning,
//! glTF 2.0, 3.7.3).

use glam::{DAffine3, DQuat, DVec3};
use rayon::prelude::*;
use std::f64::consts::PI;

/// Fewer vertices are not worth handing to another thread.
const VERTICES_PER_TASK: usize = 4096;

/// How a mesh moves over time.
#[derive(Clone, Debug)]
pub struct MeshAnimation {
    /// Parents come before their children.
    pub(crate) nodes: Vec<Node>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) pieces: Vec<Piece>,
    /// Length of the file's unit [m].
    pub(crate) unit: f64,
    pub(crate) duration: f64,
}

/// A frame of reference that hangs on its parent.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub parent: Option<usize>,
    pub rest: Placement,
}

/// Where a node is relative to its parent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Placement {
    /// Scaled, then turned, then moved.
    Steps { translation: DVec3, rotation: DQuat, scale: DVec3 },
    /// Any affine map; cannot be animated.
    Matrix(DAffine3),
}

impl Placement {
    fn map(&self) -> DAffine3 {
        match *self {
            Placement::Steps { translation, rotation, scale } => {
                DAffine3::from_scale_rotation_translation(scale, rotation, translation)
            }
            Placement::Matrix(map) => map,
        }
    }
}

/// What a channel moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Translation,
    Rotation,
    Scale,
    /// Weights of this many morph targets.
    Weights(usize),
}

impl Target {
    /// Numbers per key.
    pub fn width(self) -> usize {
        match self {
            Target::Translation | Target::Scale => 3,
            Target::Rotation => 4,
            Target::Weights(count) => count,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interpolation {
    Step,
    Linear,
    /// Hermite; each key has an incoming tangent, a value and an outgoing tangent.
    Cubic,
}

/// Keyframes of one property of one node.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    pub node: usize,
    pub target: Target,
    pub interpolation: Interpolation,
    /// Increasing times [s].
    pub times: Vec<f64>,
    /// `target.width()` numbers per key, three times as many for [`Interpolation::Cubic`].
    pub values: Vec<f64>,
}

/// Vertices that move by the same node or skin.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub node: usize,
    /// Number of its first vertex in the joined mesh.
    pub first: usize,
    /// Positions in the frame of the node, in the file's unit.
    pub rest: Vec<DVec3>,
    /// Displacements of each morph target.
    pub morphs: Vec<Vec<DVec3>>,
    /// Weights of the morph targets where no channel moves them.
    pub morph_weights: Vec<f64>,
    pub skin: Option<Skin>,
}

#[derive(Clone, Debug)]
pub(crate) struct Skin {
    /// Node and inverse bind matrix of each joint.
    pub joints: Vec<(usize, DAffine3)>,
    /// Start of the influences of each vertex, and the end of the last.
    pub offsets: Vec<u32>,
    /// Joint and weight; the weights of a vertex add up to 1.
    pub influences: Vec<(u32, f64)>,
}

impl MeshAnimation {
    /// Time of the last key [s].
    pub fn duration(&self) -> f64 {
        self.duration
    }

    /// Number of vertices that [`MeshAnimation::pose_at`] writes.
    pub fn vertex_count(&self) -> usize {
        self.pieces.last().map_or(0, |piece| piece.first + piece.rest.len())
    }

    /// Writes the vertex positions [m] at `time` [s]; before the first and after the last key the pose is held.
    ///
    /// `positions` has one entry for each vertex of the loaded mesh, in its order.
    pub fn pose_at(&self, time: f64, positions: &mut [DVec3]) {
        self.pose(Some(time), positions);
    }

    /// Writes the vertex positions [m] with every node where the file puts it, before any animation.
    pub fn pose_at_rest(&self, positions: &mut [DVec3]) {
        self.pose(None, positions);
    }

    fn pose(&self, time: Option<f64>, positions: &mut [DVec3]) {
        let maps = self.node_maps(time);
        for piece in &self.pieces {
            let weights = self.morph_weights(piece, time);
            let skin = piece.skin.as_ref().map(|skin| {
                let bones: Vec<DAffine3> = skin.joints.iter().map(|&(node, bind)| maps[node] * bind).collect();
                (skin, bones)
            });
            let first = piece.first.min(positions.len());
            let vertices = positions[first..].par_iter_mut().zip(&piece.rest).enumerate();
            vertices.with_min_len(VERTICES_PER_TASK).for_each(|(k, (out, &rest))| {
                let mut p = rest;
                for (morph, &weight) in piece.morphs.iter().zip(&weights) {
                    p += weight * morph[k];
                }
                let moved = match &skin {
                    None => maps[piece.node].transform_point3(p),
                    Some((skin, bones)) => {
                        let range = skin.offsets[k] as usize..skin.offsets[k + 1] as usize;
                        let blend = |&(joint, weight): &(u32, f64)| weight * bones[joint as usize].transform_point3(p);
                        skin.influences[range].iter().map(blend).sum()
                    }
                };
                *out = moved * self.unit;
            });
        }
    }

    /// Maps from each node to the world, in the file's unit.
    pub(crate) fn node_maps(&self, time: Option<f64>) -> Vec<DAffine3> {
        let mut local: Vec<Placement> = self.nodes.iter().map(|node| node.rest).collect();
        for channel in &self.channels {
            let Some(time) = time else { break };
            let Placement::Steps { translation, rotation, scale } = &mut local[channel.node] else { continue };
            let mut value = [0.0; 4];
            match channel.target {
                Target::Translation => *translation = channel.vector(time, &mut value),
                Target::Scale => *scale = channel.vector(time, &mut value),
                Target::Rotation => *rotation = channel.rotation(time),
                Target::Weights(_) => {}
            }
        }
        let mut maps: Vec<DAffine3> = Vec::with_capacity(local.len());
        for (node, placement) in self.nodes.iter().zip(&local) {
            let map = placement.map();
            maps.push(node.parent.map_or(map, |parent| maps[parent] * map));
        }
        maps
    }

    fn morph_weights(&self, piece: &Piece, time: Option<f64>) -> Vec<f64> {
        let mut weights = piece.morph_weights.clone();
        let moves = |c: &&Channel| c.node == piece.node && c.target == Target::Weights(weights.len());
        if let (Some(time), Some(channel)) = (time, self.channels.iter().find(moves)) {
            channel.sample(time, &mut weights);
        }
        weights
    }
}

impl Channel {
    /// The key at or before `time`, and how far it is to the next, from 0 to 1; held outside the keys.
    fn locate(&self, time: f64) -> (usize, f64) {
        let after = self.times.partition_point(|&key| key <= time);
        if after == 0 {
            return (0, 0.0);
        }
        match self.times.get(after) {
            Some(next) => (after - 1, (time - self.times[after - 1]) / (next - self.times[after - 1])),
            None => (after - 1, 0.0),
        }
    }

    /// Number `k` of part `part` (incoming tangent, value, outgoing tangent) of a key.
    fn number(&self, key: usize, part: usize, k: usize) -> f64 {
        let width = self.target.width();
        match self.interpolation {
            Interpolation::Cubic => self.values[(3 * key + part) * width + k],
            _ => self.values[key * width + k],
        }
    }

    /// Each number on its own: for everything but linear rotations.
    fn sample(&self, time: f64, out: &mut [f64]) {
        let (key, t) = self.locate(time);
        let value = |key: usize, k: usize| self.number(key, 1, k);
        for (k, out) in out.iter_mut().enumerate().take(self.target.width()) {
            *out = match self.interpolation {
                _ if t == 0.0 => value(key, k),
                Interpolation::Step => value(key, k),
                Interpolation::Linear => value(key, k) + t * (value(key + 1, k) - value(key, k)),
                Interpolation::Cubic => {
                    // glTF 2.0, appendix C.5: tangents are per second.
                    let span = self.times[key + 1] - self.times[key];
                    let (t2, t3) = (t * t, t * t * t);
                    (2.0 * t3 - 3.0 * t2 + 1.0) * value(key, k)
                        + span * (t3 - 2.0 * t2 + t) * self.number(key, 2, k)
                        + (3.0 * t2 - 2.0 * t3) * value(key + 1, k)
                        + span * (t3 - t2) * self.number(key + 1, 0, k)
                }
            };
        }
    }

    fn vector(&self, time: f64, scratch: &mut [f64; 4]) -> DVec3 {
        self.sample(time, scratch);
        DVec3::new(scratch[0], scratch[1], scratch[2])
    }

    fn rotation(&self, time: f64) -> DQuat {
        let unit = |q: [f64; 4]| {
            let q = DQuat::from_array(q);
            if q.length_squared() > 0.0 && q.is_finite() { q.normalize() } else { DQuat::IDENTITY }
        };
        let (key, t) = self.locate(time);
        if self.interpolation == Interpolation::Linear && t > 0.0 {
            let [from, to] = [key, key + 1].map(|key| unit(std::array::from_fn(|k| self.number(key, 1, k))));
            return slerp(from, to, t);
        }
        let mut value = [0.0; 4];
        self.sample(time, &mut value);
        unit(value)
    }
}

/// The shorter way round at even speed, accurate for small angles too.
fn slerp(from: DQuat, to: DQuat, t: f64) -> DQuat {
    let to = if from.dot(to) < 0.0 { -to } else { to };
    let angle = 2.0 * (from - to).length().atan2((from + to).length());
    if !(1e-9..=PI - 1e-9).contains(&angle) {
        return from.lerp(to, t);
    }
    ((from * ((1.0 - t) * angle).sin() + to * (t * angle).sin()) * (1.0 / angle.sin())).normalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    fn channel(target: Target, interpolation: Interpolation, times: &[f64], values: &[f64]) -> Channel {
        Channel { node: 0, target, interpolation, times: times.to_vec(), values: values.to_vec() }
    }

    #[test]
    fn keys_are_held_stepped_and_interpolated() {
        let at = |interpolation, time| {
            let x = [0.0, 0.0, 0.0, 2.0, 4.0, 6.0];
            channel(Target::Translation, interpolation, &[1.0, 3.0], &x).vector(time, &mut [0.0; 4]).y
        };
        for (time, linear, step) in
            [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.5, 1.0, 0.0), (3.0, 4.0, 4.0), (9.0, 4.0, 4.0)]
        {
            assert_eq!(at(Interpolation::Linear, time), linear);
            assert_eq!(at(Interpolation::Step, time), step);
        }
    }

    #[test]
    fn cubic_keys_reproduce_a_cubic() {
        let curve = |t: f64| 2.0 * t * t * t - 3.0 * t + 1.0;
        let slope = |t: f64| 6.0 * t * t - 3.0;
        let keys = [0.5, 1.0, 2.5];
        let values: Vec<f64> = keys.iter().flat_map(|&t| [slope(t), curve(t), slope(t)]).collect();
        let channel = channel(Target::Weights(1), Interpolation::Cubic, &keys, &values);
        for k in 0..=20 {
            let time = 0.5 + 0.1 * f64::from(k);
            let mut weight = [0.0];
            channel.sample(time, &mut weight);
            assert_relative_eq!(weight[0], curve(time), epsilon = 1e-12);
        }
    }

    #[test]
    fn rotations_turn_at_even_speed_the_shorter_way() {
        let quarter = DQuat::from_rotation_z(PI / 2.0);
        for sign in [1.0, -1.0] {
            let values: Vec<f64> = [DQuat::IDENTITY, quarter * sign].iter().flat_map(|q| q.to_array()).collect();
            let channel = channel(Target::Rotation, Interpolation::Linear, &[0.0, 1.0], &values);
            for k in 0..=10 {
                let t = f64::from(k) / 10.0;
                let angle = (channel.rotation(t) * DVec3::X).truncate().to_angle();
                assert_relative_eq!(angle, t * PI / 2.0, epsilon = 1e-12);
            }
        }
    }
}
