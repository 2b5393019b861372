//! The assertions on the running kernel, with the real sensors and actuators. The test program
//! needs no other program: it starts itself again as its own subject (by an environment variable),
//! and uses only `/proc`, `/sys` and a folder for temporary files.
//!
//! On a machine with one node, assertions that need two are skipped, with a message. With
//! `ISOBAR_REQUIRE_NODES=4` the machine must have four nodes with CPUs, and only assertions that
//! need cache ways may be skipped.

// In a test program, a failed expectation is meant to panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cache;
mod stage;
mod subject;
#[path = "../support/mod.rs"]
mod support;
mod witness;

use isobar_conformance::Difference;
use libtest_mimic::{Arguments, Trial};
use stage::Kernel;

/// What Linux does not guarantee. Empty, and should stay empty.
const KNOWN: &[Difference] = &[];

fn main() {
    if subject::is_one() {
        return subject::live();
    }
    let mut arguments = Arguments::from_args();
    // Assertions share the CPUs: run in parallel, they would disturb each other's threads.
    arguments.test_threads = Some(1);
    let required = std::env::var("ISOBAR_REQUIRE_NODES").ok().map(|text| text.parse::<usize>().unwrap());
    let resctrl = cache::Resctrl::find();
    let kernel = Kernel { resctrl: resctrl.root().to_owned() };
    let mut trials = support::trials("linux", kernel, KNOWN, required.is_some());
    trials.extend(required.map(requires));
    let conclusion = libtest_mimic::run(&arguments, trials);
    // Unmounts here, since `exit` drops nothing.
    drop(resctrl);
    conclusion.exit();
}

fn requires(nodes: usize) -> Trial {
    let name = format!("the machine has the {nodes} nodes that were required");
    Trial::test(name, move || {
        let there = witness::nodes_with_cpus();
        if there.len() < nodes { Err(format!("it has nodes {there:?} with CPUs").into()) } else { Ok(()) }
    })
}
