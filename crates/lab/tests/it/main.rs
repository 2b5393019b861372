//! Tests of policies over whole runs on the simulated machine.

#![allow(clippy::unwrap_used)]

mod drawn;
mod examples;
mod first_touch;
mod misjudged;
mod misled;
mod oscillation;
mod pinned;
mod shares;
mod stress;
mod watched;
mod ways;

use isobar_lab::run_policy;
use isobar_policy::Settings;
use isobar_policy::registry::build;
use isobar_sim::{RunReport, Workload};

/// A run of a workload, from the start of seed 1, under a policy with some settings.
fn with_settings(workload: &Workload, policy: &str, settings: &[(&str, &str)]) -> RunReport {
    let mut set = Settings::default();
    settings.iter().for_each(|(key, value)| set.set(key, value).unwrap());
    run_policy(workload, 1, build(policy, &set).unwrap().as_mut()).unwrap()
}
