//! Measured tables as CSV. If a table is accepted, each of its programs can be made for every
//! machine with enough ways, and runs alone.

use crate::check::{accepted, one_line};
use isobar_model::Profile;
use isobar_profiles::table;
use isobar_sim::machine::{MachineSpec, find};
use isobar_sim::program::Program;
use isobar_sim::solo::solo;
use std::sync::{Arc, LazyLock};

static MACHINES: LazyLock<Vec<Arc<MachineSpec>>> = LazyLock::new(|| {
    let machine = |name| Arc::new(find(name).unwrap_or_else(|error| panic!("{error}")));
    ["skylake-2x20", "itanium-2x4"].map(machine).to_vec()
});

/// Checks one input.
pub fn run(text: &str) {
    accepted(table::read("input", text)).iter().flat_map(|table| table.values()).for_each(check);
}

fn check(profile: &Profile) {
    for machine in MACHINES.iter() {
        let Some(program) = accepted(Program::measured("input", profile, machine)) else { continue };
        program.notes().iter().for_each(|note| one_line(note));
        if let Some(seen) = solo(&Arc::new(program), machine) {
            assert!(seen.mpki.is_finite() && seen.ipc.is_finite() && seen.ipc > 0.0, "{seen:?}");
        }
    }
}
