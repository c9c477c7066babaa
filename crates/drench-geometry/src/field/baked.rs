//! The signed distance of a mesh on a dense grid.
//!
//! Values are trilinear between the nodes, and the gradient is that of the trilinear function, made unit: both come
//! from one gather of eight numbers, and a step along the gradient agrees with the values. The error near a surface
//! of curvature k is of order k cell^2. Values within one and a half cells of the surface are exact at the nodes;
//! farther out they may be interpolated from every fourth node.

use super::bake::Source;
use crate::{GeometryError, TriMesh};
use glam::{DVec3, USizeVec3};
use rayon::prelude::*;

/// Bytes that a field may take unless told otherwise: 512 MB, or cells of 1/400 of a cube's edge.
pub const MEMORY_LIMIT: u64 = 512 << 20;

/// Cells along the edge of a brick, which the coarse level has one value for.
pub(super) const BRICK: usize = 4;

/// A mesh's signed distance, baked. Far points cost little, see [`DistanceField::within`].
#[derive(Clone, Debug)]
pub struct DistanceField {
    grid: Grid,
    /// Distance at the nodes [m], x fastest.
    pub(super) values: Vec<f32>,
    /// The smallest value in each brick [m].
    lowest: Vec<f32>,
    source: Box<Source>,
    margin: f64,
    limit: u64,
}

/// Where the nodes are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grid {
    /// The first node [m].
    pub origin: DVec3,
    /// Distance between nodes [m].
    pub cell: f64,
    /// Bricks along each axis.
    pub bricks: USizeVec3,
}

impl Grid {
    /// A grid around the positions; checked against the memory limit.
    fn around(positions: &[DVec3], cell: f64, margin: f64, limit: u64) -> Result<Self, GeometryError> {
        let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let (low, high) = positions.iter().fold(start, |(low, high), &p| (low.min(p), high.max(p)));
        let size = high - low + 2.0 * margin;
        let bricks = (size / (cell * BRICK as f64)).ceil().max(DVec3::ONE);
        let nodes = bricks * BRICK as f64 + 1.0;
        // Four bytes a node, and as much again for the trees and the coarse level.
        let needed = 8.0 * nodes.element_product();
        if needed > limit as f64 {
            let fitting = cell * (needed / limit as f64).cbrt() * 1.02;
            return Err(GeometryError::FieldTooLarge { cell, needed: needed as u64, limit, fitting });
        }
        Ok(Self { origin: low - margin, cell, bricks: bricks.as_usizevec3() })
    }

    /// Nodes along each axis.
    #[inline]
    pub fn nodes(&self) -> USizeVec3 {
        self.bricks * BRICK + 1
    }

    /// Position of a node [m].
    #[inline]
    pub fn position(&self, node: USizeVec3) -> DVec3 {
        self.origin + node.as_dvec3() * self.cell
    }
}

impl DistanceField {
    /// Bakes the mesh with nodes every `cell` [m] in a box that reaches `margin` [m] beyond it.
    pub fn bake(mesh: &TriMesh, cell: f64, margin: f64) -> Result<Self, GeometryError> {
        Self::bake_within(mesh, cell, margin, MEMORY_LIMIT)
    }

    /// A cell that suits most meshes: a hundredth of the longest side [m].
    pub fn default_cell(mesh: &TriMesh) -> f64 {
        let (low, high) = mesh.bounds();
        (high - low).max_element() / 100.0
    }

    /// Like [`DistanceField::bake`] with a limit of memory [bytes].
    pub fn bake_within(mesh: &TriMesh, cell: f64, margin: f64, limit: u64) -> Result<Self, GeometryError> {
        if !(cell > 0.0 && cell.is_finite()) {
            let (parameter, expected) = ("cell of the distance field", "positive");
            return Err(GeometryError::InvalidParameter { parameter, value: cell, expected });
        }
        if !(margin >= 0.0 && margin.is_finite()) {
            let (parameter, expected) = ("margin of the distance field", "zero or positive");
            return Err(GeometryError::InvalidParameter { parameter, value: margin, expected });
        }
        mesh.validate("distance field")?;
        // The border must lie outside.
        let margin = margin.max(2.0 * cell);
        let grid = Grid::around(&mesh.positions, cell, margin, limit)?;
        let source = Box::new(Source::new(mesh));
        let mut field = Self { grid, values: Vec::new(), lowest: Vec::new(), source, margin, limit };
        field.fill();
        Ok(field)
    }

    /// Follows a deforming mesh to new vertex positions; the box follows too.
    pub fn update(&mut self, positions: &[DVec3]) -> Result<(), GeometryError> {
        self.source.move_to(positions)?;
        self.grid = Grid::around(positions, self.grid.cell, self.margin, self.limit)?;
        self.fill();
        Ok(())
    }

    fn fill(&mut self) {
        self.source.bake(&self.grid, &mut self.values);
        let (bricks, nodes) = (self.grid.bricks, self.grid.nodes());
        let lowest = |index: usize| {
            let brick = USizeVec3::new(index % bricks.x, index / bricks.x % bricks.y, index / (bricks.x * bricks.y));
            let first = brick * BRICK;
            let mut low = f32::INFINITY;
            for z in first.z..=first.z + BRICK {
                for y in first.y..=first.y + BRICK {
                    let row = (z * nodes.y + y) * nodes.x + first.x;
                    low = self.values[row..=row + BRICK].iter().fold(low, |low, &v| low.min(v));
                }
            }
            low
        };
        self.lowest = (0..bricks.element_product()).into_par_iter().map(lowest).collect();
    }

    /// Memory it takes [bytes].
    pub fn memory(&self) -> usize {
        4 * (self.values.len() + self.lowest.len()) + self.source.memory()
    }

    /// Distance between nodes [m].
    pub fn cell(&self) -> f64 {
        self.grid.cell
    }

    /// Lowest and highest corner of the baked box [m].
    pub fn bounds(&self) -> (DVec3, DVec3) {
        (self.grid.origin, self.grid.position(self.grid.nodes() - 1))
    }

    /// Signed distance [m].
    #[inline]
    pub fn distance(&self, p: DVec3) -> f64 {
        self.distance_and_gradient(p).0
    }

    /// Signed distance [m] and the unit direction in which it grows.
    ///
    /// Outside the baked box, where q is the nearest point of the box, the distance is sqrt(|p - q|^2 + d(q)^2): never
    /// more than the true one, because the mesh lies in a convex box and so beyond a right angle at q.
    #[inline]
    pub fn distance_and_gradient(&self, p: DVec3) -> (f64, DVec3) {
        let last = (self.grid.nodes() - 1).as_dvec3();
        let local = (p - self.grid.origin) / self.grid.cell;
        let inside = local.max(DVec3::ZERO).min(last);
        let (value, gradient) = self.trilinear(inside);
        if local == inside {
            return (value, gradient);
        }
        let beyond = (local - inside) * self.grid.cell;
        let border = value.max(0.0);
        let distance = (beyond.length_squared() + border * border).sqrt();
        (distance, (beyond + gradient * border).try_normalize().unwrap_or(DVec3::Y))
    }

    /// Like [`DistanceField::distance_and_gradient`], or none if the distance is above `reach` [m].
    #[inline]
    pub fn within(&self, p: DVec3, reach: f64) -> Option<(f64, DVec3)> {
        let last = (self.grid.nodes() - 1).as_dvec3();
        let local = (p - self.grid.origin) / self.grid.cell;
        let slack = reach.max(0.0) / self.grid.cell;
        if (local + slack).min_element() < 0.0 || (last - local + slack).min_element() < 0.0 {
            return None;
        }
        let bricks = self.grid.bricks;
        let brick = (local.max(DVec3::ZERO) / BRICK as f64).as_usizevec3().min(bricks - 1);
        let lowest = self.lowest[(brick.z * bricks.y + brick.y) * bricks.x + brick.x];
        if f64::from(lowest) > reach {
            return None;
        }
        Some(self.distance_and_gradient(p)).filter(|&(distance, _)| distance <= reach)
    }

    /// Like [`DistanceField::distance_and_gradient`], but of the mesh itself where a point is outside and no farther than `reach` [m] from it: values are right at
    /// the skin, while those a few cells off it are told from every fourth node, and those out of the box are less than they should be. An open mesh has
    /// no outside but by its field.
    #[inline]
    pub fn nearest(&self, p: DVec3, reach: f64) -> (f64, DVec3) {
        let (told, gradient) = self.distance_and_gradient(p);
        if told <= 0.0 || told > reach + BRICK as f64 * self.grid.cell {
            return (told, gradient);
        }
        match self.source.nearest(p) {
            Some((distance, outward)) => (distance, outward),
            None => (told, gradient),
        }
    }

    /// Value and unit gradient at a point inside the grid, in cells.
    #[inline]
    fn trilinear(&self, local: DVec3) -> (f64, DVec3) {
        let nodes = self.grid.nodes();
        let base = local.as_usizevec3().min(nodes - 2);
        let f = local - base.as_dvec3();
        let i = (base.z * nodes.y + base.y) * nodes.x + base.x;
        let row = |start: usize| {
            let pair = &self.values[start..start + 2];
            (f64::from(pair[0]), f64::from(pair[1]))
        };
        let ((a0, a1), (b0, b1)) = (row(i), row(i + nodes.x));
        let plane = nodes.x * nodes.y;
        let ((c0, c1), (d0, d1)) = (row(i + plane), row(i + plane + nodes.x));
        let lerp = |a: f64, b: f64, t: f64| a + (b - a) * t;
        let (a, b, c, d) = (lerp(a0, a1, f.x), lerp(b0, b1, f.x), lerp(c0, c1, f.x), lerp(d0, d1, f.x));
        let (low, high) = (lerp(a, b, f.y), lerp(c, d, f.y));
        let dx = lerp(lerp(a1 - a0, b1 - b0, f.y), lerp(c1 - c0, d1 - d0, f.y), f.z);
        let gradient = DVec3::new(dx, lerp(b - a, d - c, f.z), high - low);
        (lerp(low, high, f.z), gradient.try_normalize().unwrap_or(DVec3::Y))
    }
}
