//! Congestion-aware memory management, and what it is measured against.
//!
//! J. Kotra, S. Kim, K. Madduri, M. T. Kandemir: *Congestion-aware memory management on NUMA
//! platforms: A VMware ESXi case study*, IISWC 2017. [`cama`] is section V, [`capm`] section VI,
//! [`camm`] section VII, [`static_p`] the static allocation schemes that section V compares CAMA
//! with. [`colloid`] is CAPM's successor on the same seam, by other authors.
//!
//! All but [`static_p`] decide on probed latency alone: no counters.
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
//! *Departures from the paper* that concern all; those of a policy are in its file, and
//! docs/design/camm.md gives the reasons.
//! 1. The paper's VMs live on one node. A process may run on several; `running` says what that
//!    means.
//! 2. "Free memory" leaves a reserve on every node, since a node that is filled to its last page
//!    makes the kernel reclaim. A node whose free memory is not known takes nothing.
//! 3. A process of which no thread's CPU is known is left alone.
//! 4. A latency is the median of a probe's loads, without those of an interrupt or of a counter
//!    that stood still. Algorithm 1 records the average of all.

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
