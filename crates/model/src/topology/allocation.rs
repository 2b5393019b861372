//! What resctrl lets a class of service have, as far as a machine reports it.

use crate::serial;
use serde::{Deserialize, Serialize};

/// What resctrl offers on the last-level caches (`Documentation/filesystems/resctrl.rst`,
/// `info/L3`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheAllocation {
    /// The resctrl resource, such as `L3` or `L3CODE`.
    pub resource: String,
    /// Every bit that a mask may set.
    #[serde(with = "serial::mask")]
    pub cbm_mask: u64,
    /// The fewest bits that a mask must set.
    pub min_cbm_bits: u32,
    /// Number of classes of service.
    pub num_closids: u32,
    /// Bits that other agents may use too.
    #[serde(with = "serial::mask")]
    pub shareable_bits: u64,
    /// Number of monitoring groups, if the machine has monitoring.
    pub num_rmids: Option<u32>,
    /// Shares of the memory bandwidth for each class, if the machine takes them in per cent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<BandwidthShares>,
}

/// Shares of the memory bandwidth that a class of service can have (`info/MB`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BandwidthShares {
    /// The smallest share, in per cent (`min_bandwidth`).
    pub least_percent: u32,
    /// The step from one share to the next, in per cent (`bandwidth_gran`).
    pub step_percent: u32,
}

impl BandwidthShares {
    /// A share as the hardware has it: the next step that is not smaller, from the smallest share
    /// to 100.
    #[must_use]
    pub fn rounded(&self, percent: u32) -> u32 {
        let step = self.step_percent.max(1);
        percent.max(self.least_percent).div_ceil(step).saturating_mul(step).min(100)
    }
}
