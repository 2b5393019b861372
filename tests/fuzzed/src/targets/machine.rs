//! Machines for the simulator as TOML. A machine that is accepted runs a small workload for a short
//! while; see `workload`.

use crate::check::accepted;
use crate::simulate;
use isobar_sim::{MachineSpec, Workload};
use std::sync::{Arc, LazyLock};

static APPS: LazyLock<Workload> = LazyLock::new(|| {
    let text = include_str!("../../seeds/workload/two-nodes.toml");
    Workload::from_toml("two-nodes.toml", text).unwrap_or_else(|error| panic!("{error}"))
});

/// Checks one input.
pub fn run(text: &str) {
    if let Some(machine) = accepted(MachineSpec::from_toml("input", text)) {
        simulate::briefly(&Workload { machine: Arc::new(machine), ..APPS.clone() });
    }
}
