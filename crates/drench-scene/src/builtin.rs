//! The scenes that come with Drench.

/// A built-in scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// Name.
    pub name: &'static str,
    /// Its scene file, ready to be edited.
    pub text: &'static str,
}

macro_rules! scenes {
    ($($name:literal),* $(,)?) => {
        &[$( Builtin { name: $name, text: include_str!(concat!("../../../scenes/", $name, ".toml")) } ),*]
    };
}

const SCENES: &[Builtin] = scenes![
    "bunny",
    "long-hair",
    "hairstyles",
    "rope",
    "drape",
    "wind-styles",
    "full-head",
    "twist",
    "plastic",
    "flick",
    "bridge",
    "twist-game",
    "material-tests",
    "dam-break",
    "double-dam",
    "fountain",
    "repose",
    "piles",
    "faucet",
    "faucet-large",
    "wetting-front",
    "shrink",
    "shovel",
    "sand-castle",
    "bunny-fountains",
    "shower",
    "shower-large",
    "shower-head",
    "lock",
    "wet-to-wavy",
    "curly-to-straight",
    "repellent",
    "pool-rise",
    "mop",
];

/// All built-in scenes.
pub fn all() -> &'static [Builtin] {
    SCENES
}

/// The built-in scene with this name.
pub fn find(name: &str) -> Option<&'static Builtin> {
    SCENES.iter().find(|scene| scene.name == name)
}
