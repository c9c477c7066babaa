//! `[[grains]]` and how they get wet.

use super::GrainShade;
use super::liquid::{Region, check_fill, check_span};
use crate::declare::{section, tagged, words};
use crate::form::{Form, Reader, flag, flattened, name_of, quantity, table, tables, vector, word};
use crate::tree::{Place, Table};
use crate::units::{ANGLE, DENSITY, LENGTH, RATE, RATIO, SURFACE_TENSION, TIME, VELOCITY};
use glam::DVec3;

section! {
    /// A body of grains: sand, gravel, beads. Grains of different bodies do not touch each other: give everything that
    /// meets to one body.
    pub struct Grains {
        /// Name.
        pub name: String = name_of("grains").required(),
        /// Mean radius of a grain [m].
        pub radius: f64 = quantity(LENGTH).at_least(1e-6).at_most(10.0).required(),
        /// Spread of radii over their mean: half the width of an even distribution, or a standard deviation.
        pub spread: f64 = quantity(RATIO).at_least(0.0).at_most(0.9).or(0.1),
        /// How radii are distributed.
        pub distribution: Distribution = word().or(Distribution::Even),
        /// Density of the grains themselves [kg/m3].
        pub density: f64 = quantity(DENSITY).at_least(1.0).at_most(1e5).or(2650.0),
        /// Coulomb friction between grains; on solids it is that of the solid.
        pub friction: f64 = quantity(RATIO).at_least(0.0).at_most(10.0).or(0.6),
        /// Rolling friction: how far off centre a contact pushes, over the radius.
        pub rolling_friction: f64 = quantity(RATIO).at_least(0.0).at_most(10.0).or(0.3),
        /// Restitution: what is left of the normal speed after a collision.
        pub restitution: f64 = quantity(RATIO).at_least(0.05).at_most(1.0).or(0.4),
        /// Overlap of two grains that meet at `speed`, over their radius: stiffness follows from it. Less is stiffer and slower.
        pub overlap: f64 = quantity(RATIO).above(0.0).at_most(0.5).or(0.1),
        /// The speed at which grains overlap by `overlap` [m/s].
        pub speed: f64 = quantity(VELOCITY).at_least(1e-6).at_most(1e3).or(1.0),
        /// Whether resting grains sleep, which is faster.
        pub sleep: bool = flag().or(true),
        /// Grains that are there at the beginning. What lies inside a solid or an earlier fill is left out.
        pub fills as "fill": Vec<GrainFill> = tables(1000).or([]),
        /// Grains that are poured in.
        pub pours as "pour": Vec<Pour> = tables(1000).or([]),
        /// How they get wet. Absent: they do not.
        pub wetness: Option<Wetness> = table().optional_as("they do not get wet"),
        /// How they look.
        pub shade: GrainShade = table().or(GrainShade::default()),
    }
    check check_grains
    example r#"
[[grains]]
name = "sand"
radius = "2 mm"
friction = 0.6

[[grains.fill]]
kind = "cone"
foot = [0, 0, 0]
radius = "20 cm"
height = "10 cm"

[grains.wetness]
downward = 8
"#
}

fn check_grains(grains: &Grains, table: &Table, place: Place, reader: &mut Reader) -> Option<()> {
    if grains.fills.is_empty() && grains.pours.is_empty() {
        let help = "add [[grains.fill]] or [[grains.pour]]";
        reader.error(place, "nothing says where the grains come from", help);
    }
    if grains.distribution == Distribution::Normal && grains.spread > 0.3 {
        let at = table.get("spread").map_or(place, |node| node.place);
        let message = format!("radii reach down to 1 - 3 x {} of the mean, which is no size", grains.spread);
        reader.error(at, message, "make `spread` at most 0.3, or the distribution even");
    }
    let fills = grains.fills.iter().map(|fill| fill.wetness).enumerate().map(|item| ("fill", item));
    let pours = grains.pours.iter().map(|pour| pour.wetness).enumerate().map(|item| ("pour", item));
    for (key, (index, wetness)) in fills.chain(pours).filter(|(_, (_, wetness))| *wetness > 0.0) {
        let item = table.get(key).and_then(|list| list.items().get(index)).map_or(place, |item| item.place);
        let at = table.get(key).and_then(|list| list.items().get(index)?.as_table()?.get("wetness"));
        let at = at.map_or(item, |node| node.place);
        match &grains.wetness {
            None => {
                let help = format!("add [grains.wetness], or leave `wetness` of the {key} out");
                reader.error(at, "grains that do not get wet cannot be wet", help);
            }
            // A little more is the rounding of a wetness that was meant to be the most.
            Some(law) if wetness * law.threshold > law.most * (1.0 + 1e-9) => {
                let most = law.most / law.threshold;
                let message = format!("a wetness of {wetness} is more than the grains can hold, which is {most}");
                reader.error(at, message, format!("make it at most {most}, or raise `most` of [grains.wetness]"));
            }
            Some(_) => {}
        }
    }
    Some(())
}

words! {
    /// How radii are distributed about their mean.
    pub enum Distribution {
        /// Evenly.
        Even = "even",
        /// Normally, cut at three standard deviations.
        Normal = "normal",
    }
}

section! {
    /// Grains that are there at the beginning. What lies inside a solid or an earlier fill is left out.
    pub struct GrainFill {
        /// The region that they fill.
        pub region: Region = flattened(),
        /// Their velocity [m/s].
        pub velocity: DVec3 = vector(VELOCITY).or(DVec3::ZERO),
        /// Their wetness, in parts of what makes a grain over-wet: 0 dry, 1 at the threshold.
        pub wetness: f64 = quantity(RATIO).at_least(0.0).at_most(10.0).or(0.0),
    }
    check check_grain_fill
}

fn check_grain_fill(fill: &GrainFill, table: &Table, place: Place, reader: &mut Reader) -> Option<()> {
    check_fill(&fill.region, fill.velocity, table, place, reader);
    Some(())
}

section! {
    /// Grains that are poured out of a round opening.
    pub struct Pour {
        /// The middle of the opening [m].
        pub position: DVec3 = vector(LENGTH).required(),
        /// The direction in which they leave.
        pub direction: DVec3 = vector(RATIO).nonzero().or(DVec3::NEG_Y),
        /// Radius of the opening [m].
        pub radius: f64 = quantity(LENGTH).above(0.0).at_most(1e3).required(),
        /// Their speed [m/s].
        pub speed: f64 = quantity(VELOCITY).above(0.0).at_most(1e3).or(0.5),
        /// Their wetness, in parts of what makes a grain over-wet.
        pub wetness: f64 = quantity(RATIO).at_least(0.0).at_most(10.0).or(0.0),
        /// When it starts [s].
        pub start: f64 = quantity(TIME).at_least(0.0).at_most(1e9).or(0.0),
        /// When it stops [s].
        pub stop: Option<f64> = quantity(TIME).at_least(0.0).at_most(1e9).optional_as("never"),
    }
    check check_pour
}

fn check_pour(pour: &Pour, table: &Table, place: Place, reader: &mut Reader) -> Option<()> {
    check_span("pour", pour.start, pour.stop, table, place, reader);
    Some(())
}

section! {
    /// How grains get wet [Rungjiratananon2012, 5]. Water in a grain is measured by the mass of the dry grain.
    pub struct Wetness {
        /// Water above which a grain is over-wet and passes it on, over its dry mass.
        pub threshold: f64 = quantity(RATIO).above(0.0).at_most(10.0).or(0.1),
        /// Water that a grain can hold, over its dry mass.
        pub most: f64 = quantity(RATIO).above(0.0).at_most(10.0).or(0.25),
        /// Water at which bridges have lost all strength and the heap flows, over the dry mass.
        pub fluidised: f64 = quantity(RATIO).above(0.0).at_most(10.0).or(0.22),
        /// Part of the water beside it that a grain takes in per second, as long as it fits [1/s].
        pub absorption: f64 = quantity(RATE).at_least(0.0).at_most(1e6).or(50.0),
        /// Part of the excess that goes to grains below, per second.
        pub downward: f64 = quantity(RATE).at_least(0.0).at_most(1e6).or(10.0),
        /// Part of the excess that goes to grains beside, per second.
        pub sideways: f64 = quantity(RATE).at_least(0.0).at_most(1e6).or(5.0),
        /// Part of the excess that goes to grains above, per second.
        pub upward: f64 = quantity(RATE).at_least(0.0).at_most(1e6).or(1.0),
        /// How much wetness at the threshold adds to the damping of collisions, over that of dry grains.
        pub damping: f64 = quantity(RATIO).at_least(0.0).at_most(1e3).or(1.0),
        /// How much wetness at the threshold adds to friction, over that of dry grains.
        pub friction: f64 = quantity(RATIO).at_least(0.0).at_most(1e3).or(0.5),
        /// Friction and rolling friction that are left where the heap flows, over those of dry grains: water carries the grains and
        /// keeps them apart.
        pub fluidised_friction: f64 = quantity(RATIO).fraction().or(0.5),
        /// The liquid bridges between wet grains.
        pub bridge: Bridge = table().or_as(Bridge::default(), "willett"),
        /// Radius of the sand that the grains stand for: bridges hold the heap as they would hold that sand, however coarse the grains are [m].
        pub stands_for: Option<f64> = quantity(LENGTH).at_least(1e-6).at_most(10.0).optional_as("the grains themselves"),
        /// Part of its radius that a grain loses at the threshold, as wet sand settles.
        pub shrink: f64 = quantity(RATIO).at_least(0.0).at_most(0.5).or(0.0),
        /// Part of its water that a grain loses to the air per second.
        pub evaporation: f64 = quantity(RATE).at_least(0.0).at_most(1e6).or(0.0),
    }
    check check_wetness
}

fn check_wetness(wetness: &Wetness, table: &Table, place: Place, reader: &mut Reader) -> Option<()> {
    let at = |key: &str| table.get(key).map_or(place, |node| node.place);
    if wetness.most < wetness.threshold {
        let message = format!("grains hold less ({}) than makes them over-wet ({})", wetness.most, wetness.threshold);
        reader.error(at("most"), message, "make `most` at least `threshold`");
    }
    if wetness.fluidised <= wetness.threshold {
        let message = format!("grains flow ({}) before they are over-wet ({})", wetness.fluidised, wetness.threshold);
        reader.error(at("fluidised"), message, "make `fluidised` larger than `threshold`");
    }
    if wetness.fluidised > wetness.most {
        let message = format!("grains never hold what makes them flow ({}), but {}", wetness.fluidised, wetness.most);
        reader.error(at("fluidised"), message, "make `fluidised` at most `most`");
    }
    Some(())
}

tagged! {
    /// The pull of liquid bridges between wet grains.
    pub enum Bridge {
        /// None.
        None as "none",
        /// The measured law [Willett2000], with the strength fading towards fluidisation.
        Willett as "willett" {
            /// Surface tension [N/m].
            surface_tension: f64 = quantity(SURFACE_TENSION).at_least(0.0).at_most(100.0).or(0.072),
            /// Contact angle on the grains [rad].
            contact_angle: f64 = quantity(ANGLE).at_least(0.0).below(90f64.to_radians()).or(0.0),
        },
        /// The empirical law [Rungjiratananon2012, eq. 5.6]: grains that part are held back in proportion to their speed.
        Empirical as "empirical" {
            /// Damping of parting grains at the wetness threshold below fluidisation [1/s].
            strength: f64 = quantity(RATE).at_least(0.0).at_most(1e6).or(100.0),
            /// Surface tension that bounds the force [N/m].
            surface_tension: f64 = quantity(SURFACE_TENSION).at_least(0.0).at_most(100.0).or(0.072),
        },
    }
}

impl Default for Bridge {
    fn default() -> Self {
        Self::Willett { surface_tension: 0.072, contact_angle: 0.0 }
    }
}
