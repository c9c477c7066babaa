//! The saved state as bytes and back, bit for bit.
//!
//! Layout, little endian: frame (u32), body count (u32), then per body the counts of positions and pulls (u64 each),
//! positions and velocities (3 f64 a vertex) and pulls (3 f32 a vertex); then the rigid bodies as a length (u64) and the
//! bytes of their solver. Checksums and versions are the container's.

use crate::SimError;
use crate::world::State;
use drench_physics::strands::StrandState;
use glam::{DVec3, Vec3};

/// The bytes of a state.
pub fn encode(state: &State) -> Vec<u8> {
    let vertices: usize = state.strands.iter().map(|body| body.positions.len()).sum();
    let mut bytes = Vec::with_capacity(64 + vertices * 60);
    bytes.extend(state.frame.to_le_bytes());
    bytes.extend((state.strands.len() as u32).to_le_bytes());
    for body in &state.strands {
        bytes.extend((body.positions.len() as u64).to_le_bytes());
        bytes.extend((body.pulls.len() as u64).to_le_bytes());
        for vector in body.positions.iter().chain(&body.velocities) {
            vector.to_array().iter().for_each(|x| bytes.extend(x.to_le_bytes()));
        }
        for vector in &body.pulls {
            vector.to_array().iter().for_each(|x| bytes.extend(x.to_le_bytes()));
        }
    }
    let rigid = state.rigid.snapshot();
    bytes.extend((rigid.len() as u64).to_le_bytes());
    bytes.extend(rigid);
    bytes
}

/// Overwrites `state` with what `bytes` hold; `state` says which counts are expected.
pub fn decode(bytes: &[u8], state: &mut State) -> Result<(), SimError> {
    let mut reader = Reader { bytes };
    let frame = u32::from_le_bytes(reader.take()?);
    let bodies = u32::from_le_bytes(reader.take()?) as usize;
    if bodies != state.strands.len() {
        return Err(mismatch("bodies", bodies, state.strands.len()));
    }
    let mut strands = Vec::with_capacity(bodies);
    for expected in &state.strands {
        let vertices = u64::from_le_bytes(reader.take()?) as usize;
        let pulls = u64::from_le_bytes(reader.take()?) as usize;
        if vertices != expected.positions.len() {
            return Err(mismatch("vertices", vertices, expected.positions.len()));
        }
        if pulls != expected.pulls.len() {
            return Err(mismatch("pulls", pulls, expected.pulls.len()));
        }
        let positions = reader.vectors(vertices)?;
        let velocities = reader.vectors(vertices)?;
        let pulls = (0..pulls)
            .map(|_| Ok(Vec3::new(reader.f32()?, reader.f32()?, reader.f32()?)))
            .collect::<Result<_, SimError>>()?;
        strands.push(StrandState { positions, velocities, pulls });
    }
    let rigid = u64::from_le_bytes(reader.take()?) as usize;
    let rigid = reader.slice(rigid)?;
    if !reader.bytes.is_empty() {
        return Err(mismatch("bytes left over", reader.bytes.len(), 0));
    }
    state.rigid.restore(rigid).map_err(|error| SimError::Checkpoint(error.to_string()))?;
    (state.frame, state.strands) = (frame, strands);
    Ok(())
}

fn mismatch(what: &str, found: usize, expected: usize) -> SimError {
    SimError::Checkpoint(format!("{what}: {found} where {expected} are expected"))
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn slice(&mut self, count: usize) -> Result<&'a [u8], SimError> {
        let (head, rest) =
            self.bytes.split_at_checked(count).ok_or_else(|| SimError::Checkpoint("it ends too early".to_owned()))?;
        self.bytes = rest;
        Ok(head)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], SimError> {
        let (head, rest) =
            self.bytes.split_first_chunk().ok_or_else(|| SimError::Checkpoint("it ends too early".to_owned()))?;
        self.bytes = rest;
        Ok(*head)
    }

    fn f32(&mut self) -> Result<f32, SimError> {
        self.take().map(f32::from_le_bytes)
    }

    fn vectors(&mut self, count: usize) -> Result<Vec<DVec3>, SimError> {
        let mut number = || self.take().map(f64::from_le_bytes);
        (0..count).map(|_| Ok(DVec3::new(number()?, number()?, number()?))).collect()
    }
}
