//! From a source to a validated scene.

use crate::declare::words;
use crate::diagnostics::{Diagnostics, Problem, SourceText, nearest, suggestion};
use crate::form::{Reader, Section};
use crate::spec::Scene;
use crate::tree::{self, Data, Entry, Node, Place, Table};
use crate::{builtin, checks, overrides};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Largest scene file [bytes].
const LARGEST: usize = 4 << 20;

/// Where a scene comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A scene that comes with Drench.
    Builtin(String),
    /// A scene file.
    Path(PathBuf),
    /// The text of a scene. The files that it names are not checked for existence.
    Text {
        /// What messages call it.
        name: String,
        /// The text.
        text: String,
        /// Relative paths are relative to this.
        directory: PathBuf,
    },
}

words! {
    /// How large a scene is run: `[size.tiny]` and so on hold the keys that differ.
    pub enum Size {
        /// Done in seconds; what tests run.
        Tiny = "tiny",
        /// Done in about a minute, and already right. This is the default.
        Preview = "preview",
        /// As large as the source document's.
        Full = "full",
    }
}

impl Source {
    /// What a person means by `name`: a built-in scene if there is one of that name, otherwise a path.
    pub fn named(name: &str) -> Self {
        match builtin::find(name) {
            Some(scene) => Self::Builtin(scene.name.into()),
            None => Self::Path(name.into()),
        }
    }

    /// The scene's text, what messages call it, and the directory of its files.
    fn read(&self) -> Result<(SourceText, PathBuf), Diagnostics> {
        match self {
            Self::Builtin(name) => match builtin::find(name) {
                Some(scene) => {
                    let source = SourceText { name: format!("{name} (built in)"), text: scene.text.into() };
                    Ok((source, PathBuf::new()))
                }
                None => Err(unknown_scene(name)),
            },
            Self::Path(path) => {
                let text = read_file(path)?;
                let directory = path.parent().unwrap_or(Path::new("")).to_owned();
                Ok((SourceText { name: path.display().to_string(), text }, directory))
            }
            Self::Text { name, text, directory } => {
                Ok((SourceText { name: name.clone(), text: text.clone() }, directory.clone()))
            }
        }
    }
}

fn unknown_scene(name: &str) -> Diagnostics {
    let names = builtin::all().iter().map(|scene| scene.name);
    let help = suggestion(name, names);
    Diagnostics::placeless(format!("no built-in scene is named `{}`", tree::shorten(name)), help)
}

fn read_file(path: &Path) -> Result<String, Diagnostics> {
    let fail = |what: String, help: &str| {
        Err(Diagnostics::placeless(format!("cannot read the scene {}: {what}", path.display()), help))
    };
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(LARGEST as u64 + 1).read_to_end(&mut bytes));
    if let Err(error) = read {
        let name = path.to_string_lossy();
        if error.kind() == std::io::ErrorKind::NotFound {
            let near = nearest(&name, builtin::all().iter().map(|scene| scene.name));
            let help = match near {
                Some(near) => format!("did you mean the built-in scene `{near}`?"),
                None => {
                    let names: Vec<_> = builtin::all().iter().map(|scene| scene.name).collect();
                    format!("built-in scenes are {}", names.join(", "))
                }
            };
            return fail("there is no such file".into(), &help);
        }
        return fail(error.to_string(), "");
    }
    if bytes.len() > LARGEST {
        return fail(
            format!("it is larger than {} MB", LARGEST >> 20),
            "a scene file holds settings; put meshes into files",
        );
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) => fail(format!("byte {} is not UTF-8", error.utf8_error().valid_up_to()), "save it as UTF-8 text"),
    }
}

/// Reads and validates a scene: the file's keys, then those of its size table (`preview` if none is asked for), then the
/// overrides, each a key path and a value as `--set` takes them.
pub fn load(source: Source, size: Option<Size>, overrides: &[(String, String)]) -> Result<Scene, Diagnostics> {
    let (file, directory) = source.read()?;
    let mut sources = vec![file];
    let mut problems = Vec::new();
    let files_must_exist = matches!(source, Source::Path(_));
    let scene = assemble(&mut sources, size.unwrap_or(Size::Preview), overrides, &mut problems).and_then(|root| {
        let mut reader = Reader::new(directory, files_must_exist);
        let scene = root.as_table().and_then(|table| Scene::read(table, root.place, &mut reader));
        reader.check_names();
        checks::check(scene.as_ref(), &root, &mut reader);
        problems.append(&mut reader.problems);
        scene
    });
    match scene {
        Some(scene) if problems.is_empty() => Ok(scene),
        _ => Err(Diagnostics::new(sources, problems)),
    }
}

/// What is wrong with a scene that could be read but not built, shown where it is written: at the deepest of the steps (keys, names
/// and numbers from the root down, such as `liquid`, `emitter`, `0`) that the scene has.
pub fn point_out(
    source: &Source,
    size: Option<Size>,
    overrides: &[(String, String)],
    steps: &[String],
    message: &str,
) -> Diagnostics {
    let Ok((file, _)) = source.read() else { return Diagnostics::placeless(message, "") };
    let mut sources = vec![file];
    let root = assemble(&mut sources, size.unwrap_or(Size::Preview), overrides, &mut Vec::new());
    let place = root.and_then(|root| root.deepest(steps));
    Diagnostics::new(sources, vec![Problem { place, key: String::new(), message: message.into(), help: String::new() }])
}

/// The whole document as a tree, with size and overrides applied.
fn assemble(
    sources: &mut Vec<SourceText>,
    size: Size,
    overrides: &[(String, String)],
    problems: &mut Vec<Problem>,
) -> Option<Node> {
    let text = sources.first()?.text.clone();
    if text.len() > LARGEST {
        let help = "a scene file holds settings; put meshes into files".into();
        let message = format!("the scene is larger than {} MB", LARGEST >> 20);
        problems.push(Problem { place: None, key: String::new(), message, help });
        return None;
    }
    let document = match toml_edit::Document::parse(text.as_str()) {
        Ok(document) => document,
        Err(error) => {
            let place = Place::new(0, error.span().unwrap_or(0..0));
            let message = error.message().trim().replace('\n', "; ");
            let help = "this is not TOML; see https://toml.io".into();
            problems.push(Problem { place: Some(place), key: String::new(), message, help });
            return None;
        }
    };
    let mut root = tree::from_document(&document, &text, 0);
    let Data::Table(table) = &mut root.data else { return None };
    let sizes = table.remove("size");
    let mut settings = sizes.map_or_else(Vec::new, |sizes| size_settings(sizes, size, problems));
    for (path, value) in overrides {
        settings.extend(overrides::parse(path, value, sources, problems));
    }
    for setting in settings {
        overrides::apply(table, setting, problems);
    }
    complete_looks(table);
    complete_likes(table, "solid", &["name"]);
    complete_likes(table, "cord", &["name", "clamp"]);
    Some(root)
}

/// The settings of the chosen size; all sizes' names are checked.
fn size_settings(sizes: Entry, size: Size, problems: &mut Vec<Problem>) -> Vec<overrides::Setting> {
    let Data::Table(table) = sizes.node.data else {
        let message = "expected the tables [size.tiny], [size.preview] and [size.full]".into();
        let help = "write [size.tiny]".into();
        problems.push(Problem { place: Some(sizes.node.place), key: "size".into(), message, help });
        return Vec::new();
    };
    let mut chosen = Vec::new();
    for entry in table.entries {
        let known = Size::ALL.iter().find(|known| known.word() == entry.key);
        if known.is_none() {
            let help = suggestion(&entry.key, Size::ALL.iter().map(|size| size.word()));
            let message = format!("unknown size `{}`", tree::shorten(&entry.key));
            problems.push(Problem { place: Some(entry.place), key: "size".into(), message, help });
        }
        if known == Some(&size) {
            chosen = overrides::from_table(entry, problems);
        }
    }
    chosen
}

/// Keys that a look leaves out are those of `[render]`.
fn complete_looks(root: &mut Table) {
    let Some(render) = root.get("render").and_then(Node::as_table).cloned() else { return };
    let Some(Data::List(looks)) = root.get_mut("look").map(|node| &mut node.data) else { return };
    for look in looks {
        if let Data::Table(look) = &mut look.data {
            let missing: Vec<_> = render.entries.iter().filter(|entry| look.get(&entry.key).is_none()).collect();
            look.entries.extend(missing.into_iter().cloned());
        }
    }
}

/// Keys that a table with `like` leaves out are those of the table above it that it names.
fn complete_likes(root: &mut Table, kind: &str, own: &[&str]) {
    let Some(Data::List(items)) = root.get_mut(kind).map(|node| &mut node.data) else { return };
    for index in 0..items.len() {
        let (above, rest) = items.split_at_mut(index);
        let Data::Table(table) = &mut rest[0].data else { continue };
        let Some(name) = table.get("like").and_then(Node::as_text) else { continue };
        let named = |node: &&Node| node.as_table().and_then(Table::name) == Some(name);
        let Some(model) = above.iter().find(named).and_then(Node::as_table) else { continue };
        let missing = |entry: &&Entry| !own.contains(&entry.key.as_str()) && table.get(&entry.key).is_none();
        let missing: Vec<_> = model.entries.iter().filter(missing).cloned().collect();
        table.entries.extend(missing);
    }
}

impl Scene {
    /// The resolved scene as a scene file: every key that has a value, in SI. It loads to an equal scene.
    pub fn to_toml(&self) -> String {
        let mut table = Table::default();
        self.write(&mut table);
        tree::to_text(&table)
    }
}
