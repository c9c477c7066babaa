//! Where a prim is: `xformOpOrder` names transforms, the outermost first; a matrix of ours has columns where theirs has rows.

use super::layer::{Prim, Value};
use glam::{DMat4, DQuat, DVec3};

/// The transform from a prim to the world, or to what `parent` leads to.
pub fn world(prim: &Prim, parent: DMat4) -> Result<DMat4, String> {
    let mut matrix = parent;
    let order = prim.values.get("xformOpOrder").map_or(&[][..], |order| &order.words);
    for name in order {
        if name == "!resetXformStack!" {
            matrix = DMat4::IDENTITY;
            continue;
        }
        let (name, back) = name.strip_prefix("!invert!").map_or((name.as_str(), false), |name| (name, true));
        // What has no value moves nothing.
        let Some(value) = prim.values.get(name).filter(|value| !value.numbers.is_empty()) else { continue };
        let step = operation(name, value).ok_or_else(|| format!("'{name}' is no transform that is known"))?;
        matrix *= if back { step.inverse() } else { step };
    }
    if matrix.is_finite() { Ok(matrix) } else { Err("its transform is not finite".to_owned()) }
}

/// One transform, such as `xformOp:rotateXYZ:pivot`.
fn operation(name: &str, value: &Value) -> Option<DMat4> {
    let kind = name.strip_prefix("xformOp:")?.split(':').next()?;
    let numbers = value.numbers.as_slice();
    let along = |axis: &str, x: f64, rest: f64| match axis {
        "X" => Some(DVec3::new(x, rest, rest)),
        "Y" => Some(DVec3::new(rest, x, rest)),
        "Z" => Some(DVec3::new(rest, rest, x)),
        _ => None,
    };
    let turn = |axis: char, degrees: f64| match axis {
        'X' => Some(DQuat::from_rotation_x(degrees.to_radians())),
        'Y' => Some(DQuat::from_rotation_y(degrees.to_radians())),
        'Z' => Some(DQuat::from_rotation_z(degrees.to_radians())),
        _ => None,
    };
    match (kind, numbers) {
        ("transform", numbers) => Some(DMat4::from_cols_array(numbers.try_into().ok()?)),
        ("translate", &[x, y, z]) => Some(DMat4::from_translation(DVec3::new(x, y, z))),
        ("scale", &[x, y, z]) => Some(DMat4::from_scale(DVec3::new(x, y, z))),
        ("orient", &[w, x, y, z]) => {
            let turn = DQuat::from_xyzw(x, y, z, w);
            (turn.length_squared() > 0.0).then(|| DMat4::from_quat(turn.normalize()))
        }
        (_, &[x]) => match kind.split_at_checked(kind.len().checked_sub(1)?)? {
            ("translate", axis) => along(axis, x, 0.0).map(DMat4::from_translation),
            ("scale", axis) => along(axis, x, 1.0).map(DMat4::from_scale),
            ("rotate", axis) => turn(axis.chars().next()?, x).map(DMat4::from_quat),
            _ => None,
        },
        // About the axis that is named first, first.
        (_, &[x, y, z]) => {
            let axes = kind.strip_prefix("rotate").filter(|axes| axes.len() == 3)?;
            let mut turned = DQuat::IDENTITY;
            for axis in axes.chars() {
                turned = turn(axis, [x, y, z]["XYZ".find(axis)?])? * turned;
            }
            Some(DMat4::from_quat(turned))
        }
        _ => None,
    }
}
