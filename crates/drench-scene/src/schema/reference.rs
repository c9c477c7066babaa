//! The scene reference as a Markdown page.

use super::json::prose;
use crate::expression::{FUNCTIONS, SURFACE_VARIABLES, TIME_VARIABLES};
use crate::form::{Body, Description, FieldDescription, Kind, Presence, Section};
use crate::load::Size;
use crate::spec::Scene;
use std::fmt::Write;

/// The reference of scene files: every table, every key with its type, unit, default, range and meaning.
pub fn reference_markdown() -> String {
    let mut page = String::new();
    page.push_str("\n## Sizes\n\n");
    page.push_str(SIZES);
    for size in Size::ALL {
        let doc =
            <Size as crate::form::Words>::ALL.iter().find(|(other, ..)| other == size).map_or("", |(.., doc)| doc);
        let _ = writeln!(page, "- `{size}`: {}", prose(doc));
    }
    page.push_str("\n## Expressions\n\n");
    let _ = writeln!(
        page,
        "Formulas of motion know the time `{}` [s]; formulas over a surface know `{}`: position [m] and normal in the \
         solid's frame, and texture coordinates. They have `+ - * / ^`, comparisons `< <= > >= == !=`, `&& || !`, brackets, the \
         constants `pi`, `tau` and `e`, and numbers with a unit (`20 deg`, `3cm`). Values can be named first: \
         `s = fract(2 * t); s * (1 - s)`.\n",
        TIME_VARIABLES.names.join("`, `"),
        SURFACE_VARIABLES.names.join("`, `"),
    );
    page.push_str("| function | gives |\n|---|---|\n");
    for function in FUNCTIONS {
        let _ = writeln!(page, "| `{}({})` | {} |", function.name, function.arguments.join(", "), function.doc);
    }
    section(&mut page, &Scene::describe(), "", "", 2, &mut Vec::new());
    page = format!("{INTRODUCTION}\n{}{page}", contents(&page));
    while page.contains("\n\n\n") {
        page = page.replace("\n\n\n", "\n\n");
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

/// Links to the headings of `page`.
fn contents(page: &str) -> String {
    let mut contents = String::new();
    for line in page.lines() {
        let (level, title) = match line.split_once("# ") {
            Some((hashes, title)) if !hashes.is_empty() && hashes.bytes().all(|byte| byte == b'#') => {
                (hashes.len() + 1, title)
            }
            _ => continue,
        };
        // The anchor that GitHub and most other readers of Markdown give a heading.
        let kept = title.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '_' | '-'));
        let anchor: String = kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect();
        let _ = writeln!(contents, "{}- [{title}](#{})", "  ".repeat(level - 2), anchor.to_lowercase());
    }
    contents
}

const INTRODUCTION: &str = r##"# Scene reference

A scene is a [TOML](https://toml.io) file. This page is generated from the declarations that read it.

- A plain number is SI: metres, kilograms, seconds, radians. A text carries a unit, which must fit: `"25 cm"`, `"35 um"`, `"20 deg"`,
  `"1.3 g/cm3"`, `"24 fps"`, `"3.9 GPa"`, `"40 %"`. Units are products and quotients of powers: `m s g N Pa J W Hz l rad` with the usual
  prefixes, and `in ft min h t fps deg turn rpm %`.
- A vector is `[0, 1, 0]`, `["1 cm", 0, 0]` or `"0 -9.81 0 m/s2"`. +y is up.
- A rotation is three angles about x, y and z, `"0 90 0 deg"`, applied in the order z (tilt), x (nod), y (turn); or a quaternion `[x, y, z, w]`.
- A colour is `"#c08040"` (sRGB) or `[0.5, 0.2, 0.05]` (linear, 0 to 1).
- A path is relative to the scene file.
- A key that is not on this page is an error.
"##;

const SIZES: &str = r#"Each scene can be run in three sizes. The tables `[size.tiny]`, `[size.preview]` and `[size.full]` hold the keys that differ, as paths
with dots. Things in a list go by their name, or by their number from 0. `--set key.path=value` takes the same paths and comes last.

```toml
[size.tiny]
simulation.frames = 12
groom.fur.spacing = "8 mm"
```

"#;

/// One section and, behind it, those within it; `told` are the sections so far and where they stand.
fn section(
    page: &mut String,
    description: &Description,
    title: &str,
    path: &str,
    level: usize,
    told: &mut Vec<(&'static str, String)>,
) {
    let heading = "#".repeat(level.min(4));
    if title.is_empty() {
        let _ = writeln!(page, "\n{heading} Top level\n");
    } else {
        let _ = writeln!(page, "\n{heading} `{title}`\n");
    }
    let _ = writeln!(page, "{}\n", prose(description.doc));
    if let Some((_, before)) = told.iter().find(|(name, _)| *name == description.name) {
        let _ = writeln!(page, "The keys are those of `{before}`.\n");
        return;
    }
    told.push((description.name, title.into()));
    match &description.body {
        Body::Fields(fields) => rows(page, fields, told),
        Body::Variants(variants) => {
            for variant in variants {
                let _ = writeln!(page, "**kind = \"{}\"**: {}\n", variant.word, prose(variant.doc));
                if !variant.fields.is_empty() {
                    rows(page, &variant.fields, told);
                }
            }
        }
    }
    if !description.example.is_empty() {
        let _ = writeln!(page, "```toml\n{}\n```\n", description.example.trim());
    }
    let fields: Vec<&FieldDescription> = match &description.body {
        Body::Fields(fields) => fields.iter().collect(),
        Body::Variants(variants) => variants.iter().flat_map(|variant| &variant.fields).collect(),
    };
    for field in fields {
        let inner_path = if path.is_empty() { field.key.to_owned() } else { format!("{path}.{}", field.key) };
        inner(page, &field.kind, &field.presence, &inner_path, level + usize::from(!path.is_empty()), told);
    }
}

fn inner(
    page: &mut String,
    kind: &Kind,
    presence: &Presence,
    path: &str,
    level: usize,
    told: &mut Vec<(&'static str, String)>,
) {
    match kind {
        // Its keys were already shown in the table around it.
        Kind::Table(_) if *presence == Presence::Flattened => {}
        Kind::Table(description) => section(page, description, &format!("[{path}]"), path, level, told),
        Kind::Tables(description) => section(page, description, &format!("[[{path}]]"), path, level, told),
        Kind::Either(_, long) => inner(page, long, presence, path, level, told),
        Kind::Leaf { .. } => {}
    }
}

fn rows(page: &mut String, fields: &[FieldDescription], told: &[(&'static str, String)]) {
    page.push_str("| key | type | default | range | meaning |\n|---|---|---|---|---|\n");
    let mut words = String::new();
    row_lines(page, fields, told, &mut words);
    page.push('\n');
    if !words.is_empty() {
        let _ = writeln!(page, "{words}");
    }
}

fn row_lines(page: &mut String, fields: &[FieldDescription], told: &[(&'static str, String)], words: &mut String) {
    for field in fields {
        if let (Presence::Flattened, Kind::Table(description)) = (&field.presence, &field.kind) {
            if let Some((_, before)) = told.iter().find(|(name, _)| *name == description.name) {
                let _ = writeln!(page, "| ... | those of `{before}` | | | {} |", prose(field.doc));
                continue;
            }
            match &description.body {
                Body::Fields(fields) => row_lines(page, fields, told, words),
                Body::Variants(variants) => {
                    let kinds: Vec<_> = variants.iter().map(|variant| format!("`{}`", variant.word)).collect();
                    let _ = writeln!(page, "| `kind` | {} | required | | {} |", kinds.join(" or "), prose(field.doc));
                    for variant in variants {
                        let _ = writeln!(words, "- `kind = \"{}\"`: {}", variant.word, prose(variant.doc));
                        let mut lines = String::new();
                        row_lines(&mut lines, &variant.fields, told, words);
                        // These keys share a table with those of other kinds: say when they count.
                        let only = format!("| required with `{}` |", variant.word);
                        page.push_str(&lines.replace("| required |", &only));
                    }
                }
            }
            continue;
        }
        let default = match &field.presence {
            Presence::Required => "required".to_owned(),
            Presence::Default { shown, in_words: false, .. } => format!("`{shown}`"),
            Presence::Default { shown, .. } => shown.clone(),
            Presence::Optional("") => "absent".into(),
            Presence::Optional(note) => (*note).into(),
            Presence::Flattened => String::new(),
        };
        let (form, range) = cells(&field.kind, field.key, words);
        let cell = |text: &str| text.replace('|', "\\|");
        let (form, default, meaning) = (cell(&form), cell(&default), cell(&prose(field.doc)));
        let _ = writeln!(page, "| `{}` | {form} | {default} | {range} | {meaning} |", field.key);
    }
}

/// Type and range of a key; meanings of its words are put behind the table.
fn cells(kind: &Kind, key: &str, meanings: &mut String) -> (String, String) {
    match kind {
        Kind::Leaf { wording, range, words, .. } if words.is_empty() => (wording.clone(), range.clone()),
        Kind::Leaf { words, .. } => {
            for (word, doc) in words {
                let _ = writeln!(meanings, "- `{key} = \"{word}\"`: {}", prose(doc));
            }
            (words.iter().map(|(word, _)| format!("`{word}`")).collect::<Vec<_>>().join(" or "), String::new())
        }
        Kind::Table(_) => ("table".into(), String::new()),
        Kind::Tables(_) => ("list of tables".into(), String::new()),
        Kind::Either(short, _) => {
            let (form, range) = cells(short, key, meanings);
            (format!("{form}, or table"), range)
        }
    }
}
