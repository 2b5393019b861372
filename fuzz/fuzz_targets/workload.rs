//! Workloads as TOML. One that is accepted is simulated for a short while under every policy: what
//! the policies see can be seen, plans are valid, and what the machine reports are numbers.

#![no_main]

#[path = "../simulate.rs"]
mod simulate;

use isobar_sim::Workload;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| match Workload::from_toml("input", text) {
    Ok(workload) => simulate::briefly(workload),
    Err(error) => assert!(!error.to_string().contains(char::is_control), "{error:?}"),
});
