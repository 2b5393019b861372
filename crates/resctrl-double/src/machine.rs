//! The machine that the double pretends to be: L3 domains whose 11 ways can be allocated, perhaps
//! memory-bandwidth allocation, and monitoring, on Linux 6.12. It knows what hardware differs in
//! (`Documentation/filesystems/resctrl.rst`, "Info directory") and nothing of groups, tasks or
//! files.

use std::collections::BTreeSet;

/// Every way of a domain (`cbm_mask`): 11 bits.
pub const ALL_WAYS: u32 = 0x7ff;

/// The least share of the memory bandwidth in per cent, and its step (`min_bandwidth`,
/// `bandwidth_gran`).
pub const BANDWIDTH_STEP: u32 = 10;

/// CLOSIDs of memory-bandwidth allocation.
pub const BANDWIDTH_CLOSIDS: u32 = 8;

/// What machines differ in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Ids of the domains; they may have gaps.
    pub domains: BTreeSet<u32>,
    /// CLOSIDs of the caches; `cdp` halves them.
    pub closids: u32,
    /// Whether code and data have masks of their own (mount option `cdp`): `L3CODE` and `L3DATA`
    /// instead of `L3`.
    pub cdp: bool,
    /// Whether memory bandwidth can be allocated (MBA), in per cent.
    pub bandwidth: bool,
    /// RMIDs, the default group's included (`num_rmids`).
    pub rmids: u32,
}

impl Machine {
    /// A machine with these domains, 16 CLOSIDs, 64 RMIDs, and nothing else. Change the fields for
    /// anything else.
    #[must_use]
    pub fn with_domains(domains: impl IntoIterator<Item = u32>) -> Self {
        Self { domains: domains.into_iter().collect(), closids: 16, cdp: false, bandwidth: false, rmids: 64 }
    }

    /// `num_closids` of the caches: half of the hardware's with CDP (`schemata_list_add`).
    #[must_use]
    pub fn cache_closids(&self) -> u32 {
        if self.cdp { self.closids / 2 } else { self.closids }
    }

    /// CLOSIDs that can be allocated, the default group's included: the fewest of all resources
    /// (`closid_init`).
    #[must_use]
    pub fn usable_closids(&self) -> u32 {
        self.cache_closids().min(if self.bandwidth { BANDWIDTH_CLOSIDS } else { u32::MAX })
    }
}
