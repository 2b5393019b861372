//! Workloads as TOML. One that is accepted is simulated for a short while under every policy: what
//! the policies see can be seen, plans are valid, and what the machine reports are numbers.

#![no_main]

use isobar_fuzz::{accepted, simulate};
use isobar_sim::Workload;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    accepted(Workload::from_toml("input", text)).into_iter().for_each(simulate::briefly);
});
