//! Properties of all scenes: what is written reads back the same, and no text makes the reader panic.

use drench_scene::{Scene, Size, Source, builtin, load};
use proptest::prelude::*;

const EVERYTHING: &str = include_str!("everything.toml");

fn read(text: &str, size: Option<Size>) -> Result<Scene, drench_scene::Diagnostics> {
    load(Source::Text { name: "scene.toml".into(), text: text.into(), directory: "/scenes".into() }, size, &[])
}

fn texts() -> Vec<&'static str> {
    builtin::all().iter().map(|scene| scene.text).chain([EVERYTHING]).collect()
}

#[test]
fn a_scene_of_everything_round_trips() {
    let scene = read(EVERYTHING, None).unwrap_or_else(|problems| panic!("{problems}"));
    let text = scene.to_toml();
    let again = read(&text, None).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    assert_eq!(scene, again);
    assert_eq!(text, again.to_toml());
    assert_eq!(scene.looks[0].render.samples, Some(17));
}

/// Every number of the written scene, changed a little: all 53 bits of it must survive.
fn perturbed(text: &str, factors: &[f64]) -> String {
    let mut factors = factors.iter().cycle();
    let change = |word: &str, factor: f64| match word.parse::<f64>() {
        Ok(value) if word.contains(['.', 'e']) => format!("{:?}", value * factor),
        _ => word.to_owned(),
    };
    let lines = text.lines().map(|line| match line.split_once(" = ") {
        Some((key, value)) if !value.contains('"') => {
            let words = value.split_inclusive([',', '[', ']', ' ']).map(|piece| {
                let word = piece.trim_end_matches([',', '[', ']', ' ']);
                let factor = *factors.next().unwrap_or(&1.0);
                format!("{}{}", change(word, factor), &piece[word.len()..])
            });
            format!("{key} = {}", words.collect::<String>())
        }
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// One random change to a text.
#[derive(Clone, Debug)]
enum Edit {
    Delete(prop::sample::Index, usize),
    Insert(prop::sample::Index, &'static str),
    Swap(prop::sample::Index, prop::sample::Index),
    Repeat(prop::sample::Index, usize),
}

const PIECES: &[&str] = &[
    "\"",
    "'",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    ".",
    ",",
    "\n",
    "#",
    "-",
    "1e999",
    "nan",
    "-inf",
    "0",
    "9999999999999999999",
    "é",
    "\u{7f}",
    "\t",
    "\\u0041",
    "\"\"\"",
    "kind = \"file\"\n",
    "path = \"\"\n",
    "name = \"\"\n",
    "parent = \"head\"\n",
    "((((",
    "deg",
    "\r\n",
    "=\"5 kg\"",
    "2020-01-01",
    "true",
    "[size.tiny]\n",
    "size = 1\n",
    "µ",
    "\u{202e}",
    "if(",
    "t",
    "sin",
    "^",
];

fn edit() -> impl Strategy<Value = Edit> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        (index(), 1usize..40).prop_map(|(at, length)| Edit::Delete(at, length)),
        (index(), prop::sample::select(PIECES)).prop_map(|(at, piece)| Edit::Insert(at, piece)),
        (index(), index()).prop_map(|(a, b)| Edit::Swap(a, b)),
        (index(), 1usize..200).prop_map(|(at, length)| Edit::Repeat(at, length)),
    ]
}

fn apply(text: &str, edits: &[Edit]) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for edit in edits {
        if characters.is_empty() {
            break;
        }
        let count = characters.len();
        match edit {
            Edit::Delete(at, length) => {
                let at = at.index(count);
                characters.drain(at..(at + length).min(count));
            }
            Edit::Insert(at, piece) => {
                let at = at.index(count);
                characters.splice(at..at, piece.chars());
            }
            Edit::Swap(a, b) => characters.swap(a.index(count), b.index(count)),
            Edit::Repeat(at, length) => {
                let at = at.index(count);
                let piece = characters[at..(at + length).min(count)].to_vec();
                characters.splice(at..at, piece);
            }
        }
    }
    characters.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn scenes_with_any_numbers_round_trip(factors in prop::collection::vec(0.9f64..0.999, 40)) {
        let text = perturbed(&read(EVERYTHING, None).unwrap().to_toml(), &factors);
        let scene = read(&text, None).unwrap_or_else(|problems| panic!("{problems}"));
        let again = read(&scene.to_toml(), None).unwrap_or_else(|problems| panic!("{problems}"));
        prop_assert_eq!(scene, again);
    }

    #[test]
    fn no_text_makes_it_panic(which in 0usize..5, size in 0usize..3, edits in prop::collection::vec(edit(), 1..6)) {
        let text = apply(texts()[which], &edits);
        match read(&text, Some(Size::ALL[size])) {
            Ok(scene) => prop_assert_eq!(&read(&scene.to_toml(), None).unwrap(), &scene),
            Err(problems) => {
                prop_assert!(!problems.is_empty() && problems.render(true).len() >= problems.render(false).len());
                prop_assert!(problems.iter().all(|problem| !problem.message.is_empty()));
            }
        }
    }

    #[test]
    fn no_override_makes_it_panic(path in "(groom|solid|simulation|camera|light|size|wind)(\\.[a-z0-9\"]{0,6}){0,4}", value in ".{0,20}") {
        let source = Source::Text { name: "x".into(), text: EVERYTHING.into(), directory: "".into() };
        if let Err(problems) = load(source, None, &[(path, value)]) {
            prop_assert!(!problems.to_string().is_empty());
        }
    }
}

#[test]
fn hostile_texts_are_refused_quickly() {
    let deep_list = format!("name = {}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_table = format!("{} = 1", vec!["a"; 50_000].join("."));
    let deep_inline = format!("x = {}1{}", "{ a = ".repeat(50_000), " }".repeat(50_000));
    let many_keys: String = (0..50_000).map(|i| format!("key{i} = {i}\n")).collect();
    let many_solids = format!("name = \"x\"\n{}", "[[solid]]\nname = \"a\"\n".repeat(5_000));
    let long_line = format!("name = \"{}\"", "x".repeat(1 << 20));
    for text in [deep_list, deep_table, deep_inline, many_keys, many_solids, long_line] {
        let problems = read(&text, None).unwrap_err();
        assert!(problems.to_string().len() < 200_000);
    }
}
