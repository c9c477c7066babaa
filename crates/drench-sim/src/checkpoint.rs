//! The saved state as bytes and back, bit for bit: the state's own fields in order, in postcard's encoding, where a
//! double is its eight bytes. Checksums and versions are the container's.

use crate::SimError;
use crate::world::State;

/// The bytes of a state.
pub fn encode(state: &State) -> Vec<u8> {
    // Plain data into memory: neither can fail.
    postcard::to_stdvec(state).expect("a state is plain data")
}

/// Overwrites `state` with what `bytes` hold; `state` says which counts are expected.
pub fn decode(bytes: &[u8], state: &mut State) -> Result<(), SimError> {
    let (saved, rest) = postcard::take_from_bytes::<State>(bytes)
        .map_err(|error| SimError::Checkpoint(format!("it cannot be read ({error})")))?;
    fits("bytes left over", rest.len(), 0)?;
    fits("bodies", saved.strands.len(), state.strands.len())?;
    for (saved, expected) in saved.strands.iter().zip(&state.strands) {
        fits("vertices", saved.positions.len(), expected.positions.len())?;
        fits("velocities", saved.velocities.len(), expected.velocities.len())?;
        fits("pulls", saved.pulls.len(), expected.pulls.len())?;
    }
    fits("cords", saved.cords.len(), state.cords.len())?;
    for (saved, expected) in saved.cords.iter().zip(&state.cords) {
        fits("segments of a cord", saved.tensions.len(), expected.tensions.len())?;
    }
    fits("bodies of grains", saved.grains.len(), state.grains.len())?;
    fits("places for water in hair", saved.hair.inside.len(), state.hair.inside.len())?;
    fits("places for water on hair", saved.hair.around.len(), state.hair.around.len())?;
    if !saved.rigid.fits(&state.rigid) {
        return Err(SimError::Checkpoint("it has other rigid bodies".to_owned()));
    }
    *state = saved;
    Ok(())
}

fn fits(what: &str, found: usize, expected: usize) -> Result<(), SimError> {
    match found == expected {
        true => Ok(()),
        false => Err(SimError::Checkpoint(format!("{what}: {found} where {expected} are expected"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_physics::strands::StrandState;
    use glam::{DVec3, Vec3};

    fn state() -> State {
        let strands = StrandState {
            positions: vec![DVec3::new(0.1, -0.0, f64::MIN_POSITIVE); 3],
            velocities: vec![DVec3::splat(1e300); 3],
            pulls: vec![Vec3::splat(0.3); 3],
        };
        State { frame: 7, strands: vec![strands], ..State::default() }
    }

    #[test]
    fn a_state_comes_back_bit_for_bit() {
        let bytes = encode(&state());
        let mut other = State { frame: 0, ..state() };
        decode(&bytes, &mut other).unwrap();
        assert_eq!(other, state());
        assert_eq!(encode(&other), bytes);
    }

    #[test]
    fn damage_and_foreign_scenes_are_refused_and_change_nothing() {
        let bytes = encode(&state());
        let mut other = state();
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length], &mut other).is_err(), "{length}");
        }
        let longer: Vec<u8> = bytes.iter().copied().chain([0]).collect();
        assert!(decode(&longer, &mut other).is_err());
        let mut foreign = State { strands: vec![StrandState::default()], ..State::default() };
        assert!(decode(&bytes, &mut foreign).unwrap_err().to_string().contains("vertices: 3 where 0"));
        assert_eq!(other, state());
    }
}
