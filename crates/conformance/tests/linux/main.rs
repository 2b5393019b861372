//! The assertions on the running kernel, with the real sensors and actuators. The program runs
//! alone: it is its own subject (started again with an environment variable), and needs nothing but
//! `/proc`, `/sys` and a folder for temporary files.
//!
//! On a machine with one node, assertions that need two are skipped, with a message. With
//! `ISOBAR_REQUIRE_NODES=4` the machine must have four nodes with CPUs, and only assertions that
//! need cache ways may be skipped.

// A test program: a failed expectation is what it is for.
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

/// What Linux does not keep. Empty, and should stay so.
const KNOWN: &[Difference] = &[];

fn main() {
    if subject::is_one() {
        return subject::live();
    }
    let mut arguments = Arguments::from_args();
    // Assertions share the CPUs: together, they would disturb each other's threads.
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
