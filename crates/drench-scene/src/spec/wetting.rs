//! `[wetting]` and `[groom.wet]`: hair that gets wet.

use super::Curl;
use crate::declare::{defaults, section, tagged};
use crate::form::{Form, Reader, flag, quantity, table};
use crate::tree::{Place, Table};
use crate::units::{DIFFUSIVITY, LENGTH, RATE, RATIO, SURFACE_TENSION, TIME, VELOCITY};

/// Edge of a voxel over the spacing of the liquid, and the edge if there is none [m], where `voxel` is left out.
pub(super) const VOXEL_OVER_SPACING: f64 = 1.5;
pub(super) const VOXEL_ALONE: f64 = 5e-3;

section! {
    /// What wet hair has in common: the voxels in which it takes in liquid and passes water on, and how wet strands cling to each other
    /// [Rungjiratananon2012b]. Which hair gets wet is said by `[groom.wet]`.
    pub struct Wetting {
        /// Edge of a voxel [m].
        pub voxel: Option<f64> = quantity(LENGTH).at_least(1e-4).at_most(1.0).optional_as("1.5 times the spacing of the liquid, or 5 mm"),
        /// How the gaps between hairs that hold water are estimated.
        pub capillaries: Capillaries = table().or_as(Capillaries::default(), "spacing"),
        /// Diffusivity of water between hairs, along them [m2/s].
        pub along: f64 = quantity(DIFFUSIVITY).at_least(0.0).at_most(0.01).or(2e-4),
        /// Diffusivity across them [m2/s].
        pub across: f64 = quantity(DIFFUSIVITY).at_least(0.0).at_most(0.01).or(5e-5),
        /// How fast water around hairs is shared with others in the same voxel [1/s].
        pub level: f64 = quantity(RATE).at_least(0.0).at_most(1e6).or(5.0),
        /// How long hair holds more water than it can before it drips [s].
        pub delay: f64 = quantity(TIME).at_least(0.0).at_most(1e6).or(0.05),
        /// Speed at which drops leave the hair [m/s].
        pub kick: f64 = quantity(VELOCITY).at_least(0.0).at_most(100.0).or(0.1),
        /// Gap across which strands that are full of water cling to each other [m]; with less water it is less.
        pub reach: f64 = quantity(LENGTH).at_least(0.0).at_most(1.0).or(2e-3),
        /// How strongly they cling, for each length of strand [N/m].
        pub pull: f64 = quantity(SURFACE_TENSION).at_least(0.0).at_most(1e3).or(2e-5),
    }
    example r#"
[[groom]]
name = "hair"
on = "head"
strands = 2000
length = "20 cm"

[groom.wet]
inside = 0.35

[wetting]
voxel = "6 mm"
reach = "3 mm"
"#
}

tagged! {
    /// How the gaps between hairs that hold water are estimated.
    pub enum Capillaries {
        /// From the distance between hairs: the part of them that has a neighbour within `reach` shares water with it.
        Spacing as "spacing" {
            /// Distance between hairs within which they hold water [m].
            reach: f64 = quantity(LENGTH).above(0.0).at_most(1.0).or(1e-3),
        },
        /// All hair in voxels with two segments or more, the rule of [Rungjiratananon2012b, eq. 5].
        Count as "count",
    }
}

impl Default for Capillaries {
    fn default() -> Self {
        Self::Spacing { reach: 1e-3 }
    }
}

section! {
    /// How a groom gets wet. Capacities are measured by the mass of dry hair. A strand with children stands for them too.
    pub struct WetHair {
        /// Hairs that a strand stands for.
        pub hairs: Option<f64> = quantity(RATIO).above(0.0).at_most(1e6).optional_as("itself and its children"),
        /// Water that fits into the fibre: 0.3 to 0.45 for human hair.
        pub inside: f64 = quantity(RATIO).at_least(0.0).at_most(1.0).or(0.35),
        /// Water that fits between hairs that are close to each other.
        pub between: f64 = quantity(RATIO).at_least(0.0).at_most(100.0).or(0.8),
        /// Water that runs on hair before it drips.
        pub around: f64 = quantity(RATIO).at_least(0.0).at_most(100.0).or(1.2),
        /// How fast fibres fill with the water around them [1/s].
        pub soak: f64 = quantity(RATE).at_least(0.0).at_most(1e6).or(0.5),
        /// Diffusivity of water inside the fibre [m2/s].
        pub diffusion: f64 = quantity(DIFFUSIVITY).at_least(0.0).at_most(1.0).or(1e-6),
        /// Speed at which free water runs down a hanging strand [m/s].
        pub flow: f64 = quantity(VELOCITY).at_least(0.0).at_most(100.0).or(0.15),
        /// Part of the water around hair that dries per second.
        pub drying: f64 = quantity(RATE).at_least(0.0).at_most(1e6).or(0.0),
        /// Part of the water inside the fibre that dries per second, once there is none around it.
        pub fibre_drying: f64 = quantity(RATE).at_least(0.0).at_most(1e6).or(0.0),
        /// A towel. Absent: none.
        pub towel: Option<Towel> = table().optional_as("none"),
        /// Oil: how strongly dry hair repels water, 0 to 1. From 0.5 on it takes none in until the oil is worn off.
        pub repellent: f64 = quantity(RATIO).fraction().or(0.0),
        /// Part of the oil that wears off per second of contact with water.
        pub wear: f64 = quantity(RATE).at_least(0.0).at_most(1e6).or(0.5),
        /// Bending stiffness of hair whose fibres are full, over that of dry hair.
        pub stiffness: f64 = quantity(RATIO).at_least(0.0).at_most(1e3).or(0.4),
        /// Curls and waves of wet hair.
        pub curl: Option<Curl> = table().optional_as("those of dry hair"),
        /// Whether wet hair is straight.
        pub straight: bool = flag().or(false),
        /// How fast the shape follows the water inside the fibre [1/s].
        pub change: f64 = quantity(RATE).at_least(0.0).at_most(1e6).or(1.0),
        /// How full the fibres are at the beginning, 0 to 1.
        pub wetness: f64 = quantity(RATIO).fraction().or(0.0),
        /// How full the gaps between hairs are at the beginning, 0 to 1.
        pub dampness: f64 = quantity(RATIO).fraction().or(0.0),
    }
    check check_wet_hair
}

section! {
    /// A towel that takes water out of hair for a while.
    pub struct Towel {
        /// When it starts [s].
        pub start: f64 = quantity(TIME).at_least(0.0).at_most(1e9).required(),
        /// When it stops [s].
        pub stop: f64 = quantity(TIME).at_least(0.0).at_most(1e9).required(),
        /// Part of the water around hair that it takes per second.
        pub rate: f64 = quantity(RATE).at_least(0.0).at_most(1e6).or(2.0),
    }
}

fn check_wet_hair(wet: &WetHair, table: &Table, place: Place, reader: &mut Reader) -> Option<()> {
    let at = |key: &str| table.get(key).map_or(place, |node| node.place);
    if wet.straight && wet.curl.is_some() {
        reader.error(at("curl"), "wet hair cannot be straight and curled", "leave `straight` or `curl` out");
    }
    if wet.inside + wet.between + wet.around <= 0.0 {
        let help = "leave `wet` out, or make `inside`, `between` or `around` larger";
        reader.error(place, "the hair has no room for water", help);
    }
    if let Some(towel) = &wet.towel
        && towel.stop <= towel.start
    {
        let message = format!("the towel stops at {} s, before it starts at {} s", towel.stop, towel.start);
        reader.error(at("towel"), message, "make `stop` later than `start`");
    }
    Some(())
}

defaults!(Wetting);
