//! `[liquid]` with its fills, emitters and drains, and the regions of space that grains share with it.

use super::LiquidShade;
use crate::declare::{section, tagged, words};
use crate::form::{Form, Reader, count, flattened, quantity, reference_to, table, tables, vector, word};
use crate::tree::{Place, Table};
use crate::units::{ANGLE, DENSITY, LENGTH, RATIO, SURFACE_TENSION, TIME, VELOCITY, VISCOSITY};
use glam::DVec3;

/// Speed that particles may begin with at most [m/s].
const FASTEST: f64 = 1e3;

section! {
    /// The liquid of the scene, made of particles. Where it is at the beginning is in `[[liquid.fill]]`, where it enters in
    /// `[[liquid.emitter]]`, where it leaves in `[[liquid.drain]]`.
    pub struct Liquid {
        /// What it is; density, viscosity and surface tension follow from it.
        pub material: LiquidMaterial = word().or(LiquidMaterial::Water),
        /// Density [kg/m3], instead of the material's.
        pub density: Option<f64> = quantity(DENSITY).at_least(1.0).at_most(1e5).optional_as("that of the material"),
        /// Viscosity [Pa s], instead of the material's.
        pub viscosity: Option<f64> = quantity(VISCOSITY).at_least(0.0).at_most(1e6).optional_as("that of the material"),
        /// Surface tension [N/m], instead of the material's.
        pub surface_tension: Option<f64> =
            quantity(SURFACE_TENSION).at_least(0.0).at_most(100.0).optional_as("that of the material"),
        /// Contact angle on solids [rad]: small on what it wets, above 90 degrees on what repels it.
        pub contact_angle: f64 = quantity(ANGLE).at_least(0.0).at_most(std::f64::consts::PI).or(60f64.to_radians()),
        /// How strongly solids hold the liquid that flows along them: 1 sticks, 0 slips.
        pub wall_friction: f64 = quantity(RATIO).fraction().or(1.0),
        /// Distance of particles at rest [m]: details smaller than a few of these are lost.
        pub spacing: f64 = quantity(LENGTH).at_least(1e-5).at_most(100.0).required(),
        /// How it is kept from being compressed.
        pub method: LiquidMethod = word().or(LiquidMethod::Dfsph),
        /// How viscosity is solved.
        pub viscosity_solver: ViscositySolver = word().or(ViscositySolver::Explicit),
        /// Mean compression at which the solver stops.
        pub density_error: f64 = quantity(RATIO).at_least(1e-8).at_most(0.1).or(1e-3),
        /// Mean change of density per step at which the solver stops.
        pub divergence_error: f64 = quantity(RATIO).at_least(1e-8).at_most(0.1).or(1e-3),
        /// Speed of sound with `mueller2003` [m/s]: a column of height h is compressed by g h over its square, and steps get shorter with it.
        pub speed_of_sound: Option<f64> =
            quantity(VELOCITY).at_least(0.1).at_most(1e4).optional_as("22.4 m/s: 1 % at a depth of half a metre"),
        /// Part of the spacing by which particles may pass their neighbours in a step; what flies freely goes 2.5 times as far, at most a whole one.
        pub cfl: f64 = quantity(RATIO).at_least(0.01).at_most(1.0).or(0.4),
        /// Longest step [s].
        pub longest_step: f64 = quantity(TIME).at_least(1e-7).at_most(1.0).or(5e-3),
        /// Where it is at the beginning.
        pub fills as "fill": Vec<LiquidFill> = tables(1000).or([]),
        /// Where it enters.
        pub emitters as "emitter": Vec<Emitter> = tables(1000).or([]),
        /// Where it leaves.
        pub drains as "drain": Vec<Drain> = tables(1000).or([]),
        /// How it looks.
        pub shade: LiquidShade = table().or(LiquidShade::default()),
    }
    check check_liquid
    example r#"
[liquid]
material = "water"
spacing = "8 mm"

[[liquid.fill]]
kind = "box"
low = [-0.5, 0, -0.2]
high = [0, 0.4, 0.2]

[[liquid.emitter]]
kind = "faucet"
position = [0.3, 0.8, 0]
radius = "2 cm"
speed = "2 m/s"
stop = "1.5 s"

[[liquid.drain]]
kind = "below"
height = -0.5
"#
}

fn check_liquid(liquid: &Liquid, table: &Table, place: Place, reader: &mut Reader) -> Option<()> {
    if liquid.fills.is_empty() && liquid.emitters.is_empty() {
        let help = "add [[liquid.fill]] or [[liquid.emitter]], or leave [liquid] out";
        reader.error(place, "nothing says where the liquid comes from", help);
    }
    let of = |key: &str| table.get(key).map_or(place, |node| node.place);
    match liquid.method {
        LiquidMethod::Mueller2003 if liquid.viscosity_solver == ViscositySolver::Implicit => reader.error(
            of("viscosity_solver"),
            "`mueller2003` solves viscosity explicitly",
            "leave `viscosity_solver` out, or use `method = \"dfsph\"`",
        ),
        LiquidMethod::Dfsph if liquid.speed_of_sound.is_some() => reader.error(
            of("speed_of_sound"),
            "`dfsph` is incompressible: there is no sound in it",
            "leave `speed_of_sound` out, or use `method = \"mueller2003\"`",
        ),
        _ => {}
    }
    let viscosity = liquid.viscosity;
    if liquid.viscosity_solver == ViscositySolver::Implicit && viscosity == Some(0.0) {
        reader.error(
            of("viscosity"),
            "there is no viscosity to solve implicitly",
            "leave `viscosity_solver` out, or give a viscosity",
        );
    }
    for drain in &liquid.drains {
        if let Drain::Box { low, high } | Drain::Outside { low, high } = *drain {
            check_box(low, high, of("drain"), reader);
        }
    }
    Some(())
}

words! {
    /// Liquids by name, at 20 degrees.
    pub enum LiquidMaterial {
        /// Water.
        Water = "water",
        /// Vegetable oil.
        Oil = "oil",
        /// Milk.
        Milk = "milk",
        /// Honey.
        Honey = "honey",
        /// Glycerine.
        Glycerine = "glycerine",
        /// Ethanol.
        Alcohol = "alcohol",
    }
}

words! {
    /// How a liquid is kept from being compressed.
    pub enum LiquidMethod {
        /// Divergence-free SPH [Bender2017]: incompressible.
        Dfsph = "dfsph",
        /// Pressure from an equation of state [Mueller2003]: springy, and in need of small steps.
        Mueller2003 = "mueller2003",
    }
}

words! {
    /// How viscosity is solved.
    pub enum ViscositySolver {
        /// Explicitly: thick liquids need small steps.
        Explicit = "explicit",
        /// Implicitly: stable at any viscosity.
        Implicit = "implicit",
    }
}

section! {
    /// Liquid that is there at the beginning. What lies inside a solid or an earlier fill is left out.
    pub struct LiquidFill {
        /// The region that it fills.
        pub region: Region = flattened(),
        /// Its velocity [m/s].
        pub velocity: DVec3 = vector(VELOCITY).or(DVec3::ZERO),
    }
    check check_liquid_fill
}

fn check_liquid_fill(fill: &LiquidFill, table: &Table, place: Place, reader: &mut Reader) -> Option<()> {
    check_fill(&fill.region, fill.velocity, table, place, reader);
    Some(())
}

tagged! {
    /// A region of space.
    pub enum Region {
        /// A box between two corners.
        Box as "box" {
            /// The corner with the smallest coordinates [m].
            low: DVec3 = vector(LENGTH).required(),
            /// The corner with the largest coordinates [m].
            high: DVec3 = vector(LENGTH).required(),
        },
        /// A ball.
        Ball as "ball" {
            /// Its centre [m].
            centre: DVec3 = vector(LENGTH).required(),
            /// Its radius [m].
            radius: f64 = quantity(LENGTH).above(0.0).at_most(1e4).required(),
        },
        /// An upright cylinder.
        Cylinder as "cylinder" {
            /// The middle of its foot [m].
            foot: DVec3 = vector(LENGTH).required(),
            /// Its radius [m].
            radius: f64 = quantity(LENGTH).above(0.0).at_most(1e4).required(),
            /// Its height [m].
            height: f64 = quantity(LENGTH).above(0.0).at_most(1e4).required(),
        },
        /// An upright cone: a heap.
        Cone as "cone" {
            /// The middle of its foot [m].
            foot: DVec3 = vector(LENGTH).required(),
            /// The radius of its foot [m].
            radius: f64 = quantity(LENGTH).above(0.0).at_most(1e4).required(),
            /// Its height [m].
            height: f64 = quantity(LENGTH).above(0.0).at_most(1e4).required(),
        },
        /// The inside of a solid as it is at the beginning. The solid itself must not collide.
        Solid as "solid" {
            /// The solid.
            solid: String = reference_to("solid").required(),
        },
    }
}

section! {
    /// Where liquid enters.
    pub struct Emitter {
        /// What it comes out of.
        pub outlet: Outlet = flattened(),
        /// The solid that carries it: position and direction are then in that solid's frame.
        pub on: Option<String> = reference_to("solid").optional_as("the world"),
        /// When it starts [s].
        pub start: f64 = quantity(TIME).at_least(0.0).at_most(1e9).or(0.0),
        /// When it stops [s].
        pub stop: Option<f64> = quantity(TIME).at_least(0.0).at_most(1e9).optional_as("never"),
    }
    check check_emitter
}

fn check_emitter(emitter: &Emitter, table: &Table, place: Place, reader: &mut Reader) -> Option<()> {
    check_span("emitter", emitter.start, emitter.stop, table, place, reader);
    let at = |key: &str| table.get(key).map_or(place, |node| node.place);
    if let Outlet::Rain { size, rate, velocity, .. } = emitter.outlet {
        if size.x <= 0.0 || size.z <= 0.0 {
            let message = format!("rain from a rectangle of {} m by {} m", size.x, size.z);
            reader.error(at("size"), message, "make the first and the third number larger than 0");
        }
        if rate > velocity.length() {
            let message = format!("rain of {rate} m/s that falls with {} m/s is denser than water", velocity.length());
            reader.error(at("rate"), message, "make `rate` smaller: a cloudburst of 100 mm an hour is 2.8e-5 m/s");
        }
    }
    Some(())
}

/// Something that stops must have started.
pub(super) fn check_span(what: &str, start: f64, stop: Option<f64>, table: &Table, place: Place, reader: &mut Reader) {
    if let Some(stop) = stop
        && stop <= start
    {
        let at = table.get("stop").map_or(place, |node| node.place);
        let message = format!("the {what} stops at {stop} s, before it starts at {start} s");
        reader.error(at, message, "make `stop` later than `start`");
    }
}

/// What is filled in has a place, and does not run away.
pub(super) fn check_fill(region: &Region, velocity: DVec3, table: &Table, place: Place, reader: &mut Reader) {
    let at = |key: &str| table.get(key).map_or(place, |node| node.place);
    if let Region::Box { low, high } = *region {
        check_box(low, high, at("low"), reader);
    }
    if velocity.length() > FASTEST {
        let message = format!("it begins at {:.3e} m/s", velocity.length());
        reader.error(at("velocity"), message, format!("make it {FASTEST} m/s at most"));
    }
}

fn check_box(low: DVec3, high: DVec3, at: Place, reader: &mut Reader) {
    if !low.cmplt(high).all() {
        reader.error(at, "the corner `low` is not below `high` in all three coordinates", "swap the numbers");
    }
}

tagged! {
    /// What liquid comes out of.
    pub enum Outlet {
        /// A round opening: faucet or hose.
        Faucet as "faucet" {
            /// The middle of the opening [m].
            position: DVec3 = vector(LENGTH).required(),
            /// The direction of the stream.
            direction: DVec3 = vector(RATIO).nonzero().or(DVec3::NEG_Y),
            /// Radius of the opening [m].
            radius: f64 = quantity(LENGTH).above(0.0).at_most(1e3).required(),
            /// Speed of the stream [m/s].
            speed: f64 = quantity(VELOCITY).above(0.0).at_most(1e3).required(),
        },
        /// A shower head: small openings spread over a disc.
        Shower as "shower" {
            /// The middle of the head [m].
            position: DVec3 = vector(LENGTH).required(),
            /// The direction in which it sprays.
            direction: DVec3 = vector(RATIO).nonzero().or(DVec3::NEG_Y),
            /// Radius of the head [m].
            radius: f64 = quantity(LENGTH).above(0.0).at_most(1e3).required(),
            /// Number of openings.
            openings: u32 = count(1u32, 100_000).or(40u32),
            /// Radius of an opening [m].
            opening: f64 = quantity(LENGTH).above(0.0).at_most(1.0).or(1e-3),
            /// Angle of the outermost jets to the direction [rad].
            spread: f64 = quantity(ANGLE).at_least(0.0).at_most(80f64.to_radians()).or(10f64.to_radians()),
            /// Speed of the jets [m/s].
            speed: f64 = quantity(VELOCITY).above(0.0).at_most(1e3).required(),
        },
        /// Drops that fall from a level rectangle.
        Rain as "rain" {
            /// The middle of the rectangle [m].
            position: DVec3 = vector(LENGTH).required(),
            /// Lengths of the rectangle along x and z; y is ignored [m].
            size: DVec3 = vector(LENGTH).required(),
            /// Height of water that falls on the ground per second [m/s].
            rate: f64 = quantity(VELOCITY).above(0.0).at_most(10.0).required(),
            /// Velocity of the drops [m/s].
            velocity: DVec3 = vector(VELOCITY).or(DVec3::new(0.0, -5.0, 0.0)),
        },
    }
}

tagged! {
    /// Where liquid leaves.
    pub enum Drain {
        /// Everywhere below a height.
        Below as "below" {
            /// The height [m].
            height: f64 = quantity(LENGTH).required(),
        },
        /// Inside a box.
        Box as "box" {
            /// The corner with the smallest coordinates [m].
            low: DVec3 = vector(LENGTH).required(),
            /// The corner with the largest coordinates [m].
            high: DVec3 = vector(LENGTH).required(),
        },
        /// Outside a box.
        Outside as "outside" {
            /// The corner with the smallest coordinates [m].
            low: DVec3 = vector(LENGTH).required(),
            /// The corner with the largest coordinates [m].
            high: DVec3 = vector(LENGTH).required(),
        },
    }
}
