//! What a recording of a run says of the run itself.

use crate::failure::bad_input;
use crate::record::{self, Recording, Wanted};
use isobar_recording::{About, Bounds, about};
use jiff::Zoned;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What recordings of a run are made from, while it goes on.
#[derive(Clone, Debug)]
pub struct Tape {
    about: About,
    is_simulated: bool,
}

impl Tape {
    pub(super) fn new(about: About, is_simulated: bool) -> Self {
        Self { about, is_simulated }
    }

    /// A recording to a new file in the working folder, named by the time of day.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn start(&self) -> anyhow::Result<Recording> {
        let now = Zoned::now().strftime("%Y%m%d-%H%M%S");
        self.start_to(format!("isobar-{now}.isobar").into(), Bounds::default())
    }

    pub(super) fn start_to(&self, file: PathBuf, bounds: Bounds) -> anyhow::Result<Recording> {
        let wanted = Wanted { file, bounds, about: self.about.clone(), is_simulated: self.is_simulated };
        Recording::start(&wanted).map_err(bad_input)
    }
}

/// What is known of a run before it begins: on the machine that was typed, with the settings that
/// were, from a file and one by one.
pub(super) fn facts(
    policy: &str,
    machine: Option<&str>,
    config: Option<&Path>,
    sets: &[String],
) -> BTreeMap<String, String> {
    let mut facts = if machine.is_none() { record::here() } else { BTreeMap::new() };
    let mut add = |key: &str, value: String| drop(facts.insert(key.to_owned(), value));
    add(about::ISOBAR, env!("CARGO_PKG_VERSION").to_owned());
    add(about::POLICY, policy.to_owned());
    add(about::MACHINE, machine.unwrap_or("this machine").to_owned());
    add(about::SETS, serde_json::json!(sets).to_string());
    if let Some(config) = config {
        add(about::CONFIG, config.display().to_string());
    }
    facts
}
