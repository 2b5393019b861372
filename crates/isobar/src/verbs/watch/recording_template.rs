//! What a recording of a run says about the run itself.

use crate::failure::bad_input;
use crate::record::{self, Recording, Wanted};
use isobar_recording::{About, Bounds, about};
use jiff::Zoned;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Makes recordings of a run while it goes on.
#[derive(Clone, Debug)]
pub struct RecordingTemplate {
    about: About,
    is_simulated: bool,
}

impl RecordingTemplate {
    pub(super) fn new(about: About, is_simulated: bool) -> Self {
        Self { about, is_simulated }
    }

    /// Starts a recording to a new file in the working folder, named after the time of day.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn start(&self) -> anyhow::Result<Recording> {
        let now = Zoned::now().strftime("%Y%m%d-%H%M%S");
        self.start_to(format!("isobar-{now}.isobar").into(), Bounds::default())
    }

    /// Starts a recording to a new file.
    ///
    /// # Errors
    /// If the file exists already or cannot be created.
    pub fn start_to(&self, file: PathBuf, bounds: Bounds) -> anyhow::Result<Recording> {
        let wanted = Wanted { file, bounds, about: self.about.clone(), is_simulated: self.is_simulated };
        Recording::start(&wanted).map_err(bad_input)
    }
}

/// What is known of a run before it begins: the policy, the machine as typed, and the settings from
/// a file and from the command line.
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
