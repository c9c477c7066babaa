//! Poisson-disk sets against their definition.

use super::{Case, Measured};
use crate::SimError;
use drench_geometry::poisson::{self, PoissonSettings};
use drench_geometry::{GeometryError, SurfacePoint, TriMesh, bunny};
use drench_math::random::Stream;
use glam::DVec3;
use std::collections::HashMap;

const DISTANCE: f64 = 0.004;

pub const CASES: &[Case] = &[
    Case { name: "poisson-distance", law: "no two roots closer than d: shortfall, on the bunny", run: distance },
    Case { name: "poisson-maximal", law: "no point of the surface farther than d from all roots", run: maximal },
    Case { name: "poisson-uniform", law: "roots a unit area do not depend on triangle size: chi^2 / n", run: uniform },
];

fn bunny_with_roots() -> Result<(TriMesh, Vec<DVec3>), SimError> {
    let mesh = bunny::bunny(0.2);
    let roots = sample(&mesh).map_err(wrap)?;
    let positions = roots.iter().map(|root| root.interpolate(&mesh.triangles, &mesh.positions)).collect();
    Ok((mesh, positions))
}

fn sample(mesh: &TriMesh) -> Result<Vec<SurfacePoint>, GeometryError> {
    let settings = PoissonSettings { distance: DISTANCE, seed: 11, faces: None, density: None, limit: 1_000_000 };
    poisson::sample(mesh, &settings)
}

fn wrap(source: GeometryError) -> SimError {
    SimError::Groom { groom: "validation".to_owned(), source }
}

/// Points by cells of edge d, for exhaustive checks.
struct Cells(HashMap<[i64; 3], Vec<DVec3>>);

impl Cells {
    fn new(points: &[DVec3]) -> Self {
        let mut cells: HashMap<_, Vec<_>> = HashMap::new();
        points.iter().for_each(|point| cells.entry(cell(*point)).or_default().push(*point));
        Self(cells)
    }

    /// Distance to the nearest point other than `point` itself, if one lies in the cells around [m].
    fn nearest(&self, point: DVec3) -> f64 {
        let [x, y, z] = cell(point);
        let around = (-1..=1).flat_map(|i| (-1..=1).flat_map(move |j| (-1..=1).map(move |k| [x + i, y + j, z + k])));
        around
            .filter_map(|cell| self.0.get(&cell))
            .flatten()
            .filter(|other| **other != point)
            .map(|other| other.distance(point))
            .fold(f64::INFINITY, f64::min)
    }
}

fn cell(point: DVec3) -> [i64; 3] {
    (point / DISTANCE).floor().to_array().map(|x| x as i64)
}

fn distance() -> Result<Measured, SimError> {
    let (_, roots) = bunny_with_roots()?;
    let cells = Cells::new(&roots);
    let nearest = roots.iter().map(|root| cells.nearest(*root)).fold(f64::INFINITY, f64::min);
    Ok(Measured::at_most(1e-12, (DISTANCE - nearest).max(0.0)))
}

/// Probes at random over the surface, four to a disc.
fn maximal() -> Result<Measured, SimError> {
    let (mesh, roots) = bunny_with_roots()?;
    let cells = Cells::new(&roots);
    let stream = Stream::new(5, "probes");
    let mut open = 0;
    let mut index = 0;
    for triangle in 0..mesh.triangles.len() {
        let probes = (mesh.area(triangle) / (0.25 * DISTANCE * DISTANCE)).ceil() as usize;
        for _ in 0..probes.max(4) {
            let (a, b) = (stream.uniform(index), stream.uniform(index + 1));
            index += 2;
            let point = SurfacePoint { triangle: triangle as u32, u: 1.0 - a.sqrt(), v: b * a.sqrt() };
            let position = point.interpolate(&mesh.triangles, &mesh.positions);
            open += usize::from(cells.nearest(position) >= DISTANCE);
        }
    }
    Ok(Measured::none(open))
}

/// A strip whose triangles grow from left to right by a factor of 200 in area; roots are counted in 40 equal strips.
///
/// A Poisson-disk set is more even than chance: chi^2 per strip is well below the 1 of independent points, and far above
/// it if the sampling favoured small or large triangles.
fn uniform() -> Result<Measured, SimError> {
    let (columns, width, strips) = (60, 0.4_f64, 40);
    let edge = |i: usize| width * ((i as f64 / columns as f64).powi(3) * 0.9 + 0.1 * i as f64 / columns as f64);
    let mut mesh = TriMesh::default();
    for i in 0..=columns {
        mesh.positions.push(DVec3::new(edge(i), 0.0, 0.0));
        mesh.positions.push(DVec3::new(edge(i), 0.0, -0.2));
    }
    for i in 0..columns as u32 {
        mesh.triangles.push([2 * i, 2 * i + 2, 2 * i + 1]);
        mesh.triangles.push([2 * i + 1, 2 * i + 2, 2 * i + 3]);
    }
    let roots = sample(&mesh).map_err(wrap)?;
    let mut counts = vec![0.0; strips];
    for root in &roots {
        let x = root.interpolate(&mesh.triangles, &mesh.positions).x;
        counts[((x / width * strips as f64) as usize).min(strips - 1)] += 1.0;
    }
    let mean = roots.len() as f64 / strips as f64;
    let chi_squared: f64 = counts.iter().map(|count| (count - mean) * (count - mean) / mean).sum();
    Ok(Measured::at_most(1.0, chi_squared / strips as f64))
}
