//! Everything that isobar reads from outside, tried on mutated inputs.
//!
//! [`table`] lists the targets. Each takes bytes and panics if something does not hold. libFuzzer
//! runs the same targets for as long as one likes (`scripts/fuzz.sh`). The tests of this crate run
//! each on a fixed number of inputs, which [`mutate`] makes from the seeds in `seeds/NAME`, so that
//! every run tries the same ones.

#![forbid(unsafe_code)]
// A target says by a panic that something does not hold.
#![allow(clippy::expect_used, clippy::panic)]

mod check;
pub mod heard;
pub mod mutate;
mod random;
pub mod runner;
mod simulate;
pub mod table;
mod targets;
mod text;

/// Runs the target of this name on one input.
pub fn run(name: &str, input: &[u8]) {
    table::find(name).unwrap_or_else(|| panic!("no target {name}")).run(input);
}
