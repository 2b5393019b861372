//! The simulated machine and the comparison of policies on it.

use super::absent::Absent;
use super::policy;
use crate::config::Config;
use crate::failure::bad_input;
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
pub fn open(workload: &Path, _seed: u64) -> anyhow::Result<Absent> {
    read(workload)?;
    anyhow::bail!("the simulated machine is not connected")
}

/// Runs a workload under each policy.
///
/// # Errors
/// Bad input: the workload, a policy, a setting.
pub fn compare(
    workload: &Path,
    policies: &[String],
    config: &Config,
    _seed: u64,
    _repeat: u32,
) -> anyhow::Result<Comparison> {
    policies.iter().try_for_each(|name| policy::settings(name, config).map(drop))?;
    read(workload)?;
    anyhow::bail!("the simulated machine is not connected")
}

fn read(workload: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(workload).map_err(|error| {
        bad_input(format!("{}: cannot be read: {error}: expected a TOML workload", workload.display()))
    })
}
