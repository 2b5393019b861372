//! The simulated machine and the comparison of policies on it.

use super::policy;
use crate::config::Config;
use crate::failure::bad_input;
use isobar_lab::{CompareSpec, LabError, NamedPolicy};
use isobar_sim::{SimMachine, Workload};
use serde_json::Value;
use std::path::Path;

/// What `isobar sim` prints.
pub struct Comparison {
    /// the table for people
    pub text: String,
    /// the document for programs
    pub json: Value,
}

/// A simulated machine that runs a workload.
///
/// # Errors
/// Bad input: a workload that cannot be read or does not hold together.
pub fn open(workload: &Path, seed: u64) -> anyhow::Result<SimMachine> {
    Ok(SimMachine::new(&read(workload)?, seed))
}

/// Runs a workload under each policy.
///
/// # Errors
/// Bad input: the workload, a policy, a setting.
pub fn compare(
    workload: &Path,
    policies: &[String],
    config: &Config,
    seed: u64,
    repeat: u32,
) -> anyhow::Result<Comparison> {
    let policies = policies.iter().map(|name| named(name, config)).collect::<anyhow::Result<Vec<_>>>()?;
    let spec = CompareSpec { workload: read(workload)?, seed, repeat };
    let compared = isobar_lab::compare(&spec, &policies).map_err(|error| match error {
        LabError::Unfinished { .. } => bad_input(format!("{}: {error}", workload.display())),
        LabError::Plan { .. } => anyhow::anyhow!("internal error: {error}"),
    })?;
    Ok(Comparison { text: isobar_lab::table(&compared), json: serde_json::to_value(&compared)? })
}

fn named<'a>(name: &str, config: &Config) -> anyhow::Result<NamedPolicy<'a>> {
    Ok((name.to_owned(), Box::new(policy::maker(name, config)?)))
}

fn read(file: &Path) -> anyhow::Result<Workload> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file)
        .map_err(|error| bad_input(format!("{name}: cannot be read: {error}: expected a TOML workload")))?;
    Workload::from_toml(&name, &text).map_err(bad_input)
}
