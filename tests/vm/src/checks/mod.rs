//! The checks of each machine, in the order in which they run.

mod accessed;
mod allocation;
mod balancing;
mod conformance;
mod counters;
mod daemon;
mod kinds;
mod manage;
mod observed;
mod pages;
mod policies;
mod probe;
mod resctrl;
mod restore;
mod sampled;
mod seen;
mod soak;
mod storm;
mod topo;

use crate::suite::Suite;
use std::fs;

/// Four sockets of two cores.
pub fn regular(suite: &mut Suite) {
    topo::checks(suite);
    balancing::checks(suite);
    quiet(suite);
    probe::checks(suite);
    manage::checks(suite);
    sampled::checks(suite);
    accessed::checks(suite);
    allocation::checks(suite);
    kinds::checks(suite);
    pages::checks(suite);
    observed::checks(suite);
    seen::checks(suite);
    restore::checks(suite);
    resctrl::checks(suite);
    daemon::checks(suite);
    policies::checks(suite);
    storm::checks(suite);
}

/// The soak test, which takes a quarter of the time of all other checks, on the same machine.
pub fn ends(suite: &mut Suite) {
    quiet(suite);
    soak::checks(suite);
}

/// Dies, SMT, a node without CPUs, nodes of different sizes, and distances that depend on the
/// direction.
pub fn awkward(suite: &mut Suite) {
    topo::checks(suite);
    quiet(suite);
    manage::memory_only_node(suite);
    probe::memory_only_node(suite);
    policies::checks(suite);
}

/// Arm, one CPU: instructions are exact.
pub fn arm_one(suite: &mut Suite) {
    quiet(suite);
    counters::exact(suite);
}

/// Arm, one CPU that counts cycles but no instructions.
pub fn arm_cycles(suite: &mut Suite) {
    counters::cycles_only(suite);
}

/// Arm, four nodes of two CPUs, an L3 per node, HMAT: ratios of counts are valid, absolute counts
/// are not.
pub fn arm_four(suite: &mut Suite) {
    topo::checks(suite);
    quiet(suite);
    probe::checks(suite);
    counters::ratios(suite);
    manage::checks(suite);
    sampled::checks(suite);
    kinds::checks(suite);
    restore::checks(suite);
}

/// The conformance suite, which takes as long as all other checks, on a four-node machine of its
/// own.
pub fn conformance_alone(suite: &mut Suite) {
    quiet(suite);
    conformance::checks(suite);
}

/// Arm, the same nodes, but firmware that does not describe caches.
pub fn arm_bare(suite: &mut Suite) {
    topo::without_caches(suite);
}

/// From here on only isobar moves anything.
fn quiet(suite: &mut Suite) {
    if let Err(error) = fs::write("/proc/sys/kernel/numa_balancing", "0") {
        suite.check("NUMA balancing can be turned off", || anyhow::bail!("{error}"));
    }
}
