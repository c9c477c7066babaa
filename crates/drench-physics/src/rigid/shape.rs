//! Shapes of rigid bodies: what they touch with, and how their mass is spread.
//!
//! The mass of a mesh is that of the mesh itself (sum over signed tetrahedra), whatever it touches with. A mesh that
//! stands still or is moved touches with its triangles; one that falls with its convex hull or with convex pieces.

use super::Mass;
use crate::PhysicsError;
use crate::error::check;
use glam::DVec3;
use rapier3d_f64::parry::mass_properties::MassProperties;
use rapier3d_f64::parry::math::Pose;
use rapier3d_f64::parry::shape::SharedShape;
use rapier3d_f64::parry::transformation::vhacd::{VHACD, VHACDParameters};

/// Straight capsules that a torus touches with: 24 leave its ring within 0.9 % of a circle.
const TORUS_CAPSULES: u32 = 24;
/// Sizes that make sense [m].
const SIZE: (&str, std::ops::RangeInclusive<f64>) = ("from 1e-6 to 1e6 m", 1e-6..=1e6);

/// The shape of a rigid body or an obstacle, in its own frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape<'a> {
    /// A sphere about the origin.
    Sphere {
        /// Radius [m].
        radius: f64,
    },
    /// A box about the origin.
    Box {
        /// Edge lengths [m].
        size: DVec3,
    },
    /// A capsule along y, about the origin.
    Capsule {
        /// Radius [m].
        radius: f64,
        /// Height of the straight part [m].
        height: f64,
    },
    /// A cylinder along y, about the origin.
    Cylinder {
        /// Radius [m].
        radius: f64,
        /// Height [m].
        height: f64,
    },
    /// A torus about the y axis.
    Torus {
        /// Radius of the circle that the tube follows [m].
        radius: f64,
        /// Radius of the tube [m].
        thickness: f64,
    },
    /// Everything below y = 0; for obstacles only.
    HalfSpace,
    /// The convex hull of a closed mesh.
    Hull(Mesh<'a>),
    /// Convex pieces of a closed mesh.
    Pieces(Mesh<'a>),
    /// The triangles themselves; for obstacles only.
    Triangles(Mesh<'a>),
}

/// A triangle mesh that is not owned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mesh<'a> {
    /// Vertices [m].
    pub positions: &'a [DVec3],
    /// Corners of the triangles, counter-clockwise from outside.
    pub triangles: &'a [[u32; 3]],
}

impl Shape<'_> {
    /// What the shape touches with.
    pub(super) fn collider(&self, name: &str) -> Result<SharedShape, PhysicsError> {
        let refuse = |why: &'static str| PhysicsError::BodyShape { body: name.to_owned(), why };
        Ok(match *self {
            Self::Sphere { radius } => SharedShape::ball(size(radius)?),
            Self::Box { size: edges } => {
                SharedShape::cuboid(0.5 * size(edges.x)?, 0.5 * size(edges.y)?, 0.5 * size(edges.z)?)
            }
            Self::Capsule { radius, height } => SharedShape::capsule_y(0.5 * size(height)?, size(radius)?),
            Self::Cylinder { radius, height } => SharedShape::cylinder(0.5 * size(height)?, size(radius)?),
            Self::Torus { radius, thickness } => torus(size(radius)?, size(thickness)?),
            Self::HalfSpace => SharedShape::halfspace(DVec3::Y),
            Self::Hull(mesh) => {
                mesh.check()?;
                SharedShape::convex_hull(mesh.positions).ok_or(refuse("its mesh is flat and has no convex hull"))?
            }
            Self::Pieces(mesh) => {
                mesh.check()?;
                let pieces = VHACD::decompose(&VHACDParameters::default(), mesh.positions, mesh.triangles, true);
                let hulls = pieces.compute_exact_convex_hulls(mesh.positions, mesh.triangles);
                let convex = |(positions, triangles): (Vec<DVec3>, Vec<[u32; 3]>)| {
                    Some((Pose::IDENTITY, SharedShape::convex_mesh(positions, &triangles)?))
                };
                let parts: Vec<_> = hulls.into_iter().filter_map(convex).collect();
                if parts.is_empty() {
                    return Err(refuse("its mesh cannot be cut into convex pieces; use its hull"));
                }
                SharedShape::compound(parts)
            }
            Self::Triangles(mesh) => {
                mesh.check()?;
                SharedShape::trimesh(mesh.positions.to_vec(), mesh.triangles.to_vec())
                    .map_err(|_| refuse("its mesh has no triangles"))?
            }
        })
    }

    /// Mass, centre and inertia.
    pub(super) fn mass(&self, name: &str, collider: &SharedShape, mass: Mass) -> Result<MassProperties, PhysicsError> {
        let mut properties = match *self {
            Self::Torus { radius, thickness } => torus_mass(radius, thickness),
            Self::Hull(mesh) | Self::Pieces(mesh) => {
                let own = MassProperties::from_trimesh(1.0, mesh.positions, mesh.triangles);
                let hull = collider.mass_properties(1.0);
                // An open mesh encloses nothing that could weigh: its hull does.
                if own.mass() > 1e-3 * hull.mass() { own } else { hull }
            }
            _ => collider.mass_properties(1.0),
        };
        let volume = properties.mass();
        let total = match mass {
            Mass::Density(density) => density * volume,
            Mass::Total(total) => total,
        };
        check("mass of a body [kg]", total, "from 1e-12 to 1e12", |mass| (1e-12..=1e12).contains(&mass))?;
        if !(volume > 0.0 && properties.inv_principal_inertia.is_finite() && properties.local_com.is_finite()) {
            let why = "it has no volume that could weigh; only closed shapes can be bodies";
            return Err(PhysicsError::BodyShape { body: name.to_owned(), why });
        }
        properties.set_mass(total, true);
        Ok(properties)
    }
}

impl Mesh<'_> {
    /// Every number finite, every corner there.
    fn check(&self) -> Result<(), PhysicsError> {
        for position in self.positions {
            check("position of a vertex [m]", position.abs().max_element(), SIZE.0, |x| x <= *SIZE.1.end())?;
        }
        let corner = self.triangles.iter().flatten().copied().max().unwrap_or(0) as usize;
        if corner >= self.positions.len() {
            return Err(PhysicsError::Count {
                what: "vertices of a body's mesh",
                got: self.positions.len(),
                expected: corner + 1,
            });
        }
        Ok(())
    }
}

fn size(value: f64) -> Result<f64, PhysicsError> {
    check("size of a body [m]", value, SIZE.0, |x| SIZE.1.contains(&x)).map(|()| value)
}

/// A ring of capsules whose centre lines are chords of the tube's circle, pushed out so that they lie on it on average.
fn torus(radius: f64, thickness: f64) -> SharedShape {
    let step = std::f64::consts::TAU / f64::from(TORUS_CAPSULES);
    let ring = radius * 2.0 / (1.0 + (0.5 * step).cos());
    let corner = |i: u32| {
        let (sine, cosine) = (f64::from(i) * step).sin_cos();
        DVec3::new(ring * cosine, 0.0, ring * sine)
    };
    let capsule = |i| (Pose::IDENTITY, SharedShape::capsule(corner(i), corner((i + 1) % TORUS_CAPSULES), thickness));
    SharedShape::compound((0..TORUS_CAPSULES).map(capsule).collect())
}

/// Volume 2 pi^2 R r^2; about the axis m (R^2 + 3/4 r^2), across it m (R^2 / 2 + 5/8 r^2).
fn torus_mass(radius: f64, thickness: f64) -> MassProperties {
    let (ring, tube) = (radius * radius, thickness * thickness);
    let volume = 2.0 * std::f64::consts::PI.powi(2) * radius * tube;
    let (across, along) = (volume * (0.5 * ring + 0.625 * tube), volume * (ring + 0.75 * tube));
    MassProperties::new(DVec3::ZERO, volume, DVec3::new(across, along, across))
}
