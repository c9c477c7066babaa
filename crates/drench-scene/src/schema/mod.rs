//! What scene files may hold, for editors and for readers: both come from the declarations in `spec`.

mod json;
mod parameters;
mod reference;

pub use json::json_schema;
pub use parameters::{Parameter, parameters};
pub use reference::reference_markdown;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::{Body, Description, Kind, Section};
    use crate::spec::Scene;
    use crate::{Source, load};
    use serde_json::Value;

    /// Every section once.
    fn sections(description: Description, visit: &mut impl FnMut(&Description)) {
        visit(&description);
        let fields: Vec<_> = match description.body {
            Body::Fields(fields) => fields,
            Body::Variants(variants) => variants.into_iter().flat_map(|variant| variant.fields).collect(),
        };
        for field in fields {
            inner(field.kind, visit);
        }
    }

    fn inner(kind: Kind, visit: &mut impl FnMut(&Description)) {
        match kind {
            Kind::Leaf { .. } => {}
            Kind::Table(description) | Kind::Tables(description) => sections(description, visit),
            Kind::Either(_, long) => inner(*long, visit),
        }
    }

    #[test]
    fn every_example_of_the_reference_loads() {
        let mut examples = 0;
        sections(Scene::describe(), &mut |description| {
            if description.example.is_empty() {
                return;
            }
            let head = "[[solid]]\nname = \"head\"\nshape = { kind = \"head\" }\n";
            let text = format!("name = \"example\"\n{head}{}", description.example);
            let source = Source::Text { name: description.name.into(), text, directory: "".into() };
            load(source, None, &[]).unwrap_or_else(|problems| panic!("{}:\n{problems}", description.name));
            examples += 1;
        });
        assert!(examples >= 15, "{examples}");
    }

    #[test]
    fn the_reference_names_every_key_and_explains_it() {
        let page = reference_markdown();
        sections(Scene::describe(), &mut |description| {
            let fields: Vec<_> = match &description.body {
                Body::Fields(fields) => fields.iter().collect(),
                Body::Variants(variants) => variants.iter().flat_map(|variant| &variant.fields).collect(),
            };
            for field in fields {
                assert!(!field.doc.trim().is_empty());
                if field.presence != crate::form::Presence::Flattened {
                    assert!(page.contains(&format!("| `{}` |", field.key)), "{}", field.key);
                }
            }
        });
        for heading in ["## `[simulation]`", "## `[[groom]]`", "### `[groom.strand]`", "## Expressions", "## Sizes"] {
            assert!(page.contains(heading), "{heading}");
        }
    }

    #[test]
    fn every_reference_within_the_schema_resolves() {
        let schema = json_schema();
        fn visit(value: &Value, schema: &Value, count: &mut usize) {
            match value {
                Value::Object(map) => {
                    if let Some(name) = map.get("$ref").and_then(Value::as_str) {
                        *count += 1;
                        assert!(schema.pointer(name.trim_start_matches('#')).is_some(), "{name}");
                    }
                    map.values().for_each(|value| visit(value, schema, count));
                }
                Value::Array(items) => items.iter().for_each(|value| visit(value, schema, count)),
                _ => {}
            }
        }
        let mut count = 0;
        visit(&schema, &schema, &mut count);
        assert!(count > 20, "{count}");
        assert_eq!(schema["required"], serde_json::json!(["name"]));
        assert_eq!(schema["$defs"]["Simulation"]["properties"]["frames"]["maximum"], 1_000_000);
        assert_eq!(schema["$defs"]["Simulation"]["properties"]["fps"]["default"], 24.0);
        assert_eq!(schema["$defs"]["Shape"]["oneOf"].as_array().unwrap().len(), 10);
        // Maps carry the keys of their source in their own table.
        assert_eq!(schema["$defs"]["Map"]["oneOf"].as_array().unwrap().len(), 4);
    }
}
