//! Builds the policy for a replay: as it was recorded, or as the user asks.

use super::Replay;
use crate::deciders::{self, Place};
use crate::failure::bad_input;
use crate::input;
use isobar_model::Policy;
use isobar_recording::{Recording, about};
use isobar_runtime::settings::Config;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The policy with its settings. Settings files are used as they were recorded, unless others are
/// named.
///
/// # Errors
/// Bad input: settings that the policy refuses, or a recording that does not name its policy.
pub fn policy(
    asked: &Replay,
    recording: &Recording,
    facts: &BTreeMap<String, String>,
) -> anyhow::Result<Box<dyn Policy>> {
    let recorded = facts.get(about::POLICY);
    let name = asked.policy.as_ref().or(recorded).ok_or_else(|| no_policy(asked))?;
    // The recorded settings belong to the recorded policy.
    let as_recorded = asked.config.is_none() && Some(name) == recorded;
    let inputs = if as_recorded { recording.inputs()? } else { BTreeMap::new() };
    let of_recording = |path: &Path| match inputs.get(&path.display().to_string()) {
        Some(text) => Ok(text.clone()),
        None => Err(io::Error::new(io::ErrorKind::NotFound, "it is not in the recording")),
    };
    let read: &dyn Fn(&Path) -> io::Result<String> = if as_recorded { &of_recording } else { &input::settings };
    let config = asked.config.clone().or_else(|| facts.get(about::CONFIG).filter(|_| as_recorded).map(PathBuf::from));
    let mut sets = if as_recorded { recorded_sets(facts) } else { Vec::new() };
    sets.extend(asked.set.iter().cloned());
    let config = Config::load(config.as_deref(), &sets, read).map_err(bad_input)?;
    deciders::build(name, &config, read, Place::Apart)
}

fn no_policy(asked: &Replay) -> anyhow::Error {
    bad_input(format!("{}: does not say which policy decided: give --policy NAME", asked.file.display()))
}

fn recorded_sets(facts: &BTreeMap<String, String>) -> Vec<String> {
    facts.get(about::SETS).and_then(|sets| serde_json::from_str(sets).ok()).unwrap_or_default()
}
