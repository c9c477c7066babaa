//! `[groom.strand]`, `[groom.pbd]`, `[groom.dftl]`, `[groom.csm]` and `[interaction]`

use crate::declare::{defaults, section, tagged, words};
use crate::form::{Form, Reader, count, either, quantity, word};
use crate::tree::{Place, Table};
use crate::units::{DENSITY, LENGTH, PRESSURE, RATE, RATIO};

section! {
    /// What strands are made of, and the model that moves them. The defaults are those of human hair.
    pub struct Strand {
        /// The model that moves the strands: one word to change.
        pub model: StrandModel = word().or(StrandModel::Dftl),
        /// Density of the fibre [kg/m3].
        pub density: f64 = quantity(DENSITY).above(0.0).at_most(1e5).or(1320.0),
        /// Young's modulus of the fibre [Pa].
        pub youngs_modulus: f64 = quantity(PRESSURE).at_least(0.0).at_most(1e13).or(3.9e9),
        /// Multiplier of the bending stiffness that keeps the groomed shape: 0 is limp, 1 physical.
        pub shape: f64 = quantity(RATIO).at_least(0.0).at_most(1e6).or(1.0),
        /// Damping ratio of the groomed shape's springing back: 1 does not overshoot.
        pub shape_damping: f64 = quantity(RATIO).at_least(0.0).at_most(100.0).or(0.1),
        /// Damping of all motion [1/s].
        pub damping: f64 = quantity(RATE).at_least(0.0).at_most(1e4).or(0.0),
        /// Friction with other strands, instead of that of `[interaction]`.
        pub friction: Option<f64> = quantity(RATIO).fraction().optional_as("that of [interaction]"),
        /// Repulsion from other strands, instead of that of `[interaction]`.
        pub repulsion: Option<f64> = quantity(RATIO).at_least(0.0).at_most(1e6).optional_as("that of [interaction]"),
        /// Distance that strands keep from solids [m].
        pub contact_radius: f64 = quantity(LENGTH).at_least(0.0).at_most(1.0).or(5e-4),
        /// What holds the far ends of the strands.
        pub tip: StrandTip = word().or(StrandTip::Free),
    }
    example r#"
[[groom]]
name = "hair"
on = "head"
faces = "scalp"
strands = 3000
length = "20 cm"

[groom.strand]
model = "dftl"
shape = 0.5
shape_damping = 0.5
"#
}

words! {
    /// The model that moves the strands.
    pub enum StrandModel {
        /// Dynamic follow-the-leader: no stretch in one pass [Mueller2012; Henne2013, 3.3].
        Dftl = "dftl",
        /// Position-based dynamics: iterated distance constraints [Mueller2007; Henne2013, 3.2].
        Pbd = "pbd",
        /// Chain shape matching: any stiffness, any style, at the same cost [Rungjiratananon2012, 4].
        Csm = "csm",
    }
}

words! {
    /// What holds the far ends of strands.
    pub enum StrandTip {
        /// Nothing.
        Free = "free",
        /// The solid that they grow on, where the groom has them: hair that is tied up, loops, strings. Not with `dftl`.
        Held = "held",
    }
}

section! {
    /// Settings of position-based dynamics.
    pub struct Pbd {
        /// Passes over the distance constraints per step: a number, or a table that adapts it to the stretch.
        pub iterations: Iterations = either(
            count(1u32, 100_000),
            |count| Iterations::Fixed { count },
            |iterations| match iterations {
                Iterations::Fixed { count } => Some(*count),
                Iterations::Adaptive { .. } => None,
            },
        ).or(Iterations::Fixed { count: 8 }),
        /// Over-relaxation: every correction is multiplied by it. Above 1.7 it becomes unstable [Henne2013, 3.4.1].
        pub relaxation: f64 = quantity(RATIO).above(0.0).below(2.0).or(1.65),
        /// How mass is spread along a strand.
        pub mass: MassLaw = word().or(MassLaw::Even),
        /// By which fraction segments may be longer or shorter than at rest: what the passes leave beyond that is solved for directly. 10 leaves strands as the passes do.
        pub strain_limit: f64 = quantity(RATIO).above(0.0).at_most(10.0).or(0.04),
    }
    check check_pbd
    example r#"
[[groom]]
name = "rope"
on = "head"
at = [[0, 1, 0]]
length = "1 m"
strand = { model = "pbd" }
pbd = { iterations = { kind = "adaptive", stretch = "1 %" }, relaxation = 1.6 }
"#
}

fn check_pbd(pbd: &Pbd, table: &Table, place: Place, reader: &mut Reader) -> Option<()> {
    if let Iterations::Adaptive { least, most, .. } = pbd.iterations
        && least > most
    {
        let at = table.get("iterations").map_or(place, |node| node.place);
        reader.error(at, format!("`least` is {least}, but `most` is {most}"), "make `most` at least `least`");
    }
    Some(())
}

tagged! {
    /// Passes over the distance constraints.
    pub enum Iterations {
        /// Always the same number.
        Fixed as "fixed" {
            /// Passes per step.
            count: u32 = count(1u32, 100_000).required(),
        },
        /// As many as the stretch needs.
        Adaptive as "adaptive" {
            /// Stretch at which it stops: 0.01 is 1 % longer than at rest.
            stretch: f64 = quantity(RATIO).above(0.0).at_most(10.0).or(0.01),
            /// What that is the stretch of.
            of: StretchOf = word().or(StretchOf::Strand),
            /// At least this many passes; fewer than 4 overshoot.
            least: u32 = count(1u32, 100_000).or(4u32),
            /// At most this many passes.
            most: u32 = count(1u32, 100_000).or(200u32),
        },
    }
}

words! {
    /// What a stretch is measured on.
    pub enum StretchOf {
        /// The whole strand.
        Strand = "strand",
        /// Its most stretched segment.
        Segment = "segment",
    }
}

words! {
    /// How mass is spread along a strand.
    pub enum MassLaw {
        /// Every particle weighs the same.
        Even = "even",
        /// Particle i weighs m / i, which converges in fewer passes.
        Uneven = "uneven",
    }
}

section! {
    /// Settings of dynamic follow-the-leader.
    pub struct Dftl {
        /// Velocity correction s_damping: 1 hides the uneven mass but damps most; below 0.8 strands spin
        /// [Henne2013, 3.3].
        pub damping: f64 = quantity(RATIO).fraction().or(0.9),
    }
}

section! {
    /// Settings of chain shape matching. Without `half_width` and `stiffness_index` strands are as stiff as the fibre: `youngs_modulus`, the radii
    /// and `shape` of the groom; `shape_damping` is not used.
    pub struct Csm {
        /// Half-width of the regions that keep their shape [vertices]: the stiffness. Any number, not only whole ones; 0 is limp.
        pub half_width: Option<f64> = quantity(RATIO).at_least(0.0).at_most(1000.0).optional_as("that of the fibre"),
        /// Half-width towards the tip, if it differs.
        pub tip_half_width: Option<f64> = quantity(RATIO).at_least(0.0).at_most(1000.0).optional_as("`half_width`"),
        /// Where along the strand the half-width begins to change to that of the tip: 0 at the root, 1 at the tip.
        pub change_from: f64 = quantity(RATIO).fraction().or(0.4),
        /// Where it has changed.
        pub change_to: f64 = quantity(RATIO).fraction().or(0.6),
        /// Stiffness index, instead of `half_width`: distance of the legs of a strand of the groom that hangs by its middle over a hook with 0.1 g on each end [m]. `drench check` tells the half-width, and which
        /// segment lengths go with others.
        pub stiffness_index: Option<f64> = quantity(LENGTH).at_least(0.0).at_most(10.0).optional(),
        /// Vertices that are held at the root: 1 is a hinge, 2 hold the direction, 0 is a loose strand.
        pub clamped: u32 = count(0u32, 100).or(2u32),
        /// By which fraction segments may be longer or shorter than at rest.
        pub strain_limit: f64 = quantity(RATIO).at_least(0.0).at_most(0.99).or(0.0),
        /// Share of the way to the goals that is gone in 10 ms: less than 1 is softer.
        pub relaxation: f64 = quantity(RATIO).fraction().or(1.0),
    }
    check check_csm
    example r#"
[[groom]]
name = "hair"
on = "head"
faces = "scalp"
strands = 3000
length = "20 cm"
vertices = 20
strand = { model = "csm" }

[groom.csm]
half_width = 2
tip_half_width = 6
"#
}

fn check_csm(csm: &Csm, table: &Table, place: Place, reader: &mut Reader) -> Option<()> {
    let at = |key: &str| table.get(key).map_or(place, |node| node.place);
    if csm.stiffness_index.is_some() && (csm.half_width.is_some() || csm.tip_half_width.is_some()) {
        let message = "`stiffness_index` and a half-width both say how stiff strands are";
        reader.error(at("stiffness_index"), message, "keep one of them");
    }
    if csm.tip_half_width.is_some() && csm.half_width.is_none() {
        reader.error(at("tip_half_width"), "`tip_half_width` without `half_width`", "add half_width = 2");
    }
    if csm.change_from > csm.change_to {
        let message = format!("the change begins at {} but ends at {}", csm.change_from, csm.change_to);
        reader.error(at("change_to"), message, "make `change_to` at least `change_from`");
    }
    Some(())
}

section! {
    /// How strands feel each other: friction and repulsion on a grid [Henne2013, 4].
    pub struct Interaction {
        /// Cell of the grid [m].
        pub cell: f64 = quantity(LENGTH).at_least(1e-5).at_most(100.0).or(0.01),
        /// Share of the difference to the velocities around that is lost in 10 ms.
        pub friction: f64 = quantity(RATIO).fraction().or(0.05),
        /// How strongly strands are pushed out of crowded cells: with the plain gradient a pressure over density [m2/s2], with the
        /// normalised one the displacement by a step of 10 ms, in cells.
        pub repulsion: f64 = quantity(RATIO).at_least(0.0).at_most(1e6).or(0.01),
        /// The direction in which they are pushed.
        pub gradient: Gradient = word().or(Gradient::Plain),
        /// Density of a solid's surface in the grid, in strands per cell, so that strands are pushed off it too.
        pub boundary: Option<f64> = quantity(RATIO).at_least(0.0).at_most(1e9).optional_as("solids are not in the grid"),
        /// How the grid is kept in memory; the result is the same.
        pub storage: Storage = word().or(Storage::Automatic),
    }
    example r#"
[interaction]
cell = "1 cm"
friction = 0.1
"#
}

words! {
    /// The direction of repulsion.
    pub enum Gradient {
        /// Along the gradient of density, in proportion to it.
        Plain = "plain",
        /// Along the gradient of density, everywhere equally strong.
        Normalised = "normalised",
    }
}

words! {
    /// How a grid is kept in memory.
    pub enum Storage {
        /// A dense array where it fits, otherwise sparse.
        Automatic = "automatic",
        /// A dense array.
        Dense = "dense",
        /// Only the cells that hold something.
        Sparse = "sparse",
    }
}

defaults!(Strand, Pbd, Dftl, Csm, Interaction);
