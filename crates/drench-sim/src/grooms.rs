//! Grooms: from the scene's words to strands with masses and a rest shape.

use crate::solids::SolidModel;
use crate::world::StrandBody;
use crate::{SimError, convert};
use drench_geometry::bvh::Bvh;
use drench_geometry::groom::{self, Encoding, GroomSettings, ImageMap, Map, Placement, drawn};
use drench_geometry::{SurfacePoint, TriMesh};
use drench_physics::interaction::Interaction;
use drench_physics::strands::{RestShape, StrandModel};
use drench_scene as scene;
use drench_scene::{DirectionMap, Expression, MapSource, Scene};
use glam::DVec3;
use std::path::Path;

/// Most vertices of all grooms.
const VERTEX_LIMIT: u64 = 100_000_000;
/// Most strands of one groom, and most children.
const STRAND_LIMIT: usize = 20_000_000;

/// Grows a groom and gives it masses, stiffness and a solver. `before` is how many vertices other grooms have already.
pub fn build(
    scene: &Scene,
    groom: &scene::Groom,
    solids: &[SolidModel],
    interaction: Option<&Interaction>,
    before: u64,
) -> Result<StrandBody, SimError> {
    // The scene was checked: the solid exists.
    let solid = scene.solid(&groom.on).unwrap_or_default();
    let skin = &solids[solid];
    let settings = settings(scene, groom, skin)?;
    count(groom, skin, &settings, before)?;
    let grown = groom::grow(&skin.mesh, &settings).map_err(refuse(groom))?;
    let rest = RestShape { offsets: &grown.offsets, positions: &grown.positions, radii: &grown.radii };
    let refuse_model = |source| SimError::Model { groom: groom.name.clone(), source };
    let mut model = StrandModel::new(
        rest,
        convert::material(&groom.strand),
        convert::method(groom),
        convert::tip(groom.strand.tip),
    )
    .map_err(refuse_model)?;
    if let Some(curl) = wet_curl(groom) {
        let wet = groom::grow(&skin.mesh, &GroomSettings { curl, ..settings }).map_err(refuse(groom))?;
        model = model.with_wet_shape(&wet.positions).map_err(refuse_model)?;
    }
    let root_uvs = match skin.mesh.uvs.is_empty() {
        true => Vec::new(),
        false => grown.roots.iter().map(|root| root.interpolate(&skin.mesh.triangles, &skin.mesh.uvs)).collect(),
    };
    Ok(StrandBody {
        name: groom.name.clone(),
        solid,
        roots: grown.roots,
        root_uvs,
        rest: grown.positions,
        model,
        interaction: interaction.map(|common| Interaction {
            friction: groom.strand.friction.unwrap_or(common.friction),
            repulsion: groom.strand.repulsion.unwrap_or(common.repulsion),
            // A guide stands for its children too: hair is as dense with few guides as with many.
            reference: common.reference / f64::from(1 + groom.children),
            ..*common
        }),
        children: grown.children,
    })
}

/// How many strands, vertices and children a groom will have, about, without growing it.
pub fn expected(scene: &Scene, groom: &scene::Groom, skin: &SolidModel, before: u64) -> Result<[u64; 3], SimError> {
    count(groom, skin, &settings(scene, groom, skin)?, before)
}

/// Strands, vertices and children, about; an error if they are none or too many.
fn count(groom: &scene::Groom, skin: &SolidModel, settings: &GroomSettings, before: u64) -> Result<[u64; 3], SimError> {
    let strands = groom::expected_strands(&skin.mesh, settings).map_err(refuse(groom))?;
    if strands == 0 {
        return Err(SimError::NoStrands { groom: groom.name.clone() });
    }
    let children = strands.saturating_mul(u64::from(groom.children));
    let few = "make `spacing` larger or `strands` smaller";
    for (what, count, fix) in [("strands", strands, few), ("children", children, "make `children` smaller")] {
        let limit = STRAND_LIMIT as u64;
        if count > limit {
            return Err(SimError::TooManyStrands { groom: groom.name.clone(), what, count, limit, fix });
        }
    }
    let factor = mean_length_factor(&skin.mesh, settings);
    let vertices =
        strands as f64 * (1.0 + factor * f64::from(groom.vertices - 1)).clamp(3.0, f64::from(groom::MOST_VERTICES));
    let all = before as f64 + vertices;
    if all > VERTEX_LIMIT as f64 || all.is_nan() {
        let (groom, vertices) = (groom.name.clone(), all as u64);
        return Err(SimError::TooManyVertices { groom, vertices, limit: VERTEX_LIMIT });
    }
    Ok([strands, vertices as u64, children])
}

/// What to know of solids that are so small that they may pass between the vertices of a groom, whose segments are up to `segment` long
/// [m]: strands meet solids with their vertices.
pub fn gaps(scene: &Scene, name: &str, segment: f64, solids: &[SolidModel]) -> Vec<String> {
    let small = scene.solids.iter().zip(solids).filter(|(solid, _)| solid.collide).filter_map(|(solid, model)| {
        // A plate is as wide as it is; a wire is as thin as it is.
        let (low, high) = model.mesh.bounds();
        let mut sides = (high - low).to_array();
        sides.sort_by(f64::total_cmp);
        (sides[1] < segment).then_some((&solid.name, sides[1]))
    });
    let tell = |(solid, side): (&String, f64)| {
        format!(
            "{name}: `{solid}` is {:.2} mm wide and may pass between vertices that are {:.2} mm apart: give it more `vertices`",
            1e3 * side,
            1e3 * segment
        )
    };
    small.map(tell).collect()
}

fn refuse(groom: &scene::Groom) -> impl Fn(drench_geometry::GeometryError) -> SimError {
    let groom = groom.name.clone();
    move |source| SimError::Groom { groom: groom.clone(), source }
}

/// The scene's groom as settings of the geometry.
fn settings<'a>(scene: &Scene, groom: &scene::Groom, skin: &'a SolidModel) -> Result<GroomSettings<'a>, SimError> {
    let mesh = &skin.mesh;
    let maps = Maps { groom, skin };
    let density = groom.density.as_ref().map(|map| maps.at_vertices(map)).transpose()?;
    Ok(GroomSettings {
        placement: match groom.roots() {
            scene::Roots::Spacing(distance) => Placement::Spacing(distance),
            scene::Roots::Count(count) => Placement::Count(count),
            scene::Roots::At(points) => Placement::At(nearest_points(mesh, points)),
            scene::Roots::Import(import) => {
                let up = import.up.map(|up| match up {
                    scene::UpAxis::Y => drawn::Up::Y,
                    scene::UpAxis::Z => drawn::Up::Z,
                });
                Placement::Drawn(drawn::load(&import.path, import.unit, up).map_err(refuse(groom))?)
            }
        },
        faces: faces(groom, skin)?,
        density: density.map(|values| values.iter().map(|value| value.clamp(0.0, 1.0)).collect()),
        length: groom.length,
        length_map: groom.length_map.as_ref().map(|map| maps.scalar(map)).transpose()?,
        length_variation: groom.length_variation,
        vertices: groom.vertices,
        root_radius: groom.root_radius,
        tip_radius: groom.tip_radius,
        comb: groom.comb,
        lay: groom.lay,
        directions: groom.direction_map.as_ref().map(|map| maps.direction(map)).transpose()?,
        hang: groom.hang,
        gravity: scene.simulation.gravity.normalize_or(DVec3::NEG_Y),
        clearance: groom.clearance.max(groom.strand.contact_radius),
        curl: groom.curl.as_ref().map(curl),
        clump: groom.clump.as_ref().map(|clump| groom::Clump {
            spacing: clump.spacing,
            strength: clump.strength,
            shape: clump.shape,
        }),
        noise: groom.noise.as_ref().map(|noise| groom::NoiseStyle { amplitude: noise.amplitude, size: noise.size }),
        children: groom.children,
        seed: scene.simulation.seed,
        limit: STRAND_LIMIT,
        skin: skin.field.as_ref(),
    })
}

fn curl(curl: &scene::Curl) -> groom::Curl {
    groom::Curl {
        radius: curl.radius,
        pitch: curl.pitch,
        start: curl.start,
        flat: curl.flat,
        variation: curl.variation,
        grow: curl.grow,
    }
}

/// Curls of wet hair, if they are others than those of dry hair; none at all if it is straight.
fn wet_curl(groom: &scene::Groom) -> Option<Option<groom::Curl>> {
    let wet = groom.wet.as_ref()?;
    match (&wet.curl, wet.straight) {
        (Some(own), _) => Some(Some(curl(own))),
        (None, true) => Some(None),
        (None, false) => None,
    }
}

fn nearest_points(mesh: &TriMesh, points: &[DVec3]) -> Vec<SurfacePoint> {
    let bvh = Bvh::build(mesh);
    let closest = points.iter().filter_map(|point| bvh.closest_point(*point));
    closest.map(|closest| closest.surface_point(mesh.corners(closest.triangle as usize))).collect()
}

/// The triangles of the face groups that a groom names.
fn faces(groom: &scene::Groom, skin: &SolidModel) -> Result<Option<Vec<u32>>, SimError> {
    if groom.faces.is_empty() {
        return Ok(None);
    }
    let mut faces = Vec::new();
    for name in &groom.faces {
        match skin.mesh.face_groups.get(name) {
            Some(group) => faces.extend(group),
            None => return Err(unknown(groom, skin, "face group", name, skin.mesh.face_groups.keys())),
        }
    }
    faces.sort_unstable();
    faces.dedup();
    Ok(Some(faces))
}

fn unknown<'a>(
    groom: &scene::Groom,
    skin: &SolidModel,
    what: &'static str,
    name: &str,
    names: impl Iterator<Item = &'a String>,
) -> SimError {
    let names: Vec<_> = names.map(|name| format!("\"{name}\"")).collect();
    let available = match names.is_empty() {
        true => format!("it has no {what} at all"),
        false => format!("it has {}", names.join(", ")),
    };
    SimError::UnknownPart {
        groom: groom.name.clone(),
        solid: skin.name.clone(),
        what,
        name: name.to_owned(),
        available,
    }
}

/// Mean of the length factor over vertices, weighted with density: enough for an estimate.
fn mean_length_factor(mesh: &TriMesh, settings: &GroomSettings) -> f64 {
    let Some(Map::Vertices(lengths)) = &settings.length_map else { return 1.0 };
    let chosen: Vec<u32> = match &settings.faces {
        Some(faces) => faces.clone(),
        None => (0..mesh.triangles.len() as u32).collect(),
    };
    let (mut sum, mut weight) = (0.0, 0.0);
    for face in chosen {
        let area = mesh.area(face as usize);
        for vertex in mesh.triangles[face as usize] {
            let density = settings.density.as_ref().map_or(1.0, |density| density[vertex as usize]);
            sum += area * density * lengths[vertex as usize];
            weight += area * density;
        }
    }
    if weight > 0.0 { sum / weight } else { 1.0 }
}

/// Reads a groom's maps over the skin.
struct Maps<'a, 'b> {
    groom: &'b scene::Groom,
    skin: &'a SolidModel,
}

impl<'a> Maps<'a, '_> {
    /// A value over the surface; images are looked up where the root is, everything else at vertices.
    fn scalar(&self, map: &scene::Map) -> Result<Map<'a, f64>, SimError> {
        let (low, high) = (map.low, map.high);
        if let MapSource::Image { path } = &map.source {
            let (image, mesh) = (self.image(path)?, &self.skin.mesh);
            let value = move |point: &SurfacePoint| {
                let [r, g, b, _] = image.sample_at(mesh, point);
                low + (high - low) * (r + g + b) / 3.0
            };
            return Ok(Map::Function(Box::new(value)));
        }
        self.at_vertices(map).map(Map::Vertices)
    }

    /// A value at every vertex.
    fn at_vertices(&self, map: &scene::Map) -> Result<Vec<f64>, SimError> {
        let mesh = &self.skin.mesh;
        let values = match &map.source {
            MapSource::Colour { channel } => {
                self.need(!mesh.colours.is_empty(), "vertex colours", "paint some, or use an expression or an image")?;
                mesh.colours.iter().map(|colour| f64::from(colour[*channel as usize])).collect()
            }
            MapSource::Group { group } => match mesh.vertex_groups.get(group) {
                Some(weights) => weights.iter().map(|weight| f64::from(*weight)).collect(),
                None => {
                    return Err(unknown(self.groom, self.skin, "vertex group", group, mesh.vertex_groups.keys()));
                }
            },
            MapSource::Image { path } => {
                let image = self.image(path)?;
                mesh.uvs.iter().map(|uv| image.sample(*uv)[..3].iter().sum::<f64>() / 3.0).collect()
            }
            MapSource::Expression { value } => self.evaluate(value)?,
        };
        Ok(values.into_iter().map(|value: f64| map.low + (map.high - map.low) * value).collect())
    }

    /// A direction over the surface.
    fn direction(&self, map: &DirectionMap) -> Result<Map<'a, DVec3>, SimError> {
        let mesh = &self.skin.mesh;
        let signed = |rgb: [f64; 3]| DVec3::from_array(rgb) * 2.0 - 1.0;
        Ok(match map {
            DirectionMap::Colour => {
                self.need(!mesh.colours.is_empty(), "vertex colours", "paint some, or use an expression or an image")?;
                let direction = |c: &[f32; 4]| signed([c[0], c[1], c[2]].map(f64::from));
                Map::Vertices(mesh.colours.iter().map(direction).collect())
            }
            DirectionMap::Image { path } => {
                let image = self.image(path)?;
                let direction = move |point: &SurfacePoint| {
                    let [r, g, b, _] = image.sample_at(mesh, point);
                    signed([r, g, b])
                };
                Map::Function(Box::new(direction))
            }
            DirectionMap::Expression { value: [x, y, z] } => {
                let (x, y, z) = (self.evaluate(x)?, self.evaluate(y)?, self.evaluate(z)?);
                Map::Vertices((0..x.len()).map(|i| DVec3::new(x[i], y[i], z[i])).collect())
            }
        })
    }

    /// An image of numbers, not of colours: its values are taken as they are stored.
    fn image(&self, path: &Path) -> Result<ImageMap, SimError> {
        let image = ImageMap::load(path, Encoding::Data).map_err(refuse(self.groom))?;
        image.fits(&self.skin.mesh).map_err(refuse(self.groom))?;
        Ok(image)
    }

    fn need(&self, has: bool, what: &'static str, fix: &'static str) -> Result<(), SimError> {
        let (groom, solid) = (self.groom.name.clone(), self.skin.name.clone());
        if has { Ok(()) } else { Err(SimError::MissingAttribute { groom, solid, what, fix }) }
    }

    /// A formula of position, normal and texture coordinates at every vertex.
    fn evaluate(&self, expression: &Expression) -> Result<Vec<f64>, SimError> {
        let mesh = &self.skin.mesh;
        let at = |vertex: usize| {
            let (p, n) = (mesh.positions[vertex], mesh.normals[vertex]);
            let uv = mesh.uvs.get(vertex).copied().unwrap_or_default();
            let value = expression.evaluate(&[p.x, p.y, p.z, n.x, n.y, n.z, uv.x, uv.y]);
            if value.is_finite() {
                return Ok(value);
            }
            let (groom, expression) = (self.groom.name.clone(), expression.source().to_owned());
            Err(SimError::Expression { groom, expression, value, vertex })
        };
        (0..mesh.positions.len()).map(at).collect()
    }
}
