//! Measured tables as CSV. Every program of one that is accepted can be made for every machine with
//! enough ways, and runs alone.

#![no_main]

use isobar_model::Profile;
use isobar_profiles::table;
use isobar_sim::machine::{MachineSpec, find};
use isobar_sim::program::Program;
use isobar_sim::solo::solo;
use libfuzzer_sys::fuzz_target;
use std::sync::{Arc, LazyLock};

static MACHINES: LazyLock<Vec<Arc<MachineSpec>>> = LazyLock::new(|| {
    let machine = |name| Arc::new(find(name).unwrap_or_else(|error| panic!("{error}")));
    ["skylake-2x20", "itanium-2x4"].map(machine).to_vec()
});

fuzz_target!(|text: &str| match table::read("input", text) {
    Ok(table) => table.values().for_each(check),
    Err(error) => assert!(!error.to_string().contains(char::is_control), "{error:?}"),
});

fn check(profile: &Profile) {
    for machine in MACHINES.iter() {
        match Program::measured("input", profile, machine) {
            Ok(program) => {
                assert!(program.notes().iter().all(|note| !note.contains(char::is_control)), "{program:?}");
                if let Some(seen) = solo(&Arc::new(program), machine) {
                    assert!(seen.mpki.is_finite() && seen.ipc.is_finite() && seen.ipc > 0.0, "{seen:?}");
                }
            }
            Err(error) => assert!(!error.to_string().contains(char::is_control), "{error:?}"),
        }
    }
}
