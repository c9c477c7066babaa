//! Meshes from files: OBJ, PLY, STL, glTF.
//!
//! Whatever the format, the result has been through [`TriMesh::clean`], is in metres, and has uvs with v upwards.
//! No file, however damaged, may cause a panic, and counts are checked before memory is taken for them.

mod accessor;
mod gltf;
mod obj;
mod ply;
mod polygon;
mod stl;

use crate::animation::MeshAnimation;
use crate::{GeometryError, TriMesh};
use std::io::Read;
use std::path::Path;

/// Largest file [bytes].
const LARGEST: u64 = 4 << 30;

/// A mesh as it came from a file.
#[derive(Clone, Debug)]
pub struct LoadedMesh {
    /// The mesh at rest [m].
    pub mesh: TriMesh,
    /// How it moves, if the file says so.
    pub animation: Option<MeshAnimation>,
    /// What was odd about it, one sentence each, starting with the file's name.
    pub warnings: Vec<String>,
}

/// Loads the mesh in the file at `path`; its extension says which format it has.
///
/// `unit` is the length of the file's unit [m]. `animation` names one of the animations of a glTF file; without a name the
/// first one is played, if there is any.
pub fn load_mesh(path: &Path, unit: f64, animation: Option<&str>) -> Result<LoadedMesh, GeometryError> {
    if !(unit.is_finite() && unit > 0.0) {
        return Err(GeometryError::InvalidParameter {
            parameter: "unit",
            value: unit,
            expected: "positive and finite",
        });
    }
    let parse = match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
        Some("obj") => obj::parse,
        Some("ply") => ply::parse,
        Some("stl") => stl::parse,
        Some("gltf" | "glb") => return finish(path, unit, gltf::parse(path, &read(path)?, unit, animation)?),
        other => {
            let extension = other.map_or("a file without extension".into(), |e| format!(".{e}"));
            return Err(GeometryError::UnknownFormat { path: path.into(), extension });
        }
    };
    if let Some(name) = animation {
        let available = "only glTF files have animations: remove the key or use a .gltf or .glb file".into();
        return Err(GeometryError::UnknownAnimation { path: path.into(), name: name.into(), available });
    }
    finish(path, unit, parse(path, &read(path)?)?)
}

/// The bytes of a file, unless there are too many.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, GeometryError> {
    let refuse = |source| GeometryError::Read { path: path.into(), source };
    let bytes = read_file(path, LARGEST + 1).map_err(refuse)?;
    if bytes.len() as u64 > LARGEST {
        let (origin, fix) = (path.display().to_string(), "simplify the mesh");
        let count = bytes.len() as u64;
        return Err(GeometryError::TooMany { origin, what: "bytes", count, limit: LARGEST, fix });
    }
    Ok(bytes)
}

/// At most the first `most` bytes of a file. Pipes and devices, which may never end, are refused.
fn read_file(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    let size = std::fs::metadata(path)?;
    if !size.is_file() {
        return Err(std::io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::with_capacity(size.len().min(most) as usize);
    std::fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Scales and cleans what a parser found.
fn finish(path: &Path, unit: f64, mut loaded: LoadedMesh) -> Result<LoadedMesh, GeometryError> {
    if unit != 1.0 {
        loaded.mesh.positions.iter_mut().for_each(|p| *p *= unit);
    }
    let origin = path.display().to_string();
    for warning in &mut loaded.warnings {
        *warning = format!("{origin}: {warning}");
    }
    loaded.warnings.extend(loaded.mesh.clean(&origin)?);
    Ok(loaded)
}

impl From<TriMesh> for LoadedMesh {
    fn from(mesh: TriMesh) -> Self {
        Self { mesh, animation: None, warnings: Vec::new() }
    }
}

/// A format error with its place and the way out.
fn malformed(
    path: &Path,
    place: impl Into<String>,
    problem: impl Into<String>,
    fix: impl Into<String>,
) -> GeometryError {
    GeometryError::Malformed { path: path.into(), place: place.into(), problem: problem.into(), fix: fix.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drench_math::random::Stream;

    /// Truncates and flips bytes of a good file: the parser may refuse, or read nonsense, but must not panic.
    pub(super) fn survives_damage(bytes: &[u8], parse: impl Fn(&[u8]) -> Result<LoadedMesh, GeometryError>) {
        let attempt = |bytes: &[u8]| {
            if let Ok(mut loaded) = parse(bytes) {
                let _ = loaded.mesh.clean("damaged");
                if let Some(animation) = &loaded.animation {
                    animation.pose_at(0.3, &mut loaded.mesh.positions);
                }
            }
        };
        let step = (bytes.len() / 200).max(1);
        for end in (0..bytes.len()).step_by(step) {
            attempt(&bytes[..end]);
        }
        let stream = Stream::new(1, "damage");
        for round in 0..1000 {
            let mut damaged = bytes.to_vec();
            for flip in 0..1 + round % 4 {
                // Mostly near the start, where the headers are.
                let at = (stream.child(round).uniform(3 * flip).powi(2) * bytes.len() as f64) as usize;
                damaged[at] = match stream.child(round).bits(3 * flip + 1) % 4 {
                    0 => 0xff,
                    1 => b'9',
                    2 => b'-',
                    _ => stream.child(round).bits(3 * flip + 2) as u8,
                };
            }
            attempt(&damaged);
        }
    }

    #[test]
    fn missing_and_unknown_files_are_refused() {
        let refusal = |path: &str| load_mesh(Path::new(path), 1.0, None).unwrap_err().to_string();
        assert!(refusal("nowhere/rabbit.obj").contains("cannot read nowhere/rabbit.obj"));
        assert!(refusal("rabbit.fbx").contains(".fbx") && refusal("rabbit.fbx").contains(".gltf"));
        assert!(refusal("rabbit").contains("without extension"));
        assert!(load_mesh(Path::new("a.obj"), f64::NAN, None).is_err());
        let error = load_mesh(Path::new("a.obj"), 1.0, Some("hop")).unwrap_err().to_string();
        assert!(error.contains("hop") && error.contains("glTF"), "{error}");
    }

    #[test]
    fn files_are_scaled_and_cleaned() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("corner.OBJ");
        // Inside out, in centimetres, with a flat triangle.
        let text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 4 2\nf 1 3 4\nf 2 4 3\nf 1 1 2\n";
        std::fs::write(&path, text).unwrap();
        let loaded = load_mesh(&path, 0.01, None).unwrap();
        approx::assert_relative_eq!(loaded.mesh.volume(), 1e-6 / 6.0, epsilon = 1e-18);
        assert_eq!(loaded.warnings.len(), 2, "{:?}", loaded.warnings);
        assert!(loaded.warnings.iter().all(|w| w.contains("corner.OBJ")));
        assert_eq!(loaded.mesh.normals.len(), 4);
    }
}
