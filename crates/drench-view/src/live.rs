//! A simulation that runs behind the page.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How a simulation behind the page stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LiveState {
    /// The world is being built, or strands settle before frame 0.
    Building,
    /// Frames are being computed.
    Running,
    /// It waits to be let go on.
    Paused,
    /// All frames are there.
    Finished,
    /// It stopped because of an error.
    Failed,
}

/// What the page is told of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveStatus {
    /// How it stands.
    pub state: LiveState,
    /// Why it failed, or what else a user should know; may be empty.
    pub message: String,
    /// Keys that the page changed, with their values.
    pub set: BTreeMap<String, String>,
}

/// What the page may ask for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// Wait after the frame in hand.
    Pause,
    /// Go on.
    Resume,
    /// Simulate anew.
    Rerun {
        /// All keys that differ from the scene as it was given: key path and value, as `--set` takes them.
        #[serde(default)]
        set: BTreeMap<String, String>,
        /// Keep the frames up to the last checkpoint at or before this one; none: begin at frame 0.
        #[serde(default)]
        from: Option<u32>,
        /// Keep the present run as it is, and write the new one to another folder.
        #[serde(default)]
        keep: bool,
    },
}

/// A simulation behind the page. It writes a run folder like any other; the page sees it through that.
pub trait Live: Send + Sync {
    /// The folder that it writes to now.
    fn folder(&self) -> PathBuf;

    /// How it stands.
    fn status(&self) -> LiveStatus;

    /// Does what the page asks for, or says in words why not.
    fn request(&self, request: Request) -> Result<(), String>;

    /// What a key may be set to in the scene as it is simulated now.
    fn parameters(&self) -> serde_json::Value;
}
