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
use rapier3d_f64::dynamics::{FrictionModel, IntegrationParameters, RigidBodyBuilder, RigidBodyHandle, RigidBodyType};
use rapier3d_f64::geometry::ColliderBuilder;
use rapier3d_f64::parry::math::Pose;
use rapier3d_f64::pipeline::PhysicsWorld;

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
pub struct RigidWorld {
    /// Everything that a snapshot holds.
    world: PhysicsWorld,
    bodies: Vec<Free>,
    obstacles: Vec<RigidBodyHandle>,
    states: Vec<BodyState>,
}

/// What is known about a body apart from its state.
#[derive(Clone, Debug)]
struct Free {
    name: String,
    handle: RigidBodyHandle,
    velocity: DVec3,
    spin: DVec3,
    release: Option<f64>,
}

impl std::fmt::Debug for RigidWorld {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RigidWorld").field("bodies", &self.bodies).field("states", &self.states).finish_non_exhaustive()
    }
}

impl Default for RigidWorld {
    /// A world without bodies, in which nothing happens.
    fn default() -> Self {
        Self { world: PhysicsWorld::new(), bodies: Vec::new(), obstacles: Vec::new(), states: Vec::new() }
    }
}

impl RigidWorld {
    /// A world with these bodies and obstacles under a gravity [m/s2].
    pub fn new(bodies: &[Body], obstacles: &[Obstacle], gravity: DVec3) -> Result<Self, PhysicsError> {
        let mut this = Self::default();
        if bodies.is_empty() {
            return Ok(this);
        }
        this.world.gravity = gravity;
        let mut smallest = f64::INFINITY;
        for body in bodies {
            let extent = this.insert(body)?;
            smallest = smallest.min(extent);
        }
        for obstacle in obstacles {
            let collider = obstacle.shape.collider(obstacle.name)?;
            let kind = if obstacle.moves { RigidBodyType::KinematicPositionBased } else { RigidBodyType::Fixed };
            let own = RigidBodyBuilder::new(kind).pose(pose(&obstacle.placement));
            let touch = obstacle.surface.check()?;
            let shape = ColliderBuilder::new(collider).friction(touch.friction).restitution(touch.restitution);
            let (handle, _) = this.world.insert(own, shape);
            this.obstacles.push(handle);
        }
        this.world.integration_parameters = IntegrationParameters {
            // Tolerances go with the size of what is simulated.
            length_unit: smallest.clamp(1e-4, 1e3),
            normalized_max_linear_velocity: f64::MAX,
            // A contact that is kept although the bodies moved would depend on when it was last looked at.
            contact_recycling: false,
            // One friction constraint a contact plane: measured exact on a slope, where one a point loses 6 %.
            friction_model: FrictionModel::Simplified,
            ..IntegrationParameters::default()
        };
        this.read();
        Ok(this)
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
            shape = shape.collision_groups(rapier3d_f64::geometry::InteractionGroups::none());
        }
        let (handle, _) = self.world.insert(own, shape);
        if let Some(own) = self.world.bodies.get_mut(handle) {
            own.recompute_mass_properties_from_colliders(&self.world.colliders);
        }
        self.bodies.push(Free {
            name: body.name.to_owned(),
            handle,
            velocity: body.velocity,
            spin: body.spin,
            release: body.release,
        });
        Ok(extent)
    }

    /// Where the bodies are and how they move, in the order they were given.
    pub fn bodies(&self) -> &[BodyState] {
        &self.states
    }

    /// Whether there is no body.
    pub fn is_empty(&self) -> bool {
        self.bodies.is_empty()
    }

    /// Where a body's own frame is.
    pub fn placement(&self, body: usize) -> Placement {
        let pose = *self.world.bodies[self.bodies[body].handle].position();
        Placement { rotation: pose.rotation, translation: pose.translation, scale: 1.0 }
    }

    /// Centre of mass of a body in its own frame [m].
    pub fn local_centre(&self, body: usize) -> DVec3 {
        self.world.bodies[self.bodies[body].handle].local_center_of_mass()
    }

    /// Kinetic and gravitational energy of all bodies that are free [J].
    pub fn energy(&self) -> [f64; 2] {
        let mut energy = [0.0; 2];
        for (body, state) in self.bodies.iter().zip(&self.states) {
            let own = &self.world.bodies[body.handle];
            if own.is_dynamic() {
                energy[0] += own.kinetic_energy();
                energy[1] -= own.mass() * self.world.gravity.dot(state.centre);
            }
        }
        energy
    }

    /// Lets go the bodies whose time has come.
    pub fn release(&mut self, time: f64) {
        for body in &self.bodies {
            if body.release.is_none_or(|release| release > time) {
                continue;
            }
            if let Some(own) = self.world.bodies.get_mut(body.handle).filter(|own| !own.is_dynamic()) {
                own.set_body_type(RigidBodyType::Dynamic, true);
                own.set_linvel(body.velocity, true);
                own.set_angvel(body.spin, true);
            }
        }
        self.read();
    }

    /// Says where an obstacle that moves will be at the end of the next step.
    pub fn move_obstacle(&mut self, obstacle: usize, to: &Placement) {
        if let Some(own) = self.world.bodies.get_mut(self.obstacles[obstacle]) {
            own.set_next_kinematic_position(pose(to));
        }
    }

    /// One step of `dt` seconds. Every body first takes over what it was given since the last one.
    pub fn step(&mut self, dt: f64, pushes: &[Push]) -> Result<(), PhysicsError> {
        if self.is_empty() {
            return Ok(());
        }
        if pushes.len() != self.bodies.len() {
            let (got, expected) = (pushes.len(), self.bodies.len());
            return Err(PhysicsError::Count { what: "pushes on rigid bodies", got, expected });
        }
        for (body, push) in self.bodies.iter().zip(pushes) {
            let Some(own) = self.world.bodies.get_mut(body.handle) else { continue };
            if !(push.linear.is_finite() && push.angular.is_finite()) {
                return Err(PhysicsError::BodyNotFinite { body: body.name.clone() });
            }
            own.apply_impulse(push.linear, true);
            own.apply_torque_impulse(push.angular, true);
        }
        self.world.integration_parameters.dt = dt;
        self.world.step();
        self.read();
        let lost = |(_, state): &(&Free, &BodyState)| !state.is_finite() || state.centre.length() > 1e9;
        if let Some((body, _)) = self.bodies.iter().zip(&self.states).find(lost) {
            return Err(PhysicsError::BodyNotFinite { body: body.name.clone() });
        }
        match self.world.quarantine().bodies().first() {
            Some(handle) => {
                let body = self.bodies.iter().find(|body| body.handle == *handle);
                let body = body.map_or_else(|| "an obstacle".to_owned(), |body| body.name.clone());
                Err(PhysicsError::BodyNotFinite { body })
            }
            None => Ok(()),
        }
    }

    /// Everything that the next step depends on, as bytes.
    pub fn snapshot(&self) -> Vec<u8> {
        if self.is_empty() {
            return Vec::new();
        }
        postcard::to_stdvec(&self.world).expect("rapier's sets can be written to memory")
    }

    /// Goes on from a snapshot of a world with the same bodies and obstacles.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), PhysicsError> {
        if self.is_empty() && bytes.is_empty() {
            return Ok(());
        }
        let damaged = PhysicsError::Snapshot { bytes: bytes.len() };
        let world: PhysicsWorld = postcard::from_bytes(bytes).map_err(|_| damaged.clone())?;
        let handles = self.bodies.iter().map(|body| body.handle).chain(self.obstacles.iter().copied());
        if world.bodies.len() != self.world.bodies.len() || handles.into_iter().any(|body| !world.bodies.contains(body))
        {
            return Err(damaged);
        }
        self.world = world;
        self.read();
        Ok(())
    }

    /// Takes the bodies' states from rapier's.
    fn read(&mut self) {
        let world = &self.world;
        self.states.clear();
        self.states.extend(self.bodies.iter().map(|body| {
            let own = &world.bodies[body.handle];
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
        }));
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
