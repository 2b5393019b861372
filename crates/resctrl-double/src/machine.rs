//! The machine that the double simulates: L3 domains whose ways can be allocated, optionally
//! memory-bandwidth allocation, and monitoring, on Linux 6.12. This file knows the properties in
//! which hardware differs (`Documentation/filesystems/resctrl.rst`, "Info directory") and nothing
//! of groups, tasks or files.

use std::collections::BTreeSet;

/// The minimum share of the memory bandwidth in per cent, and its step (`min_bandwidth`,
/// `bandwidth_gran`).
pub const BANDWIDTH_STEP: u32 = 10;

/// Number of CLOSIDs of memory-bandwidth allocation.
pub const BANDWIDTH_CLOSIDS: u32 = 8;

/// The properties in which machines differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Ids of the domains; they may have gaps.
    pub domains: BTreeSet<u32>,
    /// Number of ways of each domain, from 1 to 32.
    pub ways: u32,
    /// CPUs that are online and that groups can have (`cpus`, `cpus_list`). If there are none,
    /// these files do not exist.
    pub cpus: BTreeSet<u32>,
    /// Number of CLOSIDs of the caches; `cdp` halves them.
    pub closids: u32,
    /// Whether code and data have masks of their own (mount option `cdp`): `L3CODE` and `L3DATA`
    /// instead of `L3`.
    pub cdp: bool,
    /// Whether memory bandwidth can be allocated (MBA), in per cent.
    pub bandwidth: bool,
    /// Number of RMIDs, including the default group's (`num_rmids`).
    pub rmids: u32,
    /// The events counted for each RMID (`mon_features`).
    pub events: BTreeSet<Event>,
}

/// A monitoring event, in the order in which the kernel lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// Bytes that are in the cache.
    Occupancy,
    /// Bytes that came from memory.
    TotalBytes,
    /// Bytes among these that came from memory of the domain's own node.
    LocalBytes,
}

impl Event {
    /// The name of its file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Occupancy => "llc_occupancy",
            Self::TotalBytes => "mbm_total_bytes",
            Self::LocalBytes => "mbm_local_bytes",
        }
    }
}

impl Machine {
    /// A machine with these domains of 11 ways, 16 CLOSIDs, 64 RMIDs that count bytes, and nothing
    /// else. Change the fields for anything else.
    #[must_use]
    pub fn with_domains(domains: impl IntoIterator<Item = u32>) -> Self {
        Self {
            domains: domains.into_iter().collect(),
            ways: 11,
            cpus: BTreeSet::new(),
            closids: 16,
            cdp: false,
            bandwidth: false,
            rmids: 64,
            events: BTreeSet::from([Event::TotalBytes]),
        }
    }

    /// Every way of a domain (`cbm_mask`).
    #[must_use]
    pub fn all_ways(&self) -> u32 {
        u32::MAX >> 32_u32.saturating_sub(self.ways).min(31)
    }

    /// `num_closids` of the caches: half of the hardware's with CDP (`schemata_list_add`).
    #[must_use]
    pub fn cache_closids(&self) -> u32 {
        if self.cdp { self.closids / 2 } else { self.closids }
    }

    /// Number of CLOSIDs that can be allocated, including the default group's: the fewest of all
    /// resources (`closid_init`).
    #[must_use]
    pub fn usable_closids(&self) -> u32 {
        self.cache_closids().min(if self.bandwidth { BANDWIDTH_CLOSIDS } else { u32::MAX })
    }
}
