//! Congestion-aware memory management, and the policies that it is compared with.
//!
//! J. Kotra, S. Kim, K. Madduri, M. T. Kandemir: *Congestion-aware memory management on NUMA
//! platforms: A VMware ESXi case study*, IISWC 2017. [`cama`] is section V, [`capm`] section VI,
//! [`camm`] section VII, [`static_p`] the static allocation schemes with which section V compares
//! CAMA. [`colloid`] is by other authors and succeeds CAPM: it too acts on latency.
//!
//! All but [`static_p`] decide on probed latency alone, without counters.
//!
//! | paper | here |
//! |---|---|
//! | `currNodeLatArray`: latencies from a node to all nodes (section IV) | [`latency::View`] |
//! | `minLatencyNode`, `neighboringNode` (algorithm 3) | [`latency::View`] |
//! | `lat_gap`, `avgLatency`, the threshold eta (algorithm 3) | [`gap::Gap`] |
//! | candidate pages: those accessed in the epoch (section VI) | [`moves::candidates`] |
//! | `freespace_available` (algorithm 3) | [`free::FreePages`] |
//! | the source node of a VM | [`crate::kit::running::Running`] |
//!
//! *Departures from the paper* that concern all of these policies. Those of one policy are in its
//! file, and docs/design/camm.md gives the reasons.
//! 1. The paper's VMs run on one node. A process may run on several; [`crate::kit::running`] says
//!    what that means.
//! 2. "Free memory" excludes a reserve on every node, because the kernel starts to reclaim memory
//!    on a node that is filled to its last page. A node whose free memory is not known receives
//!    nothing.
//! 3. A process is left alone if the CPU of none of its threads is known.
//! 4. A latency is the median of a probe's loads. Loads during an interrupt, or during which a
//!    counter stood still, are excluded. Algorithm 1 records the average of all loads.

pub mod allocations;
pub mod cama;
#[allow(clippy::module_inception)] // The paper and its last policy share a name.
pub mod camm;
pub mod capm;
pub mod cheapest;
pub mod colloid;
pub mod config;
pub mod free;
pub mod gap;
pub mod latency;
pub mod migrate;
pub mod moves;
pub mod share;
pub mod static_p;
#[cfg(test)]
mod test_kit;

use crate::entry::Entry;

/// The policies of the paper, and Colloid.
pub const POLICIES: [Entry; 5] = [cama::ENTRY, capm::ENTRY, camm::ENTRY, static_p::ENTRY, colloid::ENTRY];
