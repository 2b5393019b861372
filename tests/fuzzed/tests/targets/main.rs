//! Every target on its seeds, and on as many inputs made from them as the table says.

// In a test program, a failed expectation is meant to panic.
#![allow(clippy::unwrap_used, clippy::panic)]

mod made_up;
mod names;

use isobar_fuzzed::runner;
use isobar_fuzzed::table::TARGETS;
use libtest_mimic::{Arguments, Trial};
use std::path::Path;

fn main() {
    if runner::as_child(TARGETS.iter().chain(&made_up::TARGETS)).unwrap_or_else(|error| panic!("{error:#}")) {
        return;
    }
    let trial = |target: &'static isobar_fuzzed::table::Target| {
        let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target.name);
        Trial::test(target.name, move || Ok(runner::judge(target, &seeds)?))
    };
    let mut trials: Vec<Trial> = TARGETS.iter().map(trial).collect();
    trials.extend(made_up::trials());
    trials.extend(names::trials());
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
