//! The keys of one scene that a user may turn while looking at it, each with what it may be.

use super::json::prose;
use crate::form::{Body, Description, FieldDescription, Kind, Presence, Section, to_json};
use crate::spec::Scene;
use crate::tree::{Data, Node, Table};
use serde_json::Value;

/// Tables that pictures or checks alone look at, wherever they are.
const TABLES: [&str; 9] = ["camera", "light", "sky", "ground", "render", "look", "expect", "shade", "size"];
/// Keys that name things or colour them.
const KEYS: [&str; 8] = ["name", "shows", "figure", "like", "colour", "roughness", "visible", "kind"];

/// A key of a scene and what it may be.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Key path, as `--set` takes it.
    pub path: String,
    /// Its value now, numbers in SI.
    pub value: Value,
    /// What it means.
    pub doc: String,
    /// What it is: a number of some kind, a word, ...
    pub wording: String,
    /// SI unit, or empty.
    pub unit: String,
    /// What it may be, in words; may be empty.
    pub range: String,
    /// Lowest value, where there is one; it may be excluded.
    pub low: Option<f64>,
    /// Highest value, where there is one; it may be excluded.
    pub high: Option<f64>,
    /// Whether only whole numbers will do.
    pub whole: bool,
    /// The words to choose from, if it is a choice.
    pub words: Vec<&'static str>,
}

/// Every key of a scene that has a value and changes what is simulated. Each can be set in [`Scene::to_toml`], where all
/// tables are written out; a scene as its author wrote it may lack the table that a key stands in.
pub fn parameters(scene: &Scene) -> Vec<Parameter> {
    let mut table = Table::default();
    scene.write(&mut table);
    let mut found = Vec::new();
    section(&Scene::describe(), &table, "", &mut found);
    found
}

fn section(description: &Description, table: &Table, path: &str, found: &mut Vec<Parameter>) {
    let fields = match &description.body {
        Body::Fields(fields) => fields,
        Body::Variants(variants) => {
            let word = table.get("kind").and_then(Node::as_text);
            match variants.iter().find(|variant| Some(variant.word) == word) {
                Some(variant) => &variant.fields,
                None => return,
            }
        }
    };
    for field in fields {
        if let (Presence::Flattened, Kind::Table(inner)) = (&field.presence, &field.kind) {
            section(inner, table, path, found);
        } else if let Some(node) = table.get(field.key)
            && !KEYS.contains(&field.key)
            && !TABLES.contains(&field.key)
        {
            let path = if path.is_empty() { field.key.to_owned() } else { format!("{path}.{}", field.key) };
            of_kind(&field.kind, field, node, path, found);
        }
    }
}

fn of_kind(kind: &Kind, field: &FieldDescription, node: &Node, path: String, found: &mut Vec<Parameter>) {
    match (kind, &node.data) {
        (Kind::Leaf { wording, range, schema, words }, data) => {
            let Some(value) = to_json(data) else { return };
            let number = schema.get("anyOf").and_then(|ways| ways.get(0)).unwrap_or(schema);
            let limit = |names: [&str; 2]| names.iter().find_map(|name| number.get(name)?.as_f64());
            let unit = wording.split_once('[').and_then(|(_, unit)| unit.strip_suffix(']')).unwrap_or_default();
            found.push(Parameter {
                path,
                value,
                doc: prose(field.doc),
                unit: unit.to_owned(),
                wording: wording.clone(),
                range: range.clone(),
                low: limit(["minimum", "exclusiveMinimum"]),
                high: limit(["maximum", "exclusiveMaximum"]),
                whole: number.get("type").is_some_and(|kind| kind == "integer"),
                words: words.iter().map(|(word, _)| *word).collect(),
            });
        }
        (Kind::Table(inner), Data::Table(table)) => section(inner, table, &path, found),
        (Kind::Tables(inner), Data::List(items)) => {
            for (index, item) in items.iter().enumerate() {
                let Some(table) = item.as_table() else { continue };
                // A name with a dot would be two steps of the path.
                let name = table.name().filter(|name| !name.contains('.'));
                let step = name.map_or_else(|| index.to_string(), str::to_owned);
                section(inner, table, &format!("{path}.{step}"), found);
            }
        }
        (Kind::Either(_, long), Data::Table(_)) => of_kind(long, field, node, path, found),
        (Kind::Either(short, _), _) => of_kind(short, field, node, path, found),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Source, builtin, load};

    fn of(name: &str, set: &[(String, String)]) -> Vec<Parameter> {
        let text = load(Source::Builtin(name.into()), None, &[]).unwrap().to_toml();
        let source = Source::Text { name: name.into(), text, directory: "".into() };
        parameters(&load(source, None, set).unwrap_or_else(|problems| panic!("{problems}")))
    }

    #[test]
    fn every_parameter_of_every_scene_can_be_set_to_what_it_is() {
        for scene in builtin::all() {
            let all = of(scene.name, &[]);
            let set: Vec<_> = all.iter().map(|p| (p.path.clone(), p.value.to_string())).collect();
            let again = of(scene.name, &set);
            assert_eq!(again, all, "{}", scene.name);
            for parameter in &all {
                assert!(!parameter.doc.is_empty(), "{}", parameter.path);
            }
        }
    }

    #[test]
    fn ranges_and_units_come_along() {
        let all = of("shower", &[]);
        let find = |path: &str| all.iter().find(|p| p.path == path).unwrap_or_else(|| panic!("{path}"));
        let substeps = find("simulation.substeps");
        assert_eq!((substeps.low, substeps.high, substeps.whole), (Some(1.0), Some(10_000.0), true));
        let length = find("groom.hair.length");
        assert_eq!((length.unit.as_str(), length.value.as_f64(), length.whole), ("m", Some(0.27), false));
        assert_eq!(find("liquid.emitter.0.speed").unit, "m/s");
        assert!(find("groom.hair.strand.model").words.contains(&"csm"));
        for prefix in ["camera.", "light.", "expect.", "render.", "groom.hair.shade"] {
            assert!(!all.iter().any(|p| p.path.starts_with(prefix)), "{prefix}");
        }
    }
}
