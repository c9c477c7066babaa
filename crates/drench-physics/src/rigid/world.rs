//! The rigid-body world: rapier3d, wrapped so that it keeps the house's promises.
//!
//! Bodies fall, spin (with gyroscopic terms), touch each other and obstacles with Coulomb friction and restitution. What
//! pushed them during the substep comes in as impulses, so their momentum is exactly what was booked. Obstacles are
//! solids that the scene moves: they push and are not pushed.
//!
//! All of rapier's sets are one value that can be written and read back bit for bit, contact impulses included, so a
//! run that is resumed goes on as if it had never stopped. Nothing here depends on the number of threads.
//!
//! Where it breaks down: contacts are stiff springs (30 Hz, 60 Hz against obstacles, strongly damped), so heavy stacks
//! sink a little; a body much smaller than the others is pushed apart more gently than it could be, since tolerances are
//! those of the smallest one; two fast thin bodies may pass through each other when both move by more than their size in
//! a substep.

use super::{BodyState, Push, Shape};
use crate::PhysicsError;
use crate::contact::Placement;
use crate::error::check;
use glam::{DMat3, DVec3};
use rapier3d_f64::dynamics::{
    FrictionModel, IntegrationParameters, RigidBody, RigidBodyBuilder, RigidBodyHandle, RigidBodyType,
};
use rapier3d_f64::geometry::{ColliderBuilder, InteractionGroups};
use rapier3d_f64::parry::math::Pose;
use rapier3d_f64::pipeline::PhysicsWorld;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How far a body may go [m].
const FARTHEST: f64 = 1e9;

/// How much a body weighs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mass {
    /// By its volume [kg/m3].
    Density(f64),
    /// In all [kg].
    Total(f64),
}

/// What a surface is like to touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surface {
    /// Coulomb friction; two surfaces that touch have the mean of theirs.
    pub friction: f64,
    /// Share of the approaching speed that is given back, 0 to 1; two surfaces that touch have the mean of theirs.
    pub restitution: f64,
}

/// A body as it is at first.
#[derive(Clone, Debug, PartialEq)]
pub struct Body<'a> {
    /// What messages call it.
    pub name: &'a str,
    /// Its shape, in its own frame.
    pub shape: Shape<'a>,
    /// Where its own frame is.
    pub placement: Placement,
    /// What it weighs.
    pub mass: Mass,
    /// What it is like to touch.
    pub surface: Surface,
    /// Whether it touches other bodies and obstacles.
    pub collide: bool,
    /// Rate at which its velocity and its spin die away by themselves [1/s].
    pub damping: [f64; 2],
    /// Velocity of its centre when it is let go [m/s].
    pub velocity: DVec3,
    /// Angular velocity when it is let go [rad/s].
    pub spin: DVec3,
    /// When it is let go [s]; until then it is an obstacle that stands still. Absent: it is free from the start.
    pub release: Option<f64>,
}

/// A solid that pushes bodies and is not pushed.
#[derive(Clone, Debug, PartialEq)]
pub struct Obstacle<'a> {
    /// What messages call it.
    pub name: &'a str,
    /// Its shape, in its own frame.
    pub shape: Shape<'a>,
    /// Where its own frame is.
    pub placement: Placement,
    /// What it is like to touch.
    pub surface: Surface,
    /// Whether it will ever move.
    pub moves: bool,
}

/// Bodies, obstacles, and what is between them.
#[derive(Default)]
pub struct RigidWorld {
    /// Everything that a snapshot holds; absent without bodies, so that an empty world costs nothing.
    sets: Option<Box<Sets>>,
    states: Vec<BodyState>,
}

#[derive(Serialize, Deserialize)]
struct Sets {
    world: PhysicsWorld,
    bodies: Vec<Free>,
    obstacles: Vec<RigidBodyHandle>,
}

/// What is known about a body apart from its state.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Free {
    name: String,
    handle: RigidBodyHandle,
    velocity: DVec3,
    spin: DVec3,
    release: Option<f64>,
}

impl std::fmt::Debug for RigidWorld {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RigidWorld").field("states", &self.states).finish_non_exhaustive()
    }
}

impl PartialEq for RigidWorld {
    /// Whether the next steps will be the same, bit for bit.
    fn eq(&self, other: &Self) -> bool {
        self.snapshot() == other.snapshot()
    }
}

impl Serialize for RigidWorld {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.sets.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RigidWorld {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sets = Option::<Box<Sets>>::deserialize(deserializer)?;
        if !sets.as_ref().is_none_or(|sets| sets.is_sound()) {
            return Err(D::Error::custom("a rigid body is missing"));
        }
        let mut this = Self { sets, states: Vec::new() };
        this.read();
        Ok(this)
    }
}

impl Sets {
    fn is_sound(&self) -> bool {
        let mut handles = self.bodies.iter().map(|body| body.handle).chain(self.obstacles.iter().copied());
        handles.all(|handle| self.world.bodies.contains(handle))
    }

    /// Adds a body; the diameter of a sphere around it [m].
    fn insert(&mut self, body: &Body) -> Result<f64, PhysicsError> {
        if matches!(body.shape, Shape::HalfSpace | Shape::Triangles(_)) {
            let why = "a plane or open triangles cannot be a body";
            return Err(PhysicsError::BodyShape { body: body.name.to_owned(), why });
        }
        for (name, vector) in [("velocity of a body [m/s]", body.velocity), ("spin of a body [rad/s]", body.spin)] {
            check(name, vector.length(), "below 1e6", |x| x < 1e6)?;
        }
        for damping in body.damping {
            check("damping of a body [1/s]", damping, "from 0 to 1e4", |x| (0.0..=1e4).contains(&x))?;
        }
        let collider = body.shape.collider(body.name)?;
        let mass = body.shape.mass(body.name, &collider, body.mass)?;
        let extent = 2.0 * collider.compute_local_bounding_sphere().radius;
        let kind = match body.release {
            Some(_) => RigidBodyType::KinematicPositionBased,
            None => RigidBodyType::Dynamic,
        };
        let mut own = RigidBodyBuilder::new(kind)
            .pose(pose(&body.placement))
            .linear_damping(body.damping[0])
            .angular_damping(body.damping[1])
            // Sleeping bodies would have to be woken by every strand that touches them.
            .can_sleep(false)
            .allow_fast_rotation(true)
            .soft_ccd_prediction(0.5 * extent);
        if body.release.is_none() {
            own = own.linvel(body.velocity).angvel(body.spin);
        }
        let touch = body.surface.check()?;
        let mut shape = ColliderBuilder::new(collider).friction(touch.friction).restitution(touch.restitution);
        shape = shape.mass_properties(mass);
        if !body.collide {
            shape = shape.collision_groups(InteractionGroups::none());
        }
        let (handle, _) = self.world.insert(own, shape);
        if let Some(own) = self.world.bodies.get_mut(handle) {
            own.recompute_mass_properties_from_colliders(&self.world.colliders);
        }
        let (name, velocity, spin, release) = (body.name.to_owned(), body.velocity, body.spin, body.release);
        self.bodies.push(Free { name, handle, velocity, spin, release });
        Ok(extent)
    }

    fn body(&self, body: usize) -> &RigidBody {
        &self.world.bodies[self.bodies[body].handle]
    }

    /// The state of a body.
    fn state(&self, body: usize) -> BodyState {
        let own = self.body(body);
        let mass = &own.mass_properties().local_mprops;
        let free = own.is_dynamic();
        let axes = DMat3::from_quat(own.rotation() * mass.principal_inertia_local_frame);
        let inverse_inertia = axes * DMat3::from_diagonal(mass.inv_principal_inertia) * axes.transpose();
        BodyState {
            centre: own.center_of_mass(),
            rotation: *own.rotation(),
            velocity: own.linvel(),
            spin: own.angvel(),
            inverse_mass: if free { mass.inv_mass } else { 0.0 },
            inverse_inertia: if free { inverse_inertia } else { DMat3::ZERO },
        }
    }
}

impl RigidWorld {
    /// A world with these bodies and obstacles under a gravity [m/s2].
    pub fn new(bodies: &[Body], obstacles: &[Obstacle], gravity: DVec3) -> Result<Self, PhysicsError> {
        if bodies.is_empty() {
            return Ok(Self::default());
        }
        let mut sets = Sets { world: PhysicsWorld::new(), bodies: Vec::new(), obstacles: Vec::new() };
        sets.world.gravity = gravity;
        let mut smallest = f64::INFINITY;
        for body in bodies {
            smallest = smallest.min(sets.insert(body)?);
        }
        for obstacle in obstacles {
            let collider = obstacle.shape.collider(obstacle.name)?;
            let kind = if obstacle.moves { RigidBodyType::KinematicPositionBased } else { RigidBodyType::Fixed };
            let own = RigidBodyBuilder::new(kind).pose(pose(&obstacle.placement));
            let touch = obstacle.surface.check()?;
            let shape = ColliderBuilder::new(collider).friction(touch.friction).restitution(touch.restitution);
            let (handle, _) = sets.world.insert(own, shape);
            sets.obstacles.push(handle);
        }
        sets.world.integration_parameters = IntegrationParameters {
            // Tolerances go with the size of what is simulated.
            length_unit: smallest.clamp(1e-4, 1e3),
            normalized_max_linear_velocity: f64::MAX,
            // A contact that is kept although the bodies moved would depend on when it was last looked at.
            contact_recycling: false,
            // One friction constraint a contact plane: measured exact on a slope, where one a point loses 6 %.
            friction_model: FrictionModel::Simplified,
            ..IntegrationParameters::default()
        };
        let mut this = Self { sets: Some(Box::new(sets)), states: Vec::new() };
        this.read();
        Ok(this)
    }

    /// Where the bodies are and how they move, in the order they were given.
    pub fn bodies(&self) -> &[BodyState] {
        &self.states
    }

    /// Whether there is no body.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Where a body's own frame is.
    pub fn placement(&self, body: usize) -> Placement {
        let pose = self.sets.as_ref().map_or(Pose::IDENTITY, |sets| *sets.body(body).position());
        Placement { rotation: pose.rotation, translation: pose.translation, scale: 1.0 }
    }

    /// Centre of mass of a body in its own frame [m].
    pub fn local_centre(&self, body: usize) -> DVec3 {
        self.sets.as_ref().map_or(DVec3::ZERO, |sets| sets.body(body).local_center_of_mass())
    }

    /// Kinetic and gravitational energy of all bodies that are free [J].
    pub fn energy(&self) -> [f64; 2] {
        let mut energy = [0.0; 2];
        let Some(sets) = &self.sets else { return energy };
        for (index, state) in self.states.iter().enumerate() {
            let own = sets.body(index);
            if own.is_dynamic() {
                energy[0] += own.kinetic_energy();
                energy[1] -= own.mass() * sets.world.gravity.dot(state.centre);
            }
        }
        energy
    }

    /// Lets go the bodies whose time has come.
    pub fn release(&mut self, time: f64) {
        let Some(Sets { world, bodies, .. }) = self.sets.as_deref_mut() else { return };
        let mut released = false;
        for body in bodies.iter().filter(|body| body.release.is_some_and(|release| release <= time)) {
            // Asked first: touching a body marks it as changed.
            if !world.bodies[body.handle].is_dynamic()
                && let Some(own) = world.bodies.get_mut(body.handle)
            {
                own.set_body_type(RigidBodyType::Dynamic, true);
                own.set_linvel(body.velocity, true);
                own.set_angvel(body.spin, true);
                released = true;
            }
        }
        if released {
            self.read();
        }
    }

    /// Says where an obstacle that moves will be at the end of the next step.
    pub fn move_obstacle(&mut self, obstacle: usize, to: &Placement) {
        let Some(Sets { world, obstacles, .. }) = self.sets.as_deref_mut() else { return };
        if let Some(own) = obstacles.get(obstacle).and_then(|handle| world.bodies.get_mut(*handle)) {
            own.set_next_kinematic_position(pose(to));
        }
    }

    /// One step of `dt` seconds. Every body first takes over what it was given since the last one.
    pub fn step(&mut self, dt: f64, pushes: &[Push]) -> Result<(), PhysicsError> {
        let Some(Sets { world, bodies, .. }) = self.sets.as_deref_mut() else { return Ok(()) };
        if pushes.len() != bodies.len() {
            let (got, expected) = (pushes.len(), bodies.len());
            return Err(PhysicsError::Count { what: "pushes on rigid bodies", got, expected });
        }
        let lost = |body: &Free| PhysicsError::BodyNotFinite { body: body.name.clone() };
        for (body, push) in bodies.iter().zip(pushes) {
            if !(push.linear.is_finite() && push.angular.is_finite()) {
                return Err(lost(body));
            }
            if let Some(own) = world.bodies.get_mut(body.handle) {
                own.apply_impulse(push.linear, true);
                own.apply_torque_impulse(push.angular, true);
            }
        }
        world.integration_parameters.dt = dt;
        world.step();
        let disabled = world.quarantine().bodies();
        if let Some(body) = bodies.iter().find(|body| disabled.contains(&body.handle)) {
            return Err(lost(body));
        }
        self.read();
        let bodies = self.sets.iter().flat_map(|sets| &sets.bodies);
        match bodies.zip(&self.states).find(|(_, state)| !state.is_finite() || state.centre.length() > FARTHEST) {
            Some((body, _)) => Err(lost(body)),
            None => Ok(()),
        }
    }

    /// Everything that the next step depends on, as bytes.
    pub fn snapshot(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("rapier's sets can be written to memory")
    }

    /// Goes on from a snapshot of a world with the same bodies and obstacles.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), PhysicsError> {
        match postcard::take_from_bytes::<Self>(bytes) {
            Ok((saved, [])) if saved.fits(self) => {
                *self = saved;
                Ok(())
            }
            _ => Err(PhysicsError::Snapshot { bytes: bytes.len() }),
        }
    }

    /// Whether both have the same bodies and obstacles.
    pub fn fits(&self, other: &Self) -> bool {
        match (&self.sets, &other.sets) {
            (None, None) => true,
            (Some(own), Some(other)) => {
                let names = |sets: &Sets| sets.bodies.iter().map(|body| body.name.clone()).collect::<Vec<_>>();
                names(own) == names(other) && own.obstacles.len() == other.obstacles.len()
            }
            _ => false,
        }
    }

    /// Takes the bodies' states from rapier's.
    fn read(&mut self) {
        let Some(sets) = &self.sets else { return };
        self.states.clear();
        self.states.extend((0..sets.bodies.len()).map(|body| sets.state(body)));
    }
}

impl Surface {
    fn check(self) -> Result<Self, PhysicsError> {
        check("friction of a body", self.friction, "from 0 to 100", |x| (0.0..=100.0).contains(&x))?;
        check("restitution of a body", self.restitution, "from 0 to 1", |x| (0.0..=1.0).contains(&x))?;
        Ok(self)
    }
}

fn pose(placement: &Placement) -> Pose {
    Pose::from_parts(placement.translation, placement.rotation)
}
