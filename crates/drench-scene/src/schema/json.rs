//! The JSON Schema (draft 2020-12) of scene files.

use crate::form::{Body, Description, FieldDescription, Kind, Presence, Section};
use crate::load::Size;
use crate::spec::Scene;
use serde_json::{Map, Value, json};

/// The JSON Schema of a scene file, for completion and checking in editors.
pub fn json_schema() -> Value {
    let mut definitions = Map::new();
    let mut schema = section(&Scene::describe(), &mut definitions);
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "Drench scene".into();
    let sizes = Size::ALL.iter().map(|size| (size.word().to_owned(), json!({ "type": "object" })));
    schema["properties"]["size"] = json!({
        "type": "object",
        "description": "Keys that differ by size: key path = value.",
        "properties": sizes.collect::<Map<_, _>>(),
        "additionalProperties": false,
    });
    schema["$defs"] = Value::Object(definitions);
    schema
}

/// Keys of one way to write a table.
#[derive(Clone, Default)]
struct Keys {
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl Keys {
    fn schema(self) -> Value {
        let mut schema = json!({ "type": "object", "properties": self.properties, "additionalProperties": false });
        if !self.required.is_empty() {
            schema["required"] = Value::Array(self.required);
        }
        schema
    }
}

fn section(description: &Description, definitions: &mut Map<String, Value>) -> Value {
    let mut ways: Vec<Value> = ways(description, definitions).into_iter().map(Keys::schema).collect();
    let mut schema = if ways.len() == 1 { ways.remove(0) } else { json!({ "oneOf": ways }) };
    schema["description"] = prose(description.doc).into();
    schema
}

/// The ways to write a section: one, or one for each kind.
fn ways(description: &Description, definitions: &mut Map<String, Value>) -> Vec<Keys> {
    match &description.body {
        Body::Fields(fields) => extend(vec![Keys::default()], fields, definitions),
        Body::Variants(variants) => variants
            .iter()
            .flat_map(|variant| {
                let mut keys = Keys::default();
                let kind = json!({ "const": variant.word, "description": prose(variant.doc) });
                keys.properties.insert("kind".into(), kind);
                keys.required.push("kind".into());
                extend(vec![keys], &variant.fields, definitions)
            })
            .collect(),
    }
}

fn extend(mut all: Vec<Keys>, fields: &[FieldDescription], definitions: &mut Map<String, Value>) -> Vec<Keys> {
    for field in fields {
        if let (Presence::Flattened, Kind::Table(inner)) = (&field.presence, &field.kind) {
            // Every way so far, with every way of the inner section.
            let taken_over = matches!(inner.body, Body::Fields(_));
            let mut inner = ways(inner, definitions);
            if taken_over {
                // Keys that a look leaves out have the values of `[render]`, not the defaults.
                let schemas = inner.iter_mut().flat_map(|keys| keys.properties.values_mut());
                schemas.filter_map(Value::as_object_mut).for_each(|schema| drop(schema.remove("default")));
            }
            let joined = all.iter().flat_map(|keys| {
                inner.iter().map(|more| {
                    let mut keys = keys.clone();
                    keys.properties.extend(more.properties.clone());
                    keys.required.extend(more.required.clone());
                    keys
                })
            });
            all = joined.collect();
            continue;
        }
        let mut schema = kind(&field.kind, definitions);
        schema["description"] = prose(field.doc).into();
        if let Presence::Default { data: Some(default), .. } = &field.presence {
            schema["default"] = default.clone();
        }
        for keys in &mut all {
            keys.properties.insert(field.key.into(), schema.clone());
            if field.presence == Presence::Required {
                keys.required.push(field.key.into());
            }
        }
    }
    all
}

fn kind(kind: &Kind, definitions: &mut Map<String, Value>) -> Value {
    match kind {
        Kind::Leaf { schema, .. } => schema.clone(),
        Kind::Table(description) => define(description, definitions),
        Kind::Tables(description) => json!({ "type": "array", "items": define(description, definitions) }),
        Kind::Either(short, long) => {
            json!({ "anyOf": [self::kind(short, definitions), self::kind(long, definitions)] })
        }
    }
}

fn define(description: &Description, definitions: &mut Map<String, Value>) -> Value {
    if !definitions.contains_key(description.name) {
        let schema = section(description, definitions);
        definitions.insert(description.name.into(), schema);
    }
    json!({ "$ref": format!("#/$defs/{}", description.name) })
}

/// A doc comment as running text.
pub(super) fn prose(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}
