//! The settings that the policies of this folder share.

use crate::settings::{ConfigError, Section, at_least, between, check, settings};
use serde::{Deserialize, Serialize};

settings! {
    /// Memory that is left free on every node.
    pub struct Reserve {
        /// Memory of a node, in per cent, that stays free: a node with less free memory gets
        /// neither new pages nor migrated ones.
        pub reserve_percent: f64 = 2.0,
        /// The least that stays free on a node, in MiB, whatever its size.
        pub reserve_mib: u64 = 64,
    }
}

impl Section for Reserve {
    fn validate(&self, section: &str) -> Result<(), ConfigError> {
        between(section, "reserve_percent", self.reserve_percent, 0.0, 100.0)
    }
}

settings! {
    /// How CAMA chooses.
    pub struct Choice {
        /// Latency, in per cent of that of the present choice, by which another node must be faster
        /// to be chosen instead (0, as in the paper: any gain).
        pub hysteresis_percent: f64 = 0.0,
    }
}

impl Section for Choice {
    fn validate(&self, section: &str) -> Result<(), ConfigError> {
        between(section, "hysteresis_percent", self.hysteresis_percent, 0.0, 100.0)
    }
}

/// How the number of pages to move is set (section VI, figure 13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rate {
    /// By the latency gap: `pages_per_cycle` for each cycle of the gap.
    Dynamic,
    /// Always `pages_per_epoch`.
    Static,
}

settings! {
    /// How CAPM migrates.
    pub struct Migration {
        /// Latency gap, in per cent of the mean of the local and the neighbouring node's latency,
        /// that is tolerated (section VI: 5).
        pub threshold_percent: f64 = 5.0,
        /// How many pages of a process move in an epoch: "dynamic", by the latency gap, or
        /// "static", always the same number (section VI, figure 13).
        pub rate: Rate = Rate::Dynamic,
        /// Pages of a process that move for each CPU cycle of the latency gap, with rate =
        /// "dynamic" (section VI: 60).
        pub pages_per_cycle: f64 = 60.0,
        /// Pages of a process that move in an epoch, with rate = "static" (section VI: 2000 to
        /// 16000, of which 8000 is best).
        pub pages_per_epoch: u64 = 8000,
        /// CPU cycles in a nanosecond, where latency was measured in nanoseconds only (2.3 as
        /// of a Xeon E5-2699 v3, a Haswell of 18 cores as the paper's).
        pub ghz: f64 = 2.3,
    }
}

impl Section for Migration {
    fn validate(&self, section: &str) -> Result<(), ConfigError> {
        let above_0 =
            |key, value: f64| check(value.is_finite() && value > 0.0, section, key, value, "a number above 0");
        between(section, "threshold_percent", self.threshold_percent, 0.0, 100.0)?;
        above_0("pages_per_cycle", self.pages_per_cycle)?;
        at_least(section, "pages_per_epoch", self.pages_per_epoch, 1)?;
        above_0("ghz", self.ghz)
    }
}
