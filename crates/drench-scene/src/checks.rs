//! Checks that need more than one section.

use crate::diagnostics::Problem;
use crate::expression::Expression;
use crate::form::Reader;
use crate::spec::{Motion, Scene};
use crate::tree::{Node, Place, Table};
use std::collections::{BTreeMap, BTreeSet};

/// Times at which motions are tried.
const TRIALS: u32 = 2000;
/// Further away than this nothing is simulated [m].
const FARTHEST: f64 = 1e6;

/// Looks at the tree where it can, so that errors elsewhere do not hide these; `scene` is there if everything could be read.
pub(crate) fn check(scene: Option<&Scene>, root: &Node, reader: &mut Reader) {
    parents(root, reader);
    names(root, reader);
    collision_exceptions(root, reader);
    if let Some(scene) = scene {
        motions(scene, root, reader);
        voxels(scene, root, reader);
    }
}

/// Parents must not go in a circle.
fn parents(root: &Node, reader: &mut Reader) {
    let solids = root.as_table().and_then(|table| table.get("solid")).map_or(&[][..], Node::items);
    let link = |solid: &'_ Node| {
        let solid = solid.as_table()?;
        let parent = solid.get("parent")?;
        Some((solid.name()?.to_owned(), (parent.as_text()?.to_owned(), parent.place)))
    };
    let links: BTreeMap<String, (String, Place)> = solids.iter().filter_map(link).collect();
    // Solids whose chain of parents is known; a circle is told when its first solid is met.
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for name in links.keys() {
        let mut chain: Vec<&str> = Vec::new();
        let mut at = name.as_str();
        while let Some((parent, place)) = links.get(at).filter(|_| known.insert(at)) {
            chain.push(at);
            if let Some(start) = chain.iter().position(|link| link == parent) {
                let message = format!("parents go in a circle: {} -> {parent}", chain[start..].join(" -> "));
                let key = format!("solid.{at}.parent");
                reader.problems.push(Problem {
                    place: Some(*place),
                    key,
                    message,
                    help: "leave out one `parent`".into(),
                });
            }
            at = parent;
        }
    }
}

/// What has figures of its own in the statistics has a name of its own, and rigid bodies carry nothing.
fn names(root: &Node, reader: &mut Reader) {
    let items = |kind: &str| root.as_table().and_then(|table| table.get(kind)).map_or(&[][..], Node::items);
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for kind in ["groom", "cord", "solid"] {
        for item in items(kind).iter().filter_map(Node::as_table) {
            if kind == "solid" && item.get("body").is_none() {
                continue;
            }
            let Some(name) = item.name() else { continue };
            match seen.get(name) {
                Some(other) if *other != kind => {
                    let place = item.get("name").map(|node| node.place);
                    let message = format!("a {other} is named `{}` too", crate::tree::shorten(name));
                    let help = "their figures go by their names: give each a name of its own".into();
                    reader.problems.push(Problem { place, key: format!("{kind}.{name}.name"), message, help });
                }
                _ => {
                    seen.insert(name, kind);
                }
            }
        }
    }
    for kind in ["cord", "solid"] {
        for (index, item) in items(kind).iter().enumerate() {
            let Some(like) = item.as_table().and_then(|table| table.get("like")) else { continue };
            let named = |other: &Node| other.as_table().and_then(Table::name) == like.as_text();
            if !items(kind)[..index].iter().any(named) && items(kind)[index..].iter().any(named) {
                let name = item.as_table().and_then(Table::name).unwrap_or_default();
                let message = format!("`like` must name a {kind} that stands above it");
                let help =
                    format!("move it below [[{kind}]] `{}`", crate::tree::shorten(like.as_text().unwrap_or_default()));
                let key = format!("{kind}.{name}.like");
                reader.problems.push(Problem { place: Some(like.place), key, message, help });
            }
        }
    }
    for solid in items("solid").iter().filter_map(Node::as_table) {
        let Some(parent) = solid.get("parent") else { continue };
        if parent.as_text().is_some_and(|parent| seen.get(parent) == Some(&"solid")) {
            let key = format!("solid.{}.parent", solid.name().unwrap_or_default());
            let message = "a rigid body cannot carry another solid".into();
            let help = "tie the two with a [[cord]], or make them one mesh".into();
            reader.problems.push(Problem { place: Some(parent.place), key, message, help });
        }
    }
}

/// Who is excepted from collisions must exist.
fn collision_exceptions(root: &Node, reader: &mut Reader) {
    let get = |key: &str| root.as_table().and_then(|table| table.get(key));
    let bodies = ["groom", "cord"].into_iter().filter_map(get).flat_map(Node::items);
    let names: BTreeSet<&str> = bodies.filter_map(|body| body.as_table()?.name()).collect();
    let except = get("collision").and_then(Node::as_table).and_then(|table| table.get("except"));
    for node in except.map_or(&[][..], Node::items) {
        if let Some(name) = node.as_text().filter(|name| !names.contains(name)) {
            reader.problems.push(Problem {
                place: Some(node.place),
                key: "collision.except".into(),
                message: format!("there is no groom or cord called `{name}`"),
                help: "leave it out, or give the name of a groom or cord".into(),
            });
        }
    }
}

/// Formulas of motion must give numbers over the whole run.
fn motions(scene: &Scene, root: &Node, reader: &mut Reader) {
    let trials = scene.simulation.frames.saturating_mul(scene.simulation.substeps).min(TRIALS);
    let times: Vec<f64> = (0..=trials).map(|i| scene.duration() * f64::from(i) / f64::from(trials)).collect();
    for (index, solid) in scene.solids.iter().enumerate() {
        let Motion::Expressions { position, rotation } = &solid.motion else { continue };
        for (key, formulas) in [("position", position), ("rotation", rotation)] {
            for (axis, formula) in formulas.iter().enumerate() {
                if let Some(message) = times.iter().find_map(|time| problem(formula, *time)) {
                    let place = motion_place(root, index, key, axis);
                    let key = format!("solid.{}.motion.{key}", solid.name);
                    let help = "a motion must be a number of sensible size during the whole run".into();
                    reader.problems.push(Problem { place, key, message, help });
                }
            }
        }
    }
}

/// Voxels across which wet hair reaches at most, and particles of its liquid: every vertex and every particle looks at all of them.
const WIDEST: f64 = 16.0;

/// Hair must fit into the voxels in which it gets wet, and these must not be small against what reaches across them.
fn voxels(scene: &Scene, root: &Node, reader: &mut Reader) {
    if scene.grooms.iter().all(|groom| groom.wet.is_none()) {
        return;
    }
    let edge = scene.voxel();
    let wetting = root.as_table().and_then(|table| table.get("wetting"));
    let given = |key: &str| wetting?.as_table()?.get(key);
    for groom in scene.grooms.iter().filter(|groom| groom.wet.is_some() && groom.root_radius > edge) {
        let radius = groom.root_radius;
        reader.problems.push(Problem {
            place: given("voxel").map(|node| node.place),
            key: "wetting.voxel".into(),
            message: format!(
                "voxels of {edge} m are smaller than the radius of the hair of groom `{}`, {radius} m",
                groom.name
            ),
            help: format!("make `voxel` at least {radius}, or `root_radius` smaller"),
        });
    }
    let spacing = scene.liquid.as_ref().map(|liquid| liquid.spacing);
    let wide = [("reach", "wet strands cling across", scene.wetting.reach)].into_iter();
    let wide = wide.chain(spacing.map(|spacing| ("voxel", "particles of the liquid are apart by", spacing)));
    for (key, what, length) in wide.filter(|(_, _, length)| *length > WIDEST * edge) {
        let place = given(key).or(given("voxel")).or(wetting).map(|node| node.place);
        let message = format!("{what} {length} m, more than {WIDEST} voxels of {edge} m");
        let help = match key {
            "reach" => format!("make `reach` at most {} m, or `voxel` at least {} m", WIDEST * edge, length / WIDEST),
            _ => format!("make `voxel` at least {} m", length / WIDEST),
        };
        reader.problems.push(Problem { place, key: format!("wetting.{key}"), message, help });
    }
}

fn problem(formula: &Expression, time: f64) -> Option<String> {
    match formula.evaluate_finite(&[time]) {
        Err(error) => Some(error.to_string()),
        Ok(value) if value.abs() > FARTHEST => Some(format!("the expression gives {value:e} at t = {time}")),
        Ok(_) => None,
    }
}

fn motion_place(root: &Node, solid: usize, key: &str, axis: usize) -> Option<Place> {
    let get = |table: &Table, key: &str| table.get(key).cloned();
    let solid = get(root.as_table()?, "solid")?.items().get(solid)?.clone();
    let formulas = get(get(solid.as_table()?, "motion")?.as_table()?, key)?;
    Some(formulas.items().get(axis).unwrap_or(&formulas).place)
}
