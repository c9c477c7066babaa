//! Values of the scene as parameters of the physical models.

use crate::SimError;
use drench_physics::air::{Air, Wind};
use drench_physics::cords;
use drench_physics::interaction::{Gradient, Interaction, Storage};
use drench_physics::strands::{Material, Method, Tip, csm, dftl, pbd};
use drench_scene as scene;

/// The air at rest.
pub fn air(air: &scene::Air) -> Air {
    Air { density: air.density, viscosity: air.viscosity, drag: air.drag }
}

/// A wind.
pub fn wind(wind: &scene::Wind) -> Wind {
    match *wind {
        scene::Wind::Uniform { velocity } => Wind::Uniform { velocity },
        scene::Wind::Gusts { velocity, strength, period } => Wind::Gusts { velocity, strength, period },
        scene::Wind::Turbulent { velocity, speed, size } => Wind::Turbulent { velocity, speed, size },
    }
}

/// How strands feel each other.
pub fn interaction(interaction: &scene::Interaction) -> Result<Interaction, SimError> {
    let converted = Interaction {
        cell: interaction.cell,
        friction: interaction.friction,
        repulsion: interaction.repulsion,
        gradient: match interaction.gradient {
            scene::Gradient::Plain => Gradient::Plain,
            scene::Gradient::Normalised => Gradient::Normalised,
        },
        storage: match interaction.storage {
            scene::Storage::Automatic => Storage::Automatic,
            scene::Storage::Dense => Storage::Dense,
            scene::Storage::Sparse => Storage::Sparse,
        },
        ..Interaction::default()
    };
    converted.check().map_err(SimError::Interaction)?;
    Ok(converted)
}

/// What a groom's strands are made of.
pub fn material(strand: &scene::Strand) -> Material {
    Material {
        density: strand.density,
        youngs_modulus: strand.youngs_modulus,
        shape: strand.shape,
        shape_damping: strand.shape_damping,
        damping: strand.damping,
        contact_radius: strand.contact_radius,
    }
}

/// What holds the tips of a groom's strands.
pub fn tip(tip: scene::StrandTip) -> Tip {
    match tip {
        scene::StrandTip::Free => Tip::Free,
        scene::StrandTip::Held => Tip::Clamped,
    }
}

/// The method that moves a groom's strands.
pub fn method(groom: &scene::Groom) -> Method {
    match groom.strand.model {
        scene::StrandModel::Dftl => Method::Dftl(dftl::Parameters { damping: groom.dftl.damping }),
        scene::StrandModel::Csm => Method::Csm(chain_shape_matching(&groom.csm)),
        scene::StrandModel::Pbd => Method::Pbd(pbd::Parameters {
            iterations: match groom.pbd.iterations {
                scene::Iterations::Fixed { count } => pbd::Iterations::Fixed(count),
                scene::Iterations::Adaptive { stretch, of: scene::StretchOf::Strand, least, most } => {
                    pbd::Iterations::Strand { stretch, least, most }
                }
                scene::Iterations::Adaptive { stretch, of: scene::StretchOf::Segment, least, most } => {
                    pbd::Iterations::Segment { stretch, least, most }
                }
            },
            relaxation: groom.pbd.relaxation,
            mass: match groom.pbd.mass {
                scene::MassLaw::Even => pbd::MassLaw::Even,
                scene::MassLaw::Uneven => pbd::MassLaw::Uneven,
            },
            strain_limit: groom.pbd.strain_limit,
        }),
    }
}

/// What a cord is made of.
pub fn cord_material(material: &scene::CordMaterial) -> cords::CordMaterial {
    cords::CordMaterial {
        density: material.density,
        damping: material.damping,
        bending: match material.bending {
            scene::Bending::Regions { half_width: 0.0, .. } => cords::Bending::None,
            scene::Bending::Regions { half_width, .. } => cords::Bending::HalfWidth(half_width),
            scene::Bending::Modulus { modulus } => cords::Bending::Modulus(modulus),
        },
        goal_time: match material.bending {
            scene::Bending::Regions { time, .. } => time,
            scene::Bending::Modulus { .. } => csm::REFERENCE_STEP,
        },
        tension: curve(&material.tension),
        torsion: material.torsion.as_ref().map(|torsion| cords::Torsion {
            curve: curve(&torsion.curve()),
            damping: torsion.damping,
            lag: torsion.lag,
            half_width: torsion.half_width,
        }),
        torsion_profile: None,
        variation: material.variation,
        flick: material.flick,
        margin: material.margin,
    }
}

/// Stress over strain. Beyond the yield stress it rises a tenth as steeply unless the scene says otherwise.
fn curve(given: &scene::Curve) -> cords::Curve {
    let mut curve = cords::Curve::elastic(given.modulus);
    if let Some(stress) = given.yields {
        curve = curve.yielding_at(stress, given.plastic.unwrap_or(0.1 * given.modulus));
    }
    match given.rupture {
        Some(stress) => curve.tearing_at(stress),
        None => curve,
    }
}

fn chain_shape_matching(settings: &scene::Csm) -> csm::Parameters {
    let stiffness = match (settings.stiffness_index, settings.half_width) {
        (Some(index), _) => csm::Stiffness::Index(index),
        (None, Some(root)) => csm::Stiffness::HalfWidths(csm::HalfWidths {
            root,
            tip: settings.tip_half_width.unwrap_or(root),
            from: settings.change_from,
            to: settings.change_to,
        }),
        (None, None) => csm::Stiffness::Fibre,
    };
    csm::Parameters {
        stiffness,
        clamped: settings.clamped,
        strain_limit: settings.strain_limit,
        relaxation: settings.relaxation,
    }
}
