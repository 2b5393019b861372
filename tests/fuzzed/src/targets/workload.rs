//! Workloads as TOML. An accepted workload is simulated for a short while under every policy:
//! policies see only what can be seen, plans are valid, and the machine reports only numbers.

use crate::check::accepted;
use crate::simulate;
use isobar_sim::Workload;

/// Checks one input.
pub fn run(text: &str) {
    accepted(Workload::from_toml("input", text)).iter().for_each(simulate::briefly);
}
