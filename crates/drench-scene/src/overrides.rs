//! Changes to the document before it is validated: size tables and `--set key.path=value`.

use crate::diagnostics::{Problem, SourceText, suggestion};
use crate::form::{Body, Kind, Section};
use crate::spec::Scene;
use crate::tree::{self, Data, Entry, Node, Place, Table, Text};

/// Longest path, in steps.
const LONGEST: usize = 32;

/// One key path and its new value.
pub(crate) struct Setting {
    steps: Vec<Step>,
    value: Node,
}

struct Step {
    name: String,
    place: Place,
}

/// Reads an override. It becomes a source of its own, so that errors show it.
pub(crate) fn parse(
    path: &str,
    value: &str,
    sources: &mut Vec<SourceText>,
    problems: &mut Vec<Problem>,
) -> Option<Setting> {
    let text = format!("{path}={value}");
    let source = sources.len() as u32;
    sources.push(SourceText { name: "--set".into(), text: text.clone() });
    let steps = split(path, Place::new(source, 0..path.len()), 0, problems)?;
    let start = path.len() + 1 + (value.len() - value.trim_start().len());
    let place = Place::new(source, start..start + value.trim().len());
    Some(Setting { steps, value: read_value(value.trim(), &text, place) })
}

/// A TOML value, or else a bare text: both `"5 mm"` and `5 mm` will do.
fn read_value(value: &str, text: &str, place: Place) -> Node {
    match value.parse::<toml_edit::Value>() {
        Ok(value) => tree::from_value(&value, text, place),
        Err(_) => Node { data: Data::Text(Text { value: value.into(), inset: Some(0) }), place },
    }
}

/// Splits a path at its dots. `inset` is where the path begins within its place.
fn split(path: &str, place: Place, inset: usize, problems: &mut Vec<Problem>) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut at = 0;
    for name in path.split('.') {
        let trimmed = name.trim().trim_matches(['"', '\'']);
        let step = Step { name: trimmed.into(), place: place.part(inset + at..inset + at + name.len()) };
        steps.push(step);
        at += name.len() + 1;
    }
    if steps.len() > LONGEST || steps.iter().any(|step| step.name.is_empty()) {
        let message = format!("`{}` is not a path of keys", tree::shorten(path));
        let help = "write names with dots between them, such as simulation.frames".into();
        problems.push(Problem { place: Some(place), key: String::new(), message, help });
        return None;
    }
    Some(steps)
}

/// The settings of a size table: quoted paths, dotted keys and tables all spell paths.
pub(crate) fn from_table(size: Entry, problems: &mut Vec<Problem>) -> Vec<Setting> {
    let mut settings = Vec::new();
    match size.node.data {
        Data::Table(table) => flatten(table, &[], &mut settings, problems),
        _ => {
            let message = "expected a table of key paths and values".into();
            let help = "write lines such as simulation.frames = 10".into();
            problems.push(Problem { place: Some(size.node.place), key: format!("size.{}", size.key), message, help });
        }
    }
    settings
}

fn flatten(table: Table, path: &[(String, Place)], settings: &mut Vec<Setting>, problems: &mut Vec<Problem>) {
    for Entry { key, place, node } in table.entries {
        // Behind the quote, if the key is quoted.
        let inset = ((place.end - place.start) as usize).saturating_sub(key.len()) / 2;
        let Some(steps) = split(&key, place, inset, problems) else { continue };
        let mut path = path.to_vec();
        path.extend(steps.into_iter().map(|step| (step.name, step.place)));
        match node.data {
            Data::Table(table) if !table.inline => flatten(table, &path, settings, problems),
            _ => {
                let steps = path.into_iter().map(|(name, place)| Step { name, place }).collect();
                settings.push(Setting { steps, value: node });
            }
        }
    }
}

/// Puts a value into the document.
pub(crate) fn apply(root: &mut Table, setting: Setting, problems: &mut Vec<Problem>) {
    let Setting { steps, value } = setting;
    if let Some(first) = steps.first().filter(|step| step.name == "size") {
        let message = "sizes cannot be changed by a setting".into();
        let help = "choose one with --size, or set the key itself".into();
        problems.push(Problem { place: Some(first.place), key: String::new(), message, help });
        return;
    }
    if let Err(problem) = put(root, &steps, 0, value) {
        problems.push(problem);
    }
}

fn fail(steps: &[Step], at: usize, message: String, help: String) -> Result<(), Problem> {
    let key = steps[..at].iter().map(|step| step.name.as_str()).collect::<Vec<_>>().join(".");
    Err(Problem { place: Some(steps[at].place), key, message, help })
}

fn put(table: &mut Table, steps: &[Step], at: usize, value: Node) -> Result<(), Problem> {
    let Some(step) = steps.get(at) else { return Ok(()) };
    let last = at + 1 == steps.len();
    if table.get(&step.name).is_none() {
        if at == 0 && !last && is_list_of_tables(&step.name) {
            let message = format!("the scene has no {}", step.name);
            return fail(steps, at, message, format!("add [[{}]] to the scene file", step.name));
        }
        let node = Node { data: Data::Table(Table::default()), place: step.place };
        table.entries.push(Entry { key: step.name.clone(), place: step.place, node });
    }
    let Some(node) = table.get_mut(&step.name) else { return Ok(()) };
    if last {
        *node = value;
        return Ok(());
    }
    match &mut node.data {
        Data::Table(inner) => put(inner, steps, at + 1, value),
        Data::List(items) => put_into_item(items, steps, at + 1, value),
        _ => {
            let message = format!("`{}` is {}, which holds no keys", step.name, node.wording());
            fail(steps, at + 1, message, format!("set `{}` itself", step.name))
        }
    }
}

/// An item of a list goes by its name or by its number.
fn put_into_item(items: &mut [Node], steps: &[Step], at: usize, value: Node) -> Result<(), Problem> {
    let (list, step) = (&steps[at - 1].name, &steps[at]);
    let name_of = |item: &Node| item.as_table().and_then(Table::name).map(str::to_owned);
    let by_name = items.iter().position(|item| name_of(item).as_deref() == Some(&step.name));
    let by_number = step.name.parse::<usize>().ok().filter(|index| *index < items.len());
    let Some(index) = by_name.or(by_number) else {
        let names: Vec<String> = items.iter().filter_map(name_of).collect();
        if names.is_empty() {
            let message = format!("there is no {list} number {}", tree::shorten(&step.name));
            let help = match items.len() {
                0 => format!("there is no {list} at all"),
                count => format!("use a number from 0 to {}", count - 1),
            };
            return fail(steps, at, message, help);
        }
        let help = suggestion(&step.name, names.iter().map(String::as_str));
        return fail(steps, at, format!("no {list} is named `{}`", tree::shorten(&step.name)), help);
    };
    if at + 1 == steps.len() {
        items[index] = value;
        return Ok(());
    }
    match &mut items[index].data {
        Data::Table(inner) => put(inner, steps, at + 1, value),
        _ => fail(steps, at + 1, format!("`{list}.{}` holds no keys", step.name), String::new()),
    }
}

fn is_list_of_tables(key: &str) -> bool {
    match Scene::describe().body {
        Body::Fields(fields) => fields.iter().any(|field| field.key == key && matches!(field.kind, Kind::Tables(_))),
        Body::Variants(_) => false,
    }
}
