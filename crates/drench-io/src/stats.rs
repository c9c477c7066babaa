//! The figures of each frame, one JSON object per line of `stats.jsonl`.

use crate::atomic;
use crate::error::{IoError, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The figures of one frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FrameStats {
    /// Frame number.
    pub frame: u32,
    /// Simulated time [s].
    pub time: f64,
    /// Substeps since the frame before, or the parts that these were made in.
    pub steps: u32,
    /// Shortest substep [s].
    pub dt_min: f64,
    /// Longest substep [s].
    pub dt_max: f64,
    /// Elapsed time since the frame before [ms].
    pub wall_ms: f64,
    /// Elapsed time by stage [ms].
    pub stages: BTreeMap<String, f64>,
    /// How many there are of everything that the scene has.
    pub counts: BTreeMap<String, u64>,
    /// Peak resident memory [MB].
    pub memory_mb: f64,
    /// Where the water is, for scenes with liquid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub water: Option<Water>,
    /// Stretch of the strands that are meant to be inextensible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strain: Option<Strain>,
    /// What its pressure solves left of the compression of a liquid that has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<Compression>,
    /// Deepest penetration of anything into a solid [m].
    pub penetration_max: f64,
    /// Largest speed [m/s].
    pub speed_max: f64,
    /// Energy, where the model has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
    /// What a user should know.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The figures of single bodies, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bodies: BTreeMap<String, BodyStats>,
}

/// The figures of one body: those that its kind has. No two kinds may share a key: reading gives it to the first, whether that is the right one or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BodyStats {
    /// Relative change of length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strain: Option<Strain>,
    /// Largest speed [m/s].
    pub speed_max: f64,
    /// Height of the centre of mass of strands [m].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<f64>,
    /// Centre of mass of strands, liquid or grains, without the water that they hold [m].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub centre: Option<Point>,
    /// Mean distance of strands from root to tip over their length: 1 is straight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub straightness: Option<f64>,
    /// Part of the strands or grains that are wet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wet_part: Option<f64>,
    /// What cords have.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub cord: Option<CordStats>,
    /// What rigid bodies have.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub rigid: Option<RigidStats>,
    /// What hair has that gets wet.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub hair: Option<HairStats>,
    /// What liquids and grains have.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub particles: Option<ParticleStats>,
}

/// The figures of a liquid or of a body of grains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ParticleStats {
    /// How many particles there are.
    pub count: u64,
    /// Where they are.
    pub extent: Extent,
    /// Slope of a heap of grains [rad].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slope: Option<f64>,
    /// Where wet grains are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wet: Option<Extent>,
}

/// The figures of a groom that gets wet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HairStats {
    /// Water that it holds [kg].
    pub water: f64,
    /// Water that it holds over the mass of dry hair.
    pub content: f64,
    /// Groups of strands that water holds together at their tips; a strand alone is one.
    pub clumps: u64,
    /// Strands in such a group, on average.
    #[serde(default)]
    pub clump_size: f64,
    /// By how much strands turn along their length, on average [rad/m]: 0 is straight.
    #[serde(default)]
    pub curvature: f64,
    /// Drops that left it since the frame before [1/s].
    #[serde(default)]
    pub drips: f64,
    /// Their mass over that of dry hair [1/s]: how fast the content falls by dripping.
    #[serde(default)]
    pub dripping: f64,
}

/// A place [m].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// To the front.
    pub z: f64,
}

/// A box around something [m].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Extent {
    /// Smallest x.
    pub left: f64,
    /// Largest x.
    pub right: f64,
    /// Smallest y.
    pub bottom: f64,
    /// Largest y.
    pub top: f64,
    /// Smallest z.
    pub back: f64,
    /// Largest z.
    pub front: f64,
}

/// The figures of one cord.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CordStats {
    /// Pieces that it is in: one more than it was torn.
    pub pieces: u64,
    /// Length of all pieces together [m].
    pub length: f64,
    /// Distance of its two ends, of all pieces the first and the last [m].
    pub span: f64,
    /// Largest tension [N].
    pub tension_max: f64,
    /// Largest torque about its axis [N m].
    pub torque_max: f64,
    /// Turn of the last segment against the first, with the permanent part; 0 once it is torn [rad].
    pub twist: f64,
    /// Turn that the cord has by winding about itself: with `twist`, what its ends are turned against each other where they look the same way. 0 once
    /// it is torn, without torsion, or with more than 1000 segments [rad].
    #[serde(default)]
    pub writhe: f64,
    /// Largest turn between neighbouring segments beyond the permanent one [rad].
    pub twist_max: f64,
    /// Largest permanent strain.
    pub plastic_strain: f64,
    /// Permanent turn of the last segment against the first [rad].
    pub plastic_twist: f64,
    /// Height of its lowest vertex [m].
    pub lowest: f64,
    /// Height of its highest vertex [m].
    pub highest: f64,
}

/// The figures of one rigid body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RigidStats {
    /// Centre of mass [m].
    pub x: f64,
    /// Centre of mass [m].
    pub y: f64,
    /// Centre of mass [m].
    pub z: f64,
    /// Angular speed [rad/s].
    pub spin: f64,
}

/// Where the water is [kg].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Water {
    /// One entry per reservoir that the scene has: `bulk`, `film`, `fibre`, ...
    #[serde(flatten)]
    pub reservoirs: BTreeMap<String, f64>,
    /// Let into the scene so far.
    pub emitted: f64,
    /// Let out of the scene so far.
    pub drained: f64,
    /// Everything now present.
    pub total: f64,
    /// (total + drained - emitted - initial) / max(total, tiny), no unit.
    pub error: f64,
}

/// What pressure solves left, at worst: means over all particles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Compression {
    /// Density above that of rest, over it.
    pub density: f64,
    /// The same that velocities would add within a step.
    pub divergence: f64,
}

/// Relative change of length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Strain {
    /// Largest absolute value.
    pub max: f64,
    /// Mean absolute value.
    pub mean: f64,
}

/// Energy [J].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// Of motion.
    pub kinetic: f64,
    /// Of deformation, where the model has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elastic: Option<f64>,
    /// Of height.
    pub gravitational: f64,
}

impl FrameStats {
    /// The figure at a path such as `strain.max`, `counts.strands`, `stages.strands` or `speed_max`; nothing if there
    /// is none or if it is no number. Path parts are separated by dots.
    pub fn figure(&self, path: &str) -> Option<f64> {
        let object = serde_json::to_value(self).ok()?;
        path.split('.').try_fold(&object, |value, key| value.get(key))?.as_f64()
    }
}

/// The file `stats.jsonl` of a run.
#[derive(Debug)]
pub struct StatsLog {
    path: PathBuf,
    file: File,
}

impl StatsLog {
    /// Opens the log to add to it; it is created if it does not exist.
    pub fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path);
        Ok(Self { path: path.to_owned(), file: file.map_err(IoError::storage("open", path))? })
    }

    /// Adds a line; when this returns, it is on the disk.
    pub fn append(&mut self, stats: &FrameStats) -> Result<()> {
        // Maps with text keys and numbers: nothing that JSON cannot hold.
        let mut line = serde_json::to_vec(stats).expect("plain data");
        line.push(b'\n');
        let written = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        written.map_err(IoError::storage("write", &self.path))
    }
}

/// The lines of a log, and a message for each that could not be read. A log that does not exist has no lines.
///
/// The last line may be half-written after a kill; it is left out without a message if it has no end.
pub fn read(path: &Path) -> Result<(Vec<FrameStats>, Vec<String>)> {
    let content = match fs::read(path) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), Vec::new())),
        Err(error) => return Err(IoError::storage("read", path)(error)),
    };
    let whole = content.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let mut frames = Vec::new();
    let mut messages = Vec::new();
    for (number, line) in content[..whole].split(|&byte| byte == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        match serde_json::from_slice(line) {
            Ok(stats) => frames.push(stats),
            Err(error) => messages.push(format!("{}: line {} is left out: {error}", path.display(), number + 1)),
        }
    }
    Ok((frames, messages))
}

/// Rewrites the log so that it holds, once each and in order, the frames up to `last`; none if there is no last.
pub fn cut_back(path: &Path, last: Option<u32>) -> Result<Vec<String>> {
    let (frames, messages) = read(path)?;
    let kept: BTreeMap<u32, FrameStats> = frames
        .into_iter()
        .filter(|stats| last.is_some_and(|last| stats.frame <= last))
        .map(|stats| (stats.frame, stats))
        .collect();
    let mut content = Vec::new();
    for stats in kept.values() {
        content.extend(serde_json::to_vec(stats).expect("plain data"));
        content.push(b'\n');
    }
    atomic::write(path, &[&content])?;
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(frame: u32) -> FrameStats {
        FrameStats {
            frame,
            time: f64::from(frame) / 24.0,
            counts: BTreeMap::from([("strands".into(), 7)]),
            strain: Some(Strain { max: 0.1, mean: 0.01 }),
            ..FrameStats::default()
        }
    }

    #[test]
    fn the_figures_of_every_kind_of_body_are_read_as_they_were_written() {
        let common = BodyStats { speed_max: 1.0, wet_part: Some(0.5), ..BodyStats::default() };
        let extent = Some(Extent { left: 1.0, ..Extent::default() });
        let bodies = [
            BodyStats { cord: Some(CordStats { pieces: 2, ..CordStats::default() }), ..common },
            BodyStats { rigid: Some(RigidStats { spin: 3.0, ..RigidStats::default() }), ..common },
            BodyStats {
                hair: Some(HairStats {
                    clumps: 4,
                    curvature: 0.1,
                    drips: 12.5,
                    dripping: 1e-3,
                    ..HairStats::default()
                }),
                ..common
            },
            BodyStats {
                particles: Some(ParticleStats { slope: Some(0.1), wet: extent, ..ParticleStats::default() }),
                ..common
            },
        ];
        for body in bodies {
            let text = serde_json::to_string(&body).unwrap();
            assert_eq!(serde_json::from_str::<BodyStats>(&text).unwrap(), body, "{text}");
        }
    }

    #[test]
    fn the_names_are_those_of_the_contract() {
        let mut full = stats(3);
        let reservoirs = BTreeMap::from([("bulk".into(), 1.0), ("film".into(), 0.5)]);
        full.water = Some(Water { reservoirs, emitted: 2.0, drained: 0.5, total: 1.5, error: 0.0 });
        full.energy = Some(Energy { kinetic: 1.0, elastic: Some(2.0), gravitational: 3.0 });
        let value = serde_json::to_value(&full).unwrap();
        let keys: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
        let contract = "frame time steps dt_min dt_max wall_ms stages counts memory_mb water strain penetration_max \
                        speed_max energy warnings";
        assert_eq!(keys, contract.split_whitespace().collect::<Vec<_>>());
        assert_eq!(value["water"]["film"], 0.5);
        assert_eq!(value["water"]["total"], 1.5);
        assert_eq!(value["energy"]["elastic"], 2.0);
        assert_eq!(serde_json::from_value::<FrameStats>(value).unwrap(), full);
        assert!(!serde_json::to_string(&stats(3)).unwrap().contains("water"));
    }

    #[test]
    fn figures_are_found_by_path() {
        assert_eq!(stats(3).figure("strain.max"), Some(0.1));
        assert_eq!(stats(3).figure("counts.strands"), Some(7.0));
        assert_eq!(stats(3).figure("strain"), None);
        assert_eq!(stats(3).figure("no.such"), None);
    }

    #[test]
    fn a_log_is_cut_back_to_a_frame_whatever_state_it_is_in() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stats.jsonl");
        let mut log = StatsLog::open(&path).unwrap();
        for frame in [0, 1, 2, 2, 3, 4] {
            log.append(&stats(frame)).unwrap();
        }
        let mut content = fs::read(&path).unwrap();
        content.splice(0..0, b"not json\n".iter().copied());
        content.extend(b"{\"frame\":5,\"ti");
        fs::write(&path, &content).unwrap();

        let (frames, messages) = read(&path).unwrap();
        assert_eq!(frames.len(), 6);
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert!(messages[0].contains("line 1"));

        cut_back(&path, Some(2)).unwrap();
        let (frames, messages) = read(&path).unwrap();
        assert_eq!(frames, [stats(0), stats(1), stats(2)]);
        assert!(messages.is_empty());
        StatsLog::open(&path).unwrap().append(&stats(3)).unwrap();
        assert_eq!(read(&path).unwrap().0.len(), 4);
        cut_back(&path, None).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
    }

    #[test]
    fn an_absent_log_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(&folder.path().join("stats.jsonl")).unwrap(), (vec![], vec![]));
    }
}
