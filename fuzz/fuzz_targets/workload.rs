//! Workloads as TOML. An accepted workload is simulated for a short while under every policy:
//! policies see only what can be seen, plans are valid, and the machine reports only numbers.

#![no_main]

use isobar_fuzz::{accepted, simulate};
use isobar_sim::Workload;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    accepted(Workload::from_toml("input", text)).into_iter().for_each(simulate::briefly);
});
