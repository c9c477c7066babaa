//! Grooms: from a skin to the rest shape of every strand.
//!
//! Roots are a maximal Poisson-disk set. From each a smooth centre line grows step by step ([`centre_line`]): out along
//! the normal, over towards the comb direction, down with gravity, never into the skin. Styles bend it ([`style`]):
//! clumps draw neighbours together, curls wind around it, noise unsettles it. At the end it is cut into segments of
//! equal length ([`resample`]), which is what inextensible solvers need. All lengths are measured along the strand: a
//! curly strand of 20 cm reaches less far than a straight one.

mod centre_line;
pub mod children;
pub mod drawn;
pub mod image_map;
mod nearest;
mod resample;
mod style;
#[cfg(test)]
mod tests;

pub use children::Children;
pub use drawn::Drawn;
pub use image_map::{Encoding, ImageMap};

use crate::GeometryError;
use crate::field::{DistanceField, Field};
use crate::mesh::{SurfacePoint, TriMesh};
use crate::poisson::{self, PoissonSettings};
use centre_line::Grower;
use drench_math::random::Stream;
use glam::DVec3;
use rayon::prelude::*;
use style::Clumps;

/// Most vertices of one strand.
pub const MOST_VERTICES: u32 = 1_000;

/// A value over the surface.
pub enum Map<'a, T> {
    /// One value per vertex, interpolated.
    Vertices(Vec<T>),
    /// A function of the point on the surface.
    Function(Box<dyn Fn(&SurfacePoint) -> T + Sync + 'a>),
}

impl<T: Copy + std::ops::Add<Output = T> + std::ops::Mul<f64, Output = T>> Map<'_, T> {
    fn at(&self, mesh: &TriMesh, point: &SurfacePoint) -> T {
        match self {
            Self::Vertices(values) => point.interpolate(&mesh.triangles, values),
            Self::Function(function) => function(point),
        }
    }
}

/// Where strands are rooted.
#[derive(Clone, Debug, PartialEq)]
pub enum Placement {
    /// A maximal Poisson-disk set with this smallest distance [m].
    Spacing(f64),
    /// The same, with the distance that gives about this many.
    Count(u64),
    /// At these points. There are no clumps and no children then.
    At(Vec<SurfacePoint>),
    /// Where drawn strands begin, whose shape they keep: no style bends them.
    Drawn(Drawn),
}

/// How hair grows on a mesh. Points and directions are in the mesh's frame.
pub struct GroomSettings<'a> {
    /// Where strands are rooted.
    pub placement: Placement,
    /// Triangles that carry hair; all of them if absent.
    pub faces: Option<Vec<u32>>,
    /// Density at each vertex, 0 to 1.
    pub density: Option<Vec<f64>>,
    /// Length of a strand [m].
    pub length: f64,
    /// Factor of the length; where it is 0 there is no hair.
    pub length_map: Option<Map<'a, f64>>,
    /// Random part of the length: a fraction up or down, 0 to 1.
    pub length_variation: f64,
    /// Vertices of a strand of full length; others have segments of the same length, and at least 3 vertices.
    pub vertices: u32,
    /// Radius at the root [m].
    pub root_radius: f64,
    /// Radius at the tip [m].
    pub tip_radius: f64,
    /// Direction that hair is combed to; zero: along the normal. Where the skin faces against it, it has no direction on
    /// the skin and hair parts there: let that be a place without hair (on a head with the face to +z, comb to
    /// (0, 0.35, -1) and let `hang` bring the hair down).
    pub comb: DVec3,
    /// 0 stands along the normal, 1 lies on the skin along the comb direction.
    pub lay: f64,
    /// Comb direction over the surface, instead of `comb`.
    pub directions: Option<Map<'a, DVec3>>,
    /// How much the rest shape bends towards gravity along its length, 0 to 1.
    pub hang: f64,
    /// Direction of gravity.
    pub gravity: DVec3,
    /// Distance that hair keeps from the skin beyond its first part [m]. Strands take between a fifth and all of it,
    /// so that they lie in layers.
    pub clearance: f64,
    /// Curls, or straight hair.
    pub curl: Option<Curl>,
    /// Clumps, or none.
    pub clump: Option<Clump>,
    /// Disorder, or none.
    pub noise: Option<NoiseStyle>,
    /// Interpolated strands for each one here.
    pub children: u32,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Most strands, and most children, that are allowed.
    pub limit: usize,
    /// The skin as a field; baked from the mesh if absent.
    pub skin: Option<&'a Field>,
}

impl Default for GroomSettings<'_> {
    fn default() -> Self {
        Self {
            placement: Placement::Spacing(0.002),
            faces: None,
            density: None,
            length: 0.02,
            length_map: None,
            length_variation: 0.1,
            vertices: 8,
            root_radius: 35e-6,
            tip_radius: 20e-6,
            comb: DVec3::ZERO,
            lay: 0.0,
            directions: None,
            hang: 0.0,
            gravity: DVec3::NEG_Y,
            clearance: 0.0005,
            curl: None,
            clump: None,
            noise: None,
            children: 0,
            seed: 1,
            limit: 5_000_000,
            skin: None,
        }
    }
}

/// A helix, or a wave, around the centre line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curl {
    /// Radius of the helix [m].
    pub radius: f64,
    /// Length of the centre line for one turn [m].
    pub pitch: f64,
    /// Fraction of the length where it begins.
    pub start: f64,
    /// 0 for a helix, 1 for a wave in a plane.
    pub flat: f64,
    /// How much strands (clumps, if there are any) differ in phase, radius and pitch, 0 to 1.
    pub variation: f64,
    /// Fraction of the length over which the radius grows to its full size.
    pub grow: f64,
}

/// Strands drawn together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clump {
    /// Distance between the clumps [m].
    pub spacing: f64,
    /// How close the tips come to the clump's centre, 0 to 1.
    pub strength: f64,
    /// Exponent along the length: 1 is a cone; larger values gather only the tips, smaller ones all but the roots.
    pub shape: f64,
}

/// Smooth disorder in space and along the strand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseStyle {
    /// Size of the displacement at the tip [m].
    pub amplitude: f64,
    /// Size of its features [m].
    pub size: f64,
}

/// Strands at rest, flat: the vertices of strand `i` are `offsets[i]..offsets[i + 1]`, root first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Groom {
    /// Where each strand is rooted.
    pub roots: Vec<SurfacePoint>,
    /// First vertex of each strand, and the number of vertices at the end.
    pub offsets: Vec<u32>,
    /// Rest positions in the mesh's frame [m].
    pub positions: Vec<DVec3>,
    /// Radius at each vertex [m].
    pub radii: Vec<f32>,
    /// Strands to be interpolated from these, if any.
    pub children: Option<Children>,
}

/// A strand's root and what the maps say there.
#[derive(Clone, Copy)]
struct Root {
    point: SurfacePoint,
    position: DVec3,
    normal: DVec3,
    /// Comb direction, not unit; zero where there is none.
    comb: DVec3,
    /// Length of the strand [m].
    length: f64,
}

/// Grows hair on the mesh.
pub fn grow(mesh: &TriMesh, settings: &GroomSettings) -> Result<Groom, GeometryError> {
    check(mesh, settings)?;
    if let Placement::Drawn(strands) = &settings.placement {
        return drawn::attach(mesh, settings, strands);
    }
    let (faces, density) = (settings.faces.as_deref(), settings.density.as_deref());
    let spacing = match settings.placement {
        Placement::Spacing(distance) => distance,
        Placement::Count(count) => poisson::spacing_for_count(poisson::weighted_area(mesh, faces, density)?, count),
        Placement::At(_) | Placement::Drawn(_) => 0.0,
    };
    let scatter = |distance: f64, name: u64| {
        // Without area there is no distance either.
        if spacing == 0.0 {
            return Ok(Vec::new());
        }
        let seed = Stream::new(settings.seed, "groom").bits(name);
        poisson::sample(mesh, &PoissonSettings { distance, seed, faces, density, limit: settings.limit })
    };
    let variation = |name| (settings.length_variation, Stream::new(settings.seed, name));
    let points = match &settings.placement {
        Placement::At(points) => points.clone(),
        _ => scatter(spacing, 0)?,
    };
    let roots = place(mesh, settings, points, variation("length"));
    if roots.is_empty() {
        return Err(GeometryError::NoRoots);
    }
    if let Some(root) = roots.iter().find(|root| root.length > LONGEST) {
        let (parameter, expected) = ("length of a strand, with `length_map`,", "at most 1e4 m");
        return Err(GeometryError::InvalidParameter { parameter, value: root.length, expected });
    }

    let baked;
    let skin = match settings.skin {
        Some(field) => field,
        None => {
            let cell = DistanceField::default_cell(mesh);
            baked = Field::Baked(DistanceField::bake(mesh, cell, 4.0 * cell)?);
            &baked
        }
    };
    let grower = Grower { settings, skin };
    let clumps = match settings.clump {
        Some(clump) if spacing > 0.0 => {
            let points = scatter(clump.spacing, 1).map_err(clumps_refused)?;
            let centres = place(mesh, settings, points, (0.0, Stream::new(0, "")));
            Some(Clumps::grow(&grower, clump, &centres))
        }
        _ => None,
    };

    let segment = settings.length / f64::from(settings.vertices - 1);
    let mut offsets = Vec::with_capacity(roots.len() + 1);
    let mut total = 0;
    offsets.push(0);
    for root in &roots {
        let segments = (root.length / segment).round().clamp(2.0, f64::from(MOST_VERTICES - 1));
        total += segments as u64 + 1;
        if total > VERTEX_LIMIT {
            let (origin, what, fix) = ("groom".into(), "vertices", "use fewer strands or fewer vertices per strand");
            return Err(GeometryError::TooMany { origin, what, count: total, limit: VERTEX_LIMIT, fix });
        }
        offsets.push(total as u32);
    }
    let mut positions = vec![DVec3::ZERO; total as usize];
    let mut radii = vec![0.0; total as usize];
    let (strands, taper) = (split(&mut positions, &offsets), split(&mut radii, &offsets));
    strands.into_par_iter().zip(taper).enumerate().for_each_init(Vec::new, |line, (i, (strand, radii))| {
        style::strand(&grower, clumps.as_ref(), i as u64, &roots[i], line, strand);
        let last = (radii.len() - 1) as f64;
        for (k, radius) in radii.iter_mut().enumerate() {
            let x = k as f64 / last;
            *radius = (settings.root_radius + (settings.tip_radius - settings.root_radius) * x) as f32;
        }
    });

    let children = if settings.children > 0 && spacing > 0.0 {
        let points = scatter(spacing / f64::from(settings.children).sqrt(), 2)?;
        let young = place(mesh, settings, points, variation("length of children"));
        Some(children::place(&roots, &offsets, &positions, &young, spacing))
    } else {
        None
    };
    Ok(Groom { roots: roots.iter().map(|root| root.point).collect(), offsets, positions, radii, children })
}

/// About how many strands would grow, without growing them.
pub fn expected_strands(mesh: &TriMesh, settings: &GroomSettings) -> Result<u64, GeometryError> {
    check(mesh, settings)?;
    match &settings.placement {
        Placement::Spacing(distance) => {
            let area = poisson::weighted_area(mesh, settings.faces.as_deref(), settings.density.as_deref())?;
            Ok((poisson::PACKING * area / (distance * distance)).round() as u64)
        }
        Placement::Count(count) => Ok(*count),
        Placement::At(points) => Ok(points.len() as u64),
        Placement::Drawn(strands) => Ok(strands.offsets.len().saturating_sub(1) as u64),
    }
}

/// Roots at these points. `variation` is the random fraction of the length, and the stream it comes from.
fn place(mesh: &TriMesh, settings: &GroomSettings, points: Vec<SurfacePoint>, variation: (f64, Stream)) -> Vec<Root> {
    let root = |(i, point): (usize, SurfacePoint)| {
        let flat = mesh.face_normal(point.triangle as usize);
        // Smooth normals, but never so smooth that hair would grow inwards.
        let smooth = if mesh.normals.len() == mesh.positions.len() {
            point.interpolate(&mesh.triangles, &mesh.normals).normalize_or(flat)
        } else {
            flat
        };
        let comb = settings.directions.as_ref().map_or(settings.comb, |map| map.at(mesh, &point));
        let factor = settings.length_map.as_ref().map_or(1.0, |map| map.at(mesh, &point));
        let random = 1.0 + variation.0 * variation.1.range(i as u64, -1.0, 1.0);
        Root {
            point,
            position: point.interpolate(&mesh.triangles, &mesh.positions),
            normal: if smooth.dot(flat) > 0.1 { smooth } else { flat },
            comb: if comb.is_finite() { comb } else { DVec3::ZERO },
            length: if factor > 0.0 && factor.is_finite() { settings.length * factor * random } else { 0.0 },
        }
    };
    let roots: Vec<Root> = points.into_par_iter().enumerate().map(root).collect();
    roots.into_iter().filter(|root| root.length > SHORTEST * settings.length).collect()
}

/// Hair longer than this is a mistake [m].
const LONGEST: f64 = 1e4;
/// Most vertices of a groom.
const VERTEX_LIMIT: u64 = 200_000_000;
/// Hair shorter than this fraction of the full length is left out.
const SHORTEST: f64 = 1e-2;

/// Says which distance it is that makes too many samples.
fn clumps_refused(error: GeometryError) -> GeometryError {
    match error {
        GeometryError::TooManySamples { expected, limit, .. } => GeometryError::TooMany {
            origin: "clump".into(),
            what: "clumps",
            count: expected as u64,
            limit: limit as u64,
            fix: "make `spacing` of the clumps larger",
        },
        other => other,
    }
}

/// One slice for each strand.
fn split<'a, T>(mut values: &'a mut [T], offsets: &[u32]) -> Vec<&'a mut [T]> {
    let mut slices = Vec::with_capacity(offsets.len() - 1);
    for pair in offsets.windows(2) {
        let (first, rest) = values.split_at_mut((pair[1] - pair[0]) as usize);
        slices.push(first);
        values = rest;
    }
    slices
}

fn check(mesh: &TriMesh, settings: &GroomSettings) -> Result<(), GeometryError> {
    let require = |good: bool, parameter: &'static str, value: f64, expected: &'static str| {
        if good { Ok(()) } else { Err(GeometryError::InvalidParameter { parameter, value, expected }) }
    };
    let positive = |name, value: f64| require(value > 0.0 && value.is_finite(), name, value, "positive");
    let fraction = |name, value: f64| require((0.0..=1.0).contains(&value), name, value, "between 0 and 1");
    match &settings.placement {
        // Files were checked when they were read.
        Placement::Drawn(_) => {}
        Placement::Spacing(distance) => positive("spacing of the roots", *distance)?,
        Placement::Count(count) => require(*count > 0, "number of strands", *count as f64, "at least 1")?,
        Placement::At(points) => {
            let exists = |point: &SurfacePoint| (point.triangle as usize) < mesh.triangles.len();
            require(points.iter().all(exists), "triangle of a root", f64::NAN, "one that the mesh has")?;
        }
    }
    positive("length of the hair", settings.length)?;
    fraction("length variation", settings.length_variation)?;
    let vertices = settings.vertices;
    require((2..=MOST_VERTICES).contains(&vertices), "vertices per strand", vertices.into(), "between 2 and 1000")?;
    positive("root radius", settings.root_radius)?;
    let tip = settings.tip_radius;
    require(tip >= 0.0 && tip.is_finite(), "tip radius", tip, "zero or positive")?;
    fraction("lay", settings.lay)?;
    fraction("hang", settings.hang)?;
    let clearance = settings.clearance;
    require(clearance >= 0.0 && clearance.is_finite(), "clearance", clearance, "zero or positive")?;
    if let Some(curl) = &settings.curl {
        let radius = curl.radius;
        require(radius >= 0.0 && radius.is_finite(), "curl radius", radius, "zero or positive")?;
        positive("curl pitch", curl.pitch)?;
        fraction("curl start", curl.start)?;
        fraction("curl flatness", curl.flat)?;
        fraction("curl variation", curl.variation)?;
        fraction("curl growth", curl.grow)?;
    }
    if let Some(clump) = &settings.clump {
        positive("spacing of the clumps", clump.spacing)?;
        fraction("clump strength", clump.strength)?;
        positive("clump shape", clump.shape)?;
    }
    if let Some(noise) = &settings.noise {
        require(noise.amplitude.is_finite(), "noise amplitude", noise.amplitude, "finite")?;
        positive("noise size", noise.size)?;
    }
    let matches = |attribute: &str, found: usize| {
        let (origin, expected) = ("groom".into(), mesh.positions.len());
        if found == expected {
            return Ok(());
        }
        Err(GeometryError::AttributeLength { origin, attribute: attribute.into(), found, expected })
    };
    if let Some(Map::Vertices(values)) = &settings.length_map {
        matches("length map", values.len())?;
    }
    if let Some(Map::Vertices(values)) = &settings.directions {
        matches("direction map", values.len())?;
    }
    mesh.validate("groom")
}
