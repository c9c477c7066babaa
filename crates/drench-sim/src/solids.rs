//! Solids: built once from the scene, moved by it, felt by strands through their distance fields.
//!
//! A solid's own frame is in metres (the scene's `scale` is in its mesh). Its pose, and for animated meshes its vertices,
//! are functions of time: nothing of a solid is in the state.

use crate::SimError;
use crate::world::{Model, StrandBody};
use crate::{grains, liquid};
use drench_geometry::animation::MeshAnimation;
use drench_geometry::bvh::Bvh;
use drench_geometry::field::{DistanceField, Field};
use drench_geometry::load::load_mesh;
use drench_geometry::poisson::{self, PoissonSettings};
use drench_geometry::subdivide::loop_subdivide;
use drench_geometry::{GeometryError, SurfacePoint, TriMesh, bunny, head, primitives};
use drench_physics::contact::{Collider, Placement};
use drench_physics::interaction::{BoundarySample, Deposit, Interaction};
use drench_physics::strands::{Roots, Tip};
use drench_scene::{Pose, Scene, Shape, Solid};
use glam::{DAffine3, DMat3, DQuat, DVec2, DVec3};
use rayon::prelude::*;

/// Icosphere levels and ring counts of the drawn primitives.
const PRIMITIVE_DETAIL: u32 = 5;
/// Cells of a baked field along the longest edge of a solid.
const FIELD_CELLS: f64 = 128.0;
/// The same for a solid that deforms: its field is baked anew every substep.
const DEFORMING_FIELD_CELLS: f64 = 64.0;
/// Sizes of a solid that make sense [m].
const SIZES: std::ops::RangeInclusive<f64> = 1e-6..=1e6;
/// How far from its origin a solid may reach [m], and how far it may move.
const REACH: f64 = 1e7;
const FARTHEST: f64 = 1e10;
/// Boundary samples a solid may have.
const BOUNDARY_LIMIT: usize = 4_000_000;
/// Points of the rim of an opening that must be out of all solids.
const RIM: u32 = 8;

/// The span of time that a substep covers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Where the scene's clock stands at its beginning [s].
    pub from: f64,
    /// Where the scene's clock stands at its end [s]; the same as `from` while strands settle.
    pub to: f64,
    /// How long strands move [s].
    pub dt: f64,
}

impl Span {
    /// An instant: nothing moves.
    pub fn at(time: f64) -> Self {
        Self { from: time, to: time, dt: 0.0 }
    }

    /// The same time in equal parts.
    pub fn parts(self, count: u32) -> impl Iterator<Item = Self> {
        let at = move |k: u32| {
            if k == count { self.to } else { self.from + (self.to - self.from) * (f64::from(k) / f64::from(count)) }
        };
        (0..count).map(move |k| Self { from: at(k), to: at(k + 1), dt: self.dt / f64::from(count) })
    }
}

/// What never changes about a solid.
#[derive(Clone, Debug)]
pub struct SolidModel {
    /// Its name.
    pub name: String,
    /// Its mesh at rest, in its own frame [m].
    pub mesh: TriMesh,
    /// How its vertices move, if they do.
    pub animation: Option<MeshAnimation>,
    /// Its field at rest; absent if nothing collides with it.
    pub field: Option<Field>,
    /// Coulomb friction.
    pub friction: f64,
    /// World metres per unit of the animation's frame, which the mesh has already.
    scale: f64,
    /// Where it repels strands through the interaction grid.
    boundary: Vec<SurfacePoint>,
    /// What was repaired in its mesh.
    pub warnings: Vec<String>,
}

/// Where a solid is during a substep.
#[derive(Debug)]
pub struct SolidScratch {
    /// Pose at the beginning of the substep.
    pub before: Placement,
    /// Pose at the end of the substep.
    pub after: Placement,
    /// Vertices at the beginning and the end, in its own frame [m]; empty if it is rigid.
    deformed: [Vec<DVec3>; 2],
    /// Its field at the end; absent if it is rigid.
    field: Option<Field>,
    /// Its skin at the beginning, to be asked for what is nearest; absent if it is rigid or nothing collides with it.
    skin: Option<Bvh>,
}

impl SolidModel {
    /// Builds the solids of a scene.
    pub fn build_all(scene: &Scene) -> Result<Vec<Self>, SimError> {
        Self::each_once(scene, |solid| Self::build(scene, solid))
    }

    /// The solids of a scene as far as is needed to count what grows on them and what liquid and grains have room between them: fields are baked only
    /// where those begin nearby.
    pub fn to_count(scene: &Scene, shelf: &Shelf) -> Result<Vec<Self>, SimError> {
        let mut models = Self::each_once(scene, |solid| shelf.mesh_only(solid))?;
        let mut begins = Vec::new();
        if let Some(liquid) = &scene.liquid {
            let near = liquid::NEAR * liquid.spacing;
            begins.extend(liquid::begins(scene, liquid, &models)?.into_iter().map(|part| (part, near)));
        }
        for body in &scene.grains {
            begins.extend(grains::begins(scene, body, &models)?.into_iter().map(|part| (part, 2.0 * body.radius)));
        }
        if begins.is_empty() {
            return Ok(models);
        }
        for (index, solid) in scene.solids.iter().enumerate().filter(|(_, solid)| solid.collide) {
            let (low, high) = placed(scene.pose_of(index, 0.0)).around(models[index].mesh.bounds());
            let meets = |&((from, to), near): &((DVec3, DVec3), f64)| {
                (from - near).cmple(high).all() && (to + near).cmpge(low).all()
            };
            if exact_field(solid).is_some() || begins.iter().any(meets) {
                models[index].collide(solid)?;
            }
        }
        Ok(models)
    }

    /// Every solid of the scene; those of equal shape are built once.
    fn each_once(scene: &Scene, build: impl Fn(&Solid) -> Result<Self, SimError>) -> Result<Vec<Self>, SimError> {
        let mut models: Vec<Self> = Vec::with_capacity(scene.solids.len());
        for (index, solid) in scene.solids.iter().enumerate() {
            let twin = scene.solids[..index].iter().position(|other| same_body(other, solid));
            models.push(match twin {
                Some(twin) => models[twin].as_in(solid),
                None => build(solid)?,
            });
        }
        Ok(models)
    }

    /// The model of another solid of the same shape.
    fn as_in(&self, solid: &Solid) -> Self {
        Self { name: solid.name.clone(), friction: solid.friction, ..self.clone() }
    }

    /// Builds a solid of the scene: mesh, field, boundary samples.
    fn build(scene: &Scene, solid: &Solid) -> Result<Self, SimError> {
        let mut model = Self::with_field(solid)?;
        if let Some(interaction) = &scene.interaction
            && solid.collide
            && interaction.boundary.is_some()
        {
            let refuse = |source| SimError::Boundary { solid: solid.name.clone(), source };
            model.boundary = boundary_samples(&model.mesh, interaction.cell, scene.simulation.seed).map_err(refuse)?;
        }
        Ok(model)
    }

    /// A solid with its field, if anything collides with it.
    fn with_field(solid: &Solid) -> Result<Self, SimError> {
        let mut model = Self::mesh_only(solid)?;
        if solid.collide {
            model.collide(solid)?;
        }
        Ok(model)
    }

    /// Lets things collide with it.
    fn collide(&mut self, solid: &Solid) -> Result<(), SimError> {
        let wrap = |source| SimError::Solid { solid: solid.name.clone(), source };
        self.field = Some(field_of(solid, &self.mesh, self.animation.is_some()).map_err(wrap)?);
        Ok(())
    }

    /// A solid that nothing collides with.
    fn mesh_only(solid: &Solid) -> Result<Self, SimError> {
        let wrap = |source| SimError::Solid { solid: solid.name.clone(), source };
        let (mesh, animation, warnings) = mesh_of(solid).map_err(wrap)?;
        Ok(Self {
            name: solid.name.clone(),
            mesh,
            animation,
            field: None,
            friction: solid.friction,
            scale: solid.scale,
            boundary: Vec::new(),
            warnings,
        })
    }

    /// Scratch for this solid, where the scene has it at time 0.
    pub fn scratch(&self) -> SolidScratch {
        let deformed = match &self.animation {
            Some(_) => [self.mesh.positions.clone(), self.mesh.positions.clone()],
            None => [Vec::new(), Vec::new()],
        };
        let field = self.animation.as_ref().and_then(|_| self.field.clone());
        let skin = field.as_ref().map(|_| Bvh::build(&self.mesh));
        SolidScratch { before: Placement::IDENTITY, after: Placement::IDENTITY, deformed, field, skin }
    }
}

/// Meshes that take long to make, made once for all scenes that have them.
#[derive(Debug, Default)]
pub struct Shelf(Vec<(Solid, SolidModel)>);

impl Shelf {
    /// What these scenes have of them.
    pub fn stock(scenes: &[Scene]) -> Result<Self, SimError> {
        let mut shelf = Self::default();
        for solid in scenes.iter().flat_map(|scene| &scene.solids) {
            if matches!(solid.shape, Shape::Head { .. } | Shape::Bunny { .. }) && shelf.find(solid).is_none() {
                shelf.0.push((solid.clone(), SolidModel::mesh_only(solid)?));
            }
        }
        Ok(shelf)
    }

    fn find(&self, solid: &Solid) -> Option<&SolidModel> {
        self.0.iter().find(|(other, _)| same_mesh(other, solid)).map(|(_, model)| model)
    }

    /// A solid that nothing collides with.
    fn mesh_only(&self, solid: &Solid) -> Result<SolidModel, SimError> {
        self.find(solid).map_or_else(|| SolidModel::mesh_only(solid), |model| Ok(model.as_in(solid)))
    }
}

impl SolidScratch {
    /// Vertices at the end of the substep, in the solid's own frame [m].
    pub fn positions<'a>(&'a self, model: &'a SolidModel) -> &'a [DVec3] {
        if model.animation.is_some() { &self.deformed[1] } else { &model.mesh.positions }
    }

    /// Where matter `depth` [m] below a point of the skin is at the beginning and at the end of the substep [m].
    pub fn path(&self, model: &SolidModel, point: &SurfacePoint, depth: f64) -> [DVec3; 2] {
        let triangles = &model.mesh.triangles;
        let (before, after) = match model.animation {
            Some(_) => (&self.deformed[0], &self.deformed[1]),
            None => (&model.mesh.positions, &model.mesh.positions),
        };
        let below = twice_area(triangles, after, point).normalize_or_zero() * -depth;
        let at = |place: &Placement, local: DVec3| place.rotation * local + place.translation;
        [
            at(&self.before, point.interpolate(triangles, before) + below),
            at(&self.after, point.interpolate(triangles, after) + below),
        ]
    }

    /// How many times as large as at rest the skin is around a point, at the end of the substep.
    pub fn stretch(&self, model: &SolidModel, point: &SurfacePoint) -> f64 {
        if model.animation.is_none() {
            return 1.0;
        }
        let area = |positions: &[DVec3]| twice_area(&model.mesh.triangles, positions, point).length();
        area(&self.deformed[1]) / area(&model.mesh.positions).max(f64::MIN_POSITIVE)
    }

    /// Moves the roots of a groom along with the skin under them, and tips that are held with the roots.
    pub fn carry_roots(&self, model: &SolidModel, body: &StrandBody, roots: &mut Roots) {
        self.carry_ends(model, body, roots);
        if body.model.tip() == Tip::Clamped {
            let ends = body.model.offsets().windows(2).map(|pair| (pair[0] as usize, pair[1] as usize - 1));
            let held = roots.positions.iter().zip(&roots.frames).zip(ends);
            let tip = |((root, frame), (first, last)): ((&DVec3, &DQuat), (usize, usize))| {
                *root + *frame * (body.rest[last] - body.rest[first])
            };
            roots.tips.clear();
            roots.tips.extend(held.map(tip));
        }
    }

    fn carry_ends(&self, model: &SolidModel, body: &StrandBody, roots: &mut Roots) {
        roots.advance();
        let place = self.after;
        let world = |local: DVec3| place.rotation * local + place.translation;
        if model.animation.is_none() {
            let offsets = &body.model.offsets()[..body.roots.len()];
            let local = offsets.par_iter().map(|&first| body.rest[first as usize]);
            roots.positions.par_iter_mut().zip(local).for_each(|(position, local)| *position = world(local));
            roots.frames.fill(place.rotation);
            return;
        }
        let (rest, now) = (&model.mesh.positions, &self.deformed[1]);
        let carried = roots.positions.par_iter_mut().zip(&mut roots.frames).zip(&body.roots);
        carried.for_each(|((position, frame), root)| {
            *position = world(root.interpolate(&model.mesh.triangles, now));
            let corners = model.mesh.triangles[root.triangle as usize].map(|vertex| vertex as usize);
            let turn = triangle_frame(now, corners) * triangle_frame(rest, corners).transpose();
            *frame = place.rotation * DQuat::from_mat3(&turn).normalize();
        });
    }
}

/// Twice the area of the triangle of a point, as a vector out of the skin [m2].
fn twice_area(triangles: &[[u32; 3]], positions: &[DVec3], point: &SurfacePoint) -> DVec3 {
    let [a, b, c] = triangles[point.triangle as usize].map(|vertex| positions[vertex as usize]);
    (b - a).cross(c - a)
}

/// Brings all solids that the scene moves from where they are to where the scene has them at the end of the substep.
pub fn move_to(model: &Model, solids: &mut [SolidScratch], span: Span) -> Result<(), SimError> {
    for (index, (solid, scratch)) in model.solids.iter().zip(solids).enumerate() {
        if model.scene.solids[index].body.is_some() {
            continue;
        }
        scratch.before = placement(&model.scene, index, span.from)?;
        scratch.after = placement(&model.scene, index, span.to)?;
        let Some(animation) = &solid.animation else { continue };
        let [before, after] = &mut scratch.deformed;
        for (positions, time) in [(&mut *before, span.from), (&mut *after, span.to)] {
            animation.pose_at(time, positions);
            positions.iter_mut().for_each(|position| *position *= solid.scale);
        }
        if let Some(Field::Baked(field)) = &mut scratch.field {
            field.update(after).map_err(|source| SimError::Solid { solid: solid.name.clone(), source })?;
        }
        if let Some(skin) = &mut scratch.skin {
            skin.refit(before, &solid.mesh.triangles);
        }
    }
    Ok(())
}

/// Where the scene has a solid. Motions were tried when the scene was read, but not at every time.
fn placement(scene: &Scene, solid: usize, time: f64) -> Result<Placement, SimError> {
    let pose = scene.pose_of(solid, time);
    let DVec3 { x, y, z } = pose.position;
    if !(pose.rotation.is_finite() && pose.position.length() <= FARTHEST) {
        return Err(SimError::Motion { solid: scene.solids[solid].name.clone(), time, x, y, z });
    }
    Ok(placed(pose))
}

/// The placement of what has a pose.
pub fn placed(pose: Pose) -> Placement {
    Placement { rotation: pose.rotation, translation: pose.position, scale: 1.0 }
}

/// How the skin of a solid that deforms moves near a point of its own frame, and by how much at most [m].
pub struct SkinMotion<'a> {
    displacement: Box<dyn Fn(DVec3) -> DVec3 + Sync + 'a>,
    most: f64,
}

impl SkinMotion<'_> {
    /// Displacement during the substep of the skin nearest to a point [m].
    pub fn at(&self, local: DVec3) -> DVec3 {
        (self.displacement)(local)
    }
}

/// The motion of every solid's skin during the substep; none where it is rigid.
pub fn skins<'a>(model: &'a Model, solids: &'a [SolidScratch]) -> Vec<Option<SkinMotion<'a>>> {
    let of_solid = |(solid, scratch): (&'a SolidModel, &'a SolidScratch)| {
        let skin = scratch.skin.as_ref()?;
        let ([before, after], triangles) = (&scratch.deformed, &solid.mesh.triangles);
        let displacement = move |local: DVec3| {
            let Some(closest) = skin.closest_point(local) else { return DVec3::ZERO };
            let corners = triangles[closest.triangle as usize].map(|vertex| before[vertex as usize]);
            let point = closest.surface_point(corners);
            point.interpolate(triangles, after) - point.interpolate(triangles, before)
        };
        let moved = before.iter().zip(after).map(|(before, after)| before.distance(*after));
        Some(SkinMotion { displacement: Box::new(displacement), most: moved.fold(0.0, f64::max) })
    };
    model.solids.iter().zip(solids).map(of_solid).collect()
}

/// All that strands collide with during the substep.
pub fn colliders<'a>(
    model: &'a Model,
    solids: &'a [SolidScratch],
    skins: &'a [Option<SkinMotion<'a>>],
) -> Vec<Collider<'a>> {
    let of_solid = |index: usize| {
        let (solid, scratch, skin): (&'a SolidModel, &'a SolidScratch, &'a Option<SkinMotion<'a>>) =
            (&model.solids[index], &solids[index], &skins[index]);
        let field = scratch.field.as_ref().or(solid.field.as_ref())?;
        let mut rigid = Collider::new(field, scratch.before, scratch.after, solid.friction);
        if let Some(body) = model.bodies.of_solid(index) {
            rigid = rigid.of_body(body);
        }
        Some(match skin {
            Some(skin) => rigid.deforming(&*skin.displacement, skin.most),
            None => rigid,
        })
    };
    let ground = model.scene.ground.as_ref().map(|ground| {
        let place = Placement::at(DVec3::Y * ground.height);
        Collider::new(&Field::HalfSpace, place, place, ground.friction)
    });
    (0..model.solids.len()).filter_map(of_solid).chain(ground).collect()
}

/// Enters the solids into the interaction grid, a little below their skin [Henne2013, 4.2.5].
pub fn deposit(model: &Model, solids: &[SolidScratch], interaction: &Interaction, deposit: &mut Deposit, dt: f64) {
    deposit.clear();
    let Some(density) = model.scene.interaction.as_ref().and_then(|interaction| interaction.boundary) else { return };
    let depth = 0.5 * interaction.cell;
    for (solid, scratch) in model.solids.iter().zip(solids) {
        let sample = |point: &SurfacePoint| {
            let [then, now] = scratch.path(solid, point, depth);
            BoundarySample { position: now, velocity: (now - then) / dt, density }
        };
        let samples: Vec<BoundarySample> = solid.boundary.par_iter().map(sample).collect();
        deposit.insert_boundary(interaction, &samples);
    }
}

/// The field of a solid at rest, whether or not anything collides with it.
pub fn field_at_rest(solid: &Solid, model: &SolidModel) -> Result<Field, SimError> {
    let wrap = |source| SimError::Solid { solid: solid.name.clone(), source };
    model.field.clone().map_or_else(|| field_of(solid, &model.mesh, false).map_err(wrap), Ok)
}

/// The fields of the solids, each with where it sees a point at the beginning.
fn seen<'a>(
    scene: &'a Scene,
    solids: &'a [SolidModel],
    point: DVec3,
) -> impl Iterator<Item = (&'a SolidModel, &'a Field, DVec3)> {
    solids.iter().enumerate().filter_map(move |(index, solid)| {
        let pose = scene.pose_of(index, 0.0);
        Some((solid, solid.field.as_ref()?, pose.rotation.inverse() * (point - pose.position)))
    })
}

/// Distance of a point from the ground, if there is one [m].
fn height(scene: &Scene, point: DVec3) -> Option<f64> {
    scene.ground.as_ref().map(|ground| point.y - ground.height)
}

/// Distances of a point from everything that collides, at the beginning, and how much more they may be [m]; with names. A baked field tells too little where
/// skins meet: of the distance min(x, y, z) from three walls, in the middle of a cell, an eighth of the cell instead of half of it.
fn distances<'a>(
    scene: &'a Scene,
    solids: &'a [SolidModel],
    point: DVec3,
) -> impl Iterator<Item = (&'a str, f64, f64)> {
    let of_solid = |(solid, field, local): (&'a SolidModel, &'a Field, DVec3)| {
        let more = if let Field::Baked(field) = field { 0.375 * field.cell() } else { 0.0 };
        (solid.name.as_str(), field.distance(local), more)
    };
    let ground = height(scene, point).map(|height| ("the ground", height, 0.0));
    seen(scene, solids, point).map(of_solid).chain(ground)
}

/// Distance of a point from the nearest solid at the beginning, negative inside [m].
pub fn clearance(scene: &Scene, solids: &[SolidModel], point: DVec3) -> f64 {
    clearances(scene, solids, point)[0]
}

/// The same, and the most that it may be in truth [m].
pub fn clearances(scene: &Scene, solids: &[SolidModel], point: DVec3) -> [f64; 2] {
    distances(scene, solids, point)
        .fold([f64::INFINITY; 2], |[told, most], (_, distance, more)| [told.min(distance), most.min(distance + more)])
}

/// Distance of a point from the nearest solid at the beginning as something as large as `reach` meets it, as exact as can be within that [m].
pub fn room(scene: &Scene, solids: &[SolidModel], point: DVec3, reach: f64) -> f64 {
    let distances = seen(scene, solids, point).map(|(_, field, local)| field.nearest(local, reach).0);
    distances.chain(height(scene, point)).fold(f64::INFINITY, f64::min)
}

/// The solid that a point is inside of at the beginning, if there is one.
pub fn solid_around<'a>(scene: &'a Scene, solids: &'a [SolidModel], point: DVec3) -> Option<&'a str> {
    distances(scene, solids, point).find(|(_, distance, _)| *distance < 0.0).map(|(name, ..)| name)
}

/// The middle of a round opening and points of its rim [m]: they must be out of all solids.
pub fn edge_of(middle: DVec3, direction: DVec3, radius: f64) -> impl Iterator<Item = DVec3> {
    let (across, along) = direction.normalize().any_orthonormal_pair();
    let turned = |k: u32| DVec2::from_angle(std::f64::consts::TAU * f64::from(k) / f64::from(RIM));
    let rim = (0..RIM).map(turned).map(move |part| middle + (across * part.x + along * part.y) * radius);
    rim.chain([middle])
}

/// Whether two solids have the same mesh.
fn same_mesh(a: &Solid, b: &Solid) -> bool {
    a.shape == b.shape && (a.subdivide, a.scale) == (b.subdivide, b.scale)
}

/// Whether two solids have the same mesh and the same field.
fn same_body(a: &Solid, b: &Solid) -> bool {
    same_mesh(a, b) && (a.collide, a.field_cell) == (b.collide, b.field_cell)
}

/// The mesh of a solid in metres, its animation, and what was repaired.
fn mesh_of(solid: &Solid) -> Result<(TriMesh, Option<MeshAnimation>, Vec<String>), GeometryError> {
    let (mut mesh, animation, warnings) = match &solid.shape {
        Shape::Sphere { radius } => (primitives::sphere(*radius, PRIMITIVE_DETAIL), None, Vec::new()),
        Shape::Box { size } => (primitives::cuboid(*size), None, Vec::new()),
        Shape::Capsule { radius, height } => {
            (primitives::capsule(*radius, *height, PRIMITIVE_DETAIL), None, Vec::new())
        }
        Shape::Cylinder { radius, height } => {
            (primitives::cylinder(*radius, *height, PRIMITIVE_DETAIL), None, Vec::new())
        }
        Shape::Plane { size } => (primitives::plane(*size), None, Vec::new()),
        Shape::Torus { radius, thickness } => {
            (primitives::torus(*radius, *thickness, PRIMITIVE_DETAIL), None, Vec::new())
        }
        Shape::Tank { size, wall } => (primitives::tank(*size, *wall), None, Vec::new()),
        Shape::Head { height } => (head::head(*height), None, Vec::new()),
        Shape::Bunny { height } => (bunny::bunny(*height), None, Vec::new()),
        Shape::File { path, unit, animation } => {
            let loaded = load_mesh(path, *unit, animation.as_deref())?;
            (loaded.mesh, loaded.animation, loaded.warnings)
        }
    };
    if solid.subdivide > 0 {
        if animation.is_some() {
            return Err(GeometryError::InvalidParameter {
                parameter: "subdivide",
                value: f64::from(solid.subdivide),
                expected: "0 for a mesh that deforms (subdivide it in the program that animated it)",
            });
        }
        mesh = loop_subdivide(&mesh, solid.subdivide)?;
    }
    if solid.scale != 1.0 {
        mesh.transform(&DAffine3::from_scale(DVec3::splat(solid.scale)));
    }
    let (low, high) = mesh.bounds();
    let (size, reach) = ((high - low).max_element(), low.abs().max(high.abs()).max_element());
    if !(SIZES.contains(&size) && reach <= REACH) {
        return Err(GeometryError::OutOfScale { size, reach });
    }
    mesh.compute_normals();
    Ok((mesh, animation, warnings))
}

/// An exact field where the shape has one, a baked one otherwise.
fn field_of(solid: &Solid, mesh: &TriMesh, deforming: bool) -> Result<Field, GeometryError> {
    exact_field(solid).map_or_else(|| baked(solid, mesh, deforming), Ok)
}

/// The field of a solid that has a formula; others have to be baked. Subdivision rounds a shape: the formula would no longer be that of its skin.
fn exact_field(solid: &Solid) -> Option<Field> {
    let s = solid.scale;
    Some(match solid.shape {
        Shape::Plane { .. } => Field::HalfSpace,
        _ if solid.subdivide > 0 => return None,
        Shape::Sphere { radius } => Field::Sphere { radius: radius * s },
        Shape::Box { size } => Field::Box { size: size * s },
        Shape::Capsule { radius, height } => Field::Capsule { radius: radius * s, height: height * s },
        Shape::Cylinder { radius, height } => Field::Cylinder { radius: radius * s, height: height * s },
        Shape::Torus { radius, thickness } => Field::Torus { radius: radius * s, thickness: thickness * s },
        Shape::Tank { size, wall } => Field::Tank { size: size * s, wall: wall * s },
        Shape::Head { .. } | Shape::Bunny { .. } | Shape::File { .. } => return None,
    })
}

fn baked(solid: &Solid, mesh: &TriMesh, deforming: bool) -> Result<Field, GeometryError> {
    let (low, high) = mesh.bounds();
    let size = (high - low).max_element();
    let cells = if deforming { DEFORMING_FIELD_CELLS } else { FIELD_CELLS };
    let cell = solid.field_cell.unwrap_or(size / cells);
    Ok(Field::Baked(DistanceField::bake(mesh, cell, 4.0 * cell)?))
}

fn boundary_samples(mesh: &TriMesh, cell: f64, seed: u64) -> Result<Vec<SurfacePoint>, GeometryError> {
    let settings = PoissonSettings { distance: 0.5 * cell, seed, faces: None, density: None, limit: BOUNDARY_LIMIT };
    poisson::sample(mesh, &settings)
}

/// An orthonormal frame that follows a triangle: its first edge and its normal.
fn triangle_frame(positions: &[DVec3], [a, b, c]: [usize; 3]) -> DMat3 {
    let edge = (positions[b] - positions[a]).normalize_or(DVec3::X);
    let normal = edge.cross(positions[c] - positions[a]).normalize_or(edge.any_orthonormal_vector());
    DMat3::from_cols(edge, normal, edge.cross(normal))
}
