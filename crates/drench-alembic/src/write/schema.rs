//! The geometry schemas: which properties an object of each kind has.

use super::{Archive, Kind, ObjectId, Place, refuse};
use crate::error::AlembicError;
use crate::types::{Basis, Pod, Scope};

/// Values of a property, one per element of its scope.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// Yes or no.
    Bool(&'a [bool]),
    /// Small whole numbers.
    U8(&'a [u8]),
    /// Whole numbers.
    I16(&'a [i16]),
    /// Whole numbers.
    I32(&'a [i32]),
    /// Triples of whole numbers.
    I32x3(&'a [[i32; 3]]),
    /// Whole numbers.
    U32(&'a [u32]),
    /// Whole numbers.
    U64(&'a [u64]),
    /// Numbers.
    F32(&'a [f32]),
    /// Pairs, such as texture coordinates.
    F32x2(&'a [[f32; 2]]),
    /// Vectors.
    F32x3(&'a [[f32; 3]]),
    /// Numbers.
    F64(&'a [f64]),
    /// Texts, without zero bytes.
    Text(&'a [&'a str]),
}

impl Values<'_> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::Bool(values) => values.len(),
            Self::U8(values) => values.len(),
            Self::I16(values) => values.len(),
            Self::I32(values) => values.len(),
            Self::I32x3(values) => values.len(),
            Self::U32(values) => values.len(),
            Self::U64(values) => values.len(),
            Self::F32(values) => values.len(),
            Self::F32x2(values) => values.len(),
            Self::F32x3(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn pod(&self) -> Pod {
        match self {
            Self::Bool(_) => Pod::Bool,
            Self::U8(_) => Pod::U8,
            Self::I16(_) => Pod::I16,
            Self::I32(_) | Self::I32x3(_) => Pod::I32,
            Self::U32(_) => Pod::U32,
            Self::U64(_) => Pod::U64,
            Self::F32(_) | Self::F32x2(_) | Self::F32x3(_) => Pod::F32,
            Self::F64(_) => Pod::F64,
            Self::Text(_) => Pod::Text,
        }
    }

    pub(super) fn extent(&self) -> u8 {
        match self {
            Self::F32x2(_) => 2,
            Self::F32x3(_) | Self::I32x3(_) => 3,
            _ => 1,
        }
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }

    /// Appends the values, little end first.
    pub(super) fn append_to(&self, out: &mut Vec<u8>) {
        match self {
            Self::Bool(values) => out.extend(values.iter().map(|&yes| u8::from(yes))),
            Self::U8(values) => out.extend_from_slice(values),
            Self::I16(values) => append(values, |x| x.to_le_bytes(), out),
            Self::I32(values) => append(values, |x| x.to_le_bytes(), out),
            Self::I32x3(values) => append(values.as_flattened(), |x| x.to_le_bytes(), out),
            Self::U32(values) => append(values, |x| x.to_le_bytes(), out),
            Self::U64(values) => append(values, |x| x.to_le_bytes(), out),
            Self::F32(values) => append(values, |x| x.to_le_bytes(), out),
            Self::F32x2(values) => append(values.as_flattened(), |x| x.to_le_bytes(), out),
            Self::F32x3(values) => append(values.as_flattened(), |x| x.to_le_bytes(), out),
            Self::F64(values) => append(values, |x| x.to_le_bytes(), out),
            Self::Text(values) => {
                for text in *values {
                    // A zero ends a text.
                    out.extend(text.bytes().filter(|&byte| byte != 0));
                    out.push(0);
                }
            }
        }
    }
}

fn append<T: Copy, const N: usize>(values: &[T], bytes: impl Fn(T) -> [u8; N], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + values.len() * N, 0);
    for (slot, &value) in out[start..].as_chunks_mut::<N>().0.iter_mut().zip(values) {
        *slot = bytes(value);
    }
}

/// Further values on an object.
#[derive(Clone, Copy, Debug)]
pub struct Parameter<'a> {
    /// Name, without slashes.
    pub name: &'a str,
    /// What one value belongs to.
    pub scope: Scope,
    /// The values.
    pub values: Values<'a>,
}

/// Curves at one time.
#[derive(Clone, Copy, Debug, Default)]
pub struct CurvesSample<'a> {
    /// Vertices of all curves, one curve after the other.
    pub positions: &'a [[f32; 3]],
    /// Number of vertices of each curve.
    pub counts: &'a [i32],
    /// How curves run along their vertices.
    pub basis: Basis,
    /// Diameters: one, one per curve or one per vertex.
    pub widths: Option<(Scope, &'a [f32])>,
    /// Texture coordinates: one pair per curve or per vertex.
    pub uvs: Option<(Scope, &'a [[f32; 2]])>,
    /// Velocity of each vertex [units/s].
    pub velocities: Option<&'a [[f32; 3]]>,
    /// Further values.
    pub parameters: &'a [Parameter<'a>],
}

/// Points at one time.
#[derive(Clone, Copy, Debug, Default)]
pub struct PointsSample<'a> {
    /// Where the points are.
    pub positions: &'a [[f32; 3]],
    /// Numbers that stay with the points.
    pub ids: &'a [u64],
    /// Velocity of each point [units/s].
    pub velocities: Option<&'a [[f32; 3]]>,
    /// Diameters: one, or one per point.
    pub widths: Option<(Scope, &'a [f32])>,
    /// Further values.
    pub parameters: &'a [Parameter<'a>],
}

/// A polygon mesh at one time.
#[derive(Clone, Copy, Debug, Default)]
pub struct MeshSample<'a> {
    /// Vertices.
    pub positions: &'a [[f32; 3]],
    /// Number of vertices of each face.
    pub counts: &'a [i32],
    /// Vertices of all faces, one face after the other, counter-clockwise seen from outside.
    pub indices: &'a [i32],
    /// Normal of each vertex.
    pub normals: Option<&'a [[f32; 3]]>,
    /// Velocity of each vertex [units/s].
    pub velocities: Option<&'a [[f32; 3]]>,
    /// Further values.
    pub parameters: &'a [Parameter<'a>],
}

/// A camera at one time; it looks along -z, +y is up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CameraSample {
    /// Focal length [mm].
    pub focal_length: f64,
    /// Width of the film [mm].
    pub film_width: f64,
    /// Height of the film [mm].
    pub film_height: f64,
    /// Distance in focus [units].
    pub focus_distance: f64,
    /// Focal length over the diameter of the aperture.
    pub f_stop: f64,
    /// Nearest that is seen [units].
    pub near: f64,
    /// Farthest that is seen [units].
    pub far: f64,
}

impl Default for CameraSample {
    fn default() -> Self {
        Self {
            focal_length: 35.0,
            film_width: 36.0,
            film_height: 24.0,
            focus_distance: 5.0,
            f_stop: 5.6,
            near: 0.1,
            far: 1e5,
        }
    }
}

const POINT_VERTEX: &str = "geoScope=vtx;interpretation=point";
const POINT_VARYING: &str = "geoScope=var;interpretation=point";
const VECTOR: &str = "interpretation=vector";
/// An operation that is a matrix.
const MATRIX_OPERATION: u8 = 0x30;

impl Archive {
    /// Adds a transform.
    pub fn add_xform(&mut self, parent: ObjectId, name: &str) -> Result<ObjectId, AlembicError> {
        self.add(parent, name, Kind::Xform)
    }

    /// Writes the next sample of a transform: where the axes and the origin of what is below it go, so that a point `p`
    /// goes to `axes[0] * p.x + axes[1] * p.y + axes[2] * p.z + origin`.
    pub fn write_xform(&mut self, id: ObjectId, axes: [[f64; 3]; 3], origin: [f64; 3]) -> Result<(), AlembicError> {
        self.expect(id, Kind::Xform)?;
        let mut matrix = [0.0; 16];
        for (row, values) in axes.iter().chain([&origin]).enumerate() {
            matrix[4 * row..4 * row + 3].copy_from_slice(values);
        }
        matrix[15] = 1.0;
        self.set(id, &Place::scalar(".inherits", "", 1), &Values::Bool(&[true]))?;
        let object = &mut self.objects[id.0];
        let is_first = object.samples == 0;
        let (last, moving) = object.matrix.get_or_insert((matrix, [false; 16]));
        for channel in 0..16 {
            moving[channel] |= last[channel] != matrix[channel];
        }
        *last = matrix;
        if is_first {
            self.set(id, &Place::scalar(".ops", "", 1).unsampled(), &Values::U8(&[MATRIX_OPERATION]))?;
            let not_identity = Place::scalar("isNotConstantIdentity", "", 1).unsampled();
            self.set(id, &not_identity, &Values::Bool(&[true]))?;
        }
        self.set(id, &Place::scalar(".vals", "", 16), &Values::F64(&matrix))?;
        self.end_sample(id);
        Ok(())
    }

    /// Readers take a transform to stand still unless it names the numbers of its matrix that change.
    pub(super) fn tell_moving_channels(&mut self) -> Result<(), AlembicError> {
        for index in 0..self.objects.len() {
            let Some((_, moving)) = self.objects[index].matrix else { continue };
            let channels: Vec<u32> = (0..16).filter(|&channel| moving[channel as usize]).collect();
            if !channels.is_empty() {
                let place = Place::array(".animChans", "").unsampled();
                self.set(ObjectId(index), &place, &Values::U32(&channels))?;
            }
        }
        Ok(())
    }

    /// Gives an object a property of its own that does not change: one value, no geometry.
    pub fn user_property(&mut self, id: ObjectId, name: &str, value: Values) -> Result<(), AlembicError> {
        if value.len() != 1 || id == self.top() {
            return Err(refuse(
                &self.objects[id.0],
                format!("the user property '{name}' needs an object and one value"),
            ));
        }
        let place = Place::scalar(name, "", value.extent()).inside(".userProperties").unsampled();
        self.set(id, &place, &value)
    }

    /// Adds curves.
    pub fn add_curves(&mut self, parent: ObjectId, name: &str) -> Result<ObjectId, AlembicError> {
        self.add(parent, name, Kind::Curves)
    }

    /// Writes the next sample of curves.
    pub fn write_curves(&mut self, id: ObjectId, sample: &CurvesSample) -> Result<(), AlembicError> {
        self.expect(id, Kind::Curves)?;
        let (curves, vertices) = (sample.counts.len(), sample.positions.len());
        self.check_counts(id, sample.counts, vertices)?;
        self.check_length(id, "velocities", sample.velocities.map(<[_]>::len), vertices)?;
        let sizes = Sizes { uniform: curves, vertex: vertices, corner: vertices };
        self.write_bounds(id, sample.positions)?;
        self.set(id, &Place::array("P", POINT_VERTEX), &Values::F32x3(sample.positions))?;
        self.set(id, &Place::array("nVertices", ""), &Values::I32(sample.counts))?;
        self.set(id, &Place::scalar("curveBasisAndType", "", 4), &Values::U8(&sample.basis.bytes()))?;
        if let Some(velocities) = sample.velocities {
            self.set(id, &Place::array(".velocities", VECTOR), &Values::F32x3(velocities))?;
        }
        if let Some((scope, widths)) = sample.widths {
            self.write_parameter(id, None, &Parameter { name: "width", scope, values: Values::F32(widths) }, &sizes)?;
        }
        if let Some((scope, uvs)) = sample.uvs {
            self.write_parameter(id, None, &Parameter { name: "uv", scope, values: Values::F32x2(uvs) }, &sizes)?;
        }
        self.write_parameters(id, sample.parameters, &sizes)
    }

    /// Adds points.
    pub fn add_points(&mut self, parent: ObjectId, name: &str) -> Result<ObjectId, AlembicError> {
        self.add(parent, name, Kind::Points)
    }

    /// Writes the next sample of points.
    pub fn write_points(&mut self, id: ObjectId, sample: &PointsSample) -> Result<(), AlembicError> {
        self.expect(id, Kind::Points)?;
        let points = sample.positions.len();
        self.check_length(id, "ids", Some(sample.ids.len()), points)?;
        self.check_length(id, "velocities", sample.velocities.map(<[_]>::len), points)?;
        let sizes = Sizes { uniform: points, vertex: points, corner: points };
        self.write_bounds(id, sample.positions)?;
        self.set(id, &Place::array("P", POINT_VARYING), &Values::F32x3(sample.positions))?;
        self.set(id, &Place::array(".pointIds", "geoScope=var"), &Values::U64(sample.ids))?;
        if let Some(velocities) = sample.velocities {
            self.set(id, &Place::array(".velocities", VECTOR), &Values::F32x3(velocities))?;
        }
        if let Some((scope, widths)) = sample.widths {
            self.write_parameter(id, None, &Parameter { name: ".widths", scope, values: Values::F32(widths) }, &sizes)?;
        }
        self.write_parameters(id, sample.parameters, &sizes)
    }

    /// Adds a polygon mesh.
    pub fn add_mesh(&mut self, parent: ObjectId, name: &str) -> Result<ObjectId, AlembicError> {
        self.add(parent, name, Kind::Mesh)
    }

    /// Writes the next sample of a mesh.
    pub fn write_mesh(&mut self, id: ObjectId, sample: &MeshSample) -> Result<(), AlembicError> {
        self.expect(id, Kind::Mesh)?;
        let (faces, vertices) = (sample.counts.len(), sample.positions.len());
        self.check_counts(id, sample.counts, sample.indices.len())?;
        if let Some(index) = sample.indices.iter().find(|&&i| usize::try_from(i).map_or(true, |i| i >= vertices)) {
            return Err(refuse(&self.objects[id.0], format!("a face names vertex {index} of {vertices}")));
        }
        self.check_length(id, "normals", sample.normals.map(<[_]>::len), vertices)?;
        self.check_length(id, "velocities", sample.velocities.map(<[_]>::len), vertices)?;
        // Alembic's faces run clockwise seen from outside.
        let mut clockwise = sample.indices.to_vec();
        let mut rest = &mut clockwise[..];
        for &count in sample.counts {
            let (face, after) = rest.split_at_mut(count as usize);
            face.reverse();
            rest = after;
        }
        let sizes = Sizes { uniform: faces, vertex: vertices, corner: clockwise.len() };
        self.write_bounds(id, sample.positions)?;
        self.set(id, &Place::array("P", POINT_VERTEX), &Values::F32x3(sample.positions))?;
        self.set(id, &Place::array(".faceIndices", ""), &Values::I32(&clockwise))?;
        self.set(id, &Place::array(".faceCounts", ""), &Values::I32(sample.counts))?;
        if let Some(velocities) = sample.velocities {
            self.set(id, &Place::array(".velocities", VECTOR), &Values::F32x3(velocities))?;
        }
        if let Some(normals) = sample.normals {
            let metadata = parameter_metadata(Scope::Vertex, &Values::F32x3(normals), "normal");
            self.set(id, &Place::array("N", &metadata), &Values::F32x3(normals))?;
        }
        self.write_parameters(id, sample.parameters, &sizes)
    }

    /// Adds a camera.
    pub fn add_camera(&mut self, parent: ObjectId, name: &str) -> Result<ObjectId, AlembicError> {
        self.add(parent, name, Kind::Camera)
    }

    /// Writes the next sample of a camera.
    pub fn write_camera(&mut self, id: ObjectId, sample: &CameraSample) -> Result<(), AlembicError> {
        self.expect(id, Kind::Camera)?;
        let mut core = [0.0; 16];
        core[0] = sample.focal_length;
        // The film is measured in cm, its lens in mm.
        core[1] = sample.film_width / 10.0;
        core[3] = sample.film_height / 10.0;
        core[5] = 1.0; // lens squeeze
        core[10] = sample.f_stop;
        core[11] = sample.focus_distance;
        core[13] = 0.5 * self.sampling.step; // the shutter closes
        core[14] = sample.near;
        core[15] = sample.far;
        self.set(id, &Place::scalar(".core", "", 16), &Values::F64(&core))?;
        self.end_sample(id);
        Ok(())
    }

    fn write_bounds(&mut self, id: ObjectId, positions: &[[f32; 3]]) -> Result<(), AlembicError> {
        let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
        for position in positions {
            for axis in 0..3 {
                low[axis] = low[axis].min(position[axis]);
                high[axis] = high[axis].max(position[axis]);
            }
        }
        let mut bounds = [0.0; 6];
        for axis in 0..3 {
            // An empty box is one that ends before it begins.
            let empty = low[axis] > high[axis];
            bounds[axis] = if empty { f64::MAX } else { f64::from(low[axis]) };
            bounds[axis + 3] = if empty { f64::MIN } else { f64::from(high[axis]) };
        }
        self.set(id, &Place::scalar(".selfBnds", "interpretation=box", 6), &Values::F64(&bounds))
    }

    fn write_parameters(&mut self, id: ObjectId, parameters: &[Parameter], sizes: &Sizes) -> Result<(), AlembicError> {
        for parameter in parameters {
            self.write_parameter(id, Some(".arbGeomParams"), parameter, sizes)?;
        }
        self.end_sample(id);
        Ok(())
    }

    fn write_parameter(
        &mut self,
        id: ObjectId,
        inside: Option<&str>,
        parameter: &Parameter,
        sizes: &Sizes,
    ) -> Result<(), AlembicError> {
        let Parameter { name, scope, values } = parameter;
        if name.is_empty() || name.contains(['/', '\0']) {
            return Err(refuse(&self.objects[id.0], format!("'{name}' cannot be the name of a parameter")));
        }
        self.check_length(id, name, Some(values.len()), sizes.of(*scope))?;
        let interpretation = if values.extent() > 1 { "vector" } else { "" };
        let metadata = parameter_metadata(*scope, values, interpretation);
        let place = Place { inside, ..Place::array(name, &metadata) };
        self.set(id, &place, values)
    }

    fn check_length(&self, id: ObjectId, name: &str, got: Option<usize>, wanted: usize) -> Result<(), AlembicError> {
        match got {
            Some(got) if got != wanted => {
                Err(refuse(&self.objects[id.0], format!("{name} has {got} values, {wanted} are needed")))
            }
            _ => Ok(()),
        }
    }

    fn check_counts(&self, id: ObjectId, counts: &[i32], wanted: usize) -> Result<(), AlembicError> {
        let sum = counts.iter().try_fold(0_u64, |sum, &count| Some(sum + u64::try_from(count).ok()?));
        if sum == Some(wanted as u64) {
            Ok(())
        } else {
            Err(refuse(&self.objects[id.0], format!("its counts do not sum to the {wanted} vertices that it has")))
        }
    }
}

/// Elements per scope.
struct Sizes {
    uniform: usize,
    vertex: usize,
    corner: usize,
}

impl Sizes {
    fn of(&self, scope: Scope) -> usize {
        match scope {
            Scope::Constant => 1,
            Scope::Uniform => self.uniform,
            Scope::Vertex | Scope::Varying => self.vertex,
            Scope::FaceVarying => self.corner,
        }
    }
}

fn parameter_metadata(scope: Scope, values: &Values, interpretation: &str) -> String {
    let interpretation =
        if interpretation.is_empty() { String::new() } else { format!("interpretation={interpretation};") };
    format!(
        "arrayExtent=1;geoScope={};{interpretation}isGeomParam=true;podExtent={};podName={}",
        scope.word(),
        values.extent(),
        values.pod().word()
    )
}
